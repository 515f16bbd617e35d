"""Refuse a place for a run before engines are started, as far as it is known by then.

The store itself decides when it is opened for writing; that is after the engines have said what
they are. Loading a vocabulary, installing versions and starting engines may take minutes, so what
can be told before is told before, in the store's own words.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import RunDirectoryError
from harness.processes.engines import BUILT_IN, EngineSpec
from harness.runs.store import MANIFEST, open_run, refuse_foreign, refuse_other, writing


def check_place(path: Path) -> None:
    """Refuse a path that is something else, or where nothing can be written.

    Raises:
        RunDirectoryError: Saying why.
    """
    with writing(path):
        refuse_foreign(path)
        there = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not there.is_dir():
        raise RunDirectoryError(
            f"{path} cannot be written: Not a directory", "choose another --out"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        message = f"{path} cannot be written: {there} gives no permission to"
        raise RunDirectoryError(message, "choose another --out")


def check_identity(path: Path, known: Mapping[str, Any], specs: Sequence[EngineSpec]) -> None:
    """Refuse a directory with another run in it.

    Args:
        path: The directory.
        known: What is known of the run's identity, all but its engines.
        specs: The engines.

    Raises:
        RunDirectoryError: Saying in what the run that is there differs.
    """
    if not (path / MANIFEST).exists():
        return
    stored = open_run(path).manifest.get("identity", {})
    wanted = {**stored, **known, "engines": _engines(stored.get("engines", {}), specs)}
    refuse_other(path, stored, json.loads(json.dumps(wanted)))


def _engines(stored: Mapping[str, Any], specs: Sequence[EngineSpec]) -> dict[str, Any]:
    """The engines that are asked for: as they are stored, but for the versions now installed.

    Only of the engines that come with this program is it known which distributions they name.
    """
    engines = {}
    for spec in specs:
        was = stored.get(spec.name, {})
        packages = dict(was.get("packages", {}))
        if spec.version is None and spec.reference in BUILT_IN.values():
            for name in packages:
                with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                    packages[name] = importlib.metadata.version(name)
        engines[spec.name] = {**was, **({"packages": packages} if packages else {})}
    return engines
