"""Engines with planted faults that whole runs are tried on.

`Planted` is llguidance but for three schemas, told by their title (`PLANTED_CASES`): under one it
forbids a token that is right, under one it allows a token that is wrong, under one it dies.
`Forgetful` is llguidance without two keywords. `Gated` is the miniature `AcceptsExtra` that waits at compilation until a file is there, so that a
test knows where a run stands without looking at a clock.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Self

from adapters.llguidance import LLGuidanceEngine
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Mask, Matcher, set_bits
from tests.miniatures import AcceptsExtra, LanguageMatcher, Schema

WRITTEN = b"1"
"""The text behind which the faults are; digits are single tokens, so every walk passes it."""

FORBIDS, ALLOWS = b"3", b"9"

PLANTED_CASES = [
    {"id": "forbids", "schema": {"title": "forbids", "enum": [12, 13, 20]}, "valid": [12]},
    {"id": "allows", "schema": {"title": "allows", "enum": [12, 13, 20]}, "valid": [12]},
    {"id": "dies", "schema": {"title": "dies", "enum": [12, 13, 20]}, "valid": [12]},
]

AGE = {"id": "age", "schema": {"type": "integer", "minimum": 21}, "valid": [35]}
PAIR = {"id": "pair", "valid": [["a", "b"]]}
PAIR["schema"] = {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2}
"""Cases in which `Forgetful` is wrong."""


class PlantedMatcher:
    """A matcher with one fault behind `WRITTEN`: ``forbids`` or ``allows``.

    Once the wrong token is written the rest goes on as if it had not been.
    """

    def __init__(self, inner: Matcher, vocabulary: Vocabulary, fault: str) -> None:
        self.inner = inner
        self.vocabulary = vocabulary
        self.fault = fault
        self.written = b""
        (self.token,) = vocabulary.ids_of(FORBIDS if fault == "forbids" else ALLOWS)

    def mask(self, out: Mask) -> None:
        """See `harness.protocol.Matcher.mask`."""
        self.inner.mask(out)
        if self.written == WRITTEN:
            planted = set_bits([self.token], len(out))
            out[:] = out & ~planted if self.fault == "forbids" else out | planted

    def consume(self, token: int) -> bool:
        """See `harness.protocol.Matcher.consume`."""
        planted = self.written == WRITTEN and token == self.token
        if planted and self.fault == "forbids":
            return False
        taken = planted or self.inner.consume(token)
        if taken:
            self.written += self.vocabulary.tokens[token]
        return taken

    def clone(self) -> Self:
        """See `harness.protocol.Matcher.clone`."""
        twin = copy(self)
        twin.inner = self.inner.clone()
        return twin


class Planted(LLGuidanceEngine):
    """llguidance with three faults."""

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        super().__init__(vocabulary, options)
        self.vocabulary = vocabulary

    def compile(self, schema: str) -> Matcher:  # type: ignore[override]
        """A matcher with the fault that the schema's title names."""
        fault = json.loads(schema).get("title")
        if fault == "dies":
            os.abort()
        inner = super().compile(schema)
        if fault not in ("forbids", "allows"):
            return inner
        return PlantedMatcher(inner, self.vocabulary, fault)


class Forgetful(LLGuidanceEngine):
    """llguidance that knows neither ``maxItems`` nor ``minimum``: two bugs."""

    def compile(self, schema: str) -> Matcher:  # type: ignore[override]
        forgotten = ("maxItems", "minimum")
        keep = lambda part: {name: part[name] for name in part if name not in forgotten}  # noqa: E731
        return super().compile(json.dumps(_changed(json.loads(schema), keep)))


class Fussy(LLGuidanceEngine):
    """llguidance that refuses integers below 1 and strings beyond three characters: two bugs."""

    BOUNDS = {"integer": {"minimum": 1}, "string": {"maxLength": 3}}  # noqa: RUF012

    def compile(self, schema: str) -> Matcher:  # type: ignore[override]
        bound = lambda part: {**part, **self.BOUNDS.get(part.get("type"), {})}  # noqa: E731
        return super().compile(json.dumps(_changed(json.loads(schema), bound)))


class FussyAboutNumbers(Fussy):
    """One of the two bugs of `Fussy`."""

    BOUNDS = {"integer": {"minimum": 1}}  # noqa: RUF012


def _changed(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(schema, list):
        return [_changed(part, change) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return change({name: _changed(part, change) for name, part in schema.items()})


class Gated(AcceptsExtra):
    """Waits at compilation until the file that ``x-gate`` names is there.

    Whoever waits says so by a file of its own beside it, whose name ends in its process id.
    """

    def matcher(self, schema: Schema) -> LanguageMatcher:
        """A matcher, once the gate is open."""
        if "x-gate" in schema:
            gate = Path(schema["x-gate"])
            gate.with_name(f"{gate.name}.{os.getpid()}").touch()
            while not gate.exists():
                time.sleep(0.01)
        return super().matcher(schema)
