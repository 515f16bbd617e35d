"""All rules of the protocol court, by name, and how one is held against a library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.court.batch_rules import BATCH_RULES
from harness.court.mask_rules import MASK_RULES
from harness.court.self_rules import SELF_RULES
from harness.court.state_rules import STATE_RULES
from harness.court.trial import Rule, Subject, Tokens, TrialPlace, Unreachable

RULES: Mapping[str, Rule] = {
    rule.name: rule for rule in (*MASK_RULES, *STATE_RULES, *SELF_RULES, *BATCH_RULES)
}

_TOLD = 3
"""Violations of one rule that are told of one case; all are counted."""


@dataclass(frozen=True)
class Violated:
    """A trial in which a rule was broken.

    Attributes:
        consumed: The tokens before.
        tokens: Those of the trial.
        complaint: The complaint.
        again: Whether the same trial, repeated at once, gave the same complaint.
    """

    consumed: Tokens
    tokens: Tokens
    complaint: str
    again: bool


@dataclass(frozen=True)
class RuleResult:
    """How a library keeps one rule on one case.

    Attributes:
        checks: What was looked at.
        broken: How many trials broke it.
        failed: How many could not be judged because the library raised.
        words: Why it could not be tried, or what was raised first; else empty.
        violated: The smallest of those that broke it.
    """

    checks: int = 0
    broken: int = 0
    failed: int = 0
    words: str = ""
    violated: Sequence[Violated] = ()

    @property
    def missing(self) -> bool:
        """Whether the rule cannot be tried at all."""
        return not self.checks and not self.failed and bool(self.words)


def judged(rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    """The complaint of one trial; None where there is none, or it cannot be come to."""
    with contextlib.suppress(Unreachable):
        return rule.judge(subject, consumed, tokens)
    return None


def hold(rule: Rule, subject: Subject, places: Iterable[TrialPlace]) -> RuleResult:
    """Try a rule at places; what it raises is the library's, and no complaint."""
    if words := rule.missing(subject.library):
        return RuleResult(words=words)
    checks = failed = 0
    found: list[Violated] = []
    for place in places:
        try:
            offered = rule.offer(subject, place)
        except Unreachable:
            continue
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of a library is none of Exception
            failed, words = failed + 1, words or _raised(error)
            continue
        checks += offered.count
        for tokens in offered.trials:
            try:
                if violated := _try_out(rule, subject, place.consumed, tokens):
                    found.append(violated)
            except MemoryError:
                raise
            except BaseException as error:  # noqa: BLE001 - as above
                failed, words = failed + 1, words or _raised(error)
    found.sort(key=lambda one: (not one.again, len(one.consumed), len(one.tokens), one.tokens))
    return RuleResult(checks, len(found), failed, words, found[:_TOLD])


def _try_out(rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens) -> Violated | None:
    """One trial, made again where it complains, with as few tokens as complain."""
    complaint = judged(rule, subject, consumed, tokens)
    if complaint is None:
        return None
    if judged(rule, subject, consumed, tokens) is None:
        return Violated(consumed, tokens, complaint, again=False)
    if rule.shrinks:
        for count in range(1, len(tokens)):
            if shorter := judged(rule, subject, consumed, tokens[:count]):
                return Violated(consumed, tokens[:count], shorter, again=True)
    return Violated(consumed, tokens, complaint, again=True)


def _raised(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def as_json(result: RuleResult) -> dict[str, Any]:
    """A message that `read_result` reads."""
    return {**vars(result), "violated": [vars(one) for one in result.violated]}


def read_result(message: Mapping[str, Any]) -> RuleResult:
    """What was given to `as_json`."""
    violated = [
        Violated(tuple(one["consumed"]), tuple(one["tokens"]), one["complaint"], one["again"])
        for one in message["violated"]
    ]
    return RuleResult(**{**message, "violated": violated})
