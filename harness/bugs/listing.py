"""The bugs of a run as a list: of each its smallest case, and what it explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import chain
from typing import Any, Final

import numpy as np
from packaging.version import InvalidVersion, Version

from harness.analysis.statistics import Interval, is_sample, shares
from harness.analysis.stored import IN_FULL, WORST_FIRST
from harness.bugs.error_case import ErrorCase
from harness.bugs.groups import PENDING, Explanation, explain, read_verdicts
from harness.bugs.identity import bug_id, concerned, keywords, title
from harness.bugs.samples import SampleFile, ShrunkVerdict, smallest
from harness.directories import read_toml
from harness.engines.specs import read_spec
from harness.printable import escaped, plural
from harness.regex_constraint.work import RegexRun
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_at_hand
from harness.verdict_kinds import BUG, FORMAT_ONLY, LEAKS, LOSSES, MEANINGS, NOT_JSON, TRAPS

_AS_THEY_ARE: Final = (
    *("id", "version", "departure", "effect", "title", "at", "cases", "judged", "verdicts"),
    *("severity", "sampled", "verdict", "since", "others", "shared"),
)
_ORDER: Final = ((*LEAKS, *LOSSES), TRAPS, (FORMAT_ONLY, NOT_JSON, ""))
"""Effects in the order in which bugs are listed; all others come last."""
_SEVERITIES: Final = (*WORST_FIRST, "")
_LEFT_OUT: Final = "spellings and unclear ones left out"


@dataclass(frozen=True)
class Report:
    """What those who maintain an engine know of a bug: the thread, and what it says in a sentence.

    An entry has the smallest case as well, of which its id is made as that of any other bug.
    `fixed_in` is the first version without the bug, or empty.
    """

    id: str
    thread: str
    state: str
    fixed_in: str
    says: str

    @property
    def status(self) -> str:
        """The state, and since when it is mended."""
        return f"{self.state} ({self.fixed_in})" if self.fixed_in else self.state


@cache
def load_reports() -> Mapping[str, Report]:
    """What is known upstream (``datasets/upstream.toml``), by the id of the bug."""
    names = [one.name for one in fields(Report)]
    tables = read_toml("upstream.toml").get("report", [])
    return {one["id"]: Report(**{name: one.get(name, "") for name in names}) for one in tables}


@dataclass(frozen=True, kw_only=True)
class Bug(ShrunkVerdict):
    """One bug of a run: the verdict with its smallest case, and how often it was met.

    It was `met` in some of the schemas on which the engine was `judged`, given by number, each with
    what shows it there at worst, and explains so many `verdicts`; `sampled` of these came to it.
    `versions` of the engine, the oldest first, say whether it was met there. `shared` is what all
    other engines of the run make, too.
    """

    error: ErrorCase
    id: str
    engine: str
    version: str
    options: Mapping[str, Any]
    title: str
    data: str
    met: Mapping[int, str]
    judged: int
    share: Interval
    verdicts: int
    sampled: int
    upstream: Report | None
    versions: Mapping[str, bool]
    shared: bool

    @property
    def cases(self) -> int:
        return len(self.met)

    @property
    def severities(self) -> dict[str, int]:
        return severities_of(self.met)

    @property
    def topic(self) -> tuple[str, ...]:
        """What it costs, and the keywords without which it vanishes; a pattern has none."""
        return self.effect, *(concerned(self.error) or (self.id,))

    @property
    def severity(self) -> str:
        """The worst of its schemas'."""
        return next((name for name in WORST_FIRST if self.severities.get(name)), WORST_FIRST[-1])

    @property
    def shown_in_words(self) -> str:
        """In how many schemas what shows it, the worst first."""
        shown = self.severities if self.effect else {}  # of a mismatch no value is known
        return ", ".join(f"{many:,} {IN_FULL[name]}" for name, many in shown.items() if many)

    @property
    def effect_in_words(self) -> str:
        """What it costs a user, in words; empty where that is not known."""
        meaning = MEANINGS.get(self.effect, "")
        return meaning and f"{self.effect.replace('_', ' ')}: {meaning}"

    @property
    def since(self) -> str:
        """The oldest version of the run with it; empty where the run has one version."""
        met = [version for version, is_met in self.versions.items() if is_met]
        return met[0] if len(self.versions) > 1 and met else ""

    @property
    def also_in(self) -> str:
        """The other engines that make the error, in words; empty where there are none to ask."""
        if self.others is None:
            return ""
        named = (
            name if class_ == BUG else f"{name} ({class_})" for name, class_ in self.others.items()
        )
        return ", ".join(named) or "no other engine of the run"

    @property
    def order(self) -> tuple[object, ...]:
        """Leaks and losses, then traps; real values first, unusual ones last; then by share."""
        effect = next((at for at, some in enumerate(_ORDER) if self.effect in some), len(_ORDER))
        severity = WORST_FIRST.index(self.severity)
        share = self.cases / max(self.judged, 1)
        return (effect, severity, -share, -self.verdicts, self.id)

    def row(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in _AS_THEY_ARE}
        upstream = None if self.upstream is None else asdict(self.upstream)
        row |= {"engine": read_spec(self.engine).name, "kind": self.error.kind}
        row |= {"class": self.class_, self.error.about: self.error.parsed, "upstream": upstream}
        row |= {"text": escaped(self.error.text), "token": escaped(self.error.token)}
        row |= {"keywords": keywords(self.error), "share": self.share.row()}
        return row | {"severities": self.severities, "versions": dict(self.versions)}


def severities_of(met: Mapping[int, str]) -> dict[str, int]:
    """In how many schemas each severity is the worst, worst first."""
    counts = Counter(met.values())
    return {name: counts[name] for name in WORST_FIRST}


def met_by_any(bugs: Iterable[Bug]) -> dict[int, str]:
    """The schemas with any of some bugs, as `Bug.met` has them."""
    worst: dict[int, str] = {}
    for case, name in chain.from_iterable(one.met.items() for one in bugs):
        worst[case] = min(name, worst.get(case, name), key=_SEVERITIES.index)
    return worst


def topics(bugs: Iterable[Bug]) -> list[list[Bug]]:
    """The bugs of an engine by topic, which may be one cause, in the order of the first of each."""
    found: dict[tuple[str, ...], list[Bug]] = {}
    for bug in bugs:
        found.setdefault(bug.topic, []).append(bug)
    return list(found.values())


@dataclass(frozen=True)
class BugList:
    """All bugs of a run, those first that cost a value; see `Bug.order`.

    Of so many `verdicts` the `unexplained` are none of these, by reason; `sampled` came to a bug.
    """

    bugs: tuple[Bug, ...]
    verdicts: int
    unexplained: dict[str, int]
    sampled: int

    def of(self, engine: str) -> list[Bug]:
        return [bug for bug in self.bugs if bug.engine == engine]

    @property
    def _explained(self) -> int:
        return self.verdicts - sum(self.unexplained.values())

    @property
    def explained(self) -> float:
        """The share of the verdicts that are one of the bugs."""
        return self._explained / self.verdicts if self.verdicts else 1.0

    @property
    def percent_explained(self) -> str:
        """The same in words, never rounded up: 100.0% is all of them."""
        permille = 1000 * self._explained // self.verdicts if self.verdicts else 1000
        return f"{permille / 10:.1f}%"

    @property
    def pending(self) -> int:
        """How many verdicts the search has not come to yet."""
        return self.unexplained.get(PENDING, 0)

    def told(self, class_: str = BUG, most: int | None = None) -> Iterator[str]:
        """How many verdicts of a class the bugs explain, and the first reasons why not the rest."""
        if not self.verdicts:
            yield f"no verdicts of the class {class_}, {_LEFT_OUT}"
            return
        words = "bug explains" if len(self.bugs) == 1 else "bugs explain"
        of = f"{plural(self.verdicts, 'verdict')} of the class {class_}, {_LEFT_OUT}"
        yield f"{len(self.bugs):,} {words} {self.percent_explained} of {of}"
        for reason, number in Counter(self.unexplained).most_common(most):
            yield f"{reason}: {number:,}"


def bug_of(run: RunDirectory, sample: ShrunkVerdict) -> Bug:
    """The bug of one verdict that was shrunk by itself."""
    assert sample.error is not None
    alone = {"met": {0: ""}, "verdicts": 1, "sampled": 1}
    return _bug(run, judged_schemas(run), sample, [sample.error.engine], alone)


def known_bugs(run: RunDirectory) -> BugList | None:
    """The bugs of a run as far as a search found them; None where none came to anything yet.

    Nothing is started, shrunk or written. The run may be unfinished, its vocabulary not at hand.
    """
    if not run.finished:
        return None
    samples, seed = SampleFile(run).read()
    vocabulary = None if seed is None else vocabulary_at_hand(run)
    if vocabulary is None or seed is None:
        return None
    verdicts = read_verdicts(run, vocabulary, seed)
    result = explain(verdicts, samples, verdicts.among((BUG,)))
    return None if result.wanted and not samples else bug_list(run, result)


def bug_list(run: RunDirectory, explanation: Explanation, only: str | None = None) -> BugList:
    """The bugs of all engines of a run, or of one with its verdicts alone."""
    rows, among = explanation.verdicts, explanation.among
    codes, engine = explanation.bug[among], rows.engine[among]
    cases, severity = rows.case[among], rows.severity[among]
    shrunk = [sample for sample in explanation.samples.values() if sample.error is not None]
    best = smallest(shrunk)
    sampled = Counter((sample.bug, sample.error.engine) for sample in shrunk if sample.error)
    judged, bugs = judged_schemas(run), []
    specs = list(run.manifest["identity"]["engines"])
    met = np.unique(np.column_stack([codes, engine])[codes >= 0], axis=0).tolist()
    told = [at for at, spec in enumerate(specs) if only in (None, spec)]
    for number, which in [pair for pair in met if pair[1] in told]:
        mine = (codes == number) & (engine == which)
        key = explanation.ids[number], specs[which]
        rows_by_case = np.lexsort((severity[mine], cases[mine]))
        there, first = np.unique(cases[mine][rows_by_case], return_index=True)
        worst = [_SEVERITIES[at] for at in severity[mine][rows_by_case][first].tolist()]
        incidence = {
            "met": dict(zip(there.tolist(), worst, strict=True)),
            "verdicts": int(mine.sum()),
            "sampled": sampled[key],
        }
        met_in = [specs[other] for bug, other in met if bug == number]
        bugs.append(_bug(run, judged, best[key], met_in, incidence))
    codes = codes[np.isin(engine, told)]
    reasons = Counter(explanation.reasons[-1 - code] for code in codes[codes < 0].tolist())
    return BugList(
        tuple(sorted(bugs, key=lambda bug: bug.order)),
        len(codes),
        {reason: reasons[reason] for reason in explanation.reasons if reasons[reason]},
        sum(bug.sampled for bug in bugs),
    )


def judged_schemas(run: RunDirectory) -> dict[str, int]:
    """On how many schemas or patterns each engine of a run was judged."""
    if isinstance(run, RegexRun):
        return Counter(line.engine for line in run.lines if line.positions)
    judged = run.table("cases", ["judged"])["judged"].to_numpy()
    return {
        name: int(np.count_nonzero(judged >> np.uint32(number) & 1))
        for number, name in enumerate(run.manifest["identity"]["engines"])
    }


def _bug(
    run: RunDirectory,
    judged: Mapping[str, int],
    sample: ShrunkVerdict,
    met_in: Sequence[str],
    incidence: dict[str, Any],
) -> Bug:
    error, engines = sample.error, run.manifest["identity"]["engines"]
    assert error is not None
    schemas = judged[error.engine]
    many = len(incidence["met"])
    hits = (np.arange(max(schemas, many)) < many)[:, None]
    name = read_spec(error.engine).name
    versions = {
        read_spec(spec).labelled(described["version"]): spec in met_in
        for spec, described in engines.items()
        if read_spec(spec).name == name
    }
    return Bug(
        **{one.name: getattr(sample, one.name) for one in fields(sample)},
        id=sample.bug,
        engine=error.engine,
        version=engines[error.engine]["version"],
        options=engines[error.engine]["options"],
        title=title(error, sample.keyword, sample.at),
        data=str(run.manifest["identity"].get("data", {}).get("name", "")),
        judged=schemas,
        share=shares(hits, sampled=is_sample(run))[0],
        upstream=load_reports().get(bug_id(error, sample.at)),
        versions={version: versions[version] for version in sorted(versions, key=version_order)},
        shared=0 < len(sample.others or ()) == len(engines) - 1,
        **incidence,
    )


def version_order(version: str) -> tuple[bool, Version]:
    """By what versions stand as they were released; what is none comes first."""
    try:
        return True, Version(version.partition(" ")[0])
    except InvalidVersion:
        return False, Version("0")
