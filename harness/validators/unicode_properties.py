r"""The characters of a property of Unicode, by the names that ECMA-262 knows behind ``\p``.

General categories are those of Python's own tables. Scripts and binary properties are those of the
package ``regex``, which takes names in any case and with any underscores: what ECMA-262 would not
take is held back here. Either may be of another version of Unicode than the tables of
jsonschema-rs; a text that turns on the difference is contested.

Source: ECMA-262, 2025 edition, section 22.2.2.9 (tables 66 to 69); Unicode, PropertyAliases.txt and
PropertyValueAliases.txt.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby
from typing import Final

import regex

from harness.schemas.patterns import HIGHEST, Ranges

_CATEGORIES: Final[dict[str, str]] = {
    "Cased_Letter": "LC", "Close_Punctuation": "Pe", "Combining_Mark": "M",
    "Connector_Punctuation": "Pc", "Control": "Cc", "Currency_Symbol": "Sc",
    "Dash_Punctuation": "Pd", "Decimal_Number": "Nd", "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf", "Format": "Cf", "Initial_Punctuation": "Pi", "Letter": "L",
    "Letter_Number": "Nl", "Line_Separator": "Zl", "Lowercase_Letter": "Ll", "Mark": "M",
    "Math_Symbol": "Sm", "Modifier_Letter": "Lm", "Modifier_Symbol": "Sk", "Nonspacing_Mark": "Mn",
    "Number": "N", "Open_Punctuation": "Ps", "Other": "C", "Other_Letter": "Lo",
    "Other_Number": "No", "Other_Punctuation": "Po", "Other_Symbol": "So",
    "Paragraph_Separator": "Zp", "Private_Use": "Co", "Punctuation": "P", "Separator": "Z",
    "Space_Separator": "Zs", "Spacing_Mark": "Mc", "Surrogate": "Cs", "Symbol": "S",
    "Titlecase_Letter": "Lt", "Unassigned": "Cn", "Uppercase_Letter": "Lu",
    "cntrl": "Cc", "digit": "Nd", "punct": "P",
}  # fmt: skip
"""The long names of general categories, and the short one of each."""

_BINARY: Final = frozenset(
    """
    ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored
    Bidi_M Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM
    Changes_When_Lowercased CWL Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash
    Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp
    Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic
    ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex
    IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo
    Join_Control Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point
    NChar Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark Radical
    Regional_Indicator RI Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term
    Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS White_Space space XID_Continue
    XIDC XID_Start XIDS
    """.split()  # noqa: SIM905 - names, which read better as words
)
"""The binary properties, but Changes_When_NFKC_Casefolded, which neither library knows."""

_CATEGORY = re.compile(r"(?:(?:General_Category|gc)=)?(\w+)", re.ASCII)
_SCRIPT = re.compile(
    r"(?:Script|sc|Script_Extensions|scx)=(?:[A-Z][a-z]*(?:_[A-Z][a-z]*)*|SignWriting)"
)


@cache
def property_ranges(name: str) -> Ranges:
    r"""The characters of the property that stands in the braces of ``\p{…}``; none if unknown."""
    category = _CATEGORY.fullmatch(name)
    if category is not None and (found := _of_category(category[1])):
        return found
    if name not in _BINARY and not _SCRIPT.fullmatch(name):
        return ()
    try:
        members = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        return ()
    return tuple((one.start(), one.end() - 1) for one in members.finditer(_every_character()))


@cache
def _every_character() -> str:
    return "".join(map(chr, range(HIGHEST + 1)))


def _of_category(name: str) -> Ranges:
    short = _CATEGORIES.get(name, name)
    if not re.fullmatch("[A-Z][a-zC]?", short):
        return ()
    names = {"LC": ("Lu", "Ll", "Lt")}.get(short, short)
    out: list[tuple[int, int]] = []
    for category, first, last in _runs():
        if category.startswith(names):
            follows = bool(out) and out[-1][1] == first - 1
            out.append((out.pop()[0] if follows else first, last))
    return tuple(out)


@cache
def _runs() -> tuple[tuple[str, int, int], ...]:
    """All characters, those of one category that follow each other together: first and last."""
    out = []
    first = 0
    for category, some in groupby(map(unicodedata.category, _every_character())):
        last = first + sum(1 for _ in some) - 1
        out.append((category, first, last))
        first = last + 1
    return tuple(out)
