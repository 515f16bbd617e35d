"""Other orders of the members of a value, found from where an engine refuses one.

An engine with an order of its own refuses a member that comes too early or too late: at its key, at
what stands before that, or within its value where the order has led into another branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from operator import attrgetter
from typing import Final, NamedTuple

from harness.jsontext.spans import Entry, root_of
from harness.jsontext.usual_spellings import usual_spellings

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]+')
_BEGUN: Final = attrgetter("begun")
_PATIENCE: Final = 32
"""So many times in a row what is asked about may be taken no further than what was before."""


class Try(NamedTuple):
    """A text to ask about, and the byte up to which it must be taken to be of use."""

    text: bytes
    until: int


class _Refused(NamedTuple):
    """A text of which so many tokens of JSON are begun, however they are spelled."""

    begun: int
    text: bytes
    fault: int


class OrderSearch:
    """A search for an order of members that is taken, the text that is taken furthest first.

    `refused` are texts of a value with the byte that is refused. Where no order leads on, what it
    came to is spelled otherwise. The first bytes `written` stay as they are.
    """

    def __init__(self, refused: Sequence[tuple[bytes, int]], written: int = 0) -> None:
        self._written, self._seen = written, {text for text, _ in refused}
        self._open = [max((_Refused(tokens_begun(*one), *one) for one in refused), key=_BEGUN)]
        self._ends: list[_Refused] = []
        self._furthest, self._idle = self._open[0].begun, 0

    def tries(self) -> list[Try]:
        """What to ask about next, each text once; nothing where nothing is left or leads on."""
        new: dict[bytes, Try] = {}
        self._idle += 1
        if self._idle > _PATIENCE:
            return []
        while not new and (left := self._open or self._ends):
            best = max(left, key=_BEGUN)
            left.remove(best)
            if left is self._open:
                self._ends.append(best)
                found = _moves(best.text, best.fault, self._written)
            else:
                found = _respelled(best, self._written)
            new = {one.text: one for one in found if one.text not in self._seen}
        self._seen |= new.keys()
        return [*new.values()]

    def refuse(self, attempt: Try, fault: int) -> None:
        """Note where a text is refused: it is gone on with if enough of it was taken."""
        if fault >= attempt.until:
            begun = tokens_begun(attempt.text, fault)
            self._open.append(_Refused(begun, attempt.text, fault))
            if begun > self._furthest:
                self._furthest, self._idle = begun, 0


def tokens_begun(text: bytes, end: int) -> int:
    """How many tokens of JSON are begun before a byte, however they are spelled."""
    return len(_TOKEN.findall(text, 0, end))


def _respelled(best: _Refused, written: int) -> Iterator[Try]:
    """The usual spellings of a text; to take one token more is of use."""
    for other in usual_spellings(best.text, written):
        starts = [one.start() for one in _TOKEN.finditer(other)]
        yield Try(other, starts[best.begun] + 1 if best.begun < len(starts) else len(other))


def _moves(text: bytes, fault: int, written: int) -> Iterator[Try]:
    """The member that is refused before others, and others in its place or in front.

    Of objects around a value that is refused their member is moved to the front alone.
    """
    node = root_of(text)
    while True:
        at = next((at for at, one in enumerate(node.entries) if fault < one.value.end), None)
        if at is None:
            return
        entry, within = node.entries[at], fault >= node.entries[at].value.start
        if members := node.members:
            free = [place for place in range(at) if members[place].key.start >= written]
            yield from (_with_moved(members, at, to) for to in (free[:1] if within else free))
            if not within and entry.key.start >= written:
                pairs = product(range(at + 1, len(members)), (at, *free[:1]))
                yield from (_with_moved(members, later, to) for later, to in pairs)
        if not within:
            return
        node = entry.value


def _with_moved(members: Sequence[Entry], source: int, target: int) -> Try:
    """The text with the member at `source` at another place; those between make room."""
    text = members[0].key.text
    order = [*members[:source], *members[source + 1 :]]
    order.insert(target, members[source])
    found = text[: members[0].key.start]
    for place, one in enumerate(order):
        following = members[place + 1].key.start if place + 1 < len(members) else len(text)
        found += text[one.key.start : one.value.end] + text[members[place].value.end : following]
    begin = members[target].key.start
    return Try(found, begin + members[source].value.start - members[source].key.start)
