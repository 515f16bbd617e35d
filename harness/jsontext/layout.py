"""How a JSON text is laid out, and values written in the same way."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from harness.jsontext.partial import Spelled

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
        if isinstance(value, Spelled):
            return value.text.encode()
        if isinstance(value, str):
            return b'"' + self.inside(value) + b'"'
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
        if not self.ascii and not any("\ud800" <= char <= "\udfff" for char in text):
            return json.dumps(text, ensure_ascii=False)[1:-1].encode()
        return json.dumps(text)[1:-1].encode()

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
        ascii=rb"\u" in text and text.isascii(),
    )
