"""What answers the protocol court in an engine's host: one rule of one case at a time.

So what crashes or hangs there is told of the rule at which it did.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.court.bookmark import Bookmark
from harness.court.routes import Reference, Thoroughness, places_of, routes_of
from harness.court.rules import RULES, as_json, hold, judged
from harness.court.trial import Subject
from harness.engines.smoke import made
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, Library, Matcher, Refused, ServingEngine, library_of
from harness.workers import wire
from harness.workers.host_process import load


class CourtService:
    """One engine, and the case that was opened last."""

    def __init__(self) -> None:
        self._engine: Engine
        self._vocabulary: Vocabulary
        self._bookmark: Bookmark
        self._subject: Subject
        self._routes: list[tuple[int, ...]] = []
        self._how = Thoroughness()

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one request, by its ``command``."""
        head = message.head
        answer: dict[str, Any] = getattr(self, f"_{head['command']}")(head)
        return wire.Message(answer)

    def _open(self, head: Mapping[str, Any]) -> dict[str, Any]:
        self._vocabulary = Vocabulary.load(head["vocabulary"])
        self._bookmark = Bookmark(Path(head["bookmark"]))
        self._engine = made(load(head["engine"]), self._vocabulary, head["options"])
        return {"version": self._engine.info.version}

    def _case(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Compile a schema twice, as the adapter's and as the library's, and find the routes."""
        try:
            start = self._engine.compile(head["schema"])
            library = self._library(head["schema"], start)
        except Refused as refusal:
            return {"refused": str(refusal)[:2000]}
        self._how = Thoroughness(**head["how"])
        references = [
            Reference(text.encode("latin-1"), {int(at): one for at, one in tokens.items()})
            for text, tokens in head["references"]
        ]
        key = head["key"]
        self._routes = routes_of(start, self._vocabulary, references, self._how, key)
        self._subject = Subject(library, self._vocabulary, self._bookmark.put)
        return {
            "refused": None,
            "documented": dict(library.documented),
            "by_adapter": library.by_adapter,
        }

    def _library(self, schema: str, start: Matcher) -> Library:
        if isinstance(self._engine, ServingEngine):
            return self._engine.library(schema)
        return library_of(start.clone, self._vocabulary.eos_ids)

    def _rule(self, head: Mapping[str, Any]) -> dict[str, Any]:
        rule = RULES[head["rule"]]
        places = places_of(self._routes, self._vocabulary, self._how, f"{head['key']}/{rule.name}")
        return as_json(hold(rule, self._subject, places))

    def _trial(self, head: Mapping[str, Any]) -> dict[str, Any]:
        consumed = tuple(head["consumed"])
        tokens = None if head["tokens"] is None else tuple(head["tokens"])
        reached = self._subject.reaches(consumed)
        complaint = judged(RULES[head["rule"]], self._subject, consumed, tokens)
        return {"complaint": complaint, "reached": reached}
