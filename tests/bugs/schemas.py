"""Small schemas for properties of edits."""

from __future__ import annotations

from hypothesis import strategies as st

_LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer"]),
        "minimum": st.integers(-3, 30),
        "pattern": st.sampled_from(["^a+$", "b"]),
        "enum": st.lists(st.sampled_from(["a", "b", 1]), min_size=1, max_size=3),
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
    },
)


def _around(inner: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    return st.builds(
        lambda leaf, more: {**leaf, **more},
        _LEAVES,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
                "items": inner,
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "additionalProperties": inner,
            },
        ),
    )


SCHEMAS = st.recursive(_LEAVES, _around, max_leaves=5)
