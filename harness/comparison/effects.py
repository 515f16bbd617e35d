"""What a proven verdict costs a user: a value, or only one spelling of it.

An acceptance lets an invalid value through, one that only `format` forbids, or what is no JSON. Of
a rejection the text alone does not tell: the engine is asked for the usual spellings of the same
value (`harness.jsontext.usual_spellings`), first after the tokens that it has already consumed,
then from the start. If it takes one of the first, a spelling is lost; if it takes one of the
others, it has led the way into a trap; if none, the value is lost, provided that it is the place
charged with the error where they are refused. Where another place is, it is mended first.

A spelling that is taken is a proof, and stored. That none is taken is no proof for every spelling
there is, so it is stored how many were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.engines.requests import Follow
from harness.jsontext.spans import Part, ValueSpan, root_of
from harness.jsontext.strict_json import JsonError
from harness.jsontext.usual_spellings import (
    MOST,
    Order,
    as_given,
    ordered_as,
    orders_of,
    usual_spellings,
    value_key,
)
from harness.runs.tables import Words
from harness.validators.judge import VALID, Judge
from harness.verdict_kinds import (
    EFFECTS,
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
_SLOW_ROOM: Final = 3_000
"""Tokens that an engine with slow masks is asked about in a case."""
_MENDS: Final = 3
"""Other places of a value that are mended, one after another."""
_OTHERS: Final = (b"null", b"true", b"0", b"1", b'""', b'"a"', b"[]", b"{}")
"""What may stand at a place that is mended."""


@dataclass(frozen=True)
class Effect:
    """What a verdict costs.

    `spelling` is the text that proves it where one is taken; `asked` how many were not.
    """

    name: str
    spelling: bytes = b""
    asked: int = 0


@dataclass(frozen=True)
class Rejected:
    """A valid text that an engine does not take, of which it consumed `tokens`.

    `written` bytes are what they spell; `fault` is the offset of the byte that is refused.
    """

    engine: int
    text: bytes
    tokens: tuple[int, ...]
    written: int
    fault: int


@dataclass
class EffectColumns:
    """The columns of some rows, filled in when the case has been asked about."""

    effects: npt.NDArray[np.int8]
    spellings: list[bytes]
    asked: npt.NDArray[np.int32]

    @classmethod
    def of(cls, count: int) -> EffectColumns:
        """Of so many rows, without an effect."""
        return cls(np.zeros(count, np.int8), [b""] * count, np.zeros(count, np.int32))

    def note(self, at: int, effect: Effect) -> None:
        """Say what a row's effect is."""
        self.effects[at] = EFFECTS.index(effect.name)
        self.spellings[at], self.asked[at] = effect.spelling, effect.asked

    def columns(self) -> Mapping[str, Any]:
        """By their names in the tables."""
        return {
            "effect": Words(self.effects, EFFECTS),
            "spelling": self.spellings,
            "spellings_asked": self.asked,
        }


def effect_of_acceptance(kind: str, reason: str, *, format_alone: bool) -> Effect:
    """Of an acceptance; `reason` is what the validators say beside the keyword."""
    if reason == "not_json" or kind != FALSE_ACCEPTANCE.name:
        return Effect(NOT_JSON)
    return Effect(FORMAT_ONLY if format_alone else INVALID_VALUE)


Ask = Callable[[Mapping[int, Follow]], Mapping[int, Any]]
"""Asks engines, by number; those that fail are missing in what comes back."""


@dataclass
class CaseEffects:
    """The rejections of one case, gathered while it runs and asked about in its end.

    `tokens_of` cuts a text into the tokenizer's own tokens, of which `sizes` has the bytes; `eos`
    ends a text. Engines with `slow` masks are asked less.
    """

    schema: Any
    judge: Judge
    tokens_of: Callable[[bytes], Sequence[int]]
    sizes: Sequence[int]
    eos: int
    slow: frozenset[int]
    _pending: dict[Rejected, list[tuple[EffectColumns, int]]] = field(default_factory=dict)
    _dead: list[tuple[int, EffectColumns, int]] = field(default_factory=list)
    _keys: dict[bytes, str] = field(default_factory=dict)

    def add(self, rejected: Rejected, columns: EffectColumns, at: int) -> None:
        """Gather one rejection, which is the row `at` of its columns."""
        columns.note(at, Effect(UNCLEAR))
        self._pending.setdefault(rejected, []).append((columns, at))

    def add_dead_end(self, engine: int, columns: EffectColumns, at: int) -> None:
        """Gather a dead end, after which no value is known."""
        columns.note(at, Effect(UNCLEAR))
        self._dead.append((engine, columns, at))

    def decide(
        self, ask: Ask, samples: Iterable[tuple[int, bytes]], valid: Sequence[bytes]
    ) -> None:
        """Ask the engines, and fill in the columns.

        Args:
            samples: Texts that engines wrote themselves, by engine: they show an order of members.
            valid: Valid texts of the case: an engine that takes none of them has no way out of a
                dead end to be blamed for.
        """
        asking = _Asking(self, ask, _orders(self.schema, samples))
        effects = asking.effects(list(self._pending))
        for rejected, rows in self._pending.items():
            for columns, at in rows:
                columns.note(at, effects[rejected])
        engines = sorted({engine for engine, _, _ in self._dead})
        taken = asking.taken_of(engines, valid)
        for engine, columns, at in self._dead:
            if engine in taken:
                columns.note(at, Effect(TRAP, taken[engine]))

    def key(self, text: bytes) -> str:
        """What is the same for texts of one value."""
        if text not in self._keys:
            self._keys[text] = value_key(text)
        return self._keys[text]


@dataclass
class _Search:
    """One value after one beginning: what is known of its spellings."""

    rejected: Rejected
    refused: list[tuple[bytes, Part]] = field(default_factory=list)
    """Spellings after the beginning that are refused, and the token at which they are."""
    from_start: list[tuple[bytes, Part]] = field(default_factory=list)
    effect: Effect | None = None
    mends: int = 0


class _Asking:
    """Asks the engines of one case about many values at once, the likeliest spelling first."""

    def __init__(
        self, case: CaseEffects, ask: Ask, orders: Callable[[int], Sequence[Order]]
    ) -> None:
        self._case, self._ask, self._orders = case, ask, orders
        self._whole: dict[tuple[int, str], tuple[bytes, list[tuple[bytes, Part]]]] = {}
        self._room = dict.fromkeys(case.slow, _SLOW_ROOM)

    def effects(self, rejected: Sequence[Rejected]) -> dict[Rejected, Effect]:
        """The effect of each rejection; those of one value after one beginning share it."""
        alike: dict[tuple[int, bytes, str, tuple[int, ...]], list[Rejected]] = {}
        for one in rejected:
            key = (one.engine, one.text[: one.written], self._case.key(one.text), one.tokens)
            alike.setdefault(key, []).append(one)
        searches = [_Search(some[0]) for some in alike.values()]
        self._search(searches)
        found = {}
        for search, some in zip(searches, alike.values(), strict=True):
            lost = search.effect is None or search.effect.name in (LOST_VALUE, UNCLEAR)
            for one in some:  # where a value is lost, the place that is charged decides
                mine = search.effect
                if lost and one is not search.rejected:
                    mine = self._charged(replace(search, rejected=one))
                found[one] = mine or Effect(UNCLEAR)
        return found

    def taken_of(self, engines: Sequence[int], texts: Sequence[bytes]) -> dict[int, bytes]:
        """Of each engine one of some texts that it takes from the start."""
        lists = {one: [((), text) for text in texts] for one in engines}
        found: dict[int, bytes] = {}
        for engine, some in self._followed(lists).items():
            for text, refused in zip(texts, some, strict=True):
                if refused is None:
                    found.setdefault(engine, text)
        return found

    def _search(self, searches: Sequence[_Search]) -> None:
        """Fill in the effects."""
        self._try(searches, most=1)
        left = [one for one in searches if one.effect is None]
        self._try(left)
        left = [one for one in left if one.effect is None]
        self._from_start(left)
        left = [one for one in left if one.effect is None]
        for one in left:
            one.effect = self._charged(one)
        self._mend([one for one in left if one.effect is None])

    def _try(self, searches: Sequence[_Search], most: int = MOST) -> None:
        """Ask for spellings after what is consumed; one that is taken is only a spelling lost."""
        lists: dict[int, list[tuple[tuple[int, ...], bytes]]] = {}
        asked: dict[int, list[tuple[_Search, bytes]]] = {}
        for one in searches:
            rejected = one.rejected
            known = {text for text, _ in one.refused}
            orders = self._orders(rejected.engine)
            for text in usual_spellings(rejected.text, rejected.written, orders, most):
                if text in known:
                    continue
                lists.setdefault(rejected.engine, []).append((rejected.tokens, text))
                asked.setdefault(rejected.engine, []).append((one, text))
        for engine, answers in self._followed(lists).items():
            for (one, text), refused in zip(asked[engine], answers, strict=True):
                if refused is not None:
                    one.refused.append((text, refused))
                elif one.effect is None:
                    one.effect = Effect(SPELLING, text, len(one.refused))

    def _from_start(self, searches: Sequence[_Search]) -> None:
        """Ask for whole texts, once for each engine and value."""
        new: dict[tuple[int, str], list[bytes]] = {}
        for one in searches:
            key = one.rejected.engine, self._case.key(one.rejected.text)
            if key not in self._whole and key not in new:
                orders = self._orders(one.rejected.engine)
                new[key] = usual_spellings(one.rejected.text, 0, orders)
        lists: dict[int, list[tuple[tuple[int, ...], bytes]]] = {}
        for (engine, _), texts in new.items():
            lists.setdefault(engine, []).extend(((), text) for text in texts)
        answers = {engine: iter(some) for engine, some in self._followed(lists).items()}
        for (engine, key_), texts in new.items():
            if engine in answers:
                each = [(text, next(answers[engine])) for text in texts]
                taken = next((text for text, refused in each if refused is None), b"")
                refused = [(text, at) for text, at in each if at is not None]
                self._whole[engine, key_] = taken, refused
        for one in searches:
            known = self._whole.get((one.rejected.engine, self._case.key(one.rejected.text)))
            if known is None:
                one.effect = Effect(UNCLEAR)
                continue
            taken, one.from_start = known
            if taken:
                one.effect = Effect(TRAP, taken, len(one.refused))

    def _charged(self, search: _Search) -> Effect | None:
        """`LOST_VALUE` where all is refused at the place charged or before it; else None."""
        rejected = search.rejected
        spot = _spot(rejected.text, rejected.fault)
        there = False
        tried = {*search.refused, *search.from_start}
        for text, (begin, end) in tried:
            region = _region(text, spot)
            if region is None or begin >= region[1]:
                return None
            there = there or end > region[0]
        asked = len({text for text, _ in tried})
        return Effect(LOST_VALUE, asked=asked) if there else None

    def _mend(self, searches: Sequence[_Search]) -> None:
        """Where another place is what the engine refuses, ask about values without it."""
        left = list(searches)
        for one in left:
            one.effect = Effect(UNCLEAR, asked=len(one.refused) + len(one.from_start))
        for _ in range(_MENDS):
            mended = [(one, other) for one in left if (other := self._mended(one)) is not None]
            if not mended:
                return
            again = [_Search(other) for _, other in mended]
            self._try(again)
            self._from_start([one for one in again if one.effect is None])
            left = []
            for (one, _), new in zip(mended, again, strict=True):
                found = new.effect or self._charged(new)
                if found is None:
                    one.rejected, one.refused, one.from_start = (
                        *(new.rejected, new.refused, new.from_start),
                    )
                    left.append(one)
                elif found.name != UNCLEAR:
                    one.effect = found

    def _mended(self, search: _Search) -> Rejected | None:
        """The same rejection in a valid text without what else is refused; None without one."""
        rejected = search.rejected
        spot = _spot(rejected.text, rejected.fault)
        if not search.refused:
            return None
        text, refused = max(search.refused, key=lambda one: one[1])
        other = _spot(text, refused[0])
        if other.path == spot.path[: len(other.path)]:
            return None
        texts = list(_without(rejected.text, other.path, rejected.written))
        rulings = self._case.judge.judge(texts)
        fit = [one for one, said in zip(texts, rulings, strict=True) if said.verdict == VALID]
        if not fit:
            return None
        region = _region(fit[0], spot)
        return None if region is None else replace(rejected, text=fit[0], fault=region[0])

    def _followed(
        self, lists: Mapping[int, Sequence[tuple[tuple[int, ...], bytes]]]
    ) -> dict[int, list[Part | None]]:
        """Per engine and text: the bytes of the token that is refused; None where none is.

        Each text comes with the tokens of its beginning. What an engine with slow masks is not
        asked any more, and one that fails, count as refused before the first byte.
        """
        found: dict[int, list[Part | None]] = {}
        tokens = {
            engine: [
                (*begun, *self._case.tokens_of(text[self._size(begun) :]), self._case.eos)
                for begun, text in some
            ]
            for engine, some in lists.items()
        }
        for engine, some in tokens.items():
            if engine in self._room:
                tokens[engine] = [one if self._affords(engine, one) else () for one in some]
        most = max(map(len, tokens.values()), default=0)
        answered: dict[int, list[int]] = {engine: [] for engine in tokens}
        for first in range(0, most, _BATCH):
            part = {
                engine: Follow(wire.Ragged.of_ints(some[first : first + _BATCH]), at=0)
                for engine, some in tokens.items()
                if engine in answered and len(some) > first
            }
            answers = self._ask(part)
            for engine in part:
                if engine in answers:
                    answered[engine] += answers[engine].values.tolist()
                else:
                    del answered[engine]
        for engine, counts in answered.items():
            found[engine] = [
                self._refused(some, count)
                for some, count in zip(tokens[engine], counts, strict=True)
            ]
        return found

    def _affords(self, engine: int, tokens: Sequence[int]) -> bool:
        self._room[engine] -= len(tokens)
        return self._room[engine] >= 0

    def _size(self, tokens: Sequence[int]) -> int:
        return sum(self._case.sizes[token] for token in tokens)

    def _refused(self, tokens: Sequence[int], allowed: int) -> Part | None:
        if tokens and allowed == len(tokens):
            return None
        at = self._size(tokens[:allowed])
        return at, at + (self._case.sizes[tokens[allowed]] if allowed < len(tokens) - 1 else 1)


@dataclass(frozen=True)
class _Spot:
    """A place of a value: the steps to it, and which part of it."""

    path: tuple[str | int, ...]
    part: str


def _spot(text: bytes, offset: int) -> _Spot:
    """The innermost member, item or scalar to which the byte at an offset belongs."""
    node = root_of(text)
    path: tuple[str | int, ...] = ()
    while True:
        inside = next((one for one in enumerate(node.entries) if offset < one[1].value.end), None)
        if inside is None:
            return _Spot(path, "close" if node.entries or node.kind in ("object", "array") else "")
        number, entry = inside
        step = entry.name if node.kind == "object" else number
        path = (*path, step)
        if offset < entry.value.start:
            return _Spot(path, "key" if node.kind == "object" else "begin")
        node = entry.value


def _region(text: bytes, spot: _Spot) -> Part | None:
    """The bytes of a place in another spelling of the value; None where it is not there."""
    node: ValueSpan = root_of(text)
    entry = None
    if not spot.path:  # after the whole value the end of the text belongs to it
        return (node.end - 1 if spot.part == "close" else node.start), len(text) + 1
    for step in spot.path:
        entries = enumerate(node.entries)
        of_array = node.kind == "array"
        entry = next((one for at, one in entries if step == (at if of_array else one.name)), None)
        if entry is None:
            return None
        node = entry.value
    if spot.part in ("key", "begin") and entry is not None:
        begin = entry.comma if entry.comma >= 0 else entry.key.start
        return begin, entry.key.end if spot.part == "key" else entry.key.start + 1
    if spot.part == "close":
        return node.end - 1, node.end
    return node.start, node.end


def _without(text: bytes, path: tuple[str | int, ...], written: int) -> Iterator[bytes]:
    """The text without a member or item, or with another value there; what is written stays."""
    node, entry, following = root_of(text), None, None
    for step in path:
        entries = list(node.entries)
        of_array = node.kind == "array"
        at = next((i for i, one in enumerate(entries) if step == (i if of_array else one.name)), -1)
        if at < 0:
            return
        entry = entries[at]
        following = entries[at + 1] if at + 1 < len(entries) else None
        node = entry.value
    if entry is None or entry.value.start < written:
        return
    begin = entry.comma if entry.comma >= 0 else entry.key.start
    end = entry.value.end if entry.comma >= 0 or following is None else following.key.start
    if begin >= written:
        yield text[:begin] + text[end:]
    for other in _OTHERS:
        if other != entry.value.raw:
            yield text[: entry.value.start] + other + text[entry.value.end :]


def _orders(schema: Any, samples: Iterable[tuple[int, bytes]]) -> Callable[[int], Sequence[Order]]:
    """The orders in which to write members for an engine: as given, declared, as it writes them."""
    written: dict[int, dict[str, list[str]]] = {}
    for engine, text in samples:
        try:
            for path, names in orders_of(text).items():
                known = written.setdefault(engine, {}).setdefault(path, [])
                known += [name for name in names if name not in known]
        except (JsonError, ValueError, AssertionError, RecursionError):
            continue
    declared = list(_declared(schema, 0))
    every: list[Order] = [as_given, _as_declared(declared, required_first=False)]
    every.append(_as_declared(declared, required_first=True))

    def of(engine: int) -> Sequence[Order]:
        return [*every, ordered_as(written[engine])] if engine in written else every

    return of


def _as_declared(declared: Sequence[dict[str, Any]], *, required_first: bool) -> Order:
    def order(_path: str, names: Sequence[str]) -> Sequence[str]:
        def shared(one: dict[str, Any]) -> int:
            return sum(name in one["properties"] for name in names)

        best = max(declared, key=shared, default={"properties": {}})
        places = {name: at for at, name in enumerate(best["properties"])}
        required = best.get("required")
        first = required if required_first and isinstance(required, list) else ()
        last = len(places)
        return sorted(
            names,
            key=lambda name: (required_first and name not in first, places.get(name, last)),
        )

    return order


def _declared(schema: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The subschemas, of any place, that declare members."""
    if depth > 40:
        return
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for value in schema.values():
            yield from _declared(value, depth + 1)
    elif isinstance(schema, list):
        for value in schema:
            yield from _declared(value, depth + 1)
