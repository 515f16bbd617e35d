"""How far along their references engines were walked, in bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from harness.counting.counts import StoredRun


@dataclass(frozen=True)
class WalkedPart:
    """What was walked of the references of the cases on which an engine was judged.

    Attributes:
        walks: How many references there were to walk.
        broke_off: On how many of them the engine was not judged up to the end.
        bytes: How many of their bytes lie before the last position on which it was judged.
        of: How many they have.
    """

    walks: int
    broke_off: int
    bytes: int
    of: int


class WalkedBytes:
    """The walks of a run, read once."""

    def __init__(self, stored: StoredRun) -> None:
        cases = stored.run.table("cases", ["references", "walks"])
        references = cases["references"].combine_chunks()
        count = references.value_lengths().to_numpy(zero_copy_only=False)
        self._first = np.append(0, np.cumsum(count))
        sizes = pc.binary_length(references.flatten()).to_numpy(zero_copy_only=False)
        self._sizes = sizes.astype(np.int64)
        self._case = np.repeat(np.arange(len(count)), count)
        number = np.arange(len(self._case)) - self._first[self._case]
        self._begun = number < cases["walks"].to_numpy()[self._case]
        self._at = stored.positions
        self._known = self._at.walk < count[self._at.case]  # of others no reference is stored
        self._walk = self._first[self._at.case] + self._at.walk

    def of(self, engine: int) -> WalkedPart:
        """Those of one engine, by its number in the run."""
        mine = self._known & (self._at.judged >> np.uint32(engine) & np.uint32(1) == 1)
        reached = np.full(len(self._sizes), -1, dtype=np.int64)
        np.maximum.at(reached, self._walk[mine], self._at.offset[mine].astype(np.int64))
        judged = np.zeros(len(self._first) - 1, dtype=np.bool_)
        judged[self._at.case[mine]] = True
        walks = self._begun & judged[self._case]
        sizes, reached = self._sizes[walks], reached[walks]
        return WalkedPart(
            len(sizes),
            int(np.count_nonzero(reached < sizes)),
            int(np.minimum(np.maximum(reached, 0), sizes).sum()),
            int(sizes.sum()),
        )
