"""An adapter is one more library under test: it keeps all rules along texts, and some duties.

``maskcourt engines verify`` (`verify`) asks in the engine's host: what crashes or hangs there is
known of the check at which it did, and the others go on in a new host. What a schema allows is not
judged: an engine may refuse a schema of the suite, or write it in another way; that is said then.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol_checks.checks import REFUSES, EngineHost, NotBegun, Settings, hosted
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.smoke import ContractBroken, check_result
from harness.protocol_checks.trial import Thoroughness
from harness.workers.outcomes import TimedOut

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


KEPT, BROKEN, OPEN = "kept", "broken", "not judged"

_UNKNOWN = '{"$ref": "#/nope"}'
_AGREE = "mask, consume, clone and follow agree on "


@dataclass(frozen=True)
class Finding:
    """What became of one check: `KEPT`, `BROKEN` or `OPEN`, and what there is to say of it."""

    check: str
    outcome: str
    words: str = ""


Check = Callable[[EngineHost], str]
"""Gives what there is to say; raises `ContractBroken`, or `NotBegun`."""


def _texts(schema: str, host: EngineHost) -> str:
    """Hold the adapter to all rules along texts of a schema."""
    texts = TEXTS[schema]
    about = host.begin(schema, list(map(str.encode, texts)), schema, adapter=True)
    if not about["finished"]:
        raise NotBegun("it allows none of the texts to its end")
    for rule in RULES:
        result = host.result(schema, rule)
        check_result(rule, result)
        if result.ended:
            kind = ContractBroken if result.crashed else NotBegun
            raise kind(f"{rule}: {result.ended}")
    return f"{about['finished']} of {len(texts)} texts, to the end"


def _ends(host: EngineHost) -> str:
    for schema in TEXTS:
        with contextlib.suppress(NotBegun):
            return _texts(schema, host)
    raise NotBegun("it allows no text of the suite")


def _refusal(host: EngineHost) -> str:
    try:
        host.begin(_UNKNOWN)
    except NotBegun as refusal:
        if refusal.ended is not None:
            raise
        if not (words := str(refusal).removeprefix(REFUSES).strip()):
            raise ContractBroken("it refuses without a word") from refusal
        return words
    return f"it compiles {_UNKNOWN}"


_AGREEING: Mapping[str, Check] = {
    f"{_AGREE}{name}": partial(_texts, schema) for name, (schema, _) in _SUITE.items()
}
_ON_SMALL: Mapping[str, Check] = {
    "it compiles, masks, consumes, refuses and ends on a trifle": EngineHost.open,
    "it says which engine it is": lambda host: host.ask("identity", version=host.spec.version),
    "it holds the bytes of a small vocabulary": lambda host: host.ask("bytes"),
    **_AGREEING,
    "it refuses in words": _refusal,
}
_ON_TWO_ENDS: Mapping[str, Check] = {"several ends mean the same": _ends}
_ON_GIVEN: Mapping[str, Check] = {
    "it holds the bytes of the given vocabulary": lambda host: host.ask("bytes"),
    **{f"{name}, with the given vocabulary": check for name, check in _AGREEING.items()},
}


def verify(
    spec: EngineSpec, vocabulary: Vocabulary, seconds: float, memory: int
) -> Iterator[Finding]:
    """Hold an adapter to the contract; what becomes of each check, as it becomes known.

    Where the first fails, the others would say no more. Beside the small vocabularies of the suite
    `vocabulary` is tried; a rule has `seconds` of processor time, the process `memory` in bytes.
    """
    written = False
    for on, checks in (
        (hostile_vocabulary(1), _ON_SMALL),
        (hostile_vocabulary(2), _ON_TWO_ENDS),
        (vocabulary, _ON_GIVEN),
    ):
        how = replace(SUITE, samples=0, positions=4 if on.size > 2000 else SUITE.positions)
        with hosted(spec, Settings(on, how, seconds, memory)) as host:
            for number, (name, check) in enumerate(checks.items()):
                finding = Finding(name, *_outcome(check, host))
                yield finding
                written |= finding.outcome == KEPT and name.startswith(_AGREE)
                if finding.outcome == BROKEN and checks is _ON_SMALL and not number:
                    return
    if not written:
        yield Finding("it writes any text of the suite", BROKEN, "none is allowed to its end")


def _outcome(check: Check, host: EngineHost) -> tuple[str, str]:
    try:
        return KEPT, check(host)
    except ContractBroken as error:
        return BROKEN, str(error)
    except NotBegun as error:
        is_open = error.ended is None or isinstance(error.ended, TimedOut)
        return OPEN if is_open else BROKEN, str(error)
