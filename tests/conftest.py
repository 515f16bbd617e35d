"""Options of the test run, and what several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from harness.inputs.vocabulary import Vocabulary, byte_vocabulary

# A slow machine must not fail a property.
settings.register_profile("maskcourt", deadline=None)
settings.load_profile("maskcourt")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--maskbench",
        metavar="PATH",
        help="MaskBench archive or directory for the tests marked maskbench",
    )


def pytest_configure(config: pytest.Config) -> None:
    if path := config.getoption("--maskbench"):
        os.environ["MASKCOURT_MASKBENCH"] = str(Path(path).absolute())


@pytest.fixture(scope="session", autouse=True)
def _remember_nothing_of_other_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["MASKCOURT_SLOW_SCHEMAS"] = str(tmp_path_factory.mktemp("slow-schemas"))
    os.environ["MASKCOURT_COMPILED"] = ""


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """All bytes, some longer tokens of JSON, two ids with the same bytes, one reserved token."""
    extra = [b'"a', b'a"', b'"b"', b"ab", b", ", b"12", b"23", b"true", b"ab"]
    return byte_vocabulary(extra, [b"<pad>"])


@pytest.fixture(scope="session")
def vocabulary_file(vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`vocabulary` as a file that hosts can load."""
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary"
    vocabulary.save(path)
    return path
