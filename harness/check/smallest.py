"""The smallest case of each error of a check, as far as time allows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.listing import bug_of
from harness.bugs.shrink import Shrinker
from harness.bugs.trial import Trial
from harness.check.answers import ProvenError
from harness.classification.departures import Catalogue
from harness.inputs.cases import STYLES
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engines_of, vocabulary_of
from harness.verdict_kinds import BUG


class SmallestCases:
    """Shrinks errors of one engine until the `time_is_up`; then a case stays as small as it is."""

    def __init__(self, trial: Trial, catalogue: Catalogue, time_is_up: Callable[[], bool]) -> None:
        self._trial, self._catalogue, self._time_is_up = trial, catalogue, time_is_up
        self._shrinkers: dict[RunDirectory, Shrinker] = {}

    def of(self, errors: Sequence[ProvenError], schema: str) -> tuple[ProvenError, ...]:
        """Errors under a schema with their smallest cases, the worst first; each bug once.

        What is not shrunk stays where it is about another kind or keyword than all others.
        """
        shrunk: dict[str, ProvenError] = {}
        rest: list[ProvenError] = []
        whole = compact(json.loads(schema))
        for one in _in_turns([self._told_apart(one, whole) for one in errors]):
            found = one if self._time_is_up() else self._shrunk(one, schema)
            if found.bug is None:
                rest.append(one)
            elif found.bug.id not in shrunk:
                shrunk[found.bug.id] = found
            elif not found.is_spelling:
                shrunk[found.bug.id] = replace(shrunk[found.bug.id], is_spelling=False)
        known = {(one.about, one.is_spelling) for one in shrunk.values()}
        for one in rest:
            if (about := (one.about, one.is_spelling)) not in known:
                known.add(about)
                shrunk[str(about)] = one
        return tuple(sorted(shrunk.values(), key=lambda one: one.order))

    def _told_apart(self, one: ProvenError, schema: str) -> ProvenError:
        """An error with whether what is forbidden can be written otherwise, as far as was tried.

        A model is kept from no value then.
        """
        usual = [usual_spellings(text) for text in one.alike]
        if not one.forbids or not usual or not all(usual):
            return one
        assert one.witness is not None
        case = ErrorCase(one.witness.engine, one.kind, schema, one.text)
        others = [case.with_text(other) for texts in usual for other in texts]
        right = iter(self._trial.are_right(others))
        able = [any([next(right) for _ in texts]) for texts in usual]  # noqa: C419 - all are read
        return replace(one, is_spelling=all(able))

    def _shrunk(self, one: ProvenError, schema: str) -> ProvenError:
        """An error with its smallest case, where that shows it."""
        run = one.run
        assert run is not None
        assert one.witness is not None
        if run not in self._shrinkers:
            about = (engines_of(run), self._catalogue, vocabulary_of(run), self._trial)
            self._shrinkers[run] = Shrinker.of(run, *about)
        found = self._shrinkers[run].sample(one.witness, schema, BUG, self._time_is_up)
        return one if found.error is None else replace(one, bug=bug_of(run, found))


def usual_spellings(text: bytes) -> list[bytes]:
    """The value of a text as `json.dumps` writes it, in each style; not the text itself."""
    try:
        value = _plain(json.loads(text.decode()))
        styled = [
            json.dumps(value, ensure_ascii=False, **style).encode() for style in STYLES.values()
        ]
    except (ValueError, RecursionError):  # what is let through need not be JSON
        return []
    return [one for one in dict.fromkeys(styled) if one != text]


def _plain(value: Any) -> Any:
    """A value with whole numbers as integers."""
    match value:
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case float() if value.is_integer():
            return int(value)
    return value


def _in_turns(errors: Sequence[ProvenError]) -> list[ProvenError]:
    """The worst of what is let through, of what is forbidden and of the rest before all others."""
    ordered = sorted(errors, key=lambda one: one.order)
    first = {(one.lets_through, one.forbids): one for one in reversed(ordered)}
    return [*first.values(), *(one for one in ordered if one not in first.values())]
