"""The measured costs that scale estimates rest on, and whole collections drawn from them.

`scale.json` holds what the cases of one finished run cost, small enough to be in the repository.
`scale_measure` makes it from a run.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from harness.execution.sweep.costs import CaseFacts

FILE: Final = Path(__file__).with_name("scale.json")
FORMAT: Final = 1

WALK_TABLES: Final = ("positions", "disputes", "completions", "verdicts", "masks", "timings")
"""Tables that grow with the number of walks."""


class Measured(NamedTuple):
    """One case of the run: what was known of it, and its seconds on a lane.

    `compile` is the processor time of the engines together, `once` all else that no walk repeats,
    `walk` what one walk cost with its disputes resolved; 0 where engines could not be compared.
    """

    family: str
    schema_bytes: int
    text_bytes: int
    compile: float
    once: float
    walk: float


class Family(NamedTuple):
    """How many cases of a family the collection has, and how many of them have a text to walk."""

    cases: int
    walkable: int


@dataclass(frozen=True)
class Population:
    """Cases of a whole collection, in the order of their ordinals."""

    facts: tuple[CaseFacts, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class ScaleData:
    """The content of `scale.json`.

    Attributes:
        run: What the run was: engines, limits, rules, machine.
        lane_seconds: Of the whole run, noting and storing included.
        cases: Its cases.
        families: Of the collection that the cases are a sample of.
        table_bytes: Of the finished run, by table.
        part_bytes: Of a case before joining: mean size of its files.
        part_disk_bytes: The same in whole blocks of the file system.
        part_files: Files of a case before joining.
        join_seconds: Of joining, for each case of one walk.
        join_seconds_ten_walks: The same, with the rows of ten walks.
    """

    run: Mapping[str, Any]
    lane_seconds: float
    cases: tuple[Measured, ...]
    families: Mapping[str, Family]
    table_bytes: Mapping[str, int]
    part_bytes: float
    part_disk_bytes: float
    part_files: int
    join_seconds: float
    join_seconds_ten_walks: float

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        """Read what `save` wrote."""
        held = json.loads(file.read_text("utf-8"))
        if held.pop("format") != FORMAT:
            raise ValueError(f"{file} is of another format")
        held["cases"] = tuple(Measured(*row) for row in held["cases"])
        held["families"] = {name: Family(*row) for name, row in held["families"].items()}
        return cls(**held)

    def save(self, file: Path = FILE) -> None:
        """Write it, a case to a line."""
        rows = ",\n  ".join(json.dumps(list(case)) for case in self.cases)
        head = {"format": FORMAT} | {k: v for k, v in vars(self).items() if k in _FIELDS}
        text = json.dumps(head | {"families": {k: list(v) for k, v in self.families.items()}})
        file.write_text(f'{text[:-1]},\n "cases": [\n  {rows}\n]}}\n', "utf-8")

    @cached_property
    def outside(self) -> float:
        """Lane seconds for one second in the stages that a run's costs are noted by.

        The rest is finding disputes, attribution, noting, storing and waiting for one another, less
        what is compiled while something else is done; it is taken to grow as the stages do.
        """
        stages = sum(case.compile + case.once + case.walk for case in self.cases)
        return self.lane_seconds / stages

    def seconds(self, case: Measured, walks: int) -> float:
        """Lane seconds of a case with so many walks."""
        return self.outside * (case.compile + case.once + walks * case.walk)

    def population(self, walks: int, seed: int = 0) -> Population:
        """As many cases of each family as the collection has, drawn from its measured ones.

        A case without a text to walk costs what another one costs without its walk.
        """
        chosen = random.Random(f"population/{seed}")  # noqa: S311 - nothing secret
        by_family = self._by_family()
        facts: list[CaseFacts] = []
        seconds: list[float] = []
        for name, family in sorted(self.families.items()):
            walkable = [True] * family.walkable + [False] * (family.cases - family.walkable)
            chosen.shuffle(walkable)
            for walked in walkable:
                case = chosen.choice(by_family[name])
                if not walked:
                    case = case._replace(text_bytes=0, walk=0.0)
                ordinal = len(facts)
                facts.append(
                    CaseFacts(
                        ordinal, f"{name}-{ordinal}", name, case.schema_bytes, case.text_bytes
                    )
                )
                seconds.append(self.seconds(case, walks))
        return Population(tuple(facts), tuple(seconds))

    def total(self, walks: int) -> tuple[float, float]:
        """Lane seconds of the whole collection, and the standard error of this estimate.

        A stratified estimate: each family's mean times its cases. A family with one measured case
        is taken to scatter as the mean of the others.
        """
        total = variance = 0.0
        spreads: list[float] = []
        for name, measured in sorted(self._by_family().items()):
            family = self.families[name]
            bare = statistics.fmean(self.seconds(case, 0) for case in measured)
            costs = [self.seconds(case, walks) for case in measured]
            total += family.walkable * statistics.fmean(costs)
            total += (family.cases - family.walkable) * bare
            if len(costs) > 1:
                spreads.append(statistics.stdev(costs) / statistics.fmean(costs))
            spread = spreads[-1] if len(costs) > 1 else statistics.fmean(spreads)
            error = spread * statistics.fmean(costs) / math.sqrt(len(costs))
            variance += (family.cases * error) ** 2
        return total, math.sqrt(variance)

    def _by_family(self) -> dict[str, list[Measured]]:
        by_family: dict[str, list[Measured]] = {name: [] for name in self.families}
        for case in self.cases:
            by_family[case.family].append(case)
        return by_family


_FIELDS: Final = (
    "run",
    "lane_seconds",
    "table_bytes",
    "part_bytes",
    "part_disk_bytes",
    "part_files",
    "join_seconds",
    "join_seconds_ten_walks",
)
