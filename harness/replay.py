"""Replay: repeat stored verdicts from nothing, and say where that comes out differently.

For each verdict the schema is compiled anew; the accepting engine is led through the consumed
tokens, the disputed token and the completion, its mask looked at before every single token, the
end of sequence included; both validators judge the text; and for a false rejection the rejecting
engine is led to the position and must forbid the token there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import judge as rulings
from harness import wire
from harness.case_run import Rules
from harness.engines import parse_specs
from harness.environments import provide_all
from harness.errors import UsageError
from harness.judge import Judge, Unjudgeable
from harness.lanes import Lane, LaneSettings, save_vocabulary
from harness.outcomes import Compiled
from harness.panel import Ask, Limits
from harness.rollout import keyed_index
from harness.store import RunDirectory
from harness.vocabulary import Vocabulary
from harness.vocabulary_readers import open_vocabulary

REPLAYABLE = ("false_acceptance", "false_rejection", "contested")
"""Kinds of verdicts that may have a completion; an unresolved one proves nothing to repeat."""

_VERDICT = ("case", "walk", "position", "token", "engine", "kind", "accepter")

_EXPECTED = {
    "false_acceptance": rulings.INVALID,
    "false_rejection": rulings.VALID,
    "contested": rulings.CONTESTED,
}


@dataclass(frozen=True)
class Witness:
    """All that is needed to repeat one verdict.

    Attributes:
        number: The verdict's row in the run's table.
        case, walk, position, token, engine, kind: The verdict.
        accepter: The engine that allowed the completion.
        before: The consumed tokens.
        completion: The tokens behind the disputed one, end of sequence last.
        text: The completed text.
    """

    number: int
    case: str
    walk: int
    position: int
    token: int
    engine: str
    kind: str
    accepter: str
    before: tuple[int, ...]
    completion: tuple[int, ...]
    text: bytes


@dataclass(frozen=True)
class Replayed:
    """Whether a verdict came out again, and if not, what differed."""

    witness: Witness
    agrees: bool
    difference: str = ""

    def __str__(self) -> str:
        one = self.witness
        what = f"{one.number}: {one.kind.replace('_', ' ')} by {one.engine}"
        where = f"case {one.case}, position {one.position}, token {one.token}"
        said = "agrees" if self.agrees else f"DIFFERS: {self.difference}"
        return f"{what}, {where}: {said}"


def replayed_rows(results: Iterable[Replayed]) -> list[dict[str, Any]]:
    """One JSON object per replayed verdict."""
    return [
        {
            "verdict": one.witness.number,
            "case": one.witness.case,
            "walk": one.witness.walk,
            "position": one.witness.position,
            "token": one.witness.token,
            "engine": one.witness.engine,
            "kind": one.witness.kind,
            "text": one.witness.text.decode("utf-8", "backslashreplace"),
            "agrees": one.agrees,
            "difference": one.difference,
        }
        for one in results
    ]


def chosen(run: RunDirectory, numbers: Sequence[int], sample: int | None, seed: int) -> list[int]:
    """The rows of the verdicts to replay: those named, a seeded sample, or all with a witness.

    Raises:
        UsageError: A row does not exist, or has no witness.
    """
    table = run.table("verdicts")
    kinds = table["kind"].to_pylist()
    completions = table["completion"].to_pylist()
    able = [
        row
        for row, (kind, completion) in enumerate(zip(kinds, completions, strict=True))
        if kind in REPLAYABLE and completion >= 0
    ]
    if numbers:
        known = set(able)
        for row in numbers:
            if row not in known:
                raise UsageError(
                    f"verdict {row} of {run.path} has no witness"
                    if 0 <= row < len(kinds)
                    else f"{run.path} has no verdict {row}",
                    f"verdicts are numbered 0 to {len(kinds) - 1}",
                )
        return sorted(set(numbers))
    if sample is None or sample >= len(able):
        return able
    ranked = sorted(able, key=lambda row: (keyed_index(f"{seed}/replay/{row}", 1 << 62), row))
    return sorted(ranked[:sample])


def witnesses(run: RunDirectory, rows: Sequence[int], vocabulary: Vocabulary) -> list[Witness]:
    """The witnesses of verdicts, by their rows."""
    verdicts = run.table("verdicts").take(rows).to_pylist()
    wanted = {(one["case"], one["completion"]) for one in verdicts}
    completions = {
        key: tuple(one["tokens"])
        for one in run.table("completions").to_pylist()
        if (key := (one["case"], one["completion"])) in wanted
    }
    paths = _paths(run, {(one["case"], one["walk"]) for one in verdicts})
    return [
        _witness(row, one, paths, completions, vocabulary)
        for row, one in zip(rows, verdicts, strict=True)
    ]


def replay(
    run: RunDirectory, rows: Sequence[int], done: Callable[[Replayed], None] = lambda _: None
) -> list[Replayed]:
    """Repeat the verdicts in `rows`; `done` is called for each as it is finished.

    Raises:
        UsageError: An engine or the vocabulary is not the one that the run was made with.
    """
    identity = run.manifest["identity"]
    vocabulary = open_vocabulary(identity["vocabulary"]["spec"], identity["vocabulary"]["eos"])
    if vocabulary.sha256 != identity["vocabulary"]["sha256"]:
        raise UsageError(f"the vocabulary is not the one that {run.path} was made with")
    specs = provide_all(parse_specs(list(identity["engines"])))
    with save_vocabulary(vocabulary) as directory:
        limits = Limits(**identity["limits"])
        settings = LaneSettings(tuple(specs), str(Path(directory) / "vocabulary"), limits, Rules())
        lane = Lane(settings)
        try:
            _same_versions(lane.open(), identity["engines"])
            return list(_replayed(lane, run, witnesses(run, rows, vocabulary), done))
        finally:
            lane.close()


def _replayed(
    lane: Lane, run: RunDirectory, found: Sequence[Witness], done: Callable[[Replayed], None]
) -> Iterator[Replayed]:
    schemas = dict(_columns(run, "cases", "case", "schema"))
    for case, group in itertools.groupby(found, key=lambda one: one.case):
        for one in _of_case(lane, schemas[case], list(group)):
            done(one)
            yield one


def _of_case(lane: Lane, schema: str, group: Sequence[Witness]) -> Iterator[Replayed]:
    names = [spec.name for spec in lane.panel.specs]
    needed = {one.accepter for one in group} | {one.engine for one in group}
    numbers = {name: names.index(name) for name in sorted(needed)}
    outcomes = lane.panel.compile(schema, numbers.values())
    broken = {
        name: outcomes[number]
        for name, number in numbers.items()
        if not isinstance(outcomes[number], Compiled)
    }
    problem = lane.judge.open(schema)
    texts = _texts(group)
    allowed = {
        name: _allowed(lane, numbers[name], lists)
        for name, lists in texts.items()
        if name not in broken
    }
    for one in group:
        difference = ""
        for name in (one.accepter, one.engine):
            if name in broken:
                difference = f"{name} does not compile the schema again: {broken[name].word}"
        if isinstance(problem, Unjudgeable):
            difference = f"the validators refuse the schema: {problem.message}"
        difference = difference or _difference(one, allowed, lane.judge)
        yield Replayed(one, not difference, difference)


def _texts(group: Sequence[Witness]) -> dict[str, list[tuple[int, ...]]]:
    """Which token lists each engine is to be led through, each once."""
    texts: dict[str, dict[tuple[int, ...], None]] = {}
    for one in group:
        texts.setdefault(one.accepter, {})[*one.before, one.token, *one.completion] = None
        if one.kind == "false_rejection":
            texts.setdefault(one.engine, {})[*one.before, one.token] = None
    return {name: list(lists) for name, lists in texts.items()}


def _allowed(
    lane: Lane, engine: int, lists: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], int | str]:
    """How many tokens of each list the engine allows, or what ended it."""
    asks: Mapping[int, Ask] = {
        engine: ({"do": "replay"}, wire.Ragged.of_ints(lists).arrays("texts"))
    }
    answer = lane.panel.ask(asks)[engine]
    if not isinstance(answer, wire.Message):
        return dict.fromkeys(lists, answer.word)
    return dict(zip(lists, answer.arrays["allowed"].tolist(), strict=True))


def _difference(
    one: Witness, allowed: Mapping[str, Mapping[tuple[int, ...], int | str]], judge: Judge
) -> str:
    """What is not as the verdict says; empty when all is."""
    whole = (*one.before, one.token, *one.completion)
    count = allowed[one.accepter][whole]
    if count != len(whole):
        return f"{one.accepter} allows {count} of {len(whole)} tokens"
    if one.kind == "false_rejection":
        reached = allowed[one.engine][*one.before, one.token]
        if reached != len(one.before):
            return f"{one.engine} allows {reached} tokens, not exactly {len(one.before)}"
    (ruling,) = judge.judge([one.text])
    if ruling.verdict != _EXPECTED[one.kind]:
        return f"the validators say {rulings.VERDICTS[ruling.verdict]}"
    return ""


def _witness(
    row: int,
    verdict: Mapping[str, Any],
    paths: Mapping[tuple[str, int], Sequence[int]],
    completions: Mapping[tuple[str, int], tuple[int, ...]],
    vocabulary: Vocabulary,
) -> Witness:
    before = tuple(paths[verdict["case"], verdict["walk"]][: verdict["position"]])
    completion = completions[verdict["case"], verdict["completion"]]
    whole = (*before, verdict["token"], *completion)
    text = b"".join(vocabulary.tokens[t] for t in whole if t not in vocabulary.eos_ids)
    return Witness(
        number=row,
        before=before,
        completion=completion,
        text=text,
        **{name: verdict[name] for name in _VERDICT},
    )


def _paths(run: RunDirectory, wanted: set[tuple[str, int]]) -> dict[tuple[str, int], list[int]]:
    """The tokens consumed in each walk, in order."""
    paths: dict[tuple[str, int], list[int]] = {}
    for case, walk, token in _columns(run, "positions", "case", "walk", "token"):
        if (case, walk) in wanted:
            paths.setdefault((case, walk), []).append(token)
    return paths


def _columns(run: RunDirectory, table: str, *names: str) -> Iterable[tuple[Any, ...]]:
    columns = run.table(table).select(list(names))
    return zip(*(columns[name].to_pylist() for name in names), strict=True)


def _same_versions(infos: Sequence[Mapping[str, Any]], stored: Mapping[str, Any]) -> None:
    for info, (name, was) in zip(infos, stored.items(), strict=True):
        if info["packages"] != was["packages"]:
            raise UsageError(
                f"the run was made with {name} as {was['packages']},"
                f" installed is {dict(info['packages'])}",
                "install those versions, or name the engine with its version",
            )
