"""What the checks found: counted by engine and rule, shown as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.printable import code, one_line
from harness.protocol_checks.checks import CaseResult
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import RuleResult, Violation
from harness.render.table import Column, Table


@dataclass(frozen=True)
class RuleCount:
    """One rule of one engine, on all cases where it was tried or could not be; sums of those."""

    engine: str
    rule: str
    results: list[tuple[CaseResult, RuleResult]]

    @cached_property
    def counts(self) -> dict[str, Any]:
        """The outcome, the sums, why it could not be tried or judged, and how it is documented."""
        checks, broken, failed, crashes = (
            sum(getattr(result, name) for _, result in self.results)
            for name in ("checks", "broken", "failed", "crashed")
        )
        every = [one.ended or one.words for _, one in self.results]
        words = next(filter(None, every), "")
        every = [case.documented.get(self.rule, "") for case, _ in self.results]
        documented = next(filter(None, every), "")
        if crashes:
            outcome = "crashed"
        elif broken:
            outcome = "documented" if documented else "broken"
        elif all(result.missing for _, result in self.results):
            outcome = "missing"
        elif failed or any(result.ended for _, result in self.results):
            outcome = "not judged"
        else:
            outcome = "kept" if checks else "not reached"
        sums = {"checks": checks, "broken": broken, "failed": failed, "crashes": crashes}
        return {"outcome": outcome, **sums, "words": words, "documented": documented}

    @cached_property
    def smallest(self) -> tuple[CaseResult, Violation] | None:
        every = [(case, one) for case, result in self.results for one in result.violated]
        return min(every, key=lambda one: one[1].size, default=None)

    @property
    def shown(self) -> str:
        outcome, words, checks = (self.counts[name] for name in ("outcome", "words", "checks"))
        broken = f"({self.counts['broken']:,} of {checks:,})"
        if outcome == "crashed":
            also = f", broken {broken}" if self.counts["broken"] else ""
            return f"crashed on {self.counts['crashes']:,} of {len(self.results):,} cases{also}"
        if outcome in ("broken", "documented"):
            return f"{outcome} {broken}"
        if outcome == "kept":
            return f"kept ({checks:,})"
        return f"{outcome}: {words}" if words else str(outcome)

    def as_json(self) -> dict[str, Any]:
        if self.smallest is None:
            return self.counts
        case, violation = self.smallest
        found = {"case": case.case, "schema": case.schema, **vars(violation)}
        return {**self.counts, "smallest": found}


class Summary:
    """All results so far, by engine and rule."""

    def __init__(self, results: Sequence[CaseResult]) -> None:
        self.engines: dict[str, dict[str, Any]] = {}
        """Whose calls were tried, on how many cases, and why others could not be begun."""
        self.counts: dict[tuple[str, str], RuleCount] = {}
        for one in results:
            new = {"version": "", "calls": "library", "cases": 0, "not_begun": {}}
            about = self.engines.setdefault(one.engine, new)
            about["version"] = one.version or about["version"]
            about["calls"] = "adapter" if one.by_adapter else about["calls"]
            about["cases"] += bool(one.rules)
            about["not_begun"] |= {one.case: one.not_begun} if one.not_begun else {}
            for rule, result in one.rules.items():
                count = self.counts.setdefault((one.engine, rule), RuleCount(one.engine, rule, []))
                count.results.append((one, result))

    @property
    def violated(self) -> bool:
        """Whether any rule is broken otherwise than its library's documentation says."""
        return any(one.counts["outcome"] in ("broken", "crashed") for one in self.counts.values())

    def witnesses(self) -> Iterator[tuple[RuleCount, CaseResult, Violation]]:
        for count in self.counts.values():
            if count.smallest is not None:
                yield count, *count.smallest

    def as_json(self) -> dict[str, Any]:
        engines = {engine: {**about, "rules": {}} for engine, about in self.engines.items()}
        for (engine, rule), count in self.counts.items():
            engines[engine]["rules"][rule] = count.as_json()
        return {"engines": engines}


def matrix(summary: Summary, on: str) -> Table:
    """A row a rule, a column an engine; `on` says what they were tried on."""
    columns = [Column("rule", shown=code)]
    for name, about in summary.engines.items():
        title = f"{name} {about['version']} ({about['cases']})"
        columns.append(Column(name, title, shown=lambda text: one_line(text, 90)))
    shown = {key: count.shown for key, count in summary.counts.items()}
    rows = [
        {"rule": rule, **{name: shown.get((name, rule), "") for name in summary.engines}}
        for rule in RULES
    ]
    note = "in brackets after an engine its cases, after an outcome its checks"
    return Table.of("What a server relies on", columns, rows, f"{on}; {note}")


def lines_of_witnesses(summary: Summary) -> Iterator[str]:
    """The smallest violation of each rule that an engine breaks."""
    for count, case, one in summary.witnesses():
        outcome, words = count.counts["outcome"], count.counts["documented"]
        documented = f" (documented: {words})" if outcome == "documented" else ""
        before = f"{len(one.consumed)} token{'s' * (len(one.consumed) != 1)}"
        once = "" if one.again else ", which did not show again"
        yield (
            f"{case.engine} {case.version} `{count.rule}`{documented}: "
            f"{one_line(one.complaint, 200)}; case {case.case}, after {before}{once}"
        )
