"""The verdicts that a report shows, each with all that a reader needs to see why it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import Witness
from harness.replay.witness_reader import CaseWitnesses, spelled, witnesses
from harness.report.page.sampling import ShownSample
from harness.report.page.schema_lines import laid_out
from harness.runs.directory import RunDirectory
from harness.runs.reader import ROW, RunReader, TableCursor
from harness.runs.tables import VERDICT_TABLES, named_engines
from harness.validators.judge import INVALID, VALID, VERDICTS
from harness.verdict_kinds import WALK

SCHEMA_LIMIT = 12_000
"""Characters beyond which a schema is abridged."""
_BEFORE = (200, 2_000)
"""Bytes that are kept of the begin and the end of a long text so far."""
_AFTER = (1_500, 300)
"""Of the begin and the end of a long completion."""

_ABOUT = ("schema_pointer", "instance_pointer", "category", "detail")
_SAID = {"jsonschema": "jsonschema", "jsonschema_rs": "jsonschema-rs"}
"""By column the validator whose answer it is."""


@dataclass
class Explained:
    """Verdicts and the schemas that they are about, as JSON; see `explained`."""

    verdicts: list[dict[str, Any]] = field(default_factory=list)
    cases: dict[str, dict[str, Any]] = field(default_factory=dict)


def explained(run: RunDirectory, sample: ShownSample, vocabulary: Vocabulary) -> Explained:
    """The verdicts of a sample, in the order of the cases.

    Returns:
        ``verdicts``: of each ``id`` (its name for `replay`), ``group`` (see `ShownSample.groups`),
        ``case``, ``number`` (of the walk or the instance), ``position``, ``place``, ``reason``,
        ``departure``, ``schema_pointer``, ``instance_pointer``, ``category``, ``detail``,
        ``before``, ``token`` and ``after`` (texts, see `pieces`; ``token`` with ``id``, and
        ``special`` where it is no text), ``after_tokens``, ``ends``, ``accepter``, ``allowed``,
        ``forbidden``, and ``opinions`` (what each validator said: as it is stored, or both the
        same, without which there is no proof; None where the verdict rests on no text).
        ``cases``: by name, ``lines``, ``spans`` and ``abridged`` of the schema, as in
        `harness.report.page.schema_lines.SchemaLines`.

    Raises:
        RunDirectoryError: The tables do not fit together.
    """
    found = Explained()
    rows = _rows(RunReader(run), sample)
    context = _Surroundings(run)
    for case in witnesses(run, sample.choice, vocabulary):
        verdicts = list(_of_case(case, sample, rows, context, vocabulary))
        pointers = {one["schema_pointer"] for one in verdicts}
        shown = laid_out(case.schema, sorted(pointers), SCHEMA_LIMIT)
        found.verdicts += verdicts
        found.cases[case.case] = {**vars(shown), "size": len(case.schema)}
    return found


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


def _rows(reader: RunReader, sample: ShownSample) -> dict[tuple[str, int], Mapping[str, Any]]:
    """The stored rows of the verdicts, by evidence and number."""
    found: dict[tuple[str, int], Mapping[str, Any]] = {}
    for evidence, table in VERDICT_TABLES.items():
        names = ["dispute" if evidence == WALK else "place", "keyword", *_ABOUT, *_SAID]
        for batch in reader.batches(table, names, sample.choice.of(evidence)):
            found |= {(evidence, row[ROW]): row for row in batch.to_pylist()}
    return found


class _Surroundings:
    """What other tables say of the places of verdicts, read case by case."""

    def __init__(self, run: RunDirectory) -> None:
        reader = RunReader(run)
        self.engines = list(run.manifest["identity"]["engines"])
        sides = ["walk", "position", "dispute", "accepters", "rejecters"]
        self._disputes = TableCursor(reader, "disputes", sides)
        self._positions = TableCursor(reader, "positions", ["walk", "position", "place"])

    def enter(self, case: str) -> None:
        """Go on to a case; cases must come in the order of the run."""
        disputes, positions = self._disputes.of(case), self._positions.of(case)
        self.sides = {
            (row["walk"], row["position"], row["dispute"]): (row["accepters"], row["rejecters"])
            for row in ([] if disputes is None else disputes.to_pylist())
        }
        self.places = {
            (row["walk"], row["position"]): row["place"]
            for row in ([] if positions is None else positions.to_pylist())
        }

    def who(self, one: Witness, row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Which engines allow the token and which forbid it, as far as the run says so."""
        sides = self.sides.get((one.place, len(one.before), row.get("dispute", -1)))
        if one.evidence == WALK and sides is not None:
            allowed, forbidden = (named_engines(bits, self.engines) for bits in sides)
            return allowed, forbidden
        return one.side


def _of_case(
    case: CaseWitnesses,
    sample: ShownSample,
    rows: Mapping[tuple[str, int], Mapping[str, Any]],
    context: _Surroundings,
    vocabulary: Vocabulary,
) -> Iterator[dict[str, Any]]:
    """The verdicts of one case."""
    context.enter(case.case)
    for one in case.witnesses:
        key = (one.evidence, one.number)
        row = rows[key]
        allowed, forbidden = context.who(one, row)
        at_walk = context.places.get((one.place, len(one.before)), "")
        said = one.claim.ruling
        both = "" if said not in (VALID, INVALID) or row["keyword"] == "json" else VERDICTS[said]
        both = "" if one.claim.reason == "not_json" else both
        yield {
            "id": one.name,
            "group": sample.group_of[key],
            "case": one.case,
            "number": one.place,
            "position": len(one.before),
            "place": at_walk if one.evidence == WALK else row.get("place") or "",
            "reason": one.reason,
            "departure": sample.departures[key],
            **{name: row.get(name) or "" for name in _ABOUT},
            **_texts(one, vocabulary),
            "accepter": one.accepter,
            "allowed": allowed,
            "forbidden": forbidden,
            "opinions": None
            if said is None
            else {name: row[column] or both for column, name in _SAID.items()},
        }


def _texts(one: Witness, vocabulary: Vocabulary) -> dict[str, Any]:
    """The text of a verdict in three parts: before the token, the token, and behind it."""
    before = spelled(vocabulary, one.before)
    token: dict[str, Any] | None = None
    if one.token >= 0:
        name = vocabulary.tokens[one.token]
        token = {"id": one.token, "text": name.decode("utf-8", "surrogateescape")}
        if vocabulary.special[one.token]:
            token["special"] = True
    own = spelled(vocabulary, [one.token]) if one.token >= 0 else b""
    after = one.text[len(before) + len(own) :]
    return {
        "before": pieces(before, _BEFORE),
        "token": token,
        "after": pieces(after, _AFTER),
        "after_tokens": len(one.completion),
        "ends": ends(one.completion, vocabulary.eos_ids),
    }


def ends(completion: Sequence[int], eos_ids: Sequence[int]) -> bool:
    """Whether a completion ends with an end of sequence."""
    return bool(completion) and completion[-1] in eos_ids
