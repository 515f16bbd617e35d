"""What one case contributes to the tables: the side of a case's run that writes rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from harness.comparison.disputes import Dispute
from harness.comparison.lookahead import Arrived
from harness.comparison.walk import Position
from harness.inputs.cases import Case
from harness.runs.tables import Rows, Words
from harness.workers.outcomes import Compiled, Crashed, Outcome


class CaseNotes:
    """The rows of one case; `output` gives what an engine printed since it was last asked."""

    def __init__(self, case: Case, names: Sequence[str], output: Callable[[int], str]) -> None:
        self.rows = Rows()
        self._case = case
        self._names = names
        self._output = output
        self._disputed = 0
        self._costs: dict[tuple[str, str], float] = {}

    @property
    def walked(self) -> bool:
        return bool(self.rows.count("positions"))

    def mark(self) -> tuple[Mapping[str, int], int]:
        return self.rows.mark(), self._disputed

    def back_to(self, mark: tuple[Mapping[str, int], int]) -> None:
        rows, self._disputed = mark
        self.rows.back_to(rows)

    def outcomes(self, outcomes: Mapping[int, Outcome]) -> None:
        for engine, outcome in outcomes.items():
            self.outcome(engine, outcome, "compile", -1, -1)
            if isinstance(outcome, Compiled):
                name = self._names[engine]
                self._costs["compile", name] = outcome.compile_seconds
                self._costs["first_mask", name] = outcome.first_mask_seconds

    def outcome(self, engine: int, outcome: Outcome, stage: str, walk: int, number: int) -> None:
        """How compilation went in an engine, or what ended its part at a position."""
        self.rows.add(
            "engines",
            case=self._case.id,
            engine=self._names[engine],
            stage=stage,
            walk=walk,
            position=number,
            outcome=outcome.status,
            signal=(outcome.signal or "") if isinstance(outcome, Crashed) else "",
            message=outcome.message,
            output=self._output(engine),
        )

    def arrived(self, walk: int, position: Position, here: Arrived) -> None:
        """What the engines needed to come to one position, and how much each allows there."""
        count = len(here.engines)
        of = {"case": self._case.id, "walk": walk, "position": position.number}
        of |= {"engine": Words(np.array(here.engines), self._names)}
        self.rows.extend("masks", count, **of, allowed=here.allowed)
        mask_ns, consume_ns = here.times.T
        self.rows.extend("timings", count, **of, mask_ns=mask_ns, consume_ns=consume_ns)

    def position(
        self,
        walk: int,
        position: Position,
        disputes: Sequence[Dispute],
        token: int | None,
        canonical: int,
        place: str,
    ) -> None:
        total = sum(len(dispute.tokens) for dispute in disputes)
        self._disputed += total
        of: dict[str, Any] = {"case": self._case.id, "walk": walk, "position": position.number}
        self.rows.add(
            "positions",
            **of,
            offset=position.offset,
            token=-1 if token is None else token,
            canonical=canonical,
            place=place,
            judged=_as_set(position.engines),
            disputed_tokens=total,
        )
        for number, dispute in enumerate(disputes):
            self.rows.add(
                "disputes",
                **of,
                dispute=number,
                accepters=_as_set(dispute.accepters),
                rejecters=_as_set(dispute.rejecters),
                tokens=len(dispute.tokens),
                drawn=len(dispute.drawn),
            )

    def finish(
        self,
        status: str,
        reason: str,
        message: str,
        references: Sequence[bytes],
        judged: Sequence[int],
        *,
        generated: bool = False,
    ) -> None:
        """What became of the case as a whole; `generated` says so of the references."""
        self.rows.add(
            "cases",
            case=self._case.id,
            family=self._case.family,
            status=status,
            reason=reason,
            message=message,
            schema=self._case.schema,
            references=list(references),
            generated=generated,
            judged=_as_set(judged),
            walks=len(references) if status == "walked" else 0,
            positions=self.rows.count("positions"),
            disputed_tokens=self._disputed,
        )
        for (stage, engine), seconds in self._costs.items():
            self.rows.add("costs", case=self._case.id, stage=stage, engine=engine, seconds=seconds)

    @contextmanager
    def cost(self, stage: str) -> Iterator[None]:
        """Add the wall time of what is done inside to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = self._costs.get((stage, ""), 0.0)
            self._costs[stage, ""] = spent + time.perf_counter() - began


def _as_set(engines: Sequence[int]) -> int:
    return sum(1 << engine for engine in engines)
