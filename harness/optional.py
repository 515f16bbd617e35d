"""Optional libraries: imported where a feature needs them, and named when they are missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from harness.errors import UsageError


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """A library that an `extra` brings; a UsageError where `purpose` is without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{purpose} need {module.partition('.')[0]}, which is not installed here: {error}",
            f"pip install '.[{extra}]' in the checkout, or 'maskcourt[{extra}]'",
        ) from error


class _NoPandas:
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Have Arrow and DuckDB import pandas, which takes 0.4 s, only where a frame is asked for."""
    sys.meta_path.insert(0, _NoPandas)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoPandas)
