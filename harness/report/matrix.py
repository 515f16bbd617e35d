"""The answer first: per engine what it refuses, what it lets through, what it forbids.

Each cell is one plain sentence with a count of schemas, and an example. A schema counts where a
model meets the error: at the very token that a valid text goes on with, or at another common one;
schemas in which nothing but rare tokens is wrong are named behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.counting.schema_bugs import SchemaBugs
from harness.report.compile_reasons import compile_reasons
from harness.report.examples import examples
from harness.report.headline_rates import KINDS_OF, judged_positions
from harness.report.text_counts import TextCounts
from harness.runs.columns import Ints
from harness.verdict_kinds import MAIN_KINDS

COLUMNS: Final = {
    "refuses": "refuses the schema",
    "accepts": "lets invalid output through",
    "forbids": "forbids what a model would write",
}
"""The cells of an engine, and their titles."""

_OF_KIND: Final = dict(zip(("accepts", "forbids"), MAIN_KINDS.values(), strict=True))
_NAMES = 3


def matrix(
    bugs: SchemaBugs, texts: Sequence[TextCounts], compiled: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The matrix of a run as JSON, by engine and column.

    Args:
        bugs: The bugs of the run.
        texts: Its instances, and its samples.
        compiled: Per engine the schemas by outcome of compilation.

    Returns:
        Each cell has ``count`` and ``of`` (schemas), ``sentence`` and ``example``: of an error as
        `harness.report.examples.examples` gives it, of a refusal its ``reason``; None where there
        is none.
    """
    reasons = compile_reasons(bugs.stored.run)
    names = bugs.stored.engines
    judged = [_judged(bugs, texts, number) for number in range(len(names))]
    shown = examples(bugs, list(_OF_KIND.values()), [among for among, _ in judged])
    found = {}
    for number, (name, (among, how)) in enumerate(zip(names, judged, strict=True)):
        found[name] = {"refuses": _refused(compiled[name], reasons.get(name, {}))}
        for column, kind in _OF_KIND.items():
            flags = bugs.of(number, KINDS_OF[kind])
            met, of = (int(np.count_nonzero(one)) for one in (flags.met & among, among))
            worst = flags.by_severity(among)
            worst["by_format"] = int(np.count_nonzero(flags.met & flags.by_format & among))
            sentence = _SENTENCES[column](met, of, worst) if of else "Was judged on no schema."
            found[name][column] = {
                "count": met,
                "of": of,
                "sentence": sentence.removesuffix(".") + how + ".",
                "example": shown.get((number, kind)),
            }
    return found


def _judged(
    bugs: SchemaBugs, texts: Sequence[TextCounts], engine: int
) -> tuple[npt.NDArray[np.bool_], str]:
    """On which schemas an engine was judged: in walks, or in none of them by texts alone."""
    walked = judged_positions(bugs.stored, engine) > 0
    if walked.any():
        return walked, ""
    for one in texts:
        tested: Ints = one.per_case(engine)
        if tested.any():
            return tested > 0, f" (by {one.unit}: none was walked)"
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
    return f"{count:,} schema" + ("" if count == 1 else "s")


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
    behind = f" behind `{example['before']}`" if example["before"] else " at the beginning"
    return f"no {token}{behind}" + (f" under {keyword}" if keyword else "")
