"""Replay of a published run: all losses, leaks and traps, and a sample of the other verdicts.

Verdicts are repeated in parts, by a ``maskcourt replay`` each, which shows how far it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from harness.errors import MaskcourtError
from harness.replay.witness import verdict_name
from harness.replay.witness_reader import Choice, every, sample
from harness.runs.directory import ROW, RowNumbers, RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import COSTLY

REPLAYED: Final = "replayed.json"
"""In a run's directory: what replaying its verdicts gave."""
_SAMPLE: Final = 1000
"""Verdicts that are replayed, whatever they cost."""
_PART: Final = 2000
"""Verdicts that one ``maskcourt replay`` repeats: the next lane that is free takes the next."""
_TOLD: Final = 20
"""Differences that are told in full."""


def chosen(run: RunDirectory) -> tuple[Choice, Choice]:
    """The verdicts that cost a value and have a witness, and a sample of all that have one."""
    able, costly = every(run), {}
    for evidence, table in VERDICT_TABLES.items():
        found: list[RowNumbers] = [np.zeros(0, dtype=np.int64)]
        for batch in run.batches(table, ["effect"]):
            here = np.isin(batch.column("effect").to_pylist(), COSTLY)
            found.append(batch.column(ROW).to_numpy()[here])
        costly[evidence] = np.intersect1d(np.concatenate(found), able.of(evidence))
    return Choice(costly), sample(run, _SAMPLE, 0)


def replayed(run: RunDirectory, lanes: int | None = None) -> dict[str, Any]:
    """How many verdicts that cost a value were replayed, how many sampled ones, what differed.

    It is kept in the run's directory, and not done again unless the run has gone on since.
    """
    costly, others = chosen(run)
    about, kept = {"costly": len(costly), "sampled": len(others)}, run.path / REPLAYED
    if kept.exists():
        known: dict[str, Any] = json.loads(kept.read_text("utf-8"))
        if about.items() <= known.items():
            return known
    names = [
        verdict_name(evidence, row)
        for evidence in VERDICT_TABLES
        for row in np.union1d(costly.of(evidence), others.of(evidence)).tolist()
    ]
    rows = _rows(run, names, min(lanes or len(os.sched_getaffinity(0)), len(names)))
    differing = [row for row in rows if not row["agrees"]]
    found = {"replayed": len(rows), "differ": len(differing), "differences": differing[:_TOLD]}
    kept.write_text(json.dumps({**about, **found}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return {**about, **found}


def _rows(run: RunDirectory, names: Sequence[str], lanes: int) -> list[dict[str, Any]]:
    """What became of verdicts, in parts of neighbours: a schema is compiled but once in each."""

    def rows(part: Sequence[str]) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "harness.cli", "replay", str(run.path), *part]
        done = subprocess.run([*command, "--trust", "--json"], stdout=subprocess.PIPE, check=False)
        if done.returncode not in (0, 1):  # 1: something differs; negative: it was killed
            raise MaskcourtError(f"the replay of {run.path} ended with {done.returncode}")
        found: list[dict[str, Any]] = json.loads(done.stdout)["verdicts"]
        return found

    if not names:
        return []
    parts = np.array_split(names, max(lanes, len(names) // _PART))
    with ThreadPoolExecutor(lanes) as pool:
        return [row for some in pool.map(rows, [part.tolist() for part in parts]) for row in some]
