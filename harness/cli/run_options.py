"""The options of a run, which ``bench`` and ``sweep`` have in common, and the request they make."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import fail_options

if TYPE_CHECKING:
    from harness.execution.bench import BenchRequest


class Count(click.ParamType):  # type: ignore[type-arg]
    """A positive whole number, or ``none``."""

    name = "N|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; None for ``none``."""
        if value is None or value == "none":
            return None
        if str(value).isdigit() and int(value) > 0:
            return int(value)
        return self.fail(f"{value!r} is neither a positive whole number nor 'none'", param, ctx)


class Size(click.ParamType):  # type: ignore[type-arg]
    """A size in bytes, with an optional K, M or G."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The size in bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)i?B?", str(value), re.IGNORECASE)
        size = int(float(match[1]) * 1024 ** " KMG".index(match[2].upper() or " ")) if match else 0
        if not size:
            self.fail(f"{value!r} is no size; write 512M or 4G", param, ctx)
        return size


class Number(click.ParamType):  # type: ignore[type-arg]
    """A positive, finite number of something."""

    def __init__(self, unit: str) -> None:
        self.name = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < math.inf:  # nan is not either
            self.fail(f"{value!r} is no positive number of {self.name.lower()}", param, ctx)
        return number


SECONDS = Number("SECONDS")


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a run, in the order of the help text."""
    options = [*_what(), *_how(), *_limits(), *_printing()]
    for option in reversed(options):
        command = option(command)
    return command


def request_of(options: dict[str, Any]) -> BenchRequest:
    """What the options of `run_options` ask for; ``out`` must be a path or None."""
    from harness.comparison.case_run import Rules
    from harness.engines.panel import Limits
    from harness.execution.bench import BenchRequest
    from harness.verdict_kinds import CHALLENGER

    return BenchRequest(
        engines=options["engines"],
        cases=options["cases"] or ("embedded" if _chooses(options) else "quick"),
        out=options["out"],
        families=options["families"],
        pattern=options["pattern"],
        limit=options["limit"],
        sample=options["sample"],
        lanes=options["lanes"],
        ahead=options["ahead"],
        vocabulary=options["vocabulary"],
        eos=options["eos"],
        resolver=options["resolver"],
        rules=Rules(
            options["seed"],
            options["cap"],
            options["on_dropout"],
            options["walks"],
            options["style"],
            options["formats"],
            options["challenger"] == CHALLENGER,
            options["generated"],
            options["samples"],
        ),
        limits=Limits(
            options["compile_timeout"],
            options["mask_timeout"],
            options["resolve_timeout"],
            options["memory"],
        ),
    )


def _chooses(options: dict[str, Any]) -> bool:
    """Whether only some of the cases are wanted: who asks for one means one of all."""
    return any(options[name] for name in ("families", "pattern", "limit", "sample"))


def is_url(out: object) -> bool:
    """Whether a place for a run is no path: ``s3://bucket/run``."""
    return out is not None and re.match(r"[A-Za-z][\w+.-]+://", str(out)) is not None


class _Out(click.ParamType):  # type: ignore[type-arg]
    """A directory, or the URL of one as it is."""

    name = "DIR"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | str:
        del param, ctx
        return str(value) if is_url(value) else Path(value)


def _what() -> list[Callable[..., Any]]:
    """Engines, cases and where the run goes."""
    from harness.comparison.case_run import Rules
    from harness.engines.specs import DEFAULT

    return [
        click.option(
            "--engines",
            "-e",
            multiple=True,
            default=[",".join(DEFAULT)],
            show_default=True,
            metavar="SPEC,…",
            help="Engines: NAME, NAME@VERSION, NAME@./PATH, NAME[option=value,…], module:Class.",
        ),
        click.option(
            "--cases",
            "-c",
            metavar="SPEC",
            help="quick (68 of the embedded cases), embedded (all 324), maskbench[:PATH],"
            " jsonschemabench[:SPLIT] or FILE.jsonl."
            "  [default: quick; embedded where other options choose from them]",
        ),
        click.option(
            "--out",
            "-o",
            type=_Out(),
            metavar="DIR",
            help="Run directory; started again it goes on where it was."
            "  [default: one under runs/, named after the request]",
        ),
        click.option("--family", "families", multiple=True, help="Only this family; repeatable."),
        click.option("--id", "pattern", metavar="GLOB", help="Only cases whose id matches."),
        click.option("--limit", type=int, metavar="N", help="At most N cases, the first by id."),
        click.option(
            "--sample",
            type=int,
            metavar="N",
            help="N cases with a valid instance, if any has one; in proportion to the families.",
        ),
        click.option(
            "--seed",
            type=int,
            default=Rules().seed,
            show_default=True,
            help="Of the sample and of every choice in a walk.",
        ),
    ]


def _how() -> list[Callable[..., Any]]:
    """The rules of walks and of resolving, the vocabulary, and how many cases at a time."""
    from harness.comparison.case_run import Rules
    from harness.comparison.resolvers import RESOLVERS
    from harness.inputs.cases import STYLES
    from harness.validators.format_rules import FORMAT_RULES
    from harness.verdict_kinds import CHALLENGER

    rules = Rules()
    return [
        click.option(
            "--style",
            type=click.Choice(list(STYLES)),
            default=rules.style,
            show_default=True,
            help="How reference texts are written.",
        ),
        click.option(
            "--walks",
            type=click.IntRange(min=1),
            default=rules.walks,
            show_default=True,
            help="Walks per case, through its valid instances.",
        ),
        click.option(
            "--generated",
            type=click.IntRange(min=0),
            default=rules.generated,
            show_default=True,
            metavar="N",
            help="Instances made of the schema, fed beside the case's own; where a case has none"
            " that is valid, made ones are walked. 0: none.",
        ),
        click.option(
            "--cap",
            type=Count(),
            default=str(rules.cap),
            show_default=True,
            help="Disputed tokens resolved per dispute; 'none' resolves all.",
        ),
        click.option(
            "--challenger",
            type=click.Choice([CHALLENGER, "none"]),
            default=CHALLENGER if rules.challenger else "none",
            show_default=True,
            help="json: what all engines forbid though JSON goes on so, and the reverse, is"
            " disputed, too.",
        ),
        click.option(
            "--on-dropout",
            type=click.Choice(["continue", "stop"]),
            default=rules.on_dropout,
            show_default=True,
            help="What a walk does when an engine drops out: continue with the others, or stop.",
        ),
        click.option(
            "--resolver",
            type=click.Choice(list(RESOLVERS)),
            default="shared",
            show_default=True,
            help="rollout: the original study's procedure.",
        ),
        click.option(
            "--formats",
            type=click.Choice(FORMAT_RULES),
            default=rules.formats,
            show_default=True,
            help="What 'format' is to the validators; annotation: it forbids no text.",
        ),
        click.option(
            "--samples",
            type=click.IntRange(min=0),
            default=rules.samples,
            show_default=True,
            metavar="N",
            help="Texts of each schema that each engine writes itself; 0: as the original study.",
        ),
        click.option(
            "--vocabulary",
            default="qwen2.5",
            show_default=True,
            metavar="SPEC",
            help="A name (maskcourt vocabularies), a tokenizer's file, a Hugging Face id.",
        ),
        click.option("--eos", metavar="TOKEN", help="End of sequence, if the vocabulary has none."),
        click.option(
            "--lanes",
            type=click.IntRange(min=1),
            metavar="N",
            help="Cases at the same time.  [default: as many as there is room for]",
        ),
        click.option(
            "--ahead",
            type=click.IntRange(0, 8),
            metavar="N",
            help="Schemas that a lane compiles while it walks a case; each takes hosts of its own."
            "  [default: 1 where there is memory for it]",
        ),
    ]


def _limits() -> list[Callable[..., Any]]:
    """What one request to an engine may cost."""
    from harness.engines.panel import Limits

    limits = Limits()
    return [
        _seconds("--compile-timeout", limits.compile, "schema"),
        _seconds("--mask-timeout", limits.mask, "mask"),
        _seconds("--resolve-timeout", limits.resolve, "batch of tokens"),
        click.option(
            "--memory",
            type=Size(),
            default="4G",
            show_default=True,
            help="Resident memory per host.",
        ),
    ]


def _seconds(name: str, default: float, what: str) -> Callable[..., Any]:
    return click.option(
        name,
        type=SECONDS,
        default=default,
        show_default=True,
        help=f"Seconds of processor time per {what}.",
    )


def _printing() -> list[Callable[..., Any]]:
    """What is looked for in the finished run, and what becomes of the summary."""
    return [
        click.option(
            "--bugs",
            type=click.IntRange(min=0),
            default=60,
            show_default=True,
            metavar="SECONDS",
            help="How long to look for the few bugs behind the verdicts, when the run is finished;"
            " 0: not at all. maskcourt bugs RUN goes on.",
        ),
        fail_options,
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    ]
