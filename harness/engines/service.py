"""The service inside an engine's host, which answers the requests of `harness.engines.requests`.

The engine walks ahead: what is asked about a position is asked when its masks, and those of some
positions after it, are known. So there are two matchers, one at the end of the walk and one that
follows to where something is asked.
"""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from harness.completion.rollout import ROLLOUT_OUTCOMES, Preferences, Rollout, roll_out
from harness.completion.text_writer import TextWriter
from harness.engines import requests
from harness.engines.requests import NO_CONTINUATION, TOKEN_REFUSED, Done
from harness.engines.text_probe import ProbedTexts, RefusedByte, probe
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, FollowingMatcher, Matcher, Refused, follow_by_mask, mask_by
from harness.protocol_checks.adapter_faults import FaultFound, StateExaminer, is_examined
from harness.protocol_checks.smoke import known_bytes, opened
from harness.workers import wire
from harness.workers.host_process import without
from harness.workers.outcomes import Compiled, MaskViolation, Refusal
from harness.workers.wire import MaskBuffer, as_answer, read_request

_MATCHERS = ("start", "here", "_ahead")
_REFUSED = MaskViolation("refused to consume a token that its mask allows")


class EngineService:
    """One engine, and the matcher that stands at the present position of the walk."""

    engine: Engine
    vocabulary: Vocabulary
    shared_masks: MaskBuffer
    start: Matcher
    here: Matcher
    _ahead: Matcher

    def __init__(self) -> None:
        self._walked: list[int] = []
        self._replay_diverged = False
        self._at = 0
        self._strict = False

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one request; an exception that leaves it is the engine's."""
        asked = read_request(message, requests.__name__)
        try:
            if isinstance(asked, requests.PositionRequest) and asked.at is not None:
                self._stand(asked.at)
            return as_answer(getattr(self, asked.command)(asked))
        except FaultFound as found:
            return as_answer(found.fault)

    def open(self, asked: requests.Open) -> requests.Opened:
        """See `harness.engines.requests.Open`; so for all that follow."""
        self.vocabulary = Vocabulary.load(asked.vocabulary)
        if asked.buffer != requests.SAME_BUFFER:
            self.shared_masks = MaskBuffer.taken_over(asked.buffer)
        self.shared_masks.of(self.vocabulary.words)
        self._forget(*_MATCHERS, "preferences", "writer", "examiner")
        kind = pkgutil.resolve_name(asked.engine)
        with without(getattr(kind, "unused", tuple)()):
            self.engine = opened(kind, self.vocabulary, asked.options)
        info = self.engine.info
        return requests.Opened(
            name=info.name,
            version=info.version,
            options=dict(info.options),
            packages=dict(info.packages),
            sha256=self.vocabulary.sha256,
            words=self.vocabulary.words,
        )

    def check(self, _asked: requests.Check) -> requests.Checked:
        known, wrong = known_bytes(self.engine, self.vocabulary)
        purpose = bool(getattr(self.engine, "bytes_differ_on_purpose", False))
        return requests.Checked(len(known), wrong, purpose)

    def compile(self, asked: requests.Compile) -> Compiled | Refusal:
        self._forget(*_MATCHERS)
        self._strict = asked.strict
        began = time.process_time()
        try:
            how: Any = self.engine
            start: Matcher = (how.compile_regex if asked.regex else how.compile)(asked.schema)
            compiled = time.process_time()
            mask_by(start.mask, self.vocabulary.words)
        except Refused as refusal:
            return Refusal(str(refusal)[:2000])
        ended = time.process_time()
        self.start = start
        self._begin(start.clone(), [])
        return Compiled(compiled - began, ended - compiled)

    def goto(self, asked: requests.Goto) -> Done:
        tokens = asked.tokens.tolist()
        here, taken = self._replayed(tokens)
        if taken < len(tokens):
            raise _diverged(taken)
        self._begin(here, tokens)
        return Done()

    def walk(self, asked: requests.Walk) -> Done | MaskViolation:
        """Walk on, or turn back and walk elsewhere."""
        at, bank = asked.consumed, asked.bank
        if (self._replay_diverged or len(self._walked) != at) and not self._turn_back(at):
            return _REFUSED
        self._replay_diverged = True
        ahead, shared_masks, clock = self._ahead, self.shared_masks, time.perf_counter_ns
        examiner, examined = self.examiner, {}
        tokens, masks = asked.tokens.tolist(), shared_masks.masks[bank]
        slot = 0
        try:
            for slot, token in enumerate(tokens):
                took = 0
                if token >= 0:
                    began = clock()
                    consumed = ahead.consume(token)
                    took = clock() - began
                    if not consumed:
                        return _REFUSED
                    self._walked.append(token)
                began = clock()
                ahead.mask(masks[slot])
                shared_masks.times[bank, slot] = clock() - began, took
                shared_masks.progress[0] = slot + 1
                examiner.cut_off(masks[slot], known=self._strict)
                if is_examined(asked.key, len(self._walked)):
                    if not self._walked:  # of which all others are clones
                        examiner.examine(self.start)
                    examiner.examine(ahead, masks[slot])
                    examined[slot] = ahead.clone()
            self._replay_diverged = False
            for slot, matcher in () if self._strict else examined.items():
                # after all of them: what is computed for it would change their times
                key, way = f"{asked.key}/{at + slot}", tokens[slot + 1 :]
                examiner.try_faster_way(matcher, way, masks[slot : len(tokens)], key)
        except FaultFound:
            shared_masks.progress[0] = slot  # its mask is none
            raise
        return Done()

    def _forget(self, *names: str) -> None:
        """Let go of what belongs to another schema, or another vocabulary."""
        for name in names:
            vars(self).pop(name, None)

    def _begin(self, here: Matcher, walked: list[int]) -> None:
        """Stand after `walked`, with nothing ahead."""
        self.here, self._ahead = here, here.clone()
        self._walked, self._at = walked, len(walked)
        self._replay_diverged = False

    def _turn_back(self, at: int) -> bool:
        """Forget what was walked beyond `at`; False where the engine refuses what it took once."""
        near = self._at <= at
        ahead, since = (self.here.clone(), self._at) if near else (self.start.clone(), 0)
        self._ahead, self._walked = ahead, self._walked[:at]
        return all(map(ahead.consume, self._walked[since:]))

    def _stand(self, at: int) -> None:
        """Follow to where something is asked."""
        if at < self._at:
            self.here, self._at = self._replayed(self._walked[:at])
        while self._at < at:
            if not self.here.consume(self._walked[self._at]):
                raise _diverged(self._at)
            self._at += 1

    def _replayed(self, tokens: Sequence[int]) -> tuple[Matcher, int]:
        """A matcher after `tokens` from the start, and how many of them it took."""
        matcher, count = self.start.clone(), 0
        while count < len(tokens) and matcher.consume(tokens[count]):
            count += 1
        return matcher, count

    def prove(self, asked: requests.Prove) -> requests.Each:
        continuations = [tuple(one) for one in asked.continuations.ints()]
        lists = [[continuations[number] for number in one] for one in asked.members.ints()]
        questions = zip(
            asked.tokens.tolist(), asked.lists.tolist(), asked.starts.tolist(), strict=True
        )
        choice = np.full(len(asked.tokens), NO_CONTINUATION, dtype=np.int32)
        for index, (token, which, start) in enumerate(questions):
            choice[index] = self._first_allowed(token, lists[which], start)
        return requests.Each(choice)

    def roll_out(self, asked: requests.RollOut) -> requests.RolledOut:
        eos, rollouts = self.vocabulary.eos_ids, []
        for token in asked.tokens.tolist():
            trial = self._after(token)
            if trial is None:
                rollouts.append(Rollout("mask_consume_mismatch", ()))
                continue
            if token in eos:
                rollouts.append(Rollout("complete", ()))
                continue
            rollout = roll_out(trial, self.preferences, eos, f"{asked.key}/{token}", asked.limit)
            if rollout.outcome == "dead_end":
                self.examiner.ask_again(trial, np.zeros(self.vocabulary.words, dtype=np.uint32))
            elif rollout.outcome == "mask_consume_mismatch":
                self.examiner.hold(trial, rollout.tokens[-1:], [True])
            rollouts.append(rollout)
        return _rolled_out(rollouts)

    def confirm(self, asked: requests.Confirm) -> requests.Confirmed:
        continuations = asked.continuations.ints()
        reached = np.zeros(len(continuations), dtype=np.int32)
        consumes = np.zeros(len(continuations), dtype=np.bool_)
        for index, token in enumerate(asked.tokens.tolist()):
            trial, tokens = self._after(token), continuations[index]
            if trial is None:
                continue
            count = follow_by_mask(trial, tokens, self.vocabulary.words)
            reached[index] = count + 1
            if count < len(tokens):
                taken = all(trial.consume(one) for one in tokens[:count])
                if taken:
                    self.examiner.hold(trial, [tokens[count]], [False])
                consumes[index] = taken and trial.consume(tokens[count])
        return requests.Confirmed(reached, consumes)

    def ask_again(self, asked: requests.AskAgain) -> Done:
        self.examiner.hold(self.here, asked.tokens.tolist(), asked.allowed.tolist())
        return Done()

    def lengthen(self, asked: requests.Lengthen) -> requests.Each:
        lists = [(token,) * asked.limit for token in asked.tokens.tolist()]
        times = [follow_by_mask(self.here, one, self.vocabulary.words) for one in lists]
        return requests.Each(np.array(times, dtype=np.int32))

    def follow(self, asked: requests.Follow) -> requests.Each:
        allowed = list(map(self._follows(self.here), asked.lists.ints()))
        return requests.Each(np.array(allowed, dtype=np.int32))

    def _follows(self, matcher: Matcher) -> Callable[[Sequence[int]], int]:
        """How many leading tokens of a list a matcher allows, by its fastest way if trusted."""
        if isinstance(matcher, FollowingMatcher) and not self._strict:
            return matcher.follow
        return lambda tokens: follow_by_mask(matcher, tokens, self.vocabulary.words)

    def find_refused(self, asked: requests.FindRefused) -> requests.Each:
        follow = self._follows(self.here)
        refused = RefusedByte(self.here, self.vocabulary, follow, asked.forced, asked.looks_on)
        before = list(map(refused.of, asked.tokens.tolist()))
        return requests.Each(np.array(before, dtype=np.int32))

    def probe(self, asked: requests.Probe) -> ProbedTexts:
        eos, again = self.vocabulary.eos_mask, self.examiner.ask_again
        known = self._follows(self.start) if asked.follows else lambda _: 0
        return ProbedTexts.of(
            probe(self.start, tokens, eos, again, known(tokens)) for tokens in asked.texts.ints()
        )

    def write(self, asked: requests.Write) -> requests.RolledOut:
        numbers = range(asked.first, asked.first + asked.count)
        texts = self.writer.write(self.start, asked.hints, asked.key, numbers, asked.limit)
        return _rolled_out(list(texts))

    @cached_property
    def examiner(self) -> StateExaminer:
        return StateExaminer(self.vocabulary, self._goes_on)

    def _goes_on(self) -> None:
        """Let it be known that what takes time is more than one thing."""
        self.shared_masks.progress[1] += 1

    @cached_property
    def preferences(self) -> Preferences:
        return Preferences.of(self.vocabulary)

    @cached_property
    def writer(self) -> TextWriter:
        return TextWriter(self.vocabulary, self.preferences)

    def _after(self, token: int) -> Matcher | None:
        """A clone that consumed `token`; None when the engine refuses it."""
        trial = self.here.clone()
        return trial if trial.consume(token) else None

    def _first_allowed(self, token: int, lists: Sequence[Sequence[int]], start: int) -> int:
        follow = self._follows(self.here)
        for rank in range(start, len(lists)):
            taken = follow((token, *lists[rank]))
            if taken == len(lists[rank]) + 1:
                return rank
            if not taken:  # the token itself is refused
                return TOKEN_REFUSED
        untried = start >= len(lists)
        return TOKEN_REFUSED if untried and self._after(token) is None else NO_CONTINUATION


def _diverged(taken: int) -> FaultFound:
    """That an engine refuses what it took before, at the first such token."""
    return FaultFound("second_way", f"after {taken} tokens")


def _rolled_out(found: Sequence[Rollout]) -> requests.RolledOut:
    outcomes = np.array([ROLLOUT_OUTCOMES.index(one.outcome) for one in found], dtype=np.int8)
    return requests.RolledOut(outcomes, wire.Ragged.of_ints([one.tokens for one in found]))
