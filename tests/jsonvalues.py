"""JSON values, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LETTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def json_values(
    text: st.SearchStrategy[str] = LETTERS,
    numbers: st.SearchStrategy[Any] = NUMBERS,
    max_leaves: int = 12,
) -> st.SearchStrategy[Any]:
    """Values of JSON, their strings and names drawn from `text`."""
    return st.recursive(
        st.none() | st.booleans() | numbers | text,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=max_leaves,
    )
