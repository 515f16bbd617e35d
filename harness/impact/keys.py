"""The wording of schema keys as an instruction: one question under four placements.

The schemas differ in the name of one property and in nothing else. `docs/impact_tasks.md` has the
design, that of Le, Schema Key Wording as an Instruction Channel in Structured Generation under
Constrained Decoding (arXiv:2604.14862, 2026), and says how conditions are named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from harness.errors import InputError
from harness.impact.items import Item, Score, Turn, json_lines
from harness.impact.math_answers import boxed, gsm8k_reference, last_number, same_expression
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
    reference = gsm8k_reference(_text(line, _ANSWER, where))
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
