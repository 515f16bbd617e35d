"""What a task asks of a model, and what an answer to it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation, as the model's chat template takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Item:
    """One question of a task.

    Attributes:
        id: Unique within the task, and stable: results of two runs are paired by it.
        messages: The conversation up to the model's answer.
        schema: JSON text of the JSON Schema that the answer keeps.
        tools: What the model may call, in the form that chat templates take (`type` function).
        group: What the item is an instance of where a task compares conditions; items of one
            group and different conditions are pairs.
        condition: Under which condition it is asked, say where the instruction stands.
    """

    id: str
    messages: tuple[Turn, ...]
    schema: str
    tools: tuple[Mapping[str, Any], ...] = ()
    group: str = ""
    condition: str = ""


@dataclass(frozen=True)
class Score:
    """Whether an answer is right; `reason` is a short fixed code of what is wrong, else empty."""

    correct: bool
    reason: str = ""


class Task(Protocol):
    """A set of items with the rules by which their answers are scored."""

    name: str

    def items(self) -> Sequence[Item]:
        """All items, in the order of the data."""

    def score(self, item: Item, answer: Any) -> Score:
        """What `answer`, a JSON value as `json.loads` gives it, is worth."""

    def unanswerable(self) -> frozenset[str]:
        """The ids of items that no text which keeps their schema answers rightly.

        They say nothing where an engine is compared with a model that writes without a mask.
        """
