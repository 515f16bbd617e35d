"""Every rule on every case, for one engine after the other, each in its host.

A process that dies costs its engine the rest of one rule on one case. What was being tried is known
(`Bookmark`), and is tried again at once in a new process.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Refused, ServingEngine, library_of
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.smoke import check_bytes, check_identity, opened
from harness.protocol_checks.trial import (
    RuleResult,
    Subject,
    Thoroughness,
    Tokens,
    Violation,
    hold,
    judged,
    places_of,
    read_result,
    routes_of,
    text_of,
)
from harness.workers import wire
from harness.workers.hosts import Ended, Host, HostSpec
from harness.workers.outcomes import Crashed
from harness.workers.temporary_directories import memory_file, saved_vocabulary

if TYPE_CHECKING:
    from harness.engines.specs import EngineSpec
    from harness.inputs.cases import Case

REFUSES = "it refuses the schema: "
_ROOM = 1 << 20
"""Bytes of a bookmark."""


class Bookmark:
    """The trial that a process is at, in a file's memory that outlives it; put in microseconds."""

    def __init__(self, file: Path) -> None:
        with file.open("ab+") as opened:
            opened.truncate(_ROOM)
            self._memory = mmap.mmap(opened.fileno(), _ROOM)
        self._consumed: Tokens | None = None
        self._before = ""

    def clear(self) -> None:
        self._memory[:5] = b"null\n"

    def put(self, consumed: Tokens, tokens: Tokens | None) -> None:
        """Say what is going to be tried; None: something is looked for there."""
        if consumed is not self._consumed:  # a sweep stays at a place
            self._consumed, self._before = consumed, str(list(consumed))
        text = f"[{self._before}, {'null' if tokens is None else list(tokens)}]\n".encode()
        text = text if len(text) <= _ROOM else b"null\n"
        self._memory[: len(text)] = text

    def read(self) -> tuple[Tokens, Tokens | None] | None:
        """What was put there last; None where nothing is being tried, or it had no room."""
        match json.loads(self._memory[:].partition(b"\n")[0]):
            case [consumed, tokens]:
                return tuple(consumed), None if tokens is None else tuple(tokens)
        return None


class CheckService:
    """One engine and the case that was opened last, in the engine's host."""

    def handle(self, message: wire.Message) -> wire.Message:
        asked = dict(message.head)
        return wire.Message(getattr(self, f"_{asked.pop('command')}")(**asked))

    def _open(self, engine: str, options: Any, vocabulary: str, bookmark: str) -> dict[str, Any]:
        self._vocabulary = Vocabulary.load(vocabulary)
        self._bookmark = Bookmark(Path(bookmark))
        self._engine: Any = opened(pkgutil.resolve_name(engine), self._vocabulary, options)
        return {"version": self._engine.info.version}

    def _identity(self, version: str | None) -> dict[str, Any]:
        return {"words": check_identity(self._engine, version)}

    def _bytes(self) -> dict[str, Any]:
        return {"words": check_bytes(self._engine, self._vocabulary)}

    def _case(
        self, schema: str, references: Sequence[str], key: str, how: Any, *, adapter: bool = False
    ) -> dict[str, Any]:
        """Compile a schema for the adapter and for the library, and find the routes."""
        engine, vocabulary = self._engine, self._vocabulary
        try:
            start = engine.compile(schema)
            if isinstance(engine, ServingEngine) and not adapter:
                library = engine.library(schema)
            else:
                named = adapter and bool(getattr(engine, "bytes_differ_on_purpose", False))
                library = library_of(start.clone, vocabulary.eos_ids, special_is_text=named)
        except Refused as refusal:
            return {"refused": str(refusal)[:2000]}
        self._how = Thoroughness(**how)
        texts = [text.encode("latin-1") for text in references]
        self._routes = routes_of(start, vocabulary, texts, self._how, key)
        self._subject = Subject(library, vocabulary, self._bookmark.put)
        finished = sum(way[-1:] == (vocabulary.eos,) for way in self._routes)
        about = {"documented": dict(library.documented), "by_adapter": library.by_adapter}
        return {"refused": None, "finished": finished, **about}

    def _rule(self, key: str, rule: str) -> dict[str, Any]:
        places = places_of(self._routes, self._vocabulary, self._how, f"{key}/{rule}")
        return asdict(hold(RULES[rule], self._subject, places))

    def _trial(self, rule: str, consumed: Any, tokens: Any) -> dict[str, Any]:
        consumed, tokens = tuple(consumed), None if tokens is None else tuple(tokens)
        reached = self._subject.reaches(consumed)
        complaint = judged(RULES[rule], self._subject, consumed, tokens)
        return {"complaint": complaint, "reached": reached}


@dataclass(frozen=True)
class Settings:
    """What all engines of a run share; `seconds` of processor time a request, `memory` in bytes."""

    vocabulary: Vocabulary
    how: Thoroughness = field(default_factory=Thoroughness)
    seconds: float = 120.0
    memory: int = 4 << 30


@dataclass(frozen=True)
class CaseResult:
    """What became of one engine on one case."""

    engine: str
    version: str
    case: str
    schema: str
    """As JSON text."""
    rules: Mapping[str, RuleResult] = field(default_factory=dict)
    not_begun: str = ""
    """Why nothing, or nothing more, could be asked; else empty."""
    documented: Mapping[str, str] = field(default_factory=dict)
    """What the library's documentation says that it does otherwise, by rule."""
    by_adapter: bool = False
    """Whether the calls were an adapter's, not the library's own."""


class NotBegun(LookupError):
    """Nothing can be asked: why, and what ended it, if anything did."""

    def __init__(self, reason: str, ended: Ended | None = None) -> None:
        super().__init__(reason)
        self.ended = ended


class EngineHost:
    """One engine in its host, opened again when that has ended."""

    def __init__(
        self, spec: EngineSpec, settings: Settings, vocabulary: Path, bookmark: Path
    ) -> None:
        self.spec, self.version = spec, spec.version or ""
        self._settings = settings
        self._files = {"vocabulary": str(vocabulary), "bookmark": str(bookmark)}
        self._bookmark = Bookmark(bookmark)
        self._case: dict[str, Any] | None = None
        service = "harness.protocol_checks.checks:CheckService"
        memory = settings.memory
        self._host = Host(HostSpec(service, spec.interpreter, spec.paths, memory))
        self.close = self._host.close

    def open(self) -> str:
        """Start the process where it is down, and open the engine; its version, or `NotBegun`."""
        if self._host.running:
            return self.version
        if (ended := self._host.start()) is not None:
            raise NotBegun(self._words(ended), ended)
        options = dict(self.spec.options)
        answer = self._request("open", engine=self.spec.reference, options=options, **self._files)
        if not isinstance(answer, wire.Message):
            self._host.stop()
            raise NotBegun(answer.message, answer)
        self.version = str(answer.head["version"])
        return self.version

    def begin(
        self,
        schema: str,
        references: Sequence[bytes] = (),
        key: str = "",
        *,
        adapter: bool = False,
        **limits: int,
    ) -> Any:
        """Have a schema compiled; what the service says of it. Raises `NotBegun`.

        An `adapter` is asked itself; `limits` change the settings' `Thoroughness`.
        """
        slow = {"whole": 0, "tokens": 100} if self.spec.slow_masks else {}
        how = replace(self._settings.how, **slow, **limits)
        texts = [text.decode("latin-1") for text in references]
        request = {"schema": schema, "references": texts, "key": key, "adapter": adapter}
        return self._begin({**request, "how": asdict(how)})

    def _begin(self, request: dict[str, Any]) -> Any:
        self._case = None
        self.open()
        answer = self._request("case", **request)
        if not isinstance(answer, wire.Message):
            raise NotBegun(self._words(answer), answer)
        if answer.head["refused"] is not None:
            raise NotBegun(f"{REFUSES}{answer.head['refused']}")
        self._case = request
        return answer.head

    def result(self, key: str, rule: str) -> RuleResult:
        """Hold a rule against the case that was begun. Raises `NotBegun`."""
        answer = self._ask("rule", rule=rule, key=key)
        if isinstance(answer, wire.Message):
            return read_result(answer.head)
        ended, crashed, marked = self._words(answer), isinstance(answer, Crashed), None
        if crashed:
            marked = self._bookmark.read()
        if marked is None:
            return RuleResult(ended=ended, crashed=crashed)
        again = False
        with contextlib.suppress(LookupError):
            again = self._retry(rule, *marked) == ended
        text = text_of(self._settings.vocabulary, marked[0])
        return RuleResult(
            ended=ended, crashed=True, violated=[Violation(*marked, ended, again, text)]
        )

    def _retry(self, rule: str, consumed: Tokens, tokens: Tokens | None) -> str | None:
        answer = self._ask("trial", rule=rule, consumed=consumed, tokens=tokens)
        if isinstance(answer, Crashed):
            return self._words(answer)
        if not isinstance(answer, wire.Message):
            raise LookupError(self._words(answer))
        if not answer.head["reached"]:
            raise LookupError("it does not consume the tokens before")
        complaint: str | None = answer.head["complaint"]
        return complaint

    def ask(self, command: str, **request: Any) -> str:
        """What the engine says of itself, in words. Raises `NotBegun`."""
        self.open()
        answer = self._request(command, **request)
        if not isinstance(answer, wire.Message):
            raise NotBegun(self._words(answer), answer)
        return str(answer.head["words"])

    def _ask(self, command: str, **request: Any) -> wire.Message | Ended:
        """Ask about the case that was begun; a process that has ended is started again."""
        if not self._host.running:
            if self._case is None:
                raise NotBegun("its process ended, and did so again over the schema")
            self._begin(self._case)
        return self._request(command, **request)

    def _request(self, command: str, **request: Any) -> wire.Message | Ended:
        self._bookmark.clear()
        return self._host.request({"command": command, **request}, limit=self._settings.seconds)

    def _words(self, ended: Ended) -> str:
        return f"{'it raises' if self._host.running else 'its process'} {ended.message}"


@contextlib.contextmanager
def hosted(spec: EngineSpec, settings: Settings) -> Iterator[EngineHost]:
    with (
        saved_vocabulary(settings.vocabulary) as file,
        memory_file() as bookmark,
        contextlib.closing(EngineHost(spec, settings, file, bookmark)) as host,
    ):
        yield host


def run_checks(spec: EngineSpec, cases: Iterable[Case], settings: Settings) -> Iterator[CaseResult]:
    with hosted(spec, settings) as host:
        for case in cases:
            rules: dict[str, RuleResult] = {}
            about: Mapping[str, Any] = {"documented": {}, "by_adapter": False}
            reason = ""
            references = [one.text for one in case.valid[:2]]
            try:
                about = host.begin(case.schema, references, case.id)
                for rule in RULES:
                    rules[rule] = host.result(case.id, rule)
            except NotBegun as error:
                reason = str(error)
            known = {rule: words for rule, words in about["documented"].items() if rule in rules}
            which = (spec.name, host.version, case.id, case.schema)
            yield CaseResult(*which, rules, reason, known, about["by_adapter"])
