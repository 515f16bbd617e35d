"""The wording of schema keys as an instruction: one question under four placements.

The schemas differ in the name of one property and in nothing else. `docs/impact_tasks.md` has the
design, that of Le, Schema Key Wording as an Instruction Channel in Structured Generation under
Constrained Decoding (arXiv:2604.14862, 2026), and says how conditions are named and answers
compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from harness.errors import InputError
from harness.impact.items import Item, Score, Turn, json_lines
from harness.impact.statistics import PLACEMENTS

_ANSWER: Final = "answer"

IN_PROMPT: Final = "Reason step by step before you give the answer."
"""The instruction as a sentence of the prompt."""
IN_KEY: Final = "step_by_step_reasoning"
NEUTRAL_KEY: Final = "text"
"""The name of the property that is written before the answer, with the instruction and without."""


@dataclass(frozen=True)
class KeyWording:
    """Questions of mathematics, each under all four placements of an instruction."""

    name: str
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
        number = last_number(text)
        if number is None:
            return Score(correct=False, reason="no_answer")
        right = number == last_number(self._references[item.group])
        return Score(correct=right, reason="" if right else "wrong_answer")

    def unanswerable(self) -> frozenset[str]:
        """None: every answer is a number."""
        return frozenset()


def load(path: Path) -> KeyWording:
    """The task over a file of questions in JSON Lines, as GSM8K has them.

    A line has ``question`` and ``answer``, which ends in ``#### `` and a number, and may have an
    ``id``; else that is the number of the line.

    Raises:
        InputError: The file cannot be read, is empty, or a line is not of the kind.
    """
    try:
        lines = list(json_lines(str(path), path.read_bytes()))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if not lines:
        raise InputError(f"{path} has no question")
    items, references = [], {}
    for number, line in lines:
        where = f"{path}:{number}"
        group = str(line.get("id", number))
        if group in references:
            raise InputError(f"{where}: the id {group!r} is there twice")
        asked, reference = (_text(line, name, where) for name in ("question", _ANSWER))
        references[group] = reference.rpartition(_GSM8K_MARK)[2].strip()
        if last_number(references[group]) is None:
            raise InputError(f"{where}: the answer has no number")
        items += [_item(group, place, asked) for place in PLACEMENTS]
    return KeyWording("keys_gsm8k", tuple(items), references)


def _text(line: Mapping[str, Any], name: str, where: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where} has no text {name!r}")
    return value


def _item(group: str, placement: str, asked: str) -> Item:
    in_prompt, in_key = (digit == "1" for digit in placement[1:])
    form = "Answer with a JSON object. The answer is a number."
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
