"""All items of a run answered: texts written, disputes resolved, answers scored, each kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.impact import answer_text
from harness.impact.answer_file import ImpactRun
from harness.impact.answer_text import Parsed
from harness.impact.answers import ANSWERED, UNCONSTRAINED, ModelAnswer
from harness.impact.generation import Generated, Generator
from harness.impact.items import Item, Score, Task
from harness.impact.overruled import StepResolver
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext import strict_json


class Answering:
    """Answers items.

    Args:
        task: Scores the answers.
        generator: Writes the texts.
        resolver: Rules on the steps at which masks overruled the model.
        vocabulary: The model's.
    """

    def __init__(
        self, task: Task, generator: Generator, resolver: StepResolver, vocabulary: Vocabulary
    ) -> None:
        self._task = task
        self._generator = generator
        self._resolver = resolver
        self._vocabulary = vocabulary

    def run(
        self,
        run: ImpactRun,
        items: Sequence[Item],
        told: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        """Answer the items that are not there yet.

        An item of which an engine's line is missing is answered whole again: how many texts go
        through the model together may decide about the last bit of its logits.

        Args:
            run: Where answers are kept.
            items: All of the run's.
            told: How many items are there, and how many of them were answered now.
        """
        there = {(one.item, one.engine) for one in run.answers()}
        answered = 0
        for number, item in enumerate(items):
            told(number, answered)
            missing = [one for one in self._generator.names if (item.id, one) not in there]
            if missing:
                for answer in self.answers(item):
                    if answer.engine in missing:
                        run.append(answer)
                answered += 1
        told(len(items), answered)

    def answers(self, item: Item) -> list[ModelAnswer]:
        """The answers to one item."""
        texts = self._generator.generate(item)
        self._resolver.resolve(item.schema, texts)
        return [self._answer(item, one) for one in texts]

    def _answer(self, item: Item, one: Generated) -> ModelAnswer:
        text = one.written(self._vocabulary)
        parsed = parse(item, one, text)
        score = Score(correct=False, reason=parsed.problem)
        if not parsed.problem:
            score = self._task.score(item, parsed.value)
        return ModelAnswer(
            item=item.id,
            group=item.group,
            condition=item.condition,
            engine=one.name,
            outcome=one.outcome,
            message=one.message,
            tokens=tuple(one.tokens),
            text=text.decode("utf-8", "replace"),
            parsed=not parsed.problem,
            correct=score.correct,
            reason=score.reason,
            overruled=tuple(one.overruled),
            removed=one.removed,
            cost=one.cost,
            schema_bytes=len(item.schema.encode()),
        )


def parse(item: Item, one: Generated, text: bytes) -> Parsed:
    """The answer that a text holds: whole under an engine, the outermost value without one."""
    if one.outcome != ANSWERED:
        return Parsed(problem=one.outcome)
    if one.name != UNCONSTRAINED:
        return answer_text.whole(text)
    schema = strict_json.parse(item.schema)
    is_array = isinstance(schema, dict) and schema.get("type") == "array"
    return answer_text.outermost(text, b"[" if is_array else b"{")
