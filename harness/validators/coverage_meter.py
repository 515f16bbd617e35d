"""What texts cover of a schema: parts reached, members there and missing, bounds met and missed.

jsonschema-rs says which subschemas it evaluated and found to hold. What is counted here follows
from that alone, so a part that only looks as if it were reached is not: a branch is reached when a
valid text holds it. What lies below ``not``, or below ``contains`` beside ``minContains`` or
``maxContains``, is not told of, and so neither counted nor asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from harness.inputs.vocabulary import alike
from harness.jsontext import strict_json
from harness.jsontext.pointers import escape, follow, steps
from harness.schemas.schema import MAPS, REFERENCES, Schema, kinds, number, subschemas
from harness.validators.coverage import ABSENT, BRANCH, MET, MISSED, PRESENT, SUBSCHEMA, Feature
from harness.validators.drafts import draft_of
from harness.validators.validate import Evaluated, Validators

_BRANCHES: Final = {"anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies"}
_ANNOUNCED: Final = {
    *("items", "additionalItems", "unevaluatedItems", "contains", "propertyNames"),
    *("additionalProperties", "unevaluatedProperties", "if"),
}
"""Keywords of one subschema that an evaluation lists as well, before it."""
_REF_ALONE: Final = {"draft-04", "draft-06", "draft-07"}
"""Drafts in which the siblings of a reference say nothing."""

_MEASURED: Final = {"Length": "string", "Items": "array", "Properties": "object"}
_BOUNDS: Final = {
    **dict.fromkeys(("minimum", "exclusiveMinimum"), ("number", 1)),
    **dict.fromkeys(("maximum", "exclusiveMaximum"), ("number", -1)),
    **{f"min{name}": (kind, 1) for name, kind in _MEASURED.items()},
    **{f"max{name}": (kind, -1) for name, kind in _MEASURED.items()},
}
"""What each bound measures, and the direction in which values are allowed."""


class CoverageMeter:
    """Tells of single texts what they cover of one schema; `possible` is all that they may."""

    def __init__(self, validators: Validators) -> None:
        self._validators = validators
        self._subschemas = _Subschemas(validators.schema)
        self.possible = frozenset(self._possible())

    def _possible(self) -> Iterator[Feature]:
        yield from (Feature(BRANCH, pointer) for pointer in self._subschemas.branches)
        for pointer, schema in self._subschemas.at.items():
            yield Feature(SUBSCHEMA, pointer)
            for name, part in _members(schema).items():
                if part is not False:
                    yield Feature(PRESENT, f"{pointer}/properties/{escape(name)}")
                if name not in (schema.get("required") or ()):
                    yield Feature(ABSENT, f"{pointer}/properties/{escape(name)}")
            for keyword, (_, way) in _BOUNDS.items():
                bound = number(schema.get(keyword))
                if bound is not None:
                    yield Feature(MET, f"{pointer}/{keyword}")
                    if way < 0 or bound > 0 or keyword in ("minimum", "exclusiveMinimum"):
                        yield Feature(MISSED, f"{pointer}/{keyword}")

    def of_text(self, text: bytes) -> frozenset[Feature]:
        """What one text covers; nothing where it is no JSON or jsonschema-rs fails over it."""
        try:
            value = strict_json.parse(text)
        except strict_json.JsonError:
            return frozenset()
        nodes = self._validators.evaluated(value)
        covered = self._of_valid if nodes and nodes[0].valid else self._of_invalid
        return self.possible & frozenset(covered(nodes, value))

    def _of_valid(self, nodes: Sequence[Evaluated], value: Any) -> Iterator[Feature]:
        for node in _of_subschemas(nodes):
            place = self._subschemas.place(node.base, node.pointer)
            schema = self._subschemas.at.get(place)
            if schema is None:
                continue
            yield Feature(SUBSCHEMA, place)
            yield Feature(BRANCH, place)
            part = follow(value, steps(node.instance))
            if isinstance(part, dict):
                for name in _members(schema):
                    kind = PRESENT if name in part else ABSENT
                    yield Feature(kind, f"{place}/properties/{escape(name)}")
            for keyword in _BOUNDS.keys() & schema.keys():
                room = _room(schema, keyword, part)
                excluded = keyword.startswith("exclusive") or (
                    # as draft-04 excludes the bound itself
                    schema.get("exclusive" + keyword[:1].upper() + keyword[1:]) is True
                )
                if room is not None and (0 < room <= 1 if excluded else room == 0):
                    yield Feature(MET, f"{place}/{keyword}")

    def _of_invalid(self, nodes: Sequence[Evaluated], value: Any) -> Iterator[Feature]:
        """The bound that is missed, where nothing else of the same branch is wrong."""
        wrong = [node for node in nodes if node.failed]
        for node in wrong:
            keyword = node.pointer.rpartition("/")[2]
            place = self._subschemas.place(node.base, node.pointer).removesuffix(f"/{keyword}")
            schema = self._subschemas.at.get(place)
            if schema is None or keyword not in _BOUNDS:
                continue
            if all(other is node or _apart(node.path, other.path) for other in wrong):
                room = _room(schema, keyword, follow(value, steps(node.instance)))
                if room is not None and -1 <= room <= 0:
                    yield Feature(MISSED, f"{place}/{keyword}")


def _apart(path: str, other: str) -> bool:
    """Whether two ways of evaluation part at the branches of ``anyOf`` or ``oneOf``."""
    way = steps(path)
    common = alike(way, steps(other))
    return common > 0 and way[common - 1] in ("anyOf", "oneOf")


def _of_subschemas(nodes: Iterable[Evaluated]) -> Iterator[Evaluated]:
    """The nodes that stand for a subschema which holds.

    Those keywords of one subschema that are listed as well have a node at the same place before it,
    whether the subschema was evaluated or not.
    """
    seen: set[tuple[str, str]] = set()
    for node in nodes:
        if node.path.rpartition("/")[2] in _ANNOUNCED:
            before = {(node.path, node.instance), (node.path, node.instance.rpartition("/")[0])}
            keyword = seen.isdisjoint(before) and not _is_name(node.path)
            seen.add((node.path, node.instance))
            if keyword:
                continue
        if node.valid:
            yield node


def _is_name(path: str) -> bool:
    """Whether the last step of a way is a name or an index, which may look like a keyword."""
    *_, holder, _ = ("", *steps(path))
    return holder in MAPS and not _is_name(path.rpartition("/")[0])


def _members(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _room(schema: dict[str, Any], keyword: str, part: Any) -> float | None:
    """How far a value is on the right side of a bound; None where the bound says nothing of it."""
    kind, way = _BOUNDS[keyword]
    bound = number(schema[keyword])
    size = number(part) if kind == "number" else None
    if isinstance(part, str | list | dict) and kind in kinds(part):
        size = len(part)
    try:
        return None if bound is None or size is None else way * (size - bound)
    except OverflowError:
        return None


class _Subschemas:
    """The subschemas that apply somewhere, references followed; booleans are left out.

    `at` has each by its pointer, `branches` the pointers of those that are one of several.
    """

    def __init__(self, root: Any) -> None:
        self.at: dict[str, dict[str, Any]] = {}
        self.branches: set[str] = set()
        self._schema = Schema(root)
        draft = draft_of(root)
        self._ignored = draft.ignored if draft is not None else frozenset[str]()
        self._alone = draft is not None and draft.name in _REF_ALONE
        pending = [("", root)]
        while pending:
            place, schema = pending.pop()
            if isinstance(schema, dict) and place not in self.at:
                self.at[place] = schema
                pending += self._below(place, schema)

    def place(self, base: str, pointer: str) -> str:
        """The pointer from the root of what an embedded schema has at a pointer."""
        home = self._schema.pointer_of(self._schema.resolve(base)) if base else ""
        return (home or "") + pointer

    def _below(self, place: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for keyword in REFERENCES:
            if keyword in schema and keyword not in self._ignored:
                target = self._schema.resolve(schema[keyword], schema)
                pointer = self._schema.pointer_of(target)
                if pointer is not None:
                    yield pointer, target
        if self._alone and "$ref" in schema:
            return
        for keyword, step, part in subschemas(schema):
            told = step or not _untold(keyword, schema)
            if told and keyword not in self._ignored:
                below = f"{place}/{keyword}{step}"
                if keyword in _BRANCHES and isinstance(part, dict):
                    self.branches.add(below)
                yield below, part


def _untold(keyword: str, schema: dict[str, Any]) -> bool:
    """Whether an evaluation never tells of a keyword's subschema, whatever the value."""
    if keyword == "contains":
        return "minContains" in schema or "maxContains" in schema
    return keyword == "not" or (keyword in ("then", "else") and "if" not in schema)
