"""Smaller texts: parts left out, values and characters said more simply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from harness.jsontext.spans import ValueSpan, root_of

_SIMPLE = (b"0", b"1", b'""', b'"a"', b"null", b"true", b"[]", b"{}", b"[0]", b'{"a":0}')
_SIMPLER = {"letter": b"AEa", "digit": b"01", "2d": b"+"}
_SEPARATOR = re.compile(rb'"(?:[^"\\]|\\.)*"|([,\[\]{}])', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPED = rb"\\(?:u[0-9a-fA-F]{4}|.)"
_BEYOND = rb"[\xc0-\xff][\x80-\xbf]*"
_ESCAPE = re.compile(_ESCAPED, re.DOTALL)
_SPECIAL = re.compile(_ESCAPED + b"|" + _BEYOND + rb"|[^A-Za-z\\]", re.DOTALL)
_CHARACTER = re.compile(_ESCAPED + b"|" + _BEYOND + rb"|[^A-Za-z0-9\\]", re.DOTALL)
_BEHIND = re.compile(rb"([A-Za-z0-9])([\xc0-\xff][\x80-\xbf]+)")
_ESCAPED_BEHIND = re.compile(rb"([A-Za-z0-9])\\u00([2-7][0-9a-fA-F])")
_ATOM = re.compile(r"\\.|\[[^\]]*\]|[^\\\[\]{}()|?*+^$]")
_KINDS = {
    "": ("object", "array", "string", "number", "null"),
    "integer": ("number",),
    "boolean": ("true", "false"),
}
_LAYOUT = re.compile(rb'("(?:[^"\\]|\\.)*")|[ \t\n\r]+', re.DOTALL)
_SPACES = b" \t\n\r"
_SIGN = re.compile(rb'("(?:[^"\\]|\\.)*")|(?<![eE])-', re.DOTALL)
_ASCII_ESCAPE = re.compile(rb"\\u00([2-7][0-9a-fA-F])")


def simpler_values(text: bytes) -> Iterator[bytes]:
    """The JSON text with one value replaced by a shorter one, outermost first."""
    for span in _values(root_of(text)):
        for simple in _SIMPLE:
            if len(simple) < span.end - span.start:
                yield text[: span.start] + simple + text[span.end :]


def members_left_out(text: bytes) -> Iterator[bytes]:
    """The JSON text without one member or item."""
    for span in _values(root_of(text)):
        if span.kind == "object":
            parts = [(one.key.start, one.value.end) for one in span.members]
        elif span.kind == "array":
            parts = [(one.value.start, one.value.end) for one in span.items]
        else:
            continue
        for number, (start, end) in enumerate(parts):
            if number + 1 < len(parts):
                yield text[:start] + text[parts[number + 1][0] :]
            elif number:
                yield text[: parts[number - 1][1]] + text[end:]
            else:
                yield text[:start] + text[end:]


def without_layout(text: bytes) -> Iterator[bytes]:
    """The text without white space between its tokens: all of it, then piece by piece."""
    plain = _LAYOUT.sub(lambda found: found[1] or b"", text)
    if plain != text:
        yield plain


def bytes_left_out(text: bytes) -> Iterator[bytes]:
    """The text without some bytes in a row, many first."""
    size = min(len(text), 64)
    while size:
        for at in range(0, len(text), max(1, size // 2)):
            yield text[:at] + text[at + size :]
        size //= 2


def pieces_left_out(text: bytes) -> Iterator[bytes]:
    """The text, JSON or not, without what stands between two separators outside strings."""
    bounds = [found.start() for found in _SEPARATOR.finditer(text) if found[1]]
    for number, start in enumerate(bounds):
        for end in bounds[number + 1 : number + 4]:
            yield text[:start] + text[end:]
            yield text[: start + 1] + text[end + 1 :]


def plain_escapes(text: bytes) -> Iterator[bytes]:
    """The text with one escape replaced by the first of the short ones."""
    for found in _ESCAPE.finditer(text):
        yield text[: found.start()] + b'\\"' + text[found.end() :]


def plainer_bytes(text: bytes) -> Iterator[bytes]:
    """The text with one letter, digit or minus replaced by a plain one."""
    for at in range(len(text)):
        byte = text[at : at + 1]
        for plain in _SIMPLER.get(sort_of(byte), b""):
            if bytes([plain]) < byte:
                yield text[:at] + bytes([plain]) + text[at + 1 :]


def letters(text: bytes) -> Iterator[bytes]:
    """The text with one digit, escape or special character in a string replaced by a letter."""
    for string in _STRING.finditer(text):
        for found in _SPECIAL.finditer(string[0], 1, len(string[0]) - 1):
            start, end = string.start() + found.start(), string.start() + found.end()
            for letter in (b"A", b"z"):
                yield text[:start] + letter + text[end:]


def leftward(text: bytes) -> Iterator[bytes]:
    """The text with one character beyond ASCII before the letter or digit that it follows.

    Of an escape only where it stands is changed: what it follows is escaped in its place.
    """
    for found in _BEHIND.finditer(text):
        yield text[: found.start()] + found[2] + found[1] + text[found.end() :]
    for found in _ESCAPED_BEHIND.finditer(text):
        letter = bytes([int(found[2], 16)])
        if letter.isalnum():
            escape = b"\\u%04x" % found[1][0]
            yield text[: found.start()] + escape + letter + text[found.end() :]


def solidus_as_letters_are(text: bytes) -> Iterator[bytes]:
    r"""The text with ``\/`` escaped by its number, as any letter can be."""
    for found in _ESCAPE.finditer(text):
        if found[0] == b"\\/":
            yield text[: found.start()] + b"\\u002f" + text[found.end() :]


def escaped_first(text: bytes) -> Iterator[bytes]:
    """The text with the first character of a string escaped, and not the one that was."""
    for string in _STRING.finditer(text):
        for found in _ASCII_ESCAPE.finditer(string[0], 2):
            character = bytes([int(found[1], 16)])
            first, rest = string[0][1:2], string[0][2 : found.start()]
            if first == b"\\" or character in b'"\\':
                continue
            moved = b'"\\u%04x' % first[0] + rest + character + string[0][found.end() :]
            yield text[: string.start()] + moved + text[string.end() :]


def plain_spaces(text: bytes) -> Iterator[bytes]:
    """The text with one space for some white space outside of strings."""
    for found in _LAYOUT.finditer(text):
        if found[1] is None and found[0] != b" ":
            yield text[: found.start()] + b" " + text[found.end() :]


def around_true(text: bytes) -> Iterator[bytes]:
    """White space around a whole text around ``true``, where there is any."""
    value = text.strip(_SPACES)
    if len(value) < len(text) and value not in (b"true", b""):
        before, _, behind = text.partition(value)
        yield before + b"true" + behind


def without_signs(text: bytes) -> bytes:
    """The text without the signs of numbers other than exponents."""
    return _SIGN.sub(lambda found: found[1] or b"", text)


def escapes(text: bytes) -> Iterator[bytes]:
    """The text with an escaped letter for a string that has an escape."""
    for string in _STRING.finditer(text):
        if b"\\" in string[0]:
            yield text[: string.start()] + b'"\\u0041"' + text[string.end() :]


def short_ends(text: bytes) -> Iterator[bytes]:
    """The text with one letter for the end of a string that no letter or digit begins."""
    for string in _STRING.finditer(text):
        for found in _CHARACTER.finditer(string[0], 1, len(string[0]) - 1):
            before, behind = text[: string.start() + found.start()], text[string.end() - 1 :]
            yield from (before + letter + behind for letter in (b"A", b"Z"))


def true_for(text: bytes, kind: str) -> Iterator[bytes]:
    """The JSON text with true for values of a type: for all of them, then for each by itself."""
    kinds = _KINDS.get(kind, (kind,))
    spans = [one for one in _values(root_of(text)) if one.kind in kinds and one.start]
    outer: list[ValueSpan] = []
    for span in spans:
        if not outer or span.start >= outer[-1].end:
            outer.append(span)
    for some in (outer, *([one] for one in outer)) if len(outer) > 1 else (outer,):
        edited = text
        for span in reversed(some):
            edited = edited[: span.start] + b"true" + edited[span.end :]
        yield edited


def one_atom(pattern: str, text: bytes) -> Iterator[tuple[str, bytes]]:
    """One atom of a pattern, and the text with one character in place of a string."""
    for atom in dict.fromkeys(_ATOM.findall(pattern)):
        for string in _STRING.finditer(text):
            for character in dict.fromkeys(_CHARACTER.findall(string[0], 1, len(string[0]) - 1)):
                whole = text[: string.start() + 1] + character + text[string.end() - 1 :]
                yield f"^{atom}$", whole


def keys(text: bytes) -> list[str]:
    """The keys of all objects of a JSON text, each once, in their order."""
    found: dict[str, None] = {}
    for span in _values(root_of(text)):
        if span.kind == "object":
            found.update(dict.fromkeys(one.name for one in span.members))
    return list(found)


def key_renamed(text: bytes, old: str, new: str) -> bytes:
    """The JSON text with another key in place of one, wherever it stands."""
    spans = [
        one.key
        for span in _values(root_of(text))
        if span.kind == "object"
        for one in span.members
        if one.name == old
    ]
    for span in sorted(spans, key=lambda one: -one.start):
        text = text[: span.start] + b'"' + new.encode() + b'"' + text[span.end :]
    return text


def word_renamed(text: bytes, old: str, new: str) -> bytes:
    """The text with another word in place of one; where that has an escape its first letter has."""
    was, now = (json.dumps(one, ensure_ascii=False).encode() for one in (old, new))
    text = text.replace(was, now)
    for string in reversed(list(_STRING.finditer(text))):
        if b"\\" in string[0] and _decoded(string[0]) == old:
            escaped = b'"\\u%04x' % ord(new[0]) + now[2:]
            text = text[: string.start()] + escaped + text[string.end() :]
    return text


def _decoded(string: bytes) -> str | None:
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return None


def _values(span: ValueSpan) -> Iterator[ValueSpan]:
    yield span
    if span.kind == "object":
        for member in span.members:
            yield from _values(member.value)
    elif span.kind == "array":
        for item in span.items:
            yield from _values(item.value)


def sort_of(byte: bytes) -> str:
    """What sort of byte it is: digits are alike, and so are letters."""
    if not byte:
        return "end"
    if not byte.isascii():
        return "beyond ASCII"
    return "digit" if byte.isdigit() else "letter" if byte.isalpha() else byte.hex()
