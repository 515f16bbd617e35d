"""Which draft of JSON Schema a schema is written in, and the two validators set up for it.

Both validators are told the draft; neither is left to detect it, since they detect differently.
Repairs of a validator that is wrong by the specification live in `_REPAIRS` here and in
`harness.formats`, and nowhere else.

The drafts' own identifiers: the ``$schema`` values of the metaschemas published at
json-schema.org for draft-04, draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import jsonschema
import jsonschema.validators
import jsonschema_rs
from jsonschema_specifications import REGISTRY as METASCHEMAS  # type: ignore[import-untyped]

from harness import ecma, formats

LATEST = "2020-12"

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


@dataclass(frozen=True)
class Draft:
    """One draft, and how to build its two validators."""

    name: str
    repaired: Any
    """The class of jsonschema with the repairs; its metaschema is the draft's."""
    rust: Any
    """The class of jsonschema-rs."""

    def build_jsonschema(self, schema: object) -> Any:
        """A validator of jsonschema.

        Raises:
            jsonschema.SchemaError: The metaschema does not accept the schema.
        """
        with warnings.catch_warnings():
            # `re` warns of patterns that it may read otherwise one day.
            warnings.simplefilter("ignore", FutureWarning)
            self.repaired.check_schema(schema)
        if isinstance(schema, dict):
            # With "$schema" at the root, a reference to "#" would be followed with the unrepaired
            # class of that name.
            schema = {key: value for key, value in schema.items() if key != "$schema"}
        return self.repaired(
            schema,
            # The published metaschemas; a registry that was given never retrieves anything else.
            registry=METASCHEMAS,
            format_checker=formats.checker(self.name),
        )

    def build_jsonschema_rs(self, schema: object, pattern_options: Any) -> Any:
        """A validator of jsonschema-rs that keeps to `pattern_options`.

        Raises:
            jsonschema_rs.ValidationError: The metaschema does not accept the schema, or one of its
                references leads nowhere.
            ValueError: The schema is nested more deeply than the library takes.
        """
        return self.rust(
            schema,
            validate_formats=True,
            offline=True,
            registry=_rust_registry(),
            pattern_options=pattern_options,
        )


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
def _draft(name: str) -> Draft:
    plain, rust = _CLASSES[name]
    repaired = jsonschema.validators.extend(plain, _REPAIRS, format_checker=plain.FORMAT_CHECKER)
    return Draft(name, repaired, rust)


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


def _ecma_pattern(
    validator: Any, pattern: str, instance: Any, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``pattern`` as ECMA-262 reads it; jsonschema reads it as `re` does."""
    if validator.is_type(instance, "string") and not ecma.compiled(pattern).search(instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _ecma_pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``patternProperties`` likewise.

    Not repaired: ``unevaluatedProperties`` goes by `re` in saying what patterns have covered.
    """
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in patterns.items():
        search = ecma.compiled(pattern).search
        for key, value in instance.items():
            if search(key):
                yield from validator.descend(value, schema, path=key, schema_path=pattern)


def _ecma_additional_properties(
    validator: Any, additional: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``additionalProperties``, of what ``patternProperties`` so read leaves over."""
    if not validator.is_type(instance, "object"):
        return
    named = schema.get("properties", {})
    patterns = [ecma.compiled(pattern) for pattern in schema.get("patternProperties", {})]
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


_REPAIRS = {
    "additionalProperties": _ecma_additional_properties,
    "multipleOf": _exact_multiple_of,
    "pattern": _ecma_pattern,
    "patternProperties": _ecma_pattern_properties,
}
