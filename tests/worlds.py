"""Small worlds: all texts over a few bytes up to a length, so that nothing about them is unknown.

Of each token behind a written text a world knows whether any valid text goes on with it, whatever
an engine thinks. The engines here allow exactly the valid texts of a world (`Speller`), those of a
weaker schema (`Forgets`), those of a stronger one (`Insists`), or what they are told (`Allows`).
Annotations say how:

``x-world``: The name of a world in `WORLDS`.
``x-forgets``: A JSON Pointer to the keyword that `Forgets` knows nothing of.
``x-insists``: A schema that `Insists` obeys besides.
``x-allows``: The texts of `Allows`.
"""

import contextlib
import itertools
import json
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from harness.runs.tables import Rows
from tests import miniatures
from tests.miniatures import Language, Schema
from tests.oracle import (
    Trial,
    Verdict,
    acceptance_of,
    broken,
    is_valid,
    rejection_of,
    splits,
    verdicts_at,
)


@dataclass(frozen=True)
class World:
    """All texts of at most `length` bytes, each in `alphabet`."""

    alphabet: bytes
    length: int

    @cached_property
    def values(self) -> dict[bytes, Any]:
        """The texts that are JSON, with their values."""
        found = {}
        for length in range(1, self.length + 1):
            for letters in map(bytes, itertools.product(self.alphabet, repeat=length)):
                if letters.count(b"[") == letters.count(b"]"):  # else no JSON, and most are like it
                    with contextlib.suppress(ValueError):
                        found[letters] = json.loads(letters)
        return found

    def valid(self, schema: Schema) -> frozenset[bytes]:
        """The texts that are valid; annotations say nothing of that."""
        said = {keyword: one for keyword, one in schema.items() if not keyword.startswith("x-")}
        return _valid(self, json.dumps(said))


@cache
def _valid(world: World, schema: str) -> frozenset[bytes]:
    said = json.loads(schema)
    return frozenset(text for text, value in world.values.items() if not broken(said, value))


WORLDS = {
    "arrays": World(b"[],12 ", 6),
    "nests": World(b"[], ", 8),
    "numbers": World(b"120.e-", 6),
    "strings": World(b'"\\/a ', 6),
}
LONGER = (b"12", b", ", b"[1", b"1]", b",1", b"[]", b'/"', b"\\/", b"0 ", b".0", b"1 ")
"""Ordinary tokens beside the single bytes."""


class Speller(miniatures.Enumerator):
    """Honest, and knows every spelling."""

    def language(self, schema: Schema) -> Language:
        return Language(WORLDS[schema["x-world"]].valid(schema))


class Forgets(Speller):
    """False acceptances: allows what is valid without one keyword."""

    def language(self, schema: Schema) -> Language:
        weaker = deepcopy(schema)
        *parents, keyword = schema["x-forgets"].split("/")[1:]
        holder = weaker
        for name in parents:
            holder = holder[name]
        del holder[keyword]
        return super().language(weaker)


class Insists(Speller):
    """False rejections: allows only what is valid under another schema too."""

    def language(self, schema: Schema) -> Language:
        both = super().language({**schema["x-insists"], "x-world": schema["x-world"]})
        return Language(super().language(schema).texts & both.texts)


class Allows(Speller):
    """Wrong at will: allows the texts of ``x-allows`` and no others."""

    def language(self, schema: Schema) -> Language:
        return Language(frozenset(text.encode() for text in schema["x-allows"]))


Place = tuple[int, int]
"""Position and token."""


def exact(trial: Trial, rows: Rows) -> dict[Place, set[tuple[str, str]]]:
    """Engines and kinds of what is wrong about every disputed token, by the languages alone.

    A token that some engine can finish validly is right, and all who reject it are wrong; else
    all who accept it are.
    """
    names = [kind.__name__ for kind in trial.engines]
    found = {}
    for split in splits(trial, rows):
        whole_texts = [
            trial.whole_texts(one, split.written, split.token) for one in split.accepters
        ]
        kind, engines = acceptance_of(trial, split), split.accepters
        if any(is_valid(trial.schema, text) for text in set().union(*whole_texts)):
            kind, engines = rejection_of(trial, split), split.rejecters
        found[split.place] = {(names[engine], kind) for engine in engines}
    return found


def told(trial: Trial, rows: Rows) -> dict[Place, set[tuple[str, str]]]:
    """What the method says of the same; to be held against `exact`."""
    return {
        place: {(one["engine"], one["kind"]) for one in verdicts}
        for place, verdicts in verdicts_at(rows).items()
    }


def hopeless(trial: Trial, written: bytes, verdict: Verdict) -> bool:
    """Whether no valid text of the world begins with what is written and the verdict's token."""
    right = WORLDS[trial.schema["x-world"]].valid(trial.schema)
    if verdict["token"] == trial.vocabulary.eos:
        return written not in right
    begun = written + trial.bytes_of(verdict["token"])
    return not any(text.startswith(begun) for text in right)
