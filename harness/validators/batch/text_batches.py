"""Where texts that differ in one token differ as JSON: each cut around the literal it is part of.

Every text is a prefix, a token and one of a few suffixes. It is cut in three: what is before a
*literal*, the literal, and what is behind. The literal is a whole string, from the quote that
opens it to the first one that closes it, or all the bytes in a row that numbers are made of. So
the cuts are where every reader of JSON cuts, and the grammar (RFC 8259, section 2) asks of what is
around a literal only that it is a string, or a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.jsontext import strict_json
from harness.jsontext.strict_json import keeps_numbers
from harness.workers import wire

NOT_JSON, LONE_SURROGATE, DUPLICATE_KEYS, NUMBER_OVERFLOW, NUMBER_LOST = range(5)
"""Why a text, or a literal, is not validated; of several faults the first of these is told."""

FAULTS: Final[dict[type[strict_json.JsonError], int]] = {
    strict_json.JsonError: NOT_JSON,
    strict_json.LoneSurrogate: LONE_SURROGATE,
    strict_json.DuplicateKeys: DUPLICATE_KEYS,
    strict_json.NumberOverflow: NUMBER_OVERFLOW,
}

_NUMERIC: Final = b"+-.0123456789Ee"
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_CONTROL: Final = re.compile(rb"[\x00-\x1f]")
_BLANK: Final = b" \t\n\r"
_BEHIND_STRINGS: Final = (b"", b",", b":", b"}", b"]")
"""All that may follow a string (RFC 8259, sections 2 to 5); b"" is the end of the text."""

_SPECIAL: Final = np.array([byte < 0x20 or byte in b'"\\' for byte in range(256)])
"""Bytes that do not stand for themselves in a string (RFC 8259, section 7)."""


class LiteralPlace(NamedTuple):
    """Where texts differ: what is before the literal, what is behind it, and what it is."""

    before: bytes
    behind: bytes
    kind: Literal["string", "number"]


@dataclass
class Group:
    """The texts that differ in one place.

    Attributes:
        at: Those whose literal is read, by their index.
        values: What they have there.
        faulty: The others, by their index, each with the fault of its literal.
    """

    at: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    faulty: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.at) + len(self.faulty)

    def add(self, index: int, literal: bytes) -> None:
        """Text `index`, which has this literal."""
        value, fault = read(literal)
        if fault is None:
            self.at.append(index)
            self.values.append(value)
        else:
            self.faulty.append((index, fault))


class Groups(dict[LiteralPlace, Group]):
    """Groups by their place, made as they are needed.

    Attributes:
        broken: Texts that are no JSON, whatever else is in them, by their index.
    """

    def __init__(self) -> None:
        super().__init__()
        self.broken: list[int] = []

    def __missing__(self, place: LiteralPlace) -> Group:
        made = self[place] = Group()
        return made


def read(literal: bytes) -> tuple[Any, int | None]:
    """The value of a string or a number, and what is wrong with it as a part of a text.

    As a part of a text: where that is read by another one's value, a number that is not kept is
    found here.
    """
    if literal[:1] == b'"' and _CONTROL.search(literal):
        return None, NOT_JSON
    try:
        value = strict_json.parse(literal)
    except strict_json.JsonError as error:
        return None, FAULTS[type(error)]
    lost = not isinstance(value, str) and not keeps_numbers(literal)
    return value, NUMBER_LOST if lost else None


def cut(
    prefix: bytes, middles: wire.Ragged, suffixes: Sequence[bytes], which: npt.NDArray[np.int32]
) -> Groups:
    """The texts ``prefix + middles[i] + suffixes[which[i]]``, by the place in which they differ.

    Texts that are in no group have no such literal: nothing closes the string, or the token is not
    in a string or a number and begins none.
    """
    groups = Groups()
    strings = middles.strings()
    opened = strict_json.open_string(prefix)
    plain = _plain(middles, strings) if opened is not None else []
    for number, suffix in enumerate(suffixes):
        chosen = np.flatnonzero(which == number).tolist()
        if opened is None:
            for index in chosen:
                _cut_outside(groups, index, prefix, strings[index], suffix)
            continue
        head, before = prefix[opened:], prefix[:opened]
        frame = _frame(head, suffix)
        if frame is not None:
            left, right, behind = frame
            easy = [index for index in chosen if plain[index] is not None]
            if easy:
                group = groups[LiteralPlace(before, behind, "string")]
                group.at += easy
                group.values += [f"{left}{plain[index]}{right}" for index in easy]
            chosen = [index for index in chosen if plain[index] is None]
        for index in chosen:
            _cut_string(groups, index, before, head + strings[index] + suffix)
    return groups


def _plain(middles: wire.Ragged, strings: Sequence[bytes]) -> list[str | None]:
    """What each middle stands for inside a string; None where that takes a closer look."""
    counts = np.concatenate([[0], np.cumsum(_SPECIAL[middles.values])])[middles.offsets]
    special = (np.diff(counts) > 0).tolist()
    return [None if odd else _decoded(one) for odd, one in zip(special, strings, strict=True)]


def _decoded(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _frame(head: bytes, suffix: bytes) -> tuple[str, str, bytes] | None:
    """What stands before and behind a plain middle in its string, and behind that string.

    None where either breaks off within an escape or a character.
    """
    end = strict_json.string_end(b'"' + suffix)
    if end is None:
        return None
    left, left_fault = read(head + b'"')
    right, right_fault = read(b'"' + suffix[: end - 1])
    if left_fault is not None or right_fault is not None:
        return None
    return left, right, suffix[end - 1 :]


def _cut_string(groups: Groups, index: int, before: bytes, rest: bytes) -> None:
    """Cut a text whose literal is the string with which `rest` begins."""
    end = strict_json.string_end(rest)
    if end is None:
        return
    behind = rest[end:]
    if behind.lstrip(_BLANK)[:1] not in _BEHIND_STRINGS and _is_shallow(before, rest):
        groups.broken.append(index)
    else:
        groups[LiteralPlace(before, behind, "string")].add(index, rest[:end])


def _is_shallow(*parts: bytes) -> bool:
    """Whether there are too few brackets for a text that is nested too deep to be called JSON."""
    return sum(part.count(b"[") + part.count(b"{") for part in parts) <= strict_json.MAX_DEPTH


def _cut_outside(groups: Groups, index: int, prefix: bytes, middle: bytes, suffix: bytes) -> None:
    """Cut a text whose token does not begin inside a string."""
    quote = middle.find(b'"')
    if quote >= 0:
        _cut_string(groups, index, prefix + middle[:quote], middle[quote:] + suffix)
    elif middle and not middle.strip(_NUMERIC):
        before, behind = prefix.rstrip(_NUMERIC), suffix.lstrip(_NUMERIC)
        digits = prefix[len(before) :] + middle + suffix[: len(suffix) - len(behind)]
        if _NUMBER.fullmatch(digits):
            groups[LiteralPlace(before, behind, "number")].add(index, digits)
