"""What texts cover of a schema, as data: `harness.validators.coverage_meter` finds it out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

SUBSCHEMA, BRANCH, PRESENT, ABSENT, MET, MISSED = (
    *("subschema", "branch", "present", "absent"),
    *("met", "missed"),
)
_NOUNS: Final = {
    SUBSCHEMA: "subschema",
    BRANCH: "branch",
    PRESENT: "member present",
    ABSENT: "member absent",
    MET: "bound met",
    MISSED: "bound missed by one",
}
"""Each kind, as one of it is called."""


class Feature(NamedTuple):
    """One thing that a text may cover: its kind, and a JSON Pointer into the schema.

    The pointer leads to a subschema (of a subschema or branch), to a declared member's schema
    (``present``, ``absent``) or to the bound's keyword (``met``, ``missed``).
    """

    kind: str
    pointer: str


@dataclass(frozen=True)
class Reach:
    """Of one kind: what was reached, and all that there is."""

    reached: frozenset[str] = frozenset()
    of: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Coverage:
    """What texts cover of one schema, by JSON Pointers into it."""

    subschema: Reach = field(default_factory=Reach)
    """Subschemas under which a part of a valid text is valid."""
    branch: Reach = field(default_factory=Reach)
    """Those that are one of several: of ``anyOf``, ``oneOf``, ``if``, ``dependentSchemas``."""
    present: Reach = field(default_factory=Reach)
    """Declared members that an object of a valid text has."""
    absent: Reach = field(default_factory=Reach)
    """Declared members, not required beside it, that an object of a valid text lacks."""
    met: Reach = field(default_factory=Reach)
    """Bounds at which a part of a valid text stands, or within one of a bound that is excluded."""
    missed: Reach = field(default_factory=Reach)
    """Bounds that an invalid text oversteps by one at most, with no other error."""

    @classmethod
    def of(cls, possible: Iterable[Feature], reached: Iterable[Feature]) -> Self:
        """What was reached of what is possible."""
        able, found = set(possible), set(reached)
        return cls(
            **{
                kind: Reach(
                    frozenset(one.pointer for one in able & found if one.kind == kind),
                    frozenset(one.pointer for one in able if one.kind == kind),
                )
                for kind in _NOUNS
            }
        )

    def each(self) -> dict[str, Reach]:
        """The reach of each kind, in the order in which they are told."""
        return {kind: getattr(self, kind) for kind in _NOUNS}

    def __str__(self) -> str:
        """One plain line: ``covers 14 of 15 subschemas, 3 of 4 branches, …``."""
        told = [
            f"{len(reach.reached)} of {len(reach.of)} {_plural(_NOUNS[kind], len(reach.of))}"
            for kind, reach in self.each().items()
            if reach.of
        ]
        return "covers " + (", ".join(told) or "nothing: there is nothing to cover")


def _plural(name: str, count: int) -> str:
    noun, space, rest = name.partition(" ")
    many = noun + ("es" if noun.endswith("ch") else "s")
    return (noun if count == 1 else many) + space + rest
