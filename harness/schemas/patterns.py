"""How to finish a string so that it matches a regular expression.

A pattern becomes a small nondeterministic automaton, built from the parse tree of `re`. What it
cannot say (look-around, back references, case folding) is skipped: a hint may be wrong. Patterns
are searched for, not anchored, as JSON Schema's `pattern` asks.
"""

from __future__ import annotations

import re
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Mapping
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
FREE, AT_START, AT_END = 0, 1, 2
_POSITIONS = {
    **dict.fromkeys((_sre.AT_BEGINNING, _sre.AT_BEGINNING_STRING), AT_START),
    **dict.fromkeys((_sre.AT_END, _sre.AT_END_STRING), AT_END),
}


TOO_LARGE: Final = "it is too large"


class UnsupportedError(Exception):
    """The pattern has a part that no automaton is made for; the message says which."""


def complement(ranges: Ranges) -> Ranges:
    out, at = [], 0
    for low, high in sorted(ranges):
        if low > at:
            out.append((at, low - 1))
        at = max(at, high + 1)
    return (*out, (at, HIGHEST)) if at <= HIGHEST else tuple(out)


@lru_cache(maxsize=256)
def _texts_alone(ranges: Ranges) -> Ranges:
    """The ranges without the halves of surrogate pairs, which no text has."""
    return complement((*complement(ranges), (0xD800, 0xDFFF)))


DIGITS: Final[Ranges] = ((48, 57),)
WORD: Final[Ranges] = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 13), (32, 32))
_CATEGORIES: dict[Any, Ranges] = {
    _sre.CATEGORY_DIGIT: DIGITS,
    _sre.CATEGORY_WORD: WORD,
    _sre.CATEGORY_SPACE: _SPACE,
    _sre.CATEGORY_NOT_DIGIT: complement(DIGITS),
    _sre.CATEGORY_NOT_WORD: complement(WORD),
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


class Builder:
    """Turns the parse tree of `re` into nodes with edges (Thompson's construction).

    Where it is `exact`, whatever an automaton cannot say is an `UnsupportedError`.
    """

    def __init__(
        self,
        *,
        exact: bool = False,
        limit: int = _MAX_NODES,
        categories: Mapping[Any, Ranges] = _CATEGORIES,
        dot: Ranges = _DOT,
    ) -> None:
        self._exact, self._limit, self._categories, self._dot = exact, limit, categories, dot
        self.free: list[list[tuple[int, int]]] = []
        self.moves: list[list[tuple[Ranges, int]]] = []

    def node(self) -> int:
        if len(self.free) >= self._limit:
            raise UnsupportedError(TOO_LARGE)
        self.free.append([])
        self.moves.append([])
        return len(self.free) - 1

    def sequence(self, items: Any, at: int) -> int:
        """The node after some items of which the first begins at node `at`."""
        for operator, argument in items:
            at = self.item(operator, argument, at)
        return at

    def item(self, operator: Any, argument: Any, at: int) -> int:
        if self._exact:
            _require_exact(operator, argument)
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
                self.free[self.sequence(branch, at)].append((end, FREE))
        elif operator is _sre.AT:
            self.free[at].append((end, _POSITIONS.get(argument, FREE)))
        else:
            ranges = self._characters(operator, argument)
            if self._exact:
                ranges = _texts_alone(ranges)
            self.moves[at] += [(ranges, end)] if ranges else []
        return end

    def repeat(self, low: int, high: Any, items: Any, at: int) -> int:
        for _ in range(low):
            at = self.sequence(items, at)
        if high is _sre.MAXREPEAT or (high - low > _LONG_REPEAT and not self._exact):
            loop, end = self.node(), self.node()
            self.free[at].append((loop, FREE))
            self.free[self.sequence(items, loop)].append((loop, FREE))
            self.free[loop].append((end, FREE))
            return end
        end = self.node()
        for _ in range(high - low):
            self.free[at].append((end, FREE))
            at = self.sequence(items, at)
        self.free[at].append((end, FREE))
        return end

    def closure(self, nodes: Iterable[int], allowed: Collection[int]) -> frozenset[int]:
        """What can be reached from some nodes without a character, by edges that are allowed."""
        seen, todo = set(nodes), list(nodes)
        while todo:
            for target, position in self.free[todo.pop()]:
                if position in allowed and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return frozenset(seen)

    def leading_to(
        self, nodes: Iterable[int], allowed: Collection[int], *, moves: bool
    ) -> frozenset[int]:
        """The nodes from which some nodes can be reached, by moves too if those count."""
        sources: dict[int, list[int]] = {}
        for node, edges in enumerate(self.free):
            targets = [target for target, position in edges if position in allowed]
            for target in [*targets, *(to for _, to in self.moves[node] if moves)]:
                sources.setdefault(target, []).append(node)
        seen, todo = set(nodes), list(nodes)
        while todo:
            fresh = set(sources.get(todo.pop(), ())) - seen
            seen |= fresh
            todo += fresh
        return frozenset(seen)

    def _characters(self, operator: Any, argument: Any) -> Ranges:
        if operator is _sre.LITERAL:
            return ((argument, argument),)
        if operator is _sre.NOT_LITERAL:
            return complement(((argument, argument),))
        if operator is _sre.ANY:
            return self._dot
        if operator is not _sre.IN:
            raise UnsupportedError
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
                ranges.extend(self._categories[value])
        return complement(tuple(ranges)) if negated else tuple(sorted(ranges))


_INEXACT: Final = {
    _sre.ASSERT: "it looks around",
    _sre.ASSERT_NOT: "it looks around",
    _sre.GROUPREF: "it refers to a group",
    _sre.GROUPREF_EXISTS: "it refers to a group",
    _sre.POSSESSIVE_REPEAT: "a quantifier is possessive",
    _sre.ATOMIC_GROUP: "a group is atomic",
}


def _require_exact(operator: Any, argument: Any) -> None:
    """Raise an `UnsupportedError` for what no automaton over characters says exactly."""
    if operator in _INEXACT:
        raise UnsupportedError(_INEXACT[operator])
    if operator is _sre.SUBPATTERN and (argument[1] or argument[2]):
        raise UnsupportedError("it sets flags")
    if operator is _sre.AT and argument not in _POSITIONS:
        raise UnsupportedError("it has boundaries of words")


class Pattern:
    """An automaton for one regular expression. States are small integers; 0 is dead."""

    DEAD: Final = 0

    def __init__(self, tree: Any) -> None:
        builder = Builder()
        start, begin = builder.node(), builder.node()
        builder.moves[start].append((_ANY, start))
        builder.free[start].append((begin, FREE))
        self._accept = builder.sequence(tree, begin)
        builder.moves[self._accept].append((_ANY, self._accept))
        self._nodes, self._moves = builder, builder.moves
        # the nodes from which a match can be reached once the text has begun
        self._live = builder.leading_to({self._accept}, (FREE, AT_END), moves=True)
        self._sets: list[frozenset[int]] = [frozenset()]
        self._ids: dict[frozenset[int], int] = {frozenset(): 0}
        self._next: list[dict[str, int]] = [{}]
        self._shortest: dict[tuple[int, int], str | None] = {}
        self.start = self._state(frozenset({start}), at_start=True)

    @property
    def size(self) -> int:
        """How many states there are so far; from `_MAX_STATES` on every new one is dead."""
        return len(self._sets)

    def _state(self, nodes: frozenset[int], *, at_start: bool = False) -> int:
        closed = self._nodes.closure(nodes, (FREE, AT_START) if at_start else (FREE,)) & self._live
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
        return self._accept in self._nodes.closure(self._sets[state], (FREE, AT_END))

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
    except (re.error, UnsupportedError, RecursionError, OverflowError, ValueError, KeyError):
        return None
