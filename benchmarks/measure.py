"""The measurements: which cases are run in which way, how often, and on what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from benchmarks.lane import BenchLane, Ran, Way
from benchmarks.lanes import LanesRan, Setting, run_on_lanes
from benchmarks.plan import Plan
from benchmarks.workloads import Workload, resized
from harness.engines.panel import Limits
from harness.engines.specs import EngineSpec
from harness.errors import MaskcourtError
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.workers.temporary_directories import saved_vocabulary


@dataclass(frozen=True)
class Sample:
    """One case run once: the part that it belongs to, and the value that the part varies."""

    part: str
    value: int
    repetition: int
    ran: Ran


@dataclass
class Measured:
    """All that was measured."""

    samples: list[Sample] = field(default_factory=list)
    lanes: list[LanesRan] = field(default_factory=list)
    versions: dict[str, object] = field(default_factory=dict)

    def of(self, part: str, resolver: str | None = None, *, timed: bool = False) -> list[Sample]:
        """The samples of one part and resolver, with or without timed engine calls."""
        return [
            one
            for one in self.samples
            if one.part == part
            and one.ran.way.timed == timed
            and resolver in (None, one.ran.way.resolver)
        ]


@dataclass
class Measurement:
    """One run of the benchmark.

    Attributes:
        plan: Its extent.
        specs: The engines.
        vocabulary: The vocabulary of all parts but ``vocabulary``.
        work: The cases.
        seed: Of everything that is drawn.
        say: Told what is being done.
        make_lane: What opens a lane with the vocabulary saved at a path.
        run_lanes: What runs cases on several lanes.
    """

    plan: Plan
    specs: Sequence[EngineSpec]
    vocabulary: Vocabulary
    work: Workload
    seed: int
    say: Callable[[str], None]
    limits: Limits = field(default_factory=Limits)
    make_lane: Callable[[Sequence[EngineSpec], str, Limits], BenchLane] = BenchLane
    run_lanes: Callable[[Setting, int, Sequence[Case], Way], LanesRan] = run_on_lanes
    measured: Measured = field(default_factory=Measured)

    def run(self, parts: Sequence[str]) -> Measured:
        """Measure the given parts.

        Raises:
            MaskcourtError: An engine does not start, or a case cannot be walked.
        """
        one_lane = [part for part in parts if part not in ("vocabulary", "lanes")]
        if one_lane:
            with self._lane(self.vocabulary) as lane:
                for part in one_lane:
                    getattr(self, part)(lane)
        if "vocabulary" in parts:
            self.by_vocabulary()
        if "lanes" in parts:
            self.by_lanes()
        return self.measured

    def resolving(self, lane: BenchLane) -> None:
        """Both resolvers at the same positions, in turn; then with engine calls timed, too."""
        plan = self.plan
        way = self._way(least=self._whole(self.vocabulary), first=plan.positions)
        ways = {
            "shared": replace(way, cap=plan.cap),
            "rollout": replace(way, cap=plan.sample, resolver="rollout"),
        }
        for case in self.work.whole:
            # what hosts make once, at the first roll-out, is not measured
            lane.run(case, replace(ways["rollout"], cap=1))
            for repetition in range(plan.repetitions):
                for one in ways.values():
                    self._take(lane, "resolving", case, one, repetition=repetition)
            for one in ways.values():
                few = replace(one, cap=min(one.cap or plan.timed_cap, plan.timed_cap))
                for timed in (False, True):
                    self._take(lane, "timing", case, replace(few, timed=timed))

    def variety(self, lane: BenchLane) -> None:
        """Whole cases: walked only, and walked and resolved."""
        resolve = self._way(cap=self.plan.variety_cap)
        for case in self.work.variety:
            for repetition in range(self.plan.repetitions):
                for way in (replace(resolve, resolver="none"), resolve):
                    self._take(lane, "variety", case, way, repetition=repetition)

    def disputed(self, lane: BenchLane) -> None:
        """More and more disputed tokens at the same position."""
        for cap in self.plan.caps:
            way = self._way(cap=cap, least=self._whole(self.vocabulary), first=1)
            self._take(lane, "disputed", self.work.own, way, value=cap)

    def length(self, lane: BenchLane) -> None:
        """Longer and longer references."""
        for tokens in self.plan.lengths:
            every = max(tokens // self.plan.length_positions, 1)
            way = self._way(cap=self.plan.variety_cap, every=every)
            case = self.work.long(self.vocabulary, tokens)
            for one in (replace(way, resolver="none"), way):
                self._take(lane, "length", case, one, value=tokens)

    def by_vocabulary(self) -> None:
        """Larger and larger vocabularies, engines started anew for each."""
        for size in self.plan.sizes:
            vocabulary = resized(self.vocabulary, size or self.vocabulary.size, self.seed)
            cap = self.plan.cap
            way = self._way(cap=cap, least=self._whole(vocabulary), first=1)
            with self._lane(vocabulary) as lane:
                for one in (replace(way, resolver="none"), way):
                    self._take(lane, "vocabulary", self.work.own, one, value=vocabulary.size)

    def by_lanes(self) -> None:
        """The same cases on one lane and on several; the longest first, so that all end alike."""
        way = self._way(cap=self.plan.variety_cap)
        took = {one.ran.case: one.ran.seconds for one in self.measured.of("variety", "shared")}
        cases = sorted(self.work.variety, key=lambda case: -took.get(case.id, 0.0))
        total = sum(took.get(case.id, 1.0) for case in cases)
        copies = max(round(self.plan.lane_seconds / max(total, 0.01)), 2)
        jobs = [case for case in cases for _ in range(copies)]
        with saved_vocabulary(self.vocabulary) as file:
            setting = Setting(tuple(self.specs), str(file), self.limits, self.work.own)
            for count in self.plan.lanes:
                self.say(f"lanes: {len(jobs)} cases on {count}")
                self.measured.lanes.append(self.run_lanes(setting, count, jobs, way))

    def _take(
        self,
        lane: BenchLane,
        part: str,
        case: Case,
        way: Way,
        *,
        value: int = 0,
        repetition: int = 0,
    ) -> None:
        self.say(
            f"{part}: {case.id}, {way.resolver}"
            + (f", {value:,}" if value else "")
            + (", engine calls timed" if way.timed else f", repetition {repetition + 1}")
        )
        ran = lane.run(case, way)
        if ran.status != "walked":
            raise MaskcourtError(
                f"case {case.id!r} cannot be measured: it was {ran.status}",
                "do all engines compile its schema?",
            )
        self.measured.samples.append(Sample(part, value, repetition, ran))

    def _way(
        self, *, cap: int | None = None, least: int = 1, first: int | None = None, every: int = 1
    ) -> Way:
        return Way(cap=cap, least=least, first=first, every=every, seed=self.seed)

    def _whole(self, vocabulary: Vocabulary) -> int:
        return int(vocabulary.size * self.plan.whole)

    @contextmanager
    def _lane(self, vocabulary: Vocabulary) -> Iterator[BenchLane]:
        self.say(f"starting the engines, vocabulary of {vocabulary.size:,} ids")
        with saved_vocabulary(vocabulary) as file:
            lane = self.make_lane(self.specs, str(file), self.limits)
            try:
                lane.open()
                self.measured.versions = dict(lane.versions())
                # what is made once per lane or host, at the first case, is not measured
                lane.run(self.work.own, self._way(cap=1))
                yield lane
            finally:
                lane.close()
