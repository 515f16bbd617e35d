"""What was written before the byte that each verdict is about, and how the text stood there.

A *prefix* is what is written up to there: the text of a walk's position with what the token itself
writes before the byte, or the beginning of an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.explain.applicable import Applicable, Source
from harness.explain.keywords import orders
from harness.jsontext.lexer import START, Mode, State, advance
from harness.jsontext.partial import Cursor, Frames, feed
from harness.runs.columns import Ints, matching, numbers
from harness.verdict_kinds import WALK

LACKS_REQUIRED = "lacks_required"
"""A declared name that the object requires is not written yet, in each branch that is open."""
LACKS_ANY_REQUIRED = "lacks_any_required"
"""The same of any name that the object requires, declared or not."""
OTHERS_UNSAID = "others_unsaid"
"""No subschema of the object says anything of names that are not declared."""
OBJECTS = (LACKS_REQUIRED, LACKS_ANY_REQUIRED, OTHERS_UNSAID)

_SAYS_OF_OTHERS = ("additionalProperties", "unevaluatedProperties", "patternProperties")
_SPACE = frozenset((b" ", b"\t", b"\r", b"\n"))


@dataclass
class Prefixes:
    """The distinct prefixes of one table of verdicts.

    Attributes:
        of_row: The prefix of each verdict, shape ``(n,)``.
        row: The row of each prefix in the table of positions, or of instances; -1 without one.
        keys: The columns that identify the rows of that table.
    """

    of_row: Ints
    row: Ints
    case: Ints
    keys: Sequence[npt.NDArray[Any]]
    positions: int
    _text: Callable[[int], tuple[bytes, int] | None]
    _begun: Sequence[bytes]
    _states: dict[int, State | None] = field(default_factory=dict)
    _objects: dict[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        evidence: str,
        columns: Sequence[npt.NDArray[Any]],
        begun: tuple[npt.NDArray[Any], Sequence[bytes]],
        table: Mapping[str, Any],
        texts: pa.ChunkedArray,
    ) -> Prefixes:
        """The prefixes of verdicts.

        Args:
            evidence: ``walk``, ``instance`` or ``sample``.
            columns: Of the verdicts: case, walk and position, or case, text and offset.
            begun: What each verdict's token writes before the byte: which of some, and these.
            table: The columns of positions, or of texts; ``case`` as rows of the cases.
        """
        changed = np.ones(len(columns[0]), dtype=np.bool_)
        changed[1:] = np.any([one[1:] != one[:-1] for one in columns], axis=0)
        codes, written = begun
        keys_ = (np.cumsum(changed) - 1) * max(1, len(written)) + codes
        _, first, of_row = np.unique(keys_, return_index=True, return_inverse=True)
        case, one, two = (column[first].astype(np.int64) for column in columns)
        names = ("walk", "position") if evidence == WALK else (evidence,)
        keys = [table["case"], *(numbers(table[name], -1) for name in names)]
        row = matching([case, one, two][: len(keys)], keys)
        text = (
            _of_references(table, texts, case, one, row)
            if evidence == WALK
            else _of_texts(texts, two, row)
        )
        before = [written[code] for code in codes[first].tolist()]
        return cls(of_row, row, case, keys, len(keys[0]), text, before)

    def before(self, prefix: int, most: int) -> bytes | None:
        """At most so many bytes before a byte; None where that is not stored."""
        found = self.written(prefix)
        return None if found is None else found[max(0, len(found) - most) :]

    def written(self, prefix: int) -> bytes | None:
        """All that is written before a byte; None where that is not stored."""
        found = self._text(prefix)
        return None if found is None else found[0][: found[1]] + self._begun[prefix]

    def onward(self, prefix: int, end: int) -> bytes:
        """The text from a prefix's position on, up to an offset."""
        found = self._text(prefix)
        return b"" if found is None else found[0][found[1] : end]

    def trails(self, prefix: int, byte: bytes) -> bool:
        """Whether a byte is whitespace behind the whole value."""
        if prefix not in self._states:
            found = self.written(prefix)
            self._states[prefix] = None if found is None else advance(START, found)
        state = self._states[prefix]
        return state is not None and state.can_end and byte in _SPACE

    def can_wait(self, prefix: int, byte: bytes, schema_of: Callable[[int], Any]) -> bool:
        """Whether a byte goes on to declared names that need not come, while another has to.

        Args:
            schema_of: Gives the parsed schema of a case, by its row.
        """
        text = self.written(prefix)
        here = None if text is None else feed(Cursor(), text + byte)
        if here is None or here.mode is not Mode.KEY_STRING:
            return False
        applicable = Applicable(schema_of(int(self.case[prefix])))
        found = list(orders(_sources(applicable, here)))
        left = {name for one in found for name in one.places} - here.frames[-1].names
        names = {name for name in left if name.startswith(here.written)}
        needed = {name for one in found for name in one.required}
        return bool(names) and not names & needed and LACKS_REQUIRED in _object(applicable, here)

    def objects(
        self, prefixes: Sequence[int], schema_of: Callable[[int], Any]
    ) -> list[frozenset[str]]:
        """Which of `OBJECTS` are true of the object that is open behind each prefix.

        Args:
            schema_of: Gives the parsed schema of a case, by its row.
        """
        place = _Place()
        for prefix in prefixes:
            if prefix not in self._objects:
                found = self._text(prefix)
                case = int(self.case[prefix])
                if case != place.case:
                    place = _Place(case, Applicable(schema_of(case)))
                self._objects[prefix] = (
                    frozenset()
                    if found is None
                    else place.objects(found[0][: found[1]], self._begun[prefix])
                )
        return [self._objects[prefix] for prefix in prefixes]


@dataclass
class _Place:
    """How far a text of a case was read; what goes on from there starts there."""

    case: int = -1
    applicable: Applicable = field(default_factory=lambda: Applicable({}))
    text: bytes = b""
    cursor: Cursor | None = field(default_factory=Cursor)
    known: list[tuple[Frames, frozenset[str]]] = field(default_factory=list)
    """What was found for the containers that are open around here."""

    def objects(self, text: bytes, begun: bytes) -> frozenset[str]:
        """Which of `OBJECTS` are true behind a text and what a token begins with."""
        if text != self.text:
            if not text.startswith(self.text):
                self.text, self.cursor = b"", Cursor()
            if self.cursor is not None:
                self.cursor = feed(self.cursor, text[len(self.text) :])
            self.text, self.known = text, []
        here = None if self.cursor is None else feed(self.cursor, begun)
        if here is None:
            return frozenset()
        for frames, found in self.known:
            if frames == here.frames:
                return found
        self.known.append((here.frames, _object(self.applicable, here)))
        return self.known[-1][1]


def _sources(applicable: Applicable, here: Cursor) -> list[Source]:
    """The subschemas that apply to the innermost container, which is an object."""
    open_ = (*here.frames[:-1], here.frames[-1]._replace(key=None))
    return [one for one in applicable.levels(open_, None, slot=False)[-1] if one.applies]


def _object(applicable: Applicable, here: Cursor) -> frozenset[str]:
    """What is true of the innermost container, an object that a key or a comma comes in."""
    if not here.frames or not here.frames[-1].is_object:
        return frozenset()
    frame, sources = here.frames[-1], _sources(applicable, here)
    schemas = [source.schema for source in sources if not source.undecided]
    out = set()
    written = {*frame.names, *([frame.key] if frame.key is not None else ())}
    found = list(orders(sources))
    for word, declared in ((LACKS_REQUIRED, True), (LACKS_ANY_REQUIRED, False)):
        branches: dict[bool, list[bool]] = {True: [], False: []}
        for order in found:
            branches[order.branch].append(order.lacks(written, declared=declared))
        if any(branches[False]) or (branches[True] and all(branches[True])):
            out.add(word)
    if schemas and not any(keyword in schema for schema in schemas for keyword in _SAYS_OF_OTHERS):
        out.add(OTHERS_UNSAID)
    return frozenset(out)


def _of_references(
    table: Mapping[str, Any], texts: pa.ChunkedArray, case: Ints, walk: Ints, row: Ints
) -> Callable[[int], tuple[bytes, int] | None]:
    offset = numbers(table["offset"], -1)
    references: dict[int, list[bytes]] = {}

    def text(prefix: int) -> tuple[bytes, int] | None:
        at, which = int(case[prefix]), int(walk[prefix])
        if at not in references:
            references[at] = texts[at].as_py() or []
        if row[prefix] < 0 or not 0 <= which < len(references[at]):
            return None
        return references[at][which], int(offset[row[prefix]])

    return text


def _of_texts(
    texts: pa.ChunkedArray, offset: Ints, row: Ints
) -> Callable[[int], tuple[bytes, int] | None]:
    def text(prefix: int) -> tuple[bytes, int] | None:
        if row[prefix] < 0:
            return None
        whole = texts[int(row[prefix])].as_py()
        return whole, min(len(whole), int(offset[prefix]))

    return text
