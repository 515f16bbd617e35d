r"""Patterns read in the dialect that an engine documents, for an automaton and for two opinions.

- ``ecma``: ECMA-262 with the flag ``u``, by Annex B where it is an error with that.
- ``rust``: Rust's crate regex: ``\d``, ``\w`` and ``\s`` follow Unicode, ``.`` excludes the line
  feed alone. It is read where it is ECMA-262, too, and no class has operators or classes in it.
- ``python``: Python's `re` without flags.

Always the whole text has to match. Libraries know different versions of Unicode: a character that
Python's own has not assigned may or may not be in a class that follows Unicode, so such a pattern
has two readings, the narrowest and the widest. Where these differ nobody is charged.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from re import _constants as _sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

from harness.regex_constraint.opinions import NotJudged, PatternOpinion
from harness.schemas.patterns import FREE, HIGHEST, Builder, Ranges, UnsupportedError, complement
from harness.validators.ecma_patterns import (
    PatternError,
    Token,
    character_ranges,
    escaped_point,
    for_python,
    is_pattern,
    parsed_pattern,
    property_ranges,
)

MAX_NODES: Final = 20_000
_EVERY = r"[\0-\U0010ffff]"


@dataclass(frozen=True)
class Meaning:
    """A pattern in a dialect: the narrowest and the widest automaton, often the same one."""

    narrow: Builder
    wide: Builder
    opinions: tuple[PatternOpinion, ...]


def read(pattern: str, dialect: str, *, search: bool = False) -> Meaning:
    """What `pattern` means; with `search` somewhere in the text, as in a JSON Schema.

    Node 0 of the automata is the start, the last one is the end.

    Raises:
        NotJudged: It is an error in the dialect, or no automaton is made for it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _of_python(pattern) if dialect == "python" else _spelt(pattern, dialect, search)
    except UnsupportedError as error:
        raise NotJudged(str(error) or "it cannot be said to an automaton") from None
    except (PatternError, re.error, OverflowError) as error:
        raise NotJudged(f"it is no pattern of the dialect {dialect}: {error}") from None
    except RecursionError:
        raise NotJudged("it is nested too deeply") from None


def _of_python(pattern: str) -> Meaning:
    tree = _parser.parse(pattern)
    if tree.state.flags & ~re.UNICODE.value:
        raise NotJudged("it sets flags")
    ends = repr(tree).count("(AT, AT_END)")
    if ends > (tree.data[-1:] == [(_sre.AT, _sre.AT_END)]):
        raise NotJudged("it has a $ before its end, which may stand before a line feed")
    found = _built(tree, _python_categories())
    return Meaning(found, found, (PatternOpinion("re", pattern), PatternOpinion("regex", pattern)))


def _spelt(pattern: str, dialect: str, search: bool) -> Meaning:
    tokens = parsed_pattern(pattern)
    if any(one.kind in ("boundary", "inside") for one in tokens):
        raise NotJudged("it has boundaries of words")
    if dialect == "rust":
        _require_rust(tokens)
    around = rf"{_EVERY}*" if search else ""
    narrow, wide = (
        f"{around}(?:{''.join(_spelt_token(one, dialect, wide) for one in tokens)}){around}"
        for wide in (False, True)
    )
    nodes = _built(_parser.parse(narrow), {})
    wide_nodes = nodes if narrow == wide else _built(_parser.parse(wide), {})
    source, flags = pattern, "u" if is_pattern(pattern, unicode=True) else ""
    if dialect == "rust":
        text = wide.replace(r"\Z", "$")
        source, flags = re.sub(r"\\U([0-9a-f]{8})", r"\\u{\1}", text), "u"
        source = re.sub(r"\\([^\w\\^$.*+?()\[\]{}|/])", r"\1", source)  # escaped for `re` alone
    found = PatternOpinion("regress", source if search else f"^(?:{source})$", flags)
    return Meaning(nodes, wide_nodes, (found, PatternOpinion("regex", wide)))


def _built(tree: Any, categories: Mapping[Any, Ranges]) -> Builder:
    dot = complement(((10, 10),))
    nodes = Builder(exact=True, limit=MAX_NODES, categories=categories, dot=dot)
    last = nodes.sequence(tree, nodes.node())
    nodes.free[last].append((nodes.node(), FREE))
    return nodes


def _require_rust(tokens: tuple[Token, ...]) -> None:
    for token in tokens:
        inner = token.source[1:-1]
        if token.source.startswith("[") and re.search(r"(?<!\\)(?:\\\\)*\[|&&|--|~~", inner):
            raise NotJudged("a class has operators or classes in it")
        if token.source == "{":
            raise NotJudged("a brace stands for itself")


def _spelt_token(token: Token, dialect: str, wide: bool) -> str:
    if token.kind not in ("set", "property"):
        return for_python(token)
    unicode, ranges = False, list[tuple[int, int]]()
    for member in token.members:
        some = _rust_shorthands().get(member.source) if dialect == "rust" else None
        unicode |= some is not None or member.ranges is None
        ranges += character_ranges(member) if some is None else some
    if token.source == "." and dialect == "rust":
        ranges = [(10, 10)]
    found = complement(tuple(ranges)) if token.negated else tuple(sorted(ranges))
    if unicode and wide:
        found = merged((*found, *unassigned()))
    elif unicode:
        found = complement((*complement(found), *unassigned()))
    spelt = "".join(f"{escaped_point(low)}-{escaped_point(high)}" for low, high in found)
    return f"[{spelt}]" if spelt else f"[^{_EVERY[1:]}"


def merged(ranges: Ranges) -> Ranges:
    """The same characters in ranges that are apart."""
    return complement(complement(ranges))


@cache
def unassigned() -> Ranges:
    """The characters that Python's version of Unicode does not know."""
    return merged(tuple((x, x) for x in range(HIGHEST + 1) if unicodedata.category(chr(x)) == "Cn"))


def _of_properties(*names: str) -> Ranges:
    return merged(tuple(one for name in names for one in property_ranges(name)))


@cache
def _rust_shorthands() -> dict[str, Ranges]:
    found = {
        r"\d": _of_properties("Nd"),
        r"\w": _of_properties("Alphabetic", "M", "Nd", "Pc", "Join_Control"),
        r"\s": _of_properties("White_Space"),
    }
    return {**found, **{name.upper(): complement(some) for name, some in found.items()}}


@cache
def _python_categories() -> dict[Any, Ranges]:
    found: dict[Any, Ranges] = {}
    for name in ("DIGIT", "WORD", "SPACE"):
        known = re.compile(f"\\{name[0].lower()}")
        some = tuple((x, x) for x in range(HIGHEST + 1) if known.match(chr(x)))
        found[getattr(_sre, f"CATEGORY_{name}")] = merged(some)
        found[getattr(_sre, f"CATEGORY_NOT_{name}")] = complement(some)
    return found
