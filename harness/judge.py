"""The judge: both validators in a host of their own, asked about many texts at a time.

A pattern that explodes or a schema that overflows a native stack ends the validators' host and
not the run: the texts of that request stay undecided, and nobody is blamed for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import wire
from harness.hosts import Host, HostSpec

VERDICTS = ("valid", "invalid", "contested", "undecided", "suspect")
VALID, INVALID, CONTESTED, UNDECIDED, SUSPECT = range(5)
"""`SUSPECT`: the fast validator alone says invalid. It proves nothing, and only `weigh_faults`
says it."""

DOUBTFUL = -1
"""In answers to ``weigh``: the fast validator alone says invalid."""

CHUNK = 2048
"""Texts per request."""

_PATIENCE = 3
"""After this many dead hosts in one case the rest of its texts stay undecided unasked."""


Fault = tuple[str, tuple[str | int, ...], tuple[str | int, ...]]
"""An error that a validator names: keyword, instance path, schema path."""


@dataclass(frozen=True)
class Ruling:
    """What both validators together say of one text.

    Attributes:
        verdict: Its number in `VERDICTS`.
        reason: "" where both say the same; else that of `harness.validate.Outcome`.
        keyword: That of the first error: the one that jsonschema names of an invalid text, and
            the one that the validator which says invalid names where the two differ. ``json`` for
            what is no JSON, "" for a valid text.
        schema_pointer: Where that keyword stands in the schema; a JSON Pointer.
        instance_pointer: What the error is about in the text; a JSON Pointer.
        jsonschema: ``valid`` or ``invalid``; "" where it was not asked or failed.
        jsonschema_rs: Likewise.
    """

    verdict: int
    reason: str
    keyword: str = ""
    schema_pointer: str = ""
    instance_pointer: str = ""
    jsonschema: str = ""
    jsonschema_rs: str = ""


@dataclass(frozen=True)
class Unjudgeable:
    """The validators cannot be built for this schema; nothing can be proven about the case."""

    reason: str
    message: str


class Judge:
    """The validators' host, opened for one schema at a time."""

    def __init__(self, memory: int, seconds: float = 30.0) -> None:
        self.seconds = seconds
        self._host = Host(
            HostSpec("validators", "harness.validator_service:ValidatorService", memory=memory)
        )
        self._schema: str | None = None
        self._deaths = 0

    def open(self, schema: str) -> Unjudgeable | None:
        """Prepare for one schema, giving the host a fresh start if it is down."""
        self._schema, self._deaths = schema, 0
        return self._open()

    def weigh(self, texts: Sequence[bytes]) -> list[Ruling | None]:
        """What both validators say of each text; None where it is doubtful.

        A text is doubtful when the fast validator alone already calls it invalid: that decides
        what to try next, and proves nothing.
        """
        rulings: list[Ruling | None] = []
        for at in range(0, len(texts), CHUNK):
            rulings += self._ruled("weigh", texts[at : at + CHUNK])
        return rulings

    def weigh_faults(self, texts: Sequence[bytes]) -> list[Ruling]:
        """As `weigh`, but a doubtful text is `SUSPECT`, with the error that the fast one names.

        What is no JSON is not doubtful: it is invalid, with the keyword ``json``.
        """
        return self._certain("weigh_faults", texts)

    def judge(self, texts: Sequence[bytes]) -> list[Ruling]:
        """What both validators say of each text."""
        return self._certain("judge", texts)

    def errors(self, text: bytes) -> list[Fault]:
        """The errors of an invalid text: keyword, instance path, schema path; [] if unknown."""
        answer = self._ask("errors", [text])
        if answer is None:
            return []
        return [
            (keyword, tuple(instance), tuple(schema))
            for keyword, instance, schema in answer.head["errors"]
        ]

    def close(self) -> None:
        """End the host."""
        self._host.close()

    def _certain(self, what: str, texts: Sequence[bytes]) -> list[Ruling]:
        """The rulings of a command that leaves no text without one."""
        rulings: list[Ruling] = []
        for at in range(0, len(texts), CHUNK):
            ruled = self._ruled(what, texts[at : at + CHUNK])
            rulings += [one for one in ruled if one is not None]
        return rulings

    def _ruled(self, what: str, texts: Sequence[bytes]) -> list[Ruling | None]:
        answer = self._ask(what, texts)
        if answer is None:
            return [Ruling(UNDECIDED, "validator_died")] * len(texts)
        kinds = [Ruling(*kind) for kind in answer.head["kinds"]]
        return [
            None if number == DOUBTFUL else kinds[number]
            for number in answer.arrays["rulings"].tolist()
        ]

    def _open(self) -> Unjudgeable | None:
        if not self._host.running and (ended := self._host.start()) is not None:
            return Unjudgeable("validators_do_not_start", ended.message)
        answer = self._host.request({"do": "open", "schema": self._schema}, limit=self.seconds)
        if not isinstance(answer, wire.Message):
            self._host.stop()
            return Unjudgeable("validators_" + answer.word, answer.message)
        if "unjudgeable" in answer.head:
            return Unjudgeable(answer.head["unjudgeable"], answer.head["message"])
        return None

    def _ask(self, what: str, texts: Sequence[bytes]) -> wire.Message | None:
        if self._deaths >= _PATIENCE:
            return None
        if not self._host.running and self._open() is not None:
            self._deaths += 1
            return None
        arrays = wire.Ragged.of_bytes(texts).arrays("texts")
        answer = self._host.request({"do": what}, arrays, limit=self.seconds)
        if isinstance(answer, wire.Message):
            return answer
        self._deaths += 1
        self._host.stop()
        return None
