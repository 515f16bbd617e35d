"""A witness in full: one object to repeat it with, and the same to read."""

import json

import pytest

from harness.replay.printing import described, readable
from harness.replay.witness_reader import named
from harness.runs.directory import RunDirectory, open_run
from tests.replaying import EOS, VOCABULARY, Book, stored

ENGINES = ("one:A", "two:B", "three:C")
SCHEMA = {"enum": ["ab", "a\x1b"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunDirectory:
    """A false rejection, an early stop, a dead end and an instance's false acceptance."""
    book = Book("a case", SCHEMA, "ab")
    book.add("disputes", walk=0, position=2, dispute=1, accepters=0b101, rejecters=0b010, tokens=1)
    why = {"keyword": "enum", "schema_pointer": "/enum", "category": "string"}
    completion = book.completion(b'"')
    why |= {"effect": "spelling", "spelling": b'"a\\u0062"', "spellings_asked": 3}
    about = ("false_rejection", "two:B", b'"a', b"b", completion, "one:A")
    book.verdict(*about, dispute=1, **why, shown_by="plain")
    book.verdict("stops_too_early", "one:A", b'"a', EOS, dispute=-1)
    book.verdict("dead_end", "one:A", b'"', b"a", dispute=-1)
    book.instance_verdict("false_acceptance", "three:C", book.instance(b'"\xff\x1b'), 4)
    return stored(tmp_path_factory.mktemp("run"), [book], ENGINES)


def shown(run: RunDirectory, name: str) -> dict:
    """The object, as it is after a way through JSON."""
    return json.loads(json.dumps(described(run, named(run, [name]), VOCABULARY)))


@pytest.mark.processes
class TestObject:
    def test_holds_all_that_repeating_needs_and_who_says_what(self, run):
        witness = shown(run, "0")
        assert json.loads(witness["schema"]) == SCHEMA
        assert witness["consumed"] == {"ids": [34, 97], "text": '"a', "hex": b'"a'.hex()}
        assert witness["token"] == {"ids": [98], "text": "b", "hex": "62"}
        assert witness["completion"] == {"ids": [34, EOS], "text": '"<eos>', "hex": "22"}
        assert (witness["text"], bytes.fromhex(witness["hex"])) == ('"ab"', b'"ab"')
        assert witness["vocabulary"]["sha256"] == VOCABULARY.sha256
        assert list(witness["engines"]) == list(ENGINES)
        assert witness["engines"]["one:A"]["packages"]

        assert (witness["kind"], witness["engine"]) == ("false_rejection", "two:B")
        assert (witness["case"], witness["walk"], witness["position"]) == ("a case", 0, 2)
        assert witness["place"] == "here"
        assert witness["why"]["keyword"] == "enum"
        assert witness["allowed_by"] == ["one:A", "three:C"]
        assert (witness["forbidden_by"], witness["accepter"]) == (["two:B"], "one:A")
        said = witness["validators"]
        assert said["verdict"] == "valid"
        assert said["jsonschema"]["valid"] is said["jsonschema-rs"]["valid"] is True

    def test_of_a_verdict_without_a_dispute_or_a_ruling(self, run):
        early = shown(run, "1")
        assert (early["allowed_by"], early["forbidden_by"]) == (["one:A"], [])
        said = early["validators"]
        assert (said["verdict"], said["reason"]) == ("invalid", "not_json")
        assert shown(run, "2")["validators"] is None, "nothing rests on one"

    def test_of_an_instance(self, run):
        witness = shown(run, "i0")
        assert (witness["evidence"], witness["instance"]) == ("instance", 0)
        assert bytes.fromhex(witness["hex"]) == b'"\xff\x1b'
        assert witness["consumed"]["ids"] == [34, 255, 27]
        assert witness["token"]["ids"] == [EOS]


@pytest.mark.processes
class TestText:
    def test_marks_the_token_and_names_the_engines(self, run):
        lines = list(readable(shown(run, "0")))
        assert lines[0] == "verdict 0: false rejection by two:B"
        assert lines[1] == "case a case, walk 0, position 2 (here)"
        assert '  "a»b«' in lines
        assert "allowed by: one:A, three:C" in lines
        assert "forbidden by: two:B" in lines
        assert "completion of 2 tokens, which one:A allows:" in lines
        assert "validators: valid" in lines
        effect = lines.index("effect: spelling, shown by a plain value")
        refused, taken = lines[effect + 1 : effect + 3]
        assert (refused, taken) == ("  refused: 3 usual spellings", '  taken: "a\\u0062"')

    def test_holds_nothing_that_a_terminal_obeys(self, run):
        text = "\n".join(readable(shown(run, "i0")))
        assert "\x1b" not in text
        assert "\\x1b" in text


@pytest.mark.processes
def test_what_is_invalid_is_explained_by_both(tmp_path):
    book = Book("c", {"maxLength": 1}, "ab")
    book.verdict("false_acceptance", "one:A", b'"a', b"b", book.completion(b'"'), "one:A")
    run = open_run(stored(tmp_path, [book], ENGINES).path)
    lines = list(readable(shown(run, "0")))
    assert lines[lines.index("validators: invalid") + 1] == "  jsonschema: invalid"
    assert any(
        line.startswith("    maxLength at /maxLength, the root of the instance: ") for line in lines
    )
