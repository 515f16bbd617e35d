"""The orders in which an engine may write the members of an object: as given, declared, its own.

What is declared is looked for at the place of the object: two subschemas may declare the same names
in different orders, and then each of these is an order to try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from harness.jsontext.pointers import objects_in, steps
from harness.jsontext.usual_spellings import ITEM, Order, as_given, ordered_as, orders_of
from harness.schemas.schema import (
    IN_PLACE,
    REFERENCES,
    Schema,
    applied_below,
    mapping,
    strings,
    subschemas,
)

_RANKS: Final = 3
"""Orders that are tried of subschemas that declare equally many names of an object."""
_MOST_PARTS: Final = 256
"""Subschemas that are looked at in one place, at most."""


def member_orders(
    schema: Any, samples: Iterable[tuple[int, bytes]]
) -> Callable[[int], Sequence[Order]]:
    """The orders of members to try, by engine, likeliest first.

    Args:
        schema: As parsed.
        samples: Texts that engines wrote themselves, by engine: they show its own order.
    """
    written: dict[int, dict[str, list[str]]] = {}
    for engine, text in samples:
        for path, names in orders_of(text).items():
            known, at = written.setdefault(engine, {}).setdefault(path, []), 0
            for name in names:  # one that was not seen before stands after the one before it
                if name not in known:
                    known.insert(at, name)
                at = known.index(name) + 1
    declared = _Declared(schema)
    every: list[Order] = [as_given, declared.order(0), declared.order(0, required_first=True)]
    every.append(declared.merged())
    own = {engine: [*every, ordered_as(names)] for engine, names in written.items()}
    further = [*map(declared.order, range(1, _RANKS)), *map(declared.branch_first, range(_RANKS))]
    return lambda engine: [*own.get(engine, every), *further]


class _Declared:
    """The subschemas of a schema that declare members, by the place of the object."""

    def __init__(self, root: Any) -> None:
        self._schema = Schema(root)
        self._everywhere = [one for one in objects_in(root) if _names(one)]
        self._others = [name for one in self._everywhere for name in mapping(one, "properties")]
        self._others += [name for one in self._everywhere for name in strings(one.get("required"))]
        self._known = {"": self._in_place([root])}

    def order(self, rank: int, *, required_first: bool = False) -> Order:
        """Members in the order of the subschema that declares most of them, then of all others.

        Of subschemas that declare equally many it is the one of that `rank`; those that can apply
        at the object's place go before any others. After the members that one declares come those
        that one requires, and then the rest.
        """

        @lru_cache
        def order(path: str, names: Sequence[str]) -> Sequence[str]:
            best = self._best(path, names, rank)
            first = strings(best.get("required")) if required_first else names
            return sorted(self._ranked(names, _names(best)), key=lambda name: name not in first)

        return order

    def merged(self) -> Order:
        """Members as all subschemas of their place declare them that are made one.

        What a subschema applies whatever the value is comes before its own members, and what its
        branches declare after them, as llguidance 1.9 has it.
        """

        @lru_cache
        def order(path: str, names: Sequence[str]) -> Sequence[str]:
            seen: set[int] = set()
            known = [name for part in self._reached(path) for name in self._together(part, seen)]
            return self._ranked(names, known)

        return order

    def branch_first(self, rank: int) -> Order:
        """Members as a branch declares them, then as all other subschemas do.

        So llguidance 1.9 has it where ``anyOf`` is written before ``properties``. Of the branches
        it is the one of that `rank` by how many of the names it declares.
        """

        @lru_cache
        def order(path: str, names: Sequence[str]) -> Sequence[str]:
            branches = [one for part in self._reached(path) for one in self._branches(part)]
            met = [known for one in branches if {*(known := _names(one))} & {*names}]
            met.sort(key=lambda known: -len({*known} & {*names}))
            return self._ranked(names, met[rank] if rank < len(met) else names)

        return order

    def _ranked(self, names: Sequence[str], first: Sequence[str]) -> list[str]:
        """Names in the order of the `first`, then of what is declared anywhere, then the rest."""
        places = {name: at for at, name in enumerate(dict.fromkeys([*first, *self._others]))}
        return sorted(names, key=lambda name: places.get(name, len(places)))

    def _together(self, part: dict[str, Any], seen: set[int]) -> Iterator[str]:
        """The names that a subschema declares with all that it applies, but for those `seen`."""
        if id(part) not in seen:
            seen.add(id(part))
            always, branches = self._applied(part)
            for one in always:
                yield from self._together(one, seen)
            yield from mapping(part, "properties")
            for one in branches:
                yield from self._together(one, seen)

    def _best(self, path: str, names: Sequence[str], rank: int) -> dict[str, Any]:
        """The subschema of that rank among those that declare or require most of some names."""
        for some in (self._reached(path), self._everywhere):
            tied: dict[tuple[str, ...], dict[str, Any]] = {}
            for one in some:
                tied.setdefault(tuple(name for name in _names(one) if name in names), one)
            most = max(map(len, tied), default=0)
            if best := [one for found, one in tied.items() if len(found) == most > 0]:
                return best[rank % len(best)]
        return {}

    def _reached(self, path: str) -> list[dict[str, Any]]:
        """The subschemas that can apply at a path, whatever the value is."""
        if path not in self._known:
            above, _, name = path.rpartition("/")
            found = [
                one.schema
                for part in self._reached(above)
                for key in (_items(part) if name == ITEM else steps(f"/{name}"))
                for one in applied_below(part, key)
            ]
            self._known[path] = self._in_place(found)
        return self._known[path]

    def _in_place(self, some: Sequence[Any]) -> list[dict[str, Any]]:
        """Some subschemas and all that they apply in the same place."""
        found: dict[int, dict[str, Any]] = {}
        todo = list(some)
        while todo and len(found) < _MOST_PARTS:
            part = todo.pop(0)
            if isinstance(part, dict) and id(part) not in found:
                found[id(part)] = part
                todo += [one for some in self._applied(part) for one in some]
        return list(found.values())

    def _branches(self, part: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for one in subschemas(part):
            if one.keyword in ("anyOf", "oneOf") and isinstance(one.schema, dict):
                yield one.schema

    def _applied(self, part: dict[str, Any]) -> list[list[dict[str, Any]]]:
        """The subschemas that one applies in its place: whatever the value is, and as branches."""
        always = [self._schema.resolve(part[one], part) for one in REFERENCES if one in part]
        branches: list[Any] = []
        for one in subschemas(part):
            if one.keyword in IN_PLACE:
                (always if one.keyword in ("allOf", "oneOf") else branches).append(one.schema)
        return [[one for one in some if isinstance(one, dict)] for some in (always, branches)]


def _names(schema: dict[str, Any]) -> list[str]:
    """The names that a subschema declares, then those that it only requires."""
    return [*dict.fromkeys([*mapping(schema, "properties"), *strings(schema.get("required"))])]


def _items(schema: dict[str, Any]) -> range:
    """Places of items that may each have a subschema of their own: in a tuple, and one behind."""
    tuples = (schema.get(one) for one in ("prefixItems", "items"))
    return range(1 + max((len(one) for one in tuples if isinstance(one, list)), default=0))
