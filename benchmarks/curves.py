"""The curves: how time grows with one thing at a time, as points and as a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lane import Ran
from benchmarks.measure import Measured, Sample
from benchmarks.summary import speed_ups

Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Curve:
    """One drawing: some lines over the same values; `x` and `y` name the axes."""

    key: str
    title: str
    x: str
    y: str
    lines: dict[str, Points]


def curves(measured: Measured) -> list[Curve]:
    """The curves for which there are points."""
    found = [_disputed(measured), _length(measured), _vocabulary(measured), _lanes(measured)]
    return [one for one in found if any(one.lines.values())]


def _disputed(measured: Measured) -> Curve:
    samples = [one for one in measured.of("disputed", "shared") if one.ran.tokens]
    points = sorted((one.ran.tokens, _resolving(one.ran)) for one in samples)
    lines = {"resolving": tuple(points)}
    return Curve("disputed", "By disputed tokens", "disputed tokens", "ms per position", lines)


def _length(measured: Measured) -> Curve:
    lines = {
        "walking": _points(measured.of("length", "none"), _walking),
        "resolving": _points(measured.of("length", "shared"), _resolving),
    }
    return Curve("length", "By length of the text", "tokens", "ms per position", lines)


def _vocabulary(measured: Measured) -> Curve:
    lines = {
        "walking": _points(measured.of("vocabulary", "none"), _walking),
        "resolving": _points(measured.of("vocabulary", "shared"), _resolving),
    }
    return Curve("vocabulary", "By vocabulary", "ids", "ms per position", lines)


def _lanes(measured: Measured) -> Curve:
    ups = {**({1: 1.0} if measured.lanes else {}), **speed_ups(measured)}
    return Curve(
        "lanes", "By lanes", "lanes", "times one lane", {"speed": tuple(sorted(ups.items()))}
    )


def _points(samples: Sequence[Sample], take: object) -> Points:
    assert callable(take)
    return tuple(sorted((one.value, float(take(one.ran))) for one in samples))


def _resolving(ran: Ran) -> float:
    """Milliseconds per resolved position."""
    return 1e3 * ran.stages.get("resolve", 0.0) / max(len(ran.resolved), 1)


def _walking(ran: Ran) -> float:
    """Milliseconds per position."""
    return 1e3 * ran.walk / max(ran.positions, 1)


def draw(found: Sequence[Curve], directory: Path) -> list[Path]:
    """Draw all curves into ``curves.png`` and ``curves.svg``.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(4.6 * len(found), 3.8), squeeze=False)
    for curve, axis in zip(found, axes[0], strict=True):
        for name, points in curve.lines.items():
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", label=name)
        if curve.key != "lanes":
            axis.set_xscale("log")
            axis.set_yscale("log")
        else:
            axis.set_xticks(sorted({x for points in curve.lines.values() for x, _ in points}))
            axis.set_ylim(bottom=0)
        axis.set_title(curve.title)
        axis.set_xlabel(curve.x)
        axis.set_ylabel(curve.y)
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend()
    figure.tight_layout()
    files = [directory / "curves.png", directory / "curves.svg"]
    for file in files:
        figure.savefig(file, dpi=150)
    plt.close(figure)
    return files
