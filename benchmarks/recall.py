"""How much of what is wrong the ordinary method finds: ``python -m benchmarks.recall``.

Under ``{"type": "string", "pattern": P}`` the true mask of every token at every position is known.
The ordinary method (`maskcourt bench`) runs on such schemas, then the same positions are held
against the truth: of the wrong bits of each engine, how many were proven, and why not the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt

from benchmarks.json_strings import JsonStrings
from benchmarks.pages.recall import recall_page
from harness.console import say
from harness.engines.environments import provide_all
from harness.engines.panel import Panel
from harness.engines.specs import DEFAULT, parse_specs
from harness.execution.bench import bench
from harness.execution.request import BenchRequest
from harness.files import write_whole
from harness.inputs.case_selection import select
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.live import LiveLine
from harness.regex_constraint.automata import Automaton, PatternAutomaton
from harness.regex_constraint.cases import made_valid, open_patterns
from harness.regex_constraint.dialects import read
from harness.regex_constraint.opinions import Ask, NotJudged, SecondOpinions
from harness.regex_constraint.true_masks import TextState, TokenTexts, TrueMasks
from harness.render.table import Table, as_csv
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.workers.outcomes import Compiled
from harness.workers.temporary_directories import saved_vocabulary

ACCEPTANCE, REJECTION = "false_acceptance", "false_rejection"
DIRECTIONS: Final = {
    ACCEPTANCE: ACCEPTANCE, "stops_too_early": ACCEPTANCE,
    REJECTION: REJECTION, "never_stops": REJECTION,
}  # fmt: skip
WHY: Final = ("found", "unproven", "not_drawn", "shared")
"""Proven; tried without a proof; disputed and not drawn; a bit that all engines have alike."""


@dataclass(frozen=True)
class Searched:
    """A pattern somewhere in a string, with texts that both opinions say the same of."""

    case: Case
    automaton: PatternAutomaton
    line: Mapping[str, Any]


def searched(cases: Sequence[Case], ask: Ask) -> Iterator[Searched]:
    """The cases that can be judged exactly as a schema's pattern."""
    for case in cases:
        pattern = case.schema
        try:
            meaning = read(pattern, "ecma", search=True)
            automaton = PatternAutomaton(meaning.narrow)
            given, invalid = (
                [one.text.decode() for one in some] for some in (case.valid, case.invalid)
            )
            valid = given or made_valid(automaton, pattern)
            texts = [*valid, *(invalid or made_invalid(automaton, valid, pattern))]
            labels = {text: automaton.matches(text) for text in texts}
            agreed = all({*ask(meaning.opinions, text)} == {is_} for text, is_ in labels.items())
        except NotJudged:
            continue
        if meaning.narrow is meaning.wide and agreed and any(labels.values()):
            schema = {"type": "string", "pattern": pattern}
            kinds = {key: [t for t in labels if labels[t] is (key == "valid")] for key in KEYS}
            yield Searched(case, automaton, {"id": case.id, "schema": schema, **kinds})


KEYS: Final = ("valid", "invalid")
_BUDGET: Final = 60.0
"""Seconds of processor time for a case: one engine takes minutes for the masks of one pattern."""


def made_invalid(automaton: Automaton, valid: Sequence[str], key: str) -> list[str]:
    """Texts that are one edit away from ones that match, and do not."""
    draw = random.Random(key)  # noqa: S311
    found = []
    for text in valid:
        at = draw.randrange(len(text) + 1)
        edits = [text[:at] + text[at + 1 :], text[:at] + draw.choice("a0 -\n") + text[at:]]
        found += [one for one in edits if not automaton.matches(one)]
    return list(dict.fromkeys(found))[:3]


@dataclass
class Bits:
    """What one engine's masks under one pattern have wrong: bits by direction, kind and fate."""

    counts: Counter[tuple[str, str, str]]
    unknown: Counter[str]
    """Verdicts of false rejections that the truth does not have: there must be none."""


class Truth:
    """The engines led along the walks of a run, and held against the truth."""

    def __init__(self, panel: Panel, vocabulary: Vocabulary, run: RunDirectory) -> None:
        self._panel, self._vocabulary = panel, vocabulary
        self._texts = TokenTexts(vocabulary)
        self._names = [spec.name for spec in panel.specs]
        self._walks: dict[str, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
        table = run.table("positions", ["case", "walk", "position", "token"]).to_pylist()
        for row in sorted(table, key=lambda x: (x["case"], x["walk"], x["position"])):
            walk = self._walks[row["case"]].setdefault(row["walk"], [])
            walk.append((row["position"], row["token"]))
        self._verdicts: dict[tuple[Any, ...], dict[tuple[str, str], set[int]]] = defaultdict(
            lambda: defaultdict(set)
        )
        self.proven = {
            (row["case"], row["engine"], DIRECTIONS.get(row["kind"]))
            for table in VERDICT_TABLES.values()
            for row in run.table(table, ["case", "engine", "kind"]).to_pylist()
        }
        """Cases, engines and directions of which the method proved anything, by any evidence."""
        columns = ["case", "walk", "position", "token", "engine", "kind"]
        for row in run.table("verdicts", columns).to_pylist():
            place = row["case"], row["walk"], row["position"]
            kind = DIRECTIONS.get(row["kind"], "unproven")
            self._verdicts[place][row["engine"], kind].add(row["token"])

    def bits(self, one: Searched) -> dict[str, Bits]:
        """What each engine that compiles the schema has wrong along the walks of the run."""
        schema = json.dumps(one.line["schema"])
        outcomes = self._panel.compile(schema)
        found = {
            number: Bits(Counter(), Counter())
            for number, outcome in outcomes.items()
            if isinstance(outcome, Compiled)
        }
        masks = TrueMasks(JsonStrings(one.automaton), self._texts)
        for walk, positions in self._walks[one.case.id].items():
            tokens = [token for _, token in positions if token >= 0]
            known = self._masks(list(found), tokens)
            place: TextState | None = TextState(0)
            for at, (position, token) in enumerate(positions):
                assert place is not None
                judged = {n: rows[at] for n, rows in known.items() if at < len(rows)}
                where = one.case.id, walk, position
                self._compare(judged, masks.mask(place), where, found, self._kinds(masks, place))
                if token >= 0:
                    place = masks.after(place, self._vocabulary.tokens[token])
        return {self._names[number]: bits for number, bits in found.items()}

    def _masks(self, engines: list[int], tokens: list[int]) -> dict[int, npt.NDArray[np.bool_]]:
        size = self._vocabulary.size
        walked = self._panel.walk(engines, (-1, *tokens), 0) if engines else {}
        return {
            number: np.unpackbits(
                some.masks.copy().view(np.uint8), axis=1, bitorder="little", count=size
            ).view(np.bool_)
            for number, some in walked.items()
        }

    def _kinds(self, masks: TrueMasks, place: TextState) -> npt.NDArray[np.bool_]:
        """Tokens that another spelling can do without: white space outside, and escapes."""
        outside, inside = self._vocabulary.respelling
        automaton = masks.automaton
        assert isinstance(automaton, JsonStrings)
        return inside if automaton.is_inside(place.state) else outside | inside

    def _compare(
        self,
        judged: Mapping[int, npt.NDArray[np.bool_]],
        truth: npt.NDArray[np.bool_],
        where: tuple[Any, ...],
        found: Mapping[int, Bits],
        spellings: npt.NDArray[np.bool_],
    ) -> None:
        if not judged:
            return
        every = np.array(list(judged.values()))
        disputed = every.any(axis=0) & ~every.all(axis=0)
        verdicts = self._verdicts[where]
        for number, mask in judged.items():
            name = self._names[number]
            for direction, wrong in ((ACCEPTANCE, mask & ~truth), (REJECTION, truth & ~mask)):
                proven = _marked(verdicts[name, direction], len(truth))
                tried = _marked(verdicts[name, "unproven"], len(truth))
                fates = {
                    "found": wrong & proven,
                    "unproven": wrong & ~proven & tried,
                    "not_drawn": wrong & ~proven & ~tried & disputed,
                    "shared": wrong & ~proven & ~tried & ~disputed,
                }
                for fate, bits in fates.items():
                    for kind, some in (("value", ~spellings), ("spelling", spellings)):
                        if many := int((bits & some).sum()):
                            found[number].counts[direction, kind, fate] += many
                found[number].unknown[direction] += int((proven & ~wrong).sum())


def _marked(tokens: set[int], size: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(size, dtype=np.bool_)
    found[[one for one in tokens if 0 <= one < size]] = True
    return found


def measured(
    cases: Sequence[Searched], run: RunDirectory, engines: Sequence[str], vocabulary: Vocabulary
) -> list[dict[str, Any]]:
    """One row for each case, engine, direction and kind in which bits are wrong."""
    specs = provide_all(parse_specs(engines))
    rows: list[dict[str, Any]] = []
    with (
        saved_vocabulary(vocabulary) as file,
        LiveLine("patterns", len(cases), "held against the truth") as line,
        contextlib.closing(
            Panel(specs, str(file), vocabulary.words, BenchRequest().limits)
        ) as panel,
    ):
        truth = Truth(panel, vocabulary, run)
        panel.open()
        for number, one in enumerate(cases, 1):
            for engine, bits in truth.bits(one).items():
                about = {"case": one.case.id, "pattern": one.case.schema, "engine": engine}
                for direction in (ACCEPTANCE, REJECTION):
                    for kind in ("value", "spelling"):
                        fates = {fate: bits.counts[direction, kind, fate] for fate in WHY}
                        if any(fates.values()):
                            proven = (one.case.id, engine, direction) in truth.proven
                            what = {"direction": direction, "kind": kind, "proven": proven}
                            rows.append({**about, **what, **fates})
                if bits.unknown[REJECTION]:
                    fates = {**dict.fromkeys(WHY, 0), "found": bits.unknown[REJECTION]}
                    what = {"direction": "untrue", "kind": "value", "proven": True}
                    rows.append({**about, **what, **fates})
            line.update(number)
            if line.is_due():
                line.plain(f"{number}/{len(cases)} patterns held against the truth")
    return rows


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """By engine, direction and kind: bits and pairs, and what was found of them."""
    found = []
    for kind in ("value", "spelling"):
        for engine in dict.fromkeys(row["engine"] for row in rows):
            for direction in (ACCEPTANCE, REJECTION):
                wanted = (engine, direction, kind)
                some = [r for r in rows if (r["engine"], r["direction"], r["kind"]) == wanted]
                if some:
                    about = {"engine": engine, "direction": direction, "kind": kind}
                    found.append({**about, **_shares(some)})
        every = [r for r in rows if r["kind"] == kind]
        if every:
            found.append({"engine": "all", "direction": "both", "kind": kind, **_shares(every)})
    return found


def _shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Bits by fate; then pairs of a pattern and a direction under an engine.

    Of a pair something was proven, or all engines have every wrong bit of it alike, or neither.
    """
    fates = {fate: sum(row[fate] for row in rows) for fate in WHY}
    bits = sum(fates.values())
    found = sum(row["proven"] for row in rows)
    shared = sum(not row["proven"] and not row["unproven"] + row["not_drawn"] for row in rows)
    pairs = {"pairs": len(rows), "pairs_found": found, "pairs_shared": shared}
    return {"wrong_bits": bits, **fates, "bits_found": round(fates["found"] / bits, 5), **pairs}


@click.command()
@click.option("--sample", default=100, show_default=True, help="Patterns of MaskBench, 0 for none.")
@click.option("--limit", type=int, help="At most so many cases.")
@click.option("--engines", default=",".join(DEFAULT), show_default=True)
@click.option("--cap", default=100, show_default=True, help="As of bench.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/recall"))
@click.option("--write", type=click.Path(path_type=Path), help="Where tables go.")
def main(
    sample: int, limit: int | None, engines: str, cap: int, out: Path, write: Path | None
) -> None:
    """Measure the recall of the ordinary method on patterns, and write the tables."""
    cases = list(open_patterns("embedded"))
    if sample:
        cases += select(open_patterns("maskbench"), sample=sample)
    with contextlib.closing(SecondOpinions(BenchRequest().limits.memory)) as ask:
        kept = list(searched(cases, ask))[:limit]
    lines = "".join(json.dumps(one.line) + "\n" for one in kept)
    write_whole(out / "cases.jsonl", lines)
    request = BenchRequest(engines=(engines,), cases=str(out / "cases.jsonl"), out=out / "run")
    rules = replace(request.rules, cap=cap, budget=_BUDGET)
    run = bench(replace(request, lanes=1, rules=rules))
    run = RunDirectory(run.path, run.manifest, trusted=True)
    vocabulary = open_vocabulary()
    rows = measured(kept, run, [engines], vocabulary)
    found = summary([row for row in rows if row["direction"] != "untrue"])
    for name, some in (("recall", found), ("patterns", rows)):
        if some:
            text = as_csv(Table.of(name, list(some[0]), some))
            write_whole((write or out) / f"{name}.csv", text)
    identity = run.manifest["identity"]
    manifest = {
        "asked": len(cases), "judged": len(kept), "maskbench": sample, "cap": cap,
        "untrue": sum(row["found"] for row in rows if row["direction"] == "untrue"),
        "engines": {name: one["version"] for name, one in identity["engines"].items()},
        "vocabulary": identity["vocabulary"]["sha256"], "commit": run.manifest.get("commit"),
    }  # fmt: skip
    write_whole((write or out) / "manifest.json", json.dumps(manifest, indent=1) + os.linesep)
    write_whole((write or out) / "README.md", recall_page(found, rows, manifest))
    say(json.dumps({**manifest, "recall": found}, indent=1))


if __name__ == "__main__":
    main()
