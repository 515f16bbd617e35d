"""How the number that a verdict is about is spelt, where that is what engines and readers dispute.

JSON and JSON Schema say what these spellings mean, but many readers do not keep to it: see the
section on numbers in ``docs/validators.md``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import numpy as np

from harness.jsontext import strict_json
from harness.jsontext.pointers import follow, steps
from harness.jsontext.spans import ValueSpan, root_of
from harness.replay.witness_reader import Choice, every, witnesses
from harness.runs.columns import CodedColumn, words
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_of
from harness.runs.tables import VERDICT_TABLES
from harness.validators.drafts import draft_of
from harness.verdict_kinds import FALSE_ACCEPTANCE, FALSE_REJECTION

MINUS_ZERO, BEYOND, WHOLE, WHOLE_04 = SPELLINGS = (
    *("-0", "beyond 2^53", "1.0 as an integer", "1.0 as an integer, draft-04"),
)
"""Minus zero; an integer that no double is sure to keep; an integer that is written with a fraction
or an exponent, which draft-04 calls none. A verdict about anything else has no such word."""

_VALUES: Final = ("", *SPELLINGS)
_EXACT: Final = 2**53
_DIGITS: Final = 17
"""So many digits are beyond `_EXACT` whatever they are."""
_ABOUT: Final = (
    *("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "anyOf", "oneOf", "not"),
)
"""Keywords that a number can break."""


def number_spellings(run: RunDirectory, evidence: str) -> CodedColumn:
    """The spelling of the number that each verdict is about, by the text that proves it.

    Args:
        run: The run, finished or not.
        evidence: ``walk``, ``instance`` or ``sample``.

    Returns:
        Of each false acceptance and rejection one of `SPELLINGS`, or empty; shape ``(n,)``, in the
        order of the table of verdicts.

    Raises:
        MaskcourtError: As `harness.runs.made_with.vocabulary_of`.
    """
    names = ["kind", "category", "detail", "keyword", "schema_pointer", "instance_pointer"]
    table = run.table(VERDICT_TABLES[evidence], names)
    kind, category, detail, keyword, schema_pointer, instance_pointer = (
        words(table[name]) for name in names
    )
    accepted = kind.equal(FALSE_ACCEPTANCE.name) & keyword.equal(*_ABOUT)
    refused = kind.equal(FALSE_REJECTION.name) & category.equal("number")
    rows = np.intersect1d(np.flatnonzero(accepted | refused), every(run).of(evidence))
    codes = np.zeros(len(accepted), dtype=np.int8)
    if not len(rows):
        return CodedColumn(codes, _VALUES)
    for case in witnesses(run, Choice({evidence: rows}), vocabulary_of(run)):
        schema = strict_json.parse(case.schema)
        draft = draft_of(schema)
        whole = WHOLE_04 if draft is not None and draft.name == "draft-04" else WHOLE
        for one in case.witnesses:
            at = one.number
            number = _number(one.text, _word(instance_pointer, at))
            as_integer = _word(detail, at) == "integer" or (
                bool(accepted[at]) and _is_integer(schema, _word(schema_pointer, at))
            )
            codes[at] = _VALUES.index(_spelling(number, whole if as_integer else ""))
    return CodedColumn(codes, _VALUES)


def _word(column: CodedColumn, row: int) -> str:
    return str(column.values[column.codes[row]])


def _number(text: bytes, pointer: str) -> str:
    """The number at a pointer, as it is written; empty for anything else."""
    node: ValueSpan | None = root_of(text)
    for step in steps(pointer):
        if node is None:
            return ""
        in_array = node.kind == "array"
        node = node.child(int(step)) if in_array and step.isdecimal() else node.child(step)
    return node.raw.decode() if node is not None and node.kind == "number" else ""


def _is_integer(schema: Any, pointer: str) -> bool:
    """Whether what a pointer leads to is a ``type`` that asks for an integer."""
    found = follow(schema, steps(pointer))
    return found == "integer" or (isinstance(found, list) and "integer" in found)


def _spelling(number: str, whole: str) -> str:
    """The word for a number; `whole` is that for an integer with a fraction or an exponent."""
    mantissa = number.lower().partition("e")[0]
    if number.startswith("-") and not mantissa.strip("-0."):
        return MINUS_ZERO
    digits = number.removeprefix("-")
    if digits.isdecimal():
        return BEYOND if len(digits) >= _DIGITS or int(digits) > _EXACT else ""
    if not number or not whole:
        return ""
    _, parts, exponent = Decimal(number).as_tuple()
    zeros = len(parts) - len("".join(map(str, parts)).rstrip("0"))
    return whole if isinstance(exponent, int) and exponent + zeros >= 0 else ""
