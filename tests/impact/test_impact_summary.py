"""What a run says of each engine: counted from its answers."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from harness.cli.main import cli
from harness.impact import work
from harness.impact.answers import Cost, ImpactRun, ModelAnswer, TokenChoice
from harness.impact.items import sampled
from harness.impact.summary import summarize
from tests.impact.scripted import FORBIDS_2, ScriptedModel, Wants, answering, item
from tests.miniatures import ForbidsOne

IDENTITY = {
    "task": {"name": "wants", "items": 2},
    "model": {},
    "engines": {"ForbidsOne": {}},
    "generation": {"unconstrained": True},
}
ITEMS = [item(FORBIDS_2, [2], f"item {n}") for n in range(2)]


@pytest.fixture
def empty(tmp_path):
    run = ImpactRun.begin(tmp_path / "run", IDENTITY, {"unanswerable": ["b"]})
    yield run
    run.close()


@pytest.fixture
def run(empty):
    model = ScriptedModel("[2]", second={"[": "1", "[1": "]"})
    answering(model, [ForbidsOne], Wants(*ITEMS)).run(empty, ITEMS)
    return empty


def test_an_engine_has_its_wrong_answers_and_the_mass_that_it_took(run):
    alone, engine = summarize(run)["engines"].values()
    counts = ("items", "answered", "parsed", "correct")
    assert [[one[name] for name in counts] for one in (alone, engine)] == [[2] * 4, [2, 2, 2, 0]]
    assert [one["share"]["value"] for one in (alone, engine)] == [1.0, 0.0]
    assert engine["reasons"] == {"other": 2}
    assert engine["rulings"]["false_rejection"] == engine["losing_items"] == 2
    assert engine["effects"] == {"lost_value": 2}
    assert engine["keywords"] == {"enum": 2}
    assert 0.9 / 4 < engine["proven_mass"] < engine["removed"]
    assert engine["losing_mass"] == engine["proven_mass"]


def test_what_costs_a_value_is_counted_apart_from_spellings(empty):
    step = TokenChoice(0, 1, 0.5, 0, 2, 0.6, "false_rejection", effect="spelling", keyword="type")
    lost = replace(step, effect="lost_value", probability=0.25)
    for name, steps in (("one", (step, lost)), ("two", (step,))):
        empty.append(ModelAnswer(name, "ForbidsOne", "cut", tokens=[2, 2], overruled=steps))
    engine = summarize(empty)["engines"]["ForbidsOne"]
    assert engine["effects"] == {"lost_value": 1, "spelling": 2}
    assert (engine["keywords"], engine["losing_items"]) == ({"type": 3}, 1)
    assert (engine["proven_mass"], engine["losing_mass"]) == (1.25 / 4, 0.25 / 4)


def test_times_are_means_over_tokens(empty):
    cost = Cost(
        prompt=8_000_000,
        model=(2_000_000, 4_000_000),
        texts=(2, 1),
        mask=(100_000, 200_000, 0),
        consume=(0, 100_000, 200_000),
        asked=(300_000, 300_000, 400_000),
        compile=3_000_000,
        first_mask=1_000_000,
    )
    empty.append(ModelAnswer("item", "ForbidsOne", "answered", cost=cost))
    found = summarize(empty)["engines"]["ForbidsOne"]["cost"]
    wanted = {"mask": 0.2, "asked": 1 / 3, "model": 3.0, "texts": 1.5, "compile": 4.0}
    wanted |= {"overhead": 100 * 0.2 / 3.0, "whole": 100 * (1.0 + 4.0) / (6.0 + 8.0)}
    assert found == pytest.approx(wanted)


def test_the_command_shows_it(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    as_table = CliRunner().invoke(cli, ["impact", "show", str(run.path)], catch_exceptions=False)
    told = "cannot tell unconstrained and ForbidsOne apart (2 items, p = 0.5)"
    for words in (
        "answers to wants, 2 items",
        "ForbidsOne",
        "100%",
        "mass removed",
        "in force: enum 2",
        told,
    ):
        assert words in as_table.stdout
    shown = CliRunner().invoke(cli, ["impact", "show", str(run.path), "--json"])
    assert json.loads(shown.stdout) == json.loads(json.dumps(summarize(run)))


def test_what_nobody_can_answer_is_left_out_of_pairs_alone(empty):
    for name, right in (("unconstrained", True), ("ForbidsOne", False)):
        for one in "ab":
            empty.append(ModelAnswer(one, name, "answered", correct=right))
    found = summarize(empty)
    assert [one["share"]["value"] for one in found["engines"].values()] == [1.0, 0.0]
    assert [one["items"] for one in found["pairs"]] == [1]
    assert found["unanswerable"] == 1


def test_a_step_that_nobody_ruled_on_counts_for_nobody(empty):
    step = TokenChoice(0, 1, 0.5, 0, 2, 0.6)
    empty.append(ModelAnswer("item", "ForbidsOne", "cut", overruled=(step,)))
    engine = summarize(empty)["engines"]["ForbidsOne"]
    ruled = sum(engine["rulings"].values())
    assert (engine["overruled"], ruled, engine["proven_mass"]) == (1, 0, 0.0)


def test_a_sample_keeps_the_order_and_is_the_same_again():
    items = [item({}, name=f"i{n:02}") for n in range(20)]
    some = sampled(items, 3, 0)
    assert len(some) == 3
    assert some == sorted(some, key=lambda one: one.id)
    assert some == sampled(items, 3, 0) != sampled(items, 3, 1)
    assert sampled(items, None, 0) == sampled(items, 99, 0) == items


FUSSY = "tests.planted:Fussy"


def one_item():
    """A task of one item; `Fussy` forbids its answer."""
    items = {"type": "integer"}
    schema = {"type": "array", "items": items, "minItems": 1, "maxItems": 1}
    return Wants(item(schema, [0]))


@pytest.mark.processes
@pytest.mark.engines
def test_a_run_is_answered_and_gone_on_with(tmp_path, monkeypatch):
    model = ScriptedModel("[0]", second={"[": "1", "[1": "]"})
    monkeypatch.setattr(work, "open_model", lambda *_: model)
    request = work.ImpactRequest("any", [FUSSY], tmp_path / "run")
    run = work.run_impact(request, one_item())
    alone, engine = summarize(run)["engines"].values()
    assert (alone["correct"], engine["correct"], engine["parsed"]) == (1, 0, 1)
    assert engine["rulings"]["false_rejection"] == 1
    assert engine["cost"]["mask"] > 0
    assert summarize(work.run_impact(request, one_item())) == summarize(run)
