"""Replay: repeat stored verdicts from nothing, and say where that comes out differently.

For each verdict the schema is compiled anew; a fresh matcher of each engine that it concerns is
led through the consumed tokens, the disputed token and the completion, its mask looked at before
every single token, the end of sequence included; and both validators judge the text. Where masks
that are known to be slow take too long, they are looked at where the engine stops, as in the run.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from harness.comparison.case_run import CaseRun, Rules
from harness.completion.rollout import LIMIT
from harness.engines.requests import EngineMetadata, Probe
from harness.engines.text_probe import Probed, ProbedTexts
from harness.errors import UsageError
from harness.execution.lanes import Lane, LaneSettings
from harness.printable import escaped
from harness.protocol import EngineInfo
from harness.replay.witness import Witness
from harness.replay.witness_reader import CaseWitnesses, Choice, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engines_of, limits_of, vocabulary_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import VERDICTS, Ruling, Unjudgeable
from harness.verdict_kinds import REJECTIONS, SPELLING
from harness.workers import wire
from harness.workers.outcomes import Compiled, Failure, TimedOut
from harness.workers.temporary_directories import saved_vocabulary
from harness.workers.wire import A, Request

_PATIENCE = 10
"""How many times the time that an answer may take in the run it may take in a replay."""

_BATCH = 2048
"""Verdicts that are repeated at a time."""

_TOKENS = 256
"""Tokens that an engine follows in one request, about; a request has a limit of time."""

_Trace = tuple[str, tuple[int, ...]]
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
        return not self.difference

    def __str__(self) -> str:
        outcome = "agrees" if self.agrees else f"DIFFERS: {self.difference}"
        return f"{self.witness}: {outcome}"

    def row(self) -> dict[str, Any]:
        about = {**self.witness.row(), "token": self.witness.token}
        about["text"] = escaped(self.witness.text)
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
        with closing(Lane(LaneSettings(tuple(specs), str(file), limits, rules))) as lane:
            same_engines(lane.open(), engines)
            yield from repeat(lane.runner, witnesses(run, choice, vocabulary))


def repeat(tools: CaseRun, cases: Iterable[CaseWitnesses]) -> Iterator[Replayed]:
    for case in cases:
        yield from _Repetition(tools, case).replayed()


class _Differs(Exception):
    """What is not as a verdict says."""


class _TimedOut(_Differs):
    """An engine took too long."""


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Differs(otherwise)


class _Repetition:
    """The verdicts of one case, repeated; engines and validators are asked about many at a time."""

    def __init__(self, tools: CaseRun, case: CaseWitnesses) -> None:
        self._tools, self._case = tools, case
        self._numbers = {spec.name: number for number, spec in enumerate(tools.panel.specs)}
        self._slow = {spec.name for spec in tools.panel.specs if spec.slow_masks}
        self._broken: dict[str, str] = {}
        """Why an engine cannot be asked, by engine; empty where it has compiled the schema."""
        self._probed: dict[_Trace, Probed | _Differs] = {}
        self._rulings: dict[bytes, Ruling] = {}

    def replayed(self) -> Iterator[Replayed]:
        judge = self._tools.judge
        problem = judge.open(self._case.schema)
        refused = isinstance(problem, Unjudgeable)
        while batch := list(itertools.islice(self._case.witnesses, _BATCH)):
            self._probe({trace for one in batch for trace in self._traces(one)})
            texts = list(dict.fromkeys(one.text for one in batch if one.claim.ruling is not None))
            rulings = [] if refused else judge.judge(texts)
            self._rulings = dict(zip(texts, rulings, strict=False))
            for one in batch:
                try:
                    if isinstance(problem, Unjudgeable) and one.claim.ruling is not None:
                        raise _Differs(f"the validators refuse the schema: {problem.message}")
                    self._check(one)
                except _Differs as difference:
                    yield Replayed(one, str(difference))
                else:
                    yield Replayed(one)

    def _traces(self, one: Witness) -> Iterator[_Trace]:
        """Which engine must follow which tokens to repeat a verdict."""
        if one.accepter or one.kind not in REJECTIONS:
            yield one.accepter or one.engine, one.tokens
        if one.kind in REJECTIONS:
            yield one.engine, (*one.before, one.token)
        if one.spelling:
            yield self._spelling(one)

    def _spelling(self, one: Witness) -> _Trace:
        """The text that proves the effect, after the consumed tokens or from the start."""
        vocabulary, before = self._tools.vocabulary, one.before if one.effect == SPELLING else ()
        rest = one.spelling[len(vocabulary.text(before)) :]
        return one.engine, (*before, *self._tools.tokens(rest), vocabulary.eos)

    def _probe(self, traces: set[_Trace]) -> None:
        """Have engines follow tokens, in requests of not too many together."""
        self._compile({engine for engine, _ in traces})
        wanted = sorted(traces)
        sizes = itertools.accumulate(len(tokens) for _, tokens in wanted)
        most = {engine: 1 if engine in self._slow else _TOKENS for engine, _ in wanted}
        parts = ((one, size // most[one[0]]) for one, size in zip(wanted, sizes, strict=True))
        for (engine, _), group in itertools.groupby(parts, lambda part: (part[0][0], part[1])):
            some = [trace for trace, _ in group]
            try:
                answer = self._lead(engine, [tokens for _, tokens in some])
                self._probed |= zip(some, answer.each(), strict=True)
            except _Differs as failure:
                if len(some) == 1:
                    self._probed[some[0]] = failure
                for trace in some if len(some) > 1 else ():  # it fails at one of them
                    self._probe({trace})

    def _lead(self, engine: str, texts: Sequence[Sequence[int]]) -> ProbedTexts:
        """Have an engine follow texts by its masks; if slow ones take too long, as in the run."""
        lists = wire.Ragged.of_ints(texts)
        if engine not in self._slow:
            return self._ask(engine, Probe(lists))
        try:
            return self._ask(engine, Probe(lists), self._tools.panel.limits.resolve / _PATIENCE)
        except _TimedOut:
            return self._ask(engine, Probe(lists, follows=True))

    def _compile(self, engines: set[str]) -> None:
        """Compile the schema in engines that have not done so for this case."""
        new = {name: self._numbers[name] for name in sorted(engines - self._broken.keys())}
        panel, schema = self._tools.panel, self._case.schema
        outcomes = panel.compile(schema, list(new.values())) if new else {}
        for name, number in new.items():
            broken = f"does not compile the schema again: {outcomes[number].status}"
            self._broken[name] = "" if isinstance(outcomes[number], Compiled) else broken

    def _ask(self, engine: str, request: Request[A], limit: float | None = None) -> A:
        """An engine's answer; where it fails it is up again afterwards."""
        self._compile({engine})
        _require(not self._broken[engine], f"{engine} {self._broken[engine]}")
        panel, number = self._tools.panel, self._numbers[engine]
        answer = panel.ask({number: request}, limit)[number]
        if not isinstance(answer, Failure):
            return answer
        if (again := panel.recover_start(number)) is not None:
            self._broken[engine] = f"does not come back: {again.status}"
        differs = _TimedOut if isinstance(answer, TimedOut) else _Differs
        raise differs(f"{engine} {answer.status.replace('_', ' ')}")

    def _followed(self, trace: _Trace, most: int | None = None, of: str = "") -> Probed:
        """How an engine followed tokens, all of which it must allow, or exactly `most`."""
        probed = self._probed[trace]
        if isinstance(probed, _Differs):
            raise probed
        allowed, count = probed.allowed, len(trace[1])
        if most is None:
            _require(allowed == count, f"{trace[0]} allows {allowed} of {count} tokens{of}")
        else:
            _require(allowed == most, f"{trace[0]} allows {allowed} tokens, not exactly {most}")
        return probed

    def _check(self, one: Witness) -> None:
        """Raise `_Differs` where anything is not as the verdict says."""
        engine, claim = one.engine, one.claim
        whole = one.accepter or engine, one.tokens
        if one.kind in REJECTIONS:
            if one.accepter:
                self._followed(whole)
            reached = self._followed((engine, (*one.before, one.token)), len(one.before))
            allows = f"the mask of {engine} allows the token, which is then not consumed"
            _require(reached.forbidden, allows)
            ends = one.kind == "never_stops" and reached.ends
            _require(not ends, f"{engine} allows another end of sequence there")
        elif one.kind == "mask_consume_mismatch":
            reached = self._followed(whole, len(one.tokens) - 1)
            agree = f"mask and consumption of {engine} agree: the last token is forbidden"
            _require(reached.taken or not reached.forbidden, agree)
        else:
            reached = self._followed(whole)
            if one.kind == "dead_end":
                _require(reached.empty, f"the mask of {engine} is not empty there")
            elif one.kind == "unbounded_repetition":
                self._check_endless(one)
        if claim.ruling is not None:
            ruling, because = self._rulings[one.text], claim.reason.replace("_", " ")
            verdict = VERDICTS[ruling.verdict]
            _require(ruling.verdict == claim.ruling, f"the validators say {verdict}")
            other = f"the text is invalid, but not because it is {because}"
            _require(claim.reason in ("", ruling.reason), other)
        if one.spelling:
            self._check_spelling(*self._spelling(one))

    def _check_spelling(self, engine: str, tokens: tuple[int, ...]) -> None:
        """A token of several bytes that is refused may be written byte by byte."""
        probed = self._probed[engine, tokens]
        allowed = probed.allowed if isinstance(probed, Probed) else len(tokens)
        if apart := self._tools.vocabulary.apart(tokens, allowed):
            self._probe({(engine, apart)})
        self._followed((engine, apart or tokens), of=" of the spelling")

    def _check_endless(self, one: Witness) -> None:
        tail, vocabulary = (one.token, *one.completion), self._tools.vocabulary
        _require(len(tail) >= LIMIT, f"only {len(tail)} tokens are repeated, not {LIMIT}")
        text = b"".join(vocabulary.tokens[token] for token in tail)
        plain = _SPACE.issuperset(text) or _DIGITS.issuperset(text)
        plain = plain and not any(vocabulary.special[token] for token in tail)
        _require(plain, "what is repeated is neither white space nor digits alone")


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
