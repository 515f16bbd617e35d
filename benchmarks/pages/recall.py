"""The page on recall: what the ordinary method finds under patterns, where the truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.pages.layout import markdown_table, page
from harness.printable import code

_SIDES: Final = {"false_acceptance": "allows", "false_rejection": "forbids"}


def _parts(
    found: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any],
) -> Iterator[str]:
    values = [row for row in found if row["kind"] == "value"]
    whole = next(row for row in values if row["engine"] == "all")
    missed = [row for row in rows if row["kind"] == "value" and _is_missed(row)]
    disputed = whole["pairs"] - whole["pairs_shared"]
    not_found = whole["wrong_bits"] - whole["found"]
    versions = ", ".join(f"{name} {version}" for name, version in manifest["engines"].items())
    untrue = manifest["untrue"]
    yield (
        'Under `{"type": "string", "pattern": P}` the true mask is known at every position: the'
        " strings that match are an automaton, and so are their JSON texts in all spellings."
        f" `maskcourt bench --cap {manifest['cap']}` ran on {manifest['judged']} such schemas"
        f" (embedded patterns and {manifest['maskbench']} of MaskBench; those that cannot be"
        " judged exactly are left out), then the masks of"
        " the same positions were held against the truth. Written by `make results ONLY=recall`;"
        f" {versions}."
    )
    yield f"**Proven false rejections that are untrue: {untrue}.** Each must be a wrong bit."
    yield markdown_table(_COLUMNS, [_shown(row) for row in values if row is not whole])
    yield (
        "A *pair* is a pattern with a direction under an engine; it is found where anything was"
        " proven of it, and *shared* where all engines have every wrong bit of it alike. White"
        " space and escapes by number are left out here (`recall.csv` has them as `spelling`)."
    )
    yield (
        f"**Of {disputed} pairs on which engines differ {disputed - len(missed)} are found"
        f" ({(disputed - len(missed)) / disputed:.0%}).** How many tokens are wrong is not: of a"
        f" dispute at most {manifest['cap']} are drawn, and a pattern that is held anchored forbids"
        f" 150,000 at a position. {whole['not_drawn'] / not_found:.1%} of the missed bits were"
        " disputed and not drawn. So counts of tokens are lower bounds by orders of magnitude."
    )
    yield (
        f"**{whole['pairs_shared']} pairs are shared, and no comparison of engines finds them.** Of"
        " 30 opened by hand, ten of each engine, 29 were spellings, some of which the table leaves"
        " out: the backslash that begins `\\u0061`, U+007F written as it is, white space behind the"
        " string. One is a value: all three take U+FEFF for `[^\\s]`, which ECMA-262 excludes."
    )
    yield (
        "What is missed although engines differ. Tokens that were tried without a proof are ones"
        " behind which the engine's own way to the end was not found, or too long:"
    )
    yield "\n".join(_missed(missed))
    yield (
        "`patterns.csv` has each pair with the fate of its bits: `found`, `unproven` (drawn,"
        " without a proof), `not_drawn`, `shared`."
    )


def recall_page(
    found: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any],
) -> str:
    """README of the tables that `benchmarks.recall` writes: `found`, and `rows` of each pair."""
    return page("What the ordinary method finds under patterns", *_parts(found, rows, manifest))


_COLUMNS: Final = (
    *("engine", "direction", "wrong bits", "of them found"),
    *("pairs", "found", "shared", "missed"),
)


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    pairs, found, shared = (row[name] for name in ("pairs", "pairs_found", "pairs_shared"))
    counts = pairs, found, shared, pairs - found - shared
    bits = row["found"] / row["wrong_bits"]
    cells = row["engine"], _SIDES[row["direction"]], row["wrong_bits"], f"{bits:.2%}", *counts
    return dict(zip(_COLUMNS, cells, strict=True))


def _is_missed(row: Mapping[str, Any]) -> bool:
    """Whether engines differ on bits of a pair, and nothing was proven."""
    of_truth = row["direction"] in _SIDES
    return of_truth and not row["proven"] and row["unproven"] + row["not_drawn"] > 0


def _missed(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield (
            f"- {row['engine']} {_SIDES[row['direction']]} under {code(row['pattern'])}:"
            f" {row['unproven']:,} tokens tried, {row['not_drawn']:,} not drawn"
        )
