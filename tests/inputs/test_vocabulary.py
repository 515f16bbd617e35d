"""The vocabulary: its tokens, masks, identity and files, and the embedded one."""

import hashlib
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.directories import DATASETS, data_path
from harness.errors import InputError, UsageError
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.protocol import set_bits, token_ids

SMALL = Vocabulary.from_tokens(
    "small", [b"a", b"ab", b"<pad>", b"abc", b"ab", b"", b"<end>"], special_ids=[2, 5], eos_ids=[6]
)
JSONISH = byte_vocabulary([b'{"', b'":', b"true", b"tr", b"  ", b"    ", b"\xc3\xa9", b'"}'])

texts = st.lists(st.sampled_from(['{"', "t", "tr", "true", "é", " ", "\n", "x"]) | st.text()).map(
    lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
)


def ids(mask):
    return token_ids(mask, len(mask) * 32).tolist()


class TestTokens:
    def test_an_id_has_its_bytes_and_a_special_id_its_name(self):
        assert SMALL.tokens[3] == b"abc"
        assert SMALL.tokens[2] == b"<pad>"
        assert SMALL.tokens[5] == b""
        assert len(SMALL.tokens) == SMALL.size

    def test_a_text_has_none_of_the_ends(self):
        several = Vocabulary.from_tokens("several", [b"a", b"<1>", b"<2>"], [], eos_ids=[1, 2])
        assert several.text([0, 2, 0, 1]) == b"aa"

    def test_size_and_words(self):
        assert (SMALL.size, SMALL.words) == (7, 1)
        assert [byte_vocabulary([b"x"] * more).words for more in (30, 31, 32)] == [9, 9, 10]

    def test_the_first_end_is_the_usual_one_and_ends_are_special(self):
        two = Vocabulary.from_tokens("two", [b"a", b"<x>", b"<y>"], [], [2, 1, 2])
        assert two.eos == 2
        assert two.eos_ids == (2, 1)
        assert two.special.tolist() == [False, True, True]

    def test_ids_of_lists_every_ordinary_id_of_some_bytes(self):
        assert SMALL.ids_of(b"ab") == (1, 4)
        assert SMALL.ids_of(b"abcd") == SMALL.ids_of(b"<pad>") == SMALL.ids_of(b"") == ()

    def test_tokens_that_another_spelling_leaves_out(self):
        tokens = [b"a\\/", rb"ab\u00", b'a" ', b'", "', rb"\n", b"a b", b' "', b"} ", b'"a', b"1"]
        outside, inside = byte_vocabulary(tokens).respelling
        assert outside[257:].tolist() == [False] * 5 + [True, True, True, False, False]
        assert inside[257:].tolist() == [True] * 4 + [False] * 6

    def test_it_is_spelled_in_bytes_up_to_one_that_has_no_token(self):
        vocabulary = byte_vocabulary([b'"a', b"a"], [b"<pad>"])
        assert vocabulary.spelled(vocabulary.tokens.index(b'"a')) == [ord('"'), ord("a")]
        assert SMALL.spelled(SMALL.tokens.index(b"abc")) == [0]


class TestRules:
    @pytest.mark.parametrize(
        ("tokens", "special", "eos", "says"),
        [
            ([b"a"], [], [], "no end-of-sequence id"),
            ([b"a"], [], [1], r"outside 0\.\.0"),
            ([b"a"], [-1], [0], r"outside 0\.\.0"),
            ([b"a"], [1], [0], r"outside 0\.\.0"),
            ([b"a", b"", b"<e>"], [], [2], "id 1 is ordinary but has no bytes"),
        ],
    )
    def test_tokens_that_break_one(self, tokens, special, eos, says):
        with pytest.raises(ValueError, match=says):
            Vocabulary.from_tokens("v", tokens, special, eos)

    def test_an_end_that_is_not_special_and_arrays_that_change(self):
        flags = np.zeros(1, dtype=np.bool_)
        with pytest.raises(ValueError, match="id 0 is not special"):
            Vocabulary("v", b"a", np.array([0, 1], dtype=np.int64), flags, (0,))
        for array in (SMALL.special, SMALL.offsets, SMALL.eos_mask):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    @pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [1, 2, 3, 3], [0, 1, 2, 2], [0, 3]])
    def test_offsets_that_do_not_fit_the_bytes(self, offsets):
        flags = np.ones(3, dtype=np.bool_)
        with pytest.raises(ValueError, match="offsets"):
            Vocabulary("v", b"abc", np.array(offsets, dtype=np.int64), flags, (0,))


class TestMasks:
    @pytest.mark.parametrize("extra", [0, 30, 31, 32, 100])
    def test_a_mask_is_laid_out_as_the_protocol_says(self, extra):
        vocabulary = byte_vocabulary([b"x"] * extra, [b"<a>", b"<b>"])
        for mask in (vocabulary.special_mask, vocabulary.eos_mask):
            assert mask.dtype == np.uint32
            assert mask.shape == (vocabulary.words,)
        assert ids(vocabulary.special_mask) == [256, 257 + extra, 258 + extra]
        assert ids(vocabulary.ordinary_mask) == [*range(256), *range(257, 257 + extra)]
        assert np.array_equal(vocabulary.eos_mask, set_bits([256], vocabulary.words))


class TestIdentity:
    PARTS = ("v", (b"a", b"bc", b"<e>", b"<f>"), (3,), (2,), None)

    @classmethod
    def changed(cls, **change):
        names = ("name", "tokens", "special_ids", "eos_ids", "pattern")
        return Vocabulary.from_tokens(**(dict(zip(names, cls.PARTS, strict=True)) | change))

    def test_the_name_does_not_matter(self):
        assert self.changed(name="w").sha256 == self.changed().sha256

    @pytest.mark.parametrize(
        "change",
        [
            {"tokens": (b"ab", b"c", b"<e>", b"<f>")},
            {"tokens": (b"a", b"bd", b"<e>", b"<f>")},
            {"special_ids": ()},
            {"special_ids": (0, 3)},
            {"eos_ids": (2, 3)},
            {"eos_ids": (3, 2)},
            {"pattern": ""},
            {"pattern": "x"},
        ],
    )
    def test_everything_else_does(self, change):
        assert self.changed(**change).sha256 != self.changed().sha256

    def test_the_serialisation_is_the_stated_one(self):
        # Written down once by hand: results that are published refer to it.
        def number(value):
            return value.to_bytes(8, "little")

        one = Vocabulary.from_tokens("one", [b"hi", b"<e>"], [], [1], pattern="é")
        stated = b"maskcourt vocabulary 1\n" + number(2) + number(2) + number(3)
        stated += b"\x00\x01" + b"hi<e>" + number(1) + number(1) + number(3) + "é".encode()
        assert one.sha256 == hashlib.sha256(stated).hexdigest()

    def test_pickling_keeps_it_and_leaves_out_what_is_cached(self):
        vocabulary = byte_vocabulary([b"x" * 50] * 1000)
        before = len(pickle.dumps(vocabulary))
        vocabulary.encode_greedy(b"x")
        assert len(pickle.dumps(vocabulary)) == before
        again = pickle.loads(pickle.dumps(vocabulary))
        assert again.sha256 == vocabulary.sha256
        assert again.name == vocabulary.name


class TestFiles:
    WITH_PATTERN = Vocabulary.from_tokens("né", [b"a", b"\n", b"<e>"], [], [2], pattern=r"\p{L}")

    @pytest.mark.parametrize("vocabulary", [SMALL, JSONISH, WITH_PATTERN])
    def test_a_saved_vocabulary_loads_as_the_same(self, tmp_path, vocabulary):
        path = tmp_path / "v"
        vocabulary.save(path)
        loaded = Vocabulary.load(str(path))
        assert loaded.sha256 == vocabulary.sha256
        assert loaded.tokens == vocabulary.tokens
        assert (loaded.name, loaded.pattern) == (vocabulary.name, vocabulary.pattern)

    def test_a_save_replaces_the_file_and_one_that_fails_leaves_it_alone(
        self, tmp_path, monkeypatch
    ):
        path = tmp_path / "v"
        with pytest.raises(InputError, match=r"v cannot be read: No such file"):
            Vocabulary.load(path)
        JSONISH.save(path)
        SMALL.save(path)

        def full(self, data):
            with self.open("wb") as file:
                file.write(data[:10])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            JSONISH.save(path)
        assert Vocabulary.load(path).name == "small"
        assert [entry.name for entry in tmp_path.iterdir()] == ["v"]

    def test_a_file_cut_or_changed_anywhere_is_refused(self, tmp_path):
        path = tmp_path / "v"
        SMALL.save(path)
        whole = path.read_bytes()
        for length in range(len(whole)):
            changed = whole[:length] + bytes([whole[length] ^ 1]) + whole[length + 1 :]
            path.write_bytes(changed)
            with pytest.raises(InputError, match=r"damaged|not a vocabulary file"):
                Vocabulary.load(path)
            path.write_bytes(whole[:length])
            with pytest.raises(InputError, match=r"cut short|not a vocabulary file"):
                Vocabulary.load(path)


def naive_starts(vocabulary, text, at):
    """The definition, looked up token by token."""
    tokens = vocabulary.ordinary.items()
    fitting = [token for token, part in tokens if text[at:].startswith(part)]
    return sorted(fitting, key=lambda token: (len(vocabulary.tokens[token]), token))


class TestFinding:
    def test_starts_lists_shorter_tokens_first_then_lower_ids(self):
        assert SMALL.starts(b"zabcd", 1) == [0, 1, 4, 3]
        assert SMALL.starts(b"ab") == [0, 1, 4]
        assert SMALL.starts(b"ab", 2) == SMALL.starts(b"ab", 9) == SMALL.starts(b"<pad>", 0) == []
        with pytest.raises(ValueError, match="negative"):
            SMALL.starts(b"ab", -1)

    def test_greedy_takes_the_longest_and_the_lowest_id(self):
        assert SMALL.encode_greedy(b"abcaba") == [3, 1, 0]
        with pytest.raises(ValueError, match="0x7a at position 2 of 3"):
            SMALL.encode_greedy(b"abz")
        assert JSONISH.encode_greedy(b"") == []

    @given(texts, st.integers(0, 5))
    def test_greedy_pieces_make_up_the_text_and_starts_is_its_definition(self, text, at):
        assert b"".join(JSONISH.tokens[token] for token in JSONISH.encode_greedy(text)) == text
        assert JSONISH.starts(text, at) == naive_starts(JSONISH, text, at)

    @given(st.lists(st.binary(min_size=1, max_size=4), min_size=1), st.binary(max_size=6))
    def test_starts_is_its_definition_in_any_vocabulary(self, tokens, text):
        tokens = [*tokens, b"<e>"]
        vocabulary = Vocabulary.from_tokens("any", tokens, [], [len(tokens) - 1])
        for token in tokens:
            probe = token + text
            assert vocabulary.starts(probe) == naive_starts(vocabulary, probe, 0)


@pytest.fixture(scope="module")
def qwen():
    return open_vocabulary()


class TestEmbedded:
    def test_its_tokens_and_pattern_are_those_of_the_model(self, qwen):
        assert (qwen.name, qwen.size, qwen.eos_ids) == ("qwen2.5", 151665, (151645,))
        assert qwen.sha256 == "19555429e696bded47b4f16127bbfc91d95cf24fba72ca856b4acb048bb34967"

    @pytest.mark.parametrize("eos", ["<|endoftext|>", "151643"])
    def test_another_end_can_be_chosen(self, qwen, eos):
        other = open_vocabulary("qwen2.5", eos)
        assert other.eos_ids == (151643,)
        assert other.tokens == qwen.tokens
        assert other.pattern == qwen.pattern

    def test_a_misspelt_end_names_the_nearest(self):
        with pytest.raises(UsageError, match=r"no token '<\|im_ent\|>'.*'<\|im_end\|>'"):
            open_vocabulary("qwen2.5", "<|im_ent|>")

    def test_a_damaged_data_file_is_noticed(self, tmp_path, monkeypatch):
        shutil.copytree(data_path("vocabulary"), tmp_path / "vocabulary")
        shutil.copy(data_path("vocabularies.toml"), tmp_path)
        packed = tmp_path / "vocabulary" / "qwen2.5.xz"
        packed.write_bytes(packed.read_bytes()[:-1])
        monkeypatch.setenv(DATASETS, str(tmp_path))
        with pytest.raises(InputError, match=r"qwen2\.5\.xz cannot be read: Compressed data ended"):
            open_vocabulary()
