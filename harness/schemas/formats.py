"""Regular expressions that texts of the formats of JSON Schema match, to build samples from.

Each describes an ordinary part of its format, not all of it. Sources: RFC 3339 (dates, times,
durations), 5321 (mail), 1123 (host names), 2673 and 4291 (addresses), 3986 and 3987 (identifiers),
6570 (templates), 6901 (pointers), 9562 (UUID).
"""

from __future__ import annotations

from typing import Final

_DATE = (
    r"(?:[1-9]\d{3}|0\d\d[1-9])-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_HEX4 = r"[0-9A-Fa-f]{1,4}"
_IPV6 = rf"(?:{_HEX4}(?::{_HEX4}){{7}}|{_HEX4}::(?:{_HEX4}(?::{_HEX4}){{0,4}})?|::(?:{_HEX4})?)"
_CHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_TAIL = rf"(?:/{_CHAR}*)*(?:\?(?:{_CHAR}|[/?])*)?(?:#(?:{_CHAR}|[/?])*)?"
_URI = rf"[A-Za-z][A-Za-z0-9+.-]*:(?://{_HOST}(?::\d{{1,4}})?{_TAIL}|{_CHAR}+{_TAIL})"
_REFERENCE = rf"(?:{_URI}|{_TAIL}|(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{{2}})+{_TAIL})"
_POINTER = r"(?:/(?:[^/~]|~[01])*)*"
_SPAN = (
    r"P(?:\d+W|\d+D(?:T\d+[HMS])?|\d+[YM](?:\d+D)?(?:T\d+[HMS])?"
    r"|T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))"
)


_MAIL = rf"^{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+$"
_IPV4 = rf"^{_OCTET}(?:\.{_OCTET}){{3}}$"

FORMAT_PATTERNS: Final = {
    "date-time": f"^{_DATE}T{_TIME}$",
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "duration": f"^{_SPAN}$",
    **dict.fromkeys(("email", "idn-email"), _MAIL),
    **dict.fromkeys(("hostname", "idn-hostname"), f"^{_HOST}$"),
    **dict.fromkeys(("ipv4", "ip-address"), _IPV4),
    "ipv6": f"^{_IPV6}$",
    **dict.fromkeys(("uri", "iri"), f"^{_URI}$"),
    **dict.fromkeys(("uri-reference", "iri-reference"), f"^{_REFERENCE}$"),
    "uri-template": r"^(?:[A-Za-z0-9._~/:?#@!$&()*+,;=-]|%[0-9A-Fa-f]{2}|\{[A-Za-z0-9_]+\})*$",
    "uuid": r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
    "json-pointer": f"^{_POINTER}$",
    "relative-json-pointer": f"^(?:0|[1-9]\\d*)(?:#|{_POINTER})$",
    "regex": r"^(?:[A-Za-z0-9 _,:;/@-]|\\[dws])*$",
}

STRICT_FORMATS: Final = frozenset({"date-time", "date", "time", "uuid", "ipv4", "email"})
"""The formats of which nearly every valid text matches the pattern."""
