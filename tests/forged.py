"""A small finished run to be forged, and the command lines that open runs."""

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.engines.panel import Limits
from harness.runs import directory as store
from harness.runs.directory import create_or_resume
from tests.inprocess import case, make_run, study
from tests.miniatures import AcceptsExtra, AllowsEverything, Enumerator, ForbidsOne
from tests.replaying import VOCABULARY

ENGINES = (Enumerator, AcceptsExtra, ForbidsOne, AllowsEverything)


def whole(directory: Path) -> Path:
    """A finished run of two cases by engines that lie."""
    VOCABULARY.save(directory / "vocabulary")
    spec = str(directory / "vocabulary")
    names = [f"{kind.__module__}:{kind.__name__}" for kind in ENGINES]
    identity = {
        "engines": {name: {"version": "0", "packages": {}, "options": {}} for name in names},
        "vocabulary": {"spec": spec, "eos": None, "name": "bytes", "size": VOCABULARY.size}
        | {"sha256": VOCABULARY.sha256},
        "data": {"name": "own", "cases": 2, "ids": "0", "sha256": "0"},
        "rules": {"seed": 0, "cap": 5, "on_dropout": "continue", "walks": 1, "style": "default"},
        "limits": asdict(Limits()),
    }
    notes = {"started": "2026-01-01T00:00:00Z", "machine": {"system": "Linux"}, "commit": None}
    run = create_or_resume(directory / "run", identity, notes)
    lies = {"enum": ["ab", 1], "x-extra": ['"ax"'], "x-forbidden": [["", "1"]]}
    of = make_run(ENGINES, VOCABULARY, study(cap=5))
    for number, name in enumerate(("one", "two")):
        rows = of.run(case(lies, "ab", invalid=["ax"], name=name))
        for table in store.SCHEMAS:
            for column in ("engine", "accepter"):
                if column in store.SCHEMAS[table].names:
                    named = [one and f"tests.miniatures:{one}" for one in rows.lists(table)[column]]
                    rows.replace(table, **{column: named})
        run.write_case(number, rows)
    run.finish({"seconds": 1.0})
    run.release()
    return run.path


class InProcessLane:
    """A lane whose engines are in this process, under the names of the run."""

    def __init__(self, settings: Any) -> None:
        kinds = {kind.__name__: kind for kind in ENGINES}
        engines = [kinds[one.name.split(":")[-1]] for one in settings.specs]
        self.runner = make_run(engines, VOCABULARY)
        self.panel = self.runner.panel
        self.panel.specs = settings.specs

    def open(self) -> dict[str, Any]:
        return {one.name: SimpleNamespace(packages={}, options={}) for one in self.panel.specs}

    def close(self) -> None: ...


def seal(run: Path, manifest: dict[str, Any]) -> None:
    """Make all checksums right again."""
    for name, table in manifest["tables"].items() if usual(manifest) else ():
        if (file := run / f"{name}.parquet").is_file():
            table["sha256"] = store.sha256_of(file)
    manifest.pop("seal", None)
    store.write_manifest(run, manifest)


def usual(manifest: dict[str, Any]) -> bool:
    """Whether the tables of a manifest are listed as in any run."""
    tables = manifest.get("tables")
    return isinstance(tables, dict) and all(isinstance(one, dict) for one in tables.values())


def commands(run: Path, out: Path) -> dict[str, list[object]]:
    """The command lines that open a run."""
    return {
        "tally": ["tally", run],
        "as json": ["tally", run, "--json", "--fail-on", "false_acceptances"],
        "csv": ["report", run, "--format", "csv", "--out", out / "tables"],
        "markdown": ["report", run, "--format", "markdown", "--out", out / "tables"],
        "page": ["report", run, "--sample", 0, "--out", out / "report.html"],
        "replay": ["replay", run, "--all"],
        "sample": ["replay", run, "--sample", 3, "--json"],
    }
