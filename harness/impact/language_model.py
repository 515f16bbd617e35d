"""What is asked of a language model: token probabilities after one prompt, for several texts.

The texts that engines make of one item share its prompt. So the model's state after the prompt is
computed once (`Prompted`) and copied for each of them; then all go on together, a token each at a
time (`Decoding`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from harness.impact.items import Turn
from harness.inputs.vocabulary import Vocabulary

Logits = npt.NDArray[np.float32]
"""Of every id of the vocabulary, by row: shape ``(rows, vocabulary.size)``."""


class Decoding(Protocol):
    """Texts after one prompt, all of one length: the rows."""

    logits: Logits
    """Of the next token of each row."""

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Go on with some of the rows, ascending, by a token each; the others are let go.

        Those that stay are numbered anew, in their order.
        """


class Prompted(Protocol):
    """The model's state after a prompt."""

    def fork(self, rows: int) -> Decoding:
        """So many texts that begin here; the state itself stays as it is."""


class LanguageModel(Protocol):
    """A language model with its tokenizer."""

    vocabulary: Vocabulary
    """Its tokens; the ends of sequence are those with which it ends an answer."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Which model it is, as JSON: what decides its logits."""

    def prompt(self, messages: Sequence[Turn], tools: Sequence[Mapping[str, Any]]) -> Sequence[int]:
        """The tokens of a conversation, up to where the model's answer begins."""

    def start(self, prompt: Sequence[int]) -> Prompted:
        """The state after a prompt."""


_HOW_TO_CALL: Final = (
    'To answer, call one of these functions: write a JSON object with its "name" and its'
    ' "arguments", and nothing else.'
)


def with_tools_told(
    messages: Sequence[Turn], tools: Sequence[Mapping[str, Any]]
) -> tuple[Turn, ...]:
    """A conversation whose system turn tells the functions, a line of JSON each.

    For chat templates that have no place for tools: a model would never see them.
    """
    text = "\n".join([_HOW_TO_CALL, *(json.dumps(tool["function"]) for tool in tools)])
    if messages and messages[0].role == "system":
        first, *others = messages
        return (replace(first, content=f"{first.content}\n\n{text}"), *others)
    return (Turn("system", text), *messages)
