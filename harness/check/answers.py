"""What runs say of each schema in plain terms: an answer, the errors behind it, what was covered.

A run holds verdicts by the thousand. Here each schema gets of every error the shortest text that
shows it, and the smallest case where one was found; what an engine declares to do otherwise stands
apart and is no error.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from harness.analysis.compile_reasons import plain_reason
from harness.analysis.stored import WORST_FIRST, StoredRun
from harness.bugs.groups import read_verdicts
from harness.bugs.listing import Bug
from harness.classification.departures import Catalogue, classify
from harness.engines.specs import with_version
from harness.execution.progress import FAILED
from harness.replay.witness import Witness
from harness.replay.witness_reader import named, spelled, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_of
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES
from harness.validators.coverage import Coverage
from harness.verdict_kinds import ACCEPTANCES, BUG, CLASSES, LEGAL, REJECTIONS, WALK, WARNED
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING

Status = Literal["no_error_found", "refuses", "errs", "failed"]

_CANDIDATES: Final = 40
"""Verdicts of one error among which the shortest text is looked for, the worst and first ones."""
_ALIKE: Final = 6
_DOING: Final = {"compile": "while it compiled the schema"}
_OUTCOMES: Final = {
    "crashed": "it crashed",
    "timed_out": "it took too long",
    "out_of_memory": "it needed too much memory",
    "refused": "it refused",
}


@dataclass(frozen=True)
class ProvenError:
    """One error of an engine under a schema of the user, and the shortest text that shows it.

    Attributes:
        at: How many bytes of the text go before the one that is refused; -1 where unknown.
        keyword: The keyword that it breaks, or that is in force at that byte.
        severity: One of `WORST_FIRST`.
        bug: The error in its smallest case; None where that was not found.
        alike: Texts of verdicts like it, its own among them.
        is_spelling: Whether the engine allows their values in the spelling of `json.dumps`.
    """

    kind: str
    text: bytes
    at: int
    keyword: str
    severity: str
    run: RunDirectory | None = field(default=None, compare=False, repr=False)
    witness: Witness | None = field(default=None, compare=False, repr=False)
    bug: Bug | None = None
    alike: tuple[bytes, ...] = field(default=(), compare=False, repr=False)
    is_spelling: bool = False

    @property
    def lets_through(self) -> bool:
        """Whether invalid output is allowed."""
        return self.kind in ACCEPTANCES

    @property
    def forbids(self) -> bool:
        """Whether valid output is refused."""
        return self.kind in REJECTIONS

    @property
    def about(self) -> tuple[str, str]:
        """What errors have in common that nobody shrank: kind and keyword."""
        return self.kind, self.keyword

    @property
    def order(self) -> tuple[object, ...]:
        """What a model meets first, what a keyword says before white space, the shortest text."""
        severity = WORST_FIRST.index(self.severity)
        return severity, not self.keyword, len(self.text), self.text, self.kind

    def row(self) -> dict[str, Any]:
        """As JSON; only what is forbidden has a place."""
        text = {"text": self.text.decode("utf-8", "backslashreplace")}
        place = {"at": self.at} if self.forbids else {}
        return {**text, **place, "keyword": self.keyword, "severity": self.severity}


@dataclass(frozen=True)
class Declared:
    """A departure that an engine declares, or warned of, and that a verdict was about."""

    id: str
    kinds: tuple[str, ...]
    about: str
    says: str
    source: str
    warned: bool


@dataclass(frozen=True)
class Covered:
    """What was tried under a schema: whole texts by what both validators say, and positions.

    `coverage` is what the texts cover of the schema; None where nobody asked.
    """

    valid: frozenset[bytes] = frozenset()
    invalid: frozenset[bytes] = frozenset()
    positions: int = 0
    coverage: Coverage | None = None

    def __add__(self, other: Covered) -> Covered:
        valid, invalid = self.valid | other.valid, self.invalid | other.invalid
        return Covered(valid, invalid, self.positions + other.positions)

    def row(self) -> dict[str, Any]:
        """As JSON: numbers of texts and places, and of each kind how much was reached of all."""
        reach = {} if self.coverage is None else self.coverage.each()
        return {
            "valid_texts": len(self.valid),
            "invalid_texts": len(self.invalid),
            "positions": self.positions,
            **{
                kind: {"reached": len(one.reached), "of": len(one.of)}
                for kind, one in reach.items()
            },
        }


@dataclass(frozen=True)
class Answer:
    """What is known of one engine under one schema.

    `errors` begin with the worst; a `whole` answer is about the vocabulary that was asked for, and
    not about bytes alone; `advice` is what mends some of it, one sentence each.
    """

    schema: str
    engine: str
    version: str = ""
    status: Status = "failed"
    message: str = ""
    errors: tuple[ProvenError, ...] = ()
    declared: tuple[Declared, ...] = ()
    covered: Covered = field(default_factory=Covered)
    whole: bool = False
    advice: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The engine and its version."""
        return with_version(self.engine, self.version)

    def joined(self, later: Answer) -> Answer:
        """What both say together; `later` is about the whole vocabulary."""
        ordered = sorted((*later.errors, *self.errors), key=lambda one: one.order)
        best = {one.about: one for one in reversed(ordered)}
        errors = (*(one for one in best.values() if one in self.errors), *later.errors)
        ids = {one.id for one in later.declared}
        declared = (*later.declared, *(one for one in self.declared if one.id not in ids))
        status: Status = "errs" if errors else later.status
        covered = self.covered + later.covered
        return replace(later, status=status, errors=errors, declared=declared, covered=covered)

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "version": self.version,
            "answer": self.status,
            "false_acceptances": [one.row() for one in self.errors if one.lets_through],
            "false_rejections": [one.row() for one in self.errors if one.forbids],
            "why": self.message,
            "covered": self.covered.row(),
        }


class Answers:
    """The latest answer of each engine about each schema, in their order."""

    def __init__(self, schemas: Sequence[str], engines: Sequence[str]) -> None:
        self.schemas = tuple(schemas)
        self.engines = tuple(engines)
        self._known: dict[tuple[str, str], Answer] = {}

    def add(self, answer: Answer) -> None:
        """Take one more."""
        self._known[answer.schema, answer.engine] = answer

    def of(self, schema: str) -> list[Answer]:
        """About one schema; an engine of which nothing is known yet did not answer."""
        message = "it was interrupted before that"
        unknown = (Answer(schema, engine, message=message) for engine in self.engines)
        return [self._known.get((schema, one.engine), one) for one in unknown]

    def __iter__(self) -> Iterator[Answer]:
        return (one for schema in self.schemas for one in self.of(schema))

    def row(self) -> dict[str, Any]:
        """As JSON."""
        rows = [
            {"schema": name, "engines": {one.engine: one.row() for one in self.of(name)}}
            for name in self.schemas
        ]
        return {"schemas": rows}


def read_answers(run: RunDirectory, catalogue: Catalogue) -> dict[str, Answer]:
    """What a finished run with one engine says of each of its schemas, by their names.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    return dict(_Reader(run, catalogue).answers())


class _Reader:
    """Reads one run of one engine."""

    def __init__(self, run: RunDirectory, catalogue: Catalogue) -> None:
        self.run = run
        self.vocabulary = vocabulary_of(run)
        self.catalogue = {one.id: one for one in catalogue}
        self.behaviours = catalogue.behaviours

        @functools.cache
        def rule(run: RunDirectory, evidence: str) -> pa.Table:
            return classify(catalogue, run, evidence, self.vocabulary)

        self.stored = StoredRun(run, rule)
        self.verdicts = read_verdicts(run, rule, self.vocabulary, 0)

    def answers(self) -> Iterator[tuple[str, Answer]]:
        """The answer about each schema, by its name."""
        (engine,) = self.stored.engines
        version = self.run.manifest["identity"]["engines"][engine]["version"]
        errors, declared, covered = self._errors(), self._declared(), self._covered()
        for case, (end, message) in self._ends().items():
            mine = tuple(sorted(errors[case], key=lambda one: one.order))
            status: Status = "errs" if mine else end
            stated = tuple(declared[case])
            yield case, Answer(case, engine, version, status, message, mine, stated, covered[case])

    def _ends(self) -> dict[str, tuple[Status, str]]:
        """What became of each schema in the engine, before any error is looked at."""
        columns = ["case", "status", "reason", "message"]
        ends: dict[str, tuple[Status, str]] = {}
        for row in self.run.table("cases", columns).to_pylist():
            broken = row["status"] in FAILED
            last = row["message"].strip().rpartition("\n")[2]
            message = f"maskcourt itself failed: {last}" if broken else ""
            ends[row["case"]] = ("failed" if broken else "no_error_found", message)
        columns = ["case", "stage", "outcome", "message"]
        for row in self.run.table("engines", columns).to_pylist():
            what = row["outcome"]
            if what == "refused" and row["stage"] == "compile":
                ends[row["case"]] = "refuses", plain_reason(row["message"])
            elif what in EXCLUDING:
                ends[row["case"]] = "failed", f"its adapter is at fault, {row['message']}"
            elif what not in ("compiled", "mask_consume_mismatch", *ADAPTER_FAULTS):
                doing = _DOING.get(row["stage"], "while it was asked for masks")
                ends[row["case"]] = "failed", f"{_OUTCOMES[what]} {doing}: {row['message']}"
        return ends

    def _errors(self) -> dict[str, list[ProvenError]]:
        """The errors under each schema, of each group of verdicts the shortest text."""
        verdicts = self.verdicts
        candidates: dict[tuple[str, int], list[int]] = defaultdict(list)
        for at in np.lexsort((verdicts.row, verdicts.severity)).tolist():
            if CLASSES[verdicts.class_[at]] == BUG:
                case = self.stored.cases[verdicts.case[at]]
                some = candidates[case, int(verdicts.groups[0][at])]
                if len(some) < _CANDIDATES:
                    some.append(at)
        shown = self._shown([at for some in candidates.values() for at in some])
        found: dict[str, list[ProvenError]] = defaultdict(list)
        for (case, _), some in candidates.items():
            best = sorted((shown[at] for at in some), key=lambda one: one.order)
            texts = dict.fromkeys(one.text for one in best)
            found[case].append(replace(best[0], alike=tuple(texts)[:_ALIKE]))
        return found

    def _shown(self, rows: Sequence[int]) -> dict[int, ProvenError]:
        """What each of some verdicts shows."""
        names = {self.verdicts.name(at): at for at in rows}
        cases = witnesses(self.run, named(self.run, list(names)), self.vocabulary)
        found = {}
        stated = {one: self._stated(one) for one in VERDICT_TABLES}
        for witness in (one for case in cases for one in case.witnesses):
            keyword, place = stated[witness.evidence][witness.number]
            at = names[witness.name]
            if witness.evidence == WALK:
                place = len(spelled(self.vocabulary, witness.before)) + max(place, 0)
            severity = WORST_FIRST[self.verdicts.severity[at]]
            found[at] = ProvenError(
                witness.kind, witness.text, place, keyword, severity, self.run, witness
            )
        return found

    def _stated(self, evidence: str) -> list[tuple[str, int]]:
        """Keyword and place of each verdict of one kind of evidence."""
        place = "refused_at" if evidence == WALK else "offset"
        table = self.run.table(VERDICT_TABLES[evidence], ["keyword", place])
        return list(zip(table["keyword"].to_pylist(), table[place].to_pylist(), strict=True))

    def _declared(self) -> dict[str, list[Declared]]:
        """What the engine does otherwise under each schema and says so."""
        met: dict[tuple[str, str], set[str]] = defaultdict(set)
        for row in self.stored.rows(
            """SELECT DISTINCT name, departure, kind FROM verdicts JOIN cases USING (case_row)
            WHERE departure <> '' AND kind NOT IN $1""",
            list(LEGAL),
        ):
            met[row["name"], row["departure"]].add(row["kind"])
        found: dict[str, list[Declared]] = defaultdict(list)
        for (case, id_), names in sorted(met.items()):
            one = self.catalogue[id_]
            about = self.behaviours[one.behaviour].about
            kinds = tuple(sorted(names))
            warned = one.class_ == WARNED
            found[case].append(Declared(id_, kinds, about, one.says, one.source, warned))
        return found

    def _covered(self) -> dict[str, Covered]:
        """What was tried under each schema."""
        found: dict[str, Covered] = defaultdict(Covered)
        for row in self.run.table("cases", ["case", "references", "positions"]).to_pylist():
            walked = frozenset(row["references"] if row["positions"] else ())
            found[row["case"]] += Covered(walked, positions=row["positions"])
        for table in TEXT_TABLES.values():
            for row in self.run.table(table, ["case", "verdict", "text"]).to_pylist():
                text, says = frozenset((row["text"],)), row["verdict"]
                if says == "valid":
                    found[row["case"]] += Covered(valid=text)
                elif says == "invalid":
                    found[row["case"]] += Covered(invalid=text)
        return found
