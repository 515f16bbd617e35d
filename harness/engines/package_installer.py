"""pip, asked to install something into an environment, and what it says put in one line."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, canonicalize_version
from packaging.version import InvalidVersion, Version

from harness.errors import UsageError

_PIP = (
    *("-I", "-m", "pip", "install", "--no-input", "--no-color", "--no-user", "--prefer-binary"),
    *("--disable-pip-version-check", "--progress-bar=off"),
)

_ELSEWHERE = ("PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PIP_USER")
"""Settings of pip that would install to somewhere else."""


@dataclass(frozen=True)
class Pin:
    """A version of a distribution; None is that of a build, whichever it has."""

    distribution: str
    version: Version | None

    @property
    def requirement(self) -> str:
        """As pip writes it."""
        return f"{self.distribution}=={self.version}" if self.version else self.distribution

    @property
    def name(self) -> str:
        """As the directory of an environment has it."""
        version = canonicalize_version(self.version) if self.version else ""
        return f"{canonicalize_name(self.distribution)}-{version}"

    def is_met_by(self, version: str | None) -> bool:
        """Whether pip would take `version` for this one: 2.8 is 2.8.0, and any local build."""
        exactly = SpecifierSet(f"=={self.version}" if self.version else "")
        with contextlib.suppress(InvalidVersion):
            return bool(version) and exactly.contains(str(version), prereleases=True)
        return False


def run_pip(interpreter: Path, asked: Sequence[str], lock: int, log: Path | None = None) -> str:
    """Have pip install something; what it printed where it failed, else nothing.

    Args:
        interpreter: That of the environment.
        asked: What to install, and further options.
        lock: The descriptor through which the right to change the environment is held.
        log: The file that gets pip's log; what a build prints goes there then, and not here.
    """
    done = subprocess.run(
        [
            *(str(interpreter), *_PIP, *([f"--log={log}"] if log else [])),
            *asked,
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
    return (done.stderr or "pip said nothing") if done.returncode else ""


def failure(engine: str, pins: Sequence[Pin], printed: str, log: str) -> UsageError:
    """What pip's messages and its log come to, in one line."""
    one = next((pin for pin in pins if pin.requirement in printed), pins[0])
    name, version = one.distribution, one.version
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    instead = f"leave out @{version} for the installed version"
    other = re.search(rf"[ ,]{re.escape(str(version))} Requires-Python ([^;\n]+)", printed)
    found = re.search(rf"requirement {re.escape(one.requirement)} \(from versions: (.*)\)", printed)
    if found and other:
        return UsageError(
            f"{engine}: {name} {version} is not for {python}: it requires Python "
            f"{other[1].removesuffix(',').strip()}",
            instead,
        )
    if found and found[1] != "none" and version is not None:
        return UsageError(
            f"{engine}: there is no {name} {version} for {python} on this machine",
            f"nearest: {', '.join(_nearest(version, found[1].split(', ')))}",
        )
    # That a page is missing is the index's answer; any other failure is none.
    unreached = re.search(r"Could not fetch URL (\S+): (?!404 )", log)
    if found and unreached:
        return UsageError(
            f"{engine}: no package index can be reached to install {name} {version}",
            f"check the network and the settings of pip, or {instead}",
        )
    if found:
        return UsageError(
            f"{engine}: versions are not supported for it: pip finds no distribution "
            f"{name!r} in any package index",
            instead,
        )
    return UsageError(f"{engine}: {name} {version} cannot be installed: {last_line(printed)}")


def _nearest(version: Version, existing: Sequence[str], each_side: int = 2) -> list[str]:
    """The versions just below and above one that does not exist."""
    known = sorted(Version(text) for text in existing)
    at = bisect(known, version)
    return [str(one) for one in known[max(at - each_side, 0) : at + each_side]]


def last_line(printed: str) -> str:
    """The line that says why: the last error, but for one that only refers to documentation.

    Where building failed, the last line that the build printed comes with it.
    """
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [
        line.partition(": ")[2]
        for line in lines
        if line.lower().startswith("error: ") and "ResolutionImpossible" not in line
    ]
    built = re.findall(r"^\s*(\S.*)\n\s*\[end of output\]", printed, re.MULTILINE)
    return ": ".join([(errors or lines or ["pip said nothing"])[-1], *built[-1:]])[:300]
