"""Engines that take a schema, or a value under it, in one of two forms that mean the same.

The rewritings of a run's schemas are cases of a family of their own, with the values of their
originals in the same order. What is refused, lost or let through under one form alone is an error
of the engine, whatever others say.
"""

from __future__ import annotations

from typing import Any, Final

from harness.analysis.stored import StoredRun, statement
from harness.inputs.cases import EQUAL, MARK

COUNTS: Final = ("refused", "loses", "leaks")
"""What an engine does under one form alone."""
COLUMNS: Final = ("engine", "rewriting", "under", "schemas", *COUNTS, "example")


def equal_schemas(stored: StoredRun) -> list[dict[str, Any]]:
    """By engine and rewriting, in how many schemas an engine is wrong under one form alone.

    A row with `COLUMNS` for each form with any: ``under`` the ``rewriting`` alone, or the
    ``original``; of ``schemas`` that were rewritten so, how many are ``refused``, and in how many
    the engine ``loses`` or ``leaks`` an everyday value; ``example`` is the first of them.
    """
    counted = f"{_PAIRS} SELECT rewriting, count(*) AS n FROM pairs GROUP BY rewriting"
    schemas = {row["rewriting"]: row["n"] for row in stored.rows(counted)}
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for row in stored.rows(f"{_PAIRS} {_WRONG}") if schemas else ():
        key = (row["engine"], row["rewriting"], row["form"])
        about = (stored.engines[key[0]], *key[1:], schemas[key[1]], 0, 0, 0, row["example"])
        found.setdefault(key, dict(zip(COLUMNS, about, strict=True)))[row["what"]] = row["n"]
    return [found[key] for key in sorted(found)]


_IN_ANOTHER_ORDER: Final = ("reordered-members", "split-members")
"""Here an engine may refuse a text for the order of its members, and its value may leak still."""

_PAIRS: Final = statement("pairs", mark=MARK, family=EQUAL)
"""Each pair of forms twice: an error is looked for here that is not there."""

_WRONG: Final = statement("wrong_in_one_form", in_another_order=str(_IN_ANOTHER_ORDER))
