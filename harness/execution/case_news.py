"""What a case adds to the standing of a run, told as soon as it is stored: bugs, and one of them.

Verdicts get their classes when a run is read. Here this is done for one case, from the rows that
were just stored, so that nothing is announced as an error that an engine declares in public.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.classification.departures import Catalogue, classify, load_catalogue
from harness.engines.specs import with_version
from harness.inputs.vocabulary import Vocabulary
from harness.printable import printable
from harness.runs.reader import UnstoredCase
from harness.runs.tables import VERDICT_TABLES, Rows, named_engines
from harness.schemas.schema import Schema
from harness.verdict_kinds import BUG, CHALLENGER, FALSE_ACCEPTANCE, MAIN_KINDS, WALK

WIDTH = 80
"""Of lines that are told."""
_MOST = 120
"""Characters of a text that are shown before the token, and after it."""


@dataclass(frozen=True)
class CaseNews:
    """What one case adds."""

    compiled: Mapping[str, str] = field(default_factory=dict)
    """The outcome of compiling the schema, by engine."""
    judged: tuple[str, ...] = ()
    bugs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Proven bugs by engine and kind, of walks, instances and samples."""
    example: Sequence[str] = ()
    """One of those of a walk in lines to read; none where there is none, or none was wanted."""


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
    example: Sequence[str] = ()
    for evidence, table in VERDICT_TABLES.items():
        if not rows.count(table):
            continue
        classes = classify(_catalogue(), unstored, evidence, vocabulary)["class"]
        found = unstored.table(table).filter(pc.equal(classes.cast(pa.string()), BUG))
        pairs = (found[name].to_pylist() for name in ("engine", "kind"))
        for (engine, kind), count in Counter(zip(*pairs, strict=True)).items():
            mine = bugs.setdefault(engine, {})
            mine[kind] = mine.get(kind, 0) + count
        if with_example and evidence == WALK:
            example = _example(unstored, found, vocabulary, engines)
    stages = rows.lists("engines")
    compiled = zip(stages["engine"], stages["stage"], stages["outcome"], strict=True)
    return CaseNews(
        {engine: outcome for engine, stage, outcome in compiled if stage == "compile"},
        tuple(named_engines(rows.lists("cases")["judged"][0], engines)),
        bugs,
        example,
    )


def _example(
    unstored: UnstoredCase,
    bugs: pa.Table,
    vocabulary: Vocabulary,
    engines: Mapping[str, Mapping[str, Any]],
) -> Sequence[str]:
    """The bug that is shortest to read: what its completion adds, the earliest at equal length."""
    kinds = pc.is_in(bugs["kind"].cast(pa.string()), pa.array(MAIN_KINDS.values()))
    rows = bugs.filter(kinds).slice(0, 5000).to_pylist()
    completions = {
        row["completion"]: row["text"]
        for row in unstored.table("completions", ["completion", "text"]).to_pylist()
    }
    rows = [row for row in rows if row["completion"] in completions and row["token"] >= 0]
    if not rows:
        return ()
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
    shown = "end of text" if token in vocabulary.eos_ids else _text(vocabulary.tokens[token])
    after = _text(completions[row["completion"]])[:_MOST]
    value = _value(case["schema"], row["schema_pointer"], row["keyword"])
    return list(_in_words(row, value, f"{_text(written)[-_MOST:]}»{shown}«{after}", engines))


def _in_words(
    row: Mapping[str, Any], value: str, text: str, engines: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """A proven error, and `text`, which the validators judged, with the token marked in it."""
    invalid = row["kind"] == FALSE_ACCEPTANCE.name
    what = "lets invalid output through" if invalid else "forbids valid output"
    version = engines.get(row["engine"], {}).get("version", "")
    yield f"{with_version(row['engine'], version)} {what}"
    rule = printable(f'"{row["keyword"]}": {value}' if value else "")
    yield f"  case {printable(row['case'])}" + (f", schema: {rule}" if rule else "")
    text = printable(text)
    for start in range(0, len(text), WIDTH - 4):
        yield f"    {text[start : start + WIDTH - 4]}"
    if invalid:
        yield "  The engine allows this text to its end. The disputed token is between » and «."
        yield f"  jsonschema and jsonschema-rs both call it invalid ({row['keyword']})."
        return
    yield "  The engine forbids the token between » and «,"
    if row["accepter"] == CHALLENGER:
        yield f"  no other engine allows it. The challenger {CHALLENGER} found this text."
    else:
        yield f"  {row['accepter']} allows this text to its end."
    yield "  jsonschema and jsonschema-rs both call it valid."


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _value(schema: str, pointer: str, keyword: str) -> str:
    """What the schema says by a keyword, where that is short."""
    found = Schema(json.loads(schema)).subschema(pointer, keyword) or {}
    text = json.dumps(found[keyword], ensure_ascii=False) if keyword in found else ""
    return text if len(text) <= _MOST // 2 else ""
