"""What a task asks of a model, and what an answer to it is worth."""

from __future__ import annotations

import random
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
    """One question of a task: a conversation up to the model's answer, and the schema of that.

    The id is unique within the task, and stable: results of two runs are paired by it. `tools` are
    what the model may call, as chat templates take it (`type` function).
    """

    id: str
    messages: tuple[Turn, ...]
    schema: str
    tools: tuple[Mapping[str, Any], ...] = ()


class Task(Protocol):
    """A set of items with the rules by which their answers are right or wrong."""

    @property
    def name(self) -> str: ...

    def items(self) -> Sequence[Item]:
        """All items, in the order of the data."""

    def fault(self, item: Item, answer: Any) -> str:
        """A short fixed code of what is wrong with `answer`, a JSON value; empty if it is right."""

    def unanswerable(self) -> frozenset[str]:
        """The ids of items that no text which keeps their schema answers rightly.

        They say nothing where an engine is compared with a model that writes without a mask.
        """


def sampled(items: Sequence[Item], count: int | None, seed: int) -> list[Item]:
    """So many items, in their order; None is all."""
    if count is None or count >= len(items):
        return list(items)
    draws = random.Random(f"{seed}/sample")  # noqa: S311 - to be repeated
    return [items[number] for number in sorted(draws.sample(range(len(items)), count))]
