"""Where data and caches lie by default, and the environment variables that name other places."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from harness.errors import InputError

DATASETS = "MASKCOURT_DATASETS"
"""Names another directory to use as ``datasets/``."""

DOWNLOADS = "MASKCOURT_DATA"
"""Names the directory for downloads, else ``data/``."""

MASKBENCH = "MASKCOURT_MASKBENCH"
"""Names the archive or directory behind ``maskbench``."""

ENVIRONMENTS = "MASKCOURT_ENVIRONMENTS"
"""Names the directory of all environments of engines."""

VOCABULARIES = "MASKCOURT_VOCABULARIES"
"""Names the directory of vocabularies that were taken out of packages."""

_CHECKOUT = Path(__file__).resolve().parents[1]


def only_mine(status: os.stat_result, *, root_too: bool = False) -> bool:
    """Whether nobody but this user, or root, can write to what has this status."""
    owners = (os.geteuid(), 0) if root_too else (os.geteuid(),)
    return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def environments_directory() -> Path:
    """Where the environments of engines lie. It need not exist; nor need the others here."""
    return _cache(ENVIRONMENTS, "environments").expanduser().absolute()


def vocabularies_directory() -> Path:
    return _cache(VOCABULARIES, "vocabularies").expanduser()


def _cache(variable: str, name: str) -> Path:
    """What `variable` names, else a directory called `name` in the user's cache."""
    import platformdirs  # hosts, which may not have it, have no need of it

    named = os.environ.get(variable)
    return Path(named) if named else platformdirs.user_cache_path("maskcourt") / name


def fetched_path() -> Path:
    """Where ``make data`` puts MaskBench: in `DOWNLOADS`, or ``data/`` of the checkout or here."""
    named = os.environ.get(DOWNLOADS)
    root = _CHECKOUT if (_CHECKOUT / "pyproject.toml").is_file() else Path.cwd()
    return (Path(named).expanduser() if named else root / "data") / "maskbench.tar.gz"


def data_path(*parts: str) -> Path:
    """The path of a data file, as in ``data_path("vocabulary", "qwen2.5.xz")``.

    The directory is the one that `DATASETS` names, else ``datasets/`` beside ``harness/`` (a
    checkout), else ``harness/_datasets`` (an installed package). The file need not exist.

    Raises:
        InputError: There is no such directory.
    """
    chosen = os.environ.get(DATASETS)
    if chosen:
        root = Path(chosen).expanduser()
        if not root.is_dir():
            raise InputError(f"{DATASETS}={chosen} is not a directory", "unset it or correct it")
        return root.joinpath(*parts)
    beside = _CHECKOUT / "datasets"
    # In site-packages the directory of this name is the Hugging Face library.
    if beside.is_dir() and not (beside / "__init__.py").exists():
        return beside.joinpath(*parts)
    packaged = _CHECKOUT / "harness" / "_datasets"
    if packaged.is_dir():
        return packaged.joinpath(*parts)
    raise InputError(
        f"the data files of maskcourt are missing: no {beside} and no {packaged}",
        f"reinstall maskcourt, or set {DATASETS} to its datasets/ directory",
    )


def read_toml(name: str) -> dict[str, Any]:
    """What one of the TOML files among the data files holds."""
    return tomllib.loads(data_path(name).read_text("utf-8"))
