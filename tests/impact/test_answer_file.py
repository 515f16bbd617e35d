"""The directory of an impact run: gone on with after whatever end, refused where it is another."""

import pytest

from harness.errors import RunDirectoryError
from harness.impact.answers import ANSWERS, ImpactRun, open_impact
from tests.impact.scripted import ScriptedModel, Wants, answering, item
from tests.miniatures import Enumerator, RefusesAll

IDENTITY = {"engines": {"Enumerator": {}, "RefusesAll": {}}, "generation": {"unconstrained": True}}
SCHEMA = {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1, "maxItems": 1}
ITEMS = [item(SCHEMA, [n], f"item {n}") for n in (1, 2)]


def answered(path, items=ITEMS):
    """The answers of a run, made or gone on with, and the prompts that it took."""
    model = ScriptedModel("[2]")
    run = ImpactRun.begin(path, IDENTITY, {})
    try:
        answering(model, [Enumerator, RefusesAll], Wants(*items)).run(run, items)
        return list(run.answers()), model.prompts
    finally:
        run.close()


def test_there_is_a_line_for_each_item_and_engine(tmp_path):
    answers, _ = answered(tmp_path)
    engines = ["unconstrained", "Enumerator", "RefusesAll"]
    assert [(one.item, one.engine) for one in answers] == [
        (f"item {n}", name) for n in (1, 2) for name in engines
    ]
    assert [one.outcome for one in answers] == ["answered", "answered", "refused"] * 2
    assert [one.correct for one in answers] == [False, False, False, True, True, False]


def test_what_is_there_is_not_made_again(tmp_path):
    answers, prompts = answered(tmp_path)
    assert prompts == 2
    assert answered(tmp_path) == (answers, 0)


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_line_that_was_cut_is_made_again(tmp_path, cut):
    answers, _ = answered(tmp_path)
    file = tmp_path / ANSWERS
    file.write_bytes(file.read_bytes()[:-cut])
    again, prompts = answered(tmp_path)
    assert prompts == 1
    assert [(one.item, one.engine, one.text) for one in again] == [
        (one.item, one.engine, one.text) for one in answers
    ]


def test_each_answer_is_on_the_disk_before_the_next_is_made(tmp_path):
    answered(tmp_path, ITEMS[:1])
    stopping = ScriptedModel("[2]")
    stopping.start = lambda prompt: (_ for _ in ()).throw(KeyboardInterrupt)
    run = ImpactRun.begin(tmp_path, IDENTITY, {})
    with pytest.raises(KeyboardInterrupt):
        answering(stopping, [Enumerator, RefusesAll], Wants(*ITEMS)).run(run, ITEMS)
    run.close()
    assert {one.item for one in open_impact(tmp_path).answers()} == {"item 1"}
    assert len(answered(tmp_path)[0]) == 6


def test_another_request_is_refused(tmp_path):
    answered(tmp_path)
    other = {**IDENTITY, "generation": {"unconstrained": False}}
    with pytest.raises(RunDirectoryError, match="other generation"):
        ImpactRun.begin(tmp_path, other, {})


def test_a_line_that_was_altered_is_told_of(tmp_path):
    answered(tmp_path)
    file = tmp_path / ANSWERS
    file.write_text("{}\n" + file.read_text("utf-8"), "utf-8")
    with pytest.raises(RunDirectoryError, match=r"answers\.jsonl:1 holds no answer"):
        list(open_impact(tmp_path).answers())
    with pytest.raises(RunDirectoryError, match="is no impact run"):
        open_impact(tmp_path / "elsewhere")
