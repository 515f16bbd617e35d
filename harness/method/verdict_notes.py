"""What one case proves, as rows: verdicts, the completions they rest on, instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.data.cases import Case
from harness.data.vocabulary import Vocabulary
from harness.method.dispute import Dispute, Tokens
from harness.method.findings import KINDS, Evidence, Findings, Flaw, reason_of
from harness.method.findings import verdicts as proven
from harness.method.instances import Fed, InstanceVerdict, conclude
from harness.method.walk import Position
from harness.processes.probe import Probed
from harness.runs.tables import Rows
from harness.text.jsontext import START, advance
from harness.text.places import place_of
from harness.validation.judge import VERDICTS
from harness.why.attribution import Attribution, Force

_OPEN = ("contested", "unresolved")
_FORCED = ("false_rejection", "never_stops")
"""Kinds whose keyword is the one in force, since no validator names one."""


@dataclass(frozen=True)
class _Lines:
    """The verdicts at a position, one entry each; engines are rows, completions the findings' own.

    `kind` and `reason` are words, `said` is an index into the findings' evidence.
    """

    row: list[int]
    token: list[int]
    kind: list[str]
    reason: list[str]
    accepter: list[int]
    completion: list[int]
    said: list[int]
    dispute: list[int]
    by_right: list[bool]
    located: list[bool | None]


class VerdictNotes:
    """Writes the verdicts of one case.

    Args:
        rows: Where they go.
        case: The case.
        names: The engines' names, in the order of the run.
        vocabulary: The shared one.
        one_clears_all: The resolver's rule; see `harness.method.findings.verdicts`.
        attribution: Of the case's schema.
    """

    def __init__(
        self,
        rows: Rows,
        case: Case,
        names: Sequence[str],
        vocabulary: Vocabulary,
        one_clears_all: bool,
        attribution: Attribution,
    ) -> None:
        self.rows = rows
        self.attribution = attribution
        self._case = case
        self._names = names
        self._vocabulary = vocabulary
        self._eos_ids = vocabulary.eos_ids
        self._one_clears_all = one_clears_all
        self._completions = 0

    def verdicts(
        self, walk: int, position: Position, disputes: Sequence[Dispute], findings: Findings
    ) -> None:
        """What was proven at one position, and the completions that prove it."""
        lines = self._lines(position, disputes, findings)
        if not lines.row:
            return
        tokens = sorted(set(lines.token))
        why = dict(zip(tokens, self._why(position, tokens), strict=True))
        stored = self._stored(findings, lines.completion)
        names = [self._names[engine] for engine in findings.engines]
        forces = [why[token][1] for token in lines.token]
        said = [findings.evidence[index] for index in lines.said]
        reasons: list[Force | Evidence] = [
            force if kind in _FORCED else evidence
            for kind, force, evidence in zip(lines.kind, forces, said, strict=True)
        ]
        self.rows.extend(
            "verdicts",
            len(lines.row),
            case=self._case.id,
            walk=walk,
            position=position.number,
            dispute=lines.dispute,
            token=lines.token,
            by_right=lines.by_right,
            engine=[names[row] for row in lines.row],
            kind=lines.kind,
            reason=lines.reason,
            accepter=[names[row] if row >= 0 else "" for row in lines.accepter],
            completion=[stored[number] for number in lines.completion],
            keyword=[one.keyword for one in reasons],
            schema_pointer=[one.schema_pointer for one in reasons],
            instance_pointer=[one.instance_pointer for one in reasons],
            category=[why[token][0] for token in lines.token],
            detail=[force.detail for force in forces],
            located=lines.located,
            jsonschema=[one.jsonschema for one in said],
            jsonschema_rs=[one.jsonschema_rs for one in said],
        )

    def _lines(self, position: Position, disputes: Sequence[Dispute], findings: Findings) -> _Lines:
        """The verdicts on disputed tokens, then the errors of other kinds."""
        dispute, by_right = _of_disputes(findings.tokens, disputes, position, self._eos_ids)
        found = proven(findings, one_clears_all=self._one_clears_all)
        row, column = found.row, found.column
        kinds = [KINDS[kind] for kind in found.kind.tolist()]
        elsewhere = findings.elsewhere[row, column].tolist()
        lines = _Lines(
            row.tolist(),
            findings.tokens[column].tolist(),
            kinds,
            [
                reason_of(findings, *entry) if kind in _OPEN else ""
                for kind, *entry in zip(kinds, row.tolist(), column.tolist(), strict=True)
            ],
            found.accepter.tolist(),
            found.completion.tolist(),
            findings.said[row, column].tolist(),
            dispute[column].tolist(),
            by_right[column].tolist(),
            [
                not one if kind == "false_acceptance" else None
                for kind, one in zip(kinds, elsewhere, strict=True)
            ],
        )
        places = {token: at for at, token in enumerate(findings.tokens.tolist())}
        for flaw in _distinct(findings.flaws):
            at = places.get(flaw.token, -1)
            itself = flaw.row if flaw.completion >= 0 else -1
            lines.row.append(flaw.row)
            lines.token.append(flaw.token)
            lines.kind.append(flaw.kind)
            lines.reason.append(flaw.reason)
            lines.accepter.append(flaw.accepter if flaw.accepter >= 0 else itself)
            lines.completion.append(flaw.completion)
            lines.said.append(0)
            lines.dispute.append(int(dispute[at]) if at >= 0 else -1)
            lines.by_right.append(at < 0 or bool(by_right[at]))
            lines.located.append(None)
        return lines

    def _why(self, position: Position, tokens: Sequence[int]) -> list[tuple[str, Force]]:
        """The category of each token behind a position's text, and what is in force there."""
        vocabulary = self._vocabulary
        ends = [token in vocabulary.eos_ids for token in tokens]
        special = vocabulary.special
        reserved = [
            bool(special[token]) and not end for token, end in zip(tokens, ends, strict=True)
        ]
        texts = [vocabulary.tokens[token] for token in tokens]
        categories, forces = self.attribution.at(position.text).many(
            texts, ends=ends, reserved=reserved
        )
        return list(zip(categories, forces, strict=True))

    def instances(self, fed: Sequence[Fed]) -> None:
        """The case's own instances, as they are fed to the engines."""
        for number, one in enumerate(fed):
            self.rows.add(
                "instances",
                case=self._case.id,
                instance=number,
                label=one.label,
                text=one.text,
                tokens=list(one.tokens),
                canonical=one.canonical,
                verdict=VERDICTS[one.ruling.verdict],
                reason=one.ruling.reason,
            )

    def instance_verdicts(self, engine: int, fed: Sequence[Fed], ways: Sequence[Probed]) -> None:
        """What the instances prove about one engine."""
        for number, (one, way) in enumerate(zip(fed, ways, strict=True)):
            for verdict in conclude(one, way):
                self._instance_verdict(engine, number, one, verdict)

    def _instance_verdict(
        self, engine: int, number: int, one: Fed, verdict: InstanceVerdict
    ) -> None:
        vocabulary, ruling = self._vocabulary, one.ruling
        consumed = one.tokens[: verdict.consumed]
        prefix = b"".join(vocabulary.tokens[t] for t in consumed if t != vocabulary.eos)
        state = advance(START, prefix)
        place = "" if state is None else place_of(state, at_end=len(prefix) == len(one.text))
        category, force = "", Force("", "", "", "")
        if verdict.token >= 0 and state is not None:
            token, end = vocabulary.tokens[verdict.token], verdict.token in vocabulary.eos_ids
            categories, forces = self.attribution.at(prefix).many([token], ends=[end])
            category, force = categories[0], forces[0]
        said = verdict.kind in _FORCED
        self.rows.add(
            "instance_verdicts",
            case=self._case.id,
            instance=number,
            engine=self._names[engine],
            kind=verdict.kind,
            reason=verdict.reason,
            consumed=verdict.consumed,
            token=verdict.token,
            place=place,
            keyword=force.keyword if said else ruling.keyword,
            schema_pointer=force.schema_pointer if said else ruling.schema_pointer,
            instance_pointer=force.instance_pointer if said else ruling.instance_pointer,
            category=category,
            detail=force.detail,
            located=None,
            jsonschema=ruling.jsonschema,
            jsonschema_rs=ruling.jsonschema_rs,
        )

    def _stored(self, findings: Findings, numbers: Sequence[int]) -> dict[int, int]:
        """The case-wide numbers of completions, which are stored in the order of their use."""
        stored = {-1: -1}
        for number in dict.fromkeys(numbers):
            if number < 0:
                continue
            stored[number] = self._completions
            self._completions += 1
            completion = findings.completions[number]
            self.rows.add(
                "completions",
                case=self._case.id,
                completion=stored[number],
                origin=completion.origin,
                text=completion.text,
                tokens=list(completion.tokens),
            )
        return stored


def _distinct(flaws: Sequence[Flaw]) -> Iterable[Flaw]:
    """The first of each kind by engine and token: several completions may show the same error."""
    first: dict[tuple[int, int, str], Flaw] = {}
    for flaw in flaws:
        first.setdefault((flaw.row, flaw.token, flaw.kind), flaw)
    return first.values()


def _of_disputes(
    tokens: Tokens, disputes: Sequence[Dispute], position: Position, eos_ids: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The dispute of each token, and whether the token was not sampled.

    Not sampled are all tokens of an uncapped dispute, else those that a sample never leaves out.
    """
    of_token = np.full(len(tokens), -1, dtype=np.int64)
    by_right = np.isin(tokens, np.array([*position.path, *eos_ids], dtype=np.int32))
    for number, dispute in enumerate(disputes):
        at = np.searchsorted(tokens, dispute.drawn)
        of_token[at] = number
        if len(dispute.drawn) == len(dispute.tokens):
            by_right[at] = True
    return of_token, by_right
