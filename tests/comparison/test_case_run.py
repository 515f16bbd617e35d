"""The method on miniatures, held to an oracle that knows every text an engine can write."""

import itertools
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from harness.comparison.case_run import MAX_FAILURES
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.protocol import set_bits
from harness.runs.tables import SCHEMAS, Rows
from tests import miniatures
from tests.inprocess import UNCAPPED, case, make_run, records, run_case, study
from tests.miniatures import (
    AcceptsExtra,
    CrashesOnCompile,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    Forces,
    HangsOnMask,
    RaisesOnMask,
)
from tests.oracle import RESOLVERS, is_valid, trials

CLOCKS = ("timings", "costs")
TWO_ENDS = Vocabulary.from_tokens(
    "two ends", [*map(bytes, zip(range(256))), b"<eos>", b"<stop>"], [256, 257], [256, 257]
)


def outcome(rows: Rows) -> dict[str, Any]:
    """All rows but those that tell how long something took."""
    return {table: rows.lists(table) for table in SCHEMAS if table not in CLOCKS}


def kinds(rows: Rows) -> set[tuple[str, str]]:
    return {(verdict["engine"], verdict["kind"]) for verdict in records(rows, "verdicts")}


class KnowsNoFormat(Enumerator):
    """Takes every text of ``enum``, whatever its format."""

    def language(self, schema):
        return super().language({key: schema[key] for key in schema if key != "format"})


class AssertsFormat(KnowsNoFormat, ForbidsOne):
    """The same, but for the tokens of ``x-forbidden``."""


class TestHonestEngines:
    @given(trial=trials())
    def test_are_never_accused_where_the_liars_lie_with_invalid_texts(self, trial):
        extra = [one for one in trial.schema["x-extra"] if not is_valid(trial.schema, one.encode())]
        engines = tuple(dict.fromkeys([Enumerator, *trial.engines]))
        trial = replace(trial, schema={**trial.schema, "x-extra": extra}, engines=engines)
        for resolver in RESOLVERS:
            accused = {engine for engine, _ in kinds(trial.run(resolver))}
            assert "Enumerator" not in accused

    @pytest.mark.parametrize(
        ("rule", "found", "keyword"),
        [
            ("assertion", {("KnowsNoFormat", "false_acceptance")}, "format"),
            ("annotation", {("AssertsFormat", "false_rejection")}, "enum"),
        ],
    )
    def test_are_judged_by_the_rule_for_formats(self, rule, found, keyword):
        """One engine allows what is no date, the other forbids it."""
        schema = {"enum": ["ab", "2000-01-01"], "format": "date", "x-forbidden": [['"', "a"]]}
        rules = study(cap=None, formats=rule)
        rows = run_case([KnowsNoFormat, AssertsFormat], case(schema, "2000-01-01"), rules=rules)
        assert kinds(rows) == found
        assert {verdict["keyword"] for verdict in records(rows, "verdicts")} == {keyword}

    def test_have_no_disputes_with_each_other(self):
        rows = run_case([Enumerator, Enumerator], case({"enum": [1, 12, "é"]}, "é"))
        assert rows.count("positions") > 3
        assert not rows.count("disputes")

    def test_are_told_where_a_token_leaves_what_they_force(self):
        vocabulary = byte_vocabulary([b"[tr", b"[\n"])
        one = case({"enum": [[True]], "x-extra": ["[\ntrue]"]}, [True])
        rows = run_case([AcceptsExtra, Forces], one, vocabulary)
        found = {
            vocabulary.tokens[verdict["token"]]: (verdict["refused_at"], verdict["place"])
            for verdict in records(rows, "verdicts")
            if (verdict["engine"], verdict["position"]) == ("Forces", 0)
        }
        assert found[b"[\n"] == (1, "start of value")
        assert found[b"["] == (0, "start of value")  # another cut


class ForbidsEnd(Enumerator):
    """Does not let the text end behind ``1``."""

    class Matcher(miniatures.LanguageMatcher):
        def allowed(self, language):
            mask = super().allowed(language)
            return mask & ~self.vocabulary.eos_mask if self.written == b"1" else mask


class AllowsOnlyExtra(AcceptsExtra):
    """Allows the texts of ``x-extra`` and no others."""

    def language(self, schema):
        return miniatures.Language(frozenset(text.encode() for text in schema["x-extra"]))


class TestWhoIsCharged:
    SCHEMA = MappingProxyType(
        {"enum": [12, 20], "x-extra": ["13", "20"], "x-forbidden": [["", "1"]]}
    )
    """Behind 1, one engine goes on to what is valid, one to what is not; one forbids it."""

    def test_in_the_original_procedure_each_answers_for_its_own_completion(self):
        engines = [Enumerator, AllowsOnlyExtra, ForbidsOne]
        rows = run_case(engines, case(dict(self.SCHEMA), 20), resolver=RESOLVERS["rollout"])
        assert kinds(rows) == {
            ("ForbidsOne", "false_rejection"),
            ("AllowsOnlyExtra", "false_acceptance"),
        }

    def test_of_a_large_dispute_just_the_right_tokens_are_cleared(self):
        rows = run_case([Enumerator, miniatures.AllowsEverything], case({"const": True}, True))
        cleared = {
            one["token"]
            for one in records(rows, "verdicts")
            if (one["position"], one["kind"]) == (0, "false_rejection")
        }
        assert cleared == set(b" \t\r\n")


class EndsEarly(Enumerator):
    """Allows the end before anything is written, and not behind ``12``."""

    class Matcher(miniatures.LanguageMatcher):
        def allowed(self, language):
            mask = super().allowed(language)
            if self.ended or self.written not in (b"", b"12"):
                return mask
            return mask ^ self.vocabulary.eos_mask


class EndsInOneWay(Enumerator):
    """Knows only the first of the ids that end generation."""

    class Matcher(miniatures.LanguageMatcher):
        def allowed(self, language):
            others = set_bits(self.vocabulary.eos_ids[1:], self.vocabulary.words)
            return super().allowed(language) & ~others


class ForbidsTwelve(ForbidsOne):
    """Forbids the token ``12`` at the start."""

    def language(self, schema):
        return super().language({**schema, "x-forbidden": [["", "12"]]})


class TestTheEndOfGeneration:
    @pytest.mark.parametrize("reference", [1, 12])
    def test_forbidden_where_a_valid_text_is_whole(self, reference):
        rows = run_case([Enumerator, ForbidsEnd], case({"enum": [1, 12]}, reference))
        (verdict,) = records(rows, "verdicts")
        assert (verdict["engine"], verdict["kind"]) == ("ForbidsEnd", "never_stops")
        assert (verdict["position"], verdict["token"]) == (1, 256)
        assert (verdict["accepter"], verdict["category"]) == ("Enumerator", "end")
        (completion,) = records(rows, "completions")
        assert (completion["text"], completion["tokens"]) == (b"", [])

    def test_allowed_behind_a_value_that_is_complete_and_wrong(self):
        rows = run_case([Enumerator, AcceptsExtra], case({"const": 12, "x-extra": ["1"]}, 12))
        (verdict,) = records(rows, "verdicts")
        assert (verdict["engine"], verdict["kind"]) == ("AcceptsExtra", "false_acceptance")
        assert (verdict["position"], verdict["token"]) == (1, 256)
        assert (verdict["keyword"], verdict["located"]) == ("const", True)

    def test_of_one_token_ends_no_other(self):
        """An end that comes too early, beside a token that is right and cannot be finished."""
        one = case({"enum": [1, 12]}, 1)
        rows = run_case([ForbidsTwelve, EndsEarly], one, byte_vocabulary([b"12"]))
        assert kinds(rows) == {("EndsEarly", "stops_too_early"), ("EndsEarly", "dead_end")}

    def test_one_of_several_ids_that_end_generation_is_enough(self):
        rows = run_case([Enumerator, EndsInOneWay], case({"const": 1}, 1), TWO_ENDS)
        assert records(rows, "positions")[-1]["disputed_tokens"] == 1
        assert not rows.count("verdicts")

    def test_every_id_that_ends_generation_is_judged(self):
        rows = run_case([Enumerator, ForbidsEnd], case({"const": 1}, 1), TWO_ENDS)
        assert [verdict["token"] for verdict in records(rows, "verdicts")] == [256, 257]
        assert kinds(rows) == {("ForbidsEnd", "never_stops")}


class CrashesBehindExtra(AcceptsExtra, CrashesOnMask):
    """Allows the extra texts, and crashes on the way to their end."""

    fail = miniatures.crash


LIE = {"enum": ["ab", "cd"], "x-extra": ['"ax"', '"abx"', "7"], "x-crash": 2}


def proofs(rows: Rows, *engines: type) -> list[tuple[int, int, str, str]]:
    """Position, token, engine and kind of the verdicts about some engines."""
    names = {kind.__name__ for kind in engines}
    found = [
        (one["position"], one["token"], one["engine"], one["kind"])
        for one in records(rows, "verdicts")
        if one["engine"] in names
    ]
    return sorted(found)


class TestTheFailureOfOneEngine:
    @pytest.mark.parametrize("failing", [CrashesOnMask, HangsOnMask, RaisesOnMask])
    def test_in_a_walk_is_its_own(self, failing):
        alone = run_case([Enumerator, AcceptsExtra], case(LIE, "ab"))
        rules = replace(UNCAPPED, on_dropout="continue")
        rows = run_case([failing, Enumerator, AcceptsExtra], case(LIE, "ab"), rules=rules)
        others = (Enumerator, AcceptsExtra)
        assert proofs(rows, *others) == proofs(alone, *others) != []
        assert failures(rows) == [
            (failing.__name__, "walk", 2),
            (failing.__name__, "instances", -1),
        ]
        assert [one["judged"] for one in records(rows, "positions")] == [7, 7, 6, 6, 6]

    def test_in_a_walk_stops_it_for_all_under_the_common_rule(self):
        rows = run_case([CrashesOnMask, Enumerator, AcceptsExtra], case(LIE, "ab"))
        assert rows.count("positions") == 2
        assert {one["position"] for one in records(rows, "verdicts")} <= {0, 1}
        assert {engine for engine, _ in kinds(rows)} == {"AcceptsExtra"}

    def test_at_compilation_leaves_the_others_to_be_judged(self):
        crash = case({**LIE, "x-crash": 0}, "ab")
        rules = replace(UNCAPPED, on_dropout="continue")
        rows = run_case([Enumerator, CrashesOnCompile, AcceptsExtra], crash, rules=rules)
        others = (Enumerator, AcceptsExtra)
        assert proofs(rows, *others) == proofs(run_case(others, crash), *others) != []
        assert failures(rows) == [("CrashesOnCompile", "compile", -1)]

    def test_while_resolving_leaves_its_own_tokens_open_and_the_walk_goes_on(self):
        schema = {"const": 7, "x-extra": ["1234"], "x-crash": 3}
        rows = run_case([Enumerator, CrashesBehindExtra, AcceptsExtra], case(schema, 7))
        assert kinds(rows) == {
            ("CrashesBehindExtra", "unresolved"),
            ("AcceptsExtra", "false_acceptance"),
        }
        assert failures(rows) == [("CrashesBehindExtra", "resolve", 0)]
        assert [one["judged"] for one in records(rows, "positions")] == [7, 7]

    def test_again_and_again_ends_its_part_in_the_case_and_not_in_the_next(self):
        extras = ["91234", "79123", "77912", "77791", "77779"]
        schema = {"const": 77777, "x-extra": extras, "x-crash": 6}
        short = {"const": 7, "x-extra": ["8"]}
        run = make_run([Enumerator, CrashesBehindExtra])
        longer = [extra + "0" * 9 for extra in extras]
        first = run.run(case({**schema, "x-extra": longer}, 77777, name="first"))
        assert len(failures(first)) == MAX_FAILURES == first.count("positions")
        second = run.run(case(short, 7, name="second"))
        assert kinds(second) == {("CrashesBehindExtra", "false_acceptance")}


class TestSeveralWalks:
    RULES = replace(UNCAPPED, walks=2, on_dropout="continue")

    def test_go_through_the_valid_instances_with_proofs_of_their_own(self):
        rows = run_case([Enumerator, AcceptsExtra], case(LIE, "ab", "cd"), rules=self.RULES)
        walked = {}
        for one in records(rows, "positions"):
            walked.setdefault(one["walk"], []).append(one["offset"])
        assert {walk: offsets[-1] for walk, offsets in walked.items()} == {0: 4, 1: 4}
        accused = {(one["walk"], one["position"]) for one in records(rows, "verdicts")}
        assert accused == {(0, 0), (0, 2), (0, 3), (1, 0)}

    def test_an_engine_that_failed_in_one_takes_no_part_in_the_next(self):
        engines = [CrashesOnMask, Enumerator, AcceptsExtra]
        rows = run_case(engines, case(LIE, "ab", "cd"), rules=self.RULES)
        judged = {(one["walk"], one["judged"]) for one in records(rows, "positions")}
        assert judged == {(0, 7), (0, 6), (1, 6)}
        assert failures(rows) == [("CrashesOnMask", "walk", 2), ("CrashesOnMask", "instances", -1)]


def failures(rows: Rows) -> list[tuple[str, str, int]]:
    """Engine, stage and position of everything that is no compilation."""
    return [
        (one["engine"], one["stage"], one["position"])
        for one in records(rows, "engines")
        if one["outcome"] != "compiled"
    ]


@pytest.mark.thorough
class TestTheSameEveryTime:
    CASES = (
        case(LIE, "ab", name="lies"),
        case({**LIE, "x-crash": 1}, "cd", name="crashes early"),
        case({"enum": [1, 12], "x-extra": ["1.0", "13"], "x-crash": 0}, 12, name="crashes at once"),
        case({"type": "string"}, "ab", name="refused"),
        case({"const": 1}, 2, name="reference is not valid"),
        case({"enum": [1, 2]}, name="no reference"),
        case({"const": "é", "x-extra": ['"é!"']}, "é", name="plain"),
    )
    ENGINES = (Enumerator, AcceptsExtra, CrashesOnMask)
    SURVIVORS = replace(UNCAPPED, on_dropout="continue")

    def test_whatever_the_order_of_the_cases(self):
        expected = {
            one.id: outcome(run_case(self.ENGINES, one, rules=self.SURVIVORS)) for one in self.CASES
        }
        for order in itertools.islice(itertools.permutations(self.CASES), 0, None, 401):
            run = make_run(self.ENGINES, rules=self.SURVIVORS)
            assert {one.id: outcome(run.run(one)) for one in order} == expected

    @given(trial=trials())
    def test_a_cap_takes_verdicts_away_and_changes_none(self, trial):
        def found(cap: int | None) -> set[tuple[Any, ...]]:
            rows = trial.run("rollout", study(cap=cap))
            names = ("position", "token", "engine", "kind", "reason")
            return {tuple(one[name] for name in names) for one in records(rows, "verdicts")}

        assert found(1) <= found(2) <= found(None)


def test_without_walks_values_alone_are_fed_to_however_many_engines():
    one = case({"const": 1, "x-extra": ["12"]}, 1, invalid=(12,))
    rows = run_case([AcceptsExtra], one, rules=study(walks=0))
    assert [row["effect"] for row in records(rows, "instance_verdicts")] == ["invalid_value"]
    assert not rows.count("positions")
