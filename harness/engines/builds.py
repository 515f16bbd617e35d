"""Builds at hand: what an engine spec names by a path, ``xgrammar@./dist/xgrammar-0.3.0-….whl``.

A wheel, a source tree, or an interpreter that has the engine. A path may hold one thing today and
another tomorrow, so a build is told from all others by the SHA-256 of its content.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from harness.errors import UsageError

WHEEL, TREE, PYTHON = "wheel", "tree", "python"


@dataclass(frozen=True)
class Build:
    """A build; `about` is the commit of a tree, or the version in an interpreter's `directory`."""

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


_TREES: Final = ("pyproject.toml", "setup.py")
"""A tree that can be built has one of them."""


def find_build(path: str, engine: str, distribution: str) -> Build:
    """The build of a distribution at a path; of a wheel or tree only installing tells of which.

    `engine` is how to speak of the engine.

    Raises:
        UsageError: Nothing is there, or no build of this distribution.
    """
    place = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - resolving leaves a venv
    if not place.exists():
        raise UsageError(f"{engine}: there is no {path}", "a path is taken from where you are")
    try:
        if place.is_dir() and not any((place / one).is_file() for one in _TREES):
            raise UsageError(f"{engine}: {path} is no tree of a package: it has no {_TREES[0]}")
        if place.is_dir():
            return _tree(place)
        if place.suffix == ".whl":
            return Build(WHEEL, place, _digest(place))
        if os.access(place, os.X_OK):
            return _python(place, engine, distribution)
    except OSError as error:
        raise UsageError(f"{engine}: {path} cannot be read: {error.strerror or error}") from error
    raise UsageError(
        f"{engine}: {path} is no wheel, no directory and no interpreter",
        "a wheel's name ends in .whl",
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _tree(path: Path) -> Build:
    commit, files = _in_git(path)
    lines = "".join(f"{file.relative_to(path)}\0{_content(file)}\n" for file in sorted(files))
    return Build(TREE, path, hashlib.sha256(lines.encode()).hexdigest(), commit)


def _content(file: Path) -> str:
    if file.is_symlink():
        return f"link {file.readlink()}"
    try:
        return ("x" if os.access(file, os.X_OK) else "") + _digest(file)
    except FileNotFoundError:  # git has it, and it was removed
        return "missing"


def _in_git(tree: Path) -> tuple[str, list[Path]]:
    """A tree's commit, and whether it is dirty, and its files, without what building leaves."""
    known = _listed(tree, "--cached")
    if not known:
        files = [one for one in tree.rglob("*") if not one.is_dir()]
        return "no commit", [one for one in files if not _is_left(one, tree, hidden=True)]
    new = [one for one in _listed(tree, "--others") if not _is_left(one, tree)]
    changed = git(tree, "status", "--porcelain", "--untracked-files=no", "--", ".")
    commit = git(tree, "rev-parse", "--short=12", "HEAD").strip() or "none"
    inner = {one for one in (*known, *new) if one.is_dir() and not one.is_symlink()}
    own = {*known, *new}.difference(inner).union(*(_in_git(one)[1] for one in inner))
    return f"commit {commit}" + (" dirty" if changed or new else ""), list(own)


def _is_left(file: Path, tree: Path, *, hidden: bool = False) -> bool:
    """Whether building may leave a file there, or, where that counts, its directory is `hidden`."""
    parts = file.relative_to(tree).parts
    inside = any(one == "__pycache__" or one.endswith(".egg-info") for one in parts)
    hidden = hidden and any(one.startswith(".") for one in parts[:-1])
    return inside or hidden or parts[0] in ("build", "dist")


def _listed(tree: Path, which: str) -> list[Path]:
    names = git(tree, "ls-files", "-z", which, "--exclude-standard").split("\0")
    return [tree / name for name in names if name]


def git(tree: Path, *command: str) -> str:
    """What git says of the tree; nothing where it fails."""
    # a hook's own variables would have it speak of another repository
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return _run("git", "--no-optional-locks", "-C", str(tree), *command, check=True, env=own)
    return ""


def _run(*command: str, **options: Any) -> str:
    options |= {"encoding": "utf-8", "errors": "surrogateescape", "timeout": 60.0}
    options |= {"stdin": subprocess.DEVNULL, "capture_output": True}
    printed: str = subprocess.run(command, **options).stdout  # noqa: PLW1510 - some may fail
    return printed


def _python(path: Path, engine: str, distribution: str) -> Build:
    program = "import json, sys; print(json.dumps([sys.version_info[:2], sys.path]))"
    try:
        version, paths = json.loads(_run(str(path), "-I", "-c", program))
        has_numpy = any(Path(one, "numpy").is_dir() for one in paths)
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as error:
        raise UsageError(f"{engine}: {path} is no Python that can be asked what it has") from error
    if tuple(version) < (3, 11) or not has_numpy:
        message = f"{engine}: {path} is no Python 3.11 with numpy"
        raise UsageError(message, "a host needs that, or newer")
    found = next(iter(distributions(name=distribution, path=paths)), None)
    if found is None:
        raise UsageError(
            f"{engine}: {path} has no {distribution}", f"{path} -m pip install {distribution}"
        )
    if (digest := files_digest(found)) is None:
        raise UsageError(
            f"{engine}: {distribution} in {path} does not list its files (no RECORD)",
            "install it with pip, so that one build is told from another",
        )
    known = f"version {found.version}"
    url = json.loads(found.read_text("direct_url.json") or "{}")
    if url.get("dir_info", {}).get("editable"):
        known += f", of {_tree(Path(unquote(urlsplit(url['url']).path))).identity}"
    return Build(PYTHON, path, digest, known, str(found.locate_file("")))


def files_digest(distribution: Distribution) -> str | None:
    """SHA-256 over the names and contents of its files; None where nothing lists them.

    Of the files themselves, since a library may be copied over the one that the RECORD lists.
    """
    if not distribution.files:
        return None
    digest = hashlib.sha256()
    how_installed = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")
    for file in sorted(distribution.files, key=str):
        if file.suffix == ".pyc" or file.name in how_installed:
            continue
        try:
            content = hashlib.sha256(file.read_binary()).hexdigest()
        except OSError:
            content = "missing"
        digest.update(f"{file}\0{content}\n".encode())
    return digest.hexdigest()
