"""Choose verdicts of a stored run and read their witnesses, a case at a time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.comparison.disputes import mixed
from harness.completion.rollout import keyed_index
from harness.errors import RunDirectoryError, UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import CLAIMS, Witness, verdict_name, verdict_row
from harness.runs.directory import ROW, RowNumbers, RunDirectory
from harness.runs.reader import TableCursor, by_case
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES
from harness.verdict_kinds import WALK

_ABOUT = ("case", "engine", "kind", "reason", "token", "keyword", "effect", "spelling")

_SLICE = 2048
"""Verdicts of one case that are made into witnesses at a time."""

Made = Callable[[str, pa.Table], Iterator[Witness]]
"""Makes the witnesses of one case, of its verdicts; cases must come in order."""

_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Choice:
    """Which verdicts: by evidence, rows of the table of that evidence, ascending."""

    rows: Mapping[str, RowNumbers]

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def of(self, evidence: str) -> RowNumbers:
        return self.rows.get(evidence, _NOTHING)


def named(run: RunDirectory, names: Sequence[str]) -> Choice:
    """The verdicts of these names; a UsageError where one is none, not there, or has no witness."""
    wanted: dict[str, set[int]] = {evidence: set() for evidence in VERDICT_TABLES}
    for evidence, row in map(verdict_row, names):
        wanted[evidence].add(row)
    chosen = {}
    for evidence, numbers in wanted.items():
        if not numbers:
            continue
        able = _able(run, evidence, np.array(sorted(numbers)))
        for number in sorted(numbers.difference(able.tolist())):
            name, table = verdict_name(evidence, number), VERDICT_TABLES[evidence]
            count = sum(batch.num_rows for batch in run.batches(table, ["kind"]))
            raise UsageError(
                f"verdict {name} of {run.path} has no witness"
                if number < count
                else f"{run.path} has no verdict {name}",
                f"{table} has {count} rows, counted from 0",
            )
        chosen[evidence] = able
    return Choice(chosen)


def every(run: RunDirectory) -> Choice:
    """All verdicts that have a witness."""
    return Choice({evidence: _able(run, evidence) for evidence in VERDICT_TABLES})


def sample(run: RunDirectory, size: int, seed: int) -> Choice:
    """`size` of the verdicts that have a witness, or all of them where there are fewer.

    Each verdict has a rank that depends on the seed and its name alone; the first are taken.
    """
    rows, ranks = every(run).rows, []
    for evidence, able in rows.items():
        key = np.uint64(keyed_index(f"{seed}/replay/{evidence}", 1 << 64))
        ranks.append(mixed(able.astype(np.uint64) + key))
    taken = np.zeros(sum(map(len, ranks)), dtype=np.bool_)
    taken[np.argsort(np.concatenate(ranks), kind="stable")[:size]] = True
    parts = np.split(taken, np.cumsum([len(rank) for rank in ranks])[:-1])
    return Choice(
        {name: able[part] for (name, able), part in zip(rows.items(), parts, strict=True)}
    )


def _able(run: RunDirectory, evidence: str, wanted: RowNumbers | None = None) -> RowNumbers:
    """The rows that have a witness, of all or of those wanted."""
    found = [_NOTHING]
    columns = ["kind", "completion" if evidence == WALK else "token"]
    for batch in run.batches(VERDICT_TABLES[evidence], columns, wanted):
        kinds = batch.column("kind")
        other = batch.column(columns[1]).to_numpy()
        # a refused text that is contested is no evidence of anything
        fits = other >= 0 if evidence == WALK else other < 0
        able = np.zeros(batch.num_rows, dtype=np.bool_)
        for code, kind in enumerate(kinds.dictionary.to_pylist()):
            if (claim := CLAIMS.get(kind)) is not None:
                rows = kinds.indices.to_numpy(zero_copy_only=False) == code
                only = claim.needs_completion if evidence == WALK else kind == "contested"
                able |= rows & fits if only else rows
        found.append(batch.column(ROW).to_numpy()[able])
    return np.concatenate(found)


@dataclass(frozen=True)
class CaseWitnesses:
    """Witnesses of one case; `witnesses` can be gone through once."""

    case: str
    schema: str
    witnesses: Iterator[Witness]


def witnesses(run: RunDirectory, choice: Choice, vocabulary: Vocabulary) -> Iterator[CaseWitnesses]:
    """Witnesses of the chosen verdicts, by case in the order of the run."""
    of_walks = ["position", "accepter", "completion", "refused_at"]
    sources = [(WALK, _of_walks(run, vocabulary), of_walks)]
    sources += [(text, _of_texts(run, text), ["consumed", "offset"]) for text in TEXT_TABLES]
    parts = []
    for evidence, made, columns in sources:
        names = [*_ABOUT, evidence, *columns]
        verdicts = by_case(run.batches(VERDICT_TABLES[evidence], names, choice.of(evidence)))
        parts.append(zip(verdicts, itertools.repeat(made), strict=False))
    merged = heapq.merge(*parts, key=lambda part: _place(run, part[0][0]))
    schemas = TableCursor(run, "cases", ["schema"])
    for case, group in itertools.groupby(merged, key=lambda part: part[0][0]):
        rows = schemas.of(case)
        assert rows is not None
        all_made = (witness for part, made in group for witness in made(*part))
        yield CaseWitnesses(case, rows["schema"][0].as_py(), all_made)


def _place(run: RunDirectory, case: str) -> int:
    if case not in run.order:
        raise RunDirectoryError(f"{run.path} has verdicts about an unknown case {case!r}")
    return run.order[case]


def _of_walks(run: RunDirectory, vocabulary: Vocabulary) -> Made:
    positions = TableCursor(run, "positions", ["walk", "position", "token"])
    texts = TableCursor(run, "completions", ["completion", "tokens"])

    def made(case: str, verdicts: pa.Table) -> Iterator[Witness]:
        paths, stored = _paths(positions.of(case)), texts.of(case)
        for start in range(0, verdicts.num_rows, _SLICE):
            rows = verdicts.slice(start, _SLICE)
            completions = _completions(stored, rows["completion"])
            for row in rows.to_pylist():
                walk, position, number, token = (
                    row[name] for name in ("walk", "position", "completion", "token")
                )
                before, completion = paths.get(walk, ())[:position], completions.get(number, ())
                if len(before) < position:
                    raise _damaged(run, case, f"position {position} of walk {walk}")
                if number >= 0 and number not in completions:
                    raise _damaged(run, case, f"completion {number}")
                text = vocabulary.text((*before, *[token] * (token >= 0), *completion))
                yield _witness(WALK, row, before, token, completion, text)

    return made


def _of_texts(run: RunDirectory, evidence: str) -> Made:
    texts = TableCursor(run, TEXT_TABLES[evidence], [evidence, "text", "tokens"])

    def made(case: str, verdicts: pa.Table) -> Iterator[Witness]:
        stored = texts.of(case)
        fed = {} if stored is None else {text[evidence]: text for text in stored.to_pylist()}
        for row in verdicts.to_pylist():
            if row[evidence] not in fed:
                raise _damaged(run, case, f"{evidence} {row[evidence]}")
            whole, token = fed[row[evidence]], row["token"]
            if token >= 0 or row["kind"] == "dead_end":
                before = whole["tokens"][: row["consumed"]]
            else:  # the end of sequence is the last token where all are taken
                *before, token = whole["tokens"]
            yield _witness(evidence, row, tuple(before), token, (), whole["text"])

    return made


def _witness(evidence: str, row: Mapping[str, Any], *tokens_and_text: Any) -> Witness:
    about = [row[name] for name in (ROW, "case", evidence, "engine", "kind", "reason")]
    last = [row[name] for name in ("keyword", "effect", "spelling")]
    offset = row["refused_at" if evidence == WALK else "offset"]
    fields = (*about, row.get("accepter", ""), *tokens_and_text, *last, offset)
    return Witness(evidence, *fields)


def _damaged(run: RunDirectory, case: str, what: str) -> RunDirectoryError:
    return RunDirectoryError(f"{run.path} has no {what} of case {case!r}")


def _paths(positions: pa.Table | None) -> dict[int, tuple[int, ...]]:
    if positions is None:
        return {}
    walk, number, token = (positions[name].to_numpy() for name in ("walk", "position", "token"))
    order = np.lexsort((number, walk))
    walk, token = walk[order], token[order]
    return {one: tuple(token[walk == one].tolist()) for one in np.unique(walk).tolist()}


def _completions(stored: pa.Table | None, numbers: pa.ChunkedArray) -> dict[int, tuple[int, ...]]:
    if stored is None:
        return {}
    found = stored.filter(pc.is_in(stored["completion"], numbers.combine_chunks()))
    columns = (found["completion"].to_pylist(), found["tokens"].to_pylist())
    return {number: tuple(tokens) for number, tokens in zip(*columns, strict=True)}
