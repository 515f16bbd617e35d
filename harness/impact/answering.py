"""All items of a run answered: texts written, disputes resolved, answers scored, each kept.

The answer of a text is a JSON value. Nothing is repaired: a text that was cut has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.comparison.case_run import CaseRun
from harness.impact.answers import ANSWERED, UNCONSTRAINED, ImpactRun, ModelAnswer
from harness.impact.generation import Generator
from harness.impact.items import Item, Task
from harness.impact.overruled import resolve_steps
from harness.jsontext import strict_json
from harness.jsontext.lexer import START, Mode, advance


class Answering:
    """Answers the items of a task; the tools are the generator's engines, with validators."""

    def __init__(self, task: Task, generator: Generator, tools: CaseRun) -> None:
        self._task, self._generator, self._tools = task, generator, tools

    def run(
        self,
        run: ImpactRun,
        items: Sequence[Item],
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Answer the items of the run that are not there yet.

        An item of which an engine's line is missing is answered whole again: how many texts go
        through the model together may decide about the last bit of its logits.
        """
        there = {(answer.item, answer.engine) for answer in run.answers()}
        for number, item in enumerate(items):
            progress(number)
            missing = [name for name in self._generator.names if (item.id, name) not in there]
            if missing:
                for answer in self.answers(item):
                    if answer.engine in missing:
                        run.append(answer)
        progress(len(items))

    def answers(self, item: Item) -> list[ModelAnswer]:
        answers = self._generator.generate(item)
        resolve_steps(self._tools, item.schema, answers)
        for answer in answers:
            text = answer.written(self._tools.vocabulary)
            parsed = _parsed(item, answer, text)
            answer.text = text.decode("utf-8", "replace")
            answer.parsed = not parsed.problem
            answer.reason = parsed.problem or self._task.fault(item, parsed.value)
            answer.correct = not answer.reason
        return answers


@dataclass(frozen=True)
class Parsed:
    """The answer of a text; else a problem: ``no_json``, ``unfinished``, ``several``, ``not_json``.

    What JSON leaves open is a problem, too: ``duplicate_keys``.
    """

    value: Any = None
    problem: str = ""


def _parsed(item: Item, answer: ModelAnswer, text: bytes) -> Parsed:
    """The answer that a text holds: whole under an engine, the outermost value without one."""
    if answer.outcome != ANSWERED:
        return Parsed(problem=answer.outcome)
    if answer.engine != UNCONSTRAINED:
        return whole(text)
    schema = strict_json.parse(item.schema)
    is_array = isinstance(schema, dict) and schema.get("type") == "array"
    return outermost(text, b"[" if is_array else b"{")


def whole(text: bytes) -> Parsed:
    """The answer of a text that is to be JSON and nothing else."""
    try:
        return Parsed(strict_json.parse(text))
    except strict_json.DuplicateKeys:
        return Parsed(problem="duplicate_keys")
    except strict_json.JsonError:
        return Parsed(problem="not_json")


def outermost(text: bytes, opening: bytes = b"{") -> Parsed:
    """The one outermost object of a text in which other things may stand; or array, by `opening`.

    Of a text with one fenced block only what stands in the block is looked at. A bracket that
    begins no JSON is passed over, with what was read after it; one whose text is cut ends the
    search, since what stands within it is not what was to be said.
    """
    blocks = re.findall(rb"```[^\n`]*\n(.*?)(?:```|\Z)", text, re.DOTALL)
    searched = blocks[0] if len(blocks) == 1 else text
    values: list[bytes] = []
    start = searched.find(opening)
    while start >= 0:
        end, finished = _end(searched, start)
        if finished:
            values.append(searched[start:end])
        elif end == len(searched):
            return Parsed(problem="unfinished")
        start = searched.find(opening, end)
    if len(values) == 1:
        return whole(values[0])
    return Parsed(problem="several" if values else "no_json")


def _end(text: bytes, start: int) -> tuple[int, bool]:
    """How far the JSON value that begins there can be read, and whether it is finished then."""
    state = START
    for end in range(start, len(text)):
        further = advance(state, text[end : end + 1])
        if further is None:
            return end, False
        if further.mode is Mode.DONE:
            return end + 1, True
        state = further
    return len(text), False
