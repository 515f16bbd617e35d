"""llguidance: an Earley parser over derivatives of regular expressions, lazy in all it does.

As shipped it *forces* tokens: where only certain bytes may follow, the mask holds the one token
with which the tokenizer itself would write them. Configuration ``spec`` switches that off, so
that the mask is the whole language, and permits every escape that JSON has.

Sources: llguidance 1.9.1, docstrings in `_lib.pyi`, `docs/fast_forward.md` (which tokens are forced
and why; nothing on others being consumed all the same), `docs/json_schema.md` (options under
``x-guidance``), `no_forcing` in `parser/src/api.rs`. Observed in 0.7.29, 1.6.1 and 1.9.1: a refused
token is an error for ever; a value that cannot be continued refuses the end-of-sequence id in
`validate_tokens` and `try_consume_tokens`, although the mask has its bit. There 0.7.29 is in error,
too, once it was asked about any token.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
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
    allows,
    copied,
    follow_by_mask,
    mask_by,
    settle_switches,
    switch,
)

_DOCUMENTED = {
    "end_again": 'LLMatcher.is_stopped: "will not accept any more tokens, except for the EOS token"'
}
_NO_FORCING = '%llguidance {"no_forcing": true}'
_UNICODE_ESCAPES = "json_allow_general_unicode_escapes"


class LLGuidanceEngine:
    r"""llguidance with one vocabulary.

    Where the vocabulary has a pre-tokeniser's pattern, forced tokens are those of the real BPE,
    otherwise of the greedy tokenisation. ``unicode_escapes=auto`` leaves ``\uXXXX`` out in
    versions that cannot permit it (1.6.1).
    """

    PRESETS: ClassVar = {
        "spec": {"forced": False, "unicode_escapes": True},
        "shipped": {"forced": True, "unicode_escapes": False},
    }
    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "config": CONFIG,
        "forced": switch("where bytes are forced, allow only the tokenizer's own token for them"),
        "unicode_escapes": switch(r"\uXXXX for printable characters, too"),
        "lenient": Option(False, "ignore keywords that it does not implement instead of refusing"),
        "coerce_one_of": Option(False, "take oneOf for anyOf where it is not the same"),
        "separators": SEPARATORS,
        "whitespace": Option(
            "auto", "none: no more than the separators have; auto: any", ("auto", "none")
        ),
        "whitespace_pattern": Option("", "a regular expression for it; empty: the library's own"),
    }
    REGEX_DIALECT = "rust"
    """``docs/syntax.md`` names the syntax of Rust's crate regex."""
    DISTRIBUTION = "llguidance"
    TESTED = "1.9.1"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import llguidance

        self.info = EngineInfo.installed(self.DISTRIBUTION, options)
        self._module = llguidance
        self._matcher = llguidance.LLMatcher
        self._vocabulary = vocabulary
        self._tokenizer = _tokenizer(llguidance, vocabulary)
        settings = settle_switches(options, self.PRESETS)
        self._forced = settings["forced"]
        self._json_options = _json_options(options)
        if settings["unicode_escapes"]:
            grammar = self._grammar("{}", {_UNICODE_ESCAPES: True})
            if not self._matcher(self._tokenizer, grammar, log_level=0).is_error():
                self._json_options[_UNICODE_ESCAPES] = True
            elif options["unicode_escapes"] == "true":
                raise UsageError(
                    f"llguidance {self.info.version} has no option {_UNICODE_ESCAPES}",
                    "leave unicode_escapes out, or use a later version",
                )

    def compile(self, schema: str) -> _Matcher:
        """A matcher with its first mask; raises `Refused`; warnings go to standard error."""
        matcher = self._begun(self._grammar(schema, self._json_options))
        if hasattr(matcher.native, "get_grammar_warnings"):
            for warning in matcher.native.get_grammar_warnings():
                sys.stderr.write(f"llguidance: warning: {warning}\n")
        return matcher

    def compile_regex(self, pattern: str) -> _Matcher:
        grammar = str(self._matcher.grammar_from_regex(pattern))
        if not self._forced:
            whole = json.loads(grammar)
            (only,) = whole["grammars"]
            only["lark_grammar"] = f"{_NO_FORCING}\n{only['lark_grammar']}"
            grammar = json.dumps(whole)
        return self._begun(grammar)

    def library(self, schema: str) -> Library:
        ends = (
            self._vocabulary.eos_ids
            if hasattr(self._module.LLTokenizer, "eos_tokens")
            else (self._vocabulary.eos,)
        )
        tokenizer = self._tokenizer
        if len(ends) > 1:
            tokenizer = _tokenizer(self._module, self._vocabulary, list(ends))
        grammar = self._grammar(schema, self._json_options)
        self._started(grammar, tokenizer)
        make = getattr(self._module, "LLExecutor", None)
        executor = None if make is None else make(num_threads=2)
        return Library(
            lambda: _calls_of(self._matcher(tokenizer, grammar, log_level=0), executor),
            ends,
            documented=_DOCUMENTED,
        )

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The library's decoding of each id by itself.

        None for special ids, and for tokens with a byte 0xFF: with that byte the library marks
        special tokens, and its decoding leaves it out.
        """
        decode, ordinary = self._tokenizer.decode_bytes, self._vocabulary.ordinary
        return [
            None if b"\xff" in ordinary.get(token, b"\xff") else decode([token]) for token in ids
        ]

    def _grammar(self, schema: str, json_options: Mapping[str, bool | str]) -> str:
        text = _with_options(schema, json_options)
        try:
            if self._forced:
                return str(self._matcher.grammar_from_json_schema(text))
            return str(self._matcher.grammar_from_lark(f"{_NO_FORCING}\nstart: %json {text}"))
        except ValueError as error:
            raise Refused(str(error).strip()) from error

    def _begun(self, grammar: str) -> _Matcher:
        start = partial(self._started, grammar, self._tokenizer)
        return (_ForcingMatcher if self._forced else _Matcher)(start, self._vocabulary)

    def _started(self, grammar: str, tokenizer: Any) -> Any:
        native = self._matcher(tokenizer, grammar, log_level=0)
        if not native.is_error():
            native.compute_bitmask()
        if native.is_error():
            raise Refused(native.get_error().strip())
        return native


class _Matcher(EndingMatcher):
    """An `LLMatcher`, kept from ever being asked to take a token that it refuses.

    The end of sequence is never consumed by the library: `is_accepting` says whether it may be.
    What the lexer may cost is renewed with each mask. Where that runs out between two masks all is
    refused from then on, in every copy, and no error is told before the next mask. Such a matcher
    begins anew, and goes on `in_steps`: with a mask before each token, as in generation.
    """

    _in_steps = False

    def __init__(self, start: Callable[[], Any], vocabulary: Vocabulary) -> None:
        self._start, self._ids = start, vocabulary
        self.native: Any = start()
        self._consumed: tuple[int, ...] = ()

    def _write(self, out: Mask) -> None:
        """Raises RuntimeError where the library is at a limit; the matcher is of no more use."""
        self.native.unsafe_compute_mask_ptr(out.ctypes.data, out.nbytes)
        if not self._in_steps and "lexer error" in self.native.get_error():
            self._begin_anew()
            self.native.unsafe_compute_mask_ptr(out.ctypes.data, out.nbytes)
        self._raise_error()
        if len(self._ids.eos_ids) > 1 and allows(out, self._ids.eos):
            # The library knows one end-of-sequence id; the others mean the same.
            np.bitwise_or(out, self._ids.eos_mask, out=out)

    def consume(self, token: int) -> bool:
        if self._ended:
            return False
        if token in self._ids.eos_ids:
            self._ended = self.native.is_accepting()
            return self._ended
        if token not in self._ids.ordinary:
            return False
        if self._in_steps:
            self.native.compute_bitmask()
        taken = not self.native.is_stopped() and self.native.try_consume_tokens([token]) == 1
        if not taken and self._is_spent([], token):
            self._begin_anew()
            return self.consume(token)
        self._raise_error()
        self._consumed += (token,) * taken
        return taken

    def clone(self) -> Self:
        return copied(self, native=self.native.deep_copy())

    def follow(self, tokens: Sequence[int]) -> int:
        if self._ended or self._in_steps:
            return follow_by_mask(self, tokens, self._ids.words)
        # up to the first id that is never allowed; the end of sequence is the last of it
        asked = list(takewhile(self._ids.ordinary.__contains__, tokens))
        if len(asked) < len(tokens) and tokens[len(asked)] in self._ids.eos_ids:
            asked.append(self._ids.eos)
        if self._ids.eos in asked[:1]:
            return int(self.native.is_accepting())
        stopped = self.native.is_stopped()
        taken: int = self.native.validate_tokens(asked) if asked and not stopped else 0
        if taken < len(asked) and not stopped and self._is_spent(asked[:taken], asked[taken]):
            self._begin_anew()
            return self.follow(tokens)
        self._raise_error()
        return taken

    def _is_spent(self, led: Sequence[int], refused: int) -> bool:
        """Whether nothing is left for the lexer: a mask fails, or allows what is refused there."""
        there = self.native.deep_copy()
        if self._in_steps or there.try_consume_tokens(led) < len(led):
            return not self._in_steps
        if there.is_stopped():
            return "lexer error" in there.get_error()
        mask = np.frombuffer(there.compute_bitmask(), dtype=np.uint32)
        return there.is_error() or allows(mask, refused)

    def _begin_anew(self) -> None:
        self.native, self._in_steps = self._start(), True
        for token in self._consumed:
            self.native.compute_bitmask()
            self.native.try_consume_tokens([token])

    def _raise_error(self) -> None:
        if self.native.is_error():
            raise RuntimeError(f"llguidance: {self.native.get_error().strip()}")


class _ForcingMatcher(_Matcher):
    """An `LLMatcher` that forces tokens: it would consume more than its mask allows."""

    _present: Mask | None = None

    def mask(self, out: Mask) -> None:
        out[:] = self._mask_here()

    def consume(self, token: int) -> bool:
        inside = 0 <= token < 32 * self._ids.words
        if not inside or not allows(self._mask_here(), token) or not super().consume(token):
            return False
        self._present = None
        return True

    def follow(self, tokens: Sequence[int]) -> int:
        return follow_by_mask(self, tokens[: super().follow(tokens)], self._ids.words)

    def _mask_here(self) -> Mask:
        """The present mask, kept until a token is consumed. Never written to once computed."""
        if self._present is None:
            self._present = mask_by(super().mask, self._ids.words)
        return self._present


def _json_options(options: Mapping[str, bool | int | str]) -> dict[str, bool | str]:
    """What goes into ``x-guidance``, for the options of a spec that are set."""
    out: dict[str, bool | str] = {one: True for one in ("lenient", "coerce_one_of") if options[one]}
    if separated := SEPARATED.get(str(options["separators"])):
        out["item_separator"], out["key_separator"] = separated
    if options["whitespace"] == "none":
        out["whitespace_flexible"] = False
    if options["whitespace_pattern"]:
        out["whitespace_pattern"] = str(options["whitespace_pattern"])
    return out


def _with_options(schema: str, json_options: Mapping[str, bool | str]) -> str:
    """`schema` with `json_options` for the library, its text otherwise untouched.

    A schema with an ``x-guidance`` of its own keeps that: the library takes the last one.
    """
    body = schema.strip()
    if json_options and body == "true":
        body = "{}"
    if not json_options or not body.startswith("{"):
        return body
    rest = body[1:].lstrip()
    comma = "" if rest.startswith("}") else ","
    return f'{{"x-guidance":{json.dumps(json_options)}{comma}{rest}'


def _tokenizer(library: Any, vocabulary: Vocabulary, ends: int | list[int] | None = None) -> Any:
    """The library's tokenizer: real BPE where the vocabulary has it, else greedy; its `ends`."""
    ends = vocabulary.eos if ends is None else ends
    names = [
        (text or f"<|{token}|>".encode()) if special else text
        for token, (text, special) in enumerate(
            zip(vocabulary.tokens, vocabulary.special.tolist(), strict=True)
        )
    ]
    special = np.flatnonzero(vocabulary.special).tolist()
    hidden = set(special)
    encoder = {text: token for token, text in enumerate(names) if token not in hidden}
    # A BPE of ranks knows one id of each text: where two have the same, one would be lost.
    if vocabulary.pattern is None or len(encoder) < len(names) - len(hidden):
        source = _GreedyTokenizer(vocabulary, names, special)
        return library.LLTokenizer(
            library.TokenizerWrapper(source), n_vocab=vocabulary.size, eos_token=ends
        )
    return library.LLTokenizer.from_tiktoken(
        encoder=encoder,
        special_tokens={names[token].decode("utf-8", "replace"): token for token in special},
        pattern=vocabulary.pattern,
        eos_token=ends,
        n_vocab=vocabulary.size,
    )


class _GreedyTokenizer:
    """What `llguidance.TokenizerWrapper` asks of a tokenizer."""

    bos_token_id = None

    def __init__(
        self, vocabulary: Vocabulary, tokens: list[bytes], special_token_ids: list[int]
    ) -> None:
        self.eos_token_id = vocabulary.eos
        self.tokens = tokens
        self.special_token_ids = special_token_ids
        self._vocabulary = vocabulary

    def __call__(self, text: bytes) -> list[int]:
        return self._vocabulary.encode_greedy(text)


def _calls_of(native: Any, executor: Any) -> LibraryCalls:

    def fill_row(rows: Masks, row: int) -> None:
        native.unsafe_compute_mask_ptr(rows[row].ctypes.data, rows[row].nbytes)
        if native.is_error():
            raise RuntimeError(native.get_error().strip())

    def fill_rows(several: Sequence[LibraryCalls], which: Sequence[int], rows: Masks) -> None:
        natives = [(one.native, row) for one, row in zip(several, which, strict=True)]
        executor.unsafe_compute_mask_ptr(natives, rows.ctypes.data, rows[0].nbytes, len(rows))

    def draft_masks(draft: Sequence[int], rows: Masks) -> None:
        drafts = [(native, 0, list(draft))]
        executor.unsafe_compute_mask_ptr_with_draft_token(
            drafts, rows.ctypes.data, rows[0].nbytes, len(rows)
        )

    drafts = hasattr(executor, "unsafe_compute_mask_ptr_with_draft_token")
    return LibraryCalls(
        mask=lambda out: fill_row(out.reshape(1, -1), 0),
        consume=native.consume_token,
        native=native,
        attempt=lambda token: bool(native.try_consume_tokens([token]) == 1),
        clone=lambda: _calls_of(native.deep_copy(), executor),
        rollback=native.rollback,
        reset=native.reset,
        completed=native.is_accepting,
        terminated=native.is_stopped,
        forced_bytes=native.compute_ff_bytes,
        forced_tokens=native.compute_ff_tokens,
        validate=lambda tokens: int(native.validate_tokens(list(tokens))),
        draft_masks=draft_masks if drafts else None,
        fill_row=fill_row,
        fill_rows=None if executor is None else fill_rows,
    )
