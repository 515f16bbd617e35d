"""What to do about an engine's errors: only what was tried, under the schema and on smallest cases.

A keyword written otherwise, an option, or a keyword left out is named where the engine then
compiles the schema, and does with each text of the error what both validators say.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, Final

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.schema_edits import MAPS
from harness.bugs.trial import Trial
from harness.check.answers import Answer, ProvenError
from harness.engines.specs import EngineSpec, adapter_class, parse_spec
from harness.jsontext.pointers import part_at, replaced, without
from harness.jsontext.strict_json import parse
from harness.jsontext.usual_spellings import usual_spellings, value_key
from harness.protocol import Option
from harness.schemas.rewritings import REWRITINGS, Place, Rewriting, SchemaAnatomy, everywhere
from harness.schemas.schema import LISTS, SINGLE, objects, walked
from harness.validators.drafts import draft_of
from harness.verdict_kinds import REJECTIONS

_MOST: Final = 8
"""Errors of an engine for which a remedy is looked for, the worst first."""
_KEPT: Final = 4
"""Valid texts, the shortest and as many of the longest, that a remedy must not cost."""
_STRUCTURE: Final = frozenset(("type", "properties", "$schema", "$defs", "definitions", "$ref"))
_TOGETHER: Final = frozenset(("if", "then", "else"))
_HOLDERS: Final = frozenset((*MAPS, *LISTS, *SINGLE))
_BELONG: Final = (
    *(frozenset((f"min{what}", f"max{what}")) for what in ("Length", "Items", "Properties")),
    frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    _TOGETHER,
)
"""Keywords of which leaving out one alone may not do."""

_Spellings = Sequence[ErrorCase]
"""A case with a text, and that with other spellings of its value."""

_IN_WORDS: Final = {
    "const-as-enum": "`enum` with one value in place of `const`",
    "enum-as-const": "`const` in place of `enum` with one value",
    "types-apart": "`anyOf` of single types in place of a list of types",
    "other-bounds": "`minimum` and `maximum` of integers in place of exclusive bounds",
    "lengths-as-pattern": (
        "a `pattern` such as ^[\\s\\S]{1,9}$ in place of `minLength` and `maxLength`"
    ),
    "reference-inlined": "what it refers to in place of `$ref`",
    "implied-left-out": "the schema without keywords that forbid nothing",
    "split-members": "`allOf` of two parts in place of `properties`",
}


def _one_of(place: Place, _: SchemaAnatomy) -> Any:
    part = place.schema
    fits = "oneOf" in part and "anyOf" not in part
    return {**without(part, "oneOf"), "anyOf": part["oneOf"]} if fits else None


_OTHERWISE: Final[Mapping[str, Rewriting]] = {
    **{words: REWRITINGS[name] for name, words in _IN_WORDS.items()},
    "`anyOf` in place of `oneOf` (the same where no two branches overlap)": _one_of,
}


def variants(spec: EngineSpec) -> Iterator[tuple[str, EngineSpec]]:
    """The same engine with one option set otherwise, and what that is and does."""
    options: Mapping[str, Option] = adapter_class(spec.reference, spec.paths).OPTIONS
    for name, option in options.items():
        switches = isinstance(option.default, bool) or "true" in (option.choices or ())
        for value in ("true", "false") if switches else ():
            if str(spec.options[name]).lower() != value:
                asked = parse_spec(_with_option(spec.name, name, value))
                words = f"{name}={value} ({option.help.partition(';')[0]})"
                yield words, replace(spec, name=asked.name, options=asked.options)


def _with_option(spec: str, name: str, value: str) -> str:
    head, _, inside = spec.rstrip("]").partition("[")
    others = [one for one in inside.split(",") if one and not one.startswith(f"{name}=")]
    return f"{head}[{','.join([*others, f'{name}={value}'])}]"


def remedies(
    spec: EngineSpec, trial: Trial, answer: Answer, schema: str, stops: Callable[[], bool]
) -> Iterator[str]:
    """What mends errors of an engine, or has it take the schema, in one sentence each.

    Nothing is looked for where no value is at stake. What mends the worst error comes first, and
    keywords are left out only for what is forbidden and not mended otherwise. The `trial` is of the
    engine; once it `stops` nothing more is tried.
    """
    problems: dict[str, list[_Spellings]] = {}
    costly = sorted((e for e in answer.errors if not e.is_spelling), key=lambda one: one.order)
    for error in costly[:_MOST]:
        if cases := _cases(spec, trial, error, schema):
            problems.setdefault(error.in_short, []).extend(cases)
    texts = [schema] if answer.status == "refuses" else []
    known = sorted(answer.covered.valid, key=lambda text: (len(text), text))
    valid = [ErrorCase(spec.name, REJECTIONS[0], schema, text) for text in known]
    taken = list(compress(valid, trial.are_right(valid))) if problems and valid else []
    tries = _Tries(trial, problems, texts, stops, taken[:_KEPT] + taken[-_KEPT:])
    if problems or texts:
        tries.say_otherwise(spec)
    for name in problems:
        tries.leave_out(name)
    yield from (f"{spec.name}: {line}" for line in tries.lines())
    for text in texts:
        yield from _left_out(trial, text, answer.message, spec.name, stops)


@dataclass
class _Tries:
    """What was tried on the `problems`, by their names, and on the `texts` of refused schemas.

    Valid texts that are `taken` must be taken still. `mended` has the names that each try mends,
    and an empty one where a schema is taken then.
    """

    trial: Trial
    problems: Mapping[str, Sequence[_Spellings]]
    texts: Sequence[str]
    stops: Callable[[], bool]
    taken: Sequence[ErrorCase]
    mended: dict[str, list[str]] = field(default_factory=dict)

    def attempt(self, what: str, change: Callable[[Any], Any], names: Iterable[str]) -> None:
        if self.stops():
            return
        helped = [one for one in names if _is_mended(self.trial, self.problems[one], change)]
        if helped and self.taken:
            schema = change(self.taken[0].parsed)
            helped *= all(self.trial.are_right([one.with_schema(schema) for one in self.taken]))
        changed = (change(parse(text)) for text in self.texts)
        if any(new is not None and self.trial.compiles(compact(new)) for new in changed):
            helped.append("")
        self.mended[what] = helped

    def say_otherwise(self, spec: EngineSpec) -> None:
        """Try the same schema in other words, and other options."""
        for words, rewriting in _OTHERWISE.items():
            how = functools.partial(_rewritten, rewriting)
            self.attempt(f"write {words}", how, self.problems)
        for option, changed in variants(spec):
            self.trial.change(changed)
            self.attempt(f"set {option}", lambda schema: schema, self.problems)
        self.trial.change(spec)

    def leave_out(self, name: str) -> None:
        """Try to do without keywords, until an error is mended."""
        for some in _removable(self.problems[name]):
            left = self.problems.keys() - {one for helped in self.mended.values() for one in helped}
            if name not in left:
                return
            there = _keywords(self.problems[name][0][0].parsed).intersection(some)
            what = f"leave out {_listed(sorted(there))}, and check that afterwards"
            shorter = functools.partial(_without, names=some)
            self.attempt(what, shorter, [one for one in self.problems if one in left])

    def lines(self) -> Iterator[str]:
        """What helped, the worst error first."""
        order = [*self.problems, ""]
        first = {what: min(map(order.index, some)) for what, some in self.mended.items() if some}
        for what in sorted(first, key=lambda one: first[one]):
            if told := [one for one in self.mended[what] if one]:
                yield f"{what}: mends {', '.join(told)}"
            if "" in self.mended[what]:
                yield f"{what}: it takes the schema then, check it again"
        if (self.problems or self.texts) and self.stops():
            yield "other remedies were not tried for want of time (--shrink-budget)"


def _cases(spec: EngineSpec, trial: Trial, error: ProvenError, schema: str) -> list[_Spellings]:
    """The text under the user's schema and the smallest case, as far as bytes alone show them.

    With the usual spellings of its value, unless one of them is taken: then the text is at issue.
    """
    found: list[_Spellings] = []
    wild = ErrorCase(spec.name, error.kind, schema, error.text)
    small = (error.bug.error,) if error.bug is not None and not error.bug.error.token else ()
    for one in filter(lambda case: case.text, (wild, *small)):
        is_json = bool(value_key(one.text))
        others = usual_spellings(one.text) if is_json else _laid_out(one.text)
        every = (one, *map(one.with_text, others))
        first, *rest = trial.are_right(every)
        if not first:
            found.append(every[:1] if one.kind in REJECTIONS and any(rest) else every)
    return found


def _laid_out(text: bytes) -> Iterator[bytes]:
    """A text that is no JSON in the usual layouts."""
    dense = re.sub(rb"[ \t\r\n]*([][{}:,])[ \t\r\n]*", rb"\1", text)
    yield from (dense, re.sub(rb"[:,]", rb"\g<0> ", dense))


def _is_mended(trial: Trial, problem: Sequence[_Spellings], change: Callable[[Any], Any]) -> bool:
    """Whether a change makes all right: an invalid text however it is spelt, a value in one way."""
    for spellings in problem:
        if (schema := change(spellings[0].parsed)) is None:
            return False
        right = trial.are_right([one.with_schema(schema) for one in spellings])
        if not (any if spellings[0].kind in REJECTIONS else all)(right):
            return False
    return True


def _removable(problem: Sequence[_Spellings]) -> list[list[str]]:
    """Keywords to leave out so that a valid text may be taken, what holds schemas last.

    Those of the smallest case, then with those that belong to them: the schema may have others.
    """
    if problem[0][0].kind not in REJECTIONS:
        return []
    found, least = (_keywords(one[0].parsed) for one in (problem[0], problem[-1]))
    together = [sorted(some & (found | least)) for some in _BELONG if some & least]
    single = [[one] for one in sorted(least & found, key=lambda one: (one in _HOLDERS, one))]
    leaves = [one for one in single if one[0] not in _HOLDERS]
    return leaves + [some for some in together if len(some) > 1] + single[len(leaves) :]


def _keywords(schema: Any) -> set[str]:
    """The keywords of a schema that may be left out, in any place."""
    found = {name for _, part in objects(schema) for name in part}
    return found - _STRUCTURE


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{one}`" for one in names)


def _rewritten(rewriting: Rewriting, schema: Any) -> Any:
    draft = draft_of(schema)
    return None if draft is None else everywhere(rewriting, schema, draft.name)


def _left_out(
    trial: Trial, text: str, heard: str, engine: str, stops: Callable[[], bool]
) -> Iterator[str]:
    """Which keywords a schema must do without for the engine to take it."""
    schema = parse(text)
    names = sorted(_keywords(schema))
    mentioned = [one for one in names if re.search(rf"\b{re.escape(one)}\b", heard)]
    tries = [mentioned] + [[one] for one in names if one not in _TOGETHER]
    tries.append([one for one in names if one in _TOGETHER])
    for names in tries:
        if names and not stops() and trial.compiles(compact(_without(schema, names))):
            left = f"leave out {_listed(names)}, and check that afterwards"
            yield f"{engine}: {left}: it takes the schema then"
            return


def _without(schema: Any, names: Sequence[str]) -> Any:
    """A schema without some keywords, wherever they stand; None where it has none of them."""
    changed = schema
    for path, _ in reversed(list(walked(schema))):
        part = part_at(changed, path)
        if isinstance(part, dict) and set(names) & part.keys():
            changed = replaced(changed, path, without(part, *names))
    return None if changed is schema else changed
