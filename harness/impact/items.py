"""What a task asks of a model, and what an answer to it is worth."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harness.errors import InputError, MaskcourtError
from harness.jsontext import strict_json


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation, as the model's chat template takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Item:
    """One question of a task: a conversation up to the model's answer, and the schema of that.

    The id is unique within the task, and stable: results of two runs are paired by it. `tools` are
    what the model may call, as chat templates take it (`type` function). Where a task compares
    conditions, items of one group and different conditions are pairs.
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

    @property
    def name(self) -> str: ...

    def items(self) -> Sequence[Item]:
        """All items, in the order of the data."""

    def score(self, item: Item, answer: Any) -> Score:
        """What `answer`, a JSON value as `json.loads` gives it, is worth."""

    def unanswerable(self) -> frozenset[str]:
        """The ids of items that no text which keeps their schema answers rightly.

        They say nothing where an engine is compared with a model that writes without a mask.
        """


def sampled(items: Sequence[Item], count: int | None, seed: int) -> list[Item]:
    """So many groups of items, each whole, in their order; None is all.

    An item without a group is a group by itself.
    """
    groups = list(dict.fromkeys(map(_group, items)))
    if count is None or count >= len(groups):
        return list(items)
    chosen = set(random.Random(f"{seed}/sample").sample(groups, count))  # noqa: S311 - to be repeated
    return [item for item in items if _group(item) in chosen]


def _group(item: Item) -> tuple[str, str]:
    return ("", item.group) if item.group else (item.id, "")


def json_lines(name: str, content: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON Lines with their lines' numbers; InputError for other lines."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                value = strict_json.parse(line)
            except MaskcourtError as error:
                raise InputError(f"{name}:{number}: {error}", "a line is one object") from None
            if not isinstance(value, dict):
                raise InputError(f"{name}:{number} is no object", "a line is one object")
            yield number, value
