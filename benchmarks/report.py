"""The benchmark's results for a reader, and as JSON."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.curves import Curve, curves
from benchmarks.figures import Figure
from benchmarks.measure import Measured, Measurement
from benchmarks.summary import Line, speed_ups, stages, summary
from harness import __version__
from harness.execution.bench import code_hash

FORMAT = 1

TARGETS: Mapping[str, str] = {
    "shared_per_core": "≥ 20,000",
    "times_rollout": "≥ 100",
    "engine_shared": "≥ 70",
    "walk_ratio": "≤ 1.5",
    "two_lanes": "≥ 1.7",
}
"""What the harness is meant to reach, by the key of a line."""

_PACKAGES = ("numpy", "pyarrow", "jsonschema", "jsonschema-rs")


def machine() -> dict[str, Any]:
    """The machine and its load at this moment."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "load": list(os.getloadavg()),
    }


def as_json(measurement: Measurement, began: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The whole result: what was measured on, every raw figure, and what they come to.

    Args:
        measurement: The finished measurement.
        began: The `machine` at its beginning.
        seconds: Wall time of all of it.
    """
    measured, work = measurement.measured, measurement.work
    return {
        "format": FORMAT,
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": seconds,
        "machine": {**began, "load_at_the_end": list(os.getloadavg())},
        "versions": {
            "maskcourt": __version__,
            "code": code_hash(),
            "engines": measured.versions,
            "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
        },
        "seed": measurement.seed,
        "plan": asdict(measurement.plan),
        "data": {"name": work.name, "note": work.note},
        "vocabulary": {
            "name": measurement.vocabulary.name,
            "size": measurement.vocabulary.size,
            "sha256": measurement.vocabulary.sha256,
        },
        "lines": [_line_json(line) for line in summary(measured)],
        "stages": {part: stages(measured.of(part, "shared")) for part in ("variety", "resolving")},
        "speed_up": {str(count): up for count, up in speed_ups(measured).items()},
        "curves": [asdict(one) for one in curves(measured)],
        "samples": [asdict(one) for one in measured.samples],
        "lanes": [asdict(one) for one in measured.lanes],
    }


def show(measured: Measured, console: Console) -> None:
    """Print the tables."""
    lines = summary(measured)
    table = Table(title="What it costs", title_justify="left")
    table.add_column("figure")
    for name in ("median", "least", "most"):
        table.add_column(name, justify="right")
    table.add_column("unit")
    table.add_column("target", justify="right")
    for line in lines:
        if line.figure is not None:
            table.add_row(
                line.title, *_shown(line.figure, line.unit), line.unit, TARGETS.get(line.key, "")
            )
    console.print(table)
    by_key = {line.key: line for line in lines}
    for title, heads in _BY_CASE.items():
        _show_cases(by_key, heads, title, console)
    _show_stages(measured, console)
    for curve in curves(measured):
        _show_curve(curve, console)


_BY_CASE: Mapping[str, Mapping[str, str]] = {
    "Whole-vocabulary disputes": {
        "shared_per_core": "shared, /s core",
        "shared_wall": "shared, /s lane",
        "rollout_wall": "rollout, /s lane",
        "times_rollout": "times",
        "shared_proven": "proven, %",
        "engine_shared": "engines, %",
        "validators_cpu": "valid., %",
    },
    "Cases of all kinds": {
        "walk_ratio": "walk, times",
        "walk_position": "walk, ms/pos.",
        "position": "resolve, ms/pos.",
        "token": "µs/token",
        "compile": "compile, s",
        "case": "case, s",
    },
}
"""The tables by case: the lines in them, by key, each with a short heading."""


def _show_cases(
    lines: Mapping[str, Line], heads: Mapping[str, str], title: str, console: Console
) -> None:
    chosen = [lines[key] for key in heads]
    cases = list(dict.fromkeys(case for line in chosen for case in line.cases))
    if not cases:
        return
    table = Table(title=f"{title} (medians)", title_justify="left")
    table.add_column("case", overflow="fold")
    for head in heads.values():
        table.add_column(head, justify="right")
    for case in cases:
        figures = [(line.cases.get(case), line.unit) for line in chosen]
        shown = ("" if one is None else number(one.median, unit) for one, unit in figures)
        table.add_row(case, *shown)
    console.print(table)


def _show_stages(measured: Measured, console: Console) -> None:
    """Where the time of whole cases goes, and of uncapped positions."""
    parts = {part: stages(measured.of(part, "shared")) for part in ("variety", "resolving")}
    names = list(dict.fromkeys(name for one in parts.values() for name in one))
    if not names:
        return
    table = Table(title="Where a lane's time goes, by stage (shared)", title_justify="left")
    table.add_column("stage")
    table.add_column("cases of all kinds, %", justify="right")
    table.add_column("whole-vocabulary disputes, %", justify="right")
    for name in names:
        shares = [(one.get(name, 0.0), sum(one.values())) for one in parts.values()]
        table.add_row(name, *(number(part / whole, "%") if whole else "" for part, whole in shares))
    console.print(table)


def _show_curve(curve: Curve, console: Console) -> None:
    table = Table(title=curve.title, title_justify="left")
    table.add_column(curve.x)
    for name in curve.lines:
        table.add_column(f"{name}, {curve.y}", justify="right")
    for value in sorted({x for points in curve.lines.values() for x, _ in points}):
        row = [dict(points).get(value) for points in curve.lines.values()]
        table.add_row(f"{value:,}", *("" if one is None else number(one, "") for one in row))
    console.print(table)


def _shown(figure: Figure, unit: str) -> tuple[str, str, str]:
    if len(figure.values) == 1:
        return number(figure.median, unit), "", ""
    return number(figure.median, unit), number(figure.least, unit), number(figure.most, unit)


def number(value: float, unit: str) -> str:
    """A figure with three significant digits, shares in per cent."""
    if unit == "%":
        return f"{value * 100:.1f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _line_json(line: Line) -> dict[str, Any]:
    cases = {case: _figure_json(one) for case, one in line.cases.items()}
    return {
        "key": line.key,
        "title": line.title,
        "unit": line.unit,
        "target": TARGETS.get(line.key),
        "all": _figure_json(line.figure),
        "cases": cases,
    }


def _figure_json(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else {**asdict(figure), "spread": figure.spread}


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
