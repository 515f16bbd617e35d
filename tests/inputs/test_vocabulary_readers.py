"""Opening vocabularies of others: tokenizer files and hub models."""

import base64
import json
import os
import sys
import types
from pathlib import Path
from typing import ClassVar

import pytest

from harness.errors import InputError, MaskcourtError, UsageError
from harness.inputs.vocabulary import byte_vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False}
BYTE_LEVEL |= {"trim_offsets": False, "use_regex": False}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\s+"}, "behavior": "Isolated"}
SPLIT |= {"invert": False}
SPLIT_THEN_BYTES = {"type": "Sequence", "pretokenizers": [SPLIT, BYTE_LEVEL]}
LLAMA_DECODER = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
BYTE_TOKENS = [f"<0x{value:02X}>" for value in range(256)]


def gpt2_characters():
    """The byte map as GPT-2's encoder.py describes it, written another way than in the reader."""
    shifted = iter(range(0x100, 0x200))
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    kept += range(ord("®"), ord("ÿ") + 1)
    return [chr(value) if value in kept else chr(next(shifted)) for value in range(256)]


ALPHABET = gpt2_characters()


def added(token, content, special=True):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token, "content": content, "special": special} | flags


def bpe(vocab, merges=(), **more):
    if not isinstance(vocab, dict):
        vocab = {text: token for token, text in enumerate(vocab)}
    defaults = {"dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    defaults |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False}
    return {"type": "BPE", **defaults, "vocab": vocab, "merges": list(merges), **more}


def tokenizer_json(model, decoder, added_tokens=(), pre_tokenizer=None):
    absent = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor"))
    parts = {"pre_tokenizer": pre_tokenizer, "decoder": decoder, "model": model}
    return {"version": "1.0", **absent, **parts, "added_tokens": list(added_tokens)}


def byte_level(extra=(), merges=(), added_tokens=None, pre_tokenizer=BYTE_LEVEL, **more):
    named = [added(256 + len(extra), "<|end|>")] if added_tokens is None else added_tokens
    return tokenizer_json(
        bpe([*ALPHABET, *extra], merges, **more), BYTE_LEVEL, named, pre_tokenizer
    )


def llama(vocab, decoder=LLAMA_DECODER, **more):
    return tokenizer_json(bpe(vocab, **more), decoder, [added(0, "<unk>"), added(1, "</s>")])


@pytest.fixture
def write(tmp_path):
    """Write the files of a model into a directory; the path of its tokenizer.json."""

    def write_files(content, **neighbours):
        directory = tmp_path / "some-model"
        directory.mkdir(exist_ok=True)
        path = directory / "tokenizer.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        for name, value in neighbours.items():
            (directory / f"{name}.json").write_text(json.dumps(value))
        return str(path)

    return write_files


class TestSpec:
    @pytest.mark.parametrize("spec", ["qwen25", "qwen", "nonsense"])
    def test_an_unknown_name_names_the_known_one(self, spec):
        with pytest.raises(UsageError, match=f"no vocabulary '{spec}'.*'?qwen2.5"):
            open_vocabulary(spec)

    @pytest.mark.parametrize("spec", ["gone/tokenizer.json", "./gone", "/gone/x", "x.tiktoken"])
    def test_a_path_that_does_not_exist(self, spec):
        with pytest.raises(InputError, match="does not exist"):
            open_vocabulary(spec)

    def test_a_directory_stands_for_its_tokenizer_json(self, write):
        path = Path(write(byte_level()))
        assert open_vocabulary(str(path.parent), "<|end|>").name == "some-model"
        path.unlink()
        with pytest.raises(InputError, match=r"some-model has no tokenizer\.json"):
            open_vocabulary(str(path.parent))

    @pytest.mark.parametrize("name", ["v", "v.xz"])
    def test_a_file_that_was_saved(self, tmp_path, name):
        byte_vocabulary([b"true"], [b"<pad>"]).save(tmp_path / name)
        opened = open_vocabulary(str(tmp_path / name))
        assert opened.sha256 == byte_vocabulary([b"true"], [b"<pad>"]).sha256
        assert open_vocabulary(str(tmp_path / name), "<pad>").eos_ids == (258,)


class TestByteLevel:
    def test_tokens_spell_bytes_or_are_plain_text_and_gaps_are_special(self, write):
        # Ġ is the space, Ċ the line feed, and Ã© the two bytes of é in UTF-8.
        extra = ["Ġthe", "ĊĊ", "Ã©", "a b", "▁é"]
        path = write(byte_level(extra, added_tokens=[added(263, "<|end|>")]))
        vocabulary = open_vocabulary(path, "<|end|>")
        assert vocabulary.tokens[:256] == [bytes([value]) for value in range(256)]
        plain = [b" the", b"\n\n", "é".encode(), b"a b", "▁é".encode()]
        assert vocabulary.tokens[256:] == [*plain, b"", b"", b"<|end|>"]
        assert vocabulary.special.nonzero()[0].tolist() == [261, 262, 263]
        assert vocabulary.eos == 263

    def test_the_pre_tokenizer_decides_where_there_is_no_decoder(self, write):
        content = byte_level(["Ġx"]) | {"decoder": None}
        assert open_vocabulary(write(content), "<|end|>").tokens[256] == b" x"

    def test_it_decodes_like_the_tokenizers_library(self, write):
        tokenizers = pytest.importorskip("tokenizers")
        names = ["  ", "Ġx", "ĠĠ", "<tool>", "é!"]
        extra = [added(256 + index, name, special=False) for index, name in enumerate(names)]
        path = write(byte_level(added_tokens=[*extra, added(261, "<|end|>")]))
        vocabulary, library = open_vocabulary(path, "<|end|>"), tokenizers.Tokenizer.from_file(path)
        for token in range(vocabulary.size):
            text = library.decode([token], skip_special_tokens=False)
            assert vocabulary.tokens[token].decode("utf-8", "replace") == text


class TestPattern:
    """The pattern is given exactly where BPE by ids is the tokenizer's own BPE."""

    def pattern(self, write, **parts):
        return open_vocabulary(write(byte_level(**parts)), "<|end|>").pattern

    def test_of_one_split_before_byte_level_or_of_gpt2(self, write):
        assert self.pattern(write, pre_tokenizer=SPLIT_THEN_BYTES) == r"\p{L}+|\s+"
        own = self.pattern(write, pre_tokenizer=BYTE_LEVEL | {"use_regex": True})
        assert own.startswith("'s|'t|'re")

    @pytest.mark.parametrize("merges", [["a b", "ab c"], [["a", "b"], ["ab", "c"]]])
    def test_merges_in_the_order_of_ids(self, write, merges):
        parts = {"pre_tokenizer": SPLIT_THEN_BYTES, "merges": merges}
        assert self.pattern(write, extra=["ab", "abc"], **parts) is not None
        assert self.pattern(write, extra=["abc", "ab"], **parts) is None

    def test_tokens_that_no_merge_makes(self, write):
        parts = {"pre_tokenizer": SPLIT_THEN_BYTES, "extra": ["ab"]}
        assert self.pattern(write, **parts) is None
        assert self.pattern(write, **parts, ignore_merges=True) is not None
        tokens = [added(256, "  ", special=False), added(257, "<|end|>")]
        assert self.pattern(write, **parts | {"extra": []}, added_tokens=tokens) is None
        path = write(byte_level(["ab"], ["a b"], pre_tokenizer=SPLIT_THEN_BYTES))
        assert open_vocabulary(path, "ab").pattern is None, "the end is one of the ranks"

    @pytest.mark.parametrize(("normalizer", "same"), [("NFC", True), ("Lowercase", False)])
    def test_a_normalizer_that_encodes_another_text(self, write, normalizer, same):
        parts = byte_level(pre_tokenizer=SPLIT_THEN_BYTES) | {"normalizer": {"type": normalizer}}
        assert (open_vocabulary(write(parts), "<|end|>").pattern is not None) is same

    @pytest.mark.parametrize(
        "pre_tokenizer",
        [
            None,
            BYTE_LEVEL,
            BYTE_LEVEL | {"use_regex": True, "add_prefix_space": True},
            {"type": "Sequence", "pretokenizers": [SPLIT, SPLIT, BYTE_LEVEL]},
            {"type": "Sequence", "pretokenizers": [SPLIT, BYTE_LEVEL | {"use_regex": True}]},
            {"type": "Sequence", "pretokenizers": [SPLIT | {"behavior": "Removed"}, BYTE_LEVEL]},
        ],
    )
    def test_other_ways_to_split(self, write, pre_tokenizer):
        assert self.pattern(write, pre_tokenizer=pre_tokenizer) is None


class TestSentencePiece:
    def test_pieces_and_all_byte_tokens(self, write):
        vocab = ["<unk>", "</s>", *BYTE_TOKENS, "▁a", "b", "▁▁", "é▁"]
        vocabulary = open_vocabulary(write(llama(vocab, byte_fallback=True)), "</s>")
        assert vocabulary.tokens[2:258] == [bytes([value]) for value in range(256)]
        assert vocabulary.tokens[258:] == [b" a", b"b", b"  ", "é ".encode()]
        assert vocabulary.special.nonzero()[0].tolist() == [0, 1]
        assert vocabulary.pattern is None

    def test_byte_tokens_are_text_where_nothing_falls_back_to_bytes(self, write):
        path = write(llama(["<unk>", "</s>", "<0x41>", "▁a"], decoder=METASPACE))
        assert open_vocabulary(path, "</s>").tokens[2:] == [b"<0x41>", b" a"]

    def test_unigram_with_its_unknown_token_special(self, write):
        pieces = [["<unk>", 0.0], ["</s>", 0.0], ["<0x0A>", -1.0], ["▁the", -2.0]]
        model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": True}
        path = write(tokenizer_json(model, LLAMA_DECODER, [added(1, "</s>")]))
        vocabulary = open_vocabulary(path, "</s>")
        assert vocabulary.tokens == [b"<unk>", b"</s>", b"\n", b" the"]
        assert vocabulary.special.tolist() == [True, True, False, False]

    @pytest.mark.parametrize("decoder", [LLAMA_DECODER, METASPACE])
    def test_it_decodes_like_the_tokenizers_library(self, write, decoder):
        tokenizers = pytest.importorskip("tokenizers")
        vocab = ["<unk>", "</s>", "x", "▁a", "b▁c", "▁", "é"]
        content = llama(vocab, decoder)
        content["added_tokens"] += [added(7, "▁▁", special=False), added(8, "\n\n", special=False)]
        path = write(content)
        vocabulary, library = open_vocabulary(path, "</s>"), tokenizers.Tokenizer.from_file(path)
        for token in range(2, vocabulary.size):
            # Behind another token, since these decoders drop a space at the very beginning.
            assert b"x" + vocabulary.tokens[token] == library.decode([2, token]).encode()


class TestRefused:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (tokenizer_json({"type": "WordPiece", "vocab": {"a": 0}}, None), "WordPiece"),
            (tokenizer_json({"type": "WordLevel", "vocab": {"a": 0}}, None), "WordLevel"),
            (tokenizer_json(bpe(["a</w>"], end_of_word_suffix="</w>"), None), "</w>"),
            (tokenizer_json(bpe(["a"]), None), r"decoder \(none\)"),
            (tokenizer_json(bpe(["a"]), {"type": "BPEDecoder", "suffix": ""}), "BPEDecoder"),
            (byte_level(added_tokens=[added(1 << 30, "<|end|>")]), "ids from 0 to 1073741824"),
            (tokenizer_json(bpe({"a": 0, "b": 0}), BYTE_LEVEL), "same id"),
            (tokenizer_json(bpe(["\ud800"]), BYTE_LEVEL), "surrogates"),
            ({"model": {"type": "BPE"}}, "not a Hugging Face tokenizer.json: KeyError"),
            ({"model": []}, "not a Hugging Face tokenizer.json"),
            ("{", "is not JSON"),
        ],
    )
    def test_with_its_path_and_the_reason(self, write, content, message):
        with pytest.raises(InputError, match=rf"some-model/tokenizer\.json.*{message}"):
            open_vocabulary(write(content), "<|end|>")


class TestSpecialIds:
    def test_flagged_tokens_and_control_tokens_are_special(self, write):
        ordinary = ["<tool_call>", "</tool_call>", "    ", "a < b > c"]
        tokens = [added(256, "<|end|>"), added(257, "[INST]")]
        tokens += [added(258 + index, text, False) for index, text in enumerate(ordinary)]
        vocabulary = open_vocabulary(write(byte_level(added_tokens=tokens)), "<|end|>")
        assert vocabulary.special[256:].tolist() == [True, True, True, True, False, False]
        assert vocabulary.tokens[258:261] == [b"<tool_call>", b"</tool_call>", b"    "]

    def test_an_added_token_overrides_the_models_own(self, write):
        path = write(byte_level(["<s>"], added_tokens=[added(256, "<s>"), added(257, "<|end|>")]))
        vocabulary = open_vocabulary(path, "<|end|>")
        assert vocabulary.special[256]
        assert vocabulary.ids_of(b"<s>") == ()


class TestEndOfSequence:
    TWO = byte_level(added_tokens=[added(256, "<|text|>"), added(257, "<|turn|>")])
    BOTH: ClassVar = {"generation_config": {"eos_token_id": [256, 257]}}

    @pytest.mark.parametrize(
        ("neighbours", "ids"),
        [
            ({"tokenizer_config": {"eos_token": "<|turn|>"}}, (257,)),
            ({"tokenizer_config": {"eos_token": {"content": "<|turn|>"}}}, (257,)),
            ({"generation_config": {"eos_token_id": 256}}, (256,)),
            ({"generation_config": {"eos_token_id": [257, 256]}}, (257, 256)),
            ({"special_tokens_map": {"eos_token": "<|text|>"}}, (256,)),
            # the tokenizer's own configuration comes first
            ({"tokenizer_config": {"eos_token": "<|turn|>"}, **BOTH}, (257,)),
            ({"tokenizer_config": {"eos_token": None}, **BOTH}, (256, 257)),
        ],
    )
    def test_a_neighbour_names_it(self, write, neighbours, ids):
        assert open_vocabulary(write(self.TWO, **neighbours)).eos_ids == ids

    @pytest.mark.parametrize(
        ("eos", "neighbours", "says"),
        [
            (None, {}, r"nothing beside .* names an end.*name it"),
            (
                None,
                {"generation_config": {"eos_token_id": 999}},
                "n_config.json has no token '999'",
            ),
            ("<|turm|>", {}, r"tokenizer\.json has no token '<\|turm\|>'"),
            ("258", {}, r"tokenizer\.json has no token '258'"),
            ("", {}, r"tokenizer\.json has no token ''"),
        ],
    )
    def test_it_must_be_named_and_exist(self, write, eos, neighbours, says):
        with pytest.raises(UsageError, match=says):
            open_vocabulary(write(self.TWO, **neighbours), eos)

    def test_the_argument_comes_before_all(self, write):
        path = write(self.TWO, tokenizer_config={"eos_token": "<|turn|>"})
        assert open_vocabulary(path, "<|text|>").eos_ids == (256,)
        assert open_vocabulary(path, "256").eos_ids == (256,)


class TestTiktoken:
    @pytest.fixture
    def ranks(self, tmp_path):
        def write_ranks(tokens):
            path = tmp_path / "base.tiktoken"
            lines = (base64.b64encode(text) + b" %d\n" % rank for rank, text in tokens.items())
            path.write_bytes(b"".join(lines))
            return str(path)

        return write_ranks

    def test_the_end_is_appended(self, ranks):
        vocabulary = open_vocabulary(ranks({0: b"a", 1: b"\xff\n"}))
        assert vocabulary.tokens == [b"a", b"\xff\n", b"<|endoftext|>"]
        assert (vocabulary.name, vocabulary.eos_ids) == ("base", (2,))
        assert open_vocabulary(ranks({0: b"a"}), "<|im_end|>").tokens == [b"a", b"<|im_end|>"]

    def test_a_given_id_may_leave_or_fill_a_gap(self, ranks):
        path = ranks({0: b"a", 3: b"b"})
        assert open_vocabulary(path, "5").tokens == [b"a", b"", b"", b"b", b"", b"<|endoftext|>"]
        filled = open_vocabulary(path, "2")
        assert filled.tokens == [b"a", b"", b"<|endoftext|>", b"b"]
        assert filled.special.tolist() == [False, True, True, False]
        with pytest.raises(UsageError, match=r"id 0 .* is an ordinary token"):
            open_vocabulary(path, "0")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("YQ== 0\nYQ==\n", "line 2 of .* is not a token in Base64 and its rank"),
            ("YQ== 0\n\n%% 1\n", "line 3 of"),
            ("YQ== x\n", "line 1 of"),
            ("YQ== -1\n", "ids from -1"),
            ("YQ== 0\nYg== 0\n", "line 2 of .* gives rank 0 again"),
            ("\n", "is empty"),
        ],
    )
    def test_a_broken_file_is_refused_with_the_line(self, tmp_path, text, message):
        (tmp_path / "broken.tiktoken").write_text(text)
        with pytest.raises(InputError, match=message):
            open_vocabulary(str(tmp_path / "broken.tiktoken"))


class FakeHub(types.ModuleType):
    """Stands in for huggingface_hub: some files, or none because the hub is out of reach."""

    def __init__(self, directory, *, reachable=True):
        super().__init__("huggingface_hub")
        self.directory, self.reachable, self.asked = directory, reachable, []
        self.errors = types.ModuleType("huggingface_hub.errors")
        self.errors.EntryNotFoundError = type("EntryNotFoundError", (Exception,), {})
        absent = self.errors.EntryNotFoundError
        self.errors.LocalEntryNotFoundError = type("LocalEntryNotFoundError", (absent,), {})

    def hf_hub_download(self, repo_id, filename, revision="main"):
        self.asked.append((repo_id, filename, revision))
        if not self.reachable:
            raise self.errors.LocalEntryNotFoundError
        if repo_id == "gone/model":
            raise OSError("404 Client Error\nRequest id: 1")
        if not (self.directory / filename).exists():
            raise self.errors.EntryNotFoundError
        return str(self.directory / filename)


class TestHub:
    @pytest.fixture
    def hub(self, write, monkeypatch):
        def install(*, reachable=True):
            neighbour = {"special_tokens_map": {"eos_token": "<|end|>"}}
            hub = FakeHub(Path(write(byte_level(), **neighbour)).parent, reachable=reachable)
            monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
            monkeypatch.setitem(sys.modules, "huggingface_hub.errors", hub.errors)
            return hub

        return install

    @pytest.mark.parametrize("spec", ["hf:org/name", "org/name"])
    def test_a_model_is_its_tokenizer_and_configurations(self, hub, spec):
        asked = hub().asked
        vocabulary = open_vocabulary(spec)
        assert (vocabulary.name, vocabulary.eos_ids) == ("org/name", (256,))
        assert ("org/name", "tokenizer.json", "main") in asked
        assert all(file.endswith(".json") for _, file, _ in asked)

    def test_a_revision_is_part_of_the_name(self, hub):
        asked = hub().asked
        assert open_vocabulary("org/name@v1.0").name == "org/name@v1.0"
        assert {revision for _, _, revision in asked} == {"v1.0"}

    @pytest.mark.parametrize(
        ("spec", "reachable", "file", "says"),
        [
            ("org/name", False, "none", r"out of reach.*path of a tokenizer\.json"),
            ("gone/model", True, "none", r"'gone/model' cannot be fetched: 404 Client Error$"),
            ("org/name", True, "tokenizer.json", r"'org/name' has no tokenizer\.json"),
        ],
    )
    def test_what_is_not_there_is_said(self, hub, spec, reachable, file, says):
        (hub(reachable=reachable).directory / file).unlink(missing_ok=True)
        with pytest.raises(InputError, match=says):
            open_vocabulary(spec)

    def test_the_library_is_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(UsageError, match=r"pip install 'maskcourt\[huggingface\]'"):
            open_vocabulary("hf:org/name")


class TestHostile:
    """What is no vocabulary is refused in one line, whatever it holds."""

    @pytest.mark.parametrize("spec", ["~nobody-here/x", "x" * 5000, "a\0b", "./\udcff", "\n"])
    def test_names(self, spec):
        refused(spec)

    @pytest.mark.parametrize("name", ["tokenizer.json", "ranks.tiktoken", "saved"])
    def test_what_is_no_regular_file(self, tmp_path, name):
        os.mkfifo(tmp_path / name)
        refused(tmp_path / name, "no regular file")
        (tmp_path / "link").symlink_to(tmp_path / name)
        refused(tmp_path / "link", "no regular file")
        refused("/dev/zero", "no regular file")

    def test_a_neighbour_that_is_no_regular_file(self, tmp_path):
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer({"a": 0, "<e>": 1})))
        os.mkfifo(tmp_path / "tokenizer_config.json")
        refused(tmp_path / "tokenizer.json", "no regular file")

    @pytest.mark.parametrize(
        "vocab",
        [
            *({"a": one} for one in (-1, 2**62, 1e300, 0.5, True, None, "0", [], {})),
            *({"\ud800": 0}, {}, [], [1], [["a"]], [[1, 2]], [None], "a", 7, None),
        ],
    )
    @pytest.mark.parametrize("eos", [None, "0", "a", "9" * 5000, "\udcff"])
    def test_tables(self, tmp_path, vocab, eos):
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer(vocab)))
        refused(tmp_path / "tokenizer.json", eos=eos)


def tokenizer(vocab):
    return {
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
        "decoder": {"type": "ByteLevel"},
    }


def refused(spec, *words, eos=None):
    with pytest.raises(MaskcourtError) as caught:
        open_vocabulary(str(spec), eos)
    assert [word for word in words if word not in str(caught.value)] == []
