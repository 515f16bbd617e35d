"""xgrammar: token masks from a pushdown automaton compiled from the schema.

Written for 0.1.25 to 0.2.8; what differs between them (`GrammarMatcher.fork`, the parameter
`any_order`) is looked for in the library, not inferred from its version.

Sources: docstrings of `GrammarCompiler.compile_json_schema`, `GrammarMatcher` and
`CompiledGrammar` in 0.1.32 and 0.2.8; how texts end and special tokens are treated was observed.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from adapters._shared import EndingMatcher
from harness.errors import UsageError
from harness.protocol import (
    CONFIG,
    SEPARATED,
    SEPARATORS,
    EngineInfo,
    Library,
    LibraryCalls,
    Mask,
    Masks,
    Option,
    Refused,
    Vocabulary,
    copied,
    set_bits,
    settle_switches,
    switch,
)


class XGrammarEngine:
    """xgrammar with one vocabulary; schemas are compiled on one thread, without its cache."""

    PRESETS: ClassVar = {
        "spec": {"any_whitespace": True, "strict_mode": False, "any_order": False},
        "shipped": {"any_whitespace": True, "strict_mode": True, "any_order": False},
    }
    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "config": CONFIG,
        "any_whitespace": switch("whitespace of any kind and length between tokens of JSON"),
        "strict_mode": switch("forbid properties and items that the schema does not declare"),
        "any_order": switch(
            "properties in any order, but required and unique keys are no longer enforced"
        ),
        "separators": SEPARATORS,
        "max_whitespace": Option(0, "the longest whitespace between tokens of JSON; 0: any length"),
        "special_tokens": Option(
            "auto", "text: special tokens are text, their names; auto: never", ("auto", "text")
        ),
    }
    REGEX_DIALECT = "ecma"
    """``cpp/regex_converter.cc`` names MDN's page on JavaScript as what it implements."""
    DISTRIBUTION = "xgrammar"
    TESTED = "0.2.8"

    @classmethod
    def unused(cls) -> Sequence[str]:
        """Modules that the library imports, of which nothing is used here."""
        early = importlib.metadata.version(cls.DISTRIBUTION).startswith("0.1.")
        return ("transformers",) if early else ("transformers", "torch")

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import xgrammar

        self.info = EngineInfo.installed(self.DISTRIBUTION, options)
        # A special token with a text of its own is allowed inside strings.
        named = options["special_tokens"] == "text"
        texts = [
            b"" if special and not named else text
            for text, special in zip(vocabulary.tokens, vocabulary.special.tolist(), strict=True)
        ]
        self._library = xgrammar
        self._tokenizer = xgrammar.TokenizerInfo(
            texts,
            xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.eos_ids),
        )
        self._compiler = xgrammar.GrammarCompiler(
            self._tokenizer, max_threads=1, cache_enabled=False
        )
        given: dict[str, Any] = {"separators": SEPARATED.get(str(options["separators"]))}
        given["max_whitespace_cnt"] = options["max_whitespace"] or None
        self._settings = self._supported({**settle_switches(options, self.PRESETS), **given})
        self._named, self.ends = named, vocabulary.eos_ids
        never = {*self._tokenizer.special_token_ids} - {*self.ends}
        self.ids = frozenset(range(vocabulary.size)) - never
        self.possible = set_bits(self.ids, vocabulary.words)
        """The ids that the library may allow at all; asked about others it complains in print."""

    def compile(self, schema: str) -> _Matcher:
        """A matcher; raises `Refused`, or MemoryError, which the library reports likewise."""
        return self._start(self._grammar(schema))

    def library(self, schema: str) -> Library:
        grammar = self._grammar(schema)
        new = self._library.GrammarMatcher
        # one matcher of it for all: it holds nothing but its two threads
        batch = getattr(self._library, "BatchGrammarMatcher", lambda max_threads: None)(2)  # noqa: ARG005
        return Library(
            lambda: _calls_of(new(grammar), batch), self.ends, special_is_text=self._named
        )

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The decoded vocabulary; None for special ids, in 0.1.32 for what begins with NUL, too."""
        decoded = self._tokenizer.decoded_vocab
        hidden = {*self._tokenizer.special_token_ids, *self._tokenizer.stop_token_ids}
        return [None if token in hidden else bytes(decoded[token]) for token in ids]

    def compile_regex(self, pattern: str) -> _Matcher:
        return self._start(self._compiled(self._compiler.compile_regex, pattern))

    def _grammar(self, schema: str) -> Any:
        return self._compiled(self._compiler.compile_json_schema, schema, **self._settings)

    def _compiled(self, how: Callable[..., Any], source: str, **settings: Any) -> Any:
        try:
            return how(source, **settings)
        except RuntimeError as error:
            if "bad_alloc" in str(error):
                raise MemoryError(str(error)) from error
            # without the time of day, which is no part of what it says of a schema
            message = re.sub(r"\[\d\d:\d\d:\d\d\] ", "", str(error).strip())
            raise Refused(message or type(error).__name__) from error

    def _start(self, grammar: Any) -> _Matcher:
        matcher = self._library.GrammarMatcher
        if hasattr(matcher, "fork"):
            return _Matcher(matcher(grammar), self)
        return _ReplayingMatcher(matcher(grammar), self, lambda: matcher(grammar))

    def _supported(self, settings: dict[str, Any]) -> dict[str, Any]:
        known = inspect.signature(self._compiler.compile_json_schema).parameters
        for name in settings.keys() - known.keys():
            if settings[name]:
                raise UsageError(
                    f"xgrammar {self.info.version} has no option {name}",
                    "leave it out, or use a later version",
                )
        return {name: value for name, value in settings.items() if name in known}


class _Matcher(EndingMatcher):
    """A `GrammarMatcher` that is copied by its own `fork`."""

    def __init__(self, native: Any, engine: XGrammarEngine) -> None:
        self.native, self._ids = native, engine.ids
        self._possible, self._ends = engine.possible, engine.ends

    def _write(self, out: Mask) -> None:
        if self.native.fill_next_token_bitmask(out.view(np.int32).reshape(1, -1)):
            # Bits beyond the vocabulary come out set where the mask is nearly full.
            np.bitwise_and(out, self._possible, out=out)
        else:  # all may come next, and nothing was written
            out[:] = self._possible

    def consume(self, token: int) -> bool:
        if self._ended or token not in self._ids or not self.native.accept_token(token):
            return False
        self._ended = token in self._ends
        return True

    def clone(self) -> Self:
        return copied(self, native=self.native.fork())

    def follow(self, tokens: Sequence[int]) -> int:
        ids, accept, taken = self._ids, self.native.accept_token, 0
        for token in () if self._ended else tokens:
            if token not in ids or not accept(token):
                break
            taken += 1
            if token in self._ends:
                break
        if taken:
            self.native.rollback(taken)
        return taken


class _ReplayingMatcher(_Matcher):
    """A `GrammarMatcher` of a version without `fork`: a clone replays what was consumed."""

    def __init__(self, native: Any, engine: XGrammarEngine, fresh: Callable[[], Any]) -> None:
        super().__init__(native, engine)
        self._fresh = fresh
        self._consumed: tuple[int, ...] = ()

    def consume(self, token: int) -> bool:
        taken = super().consume(token)
        self._consumed += (token,) if taken else ()
        return taken

    def clone(self) -> Self:
        native = self._fresh()
        for token in self._consumed:
            if not native.accept_token(token):
                raise RuntimeError(f"xgrammar refuses token {token}, which it accepted before")
        return copied(self, native=native)


def _calls_of(native: Any, batch: Any) -> LibraryCalls:

    def fill_row(rows: Masks, row: int) -> None:
        if native.fill_next_token_bitmask(rows.view(np.int32), row) is False:
            rows[row] = 0xFFFFFFFF  # "if False, the bitmask is already all-true"

    def draft_tree(draft: Sequence[int], parents: Sequence[int], rows: Masks) -> None:
        # the first node stands for the token before, accepted already
        child, sibling = [-1] * len(rows), [-1] * len(rows)
        for node in range(len(draft), 0, -1):
            sibling[node], child[parents[node - 1] + 1] = child[parents[node - 1] + 1], node
        nodes = (np.array(one, dtype=np.int64) for one in (child, sibling, [0, *draft]))
        native.traverse_draft_tree(*nodes, rows.view(np.int32))

    def fill_rows(several: Sequence[LibraryCalls], which: Sequence[int], rows: Masks) -> None:
        natives = [one.native for one in several]
        batch.batch_fill_next_token_bitmask(natives, rows.view(np.int32), list(which))

    trees = hasattr(native, "traverse_draft_tree")
    return LibraryCalls(
        mask=lambda out: fill_row(out.reshape(1, -1), 0),
        consume=native.accept_token,
        native=native,
        attempt=native.accept_token,
        clone=(lambda: _calls_of(native.fork(), batch)) if hasattr(native, "fork") else None,
        rollback=native.rollback,
        reset=native.reset,
        completed=getattr(native, "is_completed", None),
        terminated=native.is_terminated,
        forced_bytes=lambda: native.find_jump_forward_string().encode(),
        draft_masks=(lambda draft, rows: draft_tree(draft, range(-1, len(draft)), rows))
        if trees
        else None,
        draft_tree=draft_tree if trees else None,
        fill_row=fill_row,
        fill_rows=None if batch is None else fill_rows,
    )
