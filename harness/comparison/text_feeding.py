"""Feed texts to engines from the start, each as far as it is taken, and note what that proves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from harness.comparison.fed_texts import FedText, spelled_out
from harness.comparison.verdict_record import VerdictNotes
from harness.engines.panel import Panel
from harness.engines.requests import Probe
from harness.engines.text_probe import Probed
from harness.inputs.vocabulary import Vocabulary
from harness.runs.tables import TEXT_TABLES
from harness.workers import wire
from harness.workers.commands import A, Request
from harness.workers.outcomes import Crashed, Failure

Texts = Mapping[int, FedText]
"""Texts by the numbers under which they are stored."""

SLOW_TOKENS = 2_000
"""So many tokens at a time are fed to an engine whose masks are slow, the shortest texts first."""

SPARED = 3
"""So many texts at which an engine raises are passed over; behind these it is asked no more."""


class TextFeeding:
    """What is asked of engines about whole texts of one kind of evidence.

    Args:
        failed: Is told of engines that fail: which, how, and at what stage.
        stage: That of failures; the table of the texts unless it is given.
    """

    def __init__(
        self,
        evidence: str,
        panel: Panel,
        vocabulary: Vocabulary,
        proofs: VerdictNotes,
        failed: Callable[[int, Failure, str], None],
        stage: str = "",
    ) -> None:
        self._evidence = evidence
        self._panel = panel
        self._vocabulary = vocabulary
        self._proofs = proofs
        self._failed = failed
        self._stage = stage or TEXT_TABLES[evidence]

    def at_start(self, engines: Iterable[int]) -> list[int]:
        """Those of some engines that stand at the start of a text."""
        up = []
        for engine in engines:
            failure = self._panel.recover_start(engine)
            if failure is None:
                up.append(engine)
            else:
                self._failed(engine, failure, self._stage)
        return up

    def ask(self, asks: Mapping[int, Request[A]]) -> dict[int, A]:
        """What engines answer; those that fail are noted, and left out."""
        found = {}
        for engine, answer in self._panel.ask(asks).items():
            if isinstance(answer, Failure):
                self._failed(engine, answer, self._stage)
            else:
                found[engine] = answer
        return found

    def feed(self, texts: Mapping[int, Texts]) -> dict[int, dict[int, Probed]]:
        """Feed engines with texts, by engine; what those did with each that did not fail.

        Those with slow masks get as many texts as `SLOW_TOKENS` make.
        """
        texts = {engine: self._affordable(engine, some) for engine, some in texts.items()}
        answers = self._probed(
            {one: [fed.tokens for fed in some.values()] for one, some in texts.items() if some}
        )
        found: dict[int, list[Probed]] = {}
        for engine, some in answers.items():
            pairs = zip(texts[engine].items(), some, strict=True)
            kept = [(text, probed) for text, probed in pairs if probed is not None]
            texts[engine] = dict(text for text, _ in kept)
            found[engine] = [probed for _, probed in kept]
        asks = {
            engine: spelled_out(list(texts[engine].values()), probes, self._vocabulary)
            for engine, probes in found.items()
        }
        again = self._probed(asks)
        for engine, probes in found.items():
            spelled, bytewise = asks[engine], again.get(engine, [None] * len(probes))
            refused_at = [
                byte.allowed - one.allowed if byte and len(text) > one.allowed else -1
                for text, one, byte in zip(spelled, probes, bytewise, strict=True)
            ]
            self._proofs.of_texts(self._evidence, engine, texts[engine], probes, refused_at)
        return {
            engine: dict(zip(texts[engine], probes, strict=True))
            for engine, probes in found.items()
        }

    def _affordable(self, engine: int, texts: Texts) -> Texts:
        if not self._panel.specs[engine].slow_masks:
            return texts
        by_length = sorted(texts, key=lambda number: len(texts[number].tokens))
        sums = accumulate(len(texts[number].tokens) for number in by_length)
        chosen = {
            number for number, sum_ in zip(by_length, sums, strict=True) if sum_ <= SLOW_TOKENS
        }
        return {number: one for number, one in texts.items() if number in chosen}

    def _probed(
        self, texts: Mapping[int, Sequence[Sequence[int]]]
    ) -> dict[int, list[Probed | None]]:
        """What engines did with texts; None of those at which an engine raised an exception."""
        asks = {engine: _probe(some) for engine, some in texts.items()}
        found: dict[int, list[Probed | None]] = {}
        for engine, answer in self._panel.ask(asks).items():
            if not isinstance(answer, Failure):
                found[engine] = [*answer.each()]
            elif isinstance(answer, Crashed) and answer.signal is None and len(texts[engine]) > 1:
                found[engine] = list(self._singly(engine, texts[engine]))
            else:
                self._failed(engine, answer, self._stage)
        return found

    def _singly(self, engine: int, texts: Sequence[Sequence[int]]) -> Iterator[Probed | None]:
        """What an engine does with texts that are fed one by one, until it failed too often."""
        failed = 0
        for text in texts:
            answers = {}
            if failed < SPARED and self.at_start([engine]):
                answers = self.ask({engine: _probe([text])})
                failed += not answers
            yield answers[engine].each()[0] if answers else None


def _probe(texts: Sequence[Sequence[int]]) -> Probe:
    return Probe(wire.Ragged.of_ints(texts))
