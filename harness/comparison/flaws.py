"""Flaws: errors of other kinds than a false acceptance or rejection, and the search for them.

- ``never_stops``: the end of generation is forbidden after a complete valid value. Where another
  engine allows it that is a dispute; where all forbid it the reference itself is the witness.
- ``stops_too_early``: the end is allowed before a complete value.
- ``dead_end``: a mask is empty though the end is not allowed.
- ``mask_consume_mismatch``: what the mask says of a token and what consuming it says differ.
- ``unbounded_repetition``: the same white space or digit may follow itself up to the limit.
  RFC 8259 lets both be as long as one likes, but a model that falls into it never ends.

Roll-outs find dead ends and broken masks on their way. The searches here are a few probes per case
and engine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.comparison.findings import Flaw
from harness.comparison.position_resolution import PositionResolution
from harness.comparison.walk import Position
from harness.completion.rollout import LIMIT
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import Mode, State
from harness.jsontext.partial import BETWEEN
from harness.protocol import allows


def wrong_ends(position: Position, eos_ids: Sequence[int], state: State) -> list[Flaw]:
    """What all engines get wrong together about the end of generation; `state` is the text's."""
    rows = range(len(position.masks))
    if position.at_end:
        if any(allows(mask, eos) for mask in position.masks for eos in eos_ids):
            return []
        return [Flaw(row, eos_ids[0], "never_stops") for row in rows]
    if not state.can_end and all(allows(mask, eos_ids[0]) for mask in position.masks):
        return [Flaw(row, eos_ids[0], "stops_too_early", accepter=row) for row in rows]
    return []


_DIGITS = frozenset({Mode.INT, Mode.FRAC})


class Probes:
    """Which probes of a case are still to be made."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = {
            "whitespace": _single(vocabulary, (b" ", b"\n", b"\t")),
            "digits": _single(vocabulary, (b"1", b"0")),
        }
        self._asked: set[tuple[int, Mode]] = set()
        self._found: set[tuple[int, str]] = set()

    def due(self, state: State, engines: Sequence[int]) -> list[int]:
        sort = _sort_of(state)
        if not sort:
            return []
        return [
            engine
            for engine in engines
            if (engine, state.mode) not in self._asked and (engine, sort) not in self._found
        ]

    def unbounded_repetition(
        self, resolution: PositionResolution, state: State, engines: Collection[int]
    ) -> None:
        """Look for engines that let one token follow itself for ever, once per kind of place."""
        sort = _sort_of(state)
        rows = [row for row, engine in enumerate(resolution.findings.engines) if engine in engines]
        self._asked |= {(engine, state.mode) for engine in engines}
        for row, times in resolution.lengthen(rows, self._tokens[sort], LIMIT).items():
            for token, count in zip(self._tokens[sort], times, strict=True):
                if count >= LIMIT:
                    times_ = (token,) * (LIMIT - 1)
                    text = resolution.vocabulary.tokens[token] * len(times_)
                    number = resolution.number(text, "probe", times_)
                    resolution.findings.flaws.append(
                        Flaw(row, token, "unbounded_repetition", number, sort)
                    )
                    self._found.add((resolution.findings.engines[row], sort))
                    break


def _sort_of(state: State) -> str:
    """What could go on for ever after a text in `state`; empty where nothing is looked for."""
    if state.mode in BETWEEN and state.stack:
        return "whitespace"
    return "digits" if state.mode in _DIGITS else ""


def _single(vocabulary: Vocabulary, texts: Sequence[bytes]) -> tuple[int, ...]:
    """The first ordinary token for each of `texts` that has one."""
    found = []
    for text in texts:
        ids = [token for token in vocabulary.ids_of(text) if not vocabulary.special[token]]
        found += ids[:1]
    return tuple(found)
