"""Samples as evidence: texts that engines write themselves, and to whom each of them is fed.

An engine writes through nothing but its own masks. A text that came to its end is fed to every
engine in the tokenizer's canonical tokens; where it is not valid and its writer refuses these, to
its writer in those in which it wrote it. A text without an end is fed to its writer where that
proves something.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any

from harness.comparison.text_feeding import CaseTexts
from harness.comparison.verdict_record import FedText
from harness.completion.rollout import LIMIT, ROLLOUT_OUTCOMES
from harness.engines.requests import Follow, Write
from harness.jsontext.partial import layout_of
from harness.runs.tables import TEXT_TABLES
from harness.schemas.values import Values
from harness.schemas.variants import in_turn
from harness.schemas.violations import hints, odd_texts, violations
from harness.validators.judge import INVALID, UNDECIDED, VALID, Ruling
from harness.verdict_kinds import SAMPLE
from harness.workers import wire

SHARED, OWN = "shared", "own"
"""Whether every engine is fed with a text, or its writer alone."""

BATCH = 16
"""Texts that an engine writes in one request, which has a limit of time."""
_FREE = 3 / 8
"""How many of the texts are written freely; the others are alterations of known ones."""
_BASES, _OWN_BASES = 4, 2
"""Texts of which there are alterations: the case's own, and free ones."""
_LONGEST_BASE = 4000
"""Their bytes."""
_ALTERED = 400
"""Alterations that are judged, for an engine to write some of them."""
_ROOM = 12_000
"""Tokens of those that an engine is asked for, taken from all rules in turns."""

_PROVES = ("dead_end", "mask_consume_mismatch")
COMPLETE = "complete"
_STAGE = TEXT_TABLES[SAMPLE]


@dataclass(frozen=True)
class Sample:
    """One text as an engine wrote it; its end of sequence, where it has one, is among `tokens`."""

    writer: int
    outcome: str
    tokens: tuple[int, ...]
    text: bytes


def feed_samples(
    texts: CaseTexts, key: str, count: int, schema: Any, engines: Sequence[int]
) -> None:
    """Have engines write `count` texts each, and feed all with them."""
    samples = _written(texts, schema, key, texts.at_start(engines, _STAGE), count)
    up = [one for one in engines if texts.panel.up(one)]
    texts.samples = _feed(texts, samples, up)


def _written(
    texts: CaseTexts, schema: Any, key: str, engines: Sequence[int], count: int
) -> list[Sample]:
    """What engines write, `count` texts each.

    Some are written freely (`harness.completion.text_writer`). The others are valid texts with
    something else in one place (`harness.schemas.violations`): of those that were fed or, where
    there are none, of those that an engine itself wrote freely. Of every rule that they break, and
    of the valid ones, an engine writes the first that its masks allow to the end.
    """
    freely = math.ceil(count * _FREE)
    free = _freely(texts, Write(hints(schema), key, 0, freely, LIMIT), engines)
    valid = (one.text for one in texts.instances if one.ruling.verdict == VALID)
    bases = _bases(valid, _BASES)
    shared = _groups(texts, schema, bases) if bases else []
    groups = {
        engine: shared if bases else _groups(texts, schema, _valid(texts, some))
        for engine, some in free.items()
    }
    asks = {
        engine: Follow(wire.Ragged.of_ints(one.tokens for group in some for one in group), at=0)
        for engine, some in groups.items()
        if some and count > freely
    }
    guided = texts.ask(asks, _STAGE)
    found = []
    for engine, some in free.items():
        found += some
        if engine in guided:
            far = iter(guided[engine].values.tolist())
            allowed = [
                [one for one in group if next(far) == len(one.tokens)] for group in groups[engine]
            ]
            found += [
                Sample(engine, COMPLETE, one.tokens, one.text)
                for one in islice(in_turn(allowed), count - freely)
            ]
    return found


def _freely(texts: CaseTexts, request: Write, engines: Sequence[int]) -> dict[int, list[Sample]]:
    """Texts that engines write freely; those that fail are left out."""
    found: dict[int, list[Sample]] = {engine: [] for engine in engines}
    for first in range(0, request.count, BATCH):
        part = replace(request, first=first, count=min(BATCH, request.count - first))
        able = [engine for engine, some in found.items() if len(some) == first]
        for engine, answer in texts.ask(dict.fromkeys(able, part), _STAGE).items():
            for outcome, ids in zip(answer.outcomes.tolist(), answer.taken.ints(), strict=True):
                text = texts.vocabulary.text(ids)
                one = Sample(engine, ROLLOUT_OUTCOMES[outcome], tuple(ids), text)
                found[engine].append(one)
    return {engine: some for engine, some in found.items() if len(some) == request.count}


def _bases(valid: Iterable[bytes], most: int) -> list[bytes]:
    return list(islice((text for text in valid if len(text) <= _LONGEST_BASE), most))


def _valid(texts: CaseTexts, samples: Iterable[Sample]) -> list[bytes]:
    written = list(dict.fromkeys(one.text for one in samples if one.outcome == COMPLETE))
    ruled = zip(written, texts.judge.judge(written), strict=True)
    return _bases((text for text, ruling in ruled if ruling.verdict == VALID), _OWN_BASES)


def _groups(texts: CaseTexts, schema: Any, bases: Sequence[bytes]) -> list[list[FedText]]:
    """Texts that differ from `bases` in one place by the rule that they break, or break none."""
    values = Values(schema)
    layouts = map(layout_of, bases)
    broken = [
        [layout.dump(value, 0) for value in violations(values, schema, json.loads(text))]
        for layout, text in zip(layouts, bases, strict=True)
    ]
    odd = in_turn(odd_texts(text) for text in bases)
    some = list(islice(dict.fromkeys(in_turn([in_turn(broken), odd])), _ALTERED))
    with texts.judge.apart():
        rulings = texts.judge.judge(some)
    by_rule: dict[tuple[int, str, str], list[tuple[bytes, Ruling]]] = {}
    for text, ruling in zip(some, rulings, strict=True):
        if ruling.verdict in (VALID, INVALID):
            rule = (ruling.verdict, ruling.keyword, ruling.schema_pointer)
            by_rule.setdefault(rule, []).append((text, ruling))
    groups: list[list[FedText]] = [[] for _ in by_rule]
    room = _ROOM
    for turn in zip_longest(*by_rule.values()):
        for group, one in zip(groups, turn, strict=True):
            if one is not None and room > 0:
                fed = texts.in_tokens(SHARED, *one)
                room -= len(fed.tokens)
                group.append(fed)
    return groups


def _feed(texts: CaseTexts, samples: Sequence[Sample], engines: Sequence[int]) -> list[FedText]:
    """Feed samples to `engines`, and note what that proves; what all were fed with."""
    shared, writers = _shared(texts, samples)
    numbered = dict(enumerate(shared.values()))
    texts.proofs.texts(
        SAMPLE,
        numbered,
        writers=[writers[text] for text in shared],
        outcome=[COMPLETE] * len(shared),
    )
    taken = texts.feed(SAMPLE, dict.fromkeys(engines, numbered))
    allowed = {
        (engine, numbered[number].text)
        for engine, probes in taken.items()
        for number, probed in probes.items()
        if probed.allowed == len(numbered[number].tokens)
    }
    own = [
        (one, _as_written(one, shared))
        for one in dict.fromkeys(samples)
        if (one.writer in taken or not shared)
        and (one.outcome != COMPLETE or _is_open(one, shared, allowed))
    ]
    rows = {len(numbered) + at: fed for at, (_, fed) in enumerate(own)}
    texts.proofs.texts(
        SAMPLE,
        rows,
        writers=[1 << one.writer for one, _ in own],
        outcome=[one.outcome for one, _ in own],
    )
    mine: dict[int, dict[int, FedText]] = {}
    for (number, fed), (one, _) in zip(rows.items(), own, strict=True):
        if one.outcome in (COMPLETE, *_PROVES):
            mine.setdefault(one.writer, {})[number] = fed
    texts.feed(SAMPLE, mine)
    return list(shared.values())


def _shared(
    texts: CaseTexts, samples: Sequence[Sample]
) -> tuple[dict[bytes, FedText], dict[bytes, int]]:
    """The texts, not fed before, for every engine, and who wrote each, as a set of engines."""
    known = {one.text for one in texts.instances}
    writers: dict[bytes, int] = {}
    for one in samples:
        if one.outcome == COMPLETE and one.text not in known:
            writers[one.text] = writers.get(one.text, 0) | 1 << one.writer
    rulings = zip(writers, texts.judge.judge(list(writers)), strict=True)
    return {text: texts.in_tokens(SHARED, text, ruling) for text, ruling in rulings}, writers


def _is_open(one: Sample, shared: Mapping[bytes, FedText], allowed: set[tuple[int, bytes]]) -> bool:
    """Whether a text that is not valid is refused to its writer in other tokens."""
    fed = shared.get(one.text)
    return (
        fed is not None
        and fed.ruling.verdict != VALID
        and fed.tokens != one.tokens
        and (one.writer, one.text) not in allowed
    )


def _as_written(one: Sample, shared: Mapping[bytes, FedText]) -> FedText:
    if one.outcome == COMPLETE:
        return FedText(OWN, one.text, one.tokens, False, shared[one.text].ruling)
    return FedText(OWN, one.text, one.tokens, False, Ruling(UNDECIDED, one.outcome), ends=False)
