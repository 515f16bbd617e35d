"""Temporary directories: filled once, removed by the last who holds them, and behind the dead."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.workers import temporary_directories as module
from harness.workers.temporary_directories import (
    SharedDirectory,
    saved_vocabulary,
    shared_directory,
    short_base,
    sweep_up,
)

HOLDER = (
    "import sys\n"
    "from pathlib import Path\n"
    "from harness.workers.temporary_directories import SharedDirectory\n"
    "one = SharedDirectory(sys.argv[2], Path(sys.argv[1]))\n"
    "one.filled(lambda path: (path / 'file').write_text('theirs'))\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


@pytest.fixture
def other(tmp_path):
    """Another process that holds ``shared`` in `tmp_path`."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path, "shared"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def names(path):
    return sorted(one.name for one in path.glob("*"))


def test_it_is_filled_by_the_first_and_removed_by_the_last(tmp_path):
    fills = []
    first, second = SharedDirectory("shared", tmp_path), SharedDirectory("shared", tmp_path)

    def fill(path):
        fills.append(path)
        (path / "file").write_text("once")

    threads = [threading.Thread(target=one.filled, args=(fill,)) for one in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fills == [tmp_path / "shared"]
    first.release()
    assert (second.path / "file").read_text() == "once"
    second.release()
    assert names(tmp_path) == []


def test_what_failed_to_be_filled_is_filled_by_the_next(tmp_path):
    one = SharedDirectory("shared", tmp_path)

    def fail(path):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        one.filled(fail)
    assert (one.filled(lambda path: (path / "file").touch()) / "file").exists()


@pytest.mark.processes
def test_what_another_process_holds_stays(tmp_path, other):
    mine = SharedDirectory("shared", tmp_path)
    mine.release()
    sweep_up(tmp_path)
    assert (tmp_path / "shared" / "file").read_text() == "theirs"


@pytest.mark.processes
def test_what_the_dead_held_is_removed_by_the_next_who_holds_anything(tmp_path, other):
    other.kill()
    other.wait()
    one = SharedDirectory("mine", tmp_path)
    assert names(tmp_path) == ["mine", "mine.lock"]
    one.release()


def test_what_is_no_held_directory_is_left_alone(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "left").symlink_to(tmp_path / "kept")
    (tmp_path / "left.lock").touch()
    sweep_up(tmp_path / "nowhere")
    sweep_up(tmp_path)
    assert (tmp_path / "kept").is_dir()
    assert (tmp_path / "file").exists()


def test_a_vocabulary_is_saved_for_the_time_being(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    vocabulary = byte_vocabulary([b"ab"])
    with saved_vocabulary(vocabulary) as one, saved_vocabulary(vocabulary) as other:
        assert one != other
        assert tmp_path in one.parents
        assert Vocabulary.load(one).sha256 == Vocabulary.load(other).sha256 == vocabulary.sha256
    assert names(tmp_path) == []


class TestBase:
    def test_it_is_short_only_for_its_user_and_gone_with_the_last(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
        monkeypatch.setattr(module, "LONGEST_BASE", 1000)
        with shared_directory("one") as directory:
            base = directory.parent
            assert base == short_base()
            assert base.stat().st_mode & 0o777 == 0o700
        assert names(tmp_path) == []
        monkeypatch.setattr(module, "LONGEST_BASE", 5)
        assert len(str(short_base())) <= 25

    @pytest.mark.parametrize("letters", range(4, 50))
    def test_the_sockets_of_ray_have_names_that_are_short_enough(self, monkeypatch, letters):
        monkeypatch.setattr("tempfile.gettempdir", lambda: "/" + "t" * (letters - 1))
        session = "ray/session_2026-11-22_11-40-01_824880_4194304"
        socket = short_base() / "r4194304" / session / "sockets" / "plasma_store.1"
        assert len(str(socket)) <= 107

    def test_somebody_else_s_is_not_used(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
        monkeypatch.setattr(module, "LONGEST_BASE", 1000)
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / f"maskcourt-{module.os.geteuid()}").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(MaskcourtError, match="belongs to somebody else"):
            SharedDirectory("one")

    @pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
    def test_one_that_others_can_write_to_is_not_used(self, tmp_path, mode):
        """They could put another vocabulary there, or cases that are code."""
        (tmp_path / "base").mkdir()
        (tmp_path / "base").chmod(mode)
        with pytest.raises(MaskcourtError, match="others can write to it"):
            SharedDirectory("one", tmp_path / "base")

    def test_many_who_come_and_go_do_each_other_no_harm(self, tmp_path):
        def come_and_go(number):
            for turn in range(50):
                with shared_directory(f"{number % 2}", tmp_path / "base") as directory:
                    (directory / f"{number}-{turn}").touch()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(come_and_go, range(4)))
        assert names(tmp_path) == []
