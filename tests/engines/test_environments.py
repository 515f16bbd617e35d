"""A version asked for is the version that a host gets, installed once, whatever is interrupted.

Packages are tiny wheels made here, and pip knows of nothing but the directory they lie in.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.engines import environments
from harness.engines.environments import at_hand, provide, provide_all
from harness.engines.panel import Limits, Panel
from harness.engines.specs import EngineSpec
from tests.toy_packages import ADAPTER, refusal, seen_inside, small_index, wheel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A directory of environments with that of toy-engine 2.0; it can be copied."""
    work = tmp_path_factory.mktemp("prepared")
    (work / "toy_adapter.py").write_text(ADAPTER)
    spec = EngineSpec("toy@2.0", "toy_adapter:Toy", {}, "2.0", paths=(str(work),))
    with pytest.MonkeyPatch.context() as patch:
        small_index(work / "index", patch)
        patch.setenv("MASKCOURT_ENVIRONMENTS", str(work / "environments"))
        patch.setattr(sys, "path", list(sys.path))
        provide(spec)
        patch.delitem(sys.modules, "toy_adapter")
    return work / "environments"


@pytest.fixture
def made(prepared, cache, toy):
    """The spec of toy-engine 2.0 with its environment, without installing it again."""
    shutil.copytree(prepared, cache, symlinks=True)
    return provide(toy("@2.0"))


def in_another_process(spec_text, directory):
    """Start `provide` for a spec in a process of its own."""
    code = (
        "import sys; sys.path.append('.')\n"
        "from harness.engines.specs import parse_spec\n"
        "from harness.engines.environments import provide\n"
        f"print(provide(parse_spec({spec_text!r})).interpreter)"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("kind", ["Nameless", "Silent"])
def test_an_adapter_without_a_distribution_needs_none(toy, kind, cache):
    spec = toy(kind=kind)
    assert provide(spec) is spec
    assert not cache.exists()


@pytest.mark.parametrize("version", ["", "@2.0", "@2", "@v2.0.0"])
def test_the_installed_version_needs_no_environment(toy, index, cache, installed, version):
    installed(index / "toy_engine-2.0-py3-none-any.whl")
    spec = toy(version)
    assert provide(spec) is spec
    assert not cache.exists()


@pytest.mark.processes
def test_every_host_has_the_version_its_spec_asks_for(made, toy, vocabulary, vocabulary_file):
    specs = provide_all([toy("@1.0"), toy("@2.0")])
    assert specs[1] == made
    panel = Panel(specs, str(vocabulary_file), vocabulary.words, Limits())
    try:
        failed = panel.open()
        assert not failed, [panel.output(engine) for engine in failed]
        told = [(info.version, info.packages) for _, info in sorted(panel.infos.items())]
        assert told == [("1.0", {"module": "1.0"}), ("2.0", {"module": "2.0"})]
    finally:
        panel.close()


@pytest.mark.processes
def test_the_requested_version_wins_where_the_harness_lies_among_the_shared_packages(
    toy, index, installed
):
    """Installed as a wheel, the harness's directory is one that has another version."""
    installed(wheel(index, "toy-engine", "3.0"))
    spec = provide(toy("@2.0"))
    shared = environments._shared_packages()[0]
    spec = EngineSpec(spec.name, "", {}, None, spec.interpreter, (*spec.paths, shared))
    version, file = seen_inside(spec)
    assert version == "2.0"
    assert file.is_relative_to(spec.paths[0])


@pytest.mark.processes
def test_what_is_not_installed_is_had_as_it_was_tested_once_and_said_to_be(
    toy, index, cache, capfd
):
    first = provide(toy(kind="Tested"))
    said = capfd.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"installing toy-engine 1.0 into {cache}/")
    assert (first.name, seen_inside(first)[0]) == ("toy_adapter:Tested", "1.0")

    for file in index.iterdir():  # nothing is there any more to install from
        file.unlink()
    for version in ("@1.0", "@1"):
        assert provide(toy(version, "Tested")).interpreter == first.interpreter
    assert capfd.readouterr().err == ""


@pytest.mark.processes
def test_requirements_that_are_installed_are_shared_while_they_fit(toy, index, installed):
    installed(wheel(index, "toy-base", "1.2"))
    spec = provide(toy("@1.0"))
    version, file = seen_inside(spec, "toy_base")
    assert version == "1.2"
    assert not file.is_relative_to(spec.paths[0])

    for metadata in Path(environments._shared_packages()[0]).glob("toy_base-*.dist-info"):
        shutil.rmtree(metadata)
    installed(wheel(index, "toy-base", "0.9"))
    assert provide(toy("@1.0")) == spec
    version, file = seen_inside(spec, "toy_base")
    assert version == "1.5"
    assert file.is_relative_to(spec.paths[0])


@pytest.mark.processes
def test_what_was_made_is_at_hand_until_it_is_deleted(made):
    assert at_hand("toy-engine") == ["2.0"]
    shutil.rmtree(Path(made.interpreter).parent.parent)
    assert at_hand("toy-engine") == []


@pytest.mark.processes
@pytest.mark.parametrize(
    "missing",
    ["bin/python", "maskcourt.json", "lib/python*/site-packages/toy_engine-2.0.dist-info/METADATA"],
)
def test_a_damaged_environment_is_made_anew(made, toy, missing, capfd):
    [file] = Path(made.interpreter).parent.parent.glob(missing)
    file.unlink()
    assert provide(toy("@2.0")) == made
    assert capfd.readouterr().err.startswith("installing toy-engine 2.0")
    assert seen_inside(made)[0] == "2.0"


@pytest.mark.processes
def test_one_that_others_could_have_changed_is_made_anew(made, toy):
    environment = Path(made.interpreter).parent.parent
    [module] = environment.glob("lib/python*/site-packages/toy_engine.py")
    module.write_text("HERE = 'forged'\n")
    environment.chmod(0o777)
    before = os.umask(0)
    try:
        assert provide(toy("@2.0")) == made
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    assert seen_inside(made)[0] == "2.0"
    inside = [one.lstat().st_mode for one in environment.rglob("*") if not one.is_symlink()]
    assert not any(mode & 0o022 for mode in inside)


@pytest.mark.processes
def test_two_processes_at_once_make_one_environment(toy, cache):
    both = [in_another_process("toy_adapter:Toy@2.0", Path.cwd()) for _ in range(2)]
    results = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], results
    interpreters = {out for out, _ in results}
    assert interpreters == {provide(toy("@2.0")).interpreter + "\n"}
    assert sum(err.count("installing toy-engine") for _, err in results) == 1


@pytest.mark.processes
def test_what_a_killed_process_leaves_is_never_used(toy, cache, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        with monkeypatch.context() as patch:
            patch.delenv("PIP_NO_INDEX")
            patch.setenv("PIP_RETRIES", "0")
            patch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
            killed = in_another_process("toy_adapter:Toy@2.0", Path.cwd())
            request, _ = server.accept()  # pip is in the middle of its work
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
        assert sorted(path.suffix for path in cache.iterdir()) == [".building", ".lock"]
        # pip lives on, and who comes next lets it end before it sweeps the place.
        following = in_another_process("toy_adapter:Toy@2.0", Path.cwd())
        assert following.stderr.readline().startswith("waiting for another process")
        request.close()
    assert following.communicate()[0].strip() == provide(toy("@2.0")).interpreter
    assert seen_inside(provide(toy("@2.0")))[0] == "2.0"
    assert not list(cache.glob("*.building"))


@pytest.mark.processes
def test_a_version_or_what_it_requires_may_be_missing(toy, index, cache):
    message = refusal(toy("@1.3"))
    assert "toy_adapter:Toy@1.3" in message
    assert "toy-engine 1.3 cannot be installed: " in message
    assert "No matching distribution found for toy-engine==1.3" in message
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    wheel(index, "toy-engine", "4.0", requires=["toy-nowhere>=7"])
    message = refusal(toy("@4.0"))
    assert "toy-engine 4.0 cannot be installed" in message
    assert "toy-nowhere>=7" in message


@pytest.mark.parametrize(
    ("version", "kind", "words"),
    [
        ("", "Toy", ["toy-engine is not installed", "pip install toy-engine, or ", "Toy@VERSION"]),
        ("@latest", "Toy", ["'latest' is not a version"]),
        ("@1.0", "Nameless", ["versions are not supported for it", "leave out @1.0"]),
        ("@1.0", "Silent", ["versions are not supported for it", "leave out @1.0"]),
    ],
)
def test_what_names_no_version_that_could_be_had(toy, version, kind, words):
    assert all(word in refusal(toy(version, kind)) for word in words)


def test_an_engine_inside_maskcourt_has_no_versions_of_its_own(cache):
    spec = EngineSpec("x@1.0", "tests.miniatures:Enumerator", {}, "1.0")
    assert "versions are not supported for it" in refusal(spec)


@pytest.mark.processes
def test_without_an_index_it_is_said_to_be_out_of_reach(toy, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", nobody)
    message = refusal(toy("@1.0", "Unpublished"))
    assert "toy-unpublished 1.0 cannot be installed: no package index can be reached" in message


def test_a_cache_that_cannot_be_written(toy, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MASKCOURT_ENVIRONMENTS", str(tmp_path / "file" / "environments"))
    message = refusal(toy("@2.0"))
    assert "cannot be made" in message
    assert "MASKCOURT_ENVIRONMENTS" in message
