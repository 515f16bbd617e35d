"""Pages of fixed batteries: ``python -m benchmarks.batteries NAME``, spellings or another.

Each asks every engine what the command of its name asks; the page and its data are written from
what is answered, and no figure is typed by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from harness import __version__
from harness.cli.impact import answers_table, comparison_lines, masks_table
from harness.cli.protocol import ProtocolRequest, checked
from harness.conformance import printing as conformance_printing
from harness.conformance.outcomes import read_table
from harness.conformance.work import RUN, ConformanceRequest, run_cases
from harness.engines.panel import Limits
from harness.engines.presets import servers
from harness.engines.specs import DEFAULT, built_in
from harness.execution.bench import code_hash
from harness.impact.answers import open_impact
from harness.impact.summary import summarize
from harness.printable import code, markdown
from harness.protocol_checks.results import Summary, lines_of_witnesses, matrix
from harness.render.table import Table, as_csv, as_markdown
from harness.runs.directory import open_run
from harness.spelling_profile import printing as spelling_printing
from harness.spelling_profile.asking import profile_of
from harness.spelling_profile.profile import AnswerKind, Profile

_ROOT: Final = Path(__file__).resolve().parents[1]
ENGINES: Final = tuple(built_in())
_ALIKE: Final = ("maskforge", "formatron", "oc-earley")
"""Libraries that have one configuration."""
_SHIPPED: Final = {one: f"{one}[config=shipped]" for one in ENGINES if one not in _ALIKE}
_OTHERWISE: Final = (
    *("xgrammar[any_order=true]", r"outlines[whitespace=\s*]", "tensorrt-llm[backend=llguidance]"),
)
_FIRST: Final = (*DEFAULT, *(_SHIPPED[one] for one in DEFAULT))
SPELLED: Final = tuple(
    dict.fromkeys((*_FIRST, *_OTHERWISE, *ENGINES, *_SHIPPED.values(), *servers()))
)
"""Whose spellings are asked for: every library, in each configuration that differs, and presets."""
HOSTILE: Final = (*ENGINES, "xgrammar@0.1.32", "llguidance@1.6.1", "llguidance[config=shipped]")
"""What is held to the protocol on a small vocabulary; on a large one the default engines."""
_LIMITS: Final = Limits(compile=10.0, mask=5.0, resolve=30.0)
_ON: Final[Mapping[str, tuple[str, ...]]] = {"hostile": HOSTILE, "qwen2.5": DEFAULT}
_CASES: Final = 8

Files = Mapping[str, str]
"""What is written, by name."""


def _identity(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest["identity"], indent=1, ensure_ascii=False) + "\n"


def _manifest(engines: Mapping[str, str], **asked: object) -> str:
    """What was asked of which engines, by version, and by which code."""
    harness = {"version": __version__, "sha256": code_hash()}
    return json.dumps({"harness": harness, "engines": engines, **asked}, indent=1) + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markdown(one)}" for one in lines)


def _counted(profile: Profile) -> Table:
    """A row for each engine: how many spellings have which answer."""
    rows = []
    for one in profile.engines:
        counts = Counter(answer.status for answer in one.answers.values())
        about: dict[str, Any] = {"engine": code(one.name), "version": one.version}
        rows.append(about | {str(kind): counts[kind] for kind in AnswerKind})
    return Table.of("", rows[0], rows)


def spellings() -> Files:
    """The page on spellings: how many each engine takes, and each answer of the first."""
    profile = profile_of(SPELLED, limits=_LIMITS)
    first = replace(profile, engines=profile.engines[: len(_FIRST)])
    lead = (
        f"{len(profile.rows)} spellings, each asked of every engine on a vocabulary of single"
        " bytes. A `no` is about one spelling: characters that can be written in no way are named"
        " in the list at the end; under a length, a pattern or a bound a `no` may be of a value"
        " that cannot be written at all. What the words mean is said in"
        " [docs/spellings.md](../../docs/spellings.md); all answers are in"
        " [profile.json](profile.json). Made by `make results ONLY=spellings`."
    )
    parts = [
        f"# How engines may spell JSON\n\n{lead}",
        as_markdown(_counted(profile)).strip(),
        as_markdown(spelling_printing.as_table(first)).strip(),
        _listed(spelling_printing.lines(profile)),
    ]
    answers = profile.as_json()
    for engine in answers["engines"].values():
        for row in engine["rows"]:
            del row["schema"]  # the battery has it, once for all engines
    told = json.dumps(answers, ensure_ascii=False)
    manifest = _manifest({one.name: one.version for one in profile.engines}, limits=vars(_LIMITS))
    page = "\n\n".join(parts) + "\n"
    return {"README.md": page, "profile.json": told + "\n", "manifest.json": manifest}


def conformance(run: Path, *, read: bool) -> Files:
    """The page on which keyword each engine keeps at which place, with every cell as CSV."""
    asked = ConformanceRequest(engines=(",".join(ENGINES),), out=run)
    made = open_run(run / RUN, trust=True) if read else run_cases(asked)
    table = read_table(made)
    lead = (
        "The worst outcome of each keyword over all places, and at how many of them an engine is"
        " wrong or fails, declared or not (where nowhere, at how many the outcome is that; without"
        " numbers, at all); then of each place at how many keywords it enforces, and at how many it"
        " is wrong or fails: it crashes, or takes too long. Formats count here as other"
        " keywords do, although the specification lets an engine ignore them: on other pages what"
        " `format` alone forbids is no leak. Every cell is in [cells.csv](cells.csv);"
        " `maskcourt conformance --keyword KEYWORD --format csv` has the schemas, too. Versions and"
        " options are in [manifest.json](manifest.json); what the words mean is said in"
        " [docs/conformance.md](../../docs/conformance.md). Made by"
        " `make results ONLY=conformance`."
    )
    told = conformance_printing.as_markdown(table)
    page = f"# Conformance of the built-in engines\n\n{lead}\n\n{told}"
    cells = conformance_printing.as_table(table)
    kept = [one for one in cells.columns if one.name not in ("schema", "message")]
    small = as_csv(Table.of("", kept, cells.rows))
    return {"README.md": page, "cells.csv": small, "manifest.json": _identity(made.manifest)}


def protocol() -> Files:
    """The page on what a server relies on beside the masks' content, on two vocabularies."""
    lead = (
        f"{_CASES} cases on two vocabularies: whether each library keeps the rules by which servers"
        " call it, whatever its masks hold. What each rule says, and what an outcome means, is in"
        " [docs/protocol.md](../../docs/protocol.md). Of llama.cpp, lm-format-enforcer and"
        " formatron the adapters' own calls were tried. Counts, and the smallest violation of each"
        " rule, are in the JSON files. Made by `make results ONLY=protocol`, by"
    )
    parts: list[str] = []
    files: dict[str, str] = {}
    versions: dict[str, str] = {}
    for vocabulary, engines in _ON.items():
        asked = ProtocolRequest(engines=engines, sample=_CASES, vocabulary=vocabulary)
        summary = Summary(checked(asked))
        table = matrix(summary, f"Vocabulary `{vocabulary}`, cases `{asked.cases}`, seed 0")
        command = f"maskcourt protocol --sample {_CASES} --vocabulary {vocabulary} --engines "
        lead += f"\n\n    {command}{','.join(engines)}"
        told = as_markdown(replace(table, title="")).strip()
        parts += [f"## On {vocabulary}", told, _listed(lines_of_witnesses(summary))]
        versions |= {name: one["version"] for name, one in summary.engines.items()}
        files[f"{vocabulary}.json"] = json.dumps(summary.as_json(), indent=1) + "\n"
    page = "\n\n".join(["# What a server relies on", lead, *parts])
    files["manifest.json"] = _manifest(versions, sample=_CASES, seed=0)
    return {"README.md": page + "\n", **files}


def impact(run: Path, *, read: bool) -> Files:
    """The page on what masks cost a small model; the run is made, or gone on with."""
    asked = ["impact", "bfcl", "--model", "smollm2", "--engines", ",".join(DEFAULT)]
    asked += ["--sample", "50", "--max-tokens", "64", "--compile-timeout", "20"]
    command = [sys.executable, "-m", "harness.cli", *asked, "--out", str(run), "--json"]
    if not read:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    made = open_impact(run)
    page = impact_page(summarize(made), " ".join(asked))
    return {**page, "manifest.json": _identity(made.manifest)}


def impact_page(told: Mapping[str, Any], asked: str) -> Files:
    """The page of a summary; `asked` are the arguments of the command."""
    engines, model = told["engines"], told["model"]
    lead = (
        f"{', '.join(model['files'])}, on a processor, was asked {told['task']['items']:,} items of"
        " BFCL's `live_multiple`, drawn by a seed: greedily, at most"
        f" {told['generation']['max_tokens']} tokens, without a mask and under each engine, closest"
        " to the specification. It is a weak model: that all parts work together can be seen here,"
        " not which engine a model that people use is better off with. Times are left out: what a"
        " mask costs counts beside a step on a GPU, and this is a processor. Intervals are 95%, p"
        " is corrected for all pairs (Holm). A mask *overruled* a token that the model would have"
        " taken; what it took from the model, and the *mass* of probability that it removed, is"
        " explained in [docs/impact.md](../../docs/impact.md). All other figures are in"
        " [summary.json](summary.json), versions and options in [manifest.json](manifest.json)."
        " Made by"
        f" `make results ONLY=impact`, by\n\n    maskcourt {asked}"
    )
    answers = replace(answers_table(told["task"], engines), title="")
    masks = replace(masks_table(engines), title="")
    parts = [
        f"# What masks cost a small model on function calls\n\n{lead}",
        as_markdown(answers).strip(),
        _listed(comparison_lines(told)),
        "## What masks took from it",
        as_markdown(masks).strip(),
    ]
    kept = {key: value for key, value in told.items() if key != "run"}
    kept["engines"] = {
        name: {key: value for key, value in one.items() if key != "cost"}
        for name, one in engines.items()
    }
    told_json = json.dumps(kept, indent=1, ensure_ascii=False)
    return {"README.md": "\n\n".join(parts) + "\n", "summary.json": told_json + "\n"}


def _made(name: str, run: Path, read: bool) -> Files:
    making: Mapping[str, Callable[[], Files]] = {
        "spellings": spellings,
        "conformance": lambda: conformance(run, read=read),
        "protocol": protocol,
        "impact": lambda: impact(run, read=read),
    }
    return making[name]()


@click.command()
@click.argument("name", type=click.Choice(["spellings", "conformance", "protocol", "impact"]))
@click.option("--run", type=click.Path(path_type=Path), help="Where the run is, of what has one.")
@click.option("--out", type=click.Path(path_type=Path), help="Where the page is written.")
@click.option("--read", is_flag=True, help="Only read the run that is there.")
def main(name: str, run: Path | None, out: Path | None, read: bool) -> None:
    """Ask every engine, and write the page."""
    out = out or _ROOT / "results" / name
    files = _made(name, run or _ROOT / "runs" / name, read)
    out.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (out / file).write_text(content, "utf-8")


if __name__ == "__main__":
    main()
