"""What a run found, in plain words and few lines: what a newcomer reads at its end.

The values that each engine loses and leaks come first, then the bugs behind them. Numbers are the
tally's; `harness.report.terminal` has the tables behind them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from harness.analysis.compile_reasons import compile_reasons, with_names
from harness.analysis.equal_schemas import COUNTS
from harness.analysis.matrix import example_text
from harness.analysis.stored import StoredRun, stored_run
from harness.analysis.tally import is_tested
from harness.bugs.listing import BugList
from harness.engines.specs import with_version
from harness.printable import plural
from harness.render.terminal import for_terminal, print_lines, wrapped
from harness.report.tables import headline, listed
from harness.report.terminal import LEGEND, bug_lines, instances_told, state
from harness.runs.directory import RunDirectory
from harness.runs.made_with import asks_for_trust
from harness.runs.tables import TEXT_TABLES

_LINES = 40
_BUGS = 5
"""Bugs of an engine that are shown where there is room."""
_REASONS = 3
_NAMED = 4
_PAIRS = 3
schemas = functools.partial(plural, noun="schema")
_MORE_BUGS = {
    True: "all bugs, their smallest cases; --write: scripts",
    False: "the few bugs behind the verdicts; goes on",
    None: "the few bugs behind the verdicts",
}
_PROBLEMS = {
    "refused": "refused",
    "crashed": "crashed on",
    "timed_out": "ran out of time on",
    "out_of_memory": "ran out of memory on",
    "warned": "warned while compiling",
}


def print_digest(
    run: RunDirectory,
    tally: Mapping[str, Any],
    console: Console,
    bugs: BugList | None = None,
) -> None:
    """Print what a run of three engines found in at most 40 lines."""
    stored, engines = stored_run(run), tally["engines"]
    path = str(run.path) + (" --trust" if asks_for_trust(run) else "")
    taken = {name: one["backends"] for name, one in engines.items() if len(one["backends"]) > 1}
    about = [f"{name} had schemas taken by {listed(some)}" for name, some in taken.items()]
    about += _equal(tally["equal_schemas"])
    end = [part for line in (_in_pairs(tally["pairs"]), *about) for part in _cut(line)]
    reasons = compile_reasons(run)
    end += (part for name in engines for part in _problems(name, reasons.get(name, {})))
    end += (part for line in _closing(stored, tally, path, bugs) for part in _cut(line))
    judged = _is_judged(tally)
    room = _LINES - len(end)
    if judged:
        table = for_terminal(headline(tally, intervals=False))
        room -= len(console.render_lines(table))
        console.print(table)
    else:
        causes = _not_walked(tally)
        text = f"Nothing could be judged: no engine on any of {schemas(tally['cases'])}"
        print_lines(_cut(text + (f" ({causes})" if causes else "") + "."), console)
    if bugs is not None and bugs.bugs:
        print_lines(_bugs_by_engine(bugs, tally, room), console)
    elif judged:
        print_lines(_answers(tally), console)
    print_lines(end, console)


def _bugs_by_engine(bugs: BugList, tally: Mapping[str, Any], room: int) -> list[str]:
    """The first bugs of each engine; as many as there is room for."""
    lines: list[str] = []
    for most in range(_BUGS, 0, -1):
        lines = _cut(LEGEND)
        for name, engine in tally["engines"].items():
            if shown := bug_lines(bugs, name, most):
                lines += [with_version(name, engine["version"]), *shown]
        if len(lines) <= room:
            break
    return lines


def _answers(tally: Mapping[str, Any]) -> Iterator[str]:
    """What each engine loses and leaks, with an example: where no bugs are known."""
    for name, cells in tally["matrix"].items():
        for column in ("loses", "leaks"):
            if cells[column]["count"]:
                example = example_text(column, cells[column]["example"])
                more = f" For example: {example}" if example else ""
                yield from _cut(f"{name}: {cells[column]['sentence']}{more}")


def _is_judged(tally: Mapping[str, Any]) -> bool:
    return any(
        engine["judged"]["positions"]
        or any(is_tested(engine[table]) for table in TEXT_TABLES.values())
        for engine in tally["engines"].values()
    )


def _not_walked(tally: Mapping[str, Any]) -> str:
    return listed({**tally["not_compared"], **tally["set_aside"]})


def _in_pairs(pairs: Sequence[Mapping[str, Any]]) -> str:
    """On how many schemas one alone of a pair errs; empty where all were judged on the same."""
    rows = [one for one in pairs if one["values"] == "everyday"]
    if len({one["schemas"] for one in rows}) < 2:
        return ""
    lines = [
        f"{one['first']} {one['only_first']:,}, {one['second']} {one['only_second']:,}"
        f" of {one['schemas']:,} by {one['counted']}"
        + (" (cannot tell apart)" if one["apart"] is False else "")
        for one in rows[:_PAIRS]
    ]
    more = f"; {len(rows) - _PAIRS:,} more: maskcourt tally" if len(rows) > _PAIRS else ""
    return f"In pairs, where both were judged, wrong alone: {'; '.join(lines)}{more}"


def _equal(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """In how many forms each engine is wrong where it is not in another that means the same."""
    for engine in dict.fromkeys(row["engine"] for row in rows):
        mine = [row for row in rows if row["engine"] == engine]
        told = {name: sum(row[name] for row in mine) for name in COUNTS}
        some = listed({name: many for name, many in told.items() if many})
        yield f"{engine} under one of two forms that mean the same: {some}; maskcourt tally"


def _problems(name: str, reasons: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Refusals, failures and warnings of an engine grouped by their reasons."""
    for outcome, phrase in _PROBLEMS.items():
        if rows := reasons.get(outcome, []):
            total = sum(row["schemas"] for row in rows)
            shown = [f"{row['schemas']:,} {with_names(row, _NAMED, counted=True)}" for row in rows]
            if more := sum(row["schemas"] for row in rows[_REASONS:]):
                shown[_REASONS:] = [f"{more:,} more"]
            of = "" if outcome == "warned" else f" {schemas(total)}"  # one may have two warnings
            yield from _cut(f"{name} {phrase}{of}: {', '.join(shown)}", most=2)


def _closing(
    stored: StoredRun, tally: Mapping[str, Any], path: str, bugs: BugList | None
) -> Iterator[str]:
    seconds = "" if tally["seconds"] is None else f" in {tally['seconds']:,.0f} s"
    if _is_judged(tally):
        reasons = _not_walked(tally)
        more = f" (others: {reasons})" if reasons else ""
        yield f"{schemas(tally['cases'])}{seconds}, {tally['walked']:,} walked{more}"
    yield from instances_told(tally)
    budget = "SELECT count(*) AS n FROM cases WHERE reason = 'case_budget'"
    if spent := stored.one(budget)["n"]:
        cases = "1 case used up its" if spent == 1 else f"{spent:,} cases used up their"
        yield f"{cases} budget (--case-budget); what was proven before counts"
    yield from state(tally)
    if bugs is not None and bugs.verdicts:
        yield "; ".join(bugs.told(most=2))
    yield f"run: {stored.run.path}"
    if tally["finished"] and (bugs is None or bugs.verdicts):
        yield f"  maskcourt bugs {path}    {_MORE_BUGS[None if bugs is None else not bugs.pending]}"
    yield f"  maskcourt report {path}    one HTML page: bugs, errors of every sort"
    yield f"  maskcourt tally {path}    all tables, intervals, times, departures"
    if bugs is not None and bugs.bugs:
        yield f"  maskcourt replay {path} {bugs.bugs[0].verdict} --show    one error, with its text"


def _cut(line: str, most: int | None = None) -> list[str]:
    """A line in lines of 80 characters; commands and paths stay whole, to be copied."""
    is_whole = "maskcourt " in line or line.startswith("run: ")
    return [line] if is_whole else wrapped(line, most=most)
