"""Exactly what is wrong: miniatures whose every text is known, and the method held to that."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.strict_json import keeps_numbers
from harness.protocol import allows
from harness.runs.tables import Rows
from harness.validators.validate import Validators
from harness.workers.outcomes import ADAPTER_FAULTS
from tests import miniatures
from tests.inprocess import default_options, mask_of, records
from tests.miniatures import Enumerator
from tests.oracle import (
    BARRED,
    RESOLVERS,
    Split,
    Trial,
    acceptance_of,
    complaints,
    flaws,
    is_json,
    is_valid,
    rejection_of,
    splits,
    trials,
    verdicts_at,
    written_at,
)
from tests.worlds import LONGER, WORLDS, Allows, Forgets, Insists, Speller, exact, told

PROOFS = {
    "false_rejection": True,
    "never_stops": True,
    "false_acceptance": False,
    "stops_too_early": False,
}
"""What both validators say of the witness."""


def assert_witnesses_replay(trial: Trial, rows: Rows) -> None:
    """Lead fresh matchers through every witness, mask by mask, and ask both validators."""
    makers = {kind.__name__: kind for kind in trial.engines}
    validators = Validators(trial.case.schema)
    path = [position["token"] for position in records(rows, "positions")]
    completions = {one["completion"]: one["tokens"] for one in records(rows, "completions")}
    for verdict in records(rows, "verdicts"):
        before = [*path[: verdict["position"]], verdict["token"]]
        whole = [*before, *completions.get(verdict["completion"], [])]
        engine, kind = makers[verdict["engine"]], verdict["kind"]
        if kind == "dead_end":
            assert (allowed(trial, engine, whole), ways(trial, engine, whole)) == (len(whole), 0)
        elif kind == "mask_consume_mismatch":
            assert allowed(trial, engine, whole) == len(whole) - 1
            assert lies(trial, engine, whole)
        elif kind in PROOFS:
            accepter = makers[verdict["accepter"]]
            assert allowed(trial, accepter, whole) == len(whole)
            assert whole[-1] in trial.vocabulary.eos_ids
            text = b"".join(trial.vocabulary.tokens[token] for token in whole[:-1])
            assert opinions(validators, text) == {PROOFS[kind]}
            if PROOFS[kind]:
                assert allowed(trial, engine, before) == len(before) - 1
            else:
                assert engine is accepter
        else:
            assert kind in ("contested", "unresolved")


def start(trial: Trial, kind: type) -> miniatures.LanguageMatcher:
    return kind(trial.vocabulary, default_options(kind)).compile(trial.case.schema)


def allowed(trial: Trial, kind: type, tokens: list[int]) -> int:
    """How many of `tokens` a fresh matcher shows in its masks and consumes, from the start."""
    matcher = start(trial, kind)
    for count, token in enumerate(tokens):
        if not allows(mask_of(matcher, trial.vocabulary), token) or not matcher.consume(token):
            return count
    return len(tokens)


def ways(trial: Trial, kind: type, tokens: list[int]) -> int:
    """How many tokens a fresh matcher shows behind `tokens`."""
    matcher = start(trial, kind)
    assert all(map(matcher.consume, tokens))
    return int(np.unpackbits(mask_of(matcher, trial.vocabulary).view(np.uint8)).sum())


def lies(trial: Trial, kind: type, tokens: list[int]) -> bool:
    """Whether a fresh matcher shows the last of `tokens` and refuses it, or the other way round."""
    matcher = start(trial, kind)
    assert all(map(matcher.consume, tokens[:-1]))
    return allows(mask_of(matcher, trial.vocabulary), tokens[-1]) != matcher.consume(tokens[-1])


def opinions(validators: Validators, text: bytes) -> set[bool | None]:
    """What the two validators say; a text that is no JSON is invalid by that alone."""
    outcome = validators.judge(text)
    return {False} if outcome.reason == "not_json" else {one.valid for one in outcome.opinions}


def whole_texts(trial: Trial, split: Split, engine: int) -> set[bytes]:
    return trial.whole_texts(engine, split.written, split.token)


def assert_no_verdict_is_false(trial, rows):
    names = [kind.__name__ for kind in trial.engines]
    outcomes = {one["outcome"] for one in records(rows, "engines")}
    assert not outcomes & ADAPTER_FAULTS.keys()
    judged = {one.place: one for one in splits(trial, rows)}
    for place, verdicts in verdicts_at(rows).items():
        split = judged[place]
        wrong, missing = acceptance_of(trial, split), rejection_of(trial, split)
        for verdict in verdicts:
            engine = names.index(verdict["engine"])
            if verdict["kind"] == missing:
                assert engine in split.rejecters
                texts = set().union(*(whole_texts(trial, split, one) for one in split.accepters))
                assert any(is_valid(trial.schema, text) for text in texts)
            elif verdict["kind"] == wrong:
                assert engine in split.accepters
                texts = whole_texts(trial, split, engine)
                assert not all(is_valid(trial.schema, text) for text in texts)
            else:
                assert verdict["kind"] == "unresolved"


def assert_what_can_be_found_is_found(trial, rows):
    names = [kind.__name__ for kind in trial.engines]
    found = verdicts_at(rows)
    for split in splits(trial, rows):
        verdicts = {(one["engine"], one["kind"]) for one in found.pop(split.place, [])}
        outcomes = {
            engine: {is_valid(trial.schema, text) for text in whole_texts(trial, split, engine)}
            for engine in split.accepters
            if trial.engines[engine] not in BARRED
        }
        wrong, missing = acceptance_of(trial, split), rejection_of(trial, split)
        if {True} in outcomes.values():
            assert {(names[engine], missing) for engine in split.rejecters} <= verdicts
        elif outcomes and all(one == {False} for one in outcomes.values()):
            accused = {(names[engine], wrong) for engine in outcomes}
            assert accused <= verdicts or len(outcomes) < len(split.accepters)
        if not any(trial.engines[engine] in BARRED for engine in split.accepters):
            assert {kind for _, kind in verdicts} <= {wrong, missing}
    assert not found, "verdicts about tokens that are not in dispute"


def assert_acceptances_are_attributed_to_what_their_texts_break(trial, rows):
    judged = {one.place: one for one in splits(trial, rows)}
    texts = {one["completion"]: one["text"] for one in records(rows, "completions")}
    for place, verdicts in verdicts_at(rows).items():
        split = judged[place]
        begun = split.written + trial.bytes_of(split.token)
        for verdict in verdicts:
            if verdict["kind"] == acceptance_of(trial, split):
                whole = begun + texts[verdict["completion"]]
                named = tuple(verdict[one] for one in ("keyword", *POINTERS))
                assert named in complaints(trial.schema, whole)
                said = {verdict["jsonschema"], verdict["jsonschema_rs"]}
                assert said == ({"invalid"} if is_json(whole) else {""})


def assert_errors_of_other_kinds_are_found_and_never_false(trial, rows, resolver):
    written = written_at(trial, rows)
    found = [(one["position"], one["token"], one["engine"], one["kind"]) for one in flaws(rows)]
    assert len(found) == len(set(found)), "one witness each"
    assert {one["reason"] for one in flaws(rows)} <= {""}
    early = {(at, kind) for at, _, _, kind in found if kind == "stops_too_early"}
    eos = trial.vocabulary.eos
    everyone = range(len(trial.engines))
    for position, text in written.items():
        all_end = all(trial.shows(engine, text, eos) for engine in everyone)
        assert ((position, "stops_too_early") in early) == (all_end and not is_json(text))
    kinds = {kind for *_, kind in found}
    assert kinds <= {"stops_too_early", "dead_end", "mask_consume_mismatch"}
    assert_stuck(trial, rows, found, everyone_asked=resolver == "rollout")


def assert_stuck(trial, rows, found, *, everyone_asked):
    """Whoever lies about a disputed token, or cannot finish it, is found out."""
    cleared = {
        place
        for place, verdicts in verdicts_at(rows).items()
        if any(one["kind"] in ("false_rejection", "never_stops") for one in verdicts)
    }
    for split in splits(trial, rows):
        for engine in split.accepters:
            of_engine = {
                kind
                for *place, name, kind in found
                if tuple(place) == split.place and name == trial.engines[engine].__name__
            }
            if trial.violates(engine, split.written, split.token):
                assert of_engine == {"mask_consume_mismatch"}
            elif everyone_asked or split.place not in cleared:
                stuck = not whole_texts(trial, split, engine)
                assert bool(of_engine & {"dead_end", "mask_consume_mismatch"}) >= stuck
            if trial.engines[engine] not in BARRED:
                assert of_engine <= {"stops_too_early"}


@pytest.mark.parametrize("resolver", RESOLVERS)
@given(trial=trials())
def test_against_the_oracle_all_is_found_and_nothing_else(resolver, trial):
    rows = trial.run(resolver)
    assert_no_verdict_is_false(trial, rows)
    assert_what_can_be_found_is_found(trial, rows)
    assert_acceptances_are_attributed_to_what_their_texts_break(trial, rows)
    assert_errors_of_other_kinds_are_found_and_never_false(trial, rows, resolver)
    assert_witnesses_replay(trial, rows)


POINTERS = ("schema_pointer", "instance_pointer")


ARRAY = {"type": "array", "items": {"enum": [1, 12]}, "minItems": 0, "maxItems": 1}
NEST = {"type": "array", "items": {"const": []}, "minItems": 0, "maxItems": 2}
NUMBER = {"enum": [1, 12, 20]}
STRING = {"enum": ["/", "a/"]}


@dataclass(frozen=True, eq=False)
class Planted:
    """One engine's one deviation, and how every verdict about it must be explained.

    Attributes:
        world: The world of all texts.
        schema: With the annotations of the engine.
        values: The references.
        engine: The one that deviates; the other is honest and complete.
        why: Kind, keyword, schema pointer, instance pointer and category of all verdicts.
    """

    world: str
    schema: dict[str, Any]
    values: tuple[Any, ...]
    engine: type
    why: set[tuple[str, str, str, str, str]]

    def trials(self) -> list[Trial]:
        """One for each reference."""
        schema = {**self.schema, "x-world": self.world}
        engines = (Speller, self.engine)
        return [Trial(schema, value, LONGER, engines) for value in self.values]

    @cache  # noqa: B019 - all of them stay
    def runs(self, resolver: str) -> list[tuple[Trial, Rows]]:
        """The trials with their rows, run once for all that is asked about them."""
        return [(trial, trial.run(resolver)) for trial in self.trials()]


def too_much(*where: str, category: str) -> tuple[str, ...]:
    return ("false_acceptance", *where, category)


def too_little(*where: str, category: str, kind: str = "false_rejection") -> tuple[str, ...]:
    return (kind, *where, category)


OF_ITEM = ("enum", "/items/enum", "/0")
OF_ENUM = ("enum", "/enum", "")

PLANTED = {
    "forgets maxItems": Planted(
        "nests",
        {**NEST, "maxItems": 1, "x-forgets": "/maxItems"},
        ([], [[]]),
        Forgets,
        {too_much("maxItems", "/maxItems", "", category="structural")},
    ),
    "forgets minItems": Planted(
        "arrays",
        {**ARRAY, "minItems": 1, "x-forgets": "/minItems"},
        ([1], [12]),
        Forgets,
        {too_much("minItems", "/minItems", "", category="structural")},
    ),
    "forgets the items": Planted(
        "arrays",
        {**ARRAY, "x-forgets": "/items/enum"},
        ([], [1], [12]),
        Forgets,
        {too_much(*OF_ITEM, category="number"), too_much(*OF_ITEM, category="structural")},
    ),
    "forgets the type": Planted(
        "arrays",
        {**ARRAY, "x-forgets": "/type"},
        ([], [1]),
        Forgets,
        {too_much("type", "/type", "", category="number")},
    ),
    "forgets enum of numbers": Planted(
        "numbers",
        {**NUMBER, "x-forgets": "/enum"},
        (1, 12, 20),
        Forgets,
        {too_much(*OF_ENUM, category="number"), too_much(*OF_ENUM, category="end")},
    ),
    "forgets enum of strings": Planted(
        "strings",
        {**STRING, "x-forgets": "/enum"},
        ("/", "a/"),
        Forgets,
        {too_much(*OF_ENUM, category="string"), too_much(*OF_ENUM, category="escape")},
    ),
    "insists on no item": Planted(
        "arrays",
        {**ARRAY, "x-insists": {"maxItems": 0}},
        ([],),
        Insists,
        {too_little(*OF_ITEM, category="number")},  # of the token [1 too: its bracket is allowed
    ),
    "insists on one of the numbers": Planted(
        "numbers",
        {**NUMBER, "x-insists": {"enum": [12]}},
        (12,),
        Insists,
        {
            too_little(*OF_ENUM, category="number"),
            too_little(*OF_ENUM, category="end", kind="never_stops"),
        },
    ),
    "insists on plain spelling of numbers": Planted(
        "numbers", NUMBER, (1, 12, 20), Enumerator, {too_little(*OF_ENUM, category="number")}
    ),
    "insists on plain spelling of strings": Planted(
        "strings",
        STRING,
        ("/", "a/"),
        Enumerator,
        {too_little(*OF_ENUM, category="escape"), too_little("", "", "", category="whitespace")},
    ),
}

WHY = ("kind", "keyword", "schema_pointer", "instance_pointer", "category")


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
@pytest.mark.thorough
class TestOneDeviation:
    """One engine is honest and complete, the other deviates in one way."""

    def test_all_of_it_is_found_and_nothing_else(self, planted, resolver):
        for trial, rows in planted.runs(resolver):
            assert told(trial, rows) == exact(trial, rows)
            assert not flaws(rows)

    def test_it_is_attributed_to_what_was_planted(self, planted, resolver):
        why = set()
        for _, rows in planted.runs(resolver):
            verdicts = records(rows, "verdicts")
            assert {one["engine"] for one in verdicts} <= {planted.engine.__name__}
            why |= {tuple(one[name] for name in WHY) for one in verdicts}
        assert why == planted.why


def is_decided(text: bytes) -> bool:
    """Whether the validators decide it: numbers that no double holds are left undecided."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return keeps_numbers(text)


@st.composite
def told_engines(draw: st.DrawFn) -> Trial:
    """An honest engine that knows its world, and one that allows some texts of it."""
    world, schema, values = draw(
        st.sampled_from(
            [
                ("arrays", ARRAY, ([], [1], [12])),
                ("nests", NEST, ([], [[]], [[], []])),
                ("numbers", NUMBER, (1, 12, 20)),
                ("strings", STRING, ("/", "a/")),
            ]
        )
    )
    some = WORLDS[world]
    right = st.sampled_from(sorted(some.valid(schema)))
    wrong = st.sampled_from(sorted(some.values.keys() - some.valid(schema)))
    junk = st.lists(st.sampled_from(some.alphabet), min_size=1, max_size=some.length).map(bytes)
    some_texts = st.lists((right | wrong | junk).filter(is_decided), max_size=8)
    texts = draw(some_texts)
    value = draw(st.sampled_from(values))
    allowed = [text.decode() for text in texts] + [json.dumps(value)] * draw(st.booleans())
    schema = {**schema, "x-world": world, "x-allows": allowed}
    return Trial(schema, value, LONGER, (Speller, Allows))


@pytest.mark.thorough
class TestAnyDeviation:
    @pytest.mark.parametrize("resolver", RESOLVERS)
    @given(trial=told_engines())
    def test_beside_an_honest_engine_all_of_it_is_found_and_nothing_else(self, resolver, trial):
        rows = trial.run(resolver)
        assert told(trial, rows) == exact(trial, rows)
        assert not flaws(rows)
