"""The benchmark: what it measures, on tiny engines; its arithmetic; its meter tells the truth."""

from __future__ import annotations

import builtins
import importlib.util
import io
import json
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks import __main__ as command
from benchmarks import workloads
from benchmarks.__main__ import finish, main
from benchmarks.curves import curves
from benchmarks.figures import Figure, geometric_mean, ratio
from benchmarks.lane import VALIDATORS, BenchLane, HostSpent, MeteredJudge, MeteredPanel, Ran, Way
from benchmarks.lanes import LanesRan, Setting, run_on_lanes
from benchmarks.measure import Measured, Measurement, Sample
from benchmarks.meter import Meter, MeteredService, MeteredValidators, TellExpenses, Timer, overhead
from benchmarks.plan import FULL, PARTS, QUICK, Plan
from benchmarks.report import TARGETS, as_json, machine, number, show
from benchmarks.scale import Cost, costs_of, prior, total
from benchmarks.scale import main as scale
from benchmarks.summary import engine_share, rate, rate_per_core, speed_ups, summary, walk_ratio
from benchmarks.workloads import Workload, long_text, resized, workload
from harness.engines.panel import Limits
from harness.engines.specs import EngineSpec
from harness.errors import InputError, MaskcourtError
from harness.execution.sweep.costs import SCHEMA_BYTES, TEXT_BYTES
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.runs.directory import create_or_resume
from harness.workers import wire
from tests.books import Book
from tests.inprocess import InProcessJudge, InProcessPanel, case, default_options
from tests.miniatures import AcceptsExtra, Enumerator

KINDS = (Enumerator, AcceptsExtra)
SPECS = tuple(
    EngineSpec(kind.__name__, f"tests.miniatures:{kind.__name__}", default_options(kind))
    for kind in KINDS
)
SPLIT = case(
    {"enum": ["one", "two"], "x-extra": ["1", '"ox"', '"onx"', '"ony"']}, "one", name="split"
)
PLAN = Plan(
    "mini",
    repetitions=2,
    sample=1,
    caps=(1, 10),
    lengths=(10, 20),
    length_positions=5,
    sizes=(0, 300),
    whole=0.001,  # a position of a tiny vocabulary has few disputed tokens
    lane_seconds=0.1,
)


def long_case(_vocabulary, tokens):
    text = "a" * (tokens - 2)
    return case({"const": text, "x-extra": [json.dumps(text[:3] + "b")]}, text, name=f"{tokens}")


WORK = Workload("miniatures", "", (SPLIT,), (SPLIT,), SPLIT, long_case)


class _Judge(InProcessJudge):
    def __init__(self):
        super().__init__(MeteredValidators)

    spent = MeteredJudge.spent


def lane_in_here(specs, path, limits):
    """A lane without processes."""

    def parts(_specs, _path, _words, _limits):
        panel = InProcessPanel(KINDS, Vocabulary.load(path))
        for host in panel._hosts:
            host._make = lambda make=host._make: MeteredService(make())
        return panel, _Judge()

    return BenchLane(specs, path, limits, parts)


def fake_lanes(_setting, count, cases, _way):
    return LanesRan(count, len(cases), 8.0 / count, 8.0, 100, (1 << 20,) * count)


def measurement_of(vocabulary):
    said = []
    made = Measurement(
        PLAN,
        SPECS,
        vocabulary,
        WORK,
        seed=3,
        say=said.append,
        make_lane=lane_in_here,
        run_lanes=fake_lanes,
    )
    made.said = said
    return made


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


@pytest.fixture
def lane(vocabulary_file):
    lane = lane_in_here(SPECS, str(vocabulary_file), Limits())
    lane.open()
    yield lane
    lane.close()


class TestALane:
    def test_says_how_many_disputed_tokens_it_proved(self, lane):
        ran = lane.run(SPLIT, Way())
        assert ran.status == "walked"
        assert ran.tokens == ran.disputed > 0
        assert ran.proven == ran.tokens
        assert ran.seconds > ran.stages["resolve"] > 0

    def test_walks_alone_without_resolving_anything(self, lane):
        ran = lane.run(SPLIT, Way("none"))
        assert ran.positions == lane.run(SPLIT, Way()).positions
        assert (ran.resolved, ran.verdicts) == ((), 0)
        assert ran.walk_engine > 0

    def test_resolves_only_the_chosen_positions(self, lane):
        every = [one.position for one in lane.run(SPLIT, Way()).resolved]
        assert len(every) > 1
        first = lane.run(SPLIT, Way(first=1)).resolved
        assert [one.position for one in first] == every[:1]
        some = lane.run(SPLIT, Way(every=2)).resolved
        assert [one.position for one in some] == [one for one in every if one % 2 == 0]
        assert lane.run(SPLIT, Way(least=10_000)).resolved == ()

    def test_both_resolvers_stand_at_the_same_positions(self, lane):
        shared, rollout = (lane.run(SPLIT, Way(one)).resolved for one in ("shared", "rollout"))
        assert [one.position for one in shared] == [one.position for one in rollout]

    def test_times_engine_calls_only_when_asked(self, lane):
        plain, timed = lane.run(SPLIT, Way()), lane.run(SPLIT, Way(timed=True))
        assert engine_share(plain) is None
        assert plain.hosts["Enumerator"].commands["walk"]["calls"] == 0
        assert timed.hosts["Enumerator"].commands["walk"]["calls"] > 0
        assert 0 < engine_share(timed) < 2

    def test_asks_the_validators_too(self, lane):
        assert lane.run(SPLIT, Way()).hosts[VALIDATORS].total("cpu") >= 0
        assert lane.run(SPLIT, Way()).hosts[VALIDATORS].peak > 0

    @pytest.mark.processes
    def test_real_hosts_answer_alike(self, vocabulary_file):
        lane = BenchLane(SPECS, str(vocabulary_file), Limits())
        assert isinstance(lane.panel, MeteredPanel)
        try:
            lane.open()
            ran = lane.run(SPLIT, Way(timed=True))
        finally:
            lane.close()
        assert ran.proven == ran.tokens > 0
        assert ran.hosts.keys() == {"Enumerator", "AcceptsExtra", VALIDATORS}
        assert all(one.peak > 1 << 20 for one in ran.hosts.values())
        assert ran.hosts["AcceptsExtra"].commands["prove"]["engine"] > 0


class Slow:
    """A matcher of sorts: one call takes a known time, another calls it."""

    def wait(self) -> str:
        time.sleep(0.01)
        return "waited"

    def wait_twice(self) -> None:
        self.wait()
        self.wait()

    def _hidden(self) -> None:
        self.wait()


class Slower(Slow):
    def wait(self) -> str:
        return super().wait()


class TestTheTimer:
    def test_adds_up_the_time_inside(self):
        timer = Timer()
        assert timer.attach(Slow)
        assert Slow().wait() == "waited"
        timer.detach()
        assert timer.calls == 1
        assert 0.01 <= timer.ns / 1e9 < 1

    def test_a_call_inside_another_counts_once(self):
        timer = Timer()
        timer.attach(Slow)
        Slow().wait_twice()
        timer.detach()
        assert timer.calls == 1
        assert timer.ns / 1e9 >= 0.02

    def test_leaves_the_class_as_it_was(self):
        before = dict(vars(Slower))
        timer = Timer()
        timer.attach(Slower)
        assert vars(Slower)["wait"] is not before["wait"]
        assert "wait_twice" in vars(Slower)
        timer.detach()
        assert dict(vars(Slower)) == before
        Slower().wait()
        assert timer.calls == 0

    def test_a_native_class_cannot_be_timed(self):
        assert not Timer().attach(np.ndarray)

    def test_says_what_it_costs(self):
        inside, whole = overhead()
        assert 0 <= inside <= whole < 1e5


class TestTheMeter:
    def test_tells_commands_apart_and_starts_again(self):
        meter = Meter()
        for do in ("a", "a", "b"):
            meter.answer(lambda message: message, wire.Message({"do": do}))
        commands = meter.answer(None, TellExpenses().message()).head["commands"]
        assert {do: one["requests"] for do, one in commands.items()} == {"a": 2, "b": 1}
        assert meter.spent().commands == {}

    def test_a_request_that_fails_is_measured_and_fails(self):
        def fail(_message):
            raise ValueError("no")

        meter = Meter()
        with pytest.raises(ValueError, match="no"):
            meter.answer(fail, wire.Message({"do": "a"}))
        assert meter.commands["a"].requests == 1


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

    def test_what_cannot_be_divided_is_nothing(self):
        assert ratio(1.0, 0.0) is None
        assert ratio(None, 1.0) is None
        assert ratio(1.0, 4.0) == 0.25
        assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
        assert geometric_mean([]) is None
        assert geometric_mean([0.0, 1.0]) is None

    def test_rates_are_of_proven_tokens(self):
        assert rate(ran(proven=100, resolve=2.0)) == 50.0
        # the engine's host 1.0 s and the validators' 0.5 s while resolving, the lane 0.5 s
        assert rate_per_core(ran(proven=100)) == 50.0

    def test_engine_time_is_a_share_of_the_lane_without_the_timing(self):
        hosts = {"a": spent(0.9, 1.0, overhead=0.2), VALIDATORS: spent(0.0, 0.5, timed=False)}
        assert engine_share(ran(timed=True, hosts=hosts)) == pytest.approx(0.9 / 1.8)

    def test_a_walk_is_what_is_neither_compiling_nor_reading(self):
        one = ran("none", resolve=0.0, seconds=7.5)
        assert one.walk == 2.0
        assert walk_ratio(one) == 4.0

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

    def test_numbers_for_readers(self):
        shown = [number(0.1234, "%"), number(12345.6, "/s"), number(0.01234, "s")]
        assert shown == ["12.3", "12,346", "0.0123"]


class TestAMeasurement:
    def test_measures_all_parts_and_says_so(self, finished):
        measured = finished.measured
        assert {one.part for one in measured.samples} == {*PARTS, "timing"} - {"lanes"}
        assert [one.lanes for one in measured.lanes] == [1, 2]
        assert any("repetition 2" in text for text in finished.said)
        assert {one.value for one in measured.of("length")} == {10, 20}
        assert [one.repetition for one in measured.of("resolving", "rollout")] == [0, 1]

    def test_a_part_alone(self, measurement):
        measured = measurement.run(["disputed"])
        assert {one.part for one in measured.samples} == {"disputed"}

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

    def test_without_matplotlib_there_are_no_drawings_but_all_else(
        self, measurement, tmp_path, monkeypatch
    ):
        real = builtins.__import__

        def without(name, *args, **kwargs):
            if name.startswith("matplotlib"):
                raise ImportError(name)
            return real(name, *args, **kwargs)

        measurement.run(["disputed"])
        result = as_json(measurement, machine(), 1.0)
        monkeypatch.setattr(builtins, "__import__", without)
        console = Console(file=io.StringIO(), width=120)
        finish(measurement, result, tmp_path, console)
        assert "matplotlib is not installed" in console.file.getvalue()
        assert [file.name for file in tmp_path.iterdir()] == ["benchmark.json"]

    @pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="needs matplotlib")
    def test_draws_the_curves(self, finished, tmp_path):
        result = as_json(finished, machine(), 1.0)
        finish(finished, result, tmp_path, Console(file=io.StringIO(), width=120))
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / "curves.svg").read_bytes()


@pytest.mark.processes
class TestLanes:
    def test_two_processes_share_the_cases(self, vocabulary_file):
        setting = Setting(SPECS, str(vocabulary_file), Limits(), SPLIT)
        cases = [replace(SPLIT, id=str(number)) for number in range(4)]
        done = run_on_lanes(setting, 2, cases, Way())
        assert (done.lanes, done.cases) == (2, 4)
        assert done.tokens > 0
        assert done.seconds > 0
        assert all(peak > 1 << 20 for peak in done.peaks)

    def test_a_lane_that_fails_is_an_error(self, tmp_path):
        setting = Setting(SPECS, str(tmp_path / "nowhere"), Limits(), SPLIT)
        with pytest.raises(MaskcourtError, match="lane of the benchmark failed: InputError"):
            run_on_lanes(setting, 1, [SPLIT], Way())


class TestWorkloads:
    def test_without_maskbench_the_embedded_cases_with_a_note(self, monkeypatch, tmp_path):
        monkeypatch.delenv(workloads.MASKBENCH, raising=False)
        monkeypatch.setenv("MASKCOURT_DATA", str(tmp_path))
        work = workload(None, variety=3)
        assert work.name == "embedded"
        assert "MaskBench is not there" in work.note
        assert work.whole == (workloads.UNDECLARED,)
        assert len(work.variety) == 3

    def test_other_data_without_the_fixed_cases_is_refused(self, tmp_path):
        file = tmp_path / "own.jsonl"
        file.write_text(json.dumps({"id": "a", "schema": True, "valid": [1]}) + "\n", "utf-8")
        with pytest.raises(InputError, match="holds none of the cases"):
            workload(f"jsonl:{file}")

    @pytest.mark.maskbench
    @pytest.mark.skipif(not workloads.maskbench_is_there(), reason="needs MaskBench")
    def test_the_listed_cases_are_in_maskbench(self):
        work = workload("maskbench")
        listed = json.loads(workloads._LISTED.read_text("utf-8"))
        assert [[case.id for case in one] for one in (work.whole, work.variety)] == [
            list(one) for one in listed.values()
        ]
        assert all(case.valid for case in (*work.whole, *work.variety))

    @pytest.mark.parametrize("tokens", [10, 50, 500])
    def test_a_long_text_is_as_long_as_asked(self, vocabulary, tokens):
        made = long_text(vocabulary, tokens)
        (reference,) = made.valid
        count = len(vocabulary.encode_greedy(reference.text))
        assert tokens <= count
        shorter = json.dumps(json.loads(reference.text)[:-1]).encode()
        assert len(vocabulary.encode_greedy(shorter)) < tokens

    def test_a_smaller_vocabulary_keeps_the_first_ids(self, vocabulary):
        small = resized(vocabulary, 260)
        assert small.size == 260
        assert small.tokens[:256] == vocabulary.tokens[:256]
        assert small.eos_ids == (259,)

    def test_a_larger_vocabulary_joins_tokens_of_the_old_one(self):
        vocabulary = byte_vocabulary([b"ab", b"cd"])
        large = resized(vocabulary, 400, seed=1)
        assert large.size == 400
        made = large.tokens[258:399]
        assert len({*large.tokens[:399]}) == 399
        ordinary = {*large.tokens[:258]}
        assert all(
            any(one[:cut] in ordinary and one[cut:] in ordinary for cut in range(1, len(one)))
            for one in made
        )
        assert resized(vocabulary, 400, seed=1).sha256 == large.sha256
        assert resized(vocabulary, 400, seed=2).sha256 != large.sha256

    def test_the_same_size_is_the_same_vocabulary(self, vocabulary):
        assert resized(vocabulary, vocabulary.size) is vocabulary

    def test_too_small_for_the_bytes(self, vocabulary):
        with pytest.raises(ValueError, match="no room"):
            resized(vocabulary, 256)


class TestTheCommand:
    def test_an_unknown_engine_is_an_error_of_the_user(self):
        done = CliRunner().invoke(main, ["--quick", "--cases", "embedded", "--engines", "nobody"])
        assert done.exit_code == 2
        assert "unknown engine 'nobody'" in done.output

    def test_the_quick_benchmark_is_a_part_of_the_full_one(self):
        assert set(QUICK.caps) <= set(FULL.caps)
        assert set(QUICK.lengths) <= set(FULL.lengths)
        assert (QUICK.repetitions, FULL.cap) == (3, None)


def test_an_interrupted_measurement_says_so():
    class Interrupted:
        def run(self, parts):
            raise KeyboardInterrupt

    assert not command.measured(Interrupted(), ("resolving",))


class TestScale:
    @pytest.fixture
    def run(self, tmp_path):
        identity = {"rules": {"walks": 1}, "limits": {"compile": 10.0}}
        run = create_or_resume(tmp_path / "run", identity, {})
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
            Cost("of a", 9, 0, 1.5 + 0.75, 6.0),
            Cost("of b", 9, 0, 1.5 + 0.75 + 10, 6.0),
        ]

    def test_the_total_is_each_familys_mean_times_its_cases(self):
        costs = [Cost("one", 1, 1, 2.0, 4.0), Cost("one", 1, 1, 2.0, 12.0)]
        costs.append(Cost("two", 1, 1, 10.0, 30.0))
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

    def test_the_prior_finds_the_powers_that_made_the_costs(self):
        costs = [
            Cost("one", size * SCHEMA_BYTES, text * TEXT_BYTES, 4 * size**0.5 * text**2, 0.0)
            for size in (1, 2, 4)
            for text in (1, 2, 4)
        ]
        found = prior(costs)
        names = ("SECONDS", "SCHEMA_POWER", "TEXT_POWER", "one")
        assert [found[name] for name in names] == pytest.approx([4.0, 0.5, 2.0, 1.0])

    def test_the_command_says_what_all_cases_cost(self, run, collection):
        done = CliRunner().invoke(scale, [str(run.path), "--cases", collection])
        # 8.25 s for `a`, 18.25 s for `b`, and 12.25 s for `c`, which is not walked
        assert "longest case 18 s, 18 s, 18 s, 18 s\n  all cases 0 h" in done.output
        assert "1 lanes: 0.6 minutes at the least\n  64 lanes: 0.3 minutes" in done.output

    def test_the_command_fits_the_prior(self, run):
        done = CliRunner().invoke(scale, [str(run.path), "--prior"])
        assert "SECONDS: " in done.output
        assert "of b: 1." in done.output

    def test_a_run_that_goes_on_is_refused(self, tmp_path):
        identity = {"rules": {"walks": 1}, "limits": {"compile": 10.0}}
        create_or_resume(tmp_path / "run", identity, {}).release()
        done = CliRunner().invoke(scale, [str(tmp_path / "run")])
        assert "is no finished run of one walk per case" in done.output
