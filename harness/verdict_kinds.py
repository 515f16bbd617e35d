"""What a verdict can say, what it counts as and what it rests on: the one list of each.

Runs store the names. Their order here is the order of tables; it is never changed, only added to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Convicts = Literal["accepter", "rejecter", "engine", "nobody"]
"""Whom a kind of verdict says to be wrong: those who allow the token, those who forbid it, or the
engine by itself, whatever others say of the token."""


@dataclass(frozen=True)
class VerdictKind:
    """One kind of verdict.

    An accepter or a rejecter has one wrong bit in its mask, and a bit is wrong in one way at most;
    other errors show after a token or without one.
    """

    name: str
    convicts: Convicts
    meaning: str


FALSE_ACCEPTANCE: Final = VerdictKind(
    "false_acceptance", "accepter", "the engine allows a text that is invalid under the schema"
)
FALSE_REJECTION: Final = VerdictKind(
    "false_rejection", "rejecter", "the engine forbids a token that leads to a valid text"
)

DEAD_END: Final = "dead_end"

_ALL: Final = (
    FALSE_ACCEPTANCE,
    FALSE_REJECTION,
    VerdictKind(
        "never_stops",
        "rejecter",
        "the engine forbids the end of generation after a complete valid value",
    ),
    VerdictKind(
        "stops_too_early",
        "accepter",
        "the engine allows the end where the text is not yet a complete JSON value",
    ),
    VerdictKind(DEAD_END, "engine", "the engine leads to a place where it allows nothing"),
    VerdictKind(
        "mask_consume_mismatch",
        "engine",
        "the engine's mask and what it consumes do not say the same of a token",
    ),
    VerdictKind(
        "unbounded_repetition",
        "engine",
        "the engine allows the same white space or digit to follow itself 500 times, so that a"
        " model can go on for ever",
    ),
    VerdictKind("contested", "nobody", "the two validators do not say the same"),
    VerdictKind("unresolved", "nobody", "nothing is proven, for the reason that is given"),
)

KINDS: Final[Mapping[str, VerdictKind]] = {one.name: one for one in _ALL}


def _convicting(*whom: Convicts) -> tuple[str, ...]:
    return tuple(name for name, one in KINDS.items() if one.convicts in whom)


ACCEPTANCES: Final = _convicting("accepter")
REJECTIONS: Final = _convicting("rejecter")
WRONG_BITS: Final = _convicting("accepter", "rejecter")
BEYOND_BITS: Final = _convicting("engine")
OPEN: Final = _convicting("nobody")
ERRORS: Final = (*WRONG_BITS, *BEYOND_BITS)
LEGAL: Final = ("unbounded_repetition",)
"""What no specification forbids: RFC 8259 lets white space and digits go on for ever."""
MAIN_KINDS: Final = {f"{one.name}s": one.name for one in (FALSE_ACCEPTANCE, FALSE_REJECTION)}
"""The two that this is about, by their plurals; a summary counts them apart from the others."""
OTHER_KINDS: Final = tuple(name for name in ERRORS if name not in MAIN_KINDS.values())

BUG, WARNED, DEPARTURE = CLASSES = ("bug", "warned", "departure")
"""What an error counts as: a bug, or what the engine warned of or declares. Open ones have none."""

INVALID_VALUE, FORMAT_ONLY, NOT_JSON = "invalid_value", "format_only", "not_json"
"""Effects of acceptances: the value is invalid; for its `format` alone; the text is no JSON."""
LOST_VALUE, TRAP, SPELLING, UNCLEAR = "lost_value", "trap", "spelling", "unclear"
"""Effects of rejections and dead ends: no usual spelling of the value is taken; none after the
tokens that the engine itself allowed; another is; or something else in the value is refused."""
MEANINGS: Final[Mapping[str, str]] = {
    INVALID_VALUE: "an invalid value is let through",
    FORMAT_ONLY: "a value that nothing but format forbids is let through",
    NOT_JSON: "a text that is no JSON is let through",
    LOST_VALUE: "a valid value cannot be written in any usual spelling",
    TRAP: "a valid value that can be written cannot be after what the engine allowed first",
    SPELLING: "a valid value can be written in another spelling alone",
    UNCLEAR: "whether a valid value can be written is not clear",
}
EFFECTS: Final = ("", *MEANINGS)
"""What a proven error does to a user (`harness.comparison.effects`); mostly about a value."""
LEAKS, LOSSES, TRAPS = (INVALID_VALUE,), (LOST_VALUE,), (TRAP,)
COSTLY: Final = (*LEAKS, *LOSSES, *TRAPS)
"""Effects that cost a value: what is counted first, and by what lists of bugs are ordered."""
HEADLINE: Final[Mapping[str, Sequence[str]]] = {"loss": LOSSES, "leak": LEAKS}
"""The rates that lead, by the effects that they count."""
COUNTED: Final[Mapping[str, Sequence[str]]] = {
    **HEADLINE,
    "trap": TRAPS,
    **{name: (name,) for name in (FORMAT_ONLY, NOT_JSON, UNCLEAR, SPELLING)},
}
SPELLINGS: Final = (SPELLING, UNCLEAR)
"""Effects that are not shown to cost a value: lists of bugs have them only where asked for."""

REAL, PLAIN, RARE = SHOWN_BY = ("real", "plain", "rare")
"""What shows an effect, the worst first (`harness.comparison.text_facts`): a value of the data set
itself, a plain one that was made, or one that hardly anybody writes."""

WALK, INSTANCE, SAMPLE = "walk", "instance", "sample"
"""What a verdict rests on: a walk along a reference, an instance, the case's own or made, or a text
that an engine wrote itself."""
