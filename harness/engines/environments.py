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
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, canonicalize_version
from packaging.version import InvalidVersion, Version

from harness.directories import ENVIRONMENTS, environments_directory, only_mine
from harness.engines.specs import EngineSpec, adapter_class
from harness.errors import UsageError

MARKER = "maskcourt.json"
"""Written last into an environment: it is complete."""

_OWN = "maskcourt"

_SHARED = "maskcourt_shared.pth"

_PIP = (
    *("-I", "-m", "pip", "install", "--no-input", "--no-color", "--no-user", "--prefer-binary"),
    *("--disable-pip-version-check", "--progress-bar=off"),
)

_ELSEWHERE = ("PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PIP_USER")
"""Settings of pip that would install to somewhere else."""

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
            environment cannot be made.
    """
    wanted = _missing(spec)
    if wanted is None:
        return spec
    environment = environments_directory() / wanted.key
    try:
        if not _usable(environment, wanted):
            _make(environment, wanted)
    except OSError as error:
        raise UsageError(
            f"{wanted.engine}: its environment {environment} cannot be made: {error}",
            f"set {ENVIRONMENTS} to a directory that can be written",
        ) from error
    return replace(
        spec,
        interpreter=str(_interpreter(environment)),
        paths=(str(_packages(environment)), *spec.paths),
    )


def remove(spec: EngineSpec) -> Path:
    """Remove the environment that `provide` makes for `spec`; where it was.

    Raises:
        UsageError: There is none, or `spec` asks for no version that could have one.
    """
    adapter = adapter_class(spec.reference, spec.paths)
    version = spec.version or getattr(adapter, "TESTED", None)
    if version is None and spec.packages is None:
        raise UsageError(f"engine {spec.name!r} names no version", f"{spec.name}@VERSION does")
    wanted = _Wanted.by(spec, version or "")
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


def is_installed(spec: EngineSpec) -> bool:
    """Whether this environment has the engine, in the version that `spec` asks for, if any.

    Raises:
        UsageError: It is no version, versions are not supported for this engine, or it is not
            installed and names no version that can be had.
    """
    return _missing(spec) is None


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
class _Pin:
    """A version of a distribution."""

    distribution: str
    version: Version

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"

    @property
    def name(self) -> str:
        return f"{canonicalize_name(self.distribution)}-{canonicalize_version(self.version)}"

    def is_met_by(self, version: str | None) -> bool:
        """Whether pip would take `version` for this one: 2.8 is 2.8.0, and any local build."""
        exactly = SpecifierSet(f"=={self.version}")
        with contextlib.suppress(InvalidVersion):
            return bool(version) and exactly.contains(str(version), prereleases=True)
        return False


@dataclass(frozen=True)
class _Wanted:
    """What an engine asks for, one distribution or several, and how to speak of the engine."""

    engine: str
    pins: tuple[_Pin, ...]

    @classmethod
    def by(cls, spec: EngineSpec, version: str) -> _Wanted:
        """The packages of a preset, else this version of what the adapter names."""
        engine = f"engine {spec.name!r}"
        if spec.packages is not None:
            pins = (one.partition("==")[::2] for one in spec.packages)
            return cls(engine, tuple(_Pin(name, Version(text)) for name, text in pins))
        adapter = adapter_class(spec.reference, spec.paths)
        distribution = getattr(adapter, "DISTRIBUTION", None)
        if not distribution or canonicalize_name(distribution) == _OWN:
            raise UsageError(
                f"{engine}: versions are not supported for it: its adapter names no distribution "
                "of its own",
                f"leave out @{version}, or set DISTRIBUTION in the adapter",
            )
        try:
            return cls(engine, (_Pin(distribution, Version(version)),))
        except InvalidVersion as error:
            raise UsageError(
                f"{engine}: {version!r} is not a version", "for example: @0.1.32"
            ) from error

    def __str__(self) -> str:
        return " and ".join(f"{one.distribution} {one.version}" for one in self.pins)

    @property
    def requirement(self) -> str:
        return " ".join(one.requirement for one in self.pins)

    @property
    def key(self) -> str:
        """The environment's directory: one per version, Python, and environment shared with."""
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
        known = json.loads((environment / MARKER).read_text("utf-8"))["unmet"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return (
        os.access(_interpreter(environment), os.X_OK)
        and wanted.is_inside(environment)
        and not _unmet(wanted, environment) - set(known)
    )


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
    _install(environment, wanted, lock)
    for one in wanted.pins:
        inside = _version_inside(environment, one.distribution)
        if not (one.is_met_by(inside) and wanted.is_inside(environment)):
            raise UsageError(
                f"{wanted.engine}: pip installed {one.requirement}, but {environment} has "
                f"{inside or 'none'}",
                "does pip.conf make pip install to somewhere else?",
            )
    marker = json.dumps({"unmet": sorted(_unmet(wanted, environment))})
    (environment / MARKER).write_text(marker, "utf-8")


def _install(environment: Path, wanted: _Wanted, lock: int) -> None:
    log = environment / "pip.log"
    done = subprocess.run(
        [
            *(str(_interpreter(environment)), *_PIP, f"--log={log}"),
            *(one.requirement for one in wanted.pins),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={name: value for name, value in os.environ.items() if name not in _ELSEWHERE},
        # pip outlives a killed parent: until it has ended, nobody else may build here.
        pass_fds=(lock,),
        check=False,
    )
    if done.returncode:
        record = log.read_text("utf-8", "replace") if log.exists() else ""
        raise _failure(wanted, done.stderr, record)


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


def _failure(wanted: _Wanted, printed: str, log: str) -> UsageError:
    """What pip's messages and its log come to, in one line."""
    one = next((pin for pin in wanted.pins if pin.requirement in printed), wanted.pins[0])
    name, version = one.distribution, one.version
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    instead = f"leave out @{version} for the installed version"
    other = re.search(rf"[ ,]{re.escape(str(version))} Requires-Python ([^;\n]+)", printed)
    found = re.search(rf"requirement {re.escape(one.requirement)} \(from versions: (.*)\)", printed)
    if found and other:
        return UsageError(
            f"{wanted.engine}: {name} {version} is not for {python}: it requires Python "
            f"{other[1].removesuffix(',').strip()}",
            instead,
        )
    if found and found[1] != "none":
        return UsageError(
            f"{wanted.engine}: there is no {name} {version} for {python} on this machine",
            f"nearest: {', '.join(_nearest(version, found[1].split(', ')))}",
        )
    # That a page is missing is the index's answer; any other failure is none.
    unreached = re.search(r"Could not fetch URL (\S+): (?!404 )", log)
    if found and unreached:
        return UsageError(
            f"{wanted.engine}: no package index can be reached to install {name} {version}",
            f"check the network and the settings of pip, or {instead}",
        )
    if found:
        return UsageError(
            f"{wanted.engine}: versions are not supported for it: pip finds no distribution "
            f"{name!r} in any package index",
            instead,
        )
    return UsageError(f"{wanted.engine}: {name} {version} cannot be installed: {_last(printed)}")


def _nearest(version: Version, existing: Sequence[str], each_side: int = 2) -> list[str]:
    """The versions just below and above one that does not exist."""
    known = sorted(Version(text) for text in existing)
    at = bisect(known, version)
    return [str(one) for one in known[max(at - each_side, 0) : at + each_side]]


def _last(printed: str) -> str:
    """The line that says why: the last error, but for one that only refers to documentation."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [
        line.partition(": ")[2]
        for line in lines
        if line.lower().startswith("error: ") and "ResolutionImpossible" not in line
    ]
    return (errors or lines or ["pip said nothing"])[-1][:300]


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
