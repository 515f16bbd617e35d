"""Every number of a summary, counted by hand; estimates that hold what they promise."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.store import create_or_resume, open_run
from harness.tables import Rows
from harness.tally import Estimate, estimate, summary
from tests.inprocess import case, make_run
from tests.miniatures import AcceptsExtra, Enumerator, ForbidsOne

ENGINES = {"a": {"version": "1.0", "options": {"x": True}}, "b": {"version": "2"}, "c": {}}
A, B, C = 1, 2, 4


class Book:
    """Writes the rows of one case, everything that a test does not name being the same."""

    def __init__(self, name, status="walked", reason=""):
        self.name = name
        self.rows = Rows()
        self.rows.add(
            "cases",
            case=name,
            family="family",
            status=status,
            reason=reason,
            message="",
            schema="{}",
            references=[],
            judged=7,
            walks=1,
            positions=0,
            disputed_tokens=0,
        )

    def engine(self, engine, outcome, stage="compile"):
        self.rows.add(
            "engines",
            case=self.name,
            engine=engine,
            stage=stage,
            walk=-1,
            position=-1,
            outcome=outcome,
            signal="",
            message="",
            output="",
        )
        return self

    def compiled(self, *outcomes):
        for engine, outcome in zip(ENGINES, outcomes, strict=True):
            self.engine(engine, outcome)
        return self

    def position(self, number, place="start of value", judged=A | B | C, walk=0):
        self.rows.add(
            "positions",
            case=self.name,
            walk=walk,
            position=number,
            offset=number,
            token=1,
            place=place,
            judged=judged,
            disputed_tokens=0,
        )
        return self

    def dispute(self, position, accepters, rejecters, tokens, drawn=None, census=None, number=0):
        self.rows.add(
            "disputes",
            case=self.name,
            walk=0,
            position=position,
            dispute=number,
            accepters=accepters,
            rejecters=rejecters,
            tokens=tokens,
            drawn=tokens if drawn is None else drawn,
            census=tokens if census is None else census,
        )
        return self

    def verdicts(
        self, position, engine, kind, count=1, by_right=True, walk=0, number=0, first=0, **more
    ):
        for token in range(first, first + count):
            row = {"reason": "", "keyword": "", **more}
            self.rows.add(
                "verdicts",
                case=self.name,
                walk=walk,
                position=position,
                dispute=number,
                token=token,
                by_right=by_right,
                engine=engine,
                kind=kind,
                accepter="",
                completion=-1,
                schema_pointer="",
                instance_pointer="",
                **row,
            )
        return self


@pytest.fixture
def stored(tmp_path):
    """Stores books as a run, finished or not, and gives it back as a reader finds it."""

    def store(*books, finish=True, engines=ENGINES):
        run = create_or_resume(tmp_path / "run", {"engines": engines}, {})
        for ordinal, book in enumerate(books):
            run.write_case(ordinal, book.rows)
        if finish:
            run.finish({"seconds": 2.5})
        run.release()
        return open_run(tmp_path / "run")

    return store


def by_hand():
    first = (
        Book("first")
        .compiled("compiled", "compiled", "compiled")
        .position(0)
        .position(1, "inside string")
        .position(2, "end")
        .dispute(0, A | B, C, tokens=7)
        .dispute(1, A, B | C, tokens=4)
        .dispute(1, A | C, B, tokens=1, number=1)
        .verdicts(0, "c", "false_rejection", 4)
        .verdicts(0, "a", "false_acceptance", 2, first=4, keyword="enum")
        .verdicts(0, "b", "false_acceptance", 1, first=4, keyword="enum")
        .verdicts(0, "b", "contested", 1, first=5, reason="duplicate_keys")
        .verdicts(0, "a", "unresolved", 1, first=6, reason="too_long")
        .verdicts(1, "b", "false_rejection", 3)
        .verdicts(1, "c", "false_rejection", 3)
        .verdicts(1, "a", "false_acceptance", 1, first=3, keyword="pattern")
        .verdicts(1, "a", "unresolved", 1, number=1, reason="crashed")
        .engine("a", "crashed", "resolve")
    )
    second = (
        Book("second")
        .compiled("compiled", "compiled", "refused")
        .position(0, judged=A | B)
        .dispute(0, A, B, tokens=2)
        .verdicts(0, "a", "false_acceptance", 2, keyword="enum")
        .position(0, "inside string", judged=A | B, walk=1)
        .engine("b", "timed_out", "walk")
        .engine("b", "crashed", "resolve")
    )
    refused = Book("third", "not_compared", "not_compiled_by_all")
    refused.compiled("compiled", "out_of_memory", "timed_out")
    bad = Book("fourth", "set_aside", "reference_invalid").compiled(*["compiled"] * 3)
    worse = Book("fifth", "set_aside", "reference_invalid").compiled("crashed", *["compiled"] * 2)
    broken = Book("sixth", "harness_error")
    return [first, second, refused, bad, worse, broken, Book("seventh", "lane_died")]


def compile_counts(*counts):
    words = ("compiled", "refused", "crashed", "timed_out", "out_of_memory")
    return dict(zip(words, counts, strict=True))


def counts(tokens, positions, cases):
    return {"tokens": tokens, "positions": positions, "cases": cases}


class TestSummary:
    def test_of_the_run(self, stored):
        found = summary(stored(*by_hand()))
        engines = found.pop("engines")
        assert list(engines) == ["a", "b", "c"]
        assert found == {
            "cases": 7,
            "walked": 2,
            "set_aside": {"reference_invalid": 2},
            "not_compared": {"not_compiled_by_all": 1},
            "harness_errors": 2,
            "positions": 5,
            "disputed_tokens": 14,
            "resolved_tokens": 14,
            "seconds": 2.5,
            "finished": True,
        }

    def test_of_the_first_engine(self, stored):
        assert summary(stored(*by_hand()))["engines"]["a"] == {
            "version": "1.0",
            "options": {"x": True},
            "compile": compile_counts(4, 0, 1, 0, 0),
            "judged": {"cases": 2, "positions": 5},
            "false_acceptances": counts(5, 3, 2),
            "false_rejections": counts(0, 0, 0),
            "unresolved": {"crashed": 1, "too_long": 1},
            "contested": 0,
            "contested_by": {},
            "failures": {"resolve_crashed": 1},
            "why": {
                "false_acceptances": [
                    {"keyword": "enum", "tokens": 4, "cases": 2},
                    {"keyword": "pattern", "tokens": 1, "cases": 1},
                ],
                "false_rejections": [],
            },
        }

    def test_of_the_second_engine(self, stored):
        assert summary(stored(*by_hand()))["engines"]["b"] == {
            "version": "2",
            "compile": compile_counts(4, 0, 0, 0, 1),
            "judged": {"cases": 2, "positions": 5},
            "false_acceptances": counts(1, 1, 1),
            "false_rejections": counts(3, 1, 1),
            "unresolved": {},
            "contested": 1,
            "contested_by": {"duplicate_keys": 1},
            "failures": {"resolve_crashed": 1, "walk_timed_out": 1},
            "why": {
                "false_acceptances": [{"keyword": "enum", "tokens": 1, "cases": 1}],
                "false_rejections": [{"place": "inside string", "tokens": 3, "cases": 1}],
            },
        }

    def test_of_the_third_engine(self, stored):
        found = summary(stored(*by_hand()))["engines"]["c"]
        assert found["compile"] == compile_counts(3, 1, 0, 1, 0)
        assert found["judged"] == {"cases": 1, "positions": 3}
        assert found["false_rejections"] == counts(7, 2, 1)
        assert found["why"]["false_rejections"] == [
            {"place": "start of value", "tokens": 4, "cases": 1},
            {"place": "inside string", "tokens": 3, "cases": 1},
        ]

    def test_of_an_unfinished_run_counts_what_is_there(self, stored):
        first, second, *_ = by_hand()
        found = summary(stored(first, second, finish=False))
        assert (found["cases"], found["finished"], found["seconds"]) == (2, False, None)
        assert found["engines"]["a"]["false_acceptances"] == counts(5, 3, 2)

    @pytest.mark.parametrize("finish", [True, False])
    def test_of_nothing(self, stored, finish):
        found = summary(stored(finish=finish))
        assert (found["cases"], found["positions"], found["disputed_tokens"]) == (0, 0, 0)
        assert found["engines"]["a"]["false_acceptances"] == counts(0, 0, 0)
        assert "estimate" not in found["engines"]["a"]["false_acceptances"]

    def test_is_json(self, stored):
        found = summary(stored(*by_hand()))
        assert json.loads(json.dumps(found)) == found

    def test_two_walks_at_one_number_are_two_positions(self, stored):
        book = Book("case").position(3).position(3, walk=1)
        book.verdicts(3, "a", "false_rejection").verdicts(3, "a", "false_rejection", walk=1)
        found = summary(stored(book))["engines"]["a"]
        assert found["false_rejections"] == counts(2, 2, 1)

    def test_what_engines_did_in_a_real_case(self, stored):
        """Two liars beside an honest engine, from their masks to the counts."""
        schema = {"const": [1, 2], "x-extra": ["[1, 3]"], "x-forbidden": [["[1, ", "2"]]}
        engines = [Enumerator, AcceptsExtra, ForbidsOne]
        book = Book("case")
        book.rows = make_run(engines).run(case(schema, [1, 2]))
        names = {kind.__name__: {} for kind in engines}
        found = summary(stored(book, engines=names))["engines"]
        assert {
            name: (one["false_acceptances"]["tokens"], one["false_rejections"]["tokens"])
            for name, one in found.items()
        } == {"Enumerator": (0, 0), "AcceptsExtra": (1, 0), "ForbidsOne": (0, 1)}
        assert found["AcceptsExtra"]["why"]["false_acceptances"][0]["keyword"] == "const"
        assert all(one["contested"] == 0 and not one["unresolved"] for one in found.values())


class TestCappedRuns:
    def book(self):
        """Of 100 tokens 10 were drawn, 2 of them by right; of 5 all."""
        return (
            Book("case")
            .position(0)
            .dispute(0, A, B | C, tokens=100, drawn=10, census=2)
            .dispute(0, B, A | C, tokens=5, number=1)
            .verdicts(0, "b", "false_rejection", 2)
            .verdicts(0, "b", "false_rejection", 4, by_right=False, first=2)
            .verdicts(0, "b", "false_acceptance", 3, number=1)
            .verdicts(0, "a", "false_acceptance", 4, by_right=False, first=6)
        )

    def test_scale_the_sampled_share_and_count_the_rest(self, stored):
        found = summary(stored(self.book()))
        assert (found["disputed_tokens"], found["resolved_tokens"]) == (105, 15)
        rejections = found["engines"]["b"]["false_rejections"]
        assert rejections["tokens"] == 6, "what is proven stays what it is"
        assert rejections["estimate"]["tokens"] == 2 + 98 * 4 // 8
        assert found["engines"]["a"]["false_acceptances"]["estimate"]["tokens"] == 98 * 4 // 8
        for one in (rejections, found["engines"]["a"]["false_acceptances"]):
            low, high = one["estimate"]["low"], one["estimate"]["high"]
            assert one["tokens"] <= low < one["estimate"]["tokens"] < high <= 100

    def test_what_was_not_sampled_is_known_exactly(self, stored):
        found = summary(stored(self.book()))["engines"]["b"]["false_acceptances"]
        assert found["estimate"] == {"tokens": 3, "low": 3, "high": 3}

    def test_a_sample_without_any_finding_is_no_certainty(self, stored):
        """Engine c rejects as b does, and nothing was proven about it."""
        found = summary(stored(self.book()))["engines"]["c"]["false_rejections"]
        assert found["tokens"] == found["estimate"]["tokens"] == 0
        assert 10 < found["estimate"]["high"] < 90

    def test_who_cannot_be_wrong_in_any_dispute_is_not(self, stored):
        found = summary(stored(self.book()))["engines"]["c"]["false_acceptances"]
        assert found["estimate"] == {"tokens": 0, "low": 0, "high": 0}

    def test_runs_that_resolved_everything_have_no_estimates(self, stored):
        for engine in summary(stored(*by_hand()))["engines"].values():
            assert "estimate" not in engine["false_acceptances"]
            assert "estimate" not in engine["false_rejections"]


def tables(disputes, hits):
    """Tables for `estimate`: disputes as (tokens, drawn, census); hits as (by right, sampled)."""
    place = {
        "case": pa.array(["case"] * len(disputes), pa.string()),
        "walk": pa.array([0] * len(disputes), pa.int32()),
        "position": pa.array(range(len(disputes)), pa.int32()),
        "dispute": pa.array([0] * len(disputes), pa.int32()),
    }
    columns = [pa.array([one[at] for one in disputes], pa.int32()) for at in range(3)]
    drawn = dict(zip(("tokens", "drawn", "census"), columns, strict=True))
    rows = [
        (number, right)
        for number, (certain, sampled) in enumerate(hits)
        for right, count in ((True, certain), (False, sampled))
        for _ in range(count)
    ]
    verdicts = {
        "case": pa.array(["case"] * len(rows), pa.string()),
        "walk": pa.array([0] * len(rows), pa.int32()),
        "position": pa.array([number for number, _ in rows], pa.int32()),
        "dispute": pa.array([0] * len(rows), pa.int32()),
        "token": pa.array(range(len(rows)), pa.int32()),
        "by_right": pa.array([right for _, right in rows], pa.bool_()),
        "engine": pa.array(["a"] * len(rows), pa.string()),
        "kind": pa.array(["false_rejection"] * len(rows), pa.string()),
    }
    return pa.table(verdicts), pa.table({**place, **drawn})


def estimated(disputes, hits):
    return estimate(*tables(disputes, hits), "a", "false_rejection")


@st.composite
def resolved(draw):
    """Disputes and how many of their resolved tokens were found wrong."""
    disputes, hits = [], []
    for _ in range(draw(st.integers(0, 6))):
        tokens = draw(st.integers(1, 200))
        whole = draw(st.booleans())
        drawn = tokens if whole else draw(st.integers(0, tokens))
        whole = drawn == tokens
        census = tokens if whole else draw(st.integers(0, drawn))
        disputes.append((tokens, drawn, census))
        sampled = draw(st.integers(0, drawn - census))
        hits.append((draw(st.integers(0, census)), sampled))
    return disputes, hits


class TestEstimates:
    def test_of_no_disputes(self):
        assert estimated([], []) == Estimate(0, 0, 0)

    def test_are_exact_where_nothing_was_capped(self):
        assert estimated([(5, 5, 5), (9, 9, 9)], [(3, 0), (9, 0)]) == Estimate(12, 12, 12)

    def test_of_other_engines_and_kinds_are_apart(self):
        verdicts, disputes = tables([(100, 10, 0)], [(0, 5)])
        assert estimate(verdicts, disputes, "b", "false_rejection").tokens == 0
        assert estimate(verdicts, disputes, "a", "false_acceptance").tokens == 0
        assert estimate(verdicts, disputes, "a", "false_rejection").tokens == 50

    @settings(max_examples=60)
    @given(resolved())
    def test_lie_between_what_is_proven_and_what_is_possible(self, situation):
        disputes, hits = situation
        found = estimated(disputes, hits)
        proven = sum(map(sum, hits))
        open_ = sum(tokens - drawn for tokens, drawn, _ in disputes)
        assert proven <= found.low <= found.high <= proven + open_
        assert found.low <= found.tokens + 1e-9
        assert found.tokens <= found.high + 1e-9

    def test_get_narrower_with_the_sample(self):
        widths = []
        for drawn in (10, 50, 250, 900):
            found = estimated([(1000, drawn, 0)], [(0, drawn // 5)])
            assert found.tokens == 200
            widths.append(found.high - found.low)
        assert widths == sorted(widths, reverse=True)

    def test_know_that_half_of_all_tokens_say_more_than_as_many_of_a_million(self):
        """Samples without replacement: the width shrinks by the root of what is left over."""

        def width(tokens):
            found = estimated([(tokens, 50, 0)], [(0, 10)])
            return (found.high - found.low) / tokens

        assert width(100) == pytest.approx(width(1_000_000) * (50 / 99) ** 0.5, rel=1e-3)

    @pytest.mark.parametrize(
        ("sizes", "shares", "cap"),
        [
            ([1000], [0.3], 50),
            ([1000], [0.02], 50),
            ([150_000], [0.001], 200),
            ([150_000, 300, 40], [0.9, 0.5, 0.1], 100),
            ([60] * 30, [0.1, 0.5, 0.95] * 10, 8),
            ([500] * 12, [0.0, 1.0, 0.5] * 4, 20),
            ([12, 30, 800], [0.0, 0.0, 0.0], 10),
        ],
        ids=["one", "rare", "very rare", "mixed", "many small", "extremes", "none wrong"],
    )
    def test_intervals_cover_the_truth(self, sizes, shares, cap):
        """Seeded samples of known populations: 95% intervals hold the truth in over 92% of them."""
        random = np.random.default_rng(20)
        wrong = [round(size * share) for size, share in zip(sizes, shares, strict=True)]
        disputes = [(size, min(size, cap), size if size <= cap else 0) for size in sizes]
        covered = 0
        trials = 400
        for _ in range(trials):
            hits = [
                (many, 0)
                if size <= cap
                else (0, int(random.hypergeometric(many, size - many, cap)))
                for size, many in zip(sizes, wrong, strict=True)
            ]
            found = estimated(disputes, hits)
            covered += found.low <= sum(wrong) <= found.high
        assert covered >= 0.92 * trials
