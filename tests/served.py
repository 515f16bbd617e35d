"""A miniature of a library that offers all that a server may ask for, honest or with one fault.

`Served` walks a `tests.miniatures.Language` and keeps what it came through, so that it can go back.
Each subclass of it in `FAULTS` does as it does but for one fault.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Self

import numpy as np

from harness.protocol import Library, LibraryCalls, Mask, Masks, set_bits
from tests.miniatures import Enumerator, Language, LanguageMatcher


class Served:
    """The honest one."""

    def __init__(self, start: LanguageMatcher) -> None:
        self.past = [start]
        self.vocabulary = start.vocabulary

    @property
    def here(self) -> LanguageMatcher:
        return self.past[-1]

    @property
    def texts(self) -> list[bytes]:
        """What may still be written."""
        written = self.here.written
        return [
            text[len(written) :] for text in self.here.language.texts if text.startswith(written)
        ]

    def allowed(self) -> Mask:
        return self.here.allowed(self.here.shown)

    def mask(self, out: Mask) -> None:
        out[:] = self.allowed()

    def consume(self, token: int) -> bool:
        twin = self.here.clone()
        if not twin.consume(token):
            return False
        self.past.append(twin)
        return True

    def attempt(self, token: int) -> bool:
        return self.consume(token)

    def clone(self) -> Self:
        twin = type(self)(self.here)
        twin.past = list(self.past)
        return twin

    def rollback(self, count: int) -> None:
        del self.past[len(self.past) - count :]

    def reset(self) -> None:
        del self.past[1:]

    def completed(self) -> bool:
        return self.here.written in self.here.language.texts

    def terminated(self) -> bool:
        return self.here.ended

    def forced_bytes(self) -> bytes:
        texts = [] if self.here.ended else self.texts
        alike = takewhile(lambda ones: len(set(ones)) == 1, zip(*texts, strict=False))
        return bytes(ones[0] for ones in alike)

    def forced_tokens(self) -> list[int]:
        return self.vocabulary.encode_greedy(self.forced_bytes())

    def validate(self, tokens: Sequence[int]) -> int:
        twin = Served.clone(self)
        return next((at for at, one in enumerate(tokens) if not twin.consume(one)), len(tokens))

    def draft_masks(self, draft: Sequence[int], rows: Masks) -> None:
        twin = Served.clone(self)
        rows[0] = twin.allowed()
        for row, token in enumerate(draft, 1):
            if not twin.consume(token):
                return
            rows[row] = twin.allowed()

    def draft_tree(self, draft: Sequence[int], parents: Sequence[int], rows: Masks) -> None:
        twins: list[Served | None] = [self]
        rows[0] = self.allowed()
        for row, (token, parent) in enumerate(zip(draft, parents, strict=True), 1):
            before = twins[parent + 1]
            twin = None if before is None else Served.clone(before)
            twins.append(twin if twin is not None and twin.consume(token) else None)
            if twins[row] is not None:
                rows[row] = twin.allowed()

    def fill_row(self, rows: Masks, row: int) -> None:
        rows[row] = self.allowed()

    @staticmethod
    def fill_rows(several: Sequence[LibraryCalls], which: Sequence[int], rows: Masks) -> None:
        for one, row in zip(several, which, strict=True):
            rows[row] = one.native.allowed()

    def calls(self, without: Sequence[str] = ()) -> LibraryCalls:
        offered: dict[str, Any] = {
            name: getattr(self, name)
            for name in LibraryCalls.__dataclass_fields__
            if name not in ("native", "clone", *without)
        }
        if "clone" not in without:
            offered["clone"] = lambda: self.clone().calls(without)
        return LibraryCalls(native=self, **offered)


class OverwritesNothing(Served):
    def mask(self, out: Mask) -> None:
        out |= self.allowed()


class TakesWhatItForbids(Served):
    def allowed(self) -> Mask:
        return super().allowed() & ~set_bits(self.vocabulary.ids_of(b'"a'), self.vocabulary.words)


class NeverTakesTheEnd(Served):
    def consume(self, token: int) -> bool:
        return token not in self.vocabulary.eos_ids and super().consume(token)


class KnowsOneEnd(Served):
    def allowed(self) -> Mask:
        return super().allowed() & ~set_bits(self.vocabulary.eos_ids[1:], self.vocabulary.words)

    def consume(self, token: int) -> bool:
        return token not in self.vocabulary.eos_ids[1:] and super().consume(token)


class GoesOnBehindTheEnd(Served):
    def allowed(self) -> Mask:
        more = set_bits([49] if self.here.ended else [], self.vocabulary.words)
        return super().allowed() | more


class EndsTwice(Served):
    def allowed(self) -> Mask:
        return super().allowed() | (self.vocabulary.eos_mask * np.uint32(self.here.ended))


class AllowsSpecials(Served):
    def allowed(self) -> Mask:
        specials = self.vocabulary.special_mask & ~self.vocabulary.eos_mask
        return super().allowed() | specials * np.uint32(not self.here.ended)


class SetsBitsBeyond(Served):
    def allowed(self) -> Mask:
        mask = super().allowed().copy()
        mask[-1] |= np.uint32(1 << 31)
        return mask


class MovedByRefusals(Served):
    """By that of an end of sequence."""

    def attempt(self, token: int) -> bool:
        taken = self.consume(token)
        if not taken and len(self.past) > 1 and token in self.vocabulary.eos_ids:
            self.past.append(self.past[0])
        return taken


class ClonesAreItself(Served):
    def clone(self) -> Self:
        return self


class RollsBackTooFar(Served):
    """By one token more, where the end is among them."""

    def rollback(self, count: int) -> None:
        super().rollback(count + (self.here.ended and len(self.past) > count + 1))


class ResetsByHalf(Served):
    def reset(self) -> None:
        del self.past[2:]


class ValidatesInPlace(Served):
    def validate(self, tokens: Sequence[int]) -> int:
        before = len(self.past)
        all(map(self.consume, tokens))
        return len(self.past) - before


class FailsToAnswer(Served):
    def forced_bytes(self) -> bytes:
        raise UnicodeDecodeError("utf-8", b"\xe6", 0, 1, "unexpected end of data")

    def forced_tokens(self) -> list[int]:
        return self.vocabulary.encode_greedy(super().forced_bytes())


class DeniesCompletion(Served):
    def completed(self) -> bool:
        return super().completed() and self.texts == [b""]


class DeniesTermination(Served):
    def terminated(self) -> bool:
        return False


class ForcesTooMuch(Served):
    def forced_bytes(self) -> bytes:
        return min(self.texts, default=b"")

    def forced_tokens(self) -> list[int]:
        return self.vocabulary.encode_greedy(super().forced_bytes())


class ForcesOtherTokens(Served):
    def forced_tokens(self) -> list[int]:
        return [*super().forced_tokens(), *self.vocabulary.ids_of(b"true")]


class ValidatesNoEnd(Served):
    def validate(self, tokens: Sequence[int]) -> int:
        return super().validate(tuple(one for one in tokens if one not in self.vocabulary.eos_ids))


class MovedByDrafts(Served):
    def draft_masks(self, draft: Sequence[int], rows: Masks) -> None:
        super().draft_masks(draft, rows)
        self.consume(draft[0])


class ConfusesBranches(Served):
    def draft_tree(self, draft: Sequence[int], parents: Sequence[int], rows: Masks) -> None:
        super().draft_tree(draft, parents, rows)
        rows[2:3] = rows[1]


class RollsBackRefusals(Served):
    """A token that was refused counts as one to be taken back."""

    refused = 0

    def attempt(self, token: int) -> bool:
        taken = self.consume(token)
        self.refused += not taken
        return taken

    def rollback(self, count: int) -> None:
        super().rollback(count - min(count, self.refused))


class WritesTheFirstRow(Served):
    def fill_row(self, rows: Masks, row: int) -> None:
        super().fill_row(rows, 0)


class ConfusesRows(Served):
    @staticmethod
    def fill_rows(several: Sequence[LibraryCalls], which: Sequence[int], rows: Masks) -> None:
        Served.fill_rows(several, sorted(which), rows)


class NeedsTheMainThread(Served):
    def mask(self, out: Mask) -> None:
        super().mask(out)
        if threading.current_thread() is not threading.main_thread():
            out[:] = 0


FAULTS: dict[str, type[Served]] = {
    "mask_written": OverwritesNothing,
    "mask_consume": TakesWhatItForbids,
    "end_consume": NeverTakesTheEnd,
    "ends_agree": KnowsOneEnd,
    "after_end": GoesOnBehindTheEnd,
    "end_again": EndsTwice,
    "special": AllowsSpecials,
    "beyond": SetsBitsBeyond,
    "attempt": MovedByRefusals,
    "clone": ClonesAreItself,
    "rollback": RollsBackTooFar,
    "reset": ResetsByHalf,
    "asking": ValidatesInPlace,
    "answers": FailsToAnswer,
    "completed": DeniesCompletion,
    "terminated": DeniesTermination,
    "forced_bytes": ForcesTooMuch,
    "forced_tokens": ForcesOtherTokens,
    "validate": ValidatesNoEnd,
    "drafts": MovedByDrafts,
    "draft_tree": ConfusesBranches,
    "branches": RollsBackRefusals,
    "row": WritesTheFirstRow,
    "rows_at_once": ConfusesRows,
    "threads": NeedsTheMainThread,
}
"""By the one rule that each of them breaks."""


class ServedEnumerator(Enumerator):
    """An engine whose library is the honest one."""

    serves: Callable[[LanguageMatcher], Served] = Served

    def library(self, schema: str) -> Library:
        """See `harness.protocol.ServingEngine.library`."""
        start = self.compile(schema)
        return Library(lambda: type(self).serves(start).calls(), self.vocabulary.eos_ids)


class GoesTooFar(ServedEnumerator):
    serves = RollsBackTooFar


class Dies(Served):
    def rollback(self, count: int) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class DiesOfRollback(ServedEnumerator):
    serves = Dies


def library_of_texts(
    vocabulary: Any, texts: Sequence[bytes], kind: type[Served] = Served, **about: Any
) -> Library:
    """What allows `texts` and nothing else, as `kind` serves it."""
    language = Language(frozenset(texts))
    start = LanguageMatcher(vocabulary, language, language)
    return Library(partial(_fresh, kind, start), vocabulary.eos_ids, **about)


def _fresh(kind: type[Served], start: LanguageMatcher) -> LibraryCalls:
    return kind(start).calls()
