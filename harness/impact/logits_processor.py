"""Any engine in one's own loop: a logits processor for transformers' ``generate``.

    processor = open_processor("xgrammar", schema, vocabulary, prompt_tokens)
    model.generate(**inputs, logits_processor=LogitsProcessorList([processor]))

`harness.impact.generation` does not use it: there engines run in hosts of their own, with limits.
Here an engine that crashes takes the process along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.engines.specs import adapter_class, parse_spec
from harness.errors import UsageError
from harness.protocol import Matcher, token_ids

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

Tokens = tuple[int, ...]


class MaskLogitsProcessor:
    """Takes from a model what a matcher forbids.

    Rows may be reordered from step to step, as beams are; what an earlier step had is not written
    anew. A row that has ended, and one whose mask allows nothing, keep their scores.

    Args:
        matcher: At the start of a text; it stays there.
        vocabulary: The model's.
        prompt_tokens: How many tokens at the head of each row are the prompt.
    """

    def __init__(self, matcher: Matcher, vocabulary: Vocabulary, prompt_tokens: int) -> None:
        self._start = matcher
        self._vocabulary = vocabulary
        self._prompt = prompt_tokens
        self._known: dict[Tokens, Matcher | None] = {(): matcher}

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores with minus infinity for every token that may not come.

        Args:
            input_ids: Tensor of the rows so far, shape ``(rows, tokens)``.
            scores: Tensor, shape ``(rows, columns)``; columns beyond the vocabulary are forbidden.

        Raises:
            UsageError: A row has a token that its mask forbade: another processor chose it.
        """
        import torch

        texts = [tuple(row) for row in input_ids[:, self._prompt :].tolist()]
        here = {text: self._at(text) for text in dict.fromkeys(texts)}
        self._known = {(): self._start, **here}
        mask = np.zeros(self._vocabulary.words, dtype=np.uint32)
        out = torch.full_like(scores, -torch.inf)
        for row, text in enumerate(texts):
            matcher, allowed = here[text], np.empty(0, dtype=np.int32)
            if matcher is not None:
                matcher.mask(mask)
                allowed = token_ids(mask, self._vocabulary.size)
            if len(allowed):
                ids = torch.from_numpy(allowed.astype(np.int64)).to(scores.device)
                out[row, ids] = scores[row, ids]
            else:
                out[row] = scores[row]
        return out

    def _at(self, text: Tokens) -> Matcher | None:
        """The matcher behind a text; None behind its end."""
        at = next(n for n in range(len(text), -1, -1) if text[:n] in self._known)
        matcher = self._known[text[:at]]
        if at == len(text) or matcher is None:
            return matcher
        matcher = matcher.clone()
        for number, token in enumerate(text[at:], start=at):
            if not matcher.consume(token):
                raise UsageError(
                    f"token {token} is no text of the schema behind {number} others",
                    "let this processor be the last one",
                )
            if token in self._vocabulary.eos_ids:
                return None
        return matcher


def open_processor(
    spec: str, schema: str, vocabulary: Vocabulary, prompt_tokens: int
) -> MaskLogitsProcessor:
    """A logits processor of an installed engine, in this process.

    Args:
        spec: The engine, without a version: the installed one is used.
        schema: JSON text of the schema.
        vocabulary: The model's; `harness.impact.transformers_model` makes one of a tokenizer.
        prompt_tokens: How many tokens at the head of each row are the prompt.

    Raises:
        UsageError: There is no such engine, or the spec names a version.
        Refused: The engine declines the schema.
    """
    found = parse_spec(spec)
    if found.version is not None or found.path is not None:
        raise UsageError(f"{spec}: a processor runs the installed version", "leave out the version")
    engine = adapter_class(found.reference, found.paths)(vocabulary, found.options)
    return MaskLogitsProcessor(engine.compile(schema), vocabulary, prompt_tokens)
