"""oc-earley: canonical JSON alone, with a machine as simple as the schema allows.

What it writes has sorted keys and no white space, and what it cannot do exactly it refuses: the
JSON Schema of an ordinary application is refused as a rule (string lengths, patterns, formats,
bounds of numbers, open objects). Its configurations are the same: there is nothing to choose.

Sources: oc-earley 0.1.0, README in the wheel's metadata (canonical language; what is refused; a
refused token leaves the state as it was; a guide has finished when the end was consumed).
Observed in 0.1.0: a guide cannot be copied, so that a clone replays its tokens when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from harness.protocol import (
    ONLY_CONFIG,
    EngineInfo,
    LeadingMatcher,
    Library,
    LibraryCalls,
    Mask,
    Masks,
    Option,
    Refused,
    copied,
)

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

_ROLLBACK = 64
"""Tokens that a server may take back."""


class OCEarleyEngine:
    """oc-earley with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {"config": ONLY_CONFIG}
    DISTRIBUTION = "oc-earley"
    TESTED = "0.1.0"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import oc_earley

        self.info = EngineInfo.installed(self.DISTRIBUTION, options)
        self._compiled = oc_earley.CompiledSchema
        self._all = vocabulary
        self._ids: dict[bytes, list[int]] = {}
        for token, text in vocabulary.ordinary.items():
            self._ids.setdefault(text, []).append(token)
        self._vocabulary = oc_earley.Vocabulary(vocabulary.eos, self._ids)

    def compile(self, schema: str) -> OCEarleyMatcher:
        """A matcher at the start of a text.

        Raises:
            Refused: With the library's message.
        """
        start = self._started(schema, 0)
        return OCEarleyMatcher(start, start(), self._all)

    def library(self, schema: str) -> Library:
        """See `harness.protocol.ServingEngine.library`; raises as `compile` does."""
        start = self._started(schema, _ROLLBACK)
        return Library(lambda: _calls_of(start()), (self._all.eos,))

    def _started(self, schema: str, rollback: int) -> Callable[[], Any]:
        """What makes guides, one of which was made."""
        try:
            compiled = self._compiled.from_json_schema(schema, self._vocabulary)
            compiled.guide(max_rollback=rollback)
        except (ValueError, TypeError) as error:
            raise Refused(str(error).strip()) from error
        return lambda: compiled.guide(max_rollback=rollback)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The key under which the library's vocabulary has each id; None for special ids."""
        known = {text: set(self._vocabulary.get(text) or ()) for text in self._ids}
        texts = map(self._all.ordinary.get, ids)
        return [
            text if text is None or token in known[text] else b""
            for token, text in zip(ids, texts, strict=True)
        ]


class OCEarleyMatcher(LeadingMatcher):
    """A `Guide`, or the tokens that lead to one."""

    def __init__(self, start: Callable[[], Any], guide: Any, vocabulary: Vocabulary) -> None:
        self._start = start
        self._guide = guide
        self._vocabulary = vocabulary
        self._consumed: tuple[int, ...] = ()
        self._ended = False

    @property
    def guide(self) -> Any:
        """The guide behind the tokens that were consumed."""
        if self._guide is None:
            self._guide = self._start()
            for token in self._consumed:
                self._guide.advance(token, return_tokens=False)
        return self._guide

    def mask(self, out: Mask) -> None:
        """See `harness.protocol.Matcher.mask`."""
        if self._ended:
            out[:] = 0
            return
        self.guide.write_mask_into(out.ctypes.data, out.size, out.itemsize)
        if len(self._vocabulary.eos_ids) > 1 and self.guide.is_accepting():
            # The library knows one end-of-sequence id; the others mean the same.
            np.bitwise_or(out, self._vocabulary.eos_mask, out=out)

    def consume(self, token: int) -> bool:
        """See `harness.protocol.Matcher.consume`."""
        if self._ended or not 0 <= token < self._vocabulary.size:  # it overflows on other ids
            return False
        if token in self._vocabulary.eos_ids:
            self._ended = bool(self.guide.is_accepting())
            return self._ended
        try:
            self.guide.advance(token, return_tokens=False)
        except ValueError:
            return False
        self._consumed += (token,)
        return True

    def clone(self) -> Self:
        """See `harness.protocol.Matcher.clone`."""
        return copied(self, _guide=None)


def _calls_of(guide: Any) -> LibraryCalls:
    """What a guide offers a server; it raises where it refuses."""

    def consume(token: int) -> bool:
        try:
            guide.advance(token, return_tokens=False)
        except ValueError:
            return False
        return True

    def fill_row(rows: Masks, row: int) -> None:
        guide.write_mask_into(rows[row].ctypes.data, rows[row].size, rows.itemsize)

    def validate(tokens: Sequence[int]) -> int:
        some = list(tokens)
        return next(n for n in range(len(some), -1, -1) if guide.accepts_tokens(some[:n]))

    return LibraryCalls(
        mask=lambda out: fill_row(out.reshape(1, -1), 0),
        consume=consume,
        native=guide,
        attempt=consume,
        rollback=guide.rollback_state,
        reset=guide.reset,
        completed=guide.is_accepting,
        terminated=guide.is_finished,
        validate=validate,
        fill_row=fill_row,
    )
