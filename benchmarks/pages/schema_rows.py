"""A row for each schema: what each engine did with it, as it is published and read again.

What a page counts by schemas is counted of such rows, so that runs made on several days are told as
one.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.analysis.rates import EVERYDAY, Rates
from harness.analysis.stored import WORST_FIRST, stored_run
from harness.inputs.case_maskbench import family_of
from harness.render.table import Row, Table
from harness.report.frames import Run
from harness.verdict_kinds import COSTLY, COUNTED, FORMAT_ONLY, NOT_JSON
from harness.workers.outcomes import ADAPTER_FAULTS, COMPILE_STATUSES

if TYPE_CHECKING:
    import pandas as pd

TOLD: Final = ("loss", "leak", "trap", FORMAT_ONLY, NOT_JSON)
"""The effects of `COUNTED` that a row tells."""
_COSTLY: Final = tuple(name for name in TOLD if set(COUNTED[name]) <= set(COSTLY))
COMPILED: Final = "compiled"
_ABOUT: Final = ("schema", "characters", "valid", "remark")
FAILED: Final = ("harness_error", "lane_died")
"""Of a case, what says that the harness itself failed."""
_USUAL: Final = ("", "values_alone")
ROWS: Final = "schemas"
"""The directory of the published rows, a table for each family."""
_CELLS: Final = (
    "A cell of these tables says what an engine does with a schema: milliseconds of"
    " compilation, or why there are none, and then what was found. `leak:real` is a leak that a"
    " real value shows, `plain` an everyday one that was made, `rare` an unusual one; a third word"
    " says what shows it that the engine does not declare (`declared`: nothing). `open` is a schema"
    " for which no value was decided, `later:` what failed after compilation. `valid` is 1 where"
    " MaskBench has a valid value."
)
_OPEN, _LATER, _DECLARED = "open", "later", "declared"


@dataclass(frozen=True)
class Done:
    """What an engine did with a schema.

    `ms` are milliseconds of processor time, of a schema that compiled. `shown` says, by effects of
    `TOLD`, which of `WORST_FIRST` shows one at worst, and `bugs` the same of what is neither
    declared nor warned of. `failures` came after compilation.
    """

    outcome: str
    ms: float | None = None
    judged: bool = False
    failures: Sequence[str] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    bugs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, cell: str) -> Done:
        """Of a cell that `__str__` wrote."""
        first, *words = cell.split(" ")
        ms = float(first) if first[0].isdigit() else None
        failures, shown, bugs = [], {}, {}
        for name, *values in (word.split(":") for word in words):
            if name == _LATER:
                failures += values
            elif name != _OPEN:
                shown[name] = values[0]
                bugs[name] = values[-1]
        bugs = {name: value for name, value in bugs.items() if value != _DECLARED}
        outcome = first if ms is None else COMPILED
        judged = outcome == COMPILED and _OPEN not in words
        return cls(outcome, ms, judged, tuple(failures), shown, bugs)

    def __str__(self) -> str:
        """The milliseconds, or why there are none; then what is to be told."""
        words = [self.outcome if self.ms is None else f"{self.ms:.4g}"]
        words += [_OPEN] * (self.outcome == COMPILED and not self.judged)
        for name, worst in self.shown.items():
            bug = self.bugs.get(name, _DECLARED)
            words.append(":".join([name, worst] + [bug] * (bug != worst)))
        return " ".join([*words, *(f"{_LATER}:{one}" for one in self.failures)])

    def is_wrong(self, *, bugs: bool = False) -> bool:
        """Whether an everyday value is lost, leaked or trapped; with `bugs`, undeclared."""
        found = self.bugs if bugs else self.shown
        return any(WORST_FIRST.index(found[name]) < EVERYDAY for name in _COSTLY if name in found)


@dataclass(frozen=True)
class SchemaRow:
    """A schema, and what each engine did that was asked.

    `valid` where the data set has a valid value of it; `remark` says what limit was met.
    """

    id: str
    characters: int
    valid: bool
    remark: str
    done: Mapping[str, Done]

    @property
    def family(self) -> str:
        return family_of(self.id)

    def row(self, engines: Iterable[str]) -> Row:
        about = (self.id, self.characters, int(self.valid), self.remark)
        cells = {name: str(self.done[name]) if name in self.done else "" for name in engines}
        return dict(zip(_ABOUT, about, strict=True)) | cells

    @classmethod
    def read(cls, row: Mapping[str, str]) -> SchemaRow:
        id_, characters, valid, remark = (row[name] for name in _ABOUT)
        done = {name: Done.read(cell) for name, cell in row.items() if cell and name not in _ABOUT}
        return cls(id_, int(characters), valid == "1", remark, done)


@dataclass(frozen=True)
class SchemaRows:
    """The rows of schemas, of `asked` that there are, and the engines' versions by their names."""

    engines: Mapping[str, str]
    asked: int
    rows: Sequence[SchemaRow]

    @classmethod
    def of(cls, run: Run) -> SchemaRows:
        """The rows of a run, finished or not."""
        identity = run.manifest["identity"]
        engines = {name: identity["engines"][name].get("version", "") for name in run.engine_names}
        rates = Rates(stored_run(run.directory))
        done = {name: _done(run, rates, number, name) for number, name in enumerate(engines)}
        instances, rows = run.instances, []
        valid = set(instances[instances["label"] == "valid"]["case"])
        for case, status, reason, schema in _records(
            run.cases, "case", "status", "reason", "schema"
        ):
            remark = status if status in FAILED else reason
            mine = {name: at[case] for name, at in done.items() if case in at}
            about = (len(schema), case in valid, "" if remark in _USUAL else remark)
            rows.append(SchemaRow(case, *about, mine))
        return cls(engines, identity["data"]["cases"], rows)

    @classmethod
    def read(cls, directory: Path, identity: Mapping[str, Any]) -> SchemaRows:
        """Of the directory in which `tables` are, and of the identity of their runs."""
        rows: list[SchemaRow] = []
        for file in sorted((directory / ROWS).glob("*.csv")):
            with file.open(encoding="utf-8", newline="") as stream:
                rows += map(SchemaRow.read, csv.DictReader(stream))
        versions = {name: one.get("version", "") for name, one in identity["engines"].items()}
        return cls(versions, identity["data"]["cases"], rows)

    @property
    def tables(self) -> dict[str, Table]:
        """The rows of each family, by the name of their table."""
        by_family: dict[str, list[Row]] = {}
        for one in self.rows:
            by_family.setdefault(one.family, []).append(one.row(self.engines))
        columns = (*_ABOUT, *self.engines)
        return {
            f"{ROWS}/{family}": Table.of("", columns, rows)
            for family, rows in sorted(by_family.items())
        }

    def meaning(self) -> str:
        """Where the tables are, and what their cells mean."""
        links = ", ".join(f"[{name.partition('/')[2]}]({name}.csv)" for name in self.tables)
        return f"Each schema has a row in the table of its family: {links}. {_CELLS}"

    def joined(self, earlier: SchemaRows) -> SchemaRows:
        """These, and the earlier ones of other schemas, in the order of their ids."""
        rows = {one.id: one for some in (earlier.rows, self.rows) for one in some}
        return replace(self, rows=[rows[id_] for id_ in sorted(rows)])

    def amended(self, later: SchemaRows) -> SchemaRows:
        """These, with what later ones found of some engines; what compilation took stays."""
        found = {one.id: one.done for one in later.rows}
        rows = []
        for row in self.rows:
            done = dict(row.done)
            for name, new in found.get(row.id, {}).items():
                if COMPILED == new.outcome == done[name].outcome:
                    done[name] = replace(new, ms=done[name].ms)
            rows.append(replace(row, done=done))
        return self.where(rows)

    def where(self, rows: Iterable[SchemaRow]) -> SchemaRows:
        return replace(self, rows=[*rows])

    def of_engine(self, engine: str) -> list[Done]:
        return [one.done[engine] for one in self.rows if engine in one.done]

    def remarked(self, *remarks: str) -> int:
        """How many schemas have one of some remarks."""
        return sum(one.remark in remarks for one in self.rows)

    @property
    def told(self) -> dict[str, dict[str, Any]]:
        """By engine, as `harness.analysis.tally.summary` has it, what of that is told by schemas.

        ``wrong`` are those with a loss, a leak or a trap, ``wrong_declared`` of them those with
        such as the engine declares alone.
        """
        return {name: self._told(name, version) for name, version in self.engines.items()}

    def _told(self, engine: str, version: str) -> dict[str, Any]:
        mine = self.of_engine(engine)
        outcomes = Counter(one.outcome for one in mine)
        wrong = [one for one in mine if one.is_wrong()]
        return {
            "version": version,
            "compile": {status: outcomes[status] for status in COMPILE_STATUSES},
            "failures": Counter(word for one in mine for word in one.failures),
            "wrong": len(wrong),
            "wrong_declared": sum(not one.is_wrong(bugs=True) for one in wrong),
            **{name: _rate(mine, name) for name in TOLD},
        }


def _done(run: Run, rates: Rates, number: int, engine: str) -> dict[str, Done]:
    """What an engine did, by case."""
    ids = [*run.cases["case"]]
    judged = dict(zip(ids, rates.judged(number), strict=True))
    facts: list[dict[str, dict[str, str]]] = [{}, {}]
    for found, bugs in zip(facts, (False, True), strict=True):
        for name in TOLD:
            shown = rates.shown_by(number, COUNTED[name], bugs=bugs)
            for id_, at in zip(ids, shown, strict=True):
                if at < len(WORST_FIRST):
                    found.setdefault(id_, {})[name] = WORST_FIRST[at]
    costs = run.costs[(run.costs["engine"] == engine) & (run.costs["stage"] == "compile")]
    seconds = dict(_records(costs, "case", "seconds"))
    later: dict[str, list[str]] = {}
    compiled: dict[str, str] = {}
    mine = run.engines[run.engines["engine"] == engine]
    for case, stage, outcome in _records(mine, "case", "stage", "outcome"):
        if stage == "compile":
            compiled[case] = outcome
        elif outcome not in ADAPTER_FAULTS:
            later.setdefault(case, []).append(f"{stage}_{outcome}")
    return {
        id_: Done(
            outcome,
            seconds[id_] * 1000 if id_ in seconds else None,
            bool(judged[id_]),
            tuple(dict.fromkeys(later.get(id_, ()))),
            *(found.get(id_, {}) for found in facts),
        )
        for id_, outcome in compiled.items()
    }


def _records(frame: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a frame, of these columns alone."""
    return zip(*(frame[column].tolist() for column in columns), strict=True)


def _rate(done: Sequence[Done], effect: str) -> dict[str, int]:
    """As `harness.analysis.rates.Rates.rate`, without shares."""
    counted = Counter(one.shown.get(effect) for one in done)
    worst = WORST_FIRST[:EVERYDAY] if effect in _COSTLY else WORST_FIRST
    hits = [one for one in done if one.shown.get(effect) in worst]
    return {
        "schemas": len(hits),
        **{name: counted[name] for name in WORST_FIRST},
        "of": sum(one.judged for one in done),
        "declared": sum(one.bugs.get(effect) not in worst for one in hits),
    }
