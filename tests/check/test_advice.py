"""Rewritings say the same in other words, and only what helps is advised."""

import json

from harness.check.advice import _one_of, _rewritten, _without, remedies, variants
from harness.check.answers import Answer, Covered, ProvenError
from harness.engines.specs import parse_spec


def test_what_is_written_otherwise_is_so_in_every_place():
    schema = {"items": {"oneOf": [{"const": 1}, {"const": 2}]}, "oneOf": [{}, False]}
    assert _rewritten(_one_of, schema) == {
        "items": {"anyOf": [{"const": 1}, {"const": 2}]},
        "anyOf": [{}, False],
    }
    assert _rewritten(_one_of, {"$schema": "urn:unknown", **schema}) is None


def test_keywords_are_left_out_wherever_they_stand():
    schema = {
        "uniqueItems": True,
        "properties": {"uniqueItems": {"uniqueItems": True, "items": {}}},
    }
    assert _without(schema, ["uniqueItems"]) == {"properties": {"uniqueItems": {"items": {}}}}


def test_each_option_is_set_otherwise():
    spec = parse_spec("xgrammar[any_order=true]")
    found = {words.partition(" ")[0]: one for words, one in variants(spec)}
    assert found["any_order=false"].name == "xgrammar[any_order=false]"
    assert found["strict_mode=true"].name == "xgrammar[any_order=true,strict_mode=true]"
    assert found["strict_mode=true"].options["any_order"] == "true"
    assert "any_order=true" not in found
    assert all(one.reference == spec.reference for one in found.values())


class Lying:
    """An engine in the place of a trial: under length bounds no escapes, under patterns no quotes."""

    def are_right(self, cases):
        return [
            self._takes(json.loads(one.schema), one.text) == (one.kind == "false_rejection")
            for one in cases
        ]

    def _takes(self, schema, text):
        refused = {"maxLength": b"\\", "pattern": b'\\"', "const": b""}
        strict = b"maximum" not in json.dumps(schema).encode() or json.loads(text) != 9
        return strict and not any(name in schema and refused[name] in text for name in refused)

    def compiles(self, schema):
        return "oneOf" not in schema

    def change(self, spec):
        pass


class Costly(Lying):
    def _takes(self, schema, text):
        return super()._takes(schema, text) and not ("pattern" in schema and text == b'"ab"')


def _advice(
    schema,
    *texts,
    kind="false_rejection",
    effect="lost_value",
    status="errs",
    trial=None,
    valid=(),
    stops=False,
):
    errors = tuple(ProvenError(effect, kind, one, 1, next(iter(schema)), "plain") for one in texts)
    covered = Covered(frozenset(valid))
    answer = Answer("s", "xgrammar", status=status, errors=errors, covered=covered)
    return list(
        remedies(
            parse_spec("xgrammar"), trial or Lying(), answer, json.dumps(schema), lambda: stops
        )
    )


def test_a_keyword_is_left_out_where_other_words_do_not_mend_every_text_of_an_error():
    """A pattern in the place of the bounds takes a line feed, and still no quotation mark."""
    bounds = {"maxLength": 9, "minLength": 1}
    (line, *_) = _advice(bounds, b'"a\\n"')
    assert line.startswith("xgrammar: write a `pattern` such as")
    assert line.endswith(": mends the lost value under `maxLength`")
    (line,) = _advice(bounds, b'"a\\n"', b'"a\\"b"')
    assert line.startswith(
        "xgrammar: leave out `maxLength`, and check that afterwards: mends the lost"
    )


def test_what_costs_a_value_that_was_taken_is_no_remedy():
    (line,) = _advice({"maxLength": 9}, b'"a\\n"', trial=Costly(), valid=[b'"ab"', b'"abc"'])
    assert line.startswith("xgrammar: leave out `maxLength`")


def test_nothing_is_left_out_for_what_is_let_through():
    schema = {"maximum": 8}
    assert _advice(schema, b"9", kind="false_acceptance", effect="invalid_value") == []


class Narrow(Lying):
    """Takes control characters, and without `any_whitespace` one blank after a colon."""

    narrow = False

    def _takes(self, schema, text):
        return not self.narrow or b'": ' in text

    def change(self, spec):
        self.narrow = str(spec.options["any_whitespace"]).lower() == "false"


def test_what_is_no_json_must_be_refused_in_every_layout():
    """One layout alone is refused under an option that only says how JSON is laid out."""
    how = {"kind": "false_acceptance", "effect": "not_json", "trial": Narrow()}
    assert _advice({"type": "object"}, b'{"a":"\x01"}', **how) == []


def test_what_has_a_schema_taken_is_said():
    said = _advice({"oneOf": [{"type": "string"}]}, status="refuses")
    assert said[0].startswith("xgrammar: write `anyOf` in place of `oneOf`")
    assert said[0].endswith(": it takes the schema then, check it again")


def test_once_time_is_up_nothing_is_tried_and_only_what_was_left_is_said_to_be():
    """Of an engine without an error there was nothing to try."""
    assert not _advice({"oneOf": [{}]}, trial=Lying(), stops=True)
    (line,) = _advice({"oneOf": [{}]}, status="refuses", stops=True)
    assert line.endswith("other remedies were not tried for want of time (--shrink-budget)")
