"""The panel: the engines of a run, each in its host, asked together and kept alive.

A failure, or an answer to another question, is an outcome of its engine alone, which is absent
until `Panel.recover`. A host that somebody else killed is brought back to where it stood and asked
once more; only a second death over the same question is the engine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from harness.engines import requests
from harness.engines.specs import EngineSpec
from harness.options import LIMITS, option, seconds_limit
from harness.workers import wire
from harness.workers.hosts import Host, HostSpec, poll
from harness.workers.outcomes import Compiled, Crashed, Defect, Failure, Outcome, TimedOut
from harness.workers.wire import BANKS, A, Request

T = TypeVar("T")
Asking = Generator[None, Any, T]
"""Work that takes several answers of one engine: it asks, waits for the answer, goes on."""


def limit_option(default: float, what: str, name: str) -> float:
    text = f"Seconds of processor time per {what}."
    return seconds_limit(default, text, name, above=0)


@dataclass(frozen=True)
class Limits:
    """What one request to an engine may cost: seconds of processor time, bytes of memory."""

    compile: float = limit_option(60.0, "schema", "--compile-timeout")
    mask: float = limit_option(10.0, "mask", "--mask-timeout")
    resolve: float = limit_option(120.0, "batch of tokens", "--resolve-timeout")
    memory: int = option(
        4 << 30, "Resident memory per host.  [default: 4G]", heading=LIMITS, unit="SIZE", above=0
    )


@dataclass(frozen=True)
class Walked:
    """How far one engine came in a batch, until `failure` if any.

    `masks`, shape ``(n, words)`` uint32, and `times`, nanoseconds to compute the mask and to
    consume the token before, shape ``(n, 2)`` int64, are overwritten by the walk after next.
    """

    masks: npt.NDArray[np.uint32]
    times: npt.NDArray[np.int64]
    failure: Failure | None

    def __len__(self) -> int:
        return len(self.masks)


@dataclass(frozen=True)
class _Question:
    """The last question to an engine, and what it takes to ask it again.

    `way`: the tokens consumed before, None where nothing was compiled yet; `printed`: bytes that
    the host had printed before; `once_more`: whether it is asked again if somebody kills the host.
    """

    request: Request[Any]
    limit: float
    stepwise: bool
    way: Sequence[int] | None
    printed: int
    once_more: bool


class Panel:
    """All engines of a run, numbered as the run lists them; masks have so many `words`.

    `meanwhile` is called again and again while engines are waited for.
    """

    meanwhile: Callable[[], None] | None = None
    regex = False
    """Whether what it is given to compile are regular expressions."""

    def __init__(
        self, specs: Sequence[EngineSpec], vocabulary_path: str, words: int, limits: Limits
    ) -> None:
        self.specs = tuple(specs)
        self.limits = limits
        self.infos: dict[int, requests.Opened] = {}
        self._vocabulary_path = vocabulary_path
        self._schema = ""
        self._strict: set[int] = set()
        self._printed: dict[int, str] = {}
        self._opened = [False] * len(specs)
        self._consumed: dict[int, list[int]] = {}
        self._bank = 0
        self.compiling = [0.0] * len(specs)  # seconds of compilations so far, by engine
        self._walking: set[int] = set()
        self._begun: set[int] = set()
        self._walked: dict[int, Walked] = {}
        self._waiting: dict[int, Asking[Any]] = {}
        self._ended: dict[int, Any] = {}
        self._asked: dict[int, _Question] = {}
        self._hosts = [self._host(index, words) for index in range(len(specs))]

    def _host(self, index: int, words: int) -> Host:
        spec, service = self.specs[index], "harness.engines.service:EngineService"
        memory = self.limits.memory
        return Host(HostSpec(service, spec.interpreter, spec.paths, memory), words)

    def __len__(self) -> int:
        return len(self.specs)

    def open(self) -> dict[int, Failure]:
        """Start the hosts that are down, all at once; the engines that do not come up."""
        down = [index for index in range(len(self)) if not self.up(index)]
        failures = self._done({index: self._opening(index) for index in down})
        return {index: failure for index, failure in failures.items() if failure is not None}

    def change(
        self, index: int, spec: EngineSpec, vocabulary_path: str, words: int = 0
    ) -> Failure | None:
        """Have an engine opened with other options or another vocabulary: then it can be probed.

        It can be asked for masks, too, if these have so many `words`, not more than the panel's.
        """
        self._hosts[index].buffer.of(words)
        self.specs = (*self.specs[:index], spec, *self.specs[index + 1 :])
        self._vocabulary_path = vocabulary_path
        return self._done({index: self._opening(index)})[index]

    def _opening(self, index: int, *, once_more: bool = True) -> Asking[Failure | None]:
        """Have one engine opened in its host, which is started if it is down."""
        spec, host = self.specs[index], self._hosts[index]
        self._opened[index] = False
        self._consumed.pop(index, None)
        buffer, answer = requests.SAME_BUFFER, None
        if not host.running:
            self._asked.pop(index, None)
            buffer = host.buffer_descriptor
            host.launch()
            answer = yield
        if not isinstance(answer, Failure):
            options, path = dict(spec.options), self._vocabulary_path
            request = requests.Open(spec.reference, options, path, buffer)
            self._submit({index: request}, 120.0)
            answer = yield
        if not isinstance(answer, Failure):
            self.infos[index] = replace(answer, build=spec.build)
            self._opened[index] = True
            return None
        host.stop()
        if once_more and _killed(answer):
            return (yield from self._opening(index, once_more=False))
        return answer

    def check(self) -> dict[int, requests.Checked | Failure]:
        return self.ask(dict.fromkeys(range(len(self)), requests.Check()), 120.0)

    def compile(
        self,
        schema: str,
        engines: Iterable[int] | None = None,
        distrusted: Collection[int] | None = None,
    ) -> dict[int, Outcome]:
        """Compile a schema in all engines, or some, at once; restarts the hosts that are down.

        Of those `distrusted` every mask is looked at while resolving; None leaves them as they are.
        """
        self._schema = schema
        if distrusted is not None:
            self._strict = set(distrusted)
        engines = list(range(len(self)) if engines is None else engines)
        self._end_walks(engines)
        return dict(sorted(self._done({index: self._compile(index) for index in engines}).items()))

    def _compile(self, index: int) -> Asking[Outcome]:
        """Bring one host up if it is down, and have the schema compiled in it."""
        host, schema, limit = self._hosts[index], self._schema, self.limits.compile
        self.output(index)
        if not self.up(index):
            failure = yield from self._opening(index)
            host.output()
            if failure is not None:
                return failure
        self._consumed.pop(index, None)
        began = time.monotonic()
        request = requests.Compile(schema, index in self._strict, self.regex)
        self._submit({index: request}, limit)
        outcome: Outcome = yield from self._answered(index)
        self.compiling[index] += time.monotonic() - began
        self._opened[index] = host.running
        if isinstance(outcome, Compiled):
            self._consumed[index] = []
        late = isinstance(outcome, Compiled) and outcome.seconds > limit
        if late or isinstance(outcome, TimedOut):
            return TimedOut(f"over the limit of {limit:g} s")
        return outcome

    def _answered(self, index: int) -> Asking[Any]:
        """Wait for one answer; what somebody kills meanwhile is brought back and asked again."""
        asked = self._asked[index]
        answer = yield
        if not (asked.once_more and _killed(answer)):
            return answer
        printed = self.output(index, asked.printed)
        failure = yield from self._brought_to(index, asked.way)
        self._hosts[index].output()
        self._printed[index] = printed
        if failure is not None:
            return failure
        self._asked[index] = replace(asked, once_more=False)
        self._send(index)
        return (yield)

    def _brought_to(self, index: int, way: Sequence[int] | None) -> Asking[Failure | None]:
        """Start a host again, and lead its engine to where it stood."""
        if way is None:
            return (yield from self._opening(index))
        outcome = yield from self._compile(index)
        if not isinstance(outcome, Compiled):
            return outcome
        self._submit({index: requests.Goto(np.array(way, dtype=np.int32))}, self.limits.mask)
        answer = yield
        return answer if isinstance(answer, Failure) else None

    def _go_on(self, index: int, answer: object) -> None:
        try:
            self._waiting[index].send(answer)
        except StopIteration as end:
            del self._waiting[index]
            self._ended[index] = end.value

    def _done(self, work: Mapping[int, Asking[T]]) -> dict[int, T]:
        """How work ended, all of which is done at once; there is never other work before.

        Raises RuntimeError where the harness's own code failed in a host: no engine's fault.
        """
        defects: list[str] = []
        self._waiting, self._ended = dict(work), {}
        for index in work:
            self._go_on(index, None)
        while self._waiting:
            for index, answer in self._polled(list(self._waiting), 0.05).items():
                self._go_on(index, answer)
                if isinstance(answer, Defect) and self.up(index):
                    defects.append(f"in the host of {self.specs[index].name}: {answer.message}")
            if self._waiting and self.meanwhile is not None:
                self.meanwhile()
        if defects:
            raise RuntimeError(defects[0])
        return self._ended

    def _polled(self, engines: Sequence[int], timeout: float) -> dict[int, Any]:
        answers = poll([self._hosts[index] for index in engines], timeout)
        return {engines[at]: self._read(engines[at], answer) for at, answer in answers.items()}

    def _read(self, engine: int, message: wire.Message | Failure) -> Any:
        """The answer to what was asked of an engine last; to its start there is nothing to read."""
        if isinstance(message, Failure) or engine not in self._asked:
            return message
        try:
            return self._asked[engine].request.answer(message)
        except wire.Broken:
            return self._hosts[engine].end(Crashed("gave no answer to what it was asked"))

    def walk(
        self, engines: Sequence[int], tokens: Sequence[int], at: int, key: str = ""
    ) -> dict[int, Walked]:
        """Consume tokens everywhere, and have the mask after each written; see `requests.Walk`.

        There may be `harness.workers.wire.SLOTS` of them; `at` were consumed before them.
        """
        self.begin_walk(engines, tokens, at, key)
        return self.end_walk(engines)

    def begin_walk(
        self, engines: Sequence[int], tokens: Sequence[int], at: int, key: str = ""
    ) -> None:
        """As `walk`, without waiting; what is asked of an engine then waits until it has walked."""
        self._bank = (self._bank + 1) % BANKS
        request = requests.Walk(np.array(tokens, dtype=np.int32), at, self._bank, key)
        self._submit(dict.fromkeys(engines, request), self.limits.mask, stepwise=True)
        self._walking.update(engines)

    def end_walk(self, engines: Sequence[int]) -> dict[int, Walked]:
        self._end_walks(engines)
        return {index: self._walked.pop(index) for index in engines}

    def _end_walks(self, engines: Iterable[int]) -> None:
        """Wait for those of the engines that walk, or have a question that was given up."""
        if given_up := self._begun.intersection(engines):
            self.collect(given_up)
        walking = sorted(self._walking.intersection(engines))
        if not walking:
            return  # as within work on one engine
        self._walking.difference_update(walking)
        for index, answer in self.collect(walking).items():
            self._walked[index] = self._reached(index, answer)

    def _reached(self, engine: int, answer: requests.Done | Failure) -> Walked:
        host, walk = self._hosts[engine], self._asked[engine].request
        assert isinstance(walk, requests.Walk)
        asked, reached = len(walk.tokens), int(host.buffer.progress[0])
        failure = answer if isinstance(answer, Failure) else None
        if failure is None and reached != asked:
            failure = host.end(Crashed("ended a walk before its end"))
            self._opened[engine] = False
        reached = max(0, min(reached, asked))
        if engine in self._consumed:
            passed = int((walk.tokens[:reached] >= 0).sum())
            self._consumed[engine] = self._consumed[engine][: walk.consumed + passed]
        some, buffer = slice(reached), host.buffer
        return Walked(buffer.masks[walk.bank][some], buffer.times[walk.bank][some], failure)

    def ask(
        self, asks: Mapping[int, Request[A]], limit: float | None = None
    ) -> dict[int, A | Failure]:
        """Ask several engines something all at once, by the limit for resolving or another."""
        self._submit(asks, self.limits.resolve if limit is None else limit)
        return self.collect(asks)

    def begin(self, asks: Mapping[int, Request[Any]]) -> None:
        """As `ask`, without waiting; nothing else may be asked of them before `collect`."""
        self._submit(asks, self.limits.resolve)
        self._begun.update(asks)

    def collect(self, engines: Iterable[int]) -> dict[int, Any]:
        """The answers of engines of which something was asked, or what ended them."""
        engines = list(engines)
        self._begun.difference_update(engines)
        answers = self._done({index: self._answered(index) for index in engines})
        for index in engines:
            self._opened[index] &= self._hosts[index].running
            if isinstance(answers[index], Failure):
                self._consumed.pop(index, None)
        return {index: answers[index] for index in engines}

    def recover(self, engine: int, consumed: Sequence[int]) -> Failure | None:
        """Bring a failed engine back to the position after `consumed`."""
        outcome = self.compile(self._schema, [engine])[engine]
        return outcome if isinstance(outcome, Failure) else self._go_to(engine, consumed)

    def recover_start(self, engine: int) -> Failure | None:
        """Put an engine at the start; one that failed compiles anew: copies may share its state."""
        ready = self.up(engine) and engine in self._consumed
        return self._go_to(engine, ()) if ready else self.recover(engine, ())

    def _go_to(self, engine: int, consumed: Sequence[int]) -> Failure | None:
        request = requests.Goto(np.array(consumed, dtype=np.int32))
        answer = self.ask({engine: request}, self.limits.mask)[engine]
        return answer if isinstance(answer, Failure) else None

    def output(self, engine: int, end: int | None = None) -> str:
        """What the engine printed since this was last asked, or until a time-out before."""
        return self._printed.pop(engine, "") + self._hosts[engine].output(end)

    def processor_seconds(self) -> float:
        return sum(host.processor_seconds for host in self._hosts)

    def close(self) -> None:
        for host in self._hosts:
            host.close()

    def up(self, index: int) -> bool:
        return self._hosts[index].running and self._opened[index]

    def _submit(
        self, asks: Mapping[int, Request[Any]], limit: float, *, stepwise: bool = False
    ) -> None:
        self._end_walks(asks)
        for index, request in asks.items():
            way, printed = self._consumed.get(index), self._hosts[index].printed()
            self._asked[index] = _Question(request, limit, stepwise, way, printed, self.up(index))
            self._send(index)

    def _send(self, index: int) -> None:
        """Send an engine its question, and note to where that leads it."""
        asked = self._asked[index]
        message, host = asked.request.message(), self._hosts[index]
        host.submit(message.head, message.arrays, asked.limit, stepwise=asked.stepwise)
        match asked.request:
            case requests.Goto(tokens):
                self._consumed[index] = tokens.tolist()
            case requests.Walk(tokens, consumed) if asked.way is not None:
                walked = [token for token in tokens.tolist() if token >= 0]
                self._consumed[index] = [*asked.way[:consumed], *walked]


def _killed(answer: object) -> bool:
    """Whether somebody else ended the host."""
    return isinstance(answer, Crashed) and answer.from_outside
