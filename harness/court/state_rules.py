"""Rules about a matcher's state: what leads to the same place gives the same masks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from harness.court.trial import Offered, Rule, Subject, Tokens, TrialPlace, led
from harness.protocol import LibraryCalls, token_ids

_DEPTHS = (1, 2, 5)
"""How many tokens are taken and given back."""


def drafts(subject: Subject, place: TrialPlace) -> Offered:
    """Tokens that go on from a place: along the way, and astray."""
    routes = [place.rest[:depth] for depth in _DEPTHS]
    allowed = token_ids(subject.mask_at(place.consumed), subject.vocabulary.size).tolist()
    if allowed:
        routes.append((place.draws.choice(allowed),))
    if subject.ends_at(place.consumed):
        routes.append((subject.library.ends[0],))
    return Offered(list(dict.fromkeys(filter(None, routes))))


def _stray(subject: Subject, place: TrialPlace) -> Offered:
    """Single tokens, allowed or not, the end among them."""
    mask = subject.mask_at(place.consumed) & subject.vocabulary.ordinary_mask
    size = subject.vocabulary.size
    allowed = token_ids(mask, size).tolist()
    forbidden = token_ids(~mask & subject.vocabulary.ordinary_mask, size).tolist()
    some = [subject.library.ends[0]]
    for kind in (allowed, forbidden):
        some += place.draws.sample(kind, min(len(kind), 4))
    return Offered([(token,) for token in some])


def _attempts(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    (token,) = tokens
    calls = subject.at(consumed)
    assert calls.attempt is not None
    taken, consumes = calls.attempt(token), subject.at(consumed).consume(token)
    if taken != consumes:
        told = ("refused when attempted", "taken when attempted")
        other = ("refused", "consumed")
        return f"{subject.named(token)} is {told[taken]}, and {other[consumes]} when consumed"
    if taken:
        return None
    moved = subject.differ(subject.mask(calls), subject.mask_at(consumed))
    return f"refused, {subject.named(token)} changed the state: {moved}" if moved else None


def _same_state(
    subject: Subject, calls: LibraryCalls, consumed: Tokens, onward: Tokens
) -> str | None:
    """A complaint unless a matcher is where a fresh one is, and goes on as it does."""
    if told := subject.differ(subject.mask(calls), subject.mask_at(consumed)):
        return told
    for at, token in enumerate(onward, 1):
        taken, expected = calls.consume(token), subject.reaches(consumed + onward[:at])
        if taken != expected:
            told = "is consumed, and a fresh matcher refuses it" if taken else "is refused"
            return f"then {subject.named(token)} {told}"
        if not taken or token in subject.library.ends:
            return None
        if told := subject.differ(subject.mask(calls), subject.mask_at(consumed + onward[:at])):
            return f"then, behind {subject.named(token)}, {told}"
    return None


def _clones(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    original = subject.at(consumed)
    assert original.clone is not None
    clone, other = original.clone(), original.clone()
    led(clone, tokens)
    if told := _same_state(subject, original, consumed, ()):
        return f"moved by what its clone consumed: {told}"
    if told := _same_state(subject, other, consumed, tokens):
        return f"a clone: {told}"
    third = subject.at(consumed)
    assert third.clone is not None
    kept = third.clone()
    led(third, tokens)
    told = _same_state(subject, kept, consumed, ())
    return f"a clone was moved by what its original consumed: {told}" if told else None


def _rolls_back(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    """With masks asked on the way, as in speculative decoding, and without."""
    for asked in (False, True):
        calls = subject.at(consumed)
        assert calls.rollback is not None
        for token in tokens:
            if asked:
                subject.mask(calls)
            if not calls.consume(token):
                return None
        if calls.rollback(len(tokens)) is False:
            return f"{len(tokens)} tokens are not rolled back"
        if told := _same_state(subject, calls, consumed, tokens):
            return f"rolled back by {len(tokens)}: {told}"
    return None


def _resets(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.reset is not None
    if led(calls, tokens) < len(tokens):
        return None
    calls.reset()
    if told := _same_state(subject, calls, (), consumed):
        return f"reset: {told}"
    return None


def _asking(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    """Each question is put to a matcher of its own, which then goes on."""
    for name, ask in _QUESTIONS.items():
        calls = subject.at(consumed)
        if getattr(calls, name) is None:
            continue
        subject.mask(calls)
        with contextlib.suppress(Exception):  # of which the rule `answers` tells
            ask(calls, tokens)
        if told := _same_state(subject, calls, consumed, tokens):
            return f"asked for {name}: {told}"
    return None


_QUESTIONS: dict[str, Callable[[LibraryCalls, Tokens], object]] = {
    name: lambda calls, _tokens, name=name: getattr(calls, name)()  # type: ignore[misc]
    for name in ("completed", "terminated", "forced_bytes", "forced_tokens")
}
_QUESTIONS["validate"] = lambda calls, tokens: calls.validate and calls.validate(tokens)


def _asks_anything(subject: Subject, place: TrialPlace) -> Offered:
    calls = subject.library.fresh()
    asked = sum(getattr(calls, name) is not None for name in _QUESTIONS)
    return drafts(subject, place) if asked else Offered([])


STATE_RULES = (
    Rule(
        "attempt",
        "attempting a token answers as consuming it does; a refused one changes nothing",
        ("attempt",),
        _stray,
        _attempts,
    ),
    Rule(
        "clone",
        "a clone gives the masks of a fresh matcher; neither moves the other",
        ("clone",),
        drafts,
        _clones,
        shrinks=True,
    ),
    Rule(
        "rollback",
        "rolled back, a matcher gives the masks of a fresh one, and goes on as it does",
        ("rollback",),
        drafts,
        _rolls_back,
        shrinks=True,
    ),
    Rule(
        "reset",
        "reset, a matcher gives the masks of a fresh one, all along",
        ("reset",),
        drafts,
        _resets,
        shrinks=True,
    ),
    Rule(
        "asking",
        "asking what the library says of itself changes no mask",
        (),
        _asks_anything,
        _asking,
        shrinks=True,
    ),
)
