"""Inside a host: how the time of its requests divides into engine calls and the rest.

`MeteredService` and `MeteredValidators` answer as the services of the harness do, which know
nothing of them, and two requests more: `TellExpenses` (what was spent since it was last asked) and
`TimeCalls` (switch the timing of engine calls on or off). Only while that is on are the public
methods of the matcher's class replaced by timed ones; else they are the adapter's own. What the
timing itself costs is measured with a matcher that does nothing, and told with every answer.
"""

from __future__ import annotations

import inspect
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from harness.engines.requests import Done
from harness.engines.service import EngineService
from harness.validators.service import ValidatorService
from harness.workers import wire
from harness.workers.wire import Request, as_answer

_TRIALS, _CALLS = 40, 500
"""Trials, and calls in each, with which the meter's own cost is measured."""

Method = Callable[..., Any]
Handle = Callable[[wire.Message], wire.Message]


@dataclass(frozen=True)
class Expenses:
    """What a host spent.

    Attributes:
        commands: The fields of `Spent`, by command.
        cpu_ns: Processor time of the whole host, in nanoseconds.
        peak_bytes: Its highest memory use so far.
        timed: Whether engine calls were timed.
        overhead_inside_ns: What timing adds to the time of one call.
        overhead_ns: What timing adds to one call altogether.
    """

    commands: Mapping[str, Mapping[str, int]]
    cpu_ns: int
    peak_bytes: int
    timed: bool
    overhead_inside_ns: float
    overhead_ns: float


@dataclass(frozen=True)
class TellExpenses(Request[Expenses]):
    """What was spent since this was last asked."""


@dataclass(frozen=True)
class TimeCalls(Request[Done]):
    """Switch the timing of engine calls on or off."""

    on: bool


@dataclass
class Timer:
    """Time inside timed methods, in nanoseconds; a call inside another counts once."""

    ns: int = 0
    calls: int = 0
    _inside: bool = False
    _replaced: dict[tuple[type, str], Method | None] = field(default_factory=dict)

    def timed(self, method: Method) -> Method:
        """`method`, its time added up here."""
        clock = time.perf_counter_ns

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return method(*args, **kwargs)
            self._inside = True
            began = clock()
            try:
                return method(*args, **kwargs)
            finally:
                self.ns += clock() - began
                self.calls += 1
                self._inside = False

        return call

    def attach(self, kind: type) -> bool:
        """Time the public methods of `kind`; False where its methods cannot be replaced."""
        if any(one is kind for one, _ in self._replaced):
            return True
        for name in dir(kind):
            method = inspect.getattr_static(kind, name)
            if name.startswith("_") or not isinstance(method, FunctionType):
                continue
            own = vars(kind).get(name)
            try:
                setattr(kind, name, self.timed(method))
            except TypeError:  # a class of native code
                return False
            self._replaced[kind, name] = own
        return any(one is kind for one, _ in self._replaced)

    def detach(self) -> None:
        """Give all classes their own methods back."""
        for (kind, name), own in self._replaced.items():
            if own is None:
                delattr(kind, name)
            else:
                setattr(kind, name, own)
        self._replaced.clear()


@dataclass
class Spent:
    """What the requests of one command took; times in nanoseconds."""

    requests: int = 0
    wall_ns: int = 0
    cpu_ns: int = 0
    engine_ns: int = 0
    engine_calls: int = 0


def overhead() -> tuple[float, float]:
    """Nanoseconds that timing adds to one call: what is counted as the call's, and all of it.

    The least of many short trials: what else the machine does only ever adds.
    """

    class Nothing:
        def call(self) -> None:
            """Take no time."""

    def trial() -> int:
        nothing = Nothing()
        began = time.perf_counter_ns()
        for _ in range(_CALLS):
            nothing.call()
        return time.perf_counter_ns() - began

    plain = min(trial() for _ in range(_TRIALS))
    timer = Timer()
    timer.attach(Nothing)
    inside, whole = [], []
    for _ in range(_TRIALS):
        timer.ns = 0
        whole.append(trial())
        inside.append(timer.ns)
    timer.detach()
    return max(min(inside) - plain, 0) / _CALLS, max(min(whole) - plain, 0) / _CALLS


class Meter:
    """The bookkeeping of one host."""

    def __init__(self) -> None:
        self.timer = Timer()
        self.on = False
        self.timed = True
        self.commands: dict[str, Spent] = {}
        self._overhead = (0.0, 0.0)
        self._cpu = 0

    def switch(self, *, on: bool) -> None:
        """Begin or end to time engine calls."""
        self.on = on
        self.timer.detach()
        if on:
            self._overhead = overhead()

    def attach(self, kind: type) -> None:
        """Time a class of matchers, if engine calls are timed at all."""
        if self.on:
            self.timed = self.timer.attach(kind)

    def answer(self, handle: Handle, message: wire.Message) -> wire.Message:
        """Answer a request: one of the meter's own here, any other by `handle`."""
        match message.head["do"]:
            case TellExpenses.command:
                return as_answer(self.spent())
            case TimeCalls.command:
                self.switch(on=bool(message.head["on"]))
                return as_answer(Done())
            case do:
                return self._measured(do, handle, message)

    def _measured(self, do: str, handle: Handle, message: wire.Message) -> wire.Message:
        """Answer one request, adding up what it takes."""
        spent = self.commands.setdefault(do, Spent())
        engine_ns, calls = self.timer.ns, self.timer.calls
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        try:
            return handle(message)
        finally:
            spent.requests += 1
            spent.wall_ns += time.perf_counter_ns() - wall
            spent.cpu_ns += time.process_time_ns() - cpu
            spent.engine_ns += self.timer.ns - engine_ns
            spent.engine_calls += self.timer.calls - calls

    def spent(self) -> Expenses:
        """What was spent since this was last asked, and the highest memory use so far."""
        cpu = time.process_time_ns()
        inside, whole = self._overhead
        commands = {do: vars(one) for do, one in self.commands.items()}
        timed = self.on and self.timed
        told = Expenses(commands, cpu - self._cpu, peak_bytes(), timed, inside, whole)
        self.commands, self._cpu = {}, cpu
        return told


class MeteredService:
    """An engine's service, metered; the class of its matchers is timed from compilation on."""

    def __init__(self, service: EngineService | None = None) -> None:
        self.meter = Meter()
        self.service = service or EngineService()

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command."""
        reply = self.meter.answer(self.service.handle, message)
        if message.head["do"] == "compile" and self.service.start is not None:
            self.meter.attach(type(self.service.start))
        return reply


class MeteredValidators:
    """The validators' service, metered."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.service = ValidatorService()

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command."""
        return self.meter.answer(self.service.handle, message)


def peak_bytes() -> int:
    """The most memory that this process has held, resident (VmHWM)."""
    try:
        status = Path("/proc/self/status").read_text("utf-8")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
