"""The stored evidence of verdicts, as the rules of the catalogue of departures ask about it.

Everything here is read from a run directory and from the vocabulary; no engine and no validator is
asked. Each condition looks only at the rows that all conditions before it left over, and at every
distinct value once, so that millions of verdicts take seconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.classification.written_text import Prefixes
from harness.engines.presets import backends_of, taken_by
from harness.errors import UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.runs.columns import matching, numbers, translated, words
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_of
from harness.runs.reader import RowNumbers, RunReader
from harness.runs.tables import SCHEMAS, TEXT_TABLES, VERDICT_TABLES, Words
from harness.schemas.schema import Schema
from harness.verdict_kinds import WALK

BEFORE: Final = 32
"""How many bytes before the token the condition ``before`` sees."""

MULTIPLES: Final = ("fraction", "above_1024", "half_bounded", "wide")
"""What may be true of ``multipleOf``: that it is a fraction, or beyond 1024; that the integers that
the bounds beside it allow are bounded on one side only, or more than 10,000."""

_WIDE = 10_000

RowMask = npt.NDArray[np.bool_]

_WORDS = ("engine", "kind", "category", "detail", "keyword", "schema_pointer", "instance_pointer")
_PREFIX = {
    WALK: ("walk", "position", "refused_at"),
    **{one: (one, "consumed", "offset") for one in TEXT_TABLES},
}
_NAMED = re.compile(r"\{(keyword|format|pattern)\}")


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
        self._reader = RunReader(run)
        names = ["case", *_PREFIX[evidence], "token", *_WORDS]
        self._columns = self._read(VERDICT_TABLES[evidence], [*names, "place"])
        self.size = len(self._columns["case"])
        self._cases = self._read("cases", ["case", "schema", "references"])

    @cache  # noqa: B019 - as long as the run is read
    def words(self, name: str) -> Words:
        """A column of words."""
        return words(self._columns[name])

    def holds(self, condition: str, wanted: Any, rows: RowNumbers, engine: str) -> RowMask:
        """Which of some verdicts, all about one engine, meet a condition; ``(len(rows),)``."""
        special: dict[str, Callable[[Any, RowNumbers, str], RowMask]] = {
            "evidence": lambda some, at, _: np.full(len(at), self.evidence in some),
            "schema_pointer": self._pointer_fits,
            "token": self._token_fits,
            "special": self._is_special,
            "before": self._before_fits,
            "forced": self._is_forced,
            "trailing_space": lambda some, at, _: self._of_byte(at, some, self._prefixes.trails),
            "object": self._object_is,
            "can_wait": lambda some, at, _: self._of_byte(at, some, self._prefixes.can_wait),
            "warning": self._warned,
            "references": self._refers,
        }
        if condition in special:
            return special[condition](wanted, rows, engine)
        if condition in ("kind", "category", "detail", "place", "keyword"):
            return self.words(condition)[rows].equal(*wanted)
        return self._by_pointer(
            rows, lambda case, *at: _schema_says(condition, wanted, self._lookup(case), *at)
        )

    def by_backend(
        self, rows: RowNumbers, engine: str, described: Mapping[str, Any]
    ) -> Iterator[tuple[Mapping[str, Any], RowNumbers]]:
        """Some verdicts on an engine, and which engine they are about in truth.

        `described` is the engine in the run's manifest; where it is a server, they are about the
        backend that took the schema.
        """
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
        """The run's vocabulary."""
        if self._given is None:
            return vocabulary_of(self.run)
        if self._given.sha256 != self.run.manifest["identity"]["vocabulary"]["sha256"]:
            raise UsageError(f"the vocabulary is not the one that {self.run.path} was made with")
        return self._given

    def _read(self, table: str, columns: Sequence[str]) -> Mapping[str, pa.ChunkedArray]:
        batches = [one.select(columns) for one in self._reader.batches(table, columns)]
        names = pa.schema([SCHEMAS[table].field(name) for name in columns])
        found = pa.Table.from_batches(batches, names)
        return dict(zip(columns, found.columns, strict=True))

    @cached_property
    def _case(self) -> npt.NDArray[np.int32]:
        """The row of each verdict's case."""
        return self._case_of(self._columns["case"])

    def _case_of(self, column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
        return translated(words(column), self._case_rows)

    @cached_property
    def _case_rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self._cases["case"].to_pylist())}

    @cached_property
    def _token(self) -> npt.NDArray[np.int64]:
        return numbers(self._columns["token"], -1).astype(np.int64)

    @cached_property
    def _prefixes(self) -> Prefixes:
        first, second = (numbers(self._columns[name], -1) for name in _PREFIX[self.evidence][:2])
        codes, pieces = self._pieces
        if self.evidence == WALK:
            table = self._read("positions", ["case", "walk", "position", "offset"])
            texts = self._cases["references"]
        else:
            table, second = self._texts, self._offsets
            texts = table["text"]
        return Prefixes.of(
            self.evidence,
            (self._case, first, second),
            (codes, [begun for begun, _ in pieces]),
            {**table, "case": self._case_of(table["case"])},
            texts,
            self._schema_of,
        )

    @cached_property
    def _pieces(self) -> tuple[npt.NDArray[np.int64], list[tuple[bytes, str | None]]]:
        """What each verdict's token writes before the byte at fault, and from it on.

        Which of some pairs each verdict has, and these: the bytes before, and those from there on,
        each as one character; None without a token. Of a text nothing stands before: its
        place is that of the byte.
        """
        if self.evidence != WALK:
            return self._pieces_of_texts()
        at = numbers(self._columns["refused_at"], -1).astype(np.int64)
        pairs, which = np.unique(self._token << 32 | (at + 1), return_inverse=True)
        pieces: list[tuple[bytes, str | None]] = []
        for pair in pairs.tolist():
            token, at_ = pair >> 32, (pair & 0xFFFFFFFF) - 1
            text = self.vocabulary.tokens[token] if token >= 0 else b""
            cut = at_ if 0 <= at_ < len(text) else 0
            pieces.append((text[:cut], text[cut:].decode("latin-1") if token >= 0 else None))
        return which, pieces

    def _pieces_of_texts(
        self,
    ) -> tuple[npt.NDArray[np.int64], list[tuple[bytes, str | None]]]:
        offset = numbers(self._columns["offset"], -1)
        rows, texts = self._text_rows, self._texts["text"]
        words_: dict[str | None, int] = {}
        which = np.zeros(self.size, dtype=np.int64)
        for row in range(self.size):
            token, at = int(self._token[row]), int(offset[row])
            rest: bytes | None = self.vocabulary.tokens[token] if token >= 0 else None
            if at >= 0 and rows[row] >= 0:
                rest = texts[int(rows[row])].as_py()[at : at + BEFORE]
            shown = None if rest is None else rest.decode("latin-1")
            which[row] = words_.setdefault(shown, len(words_))
        return which, [(b"", rest) for rest in words_]

    @cached_property
    def _texts(self) -> Mapping[str, pa.ChunkedArray]:
        return self._read(TEXT_TABLES[self.evidence], ["case", self.evidence, "text", "tokens"])

    @cached_property
    def _text_rows(self) -> npt.NDArray[np.int64]:
        """The row of each verdict's text; -1 without one."""
        table, number = self._texts, self.evidence
        keys = [self._case_of(table["case"]), numbers(table[number], -1)]
        return matching([self._case, numbers(self._columns[number], -1)], keys)

    @cached_property
    def _offsets(self) -> npt.NDArray[np.int64]:
        """Which byte of its text each verdict is about, if need be by its tokens."""
        known = numbers(self._columns["offset"], -1).astype(np.int64)
        consumed, tokens = numbers(self._columns["consumed"], 0), self._texts["tokens"]
        for row in np.flatnonzero((known < 0) & (self._text_rows >= 0)).tolist():
            taken = tokens[int(self._text_rows[row])].as_py()[: int(consumed[row])]
            known[row] = self._token_lengths()[taken].sum()
        return known

    def _token_lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.vocabulary.offsets)

    def _pointer_fits(self, wanted: Sequence[re.Pattern[str]], rows: RowNumbers, _: str) -> RowMask:
        column = self.words("schema_pointer")
        fits = [any(one.fullmatch(value) for one in wanted) for value in column.words]
        return np.asarray(np.array([*fits, False])[column.codes[rows]])

    def _token_fits(self, wanted: Sequence[re.Pattern[str]], rows: RowNumbers, _: str) -> RowMask:
        codes, pieces = self._pieces
        some, which = np.unique(codes[rows], return_inverse=True)
        rests = [pieces[code][1] for code in some.tolist()]
        fits = [rest is not None and any(one.fullmatch(rest) for one in wanted) for rest in rests]
        return np.array(fits, dtype=np.bool_)[which]

    def _is_special(self, wanted: bool, rows: RowNumbers, _: str) -> RowMask:
        special = np.append(self.vocabulary.special, False)
        return np.asarray(special[self._token[rows]] == wanted)

    def _before_fits(self, wanted: Sequence[re.Pattern[str]], rows: RowNumbers, _: str) -> RowMask:
        def fits(prefix: int) -> bool:
            text = self._prefixes.before(prefix, BEFORE)
            known = None if text is None else text.decode("latin-1")
            return known is not None and any(one.fullmatch(known) for one in wanted)

        return self._of_prefix(rows, fits)

    def _is_forced(self, wanted: bool, rows: RowNumbers, engine: str) -> RowMask:
        """Whether the mask held one token, and the verdict's begins the text that it begins."""
        if self.evidence != WALK:
            return np.full(len(rows), not wanted)
        prefixes, which = np.unique(self._prefixes.of_row[rows], return_inverse=True)
        single = self._single(engine)[self._prefixes.row[prefixes]]
        ends = self._ends(engine)
        size = self.vocabulary.size
        pairs: list[int] = []
        for number in np.flatnonzero(single).tolist():
            prefix = int(prefixes[number])
            onward = self._prefixes.onward(prefix, int(ends[self._prefixes.row[prefix]]))
            pairs += [number * size + token for token in self.vocabulary.starts(onward)]
        keys = which * size + self._token[rows]
        forced = np.isin(keys, np.array(pairs, dtype=np.int64)) & (self._token[rows] >= 0)
        return np.asarray(forced == wanted)

    def _single(self, engine: str) -> RowMask:
        """By row of the positions: the engine's mask held exactly one token. One row more."""
        masks = self._read("masks", ["case", "walk", "position", "engine", "allowed"])
        mine = words(masks["engine"]).equal(engine) & (numbers(masks["allowed"]) == 1)
        places = [
            self._case_of(masks["case"])[mine],
            *(numbers(masks[name])[mine] for name in ("walk", "position")),
        ]
        out = np.zeros(len(self._prefixes.keys[0]) + 1, dtype=np.bool_)
        out[matching(places, self._prefixes.keys)] = True
        out[-1] = False
        return out

    def _ends(self, engine: str) -> RowNumbers:
        """By row of the positions: how far the engine was led through the walk's text."""
        table = self._read("positions", ["offset", "token", "judged"])
        token, offset = numbers(table["token"], -1), numbers(table["offset"])
        lengths = np.append(self._token_lengths(), 0)
        index = list(self.run.manifest["identity"]["engines"]).index(engine)
        judged = (numbers(table["judged"]).astype(np.int64) >> index) & 1 == 1
        case, walk, _ = self._prefixes.keys
        _, group = np.unique(np.column_stack([case, walk]), axis=0, return_inverse=True)
        ends = np.zeros(len(token), dtype=np.int64)
        np.maximum.at(ends, group.ravel(), np.where(judged, offset + lengths[token], 0))
        return ends[group.ravel()]

    def _of_byte(
        self, rows: RowNumbers, wanted: bool, holds: Callable[[int, bytes], bool]
    ) -> RowMask:
        """Whether something holds of a prefix and the byte after it, as `wanted`."""
        codes, pieces = self._pieces
        keys, which = np.unique(
            self._prefixes.of_row[rows] * len(pieces) + codes[rows], return_inverse=True
        )
        found = []
        for key in keys.tolist():
            prefix, code = divmod(key, len(pieces))
            byte = (pieces[code][1] or "")[:1].encode("latin-1")
            found.append(holds(prefix, byte) == wanted)
        return np.array(found, dtype=np.bool_)[which]

    def _object_is(self, wanted: Iterable[str], rows: RowNumbers, _: str) -> RowMask:
        def fits(prefix: int) -> bool:
            return not self._prefixes.objects(prefix).isdisjoint(wanted)

        return self._of_prefix(rows, fits)

    def _of_prefix(self, rows: RowNumbers, holds: Callable[[int], bool]) -> RowMask:
        prefixes, which = np.unique(self._prefixes.of_row[rows], return_inverse=True)
        return np.array([holds(one) for one in prefixes.tolist()], dtype=np.bool_)[which]

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

    @cache  # noqa: B019 - as long as the run is read
    def _output_of(self, engine: str) -> dict[int, str]:
        """What an engine printed when it compiled, by row of the case."""
        table = self._read("engines", ["case", "engine", "stage", "output"])
        mine = words(table["engine"]).equal(engine) & words(table["stage"]).equal("compile")
        printed = table["output"].filter(pa.array(mine)).to_pylist()
        return dict(zip(self._case_of(table["case"])[mine].tolist(), printed, strict=True))

    def _refers(self, wanted: int, rows: RowNumbers, _: str) -> RowMask:
        def deep(case: int, pointer: str, _keyword: str) -> bool:
            fewest = self._lookup(case).fewest_references(pointer)
            return fewest is not None and fewest >= wanted

        return self._by_pointer(rows, deep, "instance_pointer")

    def _by_pointer(
        self, rows: RowNumbers, says: Callable[[int, str, str], bool], name: str = "schema_pointer"
    ) -> RowMask:
        """An answer for each distinct case, pointer and keyword."""
        pointers, keywords = self.words(name), self.words("keyword")
        key = self._case[rows].astype(np.int64)
        for column in (pointers, keywords):
            key = key * max(1, len(column.words)) + column.codes[rows]
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        found = [
            says(
                int(self._case[row]),
                pointers.words[pointers.codes[row]],
                keywords.words[keywords.codes[row]],
            )
            for row in rows[first].tolist()
        ]
        return np.array(found, dtype=np.bool_)[which]

    @cache  # noqa: B019 - as long as the run is read
    def _lookup(self, case: int) -> Schema:
        return Schema(self._schema_of(case))

    def _schema_of(self, case: int) -> Any:
        return json.loads(self._cases["schema"][case].as_py())


def _schema_says(condition: str, wanted: Any, schema: Schema, pointer: str, keyword: str) -> bool:
    """Whether the subschema that a verdict points at meets a condition on it."""
    if condition == "only_through":
        return any(schema.only_through(pointer, keyword, what) for what in wanted)
    here = schema.subschema(pointer, keyword)
    if here is None:
        return False
    types, pattern = here.get("type"), here.get("pattern")
    asked: Mapping[str, Callable[[], bool]] = {
        "format": lambda: here.get("format") in wanted,
        "schema_type": lambda: any(
            one in wanted for one in (types if isinstance(types, list) else [types])
        ),
        "schema_has": lambda: any(one in here for one in wanted),
        "schema_pattern": lambda: (
            isinstance(pattern, str) and any(one.fullmatch(pattern) for one in wanted)
        ),
        "multiple_of": lambda: not _multiples(here).isdisjoint(wanted),
    }
    return asked[condition]()


def _multiples(here: Mapping[str, Any]) -> set[str]:
    """Which of `MULTIPLES` are true of a subschema."""

    def bound(name: str, shift: int) -> list[float]:
        value = _number(here.get(name))
        return [] if value is None else [value + shift]

    step = _number(here.get("multipleOf"))
    if step is None:
        return set()
    found = {"fraction"} if step != math.floor(step) else set()
    if step > 1024:
        found.add("above_1024")
    least = [*bound("minimum", 0), *bound("exclusiveMinimum", 1)]
    greatest = [*bound("maximum", 0), *bound("exclusiveMaximum", -1)]
    if bool(least) != bool(greatest):
        found.add("half_bounded")
    elif least and min(greatest) - max(least) >= _WIDE:
        found.add("wide")
    return found


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _printed(wanted: str, names: Mapping[str, Any], output: str) -> bool:
    """Whether `output` holds the warning, the names in braces filled in."""
    named = [names[name] for name in _NAMED.findall(wanted)]
    if not all(isinstance(name, str) and name for name in named):
        return False
    expression = _NAMED.sub(lambda found: re.escape(names[found[1]]), wanted)
    return re.search(expression, output) is not None
