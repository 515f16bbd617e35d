"""The judge: both validators in a host of their own, asked about many texts at a time.

A pattern that explodes or a schema that overflows a native stack ends the validators' host and
not the run: the texts of that request stay undecided, and nobody is blamed for them. A host that
somebody else killed (for want of memory, say) is started and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partialmethod
from itertools import islice
from typing import Any, NamedTuple

from harness.errors import MaskcourtError
from harness.jsontext.pointers import typed_steps
from harness.schemas.schema import Fault
from harness.validators.format_rules import ASSERTION
from harness.workers import wire
from harness.workers.hosts import Ended, Host, HostSpec
from harness.workers.outcomes import Crashed

VERDICTS = ("valid", "invalid", "contested", "undecided", "suspect")
VALID, INVALID, CONTESTED, UNDECIDED, SUSPECT = range(5)
"""`SUSPECT`, of `Judge.screen`: the fast validator alone says invalid, which proves nothing."""

CHUNK = 512
"""Texts per request."""

_PATIENCE = 3
"""After this many dead hosts in one case the rest of its texts stay undecided unasked."""

MAX_FAILURES = 16
"""Errors of each validator to ask for where all are wanted; they may name thousands."""
_SHOWN = 3
"""Errors of each validator that a reader is shown."""
_POINTERS = ("instance_pointer", "schema_pointer")

MAX_KILLS = 5
"""A host that is killed more often in one case ends the run, which can be gone on with."""


class Ruling(NamedTuple):
    """What both validators together say of one text."""

    verdict: int
    """Its number in `VERDICTS`."""
    reason: str
    """"" where both say the same; else that of `harness.validators.validate.TextOutcome`."""
    keyword: str = ""
    """That of the first error: the one that jsonschema names of an invalid text, and the one that
    the validator which says invalid names where the two differ. ``json`` for what is no JSON."""
    schema_pointer: str = ""
    """Where that keyword stands in the schema; a JSON Pointer."""
    instance_pointer: str = ""
    """What the error is about in the text; a JSON Pointer."""
    jsonschema: str = ""
    """``valid`` or ``invalid``; "" where it was not asked or failed."""
    jsonschema_rs: str = ""


_DIED = Ruling(UNDECIDED, "validator_died")


class Unjudgeable(NamedTuple):
    """The validators cannot be built for this schema; nothing can be proven about the case."""

    reason: str
    message: str


class Judge:
    """The validators' host, opened for one schema at a time.

    The host is ended at so many resident bytes of `memory`, a request after so many `seconds` of
    processor time; a few such ends, and the rest of the case stays undecided unasked. Whatever asks
    it raises a `MaskcourtError` where somebody kills the host again and again.
    """

    meanwhile: Callable[[], None] | None = None
    """Called again and again while the validators are waited for."""
    _kills = 0

    def __init__(self, memory: int, seconds: float = 30.0, formats: str = ASSERTION) -> None:
        self.seconds = seconds
        self.formats = formats
        service = "harness.validators.service:ValidatorService"
        self._host = Host(HostSpec(service, memory=memory))
        self.schema: str | None = None
        """The schema that it was opened for last."""
        self._deaths = self._deaths_apart = 0

    def open(self, schema: str) -> Unjudgeable | None:
        """Prepare for one schema, giving the host a fresh start if it is down."""
        self.schema, self._deaths, self._deaths_apart, self._kills = schema, 0, 0, 0
        return self._open()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Deaths of the host over what is asked inside count apart from others."""
        self._deaths, self._deaths_apart = self._deaths_apart, self._deaths
        try:
            yield
        finally:
            self._deaths, self._deaths_apart = self._deaths_apart, self._deaths

    def _ruled(self, what: str, texts: Iterable[bytes]) -> list[Ruling]:
        rulings: list[Ruling] = []
        left = iter(texts)
        while some := list(islice(left, CHUNK)):
            if (answer := self._ask(what, some)) is None:
                rulings += [_DIED] * len(some)
            else:
                kinds = [Ruling(*kind) for kind in answer.head["kinds"]]
                rulings += [kinds[number] for number in answer.arrays["rulings"].tolist()]
        return rulings

    judge = partialmethod(_ruled, "judge")
    """What both validators say of each text."""
    screen = partialmethod(_ruled, "screen")
    """As `judge`, but a text that the fast validator alone calls invalid is `SUSPECT`.

    The error is the one that it names. What is no JSON is invalid, with the keyword ``json``.
    """

    def valid_without_formats(self, texts: Sequence[bytes]) -> list[bool]:
        """Which texts both validators call valid where formats are annotations."""
        with self.apart():
            return [one.verdict == VALID for one in self._ruled("judge_without_formats", texts)]

    def errors(self, text: bytes) -> list[Fault]:
        """The errors of an invalid text: keyword, instance path, schema path; [] if unknown."""
        answer = self._ask("opinions", [text], errors=MAX_FAILURES)
        opinions = {} if answer is None else answer.head["opinions"]
        return [
            (error["keyword"], *(tuple(typed_steps(error[one])) for one in _POINTERS))
            for name in ("jsonschema", "jsonschema-rs")
            for error in opinions.get(name, {}).get("errors", ())
        ]

    def opinions(self, schema: str, text: bytes) -> dict[str, Any]:
        """What both validators say of `text`, in words; opened for `schema` if need be.

        ``verdict`` (see `harness.validators.validate.TextOutcome`), ``reason``, ``detail``, and for
        each validator by its name ``valid`` (None where it was not asked), ``failure``, and the
        first of its ``errors``: ``keyword``, ``schema_pointer``, ``instance_pointer``, ``message``.
        """
        refused = None if schema == self.schema else self.open(schema)
        if refused is not None:
            self.schema = None
            return {"verdict": "undecided", "reason": refused.reason, "detail": refused.message}
        answer = self._ask("opinions", [text], errors=_SHOWN)
        died = {"verdict": "undecided", "reason": _DIED.reason, "detail": ""}
        return died if answer is None else dict(answer.head["opinions"])

    def reached(self, texts: Sequence[bytes]) -> list[frozenset[str]]:
        """What holds in each text, by its place in the schema; nothing if unknown."""
        answer = self._ask("reached", texts)
        each = [()] * len(texts) if answer is None else answer.head["places"]
        return list(map(frozenset, each))

    def processor_seconds(self) -> float:
        return self._host.processor_seconds

    def close(self) -> None:
        self._host.close()

    def _open(self) -> Unjudgeable | None:
        while True:
            if not self._host.running and (ended := self._host.start()) is not None:
                if self._killed(ended):
                    continue
                return Unjudgeable("validators_do_not_start", ended.message)
            asked = {"do": "open", "schema": self.schema, "formats": self.formats}
            answer = self._host.request(asked, {}, self.seconds, self.meanwhile)
            if isinstance(answer, wire.Message):
                break
            self._host.stop()
            if not self._killed(answer):
                return Unjudgeable("validators_" + answer.status, answer.message)
        if "unjudgeable" in answer.head:
            return Unjudgeable(answer.head["unjudgeable"], answer.head["message"])
        return None

    def _ask(self, what: str, texts: Sequence[bytes], **more: Any) -> wire.Message | None:
        """The answer to a command about texts; None where the host ends over it."""
        if self._deaths >= _PATIENCE:
            return None
        arrays = wire.Ragged.of_bytes(texts).arrays("texts")
        while True:
            if not self._host.running and self._open() is not None:
                break
            answer = self._host.request({"do": what, **more}, arrays, self.seconds, self.meanwhile)
            if isinstance(answer, wire.Message):
                return answer
            self._host.stop()
            if not self._killed(answer):
                break
        self._deaths += 1
        return None

    def _killed(self, ended: Ended) -> bool:
        """Whether somebody else killed the host, so that it can be asked again."""
        if not isinstance(ended, Crashed) or not ended.from_outside:
            return False
        self._kills += 1
        if self._kills > MAX_KILLS:
            raise MaskcourtError(
                f"the validators' process {ended.message} {self._kills} times over one case",
                "too little memory? stored cases are kept, the same command goes on",
            )
        return True
