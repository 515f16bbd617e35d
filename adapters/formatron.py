"""formatron: a grammar of KBNF built from the schema, parsed by kbnf.

It takes schemas whose root is an object or an array, asks them to name themselves and their draft
(an ``$id`` and a ``$schema`` are put in where there is none), and refuses most of what ordinary
schemas hold. Its configurations are the same: there is nothing to choose.

The end of generation lies outside of kbnf: it may come where a text is finished, and then nothing
else, as in formatron's integrations. A panic of the library is raised as an engine's failure.

Sources: formatron 0.5.0, docstring of `schemas.json_schema.create_schema` (what is supported),
`integrations/vllm.py` (ends). Observed in 0.5.0 with kbnf 0.4.2: pydantic from 2.13 on lacks a name
that is imported from it; a refused token may move the state, or make the library panic (`]]` behind
`[1`), so that only what the mask allows is given to it.
"""

from __future__ import annotations

import contextlib
import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from harness.protocol import ONLY_CONFIG, EngineInfo, Mask, Option, Refused

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ID = "https://example.com/schema"


class FormatronEngine:
    """formatron with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {"config": ONLY_CONFIG}
    DISTRIBUTION = "formatron"
    TESTED = "0.5.0"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import kbnf
        import pydantic

        if not hasattr(pydantic, "typing"):
            pydantic.typing = typing
        from formatron.formatter import FormatterBuilder
        from formatron.schemas.json_schema import create_schema

        self.info = EngineInfo(
            self.DISTRIBUTION,
            version(self.DISTRIBUTION),
            dict(options),
            {name: version(name) for name in (self.DISTRIBUTION, "kbnf", "pydantic")},
        )
        self._builder, self._create = FormatterBuilder, create_schema
        self._token = kbnf.Token
        self._eos = vocabulary.eos_ids
        special = vocabulary.special.tolist()
        self._texts = {
            token: text
            for token, text in enumerate(vocabulary.tokens)
            if text and not special[token]
        }
        self._vocabulary = kbnf.Vocabulary(
            {token: kbnf.Token(text) for token, text in self._texts.items()},
            {token: text.decode("utf-8", "replace") for token, text in self._texts.items()},
        )

    def compile(self, schema: str) -> FormatronMatcher:
        """A matcher at the start of a text, its first mask computed.

        Raises:
            Refused: With the library's exception.
            RuntimeError: The library panicked.
        """
        value = json.loads(schema)
        if isinstance(value, dict):
            value = {"$id": _ID, "$schema": _DRAFT, **value}
        builder = self._builder()
        try:
            with _panics():
                builder.append_str(f"{builder.json(self._create(value))}")
                engine = builder.build(self._vocabulary, str)._engine  # noqa: SLF001
                engine.compute_allowed_token_ids()
        except _PanicError:
            raise
        except Exception as error:
            raise Refused(f"{type(error).__name__}: {error}".strip()) from error
        return FormatronMatcher(engine, self._texts, self._eos)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The bytes under which the library finds an id that has them; None for special ids."""
        texts = map(self._texts.get, ids)
        return [None if text is None else self._found(text) for text in texts]

    def _found(self, text: bytes) -> bytes:
        token = self._vocabulary.get_token_id(self._token(text))
        return b"" if token is None else self._texts[token]


class FormatronMatcher:
    """An `Engine` of kbnf."""

    def __init__(self, engine: Any, texts: Mapping[int, bytes], eos: tuple[int, ...]) -> None:
        self._engine = engine
        self._texts = texts
        self._eos = eos
        self._ended = False

    def mask(self, out: Mask) -> None:
        """See `harness.protocol.Matcher.mask`.

        Raises:
            RuntimeError: The library panicked.
        """
        out[:] = 0
        if self._ended:
            return
        if self._engine.is_finished():
            for token in self._eos:
                out[token >> 5] |= 1 << (token & 31)
            return
        with _panics():
            self._engine.compute_allowed_token_ids()
            self._engine.fill_torch_bitmask(out.ctypes.data)

    def consume(self, token: int) -> bool:
        """See `harness.protocol.Matcher.consume`; raises as `mask` does.

        Only what the mask allows is given to the library.
        """
        if self._ended:
            return False
        if self._engine.is_finished():
            self._ended = token in self._eos
            return self._ended
        if token not in self._texts:
            return False
        with _panics():
            self._engine.compute_allowed_token_ids()
            allowed: bool = self._engine.check_if_token_is_allowed(token)
            if allowed:
                self._engine.try_accept_new_token(token)
        return allowed

    def clone(self) -> Self:
        """See `harness.protocol.Matcher.clone`."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _engine=copy(self._engine))
        return twin

    def follow(self, tokens: Sequence[int]) -> int:
        """See `harness.protocol.FollowingMatcher.follow`; raises as `mask` does."""
        trial = self.clone()
        return next((at for at, one in enumerate(tokens) if not trial.consume(one)), len(tokens))

    def follow_behind(self, token: int, tokens: Sequence[int]) -> int:
        """See `harness.protocol.LeadingMatcher.follow_behind`; raises as `mask` does."""
        return self.follow((token, *tokens))


class _PanicError(RuntimeError):
    """The library panicked: what it raises then is no `Exception`."""


@contextlib.contextmanager
def _panics() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _PanicError(f"kbnf panicked: {error}") from error
