"""What a server relies on beside the masks' content: a function for each rule says what holds.

First masks and consuming, which say the same; then a matcher's state and what a library says of it;
then masks as servers have them written: drafts of tokens, rows of a batch, threads. The tokens of a
tree's trial stand two at the place, the next two after the first token, and so on (`_parent`): so
fewer of them are a tree, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from harness.protocol import Library, LibraryCalls, Masks, allows, token_ids
from harness.protocol_checks.trial import (
    RULES,
    Complaints,
    Offered,
    Subject,
    Tokens,
    TrialPlace,
    led,
    prefixed,
    rule,
    unlike,
    untouched,
    unwritten,
)

__all__ = ["RULES"]

_SUSPECTS = 20  # tokens of one place tried on their own matchers, where a sweep suspects more
_FORBIDDEN = 32  # forbidden tokens that are consumed where the library can also attempt to
_DEPTHS = (1, 2, 5)  # how many tokens are taken and given back
_REFUSED = 64  # forbidden tokens that one matcher is to refuse in turn
_TREES, _NODES = 2, 10  # trees that are tried at a place, and their tokens
_ROWS, _REPEATED = 6, 4  # how often they are written on several threads in one trial


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
    suspects = [*_not_consumed(subject, place.consumed, sorted(allowed))]
    suspects += _consumed(subject, place, sorted(forbidden))
    return Offered([(token,) for token in sorted(suspects)[:_SUSPECTS]], count)


def _not_consumed(subject: Subject, consumed: Tokens, allowed: Iterable[int]) -> Iterator[int]:
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


def _consumed(subject: Subject, place: TrialPlace, forbidden: list[int]) -> Iterator[int]:
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
    if not subject.reaches((*place.consumed, end := subject.library.ends[0])):
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
    reached = subject.reaches((*place.consumed, ends[0]))
    return Offered([(ends[0], again) for again in ends] if reached else [])


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


_TOLD = "it was told that special tokens are text"


@rule(offer=_specials, applies=lambda library: _TOLD if library.special_is_text else "")
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


def _drafts(subject: Subject, place: TrialPlace) -> Offered:
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


@rule("clone", offer=_drafts, shrinks=True)
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


@rule("rollback", offer=_drafts, shrinks=True)
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


@rule("reset", offer=_drafts, shrinks=True)
def reset(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Reset, a matcher gives the masks of a fresh one, all along."""
    calls = subject.at(consumed)
    if led(calls, tokens) == len(tokens):
        calls.reset()
        yield prefixed("reset", subject.moved(calls, (), consumed))


_ANSWERS = ("completed", "terminated", "forced_bytes", "forced_tokens")
_QUESTIONS = (*_ANSWERS, "validate")


def _asks_anything(subject: Subject, place: TrialPlace) -> Offered:
    calls = subject.library.fresh()
    asked = any(getattr(calls, name) is not None for name in _QUESTIONS)
    return _drafts(subject, place) if asked else Offered([])


@rule(offer=_asks_anything, shrinks=True)
def asking(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Asking what the library says of itself changes no mask."""
    for name in _QUESTIONS:  # each of its own matcher, which then goes on
        calls = subject.at(consumed)
        if (ask := getattr(calls, name)) is None:
            continue
        subject.mask(calls)
        with contextlib.suppress(Exception):  # of which the rule `answers` tells
            ask(tokens) if name == "validate" else ask()
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
            claim = "it denies completion" if ends else "it says that the text is complete"
            yield f"{claim}, and its mask {'allows' if ends else 'forbids'} the end"


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
    if not (forced := bytes(subject.at(consumed).forced_bytes())):
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
    special = subject.vocabulary.special.nonzero()[0].tolist()
    never = (-1, size, *special[-1:]) if subject.library.by_adapter else ()
    for draft in _drafts(subject, place).trials:
        cut = place.draws.randrange(len(draft) + 1)
        stray = place.draws.randrange(size)
        trials += [draft, (*draft, end), (*draft[:cut], stray, *draft[cut:])]
        trials += [(*draft[:cut], one, *draft[cut:], end) for one in never]
    if subject.library.by_adapter:
        trials += [(*place.rest, end), (*place.rest, end, end), (*place.rest, end, *place.rest)]
    return Offered(list(dict.fromkeys(trials)))


@rule("validate", offer=_lists, shrinks=True)
def validate(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Of a list of tokens it validates as many as it consumes."""
    calls, taken = subject.at(consumed), led(subject.at(consumed), tokens)
    assert calls.validate is not None
    if (validated := calls.validate(tokens)) != taken:
        named = ", ".join(map(subject.named, tokens))
        yield f"of [{named}] it validates {validated}, and consumes {taken}"


def _parent(node: int) -> int:
    return node // 2 - 1  # -1 for the place itself


def _path(node: int) -> list[int]:
    return [] if node < 0 else [*_path(_parent(node)), node]


def _strayed(subject: Subject, place: TrialPlace) -> Offered:
    """Drafts, and each with one token amid that may be refused there."""
    trials: list[Tokens] = []
    for draft in _drafts(subject, place).trials:
        cut = place.draws.randrange(len(draft))
        stray = place.draws.randrange(subject.vocabulary.size)
        trials += [draft, (*draft[:cut], stray, *draft[cut:])]
    return Offered(list(dict.fromkeys(trials)))


@rule("draft_masks", offer=_strayed, shrinks=True)
def drafts(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """The masks along a draft are those of a fresh matcher, and the state stays."""
    routes = [tokens[:count] for count in range(len(tokens) + 1)]
    return _drafted(subject, consumed, routes, lambda calls, rows: calls.draft_masks(tokens, rows))


def _trees(subject: Subject, place: TrialPlace) -> Offered:
    return Offered([_tree(subject, place) for _ in range(_TREES)])


def _tree(subject: Subject, place: TrialPlace) -> Tokens:
    """Ordinary tokens whose first branches go along the way; others may be refused."""
    known = subject.vocabulary.ordinary
    ordinary, rest = list(known), [token for token in place.rest if token in known]
    tokens: list[int] = []
    for node in range(_NODES):
        *before, _ = _path(node)
        if node % 2 == 0 and len(before) < len(rest) and not any(one % 2 for one in before):
            tokens.append(rest[len(before)])
            continue
        way = place.consumed + tuple(tokens[one] for one in before)
        near = place.draws.random() < 0.7 and subject.reaches(way)
        allowed = subject.ordinary(subject.mask_at(way)) if near else []
        tokens.append(place.draws.choice(allowed or ordinary))
    return tuple(tokens)


@rule("draft_tree", offer=_trees, shrinks=True)
def draft_tree(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """The masks of a tree of drafts are those of fresh matchers, and the state stays."""
    parents = [_parent(node) for node in range(len(tokens))]
    routes = [tuple(tokens[one] for one in _path(node)) for node in range(-1, len(tokens))]
    return _drafted(
        subject, consumed, routes, lambda calls, rows: calls.draft_tree(tokens, parents, rows)
    )


def _drafted(
    subject: Subject, consumed: Tokens, routes: list[Tokens], write: Callable[[Any, Masks], object]
) -> Complaints:
    """Of each row that is not the mask after its route, where that can be gone."""
    calls, rows = subject.at(consumed), subject.empty_rows(len(routes))
    write(calls, rows)
    for way, row in zip(routes, rows, strict=True):
        ended = any(token in subject.library.ends for token in way)
        if not ended and subject.reaches(consumed + way):
            words = f"the mask after {list(way)} of the draft"
            yield prefixed(words, subject.differ(row, subject.mask_at(consumed + way)))
    yield prefixed("moved by a draft", subject.moved(calls, consumed))


def _goes_back(library: Library) -> str:
    calls = library.fresh()
    return "" if calls.rollback or calls.clone else "no rollback and no clone"


@rule(offer=_trees, applies=_goes_back, shrinks=True)
def branches(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """Gone through branch by branch, refused and rolled back, a matcher is where it was."""
    return _walked(subject, subject.at(consumed), consumed, tokens, -1)


def _walked(
    subject: Subject, calls: LibraryCalls, here: Tokens, tokens: Tokens, node: int
) -> Complaints:
    """One matcher goes through the tree, depth first, and back after each token."""
    for child in range(2 * node + 2, min(2 * node + 4, len(tokens))):
        token = tokens[child]
        onward = calls if calls.rollback or calls.clone is None else calls.clone()
        taken = _taken(subject, onward, token)
        if taken != _taken(subject, subject.at(here), token):
            which = "taken" if taken else "refused"
            yield f"{subject.named(token)} is {which} amid a draft, and not by a fresh matcher"
            return
        if taken:
            yield from _walked(subject, onward, (*here, token), tokens, child)
            if onward is calls and calls.rollback and calls.rollback(1) is False:
                yield f"{subject.named(token)} is not rolled back"
        word = "taken and rolled back" if taken else "refused"
        yield prefixed(f"{subject.named(token)} was {word}", subject.moved(calls, here))


def _taken(subject: Subject, calls: LibraryCalls, token: int) -> bool:
    """Whether a token is taken as a server takes drafts, by which a refused one changes nothing."""
    if calls.attempt is not None:
        return calls.attempt(token)
    return allows(subject.mask(calls), token) and calls.consume(token)


@rule("fill_row", offer=lambda *_: Offered([(0,), (1,), (_ROWS - 1,)]))
def row(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """A mask is written to the row that was asked for, whole, and to no other."""
    calls, rows = subject.at(consumed), subject.empty_rows(_ROWS)
    calls.fill_row(rows, tokens[0])
    yield from _misplaced(subject, rows, {tokens[0]: consumed})


@rule("fill_rows")
def rows_at_once(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """Masks of several matchers are written to the rows that were asked for, on any thread."""
    return _at_once(subject, consumed, lambda some, *where: some[0].fill_rows(some, *where))


@rule(applies=lambda library: "no calls of the library's own" if library.by_adapter else "")
def threads(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """Matchers of one schema may be asked for masks on several threads at a time."""

    def write(matchers: list[Any], which: list[int], rows: Masks) -> None:
        rows[which] = 0
        with ThreadPoolExecutor(len(matchers)) as pool:
            list(pool.map(lambda calls, row: calls.mask(rows[row]), matchers, which))

    return _at_once(subject, consumed, write)


def _at_once(
    subject: Subject, consumed: Tokens, write: Callable[[list[Any], list[int], Masks], object]
) -> Complaints:
    """Have the masks of several matchers written, again and again."""
    places = {4: consumed, 0: (), 2: consumed[: len(consumed) // 2], 5: consumed}  # by row
    matchers = [subject.at(way) for way in places.values()]
    for _ in range(_REPEATED):
        rows = subject.empty_rows(_ROWS)
        write(matchers, list(places), rows)
        yield from _misplaced(subject, rows, places)
    for calls, way in zip(matchers, places.values(), strict=True):
        yield prefixed("moved by writing its mask", subject.moved(calls, way))


def _misplaced(subject: Subject, rows: Masks, places: dict[int, Tokens]) -> Complaints:
    """Of each row that does not hold the mask of its place, or was to stay as it was."""
    for row, written in enumerate(rows):
        if row in places:
            words = subject.differ(written, subject.mask_at(places[row]))
            yield prefixed(f"row {row}", words)
        elif not untouched(written):
            yield f"row {row} was written to, and rows {sorted(places)} were asked for"
