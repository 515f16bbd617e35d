"""What a case adds to the standing of a run, told as soon as it is stored: bugs, and one of them.

Verdicts get their classes when a run is read. Here this is done for one case, from the rows that
were just stored, so that nothing is announced as an error that an engine declares in public.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.classification.departures import Catalogue, classify, load_catalogue
from harness.inputs.vocabulary import Vocabulary
from harness.runs.reader import UnstoredCase
from harness.runs.tables import VERDICT_TABLES, Rows
from harness.schemas.schema import Schema
from harness.verdict_kinds import BUG, FALSE_ACCEPTANCE, MAIN_KINDS, WALK

_MOST = 120
"""Characters of a text that are shown before the token, and after it."""


@dataclass(frozen=True)
class Example:
    """One proven bug, with what a reader needs to see that it is one.

    Attributes:
        keyword: The keyword that the text breaks, or that is in force at the place.
        value: The keyword's value in the schema, as JSON; empty where it is long or unknown.
        after: ``before + token + after`` is what the validators judged.
        accepter: The engine that allowed the text to its end.
    """

    engine: str
    kind: str
    case: str
    keyword: str
    value: str
    before: str
    token: str
    after: str
    accepter: str


@dataclass(frozen=True)
class CaseNews:
    """What one case adds.

    Attributes:
        compiled: The outcome of compiling the schema, by engine.
        bugs: Proven bugs by engine and kind, of walks, instances and samples.
        example: One of those of a walk; None where there is none, or none was wanted.
    """

    compiled: Mapping[str, str] = field(default_factory=dict)
    judged: tuple[str, ...] = ()
    bugs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    example: Example | None = None


@functools.cache
def _catalogue() -> Catalogue:
    return load_catalogue()


def case_news(
    rows: Rows,
    engines: Mapping[str, Mapping[str, Any]],
    vocabulary: Vocabulary,
    *,
    with_example: bool,
) -> CaseNews:
    """What all rows of one case say; `engines` as the run's identity describes them."""
    identity = {"engines": engines, "vocabulary": {"sha256": vocabulary.sha256}}
    unstored = UnstoredCase(rows, {"identity": identity})
    bugs: dict[str, dict[str, int]] = {}
    example: Example | None = None
    for evidence, table in VERDICT_TABLES.items():
        if not rows.count(table):
            continue
        classes = classify(_catalogue(), unstored, evidence, vocabulary)["class"]
        found = unstored.table(table)
        found = found.filter(pc.equal(classes.cast(pa.string()), BUG))
        for engine, kind, count in _counted(found):
            mine = bugs.setdefault(engine, {})
            mine[kind] = mine.get(kind, 0) + count
        if with_example and evidence == WALK:
            example = _example(unstored, found, vocabulary)
    judged = rows.lists("cases")["judged"][0]
    return CaseNews(
        compiled=dict(_compiled(unstored.table("engines", ["engine", "stage", "outcome"]))),
        judged=tuple(name for bit, name in enumerate(engines) if judged >> bit & 1),
        bugs=bugs,
        example=example,
    )


def _compiled(engines: pa.Table) -> Iterator[tuple[str, str]]:
    for row in engines.to_pylist():
        if row["stage"] == "compile":
            yield row["engine"], row["outcome"]


def _counted(found: pa.Table) -> Iterator[tuple[str, str, int]]:
    words = pa.table({name: found[name].cast(pa.string()) for name in ("engine", "kind")})
    for row in words.group_by(["engine", "kind"]).aggregate([([], "count_all")]).to_pylist():
        yield row["engine"], row["kind"], row["count_all"]


def _example(unstored: UnstoredCase, bugs: pa.Table, vocabulary: Vocabulary) -> Example | None:
    """The bug that is shortest to read: what its completion adds, the earliest at equal length."""
    columns = ["engine", "kind", "walk", "position", "token", "accepter", "completion", "located"]
    columns += ["keyword", "schema_pointer"]
    kinds = pc.is_in(bugs["kind"].cast(pa.string()), pa.array(MAIN_KINDS.values()))
    rows = bugs.filter(kinds).select(columns).slice(0, 5000).to_pylist()
    completions = {
        row["completion"]: row["text"]
        for row in unstored.table("completions", ["completion", "text"]).to_pylist()
    }
    rows = [row for row in rows if row["completion"] in completions and row["token"] >= 0]
    if not rows:
        return None
    offsets = {
        (row["walk"], row["position"]): row["offset"]
        for row in unstored.table("positions", ["walk", "position", "offset"]).to_pylist()
    }

    def length(row: Mapping[str, Any]) -> tuple[bool, int]:
        written = offsets[row["walk"], row["position"]]
        elsewhere = row["kind"] == FALSE_ACCEPTANCE.name and not row["located"]
        return elsewhere, written + len(completions[row["completion"]])

    row = min(rows, key=length)
    case = unstored.table("cases", ["case", "schema", "references"]).to_pylist()[0]
    written = case["references"][row["walk"]][: offsets[row["walk"], row["position"]]]
    token = row["token"]
    ends = token in vocabulary.eos_ids
    return Example(
        engine=row["engine"],
        kind=row["kind"],
        case=case["case"],
        keyword=row["keyword"],
        value=_value(case["schema"], row["schema_pointer"], row["keyword"]),
        before=_text(written)[-_MOST:],
        token="end of text" if ends else _text(vocabulary.tokens[token]),
        after=_text(completions[row["completion"]])[:_MOST],
        accepter=row["accepter"],
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _value(schema: str, pointer: str, keyword: str) -> str:
    """What the schema says by a keyword, where that is short."""
    found = Schema(json.loads(schema)).subschema(pointer, keyword) or {}
    text = json.dumps(found[keyword], ensure_ascii=False) if keyword in found else ""
    return text if len(text) <= _MOST // 2 else ""
