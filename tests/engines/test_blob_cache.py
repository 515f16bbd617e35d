"""What somebody else may have written to a cache is never read."""

from __future__ import annotations

import os
import shutil

import pytest

from harness.engines.blob_cache import BlobCache, read_own, write_own


@pytest.fixture
def cache(tmp_path):
    return BlobCache(tmp_path / "cache", 1 << 20, 0.0)


def test_what_was_written_is_read_whatever_the_directory_lets_others_do(cache):
    file = cache.file("0123")
    before = os.umask(0)
    try:
        cache.write(file, b"mine")
    finally:
        os.umask(before)
    cache.directory.chmod(0o777)
    assert cache.read(file) == b"mine"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_could_write_to_is_dropped(cache, mode):
    file = cache.file("0123")
    cache.write(file, b"mine")
    file.chmod(mode)
    assert cache.read(file) is None
    assert not file.exists()


def test_an_entry_under_the_name_of_another_is_dropped(cache):
    one, other = cache.file("0123"), cache.file("0145")
    cache.write(one, b"mine")
    shutil.copy(one, other)
    assert cache.read(other) is None
    assert cache.read(one) == b"mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_somebody_elses_file_is_not_read(cache):
    file = cache.file("0123")
    cache.write(file, b"mine")
    os.chown(file, 12345, -1)
    assert cache.read(file) is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(__file__)])
def test_only_regular_files_are_read_and_nothing_is_waited_for(tmp_path, make):
    make(tmp_path / "file")
    assert read_own(tmp_path / "file") is None


@pytest.mark.parametrize("shelf", ["go", "01", "23"])
def test_nothing_that_was_not_written_here_makes_room(tmp_path, shelf):
    """The directory may have other uses; one that others can write to may lead elsewhere."""
    mine = tmp_path / "elsewhere" / "cafe"
    mine.parent.mkdir()
    mine.write_bytes(b"x" * 100)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "23").symlink_to(mine.parent)
    other = tmp_path / "cache" / shelf / "letter to grandmother"
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(b"x" * 100)
    BlobCache(tmp_path / "cache", 50, 0.0).make_room(10)
    assert mine.exists()
    assert other.exists()


def test_what_a_killed_process_of_the_same_number_left_is_written_over(tmp_path):
    (tmp_path / f".file-{os.getpid()}").write_bytes(b"half")
    write_own(tmp_path / "file", b"whole")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert read_own(tmp_path / "file") == b"whole"
