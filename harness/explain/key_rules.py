"""What governs a key of an object, and how the key stands to the declared order.

Precedence: ``const`` and ``enum`` of the object, ``properties`` while what is written of the key
begins a declared name, ``patternProperties`` while a pattern can still be matched,
``propertyNames``, ``additionalProperties``, ``unevaluatedProperties``, then what
`harness.explain.governing_keyword` puts last.

The word for a key, by the declared order: the names in ``properties`` of all applicable
subschemas, one after the other (separately for each undecided branch; the friendliest counts).

- ``declared_next``: a writer in the declared order may write it next: it stands behind all that is
  written, and no required name that is not written stands before it.
- ``declared_later``: a required name that is not written stands before it.
- ``declared_earlier``: a name that stands behind it is written. Names that are not declared stand
  behind all declared ones.
- ``pattern``, ``additional``: not declared; a pattern fits, or none does.
- ``written``: the object has a member of this name, and no other name can come of it.

While a key is unfinished it may become one of several names: the first of these words that fits
one of them counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from harness.explain.applicable import Branches, Source
from harness.explain.governing_keyword import GoverningRule, at_last, governing_rule, rule
from harness.explain.refutation import matchable
from harness.jsontext.partial import Frame
from harness.schemas.schema import listed, matches

_WORDS: Final = ("declared_next", "declared_later", "declared_earlier")
_NONE: Final = frozenset[str]()
_NAMING: Final = ("propertyNames", "additionalProperties", "unevaluatedProperties")


class DeclaredOrder(NamedTuple):
    """The names that one branch declares, with their places, and those it requires."""

    places: dict[str, int]
    required: frozenset[str]
    branch: bool
    """Whether it is one of several branches of which none is chosen yet."""

    def lacks(self, written: Collection[str], *, declared: bool) -> bool:
        """Whether a name that is required, of the declared ones or of all, is not written."""
        among = self.required & self.places.keys() if declared else self.required
        return not among <= frozenset(written)


class KeyRules:
    """The rules for the next key of one open object.

    Args:
        sources: The subschemas that apply to the object.
        frame: The object's finished members.
    """

    def __init__(self, sources: Sequence[Source], frame: Frame) -> None:
        self._sources = sources
        self._written = frame.names
        self._orders = list(orders(sources))
        names = sorted((_bytes(n), n) for n in {n for one in self._orders for n in one.places})
        self._spelled = [spelled for spelled, _ in names]
        self._names = [name for _, name in names]
        expressions = {e for s in sources for e in _mapping(s.schema, "patternProperties")}
        self._patterns = sorted(expressions)
        self._closed = any(not s.undecided and _is_closed(s.schema) for s in sources)
        self._memo: dict[
            tuple[frozenset[str], frozenset[str]], tuple[GoverningRule | None, str]
        ] = {}

    def rule(self, begun: bytes, *, whole: bool) -> tuple[GoverningRule | None, str]:
        """What is in force for a key, and the word for it.

        Args:
            begun: What is written of the key, as UTF-8; the last character may be unfinished.
            whole: Whether that is all of it.
        """
        if whole:
            return self._of_name(begun.decode("utf-8", "surrogatepass"))
        at = bisect_left(self._spelled, begun)
        found = at < len(self._spelled) and self._spelled[at].startswith(begun)
        declared = frozenset(self._declared(begun, at)) if found else _NONE
        alive = self._matchable(begun) if self._patterns else _NONE
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
        if place := self._place(name):
            return governing, place
        return governing, "pattern" if fitting else "additional"

    def _declared(self, begun: bytes, first: int) -> Iterator[str]:
        """The declared names that begin so; `first` is the place of the first of them."""
        for at in range(first, len(self._spelled)):
            if not self._spelled[at].startswith(begun):
                return
            yield self._names[at]

    def _matchable(self, begun: bytes) -> frozenset[str]:
        """The patterns that a name which begins so may match."""
        text = begun.decode("utf-8", "ignore")
        return frozenset(e for e in self._patterns if matchable(e, text))

    def _rule(self, names: frozenset[str], patterns: frozenset[str]) -> GoverningRule | None:
        def rule_of(source: Source) -> GoverningRule | None:
            schema = source.schema
            for rank, keyword in enumerate(("const", "enum")):
                if keyword in schema:
                    return rule(rank, keyword, source)
            if not names.isdisjoint(_mapping(schema, "properties")):
                return rule(2, "properties", source)
            if not patterns.isdisjoint(_mapping(schema, "patternProperties")):
                return rule(3, "patternProperties", source)
            for rank, keyword in enumerate(_NAMING, start=4):
                if keyword in schema:
                    return rule(rank, keyword, source)
            if _mapping(schema, "properties"):  # another key is one that it does not list
                return rule(4 + len(_NAMING), "properties", source)
            return at_last(source)

        return governing_rule(self._sources, rule_of)

    def _word(self, fresh: frozenset[str], alive: frozenset[str], all_: frozenset[str]) -> str:
        """The word for an unfinished key that may become these declared names."""
        found = {self._place(name) for name in fresh}
        for word in _WORDS:
            if word in found:
                return word
        if alive:
            return "pattern"
        return "written" if self._closed and all_ else "additional"

    def _place(self, name: str) -> str:
        """How a name that is not written stands to what is; empty when nothing declares it."""
        found = {self._place_in(order, name) for order in self._orders if name in order.places}
        return next((word for word in _WORDS if word in found), "")

    def _place_in(self, order: DeclaredOrder, name: str) -> str:
        here = order.places[name]
        written = (order.places.get(one, len(order.places)) for one in self._written)
        if max(written, default=-1) > here:
            return "declared_earlier"
        lacking = order.required - self._written
        before = any(order.places.get(one, here) < here for one in lacking)
        return "declared_later" if before else "declared_next"


def _declared(schema: dict[str, Any]) -> Iterator[str]:
    """The names that a schema declares, in its order; objects in ``const`` and ``enum`` do, too."""
    yield from _mapping(schema, "properties")
    for value in (schema.get("const"), *listed(schema.get("enum"))):
        if isinstance(value, dict):
            yield from value


def _required(schema: dict[str, Any]) -> list[Any]:
    """The names that a schema requires; of ``enum`` those that all its objects have."""
    values = [schema["const"]] if "const" in schema else listed(schema.get("enum"))
    objects = [value for value in values if isinstance(value, dict)]
    common = [name for name in objects[0] if all(name in one for one in objects)] if objects else []
    return [*listed(schema.get("required")), *common]


def orders(sources: Sequence[Source]) -> Iterator[DeclaredOrder]:
    """The declared order along each choice of undecided branches."""
    by_branches: dict[Branches, list[dict[str, Any]]] = {(): []}
    for source in sources:
        if not source.inherited:  # what an outer value may be says nothing of names in this one
            by_branches.setdefault(source.undecided, []).append(source.schema)
    for branches in by_branches:
        along = [
            schema
            for at in range(len(branches) + 1)
            for schema in by_branches.get(branches[:at], ())
        ]
        names = dict.fromkeys(n for schema in along for n in _declared(schema))
        required = (n for schema in along for n in _required(schema))
        yield DeclaredOrder(
            {name: place for place, name in enumerate(names)},
            frozenset(name for name in required if isinstance(name, str)),
            bool(branches),
        )


def _mapping(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _is_closed(schema: dict[str, Any]) -> bool:
    return any(schema.get(keyword) is False for keyword in _NAMING[1:])


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
