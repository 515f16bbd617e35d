"""Can an adapter drive the library that is there? Found out on a trifle, before anything counts.

An adapter that was written for another version raises, or contradicts itself, in every case; that
would stand in a run as crashes of the engine. What a trifle allows is not judged, and an engine may
refuse it: `harness.engines.contract` asks more, and takes longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.engines.adapter_faults import FaultFound, StateExaminer
from harness.engines.contract import ContractBroken, assert_same, mask_of
from harness.errors import MaskcourtError, UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, Matcher, Refused, allows, token_ids

CANNOT_DRIVE = "this adapter cannot drive"

_TRIFLES = (
    ('{"type": "boolean"}', b"true"),
    ('{"enum": [true]}', b"true"),
    ('{"type": "array", "items": {"type": "boolean"}}', b"[true]"),
)
"""Schemas with a text of each; the first that an engine compiles is tried."""


def made(kind: Any, vocabulary: Vocabulary, options: Any) -> Engine:
    """An engine of class `kind` that compiled, masked, consumed, refused and ended on a trifle.

    With the vocabulary of Qwen2.5 that takes 25 ms of xgrammar and llguidance, 120 of outlines.

    Raises:
        UsageError: The adapter cannot drive the library, in words; or the adapter's own.
        ImportError: The library is not there.
    """
    distribution = str(getattr(kind, "DISTRIBUTION", ""))
    try:
        with _told("it is made"):
            engine: Engine = kind(vocabulary, options)
        for schema, text in _TRIFLES:
            with contextlib.suppress(Refused):
                with _told(f"it compiles {schema}"):
                    start = engine.compile(schema)
                _lead(start, text, vocabulary)
                break
    except ContractBroken as broken:
        try:
            found = version(distribution)
        except (PackageNotFoundError, ValueError):
            raise (broken.__cause__ or broken) from None
        tested = getattr(kind, "TESTED", None)
        hint = f"it was tested with {tested}" if tested else None
        raise UsageError(f"{CANNOT_DRIVE} {distribution} {found}: {broken}", hint) from broken
    return engine


def _lead(matcher: Matcher, text: bytes, vocabulary: Vocabulary) -> None:
    """Along a text, as far as it is allowed; a forbidden token is tried first, the end last."""
    with _told("it masks"):
        mask = mask_of(matcher, vocabulary)
        examiner = StateExaminer(vocabulary)
        examiner.cut_off(mask, told=False)
    with _told("it consumes"):
        for token in token_ids(vocabulary.ordinary_mask & ~mask, vocabulary.size)[:1].tolist():
            if matcher.consume(token):
                raise ContractBroken(f"it takes token {token}, which its mask forbids")
            assert_same(mask_of(matcher, vocabulary), mask, "a token that it refuses moves it")
        at, tokens = 0, vocabulary.tokens
        # a vocabulary's own index of starts takes a quarter of a second to be made
        pieces = [token for token, one in enumerate(tokens) if one in text and one]
        while at < len(text):
            going_on = [one for one in pieces if text.startswith(tokens[one], at)]
            allowed = [one for one in going_on if allows(mask, one)]
            if not allowed:
                return
            token = max(allowed, key=lambda one: len(tokens[one]))
            if not matcher.consume(token):
                raise ContractBroken(f"it refuses token {token}, which its mask allows")
            mask = mask_of(matcher, vocabulary)
            at += len(tokens[token])
    with _told("it ends"):
        ended = matcher.clone()
        if allows(mask, vocabulary.eos):
            if not ended.consume(vocabulary.eos):
                raise ContractBroken("it refuses the end, which its mask allows")
            if mask_of(ended, vocabulary).any():
                raise ContractBroken("something is allowed behind the end")
        assert_same(mask_of(matcher, vocabulary), mask, "moved by its clone")
        examiner.examine(matcher, mask)
        examiner.try_faster_way(matcher, [], [mask], "trifle")


@contextlib.contextmanager
def _told(when: str) -> Iterator[None]:
    """What is raised, as what it is raised by; what is meant for somebody else passes."""
    try:
        yield
    except (Refused, ContractBroken, MaskcourtError, MemoryError):
        raise
    except FaultFound as found:
        raise ContractBroken(found.fault.message) from found
    except BaseException as error:  # a panic of a native engine is none of Exception
        message = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
        raise ContractBroken(f"when {when}, it raises {message}") from error
