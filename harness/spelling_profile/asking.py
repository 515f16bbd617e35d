"""Engines are asked for every row: each schema is compiled once, its texts are probed together.

The vocabulary has the 256 bytes, the end of sequence, and each character beyond ASCII that a row
has as a token of its own: some engines know characters only whole. A text with such characters is
asked for in both ways, and is allowed in one of them at least.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from harness.classification.departures import load_catalogue
from harness.engines.environments import provide_all
from harness.engines.panel import Limits, Panel
from harness.engines.presets import backends_of, taken_by
from harness.engines.requests import Probe
from harness.engines.specs import parse_specs
from harness.engines.text_probe import Probed
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.live import LiveLine
from harness.spelling_profile.profile import (
    AnswerKind,
    EngineSpellings,
    Profile,
    RowAnswer,
    Spelling,
    load_battery,
    with_options,
)
from harness.workers import wire
from harness.workers.outcomes import Compiled, Failure, Refusal
from harness.workers.temporary_directories import saved_vocabulary

LIMITS: Final = Limits(compile=10.0, mask=5.0, resolve=30.0)
AT_ONCE: Final = 4  # engines that are up at the same time


def profile_of(
    engines: Sequence[str], *, limits: Limits = LIMITS, rows: Sequence[Spelling] | None = None
) -> Profile:
    """Ask the engines of some specs for every row, or for those that are given.

    Raises:
        UsageError: A spec cannot be read, or what it asks for cannot be had.
    """
    specs = provide_all(parse_specs(engines))
    rows = tuple(load_battery() if rows is None else rows)
    characters = {one for row in rows for text in (row.text, *row.controls) for one in text}
    vocabulary = byte_vocabulary([one.encode() for one in sorted(characters) if one > "\x7f"])
    found: list[EngineSpellings] = []
    with (
        saved_vocabulary(vocabulary) as file,
        LiveLine("engines", len(specs), "starting the engines") as line,
    ):
        for at in range(0, len(specs), AT_ONCE):
            panel = Panel(specs[at : at + AT_ONCE], str(file), vocabulary.words, limits)
            with contextlib.closing(panel):
                line.update(at, ", ".join(one.name for one in panel.specs))
                asking = _Asking(panel, vocabulary)
                found += asking.spellings(rows)
            line.plain(f"{len(found)} of {len(specs)} engines")
    return Profile(rows, with_options(found))


class _Asking:
    """The engines of a panel, asked one schema after the other."""

    def __init__(self, panel: Panel, vocabulary: Vocabulary) -> None:
        self._panel, self._vocabulary, self._catalogue = panel, vocabulary, load_catalogue()

    def spellings(self, rows: Sequence[Spelling]) -> Iterator[EngineSpellings]:
        """The answers of each engine, in the order of the panel."""
        down = self._panel.open()
        found: dict[int, dict[str, RowAnswer]] = {at: {} for at in range(len(self._panel))}
        for schema in dict.fromkeys(row.schema for row in rows):
            some = [row for row in rows if row.schema == schema]
            for index, answers in self._answers(schema, some, down).items():
                found[index] |= zip((row.id for row in some), answers, strict=True)
        for index, spec in enumerate(self._panel.specs):
            version = getattr(self._panel.infos.get(index), "version", spec.version or "")
            mine = {row.id: found[index][row.id] for row in rows}
            yield EngineSpellings(spec.name, version, mine)

    def _answers(
        self, schema: str, rows: Sequence[Spelling], down: Mapping[int, Failure]
    ) -> dict[int, list[RowAnswer]]:
        """What each engine answers to rows of one schema."""
        up = [index for index in range(len(self._panel)) if index not in down]
        outcomes = {**down, **self._panel.compile(schema, up)}
        compiled = [index for index in up if isinstance(outcomes[index], Compiled)]
        texts = dict.fromkeys(text for row in rows for text in (*row.texts, *row.controls))
        taken = {index: taken_by(self._panel.output(index)) for index in compiled}
        known = self._allowed_texts(compiled, list(texts))
        found = {}
        for index, outcome in outcomes.items():
            if isinstance(outcome, Compiled):
                part, backend = asdict(self._panel.infos[index]), taken[index]
                part = backends_of(part)[backend] if backend else part  # what a server asks
                found[index] = [self._answer(row, known[index], part) for row in rows]
            else:
                kind = AnswerKind.REFUSED if isinstance(outcome, Refusal) else AnswerKind.FAILED
                found[index] = [RowAnswer(kind, outcome.message)] * len(rows)
        return found

    def _allowed_texts(
        self, engines: Sequence[int], texts: Sequence[str]
    ) -> dict[int, dict[str, bool | str]]:
        """By text whether an engine allows it, or how it failed; asked one by one where it does."""
        end, vocabulary = self._vocabulary.eos, self._vocabulary
        tokenised = []
        for text in texts:  # of whole characters, and of bytes where these differ
            whole = [*vocabulary.encode_greedy(text.encode()), end]
            tokenised.append([whole] if text.isascii() else [whole, [*text.encode(), end]])
        request = Probe(wire.Ragged.of_ints(one for some in tokenised for one in some))
        found: dict[int, dict[str, bool | str]] = {}
        for index, answer in self._panel.ask(dict.fromkeys(engines, request)).items():
            if not isinstance(answer, Failure):
                each = iter(answer.each())
                found[index] = {
                    text: _allowed([(next(each), len(one)) for one in some])
                    for text, some in zip(texts, tokenised, strict=True)
                }
                continue
            found[index] = dict.fromkeys(texts, answer.message)
            for text in texts if len(texts) > 1 else ():
                if self._panel.recover(index, ()) is None:
                    found[index] |= self._allowed_texts([index], [text])[index]
        return found

    def _answer(
        self, row: Spelling, known: Mapping[str, bool | str], part: Mapping[str, Any]
    ) -> RowAnswer:
        allowed = [known[text] for text in row.texts]
        if True in allowed:
            return RowAnswer(AnswerKind.YES)
        if failed := [one for one in allowed if isinstance(one, str)]:
            return RowAnswer(AnswerKind.FAILED, failed[0])
        if row.controls and not any(known[text] is True for text in row.controls):
            words = "cannot be said: the value is refused in its plain spelling, too"
            return RowAnswer(AnswerKind.UNCLEAR, words)
        behaviour = self._catalogue.behaviours.get(row.behaviour)
        ids = {row.behaviour, behaviour.part_of if behaviour else ""} - {""}
        declaring = (one for one in self._catalogue if one.behaviour in ids and one.concerns(part))
        return RowAnswer(AnswerKind.NO, declared=tuple(declaring))


def _allowed(tokenised: Sequence[tuple[Probed, int]]) -> bool | str:
    """Whether a text is allowed to its end in one of its ways; why it is not known, in words."""
    if any(probed.allowed == count for probed, count in tokenised):
        return True
    if all(probed.forbidden for probed, _ in tokenised):
        return False
    return "its mask allows a token that it does not consume"
