"""The command ``maskcourt conformance``: which keyword each engine keeps at which place."""

from __future__ import annotations

from harness.cli.options import command
from harness.conformance.work import ConformanceRequest
from harness.console import say


@command(ConformanceRequest)
def conformance(request: ConformanceRequest) -> None:
    """Say which keyword each engine enforces at which place of a schema.

    Every keyword is tried at every place, with values that it allows and values that it forbids;
    the table says for each whether an engine refuses it, enforces it, is too strict or too lax.
    With --gates it says instead where a server's list of refused schemas differs from that.
    """
    from harness.conformance import gates, printing
    from harness.conformance.outcomes import read_table
    from harness.conformance.work import run_cases

    lists = request.lists
    table = read_table(run_cases(request))
    shown = gates.gated(table, lists) if lists else table
    say(getattr(gates if lists else printing, f"as_{request.kind}")(shown), end="")
