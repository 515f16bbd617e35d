"""A submitted sweep is the same command, run elsewhere."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import click
import pytest

import harness.cli.bench
import harness.execution.sweep.start
from harness.cli.main import cli
from harness.errors import UsageError
from harness.execution.sweep import submit
from harness.execution.sweep.submit import COMMAND, _followed, _submitted

MANY = shlex.split(
    "--engines xgrammar@0.2.8[any_whitespace=false],llguidance --cases maskbench:/data/mb.tar.xz"
    " --family Github_easy --family Snowplow --id 'Git*' --limit 70 --sample 60 --lanes 12 --ahead 2"
    " --seed=-7 --cap none --on-dropout continue --walks 3 --style indent --generated 3 --formats annotation"
    " --resolver rollout --challenger none --samples 3"
    " --compile-timeout 10 --mask-timeout 2.5 --resolve-timeout 30 --memory 1G --eos '<end>'"
    " --case-budget 20 --vocabulary own.json --lane-cpus 0.5 --lane-memory 3G --out '/shared/my run'"
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
    @pytest.fixture
    def submitted(self, monkeypatch):
        """The options of a job that a command would submit."""

        def parse(*arguments):
            jobs = []
            monkeypatch.setattr(submit, "submit", lambda *job: jobs.append(job))
            monkeypatch.setattr(harness.cli.bench, "end_run", lambda *_, **__: None)
            cli.main(["sweep", *arguments, "--submit", "http://head:8265"], standalone_mode=False)
            ((dashboard, options, out),) = jobs
            assert dashboard == "http://head:8265"
            assert f"--out={out}" in options
            return options

        return parse

    @pytest.mark.parametrize(
        "arguments",
        [
            MANY,
            ["--out", "s3://bucket/run"],
            [
                "--out",
                "/run",
                "--json",
                "--fail-on",
                "false_rejections",
                "--fail-engine",
                "xgrammar",
            ],
        ],
    )
    def test_asks_for_the_same(self, started, submitted, arguments):
        command = [*COMMAND[COMMAND.index("sweep") :], *submitted(*arguments)]
        assert started(*command) == started("sweep", *arguments, "--address", "auto")

    def test_no_option_of_a_run_is_left_out_above(self):
        """Else the comparison of two requests would say nothing of it."""
        names = {max(option.opts, key=len) for option in cli.commands["sweep"].params}
        here = {
            "--nodes",
            "--address",
            "--submit",
            "--shrink-budget",
            "--fail-on",
            "--fail-engine",
            "--json",
            "--config",
        }
        assert names - here == {one.partition("=")[0] for one in MANY if one.startswith("--")}

    @pytest.mark.parametrize("out", [[], ["--out", "runs/mine"]])
    def test_needs_a_place_that_means_the_same_everywhere(self, submitted, out):
        with pytest.raises(UsageError, match="--submit needs --out"):
            submitted(*out)


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
        assert (request.nodes, request.address, request.url) == (None, None, None)

    @pytest.mark.parametrize("rule", ["assertion", "annotation"])
    def test_the_rule_for_formats_is_one_of_the_run(self, started, rule):
        assert started("sweep", "--formats", rule).bench.rules.formats == rule
        assert started("sweep").bench.rules.formats == "assertion"

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
        with pytest.raises(click.BadParameter, match="no number of cpus"):
            cli.main(["sweep", "--lane-cpus", cpus], standalone_mode=False)

    def test_all_options_of_bench_are_there(self):
        bench, sweep = cli.commands["bench"], cli.commands["sweep"]
        own = {"baseline", "write_baseline", "junit", "summary"}
        shared = {option.name for option in bench.params} - own
        extra = {option.name for option in sweep.params} - shared
        assert shared < {option.name for option in sweep.params}
        assert extra == {"nodes", "address", "submit", "lane_cpus", "lane_memory"}
