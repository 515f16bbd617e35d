"""Bad input: one line that says what, where and what to do; nothing written, nothing lost."""

import json
import resource
import shutil
from pathlib import Path

import pytest

from harness.inputs.vocabulary import byte_vocabulary
from tests.command import is_progress, maskcourt

ENGINES = "tests.miniatures:Enumerator,tests.miniatures:AcceptsExtra"
CASES = 3


def write_cases(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def plain_case(number: int, **others: object) -> dict[str, object]:
    schema = {"enum": ["ab", number], "x-extra": ['"ax"']}
    return {"id": f"case-{number}", "schema": schema, "valid": ["ab"], **others}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A directory with cases and a vocabulary in it, both good."""
    root = tmp_path_factory.mktemp("own")
    write_cases(root / "own.jsonl", *map(plain_case, range(CASES)))
    byte_vocabulary([b"ab"]).save(root / "vocabulary")
    return root


def request(root: Path, *others: object) -> list[object]:
    data = ("--cases", root / "own.jsonl", "--vocabulary", root / "vocabulary")
    how = ("--lanes", 1, "--shrink-budget", 0)
    return ["bench", "-e", ENGINES, *data, *how, *others]


@pytest.fixture(scope="module")
def finished(own):
    """A finished run, not to be altered."""
    done = maskcourt(*request(own, "--out", own / "finished"))
    assert done.returncode == 0, done.stderr
    return own / "finished"


@pytest.fixture
def refusal(own, tmp_path, monkeypatch, call):
    """Run a command that is refused before anything starts, in this process; its message."""
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        code, printed, problems = call(*arguments)
        assert (code, printed) == (2, "")
        assert sorted(tmp_path.rglob("*")) == before, "something was written"
        return one_line(problems)

    return refuse


def one_line(printed: str) -> str:
    """The message, which is one line that names the program, behind none but progress."""
    *before, last = printed.splitlines()
    assert last.startswith("maskcourt: ")
    assert all(map(is_progress, before))
    return last.removeprefix("maskcourt: ")


class TestWhatIsAskedFor:
    @pytest.mark.parametrize(
        ("engines", "message"),
        [
            ("xgramar", "unknown engine 'xgramar' (did you mean 'xgrammar'?)"),
            ("no.such:Thing", "module 'no.such' cannot be imported"),
            (",", "no engine is named"),
        ],
    )
    def test_engines(self, refusal, engines, message):
        assert message in refusal("bench", "--engines", engines)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--cap", 0], "'0' is neither 'none' nor a whole number (at least 1)"),
            (["--sample", 0], "sample must be at least 1, not 0"),
            (["--walks", -1], "'--walks': '-1' is no whole number (at least 0)"),
            (["--seed", "x"], "'--seed': 'x' is no whole number"),
            (["--memory", "4X"], "'4X' is no size; write 512M or 4G"),
            (["--compile-timeout", 0], "'0' is no number of seconds (greater than 0)"),
            (["--formats", "x"], "'x' is not one of 'assertion', 'annotation'"),
            (["--family", "owm"], "no family 'owm' in the data (did you mean 'own'?)"),
            (["--id", "nothing-*"], "none of 3 case ids matches 'nothing-*'"),
            (["--eos", "<end>"], "no token '<end>' to end with"),
            (["--vocabulary", "qwen"], "no vocabulary 'qwen' (did you mean 'qwen2.5'?"),
            (["--cases", "none.jsonl"], "cannot read none.jsonl: No such file"),
            (["--enginess", "x"], "No such option '--enginess'"),
        ],
    )
    def test_options(self, refusal, own, options, message):
        assert message in refusal(*request(own, *options))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["bensh"], "No such command 'bensh'"),
            (["tally"], "Missing argument 'RUN'"),
            (["tally", "none"], "none is no run: it has no run.json"),
        ],
    )
    def test_commands(self, refusal, arguments, message):
        assert message in refusal(*arguments)


class TestCases:
    """What is wrong with cases, the tests of their readers try in `tests/inputs`."""

    def test_a_line_that_is_none(self, refusal, own, tmp_path):
        path = write_cases(tmp_path / "own.jsonl", plain_case(0), '{"id": "a", "schema":')
        message = "own.jsonl:2: expecting value at line 1, column 22"
        assert message in refusal(*request(own, "--cases", path))

    @pytest.mark.parametrize("what", ["none.tar.gz", "maskbench:none.tar.gz"])
    def test_an_archive_that_is_not_there(self, refusal, own, what):
        assert "none.tar.gz" in refusal(*request(own, "--cases", what))


@pytest.mark.processes
class TestWhereItIsWritten:
    def refusal(self, *arguments: object, **options: object) -> str:
        done = maskcourt(*arguments, **options)
        assert (done.returncode, done.stdout) == (2, "")
        return one_line(done.stderr)

    def test_where_there_are_files_of_somebody_else(self, own, tmp_path):
        (tmp_path / "file").write_text("mine")
        message = self.refusal(*request(own, "--out", tmp_path))
        assert message.startswith(f"{tmp_path} holds files but no run.json")
        assert [one.read_text() for one in tmp_path.iterdir()] == ["mine"]

    def test_too_few_open_files(self, own, tmp_path):
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))  # noqa: E731
        message = self.refusal(*request(own, "--out", tmp_path / "run"), preexec_fn=few)
        assert "Too many open files" in message

    def test_the_directory_of_another_run(self, own, finished):
        """In what runs may differ, `tests/runs/test_identity.py` tries."""
        before = {file: file.read_bytes() for file in finished.iterdir()}
        message = self.refusal(*request(own, "--out", finished, "--seed", 1))
        assert message.startswith(f"{finished} holds a run with other rules (")
        assert {file: file.read_bytes() for file in finished.iterdir()} == before

    def test_a_disk_without_space_keeps_what_is_stored(self, own, tmp_path):
        arguments = too_much(own, tmp_path)
        message = self.refusal(*arguments, preexec_fn=little_space)
        assert message.startswith(f"{tmp_path}/run cannot be written: ")
        again = maskcourt(*arguments)
        assert again.returncode == 0
        assert "2 of 3 cases are there already" in again.stderr

    def test_a_full_device_for_the_result(self, finished):
        with Path("/dev/full").open("w") as full:
            done = maskcourt(
                "tally", finished, "--json", capture_output=False, stdout=full, stderr=-1
            )
        assert done.returncode == 2
        assert one_line(done.stderr).startswith("No space left on device")


def too_much(own: Path, root: Path) -> list[object]:
    """A run whose last case needs more than the space that there is."""
    noise = "".join(chr(0x4E00 + (n * n * 2654435761 >> 7) % 20000) for n in range(60_000))
    big = {"id": "z", "schema": {"const": 1, "description": noise}, "valid": [1]}
    path = write_cases(root / "own.jsonl", plain_case(0), plain_case(1), big)
    return request(own, "--cases", path, "--out", root / "run")


def little_space() -> None:
    """Files may have 48 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (48 << 10, 48 << 10))


def alter(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.processes
class TestDamagedRuns:
    """What damage there can be, `tests/runs/test_directory.py` tries."""

    @pytest.mark.parametrize("file", ["cases.parquet", "verdicts.parquet", "run.json"])
    def test_the_file_is_named(self, refusal, finished, tmp_path, file):
        run = shutil.copytree(finished, tmp_path / "run")
        alter(run / file)
        assert f"{run}/{file}" in refusal("tally", run)

    def test_started_again_it_is_refused_and_left_as_it_is(self, own, finished, tmp_path):
        run = shutil.copytree(finished, tmp_path / "run")
        alter(run / "verdicts.parquet")
        done = maskcourt(*request(own, "--out", run))
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{run}/verdicts.parquet" in one_line(done.stderr)
        for file in finished.iterdir():
            if file.name != "verdicts.parquet":
                assert (run / file.name).read_bytes() == file.read_bytes()
