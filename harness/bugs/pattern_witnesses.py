"""The wrong bits of a run over patterns as errors that can be shrunk: one for each witness."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from harness.analysis.stored import WORST_FIRST
from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.groups import ErrorRows
from harness.bugs.pattern_trial import PatternReduction, PatternTrial, dies, parts_of, texts
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.shrink import Shrinker, settled
from harness.regex_constraint.judging import ACCEPTANCE, REJECTION, Judged
from harness.regex_constraint.work import RegexRun

_Witness = tuple[Judged, Mapping[str, str]]
_ENDS: Final = {ACCEPTANCE: "stops_too_early", REJECTION: "never_stops"}
_BYTE: Final = re.compile(rb"\\x([89a-f][0-9a-f])")


def witnesses_of(run: RegexRun) -> list[_Witness]:
    """Each witness with the result that it is of, in the order of the run."""
    return [(line, shown) for line in run.lines for shown in line.witnesses]


def pattern_rows(run: RegexRun) -> ErrorRows:
    """The witnesses of a run, each in a group of its own."""
    found = witnesses_of(run)
    names = list(run.manifest["identity"]["engines"])
    cases = {case: number for number, case in enumerate(dict.fromkeys(x.case for x in run.lines))}
    row = np.arange(len(found))
    none = np.zeros(len(found), dtype=np.int8)
    engine = np.array([names.index(line.engine) for line, _ in found], dtype=np.int64)
    case = np.array([cases[line.case] for line, _ in found], dtype=np.int64)
    about = (row * 0, engine, case, none + len(WORST_FIRST), none)
    return ErrorRows(none, row, *about, [row], row.astype(np.uint64))


def shrunk_witness(
    shrinker: Shrinker, name: str, shown: _Witness, stopped: Callable[[], bool]
) -> ShrunkVerdict:
    """What becomes of one witness: the smallest case on which both opinions are of the truth."""
    line, about = shown
    sample = ShrunkVerdict(name, line.case, about["kind"])
    if about["part"] == "special":
        return replace(sample, reason="special tokens have no bytes")
    before, token = (  # some bytes may be no characters
        _BYTE.sub(lambda found: bytes.fromhex(found[1].decode()), about[key].encode())
        for key in ("text", "token")
    )
    kind = _ENDS[about["kind"]] if about["part"] == "end" else about["kind"]
    fed = ErrorCase(line.engine, kind, compact(line.pattern), before + token)
    as_one = replace(fed, token=token, token_at=len(before))
    for case in (fed, as_one) if len(token) > 1 else (fed,):
        with shrinker.trial(case) as trial:
            assert isinstance(trial, PatternTrial)
            found = list(_starts(trial, case, about["whole"].encode()))
            for start, symptom in zip(found, trial.reproduce_all(found), strict=True):
                if symptom is not None:
                    how = stopped, "", shrinker.known
                    best = PatternReduction(trial, start, symptom, *how).run()
                    if trial.agreed(best.case):
                        return settled(sample, best)
                    return replace(sample, reason="opinions differ on its smallest case")
    return replace(sample, reason="the error does not show with bytes and the token alone")


def _starts(trial: PatternTrial, case: ErrorCase, whole: bytes) -> Iterator[ErrorCase]:
    """The case with whole texts: that of the witness, and what else may show the same."""
    yield replace(case, text=whole)
    if (truth := trial.truth(case.parsed)) is not None:
        at = case.token_at if case.token else dies(truth, case.text)
        before, fault, _ = parts_of(case, at)
        yield from texts(truth, case, (before, fault, whole[len(before + fault) :]))
