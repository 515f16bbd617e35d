"""Every rule on every case, for one engine after the other, each in its host.

A process that dies costs its engine the rest of one rule on one case. What was being tried is
known (`harness.protocol_checks.service.Bookmark`), and is tried again at once in a new process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.inputs.canonical_tokens import Canonical
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.protocol_checks.places import Thoroughness
from harness.protocol_checks.rules import RULES, RuleResult, Violation, read_result
from harness.protocol_checks.service import Bookmark
from harness.protocol_checks.trial import Tokens, text_of
from harness.workers import wire
from harness.workers.hosts import Ended, Host, HostSpec
from harness.workers.outcomes import Crashed
from harness.workers.temporary_directories import saved_vocabulary

if TYPE_CHECKING:
    from harness.engines.specs import EngineSpec

REFERENCES = 2
"""Valid instances of a case that are led along."""
_SLOW = {"whole": 0, "tokens": 100}
"""How much is tried where a mask takes milliseconds and more."""


@dataclass(frozen=True)
class Settings:
    """What all engines of a run have in common.

    Attributes:
        how: How much is tried; less where an engine's masks are slow.
        seconds: Processor time of one request.
        memory: Bytes that a host may take.
    """

    vocabulary: Vocabulary
    how: Thoroughness = field(default_factory=Thoroughness)
    seconds: float = 120.0
    memory: int = 4 << 30


@dataclass(frozen=True)
class CaseResult:
    """What became of one engine on one case.

    Attributes:
        schema: The case's, as JSON text.
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


class NotBegun(LookupError):
    """Nothing can be asked: why."""


class EngineHost:
    """One engine in its host, opened again when that has ended."""

    def __init__(self, spec: EngineSpec, settings: Settings, directory: Path) -> None:
        self.spec, self.version = spec, spec.version or ""
        self._settings = settings
        self._files = {name: str(directory / name) for name in ("vocabulary", "bookmark")}
        self._bookmark = Bookmark(directory / "bookmark")
        self._case: dict[str, Any] | None = None
        service = "harness.protocol_checks.service:CheckService"
        self._host = Host(
            HostSpec(spec.name, service, spec.interpreter, spec.paths, settings.memory)
        )
        self.close = self._host.close

    def begin(self, schema: str, references: Sequence[Any], key: str, samples: int | None) -> Any:
        """Have a schema compiled; what the service says of it. Raises `NotBegun`.

        `samples` are as many as the settings say where they are None.
        """
        how = replace(self._settings.how, **(_SLOW if self.spec.slow_masks else {}))
        how = how if samples is None else replace(how, samples=samples)
        request = {"schema": schema, "references": references, "key": key, "how": vars(how)}
        self._case = None
        self._open()
        answer = self._asked("case", request)
        if not isinstance(answer, wire.Message):
            raise NotBegun(f"its process {answer.message}")
        if answer.head["refused"] is not None:
            raise NotBegun(f"it refuses the schema: {answer.head['refused']}")
        self._case = request
        return answer.head

    def result(self, case: Case, rule: str) -> RuleResult:
        """Hold a rule against the case that was begun. Raises `NotBegun`."""
        answer = self._ask("rule", rule=rule, key=case.id)
        if isinstance(answer, wire.Message):
            return read_result(answer.head)
        ended = f"its process {answer.message}"
        marked = self._bookmark.read()
        if not isinstance(answer, Crashed) or marked is None:
            return RuleResult(ended=ended, crashed=isinstance(answer, Crashed))
        consumed, tokens = marked
        try:
            again = self._retry(rule, consumed, tokens) == ended
        except LookupError:
            again = False
        text = text_of(self._settings.vocabulary, consumed)
        witness = Violation(consumed, tokens, ended, again, text)
        return RuleResult(ended=ended, crashed=True, violated=[witness])

    def replay(self, result: CaseResult, rule: str, violation: Violation) -> str | None:
        """Try again from nothing: the complaint, or None where it does not show any more.

        Raises:
            LookupError: The trial cannot be repeated: why.
        """
        self.begin(result.schema, [], result.case, samples=0)
        return self._retry(rule, violation.consumed, violation.tokens)

    def _retry(self, rule: str, consumed: Tokens, tokens: Tokens | None) -> str | None:
        given = None if tokens is None else list(tokens)
        answer = self._ask("trial", rule=rule, consumed=list(consumed), tokens=given)
        if isinstance(answer, Crashed):
            return f"its process {answer.message}"
        if not isinstance(answer, wire.Message):
            raise LookupError(f"its process {answer.message}")
        if not answer.head["reached"]:
            raise LookupError("it does not consume the tokens before")
        complaint: str | None = answer.head["complaint"]
        return complaint

    def _ask(self, command: str, **request: Any) -> wire.Message | Ended:
        """Ask about the case that was begun; a process that has ended is started again."""
        if not self._host.running:
            if (case := self._case) is None:
                raise NotBegun("its process ended, and did so again over the schema")
            self.begin(case["schema"], case["references"], case["key"], case["how"]["samples"])
        return self._asked(command, request)

    def _open(self) -> None:
        if self._host.running:
            return
        if (ended := self._host.start()) is not None:
            raise NotBegun(f"its process {ended.message}")
        about = {"engine": self.spec.reference, "options": dict(self.spec.options)}
        answer = self._asked("open", {**about, **self._files})
        if not isinstance(answer, wire.Message):
            self._host.stop()
            raise NotBegun(answer.message)
        self.version = answer.head["version"]

    def _asked(self, command: str, request: Mapping[str, Any]) -> wire.Message | Ended:
        self._bookmark.clear()
        return self._host.request({"command": command, **request}, limit=self._settings.seconds)


@contextlib.contextmanager
def hosted(spec: EngineSpec, settings: Settings) -> Iterator[EngineHost]:
    """An engine that can be tried."""
    with (
        saved_vocabulary(settings.vocabulary) as file,
        contextlib.closing(EngineHost(spec, settings, file.parent)) as host,
    ):
        yield host


def run_checks(spec: EngineSpec, cases: Iterable[Case], settings: Settings) -> Iterator[CaseResult]:
    """Hold the rules against an engine, one case after the other."""
    canonical = Canonical.of(settings.vocabulary)
    with hosted(spec, settings) as host:
        for case in cases:
            rules: dict[str, RuleResult] = {}
            about: Mapping[str, Any] = {"documented": {}, "by_adapter": False}
            reason = ""
            try:
                references = [_reference(one.text, canonical) for one in case.valid[:REFERENCES]]
                about = host.begin(case.schema, references, case.id, None)
                for rule in RULES:
                    rules[rule] = host.result(case, rule)
            except NotBegun as error:
                reason = str(error)
            known = {rule: words for rule, words in about["documented"].items() if rule in rules}
            which = (spec.name, host.version, case.id, case.schema)
            yield CaseResult(*which, rules, reason, known, about["by_adapter"])


def _reference(text: bytes, canonical: Canonical | None) -> tuple[str, dict[str, int]]:
    starts = {} if canonical is None else canonical.starts(text)
    return text.decode("latin-1"), {str(at): token for at, token in starts.items()}
