"""From which byte on a keyword that looks at the value itself is lost: type, enum, sizes and so on.

Each rule takes a value, the keyword's own value and the schema around it, and gives the span from
the byte behind which nothing can make up for what is wrong, or None where it cannot prove that
anything is. Patterns are looked at as automata that accept at least what the pattern does, never
with a search that could explode.

Sources: JSON Schema Validation, drafts 04 to 2020-12; for what no text of a format begins with,
RFC 3339 (dates, times, durations), RFC 9562 (UUID), RFC 2673 and 4291 (addresses), RFC 1123 (host
names), RFC 3986 (identifiers), RFC 5321 (mail), RFC 6901 (pointers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from harness.jsontext.spans import Entry, Part, ValueSpan, characters
from harness.schemas.patterns import Pattern, pattern
from harness.schemas.schema import same
from harness.validators import ecma_patterns

Rule = Callable[[ValueSpan, Any, dict[str, Any]], Part | None]

_MAX_STRING = 5000
_MAX_NUMBER = 400
_MANY_STATES = 15_000
"""An automaton with this many states may be near the number at which it takes no more."""

_TYPE_OF: Final = {"true": "boolean", "false": "boolean"}


def _type(node: ValueSpan, allowed: Any, _holder: dict[str, Any]) -> Part | None:
    """The first byte tells the type, but for integers: 1.5 can become 1.5e1."""
    names = [allowed] if isinstance(allowed, str) else allowed
    kind = _TYPE_OF.get(node.kind, node.kind)
    if kind in names or (kind == "number" and "integer" in names):
        return None
    return node.first


def _const(node: ValueSpan, wanted: Any, _holder: dict[str, Any]) -> Part | None:
    return divergence(node, [wanted])


def _enum(node: ValueSpan, wanted: Sequence[Any], _holder: dict[str, Any]) -> Part | None:
    return divergence(node, wanted)


def divergence(node: ValueSpan, wanted: Sequence[Any]) -> Part | None:
    """From where on a value is the beginning of none of the values `wanted`; None if it is one."""
    alike = [value for value in wanted if _kind(value) == node.kind]
    if not alike:
        return node.first
    if any(same(value, node.value) for value in alike):
        return None
    inside = _DIVERGENCES.get(node.kind)
    return node.first if inside is None else inside(node, alike)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _string_divergence(node: ValueSpan, wanted: Sequence[str]) -> Part:
    return _string_part(node, max(_common(node.value, value) for value in wanted))


def _number_divergence(node: ValueSpan, wanted: Sequence[float]) -> Part:
    targets = [Decimal(str(value)) for value in wanted]
    return _number_part(node, lambda head: not any(may_become(head, t) for t in targets))


def _object_divergence(node: ValueSpan, wanted: list[dict[str, Any]]) -> Part:
    written: set[str] = set()
    for member in node.members:
        having = [value for value in wanted if member.name in value]
        if not having:
            names = {name for value in wanted for name in value if name not in written}
            return _key_part(member, names, ())
        wanted = [value for value in having if same(value[member.name], member.value.value)]
        if not wanted:
            found = divergence(member.value, [value[member.name] for value in having])
            return found or member.value.last
        written.add(member.name)
    return node.last


def _array_divergence(node: ValueSpan, wanted: list[list[Any]]) -> Part:
    for index, item in enumerate(node.items):
        having = [value for value in wanted if len(value) > index]
        if not having:
            return item.begin
        wanted = [value for value in having if same(value[index], item.value.value)]
        if not wanted:
            return divergence(item.value, [value[index] for value in having]) or item.value.last
    return node.last


_DIVERGENCES: Final[dict[str, Callable[[ValueSpan, Any], Part]]] = {
    "object": _object_divergence,
    "array": _array_divergence,
    "string": _string_divergence,
    "number": _number_divergence,
}


def _common(text: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    for index, (left, right) in enumerate(zip(text, other, strict=False)):
        if left != right:
            return index
    return min(len(text), len(other))


def _string_part(node: ValueSpan, index: int) -> Part:
    """The string from the last byte of character `index` on, or its closing quote.

    What a character spelled in several bytes is, only the last of them tells.
    """
    places = characters(node)
    return (places[index][1] - 1, node.end) if index < len(places) else node.last


def _number_part(node: ValueSpan, lost: Callable[[str], bool]) -> Part:
    """The number from the first byte with which it is lost, or the byte behind it."""
    digits = node.raw.decode()
    for end in range(1, min(len(digits), _MAX_NUMBER) + 1):
        if lost(digits[:end]):
            return node.start + end - 1, node.end
    return node.last


def may_become(head: str, target: Decimal) -> bool:
    """Whether a number that begins with `head` can be `target`, in whatever spelling."""
    if target and (target < 0) != head.startswith("-"):
        return False
    mantissa, _, exponent = head.lower().partition("e")
    digits = _significant(mantissa)
    if not digits:
        return not target or "e" not in head.lower()
    goal = "".join(map(str, target.as_tuple().digits)).strip("0")
    if "e" not in head.lower():
        rest = digits[len(goal) :]
        return bool(goal) and (
            goal.startswith(digits) or (digits.startswith(goal) and not rest.strip("0"))
        )
    if not goal or digits.rstrip("0") != goal:
        return False
    power = target.adjusted() - Decimal(mantissa).adjusted()
    if exponent[:1] in ("+", "-"):
        sign, exponent = exponent[0], exponent[1:]
    else:
        sign = "+" if exponent else ""
    if power and sign and (power < 0) != (sign == "-"):
        return False
    exponent = exponent.lstrip("0")
    return str(abs(power)).startswith(exponent)


def _significant(mantissa: str) -> str:
    return mantissa.lstrip("-").replace(".", "").lstrip("0")


def _minimum(node: ValueSpan, bound: Any, holder: dict[str, Any]) -> Part | None:
    return _bounded(node, bound, holder, 1, exclusive=holder.get("exclusiveMinimum") is True)


def _maximum(node: ValueSpan, bound: Any, holder: dict[str, Any]) -> Part | None:
    return _bounded(node, bound, holder, -1, exclusive=holder.get("exclusiveMaximum") is True)


def _exclusive_minimum(node: ValueSpan, bound: Any, holder: dict[str, Any]) -> Part | None:
    return _bounded(node, bound, holder, 1, exclusive=True)


def _exclusive_maximum(node: ValueSpan, bound: Any, holder: dict[str, Any]) -> Part | None:
    return _bounded(node, bound, holder, -1, exclusive=True)


def _bounded(
    node: ValueSpan, bound: Any, holder: dict[str, Any], sign: int, *, exclusive: bool
) -> Part | None:
    """A lower bound (`sign` 1) or an upper one (-1), which bounds the negative from below."""
    if node.kind != "number" or isinstance(bound, bool):  # draft-04 has true and false here
        return None
    limit = _times(sign, Decimal(str(bound)))

    def beyond(value: Decimal) -> bool:
        return value <= limit if exclusive else value < limit

    if not beyond(_times(sign, Decimal(node.raw.decode()))):
        return None
    whole = holder.get("type") == "integer"
    return _number_part(node, lambda head: _bound_lost(head, sign, beyond, limit, whole=whole))


def _times(sign: int, number: Decimal) -> Decimal:
    """The number or its opposite, exactly: the operators of Decimal round."""
    return number if sign > 0 else number.copy_negate()


def _bound_lost(
    head: str, sign: int, beyond: Callable[[Decimal], bool], limit: Decimal, *, whole: bool
) -> bool:
    """Whether every number that begins with `head` is, times `sign`, beyond a lower limit.

    Digits and exponents lead to any magnitude, so only numbers of the wrong sign can be lost; a
    whole number is at least as far from zero as its digits, without zeros at their end, say.
    """
    if "e" in head.lower() or head.startswith("-") == (sign < 0):
        return False
    digits = _significant(head)
    if not digits:
        return beyond(Decimal(0))
    if whole:
        return beyond(_times(-1, Decimal(digits.rstrip("0"))))
    return limit >= 0


def _min_length(node: ValueSpan, least: Any, _holder: dict[str, Any]) -> Part | None:
    return node.last if node.kind == "string" and len(node.value) < least else None


def _max_length(node: ValueSpan, most: Any, _holder: dict[str, Any]) -> Part | None:
    if node.kind != "string" or len(node.value) <= most:
        return None
    places = characters(node)
    return places[int(most)][0], node.end


def _pattern(node: ValueSpan, expression: str, _holder: dict[str, Any]) -> Part | None:
    return None if node.kind != "string" else _pattern_part(node, expression)


def _pattern_part(node: ValueSpan, expression: str) -> Part | None:
    index = lost_at(expression, node.value)
    return None if index is None else _string_part(node, index)


@lru_cache(maxsize=4096)
def lost_at(expression: str, text: str) -> int | None:
    """The character with which `text` can no longer begin a match of an ECMA-262 pattern.

    Returns:
        An index into `text`; its length if it can go on but does not match as it is; None where
        it may match, or nothing is known about the pattern.
    """
    automaton = _automaton(expression)
    if automaton is None or len(text) > _MAX_STRING:
        return None
    state = automaton.start
    for index, char in enumerate(text):
        state = automaton.step(state, char)
        if state == Pattern.DEAD:
            return index if _spacious(automaton) else None
    if _spacious(automaton) and not automaton.accepts(state):
        return len(text)
    return None


def _automaton(expression: str) -> Pattern | None:
    try:
        return pattern(ecma_patterns.python_spelling(expression))
    except ecma_patterns.PatternError:
        return None


def _spacious(automaton: Pattern) -> bool:
    """Whether the automaton has room for more states; a full one calls every new state dead."""
    return len(automaton._sets) < _MANY_STATES  # noqa: SLF001 - there is no other way to ask


_DATE = r"\d{4}-[01]\d-[0-3]\d"
_TIME = r"[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d+)?(?:[Zz]|[+-][0-2]\d:[0-5]\d)"
_URI = r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]*"
_HEX = "[0-9A-Fa-f]"

WIDE_FORMATS: Final[dict[str, str]] = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt ]{_TIME}$",
    "duration": "^P[0-9YMWDTHS]+$",
    "uuid": f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$",
    "ipv4": r"^\d{1,3}(?:\.\d{1,3}){3}$",
    "ipv6": "^[0-9A-Fa-f:.]{2,45}$",
    "hostname": "^[0-9A-Za-z.-]*$",
    "email": "^[ -~]*$",
    "uri": f"^[A-Za-z][A-Za-z0-9+.-]*:{_URI}$",
    "uri-reference": f"^{_URI}$",
    "json-pointer": "^(?:/(?:[^/~]|~[01])*)*$",
}
"""What every text of a format matches, and much else does: wide enough never to be wrong."""


def _format(node: ValueSpan, name: Any, _holder: dict[str, Any]) -> Part | None:
    wide = WIDE_FORMATS.get(name)
    return None if wide is None or node.kind != "string" else _pattern_part(node, wide)


def _max_items(node: ValueSpan, most: Any, _holder: dict[str, Any]) -> Part | None:
    return _surplus(node.items, most) if node.kind == "array" else None


def _max_properties(node: ValueSpan, most: Any, _holder: dict[str, Any]) -> Part | None:
    return _surplus(node.members, most) if node.kind == "object" else None


def _surplus(parts: Sequence[Entry], most: Any) -> Part | None:
    return parts[int(most)].begin if len(parts) > most else None


def _min_items(node: ValueSpan, least: Any, _holder: dict[str, Any]) -> Part | None:
    return node.last if node.kind == "array" and len(node.items) < least else None


def _min_properties(node: ValueSpan, least: Any, _holder: dict[str, Any]) -> Part | None:
    return node.last if node.kind == "object" and len(node.members) < least else None


def _required(node: ValueSpan, names: Any, _holder: dict[str, Any]) -> Part | None:
    if node.kind != "object" or not isinstance(names, list):
        return None
    written = {member.name for member in node.members}
    return None if written.issuperset(names) else node.last


def additional_members(node: ValueSpan, holder: dict[str, Any]) -> Iterator[Entry]:
    """The members that ``properties`` and ``patternProperties`` surely leave over."""
    named = holder.get("properties", {})
    expressions = list(holder.get("patternProperties", {}))
    for member in node.members:
        if member.name not in named and all(
            lost_at(expression, member.name) is not None for expression in expressions
        ):
            yield member


def unknown_keys(node: ValueSpan, holder: dict[str, Any]) -> Iterator[Part]:
    """Of every key that must not be there, what no allowed key begins with.

    Args:
        node: An object.
        holder: A schema with ``additionalProperties`` false.
    """
    allowed = {name for name, schema in holder.get("properties", {}).items() if schema is not False}
    expressions = [
        expression
        for expression, schema in holder.get("patternProperties", {}).items()
        if schema is not False
    ]
    unknown = {member.key.start for member in additional_members(node, holder)}
    for member in node.members:
        if member.key.start in unknown:
            yield _key_part(member, allowed, expressions)
        allowed.discard(member.name)


def _key_part(member: Entry, names: set[str], expressions: Sequence[str]) -> Part:
    """The key from where it is the beginning of no name that may still come.

    Where none may come, that is the comma before it, or the opening quote of the first key.
    """
    if not names and not expressions:
        return member.begin[0], member.key.end
    index = max((_common(member.name, name) for name in names), default=0)
    for expression in expressions:
        lost = lost_at(expression, member.name)
        index = len(member.name) if lost is None else max(index, lost)
    return _string_part(member.key, index)


ASSERTIONS: Final[dict[str, Rule]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "required": _required,
}
"""The rules, by keyword. `format` proves nothing where the draft does not assert the format."""
