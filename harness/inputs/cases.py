"""Cases: a schema with values that are valid and invalid under it, and what a source of them is.

A source knows the ids and families of its cases without having read them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from harness.errors import InputError, UsageError, nearest

STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {},
    "compact": {"separators": (",", ":")},
    "indent": {"indent": 2},
}
"""The arguments of `json.dumps` for every style that a value may be written in."""


@dataclass(frozen=True)
class Instance:
    """A JSON text to be judged under a schema.

    `verbatim` texts were given as text, spelling included, and are the same in every style.
    """

    text: bytes
    verbatim: bool = False

    @classmethod
    def of(cls, value: object) -> Self:
        """The instance that stands for a JSON value, written in the default style."""
        return cls(_dump(value, "default"))


def styled(instance: Instance, style: str) -> bytes:
    """The text of `instance` in `style`, one of `STYLES`; a verbatim text is returned as it is.

    Raises:
        UsageError: No such style.
    """
    if style not in STYLES:
        raise UsageError(f"no style {style!r}", nearest(style, STYLES))
    if instance.verbatim or style == "default":
        return instance.text
    return _dump(json.loads(instance.text), style)


def _dump(value: object, style: str) -> bytes:
    """`value` as UTF-8; all escaped where a lone surrogate cannot be written in any other way.

    Such a text stays in the case: whether it is JSON is for the validators to say, and nothing
    is dropped behind the user's back.
    """
    try:
        return json.dumps(value, ensure_ascii=False, **STYLES[style]).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, **STYLES[style]).encode("ascii")


@dataclass(frozen=True)
class Case:
    """A schema, as the JSON text that its author wrote, and instances of both kinds.

    `source` says where it stands, for messages: ``file:line`` or ``archive:member``. `about` is
    its author's remark, or empty.
    """

    id: str
    family: str
    schema: str
    valid: tuple[Instance, ...]
    invalid: tuple[Instance, ...]
    source: str
    about: str = ""


class CaseSource(ABC):
    """Cases that can be read again and again, always in the order of `index`.

    Attributes:
        name: What the data is called in reports.
    """

    name: str

    @property
    @abstractmethod
    def sha256(self) -> str:
        """Hex digest that identifies the data; of one file, that file's own."""

    @property
    @abstractmethod
    def index(self) -> Mapping[str, str]:
        """The family of every case by id, in order; known without reading the cases."""

    @abstractmethod
    def read(self, ids: Collection[str]) -> Iterator[Case]:
        """The cases with these ids, one at a time, in order.

        Raises:
            InputError: A case cannot be used; the message says where it stands.
        """

    def __iter__(self) -> Iterator[Case]:
        return self.read(self.index)

    def __len__(self) -> int:
        return len(self.index)


class ListedCases(CaseSource):
    """Cases that are all in memory; in ascending order of id, or as they come if `as_listed`.

    Raises:
        InputError: There is none, or two have the same id.
    """

    def __init__(
        self, name: str, cases: Collection[Case], sha256: str, *, as_listed: bool = False
    ) -> None:
        if not cases:
            raise InputError(f"{name} holds no case")
        self.name = name
        self._sha256 = sha256
        self._cases: dict[str, Case] = {}
        self._index: dict[str, str] = {}
        for case in cases if as_listed else sorted(cases, key=lambda case: case.id):
            twin = self._cases.setdefault(case.id, case)
            if twin is not case:
                raise InputError(f"two cases have the id {case.id!r}: {twin.source}, {case.source}")
            self._index[case.id] = case.family

    @property
    def sha256(self) -> str:
        """The digest that was given with the cases."""
        return self._sha256

    @property
    def index(self) -> Mapping[str, str]:
        """The family of every case by id, in order."""
        return self._index

    def read(self, ids: Collection[str]) -> Iterator[Case]:
        """The cases with these ids, in order."""
        wanted = set(ids)
        return (case for id_, case in self._cases.items() if id_ in wanted)
