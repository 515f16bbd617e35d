"""Which draft of JSON Schema a schema is written in, and the two validators set up for it.

Both validators are told the draft; neither is left to detect it, since they detect differently.
Where a validator is wrong by the specification it is repaired in one place: patterns in
`harness.validators.ecma_patterns`, formats in `harness.validators.formats`, keywords of jsonschema
in `_REPAIRS` here.

The drafts' own identifiers: the ``$schema`` values of the metaschemas published at
json-schema.org for draft-04, draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import jsonschema
import jsonschema.validators
import jsonschema_rs
from jsonschema_specifications import REGISTRY as METASCHEMAS  # type: ignore[import-untyped]

from harness.validators import ecma_patterns, formats
from harness.validators.format_rules import ASSERTION
from harness.validators.respelling import Respelt, respelt
from harness.validators.unevaluated import unevaluated_items

LATEST = "2020-12"

BACKTRACK_LIMIT = 1_000_000
"""Steps that jsonschema-rs may backtrack in one match of a pattern that needs backtracking."""

_IDENTIFIERS = {
    "json-schema.org/draft-04/schema": "draft-04",
    "json-schema.org/draft-06/schema": "draft-06",
    "json-schema.org/draft-07/schema": "draft-07",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
    # The address that always meant "the current version".
    "json-schema.org/schema": LATEST,
}

_CLASSES: dict[str, tuple[Any, Any]] = {
    "draft-04": (jsonschema.Draft4Validator, jsonschema_rs.Draft4Validator),
    "draft-06": (jsonschema.Draft6Validator, jsonschema_rs.Draft6Validator),
    "draft-07": (jsonschema.Draft7Validator, jsonschema_rs.Draft7Validator),
    "2019-09": (jsonschema.Draft201909Validator, jsonschema_rs.Draft201909Validator),
    "2020-12": (jsonschema.Draft202012Validator, jsonschema_rs.Draft202012Validator),
}


_WITH_CONTAINS = {"minContains", "maxContains"}


@dataclass(frozen=True)
class Draft:
    """One draft, and how to build its two validators."""

    name: str
    repaired: Any
    """The class of jsonschema with the repairs; its metaschema is the draft's."""
    rust: Any
    """The class of jsonschema-rs."""

    @property
    def ignored(self) -> frozenset[str]:
        """The keywords of other drafts that this one does not know, and so ignores."""
        return _all_keywords() - _keywords(self.name)

    def build_jsonschema(self, schema: object, rule: str = ASSERTION) -> tuple[Any, Respelt]:
        """A validator of jsonschema, and the schema that it was made for.

        Args:
            schema: The schema.
            rule: Of `harness.validators.format_rules.FORMAT_RULES`.

        Raises:
            jsonschema.SchemaError: The metaschema does not accept the schema.
            harness.validators.ecma_patterns.PatternError: A pattern cannot be said to `re`.
        """
        # A schema's own texts are held to the checks of the latest draft.
        self.repaired.check_schema(schema, format_checker=formats.checker(LATEST))
        spelt = respelt(schema, ecma_patterns.python_spelling)
        validator = self.repaired(
            spelt.schema,
            # The published metaschemas; a registry that was given never retrieves anything else.
            registry=METASCHEMAS,
            format_checker=formats.checker(self.name) if rule == ASSERTION else None,
        )
        return validator, spelt

    def build_jsonschema_rs(
        self, schema: object, rule: str = ASSERTION, *, backtracking: bool
    ) -> tuple[Any, Respelt]:
        """A validator of jsonschema-rs, and the schema that it was made for.

        Args:
            schema: The schema.
            rule: Of `harness.validators.format_rules.FORMAT_RULES`.
            backtracking: Use its engine for patterns that need to go back, with a limit.

        Raises:
            jsonschema_rs.ValidationError: The metaschema does not accept the schema, or one of its
                references leads nowhere.
            ValueError: The schema is nested more deeply than the library takes.
            harness.validators.ecma_patterns.PatternError: A pattern is none of ECMA-262.
        """
        spelt = respelt(schema, partial(ecma_patterns.rust_spelling, backtracking=backtracking))
        options = (
            jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT)
            if backtracking
            else jsonschema_rs.RegexOptions()
        )
        validator = self.rust(
            spelt.schema,
            validate_formats=rule == ASSERTION,
            formats=formats.narrowed(self.name, self.rust) if rule == ASSERTION else {},
            email_options=formats.EMAIL_OPTIONS,
            offline=True,
            registry=_rust_registry(),
            pattern_options=options,
        )
        return validator, spelt


def draft_of(schema: object) -> Draft | None:
    """The draft that `schema`, a parsed schema, declares; the latest when it declares none.

    ``http`` and ``https``, with and without an empty fragment, name the same draft. None for any
    other ``$schema``: another vocabulary may give every keyword another meaning, so that nothing
    said under a guessed draft would be a proof.
    """
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if declared is None:
        return _draft(LATEST)
    if not isinstance(declared, str):
        return None
    scheme, _, rest = declared.removesuffix("#").partition("://")
    name = _IDENTIFIERS.get(rest) if scheme in ("http", "https") else None
    return _draft(name) if name else None


@cache
def _keywords(draft: str) -> frozenset[str]:
    """The keywords of a draft; a few are read by others, and so no entries of their own."""
    known = set(_CLASSES[draft][0].VALIDATORS)
    known |= {"then", "else"} if "if" in known else set()
    known |= {"exclusiveMinimum", "exclusiveMaximum"}  # in draft-04 they are read by the bounds
    return frozenset(known | (_WITH_CONTAINS if draft in ("2019-09", LATEST) else set()))


@cache
def _all_keywords() -> frozenset[str]:
    return frozenset().union(*map(_keywords, _CLASSES))


@cache
def _draft(name: str) -> Draft:
    plain, rust = _CLASSES[name]
    keywords = _REPAIRS | (_REPAIRS_2019 if name == "2019-09" else {})
    repaired = jsonschema.validators.extend(plain, keywords)
    repaired.evolve = _evolve
    return Draft(name, repaired, rust)


def _evolve(self: Any, **changes: Any) -> Any:
    """`self` for another schema; one with a ``$schema`` of its own gets that draft's repairs.

    jsonschema itself would take the class without them.
    """
    schema = changes.get("schema", self.schema)
    made = jsonschema.Draft202012Validator.evolve(self, **changes)
    draft = draft_of(schema) if isinstance(schema, dict) and "$schema" in schema else None
    if draft is None or type(made) is draft.repaired:
        return made
    return draft.repaired(
        schema,
        registry=made._registry,  # noqa: SLF001 - as `evolve` does
        format_checker=made.format_checker,
        _resolver=made._resolver,  # noqa: SLF001
    )


@cache
def _rust_registry() -> Any:
    contents = ((uri, METASCHEMAS.contents(uri)) for uri in METASCHEMAS if "draft-03" not in uri)
    return jsonschema_rs.Registry(list(contents))


def _exact_multiple_of(
    validator: Any, divisor: float, instance: Any, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``multipleOf`` in exact arithmetic on the numbers as they are written.

    jsonschema divides doubles, so that 0.07 would not be a multiple of 0.01. The specification
    speaks of the numbers: division must give an integer (Validation 2020-12, section 6.2.1).
    """
    if not validator.is_type(instance, "number"):
        return
    if _fraction(instance) % _fraction(divisor):
        message = f"{instance!r} is not a multiple of {divisor!r}"
        yield jsonschema.ValidationError(message)


def _fraction(number: float) -> Fraction | int:
    """The decimal number that `number` is the nearest double of, exactly."""
    return number if isinstance(number, int) else Fraction(repr(number))


def _additional_properties(
    validator: Any, additional: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``additionalProperties``, a pattern at a time.

    jsonschema joins the patterns, so that references to groups lead elsewhere.
    """
    if not validator.is_type(instance, "object"):
        return
    named = schema.get("properties", {})
    patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
    extra = [
        key
        for key in instance
        if key not in named and not any(pattern.search(key) for pattern in patterns)
    ]
    if additional is False:
        if extra:
            listed = ", ".join(map(repr, extra))
            yield jsonschema.ValidationError(f"Additional properties are not allowed ({listed})")
        return
    for key in extra:
        yield from validator.descend(instance[key], additional, path=key)


_REPAIRS = {"additionalProperties": _additional_properties, "multipleOf": _exact_multiple_of}
_REPAIRS_2019 = {"unevaluatedItems": unevaluated_items}
