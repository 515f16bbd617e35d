"""``maskcourt engines verify``: the contract suite held against any adapter, told in words.

The checks run in the engine's host, one request each: what crashes or hangs there is told of the
check at which it did, and the others go on in a new host. An engine may refuse a schema of the
suite, or write it in another way; no text of it can be held against the engine then, and that is
said.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from harness.engines.contract import (
    TEXTS,
    Contract,
    ContractBroken,
    NotAllowed,
    check_identity,
    small_vocabulary,
)
from harness.engines.smoke import made
from harness.engines.specs import EngineSpec
from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, Refused
from harness.workers import wire
from harness.workers.host_process import load
from harness.workers.hosts import Host, HostSpec
from harness.workers.outcomes import TimedOut
from harness.workers.temporary_directories import saved_vocabulary

KEPT, BROKEN, OPEN = "kept", "broken", "not judged"

_SMALL, _TWO_ENDS, _GIVEN = "a small vocabulary", "two ends", "the given vocabulary"
_UNKNOWN = '{"$ref": "#/nope"}'


@dataclass(frozen=True)
class Finding:
    """What became of one check.

    Attributes:
        check: What was checked.
        outcome: `KEPT`, `BROKEN` or `OPEN`.
        words: What there is to say of it.
    """

    check: str
    outcome: str
    words: str = ""


class _NotJudged(Exception):
    """Nothing can be said: why."""


@dataclass
class _Subject:
    """An adapter's class and options, and its engines by vocabulary, made when they are wanted."""

    kind: Any
    options: dict[str, Any]
    version: str | None
    path: str
    engines: dict[str, Engine] = field(default_factory=dict)
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)

    def on(self, which: str) -> tuple[Engine, Vocabulary]:
        if which not in self.engines:
            if which == _GIVEN:
                vocabulary = Vocabulary.load(self.path)
            else:
                vocabulary = small_vocabulary(2 if which == _TWO_ENDS else 1)
            self.engines[which] = made(self.kind, vocabulary, self.options)
            self.vocabularies[which] = vocabulary
        return self.engines[which], self.vocabularies[which]


def _identity(subject: _Subject) -> str:
    engine, _ = subject.on(_SMALL)
    check_identity(engine, subject.version)
    return f"{engine.info.name} {engine.info.version}"


def _bytes(which: str, subject: _Subject) -> str:
    engine, vocabulary = subject.on(which)
    ordinary = list(vocabulary.ordinary)
    known = dict(zip(ordinary, engine.token_bytes(ordinary), strict=True))
    asked = [token for token, text in known.items() if text is not None]
    wrong = [token for token in asked if known[token] != vocabulary.tokens[token]]
    asked_about = f"asked about {len(asked):,} of {len(ordinary):,} ordinary tokens"
    if wrong and not getattr(engine, "bytes_differ_on_purpose", False):
        first = f"{wrong[0]}: {known[wrong[0]]!r} in place of {vocabulary.tokens[wrong[0]]!r}"
        raise ContractBroken(f"{asked_about}: {len(wrong):,} have other bytes, as {first}")
    return f"{asked_about}; {len(wrong):,} have other bytes on purpose" if wrong else asked_about


def _texts(which: str, schema: str, subject: _Subject) -> str:
    engine, vocabulary = subject.on(which)
    leaks = bool(getattr(engine, "bytes_differ_on_purpose", False))
    large = vocabulary.size > 2000
    contract = Contract(vocabulary, 400 if large else 2000, 0, 2 if large else 5, leaks)
    try:
        lead = contract.leader(engine, schema)
    except Refused as refusal:
        raise _NotJudged(f"it refuses the schema: {refusal}") from refusal
    texts, allowed, stuck = TEXTS[schema], 0, ""
    for text in texts:
        try:
            lead(text)
            allowed += 1
        except NotAllowed as error:
            stuck = f"{text}: {error}"
        except ContractBroken as error:
            raise ContractBroken(f"{schema}, {text}: {error}") from error
    if not allowed:
        raise _NotJudged(f"it allows none of the texts: {stuck}")
    return f"{allowed} of {len(texts)} texts, to the end"


def _ends(subject: _Subject) -> str:
    for schema in TEXTS:
        with contextlib.suppress(_NotJudged):
            return _texts(_TWO_ENDS, schema, subject)
    raise _NotJudged("it allows no text of the suite")


def _refusal(subject: _Subject) -> str:
    engine, _ = subject.on(_SMALL)
    try:
        engine.compile(_UNKNOWN)
    except Refused as refusal:
        if not str(refusal).strip():
            raise ContractBroken("it refuses without a word") from refusal
        return str(refusal)
    return f"it compiles {_UNKNOWN}"


def _trifle(subject: _Subject) -> str:
    subject.on(_SMALL)
    return ""


Check = Callable[[_Subject], str]

_AGREE = "mask, consume, clone and follow agree on "

_SCHEMAS = dict(
    zip(
        ("an object", "an integer", "null or an array", "a short string", "an enum"),
        TEXTS,
        strict=True,
    )
)

CHECKS: dict[str, Check] = {
    "it compiles, masks, consumes, refuses and ends on a trifle": _trifle,
    "it says which engine it is": _identity,
    "it holds the bytes of a small vocabulary": partial(_bytes, _SMALL),
    **{f"{_AGREE}{what}": partial(_texts, _SMALL, one) for what, one in _SCHEMAS.items()},
    "several ends mean the same": _ends,
    "it refuses in words": _refusal,
    "it holds the bytes of the given vocabulary": partial(_bytes, _GIVEN),
    **{
        f"{_AGREE}{what}, with the given vocabulary": partial(_texts, _GIVEN, one)
        for what, one in _SCHEMAS.items()
    },
}
"""What is checked, in this order."""


class VerificationService:
    """Answers a request by a check's name with its outcome."""

    _subject: _Subject

    def handle(self, message: wire.Message) -> wire.Message:
        """Run one check; the first request says of what."""
        head = message.head
        if "engine" in head:
            self._subject = _Subject(
                load(head["engine"]), head["options"], head["version"], head["vocabulary"]
            )
        outcome, words = outcome_of(CHECKS[head["check"]], self._subject)
        return wire.Message({"outcome": outcome, "words": words[:2000]})


def outcome_of(check: Check, subject: _Subject) -> tuple[str, str]:
    """How a check ends."""
    try:
        return KEPT, check(subject)
    except _NotJudged as reason:
        return OPEN, str(reason)
    except (ContractBroken, MaskcourtError) as error:
        return BROKEN, str(error)
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a native engine is none of Exception
        *_, (place, _) = traceback.walk_tb(error.__traceback__)
        code = place.f_code
        where = f"{code.co_filename.rpartition('/')[2]}:{place.f_lineno}"
        return BROKEN, f"it raises {type(error).__name__}: {error} (at {where})"


def verify(
    spec: EngineSpec, vocabulary: Vocabulary, seconds: float, memory: int
) -> Iterator[Finding]:
    """Hold an adapter to the contract; what becomes of each check, as it becomes known.

    Where the first fails, the others would say no more.

    Args:
        spec: The engine, with an interpreter that has it.
        vocabulary: A large vocabulary, beside the small ones of the suite.
        seconds: Processor time for one check.
        memory: Bytes that the host may take.
    """
    host = Host(
        HostSpec(
            spec.name,
            "harness.engines.verification:VerificationService",
            spec.interpreter,
            spec.paths,
            memory,
        )
    )
    with saved_vocabulary(vocabulary) as file, contextlib.closing(host):
        subject = {
            "engine": spec.reference,
            "options": dict(spec.options),
            "version": spec.version,
            "vocabulary": str(file),
        }
        written = False
        for number, name in enumerate(CHECKS):
            finding = _asked(host, name, subject, seconds)
            yield finding
            written |= finding.outcome == KEPT and name.startswith(_AGREE)
            if finding.outcome == BROKEN and not number:
                return
        if not written:
            yield Finding("it writes any text of the suite", BROKEN, "none is allowed to its end")


def _asked(host: Host, name: str, subject: dict[str, Any], seconds: float) -> Finding:
    fresh = not host.running
    if fresh and (ended := host.start()) is not None:
        return Finding(name, BROKEN, f"its process {ended.message}")
    answer = host.request({"check": name, **(subject if fresh else {})}, limit=seconds)
    match answer:
        case wire.Message():
            return Finding(name, answer.head["outcome"], answer.head["words"])
        case TimedOut():
            return Finding(name, OPEN, f"not done within {seconds:g} s of processor time")
    return Finding(name, BROKEN, f"its process {answer.message}")
