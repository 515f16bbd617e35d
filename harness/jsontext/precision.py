"""Whether the numbers of a JSON text are the numbers that its reader made of them.

JSON writes decimal numbers; readers make doubles of those with a fraction or an exponent
(RFC 8259, section 6, lets them). 0.99999999999999999 becomes 1.0, an integer: two validators
would agree on a number that the text does not hold.
"""

from __future__ import annotations

import json
from decimal import Decimal

_EXACT_INTEGERS = 2.0**53
"""Below, a double and an integer are equal exactly when the numbers as written are."""

# Up to 15 significant digits survive the way to a double and back at every magnitude that two
# digits of exponent reach from there; what has more is looked at closely. Looking for fixed bytes
# in a text whose digits are all one is many times faster than a regular expression.
_DIGITS_ALIKE = bytes.maketrans(b"123456789.E-", b"0000000000e+")
_SUSPICIOUS = (b"0" * 16, b"0e00", b"0e+00")


def keeps_numbers(text: bytes, *, roughly: bool = False) -> bool:
    """Whether every number of `text`, which must be JSON, survives being read as a double.

    A number survives when its double's shortest spelling is the number; one of 2**53 or more must
    also equal its double exactly, since integers are compared with it. Integers without fraction
    and exponent are read exactly at any size and always survive.

    Args:
        text: A JSON text in UTF-8 without duplicate keys.
        roughly: Let large doubles pass by their shortest spelling. Meant for schemas, where
            1.7976931348623157e308 stands for "any".
    """
    alike = text.translate(_DIGITS_ALIKE)
    if not any(part in alike for part in _SUSPICIOUS):
        return True
    lost = False

    def look(digits: str) -> float:
        nonlocal lost
        number = float(digits)
        lost = lost or not _survives(digits, number, roughly)
        return number

    json.loads(text, parse_float=look)
    return not lost


def _survives(digits: str, number: float, roughly: bool) -> bool:
    written = Decimal(digits)
    if written != Decimal(repr(number)):
        return False
    return roughly or abs(number) < _EXACT_INTEGERS or written == Decimal(number)
