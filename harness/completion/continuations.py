"""Known continuations: texts after a token that make a whole, probably valid document.

They are made from the reference and the schema; one serves all tokens of a position that leave the
document in the same situation. Each completion is checked with the engine and the validators.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from harness.completion.repairs import repaired
from harness.completion.value_suffixes import (
    StringProgress,
    ValueSuffixes,
    first_characters,
    least_rest,
)
from harness.jsontext.lexer import Mode, plain_end
from harness.jsontext.partial import Cursor, encoded, feed, trace
from harness.schemas.schema import Fault
from harness.schemas.values import Values

MAX_CANDIDATES = 12

Candidates = tuple[bytes, ...]


class Continuations:
    """The continuations for one case: a schema, parsed, and the reference's JSON text.

    Raises:
        ValueError: The reference is not JSON.
    """

    def __init__(self, schema: object, reference: bytes) -> None:
        self.reference = reference
        self.suffixes = ValueSuffixes(Values(schema), reference)
        self._marks = [0]
        self._cursors = [Cursor()]
        for end, here in trace(Cursor(), reference):
            if here is not None:
                self._marks.append(end)
                self._cursors.append(here)

    def at(self, k: int) -> Context:
        """The context after the first `k` bytes of the reference.

        Raises:
            ValueError: `k` is not from 0 to the reference's length.
        """
        if not 0 <= k <= len(self.reference):
            raise ValueError(
                f"position {k} lies outside a reference of {len(self.reference)} bytes"
            )
        mark = bisect_right(self._marks, k) - 1
        cursor = feed(self._cursors[mark], self.reference[self._marks[mark] : k])
        assert cursor is not None, "a prefix of JSON goes on"
        cursor = cursor._replace(frames=self.suffixes.canonical(cursor.frames))
        return Context(self, k, cursor)

    def build(self, cursor: Cursor, progress: StringProgress | None = None) -> Candidates:
        """The distinct candidates for a text that stands at `cursor`, likeliest first."""
        self.suffixes.trim()
        ranked: list[tuple[int, bytes]] = []
        for row, suffix in enumerate(self.suffixes.candidates(cursor, progress)):
            tails = self.suffixes.tails(suffix.frames, suffix.last_written)
            ranked += [(row + 2 * column, suffix.text + tail) for column, tail in enumerate(tails)]
        ranked.sort(key=lambda pair: pair[0])
        return tuple(dict.fromkeys(text for _, text in ranked))[:MAX_CANDIDATES]


class Context:
    """One position: the candidates for each token that may come there.

    Tokens that leave the document in the same situation get the same tuple object.
    """

    def __init__(self, maker: Continuations, k: int, cursor: Cursor) -> None:
        self._maker = maker
        self._k = k
        self._cursor = cursor
        self._memo: dict[Hashable, Candidates] = {}
        self._shared: Candidates | None = None
        self._progress: StringProgress | None = None
        self._special: frozenset[int] | None = None
        if cursor.mode.in_string and not cursor.state.part:
            self._slot = maker.suffixes.string_slot(cursor.frames, cursor.mode)
            self._written = cursor.written
            self._progress = self._slot.begin(self._written)
            if self._slot.blind:
                # A plain token whose first byte begins no rest of a target matches no target.
                rests = (rest for _, rest in self._progress.rests if rest)
                self._special = frozenset(encoded(rest)[0] for rest in rests)

    def candidates(self, token: bytes) -> Candidates:
        """Up to 12 distinct continuations after `token`, likeliest first; none after no JSON."""
        if self._progress is None or not token or plain_end(token) < len(token):
            return self._any(token)
        if self._special is None or token[0] in self._special:
            return self._plain(token)
        if self._shared is None:
            self._shared = self._plain(token)
        return self._shared

    def group(self, tokens: Sequence[bytes]) -> tuple[npt.NDArray[np.int32], list[Candidates]]:
        """Each token's candidates as an index, shape ``(len(tokens),)``, and these as they come."""
        numbers: dict[int, int] = {}
        groups: list[Candidates] = []
        index = np.empty(len(tokens), dtype=np.int32)
        for at, found in enumerate(map(self.candidates, tokens)):
            if id(found) not in numbers:
                numbers[id(found)] = len(groups)
                groups.append(found)
            index[at] = numbers[id(found)]
        return index, groups

    def aimed(self, token: bytes, continuation: bytes, errors: Sequence[Fault]) -> Candidates:
        """Continuations after `token`, built to avoid the errors of the one that was invalid."""
        cursor = feed(self._cursor, token)
        if cursor is None:
            return ()
        text = self._maker.reference[: self._k] + token + continuation
        found = repaired(self._maker.suffixes, cursor, text, errors)
        return tuple(c for c in dict.fromkeys(found) if c != continuation)[:MAX_CANDIDATES]

    def _plain(self, token: bytes) -> Candidates:
        assert self._progress is not None
        progress = self._slot.go_on(self._progress, self._written, token.decode())
        if progress not in self._memo:
            cursor = feed(self._cursor, token)
            assert cursor is not None, "plain characters go on in a string"
            self._memo[progress] = self._maker.build(cursor, progress)
        return self._led(token, self._memo[progress])

    def _any(self, token: bytes) -> Candidates:
        cursor = feed(self._cursor, token)
        if cursor is None:
            return _NOTHING
        cursor = cursor._replace(frames=self._maker.suffixes.canonical(cursor.frames))
        mark, progress = self._situation(cursor)
        if mark not in self._memo:
            self._memo[mark] = self._maker.build(cursor, progress)
        return self._led(token, self._memo[mark])

    def _led(self, token: bytes, found: Candidates) -> Candidates:
        """The candidates, with the reference's own rest in front where it begins with `token`."""
        reference, end = self._maker.reference, self._k + len(token)
        if not reference.startswith(token, self._k) or found[0] == reference[end:]:
            return found
        mark = ("reference", token)
        if mark not in self._memo:
            self._memo[mark] = tuple(dict.fromkeys([reference[end:], *found]))[:MAX_CANDIDATES]
        return self._memo[mark]

    def _situation(self, cursor: Cursor) -> tuple[Hashable, StringProgress | None]:
        """All that decides the candidates, and the progress of a string."""
        if not cursor.mode.in_string:
            atom = cursor.atom if cursor.mode in _ATOMS else b""
            return (cursor.state, cursor.frames, atom, cursor.spaced), None
        slot = self._maker.suffixes.string_slot(cursor.frames, cursor.mode)
        progress = slot.begin(cursor.written)
        part = cursor.state.part
        mark: Hashable = (cursor.state, cursor.frames, progress)
        leads = (encoded(rest).startswith(part) for _, rest in progress.rests)
        if part and part[:1] != b"\\" and not any(leads):
            # Started characters that are finished by the same bytes share what follows.
            after = slot.go_on(progress, cursor.written, first_characters(part)[0])
            state = cursor.state._replace(part=least_rest(part))
            mark = (state, cursor.frames, after, progress.length)
        return mark, progress


_NOTHING: Candidates = ()
_ATOMS = frozenset(mode for mode in Mode if mode.in_number or mode is Mode.LITERAL)
