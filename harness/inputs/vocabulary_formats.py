"""Files of tokens beside Hugging Face's: rank files, SentencePiece models, Tekken, quicktok.

Sources: `load.py` of tiktoken; `sentencepiece_model.proto` and `model_interface.cc` of
SentencePiece (fields, types of pieces, ``<0xNN>``, U+2581 for a space); `tekken.py` of
mistral-common 1.13.1 (ids behind the special ones, those that older files leave out);
`_import_core.py` of quicktok 0.4.0.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import InputError
from harness.inputs.vocabulary_table import TokenTable


def tiktoken_ranks(data: bytes, where: str) -> dict[int, bytes]:
    """Tokens by rank, of a rank file: lines of a token in Base64, a space, and its rank.

    Raises:
        InputError: A line of another form, a rank that comes twice, or no line at all.
    """
    ranks: dict[int, bytes] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            token, key = base64.b64decode(text, validate=True), int(rank)
        except (ValueError, binascii.Error) as error:
            raise InputError(
                f"line {number} of {where} is not a token in Base64 and its rank",
                "a vocabulary file is a tokenizer.json, a tekken.json, a SentencePiece model or a "
                "tiktoken rank file",
            ) from error
        if key in ranks:
            raise InputError(f"line {number} of {where} gives rank {key} again")
        ranks[key] = token
    if not ranks:
        raise InputError(f"{where} is empty")
    return ranks


# ------------------------------------------------------------------------------- SentencePiece

_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6
"""Types of pieces that stand for text; unknown (2), control (3) and unused (5) ones do not."""
_PIECES, _TRAINER, _NORMALIZER, _ESCAPES_SPACES, _EOS_ID = 1, 2, 3, 5, 42
"""Numbers of fields."""


def is_sentencepiece(data: bytes) -> bool:
    """Whether a file that begins with `data` is a SentencePiece model: a piece, its text first."""
    return data[:1] == data[2:3] == b"\n"


def sentencepiece_tokens(data: bytes) -> tuple[TokenTable, list[int]]:
    """The tokens of a SentencePiece model, and the id that ends a sequence, if it says which.

    ``<0x41>`` and ``A`` have the same bytes and stay two ids. What a decoder does at the beginning
    of a text alone, leave out its first space, is not done.

    Raises:
        ValueError: It is no such model; so do IndexError and KeyError say.
    """
    fields = list(_fields(data))
    trainer, normalizer = (_last(fields, number) for number in (_TRAINER, _NORMALIZER))
    space = " " if normalizer.get(_ESCAPES_SPACES, 1) else "▁"
    table = TokenTable()
    pieces = (dict(_fields(value)) for number, value in fields if number == _PIECES)
    for token, piece in enumerate(pieces):
        text, kind = piece[1].decode(), piece.get(3, _NORMAL)
        if kind == _BYTE:
            table.ordinary[token] = bytes([int(text[3:5], 16)])
        elif kind in (_NORMAL, _USER_DEFINED):
            table.ordinary[token] = text.replace("▁", space).encode()
        else:
            table.special[token] = text.encode()
    eos = trainer.get(_EOS_ID, 2)
    return table, [eos] if eos in table.special else []


def _last(fields: list[tuple[int, Any]], wanted: int) -> dict[int, Any]:
    return dict(_fields(next((value for number, value in fields[::-1] if number == wanted), b"")))


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer: numbers as whole numbers, all else as bytes."""
    at = 0

    def number() -> int:
        nonlocal at
        found = shift = 0
        while True:
            byte = message[at]
            found |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return found

    while at < len(message):
        key = number()
        kind = key & 7
        if kind == 0:
            yield key >> 3, number()
            continue
        length = {1: 8, 5: 4}[kind] if kind != 2 else number()
        if at + length > len(message):
            raise ValueError("it is cut short")
        yield key >> 3, message[at : at + length]
        at += length


# -------------------------------------------------------------------------------------- Tekken


def is_tekken(content: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a ``tekken.json``."""
    return isinstance(content.get("config"), dict) and "default_vocab_size" in content["config"]


def tekken_tokens(content: Mapping[str, Any]) -> tuple[TokenTable, list[int]]:
    """The tokens of a ``tekken.json``, and the id of ``</s>``.

    The special ids come first; those without a name are padding. What has a rank beyond the size of
    the model's vocabulary is no part of it.

    Raises:
        LookupError: Something is missing.
    """
    config = content["config"]
    specials = config["default_num_special_tokens"]
    names = ["<unk>", "<s>", "</s>"]  # of files that list none
    listed = content.get("special_tokens") or [
        {"rank": rank, "token_str": name} for rank, name in enumerate(names)
    ]
    table = TokenTable(pattern=config["pattern"])
    table.special = {token: f"<SPECIAL_{token}>".encode() for token in range(specials)}
    table.special |= {one["rank"]: one["token_str"].encode() for one in listed}
    table.ordinary = {
        specials + one["rank"]: base64.b64decode(one["token_bytes"], validate=True)
        for one in content["vocab"]
        if one["rank"] < config["default_vocab_size"] - specials
    }
    return table, [token for token, name in table.special.items() if name == b"</s>"]


# ------------------------------------------------------------------------------------- quicktok


def quicktok_tokens(ordinary: bytes, special: bytes) -> TokenTable:
    """The tokens of the two files of an encoding of quicktok, ``.vocab`` and ``.special``.

    Raises:
        ValueError: One is cut short, or longer than it says.
    """
    return TokenTable(
        dict(_records(ordinary, id_first=False)), dict(_records(special, id_first=True))
    )


def _records(data: bytes, *, id_first: bool) -> Iterator[tuple[int, bytes]]:
    """A count, then so many ids and texts with their lengths; all numbers are little-endian."""
    try:
        (count,) = struct.unpack_from("<I", data)
        at = 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", data, at + 4 * id_first)
            (token,) = struct.unpack_from("<I", data, at if id_first else at + 2 + length)
            begin = at + 2 + 4 * id_first
            yield token, data[begin : begin + length]
            at += 6 + length
    except struct.error as error:
        raise ValueError(f"it is cut short: {error}") from error
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes come behind its tokens")
