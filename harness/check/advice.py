"""What to do about an engine's errors: only what was tried, on the smallest case of each.

An option of the engine, or a keyword written otherwise, is named where the engine then compiles the
schema, and does with the text what both validators say.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.schema_edits import replaced, subschemas
from harness.bugs.trial import Trial
from harness.check.answers import Answer
from harness.engines.specs import EngineSpec, adapter_class, parse_spec
from harness.jsontext.strict_json import parse
from harness.jsontext.usual_spellings import usual_spellings, value_key
from harness.protocol import Option
from harness.schemas.schema import target
from harness.verdict_kinds import ACCEPTANCES

_MOST: Final = 6
"""Errors of an engine for which a remedy is looked for, the worst first."""
_STRUCTURE: Final = frozenset(("type", "properties", "$schema", "$defs", "definitions", "$ref"))
_TOGETHER: Final = frozenset(("if", "then", "else"))

Rewriting = Callable[[Mapping[str, Any], Any], Any]
"""Given a subschema and the whole schema, what says the same in other words; None for nothing."""


def _const(part: Mapping[str, Any], _: Any) -> Any:
    return {**_but(part, "const"), "enum": [part["const"]]} if "const" in part else None


def _enum(part: Mapping[str, Any], _: Any) -> Any:
    one = part.get("enum")
    single = isinstance(one, list) and len(one) == 1 and "const" not in part
    return {**_but(part, "enum"), "const": one[0]} if single and one else None


def _types(part: Mapping[str, Any], _: Any) -> Any:
    kinds = part.get("type")
    if not isinstance(kinds, list) or "anyOf" in part:
        return None
    return {"anyOf": [{**part, "type": kind} for kind in kinds]}


def _one_of(part: Mapping[str, Any], _: Any) -> Any:
    if "oneOf" not in part or "anyOf" in part:
        return None
    return {**_but(part, "oneOf"), "anyOf": part["oneOf"]}


def _exclusive(part: Mapping[str, Any], _: Any) -> Any:
    low, high = part.get("exclusiveMinimum"), part.get("exclusiveMaximum")
    if part.get("type") != "integer" or {"minimum", "maximum"} & set(part):
        return None
    bounds = {"minimum": low + 1} if type(low) is int else {}
    bounds |= {"maximum": high - 1} if type(high) is int else {}
    return {**_but(part, "exclusiveMinimum", "exclusiveMaximum"), **bounds} if bounds else None


def _lengths(part: Mapping[str, Any], _: Any) -> Any:
    low, high = part.get("minLength", 0), part.get("maxLength", "")
    if "pattern" in part or not {"minLength", "maxLength"} & set(part):
        return None
    return {**_but(part, "minLength", "maxLength"), "pattern": f"^[\\s\\S]{{{low},{high}}}$"}


def _reference(part: Mapping[str, Any], whole: Any) -> Any:
    found = target(whole, part["$ref"]) if isinstance(part.get("$ref"), str) else None
    if not isinstance(found, dict) or '"$ref"' in compact(found):
        return None
    return {**found, **_but(part, "$ref")}


def _but(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in names}


REWRITINGS: Final[Mapping[str, Rewriting]] = {
    "`enum` with one value in place of `const`": _const,
    "`const` in place of `enum` with one value": _enum,
    "`anyOf` of single types in place of a list of types": _types,
    "`anyOf` in place of `oneOf` (the same where no two branches overlap)": _one_of,
    "`minimum` and `maximum` of integers in place of exclusive bounds": _exclusive,
    "a `pattern` such as ^[\\s\\S]{1,9}$ in place of `minLength` and `maxLength`": _lengths,
    "what it refers to in place of `$ref`": _reference,
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
    spec: EngineSpec,
    trial: Trial,
    answers: Sequence[Answer],
    schemas: Mapping[str, str],
    heed: Callable[[], None],
) -> Iterator[str]:
    """What mends errors of an engine, or has it take a schema, in one sentence each.

    Nothing is looked for where no value is at stake. The `trial` is of the engine,
    and has other options afterwards; `heed` is called again and again, and may raise.
    """
    found = (one for answer in answers for one in answer.errors if not one.is_spelling)
    errors = sorted(found, key=lambda one: one.order)
    bugs = {one.bug.id: one.bug.error for one in errors if one.bug is not None}
    cases = [one for one in list(bugs.values())[:_MOST] if not one.token]
    texts = [schemas[one.schema] for one in answers if one.status == "refuses"][:_MOST]

    def advised(
        what: str, cases_now: Sequence[ErrorCase], texts_now: Sequence[str]
    ) -> Iterator[str]:
        if mended := sum(_is_mended(trial, one) for one in cases_now):
            of = "its error" if len(cases) == 1 else f"{mended} of {len(cases)} errors"
            yield f"{spec.name}: {what}: mends {of}, as tried on the smallest cases"
        if sum(map(trial.compiles, texts_now)):
            yield f"{spec.name}: {what}: it takes the schema then"

    if not cases and not texts:
        return
    for words, rewriting in REWRITINGS.items():
        heed()
        rewritten = ((one, _changed(one.parsed, rewriting)) for one in cases)
        others = (_changed(parse(one), rewriting) for one in texts)
        yield from advised(
            f"write {words}",
            [case.with_schema(new) for case, new in rewritten if new is not None],
            [compact(new) for new in others if new is not None],
        )
    heard = " ".join(one.message for one in answers)
    for text in texts:
        yield from _left_out(trial, text, heard, spec.name)
    for option, changed in variants(spec):
        heed()
        trial.change(changed)
        yield from advised(f"set {option}", cases, texts)


def _is_mended(trial: Trial, case: ErrorCase) -> bool:
    """Whether the engine is right with a case; with an invalid text, however that is spelt."""
    is_json = case.kind in ACCEPTANCES and value_key(case.text)
    others = usual_spellings(case.text) if is_json else ()
    return all(trial.are_right([case, *map(case.with_text, others)]))


def _changed(schema: Any, rewriting: Rewriting) -> Any:
    """A schema with a rewriting everywhere, innermost first; None where it changes nothing."""
    changed = schema
    for path, _ in reversed(list(subschemas(schema))):
        part = functools.reduce(lambda whole, step: whole[step], path, changed)
        new = rewriting(part, schema) if isinstance(part, dict) else None
        if new is not None:
            changed = replaced(changed, path, new)
    return None if changed is schema else changed


def _left_out(trial: Trial, text: str, heard: str, engine: str) -> Iterator[str]:
    """Which keywords a schema must do without for the engine to take it."""
    schema = parse(text)
    found = {name for _, part in subschemas(schema) if isinstance(part, dict) for name in part}
    names = sorted(found - _STRUCTURE)
    mentioned = [one for one in names if re.search(rf"\b{re.escape(one)}\b", heard)]
    tries = [mentioned] + [[one] for one in names if one not in _TOGETHER]
    tries.append([one for one in names if one in _TOGETHER])
    for names in tries:
        if names and trial.compiles(compact(_without(schema, names))):
            listed = " and ".join(f"`{one}`" for one in names)
            yield f"{engine}: leave out {listed}, and check that yourself: it takes the schema then"
            return


def _without(schema: Any, names: Sequence[str]) -> Any:
    """A schema without some keywords, wherever they stand."""
    return _changed(
        schema, lambda part, _: _but(part, *names) if set(names) & part.keys() else None
    )
