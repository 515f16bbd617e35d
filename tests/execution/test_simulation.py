"""The simulated scheduler: it runs everything, never beats the ideal, and packing pays in it."""

import json
import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import scale, scale_measure
from benchmarks.scale_data import FILE, Family, Measured, ScaleData
from benchmarks.scheduler import (
    Cluster,
    divided,
    foreseen,
    ideal,
    one_by_one,
    pulled,
    simulate,
)
from harness.errors import RunDirectoryError
from harness.execution.sweep import costs
from harness.execution.sweep.packing import CaseFacts, CostModel, Unit, pack
from harness.inputs.cases import ListedCases
from harness.runs.directory import create_or_resume
from tests.books import Book
from tests.inprocess import case

FREE = partial(Cluster, lanes_per_node=8, node_start=0.0, hand_over=0.0, driver=0.0)
SECONDS = st.lists(st.floats(0, 500, allow_nan=False), max_size=40)


@pytest.fixture(scope="module")
def data() -> ScaleData:
    return ScaleData.load()


@pytest.fixture(scope="module")
def maskbench(data):
    return data.population(walks=10)


class TestSimulation:
    def test_one_lane_takes_the_sum(self):
        outcome = simulate([3.0, 4.0, 5.0], one_by_one(3), FREE(1))
        assert (outcome.makespan, outcome.busy, outcome.units) == (12.0, 12.0, 3)

    def test_two_lanes_pull_what_is_next(self):
        outcome = simulate([5.0, 1.0, 1.0, 1.0], one_by_one(4), FREE(2))
        assert outcome.makespan == 5.0
        assert outcome.efficiency(2) == 0.8

    def test_a_straggler_that_comes_last_holds_the_end(self):
        outcome = simulate([1.0, 1.0, 9.0], one_by_one(3), FREE(2))
        assert (outcome.makespan, outcome.last_start) == (10.0, 1.0)

    def test_nodes_lanes_and_hand_overs_take_their_time(self):
        slow = Cluster(1, node_start=100, lane_start=10, hand_over=0.5, driver=0.25)
        assert simulate([1.0, 1.0], one_by_one(2), slow).makespan == 113.5

    def test_one_driver_serves_one_lane_at_a_time(self):
        crowd = FREE(1000)
        busy = Cluster(1000, node_start=0, hand_over=0, driver=0.01)
        assert simulate([1.0] * 1000, one_by_one(1000), crowd).makespan == 1.0
        assert math.isclose(simulate([1.0] * 1000, one_by_one(1000), busy).makespan, 11.0)

    def test_what_is_divided_beforehand_is_not_shared_again(self):
        seconds = [9.0, 9.0, 1.0, 1.0]
        assert simulate(seconds, divided(4, 2), FREE(2)).makespan == 18.0
        assert simulate(seconds, one_by_one(4), FREE(2)).makespan == 10.0

    def test_a_lane_that_dies_begins_its_case_again_and_keeps_the_others(self):
        seconds = [100.0] * 50
        mortal = FREE(4, lane_start=5.0, failures=10.0)
        outcome = simulate(seconds, pulled([Unit(tuple(range(50)), 0)]), mortal, seed=1)
        assert outcome.deaths > 0
        assert outcome.busy == 5000.0
        assert math.isclose(outcome.makespan, 5 + 5000 + outcome.lost + 5 * outcome.deaths)

    def test_the_seed_decides_who_dies(self):
        run = partial(simulate, [50.0] * 100)
        mortal = FREE(8, failures=20.0)
        assert run(one_by_one(100), mortal, 1) == run(one_by_one(100), mortal, 1)
        assert run(one_by_one(100), mortal, 1) != run(one_by_one(100), mortal, 2)

    def test_queues_for_some_lanes_only_are_an_error(self):
        with pytest.raises(ValueError, match="2 queues for 3 lanes"):
            simulate([1.0] * 4, divided(4, 2), FREE(3))

    @given(SECONDS, st.integers(1, 12), st.sampled_from(["packed", "one by one", "divided"]))
    def test_every_case_is_run_once_and_no_order_beats_the_ideal(self, seconds, lanes, order):
        facts = [CaseFacts(n, str(n), "", 500, 100) for n in range(len(seconds))]
        plan = {
            "packed": lambda: pulled(pack(facts, lanes, CostModel())),
            "one by one": lambda: one_by_one(len(seconds)),
            "divided": lambda: divided(len(seconds), lanes),
        }[order]()
        outcome = simulate(seconds, plan, FREE(lanes))
        assert math.isclose(outcome.busy, sum(seconds))
        assert outcome.makespan >= ideal(seconds, lanes) * (1 - 1e-9)

    @given(SECONDS, st.integers(1, 12))
    def test_the_longest_first_is_within_four_thirds_of_the_ideal(self, seconds, lanes):
        # Graham's bound for known costs; units of several cases add what one unit may hold.
        seconds = [one + 31 for one in seconds]  # longer than a shared unit: each has its own
        facts = [CaseFacts(n, str(n), "", 500, 100) for n in range(len(seconds))]
        outcome = simulate(seconds, pulled(foreseen(facts, seconds, lanes)), FREE(lanes))
        shortest = max(ideal(seconds, lanes), _two_on_one_lane(seconds, lanes))
        assert outcome.makespan <= 4 / 3 * shortest * (1 + 1e-9) or len(seconds) > 2 * lanes


def _two_on_one_lane(seconds, lanes) -> float:
    """With more cases than lanes, some two of the longest share a lane."""
    ordered = sorted(seconds, reverse=True)
    return ordered[lanes - 1] + ordered[lanes] if len(ordered) > lanes else 0.0


class TestMeasuredCosts:
    """What the page promises of the scheduler, on the measured distribution."""

    def makespan(self, maskbench, plan, lanes):
        return simulate(maskbench.seconds, plan, scale.cluster(lanes)).makespan

    def test_64_lanes_are_used_nearly_wholly(self, maskbench):
        packed = pulled(pack(maskbench.facts, 64, CostModel()))
        assert self.makespan(maskbench, packed, 64) < ideal(maskbench.seconds, 64) / 0.95

    def test_with_1024_lanes_packing_beats_the_naive_orders(self, maskbench):
        count = len(maskbench.facts)
        packed = self.makespan(maskbench, pulled(pack(maskbench.facts, 1024, CostModel())), 1024)
        assert packed < 0.95 * self.makespan(maskbench, one_by_one(count), 1024)
        assert packed < 0.4 * self.makespan(maskbench, divided(count, 1024), 1024)

    def test_the_estimates_order_the_cases_well_enough(self, maskbench):
        known = pulled(foreseen(maskbench.facts, maskbench.seconds, 1024))
        packed = pulled(pack(maskbench.facts, 1024, CostModel()))
        best = self.makespan(maskbench, known, 1024)
        assert self.makespan(maskbench, packed, 1024) < 1.2 * best

    def test_learning_from_half_of_the_cases_makes_the_other_half_better_known(self, data):
        model, prior = CostModel(), CostModel()
        cases = [
            (CaseFacts(n, str(n), one.family, one.schema_bytes, one.text_bytes), one)
            for n, one in enumerate(data.cases)
        ]
        for facts, one in cases[::2]:
            model.learn(facts, data.seconds(one, walks=10))

        def error(costs):
            """Gamma deviance: what estimates of a mean are scored by where costs have a long tail."""
            ratios = [data.seconds(one, 10) / costs.expected(facts) for facts, one in cases[1::2]]
            return sum(ratio - 1 - math.log(ratio) for ratio in ratios)

        assert error(model) < 0.5 * error(prior)

    def test_the_prior_is_the_fit_to_them(self, data):
        common, factors = scale_measure.prior(data)
        assert factors == pytest.approx(dict(costs.FAMILIES), abs=0.011)
        assert common == {
            "SECONDS": pytest.approx(costs.SECONDS, abs=0.011),
            "SCHEMA_POWER": pytest.approx(costs.SCHEMA_POWER, abs=0.011),
            "TEXT_POWER": pytest.approx(costs.TEXT_POWER, abs=0.011),
        }

    def test_the_page_has_the_figures_that_the_command_prints(self, data):
        page = scale.PAGE.read_text("utf-8")
        assert scale.written(page, scale.figures(data)) == page

    def test_the_page_says_that_no_cloud_was_used(self):
        assert "No cloud was used" in scale.PAGE.read_text("utf-8")

    def test_the_file_is_small(self):
        assert FILE.stat().st_size < 50_000


class TestPopulation:
    DATA = ScaleData(
        run={},
        lane_seconds=66.0,
        cases=(
            Measured("one", 100, 10, 1.0, 1.0, 4.0),
            Measured("one", 200, 20, 1.0, 1.0, 12.0),
            Measured("two", 300, 30, 10.0, 0.0, 30.0),
        ),
        families={"one": Family(30, 20), "two": Family(5, 5)},
        table_bytes={},
        part_bytes=0,
        part_disk_bytes=0,
        part_files=0,
        join_seconds=0,
        join_seconds_ten_walks=0,
    )

    def test_it_has_as_many_cases_of_each_family_as_the_collection(self):
        facts = self.DATA.population(1).facts
        assert [one.ordinal for one in facts] == list(range(35))
        assert [one.family for one in facts] == ["one"] * 30 + ["two"] * 5

    def test_cases_without_a_text_cost_no_walk(self):
        drawn = self.DATA.population(100)
        bare = [
            seconds
            for facts, seconds in zip(drawn.facts, drawn.seconds, strict=True)
            if not facts.text_bytes
        ]
        assert bare == [pytest.approx(2.2)] * 10

    def test_time_outside_of_the_stages_is_in_proportion(self):
        assert self.DATA.seconds(self.DATA.cases[0], walks=1) == pytest.approx(6.6)

    def test_more_walks_repeat_only_the_walk(self):
        assert self.DATA.seconds(self.DATA.cases[2], walks=3) == pytest.approx(110.0)

    def test_the_total_is_each_familys_mean_times_its_cases(self):
        total, error = self.DATA.total(1)
        assert total == pytest.approx(20 * 11 + 10 * 2.2 + 5 * 44)
        assert error > 0

    def test_the_seed_decides_what_is_drawn(self):
        assert self.DATA.population(1, seed=3) == self.DATA.population(1, seed=3)
        assert self.DATA.population(1, seed=3) != self.DATA.population(1, seed=4)

    def test_what_is_saved_is_read_again(self, tmp_path):
        file = tmp_path / "scale.json"
        self.DATA.save(file)
        assert ScaleData.load(file) == self.DATA

    def test_a_file_of_another_format_is_refused(self, tmp_path):
        file = tmp_path / "scale.json"
        file.write_text('{"format": 0}', "utf-8")
        with pytest.raises(ValueError, match="another format"):
            ScaleData.load(file)


class TestMeasuring:
    COLLECTION = ListedCases(
        "the collection",
        [
            case({}, 1, name="a", family="one"),
            case({}, 1, name="b", family="two"),
            case({}, name="c", family="two"),
        ],
        "0" * 64,
        own=False,
    )

    @pytest.fixture
    def run(self, tmp_path):
        def make(walks=1, finish=True):
            identity = {
                "engines": {"e": {"version": "1"}},
                "vocabulary": {"name": "bytes", "size": 300},
                "data": {"name": "the collection"},
                "rules": {"cap": 200, "walks": walks},
                "limits": {"compile": 10.0},
            }
            run = create_or_resume(tmp_path / "run", identity, {"machine": {"processors": 2}})
            for ordinal, (name, family) in enumerate([("a", "one"), ("b", "two")]):
                book = Book(name, family=family, schema='{"é": 1}')
                if name == "b":
                    book.engine("e", "timed_out")
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
            sessions = [{"began": 1000.0, "lanes": 1}, {"began": 1010.0, "lanes": 2}]
            (run.path / "sessions.jsonl").write_text("\n".join(map(json.dumps, sessions)), "utf-8")
            if finish:
                run.finish({"seconds": 14.0})
            run.release()
            return run.path

        return make

    def test_costs_come_by_what_repeats_with_walks(self, run):
        data = scale_measure.measure(run(), self.COLLECTION)
        assert data.cases[0] == Measured("one", 9, 0, 1.5, 0.75, 6.0)

    def test_an_engine_that_timed_out_cost_the_limit(self, run):
        data = scale_measure.measure(run(), self.COLLECTION)
        assert data.cases[1].compile == 1.5 + 10

    def test_lane_seconds_are_those_of_all_sessions(self, run):
        assert scale_measure.measure(run(), self.COLLECTION).lane_seconds == 10 + 2 * 4

    def test_families_are_those_of_the_collection(self, run):
        data = scale_measure.measure(run(), self.COLLECTION)
        assert data.families == {"one": Family(1, 1), "two": Family(2, 1)}

    def test_files_of_a_case_are_larger_in_blocks(self, run):
        data = scale_measure.measure(run(), self.COLLECTION)
        assert 0 < data.part_bytes < data.part_disk_bytes == 4096 * data.part_files

    def test_a_run_that_goes_on_is_refused(self, run):
        with pytest.raises(RunDirectoryError, match="not finished"):
            scale_measure.measure(run(finish=False), self.COLLECTION)

    def test_a_run_of_several_walks_is_refused(self, run):
        with pytest.raises(RunDirectoryError, match="one walk"):
            scale_measure.measure(run(walks=3), self.COLLECTION)
