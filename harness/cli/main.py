"""The command line: ``maskcourt check | bench | sweep | tally | report | replay | …``.

Results go to standard output, everything else to standard error. With ``--json`` standard output
holds one JSON object and nothing else. Exit codes: 2 for bad usage or input, 1 for a finding that
the caller asked to fail on and for an error of the harness in a case, 128 and the signal's number
when interrupted (130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP), 0 else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import click

from harness import __version__, interrupts
from harness.console import tell
from harness.errors import MaskcourtError, UsageError, of_the_system
from harness.printable import LONGEST, one_line

_MODULES: Final = {
    **{name: name for name in ("check", "conformance", "impact", "protocol", "spellings")},
    **dict.fromkeys(("bench", "sweep"), "bench"),
    **dict.fromkeys(("bugs", "compare"), "bugs"),
    **dict.fromkeys(("engines", "vocabularies"), "listings"),
    **dict.fromkeys(("replay", "report", "tally"), "runs"),
}
"""In which module of this package each command is."""
_KEEPING: Final = frozenset({"bench", "sweep", "bugs", "compare", "conformance"})
"""Commands that go on where they were interrupted, and do not say so themselves."""


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
    """The commands, each imported when it is asked for; a pipe out of them may be broken."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, _: click.Context, name: str) -> Any:
        module = _MODULES.get(name)
        return module and getattr(import_module(f"harness.cli.{module}"), name)

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


def main() -> NoReturn:
    debug = "--debug" in sys.argv or os.environ.get("MASKCOURT_DEBUG") == "1"
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] or ["--help"]
    try:
        with interrupts.heeded():
            cli.main(args=arguments, prog_name="maskcourt", standalone_mode=False)
    except click.exceptions.Abort as error:  # click's own form of an interrupt
        _interrupted(str(error.__cause__ or ""), arguments)
    except KeyboardInterrupt as error:
        _interrupted(str(error), arguments)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code, debug=debug)
    except MaskcourtError as error:
        _fail(str(error), error.exit_code, debug=debug)
    except _NobodyReads:
        _nobody_reads()
    except Exception as error:  # noqa: BLE001 - an exit code of 1 would be a finding
        what = f"an error of maskcourt itself: {type(error).__name__}: {error}"
        message = of_the_system(error) or f"{what} (--debug shows where; please report it)"
        _fail(message, UsageError.exit_code, debug=debug)
    sys.exit(0)


def _fail(message: str, code: int, *, debug: bool) -> NoReturn:
    if debug:
        traceback.print_exc()
    tell(f"maskcourt: {one_line(message, 2 * LONGEST + 3)}")
    sys.exit(code)


def _nobody_reads() -> NoReturn:
    """End quietly, as a program that SIGPIPE ends does for the shell."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # what is still buffered would fail again when the program ends
        os.dup2(nowhere, descriptor)
    sys.exit(128 + signal.SIGPIPE)


def _interrupted(kept: str, arguments: Sequence[str]) -> NoReturn:
    if not kept and not _KEEPING.isdisjoint(arguments[:1]):
        kept = "finished cases are kept, the same command goes on"
    with contextlib.suppress(OSError):  # the terminal is gone: that is what SIGHUP tells
        tell("maskcourt: interrupted" + f"; {kept}" * bool(kept))
    sys.exit(128 + interrupts.received())
