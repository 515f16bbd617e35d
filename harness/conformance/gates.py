"""Gate lists: which engine is trusted with which keywords at which places.

A server that chooses among engines keeps such a list, often by hand. One made of a table trusts an
engine with a cell only where all values were treated rightly. The file is JSON::

    {"engines": [{"engine": "xgrammar", "version": "0.2.8", "options": {},
                  "trusted": {"minLength": ["root", "property"], "format=date": ["root"]}}]}
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from harness import __version__
from harness.conformance.outcomes import ENFORCED, ConformanceTable


def gates_of(table: ConformanceTable) -> dict[str, Any]:
    """The gate lists that a table gives, as JSON."""
    trusted: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in table.outcomes:
        if one.status == ENFORCED:
            trusted[one.engine][one.keyword].append(one.place)
    engines = [
        {"engine": name, "version": version}
        | {"options": dict(table.options[name]), "trusted": dict(trusted[name])}
        for name, version in table.engines.items()
    ]
    made_with = {"maskcourt": __version__, "cases": table.data, "vocabulary": table.vocabulary}
    return {**made_with, "engines": engines}
