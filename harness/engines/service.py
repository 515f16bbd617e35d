"""The service inside an engine's host: everything that touches the engine, hot loops included.

Commands: ``open`` (engine and vocabulary), ``check`` (what the engine holds as its vocabulary),
``compile``, ``keep`` (the compilation, for later runs), ``goto`` (replay consumed tokens), ``walk``
(consume a token, then mask; a batch of them), ``prove`` (which continuation of a list each disputed
token is allowed to take to the end), ``confirm`` (the same for one completion each, mask by mask),
``roll_out``, ``exhaust`` (whether any completion exists within a limit), ``lengthen`` (how often
one token may follow itself) and ``probe`` (whole texts from the start, mask by mask). Masks are
written to a buffer that the coordinator reads.

The engine walks ahead: what is asked about a position (``at``) is asked when its masks, and those
of some positions behind it, are known. So there are two matchers, one at the end of the walk and
one that follows to where something is asked.
"""

from __future__ import annotations

import math
import mmap
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.completion.rollout import ENDINGS, Preferences, exhausted, roll_out
from harness.engines.compiled_cache import (
    Compilation,
    CompiledCache,
    compile_or_restore,
    open_cache,
)
from harness.engines.text_probe import arrays_of, probe
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import (
    Engine,
    FollowingMatcher,
    LeadingMatcher,
    Mask,
    Matcher,
    Refused,
    follow_by_mask,
)
from harness.workers import wire
from harness.workers.host_process import load
from harness.workers.mask_buffer import MaskBuffer, size_of

NO_CONTINUATION = -1
LIES = -2


class EngineService:
    """One engine, and the matcher that stands at the present position of the walk."""

    engine: Engine
    vocabulary: Vocabulary
    shared_masks: MaskBuffer

    def __init__(self) -> None:
        self.start: Matcher | None = None
        self.here: Matcher | None = None
        self._ahead: Matcher | None = None
        self._walked: list[int] = []
        self._astray = False
        self._at = 0
        self._preferences: Preferences | None = None
        self._strict = False
        self._cache: CompiledCache | None = None
        self._compilation: tuple[str, Compilation] | None = None
        self._buffer: Mask = np.zeros(0, dtype=np.uint32)

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command; an exception that leaves it is the engine's."""
        if (refused := self._stand(message.head.get("at"))) is not None:
            return refused
        commands = {
            "open": self.open,
            "check": self.check,
            "compile": self.compile,
            "keep": self.keep,
            "goto": self.goto,
            "walk": self.walk,
            "prove": self.prove,
            "roll_out": self.roll_out,
            "confirm": self.confirm,
            "exhaust": self.exhaust,
            "lengthen": self.lengthen,
            "probe": self.probe,
        }
        return commands[message.head["do"]](message)

    def open(self, message: wire.Message) -> wire.Message:
        """Load the vocabulary, construct the engine, map the mask buffer."""
        head = message.head
        self.vocabulary = Vocabulary.load(head["vocabulary"])
        memory = mmap.mmap(head["buffer"], size_of(self.vocabulary.words))
        self.shared_masks = MaskBuffer(memory, self.vocabulary.words)
        self._buffer = np.zeros(self.vocabulary.words, dtype=np.uint32)
        self.engine = load(head["engine"])(self.vocabulary, head["options"])
        self._cache = open_cache(
            head.get("cache"), self.engine, self.vocabulary.sha256, head.get("memory", 4 << 30)
        )
        info = self.engine.info
        return wire.Message(
            {
                "name": info.name,
                "version": info.version,
                "options": dict(info.options),
                "packages": dict(info.packages),
                "sha256": self.vocabulary.sha256,
                "words": self.vocabulary.words,
            }
        )

    def check(self, _message: wire.Message) -> wire.Message:
        """Compare every ordinary token's bytes with what the engine itself holds.

        Answers how many tokens it could be asked about, and the ids on which it differs.
        """
        ordinary = np.flatnonzero(~self.vocabulary.special).tolist()
        known = self.engine.token_bytes(ordinary)
        asked = 0
        wrong = []
        for token, text in zip(ordinary, known, strict=True):
            if text is None:
                continue
            asked += 1
            if text != self.vocabulary.tokens[token]:
                wrong.append(token)
        purpose = bool(getattr(self.engine, "bytes_differ_on_purpose", False))
        return wire.Message(
            {"asked": asked, "of": len(ordinary), "wrong": wrong, "on_purpose": purpose}
        )

    def compile(self, message: wire.Message) -> wire.Message:
        """Compile a schema and stand at its start; the first mask belongs to the time.

        Where a compilation of the same was kept, and would have been within ``limit`` seconds, it
        is restored; the times are those of the compilation. ``keep`` in the answer asks for the
        command of that name, which takes time of its own.
        """
        head = message.head
        self.start = self.here = self._ahead = self._compilation = None
        self._strict = bool(head.get("strict"))
        limit = head.get("limit", math.inf)
        try:
            one = compile_or_restore(self.engine, head["schema"], self._buffer, self._cache, limit)
        except Refused as refusal:
            return wire.Message({"refused": str(refusal)[:2000]})
        self.start = one.start
        self._begin(one.start.clone(), [])
        keep = self._cache is not None and self._cache.worth_keeping(one)
        self._compilation = (head["schema"], one) if keep else None
        times = {"compile": one.compile_seconds, "first_mask": one.first_mask_seconds}
        return wire.Message({**times, "restored": one.restored, "keep": keep})

    def keep(self, _message: wire.Message) -> wire.Message:
        """Keep the last compilation for later runs."""
        if self._cache is not None and self._compilation is not None:
            self._cache.keep(*self._compilation)
        self._compilation = None
        return wire.Message({})

    def goto(self, message: wire.Message) -> wire.Message:
        """Stand where the start state is after the given tokens."""
        tokens = message.arrays["tokens"].tolist()
        here, taken = self._replayed(tokens)
        if taken < len(tokens):
            return wire.Message({"refused_at": taken})
        self._begin(here, tokens)
        return wire.Message({})

    def walk(self, message: wire.Message) -> wire.Message:
        """Consume ``tokens`` (k,) int32 one by one, and write the mask behind each to the buffer.

        ``from`` (header) is the number of tokens consumed before; what was walked beyond it is
        forgotten. ``bank`` (header) is where in the buffer. A first token of -1 stands for none:
        the mask of where the walk stands. Out: ``lies`` where a token was refused; the buffer tells
        at which.
        """
        head, tokens = message.head, message.arrays["tokens"].tolist()
        at, bank = head["from"], head["bank"]
        if (self._astray or len(self._walked) != at) and not self._turn_back(at):
            return wire.Message({"lies": True})
        self._astray = True
        ahead, shared_masks, clock = self._ahead, self.shared_masks, time.perf_counter_ns
        assert ahead is not None
        for slot, token in enumerate(tokens):
            took = 0
            if token >= 0:
                began = clock()
                consumed = ahead.consume(token)
                took = clock() - began
                if not consumed:
                    return wire.Message({"lies": True})
                self._walked.append(token)
            shared_masks.write(bank, slot, ahead.mask, clock, took)
        self._astray = False
        return wire.Message({})

    def _begin(self, here: Matcher, walked: list[int]) -> None:
        """Stand behind `walked`, with nothing ahead."""
        self.here, self._ahead = here, here.clone()
        self._walked, self._at = walked, len(walked)
        self._astray = False

    def _turn_back(self, at: int) -> bool:
        """Forget what was walked beyond `at`; False where the engine refuses what it took before.

        From where something was asked last it is not far, as a rule.
        """
        assert self.here is not None
        assert self.start is not None
        near = self._at <= at
        ahead, since = (self.here.clone(), self._at) if near else (self.start.clone(), 0)
        self._ahead, self._walked = ahead, self._walked[:at]
        return all(map(ahead.consume, self._walked[since:]))

    def _stand(self, at: int | None) -> wire.Message | None:
        """Follow to where something is asked; an answer where the engine refuses what it took."""
        if at is None or at == self._at:
            return None
        assert self.here is not None
        if at < self._at:
            self.here, self._at = self._replayed(self._walked[:at])
        while self._at < at:
            if not self.here.consume(self._walked[self._at]):
                return wire.Message({"refused_at": self._at})
            self._at += 1
        return None

    def _replayed(self, tokens: Sequence[int]) -> tuple[Matcher, int]:
        """A matcher behind `tokens` from the start, and how many of them it took."""
        assert self.start is not None
        matcher, count = self.start.clone(), 0
        while count < len(tokens) and matcher.consume(tokens[count]):
            count += 1
        return matcher, count

    def prove(self, message: wire.Message) -> wire.Message:
        """For each token, the first continuation of its list that is allowed to the end.

        Arrays in: ``tokens``, ``lists``, ``starts`` (n,) int32: the disputed token, which list,
        and the rank to begin at; ragged ``continuations`` (token ids, with end-of-sequence) and
        ``members`` (a list is continuation numbers). Out: ``choice`` (n,) int32, a rank in the
        token's list, `NO_CONTINUATION`, or `LIES` where the engine refuses a token of its own
        mask. Where the engine has a faster way than mask and consume in turn, that way decides,
        unless the schema was compiled as ``strict``.
        """
        arrays = message.arrays
        continuations = wire.Ragged.from_arrays(arrays, "continuations").ints()
        members = wire.Ragged.from_arrays(arrays, "members").ints()
        tuples = [tuple(one) for one in continuations]
        lists = [[tuples[number] for number in one] for one in members]
        questions = zip(
            arrays["tokens"].tolist(),
            arrays["lists"].tolist(),
            arrays["starts"].tolist(),
            strict=True,
        )
        choice = np.full(len(arrays["tokens"]), NO_CONTINUATION, dtype=np.int32)
        first_allowed = self._way()
        for index, (token, which, start) in enumerate(questions):
            choice[index] = first_allowed(token, lists[which], start)
        return wire.Message({}, {"choice": choice})

    def roll_out(self, message: wire.Message) -> wire.Message:
        """Roll out from each of ``tokens``; ``key`` and ``limit`` are in the header.

        Out: ``endings`` (n,) int8, an index into `harness.completion.rollout.ENDINGS`; ragged
        ``taken``.
        """
        if self._preferences is None:
            self._preferences = Preferences.of(self.vocabulary)
        eos = self.vocabulary.eos_ids
        key, limit = message.head["key"], message.head["limit"]
        endings: list[int] = []
        taken: list[Sequence[int]] = []
        for token in message.arrays["tokens"].tolist():
            trial = self._after(token)
            if trial is None:
                endings.append(ENDINGS.index("mask_lies"))
                taken.append(())
                continue
            if token in eos:
                endings.append(ENDINGS.index("complete"))
                taken.append(())
                continue
            one = roll_out(trial, self._preferences, eos, f"{key}/{token}", limit)
            endings.append(ENDINGS.index(one.ending))
            taken.append(one.tokens)
        return wire.Message(
            {},
            {
                "endings": np.array(endings, dtype=np.int8),
                **wire.Ragged.of_ints(taken).arrays("taken"),
            },
        )

    def confirm(self, message: wire.Message) -> wire.Message:
        """How far each token's completion is allowed when every mask on the way is looked at.

        Arrays in: ``tokens`` (n,) int32, ragged ``continuations``, one for each. Out:
        ``reached`` (n,) int32, the tokens of the continuation up to the first that the mask
        forbids, that one included (0 where the first token itself is refused, one more than there
        are where all are allowed); ``consumes`` (n,) bool, whether the engine nevertheless
        consumes that one.
        """
        continuations = wire.Ragged.from_arrays(message.arrays, "continuations").ints()
        reached = np.zeros(len(continuations), dtype=np.int32)
        consumes = np.zeros(len(continuations), dtype=np.bool_)
        for index, token in enumerate(message.arrays["tokens"].tolist()):
            trial, tokens = self._after(token), continuations[index]
            if trial is None:
                continue
            count = follow_by_mask(trial, tokens, self.vocabulary.words)
            reached[index] = count + 1
            if count < len(tokens):
                taken = all(trial.consume(one) for one in tokens[:count])
                consumes[index] = taken and trial.consume(tokens[count])
        return wire.Message({}, {"reached": reached, "consumes": consumes})

    def exhaust(self, message: wire.Message) -> wire.Message:
        """Whether all ways behind each of ``tokens`` are known to miss the end of generation.

        ``limit`` (header) is the longest way, ``budget`` the number of masks looked at for one
        token before the answer is that nothing is known. Out: ``closed`` (n,) bool.
        """
        limit, budget = message.head["limit"], message.head["budget"]
        tokens = message.arrays["tokens"].tolist()
        closed = [
            trial is not None
            and exhausted(
                trial, self.vocabulary.eos_ids, self.vocabulary.size, limit=limit, budget=budget
            )
            for trial in map(self._after, tokens)
        ]
        return wire.Message({}, {"closed": np.array(closed, dtype=np.bool_)})

    def lengthen(self, message: wire.Message) -> wire.Message:
        """How often each of ``tokens`` may follow itself here, ``limit`` (header) at most.

        The mask is looked at before every token. Out: ``times`` (n,) int32.
        """
        assert self.here is not None
        limit, words = message.head["limit"], self.vocabulary.words
        times = [
            follow_by_mask(self.here, (token,) * limit, words)
            for token in message.arrays["tokens"].tolist()
        ]
        return wire.Message({}, {"times": np.array(times, dtype=np.int32)})

    def probe(self, message: wire.Message) -> wire.Message:
        """From the start, how far each of ``texts`` (ragged) gets, and what holds there.

        Out: the arrays of `harness.engines.text_probe.arrays_of`.
        """
        assert self.start is not None
        texts = wire.Ragged.from_arrays(message.arrays, "texts").ints()
        eos = self.vocabulary.eos_mask
        return wire.Message({}, arrays_of(probe(self.start, tokens, eos) for tokens in texts))

    def _after(self, token: int) -> Matcher | None:
        """A clone that consumed `token`; None when the engine refuses it."""
        assert self.here is not None
        trial = self.here.clone()
        return trial if trial.consume(token) else None

    def _way(self) -> Callable[[int, Sequence[Sequence[int]], int], int]:
        """The fastest way of the engine to find the first allowed continuation of a token."""
        if self._strict or not isinstance(self.here, FollowingMatcher):
            return self._first_by_mask
        return self._first_led if isinstance(self.here, LeadingMatcher) else self._first_followed

    def _first_led(self, token: int, lists: Sequence[Sequence[int]], start: int) -> int:
        follow_behind = self.here.follow_behind  # type: ignore[union-attr]
        for rank in range(start, len(lists)):
            taken = follow_behind(token, lists[rank])
            if taken == len(lists[rank]) + 1:
                return rank
            if not taken:  # the token itself is refused
                return LIES
        untried = start >= len(lists)
        return LIES if untried and self._after(token) is None else NO_CONTINUATION

    def _first_followed(self, token: int, lists: Sequence[Sequence[int]], start: int) -> int:
        trial: Any = self._after(token)
        if trial is None:
            return LIES
        for rank in range(start, len(lists)):
            if trial.follow(lists[rank]) == len(lists[rank]):
                return rank
        return NO_CONTINUATION

    def _first_by_mask(self, token: int, lists: Sequence[Sequence[int]], start: int) -> int:
        trial = self._after(token)
        if trial is None:
            return LIES
        for rank in range(start, len(lists)):
            tokens = lists[rank]
            if follow_by_mask(trial, tokens, self.vocabulary.words) == len(tokens):
                return rank
        return NO_CONTINUATION
