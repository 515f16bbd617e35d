"""The orders in which the members of an object are first written: as given, or as declared.

What is declared is looked for at the place of the object. Any other order is found from where these
are refused (`harness.jsontext.member_moves`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from harness.jsontext.pointers import objects_in, steps
from harness.jsontext.usual_spellings import ITEM, Order, as_given
from harness.schemas.schema import (
    IN_PLACE,
    REFERENCES,
    Schema,
    applied_below,
    mapping,
    strings,
    subschemas,
)

_MOST_PARTS: Final = 256
"""Subschemas that are looked at in one place, at most."""


def member_orders(schema: Any) -> Sequence[Order]:
    """The orders of members to try under a schema, as parsed, likeliest first."""
    declared = _Declared(schema)
    return as_given, declared.order(), declared.order(required_first=True)


class _Declared:
    """The subschemas of a schema that declare members, by the place of the object."""

    def __init__(self, root: Any) -> None:
        self._schema = Schema(root)
        self._everywhere = [one for one in objects_in(root) if _names(one)]
        self._others = [name for one in self._everywhere for name in mapping(one, "properties")]
        self._others += [name for one in self._everywhere for name in strings(one.get("required"))]
        self._known = {"": self._in_place([root])}

    def order(self, *, required_first: bool = False) -> Order:
        """Members in the order of the subschema that declares most of them, then of all others.

        Those that can apply at the object's place go before any others. After the members that one
        declares come those that one requires, and then the rest.
        """

        @lru_cache
        def order(path: str, names: Sequence[str]) -> Sequence[str]:
            best = self._best(path, names)
            first = strings(best.get("required")) if required_first else names
            return sorted(self._ranked(names, _names(best)), key=lambda name: name not in first)

        return order

    def _ranked(self, names: Sequence[str], first: Sequence[str]) -> list[str]:
        """Names in the order of the `first`, then of what is declared anywhere, then the rest."""
        places = {name: at for at, name in enumerate(dict.fromkeys([*first, *self._others]))}
        return sorted(names, key=lambda name: places.get(name, len(places)))

    def _best(self, path: str, names: Sequence[str]) -> dict[str, Any]:
        """The subschema that declares or requires most of some names, those of the place first."""
        for some in (self._reached(path), self._everywhere):
            best = max(some, key=lambda one: len({*_names(one)} & {*names}), default={})
            if {*_names(best)} & {*names}:
                return best
        return {}

    def _reached(self, path: str) -> list[dict[str, Any]]:
        """The subschemas that can apply at a path, whatever the value is."""
        if path not in self._known:
            above, _, name = path.rpartition("/")
            number = name.removeprefix(ITEM)
            key = int(number) if name != number else steps(f"/{name}")[0]
            found = [one for part in self._reached(above) for one in applied_below(part, key)]
            self._known[path] = self._in_place([one.schema for one in found])
        return self._known[path]

    def _in_place(self, some: Sequence[Any]) -> list[dict[str, Any]]:
        """Some subschemas and all that they apply in the same place."""
        found: dict[int, dict[str, Any]] = {}
        todo = list(some)
        while todo and len(found) < _MOST_PARTS:
            part = todo.pop(0)
            if isinstance(part, dict) and id(part) not in found:
                found[id(part)] = part
                todo += [self._schema.resolve(part[one], part) for one in REFERENCES if one in part]
                todo += [one for path, one in subschemas(part) if path[0] in IN_PLACE]
        return list(found.values())


def _names(schema: dict[str, Any]) -> list[str]:
    """The names that a subschema declares, then those that it only requires."""
    return [*dict.fromkeys([*mapping(schema, "properties"), *strings(schema.get("required"))])]
