"""Checks of formats: dates and times, UUID, host names and addresses, by their own grammars.

Every check takes a text and says whether it is one of the format. Where a specification can be
read in two ways, or two validators are wrong together, a check takes the side that
jsonschema-rs does not take, so that such a text stays contested (see `harness.validators.formats`).

Sources, beside those at each check: RFC 5234, section 2.3 (literals of ABNF match either case).
RFC 3339, section 5.6, has generators write ``T`` and ``Z`` in upper case and lets a reader refuse
the others; jsonschema-rs takes them.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import date

import idna
from rfc3339_validator import validate_rfc3339

_SHORT_MONTHS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAY = 24 * 60
_LAST_MINUTE = _DAY - 1

LEAP_SECONDS = frozenset(
    [(year, 6, 30) for year in (1972, 1981, 1982, 1983, 1985, 1992, 1993, 1994, 1997, 2012, 2015)]
    + [(year, 12, 31) for year in (*range(1972, 1980), 1987, 1989, 1990, 1995, 1998, 2005, 2008,
                                   2016)]
)  # fmt: skip
"""The days (UTC) that ended in a leap second: RFC 3339, appendix D, and IERS Bulletin C since."""


def is_date(text: str) -> bool:
    """``full-date`` of RFC 3339, section 5.6; the year 0000 is one (section 1)."""
    found = _DATE.fullmatch(text)
    return found is not None and _is_day(*map(int, found.groups()))


def _is_day(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12 or not 1 <= day <= _SHORT_MONTHS.get(month, 31):
        return False
    return (month, day) != (2, 29) or (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))


def is_time(text: str) -> bool:
    """``full-time`` of RFC 3339, section 5.6, in upper case.

    A leap second ends a day of UTC (section 5.7).
    """
    return _minute_of_leap_second(text) in (None, _LAST_MINUTE)


def is_date_time(text: str) -> bool:
    """``date-time`` of RFC 3339, section 5.6, in upper case; leap seconds are those there were."""
    day, separator, time = text[:10], text[10:11], text[11:]
    if separator != "T" or not is_date(day):
        return False
    minute = _minute_of_leap_second(time, wrap=False)
    if minute is None:  # rfc3339-validator does not know the year 0000
        return day.startswith("0000-") or bool(validate_rfc3339(text))
    if minute is _NO_TIME or minute % _DAY != _LAST_MINUTE:
        return False
    year, month, number = map(int, day.split("-"))
    if year == 0:
        return False
    try:
        ended = date.fromordinal(date(year, month, number).toordinal() + minute // _DAY)
    except (ValueError, OverflowError):
        return False
    return (ended.year, ended.month, ended.day) in LEAP_SECONDS


_NO_TIME = -(10**6)


def _minute_of_leap_second(text: str, *, wrap: bool = True) -> int | None:
    """The minute of UTC, from the local day's start, where the second is 60; None where not.

    `_NO_TIME` for what is no time at all.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return _NO_TIME
    hour, minute, second = (int(found[group]) for group in (1, 2, 3))
    away, apart = int(found[5] or 0), int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or away > 23 or apart > 59:
        return _NO_TIME
    if second < 60:
        return None
    offset = away * 60 + apart
    utc = hour * 60 + minute + (offset if found[4] == "-" else -offset)
    return utc % _DAY if wrap else utc


_N = "[0-9]+"
_SECONDS, _DAYS = f"{_N}S", f"{_N}D"
_MINUTES = f"{_N}M(?:{_SECONDS})?"
_MONTHS = f"{_N}M(?:{_DAYS})?"
_CLOCK = f"T(?:{_N}H(?:{_MINUTES})?|{_MINUTES}|{_SECONDS})"
_SPAN = f"(?:{_N}Y(?:{_MONTHS})?|{_MONTHS}|{_DAYS})(?:{_CLOCK})?"
_DURATION = re.compile(f"P(?:{_SPAN}|{_CLOCK}|{_N}W)", re.IGNORECASE | re.ASCII)


def is_duration(text: str) -> bool:
    """``duration`` of RFC 3339, appendix A, in either case."""
    return _DURATION.fullmatch(text) is not None


_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def is_uuid(text: str) -> bool:
    """``UUID`` of RFC 4122, section 3 (RFC 9562, section 4), of any version."""
    return _UUID.fullmatch(text) is not None


_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = re.compile(rf"(?:{_LABEL}\.)*({_LABEL})(\.?)")
_MAX_NAME = 253  # RFC 1035, section 2.3.4: 255 octets, of which a length before and a root behind


def is_hostname(text: str, *, rooted: bool = False) -> bool:
    """A host name of RFC 1123, section 2.1, in the grammar of RFC 952.

    A name whose last label is a number is refused: that label is alphabetic (the same section).
    Whether a label that begins with ``xn--`` stands for anything is not asked.

    Args:
        text: The text.
        rooted: Take a dot behind the name, which RFC 1034, section 3.1, knows.
    """
    found = _HOSTNAME.fullmatch(text)
    if found is None or len(text.removesuffix(".")) > _MAX_NAME:
        return False
    return not found[1].isdigit() and (rooted or not found[2])


def has_true_a_labels(text: str) -> bool:
    """Whether the labels that begin with ``xn--`` are A-labels of RFC 5890, section 2.3.2.1."""
    labels = [one for one in text.removesuffix(".").split(".") if one[:4].lower() == "xn--"]
    return all(_decodes(label) for label in labels)


def _decodes(label: str) -> bool:
    try:
        idna.ulabel(label)
    except UnicodeError:
        return False
    return True


def is_idn_hostname(text: str) -> bool:
    """A host name, or one with U-labels of RFC 5890, section 2.3.2.3, and nothing but ``.``.

    Characters that only a mapping before RFC 5891 would make valid are not.
    """
    try:
        encoded = idna.encode(text, strict=True).decode("ascii")
    except UnicodeError:
        return False
    return is_hostname(encoded)


_OCTET = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
_DOTTED_QUAD = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


def is_ipv4(text: str) -> bool:
    """``dotted-quad`` of RFC 2673, section 3.2: decimal bytes, of three digits at most."""
    return _DOTTED_QUAD.fullmatch(text) is not None


def is_ipv6(text: str) -> bool:
    """An address of RFC 4291, section 2.2; its last four bytes may be a ``dotted-quad``."""
    head, colon, tail = text.rpartition(":")
    if "." in tail:
        if not is_ipv4(tail):
            return False
        text = f"{head}{colon}1.1.1.1"
    if "%" in text or not text.isascii():
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
