"""Replay of a published run: all losses, leaks and traps, and a sample of the other verdicts.

Verdicts are repeated in parts, by a ``maskcourt replay`` each, which shows how far it is. Parts
that are done are kept in the run's directory: what was interrupted goes on with the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
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
_BEGUN: Final = "replaying.jsonl"
"""In a run's directory while verdicts are replayed: a line for each part that is done."""
_SAMPLE: Final = 1000
"""Verdicts that are replayed, whatever they cost."""
_PART: Final = 100, 2000
"""Verdicts that one ``maskcourt replay`` repeats, at least and at most: a free lane takes the next.

Each starts the engines anew, which takes seconds."""
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
    begun = run.path / _BEGUN
    told = _told(begun, about)
    done = {name for part in told for name in part["verdicts"]}
    lanes = lanes or len(os.sched_getaffinity(0))
    with begun.open("a" if told else "w", encoding="utf-8") as file:
        file.write("" if told else json.dumps(about) + "\n")
        for part in _parts(run, [name for name in names if name not in done], lanes):
            told.append(part)
            file.write(json.dumps(part) + "\n")
            file.flush()
    differing = [row for part in told for row in part["differences"]]
    differing.sort(key=lambda row: names.index(row["verdict"]))
    found = {"replayed": len(names), "differ": len(differing), "differences": differing[:_TOLD]}
    kept.write_text(json.dumps({**about, **found}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    begun.unlink()
    return {**about, **found}


def _told(begun: Path, about: dict[str, int]) -> list[dict[str, Any]]:
    """The parts that are done, if they are of the same verdicts; a line that was torn is none."""
    lines = begun.read_text("utf-8").splitlines(keepends=True) if begun.exists() else []
    whole = [json.loads(line) for line in lines if line.endswith("\n")]
    if whole[:1] != [about]:
        return []
    begun.write_text("".join(line for line in lines if line.endswith("\n")), "utf-8")
    return whole[1:]


def _parts(run: RunDirectory, names: Sequence[str], lanes: int) -> Iterator[dict[str, Any]]:
    """What became of verdicts, in parts of neighbours: a schema is compiled but once in each."""
    running: list[subprocess.Popen[bytes]] = []

    def repeated(part: Sequence[str]) -> dict[str, Any]:
        command = [sys.executable, "-m", "harness.cli", "replay", str(run.path), *part]
        with subprocess.Popen([*command, "--trust", "--json"], stdout=subprocess.PIPE) as process:
            running.append(process)
            text, _ = process.communicate()
        if process.returncode not in (0, 1):  # 1: something differs; negative: it was killed
            raise MaskcourtError(f"the replay of {run.path} ended with {process.returncode}")
        rows: list[dict[str, Any]] = json.loads(text)["verdicts"]
        return {"verdicts": part, "differences": [row for row in rows if not row["agrees"]]}

    least, most = _PART
    size = min(max(len(names) // (10 * lanes), least), most)
    with ThreadPoolExecutor(lanes) as pool:
        parts = [names[at : at + size] for at in range(0, len(names), size)]
        asked = [pool.submit(repeated, part) for part in parts]
        try:
            for part in as_completed(asked):
                yield part.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.terminate()  # nothing where it has ended: it is interrupted in its midst
