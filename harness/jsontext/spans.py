"""Where the values, members and items of a JSON text lie, found as they are asked for.

A node is looked into only when its members or items are wanted; what is nested below is skipped by
a map of the brackets. Texts must be JSON (RFC 8259); offsets count bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from harness.jsontext.strict_json import STRING, JsonError, parse, utf8

Part = tuple[int, int]
"""A span of bytes, begin and end; empty, at the end of the text, for the end of the text itself."""

_SPACE = rb"[ \t\n\r]*+"
_SIMPLE = rb"(" + STRING + rb'|[^\s"{\[\]},:]++)?+' + _SPACE
_MEMBER = re.compile(
    _SPACE + rb"(?:(" + STRING + rb")" + _SPACE + rb":" + _SPACE + rb")?+" + _SIMPLE, re.DOTALL
)
# Group 1 of an item never takes part: keys and items are read by the same loop.
_ITEM = re.compile(_SPACE + rb"(\Z)?" + _SIMPLE, re.DOTALL)
_BLANK = re.compile(_SPACE)
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + STRING + rb")*+[\[\]{}]", re.DOTALL)
_OPENING: Final = b"{["
_CLOSING: Final = {ord("{"): ord("}"), ord("["): ord("]")}
_UNREAD: Final = object()
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[\xc0-\xff][\x80-\xbf]*+|.", re.DOTALL
)
_KINDS: Final = {b'"': "string", b"{": "object", b"[": "array"} | {
    word[:1]: word.decode() for word in (b"true", b"false", b"null")
}


class ValueSpan:
    """One value of a text: its bytes are ``text[start:end]``.

    `kind` is ``string``, ``number``, ``object``, ``array``, ``true``, ``false`` or ``null``.
    """

    __slots__ = ("_closers", "_entries", "_value", "end", "kind", "start", "text")

    def __init__(self, text: bytes, start: int, end: int, closers: dict[int, int]) -> None:
        self.text, self.start, self.end = text, start, end
        self.kind = _KINDS.get(text[start : start + 1], "number")
        self._closers = closers
        self._value: Any = _UNREAD
        self._entries: tuple[Entry, ...] | None = None

    @property
    def raw(self) -> bytes:
        return self.text[self.start : self.end]

    @property
    def value(self) -> Any:
        if self._value is _UNREAD:
            self._value = _name(self.raw) if self.kind == "string" else json.loads(self.raw)
        return self._value

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The members of an object or the items of an array, in their order; of scalars none."""
        if self._entries is None:
            self._entries = tuple(self._scanned() if self.kind in ("object", "array") else ())
        return self._entries

    @property
    def members(self) -> tuple[Entry, ...]:
        return self.entries if self.kind == "object" else ()

    @property
    def items(self) -> tuple[Entry, ...]:
        return self.entries if self.kind == "array" else ()

    @property
    def names(self) -> set[str]:
        return {member.name for member in self.members}

    def child(self, key: str | int) -> ValueSpan | None:
        """The value of the member or the item `key`; None where there is none."""
        if isinstance(key, int) and self.kind == "array":
            return self.items[key].value if 0 <= key < len(self.items) else None
        return next((one.value for one in self.members if one.name == str(key)), None)

    @property
    def last(self) -> Part:
        """The bytes that complete the value: the closing quote or bracket, the whole of a literal.

        For a number, which nothing closes, the byte after it, or the end of the text.
        """
        if self.kind == "number":
            return self.end, min(self.end + 1, len(self.text))
        if self.kind in ("string", "object", "array"):
            return self.end - 1, self.end
        return self.start, self.end

    @property
    def first(self) -> Part:
        """The bytes that tell the kind of the value: an opening bracket, or the whole scalar."""
        return self.start, self.start + 1 if self.kind in ("object", "array") else self.end

    def _at(self, span: Part) -> ValueSpan:
        return ValueSpan(self.text, *span, self._closers)

    def _scanned(self) -> Iterator[Entry]:
        text, closers, comma = self.text, self._closers, -1
        step = (_MEMBER if self.kind == "object" else _ITEM).match
        last, at = self.end - 1, self.start + 1
        while (match := step(text, at)) is not None:
            key, value, at = match.span(1), match.span(2), match.end()
            if value[0] < 0:
                if text[at] not in _OPENING:
                    return  # the container is empty
                if not closers:
                    closers.update(_closers(text))
                value = at, closers[at]
                blank = _BLANK.match(text, value[1])
                assert blank is not None
                at = blank.end()
            node = self._at(value)
            if self.kind == "array":
                yield Entry("", node, node, comma)
            else:
                yield Entry(_name(text[key[0] : key[1]]), self._at(key), node, comma)
            if at >= last:
                return
            comma, at = at, at + 1


class Entry(NamedTuple):
    """A member of an object, or an item of an array, whose key is the item itself."""

    name: str
    key: ValueSpan
    value: ValueSpan
    comma: int
    """The offset of the comma before it, -1 for the first."""

    @property
    def begin(self) -> Part:
        """The byte from which on there is such an entry: its comma, or the first one's start."""
        at = self.key.start if self.comma < 0 else self.comma
        return at, at + 1

    @property
    def forbidden(self) -> Part:
        """What is wrong where there must be no such entry: the end of its key, or its begin."""
        return self.begin if self.key is self.value else self.key.last


@lru_cache(1 << 8)
def root_of(text: bytes) -> ValueSpan:
    """The value of `text`, which must be JSON; what was read of it is kept for a while."""
    blank = _BLANK.match(text)
    assert blank is not None
    return ValueSpan(text, blank.end(), len(text.rstrip(b" \t\n\r")), {})


def raw_members(text: bytes) -> dict[str, bytes]:
    """The JSON texts of the members of the object that `text` is, by name, in their order.

    Without recursion: what is inside of a member's container is *not* checked to be JSON.

    Raises:
        JsonError: Not UTF-8, a byte order mark, not an object, or malformed at the top level.
        DuplicateKeys: A name twice at the top level.
    """
    utf8(text)
    closers, shallow, at = _closers(text), bytearray(text), 0
    for start in sorted(closers)[1:]:
        if start >= at:
            at = closers[start]
            shallow[start + 1 : at - 1] = b" " * (at - start - 2)
    is_object = isinstance(parse(bytes(shallow), lone_surrogates=True), dict)
    root = root_of(text)
    if not is_object:
        raise JsonError("expected '{'", text, root.start)
    return {one.name: one.value.raw for one in root.members}


def characters(node: ValueSpan) -> list[Part]:
    """The span of every character of a string that has no halves of surrogate pairs."""
    return [found.span() for found in _CHARACTER.finditer(node.text, node.start + 1, node.end - 1)]


def _name(raw: bytes) -> str:
    name = raw.decode(errors="surrogateescape")
    return str(json.loads(name, strict=False)) if "\\" in name else name[1:-1]


def _closers(text: bytes) -> dict[int, int]:
    """For the offset of every opening bracket that after the closing one; or a `JsonError`."""
    found: dict[int, int] = {}
    pending: list[int] = []
    at = 0
    while (match := _TO_BRACKET.match(text, at)) is not None:
        at = match.end()
        if text[at - 1] in _OPENING:
            pending.append(at - 1)
        elif not pending or text[at - 1] != _CLOSING[text[pending[-1]]]:
            raise JsonError("brackets do not match", text, at - 1)
        else:
            found[pending.pop()] = at
    if pending:
        raise JsonError("the value that starts here does not end", text, pending[-1])
    return found
