"""Where a run may be written is said before engines are started."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import pytest

import harness.execution.bench
from harness.engines.specs import EngineSpec, parse_specs
from harness.errors import RunDirectoryError
from harness.execution.bench import bench
from harness.execution.request import BenchRequest
from harness.inputs.vocabulary import byte_vocabulary
from harness.runs.directory import check_place, create_or_resume
from harness.runs.made_with import same_run

KNOWN = {"rules": {"seed": 0}, "data": {"cases": 3}}


def begun(path: Path, engines: dict[str, object], **others: object) -> Path:
    run = create_or_resume(path, {**KNOWN, "engines": engines, **others}, {})
    run.release()
    return path


class TestPlace:
    @pytest.mark.parametrize("name", ["new", "new/below", "empty"])
    def test_good_ones(self, tmp_path, name):
        (tmp_path / "empty").mkdir()
        check_place(tmp_path / name)
        assert [one.name for one in tmp_path.iterdir()] == ["empty"]

    def test_one_relative_to_here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        check_place(Path("runs/one"))

    def test_a_run(self, tmp_path):
        check_place(begun(tmp_path / "run", {}))

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("file", "is no directory"),
            ("file/below", "cannot be written: Not a directory"),
            ("file/below/that", "cannot be written: Not a directory"),
            ("theirs", "holds files but no run.json"),
            ("x" * 300, "cannot be written: File name too long"),
        ],
    )
    def test_bad_ones(self, tmp_path, name, message):
        (tmp_path / "file").touch()
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / "work").touch()
        with pytest.raises(RunDirectoryError, match=message):
            check_place(tmp_path / name)

    def test_one_without_permission(self, tmp_path, monkeypatch):
        closed = tmp_path / "closed"
        closed.mkdir()
        asked = []
        monkeypatch.setattr(os, "access", lambda path, mode: asked.append((path, mode)) is not None)
        with pytest.raises(RunDirectoryError, match="closed gives no permission"):
            check_place(closed / "run")
        assert asked == [(closed, os.W_OK | os.X_OK)]


class TestIdentity:
    ENGINE = "tests.miniatures:Enumerator"

    def specs(self, *names: str) -> list[EngineSpec]:
        return parse_specs(names or [self.ENGINE])

    def test_no_run_is_no_other_run(self, tmp_path):
        same_run(tmp_path, KNOWN, self.specs())

    def test_the_same_run(self, tmp_path):
        run = begun(tmp_path / "run", {self.ENGINE: {"packages": {"maskcourt": "9"}, "tokens": 3}})
        same_run(run, KNOWN, self.specs())

    def test_other_rules(self, tmp_path):
        run = begun(tmp_path / "run", {self.ENGINE: {}})
        with pytest.raises(RunDirectoryError, match=r"a run with other rules \("):
            same_run(run, {**KNOWN, "rules": {"seed": 1}}, self.specs())

    @pytest.mark.parametrize(
        "names",
        [
            ["tests.miniatures:ForbidsOne"],
            ["tests.miniatures:Enumerator", "tests.miniatures:ForbidsOne"],
            ["tests.miniatures:Enumerator[compact=false]"],
        ],
    )
    def test_other_engines(self, tmp_path, names):
        run = begun(tmp_path / "run", {self.ENGINE: {}})
        with pytest.raises(RunDirectoryError, match=r"a run with other engines \("):
            same_run(run, KNOWN, self.specs(*names))

    def test_engines_in_another_order(self, tmp_path):
        names = ["tests.miniatures:Enumerator", "tests.miniatures:ForbidsOne"]
        run = begun(tmp_path / "run", {name: {} for name in names})
        same_run(run, KNOWN, self.specs(*names))
        with pytest.raises(RunDirectoryError, match=r"a run with other engines \("):
            same_run(run, KNOWN, self.specs(*reversed(names)))

    @pytest.mark.parametrize("version", ["installed", "0.0.1"])
    def test_another_version_of_a_built_in_engine(self, tmp_path, version):
        if installed := version == "installed":
            version = importlib.metadata.version("llguidance")
        run = begun(tmp_path / "run", {"llguidance": {"packages": {"llguidance": version}}})
        if installed:
            same_run(run, KNOWN, self.specs("llguidance"))
        else:
            with pytest.raises(RunDirectoryError, match=r"other engines .*0\.0\.1"):
                same_run(run, KNOWN, self.specs("llguidance"))

    def test_a_manifest_that_cannot_be_read(self, tmp_path):
        run = begun(tmp_path / "run", {})
        (run / "run.json").write_text("{")
        with pytest.raises(RunDirectoryError, match="cannot be read"):
            same_run(run, KNOWN, self.specs())


class TestBeforeEnginesStart:
    """No host may be started where the place is bad."""

    @pytest.fixture
    def request_for(self, tmp_path, monkeypatch):
        (tmp_path / "own.jsonl").write_text(
            json.dumps({"id": "one", "schema": {"enum": ["ab"]}, "valid": ["ab"]})
        )
        byte_vocabulary().save(tmp_path / "vocabulary")

        def no_lanes(*arguments: object) -> None:
            raise AssertionError("lanes were started")

        monkeypatch.setattr(harness.execution.bench.Dispatch, "run", no_lanes)
        return lambda out: BenchRequest(
            engines=["tests.miniatures:Enumerator,tests.miniatures:ForbidsOne"],
            cases=str(tmp_path / "own.jsonl"),
            vocabulary=str(tmp_path / "vocabulary"),
            out=out,
        )

    def test_a_file_in_the_way(self, tmp_path, request_for):
        with pytest.raises(RunDirectoryError, match="is no directory"):
            bench(request_for(tmp_path / "own.jsonl"))

    @pytest.mark.processes
    def test_another_run(self, tmp_path, request_for):
        with pytest.raises(RunDirectoryError, match="a run with other "):
            bench(request_for(begun(tmp_path / "run", {})))

    @pytest.mark.processes
    def test_a_good_place_is_not_refused(self, tmp_path, request_for):
        with pytest.raises(AssertionError, match="lanes were started"):
            bench(request_for(tmp_path / "run"))
