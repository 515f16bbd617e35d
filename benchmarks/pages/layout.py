"""What the pages have in common: the groups of engines, and what is told of an engine and a bug."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from benchmarks.pages.schema_rows import SchemaRows
from harness.bugs.listing import Bug, BugList, known_bugs, met_by_any, severities_of, topics
from harness.engines.presets import servers
from harness.engines.specs import DEFAULT, with_version
from harness.printable import code, markdown, plural
from harness.render.table import Row, Table, as_markdown
from harness.report.frames import Run

SPECIFICATION: Final = "Closest to the specification"
SHIPPED: Final = "As the libraries ship them"
SERVERS: Final = "As servers have them"
GROUPS: Final[Mapping[str, Sequence[str]]] = {
    SPECIFICATION: DEFAULT,
    SHIPPED: [f"{one}[config=shipped]" for one in DEFAULT],
    SERVERS: servers(),
}
"""What is asked, as pages have it."""
GROUPS_MEAN: Final[Mapping[str, str]] = {
    SPECIFICATION: "Each library has the options under which it takes most of what a schema"
    " allows.",
    SHIPPED: "The same libraries with the options that they have where nobody sets any: most"
    " findings are those of above, repeated.",
    SERVERS: "What inference servers make of these libraries: the options that they set, and the"
    " library that they turn to where the first refuses ([presets](../../docs/presets.md)).",
}

FAMILIES: Final = (
    *("Github_trivial", "Github_easy", "Github_medium", "Github_hard", "Github_ultra"),
    *("Glaiveai2K", "JsonSchemaStore", "Kubernetes", "Snowplow", "WashingtonPost"),
)
"""The families of JSONSchemaBench, without those that MaskBench adds."""


def words(real: str) -> str:
    """What the words of pages mean; `real` says which values are real there, and which are not."""
    return (
        "A *loss* is a schema with a valid everyday value of which the engine takes none of the"
        " usual spellings, a *leak* one with an invalid everyday value that it lets through, a"
        " *trap* one with a valid everyday value that it lets begin in one spelling and then"
        " forbids to finish, though it takes another; some of these spellings few write, such as"
        f" `-0` or `1E-1`. *Real* are {real}; *declared* is what the engine says that it does."
        " Unusual values, such as control characters or, in a valid value, a key that the schema"
        " does not name, are counted apart; what `format` alone forbids and text that is not JSON"
        " are counted with them. How white space"
        " and characters are spelled is not counted; what `format` alone forbids is no leak,"
        " for the specification lets an engine ignore it. An engine is *judged* on schemas for"
        " which it decides a value. Every count of these is a lower bound: each rests on a text"
        " that the run stores and `maskcourt replay` repeats. What compiles in time depends on the"
        " machine, and near the limit on chance."
    )


_REAL: Final = "values of the data set itself, the others are made from the schemas"
MEANING: Final = f"## What the words mean\n\n{words(_REAL)}"
SEE_MEANING: Final = "*Loss*, *leak* and *trap* are explained [below](#what-the-words-mean)."
TOPICS: Final = (
    "Bugs of an engine that cost the same and disappear when the same keywords are taken out are on"
    " one topic: they may have one cause. Those that real values show come first."
)
"""What lists of bugs mean."""

Runs = Mapping[str, Run]
"""The runs of a page that are there, finished or not, by the names of `Published.runs`."""


@dataclass(frozen=True)
class Published:
    """A page: what its runs are asked for, and what is told of them.

    `runs` are arguments of ``maskcourt bench`` by the run's name, which is empty where there is
    one run alone. Those in `searched` are searched for bugs for so many seconds. Of a page that is
    `gathered`, the single run may be made in parts on several days: page and tables are told of
    `SchemaRows`, which are published, too, and a schema that has a row there is not run again.
    """

    runs: Mapping[str, Sequence[str]]
    page: Callable[[Any], str]
    tables: Callable[[Any], Mapping[str, Table]]
    searched: Mapping[str, float] = field(default_factory=dict)
    gathered: bool = False


def drawn(number: int, engines: Iterable[str]) -> tuple[str, ...]:
    """Arguments: so many schemas of `FAMILIES`, the same for every page, and engines."""
    chosen = [part for one in FAMILIES for part in ("--family", one)]
    sample = ("--cases", "maskbench", *chosen, "--sample", str(number), "--seed", "7")
    return (*sample, "--engines", ",".join(engines))


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *filter(None, (one.strip() for one in parts))]) + "\n"


def markdown_table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    return as_markdown(Table.of("", columns, rows)) if rows else ""


def schemas(run: Run) -> str:
    """How many schemas a run has; of one that goes on, how many so far."""
    return schemas_of(len(run.cases), run.manifest["identity"]["data"]["cases"])


def schemas_of(done: int, asked: int) -> str:
    """How many schemas are told of, of so many."""
    return f"{asked:,} schemas" if done == asked else f"{done:,} of {asked:,} schemas so far"


def listed(words: Sequence[str]) -> str:
    """Words with commas, and "and" before the last."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


_FAILED: Final = {
    "crashed": "crashes on {}",
    "timed_out": "does not compile {} in time",
    "out_of_memory": "runs out of memory on {}",
}


def sentence(name: str, one: Mapping[str, Any]) -> str:
    """What an engine of a summary refuses, loses, leaks and traps, of so many schemas."""

    def told(effect: str, verb: str) -> str:
        rate = one[effect]
        kinds = [f"{rate['real']:,} real"] + [f"{rate['declared']:,} declared"] * bool(
            rate["declared"]
        )
        return f"{verb} {rate['schemas']:,}" + f" ({', '.join(kinds)})" * bool(rate["schemas"])

    outcomes, of = one["compile"], one["loss"]["of"]
    words = [f"refuses {outcomes['refused']:,}"]
    words += [text.format(f"{outcomes[at]:,}") for at, text in _FAILED.items() if outcomes[at]]
    later = max(one["failures"].values(), default=0)
    words += [f"fails later on {later:,}"] * bool(later)
    costs = [told("loss", "loses a value in"), told("leak", "leaks one in")]
    nouns = {"loss": ("loss", "losses"), "leak": ("leak", "leaks"), "trap": ("trap", "traps")}
    rare = [f"{n:,} {noun[n > 1]}" for at, noun in nouns.items() if (n := one[at]["rare"])]
    by_format, no_json = one["format_only"]["schemas"], one["not_json"]
    alone = ", only with unusual texts" * (no_json["rare"] == no_json["schemas"])
    return (
        f"- **{markdown(with_version(name, one['version']))}** {listed(words)} of"
        f" {sum(outcomes.values()):,} schemas; of {of:,} judged it"
        f" {listed([*costs, told('trap', 'traps in')])}."
        + (f" By unusual values alone: {listed(rare)}." if rare else "")
        + f" What `format` alone forbids passes in {by_format:,}." * bool(by_format)
        + f" Text that is not JSON passes in {no_json['schemas']:,}{alone}."
        * bool(no_json["schemas"])
    )


def sentences(told: Mapping[str, Any]) -> str:
    """A `sentence` for each engine of a summary, with the libraries that a server turned to."""
    lines = []
    for name, one in told["engines"].items():
        taken = listed([f"{library} {n:,}" for library, n in one["backends"].items() if n] or [""])
        more = f" Taken by {taken}." if len(one["backends"]) > 1 and taken else ""
        if name in GROUPS[SERVERS] and (packages := one["packages"]):
            more += f" Made of {listed([f'{part} {packages[part]}' for part in packages])}."
        lines.append(sentence(name, one) + more)
    return "\n".join(lines)


def remarks(run: Run) -> str:
    """What limits a run met: schemas whose budget was spent, and those on which it failed."""
    return remarks_of(
        int((run.cases["reason"] == "case_budget").sum()), run.summary["harness_errors"]
    )


def remarks_of(spent: int, failed: int) -> str:
    """On how many schemas the budget was spent, and on how many the harness failed."""
    on = plural(spent, "schema")
    lines = [f"On {on} the time for a schema was used up; what was proven until then counts."]
    lines *= bool(spent)
    lines += [f"On {failed:,} the harness itself failed: these do not count."] * bool(failed)
    return " ".join(lines)


COUNTS: Final = (
    *("group", "engine", "version", "schemas", "refused", "crashed", "timed_out"),
    *("out_of_memory", "judged", "loses", "loses_real", "leaks", "leaks_real"),
    *("traps", "traps_real", "wrong", "wrong_declared", "by_format_alone", "no_json"),
    "no_json_unusual",
)
"""Schemas by what an engine does; it is `wrong` in those that it loses, leaks or traps in, and in
some of them only as it declares."""


def counts(rows: SchemaRows, group: str = "") -> Iterator[Row]:
    """A row with `COUNTS` for each engine."""
    for name, one in rows.told.items():
        row = {"group": group, "engine": name, "version": one["version"]}
        row |= {"schemas": sum(one["compile"].values()), **one["compile"]}
        row |= {"judged": one["loss"]["of"], "by_format_alone": one["format_only"]["schemas"]}
        no_json = one["not_json"]
        row |= {"no_json": no_json["schemas"], "no_json_unusual": no_json["rare"]}
        row |= {column: one[column] for column in ("wrong", "wrong_declared")}
        for column, effect in (("loses", "loss"), ("leaks", "leak"), ("traps", "trap")):
            row |= {column: one[effect]["schemas"], f"{column}_real": one[effect]["real"]}
        yield row


_SIZE: Final = 8_000
"""Characters of a schema that is large."""
LARGE: Final = (
    *("engine", "of", "refused", "failed", "median_ms", "p90_ms", "wrong", "wrong_declared"),
)
LARGE_MEANS: Final = (
    f"Schemas of at least {_SIZE:,} characters, with milliseconds of processor time for those that"
    " compile, so that what is slow is missing there; *failed*: most of them not in time; *wrong*:"
    " with a loss, a leak or a trap, in some only as the engine declares."
)
ANSWERED: Final = ("compiled", "refused")


def large(rows: SchemaRows) -> Iterator[Row]:
    """A row for each engine: what it does with schemas of at least `_SIZE` characters."""
    big = rows.where(one for one in rows.rows if one.characters >= _SIZE)
    for name, one in big.told.items():
        outcomes = one["compile"]
        times = milliseconds(big, name)
        yield {
            "engine": with_version(name, one["version"]),
            "of": sum(outcomes.values()),
            "refused": outcomes["refused"],
            "failed": failed(outcomes),
            "median_ms": float(np.median(times)) if len(times) else None,
            "p90_ms": float(np.quantile(times, 0.9)) if len(times) else None,
            **{column: one[column] for column in ("wrong", "wrong_declared")},
        }


def failed(outcomes: Mapping[str, int]) -> int:
    """How many schemas neither compiled nor were refused."""
    return sum(many for outcome, many in outcomes.items() if outcome not in ANSWERED)


def milliseconds(rows: SchemaRows, engine: str) -> list[float]:
    """What compilation took of the schemas that compiled."""
    return [one.ms for one in rows.of_engine(engine) if one.ms is not None]


def bugs_of(run: Run) -> BugList | None:
    """The bugs of a run, worst first; None where nobody searched for them."""
    return known_bugs(run.directory)


def bugs_by_engine(bugs: Sequence[Bug], names: Iterable[str], most: int) -> Iterator[str]:
    """A heading for each engine with its bugs, and a line for each of at most so many topics."""
    for name in names:
        if not (mine := topics(one for one in bugs if one.engine == name)):
            continue
        count = sum(map(len, mine))
        yield f"### {name}: {plural(count, 'bug')} on {plural(len(mine), 'topic')}"
        yield "\n".join(map(topic_line, mine[:most]))
        if more := sum(map(len, mine[most:])):
            yield f"And {more:,} more on {plural(len(mine) - most, 'topic')}."


_LONGEST: Final = 160


def topic_line(bugs: Sequence[Bug]) -> str:
    """The worst bug of a topic, and with it the others: in how many schemas there is any."""
    first, *others = bugs
    if not others:
        return bug_line(first)
    named, ids = plural(len(others), "other bug"), listed([f"`{one.id}`" for one in others])
    met = met_by_any(bugs)
    return (
        f"{bug_line(first)} With {named} under the same keywords ({ids}) in {len(met):,} of"
        f" {first.judged:,}{_kinds(met)}."
    )


def bug_line(one: Bug) -> str:
    """A bug to be read: what it costs, in how many schemas, what is wrong, its smallest case."""
    known = f" Upstream: [{one.upstream.status}]({one.upstream.thread})." if one.upstream else ""
    return (
        f"- `{one.id}` {one.effect.replace('_', ' ')} in {one.cases:,} of {one.judged:,}"
        f"{_kinds(one.met)}: {markdown(one.title)}."
        f" {smallest_case(one.row()['text'], one.error.schema)}"
        f"{' All others that were asked do the same.' * one.shared}{known}"
    )


def smallest_case(text: str, schema: str) -> str:
    """A sentence with a bug's text and schema, of which the middle is left out where it is long.

    A character that cannot be seen, such as a wide space, stands as JSON escapes it.
    """
    text, schema = (code(_short(seen(part))) for part in (text, schema))
    return f"Smallest case: {text} under {schema}."


def seen(text: str) -> str:
    """A text in which a character that cannot be seen stands as JSON escapes it."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _short(text: str) -> str:
    half = (_LONGEST - 3) // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def _kinds(met: Mapping[int, str]) -> str:
    """In how many of these schemas a real value shows it, in how many unusual ones alone do."""
    counts = severities_of(met)
    rare = f", {counts['rare']:,} by unusual values alone" * bool(counts["rare"])
    return f" ({counts['real']:,} real{rare})"
