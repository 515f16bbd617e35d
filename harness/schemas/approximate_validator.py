"""A quick, forgiving guess whether a value is valid under a schema: to order hints by.

It never raises and never proves anything; what it does not know it lets pass.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from harness.jsontext.pointers import MISSING, follow, steps
from harness.schemas.format_patterns import FORMAT_PATTERNS, STRICT_FORMATS
from harness.schemas.patterns import pattern

_MAX_DEPTH = 8
_MAX_NODES = 20_000
_MAX_WORK = 5000
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, but true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return bool(left == right)


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


def number(value: Any) -> float | None:
    """`value` if it is a JSON number, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """`value` if it is a whole number of zero or more, else None."""
    found = number(value)
    if found is None or found < 0 or found > 1e9:
        return None
    return int(found)


@lru_cache(maxsize=1024)
def _expression(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


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


class ApproximateValidator:
    """The guess for one root schema, and the references in it."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._anchors: dict[str, Any] | None = None
        self._found: dict[tuple[str, int], Any] = {}
        self._resources: dict[int, Any] | None = None
        self._work = 0

    def resolve(self, reference: Any, within: Any = None) -> Any:
        """What a reference inside the root points at; None when nothing known.

        Args:
            reference: As it is written.
            within: The schema object that holds it: a fragment alone is looked up in the
                innermost embedded schema with an ``$id`` around it. None looks in the root.
        """
        if not isinstance(reference, str):
            return None
        home = self.root if within is None else self._resource(within)
        key = (reference, id(home))
        if key not in self._found:
            base, _, fragment = reference.partition("#")
            known = self._named(base) if base else home
            self._found[key] = self._inside(known, unquote(fragment))
        return self._found[key]

    def _resource(self, schema: Any) -> Any:
        """The innermost schema with an identifier of its own around a part of the root."""
        if self._resources is None:
            self._resources = _resources(self.root)
        return self._resources.get(id(schema), self.root)

    def _inside(self, schema: Any, fragment: str) -> Any:
        if fragment and not fragment.startswith("/"):
            return self._named("#" + fragment)
        found = follow(schema, steps(fragment))
        return None if found is MISSING else found

    def _named(self, name: str) -> Any:
        if self._anchors is None:
            self._anchors = _names(self.root)
        if name in self._anchors:
            return self._anchors[name]
        last = name.rsplit("/", 1)[-1]
        return next((v for k, v in self._anchors.items() if k.rsplit("/", 1)[-1] == last), None)

    def fits(self, schema: Any, value: Any, depth: int = 0) -> bool:
        """Whether `value` looks valid under `schema`."""
        self._work = self._work - 1 if depth else _MAX_WORK
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._work < 0:
            return schema is not False
        try:
            return (
                _fits_itself(schema, value)
                and self._fits_parts(schema, value, depth + 1)
                and self._fits_applied(schema, value, depth + 1)
            )
        except RecursionError:
            return True

    def _fits_parts(self, schema: dict[str, Any], value: Any, depth: int) -> bool:
        if isinstance(value, dict):
            return self._fits_members(schema, value, depth)
        if isinstance(value, list):
            inner = ((child_schema(schema, at), item) for at, item in enumerate(value[:50]))
            contains = schema.get("contains")
            if contains is not None and not any(self.fits(contains, v, depth) for v in value[:50]):
                return schema.get("minContains") == 0
            return all(self.fits(part, item, depth) for part, item in inner)
        return True

    def _fits_members(self, schema: dict[str, Any], value: dict[str, Any], depth: int) -> bool:
        names = schema.get("propertyNames", True)
        for key, member in list(value.items())[:200]:
            if not self.fits(names, key, depth):
                return False
            if not self.fits(child_schema(schema, key), member, depth):
                return False
        return needed(schema, value).issubset(value)

    def _fits_applied(self, schema: dict[str, Any], value: Any, depth: int) -> bool:
        for keyword in REFERENCES:
            if keyword in schema and not self.fits(self.resolve(schema[keyword]), value, depth):
                return False
        if not all(self.fits(part, value, depth) for part in listed(schema.get("allOf"))):
            return False
        for keyword in ("anyOf", "oneOf"):
            parts = listed(schema.get(keyword))
            passing = sum(self.fits(part, value, depth) for part in parts)
            if parts and (passing == 0 or (keyword == "oneOf" and passing > 1)):
                return False
        if schema.get("not") is True or schema.get("not") == {}:
            return False
        if "if" in schema:
            branch = "then" if self.fits(schema["if"], value, depth) else "else"
            return self.fits(schema.get(branch, True), value, depth)
        return True


def needed(schema: dict[str, Any], present: Any) -> set[str]:
    """The member names that `schema` itself requires beside those `present`."""
    names = set(_strings(schema.get("required")))
    for keyword in ("dependentRequired", "dependencies"):
        rules = schema.get(keyword)
        for key, wanted in rules.items() if isinstance(rules, dict) else ():
            if key in present:
                names.update(_strings(wanted))
    return names


def child_schema(schema: dict[str, Any], key: str | int) -> Any:
    """What `schema` itself asks of a member or an item; False where it may not be."""
    return _item_schema(schema, key) if isinstance(key, int) else _member_schema(schema, key)


def _member_schema(schema: dict[str, Any], key: str) -> Any:
    found = []
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    if isinstance(properties, dict) and key in properties:
        found.append(properties[key])
    if isinstance(patterns, dict):
        found.extend(part for expression, part in patterns.items() if matches(expression, key))
    if found:
        return found[0] if len(found) == 1 else {"allOf": found}
    return schema.get("additionalProperties", _unevaluated(schema, "unevaluatedProperties"))


def _unevaluated(schema: dict[str, Any], keyword: str) -> Any:
    # What sibling subschemas evaluate is unknown here, so they switch the keyword off.
    siblings = ("allOf", "anyOf", "oneOf", "if", "dependentSchemas", *REFERENCES)
    return True if any(name in schema for name in siblings) else schema.get(keyword, True)


def _item_schema(schema: dict[str, Any], index: int) -> Any:
    items = schema.get("items", True)
    rest = items
    first = schema.get("prefixItems")
    if isinstance(items, list):
        first, rest = items, schema.get("additionalItems", True)
    if isinstance(first, list) and index < len(first):
        return first[index]
    return _unevaluated(schema, "unevaluatedItems") if rest is True else rest


def listed(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def types(schema: dict[str, Any]) -> list[str]:
    """The type names that `schema` lists; empty when it does not say."""
    wanted = schema.get("type")
    return [wanted] if isinstance(wanted, str) else _strings(wanted)


def _strings(value: Any) -> list[str]:
    return [item for item in listed(value) if isinstance(item, str)]


def _fits_itself(schema: dict[str, Any], value: Any) -> bool:
    """The keywords that look at the value alone."""
    wanted = types(schema)
    if wanted and not set(wanted).intersection(kinds(value)):
        return False
    if "const" in schema and not same(schema["const"], value):
        return False
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(same(choice, value) for choice in choices):
        return False
    if isinstance(value, str):
        return _fits_string(schema, value)
    if isinstance(value, list | dict):
        return _fits_size(schema, value)
    return number(value) is None or _fits_number(schema, value)


def _fits_string(schema: dict[str, Any], value: str) -> bool:
    low, high = count(schema.get("minLength")), count(schema.get("maxLength"))
    if (low is not None and len(value) < low) or (high is not None and len(value) > high):
        return False
    wanted = schema.get("format")
    if isinstance(wanted, str) and wanted in STRICT_FORMATS:
        return matches(FORMAT_PATTERNS[wanted], value) and matches(schema.get("pattern"), value)
    return matches(schema.get("pattern"), value)


def _fits_size(schema: dict[str, Any], value: list[Any] | dict[str, Any]) -> bool:
    name = "Items" if isinstance(value, list) else "Properties"
    low, high = count(schema.get("min" + name)), count(schema.get("max" + name))
    if (low is not None and len(value) < low) or (high is not None and len(value) > high):
        return False
    if schema.get("uniqueItems") is True and isinstance(value, list):
        pairs = ((a, b) for at, a in enumerate(value[:50]) for b in value[:at])
        return not any(same(a, b) for a, b in pairs)
    return True


def _fits_number(schema: dict[str, Any], value: float) -> bool:
    low, high = number(schema.get("minimum")), number(schema.get("maximum"))
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and (value < low or (over is True and value == low)):
        return False
    if high is not None and (value > high or (under is True and value == high)):
        return False
    above, below = number(over), number(under)
    if (above is not None and value <= above) or (below is not None and value >= below):
        return False
    step = number(schema.get("multipleOf"))
    try:
        return not step or abs(value / step - round(value / step)) < 1e-9
    except (OverflowError, ValueError):
        return False


def _resources(root: Any) -> dict[int, Any]:
    """By identity of each object below an embedded schema with an identifier, that schema."""
    out: dict[int, Any] = {}
    todo = [(root, root)]
    for _ in range(_MAX_NODES):
        if not todo:
            break
        here, home = todo.pop()
        if isinstance(here, dict):
            name = here.get("$id", here.get("id"))
            if isinstance(name, str) and not name.startswith("#"):
                home = here
            out.setdefault(id(here), home)
        values = here.values() if isinstance(here, dict) else here if isinstance(here, list) else ()
        todo.extend((value, home) for value in values)
    return out


def _names(root: Any) -> dict[str, Any]:
    """Every `$id` and `$anchor` of a schema, the anchors with a leading ``#``."""
    out: dict[str, Any] = {}
    todo = [root]
    for _ in range(_MAX_NODES):
        if not todo:
            break
        here = todo.pop()
        if isinstance(here, list):
            todo.extend(reversed(here))
        if not isinstance(here, dict):
            continue
        todo.extend(reversed(list(here.values())))
        for keyword, sign in (("$id", ""), ("id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
            name = here.get(keyword)
            if isinstance(name, str):
                out.setdefault(sign + name.rstrip("#"), here)
    return out
