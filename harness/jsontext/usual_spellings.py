"""The usual spellings of a JSON value: the texts that programs and models write for it.

A value is what JSON Schema speaks of: 1 and 1.0 are one value, and members have no order. A program
writes it compactly, as Python's `json.dumps` does, or indented by two spaces; its members as they
came, as the schema declares them, or as an engine itself orders them; its characters raw or
escaped; its numbers as they came, as the shortest decimal, as an integer, or without an exponent.
Here a text that is written up to some byte is finished in each of these ways; from its first byte
on, that is the whole value in each of them. Engines differ in which of these they take, so a value
counts as lost only where none is taken.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from functools import lru_cache
from itertools import chain, product
from typing import Any, Final

from harness.jsontext.partial import Layout
from harness.jsontext.spans import Entry, ValueSpan, characters, root_of

Order = Callable[[str, Sequence[str]], Sequence[str]]
"""The names of an object's members, in the order in which to write them, by the object's path."""

Way = tuple[int, ...]
"""How a value is written: by number which form of numbers, characters, layout and order."""

MOST: Final = 24
"""Spellings of one value, at most; the likeliest come first."""

_BLANK: Final = b" \t\n\r"


_LAYOUTS: Final = (Layout(), Layout(b"", b""), Layout(b"", b" ", b"  "))
_NUMBERS: Final = ("given", "shortest", "integer", "positional")
_DIGIT: Final = re.compile(rb"[0-9]")
_SPECIAL: Final = re.compile(rb"[\\\x7f]")


def as_given(_path: str, names: Sequence[str]) -> Sequence[str]:
    """Members in the order in which they came."""
    return names


def ordered_as(known: Mapping[str, Sequence[str]]) -> Order:
    """Members in the order that is known for their object's path, the others after them."""

    def order(path: str, names: Sequence[str]) -> Sequence[str]:
        first = [name for name in known.get(path, ()) if name in names]
        return [*first, *(name for name in names if name not in first)]

    return order


def orders_of(text: bytes) -> dict[str, list[str]]:
    """The order of members in a text, by the path of their object; items share a path.

    Empty for what is no JSON.
    """
    found: dict[str, list[str]] = {}

    def look(value: Any, path: str) -> None:
        if isinstance(value, dict):
            found.setdefault(path, list(value))
            for name, below in value.items():
                look(below, f"{path}/{name}")
        elif isinstance(value, list):
            for below in value:
                look(below, f"{path}/*")

    with contextlib.suppress(ValueError, RecursionError):
        look(json.loads(text), "")
    return found


def usual_spellings(
    text: bytes,
    written: int = 0,
    orders: Sequence[Order] = (as_given,),
    most: int = MOST,
    first: Sequence[Way] = (),
) -> dict[bytes, Way]:
    """The usual spellings of the value of `text`, JSON, that begin with its first bytes.

    Args:
        written: So many bytes stand already, and stay as they are.
        orders: The orders of members to write, likeliest first.
        first: The ways of writing to begin with.

    Returns:
        Whole texts, at most so many, each once, with the way in which it is written.
    """
    found: dict[bytes, Way] = {}
    root = root_of(text)
    forms: list[Sequence[Any]] = [
        _NUMBERS if _DIGIT.search(text) else _NUMBERS[:1],
        (False,) if text.isascii() and not _SPECIAL.search(text) else (False, True),
        _LAYOUTS,
        orders,
    ]
    for way in chain(first, _ways(*map(len, forms))):
        numbers, ascii_, layout, order = (
            form[at if at < len(form) else 0] for form, at in zip(forms, way, strict=True)
        )
        style = _Style(text, written, layout, order, numbers, ascii_)
        found.setdefault(style.write(root), way)
        if len(found) == most:
            break
    return found


@lru_cache
def _ways(*counts: int) -> Sequence[Way]:
    """Every way to choose among so many forms, the usual ones first."""
    return sorted(product(*map(range, counts)), key=lambda way: sum(at > 0 for at in way))


@lru_cache(maxsize=1 << 14)
def value_key(text: bytes) -> str:
    """The same for two JSON texts where they have the same value, and else another.

    Empty for what is no JSON.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(value[name]) for name in sorted(value)}
        if isinstance(value, list):
            return [plain(one) for one in value]
        return _shortest(value) if isinstance(value, Decimal) else value

    try:
        return repr(plain(json.loads(text, parse_float=_decimal, parse_int=_decimal)))
    except (ValueError, RecursionError):
        return ""


def _decimal(digits: str) -> Decimal | tuple[str]:
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent that no decimal holds
        return (digits,)


def _shortest(number: Decimal) -> Decimal:
    """The same number without zeros at its end, in all its digits; minus zero is zero."""
    digits = max(1, len(number.as_tuple().digits))
    exact = Context(digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return number.normalize(exact) if number else Decimal(0)


_WRITTEN, _REST, _NEW = range(3)
"""Of a token: it stands already, or a part of it does, or nothing."""
_Token = tuple[str, int, bytes]
"""Its kind, how much of it stands, and what is left to write."""


@dataclass(frozen=True)
class _Style:
    """Writes a value in one way, after what is written of it."""

    text: bytes
    written: int
    layout: Layout
    order: Order
    numbers: str
    ascii: bool

    def write(self, root: ValueSpan) -> bytes:
        out = bytearray(self.text[: self.written])
        depth, before = 0, ""
        for kind, stands, piece in self._tokens(root, ""):
            depth -= kind == "close"
            if stands == _NEW:
                space = self._space(before, kind, depth)
                if len(out) == self.written:  # some of it may be written
                    there = out[len(out.rstrip(_BLANK)) :]
                    space = space[len(there) :] if space.startswith(there) else b""
                out += space
            if stands != _WRITTEN:
                out += piece
            depth += kind == "open"
            before = kind
        return bytes(out)

    def _space(self, before: str, kind: str, depth: int) -> bytes:
        """The white space between two tokens."""
        if before == "colon":
            return self.layout.colon
        closes, opened = kind == "close", before == "open"
        if self.layout.indent and (closes != opened or before == "comma"):
            return self.layout.edge(depth)
        return self.layout.comma if before == "comma" else b""

    def _tokens(self, node: ValueSpan, path: str) -> Iterator[_Token]:
        if node.kind not in ("object", "array"):
            yield self._scalar(node)
            return
        yield self._mark("open", node.start, node.raw[:1])
        commas = sum(0 <= one.comma < self.written for one in node.entries)
        entries, begun = self._sorted(node, path)
        for at, one in enumerate(entries):
            if at:
                yield "comma", _WRITTEN if at <= commas else _NEW, b","
            if one.key is not one.value:
                if begun is not None and begun[0] <= at:
                    first = begun[0] == at
                    left = len(begun[1]) if first else 0
                    yield "scalar", _REST if first else _NEW, self._key(one)[left:]
                else:
                    yield self._scalar(one.key)
                yield self._mark("colon", self.text.index(b":", one.key.end), b":")
            yield from self._tokens(
                one.value, f"{path}/{one.name if node.kind == 'object' else '*'}"
            )
        yield self._mark("close", node.end - 1, node.raw[-1:])

    def _mark(self, kind: str, at: int, piece: bytes) -> _Token:
        return kind, _WRITTEN if at < self.written else _NEW, piece

    def _sorted(self, node: ValueSpan, path: str) -> tuple[list[Entry], tuple[int, bytes] | None]:
        """The entries of a container: those that stand as they are, the others in order.

        Where a key is begun that another member's key begins with, too, that one may come: which
        it is, and what is written of the key.
        """
        entries = list(node.entries)
        stand = [one for one in entries if one.key.start < self.written]
        if node.kind == "array" or len(entries) < 2:
            return entries, None
        part = b""
        if stand and self.written < stand[-1].key.end:
            part = self.text[stand[-1].key.start : self.written]
            stand.pop()
        rest = {one.name: one for one in entries[len(stand) :]}
        names = self.order(path, [one.name for one in entries])
        sorted_ = [rest[name] for name in names if name in rest]
        if not part:
            return [*stand, *sorted_], None
        next_ = next((one for one in sorted_ if self._key(one).startswith(part)), None)
        if next_ is None or next_ is entries[len(stand)]:
            begun = entries[len(stand)]
            return [*stand, begun, *(one for one in sorted_ if one is not begun)], None
        sorted_.remove(next_)
        return [*stand, next_, *sorted_], (len(stand), part)

    def _key(self, entry: Entry) -> bytes:
        return _written_string(entry.name, ascii_=self.ascii)

    def _scalar(self, node: ValueSpan) -> _Token:
        if node.end < self.written or (node.end == self.written and node.kind != "number"):
            return "scalar", _WRITTEN, b""
        cut = max(node.start, self.written)
        if node.kind == "string":
            piece = self._string(node, cut)
        elif node.kind == "number":
            spelled, started = _spelled_number(node.raw, self.numbers), self.text[node.start : cut]
            fits = spelled.startswith(started)
            piece = spelled[len(started) :] if fits else self.text[cut : node.end]
        else:
            piece = self.text[cut : node.end]
        return "scalar", _REST if node.start < self.written else _NEW, piece

    def _string(self, node: ValueSpan, cut: int) -> bytes:
        spans, value = characters(node), node.value
        if cut == node.start:
            return _written_string(value, ascii_=self.ascii)
        if len(spans) != len(value):  # halves of pairs: as it stands
            return self.text[cut : node.end]
        left = sum(start < cut for start, _ in spans)
        begin = spans[left][0] if left < len(spans) else node.end - 1
        return self.text[cut:begin] + _written_string(value[left:], ascii_=self.ascii)[1:]


def _written_string(value: str, *, ascii_: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=ascii_)
    text = text.replace("\x7f", "\\u007f") if ascii_ else text  # a control character to many
    return text.encode("utf-8", "surrogatepass")


def _spelled_number(raw: bytes, how: str) -> bytes:
    if how == "given":
        return raw
    number = _decimal(raw.decode())
    if isinstance(number, tuple) or not number.is_finite():
        return raw
    exponent = number.adjusted()
    if how == "integer":
        whole = number == number.to_integral_value() and exponent < 40
        return str(int(number)).encode() if whole else raw
    try:
        short = json.dumps(float(number)).encode()
    except OverflowError:
        return raw
    if how == "positional" or _decimal(short.decode()) != number:  # more digits than a double keeps
        return format(_shortest(number), "f").encode() if -40 < exponent < 40 else raw
    return short
