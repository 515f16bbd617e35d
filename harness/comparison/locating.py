"""Which invalid completions of a position fail elsewhere than at their disputed token."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.comparison.findings_store import FindingsStore
from harness.explain.error_location import Locating, Shapes


def locate(store: FindingsStore, schema: Any) -> None:
    """Note in `Findings.elsewhere` where completions that were found invalid do not fail at it."""
    locating, shapes = Locating(schema), Shapes(store.token_bytes)
    findings, start = store.findings, store.position.offset
    for one, ruled in store.invalid:
        rulings, which = ruled.rulings, ruled.which
        shape = shapes.of(one.columns, [rulings[i] for i in which.tolist()])
        alike = np.stack([one.numbers, which, shape], axis=1)
        _, first, inverse = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        at_token = np.zeros(len(first), dtype=np.bool_)
        for index, at in enumerate(first.tolist()):
            column, number = int(one.columns[at]), int(one.numbers[at])
            at_token[index] = locating.at_token(
                lambda column=column, number=number: store.text(column, number),  # type: ignore[misc]
                number,
                start,
                store.token_bytes[column],
                rulings[which[at]],
                bool(findings.ends[column]),
            )
        findings.elsewhere[one.row, one.columns] |= ~at_token[inverse.ravel()]
