"""Samples as evidence: texts that engines write themselves, and to whom each of them is fed.

An engine writes through nothing but its own masks, so that it allows what it writes. A text that
came to its end is fed to every engine in the tokenizer's canonical tokens, its writer among them;
where it is not valid and its writer refuses these tokens, to its writer in those in which it wrote
it. A text without an end is fed to its writer where that proves something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.comparison.fed_texts import FedText, in_canonical_tokens
from harness.comparison.text_feeding import TextFeeding
from harness.comparison.verdict_record import VerdictNotes
from harness.completion.rollout import LIMIT, ROLLOUT_OUTCOMES
from harness.engines.requests import Write
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.vocabulary import Vocabulary
from harness.validators.judge import UNDECIDED, VALID, Judge, Ruling
from harness.verdict_kinds import SAMPLE
from harness.workers import wire

SHARED, OWN = "shared", "own"
"""Whether every engine is fed with a text, or its writer alone."""

BATCH = 16
"""Texts that an engine writes in one request, which has a limit of time."""
_BASES = 4
_LONGEST_BASE = 300
"""Tokens of a text from which others depart; the rest of the limit is for what is written."""

_PROVES = ("dead_end", "mask_lies")
COMPLETE = "complete"


@dataclass(frozen=True)
class Sample:
    """One text as an engine wrote it.

    Attributes:
        writer: The engine.
        outcome: One of `harness.completion.rollout.ROLLOUT_OUTCOMES`.
        tokens: Its tokens, end of sequence included where it has one.
        text: Its bytes.
    """

    writer: int
    outcome: str
    tokens: tuple[int, ...]
    text: bytes


@dataclass(frozen=True)
class Draft:
    """What texts are written from.

    Attributes:
        key: On which all choices depend.
        count: Texts of each engine.
        bases: Texts from which others depart, as token ids.
        hints: JSON values of which some are written: `harness.jsonschemas.hints`.
    """

    key: str
    count: int
    bases: Sequence[Sequence[int]] = ()
    hints: Sequence[tuple[str, str]] = ()


def bases_of(texts: Iterable[FedText]) -> list[tuple[int, ...]]:
    """Those of some fed texts from which samples depart, without the end of sequence."""
    fit = [
        one.tokens[:-1]
        for one in texts
        if one.ruling.verdict == VALID and len(one.tokens) <= _LONGEST_BASE
    ]
    return list(dict.fromkeys(fit))[:_BASES]


def write(
    feeding: TextFeeding, engines: Iterable[int], draft: Draft, vocabulary: Vocabulary
) -> list[Sample]:
    """Have engines, which stand at the start, write texts; those of one engine after another."""
    found: dict[int, list[Sample]] = {engine: [] for engine in engines}
    for first in range(0, draft.count, BATCH):
        asks = {engine: _request(draft, first, found[engine]) for engine in found}
        for engine, answer in feeding.ask(asks).items():
            for outcome, tokens in zip(answer.outcomes.tolist(), answer.taken.ints(), strict=True):
                ids = tuple(tokens)
                text = b"".join(
                    vocabulary.tokens[one] for one in ids if one not in vocabulary.eos_ids
                )
                found[engine].append(Sample(engine, ROLLOUT_OUTCOMES[outcome], ids, text))
        found = {engine: some for engine, some in found.items() if len(some) > first}
    return [one for some in found.values() for one in some]


def _request(draft: Draft, first: int, before: Sequence[Sample]) -> Write:
    own = [one.tokens[:-1] for one in before if one.outcome == COMPLETE]
    count = min(BATCH, draft.count - first)
    return Write(
        wire.Ragged.of_ints([*draft.bases, *own]), list(draft.hints), draft.key, first, count, LIMIT
    )


class SampleCourt:
    """Feeds what engines wrote, and notes what that proves.

    Args:
        feeding: How engines are fed.
        proofs: Where what is proven goes.
        vocabulary: The shared one.
        canonical: Its tokenizer, where it has one.
        judge: The validators, open for the schema.
    """

    def __init__(
        self,
        feeding: TextFeeding,
        proofs: VerdictNotes,
        vocabulary: Vocabulary,
        canonical: Canonical | None,
        judge: Judge,
    ) -> None:
        self._feeding = feeding
        self._proofs = proofs
        self._vocabulary = vocabulary
        self._canonical = canonical
        self._judge = judge

    def try_(
        self, samples: Sequence[Sample], engines: Sequence[int], known: Iterable[bytes]
    ) -> list[FedText]:
        """Feed samples to `engines`; texts that are `known` were fed before.

        Returns:
            What all engines were fed with.
        """
        shared, writers = self._shared(samples, frozenset(known))
        numbered = dict(enumerate(shared.values()))
        self._proofs.texts(
            SAMPLE,
            numbered,
            writers=[writers[text] for text in shared],
            outcome=[COMPLETE] * len(shared),
        )
        taken = self._feeding.feed(dict.fromkeys(engines, numbered))
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
        self._proofs.texts(
            SAMPLE,
            rows,
            writers=[1 << one.writer for one, _ in own],
            outcome=[one.outcome for one, _ in own],
        )
        mine: dict[int, dict[int, FedText]] = {}
        for (number, fed), (one, _) in zip(rows.items(), own, strict=True):
            if one.outcome in (COMPLETE, *_PROVES):
                mine.setdefault(one.writer, {})[number] = fed
        self._feeding.feed(mine)
        return list(shared.values())

    def _shared(
        self, samples: Sequence[Sample], known: frozenset[bytes]
    ) -> tuple[dict[bytes, FedText], dict[bytes, int]]:
        """The texts that every engine is fed with, and who wrote each, as a set of engines."""
        writers: dict[bytes, int] = {}
        for one in samples:
            if one.outcome == COMPLETE and one.text not in known:
                writers[one.text] = writers.get(one.text, 0) | 1 << one.writer
        rulings = self._judge.judge(list(writers))
        return {
            text: in_canonical_tokens(SHARED, text, ruling, self._vocabulary, self._canonical)
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
