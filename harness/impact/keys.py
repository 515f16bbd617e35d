"""The wording of schema keys as an instruction: one question under four placements.

The schemas differ in the name of one property and in nothing else. `docs/impact_tasks.md` has the
design, that of Le, Schema Key Wording as an Instruction Channel in Structured Generation under
Constrained Decoding (arXiv:2604.14862, 2026), and says how conditions are named and answers
compared. Nothing is computed: ``2+3`` is not ``5``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from harness.errors import InputError
from harness.impact.items import Item, Score, Turn, json_lines
from harness.impact.statistics import PLACEMENTS

_ANSWER: Final = "answer"
_FIELDS: Final[Mapping[str, str]] = {"gsm8k": "question", "math": "problem"}
_IDS: Final = ("id", "unique_id")
_FORM: Final = {
    "gsm8k": "The answer is a number.",
    "math": "The answer is a short expression in LaTeX.",
}

IN_PROMPT: Final = "Reason step by step before you give the answer."
"""The instruction as a sentence of the prompt."""
IN_KEY: Final = "step_by_step_reasoning"
NEUTRAL_KEY: Final = "text"
"""The name of the property that is written before the answer, with the instruction and without."""


@dataclass(frozen=True)
class KeyWording:
    """Questions of mathematics, each under all four placements of an instruction.

    The kind, ``gsm8k`` or ``math``, says how answers are compared.
    """

    name: str
    kind: str
    _items: tuple[Item, ...] = field(repr=False)
    _references: Mapping[str, str] = field(repr=False)

    def items(self) -> tuple[Item, ...]:
        """All items: question by question, in the order of `PLACEMENTS`."""
        return self._items

    def score(self, item: Item, answer: Any) -> Score:
        """Whether the member ``answer`` of `answer` is the reference's."""
        given = answer.get(_ANSWER) if isinstance(answer, dict) else None
        if isinstance(given, bool) or not isinstance(given, (str, int, float)):
            return Score(correct=False, reason="no_answer")
        # Decimal: a float may be spelt with an exponent, which is no number of an answer
        text = given if isinstance(given, str) else format(Decimal(str(given)), "f")
        reference = self._references[item.group]
        if self.kind == "math":
            inner = boxed(text)
            right = same_expression(text if inner is None else inner, reference)
        else:
            number = last_number(text)
            if number is None:
                return Score(correct=False, reason="no_answer")
            right = number == last_number(reference)
        return Score(correct=right, reason="" if right else "wrong_answer")

    def unanswerable(self) -> frozenset[str]:
        """None: every answer is a number or a text."""
        return frozenset()


def load(path: Path) -> KeyWording:
    r"""The task over a file of questions in JSON Lines, of the kind of the first line.

    GSM8K has ``question`` and ``answer``, which ends in ``#### `` and a number; MATH ``problem``
    and ``answer``, or ``solution`` with a ``\boxed{...}`` instead. Ids are taken from ``id`` or
    ``unique_id``, else they are the numbers of the lines.

    Raises:
        InputError: The file cannot be read, is empty, or a line is not of the kind.
    """
    try:
        lines = list(json_lines(str(path), path.read_bytes()))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if not lines:
        raise InputError(f"{path} has no question")
    kind = "math" if _FIELDS["math"] in lines[0][1] else "gsm8k"
    items, references = [], {}
    for number, line in lines:
        where = f"{path}:{number}"
        group = str(next((line[name] for name in _IDS if name in line), number))
        if group in references:
            raise InputError(f"{where}: the id {group!r} is there twice")
        references[group] = _reference(line, kind, where)
        asked = _text(line, _FIELDS[kind], where)
        items += [_item(group, place, asked, kind) for place in PLACEMENTS]
    return KeyWording(f"keys_{kind}", kind, tuple(items), references)


def _text(line: Mapping[str, Any], name: str, where: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where} has no text {name!r}", "kinds are gsm8k and math")
    return value


def _reference(line: Mapping[str, Any], kind: str, where: str) -> str:
    """The reference answer: a number as text, or an expression."""
    if kind == "math":
        given = line.get(_ANSWER) or boxed(str(line.get("solution", "")))
        return _text({_ANSWER: given}, _ANSWER, where)
    reference = _text(line, _ANSWER, where).rpartition(_GSM8K_MARK)[2].strip()
    if last_number(reference) is None:
        raise InputError(f"{where}: the answer has no number")
    return reference


def _item(group: str, placement: str, asked: str, kind: str) -> Item:
    in_prompt, in_key = (digit == "1" for digit in placement[1:])
    form = f"Answer with a JSON object. {_FORM[kind]}"
    prompted = f"{IN_PROMPT} {form}" if in_prompt else form
    key = IN_KEY if in_key else NEUTRAL_KEY
    schema = {
        "type": "object",
        "properties": {key: {"type": "string"}, _ANSWER: {"type": "string"}},
        "required": [key, _ANSWER],
        "additionalProperties": False,
    }
    message = Turn("user", f"{asked}\n\n{prompted}")
    id_ = f"{group}/{placement}"
    return Item(id_, (message,), json.dumps(schema), group=group, condition=placement)


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
