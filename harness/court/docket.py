"""What a hearing found, counted by engine and rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.court.hearing import Heard
from harness.court.rules import RULES, RuleResult, Violated, violation_size

CRASHED, BROKEN, DOCUMENTED, MISSING = "crashed", "broken", "documented", "missing"
KEPT, NOT_REACHED, NOT_JUDGED = "kept", "not reached", "not judged"


@dataclass
class RuleCount:
    """One rule of one engine, on all cases so far.

    Attributes:
        cases: On how many it was tried, or could not be.
        checks: What was looked at.
        broken: How many trials broke it.
        failed: How many could not be judged because the library raised.
        crashes: On how many cases the process died over it.
        ended: On how many cases the process ended over it in whatever way.
        words: Why it could not be tried or judged, where it could not.
        documented: The words of the library's documentation that it breaks the rule; else empty.
        smallest: What was heard where its smallest violation is, with that.
    """

    cases: int = 0
    checks: int = 0
    broken: int = 0
    failed: int = 0
    crashes: int = 0
    ended: int = 0
    words: str = ""
    documented: str = ""
    smallest: tuple[Heard, Violated] | None = None
    _missing: bool = True

    def add(self, heard: Heard, result: RuleResult, documented: str) -> None:
        """Count one case."""
        self.cases += 1
        self.checks += result.checks
        self.broken += result.broken
        self.failed += result.failed
        self.crashes += result.crashed
        self.ended += bool(result.ended)
        self.words = self.words or result.ended or result.words
        self.documented = self.documented or documented
        self._missing &= result.missing
        for one in result.violated:
            smallest = self.smallest
            if smallest is None or violation_size(one) < violation_size(smallest[1]):
                self.smallest = heard, one

    @property
    def outcome(self) -> str:
        """What became of the rule, in a word."""
        if self.crashes:
            return CRASHED
        if self.broken:
            return DOCUMENTED if self.documented else BROKEN
        if self._missing:
            return MISSING
        if self.failed or self.ended:
            return NOT_JUDGED
        return KEPT if self.checks else NOT_REACHED

    @property
    def shown(self) -> str:
        """The outcome with its counts."""
        match self.outcome:
            case "kept":
                return f"kept ({self.checks:,})"
            case "broken" | "documented" as word:
                return f"{word} ({self.broken:,} of {self.checks:,})"
            case "crashed":
                also = f", broken ({self.broken:,} of {self.checks:,})" if self.broken else ""
                return f"crashed on {self.crashes:,} of {self.cases:,} cases{also}"
            case word:
                return f"{word}: {self.words}" if self.words else word


@dataclass
class Docket:
    """All that was heard so far.

    Attributes:
        engines: In the order in which they were heard, with their versions.
        not_begun: Why cases could not be begun, by engine and case.
        by_adapter: Engines whose adapters give no calls of their library's own.
    """

    engines: dict[str, str] = field(default_factory=dict)
    not_begun: dict[str, dict[str, str]] = field(default_factory=dict)
    by_adapter: set[str] = field(default_factory=set)
    _counts: dict[tuple[str, str], RuleCount] = field(default_factory=dict)
    _cases: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, heard: Iterable[Heard]) -> Docket:
        """All of several."""
        docket = cls()
        for one in heard:
            docket.add(one)
        return docket

    def add(self, heard: Heard) -> None:
        """Count what became of one engine on one case."""
        engine = heard.engine
        self.engines[engine] = heard.version or self.engines.get(engine, "")
        if heard.not_begun:
            self.not_begun.setdefault(engine, {})[heard.case] = heard.not_begun
        if heard.by_adapter:
            self.by_adapter.add(engine)
        self._cases[engine] = self._cases.get(engine, 0) + bool(heard.rules)
        for rule, result in heard.rules.items():
            count = self._counts.setdefault((engine, rule), RuleCount())
            count.add(heard, result, heard.documented.get(rule, ""))

    @property
    def violated(self) -> bool:
        """Whether any rule is broken otherwise than its library's documentation says."""
        return any(count.outcome in (BROKEN, CRASHED) for count in self._counts.values())

    def cases(self, engine: str) -> int:
        """On how many cases an engine was heard."""
        return self._cases.get(engine, 0)

    def count(self, engine: str, rule: str) -> RuleCount | None:
        """What became of a rule; None where it was never asked about."""
        return self._counts.get((engine, rule))

    def word(self, engine: str, rule: str) -> str:
        """What became of a rule, with its counts."""
        count = self.count(engine, rule)
        return "" if count is None else count.shown

    def witnesses(self) -> Iterator[tuple[str, RuleCount, Heard, Violated]]:
        """The smallest violation of each rule that an engine breaks, by rule."""
        for (_, rule), count in self._counts.items():
            if count.smallest is not None:
                yield rule, count, *count.smallest

    def smallest(self) -> Iterator[Heard]:
        """The same as a record: of each engine and rule what shows the smallest violation."""
        for rule, count, heard, one in self.witnesses():
            result = RuleResult(
                count.checks, count.broken, crashed=bool(count.crashes), violated=[one]
            )
            yield replace(heard, rules={rule: result}, not_begun="")

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"engines": {engine: self._of(engine) for engine in self.engines}}

    def _of(self, engine: str) -> Mapping[str, Any]:
        counts = {rule: self.count(engine, rule) for rule in RULES}
        return {
            "version": self.engines[engine],
            "calls": "adapter" if engine in self.by_adapter else "library",
            "cases": self.cases(engine),
            "rules": {rule: _described(one) for rule, one in counts.items() if one is not None},
            "not_begun": self.not_begun.get(engine, {}),
        }


def _described(count: RuleCount) -> dict[str, Any]:
    described: dict[str, Any] = {
        "outcome": count.outcome,
        "checks": count.checks,
        "broken": count.broken,
        "failed": count.failed,
        "crashes": count.crashes,
        "words": count.words,
        "documented": count.documented,
    }
    if count.smallest is not None:
        heard, one = count.smallest
        described["smallest"] = {"case": heard.case, **vars(one)}
    return described
