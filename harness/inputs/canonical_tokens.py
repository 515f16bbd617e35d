"""The canonical tokens of a text: those that the model's own tokenizer makes of it.

A model writes these tokens unless a mask forbids one, so they show where a mask costs most.
`Vocabulary.encode_greedy` only finds some tokens that spell the text.

Its ordinary ids must be the ranks of byte-level BPE, lower ids merged first, in the pieces into
which its pattern splits a text; `Vocabulary.pattern` says so. Not looked at are a normalizer (the
NFC of Qwen2.5 changes only texts that are not in that form), a dropout, and merges that are out of
reach because merges of lower rank always come between.

Sources: ``Encoding.encode_ordinary`` of tiktoken; ``ByteLevel``, ``Split``, ``BPE`` of tokenizers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from weakref import WeakValueDictionary

import tiktoken

from harness.inputs.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Canonical:
    """The tokenizer of a vocabulary with a `pattern`, built in half a second when first asked."""

    vocabulary: Vocabulary

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Canonical | None:
        """The tokenizer of `vocabulary`, or None where its own BPE cannot be reproduced."""
        if vocabulary.pattern is None:
            return None
        try:
            _encoding(vocabulary.pattern, {b"a": 0})
        except ValueError:
            return None
        return _KNOWN.setdefault((vocabulary.sha256, vocabulary.pattern), cls(vocabulary))

    @cached_property
    def _bpe(self) -> tiktoken.Encoding:
        """BPE by id; bytes that are no token have ranks from the size of the vocabulary."""
        vocabulary = self.vocabulary
        assert vocabulary.pattern is not None
        ranks: dict[bytes, int] = {}
        for token, special in enumerate(vocabulary.special.tolist()):
            if not special:
                ranks.setdefault(vocabulary.tokens[token], token)
        # The library fails on a byte without a rank; no merge makes one, so none changes by this.
        for value in range(256):
            ranks.setdefault(bytes([value]), vocabulary.size + value)
        return _encoding(vocabulary.pattern, ranks)

    def tokens(self, text: bytes) -> tuple[int, ...] | None:
        """The ids of `text`, all ordinary; what names a special token is text like any other.

        None where `text` is not UTF-8, the pattern leaves out a part of it, a byte of it is in no
        token, or it is so long that the pattern cannot be matched (white space of a megabyte).
        """
        try:
            ids = self._bpe.encode_ordinary(text.decode())
        except UnicodeDecodeError:
            return None
        except BaseException as error:  # a panic of the library is not an Exception
            if type(error).__name__ != "PanicException":
                raise
            return None
        unknown = max(ids, default=0) >= self.vocabulary.size
        if unknown or sum(map(self._lengths.__getitem__, ids)) != len(text):
            return None
        return tuple(ids)

    def starts(self, text: bytes) -> dict[int, int]:
        """Each canonical token of the whole `text` by the offset in bytes at which it starts."""
        ids = self.tokens(text) or ()
        offsets = accumulate((self._lengths[token] for token in ids), initial=0)
        return dict(zip(offsets, ids, strict=False))

    @cached_property
    def _lengths(self) -> list[int]:
        return [len(token) for token in self.vocabulary.tokens]


def _encoding(pattern: str, ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """BPE without special tokens; a ValueError where the library does not know the pattern."""
    return tiktoken.Encoding("canonical", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


_KNOWN: WeakValueDictionary[tuple[str, str], Canonical] = WeakValueDictionary()
"""Of each vocabulary one, for all that use it."""
