"""The profile as one table, and as lines about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from harness.engines.specs import with_version
from harness.printable import code, one_line
from harness.render.table import Column, Table
from harness.spelling_profile.profile import Profile

_PICTURES: Final = {"\t": "␉", "\n": "␊", "\r": "␍", "\x7f": "␡"}
_SPACES: Final = re.compile(r"^ +| +$| {2,}|(?<=[\[{]) (?=[\]}])")


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


def lines(profile: Profile) -> Iterator[str]:
    """What is said of the answers: options, characters that cannot be written, sources, reasons."""
    for engine in profile.engines:
        name, answers = f"`{engine.name}`", engine.answers.values()
        if characters := profile.unwritable(engine):
            yield f"{name} lets these be written in no way: {', '.join(characters)}"
        for option, many in Counter(one.option for one in answers if one.option).items():
            yield f"{name}, {many} by option {option}"
        reasons = Counter((str(one.status), one.reason) for one in answers if one.reason)
        for (status, reason), many in reasons.items():
            yield f"{name}, {many} {status}: {one_line(reason, 160)}"
        sources = {one.id: one.source for each in answers for one in each.declared}
        yield from (f"{name} declares `{id_}`: {source}" for id_, source in sources.items())
