"""A run on disk: cases are wholly there or not at all, and what was damaged is never read."""

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.errors import RunDirectoryError
from harness.runs import directory
from harness.runs.directory import FORMAT, MANIFEST, create_or_resume, open_run, sha256_of
from harness.runs.tables import SCHEMAS, Rows

IDENTITY = {"engines": {"a": {"version": "1"}, "b": {"version": "2"}}, "rules": {"seed": 0}}
CASES = ("zebra", "apple", "mango")


def rows_of(name, messages=1):
    """Rows of one case, with one row of an engine for each of the messages."""
    rows = Rows()
    about = {"case": name, "family": "fruit", "status": "walked", "references": [b"1", b"\xff"]}
    about |= {"reason": "", "message": "", "schema": "{}", "generated": False, "judged": 3}
    rows.add("cases", **about, walks=1, positions=2, disputed_tokens=5)
    outcome = {"engine": "a", "stage": "compile", "outcome": "compiled", "signal": "", "output": ""}
    for number in range(messages):
        message = f"{name} {number}"
        rows.add("engines", case=name, walk=-1, position=-1, **outcome, message=message)
    return rows


@pytest.fixture
def begun(tmp_path):
    """Begins or goes on with the run at ``run``; what a test holds is released after it."""
    runs = []

    def begin(identity=IDENTITY, path=None, **notes):
        for run in runs:
            run.release()
        runs.append(create_or_resume(path or tmp_path / "run", identity, notes))
        return runs[-1]

    yield begin
    for run in runs:
        run.release()


def full(begun, order=(0, 1, 2), **where):
    run = begun(**where)
    for ordinal in order:
        run.write_case(ordinal, rows_of(CASES[ordinal]))
    return run


def refused(action, *words):
    """The message of the RunDirectoryError that `action` raises, which holds all `words`."""
    with pytest.raises(RunDirectoryError) as caught:
        action()
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "\n" not in text
    assert caught.value.hint
    return text


def flip(file, at=-20):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def cut(file):
    file.write_bytes(file.read_bytes()[:-1])


class TestCases:
    def test_what_is_stored_is_read(self, begun):
        run = full(begun)
        assert run.done() == {0, 1, 2}
        assert not run.finished
        assert run.table("cases")["case"].to_pylist() == list(CASES)
        assert run.table("cases")["references"][0].as_py() == [b"1", b"\xff"]
        assert run.table("verdicts").num_rows == 0
        assert run.table("verdicts").schema == SCHEMAS["verdicts"]

    def test_a_case_that_is_there_already_stays_as_it_is(self, begun):
        """The lane that stored it died before it could say so."""
        run = full(begun)
        run.write_case(1, rows_of("twice"))
        assert run.table("cases")["case"].to_pylist() == list(CASES)
        assert run.done() == {0, 1, 2}

    def test_a_case_that_fails_half_way_is_not_there(self, begun, monkeypatch):
        run = full(begun, order=[0])
        written = []

        def break_off(table, file, **options):
            written.append(file)
            if len(written) == 2:
                raise KeyboardInterrupt
            file.write(b"PAR1")

        monkeypatch.setattr(pq, "write_table", break_off)
        with pytest.raises(KeyboardInterrupt):
            run.write_case(1, rows_of("half"))
        monkeypatch.undo()
        assert run.done() == {0}
        assert run.table("cases").num_rows == 1
        assert any(run.path.glob("parts/.0*"))
        run = begun()
        assert not any(run.path.glob("parts/.0*")), "swept up"
        run.write_case(1, rows_of("whole"))
        assert run.done() == {0, 1}

    def test_other_files_among_the_parts_are_no_cases(self, begun):
        run = full(begun)
        shutil.copytree(run.path / "parts" / "000001", run.path / "parts" / "000001 (copy)")
        (run.path / "parts" / "00001.bak").mkdir()
        assert run.done() == {0, 1, 2}
        run.finish({})
        assert run.table("cases").num_rows == 3

    def test_many_cases_stay_in_order(self, begun):
        run = begun()
        for ordinal in (1_000_000, 999_999, 7):
            run.write_case(ordinal, rows_of(str(ordinal)))
        assert run.table("cases")["case"].to_pylist() == ["7", "999999", "1000000"]
        run.finish({})
        assert run.table("cases")["case"].to_pylist() == ["7", "999999", "1000000"]


class TestRows:
    def test_a_row_has_every_column_and_no_other(self):
        rows = Rows()
        with pytest.raises(ValueError, match=r"costs.*\['case', 'engine', 'sconds', 'seconds'\]"):
            rows.add("costs", stage="walk", sconds=1.0)
        assert rows.count("costs") == 0


class TestFinishing:
    def test_joins_the_parts_in_the_order_of_the_run(self, begun):
        run = full(begun, order=[2, 0, 1])
        run.finish({"seconds": 1.5})
        assert run.finished
        assert run.manifest["seconds"] == 1.5
        assert not (run.path / "parts").exists()
        assert run.table("cases")["case"].to_pylist() == list(CASES)
        assert run.manifest["tables"]["engines"]["rows"] == 3
        again = open_run(run.path)
        assert again.finished
        assert again.table("engines")["message"].to_pylist() == [f"{name} 0" for name in CASES]

    @pytest.mark.parametrize("before", [[2], [1], [2, 1, 0]])
    def test_is_byte_identical_whatever_the_order_and_after_an_interruption(
        self, begun, tmp_path, before
    ):
        full(begun, path=tmp_path / "straight").finish({})
        full(begun, before, path=tmp_path / "resumed")
        run = begun(path=tmp_path / "resumed")
        for ordinal in {0, 1, 2} - run.done():
            run.write_case(ordinal, rows_of(CASES[ordinal]))
        run.finish({})
        for table in SCHEMAS:
            files = [tmp_path / name / f"{table}.parquet" for name in ("straight", "resumed")]
            assert files[0].read_bytes() == files[1].read_bytes()

    @pytest.mark.parametrize("batch", [1, 3, 10])
    def test_keeps_every_row_where_tables_are_joined_in_batches(self, begun, monkeypatch, batch):
        monkeypatch.setattr(directory, "_BATCH", batch)
        run = begun()
        for ordinal in range(5):
            run.write_case(ordinal, rows_of(f"case {ordinal}", messages=ordinal))
        run.finish({})
        expected = [f"case {a} {b}" for a in range(5) for b in range(a)]
        assert run.table("engines")["message"].to_pylist() == expected

    @pytest.mark.parametrize("step", [1, 5, 9])
    def test_that_is_interrupted_anywhere_can_be_done_again(self, begun, monkeypatch, step):
        """Every rename is one step: the tables, the manifest."""
        run = full(begun)
        honest, count = Path.rename, [0]

        def rename(self, target):
            count[0] += 1
            if count[0] == step:
                raise KeyboardInterrupt
            return honest(self, target)

        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            run.finish({})
        monkeypatch.undo()
        run = begun()
        assert not run.finished
        assert run.done() == {0, 1, 2}
        assert not list(run.path.glob("*.tmp"))
        run.finish({})
        assert run.table("cases")["case"].to_pylist() == list(CASES)

    def test_that_is_interrupted_behind_the_manifest_is_finished(self, begun, monkeypatch):
        run = full(begun)
        monkeypatch.setattr(directory.shutil, "rmtree", failing(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run.finish({})
        monkeypatch.undo()
        assert open_run(run.path).finished
        run = begun()
        assert run.finished
        assert not (run.path / "parts").exists()


class TestReading:
    @pytest.mark.parametrize("finish", [True, False])
    @pytest.mark.parametrize("order", [(), (0, 1, 2)])
    def test_only_some_columns_in_the_order_asked_for(self, begun, finish, order):
        run = full(begun, order)
        if finish:
            run.finish({})
        found = run.table("engines", ["outcome", "case"])
        assert found.schema == pa.schema([SCHEMAS["engines"].field(n) for n in ("outcome", "case")])
        assert found == run.table("engines").select(["outcome", "case"])

    def test_all_tables_have_the_same_cases_though_the_run_goes_on(self, begun):
        writing = full(begun, order=[0])
        reading = open_run(writing.path)
        before = reading.table("cases")
        writing.write_case(1, rows_of(CASES[1]))
        assert reading.table("cases") == before
        assert set(reading.table("engines")["case"].to_pylist()) == {CASES[0]}
        assert open_run(writing.path).table("cases").num_rows == 2


class TestDamage:
    """Every file of a run, cut, altered or taken away: refused by name, never read."""

    @pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
    @pytest.mark.parametrize("name", ["cases.parquet", "timings.parquet", "part.json"])
    def test_of_a_part(self, begun, damage, name):
        run = full(begun)
        damage(run.path / "parts" / "000001" / name)
        refused(run.done, str(run.path / "parts" / "000001"), "delete the damaged part")
        if name == "cases.parquet":
            refused(lambda: run.table("cases"), str(run.path / "parts" / "000001"))
        refused(lambda: run.finish({}), str(run.path / "parts" / "000001"))
        shutil.rmtree(run.path / "parts" / "000001")
        assert run.done() == {0, 2}, "everything else is kept"

    @pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b'{"cases.parquet": "00"}'])
    def test_of_the_checksums_of_a_part(self, begun, content):
        run = full(begun)
        (run.path / "parts" / "000002" / "part.json").write_bytes(content)
        refused(run.done, "000002", "cut or altered")

    def test_another_case_in_the_place_of_one(self, begun):
        """Whole files with whole checksums, but not the ones that belong together."""
        run = full(begun)
        parts = run.path / "parts"
        shutil.copy(parts / "000000" / "engines.parquet", parts / "000001" / "engines.parquet")
        refused(run.done, "000001/engines.parquet", "checksum differs")

    @pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
    def test_of_a_finished_table(self, begun, damage):
        run = full(begun)
        run.finish({})
        damage(run.path / "engines.parquet")
        refused(lambda: open_run(run.path).table("engines"), "engines.parquet", "another --out")
        assert open_run(run.path).table("cases").num_rows == 3

    @pytest.mark.parametrize("at", [0, 30, -30])
    @pytest.mark.parametrize("finished", [True, False])
    def test_of_the_manifest(self, begun, finished, at):
        run = full(begun)
        if finished:
            run.finish({})
        flip(run.path / MANIFEST, at)
        refused(lambda: open_run(run.path), MANIFEST, "cut or altered")
        refused(begun, MANIFEST, "cut or altered")

    @pytest.mark.parametrize(
        "content", ["", "{", "[]", "null", "{}", '{"format": 1}', "[" * 200_000]
    )
    def test_a_manifest_that_is_something_else(self, begun, content):
        run = begun()
        (run.path / MANIFEST).write_text(content)
        refused(lambda: open_run(run.path), MANIFEST)

    def test_a_manifest_that_is_only_laid_out_anew_is_whole(self, begun):
        run = full(begun)
        run.finish({})
        manifest = json.loads((run.path / MANIFEST).read_text())
        (run.path / MANIFEST).write_text(json.dumps(manifest, sort_keys=True))
        assert open_run(run.path).finished

    def test_a_run_of_another_format(self, begun):
        run = begun()
        directory.write_manifest(run.path, {**run.manifest, "format": 99})
        refused(lambda: open_run(run.path), "format 99", f"reads {FORMAT}")


class TestIdentity:
    def test_the_same_run_goes_on(self, begun):
        full(begun, started="yesterday")
        run = begun(started="today")
        assert run.done() == {0, 1, 2}
        assert run.manifest["started"] == "yesterday"

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"rules": {"seed": 1}}, ["other rules", '{"seed": 0} there', '{"seed": 1} now']),
            ({"data": "x"}, ["other data", "null there", '"x" now']),
            ({"rules": {"seed": 1}, "data": "x"}, ["other data, rules"]),
            ({"engines": {"a": {"version": "1"}}}, ["other engines"]),
            ({"engines": {**IDENTITY["engines"], "c": {}}}, ["other engines"]),
            ({"engines": {"a": {"version": "1"}, "b": {"version": "3"}}}, ["other engines"]),
            # who accepts and who rejects is stored by the engines' order
            ({"engines": dict(reversed(IDENTITY["engines"].items()))}, ["other engines"]),
        ],
    )
    def test_another_run_is_refused_and_nothing_is_lost(self, begun, changed, words):
        run = full(begun)
        before = sha256_of(run.path / MANIFEST)
        refused(lambda: begun({**IDENTITY, **changed}), str(run.path), "another --out", *words)
        assert sha256_of(run.path / MANIFEST) == before
        assert begun().done() == {0, 1, 2}

    def test_what_json_cannot_tell_apart_is_the_same(self, begun):
        begun({"engines": {}, "ids": (1, 2)})
        assert begun({"engines": {}, "ids": [1, 2]}).manifest["identity"]["ids"] == [1, 2]


class TestPaths:
    @pytest.mark.parametrize("path", ["a/b/run", "."])
    def test_missing_directories_are_made_and_empty_ones_will_do(self, begun, tmp_path, path):
        assert begun(path=tmp_path / path).done() == set()

    def test_what_a_run_that_died_at_once_left_will_do(self, begun, tmp_path):
        (tmp_path / "run" / "parts").mkdir(parents=True)
        for left in (".lock", "run.json.tmp"):
            (tmp_path / "run" / left).write_text("half")
        assert begun().done() == set()
        assert not (tmp_path / "run" / "run.json.tmp").exists()

    def test_a_directory_with_other_files_is_left_alone(self, begun, tmp_path):
        mine = tmp_path / "run" / "thesis.tex"
        mine.parent.mkdir()
        mine.write_text("mine")
        refused(begun, "holds files but no run.json")
        assert [file.name for file in mine.parent.iterdir()] == ["thesis.tex"]

    @pytest.mark.parametrize("path", [".", "nowhere", "file", "file/below", "x" * 300])
    def test_where_no_run_is_none_is_read(self, tmp_path, path):
        (tmp_path / "file").write_text("")
        refused(lambda: open_run(tmp_path / path), "is no run")


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


class TestFullDisk:
    def test_while_a_case_is_written(self, begun, monkeypatch):
        run = full(begun, order=[0])
        monkeypatch.setattr(pq, "write_table", failing(OSError(errno.ENOSPC, "why")))
        words = "cannot be written: why", "cases are kept"
        message = refused(lambda: run.write_case(1, rows_of("one")), *words)
        assert "delete" not in message
        monkeypatch.undo()
        run = begun()
        assert run.done() == {0}
        run.write_case(1, rows_of("one"))
        assert run.done() == {0, 1}

    def test_while_the_tables_are_joined(self, begun, monkeypatch):
        run = full(begun)
        monkeypatch.setattr(
            pq.ParquetWriter, "write_table", failing(OSError(errno.ENOSPC, "no room"))
        )
        refused(lambda: run.finish({}), "cannot be written: no room")
        monkeypatch.undo()
        run = begun()
        assert run.done() == {0, 1, 2}
        run.finish({})
        assert run.finished

    def test_want_of_memory_is_no_damage(self, begun, monkeypatch):
        run = full(begun)
        run.finish({})
        exhausted = pa.ArrowMemoryError("malloc of size 64 failed")
        monkeypatch.setattr(directory.pq, "ParquetFile", failing(exhausted))
        with pytest.raises(pa.ArrowMemoryError):
            open_run(run.path).table("cases")


class TestLock:
    PROGRAM = (
        "import sys\n"
        "from pathlib import Path\n"
        "from harness.runs.directory import create_or_resume\n"
        "run = create_or_resume(Path(sys.argv[1]), {'engines': {}, 'seed': 0}, {})\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )

    @pytest.mark.processes
    def test_one_process_writes_at_a_time(self, begun, tmp_path):
        with subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, tmp_path / "run"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdout.readline() == "locked\n"
            refused(lambda: begun({"engines": {}, "seed": 0}), "another process writes")
            assert open_run(tmp_path / "run").table("cases").num_rows == 0, "reading is free"
            other.kill()
            other.wait()
        assert begun({"engines": {}, "seed": 0}).done() == set(), "the lock died with its process"

    def test_a_run_that_was_refused_locks_nobody_out(self, begun):
        begun()
        with pytest.raises(RunDirectoryError) as kept:
            begun({"seed": 1})
        assert begun().done() == set()
        assert "other engines" in str(kept.value)


def test_reading_needs_no_lock_and_writes_nothing(begun, tmp_path):
    run = full(begun)
    run.finish({})
    before = sorted(file.name for file in run.path.iterdir())
    shutil.copytree(run.path, tmp_path / "copy")
    (tmp_path / "copy" / ".lock").unlink()
    copy = open_run(tmp_path / "copy")
    assert copy.table("cases").num_rows == 3
    assert sorted(file.name for file in run.path.iterdir()) == before
    assert not (tmp_path / "copy" / ".lock").exists()
