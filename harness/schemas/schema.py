"""One JSON Schema as data: what its references lead to, and which subschemas apply where.

The keywords that hold subschemas are listed here and nowhere else. Nothing here raises, on
whatever schema: what is malformed counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sized
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from harness.jsontext.pointers import MISSING, escape, follow, steps
from harness.schemas.formats import FORMAT_PATTERNS, STRICT_FORMATS
from harness.schemas.patterns import pattern

Path = tuple[str | int, ...]
"""Names of members and indices, from the outside in."""
Fault = tuple[str, Path, Path]
"""An error that a validator names: keyword, path in the instance, path of the keyword."""

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""Keywords with a subschema for each name."""
DEFINITIONS: Final = ("$defs", "definitions")
_NAMED: Final = MAPS.union(DEFINITIONS)
LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
"""Keywords with a list of subschemas."""
FOR_MEMBERS: Final = frozenset(
    ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
)
FOR_ITEMS: Final = frozenset(("items", "prefixItems", "additionalItems", "unevaluatedItems"))
SINGLE: Final = frozenset(
    (
        *("items", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("not", "if", "then", "else", "contentSchema"),
    )
)
IN_PLACE: Final = frozenset(("allOf", "anyOf", "oneOf", "if", "then", "else", "$ref"))
_SIBLINGS: Final = ("allOf", "anyOf", "oneOf", "if", "dependentSchemas", *REFERENCES)
"""Beside these, what they evaluate is not looked at, and ``unevaluated…`` is passed over."""
_NAMES: Final = (("$id", ""), ("id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#"))


class Applied(NamedTuple):
    """A subschema, and where it stands: its pointer goes on with ``/keyword`` and `step`."""

    keyword: str
    step: str
    schema: Any


def subschemas(schema: dict[str, Any], maps: Collection[str] = MAPS) -> Iterator[tuple[Path, Any]]:
    """What stands where `schema` itself has subschemas, in its order; `maps` have them by name."""
    for keyword, value in schema.items():
        if keyword in maps and isinstance(value, dict):
            yield from (((keyword, name), part) for name, part in value.items())
        elif keyword in LISTS and isinstance(value, list):
            yield from (((keyword, index), part) for index, part in enumerate(value))
        elif keyword in SINGLE:
            yield (keyword,), value


def walked(schema: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every subschema with its path, those of definitions too, outermost first."""
    yield path, schema
    for below, inner in subschemas(schema, _NAMED) if isinstance(schema, dict) else ():
        if isinstance(inner, dict | bool) or isinstance(below[-1], int):
            yield from walked(inner, (*path, *below))


def objects(schema: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every subschema that is an object, with its path, outermost first."""
    return ((path, part) for path, part in walked(schema) if isinstance(part, dict))


def applied_below(schema: dict[str, Any], key: str | int) -> list[Applied]:
    """The subschemas that `schema` itself applies to its member or item `key`."""
    return _for_item(schema, key) if isinstance(key, int) else _for_member(schema, key)


def _for_member(schema: dict[str, Any], name: str) -> list[Applied]:
    properties, patterns = mapping(schema, "properties"), mapping(schema, "patternProperties")
    found = [
        Applied("patternProperties", f"/{escape(expression)}", part)
        for expression, part in patterns.items()
        if matches(expression, name)
    ]
    if name in properties:
        found.insert(0, Applied("properties", f"/{escape(name)}", properties[name]))
    return found or _rest(schema, "additionalProperties", "unevaluatedProperties")


def _for_item(schema: dict[str, Any], index: int) -> list[Applied]:
    keyword, rest = "prefixItems", "items"
    if isinstance(schema.get("items"), list):  # a tuple before 2020-12
        keyword, rest = "items", "additionalItems"
    first = listed(schema.get(keyword))
    if index < len(first):
        return [Applied(keyword, f"/{index}", first[index])]
    return _rest(schema, rest, "unevaluatedItems")


def _rest(schema: dict[str, Any], rest: str, unevaluated: str) -> list[Applied]:
    """What applies where no other keyword of a schema says anything."""
    if rest in schema:
        return [Applied(rest, "", schema[rest])]
    if unevaluated in schema and not any(keyword in schema for keyword in _SIBLINGS):
        return [Applied(unevaluated, "", schema[unevaluated])]
    return []


def child_schema(schema: dict[str, Any], key: str | int) -> Any:
    """What `schema` itself asks of a member or an item; False where it may not be."""
    found = [part.schema for part in applied_below(schema, key)]
    return {"allOf": found} if len(found) > 1 else found[0] if found else True


def target(root: Any, reference: Any) -> Any:
    """What a reference that is a pointer into the root leads to; None for every other."""
    if not isinstance(reference, str) or not (reference == "#" or reference[:2] == "#/"):
        return None
    found = MISSING if "%" in reference else follow(root, steps(reference))
    return None if found is MISSING else found


class Schema:
    """One schema, as it was parsed from JSON; it must not change."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._resolved: dict[tuple[str, int], Any] = {}
        self._work = 0

    @cached_property
    def _index(self) -> tuple[dict[int, tuple[str, Any]], dict[str, Any]]:
        """What is known of the parts of the root.

        By identity of each object: its pointer, and the innermost schema with an ``$id`` around it.
        By name every ``$id`` and, with a leading ``#``, every anchor.
        """
        places: dict[int, tuple[str, Any]] = {}
        names: dict[str, Any] = {}
        todo = [("", self.root, self.root)]
        while todo:
            pointer, here, home = todo.pop()
            children: list[tuple[Any, Any]] = []
            if isinstance(here, dict):
                identifier = here.get("$id", here.get("id"))
                if isinstance(identifier, str) and not identifier.startswith("#"):
                    home = here
                places.setdefault(id(here), (pointer, home))
                for keyword, sign in _NAMES:
                    if isinstance(name := here.get(keyword), str):
                        names.setdefault(sign + name.rstrip("#"), here)
                children = list(here.items())
            elif isinstance(here, list):
                children = list(enumerate(here))
            todo += [(f"{pointer}/{escape(key)}", part, home) for key, part in reversed(children)]
        return places, names

    def pointer_of(self, part: Any) -> str | None:
        """The pointer of an object that is a part of the root, by identity."""
        return self._index[0].get(id(part), (None, None))[0]

    def resolve(self, reference: Any, within: Any = None) -> Any:
        """What a reference inside the root points at; None when nothing known.

        A fragment alone is looked up in the innermost schema with an ``$id`` around `within`, the
        schema object that holds the reference, or else in the root.
        """
        if not isinstance(reference, str):
            return None
        home = self.root if within is None else self._index[0].get(id(within), ("", self.root))[1]
        key = (reference, id(home))
        if key not in self._resolved:
            base, _, fragment = reference.partition("#")
            self._resolved[key] = self._inside(self._named(base) if base else home, fragment)
        return self._resolved[key]

    def _inside(self, schema: Any, quoted: str) -> Any:
        fragment = unquote(quoted)
        if fragment and not fragment.startswith("/"):
            return self._named("#" + fragment)
        found = follow(schema, steps(fragment))
        return None if found is MISSING else found

    def _named(self, name: str) -> Any:
        names = self._index[1]
        if name in names:
            return names[name]
        last = name.rsplit("/", 1)[-1]
        return next((part for key, part in names.items() if key.rsplit("/", 1)[-1] == last), None)

    def fits(self, schema: Any, value: Any, depth: int = 0) -> bool:
        """Whether `value` looks valid under `schema`, a part of the root; what is not known passes.

        A quick, forgiving guess, to order hints by; nothing is proven.
        """
        self._work = self._work - 1 if depth else _MAX_WORK
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._work < 0:
            return schema is not False
        try:
            return all(_by_itself(schema, value)) and all(self._by_parts(schema, value, depth + 1))
        except RecursionError:
            return True

    def _by_parts(self, schema: dict[str, Any], value: Any, depth: int) -> Iterator[bool]:
        """What the keywords say that hold schemas."""
        if isinstance(value, dict):
            for key, member in list(value.items())[:200]:
                yield self.fits(schema.get("propertyNames", True), key, depth)
                yield self.fits(child_schema(schema, key), member, depth)
            yield needed(schema, value).issubset(value)
        elif isinstance(value, list):
            contains, items = schema.get("contains"), value[:50]
            if contains is not None and not any(self.fits(contains, v, depth) for v in items):
                yield schema.get("minContains") == 0
            else:
                for at, item in enumerate(items):
                    yield self.fits(child_schema(schema, at), item, depth)
        for keyword in REFERENCES:
            if keyword in schema:
                yield self.fits(self.resolve(schema[keyword]), value, depth)
        for part in listed(schema.get("allOf")):
            yield self.fits(part, value, depth)
        for keyword in ("anyOf", "oneOf"):
            parts = listed(schema.get(keyword))
            passing = sum(self.fits(part, value, depth) for part in parts)
            yield not parts or passing == 1 or (passing > 1 and keyword == "anyOf")
        yield schema.get("not") is not True and schema.get("not") != {}
        if "if" in schema:
            branch = "then" if self.fits(schema["if"], value, depth) else "else"
            yield self.fits(schema.get(branch, True), value, depth)

    def subschema(self, pointer: str, keyword: str) -> dict[str, Any] | None:
        """The subschema at a pointer, or around the `keyword` that it leads to."""
        found = self._at(self._holder(pointer, keyword))
        return found if isinstance(found, dict) else None

    def only_through(self, pointer: str, keyword: str, what: str) -> bool:
        """Whether that subschema applies only by way of something.

        `what` is ``allOf``, one of two or more members; or ``reference``, one that is no pointer.
        """
        place = self._holder(pointer, keyword)
        everywhere, foreign = self._everywhere
        if what == "reference":
            return foreign and place not in everywhere
        return not foreign and place in everywhere and place not in self._past_all_of

    def fewest_references(self, instance_pointer: str) -> int | None:
        """How many references lie on the shortest way to the subschemas of a value.

        Those that the value's own subschema begins with count. None where no subschema is found.
        """
        *_, level = self._levels(instance_pointer)
        own = [number for place, number in level.items() if _reference(self._at(place)) is None]
        return min(own, default=None)

    def around(self, instance_pointer: str) -> Iterator[dict[str, Any]]:
        """The subschemas on the ways to a value, its own, and those of its members and items."""
        levels = [*self._levels(instance_pointer)]
        inside = {pointer: 0 for place in levels[-1] for pointer, _ in self._edges(place)}
        for level in (*levels, self._settled(inside)):
            yield from (part for place in level if isinstance(part := self._at(place), dict))

    def _levels(self, instance_pointer: str) -> Iterator[dict[str, int]]:
        """The places of the subschemas of each value on a way, with the references on it."""
        yield (level := self._settled({"": 0}))
        for part in steps(instance_pointer):
            following: dict[str, int] = {}
            for place, references in level.items():
                for pointer, keyword in self._edges(place):
                    if _leads_to(pointer, place, keyword, part):
                        following[pointer] = min(references, following.get(pointer, references))
            yield (level := self._settled(following))

    def _at(self, pointer: str) -> Any:
        return follow(self.root, steps(pointer))

    def _holder(self, pointer: str, keyword: str) -> str:
        holder, _, last = pointer.rpartition("/")
        if pointer and last == escape(keyword):
            found = self._at(holder)
            if isinstance(found, dict) and keyword in found:
                return holder
        return pointer

    @cached_property
    def _everywhere(self) -> tuple[set[str], bool]:
        """The pointers reached from the root, and whether a reference is no pointer."""
        places = self._reached(conjunctions=True)
        found = (_reference(self._at(place)) for place in places)
        return places, any(one is not None and not _is_local(one) for one in found)

    @cached_property
    def _past_all_of(self) -> set[str]:
        return self._reached(conjunctions=False)

    def _reached(self, *, conjunctions: bool) -> set[str]:
        """The pointers reached from the root, also through ``allOf`` of several or not."""
        seen, pending = {""}, [""]
        while pending:
            place = pending.pop()
            for pointer, keyword in self._edges(place):
                passed = conjunctions or keyword != "allOf" or len(self._at(place)["allOf"]) < 2
                if pointer not in seen and passed:
                    seen.add(pointer)
                    pending.append(pointer)
        return seen

    def _settled(self, level: dict[str, int]) -> dict[str, int]:
        pending = list(level.items())
        while pending:
            place, references = pending.pop()
            if level.get(place, references) < references:
                continue
            for pointer, keyword in self._edges(place):
                there = references + (keyword == "$ref")
                if keyword in IN_PLACE and there < level.get(pointer, there + 1):
                    level[pointer] = there
                    pending.append((pointer, there))
        return level

    def _edges(self, place: str) -> Iterator[tuple[str, str]]:
        here = self._at(place)
        if not isinstance(here, dict):
            return
        reference = _reference(here)
        if reference is not None and _is_local(reference):
            yield reference[1:], "$ref"
        for path, part in subschemas(here):
            if len(path) > 1 or isinstance(part, dict):
                yield place + "".join(f"/{escape(step)}" for step in path), str(path[0])


def _leads_to(pointer: str, place: str, keyword: str, part: str) -> bool:
    step = pointer[len(place) + len(keyword) + 1 :]
    if keyword == "properties":
        return step == f"/{escape(part)}"
    if keyword in FOR_MEMBERS:
        return True
    return part.isdecimal() and keyword in FOR_ITEMS and step in ("", f"/{part}")


def _reference(here: Any) -> str | None:
    found = here.get("$ref") if isinstance(here, dict) else None
    return found if isinstance(found, str) else None


def _is_local(reference: str) -> bool:
    return reference == "#" or reference.startswith("#/")


def listed(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """The texts of a list; empty for every other value."""
    return [item for item in listed(value) if isinstance(item, str)]


def mapping(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    """The value of a keyword if it is an object, else an empty one."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def types(schema: Mapping[str, Any]) -> list[str]:
    """The type names that `schema` lists; empty when it does not say."""
    wanted = schema.get("type")
    return [wanted] if isinstance(wanted, str) else strings(wanted)


def number(value: Any) -> float | None:
    """`value` if it is a JSON number, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """`value` if it is a whole number of zero or more, else None."""
    found = number(value)
    return None if found is None or found < 0 or found > 1e9 else int(found)


def kinds(value: Any) -> tuple[str, ...]:
    """The names that JSON Schema has for the type of `value`."""
    if value is None or isinstance(value, bool):
        return ("null",) if value is None else ("boolean",)
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        return ("integer", "number") if whole else ("number",)
    if isinstance(value, str):
        return ("string",)
    return ("array",) if isinstance(value, list) else ("object",)


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, but true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return bool(left == right)


def matches(expression: Any, text: str) -> bool:
    """Whether `expression` is found in `text`, looking at its first 2,000 characters."""
    if not isinstance(expression, str):
        return True
    automaton = pattern(expression)
    if automaton is not None and len(text) <= 2000:
        state = automaton.walk(automaton.start, text)
        if not automaton.accepts(state):
            return False
    if not re.search(r"\(\?<?[=!]|\\\d|\\b", expression):
        return automaton is not None or _expression(expression) is None
    compiled = _expression(expression)
    return compiled is None or len(text) > 200 or bool(compiled.search(text))


@lru_cache(maxsize=1024)
def _expression(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


_MAX_DEPTH = 8
_MAX_WORK = 5000


def needed(schema: dict[str, Any], present: Any) -> set[str]:
    """The member names that `schema` itself requires beside those `present`."""
    names = set(strings(schema.get("required")))
    for keyword in ("dependentRequired", "dependencies"):
        for key, wanted in mapping(schema, keyword).items():
            if key in present:
                names.update(strings(wanted))
    return names


def _by_itself(schema: dict[str, Any], value: Any) -> Iterator[bool]:
    """What the keywords say that look at the value alone."""
    wanted, choices = types(schema), schema.get("enum")
    yield not wanted or not set(wanted).isdisjoint(kinds(value))
    yield "const" not in schema or same(schema["const"], value)
    yield not isinstance(choices, list) or any(same(choice, value) for choice in choices)
    if isinstance(value, str):
        form = schema.get("format")
        strict = isinstance(form, str) and form in STRICT_FORMATS
        yield _has_room(schema, "Length", value)
        yield not strict or matches(FORMAT_PATTERNS[str(form)], value)
        yield matches(schema.get("pattern"), value)
    elif isinstance(value, dict):
        yield _has_room(schema, "Properties", value)
    elif isinstance(value, list):
        yield _has_room(schema, "Items", value)
        if schema.get("uniqueItems") is True:
            pairs = ((a, b) for at, a in enumerate(value[:50]) for b in value[:at])
            yield not any(same(a, b) for a, b in pairs)
    elif number(value) is not None:
        yield from _within(schema, value)


def _has_room(schema: dict[str, Any], name: str, value: Sized) -> bool:
    low, high = count(schema.get("min" + name)), count(schema.get("max" + name))
    return (low is None or len(value) >= low) and (high is None or len(value) <= high)


def _within(schema: dict[str, Any], value: float) -> Iterator[bool]:
    low, high = number(schema.get("minimum")), number(schema.get("maximum"))
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    above, below = number(over), number(under)
    yield low is None or value > low or (value == low and over is not True)
    yield high is None or value < high or (value == high and under is not True)
    yield (above is None or value > above) and (below is None or value < below)
    step = number(schema.get("multipleOf"))
    with suppress(OverflowError, ValueError):
        yield not step or abs(value / step - round(value / step)) < 1e-9
        return
    yield False
