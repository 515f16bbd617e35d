"""Temporary directories: their holder's alone, and gone with it in whatever way it ends."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.workers import temporary_directories as module
from harness.workers.temporary_directories import (
    saved_vocabulary,
    short_base,
    sweep_up,
    temporary_directory,
)

HOLDER = (
    "import sys, tempfile\n"
    "from harness.workers import temporary_directories as module\n"
    "tempfile.tempdir, module.LONGEST_BASE = sys.argv[1], 1000\n"
    "with module.temporary_directory() as directory:\n"
    "    (directory / 'file').write_text('theirs')\n"
    "    print(directory, flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.fixture
def base(tmp_path, monkeypatch):
    """The directory for what is held, in the test's own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(module, "LONGEST_BASE", 1000)
    return short_base()


def names(path):
    return sorted(one.name for one in path.iterdir())


@pytest.mark.processes
def test_what_another_process_holds_stays_until_it_is_dead(base):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, base.parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        theirs = base / other.stdout.readline().strip().rpartition("/")[2]
        with temporary_directory() as directory:
            assert names(base) == sorted([directory.name, theirs.name])
        assert (theirs / "file").read_text() == "theirs"
        other.kill()
    sweep_up()
    assert names(base) == []


def test_what_is_no_temporary_directory_is_left_alone(base, tmp_path):
    sweep_up()
    base.mkdir()
    (tmp_path / "kept").mkdir()
    (base / "r-left").symlink_to(tmp_path / "kept")
    (base / "r-file").touch()
    sweep_up()
    assert (tmp_path / "kept").is_dir()
    assert names(base) == ["r-file", "r-left"]


def test_many_who_come_and_go_do_each_other_no_harm(base):
    def come_and_go(number):
        for _ in range(50):
            with temporary_directory() as directory:
                (directory / f"{number}").touch()
                assert names(directory) == [f"{number}"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come_and_go, range(4)))
    assert names(base) == []
    assert base.stat().st_mode & 0o777 == 0o700


def test_a_vocabulary_is_saved_for_the_time_being():
    vocabulary = byte_vocabulary([b"ab"])
    with saved_vocabulary(vocabulary) as one, saved_vocabulary(vocabulary) as other:
        assert one != other
        assert Vocabulary.load(one).sha256 == Vocabulary.load(other).sha256 == vocabulary.sha256
    assert not one.exists()


@pytest.mark.parametrize("letters", [4, 10, 16, 17, 18, 30])
def test_the_sockets_of_ray_have_names_that_are_short_enough(monkeypatch, letters):
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/" + "t" * (letters - 1))
    session = "ray/session_2026-11-22_11-40-01_824880_4194304"
    socket = short_base() / "r1234567" / session / "sockets" / "plasma_store.1"
    assert len(str(socket)) <= 107


def _linked(base):
    (base.parent / "elsewhere").mkdir()
    base.symlink_to(base.parent / "elsewhere")


def _open_to(mode):
    def make(base):
        base.mkdir()
        base.chmod(mode)

    return make


@pytest.mark.parametrize("made", [_linked, _open_to(0o777), _open_to(0o1777), _open_to(0o770)])
def test_one_that_others_can_write_to_is_not_used(base, made):
    """They could put another vocabulary there, or cases that are code."""
    made(base)
    with pytest.raises(MaskcourtError, match="others can write to it"), temporary_directory():
        pass
