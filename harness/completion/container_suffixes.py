"""How the open containers of a started document may be ended.

For each open container a *plan* says which members or items are still to come: those of the
reference at the same place, those that are required, or none; hints fill what is missing. The
plans of all open containers, rendered, are the text after the value that is being written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from functools import wraps
from typing import Any, Final, NamedTuple, TypeVar, TypeVarTuple

from harness.jsontext.lexer import Mode
from harness.jsontext.partial import (
    CONTAINER,
    Cursor,
    Frame,
    Frames,
    layout_of,
    load,
    path_of,
    settled,
    trace,
    unkept,
    with_value,
)
from harness.jsontext.pointers import MISSING
from harness.jsontext.remaining import LastWritten, close_text
from harness.schemas.schema import Path, count, listed, mapping, types
from harness.schemas.values import Values
from harness.schemas.variants import Variant, property_names

_MAX_VARIANTS = 24
_MAX_MEMO_BYTES = 20_000_000
_MAX_MEMO = 100_000


class Reuse(Enum):
    """Which members and items of the reference a plan takes over."""

    AFTER = "those after the last that is written"
    ALL = "all that are not written"
    NONE = "none; what is required is made from hints"
    NOTHING = "none, and nothing is added"


class ClosingPlan(NamedTuple):
    """How to end every open container."""

    reuse: Reuse
    variant: int = 0
    """Which of the variants of the schema to follow."""


CLOSING_PLANS: Final = (
    ClosingPlan(Reuse.AFTER),
    ClosingPlan(Reuse.NONE),
    ClosingPlan(Reuse.AFTER, 1),
    ClosingPlan(Reuse.NONE, 1),
    ClosingPlan(Reuse.ALL),
    ClosingPlan(Reuse.NONE, 2),
    ClosingPlan(Reuse.NONE, 3),
    ClosingPlan(Reuse.NOTHING),
)


Asked = TypeVar("Asked", bound="ContainerSuffixes")
Given = TypeVarTuple("Given")
Answer = TypeVar("Answer")


def memoised(method: Callable[[Asked, *Given], Answer]) -> Callable[[Asked, *Given], Answer]:
    """The method, its answers kept until `ContainerSuffixes.trim`."""

    @wraps(method)
    def asked(self: Asked, *given: *Given) -> Answer:
        mark = (method, given)
        if mark not in self.memo:
            self.memo[mark] = method(self, *given)
        answer: Answer = self.memo[mark]
        return answer

    return asked


class ContainerSuffixes:
    """The container suffixes for one schema and one reference, JSON; answers are memoised."""

    def __init__(self, values: Values, reference: bytes) -> None:
        self.values = values
        self.reference = reference
        self.layout = layout_of(reference)
        self.value = load(reference)
        self._ends = _value_ends(reference)
        self.memo: dict[Hashable, Any] = {}
        self._memo_size = 0

    def trim(self) -> None:
        """Forget what was memoised of passed positions once it is much."""
        if self._memo_size > _MAX_MEMO_BYTES or len(self.memo) > _MAX_MEMO:
            self._memo_size = 0
            self.memo.clear()

    @memoised
    def slot_schemas(self, frames: Frames) -> list[Any]:
        """The schemas of what is written next in the innermost container, or of the root."""
        if not frames:
            return [self.values.root]
        slot = frames[-1].slot
        if slot is None:
            return []
        children = [self.values.child(variant, slot) for variant in self.variants(frames)]
        return list({id(child): child for child in children if child is not False}.values())

    def variants(self, frames: Frames) -> tuple[Variant, ...]:
        """The variants of the innermost container that agree with its scalar members."""
        return self._variants((*frames[:-1], frames[-1]._replace(key=None, size=0)))

    @memoised
    def _variants(self, frames: Frames) -> tuple[Variant, ...]:
        top = frames[-1]
        outer = self.slot_schemas(frames[:-1])
        kind = "object" if top.is_object else "array"
        variants = [variant for schema in outer for variant in self.values.variants(schema)]
        variants = [one for one in variants if kind in (types(one) or (kind,))][:_MAX_VARIANTS]
        if len(variants) > 1:
            variants = [one for one in variants if self._agrees(one, top.members)] or variants
        return tuple(variants) or ({},)

    @memoised
    def canonical(self, frames: Frames) -> Frames:
        """The frames with names and values that decide nothing replaced by placeholders."""
        out: Frames = ()
        for frame in frames:
            out = (*out, self._plainer(out, frame) if frame.is_object else frame)
        return out

    def _plainer(self, outer: Frames, frame: Frame) -> Frame:
        variants = self.variants((*outer, Frame(is_object=True)))
        telling, names = len(variants) > 1, self._known_names(outer, variants)
        out = []
        for at, (name, value) in enumerate(frame.members):
            tells = telling and (names is None or name in names)
            plain = name if _may_matter(name, names) else f"\x00{at}"
            out.append((plain, value if tells else CONTAINER))
        key = frame.key
        if key is not None and not _may_matter(key, names):
            key = f"\x00{len(out)}"
        return Frame(True, tuple(out), key=key)

    def _known_names(self, outer: Frames, variants: tuple[Variant, ...]) -> set[str] | None:
        """The names that a plan may use; None when that cannot be said beforehand."""
        if any("patternProperties" in one or "propertyNames" in one for one in variants):
            return None
        source = self.reference_at(path_of((*outer, Frame(is_object=True))))
        names = set(property_names(variants)).union(source if isinstance(source, dict) else ())
        for variant in variants:
            either = "dependentRequired" if "dependentRequired" in variant else "dependencies"
            names.update(mapping(variant, either))
        return names

    def _agrees(self, variant: Variant, members: tuple[tuple[str, Any], ...]) -> bool:
        pairs = ((self.values.child(variant, name), unkept(value)) for name, value in members)
        return all(value is CONTAINER or self.values.fits(part, value) for part, value in pairs)

    def reference_at(self, path: Path, *, exact: bool = False) -> Any:
        """The reference's value at `path`, or `MISSING`; past an array its last, unless `exact`."""
        value = self.value
        for key in path:
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and value and isinstance(key, int):
                if exact and key >= len(value):
                    return MISSING
                value = value[min(key, len(value) - 1)]
            else:
                return MISSING
        return value

    def fits(self, schema: Any, value: Any) -> bool:
        """`Values.fits`, remembered for containers, which are those of the reference."""
        if not isinstance(value, list | dict) or not isinstance(schema, dict):
            return self.values.fits(schema, value)
        mark = (id(schema), id(value))  # their own as long as they are kept with the answer
        if mark not in self.memo:
            self.memo[mark] = (self.values.fits(schema, value), schema, value)
        fitting: bool = self.memo[mark][0]
        return fitting

    @memoised
    def tails(self, frames: Frames, last_written: LastWritten) -> tuple[bytes, ...]:
        """The texts that end all containers, likeliest first, without whitespace before them."""
        found = [self._tail(frames, last_written, plan) for plan in CLOSING_PLANS]
        end = self._ends.get(_shape(frames))
        if end is not None and last_written is LastWritten.AFTER:
            found.insert(0, self.reference[end:])
        self._memo_size += sum(map(len, found))
        return tuple(dict.fromkeys(found))

    def _tail(self, frames: Frames, last_written: LastWritten, plan: ClosingPlan) -> bytes:
        parts = []
        while frames:
            parts.append(self._close(frames, last_written, plan))
            frames, last_written = with_value(frames[:-1], CONTAINER), LastWritten.AFTER
        return b"".join(parts)

    @memoised
    def _close(self, frames: Frames, last_written: LastWritten, plan: ClosingPlan) -> bytes:
        top, depth = frames[-1], len(frames)
        rest = self.remaining(frames, plan)
        if top.is_object:
            if last_written is LastWritten.NEED and not rest:
                rest = self._one_more(frames, plan)
            parts = [self.layout.member(name, value, depth) for name, value in rest]
        else:
            parts = [self.layout.dump(value, depth) for value in rest]
        text = close_text(self.layout, depth, parts, last_written, is_object=top.is_object)
        self._memo_size += len(text)
        return text

    def _variant(self, frames: Frames, plan: ClosingPlan) -> Variant:
        variants = self.variants(frames)
        return variants[plan.variant % len(variants)]

    def _one_more(self, frames: Frames, plan: ClosingPlan) -> list[tuple[str, Any]]:
        """A member after a comma where none is needed; later plans take a name not declared."""
        variant, source = self._variant(frames, plan), self.reference_at(path_of(frames))
        taken = frames[-1].names
        if plan.variant > 1:
            taken |= frozenset(property_names([variant]))
            source = None
        for name, value in source.items() if isinstance(source, dict) else ():
            if name not in taken and self.fits(self.values.child(variant, name), value):
                return [(name, value)]
        longest = max(map(len, taken), default=0)
        fresh = self.values.fresh_name(variant, taken) or "_" * (1 + longest)
        return [(fresh, self.values.example(self.values.child(variant, fresh)))]

    def arranged(self, frames: Frames, members: dict[str, Any]) -> list[tuple[str, Any]]:
        """Members in the reference's order, others put in where the declarations have them."""
        return self._in_order(frames, members, self.variants(frames))

    def _in_order(
        self, frames: Frames, members: dict[str, Any], variants: Iterable[Variant]
    ) -> list[tuple[str, Any]]:
        source = self.reference_at(path_of(frames))
        rank = {name: at for at, name in enumerate(property_names(variants))}
        out = [name for name in (source if isinstance(source, dict) else ()) if name in members]
        for name in [name for name in members if name not in out]:
            place = rank.get(name, len(rank))
            later = (at for at, other in enumerate(out) if rank.get(other, len(rank)) > place)
            out.insert(next(later, len(out)), name)
        return [(name, members[name]) for name in out]

    @memoised
    def remaining(self, frames: Frames, plan: ClosingPlan) -> list[Any]:
        """The members (name and value) or items of the innermost container still to come."""
        if plan.reuse is Reuse.NOTHING:
            return []
        make = self._members if frames[-1].is_object else self._items
        return make(frames, plan.reuse, self._variant(frames, plan))

    def _members(self, frames: Frames, reuse: Reuse, variant: Variant) -> list[Any]:
        have = dict(frames[-1].members)
        source = self.reference_at(path_of(frames))
        names = list(source) if isinstance(source, dict) else []
        required = set(listed(variant.get("required")))
        last = max((at for at, name in enumerate(names) if name in have), default=-1)
        out = {}
        for at, name in enumerate(names):
            wanted = reuse is Reuse.ALL or (reuse is Reuse.AFTER and at > last) or name in required
            if not wanted or name in have:
                continue
            if self.fits(self.values.child(variant, name), source[name]):
                out[name] = source[name]
        high = count(variant.get("maxProperties"))
        spare = [name for name in out if name not in required]
        while high is not None and spare and len(have) + len(out) > high:
            del out[spare.pop()]
        out.update(self.values.missing(variant, {**have, **out}))
        return self._in_order(frames, out, [variant])

    def _items(self, frames: Frames, reuse: Reuse, variant: Variant) -> list[Any]:
        size, known = frames[-1].size, listed(self.reference_at(path_of(frames)))
        out = []
        for at, item in enumerate(known[size:] if reuse is not Reuse.NONE else [], start=size):
            if not self.fits(self.values.child(variant, at), item):
                break
            out.append(item)
        high = count(variant.get("maxItems"))
        if high is not None:
            out = out[: max(0, high - size)]
        have = (known[:size] + [None] * size)[:size] + out
        return out + self.values.more_items(variant, have)


def _may_matter(name: str, known: set[str] | None) -> bool:
    # Short names and those of underscores are what fresh names look like.
    return known is None or name in known or len(name) < 3 or name[0] in "_\x00"


def _shape(frames: Frames) -> Frames:
    return tuple(
        frame._replace(members=tuple((name, CONTAINER) for name, _ in frame.members))
        for frame in frames
    )


def _value_ends(reference: bytes) -> dict[Frames, int]:
    ends: dict[Frames, int] = {}
    cursor, at = Cursor(), 0
    for end, further in trace(cursor, reference):
        if further is None:
            break
        if cursor.mode.in_number and not further.mode.in_number:
            ends.setdefault(_shape(settled(cursor).frames), at)
        if further.mode in (Mode.AFTER, Mode.DONE):
            ends.setdefault(_shape(further.frames), end)
        cursor, at = further, end
    if cursor.mode.in_number:
        ends.setdefault((), at)
    return ends
