"""The page on servers' gate lists, ``python -m benchmarks.gates``: what they refuse, what is kept.

Each server's run is that of ``maskcourt conformance --gates SERVER``, which goes on where it was
interrupted; page, CSV and manifest are written from what is stored. No figure is typed by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from harness.conformance import gates
from harness.conformance.gates import GatedCell
from harness.conformance.outcomes import ConformanceTable, read_table
from harness.conformance.work import RUN
from harness.engines.presets import find_preset
from harness.printable import markdown
from harness.runs.directory import open_run

_ROOT: Final = Path(__file__).resolve().parents[1]
SERVERS: Final = {"vllm": "vLLM", "sglang": "SGLang"}

LEAD: Final = """\
# What servers refuse, and what their engines keep

vLLM and SGLang refuse schemas by lists of what an engine is known to ignore; under `auto` vLLM
sends on what its list for xgrammar names to guidance, and what that for guidance names to
outlines. Each list is held here against the engine at the version that the server pins, in every
cell of
[conformance](../../docs/conformance.md): a keyword, or several together, at one place of a
schema, with a few texts that both validators judge alike. A text counts as lost only if the
engine writes its value in no usual spelling.

- **Refused, and kept**: the list names it, yet the engine treats every text of the cell rightly.
  That is said of the schema shown and these few texts, and of no other form of the keyword:
  xgrammar keeps `multipleOf: 3`, and ignores it beside `minimum`. Nor does it say that the keyword
  is read: an engine that closes every object refuses an undeclared member whatever a `not` says.
  It shows where to look before an entry is narrowed; it is no reason to take one off.
- **Passed, and not kept**: nothing is named, and the engine takes the invalid text, or cannot
  write the valid one. Where it is the place (`not`, `then`) and not the keyword, the place is
  one row.

Numbers are threads of mlc-ai/xgrammar that vLLM's code names; SGLang's entries are in its words.
The CSV files have every cell that differs, with schema and text. One is tried without maskcourt
so:

```python
from xgrammar import Grammar
from xgrammar.testing import _is_grammar_accept_string

_is_grammar_accept_string(Grammar.from_json_schema('{"not": {"const": 5}}'), "5")  # True
```

Made by `make results ONLY=gates`; `maskcourt conformance --gates vllm -e xgrammar@VERSION` holds
the list against another version."""


def rightly_named(cells: Sequence[GatedCell]) -> str:
    """The entries none of whose cells is kept, a sentence for each list."""
    found = []
    for backend in dict.fromkeys(one.list.backend for one in cells):
        named = [one for one in cells if one.list.backend == backend and one.faults]
        kept = {one.faults for one in named if one.difference}
        right = dict.fromkeys(one.faults for one in named if one.faults not in kept)
        names = "; ".join(name for name in right if "; " not in name and "), " not in name)
        found.append(f"Of the list for {backend} nothing is kept under: {names or 'none'}.")
    return markdown(" ".join(found))


def page(tables: Mapping[str, ConformanceTable]) -> tuple[str, dict[str, str]]:
    """The page, and by name of a file the differing cells of a server as CSV."""
    parts, files = [LEAD], {}
    for server, table in tables.items():
        preset = find_preset(server, None)
        assert preset is not None
        cells = gates.gated(table, gates.lists_of(server, ()))
        told = gates.as_markdown(cells).strip()
        parts += [f"# {SERVERS[server]} {preset.release}", told, rightly_named(cells)]
        files[f"{server}.csv"] = gates.as_csv(cells)
    return "\n\n".join(parts) + "\n", files


@click.command()
@click.option("--runs", type=click.Path(path_type=Path), default=_ROOT / "runs" / "gates")
@click.option("--out", type=click.Path(path_type=Path), default=_ROOT / "results" / "gates")
@click.option("--read", is_flag=True, help="Only read the runs that are there.")
def main(runs: Path, out: Path, read: bool) -> None:
    """Make the runs, or go on with them, and write the page."""
    kept = {}
    for server in SERVERS:
        command = [sys.executable, "-m", "harness.cli", "conformance", "--gates", server]
        command += ["--out", str(runs / server)]
        if not read:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        kept[server] = open_run(runs / server / RUN, trust=True)
    text, files = page({name: read_table(run) for name, run in kept.items()})
    manifests = {name: run.manifest["identity"] for name, run in kept.items()}
    files |= {"README.md": text, "manifest.json": json.dumps(manifests, indent=1) + "\n"}
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_text(content, "utf-8")


if __name__ == "__main__":
    main()
