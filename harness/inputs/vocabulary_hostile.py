"""A small vocabulary that is more awkward than any model's, for trials and the contract.

Two things are left out that no vocabulary with a name here has either: a NUL after other bytes,
where xgrammar 0.1.32 cuts the token, and the overlong NUL, C0 80, which llama.cpp b11549 allows in
strings and cannot accept: it ends the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.inputs.vocabulary import Vocabulary

NAME: Final = "hostile"

_BYTES: Final = [
    *(b"\n", b"\n  ", b"\n\n", b"\t\t", b"\r\n", b"  ", b"    ", b"},\n    {\n", b" " * 99),
    *(b"\xc3\xa9\xc3", b"\xe6\x97", b"\x97\xa5", b"b\xe6", b"\xa5b", b"\xf0\x9f", b"\x98\x80"),
    *(b'"\xe6', b'\xa5"', b'\xa5","', b'\x97\xa5"}', b"\xf0\x9f\x98", b'\x98\x80"'),
    *(b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xff<|end|>", b"\x00\x01", b"\x00a"),
]
"""White space; parts of characters, with structure beside them; what is never UTF-8."""

_AGAIN: Final = [
    *(b"ab", b"true", b'": "', b'{"', b'"a"', b"the", b"12", b"\xe6\x97", "é".encode(), b"\x97"),
    *(b'"', b"{", b"}", b"]", b",", b":", b"\\", b" ", b"\n", b"0", b"a"),
]
"""What has a second id, as in a SentencePiece vocabulary ``<0x41>`` beside ``A``."""

_CONTROL: Final = [b"<tool_call>", b"", b'"', b'{"a":', b"true"]
"""Special tokens amid the ordinary ones: a hole, and names that would be JSON if they were text."""

_ENDS: Final = [b"<|end|>", b"<|start|>", b"<|stop|>", b"</s>"]


def hostile_vocabulary(eos_count: int = 3) -> Vocabulary:
    """All bytes (byte ``b`` has the id ``b``), 300 longer tokens as in JSON, and awkward ids.

    Empty ids at the end fill a word of the mask and a part of the next. `eos_count` ids, 1 to 3,
    end the sequence: they are apart, and the usual one first.
    """
    tokens = [bytes([value]) for value in range(256)]
    tokens += _ENDS[:3]
    file = Path(__file__).with_suffix(".txt")  # the last lines: across structural characters
    words = file.read_text("utf-8").replace("·", " ").split("\n")
    longer = dict.fromkeys([*_BYTES, *(one.encode() for line in words for one in line.split(" "))])
    tokens += [token for token in longer if len(token) > 1]
    special = range(len(tokens), len(tokens) + len(_CONTROL))
    tokens += [*_CONTROL, *_AGAIN, _ENDS[0], _ENDS[3]]
    last = len(tokens)
    tokens += [b""] * (32 + (7 - last - 32) % 32)
    special_ids = [256, 257, 258, *special, *range(last - 1, len(tokens))]
    return Vocabulary.from_tokens(NAME, tokens, special_ids, [256, 258, last - 1][:eos_count])
