"""What shrinking made of single verdicts: one record each, kept beside the run.

The file is appended to, a line at a time, so that what was shrunk stays when work is interrupted;
a last line that was cut is shrunk again. What was shrunk under another catalogue, or by another
version, is moved aside, and is there again when it is asked for so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness import __version__
from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.classification.departures import Catalogue
from harness.errors import RunDirectoryError
from harness.files import LineFile
from harness.runs.directory import RunDirectory

FORMAT = 8
"""Raised whenever the same verdict may shrink to another case."""
FILE = "bugs.jsonl"


@dataclass(frozen=True)
class ShrunkVerdict:
    """What became of one verdict.

    Attributes:
        verdict: Its name, as ``maskcourt replay`` has it.
        case: The case of the run that it is about.
        attributed: The keyword that the verdict was attributed to.
        error: The smallest case; None where there is none.
        at: The byte of its text at which the error is, -1 where that is not known.
        keyword: The keyword that is broken in it, or in force at that byte.
        class_: What it counts as.
        departure: The entry of the catalogue, empty for a bug.
        reason: Why there is no smallest case; else empty.
        attempts: How many cases were tried.
        others: What the error of the smallest case counts as in each other engine of the run that
            makes it as well, by the engine's spec; None where they were not asked.
    """

    verdict: str
    case: str
    attributed: str
    error: ErrorCase | None = None
    at: int = -1
    keyword: str = ""
    class_: str = ""
    departure: str = ""
    reason: str = ""
    attempts: int = 0
    others: Mapping[str, str] | None = None

    @cached_property
    def bug(self) -> str:
        """The id of its bug; empty where there is none."""
        return "" if self.error is None else bug_id(self.error, self.at)

    def line(self) -> str:
        """As one line of JSON."""
        values = asdict(self)
        if self.error is not None:
            values["error"] |= {
                "text": _text_of(self.error.text),
                "token": _text_of(self.error.token),
            }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def of_line(cls, line: str) -> ShrunkVerdict:
        """Read what `line` wrote.

        Raises:
            ValueError, KeyError, TypeError: It is no such line.
        """
        one = cls(**json.loads(line))
        if one.error is None:
            return one
        values: dict[str, Any] = dict(one.error)  # type: ignore[call-overload]
        values |= {name: _bytes_of(values[name]) for name in ("text", "token")}
        return replace(one, error=ErrorCase(**values))


def smallest(samples: Iterable[ShrunkVerdict]) -> dict[tuple[str, str], ShrunkVerdict]:
    """The sample with the smallest case of each bug in each engine, by bug and engine."""
    found: dict[tuple[str, str], ShrunkVerdict] = {}
    for one in samples:
        if one.error is None:
            continue
        known = found.get((one.bug, one.error.engine))
        if known is None or known.error is None or one.error.size < known.error.size:
            found[one.bug, one.error.engine] = one
    return found


class SampleFile:
    """The records of a run, on disk.

    Args:
        run: The run.
        catalogue: The declared departures: with others an error may count as something else.
        seed: By which verdicts are drawn; what was shrunk by another is used all the same.
    """

    def __init__(self, run: RunDirectory, catalogue: Catalogue, seed: int = 0) -> None:
        self.path = run.path / FILE
        self._head = {
            "format": FORMAT,
            "maskcourt": __version__,
            "catalogue": _digest(catalogue),
            "tables": {name: one["sha256"] for name, one in run.manifest["tables"].items()},
        }
        self._seed = seed
        self._begun = False

    @property
    def seed(self) -> int | None:
        """By which seed the last search drew; None where there was none of this run as it is.

        Raises:
            RunDirectoryError: The file cannot be read.
        """
        with self._readable():
            head, _ = self._lines()
        return None if head is None else int(head["seed"])

    def read(self) -> dict[str, ShrunkVerdict]:
        """The records that there are of this run as it is now, by verdict.

        Raises:
            RunDirectoryError: The file cannot be read.
        """
        with self._readable():
            _, lines = self._lines()
            return {one.verdict: one for one in map(ShrunkVerdict.of_line, lines)}

    def _lines(self) -> tuple[dict[str, Any] | None, list[str]]:
        """The head, None where it is of another run or there is none, and the whole lines."""
        for path in (self.path, _kept_as(self.path, self._head)):
            head, lines = _read(path)
            if {**head, "seed": 0} == {**self._head, "seed": 0}:
                return head, lines
        return None, []

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{self.path} cannot be read: {str(error)[:200]}"
            raise RunDirectoryError(message, "delete it: it is made again") from error

    def append(self, one: ShrunkVerdict) -> None:
        """Keep one more record."""
        self.begin()
        LineFile(self.path).append(one.line())

    def begin(self) -> None:
        """Put the file there as it goes on; what is known stays until it stands there again."""
        if self._begun:
            return
        known = self.read()
        head, _ = _read(self.path)
        if head and {**head, "seed": 0} != {**self._head, "seed": 0}:
            self.path.replace(_kept_as(self.path, head))
        lines = [json.dumps({**self._head, "seed": self._seed})]
        lines += [sample.line() for sample in known.values()]
        whole = self.path.with_suffix(".tmp")
        whole.write_text("".join(f"{one}\n" for one in lines), "utf-8")
        whole.replace(self.path)
        self._begun = True


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The head of a file, empty where there is none, and its whole lines."""
    head, *lines = LineFile(path).lines() or ["{}"]
    return json.loads(head), lines


def _kept_as(path: Path, head: Mapping[str, Any]) -> Path:
    """Where what has this head is kept while something else has the file's own name."""
    text = json.dumps({**head, "seed": 0}, sort_keys=True)
    return path.with_name(f"{path.stem}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.jsonl")


def _digest(catalogue: Catalogue) -> str:
    """The same for the same entries, whatever the order in which sets are kept."""

    def plain(value: object) -> object:
        return sorted(value) if isinstance(value, frozenset | set) else repr(value)

    return hashlib.sha256(json.dumps(asdict(catalogue), default=plain).encode()).hexdigest()


def _text_of(text: bytes) -> str | list[int]:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return list(text)


def _bytes_of(value: str | list[int]) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
