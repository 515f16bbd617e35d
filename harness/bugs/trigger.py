"""What undoes an error where it was met: a smaller case without that shows another error.

Two things are tried in the case as a run has it: to leave a keyword out of the schema, wherever it
stands, and to put something plain in the place of the refused character or value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.bugs import schema_edits
from harness.bugs.error_case import ErrorCase
from harness.bugs.passes import is_json
from harness.bugs.text_edits import plain_at
from harness.bugs.trial import Symptom, Trial
from harness.verdict_kinds import ACCEPTANCES, REJECTIONS, WRONG_BITS

Same = Callable[[ErrorCase, Symptom], bool]


@dataclass(frozen=True)
class Trigger:
    """Keywords without which an error vanishes, and what may stand where it is without an error.

    It is `loose` where whatever stands there shows the error: then it is not about what does.
    """

    keywords: tuple[str, ...] = ()
    plain: bytes | None = None
    loose: bool = False

    def may_be_in(self, case: ErrorCase) -> bool:
        """Whether the schema has the keywords, or their twins."""
        return all(
            any(f'"{word}":' in case.schema for word in (name, schema_edits.TWINS.get(name, name)))
            for name in self.keywords
        )

    def is_in(self, trial: Trial, case: ErrorCase, at: int) -> bool:
        """Whether what is plain does not show the error that the case shows at a byte, either."""
        if self.plain is None:
            return True
        shown = [
            trial.reproduce(other) for plain, other in _variants(case, at) if plain == self.plain
        ]
        return all(one is None or _is_past(case, one, at) for one in shown)


def trigger(
    trial: Trial, case: ErrorCase, symptom: Symptom, same: Same, goes_on: Callable[[], bool]
) -> tuple[ErrorCase, Symptom, Trigger]:
    """The case without the keywords that are not needed, and what undoes its error."""
    needed = []
    for name in schema_edits.assertions(case.parsed):
        if not goes_on():
            return case, symptom, Trigger(tuple(needed))
        other = case.with_schema(schema_edits.without_keyword(case.parsed, name))
        shown = trial.reproduce(other)
        moved = shown is not None and case.kind in REJECTIONS and shown.at != symptom.at
        if shown is not None and not moved and same(other, shown):
            case, symptom = other, shown
        elif _is_mended(trial, other, shown, symptom.at):
            needed.append(name)
    loose = False
    for plain, other in _variants(case, symptom.at):
        shown = trial.reproduce(other)
        if _is_mended(trial, other, shown, symptom.at):
            return case, symptom, Trigger(tuple(needed), plain)
        loose |= shown is not None and shown.at == symptom.at
    return case, symptom, Trigger(tuple(needed), None, loose)


def _is_past(case: ErrorCase, shown: Symptom, at: int) -> bool:
    return case.kind in REJECTIONS and shown.at > at >= 0


def _is_mended(trial: Trial, case: ErrorCase, shown: Symptom | None, at: int) -> bool:
    if shown is not None:
        return _is_past(case, shown, at)
    return all(trial.are_right([case])) if case.kind in WRONG_BITS else trial.compiles(case.schema)


def _variants(case: ErrorCase, at: int) -> Iterator[tuple[bytes, ErrorCase]]:
    """What is plain in the place of what is at a byte; a word of the schema changes there, too."""
    accepted = case.kind in ACCEPTANCES
    if case.token or case.kind not in WRONG_BITS or not is_json(case):
        return
    schema = case.parsed
    words = schema_edits.names(schema)
    for plain, text, old, new in plain_at(case.text, at, whole=accepted):
        other = case.with_text(text)
        if old in words and not accepted:
            other = other.with_schema(schema_edits.renamed(schema, old, new))
        if text != case.text:
            yield plain, other
