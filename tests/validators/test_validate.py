"""Two validators give a proof only where both say the same of the same text."""

import json
import socket
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext import strict_json
from harness.schemas.format_values import format_values
from harness.validators import formats
from harness.validators.drafts import draft_of
from harness.validators.judge import MAX_FAILURES
from harness.validators.respelling import MAX_MESSAGE
from harness.validators.validate import UnjudgeableError, Validators

DRAFTS = {f"draft-0{n}": f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7)}
DRAFTS |= {n: f"https://json-schema.org/draft/{n}/schema" for n in ("2019-09", "2020-12")}


def validators(schema: object, draft: str | None = None) -> Validators:
    if draft:
        schema = {"$schema": DRAFTS[draft], **schema}
    return Validators(json.dumps(schema))


def verdict(schema: object, text: str | bytes, draft: str | None = None) -> str:
    raw = text.encode() if isinstance(text, str) else text
    return validators(schema, draft).judge(raw).verdict


def refusal(schema: str) -> str:
    with pytest.raises(UnjudgeableError) as caught:
        Validators(schema)
    return caught.value.reason


class TestVerdicts:
    @pytest.mark.parametrize(("text", "valid"), [(b" 7\n", True), (b'"7"', False)])
    def test_both_say_the_same(self, text, valid):
        outcome = validators({"type": "integer"}).judge(text)
        assert (outcome.verdict, outcome.reason) == ("valid" if valid else "invalid", "")
        said = {opinion.validator: opinion.valid for opinion in outcome.opinions}
        assert said == {"jsonschema": valid, "jsonschema-rs": valid}

    def test_the_validators_differ(self):
        # No leap second has been announced for that day, and jsonschema-rs has no list of them.
        outcome = validators({"format": "date-time"}).judge(b'"2098-12-31T23:59:60Z"')
        assert (outcome.verdict, outcome.reason) == ("contested", "validators_differ")
        assert [o.valid for o in outcome.opinions] == [False, True]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (b"", ("invalid", "not_json")),
            (b"{", ("invalid", "not_json")),
            (b"NaN", ("invalid", "not_json")),
            (b"01", ("invalid", "not_json")),
            (b'"\xff"', ("invalid", "not_json")),
            (b'"\xed\xa0\x80"', ("invalid", "not_json")),
            (b'"\n"', ("invalid", "not_json")),
            (b"\xef\xbb\xbf1", ("invalid", "not_json")),
            (b'{"a":1,"a":1}', ("contested", "duplicate_keys")),
            (b'{"a":1,"\\u0061":1}', ("contested", "duplicate_keys")),
            (b'"\\ud800"', ("contested", "lone_surrogate")),
            (b"1e400", ("undecided", "number_range")),
            (b"1" * 5000, ("undecided", "number_range")),
            (b"[" * 300 + b"]" * 300, ("undecided", "too_deep")),
            (b"0.99999999999999999999", ("undecided", "number_precision")),
        ],
    )
    def test_a_text_that_is_not_surely_a_value(self, text, expected):
        outcome = validators(True).judge(text)
        assert (outcome.verdict, outcome.reason) == expected
        assert [o.valid for o in outcome.opinions] == [None, None]

    def test_a_text_that_cannot_be_read_says_where(self):
        assert "column 2" in validators(True).judge(b"[x").detail

    def test_a_validator_that_fails_decides_nothing(self):
        # jsonschema follows the reference for ever.
        outcome = validators({"$ref": "#"}).judge(b"1")
        assert (outcome.verdict, outcome.reason) == ("undecided", "validator_error")
        assert outcome.opinions[0].failure.startswith("RecursionError")

    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
        lambda below: st.lists(below) | st.dictionaries(st.text(st.characters(codec="utf-8")), below),
        max_leaves=8,
    ))  # fmt: skip
    def test_true_takes_every_value_and_false_none(self, value):
        text = json.dumps(value).encode()
        assert TRUE.judge(text).verdict == "valid"
        assert FALSE.judge(text).verdict == "invalid"
        assert (TRUE.screen(text).verdict, FALSE.screen(text)[0]) == ("valid", "false")

    @given(st.binary(max_size=12))
    def test_no_bytes_are_valid_that_python_does_not_read(self, text):
        outcome = TRUE.judge(text)
        try:
            json.loads(text.decode())
        except (ValueError, RecursionError):
            assert outcome.verdict == "invalid"
        assert TRUE.screen(text).verdict == outcome.verdict


TRUE, FALSE = Validators("true"), Validators("false")


class TestExplanations:
    def test_name_keyword_place_and_message_alike(self):
        schema = {
            "properties": {"a/b": {"$ref": "#/definitions/short"}},
            "definitions": {"short": {"type": "string", "maxLength": 1}},
        }
        outcome = validators(schema, "draft-07").judge(b'{"a/b": "xyz"}', errors=16)
        for opinion in outcome.opinions:
            (error,) = opinion.errors
            assert error.keyword == "maxLength"
            assert error.schema_pointer == "/definitions/short/maxLength"
            assert error.instance_pointer == "/a~1b"
            assert "xyz" in error.message

    @pytest.mark.parametrize(
        ("schema", "text", "keyword"),
        [
            ({"additionalProperties": False}, b'{"a":1}', "additionalProperties"),
            ({"required": ["a"]}, b"{}", "required"),
            ({"anyOf": [{"type": "null"}]}, b"1", "anyOf"),
            ({"not": {}}, b"1", "not"),
        ],
    )
    def test_both_validators_use_the_same_words(self, schema, text, keyword):
        opinions = validators(schema).judge(text, errors=16).opinions
        assert [opinion.errors[0].keyword for opinion in opinions] == [keyword, keyword]
        assert opinions[0].errors[0].schema_pointer == opinions[1].errors[0].schema_pointer

    def test_of_the_schema_false_jsonschema_names_only_what_is_around_the_value(self):
        outcome = validators({"properties": {"a": False}}).judge(b'{"a":1}', errors=16)
        errors = [opinion.errors[0] for opinion in outcome.opinions]
        assert [error.keyword for error in errors] == ["false", "false"]
        assert [error.instance_pointer for error in errors] == ["", "/a"]

    def test_are_collected_only_where_asked_for(self):
        assert not any(o.errors for o in validators(False).judge(b"1").opinions)

    def test_only_who_says_invalid_has_errors(self):
        outcome = validators({"format": "date-time"}).judge(b'"2098-12-31T23:59:60Z"', errors=16)
        assert [len(o.errors) for o in outcome.opinions] == [1, 0]

    def test_end_where_the_validator_fails(self):
        outcome = validators({"type": "null", "$ref": "#"}).judge(b"1", errors=16)
        assert outcome.verdict == "invalid"
        assert [o.errors[0].keyword for o in outcome.opinions] == ["type", "type"]

    def test_are_limited_in_number_and_length(self):
        text = json.dumps(["x" * 1000] * 100).encode()
        for opinion in validators({"items": {"type": "null"}}).judge(text, errors=16).opinions:
            assert len(opinion.errors) == MAX_FAILURES
            assert max(len(error.message) for error in opinion.errors) <= MAX_MESSAGE


class TestDrafts:
    @pytest.mark.parametrize(
        ("identifier", "name"),
        [
            *((uri, name) for name, uri in DRAFTS.items()),
            ("http://json-schema.org/draft-04/schema", "draft-04"),
            ("https://json-schema.org/draft-07/schema#", "draft-07"),
            ("http://json-schema.org/draft/2020-12/schema#", "2020-12"),
            ("http://json-schema.org/schema#", "2020-12"),
        ],
    )
    def test_are_named_with_or_without_fragment_and_tls(self, identifier, name):
        assert draft_of({"$schema": identifier}).name == name

    def test_the_latest_is_meant_where_none_is_named(self):
        assert draft_of({}).name == draft_of(True).name == "2020-12"

    @pytest.mark.parametrize(
        "unknown", ["http://json-schema.org/draft-03/schema#", "urn:mine", "", 4]
    )
    def test_an_unknown_one_is_not_guessed(self, unknown):
        assert refusal(json.dumps({"$schema": unknown})) == "unknown_draft"

    @pytest.mark.parametrize("draft", DRAFTS)
    def test_both_validators_follow_the_draft(self, draft):
        # Arrays of schemas under "items" became "prefixItems" in 2020-12.
        by_position = {"prefixItems": [{"type": "null"}]}
        assert verdict(by_position, "[1]", draft) == ("invalid" if draft == "2020-12" else "valid")
        # 1.0 is an integer since draft-06.
        whole = verdict({"type": "integer"}, "1.0", draft)
        assert whole == ("invalid" if draft == "draft-04" else "valid")
        # Keywords beside a reference count since 2019-09.
        beside = {"properties": {"a": {"$ref": "#/definitions/any", "maximum": 1}}}
        beside["definitions"] = {"any": {}}
        expected = "invalid" if draft in ("2019-09", "2020-12") else "valid"
        assert verdict(beside, '{"a": 2}', draft) == expected

    def test_the_repairs_hold_behind_a_reference_to_the_root(self):
        schema = {"multipleOf": 0.01, "items": {"$ref": "#"}}
        assert verdict(schema, "[[0.07]]", "2020-12") == "valid"


class TestKnownDifferences:
    """Each is described in docs/validators.md."""

    def test_a_subschema_with_a_draft_of_its_own_keeps_the_repairs(self):
        nested = {"$schema": DRAFTS["draft-07"], "multipleOf": 0.01, "pattern": "^.}$"}
        assert verdict({"properties": {"a": nested}}, '{"a": 0.07}', "2020-12") == "valid"
        assert verdict({"properties": {"a": nested}}, '{"a": "b}"}', "2020-12") == "valid"

    def test_what_is_behind_a_reference_into_such_a_subschema_is_contested(self):
        """They differ on whose draft holds there; in draft-04 1.0 is no integer."""
        nested = {"$schema": DRAFTS["draft-04"], "definitions": {"b": {"type": "integer"}}}
        nested["properties"] = {"c": {"$ref": "#/definitions/a/definitions/b"}}
        schema = {"definitions": {"a": nested}, "properties": {"a": {"$ref": "#/definitions/a"}}}
        assert verdict(schema, '{"a": {"c": 1.0}}', "2020-12") == "contested"
        assert verdict(schema, '{"a": {"c": 1}}', "2020-12") == "valid"

    @pytest.mark.parametrize("draft", DRAFTS)
    def test_dependencies_are_a_keyword_until_2019_09_and_contested_since(self, draft):
        expected = "contested" if draft in ("2019-09", "2020-12") else "invalid"
        assert verdict({"dependencies": {"a": ["b"]}}, '{"a": 1}', draft) == expected

    def test_what_contains_found_is_evaluated_since_2020_12(self):
        schema = {"contains": {"type": "integer"}, "unevaluatedItems": False}
        assert verdict(schema, "[1]", "2020-12") == "valid"
        # jsonschema-rs says so of the older draft too.
        assert verdict(schema, "[1]", "2019-09") == "contested"
        assert verdict(schema, '["a"]', "2019-09") == "invalid"

    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            ({"items": [{}, {}]}, "invalid"),
            ({"items": [{}, {}, {}]}, "valid"),
            ({"items": {}}, "valid"),
            ({"items": [{}], "additionalItems": True}, "valid"),
            ({"additionalItems": True}, "invalid"),
            ({"allOf": [{"items": {}}]}, "valid"),
            ({"anyOf": [{"items": {}, "minItems": 4}, {"items": [{}]}]}, "invalid"),
            ({"if": {"maxItems": 3}, "then": {"items": {}}}, "valid"),
            ({"if": {"maxItems": 2}, "else": {"items": {}}}, "valid"),
            ({"if": {"items": [{}, {}, {}]}}, "valid"),
            ({"not": {"not": {"items": {}}}}, "invalid"),
            ({"$ref": "#/$defs/a", "$defs": {"a": {"unevaluatedItems": True}}}, "valid"),
            ({"$recursiveRef": "#", "items": [{}]}, "undecided"),
        ],
    )
    def test_what_is_evaluated_in_2019_09(self, schema, expected):
        assert verdict(schema | {"unevaluatedItems": False}, "[1, 2, 3]", "2019-09") == expected


class TestUnjudgeable:
    @pytest.mark.parametrize(
        ("schema", "reason"),
        [
            ("{", "not_json"),
            ('{"type": "null", "type": "null"}', "duplicate_keys"),
            ('{"const": "\\ud800"}', "lone_surrogate"),
            ('{"const": 1e999}', "number_range"),
            ('{"maximum": 0.10000000000000000000001}', "number_precision"),
            ("3", "not_a_schema"),
            ('{"not":' * 300 + "{}" + "}" * 300, "too_deep"),
            ('{"type": "text"}', "both_refuse"),
            ('{"pattern": "["}', "both_refuse"),
            ('{"pattern": "\\\\p{Script=greek}"}', "both_refuse"),
            ('{"pattern": "\\\\Z"}', "both_refuse"),
            ('{"pattern": "(?i)a"}', "both_refuse"),
            ('{"pattern": "(?=a)*"}', "jsonschema_rs_refuses"),
            ('{"$ref": "#/nowhere"}', "unresolved_reference"),
            ('{"$ref": "file:///etc/hostname"}', "unresolved_reference"),
        ],
    )
    def test_has_a_reason(self, schema, reason):
        assert refusal(schema) == reason

    def test_names_the_validator_and_the_place(self):
        with pytest.raises(UnjudgeableError, match=r"jsonschema-rs: .*'/items/pattern'"):
            validators({"items": {"pattern": "(?=a)*"}})


class TestNetwork:
    @pytest.fixture(autouse=True)
    def no_socket(self, monkeypatch):
        def touched(*args, **kwargs):
            pytest.fail("a socket was touched")

        for name in ("socket", "create_connection", "getaddrinfo"):
            monkeypatch.setattr(socket, name, touched)

    @pytest.mark.parametrize("draft", DRAFTS)
    def test_the_published_metaschemas_are_known_in_every_draft(self, draft):
        positive = "http://json-schema.org/draft-04/schema#/definitions/positiveInteger"
        schema = {"properties": {"a": {"$ref": positive}}}
        assert verdict(schema, '{"a": -1}', draft) == "invalid"
        assert verdict(schema, '{"a": 1}', draft) == "valid"

    def test_jsonschema_alone_fetches_nothing(self):
        schema = {"$ref": "http://127.0.0.1:9/schema"}
        draft = draft_of(schema)
        assert draft is not None
        with pytest.raises(Exception, match="Unresolvable"):
            draft.build_jsonschema(schema)[0].is_valid(1)


@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$id"])
def test_jsonschema_rs_connects_to_nobody(keyword):
    """Its sockets are not Python's, so a listener watches."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        schema = {keyword: f"http://127.0.0.1:{listener.getsockname()[1]}/schema"}
        if keyword == "$id":
            assert verdict(schema, "1") == "valid"
        else:
            unknown = "unresolved_reference" if keyword == "$ref" else "unknown_draft"
            assert refusal(json.dumps(schema)) == unknown
        with pytest.raises(BlockingIOError):
            listener.accept()


class TestNumbers:
    @pytest.mark.parametrize(
        ("schema", "text", "expected"),
        [
            ({"multipleOf": 0.01}, "0.07", "valid"),
            ({"multipleOf": 0.01}, "19.99", "valid"),
            ({"multipleOf": 0.01}, "0.075", "invalid"),
            ({"multipleOf": 1e-6}, "1e-5", "valid"),
            ({"multipleOf": 2.0}, "1" + "0" * 29 + "1", "invalid"),
            ({"multipleOf": 2}, "9007199254740993", "invalid"),
            ({"maximum": 2**64}, str(2**64 + 1), "invalid"),
            ({"maximum": 2**64}, str(2**64), "valid"),
            ({"const": 10**30}, str(10**30 + 1), "invalid"),
            ({"enum": [10**30]}, str(10**30), "valid"),
            ({"uniqueItems": True}, f"[{2**64}, {2**64 + 1}]", "valid"),
            ({"const": 0}, "-0", "valid"),
            ({"const": 0}, "-0.0", "valid"),
            ({"const": 1}, "true", "invalid"),
            ({"const": [1]}, "[true]", "invalid"),
            ({"const": 1}, "1.0", "valid"),
            ({"type": "integer"}, "1e2", "valid"),
            ({"type": "integer"}, "1.5", "invalid"),
            ({"maximum": 1.7976931348623157e308}, "1", "valid"),
            ({"type": "number", "minimum": 1}, "1.7976931348623157e308", "valid"),
            ({"type": "integer", "maximum": 2**53}, "1e300", "invalid"),
            *(
                (schema, "1e300", "undecided")
                for schema in ({"multipleOf": 3}, {"maximum": 2**64}, {"uniqueItems": True})
            ),
        ],
    )
    def test_keep_their_value_in_both_validators(self, schema, text, expected):
        assert verdict(schema, text) == expected


BAD = {name: format_values(name).invalid[0] for name in formats.DEFINED["2020-12"]}


def test_the_pointer_of_a_false_schema_leads_past_references():
    leaf = {"if": {"required": ["leaf"]}, "then": {"properties": {"of": False}}}
    node = {**leaf, "properties": {"of": {"items": {"$ref": "#/$defs/node"}}}}
    schema = {"$defs": {"node": node}, "$ref": "#/$defs/node"}
    outcome = validators(schema).judge(b'{"of": [{"leaf": 1, "of": []}]}', errors=16)
    slow = outcome.opinions[0].errors[0]
    assert (slow.keyword, slow.schema_pointer) == ("false", "/$defs/node/then/properties")


class TestFormats:
    @pytest.mark.parametrize("draft", DRAFTS)
    @pytest.mark.parametrize("name", sorted(BAD))
    def test_are_proof_only_where_the_draft_defines_them(self, name, draft):
        expected = "invalid" if name in formats.DEFINED[draft] else "contested"
        assert verdict({"format": name}, json.dumps(BAD[name]), draft) == expected

    @pytest.mark.parametrize("draft", DRAFTS)
    def test_forbid_nothing_where_they_are_annotations(self, draft):
        schema = {"$schema": DRAFTS[draft], "type": "string"}
        for name, text in BAD.items():
            judge = Validators(json.dumps({**schema, "format": name}), "annotation").judge
            assert judge(json.dumps(text).encode()).verdict == "valid"
            assert judge(b"1").verdict == "invalid"

    @pytest.mark.parametrize("draft", DRAFTS)
    @pytest.mark.parametrize("name", ["int32", "url", "phone", "color"])
    def test_unknown_ones_are_annotations(self, name, draft):
        assert verdict({"format": name}, '"?"', draft) == "valid"


class TestPatterns:
    def test_one_that_backtracks_without_end_is_given_up(self):
        exploding = validators({"pattern": r"^(?:a|aa)+(a|aa)\1$(?!b)"})
        outcome = exploding.judge(json.dumps("a" * 60 + "b").encode())
        assert (outcome.verdict, outcome.reason) == ("undecided", "pattern_limit")


class TestDepth:
    DEEPEST = strict_json.MAX_DEPTH

    def test_of_values(self):
        schema = {"anyOf": [{"allOf": [{"items": {"$ref": "#"}, "type": ["array", "null"]}]}]}
        depth = self.DEEPEST
        for innermost, expected in (("null", "valid"), ("1", "invalid")):
            assert verdict(schema, "[" * depth + innermost + "]" * depth) == expected

    def test_of_objects_through_many_keywords(self):
        below = {"if": True, "then": {"allOf": [{"anyOf": [{"$ref": "#"}]}]}}
        schema = {"patternProperties": {"^a": below}, "additionalProperties": False}
        text = '{"a":' * self.DEEPEST + "1" + "}" * self.DEEPEST
        assert verdict(schema, text) == "valid"

    def test_of_schemas(self):
        depth = self.DEEPEST - 1
        assert verdict(json.loads('{"not":' * depth + "{}" + "}" * depth), "1") == "invalid"

    def test_a_low_limit_of_the_interpreter_is_raised_and_a_high_one_kept(self):
        before = sys.getrecursionlimit()
        try:
            sys.setrecursionlimit(50_000)
            validators(True)
            assert sys.getrecursionlimit() == 50_000
        finally:
            sys.setrecursionlimit(before)
