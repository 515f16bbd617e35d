"""A panel and a judge without processes: the services of the hosts, called directly.

What the coordinator does with hosts (`Panel`, `Judge`, the walk, the resolvers) runs as it is;
only the processes are left out, so that a whole case on a tiny vocabulary takes milliseconds.
Engines are given as classes. One that would end or hang its process is tamed: it raises `Died`
with what a real host would have reported, and its host is gone until it is opened again.
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.comparison.case_run import CaseRun, Rules
from harness.comparison.resolvers import Effort, SharedResolver
from harness.engines.panel import Asking, Limits, Panel
from harness.engines.requests import Opened
from harness.engines.service import EngineService
from harness.engines.specs import EngineSpec
from harness.inputs.cases import Case, Instance
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.protocol import Mask, Matcher, complete_options
from harness.runs.tables import Rows
from harness.validators.format_rules import ASSERTION
from harness.validators.judge import Judge
from harness.validators.service import ValidatorService
from harness.workers import wire
from harness.workers.host_process import Service
from harness.workers.hosts import Ended
from harness.workers.outcomes import Crashed, Failure, OutOfMemory, TimedOut
from harness.workers.wire import MaskBuffer, size_of
from tests import miniatures


def study(**changes: Any) -> Rules:
    """The original study's way, but for these rules: only what engines dispute themselves."""
    return replace(Rules(on_dropout="stop", generated=0, samples=0), **changes)


UNCAPPED = study(cap=None)


class Died(BaseException):
    """Raised inside a service: the process would have ended so."""

    def __init__(self, outcome: Ended) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


def mask_of(matcher: Matcher, vocabulary: Vocabulary) -> Mask:
    """The mask of a matcher, shape ``(words,)``, written over whatever was in the array."""
    mask = np.full(vocabulary.words, 0xFFFFFFFF, dtype=np.uint32)
    matcher.mask(mask)
    return mask


class InProcessHost:
    """Stands in for `harness.workers.hosts.Host`: the same questions, answered by a service in here."""

    def __init__(self, make: Callable[[], Service], words: int = 1) -> None:
        self.buffer = MaskBuffer(bytearray(size_of(words)), words)
        self.ended: Ended | None = None
        self.starts = 0
        self.answer: wire.Message | Ended | None = None
        self.processor_seconds = 0.0
        self._make = make
        self._service: Service | None = None

    @property
    def running(self) -> bool:
        return self._service is not None

    def start(self) -> Ended | None:
        self.stop()
        self.starts += 1
        try:
            self._service = self._make()
        except Died as death:
            return self.end(death.outcome)
        except BaseException as error:  # noqa: BLE001 - as a host does
            return Crashed(f"{type(error).__name__}: {error}")
        self.ended = None
        return None

    def request(self, head, arrays=None, limit=60.0, meanwhile=None) -> wire.Message | Ended:
        if self._service is None:
            assert self.ended is not None, "asked before it was started"
            return self.ended
        self.buffer.progress[:] = 0
        try:
            return travelled(self._service.handle(travelled(wire.Message(head, arrays or {}))))
        except Died as death:
            return self.end(death.outcome)
        except MemoryError as error:
            return self.end(OutOfMemory(f"MemoryError: {error}"))
        except Exception as error:  # noqa: BLE001 - as a host does
            return Crashed(f"{type(error).__name__}: {error}")

    def submit(self, head, arrays, limit, *, stepwise=False):
        assert self.answer is None, "asked twice before the answer was collected"
        self.answer = self.request(head, arrays, limit)

    def output(self, end: int | None = None) -> str:
        return ""

    def printed(self) -> int:
        return 0

    def stop(self) -> None:
        self._service = None

    def close(self) -> None:
        self.stop()

    def end(self, outcome: Ended) -> Ended:
        self.ended, self._service = outcome, None
        return outcome


def travelled(message: wire.Message) -> wire.Message:
    """`message` as it comes out at the other end of a pipe."""
    head = json.loads(json.dumps(message.head))
    arrays = {name: np.array(array, order="C") for name, array in message.arrays.items()}
    return wire.Message(head, arrays)


class InProcessPanel(Panel):
    """The panel of `engines`, numbered in this order."""

    def __init__(self, engines: Sequence[type], vocabulary: Vocabulary) -> None:
        kinds = [tamed(kind) for kind in engines]
        self.specs = tuple(
            EngineSpec(
                name,
                f"{kind.__module__}:{kind.__qualname__}",
                default_options(kind),
                slow_masks=getattr(kind, "SLOW_MASKS", False),
                slow_texts=getattr(kind, "SLOW_TEXTS", False),
            )
            for name, kind in zip(names_of(engines), kinds, strict=True)
        )
        self._kinds, self._vocabulary = kinds, vocabulary
        super().__init__(self.specs, "", vocabulary.words, Limits())
        self.infos = {
            index: Opened(
                name=spec.name, version="0", sha256=vocabulary.sha256, words=vocabulary.words
            )
            for index, spec in enumerate(self.specs)
        }

    def _host(self, index: int, words: int) -> Any:
        return _engine_host(self._kinds[index], self._vocabulary)

    def _opening(self, index: int, *, once_more: bool = True) -> Asking[Failure | None]:
        """The service makes its engine when it starts: there is nothing to open."""
        if (ended := self._hosts[index].start()) is not None:
            return ended
        self._opened[index] = True
        return None
        yield

    def _polled(self, engines: Sequence[int], timeout: float) -> dict[int, Any]:
        found = {}
        for index in engines:
            host: Any = self._hosts[index]
            assert host.answer is not None, "nothing can be waited for in here"
            found[index], host.answer = self._read(index, host.answer), None
        return found


class InProcessJudge(Judge):
    """The judge, its validators in this process."""

    def __init__(self, make=ValidatorService, formats=ASSERTION):
        self.seconds = 30.0
        self.formats = formats
        self._host = InProcessHost(make)  # type: ignore[assignment]
        self.schema = None
        self._deaths = 0


def _engine_host(kind: type, vocabulary: Vocabulary) -> InProcessHost:
    """The host of one engine; its service writes masks where the panel reads them."""

    def make() -> EngineService:
        service = EngineService()
        service.vocabulary, service.shared_masks = vocabulary, host.buffer
        service.engine = kind(vocabulary, default_options(kind))
        return service

    host = InProcessHost(make, vocabulary.words)
    return host


def default_options(kind: Any) -> dict[str, bool | int | str]:
    return complete_options(kind.OPTIONS, {})


def names_of(engines: Sequence[type]) -> list[str]:
    """The engines' names: of their classes, numbered where one comes again."""
    names = [kind.__name__ for kind in engines]
    return [
        name if names.index(name) == at else f"{name}-{names[:at].count(name) + 1}"
        for at, name in enumerate(names)
    ]


_ENDS = {
    miniatures.crash: Crashed("died of SIGSEGV", signal="SIGSEGV"),
    miniatures.leave: Crashed("left with exit code 3"),
    miniatures.spin: TimedOut("over the limit of 10 s"),
    miniatures.sleep: TimedOut("over the limit of 10 s"),
    miniatures.eat_memory: OutOfMemory("over the memory limit of 4096 MiB"),
}


def tamed(kind: type) -> type:
    """`kind`; where it would end or hang its process, a subclass that raises `Died` instead."""
    outcome: Any = _ENDS.get(vars(kind).get("fail"))  # type: ignore[arg-type]
    if outcome is None:
        return kind
    return type(kind.__name__, (kind,), {"fail": staticmethod(dying(outcome))})


def dying(outcome: Ended) -> Callable[[], None]:
    """A function that ends its process in this way."""

    def die() -> None:
        raise Died(outcome)

    return die


def case(schema, *valid, invalid=(), name="case", family="family") -> Case:
    """A case of the id `name`, with the JSON values `valid` and `invalid` as its instances."""
    right, wrong = (tuple(Instance.of(value) for value in values) for values in (valid, invalid))
    return Case(name, family, json.dumps(schema), right, wrong, f"{name}.json")


def make_run(engines, vocabulary=None, rules=UNCAPPED, resolver=None) -> CaseRun:
    """What runs cases on these engines; call its `run` for each case."""
    vocabulary = vocabulary or byte_vocabulary()
    resolver = resolver or SharedResolver(Effort())
    panel = InProcessPanel(engines, vocabulary)
    judge = InProcessJudge(formats=rules.formats)
    return CaseRun(panel, judge, vocabulary, resolver, rules)


def run_case(engines, case, vocabulary=None, rules=UNCAPPED, resolver=None) -> Rows:
    """The rows of one case, on engines that are started for it."""
    return make_run(engines, vocabulary, rules, resolver).run(case)


EFFECT = ("effect", "spelling", "spellings_asked")
"""What is asked in the end of a case depends on all that is proven in it."""


def records(rows: Rows, table: str, *, without: Collection[str] = ()) -> list[dict[str, Any]]:
    """The rows of one table, one dict each."""
    columns = {name: one for name, one in rows.lists(table).items() if name not in without}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
