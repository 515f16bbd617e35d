"""What is left to write of a value after a started text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Final, NamedTuple

from harness.jsontext.lexer import Mode
from harness.jsontext.partial import (
    CONTAINER,
    Cursor,
    Frames,
    Layout,
    path_of,
    slot_path,
    with_value,
)
from harness.jsontext.pointers import MISSING, part_at

_SLOT_MODES: Final = frozenset((Mode.COLON, Mode.VALUE, Mode.STRING, Mode.LITERAL))

Arranged = Callable[[Frames, dict[str, Any]], Iterable[tuple[str, Any]]]
"""The members of an object in the order in which to write them; the frames end with its own."""


class LastWritten(Enum):
    """What stands before the first member or item still to come of the innermost container."""

    AFTER = "a value: a comma comes first"
    FRESH = "the opening bracket: no comma"
    NEED = "a comma: one more must come"


class ValueSuffix(NamedTuple):
    """A text that finishes what is being written."""

    text: bytes
    frames: Frames
    """The open containers after it."""
    last_written: LastWritten = LastWritten.AFTER


def rest_of(
    layout: Layout, cursor: Cursor, document: Any, arranged: Arranged | None = None
) -> bytes | None:
    """What is left to write of `document` after `cursor`; None when they do not agree.

    Members come in their own order, or are `arranged`.
    """
    containers = [part_at(document, path_of(outer)) for outer in nested(cursor.frames)]
    for frame, here in zip(cursor.frames, containers, strict=True):
        if not isinstance(here, dict if frame.is_object else list):
            return None
    ended = _ended_value(layout, cursor, document)
    if ended is None:
        return None
    text, frames, last_written = ended
    while frames:
        depth, top, here = len(frames), frames[-1], containers[len(frames) - 1]
        if top.is_object:
            left = {name: inner for name, inner in here.items() if name not in top.names}
            members = left.items() if arranged is None else arranged(cursor.frames[:depth], left)
            parts = [layout.member(name, inner, depth) for name, inner in members]
        else:
            parts = [layout.dump(item, depth) for item in here[top.size :]]
        if last_written is LastWritten.NEED and not parts:
            return None
        text += close_text(layout, depth, parts, last_written, is_object=top.is_object)
        frames, last_written = with_value(frames[:-1], CONTAINER), LastWritten.AFTER
    return text


def close_text(
    layout: Layout, depth: int, parts: list[bytes], last_written: LastWritten, *, is_object: bool
) -> bytes:
    """The text that ends the innermost of `depth` containers with the given members or items."""
    bracket = b"}" if is_object else b"]"
    if last_written is LastWritten.FRESH and not parts:
        return bracket
    start = {
        LastWritten.AFTER: b"," + layout.between(depth) if parts else b"",
        LastWritten.FRESH: layout.edge(depth),
        LastWritten.NEED: b"",
    }[last_written]
    inner = (b"," + layout.between(depth)).join(parts)
    return start + inner + layout.edge(depth - 1) + bracket


def _ended_value(layout: Layout, cursor: Cursor, document: Any) -> ValueSuffix | None:
    mode, frames = cursor.mode, cursor.frames
    if in_slot(cursor):
        value = part_at(document, slot_path(frames))
        found = None if value is MISSING else slot_text(cursor, value, layout)
        return None if found is None else ValueSuffix(found, with_value(frames, value))
    if mode is Mode.KEY_STRING:
        return _ended_key(layout, cursor, part_at(document, path_of(frames)))
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


def in_slot(cursor: Cursor) -> bool:
    """Whether a value is being written, or comes next."""
    return cursor.mode in _SLOT_MODES or cursor.mode.in_number


def slot_text(cursor: Cursor, value: Any, layout: Layout) -> bytes | None:
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


def nested(frames: Frames) -> list[Frames]:
    """The frames of each open container, outermost first."""
    return [frames[: at + 1] for at in range(len(frames))]


def spelled_rest(pending: bytes, rest: str, layout: Layout) -> bytes | None:
    """The bytes that write `rest` after `pending`, the started spelling of its first character.

    None when no spelling of that character begins so.
    """
    if not pending:
        return layout.inside(rest)
    if not rest:
        return None
    raw = rest[0].encode("utf-8", "surrogatepass")
    for spelling in _escapes(rest[0]) if pending[0] == ord("\\") else (raw,):
        if spelling[: len(pending)].lower() == pending.lower():
            return spelling[len(pending) :] + layout.inside(rest[1:])
    return None


def _escapes(char: str) -> Iterator[bytes]:
    yield json.dumps(char)[1:-1].encode()
    units = char.encode("utf-16-be", "surrogatepass").hex()
    yield "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)).encode()
    if char == "/":
        yield b"\\/"


def space_before(layout: Layout, cursor: Cursor) -> bytes:
    """What comes before the key or value that is next, a colon included where one is due."""
    depth = len(cursor.frames)
    if cursor.mode is Mode.COLON:
        return b":" + layout.colon
    if cursor.spaced or not depth:
        return b""
    if cursor.mode is Mode.ITEM_OR_CLOSE:
        return layout.edge(depth)
    in_member = cursor.mode is Mode.VALUE and cursor.frames[-1].is_object
    return layout.colon if in_member else layout.between(depth)
