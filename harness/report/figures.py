"""Figures of a run for papers: PNG and SVG, the same bytes for the same numbers.

Colour stands for a verdict, never for a bit of a mask; where lines must tell engines apart, their
dashes differ too. The colours are those of Okabe and Ito (Color Universal Design, 2008), which
people with any of the common kinds of colour blindness tell apart, and differ in lightness, so that
they survive a print in grey.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.stored import Classify, by_catalogue
from harness.analysis.timing import Distributions, distributions
from harness.files import writing
from harness.optional import require
from harness.render.table import Row
from harness.report.tables import SEPARATOR, Digest, digest, known_kind, rows_where
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import (
    BUG,
    CLASSES,
    DEPARTURE,
    MAIN_KINDS,
    WALK,
    WARNED,
)

KINDS_OF_FILES = ("png", "svg")
NAMES = ("headline_rates", "compile", "errors", "keywords", "agreement", "timings")
"""The figures, in the order in which they are drawn."""

_WIDE = 6.3
"""Inches: the width of a column of text on A4."""
_DOTS = 200
"""Per inch, in PNG."""
_DOTS_SMALL = 130
"""Likewise, in pictures."""
_KEYWORDS = 18
"""Rows of the heat map at most."""

_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _VERMILLION, _PURPLE, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#B8B8B8"

_OF_CLASS = {BUG: _VERMILLION, WARNED: _ORANGE, DEPARTURE: _GREY}
_OF_OUTCOME = {
    "compiled": _GREY,
    "refused": _SKY,
    "timed_out": _ORANGE,
    "out_of_memory": _PURPLE,
    "crashed": _VERMILLION,
}
_OF_VALUE = {"real": _VERMILLION, "plain": _ORANGE, "rare": _GREY}
_OF_LINE = (_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK)
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))

_STYLE = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "maskcourt",
    "svg.fonttype": "path",
    "path.simplify": True,
}


def draw(
    run: RunDirectory,
    directory: Path,
    kinds: Sequence[str] = KINDS_OF_FILES,
    rule: Classify = by_catalogue,
) -> list[Path]:
    """Draw the figures of a run, finished or not: for each of `NAMES` a file of each kind.

    Raises:
        UsageError: matplotlib is not installed, or there is no such kind.
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    require("matplotlib", "report", "figures")
    for kind in kinds:
        known_kind(kind, KINDS_OF_FILES, "figures")
    return draw_digest(digest(run, rule), distributions(run), directory, kinds)


def draw_digest(
    found: Digest, times: Distributions, directory: Path, kinds: Sequence[str] = KINDS_OF_FILES
) -> list[Path]:
    """As `draw`, of what was read from a run before; nothing of when and with what it was made."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    files = []
    for name in NAMES:
        figure = drawn(name, found, times)
        for kind in kinds:
            files.append(file := directory / f"{name}.{kind}")
            with writing(directory), _styled():
                directory.mkdir(parents=True, exist_ok=True)
                figure.savefig(file, format=kind, dpi=_DOTS, metadata=metadata[kind])
    return files


def drawn(name: str, found: Digest, times: Distributions) -> Any:
    """One of `NAMES` as a matplotlib Figure."""
    with _styled():
        return _timings(found.engines, times) if name == "timings" else _DRAWN[name](found)


def picture(name: str, found: Digest, times: Distributions) -> bytes:
    """One of `NAMES` as a small PNG, in few colours: what notebooks show and keep."""
    figure = drawn(name, found, times)
    image = require("PIL.Image", "report", "pictures")  # comes with matplotlib
    large, small = io.BytesIO(), io.BytesIO()
    with _styled():
        figure.savefig(large, format="png", dpi=_DOTS_SMALL, metadata={"Software": None})
    image.open(large).convert("RGB").quantize(48).save(small, format="png", optimize=True)
    return small.getvalue()


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    """Matplotlib as it comes, with this module's style and nothing of the user's."""
    matplotlib = require("matplotlib", "report", "figures")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _figure(height: float, panels: int = 1, **options: Any) -> tuple[Any, list[Any]]:
    """A figure without a window, and its panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDE, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False, **options)
    return figure, list(axes[0])


def _compile(found: Digest) -> Any:
    rows = rows_where(found.tables["compile"])
    figure, (axes,) = _figure(1.1 + 0.32 * len(rows))
    _stack(axes, rows, _OF_OUTCOME, 0.06)
    _by_engine(axes, found.engines, "Schemas by outcome of compilation", "schemas")
    axes.grid(visible=False)
    axes.margins(x=0.01)
    axes.locator_params(axis="x", integer=True)
    return _with_legend(figure, axes, len(_OF_OUTCOME), "outside lower center")


def _with_legend(figure: Any, axes: Any, columns: int, where: str = "outside upper right") -> Any:
    figure.legend(*axes.get_legend_handles_labels(), loc=where, ncols=columns)
    return figure


def _by_engine(axes: Any, engines: Sequence[str], title: str, unit: str) -> None:
    """A panel with a line for each engine, the first at the top."""
    axes.set_yticks(range(len(engines)), engines)
    axes.set_ylim(len(engines) - 0.5, -0.5)
    axes.set_title(title)
    axes.set_xlabel(unit)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.5)


def _stack(
    axes: Any,
    rows: Sequence[Row],
    colours: Mapping[str, str],
    least: float,
) -> None:
    """Horizontal bars, one per row, stacked by the columns that have colours.

    A count is written into its bar where that has this share of its row at the `least`.
    """
    totals = np.array([max(1, sum(row[word] for word in colours)) for row in rows])
    left = np.zeros(len(rows))
    for word, colour in colours.items():
        counts = np.array([row[word] for row in rows], dtype=np.float64)
        if counts.any():
            axes.barh(range(len(rows)), counts, 0.7, left, color=colour, label=_label(word))
        for at in np.flatnonzero((counts > 0) & (counts >= least * totals)).tolist():
            middle = left[at] + counts[at] / 2
            axes.text(middle, at, f"{counts[at]:,.0f}", ha="center", va="center", fontsize=7)
        left += counts


def _errors(found: Digest) -> Any:
    engines = found.engines
    figure, panels = _figure(0.5 + 0.75 * max(2, len(engines)), 2, sharey=True)
    for axes, (key, kind) in zip(panels, MAIN_KINDS.items(), strict=True):
        rows = {
            row["engine"]: row
            for row in rows_where(found.tables["errors"], evidence=WALK, kind=kind)
        }
        axes.set_xscale("log")
        for number, word in enumerate(CLASSES):
            at = np.arange(len(engines)) + (number - 1) * 0.27
            counts = [rows[engine][word] for engine in engines]
            drawn = np.maximum(counts, 1e-3)  # nothing at all is no length on such an axis
            axes.barh(at, drawn, 0.25, color=_OF_CLASS[word], label=_label(word, 2))
            for where, count in zip(at, counts, strict=True):
                shown = f" {count:,}"
                axes.text(max(count, 0.8), where, shown, va="center", fontsize=6.5)
        most = max((row[word] for row in rows.values() for word in CLASSES), default=0)
        axes.set_xlim(0.8, max(10, most) * 30)
        title = key.replace("_", " ").capitalize()
        _by_engine(axes, engines, title, "tokens, proven (logarithmic)")
    return _with_legend(figure, panels[0], 3)


def _label(word: str, many: int = 1) -> str:
    plurals = {"bug": "bugs", "departure": "departures"}
    return plurals.get(word, word) if many > 1 else word.replace("_", " ")


_TITLES = {"loss": "Cannot write a valid value", "leak": "Lets an invalid value through"}


def _headline_rates(found: Digest) -> Any:
    """Loss and leak: bars by what shows it, with the interval of the whole."""
    engines = found.engines
    figure, panels = _figure(1.0 + 0.4 * max(2, len(engines)), 2, sharey=True)
    for axes, (measure, title) in zip(panels, _TITLES.items(), strict=True):
        rows = rows_where(found.tables["headline_rates"], measure=measure)
        left = np.zeros(len(rows))
        for word, colour in _OF_VALUE.items():
            wide = np.array([100 * row[word] / max(1, row["of"]) for row in rows])
            axes.barh(range(len(rows)), wide, 0.5, left, color=colour, label=f"{word} value")
            left += wide
        for at, row in enumerate(rows):
            if row["low"] is not None:
                ends = (100 * row["low"], 100 * row["high"])
                axes.plot(ends, (at, at), color=_BLACK, linewidth=1.2)
            text = f"{row['found']:,} of {row['of']:,}"
            axes.text(max(left[at], 100 * (row["high"] or 0)) + 1, at, text, va="center")
        sampled = ", with 95% interval" if found.summary["sampled"] else ""
        _by_engine(axes, engines, title, f"% of the schemas judged{sampled}")
        axes.set_xlim(0, 125)
        axes.set_xticks(range(0, 101, 25))
    return _with_legend(figure, panels[0], 3, "outside lower center")


def keyword_counts(found: Digest, kind: str) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Keywords, most cases first, and in how many cases there is a bug, ``(keywords, engines)``.

    The bugs are of walks and instances; one that is about no keyword is under ``(none)``.
    """
    cases: dict[str, dict[str, int]] = {}
    for row in rows_where(found.tables["by_keyword"], **{"kind": kind, "class": BUG}):
        of_engine = cases.setdefault(row["keyword"] or "(none)", {})
        # the two kinds of evidence may be about the same case: no sum
        of_engine[row["engine"]] = max(of_engine.get(row["engine"], 0), row["cases"])
    order = sorted(cases, key=lambda one: (-sum(cases[one].values()), one))
    table = [[cases[one].get(engine, 0) for engine in found.engines] for one in order]
    return order, np.array(table, dtype=np.int64).reshape(len(order), len(found.engines))


def _keywords(found: Digest) -> Any:
    tables = {kind: keyword_counts(found, kind) for kind in MAIN_KINDS.values()}
    most = max([1, *(len(order) for order, _ in tables.values())])
    figure, panels = _figure(1.1 + 0.2 * min(most, _KEYWORDS), 2)
    top = max([10, *(int(counts.max()) for _, counts in tables.values() if counts.size)])
    for axes, (kind, (order, counts)) in zip(panels, tables.items(), strict=True):
        shown = counts[:_KEYWORDS]
        _heat(axes, order[:_KEYWORDS], found.engines, shown, top)
        left = len(order) - len(shown)
        more = f" (first {_KEYWORDS} of {len(order)})" if left else ""
        axes.set_title(f"{kind.replace('_', ' ').capitalize()}s{more}")
    figure.suptitle("Cases with a bug, by keyword", x=0.01, ha="left", fontsize=9)
    return figure


def _heat(axes: Any, rows: Sequence[str], columns: Sequence[str], counts: Any, top: int) -> None:
    from matplotlib.colors import LogNorm

    if not len(rows):
        axes.text(0.5, 0.5, "none", ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    shown = np.where(counts > 0, counts, np.nan)
    axes.imshow(shown, aspect="auto", cmap="YlOrRd", norm=LogNorm(1, top))
    for (row, column), count in np.ndenumerate(counts):
        if count:
            dark = np.log(count) > 0.55 * np.log(top)
            colour = "white" if dark else "black"
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=7)
    axes.set_xticks(range(len(columns)), columns, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#EEEEEE", linewidth=0.8)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def _agreement(found: Digest) -> Any:
    """Bars over a grid that says which engines accept and which reject, as in an UpSet plot."""
    rows = rows_where(found.tables["agreement"])[:12]
    engines = found.engines
    from matplotlib.figure import Figure

    height = 0.24 * max(2, len(engines))
    figure = Figure(figsize=(_WIDE, 1.9 + height), layout="constrained")
    bars, grid = figure.subplots(2, 1, sharex=True, height_ratios=(1.7, height))
    places = range(len(rows))
    tokens = [row["tokens"] for row in rows]
    bars.bar(places, tokens, 0.6, color=_GREY)
    for at, row in enumerate(rows):
        text = f"{row['tokens']:,}\n{row['cases']:,} cases"
        bars.text(at, row["tokens"], text, ha="center", va="bottom", fontsize=6.5)
        accept, reject = (set(row[one].split(SEPARATOR)) for one in ("accept", "reject"))
        for line, engine in enumerate(engines):
            if engine in accept:
                grid.plot(at, line, "o", color=_BLACK, markersize=6)
            elif engine in reject:
                grid.plot(at, line, "o", color="white", markeredgecolor=_BLACK, markersize=6)
    if tokens:
        bars.set_yscale("log")
        bars.set_ylim(0.8, max(tokens) * 60)
        grid.set_xlim(-0.6, max(len(rows), 4) - 0.4)
    bars.set_ylabel("disputed tokens")
    bars.set_title("Who accepts together (filled) and who rejects (open), by disputed tokens")
    bars.tick_params(labelbottom=False, bottom=False)
    grid.set_yticks(range(len(engines)), engines)
    grid.set_ylim(len(engines) - 0.5, -0.5)
    grid.tick_params(length=0, labelbottom=False)
    grid.spines[:].set_visible(False)
    return figure


_TIMES = {
    "time_to_first_mask": "Time to first mask",
    "time_between_masks": "Time between masks",
}
_UNITS = {1e0: "1 µs", 1e1: "10 µs", 1e2: "100 µs", 1e3: "1 ms", 1e4: "10 ms", 1e5: "100 ms"}
_UNITS |= {1e6: "1 s", 1e7: "10 s", 1e8: "100 s", 1e9: "1,000 s"}


def _timings(engines: Sequence[str], times: Distributions) -> Any:
    """What share took longer than a time: both axes logarithmic, so that tails are seen."""
    figure, panels = _figure(2.6, 2, sharey=True)
    least = 1e-1
    for axes, (measure, title) in zip(panels, _TIMES.items(), strict=True):
        ends = [1e2, 1e3]
        for number, engine in enumerate(engines):
            one = times[engine][measure]
            if not one.n:
                continue
            longer = 1 - np.cumsum(one.counts) / one.n
            longer = np.maximum(np.append(1.0, longer), 0.5 / one.n)
            least = min(least, 0.5 / one.n)
            values = np.append(one.values[:1], one.values)
            colour, dashes = (some[number % len(some)] for some in (_OF_LINE, _DASHES))
            axes.step(*_thinned(values, longer), color=colour, linestyle=dashes, label=engine)
            ends += [float(values[0]), float(values[-1])]
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [one for one in _UNITS if min(ends) / 10 < one < max(ends) * 10]
        axes.set_xticks(ticks, [_UNITS[one] for one in ticks], rotation=30)
        axes.minorticks_off()
        axes.set_title(title)
        axes.grid(color="#DDDDDD", linewidth=0.5)
    ticks = [one for one in (1.0, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5) if one >= least]
    panels[0].set_yticks(ticks, [f"{100 * one:g}%" for one in ticks])
    panels[0].set_ylabel("share that took longer")
    return _with_legend(figure, panels[1], 4)


def _thinned(values: Any, shares: Any) -> tuple[Any, Any]:
    """A curve without the points that no eye tells apart."""
    moved = np.round(np.log10(values) * 150), np.round(np.log10(shares) * 150)
    keep = np.ones(len(values), dtype=np.bool_)
    keep[1:-1] = (moved[0][1:-1] != moved[0][:-2]) | (moved[1][1:-1] != moved[1][:-2])
    return values[keep], shares[keep]


_DRAWN: Mapping[str, Callable[[Digest], Any]] = {
    "compile": _compile,
    "errors": _errors,
    "headline_rates": _headline_rates,
    "keywords": _keywords,
    "agreement": _agreement,
}
