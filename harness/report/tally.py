"""The tally: the summary that a report shows, computed from a run's tables.

Only to spell a token the vocabulary is looked at, where it is at hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.counting.counts import Classify, Counts, StoredRun, by_catalogue
from harness.counting.intervals import is_sample
from harness.counting.schema_bugs import SchemaBugs
from harness.counting.severity import SEVERITIES
from harness.counting.walked_bytes import WalkedBytes
from harness.report.compile_reasons import schemas_by_backend
from harness.report.estimates import Disputes
from harness.report.headline_rates import judged_positions, per_million, share_with_bug
from harness.report.matrix import matrix
from harness.report.pairs import compared
from harness.report.text_counts import TextCounts, made_of_schemas, mislabelled
from harness.report.timing import timings
from harness.runs.directory import RunDirectory
from harness.runs.tables import TEXT_TABLES
from harness.validators.format_rules import format_rule
from harness.verdict_kinds import (
    BUG,
    CLASSES,
    ERRORS,
    FALSE_ACCEPTANCE,
    FALSE_REJECTION,
    MAIN_KINDS,
    OTHER_KINDS,
    WALK,
)
from harness.workers.outcomes import ADAPTER_FAULTS, COMPILE_STATUSES

_BUG: Mapping[str, object] = {"class": BUG}
_WALK_COLUMNS = (
    *("engine", "kind", "class", "severity", "located", "reason", "keyword", "place"),
    *("by_format", "only_challenger"),
    *("always_resolved", "dispute"),
)


def summary(run: RunDirectory, classify: Classify = by_catalogue) -> dict[str, Any]:
    """The summary of a run as one JSON object.

    Args:
        run: The run, finished or not.
        classify: Gives verdicts their classes; the catalogue of departures does.

    Returns:
        For the run ``cases``, ``walked``, ``set_aside``, ``not_compared``, ``mislabelled``
        (instances that both validators judge otherwise than their labels, and their cases),
        ``made`` (instances that were made of schemas, and cases that were walked along such),
        ``harness_errors``, ``positions``, ``disputed_tokens``, ``resolved_tokens``, ``capped``
        (whether some were left out: counts are then of those that were resolved), ``seconds``,
        ``formats`` (what they are to the validators), ``finished``, ``sampled`` (whether the cases
        are a sample of something), ``matrix`` (see `harness.report.matrix`), ``pairs`` (see
        `harness.report.pairs`); and ``engines``, per engine:

        - ``version``, ``build`` (of a build at hand), ``options``, ``packages``, ``tokens_asked``,
          ``tokens_with_other_bytes``;
        - ``share_with_bug`` and ``per_million``: see `harness.report.headline_rates`;
        - ``compile``, ``failures``, ``adapter_faults`` (schemas by what is wrong); ``backends``
          (of a server's engine: how many schemas each took); ``judged`` (``cases``, ``positions``
          and, of the references of these, what `harness.counting.walked_bytes.WalkedPart` says);
        - of walks: ``false_acceptances`` and ``false_rejections`` (``tokens``, ``positions``,
          ``cases``; ``located`` of the former: tokens at which the error itself lies, and
          ``by_format``: those that rest on ``format`` alone (`harness.counting.format_alone`);
          ``only_challenger`` of both: those to which the challenger alone led;
          ``estimate`` where the run was capped), ``other_kinds`` likewise by kind, ``by_class``
          (tokens by kind and class), ``severity`` (tokens of bugs by kind and severity, of
          acceptances also ``by_format``),
            ``unresolved``, ``contested``, ``contested_by``, ``why`` (what stands behind bugs);
        - ``instances`` and ``samples``: see `harness.report.text_counts`;
        - ``timings``: see `harness.report.timing`, in microseconds.
    """
    stored = StoredRun(run, classify)
    walk = stored.fold(WALK, _WALK_COLUMNS)
    texts = {one: stored.fold(one, ("engine", "kind", "class", "by_format")) for one in TEXT_TABLES}
    disputes = Disputes(stored)
    engines = _EngineSummaries(stored, walk, texts, disputes)
    cases = run.table("cases", ["case", "status", "reason"])
    status = cases.group_by(["status", "reason"]).aggregate([("case", "count")]).to_pylist()
    found = {name: engines.one(index) for index, name in enumerate(stored.engines)}
    compiled = {name: one["compile"] for name, one in found.items()}
    return {
        "matrix": matrix(engines.bugs, list(engines.counted.values()), compiled),
        "engines": found,
        "pairs": compared(engines.bugs),
        "sampled": is_sample(run),
        "cases": cases.num_rows,
        "walked": _with_status(status, "walked"),
        "set_aside": _by_reason(status, "set_aside"),
        "not_compared": _by_reason(status, "not_compared"),
        "mislabelled": mislabelled(run),
        "generated": made_of_schemas(run),
        "harness_errors": _with_status(status, "harness_error", "lane_died"),
        "positions": len(stored.positions.case),
        "disputed_tokens": disputes.tokens,
        "resolved_tokens": disputes.resolved,
        "capped": disputes.capped,
        "seconds": run.manifest.get("seconds"),
        "formats": format_rule(run.manifest["identity"]),
        "finished": run.finished,
    }


class _EngineSummaries:
    """The part of a summary that is about single engines."""

    def __init__(
        self, stored: StoredRun, walk: Counts, texts: Mapping[str, Counts], disputes: Disputes
    ) -> None:
        self.stored = stored
        self.bugs = SchemaBugs(stored)
        self.walk = walk
        self.texts = texts
        self.counted = {one: TextCounts(stored, one) for one in texts}
        self.disputes = disputes
        self.dispute_rows = disputes.rows_of(walk) if disputes.capped else None
        self.walked = WalkedBytes(stored)
        self.timings = timings(stored.run)
        self.backends = schemas_by_backend(stored.run)
        rows = stored.run.table("engines", ["engine", "stage", "outcome"])
        self.engine_rows = _plain(rows).group_by(rows.column_names).aggregate([([], "count_all")])

    def one(self, index: int) -> dict[str, Any]:
        """Everything about one engine."""
        stored, name = self.stored, self.stored.engines[index]
        mine = self.walk.where(engine=name)
        kinds = {kind: mine.where(kind=kind) for kind in ERRORS}
        bugs = {kind: one.where(**_BUG) for kind, one in kinds.items()}
        positions = judged_positions(stored, index)
        contested = _reasons(mine, "contested")
        return {
            **stored.run.manifest["identity"]["engines"][name],
            "share_with_bug": share_with_bug(self.bugs, index),
            "per_million": per_million(stored, index, mine.where(**_BUG), self._scaled),
            "compile": self._compile_counts(name),
            "backends": self.backends.get(name, {}),
            "judged": {
                "cases": int(np.count_nonzero(positions)),
                "positions": int(positions.sum()),
                **asdict(self.walked.of(index)),
            },
            **{key: self._counts(kinds[kind], index, kind) for key, kind in MAIN_KINDS.items()},
            "other_kinds": {kind: kinds[kind].total() for kind in OTHER_KINDS},
            "by_class": {kind: one.tokens_by("class", CLASSES) for kind, one in kinds.items()},
            "severity": {kind: _by_severity(one, kind) for kind, one in bugs.items()},
            **{
                counted.unit: counted.counts(index, self.texts[one].where(engine=name))
                for one, counted in self.counted.items()
            },
            "timings": self.timings[name],
            "unresolved": _reasons(mine, "unresolved"),
            "contested": sum(contested.values()),
            "contested_by": contested,
            "failures": self._failures(name),
            "adapter_faults": self._adapter_faults(name),
            "why": {
                FALSE_ACCEPTANCE.plural: _by_cause(bugs[FALSE_ACCEPTANCE.name], "keyword"),
                FALSE_REJECTION.plural: _by_cause(bugs[FALSE_REJECTION.name], "place"),
            },
        }

    def _counts(self, mine: Counts, index: int, kind: str) -> dict[str, Any]:
        """The counts of one of the two main kinds."""
        counts: dict[str, Any] = mine.total()
        counts["only_challenger"] = int(mine.where(only_challenger=True).tokens.sum())
        if kind == FALSE_ACCEPTANCE.name:
            counts["located"] = int(mine.where(located=True).tokens.sum())
            counts["by_format"] = int(mine.where(by_format=True).tokens.sum())
        if self.dispute_rows is not None:
            rows = self.dispute_rows[mine.rows]
            counts["estimate"] = self.disputes.estimate(mine, rows, index, kind)
        return counts

    def _scaled(self, mine: Counts) -> npt.NDArray[Any]:
        """How many tokens some verdicts of walks stand for in each case, shape ``(cases,)``."""
        many = len(self.stored.cases)
        if self.dispute_rows is None:
            return mine.per_case(many)
        scaled = self.disputes.scaled(mine, self.dispute_rows[mine.rows])
        return np.rint(np.bincount(mine.case, scaled, many))  # whole: sums do not depend on order

    def _compile_counts(self, name: str) -> dict[str, int]:
        found = {row["outcome"]: row["count_all"] for row in self._rows(name, at_compile=True)}
        return {word: found.get(word, 0) for word in COMPILE_STATUSES}

    def _failures(self, name: str) -> dict[str, int]:
        """What ended the engine's part after compilation, by stage and outcome."""
        counted: Counter[str] = Counter()
        for row in self._rows(name, at_compile=False):
            if row["outcome"] not in ADAPTER_FAULTS:
                counted[f"{row['stage']}_{row['outcome']}"] += row["count_all"]
        return dict(sorted(counted.items()))

    def _adapter_faults(self, name: str) -> dict[str, int]:
        """In how many schemas the adapter was found to be at fault, by what is wrong with it."""
        counted: Counter[str] = Counter()
        for row in self._rows(name, at_compile=False):
            if row["outcome"] in ADAPTER_FAULTS:
                counted[row["outcome"]] += row["count_all"]
        return dict(sorted(counted.items()))

    def _rows(self, name: str, *, at_compile: bool) -> list[dict[str, Any]]:
        return [
            row
            for row in self.engine_rows.to_pylist()
            if row["engine"] == name and (row["stage"] == "compile") is at_compile
        ]


def _by_severity(bugs: Counts, kind: str) -> dict[str, int]:
    """Tokens by severity, and of acceptances those that rest on `format` alone."""
    found = bugs.tokens_by("severity", SEVERITIES)
    if kind == FALSE_ACCEPTANCE.name:
        found["by_format"] = int(bugs.where(by_format=True).tokens.sum())
    return found


def _reasons(mine: Counts, kind: str) -> dict[str, int]:
    rows = mine.where(kind=kind).grouped(["reason"])
    return dict(sorted((row["reason"], row["tokens"]) for row in rows))


def _by_cause(mine: Counts, column: str) -> list[dict[str, Any]]:
    """What stands behind an engine's bugs, the most frequent first."""
    names = (column, "tokens", "cases")
    return [{name: row[name] for name in names} for row in mine.grouped([column])]


def _with_status(rows: Iterable[Mapping[str, Any]], *status: str) -> int:
    return sum(row["case_count"] for row in rows if row["status"] in status)


def _by_reason(rows: Iterable[Mapping[str, Any]], status: str) -> dict[str, int]:
    return dict(sorted((r["reason"], r["case_count"]) for r in rows if r["status"] == status))


def _plain(table: pa.Table) -> pa.Table:
    """Dictionary columns as plain strings: grouping then needs no special cases."""
    fields = [
        pa.field(one.name, one.type.value_type) if pa.types.is_dictionary(one.type) else one
        for one in table.schema
    ]
    return table.cast(pa.schema(fields))
