"""oc-earley: canonical JSON alone, with a machine as simple as the schema allows.

What it writes has sorted keys and no white space, and what it cannot do exactly it refuses: the
JSON Schema of an ordinary application is refused as a rule (string lengths, patterns, formats,
bounds of numbers, open objects).

Sources: oc-earley 0.1.0, README in the wheel's metadata (canonical language; what is refused; a
refused token leaves the state as it was; a guide has finished when the end was consumed).
Observed in 0.1.0: a guide cannot be copied, so that a clone replays its tokens when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from adapters._shared import ReplayedMatcher, guide_calls
from harness.protocol import ONLY_CONFIG, EngineInfo, Library, Option, Refused, Vocabulary


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
        by_text: dict[bytes, list[int]] = {}
        for token, text in vocabulary.ordinary.items():
            by_text.setdefault(text, []).append(token)
        self._vocabulary = oc_earley.Vocabulary(vocabulary.eos, by_text)

    def compile(self, schema: str) -> ReplayedMatcher:
        return ReplayedMatcher(self._started(schema, 0), self._all)

    def library(self, schema: str) -> Library:
        start = self._started(schema, rollback=64)
        return Library(
            lambda: guide_calls(start(), "is_accepting", "is_finished"), (self._all.eos,)
        )

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
        known, texts = self._vocabulary.get, map(self._all.ordinary.get, ids)
        return [
            text if text is None or token in (known(text) or ()) else b""
            for token, text in zip(ids, texts, strict=True)
        ]
