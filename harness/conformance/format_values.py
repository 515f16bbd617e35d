"""Of each format a few texts that it allows, and a few that it forbids for different reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FORMATS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "date-time": (
        ("2024-02-29T12:30:00Z", "1985-04-12T23:20:50.52+01:00"),
        ("2024-02-30T12:30:00Z", "2024-01-01", "2024-01-01T12:30:00", "noon"),
    ),
    "date": (("2024-02-29", "1999-12-31"), ("2023-02-29", "2024-13-01", "24-1-1", "today")),
    "time": (("12:30:00Z", "23:20:50.52+01:00"), ("24:00:00Z", "12:30:00", "12:30", "noon")),
    "duration": (("P1D", "P3Y6M4DT12H30M5S", "PT0S"), ("P", "PT", "1D", "P1S")),
    "email": (("a@example.com", "first.last@example.org"), ("a", "a@", "@example.com", "a b@c.de")),
    "idn-email": (("a@example.com", "实例@example.com"), ("a", "@example.com", "a@")),
    "hostname": (("example.com", "a-b.example"), ("-a.com", "a_b.com", "a..b", "")),
    "idn-hostname": (("example.com", "müller.example"), ("-a.com", "a..b")),
    "ipv4": (("127.0.0.1", "255.255.255.255"), ("256.0.0.1", "1.2.3", "1.2.3.4.5")),
    "ipv6": (("::1", "2001:db8::8a2e:370:7334"), ("1::2::3", "12345::", "1:2:3", "g::1")),
    "uri": (("https://example.com/a?b#c", "urn:isbn:0451450523"), ("/a/b", "a b", "://x", "")),
    "uri-reference": (("/a/b?c", "https://example.com", "#x"), ("a b", "\\x", "%zz")),
    "iri": (("https://example.com/ä", "urn:x:ö"), ("/ä", "ä b", "")),
    "iri-reference": (("/ä?ö", "https://example.com"), ("ä b", "\\ä")),
    "uri-template": (("https://example.com/{id}", "/a{?q,r}"), ("/{id", "/a}b")),
    "json-pointer": (("", "/a/0", "/a~1b~0c"), ("a", "/a~", "/~2", "#/a")),
    "relative-json-pointer": (("0", "1/a", "2#"), ("/a", "01", "-1/a", "")),
    "regex": (("^[a-z]+$", "a|b"), ("[a", "(", "*a")),
    "uuid": (
        ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"),
        ("2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380", "x"),
    ),
}
"""By the format's name: texts that it allows, and texts that it forbids."""
