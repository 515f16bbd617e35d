r"""Patterns of ECMA-262 for Python's `re`, as far as the two read the same spelling differently.

JSON Schema's patterns are those of ECMA-262 (Validation 2020-12, section 6.3.3), without flags
but ``u``. `re` reads five things otherwise: ``$`` also matches before a last line feed, ``.``
excludes the line feed alone, and ``\d``, ``\w``, ``\b`` follow Unicode while ``\s`` follows another
list of spaces. What `re` cannot read at all (``\p{L}``, ``\cA``, ``\u{…}``) stays as it is.

Sources: ECMA-262, sections 22.2.2.4 (assertions), 22.2.2.9 (character classes), 12.2 and 12.3
(white space, line terminators).
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

_LINE_ENDS = r"\n\r\u2028\u2029"
_SPACES = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

_OUTSIDE = {
    ".": f"[^{_LINE_ENDS}]",
    "$": r"\Z",
    r"\s": f"[{_SPACES}]",
    r"\S": f"[^{_SPACES}]",
}
_INSIDE = {r"\s": _SPACES}
"""Within brackets ``\\S`` has no spelling of its own and keeps that of `re`."""

_UNIT = re.compile(r"\\.|.", re.DOTALL)


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """`pattern`, of ECMA-262, as a pattern of `re` to search with.

    Raises:
        re.error: `re` cannot read it.
    """
    with warnings.catch_warnings():
        # Of set operations that `re` may learn one day, and ECMA-262 without `v` does not know.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(translated(pattern), re.ASCII)


def translated(pattern: str) -> str:
    """`pattern` spelt so that `re`, with its flag ASCII, reads it as ECMA-262 does."""
    inside = False
    out = []
    for unit in _UNIT.findall(pattern):
        out.append((_INSIDE if inside else _OUTSIDE).get(unit, unit))
        if unit == "[":
            inside = True
        elif unit == "]":
            inside = False
    return "".join(out)
