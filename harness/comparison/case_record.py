"""What one case contributes to the tables: the side of a case's run that writes rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.comparison.disputes import Dispute
from harness.comparison.lookahead import Arrived
from harness.comparison.walk import Position
from harness.inputs.cases import Case
from harness.runs.tables import Rows, Words
from harness.workers.outcomes import Compiled, Crashed, Outcome

_Ints = npt.NDArray[np.int64]


class CaseNotes:
    """The rows of one case, as its run goes along.

    `output` gives what an engine printed since it was last asked.
    """

    def __init__(self, case: Case, names: Sequence[str], output: Callable[[int], str]) -> None:
        self.rows = Rows()
        self._case = case
        self._names = names
        self._output = output
        self._disputed = 0
        self._places: list[dict[str, Any]] = []
        self._arrivals: list[tuple[int, int, tuple[int, ...], _Ints, _Ints]] = []
        self._costs: dict[tuple[str, str], float] = {}

    @property
    def walked(self) -> bool:
        """Whether any position was come to."""
        return bool(self._places)

    def mark(self) -> tuple[Mapping[str, int], int, int, int]:
        """What is noted now, for `back_to`."""
        return self.rows.mark(), len(self._places), len(self._arrivals), self._disputed

    def back_to(self, mark: tuple[Mapping[str, int], int, int, int]) -> None:
        """Take back what was noted after a mark."""
        rows, places, arrivals, self._disputed = mark
        self.rows.back_to(rows)
        del self._places[places:]
        del self._arrivals[arrivals:]

    def outcomes(self, outcomes: Mapping[int, Outcome]) -> None:
        """How compilation went in every engine."""
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
        self._arrivals.append((walk, position.number, here.engines, here.allowed, here.times))

    def position(
        self,
        walk: int,
        position: Position,
        disputes: Sequence[Dispute],
        token: int | None,
        canonical: int,
        place: str,
    ) -> None:
        """One position, and the disputes at it."""
        total = sum(len(dispute.tokens) for dispute in disputes if dispute.is_among_engines)
        self._disputed += total
        self._places.append(
            {
                "walk": walk,
                "position": position.number,
                "offset": position.offset,
                "token": -1 if token is None else token,
                "canonical": canonical,
                "place": place,
                "judged": _as_set(position.engines),
                "disputed_tokens": total,
            }
        )
        for number, dispute in enumerate(disputes):
            self.rows.add(
                "disputes",
                case=self._case.id,
                walk=walk,
                position=position.number,
                dispute=number,
                accepters=_as_set(dispute.accepters),
                rejecters=_as_set(dispute.rejecters),
                tokens=len(dispute.tokens),
                drawn=len(dispute.drawn),
                census=len(dispute.always_resolved),
            )

    def _add_places(self) -> None:
        """Add the rows of all positions, which are many and alike."""
        if not self._places:
            return
        columns = {name: [one[name] for one in self._places] for name in self._places[0]}
        self.rows.extend("positions", len(self._places), case=self._case.id, **columns)
        counts = [len(engines) for _, _, engines, _, _ in self._arrivals]
        places = np.array([(walk, number) for walk, number, _, _, _ in self._arrivals])
        walks, numbers = np.repeat(places, counts, axis=0).T
        codes = np.array([one for _, _, engines, _, _ in self._arrivals for one in engines])
        of = {"case": self._case.id, "walk": walks, "position": numbers}
        of |= {"engine": Words(codes, self._names)}
        allowed = np.concatenate([allowed for _, _, _, allowed, _ in self._arrivals])
        self.rows.extend("masks", len(codes), **of, allowed=allowed)
        mask_ns, consume_ns = np.concatenate([times for *_, times in self._arrivals]).T
        self.rows.extend("timings", len(codes), **of, mask_ns=mask_ns, consume_ns=consume_ns)

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
        self._add_places()
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
