"""The service inside the validators' host: both validators for one schema at a time.

Commands: ``open`` (build both for a schema), ``screen`` (the fast validator's word, to decide
what to try next), ``judge`` (both, with the keyword of the first error) and ``errors`` (all that
is named about one text).
"""

from __future__ import annotations

import re

import numpy as np

from harness import wire
from harness.judge import VERDICTS
from harness.validate import Outcome, Unjudgeable, Validators

_NUMBER = {verdict: number for number, verdict in enumerate(VERDICTS)}

_INDEX = re.compile(r"0|[1-9][0-9]*")


class ValidatorService:
    """Answers for the schema that was opened last."""

    validators: Validators

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command."""
        commands = {
            "open": self.open,
            "screen": self.screen,
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

    def screen(self, message: wire.Message) -> wire.Message:
        """One verdict per text; both validators are asked where the fast one cannot say."""
        texts = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        verdicts = np.array([self._screened(text) for text in texts], dtype=np.int8)
        return wire.Message({}, {"verdicts": verdicts})

    def judge(self, message: wire.Message) -> wire.Message:
        """What both say, as numbers into a list of distinct rulings."""
        texts = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        kinds: dict[tuple[int, str, str, str, str], int] = {}
        rulings = [kinds.setdefault(self._ruling(text), len(kinds)) for text in texts]
        return wire.Message({"kinds": list(kinds)}, {"rulings": np.array(rulings, dtype=np.int32)})

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

    def _screened(self, text: bytes) -> int:
        quick = self.validators.quick(text)
        if quick is None:
            return _NUMBER[self.validators.judge(text).verdict]
        return _NUMBER["valid" if quick else "invalid"]

    def _ruling(self, text: bytes) -> tuple[int, str, str, str, str]:
        outcome = self.validators.judge(text, explain=True)
        keyword = schema_pointer = instance_pointer = ""
        if outcome.verdict == "invalid":
            keyword, schema_pointer, instance_pointer = _first_error(outcome)
        verdict = _NUMBER[outcome.verdict]
        return verdict, outcome.reason, keyword, schema_pointer, instance_pointer


def pointer_parts(pointer: str) -> list[str | int]:
    """The parts of a JSON Pointer (RFC 6901); what can be an index becomes a number."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return [int(part) if _INDEX.fullmatch(part) else part for part in parts]


def _first_error(outcome: Outcome) -> tuple[str, str, str]:
    """The first error that jsonschema names; texts that are no JSON have the keyword ``json``."""
    for opinion in outcome.opinions:
        for error in opinion.errors:
            return error.keyword, error.schema_pointer, error.instance_pointer
    return ("json" if outcome.reason == "not_json" else ""), "", ""
