"""The protocol court: every rule on every case, for one engine after the other, each in its host.

A violation is stored with all that is needed to try it again: the schema, the tokens, the engine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.court.routes import Thoroughness
from harness.court.rules import RULES, RuleResult, read_result
from harness.engines.specs import EngineSpec
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.workers import wire
from harness.workers.hosts import Ended, Host, HostSpec
from harness.workers.outcomes import Crashed
from harness.workers.temporary_directories import saved_vocabulary

REFERENCES = 2
"""Valid instances of a case that are led along."""


@dataclass(frozen=True)
class Bench:
    """What all engines of a hearing have in common.

    Attributes:
        vocabulary: The tokens.
        how: How much is tried.
        seconds: Processor time of one request.
        memory: Bytes that a host may take.
    """

    vocabulary: Vocabulary
    how: Thoroughness = field(default_factory=Thoroughness)
    seconds: float = 120.0
    memory: int = 4 << 30


@dataclass(frozen=True)
class StoredTrial:
    """A rule on one case that an engine was, or is to be, tried with: what can be repeated.

    Attributes:
        rule: Its name.
        case: The case's id.
        schema: Its schema, as JSON text.
        consumed: The tokens before.
        tokens: Those of the trial.
    """

    rule: str
    case: str
    schema: str
    consumed: Sequence[int]
    tokens: Sequence[int]


@dataclass(frozen=True)
class Told:
    """What became of one rule on one case.

    Attributes:
        engine: The engine's name.
        version: Its version.
        case: The case.
        rule: The rule's name; empty where the case could not be begun.
        result: What was found.
        ended: How the process ended over it; empty where it did not.
        crashed: Whether that was a crash.
        documented: Where the library's documentation says that it breaks the rule; else empty.
        by_adapter: Whether the calls were an adapter's, not the library's own.
    """

    engine: str
    version: str
    case: Case
    rule: str
    result: RuleResult = field(default_factory=RuleResult)
    ended: str = ""
    crashed: bool = False
    documented: str = ""
    by_adapter: bool = False


class _NotBegun(Exception):
    """Nothing can be asked: why."""


class Dock:
    """One engine in its host, opened again when that has ended. Close it when done."""

    def __init__(self, spec: EngineSpec, bench: Bench, vocabulary_file: Path) -> None:
        self.spec = spec
        self.version = spec.version or ""
        self._bench = bench
        self._file = vocabulary_file
        self._case: dict[str, Any] | None = None
        self._host = Host(
            HostSpec(
                spec.name,
                "harness.court.service:CourtService",
                spec.interpreter,
                spec.paths,
                bench.memory,
            )
        )

    def close(self) -> None:
        """End the process."""
        self._host.close()

    def begin(self, schema: str, references: Sequence[Any], key: str) -> dict[str, Any]:
        """Have a schema compiled; what the service says of it.

        Raises:
            _NotBegun: It is refused, or the process ended over it.
        """
        how = vars(self._bench.how)
        request = {"schema": schema, "references": references, "key": key, "how": how}
        self._case = None
        self._up()
        answer = self._asked("case", request)
        if not isinstance(answer, wire.Message):
            raise _NotBegun(f"its process {answer.message}")
        if answer.head["refused"] is not None:
            raise _NotBegun(f"it refuses the schema: {answer.head['refused']}")
        self._case = request
        return dict(answer.head)

    def ask(self, command: str, **request: Any) -> wire.Message | Ended:
        """Ask about the case that was begun; a process that has ended is started again."""
        if not self._host.running:
            assert self._case is not None
            self.begin(self._case["schema"], self._case["references"], self._case["key"])
        return self._asked(command, request)

    def _up(self) -> None:
        if self._host.running:
            return
        if (ended := self._host.start()) is not None:
            raise _NotBegun(f"its process {ended.message}")
        request = {
            "engine": self.spec.reference,
            "options": dict(self.spec.options),
            "vocabulary": str(self._file),
        }
        answer = self._asked("open", request)
        if not isinstance(answer, wire.Message):
            self._host.stop()
            raise _NotBegun(answer.message)
        self.version = answer.head["version"]

    def _asked(self, command: str, request: dict[str, Any]) -> wire.Message | Ended:
        return self._host.request({"command": command, **request}, limit=self._bench.seconds)


@contextlib.contextmanager
def docked(spec: EngineSpec, bench: Bench) -> Iterator[Dock]:
    """An engine that can be tried."""
    with saved_vocabulary(bench.vocabulary) as file:
        dock = Dock(spec, bench, file)
        with contextlib.closing(dock):
            yield dock


def hear(
    spec: EngineSpec, cases: Iterable[Case], bench: Bench, rules: Sequence[str] = tuple(RULES)
) -> Iterator[Told]:
    """Hold the rules against an engine on cases; what becomes of each, as it becomes known."""
    canonical = Canonical.of(bench.vocabulary)
    with docked(spec, bench) as dock:
        for case in cases:
            try:
                references = [_reference(one.text, canonical) for one in case.valid[:REFERENCES]]
                begun = dock.begin(case.schema, references, case.id)
                for rule in rules:
                    yield _told(dock, case, rule, begun)
            except _NotBegun as reason:
                yield Told(spec.name, dock.version, case, "", ended=str(reason))


def _told(dock: Dock, case: Case, rule: str, begun: dict[str, Any]) -> Told:
    answer = dock.ask("rule", rule=rule, key=case.id)
    documented = begun["documented"].get(rule, "")
    about = (dock.spec.name, dock.version, case, rule)
    if isinstance(answer, wire.Message):
        result, by_adapter = read_result(answer.head), begun["by_adapter"]
        return Told(*about, result, documented=documented, by_adapter=by_adapter)
    crashed = isinstance(answer, Crashed)
    return Told(*about, ended=f"its process {answer.message}", crashed=crashed)


def _reference(text: bytes, canonical: Canonical | None) -> tuple[str, dict[str, int]]:
    starts = {} if canonical is None else canonical.starts(text)
    return text.decode("latin-1"), {str(at): token for at, token in starts.items()}


def violations(told: Told, bench: Bench, vocabulary_spec: str) -> Iterator[dict[str, Any]]:
    """What is stored of each violation: `trial_of` reads what is tried again."""
    for one in told.result.violated:
        trial = StoredTrial(told.rule, told.case.id, told.case.schema, one.consumed, one.tokens)
        text = b"".join(bench.vocabulary.tokens[token] for token in one.consumed)
        yield {
            "engine": told.engine,
            "version": told.version,
            **asdict(trial),
            "vocabulary": vocabulary_spec,
            "vocabulary_sha256": bench.vocabulary.sha256,
            "written": text.decode("utf-8", "replace"),
            "complaint": one.complaint,
            "again": one.again,
            "documented": told.documented,
            "by_adapter": told.by_adapter,
        }


def retry(dock: Dock, trial: StoredTrial) -> str | None:
    """Try again from nothing: the complaint, or None where it does not show any more.

    Raises:
        LookupError: The trial cannot be repeated: why.
    """
    try:
        dock.begin(trial.schema, [], trial.case)
        answer = dock.ask(
            "trial", rule=trial.rule, consumed=list(trial.consumed), tokens=list(trial.tokens)
        )
    except _NotBegun as reason:
        raise LookupError(str(reason)) from reason
    if not isinstance(answer, wire.Message):
        raise LookupError(f"its process {answer.message}")
    if not answer.head["reached"]:
        raise LookupError("it does not consume the tokens before")
    complaint: str | None = answer.head["complaint"]
    return complaint
