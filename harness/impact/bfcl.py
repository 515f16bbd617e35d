"""The task of BFCL: which function to call, with which arguments.

>>> task = load()
>>> item = task.items()[0]
>>> task.score(item, {"name": "get_weather", "arguments": {"place": "Hanoi"}})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.impact.bfcl_accepted import is_answerable
from harness.impact.bfcl_data import BfclQuestion, read
from harness.impact.bfcl_schemas import argument_schema, call_schema, tool
from harness.impact.bfcl_scoring import score_call
from harness.impact.items import Item, Score


@dataclass(frozen=True)
class FunctionCalling:
    """Questions, each to be answered by one call of one of the functions that it comes with.

    Attributes:
        name: ``bfcl_`` and the category.
        sha256: Of the data.
    """

    name: str
    sha256: str
    _items: tuple[Item, ...] = field(repr=False)
    _questions: Mapping[str, BfclQuestion] = field(repr=False)

    def items(self) -> tuple[Item, ...]:
        """All items, in the order of the data."""
        return self._items

    def score(self, item: Item, answer: Any) -> Score:
        """Whether `answer` is an accepted call; the reasons are those of `bfcl_scoring`."""
        question = self._questions[item.id]
        return score_call(answer, question.function, question.accepted)

    def unanswerable(self) -> frozenset[str]:
        """The ids of items whose schema allows no accepted call: data against documentation.

        To be left out where engines are compared with generation that keeps to no schema.
        """
        return frozenset(
            id_
            for id_, one in self._questions.items()
            if not is_answerable(one, argument_schema(one.function))
        )


def load(path: Path | None = None, category: str = "live_multiple") -> FunctionCalling:
    """The task of a category.

    Args:
        path: A directory or an archive (such as the wheel of ``bfcl-eval``) with the data; None
            for those of the installed distribution.
        category: One of `harness.impact.bfcl_data.CATEGORIES`.

    Raises:
        UsageError: Another category, or nothing is installed.
        InputError: The data are missing or not in the format.
    """
    data = read(path, category)
    items = tuple(_item(one) for one in data.questions)
    questions = {one.id: one for one in data.questions}
    return FunctionCalling(f"bfcl_{category}", data.sha256, items, questions)


def _item(question: BfclQuestion) -> Item:
    schema = json.dumps(call_schema(question.functions), ensure_ascii=False)
    tools = tuple(tool(one) for one in question.functions)
    return Item(question.id, question.messages, schema, tools)
