"""An example worth showing: what a model meets, short, printable, and proven to be a bug."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.counting.schema_bugs import EVIDENCE, RARE, SchemaBugs
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import Witness
from harness.replay.witness_reader import Choice, every, spelled, witnesses
from harness.report.headline_rates import KINDS_OF
from harness.runs.columns import Ints
from harness.runs.tables import VERDICT_TABLES

_CANDIDATES = 30
"""Verdicts of each engine and kind of which the text is looked at."""
_LONG_TOKEN = 12
_RULE = 4
"""So many of the same character draw a line."""
_BEFORE, _AFTER = 48, 24
"""Characters that are shown of a long text."""


def examples(
    bugs: SchemaBugs, kinds: Sequence[str], among: Sequence[npt.NDArray[np.bool_]]
) -> dict[tuple[int, str], dict[str, Any]]:
    """An example of each engine's bugs of each kind, by the engine's number and the kind.

    One that a model meets, where there is any; of these one worth showing, which neither rests on
    `format` alone nor is about an odd token (`_is_odd`); then of the worst severity that there is,
    and of these a short printable text. Nothing where the vocabulary is not at hand.

    Args:
        bugs: The bugs of the run.
        kinds: As `harness.report.headline_rates.KINDS_OF` names them.
        among: For each engine the cases from which to take one, shape ``(cases,)`` each.

    Returns:
        Each has ``verdict`` (its name for ``replay``), ``case``, ``keyword``, and its text as
        ``before``, ``token`` (empty for the end) and ``after``; what cannot be printed is written
        out, and a long text is cut.
    """
    vocabulary, rows = bugs.vocabulary, bugs.rows
    if vocabulary is None or not len(rows.row):
        return {}
    least = _least(bugs, vocabulary)
    order = _order(bugs, least)
    wanted: dict[tuple[str, int], tuple[int, str, int]] = {}
    for engine, cases in enumerate(among):
        for kind in kinds:
            mine = bugs.mine(engine, KINDS_OF[kind]) & cases[rows.case]
            for at in order[mine[order]][:_CANDIDATES].tolist():
                name = (EVIDENCE[rows.evidence[at]], int(rows.row[at]))
                wanted[name] = (engine, kind, int(least[at]))
    choice = Choice(
        {
            side: np.array(sorted(row for one, row in wanted if one == side), dtype=np.int64)
            for side in EVIDENCE
        }
    )
    best: dict[tuple[int, str], tuple[Any, dict[str, Any]]] = {}
    for case in witnesses(bugs.stored.run, choice, vocabulary):
        for one in case.witnesses:
            engine, kind, rank = wanted[one.evidence, one.number]
            found, cost = _shown(one, vocabulary)
            key = (rank, one.kind != kind, *cost, one.evidence, one.number)
            if (engine, kind) not in best or key < best[engine, kind][0]:
                best[engine, kind] = key, found
    return {at: {**found, "keyword": _keyword(bugs, key)} for at, (key, found) in best.items()}


def _keyword(bugs: SchemaBugs, key: tuple[Any, ...]) -> str:
    *_, evidence, number = key
    column = bugs.stored.run.table(VERDICT_TABLES[evidence], ["keyword"])["keyword"]
    return str(column[number].as_py() or "")


def _least(bugs: SchemaBugs, vocabulary: Vocabulary) -> Ints:
    """What speaks against each bug as an example: the less the better, shape ``(n,)``."""
    rows = bugs.rows
    odd = np.array([_is_odd(one) for one in vocabulary.tokens], dtype=np.bool_)
    dull = rows.by_format | ((rows.token >= 0) & odd[np.clip(rows.token, 0, len(odd) - 1)])
    rare = rows.rank >= RARE
    found: Ints = rows.rank.astype(np.int64) + np.where(dull, 10, 0) + np.where(rare, 100, 0)
    return found


def _order(bugs: SchemaBugs, least: Ints) -> Ints:
    """The bugs that have a witness, those first that promise most."""
    rows, able = bugs.rows, every(bugs.stored.run)
    mine = np.zeros(len(rows.row), dtype=np.bool_)
    for number, one in enumerate(EVIDENCE):
        mine |= (rows.evidence == number) & np.isin(rows.row, able.of(one))
    keys = (rows.row, rows.consumed, ~rows.located, rows.evidence, least)
    order = np.lexsort(keys)
    return order[mine[order]]


def _is_odd(token: bytes) -> bool:
    """Whether nobody would write a token, or it is a mere spelling: an escape, space, a rule."""
    if len(token) > _LONG_TOKEN or not token.isascii() or b"\\" in token:
        return True
    text = token.decode().strip(" ")
    return not text.isprintable() or not text or (len(text) >= _RULE and len(set(text)) == 1)


def _shown(one: Witness, vocabulary: Vocabulary) -> tuple[dict[str, Any], tuple[bool, int]]:
    """A verdict as an example, and what speaks against it: what is unseen, and its length."""
    before = spelled(vocabulary, one.before)
    token = spelled(vocabulary, [one.token]) if one.token >= 0 else b""
    after = one.text[len(before) + len(token) :]
    begin, middle, rest = map(_written, (before, token, after))
    found = {
        "verdict": one.name,
        "case": one.case,
        "before": begin if len(begin) <= _BEFORE else f"…{begin[-_BEFORE:]}",
        "token": middle if len(middle) <= _BEFORE else f"{middle[:_BEFORE]}…",
        "after": rest if len(rest) <= _AFTER else f"{rest[:_AFTER]}…",
    }
    written = begin + middle + rest
    return found, (written.encode() != one.text or not written.isascii(), len(written))


def _written(text: bytes) -> str:
    """A text in which all that cannot be seen, and what quotes it, is written out."""
    read = text.decode("utf-8", "backslashreplace").replace("`", "\\x60")
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in read)
