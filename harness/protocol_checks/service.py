"""What answers in an engine's host: one rule of one case at a time.

So what crashes or hangs there is known by the rule at which it did, and by the `Bookmark` of the
trial, which is written before it is made.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, Refused, ServingEngine, library_of
from harness.protocol_checks.places import Thoroughness, places_of, routes_of
from harness.protocol_checks.rules import RULES, hold, judged
from harness.protocol_checks.smoke import opened
from harness.protocol_checks.trial import Subject, Tokens
from harness.workers import wire
from harness.workers.host_process import load

_MOST = 1 << 15
"""Tokens before, and as many of the trial, that there is room for."""
_NOTHING, _PREPARING = -2, -1


class Bookmark:
    """The trial that a process is at, in a file's memory, which outlives the process.

    Writing takes about a microsecond, so that every token of a sweep through the vocabulary can
    have one. Whoever opens the file first makes it.
    """

    def __init__(self, file: Path) -> None:
        with file.open("ab+") as opened:
            opened.truncate(8 * (_MOST + 1))
            memory = mmap.mmap(opened.fileno(), 8 * (_MOST + 1))
        self._numbers = memoryview(memory).cast("i")  # two counts, the tokens before, the trial's
        self._consumed: Tokens | None = None

    def clear(self) -> None:
        """Nothing is being tried."""
        self._consumed, self._numbers[0] = None, _NOTHING

    def put(self, consumed: Tokens, tokens: Tokens | None) -> None:
        """Say what is going to be tried; None: something is looked for there."""
        if consumed is not self._consumed:  # a sweep stays at a place
            self._write(2, consumed)
            self._consumed, self._numbers[1] = consumed, len(consumed)
        self._write(2 + _MOST, tokens or ())
        self._numbers[0] = _PREPARING if tokens is None else len(tokens)

    def read(self) -> tuple[Tokens, Tokens | None] | None:
        """What was put there last; None where nothing is being tried, or it had no room."""
        count, before = self._numbers[0], self._numbers[1]
        if count == _NOTHING or max(count, before) > _MOST:
            return None
        tokens = tuple(self._numbers[2 + _MOST : 2 + _MOST + max(count, 0)])
        return tuple(self._numbers[2 : 2 + before]), None if count == _PREPARING else tokens

    def _write(self, at: int, tokens: Tokens) -> None:
        some = array("i", tokens[:_MOST])
        self._numbers[at : at + len(some)] = memoryview(some)


class CheckService:
    """One engine, and the case that was opened last."""

    def __init__(self) -> None:
        self._engine: Engine
        self._vocabulary: Vocabulary
        self._bookmark: Bookmark
        self._subject: Subject
        self._routes: list[Tokens] = []
        self._how = Thoroughness()

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one request, by its ``command``."""
        head = message.head
        answer: dict[str, Any] = getattr(self, f"_{head['command']}")(head)
        return wire.Message(answer)

    def _open(self, head: Mapping[str, Any]) -> dict[str, Any]:
        self._vocabulary = Vocabulary.load(head["vocabulary"])
        self._bookmark = Bookmark(Path(head["bookmark"]))
        self._engine = opened(load(head["engine"]), self._vocabulary, head["options"])
        return {"version": self._engine.info.version}

    def _case(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Compile a schema twice, as the adapter's and as the library's, and find the routes."""
        engine, schema = self._engine, head["schema"]
        try:
            start = engine.compile(schema)
            serves = isinstance(engine, ServingEngine)
            ends = self._vocabulary.eos_ids
            library = engine.library(schema) if serves else library_of(start.clone, ends)  # type: ignore[attr-defined]
        except Refused as refusal:
            return {"refused": str(refusal)[:2000]}
        self._how = Thoroughness(**head["how"])
        references = [
            (text.encode("latin-1"), {int(at): token for at, token in tokens.items()})
            for text, tokens in head["references"]
        ]
        self._routes = routes_of(start, self._vocabulary, references, self._how, head["key"])
        self._subject = Subject(library, self._vocabulary, self._bookmark.put)
        about = {"documented": dict(library.documented), "by_adapter": library.by_adapter}
        return {"refused": None, **about}

    def _rule(self, head: Mapping[str, Any]) -> dict[str, Any]:
        key = f"{head['key']}/{head['rule']}"
        places = places_of(self._routes, self._vocabulary, self._how, key)
        return hold(RULES[head["rule"]], self._subject, places).as_json()

    def _trial(self, head: Mapping[str, Any]) -> dict[str, Any]:
        consumed = tuple(head["consumed"])
        tokens = None if head["tokens"] is None else tuple(head["tokens"])
        reached = self._subject.reaches(consumed)
        complaint = judged(RULES[head["rule"]], self._subject, consumed, tokens)
        return {"complaint": complaint, "reached": reached}
