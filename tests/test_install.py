"""What `make` installs with: the CPU build of torch where it can be had, uv, and what is said."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import install
from tests.toy_packages import wheel

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "maskcourt"
version = "0"

[project.optional-dependencies]
first = ["maskcourt[inner, outer]"]
inner = ["torch>=2"]
outer = ["torch-like"]
none = []
"""
BACKEND = """
import shutil

def build_editable(directory, config_settings=None, metadata_directory=None):
    return shutil.copy("maskcourt-0-py3-none-any.whl", directory).rpartition("/")[2]
"""
REQUIRED = ["torch>=2; extra == 'inner'", "maskcourt[inner]; extra == 'first'"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def indexes(tmp_path):
    """Two indexes on loopback, of which one has the CPU build of torch; their addresses."""
    for name, version in (("usual", "2.13.0"), ("cpu", "2.13.0+cpu")):
        (tmp_path / name / "torch").mkdir(parents=True)
        wheel(tmp_path / name / "torch", "torch", version)
    (tmp_path / "usual" / "torch-like").mkdir()
    wheel(tmp_path / "usual" / "torch-like", "torch-like", "1.0")
    handler = partial(Quiet, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield {"usual": f"{address}/usual", "cpu": f"{address}/cpu"}
        server.shutdown()


@pytest.fixture
def closed():
    """The address of an index that nobody serves."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """An environment that has pip alone."""
    environment = tmp_path_factory.mktemp("empty") / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    return environment


@pytest.fixture
def installed(empty, tmp_path, monkeypatch):
    """Install extras of a small project into an environment of its own; what is printed."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    project, environment = tmp_path / "project", tmp_path / "environment"
    project.mkdir()
    shutil.copy(install.__file__, project)
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "backend.py").write_text(BACKEND)
    (project / "constraints.txt").write_text("torch==2.13.0\n")
    extras = "".join(f"\nProvides-Extra: {one}" for one in ("first", "inner", "outer", "none"))
    wheel(project, "maskcourt", "0", [*REQUIRED[:-1], REQUIRED[-1] + extras])
    shutil.copytree(empty, environment, symlinks=True)

    def run(extra, index, **settings):
        program = f"import install, sys; sys.exit(install.main([{extra!r}], {index!r}))"
        done = subprocess.run(
            [environment / "bin" / "python", "-P", "-c", program],
            env={**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(project), **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.processes
class TestTorch:
    def test_is_the_cpu_build_where_its_index_answers(self, installed, indexes):
        told = installed("first", indexes["cpu"], PIP_INDEX_URL=indexes["usual"])
        assert f"torch: the CPU build, from {indexes['cpu']}\n" in told
        assert told.endswith("torch: 2.13.0+cpu\n"), told

    def test_is_what_pip_finds_otherwise(self, installed, indexes, closed):
        told = installed("first", closed, PIP_INDEX_URL=indexes["usual"])
        assert f"torch: the build that pip finds, for {closed} cannot be used" in told
        assert "gigabytes for CUDA" in told
        assert told.endswith("torch: 2.13.0\n")

    def test_is_not_asked_for_where_nothing_needs_it(self, installed, closed):
        told = installed("none", closed, PIP_NO_INDEX="1")
        assert told == "pip installs maskcourt[none]\ndownloaded 0 MB; torch: none\n"


@pytest.mark.processes
class TestUv:
    @pytest.fixture
    def path(self, tmp_path):
        import uv

        (tmp_path / "programs").mkdir()
        (tmp_path / "programs" / "uv").symlink_to(uv.find_uv_bin())
        return f"{tmp_path / 'programs'}:/usr/bin:/bin"

    def test_installs_where_it_is_on_the_path(self, installed, indexes, path):
        own = {"UV_DEFAULT_INDEX": indexes["usual"], "UV_NO_CACHE": "1"}
        told = installed("first", indexes["cpu"], PATH=path, **own)
        assert "uv installs maskcourt[first]\n" in told, told
        assert told.endswith("torch: 2.13.0+cpu\n"), told

    def test_leaves_it_to_pip_where_pip_is_told_where_to_look(self, installed, closed, path):
        told = installed("none", closed, PATH=path, PIP_NO_INDEX="1")
        assert told.startswith("pip installs, not uv: pip has settings of its own (no-index)\n")


def test_torch_is_looked_for_in_what_extras_ask_for(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT)
    assert [
        name for name in ("first", "inner", "outer", "none") if install.needs_torch([name], project)
    ] == ["first", "inner"]
    own = {name: install.needs_torch([name]) for name in ("default", "test", "llguidance", "mcp")}
    assert own == {"default": True, "test": True, "llguidance": False, "mcp": False}


def test_an_index_that_does_not_answer_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        why = install.why_unreachable(address, 0.1)
    assert why in ("it did not answer in 0.1 s", "timed out")


@pytest.mark.parametrize(
    ("line", "megabytes", "cached"),
    [
        ("  Downloading torch-2.13.0+cpu-cp311-linux_x86_64.whl (195.2 MB)", 195.2, 0),
        ("  Downloading click-8.5.1-py3-none-any.whl (126 kB)", 0.126, 0),
        ("  Downloading click-8.5.1-py3-none-any.whl.metadata (2.6 kB)", 0, 0),
        ("Downloading pyarrow (52.5MiB)", 55.05, 0),
        ("  Using cached torch-2.13.0+cpu-cp311-linux_x86_64.whl (195.2 MB)", 0, 195.2),
        ("Collecting click<9,>=8.1", 0, 0),
    ],
)
def test_what_is_downloaded_is_counted(line, megabytes, cached):
    counts = install.Counts()
    counts.read(line)
    assert counts.megabytes == pytest.approx(megabytes, rel=1e-3)
    assert counts.cached == pytest.approx(cached)


def test_the_program_asks_for_no_torch_and_every_command_of_make_has_its_extra():
    makefile = Path(install.ROOT, "Makefile").read_text("utf-8")
    lines = [line.split()[1:] for line in makefile.splitlines() if "\t$(INSTALL) " in line]
    assert ["test", "check"] in lines
    assert not install.needs_torch([])
