"""The command line: what goes to standard output, what to standard error, and the exit code."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

import harness.runs.directory
from harness import __version__
from harness.cli.main import _interrupted
from harness.comparison.case_run import Rules
from harness.engines.specs import built_in
from harness.errors import UsageError
from harness.inputs.vocabulary import byte_vocabulary
from tests.command import ROOT, STUDY, is_progress, maskcourt


@pytest.fixture(scope="module")
def chatty(tmp_path_factory):
    """A run with an engine that prints all the time, and what came out of it."""
    root = tmp_path_factory.mktemp("chatty")
    schema = {"enum": ["ab", 1], "x-extra": ['"ax"'], "x-forbidden": [["", "1"]]}
    case = {"id": "one", "family": "few", "schema": schema, "valid": ["ab"]}
    (root / "own.jsonl").write_text(json.dumps(case))
    byte_vocabulary([b"ab"]).save(root / "vocabulary")
    names = ("Chatty", "AcceptsExtra", "ForbidsOne")
    done = maskcourt(
        *("bench", "--json", "--cases", root / "own.jsonl", "--vocabulary", root / "vocabulary"),
        *("--out", root / "run", "-e", ",".join(f"tests.miniatures:{name}" for name in names)),
        *("--lanes", 1, *STUDY),
    )
    assert done.returncode == 0, done.stderr
    return root / "run", done


@pytest.mark.processes
class TestBench:
    def test_json_goes_to_standard_output_and_progress_alone_to_standard_error(self, chatty):
        run, done = chatty
        summary = json.loads(done.stdout)
        assert (summary["run"], summary["finished"]) == (str(run), True)
        first, *compared, last = done.stderr.splitlines()
        assert first.endswith("; starting the engines")
        assert all(map(is_progress, compared))
        assert last.startswith("1/1 cases, ")


@pytest.mark.processes
class TestTally:
    def test_as_json_is_what_the_run_printed(self, call, chatty):
        run, done = chatty
        assert call("tally", run, "--json", "--trust") == (0, done.stdout, "")

    def test_as_text_names_the_engines_their_errors_and_the_reasons(
        self, call, chatty, monkeypatch
    ):
        run, _ = chatty
        monkeypatch.setenv("COLUMNS", "120")
        code, printed, problems = call("tally", run)
        assert (code, problems) == (0, "")
        lines = printed.splitlines()
        for engine in ("Chatty", "AcceptsExtra", "ForbidsOne"):
            assert any(f"tests.miniatures:{engine}" in line for line in lines)
        assert f"run: {run}" in lines

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--fail-on", "false_acceptances"], "AcceptsExtra: 1 token with fa"),
            (["--fail-on", "false_rejections"], "ForbidsOne: 1 token with fa"),
            (["--fail-on", "leak"], "AcceptsExtra: 1 schema with leak"),
            (["--fail-on", "value"], "AcceptsExtra: 1 schema with leak"),
        ],
    )
    def test_fails_on_bugs_and_says_why(self, call, chatty, options, said):
        run, done = chatty
        code, printed, problems = call("tally", run, "--trust", "--json", *options)
        assert (code, printed, problems.count("\n")) == (1, done.stdout, 1)
        assert f"maskcourt: failed on tests.miniatures:{said}" in problems


class TestLists:
    def test_engines_as_json(self, call):
        code, printed, problems = call("engines", "--json")
        assert (code, problems) == (0, "")
        engines = json.loads(printed)["engines"]
        assert engines.keys() >= built_in().keys()
        for engine in engines.values():
            assert engine["options"]["config"]["default"] == "spec"
            assert engine["options"]["config"]["choices"] == ["spec", "shipped"]

    def test_engines_as_text(self, call):
        code, printed, _ = call("engines")
        assert code == 0
        assert all(name in printed for name in built_in())

    @pytest.mark.engines
    def test_what_is_installed_needs_no_environment(self, call, tmp_path, monkeypatch):
        monkeypatch.setenv("MASKCOURT_ENVIRONMENTS", str(tmp_path))
        said = "xgrammar is installed beside maskcourt\n"
        assert call("engines", "install", "xgrammar")[:2] == (0, said)


class TestHelp:
    @pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
    def test_of_the_program(self, call, arguments):
        code, printed, problems = call(*arguments)
        assert (code, problems) == (0, "")
        assert printed.startswith("Usage: maskcourt [OPTIONS] COMMAND")

    def test_of_a_command_says_what_each_option_is_without_it(self, call):
        code, printed, _ = call("bench", "--help")
        assert code == 0
        for default in ("quick", str(Rules().cap), "qwen2.5", "shared", "4G"):
            assert f"[default: {default}" in printed

    def test_version(self, call):
        assert call("--version") == (0, f"maskcourt, version {__version__}\n", "")


@pytest.mark.processes
class TestNobodyReads:
    """As in ``maskcourt tally run | head -1``: the other end of the pipe is closed."""

    @pytest.mark.parametrize(
        "arguments",
        [
            ["tally", "RUN", "--json"],
            ["replay", "RUN", "0", "--show", "--trust"],
            ["engines", "--json"],
            ["--help"],
        ],
    )
    def test_it_ends_quietly_as_if_by_the_signal(self, chatty, arguments):
        run, _ = chatty
        read, write = os.pipe()
        os.close(read)
        try:
            done = maskcourt(
                *(run if one == "RUN" else one for one in arguments),
                capture_output=False,
                stdout=write,
                stderr=subprocess.PIPE,
            )
        finally:
            os.close(write)
        assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


class TestErrors:
    """What `open_run` raises stands for whatever any command may raise."""

    def failing(self, monkeypatch, error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr(harness.runs.directory, "open_run", fail)

    def test_are_one_line_with_the_hint(self, call, monkeypatch):
        self.failing(monkeypatch, UsageError("no such\nthing", "try another"))
        assert call("tally", "x") == (2, "", "maskcourt: no such thing (try another)\n")

    @pytest.mark.parametrize("place", [["--debug", "tally", "x"], ["tally", "x", "--debug"]])
    def test_come_with_a_traceback_where_it_is_asked_for(self, call, monkeypatch, place):
        self.failing(monkeypatch, UsageError("no such thing"))
        code, printed, problems = call(*place)
        assert (code, printed) == (2, "")
        first, *_, last = problems.splitlines()
        assert first.startswith("Traceback")
        assert last == "maskcourt: no such thing"

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (OSError(errno.ENOENT, "No such file", "a.parquet"), "No such file: a.parquet"),
            (MemoryError(), "memory is exhausted; what is stored is good"),
            (pa.ArrowMemoryError("malloc of size 64 failed"), "memory is exhausted; "),
        ],
    )
    def test_of_the_system_say_what_is_exhausted(self, call, monkeypatch, error, message):
        self.failing(monkeypatch, error)
        code, printed, problems = call("tally", "x")
        assert (code, printed, problems.count("\n")) == (2, "", 1)
        assert problems.startswith(f"maskcourt: {message}")

    @pytest.mark.processes
    @pytest.mark.parametrize("kibibytes", [250_000, 400_000, 600_000])
    def test_too_little_memory_is_told_in_a_line(self, kibibytes):
        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (kibibytes << 10, kibibytes << 10))

        command = [sys.executable, "-m", "harness.cli", "tally", "none"]
        done = subprocess.run(
            command, cwd=ROOT, preexec_fn=limited, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("maskcourt: ")

    def test_an_interrupt_is_no_error_of_input(self, call, monkeypatch):
        self.failing(monkeypatch, KeyboardInterrupt())
        code, printed, problems = call("tally", "x")
        assert (code, printed) == (130, "")
        assert problems.strip().startswith("maskcourt: interrupted")

    def test_defects_are_not_hidden(self, call, monkeypatch):
        self.failing(monkeypatch, AssertionError("a defect"))
        code, _, problems = call("tally", "x")
        assert code == 2, "an exit code of 1 would be a finding"
        assert "an error of maskcourt itself: AssertionError: a defect" in problems
        assert "Traceback" not in problems
        assert "Traceback" in call("--debug", "tally", "x")[2]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bench", "maskcourt: interrupted; finished cases are kept, the same command goes on\n"),
        ("replay", "maskcourt: interrupted\n"),
    ],
)
def test_that_something_is_kept_is_said_of_what_keeps_it(command, said, capsys):
    with pytest.raises(SystemExit):
        _interrupted("", [command, "run"])
    assert capsys.readouterr().err == said
