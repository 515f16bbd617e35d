"""Install maskcourt and extras of it into the environment of this interpreter, as `make` does.

Nothing here computes with torch, which an engine brings all the same, and whose default build for
Linux has packages of gigabytes with it. So the CPU build is taken first, from an index of its own,
where that can be reached; otherwise torch is what the usual index offers. `uv` installs where it is
on the path, unless pip is told where to look for packages: what pip is told uv does not read.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent
CPU_INDEX: Final = "https://download.pytorch.org/whl/cpu"
PATIENCE: Final = 5.0
"""Seconds in which the index of the CPU build has to answer."""

_SETTINGS: Final = ("index-url", "extra-index-url", "find-links", "no-index")
_UNITS: Final = {
    "B": 1e-6,
    "kB": 1e-3,
    "MB": 1.0,
    "GB": 1e3,
    "KiB": 1024e-6,
    "MiB": 1.048576,
    "GiB": 1073.741824,
}
_FILE: Final = re.compile(r"(Downloading|Using cached) (\S+) \(([\d.]+) ?([kKMG]?i?B)\)")
_WORTH_A_LINE: Final = 10.0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def needs_torch(extras: Sequence[str], project: Path = ROOT / "pyproject.toml") -> bool:
    """Whether one of the extras, itself or through others, asks for torch."""
    offered = tomllib.loads(project.read_text("utf-8"))["project"]["optional-dependencies"]
    todo, seen = list(extras), set[str]()
    while todo:
        extra = todo.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for required in offered.get(extra, ()):
            if re.match(r"torch\b(?!-)", required):
                return True
            if inner := re.match(r"maskcourt\[(.+)\]", required):
                todo += [one.strip() for one in inner[1].split(",")]
    return False


def why_unreachable(index: str, seconds: float = PATIENCE) -> str:
    """Why an index does not answer in so many seconds; empty where it does."""
    answer = [f"it did not answer in {seconds:g} s"]

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{index}/torch/", timeout=seconds):  # noqa: S310
                answer.append("")
        except (OSError, ValueError) as error:
            answer.append(str(getattr(error, "reason", error)))

    asked = threading.Thread(target=ask, daemon=True)  # names are looked up without a limit
    asked.start()
    asked.join(seconds)
    return answer[-1]


class Counts:
    """What is downloaded, and what a cache has, in MB, as pip and uv print it."""

    megabytes = cached = 0.0

    def read(self, line: str) -> None:
        """Count what a line says, and tell of large files."""
        if not (found := _FILE.search(line)) or found[2].endswith(".metadata"):
            return
        size = float(found[3]) * _UNITS[found[4]]
        if found[1] != "Downloading":
            self.cached += size
            return
        self.megabytes += size
        if size >= _WORTH_A_LINE:
            _say(f"  downloading {found[2]} ({size:.0f} MB)")

    def __str__(self) -> str:
        cached = f", {self.cached:.0f} MB were in its cache" if self.cached else ""
        return f"downloaded {self.megabytes:.0f} MB{cached}"


class Installer:
    """`pip`, or `uv` in its place."""

    def __init__(self, constraints: Path = ROOT / "constraints.txt") -> None:
        self.counts = Counts()
        self._constraints = ("--constraint", str(constraints))
        self._uv = shutil.which("uv")
        pip = (sys.executable, "-m", "pip")
        self._pip = (*pip, "--disable-pip-version-check", "install", "--progress-bar", "off")
        asked = [*pip, "config", "list"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        set_here = [one for one in _SETTINGS if re.search(rf"[.]{one}=", told)]
        if self._uv and set_here:
            _say(f"pip installs, not uv: pip has settings of its own ({', '.join(set_here)})")
            self._uv = None

    def install(self, *asked: str, index: str = "") -> int:
        """Install what is asked for, from one `index` if it is named; the exit code."""
        if self._uv:
            command = (self._uv, "pip", "install", "--python", sys.executable)
            only = ("--default-index", index) if index else ()
            if not self._run(*command, *self._constraints, *only, *asked):
                return 0
            _say("uv could not install it; pip tries")
        only = ("--index-url", index) if index else ()
        return self._run(*self._pip, *self._constraints, *only, *asked)

    def _run(self, *command: str) -> int:
        """Both print what they download: pip on standard output, uv on standard error."""
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            last: list[str] = []
            for line in process.stdout or ():
                last = [*last[-30:], line]
                self.counts.read(line)
        if process.returncode:
            _say("".join(last).rstrip())
        return process.returncode

    def __str__(self) -> str:
        return "uv" if self._uv else "pip"


def _torch(installer: Installer, index: str) -> None:
    """The CPU build of torch where its index answers; says which build there will be."""
    why = why_unreachable(index)
    if not why:
        _say(f"torch: the CPU build, from {index}")
        if not installer.install("--no-deps", "torch", index=index):
            return
        why = "it has no build for this machine"
    _say(
        f"torch: the build that {installer} finds, for {index} cannot be used ({why}).\n"
        "  The one of PyPI comes with gigabytes for CUDA that nothing here uses; without torch,\n"
        "  and without xgrammar: make install ENGINES=llguidance"
    )


def _version_of_torch() -> str:
    # asked of another process, since this one remembers what there was
    asked = "import importlib.metadata as m; print(m.version('torch'))"
    command = [sys.executable, "-c", asked]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main(extras: Sequence[str], index: str = CPU_INDEX) -> int:
    """Install the project with these extras; the exit code."""
    installer = Installer()
    if needs_torch(extras):
        try:
            importlib.metadata.version("torch")
        except importlib.metadata.PackageNotFoundError:
            _torch(installer, index)
    named = f"[{','.join(extras)}]" if extras else ""
    _say(f"{installer} installs maskcourt{named}")
    code = installer.install("--editable", f"{ROOT}{named}")
    _say(f"{installer.counts}; torch: {_version_of_torch() or 'none'}")
    return code


if __name__ == "__main__":
    sys.exit(main([one for text in sys.argv[1:] for one in re.split(r"[ ,]+", text) if one]))
