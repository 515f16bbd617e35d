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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal

import regress

from harness.schemas.patterns import DIGITS, HIGHEST, WORD, Ranges, complement

LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SPACES: Final[Ranges] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip

MAX_ALTERNATIVES: Final = 10_000
"""``regress`` takes seconds for more, and overflows its stack at some 50,000."""

TokenKind = Literal[
    "char", "set", "property", "start", "end", "boundary", "inside",
    "open", "close", "or", "repeat", "reference",
]  # fmt: skip
r"""``boundary`` is ``\b``, ``inside`` is ``\B``; ``property`` is ``\p{…}``."""


class PatternError(ValueError):
    """No regular expression of ECMA-262 in the way that it was read."""


@dataclass(frozen=True, slots=True)
class ClassMember:
    r"""One part of a class: a range of characters, or what an escape stands for.

    `ranges` is None for ``\p{…}``, whose characters `property_ranges` knows.
    """

    source: str
    ranges: Ranges | None


@dataclass(frozen=True, slots=True)
class Token:
    """One part of a pattern, and how the pattern spells it."""

    kind: TokenKind
    source: str
    members: tuple[ClassMember, ...] = ()
    """Of a ``set``: what is in it; one member for a ``char``."""
    negated: bool = False
    number: int = 0
    """Of a ``reference``: the group's."""


def tokens(pattern: str, *, unicode: bool) -> tuple[Token, ...]:
    """The tokens of `pattern`, read with the flag ``u`` or without it.

    Raises:
        PatternError: The pattern is an early error in that reading, names two groups alike (which
            may stand in different alternatives), or names half of a surrogate pair.
    """
    if pattern.count("|") > MAX_ALTERNATIVES:
        raise PatternError("too many alternatives")
    try:
        regress.Regex(pattern, "u" if unicode else "")
    except (regress.RegressError, UnicodeEncodeError) as error:
        raise PatternError(str(error)) from None
    out: list[Token] = []
    for token in _PatternReader(pattern, unicode).read():
        # regress takes \b+, and \u{41}* without the flag, where the braces repeat.
        if token.kind == "repeat" and out and out[-1].kind in ("boundary", "inside", "repeat"):
            raise PatternError("nothing to repeat")
        out.append(token)
    return tuple(out)


@cache
def property_ranges(name: str) -> Ranges:
    r"""The characters of the property in the braces of ``\p{…}``, which is one of ECMA-262."""
    characters = _every_character()
    utf8 = characters.encode()
    runs = regress.Regex(rf"\p{{{name}}}+", "u").find_iter(characters) or ()
    spans = [utf8[one.range()].decode() for one in runs]  # its offsets are those of bytes
    return tuple((ord(span[0]), ord(span[-1])) for span in spans)


_SHORTHANDS: Final = {
    "d": DIGITS, "D": complement(DIGITS), "w": WORD, "W": complement(WORD),
    "s": SPACES, "S": complement(SPACES),
}  # fmt: skip
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_TOKEN = re.compile(
    r"""(?P<boundary>\\b) | (?P<inside>\\B) | (?P<start>\^) | (?P<end>\$) | (?P<or>\|)
    | (?P<open>\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[ims-]+:))?) | (?P<close>\))
    | (?P<repeat>(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??)
    | (?P<dot>\.) | (?P<class>\[) | (?P<escape>\\) | (?P<char>.)""",
    re.VERBOSE | re.DOTALL,
)
_HEX: Final = (
    re.compile(r"x([0-9A-Fa-f]{2})"),
    re.compile(r"u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})"),
    re.compile(r"u([0-9A-Fa-f]{4})"),
)
_BRACED = re.compile(r"u\{([0-9A-Fa-f]+)\}")
_OCTAL = re.compile(r"[0-3]?[0-7]{1,2}")
_REFERENCE = re.compile(r"\\(?:([1-9][0-9]*)|k<([^>]*)>)")
_GROUP = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?<(?![=!])([^>]*)>|(?!\?))", re.DOTALL)


class _PatternReader:
    """One reading of one pattern, from left to right."""

    def __init__(self, pattern: str, unicode: bool) -> None:
        self.pattern = pattern
        self.unicode = unicode
        opened = [one for one in _GROUP.finditer(pattern) if one[0].startswith("(")]
        self.groups = len(opened)
        self.order = {one[1]: number for number, one in enumerate(opened, 1) if one[1]}
        names = [one[1] for one in opened if one[1]]
        if len(self.order) < len(names) or "\\" in "".join(names):
            raise PatternError("names of groups that are alike, or escaped")

    def read(self) -> Iterator[Token]:
        at = 0
        while at < len(self.pattern):
            found = _TOKEN.match(self.pattern, at)
            assert found is not None
            at = found.end()
            match found.lastgroup:
                case "dot":
                    yield Token("set", ".", (ClassMember(".", LINE_ENDS),), negated=True)
                case "class":
                    token = self._class(found.start())
                    at = found.start() + len(token.source)
                    yield token
                case "escape":
                    token = self._reference(found.start()) or self._escaped(found.start())
                    at = found.start() + len(token.source)
                    yield token
                case "char":
                    member = ClassMember(found[0], ((ord(found[0]), ord(found[0])),))
                    yield Token("char", found[0], (member,))
                case kind:
                    yield Token(kind, found[0])  # type: ignore[arg-type]

    def _reference(self, at: int) -> Token | None:
        """A reference by number or name; None for what Annex B reads as something else."""
        found = _REFERENCE.match(self.pattern, at)
        if found is None:
            return None
        number = int(found[1]) if found[1] else self.order.get(found[2], self.groups + 1)
        return Token("reference", found[0], number=number) if number <= self.groups else None

    def _escaped(self, at: int) -> Token:
        member = self._escape(at)
        if member.ranges is None:
            return Token("property", member.source, (member,))
        return Token("char" if _single(member) is not None else "set", member.source, (member,))

    def _escape(self, at: int, *, in_class: bool = False) -> ClassMember:  # noqa: PLR0911
        """The escape at `at`: what both outside and in a class may have."""
        letter = self.pattern[at + 1]
        if letter in _SHORTHANDS:
            return ClassMember(self.pattern[at : at + 2], _SHORTHANDS[letter])
        if self.unicode and letter in "pP":
            return ClassMember(self.pattern[at : self.pattern.index("}", at) + 1], None)
        for spelling in (*_HEX, *((_BRACED,) if self.unicode else ())):
            if found := spelling.match(self.pattern, at + 1):
                point = _code_point(*(int(group, 16) for group in found.groups()))
                return self._character(at, found.end(), point)
        if letter in _CONTROLS or (in_class and letter == "b"):
            return self._character(at, at + 2, _CONTROLS.get(letter, 8))
        if letter == "c":
            named = self.pattern[at + 2 : at + 3]
            if named.isascii() and (
                named.isalpha() or (in_class and not self.unicode and re.match(r"\w", named))
            ):
                return self._character(at, at + 3, ord(named) % 32)
            return self._character(at, at + 1, ord("\\"))  # Annex B: and the letter stays
        if found := _OCTAL.match(self.pattern, at + 1):
            return self._character(at, found.end(), int(found[0], 8))
        return self._character(at, at + 2, ord(letter))

    def _character(self, at: int, end: int, point: int) -> ClassMember:
        return ClassMember(self.pattern[at:end], ((point, point),))

    def _class(self, start: int) -> Token:
        negated = self.pattern.startswith("^", start + 1)
        at = start + 1 + negated
        members: list[ClassMember] = []
        while self.pattern[at] != "]":
            first = self._class_atom(at)
            at += len(first.source)
            if self.pattern[at] != "-" or self.pattern[at + 1] == "]":
                members.append(first)
                continue
            second = self._class_atom(at + 1)
            at += 1 + len(second.source)
            low, high = _single(first), _single(second)
            if low is None or high is None:
                members += [first, ClassMember("-", ((0x2D, 0x2D),)), second]
            else:
                members.append(ClassMember(f"{first.source}-{second.source}", ((low, high),)))
        return Token("set", self.pattern[start : at + 1], tuple(members), negated)

    def _class_atom(self, at: int) -> ClassMember:
        if self.pattern[at] == "\\":
            return self._escape(at, in_class=True)
        return self._character(at, at + 1, ord(self.pattern[at]))


def _code_point(point: int, low: int | None = None) -> int:
    if low is not None:
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
    if 0xD800 <= point <= 0xDFFF:
        raise PatternError("half of a surrogate pair")
    return point


def _single(member: ClassMember) -> int | None:
    if member.ranges is None or member.ranges[0][0] != member.ranges[-1][1]:
        return None
    return member.ranges[0][0]


@cache
def _every_character() -> str:
    """All that may stand in a text: halves of surrogate pairs are left out."""
    return "".join(map(chr, (*range(0xD800), *range(0xE000, HIGHEST + 1))))


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


@lru_cache(maxsize=4096)
def python_spelling(pattern: str) -> str:
    """`pattern` for `re` without flags; a `PatternError` where that has no way to say it."""
    parsed = parsed_pattern(pattern)
    try:
        spelt = "".join(map(for_python, parsed))
        re.compile(spelt)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"{pattern!r} cannot be said to Python's re: {error}") from None
    return spelt


@lru_cache(maxsize=4096)
def rust_spelling(pattern: str, *, backtracking: bool) -> str:
    """`pattern` for jsonschema-rs; a `PatternError` for what nobody reads for certain.

    `backtracking`: for its engine that can look around, which knows no ASCII word boundary.
    """
    return "".join(_for_rust(token, backtracking) for token in parsed_pattern(pattern))


@lru_cache(maxsize=4096)
def parsed_pattern(pattern: str) -> tuple[Token, ...]:
    try:
        parsed = tokens(pattern, unicode=True)
    except PatternError:
        try:
            parsed = tokens(pattern, unicode=False)
        except PatternError as error:
            raise PatternError(f"{pattern!r} is no pattern of ECMA-262: {error}") from None
    if any(_is_dialect(one) for token in parsed for one in token.members):
        raise PatternError(f"{pattern!r} escapes what other dialects give a meaning")
    if any(one.kind == "open" and re.search(r"[a-z-]:$", one.source) for one in parsed):
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


def _has_doubtful_reference(parsed: Iterable[Token]) -> bool:
    """Whether a group is referred to that is not complete by then, or stands in another group.

    ECMA-262 alone forgets what a group took when what is around repeats (section 22.2.2.3.1).
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
    return token.source == "(" or token.source.endswith(">")


def for_python(token: Token) -> str:
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
    ranges = [one for member in token.members for one in character_ranges(member)]
    if not ranges:
        return _EVERYTHING if token.negated else "(?!)"
    return f"[{'^' * token.negated}{_spelt(ranges, escaped_point)}]"


def _spelt(ranges: Iterable[tuple[int, int]], point: Callable[[int], str]) -> str:
    return "".join(point(low) + (f"-{point(high)}" if high > low else "") for low, high in ranges)


def character_ranges(member: ClassMember) -> Ranges:
    if member.ranges is not None:
        return member.ranges
    kind, name = member.source[1], member.source[3:-1]
    ranges = property_ranges(name)
    return ranges if kind == "p" else complement(ranges)


def escaped_point(point: int) -> str:
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
    if not backtracking and not token.source.startswith("["):
        return token.source
    spelt = "".join(_rust_member(member, backtracking) for member in token.members)
    return f"[{'^' * token.negated}{spelt}]"


def _rust_member(member: ClassMember, backtracking: bool) -> str:
    if member.ranges is None or (not backtracking and _SHORTHAND.fullmatch(member.source)):
        return member.source
    return _spelt(member.ranges, _rust_point)


_PLAIN = r"[0-9A-Za-z_ !\"#%&',/:;<=>@`~\u0080-\U0010ffff-]"
_NATIVE = re.compile(rf"{_PLAIN}|\\(?:[tnvfr]|[$^.*+?()\[\]{{}}|/\\-]|x[0-9A-Fa-f]{{2}})")
"""Characters that jsonschema-rs reads as ECMA-262 does, however they are spelt."""

_SHORTHAND = re.compile(r"\\[dDwWsS]")
