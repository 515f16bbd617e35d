"""Wrong masks under patterns shrink to the smallest pattern and text with which the engine errs so."""

from contextlib import closing
from types import SimpleNamespace

import pytest

from harness.bugs.error_case import ErrorCase
from harness.bugs.pattern_trial import PatternTrial
from harness.bugs.pattern_witnesses import shrunk_witness
from harness.bugs.scripts import report, script
from harness.bugs.shrink import Known
from harness.inputs.vocabulary import byte_vocabulary
from harness.regex_constraint.judging import ACCEPTANCE, REJECTION, Judged
from tests import regex_miniatures as miniatures
from tests.buglists import bug
from tests.inprocess import InProcessJudge, InProcessPanel

WHOLE, PART, END = "whole", "partial", "end"


@pytest.mark.parametrize(
    ("engine", "witness", "expected"),
    [
        ("DotTakesLineFeeds", ("b(a|.1)?", ACCEPTANCE, WHOLE, "b", "\n", "b\n1"), (".", "\n")),
        ("DotTakesLineFeeds", ("ab|b.(1|a)", ACCEPTANCE, WHOLE, "b", "\n", ""), (".", "\n")),
        ("StopsAtTheFirstMatch", ("a(b(1b)?)?", REJECTION, WHOLE, "a", "b", "ab"), ("a*", "a")),
        ("ForbidsPartsOfCharacters", ("1[èé]", REJECTION, PART, "1", "\\xc3", "1è"), ("é", "é")),
        ("ForbidsLongTokens", ("1(ab|b)a", REJECTION, WHOLE, "1", "ab", "1aba"), ("ab", "ab")),
        ("EndsEarly", ("ab1|b", ACCEPTANCE, END, "ab", "", "ab"), ("aa", "a")),
        ("Honest", ("ab1|b", ACCEPTANCE, END, "ab", "", "ab"), None),
    ],
)
@pytest.mark.processes  # of the second opinions
def test_planted_faults_shrink_to_the_smallest_case(engine, witness, expected):
    panel = InProcessPanel([getattr(miniatures, engine)], byte_vocabulary())
    (spec,), (pattern, *shown) = panel.specs, witness
    shown = dict(zip(("kind", "part", "text", "token", "whole"), shown, strict=True))
    with closing(PatternTrial(spec, InProcessJudge(), panel=panel)) as trial:
        shrinker = SimpleNamespace(trial=lambda case: trial.with_token(case.token), known=Known())
        judged = Judged("case", spec.name, pattern)
        found = shrunk_witness(shrinker, "0", (judged, shown), lambda: False)
    error = found.error
    assert (error and (error.parsed, error.text.decode())) == expected
    assert ("does not show" in found.reason) == (expected is None)
    assert not error or error.token == (b"ab" if engine == "ForbidsLongTokens" else b"")


@pytest.mark.parametrize("engine", ["xgrammar", "llguidance", "outlines", "formatron"])
def test_scripts_ask_the_engine_about_the_pattern(engine):
    error = ErrorCase(engine, "false_rejection", '"a\\\\."', b"a.")
    found = bug(engine, error=error, keyword="rust", effect="")
    assert "PATTERN = 'a\\\\.'" in script(found)
    assert "3 of 10 patterns" in report(found)
