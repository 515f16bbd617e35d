"""Values that probably are valid under a schema, so varied that they reach most of it.

Each subschema has a list of *options*, the smallest first: its annotated and listed values, every
branch, values at the bounds, all of small types. An object takes the k-th option of all its members
at once, so that many options need few objects; it comes with its required members alone, with all
that there are, and with others. `violations` then break a value in one place, bounds missed by one.
Nothing here is proven, nothing is drawn, and work is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain, islice
from math import isfinite
from typing import Any, Final

from harness.schemas.format_values import format_values
from harness.schemas.patterns import Pattern, pattern, shortest
from harness.schemas.probable_values import (
    ProbableValues,
    Variant,
    automata,
    distinct,
    in_turn,
    number_examples,
    probable_types,
    property_names,
    spelled,
    string_examples,
)
from harness.schemas.schema import (
    Schema,
    child_schema,
    count,
    kinds,
    listed,
    mapping,
    matches,
    needed,
    number,
    strings,
    types,
)

_DEEPEST: Final = 24
_BARE: Final = 6
"""The depth from which on objects have no more members than they must."""
_MOST: Final = (64, 24, 12, 8, 6, 4, *[2] * (_DEEPEST - 6))
"""Options of one subschema, by how deep in the value it stands."""
_ROOM: Final = (3000, 2000, 1200, 700, 400, 200, *[100] * (_DEEPEST - 6))
"""Characters of one value, likewise."""
_LARGEST: Final = 4000
"""Likewise, of a value without which there would be none."""
_ALIKE: Final = 40
"""Values whose lengths differ by less may come in any order."""
_CHOICES = 500
"""Values of an enum that are looked at: to look at one takes as long as the enum is."""
_MAX_MEMBERS = 60
_MAX_WORK = 4000
_MAX_LENGTH = 300
"""Characters of a string, and a tenth of it items of an array, that are made to meet a bound."""
_SPECIAL: Final = 'é"\\/\n😀'
"""What a string may hold that is easily written wrongly."""
_ODD: Final = (*_SPECIAL, "[", "-", " ", "0", "Z", "日", "\t", "\u2028", "\x7f", "\xa0")
"""Characters that stand in turn at each place of a text that matches a pattern."""
_LENGTHS: Final = (2, 3, 4, 8, 16, 40)
_TINY: Final = 1e-8
_NUMBERS: Final = (
    *(0.1, -0.5, 1.5, 0.1234567, _TINY, -_TINY, 3e22, -3e22, 1e21, 123456789, -100, 2**53, 1e-300),
)
"""Numbers that are written in different ways, or that a range of digits does not hold."""
_NAMES: Final = ("a", "extra", "A-1 é", "", 'a"b', "x1")
"""Names of members that a schema hardly declares."""


class ValueMaker:
    """Makes values for one root schema, as it was parsed."""

    def __init__(self, root: Any) -> None:
        self.probable = ProbableValues(root)
        self._root = root
        self._work = _MAX_WORK
        self._joint: dict[tuple[int, int], tuple[Variant, Any]] = {}
        self._known: dict[tuple[int, int], tuple[Any, list[Any]]] = {}
        declared = islice(_declared(root), _MAX_MEMBERS)
        self.names = tuple(dict.fromkeys((*_NAMES, *declared)))
        """Names that an object may have undeclared, those of all parts of the schema among them."""

    def values(self) -> list[Any]:
        """Values for the root schema, all distinct, those that look valid before the others."""
        return self.options(self._root, 0) or self.probable.examples(self._root, 1)

    def options(self, schema: Any, depth: int) -> list[Any]:
        """Values for a subschema of values that stand `depth` levels deep; may be none."""
        if schema is False:
            return []
        mark = (id(schema), depth)
        if mark not in self._known:
            # A schema that needs a value of its own at every depth has none.
            self._known[mark] = (schema, [])
            if depth < _DEEPEST and self._work > 0:
                self._known[mark] = (schema, self._options(schema, depth))
        return self._known[mark][1]

    def member(self, variant: Variant, name: str) -> Any:
        """A small value for one member of objects of `variant`; None where none is found."""
        return next(iter(self.options(self.probable.child(variant, name), _BARE)), None)

    def _options(self, schema: Any, depth: int) -> list[Any]:
        self._work -= 1
        variants = self.probable.variants(schema)[: _MOST[depth]]
        each = [list(islice(self._of_variant(one, depth), _MOST[depth])) for one in variants]
        able = [one for one in in_turn(each) if _within(one, _LARGEST)]
        small = [one for one in able if _within(one, _ROOM[depth])] or able[:1]
        first: dict[str, Any] = {}
        for one in small:
            first.setdefault(spelled(one), one)
        fits = {text: self.probable.fits(schema, value) for text, value in first.items()}
        order = sorted(first, key=lambda text: (not fits[text], len(text) // _ALIKE))
        return [first[text] for text in order[: _MOST[depth]]]

    def _of_variant(self, variant: Variant, depth: int) -> Iterator[Any]:
        if "const" in variant:
            yield variant["const"]
            return
        choices = listed(variant.get("enum"))[:_CHOICES]
        if choices:
            fitting = (value for value in choices if self.probable.fits(variant, value))
            yield from list(islice(fitting, _MOST[depth])) or choices
            return
        if "default" in variant:
            yield variant["default"]
        yield from listed(variant.get("examples"))
        kinds_ = probable_types(variant)
        typed = [list(self._of_type(kind, variant, depth)) for kind in kinds_]
        others = () if types(variant) else _OTHERS
        yield from in_turn([*typed, (one for one in others if not {*kinds_} & {*kinds(one)})])

    def _of_type(self, kind: str, variant: Variant, depth: int) -> Iterable[Any]:
        match kind:
            case "object":
                return islice(self._objects(variant, depth), _MOST[depth])
            case "array":
                return islice(self._arrays(variant, depth), _MOST[depth])
            case "string":
                return _strings(variant)
            case "integer" | "number":
                return _numbers(variant, whole=kind == "integer")[: _MOST[depth]]
        return [True, False] if kind == "boolean" else [None]

    def _objects(self, variant: Variant, depth: int) -> Iterator[dict[str, Any]]:
        must = needed(variant, {})
        options = self._members(variant, must, depth)
        required = [name for name in options if name in must]
        if len(required) < len(must):
            return
        rows = [required] if depth >= _BARE else [required, *self._chunks(options, required, depth)]
        most = max((len(one) for one in options.values()), default=1)
        for turn in range(most):
            for names in rows if turn else [*rows, *_further(options, required)]:
                row = {name: options[name][turn % len(options[name])] for name in names}
                yield self._mended(variant, row, options, depth)
            if not turn and depth < _BARE:
                yield from self._with_undeclared(variant, required, options, depth)

    def _with_undeclared(
        self, variant: Variant, required: list[str], options: dict[str, list[Any]], depth: int
    ) -> Iterator[dict[str, Any]]:
        """Objects with one member more, whose name nothing declares, where that is allowed."""
        row = {name: options[name][0] for name in required}
        if self.probable.child(variant, "\0") is False:
            return
        naming = variant.get("propertyNames", True)
        fresh = (
            name for name in self.names if name not in options and self.probable.fits(naming, name)
        )
        for at, name in enumerate(islice(fresh, 8)):
            found = self._of(variant, name, depth)
            if found:
                more = {name: found[at % len(found)]}
                yield self._mended(variant, row | more, options, depth)
                if not at and len(options) > len(required):
                    whole = {name: some[0] for name, some in options.items()}
                    yield self._mended(variant, whole | more, options, depth)

    def _members(self, variant: Variant, must: Collection[str], depth: int) -> dict[str, list[Any]]:
        """The options of all declared members, and of one for each pattern of names."""
        names = property_names([variant])
        if depth >= _BARE or len(names) > _MAX_MEMBERS:
            spare = _MAX_MEMBERS - len(must) if depth < _BARE else 0
            kept = {*must, *[name for name in names if name not in must][: max(spare, 0)]}
            names = [name for name in names if name in kept]
        for expression in mapping(variant, "patternProperties") if depth < _BARE else ():
            automaton = pattern(expression)
            found = _matching(automaton, 0, 0, 6) if automaton else ()
            names += [name for name in found if name not in names]
        known = {name: self._of(variant, name, depth) for name in names}
        return {name: options for name, options in known.items() if options}

    def _chunks(
        self, options: dict[str, list[Any]], required: Sequence[str], depth: int
    ) -> Iterator[list[str]]:
        used = sum(_size(name, options[name]) for name in required)
        here, size = list(required), used
        for name, found in options.items():
            if name in required:
                continue
            more = _size(name, found)
            if size + more > _ROOM[depth] and len(here) > len(required):
                yield here
                here, size = list(required), used
            here.append(name)
            size += more
        if len(here) > len(required):
            yield here

    def _mended(
        self, variant: Variant, row: dict[str, Any], options: dict[str, list[Any]], depth: int
    ) -> dict[str, Any]:
        """`row` with what its members ask for, and as many members as are allowed."""
        for name in sorted(needed(variant, row) - row.keys()):
            found = options.get(name) or self._of(variant, name, depth)
            row |= {name: found[0]} if found else {}
        low = count(variant.get("minProperties")) or 0
        high = count(variant.get("maxProperties"))
        while len(row) < min(low, _MAX_MEMBERS):
            fresh = self.probable.fresh_name(variant, row)
            if fresh is None:
                break
            row[fresh] = next(iter(options.get(fresh) or self._of(variant, fresh, depth)), None)
        if high is not None and len(row) > high:
            kept = needed(variant, {})
            spare = [name for name in row if name not in kept]
            for name in spare[::-1][: len(row) - high]:
                del row[name]
        # In the declared order: many engines take no other, which is a departure of its own.
        return {name: row[name] for name in (*options, *row) if name in row}

    def _of(self, variant: Variant, name: str, depth: int) -> list[Any]:
        return self.options(self.probable.child(variant, name), depth + 1)

    def _arrays(self, variant: Variant, depth: int) -> Iterator[list[Any]]:
        low = count(variant.get("minItems")) or 0
        high = count(variant.get("maxItems"))
        if low > _MAX_LENGTH:
            return
        first = len(listed(variant.get("prefixItems")) or listed(variant.get("items")))
        unique = variant.get("uniqueItems") is True
        top = _MAX_LENGTH // 10 if high is None else min(high, _MAX_LENGTH // 10)
        options = self.options(self.probable.child(variant, first), depth + 1)
        sizes = [low, max(low, 1), first, min(max(low, len(options)), 6), high or 0, low + 1, 3]
        for turn, size in enumerate(dict.fromkeys(sizes)):
            if low <= size <= max(low, top):
                yield self._items(variant, size, turn, depth, unique=unique)
        for turn in range(1, len(options)):
            yield self._items(variant, max(low, min(top, 1)), turn, depth, unique=unique)

    def _items(
        self, variant: Variant, size: int, turn: int, depth: int, *, unique: bool
    ) -> list[Any]:
        """An array of `size` items, each of another option; those that must differ do, if any."""
        last = self._contained(variant, size, depth, unique=unique) if "contains" in variant else []
        found: list[Any] = []
        while len(found) < size - len(last):
            schema = self.probable.child(variant, len(found))
            options = self.options(schema, depth + 1)
            if unique:
                taken = set(map(spelled, [*found, *last]))
                plenty = chain(options, self._numbered(schema))
                options = list(islice((v for v in plenty if spelled(v) not in taken), 1))
            if not options:
                break
            found.append(options[(len(found) + turn) % len(options)])
        return found + last

    def _contained(self, variant: Variant, size: int, depth: int, *, unique: bool) -> list[Any]:
        """The last items of an array of `size`: those that it must contain."""
        if not size:
            return []
        mark = (id(variant), size)
        if mark not in self._joint:
            joint = {"allOf": [variant["contains"], self.probable.child(variant, size - 1)]}
            self._joint[mark] = (variant, joint)
        options = self.options(self._joint[mark][1], depth + 1)
        options = options or self.options(variant["contains"], depth + 1)
        times = 1 if unique else count(variant.get("minContains", 1)) or 0
        return options[:1] * min(times, size)

    def _numbered(self, schema: Any) -> Iterator[Any]:
        for at in range(3 * _MAX_LENGTH // 10):
            yield from (
                value
                for variant in self.probable.variants(schema)[:4]
                for value in _numbered(variant, at)
                if self.probable.fits(schema, value)
            )


def _numbered(variant: Variant, at: int) -> Iterator[Any]:
    kinds = probable_types(variant)
    if "string" in kinds:
        yield f"{at}".rjust(count(variant.get("minLength")) or 0, "a")
        yield f"{'' if at % 26 > 9 else chr(97 + at % 26)}{at}"
    if "integer" in kinds or "number" in kinds:
        low = [variant[one] for one in ("minimum", "exclusiveMinimum") if one in variant]
        yield (int(low[0]) if low and isinstance(low[0], int | float) else 0) + at


def _further(options: Iterable[str], required: Sequence[str]) -> Iterator[list[str]]:
    """Each optional member alone and, where there are few, all but one."""
    others = [name for name in options if name not in required]
    if len(others) > 1:
        yield from ([*required, name] for name in others[:12])
    if 2 < len(others) <= 6:
        yield from ([name for name in options if name != missing] for missing in others)


def _strings(variant: Variant) -> Iterator[str]:
    low, high = count(variant.get("minLength")) or 0, count(variant.get("maxLength"))
    free = "pattern" not in variant and "format" not in variant
    both = automata(variant)
    joint = shortest(both, tuple(one.start for one in both), low) if len(both) == 2 else None
    if joint is not None:
        yield joint
    found = string_examples(variant)
    yield from found[:2]
    for length in (low, high) if free else ():
        if length is not None and length <= _MAX_LENGTH:
            yield ("abcdefghij" * (length // 10 + 1))[:length]
    if free and (high is None or high >= low + len(_SPECIAL)):
        yield _SPECIAL + "a" * low
    for one in format_values(str(variant.get("format"))).valid:
        if low <= len(one) <= (high or len(one)):
            yield one
    for automaton in both:
        yield from _matching(automaton, low, high or low, 24)
    yield from found[2:]


def _matching(automaton: Pattern, low: int, high: int, most: int) -> Iterator[str]:
    """Texts of `low` or more characters that match in different ways, at most so many.

    One of `high` characters; the alternatives; text around them; odd characters at the begin, in
    the middle, at the end; longer and longer ones.
    """

    def candidates() -> Iterator[str]:
        first = automaton.finish(automaton.start, low)
        if first is None:
            return
        yield from (first, automaton.finish(automaton.start, min(high, _MAX_LENGTH)) or first)
        yield from automaton.alternatives(8)
        yield from ("x" + first, first + "x", f"é{first}1")
        for char in _ODD:
            yield from (first[:at] + char + first[at + 1 :] for at in (0, len(first) // 2))
            yield first + char
        for length in _LENGTHS:
            yield automaton.finish(automaton.start, max(low, length)) or first

    found = dict.fromkeys(one for one in candidates() if len(one) >= low)
    accepted = (one for one in found if automaton.accepts(automaton.walk(automaton.start, one)))
    return islice(accepted, most)


def _numbers(variant: Variant, *, whole: bool) -> list[Any]:
    """Numbers for the keywords of `variant`, also where digits are many, or an exponent is due."""
    plain = number_examples(variant, whole=whole)
    wanted = {**variant, "type": "integer" if whole else "number"}
    near: list[float] = []
    with suppress(OverflowError):  # of a bound with hundreds of digits
        for keyword in (*_BOUNDS, *_EXCLUDED):
            if (edge := number(variant.get(keyword))) is not None:
                near += [edge + by for by in (0.1, -0.1, _TINY, -_TINY)]
        if step := number(variant.get("multipleOf")):
            exact = Decimal(repr(step))
            near = [float(exact * factor) for factor in (1, 3, 7, -2, 113, 12345, 10**8, 10**22)]
    others = (int(one) if whole and one.is_integer() else one for one in near if isfinite(one))
    fitting = (one for one in (*others, *_NUMBERS) if Schema(True).fits(wanted, one))
    return distinct([*plain[:6], *fitting, *plain[6:]])


def _declared(schema: Any) -> Iterator[str]:
    """The names that parts of a schema declare, as far as they stand in it."""
    pending = [schema]
    while pending:
        part = pending.pop(0)
        if isinstance(part, dict):
            yield from mapping(part, "properties")
            yield from strings(part.get("required"))
            pending += part.values()
        elif isinstance(part, list):
            pending += part[:_MAX_MEMBERS]


def _size(name: str, options: Sequence[Any]) -> int:
    return len(name) + len(spelled(options[0])) + 6


def _within(value: Any, room: int) -> bool:
    """Whether a value is written in about `room` characters; its parts may be shared many times."""
    pending = [value]
    while pending and room >= 0:
        part = pending.pop()
        room -= len(part) + 2 if isinstance(part, str) else 2
        if isinstance(part, dict):
            room -= sum(map(len, part))
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    return room >= 0


_BOUNDS: Final = ("minimum", "maximum")
_EXCLUDED: Final = ("exclusiveMinimum", "exclusiveMaximum")
_MAX_DEPTH = 8
_MAX_CHILDREN = 40
_MAX_EACH = 200
_OTHERS: Final[tuple[Any, ...]] = ("a", 1, None, 0.5, True, [], {})
"""A value of each type, to stand where another type is asked for."""


def violations(maker: ValueMaker, schema: Any, value: Any, depth: int = 0) -> list[Any]:
    """Values that differ from `value` in one place, and probably break `schema` there.

    At most 200, in turn of the value itself and of its members or items. `value` is valid under
    `schema`, a part of the root schema of `maker`; `depth` says how deep in the root's value it is.
    """
    if depth > _MAX_DEPTH:
        return []
    variants = maker.probable.variants(schema)
    variant = next((one for one in variants if maker.probable.fits(one, value)), None)
    if variant is None:
        return []
    own = list(islice(chain(_of_value(maker, variant, value), _of_two(maker, schema)), 48))
    parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        parts = enumerate(value[:3])
    below = [
        [_with(value, key, one) for one in violations(maker, inner, part, depth + 1)]
        for key, part in islice(parts, _MAX_CHILDREN)
        if (inner := child_schema(variant, key)) is not False
    ]
    return list(islice(in_turn([own, *below]), _MAX_EACH))


def _of_two(maker: ValueMaker, schema: Any) -> Iterator[Any]:
    """Values for several branches of ``oneOf`` at a time."""
    parts = listed(schema.get("oneOf")) if isinstance(schema, dict) else []
    for part in parts[:8]:
        others = [one for one in parts if one is not part]
        options = maker.options(part, _MAX_DEPTH - 6)
        yield from (one for one in options if any(maker.probable.fits(o, one) for o in others))


def _with(value: Any, key: Any, part: Any) -> Any:
    if isinstance(value, dict):
        return {**value, key: part}
    return [*value[:key], part, *value[key + 1 :]]


def _of_value(maker: ValueMaker, variant: Variant, value: Any) -> Iterator[Any]:
    match value:
        case str():
            yield from _of_string(variant, value)
        case dict():
            yield from _of_object(maker, variant, value)
        case list():
            yield from _of_array(maker, variant, value)
        case bool() | None:
            pass
        case int() | float():
            with suppress(OverflowError, ValueError):
                yield from _of_number(variant, value)
    wanted = types(variant)
    if "enum" in variant or "const" in variant:
        yield from _neighbours(value)
        wanted = wanted or list(kinds(value))
    others = [one for one in _OTHERS if wanted and not set(wanted).intersection(kinds(one))]
    yield from others[:2]
    if isinstance(variant.get("not"), dict):
        yield from maker.options(variant["not"], _MAX_DEPTH)[:2]


def _neighbours(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        half = value[: len(value) // 2]
        yield from (value + "a", value[:-1], value.swapcase(), value[:1], half, value.strip())
    elif number(value) is not None:
        yield value + 1
    else:
        yield None if value is not None else "null"


def _of_string(variant: Variant, value: str) -> Iterator[str]:
    low, high = count(variant.get("minLength")), count(variant.get("maxLength"))
    if low:
        yield value[: low - 1]
    if high is not None and high <= 2000:
        yield value + (value[-1:] or "a") * (high + 1 - len(value))
    if isinstance(variant.get("pattern"), str):
        known = format_values(str(variant.get("format"))).valid[:8]
        tries = (value + "!", value[1:], value[:-1], "", "a", "1", " " + value, value.swapcase())
        odd = (value + "\n", "é" + value, value.replace(value[:1], "é"))
        yield from (one for one in (*known, *tries, *odd) if not matches(variant["pattern"], one))
    if "format" in variant:
        yield from format_values(str(variant["format"])).invalid
        yield from (value[:-1], value + " ", "a b", value.replace("0", "x", 1), "")


def _of_number(variant: Variant, value: float) -> Iterator[float]:
    for keyword, excluding, way in zip(_BOUNDS, _EXCLUDED, (-1, 1), strict=True):
        bound, excluded = (number(variant.get(one)) for one in (keyword, excluding))
        if bound is not None:
            yield from ([bound] if variant.get(excluding) is True else []) + [bound + way]
        if excluded is not None:
            yield excluded
        for edge in (bound, excluded):
            if edge is not None:
                yield from (edge + 0.1 * way, edge + _TINY * way, edge + 1e22 * way)
    step = number(variant.get("multipleOf"))
    if step:
        yield from (value + (1 if step > 1 else step / 2), value + 100 * step + step / 2)
    if "integer" in types(variant) and "number" not in types(variant):
        yield value + 0.5


def _of_object(
    maker: ValueMaker, variant: Variant, value: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    required = set(map(str, listed(variant.get("required"))))
    for name in value:
        if name in required:
            yield {key: one for key, one in value.items() if key != name}
    known = {*value, *property_names([variant])}
    for name in [one for one in maker.names if one not in known][:8]:
        yield {**value, name: None}
    low, high = count(variant.get("minProperties")), count(variant.get("maxProperties"))
    if low and len(value) >= low:
        yield dict(list(value.items())[: low - 1])
    if high is not None and high < 50:
        more = dict(value)
        while len(more) <= high:
            fresh = maker.probable.fresh_name(variant, more)
            if fresh is None:
                break
            more[fresh] = maker.member(variant, fresh)
        yield more
    for keyword in ("dependentRequired", "dependencies"):
        for name, others in mapping(variant, keyword).items():
            kept = {key: one for key, one in value.items() if key not in listed(others)}
            kept.setdefault(name, maker.member(variant, name))
            yield {key: kept[key] for key in (*property_names([variant]), *kept) if key in kept}


def _of_array(maker: ValueMaker, variant: Variant, value: list[Any]) -> Iterator[list[Any]]:
    low, high = count(variant.get("minItems")), count(variant.get("maxItems"))
    if low and len(value) >= low:
        yield value[: low - 1]
    if high is not None and high <= 100:
        yield value + (value[-1:] or [None]) * (high + 1 - len(value))
    options = maker.options(maker.probable.child(variant, 0), _MAX_DEPTH - 6)
    if variant.get("uniqueItems") is True and (first := (value or options)[:1]):
        yield from ([*value, *first], [*first, *first, *value[2:]])
    if "contains" in variant:
        found = maker.options(variant["contains"], _MAX_DEPTH - 6)[:1]
        lacking = [one for one in options if not maker.probable.fits(variant["contains"], one)][:1]
        least = min(count(variant.get("minContains", 1)) or 0, _MAX_CHILDREN)
        yield from ([], lacking, found * (least - 1), found * (least - 1) + lacking)
        if (most := count(variant.get("maxContains"))) is not None and most < _MAX_CHILDREN:
            yield found * (most + 1)
    if child_schema(variant, len(value)) is False:
        yield [*value, None]


_RUNS: Final = (
    *((re.compile("[a-z]+"), "a"), (re.compile("[A-Z]+"), "A"), (re.compile("[0-9]+"), "0")),
)
_SHAPE: Final = 60
"""Characters of a text whose shape is looked at."""


def traits(value: Any) -> frozenset[str]:
    """What a value has that engines may take or refuse as such: kinds of scalars, odd characters.

    Texts in which letters and digits alone differ have one shape.
    """
    found: set[str] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            found |= {f"members {min(len(part), 2)}", *map(_shape, part)}
            pending += part.values()
        elif isinstance(part, list):
            found.add(f"items {min(len(part), 3)}")
            pending += part
        elif isinstance(part, str):
            found |= {_shape(part), *(char for char in part if char in _ODD or char > "\x7f")}
        elif number(part) is not None:
            found |= {kinds(part)[0], re.sub("[0-9]+", "0", repr(part))}
            found.add(f"size {len(repr(abs(part))) // 6}")
        else:
            found.add(repr(part))
    return frozenset(found)


def _shape(text: str) -> str:
    shape = text[:_SHAPE]
    for run, letter in _RUNS:
        shape = run.sub(letter, shape)
    return f"{shape}/{len(text).bit_length()}"
