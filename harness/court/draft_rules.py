"""Rules about drafts, as in speculative decoding: a chain of tokens, or a tree of them.

The tokens of a trial say a tree: the first two stand behind the place, the next two behind the
first token, and so on (`parent`). So fewer of them are a tree, too.
"""

from __future__ import annotations

from harness.court.state_rules import drafts
from harness.court.trial import Offered, Rule, Subject, Tokens, TrialPlace, empty_rows
from harness.protocol import Library, LibraryCalls, Masks, allows, token_ids

_NODES = 10
"""Tokens of a tree."""
_TREES = 2
"""Trees that are tried at a place."""


def parent(node: int) -> int:
    """Behind which token of a tree one stands; -1 for the place itself."""
    return node // 2 - 1


def _path(node: int) -> list[int]:
    """The nodes that lead to one, itself the last."""
    return [] if node < 0 else [*_path(parent(node)), node]


def _strays(subject: Subject, place: TrialPlace) -> Offered:
    """Drafts, and each with one token amid that may be refused there."""
    trials: list[Tokens] = []
    for draft in drafts(subject, place).trials:
        cut = place.draws.randrange(len(draft))
        stray = place.draws.randrange(subject.vocabulary.size)
        trials += [draft, (*draft[:cut], stray, *draft[cut:])]
    return Offered(list(dict.fromkeys(trials)))


def _trees(subject: Subject, place: TrialPlace) -> Offered:
    """Trees of ordinary tokens whose first branches go along the way; others may be refused."""
    return Offered([_tree(subject, place) for _ in range(_TREES)])


def _tree(subject: Subject, place: TrialPlace) -> Tokens:
    ordinary = list(subject.vocabulary.ordinary)
    rest = [token for token in place.rest if token in subject.vocabulary.ordinary]
    tokens: list[int] = []
    for node in range(_NODES):
        *before, _ = _path(node)
        if node % 2 == 0 and len(before) < len(rest) and not any(one % 2 for one in before):
            tokens.append(rest[len(before)])
            continue
        way = place.consumed + tuple(tokens[one] for one in before)
        allowed = []
        if place.draws.random() < 0.7 and subject.reaches(way):
            mask = subject.mask_at(way) & subject.vocabulary.ordinary_mask
            allowed = token_ids(mask, subject.vocabulary.size).tolist()
        tokens.append(place.draws.choice(allowed or ordinary))
    return tuple(tokens)


def _drafts(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.draft_masks is not None
    rows = empty_rows(subject, len(tokens) + 1)
    calls.draft_masks(tokens, rows)
    routes = [tokens[:count] for count in range(len(tokens) + 1)]
    return _differing(subject, consumed, routes, rows) or _moved(subject, calls, consumed)


def _draft_tree(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    calls = subject.at(consumed)
    assert calls.draft_tree is not None
    rows = empty_rows(subject, len(tokens) + 1)
    calls.draft_tree(tokens, [parent(node) for node in range(len(tokens))], rows)
    routes = [tuple(tokens[one] for one in _path(node)) for node in range(-1, len(tokens))]
    return _differing(subject, consumed, routes, rows) or _moved(subject, calls, consumed)


def _differing(subject: Subject, consumed: Tokens, routes: list[Tokens], rows: Masks) -> str | None:
    """A complaint about a row that is not the mask behind its route, where that can be gone."""
    for way, row in zip(routes, rows, strict=True):
        ended = any(token in subject.library.ends for token in way)
        if ended or not subject.reaches(consumed + way):
            continue
        if told := subject.differ(row, subject.mask_at(consumed + way)):
            return f"the mask behind {list(way)} of the draft: {told}"
    return None


def _moved(subject: Subject, calls: LibraryCalls, consumed: Tokens) -> str | None:
    told = subject.differ(subject.mask(calls), subject.mask_at(consumed))
    return f"moved by a draft: {told}" if told else None


def _branches(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    """One matcher goes through the tree, depth first, and back behind each token."""
    return _walked(subject, subject.at(consumed), consumed, tokens, -1)


def _walked(
    subject: Subject, calls: LibraryCalls, here: Tokens, tokens: Tokens, node: int
) -> str | None:
    for child in range(2 * node + 2, min(2 * node + 4, len(tokens))):
        token = tokens[child]
        behind = calls if calls.rollback or calls.clone is None else calls.clone()
        taken = _taken(subject, behind, token)
        if taken != _taken(subject, subject.at(here), token):
            told = "taken" if taken else "refused"
            return f"{subject.named(token)} is {told} amid a draft, and not by a fresh matcher"
        if taken:
            if complaint := _walked(subject, behind, (*here, token), tokens, child):
                return complaint
            if behind is calls and calls.rollback and calls.rollback(1) is False:
                return f"{subject.named(token)} is not rolled back"
        if told := subject.differ(subject.mask(calls), subject.mask_at(here)):
            word = "taken and rolled back" if taken else "refused"
            return f"{subject.named(token)} was {word}: {told}"
    return None


def _taken(subject: Subject, calls: LibraryCalls, token: int) -> bool:
    """Whether a token is taken as a server takes drafts, by which a refused one changes nothing."""
    if calls.attempt is not None:
        return calls.attempt(token)
    return allows(subject.mask(calls), token) and calls.consume(token)


def _goes_back(library: Library) -> str:
    calls = library.fresh()
    return "" if calls.rollback or calls.clone else "no rollback and no clone"


DRAFT_RULES = (
    Rule(
        "drafts",
        "the masks along a draft are those of a fresh matcher, and the state stays",
        ("draft_masks",),
        _strays,
        _drafts,
        shrinks=True,
    ),
    Rule(
        "draft_tree",
        "the masks of a tree of drafts are those of fresh matchers, and the state stays",
        ("draft_tree",),
        _trees,
        _draft_tree,
        shrinks=True,
    ),
    Rule(
        "branches",
        "gone through branch by branch, refused and rolled back, a matcher is where it was",
        (),
        _trees,
        _branches,
        _goes_back,
        shrinks=True,
    ),
)
