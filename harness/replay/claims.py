"""Hold a verdict against what engines and validators say when they are asked again.

What each kind claims is in one function here; which engine has to be led along which tokens
to hear it, in another. Nothing in this module starts or asks anything.
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

Lead = tuple[str, tuple[int, ...]]
"""An engine and the tokens that it is to be led along from the start."""

_SPACE = frozenset(b" \t\n\r")
_DIGITS = frozenset(b"0123456789")


@dataclass(frozen=True)
class Heard:
    """What was said when verdicts were repeated.

    Attributes:
        probed: What each lead came to; a word where the engine failed.
        closed: For dead ends without an empty mask, whether no way from there leads to an end.
        rulings: What both validators say of each text.
    """

    probed: Mapping[Lead, Probed | str]
    closed: Mapping[Lead, bool | str]
    rulings: Mapping[bytes, rulings.Ruling]


def leads(one: Witness) -> list[Lead]:
    """Which engine must be led along which tokens to repeat a verdict."""
    along: list[Lead] = [(one.accepter or one.engine, one.way)]
    if one.kind in REJECTIONS:
        along = along if one.accepter else []
        along.append((one.engine, (*one.before, one.token)))
    return along


def searches(one: Witness) -> list[Lead]:
    """Behind which tokens an engine must be searched for any way to an end."""
    return [(one.engine, (*one.before, one.token))] if one.reason == NO_END else []


def difference(one: Witness, heard: Heard, vocabulary: Vocabulary) -> str:
    """What is not as the verdict says; empty when all is."""
    for lead in leads(one):
        if isinstance(word := heard.probed[lead], str):
            return f"{lead[0]} {word}"
    if one.kind in REJECTIONS:
        wrong = _not_rejected(one, heard)
    elif one.reason == NO_END:
        wrong = _not_closed(one, heard)
    elif one.kind == "dead_end":
        wrong = _not_dead(one, heard)
    elif one.kind == "mask_lies":
        wrong = _not_lying(one, heard)
    elif one.kind == "unfinishable":
        wrong = _not_whole(one, heard) or _not_endless(one, vocabulary)
    else:
        wrong = _not_whole(one, heard)
    return wrong or _other_ruling(one, heard)


def _probed(one: Witness, heard: Heard, which: int = 0) -> Probed:
    probed = heard.probed[leads(one)[which]]
    assert isinstance(probed, Probed)
    return probed


def _not_whole(one: Witness, heard: Heard) -> str:
    """Whether the engine that is to allow all does."""
    engine, way = leads(one)[0]
    allowed = _probed(one, heard).allowed
    return "" if allowed == len(way) else f"{engine} allows {allowed} of {len(way)} tokens"


def _not_rejected(one: Witness, heard: Heard) -> str:
    if one.accepter and (wrong := _not_whole(one, heard)):
        return wrong
    reached, count = _probed(one, heard, -1), len(one.before)
    if reached.allowed != count:
        return f"{one.engine} allows {reached.allowed} tokens, not exactly {count}"
    if not reached.forbidden:
        return f"the mask of {one.engine} allows the token, which is then not consumed"
    if one.kind == "never_stops" and reached.ends:
        return f"{one.engine} allows another end of sequence there"
    return ""


def _not_dead(one: Witness, heard: Heard) -> str:
    if wrong := _not_whole(one, heard):
        return wrong
    return "" if _probed(one, heard).empty else f"the mask of {one.engine} is not empty there"


def _not_closed(one: Witness, heard: Heard) -> str:
    if wrong := _not_whole(one, heard):
        return wrong
    closed = heard.closed[searches(one)[0]]
    if isinstance(closed, str):
        return f"{one.engine} {closed}"
    return "" if closed else f"it is not so that no way of {one.engine} there leads to an end"


def _not_lying(one: Witness, heard: Heard) -> str:
    probed, count = _probed(one, heard), len(one.way) - 1
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


def _other_ruling(one: Witness, heard: Heard) -> str:
    claim = one.claim
    if claim.ruling is None:
        return ""
    ruling = heard.rulings[one.text]
    if ruling.verdict != claim.ruling:
        return f"the validators say {rulings.VERDICTS[ruling.verdict]}"
    if claim.reason and ruling.reason != claim.reason:
        return f"the text is invalid, but not because it is {claim.reason.replace('_', ' ')}"
    return ""
