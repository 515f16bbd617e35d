"""Rules about masks and consuming: they say the same, and of some ids they always say no."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np

from harness.protocol import Library, LibraryCalls, allows, token_ids
from harness.protocol_checks.trial import (
    Complaints,
    Offered,
    Subject,
    Tokens,
    TrialPlace,
    rule,
    unlike,
    unwritten,
)

_SUSPECTS = 20
"""Tokens of one place that are tried on their own matchers, where a sweep suspects more."""
_FORBIDDEN = 32
"""Forbidden tokens that are consumed where the library can also attempt to, which is quicker."""


@rule()
def mask_written(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """A mask is written over whatever was in the array, and is the same when asked again."""
    calls, expected = subject.at(consumed), subject.mask_at(consumed)
    for _ in range(2):
        differing = unlike(calls, expected)
        if count := unwritten(differing, ~np.uint32(0)):
            yield f"{count} of {len(expected)} words are not written"
        yield subject.differ(expected ^ differing, expected)


def _ordinary(subject: Subject, place: TrialPlace) -> Offered:
    """Go through ordinary tokens the quick way; those that look wrong are to be tried."""
    mask = subject.mask_at(place.consumed)
    allowed, forbidden = subject.ordinary(mask), subject.ordinary(~mask)
    if place.sweep is not None:
        half = place.sweep // 2
        allowed, forbidden = place.some(allowed, half), place.some(forbidden, half)
    count = len(allowed) + len(forbidden)
    suspects = [*_refused(subject, place.consumed, sorted(allowed))]
    suspects += _taken(subject, place, sorted(forbidden))
    return Offered([(token,) for token in sorted(suspects)[:_SUSPECTS]], count)


def _refused(subject: Subject, consumed: Tokens, allowed: Iterable[int]) -> Iterator[int]:
    """Those that are refused, each by a clone, by a matcher that is rolled back, or a new one."""
    here = subject.at(consumed)
    for token in allowed:
        subject.mark(consumed, (token,))
        trial = here.clone() if here.clone else here
        if not trial.consume(token):
            yield token
            here = subject.at(consumed)
        elif trial is here and (here.rollback is None or here.rollback(1) is False):
            here = subject.at(consumed)


def _taken(subject: Subject, place: TrialPlace, forbidden: list[int]) -> Iterator[int]:
    """Those that are consumed; all are attempted where the library can, some are consumed."""
    here = subject.at(place.consumed)
    if here.attempt is not None:
        for token in forbidden:
            subject.mark(place.consumed, (token,))
            if here.attempt(token):
                yield token
                here = subject.at(place.consumed)
        forbidden = place.some(forbidden, _FORBIDDEN)
    for token in forbidden:
        subject.mark(place.consumed, (token,))
        trial = here.clone() if here.clone else subject.at(place.consumed)
        if trial.consume(token):
            yield token


@rule(offer=_ordinary)
def mask_consume(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """An ordinary token is in the mask exactly when it is consumed."""
    (token,) = tokens
    allowed = allows(subject.mask_at(consumed), token)
    if subject.at(consumed).consume(token) != allowed:
        which = "in the mask, and is refused" if allowed else "not in the mask, and is consumed"
        yield f"{subject.named(token)} is {which}"


@rule(offer=lambda subject, _: Offered([(end,) for end in subject.library.ends]))
def end_consume(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """An end of sequence is in the mask exactly when it is consumed."""
    return mask_consume(subject, consumed, tokens)


@rule(applies=lambda library: "" if len(library.ends) > 1 else "it knows one end of sequence")
def ends_agree(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """Several ends of sequence are all allowed or all forbidden."""
    mask, ends = subject.mask_at(consumed), subject.library.ends
    allowed = [end for end in ends if allows(mask, end)]
    if 0 < len(allowed) < len(ends):
        yield f"of the ends {list(ends)} the mask allows {allowed}"
    taken = [end for end in ends if subject.at(consumed).consume(end)]
    if 0 < len(taken) < len(ends):
        yield f"of the ends {list(ends)} it consumes {taken}"


def _tokens_after_end(subject: Subject, place: TrialPlace) -> Offered:
    end = subject.library.ends[0]
    if not subject.reaches((*place.consumed, end)):
        return Offered([])
    allowed = subject.ordinary(subject.mask_at(place.consumed))
    ids = sorted({*allowed[:4], *place.some(list(subject.vocabulary.ordinary), 8)})
    with contextlib.suppress(Exception):  # a library that gives no mask there allows nothing there
        ids += subject.ordinary(subject.mask_at((*place.consumed, end)))[:4]
    return Offered([(end, token) for token in (*ids, *_no_ids(subject))])


def _no_ids(subject: Subject) -> tuple[int, ...]:
    """Numbers that are no ids, which adapters refuse and libraries may fail over."""
    size = subject.vocabulary.size
    return (-1, -size, size, size + 5, 2**31, 2**40) if subject.library.by_adapter else ()


@rule(offer=_tokens_after_end)
def after_end(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """After the end no ordinary token is allowed or consumed."""
    end, token = tokens
    calls = subject.at(consumed)
    if not calls.consume(end):
        return
    for matcher in (calls, calls.clone()) if subject.library.by_adapter else (calls,):
        allowed = False
        with contextlib.suppress(Exception):  # as above
            mask = subject.mask(matcher)
            allowed = bool(mask.any()) if subject.library.by_adapter else allows(mask, token)
        if allowed:
            yield f"after the end, {subject.named(token)} is in the mask"
        if subject.library.by_adapter and matcher.validate and matcher.validate((token,)):
            yield f"after the end, {subject.named(token)} is followed"
        if _eats(matcher, token):
            yield f"after the end, {subject.named(token)} is consumed"


def _eats(calls: LibraryCalls, token: int) -> bool:
    """Whether a token is consumed that never should be; an exception is a refusal."""
    try:
        return calls.consume(token)
    except Exception:  # noqa: BLE001 - it is not consumed
        return False


def _ends_after_end(subject: Subject, place: TrialPlace) -> Offered:
    ends = subject.library.ends
    reached = [end for end in ends[:1] if subject.reaches((*place.consumed, end))]
    return Offered([(end, again) for end in reached for again in ends])


@rule(offer=_ends_after_end)
def end_again(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """After the end no end of sequence is allowed or consumed."""
    return after_end(subject, consumed, tokens)


def _specials(subject: Subject, place: TrialPlace) -> Offered:
    vocabulary = subject.vocabulary
    never = vocabulary.special_mask & ~vocabulary.eos_mask
    found = token_ids(subject.mask_at(place.consumed) & never, vocabulary.size).tolist()
    ids = token_ids(never, vocabulary.size).tolist()
    some = sorted({*found[:_SUSPECTS], *place.some(ids, 4)})
    return Offered([(token,) for token in some], len(ids))


def _special_is_text(library: Library) -> str:
    return "it was told that special tokens are text" if library.special_is_text else ""


@rule(offer=_specials, applies=_special_is_text)
def special(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Special ids are never allowed or consumed."""
    (token,) = tokens
    mask = subject.mask_at(consumed)
    if 0 <= token < 32 * len(mask) and allows(mask, token):
        yield f"{subject.named(token)} is in the mask"
    if _eats(subject.at(consumed), token):
        yield f"{subject.named(token)} is consumed"


def _beyond(subject: Subject, place: TrialPlace) -> Offered:
    mask, size = subject.mask_at(place.consumed), subject.vocabulary.size
    allowed = token_ids(mask, 32 * len(mask))
    ids = {*allowed[allowed >= size].tolist(), size, 32 * len(mask), *_no_ids(subject)}
    return Offered([(token,) for token in sorted(ids)])


@rule(offer=_beyond)
def beyond(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Ids beyond the vocabulary are never allowed or consumed."""
    return special(subject, consumed, tokens)
