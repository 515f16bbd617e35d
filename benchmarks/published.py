"""Published pages that rest on runs: ``python -m benchmarks.published NAME``.

Runs are made as ``maskcourt bench`` makes them, and go on where they were interrupted. Cases come
in an order that a hash of their ids gives, so that an unfinished run is a fair sample, too. Then
all that costs a value is replayed, and the page, its tables as CSV, its bugs and the manifests are
written from what is stored; no figure is typed by hand. One page is `gathered`: what it publishes
of each schema stays, and runs of other days add to it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from harness import interrupts
from harness.cli.options import built, options
from harness.errors import MaskcourtError
from harness.execution.bench import Executor, local_lanes, run_with
from harness.execution.dispatch import Begin
from harness.execution.lanes import Engines, Job, LaneSettings
from harness.execution.progress import RunProgress
from harness.execution.request import BenchRequest
from harness.runs.directory import MANIFEST, RunDirectory

if TYPE_CHECKING:
    from benchmarks.gathered import Gathered
    from benchmarks.pages.layout import Published, Runs
    from benchmarks.pages.schema_rows import SchemaRows
    from harness.report.frames import Run

_ROOT: Final = Path(__file__).resolve().parents[1]
_RESULTS: Final = _ROOT / "results"
PAGES: Final = (
    *("engines", "equal", "generated", "later", "newest", "study", "values", "versions"),
)
"""The pages, each a module of `benchmarks.pages`; a lane of a run imports none of them."""


INDEX: Final = "index"
"""The page on all results, which is made of their tables."""


def page_of(name: str) -> Published:
    found: Published = import_module(f"benchmarks.pages.{name}").PAGE
    return found


def as_drawn(executor: Executor, known: Gathered | None = None) -> Executor:
    """`executor`, but cases come in the order of a hash of their ids, whatever the order of ids.

    Those that are `known` are left out; UsageError where, after some, the machine proves not to be
    as fast as the one of those.
    """
    left_out = {one.id for one in known.rows.rows} if known else set()

    def execute(settings: LaneSettings, cases: int, begin: Begin, telling: RunProgress) -> None:
        def begun(engines: Engines) -> tuple[RunDirectory, Iterator[Job]]:
            run, jobs = begin(engines)
            if known:
                known.require_same(run.manifest["identity"])
            every = sorted(jobs, key=lambda job: _draw(job[1].id))
            todo = [job for job in every if job[1].id not in left_out]
            telling.skip(telling.done + len(every) - len(todo))
            return run, _as_fast(run, todo, known) if known else iter(todo)

        executor(settings, cases, begun, telling)

    return execute


def _as_fast(run: RunDirectory, todo: Sequence[Job], known: Gathered) -> Iterator[Job]:
    """The jobs, of which those beyond the first wait for what these say of the machine's pace."""
    from benchmarks.gathered import FAIR
    from benchmarks.pages.schema_rows import SchemaRows
    from harness.report.frames import load_run

    first, others = todo[:FAIR], todo[FAIR:]
    yield from first
    if others:
        known.pace(SchemaRows.of(load_run(run.path)))
    yield from others


def _draw(id_: str) -> bytes:
    return hashlib.sha256(id_.encode("utf-8", "surrogatepass")).digest()


def request_of(arguments: Sequence[str], out: Path, lanes: int | None) -> BenchRequest:
    """What ``maskcourt bench`` is asked for with these arguments."""
    command = click.Command("bench", params=list(options(BenchRequest)))
    given = command.make_context("bench", list(arguments)).params
    return replace(built(BenchRequest, given), out=out, lanes=lanes)


def make(about: Published, path: Path, out: Path, lanes: int | None) -> None:
    """Make the runs of a page below `path`, or go on with them, and search them for bugs.

    `out` is where the page stands.
    """
    from benchmarks.gathered import Gathered

    known = Gathered.read(out) if about.gathered else None
    for key, arguments in about.runs.items():
        request = request_of(arguments, path / key, lanes)
        run = run_with(as_drawn(local_lanes(lanes), known), request)
        if seconds := about.searched.get(key):
            command = [sys.executable, "-m", "harness.cli", "bugs", str(run.path)]
            command += ["--shrink-budget", str(seconds), "--trust", "--json"]
            command += ["--lanes", str(lanes)] if lanes else []
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def repeat(runs: Runs, lanes: int | None) -> None:
    """Replay of each run all that costs a value, and a sample of the other verdicts, once."""
    from benchmarks.replayed import replayed

    for run in runs.values():
        replayed(run.directory, lanes)


def gathered(out: Path, run: Run, manifest: Mapping[str, Any]) -> Gathered:
    """A run with what earlier ones published in `out`."""
    from benchmarks.gathered import Gathered

    return Gathered.of(run, manifest, Gathered.read(out))


def found(about: Published, path: Path) -> Runs:
    """The runs of a page that are below `path`, finished or not."""
    from harness.report.frames import load_run

    there = [key for key in about.runs if (path / key / MANIFEST).exists()]
    return {key: load_run(path / key) for key in there}


def write(runs: Runs, about: Published, out: Path) -> None:
    """Write the page of runs, its tables, its bugs and the manifests."""
    from benchmarks.pages.layout import bugs_of
    from harness.render.table import as_csv

    manifests = {key: _kept(run.path, len(run.cases)) for key, run in runs.items()}
    told: Runs | SchemaRows = runs
    manifest, tables = manifests.get("", manifests), {}
    if about.gathered:
        whole = gathered(out, runs[""], _manifest(runs[""].path))
        told, manifest, tables = whole.rows, whole.manifest, whole.tables
    out.mkdir(parents=True, exist_ok=True)
    (out / "README.md").write_text(about.page(told), "utf-8")
    for name, table in {**about.tables(told), **tables}.items():
        file = out / f"{name}.csv"
        file.parent.mkdir(exist_ok=True)
        file.write_text(as_csv(table), "utf-8")
    known = [bugs_of(runs[key]) for key in about.searched if key in runs]
    if rows := [bug.row() for some in known if some for bug in some.bugs]:
        _write_json(out / "bugs.json", rows)
    _write_json(out / "manifest.json", manifest)


def _manifest(run: Path) -> dict[str, Any]:
    """The manifest of a run, with what replaying gave."""
    from benchmarks.replayed import REPLAYED

    manifest: dict[str, Any] = json.loads((run / MANIFEST).read_text("utf-8"))
    if (repeated := run / REPLAYED).exists():
        manifest["replayed"] = json.loads(repeated.read_text("utf-8"))
    return manifest


def _kept(run: Path, cases: int) -> dict[str, Any]:
    """What of a manifest is published, and how many cases were there."""
    manifest = _manifest(run)
    kept = ("identity", "versions", "commit", "effects", "seconds", "replayed")
    return {"cases": cases, **{name: manifest[name] for name in kept if name in manifest}}


def _write_json(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _write_index(results: Path) -> None:
    from benchmarks.pages.index import index_page

    (results / "README.md").write_text(index_page(results), "utf-8")


@click.command()
@click.argument("name", type=click.Choice([*PAGES, INDEX]))
@click.option("--run", "path", type=click.Path(path_type=Path), help="Where its runs are.")
@click.option("--out", type=click.Path(path_type=Path), help="Where the page is written.")
@click.option("--lanes", type=int, help="Cases at the same time.")
@click.option("--page", "only", is_flag=True, help="Write the page of what is there.")
@click.option("--replay", is_flag=True, help="Replay what is there, and write the page of it.")
def main(
    name: str, path: Path | None, out: Path | None, lanes: int | None, only: bool, replay: bool
) -> None:
    """Make the runs of a page, or go on with them, replay them and write the page."""
    if name == INDEX:
        _write_index(out or _RESULTS)
        return
    path = path or _ROOT / "runs" / name
    about = page_of(name)
    try:
        with interrupts.heeded():
            if not (only or replay):
                make(about, path, out or _RESULTS / name, lanes)
            if not (runs := found(about, path)):
                raise click.UsageError(f"there is no run of {name} at {path}; leave out --page")
            if not only:
                repeat(runs, lanes)
        write(runs, about, out or _RESULTS / name)
        if out is None:
            _write_index(_RESULTS)
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo("interrupted; the same command goes on, --page writes what is there", err=True)
        sys.exit(128 + interrupts.received())


if __name__ == "__main__":
    main()
