"""JSON values, and what might be taken for schemas, drawn by hypothesis."""

from hypothesis import strategies as st

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LETTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def json_values(text=LETTERS, numbers=NUMBERS, max_leaves=12):
    """Values of JSON, their strings and names drawn from `text`."""
    return st.recursive(
        st.none() | st.booleans() | numbers | text,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=max_leaves,
    )


_KEYWORDS = st.sampled_from(
    [
        "type", "enum", "const", "properties", "required", "items", "prefixItems", "allOf",
        "anyOf", "oneOf", "$ref", "if", "then", "else", "not", "pattern", "minLength",
        "minItems", "maxItems", "minProperties", "maxProperties", "additionalProperties",
        "default", "patternProperties", "format", "minimum", "multipleOf", "dependentRequired",
        "dependentSchemas", "dependencies", "contains", "propertyNames", "uniqueItems",
        "unevaluatedProperties", "additionalItems", "$anchor", "$schema",
    ]
)  # fmt: skip
ODD_SCHEMAS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.sampled_from(["#", "#/properties/a", "#/allOf/0", "a", "^a", "(", "x"])
    | st.sampled_from(["object", "string", "number", "array"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_KEYWORDS | st.sampled_from(["a", "b", "^a", "~/"]), inner, max_size=4)
    ),
    max_leaves=25,
)
"""Any JSON whose names are keywords, of whatever type their values are."""
