"""Values that probably are valid under a schema, everyday ones first, so varied that they reach it.

Each subschema has a list of *options*, the smallest first: its annotated and listed values, every
branch, values at the bounds, all of small types. An object takes the k-th option of all its members
at once, so that many options need few objects; it comes with its required members alone, with all
that there are, and with others. Nothing is proven, drawn or raised; work is bounded on any schema.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain, islice
from math import isfinite
from typing import Any, Final

from harness.jsontext.pointers import values_in
from harness.schemas.format_values import format_values
from harness.schemas.patterns import Pattern, pattern, shortest
from harness.schemas.schema import (
    Schema,
    count,
    kinds,
    listed,
    mapping,
    needed,
    number,
    strings,
    types,
)
from harness.schemas.variants import (
    Variant,
    Variants,
    automata,
    in_turn,
    probable_types,
    property_names,
    spelled,
)

_DEEPEST: Final = 24
_FLAT: Final = 2
"""The depth from which on few undeclared members are tried."""
_BARE: Final = 6
"""The depth from which on objects have no more members than they must."""
_MOST: Final = (64, 24, 12, *[8] * (_DEEPEST - 3))
"""Options of one subschema, by how deep in the value it stands."""
_ROOM: Final = (3000, 2000, 1200, 700, 400, 200, *[100] * (_DEEPEST - 6))
"""Characters of one value, likewise."""
_MOST_ROOM: Final = 6000
"""Likewise, of a value without which there would be none."""
_ALIKE: Final = 40
"""Values whose lengths differ by less may come in any order."""
_CHOICES = 500
"""Values of an enum that are looked at: to look at one takes as long as the enum is."""
_MAX_MEMBERS = 60
_MAX_WORK: Final = 4000
_EXAMPLE_WORK: Final = 400
_MAX_LENGTH = 300
"""Characters of a string, and a tenth of it items of an array, that are made to meet a bound."""
_MAX_PADDING = 5000
_SENTENCE: Final = "It is a sentence of sixty characters, as models write them. "
_WORDS: Final = (
    *("word", 'Say "no".', "one\n\ttwo\r\n", "C:\\Users\\Anna\\a.txt", "Größe: 日本語, да"),
    *("👍🏽 👩\u200d💻", "\x1b[0m\x7f\0", "", "Two words.", "/home/anna/b-2.txt", _SENTENCE),
    *("https://example.com/a?q=b%20c&d=1#e", (_SENTENCE * 17)[:1000], "\x85\ufffe"),
)
"""What people, models and programs write, those first that differ most in how they are spelt."""
_SPECIAL: Final = 'é"\\/\n😀'
"""What a string may hold that is easily written wrongly."""
ODD: Final = (*_SPECIAL, "[", "-", " ", "0", "Z", "日", "\t", "\u2028", "\x7f", "\xa0")
"""Characters that stand in turn at each place of a text that matches a pattern."""
_LENGTHS: Final = (2, 3, 4, 8, 16, 40)
TINY: Final = 1e-8
_NUMBERS: Final = (1, 0, 2, -1, 10, 0.5, 19.99, *range(3, 12))
COMPUTED: Final = 4.793293779723737
"""A number with as many digits as computing gives."""
_COMPUTED: Final = (COMPUTED, 47.376887, 0.0025, 1716123456789, -273.15)
_LARGEST: Final = 1.7976931348623157e308
_RARE_NUMBERS: Final = (
    *(0.1 + 0.2, -0.5, 1.5, 0.1234567, TINY, -TINY, 3e22, 1e21, 123456789, 2**54 + 4, 1e-300),
)
"""Numbers that are written in different ways, or that a range of digits does not hold."""
_NAMES: Final = ("a", "extra", "user id", "größe", "A-1 é", "", 'a"b', "x1")
"""Names of members that a schema hardly declares."""
_FREE: Final[tuple[dict[str, Any], ...]] = (
    {"items": [{"id": 1, "price": 19.99}, {"id": 2, "more": {"at": [[47.4], []]}}], "none": None},
    {"a": {"b": {"c": {"d": [[1], [], [{"ok": True}]]}}}},
    {"name": "Anna", "age": 34, "tags": ["new", "x y"], "home": {"city": "Zürich", "empty": {}}},
)
"""What may stand where any object may, beside an empty one: first what nests as documents do."""
BOUNDS: Final = ("minimum", "maximum")
EXCLUDED: Final = ("exclusiveMinimum", "exclusiveMaximum")
OTHERS: Final[tuple[Any, ...]] = ("a", 1, None, 0.5, True, [], {})
"""A value of each type, to stand where another type is asked for."""


class Values(Variants):
    """Makes values for the parts of one root schema, as it was parsed."""

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._left = _MAX_WORK
        self._joint: dict[tuple[int, int], tuple[Variant, Any]] = {}
        self._options: dict[tuple[int, int], tuple[Any, list[Any]]] = {}
        self._examples: dict[int, tuple[Any, list[Any]]] = {}
        every = (name for _, part in parts_of(root) for name in declared_names(part))
        declared = islice(every, _MAX_MEMBERS)
        self.names = tuple(dict.fromkeys((*_NAMES, *declared)))
        """Names that an object may have undeclared, those of all parts of the schema among them."""

    def values(self) -> list[Any]:
        """Values for the root schema, all distinct, those that look valid before the others."""
        return self.options(self.root, 0) or self.examples(self.root)[:1]

    def examples(self, schema: Any) -> list[Any]:
        """Up to 8 small values for a subschema: they depend on nothing that was asked before."""
        if id(schema) not in self._examples:
            spare = self._options, self._left
            self._options, self._left = {}, _EXAMPLE_WORK
            self._examples[id(schema)] = (schema, [])
            with suppress(RecursionError):
                self._examples[id(schema)] = (schema, self.options(schema, _BARE))
            self._options, self._left = spare
        return self._examples[id(schema)][1]

    def example(self, schema: Any) -> Any:
        """The first of `examples`; None where there is none."""
        return next(iter(self.examples(schema)), None)

    def options(self, schema: Any, depth: int) -> list[Any]:
        """Values for a subschema of values that stand `depth` levels deep; may be none."""
        if schema is False:
            return []
        mark = (id(schema), depth)
        if mark not in self._options:
            # A schema that needs a value of its own at every depth has none.
            self._options[mark] = (schema, [])
            if depth < _DEEPEST and self._left > 0:
                self._options[mark] = (schema, self._made(schema, depth))
        return self._options[mark][1]

    def _made(self, schema: Any, depth: int) -> list[Any]:
        self._left -= 1
        variants = self.variants(schema)[: _MOST[depth]]
        each = [list(islice(self._of_variant(one, depth), _MOST[depth])) for one in variants]
        able = [one for one in in_turn(each) if _within(one, _MOST_ROOM)]
        small = [one for one in able if _within(one, _ROOM[depth])] or able[:1]
        first: dict[str, Any] = {}
        for one in small:
            first.setdefault(spelled(one), one)
        fits = {text: self.fits(schema, value) for text, value in first.items()}
        order = sorted(first, key=lambda text: (not fits[text], len(text) // _ALIKE))
        return [first[text] for text in order[: _MOST[depth]]]

    def _of_variant(self, variant: Variant, depth: int) -> Iterator[Any]:
        if "const" in variant:
            yield variant["const"]
            return
        choices = listed(variant.get("enum"))[:_CHOICES]
        if choices:
            fitting = (value for value in choices if self.fits(variant, value))
            yield from list(islice(fitting, _MOST[depth])) or choices
            return
        if "default" in variant:
            yield variant["default"]
        yield from listed(variant.get("examples"))
        kinds_ = probable_types(variant)
        typed = [islice(self._of_type(kind, variant, depth), _MOST[depth]) for kind in kinds_]
        others = () if types(variant) else OTHERS
        yield from in_turn([*typed, (one for one in others if not {*kinds_} & {*kinds(one)})])

    def _of_type(self, kind: str, variant: Variant, depth: int) -> Iterable[Any]:
        match kind:
            case "object":
                return self._objects(variant, depth)
            case "array":
                return self._arrays(variant, depth)
            case "string":
                return _strings(variant)
            case "integer" | "number":
                return _numbers(variant, whole=kind == "integer")
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
            for names in rows[-1:] if turn else [*rows, *_further(options, required)]:
                row = {name: options[name][turn % len(options[name])] for name in names}
                yield self._mended(variant, row, options, depth)
            if not turn and depth < _BARE:
                free = property_names([variant]) or variant.get("additionalProperties", True)
                yield from _FREE if free is True or free == {} else ()
                yield from self._with_undeclared(variant, required, options, depth)
                first = {name: options[name][0] for name in required}
                long = (name for name in options if len(spelled(options[name][-1])) > _MAX_LENGTH)
                for name in islice(long, 12):
                    row = first | {name: options[name][-1]}
                    yield self._mended(variant, row, options, depth)

    def _with_undeclared(
        self, variant: Variant, required: list[str], options: dict[str, list[Any]], depth: int
    ) -> Iterator[dict[str, Any]]:
        """Objects with one member more, whose name nothing declares, where that is allowed."""
        row = {name: options[name][0] for name in required}
        if self.child(variant, "\0") is False:
            return
        naming = variant.get("propertyNames", True)
        fresh = (name for name in self.names if name not in options and self.fits(naming, name))
        # far down there is room for few options: the declared members need it
        for at, name in enumerate(islice(fresh, 8 if depth < _FLAT else 2)):
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
            found = _matching(pattern(expression), 0, 0, 6)
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
        for name in self._lacking(variant, row):
            row[name] = next(iter(options.get(name) or self._of(variant, name, depth)), None)
        high = count(variant.get("maxProperties"))
        if high is not None and len(row) > high:
            kept = needed(variant, {})
            spare = [name for name in row if name not in kept]
            for name in spare[::-1][: len(row) - high]:
                del row[name]
        # In the declared order: many engines take no other, which is a departure of its own.
        return {name: row[name] for name in (*options, *row) if name in row}

    def _of(self, variant: Variant, name: str, depth: int) -> list[Any]:
        return self.options(self.child(variant, name), depth + 1)

    def _arrays(self, variant: Variant, depth: int) -> Iterator[list[Any]]:
        low = count(variant.get("minItems")) or 0
        high = count(variant.get("maxItems"))
        if low > _MAX_LENGTH:
            return
        first = len(listed(variant.get("prefixItems")) or listed(variant.get("items")))
        unique = variant.get("uniqueItems") is True
        top = _MAX_LENGTH // 10 if high is None else min(high, _MAX_LENGTH // 10)
        options = self.options(self.child(variant, first), depth + 1)
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
            schema = self.child(variant, len(found))
            options = self.options(schema, depth + 1)
            if unique:
                options = self._unlike([*found, *last], schema, options)
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
            joint = {"allOf": [variant["contains"], self.child(variant, size - 1)]}
            self._joint[mark] = (variant, joint)
        options = self.options(self._joint[mark][1], depth + 1)
        options = options or self.options(variant["contains"], depth + 1)
        times = 1 if unique else count(variant.get("minContains", 1)) or 0
        return options[:1] * min(times, size)

    def missing(self, variant: Variant, written: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The members that an object with the members `written` lacks, in the declared order."""
        lacking = self._lacking(variant, written)
        return [(name, self.example(self.child(variant, name))) for name in lacking]

    def _lacking(self, variant: Variant, written: Collection[str]) -> list[str]:
        names = [n for n in property_names([variant]) if n in needed(variant, written)]
        names += sorted(needed(variant, [*written, *names]) - set(names))
        lacking = [name for name in names if name not in written][:_MAX_MEMBERS]
        low = min(count(variant.get("minProperties")) or 0, _MAX_MEMBERS)
        while len(written) + len(lacking) < low:
            name = self.fresh_name(variant, [*written, *lacking])
            if name is None:
                break
            lacking.append(name)
        return lacking

    def fresh_name(self, variant: Variant, taken: Iterable[str]) -> str | None:
        """A member name that is not `taken`, for an object of `variant`; None if none is found."""
        used = set(taken)
        names = (name for name in self._free_names(variant) if name not in used)
        return next((name for name in names if self.child(variant, name) is not False), None)

    def _free_names(self, variant: Variant) -> Iterator[str]:
        yield from property_names([variant])
        if isinstance(variant.get("propertyNames"), dict):
            yield from strings(self.examples(variant["propertyNames"]))
        for expression in mapping(variant, "patternProperties"):
            yield from _matching(pattern(expression), 0, 0, 24)
        yield from "abcdefghijklmnopqrstuvwxyz"
        yield from (f"a{at}" for at in range(_MAX_MEMBERS))

    def more_items(self, variant: Variant, items: list[Any]) -> list[Any]:
        """The items that an array with these `items` lacks."""
        low = min(count(variant.get("minItems")) or 0, len(items) + _MAX_MEMBERS)
        have = [*items]
        if "contains" in variant and not any(self.fits(variant["contains"], v) for v in items):
            have.append(self.example(variant["contains"]))
        while len(have) < low:
            schema = self.child(variant, len(have))
            options = self.examples(schema)
            if variant.get("uniqueItems") is True:
                options = self._unlike(have, schema, options) or options
            have.append(options[0] if options else None)
        return have[len(items) :]

    def _unlike(self, have: Iterable[Any], schema: Any, options: list[Any]) -> list[Any]:
        """One value that is not among those that an array has; none if none is found."""
        taken = set(map(spelled, have))
        plenty = chain(options, self._numbered(schema))
        return list(islice((v for v in plenty if spelled(v) not in taken), 1))

    def _numbered(self, schema: Any) -> Iterator[Any]:
        for at in range(3 * _MAX_LENGTH // 10):
            yield from (
                value
                for variant in self.variants(schema)[:4]
                for value in _numbered(variant, at)
                if self.fits(schema, value)
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
    padding, most = min(low, _MAX_PADDING), _MAX_PADDING if high is None else high
    free = "pattern" not in variant and "format" not in variant
    known = format_values(str(variant.get("format"))).valid
    both = automata(variant)
    if len(both) == 2:
        joint = shortest(both, tuple(one.start for one in both), low)
        yield from () if joint is None else (joint,)
    yield from known[:1]
    yield from (text for one in both if (text := one.finish(one.start, padding)) is not None)
    if free:
        yield from (_fitted(one, low, most) for one in _WORDS)
        bounds = (one for one in (low, high) if one is not None and one <= _MAX_LENGTH)
        yield from (("abcdefghij" * (one // 10 + 1))[:one] for one in bounds)
    yield "a" * padding
    if free and most >= low + len(_SPECIAL):
        yield _SPECIAL + "a" * padding
    for automaton in both:
        yield from (
            one for one in _WORDS if automaton.accepts(automaton.walk(automaton.start, one))
        )
    yield from (one for one in known if low <= len(one) <= most)
    for automaton in both:
        yield from _matching(automaton, low, high or low, 24)
    yield from (letter * max(padding, 1) for letter in "abcd")


def _fitted(text: str, low: int, high: int) -> str:
    """A text of at least `low` and at most `high` characters that begins as another does."""
    short = max(min(low, _MAX_PADDING) - len(text), 0)
    return (text + (f" {text}" * (short // max(len(text) + 1, 1) + 1))[:short])[:high]


def _matching(automaton: Pattern | None, low: int, high: int, most: int) -> Iterator[str]:
    """Texts of `low` or more characters that match in different ways, at most so many.

    One of `high` characters; the alternatives; text around them; odd characters at the begin, in
    the middle, at the end; longer and longer ones.
    """
    first = None if automaton is None else automaton.finish(automaton.start, low)
    if automaton is None or first is None:
        return
    texts = [first, automaton.finish(automaton.start, min(high, _MAX_LENGTH)) or first]
    texts += [*automaton.alternatives(8), "x" + first, first + "x", f"é{first}1"]
    for char in ODD:
        texts += [first[:at] + char + first[at + 1 :] for at in (0, len(first) // 2)]
        texts.append(first + char)
    texts += [automaton.finish(automaton.start, max(low, size)) or first for size in _LENGTHS]
    long = dict.fromkeys(one for one in texts if len(one) >= low)
    accepted = (one for one in long if automaton.accepts(automaton.walk(automaton.start, one)))
    yield from islice(accepted, most)


def _numbers(variant: Variant, *, whole: bool) -> list[Any]:
    """Numbers for the keywords of `variant`, also where digits are many, or an exponent is due."""
    edges = [e for one in (*BOUNDS, *EXCLUDED) if (e := number(variant.get(one))) is not None]
    near: list[float] = []
    rare: list[float] = []
    computed = [*_COMPUTED]
    with suppress(OverflowError, ValueError):  # of a bound with hundreds of digits
        near += [edge + by for edge in edges for by in (0, 1, -1)]
        near += [(edge + other) / 2 for edge in edges for other in edges if edge < other]
        inside = [edge + (b - edge) / COMPUTED for edge in edges for b in edges if edge < b]
        computed = [edge + by for edge in edges for by in (COMPUTED, -COMPUTED)] + computed
        computed = [*inside, *computed, *(edge + by for edge in edges for by in (0.01, -0.01))]
        rare += [edge + by for edge in edges for by in (0.1, -0.1, TINY, -TINY)]
        if step := number(variant.get("multipleOf")):
            exact = Decimal(repr(step))
            rare = [float(exact * factor) for factor in (1, 3, 7, -2, 113, 12345, 10**8, 10**22)]
            near += [step * round(at / step + more) for at in (1, 0, *near) for more in (0, 1)]
    wanted = {**variant, "type": "integer" if whole else "number"}

    def fitting(numbers: Iterable[float]) -> list[Any]:
        some = (one for one in numbers if isinstance(one, int) or isfinite(one))
        short = (int(one) if abs(one) < 1e300 and int(one) == one else one for one in some)
        # a whole number of hundreds of digits is no text that anybody writes
        exact = (one for one in short if isinstance(one, float) or abs(one) < 1e300)
        return [one for one in exact if Schema(True).fits(wanted, one)]

    plain = fitting((*near, *_NUMBERS))
    plain.sort(key=lambda one: (abs(one) > 10, isinstance(one, float)))
    rest = fitting((*rare, *_RARE_NUMBERS))
    some = fitting(computed)[:8]
    first = [*plain[:2], *fitting(edges), *some[:4]]
    first += [*fitting((_LARGEST, -_LARGEST)), *some[4:]]  # of rare ones, these at every depth
    return [*dict.fromkeys((*first, *plain[2:8], *rest, *plain[8:]))] or [1, 0]


def parts_of(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects that stand in a schema, each with the name of the member that it is about."""
    pending = deque([("", schema)])
    while pending:
        name, part = pending.popleft()
        if isinstance(part, dict):
            yield name, part
            members = mapping(part, "properties")
            pending += members.items()
            pending += ((name, below) for below in part.values() if below is not members)
        elif isinstance(part, list):
            pending += ((name, below) for below in part[:_MAX_MEMBERS])


def declared_names(part: dict[str, Any]) -> list[str]:
    """The names that a subschema itself declares or requires."""
    return [*mapping(part, "properties"), *strings(part.get("required"))]


def _size(name: str, options: Sequence[Any]) -> int:
    return len(name) + len(spelled(options[0])) + 6


def _within(value: Any, room: int) -> bool:
    """Whether a value is written in about `room` characters; its parts may be shared many times."""
    for part in values_in(value):
        room -= len(part) + 2 if isinstance(part, str) else 2
        if isinstance(part, dict):
            room -= sum(map(len, part))
        if room < 0:
            return False
    return True
