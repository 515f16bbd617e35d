"""Replay: repeat stored verdicts from nothing, and say where that comes out differently.

For each verdict the schema is compiled anew; a fresh matcher of each engine that it concerns is
led through the consumed tokens, the disputed token and the completion, its mask looked at before
every single token, the end of sequence included; and both validators judge the text.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.comparison.case_run import Rules
from harness.comparison.flaws import BUDGET
from harness.completion.rollout import LIMIT
from harness.engines.requests import EngineMetadata, Exhaust, Goto, Probe
from harness.engines.text_probe import Probed
from harness.errors import UsageError
from harness.execution.lanes import Lane, LaneSettings
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import EngineInfo
from harness.replay.witness import NO_END, Witness
from harness.replay.witness_reader import CaseWitnesses, Choice, spelled, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engines_of, limits_of, vocabulary_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import VERDICTS, Ruling, Unjudgeable
from harness.verdict_kinds import REJECTIONS, SPELLING
from harness.workers import wire
from harness.workers.commands import A, Request
from harness.workers.outcomes import Compiled, Failure
from harness.workers.temporary_directories import saved_vocabulary

_PATIENCE = 10
"""How many times the time that an answer may take in the run it may take in a replay."""

_BATCH = 2048
"""Verdicts that are repeated at a time."""

_TOKENS = 8192
"""Tokens that an engine follows in one request, about; a request has a limit of time."""


Trace = tuple[str, tuple[int, ...]]
"""An engine and the tokens that it follows from the start."""

_SPACE = frozenset(b" \t\n\r")
_DIGITS = frozenset(b"0123456789")


@dataclass(frozen=True)
class Replayed:
    """Whether a verdict came out again, and if not, what differed."""

    witness: Witness
    difference: str = ""

    @property
    def agrees(self) -> bool:
        """Whether all came out as the verdict says."""
        return not self.difference

    def __str__(self) -> str:
        outcome = "agrees" if self.agrees else f"DIFFERS: {self.difference}"
        return f"{self.witness}: {outcome}"

    def row(self) -> dict[str, Any]:
        """As JSON."""
        text = self.witness.text.decode("utf-8", "backslashreplace")
        about = {**self.witness.row(), "token": self.witness.token, "text": text}
        return {**about, "agrees": self.agrees, "difference": self.difference}


def replay(run: RunDirectory, choice: Choice) -> Generator[Replayed, None, None]:
    """Repeat verdicts, in the order of the cases; engines run until the generator is closed.

    Raises:
        UsageError: An engine or the vocabulary is not the one that the run was made with, or not
            one that a run is given without being trusted.
        RunDirectoryError: The tables do not fit together.
    """
    if not len(choice):
        return
    engines = run.manifest["identity"]["engines"]
    limits = limits_of(run)
    # how fast the machine is today is no part of a verdict, and whole texts are asked about here
    seconds = {one: getattr(limits, one) * _PATIENCE for one in ("compile", "mask", "resolve")}
    limits = replace(limits, **seconds)
    vocabulary, specs = vocabulary_of(run), engines_of(run)
    with saved_vocabulary(vocabulary) as file:
        rules = Rules(formats=format_rule(run.manifest["identity"]))
        lane = Lane(LaneSettings(tuple(specs), str(file), limits, rules))
        try:
            same_engines(lane.open(), engines)
            yield from repeat(lane, witnesses(run, choice, vocabulary))
        finally:
            lane.close()


def repeat(lane: Lane, cases: Iterable[CaseWitnesses]) -> Iterator[Replayed]:
    """Repeat verdicts on a lane whose engines are up."""
    canonical = Canonical.of(lane.vocabulary)
    for case in cases:
        yield from _Again(lane, case, canonical).replayed()


class _Again:
    """The verdicts of one case, repeated."""

    def __init__(self, lane: Lane, case: CaseWitnesses, canonical: Canonical | None) -> None:
        self._lane, self._case, self._canonical = lane, case, canonical
        self._numbers = {spec.name: number for number, spec in enumerate(lane.panel.specs)}
        self._broken: dict[str, str] = {}
        """Why an engine cannot be asked, by engine; empty where it has compiled the schema."""
        self._refusal: str | None = None

    def replayed(self) -> Iterator[Replayed]:
        """All verdicts of the case."""
        problem = self._lane.judge.open(self._case.schema)
        if isinstance(problem, Unjudgeable):
            self._refusal = f"the validators refuse the schema: {problem.message}"
        while batch := list(itertools.islice(self._case.witnesses, _BATCH)):
            repetition = self._repeated(batch)
            for one in batch:
                refusal = self._refusal if one.claim.ruling is not None else None
                yield Replayed(one, refusal or difference(one, repetition, self._lane.vocabulary))

    def _repeated(self, batch: Sequence[Witness]) -> Repetition:
        """Ask engines and validators all that must be known about some verdicts."""
        spellings = {one: self._spelling(one) for one in batch if one.spelling}
        wanted = dict.fromkeys(trace for one in batch for trace in traces(one))
        wanted |= dict.fromkeys(spellings.values())
        self._compile({engine for one in batch for engine, _ in (*traces(one), *searches(one))})
        probed: dict[Trace, Probed | str] = {}
        for engine, of_engine in itertools.groupby(sorted(wanted), key=lambda trace: trace[0]):
            for some in _portions(list(of_engine)):
                along = wire.Ragged.of_ints([tokens for _, tokens in some])
                answer = self._ask(engine, Probe(along))
                if isinstance(answer, str):
                    probed |= dict.fromkeys(some, answer)
                else:
                    probed |= zip(some, answer.each(), strict=True)
        closed = {trace: self._closed(*trace) for one in batch for trace in searches(one)}
        texts = list(dict.fromkeys(one.text for one in batch if one.claim.ruling is not None))
        rulings = self._lane.judge.judge(texts) if self._refusal is None else []
        return Repetition(probed, closed, dict(zip(texts, rulings, strict=False)), spellings)

    def _spelling(self, one: Witness) -> Trace:
        """The text that proves the effect, after the consumed tokens or from the start."""
        vocabulary, before = self._lane.vocabulary, one.before if one.effect == SPELLING else ()
        rest = one.spelling[len(spelled(vocabulary, before)) :]
        known = None if self._canonical is None else self._canonical.tokens(rest)
        tokens = vocabulary.encode_greedy(rest) if known is None else known
        return one.engine, (*before, *tokens, vocabulary.eos)

    def _compile(self, engines: Iterable[str]) -> None:
        """Compile the schema in engines that have not done so for this case."""
        new = sorted(set(engines) - self._broken.keys())
        numbers = [self._numbers[name] for name in new]
        outcomes = self._lane.panel.compile(self._case.schema, numbers) if new else {}
        for name, number in zip(new, numbers, strict=True):
            broken = f"does not compile the schema again: {outcomes[number].status}"
            self._broken[name] = "" if isinstance(outcomes[number], Compiled) else broken

    def _closed(self, engine: str, tokens: Sequence[int]) -> bool | str:
        """Whether an engine has no way to an end after these tokens."""
        along = np.array(tokens, dtype=np.int32)
        if isinstance(there := self._ask(engine, Goto(along[:-1])), str):
            return there
        answer = self._ask(engine, Exhaust(along[-1:], LIMIT, BUDGET))
        return answer if isinstance(answer, str) else bool(answer.values[0])

    def _ask(self, engine: str, request: Request[A]) -> A | str:
        """An engine's answer, or the status that ended it; it is up again afterwards."""
        if self._broken[engine]:
            return self._broken[engine]
        number = self._numbers[engine]
        answer = self._lane.panel.ask({number: request})[number]
        if not isinstance(answer, Failure):
            return answer
        if (again := self._lane.panel.recover_start(number)) is not None:
            self._broken[engine] = f"does not come back: {again.status}"
        return answer.status.replace("_", " ")


def _portions(along: Sequence[Trace]) -> Iterator[list[Trace]]:
    """Traces in lists of not too many tokens together."""
    sizes = itertools.accumulate(len(tokens) for _, tokens in along)
    numbered = zip(along, sizes, strict=True)
    for _, some in itertools.groupby(numbered, key=lambda pair: pair[1] // _TOKENS):
        yield [trace for trace, _ in some]


@dataclass(frozen=True)
class Repetition:
    """What engines and validators did when verdicts were repeated."""

    probed: Mapping[Trace, Probed | str]
    """The status where the engine failed."""
    closed: Mapping[Trace, bool | str]
    """For dead ends without an empty mask, whether no way from there leads to an end."""
    rulings: Mapping[bytes, Ruling]
    spellings: Mapping[Witness, Trace]
    """Of verdicts with a text of the same value that the engine takes: what it follows there."""


def traces(one: Witness) -> list[Trace]:
    """Which engine must follow which tokens to repeat a verdict."""
    whole = (one.accepting_engine or one.engine, one.tokens)
    if one.kind not in REJECTIONS:
        return [whole]
    return [whole] * bool(one.accepting_engine) + [(one.engine, (*one.before, one.token))]


def searches(one: Witness) -> list[Trace]:
    """After which tokens an engine must be searched for any way to an end."""
    return [(one.engine, (*one.before, one.token))] if one.reason == NO_END else []


def difference(one: Witness, repetition: Repetition, vocabulary: Vocabulary) -> str:
    """What is not as the verdict says; empty when all is."""
    for trace in traces(one):
        if isinstance(word := repetition.probed[trace], str):
            return f"{trace[0]} {word}"
    if one.kind in REJECTIONS:
        wrong = _not_rejected(one, repetition)
    elif one.kind == "mask_consume_mismatch":
        wrong = _not_violated(one, repetition)
    else:
        wrong = _not_whole(one, repetition)
        if one.reason == NO_END:
            wrong = wrong or _not_closed(one, repetition)
        elif one.kind == "dead_end" and not _probed(one, repetition).empty:
            wrong = wrong or f"the mask of {one.engine} is not empty there"
        elif one.kind == "unbounded_repetition":
            wrong = wrong or _not_endless(one, vocabulary)
    return wrong or _other_ruling(one, repetition) or _not_spelled(one, repetition)


def _probed(one: Witness, repetition: Repetition, which: int = 0) -> Probed:
    probed = repetition.probed[traces(one)[which]]
    assert isinstance(probed, Probed)
    return probed


def _not_whole(one: Witness, repetition: Repetition) -> str:
    """Whether the engine that is to allow all does."""
    engine, tokens = traces(one)[0]
    allowed = _probed(one, repetition).allowed
    return "" if allowed == len(tokens) else f"{engine} allows {allowed} of {len(tokens)} tokens"


def _not_spelled(one: Witness, repetition: Repetition) -> str:
    """Whether the engine takes the spelling that proves the effect."""
    if (trace := repetition.spellings.get(one)) is None:
        return ""
    probed, count = repetition.probed[trace], len(trace[1])
    if isinstance(probed, str):
        return f"{one.engine} {probed}"
    allowed = probed.allowed
    return (
        ""
        if allowed == count
        else f"{one.engine} allows {allowed} of {count} tokens of the spelling"
    )


def _not_rejected(one: Witness, repetition: Repetition) -> str:
    if one.accepting_engine and (wrong := _not_whole(one, repetition)):
        return wrong
    reached, count = _probed(one, repetition, -1), len(one.before)
    if reached.allowed != count:
        return f"{one.engine} allows {reached.allowed} tokens, not exactly {count}"
    if not reached.forbidden:
        return f"the mask of {one.engine} allows the token, which is then not consumed"
    if one.kind == "never_stops" and reached.ends:
        return f"{one.engine} allows another end of sequence there"
    return ""


def _not_closed(one: Witness, repetition: Repetition) -> str:
    closed = repetition.closed[searches(one)[0]]
    if isinstance(closed, str):
        return f"{one.engine} {closed}"
    return "" if closed else f"it is not so that no way of {one.engine} there leads to an end"


def _not_violated(one: Witness, repetition: Repetition) -> str:
    probed, count = _probed(one, repetition), len(one.tokens) - 1
    if probed.allowed != count:
        return f"{one.engine} allows {probed.allowed} tokens, not exactly {count}"
    if probed.forbidden and not probed.taken:
        return f"mask and consumption of {one.engine} agree: the last token is forbidden"
    return ""


def _not_endless(one: Witness, vocabulary: Vocabulary) -> str:
    tail = (one.token, *one.completion)
    if len(tail) < LIMIT:
        return f"only {len(tail)} tokens are repeated, not {LIMIT}"
    text = b"".join(vocabulary.tokens[token] for token in tail)
    special = any(vocabulary.special[token] for token in tail)
    if special or not (_SPACE.issuperset(text) or _DIGITS.issuperset(text)):
        return "what is repeated is neither white space nor digits alone"
    return ""


def _other_ruling(one: Witness, repetition: Repetition) -> str:
    if (claim := one.claim).ruling is None:
        return ""
    ruling = repetition.rulings[one.text]
    if ruling.verdict != claim.ruling:
        return f"the validators say {VERDICTS[ruling.verdict]}"
    other = claim.reason and ruling.reason != claim.reason
    because = claim.reason.replace("_", " ")
    return f"the text is invalid, but not because it is {because}" if other else ""


def same_engines(
    present: Mapping[str, EngineMetadata | EngineInfo], stored: Mapping[str, Mapping[str, Any]]
) -> None:
    """Hold engines to those that a run was made with; options that are newer have their defaults.

    Raises:
        UsageError: One is installed in another version, or has other options.
    """
    for name, now in present.items():
        was = stored[name]
        if now.packages != was.get("packages"):
            raise UsageError(
                f"the run was made with {name} as {was.get('packages')},"
                f" installed is {dict(now.packages)}",
                "install those versions, or name the engine with its version",
            )
        given = was.get("options") or {}
        if {one: now.options.get(one) for one in given} != given:
            raise UsageError(
                f"the run was made with {name} and the options {was.get('options')},"
                f" which now are {dict(now.options)}",
                "use the version of maskcourt that made the run",
            )
