"""Questions and accepted answers of the Berkeley Function Calling Leaderboard, read from its data.

The data come with the distribution ``bfcl-eval``. What that needs besides (fixed versions of
numpy, of clients of many services, of servers) fits into no environment of this project, so that
it is installed without it, never imported, and only looked at for its files.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.errors import InputError, MaskcourtError, UsageError, nearest
from harness.impact.items import Turn
from harness.inputs.case_archives import content_sha256, members
from harness.jsontext import strict_json

CATEGORIES: Final = ("live_multiple", "multiple", "live_simple", "simple_python")
"""Those of which every question is answered by one call, in types that JSON has."""

_DISTRIBUTION: Final = "bfcl-eval"
_INSTALL: Final = "pip install --no-deps bfcl-eval, or name a path with its data"
_ANSWERS: Final = "possible_answer"


@dataclass(frozen=True)
class BfclQuestion:
    """A question with what counts as its answer.

    Attributes:
        id: As in the data.
        messages: The conversation.
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
        return next(one for one in self.functions if one["name"] == self.expected)


@dataclass(frozen=True)
class BfclData:
    """The questions of a category in their order, and the SHA-256 over the files they are from."""

    questions: tuple[BfclQuestion, ...]
    sha256: str


def read(path: Path | None, category: str) -> BfclData:
    """The questions of a category.

    Args:
        path: A directory or an archive (such as the wheel) with the data files somewhere in it;
            None for those of the installed distribution.
        category: One of `CATEGORIES`.

    Raises:
        UsageError: Another category, or nothing is installed.
        InputError: The files are missing or not in the format.
    """
    if category not in CATEGORIES:
        raise UsageError(f"no category {category!r} of BFCL", nearest(category, CATEGORIES))
    files = _files(installed() if path is None else path, category)
    questions, answers = (dict(_lines(*files[kind])) for kind in ("", _ANSWERS))
    if missing := next((one for one in questions if one not in answers), None):
        raise InputError(f"{files[_ANSWERS][0]} has no answer to {missing}")
    found = tuple(_question(one, questions[one], answers[one]) for one in questions)
    contents = {kind: content for kind, (_, content) in files.items()}
    return BfclData(found, content_sha256(contents))


def installed() -> Path:
    """The directory with the data of the installed distribution.

    Raises:
        UsageError: It is not installed.
    """
    try:
        found = importlib.metadata.distribution(_DISTRIBUTION).locate_file("bfcl_eval/data")
    except importlib.metadata.PackageNotFoundError:
        raise UsageError(f"{_DISTRIBUTION} is not installed here", _INSTALL) from None
    return Path(str(found))


def _files(path: Path, category: str) -> dict[str, tuple[str, bytes]]:
    """The files with the questions, under ``""``, and with the answers: name and content."""
    name = re.compile(rf"(?:.*/)?BFCL_v\d+_{category}\.json")
    found: dict[str, tuple[str, bytes]] = {}
    for member in members(path):
        if name.fullmatch(member.name):
            kind = _ANSWERS if _ANSWERS in Path(member.name).parts else ""
            if kind in found:
                raise InputError(f"{path} has {found[kind][0]} and {member.name}", "name one")
            found[kind] = member.name, member.read()
    for kind in ("", _ANSWERS):
        if kind not in found:
            wanted = str(Path(kind, f"BFCL_v*_{category}.json"))
            raise InputError(f"{path} has no {wanted}", _INSTALL)
    return found


def _lines(name: str, content: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                value = strict_json.parse(line)
                yield value["id"], value
            except (MaskcourtError, KeyError, TypeError) as error:
                raise InputError(f"{name}:{number} is no object with an id: {error}") from None


def _question(id_: str, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> BfclQuestion:
    try:
        (turn,), (call,) = asked["question"], answered["ground_truth"]
        ((expected, accepted),) = call.items()
        messages = tuple(Turn(one["role"], one["content"]) for one in turn)
        found = BfclQuestion(id_, messages, tuple(asked["function"]), expected, accepted)
        if found.function["parameters"]["type"] != "dict":
            raise ValueError("parameters are no dict")
        if not all(isinstance(one, list) for one in accepted.values()):
            raise ValueError("accepted values are no list: " + json.dumps(accepted))
    except StopIteration:
        raise InputError(f"{id_} of BFCL calls {expected}, which is not documented") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{id_} of BFCL is not in its format: {error}") from None
    return found
