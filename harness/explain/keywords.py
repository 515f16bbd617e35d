"""Which keyword governs what is written at a place, of all the subschemas that apply there.

For each kind of place there is an order of precedence, the most specific keyword first: the tuples
below, for keys that of `KeyRules`. The first keyword in the order that any applicable subschema has
is in force. In all of them ``not`` and then ``type`` come last; a value without any is governed by
the keyword that applies its schema (``properties``, ``items``, and so on).

As long as what is written leaves more than one branch of an ``anyOf``, ``oneOf`` or ``if`` and the
branches do not say the same, that keyword is in force, with the precedence of the most specific
keyword in its branches. At the start of a value the branches that its first byte rules out do not
count, save that this choice of a type itself is the alternatives' affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from harness.explain.applicable import Alternatives, Branches, Source, admits, matchable
from harness.jsontext.partial import Frame, encoded
from harness.jsontext.pointers import MISSING
from harness.schemas.schema import listed, mapping, matches, same, strings

NOT_RANK: Final = 80
TYPE_RANK: Final = 90
_VIA_RANK: Final = 99

Order = tuple[str, ...]
PLAIN: Final[Order] = ("const", "enum")
"""Literals, and the bracket that opens a container."""
TEXT: Final[Order] = (*PLAIN, "pattern", "format", "maxLength", "minLength")
"""The opening quote and the content of a string."""
TEXT_END: Final[Order] = (*PLAIN, "pattern", "format", "minLength", "maxLength")
"""The closing quote of a string."""
NUMBER: Final[Order] = (
    *(*PLAIN, "multipleOf"),
    *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"),
)
OBJECT_END: Final[Order] = (
    *PLAIN,
    *("required", "dependentRequired", "dependencies", "minProperties"),
)
ARRAY_END: Final[Order] = (*PLAIN, "minItems", "contains", "minContains")
NEXT_ITEM: Final[Order] = (
    *(*PLAIN, "maxItems", "maxContains"),
    *("prefixItems", "additionalItems", "items", "unevaluatedItems", "uniqueItems"),
)
NEXT_MEMBER: Final[Order] = (*PLAIN, "maxProperties")
"""The comma in an object, before what governs the key after it."""
BARE: Final[Order] = ()
"""The colon, and the end of the text."""
_NAMING: Final = ("propertyNames", "additionalProperties", "unevaluatedProperties")


class GoverningRule(NamedTuple):
    """What is in force, and how specific it is."""

    rank: int
    keyword: str
    pointer: str
    value: Any = MISSING
    """The keyword's value; missing for a choice between branches."""


RuleOf = Callable[[Source], GoverningRule | None]


def by_order(order: Order, frame: Frame | None = None, *, via: bool = False) -> RuleOf:
    """What a source says by an order of precedence.

    `frame` is the open container, where the order is one of a container. With `via`, failing all,
    the keyword counts that applies the source's schema.
    """

    def rule_of(source: Source) -> GoverningRule | None:
        schema = source.schema
        for rank, keyword in enumerate(order):
            if keyword in schema:
                pertinent = _PERTINENT.get(keyword)
                if pertinent is None or pertinent(schema[keyword], schema, frame or Frame(True)):
                    return _rule(rank, keyword, source)
        return _at_last(source, via=via)

    return rule_of


def _rule(rank: int, keyword: str, source: Source) -> GoverningRule:
    return GoverningRule(rank, keyword, f"{source.pointer}/{keyword}", source.schema[keyword])


def _at_last(source: Source, *, via: bool = False) -> GoverningRule | None:
    for rank, keyword in ((NOT_RANK, "not"), (TYPE_RANK, "type")):
        if keyword in source.schema:
            return _rule(rank, keyword, source)
    return GoverningRule(_VIA_RANK, *source.via) if via and source.via[0] else None


def _lists_names(rules: Any, _: dict[str, Any], frame: Frame) -> bool:
    return isinstance(rules, dict) and any(isinstance(rules.get(n), list) for n in frame.names)


_PERTINENT: Final[dict[str, Callable[[Any, dict[str, Any], Frame], bool]]] = {
    "required": lambda names, _, __: bool(listed(names)),
    "dependentRequired": _lists_names,
    "dependencies": _lists_names,
    "prefixItems": lambda first, _, frame: frame.size < len(listed(first)),
    "items": lambda items, _, frame: not isinstance(items, list) or frame.size < len(items),
    "additionalItems": lambda _, schema, frame: (
        isinstance(schema.get("items"), list) and frame.size >= len(schema["items"])
    ),
    "unevaluatedItems": lambda _, schema, __: "items" not in schema,
    "uniqueItems": lambda value, _, __: value is True,
    "minContains": lambda _, schema, __: "contains" in schema,
    "maxContains": lambda _, schema, __: "contains" in schema,
}

_Pending = list[tuple[Source, Branches]]


def governing_rule(
    sources: Iterable[Source], rule_of: RuleOf, kind: str = ""
) -> GoverningRule | None:
    """What is in force of all that applies; None where nothing is said.

    `rule_of` tells what one source says; `kind`, at the start of a value, what value begins.
    """
    return _strongest([(source, source.undecided) for source in sources], rule_of, kind)


def _strongest(pending: _Pending, rule_of: RuleOf, kind: str) -> GoverningRule | None:
    rules: list[GoverningRule | None] = []
    choices: dict[Alternatives, dict[int, _Pending]] = {}
    for source, undecided in pending:
        if undecided:
            choice, branch = undecided[0]
            choices.setdefault(choice, {}).setdefault(branch, []).append((source, undecided[1:]))
        else:
            rules.append(rule_of(source))
    rules += [_of_choice(choice, found, rule_of, kind) for choice, found in choices.items()]
    return min((one for one in rules if one), key=lambda one: one.rank, default=None)


def _of_choice(
    choice: Alternatives, branches: dict[int, _Pending], rule_of: RuleOf, kind: str
) -> GoverningRule | None:
    """What an undecided choice says: what all its branches say, or itself."""
    each = {branch: _strongest(pending, rule_of, kind) for branch, pending in branches.items()}
    found = [one for one in each.values() if one is not None]
    if not found:
        return None
    if len(found) == len(choice.live) and all(_alike(one, found[0]) for one in found[1:]):
        return found[0]
    if kind:
        left = [branch for branch in choice.live if _admits(branches.get(branch, []), kind)]
        only = each.get(left[0]) if len(left) == 1 else None
        if only is not None and only.rank < NOT_RANK:
            return only
    return GoverningRule(min(one.rank for one in found), choice.keyword, choice.pointer)


def _admits(branch: _Pending, kind: str) -> bool:
    return all(
        undecided or source.inherited or admits(source.schema, kind) for source, undecided in branch
    )


def _alike(one: GoverningRule, other: GoverningRule) -> bool:
    if one.keyword != other.keyword or one.pointer == other.pointer:
        return one.keyword == other.keyword
    if one.value is MISSING or isinstance(one.value, dict):
        return False
    try:
        return same(one.value, other.value)
    except RecursionError:
        return False


_WORDS: Final = ("declared_next", "declared_later", "declared_earlier")


class DeclaredOrder(NamedTuple):
    """The names that one branch declares, with their places, and those it requires."""

    places: dict[str, int]
    required: frozenset[str]

    def word(self, name: str, written: frozenset[str]) -> str:
        """How a declared name that is not written stands to those that are."""
        here = self.places[name]
        if any(self.places.get(one, len(self.places)) > here for one in written):
            return "declared_earlier"
        lacking = self.required - written
        before = any(self.places.get(one, here) < here for one in lacking)
        return "declared_later" if before else "declared_next"


def _orders_of(sources: Sequence[Source]) -> Iterator[DeclaredOrder]:
    """The declared order along each choice of undecided branches."""
    by_branches: dict[Branches, list[dict[str, Any]]] = {(): []}
    for source in sources:
        if not source.inherited:  # what an outer value may be says nothing of names in this one
            by_branches.setdefault(source.undecided, []).append(source.schema)
    for branches in by_branches:
        prefixes = [branches[:at] for at in range(len(branches) + 1)]
        along = [schema for prefix in prefixes for schema in by_branches.get(prefix, ())]
        names = dict.fromkeys(name for schema in along for name in _declared(schema))
        required = frozenset(name for schema in along for name in _required(schema))
        places = {name: place for place, name in enumerate(names)}
        yield DeclaredOrder(places, required)


def _declared(schema: dict[str, Any]) -> Iterator[str]:
    """The names that a schema declares, in its order; objects in ``const`` and ``enum`` do, too."""
    yield from mapping(schema, "properties")
    for value in (schema.get("const"), *listed(schema.get("enum"))):
        if isinstance(value, dict):
            yield from value


def _required(schema: dict[str, Any]) -> list[str]:
    """The names that a schema requires; of ``enum`` those that all its objects have."""
    values = [schema["const"]] if "const" in schema else listed(schema.get("enum"))
    objects = [value for value in values if isinstance(value, dict)]
    common = [name for name in objects[0] if all(name in one for one in objects)] if objects else []
    return [*strings(schema.get("required")), *common]


class KeyRules:
    """What governs the next key of an open object, and how the key stands to the declared order.

    Precedence: ``const`` and ``enum`` of the object, ``properties`` while what is written of the
    key begins a declared name, ``patternProperties`` while a pattern can still be matched,
    ``propertyNames``, ``additionalProperties``, ``unevaluatedProperties``, then ``not`` and
    ``type``.

    The word for a key goes by the declared order: the names in ``properties`` of all applicable
    subschemas, one after the other (separately for each undecided branch; the friendliest counts).
    `docs/verdicts.md` explains the words. While a key is unfinished it may become one of several
    names: the first of the words that fits one of them counts.
    """

    def __init__(self, sources: Sequence[Source], frame: Frame) -> None:
        self._sources = sources
        self._written = frame.names
        self._orders = list(_orders_of(sources))
        names = {name for order in self._orders for name in order.places}
        self._names = [(encoded(name), name) for name in names]
        self._patterns = {e for one in sources for e in mapping(one.schema, "patternProperties")}
        sure = (one.schema for one in sources if not one.undecided)
        self._closed = any(schema.get(word) is False for schema in sure for word in _NAMING[1:])
        self._memo: dict[tuple[frozenset[str], ...], tuple[GoverningRule | None, str]] = {}

    def rule(self, begun: bytes, *, whole: bool) -> tuple[GoverningRule | None, str]:
        """What is in force for a key, and the word for it.

        `begun` is what is written of the key, as UTF-8; the last character may be unfinished.
        `whole` says that this is all of it.
        """
        if whole:
            return self._of_name(begun.decode("utf-8", "surrogatepass"))
        declared = frozenset(name for spelled, name in self._names if spelled.startswith(begun))
        text = begun.decode("utf-8", "ignore")
        alive = frozenset(e for e in self._patterns if matchable(e, text))
        mark = (declared, alive)
        if mark not in self._memo:
            fresh = declared - self._written
            self._memo[mark] = (self._rule(fresh, alive), self._word(fresh, alive, declared))
        return self._memo[mark]

    def _of_name(self, name: str) -> tuple[GoverningRule | None, str]:
        fitting = frozenset(e for e in self._patterns if matches(e, name))
        governing = self._rule(frozenset({name}), fitting)
        if name in self._written:
            return governing, "written"
        other = "pattern" if fitting else "additional"
        return governing, self._place(frozenset({name})) or other

    def _rule(self, names: frozenset[str], patterns: frozenset[str]) -> GoverningRule | None:
        def rule_of(source: Source) -> GoverningRule | None:
            schema = source.schema
            declared, expressions = mapping(schema, "properties"), "patternProperties"
            present: tuple[tuple[str, bool], ...] = (
                *((keyword, keyword in schema) for keyword in PLAIN),
                ("properties", not names.isdisjoint(declared)),
                (expressions, not patterns.isdisjoint(mapping(schema, expressions))),
                *((keyword, keyword in schema) for keyword in _NAMING),
                ("properties", bool(declared)),  # another key is one that it does not list
            )
            for rank, (keyword, governs) in enumerate(present):
                if governs:
                    return _rule(rank, keyword, source)
            return _at_last(source)

        return governing_rule(self._sources, rule_of)

    def _word(self, fresh: frozenset[str], alive: frozenset[str], all_: frozenset[str]) -> str:
        if place := self._place(fresh):
            return place
        if alive:
            return "pattern"
        return "written" if self._closed and all_ else "additional"

    def _place(self, names: frozenset[str]) -> str:
        found = {
            order.word(name, self._written)
            for order in self._orders
            for name in names & order.places.keys()
        }
        return next((word for word in _WORDS if word in found), "")
