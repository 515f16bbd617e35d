"""The published page on tools: what engines and servers' presets do with tools of public servers.

``python -m benchmarks.tools`` installs the servers of ``results/tools/servers.toml``, has each list
its tools, checks these, and writes what is published. What is there under ``--work`` is not done
again, so an interrupted command goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tomllib
import venv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.pages.layout import GROUPS, GROUPS_MEAN
from benchmarks.replayed import replayed
from harness.check.answers import DOES, Answers
from harness.check.mcp_tools import mcp_tools
from harness.check.request import CheckRequest
from harness.check.text import overview, sentence
from harness.check.work import SchemaCheck
from harness.console import tell
from harness.errors import MaskcourtError, UsageError
from harness.execution.bench import commit, installed
from harness.inputs.tools import NamedSchema
from harness.render.table import Table, as_csv, as_markdown
from harness.runs.directory import MANIFEST, open_run
from harness.verdict_kinds import RARE

_ROOT: Final = Path(__file__).resolve().parents[1]
_AT_ONCE: Final = 3
_COLUMNS: Final = ("engine", "version", "tool", "backend", "finding", "keyword", "text", "why")
_LEAD: Final = (
    "What engines do with the tools of public MCP servers: the reference servers of the protocol,"
    " and widely known ones, of the versions below. Written by `make results ONLY=tools`; what the"
    " words mean is said in [docs/tools.md](../../docs/tools.md). Every tool with a finding, in"
    " brackets one by unusual values alone, is in [findings.csv](findings.csv), and the others have"
    " none; a tool has a second schema where it says what it returns; versions of the"
    " servers, the harness and the validators, and a hash of each schema, are in"
    " [manifest.json](manifest.json). The schemas themselves are read from the servers, and not"
    " kept here."
)


@dataclass(frozen=True)
class Server:
    """A public server: its package in a registry, and the command among the package's programs."""

    registry: str
    package: str
    version: str
    command: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        return self.package.strip("@").replace("/", "-")

    def installed(self, work: Path) -> Path:
        """Where its programs are; it is installed there if need be.

        Raises:
            UsageError: There is no node, or the package cannot be installed.
        """
        place = work / "servers" / f"{self.slug}-{self.version}"
        named = f"{self.package}{'==' if self.registry == 'PyPI' else '@'}{self.version}"
        if self.registry == "PyPI":
            programs = place / "bin"
            command = [str(programs / "python"), "-m", "pip", "install", "--quiet", named]
        else:
            if shutil.which("npm") is None:
                raise UsageError(f"{named} needs npm, and there is none", "install node")
            programs = place / "node_modules" / ".bin"
            command = ["npm", "install", "--ignore-scripts", "--no-audit", "--prefix", str(place)]
            command.append(named)
        if not (programs / shlex.split(self.command)[0]).exists():
            tell(f"installing {named}")
            if self.registry == "PyPI":
                venv.create(place, with_pip=True)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise UsageError(f"{named} cannot be installed: {done.stderr.strip()[-300:]}")
        return programs.absolute()

    def tools(self, work: Path) -> list[NamedSchema]:
        """The schemas of its tools: asked once, then read."""
        kept = work / "lists" / f"{self.slug}-{self.version}.json"
        if not kept.exists():
            variables = [f"{name}={value}" for name, value in self.environment.items()]
            path = f"PATH={self.installed(work)}{os.pathsep}{os.environ.get('PATH', '')}"
            command = shlex.join(["env", *variables, path, *shlex.split(self.command)])
            found = mcp_tools(command, 120)
            _write(kept, [asdict(one) for one in found])
        return [NamedSchema(**one) for one in json.loads(kept.read_text("utf-8"))]


_Listed = Sequence[tuple[Server, Sequence[NamedSchema]]]


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _answered(engines: Sequence[str], named: Sequence[NamedSchema], work: Path) -> dict[str, Any]:
    """What a check of the tools says: a sentence for each engine, the table, all answers."""
    slug = "+".join("".join(c if c.isalnum() else "-" for c in one) for one in engines)
    kept = work / "answers" / f"{slug}.json"
    if not kept.exists():
        request = CheckRequest(engines=tuple(engines), seconds=0.0)
        names = [one.name for one in request.specs]
        tools = {one.name: one.tool for one in named}
        answers = Answers([one.name for one in named], names, tools)
        with SchemaCheck(request, named, work / "runs" / slug) as check:
            for one in check.answers():
                answers.add(one)
        table, others = overview(answers)
        sentences = [sentence(one, answers) for one in names]
        told = {"sentences": sentences, "table": as_markdown(table), "others": others}
        _write(kept, {**told, **answers.row()})
    read: dict[str, Any] = json.loads(kept.read_text("utf-8"))
    return read


def repeated(runs: Path) -> dict[str, int]:
    """How many verdicts of the runs below were replayed, and how many differ; each run once."""
    total: Counter[str] = Counter()
    for path in sorted(one.parent for one in runs.glob(f"*/*/{MANIFEST}")):
        tell(f"replaying {path}")
        counts = replayed(open_run(path, trust=True))
        total.update({name: counts[name] for name in ("costly", "replayed", "differ")})
    return dict(total)


def _order(error: Mapping[str, Any]) -> tuple[bool, int]:
    """Everyday values, and short texts, before others."""
    return error["severity"] == RARE, len(error["text"])


def findings(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each tool and engine of which there is something to say, the worst text with it."""
    for one in answer["schemas"]:
        for engine, row in one["engines"].items():
            errors = [*row["false_rejections"], *row["false_acceptances"]]
            costly = [error for error in errors if error["effect"] in DOES.values()]
            failed = row["answer"] in ("refuses", "failed")
            if not costly and not failed:
                continue
            shown = {error["effect"] for error in costly}
            words = [{"refuses": "refuses", "failed": "no answer"}.get(row["answer"], "")]
            words += [name for name in DOES if row[name]]
            words += [f"({name})" for name in DOES if DOES[name] in shown and not row[name]]
            first = min(costly, key=_order, default={"keyword": "", "text": ""})
            yield {
                "engine": engine,
                "tool": one["schema"],
                "version": row["version"],
                "backend": row["backend"],
                "finding": ", ".join(filter(None, words)),
                **{name: first[name] for name in ("keyword", "text")},
                "why": row["why"] if failed else "",
            }


def _page(listed: _Listed, groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    columns = ("registry", "package", "version", "tools", "schemas")
    rows = [
        {
            "registry": one.registry,
            "package": f"`{one.package}`",
            "version": one.version,
            "tools": sum(not schema.tool.endswith(".output") for schema in named),
            "schemas": len(named),
        }
        for one, named in listed
    ]
    parts = ["# Tools of public servers", _LEAD, as_markdown(Table.of("", columns, rows)).strip()]
    for title, answers in groups.items():
        parts += [f"## {title}", GROUPS_MEAN[title]]
        parts.append("\n".join(f"- {line}" for one in answers for line in one["sentences"]))
        for one in answers if title == next(iter(groups)) else ():
            parts += [one["table"].strip(), f"{one['others']}."]
    return "\n\n".join(parts) + "\n"


@click.command()
@click.option("--work", type=click.Path(path_type=Path), default=_ROOT / "runs" / "tools")
@click.option("--out", type=click.Path(path_type=Path), default=_ROOT / "results" / "tools")
def main(work: Path, out: Path) -> None:
    """Check the tools of the servers, and write what is published."""
    listing = tomllib.loads((out / "servers.toml").read_text("utf-8"))["server"]
    try:
        listed = [(one, one.tools(work)) for one in (Server(**row) for row in listing)]
        every = [schema for _, named in listed for schema in named]
        groups = {
            title: [
                _answered(engines[at : at + _AT_ONCE], every, work)
                for at in range(0, len(engines), _AT_ONCE)
            ]
            for title, engines in GROUPS.items()
        }
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from None
    rows = [row for some in groups.values() for one in some for row in findings(one)]
    (out / "findings.csv").write_text(as_csv(Table.of("", _COLUMNS, rows)), "utf-8")
    hashes = [
        {**asdict(one), "schemas": {schema.name: _hash(schema.text) for schema in named}}
        for one, named in listed
    ]
    about = {**installed(), "commit": commit(), "vocabulary": CheckRequest().vocabulary}
    _write(out / "manifest.json", {**about, "replayed": repeated(work / "runs"), "servers": hashes})
    (out / "README.md").write_text(_page(listed, groups), "utf-8")


def _hash(schema: str) -> str:
    """A hash of a schema, whatever the order of its members and the layout of its text."""
    return hashlib.sha256(json.dumps(json.loads(schema), sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    main()
