"""The parts of a case as its file spells them: the schema's text and the lists of instances."""

from __future__ import annotations

from typing import Any, Final

from harness.errors import InputError
from harness.jsontext import strict_json

_KINDS: Final = {dict: "object", list: "array", str: "string", bool: "boolean"}


def schema_text(raw: bytes, where: str) -> str:
    """The text `raw` of a schema, unchanged.

    It is JSON, and an object or a boolean. What is JSON and yet a trap (nested too deep, duplicate
    keys, numbers out of range, lone surrogates) is let through: an engine may be tried on it, and
    the validators say what they make of it.

    Raises:
        InputError: It is something else; `where` begins the message.
    """
    try:
        value = strict_json.parse(raw, lone_surrogates=True)
    except (strict_json.TooDeep, strict_json.DuplicateKeys, strict_json.NumberOverflow):
        if raw[:1] != b"{":
            raise InputError(f"{where}: the schema is not an object or a boolean") from None
    except strict_json.JsonError as error:
        raise InputError(f"{where}: the schema is not JSON: {error}") from None
    else:
        if not isinstance(value, (dict, bool)):
            raise InputError(f"{where}: the schema is {kind_of(value)}, not an object or a boolean")
    return raw.decode("utf-8")


def parsed(raw: bytes, where: str, part: str) -> Any:
    """The value of the JSON text `raw`; lone surrogates are let through.

    Raises:
        InputError: It cannot be read without loss; the message names `where` and the `part`.
    """
    try:
        return strict_json.parse(raw, lone_surrogates=True)
    except strict_json.JsonError as error:
        raise InputError(f"{where}: {part!r} cannot be read: {error}", _hint(error)) from None


def kind_of(value: object) -> str:
    """The JSON type of `value`, with its article."""
    if value is None:
        return "null"
    kind = _KINDS.get(type(value), "number")
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _hint(error: strict_json.JsonError) -> str | None:
    if type(error) is strict_json.JsonError:
        return None
    return 'an instance that must stay as it is written can be given as {"text": "..."}'
