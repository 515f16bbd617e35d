"""From which byte on a JSON value cannot become valid under a schema any more.

The answer is a proof or None: whatever is written behind the byte, the value breaks the schema.
Keywords that hold schemas are followed here, those that look at the value itself are in
`harness.explain.assertions`. Where a rule cannot tell, it takes a later byte or gives no
answer: a value may well be invalid and lost only with its last byte.

Source: JSON Schema, the Core documents of drafts 04 to 2020-12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from harness.explain.assertions import ASSERTIONS, additional_members, unknown_keys
from harness.jsontext.spans import Part, ValueSpan
from harness.schemas.schema import target

_MAX_DEPTH = 12
_MAX_WORK = 2000
_OLD: Final = frozenset(("draft-04", "draft-06", "draft-07"))


class EarliestFailure:
    """The rules for one root schema, in which references are looked up.

    Args:
        root: The parsed schema.
        draft: The name of its draft, as `harness.validators.drafts.Draft.name`.
    """

    def __init__(self, root: Any, draft: str) -> None:
        self._root = root
        self._draft = draft
        self._work = 0
        self._below: dict[str, Callable[[ValueSpan, dict[str, Any], int], Part | None]] = {
            "$ref": self._reference,
            "allOf": self._all,
            "anyOf": self._any,
            "oneOf": self._one,
            "properties": self._members,
            "additionalProperties": self._additional,
            "items": self._items,
            "prefixItems": self._prefix,
            "propertyNames": self._names,
        }

    def keyword(self, keyword: str, node: ValueSpan, holder: dict[str, Any]) -> Part | None:
        """From where on one keyword of `holder` is lost for `node`; None where nothing is proven.

        Returns:
            The span from the byte that loses it to the end of what is wrong: of the scalar, key or
            literal, or of the one bracket or comma.
        """
        self._work = _MAX_WORK
        return self._keyword(keyword, node, holder, 0)

    def _keyword(
        self, keyword: str, node: ValueSpan, holder: dict[str, Any], depth: int
    ) -> Part | None:
        own = ASSERTIONS.get(keyword)
        if own is not None:
            return own(node, holder[keyword], holder)
        below = self._below.get(keyword)
        return None if below is None else below(node, holder, depth)

    def part(self, node: ValueSpan, schema: Any, depth: int = 0) -> Part | None:
        """From where on `node` is lost under `schema`; None where nothing is proven."""
        self._work -= 1
        if schema is False:
            return node.first
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._work < 0:
            return None
        keywords: Iterable[str] = schema
        if "$ref" in schema and self._draft in _OLD:
            keywords = ("$ref",)
        proven = (
            self._keyword(keyword, node, schema, depth)
            for keyword in keywords
            if self._asserted(keyword)
        )
        return min((part for part in proven if part is not None), default=None)

    def _asserted(self, keyword: str) -> bool:
        """Whether the draft knows `keyword`; what it does not know asserts nothing."""
        if keyword in ("const", "propertyNames"):
            return self._draft != "draft-04"
        if keyword == "prefixItems":
            return self._draft == "2020-12"
        return keyword != "format"  # which formats are asserted is for the validators to say

    def _reference(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        return self.part(node, target(self._root, holder["$ref"]), depth + 1)

    def _all(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        parts = (self.part(node, branch, depth + 1) for branch in holder["allOf"])
        return min((part for part in parts if part is not None), default=None)

    def _every(self, branches: Sequence[Any], node: ValueSpan, depth: int) -> Part | None:
        """From where on all alternatives are lost."""
        latest: Part | None = None
        for branch in branches:
            part = self.part(node, branch, depth + 1)
            if part is None:
                return None
            latest = part if latest is None else max(latest, part)
        return latest

    def _any(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        return self._every(holder["anyOf"], node, depth)

    def _one(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        return self._every(holder["oneOf"], node, depth)

    def _members(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        if node.kind != "object":
            return None
        schemas = holder["properties"]
        for member in node.members:
            if member.name in schemas:
                schema = schemas[member.name]
                part = member.key.last if schema is False else None
                part = part or self.part(member.value, schema, depth + 1)
                if part is not None:
                    return part
        return None

    def _additional(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        if node.kind != "object":
            return None
        schema = holder["additionalProperties"]
        if schema is False:
            return next(unknown_keys(node, holder), None)
        for member in additional_members(node, holder):
            part = self.part(member.value, schema, depth + 1)
            if part is not None:
                return part
        return None

    def _items(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        schema = holder["items"]
        if node.kind != "array":
            return None
        if isinstance(schema, list):
            return self._tuple(node, schema, depth)
        fixed = holder.get("prefixItems") if self._draft == "2020-12" else None
        for item in node.items[len(fixed or ()) :]:
            part = item.begin if schema is False else self.part(item.value, schema, depth + 1)
            if part is not None:
                return part
        return None

    def _prefix(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        return self._tuple(node, holder["prefixItems"], depth) if node.kind == "array" else None

    def _tuple(self, node: ValueSpan, schemas: Sequence[Any], depth: int) -> Part | None:
        for item, schema in zip(node.items, schemas, strict=False):
            part = item.begin if schema is False else self.part(item.value, schema, depth + 1)
            if part is not None:
                return part
        return None

    def _names(self, node: ValueSpan, holder: dict[str, Any], depth: int) -> Part | None:
        if node.kind != "object":
            return None
        parts = (self.part(one.key, holder["propertyNames"], depth + 1) for one in node.members)
        return next((part for part in parts if part is not None), None)
