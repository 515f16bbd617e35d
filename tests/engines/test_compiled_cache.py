"""What a cache restores cannot be told from what was compiled, and nothing else is restored."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from harness.engines.blob_cache import BlobCache
from harness.engines.compiled_cache import (
    CompiledCache,
    Terms,
    compile_or_restore,
    open_cache,
    source_digest,
)
from harness.engines.contract import Contract, mask_of
from harness.protocol import Refused
from harness.workers import forked_work
from harness.workers.forked_work import in_child
from tests.inprocess import default_options
from tests.miniatures import Enumerator

SCHEMA = '{"enum": ["ab", 12, [true]]}'
EVERYTHING = Terms(seconds=0.0)
MEMORY = 1 << 50


class Stores(Enumerator):
    """The honest miniature, which can write its schemas down; it says what it does."""

    compiled = 0

    def compile(self, schema):
        self.compiled += 1
        sys.stdout.write("compiling\n")
        os.write(2, b"with a warning\n")
        return super().compile(schema)

    def store(self, matcher):
        sys.stdout.write("storing")
        return SCHEMA.encode()

    def restore(self, schema, data):
        return super().compile(data.decode())


class RestoresAnother(Stores):
    """The difference shows in the first mask."""

    def restore(self, schema, data):
        return super().restore(schema, b'{"enum": [12, [true]]}')


class RestoresAnotherLater(Stores):
    """The difference shows behind the first token."""

    def restore(self, schema, data):
        return super().restore(schema, b'{"enum": ["ab", 12, [true, true]]}')


class CannotRestore(Stores):
    def restore(self, schema, data):
        raise ValueError("of another version")


class CannotStore(Stores):
    def store(self, matcher):
        os.abort()


class StoresNothing(Stores):
    def store(self, matcher):
        return None


@contextmanager
def printing():
    """Descriptors 1 and 2 are one file, as in a host; gives what it holds."""
    sys.stdout.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        out, sys.stdout = sys.stdout, open(1, "w", closefd=False)  # noqa: SIM115
        try:
            for descriptor in (1, 2):
                os.dup2(file.fileno(), descriptor)
            yield lambda: os.pread(file.fileno(), 1 << 20, 0).decode()
        finally:
            sys.stdout.flush()
            sys.stdout = out
            for descriptor, old in zip((1, 2), saved, strict=True):
                os.dup2(old, descriptor)
                os.close(old)


@pytest.fixture
def mask(vocabulary):
    return np.zeros(vocabulary.words, dtype=np.uint32)


@pytest.fixture
def make(vocabulary):
    return lambda kind=Stores: kind(vocabulary, default_options(kind))


def cache_of(directory, engine, circumstances="v", memory=MEMORY, **terms):
    return CompiledCache(directory, engine, circumstances, memory, replace(EVERYTHING, **terms))


def kept(directory, engine, mask, schema=SCHEMA, **terms):
    """Compile and keep; what was compiled."""
    cache = cache_of(directory, engine, **terms)
    one = compile_or_restore(engine, schema, mask, cache)
    assert cache.keep(schema, one)
    return one


def files(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


@pytest.mark.processes
@printing()
def test_what_was_compiled_is_not_compiled_again(tmp_path, make, mask, vocabulary):
    first = kept(tmp_path, make(), mask)
    start = mask.copy()
    mask[:] = 0
    engine = make()
    again = compile_or_restore(engine, SCHEMA, mask, cache_of(tmp_path, engine))
    assert engine.compiled == 0
    assert again.restored
    assert not first.restored
    assert np.array_equal(mask, start)
    assert np.array_equal(mask_of(again.start, vocabulary), start)


@pytest.mark.processes
@printing()
def test_its_times_are_those_of_the_compilation(tmp_path, make, mask):
    first = kept(tmp_path, make(), mask)
    again = compile_or_restore(make(), SCHEMA, mask, cache_of(tmp_path, make()))
    assert again.compile_seconds == first.compile_seconds
    assert again.first_mask_seconds == first.first_mask_seconds


@pytest.mark.processes
def test_what_the_engine_printed_is_printed_again_and_storing_prints_nothing(tmp_path, make, mask):
    with printing() as printed:
        kept(tmp_path, make(), mask)
        first = printed()
        compile_or_restore(make(), SCHEMA, mask, cache_of(tmp_path, make()))
        assert printed() == first * 2
    assert sorted(first.splitlines()) == ["compiling", "with a warning"]


def test_nothing_is_kept_where_what_is_printed_cannot_be_known(tmp_path, make, mask):
    engine = make()
    read, write = os.pipe()
    saved = os.dup(2)
    os.dup2(write, 2)
    try:
        cache = cache_of(tmp_path, engine)
        assert not cache.keep(SCHEMA, compile_or_restore(engine, SCHEMA, mask, cache))
    finally:
        os.dup2(saved, 2)
        for descriptor in (read, write, saved):
            os.close(descriptor)
    assert not files(tmp_path)


def test_an_endless_complaint_is_not_kept(tmp_path, make, mask):
    class Chatters(Stores):
        def compile(self, schema):
            os.write(2, b"x" * 100_000)
            return super().compile(schema)

    engine = make(Chatters)
    cache = cache_of(tmp_path, engine)
    with printing() as printed:
        assert not cache.keep(SCHEMA, compile_or_restore(engine, SCHEMA, mask, cache))
        assert len(printed()) > 100_000


@pytest.mark.processes
@printing()
def test_a_restored_one_is_not_kept_again(tmp_path, make, mask):
    engine = make()
    kept(tmp_path, engine, mask)
    cache = cache_of(tmp_path, engine)
    assert not cache.keep(SCHEMA, compile_or_restore(engine, SCHEMA, mask, cache))


@pytest.mark.processes
@printing()
def test_what_compiles_quickly_is_not_kept(tmp_path, make, mask):
    engine = make()
    cache = cache_of(tmp_path, engine, seconds=1.0)
    one = compile_or_restore(engine, SCHEMA, mask, cache)
    assert not cache.keep(SCHEMA, replace(one, compile_seconds=0.5, first_mask_seconds=0.4))
    assert cache.keep(SCHEMA, replace(one, compile_seconds=0.5, first_mask_seconds=0.6))


@pytest.mark.processes
@printing()
def test_what_took_longer_than_this_run_allows_is_compiled(tmp_path, make, mask):
    engine = make()
    cache = cache_of(tmp_path, engine)
    one = compile_or_restore(engine, SCHEMA, mask, cache)
    assert cache.keep(SCHEMA, replace(one, compile_seconds=30.0))
    assert cache.restore(SCHEMA, mask, limit=29.0) is None
    assert cache.restore(SCHEMA, mask, limit=31.0) is not None


@pytest.mark.processes
@printing()
def test_what_might_not_fit_into_memory_is_compiled(tmp_path, make, mask):
    kept(tmp_path, make(), mask, memory=1)
    assert cache_of(tmp_path, make(), memory=1).restore(SCHEMA, mask) is None


@printing()
def test_refusals_are_not_kept(tmp_path, make, mask):
    engine = make()
    for _ in range(2):
        with pytest.raises(Refused):
            compile_or_restore(engine, '{"minimum": 1}', mask, cache_of(tmp_path, engine))
    assert engine.compiled == 2
    assert not files(tmp_path)


@pytest.mark.processes
@pytest.mark.parametrize(
    "other",
    [
        {"version": "2"},
        {"options": {"fast": True}},
        {"packages": {"toy": "2"}},
        {"name": "other"},
    ],
)
@printing()
def test_another_engine_does_not_find_it(tmp_path, make, mask, other):
    kept(tmp_path, make(), mask)
    engine = make()
    engine.info = replace(engine.info, **other)
    assert cache_of(tmp_path, engine).restore(SCHEMA, mask) is None


@pytest.mark.processes
@pytest.mark.parametrize(
    "other", [{"circumstances": "w"}, {"memory": MEMORY - 1}, {"schema": SCHEMA + " "}]
)
@printing()
def test_nothing_else_is_taken_for_it(tmp_path, make, mask, other):
    kept(tmp_path, make(), mask)
    schema = other.pop("schema", SCHEMA)
    assert cache_of(tmp_path, make(), **other).restore(schema, mask) is None


@pytest.mark.processes
@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:-1] + b"?"])
@printing()
def test_a_damaged_entry_is_dropped_and_compiled_anew(tmp_path, make, mask, damage):
    kept(tmp_path, make(), mask)
    (file,) = files(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    engine = make()
    assert not compile_or_restore(engine, SCHEMA, mask, cache_of(tmp_path, engine)).restored
    assert engine.compiled == 1
    assert not files(tmp_path)


@pytest.mark.processes
@pytest.mark.parametrize("kind", [RestoresAnother, CannotRestore])
@printing()
def test_what_is_not_restored_as_it_was_is_dropped_and_compiled_anew(
    tmp_path, make, mask, vocabulary, kind
):
    kept(tmp_path, make(kind), mask)
    mask[:] = 0
    one = compile_or_restore(make(kind), SCHEMA, mask, cache_of(tmp_path, make(kind)))
    assert not one.restored
    assert np.array_equal(mask, mask_of(make().compile(SCHEMA), vocabulary))
    assert not files(tmp_path)


@pytest.mark.processes
@pytest.mark.parametrize("kind", [CannotStore, StoresNothing])
@printing()
def test_an_engine_that_dies_while_it_stores_lives_on(tmp_path, make, mask, kind):
    engine = make(kind)
    cache = cache_of(tmp_path, engine)
    assert not cache.keep(SCHEMA, compile_or_restore(engine, SCHEMA, mask, cache))
    assert not files(tmp_path)


@pytest.mark.processes
@printing()
def test_a_large_entry_is_not_kept(tmp_path, make, mask):
    engine = make()
    cache = cache_of(tmp_path, engine, entry=100)
    assert not cache.keep(SCHEMA, compile_or_restore(engine, SCHEMA, mask, cache))


@pytest.mark.processes
@printing()
def test_a_directory_that_cannot_be_written_costs_nothing(tmp_path, make, mask):
    (tmp_path / "file").write_text("")
    engine = make()
    cache = cache_of(tmp_path / "file", engine)
    assert not cache.keep(SCHEMA, compile_or_restore(engine, SCHEMA, mask, cache))


def test_without_a_cache_it_compiles(make, mask, capfd):
    engine = make()
    one = compile_or_restore(engine, SCHEMA, mask)
    assert engine.compiled == 1
    assert not one.restored
    assert mask.any()
    assert capfd.readouterr().err == "with a warning\n"


def test_an_engine_that_stores_nothing_has_no_cache(tmp_path, make):
    assert open_cache(tmp_path, make(Enumerator), "v", MEMORY) is None
    assert open_cache("", make(), "v", MEMORY) is None
    assert open_cache(None, make(), "v", MEMORY) is None
    assert open_cache(str(tmp_path), make(), "v", MEMORY) is not None


def test_each_build_has_entries_of_its_own(tmp_path, make):
    builds = ("", "wheel sha256:1", "wheel sha256:2")
    caches = [open_cache(str(tmp_path), make(), "v", MEMORY, build) for build in builds]
    assert len({cache._file(SCHEMA) for cache in caches}) == 3


def test_another_source_of_the_adapter_is_another_engine(tmp_path, monkeypatch):
    (tmp_path / "written_adapter.py").write_text("class Engine: pass")
    monkeypatch.syspath_prepend(tmp_path)
    import written_adapter  # type: ignore[import-not-found]

    before = source_digest(written_adapter.Engine)
    assert before == source_digest(written_adapter.Engine)
    (tmp_path / "written_adapter.py").write_text("class Engine: mended = True")
    assert source_digest(written_adapter.Engine) not in (None, before)
    (tmp_path / "written_adapter.py").unlink()
    assert source_digest(written_adapter.Engine) is None


def test_the_contract_compares_what_is_restored(make, vocabulary, capfd):
    contract = Contract(vocabulary)
    texts = {SCHEMA: ["12", "[true]"]}
    contract.check(make(), texts)
    with pytest.raises(AssertionError, match="restored, behind"):
        contract.check(make(RestoresAnotherLater), texts)
    capfd.readouterr()


class TestShelf:
    """Sizes are of what is written and a digest of 32 bytes."""

    DAY = 86_400.0

    def shelf(self, directory, ages):
        """A shelf for three files of 100 bytes, with files last used so many days ago."""
        shelf = BlobCache(directory, 300, self.DAY)
        for number, days in enumerate(ages):
            file = shelf.file(f"{number:02}cafe")
            shelf.write(file, b"x" * 68)
            used = file.stat().st_mtime - days * self.DAY
            os.utime(file, (used, used))
        return shelf

    def left(self, directory):
        return sorted(file.parent.name for file in files(directory))

    @pytest.mark.parametrize(
        ("ages", "room", "left"),
        [
            ([9, 9], True, ["00", "01"]),
            ([3, 4, 5], True, ["00", "01"]),
            ([9, 0, 0], True, ["01", "02"]),
            ([0, 0, 0], False, ["00", "01", "02"]),
            ([0.1, 0.3, 0.2, 0.4], False, ["00", "01", "02"]),
            ([2, 3, 4, 5, 6], True, ["00", "01"]),
        ],
    )
    def test_the_least_recently_used_make_room_unless_all_are_fresh(
        self, tmp_path, ages, room, left
    ):
        assert self.shelf(tmp_path, ages).make_room(100) is room
        assert self.left(tmp_path) == left

    def test_what_is_used_is_fresh(self, tmp_path):
        shelf = self.shelf(tmp_path, [9, 8, 7])
        shelf.touch(shelf.file("00cafe"))
        assert shelf.make_room(100)
        assert self.left(tmp_path) == ["00", "02"]

    def test_what_a_dead_process_left_is_removed(self, tmp_path):
        shelf = self.shelf(tmp_path, [0])
        file = shelf.file("00cafe")
        old, young = file.with_name(".cafe-1"), file.with_name(".cafe-2")
        for one in (old, young):
            one.write_bytes(b"half")
        os.utime(old, (1, 1))
        shelf.make_room(1)
        assert young.exists()
        assert not old.exists()

    def test_a_file_is_there_as_a_whole_or_not_at_all(self, tmp_path, monkeypatch):
        shelf = self.shelf(tmp_path, [0])
        file = shelf.file("00cafe")

        def fail(*_):
            raise OSError

        monkeypatch.setattr("pathlib.Path.rename", fail)
        with pytest.raises(OSError, match=r"^$"):
            shelf.write(file, b"other")
        assert shelf.read(file) == b"x" * 68
        assert len(files(tmp_path)) == 1


@pytest.mark.processes
class TestAside:
    def test_says_whether_it_worked(self):
        assert in_child(lambda: True, 30)
        assert not in_child(lambda: False, 30)

    def test_an_exception_is_no(self, capfd):
        assert not in_child(lambda: json.loads("{"), 30)
        assert capfd.readouterr() == ("", "")

    def test_what_never_ends_is_ended(self):
        def spin():
            while True:
                pass

        assert not in_child(spin, 0.05)

    def test_what_wants_all_memory_does_not_get_it(self, monkeypatch):
        monkeypatch.setattr(forked_work, "_MORE_MEMORY", 64 << 20)
        assert not in_child(lambda: bool(bytearray(1 << 30)), 30)
        assert in_child(lambda: bool(bytearray(1 << 20)), 30)
