"""The keyword in force where a token would come, and what kind of token it is.

A false acceptance is explained by the keyword that the validators name. A false rejection is
attributed to the keyword in force at that place: the most specific one, of all the subschemas that
apply there (`harness.explain.applicable`), that governs what the first piece of the token that is
not whitespace begins to write (`harness.explain.keywords`). A delimiter that ends a number is
attributed to what the schema says of that number; where that is its type or nothing, to what
governs the delimiter. Whitespace between tokens and reserved tokens are governed by no keyword.

`GoverningKeyword.detail` looks further: it is the word of `harness.explain.keywords.KeyRules` for
the first key that the token writes, begins, or must be followed by (after a comma in an object).
For the keyword ``format`` it is the format's name otherwise, inside a number that must be an
integer ``integer``; else it is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from harness.explain.applicable import Applicable, Sources
from harness.explain.keywords import (
    ARRAY_END,
    BARE,
    NEXT_ITEM,
    NEXT_MEMBER,
    NOT_RANK,
    NUMBER,
    OBJECT_END,
    PLAIN,
    TEXT,
    TEXT_END,
    GoverningRule,
    KeyRules,
    Order,
    by_order,
    governing_rule,
)
from harness.jsontext.lexer import NUMBER_ENDS, Mode, State, is_high_surrogate, place_of
from harness.jsontext.partial import Cursor, Frames, after, encoded, path_of, settled, trace
from harness.jsontext.pointers import pointer
from harness.schemas.schema import types

_MAX_MEMO = 512
_QUOTE = ord('"')
_OBJECT_END, _ARRAY_END = b"}]"
_NUMBER_STARTS: Final = frozenset(b"-0123456789")
_IN_NUMBER: Final = frozenset(b"-+.eE0123456789")
_KIND: Final = {
    **dict.fromkeys(_NUMBER_STARTS, "number"),
    **dict.fromkeys(b"tf", "boolean"),
    **dict(zip(b'"{[n', ("string", "object", "array", "null"), strict=True)),
}
_KEY_PLACES: Final = frozenset({Mode.KEY, Mode.KEY_OR_CLOSE})
_IN_CONTAINER: Final = frozenset({Mode.COLON, Mode.AFTER, *_KEY_PLACES})
_VALUE_PLACES: Final = frozenset({Mode.VALUE, Mode.ITEM_OR_CLOSE, Mode.LITERAL})
_ORDER: Final[dict[str, Order]] = {"string": TEXT, "number": NUMBER}
_VISIBLE: Final = re.compile(rb"[^ \t\n\r]")
_QUOTE_OR_BACKSLASH: Final = re.compile(rb'["\\]')

_Key = tuple[Frames, bytes, bool]
"""The containers around a key, what is written of it, and whether that is all."""


@dataclass(frozen=True)
class GoverningKeyword:
    """What governs a place."""

    keyword: str
    """The keyword in force, empty where none is."""
    schema_pointer: str
    """Where it stands in the schema, past all references (RFC 6901)."""
    instance_pointer: str
    """The value that it governs: the value being written; for keys, commas, colons, closing
    brackets and whitespace the open container; for the end the whole."""
    detail: str
    """A word for keys, the name of a format, or ``integer``; else empty."""


class Attribution:
    """The attributions for one schema, as it was parsed; what is malformed counts as absent."""

    def __init__(self, schema: Any) -> None:
        self.applicable = Applicable(schema)
        self._keys: dict[Frames, KeyRules] = {}

    def at(self, text: bytes) -> PlaceAttribution:
        """The place after `text`; a ValueError where that is no prefix of a JSON text."""
        cursor = after(text)
        if cursor is None:
            raise ValueError(f"no JSON text begins with {text[-40:]!r}")
        return PlaceAttribution(self, cursor)

    def key_rule(self, key: _Key) -> tuple[GoverningRule | None, str]:
        frames, begun, whole = key
        if frames not in self._keys:
            if len(self._keys) >= _MAX_MEMO:
                self._keys.clear()
            sources = self.applicable.levels(frames, None, slot=False)[-1]
            self._keys[frames] = KeyRules(sources, frames[-1])
        return self._keys[frames].rule(begun, whole=whole)


class PlaceAttribution:
    """One place in a text; `Attribution.at` makes it."""

    def __init__(self, attribution: Attribution, cursor: Cursor) -> None:
        self._attribution = attribution
        self._cursor = cursor
        self._memo: dict[int | None, GoverningKeyword] = {}
        frames = cursor.frames
        self._container = _pointer(path_of(frames))
        slot = frames[-1].slot if frames else None
        self._slot = self._container if slot is None else self._container + _pointer([slot])
        self._in_object = bool(frames) and frames[-1].is_object
        self._plain = cursor.mode.in_string and not cursor.state.part
        self._begun = encoded(cursor.written) if cursor.mode is Mode.KEY_STRING else b""

    @property
    def place(self) -> str:
        """Its word; see `harness.jsontext.lexer.place_of`."""
        return place_of(self._cursor.state, at_end=False)

    def category(self, token: bytes, *, end: bool = False, reserved: bool = False) -> str:
        """The category of a token here; the arguments are those of `governing`.

        The first piece of the token that is not whitespace between tokens decides, but one that
        writes a part of a backslash escape is an ``escape``. Quotes belong to a ``key`` or a
        ``string``. What begins no JSON token at all is named after what should come there: ``key``
        where a key must, ``literal`` where a value must or is under way, else ``structural``.
        """
        if end or reserved:
            return "end" if end else "reserved"
        mode = self._cursor.mode
        if _escapes(self._cursor.state, token):
            return "escape"
        if mode.in_string:
            return "key" if mode is Mode.KEY_STRING else "string"
        first = _visible(token)
        return "whitespace" if first is None else _of_byte(mode, first)

    def governing(
        self, token: bytes, *, end: bool = False, reserved: bool = False
    ) -> GoverningKeyword:
        """What is in force for a token here, whose bytes need not go on as JSON.

        It may `end` the generation, or be another reserved one, for which nothing is in force.
        """
        if end:
            return self._end()
        if reserved:
            return GoverningKeyword("", "", self._container, "")
        if self._cursor.mode is Mode.KEY_STRING:
            begun = (self._cursor.frames, self._begun + token, False)
            plain = self._plain and b'"' not in token and b"\\" not in token
            return self._of_key(begun if plain else self._key_in(token) or begun)
        return self._of_piece(token)

    @cached_property
    def _levels(self) -> list[Sources]:
        """The sources of the open containers, and of the value that comes or is under way."""
        mode, frames = self._cursor.mode, self._cursor.frames
        written = mode is Mode.STRING or mode is Mode.LITERAL or mode.in_number
        slot = written or mode in (Mode.VALUE, Mode.ITEM_OR_CLOSE)
        scalar = self._cursor if written else None
        return self._attribution.applicable.levels(frames, scalar, slot=slot)

    def _of_piece(self, token: bytes) -> GoverningKeyword:
        """What is in force for the first piece of a token that does not begin inside a key."""
        mode = self._cursor.mode
        first = (token[0] if token else 0) if mode is Mode.STRING else _visible(token)
        if first is not None and mode is not Mode.STRING:
            keyed = self._in_object and (mode in _KEY_PLACES or mode is Mode.AFTER)
            if keyed and first != _OBJECT_END:
                key = self._key_in(token) if _may_begin_key(token) else None
                return self._of_key(key or (self._cursor.frames, b"", False))
            if mode.in_number and first not in _IN_NUMBER:
                return self._after_number(token)
        if first not in self._memo:
            self._memo[first] = self._of_first(first)
        return self._with_detail(self._memo[first], token)

    def _end(self) -> GoverningKeyword:
        """What is in force for the end of the text: a number at the root, or the root's type."""
        if self._cursor.mode.in_number and not self._cursor.frames:
            return _governing(governing_rule(self._levels[-1], by_order(NUMBER)), "")
        return _governing(governing_rule(self._levels[0], by_order(BARE)), "")

    def _of_first(self, first: int | None) -> GoverningKeyword:
        """What is in force by the first byte that counts, the keys of objects apart."""
        mode = self._cursor.mode
        if first is None:
            return GoverningKeyword("", "", self._container, "")
        if mode is Mode.DONE:
            return self._end()
        if mode in _IN_CONTAINER or (mode is Mode.ITEM_OR_CLOSE and first == _ARRAY_END):
            return self._of_container(first)
        if mode is Mode.STRING:
            return self._of_value(TEXT_END if first == _QUOTE and self._plain else TEXT)
        if mode.in_number or mode is Mode.LITERAL:
            governing = self._of_value(NUMBER if mode.in_number else PLAIN)
            whole = mode.in_number and _whole(self._levels[-1])
            return replace(governing, detail="integer") if whole else governing
        kind = _KIND.get(first, "")
        return self._of_value(_ORDER.get(kind, PLAIN), kind)

    def _of_container(self, first: int) -> GoverningKeyword:
        """What is in force for a colon, a comma of an array, or a closing bracket."""
        frames = self._cursor.frames
        order: Order = OBJECT_END
        if self._cursor.mode is Mode.COLON:
            order = BARE
        elif not self._in_object:
            order = ARRAY_END if first == _ARRAY_END else NEXT_ITEM
        rule = governing_rule(self._levels[len(frames) - 1], by_order(order, frames[-1]))
        return _governing(rule, self._container)

    def _of_value(self, order: Order, kind: str = "") -> GoverningKeyword:
        rule = governing_rule(self._levels[-1], by_order(order, via=True), kind)
        return _governing(rule, self._slot)

    @cached_property
    def _comma(self) -> GoverningRule | None:
        """What is in force for the comma itself, before what governs the key after it."""
        if self._cursor.mode is not Mode.AFTER:
            return None
        rule = governing_rule(self._levels[-1], by_order(NEXT_MEMBER))
        return rule if rule is not None and rule.rank < NOT_RANK else None

    def _of_key(self, key: _Key) -> GoverningKeyword:
        """What is in force for a key, or for a comma of an object and the key after it."""
        rule, word = self._attribution.key_rule(key)
        rule = self._comma or rule
        by = ("", "") if rule is None else (rule.keyword, rule.pointer)
        return GoverningKeyword(*by, self._container, word)

    @cached_property
    def _number(self) -> tuple[GoverningKeyword, PlaceAttribution | None]:
        """What governs a number, and the place after it where that is what governs its end."""
        rule = governing_rule(self._levels[-1], by_order(NUMBER))
        governed = rule is not None and rule.rank < NOT_RANK
        open_ = governed or self._cursor.mode not in NUMBER_ENDS
        ended = None if open_ else PlaceAttribution(self._attribution, settled(self._cursor))
        return self._of_value(NUMBER), ended

    def _after_number(self, token: bytes) -> GoverningKeyword:
        of_number, ended = self._number
        if ended is None:
            return self._with_detail(of_number, token)
        governing = ended.governing(token)
        return governing if governing.keyword else replace(of_number, detail=governing.detail)

    def _with_detail(self, governing: GoverningKeyword, token: bytes) -> GoverningKeyword:
        key = self._key_in(token) if _may_begin_key(token) else None
        if key is None:
            return governing
        return replace(governing, detail=self._attribution.key_rule(key)[1])

    def _key_in(self, token: bytes) -> _Key | None:
        """The first key that a token goes on with, begins, or that must follow it."""
        found: _Key | None = None
        if self._cursor.mode is Mode.KEY_STRING:
            found = (self._cursor.frames, self._begun, False)
        after_comma = self._cursor.mode is Mode.KEY
        for _, further in trace(self._cursor, token):
            if further is None:
                break
            if further.mode is Mode.KEY_STRING:
                found = (further.frames, encoded(further.written), False)
            elif found is None and further.mode is Mode.KEY and not after_comma:
                found = (further.frames, b"", False)
            elif found is not None and further.mode is Mode.COLON:
                return (found[0], encoded(further.frames[-1].key or ""), True)
        return found


def _whole(sources: Sources) -> bool:
    """Whether of numbers only integers are allowed: by what applies, or in all that may apply."""
    told = [
        (source.undecided, "number" in types(source.schema))
        for source in sources
        if {"integer", "number"} & set(types(source.schema))
    ]
    decided = [fraction for undecided, fraction in told if not undecided]
    return not all(decided) or (bool(told) and not any(fraction for _, fraction in told))


def _may_begin_key(token: bytes) -> bool:
    return b'"' in token or b"," in token


def _governing(rule: GoverningRule | None, instance_pointer: str) -> GoverningKeyword:
    if rule is None:
        return GoverningKeyword("", "", instance_pointer, "")
    detail = rule.value if rule.keyword == "format" and isinstance(rule.value, str) else ""
    return GoverningKeyword(rule.keyword, rule.pointer, instance_pointer, detail)


def _pointer(parts: Iterable[str | int]) -> str:
    """A JSON Pointer that can be stored: half a surrogate pair becomes a question mark."""
    return pointer(parts).encode("utf-8", "replace").decode()


def _visible(token: bytes) -> int | None:
    found = _VISIBLE.search(token)
    return None if found is None else token[found.start()]


def _of_byte(mode: Mode, first: int) -> str:
    if first in b"{}[],:":
        return "structural"
    if first == _QUOTE:
        return "key" if mode in _KEY_PLACES else "string"
    if first in (_IN_NUMBER if mode.in_number else b"-+.0123456789"):
        return "number"
    if mode in _KEY_PLACES:
        return "key"
    return "literal" if mode in _VALUE_PLACES or mode.in_number else "structural"


def _escapes(state: State, token: bytes) -> bool:
    """Whether `token` writes a part of a backslash escape."""
    started = state.part.startswith(b"\\") and not is_high_surrogate(state.part)
    if started or b"\\" not in token:
        return started
    inside = state.mode.in_string
    for found in _QUOTE_OR_BACKSLASH.finditer(token):
        if token[found.start()] == _QUOTE:
            inside = not inside
        elif inside:
            return True
    return False
