"""Why engines refused schemas, and what they warned of, grouped by what their messages share."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from harness.classification.departures import is_printed, load_warnings
from harness.engines.presets import backends_of, taken_by
from harness.inputs.cases import EQUAL
from harness.runs.directory import RunDirectory

_SOURCE = re.compile(r"^\S+\.(?:cc|cpp|h|py|rs):\d+: ")
"""The place in an engine's source that a message begins with."""
_PREFIX = re.compile(r"^(?:at \d+\(\d+\): )?(?:failed to compile JSON schema: )?(?:Warning: )?")
_DETAIL = re.compile(
    r"""\[.*\]|\{.*\}|/.*/|'.*'|"[^"]*"|(?<=format:\s)\S+|(?<=[Ff]ormat\s)\S+(?=\sis\snot)"""
    r"""|(?<=path:\s)\S+|(?<=\sgot\s)\S+|\b(?:true|false)\b(?=\s*$)|\d+"""
)
"""What of a message is about the one schema."""
_MOST = 60
_NAMES = re.compile(r"[$\w.-]{1,30}")


def compile_reasons(run: RunDirectory) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Why schemas were not compiled, and what was warned of where they were, most schemas first.

    By engine and outcome (``warned``: compiled, with a warning; with its stage what happened
    later): ``reason`` is a message, three dots for what differs (what the list of warnings does not
    have is *not listed*, and excuses nothing); ``about`` says of the names that stand at the dots
    in how many ``schemas`` they do.
    """
    columns = ["case", "engine", "stage", "outcome", "message", "output"]
    cases = run.table("cases", ["case", "family"]).to_pylist()
    rewritten = {one["case"] for one in cases if one["family"] == EQUAL}
    found: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    about: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in run.table("engines", columns).to_pylist():
        if row["case"] in rewritten:
            continue
        engine, outcome = row["engine"], row["outcome"]
        if compiled := outcome == "compiled":
            outcome = "warned"
        elif row["stage"] != "compile":
            outcome = f"{row['stage']}_{outcome}"
        warned = (one.strip() for one in row["output"].splitlines() if "warn" in one.lower())
        for line in warned if compiled else [row["message"].strip().partition("\n")[0]]:
            reason, names = _shape(line) if outcome in ("refused", "warned") else (line, [])
            if compiled and not _is_listed(line):
                reason = f"not listed: {reason}"
            if row["case"] not in found[engine, outcome][reason]:
                about[engine, outcome, reason].update(names)
            found[engine, outcome][reason].add(row["case"])
    out: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for (engine, outcome), reasons in found.items():
        counted = _sorted({reason: len(cases) for reason, cases in reasons.items()})
        out.setdefault(engine, {})[outcome] = [
            {"reason": one, "schemas": n, "about": dict(_sorted(about[engine, outcome, one]))}
            for one, n in counted
        ]
    return out


def with_names(row: Mapping[str, Any], most: int, *, counted: bool = False) -> str:
    """A reason of `compile_reasons` with the first names that stand at its dots."""
    names = [
        f"{many} {name}" if counted and many > 1 else name for name, many in row["about"].items()
    ]
    reason = str(row["reason"])
    if not names:
        return reason
    reason = reason.rstrip("… ").rstrip(":") if reason.endswith("…") else reason
    return f"{reason} ({', '.join(names[:most])}{', …' * (len(names) > most)})"


def schemas_by_backend(run: RunDirectory) -> dict[str, dict[str, int]]:
    """Of engines that are servers': how many schemas each backend took, those of most first."""
    engines = run.manifest["identity"]["engines"]
    counted = {name: Counter(dict.fromkeys(backends_of(one), 0)) for name, one in engines.items()}
    if not any(counted.values()):
        return {}
    for row in run.table("engines", ["engine", "stage", "outcome", "output"]).to_pylist():
        if row["stage"] == "compile" and row["outcome"] == "compiled" and counted[row["engine"]]:
            counted[row["engine"]][taken_by(row["output"] or "")] += 1
    return {name: dict(_sorted(one)) for name, one in counted.items() if one}


def _sorted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


@cache
def _is_listed(line: str) -> bool:
    return any(is_printed(one, line) for one in load_warnings().values())


def plain_reason(message: str) -> str:
    """What an engine says in the first line of a message, without the place in its source."""
    return _PREFIX.sub("", _SOURCE.sub("", message.strip().partition("\n")[0]))


def _shape(line: str) -> tuple[str, list[str]]:
    """A message without what is about one schema, and the names that were left out."""
    text = plain_reason(line)
    names: dict[str, None] = {}
    for found in _DETAIL.finditer(text):
        names.update(dict.fromkeys(_named(found[0])))
    shape = re.sub(r"…(?:\s*…)+", "…", _DETAIL.sub("…", text)).strip(" .")
    return (shape if len(shape) <= _MOST else shape[: _MOST - 1] + "…"), list(names)


def _named(detail: str) -> Iterator[str]:
    try:
        value = json.loads(detail)
    except ValueError:
        value = detail.strip("'/")
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and _NAMES.fullmatch(one) and not one.isdigit():
            yield one
