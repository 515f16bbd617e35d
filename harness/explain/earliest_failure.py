"""From which byte on a JSON value cannot become valid under a schema any more.

The answer is a proof or None: whatever is written after the byte, the value breaks the schema.
`EarliestFailure` follows keywords that hold schemas; the rules of `ASSERTIONS` take a value, the
keyword's own value and the schema around it. Patterns are looked at as automata that accept at
least what the pattern does, never with a search that could explode.

Sources: JSON Schema Core and Validation, drafts 04 to 2020-12; for what no text of a format begins
with, RFC 3339, 9562 (UUID), 2673 and 4291 (addresses), 1123 (host names), 3986, 5321 and 6901.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

from harness.explain.applicable import NO_SIBLINGS
from harness.inputs.vocabulary import alike
from harness.jsontext.spans import Entry, Part, ValueSpan, characters
from harness.schemas.patterns import Pattern, pattern
from harness.schemas.schema import kinds, same, target
from harness.validators import ecma_patterns

Rule = Callable[[ValueSpan, Any, dict[str, Any]], Part | None]

_MAX_DEPTH = 12
_MAX_WORK = 2000
_MAX_STRING = 5000
_MAX_NUMBER = 400
_MANY_STATES = 15_000
_COMBINED: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf", "propertyNames"))


class EarliestFailure:
    """The rules for one root schema, in which references are looked up; `draft` is a name."""

    def __init__(self, root: Any, draft: str) -> None:
        self._root = root
        self._draft = draft
        self._work = 0

    def keyword(
        self, keyword: str, node: ValueSpan, holder: dict[str, Any], depth: int | None = None
    ) -> Part | None:
        """From where on one keyword of `holder` is lost for `node`; None where nothing is proven.

        The span goes from the byte that loses it to the end of what is wrong: of the scalar, key or
        literal, or of the one bracket or comma.
        """
        if depth is None:
            self._work = _MAX_WORK
        if (own := ASSERTIONS.get(keyword)) is not None:
            return own(node, holder[keyword], holder)
        way = self._combined if keyword in _COMBINED else self._below
        return way(keyword, node, holder, (depth or 0) + 1)

    def part(self, node: ValueSpan, schema: Any, depth: int = 0) -> Part | None:
        """From where on `node` is lost under `schema`; None where nothing is proven."""
        self._work -= 1
        if schema is False:
            return node.first
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._work < 0:
            return None
        keywords: Iterable[str] = schema
        if "$ref" in schema and self._draft in NO_SIBLINGS:
            keywords = ("$ref",)
        known = (keyword for keyword in keywords if self._asserted(keyword))
        return _first_lost(self.keyword(keyword, node, schema, depth) for keyword in known)

    def _asserted(self, keyword: str) -> bool:
        """Whether the draft knows `keyword`; what it does not know asserts nothing."""
        if keyword in ("const", "propertyNames"):
            return self._draft != "draft-04"
        if keyword == "prefixItems":
            return self._draft == "2020-12"
        return keyword != "format"  # which formats are asserted is for the validators to say

    def _combined(
        self, keyword: str, node: ValueSpan, holder: dict[str, Any], depth: int
    ) -> Part | None:
        """The same of a keyword that applies schemas to `node` itself, or to its names."""
        value = holder[keyword]
        match keyword:
            case "$ref":
                return self.part(node, target(self._root, value), depth)
            case "allOf":
                return _first_lost(self.part(node, branch, depth) for branch in value)
            case "anyOf" | "oneOf":
                latest: Part | None = None
                for branch in value:
                    if (part := self.part(node, branch, depth)) is None:
                        return None
                    latest = part if latest is None else max(latest, part)
                return latest
            case "propertyNames":
                names = (self.part(member.key, value, depth) for member in node.members)
                return next(filter(None, names), None)
        return None

    def _below(
        self, keyword: str, node: ValueSpan, holder: dict[str, Any], depth: int
    ) -> Part | None:
        """The same of one that applies schemas to members or items."""
        value, pairs = holder[keyword], list[tuple[Entry, Any]]()
        match keyword:
            case "properties":
                pairs = [(one, value[one.name]) for one in node.members if one.name in value]
            case "additionalProperties" if value is False:
                return next(unknown_keys(node, holder), None)
            case "additionalProperties":
                pairs = [(one, value) for one in additional_members(node, holder)]
            case "prefixItems":
                pairs = list(zip(node.items, value, strict=False))
            case "items" if isinstance(value, list):
                pairs = list(zip(node.items, value, strict=False))
            case "items":
                fixed = holder.get("prefixItems") if self._draft == "2020-12" else None
                pairs = [(item, value) for item in node.items[len(fixed or ()) :]]
        for entry, schema in pairs:
            lost = schema is False
            part = entry.forbidden if lost else self.part(entry.value, schema, depth)
            if part is not None:
                return part
        return None


def _first_lost(parts: Iterable[Part | None]) -> Part | None:
    return min(filter(None, parts), default=None)


def _type(node: ValueSpan, allowed: Any, _holder: dict[str, Any]) -> Part | None:
    """The first byte tells the type, but for integers: 1.5 can become 1.5e1."""
    names = [allowed] if isinstance(allowed, str) else allowed
    kind = "boolean" if node.kind in ("true", "false") else node.kind
    return None if kind in names or (kind == "number" and "integer" in names) else node.first


def divergence(node: ValueSpan, wanted: Sequence[Any]) -> Part | None:
    """From where on a value is the beginning of none of the values `wanted`; None if it is one."""
    kin = [value for value in wanted if _kind(value) == node.kind]
    if not kin:
        return node.first
    if any(same(value, node.value) for value in kin):
        return None
    match node.kind:
        case "string":
            return _string_part(node, max(alike(node.value, value) for value in kin))
        case "number":
            targets = [Decimal(str(value)) for value in kin]
            return _number_part(node, lambda head: not any(may_become(head, t) for t in targets))
        case "object" | "array":
            return node.last
    return node.first


def _kind(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else kinds(value)[-1]


def _string_part(node: ValueSpan, index: int) -> Part:
    """The string from the last byte of character `index` on, or its closing quote.

    What a character spelled in several bytes is, only the last of them tells.
    """
    places = characters(node)
    return (places[index][1] - 1, node.end) if index < len(places) else node.last


def _number_part(node: ValueSpan, lost: Callable[[str], bool]) -> Part:
    """The number from the first byte with which it is lost, or the byte after it."""
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
    sign = exponent[:1] if exponent[:1] in ("+", "-") else "+" if exponent else ""
    if power and sign and (power < 0) != (sign == "-"):
        return False
    return str(abs(power)).startswith(exponent.lstrip("+-").lstrip("0"))


def _significant(mantissa: str) -> str:
    return mantissa.lstrip("-").replace(".", "").lstrip("0")


def _bounded(
    node: ValueSpan, bound: Any, holder: dict[str, Any], sign: int, excluding: str = ""
) -> Part | None:
    """A lower bound (`sign` 1) or an upper one (-1), which bounds the negative from below.

    It excludes the bound itself unless the keyword `excluding` would have to say so (draft-04).
    """
    if node.kind != "number" or isinstance(bound, bool):  # draft-04 has true and false here
        return None
    exclusive = not excluding or holder.get(excluding) is True
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
    return beyond(_times(-1, Decimal(digits.rstrip("0")))) if whole else limit >= 0


def _pattern(node: ValueSpan, expression: str, _holder: dict[str, Any]) -> Part | None:
    index = lost_at(expression, node.value) if node.kind == "string" else None
    return None if index is None else _string_part(node, index)


@lru_cache(maxsize=4096)
def lost_at(expression: str, text: str) -> int | None:
    """The character with which `text` can no longer begin a match of an ECMA-262 pattern.

    Its length if it can go on but does not match as it is; None where it may, or nothing is known.
    """
    try:
        automaton = pattern(ecma_patterns.python_spelling(expression))
    except ecma_patterns.PatternError:
        automaton = None
    if automaton is None or len(text) > _MAX_STRING:
        return None
    lost, state = len(text), automaton.start
    for index, char in enumerate(text):
        state = automaton.step(state, char)
        if state == Pattern.DEAD:
            lost = index
            break
    else:
        if automaton.accepts(state):
            return None
    # An automaton that is nearly full may call every new state dead.
    return lost if automaton.size < _MANY_STATES else None


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


def _format(node: ValueSpan, name: Any, holder: dict[str, Any]) -> Part | None:
    wide = WIDE_FORMATS.get(name)
    return None if wide is None else _pattern(node, wide, holder)


def _size(node: ValueSpan) -> int:
    return len(node.value if node.kind == "string" else node.entries)


def _at_least(node: ValueSpan, least: Any, _holder: dict[str, Any], kind: str) -> Part | None:
    return node.last if node.kind == kind and _size(node) < least else None


def _at_most(node: ValueSpan, most: Any, _holder: dict[str, Any], kind: str) -> Part | None:
    if node.kind != kind or _size(node) <= most:
        return None
    if kind == "string":
        return characters(node)[int(most)][0], node.end
    return node.entries[int(most)].begin


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
    """Of every key of an object that must not be there, what no allowed key begins with."""
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
    index = max((alike(member.name, name) for name in names), default=0)
    for expression in expressions:
        lost = lost_at(expression, member.name)
        index = len(member.name) if lost is None else max(index, lost)
    return _string_part(member.key, index)


ASSERTIONS: Final[dict[str, Rule]] = {
    "type": _type,
    "const": lambda node, wanted, _: divergence(node, [wanted]),
    "enum": lambda node, wanted, _: divergence(node, wanted),
    "minimum": partial(_bounded, sign=1, excluding="exclusiveMinimum"),
    "maximum": partial(_bounded, sign=-1, excluding="exclusiveMaximum"),
    "exclusiveMinimum": partial(_bounded, sign=1),
    "exclusiveMaximum": partial(_bounded, sign=-1),
    "minLength": partial(_at_least, kind="string"),
    "maxLength": partial(_at_most, kind="string"),
    "pattern": _pattern,
    "format": _format,
    "minItems": partial(_at_least, kind="array"),
    "maxItems": partial(_at_most, kind="array"),
    "minProperties": partial(_at_least, kind="object"),
    "maxProperties": partial(_at_most, kind="object"),
    "required": _required,
}
"""The rules, by keyword. `format` proves nothing where the draft does not assert the format."""
