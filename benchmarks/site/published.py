"""What `results/` holds, read for pages: findings, cells, spellings, and bugs with their cases."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id, concerned
from harness.bugs.listing import Bug, Report, load_reports
from harness.bugs.scripts import no_script, script
from harness.engines.specs import parse_spec, read_spec
from harness.printable import spreadsheet_cell
from harness.verdict_kinds import BUG

_CONTROLS: Final = {"r": "\r", "n": "\n", "t": "\t"}


@dataclass(frozen=True)
class PublishedBug:
    """A bug as a result has it: of which `engine` and `version`, with the smallest case.

    `text` is as it was printed, the fault between marks where they are known; `at` is its byte, at
    which `token` was refused, where it is about a token. `state` says in which version it was
    looked for last, and whether it was there. `others` are the classes that other engines' errors
    with the same case have.
    """

    id: str
    engine: str
    version: str
    title: str
    schema: str
    text: str
    source: str
    state: str = ""
    kind: str = ""
    at: int = -1
    effect: str = ""
    token: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    schemas: int = 0
    judged: int = 0

    @property
    def key(self) -> str:
        return read_spec(self.engine).name

    @property
    def topic(self) -> tuple[str, ...]:
        """As `Bug.topic`."""
        case = ErrorCase(self.key, self.kind, self.schema, b"")
        return self.effect, *(concerned(case) or (self.id,))

    @property
    def upstream(self) -> Report | None:
        """What is known upstream."""
        return load_reports().get(self.id)

    @property
    def also_bug_of(self) -> list[str]:
        """Other engines of which it is a bug, too: neither declared nor warned of."""
        return [name for name, class_ in self.others.items() if class_ == BUG]

    def id_of(self, engine: str) -> str:
        """The id of the same case as another engine's bug; empty where it cannot be made again."""
        if self.bug is None:
            return ""
        return bug_id(replace(self.bug.error, engine=engine), self.bug.at)

    @cached_property
    def bug(self) -> Bug | None:
        """The bug as a run has it, but for how often it was met; None where no case has its id.

        The case is taken back from what is printed, and is the right one if it has the bug's id.
        """
        with suppress(ValueError, KeyError):
            for case, at in self._cases():
                if bug_id(case, at) == self.id:
                    return self._bug(case, at)
        return None

    @cached_property
    def script(self) -> str:
        """A script that shows it with the engine alone; empty where there is none."""
        return "" if self.bug is None or no_script(self.bug) else script(self.bug)

    def _cases(self) -> Iterator[tuple[ErrorCase, int]]:
        before, mark, rest = self.text.partition("»")
        fault, _, after = rest.partition("«")
        for controls in ("", "rnt"):
            parts = [_raw(one, controls) for one in (before, fault, after)]
            text, at = b"".join(parts), len(parts[0]) if mark else self.at
            case = ErrorCase(self.key, self.kind, self.schema, text)
            tokens = [b"", _raw(self.token, controls), parts[1] if len(parts[1]) > 1 else b""]
            for token in dict.fromkeys(tokens):
                for place in dict.fromkeys([at, -1, *range(len(text) + 1)]):
                    yield replace(case, token=token, token_at=at if token else 0), place

    def _bug(self, case: ErrorCase, at: int) -> Bug:
        options = parse_spec(self.key).options
        known: dict[str, Any] = {"verdict": "", "case": "", "attributed": "", "data": ""}
        known |= {"met": {}, "judged": 0, "share": None, "verdicts": 0}
        return Bug(
            **known,
            error=case,
            at=at,
            id=self.id,
            engine=self.key,
            effect=self.effect,
            version=self.version,
            options=options,
            title=self.title,
            sampled=0,
            upstream=None,
            versions={},
            shared=False,
            keyword=_keyword(self.title),
        )


def _keyword(title: str) -> str:
    """The keyword that a bug's title names first as broken, or in force; JSON's own grammar."""
    if title.startswith("invalid JSON"):
        return "json"
    patterns = r"breaks `([$\w]+)`", r"under `([$\w]+)`", r"^`([$\w]+)`"
    return next((one[1] for text in patterns if (one := re.search(text, title))), "")


def _raw(printed: str, controls: str) -> bytes:
    r"""The bytes of a printed text, in which bytes that are no text stand as ``\xNN``.

    Of ``\r`` alone nobody can tell whether it is one byte or two: `controls` are read as one.
    """
    for letter in controls:
        printed = printed.replace(f"\\{letter}", f"\\x{ord(_CONTROLS[letter]):02x}")
    parts = re.split(r"\\x([0-9a-f]{2})", printed)
    return b"".join(
        bytes([int(part, 16)]) if at % 2 else part.encode() for at, part in enumerate(parts)
    )


@dataclass(frozen=True)
class Published:
    """All that pages are made of, by engine; what a results directory lacks is empty."""

    root: Path
    findings: list[dict[str, str]] = field(default_factory=list)
    cells: list[dict[str, str]] = field(default_factory=list)
    spellings: Mapping[str, Any] = field(default_factory=dict)
    tool_names: tuple[str, ...] = ()
    bugs: list[PublishedBug] = field(default_factory=list)
    newest: list[dict[str, str]] = field(default_factory=list)
    engines_page: list[dict[str, str]] = field(default_factory=list)
    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> Published:
        """Read a results directory."""
        profile = _json(root / "spellings" / "profile.json") or {"engines": {}}
        manifest = _json(root / "tools" / "manifest.json") or {"servers": []}
        names = tuple(name for one in manifest["servers"] for name in one["schemas"])
        return cls(
            root,
            rows_of(root / "tools" / "findings.csv"),
            rows_of(root / "conformance" / "cells.csv"),
            profile["engines"],
            names,
            list(_listed(root)),
            rows_of(root / "newest" / "counts.csv"),
            rows_of(root / "engines" / "counts.csv"),
            _packages(root),
        )

    @property
    def engines(self) -> dict[str, list[str]]:
        """By engine its specs, as they were asked, in the order in which they are first met."""
        named = [*(one["engine"] for one in self.findings), *self.spellings]
        named += [*(one["engine"] for one in self.cells), *(one.engine for one in self.bugs)]
        named += [one["engine"] for one in self.engines_page]
        found: dict[str, list[str]] = {}
        for spec in dict.fromkeys(named):
            found.setdefault(read_spec(spec).name, []).append(spec)
        return dict(sorted(found.items()))

    @property
    def tools(self) -> int:
        """How many schemas of tools were asked about."""
        return len(self.tool_names)

    def version(self, engine: str) -> str:
        """The version that the newest of the results are about; empty where none says."""
        rows = [*self.findings, *self.cells]
        told = [one["version"] for one in rows if one["engine"] == engine]
        told += [one["version"] for name, one in self.spellings.items() if name == engine]
        return next(filter(None, told), "")

    def counts(self, spec: str) -> dict[str, int]:
        """How many tools an engine loses, lets an invalid value through in, and so on."""
        words = [
            word
            for one in self.findings
            if one["engine"] == spec
            for word in one["finding"].split(", ")
        ]
        return {word: words.count(word) for word in ("refuses", "loses", "traps", "leaks")}

    def did(self, spec: str) -> str:
        """The same in words."""
        words = [f"{word} {count}" for word, count in self.counts(spec).items() if count]
        return ", ".join(words) or "does nothing wrong with everyday values"

    def wrong(self, spec: str) -> int:
        """With how many tools' schemas it loses, leaks or traps, by everyday values."""
        words = [set(one["finding"].split(", ")) for one in self.findings if one["engine"] == spec]
        return sum(not one.isdisjoint(("loses", "leaks", "traps")) for one in words)

    def was_asked_about_tools(self, spec: str) -> bool:
        return any(one["engine"] == spec for one in self.findings)


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table; of its texts what kept a spreadsheet from computing them is left out."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [
        {name: _text(cell or "") for name, cell in row.items()} for row in csv.DictReader(lines)
    ]


def _text(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and spreadsheet_cell(cell[1:]) == cell else cell


def _packages(root: Path) -> dict[str, Mapping[str, str]]:
    """What the servers of `newest` are made of, by their specs."""
    manifest = (_json(root / "newest" / "manifest.json") or {}).get("servers", {})
    engines = manifest.get("identity", {}).get("engines", {})
    return {spec: one.get("packages", {}) for spec, one in engines.items()}


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def published_bugs(file: Path, changes: Mapping[str, str] | None = None) -> Iterator[PublishedBug]:
    """The bugs that a result lists as `maskcourt bugs --json` does, with what became of them."""
    for one in _json(file) or ():
        if "title" in one and one.get("class") == "bug":
            yield PublishedBug(
                one["id"],
                one["engine"],
                one["version"],
                one["title"],
                compact(one["schema"]),
                one["text"],
                f"{file.parent.name}/README.md",
                kind=one["kind"],
                state=(changes or {}).get(one["id"], f"in {one['version']}"),
                at=one["at"],
                effect=one.get("effect", ""),
                token=one.get("token", ""),
                others=one.get("others") or {},
                schemas=one.get("cases", 0),
                judged=one.get("judged", 0),
            )


def states(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What became of bugs, by id, in the newest version in which each was looked for.

    What is there still by any of the rows of that version is not fixed.
    """
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if row["status"] in ("fixed", "new", "remaining"):
            found[row["bug"]][row["new"]].add(row["status"])
    newest = {id_: max(versions, key=Version) for id_, versions in found.items()}
    return {
        id_: f"{'fixed in' if found[id_][version] == {'fixed'} else 'in'} {version}"
        for id_, version in newest.items()
    }


def _listed(root: Path) -> Iterator[PublishedBug]:
    """The bugs of all results, those of `newest` first."""
    tables = (root / name / "changes.csv" for name in ("versions", "later"))
    changes = states(row for table in tables for row in rows_of(table))
    files = root.glob("*/bugs.json")
    for path in sorted(files, key=lambda path: (path.parent.name != "newest", path)):
        yield from published_bugs(path, changes)
