"""The command ``maskcourt conformance``: which keyword each engine keeps at which place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from harness.cli.options import command
from harness.conformance.work import ConformanceRequest
from harness.console import print_json, say
from harness.files import write_whole
from harness.options import option


@dataclass(frozen=True)
class ConformanceOutput:
    """What becomes of the table."""

    kind: str = option(
        "markdown", "How the table is printed.", "--format", choices=("markdown", "csv", "json")
    )
    write_gates: Path | None = option(
        None,
        "Write what each engine can be trusted with, for a server to load.",
        metavar="FILE",
        writes="file",
    )


@command(ConformanceRequest, ConformanceOutput)
def conformance(request: ConformanceRequest, output: ConformanceOutput) -> None:
    """Say which keyword each engine enforces at which place of a schema.

    Every keyword is tried at every place, with values that it allows and values that it forbids;
    the table says for each whether an engine refuses it, enforces it, is too strict or too lax.
    """
    from harness.classification.departures import load_catalogue
    from harness.conformance import printing
    from harness.conformance.gates import gates_of
    from harness.conformance.outcomes import read_table
    from harness.conformance.work import run_cases

    table = read_table(run_cases(request), load_catalogue())
    if output.write_gates is not None:
        text = json.dumps(gates_of(table), indent=1, ensure_ascii=False)
        write_whole(output.write_gates, text + "\n")
    if output.kind == "json":
        print_json(printing.as_json(table))
    else:
        say(getattr(printing, f"as_{output.kind}")(table), end="")
