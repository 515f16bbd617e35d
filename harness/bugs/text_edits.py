"""Smaller texts: parts left out, values and characters said more simply."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from harness.jsontext.lexer import START, advance, place_of
from harness.jsontext.spans import ValueSpan, root_of

_SIMPLE = (b"0", b"1", b'""', b'"a"', b"null", b"true", b"[]", b"{}", b"[0]", b'{"a":0}')
_PLAIN = (b"true", *_SIMPLE, b'"A"')
LETTERS = (b"A", b"z")  # plain in any string
_SIMPLER = {"letter": b"AEa", "digit": b"01", "2d": b"+"}
LAYOUT = b" \t\n\r"  # outside strings
_IN_STRING = rb'"(?:[^"\\]|\\.)*"'
_STRING = re.compile(_IN_STRING, re.DOTALL)
_LAYOUT = re.compile(b"(" + _IN_STRING + rb")|[ \t\n\r]+", re.DOTALL)
_ESCAPED = rb"\\(?:u[0-9a-fA-F]{4}|.)"
_BEYOND = rb"[\xc0-\xff][\x80-\xbf]*"
_SPECIAL = re.compile(_ESCAPED + b"|" + _BEYOND + rb"|[^A-Za-z\\]", re.DOTALL)
_CHARACTER = re.compile(_ESCAPED + b"|" + _BEYOND + rb"|[^A-Za-z0-9\\]", re.DOTALL)
_UNIT = re.compile(_ESCAPED + b"|" + _BEYOND + b"|.", re.DOTALL)
_ATOM = re.compile(r"\\.|\[[^\]]*\]|[^\\\[\]{}()|?*+^$]")
_KINDS = {
    "": ("object", "array", "string", "number", "null"),
    "integer": ("number",),
    "boolean": ("true", "false"),
}


def put(text: bytes, span: tuple[int, int], new: bytes) -> bytes:
    return text[: span[0]] + new + text[span[1] :]


def simpler_values(text: bytes) -> Iterator[bytes]:
    """The JSON text with one value replaced by a shorter one, outermost first."""
    for span in _values(root_of(text)):
        for simple in _SIMPLE:
            if len(simple) < span.end - span.start:
                yield put(text, (span.start, span.end), simple)


def simpler_twins(text: bytes) -> Iterator[bytes]:
    """The JSON text with a shorter value for all that are written alike, the longest first."""
    spans = list(_values(root_of(text)))
    counts = Counter(span.raw for span in spans)
    for raw in sorted((raw for raw, count in counts.items() if count > 1), key=len, reverse=True):
        alike = [(span.start, span.end) for span in spans if span.raw == raw]
        for simple in _SIMPLE:
            if len(simple) < len(raw):
                edited = text
                for bounds in reversed(alike):
                    edited = put(edited, bounds, simple)
                yield edited


def members_left_out(text: bytes) -> Iterator[bytes]:
    """The JSON text without one member or item, then with one in place of all that holds it."""
    for span in _values(root_of(text)):
        parts = [(entry.key.start, entry.value.end) for entry in span.entries]
        for number, (start, end) in enumerate(parts):
            if number + 1 < len(parts):
                end = parts[number + 1][0]  # noqa: PLW2901 - with the comma
            elif number:
                start = parts[number - 1][1]  # noqa: PLW2901
            yield put(text, (start, end), b"")
        yield from (put(text, (span.start, span.end), one.value.raw) for one in span.entries)


def without_layout(text: bytes) -> Iterator[bytes]:
    dense = _LAYOUT.sub(lambda match: match[1] or b"", text)
    if dense != text:
        yield dense


def bytes_left_out(text: bytes) -> Iterator[bytes]:
    """The text without some bytes in a row, many first."""
    size = min(len(text), 64)
    while size:
        for at in range(0, len(text), max(1, size // 2)):
            yield text[:at] + text[at + size :]
        size //= 2


def plainer_bytes(text: bytes) -> Iterator[bytes]:
    """The text with one letter, digit or minus replaced by a plain one."""
    for at, byte in enumerate(text):
        for plain in _SIMPLER.get(sort_of(bytes([byte])), b""):
            if plain < byte:
                yield put(text, (at, at + 1), bytes([plain]))


def letters(text: bytes) -> Iterator[bytes]:
    """The text with one digit, escape or special character in a string replaced by a letter."""
    for string in _STRING.finditer(text):
        for match in _SPECIAL.finditer(text, string.start() + 1, string.end() - 1):
            yield from (put(text, match.span(), letter) for letter in LETTERS)


def short_ends(text: bytes) -> Iterator[bytes]:
    """The text with one letter for the end of a string that no letter or digit begins."""
    for string in _STRING.finditer(text):
        for match in _CHARACTER.finditer(text, string.start() + 1, string.end() - 1):
            span = match.start(), string.end() - 1
            yield from (put(text, span, letter) for letter in (b"A", b"Z"))


def true_for(text: bytes, kind: str) -> Iterator[bytes]:
    """The JSON text with true for values of a type: for all of them, then for each by itself."""
    kinds = _KINDS.get(kind, (kind,))
    outer: list[tuple[int, int]] = []
    for span in _values(root_of(text)):
        if span.kind in kinds and span.start and (not outer or span.start >= outer[-1][1]):
            outer.append((span.start, span.end))
    for some in (outer, *([span] for span in outer)) if len(outer) > 1 else (outer,):
        edited = text
        for bounds in reversed(some):
            edited = put(edited, bounds, b"true")
        yield edited


def atoms(pattern: str, text: bytes) -> Iterator[tuple[str, bytes]]:
    """One atom of a pattern, and the text with one character in place of a string."""
    for atom in dict.fromkeys(_ATOM.findall(pattern)):
        for string in _STRING.finditer(text):
            inner = string.start() + 1, string.end() - 1
            for character in dict.fromkeys(_CHARACTER.findall(text, *inner)):
                yield f"^{atom}$", put(text, inner, character)


def plain_at(text: bytes, at: int, *, whole: bool) -> Iterator[tuple[bytes, bytes, str, str]]:
    """Something plain for what is at a byte, and the JSON text with it.

    That is a character, or more of a string that ends there, or a value; with `whole` a value of
    the same type. Of a string follow what it was and what it is then.
    """
    for string in () if whole else _STRING.finditer(text):
        start, end = string.start(), string.end() - 1
        if start < at <= end:
            units = (unit.span() for unit in _UNIT.finditer(text, start + 1, end))
            span = next((span for span in units if span[0] <= at < span[1]), (end, end))
            for plain in (*LETTERS, b"0", b" "):
                now = put(text, span, plain)[start : string.end() + len(plain) - span[1] + span[0]]
                yield plain, put(text, string.span(), now), _decoded(string[0]), _decoded(now)
            return
    for value in reversed(list(_values(root_of(text)))):
        if value.start <= at < value.end if whole and at >= 0 else value.start == max(at, 0):
            like = [one for one in _PLAIN if root_of(one).kind == value.kind or not whole]
            yield from ((one, put(text, (value.start, value.end), one), "", "") for one in like)
            return
    if text[at : at + 1] in (b".", b"-", b"+", b"e", b"E") or text[at : at + 1].isdigit():
        yield b"0", put(text, (at, at + 1), b"0"), "", ""


def keys(text: bytes) -> list[str]:
    """The keys of all objects of a JSON text, each once, in their order."""
    spans = _values(root_of(text))
    return list(dict.fromkeys(member.name for span in spans for member in span.members))


def word_renamed(text: bytes, old: str, new: str) -> bytes:
    """The text with another word for one; where that has an escape its first letter has."""
    was, now = (json.dumps(word, ensure_ascii=False).encode() for word in (old, new))
    text = text.replace(was, now)
    for string in reversed(list(_STRING.finditer(text))):
        if b"\\" in string[0] and _decoded(string[0]) == old:
            text = put(text, string.span(), b'"\\u%04x' % ord(new[0]) + now[2:])
    return text


def _decoded(string: bytes) -> str:
    """What a string says; nothing where it is none."""
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return ""


def _values(span: ValueSpan) -> Iterator[ValueSpan]:
    yield span
    for entry in span.entries:
        yield from _values(entry.value)


def sort_of(byte: bytes) -> str:
    """What sort of byte it is: digits are alike, and so are letters."""
    if not byte:
        return "end"
    if not byte.isascii():
        return "beyond ASCII"
    return "digit" if byte.isdigit() else "letter" if byte.isalpha() else byte.hex()


def fault(text: bytes, at: int) -> tuple[str, str]:
    """At what kind of place a byte of a text is, and what sort of byte it is."""
    state, byte = advance(START, text[:at]), text[at : at + 1]
    if state is None or not byte:
        return "", sort_of(byte)
    place = place_of(state, at_end=False)
    if place == "inside number" and byte in b",]}" + LAYOUT:
        place = "after value" if state.stack else "end"
    if place == "after value" and state.stack.endswith(b"{"):
        place = "after member"
    if place == "start of value" and byte in b"]" + LAYOUT:
        place = "before value"
    return place, sort_of(byte)
