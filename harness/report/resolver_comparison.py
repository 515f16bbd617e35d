"""Two resolvers on the same walks: what one called a false acceptance and the other cleared.

The original procedure rolls out once per disputed token and takes an invalid completion for a
false acceptance of that token. Where the shared resolver finds a valid completion behind the same
token, the token was right: the first verdict was misplaced, and those who forbid the token are
proven wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import UsageError
from harness.runs.columns import numbers, words
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import ACCEPTANCES, REJECTIONS

_PLACE = ("case", "walk", "position", "token")

Keys = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _KeyedVerdicts:
    """The verdicts of one run: a key of place and token, the engine and the kind of each."""

    keys: Keys
    engines: npt.NDArray[Any]
    kinds: npt.NDArray[Any]


def compare(rollout: RunDirectory, shared: RunDirectory) -> dict[str, Any]:
    """What became of the false acceptances of `rollout` in `shared`.

    Only cases that both runs walked alike are looked at: an engine that fails while resolving can
    end a walk early.

    Returns:
        ``cases`` and ``positions`` looked at, ``cases_walked_differently``, and ``engines``: for
        each the ``false_acceptances`` of the first run (tokens), of which ``confirmed`` by the
        second, ``cleared`` (a valid completion exists: somebody else's false rejection), ``open``.

    Raises:
        UsageError: The runs are not of the same engines, seed, cap and cases.
    """
    _same_walks(rollout, shared)
    names = list(rollout.manifest["identity"]["engines"])
    walks, others = _walks(rollout), _walks(shared)
    alike = [case for case, walk in walks.items() if others.get(case) == walk]
    cases = {case: number for number, case in enumerate(alike)}
    first, second = (_verdicts(run, cases, names) for run in (rollout, shared))
    cleared = np.unique(second.keys[np.isin(second.kinds, REJECTIONS)])
    rows = {}
    for number, name in enumerate(names):
        accepted = first.keys[(first.engines == number) & np.isin(first.kinds, ACCEPTANCES)]
        mine = (second.engines == number) & np.isin(second.kinds, ACCEPTANCES)
        is_cleared = np.isin(accepted, cleared)
        confirmed = np.isin(accepted, second.keys[mine]) & ~is_cleared
        rows[name] = {
            "false_acceptances": len(accepted),
            "confirmed": int(confirmed.sum()),
            "cleared": int(is_cleared.sum()),
            "open": int((~is_cleared & ~confirmed).sum()),
        }
    return {
        "cases": len(alike),
        "cases_walked_differently": len(walks.keys() | others.keys()) - len(alike),
        "positions": sum(len(walks[case]) for case in alike),
        "engines": rows,
    }


def _same_walks(rollout: RunDirectory, shared: RunDirectory) -> None:
    one, other = (dict(run.manifest["identity"]) for run in (rollout, shared))
    for name in ("engines", "vocabulary", "data", "rules"):
        if one.get(name) != other.get(name):
            raise UsageError(
                f"{rollout.path} and {shared.path} differ in {name}: they walk different texts",
                "make both runs with the same options but --resolver",
            )


def _walks(run: RunDirectory) -> dict[str, list[tuple[int, ...]]]:
    """Per case that was walked, its positions: walk, number, consumed token, disputed tokens."""
    names = ["walk", "position", "token", "disputed_tokens"]
    table = run.table("positions", ["case", *names])
    columns = (table[name].to_pylist() for name in names)
    walks: dict[str, list[tuple[int, ...]]] = {}
    for case, *where in zip(table["case"].to_pylist(), *columns, strict=True):
        walks.setdefault(case, []).append(tuple(where))
    return walks


def _verdicts(run: RunDirectory, cases: dict[str, int], names: list[str]) -> _KeyedVerdicts:
    table = run.table("verdicts", [*_PLACE, "engine", "kind"])
    coded = words(table["case"])
    of_case = np.array([cases.get(value, -1) for value in coded.values], dtype=np.int64)
    case = of_case[coded.codes]
    walk, position, token = (
        numbers(table[name]).astype(np.int64) for name in ("walk", "position", "token")
    )
    key = (((case << 8 | walk) << 16) | position) << 20 | token
    engine, kind = words(table["engine"]), words(table["kind"])
    number = np.array([names.index(value) for value in engine.values], dtype=np.int64)
    kept = case >= 0
    kinds = np.array(kind.values, dtype=object)[kind.codes]
    return _KeyedVerdicts(key[kept], number[engine.codes][kept], kinds[kept])
