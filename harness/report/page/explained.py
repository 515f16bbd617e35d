"""The verdicts that a report shows, each with all that a reader needs to see why it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.analysis.stored import StoredRun
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import Witness
from harness.replay.witness_reader import witnesses
from harness.report.page.sampling import ShownSample
from harness.report.page.schema_lines import laid_out
from harness.runs.tables import named_engines
from harness.validators.judge import INVALID, VALID, VERDICTS
from harness.verdict_kinds import WALK

SCHEMA_LIMIT = 12_000
"""Characters beyond which a schema is abridged."""
_BEFORE = (200, 2_000)
"""Bytes that are kept of the begin and the end of a long text so far."""
_AFTER = (1_500, 300)
"""Of the begin and the end of a long completion."""

_ABOUT = ("group", "place", "departure", "schema_pointer", "instance_pointer", "category", "detail")
_VALIDATORS = {"jsonschema": "jsonschema", "jsonschema_rs": "jsonschema-rs"}


def explained(
    stored: StoredRun, sample: ShownSample, vocabulary: Vocabulary
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The verdicts of a sample in the order of the cases, and the schemas that they are about.

    Of a verdict ``id`` is its name for `replay`, ``group`` the number of its group, ``opinions``
    what each validator said: as it is stored, or both the same, without which there is no proof;
    None where the verdict rests on no text. Texts are as `pieces` gives them.
    """
    verdicts, cases = [], {}
    for case in witnesses(stored.run, sample.choice, vocabulary):
        mine = [
            _verdict(one, sample.rows[one.evidence, one.number], stored.engines, vocabulary)
            for one in case.witnesses
        ]
        pointers = sorted({one["schema_pointer"] for one in mine})
        shown = laid_out(case.schema, pointers, SCHEMA_LIMIT)
        verdicts += mine
        cases[case.case] = {**vars(shown), "size": len(case.schema)}
    return verdicts, cases


def _verdict(
    one: Witness, row: Mapping[str, Any], engines: Sequence[str], vocabulary: Vocabulary
) -> dict[str, Any]:
    allowed, forbidden = one.side
    if one.evidence == WALK and row["accepters"] is not None:
        allowed, forbidden = (
            named_engines(row[side], engines) for side in ("accepters", "rejecters")
        )
    ruling = one.claim.ruling
    is_text = row["keyword"] != "json" and one.claim.reason != "not_json"
    both = VERDICTS[ruling] if ruling in (VALID, INVALID) and is_text else ""
    opinions = {name: row[column] or both for column, name in _VALIDATORS.items()}
    return {
        "id": one.name,
        "case": one.case,
        "number": one.place,
        "position": len(one.before),
        "reason": one.reason,
        **{name: row[name] for name in _ABOUT},
        **_texts(one, vocabulary),
        "accepter": one.accepter,
        "allowed": allowed,
        "forbidden": forbidden,
        "opinions": None if ruling is None else opinions,
    }


def pieces(text: bytes, keep: tuple[int, int]) -> list[Any]:
    """A text for JSON: one string, or the begin, how many bytes are left out, and the end.

    A byte that is no part of a character stands as the surrogate ``U+DC00`` plus its value, which
    no valid text holds (PEP 383).
    """
    first, last = keep
    if len(text) <= first + last + 40:
        return [text.decode("utf-8", "surrogateescape")]
    while first < len(text) and text[first] & 0xC0 == 0x80:
        first += 1
    end = len(text) - last
    while end > first and text[end] & 0xC0 == 0x80:
        end -= 1
    begin, rest = (part.decode("utf-8", "surrogateescape") for part in (text[:first], text[end:]))
    return [begin, end - first, rest]


def _texts(one: Witness, vocabulary: Vocabulary) -> dict[str, Any]:
    """The text of a verdict in three parts: before the token, the token, and after it."""
    before = vocabulary.text(one.before)
    token: dict[str, Any] | None = None
    if one.token >= 0:
        name = vocabulary.tokens[one.token]
        token = {"id": one.token, "text": name.decode("utf-8", "surrogateescape")}
        if vocabulary.special[one.token]:
            token["special"] = True
    own = vocabulary.text([one.token]) if one.token >= 0 else b""
    after = one.text[len(before) + len(own) :]
    return {
        "before": pieces(before, _BEFORE),
        "token": token,
        "after": pieces(after, _AFTER),
        "after_tokens": len(one.completion),
        "ends": one.completion[-1:] != () and one.completion[-1] in vocabulary.eos_ids,
    }
