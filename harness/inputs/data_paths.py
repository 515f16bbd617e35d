"""Where the project's data files lie: in a checkout, in an installed package, or elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import InputError

VARIABLE = "MASKCOURT_DATASETS"
"""The environment variable that names another directory to use as ``datasets/``."""


def data_path(*parts: str) -> Path:
    """The path of a data file, as in ``data_path("vocabulary", "qwen2.5.json")``.

    The directory is the one that `VARIABLE` names, else ``datasets/`` beside ``harness/`` (a
    checkout), else ``harness/_datasets`` (an installed package). The file need not exist.

    Raises:
        InputError: There is no such directory.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        root = Path(chosen).expanduser()
        if not root.is_dir():
            raise InputError(f"{VARIABLE}={chosen} is not a directory", "unset it or correct it")
        return root.joinpath(*parts)
    package = Path(__file__).resolve().parents[1]
    beside = package.parent / "datasets"
    # In site-packages the directory of this name is the Hugging Face library.
    if beside.is_dir() and not (beside / "__init__.py").exists():
        return beside.joinpath(*parts)
    packaged = package / "_datasets"
    if packaged.is_dir():
        return packaged.joinpath(*parts)
    raise InputError(
        f"the data files of maskcourt are missing: no {beside} and no {packaged}",
        f"reinstall maskcourt, or set {VARIABLE} to its datasets/ directory",
    )
