"""Runs written by hand, for tests of replaying: every verdict is what the test says."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import __version__
from harness.comparison.case_run import CaseRun, Rules
from harness.engines.panel import Limits
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.replay.repeat import Replayed, repeat
from harness.replay.witness_reader import every, witnesses
from harness.runs.directory import RunDirectory, create_or_resume
from tests.books import Sheet
from tests.inprocess import InProcessJudge, InProcessPanel, names_of

VOCABULARY = byte_vocabulary()
EOS = VOCABULARY.eos


class Book(Sheet):
    """The rows of one case with one walk, through the text of `value`."""

    def __init__(self, name: str, schema: Any, value: Any, vocabulary: Vocabulary = VOCABULARY):
        super().__init__(name)
        self.vocabulary = vocabulary
        self.text = json.dumps(value).encode()
        self.add("cases", schema=json.dumps(schema), status="walked")
        self.path = (*vocabulary.encode_greedy(self.text), vocabulary.eos)
        for number, token in enumerate(self.path):
            self.add("positions", walk=0, position=number, token=token, place="here")

    def completion(self, text: bytes, *, end: bool = True) -> int:
        """The number of a completion; without an `end` of sequence where it is said so."""
        number = self.rows.count("completions")
        tokens = self.vocabulary.encode_greedy(text) + [self.vocabulary.eos] * end
        self.add("completions", completion=number, text=text, tokens=tokens)
        return number

    def verdict(self, kind, engine, before, token, completion=-1, accepter="", **others):
        """The row of a verdict about `token` after the text `before` of the walk."""
        number = self.rows.count("verdicts")
        self.add(
            "verdicts",
            walk=0,
            position=len(self.vocabulary.encode_greedy(before)),
            token=token if isinstance(token, int) else self.vocabulary.ids_of(token)[0],
            engine=engine,
            kind=kind,
            accepter=accepter,
            completion=completion,
            **others,
        )
        return number

    def instance(self, text: bytes) -> int:
        """The number of an instance."""
        number = self.rows.count("instances")
        tokens = [*self.vocabulary.encode_greedy(text), self.vocabulary.eos]
        self.add("instances", instance=number, text=text, tokens=tokens, canonical=True)
        return number

    def instance_verdict(self, kind, engine, instance, consumed, token=-1, **others):
        """A verdict about an engine that consumed so many tokens, and was then shown `token`."""
        about = {"instance": instance, "consumed": consumed, "token": token}
        self.add("instance_verdicts", kind=kind, engine=engine, **about, **others)


def stored(directory: Path, books: Sequence[Book], engines: Sequence[str]) -> RunDirectory:
    """The finished run of these cases; engines are named as in a spec."""
    run = unfinished(directory, books, engines)
    run.finish({"seconds": 0.0})
    return run


def unfinished(directory: Path, books: Sequence[Book], engines: Sequence[str]) -> RunDirectory:
    """As `stored`, its cases not yet put together."""
    vocabulary = books[0].vocabulary
    vocabulary.save(directory / "vocabulary")
    identity = {
        "harness": {"version": __version__},
        "engines": {
            one: {"packages": {"maskcourt": __version__}, "options": {"compact": True}}
            for one in engines
        },
        "vocabulary": {"spec": str(directory / "vocabulary"), "eos": None}
        | {"sha256": vocabulary.sha256},
        "limits": asdict(Limits()),
    }
    run = create_or_resume(directory / "run", identity, {})
    for ordinal, book in enumerate(books):
        run.write_case(ordinal, book.rows)
    run.release()
    return run


def replayed(directory: Path, books: Sequence[Book], engines: Sequence[type]) -> list[Replayed]:
    """All verdicts of these cases, repeated on engines in this process."""
    run = unfinished(directory, books, names_of(engines))
    vocabulary = books[0].vocabulary
    panel = InProcessPanel(engines, vocabulary)
    tools = CaseRun(panel, InProcessJudge(), vocabulary, None, Rules())
    return list(repeat(tools, witnesses(run, every(run), vocabulary)))
