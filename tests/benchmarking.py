"""Benchmarks of tiny engines, for tests: a plan, its workload, lanes without processes."""

import json

from benchmarks.lane import BenchLane, MeteredJudge
from benchmarks.lanes import LanesRan
from benchmarks.measure import Measurement
from benchmarks.meter import MeteredService, MeteredValidators
from benchmarks.plan import Plan
from benchmarks.workloads import Workload
from harness.engines.specs import EngineSpec
from harness.inputs.vocabulary import Vocabulary
from tests.inprocess import InProcessJudge, InProcessPanel, case, default_options
from tests.miniatures import AcceptsExtra, Enumerator

KINDS = (Enumerator, AcceptsExtra)
SPECS = tuple(
    EngineSpec(kind.__name__, f"tests.miniatures:{kind.__name__}", default_options(kind))
    for kind in KINDS
)
SPLIT = case(
    {"enum": ["one", "two"], "x-extra": ["1", '"ox"', '"onx"', '"ony"']}, "one", name="split"
)
PLAN = Plan(
    "mini",
    repetitions=2,
    sample=1,
    caps=(1, 10),
    lengths=(10, 20),
    length_positions=5,
    sizes=(0, 300),
    whole=0.001,  # a position of a tiny vocabulary has few disputed tokens
    lane_seconds=0.1,
)


def long_case(_vocabulary, tokens):
    text = "a" * (tokens - 2)
    return case({"const": text, "x-extra": [json.dumps(text[:3] + "b")]}, text, name=f"{tokens}")


WORK = Workload("miniatures", "", (SPLIT,), (SPLIT,), SPLIT, long_case)


class _Judge(InProcessJudge):
    def __init__(self):
        super().__init__(MeteredValidators)

    spent = MeteredJudge.spent


def lane_in_here(specs, path, limits):
    """A lane without processes."""

    def parts(_specs, _path, _words, _limits):
        panel = InProcessPanel(KINDS, Vocabulary.load(path))
        for host in panel._hosts:
            host._make = lambda make=host._make: MeteredService(make())
        return panel, _Judge()

    return BenchLane(specs, path, limits, parts)


def fake_lanes(_setting, count, cases, _way):
    return LanesRan(count, len(cases), 8.0 / count, 8.0, 100, (1 << 20,) * count)


def measurement_of(vocabulary):
    said = []
    made = Measurement(
        PLAN,
        SPECS,
        vocabulary,
        WORK,
        seed=3,
        say=said.append,
        make_lane=lane_in_here,
        run_lanes=fake_lanes,
    )
    made.said = said
    return made
