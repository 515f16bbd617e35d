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
from benchmarks.pages.layout import SERVERS
from benchmarks.site.published import Published, PublishedBug
from harness.engines.specs import read_spec
from harness.printable import code, markdown, printable
from harness.render.table import Table, as_markdown

_COPIED: Final = ("docs", "results", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\\[\[\]])*)\]\(([^)\s]+)\)")
_MEANT: Final = {
    "loses": "has a valid value that it writes in no usual spelling",
    "leaks": "lets an invalid value through",
    "traps": "takes a valid value from the start, and then forbids its end",
    "refuses": "does not compile the schema",
    "too slow": "uses up the time or the memory for compiling, or crashes",
}
_ALIKE: Final = {True: "yes", False: "no", None: "unclear"}
_SHOWN: Final = 90


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
    text = printable(text, "")
    return code(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…") if text else ""


def _toctree(caption: str, *entries: str) -> str:
    lines = ["```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *entries, "```"]
    return "\n".join(lines)


def _counted(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of numbers whose first column may have links."""
    rule = "| --- |" + " ---: |" * (len(columns) - 1)
    return "\n".join([_line(columns), rule, *(_line(_cells(row)) for row in rows)])


_OF_NEWEST: Final = ("engine", "refuses", "too slow", "loses", "traps", "leaks", "judged")


def _newest(rows: Sequence[Mapping[str, str]], names: Iterable[str], place: str = "") -> list[str]:
    """What engines do with schemas of JSONSchemaBench, where that is published.

    Those of `names` have a page. To servers values alone were put: they have a table of their own.
    """
    on_servers = [one for one in rows if one["group"] == SERVERS]
    libraries = [one for one in rows if one["group"] != SERVERS]
    values_alone = "a server's preset, asked by values alone,"
    return [
        *_newest_of(libraries, names, place, "an engine"),
        *_newest_of(on_servers, names, place, values_alone),
    ]


def _newest_of(
    rows: Sequence[Mapping[str, str]], names: Iterable[str], place: str, who: str
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
    how = f"[how]({place}results/newest/README.md)"
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
    parts += [choices(published.root), "[How that was found, and where](results/README.md)."]
    parts += _newest(published.newest, published.engines)
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
                " the machine. Unusual values are not counted here; the engines' pages have them,"
                " with their [bugs](bugs/index.md)."
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
    mine = [one for one in published.newest if read_spec(one["engine"]).name == name]
    parts = [title, *_newest(mine, (), "../"), *_tools(specs, published)]
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
        + ". [What that means](../docs/conformance.md)."
    )
    wrong: dict[str, list[dict[str, str]]] = defaultdict(list)
    for one in cells:
        if one["outcome"].startswith("too_"):
            wrong[one["keyword"]].append(one)
    if wrong:
        yield _table(
            ("keyword", "places", "let through", "forbidden"),
            (
                {
                    "keyword": code(keyword),
                    "places": len(rows),
                    "let through": _short(_least(rows, "let_through")),
                    "forbidden": _short(_least(rows, "forbidden")),
                }
                for keyword, rows in sorted(wrong.items(), key=lambda one: (-len(one[1]), one[0]))
            ),
        )


def _least(rows: Iterable[Mapping[str, str]], column: str) -> str:
    return min((one[column] for one in rows if one[column]), key=len, default="")


def _spellings(specs: Sequence[str], published: Published) -> Iterator[str]:
    asked = [spec for spec in specs if spec in published.spellings]
    if not asked:
        return
    yield "## How it lets JSON be spelled"
    yield "[What is asked](../docs/spellings.md), [all engines](../results/spellings/README.md)."
    rows = []
    for spec in asked:
        answers = [_ALIKE[one.get("allowed")] for one in published.spellings[spec]["rows"]]
        counted = {word: answers.count(word) for word in _ALIKE.values()}
        rows.append({"asked": code(spec), **counted})
    yield _table(("asked", *_ALIKE.values()), rows)
    refused = [one for one in published.spellings[asked[0]]["rows"] if one["allowed"] is False]
    if refused:
        yield f"What {code(asked[0])} does not take:"
        yield _table(
            ("spelling", "text"),
            ({"spelling": one["id"], "text": _short(one["text"])} for one in refused),
        )


def _bugs_of(name: str, published: Published) -> Iterator[str]:
    bugs = [one for one in published.bugs if name in (one.key, *one.others)]
    yield "## Bugs"
    if not bugs:
        yield "No list of its bugs is published; `maskcourt bugs RUN` makes one of a run."
        return
    seen: dict[str, PublishedBug] = {}
    for one in bugs:
        seen.setdefault(one.id, one)
    yield _list(seen.values())


def _list(bugs: Iterable[PublishedBug], place: str = "../bugs/") -> str:
    """A row for each topic: its first bug, and the others."""
    topics: dict[tuple[str, ...], list[PublishedBug]] = defaultdict(list)
    for one in bugs:
        topics[one.topic].append(one)
    rows = []
    for first, *others in topics.values():
        link, *more = (f"[{one.id}]({place}{one.id}.md)" for one in (first, *others))
        told = [
            f"{also} ({one.state})" if one.state else also
            for also, one in zip(more, others, strict=True)
        ]
        cells = (link, first.title, first.effect.replace("_", " "), first.state or "still there")
        rows.append(f"| {' | '.join((*cells, ', '.join(told)))} |")
    head = "| bug | what | costs | | under the same keywords |", "| --- | --- | --- | --- | --- |"
    return "\n".join([*head, *rows])


def _bugs(groups: Iterable[Sequence[PublishedBug]]) -> str:
    by_engine: dict[str, list[PublishedBug]] = defaultdict(list)
    for bugs in groups:
        by_engine[bugs[0].key].append(bugs[0])
    parts = ["# Bugs", "Each with its smallest case. The address is the bug's id and stays."]
    for engine, bugs in sorted(by_engine.items()):
        parts += [f"## {engine}", _list(bugs, "")]
    parts += [] if by_engine else ["None are published."]
    return "\n\n".join(parts) + "\n"


def _bug(bugs: Sequence[PublishedBug]) -> str:
    """A bug's page; several results may have it."""
    first = bugs[0]
    parts = [f"# {first.id}: {first.title}"]
    facts = [f"Engine: [{first.key}](../engines/{first.key}.md) {first.version}"]
    facts += [f"Also in: {', '.join(first.others)}"] if first.others else []
    facts += [f"It costs: {first.effect.replace('_', ' ')}"] if first.effect else []
    facts += [f"Versions: {one.state}" for one in bugs if one.state]
    facts += [f"Known upstream: <{first.thread}>"] if first.thread else []
    facts += [f"From: [{one.source}](../results/{one.source})" for one in bugs]
    parts.append("\n".join(f"- {one}" for one in dict.fromkeys(facts)))
    parts += ["## Smallest case", "Schema", _fenced(first.schema, "json"), "Text"]
    parts.append(_fenced(printable(first.text, "")))
    if "»" in first.text:
        parts.append("Between the marks is what the engine gets wrong.")
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
    counts = published.counts(name)
    wrong = counts["loses"] + counts["leaks"] + counts["traps"]
    message = published.did(name) + f" of {published.tools}" if asked else "not asked"
    color = "lightgrey" if not asked else "red" if counts["leaks"] else "orange"
    return {
        "schemaVersion": 1,
        "label": f"maskcourt {name} {published.version(name)}".rstrip(),
        "message": message,
        "color": color if wrong or not asked else "green",
    }
