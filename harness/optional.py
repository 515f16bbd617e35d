"""Optional libraries: imported where a feature needs them, and named when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from harness.errors import UsageError


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """A library that an `extra` brings; a UsageError where `purpose` is without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise UsageError(
            f"{purpose} need {library}, which is not installed here: {error}",
            f"pip install '.[{extra}]' in the checkout, or 'maskcourt[{extra}]'",
        ) from error
