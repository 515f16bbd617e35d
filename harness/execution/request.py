"""What a user asks of a run, here or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.comparison.case_run import Rules
from harness.comparison.resolvers import RESOLVERS, Effort
from harness.engines.panel import Limits
from harness.engines.specs import DEFAULT
from harness.options import CHOICE, LIMITS, option


@dataclass(frozen=True)
class BenchRequest:
    """What a user asks of a run."""

    engines: Sequence[str] = option(
        (",".join(DEFAULT),),
        "Engines: NAME, NAME@VERSION, NAME@./PATH, NAME[option=value,…], module:Class.",
        "-e",
        metavar="SPEC,…",
    )
    constraint: str = option(
        "json_schema",
        "regex: patterns, judged exactly; --cases embedded, maskbench[:PATH] or FILE.jsonl.",
        heading=CHOICE,
        choices=("json_schema", "regex"),
    )
    cases: str | None = option(
        None,
        "quick (52 of the embedded cases), embedded (all 384), maskbench[:PATH],"
        " tools:FILE, generated:N or FILE.jsonl."
        "  [default: quick; embedded where other options choose from them]",
        "-c",
        metavar="SPEC",
    )
    out: Path | None = option(
        None,
        "Run directory; started again it goes on where it was."
        "  [default: one under runs/, named after the request]",
        "-o",
        metavar="DIR",
    )
    families: Sequence[str] = option((), "Only this family; repeatable.", "--family")
    pattern: str | None = option(None, "Only cases whose id matches.", "--id", metavar="GLOB")
    sample: int | None = option(
        None, "N cases with a valid instance, if any has one; in proportion to the families."
    )
    limit: int | None = option(None, "At most N cases, the first by id.")
    rewritings: int = option(
        0,
        "Also N rewritings of each schema that mean the same: what an engine takes under one form"
        " alone is an error.",
        heading=CHOICE,
        least=0,
    )
    lanes: int | None = option(
        None, "Cases at the same time.  [default: as many as there is room for]", least=1
    )
    vocabulary: str = option(
        "qwen2.5",
        "A name (maskcourt vocabularies), a tokenizer's file, a Hugging Face id.",
        heading=CHOICE,
        metavar="SPEC",
    )
    eos: str | None = option(
        None, "End of sequence, if the vocabulary has none.", heading=LIMITS, metavar="TOKEN"
    )
    resolver: str = option(
        "shared",
        "rollout: the original study's procedure.",
        heading=LIMITS,
        choices=tuple(RESOLVERS),
    )
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)
    effort: Effort = field(default_factory=Effort)

    @property
    def source(self) -> str:
        """The cases: who asks for some of them means some of all."""
        chooses = self.families or self.pattern or self.limit or self.sample
        return self.cases or ("embedded" if chooses else "quick")


@dataclass(frozen=True)
class SweepRequest:
    """What a user asks of a sweep; `bench.lanes` are those of the whole cluster."""

    bench: BenchRequest
    nodes: int | None = option(
        None, "Nodes of the cluster that is started on this machine.  [default: 1]", least=1
    )
    address: str | None = option(
        None,
        "An existing Ray cluster instead, from a machine that is part of it.",
        metavar="HOST:PORT|auto",
    )
    lane_cpus: float = option(
        1.0, "Processors that a lane is taken to keep busy.", heading=LIMITS, above=0, unit="CPUS"
    )
    lane_memory: int | None = option(
        None,
        "Memory that a lane is taken to need.  [default: 1G, and 1G per engine's host]",
        heading=LIMITS,
        above=0,
        unit="SIZE",
    )
