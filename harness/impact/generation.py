"""Generation: a model's answers to one item, under each engine and alone.

The model computes the prompt once. Behind it the texts go on together: one batched step for all
that are not at their end. Engines are asked for their masks one after the other and while the
model rests, so that they take no time from one another. A failure costs its engine the item, and
nobody else anything.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.engines.panel import Panel
from harness.impact.answers import (
    ANSWERED,
    CUT,
    DEAD_END,
    UNCONSTRAINED,
    Cost,
    Overruled,
)
from harness.impact.choosing import Sampling, TokenChoice, choose
from harness.impact.items import Item
from harness.impact.language_model import LanguageModel, Logits, Prompted
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Mask
from harness.workers.outcomes import Compiled

NOBODY = -1
"""Stands where the number of an engine stands, for the model without a mask."""


@dataclass
class Generated:
    """One text while it is written.

    Attributes:
        engine: The engine's number in its panel, or `NOBODY`.
        name: Its name, or `UNCONSTRAINED`.
        outcome: What became of it; empty while it goes on.
        message: What the engine said, where it failed.
        tokens: What was written.
        overruled: The steps at which the mask forbade the model's own choice.
        removed: The probability that the mask forbade, summed over all steps.
        seconds: Of compiling the schema, and from there to the first mask.
        prompt_ns: This and the others are those of `Cost`.
    """

    engine: int
    name: str
    outcome: str = ""
    message: str = ""
    tokens: list[int] = field(default_factory=list)
    overruled: list[Overruled] = field(default_factory=list)
    removed: float = 0.0
    seconds: tuple[float, float] = (0.0, 0.0)
    prompt_ns: int = 0
    model_ns: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    mask_ns: list[int] = field(default_factory=list)
    consume_ns: list[int] = field(default_factory=list)
    asked_ns: list[int] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        """Its times."""
        return Cost(
            prompt=self.prompt_ns,
            model=tuple(self.model_ns),
            texts=tuple(self.texts),
            mask=tuple(self.mask_ns),
            consume=tuple(self.consume_ns),
            asked=tuple(self.asked_ns),
            compile=round(self.seconds[0] * 1e9),
            first_mask=round(self.seconds[1] * 1e9),
        )

    def written(self, vocabulary: Vocabulary, position: int | None = None) -> bytes:
        """The text, or that of its first tokens; reserved tokens are not part of it."""
        ordinary = vocabulary.ordinary
        return b"".join(ordinary.get(token, b"") for token in self.tokens[:position])


@dataclass(frozen=True)
class Generation:
    """How texts are written.

    Attributes:
        sampling: How tokens are drawn.
        max_tokens: Of a text, its end included.
        unconstrained: Whether the model writes a text without a mask, too.
        together: Whether all texts of an item go through the model together. Alone, each step's
            time is that of one text.
    """

    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int = 512
    unconstrained: bool = True
    together: bool = True


class Generator:
    """Writes the texts of items.

    Args:
        model: The model.
        panel: The engines, opened with the model's vocabulary.
        how: How texts are written.
    """

    def __init__(self, model: LanguageModel, panel: Panel, how: Generation) -> None:
        self._model = model
        self._panel = panel
        self._how = how

    @property
    def names(self) -> list[str]:
        """Whose texts are written of each item, in order."""
        alone = [UNCONSTRAINED] if self._how.unconstrained else []
        return [*alone, *(spec.name for spec in self._panel.specs)]

    def generate(self, item: Item) -> list[Generated]:
        """The texts of one item, in the order of `names`."""
        texts = [Generated(NOBODY, UNCONSTRAINED)] if self._how.unconstrained else []
        for engine, outcome in self._panel.compile(item.schema).items():
            one = Generated(engine, self._panel.specs[engine].name)
            if isinstance(outcome, Compiled):
                one.seconds = outcome.compile_seconds, outcome.first_mask_seconds
            else:
                one.outcome, one.message = outcome.status, outcome.message
            texts.append(one)
        going = [one for one in texts if not one.outcome]
        if going:
            began = time.perf_counter_ns()
            prompted = self._model.start(self._model.prompt(item.messages, item.tools))
            took = time.perf_counter_ns() - began
            for one in going:
                one.prompt_ns = took
            for some in [going] if self._how.together else [[one] for one in going]:
                self._write(item, prompted, some)
        return texts

    def _write(self, item: Item, prompted: Prompted, texts: Sequence[Generated]) -> None:
        """Write texts to their ends, together."""
        decoding = prompted.fork(len(texts))
        going = list(texts)
        for position in range(self._how.max_tokens):
            self._take(item, position, going, decoding.logits)
            rows = [row for row, one in enumerate(going) if not one.outcome]
            going = [going[row] for row in rows]
            if not going or position + 1 == self._how.max_tokens:
                break
            began = time.perf_counter_ns()
            decoding.step(rows, [one.tokens[-1] for one in going])
            took = time.perf_counter_ns() - began
            for one in going:
                one.model_ns.append(took)
                one.texts.append(len(going))
        for one in going:
            one.outcome = CUT

    def _take(self, item: Item, position: int, going: Sequence[Generated], logits: Logits) -> None:
        """The next token of each text."""
        sampling, vocabulary = self._how.sampling, self._model.vocabulary
        noise = sampling.noise(item.id, position, vocabulary.size)
        for row, one in enumerate(going):
            mask = None
            if one.engine != NOBODY and (mask := self._masked(one)) is None:
                continue
            choice = choose(logits[row], mask, sampling.temperature, noise)
            one.removed += choice.removed
            if choice.is_overruled:
                one.overruled.append(_overruled(position, choice))
            if choice.token < 0:
                one.outcome = DEAD_END
                continue
            one.tokens.append(choice.token)
            if choice.token in vocabulary.eos_ids:
                one.outcome = ANSWERED

    def _masked(self, one: Generated) -> Mask | None:
        """The mask behind what is written; None where the engine failed."""
        last = one.tokens[-1] if one.tokens else -1
        began = time.perf_counter_ns()
        at = max(len(one.tokens) - 1, 0)
        walked = self._panel.walk([one.engine], [last], at)[one.engine]
        took = time.perf_counter_ns() - began
        if not len(walked):
            failure = walked.failure
            one.outcome = failure.status if failure is not None else "crashed"
            one.message = failure.message if failure is not None else "no mask came"
            return None
        mask_ns, consume_ns = walked.times[0].tolist()
        one.mask_ns.append(mask_ns)
        one.consume_ns.append(consume_ns)
        one.asked_ns.append(took)
        mask: Mask = walked.masks[0]
        return mask


def _overruled(position: int, choice: TokenChoice) -> Overruled:
    return Overruled(
        position, choice.wanted, choice.probability, choice.rank, choice.token, choice.removed
    )
