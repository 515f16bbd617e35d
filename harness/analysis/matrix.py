"""The answer first: per engine what it refuses, what it lets through, what it forbids.

Each cell is one plain sentence with a count of schemas, and an example. A schema counts where a
model meets the error: at the very token that a valid text goes on with, or at another common one;
schemas in which nothing but rare tokens is wrong are named after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from harness.analysis.compile_reasons import compile_reasons
from harness.analysis.rates import KINDS_OF, Bools, Rates
from harness.analysis.stored import WORST_FIRST, StoredRun
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import Witness
from harness.replay.witness_reader import Choice, spelled, witnesses
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES
from harness.verdict_kinds import MAIN_KINDS

COLUMNS: Final = {
    "refuses": "refuses the schema",
    "accepts": "lets invalid output through",
    "forbids": "forbids what a model would write",
}
"""The cells of an engine, and their titles."""

_OF_KIND: Final = dict(zip(("accepts", "forbids"), MAIN_KINDS.values(), strict=True))
_NAMES: Final = 3
_CANDIDATES: Final = 30
"""Verdicts of each engine and kind of which the text is looked at."""
_LONG_TOKEN: Final = 12
_RULE: Final = 4
"""So many of the same character draw a line."""
_BEFORE, _AFTER = 48, 24
"""Characters that are shown of a long text."""


def matrix(
    stored: StoredRun, rates: Rates, compiled: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The matrix of a run as JSON, by engine and column; `compiled` are schemas by outcome.

    Each cell has ``count`` and ``of`` (schemas), ``sentence`` and ``example``: of an error as
    `_examples` gives it, of a refusal its ``reason``; None where there is none.
    """
    reasons = compile_reasons(stored.run)
    judged = [_judged(stored, engine) for engine in range(len(stored.engines))]
    shown = _examples(stored, [among for among, _ in judged])
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for engine, (name, (among, how)) in enumerate(zip(stored.engines, judged, strict=True)):
        found[name] = {"refuses": _refused(compiled[name], reasons.get(name, {}))}
        for column, kind in _OF_KIND.items():
            flags = rates.flags[kind][engine]
            met, of = (int(np.count_nonzero(one)) for one in (flags.met & among, among))
            worst = flags.by_severity(among)
            worst["by_format"] = int(np.count_nonzero(flags.met & flags.by_format & among))
            sentence = _SENTENCES[column](met, of, worst) if of else "Was judged on no schema."
            found[name][column] = {
                "count": met,
                "of": of,
                "sentence": sentence.removesuffix(".") + how + ".",
                "example": shown.get((engine, kind)),
            }
    return found


def _judged(stored: StoredRun, engine: int) -> tuple[Bools, str]:
    """On which schemas an engine was judged: in walks, or in none of them by texts alone."""
    walked = stored.judged_positions(engine) > 0
    if walked.any():
        return walked, ""
    for evidence, unit in TEXT_TABLES.items():
        tested = stored.per_case(
            "SELECT case_row, count(*) AS n FROM tested"
            " WHERE engine = $1 AND evidence = $2 GROUP BY case_row",
            *(engine, evidence),
        )
        if tested.any():
            return tested > 0, f" (by {unit}: none was walked)"
    return walked, ""


def _refused(compiled: Mapping[str, int], reasons: Mapping[str, Any]) -> dict[str, Any]:
    refused, given = compiled["refused"], sum(compiled.values())
    failed = given - refused - compiled["compiled"]
    more = f"fails on {failed:,}" if failed else ""
    if not given:
        sentence = "Was given no schema"
    elif refused:
        more = f" and {more} more" if more else ""
        sentence = f"Refuses {refused:,} of {schemas(given)}{more}"
    else:
        sentence = f"Refuses none of {schemas(given)}" + (f", but {more}" if more else "")
    example = None
    for row in reasons.get("refused", [])[:1]:
        names = list(row["about"])
        listed = ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")
        reason = row["reason"].rstrip("… ").rstrip(":") if names else row["reason"]
        example = {"reason": f"{reason} ({listed})" if names else reason, "schemas": row["schemas"]}
    return {"count": refused, "of": given, "sentence": f"{sentence}.", "example": example}


def _accepted(met: int, of: int, counted: Mapping[str, int]) -> str:
    rare = counted["rare"]
    if not met + rare:
        return f"Lets no invalid output through in {schemas(of)}, as far as is proven."
    if not met:
        return f"Lets invalid output through at rare tokens only, in {rare:,} of {schemas(of)}."
    alone = f", in {counted['by_format']:,} by format alone" if counted["by_format"] else ""
    more = f", and in {rare:,} more at rare tokens only" if rare else ""
    return f"Lets invalid output through in {met:,} of {schemas(of)}{alone}{more}."


def _forbidden(met: int, of: int, counted: Mapping[str, int]) -> str:
    rare, on_path = counted["rare"], counted["on_path"]
    if not met + rare:
        return f"Forbids nothing that a model would write in {schemas(of)}, as far as is proven."
    if not met:
        return f"Forbids rare tokens only, in {rare:,} of {schemas(of)}."
    very = f", in {on_path:,} the very next token of a valid text" if on_path else ""
    more = f"; in {rare:,} more only rare tokens" if rare else ""
    return f"Forbids what a model would write in {met:,} of {schemas(of)}{very}{more}."


_SENTENCES = {"accepts": _accepted, "forbids": _forbidden}


def schemas(count: int) -> str:
    """So many schemas."""
    return plural(count, "schema")


def plural(count: int, noun: str) -> str:
    """So many of what a noun names."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def example_text(column: str, example: Mapping[str, Any] | None) -> str:
    """An example in words, empty where there is none."""
    if example is None:
        return ""
    if column == "refuses":
        return f"{example['reason']}: {schemas(example['schemas'])}"
    keyword = example["keyword"]
    if column == "accepts":
        against = f" against {keyword}" if keyword else ""
        return f"`{example['before']}{example['token']}{example['after']}`{against}"
    token = f"`{example['token']}`" if example["token"] else "end"
    where = f" after `{example['before']}`" if example["before"] else " at the beginning"
    return f"no {token}{where}" + (f" under {keyword}" if keyword else "")


def _examples(stored: StoredRun, among: list[Bools]) -> dict[tuple[int, str], dict[str, Any]]:
    """An example of each engine's bugs of each main kind, by the engine's number and the kind.

    One that a model meets, where there is any; of these one worth showing, which neither rests on
    `format` alone nor is about an odd token (`_is_odd`); then of the worst severity that there is,
    and of these a short printable text. Nothing where the vocabulary is not at hand.

    Each has ``verdict`` (its name for ``replay``), ``case``, ``keyword``, and its text as
    ``before``, ``token`` (empty for the end) and ``after``; what cannot be printed is written out,
    and a long text is cut.
    """
    vocabulary = stored.vocabulary
    if vocabulary is None:
        return {}
    stored.add_able()
    odd = [token for token, one in enumerate(vocabulary.tokens) if _is_odd(one)]
    stored.add("odd", token=np.array(odd, dtype=np.int32))
    wanted: dict[tuple[str, int], tuple[int, str, int, str]] = {}
    for engine, cases in enumerate(among):
        stored.add("among", case_row=np.flatnonzero(cases))
        for kind in _OF_KIND.values():
            for row in stored.rows(
                f"""SELECT v.evidence, v.row, keyword, enum_code(severity)
                    + CASE WHEN by_format OR o.token IS NOT NULL THEN 10 ELSE 0 END
                    + CASE WHEN severity = '{WORST_FIRST[-1]}' THEN 100 ELSE 0 END AS least
                FROM verdicts v SEMI JOIN among USING (case_row)
                SEMI JOIN able a ON a.evidence = v.evidence AND a.row = v.row
                LEFT JOIN odd o ON o.token = v.token
                WHERE class = 'bug' AND engine = $1 AND kind IN $2
                ORDER BY least, v.evidence = 'sample', v.evidence = 'instance', located DESC,
                    before, v.row LIMIT {_CANDIDATES}""",
                *(engine, list(KINDS_OF[kind])),
            ):
                name = row["evidence"], row["row"]
                wanted[name] = engine, kind, row["least"], row["keyword"]
    rows = {
        side: np.array(sorted(row for one, row in wanted if one == side), dtype=np.int64)
        for side in VERDICT_TABLES
    }
    best: dict[tuple[int, str], tuple[Any, dict[str, Any]]] = {}
    for case in witnesses(stored.run, Choice(rows), vocabulary):
        for one in case.witnesses:
            engine, kind, rank, keyword = wanted[one.evidence, one.number]
            found, cost = _shown(one, vocabulary)
            key = (rank, one.kind != kind, *cost, one.evidence, one.number)
            if (engine, kind) not in best or key < best[engine, kind][0]:
                best[engine, kind] = key, {**found, "keyword": keyword}
    return {at: found for at, (_, found) in best.items()}


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
