"""What a whole collection costs on how many cores: ``python -m benchmarks.scale``.

Prints the figures of `docs/scale.md` from the measured costs in `scale.json`, or writes them there.
"""

from __future__ import annotations

import json
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from benchmarks.scale_data import FILE, WALK_TABLES, Population, ScaleData
from benchmarks.scheduler import (
    Cluster,
    Outcome,
    Plan,
    divided,
    foreseen,
    ideal,
    one_by_one,
    pulled,
    simulate,
)
from harness.execution.sweep.packing import CostModel, pack
from harness.inputs.case_selection import open_cases

PAGE: Final = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN: Final = "<!-- figures: python -m benchmarks.scale --write -->"
END: Final = "<!-- end of figures -->"

LANES: Final = (1, 64, 1024)
MORE_LANES: Final = (1, 16, 64, 256, 1024, 4096)
WALKS: Final = 10
VOCABULARIES: Final = 5

CROWDED: Final = 2 / 1.85
"""A lane's time where every core has a lane, by its time alone: two lanes on two cores do 1.85
times the work of one (`python -m benchmarks --quick`)."""

LANE_START: Final = 10.0
"""Seconds until three engines are open in a lane; measured, on a busy machine."""

NODE_START: Final = 60.0
"""Seconds; assumed, with image and data at hand."""

HAND_OVER: Final = 0.01
"""Seconds; a call of a Ray actor on one machine takes 1.3 ms there and back. Assumed: a network."""

DRIVER: Final = 0.002
"""Seconds of the driver per unit; measured 0.6 ms without the claim, which is a file."""

LANE_GIB: Final = 4
"""Memory that a lane reserves."""

MEMORY_MIB: Final = {
    "lane": 240,
    "xgrammar": 326,
    "llguidance": 161,
    "outlines": 2992,
    "validators": 50,
}
"""Highest resident memory of each process (`VmHWM`) over 24 cases of the same collection."""

MEMORY_TOGETHER_MIB: Final = 3669
"""Highest sum over the processes of that lane and the command, shared pages counted once."""

_HOUR: Final = 3600.0


@dataclass(frozen=True)
class Way:
    """A way to order the work."""

    title: str
    plan: Callable[[Population, int], Plan]
    failures: float = 0.0


def _packed(cases: Population, lanes: int) -> Plan:
    return pulled(pack(cases.facts, lanes, CostModel()))


WAYS: Final = (
    Way("packed (`maskcourt sweep`)", _packed),
    Way("packed, each lane dies every 10 hours", _packed, 0.1),
    Way(
        "packed, every cost known beforehand",
        lambda cases, lanes: pulled(foreseen(cases.facts, cases.seconds, lanes)),
    ),
    Way("one by one, in the given order", lambda cases, _: one_by_one(len(cases.facts))),
    Way("divided evenly beforehand", lambda cases, lanes: divided(len(cases.facts), lanes)),
)


def cluster(lanes: int, failures: float = 0.0) -> Cluster:
    """The cluster that the figures are for."""
    return Cluster(
        lanes,
        node_start=NODE_START,
        lane_start=LANE_START,
        hand_over=HAND_OVER,
        driver=DRIVER,
        failures=failures,
    )


def crowded(cases: Population) -> Population:
    """The same cases where every core has a lane."""
    return replace(cases, seconds=tuple(seconds * CROWDED for seconds in cases.seconds))


def run(cases: Population, way: Way, lanes: int) -> Outcome:
    """One simulated run."""
    return simulate(cases.seconds, way.plan(cases, lanes), cluster(lanes, way.failures))


def makespan(cases: Population, way: Way, lanes: int) -> float:
    """Of one run; where lanes die at random, the median of several."""
    plan = way.plan(cases, lanes)
    return statistics.median(
        simulate(cases.seconds, list(map(deque, plan)), cluster(lanes, way.failures), seed).makespan
        for seed in range(9 if way.failures else 1)
    )


def figures(data: ScaleData) -> str:
    """All tables, in Markdown."""
    one, ten = crowded(data.population(1)), crowded(data.population(WALKS))
    parts = (
        ("What cases cost", _costs(data, one, ten)),
        ("Time", _time(data, ten)),
        ("Orders of work", _orders(one, ten)),
        ("Where it stops", _limits(ten)),
        ("Memory", _memory()),
        ("Storage", _storage(data)),
    )
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts)


def _costs(data: ScaleData, one: Population, ten: Population) -> str:
    rows = []
    for title, walks, cases in (("one walk", 1, one), (f"{WALKS} walks", WALKS, ten)):
        total, error = data.total(walks)
        ordered = sorted(cases.seconds)
        marks = [ordered[int(share * len(ordered))] for share in (0.5, 0.9, 0.99)]
        rows.append(
            [
                title,
                *(f"{mark:.0f} s" for mark in (*marks, ordered[-1])),
                f"{total * CROWDED / _HOUR:,.0f} h",
                f"± {1.96 * error / total:.0%}",
            ]
        )
    head = ["a case with", "median", "90%", "99%", "longest", "all cases", "95% interval"]
    return _table(head, rows)


def _time(data: ScaleData, ten: Population) -> str:
    joining = data.join_seconds_ten_walks * len(ten.facts)
    rows = []
    for lanes in LANES:
        outcome = run(ten, WAYS[0], lanes)
        rows.append(
            [
                f"{lanes:,}",
                _span(outcome.makespan),
                f"{ideal(ten.seconds, lanes) / outcome.makespan:.0%}",
                _span(joining),
                _span(VOCABULARIES * outcome.makespan),
                _span(VOCABULARIES * (outcome.makespan + joining)),
            ]
        )
    head = [
        "cores",
        "one vocabulary",
        "of the ideal",
        "joining it",
        f"{VOCABULARIES} vocabularies",
        "with joining",
    ]
    share = LANES[-1] // VOCABULARIES
    beside = run(ten, WAYS[0], share).makespan
    return (
        f"{_table(head, rows)}\n\nThe {VOCABULARIES} vocabularies are runs one after the other. "
        f"Side by side, on {share} of {LANES[-1]:,} cores each, they take {_span(beside)}, "
        f"with joining {_span(beside + joining)}."
    )


def _orders(one: Population, ten: Population) -> str:
    rows = []
    for way in WAYS:
        shares = []
        for cases in (one, ten):
            for lanes in LANES[1:]:
                seconds = makespan(cases, way, lanes)
                share = ideal(cases.seconds, lanes) / seconds
                shares.append(f"{_span(seconds)} ({share:.0%})")
        rows.append([way.title, *shares])
    bounds = [_span(ideal(cases.seconds, lanes)) for cases in (one, ten) for lanes in LANES[1:]]
    rows.append(["ideal: an even share, or the longest case", *bounds])
    head = ["one vocabulary"]
    head += [f"{walks}, {lanes:,} lanes" for walks in ("1 walk", "10 walks") for lanes in LANES[1:]]
    return _table(head, rows)


def _limits(ten: Population) -> str:
    longest = max(ten.seconds)
    rows = []
    for lanes in MORE_LANES:
        outcome = run(ten, WAYS[0], lanes)
        surprised = run(_surprise(ten, 5 * longest), WAYS[0], lanes)
        rows.append(
            [
                f"{lanes:,}",
                _span(sum(ten.seconds) / lanes),
                _span(outcome.makespan),
                f"{outcome.efficiency(lanes):.0%}",
                f"{outcome.units / outcome.makespan:.1f}",
                _span(surprised.makespan),
            ]
        )
    head = ["lanes", "even share", "simulated", "busy", "hand-overs per s", "with a surprise"]
    return (
        _table(head, rows)
        + f"\n\nThe longest case drawn takes {_span(longest)}; the surprise is a case "
        "of median expected cost that takes five times that."
    )


def _surprise(cases: Population, seconds: float) -> Population:
    """The same cases, but the one that is expected in the middle takes `seconds`."""
    costs = CostModel()
    expected = sorted(cases.facts, key=lambda facts: (costs.expected(facts), facts.ordinal))
    changed = list(cases.seconds)
    changed[expected[len(expected) // 2].ordinal] = seconds
    return replace(cases, seconds=tuple(changed))


def _memory() -> str:
    peaks = _table(
        ["process of a lane", "highest"],
        [[name, f"{mib:,} MiB"] for name, mib in MEMORY_MIB.items()]
        + [["all of them at one time", f"{MEMORY_TOGETHER_MIB:,} MiB"]],
    )
    reserved = _table(
        ["lanes", "memory reserved"], [[f"{n:,}", f"{n * LANE_GIB:,} GiB"] for n in LANES]
    )
    return f"{peaks}\n\n{reserved}"


def _storage(data: ScaleData) -> str:
    count = sum(family.cases for family in data.families.values())
    joined = sum(data.table_bytes.values()) / len(data.cases)
    walked = sum(data.table_bytes[name] for name in WALK_TABLES) / len(data.cases)
    rows = []
    for walks in (1, WALKS):
        more = (walks - 1) * walked
        for title, each, files in (
            ("while it goes on", data.part_bytes + more, data.part_files * count),
            ("in blocks of 4 KiB", data.part_disk_bytes + more, data.part_files * count),
            ("joined", joined + more, len(data.table_bytes)),
        ):
            rows.append(
                [
                    f"{walks} {'walk' if walks == 1 else 'walks'}, {title}",
                    f"{each / 1e3:,.0f} kB",
                    f"{each * count / 1e9:.1f} GB",
                    f"{files:,}",
                    f"{each * count * VOCABULARIES / 1e9:.0f} GB",
                ]
            )
    head = ["", "a case", "one vocabulary", "files", f"{VOCABULARIES} vocabularies"]
    return _table(head, rows)


def _span(seconds: float) -> str:
    """A time in the unit in which it reads best."""
    for size, unit in ((86400.0, "days"), (_HOUR, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, its first column to the left, the others to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def written(page: str, text: str) -> str:
    """The page with its figures replaced by `text`."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


@click.command()
@click.option("--write", is_flag=True, help="Write the figures into docs/scale.md.")
@click.option(
    "--prior", is_flag=True, help="Print the fitted figures of harness/execution/sweep/costs.py."
)
@click.option(
    "--measure",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="First make benchmarks/scale.json from this finished run of one walk per case.",
)
@click.option("--cases", default="maskbench", show_default=True, help="What the run sampled.")
def main(write: bool, prior: bool, measure: Path | None, cases: str) -> None:
    """What a whole collection costs on 1, 64 and 1,024 cores, from measured costs of cases."""
    if measure is not None or prior:
        from benchmarks import scale_measure

        if measure is not None:
            scale_measure.measure(measure, open_cases(cases)).save(FILE)
        if prior:
            click.echo(json.dumps(scale_measure.prior(ScaleData.load()), indent=1))
            return
    text = figures(ScaleData.load())
    if write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), text), "utf-8")
    else:
        click.echo(text)


if __name__ == "__main__":
    main()
