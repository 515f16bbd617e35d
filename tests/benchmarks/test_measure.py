"""What the benchmark measures, on tiny engines, and its arithmetic."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks.curves import curves
from benchmarks.figures import Figure
from benchmarks.lane import VALIDATORS, HostSpent, Ran, Way
from benchmarks.lanes import LanesRan
from benchmarks.measure import Measured, Sample
from benchmarks.plan import PARTS
from benchmarks.report import TARGETS, as_json, machine, show
from benchmarks.summary import engine_share, rate, rate_per_core, speed_ups, summary
from harness.errors import MaskcourtError
from tests.benchmarking import PLAN, WORK, measurement_of
from tests.inprocess import case


@pytest.fixture
def measurement(vocabulary):
    """Nothing measured yet."""
    return measurement_of(vocabulary)


@pytest.fixture(scope="module")
def finished(vocabulary):
    """Everything measured; not to be changed."""
    made = measurement_of(vocabulary)
    made.run(PARTS)
    return made


def spent(engine=0.0, cpu=0.0, timed=True, overhead=0.0):
    commands = {
        "prove": {"requests": 1, "wall": 1.0, "cpu": cpu, "engine": engine, "calls": 10},
        "compile": {"requests": 1, "wall": 9.0, "cpu": 9.0, "engine": 0.0, "calls": 0},
    }
    return HostSpent(commands, cpu + 9.0, 1 << 20, timed, overhead, (0.0, 0.0))


def ran(resolver="shared", resolve=2.0, proven=100, name="case", timed=False, **other):
    from benchmarks.lane import Resolved

    values = {
        "case": name,
        "way": Way(resolver, timed=timed),
        "status": "walked",
        "positions": 4,
        "disputed": 200,
        "seconds": 10.0,
        "lane_cpu": 3.0,
        "stages": {"compile": 5.0, "references": 0.5, "walk": 1.0, "resolve": resolve},
        "compile": {"a": 4.0},
        "walk_engine": 0.5,
        "store": 0.5,
        "stored_bytes": 1000,
        "verdicts": 100,
        "resolved": (Resolved(0, 200, 200, proven, resolve, 0.5),),
        "hosts": {"a": spent(0.9, 1.0, timed), VALIDATORS: spent(0.0, 0.5, False)},
        "lane_peak": 1 << 21,
    }
    return Ran(**{**values, **other})


def line(measured, key):
    return next(one for one in summary(measured) if one.key == key)


class TestArithmetic:
    def test_a_figure_has_a_median_and_a_spread(self):
        figure = Figure.of([4.0, None, 2.0, 3.0])
        assert (figure.median, figure.least, figure.most) == (3.0, 2.0, 4.0)
        assert figure.spread == pytest.approx(2 / 3)
        assert figure.values == (4.0, 2.0, 3.0)
        assert Figure.of([None]) is None

    def test_rates_are_of_proven_tokens(self):
        assert rate(ran(proven=100, resolve=2.0)) == 50.0
        # the engine's host 1.0 s and the validators' 0.5 s while resolving, the lane 0.5 s
        assert rate_per_core(ran(proven=100)) == 50.0

    def test_engine_time_is_a_share_of_the_lane_without_the_timing(self):
        hosts = {"a": spent(0.9, 1.0, overhead=0.2), VALIDATORS: spent(0.0, 0.5, timed=False)}
        assert engine_share(ran(timed=True, hosts=hosts)) == pytest.approx(0.9 / 1.8)

    def test_shared_is_compared_with_rollout_in_the_same_repetition(self):
        samples = [
            Sample("resolving", 0, repetition, ran(resolver, resolve))
            for repetition, fast, slow in ((0, 1.0, 10.0), (1, 1.0, 30.0))
            for resolver, resolve in (("shared", fast), ("rollout", slow))
        ]
        figure = line(Measured(samples), "times_rollout").figure
        assert figure.values == pytest.approx((10.0, 30.0))
        assert figure.median == pytest.approx(20.0)

    def test_cases_count_alike_in_a_figure_over_all(self):
        samples = [
            Sample("resolving", 0, 0, ran(resolve=resolve, name=name))
            for name, resolve in (("fast", 1.0), ("slow", 100.0))
        ]
        over_all = line(Measured(samples), "shared_wall")
        assert over_all.figure.median == pytest.approx(10.0)
        assert over_all.cases["fast"].median == pytest.approx(100.0)

    def test_timed_samples_are_no_part_of_the_rates(self):
        samples = [
            Sample("resolving", 0, 0, ran(resolve=1.0)),
            Sample("timing", 0, 0, ran(resolve=2.0)),
            Sample("timing", 0, 0, ran(resolve=3.0, timed=True)),
        ]
        measured = Measured(samples)
        assert line(measured, "shared_wall").figure.values == pytest.approx((100.0,))
        assert line(measured, "timing").figure.median == pytest.approx(1.5)

    def test_lanes_are_compared_with_one(self):
        lanes = [LanesRan(1, 8, 9.0, 9.0, 10, (1,)), LanesRan(2, 8, 5.0, 9.5, 10, (1, 1))]
        assert speed_ups(Measured(lanes=lanes)) == {2: 1.8}
        assert speed_ups(Measured(lanes=lanes[1:])) == {}


@pytest.mark.thorough
class TestAMeasurement:
    def test_measures_all_parts_and_says_so(self, finished):
        measured = finished.measured
        assert {one.part for one in measured.samples} == {*PARTS, "timing"} - {"lanes"}
        assert [one.lanes for one in measured.lanes] == [1, 2]
        assert any("repetition 2" in text for text in finished.said)
        assert {one.value for one in measured.of("length")} == {10, 20}
        assert [one.repetition for one in measured.of("resolving", "rollout")] == [0, 1]

    def test_a_case_that_cannot_be_walked_is_an_error(self, measurement):
        unfit = case({"type": "number"}, 1, name="unfit")
        measurement.work = replace(WORK, whole=(unfit,))
        with pytest.raises(MaskcourtError, match="'unfit' cannot be measured: it was not_compared"):
            measurement.run(["resolving"])

    def test_the_result_is_json_with_every_raw_figure(self, finished):
        result = json.loads(json.dumps(as_json(finished, machine(), 1.5)))
        assert result["seed"] == 3
        assert result["plan"]["name"] == "mini"
        assert result["machine"]["processors"] >= 1
        assert result["versions"]["engines"].keys() == {"Enumerator", "AcceptsExtra"}
        assert len(result["samples"]) == len(finished.measured.samples)
        one = result["samples"][0]
        assert one["ran"]["hosts"]["Enumerator"]["commands"]["walk"]["requests"] > 0
        lines = {one["key"]: one for one in result["lines"]}
        assert lines.keys() >= TARGETS.keys()
        assert lines["two_lanes"]["all"]["median"] == 2.0
        assert lines["times_rollout"]["all"]["median"] > 0
        assert len(lines["shared_wall"]["all"]["values"]) == PLAN.repetitions

    def test_tables_and_curves(self, finished):
        console = Console(file=io.StringIO(), width=120)
        show(finished.measured, console)
        shown = console.file.getvalue()
        assert "proven per second and core, shared" in shown
        assert "≥ 20,000" in shown
        assert "split" in shown
        found = {one.key: one for one in curves(finished.measured)}
        assert found.keys() == {"disputed", "length", "vocabulary", "lanes"}
        assert found["lanes"].lines["speed"] == ((1, 1.0), (2, 2.0))
        assert [x for x, _ in found["length"].lines["walking"]] == [10, 20]
