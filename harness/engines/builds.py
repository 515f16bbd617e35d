"""Builds at hand: what an engine spec names by a path, ``xgrammar@./dist/xgrammar-0.3.0-….whl``.

A wheel, a directory with a source tree, or an interpreter that has the engine.
A path may hold one thing today and another tomorrow, so a build is told from all others by its
content: the wheel's SHA-256, that of the tree's files beside its commit, that of the files which an
interpreter has installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from harness.engines import installed_files
from harness.errors import UsageError

WHEEL, TREE, PYTHON = "wheel", "tree", "python"

_OLDEST = (3, 11)
"""The Python that a host needs."""

_PROJECT = ("pyproject.toml", "setup.py")

_MADE = frozenset({"build", "dist", "__pycache__"})
"""Directories that a build leaves in its tree; they are part of no identity where git knows none of
them."""

_SECONDS = 60.0


@dataclass(frozen=True)
class Build:
    """A build at hand.

    Attributes:
        kind: `WHEEL`, `TREE` or `PYTHON`.
        path: Where it is, absolute.
        digest: SHA-256 of its content.
        about: The tree's commit, and whether it is dirty; the version that an interpreter has.
        directory: Of an interpreter: where it has the engine.
    """

    kind: str
    path: Path
    digest: str
    about: str = ""
    directory: str = ""

    @property
    def identity(self) -> str:
        """What tells it from all other builds."""
        return " ".join(filter(None, (self.kind, f"sha256:{self.digest}", self.about)))


def content_of(identity: str) -> str:
    """The digest in the identity of a build; empty where there is none."""
    found = re.match(r"\w+ sha256:([0-9a-f]{64})\b", identity)
    return found[1] if found else ""


def find_build(path: str, engine: str, distribution: str) -> Build:
    """What is at a path.

    Args:
        path: As a spec has it.
        engine: How to speak of the engine.
        distribution: What has to be in it. Of a tree only building it tells.

    Raises:
        UsageError: Nothing is there, or no build of this distribution.
    """
    try:
        at = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - resolving leaves a venv
        there = at.exists()
    except (OSError, RuntimeError):
        there = False
    if not there:
        raise UsageError(f"{engine}: there is no {path}", "a path is taken from where you are")
    try:
        if at.is_dir():
            return _tree(at, engine)
        if at.suffix == ".whl":
            return _wheel(at, engine, distribution)
        if os.access(at, os.X_OK):
            return _python(at, engine, distribution)
    except OSError as error:
        raise UsageError(f"{engine}: {path} cannot be read: {error.strerror or error}") from error
    raise UsageError(
        f"{engine}: {path} is no wheel, no directory and no interpreter",
        "a wheel's name ends in .whl",
    )


def _wheel(path: Path, engine: str, distribution: str) -> Build:
    try:
        name, *_ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise UsageError(
            f"{engine}: {path.name} is not the name of a wheel",
            "keep the name it was built with: NAME-VERSION-PYTHON-ABI-PLATFORM.whl",
        ) from error
    if name != canonicalize_name(distribution):
        raise another(engine, path, name, distribution)
    return Build(WHEEL, path, hashlib.sha256(path.read_bytes()).hexdigest())


def another(engine: str, path: Path, found: str, wanted: str) -> UsageError:
    """That a build is one of another distribution."""
    return UsageError(f"{engine}: {path} is a build of {found}", f"its adapter drives {wanted}")


def _tree(path: Path, engine: str) -> Build:
    if not any((path / name).is_file() for name in _PROJECT):
        python = path / "bin" / "python"
        raise UsageError(
            f"{engine}: {path} has no source tree that can be built: it has no "
            f"{' and no '.join(_PROJECT)}",
            f"name its interpreter: @{python}" if python.exists() else None,
        )
    commit, files = _in_git(path)
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(path).as_posix()}\0{_content(file)}\n".encode())
    return Build(TREE, path, digest.hexdigest(), commit)


def _content(file: Path) -> str:
    if file.is_symlink():
        return f"link {file.readlink()}"
    try:
        executable = "x" if os.access(file, os.X_OK) else ""
        return executable + hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:  # git has it, and it was removed
        return "missing"


def _in_git(tree: Path) -> tuple[str, list[Path]]:
    """A tree's commit, and whether it is dirty, and its files; all files where git has none."""
    known = _listed(tree, "--cached")
    if not known:
        return "no commit", [one for one in _walked(tree) if not _is_made(one, tree)]
    new = [one for one in _listed(tree, "--others") if not _is_made(one, tree)]
    changed = _git(tree, "status", "--porcelain", "--untracked-files=no", "--", ".")
    commit = (_git(tree, "rev-parse", "--short=12", "HEAD") or "none").strip()
    return f"commit {commit}" + (" dirty" if changed or new else ""), list(_flat([*known, *new]))


def _flat(files: Iterable[Path]) -> Iterator[Path]:
    """Files, those of submodules and other repositories in place of their directories."""
    for one in files:
        if one.is_dir() and not one.is_symlink():
            yield from _in_git(one)[1]
        else:
            yield one


def _listed(tree: Path, which: str) -> list[Path]:
    found = _git(tree, "ls-files", "-z", which, "--exclude-standard") or ""
    return [tree / name for name in dict.fromkeys(found.split("\0")) if name]


def _git(tree: Path, *command: str) -> str | None:
    """What git says of the tree; None where it says nothing of it."""
    # a hook's own variables would have it speak of another repository
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(tree), *command],
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=own,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _walked(tree: Path) -> Iterator[Path]:
    for directory, inner, names in os.walk(tree):
        inner[:] = [one for one in inner if not one.startswith(".")]
        yield from (Path(directory, name) for name in names)


def _is_made(file: Path, tree: Path) -> bool:
    first, *others = file.relative_to(tree).parts
    parts = (first, *others)
    return (
        first in _MADE
        or "__pycache__" in parts
        or any(part.endswith(".egg-info") for part in parts)
    )


def _python(path: Path, engine: str, distribution: str) -> Build:
    about = _asked(path, engine, distribution)
    if tuple(about["python"]) < _OLDEST:
        older, oldest = (".".join(map(str, one)) for one in (about["python"], _OLDEST))
        raise UsageError(f"{engine}: {path} is Python {older}", f"a host needs {oldest} or newer")
    if "version" not in about:
        raise UsageError(
            f"{engine}: {path} has no {distribution}", f"{path} -m pip install {distribution}"
        )
    if about["lacks_numpy"]:
        raise UsageError(f"{engine}: {path} has no numpy", f"{path} -m pip install numpy")
    if about["files"] is None:
        raise UsageError(
            f"{engine}: {distribution} in {path} does not list its files (no RECORD)",
            "install it with pip, so that one build is told from another",
        )
    known = f"version {about['version']}"
    if about["editable"]:
        sources = _tree(Path(unquote(urlsplit(about["editable"]).path)), engine)
        known += f", of {sources.identity}"
    return Build(PYTHON, path, about["files"], known, about["directory"])


def _asked(path: Path, engine: str, distribution: str) -> dict[str, Any]:
    no_python = f"{engine}: {path} is no Python that can be asked what it has"
    try:
        done = subprocess.run(
            [str(path), "-I", str(installed_files.__file__), distribution],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise UsageError(no_python) from error
    if not isinstance(found, dict) or "python" not in found:
        raise UsageError(no_python)
    return found
