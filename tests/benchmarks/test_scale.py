"""What all cases of a collection cost, from a run of some of them."""

import json

import pytest
from click.testing import CliRunner

from benchmarks.scale import Cost, costs_of, total
from benchmarks.scale import main as scale
from harness.runs.directory import create_or_resume
from tests.books import Book
from tests.inprocess import case

IDENTITY = {
    "engines": {"e": {"version": "1.0"}},
    "rules": {"walks": 1},
    "limits": {"compile": 10.0},
}


class TestScale:
    @pytest.fixture
    def run(self, tmp_path):
        run = create_or_resume(tmp_path / "run", IDENTITY, {})
        for ordinal, name in enumerate("ab"):
            book = Book(name, family=f"of {name}", schema='{"é": 1}')
            book.engine("e", "timed_out" if name == "b" else "compiled")
            for stage, engine, seconds in (
                ("compile", "", 2.0),
                ("compile", "e", 1.5),
                ("references", "", 0.5),
                ("instances", "", 0.25),
                ("walk", "", 1.0),
                ("resolve", "", 5.0),
            ):
                book.rows.add("costs", case=name, stage=stage, engine=engine, seconds=seconds)
            run.write_case(ordinal, book.rows)
        run.finish({"seconds": 14.0})
        run.release()
        return run

    @pytest.fixture
    def collection(self, tmp_path):
        file = tmp_path / "all.jsonl"
        rows = [("a", "of a", [1]), ("b", "of b", [1]), ("c", "of b", [])]
        lines = [json.dumps({"id": i, "family": f, "schema": True, "valid": v}) for i, f, v in rows]
        file.write_text("\n".join(lines), "utf-8")
        return f"jsonl:{file}"

    def test_costs_come_by_what_repeats_and_a_time_out_cost_the_limit(self, run):
        assert costs_of(run) == [
            Cost("of a", 1.5 + 0.75, 6.0),
            Cost("of b", 1.5 + 0.75 + 10, 6.0),
        ]

    def test_the_total_is_each_familys_mean_times_its_cases(self):
        costs = [Cost("one", 2.0, 4.0), Cost("one", 2.0, 12.0)]
        costs.append(Cost("two", 10.0, 30.0))
        families = {"one": (20, 10), "two": (5, 0)}
        source = [
            case({}, *([1] if number < walked else []), name=str(number), family=name)
            for name, (walked, bare) in families.items()
            for number in range(walked + bare)
        ]
        seconds, interval = total(costs, source, 3)
        assert seconds == 20 * 26 + 10 * 2 + 5 * 100
        spread = (288**0.5) / 26  # of the two costs 14 and 38
        expected = ((30 * spread * 26 / 2**0.5) ** 2 + (5 * spread * 100) ** 2) ** 0.5
        assert interval == pytest.approx(1.96 * expected)

    def test_the_command_says_what_all_cases_cost(self, run, collection):
        done = CliRunner().invoke(scale, [str(run.path), "--cases", collection])
        # 8.25 s for `a`, 18.25 s for `b`, and 12.25 s for `c`, which is not walked
        assert "longest case 18 s, 18 s, 18 s, 18 s\n  all cases 0 h" in done.output
        assert "1 lanes: 0.6 minutes at the least\n  64 lanes: 0.3 minutes" in done.output
