"""formatron: a grammar of KBNF built from the schema, parsed by kbnf.

It takes schemas whose root is an object or an array, asks them to name themselves and their draft
(an ``$id`` and a ``$schema`` are put in where there is none), and refuses most of what ordinary
schemas hold. Its configurations are the same: there is nothing to choose.

The end of generation lies outside of kbnf: it may come where a text is finished, and then nothing
else, as in formatron's integrations. A panic of the library is raised as an engine's failure.

Sources: formatron 0.5.0, docstring of `schemas.json_schema.create_schema` (what is supported),
`integrations/vllm.py` (ends). Observed in 0.5.0 with kbnf 0.4.2: pydantic from 2.13 on lacks a name
that is imported from it; a refused token may move the state, or make the library panic (`]]` after
`[1`), so that only what the mask allows is given to it.
"""

from __future__ import annotations

import contextlib
import json
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

from adapters._shared import EndingMatcher
from harness.protocol import ONLY_CONFIG, EngineInfo, Mask, Option, Refused, Vocabulary, copied


class FormatronEngine:
    """formatron with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {"config": ONLY_CONFIG}
    REGEX_DIALECT = "rust"
    """kbnf gives patterns to Rust's crate regex-automata (its README, "regular expressions")."""
    DISTRIBUTION = "formatron"
    TESTED = "0.5.0"
    SCRIPT_NEEDS = ("kbnf==0.4.2",)
    SLOW_MASKS = True

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import kbnf
        import pydantic

        if not hasattr(pydantic, "typing"):
            pydantic.typing = typing
        from formatron.formatter import FormatterBuilder
        from formatron.schemas.json_schema import create_schema

        self.info = EngineInfo.installed(self.DISTRIBUTION, options, "kbnf", "pydantic")
        self._builder, self._create = FormatterBuilder, create_schema
        self._token = kbnf.Token
        self._ids = vocabulary
        self._vocabulary = kbnf.Vocabulary(
            {token: kbnf.Token(text) for token, text in vocabulary.ordinary.items()},
            {id_: text.decode("utf-8", "replace") for id_, text in vocabulary.ordinary.items()},
        )

    def compile(self, schema: str) -> _Matcher:
        """A matcher with its first mask computed; raises `Refused`, or as `consume` does."""
        value = json.loads(schema)
        if isinstance(value, dict):
            draft = "https://json-schema.org/draft/2020-12/schema"
            value = {"$id": "https://example.com/schema", "$schema": draft, **value}
        return self._started(lambda builder: builder.json(self._create(value)))

    def compile_regex(self, pattern: str) -> _Matcher:
        return self._started(lambda builder: builder.regex(pattern))

    def _started(self, constraint: Callable[[Any], Any]) -> _Matcher:
        builder = self._builder()
        try:
            with _panics():
                builder.append_str(f"{constraint(builder)}")
                engine = builder.build(self._vocabulary, str)._engine  # noqa: SLF001
                engine.compute_allowed_token_ids()
        except _PanicError:
            raise
        except Exception as error:
            raise Refused(f"{type(error).__name__}: {error}".strip()) from error
        return _Matcher(engine, self._ids)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The bytes under which the library finds an id that has them; None for special ids."""
        texts = map(self._ids.ordinary.get, ids)
        return [None if text is None else self._found(text) for text in texts]

    def _found(self, text: bytes) -> bytes:
        token = self._vocabulary.get_token_id(self._token(text))
        return b"" if token is None else self._ids.ordinary[token]


class _Matcher(EndingMatcher):
    def __init__(self, engine: Any, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._ids = vocabulary

    def _write(self, out: Mask) -> None:
        """Raises RuntimeError where the library panics."""
        if self._engine.is_finished():
            out[:] = self._ids.eos_mask
            return
        out[:] = 0
        with _panics():
            self._engine.compute_allowed_token_ids()
            self._engine.fill_torch_bitmask(out.ctypes.data)

    def consume(self, token: int) -> bool:
        """Raises as `mask` does; only what the mask allows is given to the library."""
        if self._ended:
            return False
        if self._engine.is_finished():
            self._ended = token in self._ids.eos_ids
            return self._ended
        if token not in self._ids.ordinary:
            return False
        with _panics():
            self._engine.compute_allowed_token_ids()
            allowed: bool = self._engine.check_if_token_is_allowed(token)
            if allowed:
                self._engine.try_accept_new_token(token)
        return allowed

    def clone(self) -> Self:
        return copied(self, _engine=copy(self._engine))


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
