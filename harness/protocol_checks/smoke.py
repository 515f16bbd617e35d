"""Can an adapter drive the library that is there? Found out on a trifle, before anything counts.

An adapter that was written for another version raises, or contradicts itself, in every case; that
would stand in a run as crashes of the engine. What a trifle allows is not judged, and an engine may
refuse it: `harness.protocol_checks.adapters` asks more, and takes longer.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.errors import MaskcourtError, UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, Matcher, Refused, complete_options, library_of
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import RuleResult, Subject, TrialPlace, along, hold

CANNOT_DRIVE = "this adapter cannot drive"

_TRIFLES = {
    '{"type": "boolean"}': b"true",
    '{"enum": [true]}': b"true",
    '{"type": "array", "items": {"type": "boolean"}}': b"[true]",
}
"""Schemas with a text of each; the first that an engine compiles is tried."""
_PROBES = ("mask_written", "beyond", "mask_consume", "attempt", "clone", "validate", "end_again")


class ContractBroken(AssertionError):
    """An adapter breaks a rule: which and how."""


def opened(kind: Any, vocabulary: Vocabulary, options: Any) -> Engine:
    """An engine of class `kind` that keeps some rules on a trifle.

    With the vocabulary of Qwen2.5 that takes 0.1 s of a processor.

    Raises:
        UsageError: The adapter cannot drive the library, in words; or the adapter's own.
        ImportError: The library is not there.
    """
    distribution = str(getattr(kind, "DISTRIBUTION", ""))
    try:
        with _raised_when("it is made"):
            engine: Engine = kind(vocabulary, options)
        for schema, text in _TRIFLES.items():
            with contextlib.suppress(Refused):
                with _raised_when(f"it compiles {schema}"):
                    start = engine.compile(schema)
                _try(start, text, vocabulary)
                break
    except ContractBroken as broken:
        try:
            installed = version(distribution)
        except (PackageNotFoundError, ValueError):
            raise (broken.__cause__ or broken) from None
        tested = getattr(kind, "TESTED", None)
        hint = f"it was tested with {tested}" if tested else None
        raise UsageError(f"{CANNOT_DRIVE} {distribution} {installed}: {broken}", hint) from broken
    return engine


def known_bytes(engine: Engine, vocabulary: Vocabulary) -> tuple[dict[int, bytes], list[int]]:
    """What the library holds for each ordinary token about which it can be asked; what is wrong."""
    ordinary = list(vocabulary.ordinary)
    by_token = dict(zip(ordinary, engine.token_bytes(ordinary), strict=True))
    known = {token: text for token, text in by_token.items() if text is not None}
    return known, [token for token, text in known.items() if text != vocabulary.tokens[token]]


def check_bytes(engine: Any, vocabulary: Vocabulary) -> str:
    """The library holds the bytes of the vocabulary; about how many tokens it could be asked."""
    known, wrong = known_bytes(engine, vocabulary)
    words = f"asked about {len(known):,} of {len(vocabulary.ordinary):,} ordinary tokens"
    if wrong and not getattr(engine, "bytes_differ_on_purpose", False):
        first = f"{wrong[0]}: {known[wrong[0]]!r} in place of {vocabulary.tokens[wrong[0]]!r}"
        raise ContractBroken(f"{words}: {len(wrong):,} have other bytes, as {first}")
    return f"{words}; {len(wrong):,} have other bytes on purpose" if wrong else words


def check_identity(engine: Engine, version: str | None = None) -> str:
    """The engine says which it is: distribution, exact version, all options; what it says.

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
    return f"{info.name} {info.version}"


def _try(start: Matcher, text: bytes, vocabulary: Vocabulary) -> None:
    """Hold some rules at the start and at the end of a text, as far as it is allowed."""
    # a vocabulary's own index of starts takes a quarter of a second to be made
    pieces = {token: one for token, one in enumerate(vocabulary.tokens) if one and one in text}
    longest_first = sorted(pieces, key=lambda token: -len(pieces[token]))

    def tokens_at(offset: int) -> list[int]:
        return [token for token in longest_first if text.startswith(pieces[token], offset)]

    with _raised_when("it is led along a text"):
        way = along(start.clone(), vocabulary, text, tokens_at)
    subject = Subject(library_of(start.clone, vocabulary.eos_ids), vocabulary)
    end = len(way) - (way[-1:] == (vocabulary.eos,))
    draws = random.Random(0)  # noqa: S311 - to be repeated
    places = [TrialPlace(way[:at], way[at:], draws, sweep=16) for at in dict.fromkeys((0, end))]
    check_rules(subject, places, _PROBES)


def check_rules(subject: Subject, places: Sequence[TrialPlace], names: Iterable[str]) -> None:
    """Hold rules at places; raises as `check_result`."""
    for name in names:
        check_result(name, hold(RULES[name], subject, places))


def check_result(name: str, result: RuleResult) -> None:
    """Raise `ContractBroken` where a rule is broken, or cannot be judged for an exception."""
    for one in result.violated:
        raise ContractBroken(f"{name}: after {one.written!r}, {one.complaint}")
    if result.failed:
        raise ContractBroken(f"{name}: it raises {result.words}")


@contextlib.contextmanager
def _raised_when(when: str) -> Iterator[None]:
    """What is raised, as `ContractBroken`; what is meant for somebody else passes."""
    try:
        yield
    except (Refused, MaskcourtError, MemoryError):
        raise
    except BaseException as error:  # a panic of a native engine is none of Exception
        message = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
        raise ContractBroken(f"when {when}, it raises {message}") from error
