"""Open a vocabulary: one that has a name, a tokenizer file, or a Hugging Face model's."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness.errors import InputError, UsageError, nearest
from harness.inputs.limits import read_file
from harness.inputs.vocabulary import Vocabulary, is_saved
from harness.inputs.vocabulary_names import (
    EMBEDDED,
    MAX_SIZE,
    TokenTable,
    named_vocabulary,
    tiktoken_table,
    vocabulary_names,
)

_HUB_FILES = ("tokenizer_config.json", "generation_config.json", "special_tokens_map.json")


def open_vocabulary(spec: str = EMBEDDED, eos: str | None = None) -> Vocabulary:
    """The vocabulary that `spec` names.

    `spec` is a name that `harness.inputs.vocabulary_names` knows, as ``qwen2.5`` or ``bytes``; the
    path of a Hugging Face ``tokenizer.json`` or of a directory with one, of a tiktoken rank file or
    of a file that `Vocabulary.save` wrote; or a Hugging Face model id, ``org/name`` or
    ``hf:org/name``, with ``@revision`` at will. `eos` names another end of sequence, by text or id.
    """
    wrong = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
    try:
        return _opened(spec, eos)
    except (*wrong, MemoryError, OSError) as error:  # whatever is no vocabulary
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"vocabulary {spec[:200]!r} cannot be used: {reason}") from error


def _opened(spec: str, eos: str | None) -> Vocabulary:
    if spec in vocabulary_names():
        return _chosen_eos(named_vocabulary(spec), eos)
    if spec.startswith("hf:"):
        return _open_hub(spec.removeprefix("hf:"), eos)
    try:
        path = Path(spec).expanduser()
    except RuntimeError as error:
        raise InputError(f"vocabulary file {spec} does not exist: no such user") from error
    if path.exists():
        return _open_path(path, eos)
    if path.suffix in {".json", ".tiktoken", ".model"} or spec.startswith(("/", ".", "~")):
        raise InputError(f"vocabulary file {spec} does not exist")
    if re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", spec):
        return _open_hub(spec, eos)
    hint = nearest(spec, vocabulary_names())
    raise UsageError(f"no vocabulary {spec!r}", f"{hint}; or give a path, or a model as org/name")


def _open_path(path: Path, eos: str | None) -> Vocabulary:
    if path.is_dir():
        if not (path / "tokenizer.json").is_file():
            raise InputError(f"directory {path} has no tokenizer.json")
        path /= "tokenizer.json"
    data = read_file(path, regular=True)
    if path.suffix == ".xz" or is_saved(data):
        return _chosen_eos(Vocabulary.load(path), eos)
    # A file of this name alone says nothing: the directory bears the model's name.
    name = path.absolute().parent.name if path.name == "tokenizer.json" else path.stem
    if data.lstrip().startswith(b"{"):
        return _read_json(path, name, eos)
    return _read_tiktoken(data, path, name, eos)


def _open_hub(model: str, eos: str | None) -> Vocabulary:
    """The vocabulary of a model on the Hugging Face hub; only small text files are fetched."""
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
    except ImportError as error:
        message = f"vocabulary {model!r} is on the Hugging Face hub, and huggingface_hub is missing"
        hint = "pip install 'maskcourt[huggingface]', or give the path of a tokenizer.json"
        raise UsageError(message, hint) from error
    name, _, revision = model.partition("@")
    options = {"revision": revision} if revision else {}
    try:
        # All files of one revision share a directory, where the reader looks for the others.
        path = Path(hf_hub_download(name, "tokenizer.json", **options))
        for other in _HUB_FILES:
            with contextlib.suppress(EntryNotFoundError):
                hf_hub_download(name, other, **options)
    except LocalEntryNotFoundError as error:
        where = "is not in the local cache and the Hugging Face hub is out of reach"
        hint = "go online, or give the path of a tokenizer.json"
        raise InputError(f"model {model!r} {where}", hint) from error
    except EntryNotFoundError as error:
        raise InputError(f"model {model!r} has no tokenizer.json") from error
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"model {model!r} cannot be fetched: {reason}") from error
    return _read_json(path, model, eos)


def _read_json(path: Path, name: str, eos: str | None) -> Vocabulary:
    """The vocabulary of a ``tokenizer.json``; its neighbours are consulted for the end."""
    table = _table(_json(path), str(path))
    eos_ids = _eos_of_neighbours(path, table) if eos is None else [table.find(eos, str(path))]
    return table.vocabulary(name, str(path), eos_ids)


def vocabulary_of_tokenizer(
    content: Mapping[str, Any], name: str, eos_ids: Sequence[int]
) -> Vocabulary:
    """The vocabulary of a parsed ``tokenizer.json``, with the ends that are given."""
    return _table(content, name).vocabulary(name, name, eos_ids)


def _table(content: Mapping[str, Any], where: str) -> TokenTable:
    try:
        return _tokenizer_table(content)
    except ValueError as error:
        hint = "byte-level BPE and SentencePiece-style BPE or Unigram tokenizers can be used"
        raise InputError(f"{where} cannot be used: {error}", hint) from error
    except (LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{where} is not a Hugging Face tokenizer.json: {error!r}") from error


def _tokenizer_table(tokenizer: Mapping[str, Any]) -> TokenTable:
    model = tokenizer["model"]
    vocab = _model_vocab(model)
    to_bytes = _bytes_of_token(tokenizer)
    table = TokenTable({token: to_bytes(text) for text, token in vocab.items()})
    if len(table.ordinary) != len(vocab):
        raise ValueError("two tokens have the same id")
    unknown = model.get("unk_token")
    if unknown in vocab:
        table.special[vocab[unknown]] = unknown.encode()
    if model.get("unk_id") is not None:
        table.special[model["unk_id"]] = model["vocab"][model["unk_id"]][0].encode()
    for added in tokenizer.get("added_tokens") or []:
        token, text = added["id"], added["content"]
        table.ordinary.pop(token, None)
        if added.get("special") or _MARKER.fullmatch(text):
            table.special[token] = text.encode()
        else:
            table.ordinary[token] = to_bytes(text)
    for token in table.special:
        table.ordinary.pop(token, None)
    table.pattern = _rank_pattern(tokenizer, vocab, table)
    return table


_MARKER = re.compile(r"</?[^<>\s]+>")
"""Added tokens of this form are control tokens whatever their flag says: ``<tool_call>``."""


def _model_vocab(model: Mapping[str, Any]) -> dict[str, int]:
    """Token texts to ids, of the model types whose tokens are pieces of the text itself."""
    vocab = model["vocab"]
    kind = model.get("type") or ("Unigram" if isinstance(vocab, list) else "BPE")
    if kind == "Unigram":
        return {piece: token for token, (piece, _score) in enumerate(vocab)}
    affix = model.get("end_of_word_suffix") or model.get("continuing_subword_prefix")
    if kind == "BPE" and not affix:
        return dict(vocab)
    what = f"{kind} with {affix!r}" if affix else kind
    raise ValueError(f"the tokens of a {what} model do not spell out the text")


def _parts(node: Mapping[str, Any] | None, children: str) -> list[Mapping[str, Any]]:
    """The steps of a decoder or pre-tokeniser, sequences flattened."""
    if node is None:
        return []
    if node["type"] == "Sequence":
        return [part for child in node[children] for part in _parts(child, children)]
    return [node]


def _bytes_of_token(tokenizer: Mapping[str, Any]) -> Callable[[str], bytes]:
    """How a token's text in the file becomes the bytes that it stands for.

    As the decoders of ``tokenizers`` define it, but for what they do at a whole text's beginning.
    """
    decoders = _parts(tokenizer.get("decoder"), "decoders")
    splitters = _parts(tokenizer.get("pre_tokenizer"), "pretokenizers")
    kinds = {part["type"] for part in decoders}
    if "ByteLevel" in kinds or (not kinds and any(p["type"] == "ByteLevel" for p in splitters)):
        return _byte_level
    strange = kinds - {"Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"}
    replaced = [pair for part in decoders for pair in _replacements(part)]
    fallback = bool(tokenizer["model"].get("byte_fallback")) or "ByteFallback" in kinds
    if strange or not (replaced or fallback):
        found = ", ".join(sorted(strange or kinds)) or "none"
        raise ValueError(f"its decoder ({found}) does not tell which bytes a token stands for")

    def to_bytes(text: str) -> bytes:
        if fallback and _BYTE.fullmatch(text):
            return bytes([int(text[3:5], 16)])
        for old, new in replaced:
            text = text.replace(old, new)
        return text.encode()

    return to_bytes


_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")


def _replacements(decoder: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if decoder["type"] == "Metaspace":
        yield decoder.get("replacement", "▁"), " "
    elif decoder["type"] == "Replace":
        if "String" not in decoder["pattern"]:
            raise ValueError("a decoder replaces by a regular expression")
        yield decoder["pattern"]["String"], decoder["content"]


_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_ALPHABET = {chr(value): value for value in _PRINTABLE} | {
    chr(0x100 + index): value
    for index, value in enumerate(value for value in range(256) if value not in _PRINTABLE)
}
"""The characters that stand for bytes in byte-level BPE, after ``bytes_to_unicode`` of GPT-2's
encoder.py: printable Latin-1 for itself, the other bytes, ascending, characters from U+0100."""


def _byte_level(text: str) -> bytes:
    # A token with any character outside the alphabet is plain text, as in the library.
    try:
        return bytes([_ALPHABET[character] for character in text])
    except KeyError:
        return text.encode()


_GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What a ``ByteLevel`` pre-tokeniser with ``use_regex`` splits by (GPT-2's encoder.py)."""


def _rank_pattern(
    tokenizer: Mapping[str, Any], vocab: Mapping[str, int], table: TokenTable
) -> str | None:
    """The pre-tokeniser's pattern where BPE by ids gives what the tokenizer gives, else None.

    The pre-tokeniser is ``ByteLevel`` with its own expression, or one ``Split`` before a
    ``ByteLevel`` without; no space is put before the text; the merges are in the order of the ids
    they make. A text in Unicode's normal form C is meant.
    """
    *before, last = _parts(tokenizer.get("pre_tokenizer"), "pretokenizers") or [{"type": None}]
    if last["type"] != "ByteLevel" or last.get("add_prefix_space"):
        return None
    if (tokenizer.get("normalizer") or {"type": "NFC"})["type"] != "NFC":
        return None  # what is encoded is another text
    if not _ids_are_ranks(vocab, tokenizer["model"], table.ordinary.keys()):
        return None
    if not before:
        return _GPT2_PATTERN if last.get("use_regex", True) else None
    if len(before) > 1 or before[0]["type"] != "Split" or last.get("use_regex", True):
        return None
    split = before[0]
    pattern: str | None = split["pattern"].get("Regex")
    whole = {("Isolated", False), ("Removed", True)}
    return pattern if (split["behavior"], bool(split.get("invert"))) in whole else None


def _ids_are_ranks(
    vocab: Mapping[str, int], model: Mapping[str, Any], ordinary: AbstractSet[int]
) -> bool:
    """Whether the ids put the merges in their order, and all ordinary ids come of merges."""
    merges = model.get("merges") or []
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in merges)
    merged = [vocab.get("".join(pair), -1) for pair in pairs]
    single = [vocab.get(character, MAX_SIZE) for character in _ALPHABET]
    if any(a > b for a, b in pairwise([max(single), *merged])):
        return False
    # With this option a whole piece of text that is a token needs no merges, as in tiktoken.
    if model.get("ignore_merges"):
        return ordinary <= set(vocab.values())
    return ordinary == {*single, *merged}


def _eos_of_neighbours(path: Path, table: TokenTable) -> list[int]:
    """The end-of-sequence ids that the first neighbour of tokenizer.json to name any names."""
    for file in _HUB_FILES:
        neighbour = path.with_name(file)
        if not neighbour.exists():
            continue
        content = _json(neighbour)
        named = content.get("eos_token") or content.get("eos_token_id")
        if isinstance(named, dict):
            named = named.get("content")
        if named is not None:
            several = named if isinstance(named, list) else [named]
            return [table.find(str(each), str(neighbour)) for each in several]
    hint = "name it: a token such as '<|im_end|>', or an id"
    raise UsageError(f"nothing beside {path} names an end-of-sequence token", hint)


def _read_tiktoken(data: bytes, path: Path, name: str, eos: str | None) -> Vocabulary:
    """A tiktoken rank file with the end of sequence, which such files lack, set after it.

    A text as `eos` names the id after the last rank; an id says where it is.
    """
    table = tiktoken_table(data, str(path))
    after, text = max(table.ordinary) + 1, eos or "<|endoftext|>"
    if eos is not None and eos.isdecimal():
        after, text = int(eos), "<|endoftext|>"
        if after in table.ordinary:
            raise UsageError(f"id {eos} of {path} is an ordinary token", "eos must not be one")
    table.special[after] = text.encode()
    return table.vocabulary(name, str(path), [after])


def _chosen_eos(vocabulary: Vocabulary, eos: str | None) -> Vocabulary:
    """The same vocabulary, ended by `eos` where that is given."""
    if eos is None:
        return vocabulary
    names = vocabulary.special.nonzero()[0].tolist()
    special = {token: vocabulary.tokens[token] for token in names}
    table = TokenTable(vocabulary.ordinary, special, vocabulary.pattern)
    ends = [table.find(eos, vocabulary.name)]
    return table.vocabulary(vocabulary.name, vocabulary.name, ends)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_file(path, regular=True))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} does not hold a JSON object")
    return content
