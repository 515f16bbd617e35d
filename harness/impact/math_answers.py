r"""Final answers to questions of mathematics: taken out of a text, and compared.

GSM8K asks for a number: of a text the last one counts, without currency, separators and units.
MATH asks for a short expression in LaTeX: it counts as the reference where both are the same after
what is mere spelling is taken away, where both are the same number (``0.5`` and ``\frac12``), or
where both are tuples, intervals or lists of such. Nothing is computed: ``2+3`` is not ``5``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Final

_NUMBER: Final = re.compile(
    r"(?:(?<![\w)])-)?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)", re.ASCII
)
_GSM8K_MARK: Final = "####"
_BOX: Final = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_SPELLING: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\\(?:left|right|displaystyle|,|!|;|:|quad|qquad)(?![a-zA-Z])", ""),
        (r"\\ ", ""),
        (r"~", ""),
        (r"\\[dt]frac(?![a-zA-Z])", r"\\frac"),
        (r"\\(?:mbox|textbf|textrm|mathrm|textit)(?![a-zA-Z])", r"\\text"),
        (r"(?<=[\d)}])\s*\\text\{\s*[^{}]*\}(?:\^\{?\d\}?)?$", ""),
        (r"^\\text\{([^{}]*)\}$", r"\1"),
        (r"\^\{?\\circ\}?|\\degree(?![a-zA-Z])|°", ""),
        (r"\\?[$%]", ""),
        (r"[.\s]+$|^\s+", ""),
        (r"^[a-zA-Z](?:\([a-zA-Z]\))?\s*=(?!=)", ""),
        (r"^[a-zA-Z]\s*\\in(?![a-zA-Z])", ""),
        (r"\\frac\s*([0-9])\s*([0-9a-zA-Z])", r"\\frac{\1}{\2}"),
        (r"\\frac\s*([0-9])\s*(?=\{)", r"\\frac{\1}"),
        (r"\\frac\{([^{}]*)\}\s*([0-9a-zA-Z])", r"\\frac{\1}{\2}"),
        (r"\\sqrt\s*([0-9a-zA-Z])", r"\\sqrt{\1}"),
        (r"^(-?\d+)\s*/\s*(\d+)$", r"\\frac{\1}{\2}"),
        (r"(?<![\d.])\.(?=\d)", "0."),
        (r"\s", ""),
    )
)
_FRACTION: Final = re.compile(r"(-?)(\d*)\\frac\{(-?\d+)\}\{(-?\d+)\}", re.ASCII)
_GROUPED: Final = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL: Final = re.compile(r"[-+]?\d+(?:\.\d*)?", re.ASCII)
_BRACKETS: Final = (("(", ")"), ("(", "]"), ("[", ")"), ("[", "]"), ("\\{", "\\}"))


def gsm8k_reference(answer: str) -> str:
    """The number behind the mark in a reference solution; the whole text where there is none."""
    return answer.rpartition(_GSM8K_MARK)[2].strip()


def last_number(text: str) -> Fraction | None:
    """The last number of a text, without separators of thousands; None where it has none."""
    numbers = _NUMBER.findall(boxed(text) or text.rpartition(_GSM8K_MARK)[2])
    return Fraction(numbers[-1].replace(",", "")) if numbers else None


def boxed(text: str) -> str | None:
    r"""What is in the last ``\boxed{...}`` of a text; None where there is none that closes."""
    for start in reversed(list(_BOX.finditer(text))):
        depth = 0
        for at in range(start.end(), len(text)):
            depth += (text[at] == "{") - (text[at] == "}")
            if not depth:
                return text[start.end() + 1 : at].strip()
    return None


def normalized_expression(text: str) -> str:
    """An expression without what is mere spelling; doing it again changes nothing."""
    before = None
    while text != before:  # each rule takes something away for good, so that this ends
        before = text
        for pattern, new in _SPELLING:
            text = pattern.sub(new, text)
        text = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    return text


def same_expression(left: str, right: str) -> bool:
    """Whether two expressions are the same answer."""
    first, second = (_canonical(normalized_expression(text)) for text in (left, right))
    return first == second


def _canonical(text: str) -> Hashable:
    """The same for all that is the same answer: numbers, tuples in order, sets in any."""
    if (number := _number(text)) is not None:
        return number
    if (parts := _parts(text)) is None:
        return text
    brackets, members = parts[0], map(_canonical, parts[1])
    return brackets, tuple(members) if brackets[0] in "([" else frozenset(Counter(members).items())


def _number(text: str) -> Fraction | None:
    """The number that a text spells: a decimal, a fraction or a mixed number."""
    if _DECIMAL.fullmatch(text):
        return Fraction(text.rstrip("."))
    match = _FRACTION.fullmatch(text)
    if match is None or not int(match[4]):
        return None
    value = int(match[2] or 0) + Fraction(int(match[3]), int(match[4]))
    return -value if match[1] else value


def _parts(text: str) -> tuple[str, list[str]] | None:
    """Brackets and members of a tuple, interval, set or bare list; None for anything else."""
    brackets, inner = "", text
    for opening, closing in _BRACKETS:
        if text.startswith(opening) and text.endswith(closing):
            brackets, inner = opening + closing, text[len(opening) : -len(closing)]
    members = _split(inner)
    return None if members is None or len(members) < 2 else (brackets or ",", members)


def _split(text: str) -> list[str] | None:
    """The text at its commas outside of brackets; None where brackets do not match."""
    members, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return None
        if sign == "," and not depth:
            members.append("")
        else:
            members[-1] += sign
    return None if depth else members
