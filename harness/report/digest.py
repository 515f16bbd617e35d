"""What a run found, in plain words and few lines: what a newcomer reads at its end.

Every number is one of the tally's; `harness.report.render` has the tables behind them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.counting.counts import Classify, StoredRun, by_catalogue
from harness.report.compile_reasons import compile_reasons
from harness.runs.directory import RunDirectory
from harness.runs.made_with import asks_for_trust
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import BUG, ERRORS, INSTANCE, LEGAL, MAIN_KINDS, WALK

FEW = 10
"""Of so many cases or fewer each is listed, instead of shares."""

_WIDTH = 80
_REASONS = 3
_NAMED = 4
_TOP = 3
_PHRASES = {
    "false_acceptance": "lets invalid output through",
    "false_rejection": "forbids valid output",
}
_LEGEND = (
    "Schemas on which an engine is proven wrong; behind each stands a text that two validators"
    " judged. What an engine declares to do otherwise, or warned of, does not count."
)
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
) -> None:
    """Print what a run found in at most 40 lines of 80 characters, for three engines.

    Args:
        run: The run.
        tally: Its tally.
        console: Where to.
        classify: As it was given to the tally.
    """
    stored = StoredRun(run, classify)
    if not _is_judged(tally):
        causes = _not_walked(tally)
        _say(
            console,
            f"Nothing could be judged: no engine on any of {_schemas(tally['cases'])}"
            + (f" ({causes})" if causes else "")
            + ".",
        )
    elif tally["cases"] <= FEW:
        console.print(_by_case(stored, tally))
    else:
        _say(console, _LEGEND)
        for name, engine in tally["engines"].items():
            for line in _answer(name, engine):
                _say(console, line)
    reasons = compile_reasons(run)
    for name in tally["engines"]:
        for line in _problems(name, reasons.get(name, {})):
            _say(console, line, most=2)
    for line in _closing(stored, tally):
        _say(console, line)


def _is_judged(tally: Mapping[str, Any]) -> bool:
    return any(
        engine["judged"]["positions"]
        or engine["instances"]["tested_valid"]
        or engine["instances"]["tested_invalid"]
        for engine in tally["engines"].values()
    )


def _not_walked(tally: Mapping[str, Any]) -> str:
    """Why cases were not walked, with how many."""
    left = {**tally["not_compared"], **tally["set_aside"]}
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in left.items())


def _answer(name: str, engine: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with an engine, in two or three sentences."""
    compiled, given = engine["compile"]["compiled"], sum(engine["compile"].values())
    yield f"{name} {engine['version']} compiles {compiled:,} of {_schemas(given)}."
    shares, causes = engine["share_with_bug"], engine["why"]
    of = shares["any"]["of"]
    for (plural, kind), column in zip(MAIN_KINDS.items(), ("keyword", "place"), strict=True):
        share = shares[kind]["value"]
        if share is None:
            continue
        most = sorted(causes[plural], key=lambda row: -row["cases"])[:_TOP]
        places = ", ".join(f"{row[column] or '?'} {row['cases']:,}" for row in most)
        count = f"{round(share * of):,} of {of:,} walked ({share:.0%})"
        yield f"  {_PHRASES[kind]}: {count}" + (f"; most: {places}" if share and places else "")
    if on_path := engine["severity"]["false_rejection"]["on_path"]:
        yield f"  forbids tokens that a text is usually written with: {on_path:,}"
    if shares["any"]["value"] is None:
        yield "  was judged on none of them along a walk"
    if other := shares["other"]["value"]:
        yield f"  other errors (dead ends, …): {round(other * of):,} of {of:,} walked"


def _problems(name: str, reasons: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Refusals, failures and warnings of an engine, grouped by their reasons."""
    for outcome, words in _PROBLEMS.items():
        rows = reasons.get(outcome, [])
        if not rows:
            continue
        total = sum(row["schemas"] for row in rows)
        shown = [_reason(row) for row in rows[:_REASONS]]
        if more := sum(row["schemas"] for row in rows[_REASONS:]):
            shown.append(f"{more:,} more")
        of = "" if outcome == "warned" else f" {_schemas(total)}"  # one may have two warnings
        yield f"{name} {words}{of}: {', '.join(shown)}"


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
    caption = "proven errors: so many tokens along walks, and instances"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    table.add_column("case", overflow="fold", max_width=30)
    for name, engine in tally["engines"].items():
        table.add_column(Text(f"{name} {engine['version']}"), overflow="fold")
    bugs = _bugs(stored)
    rows = stored.run.table("engines", ["case", "engine", "stage", "outcome"]).to_pylist()
    outcomes = {
        (row["case"], row["engine"]): row["outcome"] for row in rows if row["stage"] == "compile"
    }
    judged = _judged(stored)
    for case in stored.cases:
        cells = []
        for engine in stored.engines:
            outcome = outcomes.get((case, engine), "not tried")
            if outcome != "compiled":
                cells.append(outcome.replace("_", " "))
            elif (case, engine) not in judged:
                cells.append("not judged")
            else:
                cells.append(_cell(bugs.get((case, engine), {})))
        table.add_row(Text(case), *map(Text, cells))
    return table


def _cell(bugs: Mapping[str, int]) -> str:
    words = {"false_acceptance": "lets through {:,}", "false_rejection": "forbids {:,}"}
    other = sum(count for kind, count in bugs.items() if kind not in words)
    parts = [text.format(bugs[kind]) for kind, text in words.items() if kind in bugs]
    parts += [f"other errors {other:,}"] if other else []
    return ", ".join(parts) or "no error found"


def _bugs(stored: StoredRun) -> dict[tuple[str, str], dict[str, int]]:
    """Proven bugs by case and engine, then by kind."""
    out: dict[tuple[str, str], dict[str, int]] = {}
    kinds = tuple(kind for kind in ERRORS if kind not in LEGAL)
    wanted: dict[str, object] = {"kind": kinds, "class": BUG}
    for evidence in (WALK, INSTANCE):
        counts = stored.fold(evidence, ("engine", "kind", "class")).where(**wanted)
        engines, words = counts.column("engine"), counts.column("kind")
        for case, engine, kind, tokens in zip(
            counts.case.tolist(), engines.codes, words.codes, counts.tokens.tolist(), strict=True
        ):
            found = out.setdefault((stored.cases[case], engines.values[engine]), {})
            found[words.values[kind]] = found.get(words.values[kind], 0) + int(tokens)
    return out


def _judged(stored: StoredRun) -> set[tuple[str, str]]:
    """Which engines were judged on which cases."""
    table = stored.run.table("cases", ["case", "judged"])
    columns = (table["case"].to_pylist(), table["judged"].to_pylist())
    return {
        (case, engine)
        for case, bits in zip(*columns, strict=True)
        for bit, engine in enumerate(stored.engines)
        if bits >> bit & 1
    }


def _closing(stored: StoredRun, tally: Mapping[str, Any]) -> Iterator[str]:
    path = str(stored.run.path) + (" --trust" if asks_for_trust(stored.run) else "")
    seconds = "" if tally["seconds"] is None else f" in {tally['seconds']:,.0f} s"
    if _is_judged(tally):
        reasons = _not_walked(tally)
        more = f" (others: {reasons})" if reasons else ""
        yield f"{_schemas(tally['cases'])}{seconds}, {tally['walked']:,} walked{more}"
    if (wrong := tally["mislabelled"])["instances"]:
        yield (
            f"{wrong['instances']:,} instances in {_schemas(wrong['cases'])} bear a wrong label:"
            " what both validators say counts"
        )
    if tally["harness_errors"]:
        yield f"ERRORS OF THE HARNESS ITSELF: {tally['harness_errors']} cases; see cases.parquet"
    if not tally["finished"]:
        yield "this run is not finished: the same command goes on with it"
    yield f"run: {stored.run.path}"
    yield f"  maskcourt tally {path}     all tables, intervals, times, departures"
    yield f"  maskcourt report {path}    one HTML page with every error"
    shown = _first_bug(stored)
    if shown is not None:
        yield f"  maskcourt replay {path} {shown} --show    one error, with its text"


def _first_bug(stored: StoredRun) -> str | None:
    """The name of the first verdict that is a bug and can be shown."""
    for evidence, letter in ((WALK, ""), (INSTANCE, "i")):
        kinds = stored.run.table(VERDICT_TABLES[evidence], ["kind"])["kind"].to_pylist()
        classes = stored.classes(evidence)["class"].to_pylist()
        main = set(MAIN_KINDS.values())
        for row, (kind, one) in enumerate(zip(kinds, classes, strict=True)):
            if one == BUG and kind in main:
                return f"{letter}{row}"
    return None


def _schemas(count: int) -> str:
    return f"{count:,} schema" + ("" if count == 1 else "s")


def _say(console: Console, line: str, most: int | None = None) -> None:
    if "maskcourt " in line or line.startswith("run: "):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
        return
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    width = min(console.width, _WIDTH)
    for one in textwrap.wrap(
        line,
        width,
        subsequent_indent=indent,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" …",
    ):
        console.print(one, highlight=False, soft_wrap=True, markup=False)
