"""The tally: the summary that a report shows, computed from a run's tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from typing import Any, Final

import numpy as np

from harness.analysis.compile_reasons import schemas_by_backend
from harness.analysis.equal_schemas import equal_schemas
from harness.analysis.matrix import matrix
from harness.analysis.rates import Rates, walked_bytes
from harness.analysis.stored import Classify, StoredRun, by_catalogue, statement, stored_run
from harness.analysis.timing import timings
from harness.inputs.cases import EQUAL
from harness.runs.directory import RunDirectory
from harness.runs.tables import GENERATED, TEXT_TABLES, VERDICT_TABLES
from harness.validators.format_rules import format_rule
from harness.verdict_kinds import (
    CLASSES,
    COUNTED,
    ERRORS,
    FALSE_ACCEPTANCE,
    FALSE_REJECTION,
    MAIN_KINDS,
    OPEN,
    OTHER_KINDS,
    SAMPLE,
    WALK,
)
from harness.workers.outcomes import ADAPTER_FAULTS, COMPILE_STATUSES

_TOTAL: Final = ("tokens", "positions", "cases")
_COUNTS: Final = {
    FALSE_ACCEPTANCE.name: (*_TOTAL, "located", "by_format"),
    FALSE_REJECTION.name: _TOTAL,
}


def summary(run: RunDirectory, classify: Classify = by_catalogue) -> dict[str, Any]:
    """The summary of a run, finished or not, as one JSON object.

    Returns:
        For the run ``cases``, ``walked``, ``set_aside``, ``not_compared``, ``mislabelled``
        (instances that both validators judge otherwise than their labels, and their cases),
        ``generated`` (instances that were made of schemas, and cases that were walked along such),
        ``harness_errors``, ``positions``, ``disputed_tokens``, ``resolved_tokens``, ``capped``
        (whether some were left out: counts are then of those that were resolved), ``seconds``,
        ``formats`` (what they are to the validators), ``finished``, ``sampled`` (whether the cases
        are a sample of something), ``matrix`` (see `harness.analysis.matrix`), ``pairs`` (see
        `harness.analysis.rates.Rates.pairs`), ``equal_schemas`` (see
        `harness.analysis.equal_schemas`); and ``engines``, per engine:

        - ``version``, ``build`` (of a build at hand), ``options``, ``packages``, ``tokens_asked``,
          ``tokens_with_other_bytes``;
        - ``loss``, ``leak``, ``trap``, ``format_only``, ``not_json``, ``unclear``, ``spelling``:
          in how many schemas (`harness.analysis.rates.Rates.rate`);
        - ``compile``, ``failures``, ``adapter_faults`` (schemas by what is wrong); ``backends``
          (of a server's engine: how many schemas each took); ``judged`` (``cases``, ``positions``
          and, of the references of these, `harness.analysis.rates.walked_bytes`);
        - of walks: ``false_acceptances`` and ``false_rejections`` (``tokens``, ``positions``,
          ``cases``; ``located`` of the former: tokens at which the error itself lies, and
          ``by_format``: those that rest on ``format`` alone), ``other_kinds`` likewise by kind,
          ``by_class`` (tokens by kind and class), ``unresolved``, ``contested``, ``contested_by``;
        - ``instances`` and ``samples``: see `_text_counts`;
        - ``timings``: see `harness.analysis.timing`, in microseconds.
    """
    rates = Rates(stored := stored_run(run, classify))
    status: dict[str, dict[str, int]] = defaultdict(dict)
    for row in stored.rows(
        "SELECT status, reason, count(*) n FROM cases GROUP BY ALL ORDER BY ALL"
    ):
        status[row["status"]][row["reason"]] = row["n"]
    disputes = stored.one(
        """SELECT coalesce(sum(tokens), 0)::BIGINT AS disputed_tokens,
            coalesce(sum(drawn), 0)::BIGINT AS resolved_tokens,
            coalesce(bool_or(drawn < tokens), false) AS capped FROM disputes"""
    )
    engines = _engines(stored, rates)
    return {
        "matrix": matrix(stored, rates, engines),
        "engines": engines,
        "pairs": rates.pairs(),
        "equal_schemas": equal_schemas(stored),
        "sampled": rates.sampled,
        "cases": len(stored.cases),
        "walked": sum(status["walked"].values()),
        "set_aside": status["set_aside"],
        "not_compared": status["not_compared"],
        "mislabelled": stored.one(
            """SELECT count(*) AS instances, count(DISTINCT case_row) AS cases FROM texts
            WHERE evidence = 'instance' AND (label, verdict) IN
                (('valid', 'invalid'), ('invalid', 'valid'))"""
        ),
        "generated": stored.one(
            """SELECT (SELECT count(*) FROM texts WHERE evidence = 'instance' AND label = $1)
                AS instances,
                (SELECT count(*) FROM cases WHERE generated AND walks > 0) AS cases""",
            GENERATED,
        ),
        "harness_errors": sum(
            sum(status[name].values()) for name in ("harness_error", "lane_died")
        ),
        "positions": stored.one("SELECT count(*) AS n FROM places")["n"],
        **disputes,
        "seconds": run.manifest.get("seconds"),
        "formats": format_rule(run.manifest["identity"]),
        "finished": run.finished,
    }


def _engines(stored: StoredRun, rates: Rates) -> dict[str, Any]:
    counted = _by_kind(stored)
    reasons = _open_reasons(stored)
    texts = _text_counts(stored, counted)
    walked, times = walked_bytes(stored), timings(stored.run)
    backends, outcomes = schemas_by_backend(stored.run), _outcomes(stored)
    found = {}
    for engine, name in enumerate(stored.engines):
        positions = stored.judged_positions(engine)
        walks = {kind: counted[engine, WALK, kind] for kind in ERRORS}
        main = {
            plural: {name: walks[kind][name] for name in _COUNTS[kind]}
            for plural, kind in MAIN_KINDS.items()
        }
        found[name] = {
            **stored.run.manifest["identity"]["engines"][name],
            **{name: rates.rate(engine, effects) for name, effects in COUNTED.items()},
            **outcomes[engine],
            "backends": backends.get(name, {}),
            "judged": {
                "cases": int(np.count_nonzero(positions)),
                "positions": int(positions.sum()),
                **walked[engine],
            },
            **main,
            "other_kinds": {
                kind: {unit: walks[kind][unit] for unit in _TOTAL} for kind in OTHER_KINDS
            },
            "by_class": {
                kind: {class_: row[class_] for class_ in CLASSES} for kind, row in walks.items()
            },
            **{unit: of_engine[engine] for unit, of_engine in texts.items()},
            "timings": times[name],
            "unresolved": reasons[engine, "unresolved"],
            "contested": sum(reasons[engine, "contested"].values()),
            "contested_by": reasons[engine, "contested"],
        }
    return found


def _by_kind(stored: StoredRun) -> Mapping[tuple[int, str, str], Mapping[str, int]]:
    """By engine, evidence and kind: verdicts in all (``tokens``) and by class, and their cases."""
    classes = ", ".join(f"count_if(class = '{one}') AS {one}" for one in CLASSES)
    rows = stored.rows(statement("kinds", classes=classes), list(ERRORS))
    names = (*_COUNTS[FALSE_ACCEPTANCE.name], *CLASSES)
    found: dict[tuple[int, str, str], Mapping[str, int]] = {
        key: dict.fromkeys(names, 0)
        for key in product(range(len(stored.engines)), VERDICT_TABLES, ERRORS)
    }
    return found | {(row.pop("engine"), row.pop("evidence"), row.pop("kind")): row for row in rows}


def _open_reasons(stored: StoredRun) -> Mapping[tuple[int, str], dict[str, int]]:
    """By engine and kind, why verdicts of walks are open, in how many tokens."""
    found: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for row in stored.rows(
        """SELECT engine, kind, reason, count(*) AS tokens FROM verdicts
        WHERE evidence = $1 AND kind IN $2 GROUP BY ALL ORDER BY tokens DESC, reason""",
        *(WALK, list(OPEN)),
    ):
        found[row["engine"], row["kind"]][row["reason"]] = row["tokens"]
    return found


def _outcomes(stored: StoredRun) -> list[dict[str, Any]]:
    """By engine: schemas by outcome of compilation, later failures, faults of its adapter."""
    parts: list[dict[str, dict[str, int]]] = [
        {"compile": dict.fromkeys(COMPILE_STATUSES, 0), "failures": {}, "adapter_faults": {}}
        for _ in stored.engines
    ]
    for row in stored.rows(statement("parts"), list(ADAPTER_FAULTS), EQUAL):
        if row["part"] != "compile" or row["word"] in COMPILE_STATUSES:
            parts[row["engine"]][row["part"]][row["word"]] = row["n"]
    return parts


def _text_counts(
    stored: StoredRun, counted: Mapping[tuple[int, str, str], Mapping[str, int]]
) -> dict[str, list[dict[str, Any]]]:
    """What texts prove about each engine, as JSON, by the kind of text.

    By kind ``instances`` or ``samples``, ``cases`` and the texts by class; ``by_format`` (on
    ``format`` alone); how many texts there were; of samples ``written`` by the engine itself.
    """
    tested = {
        (row["evidence"], row["engine"], row["verdict"]): row["n"]
        for row in stored.rows(
            "SELECT evidence, engine, verdict, count(*) AS n FROM tested GROUP BY ALL"
        )
    }
    wrote = stored.rows(
        """SELECT engine, count(*) AS n FROM texts
        JOIN raw_engines e ON ((writers >> e.engine) & 1) = 1 GROUP BY ALL"""
    )
    written = {row["engine"]: row["n"] for row in wrote}
    out: dict[str, list[dict[str, Any]]] = {unit: [] for unit in TEXT_TABLES.values()}
    for (evidence, unit), engine in product(TEXT_TABLES.items(), range(len(stored.engines))):
        mine = {}
        for kind in ERRORS:
            row = counted[engine, evidence, kind]
            mine[kind] = {unit: row["tokens"], **{name: row[name] for name in ("cases", *CLASSES)}}
        of = {word: tested.get((evidence, engine, word), 0) for word in ("valid", "invalid")}
        found: dict[str, Any] = {
            **{plural: mine[kind] for plural, kind in MAIN_KINDS.items()},
            "by_format": counted[engine, evidence, FALSE_ACCEPTANCE.name]["by_format"],
            "other_kinds": {kind: mine[kind] for kind in OTHER_KINDS if mine[kind][unit]},
            **{f"tested_{word}": n for word, n in of.items()},
            "contested": tested.get((evidence, engine, "contested"), 0),
        }
        if evidence == SAMPLE:
            found["written"] = written.get(engine, 0)
        out[unit].append(found)
    return out


def is_tested(counts: Mapping[str, Any]) -> bool:
    """Whether an engine was tested with any text of `_text_counts`."""
    return bool(counts["tested_valid"] + counts["tested_invalid"])


def crossed(stored: StoredRun, by: str) -> list[dict[str, Any]]:
    """Errors by one column, ``engine``, ``kind`` and ``class``, all kinds of evidence together.

    Each row also has ``tokens`` (of walks), ``instances`` and ``samples`` (verdicts about them)
    and ``cases``: those with any.
    """
    units = {WALK: "tokens", **TEXT_TABLES}
    counts = ", ".join(f"count_if(evidence = '{one}') AS {unit}" for one, unit in units.items())
    return stored.rows(
        f"""SELECT {by}::VARCHAR AS {by}, e.name AS engine, kind, class, {counts},
            count(DISTINCT case_row) AS cases
        FROM verdicts JOIN raw_engines e USING (engine) WHERE kind IN $1
        GROUP BY ALL ORDER BY cases DESC, 1, e.name, kind, class""",
        list(ERRORS),
    )


def case_statuses(stored: StoredRun) -> list[dict[str, Any]]:
    """What became of the cases: ``family``, ``status``, ``reason``, ``cases``, what was walked."""
    return stored.rows(
        """SELECT family, status, reason, count(*) AS cases, sum(positions)::BIGINT AS positions,
            sum(disputed_tokens)::BIGINT AS disputed_tokens
        FROM cases GROUP BY ALL ORDER BY family, status, reason"""
    )
