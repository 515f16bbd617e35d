"""Which keyword governs what is written at a place, of all the subschemas that apply there.

For each kind of place there is an order of precedence, the most specific keyword first (the tuples
below and `harness.explain.key_rules` for keys). The first keyword in the order that any
applicable subschema has is in force, where it stands. In all of them ``not`` and then ``type`` come
last; where a value has none of them, it is the keyword that applies the value's schema
(``properties``, ``items``, and so on) that governs it.

Alternatives: as long as what is written leaves more than one branch of an ``anyOf``, ``oneOf`` or
``if`` and the branches do not say the same, that keyword is in force, with the precedence of the
most specific keyword in its branches. At the start of a value the branches that its first byte
rules out do not count, save that this choice of a type itself is the alternatives' affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from harness.explain.applicable import Alternatives, Branches, Source
from harness.explain.refutation import admits
from harness.jsontext.partial import Frame
from harness.jsontext.pointers import MISSING
from harness.schemas.schema import listed, same

NOT_RANK: Final = 80
TYPE_RANK: Final = 90
_VIA_RANK: Final = 99

Order = tuple[str, ...]
_WHOLE: Final = ("const", "enum")
TEXT: Final[Order] = (*_WHOLE, "pattern", "format", "maxLength", "minLength")
"""The opening quote and the content of a string."""
TEXT_END: Final[Order] = (*_WHOLE, "pattern", "format", "minLength", "maxLength")
"""The closing quote of a string."""
NUMBER: Final[Order] = (
    *_WHOLE,
    "multipleOf",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
)
PLAIN: Final[Order] = _WHOLE
"""Literals, and the bracket that opens a container."""
OBJECT_END: Final[Order] = (
    *_WHOLE,
    "required",
    "dependentRequired",
    "dependencies",
    "minProperties",
)
ARRAY_END: Final[Order] = (*_WHOLE, "minItems", "contains", "minContains")
NEXT_ITEM: Final[Order] = (
    *_WHOLE,
    "maxItems",
    "maxContains",
    "prefixItems",
    "additionalItems",
    "items",
    "unevaluatedItems",
    "uniqueItems",
)
NEXT_MEMBER: Final[Order] = (*_WHOLE, "maxProperties")
"""The comma in an object, before what governs the key behind it."""
BARE: Final[Order] = ()
"""The colon, and the end of the text."""


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

    Args:
        order: The keywords, most specific first; ``not`` and ``type`` follow.
        frame: The open container, where the order is one of a container.
        via: Whether, failing all, the keyword counts that applies the source's schema.
    """

    def rule_of(source: Source) -> GoverningRule | None:
        for rank, keyword in enumerate(order):
            if keyword in source.schema and _pertinent(keyword, source.schema, frame):
                return rule(rank, keyword, source)
        return at_last(source, via=via)

    return rule_of


def rule(rank: int, keyword: str, source: Source) -> GoverningRule:
    """That `keyword` of a source is in force."""
    return GoverningRule(rank, keyword, f"{source.pointer}/{keyword}", source.schema[keyword])


def at_last(source: Source, *, via: bool = False) -> GoverningRule | None:
    """What a source says where it has no specific keyword."""
    for rank, keyword in ((NOT_RANK, "not"), (TYPE_RANK, "type")):
        if keyword in source.schema:
            return rule(rank, keyword, source)
    return GoverningRule(_VIA_RANK, *source.via) if via and source.via[0] else None


def _pertinent(keyword: str, schema: dict[str, Any], frame: Frame | None) -> bool:
    """Whether a keyword that is present has a say at the place."""
    value, rule = schema[keyword], _PERTINENT.get(keyword)
    return rule is None or rule(value, schema, frame or Frame(True))


def _rest_of_items(_: Any, schema: dict[str, Any], frame: Frame) -> bool:
    first = schema.get("items")
    return isinstance(first, list) and frame.size >= len(first)


def _lists_names(rules: Any, _: dict[str, Any], frame: Frame) -> bool:
    return isinstance(rules, dict) and any(isinstance(rules.get(n), list) for n in frame.names)


_PERTINENT: Final[dict[str, Callable[[Any, dict[str, Any], Frame], bool]]] = {
    "required": lambda names, _, __: bool(listed(names)),
    "dependentRequired": _lists_names,
    "dependencies": _lists_names,
    "prefixItems": lambda first, _, frame: frame.size < len(listed(first)),
    "items": lambda items, _, frame: not isinstance(items, list) or frame.size < len(items),
    "additionalItems": _rest_of_items,
    "unevaluatedItems": lambda _, schema, __: "items" not in schema,
    "uniqueItems": lambda value, _, __: value is True,
    "minContains": lambda _, schema, __: "contains" in schema,
    "maxContains": lambda _, schema, __: "contains" in schema,
}


def governing_rule(
    sources: Iterable[Source], rule_of: RuleOf, kind: str = ""
) -> GoverningRule | None:
    """What is in force of all that applies; None where nothing is said.

    Args:
        sources: The subschemas that apply.
        rule_of: What one of them says.
        kind: At the start of a value, the kind of value that begins.
    """
    return _strongest([(source, source.undecided) for source in sources], rule_of, kind)


_Pending = list[tuple[Source, Branches]]


def _strongest(pending: _Pending, rule_of: RuleOf, kind: str) -> GoverningRule | None:
    best: GoverningRule | None = None
    choices: dict[Alternatives, dict[int, _Pending]] = {}
    for source, undecided in pending:
        if undecided:
            choice, branch = undecided[0]
            choices.setdefault(choice, {}).setdefault(branch, []).append((source, undecided[1:]))
        else:
            best = _stronger(best, rule_of(source))
    for choice, branches in choices.items():
        best = _stronger(best, _of_choice(choice, branches, rule_of, kind))
    return best


def _of_choice(
    choice: Alternatives, branches: dict[int, _Pending], rule_of: RuleOf, kind: str
) -> GoverningRule | None:
    """What an undecided choice says: what all its branches say, or itself."""
    each = {branch: _strongest(pending, rule_of, kind) for branch, pending in branches.items()}
    found = [one for one in each.values() if one is not None]
    if not found:
        return None
    if len(found) == len(choice.live) and _agree(found):
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


def _stronger(left: GoverningRule | None, right: GoverningRule | None) -> GoverningRule | None:
    if left is None or right is None:
        return left or right
    return right if right.rank < left.rank else left


def _agree(found: Sequence[GoverningRule]) -> bool:
    first = found[0]
    return all(one.keyword == first.keyword and _equal(one, first) for one in found[1:])


def _equal(one: GoverningRule, other: GoverningRule) -> bool:
    if one.pointer == other.pointer:
        return True
    if one.value is MISSING or isinstance(one.value, dict):
        return False
    try:
        return same(one.value, other.value)
    except RecursionError:
        return False
