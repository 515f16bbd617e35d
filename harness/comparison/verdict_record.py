"""What one case proves, as rows: verdicts, the completions they rest on, the texts fed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.comparison.disputes import Dispute, Tokens
from harness.comparison.effects import CaseEffects, EffectColumns, Rejected, effect_of_acceptance
from harness.comparison.findings import CODES, Findings, Verdicts
from harness.comparison.text_facts import TextFacts
from harness.comparison.walk import Position
from harness.engines.text_probe import Probed
from harness.explain.attribution import Attribution, GoverningKeyword
from harness.explain.error_location import failing_parts
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import START, advance, place_of
from harness.jsontext.pointers import typed_steps
from harness.runs.tables import GENERATED, TEXT_TABLES, VERDICT_TABLES, Rows, Words
from harness.validators.judge import CONTESTED, INVALID, UNDECIDED, VERDICTS, Ruling
from harness.verdict_kinds import (
    ACCEPTANCES,
    DEAD_END,
    FALSE_ACCEPTANCE,
    INSTANCE,
    REAL,
    REJECTIONS,
)

_WITH_EFFECT = (*ACCEPTANCES, *REJECTIONS, DEAD_END)


@dataclass(frozen=True)
class FedText:
    """One text as it is fed; what the validators say of it counts, not its label.

    `label` is ``valid`` or ``invalid``, as the case says, or `harness.runs.tables.GENERATED`.
    """

    label: str
    text: bytes
    tokens: tuple[int, ...]
    canonical: bool
    ruling: Ruling
    ends: bool = True


class TextVerdict(NamedTuple):
    """What one text proves about one engine; `reason` is why it is open.

    `token` is the one that was refused, of which the engine takes `refused_at` bytes; or -1.
    """

    kind: str
    reason: str = ""
    consumed: int = -1
    token: int = -1
    refused_at: int = -1


class VerdictNotes:
    """Writes the verdicts of one case; without `facts` nothing is said of the texts.

    If it `thins`, few errors of one sort are kept at each position: those whose bytes at fault are
    of one `_SORT` and of which there is the same to say.
    """

    def __init__(
        self,
        rows: Rows,
        case: Case,
        names: Sequence[str],
        vocabulary: Vocabulary,
        schema: Any,
        facts: TextFacts | None = None,
        effects: CaseEffects | None = None,
        *,
        thins: bool = False,
    ) -> None:
        self.rows, self._thins, self._effects, self._facts = rows, thins, effects, facts
        self.attribution = Attribution(schema)
        self._parsed, self._case, self._names, self._vocabulary = schema, case, names, vocabulary
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
        """What was proven at one position of its `disputes`, by number, and what proves it."""
        if not len(found.row):
            return
        refused_at = found.of_entry(findings.refused_at, -1)
        categories, places_, keywords, governing = self._attributed(
            position, found.token, refused_at
        )
        if self._thins:
            stored = (findings.evidence_number, findings.elsewhere)
            alike: list[npt.NDArray[Any]] = [found.row, found.kind, categories.codes, governing]
            alike += [self._sorts(found.token, refused_at)]
            alike += [found.of_entry(one, 0) for one in stored]
            kept = found.few(np.stack(alike), position.path)
            found, refused_at, governing = found[kept], refused_at[kept], governing[kept]
            categories, places_ = categories[kept], places_[kept]
        tokens, accepter, completion = found.token, found.accepter, found.completion
        kind = Words(found.kind, CODES)
        ruled = found.of_entry(findings.evidence_number, 0)
        located = np.where(found.of_entry(findings.elsewhere, 0), 0, 1).astype(np.int8)
        located[(found.kind != CODES.index(FALSE_ACCEPTANCE.name)) | (found.column < 0)] = -1
        # the row after the last token's is of tokens that nobody disputes
        places = np.searchsorted(findings.tokens, tokens)
        places[~np.isin(tokens, findings.tokens)] = len(findings.tokens)
        dispute = _of_disputes(findings.tokens, disputes)[places]
        evidence = findings.evidence
        # of a rejection what is in force, of all else what the validators said
        reasons: list[GoverningKeyword | Ruling] = [*keywords, *evidence]
        governed = np.isin(found.kind, [CODES.index(one) for one in REJECTIONS])
        attributed = np.where(governed, governing, len(keywords) + ruled)
        details = Words(governing, [one.detail for one in keywords])

        def text(at: int) -> bytes:
            token = int(tokens[at])
            written = b"" if token in self._eos_ids else self._vocabulary.tokens[token]
            after = findings.completions[int(completion[at])].text if completion[at] >= 0 else b""
            return position.text + written + after

        def rejected(at: int) -> Rejected:
            engine, fault = findings.engines[found.row[at]], len(position.text)
            fault += max(int(refused_at[at]), 0)
            if found.kind[at] != CODES.index(DEAD_END):
                return Rejected(engine, text(at), position.consumed, len(position.text), fault)
            token = int(tokens[at])
            size = len(position.text) + len(self._vocabulary.tokens[token])
            return Rejected(engine, b"", (*position.consumed, token), size, fault)

        names = ["", *(self._names[engine] for engine in findings.engines)]
        self.rows.extend(
            "verdicts",
            len(tokens),
            case=self._case.id,
            walk=walk,
            position=position.number,
            dispute=dispute,
            token=tokens,
            refused_at=refused_at,
            place=places_,
            engine=Words(found.row + 1, names),
            kind=kind,
            reason=_coded(found.reason),
            accepter=Words(accepter + 1, names),
            completion=self._stored(findings, completion),
            keyword=Words(attributed, [one.keyword for one in reasons]),
            schema_pointer=Words(attributed, [one.schema_pointer for one in reasons]),
            instance_pointer=Words(attributed, [one.instance_pointer for one in reasons]),
            category=categories,
            detail=details,
            located=located,
            jsonschema=Words(ruled, [one.jsonschema for one in evidence]),
            jsonschema_rs=Words(ruled, [one.jsonschema_rs for one in evidence]),
            **self._of_texts(
                kind.tolist(),
                [reasons[at].keyword for at in attributed.tolist()],
                [evidence[at].reason for at in ruled.tolist()],
                text,
                rejected,
            ),
        )

    def _of_texts(
        self,
        kinds: Sequence[str],
        keywords: Sequence[str],
        explained: Sequence[str],
        text: Callable[[int], bytes],
        rejected: Callable[[int], Rejected],
        *,
        is_fed: bool = False,
        own: bool = False,
    ) -> Mapping[str, Sequence[Any]]:
        """The columns about the whole text, which `is_fed` as such or not, or the case's `own`."""
        effects, shown_by = EffectColumns(len(kinds)), [""] * len(kinds)
        alone = [False] * len(kinds)
        if self._facts is not None and self._effects is not None:
            alone = self._facts.format_alone_of(kinds, keywords, text)
            for at, kind in enumerate(kinds):
                if kind in _WITH_EFFECT:
                    shown_by[at] = REAL if own else self._facts.shown_by(text(at), kind)
                if kind in ACCEPTANCES:
                    effect = effect_of_acceptance(kind, explained[at], format_alone=alone[at])
                    effects.note(at, effect)
                elif kind in _WITH_EFFECT:
                    self._effects.add(rejected(at), effects, at, is_first=is_fed)
        return {"shown_by": shown_by, **vars(effects)}

    def _attributed(
        self, position: Position, tokens: npt.NDArray[np.int32], refused_at: npt.NDArray[np.int32]
    ) -> tuple[Words, Words, list[GoverningKeyword], npt.NDArray[np.int32]]:
        """Category and place of tokens, the distinct governing keywords, which of these each has.

        All is of the byte that is refused; where it is not known (-1), of a token's first piece.
        """
        keys = tokens.astype(np.int64) << 32 | (refused_at.astype(np.int64) + 1)
        pieces, of_piece = np.unique(keys, return_inverse=True)
        by_begun: dict[bytes, list[tuple[int, bytes, bool, bool]]] = {}
        for number, key in enumerate(pieces.tolist()):
            token, at = key >> 32, (key & 0xFFFFFFFF) - 1
            text, end = self._vocabulary.tokens[token], token in self._eos_ids
            begun, byte = (text[:at], piece_at(text, at)) if 0 <= at < len(text) else (b"", text)
            piece = (number, byte, end, bool(self._vocabulary.special[token]) and not end)
            by_begun.setdefault(begun, []).append(piece)
        categories, places = [""] * len(pieces), [""] * len(pieces)
        distinct: dict[GoverningKeyword, int] = {}
        which = np.zeros(len(pieces), dtype=np.int32)
        for begun, members in sorted(by_begun.items()):
            attribution = self.attribution.at(position.text + begun)
            place = "end" if position.at_end and not begun else attribution.place
            for number, text, end, reserved in members:
                category = attribution.category(text, end=end, reserved=reserved)
                categories[number], places[number] = category, place
                governing = attribution.governing(text, end=end, reserved=reserved)
                which[number] = distinct.setdefault(governing, len(distinct))
        return (
            _coded(categories, of_piece),
            _coded(places, of_piece),
            list(distinct),
            which[of_piece],
        )

    def _sorts(
        self, tokens: npt.NDArray[np.int32], refused_at: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.uint8]:
        """The sort of each token's refused byte, of its first where that is not known."""
        pairs = zip(tokens.tolist(), refused_at.tolist(), strict=True)
        texts = ((self._vocabulary.tokens[token], max(at, 0)) for token, at in pairs)
        return _SORT[[text[at] if at < len(text) else 0 for text, at in texts]]

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

    def of_text(
        self, evidence: str, engine: int, number: int, fed: FedText, probed: Probed, refused_at: int
    ) -> None:
        """What a text proves about one engine: see `conclude`."""
        for verdict in conclude(fed, probed, refused_at):
            ruling, offset = fed.ruling, self._offset(fed, verdict)
            place, category, governing = self._text_attributed(fed, verdict, offset)
            reason = governing if verdict.kind in REJECTIONS else ruling
            written = len(self._prefix(fed, verdict))
            whole = b"" if verdict.kind == DEAD_END else fed.text
            fault = offset if offset >= 0 else written
            rejected = Rejected(engine, whole, fed.tokens[: verdict.consumed], written, fault)
            self.rows.extend(
                VERDICT_TABLES[evidence],
                1,
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
                located=np.array([-1]),
                jsonschema=ruling.jsonschema,
                jsonschema_rs=ruling.jsonschema_rs,
                **self._of_texts(
                    [verdict.kind],
                    [reason.keyword],
                    [ruling.reason],
                    [fed.text].__getitem__,
                    [rejected].__getitem__,
                    is_fed=True,
                    own=evidence == INSTANCE and fed.label != GENERATED,
                ),
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
        return self._vocabulary.text(one.tokens[: verdict.consumed])

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
        there = self.attribution.at(prefix)
        return place, there.category(token, end=end), there.governing(token, end=end)

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


_SORT: Final = np.arange(256, dtype=np.uint8)
"""By byte: letters, digits, marks without a meaning to JSON and bytes beyond ASCII are alike."""
_MARKS: Final = b"!#$%&'()*;<=>?@^`|~"
for _alike in (range(65, 91), range(97, 123), range(48, 58), range(128, 256), _MARKS):
    _SORT[list(_alike)] = _alike[0]

_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,4}|.)?", re.DOTALL)


def piece_at(text: bytes, at: int) -> bytes:
    """The byte at a place of a text, or the escape that begins there: half says too little."""
    escape = _ESCAPE.match(text, at)
    return escape[0] if escape else text[at : at + 1]


def _coded(values: Sequence[str], which: npt.NDArray[np.int64] | None = None) -> Words:
    """Values as a column; of some, those that are said to be in each row."""
    words: dict[str, int] = {}
    codes = np.array([words.setdefault(one, len(words)) for one in values], dtype=np.int32)
    return Words(codes if which is None else codes[which], list(words))


def _of_disputes(tokens: Tokens, disputes: Mapping[int, Dispute]) -> npt.NDArray[np.int64]:
    """The dispute of each token, -1 for others, of which there is a row more."""
    of_token = np.full(len(tokens) + 1, -1, dtype=np.int64)
    for number, dispute in disputes.items():
        of_token[np.searchsorted(tokens, dispute.drawn)] = number
    return of_token


def conclude(one: FedText, probed: Probed, refused_at: int) -> Iterator[TextVerdict]:
    """What a text proves about the engine that let it come so far.

    An invalid text that an engine allows to its end proves a false acceptance; a valid one that it
    refuses proves a false rejection. Of a case's own instances this reproduces the validation and
    invalidation errors of MaskBench. Where the tokens are not the tokenizer's own, a refusal proves
    nothing, since another way to cut the text might have been allowed.
    """
    whole, ruling, reason, kind = probed.allowed == len(one.tokens), one.ruling, "", ""
    token = -1 if whole else one.tokens[probed.allowed]
    if not whole and not probed.forbidden:
        pass
    elif not one.ends:
        kind = "dead_end" if whole and probed.empty else ""
    elif ruling.verdict == CONTESTED:
        kind, reason = "contested", ruling.reason
    elif ruling.verdict == UNDECIDED:
        kind, reason = "unresolved", "undecided"
    elif whole != (ruling.verdict == INVALID):
        pass
    elif whole:
        state = advance(START, one.text)
        unfinished = state is not None and not state.can_end
        kind = "stops_too_early" if unfinished else "false_acceptance"
    elif probed.allowed == len(one.tokens) - 1:
        kind = "never_stops"
    elif not one.canonical:
        kind, reason = "unresolved", "unusual_tokenisation"
    else:
        kind = "false_rejection"
    if kind:
        at = refused_at if kind == "false_rejection" else -1
        yield TextVerdict(kind, reason, probed.allowed, token, at)
    if not whole and (not probed.forbidden or (one.ends and probed.taken)):
        yield TextVerdict("mask_consume_mismatch", "", probed.allowed, token)
