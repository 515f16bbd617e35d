"""Mutants of the harness's own core: each is told from the original by a check of a few lines.

A mutant changes one function. Its check, a test of this package or of `tests.checks`, runs cases of
which all is known and must then fail; it passes on the original.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.comparison import (
    case_run,
    case_walk,
    challenger,
    disputes,
    findings,
    flaws,
    generated_instances,
    position_resolution,
    samples,
    text_feeding,
    verdict_record,
)
from harness.comparison.findings import Findings, Status
from harness.comparison.verdict_record import FedText
from harness.completion.rollout import Rollout
from harness.engines import service
from harness.explain import error_location
from harness.validators import judge, validate
from tests import checks
from tests.comparison import (
    test_case_run,
    test_challenger,
    test_flaws,
    test_instances,
    test_made,
    test_walk,
)
from tests.comparison.test_challenger import SecondTypist, Typist
from tests.comparison.test_exact import PLANTED
from tests.comparison.test_exact import TestOneDeviation as OneDeviation

pytestmark = pytest.mark.thorough

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutant:
    """What is changed, and what must then fail."""

    name: str
    patch: Patch
    check: Callable[[], None]


def changed_findings(change: Callable[[Findings], Findings]) -> Patch:
    """Verdicts are drawn from other findings than were made."""

    def patch(monkeypatch):
        monkeypatch.setattr(case_walk, "judge", lambda found: findings.judge(change(found)))

    return patch


def status_for(old: Status, new: Status) -> Patch:
    """One status counts as another."""

    def change(found: Findings) -> Findings:
        return replace(found, status=np.where(found.status == old, new, found.status))

    return changed_findings(change)


def instead(owner: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """`make` is given the original, and gives what is put in its place."""

    def patch(monkeypatch):
        monkeypatch.setattr(owner, name, make(getattr(owner, name)))

    return patch


def fed_otherwise(**change: Callable[[FedText], Any]) -> Patch:
    """Instances are fed with some fields changed."""

    def make(prepare):
        def prepared(*arguments):
            fed = prepare(*arguments)
            return [replace(one, **{name: of(one) for name, of in change.items()}) for one in fed]

        return prepared

    return instead(text_feeding.CaseTexts, "prepare", make)


def ruled_as_the_next(
    fed: dict[bytes, FedText], writers: dict[bytes, int]
) -> tuple[dict[bytes, FedText], dict[bytes, int]]:
    """Texts with the rulings of those behind them."""
    rulings = [one.ruling for one in fed.values()]
    others = [*rulings[1:], *rulings[:1]]
    turned = zip(fed.items(), others, strict=True)
    return {text: replace(one, ruling=ruling) for (text, one), ruling in turned}, writers


def believed(verdict: int):
    """Made texts are ruled on by those who made them."""

    def make(judged):
        def ruled(judge_, values, style):
            found = judged(judge_, values, style)
            return [(value, replace(one, ruling=judge.Ruling(verdict, ""))) for value, one in found]

        return ruled

    return make


def rolled_as(outcome: str) -> Patch:
    """Roll-outs that end so count as complete."""

    def make(roll_out):
        def rolled(*arguments):
            one = roll_out(*arguments)
            return Rollout("complete", one.tokens) if one.outcome == outcome else one

        return rolled

    return instead(service, "roll_out", make)


def trusting(which: int) -> Patch:
    """One validator decides alone."""

    def make(judge_value):
        def judged(self, value, *, errors):
            outcome = judge_value(self, value, errors=errors)
            verdict = "valid" if outcome.opinions[which].valid else "invalid"
            return replace(outcome, verdict=verdict, reason="")

        return judged

    return instead(validate.Validators, "_judge", make)


def shifted(by: int) -> Patch:
    """The place of the disputed token is off by some bytes."""

    def make(fails_at):
        return lambda text, start, end, *rest: fails_at(text, start + by, end + by, *rest)

    return instead(error_location, "fails_at", make)


def skipping_the_end(follow):
    return lambda matcher, tokens, words: (
        follow(matcher, tokens[:-1], words) + 1 if tokens else follow(matcher, tokens, words)
    )


def drawn_by_place(draw):
    """The sample is drawn by the places of the tokens in their list."""

    def drawn(tokens, cap, always, key, *_):
        if cap is None or len(tokens) <= cap:
            return draw(tokens, cap, always, key)
        places = draw(np.arange(len(tokens), dtype=np.int32), cap, (), f"{key}/{len(tokens)}")
        return tokens[places]

    return drawn


def inverted(screen):
    """Rulings on completions, valid for invalid."""
    other = {judge.VALID: judge.INVALID, judge.INVALID: judge.VALID, judge.SUSPECT: judge.VALID}

    def screened(self, *texts):
        rulings, which = screen(self, *texts)
        return [one._replace(verdict=other.get(one.verdict, one.verdict)) for one in rulings], which

    return screened


def suspecting(screen):
    """What the fast validator alone calls invalid is invalid."""

    def judged(self, *texts):
        rulings, which = judge.Judge.screen_many(self, *texts)
        return [
            one._replace(verdict=judge.INVALID) if one.verdict == judge.SUSPECT else one
            for one in rulings
        ], which

    return judged


def of_the_next(prepared):
    """The completion of an entry is the one behind it in the list."""

    def proven(found):
        one = prepared(found)
        count = max(len(found.completions), 1)
        numbers = np.where(one.completion >= 0, (one.completion + 1) % count, -1)
        return replace(one, completion=numbers)

    return proven


def with_swapped_acceptances(begin):
    def begun(self, *given, **rules):
        begin(self, *given, **rules)
        self.findings.accepts = ~self.findings.accepts

    return begun


def clearing_nobody(monkeypatch):
    """Neither while a position is resolved nor in what is concluded of it."""

    def without_clearing(screen):
        def screened(self, tried):
            screen(self, tried)
            self.cleared[:] = False

        return screened

    def each_for_itself(found):
        return findings.judge(replace(found, valid_completion_exonerates=False))

    instead(position_resolution.PositionResolution, "screen", without_clearing)(monkeypatch)
    monkeypatch.setattr(case_walk, "judge", each_for_itself)


def but_the_last(undecided):
    def without(self):
        found = undecided(self).copy()
        found[:, -1] = False
        return found

    return without


def crediting_the_accused(prepared):
    def proven(found):
        one = prepared(found)
        return replace(one, accepter=np.where(one.completion >= 0, one.row, -1))

    return proven


def of_its_right_neighbour(name):
    """The name of an engine in place of the challenger's."""
    return lambda self, engine: self._names[engine]


AllShare, Ends = test_challenger.TestAnErrorThatAllShare, test_case_run.TestTheEndOfGeneration
Failure, Unfinishable = test_case_run.TestTheFailureOfOneEngine, test_flaws.TestUnfinishable
Masks, Walked = test_flaws.TestMasksThatHideWhatIsConsumed, test_walk.TestWalkedText


def all_is_found() -> None:
    for name in ("forgets maxItems", "insists on one of the numbers"):
        planted = replace(PLANTED[name])  # whose runs are not yet known
        OneDeviation().test_all_of_it_is_found_and_nothing_else(planted, "shared")


def it_is_attributed() -> None:
    for name in ("insists on no item", "forgets minItems"):
        planted = replace(PLANTED[name])
        OneDeviation().test_it_is_attributed_to_what_was_planted(planted, "shared")


MUTANTS = (
    Mutant(
        "the challenger allows what is no JSON",
        instead(
            challenger.JsonMasks,
            "at",
            lambda at: lambda self, state: self._vocabulary.ordinary_mask,
        ),
        lambda: AllShare().test_a_token_that_all_allow_convicts_all("shared"),
    ),
    Mutant(
        "what the challenger found is put in an engine's mouth",
        instead(verdict_record.VerdictNotes, "_name", of_its_right_neighbour),
        lambda: AllShare().test_a_token_that_all_forbid_convicts_all((Typist, SecondTypist)),
    ),
    Mutant(
        "an end that all allow is told by the challenger, too",
        instead(
            case_walk,
            "challenges",
            lambda challenges: lambda *given, ends: challenges(*given, ends=True),
        ),
        checks.check_an_end_that_all_allow_is_told_once,
    ),
    Mutant(
        "one engine alone has nobody to differ from",
        instead(case_run.RunningCase, "fewest", lambda _: 2),
        test_challenger.TestOneAlone().test_is_walked_to_the_end,
    ),
    Mutant(
        "acceptances and rejections are swapped in the findings",
        instead(position_resolution.PositionResolution, "__init__", with_swapped_acceptances),
        all_is_found,
    ),
    Mutant(
        "valid and invalid are swapped",
        instead(judge.Judge, "screen_many", inverted),
        all_is_found,
    ),
    Mutant(
        "the last token of a completion is not asked",
        instead(service, "follow_by_mask", skipping_the_end),
        checks.check_the_end_belongs_to_a_completion,
    ),
    Mutant("jsonschema decides alone", trusting(0), checks.check_both_validators_are_needed),
    Mutant(
        "a suspicion of the fast validator is a proof",
        instead(judge.Judge, "judge_many", suspecting),
        checks.check_both_validators_are_needed,
    ),
    Mutant(
        "what is contested counts as proven",
        status_for(Status.CONTESTED, Status.INVALID),
        checks.check_what_is_left_open_convicts_nobody,
    ),
    Mutant(
        "what took too long counts as invalid",
        status_for(Status.TOO_LONG, Status.INVALID),
        checks.check_what_never_ends_stays_open,
    ),
    Mutant(
        "a valid completion clears nobody",
        clearing_nobody,
        checks.check_one_valid_completion_clears_for_all,
    ),
    Mutant(
        "a verdict names another completion",
        instead(case_walk, "judge", of_the_next),
        checks.check_witnesses_replay,
    ),
    Mutant(
        "a verdict names the accused as the one who allowed its completion",
        instead(case_walk, "judge", crediting_the_accused),
        checks.check_witnesses_replay,
    ),
    Mutant("tokens are looked for one byte late", shifted(1), checks.check_errors_are_located),
    Mutant(
        "located and not located are swapped",
        instead(
            error_location.Locating,
            "at_token",
            lambda at_token: lambda self, *arguments: not at_token(self, *arguments),
        ),
        checks.check_errors_are_located,
    ),
    Mutant(
        "a rejection is attributed to what the validators name",
        instead(verdict_record, "_GOVERNED", lambda _: ()),
        it_is_attributed,
    ),
    Mutant(
        "an acceptance is attributed to what is in force",
        instead(verdict_record, "_GOVERNED", lambda kinds: (*kinds, "false_acceptance")),
        it_is_attributed,
    ),
    Mutant(
        "errors at the end have no names of their own",
        instead(findings, "_name_ends", lambda _: lambda found, kind: None),
        lambda: Ends().test_forbidden_where_a_valid_text_is_whole(12),
    ),
    Mutant(
        "an end that all get wrong is not looked at",
        instead(case_walk, "wrong_ends", lambda _: lambda position, eos_ids, state: []),
        test_flaws.TestEndsThatAllGetWrong().test_no_engine_stops,
    ),
    Mutant(
        "an end that is forbidden counts before the reference is written",
        instead(
            case_walk,
            "wrong_ends",
            lambda wrong_ends: (
                lambda position, *rest: wrong_ends(
                    replace(position, reference=position.text), *rest
                )
            ),
        ),
        test_flaws.TestEndsThatAllGetWrong().test_no_engine_stops,
    ),
    Mutant(
        "instances are fed without their end",
        fed_otherwise(tokens=lambda one: one.tokens[:-1]),
        test_instances.test_an_instance_that_is_accepted_although_it_is_not_finished,
    ),
    Mutant(
        "unusual tokens count as proof",
        fed_otherwise(canonical=lambda one: True),
        test_instances.test_no_false_rejection_without_the_canonical_tokens,
    ),
    Mutant(
        "the labels of instances are believed",
        fed_otherwise(ruling=lambda one: judge.Ruling(judge.VERDICTS.index(one.label), "")),
        checks.check_instances_are_what_the_validators_say,
    ),
    Mutant(
        "made instances are what they were made to be",
        instead(generated_instances, "_judged", believed(judge.VALID)),
        test_made.TestMaking().test_both_validators_decide_what_is_valid,
    ),
    Mutant(
        "samples are ruled on as the text before",
        instead(
            samples,
            "_shared",
            lambda shared: lambda *given: ruled_as_the_next(*shared(*given)),
        ),
        checks.check_samples_prove_what_is_so,
    ),
    Mutant(
        "samples are fed in canonical tokens alone",
        instead(samples, "_is_open", lambda _: lambda *given: False),
        checks.check_samples_are_fed_as_they_were_written,
    ),
    Mutant(
        "samples without an end have one",
        instead(
            samples,
            "_as_written",
            lambda written: lambda *given: replace(written(*given), ends=True),
        ),
        checks.check_samples_without_an_end,
    ),
    Mutant(
        "no completion is looked at again, mask by mask",
        instead(position_resolution, "witnessed", lambda _: lambda found: []),
        lambda: Masks().test_are_found_out_where_a_verdict_would_rest_on_them(),
    ),
    Mutant(
        "the witness of a mask violation ends before it",
        instead(
            position_resolution.PositionResolution,
            "rolled_out",
            lambda rolled_out: lambda self, taken: rolled_out(self, taken[:-1]),
        ),
        checks.check_mask_violations_have_a_witness,
    ),
    Mutant(
        "the walk takes a token that not all accept",
        instead(case_walk, "choose", lambda _: lambda position, **_: position.path[-1]),
        lambda: Walked().test_an_engine_that_rejects_the_reference_stops_all_or_drops_out(),
    ),
    Mutant(
        "a sample is drawn by places in a list",
        instead(disputes, "draw", drawn_by_place),
        checks.check_a_sample_depends_on_the_tokens_alone,
    ),
    Mutant(
        "a crash counts as an invalid completion",
        instead(
            position_resolution,
            "FAILED",
            lambda failed: dict.fromkeys(failed, Status.INVALID),
        ),
        lambda: Failure().test_while_resolving_leaves_its_own_tokens_open_and_the_walk_goes_on(),
    ),
    Mutant(
        "a roll-out that is cut off counts as complete",
        rolled_as("too_long"),
        checks.check_what_never_ends_stays_open,
    ),
    Mutant(
        "a roll-out that is stuck counts as complete",
        rolled_as("dead_end"),
        lambda: test_flaws.TestDeadEnds().test_an_empty_mask_further_on("shared"),
    ),
    Mutant(
        "one repetition less is for ever",
        instead(flaws, "LIMIT", lambda limit: limit - 1),
        lambda: Unfinishable().test_the_same_for_ever("[1,", " ", "whitespace", "shared"),
    ),
    Mutant(
        "the same error is noted as often as it is seen",
        instead(findings, "_distinct", lambda _: lambda found: found),
        checks.check_every_error_has_one_witness,
    ),
    Mutant(
        "the last token of a dispute is not resolved",
        instead(position_resolution.PositionResolution, "undecided", but_the_last),
        checks.check_every_disputed_token_is_resolved,
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant, monkeypatch):
    mutant.patch(monkeypatch)
    with pytest.raises((AssertionError, ValueError)) as killed:
        mutant.check()
    where = Path(killed.traceback[-1].path)
    assert Path(__file__).parents[1] in where.parents, "the check failed, and nothing before it"


CHECKS = {name: one for name, one in vars(checks).items() if name.startswith("check_")}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_the_original_passes(check):
    check()


def test_every_check_kills():
    assert {mutant.check for mutant in MUTANTS} >= set(CHECKS.values())
