"""What a call is worth: the rules by which BFCL scores a call of one Python function.

A call is right or wrong as a whole, by the first of these that fails: the name; the required
parameters; of each argument in turn, whether the parameter is documented and expected, its type,
its value; and at last that nothing was left out but what may be. `docs/impact_tasks.md` states the
rules in full. They are the published ones, with what is odd in them: a score is to mean what it
means on the leaderboard.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jsonschema_rs

from harness.impact.items import Score

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

_IGNORED: Final = re.compile(r"[ ,./\-_*^]")


def score_call(
    answer: Any, function: Mapping[str, Any], accepted: Mapping[str, Sequence[Any]]
) -> Score:
    """Whether ``{"name": ..., "arguments": {...}}`` calls a function with accepted arguments.

    Anything else is no call. `function` is the documentation of the function that is to be called,
    `accepted` has the accepted values of each of its parameters.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("arguments"), dict):
        reason = "no_call"
    elif answer.get("name") != function["name"]:
        reason = "wrong_name" if isinstance(answer.get("name"), str) else "no_call"
    else:
        reason = _arguments_reason(answer["arguments"], function["parameters"], accepted)
    return Score(correct=not reason, reason=reason)


def normalized(value: Any) -> Any:
    """A text as it is compared, without what does not count in it; other values as they are."""
    if not isinstance(value, str):
        return value
    return _IGNORED.sub("", value).lower().replace("'", '"')


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
    """Whether a value is of the documented type or of that of the accepted values.

    Items are looked at one level deep, against each accepted list by itself.
    """
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


def is_answerable(
    function: Mapping[str, Any], accepted: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]
) -> bool:
    """Whether the schema of a function's arguments allows a call that is accepted.

    In a few items the accepted values contradict the documentation. Whoever keeps to the schema of
    such an item cannot be right: what an engine loses there is not lost by its mask.
    """
    required, documented = schema["required"], function["parameters"]["properties"]
    return all(name in accepted for name in required) and all(
        (OPTIONAL in values and name not in required)
        or (
            name in documented
            and any(
                jsonschema_rs.is_valid(schema["properties"][name], value)
                and not argument_reason(value, documented[name], values)
                for value in (
                    *map(accepted_value, values),
                    *schema["properties"][name].get("enum", ()),
                )
            )
        )
        for name, values in accepted.items()
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
