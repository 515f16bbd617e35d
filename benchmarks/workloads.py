"""What is measured on: fixed cases of MaskBench, cases of the benchmark's own, vocabularies."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.directories import MASKBENCH, fetched_path
from harness.errors import InputError
from harness.inputs.case_selection import open_cases
from harness.inputs.cases import Case, Instance
from harness.inputs.vocabulary import Vocabulary

_LISTED = Path(__file__).with_name("cases.json")

UNDECLARED = Case(
    "own---undeclared-keys",
    "own",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "ready": {"type": "boolean"},
                "name": {"type": "string"},
                "title": {"type": "string"},
            },
            "anyOf": [{"required": ["name"]}, {"required": ["title"]}],
        }
    ),
    (Instance.of({"ready": False, "name": "Anna"}),),
    (),
    "benchmarks/workloads.py",
    "engines split on the whole vocabulary where a key may be one that no property declares",
)

_ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "name", "tags"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Workload:
    """The cases of a run of the benchmark.

    Attributes:
        name: What data they are from.
        note: What a reader must know, or empty.
        whole: Cases with positions at which nearly the whole vocabulary is disputed.
        variety: Cases of all kinds.
        own: The case over which vocabulary and disputed tokens are varied.
        long: Makes a case whose reference has at least so many tokens.
    """

    name: str
    note: str
    whole: Sequence[Case]
    variety: Sequence[Case]
    own: Case
    long: Callable[[Vocabulary, int], Case]


def workload(spec: str | None, whole: int | None = None, variety: int | None = None) -> Workload:
    """The fixed cases of MaskBench that `spec` names, or that are where the harness looks.

    Args:
        spec: As in ``--cases``; None takes MaskBench where it is found, else the embedded cases.
        whole: Only the first so many cases of the first kind; None means all.
        variety: Likewise of the second.

    Raises:
        MaskcourtError: `spec` names no data, or data without the fixed cases.
    """
    source = open_cases(spec or ("maskbench" if maskbench_is_there() else "embedded"))
    listed = json.loads(_LISTED.read_text("utf-8"))
    known = source.index
    fixed = [[one for one in ids if one in known] for ids in listed.values()]
    if not fixed[0] or not fixed[1]:
        if spec not in (None, "embedded"):
            raise InputError(f"{source.name} holds none of the cases in {_LISTED.name}")
        some = list(source.read(_spread(list(known), variety or 12)))
        note = (
            "MaskBench is not there: the embedded cases, and a case of the benchmark's own for "
            "whole-vocabulary disputes. Figures are not comparable with those on MaskBench."
        )
        return Workload(source.name, note, (UNDECLARED,), some, UNDECLARED, long_text)
    by_id = {case.id: case for case in source.read([*fixed[0][:whole], *fixed[1][:variety]])}
    first, second = ([by_id[one] for one in ids if one in by_id] for ids in fixed)
    return Workload(source.name, "", first, second, UNDECLARED, long_text)


def maskbench_is_there() -> bool:
    """Whether the harness would find MaskBench by itself."""
    return bool(os.environ.get(MASKBENCH)) or fetched_path().exists()


def _spread(ids: Sequence[str], count: int) -> list[str]:
    """`count` of `ids`, evenly spread."""
    step = max(len(ids) // count, 1)
    return list(ids[::step][:count])


def long_text(vocabulary: Vocabulary, tokens: int) -> Case:
    """A case whose reference has at least `tokens` tokens: an array with items again and again.

    Its length is that of the greedy tokenisation.
    """
    items: list[Mapping[str, object]] = []
    each = len(vocabulary.encode_greedy(json.dumps([_item(0), _item(1)]).encode())) // 2
    count = max(tokens // each - 1, 0)
    items = [_item(number) for number in range(count)]
    while len(vocabulary.encode_greedy(json.dumps(items).encode())) < tokens:
        items.append(_item(len(items)))
    schema = json.dumps({"type": "array", "items": _ITEM})
    about = f"{len(items)} items"
    place = "benchmarks/workloads.py"
    return Case(f"own---items-{tokens}", "own", schema, (Instance.of(items),), (), place, about)


def _item(number: int) -> dict[str, object]:
    return {"id": number, "name": f"item {number % 10}", "tags": ["new", "sold"]}


def resized(vocabulary: Vocabulary, size: int, seed: int = 0) -> Vocabulary:
    """`vocabulary` with `size` ids: the first ones, or all and synthetic ones behind them.

    In byte-level BPE the first ids are a vocabulary themselves: the single bytes and the earliest
    merges. Synthetic tokens are two ordinary tokens joined, drawn with `seed`, so that each is
    what a merge could have made. The last id is the end of sequence; other special ids are left
    out.

    Raises:
        ValueError: `size` is too small for the single bytes and an end of sequence.
    """
    if size == vocabulary.size:
        return vocabulary
    ordinary = [
        text
        for text, special in zip(vocabulary.tokens, vocabulary.special.tolist(), strict=True)
        if not special
    ]
    if size <= 256:
        raise ValueError(f"a vocabulary of {size} ids has no room for all bytes and an end")
    tokens = ordinary[: size - 1]
    known = set(tokens)
    draw = random.Random(seed)  # noqa: S311 - nothing secret about it
    while len(tokens) < size - 1:
        joined = draw.choice(ordinary) + draw.choice(ordinary)
        if joined not in known:
            known.add(joined)
            tokens.append(joined)
    name = f"{vocabulary.name}-{size}"
    end = len(tokens)
    return Vocabulary.from_tokens(name, [*tokens, b"<end>"], [end], [end], vocabulary.pattern)
