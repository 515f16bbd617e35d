"""The answer first: per engine what it refuses, leaks and loses, where it traps and how it spells.

Each cell is one plain sentence with a count of schemas, and an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from harness.analysis.compile_reasons import compile_reasons, with_names
from harness.analysis.rates import EVERYDAY, Rates
from harness.analysis.stored import WORST_FIRST, StoredRun, statement
from harness.printable import plural
from harness.replay.witness import Witness
from harness.replay.witness_reader import Choice, witnesses
from harness.runs.made_with import vocabulary_at_hand
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import COSTLY, LEAKS, LOSSES, SPELLING, TRAPS

COLUMNS: Final = {
    "refuses": "refuses the schema",
    "leaks": "lets an invalid value through",
    "loses": "cannot write a valid value",
    "traps": "leads into a trap",
    "spells": "refuses only a spelling",
}
"""The cells of an engine, and their titles."""

_OF_EFFECT: Final = {"leaks": LEAKS, "loses": LOSSES, "traps": TRAPS, "spells": (SPELLING,)}
_NAMES: Final = 3
_CANDIDATES: Final = 30
"""Verdicts of each cell of which the text is looked at."""
_LONG: Final = 72
"""Characters that are shown of a text."""


def matrix(
    stored: StoredRun, rates: Rates, engines: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The matrix of a run as JSON, by engine and column; `engines` is that part of its summary.

    Each cell has ``count`` and ``of`` (schemas), ``sentence`` and ``example``: of a refusal its
    ``reason``, of an error as `_examples` gives it; None where there is none.
    """
    reasons = compile_reasons(stored.run)
    shown = _examples(stored)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for at, (name, engine) in enumerate(engines.items()):
        found[name] = {"refuses": _refused(engine["compile"], reasons.get(name, {}))}
        costly = rates.shown_by(at, COSTLY) < EVERYDAY
        spells = int(((rates.shown_by(at, (SPELLING,)) < len(WORST_FIRST)) & ~costly).sum())
        counts = {
            "leaks": engine["leak"],
            "loses": engine["loss"],
            "traps": engine["trap"],
            "spells": {**engine[SPELLING], "schemas": spells},
        }
        for column, rate in counts.items():
            found[name][column] = {
                "count": rate["schemas"],
                "of": rate["of"],
                "sentence": _sentence(column, rate, engine),
                "example": shown.get((at, column)) if rate["schemas"] else None,
            }
    return found


def _refused(compiled: Mapping[str, int], reasons: Mapping[str, Any]) -> dict[str, Any]:
    refused, given = compiled["refused"], sum(compiled.values())
    of = plural(given, "schema")
    failed = given - refused - compiled["compiled"]
    more = f"fails on {failed:,}" if failed else ""
    if not given:
        sentence = "Was given no schema"
    elif refused:
        more = f" and {more} more" if more else ""
        sentence = f"Refuses {refused:,} of {of}{more}"
    else:
        sentence = f"Refuses none of {of}" + (f", but {more}" if more else "")
    example = None
    if worst := reasons.get("refused"):
        example = {"reason": with_names(worst[0], _NAMES), "schemas": worst[0]["schemas"]}
    return {"count": refused, "of": given, "sentence": f"{sentence}.", "example": example}


_SENTENCES: Final = {
    "leaks": ("Lets an invalid value through", "Lets no everyday invalid value through"),
    "loses": ("Cannot write a valid value", "Can write every everyday value that was tried"),
    "traps": ("Forbids to finish a value that it lets begin", "Leads into no trap"),
    "spells": ("Refuses only a spelling of a value", "Nowhere refuses a spelling and nothing else"),
}
_BESIDE: Final = {
    "leaks": {"format_only": "one that only `format` forbids", "not_json": "what is no JSON"},
    "loses": {"unclear": "it is unclear whether"},
}
"""What is counted beside a rate and not in it."""


def _sentence(column: str, rate: Mapping[str, Any], engine: Mapping[str, Any]) -> str:
    many, of = rate["schemas"], plural(rate["of"], "schema")
    if not rate["of"]:
        return "Was judged on no schema."
    some, none = _SENTENCES[column]
    text = f"{some} in {many:,} of {of}" if many else f"{none} in {of}"
    if column == "spells":
        return text + (": see `maskcourt spellings`." if many else ".")
    if many:
        text += f" ({in_words(rate)})"
    beside = [f"in {rate['rare']:,} more with unusual values alone"] * bool(rate["rare"])
    beside += [
        f"{words} in {engine[name]['schemas']:,}"
        for name, words in _BESIDE.get(column, {}).items()
        if engine[name]["schemas"]
    ]
    return "; ".join([text, *beside]) + "."


def in_words(rate: Mapping[str, Any]) -> str:
    """What shows that an engine errs in the schemas of a rate, and how many are declared."""
    shown = f"{rate['real'] or 'none'} with a value of the data set"
    return f"{shown}, {rate['declared']:,} declared" if rate["declared"] else shown


def example_text(column: str, example: Mapping[str, Any] | None) -> str:
    """An example in words, empty where there is none."""
    if example is None:
        return ""
    if column == "refuses":
        return f"{example['reason']}: {plural(example['schemas'], 'schema')}"
    preposition = "against" if column == "leaks" else "under"
    keyword = example["keyword"]
    return f"`{example['text']}`" + (f" {preposition} {keyword}" if keyword else "")


def _examples(stored: StoredRun) -> dict[tuple[int, str], dict[str, Any]]:
    """A text for each engine and each column of errors: of the worst that there is, a short one.

    Each has ``verdict`` (its name for ``replay``), ``case``, ``keyword``, and its ``text``, written
    out and cut where need be. Nothing where the vocabulary is not at hand.
    """
    if (vocabulary := vocabulary_at_hand(stored.run)) is None:
        return {}
    stored.add_able()
    column_of = {effect: name for name, effects in _OF_EFFECT.items() for effect in effects}
    wanted = {
        (row["evidence"], row["row"]): row
        for row in stored.rows(statement("examples", most=str(_CANDIDATES)), list(column_of))
    }
    rows = {
        side: np.array([row for one, row in wanted if one == side], dtype=np.int64)
        for side in VERDICT_TABLES
    }
    best: dict[tuple[int, str], tuple[Any, dict[str, Any]]] = {}
    for case in witnesses(stored.run, Choice(rows), vocabulary):
        for one in case.witnesses:
            row = wanted[one.evidence, one.number]
            example, unseen = _shown(one)
            key = (row["rank"], unseen, len(one.text), one.evidence, one.number)
            cell = row["engine"], column_of[row["effect"]]
            if cell not in best or key < best[cell][0]:
                best[cell] = key, {**example, "keyword": row["keyword"]}
    return {cell: example for cell, (_, example) in best.items()}


def _shown(one: Witness) -> tuple[dict[str, Any], bool]:
    """A verdict as an example, and whether anything in it had to be written out."""
    read = one.text.decode("utf-8", "backslashreplace").replace("`", "\\x60")
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in read)
    cut = text if len(text) <= _LONG else f"{text[: _LONG // 2]}…{text[-_LONG // 2 :]}"
    example = {"verdict": one.name, "case": one.case, "text": cut}
    return example, text.encode() != one.text or not text.isascii()
