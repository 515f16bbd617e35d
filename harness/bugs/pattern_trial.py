"""Errors under patterns: what an engine does with a text against what the pattern's automaton says.

An `ErrorCase` has the pattern as a JSON string in the place of a schema. Its text is fed as any
other, the end included: one that matches is refused somewhere, or one that does not is let through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from harness.bugs.error_case import ErrorCase
from harness.bugs.passes import shorter_token
from harness.bugs.pattern_edits import common_patterns, smaller_patterns
from harness.bugs.shrink import Reduction
from harness.bugs.text_edits import sort_of
from harness.bugs.trial import Symptom, Trial
from harness.jsontext.lexer import utf8_length
from harness.regex_constraint.judging import Truth
from harness.regex_constraint.opinions import NotJudged, SecondOpinions
from harness.regex_constraint.true_masks import TextState, TokenTexts
from harness.regex_constraint.work import dialect_of
from harness.validators.judge import INVALID, UNDECIDED, VALID, Ruling
from harness.verdict_kinds import ACCEPTANCES, BUG

# what may stand for a fault of a sort
_PLAIN: Final = {"printable": (b"a", b"0"), "beyond ASCII": ("\u00e9".encode(),)}
_STATES: Final = 6  # the nearest places of a pattern, at which an error is looked for
Parts = tuple[bytes, bytes, bytes]
"""The text before what is at fault, this (a token, a character, or the end), and the rest."""


class PatternTrial(Trial):
    """A trial of an engine under patterns in its dialect."""

    def __init__(self, *about: Any, **further: Any) -> None:
        super().__init__(*about, **further)
        self._panel.regex, self.dialect = True, dialect_of(self.spec)
        ask, texts = SecondOpinions(self._panel.limits.memory), TokenTexts(self.vocabulary)
        self._stack.callback(ask.close)

        @lru_cache(256)
        def truth(pattern: str) -> Truth | None:
            try:
                return Truth(pattern, self.dialect, texts, ask)
            except NotJudged:
                return None

        self.truth = truth
        """What a pattern means; None where that is not judged."""

    def agreed(self, case: ErrorCase) -> bool:
        """Whether both opinions say of the text of a case what the automaton says."""
        truth, text = self.truth(case.parsed), case.text.decode("utf-8", "ignore")
        try:  # bytes that are no UTF-8 match nothing
            return truth is not None and truth.says(text) is (case.kind not in ACCEPTANCES)
        except NotJudged:
            return False

    def _rulings(self, cases: Sequence[ErrorCase]) -> Sequence[Ruling]:
        truth = self.truth(cases[0].parsed)
        wrong = [truth is not None and is_wrong(truth, case) for case in cases]
        verdict = INVALID if cases[0].kind in ACCEPTANCES else VALID
        return [Ruling(verdict if is_ else UNDECIDED, "") for is_ in wrong]

    def _described(self, case: ErrorCase, *about: Any) -> Symptom:
        truth, probed = self.truth(case.parsed), about[1]
        assert truth is not None
        at = dies(truth, case.text) if case.kind in ACCEPTANCES else probed.allowed
        byte = case.text[at : at + 1]
        mark = "printable" if b" " <= byte < b"\x7f" else sort_of(byte)
        return Symptom(at, BUG, self.dialect, "token" if case.token else mark)


def dies(truth: Truth, text: bytes) -> int:
    """The first byte of a text with which no match begins; its length where one does."""
    sizes, start = range(len(text)), TextState(0)
    return next((n for n in sizes if truth.wide.after(start, text[: n + 1]) is None), len(text))


def is_wrong(truth: Truth, case: ErrorCase) -> bool:
    """Whether a text is what an error of the kind needs: one that matches, or one that does not."""
    if case.kind not in ACCEPTANCES:
        return truth.narrow.matches(case.text)
    ends = dies(truth, case.text) == len(case.text)
    return not truth.wide.matches(case.text) and ends == (case.kind == "stops_too_early")


def parts_of(case: ErrorCase, at: int) -> Parts:
    """The parts of a text of which a byte is at fault."""
    text, end = case.text, at + len(case.token)
    if not case.token:
        while at and text[at : at + 1] and 0x80 <= text[at] < 0xC0:
            at -= 1
        end = at + (utf8_length(text[at]) or 1 if at < len(text) else 0)
    return text[:at], text[at:end], text[end:]


def texts(truth: Truth, case: ErrorCase, parts: Parts) -> Iterator[ErrorCase]:
    """The case with texts that may show its error under a pattern, which have such a fault."""
    before, fault, rest = parts
    near = [text.encode() for _, text in islice(truth.wide.automaton.reached(0), _STATES)]
    less = (before[len(before) - size :] for size in range(len(before) + 1))
    for start in dict.fromkeys([*near, *less]):
        for tail in _tails(truth, case.kind, start, fault, rest):
            token_at = len(start if case.token else b"")
            edited = replace(case, text=start + fault + tail, token_at=token_at)
            if is_wrong(truth, edited):
                yield edited


def _tails(truth: Truth, kind: str, start: bytes, fault: bytes, rest: bytes) -> Iterator[bytes]:
    """What may come after a fault: the end of a match, or what an engine may take for one."""
    side = truth.wide if kind in ACCEPTANCES else truth.narrow
    here = side.after(TextState(0), start)
    if here is None or not fault:
        yield b""
    elif kind not in ACCEPTANCES:
        if (after := side.after(here, fault)) is not None:
            yield side.finish(after).encode()[len(after.rest) :]
    else:
        yield from (b"", rest, side.finish(here).encode())
        for _, target in islice(side.automaton.followers(here.state), _STATES):
            yield side.automaton.shortest(target).encode()


class PatternReduction(Reduction):
    """Tries smaller patterns, each with the texts that may show the error under it."""

    def _begin(self) -> None:
        self._smaller, self._common = (self._edited, shorter_token), (self._alike,)
        self._come_to()

    def _edited(self, case: ErrorCase) -> Iterator[ErrorCase]:
        return self._under(case, (case.parsed, *smaller_patterns(case.parsed)))

    def _alike(self, case: ErrorCase) -> Iterator[ErrorCase]:
        fault = parts_of(case, self._symptom.at)[1].decode("utf-8", "ignore")
        character = fault if fault.isprintable() and not fault.isascii() else "a"
        return self._under(case, common_patterns(case.parsed, character))

    def _under(self, case: ErrorCase, patterns: Iterable[str]) -> Iterator[ErrorCase]:
        """The case under other patterns, with what is at fault or something as plain."""
        assert isinstance(self._trial, PatternTrial)
        before, fault, rest = parts_of(case, self._symptom.at)
        for pattern in dict.fromkeys(patterns):
            if (truth := self._trial.truth(pattern)) is not None:
                for one in dict.fromkeys([*_PLAIN.get(self._symptom.mark, ()), fault]):
                    yield from texts(truth, case.with_schema(pattern), (before, one, rest))
