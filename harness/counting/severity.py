"""Severity: how likely a generating model is to meet an error.

``on_path``
    The engine forbids the token that the tokenizer itself puts next in a valid text. Whatever
    writes that text in the usual way is stopped.
``common``
    The token is among the first fifth of the vocabulary, or ends generation. Ids of a byte-level
    BPE vocabulary are ranks: the more frequent a pair was in the tokenizer's training text, the
    earlier it was merged (Sennrich, Haddow and Birch, ACL 2016, section 3.2). In a vocabulary of
    150,000 these are about the 30,000 that a vocabulary of the earlier, smaller kind would have.
    The first 256 ids are no merges but single bytes in an order of their own (``bytes_to_unicode``
    in ``encoder.py`` of https://github.com/openai/gpt-2): of these only printable ASCII, the space,
    the tab and the two ends of lines are common, and no control character or part of a character.
    In a vocabulary of another order common and rare mean little. In one of nothing but the bytes
    the same bytes are common.
``rare``
    Any other token. Special tokens come last in such vocabularies, so that these are rare too.
``unranked``
    The run does not say how large its vocabulary is, or no token is at fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SEVERITIES = ("on_path", "common", "rare", "unranked")
IN_WORDS: Final[Mapping[str, str]] = {
    "on_path": "on path",
    "common": "common",
    "rare": "rare",
    "unranked": "whole texts",
}
"""As lines and tables of bugs name them; without a rank are above all texts that somebody wrote."""
IN_FULL: Final[Mapping[str, str]] = {
    "on_path": "where a valid text is usually written so",
    "common": "at common tokens",
    "rare": "at rare tokens alone",
    "unranked": "in whole texts",
}
"""As sentences name them."""
COMMON_SHARE = 5
"""One in so many tokens is common."""

_BYTES = 256
_WRITTEN = (*range(ord("~") - ord("!") + 1), 197, 198, 201, 220)
"""Ids of the bytes ``!`` to ``~``, of tab, line feed, carriage return and space."""
_WRITTEN_BYTES = (*range(ord(" "), ord("~") + 1), *b"\t\n\r")
"""The same bytes."""

_ON_PATH, _COMMON, _RARE, _UNRANKED = range(len(SEVERITIES))


def severities(
    tokens: npt.NDArray[Any],
    on_path: npt.NDArray[np.bool_],
    ends: npt.NDArray[np.bool_],
    size: int | None,
) -> npt.NDArray[np.int8]:
    """How severe each verdict is, as indices into `SEVERITIES`, shape ``(n,)``.

    Args:
        tokens: The token at fault, negative for none, shape ``(n,)``.
        on_path: Whether it is the canonical next token and forbidden, shape ``(n,)``.
        ends: Whether it ends generation, shape ``(n,)``.
        size: How many ids the vocabulary has, None if that is not known.
    """
    if size is None:
        found = np.full(len(tokens), _UNRANKED, dtype=np.int8)
    else:
        bytes_alone = size == _BYTES + 1
        first_rare = _BYTES if bytes_alone else -(-size // COMMON_SHARE)
        written = _WRITTEN_BYTES if bytes_alone else _WRITTEN
        unwritten = (tokens < _BYTES) & ~np.isin(tokens, written)
        found = np.where((tokens < first_rare) & ~unwritten, _COMMON, _RARE).astype(np.int8)
    found[ends] = _COMMON
    found[tokens < 0] = _UNRANKED
    found[on_path] = _ON_PATH
    return found
