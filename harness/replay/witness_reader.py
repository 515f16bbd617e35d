"""Choose verdicts of a stored run and read their witnesses, a case at a time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.completion.rollout import keyed_index
from harness.errors import RunDirectoryError, UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import CLAIMS, Witness, verdict_name, verdict_row
from harness.runs.directory import RunDirectory
from harness.runs.reader import ROW, CaseTable, RowNumbers, RunReader, TableCursor, by_case
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES
from harness.verdict_kinds import WALK

_ABOUT = ("case", "engine", "kind", "reason", "token")

_SLICE = 2048
"""Verdicts of one case that are made into witnesses at a time."""

_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Choice:
    """Which verdicts: by evidence, rows of the table of that evidence, ascending."""

    rows: Mapping[str, RowNumbers]

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def of(self, evidence: str) -> RowNumbers:
        """The rows in the table of one sort of evidence."""
        return self.rows.get(evidence, _NOTHING)


def named(run: RunDirectory, names: Sequence[str]) -> Choice:
    """The verdicts of these names, which must have witnesses.

    Raises:
        UsageError: A name that is none, a verdict that is not there or has no witness.
    """
    wanted: dict[str, set[int]] = {evidence: set() for evidence in VERDICT_TABLES}
    for evidence, row in map(verdict_row, names):
        wanted[evidence].add(row)
    reader = RunReader(run)
    chosen = {}
    for evidence, numbers in wanted.items():
        able, count = _able_among(reader, evidence, np.array(sorted(numbers), dtype=np.int64))
        for number in sorted(numbers.difference(able.tolist())):
            name = verdict_name(evidence, number)
            raise UsageError(
                f"verdict {name} of {run.path} has no witness"
                if number < count
                else f"{run.path} has no verdict {name}",
                f"{VERDICT_TABLES[evidence]} has {count} rows, counted from 0",
            )
        chosen[evidence] = able
    return Choice(chosen)


def every(run: RunDirectory) -> Choice:
    """All verdicts that have a witness."""
    reader = RunReader(run)
    return Choice({one: np.concatenate([_NOTHING, *_able(reader, one)]) for one in VERDICT_TABLES})


def sample(run: RunDirectory, size: int, seed: int) -> Choice:
    """`size` of the verdicts that have a witness, or all of them where there are fewer.

    Each verdict has a rank that depends on the seed and its name alone; the first are taken.
    """
    reader = RunReader(run)
    rows, ranks, sorts = [_NOTHING], [_NOTHING.astype(np.uint64)], [_NOTHING]
    for at, evidence in enumerate(VERDICT_TABLES):
        key = np.uint64(keyed_index(f"{seed}/replay/{evidence}", 1 << 64))
        for able in _able(reader, evidence):
            rank = mixed(able.astype(np.uint64) + key)
            best = np.argpartition(rank, size - 1)[:size] if len(rank) > size else slice(None)
            rows.append(able[best])
            ranks.append(rank[best])
            sorts.append(np.full(len(rows[-1]), at))
    row, sort = np.concatenate(rows), np.concatenate(sorts)
    first = np.lexsort((row, sort, np.concatenate(ranks)))[:size]
    sorted_ = (np.sort(row[first][sort[first] == at]) for at in range(len(VERDICT_TABLES)))
    return Choice(dict(zip(VERDICT_TABLES, sorted_, strict=True)))


def mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers that look random, one for each (the finaliser of splitmix64; Steele et al., 2014)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _able(
    reader: RunReader, evidence: str, wanted: RowNumbers | None = None
) -> Iterator[RowNumbers]:
    """The rows that have a witness, in batches."""
    columns = ["kind", "completion" if evidence == WALK else "token"]
    for batch in reader.batches(VERDICT_TABLES[evidence], columns, wanted):
        kinds = batch.column("kind")
        names = kinds.dictionary.to_pylist()
        claims = [CLAIMS.get(kind) for kind in names]
        codes = kinds.indices.to_numpy(zero_copy_only=False)
        able = np.array([one is not None for one in claims], dtype=np.bool_)[codes]
        other = batch.column(columns[1]).to_numpy()
        if evidence == WALK:
            needs = np.array([bool(one and one.needs_completion) for one in claims])[codes]
            able &= ~needs | (other >= 0)
        else:  # a refused text that is contested is no evidence of anything
            able &= (np.array(names, dtype=object)[codes] != "contested") | (other < 0)
        yield batch.column(ROW).to_numpy()[able]


def _able_among(reader: RunReader, evidence: str, wanted: RowNumbers) -> tuple[RowNumbers, int]:
    """Those of `wanted` that have a witness, and how many rows there are."""
    if not len(wanted):
        return _NOTHING, 0
    count = sum(batch.num_rows for batch in reader.batches(VERDICT_TABLES[evidence], ["kind"]))
    return np.concatenate([_NOTHING, *_able(reader, evidence, wanted)]), count


@dataclass(frozen=True)
class CaseWitnesses:
    """Witnesses of one case; `witnesses` can be gone through once."""

    case: str
    schema: str
    witnesses: Iterator[Witness]


def witnesses(run: RunDirectory, choice: Choice, vocabulary: Vocabulary) -> Iterator[CaseWitnesses]:
    """The witnesses of verdicts, in the order of the cases; in each, those of walks first.

    Raises:
        RunDirectoryError: The tables do not fit together.
    """
    reader = RunReader(run)
    sources: list[_Walks | _Texts] = [
        _Walks(reader, choice, vocabulary),
        *(_Texts(reader, choice, vocabulary, evidence) for evidence in TEXT_TABLES),
    ]
    parts = [zip(by_case(one.verdicts), itertools.repeat(one), strict=False) for one in sources]
    merged = heapq.merge(*parts, key=lambda one: _place(reader, one[0].case))
    schemas = TableCursor(reader, "cases", ["schema"])
    for case, group in itertools.groupby(merged, key=lambda one: one[0].case):
        rows = schemas.of(case)
        assert rows is not None
        made = (witness for part, source in group for witness in source.made(part))
        yield CaseWitnesses(case, rows["schema"][0].as_py(), made)


def _place(reader: RunReader, case: str) -> int:
    if case not in reader.order:
        raise RunDirectoryError(f"{reader.run.path} has verdicts about an unknown case {case!r}")
    return reader.order[case]


class _Walks:
    """Witnesses of walks."""

    def __init__(self, reader: RunReader, choice: Choice, vocabulary: Vocabulary) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        self.verdicts = reader.batches(
            VERDICT_TABLES[WALK],
            [*_ABOUT, "walk", "position", "accepter", "completion"],
            choice.of(WALK),
        )
        self._positions = TableCursor(reader, "positions", ["walk", "position", "token"])
        self._completions = TableCursor(reader, "completions", ["completion", "tokens"])

    def made(self, part: CaseTable) -> Iterator[Witness]:
        """The witnesses of one case; cases must come in order."""
        paths = _paths(self._positions.of(part.case))
        before: dict[tuple[int, int], tuple[int, ...]] = {}
        stored = self._completions.of(part.case)
        for start in range(0, part.rows.num_rows, _SLICE):
            rows = part.rows.slice(start, _SLICE)
            completions = _completions(stored, rows["completion"])
            for row in rows.to_pylist():
                where = (row["walk"], row["position"])
                if where not in before:
                    before[where] = self._consumed(part.case, paths, *where)
                number = row["completion"]
                if number >= 0 and number not in completions:
                    self._damaged(part.case, f"completion {number}")
                yield self._witness(row, before[where], completions.get(number, ()))

    def _witness(
        self, row: Mapping[str, Any], before: tuple[int, ...], completion: tuple[int, ...]
    ) -> Witness:
        token = row["token"]
        tokens = (*before, *((token,) if token >= 0 else ()), *completion)
        return Witness(
            WALK,
            row[ROW],
            row["case"],
            row["walk"],
            row["engine"],
            row["kind"],
            row["reason"],
            row["accepter"],
            before,
            token,
            completion,
            spelled(self._vocabulary, tokens),
        )

    def _consumed(
        self, case: str, paths: Mapping[int, tuple[int, ...]], walk: int, position: int
    ) -> tuple[int, ...]:
        consumed = paths.get(walk, ())[:position]
        if len(consumed) < position:
            self._damaged(case, f"position {position} of walk {walk}")
        return consumed

    def _damaged(self, case: str, what: str) -> None:
        raise RunDirectoryError(f"{self._reader.run.path} has no {what} of case {case!r}")


class _Texts:
    """Witnesses of texts that were fed: instances or samples."""

    def __init__(
        self, reader: RunReader, choice: Choice, vocabulary: Vocabulary, evidence: str
    ) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        self._evidence = evidence
        self.verdicts = reader.batches(
            VERDICT_TABLES[evidence], [*_ABOUT, evidence, "consumed"], choice.of(evidence)
        )
        self._texts = TableCursor(reader, TEXT_TABLES[evidence], [evidence, "text", "tokens"])

    def made(self, part: CaseTable) -> Iterator[Witness]:
        """The witnesses of one case; cases must come in order."""
        stored, evidence = self._texts.of(part.case), self._evidence
        fed = {} if stored is None else {one[evidence]: one for one in stored.to_pylist()}
        for row in part.rows.to_pylist():
            if row[evidence] not in fed:
                what = f"{evidence} {row[evidence]} of case {part.case!r}"
                raise RunDirectoryError(f"{self._reader.run.path} has no {what}")
            yield self._witness(row, fed[row[evidence]])

    def _witness(self, row: Mapping[str, Any], fed: Mapping[str, Any]) -> Witness:
        """The witness of one verdict; the end of sequence is the last token where all are taken."""
        tokens, token = fed["tokens"], row["token"]
        if token >= 0 or row["kind"] == "dead_end":
            before = tokens[: row["consumed"]]
        else:
            *before, token = tokens
        return Witness(
            self._evidence,
            row[ROW],
            row["case"],
            row[self._evidence],
            row["engine"],
            row["kind"],
            row["reason"],
            "",
            tuple(before),
            token,
            (),
            fed["text"],
        )


def spelled(vocabulary: Vocabulary, tokens: Sequence[int]) -> bytes:
    """The text of tokens, without ends of sequence."""
    return b"".join(vocabulary.tokens[one] for one in tokens if one not in vocabulary.eos_ids)


def _paths(positions: pa.Table | None) -> dict[int, tuple[int, ...]]:
    """The tokens of each walk, in order."""
    if positions is None:
        return {}
    walk, number, token = (positions[name].to_numpy() for name in ("walk", "position", "token"))
    order = np.lexsort((number, walk))
    walk, token = walk[order], token[order]
    return {one: tuple(token[walk == one].tolist()) for one in np.unique(walk).tolist()}


def _completions(stored: pa.Table | None, numbers: pa.ChunkedArray) -> dict[int, tuple[int, ...]]:
    """The completions of these numbers."""
    if stored is None:
        return {}
    found = stored.filter(pc.is_in(stored["completion"], numbers.combine_chunks()))
    columns = (found["completion"].to_pylist(), found["tokens"].to_pylist())
    return {number: tuple(tokens) for number, tokens in zip(*columns, strict=True)}
