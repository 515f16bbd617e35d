"""What was heard, as a file: its head, and a line for each engine and case.

So a hearing that was interrupted goes on where it was, its table can be printed again, and what is
in it can be tried again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.court.hearing import Heard
from harness.court.rules import RULES, as_json, read_result
from harness.errors import InputError, UsageError
from harness.files import LineFile

_HINT = "a file that maskcourt protocol wrote begins with its vocabulary and options"


@dataclass(frozen=True)
class RecordHead:
    """On what all engines of a record were heard.

    Attributes:
        vocabulary: As it was named.
        vocabulary_sha256: Of its tokens.
        cases: As they were named.
        cases_sha256: Of their data.
        seed: On which all choices depend.
        texts: Samples of each case.
        positions: Places of each text.
        whole: Places of each case at which the whole vocabulary is gone through.
        seconds: Processor time of one rule on one case.
    """

    vocabulary: str
    vocabulary_sha256: str
    cases: str
    cases_sha256: str
    seed: int
    texts: int
    positions: int
    whole: int
    seconds: float


@dataclass
class Record:
    """A record that is being written.

    Attributes:
        head: On what is heard.
        heard: All of it so far, what the file had before included.
    """

    head: RecordHead
    heard: list[Heard] = field(default_factory=list)
    _file: LineFile | None = None

    @classmethod
    def open(cls, path: Path | None, head: RecordHead) -> Record:
        """Go on with a file, or begin one; None for no file.

        Raises:
            InputError: The file is none of the kind.
            RunDirectoryError: It cannot be read or written.
            UsageError: It is about something else.
        """
        if path is None:
            return cls(head)
        file, heard = LineFile(path), list[Heard]()
        file.mend()
        if file.lines():
            before, heard = read_record(path)
            differing = [name for name, one in asdict(before).items() if one != asdict(head)[name]]
            if differing:
                raise UsageError(
                    f"{path} was heard with other {', '.join(differing)}",
                    "give the same options to go on with it, or another file",
                )
        else:
            file.append(json.dumps(asdict(head)))
        return cls(head, heard, file)

    def add(self, heard: Heard) -> None:
        """Store what was heard of one engine on one case.

        Raises:
            UsageError: The same engine was heard in another version before.
        """
        self._same_version(heard)
        self.heard.append(heard)
        if self._file is not None:
            self._file.append(json.dumps(_as_line(heard), ensure_ascii=False))

    def has(self, engine: str, case: str) -> bool:
        """Whether an engine was heard on a case."""
        return any((one.engine, one.case) == (engine, case) for one in self.heard)

    def _same_version(self, heard: Heard) -> None:
        for one in self.heard:
            if one.engine == heard.engine and one.version != heard.version:
                raise UsageError(
                    f"{one.engine} was heard in version {one.version}, and is {heard.version} now",
                    "name the version, or write to another file",
                )


def read_record(path: Path) -> tuple[RecordHead, list[Heard]]:
    """What a file holds.

    Raises:
        InputError: A line is none of a record.
    """
    first, *others = LineFile(path).lines() or [""]
    try:
        head = RecordHead(**json.loads(first))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}:1 is not the head of a record", _HINT) from error
    return head, [_of_line(path, number, line) for number, line in enumerate(others, 2)]


def write_record(path: Path, head: RecordHead, heard: Sequence[Heard]) -> None:
    """Write a whole record."""
    lines = [asdict(head), *map(_as_line, heard)]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)
    path.write_text(text, "utf-8")


def _as_line(heard: Heard) -> dict[str, Any]:
    rules = {rule: as_json(result) for rule, result in heard.rules.items()}
    return {**vars(heard), "documented": dict(heard.documented), "rules": rules}


def _of_line(path: Path, number: int, line: str) -> Heard:
    try:
        one: Mapping[str, Any] = json.loads(line)
        rules = {rule: read_result(result) for rule, result in one["rules"].items()}
        if not rules.keys() <= RULES.keys():
            raise ValueError("a rule that there is not")
        return Heard(**{**one, "rules": rules})
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}:{number} says of no engine what was heard", _HINT) from error
