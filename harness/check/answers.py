"""What runs say of each schema in plain terms: an answer, the errors behind it, what was covered.

Each schema gets of every error the shortest text that shows it, and the smallest case where it is
known; what an engine declares to do otherwise stands apart and is no error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow.compute as pc

from harness import verdict_kinds as kinds
from harness.analysis.compile_reasons import plain_reason
from harness.analysis.stored import WORST_FIRST, StoredRun, stored_run
from harness.bugs.groups import ErrorRows, read_verdicts
from harness.bugs.listing import Bug
from harness.classification.departures import load_behaviours, load_catalogue
from harness.engines.presets import taken_by
from harness.engines.specs import with_version
from harness.execution.progress import FAILED
from harness.inputs.vocabulary import Vocabulary
from harness.printable import escaped
from harness.replay.witness import Witness
from harness.replay.witness_reader import named, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_of
from harness.runs.tables import TEXT_TABLES
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING

Status = Literal["no_error_found", "refuses", "errs", "failed"]

_CANDIDATES: Final = 40
"""Verdicts of one error among which the shortest text is looked for, the worst and first ones."""
IN_WORDS: Final = {
    kinds.LOST_VALUE: "cannot write a valid value",
    kinds.INVALID_VALUE: "lets an invalid value through",
    kinds.TRAP: "cannot finish a valid value after what it allowed first",
    kinds.FORMAT_ONLY: "lets a value through that nothing but `format` forbids",
    kinds.NOT_JSON: "lets a text through that is no JSON",
    "": "contradicts itself",
    kinds.UNCLEAR: "refuses a valid text whose value it may be able to write",
    kinds.SPELLING: "refuses a spelling of a valid value",
}
"""What an error does to a user, by its effect, in the order in which it is told."""
DOES: Final = {"loses": kinds.LOST_VALUE, "leaks": kinds.INVALID_VALUE, "traps": kinds.TRAP}
"""What an engine does with values of a schema, by the effect of the error."""
_IN_SHORT: Final = {
    kinds.LOST_VALUE: "the lost value",
    kinds.INVALID_VALUE: "the invalid value",
    kinds.TRAP: "the trap",
    kinds.FORMAT_ONLY: "what `format` alone forbids",
    kinds.NOT_JSON: "the text that is no JSON",
}
_OUTCOMES: Final = {
    "crashed": "it crashed",
    "timed_out": "it took too long",
    "out_of_memory": "it needed too much memory",
    "refused": "it refused",
}


@dataclass(frozen=True)
class ProvenError:
    """One error of an engine under a schema of the user, and the shortest text that shows it.

    `at` is the place of the byte that is refused, -1 where unknown; `keyword` is in force there or
    broken; `severity` says what shows it (`harness.verdict_kinds.SHOWN_BY`). What is no bug by its
    `class_` is declared by the engine, or warned of.
    """

    effect: str
    kind: str
    text: bytes
    at: int
    keyword: str
    severity: str
    class_: str = kinds.BUG
    run: RunDirectory | None = field(default=None, compare=False, repr=False)
    witness: Witness | None = field(default=None, compare=False, repr=False)
    bug: Bug | None = None

    @property
    def lets_through(self) -> bool:
        return self.kind in kinds.ACCEPTANCES

    @property
    def forbids(self) -> bool:
        return self.kind in kinds.REJECTIONS

    @property
    def is_spelling(self) -> bool:
        """Whether it is not shown to cost a value."""
        return self.effect in kinds.SPELLINGS

    @property
    def about(self) -> tuple[str, str, str, str]:
        """What errors have in common that nobody shrank."""
        return self.effect, self.kind, self.keyword, self.class_

    def adds_to(self, others: Iterable[ProvenError]) -> bool:
        """Whether none of the others is about the same and shown by a value as everyday."""
        alike = (one for one in others if one.about == self.about)
        return not any(one.is_everyday >= self.is_everyday for one in alike)

    @property
    def in_short(self) -> str:
        """What it is called where the schema is known."""
        under = f" under `{self.keyword}`" if self.keyword and self.effect != kinds.NOT_JSON else ""
        return f"{_IN_SHORT.get(self.effect, 'an error')}{under}"

    @property
    def is_everyday(self) -> bool:
        """Whether it costs a value that people and models write."""
        return self.effect in kinds.COSTLY and self.severity != kinds.RARE

    @property
    def order(self) -> tuple[object, ...]:
        """Everyday values, what costs most, what has a keyword, the shortest text."""
        effect, severity = list(IN_WORDS).index(self.effect), WORST_FIRST.index(self.severity)
        costs = not self.is_everyday, effect, severity
        return *costs, not self.keyword, len(self.text), self.text, self.kind

    def row(self) -> dict[str, Any]:
        """As JSON; only what is forbidden has a place."""
        row: dict[str, Any] = {"effect": self.effect, "kind": self.kind, "text": escaped(self.text)}
        row |= {"at": self.at} if self.forbids else {}
        row |= {"keyword": self.keyword, "severity": self.severity, "class": self.class_}
        if self.bug is not None:
            smallest = {"schema": self.bug.error.schema, "text": escaped(self.bug.error.text)}
            row |= {"title": self.bug.title, "smallest": smallest}
        return row


class Declared(NamedTuple):
    """A departure that an engine declares, or warned of, in a few words and in full."""

    id: str
    about: str
    in_full: str


@dataclass(frozen=True)
class Covered:
    """What was tried: texts by what both validators say, and positions."""

    valid: frozenset[bytes] = frozenset()
    invalid: frozenset[bytes] = frozenset()
    positions: int = 0

    def __add__(self, other: Covered) -> Covered:
        valid, invalid = self.valid | other.valid, self.invalid | other.invalid
        return Covered(valid, invalid, self.positions + other.positions)

    def row(self) -> dict[str, Any]:
        counts = {"valid_texts": len(self.valid), "invalid_texts": len(self.invalid)}
        return {**counts, "positions": self.positions}


@dataclass(frozen=True)
class Answer:
    """What is known of one engine under one schema.

    `errors` begin with the worst; a `whole` answer is about the vocabulary that was asked for, and
    not about bytes alone; `advice` is what mends some of it, one sentence each. Of a server,
    `backend` is the one that took the schema. `skipped` errors were not shrunk for want of time; of
    a whole answer that is `on_bytes` there was none for more than single bytes.
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
    backend: str = ""
    skipped: int = 0
    on_bytes: bool = False

    def costs(self, effect: str, *, everyday: bool = True) -> bool:
        """Whether an error has this effect, with everyday values or with unusual ones alone."""
        shown = {one.is_everyday for one in self.errors if one.effect == effect}
        return shown != set() and max(shown) == everyday

    @property
    def name(self) -> str:
        name = with_version(self.engine, self.version)
        return f"{name} ({self.backend})" if self.backend else name

    @property
    def is_urgent(self) -> bool:
        """Whether it is about more than unusual values and spellings."""
        no_value = self.status in ("refuses", "failed")
        return no_value or any(one.is_everyday for one in self.errors)

    @property
    def standing(self) -> tuple[int, int, int]:
        """Less is better: values at stake, everyday ones, or no answer; then how many errors."""
        costly = [one for one in self.errors if one.effect in kinds.COSTLY]
        everyday = sum(one.is_everyday for one in costly)
        levels = {"refuses": 3, "failed": 4}
        return levels.get(self.status, min(len(costly), 1 + bool(everyday))), everyday, len(costly)

    def joined(self, later: Answer) -> Answer:
        """What both say together; `later` is about the whole vocabulary."""
        ordered = sorted((*later.errors, *self.errors), key=lambda one: one.order)
        best = {one.about: one for one in reversed(ordered)}
        errors = (*(one for one in best.values() if one in self.errors), *later.errors)
        declared = tuple(dict.fromkeys((*later.declared, *self.declared)))
        status = _status(errors, later.status)
        covered = self.covered + later.covered
        told = replace(later, status=status, errors=errors, declared=declared, covered=covered)
        return replace(told, backend=later.backend or self.backend)

    def with_walks(self, walked: Answer) -> Answer:
        """With what walks beside other engines show that is not known yet."""
        errors = (*self.errors, *(one for one in walked.errors if one.adds_to(self.errors)))
        declared = tuple(dict.fromkeys((*self.declared, *walked.declared)))
        told = replace(self, errors=tuple(sorted(errors, key=lambda one: one.order)))
        status, covered = _status(told.errors, walked.status), self.covered + walked.covered
        return replace(told, status=status, declared=declared, covered=covered)

    def row(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "backend": self.backend,
            "answer": self.status,
            "refuses": self.status == "refuses",
            **{name: self.costs(effect) for name, effect in DOES.items()},
            "false_acceptances": [one.row() for one in self.errors if one.lets_through],
            "false_rejections": [one.row() for one in self.errors if one.forbids],
            "other_errors": [
                one.row() for one in self.errors if not one.lets_through and not one.forbids
            ],
            "why": self.message,
            "advice": list(self.advice),
            "skipped": self.skipped,
            "covered": self.covered.row(),
        }


class Answers:
    """The latest answer of each engine about each schema, in their order; `tools` names some."""

    def __init__(
        self, schemas: Sequence[str], engines: Sequence[str], tools: Mapping[str, str] | None = None
    ) -> None:
        self.schemas, self.engines, self.tools = tuple(schemas), tuple(engines), tools or {}
        self._known: dict[tuple[str, str], Answer] = {}

    def short(self, schema: str) -> str:
        """The name of a schema: of a tool its own, where no other has it."""
        tool = self.tools.get(schema, schema)
        return tool if list(self.tools.values()).count(tool) == 1 else schema

    def add(self, answer: Answer) -> None:
        self._known[answer.schema, answer.engine] = answer

    def of(self, schema: str) -> list[Answer]:
        """About one schema; an engine of which nothing is known yet did not answer."""
        message = "it was interrupted before that"
        unknown = (Answer(schema, engine, message=message) for engine in self.engines)
        return [self._known.get((schema, one.engine), one) for one in unknown]

    def ranked(self, schema: str) -> list[Answer]:
        """About one schema, the best first (`Answer.standing`)."""
        return sorted(self.of(schema), key=lambda one: one.standing)

    def __iter__(self) -> Iterator[Answer]:
        return (one for schema in self.schemas for one in self.of(schema))

    def row(self) -> dict[str, Any]:
        return {
            "schemas": [
                {
                    "schema": name,
                    "tool": self.tools.get(name, ""),
                    "ranking": [one.engine for one in self.ranked(name)],
                    "engines": {one.engine: one.row() for one in self.of(name)},
                }
                for name in self.schemas
            ]
        }


def read_answers(run: RunDirectory, number: int = 0) -> dict[str, Answer]:
    """What a finished run says of an engine, by its number, with each schema, by their names."""
    vocabulary = vocabulary_of(run)
    stored = stored_run(run)
    errors = _errors(stored, read_verdicts(run, vocabulary, 0), vocabulary, number)
    declared, covered = _declared(stored, number), _covered(stored, number)
    engine, described = list(run.manifest["identity"]["engines"].items())[number]
    ends, backends = _ends(run, engine)
    answers = {}
    for case, (end, message) in ends.items():
        mine = tuple(sorted(errors[case], key=lambda one: one.order))
        rest = _status(mine, end), message, mine, tuple(declared[case]), covered[case]
        backend = backends.get(case, "")
        answers[case] = Answer(case, engine, described["version"], *rest, backend=backend)
    return answers


def _status(errors: Sequence[ProvenError], end: Status) -> Status:
    """What is told of an engine: no error alone where a value is at stake."""
    return "errs" if any(not one.is_spelling for one in errors) else end


def _ends(run: RunDirectory, engine: str) -> tuple[dict[str, tuple[Status, str]], dict[str, str]]:
    """What became of each schema in the engine, before any error is looked at, and its backend."""
    ends: dict[str, tuple[Status, str]] = {}
    backends: dict[str, str] = {}
    for row in run.table("cases", ["case", "status", "message"]).to_pylist():
        last = row["message"].strip().rpartition("\n")[2]
        broken = row["status"] in FAILED
        message = f"maskcourt itself failed: {last}" if broken else ""
        ends[row["case"]] = ("failed" if broken else "no_error_found", message)
    told = run.table("engines", ["case", "engine", "stage", "outcome", "message", "output"])
    for row in told.filter(pc.equal(told["engine"], engine)).to_pylist():
        what = row["outcome"]
        if taken := taken_by(row["output"]):
            backends[row["case"]] = taken
        if what == "refused" and row["stage"] == "compile":
            ends[row["case"]] = "refuses", plain_reason(row["message"])
        elif what in EXCLUDING:
            ends[row["case"]] = "failed", f"its adapter is at fault, {row['message']}"
        elif what not in ("compiled", "mask_consume_mismatch", *ADAPTER_FAULTS):
            doing = "compiled the schema" if row["stage"] == "compile" else "was asked for masks"
            ends[row["case"]] = "failed", f"{_OUTCOMES[what]} while it {doing}: {row['message']}"
    return ends, backends


def _errors(
    stored: StoredRun, verdicts: ErrorRows, vocabulary: Vocabulary, engine: int
) -> dict[str, list[ProvenError]]:
    """Of each group of errors under a schema the shortest text; declared ones where they cost."""
    candidates: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at in np.lexsort((verdicts.row, verdicts.severity)).tolist():
        class_, effect = kinds.CLASSES[verdicts.class_[at]], kinds.EFFECTS[verdicts.effect[at]]
        mine = verdicts.engine[at] == engine
        if mine and (class_ == kinds.BUG or effect in kinds.COSTLY):
            some = candidates[stored.cases[verdicts.case[at]], int(verdicts.groups[0][at])]
            if len(some) < _CANDIDATES:
                some.append(at)
    rows = {verdicts.name(at): at for some in candidates.values() for at in some}
    shown: dict[int, ProvenError] = {}
    cases = witnesses(stored.run, named(stored.run, list(rows)), vocabulary)
    for witness in (one for case in cases for one in case.witnesses):
        at, place = rows[witness.name], witness.at
        if witness.evidence == kinds.WALK:
            place = len(vocabulary.text(witness.before)) + max(place, 0)
        severity = WORST_FIRST[verdicts.severity[at]]
        about = witness.effect, witness.kind, witness.text, place, witness.keyword, severity
        class_ = kinds.CLASSES[verdicts.class_[at]]
        shown[at] = ProvenError(*about, class_, stored.run, witness)
    found: dict[str, list[ProvenError]] = defaultdict(list)
    for (case, _), some in candidates.items():
        found[case].append(min((shown[at] for at in some), key=lambda one: one.order))
    return found


def _declared(stored: StoredRun, engine: int) -> dict[str, list[Declared]]:
    entries = {one.id: one for one in load_catalogue()}
    found: dict[str, list[Declared]] = defaultdict(list)
    for row in stored.rows(
        """SELECT DISTINCT name, departure FROM verdicts JOIN cases USING (case_row)
        WHERE departure <> '' AND kind NOT IN $1 AND engine = $2 ORDER BY ALL""",
        list(kinds.LEGAL),
        engine,
    ):
        one = entries[row["departure"]]
        about = load_behaviours()[one.behaviour].about
        how = "it warns of this itself" if one.class_ == kinds.WARNED else "on purpose"
        full = f"{how}: {about} {one.says} ({one.source})"
        found[row["name"]].append(Declared(one.id, about, full))
    return found


def _covered(stored: StoredRun, engine: int) -> dict[str, Covered]:
    found: dict[str, Covered] = defaultdict(Covered)
    for case, walked in zip(stored.cases, stored.judged_positions(engine), strict=True):
        found[case] += Covered(positions=int(walked))
    for table in TEXT_TABLES.values():
        for row in stored.run.table(table, ["case", "verdict", "text"]).to_pylist():
            says, text = row["verdict"], frozenset((row["text"],))
            valid, invalid = (text if says == one else frozenset() for one in ("valid", "invalid"))
            found[row["case"]] += Covered(valid, invalid)
    return found
