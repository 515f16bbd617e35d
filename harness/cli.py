"""The command line: ``maskcourt bench | engines | cases | tally | replay``.

Results go to standard output, everything else to standard error. With ``--json`` standard output
holds one JSON object and nothing else. Exit codes: 2 for bad usage or input, 1 for a finding that
the caller asked to fail on, 130 when interrupted, 0 else.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.table import Table

from harness import __version__
from harness.errors import MaskcourtError, UsageError

KINDS = ("false_acceptances", "false_rejections")


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


_SHOWN = 50
"""Up to so many replayed verdicts are listed one by one; of more, those that differ."""

_SECONDS = _Seconds()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="maskcourt")
@click.option("--debug", is_flag=True, help="Show a traceback with errors.")
def cli(debug: bool) -> None:
    """Compare the masks of constrained-decoding engines and prove who is wrong."""
    del debug


def _bench_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a run, in the order of the help text."""
    from harness.case_run import Rules
    from harness.cases import STYLES
    from harness.engines import DEFAULT
    from harness.panel import Limits

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
    from harness.case_run import Rules
    from harness.panel import Limits

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
    _show(run, as_json=options["as_json"], fail_on=options["fail_on"])


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(KINDS),
    help="Exit with 1 when any engine has such a verdict; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def tally(run: Path, fail_on: tuple[str, ...], as_json: bool) -> None:
    """Print the summary of a stored run, finished or not."""
    from harness.store import open_run

    _show(open_run(run), as_json=as_json, fail_on=fail_on)


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("verdicts", type=int, nargs=-1, metavar="[VERDICT]...")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="N verdicts, by --seed.")
@click.option("--all", "everything", is_flag=True, help="Every verdict that has a witness.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def replay(
    run: Path,
    verdicts: tuple[int, ...],
    sample: int | None,
    everything: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Repeat stored verdicts from nothing; exit with 1 when any comes out differently.

    VERDICT is a row of the run's table of verdicts, counted from 0.
    """
    from harness.replay import chosen, replayed_rows
    from harness.replay import replay as repeat
    from harness.store import open_run

    if bool(verdicts) + (sample is not None) + everything != 1:
        raise UsageError("say which verdicts to replay", "VERDICT numbers, --sample N, or --all")
    stored = open_run(run)
    results = repeat(stored, chosen(stored, verdicts, sample, seed))
    differing = [one for one in results if not one.agrees]
    if as_json:
        counts = {"replayed": len(results), "differ": len(differing)}
        _print_json({**counts, "verdicts": replayed_rows(results)})
    else:
        for one in results if len(results) <= _SHOWN else differing:
            click.echo(str(one))
        click.echo(f"{len(results) - len(differing)} agree, {len(differing)} differ")
    if differing:
        sys.exit(1)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def engines(as_json: bool) -> None:
    """List the engines that can be named, with their options."""
    from harness.engine_list import listed_engines

    rows = listed_engines()
    if as_json:
        _print_json({"engines": rows})
        return
    table = Table(show_lines=True)
    for column in ("engine", "installed", "option", "default", "meaning"):
        table.add_column(column, overflow="fold")
    for name, row in rows.items():
        options = row["options"]
        table.add_row(
            name,
            row["installed"] or row.get("problem", "not installed"),
            "\n".join(options),
            "\n".join(json.dumps(one["default"]) for one in options.values()),
            "\n".join(one["help"] for one in options.values()),
        )
    Console().print(table)


@cli.command()
@click.argument("spec", default="embedded")
@click.option("--family", "families", multiple=True, help="Only this family; repeatable.")
@click.option("--id", "pattern", metavar="GLOB", help="Only cases whose id matches.")
@click.option("--limit", type=int, metavar="N", help="At most N cases, the first by id.")
@click.option("--sample", type=int, metavar="N", help="N cases with a valid instance.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@click.option("--ids", is_flag=True, help="List every case, not only the families.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def cases(spec: str, ids: bool, as_json: bool, **choice: Any) -> None:
    """Show what a set of cases holds, and what a selection takes of it."""
    from harness.cases import open_cases, select

    source = open_cases(spec)
    selected = select(source, **choice, with_valid=choice["sample"] is not None)
    families = {family: {"cases": count} for family, count in selected.families.items()}
    if as_json:
        found = {"name": source.name, "sha256": source.sha256, "cases": len(selected)}
        _print_json({**found, "families": families, **({"ids": selected.ids} if ids else {})})
        return
    table = Table(title=f"{source.name}: {len(selected):,} of {len(source):,} cases")
    table.add_column("family")
    table.add_column("cases", justify="right")
    for family, row in families.items():
        table.add_row(family, f"{row['cases']:,}")
    Console().print(table)
    if ids:
        for id_ in selected.ids:
            click.echo(id_)


def _show(run: Any, *, as_json: bool, fail_on: tuple[str, ...]) -> None:
    from harness.render import print_summary
    from harness.tally import summary

    counts = summary(run)
    if as_json:
        _print_json({**counts, "run": str(run.path)})
    else:
        print_summary(counts, str(run.path), Console())
    if any(engine[kind]["tokens"] for engine in counts["engines"].values() for kind in fail_on):
        sys.exit(1)


def _print_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


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
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}{where}", UsageError.exit_code, debug=debug)
    sys.exit(0)


def _fail(message: str, code: int, *, debug: bool) -> NoReturn:
    if debug:
        traceback.print_exc()
    click.echo("maskcourt: " + " ".join(message.split()), err=True)
    sys.exit(code)


def _interrupted() -> NoReturn:
    click.echo(
        "maskcourt: interrupted; finished cases are kept, the same command goes on", err=True
    )
    sys.exit(130)


if __name__ == "__main__":
    main()
