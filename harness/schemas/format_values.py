"""Strings for every production of the formats of JSON Schema 2020-12: valid ones and near misses.

Both validators agree with each of them. Left out is what they judge differently or what can be read
in two ways: ``t`` and ``z`` in lower case, most names with ``xn--``, host names whose last label is
a number, IPv4 octets with leading zeros, zones of IPv6, relative pointers that step to a neighbour,
and patterns that only Annex B of ECMA-262 takes.

Sources: RFC 3339, sections 5.6 to 5.8 and appendices A and D (dates, times, durations, leap
seconds). RFC 5321, section 4.1.2 and 4.1.3, sizes of 4.5.3.1; RFC 6531, section 3.3 (mail). RFC
1123, section 2.1, and 1034, section 3.1; RFC 5890 and 5892, appendix A (host names). RFC 2673,
section 3.2; RFC 4291, section 2.2 (addresses). RFC 3986, sections 1.1.2 and 5.4, and appendix A;
RFC 3987, sections 2.2 and 3.1 (identifiers). RFC 6570, sections 1.2 and 3.2 (templates). RFC 6901,
section 5 (pointers); draft-bhutton-relative-json-pointer-00, section 5.1. ECMA-262, section 22.2.1
(patterns). RFC 9562, sections 4, 5.9 and 5.10 (UUID).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class FormatValues(NamedTuple):
    """Texts of one format, the plainest first, and texts that are slightly wrong."""

    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


def format_values(name: str) -> FormatValues:
    """The texts of the format `name`; none of one that 2020-12 does not define."""
    return _VALUES.get("ipv4" if name == "ip-address" else name, FormatValues())


# fmt: off
_VALUES: Final[dict[str, FormatValues]] = {
    "date": FormatValues((
        "2024-01-01", "1985-04-12", "2024-02-29", "2000-02-29", "2023-02-28", "2023-04-30",
        "1990-12-31", "2023-10-31", "9999-12-31", "0001-01-01",
    ), (
        "2023-02-29", "1900-02-29", "2024-02-30", "2023-04-31", "2023-06-31", "2023-01-32",
        "2023-13-01", "2023-00-10", "2023-01-00", "2023-1-01", "2023-01-1", "20230101", "23-01-01",
        "2023/01/01", "2023-01", "2023-W01-1", "2023-001", "12023-01-01", "+2023-01-01",
        "-2023-01-01", " 2023-01-01", "2023-01-01 ", "2023-01-01Z", "", "২০২৩-01-01", "2000-02-31",
        "2024-13-01", "2024-1-1",
    )),
    "time": FormatValues((
        "00:00:00Z", "14:23:05+02:00", "14:23:05.123Z", "12:00:00Z",
        "23:20:50.52Z", "23:59:59Z", "08:30:06+00:20", "08:30:06-08:00",
        "12:00:00+23:59", "12:00:00-23:59", "12:00:00-00:00", "12:00:00+00:00", "12:00:00.1Z",
        "12:00:00.123456789Z", "12:00:27.87+00:20", "23:59:60Z", "15:59:60-08:00",
        "01:29:60+01:30", "23:59:60.5Z", "00:29:60+00:30", "23:29:60-00:30",
    ), (
        "12:00:00", "12:00Z", "24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:60Z", "23:58:60Z",
        "22:59:60Z", "23:59:60+01:00", "12:00:00+24:00", "12:00:00+00:60", "12:00:00+0100",
        "12:00:00+01", "12:00:00+1:00", "12:00:00.Z", "12:00:00,5Z", "1:00:00Z", "12:0:00Z",
        "12:00:0Z", "120000Z", "T12:00:00Z", "12:00:00 Z", "12:00:00Z ", "12:00:00ZZ",
        "12:00:00Z+00:30", "12:00:00 +00:00", "12:00:00\u221208:00", "1২:00:00Z", "", "08:30:60Z",
        "23:59:61Z", "00:00:00",
    )),
    "date-time": FormatValues((
        "2024-01-01T00:00:00Z", "2024-05-17T14:23:05.123Z", "2024-05-17T14:23:05.123456+00:00",
        "2024-05-17T14:23:05+02:00", "1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00",
        "1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "1937-01-01T12:00:27.87+00:20",
        "2016-12-31T23:59:60Z", "2015-06-30T23:59:60Z", "2017-01-01T00:59:60+01:00",
        "2024-02-29T12:00:00.123456+05:45", "2024-01-01T00:00:00-00:00",
        "2024-12-31T23:59:59+23:59", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
        "2024-01-01T00:00:00+00:00",
    ), (
        "2024-01-01T00:00:00", "2024-01-01", "2024-01-01 00:00:00Z", "2024-01-01T00:00Z",
        "2024-01-01T00:00:60Z", "2023-02-29T00:00:00Z", "2024-02-30T00:00:00Z",
        "2024-04-31T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z",
        "2024-01-01T24:00:00Z", "2024-01-01T12:60:00Z", "2024-01-01T12:00:61Z",
        "1998-12-31T22:59:60Z", "1998-12-31T23:58:60Z", "2024-01-01T12:00:00+24:00",
        "2024-01-01T12:00:00+00:60", "2024-01-01T12:00:00+0100", "2024-01-01T12:00:00.Z",
        "2024-01-01T12:00:00,5Z", "24-01-01T00:00:00Z", "2024-1-1T00:00:00Z", "20240101T000000Z",
        "2024-001T00:00:00Z", "2024-01-01T00:00:00Z ", "2024-01-01TT00:00:00Z", "T00:00:00Z",
        "2024-01-01T00:00:00+01:00Z", "+2024-01-01T00:00:00Z", "", "2024-01-01T08:30:60Z",
    )),
    "duration": FormatValues((
        "P1D", "P1Y", "P1M", "P1W", "PT1H", "PT1M", "PT1S", "P4Y", "PT0S", "P0D", "P1Y2M",
        "P1Y2M3D", "P1M2D", "PT1H2M", "PT1H2M3S", "PT1M2S", "P4DT12H30M5S", "P1DT1H", "P1MT1M",
        "P1YT1S", "P1Y2M3DT4H5M6S", "PT36H", "P52W", "P001D", "P1000000Y",
    ), (
        "P", "PT", "P1", "1D", "PT1D", "P1S", "P2D1Y", "P1D2H", "P2S", "P1YT", "PT1H2S", "P1Y2D",
        "P1Y2W", "P1WT1H", "P1.5D", "PT1,5S", "PT1.5S", "-P1D", "+P1D", "P-1D", "P 1D", "P1D ",
        "P1M1Y", "PT1S1M", "PP1D", "P1DT", "T1H", "P২Y", "", "P1Y1W",
    )),
    "email": FormatValues((
        "a@example.com", "joe.bloggs@example.com", "te~st@example.com", "~test@example.com",
        "test~@example.com", "user+tag@sub.example.com", "!#$%&'*+-/=?^_`{|}~@example.com",
        '"joe bloggs"@example.com', '"joe..bloggs"@example.com', '"joe@bloggs"@example.com',
        r'"a\"b"@example.com', r'"a\\b"@example.com', "a@[127.0.0.1]", "a@[IPv6:::1]",
        "a@[IPv6:2001:db8::1]", "a.b.c@a-b.example", "1@1a.example", "A@EXAMPLE.COM",
        "a" * 64 + "@example.com", "a@b",
    ), (
        "a", "2962", "@example.com", "a@", "a@b@example.com", ".test@example.com",
        "test.@example.com", "te..st@example.com", "a b@example.com", '"a"b@example.com',
        '"a@example.com', "a@-example.com", "a@example-.com", "a@example..com", "a@.example.com",
        "a@exa mple.com", "a@[256.0.0.1]", "a@[127.0.0]", "a@[127.0.0.1", "a@127.0.0.1]",
        "a@exam_ple.com", "a(b@example.com", "a,b@example.com", "<a@example.com>", "é@example.com",
        " a@example.com", "a@example.com ", "a" * 65 + "@example.com", "", "@a", "a@b@c",
        "a..b@c.d", "a b@c.d",
    )),
    "idn-email": FormatValues((
        "a@example.com", "실례@실례.테스트", "é@example.com", "用户@例子.公司", "a@bücher.example",
        "δοκιμή@example.com", "joe.bloggs@example.com", '"é b"@example.com', "a@[127.0.0.1]",
    ), (
        "2962", "실례", "@例子.公司", "用户@", "é..é@example.com", ".é@example.com",
        "é é@example.com", "é@-a.example", "é@a..example", "é@é@example.com", "", "a", "a@", "@a",
    )),
    "hostname": FormatValues((
        "example.com", "www.example.com", "example", "a", "a-b", "a--b.example", "3com.com", "1a",
        "a1",
        "A.Example", "a.b.c.d.e.f", "a" * 63, "a" * 63 + ".com",
        ".".join([*["a" * 63] * 3, "a" * 61]), "xn--bcher-kva.example", "1.2.3.4a", "a.1b",
    ), (
        "-a", "a-", "-a.example", "a-.example", "a..b", ".a", ".", "a_b.example", "a b", "a/b",
        "é.com", "a" * 64, "a" * 64 + ".com", ".".join(["a" * 63] * 4), "-", "--", "a.-b", "a.b-",
        "*.a", "", "a@b", "a:80", "a\n", " a", "http://a", "a_b",
    )),
    "idn-hostname": FormatValues((
        "example.com", "실례.테스트", "bücher.example", "例子.公司", "ñandú", "münchen", "l·l",
        "\u03b1͵β",
        "א\u05f3ב", "カ・ア", "क\u094d\u200dष", "www.example.com", "a-b", "xn--bcher-kva.example",
    ), (
        "-é", "é-", "é..b", "é_b", "é b", "\u302e실", "a·l", "·l", "l·", "\u0391͵", "\u05f3ב",
        "・a", "ـߺ", "\u0303a", "\u0903a", "☃.example", "é" * 64, "-", "a/é", "", "-a", "a..b",
    )),
    "ipv4": FormatValues((
        "127.0.0.1", "192.168.0.1", "0.0.0.0", "255.255.255.255", "1.2.3.4", "10.20.30.40",  # noqa: S104 - an address, and nothing binds to it
        "249.250.199.200", "100.99.9.0",
    ), (
        "256.0.0.1", "0.0.0.256", "300.1.1.1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3",
        "1.2.3.4/24", "0x7f.0.0.1", "2130706433", "127.0.0.-1", "127.0.0.1 ", " 127.0.0.1",
        "a.b.c.d", "1.2.3.1000", "1২7.0.0.1", "1,2,3,4", "::1", "",
    )),
    "ipv6": FormatValues((
        "::1", "::", "2001:db8::1", "2001:DB8:0:0:8:800:200C:417A", "FF01:0:0:0:0:0:0:101",
        "FF01::101", "1:2:3:4:5:6:7:8", "1::", "1:2::", "1::8", "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4:5::8", "::13.1.68.3", "::FFFF:129.144.52.38",
        "0:0:0:0:0:0:13.1.68.3", "1::d6:192.168.0.1", "1:2::192.168.0.1", "fe80::a", "::abef",
        "0000:0000:0000:0000:0000:0000:0000:0001",
    ), (
        "12345::", "::12345", "1:1:1:1:1:1:1:1:1", "1:2:3:4:5:6:7", ":", ":::", "1:::2", "1::2::3",
        "::1::", ":1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:", ":2:3:4:5:6:7:8", "1:2:3:4:5:6:7:", "::g",
        "::laptop", "::1.2.3", "::1.2.3.256", "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:1.2.3.4", "::1/64", "[::1]", " ::1", "::1 ", "1:2:3:4:5:6:7:8:9",
        "1:2:3:4::5:6:7:8:9", "127.0.0.1", "::১", "", "1", "::256.0.0.1",
    )),
    "uri": FormatValues((
        "http://example.com/", "ftp://ftp.is.co.za/rfc/rfc1808.txt",
        "http://www.ietf.org/rfc/rfc2396.txt", "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com", "tel:+1-816-555-1212",
        "news:comp.infosystems.www.servers.unix", "telnet://192.0.2.16:80/",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
        "foo://example.com:8042/over/there?name=f#n",
        "http://user:pw@example.com:8080/a/b;c=d?e=f&g=%20#h", "http://[v1.a:b]/",
        "http://[::ffff:1.2.3.4]/", "file:///etc/hosts", "a:", "a:b", "a:/b", "a+b-c.1:d",
        "http://", "http://a?", "http://a#", "http://a:/", "http://a//b", "http://a/?/?",
        "http://a/%7Eb", "HTTP://A/", "http://-.~_!$&'()*+,;=:%40@a/",
    ), (
        "a", "/a", "//a/b", "?a", "#a", "1a:b", ":a", "+a:b", "a_b://c", "http://a b/", "a:b c",
        r"a:\b", "a:<b>", "a:%", "a:%2", "a:%gg", "http://[", "http://[::1", "http://::1]/",
        "http://[1:2]/", "http://a:b/", 'a:"b"', "a:{b}", "a:b|c", "a:b^c", "a:`b", "a:b#c#d",
        "http://a/é", "http://a/\n", " a:b", "", "//a", "%",
    )),
    "uri-reference": FormatValues((
        "/a", "", "g", "./g", "g/", "/g", "//g", "?y", "g?y", "#s", "g#s", "g?y#s", ";x",
        "g;x=1/../y", ".", "./", "..", "../..", "../../g", "http:g", "//example.com:80/a?b#c",
        "./a:b", "/a:b", "a%20b", "a/b:c", "#", "?", "//[::1]/", "http://example.com/", "a@b", "*",
        "-", "mailto:a@b",
    ), (
        "\\", r"\\a\b", "%", "a%2", "%zz", "a b", "<a>", '"', "{a}", "a|b", "^", "`", "#a#b",
        "1:b", ":a", "//[", "//a:b", "http://[", "é", "/é", "//a b", "a\nb", " ",
    )),
    "iri": FormatValues((
        "http://example.com/", "http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://résumé.example.org",
        "http://www.example.org/D%C3%BCrst", "http://example.org/Dürst?é=è#ê",
        "http://é@例子.公司:80/路", "urn:é", "http://[2001:db8::1]/é",
        "a:/𠀀", "http://a/?\ue000",
    ), (
        "é", "/é", "http://[", "http://2001:0db8:85a3:0000:0000:8a2e:0370:7334", "é:a",
        "http://é b/", r"http://a/\é", "http://a/%é", "http://a:é/", "http://a/\ue000",
        "http://a/#é#é", "http://a/<é>", "", "a",
    )),
    "iri-reference": FormatValues((
        "/a", "/é", "é", "", "?é", "#é", "//é/é", "//例子.公司:80/路?é#é", "./é:a", "é/a:b",
        "http://ƒøø.ßår/?∂éœ=πîx", "?\ue000", "..", "//[::1]/é",
    ), (
        r"\é", r"\\WINDOWS\filëßåré", r"#ƒräg\mênt", "é b", "%é", "é%2", "<é>", "é:a", "#é#é",
        "//[é]", "/\ue000", "//a:é", "\\", "http://[",
    )),
    "uri-template": FormatValues((
        "/a", "http://example.com/~{username}/", "", "{a}", "http://example.com/search{?q,lang}",
        "{+path}/here", "{#x,hello,y}", "{.dom*}", "{/var:1,var}", "{;x,y}", "{?x,y,empty}",
        "{&x}", "/a{?b}", "{var:3}", "{list*}", "{keys*}", "{+path:6}/here", "{a.b}", "{a_b}",
        "{%41}", "{a%20b}", "{1}", "{A,b,C9}", "é{a}", "%20{a}", "{a:9999}", "a{b}c{d}", "{,a}",
    ), (
        "{", "}", "{a", "a}", "{}", "{{a}}", "{a{b}}", "{a b}", "{-a}", "{*a}", "{a:}", "{a:0}",
        "{a:12345}", "{a:x}", "{?}", "{a-b}", "{.a.}", "%", "%2", "%gg", "a b", "<a>", '"', "\\",
        "^", "`", "{%}", "{?a",
    )),
    "json-pointer": FormatValues((
        "/a", "/foo", "", "/foo/0", "/", "/a~1b", "/c%d", "/e^f", "/g|h", r"/i\j", '/k"l', "/ ",
        "/m~0n",
        "//", "/foo//bar", "/~0", "/~1", "/~01", "/~1.1", "/foo/-", "/é", "/😀", "/a\nb",
        "/\u0000",
    ), (
        "a", "0", "#", "#/", "#a", "a/a", "/~", "/~2", "/~-1", "/~~", "/a~", "/foo/bar~", "/~0~",
        "/~a", "~0", " /a",
    )),
    "relative-json-pointer": FormatValues((
        "0", "1/0", "0/", "2/highly/nested/objects", "0#", "1#", "2/0/a~1b", "10", "0/é",
        "120/foo/bar", "0/~0", "0//",
    ), (
        "/foo/bar", "", "-1", "-1/a", "+1/a", "01", "01/a", "01#", "0##", "0#/a", "#", "a", "0a",
        "0/~", "0/~2", " 0", "0 ", "1.0", "0+", "0-", "0+01", "/a",
    )),
    "regex": FormatValues((
        "a", "", "^a$", ".*", r"([abc])+\s+$", "a|b|", r"(a)(?:b)(?<n>c)\1\k<n>", "[a-z]",
        "[^a-z]", "[]", "[^]", "a{2}", "a{2,}", "a{2,3}", "a*?", "a+?", "a??", "a{1,2}?",
        r"\d\D\w\W\s\S", r"\b\B", r"\t\n\v\f\r", r"\0", r"\cA", r"\x41", r"\u0041", r"\u{1F600}",
        r"\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", r"[\d\w-]",
        r"[\b]", r"[a\-z]", "()", "(|a)", "é", "/", "-", "😀", "[é-ü]", "(?:)",
    ), (
        "^(abc]", "(", ")", "[", "a)", "(a", "[a", "[b-a]", "*", "+", "?", "a**", "a{2,1}", "(?",
        "(?a)", "(?<n>a", "\\", "a\\", "|*", "^*", "(?<1>a)", "(?<n>a)(?<n>b)", "(*)", "[z-a]",
    )),
    "uuid": FormatValues((
        "123e4567-e89b-42d3-a456-426614174000", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "919108f7-52d1-4320-9bac-f847db4148a8",
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "5c146b14-3c52-8afd-938a-375d0df1fbf6",
        "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "99c17cbb-656f-f64a-940f-1a4568f03487", "2EB8aa08-Aa98-11ea-B4Aa-73b441d16380",
    ), (
        "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4aa-73b441d163800", "0", "",
        "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-73b441d16380",
        "2eb8aa08-aa98-11ea-b4aa73b441d16380", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380",
        "2eb8aa08-aa98-11ea-b4ga-73b441d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}",
        "urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380", " 2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "2eb8aa08_aa98_11ea_b4aa_73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380-",
        "00000000-0000-0000-0000-00000000000g", "00000000000000000000000000000000",
    )),
}
# fmt: on
