"""Models that are overruled: what they write, who is charged, what is an answer, and how it is kept."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from harness.errors import RunDirectoryError
from harness.impact.answering import outermost, whole
from harness.impact.answers import ANSWERS, UNCONSTRAINED, ImpactRun, open_impact
from harness.impact.generation import choose
from harness.protocol import allows, set_bits
from tests.impact.scripted import FORBIDS_2, ScriptedModel, Wants, answering, item
from tests.miniatures import ConsumeLies, CrashesOnMask, Enumerator, ForbidsOne, RefusesAll


def answers(model, engines, one, **how):
    found = answering(model, engines, Wants(one), **how).answers(one)
    return {answer.engine: answer for answer in found}


def test_an_engine_that_forbids_what_is_valid_overrules_the_model_and_is_charged():
    model = ScriptedModel("[2]", second={"[": "1", "[1": "]"})
    found = answers(model, [ForbidsOne, Enumerator], item(FORBIDS_2, [2]))
    assert (found["Enumerator"].text, found["Enumerator"].correct) == ("[2]", True)
    wrong = found["ForbidsOne"]
    assert (wrong.text, wrong.correct, wrong.reason) == ("[1]", False, "other")
    step, *_ = wrong.overruled
    assert (step.position, step.ruling, step.reason) == (1, "false_rejection", "written")
    assert (step.witness, step.effect, step.spelling) == ("[2]", "lost_value", "")
    assert (step.token, step.chosen, step.rank) == (ord("2"), ord("1"), 0)
    assert step.removed >= step.probability > 0.9
    assert not found["Enumerator"].overruled


def test_a_value_that_can_be_written_otherwise_is_only_a_spelling():
    model = ScriptedModel("[ 2]", second={"[": "2", "[2": "]"})
    found = answers(model, [Enumerator], item(FORBIDS_2, [2]))["Enumerator"]
    step, *_ = found.overruled
    assert (step.ruling, step.witness) == ("false_rejection", "[ 2]")
    assert (step.effect, step.spelling, found.correct) == ("spelling", "[2]", True)


def test_it_is_proven_without_anybody_who_wrote_it():
    model = ScriptedModel("[2]", second={"[": "1", "[1": "]"})
    found = answers(model, [ForbidsOne], item(FORBIDS_2), unconstrained=False)
    assert found["ForbidsOne"].overruled[0].ruling == "false_rejection"
    assert found["ForbidsOne"].overruled[0].reason == "schema"


def test_an_engine_that_forbids_what_is_invalid_is_not_charged():
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 1}
    model = ScriptedModel('["c"]', second={'["': "a", '["a': '"', '["a"': "]"})
    found = answers(model, [Enumerator], item(schema, ["a"]))
    step = found["Enumerator"].overruled[0]
    assert (step.position, step.ruling, step.reason) == (2, "right", "schema")
    assert found["Enumerator"].correct


def test_prose_is_forbidden_rightly():
    model = ScriptedModel("Sure", second={"": "[", "[": "1", "[1": "]"})
    found = answers(model, [Enumerator], item(FORBIDS_2, [1]))
    step = found["Enumerator"].overruled[0]
    assert (step.ruling, step.reason) == ("right", "not_json")
    assert found["Enumerator"].correct
    assert found[UNCONSTRAINED].reason == "no_json"


def test_the_end_that_is_forbidden_behind_a_valid_text_is_a_false_rejection():
    class NoEnd(Enumerator):
        def language(self, schema):
            return replace(super().language(schema), texts=frozenset({b"12"}))

    found = answers(ScriptedModel("1"), [NoEnd], item({"enum": [1, 12]}))
    step = found["NoEnd"].overruled[0]
    assert (step.ruling, step.reason, step.witness) == ("false_rejection", "end", "1")


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [(RefusesAll, "refused"), (CrashesOnMask, "crashed"), (ConsumeLies, "mask_consume_mismatch")],
)
def test_a_failure_costs_its_engine_the_item_and_nobody_else_anything(kind, outcome):
    schema = {**FORBIDS_2, "x-crash": 1}
    found = answers(ScriptedModel("[2]"), [kind, Enumerator], item(schema, [2]))
    failed = found[kind.__name__]
    assert (failed.outcome, failed.parsed, failed.reason) == (outcome, False, outcome)
    assert failed.message
    assert found["Enumerator"].correct


def test_a_text_without_an_end_is_cut_and_no_answer():
    model = ScriptedModel("[2]" + " " * 50, ends=False)
    found = answers(model, [], item({}, [2]), max_tokens=20)
    cut = found[UNCONSTRAINED]
    assert (cut.outcome, len(cut.tokens), cut.parsed, cut.reason) == ("cut", 20, False, "cut")


def test_the_prompt_is_computed_once_and_texts_go_on_together():
    model = ScriptedModel("[2]")
    answers(model, [Enumerator, Enumerator], item(FORBIDS_2))
    assert (model.prompts, model.steps) == (1, 3)


def test_times_are_there_for_each_token():
    found = answers(ScriptedModel("[2]"), [Enumerator], item(FORBIDS_2))
    cost = found["Enumerator"].cost
    assert [len(one) for one in (cost.mask, cost.consume, cost.asked)] == [4, 4, 4]
    assert (len(cost.model), cost.texts) == (3, [2, 2, 2])
    assert cost.prompt > 0


def test_what_is_taken_differs_only_where_a_mask_forbids_it():
    everything, half = set_bits(range(64), 2), set_bits(range(32), 2)
    for wanted in range(64):
        logits = np.zeros(64, dtype=np.float32)
        logits[wanted] = 1
        assert choose(logits, None).chosen == choose(logits, everything).chosen == wanted
        masked = choose(logits, half)
        assert masked.token == wanted
        assert (masked.chosen != wanted) == (wanted >= 32)


def test_the_choice_never_leaves_the_mask():
    draw = np.random.default_rng(0)
    for _ in range(100):
        logits = draw.normal(size=70).astype(np.float32)
        mask = set_bits(draw.choice(70, size=5, replace=False).tolist(), 3)
        assert allows(mask, choose(logits, mask).chosen)
    assert choose(logits, np.zeros(3, dtype=np.uint32)).chosen == -1


def test_an_answer_survives_its_line():
    found = answers(ScriptedModel("[3]"), [ForbidsOne], item(FORBIDS_2))
    for one in found.values():
        assert type(one).of_line(json.dumps(asdict(one))) == one


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' {"a": 1}\n',
        'Sure! Here it is: {"a": 1} I hope that helps.',
        '```json\n{"a": 1}\n```',
        'First {think}, then:\n```\n{"a": 1}\n```\nor {"b": 2}',
        'With {braces} around a word, and then {"a": 1}.',
    ],
)
def test_the_object_is_found_among_other_things(text):
    assert outermost(text.encode()).value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I cannot do that.", "no_json"),
        ("", "no_json"),
        ("[1, 2]", "no_json"),
        ('{"a": 1} or {"a": 2}', "several"),
        ('{"a": {"b": 1}', "unfinished"),
        ('```json\n{"a": 1', "unfinished"),
        ("{'a': 1}", "no_json"),
        ('{"a": 1,}', "no_json"),
        ('{"a": 1, "a": 2}', "duplicate_keys"),
    ],
)
def test_nothing_is_repaired(text, problem):
    assert outermost(text.encode()).problem == problem


def test_what_stands_within_a_broken_object_is_no_answer():
    assert outermost(b'{"a": {"b": 1}, oops').problem == "no_json"


def test_an_array_is_looked_for_where_the_schema_wants_one():
    assert outermost(b"Calls: [1, 2].", b"[").value == [1, 2]


def test_a_constrained_text_is_json_and_nothing_else():
    assert whole(b" 1.5 ").value == 1.5
    assert whole(b"```1.5```").problem == "not_json"


IDENTITY = {"engines": {"Enumerator": {}, "RefusesAll": {}}, "generation": {"unconstrained": True}}
ITEMS = [item(FORBIDS_2, [n], f"item {n}") for n in (1, 2)]


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
