"""Measured costs from a finished run, and the prior of sweeps fitted to them."""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.scale_data import WALK_TABLES, Family, Measured, ScaleData
from harness.errors import RunDirectoryError
from harness.execution.sweep.costs import SCHEMA_BYTES, TEXT_BYTES
from harness.inputs.cases import CaseSource
from harness.runs.directory import RunDirectory, open_run, sha256_of
from harness.runs.reader import RunReader, by_case
from harness.runs.tables import SCHEMAS

_ONCE: Final = ("references", "instances")
_WALK: Final = ("walk", "resolve", "probe")
_BLOCK: Final = 4096

Costs = dict[str, dict[str, float]]


def measure(run_path: Path, source: CaseSource) -> ScaleData:
    """What the cases of a finished run of one walk cost, and what it stored.

    Args:
        run_path: The run.
        source: The collection of which the run has a sample.

    Raises:
        RunDirectoryError: It is not finished, has another number of walks, or is damaged.
    """
    run = open_run(run_path)
    if not run.finished:
        raise RunDirectoryError(f"{run_path} is not finished", "run it to its end first")
    if run.manifest["identity"]["rules"]["walks"] != 1:
        raise RunDirectoryError(f"{run_path} has not one walk per case")
    parts = _rejoin(run)
    return ScaleData(
        run=_about(run.manifest),
        lane_seconds=round(_lane_seconds(run), 1),
        cases=tuple(_cases(run)),
        families=_families(source),
        table_bytes={name: (run_path / f"{name}.parquet").stat().st_size for name in SCHEMAS},
        **parts,
    )


def prior(data: ScaleData) -> tuple[dict[str, float], dict[str, float]]:
    """The figures of the prior of `harness.execution.sweep.costs`: those of all, the factors.

    Logarithms of seconds are fitted by least squares; the families' factors are drawn to 1, as
    if three cases had shown it. All are then scaled so that the sum of the costs is right.
    """
    names = sorted(data.families)
    rows = [
        [
            1.0,
            np.log(case.schema_bytes / SCHEMA_BYTES),
            np.log(max(case.text_bytes, 1) / TEXT_BYTES),
        ]
        + [float(case.family == name) for name in names]
        for case in data.cases
    ]
    costs = np.array([data.seconds(case, 1) for case in data.cases])
    known = np.array(rows)
    ridge = np.diag([0.0, 0.0, 0.0] + [3.0] * len(names))
    fitted = np.linalg.solve(known.T @ known + ridge, known.T @ np.log(costs))
    scale = float(costs.sum() / np.exp(known @ fitted).sum())
    common = {
        "SECONDS": round(float(np.exp(fitted[0])) * scale, 2),
        "SCHEMA_POWER": round(float(fitted[1]), 2),
        "TEXT_POWER": round(float(fitted[2]), 2),
    }
    factors = np.exp(fitted[3:])
    return common, {name: round(float(f), 2) for name, f in zip(names, factors, strict=True)}


def _about(manifest: Mapping[str, Any]) -> dict[str, Any]:
    identity = manifest["identity"]
    return {
        "engines": {name: one["version"] for name, one in identity["engines"].items()},
        "vocabulary": identity["vocabulary"]["name"],
        "vocabulary_size": identity["vocabulary"]["size"],
        "data": identity["data"]["name"],
        "cap": identity["rules"]["cap"],
        "compile_limit": identity["limits"]["compile"],
        "processors": manifest["machine"]["processors"],
    }


def _lane_seconds(run: RunDirectory) -> float:
    """Lanes times wall seconds, over all sessions; the last one ended with the run's seconds."""
    lines = (run.path / "sessions.jsonl").read_text("utf-8").splitlines()
    sessions = [json.loads(line) for line in lines if line.strip()]
    left, total = float(run.manifest["seconds"]), 0.0
    for one, after in pairwise(sessions):
        seconds = min(after["began"] - one["began"], left)
        total += float(one["lanes"]) * seconds
        left -= seconds
    return total + float(sessions[-1]["lanes"]) * left


def _cases(run: RunDirectory) -> Iterator[Measured]:
    costs = _costs(run)
    table = run.table("cases", ["case", "family", "schema", "references"])
    for row in table.to_pylist():
        stages = costs[row["case"]]
        yield Measured(
            row["family"],
            len(row["schema"].encode()),
            max(map(len, row["references"] or [b""])),
            round(stages["compile"], 2),
            round(sum(stages[name] for name in _ONCE), 2),
            round(sum(stages[name] for name in _WALK), 2),
        )


def _costs(run: RunDirectory) -> Costs:
    """Seconds by case and stage.

    Schemas are compiled while other cases are walked, so that what a lane waited says little: what
    counts is the processor time of all engines that compiled, and the whole limit for one that
    timed out. Refusals and crashes have no time of their own.
    """
    costs: Costs = defaultdict(lambda: defaultdict(float))
    for row in run.table("costs").to_pylist():
        if (row["stage"] == "compile") is bool(row["engine"]):
            costs[row["case"]][row["stage"]] += row["seconds"]
    limit = run.manifest["identity"]["limits"]["compile"]
    for row in run.table("engines", ["case", "stage", "outcome"]).to_pylist():
        if (row["stage"], row["outcome"]) == ("compile", "timed_out"):
            costs[row["case"]]["compile"] += limit
    return costs


def _families(source: CaseSource) -> dict[str, Family]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for case in source:
        counts[case.family][0] += 1
        counts[case.family][1] += bool(case.valid)
    return {name: Family(*counts[name]) for name in sorted(counts)}


def _rejoin(run: RunDirectory) -> dict[str, Any]:
    """Take the run apart into the files of its cases and join them again, measuring both."""
    cases = run.table("cases", ["case"])["case"].to_pylist()
    with tempfile.TemporaryDirectory() as directory:
        sizes, seconds = _join_again(run, cases, Path(directory), 1)
    with tempfile.TemporaryDirectory() as directory:
        _, seconds_of_ten = _join_again(run, cases, Path(directory), 10)
    in_blocks = sum(-(-size // _BLOCK) * _BLOCK for part in sizes for size in part)
    return {
        "part_bytes": round(sum(map(sum, sizes)) / len(cases)),
        "part_disk_bytes": round(in_blocks / len(cases)),
        "part_files": len(SCHEMAS) + 1,
        "join_seconds": round(seconds / len(cases), 5),
        "join_seconds_ten_walks": round(seconds_of_ten / len(cases), 5),
    }


def _join_again(
    run: RunDirectory, cases: Sequence[str], target: Path, walks: int
) -> tuple[list[list[int]], float]:
    """The sizes of the files of each case, and the seconds of joining them.

    More walks are stood in for by the rows of the one walk, repeated.
    """
    for name in SCHEMAS:
        _take_apart(run, name, target, cases, walks if name in WALK_TABLES else 1)
    sizes = [_seal(part) for part in (target / "parts").iterdir()]
    clock = time.perf_counter()
    RunDirectory(target, {}).finish({})
    return sizes, time.perf_counter() - clock


def _take_apart(
    run: RunDirectory, name: str, target: Path, cases: Sequence[str], times: int
) -> None:
    schema = SCHEMAS[name]
    places = {case: place for place, case in enumerate(cases)}
    for one in by_case(RunReader(run).batches(name, schema.names)):
        table = _own_words(one.rows.select(schema.names).cast(schema))
        _write_part(target, places.pop(one.case), name, pa.concat_tables([table] * times))
    for place in places.values():
        _write_part(target, place, name, schema.empty_table())


def _write_part(target: Path, place: int, name: str, table: pa.Table) -> None:
    part = target / "parts" / f"{place:06d}"
    part.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, part / f"{name}.parquet", compression="zstd")


def _own_words(table: pa.Table) -> pa.Table:
    """Dictionaries with only the words of these rows, as a case that is stored alone has them."""
    columns = [
        column.cast(column.type.value_type).combine_chunks().dictionary_encode().cast(column.type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _seal(part: Path) -> list[int]:
    """Write the checksums of a part; the sizes of its files in bytes."""
    sums = {file.name: sha256_of(file) for file in sorted(part.iterdir())}
    (part / "part.json").write_text(json.dumps(sums, indent=1), "utf-8")
    return [file.stat().st_size for file in part.iterdir()]
