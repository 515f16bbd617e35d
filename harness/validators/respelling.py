"""A copy of a schema with its patterns spelt for one library, and what that says of the original.

Only what a validator reads as a schema is gone through: what stands in ``enum``, ``const``,
``default`` and ``examples`` is data. Names within ``patternProperties`` stay as they are where a
reference leads through one. Errors of both validators are put in the same words: keyword, and where
in schema and instance, with patterns as they were written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import jsonschema
import jsonschema_rs

from harness.jsontext.pointers import objects_in, pointer, steps
from harness.schemas.schema import MAPS, REFERENCES, Schema, target

_DATA = frozenset({"enum", "const", "default", "examples"})
_NAMED = MAPS | {"definitions", "$defs"}
"""Keywords whose value holds schemas by names of the author's choice."""


@dataclass(frozen=True)
class Respelt:
    """A schema with its patterns respelt; the original where nothing is spelt otherwise."""

    schema: Any
    written: dict[str, str] = field(default_factory=dict)
    """How the patterns that are spelt otherwise were written, by their new spelling."""


def respelt(schema: Any, spell: Callable[[str], str]) -> Respelt:
    """`schema`, parsed, with every pattern put through `spell`, which may raise."""
    written: dict[str, str] = {}
    names = not _leads_through_patterns(schema)

    def spelt(pattern: str, taken: Any = ()) -> str:
        new = spell(pattern)
        while new in taken:
            new += "(?:)"  # two spellings of one pattern stay two
        if new != pattern:
            written[new] = pattern
        return new

    def copied(value: Any) -> Any:
        if isinstance(value, list):
            return [copied(part) for part in value]
        return (
            {key: keyword(key, value[key]) for key in value} if isinstance(value, dict) else value
        )

    def keyword(key: str, value: Any) -> Any:
        if key in _DATA:
            return value
        if key == "pattern" and isinstance(value, str):
            return spelt(value)
        if key not in _NAMED or not isinstance(value, dict):
            return copied(value)
        below = {name: copied(part) for name, part in value.items()}
        if key != "patternProperties" or not names:
            return below
        renamed: dict[str, Any] = {}
        for name, part in below.items():
            renamed[spelt(name, renamed)] = part
        return renamed

    copy = copied(schema)
    return Respelt(copy, written) if written else Respelt(schema)


def _leads_through_patterns(schema: Any) -> bool:
    """Whether a reference anywhere in `schema` leads through ``patternProperties``."""
    return "patternProperties/" in json.dumps(schema) and any(
        "patternProperties/" in str(part.get(keyword, ""))
        for part in objects_in(schema)
        for keyword in REFERENCES
    )


_MAX_REFERENCES = 50
"""Followed one after another before a path is left as it is."""

MAX_MESSAGE = 200
"""Characters kept of a message; validators quote whole instances in them."""

_MAY_BE_FALSE = {"additionalProperties", "additionalItems", "items", "unevaluatedProperties"}
"""Keywords whose value false jsonschema reports as themselves, jsonschema-rs as falseSchema."""

Place = tuple[str, str, str]
"""Keyword, schema pointer and instance pointer."""


class ValidationFailure(NamedTuple):
    """One error that a validator names.

    `schema_pointer`, a JSON Pointer, leads to the keyword in the schema, past references; `keyword`
    is ``false`` where the schema ``false`` itself stands in the way. For that, jsonschema points at
    the object or array around what is forbidden.
    """

    keyword: str
    schema_pointer: str
    instance_pointer: str
    message: str


class SlowFailures:
    """Reads those of jsonschema."""

    def __init__(self, respelt: Respelt) -> None:
        self._schema = Schema(respelt.schema)
        self._written = respelt.written

    def failure(self, error: jsonschema.ValidationError) -> ValidationFailure:
        """What `error` says of the schema as it was written."""
        keyword = str(error.validator or "false")
        # The path of jsonschema leaves references out; the subschema itself is found by identity.
        place = self._schema.pointer_of(error.schema)
        dynamic = list(error.absolute_schema_path)
        path = self._past_references(dynamic) if place is None else [*steps(place), keyword]
        message = error.message
        if keyword == "pattern" and error.validator_value in self._written:
            written = self._written[error.validator_value]
            message = message.replace(repr(error.validator_value), repr(written))
        where = pointer(as_written(path, self._written))
        return ValidationFailure(keyword, where, pointer(error.absolute_path), short(message))

    def _past_references(self, path: Sequence[Any]) -> Sequence[Any]:
        """Where a path that leaves references out leads in the schema; itself if that is open."""
        part, found = self._schema.root, list[Any]()
        for step in path:
            for _ in range(_MAX_REFERENCES):
                if not isinstance(part, dict) or step in part or "$ref" not in part:
                    break
                part = target(self._schema.root, part["$ref"])
                found = list(steps(self._schema.pointer_of(part) or ""))
            try:
                part = part[step]
            except (KeyError, IndexError, TypeError):
                return path
            found.append(step)
        return found


class FastFailures:
    """Reads those of jsonschema-rs."""

    def __init__(self, respelt: Respelt) -> None:
        self._written = respelt.written

    def place(self, error: jsonschema_rs.ValidationError) -> Place:
        path = as_written(error.schema_path, self._written)
        keyword = error.kind.name
        if keyword == "falseSchema":
            keyword = str(path[-1]) if path and path[-1] in _MAY_BE_FALSE else "false"
        return keyword, pointer(path), pointer(error.instance_path)

    def failure(self, error: jsonschema_rs.ValidationError) -> ValidationFailure:
        """What `error` says of the schema as it was written."""
        message = error.message
        if error.kind.name == "pattern":
            spelt = str(error.kind.value)
            message = message.replace(spelt, self._written.get(spelt, spelt))
        return ValidationFailure(*self.place(error), short(message))


def as_written(path: Sequence[Any], written: Mapping[str, str]) -> list[Any]:
    """`path`, in a copy of the schema, with the names of ``patternProperties`` as written."""
    if not written:
        return list(path)
    after = [False, *(part == "patternProperties" for part in path)]
    return [
        written.get(part, part) if is_name else part
        for part, is_name in zip(path, after, strict=False)
    ]


def short(message: str) -> str:
    """`message` without its middle: what is quoted stands in front."""
    half = MAX_MESSAGE // 2
    return message if len(message) <= MAX_MESSAGE else f"{message[: half - 1]}…{message[-half:]}"


def first_failures(
    read: Callable[[Any], ValidationFailure], errors: Iterable[Any], most: int
) -> tuple[ValidationFailure, ...]:
    """The first `most`, or those before the validator fails in looking for more."""
    failures: list[ValidationFailure] = []
    with suppress(Exception):  # the verdict stands on the first error alone
        failures.extend(islice(map(read, errors), most))
    return tuple(failures)


def formats_last(errors: Iterable[Any]) -> Iterator[Any]:
    """Errors of jsonschema, those about formats after all others, until it fails."""
    formats = []
    with suppress(Exception):
        for error in errors:
            if error.validator == "format":
                formats.append(error)
            else:
                yield error
    yield from formats
