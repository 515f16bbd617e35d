"""The challenger: what JSON itself allows, held against engines that are all of one mind.

Where engines agree nobody disputes a token, and what all get wrong stays unseen. The challenger
allows every token that goes on to some JSON text, so it opens two further disputes at a position:
about tokens that all engines forbid and it allows, and about those that all allow though no JSON
text goes on so. It is never on trial: it is no engine, and nothing is asked, said or counted of it
but that it has allowed a completion that is valid.

All of this is apart from what engines dispute among themselves: it has continuations of its own, a
patience of its own with engines and validators that fail, and looks at masks again by itself. So
what is proven without the challenger is proven with it, to the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from harness.comparison.disputes import Dispute, draw
from harness.comparison.findings import Status, judge, rejections
from harness.comparison.json_masks import json_masks, spaced
from harness.comparison.position_resolution import PositionResolution
from harness.comparison.resolvers import Resolver
from harness.comparison.walk import CHALLENGER_NUMBER, Position
from harness.completion.continuations import Context, Continuations
from harness.engines.panel import Panel
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import Mode, State
from harness.jsontext.usual_spellings import usual_spellings
from harness.protocol import Mask, allows, token_ids
from harness.schemas.variants import in_turn
from harness.validators.judge import Judge
from harness.workers.outcomes import Failure

MAX_FAILURES = 3
"""An engine whose host failed this often over challenges of a case is asked no more about them."""

ATTEMPTS = 2
"""Invalid completions after which a token that the challenger alone allows is left."""

Probable = Mapping[int, Sequence[bytes]]
"""Tokens after which a valid text is probable, each with what would follow it."""


@dataclass(frozen=True)
class Challenge:
    """What the challenger disputes at a position; `challenged` has it among the engines."""

    position: Position
    challenged: Position
    context: Context
    probable: Probable
    disputes: Sequence[Dispute]


@dataclass
class Challenges:
    """What the challenger does in one case; `cap` tokens are resolved per dispute, None: all.

    Of those that all engines forbid up to half are chosen for their chance of being valid.
    """

    cap: int | None
    panel: Panel
    judge: Judge
    vocabulary: Vocabulary
    schema: Any
    _known: Continuations | None = None
    _confirmed: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    _failures: dict[int, list[Failure]] = field(default_factory=dict)

    def at(self, position: Position, state: State, *, ends: bool) -> Challenge:
        """What the challenger disputes at a position.

        With `ends` the end of generation, too: what all say of it is not proven wrong already.
        """
        if self._known is None or self._known.reference != position.reference:
            self._known = Continuations(self.schema, position.reference)
        context = self._known.at(position.offset)
        vocabulary, disputes, challenged = self.vocabulary, [], position
        probable: Probable = {}
        json = json_masks(vocabulary).at(state)
        # whether another reserved token may come as the text it is spelled as JSON does not say
        sides = vocabulary.ordinary_mask | vocabulary.eos_mask if ends else vocabulary.ordinary_mask
        forbidden = json & ~np.bitwise_or.reduce(position.masks)
        forbidden &= sides
        if forbidden.any():
            probable = probable_tokens(vocabulary, forbidden, state, context, position)
            disputes.append(dispute_forbidden(vocabulary, self.cap, position, forbidden, probable))
            challenged = replace(
                position,
                engines=(*position.engines, CHALLENGER_NUMBER),
                masks=np.concatenate([position.masks, forbidden[None, :]]),
            )
        allowed = np.bitwise_and.reduce(position.masks) & ~json & sides
        if allowed.any():
            tokens = token_ids(allowed, vocabulary.size)
            sample = draw(tokens, self.cap, vocabulary.eos_ids, f"{position.key}/allowed")
            disputes.append(Dispute(position.engines, (), tokens, sample))
        return Challenge(position, challenged, context, probable, disputes)

    def resolve(
        self,
        challenge: Challenge,
        resolver: Resolver,
        down: Mapping[int, Failure],
        stand_by: Callable[[], None],
    ) -> Iterator[tuple[Dispute, PositionResolution, dict[int, Failure]]]:
        """What is proven in the disputes of a challenge, one after the other, and who failed.

        `down` is what has ended engines at this position; `stand_by` brings the others to it.
        """
        failures = {
            engine: failed[-1]
            for engine, failed in self._failures.items()
            if len(failed) >= MAX_FAILURES
        }
        failures |= down
        with self.judge.apart():
            for dispute in challenge.disputes:
                resolution = PositionResolution(
                    challenge.position if dispute.accepters else challenge.challenged,
                    dispute.drawn,
                    self.panel,
                    self.judge,
                    self.vocabulary,
                    failures,
                    valid_completion_exonerates=resolver.valid_completion_exonerates,
                )
                if dispute.accepters:
                    stand_by()
                    self._resolve_allowed(resolution, resolver, challenge.context)
                else:
                    resolve_forbidden(resolution, challenge.context, challenge.probable)
                    if refused := rejections(judge(resolution.findings)):
                        stand_by()
                        resolution.find_refused_bytes(refused)
                new = {
                    engine: failure
                    for engine, failure in resolution.failures.items()
                    if engine not in failures
                }
                for engine, failure in new.items():
                    self._failures.setdefault(engine, []).append(failure)
                failures |= new
                yield dispute, resolution, new

    def _resolve_allowed(
        self, resolution: PositionResolution, resolver: Resolver, context: Context
    ) -> None:
        """Fill the findings about tokens that all engines allow.

        Where a mask forbids what its engine was found to allow, nothing rests on that engine.
        """
        resolver.resolve(resolution, context)
        for one in resolution.look_again(self._confirmed):
            resolution.disown(one.row, Status.MASK_CONSUME_MISMATCH)
            if one.consumes:
                resolution.note_flaw(one.row, one.token, "mask_consume_mismatch", one.tokens)
        resolution.locate(self.schema)


def dispute_forbidden(
    vocabulary: Vocabulary, cap: int | None, position: Position, mask: Mask, probable: Probable
) -> Dispute:
    """The dispute about the tokens of `mask`, which all engines forbid."""
    tokens = token_ids(mask, vocabulary.size)
    chosen = list(probable) if cap is None else list(probable)[: cap // 2]
    always = (*position.path, *vocabulary.eos_ids, *chosen)
    sample = draw(tokens, cap, always, f"{position.key}/forbidden")
    return Dispute((), position.engines, tokens, sample)


def probable_tokens(
    vocabulary: Vocabulary, mask: Mask, state: State, context: Context, position: Position
) -> Probable:
    """The tokens of `mask` that begin texts which are probably valid, likeliest first.

    These are the rest of the reference in its usual spellings, and what the schema makes probable:
    its names, values and bounds.
    """
    leads = [b""]  # to begin with, for more names than continuations have of themselves
    if state.mode in (Mode.KEY, Mode.KEY_OR_CLOSE):
        leads.append(b'"')
    elif state.mode is Mode.AFTER and state.stack.endswith(b"{"):
        leads.append(b', "')
    made = [lead + one for lead in leads for one in context.candidates(lead)]
    usual = usual_spellings(position.reference, position.offset)
    texts = in_turn([[one[position.offset :] for one in usual], made])
    found: dict[int, list[bytes]] = {}
    chains = {one: vocabulary.starts(one)[::-1] for one in filter(None, texts)}
    for tokens in zip_longest(*chains.values(), fillvalue=-1):
        for text, token in zip(chains, tokens, strict=True):
            if token >= 0 and allows(mask, token):
                found.setdefault(token, []).append(text[len(vocabulary.tokens[token]) :])
    return found


def resolve_forbidden(resolution: PositionResolution, context: Context, probable: Probable) -> None:
    """Look for valid completions of tokens that the challenger alone allows.

    After `probable` tokens with what is probable there. No engine need be asked, and nothing is
    concluded where none is found.
    """
    tokens = resolution.findings.tokens
    ends, vocabulary = resolution.findings.ends, resolution.vocabulary
    known = np.fromiter((token in probable for token in tokens.tolist()), bool, len(tokens))
    others = np.flatnonzero(~known & ~ends)
    list_of = np.full(len(tokens), -1, dtype=np.int32)
    written = [resolution.token_bytes[column] for column in others.tolist()]
    if context.in_string:
        list_of[others], texts = context.group(written, vocabulary.plain_first[tokens[others]])
    else:
        distinct = {spaced(text): None for text in written}
        number, texts = context.group(list(distinct))
        of = dict(zip(distinct, number.tolist(), strict=True))
        list_of[others] = [of[spaced(text)] for text in written]
    lists = [[resolution.number(text, "reference") for text in one[:ATTEMPTS]] for one in texts]
    for column in np.flatnonzero(known).tolist():
        list_of[column] = len(lists)
        completions = probable[int(tokens[column])][:ATTEMPTS]
        lists.append([resolution.number(text, "reference") for text in completions])
    if ends.any():
        list_of[ends] = len(lists)
        lists.append([resolution.number(b"", "reference", ())])
    resolution.attempt(list_of, lists, ATTEMPTS)
