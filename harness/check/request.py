"""What a user asks of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.comparison.case_run import Rules
from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT, EngineSpec, parse_specs
from harness.errors import InputError
from harness.inputs.schema_inputs import NamedSchema, read_schemas
from harness.options import LIMITS, option
from harness.validators.validate import UnjudgeableError, Validators


@dataclass(frozen=True)
class CheckRequest:
    """How schemas are checked; `valid` and `invalid` are texts that should be so under each."""

    engines: Sequence[str] = option(
        DEFAULT, "An engine; repeatable.", "--engine", "-e", metavar="SPEC"
    )
    valid: Sequence[Path] = option(
        (), "A JSON text that is valid; repeatable.", exists=True, metavar="FILE"
    )
    invalid: Sequence[Path] = option(
        (), "A text that is not; repeatable.", exists=True, metavar="FILE"
    )
    vocabulary: str = option("qwen2.5", "As of bench.", metavar="SPEC")
    compile: float = limit_option(10.0, "schema", "--compile-timeout")
    memory: int = option(
        4 << 30, "Resident memory per engine.  [default: 4G]", heading=LIMITS, above=0, unit="SIZE"
    )
    seed: int = option(0, "Of every random choice.", heading=LIMITS)
    seconds: float = option(
        20.0,
        "Stop shrinking the errors of an engine under a schema after N seconds.",
        "--shrink-budget",
        heading=LIMITS,
        least=0,
        unit="SECONDS",
    )

    @property
    def specs(self) -> list[EngineSpec]:
        return parse_specs(self.engines)

    @property
    def rules(self) -> Rules:
        """Of the run on the whole vocabulary."""
        return Rules(seed=self.seed, generated=32, samples=16)

    @property
    def limits(self) -> Limits:
        """Of the engines."""
        return Limits(compile=self.compile, memory=self.memory)


def usable_schemas(names: Sequence[str]) -> list[NamedSchema]:
    """The schemas of these files, directories or models, looked at before anything is started.

    Raises:
        InputError: One cannot be read, or the validators cannot judge by it.
    """
    named = read_schemas(names)
    for one in named:
        try:
            Validators(one.text)
        except UnjudgeableError as error:
            raise InputError(f"{one.name} cannot be used: {error.message}", error.hint) from None
    return named
