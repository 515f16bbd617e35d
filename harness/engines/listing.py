"""What `maskcourt engines` lists: every engine that can be named, without starting any."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from harness.engines.environments import at_hand, builds_at_hand
from harness.engines.specs import adapter_class, known_engines
from harness.errors import UsageError


def listed_engines() -> dict[str, dict[str, Any]]:
    """Per engine: its adapter, the versions installed, tested and at hand, its options.

    Those at hand have an environment of their own, as builds have; None is a version that there is
    not.
    """
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
                "at_hand": [],
                "builds": [],
                "remark": "",
                "problem": str(problem),
                "options": {},
            }
            continue
        found[name] = {
            "adapter": reference,
            "distribution": adapter.DISTRIBUTION,
            "installed": _installed(adapter.DISTRIBUTION),
            "tested": getattr(adapter, "TESTED", None),
            "at_hand": at_hand(adapter.DISTRIBUTION),
            "builds": builds_at_hand(adapter.DISTRIBUTION),
            "remark": getattr(adapter, "NOT_ON_INDEX", ""),
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
