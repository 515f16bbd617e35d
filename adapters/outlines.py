"""outlines: a regular expression built from the schema, indexed over the vocabulary.

The masks come from outlines-core, whose version is the engine's. The package outlines around it
chooses the vocabulary's keys, and configuration ``shipped`` does as it does: keys are texts, so
broken UTF-8 becomes U+FFFD, special tokens have a text, and both are allowed inside strings.
Configuration ``spec`` has the ordinary tokens' bytes as keys, which the library supports as well.

Indexes can be stored. Of 40 schemas of MaskBench, compiled by outlines-core 0.2.14 with the
vocabulary of Qwen2.5, 28 took more than 0.5 s: 95 s to compile (at most 15 s), at most 25 s to
store and compress on a busy machine, 5 s to restore. The size goes by the number of transitions,
from some hundred bytes to 94 MB, half of that compressed. Along the references of 30 of them and
along random texts every mask was the same (8,430 masks).

Sources: outlines 1.3.3, `outlines/backends/outlines_core.py`. Observed in outlines-core 0.2.14:
`Guide.advance` and `Index.get_next_state` refuse the end-of-sequence id although the mask has
its bit in final states; `Index.__reduce__` gives the bytes that `Index.from_binary` reads, in which
neither the library's version nor the tokens' bytes are found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from harness.protocol import CONFIG, EngineInfo, Mask, Option, Refused

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary


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
    DISTRIBUTION = "outlines-core"
    TESTED = "0.2.14"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import outlines_core
        from outlines_core.json_schema import build_regex_from_schema

        self.info = EngineInfo(
            "outlines",
            version(self.DISTRIBUTION),
            dict(options),
            _installed(self.DISTRIBUTION, "outlines"),
        )
        self._library = outlines_core
        self._build_regex = build_regex_from_schema
        self._whitespace = str(options["whitespace"]) or None
        self.bytes_differ_on_purpose = options["config"] == "shipped"
        self._words = vocabulary.words
        self._size = vocabulary.size
        self._eos = vocabulary.eos_ids
        keys = _text_keys if options["config"] == "shipped" else _byte_keys
        self._keys: Mapping[int, bytes | str] = keys(vocabulary)
        by_key: dict[bytes | str, list[int]] = {}
        for token, key in self._keys.items():
            by_key.setdefault(key, []).append(token)
        self._vocabulary = outlines_core.Vocabulary(vocabulary.eos, by_key)

    def compile(self, schema: str) -> OutlinesMatcher:
        """A matcher at the start of a text.

        Raises:
            Refused: With the library's message.
        """
        try:
            pattern = self._build_regex(schema, self._whitespace)
            index = self._library.Index(pattern, self._vocabulary)
        except (ValueError, TypeError) as error:
            raise Refused(str(error).strip()) from error
        return self._start(index)

    def store(self, matcher: OutlinesMatcher) -> bytes | None:
        """See `harness.protocol.StoringEngine.store`; the library's version, then its own bytes."""
        _, (data,) = matcher.index.__reduce__()
        return self._heading() + bytes(data)

    def restore(self, schema: str, data: bytes) -> OutlinesMatcher:  # noqa: ARG002 - protocol
        """See `harness.protocol.StoringEngine.restore`.

        Raises:
            ValueError: Another version stored it, or the library cannot read it.
        """
        heading = self._heading()
        if not data.startswith(heading):
            raise ValueError(f"not stored by {heading.decode().strip()}")
        return self._start(self._library.Index.from_binary(data[len(heading) :]))

    def _heading(self) -> bytes:
        return f"{self.DISTRIBUTION} {self.info.version}\n".encode()

    def _start(self, index: Any) -> OutlinesMatcher:
        guide = self._library.Guide
        return OutlinesMatcher(index, lambda: guide(index, 0), self._size, self._eos)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The key under which the library's vocabulary has each id, in UTF-8.

        None for special ids that are no key; ``b""`` where the library does not have the id
        under its key.
        """
        return [self._bytes_of(token) for token in ids]

    def _bytes_of(self, token: int) -> bytes | None:
        key = self._keys.get(token)
        if key is None:
            return None
        if token not in (self._vocabulary.get(key) or ()):
            return b""
        return key.encode() if isinstance(key, str) else key


class OutlinesMatcher:
    """A state of an `Index`; the `Guide` that writes its mask is made when one is asked for."""

    def __init__(
        self, index: Any, start: Callable[[], Any], size: int, eos: tuple[int, ...]
    ) -> None:
        self.index = index
        self._start = start
        self._size = size
        self._eos = eos
        self._state: int = index.get_initial_state()
        self._consumed: tuple[int, ...] = ()
        self.guide: Any = None
        self._ended = False

    def mask(self, out: Mask) -> None:
        """See `harness.protocol.Matcher.mask`."""
        if self._ended:
            out[:] = 0
            return
        if self.guide is None:
            self.guide = self._start()
            for token in self._consumed:
                self.guide.advance(token, False)
        self.guide.write_mask_into(out.ctypes.data, out.size, out.itemsize)
        if len(self._eos) > 1 and self.index.is_final_state(self._state):
            # The library knows one end-of-sequence id; the others mean the same.
            for token in self._eos:
                out[token >> 5] |= 1 << (token & 31)

    def consume(self, token: int) -> bool:
        """See `harness.protocol.Matcher.consume`."""
        if self._ended:
            return False
        if token in self._eos:
            self._ended = self.index.is_final_state(self._state)
            return self._ended
        following = self._next(self._state, token)
        if following is None:
            return False
        if self.guide is not None:
            self.guide.advance(token, False)
        self._state = following
        self._consumed += (token,)
        return True

    def clone(self) -> Self:
        """See `harness.protocol.Matcher.clone`; a `Guide` cannot be copied, so it is left out."""
        twin = copy(self)
        twin.guide = None
        return twin

    def follow(self, tokens: Sequence[int]) -> int:
        """See `harness.protocol.FollowingMatcher.follow`."""
        if self._ended:
            return 0
        state = self._state
        for count, token in enumerate(tokens):
            if token in self._eos:
                return count + bool(self.index.is_final_state(state))
            following = self._next(state, token)
            if following is None:
                return count
            state = following
        return len(tokens)

    def follow_behind(self, token: int, tokens: Sequence[int]) -> int:
        """See `harness.protocol.LeadingMatcher.follow_behind`."""
        return self.follow((token, *tokens))

    def _next(self, state: int, token: int) -> int | None:
        if not 0 <= token < self._size:  # the library overflows on negative ids
            return None
        following: int | None = self.index.get_next_state(state, token)
        return following


def _byte_keys(vocabulary: Vocabulary) -> dict[int, bytes | str]:
    """The bytes of every ordinary token."""
    special = vocabulary.special.tolist()
    return {token: text for token, text in enumerate(vocabulary.tokens) if not special[token]}


def _text_keys(vocabulary: Vocabulary) -> dict[int, bytes | str]:
    """The text of every token that has one, special ones included, end of sequence excepted."""
    return {
        token: text.decode("utf-8", "replace")
        for token, text in enumerate(vocabulary.tokens)
        if text and token not in vocabulary.eos_ids
    }


def _installed(*distributions: str) -> dict[str, str]:
    """The versions of those `distributions` that are installed."""
    out = {}
    for name in distributions:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    return out
