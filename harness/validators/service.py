"""The service inside the validators' host: both validators for one schema at a time.

Commands: ``open`` (build both for a schema), ``judge`` (both, with the keyword of the first
error), ``judge_many`` (the same for texts that differ in one place), ``screen_many`` (likewise, but
short where the fast one alone already says invalid), ``valid_without_formats`` (judged with formats
as annotations), ``errors`` (all that is named about one
text) and ``cover`` (what texts reach of the schema).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from harness.jsontext.pointers import typed_steps
from harness.validators.batch.prepared_documents import Prepared, Whole
from harness.validators.coverage_meter import CoverageMeter
from harness.validators.encoded_rulings import EncodedRuling, of_outcome, of_suspicion
from harness.validators.format_rules import ANNOTATION
from harness.validators.validate import TextOutcome, UnjudgeableError, Validators
from harness.workers import wire


class ValidatorService:
    """Answers for the schema that was opened last."""

    validators: Validators
    _schema: str
    _prepared: Prepared | None = None
    _without_formats: Validators | None = None

    def handle(self, message: wire.Message) -> wire.Message:
        """Answer one command."""
        commands = {
            "open": self.open,
            "screen_many": self.screen_many,
            "judge": self.judge,
            "valid_without_formats": self.valid_without_formats,
            "judge_many": self.judge_many,
            "errors": self.errors,
            "cover": self.cover,
        }
        return commands[message.head["do"]](message)

    def open(self, message: wire.Message) -> wire.Message:
        """Build both validators for ``schema``, by the rule ``formats``."""
        self._prepared = self._without_formats = None
        self._schema = message.head["schema"]
        try:
            self.validators = Validators(message.head["schema"], message.head["formats"])
        except UnjudgeableError as problem:
            return wire.Message({"unjudgeable": problem.reason, "message": str(problem)[:2000]})
        return wire.Message({})

    def screen_many(self, message: wire.Message) -> wire.Message:
        """Of texts in parts, as `judge`, but `SUSPECT` where the fast validator alone says invalid.

        Arrays: ``prefix`` (bytes), ``middles`` and ``suffixes`` (lists of bytes), ``which`` (the
        number of each middle's suffix).
        """
        return self._many(message, Whole(self._screened, proven=False))

    def judge_many(self, message: wire.Message) -> wire.Message:
        """As `judge`, of texts in parts; arrays as for `screen_many`."""
        return self._many(message, Whole(self._judged, proven=True))

    def _many(self, message: wire.Message, whole: Whole) -> wire.Message:
        if self._prepared is None:
            self._prepared = Prepared(self.validators)
        arrays = message.arrays
        rulings = self._prepared.rule(
            arrays["prefix"].tobytes(),
            wire.Ragged.from_arrays(arrays, "middles"),
            wire.Ragged.from_arrays(arrays, "suffixes").strings(),
            arrays["which"],
            whole,
        )
        return _numbered(rulings)

    def judge(self, message: wire.Message) -> wire.Message:
        """What both say, as numbers into a list of distinct rulings."""
        texts = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        return _numbered(map(self._judged, texts))

    def valid_without_formats(self, message: wire.Message) -> wire.Message:
        """Which texts both call valid where formats are annotations: ``valid``, shape ``(n,)``."""
        if self._without_formats is None:
            self._without_formats = Validators(self._schema, ANNOTATION)
        texts = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        valid = [self._without_formats.judge(text).verdict == "valid" for text in texts]
        return wire.Message({}, {"valid": np.array(valid, dtype=np.bool_)})

    def _screened(self, text: bytes) -> EncodedRuling:
        found = self.validators.screen(text)
        return of_outcome(found) if isinstance(found, TextOutcome) else of_suspicion(found.place)

    def _judged(self, text: bytes) -> EncodedRuling:
        return of_outcome(self.validators.judge(text, explain=True))

    def errors(self, message: wire.Message) -> wire.Message:
        """The errors that the validators name: keyword, instance path, schema path."""
        (text,) = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        outcome = self.validators.judge(text, explain=True)
        found = [
            [one.keyword, typed_steps(one.instance_pointer), typed_steps(one.schema_pointer)]
            for opinion in outcome.opinions
            for one in opinion.errors
        ]
        return wire.Message({"errors": found})

    def cover(self, message: wire.Message) -> wire.Message:
        """What texts cover: the distinct features, which are possible, and which each text has."""
        meter = CoverageMeter(self.validators)
        texts = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        found = [meter.of_text(text) for text in texts]
        number = {one: at for at, one in enumerate(sorted(meter.possible))}
        each = wire.Ragged.of_ints([sorted(number[one] for one in some) for some in found])
        return wire.Message({"possible": list(number)}, each.arrays("each"))


def _numbered(rulings: Iterable[EncodedRuling]) -> wire.Message:
    """Rulings as numbers into a list of distinct ones."""
    kinds: dict[EncodedRuling, int] = {}
    numbers = [kinds.setdefault(one, len(kinds)) for one in rulings]
    return wire.Message({"kinds": list(kinds)}, {"rulings": np.array(numbers, dtype=np.int32)})
