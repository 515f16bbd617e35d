"""Tokens by id while a file is read, before they are a vocabulary; and the binary kinds of files.

Sources: `load.py` of tiktoken; `_import_core.py` of quicktok 0.4.0.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.errors import InputError, UsageError, nearest
from harness.inputs.vocabulary import Vocabulary

MAX_SIZE: Final = 1 << 24  # a stray id must not make a table that fills the memory


@dataclass
class TokenTable:
    """Tokens by id; ids may be missing."""

    ordinary: dict[int, bytes] = field(default_factory=dict)
    special: dict[int, bytes] = field(default_factory=dict)
    pattern: str | None = None
    """As `Vocabulary.pattern`."""

    def find(self, eos: str, where: str) -> int:
        """The id that `eos` means: a special token's text, an id, or an ordinary token's text."""
        text = eos.encode() or None  # no text names a hole
        matches = [token for token, name in self.special.items() if name == text]
        if not matches and eos.isdecimal():
            matches = [token for token in (int(eos),) if token in self.special | self.ordinary]
        elif not matches:
            matches = [token for token, name in self.ordinary.items() if name == text]
        if not matches:
            names = [name.decode("utf-8", "backslashreplace") for name in self.special.values()]
            raise UsageError(f"{where} has no token {eos!r} to end with", nearest(eos, names))
        return min(matches)

    def vocabulary(self, name: str, where: str, eos_ids: Sequence[int]) -> Vocabulary:
        """The vocabulary of this table; ids that are missing become special, without bytes.

        An ordinary id among `eos_ids` becomes special; BPE by ranks is then no longer its own.
        """
        named = self.ordinary | self.special
        if odd := [token for token in named if type(token) is not int]:
            raise InputError(f"{where} has the id {odd[0]!r}, which is no whole number")
        size = max(named) + 1
        if min(named) < 0 or size > MAX_SIZE:
            raise InputError(f"{where} has ids from {min(named)} to {size - 1}")
        tokens = [named.get(token, b"") for token in range(size)]
        special_ids = {token for token, text in enumerate(tokens) if not text} | set(self.special)
        pattern = self.pattern if self.ordinary.keys().isdisjoint(eos_ids) else None
        return Vocabulary.from_tokens(name, tokens, special_ids, eos_ids, pattern)


def tiktoken_table(data: bytes, where: str) -> TokenTable:
    """The tokens of a rank file: lines of a token in Base64, a space, and its rank."""
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
                "a vocabulary file is a tokenizer.json or a tiktoken rank file; models that come "
                "as SentencePiece or Tekken have a tokenizer.json, too",
            ) from error
        if key in ranks:
            raise InputError(f"line {number} of {where} gives rank {key} again")
        ranks[key] = token
    if not ranks:
        raise InputError(f"{where} is empty")
    return TokenTable(ranks)


def quicktok_table(ordinary: bytes, special: bytes) -> TokenTable:
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
        raise ValueError(f"{len(data) - at} bytes come after its tokens")
