"""What shrinking made of single verdicts: one record each, kept beside the run.

The file is appended to, a line at a time, so that what was shrunk stays when work is interrupted;
a last line that was cut is shrunk again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import IO, Any

from harness import __version__
from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.errors import RunDirectoryError
from harness.runs.directory import RunDirectory

FORMAT = 1
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

    @cached_property
    def bug(self) -> str:
        """The id of its bug; empty where there is none."""
        return "" if self.error is None else bug_id(self.error)

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


class SampleFile:
    """The records of a run, on disk."""

    def __init__(self, run: RunDirectory) -> None:
        self.path = run.path / FILE
        self._head = {
            "format": FORMAT,
            "maskcourt": __version__,
            "tables": {name: one["sha256"] for name, one in run.manifest["tables"].items()},
        }
        self._file: IO[str] | None = None

    def read(self) -> dict[str, ShrunkVerdict]:
        """The records that there are of this run as it is now, by verdict.

        Raises:
            RunDirectoryError: The file cannot be read.
        """
        return {one.verdict: one for one in self._read()}

    def _read(self) -> Iterator[ShrunkVerdict]:
        if not self.path.is_file():
            return
        try:
            lines = self.path.read_text("utf-8").splitlines(keepends=True)
            if not lines or json.loads(lines[0]) != self._head:
                return
            for line in lines[1:]:
                if line.endswith("\n"):
                    yield ShrunkVerdict.of_line(line)
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{self.path} cannot be read: {str(error)[:200]}"
            raise RunDirectoryError(message, "delete it: it is made again") from error

    def append(self, one: ShrunkVerdict) -> None:
        """Keep one more record."""
        if self._file is None:
            known = list(self._read())
            whole = self.path.with_suffix(".tmp")  # what is known stays until it stands there again
            self._file = whole.open("w", encoding="utf-8")
            self._file.write(json.dumps(self._head) + "\n")
            self._file.writelines(f"{sample.line()}\n" for sample in known)
            self._file.flush()
            whole.replace(self.path)
        self._file.write(f"{one.line()}\n")
        self._file.flush()

    def close(self) -> None:
        """Nothing more comes."""
        if self._file is not None:
            self._file.close()


def _text_of(text: bytes) -> str | list[int]:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return list(text)


def _bytes_of(value: str | list[int]) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
