"""Other ends for an invalid document, built to avoid the errors that validators named.

Each error is repaired in the document as a value, and what of it is not yet written is rendered
after what is: a repair of something that is already written changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from harness.completion.container_suffixes import ContainerSuffixes
from harness.completion.value_suffixes import number_rests
from harness.jsontext.lexer import Mode
from harness.jsontext.partial import Cursor, Frame, load, path_of, slot_path
from harness.jsontext.pointers import MISSING, child, part_at
from harness.jsontext.remaining import in_slot, nested, rest_of, slot_text
from harness.schemas.schema import REFERENCES, Fault, Path, count, needed, same
from harness.schemas.variants import Variant

_ROUNDS = 4
_MAX_FAULTS = 32
_LACKING: Final = frozenset(
    ("required", "dependentRequired", "dependencies", "minProperties", "minItems", "contains")
)
_TOO_MANY: Final = frozenset(
    (
        *("additionalProperties", "unevaluatedProperties", "propertyNames", "patternProperties"),
        *("maxProperties", "additionalItems", "unevaluatedItems", "items", "maxItems"),
        "uniqueItems",
    )
)


def repaired(
    suffixes: ContainerSuffixes, cursor: Cursor, text: bytes, errors: Sequence[Fault]
) -> list[bytes]:
    """Continuations that avoid `errors`, likeliest first.

    What stands before `cursor` is fixed; `text` is the whole document that was found invalid.
    """
    try:
        document = load(text)
    except ValueError:
        return []
    out = []
    for nth in range(_ROUNDS):
        fixed, repair = copy.deepcopy(document), _Repair(suffixes, cursor, nth)
        for fault in list(dict.fromkeys(errors))[:_MAX_FAULTS]:
            fixed = repair.apply(fixed, fault)
        rest = rest_of(suffixes.layout, cursor, fixed, suffixes.arranged)
        if rest is not None:
            out.append(rest)
    return out


class _Repair:
    """One round of repairs: the `nth` example is taken wherever there is a choice."""

    def __init__(self, suffixes: ContainerSuffixes, cursor: Cursor, nth: int) -> None:
        self._suffixes = suffixes
        self._values = suffixes.values
        self._cursor = cursor
        self._nth = nth
        self._open = {path_of(outer): outer[-1] for outer in nested(cursor.frames)}

    def apply(self, document: Any, fault: Fault) -> Any:
        """The document with one error repaired, if it can be."""
        keyword, path, where = fault
        target = part_at(document, path)
        if target is MISSING:
            return document
        schemas = self._schemas(keyword, path, where)
        if isinstance(target, list | dict):
            before = copy.deepcopy(target)
            for schema in schemas:
                if keyword in _LACKING:
                    self._add(target, schema, path)
                elif keyword in _TOO_MANY:
                    self._drop(target, schema, path, keyword)
                if not same(before, target):
                    return document
            if keyword in _LACKING:
                return document
        parent: Any = part_at(document, path[:-1]) if path else MISSING
        if isinstance(parent, dict) and any(schema is False for schema in schemas):
            del parent[path[-1]]
            return document
        value = self._instead(target, schemas, path)
        if parent is MISSING:
            return value
        parent[path[-1]] = value
        return document

    def _schemas(self, keyword: str, path: Path, where: Path) -> list[Any]:
        """The failing schema, then every schema that may apply at `path`."""
        here: Any = self._values.root
        if where and str(where[-1]) == keyword:
            where = where[:-1]
        for key in where:
            here = child(here, str(key))
            if key in REFERENCES:
                here = self._values.resolve(here)
        known = [here] if isinstance(here, dict | bool) else []
        return [*known, *self._values.subschemas_at(path)]

    def _add(self, target: Any, schema: Any, path: Path) -> None:
        variants = self._values.variants(schema)
        if not variants:
            return
        variant = variants[self._nth % 2 if len(variants) > 1 else 0]
        if isinstance(target, list):
            target += self._values.more_items(variant, target)
        else:
            found = dict(self._values.missing(variant, target))
            target.update({name: self._member(path, name, v) for name, v in found.items()})

    def _member(self, path: Path, name: str, value: Any) -> Any:
        """A value for a new member: `value`, or better what all schemas of the place like."""
        variants = self._values.subschemas_at((*path, name))
        found = [v for variant in variants for v in self._values.examples(variant)[:2]]
        return found[self._nth % len(found)] if found else value

    def _drop(self, target: Any, schema: Any, path: Path, keyword: str) -> None:
        frame = self._open.get(path)
        if isinstance(target, list):
            self._shorten(target, schema, frame.size if frame else 0, keyword)
            return
        fixed: set[str | None] = {*frame.names, frame.key} if frame else set()
        variants = self._values.variants(schema)
        wanted = set[str]().union(*(needed(variant, target) for variant in variants))
        for name in [name for name in target if name not in fixed]:
            if self._unwelcome(name, schema, variants, keyword):
                del target[name]
        spare = [name for name in target if name not in fixed and name not in wanted]
        most = (count(one.get("maxProperties")) for one in variants)
        high = min((len(target) if one is None else one for one in most), default=0)
        while keyword == "maxProperties" and spare and len(target) > high:
            del target[spare.pop()]

    def _unwelcome(self, name: str, schema: Any, among: tuple[Variant, ...], keyword: str) -> bool:
        if keyword == "propertyNames" and isinstance(schema, dict):
            return not self._values.fits(schema.get("propertyNames"), name)
        return all(self._values.child(variant, name) is False for variant in among)

    def _shorten(self, target: list[Any], schema: Any, fixed: int, keyword: str) -> None:
        if keyword == "uniqueItems":
            kept = target[:fixed]
            for item in target[fixed:]:
                if not any(same(item, other) for other in kept):
                    kept.append(item)
            target[:] = kept
            return
        if not isinstance(schema, dict):
            return
        high = count(schema.get("maxItems"))
        if high is None:
            forbidden = (at for at in range(len(target)) if self._values.child(schema, at) is False)
            high = next(forbidden, len(target))
        del target[max(fixed, high) :]

    def _instead(self, target: Any, schemas: list[Any], path: Path) -> Any:
        """Another value for the place of `target`, keeping what of it is written."""
        frame = self._open.get(path)
        if frame is not None:
            return self._refilled(target, schemas, frame)
        found = [v for schema in schemas for v in self._values.examples(schema)]
        if in_slot(self._cursor) and path == slot_path(self._cursor.frames):
            layout = self._suffixes.layout
            found = [v for v in found if slot_text(self._cursor, v, layout) is not None]
            found += self._numbers(schemas)
        found = [value for value in found if not same(value, target)]
        return found[self._nth % len(found)] if found else target

    def _numbers(self, schemas: list[Any]) -> list[Any]:
        atom, mode = self._cursor.atom, self._cursor.mode
        if not mode.in_number or not schemas:
            return []
        rests = number_rests(atom, mode, lambda value: self._values.fits(schemas[0], value))
        return [load(atom + rest.encode()) for rest in rests]

    def _refilled(self, target: Any, schemas: list[Any], frame: Frame) -> Any:
        variants = [variant for schema in schemas for variant in self._values.variants(schema)]
        if not variants:
            return target
        variant = variants[self._nth % len(variants)]
        if isinstance(target, list):
            kept = target[: frame.size + 1]
            return kept + self._values.more_items(variant, kept)
        written = {n: v for n, v in target.items() if n in frame.names or n == frame.key}
        if frame is self._cursor.frames[-1] and self._cursor.mode is Mode.KEY_STRING:
            begun = (name for name in target if name.startswith(self._cursor.written))
            written.update((name, target[name]) for name in list(begun)[:1])
        return {**written, **dict(self._values.missing(variant, written))}
