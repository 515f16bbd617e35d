"""Whether what is written of a value rules a subschema out.

This decides between the branches of alternatives. It looks at the subschema itself, not at what it
refers to, and what it does not know it lets pass: a branch that is not refuted may still be wrong.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from harness.jsontext.lexer import Mode
from harness.jsontext.partial import CONTAINER, Cursor, Frame, unkept
from harness.schemas.approximate_validator import ApproximateValidator
from harness.schemas.patterns import pattern
from harness.schemas.schema import child_schema, count, kinds, listed, number, types

_MAX_MEMO = 50_000
_MAX_REFERENCES = 16
_LITERALS: Final = {b"t": True, b"f": False, b"n": None}
_DECIDABLE: Final = frozenset({"properties", "required", "type", "title", "description"})


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


def admits(schema: dict[str, Any], kind: str) -> bool:
    """Whether ``type``, ``const`` and ``enum`` leave room for a value of this kind."""
    wanted = {"number", "integer"} if kind == "number" else {kind}
    named = types(schema)
    if named and wanted.isdisjoint(named):
        return False
    choices = _choices(schema)
    return choices is None or any(kind in kinds(choice) for choice in choices)


class Refutation:
    """The refutations for one root schema; those of members are memoised."""

    def __init__(self, approximate: ApproximateValidator) -> None:
        self._approximate = approximate
        # Schemas are held by the root, so their ids stay their own.
        self._members: dict[tuple[int, str, Any], bool] = {}

    def contradicts(self, schema: dict[str, Any], partial: PartialValue) -> bool:
        """Whether what is written cannot become a value of `schema`, so far as is known.

        `schema` must live as long as the root schema.
        """
        if not partial.kind:
            return False
        if not admits(schema, partial.kind):
            return True
        if partial.frame is None:
            return partial.cursor is not None and self._scalar(schema, partial.cursor)
        if partial.frame.is_object:
            return self._object(schema, partial.frame)
        return _array(schema, partial.frame, partial.slot)

    def outcomes(self, condition: Any, partial: PartialValue) -> set[int]:
        """The branches of an ``if`` that are still open: 0 for ``then``, 1 for ``else``."""
        for _ in range(_MAX_REFERENCES):
            if isinstance(condition, dict) and condition.keys() == {"$ref"}:
                condition = self._approximate.resolve(condition["$ref"])
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
        properties = condition.get("properties")
        names = [*(properties if isinstance(properties, dict) else ())]
        names += [name for name in listed(condition.get("required")) if isinstance(name, str)]
        if not all(name in members and members[name] is not CONTAINER for name in names):
            return False
        return self._approximate.fits(condition, {name: unkept(members[name]) for name in names})

    def _object(self, schema: dict[str, Any], frame: Frame) -> bool:
        names = {*frame.names, *([] if frame.key is None else [frame.key])}
        high = count(schema.get("maxProperties"))
        if high is not None and len(names) > high:
            return True
        choices = _choices(schema)
        if choices is not None:
            objects = (choice for choice in choices if isinstance(choice, dict))
            if not any(choice.keys() >= names for choice in objects):
                return True
        if frame.key is not None and self._forbids(schema, frame.key, CONTAINER):
            return True
        return any(self._forbids(schema, name, value) for name, value in frame.members)

    def _forbids(self, schema: dict[str, Any], name: str, value: Any) -> bool:
        """Whether a member `name` with `value`, as a frame keeps it, is invalid in `schema`."""
        mark = (id(schema), name, value)
        known = self._members.get(mark)
        if known is None:
            if len(self._members) >= _MAX_MEMO:
                self._members.clear()
            known = self._members[mark] = self._breaks(schema, name, value)
        return known

    def _breaks(self, schema: dict[str, Any], name: str, value: Any) -> bool:
        part = child_schema(schema, name)
        if part is False or not self._approximate.fits(schema.get("propertyNames", True), name):
            return True
        return value is not CONTAINER and not self._approximate.fits(part, unkept(value))

    def _scalar(self, schema: dict[str, Any], cursor: Cursor) -> bool:
        if cursor.mode is Mode.LITERAL:
            return not self._approximate.fits(schema, _LITERALS[cursor.atom[:1]])
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
        return not any(isinstance(c, str) and c.startswith(written) for c in choices)
    high = count(schema.get("maxLength"))
    if high is not None and len(written) > high:
        return True
    expression = schema.get("pattern")
    return isinstance(expression, str) and not matchable(expression, written)


def _array(schema: dict[str, Any], frame: Frame, slot: str | int | None) -> bool:
    size = frame.size if slot is None else frame.size + 1
    high = count(schema.get("maxItems"))
    if high is not None and size > high:
        return True
    choices = _choices(schema)
    if choices is not None:
        arrays = (choice for choice in choices if isinstance(choice, list))
        if not any(size <= len(choice) for choice in arrays):
            return True
    return size > 0 and child_schema(schema, size - 1) is False


def _choices(schema: dict[str, Any]) -> list[Any] | None:
    """The values that ``const`` or ``enum`` allow; None where neither is present."""
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else None


def matchable(expression: str, begun: str) -> bool:
    """Whether a text that begins so may match; true for expressions that cannot be read."""
    automaton = pattern(expression)
    return automaton is None or automaton.walk(automaton.start, begun) != automaton.DEAD
