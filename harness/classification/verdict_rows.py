"""The stored evidence of verdicts, as the rules of the catalogue of departures ask about it.

Everything here is read from a run directory and from the vocabulary; no engine and no validator is
asked. Each condition looks only at the rows that all conditions before it left over, and at every
distinct value once, so that millions of verdicts take seconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.engines.presets import backends_of, taken_by
from harness.errors import UsageError
from harness.explain.applicable import NO_SIBLINGS
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.pointers import objects_in
from harness.runs.directory import RowNumbers, RunDirectory
from harness.runs.made_with import vocabulary_of
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES, Words
from harness.schemas.schema import Schema, mapping, number, types
from harness.validators.drafts import draft_of, keywords_of
from harness.verdict_kinds import WALK

_BEFORE: Final = 32
"""How many bytes before the token the condition ``before`` sees, and ``token`` of a text."""

_WIDE = 10_000

RowMask = npt.NDArray[np.bool_]

_WORDS = (
    *("engine", "kind", "effect", "category", "detail", "place", "keyword"),
    *("schema_pointer", "instance_pointer"),
)
_PLACED = {
    WALK: ("walk", "position", "refused_at"),
    **{one: (one, "consumed", "offset") for one in TEXT_TABLES},
}
NAMED = re.compile(r"\{(keyword|format|pattern)\}")
"""What stands for something of a verdict in the text of a warning."""


class VerdictRows:
    """One table of verdicts, and what a run holds besides about each of them.

    Without the run's vocabulary the one that its manifest names is opened once it is needed.
    """

    def __init__(
        self, run: RunDirectory, evidence: str, vocabulary: Vocabulary | None = None
    ) -> None:
        self.run = run
        self.evidence = evidence
        self._given = vocabulary
        names = ["case", *_PLACED[evidence], "token", *_WORDS]
        self._columns = self.run.table(VERDICT_TABLES[evidence], names)
        self.size = len(self._columns["case"])
        self._cases = self.run.table("cases", ["case", "schema", "references"])
        for name in ("words", "_declared", "_references", "_output_of", "_lookup"):
            setattr(self, name, cache(getattr(self, name)))  # one of the class would keep this

    def words(self, name: str) -> Words:
        return _words(self._columns[name])

    def holds(self, condition: str, wanted: Any, rows: RowNumbers, engine: str) -> RowMask:
        """Which of some verdicts, all about one engine, meet a condition; ``(len(rows),)``."""
        match condition:
            case "kind" | "effect" | "category" | "detail" | "place" | "keyword":
                return self.words(condition)[rows].equal(*wanted)
            case "before" | "token":
                return self._matches(wanted, rows, condition == "token")
            case "warning":
                return self._warned(wanted, rows, engine)
            case "undeclared":
                return np.array([self._is_undeclared(row) for row in rows.tolist()], np.bool_)
            case "references" | "free_depth" | "beside_reference":
                lies = {"references": self._refers, "free_depth": self._lies_free}
                return lies.get(condition, self._lies_beside)(wanted, rows)
        return self._by_pointer(
            rows, lambda case, *at: _schema_says(condition, wanted, self._lookup(case), *at)
        )

    def by_backend(
        self, rows: RowNumbers, engine: str, described: Mapping[str, Any]
    ) -> Iterator[tuple[Mapping[str, Any], RowNumbers]]:
        """Some verdicts on an engine, as the manifest describes it; on a server, by backend."""
        backends = backends_of(described)
        if not backends:
            yield described, rows
            return
        printed = self._output_of(engine)
        taken = {case: taken_by(text or "") for case, text in printed.items()}
        names = np.array([taken.get(case, "") for case in self._case[rows].tolist()], dtype=str)
        for name, backend in backends.items():
            yield backend, rows[names == name]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        if self._given is None:
            return vocabulary_of(self.run)
        if self._given.sha256 != self.run.manifest["identity"]["vocabulary"]["sha256"]:
            raise UsageError(f"the vocabulary is not the one that {self.run.path} was made with")
        return self._given

    @cached_property
    def _case(self) -> npt.NDArray[np.int32]:
        """The row of each verdict's case."""
        return self._case_of(self._columns["case"])

    def _case_of(self, column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
        rows = {name: row for row, name in enumerate(self._cases["case"].to_pylist())}
        names = _words(column)
        found = np.fromiter((rows.get(one, -1) for one in names.words), np.int32)
        return np.asarray(found[names.codes])

    @cached_property
    def _numbers(self) -> list[npt.NDArray[np.int64]]:
        """Walk, position and the byte of the token at fault; or text, tokens consumed, offset."""
        names = (*_PLACED[self.evidence], "token")
        return [self._columns[name].to_numpy().astype(np.int64) for name in names]

    def _place(self, row: int) -> tuple[int, int, int, int]:
        first, second, at, token = (int(column[row]) for column in self._numbers)
        return first, second, at, token

    @cached_property
    def _offsets(self) -> dict[tuple[int, ...], int]:
        """Where each position of a walk stands in its text, by case, walk and number."""
        table = self.run.table("positions", ["case", "walk", "position", "offset"])
        columns = [table[name].to_pylist() for name in ("walk", "position", "offset")]
        *keys, offsets = self._case_of(table["case"]).tolist(), *columns
        return dict(zip(zip(*keys, strict=True), offsets, strict=True))

    @cached_property
    def _texts(self) -> dict[tuple[int, ...], tuple[bytes, list[int]]]:
        """The texts that engines were fed, with their tokens, by case and number."""
        table = self.run.table(
            TEXT_TABLES[self.evidence], ["case", self.evidence, "text", "tokens"]
        )
        keys = self._case_of(table["case"]).tolist(), table[self.evidence].to_pylist()
        texts = table["text"].to_pylist(), table["tokens"].to_pylist()
        return dict(zip(zip(*keys, strict=True), zip(*texts, strict=True), strict=True))

    def _written(self, row: int) -> tuple[bytes | None, bytes | None]:
        """What is written before the byte at fault, and from there on, of a walk's token alone."""
        case, (first, second, at, token) = int(self._case[row]), self._place(row)
        spelled = self.vocabulary.tokens[token] if token >= 0 else None
        if self.evidence != WALK:
            if (case, first) not in self._texts:
                return None, spelled
            text, tokens = self._texts[case, first]
            if at >= 0:
                return text[max(0, at - _BEFORE) : at], text[at : at + _BEFORE]
            at = sum(len(self.vocabulary.tokens[one]) for one in tokens[:second])
            return text[max(0, at - _BEFORE) : at], spelled
        offset, references = self._offsets.get((case, first, second)), self._references(case)
        known = offset is not None and first < len(references)
        cut = at if spelled and 0 <= at < len(spelled) else 0
        before = (references[first][:offset] + (spelled or b"")[:cut])[-_BEFORE:] if known else None
        return before, None if spelled is None else spelled[cut:]

    def _is_undeclared(self, row: int) -> bool:
        """Whether the key that holds the byte at fault, in the valid text, is declared nowhere.

        The token alone does not tell: what an undeclared name begins with may begin another.
        """
        case, (first, second, at, token) = int(self._case[row]), self._place(row)
        if self.evidence == WALK:
            offset, references = self._offsets.get((case, first, second)), self._references(case)
            after = self._completions.get((case, self._completion[row].as_py()))
            if offset is None or first >= len(references) or after is None or token < 0:
                return False
            text = references[first][:offset] + self.vocabulary.tokens[token] + after
            at = offset + max(at, 0)
        else:
            text = self._texts.get((case, first), (b"", []))[0]
        name = _key_at(text, at)
        return name is not None and name not in self._declared(case)

    @cached_property
    def _completion(self) -> pa.ChunkedArray:
        return self.run.table(VERDICT_TABLES[WALK], ["completion"])["completion"]

    @cached_property
    def _completions(self) -> dict[tuple[int, int], bytes]:
        """What comes after the token in each valid text of a walk, by case and number."""
        table = self.run.table("completions", ["case", "completion", "text"])
        cases, numbers = self._case_of(table["case"]).tolist(), table["completion"].to_pylist()
        keys = zip(cases, numbers, strict=True)
        return dict(zip(keys, table["text"].to_pylist(), strict=True))

    def _declared(self, case: int) -> frozenset[str]:
        """All names that the schema of a case declares in any place."""
        parts = objects_in(self._lookup(case).root)
        return frozenset(name for part in parts for name in mapping(part, "properties"))

    def _references(self, case: int) -> list[bytes]:
        return self._cases["references"][case].as_py() or []

    def _matches(self, wanted: Sequence[re.Pattern[str]], rows: RowNumbers, part: int) -> RowMask:
        """In which rows the text before the byte, or that from it on, matches."""

        @cache
        def fits(text: bytes | None) -> bool:
            return text is not None and any(one.fullmatch(text.decode("latin-1")) for one in wanted)

        return np.array([fits(self._written(row)[part]) for row in rows.tolist()], dtype=np.bool_)

    def _warned(self, wanted: Sequence[str], rows: RowNumbers, engine: str) -> RowMask:
        outputs = self._output_of(engine)

        def says(case: int, pointer: str, keyword: str) -> bool:
            printed = outputs.get(case, "")
            if not printed:
                return False
            here = self._lookup(case).subschema(pointer, keyword) or {}
            names = {**{name: here.get(name) for name in ("format", "pattern")}, "keyword": keyword}
            return any(_printed(one, names, printed) for one in wanted)

        return self._by_pointer(rows, says)

    def _output_of(self, engine: str) -> dict[int, str]:
        """What an engine printed when it compiled, by row of the case."""
        table = self.run.table("engines", ["case", "engine", "stage", "output"])
        mine = _words(table["engine"]).equal(engine) & _words(table["stage"]).equal("compile")
        printed = table["output"].filter(pa.array(mine)).to_pylist()
        return dict(zip(self._case_of(table["case"])[mine].tolist(), printed, strict=True))

    def _lies_beside(self, wanted: bool, rows: RowNumbers) -> RowMask:
        """Whether the draft ignores what stands beside a ``$ref`` around a value or right in it."""

        def beside(case: int, pointer: str, _keyword: str) -> bool:
            schema = self._lookup(case)
            draft = draft_of(schema.root)
            if draft is None or draft.name not in NO_SIBLINGS:
                return not wanted
            known, around = keywords_of(draft.name), schema.around(pointer)
            return wanted is any("$ref" in one and len(known & one.keys()) > 1 for one in around)

        return self._by_pointer(rows, beside, "instance_pointer")

    def _refers(self, wanted: int, rows: RowNumbers) -> RowMask:
        def deep(case: int, pointer: str, _keyword: str) -> bool:
            fewest = self._lookup(case).fewest_references(pointer)
            return fewest is not None and fewest >= wanted

        return self._by_pointer(rows, deep, "instance_pointer")

    def _lies_free(self, wanted: int, rows: RowNumbers) -> RowMask:
        def free(case: int, pointer: str, _keyword: str) -> bool:
            outermost = pointer.rsplit("/", wanted - 1)[0]
            return bool(outermost) and self._lookup(case).fewest_references(outermost) is None

        return self._by_pointer(rows, free, "instance_pointer")

    def _by_pointer(
        self, rows: RowNumbers, says: Callable[[int, str, str], bool], name: str = "schema_pointer"
    ) -> RowMask:
        """An answer for each distinct case, pointer and keyword."""
        pointers, keywords = self.words(name), self.words("keyword")
        key = self._case[rows].astype(np.int64)
        for column in (pointers, keywords):
            key = key * max(1, len(column.words)) + column.codes[rows]
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        found = []
        for row in rows[first].tolist():
            words = (column.words[column.codes[row]] for column in (pointers, keywords))
            found.append(says(int(self._case[row]), *words))
        return np.array(found, dtype=np.bool_)[which]

    def _lookup(self, case: int) -> Schema:
        return Schema(json.loads(self._cases["schema"][case].as_py()))


_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?', re.DOTALL)


def _key_at(text: bytes, at: int) -> str | None:
    """The name of the key that a byte of a JSON text is in, or of the next one."""
    for string in _STRING.finditer(text):
        if string.end(1) >= at:
            with suppress(ValueError):
                return str(json.loads(b'"%b"' % string[1])) if string[2] else None
            return None
    return None


def _words(column: pa.ChunkedArray) -> Words:
    """A column of strings, of dictionaries or plain."""
    array = pc.dictionary_encode(column).unify_dictionaries().combine_chunks()
    return Words(array.indices.to_numpy(), array.dictionary.to_pylist())


def _schema_says(condition: str, wanted: Any, schema: Schema, pointer: str, keyword: str) -> bool:
    """Whether the subschema that a verdict points at meets a condition on it."""
    if condition == "only_through":
        return any(schema.only_through(pointer, keyword, what) for what in wanted)
    here = schema.subschema(pointer, keyword) or {}
    match condition:
        case "format":
            return here.get("format") in wanted
        case "schema_type":
            return not set(types(here)).isdisjoint(wanted)
        case "schema_has":
            return not here.keys().isdisjoint(wanted)
        case "schema_pattern":
            pattern = here.get("pattern")
            return isinstance(pattern, str) and any(one.fullmatch(pattern) for one in wanted)
    return not _multiples(here).isdisjoint(wanted)


def _multiples(here: Mapping[str, Any]) -> set[str]:
    """What is true of ``multipleOf``, and of the integers that bounds beside it allow."""

    def bounds(*names: str, shift: int) -> list[float]:
        values = (number(here.get(name)) for name in names)
        return [value + shift * at for at, value in enumerate(values) if value is not None]

    step = number(here.get("multipleOf"))
    if step is None:
        return set()
    found = {"fraction"} if step != math.floor(step) else set()
    if step > 1024:
        found.add("above_1024")
    least = bounds("minimum", "exclusiveMinimum", shift=1)
    greatest = bounds("maximum", "exclusiveMaximum", shift=-1)
    if bool(least) != bool(greatest):
        found.add("half_bounded")
    elif least and min(greatest) - max(least) >= _WIDE:
        found.add("wide")
    return found


def _printed(wanted: str, names: Mapping[str, Any], output: str) -> bool:
    """Whether `output` holds the warning, the names in braces filled in."""
    named = [names[name] for name in NAMED.findall(wanted)]
    if not all(isinstance(name, str) and name for name in named):
        return False
    expression = NAMED.sub(lambda found: re.escape(names[found[1]]), wanted)
    return re.search(expression, output) is not None
