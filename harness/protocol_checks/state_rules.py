"""Rules about a matcher's state and what a library says of it: the same place, the same answers."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence

from harness.protocol import LeadingMatcher, LibraryCalls, allows, token_ids
from harness.protocol_checks.trial import (
    Complaints,
    Offered,
    Subject,
    Tokens,
    TrialPlace,
    led,
    prefixed,
    rule,
)

_DEPTHS = (1, 2, 5)
"""How many tokens are taken and given back."""
_REFUSED = 64
"""Forbidden tokens that one matcher is to refuse in turn."""
_OTHERS = 8
"""Tokens before a tail that was followed as a whole: no answer about it may be remembered."""


def drafts(subject: Subject, place: TrialPlace) -> Offered:
    """Tokens that go on from a place: along the way, and astray."""
    routes = [place.rest[:depth] for depth in _DEPTHS]
    if allowed := token_ids(subject.mask_at(place.consumed), subject.vocabulary.size).tolist():
        routes.append((place.draws.choice(allowed),))
    if subject.ends_at(place.consumed):
        routes.append((subject.library.ends[0],))
    return Offered(list(dict.fromkeys(filter(None, routes))))


def _strays(subject: Subject, place: TrialPlace) -> Offered:
    """Single tokens, allowed or not, the end among them; then many that are forbidden."""
    mask = subject.mask_at(place.consumed)
    forbidden = subject.ordinary(~mask)
    some = [subject.library.ends[0], *place.some(subject.ordinary(mask), 4)]
    some += place.some(forbidden, 4)
    many = tuple(place.some(forbidden, _REFUSED))
    return Offered([*((token,) for token in some), *([many] if len(many) > 1 else [])])


@rule("attempt", offer=_strays, shrinks=True)
def attempt(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Attempting a token answers as consuming it does; a refused one changes nothing."""
    calls = subject.at(consumed)
    for token in tokens:
        taken = calls.attempt(token)
        consumes = len(tokens) == 1 and subject.at(consumed).consume(token)
        if taken != consumes:
            which = ("refused when attempted", "taken when attempted")[taken]
            other = ("refused", "consumed")[consumes]
            yield f"{subject.named(token)} is {which}, and {other} when consumed"
        if taken:
            return
    changed = f"refused, {subject.named(tokens[-1])} changed the state"
    yield prefixed(changed, subject.moved(calls, consumed))


@rule("clone", offer=drafts, shrinks=True)
def clone(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """A clone gives the masks of a fresh matcher; neither moves the other."""
    original = subject.at(consumed)
    twin, other = original.clone(), original.clone()
    led(twin, tokens)
    yield prefixed("moved by what its clone consumed", subject.moved(original, consumed))
    yield prefixed("a clone", subject.moved(other, consumed, tokens))
    third = subject.at(consumed)
    kept = third.clone()
    led(third, tokens)
    words = "a clone was moved by what its original consumed"
    yield prefixed(words, subject.moved(kept, consumed))


@rule("rollback", offer=drafts, shrinks=True)
def rollback(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Rolled back, a matcher gives the masks of a fresh one, and goes on as it does."""
    for asked in (False, True):  # as in speculative decoding, and without
        calls = subject.at(consumed)
        for token in tokens:
            if asked:
                subject.mask(calls)
            if not calls.consume(token):
                return
        if calls.rollback(len(tokens)) is False:
            yield f"{len(tokens)} tokens are not rolled back"
        words = f"rolled back by {len(tokens)}"
        yield prefixed(words, subject.moved(calls, consumed, tokens))


@rule("reset", offer=drafts, shrinks=True)
def reset(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Reset, a matcher gives the masks of a fresh one, all along."""
    calls = subject.at(consumed)
    if led(calls, tokens) == len(tokens):
        calls.reset()
        yield prefixed("reset", subject.moved(calls, (), consumed))


_ANSWERS = ("completed", "terminated", "forced_bytes", "forced_tokens")
_QUESTIONS: dict[str, Callable[[LibraryCalls, Tokens], object]] = {
    name: lambda calls, _tokens, name=name: getattr(calls, name)()  # type: ignore[misc]
    for name in _ANSWERS
}
_QUESTIONS["validate"] = lambda calls, tokens: calls.validate and calls.validate(tokens)


def _asks_anything(subject: Subject, place: TrialPlace) -> Offered:
    calls = subject.library.fresh()
    asked = any(getattr(calls, name) is not None for name in _QUESTIONS)
    return drafts(subject, place) if asked else Offered([])


@rule(offer=_asks_anything, shrinks=True)
def asking(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Asking what the library says of itself changes no mask."""
    for name, ask in _QUESTIONS.items():  # each of its own matcher, which then goes on
        calls = subject.at(consumed)
        if getattr(calls, name) is None:
            continue
        subject.mask(calls)
        with contextlib.suppress(Exception):  # of which the rule `answers` tells
            ask(calls, tokens)
        yield prefixed(f"asked for {name}", subject.moved(calls, consumed, tokens))


@rule()
def answers(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """What is asked before the end is answered: nothing raises."""
    calls = subject.at(consumed)
    for name in ("mask", *_ANSWERS, "clone"):
        ask = getattr(calls, name)
        try:
            subject.mask(calls) if name == "mask" else ask and ask()
        except Exception as error:  # noqa: BLE001 - what a library raises is what is looked for
            yield f"{name} raises {type(error).__name__}: {error}"


@rule("completed")
def completed(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """It says that a text is complete exactly where its mask allows the end."""
    ends = subject.ends_at(consumed)
    for asked in (False, True):  # before and after the mask, from which some libraries answer
        calls = subject.at(consumed)
        if asked:
            subject.mask(calls)
        if bool(calls.completed()) != ends:
            said = "it denies completion" if ends else "it says that the text is complete"
            yield f"{said}, and its mask {'allows' if ends else 'forbids'} the end"


def _here_or_after_end(subject: Subject, place: TrialPlace) -> Offered:
    end = subject.library.ends[0]
    return Offered([(), (end,)] if subject.reaches((*place.consumed, end)) else [()])


@rule("terminated", offer=_here_or_after_end)
def terminated(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """It says that it has terminated after the end, and where nothing else is allowed at most."""
    calls = subject.at(consumed)
    if tokens:
        if calls.consume(tokens[0]) and not calls.terminated():
            yield "it consumed the end, and denies that it has terminated"
    elif calls.terminated() and (allowed := subject.ordinary(subject.mask_at(consumed))):
        yield f"it says that it has terminated, and {subject.named(allowed[0])} is in its mask"


@rule("forced_bytes")
def forced_bytes(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """The masks allow the text that it says is forced, and nothing else."""
    forced = bytes(subject.at(consumed).forced_bytes())
    if not forced:
        return
    yield _not_forced(subject, consumed, forced)
    text, way = b"", consumed
    while len(text) < len(forced):
        token = _along(subject, way, forced[len(text) :])
        if token is None:
            yield f"{forced!r} is forced, and after {text!r} no mask allows it to go on"
            return
        text += subject.vocabulary.tokens[token]
        way += (token,)
        if not subject.reaches(way):
            yield f"{forced!r} is forced, and {subject.named(token)} of it is refused"
            return


def _not_forced(subject: Subject, consumed: Tokens, forced: bytes) -> str:
    """That the mask allows something else than `forced`, in words."""
    if subject.ends_at(consumed):
        return f"{forced!r} is forced, and the mask allows the end"
    for token in subject.ordinary(subject.mask_at(consumed)):
        text = subject.vocabulary.tokens[token]
        if not (text.startswith(forced) or forced.startswith(text)):
            return f"{forced!r} is forced, and the mask allows {subject.named(token)}"
    return ""


def _along(subject: Subject, way: Tokens, text: bytes) -> int | None:
    """The longest token that the mask allows and that is in `text`; else one that goes beyond."""
    mask, vocabulary = subject.mask_at(way), subject.vocabulary
    inside = [token for token in vocabulary.starts(text) if allows(mask, token)]
    beyond = (one for one in subject.ordinary(mask) if vocabulary.tokens[one].startswith(text))
    return inside[-1] if inside else next(beyond, None)


@rule("forced_tokens")
def forced_tokens(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """The masks allow the tokens that it says are forced, and no other text."""
    forced = tuple(subject.at(consumed).forced_tokens())
    for count, token in enumerate(forced):
        way = consumed + forced[:count]
        inside = 0 <= token < subject.vocabulary.size
        if not inside or not allows(subject.mask_at(way), token):
            yield f"{list(forced)} are forced, and {subject.named(token)} is not in the mask"
            return
        if not subject.reaches((*way, token)):
            yield f"{list(forced)} are forced, and {subject.named(token)} is refused"
            return
    if text := b"".join(subject.vocabulary.tokens[token] for token in forced):
        yield _not_forced(subject, consumed, text)


def _lists(subject: Subject, place: TrialPlace) -> Offered:
    """Drafts; the same with the end after them, and with any token amid."""
    end, size = subject.library.ends[0], subject.vocabulary.size
    trials: list[Tokens] = [(end,)]
    never = () if not subject.library.by_adapter else (-1, size, *_one_special(subject))
    for draft in drafts(subject, place).trials:
        cut = place.draws.randrange(len(draft) + 1)
        stray = place.draws.randrange(size)
        trials += [draft, (*draft, end), (*draft[:cut], stray, *draft[cut:])]
        trials += [(*draft[:cut], one, *draft[cut:], end) for one in never]
    if subject.library.by_adapter:
        trials += [(*place.rest, end), (*place.rest, end, end), (*place.rest, end, *place.rest)]
    return Offered(list(dict.fromkeys(trials)))


def _one_special(subject: Subject) -> list[int]:
    specials = subject.vocabulary.special.nonzero()[0].tolist()
    return specials[-1:]


@rule("validate", offer=_lists, shrinks=True)
def validate(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Of a list of tokens it validates as many as it consumes."""
    calls, taken = subject.at(consumed), led(subject.at(consumed), tokens)
    for validated in validated_each_way(calls, tokens):
        if validated != taken:
            named = ", ".join(map(subject.named, tokens))
            yield f"of [{named}] it validates {validated}, and consumes {taken}"
    if isinstance(calls.native, LeadingMatcher) and 1 < len(tokens) == taken:
        drawn = random.Random(str(tokens))  # noqa: S311 - to be repeated
        for first in drawn.sample(range(subject.vocabulary.size), _OTHERS):
            others = (first, *tokens[1:])
            validated, taken = (
                calls.native.follow_after(first, tokens[1:]),
                led(subject.at(consumed), others),
            )
            if validated != taken:
                yield f"after {subject.named(first)} it validates {validated} with it, not {taken}"


def validated_each_way(calls: LibraryCalls, tokens: Sequence[int]) -> list[int]:
    """How many leading tokens are validated; of an adapter by each of its faster ways."""
    assert calls.validate is not None
    counts = [calls.validate(tokens)]
    if tokens and isinstance(calls.native, LeadingMatcher):
        counts.append(calls.native.follow_after(tokens[0], tokens[1:]))
    return counts
