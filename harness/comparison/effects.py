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
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.engines.requests import Follow
from harness.jsontext.spans import Part, ValueSpan, root_of
from harness.jsontext.strict_json import JsonError
from harness.jsontext.usual_spellings import (
    MOST,
    Order,
    Way,
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
_FULLY, _FEW = 48, 6
"""So many searches of a case try every spelling; the others the likeliest."""
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


class Begun(NamedTuple):
    """What an engine consumed of a text: tokens, and how many bytes they spell."""

    tokens: tuple[int, ...]
    written: int

    def after(self, token: int, size: int) -> Begun:
        """What it has consumed one token later."""
        return Begun((*self.tokens, token), self.written + size)


@dataclass(frozen=True)
class Rejected:
    """A valid text that an engine does not take to its end; `fault` is the byte it refuses."""

    engine: int
    text: bytes
    begun: Begun
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

    `tokens_of` cuts a text into the tokenizer's own tokens, of which `sizes` has the lengths in
    bytes; `spelled` makes tokens of single bytes of one, and `eos` ends a text. Engines with `slow`
    masks are asked less.
    """

    schema: Any
    judge: Judge
    tokens_of: Callable[[bytes], Sequence[int]]
    sizes: Sequence[int]
    spelled: Callable[[int], Sequence[int]]
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


@dataclass(frozen=True)
class _Refusal:
    """A text, as tokens with the end, of which so many are `allowed`."""

    text: bytes
    tokens: tuple[int, ...]
    allowed: int


@dataclass
class _Search:
    """One value after one beginning: what is known of its spellings.

    `refused` are spellings after the beginning that are refused, `from_start` whole ones.
    """

    rejected: Rejected
    refused: list[_Refusal] = field(default_factory=list)
    from_start: list[_Refusal] = field(default_factory=list)
    effect: Effect | None = None


class _Asking:
    """Asks the engines of one case about many values at once, the likeliest spelling first."""

    def __init__(
        self, case: CaseEffects, ask: Ask, orders: Callable[[int], Sequence[Order]]
    ) -> None:
        self._case, self._ask, self._orders = case, ask, orders
        self._whole: dict[tuple[int, str], tuple[bytes, list[_Refusal]]] = {}
        self._bytes: dict[tuple[int, _Refusal], Part] = {}
        self._room = dict.fromkeys(case.slow, _SLOW_ROOM)
        self._taken: dict[int, dict[Way, None]] = {}

    def effects(self, rejected: Sequence[Rejected]) -> dict[Rejected, Effect]:
        """The effect of each rejection; those of one value at one place share it."""
        alike: dict[tuple[int, str, Begun, _Spot], list[Rejected]] = {}
        for one in rejected:
            spot = _spot(one.text, one.fault)
            key = (one.engine, self._case.key(one.text), one.begun, spot)
            alike.setdefault(key, []).append(one)
        searches = [_Search(some[0]) for some in alike.values()]
        self._search(searches)
        return {
            one: search.effect or Effect(UNCLEAR)
            for search, some in zip(searches, alike.values(), strict=True)
            for one in some
        }

    def taken_of(self, engines: Sequence[int], texts: Sequence[bytes]) -> dict[int, bytes]:
        """Of each engine one of some texts that it takes from the start."""
        lists = {one: [((), text) for text in texts] for one in engines}
        found: dict[int, bytes] = {}
        for engine, some in self._followed(lists).items():
            for text, refusal in zip(texts, some, strict=True):
                if refusal is None:
                    found.setdefault(engine, text)
        return found

    def _search(self, searches: Sequence[_Search]) -> None:
        """Fill in the effects."""
        self._try(searches, most=1)
        left = [one for one in searches if one.effect is None]
        for few, some in ((False, left[:_FULLY]), (True, left[_FULLY:])):
            self._try(some, most=_FEW if few else MOST)
        left = [one for one in left if one.effect is None]
        self._from_start(left)
        left = [one for one in left if one.effect is None]
        for one in left:
            one.effect = self._charged(one)
        self._mend([one for one in left if one.effect is None])

    def _try(self, searches: Sequence[_Search], most: int = MOST) -> None:
        """Ask for spellings after what is consumed; one that is taken is only a spelling lost."""
        lists: dict[int, list[tuple[tuple[int, ...], bytes]]] = {}
        asked: dict[int, list[tuple[_Search, Way]]] = {}
        for one in searches:
            rejected = one.rejected
            known = {refusal.text for refusal in one.refused}
            for text, way in self._usual(rejected, rejected.begun.written, most).items():
                if text in known:
                    continue
                lists.setdefault(rejected.engine, []).append((rejected.begun.tokens, text))
                asked.setdefault(rejected.engine, []).append((one, way))
        for engine, answers in self._followed(lists).items():
            for (one, way), (_, text), refusal in zip(
                asked[engine], lists[engine], answers, strict=True
            ):
                if refusal is not None:
                    one.refused.append(refusal)
                elif one.effect is None:
                    one.effect = Effect(SPELLING, text, len(one.refused))
                    self._taken.setdefault(engine, {})[way] = None

    def _usual(self, rejected: Rejected, written: int, most: int) -> dict[bytes, Way]:
        """The spellings to ask for; the ways that an engine has taken in this case come first."""
        first = list(self._taken.get(rejected.engine, ()))[:_FEW]
        return usual_spellings(
            rejected.text, written, self._orders(rejected.engine), most, first if most > 1 else ()
        )

    def _from_start(self, searches: Sequence[_Search]) -> None:
        """Ask for whole texts, once for each engine and value."""
        new: dict[tuple[int, str], Mapping[bytes, Way]] = {}
        for one in searches:
            key = one.rejected.engine, self._case.key(one.rejected.text)
            if key not in self._whole and key not in new:
                most = MOST if len(self._whole) + len(new) < _FULLY else _FEW
                new[key] = self._usual(one.rejected, 0, most)
        lists: dict[int, list[tuple[tuple[int, ...], bytes]]] = {}
        for (engine, _), texts in new.items():
            lists.setdefault(engine, []).extend(((), text) for text in texts)
        answers = {engine: iter(some) for engine, some in self._followed(lists).items()}
        for (engine, key_), texts in new.items():
            if engine in answers:
                each = [(text, next(answers[engine])) for text in texts]
                taken = next((text for text, refusal in each if refusal is None), b"")
                if taken:
                    self._taken.setdefault(engine, {})[texts[taken]] = None
                refused = [refusal for _, refusal in each if refusal is not None]
                self._whole[engine, key_] = taken, refused
        for one in searches:
            known = self._whole.get((one.rejected.engine, self._case.key(one.rejected.text)))
            if known is None:
                one.effect = Effect(UNCLEAR)
                continue
            taken, one.from_start = known
            if taken:
                one.effect = Effect(TRAP, taken, len(one.refused))
        self._look_closer([one for one in searches if one.effect is None])

    def _look_closer(self, searches: Iterable[_Search]) -> None:
        """Find the byte at which texts are refused: their token may belong to several places."""
        asked: dict[int, dict[_Refusal, tuple[int, ...]]] = {}
        for one in searches:
            engine = one.rejected.engine
            for refusal in (*one.refused, *one.from_start):
                if (engine, refusal) in self._bytes or not refusal.tokens:
                    continue
                token = refusal.tokens[refusal.allowed]
                spelled = self._case.spelled(token)
                at = self._size(refusal.tokens[: refusal.allowed])
                self._bytes[engine, refusal] = at, at + max(self._case.sizes[token], 1)
                if len(spelled) > 1 and engine not in self._case.slow:
                    begun = (*refusal.tokens[: refusal.allowed], *spelled)
                    asked.setdefault(engine, {})[refusal] = begun
        for engine, counts in self._counts(
            {engine: list(some.values()) for engine, some in asked.items()}
        ).items():
            for refusal, count in zip(asked[engine], counts, strict=True):
                at, end = self._bytes[engine, refusal]
                byte = min(at + count - refusal.allowed, end - 1)
                self._bytes[engine, refusal] = byte, byte + 1

    def _charged(self, search: _Search) -> Effect | None:
        """`LOST_VALUE` where all is refused at the place charged or before it; else None."""
        rejected = search.rejected
        spot = _spot(rejected.text, rejected.fault)
        if spot.part == _BLANK:
            return None
        there = False
        tried = [one for one in (*search.refused, *search.from_start) if one.tokens]
        for one in tried:
            begin, end = self._bytes[rejected.engine, one]
            region = _region(one.text, spot)
            if region is None or begin >= region[1]:
                return None
            there = there or end > region[0]
        asked = len({one.text for one in tried})
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
        tried = [one for one in search.refused if one.tokens]
        if not tried:
            return None
        bytes_ = self._bytes
        last = max(tried, key=lambda one: bytes_[rejected.engine, one])
        other = _spot(last.text, bytes_[rejected.engine, last][0])
        if other.path == spot.path[: len(other.path)] and spot.part != _BLANK:
            return None
        texts = list(_without(rejected.text, other.path, rejected.begun.written))
        rulings = self._case.judge.judge(texts)
        fit = [one for one, said in zip(texts, rulings, strict=True) if said.verdict == VALID]
        if not fit:
            return None
        region = _region(fit[0], spot)
        return None if region is None else replace(rejected, text=fit[0], fault=region[0])

    def _followed(
        self, lists: Mapping[int, Sequence[tuple[tuple[int, ...], bytes]]]
    ) -> dict[int, list[_Refusal | None]]:
        """Per engine and text how it is refused; None where it is taken to its end.

        Each text comes with the tokens of its beginning. An engine that fails is missing; one with
        slow masks is asked about some, the others are refused without a token.
        """
        tokens = {
            engine: [
                (*begun, *self._case.tokens_of(text[self._size(begun) :]), self._case.eos)
                for begun, text in some
            ]
            for engine, some in lists.items()
        }
        for engine, each in tokens.items():
            if engine in self._room:
                tokens[engine] = [one if self._affords(engine, one) else () for one in each]
        return {
            engine: [
                None if one and count == len(one) else _Refusal(text, one, count)
                for (_, text), one, count in zip(lists[engine], tokens[engine], counts, strict=True)
            ]
            for engine, counts in self._counts(tokens).items()
        }

    def _counts(self, tokens: Mapping[int, Sequence[Sequence[int]]]) -> dict[int, list[int]]:
        """How many tokens of each text are allowed, by engine; those that fail are missing."""
        found: dict[int, list[int]] = {engine: [] for engine in tokens}
        for first in range(0, max(map(len, tokens.values()), default=0), _BATCH):
            asks = {
                engine: Follow(wire.Ragged.of_ints(some[first : first + _BATCH]), at=0)
                for engine, some in tokens.items()
                if engine in found and len(some) > first
            }
            answers = self._ask(asks)
            for engine in asks:
                if engine in answers:
                    found[engine] += answers[engine].values.tolist()
                else:
                    del found[engine]
        return found

    def _affords(self, engine: int, tokens: Sequence[int]) -> bool:
        self._room[engine] -= len(tokens)
        return self._room[engine] >= 0

    def _size(self, tokens: Sequence[int]) -> int:
        return sum(map(self._case.sizes.__getitem__, tokens))


@dataclass(frozen=True)
class _Spot:
    """A place of a value: the steps to it, and which part of it."""

    path: tuple[str | int, ...]
    part: str


_BLANK: Final = "blank"
"""White space between tokens: no value is lost for want of it."""


def _spot(text: bytes, offset: int) -> _Spot:
    """The innermost member, item or scalar to which the byte at an offset belongs."""
    node = root_of(text)
    path: tuple[str | int, ...] = ()
    blank = text[offset : offset + 1] in (b" ", b"\t", b"\n", b"\r")
    while True:
        inside = next((one for one in enumerate(node.entries) if offset < one[1].value.end), None)
        if inside is None:
            if node.kind not in ("object", "array"):
                return _Spot(path, _BLANK if blank and not node.start <= offset < node.end else "")
            return _Spot(path, _BLANK if blank else "close")
        number, entry = inside
        path = (*path, entry.name if node.kind == "object" else number)
        if offset < entry.value.start:
            in_key = entry.key.start <= offset < entry.key.end and node.kind == "object"
            if blank and not in_key:
                return _Spot(path, _BLANK)
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

        nothing: dict[str, Any] = {"properties": {}}
        best = max(declared, key=shared, default=nothing)
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
