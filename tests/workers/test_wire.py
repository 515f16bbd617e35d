"""Messages arrive as they were sent, or not at all."""

import contextlib
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from harness.workers import wire

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARRAYS = nps.arrays(
    st.one_of(nps.integer_dtypes(), nps.unsigned_integer_dtypes(), nps.floating_dtypes())
    | st.just(np.dtype(np.bool_)),
    nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
SMALL = wire.Message({"do": "x"}, {"a": np.arange(3, dtype=np.int32), "b": np.zeros(0, np.uint8)})


def through_a_file(frame):
    """What is received from a file that holds `frame`."""
    descriptor = os.memfd_create("frame")
    try:
        os.write(descriptor, frame)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return wire.receive(descriptor)
    finally:
        os.close(descriptor)


def assert_same(received, sent):
    assert received.head == sent.head
    assert list(received.arrays) == list(sent.arrays)
    for name, array in sent.arrays.items():
        assert received.arrays[name].dtype == array.dtype
        assert received.arrays[name].shape == array.shape
        assert received.arrays[name].tobytes() == array.tobytes()


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


class TestFrames:
    @given(st.dictionaries(st.text(), JSON), st.dictionaries(st.text(), ARRAYS, max_size=3))
    def test_any_header_and_arrays_survive(self, head, arrays):
        sent = wire.Message(head, arrays)
        assert_same(through_a_file(wire.encode(sent)), sent)

    @pytest.mark.parametrize(
        "array",
        [
            np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
            np.arange(10, dtype=np.int16)[::-2],
            np.arange(4, dtype=">u4"),
            np.broadcast_to(np.float32(1.5), (2, 2)),
        ],
    )
    def test_whatever_lies_in_memory_in_another_way_arrives_in_the_same_shape(self, array):
        received = through_a_file(wire.encode(wire.Message({}, {"array": array}))).arrays["array"]
        assert received.shape == array.shape
        assert received.dtype == array.dtype
        assert np.array_equal(received, array)

    def test_the_frame_is_as_documented(self):
        frame = wire.encode(wire.Message({"é": 1}, {"a": np.array([258], dtype="<u2")}, number=7))
        magic, number, length, size, check = struct.unpack("<4sIIQI", frame[:24])
        assert (magic, number, size, check) == (b"\xff\xfeMC", 7, 2, zlib.crc32(frame[24:]))
        assert frame[24 : 24 + length].decode() == (
            r'{"head": {"\u00e9": 1}, "arrays": [["a", "<u2", [1]]]}'
        )
        assert frame[24 + length :] == b"\x02\x01"


class TestSomebodyElseWrites:
    @pytest.mark.parametrize("stray", [b"x", b"a warning\n", bytes(4096), wire.encode(SMALL)[:9]])
    @pytest.mark.parametrize("before", [0, 30, None], ids=["before", "amid", "behind"])
    def test_what_is_no_frame_is_known_for_that(self, pipe, stray, before):
        frame = wire.encode(SMALL)
        os.write(pipe[1], frame[:before] + stray + frame[: len(frame)][before or 0 :] + frame)
        if before is None:
            assert_same(wire.receive(pipe[0]), SMALL)
        with pytest.raises(wire.Broken):
            wire.receive(pipe[0])

    def test_what_is_not_there_is_not_waited_for(self, pipe):
        os.set_blocking(pipe[0], False)
        inbox = wire.Inbox(pipe[0])
        for at, byte in enumerate(wire.encode(SMALL)):
            assert inbox.read() is None, at
            os.write(pipe[1], bytes([byte]))
        assert_same(inbox.read(), SMALL)
        assert inbox.read() is None


class TestTheOtherEndIsGone:
    @pytest.mark.parametrize("kept", range(len(wire.encode(SMALL))))
    def test_a_frame_cut_anywhere_is_closed(self, kept):
        with pytest.raises(wire.Closed):
            through_a_file(wire.encode(SMALL)[:kept])

    def test_sending_to_nobody_is_closed(self, pipe):
        os.close(pipe[0])
        with pytest.raises(wire.Closed):
            wire.send(pipe[1], SMALL)


class TestRagged:
    @given(st.lists(st.lists(st.integers(0, 2**31 - 1))), st.lists(st.binary()))
    def test_lists_of_ids_and_byte_strings_survive(self, lists, strings):
        ragged, raw = wire.Ragged.of_ints(lists), wire.Ragged.of_bytes(strings)
        assert (ragged.ints(), raw.strings()) == (lists, strings)
        assert (len(ragged), len(raw)) == (len(lists), len(strings))
        assert ragged.values.dtype == np.int32
