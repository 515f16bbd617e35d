"""Deterministic automata over characters, made state by state as they are needed.

Characters that a pattern never tells apart are one *class*; a row of the table has the state after
each class. Every state is live: a text that matches can be reached from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.regex_constraint.opinions import NotJudged
from harness.schemas.patterns import AT_END, AT_START, FREE, HIGHEST, Builder, Ranges

Row = npt.NDArray[np.int32]

DEAD: Final = -1
MAX_CELLS: Final = 20_000_000
"""Of the tables of one automaton."""

_FAVOURITES = "aA0b1zZ9c-_. é"


class Automaton(ABC):
    """States are numbers from 0, the start; `bounds` has the first character of each class."""

    bounds: npt.NDArray[np.int32]

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._ids: dict[Any, int] = {}
        self._rows: dict[int, Row] = {}
        self._shortest: dict[int, str] = {}

    @abstractmethod
    def _row(self, state: int) -> Row:
        """The states after each class, `DEAD` where no match can follow."""

    @abstractmethod
    def accepts(self, state: int) -> bool:
        """Whether the text may end in `state`."""

    def number(self, key: Any) -> int:
        """The number of a state; a `NotJudged` where there are too many."""
        state = self._ids.setdefault(key, len(self._keys))
        if state == len(self._keys):
            self._keys.append(key)
            if len(self._keys) * len(self.bounds) > MAX_CELLS:
                raise NotJudged("its automaton is too large")
        return state

    def row(self, state: int) -> Row:
        if state not in self._rows:
            self._rows[state] = self._row(state)
        return self._rows[state]

    def classes(self, points: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        return np.searchsorted(self.bounds, points, side="right") - 1

    def span(self, low: int, high: int) -> slice:
        first, last = self.classes(np.array([low, high], dtype=np.int32))
        return slice(int(first), int(last) + 1)

    def after(self, state: int, text: str) -> int:
        for char in text:
            if state == DEAD:
                break
            state = int(self.row(state)[self.span(ord(char), ord(char)).start])
        return state

    def matches(self, text: str) -> bool:
        state = self.after(0, text)
        return state != DEAD and self.accepts(state)

    @cached_property
    def _usual(self) -> list[tuple[int, str]]:
        """A character of each class, and a rank by which printable and usual ones come first."""
        found = []
        for low, end in pairwise([*self.bounds.tolist(), HIGHEST + 1]):
            usual = next((char for char in _FAVOURITES if low <= ord(char) < end), "")
            point = max(low, min(end - 1, 0x20))
            rank = _FAVOURITES.index(usual) if usual else len(_FAVOURITES) + (point < 0x20)
            found.append((rank, usual or chr(point)))
        return found

    def followers(self, state: int) -> Iterator[tuple[str, int]]:
        """Each state that may follow, with one character that leads to it, usual ones first."""
        row, seen = self.row(state), set[int]()
        for which in sorted(np.flatnonzero(row != DEAD), key=lambda one: self._usual[one][0]):
            if (target := int(row[which])) not in seen:
                seen.add(target)
                yield self._usual[which][1], target

    def shortest(self, state: int) -> str:
        if state not in self._shortest:
            ends = (text for here, text in self.reached(state) if self.accepts(here))
            self._shortest[state] = next(ends)
        return self._shortest[state]

    def reached(self, state: int) -> Iterator[tuple[int, str]]:
        """The states that may come after one, itself first, each with a shortest text to it."""
        queue, seen = deque([(state, "")]), {state}
        while queue:
            here, text = queue.popleft()
            yield here, text
            for char, target in self.followers(here):
                if target not in seen:
                    seen.add(target)
                    queue.append((target, text + char))


class PatternAutomaton(Automaton):
    """The automaton of a pattern's nodes, as `harness.regex_constraint.dialects.read` has them."""

    def __init__(self, nodes: Builder) -> None:
        super().__init__()
        self._nodes, accept = nodes, len(nodes.free) - 1
        sets = {ranges for moves in nodes.moves for ranges, _ in moves}
        edges = {point for some in sets for low, high in some for point in (low, high + 1)}
        self.bounds = np.array(sorted({0, *edges} - {HIGHEST + 1}), dtype=np.int32)
        self._members = {one: self._in_classes(one) for one in sets}
        self._ends = nodes.leading_to({accept}, (FREE, AT_END), moves=False)
        self._live = nodes.leading_to(self._ends, (FREE,), moves=True)
        self._closed: dict[int, frozenset[int]] = {}
        start = nodes.closure({0}, (FREE, AT_START)) & self._live
        self._empty = accept in nodes.closure({0}, (FREE, AT_START, AT_END))
        if not start and not self._empty:
            raise NotJudged("nothing matches it")
        self.number((True, start))

    def _in_classes(self, ranges: Ranges) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(self.bounds), dtype=np.bool_)
        for low, high in ranges:
            found[self.span(low, high)] = True
        return found

    def _after(self, node: int) -> frozenset[int]:
        """The nodes that count behind a node: with moves, or from which the text may end."""
        if node not in self._closed:
            some, moves = self._nodes.closure({node}, (FREE,)) & self._live, self._nodes.moves
            self._closed[node] = frozenset(x for x in some if moves[x] or x in self._ends)
        return self._closed[node]

    def _row(self, state: int) -> Row:
        nodes: frozenset[int] = self._keys[state][1]
        by_set: dict[Ranges, set[int]] = {}
        for node in nodes:
            for ranges, target in self._nodes.moves[node]:
                by_set.setdefault(ranges, set()).update(self._after(target))
        row = np.full(len(self.bounds), DEAD, dtype=np.int32)
        if not by_set:
            return row
        members = np.array([self._members[one] for one in by_set])
        packed = np.packbits(members, axis=0).T
        kinds, which = np.unique(packed, axis=0, return_inverse=True)
        targets = list(by_set.values())
        for kind, bits in enumerate(kinds):
            chosen = np.flatnonzero(np.unpackbits(bits, count=len(targets)))
            after = frozenset[int]().union(*(targets[one] for one in chosen))
            if after:
                row[which.reshape(-1) == kind] = self.number((False, after))
        return row

    def accepts(self, state: int) -> bool:
        at_start, nodes = self._keys[state]
        return self._empty if at_start else not self._ends.isdisjoint(nodes)
