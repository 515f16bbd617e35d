"""All rules of the protocol court, by name, and how one is held against a library."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.court.batch_rules import BATCH_RULES
from harness.court.draft_rules import DRAFT_RULES
from harness.court.mask_rules import MASK_RULES
from harness.court.self_rules import SELF_RULES
from harness.court.state_rules import STATE_RULES
from harness.court.trial import Rule, Subject, Tokens, TrialPlace, Unreachable, written

RULES: Mapping[str, Rule] = {
    rule.name: rule for rule in (*MASK_RULES, *STATE_RULES, *SELF_RULES, *DRAFT_RULES, *BATCH_RULES)
}

_PANIC = "PanicException"
"""What a library in Rust raises where it would have ended a process; it is no `Exception`."""
_TOLD = 3
"""Violations of one rule that are told of one case; all are counted."""


@dataclass(frozen=True)
class Violated:
    """A trial in which a rule was broken.

    Attributes:
        consumed: The tokens before.
        tokens: Those of the trial; None where it was still being looked for what to try.
        complaint: The complaint.
        again: Whether the same trial, repeated at once, gave a complaint.
        written: What `consumed` writes, for people.
    """

    consumed: Tokens
    tokens: Tokens | None
    complaint: str
    again: bool
    written: str


@dataclass(frozen=True)
class RuleResult:
    """How a library keeps one rule on one case.

    Attributes:
        checks: What was looked at.
        broken: How many trials broke it.
        failed: How many could not be judged because the library raised.
        words: Why it could not be tried, or what was raised first; else empty.
        ended: How the process ended over it, which leaves the rest of it unheard; else empty.
        crashed: Whether that was a crash; the trial, where it is known, is all of `violated`.
        violated: The smallest of those that broke it.
    """

    checks: int = 0
    broken: int = 0
    failed: int = 0
    words: str = ""
    ended: str = ""
    crashed: bool = False
    violated: Sequence[Violated] = ()

    @property
    def missing(self) -> bool:
        """Whether the rule cannot be tried at all."""
        return not self.checks and not self.failed and bool(self.words)


def judged(rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens | None) -> str | None:
    """The complaint of one trial; None where there is none, or it cannot be come to.

    Without tokens it is only looked for what there would be to try, which some processes die of.
    """
    subject.mark(consumed, tokens)
    try:
        if tokens is None:
            rule.offer(subject, TrialPlace(consumed, (), random.Random(0), 0))  # noqa: S311
            return None
        return rule.judge(subject, consumed, tokens)
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
    checks = failed = 0
    found: list[Violated] = []
    for place in places:
        subject.mark(place.consumed, None)
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
                if violated := _judged_twice(rule, subject, place.consumed, tokens):
                    found.append(violated)
            except MemoryError:
                raise
            except BaseException as error:  # noqa: BLE001 - as above
                failed, words = failed + 1, words or _raised(error)
    found.sort(key=violation_size)
    return RuleResult(checks, len(found), failed, words, violated=found[:_TOLD])


def violation_size(one: Violated) -> tuple[bool, int, int, Tokens]:
    """By which the smallest of several is found; one that shows again is smaller."""
    tokens = one.tokens or ()
    return not one.again, len(one.consumed), len(tokens), tokens


def _judged_twice(
    rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens
) -> Violated | None:
    """One trial, made again where it complains, with as few tokens as complain."""
    complaint = judged(rule, subject, consumed, tokens)
    if complaint is None:
        return None
    text = written(subject.vocabulary, consumed)
    if judged(rule, subject, consumed, tokens) is None:
        return Violated(consumed, tokens, complaint, again=False, written=text)
    if rule.shrinks:
        for count in range(1, len(tokens)):
            if shorter := judged(rule, subject, consumed, tokens[:count]):
                return Violated(consumed, tokens[:count], shorter, again=True, written=text)
    return Violated(consumed, tokens, complaint, again=True, written=text)


def _raised(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def as_json(result: RuleResult) -> dict[str, Any]:
    """A message that `read_result` reads, without what is as it mostly is."""
    violated = [vars(one) for one in result.violated]
    return {name: value for name, value in {**vars(result), "violated": violated}.items() if value}


def read_result(message: Mapping[str, Any]) -> RuleResult:
    """What was given to `as_json`.

    Raises:
        LookupError, TypeError, ValueError: It is something else.
    """
    violated = [
        Violated(
            tuple(int(token) for token in one["consumed"]),
            None if one["tokens"] is None else tuple(int(token) for token in one["tokens"]),
            str(one["complaint"]),
            bool(one["again"]),
            str(one["written"]),
        )
        for one in message.get("violated", ())
    ]
    return RuleResult(**{**message, "violated": violated})
