"""The protocol court: every rule on every case, for one engine after the other, each in its host.

A process that dies costs its engine the rest of one rule on one case. What was being tried is
known (`harness.court.bookmark`), and is tried again at once in a new process: that is its witness.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.court.bookmark import Bookmark
from harness.court.routes import Thoroughness
from harness.court.rules import RULES, RuleResult, Violated, read_result
from harness.court.trial import Tokens, written
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
_SLOW = {"whole": 0, "tokens": 100}
"""How much is tried where a mask takes milliseconds and more."""


@dataclass(frozen=True)
class Bench:
    """What all engines of a hearing have in common.

    Attributes:
        vocabulary: The tokens.
        how: How much is tried; less where an engine's masks are slow.
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
        tokens: Those of the trial; None where it was still being looked for what to try.
    """

    rule: str
    case: str
    schema: str
    consumed: Tokens
    tokens: Tokens | None


@dataclass(frozen=True)
class Heard:
    """What became of one engine on one case.

    Attributes:
        engine: The engine's name.
        version: Its version.
        case: The case's id.
        schema: Its schema, as JSON text.
        rules: What was found, by rule.
        not_begun: Why nothing, or nothing more, could be asked; else empty.
        documented: What the library's documentation says that it does otherwise, by rule.
        by_adapter: Whether the calls were an adapter's, not the library's own.
    """

    engine: str
    version: str
    case: str
    schema: str
    rules: Mapping[str, RuleResult] = field(default_factory=dict)
    not_begun: str = ""
    documented: Mapping[str, str] = field(default_factory=dict)
    by_adapter: bool = False

    def trials(self) -> Iterator[tuple[StoredTrial, Violated]]:
        """Each violation with what is tried again."""
        for rule, result in self.rules.items():
            for one in result.violated:
                trial = StoredTrial(rule, self.case, self.schema, one.consumed, one.tokens)
                yield trial, one


class _NotBegun(Exception):
    """Nothing can be asked: why."""


class Dock:
    """One engine in its host, opened again when that has ended. Close it when done."""

    def __init__(self, spec: EngineSpec, bench: Bench, directory: Path) -> None:
        self.spec = spec
        self.version = spec.version or ""
        self._bench = bench
        self._vocabulary = directory / "vocabulary"
        self._bookmark_file = directory / "bookmark"
        self.bookmark = Bookmark(self._bookmark_file)
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

    def begin(
        self, schema: str, references: Sequence[Any], key: str, *, samples: bool = True
    ) -> Any:
        """Have a schema compiled; what the service says of it.

        Raises:
            _NotBegun: It is refused, or the process ended over it.
        """
        how = replace(self._bench.how, **(_SLOW if self.spec.slow_masks else {}))
        how = how if samples else replace(how, samples=0)
        request = {"schema": schema, "references": references, "key": key, "how": vars(how)}
        self._case = None
        self._up()
        answer = self._asked("case", request)
        if not isinstance(answer, wire.Message):
            raise _NotBegun(f"its process {answer.message}")
        if answer.head["refused"] is not None:
            raise _NotBegun(f"it refuses the schema: {answer.head['refused']}")
        self._case = request
        return answer.head

    def ask(self, command: str, **request: Any) -> wire.Message | Ended:
        """Ask about the case that was begun; a process that has ended is started again.

        Raises:
            _NotBegun: It cannot be brought back to the case.
        """
        if not self._host.running:
            if (case := self._case) is None:
                raise _NotBegun("its process ended, and did so again over the schema")
            self.begin(case["schema"], case["references"], case["key"])
        return self._asked(command, request)

    def written(self, consumed: Tokens) -> str:
        """What tokens write."""
        return written(self._bench.vocabulary, consumed)

    def _up(self) -> None:
        if self._host.running:
            return
        if (ended := self._host.start()) is not None:
            raise _NotBegun(f"its process {ended.message}")
        request = {
            "engine": self.spec.reference,
            "options": dict(self.spec.options),
            "vocabulary": str(self._vocabulary),
            "bookmark": str(self._bookmark_file),
        }
        answer = self._asked("open", request)
        if not isinstance(answer, wire.Message):
            self._host.stop()
            raise _NotBegun(answer.message)
        self.version = answer.head["version"]

    def _asked(self, command: str, request: Mapping[str, Any]) -> wire.Message | Ended:
        self.bookmark.clear()
        return self._host.request({"command": command, **request}, limit=self._bench.seconds)


@contextlib.contextmanager
def docked(spec: EngineSpec, bench: Bench) -> Iterator[Dock]:
    """An engine that can be tried."""
    with saved_vocabulary(bench.vocabulary) as file:
        dock = Dock(spec, bench, file.parent)
        with contextlib.closing(dock):
            yield dock


def hear(
    spec: EngineSpec, cases: Iterable[Case], bench: Bench, rules: Sequence[str] = tuple(RULES)
) -> Iterator[Heard]:
    """Hold the rules against an engine, one case after the other."""
    canonical = Canonical.of(bench.vocabulary)
    with docked(spec, bench) as dock:
        for case in cases:
            found: dict[str, RuleResult] = {}
            begun: Mapping[str, Any] = {"documented": {}, "by_adapter": False}
            words = ""
            try:
                references = [_reference(one.text, canonical) for one in case.valid[:REFERENCES]]
                begun = dock.begin(case.schema, references, case.id)
                for rule in rules:
                    found[rule] = _rule_result(dock, case, rule)
            except _NotBegun as reason:
                words = str(reason)
            kept = {rule: told for rule, told in begun["documented"].items() if rule in found}
            yield Heard(
                spec.name,
                dock.version,
                case.id,
                case.schema,
                found,
                words,
                kept,
                begun["by_adapter"],
            )


def _rule_result(dock: Dock, case: Case, rule: str) -> RuleResult:
    answer = dock.ask("rule", rule=rule, key=case.id)
    if isinstance(answer, wire.Message):
        return read_result(answer.head)
    ended = f"its process {answer.message}"
    marked = dock.bookmark.read()
    if not isinstance(answer, Crashed) or marked is None:
        return RuleResult(ended=ended, crashed=isinstance(answer, Crashed))
    trial = StoredTrial(rule, case.id, case.schema, marked.consumed, marked.tokens)
    try:
        again = retry(dock, trial, begun=True) == ended
    except LookupError:
        again = False
    written = dock.written(marked.consumed)
    witness = Violated(marked.consumed, marked.tokens, ended, again, written)
    return RuleResult(ended=ended, crashed=True, violated=[witness])


def _reference(text: bytes, canonical: Canonical | None) -> tuple[str, dict[str, int]]:
    starts = {} if canonical is None else canonical.starts(text)
    return text.decode("latin-1"), {str(at): token for at, token in starts.items()}


def retry(dock: Dock, trial: StoredTrial, *, begun: bool = False) -> str | None:
    """Try again from nothing: the complaint, or None where it does not show any more.

    Args:
        dock: The engine.
        trial: What to try.
        begun: Whether the trial's case is the one that was begun last.

    Raises:
        LookupError: The trial cannot be repeated: why.
    """
    tokens = None if trial.tokens is None else list(trial.tokens)
    try:
        if not begun:
            dock.begin(trial.schema, [], trial.case, samples=False)
        answer = dock.ask("trial", rule=trial.rule, consumed=list(trial.consumed), tokens=tokens)
    except _NotBegun as reason:
        raise LookupError(str(reason)) from reason
    if isinstance(answer, Crashed):
        return f"its process {answer.message}"
    if not isinstance(answer, wire.Message):
        raise LookupError(f"its process {answer.message}")
    if not answer.head["reached"]:
        raise LookupError("it does not consume the tokens before")
    complaint: str | None = answer.head["complaint"]
    return complaint
