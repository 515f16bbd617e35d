"""Regular expressions that texts of the formats of JSON Schema match, to build samples from.

Each describes an ordinary part of its format, not all of it. Sources: RFC 3339 (dates, times,
durations), 5321 (mail), 1123 (host names), 2673 and 4291 (addresses), 3986 and 3987 (identifiers),
6570 (templates), 6901 (pointers), 9562 (UUID).
"""

from __future__ import annotations

from typing import Final, NamedTuple

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


class Format(NamedTuple):
    """One format: an ordinary part of it, one text, and texts that are slightly wrong."""

    pattern: str
    sample: str
    near_misses: tuple[str, ...] = ()


FORMATS: Final[dict[str, Format]] = {
    "date-time": Format(
        f"^{_DATE}T{_TIME}$",
        "2024-01-01T00:00:00Z",
        (
            "2024-01-01T08:30:60Z",
            "2024-02-30T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:00",
        ),
    ),
    "date": Format(
        f"^{_DATE}$",
        "2024-01-01",
        ("2024-02-30", "2000-02-31", "2023-02-29", "2024-13-01", "2024-1-1"),
    ),
    "time": Format(
        f"^{_TIME}$",
        "00:00:00Z",
        ("08:30:60Z", "24:00:00Z", "23:59:61Z", "00:00:00", "12:00:00+24:00"),
    ),
    "duration": Format(f"^{_SPAN}$", "P1D", ("P", "PT", "P1", "P1Y1W", "P1.5D")),
    "email": Format(
        rf"^{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+$",
        "a@example.com",
        ("a", "a@b", "a@", "@a", "a@b@c", "a..b@c.d", "a b@c.d"),
    ),
    "idn-email": Format(
        rf"^{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+$", "a@example.com", ("a", "a@", "@a")
    ),
    "hostname": Format(f"^{_HOST}$", "example.com", ("-a", "a-", "a..b", "a_b", "a" * 64)),
    "idn-hostname": Format(f"^{_HOST}$", "example.com", ("-a", "a..b")),
    "ipv4": Format(
        rf"^{_OCTET}(?:\.{_OCTET}){{3}}$",
        "127.0.0.1",
        ("256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"),
    ),
    "ip-address": Format(rf"^{_OCTET}(?:\.{_OCTET}){{3}}$", "127.0.0.1"),
    "ipv6": Format(
        f"^{_IPV6}$", "::1", ("1", "::1::", ":::", "12345::", "1:2:3:4:5:6:7:8:9", "::256.0.0.1")
    ),
    "uri": Format(f"^{_URI}$", "http://example.com/", ("a", "//a", "http://[", "a:b c", "%")),
    "iri": Format(f"^{_URI}$", "http://example.com/", ("a", "http://[")),
    "uri-reference": Format(f"^{_REFERENCE}$", "/a", ("\\", "%", "http://[")),
    "iri-reference": Format(f"^{_REFERENCE}$", "/a", ("\\", "http://[")),
    "uri-template": Format(
        r"^(?:[A-Za-z0-9._~/:?#@!$&()*+,;=-]|%[0-9A-Fa-f]{2}|\{[A-Za-z0-9_]+\})*$",
        "/a",
        ("{", "}", "{a"),
    ),
    "uuid": Format(
        r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        "123e4567-e89b-42d3-a456-426614174000",
        ("0", "00000000-0000-0000-0000-00000000000g", "0" * 32),
    ),
    "json-pointer": Format(f"^{_POINTER}$", "/a", ("a", "/~", "/~2")),
    "relative-json-pointer": Format(
        f"^(?:0|[1-9]\\d*)(?:#|{_POINTER})$", "0", ("/a", "01", "-1", "0##")
    ),
    "regex": Format(r"^(?:[A-Za-z0-9 _,:;/@-]|\\[dws])*$", "a", ("(", "[", "*", "\\")),
}
FORMAT_PATTERNS: Final = {name: known.pattern for name, known in FORMATS.items()}

STRICT_FORMATS: Final = frozenset({"date-time", "date", "time", "uuid", "ipv4", "email"})
"""The formats of which nearly every valid text matches the pattern."""
