"""The panel: the engines of a run, each in its host, asked together and kept alive.

A seat that fails is empty for the rest of the case, or until `Panel.recover` has brought its
host back to the same position. Every failure is told as an outcome of that engine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from harness.engines.slow_schemas import SlowSchemas
from harness.engines.specs import EngineSpec
from harness.workers import wire
from harness.workers.hosts import Host, HostSpec, gather, poll, wait
from harness.workers.mask_buffer import BANKS
from harness.workers.outcomes import (
    Compiled,
    Crashed,
    Failure,
    MaskLies,
    Outcome,
    OutOfMemory,
    Refused,
    TimedOut,
)

Ask = tuple[Mapping[str, object], Mapping[str, wire.Array]]
Answer = wire.Message | Failure

KEEP_SECONDS = 60.0
"""Processor time for keeping a compilation."""

T = TypeVar("T")
Step = Generator[None, Answer, T]
"""What takes several answers of one engine: it asks, waits to be given the answer, goes on."""


@dataclass(frozen=True)
class Limits:
    """What one request to an engine may cost: seconds of processor time, bytes of memory."""

    compile: float = 60.0
    mask: float = 10.0
    resolve: float = 120.0
    memory: int = 4 << 30


@dataclass(frozen=True)
class Walked:
    """How far one engine came in a batch of positions.

    Attributes:
        masks: Those of the positions that it reached, shape ``(n, words)`` uint32; shared memory
            that the walk after the next overwrites.
        wide: The same in words of 64 bits (`harness.workers.mask_buffer.MaskBuffer`).
        times: Nanoseconds inside the host: to compute the mask, and to consume the token before,
            shape ``(n, 2)`` int64; overwritten likewise.
        failure: What kept it from the next position; None where it reached all.
    """

    masks: npt.NDArray[np.uint32]
    wide: npt.NDArray[np.uint64]
    times: npt.NDArray[np.int64]
    failure: Failure | None

    def __len__(self) -> int:
        return len(self.masks)


class Panel:
    """All engines of a run, numbered as the run lists them.

    Args:
        specs: The engines.
        vocabulary_path: A saved vocabulary.
        words: Words of its masks.
        limits: What a request may cost.
        slow: What is remembered of slow compilations; None remembers nothing.
        kept_in: The directory of compilations that are kept; None keeps none.

    Attributes:
        meanwhile: Called again and again while engines are waited for.
    """

    meanwhile: Callable[[], None] | None = None
    _kept_in: str | None = None
    _slow: SlowSchemas | None = None

    def __init__(
        self,
        specs: Sequence[EngineSpec],
        vocabulary_path: str,
        words: int,
        limits: Limits,
        slow: SlowSchemas | None = None,
        kept_in: str | None = None,
    ) -> None:
        self._slow = slow
        self._kept_in = kept_in
        self.specs = tuple(specs)
        self.limits = limits
        self.infos: list[dict[str, Any]] = [{} for _ in specs]
        self._vocabulary_path = vocabulary_path
        self._schema = ""
        self._strict: set[int] = set()
        self._printed: dict[int, str] = {}
        self._opened = [False] * len(specs)
        self._bank = 0
        self._walking: set[int] = set()
        self._ways: dict[int, Walked] = {}
        self._steps: dict[int, Step[Outcome]] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._hosts = [
            Host(
                HostSpec(
                    spec.name,
                    "harness.engines.service:EngineService",
                    spec.interpreter,
                    spec.paths,
                    limits.memory,
                ),
                words,
            )
            for spec in specs
        ]

    def __len__(self) -> int:
        return len(self.specs)

    def open(self) -> dict[int, Failure]:
        """Start the hosts that are down, all at once; the engines that do not come up."""
        down = [index for index in range(len(self)) if not self.up(index)]
        found = self._done({index: self._opening(index) for index in down})
        return {index: failure for index, failure in found.items() if failure is not None}

    def _opening(self, index: int) -> Step[Failure | None]:
        """Start one host and have the engine opened in it."""
        self._launch(index)
        answer = yield
        if not isinstance(answer, wire.Message):
            return answer
        head = {
            "do": "open",
            "engine": self.specs[index].reference,
            "options": dict(self.specs[index].options),
            "vocabulary": self._vocabulary_path,
            "buffer": self._hosts[index].buffer_descriptor,
            "cache": self._kept_in,
            "memory": self.limits.memory,
        }
        self._submit({index: (head, {})}, self._hosts[index].spec.start_seconds)
        answer = yield
        if not isinstance(answer, wire.Message):
            self._hosts[index].stop()
            return answer
        self.infos[index] = dict(answer.head)
        self._opened[index] = True
        return None

    def check(self) -> dict[int, wire.Message | Failure]:
        """Ask every engine which bytes it holds for the vocabulary's tokens."""
        return self._ask({i: ({"do": "check"}, {}) for i in range(len(self))}, 120.0)

    def compile(
        self,
        schema: str,
        engines: Iterable[int] | None = None,
        distrusted: Collection[int] | None = None,
    ) -> dict[int, Outcome]:
        """Compile a schema in every engine at once; restarts the hosts that are down.

        Args:
            schema: Its JSON text.
            engines: Only these engines; None means all.
            distrusted: Engines of which every mask is looked at while resolving; None leaves
                them as they are.
        """
        self.begin_compile(schema, engines, distrusted)
        return self.end_compile()

    def begin_compile(
        self,
        schema: str,
        engines: Iterable[int] | None = None,
        distrusted: Collection[int] | None = None,
    ) -> None:
        """As `compile`, without waiting; nothing else may be asked before `end_compile`."""
        self._schema = schema
        if distrusted is not None:
            self._strict = set(distrusted)
        self._outcomes = {}
        engines = self._all(engines)
        self._end_walks(engines)
        steps = {index: self._compiling(index) for index in engines}
        self._steps = self._gone_on(steps, dict.fromkeys(steps), self._outcomes)

    def compiled(self) -> bool:
        """Go on with what was begun where there are answers; whether all of it is done."""
        if self._steps:
            answers: dict[int, Answer] = self._polled(list(self._steps), 0.0)
            going = {index: self._steps.pop(index) for index in answers}
            self._steps |= self._gone_on(going, answers, self._outcomes)
        return not self._steps

    def end_compile(self) -> dict[int, Outcome]:
        """Wait for what was begun."""
        while not self.compiled():
            self.wait(0.1)
            self._meanwhile()
        return dict(sorted(self._outcomes.items()))

    def busy(self) -> list[Host]:
        """The hosts that are at work on what was begun."""
        return [self._hosts[index] for index in self._steps]

    def wait(self, timeout: float) -> None:
        """Wait until there is something to go on with, or `timeout` seconds."""
        wait(self.busy(), timeout)

    def _compiling(self, index: int, *, keep: bool = True) -> Step[Outcome]:
        """Bring one host up if it is down, and have the schema compiled in it, and kept."""
        host, schema = self._hosts[index], self._schema
        self.output(index)
        if not self.up(index):
            failure = yield from self._opening(index)
            host.output()
            if failure is not None:
                return failure
        timed_out = TimedOut(f"over the limit of {self.limits.compile:g} s")
        limit = self.limits.compile
        if self._slow is not None:
            recalled = self._slow.recall(self.infos[index], schema)
            limit = self._slow.limit(recalled)
            if recalled is not None and recalled.outcome == "timed_out":
                self._printed[index] = recalled.printed
                return timed_out
        strict = index in self._strict
        head = {"do": "compile", "schema": schema, "strict": strict, "limit": limit}
        self._submit({index: (head, {})}, limit)
        answer = yield
        outcome = self._compiled(answer)
        if keep and isinstance(answer, wire.Message) and answer.head.get("keep"):
            self._submit({index: ({"do": "keep"}, {})}, KEEP_SECONDS)
            yield
            if not host.running:  # of what nobody asked for: nothing is held against the engine
                return (yield from self._compiling(index, keep=False))
        self._opened[index] = host.running
        late = isinstance(outcome, Compiled) and outcome.seconds > limit
        if late or isinstance(outcome, TimedOut):
            outcome = timed_out
        self._remember(index, schema, outcome)
        return outcome

    def _done(self, steps: Mapping[int, Step[T]]) -> dict[int, T]:
        """What became of steps, gone to the end."""
        found: dict[int, T] = {}
        going = self._gone_on(steps, dict.fromkeys(steps), found)
        while going:
            answers = self._polled(list(going), 0.1)
            waiting = {index: step for index, step in going.items() if index not in answers}
            ready = {index: going[index] for index in answers}
            going = {**waiting, **self._gone_on(ready, answers, found)}
        return found

    @staticmethod
    def _gone_on(
        steps: Mapping[int, Step[T]], answers: Mapping[int, Answer | None], found: dict[int, T]
    ) -> dict[int, Step[T]]:
        """Give every step its answer; those that wait for another, the others' ends in `found`."""
        waiting = {}
        for index, step in steps.items():
            try:
                step.send(answers[index])  # type: ignore[arg-type]
                waiting[index] = step
            except StopIteration as end:
                found[index] = end.value
        return waiting

    def _launch(self, index: int) -> None:
        self._hosts[index].launch()

    def _polled(self, engines: Sequence[int], timeout: float) -> dict[int, Answer]:
        """The answers that are there within `timeout` seconds."""
        found = poll([self._hosts[index] for index in engines], timeout)
        return {engines[at]: answer for at, answer in found.items()}

    def _remember(self, index: int, schema: str, outcome: Outcome) -> None:
        match outcome:
            case TimedOut() if self._slow is not None:
                printed = self._printed[index] = self._hosts[index].output()
                limit = self.limits.compile
                self._slow.keep(self.infos[index], schema, "timed_out", limit, printed)
            case Compiled() if self._slow is not None:
                self._slow.keep(self.infos[index], schema, "compiled", outcome.seconds)

    def walk(self, engines: Sequence[int], tokens: Sequence[int], at: int) -> dict[int, Walked]:
        """Consume tokens everywhere, and have the mask behind each written.

        Args:
            engines: Of which engines.
            tokens: `harness.workers.mask_buffer.SLOTS` at most; -1 as the first consumes nothing.
            at: How many tokens were consumed before them; the engines forget what came behind.
        """
        self.begin_walk(engines, tokens, at)
        return self.end_walk(engines)

    def begin_walk(self, engines: Sequence[int], tokens: Sequence[int], at: int) -> None:
        """As `walk`, without waiting.

        What is asked of an engine before `end_walk` waits until it has walked.
        """
        self._bank = (self._bank + 1) % BANKS
        head = {"do": "walk", "from": at, "bank": self._bank}
        arrays = {"tokens": np.array(tokens, dtype=np.int32)}
        asks: dict[int, Ask] = dict.fromkeys(engines, (head, arrays))
        self._submit(asks, self.limits.mask, stepwise=True)
        self._walking.update(engines)

    def end_walk(self, engines: Sequence[int]) -> dict[int, Walked]:
        """How far each of the engines came."""
        self._end_walks(engines)
        return {index: self._ways.pop(index) for index in engines}

    def _end_walks(self, engines: Iterable[int]) -> None:
        """Wait for those of the engines that walk."""
        walking = sorted(self._walking.intersection(engines))
        self._walking.difference_update(walking)
        for index, answer in self.collect(walking).items():
            self._ways[index] = self._walked(index, answer)

    def _walked(self, engine: int, answer: Answer) -> Walked:
        failure = None if isinstance(answer, wire.Message) else answer
        if isinstance(answer, wire.Message) and answer.head.get("lies"):
            failure = MaskLies("refused to consume a token that its mask allows")
        buffer = self._hosts[engine].buffer
        bank, reached = self._bank, int(buffer.progress[0])
        masks, wide, times = (
            buffer.masks[bank],
            buffer.wide[bank],
            buffer.times[bank],
        )
        return Walked(masks[:reached], wide[:reached], times[:reached], failure)

    def ask(self, asks: Mapping[int, Ask]) -> dict[int, Answer]:
        """Ask several engines something while resolving, all at once."""
        self.begin(asks)
        return self.collect(asks)

    def begin(self, asks: Mapping[int, Ask]) -> None:
        """As `ask`, without waiting; nothing else may be asked of them before `collect`."""
        self._submit(asks, self.limits.resolve)

    def collect(self, engines: Iterable[int]) -> dict[int, Answer]:
        """The answers of engines of which something was asked."""
        engines = list(engines)
        answers = self.gathered(engines)
        for index in engines:
            if not self._hosts[index].running:
                self._opened[index] = False
        return {
            index: _SECOND_WAY if _refused(answer) else answer
            for index, answer in zip(engines, answers, strict=True)
        }

    def gathered(self, engines: Sequence[int]) -> list[Answer]:
        """The bare answers, waited for."""
        return list(gather([self._hosts[index] for index in engines], self.meanwhile))

    def _meanwhile(self) -> None:
        if self.meanwhile is not None:
            self.meanwhile()

    def recover(self, engine: int, consumed: Sequence[int]) -> Failure | None:
        """Bring a failed engine back to the position after `consumed`."""
        outcome = self._recompile(engine)
        if outcome is not None:
            return outcome
        tokens = np.array(consumed, dtype=np.int32)
        answer = self._ask({engine: ({"do": "goto"}, {"tokens": tokens})}, self.limits.mask)[engine]
        return None if isinstance(answer, wire.Message) else answer

    def recover_start(self, engine: int) -> Failure | None:
        """Put a running engine back to the start of the text."""
        if not self.up(engine):
            return self.recover(engine, ())
        none = np.zeros(0, dtype=np.int32)
        answer = self._ask({engine: ({"do": "goto"}, {"tokens": none})}, self.limits.mask)[engine]
        return None if isinstance(answer, wire.Message) else answer

    def output(self, engine: int) -> str:
        """What the engine printed since this was last asked, or until a time-out before."""
        return self._printed.pop(engine, "") + self._hosts[engine].output()

    def close(self) -> None:
        """End all hosts."""
        for host in self._hosts:
            host.close()

    def _recompile(self, engine: int) -> Failure | None:
        match self.compile(self._schema, [engine])[engine]:
            case Compiled():
                return None
            case failure:
                return failure

    def _all(self, engines: Iterable[int] | None) -> list[int]:
        return list(range(len(self)) if engines is None else engines)

    def up(self, index: int) -> bool:
        """Whether an engine can be asked."""
        return self._hosts[index].running and self._opened[index]

    def _ask(
        self, asks: Mapping[int, Ask], limit: float | Mapping[int, float]
    ) -> dict[int, Answer]:
        self._submit(asks, limit)
        return self.collect(asks)

    def _submit(
        self,
        asks: Mapping[int, Ask],
        limit: float | Mapping[int, float],
        *,
        stepwise: bool = False,
    ) -> None:
        self._end_walks(asks)
        for index, (head, arrays) in asks.items():
            seconds = limit[index] if isinstance(limit, Mapping) else limit
            self._hosts[index].submit(head, arrays, seconds, stepwise=stepwise)

    @staticmethod
    def _compiled(answer: Answer) -> Outcome:
        match answer:
            case wire.Message(head={"refused": message}):
                return Refused(str(message))
            case wire.Message(head={"compile": compiled, "first_mask": masked}):
                return Compiled(float(compiled), float(masked))
            case Crashed() | TimedOut() | OutOfMemory():
                return answer
        raise AssertionError(f"no answer to compile: {answer}")


_SECOND_WAY = MaskLies("refused a token on a second way through the same text")


def _refused(answer: Answer) -> bool:
    """Whether an engine did not come to where it was asked something."""
    return isinstance(answer, wire.Message) and "refused_at" in answer.head
