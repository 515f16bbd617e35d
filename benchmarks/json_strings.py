"""The JSON texts of the strings that match a pattern: each character in all of its spellings.

White space may stand before and after. A state is where the text stands, and where the string of
it stands in the automaton of the pattern; escapes of halves of surrogate pairs make one character.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from harness.regex_constraint.automata import DEAD, Automaton, Row

_BLANK: Final = " \t\n\r"
_ESCAPES: Final = {
    **dict(zip('"\\/', '"\\/', strict=True)),
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)


class JsonStrings(Automaton):
    """The automaton of `inner`'s strings as JSON texts."""

    def __init__(self, inner: Automaton) -> None:
        super().__init__()
        self._inner = inner
        self.bounds = np.union1d(inner.bounds, np.arange(0x81, dtype=np.int32)).astype(np.int32)
        self._inner_class = inner.classes(self.bounds)
        self.number(("before",))

    def accepts(self, state: int) -> bool:
        return bool(self._keys[state][0] == "after")

    def is_inside(self, state: int) -> bool:
        """Whether the string has begun and not ended."""
        return self._keys[state][0] not in ("before", "after")

    def _row(self, state: int) -> Row:
        key = self._keys[state]
        if key[0] == "in":
            return self._inside(key[1])
        row = np.full(len(self.bounds), DEAD, dtype=np.int32)
        for char, after in getattr(self, f"_{key[0]}")(*key[1:]).items():
            row[ord(char)] = self.number(after)
        return row

    def _inside(self, at: int) -> Row:
        after = self._inner.row(at)[self._inner_class]
        row = np.full(len(self.bounds), DEAD, dtype=np.int32)
        for one in np.unique(after[after != DEAD]).tolist():
            row[after == one] = self.number(("in", one))
        row[:0x20] = DEAD
        row[ord('"')] = self.number(("after",)) if self._inner.accepts(at) else DEAD
        leads_on = bool((self._inner.row(at) != DEAD).any())
        row[ord("\\")] = self.number(("escape", at)) if leads_on else DEAD
        return row

    def _before(self) -> dict[str, Any]:
        return {**dict.fromkeys(_BLANK, ("before",)), '"': ("in", 0)}

    def _after(self) -> dict[str, Any]:
        return dict.fromkeys(_BLANK, ("after",))

    def _escape(self, at: int) -> dict[str, Any]:
        targets = {char: self._inner.after(at, meant) for char, meant in _ESCAPES.items()}
        found = {char: ("in", to) for char, to in targets.items() if to != DEAD}
        return {**found, "u": ("digits", at, 0, 0, 0)}

    def _digits(self, at: int, value: int, count: int, high: int) -> dict[str, Any]:
        """After some digits of an escape, which may be the second of a pair."""
        found: dict[str, Any] = {}
        for char in "0123456789abcdefABCDEF":
            now, left = value * 16 + int(char, 16), 4 * (3 - count)
            span = range(now << left, (now + 1) << left)
            if left and self._leads_on(at, span, high):
                found[char] = ("digits", at, now, count + 1, high)
            elif not left and not high and now in _HIGH:
                if self._leads_on(at, range(now, now + 1), 0):
                    found[char] = ("second", at, now)
            elif not left and self._leads_on(at, span, high):
                point = 0x10000 + (high - 0xD800 << 10) + now - 0xDC00 if high else now
                found[char] = ("in", self._inner.after(at, chr(point)))
        return found

    def _second(self, at: int, high: int) -> dict[str, Any]:
        return {"\\": ("marked", at, high)}

    def _marked(self, at: int, high: int) -> dict[str, Any]:
        return {"u": ("digits", at, 0, 0, high)}

    def _leads_on(self, at: int, span: range, high: int) -> bool:
        """Whether a character may follow of which these are escapes, or first halves of them."""
        if high:
            low, last = max(span[0], _LOW[0]), min(span[-1], _LOW[-1])
            first = 0x10000 + (high - 0xD800 << 10) - _LOW[0]
            return low <= last and self._live(at, first + low, first + last)
        low, last = max(span[0], _HIGH[0]), min(span[-1], _HIGH[-1])
        pairs = low <= last and self._live(
            at, 0x10000 + (low - 0xD800 << 10), 0x10000 + (last - 0xD800 + 1 << 10) - 1
        )
        return pairs or self._live(at, span[0], span[-1])

    def _live(self, at: int, low: int, high: int) -> bool:
        row = self._inner.row(at)
        return bool((row[self._inner.span(low, high)] != DEAD).any())
