"""Progress of a run: what is compared, and how much of it is done."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Mapping
from typing import Any, Self

from harness.engines.specs import with_version
from harness.execution.lanes import CaseDone
from harness.live import LiveLine
from harness.printable import plural, printable

FAILED = ("harness_error", "lane_died")
"""States of cases that say nothing about an engine."""


class RunProgress(LiveLine):
    """Says what is compared, and counts while a run goes on: ``maskcourt tally`` has the errors.

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
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        super().__enter__()
        self.plain(f"{plural(self.total, 'case')}; starting the engines")
        return self

    def compares(self, identity: Mapping[str, Any], families: Mapping[str, int]) -> None:
        """The run has begun: its identity, and how many cases of each family it is about."""
        for name, engine in identity["engines"].items():
            options = ", ".join(
                f"{key}={json.dumps(one) if isinstance(one, bool) or one == '' else one}"
                for key, one in engine["options"].items()
            )
            told = f"engine {with_version(name, engine['version'])}"
            self._wrapped(f"{told} ({options})" if options else told)
        counts = ", ".join(f"{count:,} {name}" for name, count in families.items())
        self._wrapped(f"{plural(self.total, 'case')}: {counts}")
        vocabulary = identity["vocabulary"]
        self._wrapped(f"vocabulary {vocabulary['name']}, {vocabulary['size']:,} tokens")

    def skip(self, already: int) -> None:
        self.done, self._began = already, time.monotonic()
        self.update(already)
        if already:
            self.plain(f"{already} of {self.total} cases are there already")

    def case_stored(self, case: CaseDone) -> None:
        self.done += 1
        self._here += 1
        self._disputed += case.disputed_tokens
        self._failed += case.status in FAILED
        self._slowest = ""
        if case.remark:
            self.say(printable(case.remark))
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

    def _wrapped(self, line: str) -> None:
        for one in textwrap.wrap(line, 80, subsequent_indent="    "):
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
