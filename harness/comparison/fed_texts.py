"""Texts as evidence: whole texts that are fed to engines beside the walks, and what they prove.

An invalid text that an engine allows to its end proves a false acceptance; a valid one that it
refuses proves a false rejection. Of a case's own instances this reproduces the validation and
invalidation errors of MaskBench. Texts are fed in the tokenizer's canonical tokens; where the
vocabulary does not tell them, a refusal proves nothing, since another way to cut the text might
have been allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.engines.text_probe import Probed
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import START, advance
from harness.validators import judge as rulings
from harness.validators.judge import Ruling


@dataclass(frozen=True)
class FedText:
    """One text as it is fed; what the validators say of it counts, not its label.

    `label` is ``valid`` or ``invalid``, as the case says, or `harness.runs.tables.GENERATED`.
    """

    label: str
    text: bytes
    tokens: tuple[int, ...]
    canonical: bool
    ruling: Ruling
    ends: bool = True


@dataclass(frozen=True)
class TextVerdict:
    """What one text proves about one engine; `reason` is why it is open.

    `token` is the one that was refused, of which the engine takes `refused_at` bytes; or -1.
    """

    kind: str
    reason: str = ""
    consumed: int = -1
    token: int = -1
    refused_at: int = -1


def reference_problem(text: bytes, ruling: Ruling) -> tuple[str, str]:
    """Why a reference cannot be walked: a reason code, and a sentence."""
    shown = _shown(text)
    if ruling.verdict == rulings.INVALID:
        what = f"{ruling.keyword or ruling.reason} at {ruling.instance_pointer or 'its root'}"
        message = f"the reference {shown} is not valid under its schema: {what}"
        return "reference_invalid", message
    if ruling.verdict == rulings.UNDECIDED:
        return "reference_undecided", f"the validators cannot judge {shown}: {ruling.reason}"
    return "reference_contested", f"the validators do not agree on {shown}: {ruling.reason}"


def label_problem(one: FedText) -> str:
    """What is wrong with the label of an instance: a sentence; empty where nothing is."""
    if one.label == "valid" and one.ruling.verdict == rulings.INVALID:
        return reference_problem(one.text, one.ruling)[1]
    if one.label == "invalid" and one.ruling.verdict == rulings.VALID:
        return f"{_shown(one.text)} is labelled invalid, and is valid under its schema"
    return ""


def _shown(text: bytes) -> str:
    return text[:80].decode("utf-8", "replace")


def spelled_out(fed: FedText, probed: Probed, vocabulary: Vocabulary) -> list[int]:
    """What to probe in order to learn the byte at which a text was refused.

    After the tokens that were taken, the refused one byte by byte. Nothing follows them where
    nothing was refused, at the end of sequence, and where a byte before the last has no token.
    """
    token = fed.tokens[probed.allowed] if probed.allowed < len(fed.tokens) else vocabulary.eos
    spelled = [] if vocabulary.special[token] else vocabulary.spelled(token)
    whole = len(spelled) == len(vocabulary.tokens[token])
    return [*fed.tokens[: probed.allowed], *(spelled if whole else ())]


def conclude(one: FedText, probed: Probed, refused_at: int) -> list[TextVerdict]:
    """What a text proves about the engine that let it come so far; see `TextVerdict`."""
    whole = probed.allowed == len(one.tokens)
    token = -1 if whole else one.tokens[probed.allowed]
    violation = TextVerdict("mask_consume_mismatch", "", probed.allowed, token)
    if not whole and not probed.forbidden:
        return [violation]
    if not one.ends:
        return [TextVerdict("dead_end", "", probed.allowed)] if whole and probed.empty else []
    found = _of_text(one, probed, token)
    if found is not None and found.kind == "false_rejection":
        found = replace(found, refused_at=refused_at)
    verdicts = [] if found is None else [found]
    return [*verdicts, violation] if not whole and probed.taken else verdicts


def _of_text(one: FedText, probed: Probed, token: int) -> TextVerdict | None:
    """What follows from the mask having led so far and no farther."""
    whole, ruling, reason = token < 0, one.ruling, ""
    if ruling.verdict == rulings.CONTESTED:
        kind, reason = "contested", ruling.reason
    elif ruling.verdict == rulings.UNDECIDED:
        kind, reason = "unresolved", "undecided"
    elif whole != (ruling.verdict == rulings.INVALID):
        return None
    elif whole:
        state = advance(START, one.text)
        unfinished = state is not None and not state.can_end
        kind = "stops_too_early" if unfinished else "false_acceptance"
    elif probed.allowed == len(one.tokens) - 1:
        kind = "never_stops"
    elif not one.canonical:
        kind, reason = "unresolved", "unusual_tokenisation"
    else:
        kind = "false_rejection"
    return TextVerdict(kind, reason, probed.allowed, token)
