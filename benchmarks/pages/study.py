"""The page on the original study: its procedure and ours, on the same schemas and engines.

The four runs together take 14 s of processor time a schema: 40 minutes on two cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from benchmarks.pages.layout import (
    Published,
    Runs,
    drawn,
    markdown_table,
    page,
    remarks,
    schemas,
)
from benchmarks.pages.original import PER_POSITION, SCHEMAS, SOURCE
from harness.engines.specs import read_spec
from harness.render.table import Row, Table
from harness.report.frames import Run
from harness.verdict_kinds import BUG, COSTLY, FALSE_ACCEPTANCE, FALSE_REJECTION

if TYPE_CHECKING:
    import pandas as pd

_PAIR: Final = ("xgrammar@0.1.32", "llguidance@1.6.1")
_SHIPPED: Final = tuple(f"{one}[config=shipped]" for one in _PAIR)
_ENGINES: Final = {"specification": _PAIR, "shipped": _SHIPPED}
_PROCEDURES: Final = {
    "study": ("--resolver", "rollout", "--on-dropout", "stop"),
    "ours": ("--resolver", "shared", "--on-dropout", "continue"),
}
_TOKEN: Final = ["case", "walk", "position", "token"]
_RATES: Final = (
    *("engine", "procedure", "schemas", "positions", "false_acceptances", "accepted_per_position"),
    *("of_these_in_one_schema", "false_rejections", "rejected_per_position"),
    *("of_these_cost_a_value", "declared"),
)
_REPORTED: Final = ("engine", "per_position", "the_study", "proven_here")
_CHARGES: Final = ("engine", "charged", "confirmed", "cleared", "open", "cleared_cost_a_value")


def rates(run: Run, procedure: str) -> Iterator[Row]:
    """A row for each engine: the wrong tokens that are proven, by kind, and per position."""
    wrong = _wrong(run)
    for number, (name, one) in enumerate(run.summary["engines"].items()):
        positions = int((run.positions["judged"].to_numpy() >> number & 1).sum())
        mine = wrong[wrong["engine"] == name]
        bugs, per = mine[mine["class"] == BUG], max(positions, 1)
        accepted = bugs[bugs["kind"] == FALSE_ACCEPTANCE.name]
        rejected = bugs[bugs["kind"] == FALSE_REJECTION.name]
        yield {
            "engine": name,
            "procedure": procedure,
            "schemas": one["judged"]["cases"],
            "positions": positions,
            "false_acceptances": len(accepted),
            "accepted_per_position": _about(len(accepted) / per),
            "of_these_in_one_schema": _largest(accepted),
            "false_rejections": len(rejected),
            "rejected_per_position": _about(len(rejected) / per),
            "of_these_cost_a_value": int(rejected["effect"].isin(COSTLY).sum()),
            "declared": len(mine) - len(bugs),
        }


def _about(number: float) -> float:
    """To two digits."""
    return float(f"{number:.2g}")


def _largest(some: pd.DataFrame) -> str:
    """What share of tokens the schema with most of them has."""
    return f"{some['case'].value_counts().max() / len(some):.0%}" if len(some) else ""


def _wrong(run: Run) -> pd.DataFrame:
    """The false acceptances and rejections of walks."""
    kinds = (FALSE_ACCEPTANCE.name, FALSE_REJECTION.name)
    return run.verdicts[run.verdicts["kind"].isin(kinds)].astype({"case": str})


def charges(study: Run, ours: Run) -> Iterator[Row]:
    """What becomes of the false acceptances of one roll-out, token by token, by an engine.

    Those count that both procedures resolved. A token is `cleared` where a valid completion was
    found for it, whoever forbids it.
    """
    theirs, mine = _wrong(study), _wrong(ours)
    asked = _places(ours.verdicts.astype({"case": str}))
    rejected = mine[mine["kind"] == FALSE_REJECTION.name]
    right, costly = _places(rejected), _places(rejected[rejected["effect"].isin(COSTLY)])
    for name in study.engine_names:
        charged = _places(_accepted(theirs, name)) & asked
        confirmed = charged & _places(_accepted(mine, name))
        cleared = (charged - confirmed) & right
        counts = [len(one) for one in (charged, confirmed, cleared)]
        row = name, *counts, counts[0] - counts[1] - counts[2], len(cleared & costly)
        yield dict(zip(_CHARGES, row, strict=True))


def _accepted(some: pd.DataFrame, engine: str) -> pd.DataFrame:
    return some[(some["kind"] == FALSE_ACCEPTANCE.name) & (some["engine"] == engine)]


def _places(some: pd.DataFrame) -> set[tuple[Any, ...]]:
    return set(some[_TOKEN].itertuples(index=False, name=None))


def _all_rates(runs: Runs) -> list[Row]:
    keys = [(c, p) for c in _ENGINES for p in _PROCEDURES]
    return [row for c, p in keys if f"{p}-{c}" in runs for row in rates(runs[f"{p}-{c}"], p)]


def _all_charges(runs: Runs) -> list[Row]:
    pairs = [(f"study-{one}", f"ours-{one}") for one in _ENGINES]
    there = [(runs[one], runs[two]) for one, two in pairs if one in runs and two in runs]
    return [row for pair in there for row in charges(*pair)]


def reported(rows: Sequence[Row]) -> Iterator[Row]:
    """The study's figures per position, beside what its procedure proves here."""
    for row in rows:
        known = PER_POSITION.get(read_spec(row["engine"]).name, {})
        for done, figure in known.items() if row["procedure"] == "study" else ():
            told = {"engine": row["engine"], "per_position": f"falsely {done}"}
            yield {**told, "the_study": figure, "proven_here": row[f"{done}_per_position"]}


def _page(runs: Runs) -> str:
    rows, moved = _all_rates(runs), _all_charges(runs)
    counted = ("charged", "cleared", "cleared_cost_a_value")
    charged, cleared, costly = (sum(row[name] for row in moved) for name in counted)
    run = next(iter(runs.values()))
    walked = int((run.cases["walks"] > 0).sum())
    lead = (
        f"What the procedure of the [original study]({SOURCE}) and ours say of xgrammar 0.1.32 and"
        f" llguidance 1.6.1 on {schemas(run)}, drawn from the ten families of JSONSchemaBench, the"
        f" same ones and the same tokens; walked are the {walked:,} that both compile"
        + (
            f". Of {charged:,} false acceptances that one roll-out per token charges, on tokens"
            " that both procedures resolved and in two configurations of each engine,"
            f" {cleared:,} ({cleared / charged:.0%}) are somebody else's false rejections, since a"
            f" valid completion was found for the token; {costly:,} of these cost a user a value,"
            " the others a spelling, or what they cost is unclear."
            if charged
            else "."
        )
        + f" The study itself has {SCHEMAS:,} schemas. Written by `make results ONLY=study`;"
        " versions and options are in [manifest.json](manifest.json)."
    )
    return page(
        "The original study, by its procedure and by ours",
        lead,
        "## Wrong tokens per position",
        "Proven, of the tokens that were resolved: of each dispute at most five and those on the"
        " reference's path; of tokens that look alike or only spell a value otherwise, fewer. So a"
        " position has more of them than are counted. What an engine declares is counted apart. A"
        " false rejection costs a value where no other usual spelling of it is taken; the others"
        " forbid a spelling alone, such as an undeclared member before declared ones that may come"
        " after them, or are unclear.",
        markdown_table(_RATES, rows),
        _spent(runs),
        "## Beside the study's figures",
        "The study says that both engines make millions of errors on its schemas, so that not every"
        " wrong token of a position can be among them; that it counts those that were resolved, as"
        " is done here, is how we read it. How many it resolves of a position is not known; here"
        " they are about five of a dispute.",
        markdown_table(_REPORTED, tuple(reported(rows))),
        _WHY,
        "## What becomes of a false acceptance of one roll-out",
        markdown_table(_CHARGES, moved),
    )


def _spent(runs: Runs) -> str:
    """Which runs had schemas that used up the time; fewer positions were judged there."""
    told = [(key, text) for key, run in runs.items() if (text := remarks(run))]
    names = {f"{p}-{c}": f"{p}, {c}" for c in _ENGINES for p in _PROCEDURES}
    return " ".join(f"By {names[key]}: {text}" for key, text in told)


_WHY: Final = (
    "What may make them differ: the study's third engine, dotjson, cannot be had here, and what it"
    " alone accepts proves nothing here; its schemas, vocabulary, limits and options are not"
    " known, nor whether it counts white space that an engine refuses; which departures it"
    " excuses by design is not known either, here what an engine declares is in a column of its"
    " own; and its walks stop for all engines as soon as one drops out, where ours go on. One"
    " roll-out charges an invalid text to the token that it began with; ours goes on to look for a"
    " valid one."
)


def _tables(runs: Runs) -> Mapping[str, Table]:
    return {
        "rates": Table.of("", _RATES, _all_rates(runs)),
        "charges": Table.of("", _CHARGES, _all_charges(runs)),
    }


PAGE: Final = Published(
    {
        f"{procedure}-{name}": (
            *drawn(300, engines),
            *(*arguments, "--samples", "0", "--generated", "0", "--cap", "5"),
            *("--compile-timeout", "5", "--case-budget", "120"),
        )
        for name, engines in _ENGINES.items()
        for procedure, arguments in _PROCEDURES.items()
    },
    _page,
    _tables,
)
