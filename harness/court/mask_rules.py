"""Rules about masks and consuming: they say the same, and of some ids they always say no."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np

from harness.court.trial import Offered, Rule, Subject, Tokens, TrialPlace, nothing_more
from harness.protocol import Library, LibraryCalls, Mask, allows, token_ids

_SUSPECTS = 20
"""Tokens of one place that are tried on matchers of their own, where a sweep suspects more."""
_FORBIDDEN = 32
"""Forbidden tokens that are consumed where the library can also attempt to, which is quicker."""


def _written(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    ones = np.full(subject.vocabulary.words, 0xFFFFFFFF, dtype=np.uint32)
    zeros = np.zeros_like(ones)
    calls = subject.at(consumed)
    calls.mask(ones)
    calls.mask(zeros)
    if told := subject.differ(zeros, ones):
        return f"written over ones and then over zeros, {told}"
    return None


def _agrees(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    (token,) = tokens
    allowed = allows(subject.mask_at(consumed), token)
    if subject.at(consumed).consume(token) == allowed:
        return None
    if allowed:
        return f"{subject.named(token)} is in the mask, and is refused"
    return f"{subject.named(token)} is not in the mask, and is consumed"


def _ordinary(subject: Subject, place: TrialPlace) -> Offered:
    """Go through ordinary tokens the quick way; those that look wrong are to be tried."""
    mask = subject.mask_at(place.consumed)
    swept = _swept(subject, mask, place)
    allowed = [token for token in swept if allows(mask, token)]
    forbidden = [token for token in swept if not allows(mask, token)]
    suspects = [*_refused(subject, place.consumed, allowed)]
    suspects += _taken(subject, place, forbidden)
    return Offered([(token,) for token in sorted(suspects)[:_SUSPECTS]], len(swept))


def _swept(subject: Subject, mask: Mask, place: TrialPlace) -> list[int]:
    """All ordinary tokens; or a sample of those that are allowed and of those that are not."""
    ordinary = subject.vocabulary.ordinary_mask
    size = subject.vocabulary.size
    kinds = [token_ids(mask & ordinary, size).tolist(), token_ids(~mask & ordinary, size).tolist()]
    if place.sweep is not None:
        half = place.sweep // 2
        kinds = [place.draws.sample(one, min(len(one), half)) for one in kinds]
    return sorted(kinds[0] + kinds[1])


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
                assert here.attempt is not None
        forbidden = place.draws.sample(forbidden, min(len(forbidden), _FORBIDDEN))
    for token in forbidden:
        subject.mark(place.consumed, (token,))
        trial = here.clone() if here.clone else subject.at(place.consumed)
        if trial.consume(token):
            yield token


def _ends(subject: Subject, _place: TrialPlace) -> Offered:
    return Offered([(end,) for end in subject.library.ends])


def _ends_agree(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    mask, ends = subject.mask_at(consumed), subject.library.ends
    if len({allows(mask, end) for end in ends}) > 1:
        return f"of the ends {list(ends)} the mask allows {[e for e in ends if allows(mask, e)]}"
    taken = [end for end in ends if subject.at(consumed).consume(end)]
    return f"of the ends {list(ends)} it consumes {taken}" if 0 < len(taken) < len(ends) else None


def _behind_end(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    end, token = tokens
    calls = subject.at(consumed)
    if not calls.consume(end):
        return None
    try:
        allowed = allows(subject.mask(calls), token)
    except Exception:  # noqa: BLE001 - a library that gives no mask there allows nothing there
        allowed = False
    if allowed:
        return f"behind the end, {subject.named(token)} is in the mask"
    return f"behind the end, {subject.named(token)} is consumed" if _eats(calls, token) else None


def _eats(calls: LibraryCalls, token: int) -> bool:
    """Whether a token is consumed that never should be; an exception is a refusal."""
    try:
        return calls.consume(token)
    except Exception:  # noqa: BLE001 - it is not consumed
        return False


def _tokens_behind_end(subject: Subject, place: TrialPlace) -> Offered:
    end = subject.library.ends[0]
    if not subject.reaches((*place.consumed, end)):
        return Offered([])
    ordinary = list(subject.vocabulary.ordinary)
    allowed = token_ids(
        subject.mask_at(place.consumed) & subject.vocabulary.ordinary_mask, subject.vocabulary.size
    ).tolist()
    ids = sorted({*allowed[:4], *place.draws.sample(ordinary, min(len(ordinary), 8))})
    with contextlib.suppress(Exception):  # as above
        there = subject.mask_at((*place.consumed, end)) & subject.vocabulary.ordinary_mask
        ids += token_ids(there, subject.vocabulary.size)[:4].tolist()
    return Offered([(end, token) for token in ids])


def _ends_behind_end(subject: Subject, place: TrialPlace) -> Offered:
    ends = subject.library.ends
    reached = [end for end in ends[:1] if subject.reaches((*place.consumed, end))]
    return Offered([(end, again) for end in reached for again in ends])


def _never(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    (token,) = tokens
    mask = subject.mask_at(consumed)
    if token < 32 * len(mask) and allows(mask, token):
        return f"{subject.named(token)} is in the mask"
    if _eats(subject.at(consumed), token):
        return f"{subject.named(token)} is consumed"
    return None


def _specials(subject: Subject, place: TrialPlace) -> Offered:
    vocabulary = subject.vocabulary
    never = vocabulary.special_mask & ~vocabulary.eos_mask
    found = token_ids(subject.mask_at(place.consumed) & never, vocabulary.size).tolist()
    ids = token_ids(never, vocabulary.size).tolist()
    some = {*found[:_SUSPECTS], *place.draws.sample(ids, min(len(ids), 4))}
    return Offered([(token,) for token in sorted(some)], len(ids))


def _beyond(subject: Subject, place: TrialPlace) -> Offered:
    mask, size = subject.mask_at(place.consumed), subject.vocabulary.size
    set_ = token_ids(mask, 32 * len(mask))
    ids = sorted({*set_[set_ >= size].tolist(), size, 32 * len(mask)})
    return Offered([(token,) for token in ids])


def _has_several_ends(library: Library) -> str:
    return "" if len(library.ends) > 1 else "it knows one end of sequence"


def _has_specials(library: Library) -> str:
    return "it was told that special tokens are text" if library.special_is_text else ""


MASK_RULES = (
    Rule(
        "mask_written",
        "a mask is written over whatever was in the array, and is the same when asked again",
        (),
        nothing_more,
        _written,
    ),
    Rule(
        "mask_consume",
        "an ordinary token is in the mask exactly when it is consumed",
        (),
        _ordinary,
        _agrees,
    ),
    Rule(
        "end_consume",
        "an end of sequence is in the mask exactly when it is consumed",
        (),
        _ends,
        _agrees,
    ),
    Rule(
        "ends_agree",
        "several ends of sequence are all allowed or all forbidden",
        (),
        nothing_more,
        _ends_agree,
        _has_several_ends,
    ),
    Rule(
        "after_end",
        "behind the end no ordinary token is allowed or consumed",
        (),
        _tokens_behind_end,
        _behind_end,
    ),
    Rule(
        "end_again",
        "behind the end no end of sequence is allowed or consumed",
        (),
        _ends_behind_end,
        _behind_end,
    ),
    Rule(
        "special", "special ids are never allowed or consumed", (), _specials, _never, _has_specials
    ),
    Rule("beyond", "ids beyond the vocabulary are never allowed or consumed", (), _beyond, _never),
)
