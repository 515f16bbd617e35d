"""A run at a URL becomes what the same run in a directory is, whatever breaks off on the way."""

from __future__ import annotations

import uuid

import pytest

from harness.errors import RunDirectoryError, UsageError
from harness.execution.sweep.run_url import Remote, RunAtUrl, UrlPlace, fetch
from harness.execution.sweep.target import RunTarget
from harness.runs.directory import create_or_resume, open_run
from harness.runs.tables import SCHEMAS
from tests.runs.test_directory import CASES, IDENTITY, rows_of

pytestmark = pytest.mark.thorough

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(params=["memory", "file"])
def url(request, tmp_path):
    if request.param == "file":
        return f"file://{tmp_path}/there"
    return f"memory://{uuid.uuid4().hex}/there"


@pytest.fixture
def begun(url, tmp_path):
    """Begins or goes on with the run at the URL, its mirror at ``here-…``."""
    runs = []

    def begin(identity=IDENTITY, name="here"):
        for run in runs:
            run.release()
        place = UrlPlace(url, tmp_path / name)
        place.check()
        runs.append(place.open(identity, {}))
        return runs[-1]

    yield begin
    for run in runs:
        run.release()


def full(begun):
    run = begun()
    for ordinal, name in enumerate(CASES):
        run.write_case(ordinal, rows_of(name))
    return run


def closed(run):
    run.gather()
    run.finish({"seconds": 1.0})
    return run


def local(tmp_path):
    """The same run in a directory."""
    run = create_or_resume(tmp_path / "local", IDENTITY, {})
    for ordinal, name in enumerate(CASES):
        run.write_case(ordinal, rows_of(name))
    run.finish({"seconds": 1.0})
    run.release()
    return run.path


def same(one, other):
    return all(
        (one / f"{name}.parquet").read_bytes() == (other / f"{name}.parquet").read_bytes()
        for name in SCHEMAS
    )


def test_it_is_what_a_local_run_is(begun, url, tmp_path):
    run = closed(full(begun))
    assert same(run.path, local(tmp_path))
    assert same(fetch(url, tmp_path / "fetched").path, run.path)
    assert sorted(Remote(url).names()) == sorted(
        [*(f"{name}.parquet" for name in SCHEMAS), "run.json"]
    )


def test_a_case_that_was_only_begun_is_not_there(begun, url):
    run = full(begun)
    Remote(url).remove("parts/000001.json")
    assert begun().done() == {0, 2}
    run.write_case(1, rows_of("apple"))
    assert begun().done() == {0, 1, 2}


def test_of_two_lanes_that_store_a_case_one_counts_whole(begun, url, tmp_path):
    """The one that was taken for dead writes its files between those of the other."""
    run = full(begun)
    twin = RunAtUrl(Remote(url), tmp_path, {})
    twin._sums = lambda ordinal: None
    twin.write_case(1, rows_of("apple", messages=7))
    closed(begun())
    assert open_run(run.path).table("engines").num_rows == 2 + 7


def test_a_case_that_is_there_already_stays_as_it_is(begun):
    run = full(begun)
    run.write_case(1, rows_of("twice"))
    assert run.stored(1)["case"] == "apple"
    assert run.stored(9) is None


def test_a_part_that_was_altered_is_refused(begun, url):
    run = full(begun)
    (tar,) = (one for one in Remote(url).names("parts") if one.startswith("000001-"))
    Remote(url).write(f"parts/{tar}", b"altered")
    with pytest.raises(RunDirectoryError, match="was cut or altered"):
        run.gather()


class TestBrokenOff:
    def test_while_parts_are_fetched(self, begun, tmp_path, monkeypatch):
        run = full(begun)
        fetch_one = RunAtUrl._fetch

        def fail(self, ordinal):
            if ordinal == 2:
                raise KeyboardInterrupt
            fetch_one(self, ordinal)

        monkeypatch.setattr(RunAtUrl, "_fetch", fail)
        with pytest.raises(KeyboardInterrupt):
            run.gather()
        monkeypatch.undo()
        assert same(closed(begun()).path, local(tmp_path))

    def test_while_tables_are_uploaded(self, begun, url, monkeypatch):
        run = full(begun)
        run.gather()
        monkeypatch.setattr(RunAtUrl, "upload", lambda self: None)
        run.finish({})
        monkeypatch.undo()
        with pytest.raises(RunDirectoryError, match="is not finished"):
            fetch(url, run.path.with_name("early"))
        again = begun()
        assert again.finished
        assert same(fetch(url, run.path.with_name("late")).path, run.path)

    def test_on_another_machine(self, begun, tmp_path):
        full(begun)
        run = closed(begun(name="elsewhere"))
        assert same(run.path, local(tmp_path))

    def test_when_it_was_finished_elsewhere(self, begun, tmp_path):
        first = closed(full(begun))
        run = begun(name="elsewhere")
        assert run.finished
        assert run.path != first.path
        assert same(run.path, first.path)


class TestPlace:
    def test_another_run_is_refused(self, begun):
        full(begun)
        with pytest.raises(RunDirectoryError, match="a run with other engines"):
            begun({**IDENTITY, "engines": {"c": {}}})

    def test_other_files_are_left_alone(self, begun, url):
        Remote(url).write("thesis.tex", b"mine")
        with pytest.raises(RunDirectoryError, match=r"holds files but no run\.json"):
            begun()
        assert Remote(url).read("thesis.tex") == b"mine"

    def test_a_url_of_no_known_kind(self):
        with pytest.raises(UsageError, match="cannot be written to"):
            Remote("nosuch://bucket/run")

    def test_no_run_there(self, url, tmp_path):
        with pytest.raises(RunDirectoryError, match="is no run"):
            fetch(url, tmp_path / "fetched")


class TestTarget:
    def test_a_lane_finds_the_run(self, begun):
        run = begun()
        RunTarget.of(run).open().write_case(0, rows_of("zebra"))
        assert run.done() == {0}

    def test_a_directory_is_found_too(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run = create_or_resume(tmp_path.relative_to(tmp_path) / "run", IDENTITY, {})
        target = RunTarget.of(run)
        monkeypatch.chdir("/")
        target.open().write_case(0, rows_of("zebra"))
        assert open_run(tmp_path / "run").done() == {0}
        run.release()

    def test_a_directory_of_that_name_on_another_machine_is_not_it(self, tmp_path):
        run = create_or_resume(tmp_path / "run", IDENTITY, {})
        target = RunTarget.of(run)
        run.release()
        (tmp_path / "run").rename(tmp_path / "elsewhere")
        with pytest.raises(RunDirectoryError, match="does not see the run"):
            target.open()
        create_or_resume(tmp_path / "run", {**IDENTITY, "engines": {}}, {}).release()
        with pytest.raises(RunDirectoryError, match="does not see the run"):
            target.open()
