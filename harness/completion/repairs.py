"""Other ends for an invalid document, built to avoid the errors that validators named.

The document is read, each error is repaired in it as a value, and what of it is not yet written
is rendered after what is: a repair of something that is already written changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from harness.completion.container_suffixes import (
    ContainerSuffixes,
    LastWritten,
    close_text,
    in_order,
)
from harness.completion.value_suffixes import (
    ValueSuffix,
    number_rests,
    space_before,
    spelled_rest,
)
from harness.jsontext.lexer import Mode
from harness.jsontext.partial import (
    CONTAINER,
    Cursor,
    Frame,
    Frames,
    Layout,
    load,
    path_of,
    slot_path,
    with_value,
)
from harness.jsontext.pointers import MISSING, child
from harness.schemas.schema import REFERENCES, Fault, Path, count, needed, same
from harness.schemas.variants import Variant, property_names

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
_SLOT_MODES: Final = frozenset((Mode.COLON, Mode.VALUE, Mode.STRING, Mode.LITERAL))


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
        rest = rest_of(suffixes, cursor, fixed)
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
        self._open = {path_of(outer): outer[-1] for outer in _nested(cursor.frames)}

    def apply(self, document: Any, fault: Fault) -> Any:
        """The document with one error repaired, if it can be."""
        keyword, path, where = fault
        target = _at(document, path)
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
        parent: Any = _at(document, path[:-1]) if path else MISSING
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
        high = min((count(one.get("maxProperties")) or len(target) for one in variants), default=0)
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
        if _in_slot(self._cursor) and path == slot_path(self._cursor.frames):
            layout = self._suffixes.layout
            found = [v for v in found if _slot_text(self._cursor, v, layout) is not None]
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


def _at(document: Any, path: Path) -> Any:
    for key in path:
        in_list = isinstance(document, list) and isinstance(key, int) and key < len(document)
        if not in_list and not (isinstance(document, dict) and key in document):
            return MISSING
        document = document[key]
    return document


def _nested(frames: Frames) -> list[Frames]:
    return [frames[: at + 1] for at in range(len(frames))]


def rest_of(suffixes: ContainerSuffixes, cursor: Cursor, document: Any) -> bytes | None:
    """What is left to write of `document` after `cursor`; None when they do not agree."""
    containers = [_at(document, path_of(outer)) for outer in _nested(cursor.frames)]
    for frame, here in zip(cursor.frames, containers, strict=True):
        if not isinstance(here, dict if frame.is_object else list):
            return None
    ended = _ended_value(suffixes.layout, cursor, document)
    if ended is None:
        return None
    text, frames, last_written = ended
    while frames:
        at = len(frames) - 1
        parts = _parts(suffixes, cursor.frames[: at + 1], frames[at], containers[at])
        if last_written is LastWritten.NEED and not parts:
            return None
        is_object = frames[at].is_object
        text += close_text(suffixes.layout, at + 1, parts, last_written, is_object=is_object)
        frames, last_written = with_value(frames[:-1], CONTAINER), LastWritten.AFTER
    return text


def _ended_value(layout: Layout, cursor: Cursor, document: Any) -> ValueSuffix | None:
    mode, frames = cursor.mode, cursor.frames
    if _in_slot(cursor):
        value = _at(document, slot_path(frames))
        found = None if value is MISSING else _slot_text(cursor, value, layout)
        return None if found is None else ValueSuffix(found, with_value(frames, value))
    if mode is Mode.KEY_STRING:
        return _ended_key(layout, cursor, _at(document, path_of(frames)))
    if mode is Mode.KEY:
        return ValueSuffix(space_before(layout, cursor), frames, LastWritten.NEED)
    fresh = mode in (Mode.KEY_OR_CLOSE, Mode.ITEM_OR_CLOSE)
    return ValueSuffix(b"", frames, LastWritten.FRESH if fresh else LastWritten.AFTER)


def _ended_key(layout: Layout, cursor: Cursor, value: dict[str, Any]) -> ValueSuffix | None:
    taken, written = cursor.frames[-1].names, cursor.written
    for name, inner in value.items():
        if name not in taken and name.startswith(written):
            rest = spelled_rest(cursor.state.part, name[len(written) :], layout)
            if rest is not None:
                text = rest + b'":' + layout.colon + layout.dump(inner, len(cursor.frames))
                keyed = cursor.frames[-1]._replace(key=name)
                return ValueSuffix(text, with_value((*cursor.frames[:-1], keyed), inner))
    return None


def _in_slot(cursor: Cursor) -> bool:
    return cursor.mode in _SLOT_MODES or cursor.mode.in_number


def _parts(suffixes: ContainerSuffixes, frames: Frames, top: Frame, value: Any) -> list[bytes]:
    layout, depth = suffixes.layout, len(frames)
    if not top.is_object:
        return [layout.dump(item, depth) for item in value[top.size :]]
    left = {name: inner for name, inner in value.items() if name not in top.names}
    source = suffixes.reference_at(path_of(frames))
    known = list(source) if isinstance(source, dict) else []
    ordered = in_order(left, property_names(suffixes.variants(frames)), known)
    return [layout.member(name, inner, depth) for name, inner in ordered]


def _slot_text(cursor: Cursor, value: Any, layout: Layout) -> bytes | None:
    """The bytes that finish `value` where it is being written; None when it began otherwise."""
    mode = cursor.mode
    if mode is Mode.STRING:
        if not isinstance(value, str) or not value.startswith(cursor.written):
            return None
        rest = spelled_rest(cursor.state.part, value[len(cursor.written) :], layout)
        return None if rest is None else rest + b'"'
    text: bytes = layout.dump(value, len(cursor.frames))
    if mode in (Mode.COLON, Mode.VALUE):
        return space_before(layout, cursor) + text
    if isinstance(value, str) or not text.startswith(cursor.atom):
        return None
    return text[len(cursor.atom) :]
