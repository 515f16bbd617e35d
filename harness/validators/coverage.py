"""What texts cover of a schema, as data: `harness.validators.coverage_meter` finds it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

_KINDS = ("subschema", "branch", "present", "absent", "met", "missed")
SUBSCHEMA, BRANCH, PRESENT, ABSENT, MET, MISSED = _KINDS
_NOUNS: Final = (
    *(("subschema", "subschemas"), ("branch", "branches")),
    *(("member present", "members present"), ("member absent", "members absent")),
    *(("bound met", "bounds met"), ("bound missed by one", "bounds missed by one")),
)


class Feature(NamedTuple):
    """One thing that a text may cover: its kind, and a JSON Pointer into the schema.

    ``subschema``: a part of a valid text is valid under it; ``branch``: it is also one of several
    (of ``anyOf``, ``oneOf``, ``if``, ``dependentSchemas``). ``present``, ``absent``: an object of a
    valid text has a declared member, or lacks one that is not required. ``met``: a part of a valid
    text stands at a bound, or within one of a bound that is excluded; ``missed``: an invalid text
    oversteps it by one at most, with no other error.
    """

    kind: str
    pointer: str


class Reach(NamedTuple):
    """Of one kind, by pointers: what was reached, and all that there is."""

    reached: frozenset[str]
    of: frozenset[str]


@dataclass(frozen=True)
class Coverage:
    """What texts may cover of one schema, and what of it they do."""

    possible: frozenset[Feature] = frozenset()
    reached: frozenset[Feature] = frozenset()

    def each(self) -> dict[str, Reach]:
        """The reach of each kind, in the order in which they are told."""
        sets = (self.reached, self.possible)
        return {
            kind: Reach(
                *(frozenset(one.pointer for one in some if one.kind == kind) for some in sets)
            )
            for kind in _KINDS
        }

    def __str__(self) -> str:
        """One plain line: ``covers 14 of 15 subschemas, 3 of 4 branches, …``."""
        counts = [
            f"{len(reach.reached)} of {len(reach.of)} {nouns[len(reach.of) != 1]}"
            for nouns, reach in zip(_NOUNS, self.each().values(), strict=True)
            if reach.of
        ]
        return "covers " + (", ".join(counts) or "nothing: there is nothing to cover")
