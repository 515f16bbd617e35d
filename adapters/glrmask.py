"""glrmask: masks from a GLR parser, precomputed for the grammar as far as that is worth it.

As shipped it reads a schema as llguidance does: of the escapes of JSON some are forbidden, and
beside a bound of numbers values of other types. An environment variable switches that off; it is
read at every compilation, so it is set before each. In the grammar the ends follow the value.

Sources: glrmask 0.5.0, docstrings in `__init__.pyi`; the variable is found in the library, and in
tests of its repository. Observed: a refused token ends the state.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from adapters._shared import EndingMatcher
from harness.protocol import (
    CONFIG,
    EngineInfo,
    Library,
    LibraryCalls,
    Mask,
    Option,
    Refused,
    Vocabulary,
    copied,
    settle_switches,
    switch,
)


class GLRMaskEngine:
    """glrmask with one vocabulary."""

    PRESETS: ClassVar = {
        "spec": {"llguidance_compat": False},
        "shipped": {"llguidance_compat": True},
    }
    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "config": CONFIG,
        "llguidance_compat": switch("read schemas as llguidance does, with fewer escapes"),
    }
    DISTRIBUTION = "glrmask"
    TESTED = "0.5.0"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import glrmask

        self.info = EngineInfo.installed(self.DISTRIBUTION, options)
        self._library = glrmask
        self._compat = settle_switches(options, self.PRESETS)["llguidance_compat"]
        self._vocabulary = glrmask.Vocab.from_id_to_bytes(vocabulary.ordinary)
        self._ids = vocabulary
        self._ends = glrmask.TokenSet(list(vocabulary.eos_ids))

    def compile(self, schema: str) -> _Matcher:
        return _Matcher(self._constraint(schema), self._ids)

    def library(self, schema: str) -> Library:
        constraint = self._constraint(schema)
        return Library(lambda: _calls_of(constraint.start()), self._ids.eos_ids)

    def _constraint(self, schema: str) -> Any:
        grammar = self._library.Grammar
        os.environ["GLRMASK_LLGUIDANCE_COMPAT"] = str(int(self._compat))
        try:
            value = grammar.from_json_schema(schema)
            ended = grammar.from_expr(self._library.Expr.sequence(value, self._ends))
            return ended.compile(self._vocabulary)
        except ValueError as error:
            raise Refused(str(error).strip()) from error

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """None of all ids: the library cannot be asked."""
        return [None] * len(ids)


class _Matcher(EndingMatcher):
    """A `ConstraintState`, which is copied where a token may be refused without being lost."""

    def __init__(self, constraint: Any, vocabulary: Vocabulary) -> None:
        self.constraint = constraint
        self._vocabulary = vocabulary
        self._state = constraint.start()
        self._consumed: tuple[int, ...] = ()

    def _write(self, out: Mask) -> None:
        self._state.fill_mask(out.view(np.int32))

    def consume(self, token: int) -> bool:
        if self._ended or not 0 <= token < self._vocabulary.size:
            return False
        if not self._state.commit_token(token):
            # The state has ended by that. Coming here again takes less than a copy beforehand.
            self._state = self.constraint.start()
            if not self._state.commit_tokens(self._consumed):
                raise RuntimeError("glrmask refuses tokens that it accepted before")
            return False
        self._consumed += (token,)
        self._ended = token in self._vocabulary.eos_ids
        return True

    def clone(self) -> Self:
        return copied(self, _state=self._state.copy())


def _calls_of(state: Any) -> LibraryCalls:
    return LibraryCalls(
        mask=lambda out: state.fill_mask(out.view(np.int32)),
        consume=state.commit_token,
        native=state,
        clone=lambda: _calls_of(state.copy()),
        terminated=state.is_terminated,
        forced_tokens=lambda: state.copy().commit_forced_tokens(),
        fill_row=lambda rows, row: state.fill_mask(rows[row].view(np.int32)),
    )
