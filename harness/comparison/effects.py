"""What a proven verdict costs a user: a value, or only one spelling of it.

An acceptance lets an invalid value through, one that only `format` forbids, or what is no JSON. Of
a rejection the text alone does not tell: the engine is asked for the usual spellings of the same
value (`harness.jsontext.usual_spellings`), first after the tokens that it has already consumed,
then from the start. If it takes one of the first, a spelling is lost; if it takes one of the
others, it has led the way into a trap; if none, the value is lost, provided that it is the place
charged with the error where they are refused. Where another place is, it is mended first.

A spelling that is taken is a proof, and stored; where none is taken, how many were tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from harness.comparison.member_orders import member_orders
from harness.engines.requests import Follow
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.member_moves import OrderSearch, Try
from harness.jsontext.spans import Entry, Part, ValueSpan, root_of
from harness.jsontext.usual_spellings import MOST, Way, usual_spellings, value_key
from harness.validators.judge import VALID, Judge
from harness.verdict_kinds import (
    FALSE_ACCEPTANCE,
    FORMAT_ONLY,
    INVALID_VALUE,
    LOST_VALUE,
    NOT_JSON,
    SPELLING,
    TRAP,
    UNCLEAR,
)
from harness.workers import wire

_BATCH: Final = 256
"""Texts in one request, which has a limit of time."""
_ROOM, _SLOW_ROOM = 2_000_000, 12_000
"""Bytes of spellings that an engine is asked about in a case, and one with slow texts; what is left
is unclear."""
_FULLY, _FEW = 48, 6
"""So many searches of a case try every spelling; the others the likeliest."""
_MENDS: Final = 3
"""Other places of a value that are mended, one after another."""
_OTHERS: Final = (b"null", b"true", b"0", b"1", b'""', b'"a"', b"[]", b"{}")
"""What may stand at a place that is mended."""


class Effect(NamedTuple):
    """What a verdict costs.

    `spelling` is the text that proves it where one is taken; `asked` how many were not.
    """

    name: str
    spelling: bytes = b""
    asked: int = 0


@dataclass(frozen=True)
class Rejected:
    """A valid text that an engine does not take to its end; empty where none is known.

    `fault` is the byte that it refuses, after it consumed `tokens`, which spell `written` bytes.
    """

    engine: int
    text: bytes = b""
    tokens: tuple[int, ...] = ()
    written: int = 0
    fault: int = 0


class EffectColumns:
    """The columns of some rows, filled in when the case has been asked about."""

    def __init__(self, count: int) -> None:
        self.effect, self.spelling, self.spellings_asked = [""] * count, [b""] * count, [0] * count

    def note(self, at: int, effect: Effect) -> None:
        self.effect[at], self.spelling[at], self.spellings_asked[at] = effect


def effect_of_acceptance(kind: str, reason: str, *, format_alone: bool) -> Effect:
    """Of an acceptance; `reason` is what the validators say beside the keyword."""
    if reason == "not_json" or kind != FALSE_ACCEPTANCE.name:
        return Effect(NOT_JSON)
    return Effect(FORMAT_ONLY if format_alone else INVALID_VALUE)


Ask = Callable[[Mapping[int, Follow]], Mapping[int, Any]]
"""Asks engines, by number; those that fail are missing in what comes back."""


@dataclass(frozen=True)
class _Refusal:
    """A text, as tokens with the end, of which so many are `allowed`."""

    text: bytes
    tokens: tuple[int, ...]
    allowed: int


@dataclass
class _Search:
    """One value after one beginning: what is known of its spellings.

    `refused` are spellings after the beginning that are refused, `from_start` whole ones; of those
    after the beginning `enough` were tried unless there was no room for more, or for more orders.
    """

    rejected: Rejected
    enough: bool = False
    refused: list[_Refusal] = field(default_factory=list)
    from_start: list[_Refusal] = field(default_factory=list)
    effect: Effect | None = None

    @cached_property
    def value(self) -> tuple[int, str]:
        return self.rejected.engine, value_key(self.rejected.text)


def _open(searches: Iterable[_Search]) -> list[_Search]:
    return [one for one in searches if one.effect is None]


class CaseEffects:
    """The rejections of one case, gathered while it runs and asked about in its end, many at once.

    `tokens_of` cuts a text into the tokenizer's own tokens. Engines with `slow` texts are asked
    less.
    """

    def __init__(
        self,
        schema: Any,
        judge: Judge,
        tokens_of: Callable[[bytes], Sequence[int]],
        vocabulary: Vocabulary,
        slow: Container[int] = (),
    ) -> None:
        self._schema, self._judge, self._vocabulary, self._slow = schema, judge, vocabulary, slow
        # what is asked of one engine is asked of the others, too
        self._tokens_of = lru_cache(1 << 10)(tokens_of)
        self._size = lru_cache(1 << 10)(lambda ids: sum(len(vocabulary.tokens[id_]) for id_ in ids))
        self._pending: dict[Rejected, list[tuple[EffectColumns, int]]] = {}
        self._first: set[Rejected] = set()
        self._whole: dict[tuple[int, str], _Search] = {}
        self._written: Counter[int] = Counter()
        self._taken: dict[int, dict[Way, None]] = {}

    def add(
        self, rejected: Rejected, columns: EffectColumns, at: int, *, is_first: bool = False
    ) -> None:
        """Gather one rejection, the row `at` of its columns; one that `is_first` before others."""
        columns.note(at, Effect(UNCLEAR))
        self._pending.setdefault(rejected, []).append((columns, at))
        if is_first:
            self._first.add(rejected)

    def decide(self, ask: Ask, valid: Sequence[bytes]) -> None:
        """Ask the engines, and fill in the columns.

        Of the `valid` texts of the case an engine must take one: else it has no way out of a dead
        end to be blamed for.
        """
        self._ask, self._orders = ask, member_orders(self._schema)
        asked = [one for one in self._pending if one.text]
        effects = self._effects([one for one in asked if one in self._first])
        effects |= self._effects([one for one in asked if one not in effects])
        blind = [one for one in self._pending if one not in effects]
        starts = map(_Search, dict.fromkeys(Rejected(one.engine) for one in blind))
        from_start = [(start, text) for start in starts for text in valid]
        taken: dict[int, bytes] = {}
        for at, refusal in self._answers(from_start).items():
            if refusal is None:
                taken.setdefault(from_start[at][0].rejected.engine, from_start[at][1])
        effects |= {one: Effect(TRAP, taken[one.engine]) for one in blind if one.engine in taken}
        for rejected, effect in effects.items():
            for columns, at in self._pending[rejected]:
                columns.note(at, effect)

    def _effects(self, rejected: Sequence[Rejected]) -> dict[Rejected, Effect]:
        searches = [_Search(one) for one in rejected]
        self._after_beginning(searches, 1)
        left = _open(searches)
        self._after_beginning(left[:_FULLY], MOST)
        self._after_beginning(left[_FULLY:], _FEW, share=0.5)
        left = _open(left)
        self._from_start(left)
        for one in (left := _open(left)):
            one.effect = self._charged(one)
        self._mend(_open(left))
        return {one.rejected: one.effect or Effect(UNCLEAR) for one in searches}

    def _after_beginning(
        self, searches: Sequence[_Search], most: int, *, share: float = 1.0
    ) -> None:
        """Ask for spellings after what is consumed; one that is taken is only a spelling lost.

        For `most` of each value, or as many as a `share` of the engine's room holds. The ways to
        write that an engine has taken in this case come first.
        """
        sizes: Counter[int] = Counter()
        for one in searches:
            sizes[one.rejected.engine] += len(one.rejected.text)
        each = {
            engine: min(most, max(1, int(share * self._left(engine)) // max(1, size)))
            for engine, size in sizes.items()
        }
        asked: list[tuple[_Search, bytes]] = []
        spelled: list[Way] = []
        for one in searches:
            text, engine = one.rejected.text, one.rejected.engine
            if self._left(engine) <= 0:
                continue
            known = {refusal.text for refusal in one.refused}
            first = list(self._taken.get(engine, ()))[:_FEW] if most > 1 else ()
            begun = one.rejected.written
            usual = usual_spellings(text, begun, self._orders, each[engine], first)
            one.enough |= not len(usual) == each[engine] < _FEW
            for spelling, way in usual.items():
                if spelling not in known:
                    self._written[engine] += len(spelling)
                    asked.append((one, spelling))
                    spelled.append(way)
        for at, refusal in self._answers(asked).items():
            one, text = asked[at]
            if refusal is not None:
                one.refused.append(refusal)
            elif one.effect is None:
                one.effect = Effect(SPELLING, text, len(one.refused))
                self._taken.setdefault(one.rejected.engine, {})[spelled[at]] = None
        if most > 1:
            self._reorder([one for one in _open(searches) if one.refused])

    def _reorder(self, searches: Sequence[_Search]) -> None:
        """Ask for members in other orders, one key after another, as refusals lead there.

        Half the room is left for what else has to be asked.
        """
        orders = [
            OrderSearch([(r.text, self._fault(r)[0]) for r in one.refused], one.rejected.written)
            for one in searches
        ]
        least = {one.rejected.engine: self._left(one.rejected.engine) // 2 for one in searches}
        while True:
            asked: list[tuple[_Search, bytes]] = []
            attempts: list[tuple[OrderSearch, Try]] = []
            for one, order in zip(searches, orders, strict=True):
                engine = one.rejected.engine
                for attempt in order.tries() if one.effect is None else ():
                    if self._left(engine) <= least[engine]:
                        one.enough = False
                        break
                    self._written[engine] += len(attempt.text)
                    asked.append((one, attempt.text))
                    attempts.append((order, attempt))
            if not asked:
                break
            for at, refusal in self._answers(asked).items():
                one, text = asked[at]
                order, attempt = attempts[at]
                if refusal is not None:
                    order.refuse(attempt, self._fault(refusal)[0])
                elif one.effect is None:
                    one.effect = Effect(SPELLING, text, len(one.refused))

    def _left(self, engine: int) -> int:
        """The bytes that an engine may still be asked about."""
        return (_SLOW_ROOM if engine in self._slow else _ROOM) - self._written[engine]

    def _from_start(self, searches: Sequence[_Search]) -> None:
        """Ask for whole texts, once for each engine and value."""
        new: dict[tuple[int, str], _Search] = {}
        for one in searches:
            if one.value not in self._whole:
                new.setdefault(one.value, _Search(replace(one.rejected, tokens=(), written=0)))
        fully = max(_FULLY - len(self._whole), 0)
        self._after_beginning(list(new.values())[:fully], MOST)
        self._after_beginning(list(new.values())[fully:], _FEW)
        self._whole |= new
        taken: list[tuple[_Search, bytes]] = []
        for one in searches:
            whole = self._whole[one.value]
            one.from_start = whole.refused
            if whole.effect is not None:
                taken.append((one, whole.effect.spelling))
            elif not whole.refused:  # the engine failed, or was not asked
                one.effect = Effect(UNCLEAR)
        self._trapped(taken)

    def _trapped(self, taken: Sequence[tuple[_Search, bytes]]) -> None:
        """Tell traps from spellings, given what is taken from the start.

        Where it goes on from the beginning it is tried there, too.
        """
        asked: list[tuple[_Search, bytes]] = []
        for one, text in taken:
            begun = one.rejected.text[: one.rejected.written]
            one.effect = Effect(TRAP if one.enough else UNCLEAR, text, len(one.refused))
            if text.startswith(begun) and text not in {refusal.text for refusal in one.refused}:
                one.effect = Effect(UNCLEAR)
                asked.append((one, text))
        for at, refusal in self._answers(asked).items():
            one, text = asked[at]
            if refusal is None:
                one.effect = Effect(SPELLING, text, len(one.refused))
            elif one.enough:
                one.effect = Effect(TRAP, text, len(one.refused) + 1)

    def _fault(self, refusal: _Refusal) -> Part:
        """The bytes of the token that is refused, one byte wherever they were tried apart."""
        at = self._size(refusal.tokens[: refusal.allowed])
        return at, at + max(self._size(refusal.tokens[refusal.allowed :][:1]), 1)

    def _charged(self, search: _Search) -> Effect | None:
        """`LOST_VALUE` where all is refused at the place charged or before it; else None."""
        rejected, whole = search.rejected, self._whole[search.value]
        if not (search.enough and whole.enough):  # there was no room to ask
            return Effect(UNCLEAR, asked=len(search.refused) + len(search.from_start))
        place = _place(rejected.text, rejected.fault)
        if place.part == _BLANK or not search.refused or not search.from_start:
            return None
        asked, there = (*search.refused, *search.from_start), False
        for one in asked:
            begin, end = self._fault(one)
            region = _region(one.text, place)
            if region is None or begin >= region[1]:
                return None
            there = there or end > region[0]
        return Effect(LOST_VALUE, asked=len({one.text for one in asked})) if there else None

    def _mend(self, searches: Sequence[_Search]) -> None:
        """Where another place is what the engine refuses, ask about values without it."""
        for one in searches:
            one.effect = Effect(UNCLEAR, asked=len(one.refused) + len(one.from_start))
        last = [(one, one) for one in searches]
        for _ in range(_MENDS):
            new = [(one, _Search(other)) for one, old in last if (other := self._mended(old))]
            self._after_beginning([mended for _, mended in new], MOST)
            self._from_start(_open(mended for _, mended in new))
            for one, mended in new:
                place = _place(one.rejected.text, one.rejected.fault)
                if place.part != _BLANK:  # no value is lost for want of white space
                    mended.effect = mended.effect or self._charged(mended)
                if mended.effect is not None and mended.effect.name != UNCLEAR:
                    one.effect = mended.effect
            last = [pair for pair in new if pair[1].effect is None]

    def _mended(self, search: _Search) -> Rejected | None:
        """The same rejection in a valid text without what else is refused; None without one."""
        rejected = search.rejected
        charged = _place(rejected.text, rejected.fault)
        if not search.refused:
            return None
        last = max(search.refused, key=self._fault)
        other = _place(last.text, self._fault(last)[0])
        if other.path == charged.path[: len(other.path)] and charged.part != _BLANK:
            return None
        texts = list(_without(rejected.text, other.path, rejected.written))
        rulings = self._judge.judge(texts)
        fit = [one for one, ruling in zip(texts, rulings, strict=True) if ruling.verdict == VALID]
        region = _region(fit[0], charged) if fit else None
        return None if region is None else replace(rejected, text=fit[0], fault=region[0])

    def _answers(self, asked: Sequence[tuple[_Search, bytes]]) -> dict[int, _Refusal | None]:
        """How each text is refused after what is consumed, by its number; None where it is taken.

        What is refused at a token of several bytes is tried again byte by byte from there: a model
        may write it so. The texts of an engine that fails are missing.
        """
        tokens = {
            at: (
                *one.rejected.tokens,
                *self._tokens_of(text[self._size(one.rejected.tokens) :]),
                self._vocabulary.eos,
            )
            for at, (one, text) in enumerate(asked)
        }
        found = self._refusals(asked, tokens)
        bytewise = {
            at: apart
            for at, one in found.items()
            if one
            and asked[at][0].rejected.engine not in self._slow
            and (apart := self._vocabulary.apart(one.tokens, one.allowed))
        }
        return found | self._refusals(asked, bytewise)

    def _refusals(
        self, asked: Sequence[tuple[_Search, bytes]], tokens: Mapping[int, tuple[int, ...]]
    ) -> dict[int, _Refusal | None]:
        """As `_answers`, of the texts that are given in tokens."""
        numbers: dict[int, list[int]] = {one.rejected.engine: [] for one, _ in asked}
        for at in tokens:
            numbers[asked[at][0].rejected.engine].append(at)
        found: dict[int, _Refusal | None] = {}
        for first in range(0, max(map(len, numbers.values()), default=0), _BATCH):
            parts = {
                engine: some[first : first + _BATCH]
                for engine, some in numbers.items()
                if len(some) > first
            }
            answers = self._ask(
                {
                    engine: Follow(wire.Ragged.of_ints([tokens[at] for at in some]), at=0)
                    for engine, some in parts.items()
                }
            )
            for engine, some in parts.items():
                if engine not in answers:
                    for at in numbers.pop(engine):
                        found.pop(at, None)
                    continue
                for at, count in zip(some, answers[engine].values.tolist(), strict=True):
                    whole = count == len(tokens[at])
                    found[at] = None if whole else _Refusal(asked[at][1], tokens[at], count)
        return found


_Path = tuple[str | int, ...]


class _Place(NamedTuple):
    """A place of a value: the steps to it, and which part of it."""

    path: _Path
    part: str


_BLANK: Final = "blank"
"""White space between tokens: no value is lost for want of it."""


def _place(text: bytes, offset: int) -> _Place:
    """The innermost member, item or scalar to which the byte at an offset belongs."""
    node: ValueSpan = root_of(text)
    path: _Path = ()
    blank = text[offset : offset + 1] in (b" ", b"\t", b"\n", b"\r")
    while True:
        inside = next((one for one in enumerate(node.entries) if offset < one[1].value.end), None)
        if inside is None:
            if node.kind in ("object", "array"):
                return _Place(path, _BLANK if blank else "close")
            return _Place(path, _BLANK if blank and not node.start <= offset < node.end else "")
        number, entry = inside
        path = (*path, entry.name if node.kind == "object" else number)
        if offset < entry.value.start:
            of_object = node.kind == "object"
            in_key = of_object and entry.key.start <= offset < entry.key.end
            named = "key" if of_object else "begin"
            return _Place(path, _BLANK if blank and not in_key else named)
        node = entry.value


def value_place(text: bytes, offset: int) -> tuple[_Path, str]:
    """Where in a value a byte of its text is; all items of an array are one place."""
    path, part = _place(text, offset)
    return tuple("[]" if isinstance(step, int) else step for step in path), part


def _entry(text: bytes, path: _Path) -> tuple[Entry, Entry | None] | None:
    """The member or item that a path, not empty, leads to, and the next; None without any."""
    entries, found = root_of(text).entries, None
    for step in path:
        of_array = bool(entries) and entries[0].key is entries[0].value
        names = [at if of_array else one.name for at, one in enumerate(entries)]
        if step not in names:
            return None
        at = names.index(step)
        found = entries[at], entries[at + 1] if at + 1 < len(entries) else None
        entries = found[0].value.entries
    return found


def _region(text: bytes, place: _Place) -> Part | None:
    """The bytes of a place in another spelling of the value; None where it is not there.

    A bracket that opens belongs to what comes first in it.
    """
    node, end = root_of(text), len(text) + 1  # after the whole value the end belongs to it
    if place.path:
        found = _entry(text, place.path)
        if found is None:
            return None
        entry, node = found[0], found[0].value
        end = node.end
        if place.part in ("key", "begin"):
            opening = len(text[: entry.key.start].rstrip()) - 1
            end = entry.key.end if place.part == "key" else entry.key.start + 1
            return (entry.comma if entry.comma >= 0 else opening), end
    closing = place.part == "close" and node.entries
    return (node.end - 1 if closing else node.start), end


def _without(text: bytes, path: _Path, written: int) -> Iterator[bytes]:
    """The text without a member or item, or with another value there; what is written stays."""
    found = _entry(text, path) if path else None
    if found is None or found[0].value.start < written:
        return
    entry, following = found
    begin = entry.begin[0]
    end = entry.value.end if entry.comma >= 0 or following is None else following.key.start
    if begin >= written:
        yield text[:begin] + text[end:]
    for other in _OTHERS:
        if other != entry.value.raw:
            yield text[: entry.value.start] + other + text[entry.value.end :]
