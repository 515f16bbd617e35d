"""What a run was made with, opened again: its vocabulary, its engines, its limits.

A run from elsewhere can name any module, package or file. Unless the run is trusted
(`RunDirectory.trusted`), nothing is imported for it, installed, opened or fetched but what this
program comes with: the vocabularies that have a name, none of which is fetched here, and the
built-in engines in versions that are at hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.engines.environments import is_at_hand, provide, provide_all
from harness.engines.panel import Limits
from harness.engines.presets import servers
from harness.engines.specs import (
    EngineSpec,
    built_in,
    known_engines,
    parse_spec,
    parse_specs,
    read_spec,
)
from harness.errors import MaskcourtError, RunDirectoryError, UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_names import EMBEDDED, vocabulary_names
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.runs.directory import MANIFEST, RunDirectory, open_run, refuse_other


class UntrustedError(UsageError):
    """A run asks for what only a trusted run is given."""

    def __init__(self, run: RunDirectory, what: str) -> None:
        super().__init__(f"{run.path} {what}", "if you trust who made the run, allow it: --trust")


def vocabulary_of(run: RunDirectory) -> Vocabulary:
    """The vocabulary that a run was made with.

    Raises:
        UntrustedError: It has no name of its own, and the run is not trusted.
        UsageError: What has its name now is another one.
        InputError: It cannot be read.
        RunDirectoryError: The manifest names none.
    """
    stored = run.manifest["identity"].get("vocabulary", {})
    if "spec" not in stored or "sha256" not in stored:
        raise RunDirectoryError(f"the manifest of {run.path} names no vocabulary")
    spec = stored["spec"]
    if not run.trusted and spec not in vocabulary_names():
        raise UntrustedError(
            run, f"would have the vocabulary {spec!r} opened, or fetched from a hub"
        )
    vocabulary = open_vocabulary(spec, stored.get("eos"))
    if vocabulary.sha256 != stored["sha256"]:
        raise UsageError(f"the vocabulary {spec!r} is not the one that {run.path} was made with")
    return vocabulary


def vocabulary_at_hand(run: RunDirectory) -> Vocabulary | None:
    """The same where it is at hand and still what it was; None if a hub would be asked for it."""
    stored = run.manifest["identity"].get("vocabulary", {})
    try:
        if stored["spec"] not in vocabulary_names() and not Path(stored["spec"]).exists():
            return None
        return vocabulary_of(run)
    except (KeyError, ValueError, OSError, MaskcourtError):
        return None


def engines_of(run: RunDirectory) -> list[EngineSpec]:
    """The engines that a run was made with, in its order, ready to be started.

    Raises:
        UntrustedError: The run is not trusted, and one is not built-in or at hand in its version.
        UsageError: There is no such engine or version, or a build at hand is not there any more.
    """
    names = list(run.manifest["identity"]["engines"])
    if not run.trusted:
        for name in names:
            _refuse_foreign(run, name)
    specs = parse_specs(names)
    if [spec.name for spec in specs] != names:
        raise RunDirectoryError(f"the manifest of {run.path} names its engines in no usual way")
    return provide_all([_as_built(run, spec, spec.name) for spec in specs])


def engine_of(run: RunDirectory, engine: str, version: str) -> EngineSpec:
    """One engine of a run, ready to be started in the `version` that it had there.

    Raises:
        UntrustedError: As for `engines_of`.
        UsageError: There is no such version, or a build at hand is not there any more.
    """
    name, read = engine, read_spec(engine)
    if read.version is None and read.name in built_in():
        engine = f"{read.name}@{version}{read.rest}"
    if not run.trusted:
        _refuse_foreign(run, engine)
    return provide(_as_built(run, parse_spec(engine), name))


def _as_built(run: RunDirectory, spec: EngineSpec, name: str) -> EngineSpec:
    """`spec`, asking for the build at hand that the run's engine `name` was, if it was one."""
    build = run.manifest["identity"]["engines"][name].get("build") or ""
    return replace(spec, build=build) if spec.path else spec


def asks_for_trust(run: RunDirectory) -> bool:
    """Whether only a trusted run is given what this one was made with."""
    identity = run.manifest["identity"]
    spec = identity.get("vocabulary", {}).get("spec", EMBEDDED)
    engines = map(read_spec, identity["engines"])
    return spec not in vocabulary_names() or any(
        engine.name not in built_in() or engine.version is not None for engine in engines
    )


def same_run(
    path: Path, known: Mapping[str, Any], specs: Sequence[EngineSpec]
) -> RunDirectory | None:
    """The run that is at `path` already, None without any; RunDirectoryError where it differs.

    Engines are not started yet: what they say that they are is not `known`.
    """
    if not (path / MANIFEST).exists():
        return None
    run = open_run(path)
    stored = run.manifest.get("identity", {})
    engines = {spec.name: stored.get("engines", {}).get(spec.name, {}) for spec in specs}
    refuse_other(path, stored, json.loads(json.dumps({**stored, **known, "engines": engines})))
    return run


def limits_of(run: RunDirectory) -> Limits:
    """What one request to an engine might cost in a run; RunDirectoryError where none is named."""
    try:
        return Limits(**run.manifest["identity"]["limits"])
    except (KeyError, TypeError) as error:
        raise RunDirectoryError(f"the manifest of {run.path} names no limits of engines") from error


def _refuse_foreign(run: RunDirectory, text: str) -> None:
    """Refuse what an untrusted run may not have started, before anything of it is looked at."""
    name = read_spec(text).name
    if name not in built_in() and name not in servers():
        module = known_engines().get(name, name).partition(":")[0]
        raise UntrustedError(run, f"would have the module {module!r} imported, for {text!r}")
    if not is_at_hand(parse_spec(text)):
        raise UntrustedError(run, f"would have the engine {text!r} installed, in that version")
