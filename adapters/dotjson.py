"""dotjson, which is proprietary: written from its public documentation, and never run.

No release could be had when this was written. What is called here is what the documentation of
.txt names: `Vocabulary.from_tuples`, `Index`, `Guide`, and the token sets that a guide gives for
each text of a batch. Open until somebody runs it: whether tokens are given as bytes (as here) or as
text, how a guide is told the size of its batch (here: one, by default), and with which exception a
schema is refused (here: any).

The package of this name on PyPI is another one, and is refused when the engine is opened. A guide
can neither be copied nor taken back, so a clone replays what was consumed. Token sets answer for
one token at a time, so a mask takes as many calls as there are tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from adapters._shared import ReplayedMatcher
from harness.errors import UsageError
from harness.protocol import ONLY_CONFIG, EngineInfo, Mask, Option, Refused, Vocabulary, set_bits

_DOCUMENTED = ("Vocabulary", "Index", "Guide")


class DotJSONEngine:
    """dotjson with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "config": ONLY_CONFIG,
        "disallow_whitespace": Option(False, "JSON without white space between its tokens"),
    }
    DISTRIBUTION = "dotjson"
    NOT_ON_INDEX = (
        "it is proprietary and was never run here; PyPI has another package of this name: "
        "install the wheel that .txt gives its customers beside maskcourt"
    )
    SLOW_MASKS = True

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import dotjson

        missing = [name for name in _DOCUMENTED if not hasattr(dotjson, name)]
        if missing:
            raise UsageError(
                f"the dotjson that is installed is not that of .txt: it has no {missing[0]}",
                self.NOT_ON_INDEX,
            )
        self.info = EngineInfo.installed(self.DISTRIBUTION, options)
        self._library = dotjson
        self._ids = vocabulary
        self._compact = bool(options["disallow_whitespace"])
        ordinary = vocabulary.ordinary
        self._vocabulary = dotjson.Vocabulary.from_tuples(
            list(ordinary.values()), list(ordinary), list(vocabulary.eos_ids)
        )

    def compile(self, schema: str) -> _Matcher:
        try:
            index = self._library.Index(schema, self._vocabulary, disallow_whitespace=self._compact)
        except Exception as error:
            raise Refused(f"{type(error).__name__}: {error}") from error
        return _Matcher(lambda: _Guide(self._library, index), self._ids)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The library is not documented to tell."""
        return [None] * len(ids)


class _Matcher(ReplayedMatcher):
    def _write(self, out: Mask) -> None:
        ids = (*self._vocabulary.ordinary, *self._vocabulary.eos_ids)
        out[:] = set_bits([token for token in ids if self.native.allowed.contains(token)], len(out))

    def _may_end(self) -> bool:
        return bool(self.native.allowed.contains(self._vocabulary.eos))

    def _lead(self, native: _Guide, token: int) -> bool:
        if token not in self._vocabulary.ordinary or not native.allowed.contains(token):
            return False
        (native.allowed,) = native.guide.get_next_tokensets([token])
        return True


class _Guide:
    """A guide of one text, which gives the first set of its batch."""

    def __init__(self, library: Any, index: Any) -> None:
        self.guide = library.Guide(index)
        (self.allowed,) = self.guide.get_start_tokensets()
