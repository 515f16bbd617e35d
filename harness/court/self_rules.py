"""Rules about what a library says of itself: it agrees with its masks and with what it consumes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.court.state_rules import drafts
from harness.court.trial import Offered, Rule, Subject, Tokens, TrialPlace, led, nothing_more
from harness.protocol import allows, token_ids

_ANSWERS = ("completed", "terminated", "forced_bytes", "forced_tokens", "clone")


def _answers(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    for name in ("mask", *_ANSWERS):
        ask = getattr(calls, name)
        try:
            subject.mask(calls) if name == "mask" else ask and ask()
        except Exception as error:  # noqa: BLE001 - what a library raises is what is looked for
            return f"{name} raises {type(error).__name__}: {error}"
    return None


def _completed(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    """Asked before and after the mask is, which some libraries answer it from."""
    ends = subject.ends_at(consumed)
    for asked in (False, True):
        calls = subject.at(consumed)
        assert calls.completed is not None
        if asked:
            subject.mask(calls)
        if bool(calls.completed()) != ends:
            told = "it says that the text is complete" if not ends else "it denies completion"
            return f"{told}, and its mask {'allows' if ends else 'forbids'} the end"
    return None


def _here_or_behind_end(subject: Subject, place: TrialPlace) -> Offered:
    end = subject.library.ends[0]
    return Offered([(), (end,)] if subject.reaches((*place.consumed, end)) else [()])


def _terminated(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.terminated is not None
    if tokens:
        if not calls.consume(tokens[0]) or calls.terminated():
            return None
        return "it consumed the end, and denies that it has terminated"
    if not calls.terminated():
        return None
    ordinary = subject.mask_at(consumed) & subject.vocabulary.ordinary_mask
    if not ordinary.any():
        return None
    first = int(token_ids(ordinary, subject.vocabulary.size)[0])
    return f"it says that it has terminated, and {subject.named(first)} is in its mask"


def _forced_bytes(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.forced_bytes is not None
    forced = bytes(calls.forced_bytes())
    if not forced:
        return None
    if told := _not_forced(subject, consumed, forced):
        return told
    written, way = b"", consumed
    while len(written) < len(forced):
        token = _along(subject, way, forced[len(written) :])
        if token is None:
            return f"{forced!r} is forced, and behind {written!r} no mask allows it to go on"
        written += subject.vocabulary.tokens[token]
        way += (token,)
        if not subject.reaches(way):
            return f"{forced!r} is forced, and {subject.named(token)} of it is refused"
    return None


def _not_forced(subject: Subject, consumed: Tokens, forced: bytes) -> str:
    """That the mask allows something else than `forced`, in words."""
    if subject.ends_at(consumed):
        return f"{forced!r} is forced, and the mask allows the end"
    vocabulary = subject.vocabulary
    allowed = token_ids(subject.mask_at(consumed) & vocabulary.ordinary_mask, vocabulary.size)
    for token in allowed.tolist():
        text = vocabulary.tokens[token]
        if not (text.startswith(forced) or forced.startswith(text)):
            return f"{forced!r} is forced, and the mask allows {subject.named(token)}"
    return ""


def _along(subject: Subject, way: Tokens, text: bytes) -> int | None:
    """The longest token that the mask allows and that is in `text`; else one that goes beyond."""
    mask, vocabulary = subject.mask_at(way), subject.vocabulary
    inside = [token for token in vocabulary.starts(text) if allows(mask, token)]
    if inside:
        return inside[-1]
    beyond = token_ids(mask & vocabulary.ordinary_mask, vocabulary.size).tolist()
    return next((token for token in beyond if vocabulary.tokens[token].startswith(text)), None)


def _forced_tokens(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.forced_tokens is not None
    forced = tuple(calls.forced_tokens())
    for at, token in enumerate(forced):
        way = consumed + forced[:at]
        inside = 0 <= token < subject.vocabulary.size
        if not inside or not allows(subject.mask_at(way), token):
            return f"{list(forced)} are forced, and {subject.named(token)} is not in the mask"
        if not subject.reaches((*way, token)):
            return f"{list(forced)} are forced, and {subject.named(token)} is refused"
    text = b"".join(subject.vocabulary.tokens[token] for token in forced)
    return (_not_forced(subject, consumed, text) or None) if text else None


def _lists(subject: Subject, place: TrialPlace) -> Offered:
    """Drafts; the same with the end behind them, and with any token amid."""
    end, size = subject.library.ends[0], subject.vocabulary.size
    trials: list[Tokens] = []
    for draft in drafts(subject, place).trials:
        cut = place.draws.randrange(len(draft) + 1)
        stray = place.draws.randrange(size)
        trials += [draft, (*draft, end), (*draft[:cut], stray, *draft[cut:])]
    return Offered(list(dict.fromkeys([(end,), *trials])))


def _validates(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.validate is not None
    validated, taken = calls.validate(tokens), led(subject.at(consumed), tokens)
    if validated == taken:
        return None
    return f"of {_listed(subject, tokens)} it validates {validated}, and consumes {taken}"


def _listed(subject: Subject, tokens: Sequence[int]) -> str:
    return f"[{', '.join(map(subject.named, tokens))}]"


SELF_RULES = (
    Rule(
        "answers",
        "what is asked before the end is answered: nothing raises",
        (),
        nothing_more,
        _answers,
    ),
    Rule(
        "completed",
        "it says that a text is complete exactly where its mask allows the end",
        ("completed",),
        nothing_more,
        _completed,
    ),
    Rule(
        "terminated",
        "it says that it has terminated behind the end, and where nothing else is allowed at most",
        ("terminated",),
        _here_or_behind_end,
        _terminated,
    ),
    Rule(
        "forced_bytes",
        "the masks allow the text that it says is forced, and nothing else",
        ("forced_bytes",),
        nothing_more,
        _forced_bytes,
    ),
    Rule(
        "forced_tokens",
        "the masks allow the tokens that it says are forced, and no other text",
        ("forced_tokens",),
        nothing_more,
        _forced_tokens,
    ),
    Rule(
        "validate",
        "of a list of tokens it validates as many as it consumes",
        ("validate",),
        _lists,
        _validates,
        shrinks=True,
    ),
)
