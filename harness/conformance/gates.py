"""Gate lists: which engine is trusted with which keywords at which places, and how good that is.

A server that chooses among engines keeps such a list, often by hand. One made of a table trusts an
engine with a cell only where all values were treated rightly. The file is JSON::

    {"engines": [{"engine": "xgrammar", "version": "0.2.8",
                  "trusted": {"minLength": ["root", "property"], "format=date": "*"}}]}

``*`` stands for all places, and a keyword for all of its forms. Instead of ``trusted`` there may be
``refused``, of the same form: all else is trusted then. Where both are there, what is refused is
not trusted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness import __version__
from harness.conformance.cells import keyword_of
from harness.conformance.outcomes import ENFORCED, REFUSED, UNPROVEN, CellOutcome, ConformanceTable
from harness.errors import InputError, UsageError, nearest
from harness.jsontext import strict_json

EVERYWHERE: Final = "*"
_KEYS: Final = ("engine", "version", "options", "trusted", "refused")

_Listed = Mapping[str, frozenset[str]]
"""Places by keyword; `EVERYWHERE` alone for all."""


@dataclass(frozen=True)
class GateList:
    """What is trusted of one engine in one version (or any, where it is empty), and what is not.

    `trusted` is None where all is trusted that is not refused.
    """

    engine: str
    version: str
    trusted: _Listed | None
    refused: _Listed

    def passes(self, keyword: str, place: str) -> bool:
        if _holds(self.refused, keyword, place):
            return False
        return self.trusted is None or _holds(self.trusted, keyword, place)


@dataclass(frozen=True)
class GateScore:
    """How good a gate list is for one engine, on the cells of a table.

    `cells` are ``passed`` where they are trusted rightly, ``passed_wrongly`` where the engine errs
    or fails there, ``passed_refused`` where it refuses them itself, which does no harm; the others
    are ``kept_out``, ``kept_out_wrongly`` where all values are treated rightly. Of ``unproven``
    cells nothing is known.
    """

    engine: str
    version: str
    cells: Mapping[str, Sequence[CellOutcome]]

    def row(self) -> dict[str, Any]:
        shown = {
            name: [one.row() for one in some] if name.endswith("wrongly") else len(some)
            for name, some in self.cells.items()
        }
        return {"engine": self.engine, "version": self.version, **shown}


def gates_of(table: ConformanceTable) -> dict[str, Any]:
    """The gate lists that a table gives, as JSON."""
    trusted: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in table.outcomes:
        if one.status == ENFORCED:
            trusted[one.engine][one.keyword].append(one.place)
    engines = [
        {"engine": name, "version": version}
        | {"options": dict(table.options[name]), "trusted": dict(trusted[name])}
        for name, version in table.engines.items()
    ]
    made_with = {"maskcourt": __version__, "cases": table.data, "vocabulary": table.vocabulary}
    return {**made_with, "engines": engines}


def read_gates(path: Path, table: ConformanceTable) -> list[GateList]:
    """The gate lists in a file, about engines, keywords and places of a table.

    Raises:
        InputError: It cannot be read, or is not of the form.
    """
    try:
        value = strict_json.parse(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except strict_json.JsonError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    lists = value.get("engines") if isinstance(value, dict) else None
    if not isinstance(lists, list) or not lists:
        raise InputError(f"{path} holds no gate list", 'it is {"engines": [{"engine": …}]}')
    return [_gate_list(one, f"{path}: engines[{at}]", table) for at, one in enumerate(lists)]


def score(gates: GateList, table: ConformanceTable) -> GateScore:
    """How good a gate list is for its engine in a table; a UsageError for another version."""
    version = table.engines[gates.engine]
    if gates.version not in ("", version):
        message = f"the gate list is about {gates.engine} {gates.version}, the table has {version}"
        raise UsageError(message, f"name {gates.engine}@{gates.version} with --engines")
    sorts: dict[str, list[CellOutcome]] = {name: [] for name in _SORTS}
    for one in table.outcomes:
        if one.engine == gates.engine:
            sorts[_sort(one, passes=gates.passes(one.keyword, one.place))].append(one)
    return GateScore(gates.engine, version, sorts)


_SORTS: Final = (
    *("passed", "passed_wrongly", "passed_refused", "kept_out", "kept_out_wrongly", "unproven"),
)


def _sort(one: CellOutcome, *, passes: bool) -> str:
    if one.status == UNPROVEN:
        return "unproven"
    if not passes:
        return "kept_out_wrongly" if one.status == ENFORCED else "kept_out"
    return {ENFORCED: "passed", REFUSED: "passed_refused"}.get(one.status, "passed_wrongly")


def _gate_list(value: Any, where: str, table: ConformanceTable) -> GateList:
    if not isinstance(value, dict):
        raise InputError(f"{where} is no object")
    for key in value:
        if key not in _KEYS:
            raise InputError(f"{where}: unknown key {key!r}", nearest(key, _KEYS))
    name, version = value.get("engine"), value.get("version", "")
    if not isinstance(name, str) or name not in table.engines:
        hint = nearest(str(name), table.engines)
        raise InputError(f"{where}: the table has no engine {name!r}", hint)
    if not isinstance(version, str):
        raise InputError(f"{where}: the version is no text")
    if "trusted" not in value and "refused" not in value:
        raise InputError(f"{where} says neither what is trusted nor what is refused")
    trusted = _listed(value["trusted"], where, table) if "trusted" in value else None
    return GateList(name, version, trusted, _listed(value.get("refused", {}), where, table))


def _listed(value: Any, where: str, table: ConformanceTable) -> _Listed:
    """Places by keyword, each known to the table."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: trusted and refused are objects: places by keyword")
    keywords = {*table.keywords, *map(keyword_of, table.keywords)}
    places = {one.place for one in table.outcomes}
    listed = {}
    for keyword, some in value.items():
        if keyword not in keywords:
            raise InputError(f"{where}: no keyword {keyword!r}", nearest(keyword, keywords))
        if some != EVERYWHERE and not (
            isinstance(some, list) and all(isinstance(one, str) for one in some)
        ):
            raise InputError(f"{where}: {keyword} has neither a list of places nor {EVERYWHERE!r}")
        for place in () if some == EVERYWHERE else some:
            if place not in places:
                raise InputError(f"{where}: no place {place!r}", nearest(place, places))
        listed[keyword] = frozenset([EVERYWHERE] if some == EVERYWHERE else some)
    return listed


def _holds(listed: _Listed, keyword: str, place: str) -> bool:
    some = listed.get(keyword, frozenset()) | listed.get(keyword_of(keyword), frozenset())
    return EVERYWHERE in some or place in some
