"""What the checks found: counted by engine and rule, stored as a file, written as tables.

A file is a head and a line for each engine and case. So a run that was interrupted goes on where it
was, its table can be printed again, and what is in it can be tried again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import InputError, UsageError
from harness.files import LineFile
from harness.printable import code, one_line
from harness.protocol_checks.checks import CaseResult
from harness.protocol_checks.rules import RULES, RuleResult, Violation, read_result
from harness.render.table import Column, Table

CRASHED, BROKEN, DOCUMENTED, MISSING = "crashed", "broken", "documented", "missing"
KEPT, NOT_REACHED, NOT_JUDGED = "kept", "not reached", "not judged"

COLUMNS = (
    *("vocabulary", "engine", "version", "calls", "rule", "outcome", "cases", "checks", "broken"),
    *("crashes", "words", "case", "written", "tokens", "complaint", "again"),
)
_HINT = "a file that maskcourt protocol wrote begins with its vocabulary and options"


class RuleCount:
    """One rule of one engine, on all cases where it was tried or could not be; sums of those."""

    def __init__(self, rule: str, of: Sequence[tuple[CaseResult, RuleResult]]) -> None:
        self.rule, self.of = rule, of
        self.checks, self.broken, self.failed, self.crashes = (
            sum(getattr(result, name) for _, result in of)
            for name in ("checks", "broken", "failed", "crashed")
        )

    @property
    def words(self) -> str:
        """Why it could not be tried or judged, where it could not."""
        return next((one.ended or one.words for _, one in self.of if one.ended or one.words), "")

    @property
    def documented(self) -> str:
        """The words of the library's documentation that it breaks the rule; else empty."""
        return next(
            (case.documented[self.rule] for case, _ in self.of if self.rule in case.documented), ""
        )

    @property
    def smallest(self) -> tuple[CaseResult, Violation] | None:
        """The smallest violation and where it is."""
        every = [(case, one) for case, result in self.of for one in result.violated]
        return min(every, key=lambda one: one[1].size, default=None)

    @property
    def outcome(self) -> str:
        """What became of the rule, in a word."""
        if self.crashes:
            return CRASHED
        if self.broken:
            return DOCUMENTED if self.documented else BROKEN
        if all(result.missing for _, result in self.of):
            return MISSING
        if self.failed or any(result.ended for _, result in self.of):
            return NOT_JUDGED
        return KEPT if self.checks else NOT_REACHED

    @property
    def shown(self) -> str:
        """The outcome with its counts."""
        outcome, broken = self.outcome, f"({self.broken:,} of {self.checks:,})"
        if outcome == CRASHED:
            also = f", broken {broken}" if self.broken else ""
            return f"crashed on {self.crashes:,} of {len(self.of):,} cases{also}"
        if outcome in (BROKEN, DOCUMENTED):
            return f"{outcome} {broken}"
        if outcome == KEPT:
            return f"kept ({self.checks:,})"
        return f"{outcome}: {self.words}" if self.words else outcome

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        names = ("outcome", "checks", "broken", "failed", "crashes", "words", "documented")
        found = {name: getattr(self, name) for name in names}
        if self.smallest is not None:
            case, one = self.smallest
            found["smallest"] = {"case": case.case, **vars(one)}
        return found


class Summary:
    """All results so far, by engine and rule."""

    def __init__(self, results: Sequence[CaseResult]) -> None:
        self.results = results
        self.engines: dict[str, str] = {}
        by_rule: dict[tuple[str, str], list[tuple[CaseResult, RuleResult]]] = {}
        for one in results:
            self.engines[one.engine] = one.version or self.engines.get(one.engine, "")
            for rule, result in one.rules.items():
                by_rule.setdefault((one.engine, rule), []).append((one, result))
        self.counts = {key: RuleCount(key[1], some) for key, some in by_rule.items()}

    @property
    def violated(self) -> bool:
        """Whether any rule is broken otherwise than its library's documentation says."""
        return any(count.outcome in (BROKEN, CRASHED) for count in self.counts.values())

    def about(self, engine: str) -> dict[str, Any]:
        """Whose calls were tried, on how many cases, and why others could not be begun."""
        of = [one for one in self.results if one.engine == engine]
        return {
            "version": self.engines[engine],
            "calls": "adapter" if any(one.by_adapter for one in of) else "library",
            "cases": sum(bool(one.rules) for one in of),
            "not_begun": {one.case: one.not_begun for one in of if one.not_begun},
        }

    def words(self, engine: str, rule: str) -> str:
        """What became of a rule, with its counts."""
        count = self.counts.get((engine, rule))
        return "" if count is None else count.shown

    def witnesses(self) -> Iterator[tuple[RuleCount, CaseResult, Violation]]:
        """The smallest violation of each rule that an engine breaks."""
        for count in self.counts.values():
            if count.smallest is not None:
                yield count, *count.smallest

    def smallest(self) -> Iterator[CaseResult]:
        """The same as results: of each engine and rule what shows the smallest violation."""
        for count, case, one in self.witnesses():
            crashed = bool(count.crashes)
            result = RuleResult(count.checks, count.broken, crashed=crashed, violated=[one])
            yield replace(case, rules={count.rule: result}, not_begun="")

    def as_json(self) -> dict[str, Any]:
        """All of it for programs."""
        engines = {engine: {**self.about(engine), "rules": {}} for engine in self.engines}
        for (engine, rule), count in self.counts.items():
            engines[engine]["rules"][rule] = count.as_json()
        return {"engines": engines}


@dataclass(frozen=True)
class ResultsHead:
    """On what all engines of a file were checked: as it was named, and the options."""

    vocabulary: str
    vocabulary_sha256: str
    cases: str
    cases_sha256: str
    seed: int
    texts: int
    positions: int
    whole: int
    seconds: float


@dataclass
class ResultsFile:
    """Results that are being written, those that the file had before included."""

    head: ResultsHead
    results: list[CaseResult] = field(default_factory=list)
    _file: LineFile | None = None

    @classmethod
    def open(cls, path: Path | None, head: ResultsHead) -> ResultsFile:
        """Go on with a file, or begin one; None for no file.

        Raises:
            InputError: The file is none of the kind.
            UsageError: It is about something else.
        """
        if path is None:
            return cls(head)
        file = LineFile(path)
        file.mend()
        if not file.lines():
            file.append(json.dumps(asdict(head)))
            return cls(head, [], file)
        before, results = read_results(path)
        if differing := [name for name in vars(head) if vars(before)[name] != vars(head)[name]]:
            raise UsageError(
                f"{path} was made with other {', '.join(differing)}",
                "give the same options to go on with it, or another file",
            )
        return cls(head, results, file)

    def add(self, result: CaseResult) -> None:
        """Store the result of one engine on one case.

        Raises:
            UsageError: The same engine had another version before.
        """
        for one in self.results:
            if one.engine == result.engine and one.version != result.version:
                raise UsageError(
                    f"{one.engine} was checked in version {one.version}, is {result.version} now",
                    "name the version in the spec, or take another file",
                )
        self.results.append(result)
        if self._file is not None:
            self._file.append(json.dumps(_as_line(result), ensure_ascii=False))

    def has(self, engine: str, case: str) -> bool:
        """Whether there is a result of an engine on a case."""
        return any((one.engine, one.case) == (engine, case) for one in self.results)


def read_results(path: Path) -> tuple[ResultsHead, list[CaseResult]]:
    """What a file holds.

    Raises:
        InputError: It is none of the kind.
    """
    number = 1
    try:
        head, *lines = LineFile(path).lines() or [""]
        read, results = ResultsHead(**json.loads(head)), []
        for line in lines:
            number += 1
            one = json.loads(line)
            rules = {rule: read_result(result) for rule, result in one["rules"].items()}
            if not rules.keys() <= RULES.keys():
                raise ValueError("a rule that there is not")
            results.append(CaseResult(**{**one, "rules": rules}))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = "the result of an engine on a case" if number > 1 else "the head of such a file"
        raise InputError(f"{path}:{number} is not {what}", _HINT) from error
    return read, results


def write_results(path: Path, head: ResultsHead, results: Sequence[CaseResult]) -> None:
    """Write a whole file."""
    lines = [asdict(head), *map(_as_line, results)]
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), "utf-8")


def _as_line(result: CaseResult) -> dict[str, Any]:
    rules = {rule: one.as_json() for rule, one in result.rules.items()}
    return {**vars(result), "documented": dict(result.documented), "rules": rules}


def matrix(head: ResultsHead, summary: Summary) -> Table:
    """A row a rule, a column an engine."""
    columns = [Column("rule", shown=code)]
    for name, version in summary.engines.items():
        title = f"{name} {version} ({summary.about(name)['cases']})"
        columns.append(Column(name, title, shown=lambda text: one_line(text, 90)))
    rows = [
        {"rule": rule, **{engine: summary.words(engine, rule) for engine in summary.engines}}
        for rule in RULES
    ]
    note = "in brackets after an engine its cases, after an outcome its checks"
    on = f"Vocabulary `{head.vocabulary}`, cases `{head.cases}`, seed {head.seed}; {note}"
    return Table.of("What a server relies on", columns, rows, on)


def lines_of_witnesses(summary: Summary) -> Iterator[str]:
    """The smallest violation of each rule that an engine breaks."""
    for count, case, one in summary.witnesses():
        documented = f" (documented: {count.documented})" if count.outcome == DOCUMENTED else ""
        before = f"{len(one.consumed)} token{'s' * (len(one.consumed) != 1)}"
        once = "" if one.again else ", which did not show again"
        yield (
            f"{case.engine} {case.version} `{count.rule}`{documented}: "
            f"{one_line(one.complaint, 200)}; case {case.case}, after {before}{once}"
        )


def details(head: ResultsHead, summary: Summary) -> Table:
    """A row for each engine and rule, with the smallest violation."""
    rows = []
    for (engine, rule), count in summary.counts.items():
        found = count.as_json()
        row = dict.fromkeys(COLUMNS) | {"vocabulary": head.vocabulary, "engine": engine, **found}
        row |= {**summary.about(engine), "rule": rule, "cases": len(count.of)}
        row |= found.get("smallest", {})
        if count.outcome == DOCUMENTED:
            row["words"] = count.documented
        row["tokens"] = " ".join(map(str, row["tokens"] or ()))
        rows.append(row)
    return Table.of("", COLUMNS, rows)
