r"""The syntax of ECMA-262's regular expressions: a pattern as a flat list of tokens.

A pattern is read with the flag ``u`` (ECMA-262, section 22.2.1) or without it, then with what
Annex B, section B.1.2, adds for the web: a lone ``]`` or ``}``, ``\-`` for a hyphen, ``\d-x`` in a
class. Characters are code points in both readings, as in JSON Schema. Whether there is such a
pattern is asked of the library ``regress``; what is read here is known to be right.

Source: ECMA-262, 2025 edition, sections 22.2.1 (patterns), 22.2.1.1 (early errors), B.1.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import regress

from harness.schemas.patterns import HIGHEST, Ranges, complement

DIGITS: Final[Ranges] = ((0x30, 0x39),)
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
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
                point = _code_point([int(group, 16) for group in found.groups()])
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


def _code_point(units: list[int]) -> int:
    point = units[0]
    if len(units) == 2:
        point = 0x10000 + ((units[0] - 0xD800) << 10) + (units[1] - 0xDC00)
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
