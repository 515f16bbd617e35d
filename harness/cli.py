"""The command line: ``maskcourt bench | engines | cases | tally | replay | resolvers``.

Results go to standard output, everything else to standard error. With ``--json`` standard output
holds one JSON object and nothing else. Exit codes: 2 for bad usage or input, 1 for a finding that
the caller asked to fail on, 130 when interrupted, 0 else.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import click

from harness import __version__
from harness.cli_lists import cases, engines
from harness.cli_runs import KINDS, replay, resolvers, show_summary, tally
from harness.errors import MaskcourtError, UsageError


class _Count(click.ParamType):  # type: ignore[type-arg]
    """A positive whole number, or ``none``."""

    name = "N|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value is None or value == "none":
            return None
        if str(value).isdigit() and int(value) > 0:
            return int(value)
        return self.fail(f"{value!r} is neither a positive whole number nor 'none'", param, ctx)


class _Size(click.ParamType):  # type: ignore[type-arg]
    """A size in bytes, with an optional K, M or G."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)i?B?", str(value), re.IGNORECASE)
        size = int(float(match[1]) * 1024 ** " KMG".index(match[2].upper() or " ")) if match else 0
        if not size:
            self.fail(f"{value!r} is no size; write 512M or 4G", param, ctx)
        return size


class _Seconds(click.ParamType):  # type: ignore[type-arg]
    """A positive, finite number of seconds."""

    name = "SECONDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < math.inf:  # nan is not either
            self.fail(f"{value!r} is no positive number of seconds", param, ctx)
        return seconds


_SECONDS = _Seconds()


class _NobodyReads(Exception):
    """What is printed goes nowhere: the other end of the pipe was closed."""


@contextlib.contextmanager
def _noticing_the_reader() -> Iterator[None]:
    """Click takes a broken pipe for an error of its own and leaves with 1, which is a finding."""
    try:
        yield
    except BrokenPipeError as error:
        raise _NobodyReads from error
    except SystemExit as leaving:  # so does rich
        if isinstance(leaving.__context__, BrokenPipeError):
            raise _NobodyReads from leaving
        raise


class _Commands(click.Group):
    """The commands, out of whose output a pipe may be broken."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _noticing_the_reader():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _noticing_the_reader():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="maskcourt")
@click.option("--debug", is_flag=True, help="Show a traceback with errors.")
def cli(debug: bool) -> None:
    """Compare the masks of constrained-decoding engines and prove who is wrong."""
    del debug


def _bench_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a run, in the order of the help text."""
    from harness.data.cases import STYLES
    from harness.method.case_run import Rules
    from harness.processes.engines import DEFAULT
    from harness.processes.panel import Limits

    limits, rules = Limits(), Rules()
    options = [
        click.option(
            "--engines",
            "-e",
            multiple=True,
            default=[",".join(DEFAULT)],
            show_default=True,
            metavar="SPEC,…",
            help="Engines: NAME, NAME@VERSION, NAME[option=value,…], module:Class.",
        ),
        click.option(
            "--cases",
            "-c",
            default="embedded",
            show_default=True,
            metavar="SPEC",
            help="embedded, maskbench[:PATH], jsonschemabench[:SPLIT] or FILE.jsonl.",
        ),
        click.option(
            "--out",
            "-o",
            type=click.Path(path_type=Path),
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
            help="N cases with a valid instance, in proportion to the families.",
        ),
        click.option(
            "--seed",
            type=int,
            default=rules.seed,
            show_default=True,
            help="Of the sample and of every choice in a walk.",
        ),
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
            "--cap",
            type=_Count(),
            default=str(rules.cap),
            show_default=True,
            help="Disputed tokens resolved per dispute; 'none' resolves all.",
        ),
        click.option(
            "--panel",
            type=click.Choice(["common", "survivors"]),
            default=rules.panel,
            show_default=True,
            help="common: a walk stops for all when one engine can no longer be judged.",
        ),
        click.option(
            "--resolver",
            type=click.Choice(["shared", "rollout"]),
            default="shared",
            show_default=True,
            help="rollout: the original study's procedure.",
        ),
        click.option(
            "--vocabulary",
            default="qwen2.5",
            show_default=True,
            metavar="SPEC",
            help="qwen2.5, a tokenizer.json, a tiktoken file, or a Hugging Face id.",
        ),
        click.option("--eos", metavar="TOKEN", help="End of sequence, if the vocabulary has none."),
        click.option(
            "--lanes",
            type=click.IntRange(min=1),
            metavar="N",
            help="Cases at the same time.  [default: as many as the machine carries]",
        ),
        click.option(
            "--compile-timeout",
            type=_SECONDS,
            default=limits.compile,
            show_default=True,
            help="Seconds of processor time per schema.",
        ),
        click.option(
            "--mask-timeout",
            type=_SECONDS,
            default=limits.mask,
            show_default=True,
            help="Seconds of processor time per mask.",
        ),
        click.option(
            "--resolve-timeout",
            type=_SECONDS,
            default=limits.resolve,
            show_default=True,
            help="Seconds of processor time per batch of tokens.",
        ),
        click.option(
            "--memory",
            type=_Size(),
            default="4G",
            show_default=True,
            help="Resident memory per host.",
        ),
        click.option(
            "--fail-on",
            multiple=True,
            type=click.Choice(KINDS),
            help="Exit with 1 when any engine has such a verdict; repeatable.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@_bench_options
def bench(**options: Any) -> None:
    """Run the comparison and print who is wrong, how often and why."""
    from harness.bench import BenchRequest
    from harness.bench import bench as run_bench
    from harness.method.case_run import Rules
    from harness.processes.panel import Limits

    request = BenchRequest(
        engines=options["engines"],
        cases=options["cases"],
        out=options["out"],
        families=options["families"],
        pattern=options["pattern"],
        limit=options["limit"],
        sample=options["sample"],
        lanes=options["lanes"],
        vocabulary=options["vocabulary"],
        eos=options["eos"],
        resolver=options["resolver"],
        rules=Rules(
            options["seed"], options["cap"], options["panel"], options["walks"], options["style"]
        ),
        limits=Limits(
            options["compile_timeout"],
            options["mask_timeout"],
            options["resolve_timeout"],
            options["memory"],
        ),
    )
    run = run_bench(request)
    show_summary(run, as_json=options["as_json"], fail_on=options["fail_on"])


for _command in (tally, replay, resolvers, engines, cases):
    cli.add_command(_command)


def main() -> NoReturn:
    """Entry point of the console script."""
    debug = "--debug" in sys.argv or os.environ.get("MASKCOURT_DEBUG") == "1"
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] or ["--help"]
    try:
        cli.main(args=arguments, prog_name="maskcourt", standalone_mode=False)
    except click.exceptions.Abort:
        _interrupted()
    except KeyboardInterrupt:
        _interrupted()
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code, debug=debug)
    except MaskcourtError as error:
        _fail(str(error), error.exit_code, debug=debug)
    except _NobodyReads:
        _nobody_reads()
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}{where}", UsageError.exit_code, debug=debug)
    sys.exit(0)


def _fail(message: str, code: int, *, debug: bool) -> NoReturn:
    if debug:
        traceback.print_exc()
    click.echo("maskcourt: " + " ".join(message.split()), err=True)
    sys.exit(code)


def _nobody_reads() -> NoReturn:
    """End quietly, as a program that SIGPIPE ends does for the shell."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # what is still buffered would fail again when the program ends
        os.dup2(nowhere, descriptor)
    sys.exit(128 + signal.SIGPIPE)


def _interrupted() -> NoReturn:
    click.echo(
        "maskcourt: interrupted; finished cases are kept, the same command goes on", err=True
    )
    sys.exit(130)


if __name__ == "__main__":
    main()
