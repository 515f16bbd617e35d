"""A language model of a few rules, a task, and what runs them on miniatures without processes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.comparison.case_run import CaseRun, Rules
from harness.impact.answering import Answering
from harness.impact.generation import Generation, Generator
from harness.impact.items import Item, Turn
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from tests.inprocess import InProcessJudge, InProcessPanel

LIKED = 10.0
"""The logit of what the model would write; that of all else is 0, but for what is `second`."""


class ScriptedModel:
    """Writes one text as long as nobody hinders it; behind any other text, what is `second`."""

    def __init__(self, text: str, second: Mapping[str, str] = {}, ends: bool = True) -> None:
        self.vocabulary = byte_vocabulary([b"true", b"12"])
        self.identity = {"text": text}
        self.text, self.second, self.ends = text.encode(), second, ends
        self.prompts = self.steps = 0

    def prompt(self, messages: Sequence[Turn], tools: Sequence[Mapping[str, Any]]) -> list[int]:
        return list("".join(one.content for one in messages).encode())

    def start(self, prompt: Sequence[int]):
        self.prompts += 1
        return ScriptedRows(self, [b""])

    def logits(self, written: bytes) -> np.ndarray:
        vocabulary: Vocabulary = self.vocabulary
        logits = np.zeros(vocabulary.size, dtype=np.float32)
        if self.text.startswith(written):
            rest = self.text[len(written) :]
            liked = vocabulary.starts(rest)[:1] if rest else [vocabulary.eos] * self.ends
            logits[liked] = LIKED
        for before, token in self.second.items():
            if written == before.encode():
                logits[vocabulary.ids_of(token.encode())[0]] = LIKED / 2
        return logits


class ScriptedRows:
    def __init__(self, model: ScriptedModel, written: list[bytes]) -> None:
        self.model, self.written = model, written
        self.logits = np.stack([model.logits(one) for one in written])

    def fork(self, rows: int):
        return ScriptedRows(self.model, self.written * rows)

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        self.model.steps += 1
        known = self.model.vocabulary.tokens
        self.__init__(  # type: ignore[misc]
            self.model,
            [self.written[row] + known[one] for row, one in zip(rows, tokens, strict=True)],
        )


class Wants:
    """A task whose items have the answer that they want as their message."""

    name = "wants"

    def __init__(self, *items: Item) -> None:
        self._items = items

    def items(self) -> Sequence[Item]:
        return self._items

    def fault(self, item: Item, answer: Any) -> str:
        return "" if answer == json.loads(item.messages[-1].content) else "other"

    def unanswerable(self) -> frozenset[str]:
        return frozenset()


FORBIDS_2 = {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1, "maxItems": 1}
FORBIDS_2 |= {"x-forbidden": [["[", "2"]]}
"""Both values are valid, and `ForbidsOne` forbids the second."""


def item(schema: Any, wanted: Any = None, name: str = "one") -> Item:
    return Item(name, (Turn("user", json.dumps(wanted)),), json.dumps(schema))


def answering(model, engines, task=None, **how) -> Answering:
    """What answers items without processes."""
    panel = InProcessPanel(engines, model.vocabulary)
    generator = Generator(model, panel, Generation(**how))
    tools = CaseRun(panel, InProcessJudge(), model.vocabulary, None, Rules())
    return Answering(task or Wants(), generator, tools)
