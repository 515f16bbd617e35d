"""What a run says of every cell: whether an engine refuses, enforces or errs, and what shows it.

Only texts count of which both validators say what the case says. An engine lets an invalid value
through where it allows one of its texts; it forbids a valid value where it forbids all of them. On
single bytes it proves nothing that a text beyond ASCII is forbidden: an engine may know characters
only whole, as tokens of other vocabularies have them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from harness import verdict_kinds
from harness.analysis.compile_reasons import plain_reason
from harness.classification.departures import classify
from harness.execution.progress import FAILED
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import ACCEPTANCES, BEYOND_BITS, BUG, CLASSES, INSTANCE, REJECTIONS
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING

ENFORCED, REFUSED, UNPROVEN, FAILURE = "enforced", "refused", "unproven", "failed"
TOO_STRICT, TOO_LAX, BOTH = "too_strict", "too_lax", "too_lax_and_strict"
STATUSES: Final = (
    *(ENFORCED, REFUSED, UNPROVEN, "warned", "departure"),
    *(FAILURE, TOO_STRICT, TOO_LAX, BOTH),
)
"""All outcomes, the best first."""


@dataclass(frozen=True)
class WrongText:
    """The shortest text that an engine treats wrongly, and what that counts as (`CLASSES`)."""

    text: bytes
    class_: str

    def __str__(self) -> str:
        return self.text.decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class CellOutcome:
    """What one engine makes of one keyword at one place; `status` is one of `STATUSES`.

    `let_through` is an invalid text that it allows to the end, `forbidden` a valid one that it
    forbids, and `message` what it says itself of the schema.
    """

    engine: str
    keyword: str
    place: str
    status: str
    schema: str
    let_through: WrongText | None = None
    forbidden: WrongText | None = None
    message: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether something is let through or forbidden, declared or not, or all failed."""
        return bool(self.let_through or self.forbidden) or self.status == FAILURE


@dataclass(frozen=True)
class ConformanceTable:
    """All outcomes of a run; `engines` are versions by name, `unjudged` reasons by cell."""

    engines: Mapping[str, str]
    outcomes: tuple[CellOutcome, ...]
    unjudged: Mapping[str, str]

    def by(self, part: str) -> dict[tuple[str, str], list[CellOutcome]]:
        """The outcomes by ``keyword`` or ``place``, and engine."""
        found: dict[tuple[str, str], list[CellOutcome]] = defaultdict(list)
        for one in self.outcomes:
            found[getattr(one, part), one.engine].append(one)
        return found


def read_table(run: RunDirectory) -> ConformanceTable:
    """What a finished run with the cells as its cases says."""
    identity = run.manifest["identity"]
    ends = _ends(run.table("engines").to_pylist())
    found = _found(run)
    values = _values(run)
    outcomes: list[CellOutcome] = []
    unjudged: dict[str, str] = {}
    columns = ["case", "family", "status", "message", "schema"]
    for case in run.table("cases", columns).to_pylist():
        id_, mine = case["case"], values.get(case["case"], [])
        if case["status"] in FAILED or not mine:
            last = case["message"].strip().rpartition("\n")[2]
            unjudged[id_] = last or "no text of it counts"
            continue
        cell = case["family"], id_.partition(f"/{case['family']}/")[2]
        for engine in identity["engines"]:
            end = ends.get((id_, engine), (UNPROVEN, "it was not asked"))
            does = found.get((id_, engine), {})
            outcomes.append(_outcome(engine, cell, case["schema"], end, mine, does))
    return ConformanceTable(
        {name: one["version"] for name, one in identity["engines"].items()},
        tuple(outcomes),
        unjudged,
    )


class _Value(NamedTuple):
    """A value of a case, and the texts that spell it by their numbers."""

    is_valid: bool
    texts: Mapping[int, bytes]


_Found = Mapping[int, Sequence[tuple[str, str]]]
"""Kind and class of what an engine was found to do with a text, by the text's number."""


def _values(run: RunDirectory) -> dict[str, list[_Value]]:
    """The values of each case of which both validators say what the case says."""
    grouped: dict[tuple[str, bool, str], dict[int, bytes]] = defaultdict(dict)
    columns = ["case", "instance", "label", "text", "verdict"]
    for row in run.table("instances", columns).to_pylist():
        if row["label"] == row["verdict"]:
            key = row["case"], row["label"] == "valid", json.dumps(json.loads(row["text"]))
            grouped[key][row["instance"]] = row["text"]
    values: dict[str, list[_Value]] = defaultdict(list)
    for (case, is_valid, _), texts in grouped.items():
        values[case].append(_Value(is_valid, texts))
    return values


def _ends(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """What became of each case and engine, before any text is looked at, and why."""
    ends: dict[tuple[str, str], tuple[str, str]] = {}
    for row in rows:
        key, what, message = (row["case"], row["engine"]), row["outcome"], row["message"]
        if what == "refused" and row["stage"] == "compile":
            ends[key] = REFUSED, plain_reason(message)
        elif what in EXCLUDING or what not in (
            "compiled",
            "mask_consume_mismatch",
            *ADAPTER_FAULTS,
        ):
            ends[key] = FAILURE, f"{what.replace('_', ' ')}: {message}"
        else:
            ends.setdefault(key, (ENFORCED, ""))
    return ends


def _found(run: RunDirectory) -> dict[tuple[str, str], _Found]:
    """What engines were found to do with texts, by case and engine."""
    texts = run.table("instances", ["case", "instance", "text"]).to_pylist()
    unclear = {(one["case"], one["instance"]) for one in texts if not one["text"].isascii()}
    found: dict[tuple[str, str], dict[int, list[tuple[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    columns = ["case", "instance", "engine", "kind", "effect"]
    rows = run.table("instance_verdicts", columns).to_pylist()
    classes = classify(run, INSTANCE)["class"].to_pylist()
    for row, class_ in zip(rows, classes, strict=True):
        number = row["instance"]
        if row["effect"] == verdict_kinds.SPELLING:  # the engine writes the value otherwise
            continue
        is_open = row["kind"] in REJECTIONS and (row["case"], number) in unclear
        what = ("unresolved", "") if is_open else (row["kind"], class_)
        found[row["case"], row["engine"]][number].append(what)
    return {key: dict(some) for key, some in found.items()}


def _outcome(
    engine: str,
    cell: tuple[str, str],
    schema: str,
    end: tuple[str, str],
    values: Sequence[_Value],
    found: _Found,
) -> CellOutcome:
    """One cell and engine; `end` is what became of the schema itself, and why."""
    status, message = end
    let_through = _worst(_allowed(one, found) for one in values if not one.is_valid)
    forbidden = _worst(_forbidden(one, found) for one in values if one.is_valid)
    kinds = {kind for some in found.values() for kind, _ in some}
    is_open = any(one.is_valid and not _decided(one, found) for one in values)
    classes = {one.class_ for one in (let_through, forbidden) if one is not None}
    bugs = [one is not None and one.class_ == BUG for one in (let_through, forbidden)]
    if any(bugs):
        status = BOTH if all(bugs) else TOO_LAX if bugs[0] else TOO_STRICT
    elif status == ENFORCED and kinds.intersection(BEYOND_BITS):
        status, message = FAILURE, "its mask and what it consumes do not say the same"
    elif status == ENFORCED and classes:
        status = max(classes, key=STATUSES.index)
    elif status == ENFORCED and is_open:
        status = UNPROVEN
    return CellOutcome(engine, *cell, status, schema, let_through, forbidden, message)


def _allowed(value: _Value, found: _Found) -> WrongText | None:
    """The text by which an invalid value is let through."""
    return _worst(
        WrongText(text, class_)
        for number, text in value.texts.items()
        for kind, class_ in found.get(number, ())
        if kind in ACCEPTANCES
    )


def _forbidden(value: _Value, found: _Found) -> WrongText | None:
    """A text of a valid value all of whose texts are forbidden."""
    by_text = [
        [WrongText(text, class_) for kind, class_ in found.get(number, ()) if kind in REJECTIONS]
        for number, text in value.texts.items()
    ]
    return _worst(one for some in by_text for one in some) if all(by_text) else None


def _decided(value: _Value, found: _Found) -> bool:
    """Whether one text of a valid value is allowed, or all are forbidden."""
    allowed = any(not found.get(number) for number in value.texts)
    return allowed or _forbidden(value, found) is not None


def _worst(texts: Iterable[WrongText | None]) -> WrongText | None:
    """A bug rather than what is declared, then the shortest text."""
    some = [one for one in texts if one is not None]
    return min(
        some, key=lambda one: (CLASSES.index(one.class_), len(one.text), one.text), default=None
    )
