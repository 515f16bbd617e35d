"""Witnesses: all that is needed to repeat one verdict, and what each kind of verdict claims.

A verdict is named by its row, as ``17`` in the table ``verdicts`` of walks, ``i3`` in
``instance_verdicts``, ``s5`` in ``sample_verdicts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import UsageError
from harness.validators import judge as rulings
from harness.verdict_kinds import INSTANCE, REJECTIONS, SAMPLE, WALK

_DIGITS = 19
"""No table has so many rows that their numbers have as many."""

_LETTERS: Mapping[str, str] = {WALK: "", INSTANCE: "i", SAMPLE: "s"}
"""What the name of a verdict begins with, by its evidence."""


@dataclass(frozen=True)
class KindClaim:
    """What a verdict of one kind says."""

    ruling: int | None = None
    """What the validators must say of the text; None where they are not asked."""
    reason: str = ""
    """The reason that they must give; empty where it does not matter."""
    needs_completion: bool = False
    """Whether there is no witness without a completion."""


CLAIMS: Mapping[str, KindClaim] = {
    "false_acceptance": KindClaim(rulings.INVALID, needs_completion=True),
    "false_rejection": KindClaim(rulings.VALID, needs_completion=True),
    "contested": KindClaim(rulings.CONTESTED, needs_completion=True),
    "never_stops": KindClaim(rulings.VALID),
    "stops_too_early": KindClaim(rulings.INVALID, "not_json"),
    "dead_end": KindClaim(),
    "mask_consume_mismatch": KindClaim(),
    "unbounded_repetition": KindClaim(needs_completion=True),
}
"""The kinds that can be repeated; an unresolved verdict proves nothing."""


def verdict_name(evidence: str, row: int) -> str:
    """What the verdict of a row is called on the command line."""
    return f"{_LETTERS[evidence]}{row}"


def verdict_row(name: str) -> tuple[str, int]:
    """The evidence and the row of the verdict that is called so; a UsageError where none is."""
    for evidence, letter in _LETTERS.items():
        digits = name.removeprefix(letter)
        if digits.isascii() and digits.isdigit() and len(digits) < _DIGITS:
            return evidence, int(digits)
    raise UsageError(
        f"{name!r} names no verdict",
        "write 17 for one of a walk, i3 for one of an instance, s5 for one of a sample",
    )


@dataclass(frozen=True)
class Witness:
    """All that is needed to repeat one verdict; its `kind` is one of `CLAIMS`."""

    evidence: str
    number: int
    """The verdict's row in the table of its evidence."""
    case: str
    place: int
    """The number of the walk, of the instance, or of the sample."""
    engine: str
    kind: str
    reason: str
    accepter: str
    """The engine that allowed the completion, or empty."""
    before: tuple[int, ...]
    token: int
    """The token that the verdict is about, -1 where it is about `before` alone."""
    completion: tuple[int, ...]
    text: bytes
    """The whole text, without the end of sequence."""
    keyword: str = ""
    """The keyword that the verdict was attributed to."""
    effect: str = ""
    """What the error costs a user, one of `harness.verdict_kinds.EFFECTS`."""
    spelling: bytes = b""
    """The text of the same value, or of another where it is a dead end, that the engine takes."""
    at: int = -1
    """The byte of the token, or of a text that was fed, at which the error is; -1 if not known."""

    @property
    def name(self) -> str:
        """What the verdict is called on the command line."""
        return verdict_name(self.evidence, self.number)

    @property
    def claim(self) -> KindClaim:
        return CLAIMS[self.kind]

    @property
    def side(self) -> tuple[list[str], list[str]]:
        """The engine as one that allows the token, or as one that forbids it."""
        if self.kind == "mask_consume_mismatch":  # its mask and its consumption do not say the same
            return [], []
        return ([], [self.engine]) if self.kind in REJECTIONS else ([self.engine], [])

    @property
    def tokens(self) -> tuple[int, ...]:
        token = (self.token,) if self.token >= 0 else ()
        return (*self.before, *token, *self.completion)

    def row(self) -> dict[str, Any]:
        return {
            "verdict": self.name,
            "evidence": self.evidence,
            "kind": self.kind,
            "effect": self.effect,
            "engine": self.engine,
            "case": self.case,
            self.evidence: self.place,
            "position": len(self.before),
        }

    def __str__(self) -> str:
        effect = f" ({self.effect.replace('_', ' ')})" if self.effect else ""
        kind = self.kind.replace("_", " ") + effect
        what = f"{self.name}: {kind} by {self.engine}, case {self.case}"
        where = f"position {len(self.before)}, token {self.token}"
        if self.evidence != WALK:
            where = f"{self.evidence} {self.place}, {where}"
        return f"{what}, {where}"
