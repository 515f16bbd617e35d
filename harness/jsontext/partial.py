"""The document that a prefix of a JSON text has written so far, and values laid out as it is.

A cursor knows, beside the lexer's state, every open container with its members or the number of its
items. It is a value: to try some bytes is to make another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple

from harness.jsontext.lexer import START, Mode, State, advance, plain_end


class Spelled(float):
    """A number that keeps the text, in the grammar of JSON, that it was written as."""

    def __init__(self, text: str) -> None:
        self.text = text


CONTAINER: Final = ...
"""Stands for a finished array or object in the members of a frame."""


class Frame(NamedTuple):
    """One open container."""

    is_object: bool
    members: tuple[tuple[str, Any], ...] = ()
    """The finished members of an object, each value as `_kept` keeps it."""
    size: int = 0
    """The number of finished items of an array."""
    key: str | None = None
    """The key of the member of an object that is being written."""

    @property
    def slot(self) -> str | int | None:
        """The key or the index of what is written next; None where an object waits for a key."""
        return self.key if self.is_object else self.size

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.members)


Frames = tuple[Frame, ...]


class Cursor(NamedTuple):
    """Where a text stands: the lexer's state and the open containers, outermost first."""

    state: State = START
    frames: Frames = ()
    atom: bytes = b""
    """The raw text of the string (after its quote), number or literal that is being written."""
    spaced: bool = False
    """Whether the last byte is whitespace between tokens."""

    @property
    def mode(self) -> Mode:
        return self.state.mode

    @property
    def written(self) -> str:
        """The whole characters of the string that is being written."""
        return decoded(self.atom[: len(self.atom) - len(self.state.part)])


def decoded(raw: bytes) -> str:
    """The characters that the inside of a JSON string stands for."""
    if b"\\" not in raw:
        return raw.decode("utf-8", "surrogatepass")
    return str(json.loads(b'"' + raw + b'"'))


def encoded(text: str) -> bytes:
    """The characters in UTF-8, with halves of surrogate pairs as if they were any."""
    return text.encode("utf-8", "surrogatepass")


def parse_number(text: str) -> int | float:
    """A JSON number; one that Python would print otherwise keeps its text."""
    if len(text) < 4000 and text.lstrip("-").isdecimal() and text != "-0":
        return int(text)
    return Spelled(text)


def load(text: bytes | str) -> Any:
    """The value of a JSON text, its numbers with their spelling; ValueError if it is not JSON."""
    return json.loads(text, parse_float=parse_number, parse_int=parse_number)


def path_of(frames: Frames) -> tuple[str | int, ...]:
    """The path of the innermost container."""
    return tuple(frame.slot for frame in frames[:-1] if frame.slot is not None)


def slot_path(frames: Frames) -> tuple[str | int, ...]:
    """The path of what is written next; that of the container where a key must come."""
    slot = frames[-1].slot if frames else None
    return path_of(frames) if slot is None else (*path_of(frames), slot)


def _kept(value: Any) -> Any:
    """A stand-in for a member's value that is hashable and the same only for the same JSON."""
    if isinstance(value, bool):
        return (value,)  # Python's True equals 1
    return CONTAINER if isinstance(value, list | dict) else value


def unkept(stand_in: Any) -> Any:
    """The value that `_kept` was given, or `CONTAINER`."""
    return stand_in[0] if isinstance(stand_in, tuple) else stand_in


def with_value(frames: Frames, value: Any) -> Frames:
    """The frames once `value`, or `CONTAINER`, is written at the slot of the innermost."""
    if not frames:
        return ()
    top = frames[-1]
    if top.is_object:
        top = Frame(True, (*top.members, (top.key or "", _kept(value))))
    else:
        top = top._replace(size=top.size + 1)
    return (*frames[:-1], top)


def settled(cursor: Cursor) -> Cursor:
    """The cursor with the number that it is in, if any, ended."""
    if not cursor.mode.in_number:
        return cursor
    mode = Mode.AFTER if cursor.state.stack else Mode.DONE
    frames = with_value(cursor.frames, parse_number(cursor.atom.decode()))
    return Cursor(State(cursor.state.stack, mode), frames)


def feed(cursor: Cursor, data: bytes) -> Cursor | None:
    """The cursor after `data`; None when no JSON text goes on so."""
    for _, further in trace(cursor, data):
        if further is None:
            return None
        cursor = further
    return cursor


@lru_cache(1 << 9)
def after(text: bytes) -> Cursor | None:
    """`feed` from the start: from where shorter texts stand, since many begin alike."""
    shorter = len(text) & len(text) - 1
    before = after(text[:shorter]) if shorter else Cursor()
    return None if before is None else feed(before, text[shorter:])


def trace(cursor: Cursor, data: bytes) -> Iterator[tuple[int, Cursor | None]]:
    """Every piece of `data`: its end and the cursor after it; ends with a None that fails.

    A piece is one byte, or a run of plain characters of a string or of whitespace between tokens.
    """
    at = 0
    while at < len(data):
        end = at + 1
        if cursor.mode.in_string and not cursor.state.part:
            end = max(end, plain_end(data, at))
        elif cursor.mode in BETWEEN and (blank := _SPACE.match(data, at)):
            end = blank.end()
        here = _after(cursor, data[at:end])
        yield end, here
        if here is None:
            return
        cursor, at = here, end


_SPACE = re.compile(rb"[ \t\n\r]+")
BETWEEN = frozenset(
    mode for mode in Mode if not mode.in_string and not mode.in_number and mode is not Mode.LITERAL
)
"""Where white space may come."""


def _after(cursor: Cursor, piece: bytes) -> Cursor | None:
    state = advance(cursor.state, piece)
    if state is None:
        return None
    before, after = cursor.mode, state.mode
    if before.in_number and not after.in_number:
        cursor = settled(cursor)
        before = cursor.mode
    frames = cursor.frames
    if before is after and (before.in_string or before is Mode.LITERAL):
        return Cursor(state, frames, cursor.atom + piece)
    if after.in_number:
        return Cursor(state, frames, (cursor.atom if before.in_number else b"") + piece)
    if before is Mode.KEY_STRING:
        frames = (*frames[:-1], frames[-1]._replace(key=cursor.written))
    elif before is Mode.STRING:
        frames = with_value(frames, cursor.written)
    elif before is Mode.LITERAL:
        frames = with_value(frames, json.loads(cursor.atom + piece))
    elif len(state.stack) > len(cursor.state.stack):
        frames = (*frames, Frame(piece == b"{"))
    elif len(state.stack) < len(cursor.state.stack):
        frames = with_value(frames[:-1], CONTAINER)
    atom = piece if after is Mode.LITERAL else b""
    return Cursor(state, frames, atom, piece.isspace())


_raw = json.JSONEncoder(ensure_ascii=False).encode


@lru_cache(1 << 12)  # a value is written in many ways
def _inside(text: str, ascii_: bool) -> bytes:
    if not ascii_:
        with suppress(UnicodeEncodeError):
            return _raw(text)[1:-1].encode()
    return json.dumps(text)[1:-1].encode()


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')


class Layout(NamedTuple):
    """The whitespace between tokens, and whether strings are ASCII alone."""

    comma: bytes = b" "
    """After a comma, where nothing is indented."""
    colon: bytes = b" "
    indent: bytes | None = None
    """What each level is indented by; None when all is in one line."""
    ascii: bool = False

    def between(self, depth: int) -> bytes:
        """The whitespace after a comma inside `depth` containers."""
        return self.comma if self.indent is None else self.edge(depth)

    def edge(self, depth: int) -> bytes:
        """The whitespace inside the brackets of a container that is not empty."""
        return b"" if self.indent is None else b"\n" + self.indent * depth

    def dump(self, value: Any, depth: int) -> bytes:
        """The text of `value` inside `depth` containers."""
        if isinstance(value, str):
            return b'"' + self.inside(value) + b'"'
        if isinstance(value, Spelled):
            return value.text.encode()
        if isinstance(value, dict):
            members = [self.member(key, inner, depth + 1) for key, inner in value.items()]
            return self._wrapped(b"{", members, b"}", depth)
        if isinstance(value, list):
            items = [self.dump(item, depth + 1) for item in value]
            return self._wrapped(b"[", items, b"]", depth)
        return json.dumps(value).encode()

    def member(self, key: str, value: Any, depth: int) -> bytes:
        """The text of a member of an object whose members are inside `depth` containers."""
        return b'"' + self.inside(key) + b'":' + self.colon + self.dump(value, depth)

    def inside(self, text: str) -> bytes:
        """What stands between the quotes of a string; a lone surrogate is escaped."""
        return _inside(text, self.ascii)

    def _wrapped(self, left: bytes, parts: list[bytes], right: bytes, depth: int) -> bytes:
        if not parts:
            return left + right
        inner = (b"," + self.between(depth + 1)).join(parts)
        return left + self.edge(depth + 1) + inner + self.edge(depth) + right


def layout_of(text: bytes) -> Layout:
    """The layout of a JSON text, as its first commas, colons and lines show it."""
    bare = _STRING.sub(b'""', text)
    comma = re.search(rb",([ \t\r\n]*)", bare)
    colon = re.search(rb":([ \t\r\n]*)", bare)
    indent = re.match(rb"[ \t\r\n]*[\[{]\r?\n([ \t]+)", bare)
    after_colon = colon[1] if colon else b" "
    return Layout(
        comma=comma[1] if comma else after_colon,
        colon=after_colon,
        indent=indent[1] if indent else None,
        ascii=rb"\u" in text and text.isascii() and b"\x7f" not in text,  # json escapes that, too
    )
