"""Which verdicts are one bug: groups by what is stored of them, and samples that say what they are.

Of each group some are shrunk, drawn by a seed; where all come to one bug, so does the group. Where
they do not the group is split, by case and then by place, and samples of each part are shrunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.analysis.stored import Classify, StoredRun, stored_run
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.text_edits import sort_of
from harness.completion.rollout import keyed_index
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import verdict_name, verdict_row
from harness.replay.witness_reader import mixed
from harness.runs.columns import words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import CLASSES, ERRORS, LEGAL, REJECTIONS, WALK

_LEVELS = (
    ("engine", "kind", "class", "departure", "keyword", "category", "detail", "byte"),
    ("case",),
    ("schema_pointer", "instance_pointer"),
)
"""By what verdicts are grouped, and groups split."""
_OF_REJECTIONS = ("category", "detail", "byte")
"""What is about the refused byte: of a text that is let through it says nothing."""
EVIDENCE = tuple(VERDICT_TABLES)
SAMPLES, OF_PART = 3, 2
"""Verdicts of a group that are shrunk, of different cases where there are, and of its parts."""

Codes = npt.NDArray[np.int64]
APART = "its samples shrink to different bugs"
PENDING = "not shrunk yet"


@dataclass(frozen=True)
class ErrorRows:
    """The errors of a run, of all kinds of evidence, shape ``(n,)`` each.

    `evidence` are indices into `EVIDENCE`, `row` that in its table; `class_` codes into
    `harness.verdict_kinds.CLASSES`, `severity` into `harness.analysis.stored.WORST_FIRST`;
    `engine` and `case` numbers in the run. `groups` has at each level the group that a verdict is
    in, and `rank` the order in which verdicts of a group are drawn.
    """

    evidence: npt.NDArray[np.int8]
    row: Codes
    class_: Codes
    engine: Codes
    case: Codes
    severity: npt.NDArray[np.int8]
    groups: Sequence[Codes]
    rank: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.row)

    def name(self, number: int) -> str:
        """What a verdict is called on the command line."""
        return verdict_name(EVIDENCE[self.evidence[number]], int(self.row[number]))

    def place(self, name: str) -> int | None:
        """Which of these a verdict is; evidence and rows ascend."""
        evidence, row = verdict_row(name)
        low, high = np.searchsorted(self.evidence, np.arange(2) + EVIDENCE.index(evidence))
        place = int(low + np.searchsorted(self.row[low:high], row))
        return place if place < high and self.row[place] == row else None


def read_verdicts(
    run: RunDirectory, rule: Classify, vocabulary: Vocabulary, seed: int
) -> ErrorRows:
    """The errors of a run, grouped; what no specification forbids is none of them.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    stored = stored_run(run, rule)
    table = pa.concat_tables(
        _read(stored, vocabulary, number, evidence) for number, evidence in enumerate(EVIDENCE)
    )
    columns = {name: words(table[name]) for level in _LEVELS for name in level}
    groups: list[Codes] = []
    group = np.zeros(table.num_rows, dtype=np.int64)
    for level in _LEVELS:
        for name in level:
            codes = columns[name].codes.astype(np.int64)
            group = np.unique(group * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
        groups.append(group)
    evidence, row = table["evidence"].to_numpy(), table["row"].to_numpy()
    key = np.uint64(keyed_index(f"{seed}/bugs", 1 << 64))
    # what walks and instances draw does not depend on whether there are samples
    sort, bit = evidence.astype(np.uint64), np.uint64(1)
    rank = (row.astype(np.uint64) << bit) + (sort & bit) + (sort >> bit << np.uint64(62)) + key
    classes = columns["class"]
    return ErrorRows(
        evidence,
        row,
        np.array([CLASSES.index(name) for name in classes.words])[classes.codes],
        table["engine_row"].to_numpy(),
        table["case_row"].to_numpy(),
        table["severity"].to_numpy(),
        groups,
        mixed(rank),
    )


def _read(stored: StoredRun, vocabulary: Vocabulary, number: int, evidence: str) -> pa.Table:
    names = [*_LEVELS[0][:2], *("keyword", "category", "detail", "case"), *_LEVELS[2]]
    place = "refused_at" if evidence == WALK else "offset"
    table = stored.run.table(VERDICT_TABLES[evidence], [*names, "token", place])
    classes = stored.classify(stored.run, evidence)
    kind, class_ = words(table["kind"]), words(classes["class"])
    wanted = np.flatnonzero(
        class_.equal(*CLASSES) & kind.equal(*(name for name in ERRORS if name not in LEGAL))
    )
    out = {name: _plain(table[name]).take(wanted) for name in names}
    out |= {name: _plain(classes[name]).take(wanted) for name in ("class", "departure")}
    tokens = table["token"].to_numpy()[wanted]
    offsets = table[place].to_numpy()[wanted] if evidence == WALK else np.full(len(wanted), -1)
    out["byte"] = _bytes(tokens, offsets, vocabulary)
    rejected = words(pa.chunked_array([out["kind"]])).equal(*REJECTIONS)
    for name in _OF_REJECTIONS:
        out[name] = pc.if_else(pa.array(rejected), out[name], "")
    ranked = stored.arrays(
        """SELECT engine::BIGINT AS engine_row, case_row::BIGINT AS case_row,
            enum_code(severity)::TINYINT AS severity
        FROM verdicts WHERE evidence = $1 ORDER BY row""",
        evidence,
    )
    out |= {
        "evidence": pa.array(np.full(len(wanted), number, dtype=np.int8)),
        "row": pa.array(wanted),
        **{name: pa.array(column[wanted]) for name, column in ranked.items()},
    }
    return pa.table(out)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """A column of words without its dictionary."""
    return column.cast(pa.string()).combine_chunks()


def _bytes(tokens: Codes, offsets: Codes, vocabulary: Vocabulary) -> pa.Array:
    """What sort of byte each token is refused at: digits are alike, and so are letters."""
    pairs, which = np.unique((tokens << 32) | (offsets + 1), return_inverse=True)
    sorts = []
    for pair in pairs.tolist():
        token, offset = pair >> 32, (pair & 0xFFFFFFFF) - 1
        is_text = token >= 0 and not vocabulary.special[token]
        sorts.append(sort_of(vocabulary.tokens[token][offset : offset + 1]) if is_text else "")
    return pa.array(sorts, type=pa.string()).take(pa.array(which))


@dataclass
class Explanation:
    """Which bug each verdict is, as far as the samples at hand say.

    `bug` are codes into `ids` and, below 0, into `reasons` for which there is none (-1 is the
    first); shape ``(n,)``. To know more the `wanted` must be shrunk, those of large groups first,
    the engines in turns.
    """

    bug: Codes
    ids: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)

    def code(self, bug: str, reason: str) -> int:
        """The code of a bug; of a reason where there is none."""
        listed, word = (self.ids, bug) if bug else (self.reasons, reason)
        if word not in listed:
            listed.append(word)
        number = listed.index(word)
        return number if bug else -1 - number


def explain(verdicts: ErrorRows, samples: Mapping[str, ShrunkVerdict], among: Codes) -> Explanation:
    """Say of the verdicts `among` (ascending) which bugs they are, and what must be shrunk yet."""
    explanation = Explanation(np.zeros(len(verdicts), dtype=np.int64))
    wanted: list[tuple[int, list[int]]] = []

    def settle(rows: Codes, level: int) -> None:
        drawn = _drawn(verdicts, rows, OF_PART if level else SAMPLES)
        known = {row: samples.get(verdicts.name(row)) for row in drawn}
        missing = [row for row, sample in known.items() if sample is None]
        if missing:
            wanted.append((len(rows), missing))
            explanation.bug[rows] = explanation.code("", PENDING)
            return
        codes = {explanation.code(sample.bug, sample.reason) for sample in known.values() if sample}
        if len(codes) == 1 or len(rows) == len(drawn):
            explanation.bug[rows] = next(iter(codes))
        elif level + 1 < len(verdicts.groups):
            for part in _parts(verdicts.groups[level + 1], rows):
                settle(part, level + 1)
        else:
            explanation.bug[rows] = explanation.code("", APART)

    for part in _parts(verdicts.groups[0], among):
        settle(part, 0)
    for name, sample in samples.items():  # these are their own bugs
        if (place := verdicts.place(name)) is not None:
            explanation.bug[place] = explanation.code(sample.bug, sample.reason)
    turns: Counter[int] = Counter()
    queued = []
    for _, missing in sorted(wanted, key=lambda group: -group[0]):
        engine = int(verdicts.engine[missing[0]])
        queued.append((turns[engine], missing))
        turns[engine] += 1
    for _, missing in sorted(queued, key=lambda group: group[0]):
        explanation.wanted += missing
    return explanation


def _parts(groups: Codes, rows: Codes) -> Iterator[Codes]:
    """Rows by their group, each part ascending."""
    order = rows[np.argsort(groups[rows], kind="stable")]
    bounds = np.flatnonzero(np.diff(groups[order])) + 1
    yield from (part for part in np.split(order, bounds) if len(part))


def _drawn(verdicts: ErrorRows, rows: Codes, most: int) -> list[int]:
    """The sample of a group: the first by rank of each of some cases, then any."""
    order = rows[np.argsort(verdicts.rank[rows], kind="stable")]
    first = np.sort(np.unique(verdicts.case[order], return_index=True)[1])[:most]
    rest = np.setdiff1d(np.arange(min(len(order), 2 * most)), first)
    return [int(row) for row in order[[*first, *rest[: most - len(first)]]]]
