"""What the text after a verdict says beyond the keyword that it breaks.

It is stored with the verdict: whether an invalid text breaks nothing but `format`, and how likely
its value is to be met.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from harness.jsontext.pointers import objects_in
from harness.jsontext.usual_spellings import value_key, with_decimals
from harness.schemas.format_values import unusual_texts
from harness.schemas.values import declared_names
from harness.schemas.variants import Variants
from harness.verdict_kinds import ACCEPTANCES, FALSE_ACCEPTANCE, PLAIN, RARE, REAL

_HIDING: Final = (
    *("anyOf", "oneOf", "not", "contains", "minContains", "maxContains"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords that validators name where what was broken is something below them."""


class TextFacts:
    """Tells these facts for the texts of one case, which has a schema, its `source`, and instances.

    `valid_without_formats` says which of some texts both validators call valid where formats are
    annotations; None where they are annotations anyway.
    """

    def __init__(
        self,
        source: str,
        schema: Any,
        valid_without_formats: Callable[[Sequence[bytes]], Sequence[bool]] | None,
        instances: Sequence[bytes] = (),
    ) -> None:
        self._variants = Variants(schema)
        parts = objects_in(schema)
        self._names = frozenset(name for part in parts for name in declared_names(part))
        self._real = {*map(value_key, instances)} - {""}
        self._valid_without_formats = valid_without_formats
        self._known: dict[bytes, bool] = {}
        self._shown: dict[tuple[bytes, bool], str] = {}
        self._has_format = '"format"' in source
        self._has_branches = '"if"' in source

    def format_alone_of(
        self, kinds: Sequence[str], keywords: Sequence[str], text: Callable[[int], bytes]
    ) -> list[bool]:
        """Of verdicts whether each breaks `format` alone; `text` gives that of one, by number."""
        if self._valid_without_formats is None:
            return [False] * len(kinds)
        pairs = enumerate(zip(kinds, keywords, strict=True))
        asked = {at: text(at) for at, pair in pairs if self._may_be_format(*pair)}
        new = [one for one in dict.fromkeys(asked.values()) if one not in self._known]
        if new:
            self._known |= zip(new, self._valid_without_formats(new), strict=True)
        return [at in asked and self._known[asked[at]] for at in range(len(kinds))]

    def _may_be_format(self, kind: str, keyword: str) -> bool:
        """Whether it takes the validators to say that `format` alone is broken, or is not."""
        if kind != FALSE_ACCEPTANCE.name or not self._has_format:
            return False
        branches = self._has_branches and keyword != "json"
        return keyword == "format" or keyword in _HIDING or branches

    def shown_by(self, text: bytes, kind: str) -> str:
        """Whether a completed text has a `REAL`, a `PLAIN` or a `RARE` value.

        A member that nobody declared is an everyday error, but hardly anybody's valid value; nor is
        what a schema allows because it names no type.
        """
        known = text, kind in ACCEPTANCES
        if known not in self._shown:
            self._shown[known] = self._shown_by(*known)
        return self._shown[known]

    def _shown_by(self, text: bytes, accepted: bool) -> str:
        if value_key(text) in self._real:
            return REAL
        if not is_plain(text, self._names):
            return RARE
        return PLAIN if accepted or self._is_meant(text) else RARE

    def _is_meant(self, text: bytes) -> bool:
        with suppress(ValueError, RecursionError):
            return self._variants.is_meant(self._variants.root, json.loads(text))
        return True


_RARE_ADDRESS: Final = re.compile(r".*(?:@|//)\[|[A-Za-z]:(?:\w|$)|[^\s@]+@[^\s@]+\.\w$")
_ALSO_EVERYDAY: Final = str.maketrans("\n\t\r\u200d", "    ")
_NAME: Final = re.compile(r"[^\W\d][\w .-]*")
_EVERYDAY_DIGITS: Final = 16
_SMALL, _LARGE = Decimal("1e-4"), 2**53


def is_plain(text: bytes, names: AbstractSet[str]) -> bool:
    """Whether a text is JSON of an everyday value.

    Its strings have characters of any script, emoji, tabs and ends of lines, and are no rarer text
    of a format, no address literal (RFC 3986, 5321), no scheme and no top domain of one letter;
    its numbers are integers of 53 bits (RFC 7493) and fractions of 16 digits from 0.0001 on; its
    keys are `names` or begin with a letter. How it is spelt does not matter.
    """

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            keys = all(key in names or _NAME.fullmatch(key) for key in value)
            return keys and all(map(plain, value.values()))
        if isinstance(value, list):
            return all(map(plain, value))
        if isinstance(value, Decimal):
            digits = "".join(map(str, value.as_tuple().digits)).strip("0")
            few = len(digits) <= _EVERYDAY_DIGITS and value.copy_abs() >= _SMALL
            return value.copy_abs() < _LARGE and (few or value == value.to_integral_value())
        if not isinstance(value, str):
            return isinstance(value, bool | None)  # JSON has no NaN
        if value.isascii() and value.isalnum():
            return True
        is_rare = value in unusual_texts() or _RARE_ADDRESS.match(value)
        return not is_rare and value.translate(_ALSO_EVERYDAY).isprintable()

    try:
        return plain(with_decimals(text))
    except (ValueError, RecursionError):
        return False
