"""A miniature of a library that offers all that a server may ask for, honest or with one fault.

`Served` walks a `tests.miniatures.Language` and keeps what it came through, so that it can go back.
Each subclass of it in `FAULTS` does as it does but for one fault.
"""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Self

import numpy as np

from harness.protocol import Library, LibraryCalls, Mask, Masks, set_bits
from tests.miniatures import Enumerator, Language, LanguageMatcher

_OFFERED = LibraryCalls.__dataclass_fields__.keys() - {"native"}


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
        written, texts = self.here.written, self.here.language.texts
        return [text[len(written) :] for text in texts if text.startswith(written)]

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
            name: getattr(self, name) for name in _OFFERED if name not in without
        }
        if "clone" in offered:
            offered["clone"] = lambda: self.clone().calls(without)
        return LibraryCalls(native=self, **offered)


FAULTS: dict[str, type[Served]] = {}
"""By the one rule that each of them breaks."""


def broken(rule: str, **methods: Any) -> None:
    """Plant a fault: `Served` with other methods."""
    FAULTS[rule] = type(f"Breaks_{rule}", (Served,), methods)


def bits(served: Served, ids: Sequence[int]) -> Mask:
    return set_bits(ids, served.vocabulary.words)


def only_when(condition: bool, mask: Mask) -> Mask:
    return mask * np.uint32(condition)


def honestly_forced(served: Served) -> list[int]:
    """The honest answer where only the other one is at fault."""
    return served.vocabulary.encode_greedy(Served.forced_bytes(served))


broken("mask_written", mask=lambda self, out: np.bitwise_or(out, self.allowed(), out=out))
broken(
    "mask_consume",
    allowed=lambda self: Served.allowed(self) & ~bits(self, self.vocabulary.ids_of(b'"a')),
)
broken(
    "end_consume",
    consume=lambda self, one: one not in self.vocabulary.eos_ids and Served.consume(self, one),
)
broken(
    "ends_agree",
    allowed=lambda self: Served.allowed(self) & ~bits(self, self.vocabulary.eos_ids[1:]),
    consume=lambda self, one: one not in self.vocabulary.eos_ids[1:] and Served.consume(self, one),
)
broken("after_end", allowed=lambda self: Served.allowed(self) | bits(self, [49] * self.here.ended))
broken(
    "end_again",
    allowed=lambda self: (
        Served.allowed(self) | only_when(self.here.ended, self.vocabulary.eos_mask)
    ),
)
broken(
    "special",
    allowed=lambda self: (
        Served.allowed(self)
        | only_when(not self.here.ended, self.vocabulary.special_mask & ~self.vocabulary.eos_mask)
    ),
)
broken(
    "beyond",
    allowed=lambda self: Served.allowed(self) | bits(self, [32 * self.vocabulary.words - 1]),
)


def moved_by_the_end(self: Served, token: int) -> bool:
    taken = self.consume(token)
    if not taken and len(self.past) > 1 and token in self.vocabulary.eos_ids:
        self.past.append(self.past[0])
    return taken


broken("attempt", attempt=moved_by_the_end)
broken("clone", clone=lambda self: self)
broken(  # by one token more, where the end is among them
    "rollback",
    rollback=lambda self, count: Served.rollback(
        self, count + (self.here.ended and len(self.past) > count + 1)
    ),
)
broken("reset", reset=lambda self: self.past.__delitem__(slice(2, None)))


def validates_in_place(self: Served, tokens: Sequence[int]) -> int:
    before = len(self.past)
    all(map(self.consume, tokens))
    return len(self.past) - before


def fails(_: Served) -> bytes:
    raise UnicodeDecodeError("utf-8", b"\xe6", 0, 1, "unexpected end of data")


broken("asking", validate=validates_in_place)
broken("answers", forced_bytes=fails, forced_tokens=honestly_forced)
broken("completed", completed=lambda self: Served.completed(self) and self.texts == [b""])
broken("terminated", terminated=lambda _: False)
broken(
    "forced_bytes",
    forced_bytes=lambda self: min(self.texts, default=b""),
    forced_tokens=honestly_forced,
)
broken(
    "forced_tokens",
    forced_tokens=lambda self: [*Served.forced_tokens(self), *self.vocabulary.ids_of(b"true")],
)
broken(
    "validate",
    validate=lambda self, tokens: Served.validate(
        self, [one for one in tokens if one not in self.vocabulary.eos_ids]
    ),
)


def moved_by_drafts(self: Served, draft: Sequence[int], rows: Masks) -> None:
    Served.draft_masks(self, draft, rows)
    self.consume(draft[0])


def confuses_branches(
    self: Served, draft: Sequence[int], parents: Sequence[int], rows: Masks
) -> None:
    Served.draft_tree(self, draft, parents, rows)
    rows[2:3] = rows[1]


def counts_refusals(self: Served, token: int) -> bool:
    taken = self.consume(token)
    self.refused += not taken
    return taken


def needs_the_main_thread(self: Served, out: Mask) -> None:
    Served.mask(self, out)
    if threading.current_thread() is not threading.main_thread():
        out[:] = 0


broken("drafts", draft_masks=moved_by_drafts)
broken("draft_tree", draft_tree=confuses_branches)
broken(  # a token that was refused counts as one to be taken back
    "branches",
    refused=0,
    attempt=counts_refusals,
    rollback=lambda self, count: Served.rollback(self, count - min(count, self.refused)),
)
broken("row", fill_row=lambda self, rows, row: Served.fill_row(self, rows, 0))
broken(
    "rows_at_once",
    fill_rows=staticmethod(lambda some, which, rows: Served.fill_rows(some, sorted(which), rows)),
)
broken("threads", mask=needs_the_main_thread)


def leads_its_original(self: Served) -> Served:
    twin = Served.clone(self)
    honest = twin.consume

    def consume(token: int) -> bool:
        return honest(token) and self.consume(token)

    twin.consume = consume  # type: ignore[method-assign]
    return twin


def leads_its_clones(self: Served, token: int) -> bool:
    for twin in self.twins:
        Served.consume(twin, token)
    return Served.consume(self, token)


def is_followed(self: Served) -> Served:
    twin = Served.clone(self)
    self.twins = [*self.twins, twin]
    return twin


def counts_since_a_mask(self: Served, token: int) -> bool:
    taken = Served.consume(self, token)
    self.unasked += taken
    return taken


def notes_the_end(self: Served, out: Mask) -> None:
    Served.mask(self, out)
    self.last = Served.completed(self)


def planted(**methods: Any) -> type[Served]:
    return type("Planted", (Served,), methods)


HALF_FAULTS: list[tuple[str, type[Served], str]] = [
    ("clone", planted(clone=leads_its_original), "moved by what its clone consumed"),
    (
        "clone",
        planted(twins=[], clone=is_followed, consume=leads_its_clones),
        "a clone was moved by what its original consumed",
    ),
    (
        "rollback",  # where no mask was asked for in between
        planted(
            unasked=0,
            consume=counts_since_a_mask,
            mask=lambda self, out: (Served.mask(self, out), setattr(self, "unasked", 0))[0],
            rollback=lambda self, count: Served.rollback(self, count - (self.unasked > 1)),
        ),
        "rolled back by",
    ),
    (
        "completed",  # until a mask was asked for
        planted(last=False, mask=notes_the_end, completed=lambda self: self.last),
        "it denies completion",
    ),
]
"""Faults that one half of a rule alone shows: the rule, the library, and what is said of it."""


class ServedEnumerator(Enumerator):
    """An engine whose library is the honest one."""

    serves: Callable[[LanguageMatcher], Served] = Served

    def library(self, schema: str) -> Library:
        """See `harness.protocol.ServingEngine.library`."""
        start = self.compile(schema)
        return Library(lambda: type(self).serves(start).calls(), self.vocabulary.eos_ids)


class GoesTooFar(ServedEnumerator):
    serves = FAULTS["rollback"]


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
    return Library(lambda: kind(start).calls(), vocabulary.eos_ids, **about)
