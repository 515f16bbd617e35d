"""The service inside the validators' host: both validators for one schema at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from harness.validators.format_rules import ANNOTATION
from harness.validators.judge import SUSPECT, VERDICTS, Ruling
from harness.validators.validate import TextOutcome, UnjudgeableError, Validators
from harness.workers import wire


class ValidatorService:
    """Answers the commands of `harness.validators.judge.Judge` for the schema opened last."""

    validators: Validators
    _schema: str
    _without_formats: Validators | None = None

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command: ``do`` in the header names the method."""
        answer: wire.Message = getattr(self, message.head["do"])(message)
        return answer

    def open(self, message: wire.Message) -> wire.Message:
        """Build both validators for ``schema``, by the rule ``formats``."""
        self._schema, self._without_formats = message.head["schema"], None
        try:
            self.validators = Validators(self._schema, message.head["formats"])
        except UnjudgeableError as problem:
            return wire.Message({"unjudgeable": problem.reason, "message": str(problem)[:2000]})
        return wire.Message({})

    def screen(self, message: wire.Message) -> wire.Message:
        """As `judge`, but `SUSPECT` where the fast validator alone says invalid."""
        return _numbered(map(self._screened, _texts(message)))

    def judge(self, message: wire.Message) -> wire.Message:
        """What both say, as numbers into a list of distinct rulings."""
        return _numbered(_ruling(self.validators.judge(text, errors=1)) for text in _texts(message))

    def judge_without_formats(self, message: wire.Message) -> wire.Message:
        if self._without_formats is None:
            self._without_formats = Validators(self._schema, ANNOTATION)
        return _numbered(_ruling(self._without_formats.judge(one)) for one in _texts(message))

    def _screened(self, text: bytes) -> Ruling:
        screened = self.validators.screen(text)
        if isinstance(screened, TextOutcome):
            return _ruling(screened)
        return Ruling(SUSPECT, "", *screened, "", "invalid")

    def opinions(self, message: wire.Message) -> wire.Message:
        """What each validator by itself says of one text, with so many ``errors``."""
        (text,) = _texts(message)
        outcome = self.validators.judge(text, errors=message.head["errors"])
        answer: dict[str, Any] = {
            name: getattr(outcome, name) for name in ("verdict", "reason", "detail")
        }
        for one in outcome.opinions:
            errors = [error._asdict() for error in one.errors]
            answer[one.validator] = {"valid": one.valid, "failure": one.failure, "errors": errors}
        return wire.Message({"opinions": answer})

    def reached(self, message: wire.Message) -> wire.Message:
        return wire.Message({"places": list(map(self.validators.reached, _texts(message)))})


def _texts(message: wire.Message) -> list[bytes]:
    return wire.Ragged.from_arrays(message.arrays, "texts").strings()


def _ruling(outcome: TextOutcome) -> Ruling:
    """The ruling that an outcome makes: the first error named, jsonschema's before the other's."""
    place = ("json" if outcome.reason == "not_json" else ""), "", ""
    errors = [error for opinion in outcome.opinions for error in opinion.errors]
    words = {None: "", True: "valid", False: "invalid"}
    first, second = (words[one.valid] for one in outcome.opinions)
    number = VERDICTS.index(outcome.verdict)
    return Ruling(number, outcome.reason, *(errors[0][:3] if errors else place), first, second)


def _numbered(rulings: Iterable[Ruling]) -> wire.Message:
    kinds: dict[Ruling, int] = {}
    numbers = [kinds.setdefault(one, len(kinds)) for one in rulings]
    return wire.Message({"kinds": list(kinds)}, {"rulings": np.array(numbers, dtype=np.int32)})
