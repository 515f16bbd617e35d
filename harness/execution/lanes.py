"""Lanes: processes that run one case after the other for the dispatcher, each on its panel."""

from __future__ import annotations

import errno
import gc
import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from packaging.version import Version

from harness.comparison.case_run import CaseRun, Rules
from harness.comparison.resolvers import RESOLVERS, Effort
from harness.engines.panel import Limits, Panel
from harness.engines.requests import Checked, EngineMetadata
from harness.engines.specs import EngineSpec
from harness.errors import MORE_FILES, MaskcourtError, UsageError
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.protocol_checks.smoke import CANNOT_DRIVE
from harness.runs.directory import RunDirectory
from harness.runs.tables import Rows, is_mislabelled
from harness.validators.judge import Judge
from harness.workers.outcomes import Crashed, Failure

GIB = 1 << 30

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_ENGINES_PER_PROCESSOR = 3
"""A panel of so many keeps a processor busy: one walks while others wait for it, or compile."""

Job = tuple[int, Case]
"""A case to run, with its ordinal in the run."""

Engines = Mapping[str, EngineMetadata]
"""The engines of a run by name, in its order."""


@dataclass(frozen=True)
class LaneSettings:
    """All that a lane needs to know, small enough to be sent to another process or machine."""

    specs: tuple[EngineSpec, ...]
    vocabulary_path: str
    limits: Limits
    rules: Rules
    resolver: str = "shared"
    effort: Effort = field(default_factory=Effort)


@dataclass(frozen=True)
class CaseDone:
    """One case was stored: what progress needs to know of it."""

    case: str
    status: str
    disputed_tokens: int
    remark: str = ""
    """What is wrong with the case itself, and where it stands; empty where nothing is."""


class Lane:
    """A panel, a judge and the vocabulary: what runs cases, in whichever process.

    What is `lent` is used for other things as well: the vocabulary, a judge, and a panel of one
    engine. `heed` is called again and again while hosts are waited for, and may raise.
    """

    def __init__(
        self,
        settings: LaneSettings,
        lent: tuple[Vocabulary, Judge, Panel] | None = None,
        heed: Callable[[], None] | None = None,
    ) -> None:
        vocabulary = lent[0] if lent else Vocabulary.load(settings.vocabulary_path)
        limits, rules = settings.limits, settings.rules
        self.vocabulary, path, words = vocabulary, settings.vocabulary_path, vocabulary.words
        self.judge = lent[1] if lent else Judge(limits.memory, formats=rules.formats)
        resolver = RESOLVERS[settings.resolver](settings.effort)
        self.panel = panel = lent[2] if lent else Panel(settings.specs, path, words, limits)
        self.judge.meanwhile = panel.meanwhile = heed
        self.runner = CaseRun(panel, self.judge, vocabulary, resolver, rules)
        self._change = lent and partial(panel.change, 0, settings.specs[0], path, words)

    def serve(
        self, run: RunDirectory, take: Callable[[], Job | None], done: Callable[[CaseDone], None]
    ) -> None:
        """Run cases until `take` gives None, store each in `run`, and say that it is `done`.

        Raises MaskcourtError where one cannot be written.
        """
        while (job := take()) is not None:
            done(self._stored(run, *job))

    def _stored(self, run: RunDirectory, ordinal: int, case: Case) -> CaseDone:
        """Run a case and store it; an error of the harness is stored as such."""
        try:
            rows = self.runner.run(case)
        except MaskcourtError:
            raise
        except Exception:  # noqa: BLE001 - one case must not end the run, and nothing is hidden
            rows = failed_rows(case, "harness_error", traceback.format_exc())
        run.write_case(ordinal, rows)
        cases = rows.lists("cases")
        status, disputed = cases["status"][0], cases["disputed_tokens"][0]
        return CaseDone(case.id, status, disputed, _remark(case, rows))

    def open(self) -> Engines:
        """Start the engines and check that they hold the vocabulary; what each says it is."""
        if self._change:
            self._change()  # one that does not come up is asked why below
        for index, failure in self.panel.open().items():
            output = self.panel.output(index).strip().splitlines()
            name = self.panel.specs[index].name
            if os.strerror(errno.EMFILE) in failure.message:
                hint = MORE_FILES
            elif CANNOT_DRIVE in failure.message:
                hint = None  # it says all that there is to say
            elif isinstance(failure, Crashed) and failure.from_outside:
                hint = "something else ended its process, twice: is there too little memory?"
            else:
                hint = output[-1] if output else "is it installed in this environment?"
            raise UsageError(f"engine {name!r} does not start: {failure.message}", hint)
        return {
            self.panel.specs[index].name: self._checked(index, answer)
            for index, answer in self.panel.check().items()
        }

    def close(self) -> None:
        self.panel.close()
        self.judge.close()

    def _checked(self, index: int, answer: Checked | Failure) -> EngineMetadata:
        name = self.panel.specs[index].name
        if isinstance(answer, Failure):
            raise UsageError(
                f"engine {name!r} cannot be asked for its vocabulary: {answer.message}"
            )
        info, asked = self.panel.infos[index], self.panel.specs[index].version
        if asked is not None and Version(asked) != Version(info.version):
            raise UsageError(f"engine {name!r} started as version {info.version}")
        if (info.sha256, info.words) != (self.vocabulary.sha256, self.vocabulary.words):
            raise UsageError(f"engine {name!r} loaded another vocabulary")
        if answer.wrong and not answer.on_purpose:
            raise UsageError(
                f"engine {name!r} holds other bytes than the vocabulary for tokens "
                f"{answer.wrong[:20]}",
                "its masks would be about other texts; this is a defect of the adapter",
            )
        how, wrong = (info.version, info.options, info.packages), len(answer.wrong)
        return EngineMetadata(*how, answer.asked, wrong, info.build)


def _remark(case: Case, rows: Rows) -> str:
    """Of instances that bear a wrong label: how many, and what is wrong with one."""
    labels = rows.lists("instances")
    wrong = sum(map(is_mislabelled, labels["label"], labels["verdict"]))
    if not wrong:
        return ""
    many = (
        f"{wrong} instances bear wrong labels" if wrong > 1 else "an instance bears a wrong label"
    )
    return f"{case.source}: case {case.id!r}: {many}: {rows.lists('cases')['message'][0]}"


def attend(connection: Connection, opened: Callable[[], Lane]) -> None:
    """A lane's whole life: tell what its engines are, serve cases until there are no more.

    The dispatcher at the other end of the connection answers "take" with a case or None.
    """

    def take() -> Job | None:
        connection.send("take")
        job: Job | None = connection.recv()
        return job

    lane: Lane | None = None
    try:
        lane = opened()
        connection.send(lane.open())
        gc.freeze()  # the vocabulary need not be looked through again and again
        lane.serve(RunDirectory.as_seen(*connection.recv()), take, connection.send)
        connection.send("left")
    except MaskcourtError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        connection.send(UsageError(f"a lane cannot go on: {error.strerror}", MORE_FILES))
    finally:
        if lane is not None:
            lane.close()


def failed_rows(case: Case, status: str, message: str) -> Rows:
    rows = Rows()
    about = {"case": case.id, "family": case.family, "schema": case.schema}
    about |= {"status": status, "reason": "", "message": message[-8000:]}
    numbers = dict.fromkeys(("judged", "walks", "positions", "disputed_tokens"), 0)
    rows.add("cases", **about, references=[], generated=False, **numbers)
    return rows


def panel_bytes(engines: int) -> int:
    """Bytes that a lane needs at most, as a rule; three engines on MaskBench reached 3.7 GiB."""
    return (1 + engines) * GIB


def default_lanes(engines: int) -> int:
    """As many lanes as there is room for, with so many engines each: processors and memory."""
    processors = len(os.sched_getaffinity(0)) * _ENGINES_PER_PROCESSOR
    busy = max(engines, _ENGINES_PER_PROCESSOR)
    return max(1, min(processors // busy, _memory() // panel_bytes(engines)))


def _memory() -> int:
    """Bytes that this machine has, or that the container which this is in may have of them."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CONTAINER_LIMIT.read_text() if CONTAINER_LIMIT.exists() else "max"
    return machine if limit.strip() == "max" else min(machine, int(limit))
