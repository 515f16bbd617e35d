"""The command ``maskcourt spellings``: how each engine lets JSON be spelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.cli.common import Json, print_as
from harness.cli.options import command
from harness.console import print_json
from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT
from harness.options import option


@dataclass(frozen=True)
class SpellingsRequest:
    """What a user asks of a profile."""

    engines: Sequence[str] = option(
        (",".join(DEFAULT),), "As of bench; repeatable.", "--engine", "-e", metavar="SPEC,…"
    )
    kind: str = option(
        "text", "How the table is printed.", "--format", choices=("text", "markdown", "csv")
    )
    compile: float = limit_option(10.0, "schema", "--compile-timeout")


@command(SpellingsRequest, Json)
def spellings(request: SpellingsRequest, json: Json) -> None:
    """Say how each engine lets JSON be spelled: white space, order, escapes, numbers.

    Each of a fixed list of spellings is tried under a schema in which nothing else can be refused.
    """
    from harness.spelling_profile import printing
    from harness.spelling_profile.asking import profile_of

    limits = Limits(compile=request.compile, mask=5.0, resolve=30.0)
    profile = profile_of(request.engines, limits=limits)
    if json.as_json:
        print_json(profile.as_json())
    else:
        print_as(request.kind, printing.as_table(profile), printing.lines(profile))
