"""Where a run may be written is said before engines are started."""

from pathlib import Path

import pytest

from harness.engines.specs import parse_specs
from harness.errors import MaskcourtError, RunDirectoryError
from harness.runs.directory import check_place, create_or_resume
from harness.runs.made_with import same_run

KNOWN = {"rules": {"seed": 0}, "data": {"cases": 3}}


def begun(path: Path, engines: dict[str, object], **others: object) -> Path:
    run = create_or_resume(path, {**KNOWN, "engines": engines, **others}, {})
    run.release()
    return path


class TestPlace:
    @pytest.mark.parametrize("name", ["new", "new/below", "empty"])
    def test_good_ones(self, tmp_path, monkeypatch, name):
        (tmp_path / "empty").mkdir()
        monkeypatch.chdir(tmp_path)
        check_place(tmp_path / name)
        check_place(Path(name))
        assert [one.name for one in tmp_path.iterdir()] == ["empty"]
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
        with pytest.raises(MaskcourtError, match=message):
            check_place(tmp_path / name)


class TestIdentity:
    PAIR = ("tests.miniatures:Enumerator", "tests.miniatures:ForbidsOne")

    def test_the_same_run(self, tmp_path):
        assert same_run(tmp_path, KNOWN, parse_specs(self.PAIR)) is None
        engines = {name: {"packages": {name: "9"}} for name in self.PAIR}
        run = same_run(begun(tmp_path / "run", engines), KNOWN, parse_specs(self.PAIR))
        assert run.manifest["identity"]["engines"] == engines

    @pytest.mark.parametrize(
        ("stored", "asked", "known", "message"),
        [
            (PAIR, PAIR, {"rules": {"seed": 1}}, r"a run with other rules \("),
            (PAIR[:1], [f"{PAIR[0]}[compact=false]"], {}, r"a run with other engines \("),
        ],
    )
    def test_another_run_is_refused(self, tmp_path, stored, asked, known, message):
        run = begun(tmp_path / "run", {name: {"packages": {name: "0.0.1"}} for name in stored})
        with pytest.raises(RunDirectoryError, match=message):
            same_run(run, {**KNOWN, **known}, parse_specs(asked))
