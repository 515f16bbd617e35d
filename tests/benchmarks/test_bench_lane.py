"""A lane of the benchmark: what it proves, what it counts, with hosts and without."""

from dataclasses import replace

import pytest

from benchmarks.lane import VALIDATORS, BenchLane, MeteredPanel, Way
from benchmarks.lanes import Setting, run_on_lanes
from benchmarks.summary import engine_share
from harness.engines.panel import Limits
from tests.benchmarking import SPECS, SPLIT, lane_in_here

pytestmark = pytest.mark.thorough


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

    def test_times_engine_calls_only_when_asked(self, lane):
        plain, timed = lane.run(SPLIT, Way()), lane.run(SPLIT, Way(timed=True))
        assert engine_share(plain) is None
        assert plain.hosts["Enumerator"].commands["walk"]["calls"] == 0
        assert timed.hosts["Enumerator"].commands["walk"]["calls"] > 0
        assert 0 < engine_share(timed) < 2

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
