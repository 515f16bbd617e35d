"""A submitted sweep is the same command, run elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click
import pytest

import harness.execution.sweep.start
from harness.cli.main import cli
from harness.comparison.case_run import Rules
from harness.engines.panel import Limits
from harness.errors import UsageError
from harness.execution.bench import BenchRequest
from harness.execution.sweep.start import SweepRequest
from harness.execution.sweep.submit import COMMAND, _followed, _submitted, command_of

REQUEST = SweepRequest(
    BenchRequest(
        ["xgrammar@0.2.8[any_whitespace=false],llguidance"],
        cases="maskbench:/data/mb.tar.xz",
        out=Path("/shared/my run"),
        families=("Github_easy", "Snowplow"),
        pattern="Git*",
        sample=60,
        lanes=12,
        rules=Rules(seed=-7, cap=None, panel="survivors", walks=3, style="indent"),
        limits=Limits(10.0, 2.5, 30.0, 1 << 30),
    ),
    address="auto",
    lane_cpus=0.5,
    lane_memory=3 << 30,
)


@pytest.fixture
def started(monkeypatch):
    """What a command would start."""
    requests = []

    class Enough(Exception):
        pass

    def start(request):
        requests.append(request)
        raise Enough

    monkeypatch.setattr(harness.execution.sweep.start, "start", start)

    def parse(*arguments):
        with pytest.raises(Enough):
            cli.main(list(map(str, arguments)), standalone_mode=False)
        return requests.pop()

    return parse


class TestCommand:
    @pytest.mark.parametrize(
        "request_",
        [
            REQUEST,
            replace(REQUEST, bench=replace(REQUEST.bench, out=None), url="s3://bucket/run"),
            SweepRequest(BenchRequest(["xgrammar"], out=Path("/run")), address="auto"),
        ],
    )
    def test_asks_for_the_same(self, started, request_):
        command = command_of(request_)
        assert tuple(command[: len(COMMAND)]) == COMMAND
        found = started(*command[COMMAND.index("sweep") :])
        wanted = request_.bench
        listed = replace(
            found.bench, engines=list(found.bench.engines), families=tuple(found.bench.families)
        )
        assert replace(found, bench=wanted) == request_
        assert listed == wanted

    @pytest.mark.parametrize("out", [None, Path("runs/mine")])
    def test_needs_a_place_that_means_the_same_everywhere(self, out):
        with pytest.raises(UsageError, match="--submit needs --out"):
            command_of(replace(REQUEST, bench=replace(REQUEST.bench, out=out)))


@dataclass
class Status:
    value: str

    def is_terminal(self) -> bool:
        return self.value in ("SUCCEEDED", "FAILED")


class Client:
    """A job that goes through some states, its log growing."""

    def __init__(self, *states: tuple[str, str]) -> None:
        self.states = list(states)

    def get_job_status(self, job):
        return Status(self.states[0][0])

    def get_job_logs(self, job):
        return self.states[0][1]


class Starting:
    """A cluster that takes a job when it was asked three times."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.asked = 0

    def submit_job(self, entrypoint):
        self.asked += 1
        if self.asked < 3:
            raise RuntimeError(self.message)
        return f"job of {entrypoint}"


def test_a_cluster_that_has_just_started_is_asked_again():
    client = Starting("status code 500: No available agent to submit job")
    assert _submitted(client, "command", lambda seconds: None) == "job of command"


def test_any_other_refusal_is_final():
    client = Starting("status code 400: no")
    with pytest.raises(RuntimeError, match="400"):
        _submitted(client, "command", lambda seconds: None)
    assert client.asked == 1


def test_a_job_s_log_is_printed_as_it_grows(capsys):
    client = Client(("PENDING", ""), ("RUNNING", "one\n"), ("FAILED", "one\ntwo\n"))
    assert _followed(client, "job", lambda seconds: client.states.pop(0)) == "FAILED"
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "one\ntwo\n")


class TestOptions:
    def test_by_default_it_is_one_node_here(self, started):
        request = started("sweep")
        assert (request.nodes, request.address, request.submit, request.url) == (
            1,
            None,
            None,
            None,
        )

    def test_of_clusters_one_is_chosen(self):
        with pytest.raises(UsageError, match="--nodes and --address do not go together"):
            cli.main(["sweep", "--nodes", "2", "--address", "auto"], standalone_mode=False)

    def test_bench_does_not_take_a_url_for_a_directory(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match="sweep writes to URLs"):
            cli.main(["bench", "--out", "s3://bucket/run"], standalone_mode=False)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("cpus", ["0", "-1", "nan", "many"])
    def test_a_lane_needs_some_processor(self, cpus):
        with pytest.raises(click.BadParameter, match="no positive number of cpus"):
            cli.main(["sweep", "--lane-cpus", cpus], standalone_mode=False)

    def test_all_options_of_bench_are_there(self):
        bench, sweep = cli.commands["bench"], cli.commands["sweep"]
        shared = {option.name for option in bench.params}
        extra = {option.name for option in sweep.params} - shared
        assert shared < {option.name for option in sweep.params}
        assert extra == {"nodes", "address", "submit", "lane_cpus", "lane_memory"}
