"""Times of engines as a run holds them, folded into the figures that a report shows."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness.analysis.tally import summary
from harness.analysis.timing import FIGURES, MEASURES, PERCENTILES, distributions, timings
from harness.report.terminal import print_summary
from tests import books
from tests.books import Book, all_bugs

ENGINES = {"fast": {"version": "1"}, "slow": {"version": "2"}}


def timed(name, compiled=(), steps=(), walk=0):
    """A case: `compiled` is (engine, compile s, first mask s), `steps` (engine, position, mask ns, consume ns)."""
    book = Book(name)
    book.rows.add("costs", case=name, stage="compile", engine="", seconds=99.0)
    book.rows.add("costs", case=name, stage="walk", engine="", seconds=99.0)
    for engine, compile_s, mask_s in compiled:
        book.rows.add("costs", case=name, stage="compile", engine=engine, seconds=compile_s)
        book.rows.add("costs", case=name, stage="first_mask", engine=engine, seconds=mask_s)
    for engine, position, mask, consume in steps:
        at = {"case": name, "walk": walk, "position": position, "engine": engine}
        book.rows.add("timings", **at, mask_ns=mask, consume_ns=consume)
    return book


class TestTimings:
    def test_time_to_first_mask_is_compilation_and_first_mask_of_one_schema(self, stored):
        run = stored(
            timed("one", [("fast", 0.001, 0.0005), ("slow", 2.0, 0.5)]),
            timed("two", [("fast", 0.002, 0.0001)]),
        )
        found = timings(run)
        assert list(found) == ["fast", "slow"]
        assert found["fast"]["compile"]["max"] == 2000
        assert found["fast"]["first_mask"]["max"] == 500
        assert found["fast"]["time_to_first_mask"]["max"] == 2100, "not 2000 + 500"
        assert found["slow"]["time_to_first_mask"] == {
            **dict.fromkeys(FIGURES, 2_500_000.0),
            "n": 1,
        }

    def test_what_the_harness_needed_is_nobodys_time(self, stored):
        found = timings(stored(timed("one", [("fast", 1.0, 1.0)])))
        assert found["fast"]["compile"]["max"] == 1e6
        assert found["slow"]["compile"]["n"] == 0

    def test_time_between_masks_is_to_consume_and_to_mask(self, stored):
        steps = [("fast", 1, 3000, 500), ("fast", 2, 7000, 2000), ("slow", 1, 1000, 1000)]
        found = timings(stored(timed("one", steps=steps)))
        assert found["fast"]["time_between_masks"]["mean"] == 6.25
        assert found["fast"]["time_between_masks"]["max"] == 9
        assert found["slow"]["time_between_masks"]["n"] == 1

    @pytest.mark.parametrize("walk", [0, 3])
    def test_the_first_mask_of_a_walk_has_none_before_it(self, stored, walk):
        steps = [("fast", 0, 10**9, 0), ("fast", 1, 4000, 1000)]
        found = timings(stored(timed("one", steps=steps, walk=walk)))
        assert found["fast"]["time_between_masks"] == {**dict.fromkeys(FIGURES, 5.0), "n": 1}

    def test_percentiles_are_times_that_occurred(self, stored):
        steps = [("fast", at, at * 1000, 0) for at in range(1, 1001)]
        found = timings(stored(timed("one", steps=steps)))["fast"]["time_between_masks"]
        values = (1000, 500.5, 500, 750, 900, 990, 999, 1000)
        assert found == dict(zip(FIGURES, values, strict=True))

    def test_nothing_is_no_zero(self, stored):
        found = timings(stored())
        assert found["fast"]["time_between_masks"] == {**dict.fromkeys(FIGURES), "n": 0}
        assert tuple(found["fast"]) == MEASURES

    def test_of_an_unfinished_run(self, stored):
        run = stored(timed("one", [("fast", 1.0, 1.0)]), finish=False)
        assert timings(run)["fast"]["compile"]["n"] == 1

    def test_a_schema_that_was_not_compiled_has_none(self, stored):
        book = timed("one")
        book.rows.add("costs", case="one", stage="compile", engine="fast", seconds=7.0)
        assert timings(stored(book))["fast"]["compile"]["n"] == 0


@given(st.lists(st.integers(1, 10**11), min_size=1, max_size=300))
def test_folding_changes_percentiles_by_less_than_a_thousandth(tmp_path_factory, spent):
    steps = [("fast", 1, one, 0) for one in spent]
    run = books.store(
        tmp_path_factory.mktemp("runs") / "run", timed("a", steps=steps), engines=ENGINES
    )
    found = distributions(run)["fast"]["time_between_masks"]
    for percent in PERCENTILES:
        exact = np.percentile(np.array(spent) / 1e3, percent, method="inverted_cdf")
        assert found.percentile(percent) == pytest.approx(exact, rel=1e-3)
    assert found.n == len(spent)
    assert found.total == pytest.approx(sum(spent) / 1e3)


class TestShown:
    def shown(self, run):
        console = Console(file=io.StringIO(), width=100, force_terminal=False)
        print_summary(summary(run, all_bugs), "runs/one", console)
        return console.file.getvalue()

    def test_in_units_that_fit(self, stored):
        compiled = [("fast", 0.001, 0.0005), ("slow", 2.0, 0.5)]
        printed = self.shown(stored(timed("one", compiled, [("fast", 1, 4000, 1000)])))
        part = printed[printed.index("Times of the engines") :]
        assert "1.50 ms" in part
        assert "2.50 s" in part
        assert "5.00 µs" in part
