"""What the measurements come to: rates, shares and costs, case by case and over all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure, geometric_mean, ratio
from benchmarks.lane import VALIDATORS, Ran
from benchmarks.measure import Measured, Sample


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        key: Its name in the JSON.
        title: For a reader.
        unit: Of the figure.
        figure: The figure; None where it could not be taken.
        cases: The same by case.
    """

    key: str
    title: str
    unit: str
    figure: Figure | None
    cases: dict[str, Figure | None]


_SHARED = ("resolving", "shared")
_TIMED = ("timing", "shared")
_ROLLOUT = ("resolving", "rollout")


def rate(ran: Ran) -> float | None:
    """Disputed tokens proven per second of a lane that resolves."""
    return ratio(ran.proven, ran.stages.get("resolve"))


def rate_per_core(ran: Ran) -> float | None:
    """Disputed tokens proven per second of processor time, of all processes of the lane."""
    return ratio(ran.proven, ran.resolve_cpu)


def proven_share(ran: Ran) -> float | None:
    """The share of the resolved tokens that were proven."""
    return ratio(ran.proven, ran.tokens)


def engine_share(ran: Ran) -> float | None:
    """Time inside engine calls as a share of a lane's wall time while resolving."""
    if not any(one.timed for name, one in ran.hosts.items() if name != VALIDATORS):
        return None
    spent = ran.stages.get("resolve", 0.0) - sum(one.overhead for one in ran.hosts.values())
    return ratio(ran.resolve_engine, max(spent, 0.0))


def engine_cpu_share(ran: Ran) -> float | None:
    """Time inside engine calls as a share of all processor time while resolving."""
    if engine_share(ran) is None:
        return None
    spent = ran.resolve_cpu - sum(one.overhead for one in ran.hosts.values())
    return ratio(ran.resolve_engine_cpu, max(spent, 0.0))


def validator_share(ran: Ran) -> float | None:
    """Processor time of the validators' host as a share of all while resolving."""
    if VALIDATORS not in ran.hosts:
        return None
    return ratio(ran.hosts[VALIDATORS].total("cpu"), ran.resolve_cpu)


def lane_share(ran: Ran) -> float | None:
    """Processor time of the lane's own process as a share of all while resolving."""
    return ratio(sum(one.lane_cpu for one in ran.resolved), ran.resolve_cpu)


def walk_ratio(ran: Ran) -> float | None:
    """Wall time of a walk over what the engines themselves needed for masks and tokens."""
    return ratio(ran.walk, ran.walk_engine)


def speed_ups(measured: Measured) -> dict[int, float]:
    """How many times faster the same cases are done, by the number of lanes."""
    one = next((ran for ran in measured.lanes if ran.lanes == 1), None)
    if one is None:
        return {}
    return {ran.lanes: one.seconds / ran.seconds for ran in measured.lanes if ran.lanes > 1}


def summary(measured: Measured) -> list[Line]:
    """Every line of the table, in its order."""
    shared, rollout = (measured.of("resolving", one) for one in ("shared", "rollout"))
    lines = [_line(row, measured) for row in _ROWS]
    twice = [up for count, up in speed_ups(measured).items() if count == 2]
    return [
        *lines[:4],
        _times(shared, rollout),
        *lines[4:],
        _distortion(measured),
        Line("two_lanes", "two lanes, times one", "times", Figure.of(twice), {}),
        *_peaks(measured),
    ]


def stages(samples: Sequence[Sample]) -> dict[str, float]:
    """Seconds by stage, summed over samples: those of the table `costs`, the rest, storing."""
    out: dict[str, float] = {}
    for one in samples:
        for stage, seconds in one.ran.stages.items():
            out[stage] = out.get(stage, 0.0) + seconds
    if samples:
        known = sum(out.values())
        out["the rest"] = sum(one.ran.seconds for one in samples) - known
        out["storing"] = sum(one.ran.store for one in samples)
    return out


def _line(row: _Row, measured: Measured) -> Line:
    """A line of figures by case, and for all cases the geometric mean in each repetition."""
    samples = measured.of(row.part, row.resolver, timed=row.timed)
    cases = {
        case: Figure.of([row.take(one.ran) for one in some])
        for case, some in _by_case(samples).items()
    }
    return Line(row.key, row.title, row.unit, _over_all(cases.values()), cases)


def _times(shared: Sequence[Sample], rollout: Sequence[Sample]) -> Line:
    """How many times as fast `shared` is, repetition by repetition."""
    slow = {(one.ran.case, one.repetition): rate(one.ran) for one in rollout}
    cases = {
        case: Figure.of([ratio(rate(one.ran), slow.get((case, one.repetition))) for one in some])
        for case, some in _by_case(shared).items()
    }
    title = "shared, times rollout at the same positions"
    return Line("times_rollout", title, "times", _over_all(cases.values()), cases)


def _distortion(measured: Measured) -> Line:
    """How many times as long resolving takes while engine calls are timed."""
    plain = {one.ran.case: rate(one.ran) for one in measured.of("timing", "shared")}
    cases = {
        one.ran.case: Figure.of([ratio(plain.get(one.ran.case), rate(one.ran))])
        for one in measured.of("timing", "shared", timed=True)
    }
    title = "resolving with engine calls timed, over without"
    return Line("timing", title, "times", _over_all(cases.values()), cases)


def _over_all(figures: Iterable[Figure | None]) -> Figure | None:
    known = [one for one in figures if one is not None]
    count = min((len(one.values) for one in known), default=0)
    return Figure.of([geometric_mean([one.values[at] for one in known]) for at in range(count)])


def _by_case(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    cases: dict[str, list[Sample]] = {}
    for one in sorted(samples, key=lambda one: one.repetition):
        cases.setdefault(one.ran.case, []).append(one)
    return cases


def _peaks(measured: Measured) -> list[Line]:
    """The most memory that each host held in any sample."""
    peaks: dict[str, int] = {}
    for sample in measured.samples:
        if sample.part == "vocabulary":  # a larger vocabulary, on purpose
            continue
        peaks["lane"] = max(peaks.get("lane", 0), sample.ran.lane_peak)
        for name, one in sample.ran.hosts.items():
            peaks[name] = max(peaks.get(name, 0), one.peak)
    return [
        Line(f"peak_{name}", f"peak memory, {name}", "MiB", Figure.of([size / 2**20]), {})
        for name, size in peaks.items()
    ]


def _noting(ran: Ran) -> float | None:
    """Microseconds per resolved token outside of every stage, and of storing."""
    rest = ran.seconds - sum(ran.stages.values()) + ran.store
    return _per(rest, ran.tokens, 1e6)


def _per_position(ran: Ran) -> float | None:
    return _per(ran.stages.get("resolve"), len(ran.resolved))


def _per_token(ran: Ran) -> float | None:
    return _per(ran.stages.get("resolve"), ran.tokens, 1e6)


def _per(seconds: float | None, count: int, scale: float = 1e3) -> float | None:
    each = ratio(seconds, count)
    return None if each is None else each * scale


def _compiling(ran: Ran) -> float | None:
    return ran.stages.get("compile")


def _whole_case(ran: Ran) -> float:
    return ran.seconds + ran.store


def _walk_position(ran: Ran) -> float | None:
    return _per(ran.walk, ran.positions)


@dataclass(frozen=True)
class _Row:
    """How a line of the table comes about: from which samples, and what is taken of each."""

    key: str
    title: str
    unit: str
    part: str
    resolver: str
    take: Callable[[Ran], float | None]
    timed: bool = False


_ROWS = (
    _Row("shared_per_core", "proven per second and core, shared", "/s", *_SHARED, rate_per_core),
    _Row("shared_wall", "proven per second of a lane, shared", "/s", *_SHARED, rate),
    _Row("rollout_per_core", "the same, rollout, per core", "/s", *_ROLLOUT, rate_per_core),
    _Row("rollout_wall", "the same, rollout, of a lane", "/s", *_ROLLOUT, rate),
    _Row("shared_proven", "proven of the tokens resolved, shared", "%", *_SHARED, proven_share),
    _Row("rollout_proven", "the same, rollout", "%", *_ROLLOUT, proven_share),
    _Row(
        "engine_shared", "engine calls in a lane's time, shared", "%", *_TIMED, engine_share, True
    ),
    _Row("engine_rollout", "the same, rollout", "%", "timing", "rollout", engine_share, True),
    _Row(
        "engine_cpu",
        "engine calls in all processor time, shared",
        "%",
        *_TIMED,
        engine_cpu_share,
        True,
    ),
    _Row(
        "validators_cpu", "validators in all processor time, shared", "%", *_SHARED, validator_share
    ),
    _Row("lane_cpu", "the lane's process in all processor time, shared", "%", *_SHARED, lane_share),
    _Row("notes_token", "noting and storing, per disputed token", "µs", *_SHARED, _noting),
    _Row(
        "walk_ratio", "a walk, over the engines' own time", "times", "variety", "none", walk_ratio
    ),
    _Row("walk_position", "a walk, per position", "ms", "variety", "none", _walk_position),
    _Row("position", "resolving, per position", "ms", "variety", "shared", _per_position),
    _Row("token", "resolving, per disputed token", "µs", "variety", "shared", _per_token),
    _Row("compile", "compilation, per case", "s", "variety", "shared", _compiling),
    _Row("case", "a completed case, stored", "s", "variety", "shared", _whole_case),
)
