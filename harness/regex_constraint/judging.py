"""One pattern under one engine: every wrong bit of its masks along the texts that match.

Bits are counted by direction and by what the token is: *whole* characters, *partial* ones (a token
that begins or ends inside a character), a *special* token, the *end* of sequence. One wrong bit of
each kind has a witness. Where an opinion differs from the automaton, the case charges nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from harness.completion.rollout import ROLLOUT_OUTCOMES
from harness.engines.panel import Panel
from harness.engines.requests import RollOut
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.regex_constraint.automata import DEAD, PatternAutomaton
from harness.regex_constraint.cases import made_valid
from harness.regex_constraint.dialects import read
from harness.regex_constraint.opinions import Ask, NotJudged
from harness.regex_constraint.true_masks import Bits, TextState, TokenTexts, TrueMasks
from harness.workers.outcomes import Compiled, Failure, MaskViolation
from harness.workers.wire import SLOTS

ACCEPTANCE, REJECTION = "false_acceptance", "false_rejection"
PARTS: Final = ("whole", "partial", "special", "end")
_ROLLOUT = 200
"""Tokens of a text that an engine writes behind a token that it must not allow."""


TextStates = tuple[TextState, TextState]
"""In the narrowest and in the widest automaton."""


class Skipped(NotJudged):
    """An engine takes no patterns."""

    status = "skipped"


class Contested(NotJudged):
    """An opinion differs from the automaton; the message has the text."""

    status = "contested"


class Truth:
    """What a pattern means in a dialect: two automata, opinions, and a case's labelled texts.

    A `NotJudged` where it cannot be said, or an opinion differs.
    """

    def __init__(self, pattern: str, dialect: str, texts: TokenTexts, ask: Ask) -> None:
        meaning = read(pattern, dialect)
        self.narrow = TrueMasks(PatternAutomaton(meaning.narrow), texts)
        same = meaning.wide is meaning.narrow
        self.wide = self.narrow if same else TrueMasks(PatternAutomaton(meaning.wide), texts)
        self._meaning, self._ask = meaning, ask

    def label(self, case: Case) -> Truth:
        """Find texts that match: a case's own, what others begin with, or some that are made."""
        given = [one.text.decode() for one in (*case.valid, *case.invalid)]
        texts = list(map(self._led, given))
        if True not in [self.says(text) for text in given]:
            texts += made_valid(self.narrow.automaton, case.schema)
        self.valid = [text for text in dict.fromkeys(texts) if self.says(text)]
        return self

    def _led(self, text: str) -> str:
        """A text that matches, and is like another one as far as that is possible."""
        automaton = self.narrow.automaton
        while (state := automaton.after(0, text)) == DEAD:
            text = text[:-1]
        return text + automaton.shortest(state)

    def says(self, text: str) -> bool | None:
        """Whether a text matches; None where that depends on the version of Unicode."""
        narrow, wide = self.narrow.automaton.matches(text), self.wide.automaton.matches(text)
        if narrow is not wide:
            return None
        if (not narrow) in self._ask(self._meaning.opinions, text):
            raise Contested(f"opinions differ on {text[:80]!r}")
        return narrow

    def after(self, places: TextStates, data: bytes) -> TextStates:
        """Where some more bytes of a text that matches lead."""
        found = self.narrow.after(places[0], data), self.wide.after(places[1], data)
        assert found[0] is not None
        assert found[1] is not None
        return found[0], found[1]

    def finished(self, place: TextState, data: bytes, token: bytes) -> str:
        """A whole text that matches, by the narrowest meaning, and begins with these bytes."""
        here = self.narrow.after(place, token)
        assert here is not None
        begun = data + token
        return begun[: len(begun) - len(here.rest)].decode() + self.narrow.finish(here)


@dataclass
class Judged:
    """What one engine made of one pattern: a line of a run."""

    case: str
    engine: str
    pattern: str
    status: str = "judged"
    """judged, refused, skipped, not_judged, contested, or how the engine failed."""
    message: str = ""
    positions: int = 0
    wrong: dict[str, dict[str, int]] = field(default_factory=dict)
    undecided: int = 0
    """Bits that depend on the version of Unicode."""
    valid: int = 0
    refused: int = 0
    """Texts that match, and how many of them the engine does not let through to the end."""
    witnesses: list[dict[str, str]] = field(default_factory=list)
    """For each `kind` and `part`: after `text` the `token` is allowed or forbidden wrongly.

    `whole` is a text that proves it: a match that the engine forbids, or no match that it allows to
    its end; empty where it came to no end.
    """


class PatternJudge:
    """Judges patterns under the engines of a panel; of each the dialect, empty: it takes none."""

    def __init__(
        self, panel: Panel, vocabulary: Vocabulary, dialects: Sequence[str], ask: Ask
    ) -> None:
        self.panel, self.vocabulary, self._dialects, self._ask = panel, vocabulary, dialects, ask
        panel.regex = True
        self._texts = TokenTexts(vocabulary)
        self._canonical = Canonical.of(vocabulary)
        self.part = np.where(self._texts.partial, 1, 0)
        self.part[vocabulary.special] = 2
        self.part[list(vocabulary.eos_ids)] = 3

    def judge(self, case: Case, engines: Sequence[int]) -> Iterator[Judged]:
        truths = {one: self._truth(case, one) for one in {self._dialects[n] for n in engines}}
        able = [n for n in engines if isinstance(truths[self._dialects[n]], Truth)]
        outcomes = self.panel.compile(case.schema, able) if able else {}
        for number in engines:
            truth, outcome = truths[self._dialects[number]], outcomes.get(number)
            name = self.panel.specs[number].name
            judged = Judged(case.id, name, case.schema)
            try:
                if isinstance(truth, NotJudged):
                    raise truth
                if isinstance(outcome, Compiled):
                    _OneEngine(self, number, judged, truth).run()
                elif outcome is not None:
                    judged.status, judged.message = outcome.status, outcome.message[:500]
            except NotJudged as reason:
                judged = Judged(case.id, name, case.schema, reason.status, str(reason))
            yield judged

    def _truth(self, case: Case, dialect: str) -> Truth | NotJudged:
        """What a pattern means in a dialect, or why that is not judged."""
        try:
            if not dialect:
                raise Skipped("its adapter takes no regular expressions")
            return Truth(case.schema, dialect, self._texts, self._ask).label(case)
        except NotJudged as reason:
            return reason

    def tokens(self, text: str) -> tuple[int, ...]:
        """The canonical tokens of a text; too many for one walk are a `NotJudged`."""
        data = text.encode()
        found = self._canonical.tokens(data) if self._canonical else None
        tokens = tuple(self.vocabulary.encode_greedy(data) if found is None else found)
        if len(tokens) >= SLOTS:
            raise NotJudged(f"a text has more than {SLOTS - 1} tokens")
        return tokens


class _OneEngine:
    """One engine that has compiled the pattern, led along its texts."""

    def __init__(self, judge: PatternJudge, engine: int, judged: Judged, truth: Truth) -> None:
        self._judge, self._engine, self._judged, self._truth = judge, engine, judged, truth
        self._panel, self._tokens = judge.panel, judge.vocabulary.tokens
        self._ends = list(judge.vocabulary.eos_ids)
        self._counts = {ACCEPTANCE: Counter[str](), REJECTION: Counter[str]()}
        self._seen: set[tuple[int, ...]] = set()
        self._failure: Failure | None = None

    def run(self) -> None:
        judged = self._judged
        for text in self._truth.valid:
            if self._failure is None:
                judged.valid += 1
                judged.refused += not self._walked(text)
        judged.positions = len(self._seen)
        judged.wrong = {kind: dict(counts) for kind, counts in self._counts.items()}
        if self._failure is not None:
            judged.status, judged.message = self._failure.status, self._failure.message[:500]

    def _walked(self, text: str) -> bool:
        """Lead the engine along a text, all masks compared; whether it lets it through."""
        tokens, size = self._judge.tokens(text), len(self._tokens)
        walked = self._panel.walk([self._engine], (-1, *tokens), 0, self._judged.case)[self._engine]
        if not isinstance(walked.failure, MaskViolation):
            self._failure = walked.failure
        data, places = b"", (TextState(0), TextState(0))
        rows = walked.masks.copy()  # which are overwritten by another walk
        for at, row in enumerate(rows):
            bits = np.unpackbits(row.view(np.uint8), bitorder="little", count=size)
            allowed = bits.view(np.bool_)
            if tokens[:at] not in self._seen:
                self._seen.add(tokens[:at])
                self._compare(allowed, places, data, at)
            if at == len(tokens):
                return bool(allowed[self._ends].any())
            if not allowed[tokens[at]]:
                return False
            data += self._tokens[tokens[at]]
            places = self._truth.after(places, self._tokens[tokens[at]])
        self._failure = self._failure or walked.failure
        return False

    def _compare(self, allowed: Bits, places: TextStates, data: bytes, at: int) -> None:
        narrow, wide = self._truth.narrow.mask(places[0]), self._truth.wide.mask(places[1])
        self._judged.undecided += int((narrow != wide).sum())
        for kind, bits in ((ACCEPTANCE, allowed & ~wide), (REJECTION, narrow & ~allowed)):
            wrong = np.flatnonzero(bits)
            parts = self._judge.part[wrong]
            for number in np.unique(parts).tolist():
                part, some = PARTS[number], wrong[parts == number]
                if part not in self._counts[kind]:
                    token = min(some.tolist(), key=self._rank)
                    self._show(kind, part, token, places[0], data, at)
                self._counts[kind][part] += len(some)

    def _rank(self, token: int) -> tuple[bool, int, bytes]:
        """Less for a token that is easier to read."""
        text = self._tokens[token]
        return not text.isascii() or text < b" ", len(text), text

    def _show(
        self, kind: str, part: str, token: int, place: TextState, data: bytes, at: int
    ) -> None:
        """Keep a witness; raises `Contested` where an opinion speaks against it."""
        text = b"" if part == "end" else self._tokens[token]
        if part == "end":
            whole = data.decode("utf-8", "replace")
        elif kind == REJECTION:
            whole = self._truth.finished(place, data, text)
        else:
            whole = self._rolled_out(token, data + text, at)
        if whole and self._truth.says(whole) is (kind == ACCEPTANCE):
            raise Contested(f"the automaton differs from itself on {whole[:80]!r}")
        before, named = (one.decode("utf-8", "backslashreplace") for one in (data, text))
        shown = {"kind": kind, "part": part, "text": before, "token": named, "whole": whole}
        self._judged.witnesses.append(shown)

    def _rolled_out(self, token: int, data: bytes, at: int) -> str:
        """A text that the engine itself goes on to; empty where it does not come to an end."""
        tokens = np.array([token], dtype=np.int32)
        asked = RollOut(tokens=tokens, key=self._judged.case, limit=_ROLLOUT, at=at)
        answer = self._panel.ask({self._engine: asked})[self._engine]
        if isinstance(answer, Failure):
            self._failure = answer
        elif ROLLOUT_OUTCOMES[int(answer.outcomes[0])] == "complete":
            taken = [self._tokens[one] for one in answer.taken.ints()[0] if one not in self._ends]
            return b"".join([data, *taken]).decode("utf-8", "replace")
        return ""
