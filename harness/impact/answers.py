"""What one engine made of one item: text, times, and every step at which it overruled the model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

UNCONSTRAINED: Final = "unconstrained"
"""Stands where an engine's name stands, for the model without a mask."""

ANSWERED: Final = "answered"
"""The outcome of a text that was brought to its end."""

CUT: Final = "cut"
"""That of a text which was not, within the tokens that it might have."""

DEAD_END: Final = "dead_end"
"""That of a text after which the mask allows nothing."""


@dataclass(frozen=True)
class Step:
    """A step of a text, above all one at which the mask forbade the model's own choice.

    Attributes:
        position: How many tokens stand before it.
        token: What the model would have taken.
        probability: Of it, by the model alone.
        rank: How many tokens the model holds likelier; 0 for the likeliest.
        chosen: What is taken; -1 where nothing is allowed.
        removed: The probability of all that the mask forbade at this step.
        ruling: What is known of the forbidden token, of `harness.impact.overruled.RULINGS`; empty
            where nobody asked.
        reason: Why, as a short code.
        keyword: The keyword in force at its place.
        category: What kind of token it is there.
        witness: A valid text that goes on with it, where that proves a false rejection.
    """

    position: int
    token: int
    probability: float
    rank: int
    chosen: int
    removed: float
    ruling: str = ""
    reason: str = ""
    keyword: str = ""
    category: str = ""
    witness: str = ""


@dataclass
class Cost:
    """Times in nanoseconds; those of a step in lists by step.

    Attributes:
        prompt: Of the model over the prompt, once for all engines of an item.
        model: Of each step of the model, for all texts that take it together.
        texts: How many these were.
        mask: To compute the mask, inside of the engine's host.
        consume: To consume the token before it, likewise.
        asked: From asking for both to having the mask here.
        compile: Of the schema, until the engine is done with it.
        first_mask: From there to the first mask.
    """

    prompt: int = 0
    model: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    consume: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    compile: int = 0
    first_mask: int = 0


@dataclass
class ModelAnswer:
    """One line of a run: a text that is written, and what it is worth.

    Attributes:
        outcome: `ANSWERED`, `CUT`, `DEAD_END`, or what became of the schema or the engine, by
            the words of `harness.workers.outcomes`; empty while the text goes on.
        tokens: What was written, the end of sequence included; reserved tokens are not in `text`.
        parsed: Whether there is an answer; `reason` is a short code of why it is not right.
        removed: The probability that the mask forbade, summed over all steps.
    """

    item: str
    group: str
    condition: str
    engine: str
    outcome: str = ""
    message: str = ""
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    parsed: bool = False
    correct: bool = False
    reason: str = ""
    overruled: list[Step] = field(default_factory=list)
    removed: float = 0.0
    cost: Cost = field(default_factory=Cost)
    schema_bytes: int = 0

    def written(self, vocabulary: Vocabulary, position: int | None = None) -> bytes:
        """The text, or that of its first tokens."""
        ordinary = vocabulary.ordinary
        return b"".join(ordinary.get(token, b"") for token in self.tokens[:position])

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def of_line(cls, line: str) -> ModelAnswer:
        """Read what `line` wrote.

        Raises:
            ValueError, KeyError, TypeError: It is no such line.
        """
        values: dict[str, Any] = json.loads(line)
        values["overruled"] = [Step(**step) for step in values["overruled"]]
        values["cost"] = Cost(**values["cost"])
        return cls(**values)
