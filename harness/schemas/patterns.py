"""How to finish a string so that it matches a regular expression.

A pattern becomes a small nondeterministic automaton, built from the parse tree of `re`. What it
cannot say (look-around, back references, case folding) is skipped: a hint may be wrong. Patterns
are searched for, not anchored, as JSON Schema's `pattern` asks.
"""

from __future__ import annotations

import re
import warnings
from collections import deque
from functools import lru_cache
from re import _constants as _sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

Ranges = tuple[tuple[int, int], ...]
"""A set of characters: inclusive ranges of code points, ascending."""

HIGHEST: Final = 0x10FFFF

_MAX_NODES = 3000
_MAX_SEARCH = 4000
_MAX_STATES = 20_000
_LONG_REPEAT = 64

_FAVOURITES: Final = [ord(char) for char in "a0A1b2-_. /:@#x,"]
_ANY: Ranges = ((0, HIGHEST),)
_DOT: Ranges = ((0, 9), (11, 12), (14, HIGHEST))
_FREE, _AT_START, _AT_END = 0, 1, 2
_POSITIONS = {
    **dict.fromkeys((_sre.AT_BEGINNING, _sre.AT_BEGINNING_STRING), _AT_START),
    **dict.fromkeys((_sre.AT_END, _sre.AT_END_STRING), _AT_END),
}


class _UnsupportedError(Exception):
    """The pattern has a part that no automaton is made for."""


def complement(ranges: Ranges) -> Ranges:
    """All characters but those of `ranges`."""
    out, at = [], 0
    for low, high in sorted(ranges):
        if low > at:
            out.append((at, low - 1))
        at = max(at, high + 1)
    return (*out, (at, HIGHEST)) if at <= HIGHEST else tuple(out)


_DIGIT: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 13), (32, 32))
_CATEGORIES: dict[Any, Ranges] = {
    _sre.CATEGORY_DIGIT: _DIGIT,
    _sre.CATEGORY_WORD: _WORD,
    _sre.CATEGORY_SPACE: _SPACE,
    _sre.CATEGORY_NOT_DIGIT: complement(_DIGIT),
    _sre.CATEGORY_NOT_WORD: complement(_WORD),
    _sre.CATEGORY_NOT_SPACE: complement(_SPACE),
}


def _contains(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def _representatives(ranges: Ranges) -> list[int]:
    found = [point for point in _FAVOURITES if _contains(ranges, point)][:2]
    for low, high in ranges:
        if not found and high >= 0x20:
            found.append(max(low, 0x20))
    found = found or [low for low, _ in ranges[:1]]
    return [point for point in found if not 0xD800 <= point <= 0xDFFF]


class _Builder:
    """Turns the parse tree of `re` into nodes with edges (Thompson's construction)."""

    def __init__(self) -> None:
        self.free: list[list[tuple[int, int]]] = []
        self.moves: list[list[tuple[Ranges, int]]] = []

    def node(self) -> int:
        if len(self.free) >= _MAX_NODES:
            raise _UnsupportedError
        self.free.append([])
        self.moves.append([])
        return len(self.free) - 1

    def sequence(self, items: Any, at: int) -> int:
        """The node after some items of which the first begins at node `at`."""
        for operator, argument in items:
            at = self.item(operator, argument, at)
        return at

    def item(self, operator: Any, argument: Any, at: int) -> int:
        if operator in (_sre.MAX_REPEAT, _sre.MIN_REPEAT, _sre.POSSESSIVE_REPEAT):
            low, high, items = argument
            return self.repeat(low, high, items, at)
        if operator is _sre.SUBPATTERN:
            return self.sequence(argument[3], at)
        if operator is _sre.ATOMIC_GROUP:
            return self.sequence(argument, at)
        if operator in (_sre.ASSERT, _sre.ASSERT_NOT):
            return at
        end = self.node()
        if operator is _sre.BRANCH:
            for branch in argument[1]:
                self.free[self.sequence(branch, at)].append((end, _FREE))
        elif operator is _sre.AT:
            self.free[at].append((end, _POSITIONS.get(argument, _FREE)))
        else:
            self.moves[at].append((_characters(operator, argument), end))
        return end

    def repeat(self, low: int, high: Any, items: Any, at: int) -> int:
        for _ in range(low):
            at = self.sequence(items, at)
        if high is _sre.MAXREPEAT or high - low > _LONG_REPEAT:
            loop, end = self.node(), self.node()
            self.free[at].append((loop, _FREE))
            self.free[self.sequence(items, loop)].append((loop, _FREE))
            self.free[loop].append((end, _FREE))
            return end
        end = self.node()
        for _ in range(high - low):
            self.free[at].append((end, _FREE))
            at = self.sequence(items, at)
        self.free[at].append((end, _FREE))
        return end


def _characters(operator: Any, argument: Any) -> Ranges:
    if operator is _sre.LITERAL:
        return ((argument, argument),)
    if operator is _sre.NOT_LITERAL:
        return complement(((argument, argument),))
    if operator is _sre.ANY:
        return _DOT
    if operator is not _sre.IN:
        raise _UnsupportedError
    ranges: list[tuple[int, int]] = []
    negated = False
    for kind, value in argument:
        if kind is _sre.NEGATE:
            negated = True
        elif kind is _sre.LITERAL:
            ranges.append((value, value))
        elif kind is _sre.RANGE:
            ranges.append(value)
        else:
            ranges.extend(_CATEGORIES[value])
    return complement(tuple(ranges)) if negated else tuple(sorted(ranges))


class Pattern:
    """An automaton for one regular expression. States are small integers; 0 is dead."""

    DEAD: Final = 0

    def __init__(self, tree: Any) -> None:
        builder = _Builder()
        start, begin = builder.node(), builder.node()
        builder.moves[start].append((_ANY, start))
        builder.free[start].append((begin, _FREE))
        self._accept = builder.sequence(tree, begin)
        builder.moves[self._accept].append((_ANY, self._accept))
        self._free, self._moves = builder.free, builder.moves
        self._live = self._leading_on()
        self._sets: list[frozenset[int]] = [frozenset()]
        self._ids: dict[frozenset[int], int] = {frozenset(): 0}
        self._next: list[dict[str, int]] = [{}]
        self._shortest: dict[tuple[int, int], str | None] = {}
        self.start = self._state(frozenset({start}), at_start=True)

    @property
    def size(self) -> int:
        """How many states there are so far; from `_MAX_STATES` on every new one is dead."""
        return len(self._sets)

    def _closure(self, nodes: set[int], allowed: set[int]) -> frozenset[int]:
        seen, todo = set(nodes), list(nodes)
        while todo:
            for target, position in self._free[todo.pop()]:
                if position in allowed and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return frozenset(seen)

    def _leading_on(self) -> frozenset[int]:
        """The nodes from which a match can be reached once the text has begun."""
        sources: dict[int, list[int]] = {}
        for node, edges in enumerate(self._free):
            targets = [target for target, position in edges if position != _AT_START]
            for target in [*targets, *(target for _, target in self._moves[node])]:
                sources.setdefault(target, []).append(node)
        seen, todo = {self._accept}, [self._accept]
        while todo:
            fresh = set(sources.get(todo.pop(), ())) - seen
            seen |= fresh
            todo += fresh
        return frozenset(seen)

    def _state(self, nodes: frozenset[int], *, at_start: bool = False) -> int:
        closed = self._closure(set(nodes), {_FREE, _AT_START} if at_start else {_FREE})
        closed &= self._live
        state = self._ids.get(closed)
        if state is None:
            state = len(self._sets)
            if state > _MAX_STATES:
                return self.DEAD
            self._ids[closed] = state
            self._sets.append(closed)
            self._next.append({})
        return state

    def step(self, state: int, char: str) -> int:
        """The state after one character."""
        follow = self._next[state].get(char)
        if follow is None:
            point = ord(char)
            moves = (move for node in self._sets[state] for move in self._moves[node])
            nodes = frozenset(target for ranges, target in moves if _contains(ranges, point))
            follow = self._next[state][char] = self._state(nodes)
        return follow

    def walk(self, state: int, text: str) -> int:
        for char in text:
            state = self.step(state, char)
        return state

    def accepts(self, state: int) -> bool:
        """Whether the text may end in `state`."""
        return self._accept in self._closure(set(self._sets[state]), {_FREE, _AT_END})

    def finish(self, state: int, at_least: int = 0) -> str | None:
        """A shortest text of `at_least` or more characters from `state` to a match, if found."""
        key = (state, at_least)
        if key not in self._shortest:
            self._shortest[key] = shortest([self], (state,), min(at_least, 400))
        return self._shortest[key]

    def alternatives(self, most: int) -> list[str]:
        """Short texts that match in different ways, at most so many."""
        queue, seen, found = deque([(self.start, "")]), {self.start}, list[str]()
        for _ in range(_MAX_SEARCH // 8):
            if not queue or len(found) >= most:
                break
            state, text = queue.popleft()
            for char in self.useful(state):
                after = self.step(state, char)
                if after != self.DEAD and self.accepts(after):
                    found.append(text + char)
                if after != self.DEAD and after not in seen:
                    seen.add(after)
                    queue.append((after, text + char))
        return found[:most]

    def useful(self, state: int) -> list[str]:
        """Characters that may follow, a few of each set that the pattern names."""
        points: dict[int, None] = {}
        for node in sorted(self._sets[state], reverse=True):
            for ranges, _ in self._moves[node]:
                points.update(dict.fromkeys(_representatives(ranges)))
        return [chr(point) for point in points]


def shortest(patterns: list[Pattern], start: tuple[int, ...], at_least: int) -> str | None:
    """A short text of `at_least` or more characters from `start` to a match of all, if found."""
    queue = deque([(start, "")])
    seen = {(start, 0)}
    for _ in range(_MAX_SEARCH):
        if not queue:
            return None
        states, text = queue.popleft()
        here = list(zip(patterns, states, strict=True))
        if len(text) >= at_least and all(one.accepts(state) for one, state in here):
            return text
        useful = dict.fromkeys(char for one, state in here for char in one.useful(state))
        for char in useful:
            follow = tuple(one.step(state, char) for one, state in here)
            mark = (follow, min(len(text) + 1, at_least))
            if Pattern.DEAD not in follow and mark not in seen:
                seen.add(mark)
                queue.append((follow, text + char))
    return None


MAX_GROUPS = 200
"""Expressions with more groups than this have no automaton here."""


@lru_cache(maxsize=1024)
def pattern(expression: str) -> Pattern | None:
    r"""The automaton for an ECMA 262 expression, as far as `re` reads it; None when it cannot.

    ``\d`` and ``\w`` are ASCII, as in ECMA 262.
    """
    if expression.count("(") > MAX_GROUPS:
        return None  # whether the parser's recursion ends well must not depend on who set its limit
    expression = re.sub(r"\(\?<(?![=!])", "(?P<", expression)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Pattern(_parser.parse(expression, re.ASCII.value))
    except (re.error, _UnsupportedError, RecursionError, OverflowError, ValueError, KeyError):
        return None
