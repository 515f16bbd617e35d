"""Where in a completed text an error of the validators lies: at the disputed token, or elsewhere.

At fault is the byte with which the error has become certain: what stands after it cannot make up
for it (`harness.explain.earliest_failure`). The bytes that follow, to the end of the wrong scalar,
key or literal, are named with it, its siblings never.

- no JSON: the byte after which no JSON text goes on; the end, where more must come.
- keys that must not be there: from where they are the beginning of no allowed name; where no name
  is left, from the comma before them. Members that must be absent: the key's closing quote.
- surplus items and members: the comma before them, or the first byte of the first.
- all else, and wherever a rule cannot tell: what completes the value: its closing quote or
  bracket, the byte after a number.

Nothing is at fault where the place is not certain: where references hide the way to the keyword
(a validator's pointer is that of the keyword itself, past references), where a condition may be
decided by what is written later, where an empty name may be missing from a path (jsonschema-rs
leaves it out), where several items or names may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Final, NamedTuple

from harness.explain.earliest_failure import EarliestFailure, unknown_keys
from harness.inputs.cases import LATEST
from harness.jsontext.lexer import START, State, advance
from harness.jsontext.partial import Cursor, trace
from harness.jsontext.pointers import typed_steps
from harness.jsontext.spans import Part, ValueSpan, root_of
from harness.schemas.schema import (
    DEFINITIONS,
    FOR_ITEMS,
    FOR_MEMBERS,
    LISTS,
    MAPS,
    REFERENCES,
    Fault,
    Path,
    listed,
    mapping,
    target,
)
from harness.validators.judge import Ruling

MAX_SEARCHES = 2048
"""Texts per position that are looked at; what is left over is not called located."""


def fails_at(text: bytes, start: int, end: int, fault: Fault, schema: Any) -> bool:
    """Whether the token at ``start:end`` of `text` is at fault for an error of the validators.

    `start` is the length of the text for end-of-sequence. `fault` is as either validator names it,
    its keyword ``json`` for what is no JSON. `schema`, parsed, should be the same object each time.
    """
    parts = _parts(text, fault, schema, start)
    if start >= end:
        return any(begin >= len(text) for begin, _ in parts)
    return any(begin < end and stop > start for begin, stop in parts)


def failing_parts(text: bytes, fault: Fault, schema: Any) -> list[Part]:
    """The spans of bytes that are at fault, in order; the end of the text is an empty one."""
    return sorted(set(_parts(text, fault, schema, len(text))))


SHAPED: Final = frozenset(
    (
        "type", "required", "dependentRequired", "minItems", "maxItems", "minProperties",
        "maxProperties", "minLength", "contains", "minContains", "maxContains", "multipleOf", "not",
    )
)  # fmt: skip
"""Keywords of which it does not matter for the place of an error what the scalars say."""

_PLAIN_RUN = re.compile(rb"([0-9]++)|[^0-9\"{}\[\],:+\-. \t\n\r\x00-\x1f]++")


def skeleton(token: bytes) -> bytes:
    """The token with each run of digits as ``0`` and each run of other ordinary bytes as ``a``.

    Two tokens with the same skeleton are both at fault or neither, when they stand after the same
    text, have the same text after them, are invalid with the same fault (keyword and both paths),
    and its keyword is one of `SHAPED`: of such faults only quotes, brackets, commas, and how
    scalars begin and end matter. A token with a backslash is its own skeleton.
    """
    if b"\\" in token:
        return token
    return _PLAIN_RUN.sub(lambda run: b"0" if run[1] else b"a", token)


class _Locator:
    """The search under one schema, parsed; it must not change."""

    def __init__(self, schema: Any) -> None:
        from harness.validators.drafts import draft_of

        self.schema = schema
        draft = draft_of(schema)
        self._draft = LATEST if draft is None else draft.name
        self._pointers = Pointers(schema, self._draft)
        self._rules = EarliestFailure(schema, self._draft)

    def parts(self, text: bytes, fault: Fault, known: int) -> list[Part]:
        """The parts at fault; what decides conditions must be named before byte `known`."""
        keyword, path, where = fault
        chain = _chain(root_of(text), path)
        if chain is None:
            return []
        site = self._pointers.site(where, past_references=keyword == "false")
        if site is None:
            return []
        names = site.of_names
        found = _names(chain[-1], site, self._rules) if names else self._at(chain, site, keyword)
        return [part for part in found if _certain(part, site.conditions, chain, known)]

    def _at(self, chain: Sequence[ValueSpan], site: Site, keyword: str) -> list[Part]:
        node = chain[-1]
        if site.keyword is None:
            whole = site.value is not False or any(not one.steps for one in site.conditions)
            return [node.last] if whole else [_forbidden(chain)]
        if keyword == "false":
            return _false_below(node, site)
        match site.keyword:
            case "items" | "additionalItems" if site.value is False:
                return _surplus_items(chain, site, self._draft)
            case "additionalProperties" | "unevaluatedProperties":
                return self._unknown(node, site)
            case "uniqueItems":
                return _duplicates(node)
        return [self._rules.keyword(site.keyword, node, site.holder) or node.last]

    def _unknown(self, node: ValueSpan, site: Site) -> list[Part]:
        if node.kind != "object" or site.value is not False:
            return [node.last] if site.keyword == "unevaluatedProperties" else []
        if site.keyword == "additionalProperties":
            return list(unknown_keys(node, site.holder))
        named = in_place(self.schema, site.holder)
        return [node.last] if named is None else list(unknown_keys(node, named)) or [node.last]


_known: list[_Locator] = []


def _parts(text: bytes, fault: Fault, schema: Any, known: int) -> list[Part]:
    """The parts at fault; the search is kept for the last few schemas, by identity."""
    if fault[0] == "json":
        return _broken_off(text)
    locator = next((one for one in _known if one.schema is schema), None)
    if locator is None:
        locator = _Locator(schema)
        _known[:] = [*_known[-3:], locator]
    return locator.parts(text, fault, known)


def _chain(root: ValueSpan, path: Sequence[str | int]) -> list[ValueSpan] | None:
    """The values from the root to that at `path`; None where the path may not be the whole one."""
    chain = [root]
    for key in path:
        below = chain[-1].child(key)
        if below is None:
            return None
        chain.append(below)
    if b'""' in root.text and "" not in path and any("" in node.names for node in chain):
        return None
    return chain


def _certain(
    part: Part, conditions: Sequence[Condition], chain: Sequence[ValueSpan], known: int
) -> bool:
    """Whether nothing after the first byte of `part` can undo the conditions of the error."""
    for condition in conditions:
        if condition.steps >= len(chain):
            return False
        node = chain[-1 - condition.steps]
        if part[0] >= node.last[0]:
            continue
        names = condition.names
        if names is None or node.kind == "number":
            return False
        settled = (
            one.name for one in node.members if one.key.end <= known and one.value.end <= part[0]
        )
        if not names <= set(settled):
            return False
    return True


def _names(node: ValueSpan, site: Site, rules: EarliestFailure) -> list[Part]:
    """The names that break what the pointer below ``propertyNames`` leads to."""
    if site.keyword in (None, "propertyNames"):
        forbidden = site.keyword is not None and site.value is False
        return [member.begin for member in node.members if forbidden]
    found = [rules.keyword(str(site.keyword), member.key, site.holder) for member in node.members]
    parts = [part for part in found if part is not None]
    return parts or ([node.members[0].key.last] if len(node.members) == 1 else [])


def _false_below(node: ValueSpan, site: Site) -> list[Part]:
    """What the schema false forbids, of which jsonschema names only what is around it."""
    schemas = site.value
    match site.keyword:
        case "properties":
            return [one.forbidden for one in node.members if schemas.get(one.name) is False]
        case "items" | "prefixItems":
            every = repeat(False) if schemas is False else schemas
            pairs = zip(node.items, every, strict=False)
            return [item.forbidden for item, schema in pairs if schema is False]
        case "patternProperties":
            return [one.forbidden for one in node.members] if len(node.members) == 1 else []
    return [node.last]


def _forbidden(chain: Sequence[ValueSpan]) -> Part:
    """What makes the last value of `chain` exist at all."""
    around = chain[-2].entries if len(chain) > 1 else ()
    found = (one.forbidden for one in around if one.value.start == chain[-1].start)
    return next(found, chain[-1].first)


def _surplus_items(chain: Sequence[ValueSpan], site: Site, draft: str) -> list[Part]:
    """Items that must not be there: jsonschema names the array, jsonschema-rs often the item."""
    node = chain[-1]
    if site.keyword == "items" and len(chain) > 1 and chain[-2].kind == "array":
        return [] if node.kind == "array" else [_forbidden(chain)]
    fixed = site.holder.get("items")
    if site.keyword == "items":
        fixed = site.holder.get("prefixItems") if draft == "2020-12" else None
    return [item.begin for item in node.items[len(listed(fixed)) :]]


def _duplicates(node: ValueSpan) -> list[Part]:
    """What completes every item that was there before."""
    seen: set[Any] = set()
    found = []
    for item in node.items:
        value = _hashable(item.value.value)
        if value in seen:
            found.append(item.value.last)
        seen.add(value)
    return found


def _hashable(value: Any) -> Any:
    """Equal for equal values of JSON: 1 is 1.0, but not true."""
    if isinstance(value, list):
        return ("array", *map(_hashable, value))
    if isinstance(value, dict):
        return frozenset((name, _hashable(one)) for name, one in value.items())
    return (type(value).__name__, value) if isinstance(value, bool) else value


def _broken_off(text: bytes) -> list[Part]:
    """The byte after which no JSON text goes on, or the end that comes too early."""
    here = Cursor()
    for end, further in trace(here, text):
        if further is None:
            return [(end - 1, end)]
        here = further
    return [] if here.state.can_end else [(len(text), len(text))]


class Locating:
    """The search for the failing part, for the texts of one position.

    A false acceptance is *located* where the part of the text that fails lies at the disputed token
    in every attempt, by the first error that a validator names. One text stands for all whose
    tokens have the same `skeleton`.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._known: dict[tuple[int, bytes, str, str, str], bool] = {}
        self._before: State | None = None

    def at_token(
        self,
        text: Callable[[], bytes],
        number: int,
        start: int,
        token: bytes,
        ruling: Ruling,
        end_of_text: bool,
    ) -> bool:
        """Whether the error of an invalid completed text lies at its disputed token.

        `text` gives the whole text, of the completion of this number at this position; `start` is
        where the token begins, and `end_of_text` whether it ends generation.
        """
        keyword = "json" if ruling.reason == "not_json" else ruling.keyword
        if not keyword:
            return False
        if keyword == "json" and not end_of_text:
            return self._breaks(text, start, token)
        shape = skeleton(token) if keyword in SHAPED else token
        key = (number, shape, keyword, ruling.instance_pointer, ruling.schema_pointer)
        if key not in self._known:
            if len(self._known) >= MAX_SEARCHES:
                return False
            fault = (keyword, tuple(typed_steps(key[3])), tuple(typed_steps(key[4])))
            whole = text()
            begin = len(whole) if end_of_text else start
            self._known[key] = fails_at(whole, begin, begin + len(token), fault, self._schema)
        return self._known[key]

    def _breaks(self, text: Callable[[], bytes], start: int, token: bytes) -> bool:
        if self._before is None:
            self._before = advance(START, text()[:start])
        return self._before is None or advance(self._before, token) is None


_JUMPS: Final = frozenset((*DEFINITIONS, "anyOf", "oneOf", "not", "if", "contains"))
"""Keywords that no error's way of evaluation leads through: what is below was referred to."""

_DEPENDENT: Final = frozenset(("dependentSchemas", "dependencies"))
_HIDING: Final = frozenset((*_DEPENDENT, "then", "else", "propertyNames"))
_DATA: Final = frozenset(("enum", "const", "default", "examples", "example"))
_OPAQUE: Final = frozenset(("additionalProperties", "$dynamicRef", "$recursiveRef"))
_MAX_HOPS = 30


class Condition(NamedTuple):
    """That what lies below applies only to some objects."""

    names: frozenset[str] | None
    """The members that decide it; None where something else may."""
    steps: int
    """How many steps in the instance lie below the object that must fulfil it."""


@dataclass(frozen=True)
class Site:
    """Where a pointer leads."""

    holder: Any
    """The schema that has the keyword; the schema itself, where the pointer names one."""
    keyword: str | None
    """None where the pointer names a schema."""
    conditions: tuple[Condition, ...]
    of_names: bool
    """Whether it applies to the names of an object's members."""

    @property
    def value(self) -> Any:
        """The keyword's value, or the schema."""
        return self.holder if self.keyword is None else self.holder[self.keyword]


class Pointers:
    """The pointers into one schema, of the draft of this name."""

    def __init__(self, root: Any, draft: str) -> None:
        self.root = root
        self._id = "id" if draft == "draft-04" else "$id"
        self._hops = 0

    @cached_property
    def clear(self) -> bool:
        """Whether pointers say all that matters.

        Not where a schema has an address of its own or a reference leads to one (pointers may then
        start elsewhere than at the root), nor where a reference lies below a condition, or leads
        there: what it leads to would look unconditional.
        """
        for schema, conditional in _schemas(self.root):
            base = schema.get(self._id)
            own = isinstance(base, str) and not base.startswith("#")
            embedded = own or isinstance(schema.get("$schema"), str)
            if (embedded and schema is not self.root) or _hides(schema, conditional):
                return False
        return True

    def site(self, path: Path, *, past_references: bool = False) -> Site | None:
        """Where a pointer leads; None where nowhere, or not for certain.

        `past_references`: references were passed that the pointer leaves out, as those of
        jsonschema for the schema false do.
        """
        if not self.clear:
            return None
        here, at, self._hops = self.root, 0, 0
        depth, of_names = 0, False
        found: list[tuple[frozenset[str] | None, int]] = []
        keyword: str | None = None
        while at < len(path) and keyword is None:
            key, entry = str(path[at]), path[at + 1] if at + 1 < len(path) else None
            if past_references:
                here = self._referred(here, key)
            if not isinstance(here, dict) or key not in here:
                return None
            at += 1
            if key in _JUMPS and entry is not None:
                depth, of_names, found = 0, False, []
            of_names = of_names or key == "propertyNames"
            found += [(names, depth) for names in _decided_by(here, key, entry)]
            if entry is None:
                keyword = key
                continue
            depth += key in FOR_MEMBERS or key in FOR_ITEMS
            here = here[key]
            if key in MAPS or key in DEFINITIONS or (key in LISTS and isinstance(here, list)):
                here = _entry(here, entry)
                at += 1
        if keyword is None and not isinstance(here, dict | bool):
            return None
        conditions = (Condition(names, depth - above) for names, above in found)
        return Site(here, keyword, tuple(conditions), of_names)

    def _referred(self, schema: Any, key: str) -> Any:
        """The schema with `key`: `schema` itself, or what its reference leads to."""
        while isinstance(schema, dict) and "$ref" in schema:
            self._hops += 1
            if key in DEFINITIONS:
                return schema
            if key in schema or self._hops > _MAX_HOPS:
                return None
            schema = target(self.root, schema["$ref"])
        return schema


def _decided_by(
    schema: dict[str, Any], key: str, entry: str | int | None
) -> tuple[frozenset[str] | None, ...]:
    """The members that decide whether what is below `key` applies; None where others may."""
    if key in ("then", "else"):
        return (deciding(schema.get("if")),)
    if key in _DEPENDENT and isinstance(schema[key], dict) and entry is not None:
        return () if isinstance(schema[key].get(str(entry)), list) else (frozenset((str(entry),)),)
    return ()


def _entry(parts: Any, key: str | int) -> Any:
    if isinstance(parts, list):
        return parts[key] if isinstance(key, int) and key < len(parts) else None
    return parts.get(str(key)) if isinstance(parts, dict) else None


def deciding(schema: Any) -> frozenset[str] | None:
    """The members of an object that decide whether it is valid under `schema`; None if unknown."""
    if isinstance(schema, bool):
        return frozenset()
    if not isinstance(schema, dict):
        return None
    names: set[str] = set()
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                names.update(value)
            case "required" if isinstance(value, list):
                names.update(value)
            case "allOf" | "anyOf" | "oneOf" | "not":
                for part in value if isinstance(value, list) else [value]:
                    below = deciding(part)
                    if below is None:
                        return None
                    names |= below
            case "type" | "title" | "description" | "$comment":
                pass
            case _:
                return None
    return frozenset(names)


def in_place(root: Any, schema: Any) -> dict[str, Any] | None:
    """All that may evaluate members of an object besides ``unevaluatedProperties`` of `schema`.

    A schema whose ``properties`` and ``patternProperties`` are those of `schema` and of all
    schemas that it applies in place; None where one of them takes all members or is unknown.
    """
    names: dict[str, bool] = {}
    patterns: dict[str, bool] = {}
    pending, seen = [schema], set[int]()
    while pending:
        part = pending.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        others = part is not schema and "unevaluatedProperties" in part
        if others or not _OPAQUE.isdisjoint(part):
            return None
        names.update(dict.fromkeys(part.get("properties", ()), True))
        patterns.update(dict.fromkeys(part.get("patternProperties", ()), True))
        for keyword in ("allOf", "anyOf", "oneOf"):
            pending += part.get(keyword, ())
        pending += [part.get(keyword) for keyword in ("if", "then", "else")]
        pending += mapping(part, "dependentSchemas").values()
        if "$ref" in part:
            found = target(root, part["$ref"])
            if found is None:
                return None
            pending.append(found)
    return {"properties": names, "patternProperties": patterns}


def _schemas(root: Any) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every object in a schema that may be one, and whether a condition is above it."""
    pending = [(root, False)]
    while pending:
        part, below = pending.pop()
        if isinstance(part, list):
            pending += [(one, below) for one in part]
        elif isinstance(part, dict):
            yield part, below
            pending += [
                (one, below or name in _HIDING) for name, one in part.items() if name not in _DATA
            ]


def _hides(schema: dict[str, Any], conditional: bool) -> bool:
    """Whether a reference of a schema hides what was passed, or leads where something is hidden."""
    return any(
        conditional or not leads.startswith("#") or not _HIDING.isdisjoint(leads.split("/"))
        for keyword in REFERENCES
        if isinstance(leads := schema.get(keyword), str)
    )
