"""What `maskcourt engines` lists: every engine that can be named, without starting any."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from harness.engines.specs import adapter_class, known_engines
from harness.errors import UsageError


def listed_engines() -> dict[str, dict[str, Any]]:
    """Per engine: its adapter, the versions installed and tested (None if none), its options."""
    found: dict[str, dict[str, Any]] = {}
    for name, reference in known_engines().items():
        try:
            adapter = adapter_class(reference)
        except UsageError as problem:  # a broken plug-in must not hide the other engines
            found[name] = {
                "adapter": reference,
                "distribution": None,
                "installed": None,
                "tested": None,
                "problem": str(problem),
                "options": {},
            }
            continue
        found[name] = {
            "adapter": reference,
            "distribution": adapter.DISTRIBUTION,
            "installed": _installed(adapter.DISTRIBUTION),
            "tested": getattr(adapter, "TESTED", None),
            "options": {
                key: {"default": one.default, "choices": one.choices, "help": one.help}
                for key, one in adapter.OPTIONS.items()
            },
        }
    return found


def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
