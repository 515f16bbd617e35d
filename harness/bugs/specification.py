"""Which section of which specification asks for what a keyword says.

Sections of JSON Schema 2020-12, Core and Validation (https://json-schema.org/draft/2020-12); of
other drafts the sections have other numbers, and mostly the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_DRAFT: Final = "https://json-schema.org/draft/2020-12/json-schema"
_JSON: Final = "RFC 8259, the grammar of JSON: https://www.rfc-editor.org/rfc/rfc8259"
_KEYWORDS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "validation": {
        "6.1": ("type", "enum", "const"),
        "6.2": ("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        "6.3": ("maxLength", "minLength", "pattern"),
        "6.4": ("maxItems", "minItems", "uniqueItems", "maxContains", "minContains"),
        "6.5": ("maxProperties", "minProperties", "required", "dependentRequired"),
    },
    "core": {
        "8.2.3": ("$ref",),
        "10.2.1": ("allOf", "anyOf", "oneOf", "not"),
        "10.2.2": ("if", "then", "else", "dependentSchemas"),
        "10.3.1": ("prefixItems", "items", "contains"),
        "10.3.2": ("properties", "patternProperties", "additionalProperties", "propertyNames"),
    },
}
"""The keywords that have a subsection each, in the order of these."""
_SECTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "format": ("validation", "7.3"),
    "unevaluatedItems": ("core", "11.2"),
    "unevaluatedProperties": ("core", "11.3"),
} | {
    keyword: (document, f"{section}.{number}")
    for document, sections in _KEYWORDS.items()
    for section, keywords in sections.items()
    for number, keyword in enumerate(keywords, 1)
}


def section(keyword: str) -> str:
    """Where a keyword is specified: a title and an address; JSON itself where it is none."""
    if keyword not in _SECTIONS:
        return _JSON
    document, number = _SECTIONS[keyword]
    address = f"{_DRAFT}-{document}#section-{number}"
    return f"JSON Schema {document.title()}, section {number} ({keyword}): {address}"
