"""What kind of token a token is, at the place of a JSON text where it would come.

The words are those of the column ``category``: ``structural``, ``key``, ``string``, ``escape``,
``number``, ``literal``, ``whitespace``, ``end`` and ``reserved``.

A token may cross several pieces of the text, as ``", "b`` does from inside a string. The first
piece that is not whitespace between tokens decides, with one exception: a token that writes a part
of a backslash escape inside any string is an ``escape``. A piece of a string is a ``key`` or a
``string``, its quotes belong to it. A token that is nothing but whitespace between tokens is
``whitespace``. What begins no JSON token at all is named after what should come there: ``key``
where a key must, ``literal`` where a value must or is under way, else ``structural``.
"""

from __future__ import annotations

import re
from typing import Final

from harness.jsontext.lexer import Mode, State, is_high_surrogate

CATEGORIES: Final = (
    "structural",
    "key",
    "string",
    "escape",
    "number",
    "literal",
    "whitespace",
    "end",
    "reserved",
)

QUOTE: Final = ord('"')
NUMBER_STARTS: Final = frozenset(b"-0123456789")
IN_NUMBER: Final = frozenset(b"-+.eE0123456789")
KEY_PLACES: Final = frozenset({Mode.KEY, Mode.KEY_OR_CLOSE})

_STRUCTURAL: Final = frozenset(b"{}[],:")
_ANYWHERE_A_NUMBER: Final = frozenset(b"-+.0123456789")
_VALUE_PLACES: Final = frozenset({Mode.VALUE, Mode.ITEM_OR_CLOSE, Mode.LITERAL})
_VISIBLE: Final = re.compile(rb"[^ \t\n\r]")
_QUOTE_OR_BACKSLASH: Final = re.compile(rb'["\\]')


def category(state: State, token: bytes, *, end: bool = False, reserved: bool = False) -> str:
    """The category of `token` where a text in `state` goes on with it.

    Args:
        state: How far the text is written.
        token: The token's bytes.
        end: Whether the token ends the generation; then its bytes do not matter.
        reserved: Whether the token is reserved (a special token other than the end).
    """
    if end or reserved:
        return "end" if end else "reserved"
    if _escapes(state, token):
        return "escape"
    if state.mode.in_string:
        return "key" if state.mode is Mode.KEY_STRING else "string"
    first = visible(token)
    return "whitespace" if first is None else _of_byte(state.mode, first)


def visible(token: bytes) -> int | None:
    """The first byte of `token` that is not JSON's whitespace."""
    found = _VISIBLE.search(token)
    return None if found is None else token[found.start()]


def _of_byte(mode: Mode, first: int) -> str:
    if first in _STRUCTURAL:
        return "structural"
    if first == QUOTE:
        return "key" if mode in KEY_PLACES else "string"
    if first in (IN_NUMBER if mode.in_number else _ANYWHERE_A_NUMBER):
        return "number"
    if mode in KEY_PLACES:
        return "key"
    return "literal" if mode in _VALUE_PLACES or mode.in_number else "structural"


def _escapes(state: State, token: bytes) -> bool:
    """Whether `token` writes a part of a backslash escape."""
    started = state.part.startswith(b"\\") and not is_high_surrogate(state.part)
    if started or b"\\" not in token:
        return started
    inside, at = state.mode.in_string, 0
    while (found := _QUOTE_OR_BACKSLASH.search(token, at)) is not None:
        if token[found.start()] == QUOTE:
            inside = not inside
        elif inside:
            return True
        at = found.end()
    return False
