"""Hold a verdict against what engines and validators say when they are asked again.

What each kind claims is in one function here; which engine has to follow which tokens
to show it, in another. Nothing in this module starts or asks anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.completion.rollout import LIMIT
from harness.engines.text_probe import Probed
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import NO_END, Witness
from harness.validators import judge as rulings
from harness.verdict_kinds import REJECTIONS

Trace = tuple[str, tuple[int, ...]]
"""An engine and the tokens that it follows from the start."""

_SPACE = frozenset(b" \t\n\r")
_DIGITS = frozenset(b"0123456789")


@dataclass(frozen=True)
class Repetition:
    """What engines and validators did when verdicts were repeated."""

    probed: Mapping[Trace, Probed | str]
    """The status where the engine failed."""
    closed: Mapping[Trace, bool | str]
    """For dead ends without an empty mask, whether no way from there leads to an end."""
    rulings: Mapping[bytes, rulings.Ruling]
    spellings: Mapping[Witness, Trace]
    """Of verdicts with a text of the same value that the engine takes: what it follows there."""


def traces(one: Witness) -> list[Trace]:
    """Which engine must follow which tokens to repeat a verdict."""
    whole = (one.accepting_engine or one.engine, one.tokens)
    if one.kind not in REJECTIONS:
        return [whole]
    return [whole] * bool(one.accepting_engine) + [(one.engine, (*one.before, one.token))]


def searches(one: Witness) -> list[Trace]:
    """After which tokens an engine must be searched for any way to an end."""
    return [(one.engine, (*one.before, one.token))] if one.reason == NO_END else []


def difference(one: Witness, repetition: Repetition, vocabulary: Vocabulary) -> str:
    """What is not as the verdict says; empty when all is."""
    for trace in traces(one):
        if isinstance(word := repetition.probed[trace], str):
            return f"{trace[0]} {word}"
    if one.kind in REJECTIONS:
        wrong = _not_rejected(one, repetition)
    elif one.kind == "mask_consume_mismatch":
        wrong = _not_violated(one, repetition)
    else:
        wrong = _not_whole(one, repetition)
        if one.reason == NO_END:
            wrong = wrong or _not_closed(one, repetition)
        elif one.kind == "dead_end" and not _probed(one, repetition).empty:
            wrong = wrong or f"the mask of {one.engine} is not empty there"
        elif one.kind == "unbounded_repetition":
            wrong = wrong or _not_endless(one, vocabulary)
    return wrong or _other_ruling(one, repetition) or _not_spelled(one, repetition)


def _probed(one: Witness, repetition: Repetition, which: int = 0) -> Probed:
    probed = repetition.probed[traces(one)[which]]
    assert isinstance(probed, Probed)
    return probed


def _not_whole(one: Witness, repetition: Repetition) -> str:
    """Whether the engine that is to allow all does."""
    engine, tokens = traces(one)[0]
    allowed = _probed(one, repetition).allowed
    return "" if allowed == len(tokens) else f"{engine} allows {allowed} of {len(tokens)} tokens"


def _not_spelled(one: Witness, repetition: Repetition) -> str:
    """Whether the engine takes the spelling that proves the effect."""
    if (trace := repetition.spellings.get(one)) is None:
        return ""
    probed, count = repetition.probed[trace], len(trace[1])
    if isinstance(probed, str):
        return f"{one.engine} {probed}"
    allowed = probed.allowed
    return (
        ""
        if allowed == count
        else f"{one.engine} allows {allowed} of {count} tokens of the spelling"
    )


def _not_rejected(one: Witness, repetition: Repetition) -> str:
    if one.accepting_engine and (wrong := _not_whole(one, repetition)):
        return wrong
    reached, count = _probed(one, repetition, -1), len(one.before)
    if reached.allowed != count:
        return f"{one.engine} allows {reached.allowed} tokens, not exactly {count}"
    if not reached.forbidden:
        return f"the mask of {one.engine} allows the token, which is then not consumed"
    if one.kind == "never_stops" and reached.ends:
        return f"{one.engine} allows another end of sequence there"
    return ""


def _not_closed(one: Witness, repetition: Repetition) -> str:
    closed = repetition.closed[searches(one)[0]]
    if isinstance(closed, str):
        return f"{one.engine} {closed}"
    return "" if closed else f"it is not so that no way of {one.engine} there leads to an end"


def _not_violated(one: Witness, repetition: Repetition) -> str:
    probed, count = _probed(one, repetition), len(one.tokens) - 1
    if probed.allowed != count:
        return f"{one.engine} allows {probed.allowed} tokens, not exactly {count}"
    if probed.forbidden and not probed.taken:
        return f"mask and consumption of {one.engine} agree: the last token is forbidden"
    return ""


def _not_endless(one: Witness, vocabulary: Vocabulary) -> str:
    tail = (one.token, *one.completion)
    if len(tail) < LIMIT:
        return f"only {len(tail)} tokens are repeated, not {LIMIT}"
    text = b"".join(vocabulary.tokens[token] for token in tail)
    special = any(vocabulary.special[token] for token in tail)
    if special or not (_SPACE.issuperset(text) or _DIGITS.issuperset(text)):
        return "what is repeated is neither white space nor digits alone"
    return ""


def _other_ruling(one: Witness, repetition: Repetition) -> str:
    if (claim := one.claim).ruling is None:
        return ""
    ruling = repetition.rulings[one.text]
    if ruling.verdict != claim.ruling:
        return f"the validators say {rulings.VERDICTS[ruling.verdict]}"
    other = claim.reason and ruling.reason != claim.reason
    because = claim.reason.replace("_", " ")
    return f"the text is invalid, but not because it is {because}" if other else ""
