"""Flaws: errors of other kinds than a false acceptance or rejection, and the search for them.

- ``never_stops``: the end of generation is forbidden after a complete valid value. Where another
  engine allows it that is a dispute; where all forbid it the reference itself is the witness.
- ``stops_too_early``: the end is allowed before a complete value.
- ``dead_end``: a mask is empty though the end is not allowed; or no completion exists within the
  limit where another engine has a valid one.
- ``mask_consume_mismatch``: what the mask says of a token and what consuming it says differ.
- ``unbounded_repetition``: the same white space or digit may follow itself up to the limit.
  RFC 8259 lets both be as long as one likes, but a model that falls into it never ends.

Roll-outs find dead ends and broken masks on their way. The searches here are bounded: a few probes
per case and engine, all chosen by the walk alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from harness.comparison.findings import Flaw, Status, flawed
from harness.comparison.position_resolution import Columns, PositionResolution
from harness.comparison.walk import Position
from harness.completion.rollout import LIMIT
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import Mode, State
from harness.protocol import allows

MAX_SEARCHED = 4
"""Tokens per case and engine whose completions are looked for though another engine has one."""

BUDGET = 3 * LIMIT
"""Masks looked at before it stays open whether a token has a completion."""


def wrong_ends(position: Position, eos_ids: Sequence[int], state: State) -> list[Flaw]:
    """What all engines get wrong together about the end of generation; `state` is the text's.

    Where they differ about it the end is a disputed token like any other.
    """
    rows = range(len(position.masks))
    if position.at_end:
        if any(allows(mask, eos) for mask in position.masks for eos in eos_ids):
            return []
        return [Flaw(row, eos_ids[0], "never_stops") for row in rows]
    if not state.can_end and all(allows(mask, eos_ids[0]) for mask in position.masks):
        return [Flaw(row, eos_ids[0], "stops_too_early", accepter=row) for row in rows]
    return []


_BETWEEN = frozenset(
    {Mode.VALUE, Mode.ITEM_OR_CLOSE, Mode.KEY_OR_CLOSE, Mode.KEY, Mode.COLON, Mode.AFTER}
)
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
        self._searched: dict[int, int] = {}

    def due(self, state: State, engines: Sequence[int]) -> list[int]:
        """The engines to probe after a text in `state`."""
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
        """Look for engines that let one token follow itself for ever.

        Once per case, engine and kind of place, until one of the sort is found.
        """
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

    def dead_ends(self, resolution: PositionResolution) -> None:
        """Look at a few tokens that one engine completes validly and another never did.

        Not of engines with slow masks: a search takes hundreds of them.
        """
        findings = resolution.findings
        never = findings.accepts & (findings.status == Status.NOT_ASKED)
        never &= (
            resolution.cleared[None, :]
            & ~findings.ends[None, :]
            & resolution.alive[:, None]
            & ~resolution.slow[:, None]
        )
        never &= ~flawed(findings)
        columns = {}
        for row, engine in enumerate(findings.engines):
            left = MAX_SEARCHED - self._searched.get(engine, 0)
            chosen = np.flatnonzero(never[row] & (resolution.tries[row] == 0))[: min(left, 1)]
            if len(chosen):
                self._searched[engine] = self._searched.get(engine, 0) + len(chosen)
                columns[row] = chosen
        if columns:
            _search(resolution, columns)


def _search(resolution: PositionResolution, columns: Mapping[int, Columns]) -> None:
    """Look for dead ends after tokens that another engine completes validly.

    Roll-outs find empty masks; where one merely takes too long, everything that the masks allow
    is looked through, if it is little.
    """
    _, ended = resolution.roll_out(columns, LIMIT)
    open_: dict[int, list[int]] = {}
    for (row, column), status in ended.items():
        if status == Status.TOO_LONG:
            open_.setdefault(row, []).append(column)
    findings = resolution.findings
    for row, closed in resolution.exhaust(open_, LIMIT, BUDGET).items():
        for column in closed:
            accepter = int(np.flatnonzero(findings.status[:, column] == Status.VALID)[0])
            number = int(findings.completion[accepter, column])
            token = int(findings.tokens[column])
            findings.flaws.append(
                Flaw(row, token, "dead_end", number, "no_end_within_limit", accepter)
            )


def _sort_of(state: State) -> str:
    """What could go on for ever after a text in `state`; empty where nothing is looked for."""
    if state.mode in _BETWEEN and state.stack:
        return "whitespace"
    return "digits" if state.mode in _DIGITS else ""


def _single(vocabulary: Vocabulary, texts: Sequence[bytes]) -> tuple[int, ...]:
    """The first ordinary token for each of `texts` that has one."""
    found = []
    for text in texts:
        ids = [token for token in vocabulary.ids_of(text) if not vocabulary.special[token]]
        found += ids[:1]
    return tuple(found)
