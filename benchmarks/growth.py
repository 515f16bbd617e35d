"""How cost grows with schema, reference and vocabulary: ``python -m benchmarks.growth``.

Each sweep lets one thing grow and keeps the others. What is told is processor time of the lane and
its hosts, start-up apart, and the exponent to which it grows from each size to the next: 1 is
linear. At most `CAP` tokens of a dispute are resolved.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from benchmarks.lane import VALIDATORS, BenchLane, Ran, Way
from benchmarks.workloads import UNDECLARED, long_text, resized
from harness.engines.environments import provide_all
from harness.engines.panel import Limits
from harness.engines.specs import parse_specs
from harness.inputs.cases import Case, Instance
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.workers.temporary_directories import saved_vocabulary

KILOBYTES: Final[Mapping[str, tuple[int, ...]]] = {
    "schema": (1, 4, 16, 64, 256),
    "reference": (1, 4, 16, 64),
}
IDS: Final = (32_000, 128_000, 256_000)
CAP: Final = 100
RESOLVED: Final = 16
"""Kilobytes of the longest reference that is resolved: that grows with the square of the length."""
_SMALL: Final = 3
"""Members of the reference where it is the schema that grows."""


@dataclass(frozen=True)
class Point:
    """Milliseconds of processor time at one size, by what they were spent on."""

    size: int
    spent: Mapping[str, float]


def wide(kilobytes: int) -> Case:
    """A case whose schema has so many bytes: an object of declared members, each an object."""
    members: dict[str, Any] = {}
    size = 0
    while size < kilobytes << 10:
        number = len(members)
        members[f"member_{number}"] = {
            "type": "object",
            "description": f"What is to be said of member {number}.",
            "properties": {
                "name": {"type": "string", "maxLength": 40},
                "kind": {"enum": [f"kind {number}", "other"]},
                "count": {"type": "integer", "minimum": 0},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
        size += len(json.dumps(members[f"member_{number}"])) + 20
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    value = {name: {"name": "Anna", "count": 3} for name in list(members)[:_SMALL]}
    place = "benchmarks/growth.py"
    return Case(
        f"own---wide-{kilobytes}", "own", json.dumps(schema), (Instance.of(value),), (), place
    )


def long(vocabulary: Vocabulary, kilobytes: int) -> Case:
    """A case whose reference has about so many bytes."""
    sample = long_text(vocabulary, 1000)
    each = len(sample.valid[0].text) / 1000
    return long_text(vocabulary, int((kilobytes << 10) / each))


def point(size: int, ran: Ran, positions: int) -> Point:
    """What a case cost, resolving by position."""
    engines = [one for name, one in ran.hosts.items() if name != VALIDATORS]
    compiling = sum(one.commands.get("compile", {}).get("cpu", 0.0) for one in engines)
    hosts = sum(one.cpu for one in engines) - compiling
    spent = {"compiling": compiling, "engines' hosts": hosts, "lane": ran.lane_cpu}
    spent["validators"] = ran.hosts[VALIDATORS].cpu if VALIDATORS in ran.hosts else 0.0
    return Point(size, {name: 1e3 * one / max(positions, 1) for name, one in spent.items()})


def exponents(points: Sequence[Point], name: str) -> list[float]:
    """To which power a cost grows from each point to the next."""
    pairs = pairwise(point for point in points if name in point.spent)
    return [
        math.log(max(b.spent[name], 1e-3) / max(a.spent[name], 1e-3)) / math.log(b.size / a.size)
        for a, b in pairs
    ]


def shown(title: str, unit: str, points: Sequence[Point]) -> Table:
    """A sweep as a table: sizes down, costs across, the exponents in brackets."""
    names = list(points[0].spent)
    table = Table("size", *names, title=f"{title}: {unit}", title_justify="left")
    grows = {name: [math.nan, *exponents(points, name)] for name in names}
    for at, one in enumerate(points):
        row = [
            f"{one.spent[name]:.2f}"
            + ("" if math.isnan(grows[name][at]) else f" ({grows[name][at]:.2f})")
            if name in one.spent
            else ""
            for name in names
        ]
        table.add_row(f"{one.size:,}", *row)
    return table


@contextmanager
def opened(engines: str, vocabulary: Vocabulary) -> Iterator[BenchLane]:
    """A lane that has run its first case."""
    with saved_vocabulary(vocabulary) as file:
        lane = BenchLane(provide_all(parse_specs([engines])), str(file), Limits())
        try:
            lane.open()
            lane.run(UNDECLARED, Way(cap=1))
            yield lane
        finally:
            lane.close()


def measured(lane: BenchLane, case: Case, size: int, *, each: bool, resolved: bool = True) -> Point:
    """What a case costs; by position if asked for `each`, and then only walking before it."""
    if not each:
        return point(size, lane.run(case, Way(cap=CAP)), 1)
    walked = lane.run(case, Way(resolver="none", cap=CAP))
    only = point(size, walked, walked.positions).spent
    spent = {"only walked": sum(only.values()) - only["compiling"]}
    if resolved:
        ran = lane.run(case, Way(cap=CAP))
        spent |= point(size, ran, ran.positions).spent
        del spent["compiling"]
    return Point(size, spent)


def sweeps(engines: str, only: Sequence[str]) -> Iterator[tuple[str, str, list[Point]]]:
    """The sweeps, one after another: their titles, the unit, the points."""
    vocabulary = open_vocabulary("qwen2.5")
    making: dict[str, tuple[Callable[[int], Case], str, bool]] = {
        "schema": (wide, "ms per schema, by its kB", False),
        "reference": (
            lambda kilobytes: long(vocabulary, kilobytes),
            "ms per position, by kB of the reference",
            True,
        ),
    }
    for name, (make, unit, each) in making.items():
        if name in only:
            with opened(engines, vocabulary) as lane:
                points = [
                    measured(lane, make(one), one, each=each, resolved=not each or one <= RESOLVED)
                    for one in KILOBYTES[name]
                ]
            yield name, unit, points
    if "vocabulary" in only:
        points = []
        for size in IDS:
            with opened(engines, resized(vocabulary, size)) as lane:
                points.append(measured(lane, long(vocabulary, 1), size, each=True))
        yield "vocabulary", "ms per position, by ids", points


@click.command()
@click.argument("only", nargs=-1, type=click.Choice([*KILOBYTES, "vocabulary"]))
@click.option("--engines", default="xgrammar,llguidance", show_default=True)
def main(only: Sequence[str], engines: str) -> None:
    """Print how cost grows, in all sweeps or some."""
    console = Console(width=110)
    for title, unit, points in sweeps(engines, only or (*KILOBYTES, "vocabulary")):
        console.print(shown(title, unit, points))


if __name__ == "__main__":
    main()
