"""Known continuations: where a valid document begins with what is written, one is proposed."""

import json
from functools import lru_cache

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.completion.continuations import MAX_CANDIDATES, Continuations
from harness.inputs.vocabulary import byte_vocabulary
from harness.jsontext.lexer import START, advance

OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
SHAPES = {
    "oneOf": [
        {
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
            "additionalProperties": False,
        },
        {
            "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
            "required": ["kind", "side"],
            "additionalProperties": False,
        },
    ]
}
TREE = {
    "$ref": "#/$defs/n",
    "$defs": {
        "n": {
            "type": "object",
            "properties": {
                "v": {"type": "integer"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            },
            "required": ["v"],
        }
    },
}

# name: (schema, reference, how much of it is consumed, token)
REACHABLE = {
    "the reference's own token": (OBJECT, '{"name": "x", "size": 1}', '{"name"', ": "),
    "free text in a string": (OBJECT, '{"name": "x", "size": 1}', '{"name": "', "zebra"),
    "an optional name is begun": (OBJECT, '{"name": "x", "size": 1}', '{"name": "x", "', "ta"),
    "a later name comes first": (OBJECT, '{"name": "x", "size": 1}', '{"', "si"),
    "a required member is skipped over": (OBJECT, '{"name": "x", "size": 1}', "{", '"size": 4}'[:9]),
    "an undeclared name": ({"type": "object", "required": ["a"]}, '{"a": 1}', '{"', "zz"),
    "a name of the reference grows": ({"type": "object"}, '{"a": 1, "ab": 2}', '{"a', "b"),
    "an undeclared name with a schema": ({"properties": {"a": {}}, "additionalProperties": {"type": "array", "minItems": 2}}, '{"a": 1}', '{"', "zz"),
    "a name for a pattern": ({"patternProperties": {"^x-[0-9]$": {"const": 5}}, "additionalProperties": False}, '{"x-1": 5}', '{"x', "-"),
    "a name under propertyNames": ({"propertyNames": {"pattern": "^[a-z]{4}$"}}, '{"abcd": 1}', '{"', "zz"),
    "another choice": ({"properties": {"c": {"enum": ["red", "green"]}}}, '{"c": "red"}', '{"c": "', "gr"),
    "another branch by its constant": (SHAPES, '{"kind": "circle", "radius": 2}', '{"kind": "', "sq"),
    "another branch by its name": (SHAPES, '{"kind": "circle", "radius": 2}', '{"', "side"),
    "another type of value": ({"properties": {"v": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["p"], "properties": {"p": {"type": "boolean"}}}]}}}, '{"v": "x"}', '{"v": ', "{"),
    "a longer number": ({"type": "integer", "minimum": 300, "maximum": 400}, "350", "", "3"),
    "a fraction": ({"type": "number", "multipleOf": 0.5}, "2", "2", "."),
    "a negative number": ({"items": {"type": "number", "maximum": -20}}, "[-30]", "[", "-"),
    "a literal": ({"items": {"type": ["boolean", "integer"]}}, "[1]", "[", "fal"),
    "a pattern is finished": ({"items": {"pattern": "^[a-z]+-[0-9]{3}$"}}, '["ab-123"]', '["', "zebra"),
    "a format is finished": ({"items": {"type": "string", "format": "date"}}, '["2024-01-02"]', '["20', "31"),
    "a string is too short": ({"items": {"type": "string", "minLength": 9}}, '["abcdefghi"]', '["', "zz"),
    "items are still lacking": ({"type": "array", "items": {"type": "integer"}, "minItems": 3}, "[7, 8, 9]", "[", "5"),
    "items must differ": ({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True}, "[1, 2, 3]", "[", "2,"),
    "no more items may come": ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, "[7, 8]", "[7", ", 9"),
    "an item that the reference lacks": ({"type": "array", "items": OBJECT}, '[{"name": "x", "size": 1}]', '[{"name": "x", "size": 1}', ", {"),
    "closing early": ({"type": "array"}, "[1, 2]", "[1", "]"),
    "recursion": (TREE, '{"v": 1}', '{"v": 1', ', "kids": [{'),
    "an escape": (OBJECT, '{"name": "x", "size": 1}', '{"name": "', "\\u00"),
    "an escape inside a choice": ({"enum": ["é", "a"]}, '"a"', '"', "\\u00E"),
    "a high surrogate": (OBJECT, '{"name": "x", "size": 1}', '{"name": "', "\\ud83d"),
    "a dependent member": ({"properties": {"a": {}, "b": {"type": "integer"}}, "dependentRequired": {"a": ["b"]}}, '{"c": 1}', '{"', 'a"'),
    "a condition": ({"properties": {"k": {"enum": ["a", "b"]}}, "if": {"properties": {"k": {"const": "b"}}, "required": ["k"]}, "then": {"required": ["x"]}}, '{"k": "a"}', '{"k": "', "b"),
    "whitespace behind the value": ({"type": "object"}, '{"a": 1}', '{"a": 1}', "\n"),
}  # fmt: skip

TOKENS = [b"", b'"', b'":', b'",', b'"}', b'"]', b"a", b"zz", b" ", b"\n", b"\\", b"\\u", b"\\ud8", b"\xe2", b"\xf0\x9f", "é".encode(),
          b"1", b"-", b".", b"e", b"0", b",", b", ", b',"', b"{", b"[", b"[[", b"}", b"]", b":", b': "', b"tr", b"nu", b'{"', b'{"a":1,"b":', b"name", b"b"]  # fmt: skip


@lru_cache
def maker(name):
    schema, reference, _, _ = REACHABLE[name]
    return Continuations(schema, reference.encode())


def unique(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def is_valid(schema, text):
    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    return validator(schema, format_checker=validator.FORMAT_CHECKER).is_valid(json.loads(text))


@pytest.mark.parametrize("name", REACHABLE)
def test_a_valid_end_is_proposed_where_there_is_one(name):
    schema, reference, consumed, token = REACHABLE[name]
    assert reference.startswith(consumed)
    candidates = maker(name).at(len(consumed)).candidates(token.encode())
    assert any(is_valid(schema, consumed + token + end.decode()) for end in candidates)


def test_the_rest_of_the_reference_comes_first_byte_for_byte():
    reference = b'{ "a":1,\t"b" : [1.50, 2E1]}\n'
    made = Continuations({}, reference)
    for k in range(len(reference)):
        assert made.at(k).candidates(reference[k : k + 1])[0] == reference[k + 1 :]


def test_members_already_written_are_not_repeated():
    made = Continuations({"properties": {"a": {}, "b": {}}}, b'{"a": 1, "b": 2}')
    ends = made.at(len(b'{"a": 1, "')).candidates(b"")
    assert ends[0] == b'b": 2}'
    assert not any(end.startswith(b'a":') for end in ends)


@pytest.mark.parametrize(
    ("reference", "end"),
    [
        (b'{"p":1,"b":[1,2]}', b'":1,"p":1,"b":[1,2]}'),
        (b'{"p": 1, "b": [1, 2]}', b'": 1, "p": 1, "b": [1, 2]}'),
        (b'{\n  "p": 1,\n  "b": [\n    1\n  ]\n}', b'": 1,\n  "p": 1,\n  "b": [\n    1\n  ]\n}'),
    ],
)
def test_what_is_made_is_laid_out_as_the_reference(reference, end):
    made = Continuations({"properties": {"q": {"const": 1}}}, reference)
    assert made.at(reference.index(b'"') + 1).candidates(b"q")[0] == end


@given(st.sampled_from(sorted(REACHABLE)), st.data())
def test_every_candidate_makes_a_whole_document(name, data):
    reference = REACHABLE[name][1].encode()
    k = data.draw(st.integers(0, len(reference)))
    token = data.draw(st.sampled_from(TOKENS) | st.binary(max_size=3))
    candidates = maker(name).at(k).candidates(token)
    begun = advance(START, reference[:k] + token)
    assert bool(candidates) == (begun is not None)
    assert len(set(candidates)) == len(candidates) <= MAX_CANDIDATES
    for end in candidates:
        json.loads((reference[:k] + token + end).decode(), object_pairs_hook=unique)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(sorted(REACHABLE)), st.data())
def test_candidates_do_not_depend_on_what_was_asked_before(name, data):
    schema, reference, _, _ = REACHABLE[name]
    tokens = data.draw(st.permutations(TOKENS))
    k = data.draw(st.integers(0, len(reference)))
    fresh = Continuations(schema, reference.encode()).at(k)
    asked = maker(name).at(k)
    assert [fresh.candidates(token) for token in tokens] == [
        asked.candidates(token) for token in tokens
    ]


@given(st.sampled_from(sorted(REACHABLE)), st.data())
def test_a_group_has_what_each_of_its_tokens_has(name, data):
    schema, reference, _, _ = REACHABLE[name]
    vocabulary = byte_vocabulary([token for token in TOKENS if len(token) > 1])
    k = data.draw(st.integers(0, len(reference)))
    ids = data.draw(st.lists(st.integers(0, vocabulary.size - 2), min_size=1))
    tokens = [vocabulary.tokens[one] for one in ids]
    singly = [Continuations(schema, reference.encode()).at(k).candidates(one) for one in tokens]
    index, groups = Continuations(schema, reference.encode()).at(k).group(tokens)
    assert [groups[one] for one in index.tolist()] == singly
    assert len({id(group) for group in groups}) == len(groups)
    assert list(dict.fromkeys(index.tolist())) == list(range(len(groups)))


@pytest.mark.parametrize(("reference", "k"), [(b"[]", -1), (b"[]", 3), (b"[", 0)])
def test_what_is_no_reference_and_a_position_outside_of_one_are_refused(reference, k):
    with pytest.raises(ValueError):
        Continuations({}, reference).at(k)


def aimed(schema, reference, consumed, token, tried):
    """What is proposed after `tried`, with the errors that jsonschema names for it."""
    text = consumed + token + tried
    found = jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text))
    errors = [(e.validator, tuple(e.absolute_path), tuple(e.absolute_schema_path)) for e in found]
    assert errors, "the case should be invalid"
    ends = (
        Continuations(schema, reference.encode())
        .at(len(consumed))
        .aimed(token.encode(), tried.encode(), errors)
    )
    return [consumed + token + end.decode() for end in ends]


# name: (schema, reference, consumed, token, the continuation that was invalid)
REPAIRABLE = {
    "required": (OBJECT, '{"name": "x", "size": 1}', '{"', "na", 'me": "x"}'),
    "required, in a nested object": ({"items": OBJECT}, '[{"name": "x", "size": 1}]', "[", "{", "}]"),
    "additionalProperties": (OBJECT, '{"name": "x", "size": 1}', '{"', "name", '": "x", "size": 1, "q": 1}'),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, '{"a": 1}', "{", '"b', '": 1, "cc": 2}'),
    "type": (OBJECT, '{"name": "x", "size": 1}', '{"name": ', '"', '", "size": "s"}'),
    "type of the value being written": ({"properties": {"a": {"type": "integer"}}}, '{"a": 1}', '{"a"', ":", ' "x"}'),
    "enum": ({"items": {"enum": ["aa", "ab"]}}, '["aa"]', '["', "a", '"]'),
    "pattern": ({"items": {"pattern": "^a+b$"}}, '["ab"]', "[", "", '"x"]'),
    "minimum": ({"items": {"type": "integer", "minimum": 40}}, "[41]", "[", "5", "]"),
    "minItems": ({"type": "array", "items": {"type": "null"}, "minItems": 2}, "[null, null]", "[", "null", "]"),
    "maxItems": ({"maxItems": 1}, "[1]", "[", "1", ", 2, 3]"),
    "uniqueItems": ({"uniqueItems": True}, "[1]", "[", "1", ", 1]"),
    "minProperties": ({"minProperties": 2}, '{"a": 1, "b": 2}', "{", '"a": 1', "}"),
    "maxProperties": ({"maxProperties": 1}, '{"a": 1}', "{", '"a": 1', ', "b": 1}'),
    "maxProperties, none": ({"items": {"maxProperties": 0}}, "[{}]", "[", "{", '"b": 1}]'),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, '{"c": 1}', "{", '"a": 1', "}"),
    "contains": ({"contains": {"const": 3}}, "[3]", "[", "1", "]"),
    "anyOf": ({"anyOf": [{"required": ["p"]}, {"required": ["q"]}]}, '{"p": 1}', "{", '"z": 1', "}"),
    "two at once": ({"items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}, '[{"n": 1}]', "[", "{", '}, {"n": "x"}]'),
}  # fmt: skip


@pytest.mark.parametrize("name", REPAIRABLE)
def test_an_aimed_continuation_avoids_the_error(name):
    schema = REPAIRABLE[name][0]
    assert any(is_valid(schema, text) for text in aimed(*REPAIRABLE[name]))


def test_nothing_is_aimed_at_what_is_already_written():
    assert aimed({"items": {"type": "integer"}}, "[1]", "[", '"x",', " 1]") == []
    assert Continuations({}, b"[1]").at(1).aimed(b"}", b"]", [("type", (), ("type",))]) == ()


@given(st.sampled_from(sorted(REACHABLE)), st.sampled_from(TOKENS), st.data())
def test_aimed_continuations_make_whole_documents(name, token, data):
    consumed = REACHABLE[name][2]
    context = maker(name).at(len(consumed))
    paths = st.lists(st.sampled_from(["a", "name", "kind", 0, 1]), max_size=2).map(tuple)
    words = st.sampled_from(["required", "type", "anyOf", "maxItems", "uniqueItems", "$ref"])
    words |= st.sampled_from(["additionalProperties", "oneOf"])
    errors = data.draw(st.lists(st.tuples(words, paths, st.tuples(words)), max_size=3))
    for tried in context.candidates(token)[:2]:
        for end in context.aimed(token, tried, errors):
            assert end != tried
            json.loads(consumed.encode() + token + end, object_pairs_hook=unique)


@pytest.mark.thorough
def test_forgetting_changes_no_answer(monkeypatch):
    schema, reference, _, _ = REACHABLE["another branch by its name"]
    remembering, forgetful = (Continuations(schema, reference.encode()) for _ in range(2))
    expected = [remembering.at(k).group(TOKENS)[1] for k in range(len(reference))]
    monkeypatch.setattr("harness.completion.container_suffixes._MAX_MEMO_BYTES", 0)
    assert [forgetful.at(k).group(TOKENS)[1] for k in range(len(reference))] == expected
