"""Asks both validators about many texts, in one process that is started again when it dies."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from harness.workers import wire
from harness.workers.hosts import Host, HostSpec

_SERVICE = "harness.validators.opinions:OpinionService"
_SECONDS = 20.0


class OpinionHost:
    """What validators say, as `harness.validators.opinions.opinions`; asked once for each text.

    Args:
        memory: Resident bytes at which the process is ended.
        formats: What formats were in the run, of `harness.validators.format_rules.FORMAT_RULES`.
    """

    def __init__(self, memory: int, formats: str) -> None:
        self._formats = formats
        self._host = Host(HostSpec("validators", _SERVICE, memory=memory))
        self._known: dict[tuple[str, bytes], dict[str, Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._host.close()

    def opinions(self, schema: str, text: bytes) -> dict[str, Any]:
        """What both say of `text`; ``undecided`` where the process dies of it."""
        key = (schema, text)
        if key not in self._known:
            self._known[key] = self._asked(schema, text)
        return self._known[key]

    def _asked(self, schema: str, text: bytes) -> dict[str, Any]:
        if not self._host.running and (ended := self._host.start()) is not None:
            return {"verdict": "undecided", "reason": ended.status, "detail": ended.message}
        arrays = wire.Ragged.of_bytes([text]).arrays("texts")
        answer = self._host.request(
            {"schema": schema, "formats": self._formats}, arrays, limit=_SECONDS
        )
        if not isinstance(answer, wire.Message):
            return {"verdict": "undecided", "reason": answer.status, "detail": answer.message}
        return dict(answer.head["opinions"])
