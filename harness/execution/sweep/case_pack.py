"""The cases of a sweep as few large pieces of bytes, out of which a lane reads one case at a time.

The driver makes them once, each machine gets them once, and all that is sent about a case from
then on is its ordinal.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.execution.sweep.packing import CaseFacts
from harness.inputs.cases import Case

PIECE = 8 << 20
"""Bytes after which a piece is full."""

MADE_BYTES = 100
"""Of the text that is made for a case: half of those for 300 schemas of MaskBench are longer."""


@dataclass(frozen=True)
class Entry:
    """Where a case is.

    Attributes:
        piece: The number of its piece.
        start: Its first byte in it.
        size: Its bytes.
    """

    piece: int
    start: int
    size: int


@dataclass(frozen=True)
class PackedCases:
    """All cases of a sweep.

    Attributes:
        pieces: Pickled cases, one behind the other.
        index: Where each case is, by ordinal.
        facts: What is known of each case before it is run.
    """

    pieces: tuple[bytes, ...]
    index: Mapping[int, Entry]
    facts: tuple[CaseFacts, ...]

    @property
    def key(self) -> str:
        """A name for these cases: others have another."""
        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(hashlib.sha256(piece).digest())
        return f"cases-{digest.hexdigest()[:16]}"

    def read(self, ordinal: int) -> Case:
        """One of the cases."""
        entry = self.index[ordinal]
        case: Case = pickle.loads(self.pieces[entry.piece][entry.start :][: entry.size])  # noqa: S301
        return case


def pack_cases(
    jobs: Iterable[tuple[int, Case]], walks: int, *, generated: bool = False
) -> PackedCases:
    """Pack cases with their ordinals.

    Args:
        jobs: The cases.
        walks: How many texts of each are walked.
        generated: Whether cases without a valid one are walked along made ones.
    """
    pieces: list[bytes] = []
    current = bytearray()
    index = {}
    facts = []
    made_bytes = MADE_BYTES if generated else 0
    for ordinal, case in jobs:
        data = pickle.dumps(case)
        index[ordinal] = Entry(len(pieces), len(current), len(data))
        current += data
        if len(current) >= PIECE:
            pieces.append(bytes(current))
            current = bytearray()
        texts = [len(one.text) for one in case.valid[:walks]]
        size = len(case.schema.encode("utf-8", "surrogatepass"))
        facts.append(CaseFacts(ordinal, case.id, case.family, size, max(texts, default=made_bytes)))
    if current:
        pieces.append(bytes(current))
    return PackedCases(tuple(pieces), index, tuple(facts))


class CaseFiles:
    """Packed cases, read from the directory that `write_pieces` filled."""

    def __init__(self, directory: Path, index: Mapping[int, Entry]) -> None:
        self._directory = directory
        self._index = index

    def __getitem__(self, ordinal: int) -> Case:
        entry = self._index[ordinal]
        with (self._directory / f"piece-{entry.piece}").open("rb") as stream:
            stream.seek(entry.start)
            case: Case = pickle.loads(stream.read(entry.size))  # noqa: S301 - our own, in our directory
        return case


def write_pieces(directory: Path, pieces: Iterable[bytes]) -> None:
    """Write the pieces into a directory for `CaseFiles`."""
    for number, piece in enumerate(pieces):
        (directory / f"piece-{number}").write_bytes(piece)
