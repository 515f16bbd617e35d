"""Older versions of engines, for the tests marked ``network``; toy engines, for environments."""

import sys
import zipfile
from collections.abc import Callable

import pytest

from harness.engines import environments
from harness.engines.environments import provide
from harness.engines.specs import EngineSpec, parse_spec
from harness.errors import UsageError
from tests.toy_packages import ADAPTER, small_index


@pytest.fixture(scope="session")
def older_versions(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory of environments for all tests."""
    return str(tmp_path_factory.mktemp("environments"))


@pytest.fixture
def in_version(older_versions: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], EngineSpec]:
    """An engine in the version that is asked for; where no index answers, the test is skipped."""
    monkeypatch.setenv("MASKCOURT_ENVIRONMENTS", older_versions)

    def install(spec: str) -> EngineSpec:
        try:
            return provide(parse_spec(spec))
        except UsageError as error:
            if "check the network" not in (error.hint or ""):
                raise
            pytest.skip(f"no package index to install it from: {error.message}")

    return install


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The directory that pip takes packages from."""
    small_index(tmp_path / "index", monkeypatch)
    return tmp_path / "index"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The directory of environments."""
    monkeypatch.setenv("MASKCOURT_ENVIRONMENTS", str(tmp_path / "environments"))
    return tmp_path / "environments"


@pytest.fixture
def toy(tmp_path, monkeypatch, index, cache):
    """An engine spec of the toy adapter: ``toy("@1.0")``, another class as ``toy("@1.0", "C")``."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "toy_adapter.py").write_text(ADAPTER)
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", [*sys.path, str(work)])
    monkeypatch.delitem(sys.modules, "toy_adapter", raising=False)
    return lambda version="", kind="Toy": parse_spec(f"toy_adapter:{kind}{version}")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a wheel beside maskcourt itself, in a directory that environments share."""
    directory = tmp_path / "site-packages"
    directory.mkdir()
    shared = (str(directory), *environments._shared_packages())
    monkeypatch.setattr(environments, "_shared_packages", lambda: shared)
    monkeypatch.syspath_prepend(directory)

    def install(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(directory)

    return install
