"""Which verdicts are one bug: groups by what is stored of them, and samples that say what they are.

Of each group some are shrunk, drawn by a seed; where all come to one bug, so does the group. Where
not, it is split, by case, by place in schema and value, and by place in the text, and samples of
each part are shrunk. What cannot be shrunk does not count while most of a part can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from harness import verdict_kinds as kinds
from harness.analysis.stored import statement, stored_run
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.text_edits import sort_of
from harness.comparison.disputes import mixed
from harness.completion.rollout import keyed_index
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import verdict_name, verdict_row
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES

_LEVELS = (
    ("engine", "kind", "class", "departure", "effect", "keyword", "category", "detail", "byte"),
    ("case",),
    ("schema_pointer", "instance_pointer"),
    ("spot",),
)
"""By what verdicts are grouped, and groups split.

Category, detail and byte are about the refused byte: of a text that is let through they are 0.
"""
EVIDENCE = tuple(VERDICT_TABLES)
SAMPLES, OF_PART, MORE_OF_PART = 3, 2, 4
"""Verdicts that are shrunk of a group, and of a part: more where one comes to no bug."""

AT_ONCE = 8
"""Groups whose samples are shrunk in turns."""

Codes = npt.NDArray[np.int64]
APART = "its samples shrink to different bugs"
PENDING = "not shrunk yet"


@dataclass(frozen=True)
class ErrorRows:
    """The errors of a run, of all kinds of evidence, shape ``(n,)`` each.

    `evidence` are indices into `EVIDENCE`, `row` that in its table; `class_` codes into
    `harness.verdict_kinds.CLASSES`, `effect` into its `EFFECTS`, `severity` into
    `harness.analysis.stored.WORST_FIRST`; `engine` and `case` numbers in the run. `groups` has the
    group of a verdict at each level, `rank` the order in which those of a group are drawn.
    """

    evidence: npt.NDArray[np.int8]
    row: Codes
    class_: Codes
    engine: Codes
    case: Codes
    severity: npt.NDArray[np.int8]
    effect: npt.NDArray[np.int8]
    groups: Sequence[Codes]
    rank: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.row)

    def name(self, number: int) -> str:
        """What a verdict is called on the command line."""
        return verdict_name(EVIDENCE[self.evidence[number]], int(self.row[number]))

    def among(self, classes: Sequence[str]) -> Codes:
        """Those of some classes that may cost a value."""
        wanted = np.isin(self.class_, [kinds.CLASSES.index(name) for name in classes])
        spelled = np.isin(self.effect, [kinds.EFFECTS.index(name) for name in kinds.SPELLINGS])
        return np.flatnonzero(wanted & ~spelled)

    def place(self, name: str) -> int | None:
        """Which of these a verdict is; evidence and rows ascend."""
        evidence, row = verdict_row(name)
        low, high = np.searchsorted(self.evidence, np.arange(2) + EVIDENCE.index(evidence))
        place = int(low + np.searchsorted(self.row[low:high], row))
        return place if place < high and self.row[place] == row else None


def read_verdicts(run: RunDirectory, vocabulary: Vocabulary, seed: int) -> ErrorRows:
    """The errors of a run, grouped; what no specification forbids is none of them."""
    found = stored_run(run).arrays(
        statement("errors"),
        list(kinds.REJECTIONS),
        list(EVIDENCE),
        list(kinds.CLASSES),
        [name for name in kinds.ERRORS if name not in kinds.LEGAL],
        list(kinds.EFFECTS),
    )
    evidence, row = found["evidence"].astype(np.int8), found["row"]
    offsets = run.table(VERDICT_TABLES[kinds.WALK], ["refused_at"])["refused_at"].to_numpy()
    walked = evidence == EVIDENCE.index(kinds.WALK)
    offset = np.full(len(row), -1)
    offset[walked] = offsets[row[walked]]
    sorts = _sorts(found["token"], offset, vocabulary)
    found["byte"] = np.where(found["rejected"], sorts, 0)
    groups: list[Codes] = []
    group = np.zeros(len(row), dtype=np.int64)
    for level in _LEVELS:
        for name in level:
            codes = found[name].astype(np.int64)
            group = np.unique(group * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
        groups.append(group)
    key = np.uint64(keyed_index(f"{seed}/bugs", 1 << 64))
    # what walks and instances draw does not depend on whether there are samples
    sort, bit = evidence.astype(np.uint64), np.uint64(1)
    rank = (row.astype(np.uint64) << bit) + (sort & bit) + (sort >> bit << np.uint64(62)) + key
    engine, case, severity = (found[name] for name in ("engine_row", "case", "severity"))
    about = (found["class_"], engine, case, severity, found["effect"])
    return ErrorRows(evidence, row, *about, groups, mixed(rank))


def _sorts(tokens: Codes, offsets: Codes, vocabulary: Vocabulary) -> Codes:
    """A number for the sort of byte that each token is refused at; 0 where it is no text."""
    pairs, which = np.unique((tokens << 32) | (offsets + 1), return_inverse=True)
    numbers: dict[str, int] = {}
    codes = np.zeros(len(pairs), dtype=np.int64)
    for at, pair in enumerate(pairs.tolist()):
        token, offset = pair >> 32, (pair & 0xFFFFFFFF) - 1
        if token >= 0 and not vocabulary.special[token]:
            sort = sort_of(vocabulary.tokens[token][offset : offset + 1])
            codes[at] = numbers.setdefault(sort, len(numbers) + 1)
    return codes[which]


@dataclass
class Explanation:
    """Which bugs some of the `verdicts` are (`among`), as far as the `samples` at hand say.

    `bug` are codes into `ids` and, below 0, into `reasons` for which there is none (-1 is the
    first); shape ``(n,)``, for all verdicts. To know more the `wanted` must be shrunk, those that
    cost a value and of large groups first, the engines in turns.
    """

    verdicts: ErrorRows
    among: Codes
    samples: Mapping[str, ShrunkVerdict]
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
    codes = np.zeros(len(verdicts), dtype=np.int64)
    explanation = Explanation(verdicts, among, samples, codes)
    wanted: list[tuple[int, list[int]]] = []

    def settle(rows: Codes, level: int) -> None:
        drawn = _drawn(verdicts, rows, OF_PART if level else SAMPLES)
        if level and any(
            one in samples and not samples[one].bug for one in map(verdicts.name, drawn)
        ):
            drawn = _drawn(verdicts, rows, MORE_OF_PART)
        missing = [row for row in drawn if verdicts.name(row) not in samples]
        if missing:
            wanted.append((len(rows), missing))
            explanation.bug[rows] = explanation.code("", PENDING)
            return
        known = [samples[verdicts.name(row)] for row in drawn]
        told = [sample for sample in known if sample.bug]
        if not level or 2 * len(told) <= len(known):
            told = known
        codes = {explanation.code(sample.bug, sample.reason) for sample in told}
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
    explanation.wanted = _in_turns(verdicts, wanted)
    return explanation


def _in_turns(verdicts: ErrorRows, wanted: Sequence[tuple[int, list[int]]]) -> list[int]:
    """What is wanted of groups of a size: costly and large ones first, the engines in turns.

    Of `AT_ONCE` groups the first of each come first: what becomes of them is known by the next.
    """
    turns: Counter[int] = Counter()
    queued = []
    costly = np.isin(verdicts.effect, [kinds.EFFECTS.index(name) for name in kinds.COSTLY])
    for _, missing in sorted(wanted, key=lambda group: (not costly[group[1][0]], -group[0])):
        engine = int(verdicts.engine[missing[0]])
        queued.append((turns[engine], missing))
        turns[engine] += 1
    order = [missing for _, missing in sorted(queued, key=lambda group: group[0])]
    blocks = (order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE))
    rounds = (one for block in blocks for one in zip_longest(*block))
    return [row for one in rounds for row in one if row is not None]


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
