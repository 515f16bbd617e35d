"""One error of one engine as a case that can be tried: a schema, a text, and a token if need be."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from harness.jsontext.strict_json import parse


@dataclass(frozen=True)
class ErrorCase:
    """The JSON text of a schema and a text with which an engine, named by its spec, shows an error.

    The text is fed byte by byte, but for `token` at the byte `token_at`, where the error needs one;
    the end of sequence follows unless the kind is about what comes before it.
    """

    engine: str
    kind: str
    schema: str
    text: bytes
    token: bytes = b""
    token_at: int = 0

    @property
    def size(self) -> tuple[int, str, bytes]:
        """What shrinking makes smaller: bytes in all, then the schema, then the text."""
        length = len(self.schema.encode()) + len(self.text) + len(self.token)
        return length, self.schema, self.text

    @property
    def around(self) -> tuple[bytes, bytes]:
        """The text before the token and after it; without a token the first is all of it."""
        if not self.token:
            return self.text, b""
        return self.text[: self.token_at], self.text[self.token_at + len(self.token) :]

    @property
    def parsed(self) -> Any:
        """The schema; of a regular expression, which stands there as a JSON string, the pattern."""
        return parse(self.schema)

    @property
    def about(self) -> str:
        """What is compiled: a schema or a pattern."""
        return "pattern" if self.schema.startswith('"') else "schema"

    @property
    def compiled(self) -> str:
        """The pattern, or the JSON text of the schema."""
        return str(self.parsed) if self.about == "pattern" else self.schema

    def with_schema(self, schema: Any) -> ErrorCase:
        return replace(self, schema=compact(schema))

    def with_text(self, text: bytes) -> ErrorCase:
        return replace(self, text=text)

    def with_around(self, before: bytes, after: bytes) -> ErrorCase:
        start = len(before) if self.token else 0
        return replace(self, text=before + self.token + after, token_at=start)


def compact(value: Any) -> str:
    """A value as JSON, without white space, members in their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
