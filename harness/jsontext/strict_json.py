"""JSON read strictly: RFC 8259, and nothing on whose meaning two readers may differ.

The errors tell apart what is no JSON at all (`JsonError` itself) from what the grammar allows but
readers treat differently (its subclasses). Of several faults the first of this list is reported:
nested too deep, not JSON, lone surrogate, duplicate keys, number out of range. Sources: RFC 8259,
sections 4 (names), 6 (numbers), 8.1 (UTF-8) and 8.2 (surrogates).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, Final, NoReturn

from harness.errors import InputError

MAX_DEPTH: Final = 200
"""Containers within containers that `parse` reads.

CPython's reader recurses once for each, and `json.dumps` with an indent does: 200 leaves room for
both under a limit of 1000 frames, below any caller.
"""

STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BRACKETS_OUTSIDE_STRINGS = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|([\[{])|([\]}])', re.DOTALL)
_LONE_SURROGATE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)", re.DOTALL
)
_BOM = "\ufeff"


class JsonError(InputError):
    """A text that is not JSON.

    `offset` counts from 0 in characters, or in bytes of texts that are not UTF-8; None where the
    fault has no single place. The message has line and column, from 1.
    """

    def __init__(self, problem: str, text: str | bytes = "", offset: int | None = None) -> None:
        self.offset = offset
        if offset is not None:
            newline: Any = "\n" if isinstance(text, str) else b"\n"
            line = text.count(newline, 0, offset) + 1
            problem += f" at line {line}, column {offset - text.rfind(newline, 0, offset)}"
        super().__init__(problem)


class TooDeep(JsonError):
    """More than `MAX_DEPTH` containers within one another: not looked at any further."""


class LoneSurrogate(JsonError):
    """A string with half of a surrogate pair, which stands for no character."""


class NumberOverflow(JsonError):
    """A number that JSON allows and Python cannot hold: infinite as a float, or too many digits."""


class DuplicateKeys(JsonError):
    """An object that names a member twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = Counter(name for name, _ in pairs)
        raise DuplicateKeys(f"duplicate key {names.most_common(1)[0][0]!r}")
    return members


def _finite(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise NumberOverflow("a number is out of range")
    return number


def _constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant)
_GRAMMAR = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_constant)
_NAMES = json.JSONDecoder(object_pairs_hook=_object, parse_float=str, parse_int=str)


def parse(text: bytes | str, *, lone_surrogates: bool = False) -> Any:
    """The value of a JSON text (bytes are UTF-8): None, bool, int, float, str, list or dict.

    `lone_surrogates` accepts halves of surrogate pairs written as escapes.

    Raises:
        JsonError: Not JSON: malformed, not UTF-8, a byte order mark, NaN or Infinity.
        TooDeep: Nested deeper than `MAX_DEPTH`.
        LoneSurrogate: Half of a surrogate pair, as an escape or (in a str) as itself.
        DuplicateKeys: A key twice in one object, however it is spelt.
        NumberOverflow: A number that is infinite as a float, or an integer with more digits
            than Python converts (4300 unless configured otherwise).
    """
    chars = text if isinstance(text, str) else utf8(text)
    if chars.count("[") + chars.count("{") > MAX_DEPTH:
        _check_depth(chars)
    try:
        value = _STRICT.decode(chars)
    except (ValueError, JsonError):
        _explain(chars, lone_surrogates)
    if not lone_surrogates:
        _check_surrogates(chars)
    return value


def utf8(text: bytes) -> str:
    """The characters of `text`; JsonError where it is not UTF-8."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError("not UTF-8", text, error.start) from None


def _check_depth(chars: str) -> None:
    depth = 0
    for token in _BRACKETS_OUTSIDE_STRINGS.finditer(chars):
        if token.group(1):
            depth += 1
            if depth > MAX_DEPTH:
                raise TooDeep(f"nested more than {MAX_DEPTH} deep", chars, token.start())
        elif token.group(2):
            depth -= 1


def _check_surrogates(chars: str) -> None:
    found = (match for match in _LONE_SURROGATE.finditer(chars) if match.group(1))
    if "\\u" in chars and (half := next(found, None)) is not None:
        raise LoneSurrogate("lone surrogate", chars, half.start())
    try:
        chars.encode("utf-8")
    except UnicodeEncodeError as error:
        raise LoneSurrogate("lone surrogate", chars, error.start) from None


def _explain(chars: str, lone_surrogates: bool) -> NoReturn:
    """Raise the error that tells what is wrong with `chars`, which the strict reader refused."""
    try:
        _GRAMMAR.decode(chars)
    except json.JSONDecodeError as error:
        if chars.startswith(_BOM):
            raise JsonError("starts with a byte order mark", chars, 0) from None
        problem = (error.msg[0].lower() + error.msg[1:]).removesuffix(" at")
        raise JsonError(problem, chars, error.pos) from None
    if not lone_surrogates:
        _check_surrogates(chars)
    _NAMES.decode(chars)
    raise NumberOverflow("a number is out of range") from None


_EXACT_INTEGERS = 2.0**53  # below, doubles equal integers exactly when what is written does
# Up to 15 significant digits survive the way to a double and back at every magnitude that two
# digits of exponent reach from there; what has more is looked at closely. Looking for fixed bytes
# in a text whose digits are all one is many times faster than a regular expression.
_DIGITS_ALIKE = bytes.maketrans(b"123456789.E-", b"0000000000e+")
_SUSPICIOUS = (b"0" * 16, b"0e00", b"0e+00")


def keeps_numbers(text: bytes, *, roughly: bool = False) -> bool:
    """Whether every number of `text`, JSON without duplicate keys, survives being read as a double.

    A number survives when its double's shortest spelling is the number; one of 2**53 or more must
    also equal its double exactly, since integers are compared with it, unless `roughly`: for
    schemas, where 1.7976931348623157e308 stands for "any". Integers are read exactly at any size.
    """
    alike = text.translate(_DIGITS_ALIKE)
    if not any(part in alike for part in _SUSPICIOUS):
        return True
    lost = False

    def look(digits: str) -> float:
        nonlocal lost
        number = float(digits)
        try:
            written = Decimal(digits)
        except InvalidOperation:  # an exponent beyond any decimal
            lost = True
            return number
        exact = roughly or abs(number) < _EXACT_INTEGERS or written == Decimal(number)
        lost = lost or not exact or written != Decimal(repr(number))
        return number

    json.loads(text, parse_float=look)
    return not lost
