"""What the text after a verdict says beyond the keyword that it breaks.

All is decided when the verdict is made and stored with it, so that readers need neither engine
nor validator: whether an invalid text breaks nothing but `format`, how likely its value is to be
met, and how the number is spelt that a verdict is about. JSON and JSON Schema say what such numbers
mean, but many readers do not keep to it: see the section on numbers in ``docs/validators.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from harness.explain.attribution import GoverningKeyword
from harness.jsontext.pointers import follow, steps
from harness.jsontext.spans import ValueSpan, root_of
from harness.jsontext.usual_spellings import value_key
from harness.validators.drafts import draft_of
from harness.validators.judge import Ruling
from harness.verdict_kinds import FALSE_ACCEPTANCE, FALSE_REJECTION, PLAIN, RARE, REAL

MINUS_ZERO, BEYOND, WHOLE, WHOLE_04 = SPELLINGS = (
    *("-0", "beyond 2^53", "1.0 as an integer", "1.0 as an integer, draft-04"),
)
"""Minus zero; an integer that no double is sure to keep; an integer that is written with a fraction
or an exponent, which draft-04 calls none. A verdict about anything else has no such word."""

_HIDING: Final = (
    *("anyOf", "oneOf", "not", "contains", "minContains", "maxContains"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords that validators name where what was broken is something below them."""
_EXACT: Final = 2**53
_DIGITS: Final = 17
"""So many digits are beyond `_EXACT` whatever they are."""
_ABOUT: Final = (
    *("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "anyOf", "oneOf", "not"),
)
"""Keywords that a number can break."""


class TextFacts:
    """Tells these facts for the texts of one case, which has a schema, its `source`, and instances.

    `valid_without_formats` says which of some texts both validators call valid where formats are
    annotations; None where they are annotations anyway.
    """

    def __init__(
        self,
        source: str,
        schema: Any,
        valid_without_formats: Callable[[Sequence[bytes]], Sequence[bool]] | None,
        instances: Sequence[bytes] = (),
    ) -> None:
        self._schema = schema
        self._names = frozenset(_declared_names(schema))
        self._real = {*map(value_key, instances)} - {""}
        self._valid_without_formats = valid_without_formats
        self._known: dict[bytes, bool] = {}
        self._has_format = '"format"' in source
        self._has_branches = '"if"' in source
        draft = draft_of(schema)
        self._whole = WHOLE_04 if draft is not None and draft.name == "draft-04" else WHOLE

    def of(
        self,
        kinds: Sequence[str],
        categories: Sequence[str],
        details: Sequence[str],
        reasons: Sequence[GoverningKeyword | Ruling],
        text: Callable[[int], bytes],
    ) -> tuple[list[bool], list[str]]:
        """Of verdicts: whether each breaks `format` alone, and how its number is spelt.

        `text` gives the text that a verdict, by its place, is about.
        """
        spellings = [""] * len(kinds)
        about_format: dict[int, bytes] = {}
        for at, (kind, category, reason) in enumerate(zip(kinds, categories, reasons, strict=True)):
            if self.may_be_format(kind, reason.keyword):
                about_format[at] = text(at)
            if kind == FALSE_ACCEPTANCE.name:
                is_number = reason.keyword in _ABOUT
            else:
                is_number = kind == FALSE_REJECTION.name and category == "number"
            if is_number:
                pointers = reason.schema_pointer, reason.instance_pointer
                spellings[at] = self.number_spelling(text(at), kind, details[at], *pointers)
        alone = dict(zip(about_format, self.format_alone(list(about_format.values())), strict=True))
        return [alone.get(at, False) for at in range(len(kinds))], spellings

    def may_be_format(self, kind: str, keyword: str) -> bool:
        """Whether it takes the validators to say that `format` alone is broken, or is not."""
        if kind != FALSE_ACCEPTANCE.name or not self._has_format:
            return False
        branches = self._has_branches and keyword != "json"
        return keyword == "format" or keyword in _HIDING or branches

    def format_alone(self, texts: Sequence[bytes]) -> list[bool]:
        """Which of some invalid texts break nothing but `format`."""
        if self._valid_without_formats is None:
            return [False] * len(texts)
        new = [one for one in dict.fromkeys(texts) if one not in self._known]
        if new:
            self._known |= zip(new, self._valid_without_formats(new), strict=True)
        return [self._known[one] for one in texts]

    def shown_by(self, text: bytes) -> str:
        """Whether a completed text has a `REAL`, a `PLAIN` or a `RARE` value."""
        if value_key(text) in self._real:
            return REAL
        return PLAIN if is_plain(text, self._names) else RARE

    def number_spelling(
        self, text: bytes, kind: str, detail: str, schema_pointer: str, instance_pointer: str
    ) -> str:
        """One of `SPELLINGS` for the number that a verdict is about, else nothing."""
        asks = kind == FALSE_ACCEPTANCE.name and _is_integer(self._schema, schema_pointer)
        as_integer = detail == "integer" or asks
        return _spelling(_number(text, instance_pointer), self._whole if as_integer else "")


_PRINTABLE: Final = re.compile(r"[ -~]*")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_EVERYDAY_DIGITS: Final = 15
_SMALL, _LARGE = Decimal("1e-6"), Decimal("1e15")


def is_plain(text: bytes, names: Collection[str]) -> bool:
    """Whether a text is JSON of an everyday value.

    Its strings are printable ASCII, its numbers of ordinary size and precision, its keys `names` or
    identifiers. How it is spelt does not matter.
    """

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            keys = all(key in names or _IDENTIFIER.fullmatch(key) for key in value)
            return keys and all(map(plain, value.values()))
        if isinstance(value, list):
            return all(map(plain, value))
        if isinstance(value, Decimal):
            digits = "".join(map(str, value.as_tuple().digits)).strip("0")
            ordinary = _SMALL <= value.copy_abs() < _LARGE
            return not digits or (len(digits) <= _EVERYDAY_DIGITS and ordinary)
        return not isinstance(value, str) or _PRINTABLE.fullmatch(value) is not None

    try:
        value = json.loads(
            text.decode(), parse_int=Decimal, parse_float=Decimal, parse_constant=_refused
        )
        return plain(value)
    except (ValueError, InvalidOperation, RecursionError):
        return False


def _refused(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}")


def _declared_names(schema: Any) -> Iterator[str]:
    """The names of members that a schema declares or requires in any place."""
    if isinstance(schema, dict):
        properties, required = schema.get("properties"), schema.get("required")
        yield from properties if isinstance(properties, dict) else ()
        yield from filter(_is_text, required if isinstance(required, list) else ())
    if isinstance(schema, dict | list):
        for below in schema.values() if isinstance(schema, dict) else schema:
            yield from _declared_names(below)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _number(text: bytes, pointer: str) -> str:
    """The number at a pointer, as it is written; empty for anything else."""
    node: ValueSpan | None = root_of(text)
    for step in steps(pointer):
        if node is None:
            return ""
        in_array = node.kind == "array"
        node = node.child(int(step)) if in_array and step.isdecimal() else node.child(step)
    return node.raw.decode() if node is not None and node.kind == "number" else ""


def _is_integer(schema: Any, pointer: str) -> bool:
    """Whether what a pointer leads to is a ``type`` that asks for an integer."""
    asked = follow(schema, steps(pointer))
    return asked == "integer" or (isinstance(asked, list) and "integer" in asked)


def _spelling(number: str, whole: str) -> str:
    """The word for a number; `whole` is that for an integer with a fraction or an exponent."""
    mantissa = number.lower().partition("e")[0]
    if number.startswith("-") and not mantissa.strip("-0."):
        return MINUS_ZERO
    digits = number.removeprefix("-")
    if digits.isdecimal():
        return BEYOND if len(digits) >= _DIGITS or int(digits) > _EXACT else ""
    if not number or not whole:
        return ""
    _, parts, exponent = Decimal(number).as_tuple()
    zeros = len(parts) - len("".join(map(str, parts)).rstrip("0"))
    return whole if isinstance(exponent, int) and exponent + zeros >= 0 else ""
