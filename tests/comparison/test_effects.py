"""What a rejection costs: a spelling, a trap or the value; what is unclear is not guessed."""

import json
from itertools import accumulate, permutations
from operator import eq, mul
from types import SimpleNamespace

import numpy as np
import pytest

from harness.comparison import effects
from harness.comparison.effects import CaseEffects, EffectColumns, Rejected
from harness.inputs.vocabulary import byte_vocabulary
from tests.inprocess import InProcessJudge

DRAFT = "http://json-schema.org/draft-07/schema#"
SCHEMA = {"$schema": DRAFT, "properties": {"a": True, "b": True}, "required": ["a"]}
END = 256


def effect(
    taken,
    text,
    written,
    fault=None,
    *,
    slow=False,
    valid=(),
    schema=SCHEMA,
    longer=(),
    beside=0,
):
    """Of an engine that allows the texts `taken`, bytes being tokens, and consumed so many.

    So many other rejections of the text stand `beside`.
    """
    judge = InProcessJudge()
    assert judge.open(json.dumps(schema)) is None
    allowed = [(*one.encode(), END) for one in taken]
    vocabulary = byte_vocabulary(longer)
    case = CaseEffects(schema, judge, vocabulary.encode_greedy, vocabulary, {0} if slow else ())
    columns = EffectColumns(1 + beside)
    whole = text.encode()
    at = written if fault is None else fault
    for row in range(1 + beside):
        case.add(Rejected(0, whole, tuple(whole[:written]), written, at + row), columns, row)

    def far(tokens):
        return max(
            sum(accumulate(map(eq, one, tokens), mul))
            for one in allowed  # the common beginning
        )

    def ask(asks):
        return {
            engine: SimpleNamespace(values=np.array([far(one) for one in request.lists.ints()]))
            for engine, request in asks.items()
        }

    case.decide(ask, valid)
    return columns.effect[0], columns.spelling[0].decode(), columns.spellings_asked[0]


@pytest.mark.parametrize(
    ("taken", "text", "written", "expected"),
    [
        (['{"a":1}'], '{"a": 1}', 5, ("spelling", '{"a":1}')),
        (['{"a": 1e-08}'], '{"a": 0.00000001}', 9, ("trap", '{"a": 1e-08}')),
        (['{"a": 1, "b": 2}'], '{"b": 2, "a": 1}', 2, ("spelling", '{"a": 1, "b": 2}')),
        (['{"a": 1, "b": 2}'], '{"b": 2, "a": 1}', 3, ("trap", '{"a": 1, "b": 2}')),
        (['{"a": 0.00}'], '{"a": 0.000}', 10, ("spelling", '{"a": 0.00}')),
        (['{"a": 2}'], '{"a": 1}', 6, ("lost_value", "")),
        (['{"a": 1, "b": 3}'], '{"a": 1, "b": 2}', 14, ("lost_value", "")),
        # a bracket that opens is refused: of what is empty, and before what comes first
        (['{"a": 2}'], '{"a": []}', 6, ("lost_value", "")),
        (['{"a": 2}'], '{"a": {"b": 1}}', 6, ("lost_value", "")),
        (['{"a": 2}'], '{"a": [[1]]}', 6, ("lost_value", "")),
        # another place than the one that is charged is what the engine refuses: it is mended
        (['{"a": 1}'], '{"a": 1, "b": 2}', 6, ("spelling", '{"a": 1}')),
        (['{"b": 2}'], '{"b": 2, "a": 1}', 6, ("unclear", "")),
        (['{"a": {"x'], '{\n"a": {"c":0,"d":0}}', 1, ("unclear", "")),
        (['{"a": 1}'], '{"a": 1} ', 8, ("spelling", '{"a": 1}')),
        (['{"a": 2}'], '{"a": 2 }', 7, ("spelling", '{"a": 2}')),
    ],
)
def test_an_effect_is_proven_by_what_the_engine_takes(taken, text, written, expected):
    assert effect(taken, text, written)[:2] == expected


def test_what_can_be_written_after_what_was_allowed_is_no_trap_however_little_was_asked(
    monkeypatch,
):
    text, other = '{"as": 1, "a": 2}', '{"a": 2, "as": 1}'
    monkeypatch.setattr(effects, "_ROOM", 20 * len(text))  # for one spelling of each after it
    assert effect([other], text, 3, beside=7)[:2] == ("spelling", other)
    assert effect([other[:3] + other[3:].replace(" ", "")], text, 3, beside=7)[0] == "spelling"
    assert effect([" " + other], text, 3, beside=7)[0] != "trap"


def test_members_of_one_item_may_come_in_another_order_than_those_of_others():
    """Of the branches that declare them each item fits another."""
    branches = [{"properties": {"a": {}}}, {"properties": {"b": {}}}]
    schema = {"$schema": DRAFT, "items": {"anyOf": branches}}
    text, ordered = '[{"a": 1, "b": 0}, {"a": 2, "b": 3}]', '[{"a": 1, "b": 0}, {"b": 3, "a": 2}]'
    assert effect([ordered], text, 23, schema=schema)[:2] == ("trap", ordered)
    assert effect([text.replace("2", "4")], text, 25, schema=schema)[0] == "lost_value"


def test_no_value_is_lost_where_there_was_no_room_to_ask_for_its_spellings(monkeypatch):
    text = '{"a": 1, "b": 2}'
    assert effect(['{"a": 1, "b": 3}'], text, 14, beside=7)[0] == "lost_value"
    monkeypatch.setattr(effects, "_ROOM", 20 * len(text))
    assert effect(['{"a": 1, "b": 3}'], text, 14, beside=7)[0] == "unclear"


def test_a_value_that_is_taken_byte_by_byte_is_not_lost():
    """Refused is a token that ends two objects at once."""
    taken = '{"a": {"b": 1}}'
    assert effect([taken], taken, 13, longer=[b"}}"])[:2] == ("spelling", taken)


def test_after_a_dead_end_there_is_a_trap_where_a_valid_text_is_taken():
    taken, other = '{"a": 1}', b'{"a": 2}'
    assert effect([taken], "", 0, valid=[other, taken.encode()]) == ("trap", taken, 0)
    assert effect([taken], "", 0, valid=[other]) == ("unclear", "", 0)


@pytest.mark.parametrize(
    ("taken", "text", "written", "found"),
    [
        # no schema declares these, nor do they stand in the order that the engine wants
        ('{"z": 1, "y": 2, "x": 3}', '{"x": 3, "y": 2, "z": 1}', 1, "spelling"),
        ('{"z": 1, "x": 3, "y": 2}', '{"x": 3, "y": 2, "z": 1}', 1, "spelling"),
        ('{"z": 1, "x": 3, "y": 2}', '{"x": 3, "y": 2, "z": 1}', 3, "trap"),
        ('{"x": [{"z":1,"y":2}], "v":0}', '{"v":0, "x": [{"y":2, "z":1}]}', 1, "spelling"),
        # what is refused is a value, and its member comes too late
        ('{"z": {"y": 1}, "x": 3}', '{"x": 3, "z": {"y": 1}}', 14, "trap"),
        # llguidance 1.9.1 takes these, by their schemas, in no other order
        ('{"d": 4, "c": 3, "a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3, "d": 4}', 1, "spelling"),
        ('{"b": 2, "a": 1, "c": 3}', '{"a": 1, "b": 2, "c": 3}', 1, "spelling"),
        ('{"c": 3, "a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3}', 1, "spelling"),
        # the number has to be spelled otherwise, too
        ('{"z": 1, "y": 2, "x": 3}', '{"x": 3, "y": 2.0, "z": 1}', 1, "spelling"),
        # the key is refused wherever it stands
        ('{"z": 1, "x": 3}', '{"z": 1, "y": 3}', 10, "lost_value"),
    ],
)
def test_an_engine_leads_to_the_order_that_it_takes(taken, text, written, found):
    taken = json.dumps(json.loads(taken))
    others = ['{"x": 3, "z": 1}']
    name, spelling, _ = effect([taken, *others], json.dumps(json.loads(text)), written)
    assert (name, spelling) == (found, "" if found == "lost_value" else taken)


def backwards(many, size=1):
    """Members in an order that nothing but the engine's refusals leads to, and as they are given."""
    names = [f"m{number:02}" for number in range(many)]
    return (json.dumps(dict.fromkeys(some, "x" * size)) for some in (names[::-1], names))


def test_an_order_is_followed_as_long_as_it_leads_on():
    taken, text = backwards(36)
    assert effect([taken], text, 1)[:2] == ("spelling", taken)


def test_an_order_that_there_was_no_room_to_find_says_nothing(monkeypatch):
    taken, text = backwards(12, size=90)
    assert effect([taken], text, 1)[0] == "spelling"
    assert effect([taken], text, 5)[0] == "trap"
    monkeypatch.setattr(effects, "_ROOM", 60 * len(text))
    assert effect([taken], text, 1)[0] == "unclear"
    assert effect([taken], text, 5)[0] == "unclear"


def test_where_the_key_is_refused_in_every_order_the_search_ends():
    """Of an engine that takes the other members in any order."""
    names = "abcdefg"
    taken = [json.dumps(dict.fromkeys(some, 1)) for some in permutations(names, 4)]
    text = json.dumps(dict.fromkeys("abcdz", 1))
    assert effect(taken, text, text.index("z"))[0] == "lost_value"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"]},
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}, "c": {}}}]},
        {
            "$defs": {"d": {"required": ["a"]}},
            "properties": {"b": {}, "c": {}},
            "$ref": "#/$defs/d",
        },
    ],
)
def test_what_another_subschema_declares_or_requires_comes_before_what_none_does(schema):
    members = "bca" if '"c"' in json.dumps(schema) else "a"
    taken, text = (json.dumps(dict.fromkeys(names, 1)) for names in (f"{members}x", f"x{members}"))
    assert effect([taken], text, 2, schema=schema)[:2] == ("spelling", taken)


def test_where_nothing_was_asked_nothing_is_lost():
    text = json.dumps({"a": "x" * 13_000})
    assert effect(['{"a": 1}'], text, 6)[0] == "lost_value"
    assert effect(['{"a": 1}'], text, 6, slow=True) == ("unclear", "", 0)
