"""Trials: does an engine show an error on a small case, and is it the same error still?

The engine runs in its host with a vocabulary of the 256 bytes, the end of sequence and the tokens
at issue, so that a compilation takes milliseconds. Both validators judge every text. What an error
counts as is decided as for a run: the case becomes rows, and the catalogue of departures is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.bugs.error_case import ErrorCase
from harness.bugs.passes import is_json
from harness.bugs.schema_edits import keys_at
from harness.bugs.text_edits import fault, sort_of
from harness.classification.departures import classify
from harness.comparison.case_record import CaseNotes
from harness.comparison.effects import CaseEffects, EffectColumns, Rejected, effect_of_acceptance
from harness.comparison.generated_instances import make
from harness.comparison.text_facts import TextFacts
from harness.comparison.verdict_record import FedText, VerdictNotes
from harness.engines.panel import Limits, Panel
from harness.engines.requests import Follow, Probe
from harness.engines.specs import EngineSpec
from harness.engines.text_probe import Probed
from harness.errors import UsageError
from harness.inputs.cases import COMPACT, Case
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.jsontext.pointers import follow, steps, typed_steps
from harness.replay.repeat import same_engines
from harness.runs.reader import UnstoredCase
from harness.runs.tables import VERDICT_TABLES
from harness.schemas.schema import Path
from harness.validators.format_rules import ASSERTION
from harness.validators.judge import INVALID, VALID, Judge, Ruling, Unjudgeable
from harness.verdict_kinds import ACCEPTANCES, BUG, DEAD_END, INSTANCE, REJECTIONS, WRONG_BITS
from harness.workers import wire
from harness.workers.outcomes import Compiled, Crashed, Failure, Outcome, OutOfMemory, TimedOut
from harness.workers.temporary_directories import saved_vocabulary

LIMITS = Limits(compile=0.5, mask=5.0, resolve=10.0)

BRANCHES = ("anyOf", "oneOf")
_OF = ": "
_WITHIN = ("inside key", "inside string", "json")
"""Places of characters that may be others."""
_PLAIN = (f"{_OF}letter", f"{_OF}digit")
_AFTER, _VALUE = "after value", "start of value"
_COMMA, _BRACKET = sort_of(b","), sort_of(b"]")
_AT_KEYS = ("inside key", "start of key")
_NEXT_MEMBER, _MEMBER = f"after member{_OF}2c", f"inside key{_OF}letter"
KINDS = (*WRONG_BITS, DEAD_END, "mask_consume_mismatch")
"""The kinds that can be tried without other engines and without a search."""


Failed = dict[tuple[str, str], Outcome]
"""What ended an engine's host, by the spec and the schema that it compiled."""


@dataclass(frozen=True)
class Symptom:
    """An error that a trial showed: what must stay the same while its case shrinks.

    `at` is the byte of the text that is refused, or with which it became invalid; -1: not known.
    `keyword` is broken, or in force there. `mark` is the rule that is broken, the sort of byte that
    is refused and where, or the sort of violation; `detail` the value of a format, how a pattern is
    anchored, or whether a key is declared. `broken` has the paths of the rule and of the value.
    """

    at: int
    class_: str
    keyword: str
    mark: str
    departure: str = ""
    detail: str = ""
    broken: tuple[Path, Path] = field(default=((), ()), compare=False)

    def is_still(self, before: Symptom, *, loose: bool = True) -> bool:
        """Whether it is the error that a larger case showed, as far as one trial can tell.

        What no branch of an ``anyOf`` or ``oneOf`` allows breaks a rule of a branch. Where the end
        of an array is refused as well, it is not the comma after an item; and where a member is
        refused by its name, it is not that the comma before one is. Where it is `loose` the sort
        of a value, of a character in a string, or of what makes a text no JSON, does not matter.
        """
        place, _, sort = before.mark.partition(_OF)
        alike = (
            before.mark in (self.mark, *BRANCHES)
            or (loose and place == _VALUE == self.mark.partition(_OF)[0])
            or (loose and place in _WITHIN and self.mark in [place + end for end in _PLAIN])
            or (place, sort, self.mark) == (_AFTER, _COMMA, f"{_AFTER}{_OF}{_BRACKET}")
            or (before.mark, self.mark) == (_NEXT_MEMBER, _MEMBER)
        )
        counts = self.class_, self.departure, self.detail
        return alike and counts == (before.class_, before.departure, before.detail)


class Trial:
    """One engine, validators that may be shared, and a vocabulary of bytes and a token at issue.

    `made_with` is what the manifest of a run says of the engine, where it must be the same; `panel`
    has the engine alone, and is the trial's from then on.
    What has `failed` by spec and schema is added to. `failures` is how often the engine failed or
    took too long; `seconds` what it took to compile.
    """

    at_issue = ""
    """The effect that cases have, as far as it matters to what they count as; a run knows it."""

    def __init__(
        self,
        spec: EngineSpec,
        judge: Judge,
        made_with: Mapping[str, Any] | None = None,
        panel: Panel | None = None,
        failed: Failed | None = None,
    ) -> None:
        self._judge = judge
        self._stack = contextlib.ExitStack()
        file = self._vocabulary_of(b"")
        self._panel = panel or Panel([spec], file, self.vocabulary.words, LIMITS)
        self._stack.callback(self._panel.close)
        self._outcome: Outcome | None = None
        self._printed = ""
        self._judged: str | None = None
        self._unjudgeable = False
        self.failures, self.seconds = 0, 0.0
        self._failed: Failed = {} if failed is None else failed
        self._panel.limits = LIMITS
        self._begin(spec, self._panel.change(0, spec, file))
        if made_with is not None:
            try:
                same_engines({spec.name: self.info}, {spec.name: made_with})
            except UsageError:
                self.close()
                raise

    def change(self, spec: EngineSpec, token: bytes = b"") -> None:
        """Try another configuration or token in the host that is up: to start one takes seconds.

        Raises:
            UsageError: The engine does not start so.
        """
        self._begin(spec, self._panel.change(0, spec, self._vocabulary_of(token)))

    @contextlib.contextmanager
    def with_token(self, token: bytes) -> Iterator[Trial]:
        """The trial with a token at issue for the time being, where there is any."""
        if not token:
            yield self
            return
        self.change(self.spec, token)
        try:
            yield self
        finally:
            self.change(self.spec)

    def _begin(self, spec: EngineSpec, failure: Failure | None) -> None:
        if failure is not None:
            self.close()
            raise UsageError(f"engine {spec.name!r} does not start: {failure.message}")
        self.spec = spec
        self._schema: str | None = None
        self.info = self._panel.infos[0]

    def _vocabulary_of(self, token: bytes) -> str:
        """A file with the bytes, and with the token and all that it can be shortened to."""
        ends = range(len(token) + 1)
        parts = dict.fromkeys(token[start:end] for start in ends for end in ends if end - start > 1)
        self.vocabulary: Vocabulary = byte_vocabulary(list(parts))
        self._ids = {text: 257 + number for number, text in enumerate(parts)}
        return str(self._stack.enter_context(saved_vocabulary(self.vocabulary)))

    def close(self) -> None:
        self._stack.close()

    def reproduce(self, case: ErrorCase) -> Symptom | None:
        """The error that a case shows; None where it shows none of its kind."""
        return self.reproduce_all([case])[0]

    def reproduce_all(self, cases: Sequence[ErrorCase]) -> list[Symptom | None]:
        """What each of some cases with one schema and one kind shows."""
        kind = cases[0].kind
        rulings = self._rulings(cases)
        wanted = [at for at, ruling in enumerate(rulings) if _may_be(kind, ruling)]
        probed = self._probed([cases[at] for at in wanted])
        probes = dict(zip(wanted, probed, strict=False))
        return [  # all of them now: what the engine printed of this schema is soon forgotten
            self._symptom(case, ruling, probes[at]) if at in probes else None
            for at, (case, ruling) in enumerate(zip(cases, rulings, strict=True))
        ]

    def are_right(self, cases: Sequence[ErrorCase]) -> list[bool]:
        """Whether the engine does with texts what both validators say, where that shows an error.

        That is: it compiles the one schema, and allows a valid text to its end, or no invalid one.
        """
        rulings = self._rulings(cases)
        probed = self._probed(cases)
        if not probed:
            return [False] * len(cases)
        return [
            ruling is not None
            and _may_be(case.kind, ruling)
            and (probe.allowed == len(self.tokens(case))) == (case.kind in REJECTIONS)
            for case, ruling, probe in zip(cases, rulings, probed, strict=True)
        ]

    def is_valid(self, case: ErrorCase) -> bool:
        (ruling,) = self._rulings([case])
        return ruling is not None and ruling.verdict == VALID

    def effect(self, case: ErrorCase, symptom: Symptom) -> str:
        """What the error that a case shows costs a user, decided as for a run."""
        schema = case.parsed
        self._judge.open(case.schema)
        if case.kind in ACCEPTANCES:
            asserted = self._judge.formats == ASSERTION
            without = self._judge.valid_without_formats if asserted else None
            facts = TextFacts(case.schema, schema, without)
            (alone,) = facts.format_alone_of([case.kind], [symptom.keyword], lambda _: case.text)
            reason = "not_json" if symptom.keyword == "json" else ""
            return effect_of_acceptance(case.kind, reason, format_alone=alone).name
        effects, columns = CaseEffects(schema, self._judge, list, self.vocabulary), EffectColumns(1)
        valid: list[bytes] = []
        if case.kind in REJECTIONS:
            at = symptom.at if symptom.at >= 0 else len(case.text)
            at = case.token_at if case.token else at
            effects.add(Rejected(0, case.text, tuple(case.text[:at]), at, at), columns, 0)
        elif case.kind == DEAD_END:
            effects.add(Rejected(0), columns, 0)
            made = make(self._judge, schema, [], COMPACT)
            valid = [one.text for one in made.valid]
        effects.decide(lambda asks: self._asked(case.schema, asks), valid)
        return columns.effect[0]

    def _asked(self, schema: str, asks: Mapping[int, Follow | Probe]) -> Mapping[int, Any]:
        """What the engine answers under a schema; nothing where it does not compile or fails."""
        answers: dict[int, Any] = self._panel.ask(asks) if self.compiles(schema) else {}
        if any(isinstance(answer, Failure) for answer in answers.values()):
            self._schema, self.failures = None, self.failures + 1
            return {}
        return answers

    def compiles(self, schema: str) -> bool:
        """Whether the engine compiles a schema, at whose start it then is; it fails at it once."""
        if self._schema != schema:
            self._schema, about = schema, (self.spec.name, schema)
            self._outcome, self._printed = self._failed.get(about), ""
            if self._outcome is None:
                self._outcome = self._panel.compile(schema)[0]
                self._printed = self._panel.output(0)
                self.seconds += getattr(self._outcome, "compile_seconds", 0.0)
            if isinstance(self._outcome, TimedOut | Crashed | OutOfMemory):
                self._failed[about] = self._outcome
                self.failures += 1
        return isinstance(self._outcome, Compiled)

    def _rulings(self, cases: Sequence[ErrorCase]) -> Sequence[Ruling | None]:
        schema = cases[0].schema
        if cases[0].kind not in WRONG_BITS:
            return [None] * len(cases)
        if not self._judged == self._judge.schema == schema:  # others ask it, too
            self._judged = schema
            self._unjudgeable = isinstance(self._judge.open(schema), Unjudgeable)
        if self._unjudgeable:
            return [Ruling(-1, "unjudgeable")] * len(cases)
        return self._judge.judge([case.text for case in cases])

    def _probed(self, cases: Sequence[ErrorCase]) -> list[Probed]:
        """How far the engine lets each text; nothing where it does not compile or fails."""
        texts = wire.Ragged.of_ints([self.tokens(case) for case in cases])
        answers = self._asked(cases[0].compiled, {0: Probe(texts)}) if cases else {}
        return answers[0].each() if answers else []

    def tokens(self, case: ErrorCase) -> list[int]:
        before, after = case.around
        token = [self._ids[case.token]] if case.token else []
        end = [self.vocabulary.eos] if case.kind in WRONG_BITS else []
        return [*before, *token, *after, *end]

    def _symptom(self, case: ErrorCase, ruling: Ruling | None, probed: Probed) -> Symptom | None:
        """The error that a case shows by what validators and engine said of it."""
        at, last = probed.allowed, len(self.tokens(case)) - 1
        if case.kind == DEAD_END:
            dead = at > last and probed.empty
            return Symptom(len(case.text), BUG, "", "empty") if dead else None
        if ruling is None:  # the mask says another thing of the last token than what is consumed
            differs = at == last and probed.forbidden == probed.taken
            mark = "consumes" if probed.taken else "refuses"
            return Symptom(len(case.text) - 1, BUG, "", mark) if differs else None
        if case.kind in ACCEPTANCES:
            return self._described(case, ruling, probed, ruling.keyword) if at > last else None
        refused = at <= last and probed.forbidden and (at == last) == (case.kind == "never_stops")
        if not refused or (case.token and at != case.token_at):
            return None
        return self._described(case, ruling, probed, _mark(case, at))

    def _described(
        self, case: ErrorCase, ruling: Ruling, probed: Probed, mark: str
    ) -> Symptom | None:
        """The error with what a run would store of it, and what that counts as."""
        name, info = self.spec.name, self.info
        stored = Case("", "", case.schema, (), (), "")
        notes = CaseNotes(stored, [name], lambda _: self._printed)
        assert self._outcome is not None
        notes.outcomes({0: self._outcome})
        fed = {0: FedText("", case.text, tuple(self.tokens(case)), True, ruling)}
        verdicts = VerdictNotes(notes.rows, stored, [name], self.vocabulary, case.parsed)
        verdicts.texts(INSTANCE, fed)
        verdicts.of_text(INSTANCE, 0, 0, fed[0], probed, -1 if case.token else 0)
        notes.finish("walked", "", "", [case.text], [0])
        rows = notes.rows.lists(VERDICT_TABLES[INSTANCE])
        if not rows["kind"] or rows["kind"][0] != case.kind:
            return None
        if self.at_issue:
            notes.rows.replace(VERDICT_TABLES[INSTANCE], effect=[self.at_issue])
        described = {"version": info.version, "options": info.options, "packages": info.packages}
        vocabulary = {"sha256": self.vocabulary.sha256}
        identity = {"engines": {name: described}, "vocabulary": vocabulary}
        unstored = UnstoredCase(notes.rows, {"identity": identity})
        counted = classify(unstored, INSTANCE, self.vocabulary).to_pylist()[0]
        at, keyword = rows["offset"][0], rows["keyword"][0]
        if keyword == "json":
            mark += _OF + sort_of(case.text[at : at + 1])
        counts = counted["class"], keyword, mark, counted["departure"]
        rule, value = (rows[name][0] for name in ("schema_pointer", "instance_pointer"))
        paths = tuple(typed_steps(rule)), tuple(typed_steps(value))
        return Symptom(at, *counts, _detail(case, at, keyword, rule), paths)


def _may_be(kind: str, ruling: Ruling | None) -> bool:
    """Whether validators say what an error of a kind needs."""
    return ruling is None or ruling.verdict == (INVALID if kind in ACCEPTANCES else VALID)


def _detail(case: ErrorCase, at: int, keyword: str, place: str) -> str:
    """The format at issue, how a pattern is anchored, or whether a refused key is declared."""
    if keyword in ("format", "pattern"):
        value = str(follow(case.parsed, steps(place)))
        return value if keyword == "format" else f"{value[:1] == '^'} {value[-1:] == '$'}"
    where = fault(case.text, at)[0] if at >= 0 and case.kind not in ACCEPTANCES else ""
    if where not in _AT_KEYS or not is_json(replace(case, token=b"")):
        return ""
    key, _, declared = keys_at(case.parsed, case.text, at)
    return str(key in declared)


def _mark(case: ErrorCase, at: int) -> str:
    if case.token:
        return "token"
    place, sort = fault(case.text, at)
    return sort if sort == "end" else f"{place}{_OF}{sort}"
