"""What a user asks of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.check.mcp_tools import mcp_tools
from harness.comparison.case_run import Rules
from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT, EngineSpec, parse_specs
from harness.errors import InputError, UsageError
from harness.inputs.schema_inputs import read_schemas
from harness.inputs.tools import NamedSchema
from harness.options import LIMITS, option, seconds_limit
from harness.validators.validate import UnjudgeableError, Validators


@dataclass(frozen=True)
class CheckRequest:
    """How schemas are checked; `valid` and `invalid` are texts that should be so under each."""

    engines: Sequence[str] = option(
        DEFAULT, "An engine, or several; repeatable.", "--engine", "--engines", "-e", metavar="SPEC"
    )
    valid: Sequence[Path] = option(
        (), "A JSON text that is valid; repeatable.", exists=True, metavar="FILE"
    )
    invalid: Sequence[Path] = option(
        (), "A text that is not; repeatable.", exists=True, metavar="FILE"
    )
    mcp: Sequence[str] = option(
        (),
        "The tools of an MCP server: the URL, or the command that starts it; repeatable.",
        metavar="COMMAND|URL",
    )
    mcp_token: str | None = option(
        None, "The environment variable with the token for the URL.", metavar="VARIABLE"
    )
    mcp_timeout: float = seconds_limit(
        60.0, "Seconds in which a server must have listed its tools.", above=0
    )
    vocabulary: str = option("qwen2.5", "As of bench.", metavar="SPEC")
    compile: float = limit_option(10.0, "schema", "--compile-timeout")
    memory: int = option(
        4 << 30, "Resident memory per engine.  [default: 4G]", heading=LIMITS, above=0, unit="SIZE"
    )
    seed: int = option(0, "Of every random choice.", heading=LIMITS)
    walks: int = option(
        0,
        "Compare what the engines' masks say token by token, too, along so many values of each"
        " schema; at least two engines.",
        least=0,
    )
    compile_seconds: float = seconds_limit(
        60.0,
        "Compile no further schema with an engine after N seconds of compilations.",
        "--compile-budget",
        least=0,
    )
    whole_seconds: float = seconds_limit(
        60.0,
        "Try no further schema with the whole vocabulary after an engine took N seconds for it.",
        "--whole-budget",
        least=0,
    )
    seconds: float = seconds_limit(
        20.0,
        "Stop shrinking the errors of an engine after N seconds; of 101 schemas, after twice that.",
        "--shrink-budget",
        least=0,
    )

    @property
    def specs(self) -> list[EngineSpec]:
        return parse_specs(self.engines)

    @property
    def rules(self) -> Rules:
        """Of the run on the whole vocabulary."""
        return Rules(seed=self.seed, walks=0, generated=32, samples=0)

    @property
    def limits(self) -> Limits:
        return Limits(compile=self.compile, memory=self.memory)


def usable_schemas(names: Sequence[str], request: CheckRequest) -> list[NamedSchema]:
    """The schemas of these files, directories or models, and of the servers that are named.

    They are looked at before any engine is started.

    Raises:
        UsageError: There is none, or there is one engine to walk with.
        InputError: One cannot be read, or the validators cannot judge by it.
    """
    if request.walks and len(request.specs) < 2:
        raise UsageError("--walks compares engines, and one is named", "name two, or leave it out")
    named = read_schemas(names)
    for server in request.mcp:
        named += mcp_tools(server, request.mcp_timeout, request.mcp_token)
    if not named:
        raise UsageError("no schema is named", "a file, a directory, or --mcp COMMAND")
    for one in named:
        try:
            Validators(one.text)
        except UnjudgeableError as error:
            raise InputError(f"{one.name} cannot be used: {error.message}", error.hint) from None
    return named
