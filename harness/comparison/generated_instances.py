"""Instances of a schema that nobody gave any for: made, judged, and chosen for what they cover.

What the generator believes counts for nothing. A text is used only where both validators say the
same of it, as what they say it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, Final

from harness.comparison.text_facts import is_plain
from harness.inputs.cases import Case
from harness.jsontext import strict_json
from harness.schemas.rewritings import with_names
from harness.schemas.values import Values, declared_names, parts_of
from harness.schemas.variants import distinct, in_turn, spelled
from harness.schemas.violations import traits, violations
from harness.validators.judge import INVALID, VALID, Judge, Ruling, Unjudgeable

_REFERENCE_ROOM: Final = 600
"""Bytes of a text that is walked: every token of it is a position."""
_FED_ROOM: Final = 4000
_BROKEN: Final = 4
"""Valid values that others are made of by breaking them."""
_MOST_BROKEN: Final = 250
_EXPONENT: Final = re.compile(r"-?[0-9.]+e[+-][0-9]+")


@dataclass(frozen=True)
class Ruled:
    """A text, and what the validators say of it."""

    text: bytes
    ruling: Ruling


@dataclass(frozen=True)
class Made:
    """What was made for one schema."""

    valid: tuple[Ruled, ...] = ()
    """Those first that cover most of what the ones before do not."""
    invalid: tuple[Ruled, ...] = ()
    """In turn of the keywords that they break."""
    attempted: int = 0
    """How many values were judged that might be valid."""

    def references(self) -> list[bytes]:
        """The valid texts in the order in which they are to be walked: the long ones last."""
        texts = [one.text for one in self.valid]
        return sorted(texts, key=lambda text: max(len(text), _REFERENCE_ROOM))

    def fed(self, most: int, known: Collection[bytes]) -> list[Ruled]:
        """At most so many texts, half of them valid if there are enough, none of those `known`."""
        valid = [one for one in self.valid if one.text not in known]
        invalid = [one for one in self.invalid if one.text not in known]
        rest = max(most // 2, most - len(valid))
        chosen = valid[: max(most - len(invalid[:rest]), 0)]
        return chosen + invalid[: most - len(chosen)]


def make(judge: Judge, schema: Any, given: Sequence[bytes], style: Mapping[str, Any]) -> Made:
    """Make instances of a schema, parsed, for which `judge` is open; nothing is drawn.

    `given` are valid texts, if any are known; `style` holds the arguments of `json.dumps`.
    """
    maker = Values(schema)
    declared = {name for _, part in parts_of(schema) for name in declared_names(part)}
    values = maker.values()
    known = {*map(spelled, values)}
    less = distinct(_with_alone(declared, value) for value in values) if declared else ()
    values = [*values, *(one for one in less if spelled(one) not in known)]
    with judge.apart():
        judged = _judged(judge, values, style)
        found = [(value, one) for value, one in judged if one.ruling.verdict == VALID]
        fit, names = [one for _, one in found], {*maker.names}
        meant = partial(maker.is_meant, schema)
        valid = _covering(judge, fit, lambda one: is_plain(one, names) and meant(json.loads(one)))
        own = [strict_json.parse(text) for text in given[:_BROKEN]]
        bases = [*(value for value, _ in found), *own][:_BROKEN]
        each = [violations(maker, schema, value) for value in bases]
        broken = _judged(judge, distinct(islice(in_turn(each), _MOST_BROKEN)), style)
        wrong = [one for _, one in (*judged, *broken) if one.ruling.verdict == INVALID]
        return Made(tuple(valid), tuple(_by_keyword(wrong)), len(values))


def _with_alone(names: AbstractSet[str], value: Any) -> Any:
    """A value whose objects have no members but those of these names."""
    if isinstance(value, dict):
        return {name: _with_alone(names, one) for name, one in value.items() if name in names}
    return [_with_alone(names, one) for one in value] if isinstance(value, list) else value


def make_as_original(judge: Judge, case: Case, schema: Any, given: Sequence[bytes]) -> Made:
    """`make` for the case's schema; for a rewriting, the instances of the original, in their order.

    There are none where the validators do not say the same of all.
    """
    if case.original is None:
        return make(judge, schema, given, {})
    names = dict(case.original.names)
    old = {new: name for name, new in names.items()}
    if isinstance(judge.open(case.original.schema), Unjudgeable):
        judge.open(case.schema)
        return Made()
    made = make(
        judge,
        strict_json.parse(case.original.schema.encode(), lone_surrogates=True),
        [_renamed(text, old) for text in given],
        {},
    )
    judge.open(case.schema)

    def ruled(before: Sequence[Ruled]) -> tuple[Ruled, ...]:
        texts = [_renamed(one.text, names) for one in before]
        return tuple(map(Ruled, texts, judge.judge(texts)))

    with judge.apart():
        valid, invalid = ruled(made.valid), ruled(made.invalid)
    same = [one.ruling.verdict for one in (*valid, *invalid)] == [
        one.ruling.verdict for one in (*made.valid, *made.invalid)
    ]
    return Made(valid, invalid, made.attempted) if same else Made()


def _renamed(text: bytes, names: Mapping[str, str]) -> bytes:
    if not names:
        return text
    value = with_names(json.loads(text), names)
    return json.dumps(value, ensure_ascii=False).encode()


def to_walk(judge: Judge, ruled: Iterable[Ruled]) -> list[bytes]:
    """The valid ones of some texts in the order in which they are to be walked."""
    fit = [one for one in ruled if one.ruling.verdict == VALID and len(one.text) <= _FED_ROOM]
    with judge.apart():
        return Made(tuple(_covering(judge, fit, lambda text: is_plain(text, set())))).references()


def _judged(
    judge: Judge, values: Iterable[Any], style: Mapping[str, Any]
) -> list[tuple[Any, Ruled]]:
    written = [(value, text) for value in values for text in _written(value, style)]
    fit = [(value, text) for value, text in written if len(text) <= _FED_ROOM]
    rulings = judge.judge([text for _, text in fit])
    return [(value, Ruled(text, one)) for (value, text), one in zip(fit, rulings, strict=True)]


def _written(value: Any, style: Mapping[str, Any]) -> list[bytes]:
    """The texts of a value; none where it cannot be written in UTF-8, or is no JSON.

    A number alone with an exponent is spelt positionally as well.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, **style)
        plain = format(Decimal(text), "f") if _EXPONENT.fullmatch(text) else text
        return [one.encode("utf-8") for one in dict.fromkeys((text, plain))]
    except (ValueError, RecursionError):
        return []


def _covering(
    judge: Judge, ruled: Sequence[Ruled], is_everyday: Callable[[bytes], bool]
) -> list[Ruled]:
    """Texts in the order of what each adds to those before it; short ones first where that ties.

    Parts of the schema come before traits of the values. Of four the last is no everyday value, and
    what those have counts as new in everyday ones. The first is short enough to be walked, if any.
    """
    reached = judge.reached([one.text for one in ruled])
    left = {
        one: (not is_everyday(one.text), places, traits(json.loads(one.text)))
        for one, places in zip(ruled, reached, strict=True)
    }
    seen: dict[bool, set[str]] = {False: set(), True: set()}
    had: dict[bool, set[str]] = {False: set(), True: set()}

    def key(one: Ruled) -> tuple[object, ...]:
        rare, places, has = left[one]
        late = not chosen and len(one.text) > _REFERENCE_ROOM, rare is not (len(chosen) % 4 == 3)
        return late, -len(places - seen[rare]), -len(has - had[rare]), len(one.text), one.text

    chosen: list[Ruled] = []
    while left:
        chosen.append(min(left, key=key))
        rare, places, has = left.pop(chosen[-1])
        for one in {rare, True}:
            seen[one] |= places
            had[one] |= has
    return chosen


def _by_keyword(ruled: Sequence[Ruled]) -> list[Ruled]:
    """Texts in turn of what they break, for each keyword those first with a trait new to it."""
    groups: dict[tuple[str, str], tuple[list[Ruled], list[Ruled]]] = {}
    seen: dict[tuple[str, str], set[str]] = {}
    for one in ruled:
        place = (one.ruling.keyword, one.ruling.schema_pointer)
        had, has = seen.setdefault(place, set()), traits(json.loads(one.text))
        fresh, others = groups.setdefault(place, ([], []))
        (fresh if has - had else others).append(one)
        had |= has
    return list(in_turn([fresh + others for fresh, others in groups.values()]))
