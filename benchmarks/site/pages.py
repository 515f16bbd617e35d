"""The pages: an answer first, a page for each engine and each bug, and what is published as it is.

Every figure is computed here from `Published`; links between pages are those of the sources, so
that the generator finds what leads nowhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.pages.index import choices
from benchmarks.pages.layout import SERVERS, seen
from benchmarks.site.published import Published, PublishedBug
from harness.bugs.scripts import marked
from harness.engines.specs import adapter_class, built_in, read_spec
from harness.printable import code, markdown
from harness.render.table import Table, as_markdown
from harness.spelling_profile.printing import visible
from harness.spelling_profile.profile import AnswerKind
from harness.verdict_kinds import ACCEPTANCES, BUG, MEANINGS, REJECTIONS

_COPIED: Final = ("docs", "results", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\\[\[\]])*)\]\(([^)\s]+)\)")
_MEANT: Final = {
    "loses": "has a valid value that it writes in no usual spelling",
    "leaks": "lets an invalid value through; what `format` alone forbids is not counted",
    "traps": "takes a valid value from the start, and then forbids its end",
    "refuses": "does not compile the schema",
    "too slow": "uses up the time for compiling (as long as *how* says) or the memory, or crashes",
    "judged": "the schemas for which it decides a value: losses, leaks and traps are of these",
}
_OF_AN_ENGINE: Final = {
    **_MEANT,
    r"\[config=shipped\]": "with the options that the library has where nobody sets any; without"
    " it, those under which it takes most of what a schema allows",
    "(loses)": "in brackets, by unusual values alone, such as control characters",
}
_SHOWN: Final = 90
_NAMED: Final = 3
"""Places of a keyword that are named."""
_SPELLED: Final = (
    AnswerKind.YES,
    AnswerKind.NO,
    AnswerKind.OPTION,
    AnswerKind.UNCLEAR,
    "no answer",
)


def write_pages(root: Path, out: Path) -> Published:
    """Write the sources of the site into `out`, from `docs/` and `results/` below `root`."""
    published = Published.read(root / "results")
    shutil.rmtree(out, ignore_errors=True)
    (out / "engines").mkdir(parents=True)
    (out / "bugs").mkdir()
    (out / "extra" / "badges").mkdir(parents=True)
    _copy(root, out)
    engines = published.engines
    for name, specs in engines.items():
        (out / "engines" / f"{name}.md").write_text(_engine(name, specs, published), "utf-8")
        badge = json.dumps(_badge(name, published), ensure_ascii=False)
        (out / "extra" / "badges" / f"{name}.json").write_text(badge + "\n", "utf-8")
    by_id: dict[str, list[PublishedBug]] = defaultdict(list)
    for bug in published.bugs:
        by_id[bug.id].append(bug)
    for key, bugs in by_id.items():
        (out / "bugs" / f"{key}.md").write_text(_bug(bugs), "utf-8")
    (out / "bugs" / "index.md").write_text(_bugs(by_id.values()), "utf-8")
    (out / "index.md").write_text(_start(published, out), "utf-8")
    return published


def _copy(root: Path, out: Path) -> None:
    """What is published as it is, links out of it led to the repository, or left as text."""
    for name in _COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, out / name)
        elif source.exists():
            shutil.copy(source, out / name)
    for page in [*out.glob("*.md"), *out.glob("docs/**/*.md"), *out.glob("results/**/*.md")]:
        relative = page.relative_to(out).parent
        text = page.read_text("utf-8")
        page.write_text(_LINK.sub(lambda one: _led(one, relative, out), text), "utf-8")  # noqa: B023


def _led(link: re.Match[str], place: Path, out: Path) -> str:
    text, target = link.groups()
    path = target.partition("#")[0]
    if re.match(r"[a-z]+:", target) or not path or (out / place / path).is_file():
        return link[0]
    if (out / place / path / "README.md").is_file():
        return f"[{text}]({path.rstrip('/')}/README.md)"
    if not (repository := os.environ.get("GITHUB_REPOSITORY")):
        return text
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    inside = os.path.normpath(place / path)
    return f"[{text}]({server}/{repository}/blob/main/{inside})"


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    return as_markdown(Table.of("", columns, rows))


def _short(text: str) -> str:
    text = seen(text)
    return code(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…") if text else ""


def _toctree(caption: str, *entries: str) -> str:
    lines = ["```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *entries, "```"]
    return "\n".join(lines)


def _counted(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of numbers whose first column may have links."""
    rule = "| --- |" + " ---: |" * (len(columns) - 1)
    return "\n".join([_line(columns), rule, *(_line(_cells(row)) for row in rows)])


_OF_NEWEST: Final = ("engine", "refuses", "too slow", "loses", "traps", "leaks", "judged")


def _newest(
    published: Published, names: Iterable[str], place: str = "", only: str = ""
) -> list[str]:
    """What engines, or `only` one, do with schemas of JSONSchemaBench, where that is published.

    Those of `names` have a page. To servers values alone were put, and to the engines that the page
    on all of them has alone: these have tables of their own.
    """

    def mine(rows: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
        return [one for one in rows if only in ("", read_spec(one["engine"]).name)]

    known = {read_spec(one["engine"]).name for one in published.newest}
    others = [one for one in published.engines_page if one["engine"] not in known]
    on_servers = [one for one in published.newest if one["group"] == SERVERS]
    libraries = [one for one in published.newest if one["group"] != SERVERS]
    values_alone = "a server's preset, asked by values alone,"
    return [
        *_newest_of(mine(libraries), names, place, "an engine"),
        *_newest_of(mine(on_servers), names, place, values_alone),
        *_newest_of(mine(others), names, place, "an engine, asked by values alone,", "engines"),
    ]


def _newest_of(
    rows: Sequence[Mapping[str, str]],
    names: Iterable[str],
    place: str,
    who: str,
    page: str = "newest",
) -> list[str]:
    if not rows:
        return []
    told = []
    for one in rows:
        name = read_spec(one["engine"]).name
        shown = f"{markdown(one['engine'])} {one['version']}"
        link = f"[{shown}](engines/{name}.md)" if name in names else shown
        slow = sum(int(one[word]) for word in ("crashed", "timed_out", "out_of_memory"))
        counts = {word: one[word] for word in _OF_NEWEST[3:]}
        told.append({"engine": link, "refuses": one["refused"], "too slow": slow, **counts})
    how = f"[how]({place}results/{page}/README.md)"
    return [
        f"Of {rows[0]['schemas']} schemas of JSONSchemaBench ({how}) {who} …",
        _counted(_OF_NEWEST, told),
    ]


def _start(published: Published, out: Path) -> str:
    """The first page: which engine can be trusted, and what each does."""
    asked = [name for name in published.engines if published.was_asked_about_tools(name)]
    order = {name: sum(published.counts(name).values()) for name in asked}
    rows = []
    for name in sorted(asked, key=lambda one: (order[one], one)):
        link = f"[{name} {published.version(name)}](engines/{name}.md)".replace(" ]", "]")
        rows.append({"engine": link, **published.counts(name)})
    columns = ("engine", "refuses", "loses", "traps", "leaks")
    parts = [
        "# Which engine can be trusted with a schema?",
        (
            "Engines for constrained decoding decide which tokens a model may write under a JSON"
            " Schema. What each gets wrong is proven here by texts that it allows or refuses."
        ),
    ]
    parts += [
        choices(published.root),
        (
            "Named are the best, and those that such counts cannot tell from them; *wrong* are"
            " schemas with a loss, a leak or a trap, of those that it compiles. Servers were asked"
            " by values alone, which finds less: do not compare them with libraries."
            " [How that was found, and of how many](results/README.md)."
        ),
    ]
    parts += _newest(published, published.engines)
    if rows:
        parts += [
            (
                f"Of {published.tools} schemas of the tools of public MCP servers"
                " ([how](results/tools/README.md)), an engine or a server's preset …"
            ),
            _counted(columns, rows),
            "\n".join(f"- **{word}**: {meant}" for word, meant in _MEANT.items()),
            (
                "Counts of losses, leaks and traps are lower bounds; what is too slow depends on"
                " the machine. Unusual values are not counted here: [newest](results/newest/"
                "README.md) and [tools](results/tools/README.md) have them. Each engine's page has"
                " its [bugs](bugs/index.md)."
            ),
        ]
    others = [f"[{name}](engines/{name}.md)" for name in published.engines if name not in asked]
    parts += [f"Asked otherwise: {', '.join(others)}."] if others else []
    parts += [
        (
            "Your own schema: `maskcourt check order.json` ([how](docs/check.md))."
            " A badge for an engine: `badges/NAME.json`, an endpoint as shields.io reads it."
        ),
        _toctree("Engines", "engines/*"),
        _toctree("Bugs", "bugs/index"),
        _toctree("Results", *_listed(out, "results/README", "results/*/*")),
        _toctree("Documentation", *_listed(out, "README", "docs/*", "docs/*/*")),
        _toctree("Project", *_listed(out, "CONTRIBUTING", "CHANGELOG")),
    ]
    return "\n\n".join(parts) + "\n"


def _listed(out: Path, *patterns: str) -> list[str]:
    return [one for one in patterns if any(out.glob(f"{one}.md"))]


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _cells(row: Mapping[str, object]) -> Iterator[object]:
    return iter(row.values())


def _engine(name: str, specs: Sequence[str], published: Published) -> str:
    title = f"# {name} {published.version(name)}".rstrip()
    package = adapter_class(built_in()[name]).DISTRIBUTION if name in built_in() else name
    title += f" (the package {package})" * (package != name)
    parts = [title, *_newest(published, (), "../", name), *_tools(specs, published)]
    if len(parts) > 1:
        parts.append("\n".join(f"- **{word}**: {meant}" for word, meant in _OF_AN_ENGINE.items()))
    parts += [*_bugs_of(name, published), *_keywords(name, published)]
    parts += _spellings(specs, published)
    parts += [f'Badge: <a href="../badges/{name}.json">badges/{name}.json</a>']
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _tools(specs: Sequence[str], published: Published) -> Iterator[str]:
    for spec in specs:
        if not published.was_asked_about_tools(spec):
            continue
        rows = [one for one in published.findings if one["engine"] == spec]
        plain = [one for one in rows if re.search(r"(?:^|, )[^(]", one["finding"])]
        yield f"## Tools of public servers: {markdown(spec)}"
        yield (
            f"Of {published.tools} schemas it {published.did(spec)}; unusual values alone show"
            f" something in {len(rows) - len(plain)} more."
            " [All tools](../results/tools/README.md)."
        )
        if plain:
            columns = ("tool", "finding", "keyword", "text or reason")
            yield _table(
                columns,
                (
                    {
                        **{name: one[name] for name in columns[:2]},
                        "keyword": one["keyword"] and code(one["keyword"]),
                        "text or reason": _short(one["text"] or one["why"]),
                    }
                    for one in plain
                ),
            )


def _keywords(name: str, published: Published) -> Iterator[str]:
    cells = [one for one in published.cells if one["engine"] == name]
    if not cells:
        return
    counts = Counter(one["outcome"].replace("_", " ") for one in cells)
    yield "## Keywords at places of a schema"
    yield (
        f"{len(cells):,} keywords at places: "
        + ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())
        + ". [What that means](../docs/conformance.md),"
        " [all of them](../results/conformance/README.md)."
    )
    wrong: dict[str, list[dict[str, str]]] = defaultdict(list)
    for one in cells:
        if one["outcome"].startswith("too_"):
            wrong[one["keyword"]].append(one)
    asked = Counter(one["keyword"] for one in cells)
    if wrong:
        yield (
            "Where it is too lax or too strict; what it declares or warns of is left out. A text is"
            " that of the first of these places that has one."
        )
        yield _table(
            ("keyword", "places", "let through", "forbidden"),
            (
                {
                    "keyword": code(keyword),
                    "places": _places(rows, asked[keyword]),
                    "let through": _short(_first(rows, "let_through")),
                    "forbidden": _short(_first(rows, "forbidden")),
                }
                for keyword, rows in sorted(wrong.items(), key=lambda one: (-len(one[1]), one[0]))
            ),
        )


def _plainest(rows: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The plainest place first; below `not` the text of a place would mean the opposite."""
    return sorted(rows, key=lambda one: (one["place"] != "root", one["place"] == "not"))


def _places(rows: Sequence[Mapping[str, str]], asked: int) -> str:
    if len(rows) == asked:
        return f"all {asked}"
    named = ", ".join(code(one["place"]) for one in _plainest(rows)[:_NAMED])
    return f"{named}{' …' * (len(rows) > _NAMED)}, {len(rows)} of {asked}"


def _first(rows: Iterable[Mapping[str, str]], column: str) -> str:
    return next((one[column] for one in _plainest(rows) if one[column]), "")


def _status(row: Mapping[str, Any]) -> str:
    """What was answered to a spelling, as the page on spellings counts it."""
    if "option" in row:
        return AnswerKind.OPTION
    if row["allowed"] is None:
        is_unclear = row.get("why", "").startswith("cannot be said")
        return AnswerKind.UNCLEAR if is_unclear else "no answer"
    return AnswerKind.YES if row["allowed"] else AnswerKind.NO


def _spellings(specs: Sequence[str], published: Published) -> Iterator[str]:
    asked = [spec for spec in specs if spec in published.spellings]
    if not asked:
        return
    yield "## How it lets JSON be spelled"
    yield "[What is asked](../docs/spellings.md), [all engines](../results/spellings/README.md)."
    rows = []
    for spec in asked:
        answers = [_status(one) for one in published.spellings[spec]["rows"]]
        rows.append({"asked": code(spec), **{word: answers.count(word) for word in _SPELLED}})
    yield _table(("asked", *_SPELLED), rows)
    refused = [one for one in published.spellings[asked[0]]["rows"] if one["allowed"] is False]
    if refused:
        yield f"What {code(asked[0])} does not take, or only with other options:"
        yield _table(
            ("spelling", "text", "answer"),
            (
                {"spelling": one["id"], "text": code(visible(one["text"])), "answer": _status(one)}
                for one in refused
            ),
        )


def _bugs_of(name: str, published: Published) -> Iterator[str]:
    mine = _once(one for one in published.bugs if one.key == name)
    foreign = _once(one for one in published.bugs if name in one.also_bug_of)
    own = [one for one in foreign.values() if one.id_of(name) not in mine]
    yield "## Bugs"
    if packages := published.packages.get(name):
        pages = {adapter_class(path).DISTRIBUTION: one for one, path in built_in().items()}
        made_of = [
            f"[{package} {version}]({pages[package]}.md)" if package in pages else package
            for package, version in packages.items()
        ]
        yield f"Its bugs are those of what it runs: {', '.join(made_of)}."
    elif not mine and not own:
        yield "No list of its bugs is published; `maskcourt bugs RUN` makes one of a run."
    if mine:
        yield _list(mine.values())
    if own:
        yield "Found as another engine's, and its own, too:"
        yield _list(own, of_others=True)


def _once(bugs: Iterable[PublishedBug]) -> dict[str, PublishedBug]:
    """Bugs by id, as the first result has each."""
    found: dict[str, PublishedBug] = {}
    for one in bugs:
        found.setdefault(one.id, one)
    return found


def _list(bugs: Iterable[PublishedBug], place: str = "../bugs/", *, of_others: bool = False) -> str:
    """A row for each topic: its first bug, and the others; of other engines' where it was found."""
    topics: dict[tuple[str, ...], list[PublishedBug]] = defaultdict(list)
    for one in bugs:
        topics[one.topic].append(one)
    rows = []
    for first, *others in topics.values():
        link, *more = (f"[{one.id}]({place}{one.id}.md)" for one in (first, *others))
        found = [f"{one.key} {one.version}" if of_others else one.state for one in (first, *others)]
        told = [f"{also} ({where})" for also, where in zip(more, found[1:], strict=True)]
        cells = (link, markdown(first.title), first.effect.replace("_", " "), found[0])
        rows.append(f"| {' | '.join((*cells, ', '.join(told)))} |")
    where = "found in" if of_others else "newest version asked"
    head = (
        f"| bug | what | costs | {where} | under the same keywords |",
        "| --- | --- | --- | --- | --- |",
    )
    return "\n".join([*head, *rows])


def _bugs(groups: Iterable[Sequence[PublishedBug]]) -> str:
    by_engine: dict[str, list[PublishedBug]] = defaultdict(list)
    for bugs in groups:
        by_engine[bugs[0].key].append(bugs[0])
    parts = [
        "# Bugs",
        (
            "Each with its smallest case. The address is the bug's id; one that no result lists any"
            " more has no page."
        ),
    ]
    for engine, bugs in sorted(by_engine.items()):
        parts += [f"## {engine}", _list(bugs, "")]
    parts += [] if by_engine else ["None are published."]
    return "\n\n".join(parts) + "\n"


def _bug(bugs: Sequence[PublishedBug]) -> str:
    """A bug's page; several results may have it."""
    first = bugs[0]
    parts = [f"# {first.id}: {markdown(first.title)}"]
    facts = [f"Engine: [{first.key}](../engines/{first.key}.md) {first.version}"]
    also = [f"{name} ({c})" if c != BUG else name for name, c in first.others.items()]
    facts += [f"Also in: {', '.join(also)}"] if also else []
    costs = MEANINGS.get(first.effect, "")
    facts += [f"It costs: {first.effect.replace('_', ' ')}: {costs}"] if costs else []
    facts += [f"Newest version asked: {first.state}"]
    if (known := first.upstream) is not None:
        facts.append(f"Known upstream: <{known.thread}>, {known.status}")
    facts += [f"From: [{one.source}](../results/{one.source})" for one in bugs]
    parts.append("\n".join(f"- {one}" for one in dict.fromkeys(facts)))
    made = next(filter(None, (one.bug for one in bugs)), None)
    text = marked(made) if made and first.kind in REJECTIONS else first.text
    valid = ", valid and refused" * (first.kind in REJECTIONS)
    valid += ", invalid and allowed" * (first.kind in ACCEPTANCES)
    parts += ["## Smallest case", "Schema", _fenced(first.schema, "json"), f"Text{valid}"]
    parts.append(_fenced(seen(text)))
    if "»" in text:
        parts.append("Between the marks is what the engine refuses.")
    scripts = [one.script for one in bugs if one.script]
    parts.append("## Script")
    if scripts:
        parts += ["It needs the engine alone, and ends with 1 while the bug is there."]
        parts += [_fenced(scripts[0], "python")]
    else:
        parts.append("What is published of it is not enough to make one.")
    return "\n\n".join(parts) + "\n"


def _fenced(text: str, language: str = "text") -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _badge(name: str, published: Published) -> dict[str, object]:
    """What an endpoint of shields.io answers: what an engine does with the tools' schemas."""
    asked = published.was_asked_about_tools(name)
    counts, wrong = published.counts(name), published.wrong(name)
    refused = f", {counts['refuses']} refused" * bool(counts["refuses"])
    message = f"tools: {wrong} wrong{refused} of {published.tools}" if asked else "tools: not asked"
    color = "lightgrey" if not asked else "red" if counts["leaks"] else "orange"
    return {
        "schemaVersion": 1,
        "label": f"maskcourt {name} {published.version(name)}".rstrip(),
        "message": message,
        "color": color if wrong or not asked else "green",
    }
