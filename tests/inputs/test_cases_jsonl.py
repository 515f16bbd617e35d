"""Cases in JSON Lines, right and wrong."""

import hashlib
import json

import pytest

from harness.errors import InputError
from harness.inputs.case_selection import open_cases, select
from harness.inputs.cases import Instance
from harness.jsontext import strict_json


@pytest.fixture
def cases_of(tmp_path):
    """The cases of a file with the given lines."""

    def read(*lines, name="mine.jsonl"):
        path = tmp_path / name
        path.write_bytes(
            b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        )
        return list(open_cases(str(path)))

    return read


def test_a_line_is_a_case(cases_of):
    (case,) = cases_of(
        '{"id": "x", "about": "why", "schema": {"type":  "number"}, "valid": [1.0], "invalid": ["é", null]}'
    )
    assert (case.id, case.family, case.about) == ("x", "mine", "why")
    assert case.schema == '{"type":  "number"}'
    assert case.valid == (Instance(b"1.0"),)
    assert case.invalid == (Instance('"é"'.encode()), Instance(b"null"))
    assert case.source.endswith("mine.jsonl:1")


def test_an_instance_given_as_text_is_verbatim(cases_of):
    (case,) = cases_of(
        r'{"id":"a","schema":true,"valid":[{"text":"{\"a\":1e2,  \"a\":0}"}, {"text":1}, {"text":"x","y":1}]}'
    )
    assert case.valid == (
        Instance(b'{"a":1e2,  "a":0}'),
        Instance(b'{"text": 1}'),
        Instance(b'{"text": "x", "y": 1}'),
    )


def test_a_value_with_half_a_surrogate_pair_stays_in_the_case_and_is_no_strict_json(cases_of):
    (case,) = cases_of(r'{"id":"a","schema":true,"valid":["\ud800"]}')
    assert case.valid == (Instance(rb'"\ud800"'),)
    with pytest.raises(strict_json.LoneSurrogate):
        strict_json.parse(case.valid[0].text)


@pytest.mark.parametrize(
    "schema",
    [
        '{"not":' * 10_000 + "{}" + "}" * 10_000,
        '{"maximum": 1e400}',
        '{"type": "null", "type": "string"}',
        r'{"const": "\ud800"}',
        json.dumps({"enum": [f"value {n}" for n in range(60_000)]}),
        r'{ "enum" : ["\u0041", 1.0e2, "é"] , "x":{} }',
        "false",
    ],
    ids=["deep", "overflow", "duplicate", "surrogate", "megabyte", "spelling", "boolean"],
)
def test_a_schema_is_carried_as_it_is_written(cases_of, schema):
    (case,) = cases_of('{"id":"a","family":"other","schema":' + schema + ',"valid":[1]}')
    assert (case.schema, case.family) == (schema, "other")


def test_blank_lines_and_other_line_ends_do_not_matter(cases_of):
    line = '{"id":"%s","schema":true}'
    cases = cases_of("", line % "b" + "\r", "  ", line % "a", "")
    assert [(case.id, case.source.rpartition(":")[2]) for case in cases] == [("a", "4"), ("b", "2")]


good = '{"id":"fine","schema":true}'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", r":2: expected '\{'"),
        ('{"id":"a","schema":true', ":2: .*column"),
        ('{"schema":true}', "'id' is missing"),
        ('{"id":"a"}', "'schema' is missing"),
        ('{"id":7,"schema":true}', "'id' is a number, not a string"),
        ('{"id":"","schema":true}', "'id' is empty"),
        ('{"id":"a","schema":true,"vaild":[]}', "unknown key 'vaild'.*'valid'"),
        ('{"id":"a","schema":[]}', "the schema is an array"),
        ('{"id":"a","schema":null}', "the schema is null"),
        ('{"id":"a","schema":1e400}', "is out of range"),
        ('{"id":"a","schema":{"a" 1}}', "the schema is not JSON"),
        ('{"id":"a","schema":true,"valid":{}}', "'valid' is an object, not an array"),
        ('{"id":"a","schema":true,"valid":[NaN]}', "NaN is not JSON"),
        ('{"id":"a","schema":true,"valid":[{"b":1,"b":2}]}', r'duplicate key.*"text"'),
        ('{"id":"a","schema":true,"valid":[1e400]}', r'out of range.*"text"'),
        (r'{"id":"a","schema":true,"valid":[{"text":"\ud800"}]}', r"valid\[0\].*lone surrogate"),
        (r'{"id":"\ud800","schema":true}', "'id' cannot be read: lone surrogate"),
        ('{"id":"a","schema":true,"family":null}', "'family' is null, not a string"),
        (b'{"id":"\xff","schema":true}', "not UTF-8"),
        (good, "two cases have the id 'fine'.*jsonl:1.*jsonl:2"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(cases_of, line, says):
    with pytest.raises(InputError, match=says) as caught:
        cases_of(good, line)
    assert "mine.jsonl:2" in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_empty_and_a_missing_file_are_refused(cases_of, tmp_path):
    with pytest.raises(InputError, match="no case"):
        cases_of("", "  ")
    with pytest.raises(InputError, match="No such file"):
        open_cases(str(tmp_path / "missing.jsonl"))


def test_the_spec_may_name_the_kind_and_the_source_knows_its_file(tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text(good)
    cases = open_cases(f"jsonl:{path}")
    assert cases.sha256 == hashlib.sha256(good.encode()).hexdigest()
    assert select(cases).ids == ("fine",)
