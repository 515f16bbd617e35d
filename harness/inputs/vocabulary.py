"""The vocabulary that all engines share: id to bytes, the special ids, the end of sequence.

Engine hosts import this module under interpreters of their own, so it needs nothing but numpy.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import InputError
from harness.protocol import Mask

_MAGIC = b"maskcourt vocabulary 1\n"
_LEAD = 5
_WINDOWS, _PARTS = 1 << 16, 1 << 9
"""Beginnings of texts whose first token, and first tokens, are remembered: many go on alike."""
_PART = 512
_FILE_MAGIC = b"maskcourt vocabulary file 2\n"
_BLANK_OUTSIDE = re.compile(rb'[^"]*[ \t\n\r]')
_KINDS = re.sub(
    rb"(?s)([a-z])|([A-Z])|([0-9])|([\x80-\xff])|[!#-+./;-@^-`|~]",
    lambda one: (b".", b"a", b"A", b"0", b"\x80")[one.lastindex or 0],
    bytes(range(256)),
)
"""For each byte one that stands for all of its kind; what means something in JSON is itself."""
_BLANK_OR_ESCAPE = re.compile(rb'[^"\\]*(?:\\[u/]|"[^"]*[ \t\n\r])')


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Token bytes by id, compactly, with what is special about some ids.

    A *special* id is never ordinary text; its bytes are only its name, such as ``<|im_end|>``,
    and are empty where the id is a hole. An *ordinary* id has at least one byte. Every
    end-of-sequence id is special. Two ids may have the same bytes. A ValueError where the parts do
    not fit together, or break one of these rules. The arrays become read-only.
    """

    name: str
    blob: bytes = field(repr=False)
    """The bytes of all tokens, one after another."""
    offsets: npt.NDArray[np.int64] = field(repr=False)
    """Shape ``(size + 1,)``: token ``i`` is ``blob[offsets[i]:offsets[i + 1]]``."""
    special: npt.NDArray[np.bool_] = field(repr=False)
    """Shape ``(size,)``: which ids are special."""
    eos_ids: tuple[int, ...]
    """The ids that end generation, at least one; the first is the usual one."""
    pattern: str | None = field(default=None, repr=False)
    """The pre-tokeniser's regular expression if ordinary ids are byte-level BPE ranks, or None."""

    def __post_init__(self) -> None:
        for array in (self.offsets, self.special):
            array.flags.writeable = False
        _check(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # What is cached is large and quickly made again: it does not travel between processes.
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @classmethod
    def from_tokens(
        cls,
        name: str,
        tokens: Sequence[bytes],
        special_ids: Iterable[int],
        eos_ids: Iterable[int],
        pattern: str | None = None,
    ) -> Vocabulary:
        """A vocabulary in which id ``i`` is ``tokens[i]``; the `eos_ids` are special as well."""
        eos = tuple(dict.fromkeys(eos_ids))
        special = np.zeros(len(tokens), dtype=np.bool_)
        for token in (*special_ids, *eos):
            if not 0 <= token < len(tokens):
                raise ValueError(f"id {token} is outside 0..{len(tokens) - 1}")
            special[token] = True
        offsets = np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, len(tokens) + 1)
        return cls(name, b"".join(tokens), offsets, special, eos, pattern)

    @property
    def size(self) -> int:
        """How many ids there are, special ones included."""
        return len(self.special)

    @property
    def words(self) -> int:
        """How many unsigned 32-bit words a mask has."""
        return (self.size + 31) // 32

    @property
    def eos(self) -> int:
        """The usual end-of-sequence id."""
        return self.eos_ids[0]

    @cached_property
    def respelling(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The tokens whose bytes another spelling of JSON could leave out, shape ``(size,)`` each.

        White space outside strings; that after a string's end, or escapes by number or of a slash.
        """
        outside = [_BLANK_OUTSIDE.match(one) is not None for one in self.tokens]
        inside = [_BLANK_OR_ESCAPE.match(one) is not None for one in self.tokens]
        return np.array(outside), np.array(inside)

    @cached_property
    def shapes(self) -> npt.NDArray[np.int32]:
        """A number that the tokens share which look alike, shape ``(size,)``.

        They begin and end with characters of a kind; all or none have a quote, and a backslash.
        """
        numbers: dict[tuple[bytes, bytes, bool, bool], int] = {}
        kinds = (one.translate(_KINDS) for one in self.tokens)
        shapes = ((one[:1], one[-1:], b'"' in one, b"\\" in one) for one in kinds)
        return np.array([numbers.setdefault(one, len(numbers)) for one in shapes], dtype=np.int32)

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of every id, by id. Do not change the list."""
        ends = self.offsets.tolist()
        return [self.blob[a:b] for a, b in pairwise(ends)]

    @cached_property
    def ordinary(self) -> dict[int, bytes]:
        """The bytes of every ordinary id, by id. Do not change the mapping."""
        names = self.special.tolist()
        return {id_: text for id_, text in enumerate(self.tokens) if not names[id_]}

    @cached_property
    def byte_ids(self) -> tuple[int, ...]:
        """The lowest ordinary id of every single byte, 256 of them; -1 for a byte without one."""
        ids = [-1] * 256
        single = np.flatnonzero((np.diff(self.offsets) == 1) & ~self.special)
        for token in single[::-1].tolist():
            ids[self.tokens[token][0]] = token
        return tuple(ids)

    def text(self, tokens: Iterable[int]) -> bytes:
        """What tokens spell, without ends of sequence."""
        return b"".join(self.tokens[one] for one in tokens if one not in self.eos_ids)

    def spelled(self, token: int) -> Sequence[int]:
        """A token byte by byte, as ids of single bytes, up to a byte that has none."""
        ids = [self.byte_ids[byte] for byte in self.tokens[token]]
        return ids[: ids.index(-1)] if -1 in ids else ids

    def apart(self, tokens: Sequence[int], at: int) -> tuple[int, ...]:
        """`tokens`, but from `at` to the last byte by byte; none where there is one byte alone."""
        rest = tokens[at:-1]
        apart = (*tokens[:at], *chain.from_iterable(map(self.spelled, rest)), tokens[-1])
        return apart if rest and len(self.tokens[rest[0]]) > 1 else ()

    @cached_property
    def sha256(self) -> str:
        """Identity in hexadecimal: equal exactly where all but the name is equal.

        Of the line ``maskcourt vocabulary 1``, `size`, each token's length, each id's special flag
        (one byte), the token bytes, the number of `eos_ids`, the `eos_ids`, the length of the
        pattern in bytes plus one (0: none), the pattern. Numbers are 64 bits, little-endian.
        """
        pattern = b"" if self.pattern is None else self.pattern.encode()
        digest = hashlib.sha256(_MAGIC)
        digest.update(_numbers([self.size]))
        digest.update(np.diff(self.offsets).astype("<u8").tobytes())
        digest.update(self.special.astype(np.uint8).tobytes())
        digest.update(self.blob)
        digest.update(_numbers([len(self.eos_ids), *self.eos_ids]))
        digest.update(_numbers([0 if self.pattern is None else len(pattern) + 1]))
        digest.update(pattern)
        return digest.hexdigest()

    @cached_property
    def ordinary_mask(self) -> Mask:
        """Read-only, shape ``(words,)``: the bits of all ids that are not special."""
        return packed_mask(~self.special)

    @cached_property
    def special_mask(self) -> Mask:
        """Read-only, shape ``(words,)``: the bits of all special ids, end of sequence included."""
        return packed_mask(self.special)

    @cached_property
    def eos_mask(self) -> Mask:
        """Read-only, shape ``(words,)``: the bits of the end-of-sequence ids."""
        bits = np.zeros(self.size, dtype=np.bool_)
        bits[list(self.eos_ids)] = True
        return packed_mask(bits)

    @cached_property
    def _ids(self) -> tuple[dict[bytes, tuple[int, ...]], dict[bytes, int]]:
        """The ordinary ids of some bytes, ascending; the longest token with some first bytes."""
        ids: dict[bytes, tuple[int, ...]] = {}
        longest: dict[bytes, int] = {}
        for token, text in self.ordinary.items():
            ids[text] = (*ids.get(text, ()), token)
            longest[text[:_LEAD]] = max(longest.get(text[:_LEAD], 0), len(text))
        return ids, longest

    def _ends(self, text: bytes, at: int) -> range:
        """Where a token that begins at a byte of `text` may end."""
        most = self._ids[1].get(text[at : at + _LEAD], _LEAD)
        return range(at + 1, min(at + max(most, _LEAD), len(text)) + 1)

    def ids_of(self, text: bytes) -> tuple[int, ...]:
        """The ordinary ids whose bytes are exactly `text`, ascending."""
        return self._ids[0].get(text, ())

    def starts(self, text: bytes, at: int = 0) -> list[int]:
        """The ordinary ids whose bytes ``text[at:]`` begins with: shorter first, then by id."""
        if at < 0:
            raise ValueError(f"position {at} is negative")
        ids = self._ids[0]
        return [token for end in self._ends(text, at) for token in ids.get(text[at:end], ())]

    def encode_greedy(self, text: bytes) -> list[int]:
        """The ids of `text`, each the longest ordinary token that fits, lowest id among equals.

        This is not the model's own tokenisation. A ValueError where a byte fits no token.
        """
        out: list[int] = []
        at = 0
        while at < len(text):
            tokens, size = self._greedy_part(text[at:])
            if not size:
                raise ValueError(
                    f"no token of vocabulary {self.name!r} fits byte 0x{text[at]:02x} "
                    f"at position {at} of {len(text)}"
                )
            out += tokens
            at += size
        return out

    @cached_property
    def _greedy_part(self) -> Callable[[bytes], tuple[list[int], int]]:
        """The first tokens of a text, until what is left has fewer times `_PART` bytes.

        And how many bytes they have. So texts that end alike share most of what is remembered.
        """
        tokens, longest, first = self.tokens, self._ids[1], self._first_token

        def part(text: bytes) -> tuple[list[int], int]:
            out: list[int] = []
            at, stop = 0, len(text) - (len(text) - 1) // _PART * _PART
            while at < stop:
                most = longest.get(text[at : at + _LEAD], _LEAD)
                token = first(text[at : at + max(most, _LEAD)])
                if token is None:
                    break
                out.append(token)
                at += len(tokens[token])
            return out, at

        return lru_cache(_PARTS)(part)

    @cached_property
    def _first_token(self) -> Callable[[bytes], int | None]:
        """The longest ordinary token that some bytes begin with, lowest id among equals."""
        ids = self._ids[0]

        def first(text: bytes) -> int | None:
            found = (ids[text[:end]][0] for end in range(len(text), 0, -1) if text[:end] in ids)
            return next(found, None)

        return lru_cache(_WINDOWS)(first)

    def saved(self) -> bytes:
        """The content of a file that `load` reads."""
        head = json.dumps([self.name, list(self.eos_ids), self.pattern]).encode()
        body = io.BytesIO()
        for array in (
            np.frombuffer(head, dtype=np.uint8),
            np.diff(self.offsets).astype("<u4"),
            self.special,
            np.frombuffer(self.blob, dtype=np.uint8),
        ):
            np.save(body, array)
        data = _FILE_MAGIC + body.getvalue()
        return data + hashlib.sha256(data).digest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads, whole or not at all; one called ``.xz`` is packed."""
        path = Path(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            data = self.saved()
            if path.suffix == ".xz":
                import lzma  # some interpreters of hosts have none

                data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """The vocabulary that `save` wrote."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"vocabulary file {path} cannot be read: {error.strerror}") from error
        if Path(path).suffix == ".xz":
            data = _unpacked(data, path)
        if not is_saved(data):
            raise InputError(f"{path} is not a vocabulary file that maskcourt saved")
        body = data[: -hashlib.sha256().digest_size]
        if hashlib.sha256(body).digest() != data[len(body) :]:
            raise InputError(f"vocabulary file {path} is cut short or damaged", "write it anew")
        arrays = io.BytesIO(body[len(_FILE_MAGIC) :])
        head, lengths, special, blob = (np.load(arrays, allow_pickle=False) for _ in range(4))
        name, eos_ids, pattern = json.loads(head.tobytes())
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(name, blob.tobytes(), offsets, special, tuple(eos_ids), pattern)


def _unpacked(data: bytes, path: str | os.PathLike[str]) -> bytes:
    import lzma

    try:
        return lzma.decompress(data)
    except lzma.LZMAError as error:
        raise InputError(f"vocabulary file {path} cannot be read: {error}") from error


def is_saved(data: bytes) -> bool:
    """Whether a file that begins with `data` is one that `Vocabulary.save` wrote."""
    return data.startswith(_FILE_MAGIC)


def alike(one: Sequence[object], other: Sequence[object]) -> int:
    """How many bytes or characters two tokens or texts begin with alike."""
    differ = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def byte_vocabulary(
    extra: Sequence[bytes] = (), specials: Sequence[bytes] = (), name: str = "bytes"
) -> Vocabulary:
    """For trials: id ``b`` is byte ``b``, 256 ``<eos>``; then `extra` tokens, then `specials`."""
    tokens = [bytes([value]) for value in range(256)] + [b"<eos>", *extra, *specials]
    special_ids = range(len(tokens) - len(specials), len(tokens))
    return Vocabulary.from_tokens(name, tokens, special_ids, [256])


def _check(vocabulary: Vocabulary) -> None:
    """Raise ValueError where a rule of `Vocabulary` is broken."""
    offsets, special = vocabulary.offsets, vocabulary.special
    if special.dtype != np.bool_ or special.ndim != 1 or offsets.dtype != np.int64:
        raise ValueError("special must be a one-dimensional bool array, offsets an int64 array")
    if offsets.shape != (len(special) + 1,):
        raise ValueError(f"{len(special)} special flags do not fit offsets {offsets.shape}")
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != len(vocabulary.blob) or (lengths < 0).any():
        raise ValueError("offsets do not ascend from 0 to the length of the bytes")
    empty = np.flatnonzero((lengths == 0) & ~special)
    if len(empty):
        raise ValueError(f"id {empty[0]} is ordinary but has no bytes")
    if not vocabulary.eos_ids:
        raise ValueError("there is no end-of-sequence id")
    for token in vocabulary.eos_ids:
        if not 0 <= token < len(special):
            raise ValueError(f"end-of-sequence id {token} is outside 0..{len(special) - 1}")
        if not special[token]:
            raise ValueError(f"end-of-sequence id {token} is not special")


def packed_mask(bits: npt.NDArray[np.bool_]) -> Mask:
    """The `bits`, shape ``(size,)``, as a read-only mask."""
    padded = np.zeros((len(bits) + 31) // 32 * 32, dtype=np.bool_)
    padded[: len(bits)] = bits
    words: Mask = np.packbits(padded, bitorder="little").view(np.uint32)
    words.flags.writeable = False
    return words


def _numbers(values: Sequence[int]) -> bytes:
    return np.array(values, dtype="<u8").tobytes()
