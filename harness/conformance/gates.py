"""Servers' gate lists, held against what their engines keep: every difference is a cell.

A server refuses schemas by a list of what its engine is known to treat wrongly. It is too long
where the engine keeps what the list refuses, too short where it passes what is not kept.
"""

from __future__ import annotations

import itertools
import json
import pkgutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from harness.conformance.cells import COMBINATIONS, KEYWORDS, PREFIX, cells, keyword_of
from harness.conformance.outcomes import ENFORCED, REFUSED, CellOutcome, ConformanceTable
from harness.engines.presets import find_preset, servers
from harness.engines.servers import faults
from harness.engines.specs import parse_spec, read_spec, split_specs
from harness.errors import UsageError
from harness.printable import code
from harness.render import table as tables
from harness.render.table import Row, Table
from harness.verdict_kinds import DEPARTURE

KEPT, LEAKS, LOSES = "refused though kept", "passed though it leaks", "passed though it loses"
"""How a list and an engine differ on a cell; the last two: an invalid value is let through, a valid
one cannot be written."""


class GateList(NamedTuple):
    """The list of one backend before one engine: `faults` says what of a schema it names."""

    backend: str
    engine: str
    faults: Callable[[Any], Sequence[str]]


def lists_of(asked: str, engines: Sequence[str]) -> list[GateList]:
    """The lists of a server's preset, or the one of a function ``module:name``.

    A function refuses by raising, or by what it returns unless that is false. The engines are those
    of the preset where none is given. A UsageError where nothing is a list for one of them.
    """
    named = [one for text in engines for one in split_specs(text)]
    if ":" in asked:
        found = [GateList(asked, parse_spec(one).name, _function(asked)) for one in named]
    else:
        read = read_spec(asked)
        if (preset := find_preset(read.name, read.version)) is None:
            hint = f"known: {', '.join(servers())}; or a function, module:name"
            raise UsageError(f"{asked!r} is no server", hint)
        steps = [step for route in preset.routes.values() for step in route]
        found = []
        for name, one in preset.backends.items():
            checks = {step.check for step in steps if step.backend == name}
            options = ",".join(f"{key}={value}" for key, value in one.options.items()).lower()
            own = f"{one.engine}@{next(iter(one.packages.values()))}[{options}]"
            mine = [each for each in named if read_spec(each).name == one.engine]
            for spec in (mine if named else [own]) if any(checks) else ():
                found.append(GateList(name, parse_spec(spec).name, partial(_named, checks)))
    if not found:
        raise UsageError(f"{asked} is a list for none of these engines", "name others by --engines")
    return found


def _named(checks: Iterable[str], schema: Any) -> list[str]:
    return [fault for check in checks for fault in faults(check, schema)]


def _function(name: str) -> Callable[[Any], Sequence[str]]:
    sys.path.append(str(Path.cwd()))
    try:
        function = pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name}: {error}", "give it as package.module:function") from None

    def refusals(schema: Any) -> list[str]:
        try:
            words = function(schema)
        except Exception as error:  # noqa: BLE001 - some refuse so
            words = str(error)
        return [words if isinstance(words, str) else "refused"] if words else []

    return refusals


class GatedCell(NamedTuple):
    """A cell, what a list names of its schema (nothing: it passes), and the text to show for it.

    It is an invalid text that the engine allows or rightly refuses, or a valid one that it forbids.
    """

    list: GateList
    faults: str
    keyword: str
    place: str
    text: str
    outcome: CellOutcome

    @property
    def difference(self) -> str:
        """`KEPT`, `LEAKS` or `LOSES`; empty where list and engine agree, or nothing is proven."""
        lost = self.outcome.forbidden
        if self.faults:
            return KEPT if self.outcome.status == ENFORCED else ""
        if self.outcome.let_through:
            return LEAKS
        return LOSES if lost is not None and lost.class_ != DEPARTURE else ""

    @property
    def does(self) -> str:
        if self.outcome.status == REFUSED:
            return "the engine refuses the schema"
        right = "cannot write" if self.outcome.forbidden else "refuses"
        return f"{'takes' if self.outcome.let_through else right} {code(self.text)}"


def gated(table: ConformanceTable, lists: Sequence[GateList]) -> list[GatedCell]:
    """Every cell of a table under each of the lists."""
    cases = {case.id: case for name in (KEYWORDS, COMBINATIONS) for case in cells(name)}
    found = []
    for each, one in itertools.product(lists, table.outcomes):
        if one.engine == each.engine:
            invalid = cases[f"{PREFIX}/{one.keyword}/{one.place}"].invalid[0].text.decode()
            named = "; ".join(each.faults(json.loads(one.schema)))
            text = one.let_through or one.forbidden or invalid
            found.append(GatedCell(each, named, one.keyword, one.place, str(text), one))
    return found


def as_csv(cells: Iterable[GatedCell]) -> str:
    """Every cell on which a list and its engine differ in a line."""
    columns = ("backend", "engine", "difference", "list_names", *GatedCell._fields[2:5], "schema")
    differing = (one for one in cells if one.difference)
    rows = [(*one.list[:2], one.difference, *one[1:5], one.outcome.schema) for one in differing]
    return tables.as_csv(Table.of("", columns, rows))


def as_markdown(cells: Sequence[GatedCell]) -> str:
    """Of each list what it names that is kept, and what it lacks; each with its smallest cell."""
    parts = []
    for each, some in itertools.groupby(cells, lambda one: one.list):
        mine = list(some)
        counts = Counter(one.difference for one in mine)
        named = sum(bool(one.faults) for one in mine)
        optional = sum(
            one.difference == LEAKS and keyword_of(one.keyword) == "format" for one in mine
        )
        about = (
            f"It refuses {named:,} of {len(mine):,} cells, {counts[KEPT]:,} of them kept; of those"
            f" that pass, {counts[LEAKS] - optional:,} leak, {optional:,} more leak under `format`,"
            f" which engines may ignore, and {counts[LOSES]:,} lose a value."
        )
        parts += [f"## {each.backend}: {code(each.engine)}", about]
        for title, is_named in (("Refused, and kept", True), ("Passed, and not kept", False)):
            if rows := list(_rows(mine, is_named=is_named)):
                parts.append(tables.as_markdown(Table.of(title, rows[0], rows)).strip())
    return "\n\n".join(parts) + "\n"


def _rows(cells: Sequence[GatedCell], *, is_named: bool) -> Iterator[Row]:
    """A row for each entry of the list and keyword, with the smallest cell that differs.

    Where it is the place and not the keyword that a difference lies in, the keywords at that place
    are a row, the last ones. Of an entry of which anything is kept all keywords are shown.
    """
    whole = {one.keyword: one for one in cells if one.place == "root"}
    groups: dict[tuple[bool, str, str], list[GatedCell]] = defaultdict(list)
    for one in cells:
        if bool(one.faults) is is_named:
            root = whole.get(one.keyword, one)
            of_place = root.faults != one.faults or not (is_named or root.difference)
            groups[of_place, one.faults, one.place if of_place else one.keyword].append(one)
    differing = {one.faults for one in cells if one.difference and one.place == "root"}
    for (of_place, names, _), some in sorted(groups.items(), key=lambda each: each[0]):
        differ = [one for one in some if one.difference]
        if differ or (is_named and not of_place and names in differing):
            at_root = [one for one in differ or some if one.place == "root"]
            shown = min(at_root or differ or some, key=lambda one: len(one.outcome.schema))
            yield {
                **({"list_names": names} if is_named else {}),
                "keyword": _codes(differ or some, some, "keyword"),
                "place": _codes(differ, some, "place") or "nowhere",
                "kept": f"{sum(one.outcome.status == ENFORCED for one in some)} of {len(some)}",
                "smallest_schema": code(shown.outcome.schema),
                "text": shown.does,
            }


def _codes(cells: Iterable[GatedCell], of: Iterable[GatedCell], part: str) -> str:
    """The keywords or places of some cells of a group, in as few names as can be."""
    names, every = (list(dict.fromkeys(getattr(one, part) for one in some)) for some in (cells, of))
    rest = [name for name in every if name not in names]
    if len(names) > len(rest) + 3:
        return "all" + " but " * bool(rest) + ", ".join(map(code, rest))
    return ", ".join(map(code, names))
