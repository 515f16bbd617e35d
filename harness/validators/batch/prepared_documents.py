"""Many texts that differ in one place only, validated by what is in that place.

A disputed token stands behind one text and before one of a few completions. For all texts that
differ in the same literal (`harness.validators.batch.text_batches`), the rest is read, checked and
made a document once; for each text only the literal is read, its value put into that document, and
jsonschema-rs asked about it. jsonschema is asked once for each of the outcomes that it tells apart
(`harness.validators.batch.outcome_memo`).

Why the rulings are those of the whole texts:

- A text is JSON exactly where its literal is, and the text with another literal of the same kind in
  that place is. Other faults add up likewise: halves of surrogate pairs, numbers out of range or
  not kept, names that occur twice. Only a name can make a name occur twice, which is looked for.
- Its value is the other text's value with the literal's value in its place. The place is found by
  reading a literal that stands for what is nowhere else in the text.

What cannot be cut, what is alone in its place, and what is nested too deep is validated whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.jsontext import strict_json
from harness.jsontext.strict_json import keeps_numbers
from harness.validators.batch import text_batches
from harness.validators.batch.outcome_memo import (
    RecordedRun,
    RecordingValidator,
    Tree,
    ValueKind,
    unique,
)
from harness.validators.encoded_rulings import EncodedRuling, of_outcome, of_suspicion
from harness.validators.validate import NOT_KEPT, Opinion, Validators, compare, unread
from harness.validators.validation_errors import ValidationFailures
from harness.workers import wire

MAX_PLACES: Final = 128
"""Documents kept; the positions within one string lead to the same ones."""

FEW: Final = 2
"""So many texts in one place are validated whole, which is as cheap as to prepare for more."""

_PATIENCE: Final = 8
"""After so many runs of jsonschema that teach nothing, a document is not recorded any more."""

_STAND_INS: Final[dict[str, list[tuple[bytes, str | int]]]] = {
    "string": [(b'"maskcourt%d"' % number, f"maskcourt{number}") for number in range(4)],
    "number": [(b"%d" % number, number) for number in range(7_770_001, 7_770_005)],
}
"""Literals and their values, one of which is hardly in any text."""

_UNREAD: Final = {
    fault: of_outcome(unread(kind)) for kind, fault in text_batches.FAULTS.items()
} | {text_batches.NUMBER_LOST: of_outcome(NOT_KEPT)}


class Whole(NamedTuple):
    """How a text is ruled on that is validated whole.

    Attributes:
        rule: Its ruling.
        proven: Whether jsonschema is asked as well where jsonschema-rs says invalid.
    """

    rule: Callable[[bytes], EncodedRuling]
    proven: bool


class Prepared:
    """Rules on many texts at a time, under one schema.

    Args:
        validators: Those of the schema.
    """

    def __init__(self, validators: Validators) -> None:
        self._validators = validators
        self._documents: dict[text_batches.LiteralPlace, _Document | None] = {}
        try:
            self._recorder: RecordingValidator | None = RecordingValidator(validators.slow)
        except TypeError:
            self._recorder = None

    def rule(
        self,
        prefix: bytes,
        middles: wire.Ragged,
        suffixes: Sequence[bytes],
        which: npt.NDArray[np.int32],
        whole: Whole,
    ) -> list[EncodedRuling]:
        """The ruling on ``prefix + middles[i] + suffixes[which[i]]``, for each ``i``.

        Args:
            prefix: What all texts begin with.
            middles: What stands behind it, one a text.
            suffixes: What may stand behind that.
            which: The suffix of each text, by its index; shape ``(len(middles),)``.
            whole: Rules on a text that is validated whole, and says what is wanted of the others.
        """
        rulings: list[EncodedRuling | None] = [None] * len(middles)
        groups = text_batches.cut(prefix, middles, suffixes, which)
        for index in groups.broken:
            rulings[index] = _UNREAD[text_batches.NOT_JSON]
        for place, group in groups.items():
            document = self._document(place, len(group))
            if document is not None:
                for index, fault in group.faulty:
                    rulings[index] = document.unread(fault)
                ruled = document.rule(group.values, proven=whole.proven)
                for index, one in zip(group.at, ruled, strict=True):
                    rulings[index] = one
        strings = middles.strings() if None in rulings else []
        return [
            whole.rule(prefix + strings[index] + suffixes[which[index]]) if one is None else one
            for index, one in enumerate(rulings)
        ]

    def _document(self, place: text_batches.LiteralPlace, count: int) -> _Document | None:
        """The document of `place`, kept or made; None where its texts are validated whole."""
        if place in self._documents:
            document = self._documents[place] = self._documents.pop(place)
            return document
        if count <= FEW:
            return None
        if len(self._documents) >= MAX_PLACES:
            del self._documents[next(iter(self._documents))]
        made = self._documents[place] = self._prepare(place)
        return made

    def _prepare(self, place: text_batches.LiteralPlace) -> _Document | None:
        for spelt, stand_in in _STAND_INS[place.kind]:
            text = place.before + spelt + place.behind
            try:
                value = strict_json.parse(text)
            except (strict_json.TooDeep, strict_json.NumberOverflow):
                return None  # a name in this place might be a worse fault than the second
            except strict_json.JsonError as error:
                return _Document(text_batches.FAULTS[type(error)], None)
            found = list(_places([value], stand_in))
            if len(found) == 1:
                fault = None if keeps_numbers(text) else text_batches.NUMBER_LOST
                return _Document(fault, _AskedDocument(self._validators, self._recorder, found[0]))
        return None


@dataclass(frozen=True)
class _ValuePlace:
    """Where a value is in a document.

    Attributes:
        containers: The containers that hold it, from a list around the document to the last one.
        slot: Its index or name in the last one; where it is a name itself, that name.
        kind: What it is.
    """

    containers: tuple[Any, ...]
    slot: Any
    kind: ValueKind


def _places(document: list[Any], value: str | int) -> Iterator[_ValuePlace]:
    """Where `value` is in the only item of `document`."""
    kind: ValueKind = "string" if isinstance(value, str) else "number"
    pending: list[tuple[Any, ...]] = [(document,)]
    while pending:
        containers = pending.pop()
        last = containers[-1]
        if isinstance(last, dict) and value in last:
            yield _ValuePlace(containers, value, "name")
        for slot, part in last.items() if isinstance(last, dict) else enumerate(last):
            if isinstance(part, dict | list):
                pending.append((*containers, part))
            elif part == value:
                yield _ValuePlace(containers, slot, kind)


class _Document:
    """The texts that differ in one place.

    Args:
        fault: What is wrong with all of them.
        asked: Where their values are asked about; None where none can be read.
    """

    def __init__(self, fault: int | None, asked: _AskedDocument | None) -> None:
        self._fault = fault
        self._asked = asked

    def unread(self, fault: int) -> EncodedRuling:
        """The ruling on a text whose literal has this fault."""
        return _UNREAD[fault if self._fault is None else min(fault, self._fault)]

    def rule(self, values: Iterable[Any], *, proven: bool) -> Iterator[EncodedRuling]:
        """The ruling on the text with each of these values."""
        if self._asked is not None and self._fault is None:
            return self._asked.rule(values, proven)
        others = self._asked.others if self._asked else frozenset()
        fault = text_batches.NOT_JSON if self._fault is None else self._fault
        return (
            self.unread(text_batches.DUPLICATE_KEYS) if value in others else _UNREAD[fault]
            for value in values
        )


class _Known(NamedTuple):
    """The rulings where jsonschema-rs says valid and where it says invalid.

    None for the second where the place of its error would have to be told.
    """

    valid: EncodedRuling
    invalid: EncodedRuling | None


class _AskedDocument:
    """One document, and what the validators say of it with one value after the other.

    Attributes:
        others: The names that stand beside the value where that is a name.
    """

    def __init__(
        self, validators: Validators, recorder: RecordingValidator | None, place: _ValuePlace
    ) -> None:
        self.others: frozenset[str] = frozenset()
        self._validators = validators
        self._says_fast = _patient(validators) if validators.backtracks else validators.says_fast
        self._recorder = recorder
        self._kind = place.kind
        self._root = place.containers[0]
        self._path = {id(one) for one in place.containers}
        self._trees: dict[tuple[bool, ...], Tree] = {(): Tree()}
        self._useless = 0
        last = place.containers[-1]
        self._put: Callable[[Any], None] = partial(last.__setitem__, place.slot)
        if place.kind == "name":
            self.others = frozenset(last) - {place.slot}
            self._put = partial(_rename, last, *_around(last, place.slot))

    def rule(self, values: Iterable[Any], proven: bool) -> Iterator[EncodedRuling]:
        """The ruling on the document with each of these values in its place."""
        proven = proven or self._validators.backtracks  # so that it is no suspicion either
        if self._kind == "name":
            return (self._named(value, proven) for value in values)
        tree = self._trees[()]
        return (self._ruled(value, tree, proven) for value in values)

    def _named(self, name: str, proven: bool) -> EncodedRuling:
        if name in self.others:
            return _UNREAD[text_batches.DUPLICATE_KEYS]
        alike = self._recorder.names.alike(name) if self._recorder else None
        if alike is None:
            return self._ruled(name, None, proven)
        tree = self._trees.get(alike)
        if tree is None:
            tree = self._trees[alike] = Tree()
        return self._ruled(name, tree, proven)

    def _ruled(self, value: Any, tree: Tree | None, proven: bool) -> EncodedRuling:
        """The ruling on one value, whose tree this is."""
        self._put(value)
        valid = self._says_fast(self._root[0])
        if valid is False and not proven:
            error = self._validators.first_error(self._root[0])
            if error is not None:
                return of_suspicion(self._validators.fast_failures.place(error))
        elif valid is not None and tree is not None:
            known: _Known | None = tree.find(value) or self._learned(value, tree)
            found = known and (known.valid if valid else known.invalid)
            if found is not None:
                return found
        return self._judged(value)

    def _judged(self, value: Any) -> EncodedRuling:
        """The ruling on one value, as on a whole text."""
        self._put(value)
        return of_outcome(self._validators.judge_value(self._root[0], explain=True))

    def _learned(self, value: Any, tree: Tree) -> _Known | None:
        """Ask jsonschema; None where its answer says nothing of other values."""
        if self._recorder is None or self._useless >= _PATIENCE:
            return None
        own = unique(value)
        self._put(own)
        recorded = self._recorder.run(self._root[0], self._path, self._kind, own)
        failures = self._failures(recorded, own) if recorded else None
        if recorded is None or failures is None:
            self._useless += 1
            return None
        slow = Opinion("jsonschema", not failures, failures)
        valid = of_outcome(compare(slow, Opinion("jsonschema-rs", valid=True)))
        invalid = of_outcome(compare(slow, Opinion("jsonschema-rs", valid=False)))
        known = _Known(valid, invalid if failures else None)
        tree.learn(recorded.noted, known)
        return known

    def _failures(self, recorded: RecordedRun, value: Any) -> ValidationFailures | None:
        """The first error that jsonschema names; None where it is of no use for other values."""
        if recorded.error is None:
            return ()
        if any(part is value for part in recorded.error.absolute_path):
            return None  # its pointer holds the name
        return self._validators.slow_failures([recorded.error], 1) or None


def _patient(validators: Validators) -> Callable[[object], bool | None]:
    """What jsonschema-rs says where it may reach its limit; None where it does."""
    return lambda document: None if validators.gave_up(document) else validators.says_fast(document)


_Members = list[tuple[str, Any]]


def _around(members: dict[str, Any], name: str) -> tuple[_Members, Any, _Members]:
    """The members before `name`, its value, and the members behind."""
    pairs = list(members.items())
    at = list(members).index(name)
    return pairs[:at], pairs[at][1], pairs[at + 1 :]


def _rename(
    members: dict[str, Any], before: _Members, value: Any, behind: _Members, name: str
) -> None:
    """Have `members` name `value` so; it stays the same object, in the same order."""
    members.clear()
    members.update(before)
    members[name] = value
    members.update(behind)
