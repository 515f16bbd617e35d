"""What one case proves, as rows: verdicts, the completions they rest on, instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.attribution import Attribution, Force
from harness.cases import Case
from harness.dispute import Dispute
from harness.findings import KINDS, Evidence, Findings, Flaw, reason_of
from harness.findings import verdicts as proven
from harness.instances import Fed, InstanceVerdict, conclude
from harness.jsontext import START, advance
from harness.judge import VERDICTS
from harness.places import place_of
from harness.probe import Probed
from harness.tables import Rows
from harness.vocabulary import Vocabulary
from harness.walk import Position

_NOTHING = Evidence()
_OPEN = ("contested", "unresolved")
_FORCED = ("false_rejection", "never_stops")
"""Kinds whose keyword is the one in force, since no validator names one."""


class _Line(NamedTuple):
    """One verdict at a position; engines are rows, completions the findings' own numbers."""

    row: int
    token: int
    kind: str
    reason: str
    accepter: int
    completion: int
    evidence: Evidence
    dispute: int
    by_right: bool
    located: bool | None


class VerdictNotes:
    """Writes the verdicts of one case.

    Args:
        rows: Where they go.
        case: The case.
        names: The engines' names, in the order of the run.
        vocabulary: The shared one.
        one_clears_all: The resolver's rule; see `harness.findings.verdicts`.
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
        if not lines:
            return
        tokens = sorted({line.token for line in lines})
        why = dict(zip(tokens, self._why(position, tokens), strict=True))
        stored: dict[int, int] = {}
        for line in lines:
            category, force = why[line.token]
            said = line.kind in _FORCED
            self.rows.add(
                "verdicts",
                case=self._case.id,
                walk=walk,
                position=position.number,
                dispute=line.dispute,
                token=line.token,
                by_right=line.by_right,
                engine=self._names[findings.engines[line.row]],
                kind=line.kind,
                reason=line.reason,
                accepter=self._names[findings.engines[line.accepter]] if line.accepter >= 0 else "",
                completion=self._stored(findings, line.completion, stored),
                keyword=force.keyword if said else line.evidence.keyword,
                schema_pointer=force.schema_pointer if said else line.evidence.schema_pointer,
                instance_pointer=force.instance_pointer if said else line.evidence.instance_pointer,
                category=category,
                detail=force.detail,
                located=line.located,
                jsonschema=line.evidence.jsonschema,
                jsonschema_rs=line.evidence.jsonschema_rs,
            )

    def _lines(
        self, position: Position, disputes: Sequence[Dispute], findings: Findings
    ) -> list[_Line]:
        """The verdicts on disputed tokens, then the errors of other kinds."""
        of_token = {
            token: number
            for number, dispute in enumerate(disputes)
            for token in dispute.drawn.tolist()
        }
        by_right = _by_right(disputes, position, self._eos_ids)
        found = proven(findings, one_clears_all=self._one_clears_all)
        lines = []
        for row, column, kind, accepter, completion in zip(
            found.row.tolist(),
            found.column.tolist(),
            found.kind.tolist(),
            found.accepter.tolist(),
            found.completion.tolist(),
            strict=True,
        ):
            token, word = int(findings.tokens[column]), KINDS[kind]
            lines.append(
                _Line(
                    row,
                    token,
                    word,
                    reason_of(findings, row, column) if word in _OPEN else "",
                    accepter,
                    completion,
                    findings.evidence.get((row, column), _NOTHING),
                    of_token[token],
                    token in by_right,
                    None if word != "false_acceptance" else not findings.elsewhere[row, column],
                )
            )
        for flaw in _distinct(findings.flaws):
            itself = flaw.row if flaw.completion >= 0 else -1
            accepter = flaw.accepter if flaw.accepter >= 0 else itself
            number = of_token.get(flaw.token, -1)
            lines.append(
                _Line(
                    flaw.row,
                    flaw.token,
                    flaw.kind,
                    flaw.reason,
                    accepter,
                    flaw.completion,
                    _NOTHING,
                    number,
                    number < 0 or flaw.token in by_right,
                    None,
                )
            )
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

    def _stored(self, findings: Findings, number: int, stored: dict[int, int]) -> int:
        """The case-wide number of a completion, stored at its first use."""
        if number < 0:
            return -1
        if number not in stored:
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
        return stored[number]


def _distinct(flaws: Sequence[Flaw]) -> Iterable[Flaw]:
    """The first of each kind by engine and token: several completions may show the same error."""
    first: dict[tuple[int, int, str], Flaw] = {}
    for flaw in flaws:
        first.setdefault((flaw.row, flaw.token, flaw.kind), flaw)
    return first.values()


def _by_right(
    disputes: Sequence[Dispute], position: Position, eos_ids: Sequence[int]
) -> frozenset[int]:
    """The drawn tokens that were not sampled: all of an uncapped dispute, else its census."""
    always = {*position.path, *eos_ids}
    out: set[int] = set()
    for dispute in disputes:
        whole = len(dispute.drawn) == len(dispute.tokens)
        out.update(token for token in dispute.drawn.tolist() if whole or token in always)
    return frozenset(out)
