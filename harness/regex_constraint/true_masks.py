"""The true mask of a whole vocabulary: which tokens lead to a text that matches.

A token may end inside a character: it leads on if one of the characters that begin so does. Bytes
that are no UTF-8 lead nowhere, nor do special tokens, but for ends of sequence where texts may end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import utf8_length, utf8_range
from harness.regex_constraint.automata import DEAD, Automaton

Bits = npt.NDArray[np.bool_]


def decoded(data: bytes) -> tuple[str, bytes] | None:
    """The characters of some bytes, and those of a character that is not whole; None: no UTF-8."""
    try:
        return data.decode(), b""
    except UnicodeDecodeError as error:
        if error.end == len(data) and error.reason == "unexpected end of data":
            return data[: error.start].decode(), data[error.start :]
        return None


def begun(rest: bytes) -> tuple[int, int]:
    """The first and the last character that begin with the bytes `rest`, which are not all."""
    low = high = rest
    while len(low) < utf8_length(rest[0]):
        low += bytes((utf8_range(low)[0],))
        high += bytes((utf8_range(high)[1],))
    return ord(low.decode()), ord(high.decode())


class TokenTexts:
    """The ordinary tokens of a vocabulary as characters, and what is left over at their ends."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        texts: list[str] = []
        whole: list[int] = []
        self.rests: dict[int, bytes] = {}
        self.inner: dict[int, bytes] = {}
        """Tokens that begin inside a character, which nothing but a started one allows."""
        for token, data in vocabulary.ordinary.items():
            if 0x80 <= data[0] < 0xC0:
                self.inner[token] = data
            elif (found := decoded(data)) is not None:
                texts.append(found[0])
                whole.append(token)
                if found[1]:
                    self.rests[token] = found[1]
        self.tokens = np.array(whole, dtype=np.int32)
        self.lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        self.starts = np.cumsum(self.lengths) - self.lengths
        joined = "".join(texts)
        points = np.frombuffer(joined.encode("utf-32-le"), dtype=np.int32)
        self.points, self.which = np.unique(points, return_inverse=True)

    @cached_property
    def partial(self) -> Bits:
        """The tokens that are not whole characters, shape ``(size,)``; special ones are whole."""
        found = np.zeros(self.vocabulary.size, dtype=np.bool_)
        found[list(self.vocabulary.ordinary)] = True
        found[self.tokens] = False
        found[list(self.rests)] = True
        return found


@dataclass(frozen=True)
class TextState:
    """Where a text stands: a state, and the bytes of a character that is not whole."""

    state: int
    rest: bytes = b""


class TrueMasks:
    """The true masks of one automaton."""

    def __init__(self, automaton: Automaton, texts: TokenTexts) -> None:
        self.automaton, self._texts = automaton, texts
        self._classes = automaton.classes(texts.points)[texts.which]
        self._known: dict[TextState, Bits] = {}

    def after(self, place: TextState, data: bytes) -> TextState | None:
        """Where some more bytes lead; None where no match can follow."""
        found = decoded(place.rest + data)
        if found is None:
            return None
        state = self.automaton.after(place.state, found[0])
        here = TextState(state, found[1])
        return here if state != DEAD and (not here.rest or self.leads_on(here)) else None

    def leads_on(self, place: TextState) -> bool:
        """Whether one of the characters that have begun may follow."""
        row = self.automaton.row(place.state)
        return bool((row[self.automaton.span(*begun(place.rest))] != DEAD).any())

    def finish(self, place: TextState) -> str:
        """A text of whole characters that completes a match, those that have begun first."""
        if not place.rest:
            return self.automaton.shortest(place.state)
        low, high = begun(place.rest)
        some = self.automaton.span(low, high)
        row = self.automaton.row(place.state)
        which = some.start + int(np.flatnonzero(row[some] != DEAD)[0])
        point = max(low, int(self.automaton.bounds[which]))
        return chr(point) + self.automaton.shortest(int(row[which]))

    def may_end(self, place: TextState) -> bool:
        return not place.rest and self.automaton.accepts(place.state)

    def matches(self, data: bytes) -> bool:
        place = self.after(TextState(0), data)
        return place is not None and self.may_end(place)

    def mask(self, place: TextState) -> Bits:
        """The tokens that may come next, shape ``(size,)``, the ends of sequence included."""
        if place not in self._known:
            self._known[place] = self._mask(place)
        return self._known[place]

    def _mask(self, place: TextState) -> Bits:
        vocabulary, texts = self._texts.vocabulary, self._texts
        out = np.zeros(vocabulary.size, dtype=np.bool_)
        out[list(vocabulary.eos_ids)] = self.may_end(place)
        if place.rest:
            for token, data in texts.inner.items():
                out[token] = self.after(place, data) is not None
            return out
        states = self._states(place.state)
        out[texts.tokens] = states != DEAD
        at = dict(zip(texts.tokens.tolist(), states.tolist(), strict=True))
        for token, rest in texts.rests.items():
            if out[token]:
                out[token] = self.leads_on(TextState(at[token], rest))
        return out

    def _states(self, start: int) -> npt.NDArray[np.int32]:
        """The state after the whole characters of each of `TokenTexts.tokens`."""
        texts = self._texts
        states = np.full(len(texts.tokens), start, dtype=np.int32)
        alive = np.flatnonzero(texts.lengths > 0)
        column = 0
        while len(alive):
            here = states[alive]
            kinds, which = np.unique(here, return_inverse=True)
            table = np.array([self.automaton.row(one) for one in kinds.tolist()])
            after = table[which, self._classes[texts.starts[alive] + column]]
            states[alive] = after
            column += 1
            alive = alive[(after != DEAD) & (texts.lengths[alive] > column)]
        return states
