"""Environments of engine versions: ``xgrammar@0.1.32`` is installed once, cached, found again.

An environment is a virtual environment that, through a path file, sees the packages beside
maskcourt: what fits is shared (torch alone has gigabytes), only what does not fit is installed, in
front of the shared copy. Packages are installed without what they require, which is looked for
here: pip would count the shared copies. The shared directory is a plain path, so that path files in
it stay unread: those of an editable install can put their package in front of every directory.

It is built under another name, under a lock that the installer holds too, and renamed when it is
complete. What a killed process leaves is never used, nor what others than this user and root made
or can write to. Sources: Python's ``site`` and ``venv``; the messages of pip 26.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, canonicalize_version
from packaging.version import InvalidVersion, Version

from harness.console import tell
from harness.directories import ENVIRONMENTS, environments_directory, only_mine
from harness.engines.builds import PYTHON, TREE, Build, content_of, files_digest, find_build
from harness.engines.specs import EngineSpec, adapter_class, known_engines
from harness.errors import UsageError

MARKER = "maskcourt.json"
"""Written last into an environment: it is complete."""


def provide_all(specs: Sequence[EngineSpec]) -> list[EngineSpec]:
    return [provide(spec) for spec in specs]


def provide(spec: EngineSpec) -> EngineSpec:
    """`spec` with an interpreter and module path that have the version, or build, it asks for.

    It comes back unchanged when what is installed will do: any version where it asks for none.
    Where nothing is, that is the version at which the adapter was tested.

    Raises:
        UsageError: What it asks for cannot be had, or a build is another one than `spec` says.
    """
    if spec.path is not None:
        return _provide_build(spec, spec.path)
    wanted = _missing(spec)
    return spec if wanted is None else _made(wanted).of(spec)


def _provide_build(spec: EngineSpec, path: str) -> EngineSpec:
    """Of a build that `spec` tells from others, as of an earlier run, the environment will do."""
    wanted = _Wanted.by(spec, path)
    kept = _Environment.named(_build_key(wanted.name, content_of(spec.build)))
    if spec.build and kept.usable(wanted) and kept.marked().get("build") == spec.build:
        return kept.of(spec)
    try:
        build = find_build(path, wanted.engine, wanted.name)
        if build.kind == PYTHON:
            paths = (build.directory, *spec.paths)
            asked = replace(spec, interpreter=str(build.path), paths=paths, build=build.identity)
        elif content_of(spec.build) in ("", build.digest):
            environment = _made(replace(wanted, build=build))
            asked = environment.of(replace(spec, build=environment.marked()["build"]))
        else:
            asked = replace(spec, build=build.identity)
        if spec.build not in ("", asked.build):
            raise UsageError(f"{path} is another one now")
    except UsageError as error:
        if not spec.build:
            raise
        cause = error.message.removeprefix(f"{wanted.engine}: ")
        raise UsageError(
            f"{wanted.engine}: its build is not there any more: {cause} (it was {spec.build})"
        ) from error
    return asked


def at_hand(distribution: str) -> list[str]:
    """The versions of a distribution that have an environment of their own here, ascending."""
    pattern, versions = f"{canonicalize_name(distribution)}-*-{_parent_key()}", []
    for environment in map(_Environment, environments_directory().glob(pattern)):
        found = _find(distribution, environment.own)
        if found is not None and environment.marked() and "+" not in environment.path.name:
            versions.append(found.version)
    return sorted(versions, key=Version)


def listed_engines() -> dict[str, dict[str, Any]]:
    """Per engine: its adapter, the versions installed, tested and at hand, its options."""
    listed: dict[str, dict[str, Any]] = {}
    for name, reference in known_engines().items():
        row = listed[name] = {"adapter": reference, "at_hand": []}
        row |= {"distribution": None, "installed": None, "tested": None, "options": {}}
        try:
            adapter = adapter_class(reference)
        except UsageError as problem:  # a broken plug-in must not hide the other engines
            row["problem"] = str(problem)
            continue
        row["tested"] = getattr(adapter, "TESTED", None)
        if distribution := getattr(adapter, "DISTRIBUTION", None):  # some have none
            row |= {"distribution": distribution, "at_hand": at_hand(distribution)}
            found = _find(distribution, sys.path)
            row["installed"] = found and found.version
        row["options"] = {
            key: {"default": one.default, "choices": one.choices, "help": one.help}
            for key, one in adapter.OPTIONS.items()
        }
    return listed


def is_at_hand(spec: EngineSpec) -> bool:
    """Whether `provide` installs nothing for `spec`, as for no local build; raises as `provide`."""
    if spec.path is not None:
        return False  # a path is nothing that somebody else's run may name
    wanted = _missing(spec)
    return wanted is None or _Environment.named(wanted.key).usable(wanted)


def _missing(spec: EngineSpec) -> _Wanted | None:
    """What has to be installed for `spec`; None if nothing."""
    version = spec.version
    if spec.packages is None:
        adapter = adapter_class(spec.reference, spec.paths)
        distribution = getattr(adapter, "DISTRIBUTION", None)
        if version is None and (not distribution or _find(distribution, sys.path)):
            return None
        version = version or getattr(adapter, "TESTED", None)
        if version is None:
            raise UsageError(
                f"engine {spec.name!r}: its package {distribution} is not installed",
                f"pip install {distribution}, or name a version to have it in an environment of "
                f"its own: {spec.name}@VERSION",
            )
    wanted = _Wanted.by(spec, version or "")
    return None if wanted.is_in(sys.path) else wanted


@dataclass(frozen=True)
class _Wanted:
    """What an engine asks for, one distribution or several, and how to speak of the engine."""

    engine: str
    pins: tuple[Requirement, ...]  # with one version each, that of a build with none
    build: Build | None = None

    @classmethod
    def by(cls, spec: EngineSpec, version: str) -> _Wanted:
        """The packages of a preset, else this version, or a build, of what the adapter names."""
        engine = f"engine {spec.name!r}"
        if spec.packages is not None:
            return cls(engine, tuple(map(Requirement, spec.packages)))
        adapter = adapter_class(spec.reference, spec.paths)
        distribution = getattr(adapter, "DISTRIBUTION", None)
        if not distribution or canonicalize_name(distribution) == "maskcourt":
            raise UsageError(
                f"{engine}: versions are not supported for it: its adapter names no distribution "
                "of its own",
                f"leave out @{version}, or set DISTRIBUTION in the adapter",
            )
        try:
            exactly = "" if spec.path is not None else f"=={Version(version)}"
        except InvalidVersion as error:
            a_path = version.endswith(".whl")
            raise UsageError(
                f"{engine}: {version!r} is not a version",
                f"a path has a slash: @./{version}" if a_path else "for example: @0.1.32",
            ) from error
        return cls(engine, (Requirement(distribution + exactly),))

    def __str__(self) -> str:
        if self.build is not None:
            return f"{self.name} of {self.build.path}"
        return " and ".join(str(one).replace("==", " ") for one in self.pins)

    @property
    def name(self) -> str:
        return self.pins[0].name

    @property
    def key(self) -> str:
        """The environment's directory: one per version, Python, and environment shared with."""
        if self.build is not None:
            return _build_key(self.name, self.build.digest)
        versions = [
            f"{canonicalize_name(one.name)}-{canonicalize_version(str(one.specifier)[2:])}"
            for one in self.pins
        ]
        return f"{'+'.join(versions)}-{_parent_key()}"

    def is_in(self, paths: Sequence[str]) -> bool:
        return all(_is_met(one, _find(one.name, paths)) for one in self.pins)


@dataclass(frozen=True)
class _Environment:
    path: Path

    @classmethod
    def named(cls, key: str) -> _Environment:
        return cls(environments_directory() / key)

    @property
    def interpreter(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def own(self) -> list[str]:
        base = {"base": str(self.path), "platbase": str(self.path)}
        return [sysconfig.get_path("purelib", "venv", base)]

    def of(self, spec: EngineSpec) -> EngineSpec:
        return replace(spec, interpreter=str(self.interpreter), paths=(*self.own, *spec.paths))

    def marked(self) -> dict[str, Any]:
        """The content of its marker; nothing where it has none."""
        try:
            marked = json.loads((self.path / MARKER).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return marked if isinstance(marked, dict) else {}

    def usable(self, wanted: _Wanted) -> bool:
        """Whether it is there, complete, nobody else's, and still fits the packages it shares."""
        try:
            known = self.marked()["unmet"]
            mine = only_mine(self.path.stat(), root_too=True)
        except (OSError, KeyError):
            return False
        there = mine and os.access(self.interpreter, os.X_OK) and self.has(wanted)
        return there and not self.required(wanted)[0] - set(known)

    def has(self, wanted: _Wanted) -> bool:
        """Whether it has the versions; one of several may be the shared one."""
        return wanted.is_in([*self.own, *(_shared_packages() if len(wanted.pins) > 1 else ())])

    def required(self, wanted: _Wanted) -> tuple[set[str], list[str]]:
        """What the engine requires, itself or through others, and does not find from inside.

        As it is required, and as what to install: all that anything requires of such packages.
        """
        paths = [*self.own, *_shared_packages()]
        required: dict[str, list[Requirement]] = {}
        unmet: dict[str, str] = {}
        seen: set[tuple[str, frozenset[str]]] = set()
        todo = [(one.name, frozenset[str]()) for one in wanted.pins]
        while todo:
            name, extras = todo.pop()
            found = _find(name, paths)
            if found is None or (name, extras) in seen:
                continue
            seen.add((name, extras))
            for one in _requirements(found, extras):
                key = canonicalize_name(one.name)
                required.setdefault(key, []).append(one)
                if _is_met(one, _find(one.name, paths)):
                    todo.append((key, frozenset(one.extras)))
                else:
                    unmet[str(one)] = key
        wanted_too = (str(one) for key in sorted(set(unmet.values())) for one in required[key])
        return set(unmet), list(dict.fromkeys(wanted_too))


def _requirements(
    distribution: importlib.metadata.Distribution, extras: frozenset[str]
) -> Iterator[Requirement]:
    """What `distribution` requires here; lines that cannot be read require nothing."""
    for line in distribution.requires or ():
        with contextlib.suppress(InvalidRequirement):
            required = Requirement(line)
            marker, required.marker = required.marker, None
            if marker is None or any(marker.evaluate({"extra": one}) for one in ["", *extras]):
                yield required


def _find(name: str, paths: Sequence[str]) -> importlib.metadata.Distribution | None:
    return next(iter(importlib.metadata.distributions(name=name, path=list(paths))), None)


def _is_met(required: Requirement, found: importlib.metadata.Distribution | None) -> bool:
    """Whether what was found would be taken for it: 2.8 is 2.8.0, and any local build."""
    with contextlib.suppress(InvalidVersion):
        if found is not None and found.version:
            return required.specifier.contains(found.version, prereleases=True)
    return False


def _build_key(distribution: str, digest: str) -> str:
    return f"build-{canonicalize_name(distribution)}-{digest[:16]}-{_parent_key()}"


def _parent_key() -> str:
    parent = [*_shared_packages(), sys.base_prefix, sysconfig.get_platform()]
    parent.append(str(sysconfig.get_config_var("SOABI")))
    digest = hashlib.sha256("\n".join(parent).encode()).hexdigest()[:8]
    return f"python{sys.version_info.major}.{sys.version_info.minor}-{digest}"


def _shared_packages() -> tuple[str, ...]:
    """The directories of installed packages of the environment that this process runs in."""
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return tuple(path for path in [*site.getsitepackages(), *user] if Path(path).is_dir())


def _made(wanted: _Wanted) -> _Environment:
    """The environment that has what is wanted, made if no other process is making it."""
    environment = _Environment.named(wanted.key)
    path = environment.path
    try:
        if environment.usable(wanted):
            return environment
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path) as lock:
            if environment.usable(wanted):
                return environment
            tell(f"installing {wanted} into {path}, once")
            building = path.with_name(f"{path.name}.building")
            _remove(building)
            before = os.umask(0o077)
            os.umask(before | 0o022)  # for pip too: what others can write to is not used
            try:
                _build(_Environment(building), wanted, lock)
                _remove(path)
                building.rename(path)
            finally:
                os.umask(before)
                _remove(building)
    except OSError as error:
        raise UsageError(
            f"{wanted.engine}: its environment {path} cannot be made: {error}",
            f"set {ENVIRONMENTS} to a directory that can be written",
        ) from error
    return environment


@contextlib.contextmanager
def _locked(environment: Path) -> Iterator[int]:
    """The right to change an environment; gives the descriptor through which it is held."""
    with environment.with_name(f"{environment.name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another process that installs {environment.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _remove(environment: Path) -> None:
    # Without its marker, what an interrupted removal leaves is no environment.
    (environment / MARKER).unlink(missing_ok=True)
    if environment.exists():
        shutil.rmtree(environment)


def _build(environment: _Environment, wanted: _Wanted, lock: int) -> None:
    venv.EnvBuilder(symlinks=True).create(environment.path)
    shared = "".join(f"{path}\n" for path in _shared_packages())
    Path(*environment.own, "maskcourt_shared.pth").write_text(shared, "utf-8")
    pip = partial(_pip, environment.interpreter, lock=lock)
    marker: dict[str, Any] = {}
    asked = [str(one) for one in wanted.pins]
    if (build := wanted.build) is not None:
        if (done := pip(str(build.path))).returncode:
            message = f"{build.path} cannot be installed: {_reason(done.stderr)}"
            raise UsageError(f"{wanted.engine}: {message}")
        found = _find(wanted.name, environment.own)
        if found is None:
            names = {one.name for one in importlib.metadata.distributions(path=environment.own)}
            message = f"{build.path} is a build of {', '.join(sorted(names))}"
            raise UsageError(f"{wanted.engine}: {message}", f"its adapter drives {wanted.name}")
        # the same sources may be built otherwise
        made = f", built sha256:{files_digest(found)}" if build.kind == TREE else ""
        marker = {"build": build.identity + made, "path": str(build.path)}
        wanted = replace(wanted, pins=(Requirement(f"{wanted.name}=={found.version}"),))
        asked = environment.required(wanted)[1]
    before: list[str] = []
    while asked and asked != before:  # the same a second time: it cannot be met
        if (done := pip(*asked)).returncode:
            fetched = "connection broken by" not in done.stderr
            what = _reason(done.stderr) if fetched else "no package index can be reached"
            raise UsageError(
                f"{wanted.engine}: {wanted} cannot be installed: {what}",
                None if fetched else "check the network and the settings of pip",
            )
        before, asked = asked, environment.required(wanted)[1]
    if not environment.has(wanted):
        raise UsageError(f"{wanted.engine}: {wanted} was installed, and is not there")
    marker["unmet"] = sorted(environment.required(wanted)[0])
    (environment.path / MARKER).write_text(json.dumps(marker), "utf-8")


def _pip(interpreter: Path, *asked: str, lock: int) -> subprocess.CompletedProcess[str]:
    """Have `pip` install packages there, without what they require, from where it is told to."""
    quiet = ("--disable-pip-version-check", "--no-input", "--no-color", "--no-warn-script-location")
    how = ("install", "--no-deps", "--force-reinstall", *quiet)
    return subprocess.run(
        [sys.executable, "-m", "pip", f"--python={interpreter}", *how, *asked],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        # it outlives a killed parent: until it has ended, nobody else may build here
        pass_fds=(lock,),
        check=False,
    )


def _reason(printed: str) -> str:
    """The last error, in one line, and where building failed the last line of that."""
    errors = re.findall(r"^ERROR: (.+)", printed, flags=re.MULTILINE)
    built = re.findall(r"(.+)\n *\[end of output\]", printed)
    return ": ".join(" ".join(one.split()) for one in [*errors[-1:], *built[-1:]])[:300]
