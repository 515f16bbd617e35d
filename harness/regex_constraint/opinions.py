"""Second opinions on texts, of other programs, in a process of their own.

A pattern that backtracks without end, or overflows a native stack, ends that alone: no judgement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Final

import regex
import regress

from harness.workers import wire
from harness.workers.hosts import Host, HostSpec

SECONDS: Final = 5.0
"""Of processor time for what both opinions say of a text."""


class NotJudged(Exception):
    """A pattern is not judged; the message says why."""

    status = "not_judged"


@dataclass(frozen=True)
class PatternOpinion:
    """A program, ``regress``, ``regex`` or ``re``, and how a pattern is spelt for it."""

    program: str
    source: str
    flags: str = ""

    def matches(self, text: str) -> bool:
        return _matcher(self.program, self.source, self.flags)(text) is not None


@lru_cache(maxsize=16)
def _matcher(program: str, source: str, flags: str) -> Callable[[str], object]:
    if program == "regress":
        return regress.Regex(source, flags).find
    module = re if program == "re" else regex
    matcher: Callable[[str], object] = module.compile(source).fullmatch
    return matcher


Ask = Callable[[Sequence[PatternOpinion], str], list[bool]]
"""What each opinion says of a text."""


def say(opinions: Sequence[PatternOpinion], text: str) -> list[bool]:
    """An `Ask` of this process, which nothing ends."""
    return [one.matches(text) for one in opinions]


class OpinionService:
    """What runs in the process."""

    def handle(self, message: wire.Message) -> wire.Message:
        opinions = [PatternOpinion(*one) for one in message.head["opinions"]]
        return wire.Message({"matches": say(opinions, message.head["text"])})


class SecondOpinions:
    """An `Ask` with limits; a `NotJudged` where a program comes to no end or fails."""

    def __init__(self, memory: int, seconds: float = SECONDS) -> None:
        service = f"{OpinionService.__module__}:{OpinionService.__name__}"
        self._host, self._seconds = Host(HostSpec(service, memory=memory)), seconds
        self.close = self._host.close

    def __call__(self, opinions: Sequence[PatternOpinion], text: str) -> list[bool]:
        ended = None if self._host.running else self._host.start()
        asked = {"opinions": list(map(astuple, opinions)), "text": text}
        answer = ended or self._host.request(asked, limit=self._seconds)
        if isinstance(answer, wire.Message):
            found: list[bool] = answer.head["matches"]
            return found
        self._host.stop()
        raise NotJudged(f"a second opinion on {text[:80]!r}: {answer.message}")
