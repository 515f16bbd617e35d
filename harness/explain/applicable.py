"""Which subschemas apply to the values that a text is in the middle of, and where they stand.

Going down from the root along the open containers, every subschema that applies in place
(references, ``allOf``, branches) or to the member or item being written is a `Source`: a plain
schema with its JSON Pointer. Where a keyword offers alternatives (``anyOf``, ``oneOf``, ``if``)
its sources hang on `Alternatives`, which forget the branches that what is written contradicts. One
branch left means decided.

This never raises, and it is bounded on every schema: a schema that refers to itself in place is
entered once, and what exceeds the bounds below is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from harness.explain.refutation import PartialValue, Refutation, inside
from harness.jsontext.partial import Cursor, Frames
from harness.jsontext.pointers import escape
from harness.schemas.approximate_validator import ApproximateValidator
from harness.schemas.schema import REFERENCES, listed, matches
from harness.validators.drafts import draft_of

_MAX_STEPS = 1024
_MAX_BRANCHES = 16
_NO_SIBLINGS: Final = frozenset({"draft-04", "draft-06", "draft-07"})
"""Drafts in which ``$ref`` makes every keyword beside it be ignored (draft-07, section 8.3)."""
_ANYTHING: Final[dict[str, Any]] = {}
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "if", "dependentSchemas", *REFERENCES)


class Alternatives:
    """One keyword that offers alternatives, for one value.

    Attributes:
        keyword: ``anyOf``, ``oneOf`` or ``if``.
        pointer: Where it stands.
        live: The branches that nothing written contradicts; of ``if``, 0 is ``then``, 1 ``else``.
    """

    __slots__ = ("keyword", "live", "pointer")

    def __init__(self, keyword: str, pointer: str, live: Iterable[int]) -> None:
        self.keyword, self.pointer, self.live = keyword, pointer, set(live)


Branch = tuple[Alternatives, int]
Branches = tuple[Branch, ...]
"""The branches that lead to a source, outermost first."""


class Source(NamedTuple):
    """One subschema that applies to a value, if its branches do."""

    schema: Any
    """A dictionary, wherever a level of `Applicable.levels` holds the source."""
    pointer: str
    branches: Branches = ()
    via: tuple[str, str] = ("", "")
    """The keyword of the container's schema that applies it, and that keyword's pointer."""
    inherited: bool = False
    """Whether `schema` is only the ``const`` or ``enum`` of a container around the value."""
    chain: frozenset[int] = frozenset()
    """The schemas that led here in place, by identity."""

    @property
    def applies(self) -> bool:
        """Whether none of its branches is contradicted."""
        return all(branch in choice.live for choice, branch in self.branches)

    @property
    def undecided(self) -> Branches:
        """Those of its branches that are not decided yet."""
        return tuple(step for step in self.branches if len(step[0].live) > 1)

    def inner(self, schema: Any, pointer: str, *further: Branch) -> Source:
        """A schema that this one applies to the same value, in `further` branches if given."""
        branches = (*self.branches, *further)
        return Source(schema, pointer, branches, self.via, chain=self.chain | {id(self.schema)})


Sources = list[Source]


class Applicable:
    """The sources for one root schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._approximate = ApproximateValidator(root)
        self._refutation = Refutation(self._approximate)
        draft = draft_of(root)
        self._lone_references = draft is not None and draft.name in _NO_SIBLINGS
        self._ignored = frozenset() if draft is None else draft.ignored
        self._known: dict[int, dict[str, Any]] = {}
        self._places: dict[int, str] | None = None

    def levels(self, frames: Frames, scalar: Cursor | None, *, slot: bool) -> list[Sources]:
        """The sources of every open value, outermost first.

        Args:
            frames: The open containers.
            scalar: Where the text stands if that is inside a string, a number or a literal.
            slot: Whether the value in the slot of the innermost container is meant too.

        Returns:
            One list per container; with `slot`, and where no container is open, one more for the
            value in the slot or the whole value.
        """
        found = [Source(self._root, "")]
        out: list[Sources] = []
        for depth, frame in enumerate(frames):
            written = slot or depth + 1 < len(frames) or frame.key is not None
            kind = "object" if frame.is_object else "array"
            partial = PartialValue(kind, frame, frame.slot if written else None)
            out.append(self._expanded(found, partial))
            found = [below for source in out[-1] for below in _below(source, frame.slot)]
        if slot or not frames:
            out.append(self._expanded(found, inside(scalar)))
        return [[source for source in level if source.applies] for level in out]

    def _expanded(self, given: Sequence[Source], partial: PartialValue) -> Sources:
        """The sources that schemas for one value and all that they apply in place amount to."""
        todo, out = list(reversed(given)), list[Source]()
        for _ in range(_MAX_STEPS):
            if not todo:
                break
            source = todo.pop()
            if source.schema is False:
                _rule_out(source.branches)
            elif source.schema is True:
                out.append(source._replace(schema=_ANYTHING))
            elif source.inherited:
                out.append(source)
            elif isinstance(source.schema, dict):
                alone = self._lone_references and "$ref" in source.schema
                known = _ANYTHING if alone else self._known_of(source.schema)
                out.append(source._replace(schema=known))
                inner = self._referred(source) if alone else self._applied(source, partial)
                todo += [one for one in inner if id(one.schema) not in one.chain][::-1]
        for source in out:
            asked = source.branches and source.applies and not source.inherited
            if asked and self._refutation.contradicts(source.schema, partial):
                _rule_out(source.branches)
        return [source for source in out if source.applies]

    def _applied(self, source: Source, partial: PartialValue) -> Iterator[Source]:
        """What a source applies to the same value."""
        schema, pointer = self._known_of(source.schema), source.pointer
        yield from self._referred(source)
        for at, part in enumerate(listed(schema.get("allOf"))):
            yield source.inner(part, f"{pointer}/allOf/{at}")
        yield from _triggered(source, schema, partial)
        if len(source.branches) >= _MAX_BRANCHES:
            return
        for keyword in ("anyOf", "oneOf"):
            parts = listed(schema.get(keyword))
            choice = Alternatives(keyword, f"{pointer}/{keyword}", range(len(parts)))
            for at, part in enumerate(parts):
                yield source.inner(part, f"{choice.pointer}/{at}", (choice, at))
        if "if" in schema and ("then" in schema or "else" in schema):
            choice = Alternatives(
                "if", f"{pointer}/if", self._refutation.outcomes(schema["if"], partial)
            )
            for branch, keyword in enumerate(("then", "else")):
                if keyword in schema and branch in choice.live:
                    yield source.inner(schema[keyword], f"{pointer}/{keyword}", (choice, branch))

    def _known_of(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema without the keywords of other drafts: its own ignores them."""
        if self._ignored.isdisjoint(schema):
            return schema
        if id(schema) not in self._known:
            known = {name: value for name, value in schema.items() if name not in self._ignored}
            self._known[id(schema)] = known
        return self._known[id(schema)]

    def _referred(self, source: Source) -> Iterator[Source]:
        """What the references of a source lead to, at the place where that stands."""
        for keyword in REFERENCES:
            if keyword in source.schema:
                target = self._approximate.resolve(source.schema[keyword], source.schema)
                if target is False or isinstance(target, dict):
                    yield source.inner(target, self._place(target))

    def _place(self, schema: Any) -> str:
        """The pointer of an object that is a part of the root, found by identity."""
        if self._places is None:
            self._places = _places(self._root)
        return self._places.get(id(schema), "")


def _triggered(source: Source, schema: dict[str, Any], partial: PartialValue) -> Iterator[Source]:
    """The schemas that a member's name brings with it."""
    if partial.frame is None or not partial.frame.is_object:
        return
    present = {*partial.frame.names, partial.frame.key}
    for keyword in ("dependentSchemas", "dependencies"):
        rules = schema.get(keyword)
        for name, part in rules.items() if isinstance(rules, dict) else ():
            if name in present:
                yield source.inner(part, f"{source.pointer}/{keyword}/{escape(name)}")


def _rule_out(branches: Branches) -> None:
    """Note that the innermost branch of `branches` is contradicted."""
    for choice, branch in reversed(branches):
        if choice.live == {branch} and (choice, branch) == branches[0]:
            return  # nothing would be left at all: the guess is wrong, or the text is
        choice.live.discard(branch)
        if choice.live:
            return


def _below(source: Source, slot: str | int | None) -> Iterator[Source]:
    """What a source applies to the member or item in `slot`."""
    for keyword in ("const", "enum"):
        constant = source.schema.get(keyword)
        values = [constant] if keyword == "const" else listed(constant)
        if any(isinstance(value, dict | list) for value in values):
            yield Source({keyword: constant}, source.pointer, source.branches, inherited=True)
    if isinstance(slot, str):
        yield from _members(source, slot)
    elif isinstance(slot, int):
        yield from _items(source, slot)


def _members(source: Source, name: str) -> Iterator[Source]:
    found = False
    for keyword in ("properties", "patternProperties"):
        declared = source.schema.get(keyword)
        for key in _naming(keyword, declared, name):
            found = True
            yield _child(source, keyword, declared[key], f"/{escape(key)}")
    if not found:
        yield from _rest(source, "additionalProperties", "unevaluatedProperties")


def _naming(keyword: str, declared: Any, name: str) -> list[str]:
    """The keys of `declared` that stand for a member `name`."""
    if not isinstance(declared, dict):
        return []
    if keyword == "properties":
        return [name] if name in declared else []
    return [expression for expression in declared if matches(expression, name)]


def _items(source: Source, index: int) -> Iterator[Source]:
    keyword, rest = "prefixItems", "items"
    if isinstance(source.schema.get("items"), list):  # a tuple before 2020-12
        keyword, rest = "items", "additionalItems"
    first = listed(source.schema.get(keyword))
    if index < len(first):
        yield _child(source, keyword, first[index], f"/{index}")
    else:
        yield from _rest(source, rest, "unevaluatedItems")


def _rest(source: Source, rest: str, unevaluated: str) -> Iterator[Source]:
    """The keyword for what no other keyword of a source covers."""
    if rest in source.schema:
        yield _child(source, rest, source.schema[rest])
    # What other sources evaluate is not looked at: beside them the keyword is passed over.
    elif unevaluated in source.schema and not any(k in source.schema for k in _IN_PLACE):
        yield _child(source, unevaluated, source.schema[unevaluated])


def _child(source: Source, keyword: str, schema: Any, below: str = "") -> Source:
    pointer = f"{source.pointer}/{keyword}"
    return Source(schema, pointer + below, source.branches, (keyword, pointer))


def _places(root: Any) -> dict[int, str]:
    """The pointer of every object in the root, by identity."""
    found: dict[int, str] = {}
    todo = [("", root)]
    while todo:
        pointer, part = todo.pop()
        if isinstance(part, dict):
            found.setdefault(id(part), pointer)
            todo += [(f"{pointer}/{escape(key)}", below) for key, below in part.items()]
        elif isinstance(part, list):
            todo += [(f"{pointer}/{at}", below) for at, below in enumerate(part)]
    return found
