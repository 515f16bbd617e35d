"""`uv` installs packages into an environment, from where pip is configured to take them.

Unlike pip with ``--prefer-binary`` it takes the newest version that fits, even if that has to be
built.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.requirements import Requirement

from harness.errors import UsageError

_ELSEWHERE = ("UV_PREFIX", "UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_TARGET")
"""Settings of uv that would install to somewhere else."""

_OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraints",
    "no-binary": "--no-binary",
    "only-binary": "--only-binary",
}
"""Options of uv by settings of pip; each may have several values."""

_SWITCHES = {"no-index": "--no-index", "pre": "--prerelease=allow"}
_VARIABLES = {
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "retries": "UV_HTTP_RETRIES",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}


@dataclass(frozen=True)
class Installer:
    """`uv` for the environment of an interpreter.

    Nobody else may have the `cache`, from which files may be linked; `lock` is the descriptor
    through which the right to change the environment is held.
    """

    interpreter: Path
    cache: Path
    lock: int

    def install(self, asked: Sequence[str]) -> str:
        """Install packages without what they require; the messages if that failed, else ""."""
        done = self._run("--reinstall", *asked)
        return (done.stderr or "uv said nothing") if done.returncode else ""

    def failure(self, engine: str, pins: Sequence[Requirement], printed: str) -> UsageError:
        pin = next((one for one in pins if str(one) in printed), pins[0])
        name, version = pin.name, str(pin.specifier).removeprefix("==")
        instead = f"leave out @{version} for the installed version"
        if "Failed to fetch" in printed:
            return UsageError(
                f"{engine}: no package index can be reached to install {name} {version}",
                f"check the network and the settings of pip, or {instead}",
            )
        if f"Because {name} was not found in" in printed:
            return UsageError(
                f"{engine}: versions are not supported for it: no package index has {name!r}",
                instead,
            )
        if f"there is no version of {pin}" in printed:
            python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
            return UsageError(
                f"{engine}: there is no {name} {version} for {python} on this machine",
                f"nearest: {', '.join(self._nearest(name, version)) or 'none'}",
            )
        return UsageError(f"{engine}: {name} {version} cannot be installed: {reason(printed)}")

    def _nearest(self, name: str, version: str) -> list[str]:
        """The versions just below and above one that there is not."""
        found = []
        for bound, how in (("<", "highest"), (">", "lowest")):
            done = self._run("--dry-run", f"--resolution={how}", f"{name}{bound}{version}")
            found += re.findall(r"^ \+ \S+==(\S+)", done.stderr, re.MULTILINE)
        return found

    def _run(self, *asked: str) -> subprocess.CompletedProcess[str]:
        import uv

        options, variables = self._as_pip
        own = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        return subprocess.run(
            [
                *(uv.find_uv_bin(), "pip", "install", "--no-config", "--no-progress"),
                *("--color=never", "--no-deps", *options, f"--python={self.interpreter}"),
                *(f"--cache-dir={self.cache}", *asked),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env={**variables, **own},
            # it outlives a killed parent: until it has ended, nobody else may build here
            pass_fds=(self.lock,),
            check=False,
        )

    @cached_property
    def _as_pip(self) -> tuple[list[str], dict[str, str]]:
        """Options and variables that have uv look where pip, if there is one, would look."""
        command = [sys.executable, "-m", "pip", "config", "list"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        settings: dict[str, str] = {}
        order = {"global": 0, "install": 1, ":env:": 2}  # the later ones count
        for line in sorted(listed.splitlines(), key=lambda one: order.get(one.split(".")[0], -1)):
            name, _, value = line.partition("=")
            with contextlib.suppress(ValueError, SyntaxError):
                settings[name.rpartition(".")[2]] = str(ast.literal_eval(value))
        options = ["--index-strategy=unsafe-best-match"]
        for name, option in _SWITCHES.items():
            options += [option] * (settings.get(name, "").lower() in ("1", "true", "yes", "on"))
        for name, option in _OPTIONS.items():
            options += [f"{option}={one}" for one in settings.get(name, "").split()]
        known = settings.keys() & _VARIABLES
        return options, {_VARIABLES[name]: settings[name] for name in sorted(known)}


def reason(printed: str) -> str:
    """The last cause, in one line, and where building failed the last line of that."""
    *_, cause = re.split(r"^ *(?:error|cause): ", printed, flags=re.MULTILINE)
    first, _, built = cause.partition("[stderr]")
    last = built.strip().splitlines()[-1:]
    return ": ".join(" ".join(one.split()) for one in [first, *last])[:300]
