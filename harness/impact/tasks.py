"""The tasks by name, each loaded when it is asked for."""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.errors import UsageError, nearest
from harness.impact.items import Item, Task

TASKS: Final[Mapping[str, str]] = {
    "bfcl": "harness.impact.bfcl:load",
    "keys": "harness.impact.keys:load",
}
"""What gives each: ``module:function``."""


def open_task(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a name.

    Args:
        name: One of `TASKS`, or ``module:function`` of another.
        options: What its function takes.

    Raises:
        UsageError: There is none.
        InputError: Its data cannot be read.
    """
    module, _, function = TASKS.get(name, name).partition(":")
    if not function:
        raise UsageError(f"no task {name!r}", nearest(name, TASKS))
    try:
        load = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"task {name!r} cannot be loaded: {error}") from error
    task: Task = load(**options)
    return task


def sampled(items: Sequence[Item], count: int | None, seed: int) -> list[Item]:
    """Some of the items, in their order.

    Args:
        items: All of them.
        count: So many groups, each whole; an item without a group is one by itself. None: all.
        seed: Of the sample.
    """
    groups = list(dict.fromkeys(_group(one) for one in items))
    if count is None or count >= len(groups):
        return list(items)
    chosen = set(random.Random(f"{seed}/sample").sample(groups, count))  # noqa: S311 - to be repeated
    return [one for one in items if _group(one) in chosen]


def _group(item: Item) -> tuple[str, str]:
    return ("", item.group) if item.group else (item.id, "")
