"""Lookups in a schema as it is stored: what stands at a pointer, and how one can get there.

Only references of the form ``#`` or ``#/…`` are followed; all others count as foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from harness.jsontext.pointers import escape, follow, steps

Schema = Mapping[str, Any]
Edge = tuple[str, str]
"""A subschema's pointer, and the keyword that applies it."""

_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SINGLE: Final = frozenset(
    {
        *("items", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("not", "if", "then", "else"),
    }
)
_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "$ref"})
_OTHER_MEMBERS: Final = frozenset(
    {"patternProperties", "additionalProperties", "unevaluatedProperties"}
)
_OTHER_ITEMS: Final = frozenset({"additionalItems", "unevaluatedItems"})


class SchemaLookup:
    """Answers about one schema, as it was parsed from JSON."""

    def __init__(self, root: Any) -> None:
        self.root = root

    def subschema(self, pointer: str, keyword: str) -> Schema | None:
        """The subschema that a verdict's pointer is about.

        Args:
            pointer: Leads to a subschema, or to `keyword` in one (RFC 6901).
            keyword: What the pointer ends with where it leads to a keyword.

        Returns:
            None where the pointer leads nowhere or to no object.
        """
        found = _at(self.root, self._place(pointer, keyword))
        return found if isinstance(found, dict) else None

    def only_through(self, pointer: str, keyword: str, what: str) -> bool:
        """Whether the subschema at `pointer` applies only by way of something.

        Args:
            pointer: As for `subschema`.
            keyword: As for `subschema`.
            what: ``allOf``, one of two or more members; or ``reference``, a foreign one.
        """
        place = self._place(pointer, keyword)
        everywhere, foreign = self._everywhere
        if what == "reference":
            return foreign and place not in everywhere
        return not foreign and place in everywhere and place not in self._past_all_of

    def fewest_references(self, instance_pointer: str) -> int | None:
        """How many references lie on the shortest way to the subschemas of a value.

        The shortest way is the one with the fewest references, counting those that the value's
        own subschema begins with. None where no subschema is found for the value.
        """
        level = _settled(self.root, {"": 0})
        for part in steps(instance_pointer):
            following: dict[str, int] = {}
            for place, count in level.items():
                for pointer, keyword in _edges(self.root, place):
                    if _leads_to(pointer, place, keyword, part):
                        following[pointer] = min(count, following.get(pointer, count))
            level = _settled(self.root, following)
        own = [count for place, count in level.items() if not _is_reference(_at(self.root, place))]
        return min(own, default=None)

    def _place(self, pointer: str, keyword: str) -> str:
        """The pointer of the subschema itself."""
        holder, _, last = pointer.rpartition("/")
        if pointer and last == escape(keyword):
            found = _at(self.root, holder)
            if isinstance(found, dict) and keyword in found:
                return holder
        return pointer

    @cached_property
    def _everywhere(self) -> tuple[set[str], bool]:
        return _reached(self.root, lambda _keyword, _siblings: True)

    @cached_property
    def _past_all_of(self) -> set[str]:
        return _reached(self.root, lambda used, siblings: used != "allOf" or siblings < 2)[0]


def _leads_to(pointer: str, place: str, keyword: str, part: str) -> bool:
    """Whether an edge applies a subschema to the member or item `part`."""
    name = pointer[len(place) :]
    if keyword == "properties":
        return name == f"/properties/{escape(part)}"
    if keyword in _OTHER_MEMBERS:
        return True
    if not part.isdecimal():
        return False
    if keyword == "prefixItems" or (keyword == "items" and name != "/items"):
        return name == f"/{keyword}/{part}"
    return keyword == "items" or keyword in _OTHER_ITEMS


def _settled(root: Any, level: dict[str, int]) -> dict[str, int]:
    """`level` with all that is applied in place, each with its fewest references."""
    pending = list(level.items())
    while pending:
        place, count = pending.pop()
        if level.get(place, count) < count:
            continue
        for pointer, keyword in _edges(root, place):
            there = count + (keyword == "$ref")
            if keyword in _IN_PLACE and there < level.get(pointer, there + 1):
                level[pointer] = there
                pending.append((pointer, there))
    return level


def _reached(root: Any, may: Callable[[str, int], bool]) -> tuple[set[str], bool]:
    """The pointers reached from the root, and whether there is a foreign reference among them.

    Args:
        root: The whole schema.
        may: Whether an edge may be used, by its keyword and the number of its siblings.
    """
    seen, foreign = {""}, False
    pending = [""]
    while pending:
        place = pending.pop()
        here = _at(root, place)
        foreign = foreign or (_is_reference(here) and not _is_local(here["$ref"]))
        for pointer, keyword in _edges(root, place):
            value = here[keyword]
            siblings = len(value) if isinstance(value, list) else 1
            if pointer not in seen and may(keyword, siblings):
                seen.add(pointer)
                pending.append(pointer)
    return seen, foreign


def _edges(root: Any, place: str) -> Iterator[Edge]:
    """The subschemas that the one at `place` applies."""
    here = _at(root, place)
    if not isinstance(here, dict):
        return
    if _is_reference(here) and _is_local(here["$ref"]):
        yield here["$ref"][1:], "$ref"
    for keyword, value in here.items():
        base = f"{place}/{escape(keyword)}"
        if keyword in _MAPS and isinstance(value, dict):
            for name in value:
                yield f"{base}/{escape(name)}", keyword
        elif keyword in _LISTS and isinstance(value, list):
            for index in range(len(value)):
                yield f"{base}/{index}", keyword
        elif keyword in _SINGLE and isinstance(value, dict):
            yield base, keyword


def _at(root: Any, pointer: str) -> Any:
    return follow(root, steps(pointer))


def _is_reference(here: Any) -> bool:
    return isinstance(here, dict) and isinstance(here.get("$ref"), str)


def _is_local(reference: str) -> bool:
    return reference == "#" or reference.startswith("#/")
