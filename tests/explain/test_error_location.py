"""The part of a text that fails is found, and what stands beside it is not blamed."""

import json
from functools import lru_cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.explain.earliest_failure import WIDE_FORMATS, lost_at, may_become
from harness.explain.error_location import SHAPED, failing_parts, fails_at, skeleton
from harness.jsontext.pointers import typed_steps
from harness.jsontext.spans import root_of
from harness.schemas.format_values import format_values
from harness.schemas.formats import FORMAT_PATTERNS
from harness.validators.validate import Validators

D4 = "http://json-schema.org/draft-04/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D20 = "https://json-schema.org/draft/2020-12/schema"


@lru_cache(maxsize=512)
def validators(schema: str) -> Validators:
    return Validators(schema)


def faults(schema: object, text: bytes) -> list[tuple]:
    """The errors that both validators name."""
    outcome = validators(json.dumps(schema)).judge(text, errors=16)
    assert outcome.verdict == "invalid", outcome
    if outcome.reason == "not_json":
        return [("json", (), ())]
    return [
        (one.keyword, (*typed_steps(one.instance_pointer),), (*typed_steps(one.schema_pointer),))
        for opinion in outcome.opinions
        for one in opinion.errors
    ]


def planted(marked: str) -> tuple[bytes, list[tuple[int, int]]]:
    """A text and the spans that are marked in it with «»."""
    text, parts = b"", []
    for piece in marked.split("«"):
        inside, mark, after = piece.rpartition("»")
        if mark:
            parts.append((len(text), len(text) + len(inside.encode())))
        text += inside.encode() + after.encode()
    return text, parts


def check(schema: object, marked: str) -> None:
    """Both validators' errors lie exactly at the marked spans, and at no byte beside them."""
    text, parts = planted(marked)
    found = faults(schema, text)
    assert found
    for fault in found:
        spans = failing_parts(text, fault, schema)
        assert spans == parts, (fault, [text[begin:end] for begin, end in spans])
        for at in range(len(text)):
            inside = any(begin <= at < end for begin, end in parts)
            assert fails_at(text, at, at + 1, fault, schema) is inside
        assert fails_at(text, len(text), len(text), fault, schema) is ((len(text),) * 2 in parts)


class TestScalars:
    @pytest.mark.parametrize(
        ("schema", "marked"),
        [
            # The first byte tells the type.
            ({"type": "integer"}, ' «"a"» '),
            ({"items": {"type": ["string", "null"]}}, '["a", «true», "b"]'),
            ({"properties": {"a": {"type": "object"}}}, '{"b": 1, "a": «-1.5e3» }'),
            ({"properties": {"a": {"type": "object"}}}, '{"a": «[»1, [2]]}'),
            ({"properties": {"0": {"type": "null"}}}, '{"0": «1»}'),
            ({"properties": {"a/~b": {"type": "null"}}}, '{"a/~b": «1»}'),
            # ... but not whether a number is whole: 1.5e1 is.
            ({"items": {"type": "integer"}}, "[1.5«,» 2]"),
            ({"items": {"type": "integer"}}, "[1.5« »]"),
            ({"type": "integer"}, "1.5«»"),
            # A digit may follow.
            ({"minimum": 10}, "5«»"),
            ({"items": {"minimum": 10}}, "[5«]»"),
            ({"items": {"minimum": 10}}, "[«-5», 11]"),
            ({"items": {"exclusiveMinimum": 0}}, "[«-5»]"),
            ({"items": {"exclusiveMinimum": 0}}, "[0«]»"),
            ({"items": {"maximum": 10}}, "[99«]»"),
            ({"items": {"maximum": 10, "type": "integer"}}, "[9«9»]"),
            ({"items": {"maximum": 10, "type": "integer"}}, "[90«]»"),
            ({"items": {"exclusiveMaximum": -7, "type": "integer"}}, "[-5«]»"),
            ({"items": {"maximum": -7}}, "[«5»]"),
            ({"items": {"minimum": -7, "type": "integer"}}, "[-7«5»]"),
            ({"items": {"multipleOf": 5}}, "[5, 7«,» 10]"),
            ({"$schema": D4, "items": {"minimum": 3, "exclusiveMinimum": True}}, "[3«]»"),
            # What is left of the alternatives.
            ({"items": {"enum": ["red", "green"]}}, '["red", "gr«ay"»]'),
            ({"items": {"enum": ["red", "green"]}}, '["re«"», "red"]'),
            ({"items": {"enum": ["red", "green"]}}, '["red«der"»]'),
            ({"items": {"enum": ["red"]}}, '["r\\u006«1d"»]'),
            ({"items": {"enum": ["é"]}}, '["\\u00e«8"»]'),
            ({"items": {"enum": ["red"]}}, "[«12»]"),
            ({"items": {"enum": [123, True]}}, "[12«4»]"),
            ({"items": {"enum": [123, True]}}, "[12«]»"),
            ({"items": {"enum": [123, True]}}, "[«false»]"),
            ({"items": {"const": 1000}}, "[1.0e«2»]"),
            ({"items": {"const": -1}}, "[«1»]"),
            ({"const": None}, "«false»"),
            # Strings.
            ({"items": {"minLength": 3}}, '["abc", "ab«"»]'),
            ({"items": {"maxLength": 3}}, '["abc«def"», ""]'),
            ({"items": {"maxLength": 1}}, '["\\ud83d\\ude00«\\n"»]'),
            ({"items": {"pattern": "^a+b$"}}, '["aa«cb"»]'),
            ({"items": {"pattern": "^a+b$"}}, '["aa«"»]'),
            ({"items": {"pattern": "a"}}, '["bbb«"»]'),
            ({"items": {"pattern": "^(?=b)\\w+"}}, '["aa«"»]'),
            ({"items": {"format": "date"}}, '["2024-0«x-01"»]'),
            ({"items": {"format": "date"}}, '["2024-02-30«"»]'),
            ({"items": {"format": "ipv4"}}, '["1.2.«x.4"»]'),
            ({"items": {"format": "uri"}}, '["«/a"»]'),
        ],
    )
    def test_lie_from_the_byte_that_no_other_end_makes_good(self, schema, marked):
        check(schema, marked)

    @given(st.data())
    def test_of_another_type_are_found_exactly(self, data):
        scalars = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"))
        values = data.draw(st.lists(st.lists(st.text(max_size=9)), min_size=1, max_size=4))
        row = data.draw(st.integers(0, len(values) - 1))
        column = data.draw(st.integers(0, len(values[row])))
        wrong = data.draw(scalars.filter(lambda value: not isinstance(value, str)))
        values[row].insert(column, wrong)
        schema = {"additionalProperties": {"items": {"items": {"type": "string"}}}}
        indent = data.draw(st.sampled_from([None, 1, 2]))
        text = json.dumps({"a": [], "b": values}, indent=indent).encode()
        (begin, end), *more = {
            part for fault in faults(schema, text) for part in failing_parts(text, fault, schema)
        }
        assert not more
        assert text[begin:end] == json.dumps(wrong).encode()
        node = root_of(text).child("b").child(row).child(column)
        assert (node.start, node.end) == (begin, end)


class TestContainers:
    @pytest.mark.parametrize(
        ("schema", "marked"),
        [
            # What is missing: whatever ends the value too early.
            ({"items": {"required": ["a", "b"]}}, '[{"b": 1, "c": {}«}», {"a": 1, "b": 2}]'),
            ({"dependentRequired": {"a": ["b"]}}, '{"a": 1, "c": 1 «}» '),
            ({"$schema": D7, "dependencies": {"a": ["b"]}}, '{"a": 1«}»'),
            ({"minProperties": 2}, '{"a": 1«}»'),
            ({"items": {"minItems": 2}}, "[[1«]», [1, 2]]"),
            ({"contains": {"type": "string"}}, "[1«]»"),
            ({"contains": {"type": "string"}, "minContains": 2}, '["a", 1«]»'),
            ({"contains": {"type": "string"}, "maxContains": 1}, '["a", "b"«]»'),
            # Surplus parts: from where they exist.
            ({"maxItems": 2}, "[1, [2]«,» 3, 4]"),
            ({"maxItems": 0}, "[ «1»]"),
            ({"maxProperties": 1}, '{"a": 1 «,» "b": 2}'),
            ({"maxProperties": 0}, '{ «"»a": 1}'),
            ({"additionalProperties": {"items": False}}, '{"a": [], "b": [«1»]}'),
            ({"properties": {"a": {"prefixItems": [{}], "items": False}}}, '{"a": [1«,» 2]}'),
            ({"$schema": D7, "items": [{}], "additionalItems": False}, "[[1]«,» [2]]"),
            ({"$schema": D7, "items": [{}, False]}, "[1«,» 2, 3]"),
            ({"prefixItems": [{}, False]}, "[1«,» 2, 3]"),
            ({"uniqueItems": True}, '["a", "b", "a«"», {"x": [1]}, {"x": [1.0]«}»]'),
            ({"uniqueItems": True}, "[1, true, 2, 1«]»"),
            # Members that must not be there.
            ({"properties": {"ab": {}}, "additionalProperties": False}, '{"a«c"»: 1, "ab": 2}'),
            ({"properties": {"ab": {}}, "additionalProperties": False}, '{"a«"»: {"x": 2}}'),
            ({"properties": {"ab": {}}, "additionalProperties": False}, '{"ab": 1«, "ac"»: 2}'),
            ({"additionalProperties": False}, '{«"b"»: 1}'),
            ({"patternProperties": {"^x\\d": {}}, "additionalProperties": False}, '{"x«y"»: 1}'),
            ({"patternProperties": {"^x\\d": {}}, "additionalProperties": False}, '{"x«"»: 1}'),
            ({"properties": {"x": False}}, '{"a": 1, "x«"»: 2}'),
            ({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"x": False}}}}, '{"x«"»: 2}'),
            ({"properties": {"items": False}}, '{"items«"»: [2]}'),
            ({"patternProperties": {"^x": False}}, '{"x1«"»: 2}'),
            ({"propertyNames": {"pattern": "^a"}}, '{"ab": 1, "«b"»: {"c": 1}}'),
            ({"propertyNames": {"maxLength": 2}}, '{"ab": 1, "cd«e"»: 1}'),
            ({"propertyNames": False}, '{«"»a": 1}'),
            ({"propertyNames": {"enum": ["ab"]}}, '{"a«c"»: 1}'),
            ({"propertyNames": {"anyOf": [{"const": "ab"}]}}, '{"a«c"»: 1}'),
            ({"propertyNames": {"not": {"const": "ab"}}}, '{"ab«"»: 1}'),
            ({"properties": {"a": {}}, "unevaluatedProperties": False}, '{"a": 1«, "b"»: 2}'),
            ({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"ab": {}}}},
              "unevaluatedProperties": False}, '{"a«c"»: 2}'),
            ({"prefixItems": [{}], "unevaluatedItems": False}, "[1, 2«]»"),
            # Whole values that were asked for.
            ({"const": {"a": 1, "b": 2}}, '{"b": 2, "c": 1«}»'),
            ({"enum": [[1, 2], [1, 3, 4], {}]}, "[1«]»"),
            ({"enum": [[1, 2]]}, "«{»}"),
        ],
    )  # fmt: skip
    def test_fail_where_they_end_or_where_the_surplus_begins(self, schema, marked):
        check(schema, marked)

    def test_no_array_within_an_array_is_taken_for_the_other(self):
        """jsonschema names the array, jsonschema-rs the item, and nothing tells who spoke."""
        text = b"[[1]]"
        for schema in ({"items": False}, {"items": {"items": False}}):
            found = {fault[1]: failing_parts(text, fault, schema) for fault in faults(schema, text)}
            assert found.pop((0,)) == []
            assert found in ({(): [(1, 2)]}, {(0, 0): [(2, 3)]})


class TestAlternatives:
    @pytest.mark.parametrize(
        ("schema", "marked"),
        [
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "«12»"),
            ({"oneOf": [{"type": "string"}, {"const": 15}]}, "1«2»"),
            ({"anyOf": [{"type": "string"}, {"minimum": 15}]}, "12«»"),
            ({"oneOf": [{}, {}]}, '{"a": 1«}»'),
            ({"oneOf": [{}, {}]}, '"a«"»'),
            ({"not": {"type": "integer"}}, "12«»"),
            ({"items": {"not": {"required": ["a"]}}}, '[{}, {"a": 1«}»]'),
            ({"allOf": [{"type": "string"}, {"type": "null"}]}, "«12»"),
            (
                {"items": {"anyOf": [{"properties": {"k": {"const": kind}}} for kind in ("ab", "ac")]}},
                '[{"k": "ab"}, {"k": "a«d"»}]',
            ),
            (
                {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/u"}],
                 "$defs": {"t": {"type": "array"}, "u": {"items": {}, "type": "null"}}},
                "«{»}",
            ),
            (
                {"anyOf": [{"required": ["a"]}, {"additionalProperties": False}]},
                '{"b": 1«}»',
            ),
        ],
    )  # fmt: skip
    def test_fail_where_the_last_of_them_is_lost(self, schema, marked):
        if "allOf" in schema:
            text, parts = planted(marked)
            assert all(failing_parts(text, one, schema) == parts for one in faults(schema, text))
        else:
            check(schema, marked)

    def test_what_an_old_draft_does_not_know_rules_nothing_out(self):
        schema = {"$schema": D4, "anyOf": [{"const": "ab", "minLength": 5}]}
        check(schema, '"xyz«"»')


CONDITIONAL = {
    "if": {"properties": {"kind": {"const": "n"}}, "required": ["kind"]},
    "then": {"properties": {"v": {"type": "number"}}, "required": ["w"]},
}
UNKNOWN = {**CONDITIONAL, "if": {"maxProperties": 3}}


def dependent(keyword):
    below = {"properties": {"b": {"type": "null"}, "c": False}}
    return {"$schema": D7 if keyword == "dependencies" else D20, keyword: {"a": below}}


class TestConditions:
    @pytest.mark.parametrize(
        ("schema", "text", "keyword", "blamed"),
        [
            # They hold once what decides them is written, which may be too late.
            (CONDITIONAL, '{"kind": "n", "v": "x", "w": 1}', "type", {b'"x"'}),
            (CONDITIONAL, '{"v": "x", "kind": "n", "w": 1}', "type", set()),
            # They are settled where the object ends.
            (CONDITIONAL, '{"v": 1, "kind": "n"}', "required", {b"}"}),
            # What nobody understands settles nothing before.
            (UNKNOWN, '{"kind": "n", "v": "x", "w": 1}', "type", set()),
            (UNKNOWN, '{"kind": "n"}', "required", {b"}"}),
            *(
                (dependent(keyword), *row)
                for keyword in ("dependentSchemas", "dependencies")
                for row in [
                    ('{"a": 0, "b": 1}', "type", {b"1"}),
                    ('{"b": 1, "a": 0}', "type", set()),
                    ('{"a": 0, "c": 1}', "false", {b'"'}),
                    ('{"c": 1, "a": 0}', "false", set()),
                ]
            ),
            # Nothing may be under a condition.
            ({"if": {"required": ["a"]}, "then": False}, '{"a": 1}', "false", {b"}"}),
            ({"dependentSchemas": {"a": False}}, '{"a": 1}', "false", {b"}"}),
        ],
    )
    def test_must_be_decided_before_what_is_blamed(self, schema, text, keyword, blamed):
        raw = text.encode()
        found = [one for one in faults(schema, raw) if one[0] == keyword]
        parts = [part for fault in found for part in failing_parts(raw, fault, schema)]
        assert {raw[begin:end] for begin, end in parts} == blamed

    def test_must_be_named_before_the_token(self):
        text = b'{"kind":"n","v":"x","w":1}'
        (fault,) = {one for one in faults(CONDITIONAL, text) if one[0] == "type"}
        value = text.index(b'"x"')
        assert fails_at(text, value, value + 3, fault, CONDITIONAL)
        assert not fails_at(text, 1, value + 3, fault, CONDITIONAL)


class TestNothing:
    @pytest.mark.parametrize(
        ("schema", "text"),
        [
            # The reference hides that the names of the object are meant.
            ({"propertyNames": {"$ref": "#/$defs/n"}, "$defs": {"n": {"enum": ["a"]}}}, b'{"c": 1}'),
            # ... or that a condition stands before it.
            ({"if": {"required": ["z"]}, "then": {"$ref": "#/$defs/n"},
              "$defs": {"n": {"properties": {"a": {"type": "null"}}}}}, b'{"a": 1, "z": 1}'),
            # A pointer from the start of an embedded schema.
            ({"properties": {"a": {"$id": "http://e.x/b", "properties": {"c": {"$ref": "#/$defs/k"}},
              "$defs": {"k": {"type": "string"}}}}}, b'{"a": {"c": 1}}'),
            ({"$ref": "http://json-schema.org/draft-07/schema#"}, b'{"type": 1}'),
        ],
    )  # fmt: skip
    def test_is_at_fault_where_the_pointer_hides_something(self, schema, text):
        for fault in faults(schema, text):
            assert failing_parts(text, fault, schema) == []

    def test_is_at_fault_where_an_empty_name_may_be_missing(self):
        schema = {"additionalProperties": {"type": "null"}}
        text = b'{"": [1]}'
        slow, fast = faults(schema, text)
        assert (slow[1], fast[1]) == (("",), ())
        assert failing_parts(text, slow, schema) == [(5, 6)]
        assert failing_parts(text, fast, schema) == []

    def test_is_at_fault_where_a_path_leads_nowhere(self):
        assert failing_parts(b"[1]", ("type", (3,), ("type",)), {"type": "null"}) == []
        assert failing_parts(b"[1]", ("type", (), ("items", "type")), {"type": "null"}) == []

    def test_is_at_fault_where_one_of_several_names_is(self):
        schema = {"propertyNames": {"format": "date"}}
        text = b'{"2024-02-28": 1, "2024-02-30": 1}'
        assert all(failing_parts(text, fault, schema) == [] for fault in faults(schema, text))


class TestNoJson:
    @pytest.mark.parametrize(
        "marked",
        [
            '{"a": 1«,»}'.replace("«,»}", ",«}»"),
            '{"a"«,» 1}',
            "[1«]»]".replace("[1«]»]", "[1]«]»"),
            "[0«1»]",
            "[tr«e»]",
            '["\\«x"]'.replace("«x", "«x»"),
            '["a«\n»"]',
            "«N»aN",
            "-«I»nfinity",
            "[1, 2«»",
            '"abc«»',
            "«»",
            "[" + "1, " * 30 + "«x»" + ", 1" * 30 + "]",
        ],
    )
    def test_breaks_off_at_one_byte_or_at_the_end(self, marked):
        check({}, marked)

    def test_breaks_off_within_a_token(self):
        fault = ("json", (), ())
        assert fails_at(b"[1,]", 2, 4, fault, {})
        assert not fails_at(b"[1,]", 1, 3, fault, {})
        assert failing_parts(b"[1]", fault, {}) == []


def grown(texts: list[bytes]) -> st.SearchStrategy[bytes]:
    """Texts that begin as one of `texts`, with some bytes changed and the end of another."""

    @st.composite
    def build(draw):
        left, right = draw(st.sampled_from(texts)), draw(st.sampled_from(texts))
        middle = draw(st.sampled_from([b"", b"0", b"a", b'"', b",", b"}", b"]", b"1e1", b'"a":1']))
        head = left[: draw(st.integers(0, len(left)))]
        return head + middle + right[draw(st.integers(0, len(right))) :]

    return build()


SOUND = [
    ({"enum": ["red", "reddish", 12, 120, [1, 2], [1, 3], {"a": 1, "b": 2}, None]},
     ["red", "reddish", 12, 120, [1, 2], [1, 3], {"a": 1, "b": 2}, None]),
    ({"items": {"type": "integer", "minimum": -20, "maximum": 30}, "maxItems": 3, "uniqueItems": True},
     [[], [1, 2, 3], [-20, 30], [10, 9, -1], [0]]),
    ({"items": {"exclusiveMinimum": 0, "maximum": 10.5}}, [[1, 2.5], [10.5, 0.5], [1e-05, 3]]),
    ({"properties": {"ab": {"pattern": "^a+b?$"}, "abc": {"maxLength": 2}}, "required": ["ab"],
      "additionalProperties": False, "patternProperties": {"^x[0-9]+$": {"type": "null"}}},
     [{"ab": "aab"}, {"ab": "a", "abc": "a"}, {"abc": "", "ab": "aa"}, {"x1": None, "ab": "a"}]),
    ({"anyOf": [{"properties": {"k": {"const": "a"}}, "required": ["k"], "maxProperties": 1},
                {"properties": {"k": {"const": "ab"}, "v": {"type": "integer"}}, "required": ["v"]},
                {"items": {"oneOf": [{"const": "a"}, {"minLength": 2}]}, "type": "array"}]},
     [{"k": "a"}, {"k": "ab", "v": 1}, {"v": 0}, ["a", "ab"], []]),
    ({"if": {"properties": {"k": {"const": "a"}}}, "then": {"properties": {"v": {"type": "null"}}},
      "dependentSchemas": {"a": {"properties": {"v": {"maximum": 5}}}}},
     [{"k": "a", "v": None}, {"v": 10, "k": "b"}, {"v": 1, "a": 1, "k": ""}, {"v": 1, "k": 2}]),
    ({"properties": {"k": {}, "a": False}, "propertyNames": {"pattern": "^[a-k]"}, "minProperties": 1,
      "unevaluatedProperties": False, "anyOf": [{"properties": {"b": {}}}, {"properties": {"kb": {}}}]},
     [{"k": 1}, {"b": 1, "k": 2}, {"kb": 1, "b": 0}]),
    ({"prefixItems": [{"type": "string"}], "items": False}, [[], [""], ["a"], ["ab"]]),
    ({"contains": {"const": 1}, "not": {"minItems": 3}}, [[1], [0, 1], [1, 10]]),
]  # fmt: skip


class TestSoundness:
    """No valid text goes on behind the byte that is said to have lost it."""

    @pytest.mark.parametrize("number", range(len(SOUND)))
    @given(data=st.data())
    def test_against_valid_texts_with_the_same_beginning(self, number, data):
        schema, values = SOUND[number]
        judge = validators(json.dumps(schema)).judge
        seeds = [json.dumps(value, separators=(",", ":")).encode() for value in values]
        assert all(judge(seed).verdict == "valid" for seed in seeds)
        text = data.draw(grown(seeds))
        assume(judge(text).verdict == "invalid")
        found = faults(schema, text)
        cuts = {begin for fault in found for begin, _ in failing_parts(text, fault, schema)}
        for cut in cuts:
            ends = [seed[at:] for seed in seeds for at in range(len(seed) + 1)]
            ends += [b"", b"0", b"e1", b"e-1]", b'"]', b'a"]', b'"}', b"]", b"}", b".5]"]
            for end in ends:
                whole = text if cut >= len(text) else text[: cut + 1] + end
                assert judge(whole).verdict != "valid", (whole, cut, found)


STRICT = {
    "properties": {"a": {"type": "string", "minLength": 9}},
    "minProperties": 4,
    "additionalProperties": {
        "type": ["array", "object"],
        "maxItems": 1,
        "minItems": 1,
        "items": {"multipleOf": 7},
    },
    "required": ["q"],
}
TWINS = [
    (b'{"', [b"b", b"cd", b"xyz"], b'":1}'),
    (b'{"', [b'b": [', b'ccc": ['], b'],"a":"x"}'),
    (b'{"a":', [b"12", b"345678", b"1"], b"}"),
    (b'{"a":"', [b"x", b"yz"], b'"}'),
    (b'{"a":"x', [b'"}', b'"}'], b""),
    (b'{"b":[', [b"5,22", b"8,1"], b"]}"),
    (b'{"b":[5', [b",1", b",234"], b'],"c":true}'),
    (b'{"b":', [b"true,", b"null,"], b'"c":[]}'),
    (b'{"a', [b'b":{"c', b'xx":{"y'], b'":1}}'),
]  # heads, tokens of one skeleton each, and what stands behind them


class TestSkeleton:
    @pytest.mark.parametrize("twins", TWINS, ids=str)
    def test_tokens_alike_are_at_fault_alike(self, twins):
        head, tokens, rest = twins
        assert len({skeleton(token) for token in tokens}) == 1
        common = set.intersection(*(set(faults(STRICT, head + token + rest)) for token in tokens))
        compared = [fault for fault in common if fault[0] in SHAPED]
        assert compared
        for fault in compared:
            places = [(head + token + rest, len(head), len(head) + len(token)) for token in tokens]
            assert len({fails_at(*place, fault, STRICT) for place in places}) == 1


class TestNumbers:
    @given(st.decimals(-(10**9), 10**9, allow_nan=False, places=3), st.integers(-9, 9))
    def test_every_beginning_of_every_spelling_may_become_the_number(self, number, shift):
        spellings = [format(number, "f"), format(number.scaleb(-shift), "f") + f"e{shift}"]
        for spelling in spellings:
            assert all(may_become(spelling[:end], number) for end in range(1, len(spelling) + 1))


class TestFormats:
    @pytest.mark.parametrize("name", sorted(WIDE_FORMATS))
    def test_no_valid_text_is_lost(self, name):
        assert lost_at(WIDE_FORMATS[name], format_values(name).valid[0]) is None

    @given(st.data())
    def test_no_text_that_both_validators_take_is_lost(self, data):
        name = data.draw(st.sampled_from(sorted(WIDE_FORMATS)))
        text = data.draw(st.from_regex(FORMAT_PATTERNS[name], fullmatch=True))
        text = data.draw(st.sampled_from([text, text.lower(), text.upper(), text[1:], text + " "]))
        judged = validators(json.dumps({"format": name})).judge(json.dumps(text).encode())
        if judged.verdict == "valid":
            assert lost_at(WIDE_FORMATS[name], text) is None


class TestPatterns:
    @pytest.mark.parametrize(
        ("expression", "text", "expected"),
        [
            ("^a+b$", "aabb", 3),
            ("^\\d{3}$", "12\u0663", 2),
            ("^[^\\s]+$", "a\u00a0", 1),
            ("^(a)\\1$", "ab", None),
            ("(", "a", None),
        ],
    )
    def test_are_lost_where_no_match_can_follow(self, expression, text, expected):
        assert lost_at(expression, text) == expected

    def test_look_around_is_taken_for_granted(self):
        assert lost_at("^(?!x)[a-z]$", "x") is None
        assert lost_at("^(?!x)[a-z]$", "1") == 0
