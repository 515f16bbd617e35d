"""The usual spellings of a JSON value: the texts that programs and models write for it.

A value is what JSON Schema speaks of: 1 and 1.0 are one value, and members have no order. A program
writes it compactly, as Python's `json.dumps` does, or indented by two spaces; its members as they
came, as the schema declares them, or as refusals of an engine lead; its characters raw or
escaped; its numbers as they came, as the shortest decimal, as an integer, without an exponent, or
in the 17 digits of which every program reads the same double. Here a text that is written up to
some byte is finished in each of these ways. A value is lost only where an engine takes none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from functools import lru_cache
from itertools import chain, product
from operator import is_
from typing import Any, Final

from harness.jsontext.lexer import Mode
from harness.jsontext.partial import Layout, Spelled, after, load
from harness.jsontext.pointers import escape
from harness.jsontext.remaining import rest_of

ITEM: Final = "~#"
"""What stands for an item in the path of an object, before its number; it is in no pointer."""
_NUMBERED: Final = 16
"""So many items of an array have numbers of their own in paths, those behind them share one."""

Order = Callable[[str, Sequence[str]], Sequence[str]]
"""The names of an object's members, in the order in which to write them, by the object's path."""

Way = tuple[int, ...]
"""How a value is written: by number which form of numbers, characters, layout and order."""

MOST: Final = 24
"""Spellings of one value, at most; the likeliest come first."""

_BLANK: Final = b" \t\n\r"
_LAYOUTS: Final = (Layout(), Layout(b"", b""), Layout(b"", b" ", b"  "))
_NUMBERS: Final = ("given", "shortest", "integer", "positional", "seventeen digits")
_LONGEST: Final = 400
"""Digits of a number without an exponent: those of any double, as programs print integers."""
_DIGIT: Final = re.compile(rb"[0-9]")
_SPECIAL: Final = re.compile(rb"[\\\x7f]")
_IN_NUMBER: Final = b"-+.0123456789Ee"


def as_given(_path: str, names: Sequence[str]) -> Sequence[str]:
    return names


def usual_spellings(
    text: bytes,
    written: int = 0,
    orders: Sequence[Order] = (as_given,),
    most: int = MOST,
    first: Sequence[Way] = (),
) -> dict[bytes, Way]:
    """The usual spellings of the value of `text`, JSON, of which so many bytes are `written`.

    Whole texts, `most` at most, each once, with the way in which it is written. The ways `first`
    come before others; members have one of the `orders`, likeliest first.
    """
    found: dict[bytes, Way] = {}
    forms: list[Sequence[Any]] = [
        _NUMBERS if _DIGIT.search(text) else _NUMBERS[:1],
        (False,) if text.isascii() and not _SPECIAL.search(text) else (False, True),
        _LAYOUTS,
        orders,
    ]
    seen = set[tuple[_Form, Layout]]()
    for way in chain(first, _choices(*map(len, forms))):
        numbers, ascii_, layout, order = (
            form[at if at < len(form) else 0] for form, at in zip(forms, way, strict=True)
        )
        written_as = _form(text, numbers, order), layout._replace(ascii=ascii_)
        if written_as not in seen:
            seen.add(written_as)
            found.setdefault(_spelled(text, written, *written_as), way)
        if len(found) == most:
            break
    return found


@lru_cache(1 << 10)
def _spelled(text: bytes, written: int, document: _Form, layout: Layout) -> bytes:
    """The text of a document that begins with the first bytes of `text`."""
    cursor, stripped = after(text[:written]), len(text[:written].rstrip(_BLANK))
    assert cursor is not None, "a prefix of JSON goes on"
    inside = cursor.mode.in_string or cursor.mode.in_number or cursor.mode is Mode.LITERAL
    blank = b"" if inside else text[stripped:written]
    rest = rest_of(layout, cursor._replace(spaced=False), document.value)
    if rest is None:  # a number that is begun otherwise
        rest = _after_number(text, written)
    elif blank:  # what is there of the white space that comes next
        rest = rest[len(blank) :] if rest.startswith(blank) else rest.lstrip(_BLANK)
    return text[:written] + rest


def _after_number(text: bytes, written: int) -> bytes:
    """The rest of a text from within a number, without digits where its value stands already."""
    begun, rest = text[:written], text[written:]
    ended = rest.lstrip(_IN_NUMBER)
    start, end = len(begun.rstrip(_IN_NUMBER)), len(text) - len(ended)
    return ended if value_key(begun[start:]) == value_key(text[start:end]) else rest


@dataclass(frozen=True, eq=False)
class _Form:
    """A document as it is to be written; one object where two ways make no difference to it."""

    value: Any


@lru_cache(1 << 9)
def _form(text: bytes, numbers: str, order: Order) -> _Form:
    """The value of `text`, with numbers in a form and members in an order."""
    if order is not as_given:
        before, numbers = _form(text, numbers, as_given), _NUMBERS[0]
    elif numbers != _NUMBERS[0]:
        before = _form(text, _NUMBERS[0], as_given)
    else:
        return _Form(load(text))
    value = _rewritten(before.value, numbers, order, "")
    return before if value is before.value else _Form(value)


@lru_cache
def _choices(*counts: int) -> Sequence[Way]:
    """Every way to choose among so many forms, the usual ones first."""
    return sorted(product(*map(range, counts)), key=lambda way: sum(at > 0 for at in way))


def _rewritten(value: Any, numbers: str, order: Order, path: str) -> Any:
    """The value at `path` with numbers in a form and members in an order; itself where they are."""

    def below(one: Any, step: str) -> Any:
        return _rewritten(one, numbers, order, f"{path}/{step}")

    if isinstance(value, dict):
        members = {one: below(value[one], escape(one)) for one in order(path, tuple(value))}
        same = all(map(is_, members, value)) and all(map(is_, members.values(), value.values()))
        return value if same else members
    if isinstance(value, list):
        items = [below(one, f"{ITEM}{min(at, _NUMBERED)}") for at, one in enumerate(value)]
        return value if all(map(is_, items, value)) else items
    if numbers == _NUMBERS[0] or isinstance(value, str | bool | None):
        return value
    text = value.text if isinstance(value, Spelled) else str(value)
    spelled = _spelled_number(text, numbers)
    return value if spelled == text else Spelled(spelled)


@lru_cache(maxsize=1 << 14)
def value_key(text: bytes) -> str:
    """The same for two JSON texts of the same value alone; empty for what is no JSON."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(value[name]) for name in sorted(value)}
        if isinstance(value, list):
            return [plain(one) for one in value]
        return _shortest(value) if isinstance(value, Decimal) else value

    try:
        return repr(plain(with_decimals(text)))
    except (ValueError, RecursionError):
        return ""


@lru_cache(4)
def with_decimals(text: bytes) -> Any:
    """The value of a JSON text, not to be changed: its numbers are decimals.

    One that no decimal holds is its digits in a tuple; what is no JSON, such as NaN, is a float.
    """
    return json.loads(text.decode(), parse_float=_decimal, parse_int=_decimal)


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


def _spelled_number(raw: str, how: str) -> str:
    number = _decimal(raw)
    if isinstance(number, tuple) or not number.is_finite():
        return raw
    exponent = number.adjusted()
    if how == "integer":
        whole = number == number.to_integral_value() and exponent < _LONGEST
        return str(int(number)) if whole else raw
    try:
        short = json.dumps(float(number))
    except OverflowError:
        return raw
    if how == "seventeen digits":  # of which a program reads the same double
        return format(float(number), ".17g") if _decimal(short) == number else raw
    if how == "positional" or _decimal(short) != number:  # more digits than a double keeps
        return format(_shortest(number), "f") if abs(exponent) < _LONGEST else raw
    return short
