"""Engines that take a schema, or a value under it, in one of two forms that mean the same.

The rewritings of a run's schemas are cases of a family of their own, and are asked about the values
of their originals, in the same order. Here each is held against its original: what is refused, lost
or let through under one form alone is an error of the engine, whatever others say.
"""

from __future__ import annotations

from typing import Any, Final

from harness.analysis.stored import StoredRun
from harness.inputs.cases import EQUAL, MARK

COUNTS: Final = ("refused", "loses", "leaks")
"""What an engine does under one form alone."""
COLUMNS: Final = ("engine", "rewriting", "under", "schemas", *COUNTS, "example")


def equal_schemas(stored: StoredRun) -> list[dict[str, Any]]:
    """By engine and rewriting, in how many schemas an engine is wrong under one form alone.

    Returns:
        A row with `COLUMNS` for each form with any: ``under`` the ``rewriting`` alone, or the
        ``original``; of ``schemas`` that were rewritten so, how many are ``refused``, and in how
        many the engine ``loses`` or ``leaks`` an everyday value; ``example`` is the first of them.
    """
    schemas = {row["rewriting"]: row["n"] for row in stored.rows(f"{_PAIRS} {_SCHEMAS}")}
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for row in stored.rows(f"{_PAIRS} {_WRONG}") if schemas else ():
        key = (row["engine"], row["rewriting"], row["form"])
        about = (stored.engines[key[0]], *key[1:], schemas[key[1]], 0, 0, 0, row["example"])
        found.setdefault(key, dict(zip(COLUMNS, about, strict=True)))[row["what"]] = row["n"]
    return [found[key] for key in sorted(found)]


_IN_ANOTHER_ORDER: Final = ("reordered-members", "split-members")
"""Here an engine may refuse a text for the order of its members, and its value may leak still."""

_PAIRS: Final = f"""
WITH rewritten AS (SELECT case_row, name, regexp_extract(name, '.*{MARK}(.*)', 1) AS rewriting
    FROM cases WHERE family = '{EQUAL}'),
pairs AS (SELECT r.name, r.rewriting, r.case_row AS new, o.case_row AS old FROM rewritten r
    JOIN cases o ON o.name = left(r.name, -length('{MARK}' || r.rewriting))),
forms AS (SELECT name, rewriting, new AS here, old AS there, 'rewriting' AS form FROM pairs
    UNION ALL SELECT name, rewriting, old, new, 'original' FROM pairs)"""
"""Each pair of forms twice: an error is looked for here that is not there."""

_SCHEMAS: Final = "SELECT rewriting, count(*) AS n FROM pairs GROUP BY rewriting"

_WRONG: Final = f""",
outcomes AS (SELECT engine, case_row, bool_or(outcome = 'compiled') AS compiled,
    bool_or(outcome = 'refused') AS refused FROM engines WHERE stage = 'compile' GROUP BY ALL),
values AS (SELECT engine, case_row, number, effect::VARCHAR AS effect, shown_by FROM verdicts
    WHERE evidence = 'instance' AND effect NOT IN ('', 'spelling')),
wrong AS (
    SELECT 'refused' AS what, a.engine, f.form, f.rewriting, f.name FROM forms f
    JOIN outcomes a ON a.case_row = f.here AND a.refused
    JOIN outcomes b ON b.case_row = f.there AND b.engine = a.engine AND b.compiled
    UNION ALL
    SELECT w.what, a.engine, f.form, f.rewriting, f.name FROM forms f
    JOIN values a ON a.case_row = f.here AND a.shown_by <> 'rare'
    JOIN (VALUES ('lost_value', 'loses'), ('invalid_value', 'leaks')) w(effect, what)
        ON w.effect = a.effect
        AND NOT (what = 'leaks' AND form = 'original' AND rewriting IN {_IN_ANOTHER_ORDER})
    SEMI JOIN tested t ON t.case_row = f.there AND t.engine = a.engine AND t.number = a.number
        AND t.evidence = 'instance'
    ANTI JOIN values b ON b.case_row = f.there AND b.engine = a.engine AND b.number = a.number)
SELECT engine, rewriting, form, what, count(DISTINCT name) AS n, min(name) AS example
FROM wrong GROUP BY ALL ORDER BY example"""
