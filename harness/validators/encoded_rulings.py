"""Rulings as they travel: what the validators say of a text, in plain strings and numbers."""

from __future__ import annotations

from harness.validators.judge import SUSPECT, VERDICTS
from harness.validators.validate import Opinion, TextOutcome

EncodedRuling = tuple[int, str, str, str, str, str, str]
"""The fields of a `harness.validators.judge.Ruling`."""

_NUMBER = {verdict: number for number, verdict in enumerate(VERDICTS)}


def of_outcome(outcome: TextOutcome) -> EncodedRuling:
    """The ruling that an explained outcome makes."""
    first, second = map(_opinion_word, outcome.opinions)
    return _NUMBER[outcome.verdict], outcome.reason, *_first_error(outcome), first, second


def of_suspicion(place: tuple[str, str, str]) -> EncodedRuling:
    """The ruling where jsonschema-rs alone calls a text invalid.

    Args:
        place: Keyword, schema pointer and instance pointer of the error that it names.
    """
    return SUSPECT, "", *place, "", "invalid"


def _opinion_word(opinion: Opinion) -> str:
    return "" if opinion.valid is None else "valid" if opinion.valid else "invalid"


def _first_error(outcome: TextOutcome) -> tuple[str, str, str]:
    """The first error named, jsonschema's before the other's; ``json`` for what is no JSON."""
    for opinion in outcome.opinions:
        for error in opinion.errors:
            return error.place
    return ("json" if outcome.reason == "not_json" else ""), "", ""
