"""What an impact run says of a run's engines: accuracy beside mask errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.impact.answer_file import open_impact
from harness.impact.summary import accuracy, summarize


def answers_of_models(path: Path, engines: Mapping[str, Any]) -> dict[str, Any]:
    """The data of the section on answers.

    Args:
        path: The directory of an impact run, finished or not.
        engines: The engines of the run that the report is of, by name, as its manifest has them.

    Returns:
        ``task``, ``items``, ``model``, ``unanswerable``, ``told`` (who is better, a sentence each)
        and ``rows``, by name of an engine or of the model without a mask: what
        `harness.impact.summary` says of it, and whether the run has that engine in the same version
        with the same options (``same``, null without a mask).

    Raises:
        MaskcourtError: It is no impact run, or damaged.
    """
    run = open_impact(path)
    identity, answers = run.manifest["identity"], accuracy(run)
    rows = {}
    for name, one in summarize(run).items():
        described = identity["engines"].get(name)
        rows[name] = {
            "share": asdict(answers.shares[name]),
            "same": None if described is None else _alike(described, engines.get(name)),
            **{key: getattr(one, key) for key in ("items", "correct", "parsed", "tokens")},
            **{key: getattr(one, key) for key in ("overruled", "removed", "proven_mass")},
            "wrongly": one.rulings["false_rejection"],
            "bugs": dict(one.bugs),
        }
    return {
        "task": identity["task"]["name"],
        "items": identity["task"]["items"],
        "model": ", ".join(identity["model"].get("files", {})),
        "unanswerable": answers.unanswerable,
        "told": [one.verdict for one in answers.pairs],
        "rows": rows,
    }


def _alike(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    return other is not None and all(
        one.get(key) == other.get(key) for key in ("version", "options")
    )
