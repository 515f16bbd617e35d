"""Cases: a schema with values that are valid and invalid under it, and what a source of them is.

A source knows the ids and families of its cases without having read them.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from harness.errors import InputError
from harness.jsontext import strict_json

LATEST: Final = "2020-12"
DRAFTS: Final[Mapping[str, str]] = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    LATEST: "https://json-schema.org/draft/2020-12/schema",
}
"""The drafts in their order, with what ``$schema`` says of each."""

COMPACT: Final[Mapping[str, Any]] = {"separators": (",", ":")}
"""The arguments of `json.dumps` for a text without white space."""


@dataclass(frozen=True)
class Instance:
    """A JSON text to be judged."""

    text: bytes

    @classmethod
    def of(cls, value: object) -> Self:
        """The instance of a JSON value; all is escaped where that has a lone surrogate."""
        try:
            return cls(json.dumps(value, ensure_ascii=False).encode("utf-8"))
        except UnicodeEncodeError:
            return cls(json.dumps(value).encode("ascii"))


EQUAL: Final = "equal"
"""The family of cases that are rewritings of others."""
MARK: Final = "~"
"""Between the id of the other and the name of the rewriting."""


@dataclass(frozen=True)
class Original:
    """What a case is a rewriting of: its schema, and the new `names` of members by the old ones.

    Values are made of this schema, so that both cases are asked about the same ones.
    """

    schema: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Case:
    """A schema as its author wrote it, or a regular expression; instances; `source` says where."""

    id: str
    family: str
    schema: str
    valid: tuple[Instance, ...]
    invalid: tuple[Instance, ...]
    source: str
    about: str = ""
    original: Original | None = None


class CaseSource(ABC):
    """Cases that can be read again and again, always in the order of `index`.

    `sha256` identifies the data; of one file, it is that file's own.
    """

    name: str
    sha256: str
    index: Mapping[str, str]
    """The family of every case by id, in order; known without reading the cases."""

    @abstractmethod
    def read(self, ids: Collection[str]) -> Iterator[Case]:
        """The cases with these ids, one at a time, in order."""

    def with_valid(self, ids: Collection[str]) -> Iterator[str]:
        """Those of the ids whose case has a valid instance, in order."""
        return (case.id for case in self.read(ids) if case.valid)

    def __iter__(self) -> Iterator[Case]:
        return self.read(self.index)


class ListedCases(CaseSource):
    """Cases that are all in memory; in ascending order of id, or as they come if `as_listed`.

    Without a `sha256` their ids and schemas identify them, as they come.
    """

    def __init__(
        self, name: str, cases: Collection[Case], sha256: str = "", *, as_listed: bool = False
    ) -> None:
        if not cases:
            raise InputError(f"{name} holds no case")
        self.name = name
        if not sha256:
            asked = "\0".join(f"{one.id} {one.schema}" for one in cases)
            sha256 = hashlib.sha256(asked.encode()).hexdigest()
        self.sha256 = sha256
        self._cases: dict[str, Case] = {}
        for case in cases if as_listed else sorted(cases, key=lambda case: case.id):
            twin = self._cases.setdefault(case.id, case)
            if twin is not case:
                raise InputError(f"two cases have the id {case.id!r}: {twin.source}, {case.source}")
        self.index = {case.id: case.family for case in self._cases.values()}

    def read(self, ids: Collection[str]) -> Iterator[Case]:
        wanted = set(ids)
        return (case for id_, case in self._cases.items() if id_ in wanted)


_TYPES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    type(None): "null",
}


def schema_text(raw: bytes, where: str) -> str:
    """The text `raw` of a schema, unchanged.

    It is JSON, and an object or a boolean. What is JSON and yet a trap (nested too deep, duplicate
    keys, numbers out of range, lone surrogates) is let through: engines may be tried on it.
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
    """The value of the JSON text `raw`; lone surrogates are let through."""
    try:
        return strict_json.parse(raw, lone_surrogates=True)
    except strict_json.JsonError as error:
        trap = type(error) is not strict_json.JsonError
        hint = 'an instance that must stay as it is written can be given as {"text": "..."}'
        message = f"{where}: {part!r} cannot be read: {error}"
        raise InputError(message, hint if trap else None) from None


def parsed_list(members: Mapping[str, bytes], where: str, part: str) -> list[Any]:
    """The array that is a member of this name, [] where it is missing."""
    values = parsed(members.get(part, b"[]"), where, part)
    if not isinstance(values, list):
        raise InputError(f"{where}: {part!r} is {kind_of(values)}, not an array")
    return values


def kind_of(value: object) -> str:
    """The JSON type of `value`, with its article."""
    kind = type_of(value).replace("integer", "number")
    if kind == "null":
        return kind
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def type_of(value: object) -> str:
    """The type of a JSON value, as ``type`` names it; of a whole number ``integer``."""
    return _TYPES.get(type(value), "number")
