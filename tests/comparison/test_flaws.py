"""Errors of other kinds: each under its own name, with one witness, and nobody else accused."""

import itertools
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from harness.completion.rollout import LIMIT
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import set_bits
from tests.comparison.test_case_run import CrashesBehindExtra, EndsEarly, ForbidsEnd
from tests.inprocess import UNCAPPED, case, records, run_case
from tests.miniatures import (
    AcceptsExtra,
    ConsumeLies,
    Enumerator,
    LanguageMatcher,
    MaskLies,
    NeverEnds,
    Repeats,
)
from tests.oracle import RESOLVERS, ForbidsAndAccepts, flaws
from tests.replaying import replayed

VOCABULARY = byte_vocabulary()
EOS = VOCABULARY.eos
DEAD = {"const": 1, "x-extra": ["20"], "x-forbidden": [["2", "0"]]}


def completions(rows) -> dict[int, tuple[int, ...]]:
    """The tokens of each completion; none for the number of nothing."""
    found = {one["completion"]: tuple(one["tokens"]) for one in records(rows, "completions")}
    return found | {-1: ()}


def listed(rows) -> list[tuple[Any, ...]]:
    """The errors of other kinds: engine, kind, reason, position, token, completion's tokens."""
    tokens = completions(rows)
    names = ("engine", "kind", "reason", "position", "token")
    return [(*(one[name] for name in names), tokens[one["completion"]]) for one in flaws(rows)]


def accused(rows) -> set[tuple[str, str]]:
    return {(one["engine"], one["kind"]) for one in records(rows, "verdicts")}


class LiesAndAccepts(ConsumeLies, AcceptsExtra):
    """Shows tokens of the extra texts that it then refuses."""


class Follows(MaskLies, AcceptsExtra):
    """Its way of consuming many tokens in one go allows what its mask forbids."""

    class Matcher(LanguageMatcher):
        def follow(self, tokens):
            trial = self.clone()
            return next(
                (at for at, one in enumerate(tokens) if not trial.consume(one)), len(tokens)
            )

    def matcher(self, schema):
        lying = super().matcher(schema)
        return self.Matcher(self.vocabulary, lying.language, lying.shown)


@pytest.mark.parametrize("resolver", RESOLVERS)
class TestDeadEnds:
    def test_an_empty_mask_further_on(self, resolver):
        schema = {"const": 1, "x-extra": ["2345"], "x-forbidden": [["234", "5"]]}
        rows = run_case(
            [Enumerator, ForbidsAndAccepts], case(schema, 1), resolver=RESOLVERS[resolver]
        )
        assert listed(rows) == [("ForbidsAndAccepts", "dead_end", "", 0, ord("2"), (*b"34",))]
        (verdict,) = records(rows, "verdicts")
        assert (verdict["accepter"], verdict["dispute"]) == ("ForbidsAndAccepts", 0)
        assert (verdict["category"], verdict["located"]) == ("number", None)


@pytest.mark.parametrize("resolver", RESOLVERS)
class TestMasksThatLie:
    def test_by_showing_what_is_refused(self, resolver):
        schema = {"enum": [1, 12], "x-forbidden": [["1", "2"]]}

        class Narrow(Enumerator):
            """Allows 1 alone."""

            def language(self, schema):
                return super().language({"enum": [1]})

        engines = [Enumerator, ConsumeLies, Narrow]
        rows = run_case(engines, case(schema, 1), resolver=RESOLVERS[resolver])
        assert listed(rows) == [("ConsumeLies", "mask_consume_mismatch", "", 1, ord("2"), ())]
        assert accused(rows) == {
            ("ConsumeLies", "mask_consume_mismatch"),
            ("Narrow", "false_rejection"),
        }


class TestMasksThatHideWhatIsConsumed:
    SCHEMA: ClassVar = {"const": 12, "x-extra": [" 12"], "x-forbidden": [[" 1", "2"]]}

    FOUND: ClassVar = [
        ("Follows", "dead_end", "", 0, ord(" "), (ord("1"),)),
        ("Follows", "mask_consume_mismatch", "", 0, ord(" "), (*b"12",)),
    ]
    """By its masks it is stuck; by what it consumes it is not."""

    def test_are_found_out_where_a_verdict_would_rest_on_them(self):
        rows = run_case([Enumerator, Follows], case(self.SCHEMA, 12))
        assert listed(rows) == self.FOUND
        assert {engine for engine, _ in accused(rows)} == {"Follows"}
        (row,) = (
            one for one in records(rows, "engines") if one["outcome"] == "mask_consume_mismatch"
        )
        assert (row["engine"], row["stage"], row["position"]) == ("Follows", "resolve", 0)

    def test_spoil_no_proof_by_another_engine(self):
        """And the dead end is not met, since the other engine settles the token."""
        rows = run_case([Enumerator, Follows, AcceptsExtra], case(self.SCHEMA, 12))
        assert listed(rows) == self.FOUND[1:]
        (verdict,) = (one for one in records(rows, "verdicts") if one not in flaws(rows))
        assert (verdict["engine"], verdict["kind"]) == ("Enumerator", "false_rejection")
        assert verdict["accepter"] == "AcceptsExtra"


BLANK = {"enum": [[1, 2]], "x-repeats": ["[1,", " ", 10**9]}


class TestUnfinishable:
    @pytest.mark.parametrize(
        ("written", "token", "sort"),
        [
            ("[1,", " ", "whitespace"),
            ("[1,", "\n", "whitespace"),
            ("[1,", "\t", "whitespace"),
            ("[1", "0", "digits"),
            ("[1", "1", "digits"),
        ],
    )
    @pytest.mark.parametrize("resolver", RESOLVERS)
    def test_the_same_for_ever(self, written, token, sort, resolver):
        schema = {**BLANK, "x-repeats": [written, token, 10**9]}
        rows = run_case([Enumerator, Repeats], case(schema, [1, 2]), resolver=RESOLVERS[resolver])
        code = ord(token)
        (found,) = (one for one in listed(rows) if one[1] == "unbounded_repetition")
        assert found == (
            "Repeats",
            "unbounded_repetition",
            sort,
            len(written),
            code,
            (code,) * (LIMIT - 1),
        )
        assert {engine for engine, kind in accused(rows) if kind == "unbounded_repetition"} == {
            "Repeats"
        }

    def test_needs_no_dispute(self):
        rows = run_case([Repeats, AlsoRepeats], case(BLANK, [1, 2]))
        assert not rows.count("disputes")
        assert [one["dispute"] for one in records(rows, "verdicts")] == [-1, -1]
        assert accused(rows) == {
            ("Repeats", "unbounded_repetition"),
            ("AlsoRepeats", "unbounded_repetition"),
        }

    def test_is_looked_for_once_and_not_again(self):
        """There is no white space without end at the first place where it is looked for."""
        schema = {**BLANK, "x-repeats": ["[1, ", "\n", 10**9]}
        rows = run_case([Enumerator, Repeats], case(schema, [1, 2]))
        assert ("Repeats", "unbounded_repetition") not in accused(rows)

    def test_one_of_each_sort_at_most(self):
        rows = run_case([Enumerator, RepeatsAll], case({"enum": [[1, 2]]}, [1, 2]))
        found = Counter(one[:3] for one in listed(rows))
        assert found == {
            ("RepeatsAll", "unbounded_repetition", "whitespace"): 1,
            ("RepeatsAll", "unbounded_repetition", "digits"): 1,
        }


class AlsoRepeats(Repeats):
    """As its base."""


class RepeatsAll(Enumerator):
    """Lets digits behind the first number, blanks and line feeds behind the comma go on for ever."""

    class Matcher(LanguageMatcher):
        MORE: ClassVar = {b"[1": b"01", b"[1,": b" \n"}

        def allowed(self, language):
            more = self.MORE.get(self.written, b"")
            return super().allowed(language) | set_bits(more, self.vocabulary.words)

        def consume(self, token):
            return token in [*self.MORE.get(self.written, b"")] or super().consume(token)


class AlsoForbidsEnd(ForbidsEnd):
    """As its base."""


class AlsoEndsEarly(EndsEarly):
    """As its base."""


class TestEndsThatAllGetWrong:
    def test_no_engine_stops(self):
        rows = run_case([ForbidsEnd, AlsoForbidsEnd], case({"enum": [1, 12]}, 1))
        assert not rows.count("disputes")
        assert listed(rows) == [
            ("ForbidsEnd", "never_stops", "", 1, EOS, ()),
            ("AlsoForbidsEnd", "never_stops", "", 1, EOS, ()),
        ]
        assert {one["accepter"] for one in flaws(rows)} == {""}
        assert {one["category"] for one in flaws(rows)} == {"end"}
        assert not accused(run_case([ForbidsEnd, AlsoForbidsEnd], case({"enum": [1, 12]}, 12)))

    def test_all_engines_stop_too_early(self):
        rows = run_case([EndsEarly, AlsoEndsEarly], case({"enum": [1, 2]}, 1))
        assert listed(rows) == [
            ("EndsEarly", "stops_too_early", "", 0, EOS, ()),
            ("AlsoEndsEarly", "stops_too_early", "", 0, EOS, ()),
        ]
        assert [one["accepter"] for one in flaws(rows)] == ["EndsEarly", "AlsoEndsEarly"]

    def test_where_one_of_them_is_right_it_is_a_dispute(self):
        for wrong, right in [(ForbidsEnd, 1), (EndsEarly, 2)]:
            rows = run_case([wrong, Enumerator, wrong], case({"enum": [1, 2]}, right))
            assert flaws(rows) == []
            kinds = {kind for _, kind in accused(rows)}
            assert kinds == ({"never_stops"} if wrong is ForbidsEnd else {"stops_too_early"})
            assert "Enumerator" not in {engine for engine, _ in accused(rows)}


@pytest.mark.thorough
class TestTheSameWhateverElseHappens:
    CASES = (
        case(DEAD, 1, name="dead end"),
        case(BLANK, [1, 2], name="blanks"),
        case({"const": 12, "x-extra": ["12x"], "x-forbidden": [["12", "x"]]}, 12, name="lie"),
        case(TestMasksThatHideWhatIsConsumed.SCHEMA, 12, name="hidden"),
        case({**BLANK, "x-repeats": ["[1", "0", LIMIT]}, [1, 2], name="digits"),
    )
    ENGINES = (
        Enumerator,
        ForbidsAndAccepts,
        AcceptsExtra,
        NeverEnds,
        Repeats,
        LiesAndAccepts,
        Follows,
    )

    def test_however_often_another_engine_fails(self):
        rules = replace(UNCAPPED, on_dropout="continue")
        failures = 0
        undisturbed = {
            one.id: listed(run_case(self.ENGINES, one, rules=rules)) for one in self.CASES
        }
        for one, after in itertools.product(self.CASES, (0, 2)):
            schema = one.schema[:-1] + f', "x-crash": {after}' + "}"
            crashing = replace(one, schema=schema)
            rows = run_case([*self.ENGINES, CrashesBehindExtra], crashing, rules=rules)
            found = [flaw for flaw in listed(rows) if flaw[0] != "CrashesBehindExtra"]
            assert found == undisturbed[one.id]
            failures += sum(row["outcome"] == "crashed" for row in records(rows, "engines"))
        assert failures > len(self.CASES)

    def test_every_one_of_them_replays(self, tmp_path):
        kinds = set()
        for number, one in enumerate(self.CASES):
            rows = run_case(self.ENGINES, one)
            (tmp_path / str(number)).mkdir()
            book: Any = SimpleNamespace(rows=rows, vocabulary=VOCABULARY)
            for again in replayed(tmp_path / str(number), [book], self.ENGINES):
                assert again.agrees, str(again)
                kinds.add(again.witness.kind)
        assert {
            "dead_end",
            "mask_consume_mismatch",
            "unbounded_repetition",
            "false_rejection",
        } <= kinds


class StopsDead(Enumerator):
    """Allows nothing behind ``[1``."""

    class Matcher(LanguageMatcher):
        def allowed(self, language):
            mask = super().allowed(language)
            return mask & 0 if self.written == b"[1" else mask


class TestWhatTheWalkItselfShows:
    def test_a_step_into_an_empty_mask_is_a_dead_end_though_all_stand_before_it(self):
        rows = run_case([StopsDead, StopsDead], case({"const": [1]}, [1]))
        found = [
            (one["position"], one["token"], one["engine"], one["kind"], one["dispute"])
            for one in records(rows, "verdicts")
        ]
        assert found == [
            (1, ord("1"), "StopsDead", "dead_end", -1),
            (1, ord("1"), "StopsDead-2", "dead_end", -1),
        ]

    def test_a_token_of_the_walk_that_is_shown_and_refused_is_a_lie(self):
        one = case({"const": 12, "x-forbidden": [["1", "2"]]}, 12)
        rows = run_case([ConsumeLies, Enumerator], one)
        found = [
            (row["position"], row["token"], row["engine"], row["kind"])
            for row in records(rows, "verdicts")
        ]
        assert found == [(1, ord("2"), "ConsumeLies", "mask_consume_mismatch")]
