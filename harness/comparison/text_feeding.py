"""The whole texts of one case, fed to engines from the start, each as far as it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from harness.comparison.verdict_record import FedText, VerdictNotes
from harness.engines.panel import Panel
from harness.engines.requests import Probe
from harness.engines.text_probe import Probed
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.runs.tables import TEXT_TABLES
from harness.validators.judge import INVALID, UNDECIDED, VALID, Judge, Ruling
from harness.verdict_kinds import INSTANCE
from harness.workers import wire
from harness.workers.outcomes import Crashed, Failure
from harness.workers.wire import A, Request

Texts = Mapping[int, FedText]
"""Texts by the numbers under which they are stored."""

SLOW_TOKENS = 4_000
"""So many tokens at a time are fed to an engine with slow texts, the shortest first."""

SPARED = 3
"""So many texts at which an engine raises are passed over; after these it is asked no more."""


@dataclass
class CaseTexts:
    """Feeds the texts of one case, a kind after the other, and notes what that proves.

    `failed` is told of engines that fail: which, how, and at what stage. `instances` are those that
    were fed, the case's own first; `samples` what engines wrote and all were fed with.
    """

    panel: Panel
    judge: Judge
    vocabulary: Vocabulary
    canonical: Canonical | None
    proofs: VerdictNotes
    failed: Callable[[int, Failure, str], None]
    instances: list[FedText] = field(default_factory=list)
    samples: list[FedText] = field(default_factory=list)

    def in_tokens(self, label: str, text: bytes, ruling: Ruling) -> FedText:
        """A text in the tokenizer's own tokens; in some others where the vocabulary has none."""
        tokens = self.canonical.tokens(text) if self.canonical is not None else None
        encoded = self.vocabulary.encode_greedy(text) if tokens is None else tokens
        return FedText(label, text, (*encoded, self.vocabulary.eos), tokens is not None, ruling)

    def prepare(self, case: Case) -> list[FedText]:
        """The case's instances, valid ones first, with what the validators say of them."""
        labelled = [("valid", one.text) for one in case.valid]
        labelled += [("invalid", one.text) for one in case.invalid]
        ruled = self.judge.judge([text for _, text in labelled])
        return [self.in_tokens(*one, ruling) for one, ruling in zip(labelled, ruled, strict=True)]

    def feed_instances(
        self, texts: Sequence[FedText], engines: Iterable[int], stage: str = ""
    ) -> None:
        """Feed engines with instances; `stage` is that of failures, if not the usual one."""
        if texts:
            numbered = dict(enumerate(texts, len(self.instances)))
            self.instances += texts
            self.proofs.texts(INSTANCE, numbered)
            up = self.at_start(engines, stage or TEXT_TABLES[INSTANCE])
            self.feed(INSTANCE, dict.fromkeys(up, numbered), stage)

    def wrong_label(self) -> str:
        """What is wrong with the label of an instance; empty where all are right."""
        for one in self.instances:
            if one.label == "valid" and one.ruling.verdict == INVALID:
                return reference_problem(one.text, one.ruling)[1]
            if one.label == "invalid" and one.ruling.verdict == VALID:
                return f"{_shown(one.text)} is labelled invalid, and is valid under its schema"
        return ""

    def at_start(self, engines: Iterable[int], stage: str) -> list[int]:
        """Those of some engines that stand at the start of a text."""
        up = []
        for engine in engines:
            failure = self.panel.recover_start(engine)
            if failure is None:
                up.append(engine)
            else:
                self.failed(engine, failure, stage)
        return up

    def ask(self, asks: Mapping[int, Request[A]], stage: str) -> dict[int, A]:
        """What engines answer; those that fail are noted, and left out."""
        found = {}
        for engine, answer in self.panel.ask(asks).items():
            if isinstance(answer, Failure):
                self.failed(engine, answer, stage)
            else:
                found[engine] = answer
        return found

    def feed(
        self, evidence: str, texts: Mapping[int, Texts], stage: str = ""
    ) -> dict[int, dict[int, Probed]]:
        """Feed engines with texts, by engine; what those did with each that did not fail.

        Those with slow texts get as many texts as `SLOW_TOKENS` make.
        """
        stage = stage or TEXT_TABLES[evidence]
        texts = {engine: self._affordable(engine, some) for engine, some in texts.items()}
        answers = self._probed(
            {one: [fed.tokens for fed in some.values()] for one, some in texts.items() if some},
            stage,
        )
        found = {
            engine: {
                number: probed
                for number, probed in zip(texts[engine], some, strict=True)
                if probed is not None
            }
            for engine, some in answers.items()
        }
        asks = {
            engine: [
                spelled_out(texts[engine][number], probed, self.vocabulary)
                for number, probed in probes.items()
            ]
            for engine, probes in found.items()
        }
        again = self._probed(asks, stage)
        for engine, probes in found.items():
            bytewise = again.get(engine, [None] * len(probes))
            for (number, one), spelled, byte in zip(
                probes.items(), asks[engine], bytewise, strict=True
            ):
                refused_at = -1
                if byte is not None and len(spelled) > one.allowed:
                    refused_at = byte.allowed - one.allowed
                self.proofs.of_text(
                    evidence, engine, number, texts[engine][number], one, refused_at
                )
        return found

    def _affordable(self, engine: int, texts: Texts) -> Texts:
        if not self.panel.specs[engine].slow_texts:
            return texts
        by_length = sorted(texts.items(), key=lambda one: len(one[1].tokens))
        sums = accumulate(len(fed.tokens) for _, fed in by_length)
        return dict(one for one, sum_ in zip(by_length, sums, strict=True) if sum_ <= SLOW_TOKENS)

    def _probed(
        self, texts: Mapping[int, Sequence[Sequence[int]]], stage: str
    ) -> dict[int, list[Probed | None]]:
        """What engines did with texts; None of those at which an engine raised an exception."""
        asks = {engine: self._probe(engine, some) for engine, some in texts.items()}
        found: dict[int, list[Probed | None]] = {}
        for engine, answer in self.panel.ask(asks).items():
            if not isinstance(answer, Failure):
                found[engine] = [*answer.each()]
            elif isinstance(answer, Crashed) and answer.signal is None and len(texts[engine]) > 1:
                found[engine] = list(self._singly(engine, texts[engine], stage))
            else:
                self.failed(engine, answer, stage)
        return found

    def _singly(
        self, engine: int, texts: Sequence[Sequence[int]], stage: str
    ) -> Iterator[Probed | None]:
        """What an engine does with texts that are fed one by one, until it failed too often."""
        failed = 0
        for text in texts:
            answers = {}
            if failed < SPARED and self.at_start([engine], stage):
                answers = self.ask({engine: self._probe(engine, [text])}, stage)
                failed += not answers
            yield answers[engine].each()[0] if answers else None

    def _probe(self, engine: int, texts: Sequence[Sequence[int]]) -> Probe:
        return Probe(wire.Ragged.of_ints(texts), follows=self.panel.specs[engine].slow_masks)


def reference_problem(text: bytes, ruling: Ruling) -> tuple[str, str]:
    """Why a reference cannot be walked: a reason code, and a sentence."""
    shown = _shown(text)
    if ruling.verdict == INVALID:
        what = f"{ruling.keyword or ruling.reason} at {ruling.instance_pointer or 'its root'}"
        message = f"the reference {shown} is not valid under its schema: {what}"
        return "reference_invalid", message
    if ruling.verdict == UNDECIDED:
        return "reference_undecided", f"the validators cannot judge {shown}: {ruling.reason}"
    return "reference_contested", f"the validators do not agree on {shown}: {ruling.reason}"


def _shown(text: bytes) -> str:
    return text[:80].decode("utf-8", "replace")


def spelled_out(fed: FedText, probed: Probed, vocabulary: Vocabulary) -> list[int]:
    """What to probe in order to learn the byte at which a text was refused.

    After the tokens that were taken, the refused one byte by byte. Nothing follows them where
    nothing was refused, at the end of sequence, and where a byte before the last has no token.
    """
    token = fed.tokens[probed.allowed] if probed.allowed < len(fed.tokens) else vocabulary.eos
    spelled = [] if vocabulary.special[token] else vocabulary.spelled(token)
    whole = len(spelled) == len(vocabulary.tokens[token])
    return [*fed.tokens[: probed.allowed], *(spelled if whole else ())]
