"""Calls that BFCL accepts, written out, and whether a schema of its documentation allows one.

In a few items the accepted values contradict the documentation. Whoever keeps to the schema of such
an item cannot be right: what an engine loses there is not lost by its mask.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema_rs

from harness.impact.bfcl_data import BfclQuestion
from harness.impact.bfcl_scoring import OPTIONAL, argument_reason


def first_call(question: BfclQuestion) -> dict[str, Any]:
    """The call of the first accepted values, without what may be left out."""
    required = question.function["parameters"].get("required", ())
    arguments = _first(question.accepted, accepted_value, required)
    return {"name": question.expected, "arguments": arguments}


def accepted_value(accepted: Any) -> Any:
    """A value of which an entry among accepted values speaks: in objects the first of each list."""
    if isinstance(accepted, dict):
        return _first(accepted, copy.copy)
    return [accepted_value(one) for one in accepted] if isinstance(accepted, list) else accepted


def is_answerable(question: BfclQuestion, schema: Mapping[str, Any]) -> bool:
    """Whether a schema allows a call that is accepted.

    Args:
        question: The question.
        schema: Of the arguments of the function that is to be called.
    """
    accepted, required = question.accepted, schema["required"]
    documented = question.function["parameters"]["properties"]
    return all(name in accepted for name in required) and all(
        (OPTIONAL in values and name not in required)
        or (
            name in documented
            and _is_answerable(documented[name], values, schema["properties"][name])
        )
        for name, values in accepted.items()
    )


def _is_answerable(
    documented: Mapping[str, Any], accepted: Sequence[Any], schema: dict[str, Any]
) -> bool:
    """Whether the schema of a parameter allows an accepted value, however it is spelt."""
    values = [*map(accepted_value, accepted), *schema.get("enum", ())]
    return any(
        jsonschema_rs.is_valid(schema, one) and not argument_reason(one, documented, accepted)
        for one in values
    )


def _first(
    accepted: Mapping[str, Sequence[Any]],
    value: Callable[[Any], Any],
    required: Sequence[str] = (),
) -> dict[str, Any]:
    chosen = {}
    for name, values in accepted.items():
        if OPTIONAL not in values or name in required:
            given = next((one for one in values if one != OPTIONAL), OPTIONAL)
            chosen[name] = value(given)
    return chosen
