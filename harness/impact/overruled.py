"""Was the mask right to overrule the model? Each such step is a dispute, and is resolved like one.

A forbidden token is proven fine by one completion that both validators call valid: what the model
or another engine wrote from there, what the reference and the schema suggest, what avoids the error
that the validators named, what another engine rolls out. It is proven wrong where no JSON text goes
on so, or where the schema is lost with it whatever follows. All else stays open and counts for
nobody: the counts are lower bounds. What a step that was proven wrong costs, a value or only a
spelling of it, is asked as it is of verdicts (`harness.comparison.effects`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from harness.comparison.case_run import CaseRun
from harness.comparison.effects import CaseEffects, EffectColumns, Rejected
from harness.completion.continuations import Continuations
from harness.completion.rollout import ROLLOUT_OUTCOMES
from harness.engines.requests import EngineRequest, Follow, Goto, RollOut
from harness.explain.attribution import Attribution
from harness.explain.earliest_failure import EarliestFailure
from harness.impact.answers import ModelAnswer, TokenChoice
from harness.inputs.cases import LATEST
from harness.jsontext import strict_json
from harness.jsontext.lexer import START, advance
from harness.jsontext.spans import root_of
from harness.validators.drafts import draft_of
from harness.validators.judge import CONTESTED, INVALID, UNDECIDED, VALID, Unjudgeable
from harness.workers import wire
from harness.workers.outcomes import Failure

FALSE_REJECTION: Final = "false_rejection"
RIGHT: Final = "right"
OPEN: Final = "open"
RULINGS: Final = (FALSE_REJECTION, RIGHT, OPEN)
"""What can be known of a forbidden token."""


def resolve_steps(tools: CaseRun, schema: str, texts: Sequence[ModelAnswer]) -> None:
    """Rule, in place, on the steps of one item at which masks overruled the model.

    The panel compiled the item's schema, with the model's vocabulary.
    """
    if not any(text.overruled for text in texts):
        return
    problem = tools.judge.open(schema)
    if isinstance(problem, Unjudgeable):
        for text in texts:
            text.overruled = [
                replace(step, ruling=OPEN, reason=problem.reason) for step in text.overruled
            ]
        return
    item = _ItemResolution(tools, schema, texts)
    for text in texts:
        text.overruled = [item.ruled(text, step) for step in text.overruled]
    item.find_effects()


class _ItemResolution:
    """The steps of one item; the same dispute of two engines is resolved once."""

    def __init__(self, tools: CaseRun, schema: str, texts: Sequence[ModelAnswer]) -> None:
        self._tools, self._judge, self._panel = tools, tools.judge, tools.panel
        self._vocabulary = vocabulary = tools.vocabulary
        self._schema = strict_json.parse(schema)
        self._attribution = Attribution(self._schema)
        draft = draft_of(self._schema)
        self._rules = EarliestFailure(self._schema, LATEST if draft is None else draft.name)
        self._texts = texts
        self._whole = [text for answer in texts if _is_whole(text := answer.written(vocabulary))]
        # After nothing, a text is one token of which the continuations are asked for.
        self._context = Continuations(self._schema, next(iter(self._whole), b"null")).at(0)
        self._known: dict[tuple[bytes, int], TokenChoice] = {}

    def ruled(self, answer: ModelAnswer, step: TokenChoice) -> TokenChoice:
        """The step with what is known of its forbidden token."""
        before = answer.written(self._vocabulary, step.position)
        key = (before, step.token)
        if key not in self._known:
            self._known[key] = self._attributed(before, self._resolved(before, answer, step))
        known = self._known[key]
        names = ("ruling", "reason", "keyword", "category", "witness")
        return replace(step, **{name: getattr(known, name) for name in names})

    def _resolved(self, before: bytes, answer: ModelAnswer, step: TokenChoice) -> TokenChoice:
        vocabulary, ends = self._vocabulary, step.token in self._vocabulary.eos_ids
        if vocabulary.special[step.token] and not ends:
            return replace(step, ruling=RIGHT, reason="reserved")
        token = b"" if ends else vocabulary.tokens[step.token]
        state = advance(START, before + token)
        if state is None or (ends and not state.can_end):
            return replace(step, ruling=RIGHT, reason="not_json")
        if not ends:
            return self._of_token(before + token, answer, step)
        verdict = self._judge.judge([before])[0].verdict
        if verdict == VALID:
            return replace(step, ruling=FALSE_REJECTION, reason="end", witness=before.decode())
        if verdict == INVALID:
            return replace(step, ruling=RIGHT, reason="invalid_end")
        return replace(step, ruling=OPEN, reason="contested")

    def _of_token(self, text: bytes, answer: ModelAnswer, step: TokenChoice) -> TokenChoice:
        doubt = "no_completion"
        for origin, completions in self._completions(text, answer, step):
            whole = [text + completion for completion in completions]
            rulings = self._judge.judge(whole) if whole else []
            verdicts = [ruling.verdict for ruling in rulings]
            if VALID in verdicts:
                witness = whole[verdicts.index(VALID)].decode()
                return replace(step, ruling=FALSE_REJECTION, reason=origin, witness=witness)
            if CONTESTED in verdicts or UNDECIDED in verdicts:
                doubt = "contested"
            elif any(self._is_lost(ended, len(text)) for ended in whole):
                return replace(step, ruling=RIGHT, reason="schema")
        return replace(step, ruling=OPEN, reason=doubt)

    def _completions(
        self, text: bytes, answer: ModelAnswer, step: TokenChoice
    ) -> Iterator[tuple[str, Sequence[bytes]]]:
        """What may stand after the token, by where it comes from; the cheapest first."""
        yield "written", [whole[len(text) :] for whole in self._whole if whole.startswith(text)]
        known = self._context.candidates(text)
        yield "schema", known
        if known:
            errors = self._judge.errors(text + known[0])
            yield "aimed", self._context.aimed(text, known[0], errors)
        yield "rollout", list(self._rolled(answer, step))

    def _rolled(self, answer: ModelAnswer, step: TokenChoice) -> Iterator[bytes]:
        """What other engines write from the token on, of those that allow the text so far."""
        before = answer.written(self._vocabulary, step.position)
        names = {text.engine for text in self._texts} - {answer.engine}
        others = [number for number, spec in enumerate(self._panel.specs) if spec.name in names]
        asked = RollOut(np.array([step.token], dtype=np.int32), before.hex()[-64:], 200)
        answers = self._asked(dict.fromkeys(others, asked), answer.tokens[: step.position])
        for rolled in answers.values():
            if ROLLOUT_OUTCOMES[rolled.outcomes[0]] == "complete":
                tokens = rolled.taken.ints()[0]
                yield b"".join(self._vocabulary.ordinary.get(token, b"") for token in tokens)

    def _asked(
        self, asks: Mapping[int, EngineRequest[Any]], consumed: Sequence[int] = ()
    ) -> dict[int, Any]:
        """The answers of engines after consumed tokens, of those that do not fail."""
        up, way = filter(self._panel.up, asks), np.array(consumed, dtype=np.int32)
        stood = self._panel.ask(dict.fromkeys(up, Goto(way)))
        able = {number: asks[number] for number in _without_failures(stood)}
        return _without_failures(self._panel.ask(able))

    def find_effects(self) -> None:
        """Say what each step that was proven wrong costs, by asking the engine that forbade it."""
        vocabulary, specs = self._vocabulary, self._panel.specs
        numbers = {spec.name: number for number, spec in enumerate(specs)}
        wrong = [
            (answer, at, step)
            for answer in self._texts
            for at, step in enumerate(answer.overruled)
            if step.ruling == FALSE_REJECTION
        ]
        slow = {at for at, spec in enumerate(specs) if spec.slow_texts}
        known = CaseEffects(self._schema, self._judge, self._tools.tokens, vocabulary, slow)
        columns = EffectColumns(len(wrong))
        for row, (answer, _, step) in enumerate(wrong):
            engine, begun = numbers[answer.engine], answer.tokens[: step.position]
            written = len(answer.written(vocabulary, step.position))
            follow = Follow(wire.Ragged.of_ints([[*begun, *vocabulary.spelled(step.token)]]), at=0)
            taken = self._asked({engine: follow}).get(engine)
            inside = 0 if taken is None else max(int(taken.values[0]) - len(begun), 0)
            text = step.witness.encode()
            rejected = Rejected(engine, text, tuple(begun), written, written + inside)
            known.add(rejected, columns, row)
        known.decide(self._asked, ())
        for row, (answer, at, step) in enumerate(wrong):
            spelling = columns.spelling[row].decode("utf-8", "replace")
            answer.overruled[at] = replace(step, effect=columns.effect[row], spelling=spelling)

    def _is_lost(self, text: bytes, at: int) -> bool:
        """Whether an invalid text is so by what stands before a byte, whatever comes after it."""
        if not _is_whole(text):
            return False
        part = self._rules.keyword("allOf", root_of(text), {"allOf": [self._schema]})
        return part is not None and part[0] < at

    def _attributed(self, before: bytes, step: TokenChoice) -> TokenChoice:
        if step.ruling == RIGHT and step.reason in ("reserved", "not_json"):
            return step
        try:
            place = self._attribution.at(before)
        except ValueError:
            return step
        ends = step.token in self._vocabulary.eos_ids
        token = b"" if ends else self._vocabulary.tokens[step.token]
        governing = place.governing(token, end=ends)
        return replace(step, keyword=governing.keyword, category=place.category(token, end=ends))


def _without_failures(answers: Mapping[int, Any]) -> dict[int, Any]:
    return {number: each for number, each in answers.items() if not isinstance(each, Failure)}


def _is_whole(text: bytes) -> bool:
    """Whether a text is JSON as it stands."""
    state = advance(START, text)
    return state is not None and state.can_end
