"""What remains of a JSON text, begun otherwise: other layouts, escapes and forms of numbers.

The value stays the same, so what is valid stays valid; but the next token is another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.jsontext.lexer import Mode, State
from harness.jsontext.partial import Layout, decoded

_LAYOUTS = (b" ", b"\n", b"\n  ", b"\t", b"\r\n", b"  ", b"\n    ", b"\n\t")
_SPACE = b" \t\n\r"
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[\xc0-\xff][\x80-\xbf]*+|[^\"\\]", re.DOTALL
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_SHORT = {'"': b'\\"', "\\": b"\\\\", "/": b"\\/", "\b": b"\\b", "\f": b"\\f"}
_SHORT |= {"\n": b"\\n", "\r": b"\\r", "\t": b"\\t"}
_AFTER_NUMBER = {
    Mode.INT: (b".0", b"e0", b"E0", b".00", b"e+0", b"e-0"),
    Mode.ZERO: (b".0", b"e0", b"E0", b"e1"),
    Mode.FRAC: (b"0", b"e0", b"E0", b"00"),
}


def other_spellings(state: State, rest: bytes) -> list[bytes]:
    """Texts that say the same as `rest` after a text in `state`, and do not begin as it does."""
    found = dict.fromkeys(_spellings(state, rest))
    return [text for text in found if text != rest]


def _spellings(state: State, rest: bytes) -> Iterator[bytes]:
    mode = state.mode
    if mode.in_string:
        if not state.part:
            yield from _in_string(rest)
    elif mode.in_number:
        if not rest[:1].strip(_SPACE + b",}]"):  # the number is whole
            for more in _AFTER_NUMBER.get(mode, ()):
                yield more + rest
            yield from _laid_out(rest)
    elif mode is not Mode.LITERAL:
        yield from _laid_out(rest)
        body = rest.lstrip(_SPACE)
        space = rest[: len(rest) - len(body)]
        if body.startswith(b'"'):
            for after in _in_string(body[1:]):
                yield space + b'"' + after
        elif number := _NUMBER.match(body):
            yield from (space + one + body[number.end() :] for one in _numbers(number))


def _laid_out(rest: bytes) -> Iterator[bytes]:
    """With other white space before and after the next punctuation mark."""
    body = rest.lstrip(_SPACE)
    yield from (space + body for space in (b"", *_LAYOUTS))
    if body[:1] in (b"{", b"[", b",", b":", b"}", b"]"):
        after = body[1:].lstrip(_SPACE)
        yield from (body[:1] + space + after for space in (b"", *_LAYOUTS))


def _in_string(rest: bytes) -> Iterator[bytes]:
    """With another spelling of the next character of a string, or after its end."""
    if rest.startswith(b'"'):
        yield from (b'"' + text for text in _laid_out(rest[1:]))
        return
    found = _CHARACTER.match(rest)
    if found is None:
        return
    try:
        character, after = decoded(found[0]), rest[found.end() :]
        raw = character.encode()
    except UnicodeError:  # half of a character that another token has begun, or of a pair
        return
    if character in _SHORT:
        yield _SHORT[character] + after
    escaped = Layout(ascii=True).inside(character)
    if not escaped.startswith(b"\\u"):
        escaped = b"\\u%04x" % ord(character)
    yield escaped + after
    yield b"\\u" + escaped[2:].upper().replace(b"\\U", b"\\u") + after
    if character not in '"\\' and character >= " ":
        yield raw + after


def _numbers(number: re.Match[bytes]) -> Iterator[bytes]:
    text = number[0]
    if number[2]:
        yield text.replace(b"e", b"E") if b"e" in text else text.replace(b"E", b"e")
        return
    yield from (text + (b"0" if number[1] else b".0"), text + b"e0", text + b"E0", text + b"e+0")
    if not number[1] and text.strip(b"-0"):
        yield text + b"0e-1"
