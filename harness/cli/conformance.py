"""The command ``maskcourt conformance``: which keyword each engine keeps at which place."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.cli.options import command
from harness.conformance.work import ConformanceRequest
from harness.console import print_json, say, tell
from harness.errors import UsageError
from harness.options import option

if TYPE_CHECKING:
    from harness.conformance.gates import GateScore
    from harness.conformance.outcomes import ConformanceTable

_OUTCOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "too_lax": ("too_lax", "too_lax_and_strict"),
    "too_strict": ("too_strict", "too_lax_and_strict"),
    "failed": ("failed",),
}
_SCORES: Final = ("passed_wrongly", "kept_out_wrongly")


@dataclass(frozen=True)
class ConformanceOutput:
    """What becomes of the table."""

    run: Path | None = option(
        None, "Read what was run before into DIR, and start no engine.", exists=True, metavar="DIR"
    )
    kind: str = option(
        "markdown", "How the table is printed.", "--format", choices=("markdown", "csv", "json")
    )
    gates: Path | None = option(
        None, "Score this gate list, not the table.", exists=True, metavar="FILE"
    )
    write_gates: Path | None = option(
        None,
        "Write what each engine can be trusted with, for a server to load.",
        metavar="FILE",
        writes="file",
    )
    fail_on: Sequence[str] = option(
        (),
        "Exit with 1 on such a cell; the last two are about --gates; repeatable.",
        choices=(*_OUTCOMES, *_SCORES),
    )


@command(ConformanceRequest, ConformanceOutput)
def conformance(request: ConformanceRequest, output: ConformanceOutput) -> None:
    """Say which keyword each engine enforces at which place of a schema.

    Every keyword is tried at every place, with values that it allows and values that it forbids;
    the table says for each whether an engine refuses it, enforces it, is too strict or too lax.
    """
    from harness.classification.departures import load_catalogue
    from harness.conformance.gates import gates_of, read_gates, score
    from harness.conformance.outcomes import read_table
    from harness.conformance.work import finished_run, run_cases

    _check(request, output)
    run = run_cases(request) if output.run is None else finished_run(output.run)
    table = read_table(run, load_catalogue())
    gates = None if output.gates is None else read_gates(output.gates, table)
    scores = None if gates is None else [score(one, table) for one in gates]
    if output.write_gates is not None:
        text = json.dumps(gates_of(table), indent=1, ensure_ascii=False)
        output.write_gates.write_text(text + "\n", "utf-8")
    _print(table, scores, output.kind)
    if reasons := list(_reasons(output.fail_on, table, scores or [])):
        tell("maskcourt: failed on " + "; ".join(reasons))
        sys.exit(1)


def _check(request: ConformanceRequest, output: ConformanceOutput) -> None:
    """Refuse options that do not go together, before anything is run."""
    if output.gates is None and set(output.fail_on).intersection(_SCORES):
        raise UsageError(f"--fail-on {' and '.join(_SCORES)} go with --gates")
    if output.gates is not None and output.kind == "csv":
        raise UsageError("a score is printed as text or as JSON", "--format json, or none")
    defaults = ConformanceRequest()
    others = ("engines", "keywords", "out")
    if output.run is not None and any(
        getattr(request, name) != getattr(defaults, name) for name in others
    ):
        raise UsageError("--run reads what was run, which says the engines and cases itself")


def _print(table: ConformanceTable, scores: Sequence[GateScore] | None, kind: str) -> None:
    from harness.conformance import printing

    if scores is not None:
        if kind == "json":
            print_json({"gates": [one.row() for one in scores]})
        else:
            say("\n".join(printing.score_lines(scores)))
    elif kind == "json":
        print_json(printing.as_json(table))
    else:
        say(getattr(printing, f"as_{kind}")(table), end="")


def _reasons(
    fail_on: Sequence[str], table: ConformanceTable, scores: Sequence[GateScore]
) -> Iterator[str]:
    for what in fail_on:
        if what in _SCORES:
            counts = Counter({one.engine: len(one.cells[what]) for one in scores})
        else:
            counts = Counter(x.engine for x in table.outcomes if x.status in _OUTCOMES[what])
        for engine in table.engines:
            if many := counts[engine]:
                yield f"{engine}: {many:,} cells {what.replace('_', ' ')}"
