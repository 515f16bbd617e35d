"""The task of BFCL, the Berkeley Function Calling Leaderboard: which function to call, and how.

>>> task = load()
>>> item = task.items()[0]
>>> task.fault(item, {"name": "get_weather", "arguments": {"place": "Hanoi"}})

The data come with the distribution ``bfcl-eval``. What that needs besides fits into no environment
of this project, so that it is installed without it, never imported, and only looked at for its
files. `docs/impact_tasks.md` says what schema the documentation of a parameter becomes, and has the
rules by which a call is scored: the published ones, with what is odd in them.
"""

from __future__ import annotations

import copy
import importlib.metadata
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from harness.errors import InputError, UsageError, nearest
from harness.impact.items import Item, Turn
from harness.inputs.case_archives import members
from harness.jsontext import strict_json
from harness.schemas.schema import kinds

CATEGORY: Final = "live_multiple"
"""Of it every question is answered by one call, in types that JSON has."""

_DISTRIBUTION: Final = "bfcl-eval"
_INSTALL: Final = "pip install --no-deps bfcl-eval, or name a path with its data"
_ANSWERS: Final = "possible_answer"
_SPELT: Final[Mapping[str, Mapping[str, bool]]] = {"boolean": {"true": True, "false": False}}


@dataclass(frozen=True)
class BfclQuestion:
    """A question with what counts as its answer: a call of the function `expected`.

    `functions` have ``name``, ``description`` and ``parameters``, as documented. `accepted` has the
    accepted values of each parameter; ``""`` among them says that it may be left out. The members
    of an object that is accepted are such lists of values again.
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
    _questions: Mapping[str, BfclQuestion] = field(repr=False)

    def items(self) -> tuple[Item, ...]:
        return tuple(question.item for question in self._questions.values())

    def fault(self, item: Item, answer: Any) -> str:
        question = self._questions[item.id]
        return call_fault(answer, question.function, question.accepted)

    def unanswerable(self) -> frozenset[str]:
        """The ids of items whose schema allows no accepted call: data against documentation."""
        return frozenset(
            id_ for id_, question in self._questions.items() if not _is_answerable(question)
        )


def load(path: Path | None = None) -> FunctionCalling:
    """The task of `CATEGORY`.

    The data are in a directory or an archive, such as the wheel of ``bfcl-eval``; None is those of
    what is installed. UsageError where nothing is, InputError where they cannot be read.
    """
    questions = {question.id: question for question in read(path)}
    return FunctionCalling(f"bfcl_{CATEGORY}", questions)


def read(path: Path | None) -> tuple[BfclQuestion, ...]:
    """The questions in their order; see `load`."""
    if path is None:
        try:
            distribution = importlib.metadata.distribution(_DISTRIBUTION)
        except importlib.metadata.PackageNotFoundError:
            raise UsageError(f"{_DISTRIBUTION} is not installed here", _INSTALL) from None
        path = Path(str(distribution.locate_file("bfcl_eval/data")))
    files = _files(path)
    questions, answers = (_by_id(*files[kind]) for kind in ("", _ANSWERS))
    if missing := next((id_ for id_ in questions if id_ not in answers), None):
        raise InputError(f"{files[_ANSWERS][0]} has no answer to {missing}")
    return tuple(_question(id_, questions[id_], answers[id_]) for id_ in questions)


def _files(path: Path) -> dict[str, tuple[str, bytes]]:
    """The files with the questions, under ``""``, and with the answers: name and content."""
    name = re.compile(rf"(?:.*/)?BFCL_v\d+_{CATEGORY}\.json")
    files: dict[str, tuple[str, bytes]] = {}
    for member in members(path):
        if name.fullmatch(member.name):
            kind = _ANSWERS if _ANSWERS in Path(member.name).parts else ""
            if kind in files:
                raise InputError(f"{path} has {files[kind][0]} and {member.name}", "name one")
            files[kind] = member.name, member.read()
    for kind in ("", _ANSWERS):
        if kind not in files:
            wanted = str(Path(kind, f"BFCL_v*_{CATEGORY}.json"))
            raise InputError(f"{path} has no {wanted}", _INSTALL)
    return files


def _by_id(name: str, content: bytes) -> dict[str, dict[str, Any]]:
    objects = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = strict_json.parse(line)
        except strict_json.JsonError as error:
            raise InputError(f"{name}:{number}: {error}", "a line is one object") from None
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
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


def call_schema(functions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The schema of a call: ``{"name": ..., "arguments": {...}}``, of one of the functions."""
    calls = (
        {"name": {"const": function["name"]}, "arguments": arguments(function["parameters"])}
        for function in functions
    )
    return {"anyOf": [_closed(call, ("name", "arguments")) for call in calls]}


def tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function as chat templates take it: as documented, with the types of JSON."""
    described = {**function, "parameters": _with_json_types(function["parameters"])}
    return {"type": "function", "function": described}


def _with_json_types(documented: Mapping[str, Any]) -> dict[str, Any]:
    described = {**documented, "type": _json_type(documented)}
    if not described["type"]:
        del described["type"]
    if "properties" in documented:
        members = documented["properties"].items()
        described["properties"] = {name: _with_json_types(member) for name, member in members}
    if "items" in documented:
        described["items"] = _with_json_types(documented["items"])
    return described


def _json_type(documented: Mapping[str, Any]) -> str:
    name = documented["type"]
    if name not in TYPES:
        raise InputError(f"BFCL documents an unknown type {name!r}", nearest(str(name), TYPES))
    return TYPES[name][0]


def _closed(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def arguments(documented: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of documented parameters or members, an object that is closed."""
    members = {name: _value(member) for name, member in documented.get("properties", {}).items()}
    return _closed(members, documented.get("required", ()))


def _value(documented: Mapping[str, Any]) -> dict[str, Any]:
    """What a documented parameter, member or item may be."""
    schema = _documented_value(documented)
    if "default" not in documented:
        return schema
    default = _spelt(_json_type(documented), documented["default"])
    kind = schema.get("type")
    fits = kind is None or kind in kinds(default)
    if "enum" in schema:
        if default in schema["enum"]:
            return schema
        widened = {**schema, "enum": [*schema["enum"], default]}
        return widened if fits else {"enum": widened["enum"]}
    if fits:
        return schema
    if default is None:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"const": default}]}


def _documented_value(documented: Mapping[str, Any]) -> dict[str, Any]:
    kind = _json_type(documented)
    if not kind:
        return {}
    if kind == "object" and documented.get("properties"):
        return arguments(documented)
    schema: dict[str, Any] = {"type": kind}
    enum = documented.get("enum")
    if kind == "array":
        items = documented.get("items")
        if items is not None:
            schema["items"] = _value(items if enum is None else {**items, "enum": enum})
    elif enum is not None:
        spelt = [_spelt(kind, value) for value in enum]  # 1 and true are two values
        schema["enum"] = list({(type(value), str(value)): value for value in spelt}.values())
        if not all(kind in kinds(value) for value in schema["enum"]):
            del schema["type"]
    return schema


def _spelt(kind: str, value: Any) -> Any:
    """The value of a type of JSON that a text spells; the text itself where it spells none."""
    if not isinstance(value, str):
        return value
    if kind == "integer" and re.fullmatch(r"-?\d+", value, re.ASCII):
        return int(value)
    if kind == "number" and re.fullmatch(r"-?\d+(\.\d+)?", value, re.ASCII):
        return float(value)
    return _SPELT.get(kind, {}).get(value.lower(), value)


OPTIONAL: Final = ""
"""Among accepted values: the parameter may be left out."""

TYPES: Final[Mapping[str, tuple[str, type]]] = {
    "string": ("string", str),
    "integer": ("integer", int),
    "float": ("number", float),
    "boolean": ("boolean", bool),
    "array": ("array", list),
    "tuple": ("array", list),
    "dict": ("object", dict),
    "any": ("", str),
}
"""The documented types as those of JSON, and as the type in Python that a value must have."""


def call_fault(
    answer: Any, function: Mapping[str, Any], accepted: Mapping[str, Sequence[Any]]
) -> str:
    """Why an answer does not call a function with accepted arguments; empty where it does.

    A call is ``{"name": ..., "arguments": {...}}``. `function` is the documentation of the one that
    is to be called, `accepted` has the accepted values of each of its parameters.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("arguments"), dict):
        return "no_call"
    if answer.get("name") != function["name"]:
        return "wrong_name" if isinstance(answer.get("name"), str) else "no_call"
    return _arguments_reason(answer["arguments"], function["parameters"], accepted)


def normalized(value: Any) -> Any:
    """A text as it is compared, without what does not count in it; other values as they are."""
    if not isinstance(value, str):
        return value
    return re.sub(r"[ ,./\-_*^]", "", value).lower().replace("'", '"')


def _arguments_reason(
    arguments: Mapping[str, Any],
    documented: Mapping[str, Any],
    accepted: Mapping[str, Sequence[Any]],
) -> str:
    """The reason for which arguments are wrong, empty where they are right."""
    if any(name not in arguments for name in documented.get("required", ())):
        return "missing_required"
    for name, value in arguments.items():
        if name not in documented["properties"] or name not in accepted:
            return "unexpected_parameter"
        if reason := argument_reason(value, documented["properties"][name], accepted[name]):
            return reason
    left_out = accepted.keys() - arguments.keys()
    return "missing_optional" if any(OPTIONAL not in accepted[name] for name in left_out) else ""


def argument_reason(value: Any, documented: Mapping[str, Any], accepted: Sequence[Any]) -> str:
    """The reason for which an argument is wrong, empty where it is right."""
    expected = TYPES[documented["type"]][1]
    item = TYPES[documented["items"]["type"]][1] if expected is list else None
    if expected is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return "wrong_type"
    if not _fits(value, accepted, expected, item):
        return "wrong_type"
    return "" if _is_accepted(value, accepted, expected, item) else "wrong_value"


def _answer_type(accepted: Sequence[Any]) -> type | None:
    """The type of the first accepted value; None where there is none but `OPTIONAL`."""
    return next((type(value) for value in accepted if value != OPTIONAL), None)


def _fits(value: Any, accepted: Sequence[Any], expected: type, item: type | None = None) -> bool:
    """Whether a value is of the documented type or the accepted values'; items one level deep."""
    kind = type(value)
    if kind is not expected:
        return kind is _answer_type(accepted)
    if item is None:
        return True
    return any(
        not isinstance(listed, list) or all(_fits(part, listed, item) for part in value)
        for listed in accepted
    )


def _is_accepted(value: Any, accepted: Sequence[Any], expected: type, item: type | None) -> bool:
    if _answer_type(accepted) not in (None, expected):
        return value in accepted  # the data contradict the documentation: nothing is normalized
    if expected is dict:
        return _has_accepted_members(value, accepted)
    if item is dict:
        return any(_are_accepted_objects(value, items) for items in accepted)
    if expected is list:
        parts = [normalized(part) for part in value]
        return any(parts == [normalized(part) for part in items] for items in accepted)
    if expected is str:
        texts = [normalized(text) for text in accepted if isinstance(text, str)]
        return normalized(value) in texts
    return value in accepted


def _is_answerable(question: BfclQuestion) -> bool:
    """Whether the schema of a question's arguments allows a call that is accepted."""
    parameters, accepted = question.function["parameters"], question.accepted
    schema, documented = arguments(parameters), parameters["properties"]

    def is_right(name: str, values: Sequence[Any]) -> bool:
        if OPTIONAL in values and name not in schema["required"]:
            return True
        part = schema["properties"].get(name)
        return part is not None and any(
            jsonschema_rs.is_valid(part, value)
            and not argument_reason(value, documented[name], values)
            for value in (*map(accepted_value, values), *part.get("enum", ()))
        )

    return set(schema["required"]) <= accepted.keys() and all(
        is_right(name, values) for name, values in accepted.items()
    )


def accepted_value(accepted: Any) -> Any:
    """A value of which an entry among accepted values speaks: in objects the first of each list."""
    if isinstance(accepted, dict):
        return {
            name: copy.copy(next((value for value in values if value != OPTIONAL), OPTIONAL))
            for name, values in accepted.items()
            if OPTIONAL not in values
        }
    return [accepted_value(item) for item in accepted] if isinstance(accepted, list) else accepted


def _has_accepted_members(members: Mapping[str, Any], accepted: Sequence[Any]) -> bool:
    """Whether an object is one of those accepted; its members have lists of accepted values."""
    return any(
        all(
            name in named and normalized(member) in [normalized(value) for value in named[name]]
            for name, member in members.items()
        )
        and all(name in members or OPTIONAL in values for name, values in named.items())
        for named in accepted
        if named != OPTIONAL
    )


def _are_accepted_objects(value: Sequence[Any], accepted: Sequence[Any]) -> bool:
    return len(value) == len(accepted) and all(
        isinstance(part, dict) and _has_accepted_members(part, [entry])
        for part, entry in zip(value, accepted, strict=True)
    )
