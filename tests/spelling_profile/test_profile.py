"""The battery of spellings; what miniatures that spell in a known way, and installed engines, answer."""

import csv
import io
import json
from functools import cache

import pytest

from harness.classification.departures import load_behaviours, load_catalogue
from harness.engines.panel import Limits
from harness.jsontext import strict_json
from harness.render.table import as_markdown
from harness.spelling_profile.asking import profile_of
from harness.spelling_profile.printing import as_table, lines, visible
from harness.spelling_profile.profile import (
    AnswerKind,
    EngineSpellings,
    Profile,
    RowAnswer,
    Spelling,
    load_battery,
    with_options,
)
from harness.validators.validate import Validators
from tests.command import maskcourt

CATALOGUE = load_catalogue()
LIMITS = Limits(compile=5.0, mask=2.0, resolve=4.0)
LIST = '{"const": [1, 2]}'
W = "white space"
ROWS = (
    Spelling("spaced", W, "a space after the comma", LIST, "[1, 2]", "[1,2]"),
    Spelling("compact", W, "none after the comma", LIST, "[1,2]", "[1, 2]"),
    Spelling("before", W, "a space before the comma", LIST, "[1 ,2]", "[1, 2]"),
    Spelling("number", "g", "a fraction", LIST, "[1.0, 2]", "[1e0, 2]"),
    Spelling("raw", "g", "raw", '{"const": "é"}', '"é"', character="é"),
    Spelling("escaped", "g", "escaped", '{"const": "é"}', r'"\u00e9"', '"é"', character="é"),
    Spelling("tab", "g", "a tab", r'{"const": "\t"}', r'"\u0009"', character="tab"),
)
MINIATURE = "tests.miniatures:Enumerator"
SPACED = f"{MINIATURE}[compact=false]"


def statuses(profile, number=0):
    return {row: str(one.status) for row, one in profile.engines[number].answers.items()}


@pytest.fixture(scope="module")
def asked():
    specs = [MINIATURE, SPACED, "tests.miniatures:AllowsEverything"]
    return profile_of([*specs, "tests.miniatures:RefusesAll"], rows=ROWS, limits=LIMITS)


@pytest.fixture(scope="module")
def done():
    """The answers of the default engines."""
    done = maskcourt("spellings", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["engines"]


@pytest.mark.processes
class TestMiniatures:
    def test_an_engine_that_spells_in_two_styles(self, asked):
        assert statuses(asked) == {
            "spaced": "yes",
            "compact": "yes",
            "before": "no",
            "number": "unclear",
            "raw": "yes",
            "escaped": "no",
            "tab": "no",
        }
        assert asked.unwritable(asked.engines[0]) == ["tab"]

    def test_what_other_options_allow_is_allowed_by_option(self, asked):
        answer = asked.engines[1].answers["compact"]
        assert (answer.status, answer.option) == (AnswerKind.OPTION, f"of {MINIATURE}")
        assert answer.allowed is False

    def test_an_engine_that_allows_all_and_one_that_refuses_all(self, asked):
        assert set(statuses(asked, 2).values()) == {"yes"}
        assert set(statuses(asked, 3).values()) == {"refused"}
        one = asked.engines[3].answers["raw"]
        assert one.allowed is None
        assert one.reason == "this engine refuses every schema"
        assert asked.unwritable(asked.engines[3]) == []

    def test_an_engine_that_fails_costs_its_own_rows_alone(self):
        crash = '{"const": [1, 2], "x-crash": 6}'
        rows = [
            Spelling("short", W, "", crash, "[1,2]"),
            Spelling("long", W, "", crash, "[1, 2]"),
            Spelling("other", "g", "", LIST, "[1, 2]"),
        ]
        found = profile_of(
            [f"tests.miniatures:CrashesOnMask,tests.miniatures:CrashesOnCompile,{MINIATURE}"],
            rows=rows,
            limits=LIMITS,
        )
        assert statuses(found) == {"short": "yes", "long": "failed", "other": "yes"}
        assert statuses(found, 1) == {"short": "failed", "long": "failed", "other": "yes"}
        assert set(statuses(found, 2).values()) == {"yes"}

    def test_the_json_has_every_row_of_every_engine(self, asked):
        found = json.loads(json.dumps(asked.as_json()))["engines"]
        assert list(found) == [one.name for one in asked.engines]
        rows = {row["id"]: row for row in found[MINIATURE]["rows"]}
        assert list(rows) == [row.id for row in ROWS]
        assert rows["before"]["allowed"] is False
        assert rows["number"]["allowed"] is None
        assert rows["number"]["why"].startswith("cannot be said")
        assert {"id", "schema", "text", "allowed", "declared"} == rows["before"].keys()

    def test_the_table_and_the_lines_say_it_to_people(self, asked):
        table = as_markdown(as_table(asked))
        assert (
            "| white space | none after the comma | `[1,2]` | yes | by option | yes | refused |"
            in table
        )
        assert f"`{MINIATURE}` lets these be written in no way: tab" in list(lines(asked))


def engine(name, **answers):
    return EngineSpellings(name, "1", answers)


def declared(id_):
    return next(one for one in CATALOGUE if one.id == id_)


class TestOptions:
    def status(self, *engines):
        return with_options(engines)[0].answers["row"]

    def test_a_declaration_for_some_options_alone_is_a_matter_of_options(self):
        no = RowAnswer(AnswerKind.NO, declared=(declared("xgrammar-fixed-layout"),))
        found = self.status(engine("xgrammar[any_whitespace=false]", row=no))
        assert (found.status, found.option) == (
            AnswerKind.OPTION,
            'not tried: with options other than any_whitespace="false"',
        )

    def test_unless_other_options_forbid_it_too(self):
        no = RowAnswer(AnswerKind.NO, declared=(declared("xgrammar-fixed-layout"),))
        other = engine("xgrammar", row=RowAnswer(AnswerKind.NO))
        assert self.status(engine("xgrammar[any_whitespace=false]", row=no), other) == no

    def test_a_declaration_for_all_options_is_none(self):
        no = RowAnswer(AnswerKind.NO, declared=(declared("xgrammar-one-spelling"),))
        assert self.status(engine("xgrammar", row=no)) == no

    def test_options_that_a_server_sets_are_none_of_its_own(self):
        no = RowAnswer(AnswerKind.NO, declared=(declared("xgrammar-property-order"),))
        assert self.status(engine("vllm", row=no)) == no
        assert self.status(engine("xgrammar", row=no)).status == AnswerKind.OPTION

    def test_another_version_or_engine_says_nothing(self):
        no, yes = RowAnswer(AnswerKind.NO), RowAnswer(AnswerKind.YES)
        other = EngineSpellings("xgrammar@2", "2", {"row": yes})
        found = self.status(engine("xgrammar", row=no), other, engine("outlines", row=yes))
        assert found == no

    def test_only_what_can_be_said_makes_a_character_unwritable(self):
        rows = (ROWS[4], ROWS[5])
        no, unclear = (RowAnswer(AnswerKind.NO), RowAnswer(AnswerKind.UNCLEAR, "why"))
        one, two = engine("a", raw=no, escaped=no), engine("b", raw=no, escaped=unclear)
        profile = Profile(rows, (one, two))
        assert [profile.unwritable(each) for each in (one, two)] == [["é"], []]


def test_the_layout_decides_only_where_it_is_asked_about():
    texts = {"text": '{"b": "x y", "a": 1}', "plain": '{"a": 1, "b": "x y"}'}
    row = Spelling("row", "order", "", "{}", **texts)
    assert row.texts == (row.text, '{"b":"x y","a":1}')
    assert row.controls == (row.plain, '{"a":1,"b":"x y"}')
    assert Spelling("row", W, "", "{}", **texts).texts == (row.text,)


def test_white_space_and_what_cannot_be_seen_is_shown():
    assert visible(" [1,\t\r\n2]") == "␠[1,␉␍␊2]"
    assert visible("[ ]") == "[␠]"
    assert visible('{"a": 1}') == '{"a": 1}'
    assert visible('"\x7f\u2028"') == '"␡<U+2028>"'


KNOWN = {
    "whitespace/before-text-space": ("no", "no", "no"),
    "whitespace/after-text-space": ("no", "no", "no"),
    "whitespace/after-colon-tab": ("yes", "yes", "option"),
    "whitespace/after-comma-carriage-return": ("yes", "yes", "option"),
    "whitespace/none": ("yes", "yes", "yes"),
    "whitespace/indentation-two-space": ("yes", "yes", "option"),
    "order/declared": ("yes", "yes", "yes"),
    "order/other": ("option", "no", "no"),
    "order/undeclared-last": ("yes", "yes", "unclear"),
    "order/undeclared-first": ("option", "no", "unclear"),
    "escapes/letter": ("yes", "yes", "no"),
    "escapes/solidus": ("yes", "no", "yes"),
}
"""What is known of xgrammar, llguidance and outlines apart from this battery."""


@pytest.mark.processes
@pytest.mark.engines
class TestInstalledEngines:
    def test_they_spell_as_is_known(self, done):
        allowed = {"yes": True, "no": False, "option": False, "unclear": None}
        assert list(done) == ["xgrammar", "llguidance", "outlines"]
        by_id = [{row["id"]: row for row in one["rows"]} for one in done.values()]
        for id_, answers in KNOWN.items():
            for rows, answer in zip(by_id, answers, strict=True):
                assert rows[id_]["allowed"] is allowed[answer], id_
                assert ("option" in rows[id_]) == (answer == "option"), id_

    def test_a_declared_behaviour_has_its_source(self, done):
        rows = {row["id"]: row for row in done["llguidance"]["rows"]}
        (one,) = rows["escapes/solidus"]["declared"]
        assert one["id"] == "llguidance-solidus-escape"
        assert one["source"].startswith("https://")
        assert not rows["numbers/integer-fraction"]["declared"]

    def test_a_server_answers_with_what_its_backend_declares(self):
        rows = [row for row in load_battery() if row.id in ("escapes/solidus", "escapes/letter")]
        (found,) = profile_of(["outlines-package[backend=llguidance]"], rows=rows).engines
        assert [one.status for one in found.answers.values()] == [AnswerKind.NO, AnswerKind.NO]
        assert found.answers["escapes/solidus"].declared

    def test_csv_has_a_line_a_row(self):
        done = maskcourt("spellings", "--engine", "llguidance", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert len(rows) == len(load_battery())
        assert {row["group"] for row in rows} >= {"numbers", "escapes"}


@pytest.mark.processes
def test_bad_use_is_one_line_and_an_exit_code_of_2():
    done = maskcourt("spellings", "-e", "xgramar")
    assert done.returncode == 2
    assert "unknown engine 'xgramar'" in done.stderr.splitlines()[-1]


BATTERY = load_battery()


@cache
def validators(schema):
    return Validators(schema)


@pytest.mark.parametrize("row", BATTERY, ids=lambda row: row.id)
def test_both_validators_call_the_text_and_its_control_valid(row):
    for text in (*row.texts, *row.controls):
        assert validators(row.schema).judge(text.encode()).verdict == "valid"


@pytest.mark.parametrize("row", [row for row in BATTERY if row.plain], ids=lambda row: row.id)
def test_the_plain_text_is_another_spelling_of_the_same_value(row):
    assert strict_json.parse(row.text) == strict_json.parse(row.plain)
    assert row.text != row.plain


def test_rows_without_a_plain_spelling_have_a_control_of_another_value():
    others = [row for row in BATTERY if row.control]
    assert others
    for row in others:
        assert not row.plain
        assert strict_json.parse(row.text) != strict_json.parse(row.control)
    assert {row.id for row in BATTERY if not row.controls} == {
        "escapes/pattern-line-feed",
        "escapes/pattern-quote",
    }


def test_the_battery_has_the_groups_and_asks_nothing_twice():
    assert len(BATTERY) >= 70
    assert list(dict.fromkeys(row.group for row in BATTERY)) == [
        *("white space", "order of members", "escapes", "numbers", "characters")
    ]
    asked = [(row.schema, row.text, row.controls) for row in BATTERY]
    assert len(set(asked)) == len({row.id for row in BATTERY}) == len(asked)


def test_behaviours_are_of_the_list_and_characters_have_rows():
    assert {row.behaviour for row in BATTERY} - {""} <= load_behaviours().keys()
    characters = {row.character for row in BATTERY} - {""}
    assert {"NUL", "U+007F", "U+2028", "quotation mark", "backslash"} <= characters
    for row in BATTERY:
        assert bool(row.character) == (row.group == "characters")


def test_schemas_are_plain_json():
    for row in BATTERY:
        assert json.dumps(json.loads(row.schema), ensure_ascii=False) == row.schema
