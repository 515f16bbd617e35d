"""The service inside the validators' host: both validators for one schema at a time.

Commands: ``open`` (build both for a schema), ``judge`` (both, with the keyword of the first
error), ``weigh`` and ``weigh_faults`` (the same, but short where the fast one alone already says
invalid) and ``errors`` (all that is named about one text).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from harness import wire
from harness.judge import DOUBTFUL, SUSPECT, VERDICTS
from harness.validate import Opinion, Outcome, Unjudgeable, Validators

Ruled = tuple[int, str, str, str, str, str, str]
"""The fields of a `harness.judge.Ruling`."""

_NUMBER = {verdict: number for number, verdict in enumerate(VERDICTS)}

_INDEX = re.compile(r"0|[1-9][0-9]*")


class ValidatorService:
    """Answers for the schema that was opened last."""

    validators: Validators

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command."""
        commands = {
            "open": self.open,
            "weigh": self.weigh,
            "weigh_faults": self.weigh_faults,
            "judge": self.judge,
            "errors": self.errors,
        }
        return commands[message.head["do"]](message)

    def open(self, message: wire.Message) -> wire.Message:
        """Build both validators."""
        try:
            self.validators = Validators(message.head["schema"])
        except Unjudgeable as problem:
            return wire.Message({"unjudgeable": problem.reason, "message": str(problem)[:2000]})
        return wire.Message({})

    def weigh(self, message: wire.Message) -> wire.Message:
        """As `judge`, but `DOUBTFUL` where the fast validator alone already says invalid."""
        return _answer(message, self._weighed)

    def weigh_faults(self, message: wire.Message) -> wire.Message:
        """As `weigh`, but `SUSPECT` with the error that the fast validator names."""
        return _answer(message, self._faulted)

    def judge(self, message: wire.Message) -> wire.Message:
        """What both say, as numbers into a list of distinct rulings."""
        return _answer(message, self._judged)

    def _weighed(self, text: bytes) -> Ruled | None:
        return None if self.validators.quick(text) is False else self._judged(text)

    def _faulted(self, text: bytes) -> Ruled:
        fault = self.validators.suspicion(text)
        if fault is None:
            return self._judged(text)
        where = (fault.keyword, fault.schema_pointer, fault.instance_pointer)
        return SUSPECT, "", *where, "", "invalid"

    def _judged(self, text: bytes) -> Ruled:
        return _ruled(self.validators.judge(text, explain=True))

    def errors(self, message: wire.Message) -> wire.Message:
        """The errors that the validators name: keyword, instance path, schema path."""
        (text,) = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        outcome = self.validators.judge(text, explain=True)
        found = [
            [one.keyword, pointer_parts(one.instance_pointer), pointer_parts(one.schema_pointer)]
            for opinion in outcome.opinions
            for one in opinion.errors
        ]
        return wire.Message({"errors": found})


def _answer(message: wire.Message, rule: Callable[[bytes], Ruled | None]) -> wire.Message:
    """Rulings on the message's texts, as numbers into a list of distinct ones."""
    texts = wire.Ragged.from_arrays(message.arrays, "texts").strings()
    kinds: dict[Ruled, int] = {}
    rulings = []
    for text in texts:
        ruled = rule(text)
        rulings.append(DOUBTFUL if ruled is None else kinds.setdefault(ruled, len(kinds)))
    return wire.Message({"kinds": list(kinds)}, {"rulings": np.array(rulings, dtype=np.int32)})


def _ruled(outcome: Outcome) -> Ruled:
    said = [_said(opinion) for opinion in outcome.opinions]
    return _NUMBER[outcome.verdict], outcome.reason, *_first_error(outcome), said[0], said[1]


def _said(opinion: Opinion) -> str:
    return "" if opinion.valid is None else "valid" if opinion.valid else "invalid"


def pointer_parts(pointer: str) -> list[str | int]:
    """The parts of a JSON Pointer (RFC 6901); what can be an index becomes a number."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return [int(part) if _INDEX.fullmatch(part) else part for part in parts]


def _first_error(outcome: Outcome) -> tuple[str, str, str]:
    """The first error named, jsonschema's before the other's; ``json`` for what is no JSON."""
    for opinion in outcome.opinions:
        for error in opinion.errors:
            return error.keyword, error.schema_pointer, error.instance_pointer
    return ("json" if outcome.reason == "not_json" else ""), "", ""
