"""The task of BFCL, the Berkeley Function Calling Leaderboard: which function to call, and how.

>>> task = load()
>>> item = task.items()[0]
>>> task.score(item, {"name": "get_weather", "arguments": {"place": "Hanoi"}})

The data come with the distribution ``bfcl-eval``. What that needs besides (fixed versions of
numpy, of clients of many services, of servers) fits into no environment of this project, so that
it is installed without it, never imported, and only looked at for its files.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.errors import InputError, UsageError, nearest
from harness.impact.bfcl_schemas import argument_schema, call_schema, tool
from harness.impact.bfcl_scoring import is_answerable, score_call
from harness.impact.items import Item, Score, Turn, json_lines
from harness.inputs.case_archives import members

CATEGORIES: Final = ("live_multiple", "multiple", "live_simple", "simple_python")
"""Those of which every question is answered by one call, in types that JSON has."""

_DISTRIBUTION: Final = "bfcl-eval"
_INSTALL: Final = "pip install --no-deps bfcl-eval, or name a path with its data"
_ANSWERS: Final = "possible_answer"


@dataclass(frozen=True)
class BfclQuestion:
    """A question with what counts as its answer.

    Attributes:
        functions: What may be called: ``name``, ``description`` and ``parameters``, as documented.
        expected: The name of the function that is to be called.
        accepted: Per parameter of it the accepted values; ``""`` among them says that the
            parameter may be left out. The members of an object that is accepted are such lists
            of values again.
    """

    id: str
    messages: tuple[Turn, ...]
    functions: tuple[Mapping[str, Any], ...]
    expected: str
    accepted: Mapping[str, Sequence[Any]]

    @property
    def function(self) -> Mapping[str, Any]:
        """The documentation of the function that is to be called."""
        return next(function for function in self.functions if function["name"] == self.expected)

    @property
    def item(self) -> Item:
        """The question as it is asked."""
        schema = json.dumps(call_schema(self.functions), ensure_ascii=False)
        return Item(self.id, self.messages, schema, tuple(map(tool, self.functions)))


@dataclass(frozen=True)
class FunctionCalling:
    """Questions, each to be answered by one call of one of the functions that it comes with."""

    name: str
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
        """The ids of items whose schema allows no accepted call: data against documentation."""
        return frozenset(
            id_
            for id_, question in self._questions.items()
            if not is_answerable(
                question.function, question.accepted, argument_schema(question.function)
            )
        )


def load(path: Path | None = None, category: str = "live_multiple") -> FunctionCalling:
    """The task of one of `CATEGORIES`.

    The data are in a directory or an archive, such as the wheel of ``bfcl-eval``; None is those of
    the installed distribution.

    Raises:
        UsageError: Another category, or nothing is installed.
        InputError: The data are missing or not in the format.
    """
    questions = read(path, category)
    items = tuple(question.item for question in questions)
    return FunctionCalling(
        f"bfcl_{category}", items, {question.id: question for question in questions}
    )


def read(path: Path | None, category: str) -> tuple[BfclQuestion, ...]:
    """The questions of a category in their order; see `load`."""
    if category not in CATEGORIES:
        raise UsageError(f"no category {category!r} of BFCL", nearest(category, CATEGORIES))
    files = _files(_installed() if path is None else path, category)
    questions, answers = (_by_id(*files[kind]) for kind in ("", _ANSWERS))
    if missing := next((id_ for id_ in questions if id_ not in answers), None):
        raise InputError(f"{files[_ANSWERS][0]} has no answer to {missing}")
    return tuple(_question(id_, questions[id_], answers[id_]) for id_ in questions)


def _installed() -> Path:
    """The directory with the data of the installed distribution."""
    try:
        data = importlib.metadata.distribution(_DISTRIBUTION).locate_file("bfcl_eval/data")
    except importlib.metadata.PackageNotFoundError:
        raise UsageError(f"{_DISTRIBUTION} is not installed here", _INSTALL) from None
    return Path(str(data))


def _files(path: Path, category: str) -> dict[str, tuple[str, bytes]]:
    """The files with the questions, under ``""``, and with the answers: name and content."""
    name = re.compile(rf"(?:.*/)?BFCL_v\d+_{category}\.json")
    files: dict[str, tuple[str, bytes]] = {}
    for member in members(path):
        if name.fullmatch(member.name):
            kind = _ANSWERS if _ANSWERS in Path(member.name).parts else ""
            if kind in files:
                raise InputError(f"{path} has {files[kind][0]} and {member.name}", "name one")
            files[kind] = member.name, member.read()
    for kind in ("", _ANSWERS):
        if kind not in files:
            wanted = str(Path(kind, f"BFCL_v*_{category}.json"))
            raise InputError(f"{path} has no {wanted}", _INSTALL)
    return files


def _by_id(name: str, content: bytes) -> dict[str, dict[str, Any]]:
    objects = {}
    for number, value in json_lines(name, content):
        if not isinstance(value.get("id"), str):
            raise InputError(f"{name}:{number} is no object with an id")
        objects[value["id"]] = value
    return objects


def _question(id_: str, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> BfclQuestion:
    try:
        (turn,), (call,) = asked["question"], answered["ground_truth"]
        ((expected, accepted),) = call.items()
        messages = tuple(Turn(message["role"], message["content"]) for message in turn)
        question = BfclQuestion(id_, messages, tuple(asked["function"]), expected, accepted)
        if question.function["parameters"]["type"] != "dict":
            raise ValueError("parameters are no dict")
        if not all(isinstance(values, list) for values in accepted.values()):
            raise ValueError("accepted values are no list: " + json.dumps(accepted))
    except StopIteration:
        raise InputError(f"{id_} of BFCL calls {expected}, which is not documented") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{id_} of BFCL is not in its format: {error}") from None
    return question
