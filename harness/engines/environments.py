"""Environments of engine versions: ``xgrammar@0.1.32`` is installed once, cached, found again.

An engine that is not installed, and is named without a version, has an environment of the version
at which its adapter was tested.

An environment is an overlay: a virtual environment that holds the version asked for and, through
a path file, sees the packages of the environment maskcourt runs in. pip counts those as installed,
so what fits is shared (torch alone has gigabytes) and only what does not fit is installed beside
the engine. It leaves packages outside of its environment alone, as with
``--system-site-packages``. There is no fallback to a full environment because none could do more:
whatever the engine cannot share pip puts into the overlay, in front of the shared copy.

Two details make the requested version the one that is found. A host has the harness's own
directory first on its module path, which is the shared packages' directory where maskcourt was
installed as a wheel; so the overlay's packages go on `EngineSpec.paths`, before that. And the
shared directory is given as a plain path, so that its own path files stay unread: those of an
editable install can put their package in front of every directory.

A build at hand (`harness.engines.builds`) has an environment by its content: pip installs the build
itself, even where the same version is shared, then what it requires, as for a version. One that is
in an interpreter of its own stays there.

An environment is built under another name and renamed when it is complete, under a lock that pip
holds too: what a killed process leaves behind is never used, and swept when it is next wanted. One
that somebody else made, other than root, or that others can write to, is not used either.

Sources: documentation of Python's ``site`` and ``venv``; pip's treatment of packages outside of a
virtual environment and its messages as observed in 23.2.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.machinery
import importlib.metadata
import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.directories import ENVIRONMENTS, environments_directory, only_mine
from harness.engines.builds import PYTHON, TREE, Build, another, content_of, find_build
from harness.engines.installed_files import files_digest
from harness.engines.package_installer import Pin, failure, last_line, run_pip
from harness.engines.specs import EngineSpec, adapter_class
from harness.errors import UsageError

MARKER = "maskcourt.json"
"""Written last into an environment: it is complete."""

_OWN = "maskcourt"

_SHARED = "maskcourt_shared.pth"

_LOG = "pip.log"

_PROBE = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


def provide_all(specs: Sequence[EngineSpec]) -> list[EngineSpec]:
    """`provide` for each of `specs`, in their order.

    Raises:
        UsageError: As for `provide`.
    """
    return [provide(spec) for spec in specs]


def provide(spec: EngineSpec) -> EngineSpec:
    """`spec` with an interpreter and module path that have the version it asks for.

    It comes back unchanged when what is installed will do: the version that it asks for, or any
    where it asks for none. Making an environment is announced on standard error; one that is there
    is found in milliseconds.

    Raises:
        UsageError: There is no such version, versions are not supported for this engine, it is not
            installed and names no version that can be had, no package index can be reached, or the
            environment cannot be made. Of a build at hand: it is not there, is another one than
            `spec` says, or cannot be built.
    """
    if spec.path is not None:
        return _provide_build(spec, spec.path)
    wanted = _missing(spec)
    return spec if wanted is None else _inside(spec, _provided(wanted))


def _provided(wanted: _Wanted) -> Path:
    """The environment that has what is wanted, made if it is not there."""
    environment = environments_directory() / wanted.key
    try:
        if not _usable(environment, wanted):
            _make(environment, wanted)
    except OSError as error:
        raise UsageError(
            f"{wanted.engine}: its environment {environment} cannot be made: {error}",
            f"set {ENVIRONMENTS} to a directory that can be written",
        ) from error
    return environment


def _inside(spec: EngineSpec, environment: Path) -> EngineSpec:
    """`spec`, started in an environment."""
    return replace(
        spec,
        interpreter=str(_interpreter(environment)),
        paths=(str(_packages(environment)), *spec.paths),
    )


def _provide_build(spec: EngineSpec, path: str) -> EngineSpec:
    """`spec` with what has the build at hand.

    Of a build that `spec` tells from others, as that of an earlier run, the environment will do.
    """
    wanted = _Wanted.by(spec, path)
    (pin,) = wanted.pins
    kept = environments_directory() / _build_key(pin.distribution, content_of(spec.build))
    if spec.build and _usable(kept, wanted) and _marked(kept).get("build") == spec.build:
        return _inside(spec, kept)
    try:
        build = find_build(path, wanted.engine, pin.distribution)
    except UsageError as error:
        if spec.build:
            raise _gone(wanted, spec.build, error.message) from error
        raise
    found = replace(spec, build=build.identity)
    if build.kind == PYTHON:
        paths = (build.directory, *spec.paths)
        found = replace(found, interpreter=str(build.path), paths=paths)
    elif content_of(spec.build) in ("", build.digest):
        environment = _provided(replace(wanted, build=build))
        found = _inside(replace(spec, build=_marked(environment)["build"]), environment)
    if spec.build not in ("", found.build):
        raise _gone(wanted, spec.build, f"{path} is another one now")
    return found


def _gone(wanted: _Wanted, build: str, reason: str) -> UsageError:
    reason = reason.removeprefix(f"{wanted.engine}: ")
    return UsageError(
        f"{wanted.engine}: its build is not there any more: {reason} (it was {build})"
    )


def remove(spec: EngineSpec) -> Path:
    """Remove the environment that `provide` makes for `spec`; where it was.

    Raises:
        UsageError: There is none, or `spec` asks for no version that could have one.
    """
    adapter = adapter_class(spec.reference, spec.paths)
    version = spec.path or spec.version or getattr(adapter, "TESTED", None)
    if version is None and spec.packages is None:
        raise UsageError(f"engine {spec.name!r} names no version", f"{spec.name}@VERSION does")
    wanted = _Wanted.by(spec, version or "")
    if spec.path is not None:
        build = find_build(spec.path, wanted.engine, wanted.pins[0].distribution)
        wanted = replace(wanted, build=build)
    environment = environments_directory() / wanted.key
    if not environment.is_dir():
        there = ", ".join(at_hand(wanted.pins[0].distribution)) or "none"
        raise UsageError(
            f"{wanted.engine}: there is no environment of {wanted.requirement}",
            f"at hand: {there}; packages that are installed beside maskcourt are pip's to remove",
        )
    with _locked(environment):
        _remove(environment)
    return environment


def at_hand(distribution: str) -> list[str]:
    """The versions of a distribution that have an environment of their own here, ascending."""
    here = environments_directory().glob(f"{canonicalize_name(distribution)}-*-{_parent_key()}")
    found = [
        _find(distribution, [str(_packages(one))])
        for one in here
        if (one / MARKER).is_file() and "+" not in one.name
    ]
    return sorted((one.version for one in found if one), key=Version)


def builds_at_hand(distribution: str) -> list[str]:
    """The builds of a distribution that have an environment here: version, path, identity."""
    here = environments_directory().glob(_build_key(distribution, "*"))
    found = [(_find(distribution, [str(_packages(one))]), _marked(one)) for one in here]
    return sorted(
        f"{there.version} of {marked['path']} ({marked['build']})"
        for there, marked in found
        if there is not None and {"path", "build"} <= marked.keys()
    )


def is_installed(spec: EngineSpec) -> bool:
    """Whether this environment has the engine, in the version that `spec` asks for, if any.

    A build at hand is not of it: a path, of an interpreter even, is nothing that somebody else's
    run may name.

    Raises:
        UsageError: It is no version, versions are not supported for this engine, or it is not
            installed and names no version that can be had.
    """
    return spec.path is None and _missing(spec) is None


def _missing(spec: EngineSpec) -> _Wanted | None:
    """What has to be installed for `spec`; None if nothing."""
    version = spec.version
    if spec.packages is None:
        adapter = adapter_class(spec.reference, spec.paths)
        withheld = getattr(adapter, "NOT_ON_INDEX", None)
        distribution = getattr(adapter, "DISTRIBUTION", None)
        installed = not distribution or _find(distribution, sys.path)
        if installed and (withheld or version is None):
            return None
        if withheld:
            raise UsageError(f"engine {spec.name!r} is not installed", withheld)
        version = version or getattr(adapter, "TESTED", None)
        if version is None:
            raise UsageError(
                f"engine {spec.name!r}: its package {distribution} is not installed",
                f"pip install {distribution}, or name a version to have it in an environment of "
                f"its own: {spec.name}@VERSION",
            )
    wanted = _Wanted.by(spec, version or "")
    return None if wanted.is_in(None) else wanted


@dataclass(frozen=True)
class _Wanted:
    """What an engine asks for, one distribution or several, and how to speak of the engine."""

    engine: str
    pins: tuple[Pin, ...]
    build: Build | None = None

    @classmethod
    def by(cls, spec: EngineSpec, version: str) -> _Wanted:
        """The packages of a preset, else this version, or a build, of what the adapter names."""
        engine = f"engine {spec.name!r}"
        if spec.packages is not None:
            pins = (one.partition("==")[::2] for one in spec.packages)
            return cls(engine, tuple(Pin(name, Version(text)) for name, text in pins))
        adapter = adapter_class(spec.reference, spec.paths)
        distribution = getattr(adapter, "DISTRIBUTION", None)
        if not distribution or canonicalize_name(distribution) == _OWN:
            raise UsageError(
                f"{engine}: versions are not supported for it: its adapter names no distribution "
                "of its own",
                f"leave out @{version}, or set DISTRIBUTION in the adapter",
            )
        try:
            there = None if spec.path is not None else Version(version)
            return cls(engine, (Pin(distribution, there),))
        except InvalidVersion as error:
            a_path = version.endswith(".whl")
            raise UsageError(
                f"{engine}: {version!r} is not a version",
                f"a path has a slash: @./{version}" if a_path else "for example: @0.1.32",
            ) from error

    def __str__(self) -> str:
        if self.build is not None:
            return f"{self.requirement} of {self.build.path}"
        return " and ".join(f"{one.distribution} {one.version}" for one in self.pins)

    @property
    def requirement(self) -> str:
        return " ".join(one.requirement for one in self.pins)

    @property
    def key(self) -> str:
        """The environment's directory: one per version, Python, and environment shared with."""
        if self.build is not None:
            return _build_key(self.pins[0].distribution, self.build.digest)
        return f"{'+'.join(one.name for one in self.pins)}-{_parent_key()}"

    def is_in(self, paths: Sequence[str] | None) -> bool:
        """Whether these versions are what `paths` have, None for this process's own."""
        found = [_find(one.distribution, sys.path if paths is None else paths) for one in self.pins]
        return all(
            there is not None and one.is_met_by(there.version)
            for one, there in zip(self.pins, found, strict=True)
        )

    def is_inside(self, environment: Path) -> bool:
        """Whether an environment has them; one of several may be the shared one."""
        shared = _shared_packages() if len(self.pins) > 1 else ()
        return self.is_in([str(_packages(environment)), *shared])


def _build_key(distribution: str, digest: str) -> str:
    """The directory of a build's environment: one per content."""
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


def _interpreter(environment: Path) -> Path:
    return environment / "bin" / "python"


def _packages(environment: Path) -> Path:
    base = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", "venv", base))


def _usable(environment: Path, wanted: _Wanted) -> bool:
    """Whether it is there, complete, nobody else's, and still fits the packages it shares."""
    try:
        if not only_mine(environment.stat(), root_too=True):
            return False
    except OSError:
        return False
    known = _marked(environment).get("unmet")
    return (
        known is not None
        and os.access(_interpreter(environment), os.X_OK)
        and wanted.is_inside(environment)
        and not _unmet(wanted, environment) - set(known)
    )


def _marked(environment: Path) -> dict[str, Any]:
    """What the marker of an environment says; nothing where it has none."""
    try:
        found = json.loads((environment / MARKER).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _unmet(wanted: _Wanted, environment: Path) -> set[str]:
    """What the engine requires, itself or through others, and does not find from inside."""
    paths = [str(_packages(environment)), *_shared_packages()]
    unmet: set[str] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    todo: list[tuple[str, frozenset[str]]] = [
        (one.distribution, frozenset()) for one in wanted.pins
    ]
    while todo:
        name, extras = todo.pop()
        found = _find(name, paths)
        if found is None or (name, extras) in seen:
            continue
        seen.add((name, extras))
        for required in _requirements(found, extras):
            there = _find(required.name, paths)
            if there and required.specifier.contains(there.version, prereleases=True):
                todo.append((canonicalize_name(required.name), frozenset(required.extras)))
            else:
                unmet.add(str(required))
    return unmet


def _requirements(
    distribution: importlib.metadata.Distribution, extras: frozenset[str]
) -> Iterator[Requirement]:
    """What `distribution` requires here; lines that cannot be read require nothing."""
    for line in distribution.requires or ():
        with contextlib.suppress(InvalidRequirement):
            required = Requirement(line)
            marker = required.marker
            if marker is None or any(marker.evaluate({"extra": one}) for one in ["", *extras]):
                yield required


def _find(name: str, paths: Sequence[str]) -> importlib.metadata.Distribution | None:
    found = importlib.metadata.distributions(name=name, path=list(paths))
    return next(iter(found), None)


def _make(environment: Path, wanted: _Wanted) -> None:
    """Install what is wanted, or wait for another process that does."""
    environment.parent.mkdir(parents=True, exist_ok=True)
    with _locked(environment) as lock:
        if _usable(environment, wanted):
            return
        _say(f"installing {wanted} into {environment}, once")
        building = environment.with_name(f"{environment.name}.building")
        _remove(building)
        before = os.umask(0o077)
        os.umask(before | 0o022)  # for pip too: what others can write to is not used
        try:
            _build(building, wanted, lock)
            _remove(environment)
            building.rename(environment)
        finally:
            os.umask(before)
            _remove(building)


@contextlib.contextmanager
def _locked(environment: Path) -> Iterator[int]:
    """The right to change an environment; gives the descriptor through which it is held."""
    with environment.with_name(f"{environment.name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"waiting for another process that installs {environment.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _remove(environment: Path) -> None:
    # Without its marker, what an interrupted removal leaves is no environment.
    (environment / MARKER).unlink(missing_ok=True)
    if environment.exists():
        shutil.rmtree(environment)


def _build(environment: Path, wanted: _Wanted, lock: int) -> None:
    shared = _shared_packages()
    # Environments that were made without pip are shared too; then the overlay brings its own.
    has_pip = importlib.machinery.PathFinder.find_spec("pip", list(shared)) is not None
    try:
        venv.EnvBuilder(with_pip=not has_pip, symlinks=True).create(environment)
    except subprocess.CalledProcessError as error:
        raise UsageError(
            f"{wanted.engine}: pip cannot be had to install {wanted.requirement}",
            f"install pip for {sys.executable}",
        ) from error
    packages = _packages(environment)
    (packages / _SHARED).write_text("".join(f"{path}\n" for path in shared), "utf-8")
    marker: dict[str, Any] = {}
    if wanted.build is not None:
        wanted, marker = _with_build(environment, wanted, wanted.build, lock)
    if not marker or _unmet(wanted, environment):
        _install(environment, wanted, lock)
    for one in wanted.pins:
        inside = _version_inside(environment, one.distribution)
        if not (one.is_met_by(inside) and wanted.is_inside(environment)):
            raise UsageError(
                f"{wanted.engine}: pip installed {one.requirement}, but {environment} has "
                f"{inside or 'none'}",
                "does pip.conf make pip install to somewhere else?",
            )
    marker["unmet"] = sorted(_unmet(wanted, environment))
    (environment / MARKER).write_text(json.dumps(marker), "utf-8")


def _with_build(
    environment: Path, wanted: _Wanted, build: Build, lock: int
) -> tuple[_Wanted, dict[str, Any]]:
    """Install a build alone; the version to have of it, and what is to be remembered of it."""
    asked = ["--no-deps", "--ignore-installed", str(build.path)]
    if printed := run_pip(_interpreter(environment), asked, lock):
        raise UsageError(f"{wanted.engine}: {build.path} cannot be installed: {last_line(printed)}")
    (pin,) = wanted.pins
    packages = [str(_packages(environment))]
    found = _find(pin.distribution, packages)
    if found is None:
        names = {one.name for one in importlib.metadata.distributions(path=packages)}
        others = ", ".join(sorted(names - {"pip", "setuptools"})) or "nothing"
        raise another(wanted.engine, build.path, others, pin.distribution)
    identity = build.identity
    if build.kind == TREE:  # the same sources may be built otherwise
        identity += f", built sha256:{files_digest(found)}"
    exactly = replace(wanted, pins=(Pin(pin.distribution, Version(found.version)),))
    return exactly, {"build": identity, "path": str(build.path)}


def _install(environment: Path, wanted: _Wanted, lock: int) -> None:
    log = environment / _LOG
    asked = [one.requirement for one in wanted.pins]
    if printed := run_pip(_interpreter(environment), asked, lock, log):
        record = log.read_text("utf-8", "replace") if log.exists() else ""
        raise failure(wanted.engine, wanted.pins, printed, record)


def _version_inside(environment: Path, distribution: str) -> str:
    """The version that a host finds; empty when it finds none or does not start."""
    done = subprocess.run(
        [str(_interpreter(environment)), "-P", "-c", _PROBE, distribution],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_packages(environment))},
        check=False,
    )
    return done.stdout.strip()


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
