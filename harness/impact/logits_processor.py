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
    anew. A row that has ended, and one whose mask allows nothing, keep their scores. The matcher
    stays at the start of a text; `prompt_tokens` at the head of each row are the prompt.
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
        """The matcher after a text; None after its end."""
        known = next(n for n in range(len(text), -1, -1) if text[:n] in self._known)
        matcher = self._known[text[:known]]
        if known == len(text) or matcher is None:
            return matcher
        matcher = matcher.clone()
        for number, token in enumerate(text[known:], start=known):
            if not matcher.consume(token):
                raise UsageError(
                    f"token {token} is no text of the schema after {number} others",
                    "let this processor be the last one",
                )
            if token in self._vocabulary.eos_ids:
                return None
        return matcher


def open_processor(
    spec: str, schema: str, vocabulary: Vocabulary, prompt_tokens: int
) -> MaskLogitsProcessor:
    """A logits processor of an installed engine for the JSON text of a schema, in this process.

    `harness.impact.transformers_model` makes a vocabulary of a model's tokenizer; `prompt_tokens`
    at the head of each row are the prompt.

    Raises:
        UsageError: There is no such engine, or the spec names a version.
        Refused: The engine declines the schema.
    """
    parsed = parse_spec(spec)
    if parsed.version is not None or parsed.path is not None:
        raise UsageError(f"{spec}: a processor runs the installed version", "leave out the version")
    engine = adapter_class(parsed.reference, parsed.paths)(vocabulary, parsed.options)
    return MaskLogitsProcessor(engine.compile(schema), vocabulary, prompt_tokens)
