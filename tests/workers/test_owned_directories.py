"""Temporary directories: gone with their owner, or with the next start after it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.workers import owned_directories
from harness.workers.owned_directories import owned_directory, saved_vocabulary, sweep
from tests.command import ROOT

OWNER = (
    "from harness.workers.owned_directories import owned_directory\n"
    "with owned_directory() as directory:\n"
    "    (directory / 'file').touch()\n"
    "    print(directory, flush=True)\n"
    "    input()\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """Where temporary directories are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(place):
    """Another process with a directory of its own, and that directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_it_is_there_for_the_time_being(place):
    with owned_directory() as directory:
        assert directory.parent == place
        assert directory.is_dir()
    assert not list(place.iterdir())


def test_a_vocabulary_is_saved_in_it(place):
    with saved_vocabulary(byte_vocabulary([b"ab"])) as file:
        assert Vocabulary.load(file).sha256 == byte_vocabulary([b"ab"]).sha256
    assert not list(place.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next(owner):
    process, directory = owner
    process.kill()
    process.wait()
    assert (directory / "file").exists()
    with owned_directory():
        assert not directory.exists()


def test_it_is_dead_even_before_its_parent_has_noticed(owner):
    process, directory = owner
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the table
    with owned_directory():
        assert not directory.exists()


def test_what_a_living_process_has_is_left_alone(owner):
    _, directory = owner
    with owned_directory():
        assert (directory / "file").exists()


def test_a_number_that_another_process_has_now_does_not_protect(place):
    """The first process of all is always there, and did not begin so late."""
    left = place / f"maskcourt-{owned_directories._here()}-1-999999999999-abc"
    left.mkdir()
    sweep(place)
    assert not left.exists()


@pytest.mark.parametrize(
    "name", ["maskcourt-00000000-99999999-1-abc", "maskcourt-abcdefgh", "other", "maskcourt-"]
)
def test_what_others_made_is_left_alone(place, name):
    """Another machine's or container's processes cannot be seen from here."""
    (place / name).mkdir()
    sweep(place)
    assert (place / name).exists()


def test_only_directories_of_one_s_own_are_removed(place, monkeypatch):
    dead = f"maskcourt-{owned_directories._here()}-99999999-1-"
    (place / f"{dead}file").touch()
    (place / "kept").mkdir()
    (place / f"{dead}link").symlink_to(place / "kept")
    (place / f"{dead}theirs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 123456)
    sweep(place)
    assert len(list(place.iterdir())) == 4
    monkeypatch.undo()
    sweep(place)
    assert {one.name for one in place.iterdir()} == {f"{dead}file", f"{dead}link", "kept"}


def test_a_place_that_is_not_there_or_two_sweepers_do_no_harm(place, monkeypatch):
    sweep(place / "nowhere")
    dead = place / f"maskcourt-{owned_directories._here()}-99999999-1-abc"
    dead.mkdir()
    remove = owned_directories.shutil.rmtree

    def remove_twice(path, **options):
        remove(path)
        remove(path, **options)

    monkeypatch.setattr(owned_directories.shutil, "rmtree", remove_twice)
    sweep(place)
    assert not dead.exists()
