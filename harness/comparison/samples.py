"""Samples as evidence: texts that engines write themselves, and to whom each of them is fed.

An engine writes through nothing but its own masks, so that it allows what it writes. A text that
came to its end is fed to every engine in the tokenizer's canonical tokens, its writer among them;
where it is not valid and its writer refuses these tokens, to its writer in those in which it wrote
it. A text without an end is fed to its writer where that proves something.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from harness.comparison.fed_texts import FedText
from harness.comparison.text_feeding import CaseTexts
from harness.completion.rollout import LIMIT, ROLLOUT_OUTCOMES
from harness.completion.text_alterations import alterations, by_name
from harness.engines.requests import Follow, Write
from harness.runs.tables import TEXT_TABLES
from harness.schemas.hints import hints
from harness.schemas.probable_values import in_turn
from harness.validators.judge import INVALID, UNDECIDED, VALID, Ruling
from harness.verdict_kinds import SAMPLE
from harness.workers import wire

SHARED, OWN = "shared", "own"
"""Whether every engine is fed with a text, or its writer alone."""

BATCH = 16
"""Texts that an engine writes in one request, which has a limit of time."""
_FREE = 3 / 8
"""How many of the texts are written freely; the others are alterations of known ones."""
_BASES, _OWN_BASES = 4, 2
"""Texts of which there are alterations: the case's own, and free ones."""
_LONGEST_BASE = 4000
"""Their bytes."""
_ALTERED = 400
"""Alterations that are judged, for an engine to write some of them."""
_ROOM = 12_000
"""Tokens of those that an engine is asked for, taken from all rules in turns."""

_PROVES = ("dead_end", "mask_consume_mismatch")
COMPLETE = "complete"
_STAGE = TEXT_TABLES[SAMPLE]


@dataclass(frozen=True)
class Sample:
    """One text as an engine wrote it.

    Attributes:
        tokens: Its tokens, end of sequence included where it has one.
        text: Its bytes.
    """

    writer: int
    outcome: str
    tokens: tuple[int, ...]
    text: bytes


@dataclass(frozen=True)
class SampleWriters:
    """Has engines write texts.

    Some are written freely (`harness.completion.text_writer`). The others are alterations of valid
    texts (`harness.completion.text_alterations`): the validators say which rule each of them
    breaks, and of every rule, and of the valid ones, an engine writes the first that its masks
    allow to the end, until it wrote as many as it should.

    Args:
        texts: How engines are asked; they stand at the start.
        hints: JSON values of which some are written: `harness.schemas.hints`.
        key: On which all choices depend.
    """

    texts: CaseTexts
    hints: Sequence[tuple[str, str]]
    key: str

    def written(self, engines: Iterable[int], count: int, known: Sequence[FedText]) -> list[Sample]:
        """What engines write, `count` texts each.

        There are alterations of the valid texts that are `known`; where there are none, of the
        valid ones that an engine itself wrote freely.
        """
        freely = math.ceil(count * _FREE)
        free = self._freely(list(engines), freely)
        bases = _bases(known)
        shared = self._groups(bases) if bases else []
        groups = {
            engine: shared if bases else self._groups(self._valid(some))
            for engine, some in free.items()
        }
        asks = {
            engine: Follow(wire.Ragged.of_ints(one.tokens for group in some for one in group), at=0)
            for engine, some in groups.items()
            if some and count > freely
        }
        guided = self.texts.ask(asks, _STAGE)
        found = []
        for engine, some in free.items():
            found += some
            if engine in guided:
                allowed = _allowed(groups[engine], guided[engine].values.tolist())
                found += [
                    Sample(engine, COMPLETE, one.tokens, one.text)
                    for one in islice(allowed, count - freely)
                ]
        return found

    def _freely(self, engines: Sequence[int], count: int) -> dict[int, list[Sample]]:
        """Texts that engines write freely; those that fail have fewer."""
        found: dict[int, list[Sample]] = {engine: [] for engine in engines}
        eos_ids, tokens = self.texts.vocabulary.eos_ids, self.texts.vocabulary.tokens
        for first in range(0, count, BATCH):
            many = min(BATCH, count - first)
            request = Write(list(self.hints), self.key, first, many, LIMIT)
            able = [engine for engine, some in found.items() if len(some) == first]
            asked = self.texts.ask(dict.fromkeys(able, request), _STAGE)
            for engine, answer in asked.items():
                for outcome, ids in zip(answer.outcomes.tolist(), answer.taken.ints(), strict=True):
                    text = b"".join(tokens[one] for one in ids if one not in eos_ids)
                    one = Sample(engine, ROLLOUT_OUTCOMES[outcome], tuple(ids), text)
                    found[engine].append(one)
        return {engine: some for engine, some in found.items() if len(some) == count}

    def _valid(self, samples: Iterable[Sample]) -> list[bytes]:
        """The first of some texts that are valid."""
        texts = list(dict.fromkeys(one.text for one in samples if one.outcome == COMPLETE))
        ruled = zip(texts, self.texts.judge.judge(texts), strict=True)
        fit = (one for one, ruling in ruled if ruling.verdict == VALID)
        return list(islice((one for one in fit if len(one) <= _LONGEST_BASE), _OWN_BASES))

    def _groups(self, bases: Sequence[bytes]) -> list[list[FedText]]:
        """Alterations by the rule that they break; those that break none, likewise."""
        some = alterations(bases, by_name(self.hints), self.key)
        texts = list(islice(some, _ALTERED))
        with self.texts.judge.apart():
            rulings = self.texts.judge.judge(texts)
        by_rule: dict[tuple[int, str, str], list[tuple[bytes, Ruling]]] = {}
        for text, ruling in zip(texts, rulings, strict=True):
            if ruling.verdict in (VALID, INVALID):
                rule = (ruling.verdict, ruling.keyword, ruling.schema_pointer)
                by_rule.setdefault(rule, []).append((text, ruling))
        groups: list[list[FedText]] = [[] for _ in by_rule]
        room = _ROOM
        for turn in zip_longest(*by_rule.values()):
            for group, one in zip(groups, turn, strict=True):
                if one is not None and room > 0:
                    text, ruling = one
                    fed = self.texts.in_tokens(SHARED, text, ruling)
                    room -= len(fed.tokens)
                    group.append(fed)
        return groups


def _allowed(groups: Sequence[Sequence[FedText]], lead: Sequence[int]) -> Iterator[FedText]:
    """Texts that are allowed to their end, of every group in turns; `lead` is how far each is."""
    far = iter(lead)
    mine = [[one for one in group if next(far) == len(one.tokens)] for group in groups]
    return in_turn(mine)


def _bases(known: Iterable[FedText]) -> list[bytes]:
    """Those of some fed texts of which there are alterations."""
    fit = (one.text for one in known if one.ruling.verdict == VALID)
    return list(islice((one for one in fit if len(one) <= _LONGEST_BASE), _BASES))


@dataclass(frozen=True)
class SampleFeeder:
    """Feeds what engines wrote, and notes what that proves."""

    texts: CaseTexts

    def try_(
        self, samples: Sequence[Sample], engines: Sequence[int], known: Iterable[bytes]
    ) -> list[FedText]:
        """Feed samples to `engines`; texts that are `known` were fed before.

        Returns:
            What all engines were fed with.
        """
        shared, writers = self._shared(samples, frozenset(known))
        numbered = dict(enumerate(shared.values()))
        self.texts.proofs.texts(
            SAMPLE,
            numbered,
            writers=[writers[text] for text in shared],
            outcome=[COMPLETE] * len(shared),
        )
        taken = self.texts.feed(SAMPLE, dict.fromkeys(engines, numbered))
        allowed = {
            (engine, numbered[number].text)
            for engine, probes in taken.items()
            for number, probed in probes.items()
            if probed.allowed == len(numbered[number].tokens)
        }
        own = [
            (one, self._as_written(one, shared))
            for one in dict.fromkeys(samples)
            if (one.writer in taken or not shared)
            and (one.outcome != COMPLETE or self._is_open(one, shared, allowed))
        ]
        rows = {len(numbered) + at: fed for at, (_, fed) in enumerate(own)}
        self.texts.proofs.texts(
            SAMPLE,
            rows,
            writers=[1 << one.writer for one, _ in own],
            outcome=[one.outcome for one, _ in own],
        )
        mine: dict[int, dict[int, FedText]] = {}
        for (number, fed), (one, _) in zip(rows.items(), own, strict=True):
            if one.outcome in (COMPLETE, *_PROVES):
                mine.setdefault(one.writer, {})[number] = fed
        self.texts.feed(SAMPLE, mine)
        return list(shared.values())

    def _shared(
        self, samples: Sequence[Sample], known: frozenset[bytes]
    ) -> tuple[dict[bytes, FedText], dict[bytes, int]]:
        """The texts that every engine is fed with, and who wrote each, as a set of engines."""
        writers: dict[bytes, int] = {}
        for one in samples:
            if one.outcome == COMPLETE and one.text not in known:
                writers[one.text] = writers.get(one.text, 0) | 1 << one.writer
        rulings = self.texts.judge.judge(list(writers))
        return {
            text: self.texts.in_tokens(SHARED, text, ruling)
            for text, ruling in zip(writers, rulings, strict=True)
        }, writers

    @staticmethod
    def _is_open(
        one: Sample, shared: Mapping[bytes, FedText], allowed: set[tuple[int, bytes]]
    ) -> bool:
        """Whether a text that is not valid is refused to its writer in other tokens."""
        fed = shared.get(one.text)
        return (
            fed is not None
            and fed.ruling.verdict != VALID
            and fed.tokens != one.tokens
            and (one.writer, one.text) not in allowed
        )

    def _as_written(self, one: Sample, shared: Mapping[bytes, FedText]) -> FedText:
        """A text in the tokens in which it was written."""
        if one.outcome == COMPLETE:
            return FedText(OWN, one.text, one.tokens, False, shared[one.text].ruling)
        return FedText(OWN, one.text, one.tokens, False, Ruling(UNDECIDED, one.outcome), ends=False)


def feed_samples(
    texts: CaseTexts, key: str, count: int, schema: Any, engines: Sequence[int]
) -> None:
    """Have engines write `count` texts each, and feed all with them."""
    writers = SampleWriters(texts, hints(schema), key)
    samples = writers.written(texts.at_start(engines, _STAGE), count, texts.instances)
    up = [one for one in engines if texts.panel.up(one)]
    known = [one.text for one in texts.instances]
    texts.samples = SampleFeeder(texts).try_(samples, up, known)
