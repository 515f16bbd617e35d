"""A text is cut where every reader of JSON cuts it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext import strict_json
from harness.validators.batch import text_batches
from harness.validators.batch.text_batches import LiteralPlace
from harness.workers import wire


def cut(prefix: bytes, middles: list[bytes], *suffixes: bytes) -> text_batches.Groups:
    which = np.arange(len(middles), dtype=np.int32) % len(suffixes)
    return text_batches.cut(prefix, wire.Ragged.of_bytes(middles), suffixes, which)


def values(groups: text_batches.Groups) -> dict[LiteralPlace, list[object]]:
    return {place: group.values for place, group in groups.items()}


class TestStrings:
    def test_that_go_on_are_in_one_spot_whatever_is_left_of_them(self):
        groups = cut(b'{"a": "be', [b"x", b"\xc3\xa9", b"\\n", b""], b'gin"}', b'"}')
        place = LiteralPlace(b'{"a": ', b"}", "string")
        assert groups[place].at == [0, 2, 1, 3]
        assert values(groups) == {place: ["bexgin", "be\ngin", "beé", "be"]}

    def test_that_are_closed_are_in_the_spot_before_what_follows(self):
        groups = cut(b'["a', [b'b"', b'b" '], b", 1]", b"]")
        assert values(groups) == {
            LiteralPlace(b"[", b", 1]", "string"): ["ab"],
            LiteralPlace(b"[", b" ]", "string"): ["ab"],
        }

    def test_that_begin_in_the_token(self):
        groups = cut(b"[1", [b',"', b',"a', b', "a'], b'x"]')
        assert values(groups) == {
            LiteralPlace(b"[1,", b"]", "string"): ["x", "ax"],
            LiteralPlace(b"[1, ", b"]", "string"): ["ax"],
        }

    def test_a_character_or_an_escape_in_pieces(self):
        groups = cut(b'"\xc3', [b"\xa9", b"a"], b'"')
        assert values(groups) == {LiteralPlace(b"", b"", "string"): ["é"]}
        assert groups[LiteralPlace(b"", b"", "string")].faulty == [(1, text_batches.NOT_JSON)]
        assert values(cut(b'"\\', [b"n", b"u00e9", b'"'], b'"')) == {
            LiteralPlace(b"", b"", "string"): ["\n", "é", '"']
        }
        groups = cut(b'"\\ud83d', [b"\\ude00", b"a"], b'"')
        assert values(groups) == {LiteralPlace(b"", b"", "string"): ["\U0001f600"]}
        assert groups[LiteralPlace(b"", b"", "string")].faulty == [(1, text_batches.LONE_SURROGATE)]

        (group,) = cut(b'"a', [b"b"], b'\\ude00"').values()
        assert group.faulty == [(0, text_batches.LONE_SURROGATE)]

    def test_what_cannot_follow_a_string(self):
        groups = cut(b'["a', [b'"b', b'"', b'":'], b"]")
        assert groups.broken == [0]
        assert values(groups) == {
            LiteralPlace(b"[", b"]", "string"): ["a"],
            LiteralPlace(b"[", b":]", "string"): ["a"],
        }

    def test_of_what_may_be_nested_too_deep_nothing_is_said(self):
        deep = b"[" * (strict_json.MAX_DEPTH + 1) + b'"'
        assert cut(deep, [b'"b'], b"]").broken == []

    def test_that_are_never_closed_are_in_no_place(self):
        assert cut(b'"a', [b"b", b"\\"], b"") == {}

    @pytest.mark.parametrize("byte", [b"\n", b"\x00", b"\x1f"])
    def test_bytes_that_must_be_escaped(self, byte):
        (group,) = cut(b'"', [b"a" + byte, b"\x7f"], b'"').values()
        assert (group.faulty, group.values) == ([(0, text_batches.NOT_JSON)], ["\x7f"])


class TestNumbers:
    def test_are_whole(self):
        groups = cut(b"[-1", [b"2", b".5", b"e+1"], b"0]")
        place = LiteralPlace(b"[", b"]", "number")
        assert values(groups) == {place: [-120, -1.5, -1e10]}

    def test_with_faults(self):
        (group,) = cut(b"", [b"1e999", b"1.00000000000000001", b"1"], b"").values()
        assert group.faulty == [(0, text_batches.NUMBER_OVERFLOW), (1, text_batches.NUMBER_LOST)]
        assert group.values == [1]

    @pytest.mark.parametrize(("prefix", "middle"), [(b"1", b"-"), (b"tru", b"e"), (b"", b"01")])
    def test_that_are_none_are_in_no_place(self, prefix, middle):
        assert cut(prefix, [middle], b"") == {}


def test_brackets_and_white_space_are_in_no_place():
    assert cut(b"[1", [b"]", b" ", b"", b",[", b"x1"], b"]") == {}


ANY = st.binary(max_size=6) | st.lists(
    st.sampled_from(
        [b'"', b"\\", b"a", b"1", b"[", b"{", b"]", b"}", b",", b":", b" ", b"\xc3\xa9"]
    )
).map(b"".join)


@given(ANY, ANY, ANY)
def test_whatever_is_cut_can_be_put_together(prefix, middle, suffix):
    text = prefix + middle + suffix
    groups = cut(prefix, [middle], suffix)
    if groups.broken:
        with pytest.raises(strict_json.JsonError):
            strict_json.parse(text)
    for place, group in groups.items():
        assert text.startswith(place.before)
        assert text.endswith(place.behind)
        literal = text[len(place.before) : len(text) - len(place.behind)]
        assert text_batches.read(literal) == (
            (group.values[0], None) if group.values else (None, group.faulty[0][1])
        )
