"""Where a token would come: its category, the keyword in force there, and where that stands."""

import json

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from harness.explain.applicable import PartialValue, Refutation, inside
from harness.explain.attribution import Attribution, GoverningKeyword
from harness.jsontext.lexer import Mode
from harness.jsontext.partial import Cursor, feed
from harness.jsontext.pointers import MISSING, follow, steps
from harness.schemas.schema import Schema
from tests.jsonvalues import ODD_SCHEMAS, json_values

CATEGORIES = [
    "structural",
    "key",
    "string",
    "escape",
    "number",
    "literal",
    "whitespace",
    "end",
    "reserved",
]
OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "size": {"type": "integer", "minimum": 1},
        "note": {},
        "nested": {"properties": {"in": True}},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
OPEN = {"properties": {"a": True, "b": True}, "patternProperties": {"^x-": {"type": "null"}}}
ARRAY = {
    "type": "array",
    "prefixItems": [{"const": "first"}],
    "items": {"type": "number", "multipleOf": 2},
    "maxItems": 5,
}
NULLABLE = {
    "anyOf": [{"type": "string", "pattern": "^a"}, {"type": "null"}, {"minimum": 1, "type": "number"}]
}  # fmt: skip
TAGGED = {
    "oneOf": [
        {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "dog"}, "tricks": {"maxItems": 3}}, "required": ["kind"]},
    ]
}  # fmt: skip
SWITCH = {
    "properties": {"on": {"type": "boolean"}},
    "if": {"properties": {"on": {"const": True}}, "required": ["on"]},
    "then": {"properties": {"watt": {"type": "number"}}},
    "else": {"properties": {"watt": {"type": "null"}}},
}
TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/node"}, "tag/s": {"enum": ["x", "y"]}},
            "minProperties": 1,
        }
    },
}
BOTH = {
    "allOf": [
        {"type": "object", "required": ["a"]},
        {"properties": {"a": {"format": "email", "type": "string"}}},
        {"properties": {"b": {"maxLength": 3}}},
    ]
}

ROWS = [
    # the start of a value
    ({"type": "object"}, "", "{", "structural", "type", "/type", ""),
    (True, "", "[", "structural", "", "", ""),
    ({"enum": [1, "a"]}, "", '"', "string", "enum", "/enum", ""),
    ({"const": None, "type": "null"}, "", "nul", "literal", "const", "/const", ""),
    ({"type": "number", "exclusiveMaximum": 0}, "", "-", "number", "exclusiveMaximum", "/exclusiveMaximum", ""),
    ({"not": {"const": 3}, "type": "integer"}, "", "3", "number", "not", "/not", ""),
    (OBJECT, '{"nested": {"in": ', "[", "structural", "properties", "/properties/nested/properties", ""),
    ({"additionalProperties": {"type": "null"}}, '{"z": ', "n", "literal", "type", "/additionalProperties/type", ""),
    ({"additionalProperties": True}, '{"z": ', "n", "literal", "additionalProperties", "/additionalProperties", ""),
    ({"unevaluatedProperties": {}}, '{"z": ', "1", "number", "unevaluatedProperties", "/unevaluatedProperties", ""),
    (OPEN, '{"x-y": ', "null", "literal", "type", "/patternProperties/^x-/type", ""),
    (ARRAY, "[", '"fi', "string", "const", "/prefixItems/0/const", ""),
    (ARRAY, '["first", ', "4", "number", "multipleOf", "/items/multipleOf", ""),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}],
      "additionalItems": {"type": "null"}}, "[1, ", "n", "literal", "type", "/additionalItems/type", ""),
    # inside strings
    ({"type": "string"}, '"a', "b", "string", "type", "/type", ""),
    ({"type": "string", "minLength": 1, "maxLength": 5}, '"a', "b", "string", "maxLength", "/maxLength", ""),
    ({"type": "string", "minLength": 1, "maxLength": 5}, '"a', '"', "string", "minLength", "/minLength", ""),
    # several keywords at one place: the most specific one
    ({"pattern": "^ab$", "minLength": 2}, '"a', '"', "string", "pattern", "/pattern", ""),
    ({"format": "date", "minLength": 1}, '"2', '"', "string", "format", "/format", "date"),
    ({"minProperties": 1, "required": ["a"]}, "{", "}", "structural", "required", "/required", ""),
    ({"uniqueItems": True, "maxItems": 1}, "[1", ",", "structural", "maxItems", "/maxItems", ""),
    ({"format": "date", "pattern": "^2"}, '"', "2", "string", "pattern", "/pattern", ""),
    ({"type": "string"}, '"', "\\n", "escape", "type", "/type", ""),
    ({"type": "string"}, '"\\u00', "e9", "escape", "type", "/type", ""),
    ({"type": "string"}, '"\\ud83d', "a", "string", "type", "/type", ""),
    ({"type": "string"}, "", '"\\', "escape", "type", "/type", ""),
    (OBJECT, '{"name": "ab', '", "', "string", "minLength", "/properties/name/minLength", "declared_next"),
    (OBJECT, '{"name": "ab', '", "note\\n', "escape", "minLength", "/properties/name/minLength", "additional"),
    ({"const": {"a": "b"}}, '{"a": "', "b", "string", "const", "/const", ""),
    # inside numbers and literals
    (ARRAY, '["first", 1', "2", "number", "multipleOf", "/items/multipleOf", ""),
    ({"type": "number"}, "1", ".5", "number", "type", "/type", ""),
    ({"items": {"maximum": 9}}, "[1", ",", "structural", "maximum", "/items/maximum", ""),
    ({"items": {"type": "integer"}, "maxItems": 9}, "[1", "]", "structural", "type", "/items/type", ""),
    ({"items": {"type": "integer"}, "maxItems": 9}, "[1", ", 2", "structural", "maxItems", "/maxItems", ""),
    ({"enum": [True]}, "tr", "ue", "literal", "enum", "/enum", ""),
    # keys
    (OBJECT, "{", '"', "key", "properties", "/properties", "declared_next"),
    (OBJECT, "{", "\n  \"name", "key", "properties", "/properties", "declared_next"),
    (OBJECT, '{"', "si", "key", "properties", "/properties", "declared_later"),
    (OBJECT, '{"size": 1, "', "name", "key", "properties", "/properties", "declared_earlier"),
    (OBJECT, '{"name": "ab", "size": 1, "n', "ested", "key", "properties", "/properties", "declared_next"),
    (OBJECT, '{"name": "ab", "', "name", "key", "additionalProperties", "/additionalProperties", "written"),
    (OBJECT, '{"name": "ab", "', 'name"', "key", "properties", "/properties", "written"),
    (OBJECT, '{"', "zz", "key", "additionalProperties", "/additionalProperties", "additional"),
    (OBJECT, '{"name', '"', "key", "properties", "/properties", "declared_next"),
    (OBJECT, '{"na', '":', "key", "additionalProperties", "/additionalProperties", "additional"),
    (OBJECT, '{"', "n\\u0061", "escape", "properties", "/properties", "declared_next"),
    (OPEN, '{"', "x", "key", "patternProperties", "/patternProperties", "pattern"),
    (OPEN, '{"', "y", "key", "properties", "/properties", "additional"),
    (OPEN, '{"z": 1, "', "a", "key", "properties", "/properties", "declared_earlier"),
    ({"propertyNames": {"maxLength": 2}}, '{"', "k", "key", "propertyNames", "/propertyNames", "additional"),
    ({"type": "object"}, '{"', "é", "key", "type", "/type", "additional"),
    ({"properties": {"é": {}}}, '{"', b"\xc3", "key", "properties", "/properties", "declared_next"),
    # between tokens
    (OBJECT, '{"name"', ":", "structural", "type", "/type", ""),
    (OBJECT, '{"name":', " ", "whitespace", "", "", ""),
    (OBJECT, '{"name": "ab"', ",", "structural", "properties", "/properties", "declared_next"),
    (OBJECT, '{"name": "ab", "size": 1, "nested": {}', ",", "structural", "properties", "/properties", "declared_earlier"),
    ({"maxProperties": 3, "properties": {"b": {}}}, '{"a": 1', ',"b"', "structural", "maxProperties", "/maxProperties", "declared_earlier"),
    (OBJECT, '{"name": "ab", "size": {}', "}", "structural", "required", "/required", ""),
    (OBJECT, '{"name": "ab", "size": 1', "}", "structural", "minimum", "/properties/size/minimum", ""),
    ({"minProperties": 1, "required": []}, '{"a": 1', "}", "structural", "minProperties", "/minProperties", ""),
    ({"dependentRequired": {"a": ["b"]}}, '{"a": 1', "}", "structural", "dependentRequired", "/dependentRequired", ""),
    ({"dependentRequired": {"a": ["b"]}}, '{"c": 1', "}", "structural", "", "", ""),
    ({"contains": {}, "minContains": 2}, "[1", "]", "structural", "contains", "/contains", ""),
    ({"prefixItems": [{}, {}], "items": {}}, '["a"', ",", "structural", "prefixItems", "/prefixItems", ""),
    ({"prefixItems": [{}, {}], "items": {}}, '["a", "b"', ",", "structural", "items", "/items", ""),
    ({"uniqueItems": True, "type": "array"}, '["a"', ",", "structural", "uniqueItems", "/uniqueItems", ""),
    (OPEN, '{"a": 1', ',"x', "structural", "patternProperties", "/patternProperties", "pattern"),
    # behind references and in combinations
    (TREE, '{"left": {', "}", "structural", "minProperties", "/$defs/node/minProperties", ""),
    (TREE, '{"left": {"tag/s": "', "x", "string", "enum", "/$defs/node/properties/tag~1s/enum", ""),
    (BOTH, '{"a": "', "b", "string", "format", "/allOf/1/properties/a/format", "email"),
    (BOTH, '{"b": {}', "}", "structural", "required", "/allOf/0/required", ""),
    (NULLABLE, "", '"', "string", "pattern", "/anyOf/0/pattern", ""),
    (NULLABLE, "", "n", "literal", "anyOf", "/anyOf", ""),
    (NULLABLE, "", "1", "number", "minimum", "/anyOf/2/minimum", ""),
    (NULLABLE, "n", "ull", "literal", "type", "/anyOf/1/type", ""),
    ({"anyOf": [{"const": "aa"}, {"const": "ab"}]}, '"a', "b", "string", "anyOf", "/anyOf", ""),
    ({"anyOf": [{"const": "aa"}, {"const": "bb"}]}, '"a', "a", "string", "const", "/anyOf/0/const", ""),
    ({"anyOf": [{"type": "string"}, {"type": "string"}]}, '"a', "a", "string", "type", "/anyOf/0/type", ""),
    ({"anyOf": [{"const": 10}, {"const": 25}]}, "1", "0", "number", "const", "/anyOf/0/const", ""),
    (TAGGED, "{", '"', "key", "oneOf", "/oneOf", "declared_next"),
    (TAGGED, '{"kind": ', '"', "string", "oneOf", "/oneOf", ""),
    (TAGGED, '{"kind": "d', "og", "string", "const", "/oneOf/1/properties/kind/const", ""),
    (TAGGED, '{"kind": "dog"', "}", "structural", "required", "/oneOf/1/required", ""),
    (TAGGED, '{"kind": "dog", "tricks": ["sit"', ",", "structural", "maxItems", "/oneOf/1/properties/tricks/maxItems", ""),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, '{"a": {}', "}", "structural", "anyOf", "/anyOf", ""),
    (SWITCH, '{"watt": ', "1", "number", "if", "/if", ""),
    (SWITCH, '{"on": true, "watt": ', "1", "number", "type", "/then/properties/watt/type", ""),
    (SWITCH, '{"on": false, "watt": ', "n", "literal", "type", "/else/properties/watt/type", ""),
    ({"dependentSchemas": {"a": {"type": "object"}}}, '{"a": ""', "}", "structural", "type", "/dependentSchemas/a/type", ""),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/s", "const": "x",
      "definitions": {"s": {"type": "string"}}}, '"', "x", "string", "type", "/definitions/s/type", ""),
    # what a draft does not know it ignores
    ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "string", "const": "x"},
     '"', "y", "string", "type", "/type", ""),
    ({"$schema": "http://json-schema.org/draft-06/schema#", **SWITCH},
     '{"on": true, "watt": ', "1", "number", "", "", ""),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {}},
      "unevaluatedProperties": False}, '{"', "b", "key", "properties", "/properties", "additional"),
    # behind the whole value
    ({"type": "string"}, '"a"', " ", "whitespace", "", "", ""),
    ({"type": "string"}, '"a"', "x", "structural", "type", "/type", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "prefix", "token", "category", "keyword", "pointer", "detail"), ROWS
)
def test_a_token_at_its_place(schema, prefix, token, category, keyword, pointer, detail):
    token = token if isinstance(token, bytes) else token.encode()
    place = Attribution(schema).at(prefix.encode())
    governing = place.governing(token)
    assert place.category(token) == category
    found = (governing.keyword, governing.schema_pointer, governing.detail)
    assert found == (keyword, pointer, detail)


@pytest.mark.parametrize(
    ("prefix", "token", "pointer"),
    [
        ("", "{", ""),
        ('{"name": ', '"', "/name"),
        ('{"name": "a', "b", "/name"),
        ('{"nested": {"in": [1, ', "2", "/nested/in/1"),
        ('{"nested": {"in": [1, 2', "3", "/nested/in/1"),
        ('{"nested": {"in": ["x"', ",", "/nested/in"),
        ('{"nested": {"', "in", "/nested"),
        ('{"nested": {', "}", "/nested"),
        ('{"nested": {"in"', ":", "/nested"),
        ('{"nested": {', " ", "/nested"),
        ('{"size": 1', "}", "/size"),
        ('{"a/b~": ', "1", "/a~1b~0"),
    ],
)
def test_the_instance_pointer_leads_to_what_is_governed(prefix, token, pointer):
    place = Attribution(OBJECT).at(prefix.encode())
    assert place.governing(token.encode()).instance_pointer == pointer


@pytest.mark.parametrize(
    ("schema", "text", "governing"),
    [
        ({"type": "string"}, b'"a"', GoverningKeyword("type", "/type", "", "")),
        ({"enum": ["a"]}, b'"a"', GoverningKeyword("", "", "", "")),
        ({"type": "integer", "minimum": 1}, b"12", GoverningKeyword("minimum", "/minimum", "", "")),
        ({"type": "integer"}, b"12", GoverningKeyword("type", "/type", "", "")),
        ({"type": "array", "maxItems": 1}, b"[1", GoverningKeyword("type", "/type", "", "")),
    ],
)
def test_the_end_is_governed_by_the_root(schema, text, governing):
    place = Attribution(schema).at(text)
    assert place.category(b"", end=True) == "end"
    assert place.governing(b"", end=True) == governing


def test_reserved_tokens_have_a_category_of_their_own_and_no_keyword():
    place = Attribution({"type": "string"}).at(b'"')
    assert place.category(b"<|pad|>", reserved=True) == "reserved"
    assert place.governing(b"<|pad|>", reserved=True).keyword == ""


@pytest.mark.parametrize(
    ("prefix", "token", "category"),
    [
        ("", "abc", "literal"),
        ("{", "abc", "key"),
        ('{"a"', "abc", "structural"),
        ("[1", "abc", "literal"),
        ("", ".5", "number"),
        ('[""', '"', "string"),
        ("[", "\\", "literal"),
        ("[", ' "a", "\\', "escape"),
        ('["\\\\', "n", "string"),
        ("", "", "whitespace"),
    ],
)
def test_what_no_json_begins_with_has_a_category_too(prefix, token, category):
    assert Attribution(True).at(prefix.encode()).category(token.encode()) == category


def test_the_friendliest_order_counts_where_branches_declare_differently():
    branches = [{"properties": {"b": {}, "a": {}}}, {"properties": {"a": {}, "b": {}}}]
    place = Attribution({"anyOf": branches}).at(b'{"b": 1, "')
    assert place.governing(b"a").detail == "declared_next"
    assert Attribution(branches[1]).at(b'{"b": 1, "').governing(b"a").detail == "declared_earlier"


def test_optional_names_may_be_skipped_in_the_declared_order():
    place = Attribution({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]}).at(b'{"')
    assert [place.governing(name).detail for name in (b"a", b"b", b"c")] == [
        "declared_next",
        "declared_next",
        "declared_later",
    ]


def test_texts_may_come_in_any_order():
    attribution = Attribution(OBJECT)
    assert attribution.at(b'{"name": "').governing(b"a").keyword == "minLength"
    assert attribution.at(b'{"size').governing(b'"').detail == "declared_later"
    assert attribution.at(b"").governing(b"{").keyword == "type"


def test_what_begins_no_json_is_refused():
    with pytest.raises(ValueError, match="no JSON text begins with"):
        Attribution({}).at(b"{]")


TOKENS = [b'"', b"a", b'a"', b'", "', b'","b":', b"\\n", b"1", b"-", b".5", b"e", b"{", b'{"', b"}", b"[", b"]", b",", b",\n",
          b': "', b" ", b"tr", b"null", b"\xc3", b"\xff", b"", b"b\\u00", b'a":1,"k']  # fmt: skip
NAMES = st.sampled_from(["a", "b", "~/", "k", "é"])
LOOP = {"$ref": "#"}


def usual(leaves=(), more=()):
    """Schemas whose keywords have values of the right type, with more leaves and keywords."""
    return st.recursive(
        st.sampled_from(
            [True, False, {}, {"type": "string"}, {"type": ["integer", "null"], "minimum": 0}, {"const": "ab"},
             {"enum": [1, "a", None, {"a": 1}]}, {"pattern": "^a", "format": "date"}, {"const": {"a": ["b"]}}, *leaves]
        ),
        lambda inner: st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["object", "array", ["object", "string"]]),
                "properties": st.dictionaries(NAMES, inner, max_size=3),
                "required": st.lists(NAMES, max_size=2),
                "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "(?!a)"]), inner, max_size=2),
                "additionalProperties": inner,
                "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
                "items": inner,
                "prefixItems": st.lists(inner, max_size=2),
                "maxItems": st.integers(0, 3),
                "anyOf": st.lists(inner, min_size=1, max_size=3),
                "oneOf": st.lists(inner, min_size=1, max_size=3),
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "if": inner,
                "then": inner,
                "else": inner,
                **dict.fromkeys(more, inner),
            },
        ),
        max_leaves=8,
    )  # fmt: skip


USUAL = usual([LOOP], ["not"])
VALUES = json_values(
    st.sampled_from(["a", "b", "~/", "k", "é"]) | st.text('ab\n"\\é', max_size=3), max_leaves=8
)


def check_everywhere(schema, text):
    """Every answer at every prefix of `text` is well formed, and its pointer leads to its keyword."""
    attribution = Attribution(schema)
    for cut in range(len(text) + 1):
        place = attribution.at(text[:cut])
        assert {place.category(token) for token in TOKENS} <= set(CATEGORIES)
        keywords = [place.governing(token) for token in TOKENS]
        for governing in [*keywords, place.governing(b"", end=True)]:
            assert bool(governing.keyword) == bool(governing.schema_pointer)
            if governing.keyword:
                assert governing.schema_pointer.rpartition("/")[2] == governing.keyword
                assert follow(schema, steps(governing.schema_pointer)) is not MISSING


@given(ODD_SCHEMAS | USUAL, VALUES, st.booleans())
def test_pointers_always_lead_to_the_keyword(schema, value, plain):
    check_everywhere(schema, json.dumps(value, ensure_ascii=plain).encode())


def wrapped(schema, wrap, depth):
    for _ in range(depth):
        schema = wrap(schema)
    return schema


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (LOOP, '{"a": [1]}'),
        ({"allOf": [LOOP] * 8, "anyOf": [LOOP] * 8, "properties": {"a": LOOP}}, '{"a": {"a": 1}}'),
        ({"anyOf": [{"anyOf": [{"type": "object"}] * 50}] * 50, "oneOf": [{}] * 50}, '{"a'),
        ({"if": LOOP, "then": LOOP, "else": LOOP}, '{"a": 1}'),
        (
            wrapped({"type": "null"}, lambda s: {"properties": {"a": s}}, 200),
            '{"a": ' * 12 + "null" + "}" * 12,
        ),
        (wrapped({"type": "null"}, lambda s: {"allOf": [s]}, 200), "null"),
        (wrapped({"type": "null"}, lambda s: {"anyOf": [s, {"type": "string"}]}, 200), "null"),
        (wrapped({"type": "null"}, lambda s: {"if": s, "then": s}, 14), "null"),
        ({"const": wrapped(1, lambda v: [v], 200)}, "[[[1]]]"),
    ],
    ids=["loop", "loops", "wide", "if", "members", "all", "any", "conditions", "const"],
)
def test_hostile_schemas_are_survived(schema, text):
    check_everywhere(schema, text.encode())


def test_the_deepest_place_of_a_deep_schema_is_found():
    schema = wrapped({"type": "null"}, lambda s: {"properties": {"a": s}}, 200)
    governing = Attribution(schema).at(b'{"a": ' * 200).governing(b"n")
    assert governing.schema_pointer == "/properties/a" * 200 + "/type"
    assert governing.instance_pointer == "/a" * 200


def test_half_a_surrogate_pair_in_a_key_can_be_stored():
    governing = Attribution({}).at(b'{"\\ud800a": ').governing(b"1")
    assert governing.instance_pointer == "/?a"


@example(b'","size": 3')
@given(st.lists(st.sampled_from(TOKENS), max_size=4).map(b"".join))
def test_whitespace_in_front_changes_nothing_between_tokens(token):
    for prefix in (b"", b"{", b'{"name"', b'{"name": "ab"', b'{"name": "ab",', b'{"size": 1'):
        place = Attribution(OBJECT).at(prefix)
        if token.strip():
            assert place.category(b" \n" + token) == place.category(token) or prefix.endswith(b"1")
            spaced = place.governing(b" \n" + token)
            assert prefix.endswith(b"1") or spaced == place.governing(token)


def written_of(cursor):
    """What a cursor knows of the outermost value."""
    written = cursor.mode.in_number or cursor.mode in (Mode.STRING, Mode.LITERAL)
    if not cursor.frames:
        return inside(cursor if written else None)
    frame = cursor.frames[0]
    slot = written or len(cursor.frames) > 1 or frame.key is not None or cursor.mode is Mode.VALUE
    return PartialValue(
        "object" if frame.is_object else "array", frame, frame.slot if slot else None
    )


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(usual().filter(lambda schema: isinstance(schema, dict)), VALUES)
def test_what_becomes_valid_is_never_refuted(schema, value):
    formats = jsonschema.Draft202012Validator.FORMAT_CHECKER
    assume(jsonschema.Draft202012Validator(schema, format_checker=formats).is_valid(value))
    refutation, text = Refutation(Schema(schema)), json.dumps(value).encode()
    for cut in range(len(text) + 1):
        cursor = feed(Cursor(), text[:cut])
        assert not refutation.contradicts(schema, written_of(cursor)), text[:cut]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "{"),
        ({"enum": ["a", 1]}, "["),
        ({"const": "ab"}, '"b'),
        ({"pattern": "^a"}, '"b'),
        ({"maxLength": 1}, '"ab'),
        ({"enum": [12, 30]}, "2"),
        ({"const": False}, "t"),
        ({"properties": {"a": {"const": 1}}}, '{"a": 2,'),
        ({"properties": {"a": False}}, '{"a"'),
        ({"additionalProperties": False}, '{"a": '),
        ({"propertyNames": {"maxLength": 1}}, '{"ab":'),
        ({"maxProperties": 1}, '{"a": 1, "b":'),
        ({"const": {"a": 1}}, '{"b":'),
        ({"maxItems": 1}, "[1, "),
        ({"items": False}, "[1"),
        ({"enum": [[1]]}, "[1, 2"),
    ],
)
def test_what_cannot_become_valid_is_refuted(schema, text):
    cursor = feed(Cursor(), text.encode())
    assert Refutation(Schema(schema)).contradicts(schema, written_of(cursor))
