"""What a case adds to the standing of a run, told as soon as it is stored: leaks, losses, traps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.engines.specs import with_version
from harness.inputs.vocabulary import Vocabulary
from harness.printable import printable
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES, Rows, named_engines
from harness.verdict_kinds import COSTLY, INVALID_VALUE, LOST_VALUE, RARE, TRAP, WALK

WIDTH = 80
"""Of lines that are told."""
_MOST = 120
"""Bytes of a text that are shown before the error, and after it."""
_LOOKED_AT = 5000

_WORDS = {
    INVALID_VALUE: "lets an invalid value through",
    LOST_VALUE: "cannot write a valid value",
    TRAP: "leads to where a valid value cannot be written any more",
}
"""What is told of an effect."""


@dataclass(frozen=True)
class CaseNews:
    """What one case adds."""

    compiled: Mapping[str, str] = field(default_factory=dict)
    """The outcome of compiling the schema, by engine."""
    judged: tuple[str, ...] = ()
    effects: Mapping[str, Collection[str]] = field(default_factory=dict)
    """What is proven of each engine by everyday values: leaks, losses and traps."""
    example: Sequence[str] = ()
    """One proof in lines to read; none where there is none, or none was wanted."""


def case_news(
    rows: Rows,
    engines: Mapping[str, Mapping[str, Any]],
    vocabulary: Vocabulary,
    *,
    with_example: bool,
) -> CaseNews:
    """What all rows of one case say; `engines` as the run's identity describes them."""
    effects: dict[str, set[str]] = {}
    proofs: list[dict[str, Any]] = []
    for evidence, name in VERDICT_TABLES.items():
        if rows.count(name):
            table = rows.table(name)
            costly = pc.is_in(table["effect"].cast(pa.string()), pa.array(COSTLY))
            everyday = pc.not_equal(table["shown_by"].cast(pa.string()), RARE)
            table = table.filter(pc.and_(costly, everyday))
            pairs = (table[column].to_pylist() for column in ("engine", "effect"))
            for engine, effect in set(zip(*pairs, strict=True)):
                effects.setdefault(engine, set()).add(effect)
            some = table.slice(0, _LOOKED_AT) if with_example else table.slice(0, 0)
            proofs += [{**row, "evidence": evidence} for row in some.to_pylist()]
    stages = rows.lists("engines")
    compiled = zip(stages["engine"], stages["stage"], stages["outcome"], strict=True)
    return CaseNews(
        {engine: outcome for engine, stage, outcome in compiled if stage == "compile"},
        tuple(named_engines(rows.lists("cases")["judged"][0], engines)),
        effects,
        list(_in_words(rows, proofs, engines, vocabulary)) if proofs else (),
    )


def _in_words(
    rows: Rows,
    proofs: Sequence[Mapping[str, Any]],
    engines: Mapping[str, Mapping[str, Any]],
    vocabulary: Vocabulary,
) -> Iterator[str]:
    """The worst of some proofs, of these the one that is shortest to read."""
    texts = _texts(rows, proofs, vocabulary)
    worst = min((one["effect"] for one in proofs), key=COSTLY.index)
    number = min(
        (number for number, one in enumerate(proofs) if one["effect"] == worst),
        key=lambda number: sum(map(len, texts[number])),
    )
    row, (before, after) = proofs[number], texts[number]
    version = engines.get(row["engine"], {}).get("version", "")
    yield f"{with_version(row['engine'], version)} {_WORDS[worst]}"
    where = f"{row['keyword']} at {row['schema_pointer'] or 'the root'}" if row["keyword"] else ""
    yield printable("  case " + ", ".join(filter(None, (row["case"], where))))
    text = printable(f"{_decoded(before[-_MOST:])}»{_decoded(after[:_MOST])}")
    for start in range(0, len(text), WIDTH - 4):
        yield f"    {text[start : start + WIDTH - 4]}"
    if worst == INVALID_VALUE:
        yield "  The engine allows this text to its end; the error comes after »."
        yield f"  jsonschema and jsonschema-rs both call it invalid ({row['keyword']})."
        return
    more = ", after what it allowed; from the start it takes one" if worst == TRAP else ""
    yield f"  The engine takes none of {row['spellings_asked']} spellings of this value{more}."
    yield "  jsonschema and jsonschema-rs both call it valid."


def _texts(
    rows: Rows, proofs: Sequence[Mapping[str, Any]], vocabulary: Vocabulary
) -> list[tuple[bytes, bytes]]:
    """The text of each proof, cut where the error is."""
    completions, positions = rows.lists("completions"), rows.lists("positions")
    tails = dict(zip(completions["completion"], completions["text"], strict=True))
    places = zip(positions["walk"], positions["position"], strict=True)
    offsets = dict(zip(places, positions["offset"], strict=True))
    whole = {}
    for evidence, name in TEXT_TABLES.items():
        columns = rows.lists(name)
        whole[evidence] = dict(zip(columns[evidence], columns["text"], strict=True))
    (references,) = rows.lists("cases")["references"]
    cut: list[tuple[bytes, bytes]] = []
    for row in proofs:
        evidence = row["evidence"]
        if evidence == WALK:
            written = references[row["walk"]][: offsets[row["walk"], row["position"]]]
            ends = row["token"] in (-1, *vocabulary.eos_ids)
            token = b"" if ends else vocabulary.tokens[row["token"]]
            cut.append((written, token + tails.get(row["completion"], b"")))
        else:
            text, at = whole[evidence][row[evidence]], max(row["offset"], 0)
            cut.append((text[:at], text[at:]))
    return cut


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
