"""Which subschemas apply to the values that a text is in the middle of, and where they stand.

Going down from the root along the open containers, every subschema that applies in place or to the
member or item being written is a `Source`: a plain schema with its JSON Pointer. Sources of
``anyOf``, ``oneOf`` and ``if`` hang on `Alternatives`, which forget the branches that what is
written contradicts by themselves. This never raises, and it is bounded on every schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from harness.jsontext.lexer import Mode
from harness.jsontext.partial import CONTAINER, Cursor, Frame, Frames, unkept
from harness.jsontext.pointers import escape
from harness.schemas.patterns import pattern
from harness.schemas.schema import (
    REFERENCES,
    Schema,
    applied_below,
    child_schema,
    count,
    kinds,
    listed,
    mapping,
    number,
    strings,
    types,
)

_MAX_STEPS = 1024
_MAX_BRANCHES = 16
_MAX_MEMO = 50_000
_MAX_REFERENCES = 16
NO_SIBLINGS: Final = frozenset({"draft-04", "draft-06", "draft-07"})
"""Drafts in which ``$ref`` makes every keyword beside it be ignored (draft-07, section 8.3)."""
_ANYTHING: Final[dict[str, Any]] = {}
_LITERALS: Final = {b"t": True, b"f": False, b"n": None}
_DECIDABLE: Final = frozenset({"properties", "required", "type", "title", "description"})


class Alternatives:
    """One keyword (``anyOf``, ``oneOf`` or ``if``) that offers alternatives, for one value.

    `live` are the branches that nothing written contradicts; of ``if``, 0 is ``then``, 1 ``else``.
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
        return tuple(step for step in self.branches if len(step[0].live) > 1)

    def inner(self, schema: Any, pointer: str, *further: Branch) -> Source:
        """A schema that this one applies to the same value, in `further` branches if given."""
        branches = (*self.branches, *further)
        return Source(schema, pointer, branches, self.via, chain=self.chain | {id(self.schema)})


Sources = list[Source]


class PartialValue(NamedTuple):
    """What is written of one value."""

    kind: str = ""
    """Its type by the names of JSON Schema (``number`` for integers too), empty when open."""
    frame: Frame | None = None
    slot: str | int | None = None
    """The member or the item that is being written."""
    cursor: Cursor | None = None
    """Inside a scalar: where the text stands."""


def inside(cursor: Cursor | None) -> PartialValue:
    """What is written of the scalar that `cursor` is inside of; nothing for None."""
    if cursor is None:
        return PartialValue()
    if cursor.mode is Mode.STRING:
        return PartialValue("string", cursor=cursor)
    if cursor.mode.in_number:
        return PartialValue("number", cursor=cursor)
    return PartialValue("null" if cursor.atom[:1] == b"n" else "boolean", cursor=cursor)


class Applicable:
    """The sources for one root schema."""

    def __init__(self, root: Any) -> None:
        from harness.validators.drafts import draft_of

        self._root = root
        self._schema = Schema(root)
        self._refutation = Refutation(self._schema)
        draft = draft_of(root)
        self._lone_references = draft is not None and draft.name in NO_SIBLINGS
        self._ignored = frozenset() if draft is None else draft.ignored
        self._known: dict[int, dict[str, Any]] = {}

    def levels(self, frames: Frames, scalar: Cursor | None, *, slot: bool) -> list[Sources]:
        """The sources of every open container, outermost first.

        With `slot`, and where no container is open, one list more: for the value in the slot of
        the innermost container, or the whole. `scalar` is where the text stands inside a scalar.
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
                inner = self._referred(source) if alone else self._applied(source, known, partial)
                todo += [one for one in inner if id(one.schema) not in one.chain][::-1]
        for source in out:
            asked = source.branches and source.applies and not source.inherited
            if asked and self._refutation.contradicts(source.schema, partial):
                _rule_out(source.branches)
        return [source for source in out if source.applies]

    def _applied(
        self, source: Source, schema: dict[str, Any], partial: PartialValue
    ) -> Iterator[Source]:
        """What a source, of which the draft knows `schema`, applies to the same value."""
        pointer = source.pointer
        yield from self._referred(source)
        for at, part in enumerate(listed(schema.get("allOf"))):
            yield source.inner(part, f"{pointer}/allOf/{at}")
        if partial.frame is not None and partial.frame.is_object:
            present = {*partial.frame.names, partial.frame.key}
            for keyword in ("dependentSchemas", "dependencies"):
                for name, part in mapping(schema, keyword).items():
                    if name in present:
                        yield source.inner(part, f"{pointer}/{keyword}/{escape(name)}")
        if len(source.branches) >= _MAX_BRANCHES:
            return
        for keyword in ("anyOf", "oneOf"):
            parts = listed(schema.get(keyword))
            choice = Alternatives(keyword, f"{pointer}/{keyword}", range(len(parts)))
            for at, part in enumerate(parts):
                yield source.inner(part, f"{choice.pointer}/{at}", (choice, at))
        if "if" in schema and ("then" in schema or "else" in schema):
            open_ = self._refutation.outcomes(schema["if"], partial)
            choice = Alternatives("if", f"{pointer}/if", open_)
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
                target = self._schema.resolve(source.schema[keyword], source.schema)
                if target is False or isinstance(target, dict):
                    yield source.inner(target, self._schema.pointer_of(target) or "")


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
    schema, pointer = source.schema, source.pointer
    for keyword in ("const", "enum"):
        constant = schema.get(keyword)
        values = [constant] if keyword == "const" else listed(constant)
        if any(isinstance(value, dict | list) for value in values):
            yield Source({keyword: constant}, pointer, source.branches, inherited=True)
    for keyword, step, part in applied_below(schema, slot) if slot is not None else ():
        via = (keyword, f"{pointer}/{keyword}")
        yield Source(part, via[1] + step, source.branches, via)


def admits(schema: dict[str, Any], kind: str) -> bool:
    """Whether ``type``, ``const`` and ``enum`` leave room for a value of this kind."""
    wanted = {"number", "integer"} if kind == "number" else {kind}
    named = types(schema)
    if named and wanted.isdisjoint(named):
        return False
    choices = _choices(schema)
    return choices is None or any(kind in kinds(choice) for choice in choices)


def matchable(expression: str, begun: str) -> bool:
    """Whether a text that begins so may match; true for expressions that cannot be read."""
    automaton = pattern(expression)
    return automaton is None or automaton.walk(automaton.start, begun) != automaton.DEAD


class Refutation:
    """Whether what is written rules a subschema out; what is said of members is memoised."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        # Schemas are held by the root, so their ids stay their own.
        self._members: dict[tuple[int, str, Any], bool] = {}

    def contradicts(self, schema: dict[str, Any], partial: PartialValue) -> bool:
        """Whether what is written surely contradicts `schema`, which must live as the root does."""
        if not partial.kind:
            return False
        if not admits(schema, partial.kind):
            return True
        if partial.frame is None:
            return partial.cursor is not None and self._scalar(schema, partial.cursor)
        if partial.frame.is_object:
            return any(self._object(schema, partial.frame))
        return any(_array(schema, partial.frame, partial.slot))

    def outcomes(self, condition: Any, partial: PartialValue) -> set[int]:
        """The branches of an ``if`` that are still open: 0 for ``then``, 1 for ``else``."""
        for _ in range(_MAX_REFERENCES):
            if isinstance(condition, dict) and condition.keys() == {"$ref"}:
                condition = self._schema.resolve(condition["$ref"])
        if not isinstance(condition, dict):
            return {1} if condition is False else {0}
        if self.contradicts(condition, partial):
            return {1}
        return {0} if self._holds(condition, partial.frame) else {0, 1}

    def _holds(self, condition: dict[str, Any], frame: Frame | None) -> bool:
        """Whether all that a condition looks at is written and fits, whatever may follow."""
        if frame is None or not frame.is_object or not condition.keys() <= _DECIDABLE:
            return False
        members = dict(frame.members)
        names = [*mapping(condition, "properties"), *strings(condition.get("required"))]
        if not all(name in members and members[name] is not CONTAINER for name in names):
            return False
        return self._schema.fits(condition, {name: unkept(members[name]) for name in names})

    def _object(self, schema: dict[str, Any], frame: Frame) -> Iterator[bool]:
        names = {*frame.names, *([] if frame.key is None else [frame.key])}
        high, choices = count(schema.get("maxProperties")), _choices(schema)
        yield high is not None and len(names) > high
        yield choices is not None and not any(
            isinstance(choice, dict) and choice.keys() >= names for choice in choices
        )
        yield frame.key is not None and self._forbids(schema, frame.key, CONTAINER)
        yield from (self._forbids(schema, name, value) for name, value in frame.members)

    def _forbids(self, schema: dict[str, Any], name: str, value: Any) -> bool:
        """Whether a member `name` with `value`, as a frame keeps it, is invalid in `schema`."""
        mark = (id(schema), name, value)
        known = self._members.get(mark)
        if known is None:
            if len(self._members) >= _MAX_MEMO:
                self._members.clear()
            part, fits = child_schema(schema, name), self._schema.fits
            known = part is False or not fits(schema.get("propertyNames", True), name)
            known = known or (value is not CONTAINER and not fits(part, unkept(value)))
            self._members[mark] = known
        return known

    def _scalar(self, schema: dict[str, Any], cursor: Cursor) -> bool:
        if cursor.mode is Mode.LITERAL:
            return not self._schema.fits(schema, _LITERALS[cursor.atom[:1]])
        choices = _choices(schema)
        if cursor.mode is Mode.STRING:
            return _string(schema, choices, cursor.written)
        written = cursor.atom.decode()
        if choices is None or set(written) & set(".eE"):
            return False  # with these, one number has many spellings
        numbers = (choice for choice in choices if number(choice) is not None)
        return not any(json.dumps(choice).startswith(written) for choice in numbers)


def _string(schema: dict[str, Any], choices: list[Any] | None, written: str) -> bool:
    if choices is not None:
        return not any(choice.startswith(written) for choice in strings(choices))
    high = count(schema.get("maxLength"))
    if high is not None and len(written) > high:
        return True
    expression = schema.get("pattern")
    return isinstance(expression, str) and not matchable(expression, written)


def _array(schema: dict[str, Any], frame: Frame, slot: str | int | None) -> Iterator[bool]:
    size = frame.size if slot is None else frame.size + 1
    high, choices = count(schema.get("maxItems")), _choices(schema)
    yield high is not None and size > high
    yield choices is not None and not any(
        isinstance(choice, list) and size <= len(choice) for choice in choices
    )
    yield size > 0 and child_schema(schema, size - 1) is False


def _choices(schema: dict[str, Any]) -> list[Any] | None:
    """The values that ``const`` or ``enum`` allow; None where neither is present."""
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else None
