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
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from harness import __version__
from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.classification.departures import Catalogue
from harness.errors import MaskcourtError, RunDirectoryError
from harness.files import LineFile
from harness.replay.witness import verdict_row
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import ERRORS

FORMAT: Final = 8
"""Raised whenever the same verdict may shrink to another case."""
FILE: Final = "bugs.jsonl"
_TYPES: Final = {"str": str, "int": int, "bytes": bytes}
_MOST_ROWS: Final = 1 << 62


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
            values["error"] |= {name: _text_of(values["error"][name]) for name in ("text", "token")}
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def of_line(cls, line: str) -> ShrunkVerdict:
        """Read what `line` wrote.

        Raises:
            ValueError, LookupError, TypeError, AttributeError, MaskcourtError: It is no such line.
        """
        values: dict[str, Any] = json.loads(line)
        if (error := values.get("error")) is not None:
            error |= {name: _bytes_of(error[name]) for name in ("text", "token")}
            case = values["error"] = _checked(ErrorCase(**error))
            before, after = case.around
            if case.kind not in ERRORS or before + case.token + after != case.text:
                raise ValueError(f"no case: {error}")
            case.parsed  # noqa: B018 - raises where it is no schema
        if not all(
            isinstance(word, str) for pair in (values["others"] or {}).items() for word in pair
        ):
            raise TypeError(f"others are {values['others']}")
        return _checked(cls(**values))


_Record = TypeVar("_Record", ErrorCase, ShrunkVerdict)


def _checked(record: _Record) -> _Record:
    """A record whose words, numbers and bytes are such."""
    for field in fields(record):
        value, expected = getattr(record, field.name), _TYPES.get(str(field.type))
        if expected is not None and type(value) is not expected:
            raise TypeError(f"{field.name} is {value!r}")
    return record


def smallest(samples: Iterable[ShrunkVerdict]) -> dict[tuple[str, str], ShrunkVerdict]:
    """The sample with the smallest case of each bug in each engine, by bug and engine."""
    best: dict[tuple[str, str], tuple[ErrorCase, ShrunkVerdict]] = {}
    for sample in samples:
        if (error := sample.error) is not None:
            key = (sample.bug, error.engine)
            if key not in best or error.size < best[key][0].size:
                best[key] = error, sample
    return {key: sample for key, (_, sample) in best.items()}


class SampleFile:
    """The records of a run, on disk.

    With another catalogue of departures an error may count as something else, and is shrunk again;
    what was drawn by another seed is used all the same.
    """

    def __init__(self, run: RunDirectory, catalogue: Catalogue, seed: int = 0) -> None:
        self.path = run.path / FILE
        self._head = {
            "format": FORMAT,
            "maskcourt": __version__,
            "catalogue": _digest(catalogue),
            "tables": {name: table["sha256"] for name, table in run.manifest["tables"].items()},
        }
        self._engines = run.manifest["identity"]["engines"]
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
            samples = [ShrunkVerdict.of_line(line) for line in self._lines()[1]]
            for sample in samples:
                if verdict_row(sample.verdict)[1] > _MOST_ROWS:
                    raise ValueError(f"no verdict {sample.verdict}")
                if sample.error is not None and sample.error.engine not in self._engines:
                    raise ValueError(f"no engine {sample.error.engine}")
            return {sample.verdict: sample for sample in samples}

    def _lines(self) -> tuple[dict[str, Any] | None, list[str]]:
        """The head, None where it is of another run or there is none, and the whole lines."""
        for path in (self.path, _kept_as(self.path, self._head)):
            head, lines = _read(path)
            if _unseeded(head) == _unseeded(self._head):
                return head, lines
        return None, []

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            MaskcourtError,
        ) as error:
            message = f"{self.path} cannot be read: {str(error)[:200]}"
            raise RunDirectoryError(message, "delete it: it is made again") from error

    def append(self, sample: ShrunkVerdict) -> None:
        """Keep one more record."""
        self.begin()
        LineFile(self.path).append(sample.line())

    def begin(self) -> None:
        """Put the file there as it goes on; what is known stays until it stands there again."""
        if self._begun:
            return
        known = self.read()
        head, _ = _read(self.path)
        if head and _unseeded(head) != _unseeded(self._head):
            self.path.replace(_kept_as(self.path, head))
        lines = [json.dumps({**self._head, "seed": self._seed})]
        lines += [sample.line() for sample in known.values()]
        whole = self.path.with_suffix(".tmp")
        whole.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        whole.replace(self.path)
        self._begun = True


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The head of a file, empty where there is none, and its whole lines."""
    head, *lines = LineFile(path).lines() or ["{}"]
    return json.loads(head), lines


def _unseeded(head: Mapping[str, Any]) -> dict[str, Any]:
    return {**head, "seed": 0}


def _kept_as(path: Path, head: Mapping[str, Any]) -> Path:
    """Where what has this head is kept while something else has the file's own name."""
    text = json.dumps(_unseeded(head), sort_keys=True)
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
