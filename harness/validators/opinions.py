"""What each validator by itself says of one text, in words for a reader.

The run's judge only tells what both say together. This asks for the rest, in a process of its own
that may die of a schema or a pattern.
"""

from __future__ import annotations

from typing import Any

from harness.validators.validate import TextOutcome, UnjudgeableError, Validators
from harness.workers import wire
from harness.workers.hosts import Host, HostSpec

_SHOWN = 3
"""Errors of each validator that are told."""

_SECONDS = 60.0


class OpinionService:
    """Answers one question: the opinions on a text under a schema."""

    def handle(self, message: wire.Message) -> wire.Message:
        """``schema`` and ``formats`` (header), one text; answers ``opinions``, a JSON object."""
        (text,) = wire.Ragged.from_arrays(message.arrays, "texts").strings()
        try:
            validators = Validators(message.head["schema"], message.head["formats"])
            outcome = validators.judge(text, explain=True)
        except UnjudgeableError as problem:
            answer = {"verdict": "undecided", "reason": problem.reason, "detail": problem.message}
            return wire.Message({"opinions": answer})
        return wire.Message({"opinions": _in_words(outcome)})


def opinions(schema: str, text: bytes, memory: int, formats: str) -> dict[str, Any]:
    """What both validators say of `text`, formats being what `formats` says.

    Returns:
        ``verdict`` (see `harness.validators.validate.TextOutcome`), ``reason``, ``detail``, and for
        each validator by its name ``valid`` (None where it was not asked), ``failure``, and the
        first of its ``errors``: ``keyword``, ``schema_pointer``, ``instance_pointer``, ``message``.
    """
    service = "harness.validators.opinions:OpinionService"
    host = Host(HostSpec("validators", service, memory=memory))
    try:
        if (ended := host.start()) is not None:
            return {"verdict": "undecided", "reason": ended.status, "detail": ended.message}
        arrays = wire.Ragged.of_bytes([text]).arrays("texts")
        answer = host.request({"schema": schema, "formats": formats}, arrays, limit=_SECONDS)
    finally:
        host.close()
    if not isinstance(answer, wire.Message):
        return {"verdict": "undecided", "reason": answer.status, "detail": answer.message}
    return dict(answer.head["opinions"])


def _in_words(outcome: TextOutcome) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "detail": outcome.detail,
    }
    for opinion in outcome.opinions:
        errors = [
            {
                "keyword": one.keyword,
                "schema_pointer": one.schema_pointer,
                "instance_pointer": one.instance_pointer,
                "message": one.message,
            }
            for one in opinion.errors[:_SHOWN]
        ]
        answer[opinion.validator] = {
            "valid": opinion.valid,
            "failure": opinion.failure,
            "errors": errors,
        }
    return answer
