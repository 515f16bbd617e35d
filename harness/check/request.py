"""What a user asks of a check, as options and as read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.comparison.case_run import Rules
from harness.engines.panel import Limits
from harness.engines.specs import DEFAULT, EngineSpec, parse_specs
from harness.errors import InputError
from harness.inputs.schema_inputs import NamedSchema, read_instance, read_schemas
from harness.inputs.vocabulary_names import BYTES
from harness.options import LIMITS, option
from harness.validators.validate import UnjudgeableError, Validators


@dataclass(frozen=True)
class Check:
    """What is checked; `valid` and `invalid` are texts that should be so under each schema.

    After some `seconds` no more smallest cases are looked for (but see `work.LEAST_SECONDS`).
    """

    schemas: Sequence[NamedSchema]
    engines: Sequence[EngineSpec]
    valid: Sequence[bytes] = ()
    invalid: Sequence[bytes] = ()
    vocabulary: str = "qwen2.5"
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)
    seconds: float = 20.0

    @property
    def vocabularies(self) -> list[str]:
        """The vocabularies, in the order in which they are tried."""
        return list(dict.fromkeys((BYTES, self.vocabulary)))


@dataclass(frozen=True)
class CheckRequest:
    """The options of a check."""

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
    compile: float = option(
        10.0,
        "Seconds of processor time that an engine gets for a schema.",
        "--compile-timeout",
        heading=LIMITS,
        above=0,
        unit="SECONDS",
    )
    memory: int = option(
        4 << 30, "Resident memory per engine.  [default: 4G]", heading=LIMITS, above=0, unit="SIZE"
    )
    seed: int = option(0, "Of every random choice.", heading=LIMITS)
    seconds: float = option(
        20.0,
        "Stop shrinking errors to their smallest cases after N seconds.",
        "--shrink-budget",
        heading=LIMITS,
        least=0,
        unit="SECONDS",
    )

    def read(self, schemas: Sequence[str]) -> Check:
        """What is asked of some schemas, each looked at before anything is started.

        Raises:
            InputError: A file cannot be read, or the validators cannot judge by a schema.
            UsageError: An engine is not known.
        """
        specs = parse_specs(self.engines)
        named = read_schemas(schemas)
        for one in named:
            try:
                Validators(one.text)
            except UnjudgeableError as error:
                message = f"{one.name} cannot be used: {error.message}"
                raise InputError(message, error.hint) from None
        return Check(
            named,
            specs,
            [read_instance(path, is_json=True) for path in self.valid],
            [read_instance(path, is_json=False) for path in self.invalid],
            self.vocabulary,
            Rules(seed=self.seed, generated=32, samples=16),
            Limits(compile=self.compile, memory=self.memory),
            self.seconds,
        )
