"""All rules by name, and how a rule is held against a library at places."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.protocol_checks import mask_rules, server_rules, state_rules
from harness.protocol_checks.trial import (
    RULES,
    Rule,
    Subject,
    Tokens,
    TrialPlace,
    Unreachable,
    text_of,
)

__all__ = ["RULES", "RuleResult", "Violation", "hold", "judged", "read_result"]

RULE_MODULES = (mask_rules, state_rules, server_rules)
"""Where `RULES` are registered."""

_PANIC = "PanicException"
"""What a library in Rust raises where it would have ended a process; it is no `Exception`."""
_SHOWN = 3
"""Violations of one rule that are kept of one case; all are counted."""


@dataclass(frozen=True)
class Violation:
    """A trial in which a rule was broken."""

    consumed: Tokens
    tokens: Tokens | None
    """Those of the trial; None where it was still being looked for what to try."""
    complaint: str
    again: bool
    """Whether the same trial, repeated at once, gave a complaint."""
    written: str
    """What `consumed` writes, for people."""

    @property
    def size(self) -> tuple[bool, int, int, Tokens]:
        """By which the smallest of several is found; one that shows again is smaller."""
        tokens = self.tokens or ()
        return not self.again, len(self.consumed), len(tokens), tokens


@dataclass(frozen=True)
class RuleResult:
    """How a library keeps one rule on one case."""

    checks: int = 0
    """How many things were looked at."""
    broken: int = 0
    """How many trials broke it."""
    failed: int = 0
    """How many could not be judged because the library raised."""
    words: str = ""
    """Why it could not be tried, or what was raised first; else empty."""
    ended: str = ""
    """How the process ended over it, which leaves the rest of it untried; else empty."""
    crashed: bool = False
    """Whether that was a crash; the trial, where it is known, is all of `violated`."""
    violated: Sequence[Violation] = ()
    """The smallest of those that broke it."""

    @property
    def missing(self) -> bool:
        """Whether the rule cannot be tried at all."""
        return not self.checks and not self.failed and bool(self.words)


def read_result(message: Mapping[str, Any]) -> RuleResult:
    """A `RuleResult` from JSON; raises LookupError, TypeError or ValueError for others."""

    def read(consumed: Iterable[int], tokens: Iterable[int] | None, **rest: Any) -> Violation:
        own = None if tokens is None else tuple(map(int, tokens))
        return Violation(tuple(map(int, consumed)), own, **rest)

    return RuleResult(**{**message, "violated": [read(**one) for one in message["violated"]]})


def judged(rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens | None) -> str | None:
    """The complaint of one trial; None where there is none, or it cannot be come to.

    Without tokens it is only looked for what there would be to try, which some processes die of.
    """
    subject.mark(consumed, tokens)
    try:
        if tokens is None:
            rule.offer(subject, TrialPlace(consumed, (), random.Random(0), 0))  # noqa: S311
            return None
        return next(filter(None, rule.judge(subject, consumed, tokens)), None)
    except Unreachable:
        return None
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        return f"it panics: {error}"


def hold(rule: Rule, subject: Subject, places: Iterable[TrialPlace]) -> RuleResult:
    """Try a rule at places; what it raises is the library's, and no complaint."""
    if words := rule.missing(subject.library):
        return RuleResult(words=words)
    checks, raised = 0, list[str]()
    violations: list[Violation] = []
    for place in places:
        subject.mark(place.consumed, None)
        trials: list[Tokens | None] = [None]
        while trials:
            tokens = trials.pop(0)
            try:
                if tokens is None:
                    offered = rule.offer(subject, place)
                    checks += len(offered.trials) if offered.checks is None else offered.checks
                    trials += offered.trials
                elif violation := _judged_twice(rule, subject, place.consumed, tokens):
                    violations.append(violation)
            except Unreachable:
                continue
            except MemoryError:
                raise
            except BaseException as error:  # noqa: BLE001 - a panic is none of Exception
                raised.append(" ".join(f"{type(error).__name__}: {error}".split())[:300])
    violations.sort(key=lambda one: one.size)
    first, kept = raised[0] if raised else "", violations[:_SHOWN]
    return RuleResult(checks, len(violations), len(raised), first, violated=kept)


def _judged_twice(
    rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens
) -> Violation | None:
    """One trial, made again where it complains, with as few tokens as complain."""
    complaint = judged(rule, subject, consumed, tokens)
    if complaint is None:
        return None
    again = judged(rule, subject, consumed, tokens) is not None
    for count in range(1, len(tokens) if rule.shrinks and again else 0):
        if shorter := judged(rule, subject, consumed, tokens[:count]):
            complaint, tokens = shorter, tokens[:count]
            break
    return Violation(consumed, tokens, complaint, again, text_of(subject.vocabulary, consumed))
