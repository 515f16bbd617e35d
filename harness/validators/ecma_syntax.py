r"""The syntax of ECMA-262's regular expressions: a pattern as a flat list of tokens.

A pattern is read with the flag ``u`` (ECMA-262, section 22.2.1) or without it, then with what
Annex B, section B.1.2, adds for the web: a lone ``]`` or ``}``, ``\-`` for a hyphen, ``\d-x`` in a
class. Characters are code points in both readings, as in JSON Schema. Flags within a pattern
(``(?i:…)``) are those of section 22.2.1 since 2025.

Source: ECMA-262, 2025 edition, sections 22.2.1 (patterns), 22.2.1.1 (early errors), B.1.2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

from harness.schemas.patterns import HIGHEST, Ranges, complement

DIGITS: Final[Ranges] = ((0x30, 0x39),)
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SPACES: Final[Ranges] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip

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

    `ranges` is None for ``\p{…}``, which no table here knows.
    """

    source: str
    ranges: Ranges | None


@dataclass(frozen=True, slots=True)
class Token:
    """One part of a pattern.

    Attributes:
        kind: What it is.
        source: How the pattern spells it.
        members: Of a ``set``: what is in it; one member for a ``char``.
        negated: Of a ``set``.
        number: Of a ``reference``: the group's number.
    """

    kind: TokenKind
    source: str
    members: tuple[ClassMember, ...] = ()
    negated: bool = False
    number: int = 0


def tokens(pattern: str, *, unicode: bool) -> tuple[Token, ...]:
    """The tokens of `pattern`, read with the flag ``u`` or without it.

    Raises:
        PatternError: The pattern is an early error in that reading.
    """
    return tuple(_PatternReader(pattern, unicode).read())


_SHORTHANDS: Final = {
    "d": DIGITS, "D": complement(DIGITS), "w": WORD, "W": complement(WORD),
    "s": SPACES, "S": complement(SPACES),
}  # fmt: skip
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_SINGLES: Final[dict[str, TokenKind]] = {"^": "start", "$": "end", "|": "or", ")": "close"}
_REPEAT = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_NAME = re.compile(r"\?<([^>]*)>")
_FLAGS = re.compile(r"\?(?=[ims-]+:)([ims]*)(-[ims]*)?:")
_GROUPS: Final = ("?:", "?=", "?!", "?<=", "?<!")
_HEX: Final = (
    re.compile(r"x([0-9A-Fa-f]{2})"),
    re.compile(r"u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})"),
    re.compile(r"u([0-9A-Fa-f]{4})"),
)
_BRACED = re.compile(r"u\{([0-9A-Fa-f]+)\}")
_PROPERTY = re.compile(r"[pP]\{[A-Za-z_]+(?:=[A-Za-z0-9_]+)?\}")
_OCTAL = re.compile(r"[0-3]?[0-7]{1,2}")
_ANYTHING = ((0, HIGHEST),)


class _PatternReader:
    """One reading of one pattern, from left to right."""

    def __init__(self, pattern: str, unicode: bool) -> None:
        self.pattern = pattern
        self.unicode = unicode
        self.at = 0
        names = _group_names(pattern)
        self.groups = names.count("") + sum(map(bool, names))
        self.names = [name for name in names if name]
        self.named = unicode or bool(self.names)
        self.order = {name: number for number, name in enumerate(names, 1) if name}

    def read(self) -> list[Token]:
        out: list[Token] = []
        opened: list[Token] = []
        repeatable = False
        while self.at < len(self.pattern):
            token = self._next()
            match token.kind:
                case "open":
                    opened.append(token)
                case "close":
                    if not opened:
                        self._fail("a ) without its (")
                    repeatable = self._may_repeat(opened.pop())
                case "repeat":
                    if not repeatable:
                        self._fail("nothing to repeat")
            if token.kind != "close":
                repeatable = token.kind in ("char", "set", "property", "reference")
            out.append(token)
        if opened:
            self._fail("a ( without its )")
        return out

    def _may_repeat(self, opened: Token) -> bool:
        if opened.source in ("(?=", "(?!"):
            return not self.unicode
        return opened.source not in ("(?<=", "(?<!")

    def _next(self) -> Token:
        char = self.pattern[self.at]
        readers = {"(": self._open, "[": self._class, "\\": self._escape}
        if char in readers:
            return readers[char]()
        if char in "*+?{":
            return self._repeat()
        if char in _SINGLES:
            return Token(_SINGLES[char], self._take(1))
        if char == ".":
            return Token("set", self._take(1), (ClassMember(".", LINE_ENDS),), negated=True)
        if self.unicode and char in "]}":
            self._fail(f"a lone {char}")
        return self._char(self._take(1), ord(char))

    def _repeat(self) -> Token:
        found = _REPEAT.match(self.pattern, self.at)
        if found is None:
            if self.unicode:
                self._fail("a lone {")
            return self._char(self._take(1), ord("{"))
        low, _, high = found.groups()
        if high and int(high) < int(low):
            self._fail("a repetition from more to less")
        return Token("repeat", self._take(len(found.group())))

    def _open(self) -> Token:
        behind = self.at + 1
        if not self.pattern.startswith("?", behind):
            return Token("open", self._take(1))
        for group in _GROUPS:
            if self.pattern.startswith(group, behind):
                return Token("open", self._take(1 + len(group)))
        if name := _NAME.match(self.pattern, behind):
            if not _is_name(name[1]) or self.names.count(name[1]) > 1:
                # Two groups of one name may stand in different alternatives: not looked into.
                self._fail(f"the name {name[1]!r} of a group")
            return Token("open", self._take(1 + len(name.group())))
        if flags := _FLAGS.match(self.pattern, behind):
            letters = (flags[1] + (flags[2] or "")).replace("-", "")
            if letters and len(set(letters)) == len(letters):
                return Token("open", self._take(1 + len(flags.group())))
        return self._fail("a (? of no known kind")

    def _escape(self) -> Token:
        start = self.at
        after = self.pattern[self.at + 1 : self.at + 2]
        if after in ("b", "B"):
            return Token("boundary" if after == "b" else "inside", self._take(2))
        if after and after in "123456789" and (token := self._numbered()):
            return token
        if after == "k" and self.named:
            name = re.compile(r"\\k<([^>]*)>").match(self.pattern, self.at)
            if name is None or name[1] not in self.order:
                self._fail("a reference to no group")
            return Token("reference", self._take(len(name[0])), number=self.order[name[1]])
        member = self._atom_escape(in_class=False)
        source = self.pattern[start : self.at]
        if member.ranges is None:
            return Token("property", source, (member,))
        alone = len(member.ranges) == 1 and member.ranges[0][0] == member.ranges[0][1]
        return Token("char" if alone else "set", source, (member,))

    def _numbered(self) -> Token | None:
        """A reference by number; None for what Annex B reads as something else."""
        digits = re.compile(r"\\([0-9]+)").match(self.pattern, self.at)
        assert digits is not None
        if int(digits[1]) <= self.groups:
            return Token("reference", self._take(len(digits[0])), number=int(digits[1]))
        if self.unicode:
            self._fail("a reference to no group")
        return None

    def _atom_escape(self, *, in_class: bool) -> ClassMember:
        """The escape that starts here, moved behind: what both outside and in a class may have."""
        start = self.at
        self.at += 1
        if self.at == len(self.pattern):
            self._fail("ends in a backslash")
        letter = self.pattern[self.at]
        if letter in _SHORTHANDS:
            self.at += 1
            return ClassMember(self.pattern[start : self.at], _SHORTHANDS[letter])
        if self.unicode and letter in "pP":
            found = _PROPERTY.match(self.pattern, self.at)
            if found is None:
                self._fail("a property without braces")
            self.at = found.end()
            return ClassMember(self.pattern[start : self.at], None)
        point = self._point(in_class)
        return ClassMember(self.pattern[start : self.at], ((point, point),))

    def _point(self, in_class: bool) -> int:
        """The character that the escape stands for; `at` is behind its backslash."""
        letter = self.pattern[self.at]
        for spelling in (*_HEX, *((_BRACED,) if self.unicode else ())):
            if found := spelling.match(self.pattern, self.at):
                self.at = found.end()
                return self._checked([int(group, 16) for group in found.groups()])
        if letter in _CONTROLS or (in_class and letter == "b"):
            self.at += 1
            return _CONTROLS.get(letter, 8)
        if letter == "c":
            return self._control(in_class)
        if letter == "0" and not self.pattern[self.at + 1 : self.at + 2].isdigit():
            self.at += 1
            return 0
        if letter.isascii() and letter.isdigit():
            return self._octal()
        if self.unicode:
            if letter not in _SYNTAX and not (in_class and letter == "-"):
                self._fail(f"the escape \\{letter}")
        elif letter == "k" and self.named:
            self._fail("the escape \\k")
        self.at += 1
        return ord(letter)

    def _checked(self, units: Sequence[int]) -> int:
        point = units[0]
        if len(units) == 2:
            point = 0x10000 + ((units[0] - 0xD800) << 10) + (units[1] - 0xDC00)
        if point > HIGHEST:
            self._fail("a code point that is too high")
        if 0xD800 <= point <= 0xDFFF:
            self._fail("half of a surrogate pair")
        return point

    def _control(self, in_class: bool) -> int:
        letter = self.pattern[self.at + 1 : self.at + 2]
        also = "0123456789_" if in_class and not self.unicode else ""
        if letter and (letter.isascii() and (letter.isalpha() or letter in also)):
            self.at += 2
            return ord(letter) % 32
        if self.unicode:
            self._fail("the escape \\c")
        return ord("\\")  # Annex B: the backslash itself, and the letter c stays to be read

    def _octal(self) -> int:
        if self.unicode:
            self._fail("an octal escape")
        found = _OCTAL.match(self.pattern, self.at)
        if found is None:  # \8 and \9
            self.at += 1
            return ord(self.pattern[self.at - 1])
        self.at = found.end()
        return int(found[0], 8)

    def _class(self) -> Token:
        start = self.at
        self.at += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        members: list[ClassMember] = []
        while not self.pattern.startswith("]", self.at):
            members += self._members()
        self.at += 1
        return Token("set", self.pattern[start : self.at], tuple(members), negated)

    def _members(self) -> list[ClassMember]:
        """One atom of a class, or a range of two."""
        first = self._class_atom()
        rest = self.pattern[self.at : self.at + 2]
        if not rest.startswith("-") or rest in ("-", "-]"):
            return [first]
        self.at += 1
        second = self._class_atom()
        low, high = _single(first), _single(second)
        if low is None or high is None:
            if self.unicode:
                self._fail("a range with a class at its end")
            return [first, ClassMember("-", ((0x2D, 0x2D),)), second]
        if low > high:
            self._fail("a range out of order")
        return [ClassMember(f"{first.source}-{second.source}", ((low, high),))]

    def _class_atom(self) -> ClassMember:
        if self.at >= len(self.pattern):
            self._fail("a [ without its ]")
        char = self.pattern[self.at]
        if char == "\\":
            return self._atom_escape(in_class=True)
        self.at += 1
        return ClassMember(char, ((ord(char), ord(char)),))

    def _char(self, source: str, point: int) -> Token:
        return Token("char", source, (ClassMember(source, ((point, point),)),))

    def _take(self, length: int) -> str:
        self.at += length
        return self.pattern[self.at - length : self.at]

    def _fail(self, what: str) -> NoReturn:
        raise PatternError(f"{what}, before character {self.at + 1}")


def _single(member: ClassMember) -> int | None:
    if member.ranges is None or member.ranges[0][0] != member.ranges[-1][1]:
        return None
    return member.ranges[0][0]


def _group_names(pattern: str) -> list[str]:
    """The names of the capturing groups in their order, "" for one without."""
    parts = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?<(?![=!])([^>]*)>|(?!\?))", re.DOTALL)
    return [found[1] or "" for found in parts.finditer(pattern) if found[0].startswith("(")]


def _is_name(name: str) -> bool:
    """Whether `name` is an IdentifierName (section 12.7), spelt without escapes."""
    plain = name.replace("$", "_").replace("\u200c", "_").replace("\u200d", "_")
    return plain.isidentifier() and not name.startswith(("\u200c", "\u200d"))
