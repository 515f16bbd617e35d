"""What the model's own tokenizer makes of a text."""

import json
from functools import cache
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.canonical_tokens import Canonical
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary

ANYTHING = r"[\s\S]+"


@cache
def ranks_of(vocabulary):
    """Ordinary ids by their bytes, the lowest of several."""
    return {text: i for i, text in reversed(vocabulary.ordinary.items())}


def reference(vocabulary, text):
    """Byte-level BPE as its definition reads: again and again, merge the pair of lowest rank."""
    ranks, never = ranks_of(vocabulary), vocabulary.size
    out = []
    for piece in regex.findall(vocabulary.pattern, text.decode()):
        whole = piece.encode()
        parts = [whole] if whole in ranks else [bytes([value]) for value in whole]
        while len(parts) > 1:
            merged = [ranks.get(left + right, never) for left, right in pairwise(parts)]
            if min(merged) == never:
                break
            at = merged.index(min(merged))
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        out += [ranks[part] for part in parts]
    return tuple(out)


def tiny(extra, pattern=ANYTHING, specials=()):
    """All bytes by value, the end at 256, `extra` from 257, then `specials`."""
    plain = byte_vocabulary(extra, specials)
    special = plain.special.nonzero()[0].tolist()
    return Vocabulary.from_tokens("tiny", plain.tokens, special, [256], pattern)


def tokens(vocabulary, text):
    """The canonical tokens of `text` as bytes, for tests that need no ids."""
    return [vocabulary.tokens[token] for token in Canonical.of(vocabulary).tokens(text)]


# Letters with and without case, digits that are none in ASCII, marks, spaces of several kinds.
UNICODE = list("éßKŁя中文字🙂\u017f\u0301\u00a0\u2028\u3000\x85²Ⅷ٣½„")
strings = st.text(st.sampled_from(UNICODE) | st.characters(codec="ascii"), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(strings, inner), max_leaves=12
)
layouts = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 0, 2, "\t", " \n "])}
)
documents = st.builds(lambda value, layout: json.dumps(value, **layout).encode(), values, layouts)
words = ['{"', '":', ' "', '",', "\\u00", "\\n", "true", "null", "12", "it's", "  ", "\r\n", "},"]
scraps = st.lists(st.sampled_from(words) | strings, max_size=12).map("".join)
texts = documents | scraps.map(str.encode)


@pytest.fixture(scope="module")
def qwen():
    return open_vocabulary()


@pytest.fixture(scope="module")
def canonical(qwen):
    return Canonical.of(qwen)


class TestQwen:
    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("Hello, world!", [9707, 11, 1879, 0]),
            # Parts of what test_tokenization_qwen2.py of the transformers library expects.
            (" models in 100+ languages", [4119, 304, 220, 16, 15, 15, 10, 15459]),
            (" Jax, PyTorch and TensorFlow.", [619, 706, 11, 5355, 51, 21584, 323, 94986, 13]),
            (
                'tokenizer("世界\uff0c你好\uff01")```',
                [85593, 445, 99489, 3837, 108386, 6313, 899, 73594],
            ),
        ],
    )
    def test_published_encodings(self, canonical, text, ids):
        assert canonical.tokens(text.encode()) == tuple(ids)

    def test_they_are_not_the_longest_tokens(self, qwen, canonical):
        text = b'[{"a":[]}]'
        found = [qwen.tokens[token] for token in canonical.tokens(text)]
        assert b" ".join(found) == b'[ {" a ": [] }]'
        assert qwen.tokens[qwen.encode_greedy(text)[0]] == b"[{"

    @given(texts)
    def test_it_agrees_with_the_plain_definition(self, qwen, canonical, text):
        assert canonical.tokens(text) == reference(qwen, text)

    @given(texts)
    def test_starts_are_where_the_tokens_are(self, qwen, canonical, text):
        starts = canonical.starts(text)
        assert tuple(starts[offset] for offset in sorted(starts)) == canonical.tokens(text)
        assert all(text.startswith(qwen.tokens[token], offset) for offset, token in starts.items())


class TestTiny:
    def test_the_lowest_rank_is_merged_first(self):
        assert tokens(tiny([b"bc", b"ab"]), b"abcab") == [b"a", b"bc", b"ab"]
        assert tokens(tiny([b"ab", b"bc"]), b"abcab") == [b"ab", b"c", b"ab"]
        assert tokens(tiny([b"aa"]), b"aaa") == [b"aa", b"a"], "the leftmost of equals"
        assert Canonical.of(tiny([b"ab", b"ab"])).tokens(b"ab") == (257,), "the lower of two ids"

    def test_nothing_is_merged_across_pieces(self):
        vocabulary = tiny([b"12", b"1a", b"ab"], r"\d|\D+")
        assert tokens(vocabulary, b"12ab1a") == [b"1", b"2", b"ab", b"1", b"a"]

    def test_a_token_that_no_merge_makes_is_found_as_a_whole_piece_only(self):
        vocabulary = tiny([b"true"], r"\w+|,")
        assert tokens(vocabulary, b"true,truer") == [b"true", b",", *(b"t", b"r", b"u", b"e", b"r")]

    def test_special_tokens_and_gaps_among_the_ranks(self):
        extra = [b"ab", b"<pad>", b"", b"abc"]
        tokens_ = [*byte_vocabulary().tokens, *extra]
        gaps = Vocabulary.from_tokens("gaps", tokens_, [258, 259], [256], ANYTHING)
        canonical = Canonical.of(gaps)
        assert canonical.tokens(b"abc") == (260,)
        assert canonical.tokens(b"<pad>") == tuple(b"<pad>")

    @given(st.lists(st.text("ab1 ", min_size=2, max_size=4), max_size=12), st.text("ab1 "))
    def test_any_ranks_agree_with_the_plain_definition(self, extra, text):
        vocabulary = tiny([token.encode() for token in extra], r"[ab]+|\d| +")
        canonical = Canonical.of(vocabulary)
        assert canonical.tokens(text.encode()) == reference(vocabulary, text.encode())


class TestNone:
    @pytest.mark.parametrize("pattern", ["(", r"\p{Nonsense}+"])
    def test_a_pattern_that_is_not_understood(self, pattern):
        assert Canonical.of(tiny([], pattern)) is None
        assert Canonical.of(byte_vocabulary([b"true"])) is None, "it has no pattern"

    @pytest.mark.parametrize("text", [b"\xff", "é".encode()[:1], b"a\xed\xa0\x80"])
    def test_a_text_that_is_not_utf8(self, text):
        canonical = Canonical.of(tiny([]))
        assert canonical.tokens(text) is None
        assert canonical.starts(text) == {}

    def test_a_byte_that_is_no_token(self):
        some = Vocabulary.from_tokens("some", [b"<eos>", b"a", b"xa"], [], [0], r"\w+|\s+")
        canonical = Canonical.of(some)
        assert canonical.tokens(b"a") == (1,)
        assert canonical.tokens(b"axa") == (1, 2)
        assert canonical.tokens(b"a x") is None

    def test_a_pattern_that_leaves_out_a_part_or_on_which_the_library_panics(self):
        canonical = Canonical.of(tiny([], r"[a-z]+"))
        assert canonical.tokens(b"abc") == tuple(b"abc")
        assert canonical.tokens(b"abc1") is None
        assert Canonical.of(tiny([], r"(?=ab)|\w+")).tokens(b"ab") is None


CORPUS = [
    json.dumps({"name": f"item {i}", "tags": ["a", "ab", None], "price": i * 1.5}, indent=2)
    for i in range(40)
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tokenizer that the library trained, and what is read from its file."""
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|end|>"],
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    path = tmp_path_factory.mktemp("trained") / "tokenizer.json"
    tokenizer.save(str(path))
    return tokenizer, Canonical.of(open_vocabulary(str(path), "<|end|>"))


class TestTokenizerJson:
    """Where its reader gives a pattern, the tokens are those of the ``tokenizers`` library."""

    @given(texts)
    def test_on_any_text(self, trained, text):
        library, canonical = trained
        assert canonical.tokens(text) == tuple(library.encode(text.decode()).ids)
        learnt = CORPUS[7].encode()
        assert len(canonical.tokens(learnt)) < len(learnt) / 2
