"""Verdicts broken down: by keyword, category, departure and so on.

Contested verdicts count for nobody and are left out.
"""

from __future__ import annotations

from typing import Any

from harness.analysis.stored import StoredRun
from harness.runs.tables import TEXT_TABLES
from harness.verdict_kinds import ERRORS


def crossed(stored: StoredRun, by: str) -> list[dict[str, Any]]:
    """Errors by one column, ``engine``, ``kind`` and ``class``, all kinds of evidence together.

    Each row also has ``tokens`` (of walks), ``instances`` and ``samples`` (verdicts about them)
    and ``cases``: those with any.
    """
    units = {"walk": "tokens", **TEXT_TABLES}
    counts = ", ".join(f"count_if(evidence = '{one}') AS {unit}" for one, unit in units.items())
    return stored.rows(
        f"""SELECT {by}::VARCHAR AS {by}, e.name AS engine, kind, class, {counts},
            count(DISTINCT case_row) AS cases
        FROM verdicts JOIN raw_engines e USING (engine) WHERE kind IN $1
        GROUP BY ALL ORDER BY cases DESC, 1, e.name, kind, class""",
        list(ERRORS),
    )


def case_statuses(stored: StoredRun) -> list[dict[str, Any]]:
    """What became of the cases: ``family``, ``status``, ``reason``, ``cases``, what was walked."""
    return stored.rows(
        """SELECT family, status, reason, count(*) AS cases, sum(positions)::BIGINT AS positions,
            sum(disputed_tokens)::BIGINT AS disputed_tokens
        FROM cases GROUP BY ALL ORDER BY family, status, reason"""
    )
