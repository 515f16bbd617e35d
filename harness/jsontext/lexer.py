"""How far a JSON text has been written: an incremental lexer over bytes.

The grammar is that of RFC 8259 over UTF-8 (RFC 3629: no overlong forms, no encoded surrogates).
A state says everything that decides which bytes may follow, and nothing else.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, NamedTuple


class Mode(IntEnum):
    """What the text is in the middle of."""

    VALUE = 0  # a value must come
    ITEM_OR_CLOSE = 1  # just after [
    KEY_OR_CLOSE = 2  # just after {
    KEY = 3  # after a comma of an object
    COLON = 4  # after a key
    AFTER = 5  # after a value inside a container: a comma or the closing bracket
    DONE = 6  # after the whole value: only whitespace may follow
    KEY_STRING = 7
    STRING = 8
    LITERAL = 9
    MINUS = 10
    ZERO = 11
    INT = 12
    DOT = 13
    FRAC = 14
    E = 15
    ESIGN = 16
    EXP = 17

    @property
    def in_string(self) -> bool:
        return self in (Mode.KEY_STRING, Mode.STRING)

    @property
    def in_number(self) -> bool:
        return self >= Mode.MINUS


class State(NamedTuple):
    """Where a text stands."""

    stack: bytes
    """The open brackets, outermost first."""
    mode: Mode
    part: bytes = b""
    """In a string: the raw bytes at its end that are not yet a whole character (a started
    escape, a high surrogate's escape, a started UTF-8 sequence). In a literal: what of it is
    written. Else empty."""

    @property
    def can_end(self) -> bool:
        return self.mode is Mode.DONE or (not self.stack and self.mode in NUMBER_ENDS)


START: Final = State(b"", Mode.VALUE)

_UTF8 = (
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
PLAIN: Final = re.compile(rb"(?:[ !#-\[\]-\x7f]++|" + _UTF8 + rb")*+")
"""A run of whole characters that a string holds unescaped; it matches everywhere."""

NUMBER_ENDS = frozenset({Mode.ZERO, Mode.INT, Mode.FRAC, Mode.EXP})
_SPACE = frozenset(b" \t\n\r")
_LITERALS = {word[0]: word for word in (b"true", b"false", b"null")}
_SHORT_ESCAPES = frozenset(b'"\\/bfnrt')
_HEX = frozenset(b"0123456789abcdefABCDEF")
_QUOTE, _BACKSLASH = b'"\\'
_CLOSER = {b"{"[0]: b"}"[0], b"["[0]: b"]"[0]}


def _digits(mode: Mode) -> dict[int, Mode]:
    return dict.fromkeys(b"0123456789", mode)


_FIRST_DIGIT = {**_digits(Mode.INT), b"0"[0]: Mode.ZERO}
_EXPONENT = dict.fromkeys(b"eE", Mode.E)
_FRACTION = {b"."[0]: Mode.DOT, **_EXPONENT}
_NUMBER: dict[Mode, dict[int, Mode]] = {
    Mode.MINUS: _FIRST_DIGIT,
    Mode.ZERO: _FRACTION,
    Mode.INT: {**_digits(Mode.INT), **_FRACTION},
    Mode.DOT: _digits(Mode.FRAC),
    Mode.FRAC: {**_digits(Mode.FRAC), **_EXPONENT},
    Mode.E: {**_digits(Mode.EXP), **dict.fromkeys(b"+-", Mode.ESIGN)},
    Mode.ESIGN: _digits(Mode.EXP),
    Mode.EXP: _digits(Mode.EXP),
}
_VALUE_STARTS: dict[int, Mode] = {
    **_FIRST_DIGIT,
    b"-"[0]: Mode.MINUS,
    _QUOTE: Mode.STRING,
    b"{"[0]: Mode.KEY_OR_CLOSE,
    b"["[0]: Mode.ITEM_OR_CLOSE,
    **dict.fromkeys(_LITERALS, Mode.LITERAL),
}
_VALUE_COMES = frozenset({Mode.VALUE, Mode.ITEM_OR_CLOSE})
_CLOSABLE = frozenset({Mode.AFTER, Mode.KEY_OR_CLOSE, Mode.ITEM_OR_CLOSE})
_PUNCTUATION = {
    (Mode.COLON, b":"[0]): Mode.VALUE,
    (Mode.KEY, _QUOTE): Mode.KEY_STRING,
    (Mode.KEY_OR_CLOSE, _QUOTE): Mode.KEY_STRING,
}


def advance(state: State, data: bytes) -> State | None:
    """The state after `data`; None when no JSON text goes on so."""
    stack, mode, part = state
    at, end = 0, len(data)
    while at < end:
        if mode is Mode.STRING or mode is Mode.KEY_STRING:
            if not part:
                at = plain_end(data, at)
                if at == end:
                    break
                if data[at] == _QUOTE:
                    mode = Mode.COLON if mode is Mode.KEY_STRING else _after(stack)
                    at += 1
                    continue
            piece = _in_character(part, data[at])
            if piece is None:
                return None
            # A lone high surrogate is grammatical, so what follows it is read anew.
            part, taken = piece
            at += taken
            continue
        after = _outside_string(stack, mode, part, data[at])
        if after is None:
            return None
        stack, mode, part = after
        at += 1
    return State(stack, mode, part)


def plain_end(data: bytes, at: int = 0) -> int:
    """Where the run of plain string characters of `data` that begins at `at` ends."""
    match = PLAIN.match(data, at)
    return match.end() if match else at


def is_high_surrogate(part: bytes) -> bool:
    """Whether `part` of a string's state is the whole escape of a high surrogate."""
    return len(part) == 6 and part[2] in b"dD" and part[3] in b"89abAB"


_PLACES: Final[dict[Mode, str]] = {
    **dict.fromkeys((Mode.VALUE, Mode.ITEM_OR_CLOSE), "start of value"),
    **dict.fromkeys((Mode.KEY, Mode.KEY_OR_CLOSE), "start of key"),
    Mode.COLON: "after key",
    Mode.AFTER: "after value",
    Mode.DONE: "end",
    Mode.KEY_STRING: "inside key",
    Mode.STRING: "inside string",
    Mode.LITERAL: "inside literal",
}


def place_of(state: State, *, at_end: bool) -> str:
    """The word of the column ``place``; `at_end` where the whole reference is written."""
    if at_end:
        return "end"
    if state.mode.in_string and state.part.startswith(b"\\"):
        return "inside escape"
    return _PLACES.get(state.mode, "inside number")


def _after(stack: bytes) -> Mode:
    return Mode.AFTER if stack else Mode.DONE


def _outside_string(stack: bytes, mode: Mode, part: bytes, byte: int) -> State | None:
    if mode is Mode.LITERAL:
        word = _LITERALS[part[0]]
        if byte != word[len(part)]:
            return None
        part += bytes((byte,))
        return State(stack, _after(stack)) if part == word else State(stack, mode, part)
    if mode.in_number:
        follow = _NUMBER[mode].get(byte)
        if follow is not None:
            return State(stack, follow)
        if mode not in NUMBER_ENDS:
            return None
        mode = _after(stack)
    return State(stack, mode) if byte in _SPACE else _structure(stack, mode, byte)


def _structure(stack: bytes, mode: Mode, byte: int) -> State | None:
    """The state after one byte, not whitespace, between tokens."""
    if mode in _CLOSABLE and stack and byte == _CLOSER[stack[-1]]:
        return State(stack[:-1], _after(stack[:-1]))
    if mode in _VALUE_COMES and byte in _VALUE_STARTS:
        follow = _VALUE_STARTS[byte]
        stack += bytes((byte,)) if byte in _CLOSER else b""
        return State(stack, follow, bytes((byte,)) if follow is Mode.LITERAL else b"")
    if mode is Mode.AFTER and byte == b","[0]:
        return State(stack, Mode.KEY if stack[-1:] == b"{" else Mode.VALUE)
    punctuation = _PUNCTUATION.get((mode, byte))
    return None if punctuation is None else State(stack, punctuation)


def _in_character(part: bytes, byte: int) -> tuple[bytes, int] | None:
    """The new `part` and how many bytes (0 or 1) were used; None when `byte` cannot come."""
    if is_high_surrogate(part):
        return (part + b"\\", 1) if byte == _BACKSLASH else (b"", 0)
    if not part:
        started = byte == _BACKSLASH or utf8_length(byte) > 1
        return (bytes((byte,)), 1) if started else None
    if part[0] == _BACKSLASH:
        return _in_escape(part, byte)
    low, high = utf8_range(part)
    if not low <= byte <= high:
        return None
    return (b"", 1) if len(part) + 1 == utf8_length(part[0]) else (part + bytes((byte,)), 1)


def _in_escape(part: bytes, byte: int) -> tuple[bytes, int] | None:
    lead, escape = (part[:6], part[6:]) if len(part) > 6 else (b"", part)
    if len(escape) == 1:
        if byte == b"u"[0]:
            return part + b"u", 1
        return (b"", 1) if byte in _SHORT_ESCAPES else None
    if byte not in _HEX:
        return None
    escape += bytes((byte,))
    if len(escape) < 6:
        return lead + escape, 1
    return (escape, 1) if is_high_surrogate(escape) else (b"", 1)


def utf8_length(lead: int) -> int:
    """How many bytes the UTF-8 sequence that begins with `lead` has; 0 if none does."""
    if lead < 0x80:
        return 1
    return 2 + (lead >= 0xE0) + (lead >= 0xF0) if 0xC2 <= lead <= 0xF4 else 0


def utf8_range(part: bytes) -> tuple[int, int]:
    """The lowest and highest byte that may follow a started UTF-8 sequence (RFC 3629, 4)."""
    if len(part) > 1:
        return 0x80, 0xBF
    low = {0xE0: 0xA0, 0xF0: 0x90}.get(part[0], 0x80)
    high = {0xED: 0x9F, 0xF4: 0x8F}.get(part[0], 0xBF)
    return low, high
