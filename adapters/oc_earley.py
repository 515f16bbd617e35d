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
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from harness.protocol import ONLY_CONFIG, EngineInfo, Mask, Option, Refused

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary


class OCEarleyEngine:
    """oc-earley with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {"config": ONLY_CONFIG}
    DISTRIBUTION = "oc-earley"
    TESTED = "0.1.0"

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import oc_earley

        self.info = EngineInfo(
            self.DISTRIBUTION,
            version(self.DISTRIBUTION),
            dict(options),
            {self.DISTRIBUTION: version(self.DISTRIBUTION)},
        )
        self._compiled = oc_earley.CompiledSchema
        self._size, self._eos = vocabulary.size, vocabulary.eos_ids
        special = vocabulary.special.tolist()
        self._ids: dict[bytes, list[int]] = {}
        for token, text in enumerate(vocabulary.tokens):
            if text and not special[token]:
                self._ids.setdefault(text, []).append(token)
        self._texts = {token: text for text, some in self._ids.items() for token in some}
        self._vocabulary = oc_earley.Vocabulary(vocabulary.eos, self._ids)

    def compile(self, schema: str) -> OCEarleyMatcher:
        """A matcher at the start of a text.

        Raises:
            Refused: With the library's message.
        """
        try:
            compiled = self._compiled.from_json_schema(schema, self._vocabulary)
            start = compiled.guide(max_rollback=0)
        except (ValueError, TypeError) as error:
            raise Refused(str(error).strip()) from error
        return OCEarleyMatcher(lambda: compiled.guide(max_rollback=0), start, self._size, self._eos)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The key under which the library's vocabulary has each id; None for special ids."""
        known = {text: set(self._vocabulary.get(text) or ()) for text in self._ids}
        texts = map(self._texts.get, ids)
        return [
            text if text is None or token in known[text] else b""
            for token, text in zip(ids, texts, strict=True)
        ]


class OCEarleyMatcher:
    """A `Guide`, or the tokens that lead to one."""

    def __init__(
        self, start: Callable[[], Any], guide: Any, size: int, eos: tuple[int, ...]
    ) -> None:
        self._start = start
        self._guide = guide
        self._size = size
        self._eos = eos
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
        if len(self._eos) > 1 and self.guide.is_accepting():
            # The library knows one end-of-sequence id; the others mean the same.
            for token in self._eos:
                out[token >> 5] |= 1 << (token & 31)

    def consume(self, token: int) -> bool:
        """See `harness.protocol.Matcher.consume`."""
        if self._ended or not 0 <= token < self._size:  # it overflows on other ids
            return False
        if token in self._eos:
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
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _guide=None)
        return twin

    def follow(self, tokens: Sequence[int]) -> int:
        """See `harness.protocol.FollowingMatcher.follow`."""
        trial = self.clone()
        return next((at for at, one in enumerate(tokens) if not trial.consume(one)), len(tokens))

    def follow_behind(self, token: int, tokens: Sequence[int]) -> int:
        """See `harness.protocol.LeadingMatcher.follow_behind`."""
        return self.follow((token, *tokens))
