"""Which section of which specification asks for what a keyword says.

Sections of JSON Schema 2020-12, Core and Validation (https://json-schema.org/draft/2020-12); of
other drafts the sections have other numbers, and mostly the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CORE = "https://json-schema.org/draft/2020-12/json-schema-core#section-"
_VALIDATION = "https://json-schema.org/draft/2020-12/json-schema-validation#section-"
_JSON = "https://www.rfc-editor.org/rfc/rfc8259"

_SECTIONS: Final[Mapping[str, str]] = {
    "type": "6.1.1",
    "enum": "6.1.2",
    "const": "6.1.3",
    "multipleOf": "6.2.1",
    "maximum": "6.2.2",
    "exclusiveMaximum": "6.2.3",
    "minimum": "6.2.4",
    "exclusiveMinimum": "6.2.5",
    "maxLength": "6.3.1",
    "minLength": "6.3.2",
    "pattern": "6.3.3",
    "maxItems": "6.4.1",
    "minItems": "6.4.2",
    "uniqueItems": "6.4.3",
    "maxContains": "6.4.4",
    "minContains": "6.4.5",
    "maxProperties": "6.5.1",
    "minProperties": "6.5.2",
    "required": "6.5.3",
    "dependentRequired": "6.5.4",
    "format": "7.3",
}
_CORE_SECTIONS: Final[Mapping[str, str]] = {
    "$ref": "8.2.3.1",
    "allOf": "10.2.1.1",
    "anyOf": "10.2.1.2",
    "oneOf": "10.2.1.3",
    "not": "10.2.1.4",
    "if": "10.2.2.1",
    "then": "10.2.2.2",
    "else": "10.2.2.3",
    "dependentSchemas": "10.2.2.4",
    "prefixItems": "10.3.1.1",
    "items": "10.3.1.2",
    "contains": "10.3.1.3",
    "properties": "10.3.2.1",
    "patternProperties": "10.3.2.2",
    "additionalProperties": "10.3.2.3",
    "propertyNames": "10.3.2.4",
    "unevaluatedItems": "11.2",
    "unevaluatedProperties": "11.3",
}


def section(keyword: str) -> str:
    """Where a keyword is specified: a title and an address; JSON itself where it is none."""
    if keyword in _SECTIONS:
        number = _SECTIONS[keyword]
        return f"JSON Schema Validation, section {number} ({keyword}): {_VALIDATION}{number}"
    if keyword in _CORE_SECTIONS:
        number = _CORE_SECTIONS[keyword]
        return f"JSON Schema Core, section {number} ({keyword}): {_CORE}{number}"
    return f"RFC 8259, the grammar of JSON: {_JSON}"
