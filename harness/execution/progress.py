"""Progress of a run: what is compared, the first proven error in words, and a growing standing."""

from __future__ import annotations

import json
import textwrap
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

from harness.engines.specs import with_version
from harness.execution.lanes import CaseDone
from harness.live import LiveLine
from harness.printable import printable
from harness.verdict_kinds import INVALID_VALUE, LOST_VALUE, TRAP

FAILED = ("harness_error", "lane_died")
"""States of cases that say nothing about an engine."""

_WIDTH = 80
"""Of lines that are told."""

STANDING_EVERY = 30.0
"""Seconds between two standings."""

_COLUMNS = {"judged": "judged", "leaks": INVALID_VALUE, "loses": LOST_VALUE, "traps": TRAP}
"""What is counted of schemas, by its column: those that an engine was judged on; those where it
lets an invalid value through, cannot write a valid one, leads to where one can be written no more.
"""


class RunProgress(LiveLine):
    """Says what is compared and the first proven error, and counts while a run goes on.

    The estimate of what is left is the mean time per case of this session times the cases left;
    before three cases are done there is none, and no throughput either.
    """

    def __init__(self, total: int) -> None:
        super().__init__("cases", total, "starting the engines")
        self.total = total
        self.done = 0
        self._here = 0
        self._disputed = 0
        self._failed = 0
        self._slowest = ""
        self._began = self._stood = time.monotonic()
        self._standings: dict[str, Counter[str]] = {}
        self._shown = False

    def __enter__(self) -> Self:
        super().__enter__()
        plural = "" if self.total == 1 else "s"
        self.plain(f"{self.total} case{plural}; starting the engines")
        return self

    def compares(self, identity: Mapping[str, Any], families: Mapping[str, int]) -> None:
        """The run has begun: its identity, and how many cases of each family it is about."""
        for name, engine in identity["engines"].items():
            options = ", ".join(f"{key}={_as_text(one)}" for key, one in engine["options"].items())
            self._standings[name] = Counter()
            told = f"engine {with_version(name, engine['version'])}"
            self._wrapped(f"{told} ({options})" if options else told)
        counts = ", ".join(f"{count:,} {name}" for name, count in families.items())
        self._wrapped(f"{self.total:,} case{'' if self.total == 1 else 's'}: {counts}")
        vocabulary = identity["vocabulary"]
        self._wrapped(f"vocabulary {vocabulary['name']}, {vocabulary['size']:,} tokens")

    def skip(self, already: int) -> None:
        self.done = already
        self.update(already)
        if already:
            self.plain(f"{already} of {self.total} cases are there already")

    def case_stored(self, case: CaseDone) -> None:
        self.done += 1
        self._here += 1
        self._disputed += case.disputed_tokens
        self._failed += case.status in FAILED
        self._slowest = ""
        for name, standing in self._standings.items():
            standing["asked"] += name in case.news.compiled
            standing["compiled"] += case.news.compiled.get(name) == "compiled"
            standing["judged"] += name in case.news.judged
            standing.update(case.news.effects.get(name, ()))
        if case.remark:
            self.say(printable(case.remark))
        if case.news.example and not self._shown:
            self._shown = True
            after = f"after {time.monotonic() - self._began:.0f} s"
            self._wrapped(f"first proven error, {after}: {case.news.example}")
        self._show(at_once=self.done == self.total)

    def running(self, case: str, seconds: float) -> None:
        """The case that has been running for the longest time; empty when none is."""
        self._slowest = f", slowest running: {case} ({seconds:.0f} s)" if case else ""
        self._show()

    def _show(self, *, at_once: bool = False) -> None:
        note = f"{self._disputed:,} disputed tokens{self._rate()}{self._slowest}{self._left()}"
        self.update(self.done, f"{self._slowest}{self._left()}".removeprefix(", "))
        now = time.monotonic()
        if self.is_due() or at_once:
            self.plain(f"{self.done}/{self.total} cases, {now - self._began:.0f} s, {note}")
        if now - self._stood >= STANDING_EVERY and not at_once:
            self._stood = now
            for name, standing in self._standings.items():
                counts = ", ".join(f"{one} {standing[key]:,}" for one, key in _COLUMNS.items())
                compiled = f"{standing['compiled']:,} of {standing['asked']:,}"
                self.say(f"  {name}: compiled {compiled}, {counts}")

    def _wrapped(self, line: str) -> None:
        for one in textwrap.wrap(line, _WIDTH, subsequent_indent="    "):
            self.say(one)

    def _rate(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        if self._here < 3:
            return failed
        minutes = (time.monotonic() - self._began) / 60
        return f", {self._here / minutes:.1f} cases/min{failed}"

    def _left(self) -> str:
        left = self.total - self.done
        if self._here < 3 or left == 0:
            return ""
        seconds = (time.monotonic() - self._began) / self._here * left
        about = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
        return f", about {about} left"


def _as_text(option: object) -> str:
    return json.dumps(option) if isinstance(option, bool) or option == "" else str(option)
