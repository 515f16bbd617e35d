"""The whole texts of one case, fed to every engine: its instances, made ones, engines' samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.comparison.fed_texts import FedText, in_canonical_tokens, label_problem
from harness.comparison.generated_instances import Ruled
from harness.comparison.samples import SampleCourt, SampleWriters
from harness.comparison.text_feeding import TextFeeding
from harness.comparison.verdict_record import VerdictNotes
from harness.engines.panel import Panel
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.vocabulary import Vocabulary
from harness.runs.tables import GENERATED
from harness.schemas.hints import hints
from harness.validators.judge import Judge
from harness.verdict_kinds import INSTANCE, SAMPLE
from harness.workers.outcomes import Failure


class CaseTexts:
    """Feeds the texts of one case, a kind after the other.

    Args:
        failed: Is told of engines that fail: which, how, and at what stage.

    Attributes:
        instances: The instances that were fed, the case's own first.
        samples: What engines wrote and all engines were fed with.
    """

    def __init__(
        self,
        panel: Panel,
        judge: Judge,
        vocabulary: Vocabulary,
        canonical: Canonical | None,
        proofs: VerdictNotes,
        failed: Callable[[int, Failure, str], None],
    ) -> None:
        self._panel = panel
        self._judge = judge
        self._vocabulary = vocabulary
        self._canonical = canonical
        self._proofs = proofs
        self._failed = failed
        self.instances: list[FedText] = []
        self.samples: list[FedText] = []

    def feed_instances(
        self, texts: Sequence[FedText], engines: Iterable[int], stage: str = ""
    ) -> None:
        """Feed engines with instances; `stage` is that of failures, if not the usual one."""
        if texts:
            numbered = dict(enumerate(texts, len(self.instances)))
            self.instances += texts
            self._proofs.texts(INSTANCE, numbered)
            feeding = self._feeding(INSTANCE, stage)
            feeding.feed(dict.fromkeys(feeding.at_start(engines), numbered))

    def feed_made(self, texts: Iterable[Ruled], engines: Iterable[int]) -> None:
        """Feed engines with instances that were made of the schema."""
        fed = [
            in_canonical_tokens(GENERATED, one.text, one.ruling, self._vocabulary, self._canonical)
            for one in texts
        ]
        self.feed_instances(fed, engines, GENERATED)

    def feed_samples(self, key: str, count: int, schema: Any, engines: Sequence[int]) -> None:
        """Have engines write `count` texts each, and feed all with them."""
        feeding = self._feeding(SAMPLE)
        of_text = (self._vocabulary, self._canonical, self._judge)
        writers = SampleWriters(feeding, *of_text, hints(schema), key)
        samples = writers.written(feeding.at_start(engines), count, self.instances)
        court = SampleCourt(feeding, self._proofs, *of_text)
        up = [one for one in engines if self._panel.up(one)]
        self.samples = court.try_(samples, up, [one.text for one in self.instances])

    def wrong_label(self) -> str:
        """What is wrong with the label of an instance; empty where all are right."""
        return next(filter(None, map(label_problem, self.instances)), "")

    def _feeding(self, evidence: str, stage: str = "") -> TextFeeding:
        return TextFeeding(
            evidence, self._panel, self._vocabulary, self._proofs, self._failed, stage
        )
