"""outlines: a regular expression built from the schema, indexed over the vocabulary.

The masks come from outlines-core, whose version is the engine's. The package outlines around it
chooses the vocabulary's keys, and configuration ``shipped`` does as it does: keys are texts, so
broken UTF-8 becomes U+FFFD, special tokens have a text, and both are allowed inside strings.
Configuration ``spec`` has the ordinary tokens' bytes as keys, which the library supports as well.

Works from 0.1.26 on; what differs between versions is looked for in the library. 0.2.3 cannot write
masks: they are made of an index's lists. 0.1.26 leaves the automaton to the package interegular;
what it takes for keys is what its users gave it, bytes beyond ASCII written after a NUL, special
tokens left out, so that its two configurations are one.

Sources: outlines 1.3.3, `outlines/backends/outlines_core.py`; outlines-core 0.1.26,
`fsm/guide.py` and `fsm/regex.py`. Observed in outlines-core 0.2.14: `Guide.advance` and
`Index.get_next_state` refuse the end-of-sequence id although the mask has its bit in final states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any, ClassVar

from adapters._shared import ReplayedMatcher, guide_calls
from harness.protocol import (
    CONFIG,
    EngineInfo,
    Library,
    Mask,
    Option,
    Refused,
    Vocabulary,
    library_of,
    set_bits,
)


class OutlinesEngine:
    """outlines-core with one vocabulary. It has no limits of its own: compiling may never end."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "config": CONFIG,
        "whitespace": Option(
            "",
            "regular expression of what may stand between tokens of JSON; "
            "empty: the library's default, one optional space",
        ),
    }
    REGEX_DIALECT = "rust"
    """The library gives patterns to Rust's crate regex-automata (its ``src/index.rs``)."""
    DISTRIBUTION = "outlines-core"
    TESTED = "0.2.14"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import outlines_core

        first = not hasattr(outlines_core, "Guide")
        self.info = EngineInfo.installed(
            self.DISTRIBUTION,
            options,
            "outlines",
            *(["interegular"] if first else ()),
            name="outlines",
        )
        self._whitespace = str(options["whitespace"]) or None
        self.bytes_differ_on_purpose = options["config"] == "shipped" and not first
        self._vocabulary = vocabulary
        self._keys: Mapping[int, bytes | str] = vocabulary.ordinary
        if self.bytes_differ_on_purpose:
            # every token that has a text, special ones included, end of sequence excepted
            texts = enumerate(text.decode("utf-8", "replace") for text in vocabulary.tokens)
            ends = vocabulary.eos_ids
            self._keys = {token: text for token, text in texts if text and token not in ends}
        by_key: dict[bytes | str, list[int]] = {}
        for token, key in self._keys.items():
            by_key.setdefault(key, []).append(token)
        self._library = (_FirstLibrary if first else _Library)(vocabulary.eos, by_key)

    def compile(self, schema: str) -> _Matcher:
        return self._start(self._index(schema))

    def compile_regex(self, pattern: str) -> _Matcher:
        return self._start(self._refusing(self._library.of_pattern, pattern))

    def library(self, schema: str) -> Library:
        index, guide = self._index(schema), self._library.served_guide
        if guide is None:  # such versions write no masks: there is nothing of their own to ask
            return library_of(lambda: self._start(index), self._vocabulary.eos_ids)
        return Library(
            lambda: guide_calls(guide(index), "is_finished"),
            (self._vocabulary.eos,),
            special_is_text=self.bytes_differ_on_purpose,
        )

    def _index(self, schema: str) -> Any:
        return self._refusing(self._library.index, schema, self._whitespace)

    def _refusing(self, how: Callable[..., Any], *source: Any) -> Any:
        try:
            return how(*source)
        except (ValueError, TypeError) as error:
            raise Refused(str(error).strip()) from error

    def _start(self, index: Any) -> _Matcher:
        guide = self._library.guide
        if guide is None:
            return _ListedMatcher(index, lambda: None, self._vocabulary)
        return _Matcher(index, lambda: guide(index), self._vocabulary)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The key under which the library's vocabulary has each id, in UTF-8.

        None for special ids that are no key, and in 0.1.26 for all; ``b""`` where the library does
        not have the id under its key.
        """
        return [self._bytes_of(token) for token in ids]

    def _bytes_of(self, token: int) -> bytes | None:
        key = self._keys.get(token)
        ids = None if key is None else self._library.ids(key)
        if key is None or ids is None:
            return None
        text = key.encode() if isinstance(key, str) else key
        return text if token in ids else b""


class _Library:
    """outlines-core from 0.2.3 on, with one vocabulary.

    Attributes:
        guide: A `Guide` at the start of an index; None where guides cannot write masks.
        served_guide: The same, as the library makes it by itself.
    """

    def __init__(self, eos: int, by_key: Mapping[bytes | str, list[int]]) -> None:
        from outlines_core import Guide, Index, Vocabulary
        from outlines_core.json_schema import build_regex_from_schema

        self._build_regex = build_regex_from_schema
        self._index = Index
        self._vocabulary = Vocabulary(eos, by_key)
        self.guide: Callable[[Any], Any] | None = None
        self.served_guide: Callable[[Any], Any] | None = None
        if hasattr(Guide, "write_mask_into"):
            self.served_guide = Guide
            bounded = "max_rollback" in signature(Guide).parameters
            self.guide = partial(Guide, max_rollback=0) if bounded else Guide

    def index(self, schema: str, whitespace: str | None) -> Any:
        return self.of_pattern(self._build_regex(schema, whitespace))

    def of_pattern(self, pattern: str) -> Any:
        return self._index(pattern, self._vocabulary)

    def ids(self, key: bytes | str) -> Sequence[int] | None:
        """The ids that the library has under a key; None where it cannot be asked."""
        return self._vocabulary.get(key) or ()


class _FirstLibrary(_Library):
    """outlines-core 0.1.26, with one vocabulary."""

    guide = served_guide = None

    def __init__(self, eos: int, by_key: Mapping[Any, list[int]]) -> None:
        import interegular
        from outlines_core.fsm import json_schema, regex

        self._parse = interegular.parse_pattern
        self._unreadable = interegular.InvalidSyntax, interegular.Unsupported
        self._build_regex = json_schema.build_regex_from_schema
        self._regex = regex
        self._eos = eos
        # A NUL, which no JSON text has, marks a byte: it would be taken for another one.
        ids = {self._key(key): ids for key, ids in by_key.items() if key and 0 not in key}
        self._vocabulary = regex.Vocabulary.from_dict(ids)

    def of_pattern(self, pattern: str) -> Any:
        regex = self._regex
        try:
            automaton = self._parse(pattern).to_fsm().reduce()
        except self._unreadable as error:
            raise ValueError(str(error) or type(error).__name__) from error
        of_bytes = regex.make_byte_level_fsm(automaton, keep_utf8=True)
        deterministic, _ = regex.make_deterministic_fsm(of_bytes)
        return regex.Index(deterministic.fsm_info, self._vocabulary, self._eos, frozenset())

    def ids(self, key: bytes | str) -> Sequence[int] | None:  # noqa: ARG002 - as _Library
        return None

    def _key(self, text: bytes) -> str:
        return "".join(map(self._regex.byte_symbol, text))


class _Matcher(ReplayedMatcher):
    """A state of an `Index`; the `Guide` that writes its mask is made when one is asked for."""

    def __init__(self, index: Any, start: Callable[[], Any], vocabulary: Vocabulary) -> None:
        super().__init__(start, vocabulary)
        self._index, self._state = index, index.get_initial_state()

    def follow(self, tokens: Sequence[int]) -> int:
        """Needs no guide."""
        state, count = self._state, 0
        for token in () if self._ended else tokens:
            if token in self._vocabulary.eos_ids:
                return count + bool(self._index.is_final_state(state))
            state = self._next(state, token)
            if state is None:
                break
            count += 1
        return count

    def _may_end(self) -> bool:
        return bool(self._index.is_final_state(self._state))

    def _advance(self, token: int) -> bool:
        following = self._next(self._state, token)
        if following is None:
            return False
        if self._made is not None:
            self._lead(self._made, token)
        self._state = following
        return True

    def _next(self, state: int, token: int) -> Any:
        inside = 0 <= token < self._vocabulary.size  # the library overflows on negative ids
        return self._index.get_next_state(state, token) if inside else None


class _ListedMatcher(_Matcher):
    """A state of an `Index` whose masks are made of its lists of tokens."""

    def _write(self, out: Mask) -> None:
        ids = self._index.get_allowed_tokens(self._state) or []
        ends = self._vocabulary.eos_ids if self._may_end() else ()
        out[:] = set_bits([*ids, *ends], len(out))
