"""What a run found, in plain words and few lines: what a newcomer reads at its end.

The bugs come first, of each engine those that a model meets before those in most schemas. Numbers
are the tally's; `harness.report.terminal` has the tables behind them.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rich.console import Console

from harness.analysis.compile_reasons import compile_reasons
from harness.analysis.matrix import schemas
from harness.analysis.stored import Classify, StoredRun, by_catalogue, stored_run
from harness.analysis.tally import is_tested
from harness.bugs.listing import BugList
from harness.engines.specs import with_version
from harness.render.table import Column, Table
from harness.render.terminal import for_terminal, print_lines
from harness.report.tables import listed, words
from harness.report.terminal import LEGEND, WIDTH, bug_lines, explained, state
from harness.runs.directory import RunDirectory
from harness.runs.made_with import asks_for_trust
from harness.runs.tables import TEXT_TABLES
from harness.verdict_kinds import ERRORS, LEGAL, MAIN_KINDS

FEW = 10
"""Of so many cases or fewer each is listed, instead of shares."""

_LINES = 40
_BUGS = 5
"""Bugs of an engine that are shown where there is room."""
_REASONS = 3
_NAMED = 4
_PAIRS = 3
_TOP = 3
_PHRASES = {
    "false_acceptance": "lets invalid output through",
    "false_rejection": "forbids valid output",
}
_LEGEND = (
    "Schemas on which an engine is proven wrong; behind each stands a text that two validators"
    " judged. What an engine declares to do otherwise, or warned of, does not count."
)
_MORE_BUGS = {
    True: "all bugs, their smallest cases; --write: scripts",
    False: "the few bugs behind the verdicts; goes on",
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
    classify: Classify = by_catalogue,
    bugs: BugList | None = None,
) -> None:
    """Print what a run found in at most 40 lines of 80 characters, for three engines.

    `classify` is that which was given to the tally; `bugs` is None where nothing is known of them.
    """
    stored = stored_run(run, classify)
    path = str(run.path) + (" --trust" if asks_for_trust(run) and not run.is_own else "")
    reasons = compile_reasons(run)
    engines = tally["engines"]
    pairs = _cut(_in_pairs(tally["pairs"]))
    problems = [
        *(
            line
            for name, one in engines.items()
            if len(one["backends"]) > 1
            for line in _cut(f"{name} had schemas taken by {listed(one['backends'])}")
        ),
        *(one for name in engines for one in _problems(name, reasons.get(name, {}))),
    ]
    closing = [part for line in _closing(stored, tally, path, bugs) for part in _cut(line)]
    end = [*pairs, *problems, *closing]
    few = _is_judged(tally) and tally["cases"] <= FEW
    table = for_terminal(_by_case(stored, tally)) if few else None
    answers = {
        name: [*_answer(name, one, bugs, alone=len(engines) == 1)]
        for name, one in engines.items()
        if not few
    }
    if not _is_judged(tally):
        causes = _not_walked(tally)
        text = f"Nothing could be judged: no engine on any of {schemas(tally['cases'])}"
        print_lines(_cut(text + (f" ({causes})" if causes else "") + "."), console)
    elif bugs is not None and bugs.bugs:
        room = _LINES - len(end) - (len(console.render_lines(table)) if table else 0)
        print_lines(_bugs_by_engine(bugs, tally, answers, room), console)
    elif table is None:
        print_lines([*_cut(_LEGEND), *chain.from_iterable(answers.values())], console)
    if table is not None:
        console.print(table)
    print_lines(end, console)


def _bugs_by_engine(
    bugs: BugList, tally: Mapping[str, Any], answers: Mapping[str, list[str]], room: int
) -> list[str]:
    """What is wrong with each engine, and its first bugs; as many as there is room for."""
    named = {
        name: with_version(name, engine["version"]) for name, engine in tally["engines"].items()
    }
    begins = answers or {name: [text] for name, text in named.items() if bugs.of(name)}
    lines: list[str] = []
    for most in range(_BUGS, 0, -1):
        shown = ([*begin, *bug_lines(bugs, name, most)] for name, begin in begins.items())
        lines = [*_cut(LEGEND), *(line for part in shown for line in part)]
        if len(lines) <= room:
            break
    return lines


def _is_judged(tally: Mapping[str, Any]) -> bool:
    return any(
        engine["judged"]["positions"]
        or any(is_tested(engine[table]) for table in TEXT_TABLES.values())
        for engine in tally["engines"].values()
    )


def _not_walked(tally: Mapping[str, Any]) -> str:
    """Why cases were not walked, with how many."""
    return listed({**tally["not_compared"], **tally["set_aside"]})


def _answer(
    name: str, engine: Mapping[str, Any], bugs: BugList | None, *, alone: bool
) -> Iterator[str]:
    """What is wrong with an engine: on how many schemas; in more lines where no bugs are known."""
    compiled, given = engine["compile"]["compiled"], sum(engine["compile"].values())
    shares = engine["share_with_bug"]
    share, of = shares["any"], shares["any"]["of"]
    named = with_version(name, engine["version"])
    text, judged = f"{named} compiles {compiled:,} of {schemas(given)}", engine["judged"]
    if of and judged["broke_off"]:
        text += f", walks {judged['bytes'] / judged['of']:.0%} of their texts"
    yield from _cut(f"{text}; {_wrong(share, alone) if of else 'judged on none along a walk'}")
    if bugs is not None or not of:
        return
    for (plural, kind), column in zip(MAIN_KINDS.items(), ("keyword", "place"), strict=True):
        most = sorted(engine["why"][plural], key=lambda row: -row["cases"])[:_TOP]
        places = ", ".join(f"{row[column] or '?'} {row['cases']:,}" for row in most)
        count = f"{shares[kind]['cases']:,} of {of:,} walked ({shares[kind]['value']:.0%})"
        more = f"; most: {places}" if shares[kind]["cases"] and places else ""
        yield from _cut(f"  {_PHRASES[kind]}: {count}{more}")
    if other := shares["other"]["cases"]:
        yield f"  other errors (dead ends, …): {other:,} of {of:,} walked"


def _wrong(share: Mapping[str, Any], alone: bool) -> str:
    """On how many schemas an engine is proven wrong: first by what others do better."""
    every, of, among = share["cases"], share["of"], share["among_engines"]
    if among < every and not alone:
        first = f"proven wrong on {among:,} of {of:,} walked ({among / of:.0%})"
        return f"{first} where another engine is right, on {every:,} in all"
    met = every - share["severity"]["rare"]
    first = f"proven wrong on {every:,} of {of:,} walked ({share['value']:.0%})"
    return f"{first}, {met:,} without what only rare tokens show"


def _in_pairs(pairs: Sequence[Mapping[str, Any]]) -> str:
    """Of each pair of engines on how many schemas one alone is wrong, the shares being of others.

    Empty where all were judged on the same schemas.
    """
    rows = [one for one in pairs if (one["kind"], one["counted"]) == ("any", "met")]
    if len({one["schemas"] for one in rows}) < 2:
        return ""
    told = [
        f"{one['first']} on {one['only_first']:,}, {one['second']} on {one['only_second']:,}"
        f" of {one['schemas']:,}" + (" (cannot tell apart)" if one["apart"] is False else "")
        for one in rows[:_PAIRS]
    ]
    more = f"; {len(rows) - _PAIRS:,} pairs more" if len(rows) > _PAIRS else ""
    return f"In pairs, where both were judged, wrong alone: {'; '.join(told)}{more}"


def _problems(name: str, reasons: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Refusals, failures and warnings of an engine grouped by their reasons."""
    for outcome, phrase in _PROBLEMS.items():
        rows = reasons.get(outcome, [])
        if not rows:
            continue
        total = sum(row["schemas"] for row in rows)
        shown = [_reason(row) for row in rows[:_REASONS]]
        if more := sum(row["schemas"] for row in rows[_REASONS:]):
            shown.append(f"{more:,} more")
        of = "" if outcome == "warned" else f" {schemas(total)}"  # one may have two warnings
        yield from _cut(f"{name} {phrase}{of}: {', '.join(shown)}", most=2)


def _reason(row: Mapping[str, Any]) -> str:
    names = [name if count == 1 else f"{count} {name}" for name, count in row["about"].items()]
    text = row["reason"]
    if names:
        more = ", …" if len(names) > _NAMED else ""
        text = text.rstrip("… ").rstrip(":") if text.endswith("…") else text
        text = f"{text} ({', '.join(names[:_NAMED])}{more})"
    return f"{row['schemas']:,} {text}"


def _by_case(stored: StoredRun, tally: Mapping[str, Any]) -> Table:
    """One row for each case, one column for each engine."""
    bugs: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for row in stored.rows(
        """SELECT case_row, engine, kind, count(*) AS n FROM verdicts
        WHERE class = 'bug' AND kind IN $1 GROUP BY ALL ORDER BY ALL""",
        [kind for kind in ERRORS if kind not in LEGAL],
    ):
        bugs[row["case_row"], row["engine"]][row["kind"]] = row["n"]
    outcomes = {
        (row["case_row"], row["engine"]): row["outcome"]
        for row in stored.rows(
            "SELECT case_row, engine, outcome FROM engines WHERE stage = 'compile'"
        )
    }
    judged = stored.run.table("cases", ["judged"])["judged"].to_pylist()
    rows = []
    for case, name in enumerate(stored.cases):
        row = {"case": name}
        for number, engine in enumerate(stored.engines):
            outcome = outcomes.get((case, number), "not tried")
            if outcome != "compiled":
                row[engine] = words(outcome)
            elif not judged[case] >> number & 1:
                row[engine] = "not judged"
            else:
                row[engine] = _cell(bugs.get((case, number), {}))
        rows.append(row)
    columns = [
        Column(name, with_version(name, one["version"])) for name, one in tally["engines"].items()
    ]
    note = "proven errors: so many tokens along walks, and texts"
    return Table.of("", [Column("case", most=30), *columns], rows, note)


def _cell(bugs: Mapping[str, int]) -> str:
    words = {"false_acceptance": "lets through {:,}", "false_rejection": "forbids {:,}"}
    other = sum(count for kind, count in bugs.items() if kind not in words)
    parts = [text.format(bugs[kind]) for kind, text in words.items() if kind in bugs]
    parts += [f"other errors {other:,}"] if other else []
    return ", ".join(parts) or "no error found"


def _closing(
    stored: StoredRun, tally: Mapping[str, Any], path: str, bugs: BugList | None
) -> Iterator[str]:
    seconds = "" if tally["seconds"] is None else f" in {tally['seconds']:,.0f} s"
    if _is_judged(tally):
        reasons = _not_walked(tally)
        more = f" (others: {reasons})" if reasons else ""
        yield f"{schemas(tally['cases'])}{seconds}, {tally['walked']:,} walked{more}"
    if many := tally["generated"]["cases"]:
        yield f"walked along instances made of the schema, for want of valid ones: {schemas(many)}"
    if (wrong := tally["mislabelled"])["instances"]:
        yield (
            f"{wrong['instances']:,} instances in {schemas(wrong['cases'])} bear a wrong label:"
            " what both validators say counts"
        )
    budget = "SELECT count(*) AS n FROM cases WHERE reason = 'case_budget'"
    if spent := stored.one(budget)["n"]:
        cases = "1 case used up its" if spent == 1 else f"{spent:,} cases used up their"
        yield f"{cases} budget (--case-budget); what was proven before counts"
    yield from state(tally)
    if bugs is not None and bugs.verdicts:
        yield explained(bugs)
    yield f"run: {stored.run.path}"
    if tally["finished"] and (bugs is None or bugs.verdicts):
        yield f"  maskcourt bugs {path}    {_MORE_BUGS[bugs is not None and not bugs.pending]}"
    yield f"  maskcourt report {path}    one HTML page with every error"
    yield f"  maskcourt tally {path}    all tables, intervals, times, departures"
    if bugs is not None and bugs.bugs:
        yield f"  maskcourt replay {path} {bugs.bugs[0].verdict} --show    one error, with its text"


def _cut(line: str, most: int | None = None) -> list[str]:
    """A line in lines of 80 characters; commands and paths stay whole, to be copied."""
    if "maskcourt " in line or line.startswith("run: "):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=indent,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" …",
    )
