"""Options of the test run, and what several test modules share."""

import gc
import itertools
import os
import platform
import sys
from collections.abc import Callable, Generator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from hypothesis import settings

from harness.inputs.vocabulary import Vocabulary, byte_vocabulary

# A slow machine must not fail a property. `make test-fast` looks at fewer examples of each.
settings.register_profile("maskcourt", deadline=None, max_examples=15)
settings.register_profile("fast", deadline=None, max_examples=6)
settings.load_profile("maskcourt")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--maskbench",
        metavar="PATH",
        help="MaskBench archive or directory for the tests marked maskbench",
    )


HEAVY = ("ray", "browser", "network", "processes")
"""Marks of tests that start processes; the files with the slowest come first."""

_started: list[str] = []
"""What processes the test that runs now has started."""


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}:
        started = f"{event} {arguments[1:2]}"
        if "fc-list" not in started:  # matplotlib's, once on a machine, for whoever draws first
            _started.append(started)


def pytest_configure(config: pytest.Config) -> None:
    if path := config.getoption("--maskbench"):
        os.environ["MASKCOURT_MASKBENCH"] = str(Path(path).absolute())
    platform.platform()  # starts `uname` once, else in whichever test asks first
    sys.addaudithook(_note)
    start = BaseProcess.start  # multiprocessing tells no audit hook

    def noted(process: BaseProcess) -> None:
        _started.append(repr(process))
        start(process)

    BaseProcess.start = noted  # type: ignore[method-assign]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that the workers end at about the same time."""
    ranks: dict[Path, int] = {}
    for item in items:
        rank = next(
            (n for n, mark in enumerate(HEAVY) if item.get_closest_marker(mark)), len(HEAVY)
        )
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: ranks[item.path])


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: let the garbage collector not go through them again."""
    gc.collect()
    gc.freeze()


def _watched(item: pytest.Item) -> Generator[None, object, object]:
    _started.clear()
    result = yield
    if _started and not any(map(item.get_closest_marker, HEAVY)):
        pytest.fail(f"starts a process without the mark `processes`: {_started[0]}", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _watched(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _watched(item))


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


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[object, str, str]]:
    """Call the program in this process: its exit code, standard output and standard error."""
    from harness.cli.main import main

    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["maskcourt", *map(str, arguments)])
        with pytest.raises(SystemExit) as leaving:
            main()
        printed = capsys.readouterr()
        return leaving.value.code, printed.out, printed.err

    return run


@pytest.fixture
def stored(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., object]:
    """Stores books as a run of the engines that the module names; the same ones are read once."""
    from tests import books

    engines, made = getattr(request.module, "ENGINES", books.ENGINES), itertools.count()
    return lambda *some, **options: books.store(
        tmp_path / f"run{next(made)}", *some, **{"engines": engines, "shared": True, **options}
    )
