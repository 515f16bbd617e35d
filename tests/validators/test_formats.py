"""A format proves something only where two checks agree and the specification has one reading."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.validators import format_checks, formats
from harness.validators.validate import Validators

IDENTIFIERS = {f"draft-0{n}": f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7)}
IDENTIFIERS |= {n: f"https://json-schema.org/draft/{n}/schema" for n in ("2019-09", "2020-12")}


@cache
def validators(name: str, draft: str = "2020-12") -> Validators:
    return Validators(json.dumps({"$schema": IDENTIFIERS[draft], "format": name}))


def verdict(name: str, text: str, draft: str = "2020-12") -> str:
    return validators(name, draft).judge(json.dumps(text).encode()).verdict


# What `harness.schemas.format_values` does not have already.
VALID = {
    "date": ["0000-01-01"],
    "time": ["23:59:59.25-08:00"],
    "date-time": ["2016-12-31T23:59:60.5Z", "2017-01-01T01:29:60+01:30", "0000-01-01T00:00:00Z"],
    "duration": ["P1YT1M"],
    "uuid": ["2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
    "email": ["a.b+c@d-e.f", '"a b"@c.d', '"a\\"b"@c', "a@1.2.3.4", '""@c.d', "a" * 64 + "@b"],
    "idn-email": ["é@b.c", "a@é.c", "a@[1.2.3.4]"],
    "hostname": ["1host", "a-b.c", "xn--4gbwdl.xn--wgbh1c"],
    "idn-hostname": ["é", "a.b"],
    "ipv6": ["::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
    "uri": ["http://a:", "x:", "http://%41", "a:////"],
    "uri-reference": ["?y#s", "../g;x=1/y", "g?y/./x"],
    "iri": ["x:?\ue000", "http://a/\U0001f600"],
    "uri-template": ["{/id*}{?fields,first_name,last.name,token}", "{=a}", "%41\xe9\ue000"],
    "json-pointer": ["/\n"],
    "relative-json-pointer": ["1/a", "100/a"],
    "regex": ["\\d+", "^[\\w.-]{2,}$", "(?<a>b)\\k<a>", "(?<=a+)"],
}  # fmt: skip

INVALID = {
    "date": ["2021-02-29", "2100-02-29", "2021-04-31", "2021-00-10", "2021-2-03", "20210203",
        "2021-02-03\n", " 2021-02-03", "٢٠٢١-01-01", "-001-01-01", "10000-01-01"],
    "time": ["12:00:00Z\n", "12:00:00\u221201:00"],
    "date-time": ["2021-02-30T12:00:00Z", "2021-01-01 12:00:00Z", "2021-01-01T12:00:00",
        "2021-01-01T12:00:00Z\n"],
    "duration": ["P1W2D", "P1Y1D", "PT1H1S", "P٣D"],
    "uuid": ["2_b8aa08-aa98-11ea-b4aa-73b441d16380", "٣eb8aa08-aa98-11ea-b4aa-73b441d16380"],
    "email": ["@", "@b", "a b@c", "a..b@c", "a@-b", "a@b_c", "a@b\n", "é@b.c", '"a\tb"@c',
        "Joe <a@b>", "a@[1.2.3]", "a@[1.2.3.300]", "a@[IPv6:zz]", "a" * 65 + "@b"],
    "idn-email": ["a b@c", "a..b@c", "a@b_c", "a@\U0001f600.c", "a@-é"],
    "hostname": ["a.", "é", "٣.com"],
    "idn-hostname": ["a.", "a_b", "\u30fb", "\u0300a", "a\n", "\U0001f600"],
    "ipv4": ["1.2.3.4/8", "1.2.3.4\n", "0x1.2.3.4", "१.2.3.4"],
    "ipv6": ["::1%lo"],
    "uri": ["a b:c", "http://a b", "http://a/%zz", "http://a/%1", "http://a/{b}",
        "http://[1.2.3.4]/", "http://a:b", "http://a\n", "x:é", "http://a/#b#c",
        "http://[::01.2.3.4]"],
    "uri-reference": [":", "\\a", "#a\\b", "[a]"],
    "iri": ["http://a/\ufdd0", "http://a/\x80"],
    "iri-reference": ["#\ue000", "a b"],
    "uri-template": ["{a.}", "{a:10000}", "{,}", "a<b", "\n"],
    "relative-json-pointer": ["1a", "٣", "1²"],
    "regex": ["(?i)a", "(?P<a>b)", "a++", "(?>a)"],
}  # fmt: skip

CONTESTED = {
    # Whether that day ended in a leap second is in no grammar. RFC 3339, section 5.6: the grammar
    # matches either case, generators should write upper case, and readers may ask for it.
    "date-time": ["2021-12-31T23:59:60Z", "2021-03-05T23:59:60Z", "2021-01-01t12:00:00Z",
                  "2021-01-01T12:00:00z", "2016-12-31t23:59:60.5z", "2021-01-01t12:00:00+01:00"],
    "time": ["12:00:00z", "12:00:00.5z", "23:59:60z"],
    # RFC 5234, section 2.3: literals match either case.
    "duration": ["p1d", "P1d"],
    # RFC 5321: digits of a byte, tags of literals, sizes; RFC 5891, section 4.2.3.1: hyphens.
    "email": ["a@[001.2.3.4]", "a@[x:y]", "a@ab--c", "a@[IPv6:1:2:3:4:5:6:7::]"],
    "idn-email": ["a@b\u3002c", "\u00e9" * 33 + "@b"],
    # RFC 1123, section 2.1: the last label is alphabetic; RFC 5890: fake A-labels.
    "hostname": ["127.0.0.1", "1", "xn--X", "ab--cd", "xn--aa---o47jg78q"],
    # Mappings before RFC 5891 are no part of it.
    "idn-hostname": ["\u00c9", "a\u3002b", "\uff41"],
    # RFC 2673, section 3.2: three digits at most.
    "ipv4": ["087.10.0.1", "00.0.0.0"],
    "ipv6": ["::01.2.3.4"],
    "uri": ["http://[fe80::1%25eth0]/"],
    "uri-reference": ["//[fe80::1%25eth0]"],
    "iri": ["http://a/\u200e"],
    "iri-reference": ["\u202e"],
    "uri-template": ["a'b", "\x80"],
    "relative-json-pointer": ["0+1", "1-1/a"],
    "regex": [r"\-", "}", "a{", r"\Z", r"\p{L}", r"[\w-a]", "a{,2}", "(?=a)*",
              # One name twice is an error until ECMA-262 of 2025.
              "(?<a>b)|(?<a>c)"],
}  # fmt: skip


def pairs(examples: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in examples.items() for text in texts]


class TestEveryFormat:
    @pytest.mark.parametrize(("name", "text"), pairs(VALID))
    def test_takes_what_its_specification_does(self, name, text):
        assert verdict(name, text) == "valid"

    @pytest.mark.parametrize(("name", "text"), pairs(INVALID))
    def test_refuses_what_its_specification_does(self, name, text):
        assert verdict(name, text) == "invalid"

    @pytest.mark.parametrize(("name", "text"), pairs(CONTESTED))
    def test_contests_what_can_be_read_in_two_ways(self, name, text):
        assert verdict(name, text) == "contested"

    @pytest.mark.parametrize("name", sorted(formats.DEFINED["2020-12"]))
    @pytest.mark.parametrize("value", ["1", "null", "[]", "{}", "1.5", "true"])
    def test_says_nothing_of_what_is_no_text(self, name, value):
        assert validators(name).judge(value.encode()).verdict == "valid"


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
class TestOlderDrafts:
    @pytest.mark.parametrize("text", ["a@b_c", "a(x)@b", "a @b", "(a(b))a@b", "a@[x]", "a@-b"])
    def test_cite_rfc_5322_for_mail(self, draft, text):
        assert verdict("email", text, draft) == "contested"

    @pytest.mark.parametrize("text", ["a@", "@b", "a b@c", "a@b@c", "a..b@c", "a(@b", "é@b"])
    def test_take_no_other_mail(self, draft, text):
        assert verdict("email", text, draft) == "invalid"

    def test_cite_rfc_1034_for_names_with_a_dot_behind(self, draft):
        assert verdict("hostname", "example.com.", draft) == "contested"
        assert verdict("hostname", "example.com", draft) == "valid"
        assert verdict("hostname", "example..", draft) == "invalid"


class TestChecks:
    @given(st.dates(), st.times(), st.integers(-1439, 1439))
    def test_take_every_moment_that_python_writes(self, day, time, offset):
        away = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
        moment = f"{time.isoformat()}{away}"
        assert format_checks.is_date(day.isoformat())
        assert format_checks.is_time(moment)
        assert format_checks.is_date_time(f"{day.isoformat()}T{moment}")

    @given(st.uuids(), st.ip_addresses(v=4), st.ip_addresses(v=6))
    def test_take_every_identifier_and_address_that_python_writes(self, uuid, four, six):
        assert format_checks.is_uuid(str(uuid))
        assert format_checks.is_ipv4(str(four))
        assert format_checks.is_ipv6(six.compressed)
        assert format_checks.is_ipv6(six.exploded)
        assert format_checks.is_uri(f"http://[{six.compressed}]:80/")

    @given(st.text(max_size=12))
    def test_of_uris_hold_of_references_and_iris_too(self, text):
        if format_checks.is_uri(text):
            assert format_checks.is_uri_reference(text)
            assert format_checks.is_iri(text)
        if format_checks.is_iri(text):
            assert format_checks.is_iri_reference(text)
        if format_checks.is_email(text):
            assert format_checks.is_addr_spec(text)

    @pytest.mark.parametrize("hostile", ["a." * 4_000, "(" * 4_000, '"' + "a" * 6_000,
                                         "http://" + "a" * 6_000 + "[", "{a" * 3_000])  # fmt: skip
    def test_come_to_an_end(self, hostile):
        for name in formats.DEFINED["2020-12"]:
            for draft in ("draft-04", "2020-12"):
                assert formats.checker(draft).conforms(hostile, name) in (True, False)
