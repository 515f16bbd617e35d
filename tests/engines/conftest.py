"""Older versions of engines, installed for the tests marked ``network``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.engines.environments import provide
from harness.engines.specs import EngineSpec, parse_spec
from harness.errors import UsageError


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
