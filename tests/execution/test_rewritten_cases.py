"""Rewritings of schemas as cases: the same values are asked about, and what differs is charged."""

import json
from dataclasses import replace

from harness.analysis.equal_schemas import equal_schemas
from harness.analysis.stored import StoredRun
from harness.analysis.tally import summary
from harness.comparison.case_run import Rules
from harness.execution.rewritten_cases import with_rewritings
from harness.inputs.case_selection import Selected
from harness.inputs.cases import Instance, ListedCases
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import Refused
from tests.books import Book, all_bugs, store
from tests.inprocess import case, make_run
from tests.miniatures import Enumerator, Language, texts_of

LIST = {"type": "array", "items": {"const": "ab"}, "maxItems": 2}
MEMBERS = {"properties": {"a": {"type": "string"}}, "required": ["a"]}


def beside(*cases, most=30, seed=0):
    listed = ListedCases("some", cases, "sha")
    return with_rewritings(Selected(listed, tuple(listed.index)), most, seed)


def test_rewritings_stand_right_after_their_case_in_a_family_of_their_own():
    found = beside(case(LIST, ["ab"], name="x"), case(True, 1, name="y"))
    assert [one for one in found.ids if "~" not in one] == ["x", "y"]
    assert {found.source.index[one] for one in found.ids if one.startswith("x~")} == {"equal"}
    assert [one.id for one in found] == list(found.ids)
    (one,) = found.source.read(["x~const-as-enum"])
    assert json.loads(one.schema)["items"] == {"enum": ["ab"]}
    assert one.valid == (Instance(b'["ab"]'),)


def test_without_rewritings_cases_are_left_as_they_are():
    assert "~" not in "".join(beside(case(LIST), most=0).ids)


def test_where_members_are_renamed_values_are_too():
    (one,) = beside(case(MEMBERS, {"a": "b"}, invalid=[{}], name="x")).source.read(
        ["x~renamed-members"]
    )
    assert (one.valid, one.invalid) == ((Instance(b'{"name_0": "b"}'),), (Instance(b"{}"),))
    twice = replace(case(MEMBERS, name="x"), invalid=(Instance(b'{"a": "", "a": 1}'),))
    assert "x~renamed-members" not in beside(twice).ids


class Planted(Enumerator):
    """With ``enum`` for items it loses an array of one, without ``minItems`` it refuses."""

    def language(self, schema):
        if "minItems" not in schema:
            raise Refused("no minItems")
        language = super().language(schema)
        lost = {b'["ab"]'} if "enum" in schema["items"] else set()
        return replace(language, texts=language.texts - lost)


class InOrder(Enumerator):
    """Writes members in the order in which they are declared, and any constant as 1 or 2."""

    def language(self, schema):
        names = schema["properties"]
        pairs = (zip(names, values, strict=True) for values in ((1, 1), (1, 2), (2, 1), (2, 2)))
        return Language(texts_of(map(dict, pairs)))


def test_a_text_that_is_refused_for_its_order_is_no_value_that_does_not_leak(tmp_path):
    """Under the members' other order it is refused for that; its value leaks all the same."""
    vocabulary = replace(byte_vocabulary(), pattern=r"(?s:.)")
    run = make_run([InOrder], vocabulary, Rules(walks=0, samples=0, generated=0))
    schema = {"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    books = []
    for one in beside(case(schema, {"a": 1, "b": 2}, invalid=[{"a": 2, "b": 2}], name="x")):
        if one.id.partition("~")[2] in ("", "reordered-members"):
            books.append(Book(one.id))
            books[-1].rows = run.run(one)
    engines = {"InOrder": {"version": "1", "options": {}}}
    stored = StoredRun(store(tmp_path / "run", *books, engines=engines), all_bugs)
    assert summary(stored.run, all_bugs)["engines"]["InOrder"]["leak"]["schemas"] == 1
    assert equal_schemas(stored) == []


def test_what_is_wrong_under_one_form_alone_is_charged_to_it(tmp_path):
    vocabulary = replace(byte_vocabulary(), pattern=r"(?s:.)")
    run = make_run([Enumerator, Planted], vocabulary, Rules(walks=0, samples=0))
    books = []
    for one in beside(
        case({**LIST, "minItems": 0}, [], ["ab"], invalid=[["b"]], name="lost"),
        case(LIST, ["ab"], name="refused"),
    ):
        if one.id.partition("~")[2] in ("", "const-as-enum", "idle-bound"):
            books.append(Book(one.id))
            books[-1].rows = run.run(one)
    engines = {name: {"version": "1", "options": {}} for name in ("Enumerator", "Planted")}
    stored = StoredRun(store(tmp_path / "run", *books, engines=engines), all_bugs)
    assert [tuple(row.values()) for row in equal_schemas(stored)] == [
        ("Planted", "const-as-enum", "rewriting", 2, 0, 1, 0, "lost~const-as-enum"),
        ("Planted", "idle-bound", "original", 1, 1, 0, 0, "refused~idle-bound"),
    ]
    engines = summary(stored.run, all_bugs)["engines"]
    assert engines["Planted"]["loss"]["of"] == 1  # rewritings are no schemas of their own
    assert engines["Planted"]["compile"]["refused"] == 1
