"""Located or not: a false acceptance is placed at its token only where nothing could be saved there."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

from harness.explain import error_location as locating_module
from harness.explain.error_location import MAX_SEARCHES, Locating
from harness.runs.tables import Rows
from harness.validators.judge import SUSPECT, Ruling
from tests.comparison.test_exact import PLANTED, told_engines
from tests.inprocess import case, records, run_case
from tests.miniatures import AcceptsExtra, Enumerator
from tests.oracle import RESOLVERS, Trial, Verdict, is_valid, trials, written_at
from tests.worlds import Forgets, hopeless

pytestmark = pytest.mark.thorough


def acceptances(trial: Trial, rows: Rows) -> Iterator[tuple[bytes, Verdict]]:
    """The false acceptances, each with the text before its token."""
    written = written_at(trial, rows)
    for verdict in records(rows, "verdicts"):
        if verdict["kind"] == "false_acceptance":
            yield written[verdict["position"]], verdict


class TestWhatIsLocated:
    """No valid text begins with what is written and a token that is said to be at fault."""

    @pytest.mark.parametrize("resolver", RESOLVERS)
    @given(trial=told_engines())
    def test_in_a_world_of_which_all_is_known(self, resolver, trial):
        for written, verdict in acceptances(trial, trial.run(resolver)):
            assert hopeless(trial, written, verdict) or not verdict["located"]

    @pytest.mark.parametrize("resolver", RESOLVERS)
    @given(trial=trials())
    def test_among_all_that_any_engine_allows(self, resolver, trial):
        texts = set().union(*(language.texts for language in trial.languages))
        right = [text for text in texts if is_valid(trial.schema, text)]
        rows = trial.run(resolver)
        for written, verdict in acceptances(trial, rows):
            if verdict["located"]:
                begun = written + trial.bytes_of(verdict["token"])
                end = verdict["token"] == trial.vocabulary.eos
                assert not any(one == begun if end else one.startswith(begun) for one in right)

    @given(trial=trials())
    @settings(max_examples=settings.default.max_examples // 2)
    def test_is_said_of_false_acceptances_alone(self, trial):
        for verdict in records(trial.run(), "verdicts"):
            assert (verdict["located"] is None) == (verdict["kind"] != "false_acceptance")


PLAIN = {name: one for name, one in PLANTED.items() if one.engine is Forgets}


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("planted", PLAIN.values(), ids=PLAIN)
def test_of_a_plain_error_every_token_without_hope_is_located(planted, resolver):
    found = []
    for trial, rows in planted.runs(resolver):
        for written, verdict in acceptances(trial, rows):
            # A backslash alone does not yet tell which character it will become a part of.
            if trial.bytes_of(verdict["token"]) != b"\\":
                assert verdict["located"] == hopeless(trial, written, verdict)
                found.append(verdict["located"])
    assert any(found)


class Tries:
    """Tries the same completions on every token, one after the other."""

    valid_completion_exonerates = True

    def __init__(self, *texts: bytes) -> None:
        self.texts = texts

    def resolve(self, resolution, context):
        for text in self.texts:
            list_of = np.zeros(len(resolution.findings.tokens), dtype=np.int32)
            resolution.attempt(list_of, [[resolution.number(text, "pool")]], 1)
        resolution.conclude({})


@pytest.mark.parametrize(
    ("texts", "at_token"),
    [
        ((b"]",), True),
        ((b"]]",), False),
        ((b"]", b"]]"), False),
        ((b"]]", b"]"), False),
        ((b"]", b" ]"), True),
    ],
)
def test_every_attempt_must_fail_at_the_token(texts, at_token):
    """The 2 is wrong, and so is a second bracket behind it."""
    extra = ["[2]", "[2]]", "[2 ]"]
    schema = {"type": "array", "items": {"enum": [1]}, "maxItems": 1, "x-extra": extra}
    rows = run_case([Enumerator, AcceptsExtra], case(schema, [1]), resolver=Tries(*texts))
    found = [(one["position"], one["token"], one["located"]) for one in records(rows, "verdicts")]
    assert found == [(1, ord("2"), at_token)]


@pytest.fixture
def searches(monkeypatch):
    """The texts that are looked at."""
    texts = []
    genuine = locating_module.fails_at

    def fails_at(text, *arguments):
        texts.append(text)
        return genuine(text, *arguments)

    monkeypatch.setattr(locating_module, "fails_at", fails_at)
    return texts


SCHEMA = {"type": "array", "items": {"enum": ["a"]}, "maxItems": 1}
SURPLUS = Ruling(SUSPECT, "", "maxItems", "/maxItems", "")
BEFORE = b'["a"'


class TestLocating:
    def at_token(self, locating, token, behind=b"]", number=0, ruling=SURPLUS, end=False):
        text = BEFORE + token + behind
        start = len(BEFORE)
        return locating.at_token(lambda: text, number, start, token, ruling, end)

    def test_tokens_are_told_apart_where_what_they_say_matters(self, searches):
        locating = Locating(SCHEMA)
        ruling = Ruling(SUSPECT, "", "enum", "/items/enum", "/1")
        assert all(self.at_token(locating, b', "%s"' % one, ruling=ruling) for one in (b"b", b"c"))
        assert len(searches) == 2

    def test_what_is_beyond_the_budget_is_not_called_located(self, searches):
        locating = Locating(SCHEMA)
        found = [
            self.at_token(locating, b", 1", b"]", number) for number in range(MAX_SEARCHES + 3)
        ]
        assert found == [True] * MAX_SEARCHES + [False] * 3
        assert len(searches) == MAX_SEARCHES
        assert self.at_token(locating, b", 1", b"]", 0), "what is known stays known"

    def test_an_error_without_a_name_is_nowhere(self, searches):
        assert not self.at_token(Locating(SCHEMA), b",", ruling=Ruling(SUSPECT, ""))
        assert not searches

    def test_the_end_of_generation_is_the_end_of_the_text(self):
        unfinished = Ruling(1, "not_json", "json")
        assert self.at_token(Locating(SCHEMA), b"", b"", ruling=unfinished, end=True)
        assert not self.at_token(Locating(SCHEMA), b"x", b"", ruling=unfinished, end=True)
