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
from harness.jsontext.lexer import Mode
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
        row: The row of each prefix in the table of positions, or of texts; -1 without one.
        keys: The columns that identify the rows of that table.
    """

    of_row: Ints
    row: Ints
    case: Ints
    keys: Sequence[npt.NDArray[Any]]
    _text: Callable[[int], tuple[bytes, int] | None]
    _begun: Sequence[bytes]
    _schema_of: Callable[[int], Any]
    _applicable: dict[int, Applicable] = field(default_factory=dict)
    _read: tuple[int, bytes, Cursor | None] = (-1, b"", None)
    """The case and the text that were read last, and how that stands: others go on from there."""
    _known: dict[Frames, frozenset[str]] = field(default_factory=dict)
    """Of the containers that are open around there."""
    _objects: dict[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        evidence: str,
        columns: Sequence[npt.NDArray[Any]],
        begun: tuple[npt.NDArray[Any], Sequence[bytes]],
        table: Mapping[str, Any],
        texts: pa.ChunkedArray,
        schema_of: Callable[[int], Any],
    ) -> Prefixes:
        """The prefixes of verdicts.

        Args:
            columns: Of the verdicts: case, walk and position, or case, text and offset.
            begun: What each verdict's token writes before the byte: which of some, and these.
            table: The columns of positions, or of texts; ``case`` as rows of the cases.
            schema_of: Gives the parsed schema of a case, by its row.
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
        return cls(of_row, row, case, keys, text, before, schema_of)

    def before(self, prefix: int, most: int) -> bytes | None:
        """At most so many bytes before a byte; None where that is not stored."""
        found = self._text(prefix)
        if found is None:
            return None
        written = found[0][: found[1]] + self._begun[prefix]
        return written[max(0, len(written) - most) :]

    def onward(self, prefix: int, end: int) -> bytes:
        """The text from a prefix's position on, up to an offset."""
        found = self._text(prefix)
        return b"" if found is None else found[0][found[1] : end]

    def trails(self, prefix: int, byte: bytes) -> bool:
        """Whether a byte is whitespace after the whole value."""
        here = self._stands(prefix)
        return here is not None and here.state.can_end and byte in _SPACE

    def can_wait(self, prefix: int, byte: bytes) -> bool:
        """Whether a byte goes on to declared names that need not come, while another has to."""
        before = self._stands(prefix)
        here = None if before is None else feed(before, byte)
        if here is None or here.mode is not Mode.KEY_STRING:
            return False
        applicable = self._applicable_of(prefix)
        found = list(orders(_sources(applicable, here)))
        left = {name for one in found for name in one.places} - here.frames[-1].names
        names = {name for name in left if name.startswith(here.written)}
        needed = {name for one in found for name in one.required}
        return bool(names) and not names & needed and LACKS_REQUIRED in _object(applicable, here)

    def objects(self, prefix: int) -> frozenset[str]:
        """Which of `OBJECTS` are true of the object that is open after a prefix."""
        if prefix not in self._objects:
            here = self._stands(prefix)
            if here is None:
                found: frozenset[str] = frozenset()
            elif here.frames in self._known:
                found = self._known[here.frames]
            else:
                found = self._known[here.frames] = _object(self._applicable_of(prefix), here)
            self._objects[prefix] = found
        return self._objects[prefix]

    def _stands(self, prefix: int) -> Cursor | None:
        """How the text stands after a prefix; None where it is not stored, or is no JSON."""
        found, case = self._text(prefix), int(self.case[prefix])
        if found is None:
            return None
        text = found[0][: found[1]]
        if self._read[:2] != (case, text):
            last_case, last, here = self._read
            if case != last_case or not text.startswith(last):
                last, here = b"", Cursor()
            here = None if here is None else feed(here, text[len(last) :])
            self._read, self._known = (case, text, here), {}
        here = self._read[2]
        return None if here is None else feed(here, self._begun[prefix])

    def _applicable_of(self, prefix: int) -> Applicable:
        case = int(self.case[prefix])
        if case not in self._applicable:
            self._applicable = {case: Applicable(self._schema_of(case))}
        return self._applicable[case]


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
