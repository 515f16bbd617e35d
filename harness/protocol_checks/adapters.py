"""An adapter is one more library under test: it keeps all rules along texts, and some duties.

Tests call `check_adapter` and what follows it. ``maskcourt engines verify`` (`verify`) asks the
same in the engine's host, one request for each check: what crashes or hangs there is known of the
check at which it did, and the others go on in a new host. What a schema allows is not judged: an
engine may refuse a schema of the suite, or write it in another way; that is said then.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import Engine, Matcher, Refused, complete_options, library_of
from harness.protocol_checks.places import Thoroughness, along, places_of
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.smoke import ContractBroken, check_rules, known_bytes, opened
from harness.protocol_checks.trial import Subject, Tokens, text_of
from harness.workers import wire
from harness.workers.host_process import load
from harness.workers.hosts import Host, HostSpec
from harness.workers.outcomes import TimedOut
from harness.workers.temporary_directories import saved_vocabulary

if TYPE_CHECKING:
    from harness.engines.specs import EngineSpec

OBJECT = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3},
            "n": {"type": "integer"},
        },
        "required": ["name", "tags", "n"],
        "additionalProperties": False,
    }
)
_WRITTEN = (
    '{"name": "the é\\n日b😀", "tags": ["red", "blue"], "n": -12}',
    '{"name":"","tags":[],"n":0}',
)
_UNION = '{"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}}]}'
_SUITE: Mapping[str, tuple[str, Sequence[str]]] = {
    "an object": (OBJECT, _WRITTEN),
    "an integer": ('{"type": "integer"}', ["0", "120"]),
    "null or an array": (_UNION, ["null", "[1, 2.5]"]),
    "a short string": ('{"type": "string", "maxLength": 3}', ['"ab"', '"日本a"']),
    "an enum": ('{"enum": [1, 12, "a", null]}', ["1", '"a"']),
}
TEXTS: Mapping[str, Sequence[str]] = dict(_SUITE.values())
"""Schemas, with texts of each that engines of every make are led along."""
SUITE = Thoroughness(positions=7, tokens=400)


class NotAllowed(ContractBroken):
    """The engine does not allow a text that it was to be led along."""


def check_adapter(
    engine: Engine,
    vocabulary: Vocabulary,
    texts: Mapping[str, Sequence[str]],
    how: Thoroughness = SUITE,
    *,
    special_is_text: bool = False,
) -> None:
    """Hold an adapter to every rule along texts, by schema; each must be allowed in some tokens.

    Raises `ContractBroken` where it breaks a rule, `NotAllowed` where it does not allow a text.
    """
    for schema, some in texts.items():
        start = engine.compile(schema)
        routes = [route(start, vocabulary, text) for text in some]
        names = [name for name in RULES if not (special_is_text and name == "special")]
        subject = Subject(library_of(start.clone, vocabulary.eos_ids), vocabulary)
        try:
            check_rules(subject, [*places_of(routes, vocabulary, how, schema)], names)
        except ContractBroken as error:
            raise ContractBroken(f"{schema}: {error}") from error


def route(start: Matcher, vocabulary: Vocabulary, text: str) -> Tokens:
    """Tokens that write a text, drawn from those allowed, and an end; raises `NotAllowed`."""
    draws, data = random.Random(text), text.encode()  # noqa: S311 - to be repeated

    def tokens_at(offset: int) -> list[int]:
        some = vocabulary.starts(data, offset)
        return draws.sample(some, len(some))

    way = along(start.clone(), vocabulary, data, tokens_at)
    if way[-1:] != (vocabulary.eos,):
        after = text_of(vocabulary, way)
        raise NotAllowed(f"{text}: nothing that goes on so is allowed after {after!r}")
    return way


def check_refusal(engine: Engine, schema: str, message: str) -> None:
    """The engine declines `schema` with its own message, in which `message` is found."""
    try:
        engine.compile(schema)
    except Refused as refusal:
        if re.search(message, str(refusal)):
            return
        raise ContractBroken(f"refuses {schema} with {str(refusal)!r}") from refusal
    raise ContractBroken(f"compiles {schema}")


def check_identity(engine: Engine, version: str | None = None) -> None:
    """The engine says which it is: distribution, exact version, all options.

    A server is no distribution: its version is its release, its options are those of its backends.
    """
    kind: Any = type(engine)
    info = engine.info
    if version not in (None, info.version):
        raise ContractBroken(f"is {info.version}, not {version}")
    driven = info.packages.get(kind.DISTRIBUTION)
    if kind.DISTRIBUTION and driven != info.version:
        raise ContractBroken(f"is {info.version}, its distribution {driven}")
    known = list(complete_options(kind.OPTIONS, {}))
    if kind.DISTRIBUTION and list(info.options) != known:
        raise ContractBroken(f"has options {list(info.options)}, not {known}")


KEPT, BROKEN, OPEN = "kept", "broken", "not judged"

_SMALL, _TWO_ENDS, _GIVEN = "a small vocabulary", "two ends", "the given vocabulary"
_UNKNOWN = '{"$ref": "#/nope"}'


@dataclass(frozen=True)
class Finding:
    """What became of one check: `KEPT`, `BROKEN` or `OPEN`, and what there is to say of it."""

    check: str
    outcome: str
    words: str = ""


class _NotJudged(Exception):
    """Nothing can be said: why."""


class VerificationService:
    """Answers a request by a check's name with its outcome; the first request says of what."""

    def handle(self, message: wire.Message) -> wire.Message:
        """Run one check."""
        if "engine" in message.head:
            self.about, self.on = message.head, cache(self._opened)
        outcome, words = self._outcome(CHECKS[message.head["check"]])
        return wire.Message({"outcome": outcome, "words": words[:2000]})

    def _opened(self, which: str) -> tuple[Any, Vocabulary]:
        """The engine with a vocabulary."""
        if which == _GIVEN:
            vocabulary = Vocabulary.load(self.about["vocabulary"])
        else:
            vocabulary = hostile_vocabulary(2 if which == _TWO_ENDS else 1)
        return opened(load(self.about["engine"]), vocabulary, self.about["options"]), vocabulary

    def _outcome(self, check: Check) -> tuple[str, str]:
        try:
            return KEPT, check(self)
        except _NotJudged as reason:
            return OPEN, str(reason)
        except (ContractBroken, MaskcourtError) as error:
            return BROKEN, str(error)
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of a native engine is none of Exception
            *_, (place, _) = traceback.walk_tb(error.__traceback__)
            where = f"{place.f_code.co_filename.rpartition('/')[2]}:{place.f_lineno}"
            return BROKEN, f"it raises {type(error).__name__}: {error} (at {where})"


def _trifle(service: VerificationService) -> str:
    service.on(_SMALL)
    return ""


def _identity(service: VerificationService) -> str:
    engine, _ = service.on(_SMALL)
    check_identity(engine, service.about["version"])
    return f"{engine.info.name} {engine.info.version}"


def _bytes(which: str, service: VerificationService) -> str:
    engine, vocabulary = service.on(which)
    known, wrong = known_bytes(engine, vocabulary)
    words = f"asked about {len(known):,} of {len(vocabulary.ordinary):,} ordinary tokens"
    if wrong and not getattr(engine, "bytes_differ_on_purpose", False):
        first = f"{wrong[0]}: {known[wrong[0]]!r} in place of {vocabulary.tokens[wrong[0]]!r}"
        raise ContractBroken(f"{words}: {len(wrong):,} have other bytes, as {first}")
    return f"{words}; {len(wrong):,} have other bytes on purpose" if wrong else words


def _texts(which: str, schema: str, service: VerificationService) -> str:
    engine, vocabulary = service.on(which)
    allowed, reason = [], ""
    try:
        start = engine.compile(schema)
        for text in TEXTS[schema]:
            try:
                route(start, vocabulary, text)
                allowed.append(text)
            except NotAllowed as error:
                reason = f"it allows none of the texts: {error}"
    except Refused as refusal:
        reason = f"it refuses the schema: {refusal}"
    if not allowed:
        raise _NotJudged(reason)
    how = Thoroughness(positions=4, tokens=400) if vocabulary.size > 2000 else SUITE
    leaks = bool(getattr(engine, "bytes_differ_on_purpose", False))
    check_adapter(engine, vocabulary, {schema: allowed}, how, special_is_text=leaks)
    return f"{len(allowed)} of {len(TEXTS[schema])} texts, to the end"


def _ends(service: VerificationService) -> str:
    for schema in TEXTS:
        with contextlib.suppress(_NotJudged):
            return _texts(_TWO_ENDS, schema, service)
    raise _NotJudged("it allows no text of the suite")


def _refusal(service: VerificationService) -> str:
    engine, _ = service.on(_SMALL)
    try:
        engine.compile(_UNKNOWN)
    except Refused as refusal:
        if not str(refusal).strip():
            raise ContractBroken("it refuses without a word") from refusal
        return str(refusal)
    return f"it compiles {_UNKNOWN}"


Check = Callable[[VerificationService], str]

_AGREE = "mask, consume, clone and follow agree on "


def _agreeing(which: str, where: str = "") -> dict[str, Check]:
    return {
        f"{_AGREE}{name}{where}": partial(_texts, which, one) for name, (one, _) in _SUITE.items()
    }


CHECKS: dict[str, Check] = {
    "it compiles, masks, consumes, refuses and ends on a trifle": _trifle,
    "it says which engine it is": _identity,
    "it holds the bytes of a small vocabulary": partial(_bytes, _SMALL),
    **_agreeing(_SMALL),
    "several ends mean the same": _ends,
    "it refuses in words": _refusal,
    "it holds the bytes of the given vocabulary": partial(_bytes, _GIVEN),
    **_agreeing(_GIVEN, ", with the given vocabulary"),
}
"""What is checked, in this order."""


def verify(
    spec: EngineSpec, vocabulary: Vocabulary, seconds: float, memory: int
) -> Iterator[Finding]:
    """Hold an adapter to the contract; what becomes of each check, as it becomes known.

    Where the first fails, the others would say no more. Beside the small vocabularies of the suite
    `vocabulary` is tried; each check has so many seconds of processor time and bytes of memory.
    """
    service = "harness.protocol_checks.adapters:VerificationService"
    host = Host(HostSpec(spec.name, service, spec.interpreter, spec.paths, memory))
    with saved_vocabulary(vocabulary) as file, contextlib.closing(host):
        about = {"engine": spec.reference, "options": dict(spec.options), "version": spec.version}
        about["vocabulary"] = str(file)
        written = False
        for number, name in enumerate(CHECKS):
            finding = Finding(name, *_asked(host, name, about, seconds))
            yield finding
            written |= finding.outcome == KEPT and name.startswith(_AGREE)
            if finding.outcome == BROKEN and not number:
                return
        if not written:
            yield Finding("it writes any text of the suite", BROKEN, "none is allowed to its end")


def _asked(host: Host, name: str, about: dict[str, Any], seconds: float) -> tuple[str, str]:
    fresh = not host.running
    if fresh and (ended := host.start()) is not None:
        return BROKEN, f"its process {ended.message}"
    match host.request({"check": name, **(about if fresh else {})}, limit=seconds):
        case wire.Message(head):
            return head["outcome"], head["words"]
        case TimedOut():
            return OPEN, f"not done within {seconds:g} s of processor time"
        case ended:
            return BROKEN, f"its process {ended.message}"
