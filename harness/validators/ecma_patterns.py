r"""Patterns of ECMA-262, spelt for Python's `re` and for jsonschema-rs.

JSON Schema's patterns are those of ECMA-262 (Core 2020-12, section 6.4, which asks for the flag
``u``). A pattern that is an error with ``u`` is read without it, by Annex B; one that is an error
in both readings proves nothing. Both libraries read some of it otherwise:

- `re`: ``$`` also matches before a last line feed; ``.`` excludes the line feed alone; ``\d``,
  ``\w`` and ``\b`` follow Unicode, ``\s`` another list of spaces; ``\B`` does not match the empty
  text before Python 3.14; ``[]``, ``[^]``, ``\cA``, ``\u{…}`` and ``(?<name>…)`` mean something
  else or nothing; ``{,2}`` and ``a++`` are repetitions; a reference to a group that did not take
  part fails, where ECMA-262 has it match the empty text.
- jsonschema-rs: ``.`` excludes the line feed alone; ``\b`` and ``\B`` follow Unicode, and so do
  ``\d``, ``\w`` and ``\s`` in the engine for patterns that look around; ``\<`` is the start of a
  word; what Annex B alone allows is mostly refused, and so is ``\0``.

For `re` every construct is spelt out. For jsonschema-rs only what it reads otherwise is respelt, so
that its reading of the rest stays a second opinion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from harness.schemas.patterns import Ranges, complement
from harness.validators.ecma_syntax import (
    ClassMember,
    PatternError,
    Token,
    property_ranges,
    tokens,
)

__all__ = ["PatternError", "has_properties", "is_pattern", "python_spelling", "rust_spelling"]

_SPECIAL = frozenset("^$\\.*+?()[]{}|/-")
_WORD = "A-Za-z0-9_"
_EDGE = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_NO_EDGE = f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"
_DOT = r"[^\n\r\u2028\u2029]"
_NOTHING = r"[^\s\S]"
_EVERYTHING = r"[\s\S]"


def is_pattern(pattern: str, *, unicode: bool) -> bool:
    """Whether `pattern` is one of ECMA-262, with the flag ``u`` or, by Annex B, without it."""
    try:
        tokens(pattern, unicode=unicode)
    except PatternError:
        return False
    return True


def has_properties(pattern: str) -> bool:
    r"""Whether `pattern`, one with the flag ``u``, has properties of Unicode (``\p{…}``)."""
    return any(
        member.ranges is None for token in tokens(pattern, unicode=True) for member in token.members
    )


@lru_cache(maxsize=4096)
def python_spelling(pattern: str) -> str:
    """`pattern` for `re` without flags; a `PatternError` where that has no way to say it."""
    parsed = _parsed(pattern)
    try:
        spelt = "".join(map(_for_python, parsed))
        re.compile(spelt)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"{pattern!r} cannot be said to Python's re: {error}") from None
    return spelt


@lru_cache(maxsize=4096)
def rust_spelling(pattern: str, *, backtracking: bool) -> str:
    """`pattern` for jsonschema-rs; a `PatternError` for what nobody reads for certain.

    `backtracking`: for its engine that can look around, which knows no ASCII word boundary.
    """
    return "".join(_for_rust(token, backtracking) for token in _parsed(pattern))


@lru_cache(maxsize=4096)
def _parsed(pattern: str) -> tuple[Token, ...]:
    try:
        parsed = tokens(pattern, unicode=True)
    except PatternError:
        try:
            parsed = tokens(pattern, unicode=False)
        except PatternError as error:
            raise PatternError(f"{pattern!r} is no pattern of ECMA-262: {error}") from None
    if any(_is_dialect(one) for token in parsed for one in token.members):
        raise PatternError(f"{pattern!r} escapes what other dialects give a meaning")
    if _has_flags(parsed):
        raise PatternError(f"{pattern!r} sets flags, which only ECMA-262 since 2025 knows")
    if _has_doubtful_reference(parsed):
        raise PatternError(f"{pattern!r} refers to a group that may be incomplete or forgotten")
    return parsed


_DIALECT = re.compile(r"\\(?:[1-9]|0[0-9]|[A-Za-z])")
_STANDARD = re.compile(
    r"\\(?:[dDwWsStnvfrb]|[pP]\{|c[A-Za-z]|x[0-9A-Fa-f]{2}|u(?:[0-9A-Fa-f]{4}|\{))"
)


def _is_dialect(member: ClassMember) -> bool:
    r"""Whether Annex B reads as a plain character what means something in other dialects.

    ``\A`` and ``\Z`` are the letters there, while who writes them means the text's ends.
    """
    if member.source == "\\":
        return True  # a \\c without its letter
    return bool(_DIALECT.match(member.source)) and not _STANDARD.match(member.source)


def _has_flags(parsed: Iterable[Token]) -> bool:
    opened = [one.source for one in parsed if one.kind == "open"]
    return any(source.endswith(":") and source != "(?:" for source in opened)


def _has_doubtful_reference(parsed: Iterable[Token]) -> bool:
    """Whether a group is referred to that is not complete by then, or stands in another group.

    ECMA-262 forgets what a group took when what is around it repeats (section 22.2.2.3.1); no
    other engine does.
    """
    complete: set[int] = set()
    opened: list[int] = []
    count = 0
    for token in parsed:
        if token.kind == "open":
            captures = _captures(token)
            count += captures
            opened.append(count if captures else 0)
        elif token.kind == "close":
            number = opened.pop()
            if not opened:
                complete.add(number)
        elif token.kind == "reference" and token.number not in complete:
            return True
    return False


def _captures(token: Token) -> bool:
    named = token.source.startswith("(?<") and token.source not in ("(?<=", "(?<!")
    return token.source == "(" or named


def _for_python(token: Token) -> str:
    if token.kind in ("set", "property"):
        return _python_set(token)
    if token.kind == "char" and token.members[0].ranges:
        return re.escape(chr(token.members[0].ranges[0][0]))
    if token.kind == "reference":
        # The group may be in an alternative that was not taken.
        return rf"(?:(?({token.number})\{token.number}))"
    if token.kind == "open" and _captures(token):
        return "("
    return {"end": r"\Z", "boundary": _EDGE, "inside": _NO_EDGE}.get(token.kind, token.source)


def _python_set(token: Token) -> str:
    ranges = [one for member in token.members for one in _ranges(member)]
    if not ranges:
        return _EVERYTHING if token.negated else "(?!)"
    spelt = "".join(_hex(low) + (f"-{_hex(high)}" if high > low else "") for low, high in ranges)
    return f"[{'^' * token.negated}{spelt}]"


def _ranges(member: ClassMember) -> Ranges:
    if member.ranges is not None:
        return member.ranges
    kind, name = member.source[1], member.source[3:-1]
    ranges = property_ranges(name)
    return ranges if kind == "p" else complement(ranges)


def _hex(point: int) -> str:
    char = chr(point)
    return char if char.isascii() and char.isalnum() else rf"\U{point:08x}"


def _for_rust(token: Token, backtracking: bool) -> str:
    if token.kind == "set":
        return _rust_set(token, backtracking)
    if token.kind == "char":
        return _rust_char(token.members[0])
    if token.kind == "reference":
        return rf"(?:\{token.number})"
    if token.kind == "open" and _captures(token):
        return "("
    edges = (_EDGE, _NO_EDGE) if backtracking else (r"(?-u:\b)", r"(?-u:\B)")
    return {"boundary": edges[0], "inside": edges[1]}.get(token.kind, token.source)


def _rust_char(member: ClassMember) -> str:
    if member.ranges is None or _NATIVE.fullmatch(member.source):
        return member.source
    char = chr(member.ranges[0][0])
    return f"\\{char}" if char in _SPECIAL else _rust_point(member.ranges[0][0])


def _rust_point(point: int) -> str:
    char = chr(point)
    return char if char.isprintable() and char not in "[]\\^-&~" else rf"\u{{{point:x}}}"


def _rust_set(token: Token, backtracking: bool) -> str:
    if not token.members:
        return _EVERYTHING if token.negated else _NOTHING
    if token.source == ".":
        return _DOT
    if backtracking:
        spelt = "".join(map(_rust_ranges, token.members))
    elif token.source.startswith("["):
        spelt = "".join(map(_rust_member, token.members))
    else:
        return token.source
    return f"[{'^' * token.negated}{spelt}]"


def _rust_ranges(member: ClassMember) -> str:
    return member.source if member.ranges is None else "".join(map(_rust_range, member.ranges))


def _rust_member(member: ClassMember) -> str:
    if member.ranges is None or _SHORTHAND.fullmatch(member.source):
        return member.source
    return _rust_range(member.ranges[0])


def _rust_range(ends: tuple[int, int]) -> str:
    low, high = ends
    return _rust_point(low) + (f"-{_rust_point(high)}" if high > low else "")


_PLAIN = r"[0-9A-Za-z_ !\"#%&',/:;<=>@`~\u0080-\U0010ffff-]"
_NATIVE = re.compile(rf"{_PLAIN}|\\(?:[tnvfr]|[$^.*+?()\[\]{{}}|/\\-]|x[0-9A-Fa-f]{{2}})")
"""Characters that jsonschema-rs reads as ECMA-262 does, however they are spelt."""

_SHORTHAND = re.compile(r"\\[dDwWsS]")
