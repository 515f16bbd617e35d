"""Shrinking: from the case on which an error was found to the smallest that shows the same error.

Greedy: of the edits in the order of their passes the first that leaves the error as it was, and the
case smaller, is taken, until no edit is. The order is fixed and nothing is drawn, so that the same
case always shrinks to the same one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.bugs import schema_edits, text_edits
from harness.bugs.error_case import ErrorCase
from harness.bugs.trial import Shown, Trial

_BATCH = 24
"""Texts that are tried at a time under one schema."""

MOST = 4000
"""Cases that are tried at most."""
MOST_FAILURES = 8
"""Cases at most on which the engine fails or takes too long; each costs it its host."""

MOST_SECONDS = 10.0
"""That the engine may compile for one shrinking."""

LAST_FAILURES, LAST_SECONDS = 2, 2.0
"""What is allowed of both for `NORMAL` where `PASSES` used up all: the case is small by then."""

Edits = Callable[[ErrorCase], Iterator[ErrorCase]]


@dataclass(frozen=True)
class Shrunk:
    """The smallest case that was found.

    Attributes:
        case: It.
        shown: What it shows.
        attempts: How many cases were tried.
    """

    case: ErrorCase
    shown: Shown
    attempts: int


def shrink(
    trial: Trial, case: ErrorCase, shown: Shown, stopped: Callable[[], bool] = lambda: False
) -> Shrunk:
    """The smallest case with the same error.

    Args:
        trial: Tries cases.
        case: Where to begin.
        shown: What it shows.
        stopped: Asked again and again; once it says so nothing more is tried.
    """
    return _Shrinking(trial, case, shown, stopped).run()


class _Shrinking:
    def __init__(
        self, trial: Trial, case: ErrorCase, shown: Shown, stopped: Callable[[], bool]
    ) -> None:
        self._stopped = stopped
        self._trial = trial
        self._best = case
        self._shown = shown
        self._known: set[tuple[str, bytes, bytes, int]] = set()
        self._failed, self._began = trial.failures, trial.seconds
        self.attempts = 0

    @property
    def _goes_on(self) -> bool:
        return (
            self.attempts < MOST
            and not self._stopped()
            and self._trial.failures - self._failed < MOST_FAILURES
            and self._trial.seconds - self._began < MOST_SECONDS
        )

    def run(self) -> Shrunk:
        self._smaller()
        if not self._goes_on:
            self._failed = self._trial.failures - MOST_FAILURES + LAST_FAILURES
            self._began = self._trial.seconds - MOST_SECONDS + LAST_SECONDS
        while self._changed(NORMAL, longer=True):
            self._smaller()
        return Shrunk(self._best, self._shown, self.attempts)

    def _smaller(self) -> None:
        while self._goes_on and self._changed(PASSES):
            pass

    def _changed(self, passes: Sequence[Edits], *, longer: bool = False) -> bool:
        """Take all that some passes find; whether they found anything."""
        before = self._best
        for edits in passes:
            while self._goes_on and self._improved(edits, longer=longer):
                pass
        return self._best != before

    def _improved(self, edits: Edits, *, longer: bool) -> bool:
        """Take the first edit that is smaller and still the error; whether there was one."""
        best = self._best
        for group in _grouped(self._new(edits(best), best, longer)):
            if not self._goes_on:
                return False
            for one, shown in zip(group, self._trial.shown_by(group), strict=True):
                if shown is not None and shown.is_still(self._shown):
                    self._best, self._shown = one, shown
                    return True
        return False

    def _new(
        self, edited: Iterator[ErrorCase], best: ErrorCase, longer: bool
    ) -> Iterator[ErrorCase]:
        for one in edited:
            key = (one.schema, one.text, one.token, one.token_at)
            if key in self._known or (one.size >= best.size and not longer):
                continue
            self._known.add(key)
            self.attempts += 1
            yield one


def _grouped(cases: Iterator[ErrorCase]) -> Iterator[Sequence[ErrorCase]]:
    """Neighbours with one schema together, some at a time."""
    for _, group in itertools.groupby(cases, key=lambda one: one.schema):
        while some := list(itertools.islice(group, _BATCH)):
            yield some


def _parts(case: ErrorCase) -> Iterator[ErrorCase]:
    if case.token or not _is_json(case.text):
        return
    for schema, text in schema_edits.parts_with_texts(case.parsed, case.text):
        yield case.with_schema(schema).with_text(text)


def _of_schema(edits: Callable[[object], Iterator[object]]) -> Edits:
    def made(case: ErrorCase) -> Iterator[ErrorCase]:
        for schema in edits(case.parsed):
            yield case.with_schema(schema)

    return made


def _of_json(edits: Callable[[bytes], Iterator[bytes]]) -> Edits:
    """Edits of texts that are JSON and fed byte by byte."""

    def made(case: ErrorCase) -> Iterator[ErrorCase]:
        if not case.token and _is_json(case.text):
            yield from (case.with_text(text) for text in edits(case.text))

    return made


def _of_bytes(edits: Callable[[bytes], Iterator[bytes]]) -> Edits:
    """Edits of any text; around a token, of what stands before and behind it."""

    def made(case: ErrorCase) -> Iterator[ErrorCase]:
        if not case.token:
            yield from (case.with_text(text) for text in edits(case.text))
            return
        end = case.token_at + len(case.token)
        before, behind = case.text[: case.token_at], case.text[end:]
        for text in edits(before):
            yield replace(case, text=text + case.text[case.token_at :], token_at=len(text))
        for text in edits(behind):
            yield replace(case, text=case.text[:end] + text)

    return made


def used_only(case: ErrorCase) -> Iterator[ErrorCase]:
    """The case with a schema that has little beyond what its text needs; nothing for no JSON."""
    keys = text_edits.keys(case.text) if _is_json(case.text) else None
    if keys is not None:
        for schema in schema_edits.used_only(case.parsed, keys):
            yield case.with_schema(schema)


def _plain_parts(case: ErrorCase) -> Iterator[ErrorCase]:
    """One part of the schema as plain as can be, in the text as well."""
    readable = not case.token and _is_json(case.text)
    for schema, kind in schema_edits.plain_parts(case.parsed):
        edited = case.with_schema(schema)
        yield edited
        if readable:
            yield from (edited.with_text(text) for text in text_edits.true_for(case.text, kind))


def _plain_types(case: ErrorCase) -> Iterator[ErrorCase]:
    """A type that nothing beside it is about as plain as can be, in the text as well."""
    readable = not case.token and _is_json(case.text)
    for schema, path, kind in schema_edits.plain_types(case.parsed):
        edited = case.with_schema(schema)
        yield edited
        if readable:
            texts = text_edits.true_for(case.text, kind) if path else (b"true",)
            yield from (edited.with_text(text) for text in texts)


def _fewer_branches(case: ErrorCase) -> Iterator[ErrorCase]:
    """A branch less, with true for values in the text, where neither goes alone."""
    schema = case.parsed
    if case.token or not _is_json(case.text):
        return
    for path, part in schema_edits.subschemas(schema):
        for keyword in ("anyOf", "oneOf") if isinstance(part, dict) else ():
            branches = part.get(keyword)
            for index in (
                range(len(branches)) if isinstance(branches, list) and branches[1:] else ()
            ):
                edited = case.with_schema(schema_edits.without(schema, (*path, keyword, index)))
                yield from (edited.with_text(text) for text in text_edits.true_for(case.text, ""))


def _one_atom(case: ErrorCase) -> Iterator[ErrorCase]:
    """One atom of a pattern, and one character of a string, where neither goes alone."""
    if case.token:
        return
    schema = case.parsed
    for path, part in schema_edits.subschemas(schema):
        if isinstance(part, dict) and isinstance(part.get("pattern"), str):
            for atom, text in text_edits.one_atom(part["pattern"], case.text):
                edited = schema_edits.replaced(schema, (*path, "pattern"), atom)
                yield case.with_schema(edited).with_text(text)


def _escaped_letter(case: ErrorCase) -> Iterator[ErrorCase]:
    """A pattern of one letter, and that letter escaped, where it is an escape that is refused."""
    if case.token:
        return
    schema = case.parsed
    for path, part in schema_edits.subschemas(schema):
        if isinstance(part, dict) and isinstance(part.get("pattern"), str):
            edited = case.with_schema(schema_edits.replaced(schema, (*path, "pattern"), "^A$"))
            yield from (edited.with_text(text) for text in text_edits.escapes(case.text))


def _around_true(case: ErrorCase) -> Iterator[ErrorCase]:
    """The plainest schema where an error is about the white space around the whole text."""
    if not case.token:
        plain = case.with_schema({"type": "boolean"})
        yield from (plain.with_text(text) for text in text_edits.around_true(case.text))


def _without_signs(case: ErrorCase) -> Iterator[ErrorCase]:
    """Schema and text without negative numbers."""
    if not case.token:
        schema = schema_edits.without_signs(case.parsed)
        yield case.with_schema(schema).with_text(text_edits.without_signs(case.text))


def _shorter_token(case: ErrorCase) -> Iterator[ErrorCase]:
    """A shorter token; what it loses is fed byte by byte, or not at all."""
    if len(case.token) < 3:
        return
    end = case.token_at + len(case.token)
    before, behind = case.text[: case.token_at], case.text[end:]
    for token, start in ((case.token[1:], 1), (case.token[:-1], 0)):
        yield replace(case, token=token, token_at=case.token_at + start)
        yield replace(case, token=token, text=before + token + behind)


def _renamed(case: ErrorCase) -> Iterator[ErrorCase]:
    """Names and words that are shorter, in schema and text alike."""
    schema = case.parsed
    words = list(schema_edits.names(schema))
    for old in words:
        for new in ("a", "b", "c", "d", "e"):
            if new == old or new in words:
                continue
            edited = case.with_schema(schema_edits.renamed(schema, old, new))
            at = case.token_at
            if case.token:
                before = text_edits.word_renamed(case.text[:at], old, new)
                behind = text_edits.word_renamed(case.text[at + len(case.token) :], old, new)
                text, at = before + case.token + behind, len(before)
            else:
                text = text_edits.word_renamed(case.text, old, new)
            yield replace(edited, text=text, token_at=at)


def _plain_keys(case: ErrorCase) -> Iterator[ErrorCase]:
    """Keys that only the text has, called by the first letters that are free."""
    if case.token or not _is_json(case.text):
        return
    taken = {*schema_edits.names(case.parsed)}
    free = (name for name in "abcdefgh" if name not in taken)
    keys = [key for key in text_edits.keys(case.text) if key not in taken]
    wanted = dict(zip(keys, free, strict=False))
    text = case.text
    for old, new in wanted.items():
        if old not in wanted.values():
            text = text_edits.key_renamed(text, old, new)
    if text != case.text:
        yield case.with_text(text)


def _is_json(text: bytes) -> bool:
    try:
        # a raw control character may be what is at issue; halves of a surrogate pair are no text
        json.loads(text.decode(), strict=False)
    except (ValueError, RecursionError):
        return False
    return True


PASSES: Sequence[Edits] = (
    used_only,
    _parts,
    _of_bytes(text_edits.without_layout),
    _of_json(text_edits.members_left_out),
    _of_json(text_edits.simpler_values),
    used_only,
    _of_schema(schema_edits.emptied),
    _of_schema(schema_edits.cut_down),
    _of_schema(schema_edits.in_one_piece),
    _of_schema(schema_edits.left_out),
    _of_schema(schema_edits.made_plain),
    _fewer_branches,
    _one_atom,
    _renamed,
    _shorter_token,
    _of_bytes(text_edits.pieces_left_out),
    _of_bytes(text_edits.bytes_left_out),
    _of_bytes(text_edits.short_ends),
    _of_bytes(text_edits.plain_escapes),
    _of_bytes(text_edits.plainer_bytes),
)
"""What is tried, in this order, again and again; what needs no compilation comes early."""

NORMAL: Sequence[Edits] = (
    _of_schema(schema_edits.typed),
    _plain_parts,
    _plain_types,
    _of_schema(schema_edits.twins),
    _of_schema(schema_edits.type_first),
    _plain_keys,
    _of_bytes(text_edits.letters),
    _of_bytes(text_edits.leftward),
    _of_bytes(text_edits.solidus_as_letters_are),
    _of_bytes(text_edits.escaped_first),
    _of_bytes(text_edits.plain_spaces),
    _escaped_letter,
    _around_true,
    _without_signs,
)
"""What makes the smallest case longer, and the same for more errors that are one."""
