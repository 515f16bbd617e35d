"""Behaviours: what engines do otherwise than the specifications, each looked for in all engines.

The list is ``datasets/behaviours.toml``. An entry of the catalogue of departures says which
behaviour it declares; ``datasets/engines.toml`` says which other engines have it as well, and why
nothing that was found declares it there. So two engines that do the same are seen side by side, and
`classed_differently` finds those that are treated differently on the same ground.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from harness.engines.specs import engine_tables
from harness.errors import InputError
from harness.inputs.toml_tables import by_id
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.classification.departures import Departure

ENGINES: Final = tuple(
    table["distribution"] for table in engine_tables().values() if "distribution" in table
)
"""The distributions in which every behaviour is looked for."""

SOURCE_KINDS: Final[Mapping[str, str]] = {
    "documentation": "documentation",
    "readme": "README",
    "changelog": "changelog",
    "maintainer": "a maintainer's word in a thread",
    "source_constant": "a named constant that says so",
    "source_comment": "a comment in the source that says so",
    "source_test": "a test in the source that demands it",
    "warning": "the engine's own warning",
    "specification": "the specification leaves it open",
}
"""What declares a behaviour, and how a table puts it."""

NO_SOURCE: Final[Mapping[str, str]] = {
    "nothing_found": "nothing found that declares it",
    "expression": "only an expression that does it and does not say so",
    "own_tests": "the engine's own tests call it wrong",
    "own_documentation": "the engine's own documentation says the opposite",
}
"""Why a behaviour is not declared, and how a table puts it."""

_KNOWN: Final = frozenset({"id", "about", "bug", "schema", "text", "valid", "options", "part_of"})


@dataclass(frozen=True)
class Behaviour:
    """One entry of the list.

    Attributes:
        bug: The engines that have it without a source that declares it, each with the reason: a key
            of `NO_SOURCE`, or of `SOURCE_KINDS` where a source is held not to suffice.
        schema: A schema that shows it; empty where no text does.
        text: A text that is valid under it and refused, or invalid and let through.
        options: The options with which an engine has it, where it has not by default.
        part_of: A more general behaviour, or empty: what has that one has this one by it.
    """

    id: str
    about: str
    bug: Mapping[str, str]
    schema: str
    text: str
    valid: bool
    options: Mapping[str, Mapping[str, Any]]
    part_of: str = ""


def read_behaviours(tables: Iterable[Any], file: object) -> dict[str, Behaviour]:
    """The tables ``[[behaviour]]`` of a file, by id.

    Raises:
        InputError: One is not as it must be.
    """
    return by_id(tables, _behaviour, "behaviour", file)


def _behaviour(table: Any, where: str) -> Behaviour:
    if not isinstance(table, Mapping) or table.keys() - _KNOWN:
        raise InputError(f"{where} is not of the keys {', '.join(sorted(_KNOWN))}")
    texts = {name: table.get(name, "") for name in ("id", "about", "schema", "text", "part_of")}
    if not all(isinstance(one, str) for one in texts.values()) or not (
        texts["id"] and texts["about"]
    ):
        raise InputError(f"{where} needs id and about, each a text")
    bug, options = table.get("bug", {}), table.get("options", {})
    for engine, reason in bug.items():
        if engine not in ENGINES or reason not in {**NO_SOURCE, **SOURCE_KINDS}:
            raise InputError(f"{where} ({texts['id']}) says {reason!r} of {engine!r}")
    valid = bool(table.get("valid", True))
    return Behaviour(**texts, bug=bug, valid=valid, options=options)


def classed_differently(
    behaviours: Mapping[str, Behaviour], departures: Iterable[Departure]
) -> list[tuple[str, str]]:
    """Behaviours that are classed differently in two engines, though the source is of one kind.

    Returns:
        Pairs of a behaviour's id and a kind of source.
    """
    classes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in departures:
        classes[one.behaviour, one.source_kind].add(one.class_)
    for behaviour in behaviours.values():
        for reason in behaviour.bug.values():
            classes[behaviour.id, reason].add(BUG)
    return [key for key, some in classes.items() if len(some) > 1]
