"""The bugs of a run as a list: of each its smallest case, and what it explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.bugs.error_case import ErrorCase
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.search import Found
from harness.bugs.titles import keywords, title
from harness.engines.specs import read_spec
from harness.runs.directory import RunDirectory


@dataclass(frozen=True)
class Bug:
    """One bug of a run.

    Attributes:
        id: The same in every run.
        engine: The engine's spec.
        version: Its version in this run.
        options: Its options.
        error: The smallest case that was found.
        at: The byte of its text at which the error is, -1 where that is not known.
        keyword: What is broken there, or in force.
        title: In one line.
        class_: What it counts as.
        departure: The entry of the catalogue, empty for a bug.
        cases: In how many schemas it occurs.
        compiled: How many schemas the engine compiled.
        verdicts: How many verdicts it explains.
        sampled: How many of them were shrunk and came to it.
        verdict: One of these, by the name that ``maskcourt replay`` knows.
    """

    id: str
    engine: str
    version: str
    options: Mapping[str, Any]
    error: ErrorCase
    at: int
    keyword: str
    title: str
    class_: str
    departure: str
    cases: int
    compiled: int
    verdicts: int
    sampled: int
    verdict: str

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "id": self.id,
            "engine": read_spec(self.engine).name,
            "version": self.version,
            "kind": self.error.kind,
            "class": self.class_,
            "departure": self.departure,
            "title": self.title,
            "schema": self.error.parsed,
            "text": self.error.text.decode("utf-8", "backslashreplace"),
            "at": self.at,
            "token": self.error.token.decode("utf-8", "backslashreplace"),
            "keywords": keywords(self.error),
            "cases": self.cases,
            "compiled": self.compiled,
            "verdicts": self.verdicts,
            "sampled": self.sampled,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class BugList:
    """All bugs of a run, those in most schemas first.

    Attributes:
        bugs: They.
        verdicts: How many verdicts were looked at.
        unexplained: How many of them are none of these bugs, by the reason.
        misattributed: Of how many sampled verdicts the keyword is not in the smallest schema.
        sampled: How many verdicts were shrunk to a bug.
    """

    bugs: tuple[Bug, ...]
    verdicts: int
    unexplained: dict[str, int]
    misattributed: int
    sampled: int

    @property
    def explained(self) -> float:
        """The share of the verdicts that are one of the bugs."""
        return 1 - sum(self.unexplained.values()) / self.verdicts if self.verdicts else 1.0


def bug_of(run: RunDirectory, one: ShrunkVerdict) -> Bug:
    """The bug of one verdict that was shrunk by itself."""
    assert one.error is not None
    return _bug(run, one, cases=1, verdicts=1, sampled=1, compiled=_compiled(run))


def _bug(
    run: RunDirectory,
    one: ShrunkVerdict,
    *,
    cases: int,
    verdicts: int,
    sampled: int,
    compiled: Mapping[str, int],
) -> Bug:
    assert one.error is not None
    described = run.manifest["identity"]["engines"][one.error.engine]
    return Bug(
        id=one.bug,
        engine=one.error.engine,
        version=described["version"],
        options=described["options"],
        error=one.error,
        at=one.at,
        keyword=one.keyword,
        title=title(one.error, one.keyword, one.at),
        class_=one.class_,
        departure=one.departure,
        cases=cases,
        compiled=compiled[one.error.engine],
        verdicts=verdicts,
        sampled=sampled,
        verdict=one.verdict,
    )


def bug_list(run: RunDirectory, found: Found) -> BugList:
    """What a search found, counted."""
    codes = found.explanation.bug[found.among]
    cases = found.verdicts.case[found.among]
    best, sampled = _best(found), Counter(_bugs(found))
    compiled = _compiled(run)
    bugs = []
    for number, bug in enumerate(found.explanation.ids):
        mine = codes == number
        bugs.append(
            _bug(
                run,
                best[bug],
                cases=len(np.unique(cases[mine])),
                verdicts=int(mine.sum()),
                sampled=sampled[bug],
                compiled=compiled,
            )
        )
    reasons = {
        reason: int((codes == -1 - number).sum())
        for number, reason in enumerate(found.explanation.reasons)
    }
    shrunk = [one for one in found.samples.values() if one.error is not None]
    return BugList(
        tuple(sorted(bugs, key=lambda one: (-one.cases, -one.verdicts, one.id))),
        len(codes),
        {reason: count for reason, count in reasons.items() if count},
        sum(_misattributed(one) for one in shrunk),
        len(shrunk),
    )


def _bugs(found: Found) -> Iterator[str]:
    yield from (one.bug for one in found.samples.values() if one.error is not None)


def _best(found: Found) -> dict[str, ShrunkVerdict]:
    """The sample with the smallest case of each bug."""
    best: dict[str, ShrunkVerdict] = {}
    for one in found.samples.values():
        if one.error is None:
            continue
        known = best.get(one.bug)
        if known is None or known.error is None or one.error.size < known.error.size:
            best[one.bug] = one
    return best


def _compiled(run: RunDirectory) -> Counter[str]:
    """How many schemas each engine compiled."""
    table = run.table("engines", ["engine", "stage", "outcome"]).to_pylist()
    return Counter(
        row["engine"] for row in table if row["stage"] == "compile" and row["outcome"] == "compiled"
    )


def _misattributed(sample: ShrunkVerdict) -> bool:
    """Whether the keyword that a verdict was attributed to is not needed for its error."""
    assert sample.error is not None
    named = sample.attributed
    if named in ("", "json", "type", "false"):
        return False
    return f'"{named}":' not in sample.error.schema
