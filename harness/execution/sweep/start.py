"""A sweep from what the user asked for to a finished run."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.directories import SLOW_SCHEMAS
from harness.engines.specs import EngineSpec
from harness.errors import UsageError
from harness.execution.bench import BenchRequest, installed, run_with
from harness.execution.lanes import GIB, Begin, LaneSettings, panel_bytes
from harness.execution.progress import RunProgress
from harness.execution.sweep.cluster import (
    Cluster,
    LaneNeeds,
    existing_cluster,
    import_ray,
    local_cluster,
)
from harness.execution.sweep.dispatch import Dispatch
from harness.execution.sweep.driver import apart
from harness.execution.sweep.lane_actor import LaneOrder
from harness.inputs.vocabulary import Vocabulary
from harness.options import LIMITS, option
from harness.runs.directory import RunDirectory, open_run
from harness.runs.run_places import LocalPlace, Place


@dataclass(frozen=True)
class SweepRequest:
    """What a user asks of a sweep; `bench.lanes` are those of the whole cluster.

    `url` is where the run is kept, if not in a directory.
    """

    bench: BenchRequest
    url: str | None = None
    nodes: int | None = option(
        None, "Nodes of the cluster that is started on this machine.  [default: 1]", least=1
    )
    address: str | None = option(
        None,
        "An existing Ray cluster instead, from a machine that is part of it.",
        metavar="HOST:PORT|auto",
    )
    lane_cpus: float = option(
        1.0, "Processors that a lane is taken to keep busy.", heading=LIMITS, above=0, unit="CPUS"
    )
    lane_memory: int | None = option(
        None,
        "Memory that a lane is taken to need.  [default: 1G, and 1G per engine's host]",
        heading=LIMITS,
        above=0,
        unit="SIZE",
    )


def start(request: SweepRequest) -> RunDirectory:
    """Run what is asked, or go on with it where it was interrupted; the finished run.

    Raises:
        MaskcourtError: Whatever the user can mend.
        KeyboardInterrupt: The user stopped it; finished cases are kept.
    """
    return open_run(apart(lambda: _run(request)), trust=True)


def _run(request: SweepRequest) -> Path:
    """The directory of the finished run."""
    import_ray(local=request.address is None)  # say that it is missing before anything else is done
    place: Callable[[Path], Place] = LocalPlace
    if request.url is not None:
        from harness.execution.sweep.run_url import UrlPlace

        place = functools.partial(UrlPlace, request.url)
    return run_with(RayLanes(request), request.bench, place).path


class RayLanes:
    """Lanes in Ray actors: what `harness.execution.bench.LocalLanes` is for one machine."""

    def __init__(self, request: SweepRequest) -> None:
        self.request = request
        self._count = 0
        self._cluster: Cluster | None = None

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """The cluster is up, or connected to."""
        address, nodes = self.request.address, self.request.nodes or 1
        up = local_cluster(nodes) if address is None else existing_cluster(address)
        with up as self._cluster:
            yield

    def lanes(self, cases: int) -> int:
        """As many as are asked for, or as the cluster carries; one per case at most."""
        return max(1, min(self._count, cases))

    def run(self, settings: LaneSettings, cases: int, begin: Begin, progress: RunProgress) -> None:
        """See `harness.execution.bench.Executor.run`; to be called while it is prepared."""
        cluster = self._cluster
        assert cluster is not None
        settings, needs = self._ahead(settings, cluster)
        self._count = self._counted(cluster, needs, progress)
        vocabulary = Path(settings.vocabulary_path)
        sha256 = Vocabulary.load(vocabulary).sha256
        dispatch = Dispatch(
            cluster,
            LaneOrder(_travelling(settings), installed(), sha256, _away()),
            vocabulary.read_bytes(),
            needs,
            self.lanes(cases),
            begin,
            progress,
        )
        dispatch.run()
        for line in dispatch.summary():
            progress.say(line)

    def _ahead(self, settings: LaneSettings, cluster: Cluster) -> tuple[LaneSettings, LaneNeeds]:
        """Whether lanes compile a case ahead: by default where that costs no lane its memory."""
        if (asked := self.request.bench.ahead) is not None:
            memory = self.request.lane_memory or panel_bytes(len(settings.specs), 1 + asked)
            return replace(settings, ahead=asked), LaneNeeds(self.request.lane_cpus, memory)
        plain, ahead = (
            LaneNeeds(self.request.lane_cpus, panel_bytes(len(settings.specs), panels))
            for panels in (1, 2)
        )
        if (declared := self.request.lane_memory) is not None:
            both = declared >= ahead.memory
            plain = ahead = replace(plain, memory=declared)
        else:
            wanted = min(self.request.bench.lanes or cluster.carries(plain), cluster.carries(plain))
            both = cluster.carries(ahead) >= wanted
        return replace(settings, ahead=int(both)), ahead if both else plain

    def _counted(self, cluster: Cluster, needs: LaneNeeds, progress: RunProgress) -> int:
        """How many lanes to start.

        Raises:
            UsageError: There is no room for any.
        """
        room, wanted = cluster.carries(needs), self.request.bench.lanes
        if room == 0 and (cluster.local or wanted is None):
            raise UsageError(
                f"no node has {needs.cpus:g} processors and {needs.memory / GIB:.1f} GiB of memory"
                " for a lane",
                "declare less with --lane-cpus and --lane-memory",
            )
        if cluster.local and wanted is not None and wanted > room:
            progress.say(f"there is room for {room} of {wanted} lanes; see --lane-cpus")
            return room
        return wanted or room


def _travelling(settings: LaneSettings) -> LaneSettings:
    """The settings without what is only so on this machine."""
    specs = tuple(_bare(spec) for spec in settings.specs)
    slow = os.environ.get(SLOW_SCHEMAS)
    return replace(settings, specs=specs, vocabulary_path="", slow_schemas=slow)


def _bare(spec: EngineSpec) -> EngineSpec:
    """A spec as it was before its environment was found here."""
    if spec.interpreter == sys.executable:
        return replace(spec, interpreter="")
    return replace(spec, interpreter="", paths=spec.paths[1:])


def _away() -> tuple[str, ...]:
    """What Ray would put on the module path of lanes: the working directory of the driver.

    A folder `datasets/` there is not the library of that name.
    """
    return (str(Path.cwd()), str(Path(sys.argv[0]).resolve().parent))
