"""The bugs of a run as a list: of each its smallest case, and what it explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from packaging.version import InvalidVersion, Version

from harness.bugs.error_case import ErrorCase
from harness.bugs.groups import PENDING
from harness.bugs.samples import ShrunkVerdict, smallest
from harness.bugs.schema_edits import TWINS
from harness.bugs.search import Found, known
from harness.bugs.titles import keywords, title
from harness.bugs.upstream import Report, load_reports
from harness.classification.departures import Catalogue
from harness.counting.counts import Classify
from harness.counting.intervals import Interval, is_sample, shares
from harness.counting.schema_bugs import WORST_FIRST
from harness.engines.specs import read_spec
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import BUG


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
        judged: On how many schemas the engine was judged.
        share: The one in the other, with an interval where the cases are a sample.
        verdicts: How many verdicts it explains.
        severities: How many of them are how severe, the worst first.
        sampled: How many of them were shrunk and came to it.
        verdict: One of these, by the name that ``maskcourt replay`` knows.
        case: The case of the run that it is about.
        upstream: What is known to those who maintain the engine.
        versions: The versions of the engine in this run, the oldest first, and whether it was met
            there.
        others: What the error of the smallest case counts as in each other engine of the run that
            makes it as well, by the engine's spec; None where they were not asked.
        shared: Whether all other engines of the run make it; never where there are none.
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
    judged: int
    share: Interval
    verdicts: int
    severities: Mapping[str, int]
    sampled: int
    verdict: str
    case: str
    upstream: Report | None
    versions: Mapping[str, bool]
    others: Mapping[str, str] | None
    shared: bool

    @property
    def severity(self) -> str:
        """The worst of its verdicts'."""
        return next((name for name in WORST_FIRST if self.severities.get(name)), WORST_FIRST[-1])

    @property
    def since(self) -> str:
        """The oldest version of the run with it; empty where the run has one version."""
        met = [version for version, there in self.versions.items() if there]
        return met[0] if len(self.versions) > 1 and met else ""

    @property
    def also_in(self) -> str:
        """The other engines that make the error, in words; empty where there are none to ask."""
        if self.others is None:
            return ""
        named = (
            name if class_ == BUG else f"{name} ({class_})" for name, class_ in self.others.items()
        )
        return ", ".join(named) or "no other engine that was asked"

    @property
    def order(self) -> tuple[object, ...]:
        """Bugs that a model meets first, then those in most schemas."""
        return (WORST_FIRST.index(self.severity), -self.cases, -self.verdicts, self.id)

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
            "text": self.error.readable_text,
            "at": self.at,
            "token": self.error.readable_token,
            "keywords": keywords(self.error),
            "cases": self.cases,
            "judged": self.judged,
            "share": self.share.scaled(1),
            "verdicts": self.verdicts,
            "severity": self.severity,
            "severities": dict(self.severities),
            "sampled": self.sampled,
            "verdict": self.verdict,
            "versions": dict(self.versions),
            "since": self.since,
            "others": self.others,
            "shared": self.shared,
            "upstream": None if self.upstream is None else self.upstream.row(),
        }


@dataclass(frozen=True)
class BugList:
    """All bugs of a run, those that a model meets first, then those in most schemas.

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

    def of(self, engine: str) -> list[Bug]:
        """The bugs of one engine, by its spec."""
        return [one for one in self.bugs if one.engine == engine]

    @property
    def explained(self) -> float:
        """The share of the verdicts that are one of the bugs."""
        return (self.verdicts - self._left) / self.verdicts if self.verdicts else 1.0

    @property
    def percent_explained(self) -> str:
        """The same in words, never rounded up: 100.0% is all of them."""
        permille = 1000 * (self.verdicts - self._left) // max(self.verdicts, 1)
        return f"{permille / 10 if self.verdicts else 100:.1f}%"

    @property
    def _left(self) -> int:
        return sum(self.unexplained.values())

    @property
    def pending(self) -> int:
        """How many verdicts the search has not come to yet."""
        return self.unexplained.get(PENDING, 0)


def bug_of(run: RunDirectory, one: ShrunkVerdict) -> Bug:
    """The bug of one verdict that was shrunk by itself."""
    assert one.error is not None
    return _Lister(run).bug(one, Incidence.of_one(one.error.engine))


def known_bugs(
    run: RunDirectory, catalogue: Catalogue, rule: Classify | None = None
) -> BugList | None:
    """The bugs of a run as far as a search found them; None where none came to anything yet.

    Args:
        run: The run, finished or not.
        catalogue: The declared departures.
        rule: Gives verdicts the classes of the catalogue, where they are known already.
    """
    found = known(run, catalogue, classes=(BUG,), rule=rule) if run.finished else None
    if found is None or (found.explanation.wanted and not found.samples):
        return None
    return bug_list(run, found)


def bug_list(run: RunDirectory, found: Found) -> BugList:
    """What a search found, counted."""
    codes = found.explanation.bug[found.among]
    cases = found.verdicts.case[found.among]
    severity = found.verdicts.severity[found.among]
    engine = found.verdicts.engine[found.among]
    best, sampled = smallest(found.samples.values()), Counter(_bugs(found))
    lister = _Lister(run)
    bugs = []
    specs = list(run.manifest["identity"]["engines"])
    met = np.unique(np.column_stack([codes, engine])[codes >= 0], axis=0).tolist()
    for number, which in met:
        mine = (codes == number) & (engine == which)
        key = found.explanation.ids[number], specs[which]
        counted = np.bincount(severity[mine], minlength=len(WORST_FIRST)).tolist()
        incidence = Incidence(
            cases=len(np.unique(cases[mine])),
            verdicts=int(mine.sum()),
            severities=dict(zip(WORST_FIRST, counted, strict=True)),
            sampled=sampled[key],
            met_in=tuple(specs[other] for one, other in met if one == number),
        )
        bugs.append(lister.bug(best[key], incidence))
    reasons = {
        reason: int((codes == -1 - number).sum())
        for number, reason in enumerate(found.explanation.reasons)
    }
    shrunk = [one for one in found.samples.values() if one.error is not None]
    return BugList(
        tuple(sorted(bugs, key=lambda one: one.order)),
        len(codes),
        {reason: count for reason, count in reasons.items() if count},
        sum(_misattributed(one) for one in shrunk),
        len(shrunk),
    )


@dataclass(frozen=True)
class Incidence:
    """How often a bug was met, as `Bug` has it."""

    cases: int
    verdicts: int
    severities: Mapping[str, int]
    sampled: int
    met_in: Sequence[str]

    @classmethod
    def of_one(cls, engine: str) -> Incidence:
        """That of a verdict by itself."""
        return cls(1, 1, {}, 1, (engine,))


class _Lister:
    """Makes bugs of what was shrunk and of what the run says about their engines."""

    def __init__(self, run: RunDirectory) -> None:
        self._engines = run.manifest["identity"]["engines"]
        judged = run.table("cases", ["judged"])["judged"].to_numpy()
        self._judged = {
            name: int(np.count_nonzero(judged >> np.uint32(number) & 1))
            for number, name in enumerate(self._engines)
        }
        self._is_sample = is_sample(run)
        self._reports = load_reports()

    def bug(self, one: ShrunkVerdict, incidence: Incidence) -> Bug:
        assert one.error is not None
        described, judged = self._engines[one.error.engine], self._judged[one.error.engine]
        hits = (np.arange(max(judged, incidence.cases)) < incidence.cases)[:, None]
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
            cases=incidence.cases,
            judged=judged,
            share=shares(hits, sampled=self._is_sample)[0],
            verdicts=incidence.verdicts,
            severities=incidence.severities,
            sampled=incidence.sampled,
            verdict=one.verdict,
            case=one.case,
            upstream=self._reports.get(one.bug),
            versions=self._versions(one.error.engine, incidence.met_in),
            others=one.others,
            shared=0 < len(one.others or ()) == len(self._engines) - 1,
        )

    def _versions(self, engine: str, met_in: Sequence[str]) -> dict[str, bool]:
        """Of the versions of an engine in the run, the oldest first, which have the bug."""
        name = read_spec(engine).name
        found = {
            read_spec(spec).labelled(described["version"]): spec in met_in
            for spec, described in self._engines.items()
            if read_spec(spec).name == name
        }
        return {one: found[one] for one in sorted(found, key=_in_order)}


def _in_order(version: str) -> tuple[bool, Version]:
    """Versions as they were released; what is none comes first."""
    try:
        return True, Version(version.partition(" ")[0])
    except InvalidVersion:
        return False, Version("0")


def _bugs(found: Found) -> Iterator[tuple[str, str]]:
    errors = ((one.bug, one.error) for one in found.samples.values())
    yield from ((bug, error.engine) for bug, error in errors if error is not None)


def _misattributed(sample: ShrunkVerdict) -> bool:
    """Whether the keyword that a verdict was attributed to is not needed for its error.

    Of ``type``, which shrinking never leaves out, nothing is learnt.
    """
    assert sample.error is not None
    named = sample.attributed
    if named in ("", "json", "type", "false"):
        return False
    stands = (f'"{one}":' in sample.error.schema for one in (named, TWINS.get(named, named)))
    return not any(stands)
