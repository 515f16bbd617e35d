"""Rules about masks as servers have them written: drafts of tokens, rows of a batch, threads.

The tokens of a draft's trial say a tree: the first two stand at the place, the next two after the
first token, and so on (`parent`). So fewer of them are a tree, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from harness.protocol import Library, LibraryCalls, Masks, allows
from harness.protocol_checks.state_rules import drafts as plain_drafts
from harness.protocol_checks.trial import (
    Complaints,
    Offered,
    Subject,
    Tokens,
    TrialPlace,
    prefixed,
    rule,
    untouched,
)

_NODES = 10
"""Tokens of a tree."""
_TREES = 2
"""Trees that are tried at a place."""
_ROWS = 6
_REPEATED = 4
"""How often masks are written on several threads in one trial."""


def parent(node: int) -> int:
    """After which token of a tree another stands; -1 for the place itself."""
    return node // 2 - 1


def _path(node: int) -> list[int]:
    """The nodes that lead to a node, itself the last."""
    return [] if node < 0 else [*_path(parent(node)), node]


def _strayed(subject: Subject, place: TrialPlace) -> Offered:
    """Drafts, and each with one token amid that may be refused there."""
    trials: list[Tokens] = []
    for draft in plain_drafts(subject, place).trials:
        cut = place.draws.randrange(len(draft))
        stray = place.draws.randrange(subject.vocabulary.size)
        trials += [draft, (*draft[:cut], stray, *draft[cut:])]
    return Offered(list(dict.fromkeys(trials)))


@rule("draft_masks", offer=_strayed, shrinks=True)
def drafts(subject: Subject, consumed: Tokens, tokens: Tokens) -> Complaints:
    """The masks along a draft are those of a fresh matcher, and the state stays."""
    calls, rows = subject.at(consumed), subject.empty_rows(len(tokens) + 1)
    calls.draft_masks(tokens, rows)
    routes = [tokens[:count] for count in range(len(tokens) + 1)]
    yield from _differing(subject, consumed, routes, rows)
    yield prefixed("moved by a draft", subject.moved(calls, consumed))


def _trees(subject: Subject, place: TrialPlace) -> Offered:
    """Trees of ordinary tokens whose first branches go along the way; others may be refused."""
    return Offered([_tree(subject, place) for _ in range(_TREES)])


def _tree(subject: Subject, place: TrialPlace) -> Tokens:
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
    calls, rows = subject.at(consumed), subject.empty_rows(len(tokens) + 1)
    calls.draft_tree(tokens, [parent(node) for node in range(len(tokens))], rows)
    routes = [tuple(tokens[one] for one in _path(node)) for node in range(-1, len(tokens))]
    yield from _differing(subject, consumed, routes, rows)
    yield prefixed("moved by a draft", subject.moved(calls, consumed))


def _differing(
    subject: Subject, consumed: Tokens, routes: Iterable[Tokens], rows: Masks
) -> Complaints:
    """Of each row that is not the mask after its route, where that can be gone."""
    for way, row in zip(routes, rows, strict=True):
        ended = any(token in subject.library.ends for token in way)
        if not ended and subject.reaches(consumed + way):
            words = f"the mask after {list(way)} of the draft"
            yield prefixed(words, subject.differ(row, subject.mask_at(consumed + way)))


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


def _several(consumed: Tokens) -> dict[int, Tokens]:
    """Where several matchers stand, by the row of each."""
    return {4: consumed, 0: (), 2: consumed[: len(consumed) // 2], 5: consumed}


@rule("fill_rows")
def rows_at_once(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """Masks of several matchers are written to the rows that were asked for, on any thread."""
    places = _several(consumed)
    matchers = [subject.at(way) for way in places.values()]
    for _ in range(_REPEATED):
        rows = subject.empty_rows(_ROWS)
        matchers[0].fill_rows(matchers, list(places), rows)
        yield from _misplaced(subject, rows, places)
    yield from _moved(subject, matchers, places.values())


@rule(applies=lambda library: "no calls of the library's own" if library.by_adapter else "")
def threads(subject: Subject, consumed: Tokens, _tokens: Tokens) -> Complaints:
    """Matchers of one schema may be asked for masks on several threads at a time."""
    places = _several(consumed)
    matchers = [subject.at(way) for way in places.values()]
    with ThreadPoolExecutor(len(matchers)) as pool:
        for _ in range(_REPEATED):
            rows = np.zeros((_ROWS, subject.vocabulary.words), dtype=np.uint32)
            tasks = [
                pool.submit(calls.mask, rows[row])
                for row, calls in zip(places, matchers, strict=True)
            ]
            for task in tasks:
                task.result()
            for row, way in places.items():
                yield subject.differ(rows[row], subject.mask_at(way))
    yield from _moved(subject, matchers, places.values())


def _misplaced(subject: Subject, rows: Masks, places: dict[int, Tokens]) -> Complaints:
    """Of each row that does not hold the mask of its place, or was to stay as it was."""
    for row, written in enumerate(rows):
        if row in places:
            words = subject.differ(written, subject.mask_at(places[row]))
            yield prefixed(f"row {row}", words)
        elif not untouched(written):
            yield f"row {row} was written to, and rows {sorted(places)} were asked for"


def _moved(
    subject: Subject, matchers: Sequence[LibraryCalls], routes: Iterable[Tokens]
) -> Complaints:
    for calls, way in zip(matchers, routes, strict=True):
        yield prefixed("moved by writing its mask", subject.moved(calls, way))
