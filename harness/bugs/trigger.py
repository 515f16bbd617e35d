"""What undoes an error where it was met: a smaller case without that shows another error.

Two things are tried in the case as a run has it: to leave a keyword out of the schema, wherever it
stands, and to put something plain in the place of the refused character or value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from harness.bugs import schema_edits
from harness.bugs.error_case import ErrorCase
from harness.bugs.passes import is_json
from harness.bugs.text_edits import LETTERS, fault, plain_at, put, sort_of
from harness.bugs.trial import BRANCHES, Symptom, Trial
from harness.verdict_kinds import ACCEPTANCES, WRONG_BITS

_SPECIAL: Final = (sort_of(b'"'), sort_of(b"\\"), sort_of(b"\xc3"), "end")
"""Sorts of what an engine may refuse for what it is, wherever it stands in a string."""
_CLOSE: Final = frozenset(
    f"{how}{what}" for how in ("additional", "unevaluated") for what in ("Properties", "Items")
)


@dataclass(frozen=True)
class Trigger:
    """Keywords without which an error vanishes, and what is plain and does so in its place.

    It is `loose` where whatever stands there shows the error, in a string a letter.
    """

    keywords: tuple[str, ...] = ()
    plain: bytes = b""
    loose: bool = False

    def may_be_in(self, case: ErrorCase) -> bool:
        """Whether the schema has the keywords, or their twins."""
        twins = schema_edits.TWINS
        return all(
            f'"{name}":' in case.schema or f'"{twins.get(name, name)}":' in case.schema
            for name in self.keywords
        )

    def is_in(self, trial: Trial, case: ErrorCase, at: int) -> bool:
        """Whether what is plain does not show the error that the case shows at a byte."""
        plain = (other for plain, other in _variants(case, at) if plain == self.plain)
        return not any(_is_there(other, trial.reproduce(other), at) for other in plain)


def trigger(
    trial: Trial,
    case: ErrorCase,
    symptom: Symptom,
    is_same: Callable[[ErrorCase, Symptom], bool],
    goes_on: Callable[[], bool],
) -> tuple[ErrorCase, Symptom, Trigger]:
    """The case without the keywords that are not needed, and what undoes its error.

    What is let through with a type beside the keyword that it breaks, too, keeps the type; and
    the keyword that applies this in place, where it is not let through without that.
    """
    needed: list[str] = []
    for name in filter(lambda _: goes_on(), schema_edits.assertions(case.parsed)):
        other = case.with_schema(schema_edits.without_keyword(case.parsed, name))
        shown = trial.reproduce(other)
        stays = shown is not None and (shown.at == symptom.at or case.kind in ACCEPTANCES)
        if shown is not None and stays and is_same(other, shown):
            case, symptom = other, shown
        elif name in _CLOSE and name != symptom.keyword:
            continue  # what it closes is another way to write the same
        elif _is_mended(trial, other, shown, symptom.at) or _breaks(trial, other, name, symptom):
            needed.append(name)
    if case.kind in ACCEPTANCES:
        for name, schema in schema_edits.merged(case.parsed) if goes_on() else ():
            if all(trial.are_right([case.with_schema(schema)])):
                needed.append(name)
        for schema in schema_edits.typed(case.parsed, symptom.keyword):
            other = case.with_schema(schema)
            shown = trial.reproduce(other) if goes_on() else None
            if shown is not None and is_same(other, shown):
                case, symptom = other, shown  # not for want of a type
                break
    plain, loose = _undone(trial, case, symptom.at) if goes_on() else (b"", False)
    return case, symptom, Trigger(tuple(needed), plain, loose)


def _breaks(trial: Trial, without: ErrorCase, name: str, symptom: Symptom) -> bool:
    """Whether a keyword, which is left out, is what no branch allowed in what is let through."""
    of_branch = without.kind in ACCEPTANCES and symptom.mark in BRANCHES
    return of_branch and name not in BRANCHES and trial.is_valid(without)


def _undone(trial: Trial, case: ErrorCase, at: int) -> tuple[bytes, bool]:
    """What is plain and undoes the error at a byte; and whether what stands there does not matter.

    That is so in a string where a letter is refused as well, whatever else undoes the error; and of
    a value that holds none, where only one that does undoes it.
    """
    found, loose = b"", False
    for plain, other in _variants(case, at):
        if found and plain not in LETTERS:
            break
        shown = trial.reproduce(other)
        further = shown is not None and _is_plain_further_on(other.text, at, shown.at)
        same = further or (shown is not None and shown.at == at)
        if plain in LETTERS and same:
            return b"", True
        if not found and not further and _is_mended(trial, other, shown, at):
            found = plain
            if plain not in LETTERS:
                break
        loose |= same
    return found, loose and (not found or found[:1] in (b"[", b"{"))


def _is_plain_further_on(text: bytes, before: int, at: int) -> bool:
    """Whether a plain character is refused after a place, and in the same string."""
    within = text[before:at]
    return within > b"" and b'"' not in within and sort_of(text[at : at + 1]) not in _SPECIAL


def _is_there(case: ErrorCase, shown: Symptom | None, at: int) -> bool:
    """Whether an error shows at a byte or before it; of one that is let through, whether any."""
    return shown is not None and (case.kind in ACCEPTANCES or not shown.at > at >= 0)


def _is_mended(trial: Trial, case: ErrorCase, shown: Symptom | None, at: int) -> bool:
    if shown is not None:
        return not _is_there(case, shown, at)
    return all(trial.are_right([case])) if case.kind in WRONG_BITS else trial.compiles(case.schema)


def _variants(case: ErrorCase, at: int) -> Iterator[tuple[bytes, ErrorCase]]:
    """What is plain in the place of what is at a byte; a word of the schema changes there, too.

    Of a text that is no JSON it is a letter in the place of the byte with which it is none.
    """
    accepted = case.kind in ACCEPTANCES
    if case.token or case.kind not in WRONG_BITS:
        return
    if not is_json(case):
        if accepted and 0 <= at < len(case.text):
            texts = (put(case.text, (at, at + 1), plain) for plain in LETTERS)
            yield from zip(LETTERS, map(case.with_text, texts), strict=True)
        return
    schema = case.parsed
    words = schema_edits.names(schema)
    is_key = at >= 0 and fault(case.text, at)[0] == "inside key"
    for plain, text, old, new in plain_at(case.text, at, whole=accepted):
        if is_key and schema_edits.patterns_of(schema, old) != schema_edits.patterns_of(
            schema, new
        ):
            continue  # another rule applies to it
        other = case.with_text(text)
        if old in words and not accepted:
            other = other.with_schema(schema_edits.renamed(schema, old, new))
        if text != case.text:
            yield plain, other
