"""Refuse a place for a run before engines are started, as far as it is known by then.

The store decides when it is opened for writing, after the engines have said what they are. That may
take minutes, so what can be said before is said before, in the store's own words.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.engines.specs import EngineSpec, built_in
from harness.errors import RunDirectoryError
from harness.files import writing
from harness.runs.directory import MANIFEST, open_run, refuse_foreign, refuse_other


def check_place(path: Path) -> None:
    """Refuse a path that is something else, or where nothing can be written.

    Raises:
        RunDirectoryError: Saying why.
    """
    with writing(path):
        refuse_foreign(path)
        there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise RunDirectoryError(
            f"{path} cannot be written: Not a directory", "choose another --out"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        message = f"{path} cannot be written: {there} gives no permission to"
        raise RunDirectoryError(message, "choose another --out")


def refuse_other_run(path: Path, known: Mapping[str, Any], specs: Sequence[EngineSpec]) -> None:
    """Refuse a directory with another run in it, by all of its identity but the engines' part.

    Raises:
        RunDirectoryError: Saying in what the run that is there differs.
    """
    if not (path / MANIFEST).exists():
        return
    stored = open_run(path).manifest.get("identity", {})
    for spec in specs:
        build = stored.get("engines", {}).get(spec.name, {}).get("build", spec.build)
        if build != spec.build:
            raise RunDirectoryError(
                f"{path} was made with another build of {spec.name}: {build} there,"
                f" {spec.build} now",
                "choose another --out",
            )
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
        if spec.version is None and spec.path is None and spec.reference in built_in().values():
            for name in packages:
                with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                    packages[name] = importlib.metadata.version(name)
        engines[spec.name] = {**was, **({"packages": packages} if packages else {})}
    return engines
