"""What shrinking made of single verdicts: one record each, kept beside the run.

Lines are appended, so that what was shrunk stays when work is interrupted; a last line that was cut
is shrunk again. Each says for which tables, catalogue and version it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from harness import __version__
from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.classification.departures import load_catalogue
from harness.files import LineFile
from harness.replay.witness import verdict_row
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import ERRORS

FORMAT: Final = 23
"""Raised whenever the same verdict may shrink to another case."""
FILE: Final = "bugs.jsonl"
_ANY: Final = ("utf-8", "surrogateescape")
"""How any bytes are text in a line, and read again."""


@dataclass(frozen=True)
class ShrunkVerdict:
    """What became of one verdict, which was `attributed` to a keyword: its smallest case `error`.

    Where there is none there is a `reason`. `at` is the byte of its text at which the error is, -1
    where that is not known; `keyword` is broken or in force there; `effect` is that of both. By
    spec `others` has what it counts as in other engines that make it; None: they were not asked.
    """

    verdict: str
    case: str
    attributed: str
    error: ErrorCase | None = None
    at: int = -1
    keyword: str = ""
    class_: str = ""
    departure: str = ""
    effect: str = ""
    reason: str = ""
    attempts: int = 0
    others: Mapping[str, str] | None = None

    @cached_property
    def bug(self) -> str:
        """The id of its bug; empty where there is none."""
        return "" if self.error is None else bug_id(self.error, self.at)

    def values(self) -> dict[str, Any]:
        values = asdict(self)
        if self.error is not None:
            values["error"] |= {
                name: values["error"][name].decode(*_ANY) for name in ("text", "token")
            }
        return values

    @classmethod
    def of(cls, values: dict[str, Any]) -> ShrunkVerdict:
        """Read what `values` gave; an error of many sorts where it is no such thing."""
        if (error := values.get("error")) is not None:
            error |= {name: error[name].encode(*_ANY) for name in ("text", "token")}
            case = values["error"] = ErrorCase(**error)
            before, after = case.around
            if case.kind not in ERRORS or before + case.token + after != case.text:
                raise ValueError(f"no case: {error}")
            case.parsed  # noqa: B018 - raises where it is no schema
        return cls(**values)


def smallest(samples: Iterable[ShrunkVerdict]) -> dict[tuple[str, str], ShrunkVerdict]:
    """The sample with the smallest case of each bug in each engine, by bug and engine."""
    best: dict[tuple[str, str], ShrunkVerdict] = {}
    found = [(one.error, one) for one in samples if one.error is not None]
    for error, sample in sorted(found, key=lambda pair: (pair[0].size, pair[1].verdict)):
        best.setdefault((sample.bug, error.engine), sample)
    return best


class SampleFile:
    """The records of a run, on disk; of other catalogues and versions they stay, and are not read.

    With another catalogue of departures an error may count as something else, and is shrunk again;
    what was drawn by another seed is used all the same.
    """

    def __init__(self, run: RunDirectory, seed: int = 0) -> None:
        self._engines = run.manifest["identity"]["engines"]
        self._seed = seed
        self._file = LineFile(run.path / FILE)
        self._begun = False
        tables = {name: table["sha256"] for name, table in run.manifest["tables"].items()}
        of = [FORMAT, __version__, asdict(load_catalogue()), tables]

        def plain(value: object) -> object:  # the same for the same, whatever the order of sets
            return sorted(value) if isinstance(value, frozenset | set) else repr(value)

        made = json.dumps(of, default=plain)
        self._made = hashlib.sha256(made.encode()).hexdigest()[:16]

    def read(self) -> tuple[dict[str, ShrunkVerdict], int | None]:
        """The records of this run as it is now, by verdict, and the seed of the last search."""
        samples, seed = {}, None
        hint = "delete the file: it is made again"
        for found in self._file.records(self._record, "sample", hint):
            if isinstance(found, ShrunkVerdict):
                samples[found.verdict] = found
            elif found is not None:
                seed = found
        return samples, seed

    def _record(self, line: str) -> ShrunkVerdict | int | None:
        """What a line of this run as it is now holds, if run and table can have such a sample."""
        record = json.loads(line)
        if record["made"] != self._made:
            return None
        if "shrunk" not in record:
            return int(record["seed"])
        sample = ShrunkVerdict.of(record["shrunk"])
        verdict_row(sample.verdict)  # raises where there can be none
        if sample.error is not None and sample.error.engine not in self._engines:
            raise ValueError(f"no engine {sample.error.engine}")
        return sample

    def append(self, sample: ShrunkVerdict) -> None:
        self.begin()
        self._append(shrunk=sample.values())

    def begin(self) -> None:
        """Note the seed, once, so that a search which found nothing is known as well."""
        if not self._begun:
            self._file.mend()
            self._append(seed=self._seed)
            self._begun = True

    def _append(self, **values: Any) -> None:
        self._file.append(json.dumps({"made": self._made, **values}))
