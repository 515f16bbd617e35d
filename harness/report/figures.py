"""Figures of a run for papers: SVG, the same bytes for the same numbers.

Colour stands for a verdict, never for a bit of a mask; where lines must tell engines apart, their
dashes differ too. The colours are those of Okabe and Ito (Color Universal Design, 2008), which
people with any of the common kinds of colour blindness tell apart, and differ in lightness, so that
they survive a print in grey.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.timing import Distributions, distributions
from harness.files import writing
from harness.optional import require
from harness.report.tables import Digest, digest
from harness.runs.directory import RunDirectory

NAMES = ("headline_rates", "timings")
"""The figures, in the order in which they are drawn."""

_WIDE = 6.3
"""Inches: the width of a column of text on A4."""
_DOTS = 130
"""Per inch, in pictures."""

_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _VERMILLION, _PURPLE, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#B8B8B8"

_OF_VALUE = {"real": _VERMILLION, "plain": _ORANGE, "rare": _GREY}
_OF_LINE = (_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK)
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))


def draw(run: RunDirectory, directory: Path) -> list[Path]:
    """Draw a file for each of `NAMES` of a run, finished or not; UsageError without matplotlib."""
    require("matplotlib", "report", "figures")
    found, times = digest(run), distributions(run)
    without = {"Date": None, "Creator": None}  # nothing of when and with what they were made
    files = [directory / f"{name}.svg" for name in NAMES]
    for file in files:
        figure = drawn(file.stem, found, times)
        with writing(directory), _styled():
            directory.mkdir(parents=True, exist_ok=True)
            figure.savefig(file, metadata=without)
    return files


def drawn(name: str, found: Digest, times: Distributions) -> Any:
    """One of `NAMES` as a matplotlib Figure."""
    with _styled():
        return _timings(found, times) if name == "timings" else _headline_rates(found)


def picture(name: str, found: Digest, times: Distributions) -> bytes:
    """One of `NAMES` as a small PNG, in few colours: what notebooks show and keep."""
    figure = drawn(name, found, times)
    image = require("PIL.Image", "report", "pictures")  # comes with matplotlib
    large, small = io.BytesIO(), io.BytesIO()
    with _styled():
        figure.savefig(large, format="png", dpi=_DOTS, metadata={"Software": None})
    image.open(large).convert("RGB").quantize(48).save(small, format="png", optimize=True)
    return small.getvalue()


def _styled() -> Any:
    """Matplotlib as it comes, with this module's style and nothing of the user's."""
    style = require("matplotlib.style", "report", "figures")
    return style.context(Path(__file__).with_suffix(".mplstyle"), after_reset=True)


def _figure(height: float) -> tuple[Any, list[Any]]:
    """A figure without a window, and its two panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDE, height), layout="constrained")
    return figure, list(figure.subplots(1, 2, sharey=True))


_TITLES = {"loss": "Cannot write a valid value", "leak": "Lets an invalid value through"}


def _headline_rates(found: Digest) -> Any:
    """Loss and leak: bars by what shows it, with the interval of the whole."""
    engines = list(found.summary["engines"])
    figure, panels = _figure(1.0 + 0.4 * max(2, len(engines)))
    for axes, (measure, title) in zip(panels, _TITLES.items(), strict=True):
        rows = [row for row in found.tables["headline_rates"].rows if row["measure"] == measure]
        of = [max(1, row["of"]) / 100 for row in rows]
        ends = np.zeros(len(rows))
        for word, colour in _OF_VALUE.items():
            wide = np.array([row[word] for row in rows], dtype=np.float64) / of
            axes.barh(range(len(rows)), wide, 0.6, ends, color=colour, label=f"{word} value")
            ends += wide
        for line, row in enumerate(rows):
            top = 100 * (row["high"] or 0)
            if row["low"] is not None:
                axes.plot((100 * row["low"], top), (line, line), color=_BLACK, linewidth=1.2)
            text = f"{row['found']:,} of {row['of']:,}"
            axes.text(max(ends[line], top) + 1, line, text, va="center")
        sampled = ", with 95% interval" if found.summary["sampled"] else ""
        axes.set_yticks(range(len(engines)), engines)
        axes.set_ylim(len(engines) - 0.5, -0.5)
        axes.set_title(title)
        axes.set_xlabel(f"% of the schemas judged{sampled}")
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.5)
        axes.set_xlim(0, 125)
        axes.set_xticks(range(0, 101, 25))
    legend = panels[0].get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower center", ncols=3)
    return figure


_TIMES = {"time_to_first_mask": "Time to first mask", "time_between_masks": "Time between masks"}


def _timings(found: Digest, times: Distributions) -> Any:
    """What share took longer than a time: both axes logarithmic, so that tails are seen."""
    from matplotlib.ticker import EngFormatter

    figure, panels = _figure(2.6)
    for axes, (measure, title) in zip(panels, _TIMES.items(), strict=True):
        axes.set_xlim(1e-5, 1e-3, auto=True)
        for number, engine in enumerate(found.summary["engines"]):
            if (one := times[engine][measure]).n:
                longer = np.maximum(1 - np.cumsum(one.counts) / one.n, 0.5 / one.n)
                curve = _thinned(np.append(one.values[:1], one.values), np.append(1.0, longer))
                colour, dashes = (some[number % len(some)] for some in (_OF_LINE, _DASHES))
                axes.step(curve[0] / 1e6, curve[1], color=colour, linestyle=dashes, label=engine)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter("s"))
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
        axes.minorticks_off()
        axes.set_title(title)
        axes.grid(color="#DDDDDD", linewidth=0.5)
    panels[0].set_ylabel("share that took longer")
    legend = panels[1].get_legend_handles_labels()
    figure.legend(*legend, loc="outside upper right", ncols=4)
    return figure


def _thinned(values: Any, shares: Any) -> tuple[Any, Any]:
    """A curve without the points that no eye tells apart."""
    moved = np.diff(np.round(np.log10([values, shares]) * 150), axis=1).any(axis=0)
    keep = np.append(True, moved)
    keep[-1] = True
    return values[keep], shares[keep]
