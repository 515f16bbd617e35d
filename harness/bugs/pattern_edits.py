"""Smaller patterns: a part by itself, a part left out, a part said simply; not all are patterns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

from harness.validators.ecma_patterns import PatternError, parsed_pattern

_REPEATS: Final = ("?", "*", "{1}", "{2}")
_LAZY: Final = re.compile(r"[*+?}]\?")


def smaller_patterns(pattern: str) -> Iterator[str]:
    """Parts of a pattern, short ones first; without one, long ones first; others; none lazier."""
    lazy = len(_LAZY.findall(pattern))
    return (one for one in _smaller(_parts(pattern)) if len(_LAZY.findall(one)) <= lazy)


def _smaller(parts: list[str]) -> Iterator[str]:
    ends = range(len(parts) + 1)
    spans = sorted(((x, y) for x in ends for y in ends if x < y), key=lambda one: one[1] - one[0])
    yield from ("".join(parts[low:high]) for low, high in spans)
    yield from ("".join(parts[:low] + parts[high:]) for low, high in reversed(spans))
    for low, high in spans:
        if parts[low][0] == "(" and parts[high - 1] == ")":
            yield "".join(parts[:low] + parts[low + 1 : high - 1] + parts[high:])
    for at, part in enumerate(parts):
        inner = range(1, len(part)) if part[0] == "[" else ()
        shorter = [(part[x:y], part[:x] + part[y:]) for x in inner for y in inner if x < y]
        others = _REPEATS if part[0] in "?*+{" else ("(",) if part[0] == "(" else ("a",)
        for one in (*others, *itertools.chain(*shorter)):
            yield "".join([*parts[:at], one, *parts[at + 1 :]])


def common_patterns(pattern: str, character: str) -> Iterator[str]:
    """The pattern with one character for a class, and as a group that repeats: alike, if longer."""
    parts = _parts(pattern)
    for at in range(len(parts)):
        yield from ("".join([*parts[:at], one, *parts[at + 1 :]]) for one in ("a", character))
    atoms = [part for part in parts if part[0] not in "^$()|?*+{"]
    if len(atoms) > 1 and any(part[0] in "?*+{" for part in parts):
        yield f"({''.join(atoms)})*"


def _parts(pattern: str) -> list[str]:
    """The parts of a pattern, atoms, brackets and repetitions; characters in another dialect."""
    try:
        return [token.source for token in parsed_pattern(pattern)]
    except PatternError:
        return list(pattern)
