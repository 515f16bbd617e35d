"""The page on all published results: three answers, computed from their tables, and the pages.

Answers come from the tables `counts.csv` and `large.csv` of `newest`, else of `values`, and from
the findings of `tools`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from typing import Any, Final

from benchmarks.pages.later import in_a_sentence
from benchmarks.pages.layout import (
    GROUPS,
    MEANING,
    SEE_MEANING,
    SERVERS,
    SHIPPED,
    SPECIFICATION,
    listed,
    markdown_table,
    page,
)
from benchmarks.site.published import Published, rows_of
from harness.engines.specs import DEFAULT, with_version

_ABOUT: Final[Mapping[str, str]] = {
    "newest": "The newest engines, as shipped, and servers' presets, with their bugs",
    "later": "Which of these bugs later versions have still",
    "values": "MaskBench, by values: refusals, times of compilation, losses and leaks",
    "tools": "The tools of eleven public servers, by three engines and nine presets",
    "engines": "Nine engines on the same schemas, in pairs",
    "equal": "Schemas that mean the same: what engines do under one of two forms alone",
    "generated": "Generated schemas, and bugs that other cases do not show",
    "study": "The original study, by its procedure and by ours",
    "reports": "Twenty texts for the engines' trackers: errors, and schemas that are refused",
    "spellings": "How engines may spell JSON: a battery of questions, all engines and presets",
    "gates": "What vLLM and SGLang refuse, and what their engines keep",
    "conformance": "Which keyword each engine keeps at which place",
    "protocol": "What servers rely on beside the masks' content",
    "versions": "What the newest versions fixed and broke against those of the study",
    "recall": "What the ordinary method finds under patterns, where the truth is known: its recall",
    "impact": "What masks cost a small model on function calls",
}
"""What each directory holds, in the order in which they are listed."""

_CHANCE: Final = 0.05
_LARGE_RUNS: Final = ("newest", "values")
"""The pages of large runs: answers come from the first that is there."""
_SHIPPED: Final = "[config=shipped]"


@dataclass(frozen=True)
class Answer:
    """What an engine did with `of` schemas; `wrong` are those with a loss, a leak or a trap.

    In `wrong_declared` of them it does as it declares. Of those that `failed` `late` were not
    compiled in time. It was `judged` on those for which a value was decided, where that was
    counted. Losses, leaks and traps that real values show are in `real`, by the word. What `format`
    alone forbids passes in `by_format`, text that is no JSON in `no_json`, in `unusual` of them by
    unusual texts alone.
    """

    engine: str
    of: int
    refused: int
    failed: int
    wrong: int
    loses: int = 0
    leaks: int = 0
    traps: int = 0
    wrong_declared: int = 0
    late: int = 0
    judged: int | None = None
    real: Mapping[str, int] = field(default_factory=dict)
    by_format: int = 0
    no_json: int = 0
    unusual: int = 0

    @property
    def taken(self) -> int:
        compiled = self.of - self.refused - self.failed
        return compiled if self.judged is None else self.judged

    @property
    def unusable(self) -> int:
        return self.refused + self.failed + self.wrong


@dataclass(frozen=True)
class Source:
    """A page with answers of the default engines, and what its schemas are.

    `limit` says how long compilation may take, `configured` in which configuration they are.
    """

    name: str
    schemas: str
    answers: Sequence[Answer]
    limit: str = ""
    configured: str = ""

    @property
    def link(self) -> str:
        return f"[{self.name}]({self.name}/README.md)"


def _table(
    root: Path, file: str, group: str, pages: Sequence[str] = _LARGE_RUNS
) -> tuple[str, list[dict[str, str]]]:
    """The rows of a group of `GROUPS` in a table of the first page that has any, and its name."""
    for name in pages:
        rows = [
            row
            for row in rows_of(root / name / file)
            if row["engine"].split(" ", maxsplit=1)[0] in GROUPS[group]
            and row.get("group", "") in ("", group)
        ]
        if rows:
            return name, rows
    return "", []


def counted(
    root: Path, group: str = SPECIFICATION, pages: Sequence[str] = _LARGE_RUNS
) -> Source | None:
    """What a large run says of a group of `GROUPS`; None where none is published."""
    name, rows = _table(root, "counts.csv", group, pages)
    if not rows:
        return None
    asked = max(int(row["schemas"]) for row in rows)
    answers, configured = [*map(_answer, rows)], ", as shipped" * (group == SHIPPED)
    words = _OF[name].format(f"{asked:,} schemas")
    return Source(name, words, answers, _limit(root / name), configured)


_OF: Final = {
    "newest": "{} of JSONSchemaBench",
    "values": "{} of MaskBench, without those made for tests",
}


def _limit(page: Path) -> str:
    """How long compilation may take, as the manifest of a page has it."""
    manifest = json.loads((page / "manifest.json").read_text("utf-8"))
    limits = manifest.get("specification", manifest)["identity"]["limits"]
    return f"{limits['compile']:g} s of processor time"


def _answer(row: Mapping[str, str]) -> Answer:
    failed = sum(int(row[one]) for one in ("crashed", "timed_out", "out_of_memory"))
    names = ("refused", "wrong", "loses", "leaks", "traps", "wrong_declared")
    numbers = {name: int(row[name]) for name in names}
    kinds = {"by_format": "by_format_alone", "no_json": "no_json", "unusual": "no_json_unusual"}
    numbers |= {name: int(row[column]) for name, column in kinds.items()}
    engine = with_version(row["engine"], row["version"])
    numbers |= {"failed": failed, "late": int(row["timed_out"]), "judged": int(row["judged"])}
    real = {name: int(row[f"{name}_real"]) for name in ("loses", "leaks", "traps")}
    return Answer(engine, int(row["schemas"]), **numbers, real=real)


def tools(root: Path, group: str = SPECIFICATION) -> Source | None:
    """The answers of `tools`; a preset has them where it was asked."""
    published = Published.read(root)
    answers = []
    for spec in filter(published.was_asked_about_tools, GROUPS[group]):
        words = [row["finding"].split(", ") for row in published.findings if row["engine"] == spec]
        counts = published.counts(spec)
        told: dict[str, Any] = {name: counts[name] for name in ("loses", "leaks", "traps")}
        wrong = published.wrong(spec)
        failed = sum("no answer" in one for one in words)
        engine = with_version(spec, published.version(spec))
        answers.append(Answer(engine, published.tools, counts["refuses"], failed, wrong, **told))
    named = f"{published.tools:,} schemas of tools of public servers"
    if returned := sum(name.endswith(".output") for name in published.tool_names):
        named += f", {returned:,} of them of what a tool returns"
    return Source("tools", named, answers) if answers else None


_Cell = Callable[[Answer], str]
Rank = Callable[[Answer], tuple[bool, int, int]]
"""Whether an engine is out of the question for a use, and how many schemas are bad of how many."""
_OF_LARGE: Final = ("of", "refused", "failed", "wrong", "wrong_declared")


def large(root: Path, group: str = SPECIFICATION) -> Source | None:
    """The answers on large schemas, as `counted`."""
    name, rows = _table(root, "large.csv", group)
    answers = []
    for row in rows:
        numbers: dict[str, Any] = {key: int(row[key]) for key in _OF_LARGE}
        answers.append(Answer(row["engine"], **numbers))
    asked = max((one.of for one in answers), default=0)
    if not answers:
        return None
    return Source(name, _OF[name].format(f"{asked:,} large schemas"), answers, _limit(root / name))


def _by_engine(
    sources: Sequence[Source], cell: _Cell, more: Sequence[Mapping[str, _Cell]] = ()
) -> str:
    """A table of what each engine does with the schemas of each source, and more by the first."""
    rows: dict[str, dict[str, str]] = {}
    asked = [f"{one.name}{one.configured}" for one in sources]
    cells = [(name, source, cell) for name, source in zip(asked, sources, strict=True)]
    for name, source, others in zip(asked, sources, more, strict=False):
        cells += [(f"{name}: {word}", source, told) for word, told in others.items()]
    for column, source, told in cells:
        for one in source.answers:
            rows.setdefault(_name(one), {"engine": _name(one)})[column] = told(one)
    columns = ["engine", *(column for column, *_ in cells)]
    told_of = [dict.fromkeys(columns, "not asked") | row for row in rows.values()]
    return markdown_table(columns, told_of)


def _many(one: Answer, kind: str) -> str:
    real = one.real.get(kind, 0)
    return f"{getattr(one, kind):,}" + f" ({real:,} real)" * bool(real)


def _leaks(one: Answer) -> str:
    return f"{_many(one, 'leaks')} of {one.taken:,}"


def _by_format(one: Answer) -> str:
    return f"{one.by_format:,}"


def _no_json(one: Answer) -> str:
    alone = ", by unusual texts alone" * (0 < one.no_json == one.unusual)
    return f"{one.no_json:,}{alone}"


def _cannot(one: Answer) -> str:
    parts = [f"{one.refused:,} refused"] * bool(one.refused)
    parts += [f"{one.late:,} too slow"] * bool(one.late)
    parts += [f"{one.failed - one.late:,} without an answer"] * (one.failed > one.late)
    costs = f"loses {_many(one, 'loses')} and traps {_many(one, 'traps')} of {one.taken:,}"
    return "; ".join([", ".join(parts), costs]) if parts else costs


def _best(source: Source, rank: Rank) -> list[Answer]:
    """The best engines for a use, and those that nothing tells from them."""
    ordered = sorted(source.answers, key=lambda one: _order(rank(one)))
    return [one for one in ordered if not is_worse(rank(ordered[0]), rank(one))]


def _choice(use: str, sources: Sequence[Source | None], rank: Rank) -> str:
    """The engines to choose for a use, by group; groups with the same engines are one."""
    groups: dict[str, list[str]] = {}
    for words, source in zip(_GROUPS.values(), sources, strict=True):
        if source:
            groups.setdefault(_named(source, rank), []).append(words)
    told = [f"{names}, {' and '.join(words)}" for names, words in groups.items()]
    return f"- **{use}**: {'; '.join(told) or 'no result that tells is published yet'}."


def _named(source: Source, rank: Rank) -> str:
    alike: dict[int, list[str]] = {}
    for one in sorted(_best(source, rank), key=lambda one: one.wrong):
        alike.setdefault(one.wrong, []).append(_name(one))
    return ", ".join(f"{' or '.join(names)} ({wrong:,} wrong)" for wrong, names in alike.items())


def _group_table(sources: Sequence[Source | None]) -> str:
    """What each engine of a group does with the schemas of each use; in bold the best."""
    rows: dict[str, dict[str, str]] = {}
    for (use, _, rank), source in zip(_USES, sources, strict=True):
        best = _best(source, rank) if source else []
        for one in source.answers if source else ():
            declared = f" ({one.wrong_declared:,})" * bool(one.wrong_declared)
            told = f"{one.wrong:,}{declared} of {one.taken:,} wrong"
            told += f", {one.refused + one.failed:,} not compiled"
            row = rows.setdefault(one.engine, {"engine": _name(one)})
            row[use] = f"**{told}**" if one in best else told
    columns = ["engine", *(use for use, *_ in _USES if any(use in row for row in rows.values()))]
    told_of = [dict.fromkeys(columns, "not asked") | row for row in rows.values()]
    return markdown_table(columns, told_of).replace(r"\*\*", "**")


def _name(one: Answer) -> str:
    return one.engine.replace(_SHIPPED, "")


def _order(rank: tuple[bool, int, int]) -> tuple[bool, float, int]:
    out, bad, of = rank
    return out, bad / max(of, 1), -of


def is_worse(best: tuple[bool, int, int], other: tuple[bool, int, int]) -> bool:
    """Whether an engine is out of the question, or more of its schemas are bad than chance allows.

    A rank is whether it is out, and how many are bad of how many. Fisher's exact test, one-sided,
    at 5%: that they are the same schemas is not made use of, so that fewer are told apart.
    """
    (out, bad, of), (other_out, other_bad, other_of) = best, other
    if other_out and not out:
        return True
    every, chances = bad + other_bad, range(max(0, bad + other_bad - other_of), bad + 1)
    ways = sum(comb(of, one) * comb(other_of, every - one) for one in chances)
    return ways / comb(of + other_of, every) < _CHANCE


def _usable(one: Answer) -> tuple[bool, int, int]:
    return False, one.unusable, one.of


def _reliable(one: Answer) -> tuple[bool, int, int]:
    return one.taken < one.of / 2, one.wrong, one.taken


_USES: Final[Sequence[tuple[str, Callable[[Path, str], Source | None], Rank]]] = (
    ("Tools", tools, _usable),
    ("Extraction, by a schema of your own", counted, _reliable),
    ("Large schemas", large, _reliable),
)
_GROUPS: Final = {
    SPECIFICATION: "closest to the specification",
    SHIPPED: "as the libraries ship them",
    SERVERS: "on a server as it is set up",
}
_RULE: Final = (
    "In bold are the best, and those that such counts cannot tell from it (Fisher's exact test,"
    " 5%). For tools it is wrong in or does not compile the fewest; for a schema of your own, which"
    " you can change where an engine refuses it, and for large ones it is wrong in the smallest"
    " share of what it compiles, and compiles half or more; what it refuses is often hard, so that"
    " it is judged on easier schemas ([engines](engines/README.md) has pairs on the same ones)."
    " JSONSchemaBench is ten families of schemas, from GitHub, Kubernetes and elsewhere. Each table"
    " has generated values of its own, and to servers values alone were put, to the libraries walks"
    " over tokens as well: tables cannot be compared with each other. Servers have the library that"
    " they take by themselves; many can be told to take another ([presets](../docs/presets.md))."
    " What an engine lets through a validator finds afterwards; what it forbids nobody sees."
)


def choices(root: Path) -> str:
    """What to choose for each use, by the results in a directory: a line each."""
    return _choices(_asked(root))


def _asked(root: Path) -> list[list[Source | None]]:
    """What is published for each use: by group."""
    return [[source(root, group) for group in _GROUPS] for _, source, _ in _USES]


def _choices(asked: Iterable[Sequence[Source | None]]) -> str:
    each = zip(_USES, asked, strict=True)
    return "\n".join(_choice(use, sources, rank) for (use, _, rank), sources in each)


def later_versions(root: Path) -> str:
    """What became of the bugs in versions later than those that were asked."""
    told = (rows_of(root / "later" / f"{name}.csv") for name in ("changes", "counts", "compiled"))
    return " ".join(f"{one} ([later](later/README.md))." for one in in_a_sentence(*told))


def _sources(root: Path) -> Iterator[Source]:
    """The pages that the first answers come from, the main one first."""
    found = [counted(root), counted(root, SHIPPED), counted(root, pages=("values",)), tools(root)]
    names: set[tuple[str, str]] = set()
    for one in found:
        if one and (key := (one.name, one.configured)) not in names:
            names.add(key)
            yield one


def _bases(sources: Sequence[Source]) -> str:
    """What the columns of the first tables are about."""
    limits = [f"; compiled within {one.limit}" * bool(one.limit) for one in sources]
    told = [
        f"{one.schemas} ({one.link}{limit})" for one, limit in zip(sources, limits, strict=True)
    ]
    return listed([*dict.fromkeys(told)])


def _others(root: Path) -> str:
    """What libraries that are not asked by the other pages do, in a sentence."""
    rows = [row for row in rows_of(root / "engines" / "counts.csv") if row["engine"] not in DEFAULT]
    told = []
    for one in map(_answer, rows):
        declared = f", {one.wrong_declared:,} of them declared" * bool(one.wrong_declared)
        unjudged = f" ({one.of - one.taken:,} not judged)" * (one.taken < one.of)
        told.append(f"{one.engine} is wrong in {one.wrong:,} of {one.taken:,}{declared}{unjudged}")
    if not told:
        return ""
    asked = f"{int(rows[0]['schemas']):,} schemas of JSONSchemaBench"
    return (
        f"Other libraries, by values alone on {asked} ([engines](engines/README.md)):"
        f" {'; '.join(told)}. Of these llama.cpp, lm-format-enforcer, maskforge and formatron have"
        " slow masks ([docs](../docs/engines.md))."
    )


def _answers(root: Path) -> Iterator[str]:
    asked = _asked(root)
    (_, *_), (main, *_), _ = asked
    sources = [*_sources(root)]
    if main is None:
        yield "The large runs are not published yet: these answers are of tools alone."
    yield "## Which engine lets invalid values through?"
    yield (
        "Schemas with a leak, in brackets those that a real value shows, of those on which an"
        f" engine is judged, of {_bases(sources)}."
    )
    first = {"by format alone": _by_format, "not JSON": _no_json}
    yield _by_engine(sources, _leaks, [first, {"not JSON": _no_json}])
    yield "## Which engine cannot write valid ones?"
    yield "Of the same schemas: what is refused or not compiled in time, and losses and traps."
    yield _by_engine(sources, _cannot)
    yield "## What to choose?"
    yield _choices(asked)
    yield later_versions(root)
    yield _others(root)
    there = {one.schemas: one.link for every in asked for one in every if one}
    yield (
        "The tables say in how many schemas each is wrong, in brackets in how many of these as it"
        " declares, and how many it does not compile, of"
        f" {listed([f'{name} ({link})' for name, link in there.items()])}."
        + (f" Compilation may take {main.limit}." if main else "")
    )
    for group, each in zip(_GROUPS, zip(*asked, strict=True), strict=True):
        if any(each):
            yield f"### {group}"
            yield _group_table(each)
    yield _RULE


def _pages(root: Path) -> str:
    there = [one.parent.name for one in sorted(root.glob("*/README.md"))]
    order = [*(name for name in _ABOUT if name in there), *(n for n in there if n not in _ABOUT)]
    lines = []
    for name in order:
        first = (root / name / "README.md").read_text("utf-8").splitlines()[0]
        lines.append(f"- [{_ABOUT.get(name, first.removeprefix('# '))}]({name}/README.md)")
    return "\n".join(lines)


_OLDER: Final = (
    "`values` and `tools` were made, or looked at again, by the newest code. The other pages are"
    " older than three changes of 30 November 2026: what a search for an order of members had not"
    " found when it was cut was told as a loss; that xgrammar's strict mode, which it has on as"
    " shipped, closes arrays was not known to be declared; and a mail address such as `a@a.a`"
    " counted as an everyday value, which all versions of xgrammar refuse. On `values` the first"
    " took away or made smaller 15 losses of more than 4,000, none of xgrammar or outlines closest"
    " to the specification; the second made 30 of xgrammar as shipped declared ones; the third took"
    " away 27 of xgrammar 0.2.8 closest to the specification, 31 as shipped and 20 of 0.1.32."
)
"""What pages have that cannot be made anew in a day; it goes when they are."""


def index_page(root: Path) -> str:
    """The page on the results in a directory."""
    return page(
        "Results",
        "Which engine to trust with a JSON Schema; each in the configuration closest to the"
        " specification, with the options under which it takes most of what a schema allows, where"
        f" nothing else is said. outlines is the package outlines-core, which outlines-package, a"
        f" server here, is made of. {SEE_MEANING}",
        *_answers(root),
        "## Where each comes from",
        "Each page is made by `make results ONLY=NAME`, this one by `make results ONLY=index`. In"
        " CSV a text that a spreadsheet would compute, such as `-0.1`, has an apostrophe before it,"
        " and a byte that is no UTF-8 is written as `\\xNN`.",
        _OLDER if (root / "values").exists() else "",
        _pages(root),
        MEANING,
    )
