"""What a user asks of a table of conformance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT
from harness.inputs.vocabulary_names import BYTES
from harness.options import option


@dataclass(frozen=True)
class ConformanceRequest:
    """What a user asks of a table."""

    engines: Sequence[str] = option(
        (",".join(DEFAULT),), "Engines, as maskcourt bench takes them.", "-e", metavar="SPEC,…"
    )
    suite: Path | None = option(
        None,
        "Ask about the official JSON-Schema-Test-Suite: a checkout or an archive of it.",
        exists=True,
        metavar="PATH",
    )
    drafts: Sequence[str] = option((), "Of the suite: draft7, …; repeatable.", "--draft")
    keywords: Sequence[str] = option(
        (), "Only this keyword, in all of its forms; repeatable.", "--keyword"
    )
    out: Path | None = option(
        None,
        "Where the run goes; started again it goes on.  [default: one under runs/]",
        "-o",
        metavar="DIR",
    )
    vocabulary: str = option(BYTES, "As of bench.", metavar="SPEC")
    lanes: int | None = option(None, "Cases at the same time.", least=1)
    compile: float = limit_option(2.0, "schema", "--compile-timeout")
    memory: int = option(
        4 << 30, "Resident memory per engine.  [default: 4G]", above=0, unit="SIZE"
    )

    @property
    def limits(self) -> Limits:
        return Limits(compile=self.compile, memory=self.memory)
