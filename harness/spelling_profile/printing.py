"""The profile as one table, as lines about it, and as the files of a directory."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from harness.engines.specs import with_version
from harness.errors import UsageError
from harness.files import write_whole
from harness.printable import code, markdown, one_line
from harness.render.table import Column, Table, as_markdown
from harness.runs.directory import RunDirectory
from harness.spelling_profile.profile import AnswerKind, Profile

_PICTURES: Final = {"\t": "␉", "\n": "␊", "\r": "␍", "\x7f": "␡"}
_SPACES: Final = re.compile(r"^ +| +$| {2,}|(?<=[\[{]) (?=[\]}])")
_FILE: Final = "spellings.json"
_WIDE: Final = 6  # engines that a table of a page has at most
_LEAD: Final = (
    "spellings, each asked of every engine on a vocabulary of single bytes. Written by "
    "`maskcourt spellings --write`; what the words mean is said in "
    "[docs/spellings.md](../../docs/spellings.md), all answers are in [profile.json](profile.json)."
)


def visible(text: str) -> str:
    """A text in which white space can be seen, and what no font shows is named."""
    text = _SPACES.sub(lambda one: "␠" * len(one[0]), text)
    shown = (_PICTURES.get(char, char) for char in text)
    return "".join(one if one.isprintable() else f"<U+{ord(one):04X}>" for one in shown)


def as_table(profile: Profile) -> Table:
    """A row each spelling, a column each engine; an asterisk where a no is declared."""
    rows = []
    for row in profile.rows:
        answers = {one.name: one.answers[row.id] for one in profile.engines}
        cells = {name: one.status + "*" * bool(one.declared) for name, one in answers.items()}
        rows.append({"group": row.group, "about": row.about, "text": row.text, **cells})
    columns = [
        Column("group", group=True),
        Column("about", "spelling", ratio=2, width=20),
        Column("text", shown=lambda text: code(visible(text)), ratio=1, width=12),
    ]
    names = {one.name: with_version(one.name, one.version) for one in profile.engines}
    columns += [Column(name, label, width=8) for name, label in names.items()]
    return Table.of("", columns, rows)


def count_table(profile: Profile) -> Table:
    """How many rows have each answer, an engine a row."""
    rows = []
    for one in profile.engines:
        counts = Counter(answer.status for answer in one.answers.values())
        row = {str(status): counts[status] for status in AnswerKind}
        rows.append({"engine": f"`{one.name}`", "version": one.version, **row})
    return Table.of("", ("engine", "version", *map(str, AnswerKind)), rows)


def lines(profile: Profile) -> Iterator[str]:
    """What is said of the answers: options, characters that cannot be written, sources, reasons."""
    for engine in profile.engines:
        name, answers = f"`{engine.name}`", engine.answers.values()
        if characters := profile.unwritable(engine):
            yield f"{name} lets these be written in no way: {', '.join(characters)}"
        for option, many in Counter(one.option for one in answers if one.option).items():
            yield f"{name}, {many} by option: options {option}"
        reasons = Counter((str(one.status), one.reason) for one in answers if one.reason)
        for (status, reason), many in reasons.items():
            yield f"{name}, {many} {status}: {one_line(reason, 160)}"
        sources = {one.id: one.source for each in answers for one in each.declared}
        yield from (f"{name} declares `{id_}`: {source}" for id_, source in sources.items())


def as_page(profile: Profile) -> str:
    """The page: the answers counted, then tables of a few engines each, then what is said."""
    parts = ["# How engines may spell JSON\n", f"{len(profile.rows)} {_LEAD}\n"]
    parts.append(as_markdown(count_table(profile)))
    for at in range(0, len(profile.engines), _WIDE):
        some = replace(profile, engines=profile.engines[at : at + _WIDE])
        parts.append(as_markdown(as_table(some)))
    listed = "\n".join(f"- {markdown(line)}" for line in lines(profile))
    return "\n".join([*parts, f"{listed}\n"])


def store(profile: Profile, run: RunDirectory) -> None:
    """Write the profile of a run's engines into its directory, for its report.

    Raises:
        UsageError: An engine is installed in another version than that of the run.
    """
    made = run.manifest["identity"]["engines"]
    for one in profile.engines:
        if one.version != made[one.name]["version"]:
            versions = f"{made[one.name]['version']}, and {one.version} is installed"
            raise UsageError(f"the run was made with {one.name} {versions}", "install that version")
    whole = as_table(profile)
    table = whole.only(*(name for name in whole.names if name != "text"))
    laid_out = replace(table, note="\n".join(lines(profile))).laid_out()
    text = json.dumps({**profile.as_json(), "table": laid_out}, separators=(",", ":"))
    write_whole(run.path / _FILE, f"{text}\n")


def stored_table(run: RunDirectory) -> dict[str, Any] | None:
    """The table that `store` wrote, laid out; None where there is none that can be read."""
    try:
        table = json.loads((run.path / _FILE).read_text("utf-8"))["table"]
        width = len(table["columns"])
        texts = [cell for row in table["rows"] for cell in row]
        fits = all(len(row) == width for row in table["rows"])
        return table if fits and all(isinstance(one, str) for one in texts) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def files(profile: Profile) -> Mapping[str, str]:
    """The files of a directory, by name."""
    text = json.dumps(profile.as_json(), separators=(",", ":"))
    return {"README.md": as_page(profile), "profile.json": f"{text}\n"}
