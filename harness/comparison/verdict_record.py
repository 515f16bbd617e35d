"""What one case proves, as rows: verdicts, the completions they rest on, the texts fed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.comparison.disputes import Dispute, Tokens
from harness.comparison.fed_texts import FedText, TextVerdict, conclude
from harness.comparison.findings import CODES, Evidence, Findings, Flaw, Verdicts, reason_of
from harness.comparison.text_facts import TextFacts
from harness.comparison.walk import CHALLENGER_NUMBER, Position
from harness.engines.text_probe import Probed
from harness.explain.attribution import Attribution, GoverningKeyword
from harness.explain.error_location import failing_parts
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import START, advance, place_of
from harness.jsontext.pointers import typed_steps
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES, Rows, Words
from harness.validators.judge import VERDICTS
from harness.verdict_kinds import (
    CHALLENGER,
    FALSE_ACCEPTANCE,
    FALSE_REJECTION,
    OPEN,
    REJECTIONS,
)

_GOVERNED = REJECTIONS
"""Kinds whose keyword is the one in force, since no validator names one."""


@dataclass(frozen=True)
class _Lines:
    """The verdicts at a position; engines are rows, completions the findings' own; shapes ``(v,)``.

    `kind` refers to `CODES`, `reason` to `reasons`, `evidence` to the findings'; `located`
    and `refused_at` are -1 where there is nothing to say.
    """

    row: npt.NDArray[np.int64]
    token: npt.NDArray[np.int32]
    refused_at: npt.NDArray[np.int32]
    kind: Words
    reason: Words
    accepter: npt.NDArray[np.int64]
    completion: npt.NDArray[np.int32]
    evidence: npt.NDArray[np.int32]
    dispute: npt.NDArray[np.int64]
    always_resolved: npt.NDArray[np.bool_]
    located: npt.NDArray[np.int8]


class VerdictNotes:
    """Writes the verdicts of one case.

    Args:
        names: The engines' names, in the order of the run.
        facts: What there is to say of texts; None says nothing.
    """

    def __init__(
        self,
        rows: Rows,
        case: Case,
        names: Sequence[str],
        vocabulary: Vocabulary,
        schema: Any,
        facts: TextFacts | None = None,
    ) -> None:
        self.rows = rows
        self._facts = facts
        self.attribution = Attribution(schema)
        self._parsed = schema
        self._case = case
        self._names = names
        self._vocabulary = vocabulary
        self._eos_ids = vocabulary.eos_ids
        self._completions = 0

    def verdicts(
        self,
        walk: int,
        position: Position,
        disputes: Mapping[int, Dispute],
        findings: Findings,
        found: Verdicts,
    ) -> None:
        """What was proven at one position, and the completions that prove it.

        Args:
            disputes: Those that the findings are about, by their numbers at the position.
        """
        lines = self._lines(disputes, findings, found)
        count = len(lines.row)
        if not count:
            return
        pieces, of_piece = _pieces(lines)
        categories, places, keywords, governing = self._attributed(position, pieces)
        stored = self._stored(findings, lines.completion)
        names = ["", *map(self._name, findings.engines)]
        governed = np.isin(lines.kind.codes, [lines.kind.words.index(kind) for kind in _GOVERNED])
        evidence = findings.evidence
        # of a rejection what is in force, of all else what the validators said
        reasons: list[GoverningKeyword | Evidence] = [*keywords, *evidence]
        attributed = np.where(governed, governing[of_piece], len(keywords) + lines.evidence)
        categories = Words(categories.codes[of_piece], categories.words)
        details = Words(governing[of_piece], [one.detail for one in keywords])
        format_alone, spelling = self._text_facts(
            position, findings, lines, attributed, reasons, categories, details
        )
        self.rows.extend(
            "verdicts",
            count,
            case=self._case.id,
            walk=walk,
            position=position.number,
            dispute=lines.dispute,
            token=lines.token,
            refused_at=lines.refused_at,
            place=Words(places.codes[of_piece], places.words),
            always_resolved=lines.always_resolved,
            engine=Words(lines.row + 1, names),
            kind=lines.kind,
            reason=lines.reason,
            accepter=Words(lines.accepter + 1, names),
            completion=stored,
            only_challenger=self._only_challenger(position, disputes, lines),
            keyword=Words(attributed, [one.keyword for one in reasons]),
            schema_pointer=Words(attributed, [one.schema_pointer for one in reasons]),
            instance_pointer=Words(attributed, [one.instance_pointer for one in reasons]),
            category=categories,
            detail=details,
            located=lines.located,
            jsonschema=Words(lines.evidence, [one.jsonschema for one in evidence]),
            jsonschema_rs=Words(lines.evidence, [one.jsonschema_rs for one in evidence]),
            format_alone=format_alone,
            number_spelling=spelling,
        )

    def _only_challenger(
        self, position: Position, disputes: Mapping[int, Dispute], lines: _Lines
    ) -> npt.NDArray[np.bool_]:
        """Which verdicts are about tokens that only the challenger allowed, or that all allowed."""
        engines = [one for one in position.engines if one != CHALLENGER_NUMBER]
        if len(engines) < 2:
            return np.ones(len(lines.row), dtype=np.bool_)
        by_all = [number for number, one in disputes.items() if not one.rejecters]
        alone = lines.accepter == len(engines) if len(engines) < len(position.engines) else False
        return np.asarray(np.isin(lines.dispute, by_all) | alone)

    def _text_facts(
        self,
        position: Position,
        findings: Findings,
        lines: _Lines,
        attributed: npt.NDArray[Any],
        reasons: Sequence[GoverningKeyword | Evidence],
        categories: Words,
        details: Words,
    ) -> tuple[npt.NDArray[np.bool_], Words]:
        """Which texts break `format` alone, and how the numbers are spelt: see `TextFacts`."""
        alone = np.zeros(len(lines.row), dtype=np.bool_)
        spellings = [""] * len(lines.row)
        facts = self._facts
        if facts is None:
            return alone, _coded(spellings)
        kinds = [lines.kind.words[code] for code in lines.kind.codes.tolist()]
        about_format: dict[int, bytes] = {}
        for at, (kind, which) in enumerate(zip(kinds, attributed.tolist(), strict=True)):
            if kind not in (FALSE_ACCEPTANCE.name, FALSE_REJECTION.name):
                continue
            reason, category = reasons[which], categories.words[categories.codes[at]]
            is_number = facts.may_be_number(kind, category, reason.keyword)
            is_format = facts.may_be_format(kind, reason.keyword)
            if not is_number and not is_format:
                continue
            token = int(lines.token[at])
            written = b"" if token in self._eos_ids else self._vocabulary.tokens[token]
            text = position.text + written + findings.completions[int(lines.completion[at])].text
            if is_format:
                about_format[at] = text
            if is_number:
                pointers = reason.schema_pointer, reason.instance_pointer
                detail = details.words[details.codes[at]]
                spellings[at] = facts.number_spelling(text, kind, detail, *pointers)
        alone[list(about_format)] = facts.format_alone(list(about_format.values()))
        return alone, _coded(spellings)

    def _name(self, engine: int) -> str:
        return CHALLENGER if engine == CHALLENGER_NUMBER else self._names[engine]

    @staticmethod
    def _lines(disputes: Mapping[int, Dispute], findings: Findings, found: Verdicts) -> _Lines:
        """The verdicts on disputed tokens, then the errors of other kinds."""
        dispute, always_resolved = _of_disputes(findings.tokens, disputes)
        row, column = found.row, found.column
        reasons, reason = _reasons(findings, found)
        located = np.where(findings.elsewhere[row, column], 0, 1).astype(np.int8)
        located[found.kind != CODES.index("false_acceptance")] = -1
        flaws = list(_distinct(findings.flaws))
        kinds = [*CODES, *dict.fromkeys(one.kind for one in flaws if one.kind not in CODES)]
        words = [*reasons, *dict.fromkeys(one.reason for one in flaws if one.reason not in reasons)]
        tokens = np.array([one.token for one in flaws], dtype=np.int32)
        at = np.searchsorted(findings.tokens, tokens)
        there = np.zeros(len(tokens), dtype=np.bool_)
        inside = at < len(findings.tokens)
        there[inside] = findings.tokens[at[inside]] == tokens[inside]
        at[~there] = len(findings.tokens)
        return _Lines(
            _joined(row, [one.row for one in flaws]),
            _joined(findings.tokens[column], tokens),
            _joined(findings.refused_at[row, column], [-1] * len(flaws)),
            Words(_joined(found.kind, [kinds.index(one.kind) for one in flaws]), kinds),
            Words(_joined(reason, [words.index(one.reason) for one in flaws]), words),
            _joined(found.accepter, [_accepter(one) for one in flaws]),
            _joined(found.completion, [one.completion for one in flaws]),
            _joined(findings.evidence_number[row, column], [0] * len(flaws)),
            _joined(dispute[column], np.append(dispute, -1)[at]),
            _joined(always_resolved[column], np.append(always_resolved, True)[at]),
            _joined(located, [-1] * len(flaws)),
        )

    def _attributed(
        self, position: Position, pieces: Sequence[tuple[int, int]]
    ) -> tuple[Words, Words, list[GoverningKeyword], npt.NDArray[np.int32]]:
        """What there is to say of tokens behind a position's text, at the byte that is refused.

        Args:
            pieces: Each a token, and how many of its bytes go before the byte; -1 where that is
                not known: then its first piece decides (`harness.explain.attribution`).

        Returns:
            The categories, the places, the distinct governing keywords, and which of these each
            piece has.
        """
        eos_ids, special = set(self._eos_ids), self._vocabulary.special
        by_begun: dict[bytes, list[tuple[int, bytes, bool, bool]]] = {}
        for number, (token, at) in enumerate(pieces):
            text, end = self._vocabulary.tokens[token], token in eos_ids
            begun, byte = (text[:at], piece_at(text, at)) if 0 <= at < len(text) else (b"", text)
            piece = (number, byte, end, bool(special[token]) and not end)
            by_begun.setdefault(begun, []).append(piece)
        categories, places = [""] * len(pieces), [""] * len(pieces)
        distinct: dict[GoverningKeyword, int] = {}
        which = np.zeros(len(pieces), dtype=np.int32)
        for begun, members in sorted(by_begun.items()):
            attribution = self.attribution.at(position.text + begun)
            place = "end" if position.at_end and not begun else attribution.place
            numbers, texts, ends, reserved = zip(*members, strict=True)
            found, keywords = attribution.many(texts, ends=ends, reserved=reserved)
            for number, category, governing in zip(numbers, found, keywords, strict=True):
                categories[number], places[number] = category, place
                which[number] = distinct.setdefault(governing, len(distinct))
        return _coded(categories), _coded(places), list(distinct), which

    def texts(
        self, evidence: str, fed: Mapping[int, FedText], **more: Sequence[str] | Sequence[int]
    ) -> None:
        """Texts as they are fed to engines, by their numbers; `more` are further columns."""
        for at, (number, one) in enumerate(fed.items()):
            self.rows.add(
                TEXT_TABLES[evidence],
                case=self._case.id,
                **{evidence: number},
                **{name: values[at] for name, values in more.items()},
                label=one.label,
                text=one.text,
                tokens=list(one.tokens),
                canonical=one.canonical,
                verdict=VERDICTS[one.ruling.verdict],
                reason=one.ruling.reason,
            )

    def of_texts(
        self,
        evidence: str,
        engine: int,
        fed: Mapping[int, FedText],
        probes: Sequence[Probed],
        refused_at: Sequence[int],
    ) -> None:
        """What texts, by their numbers, prove about one engine: see `conclude`."""
        for (number, one), probed, at in zip(fed.items(), probes, refused_at, strict=True):
            for verdict in conclude(one, probed, at):
                self._of_text(evidence, engine, number, one, verdict)

    def _of_text(
        self, evidence: str, engine: int, number: int, one: FedText, verdict: TextVerdict
    ) -> None:
        ruling = one.ruling
        offset = self._offset(one, verdict)
        place, category, governing = self._text_attributed(one, verdict, offset)
        reason = governing if verdict.kind in _GOVERNED else ruling
        format_alone, spelling = False, ""
        if (facts := self._facts) is not None:
            if facts.may_be_format(verdict.kind, reason.keyword):
                (format_alone,) = facts.format_alone([one.text])
            if facts.may_be_number(verdict.kind, category, reason.keyword):
                pointers = reason.schema_pointer, reason.instance_pointer
                spelling = facts.number_spelling(
                    one.text, verdict.kind, governing.detail, *pointers
                )
        self.rows.add(
            VERDICT_TABLES[evidence],
            case=self._case.id,
            **{evidence: number},
            engine=self._names[engine],
            kind=verdict.kind,
            reason=verdict.reason,
            consumed=verdict.consumed,
            token=verdict.token,
            offset=offset,
            place=place,
            keyword=reason.keyword,
            schema_pointer=reason.schema_pointer,
            instance_pointer=reason.instance_pointer,
            category=category,
            detail=governing.detail,
            located=None,
            jsonschema=ruling.jsonschema,
            jsonschema_rs=ruling.jsonschema_rs,
            format_alone=format_alone,
            number_spelling=spelling,
        )

    def _offset(self, one: FedText, verdict: TextVerdict) -> int:
        """How many bytes of a text go before the byte at fault; -1 where that is not known."""
        if verdict.refused_at >= 0:
            return len(self._prefix(one, verdict)) + verdict.refused_at
        if verdict.kind != "false_acceptance" or not one.ruling.keyword:
            return -1
        fault = (
            one.ruling.keyword,
            tuple(typed_steps(one.ruling.instance_pointer)),
            tuple(typed_steps(one.ruling.schema_pointer)),
        )
        parts = failing_parts(one.text, fault, self._parsed)
        return parts[0][0] if parts and parts[0][0] < len(one.text) else -1

    def _prefix(self, one: FedText, verdict: TextVerdict) -> bytes:
        """What an engine consumed of a text."""
        tokens = one.tokens[: verdict.consumed]
        eos = self._vocabulary.eos
        return b"".join(self._vocabulary.tokens[token] for token in tokens if token != eos)

    def _text_attributed(
        self, one: FedText, verdict: TextVerdict, offset: int
    ) -> tuple[str, str, GoverningKeyword]:
        """Place, category and governing keyword of the byte at fault, or of the whole token."""
        prefix = one.text[:offset] if offset >= 0 else self._prefix(one, verdict)
        state = advance(START, prefix)
        if state is None:
            return "", "", GoverningKeyword("", "", "", "")
        place = place_of(state, at_end=len(prefix) == len(one.text))
        if offset < 0 and verdict.token < 0:
            return place, "", GoverningKeyword("", "", "", "")
        end = verdict.token in self._eos_ids
        byte = piece_at(one.text, offset)
        token = byte if offset >= 0 and byte else self._vocabulary.tokens[verdict.token]
        categories, keywords = self.attribution.at(prefix).many([token], ends=[end])
        return place, categories[0], keywords[0]

    def _stored(self, findings: Findings, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The case-wide numbers of completions, which are stored in the order of their use."""
        used, first = np.unique(numbers, return_index=True)
        order = used[np.argsort(first, kind="stable")]
        stored = np.full(len(findings.completions) + 1, -1, dtype=np.int32)
        for number in order[order >= 0].tolist():
            stored[number] = self._completions
            self._completions += 1
            completion = findings.completions[number]
            self.rows.add(
                "completions",
                case=self._case.id,
                completion=int(stored[number]),
                origin=completion.origin,
                text=completion.text,
                tokens=list(completion.tokens),
            )
        return stored[numbers]


_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,4}|.)?", re.DOTALL)


def piece_at(text: bytes, at: int) -> bytes:
    """The byte at a place of a text, or the escape that begins there: half says too little."""
    escape = _ESCAPE.match(text, at)
    return escape[0] if escape else text[at : at + 1]


def _pieces(lines: _Lines) -> tuple[list[tuple[int, int]], npt.NDArray[np.int64]]:
    """The distinct tokens with the byte that is refused, and which of them each verdict has."""
    keys = lines.token.astype(np.int64) << 32 | (lines.refused_at.astype(np.int64) + 1)
    distinct, which = np.unique(keys, return_inverse=True)
    return [(key >> 32, (key & 0xFFFFFFFF) - 1) for key in distinct.tolist()], which


def _coded(values: Sequence[str]) -> Words:
    words: dict[str, int] = {}
    codes = [words.setdefault(one, len(words)) for one in values]
    return Words(np.array(codes, dtype=np.int32), list(words))


def _joined(array: npt.NDArray[Any], more: Sequence[int] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array with further values behind it, its type kept."""
    return np.concatenate([array, np.asarray(more, dtype=array.dtype)])


def _accepter(flaw: Flaw) -> int:
    """The engine (by row) that allows a flaw's completion, -1 without one."""
    if flaw.accepter >= 0:
        return flaw.accepter
    return flaw.row if flaw.completion >= 0 else -1


def _reasons(findings: Findings, found: Verdicts) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Why verdicts are contested or unresolved: the words, and which of them each verdict has."""
    words = {"": 0}
    which = np.zeros(len(found.row), dtype=np.int32)
    for at in np.flatnonzero(np.isin(found.kind, [CODES.index(kind) for kind in OPEN])).tolist():
        reason = reason_of(findings, int(found.row[at]), int(found.column[at]))
        which[at] = words.setdefault(reason, len(words))
    return list(words), which


def _distinct(flaws: Sequence[Flaw]) -> Iterable[Flaw]:
    """The first of each kind by engine and token: several completions may show the same error."""
    first: dict[tuple[int, int, str], Flaw] = {}
    for flaw in flaws:
        first.setdefault((flaw.row, flaw.token, flaw.kind), flaw)
    return first.values()


def _of_disputes(
    tokens: Tokens, disputes: Mapping[int, Dispute]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The dispute of each token, and whether the token was not sampled."""
    of_token = np.full(len(tokens), -1, dtype=np.int64)
    always_resolved = np.zeros(len(tokens), dtype=np.bool_)
    for number, dispute in disputes.items():
        of_token[np.searchsorted(tokens, dispute.drawn)] = number
        always_resolved[np.searchsorted(tokens, dispute.always_resolved)] = True
    return of_token, always_resolved
