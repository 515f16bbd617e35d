r"""Checks of formats, each by the grammar of the specification that defines the format.

Where a specification can be read in two ways, or two validators are wrong together, a check takes
the side that jsonschema-rs does not take, so that such a text stays contested (see
`harness.validators.formats`). Names in capitals are those of the grammars' rules.

Sources, beside those at each check: RFC 5234, section 2.3 (literals of ABNF match either case).
RFC 3339, section 5.6, has generators write ``T`` and ``Z`` in upper case and lets a reader refuse
the others; jsonschema-rs takes them.
"""

from __future__ import annotations

import ipaddress
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from functools import cache, partial

import idna
from rfc3339_validator import validate_rfc3339

from harness.validators import ecma_patterns

FormatCheck = Callable[[str], bool]


def _grammar(pattern: str, flags: int = 0) -> FormatCheck:
    compiled = cache(partial(re.compile, pattern, flags))  # not before it is used: that takes time
    return lambda text: compiled().fullmatch(text) is not None


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
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]


def is_time(text: str) -> bool:
    """``full-time`` of RFC 3339, section 5.6, in upper case; leap seconds end UTC's day (5.7)."""
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
    """The minute of UTC from the local day's start if the second is 60, else None or `_NO_TIME`."""
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
is_duration = _grammar(f"P(?:{_SPAN}|{_CLOCK}|{_N}W)", re.IGNORECASE | re.ASCII)
"""``duration`` of RFC 3339, appendix A, in either case."""

is_uuid = _grammar(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
"""``UUID`` of RFC 4122, section 3 (RFC 9562, section 4), of any version."""

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = re.compile(rf"(?:{_LABEL}\.)*({_LABEL})(\.?)")
_MAX_NAME = 253  # RFC 1035, section 2.3.4: 255 octets, of which a length before and a root after


def is_hostname(text: str, *, rooted: bool = False) -> bool:
    """A host name of RFC 1123, section 2.1, in the grammar of RFC 952.

    A name whose last label is a number is refused: that label is alphabetic (the same section).
    Whether a label that begins with ``xn--`` stands for anything is not asked. `rooted` takes a dot
    after the name, which RFC 1034, section 3.1, knows.
    """
    found = _HOSTNAME.fullmatch(text)
    if found is None or len(text.removesuffix(".")) > _MAX_NAME:
        return False
    return not found[1].isdigit() and (rooted or not found[2])


def has_true_a_labels(text: str) -> bool:
    """Whether the labels that begin with ``xn--`` are A-labels of RFC 5890, section 2.3.2.1."""
    try:
        for label in text.removesuffix(".").split("."):
            if label[:4].lower() == "xn--":
                idna.ulabel(label)
    except UnicodeError:
        return False
    return True


def is_idn_hostname(text: str) -> bool:
    """A host name, or one with U-labels of RFC 5890, section 2.3.2.3, and nothing but ``.``.

    Characters that only a mapping before RFC 5891 would make valid are not.
    """
    return is_hostname(_a_labels(text))


def _a_labels(text: str) -> str:
    """A host name with A-labels for its U-labels; empty where it is none."""
    try:
        return idna.encode(text, strict=True).decode("ascii")
    except UnicodeError:
        return ""


_OCTET = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
is_ipv4 = _grammar(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
"""``dotted-quad`` of RFC 2673, section 3.2: decimal bytes, of three digits at most."""


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


_ATEXT = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_MAIL_IPV6 = re.compile(r"(?i:IPv6):([0-9A-Fa-f:.]+)", re.ASCII)
_is_general_literal = _grammar(
    rf"{_OCTET}(?:\.{_OCTET}){{3}}|(?!(?i:IPv6):)[A-Za-z0-9-]*[A-Za-z0-9]:[!-Z^-~]+", re.ASCII
)
_MAX_LOCAL, _MAX_DOMAIN, _MAX_MAILBOX = 64, 255, 254
"""Octets: RFC 5321, sections 4.5.3.1.1 to 4.5.3.1.3 (a path has two brackets more)."""


@cache
def _mailbox(more: str = "") -> re.Pattern[str]:
    atom = f"[{_ATEXT}{more}]+"
    quoted = rf'"(?:[ !#-\[\]-~{more}]|\\[ -~])*"'
    return re.compile(rf"({atom}(?:\.{atom})*|{quoted})@(?:\[([!-Z^-~]+)\]|([^\[].*))", re.DOTALL)


_is_domain = _grammar(rf"{_LABEL}(?:\.{_LABEL})*")


def is_email(text: str) -> bool:
    """``Mailbox`` of RFC 5321, section 4.1.2, within the sizes of section 4.5.3.1."""
    found = _mailbox().fullmatch(text)
    if found is None or len(found[1]) > _MAX_LOCAL or len(text) > _MAX_MAILBOX:
        return False
    if found[2] is not None:
        return _is_literal(found[2])
    return _is_domain(found[3]) and len(found[3]) <= _MAX_DOMAIN


def _is_literal(text: str) -> bool:
    """What may stand in the brackets of an ``address-literal``, RFC 5321, section 4.1.3."""
    if found := _MAIL_IPV6.fullmatch(text):
        # "::" stands for two groups at least, which RFC 4291 does not ask.
        groups = 8 - (found[1].count(".") == 3)
        written = sum(map(bool, found[1].split(":")))
        return is_ipv6(found[1]) and ("::" not in found[1] or written <= groups - 2)
    return _is_general_literal(text)


def is_idn_email(text: str) -> bool:
    """``Mailbox`` as RFC 6531, section 3.3, extends it: UTF-8, and U-labels of RFC 5890."""
    found = _mailbox("\x80-\U0010ffff").fullmatch(text)
    if found is None or len(found[1].encode("utf-8", "replace")) > _MAX_LOCAL:
        return False
    if found[2] is not None:
        return _is_literal(found[2])
    return _is_domain(_a_labels(found[3]))


_BLANK = r"(?:[ \t]|\r\n[ \t])"
_PAIR = r"\\[\x00-\x7f]"
_INNER = rf"\((?:[^()\\]|{_PAIR})*+\)"
_CFWS = rf"(?:{_BLANK}|\((?:[^()\\]|{_PAIR}|{_INNER})*+\))*+"
_WORD = rf"{_CFWS}(?:[{_ATEXT}]++|\"(?:[^\"\\\x80-\U0010ffff]|{_PAIR})*+\"){_CFWS}"
_PLAIN_ATOM = rf"{_CFWS}[{_ATEXT}]++{_CFWS}"
is_addr_spec = _grammar(
    rf"{_WORD}(?:\.{_WORD})*+@(?:{_PLAIN_ATOM}(?:\.{_PLAIN_ATOM})*+"
    rf"|{_CFWS}\[(?:[^\[\]\\\x80-\U0010ffff]|{_PAIR})*+\]{_CFWS})"
)
"""``addr-spec`` of RFC 5322, section 3.4.1: comments (nested once), obsolete forms, any domain."""

_PCT = "%[0-9A-Fa-f]{2}"
_DEC = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_H16 = "[0-9A-Fa-f]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_DEC}(?:\.{_DEC}){{3}})"
_IPV6 = "|".join(
    [f"(?:{_H16}:){{6}}{_LS32}", f"::(?:{_H16}:){{5}}{_LS32}"]
    + [f"(?:(?:{_H16}:){{0,{more}}}{_H16})?::(?:{_H16}:){{{4 - more}}}{_LS32}" for more in range(5)]
    + [f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}", f"(?:(?:{_H16}:){{0,6}}{_H16})?::"]
)
_UCSCHAR = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)
) + "\U000e1000-\U000efffd"  # fmt: skip
_IPRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e]")


@cache
def _identifier(*, wide: bool = False, reference: bool = False) -> re.Pattern[str]:
    """The pattern of a URI or a reference, or of the IRI; made when asked for: it takes a while."""
    more, private = (_UCSCHAR, _IPRIVATE) if wide else ("", "")
    plain = rf"A-Za-z0-9._~\-{more}"
    subs = "!$&'()*+,;="
    pchar = rf"(?:[{plain}{subs}:@]|{_PCT})"
    zone = rf"(?:%25(?:[{plain}]|{_PCT})+)?"
    host = (
        rf"(?:\[(?:(?:{_IPV6}){zone}|[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~{subs}:-]+)\]"
        rf"|(?:[{plain}{subs}]|{_PCT})*)"
    )
    authority = rf"//(?:(?:[{plain}{subs}:]|{_PCT})*@)?{host}(?::[0-9]*)?(?:/{pchar}*)*"
    absolute = rf"/(?:{pchar}+(?:/{pchar}*)*)?"
    rootless = rf"{pchar}+(?:/{pchar}*)*"
    noscheme = rf"(?:[{plain}{subs}@]|{_PCT})+(?:/{pchar}*)*"
    tail = rf"(?:\?(?:{pchar}|[/?{private}])*)?(?:#(?:{pchar}|[/?])*)?"
    scheme = "[A-Za-z][A-Za-z0-9+.-]*:"
    uri = rf"{scheme}(?:{authority}|{absolute}|{rootless}|){tail}"
    relative = rf"(?:{authority}|{absolute}|{noscheme}|){tail}"
    return re.compile(f"{uri}|{relative}" if reference else uri)


def _is_identifier(text: str, *, wide: bool = False, reference: bool = False) -> bool:
    """``URI`` of RFC 3986, appendix A, with the zones of RFC 6874; or ``URI-reference``.

    If `wide`, ``IRI`` and ``IRI-reference`` of RFC 3987, section 2.2, without the marks of
    direction (section 4.1).
    """
    whole = _identifier(wide=wide, reference=reference).fullmatch(text)
    return whole is not None and not (wide and _DIRECTIONS.search(text))


is_uri = _is_identifier
is_uri_reference = partial(_is_identifier, reference=True)
is_iri = partial(_is_identifier, wide=True)
is_iri_reference = partial(_is_identifier, wide=True, reference=True)

_VARNAME = rf"(?:[A-Za-z0-9_]|{_PCT})(?:\.?(?:[A-Za-z0-9_]|{_PCT}))*"
_VARSPEC = rf"{_VARNAME}(?::[1-9][0-9]{{0,3}}|\*)?"
is_uri_template = _grammar(
    rf"(?:[!#$&(-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PCT}"
    rf"|\{{[+#./;?&=,!@|]?{_VARSPEC}(?:,{_VARSPEC})*\}})*"
)
"""``URI-Template`` of RFC 6570, section 2, without what its errata add to ``literals``."""

_POINTER = "(?:/(?:[^~/]|~[01])*)*"
is_json_pointer = _grammar(_POINTER)
"""``json-pointer`` of RFC 6901, section 3."""

is_relative_json_pointer = _grammar(rf"(?:0|[1-9][0-9]*)(?:[+-](?:0|[1-9][0-9]*))?(?:#|{_POINTER})")
"""That of draft-bhutton-relative-json-pointer-00, section 3, with the steps it has added."""


def is_regex(text: str) -> bool:
    """A pattern of ECMA-262 with the flag ``u`` or, by Annex B, without it."""
    return any(ecma_patterns.is_pattern(text, unicode=unicode) for unicode in (True, False))


def is_undoubted_regex(text: str) -> bool:
    r"""Whether `text` is no pattern that only some readings of ECMA-262 take.

    False for what only Annex B takes, and for ``\p``, of which libraries know different names. True
    for what `is_regex` refuses: that is for the other validator's own check to say.
    """
    if ecma_patterns.is_pattern(text, unicode=True):
        found = ecma_patterns.tokens(text, unicode=True)
        return all(one.ranges is not None for token in found for one in token.members)
    return not ecma_patterns.is_pattern(text, unicode=False)
