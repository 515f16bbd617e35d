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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.engines.specs import BUILT_IN, EngineSpec
from harness.errors import RunDirectoryError
from harness.files import writing
from harness.runs.directory import (
    MANIFEST,
    RunDirectory,
    create_or_resume,
    open_run,
    refuse_foreign,
    refuse_other,
)


class Place(Protocol):
    """Where a run is kept."""

    def check(self) -> None:
        """Refuse a place where nothing can be written, or that holds something else."""

    def check_identity(self, known: Mapping[str, Any], specs: Sequence[EngineSpec]) -> None:
        """Refuse a place with another run in it, by all of its identity but the engines' part."""

    def finished(self) -> bool:
        """Whether a finished run is there."""

    def open(self, identity: Mapping[str, Any], notes: Mapping[str, Any]) -> RunDirectory:
        """The run for writing; see `harness.runs.directory.create_or_resume`."""


@dataclass(frozen=True)
class LocalPlace:
    """A directory of this machine, or of one that is mounted."""

    path: Path

    def check(self) -> None:
        """See `check_place`."""
        check_place(self.path)

    def check_identity(self, known: Mapping[str, Any], specs: Sequence[EngineSpec]) -> None:
        """See `check_identity`."""
        check_identity(self.path, known, specs)

    def finished(self) -> bool:
        """Whether its manifest says so."""
        try:
            return "tables" in json.loads((self.path / MANIFEST).read_text("utf-8"))
        except (OSError, ValueError):
            return False

    def open(self, identity: Mapping[str, Any], notes: Mapping[str, Any]) -> RunDirectory:
        """The run directory, made if it is not there."""
        return create_or_resume(self.path, identity, notes)


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
    refuse_other_run(path, open_run(path).manifest, known, specs)


def refuse_other_run(
    where: Path | str,
    manifest: Mapping[str, Any],
    known: Mapping[str, Any],
    specs: Sequence[EngineSpec],
) -> None:
    """Refuse a run of another identity, as far as this is `known` before the engines start.

    Raises:
        RunDirectoryError: Saying in what the run that is there differs.
    """
    stored = manifest.get("identity", {})
    for spec in specs:
        build = stored.get("engines", {}).get(spec.name, {}).get("build", spec.build)
        if build != spec.build:
            raise RunDirectoryError(
                f"{where} was made with another build of {spec.name}: {build} there,"
                f" {spec.build} now",
                "choose another --out",
            )
    wanted = {**stored, **known, "engines": _engines(stored.get("engines", {}), specs)}
    refuse_other(where, stored, json.loads(json.dumps(wanted)))


def _engines(stored: Mapping[str, Any], specs: Sequence[EngineSpec]) -> dict[str, Any]:
    """The engines that are asked for: as they are stored, but for the versions now installed.

    Only of the engines that come with this program is it known which distributions they name.
    """
    engines = {}
    for spec in specs:
        was = stored.get(spec.name, {})
        packages = dict(was.get("packages", {}))
        if spec.version is None and spec.path is None and spec.reference in BUILT_IN.values():
            for name in packages:
                with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                    packages[name] = importlib.metadata.version(name)
        engines[spec.name] = {**was, **({"packages": packages} if packages else {})}
    return engines
