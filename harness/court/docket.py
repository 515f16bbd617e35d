"""What a hearing found, counted by engine and rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.court.hearing import Told
from harness.court.rules import RULES

KEPT, BROKEN, DOCUMENTED, MISSING = "kept", "broken", "documented", "missing"
NOT_REACHED, NOT_JUDGED = "not reached", "not judged"


@dataclass
class _RuleCount:
    """One rule of one engine, on all cases so far."""

    checks: int = 0
    broken: int = 0
    failed: int = 0
    words: str = ""
    missing: bool = True
    crashed: bool = False
    ended: int = 0
    documented: str = ""
    smallest: Told | None = None

    def add(self, told: Told) -> None:
        result = told.result
        self.checks += result.checks
        self.broken += result.broken
        self.failed += result.failed
        self.words = self.words or result.words or told.ended
        self.missing &= result.missing
        self.crashed |= told.crashed
        self.ended += bool(told.ended)
        self.documented = self.documented or told.documented
        if result.violated and (self.smallest is None or _size(told) < _size(self.smallest)):
            self.smallest = told

    @property
    def outcome(self) -> str:
        if self.broken or self.crashed:
            return DOCUMENTED if self.documented and not self.crashed else BROKEN
        if self.missing:
            return MISSING
        if self.failed or self.ended:
            return NOT_JUDGED
        return KEPT if self.checks else NOT_REACHED


def _size(told: Told) -> tuple[int, int, int]:
    one = told.result.violated[0]
    return not one.again, len(one.consumed), len(one.tokens)


@dataclass
class Docket:
    """All that was told so far.

    Attributes:
        engines: In the order in which they were heard, with their versions.
        not_begun: Why cases could not be begun, by engine and case.
    """

    engines: dict[str, str] = field(default_factory=dict)
    not_begun: dict[str, dict[str, str]] = field(default_factory=dict)
    _entries: dict[tuple[str, str], _RuleCount] = field(default_factory=dict)
    _by_adapter: set[str] = field(default_factory=set)

    def add(self, told: Told) -> None:
        """Count what became of one rule on one case."""
        self.engines[told.engine] = told.version
        if not told.rule:
            self.not_begun.setdefault(told.engine, {})[told.case.id] = told.ended
            return
        if told.by_adapter:
            self._by_adapter.add(told.engine)
        self._entries.setdefault((told.engine, told.rule), _RuleCount()).add(told)

    @property
    def violated(self) -> bool:
        """Whether any rule is broken otherwise than its library's documentation says."""
        return any(entry.outcome == BROKEN for entry in self._entries.values())

    def word(self, engine: str, rule: str) -> str:
        """What became of a rule, with its counts."""
        entry = self._entries.get((engine, rule))
        if entry is None:
            return ""
        match entry.outcome:
            case "kept":
                return f"kept ({entry.checks:,})"
            case "broken" | "documented" as word if entry.broken:
                return f"{word} ({entry.broken:,} of {entry.checks:,})"
            case "broken":
                return entry.words
            case "not judged":
                return f"not judged: {entry.words}"
            case word:
                return f"{word}: {entry.words}" if entry.words else word

    def witnesses(self) -> Iterator[tuple[str, str, Told]]:
        """The smallest violation of each rule that an engine breaks."""
        for (engine, rule), entry in self._entries.items():
            if entry.smallest is not None:
                yield engine, rule, entry.smallest

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"engines": {engine: self._of(engine) for engine in self.engines}}

    def _of(self, engine: str) -> Mapping[str, Any]:
        rules = {
            rule: _described(entry)
            for rule in RULES
            if (entry := self._entries.get((engine, rule))) is not None
        }
        return {
            "version": self.engines[engine],
            "calls": "adapter" if engine in self._by_adapter else "library",
            "rules": rules,
            "not_begun": self.not_begun.get(engine, {}),
        }


def _described(entry: _RuleCount) -> dict[str, Any]:
    described: dict[str, Any] = {
        "outcome": entry.outcome,
        "checks": entry.checks,
        "broken": entry.broken,
        "failed": entry.failed,
        "words": entry.words,
        "documented": entry.documented,
    }
    if entry.smallest is not None:
        one = entry.smallest.result.violated[0]
        described["smallest"] = {
            "case": entry.smallest.case.id,
            "consumed": list(one.consumed),
            "tokens": list(one.tokens),
            "complaint": one.complaint,
            "again": one.again,
        }
    return described
