"""What `results/` holds, read for pages: findings, cells, spellings, and bugs with their cases."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id, concerned
from harness.bugs.listing import Bug, load_reports
from harness.bugs.scripts import no_script, script
from harness.engines.specs import parse_spec, read_spec
from harness.printable import markdown

_CONTROLS: Final = {"r": "\r", "n": "\n", "t": "\t"}


@dataclass(frozen=True)
class PublishedBug:
    """A bug as a result has it: of which `engine` and `version`, with the smallest case.

    `text` is as it was printed, the fault between marks where they are known; `at` is its byte.
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
    others: tuple[str, ...] = ()
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
    def thread(self) -> str:
        """Where it is reported upstream; empty where no report is known."""
        known = load_reports().get(self.id)
        return known.thread if known else ""

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
            for token in [b"", *([parts[1]] if len(parts[1]) > 1 else [])]:
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
            keyword=next(iter(re.findall(r"under `(\w+)`|^`(\w+)`", self.title)), ("", ""))[0],
        )


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

    @classmethod
    def read(cls, root: Path) -> Published:
        """Read a results directory."""
        profile = _json(root / "spellings" / "profile.json") or {"engines": {}}
        manifest = _json(root / "tools" / "manifest.json") or {"servers": []}
        names = tuple(name for one in manifest["servers"] for name in one["schemas"])
        return cls(
            root,
            _rows(root / "tools" / "findings.csv"),
            _rows(root / "conformance" / "cells.csv"),
            profile["engines"],
            names,
            list(_listed(root)),
            _rows(root / "newest" / "counts.csv"),
        )

    @property
    def engines(self) -> dict[str, list[str]]:
        """By engine its specs, as they were asked, in the order in which they are first met."""
        named = [*(one["engine"] for one in self.findings), *self.spellings]
        named += [*(one["engine"] for one in self.cells), *(one.engine for one in self.bugs)]
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
        """The same in words; empty where it was not asked about tools."""
        words = [f"{word} {count}" for word, count in self.counts(spec).items() if count]
        return (", ".join(words) or "nothing") if self.was_asked_about_tools(spec) else ""

    def was_asked_about_tools(self, spec: str) -> bool:
        return any(one["engine"] == spec for one in self.findings)


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines())) if path.exists() else []


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
                markdown(one["title"]),
                compact(one["schema"]),
                one["text"],
                f"{file.parent.name}/README.md",
                kind=one["kind"],
                state=(changes or {}).get(one["id"], ""),
                at=one["at"],
                effect=one.get("effect", ""),
                others=tuple(one.get("others") or ()),
                schemas=one.get("cases", 0),
                judged=one.get("judged", 0),
            )


def _listed(root: Path) -> Iterator[PublishedBug]:
    """The bugs of all results, those of `newest` first."""
    changes = {
        row["bug"]: f"{row['status']} in {row['new']}"
        for name in ("versions", "later")
        for row in _rows(root / name / "changes.csv")
        if row["status"] in ("fixed", "new")
    }
    files = root.glob("*/bugs.json")
    for path in sorted(files, key=lambda path: (path.parent.name != "newest", path)):
        yield from published_bugs(path, changes)
