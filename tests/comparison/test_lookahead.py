"""The march asks for many positions at once; what is learned of each must be as if asked alone."""

import numpy as np
import pytest

from harness.comparison import lookahead
from harness.comparison.lookahead import NOTHING, LookaheadWalk
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import allows
from harness.runs.tables import SCHEMAS
from harness.workers.wire import SLOTS
from tests.inprocess import UNCAPPED, InProcessPanel, case, make_run, study
from tests.miniatures import (
    AcceptsExtra,
    ConsumeLies,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    LanguageMatcher,
    crash,
)

pytestmark = pytest.mark.thorough

VOCABULARY = byte_vocabulary([b"12", b"23", b'"a', b"ab", b", ", b"[1", b"34", b"2, "])
VALUE = [12, 34, "abab", 1234]
TEXT = b'[12, 34, "abab", 1234]'
CLOCKS = ("timings", "costs")


def outcome(engines, schema, rules=UNCAPPED):
    rows = make_run(engines, VOCABULARY, rules).run(case(schema, VALUE))
    tables = {table: rows.lists(table) for table in SCHEMAS if table not in CLOCKS}
    places = [rows.lists("timings")[name] for name in ("walk", "position", "engine")]
    return {**tables, "timed": places}


def forbidding(*tokens):
    """A schema under which one engine forbids some tokens on the way, where they may come."""
    pairs = [[TEXT[:at].decode(), token] for at in range(len(TEXT)) for token in tokens]
    return {"enum": [VALUE, [12], "ab"], "x-forbidden": pairs, "x-extra": ["[1, 2]", "[12, 3"]}


class Proves(CrashesOnMask):
    """Crashes only where its mask is asked for on the walk: it follows texts by another way."""

    fail = crash

    class Matcher(CrashesOnMask.Matcher):
        def follow(self, tokens):
            trial, mask, count = self.clone(), np.zeros(VOCABULARY.words, dtype=np.uint32), 0
            for token in tokens:
                LanguageMatcher.mask(trial, mask)
                if not allows(mask, token) or not trial.consume(token):
                    break
                count += 1
            return count


class TestBatches:
    """Whatever is predicted, and however often wrongly."""

    @pytest.mark.parametrize(
        "on_dropout", ["stop", pytest.param("continue", marks=pytest.mark.thorough)]
    )
    @pytest.mark.parametrize(
        ("engines", "schema"),
        [
            pytest.param((Enumerator, AcceptsExtra), forbidding(), id="all predicted"),
            pytest.param((Enumerator, ForbidsOne), forbidding("12", ", ", "34"), id="some missed"),
            pytest.param(
                (ForbidsOne, AcceptsExtra, Enumerator), forbidding("2", "b", "[1"), id="three"
            ),
            pytest.param((Enumerator, ConsumeLies), forbidding(",", "3"), id="lies on the way"),
            pytest.param((ForbidsOne, Enumerator), forbidding("]"), id="a walk that stops"),
            pytest.param(
                (Enumerator, CrashesOnMask, ForbidsOne),
                {**forbidding("12"), "x-crash": 9},
                id="a crash",
            ),
        ],
    )
    def test_of_any_length_tell_the_same(self, engines, schema, on_dropout, monkeypatch):
        rules = study(cap=None, on_dropout=on_dropout, walks=2)
        found = []
        for first, slots in ((1, 1), (2, 4), (SLOTS, SLOTS)):
            monkeypatch.setattr(lookahead, "_FIRST", first)
            monkeypatch.setattr(LookaheadWalk, "_length", first)
            monkeypatch.setattr(lookahead, "SLOTS", slots)
            found.append(outcome(engines, schema, rules))
        assert found[0]["positions"]["position"], "something was walked"
        assert all(one == found[0] for one in found[1:])

    def test_an_engine_that_crashed_ahead_answers_for_positions_before(self, monkeypatch):
        """It is brought back for them; the crash is told where the walk comes to it."""
        schema = forbidding("12", "34", "ab")
        last = max(outcome((Proves, ForbidsOne), schema)["positions"]["position"])
        found = []
        for first in (1, SLOTS):
            monkeypatch.setattr(lookahead, "_FIRST", first)
            monkeypatch.setattr(LookaheadWalk, "_length", first)
            monkeypatch.setattr(lookahead, "SLOTS", first)
            found.append(outcome((Proves, ForbidsOne), {**schema, "x-crash": last - 1}))
        stages = zip(*(found[0]["engines"][name] for name in ("stage", "position")), strict=True)
        assert ("walk", last - 1) in stages
        kinds = set(found[0]["verdicts"]["kind"])
        assert "false_rejection" in kinds, "what it allowed before convicts the other"
        assert all(one == found[0] for one in found[1:])

    def test_a_crash_beyond_where_the_walk_goes_is_nobodys(self):
        """Predicted positions that no walk comes to are no evidence of anything."""
        schema = {**forbidding(*'[1234, "ab]', "12", "[1"), "x-crash": 2}
        rows = outcome((CrashesOnMask, ForbidsOne), schema)
        assert rows["positions"]["position"] == [0], "the walk stops at once"
        assert "walk" not in rows["engines"]["stage"]

    def test_few_requests_for_a_long_text(self):
        panel = InProcessPanel([Enumerator, Enumerator], VOCABULARY)
        value = "a" * 300
        panel.compile('{"const": "' + value + '"}')
        requests = []
        panel.walk = lambda *asked, walk=panel.walk: requests.append(asked) or walk(*asked)
        text = f'"{value}"'.encode()
        steps = LookaheadWalk(panel, VOCABULARY, "0/case/0", text)
        consumed, offset = [], 0
        here = steps.arrive((0, 1), consumed, 0, NOTHING)
        while offset < len(text):
            assert here.engines == (0, 1)
            assert not here.differ
            token = lookahead.predicted_token(
                f"{steps.key}/{len(consumed)}", lookahead.path_tokens(VOCABULARY, text, offset)
            )
            assert allows(here.masks[0], token)
            offset += len(VOCABULARY.tokens[token])
            here = steps.arrive((0, 1), consumed, offset, token)
            consumed.append(token)
        assert here.allowed.tolist() == [1, 1], "the end of generation"
        assert len(consumed) > 100
        assert len(requests) <= 8
