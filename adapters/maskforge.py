"""maskforge: an automaton over bytes for regular schemas, a matcher with memory for all others.

It has one configuration: `maskforge.Compiler` has options for its caches alone. (The assertion of
formats that the README speaks of is an option of the library in Rust, and none of the package.)

A session can neither be copied nor taken back, so a clone replays what was consumed, at 3 µs per
token. A mask takes 41 µs to 17 s: half of the time of nine engines on the embedded cases.

Sources: maskforge 0.1.1, its README and `_native.pyi`. Observed: a refused token leaves the session
as it was; after the end-of-sequence id a mask is still written; the error of an unsupported schema
names no place, which the diagnostics of `schema_to_ir` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from adapters._shared import ReplayedMatcher
from harness.protocol import (
    ONLY_CONFIG,
    EngineInfo,
    Library,
    LibraryCalls,
    Mask,
    Option,
    Refused,
    Vocabulary,
)


class MaskforgeEngine:
    """maskforge with one vocabulary; compiled schemas are not cached."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {"config": ONLY_CONFIG}
    DISTRIBUTION = "maskforge"
    TESTED = "0.1.1"
    SLOW_MASKS = True

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import maskforge
        from maskforge.low_level import schema_to_ir

        self.info = EngineInfo.installed(self.DISTRIBUTION, options)
        self._error = maskforge.MaskforgeError
        self._diagnose = schema_to_ir
        self._compiler = maskforge.Compiler(executable_cache_bytes=0)
        self._vocabulary = maskforge.Vocabulary.from_id_ordered_tokens(
            [vocabulary.ordinary.get(token) for token in range(vocabulary.size)],
            eos_token_id=vocabulary.eos,
            logits_vocab_size=vocabulary.size,
        )
        self._ids = vocabulary

    def compile(self, schema: str) -> _Matcher:
        """A matcher; raises `Refused` with the library's words about the keyword."""
        return _Matcher(self._bound(schema).start_session, self._ids, self._error)

    def library(self, schema: str) -> Library:
        start = self._bound(schema).start_session
        return Library(lambda: _calls_of(start(), self._error), (self._ids.eos,))

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The bytes in the library's vocabulary; None for special ids, which it is not given."""
        return [self._vocabulary.token_bytes(token) for token in ids]

    def _bound(self, schema: str) -> Any:
        try:
            return self._compiler.compile(schema).bind(self._vocabulary)
        except self._error as error:
            raise Refused(_words(error, self._diagnostics(schema))) from error

    def _diagnostics(self, schema: str) -> list[tuple[str, str | None]]:
        try:
            found: list[tuple[str, str | None]] = self._diagnose(schema).diagnostics()
        except self._error:
            return []
        return found


class _Matcher(ReplayedMatcher):
    """A session; what is asked of one that is at a limit raises RuntimeError."""

    def __init__(
        self, start: Callable[[], Any], vocabulary: Vocabulary, error: type[Exception]
    ) -> None:
        super().__init__(start, vocabulary)
        self._error = error

    def follow(self, tokens: Sequence[int]) -> int:
        """The session goes on along the tokens and is given away, unless the first is refused."""
        taken = 0
        for token in () if self._ended else tokens:
            if not 0 <= token < self._vocabulary.size or not self._advance(token):
                break
            taken += 1
            if token in self._vocabulary.eos_ids:
                break
        if taken:
            self._made = None
        return taken

    def _write(self, out: Mask) -> None:
        try:
            _write(self.native, out)
        except self._error as error:
            raise RuntimeError(f"maskforge: {_words(error)}") from error

    def _may_end(self) -> bool:
        return self._lead(self.native, self._vocabulary.eos)

    def _lead(self, native: Any, token: int) -> bool:
        end = token in self._vocabulary.eos_ids
        try:
            return _advanced(native, self._vocabulary.eos if end else token, self._error)
        except self._error as error:
            self._made = None
            raise RuntimeError(f"maskforge: {_words(error)}") from error


def _advanced(session: Any, token: int, refused: type[Exception]) -> bool:
    """Whether a session takes a token; other errors than refusals are raised."""
    try:
        session.advance(token)
    except refused as error:
        if getattr(error, "code", None) in ("IllegalToken", "UnknownToken"):
            return False  # the session is as it was
        raise
    return True


def _write(session: Any, out: Mask) -> None:
    packed = bytearray(out.nbytes)
    session.write_mask(packed)
    out[:] = np.frombuffer(packed, dtype=out.dtype)


def _calls_of(session: Any, refused: type[Exception]) -> LibraryCalls:
    consume = partial(_advanced, session, refused=refused)
    return LibraryCalls(
        mask=lambda out: _write(session, out),
        consume=consume,
        native=session,
        attempt=consume,
        reset=session.reset,
        completed=lambda: bool(session.is_accepting),  # its stubs have methods, it has properties
        terminated=lambda: bool(session.is_stopped),
    )


def _words(error: Exception, diagnostics: Sequence[tuple[str, str | None]] = ()) -> str:
    """The library's code, message and place, and what it found about which keyword."""
    parts = [str(getattr(error, name, None) or "") for name in ("code", "message", "pointer")]
    found = [f"{what} at {place or 'the root'}" for what, place in diagnostics]
    return ": ".join(part for part in [*parts, "; ".join(found)] if part)
