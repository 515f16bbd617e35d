"""Which draft of JSON Schema a schema is written in, and the two validators set up for it.

Both validators are told the draft, since they detect it differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jsonschema
import jsonschema.validators
import jsonschema_rs
from jsonschema_specifications import REGISTRY as METASCHEMAS  # type: ignore[import-untyped]

from harness.inputs.cases import DRAFTS, LATEST
from harness.validators import ecma_patterns, formats
from harness.validators.format_rules import ASSERTION
from harness.validators.keyword_repairs import REPAIRS, REPAIRS_2019
from harness.validators.respelling import Respelt, respelt

BACKTRACK_LIMIT = 1_000_000
"""Steps that jsonschema-rs may backtrack in one match of a pattern that needs backtracking."""

_CLASSES: dict[str, tuple[Any, Any]] = {
    "draft-04": (jsonschema.Draft4Validator, jsonschema_rs.Draft4Validator),
    "draft-06": (jsonschema.Draft6Validator, jsonschema_rs.Draft6Validator),
    "draft-07": (jsonschema.Draft7Validator, jsonschema_rs.Draft7Validator),
    "2019-09": (jsonschema.Draft201909Validator, jsonschema_rs.Draft201909Validator),
    "2020-12": (jsonschema.Draft202012Validator, jsonschema_rs.Draft202012Validator),
}

_IDENTIFIERS = {uri.partition("://")[2].removesuffix("#"): name for name, uri in DRAFTS.items()} | {
    "json-schema.org/schema": LATEST
}  # the address that always meant "the current version"


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
        return _all_keywords() - keywords_of(self.name)

    def build_jsonschema(self, schema: object, rule: str = ASSERTION) -> tuple[Any, Respelt]:
        """A validator of jsonschema, and the schema that it was made for; or an exception."""
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
        """A validator of jsonschema-rs, and the schema that it was made for; or an exception.

        `backtracking` uses its engine for patterns that need to go back, with a limit.
        """
        spelt = respelt(schema, partial(ecma_patterns.rust_spelling, backtracking=backtracking))
        options: Any = jsonschema_rs.RegexOptions()
        if backtracking:
            options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT)
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
    other ``$schema``: nothing said under a guessed draft would be a proof.
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
def keywords_of(draft: str) -> frozenset[str]:
    """The keywords of a draft; a few are read by others, and so no entries of their own."""
    known = set(_CLASSES[draft][0].VALIDATORS)
    known |= {"then", "else"} if "if" in known else set()
    known |= {"exclusiveMinimum", "exclusiveMaximum"}  # in draft-04 they are read by the bounds
    return frozenset(known).union(
        ("minContains", "maxContains") if draft in ("2019-09", LATEST) else ()
    )


@cache
def _all_keywords() -> frozenset[str]:
    return frozenset().union(*map(keywords_of, _CLASSES))


@cache
def _draft(name: str) -> Draft:
    plain, rust = _CLASSES[name]
    keywords = REPAIRS | (REPAIRS_2019 if name == "2019-09" else {})
    repaired = jsonschema.validators.extend(plain, keywords)
    repaired.evolve = _evolve
    return Draft(name, repaired, rust)


def _evolve(self: Any, **changes: Any) -> Any:
    """`self` for another schema; with the repairs of its ``$schema``, which jsonschema drops."""
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
