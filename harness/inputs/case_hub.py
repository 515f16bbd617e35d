"""Cases of JSONSchemaBench from the Hugging Face hub: schemas alone, without instances.

The dataset is epfl-dlab/JSONSchemaBench. Its card names a configuration for each family, the
splits ``train``, ``val`` and ``test``, and the columns ``unique_id`` and ``json_schema``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.errors import InputError, UsageError, nearest
from harness.inputs.case_archives import content_sha256
from harness.inputs.cases import Case, CaseSource, ListedCases, schema_text

DATASET: Final = "epfl-dlab/JSONSchemaBench"
REVISION: Final = "5bd0f4640badc6f3f02df796421d21cb0ca0b141"
"""The commit of the dataset that is read, so that a run can be repeated."""

_FAMILIES: Final = (
    *("Github_easy", "Github_hard", "Github_medium", "Github_trivial", "Github_ultra"),
    *("Glaiveai2K", "JsonSchemaStore", "Kubernetes", "Snowplow", "WashingtonPost"),
)
_SPLITS: Final = ("train", "val", "test")


def open_hub(split: str | None = None) -> CaseSource:
    """The schemas of JSONSchemaBench in `split`, or in all three; ids are those of MaskBench."""
    if split is not None and split not in _SPLITS:
        raise UsageError(f"no split {split!r}", nearest(split, _SPLITS))
    load = _library().load_dataset
    cases: dict[str, Case] = {}
    for family in _FAMILIES:
        for part in _SPLITS if split is None else (split,):
            _add(cases, _rows(load, family, part), family, f"{DATASET}:{family}/{part}")
    digest = content_sha256({id_: case.schema.encode() for id_, case in cases.items()})
    name = "jsonschemabench" if split is None else f"jsonschemabench:{split}"
    return ListedCases(name, list(cases.values()), digest)


def _library() -> Any:
    """The library, not the plain folder ``datasets/`` that the import finds in a checkout."""
    try:
        library = importlib.import_module("datasets")
    except ImportError:
        library = None
    if library is None or not hasattr(library, "load_dataset"):
        raise InputError(
            "the Hugging Face library `datasets` is not installed",
            "pip install 'maskcourt[datasets]'",
        )
    return library


def _rows(load: Any, family: str, split: str) -> Iterable[Mapping[str, Any]]:
    try:
        rows: Iterable[Mapping[str, Any]] = load(DATASET, family, split=split, revision=REVISION)
    except Exception as error:  # each layer below has errors of its own
        hint = "it needs the network once; then it is in the library's cache"
        message = f"cannot load {DATASET} ({family}, {split}): {type(error).__name__}: {error}"
        raise InputError(message, hint) from error
    return rows


def _add(
    cases: dict[str, Case], rows: Iterable[Mapping[str, Any]], family: str, where: str
) -> None:
    """Add the cases in `rows`; a row that repeats another word for word is the same case."""
    for row in rows:
        id_ = str(row["unique_id"]).removesuffix(".json")
        id_ = id_ if "---" in id_ else f"{family}---{id_}"
        schema = schema_text(str(row["json_schema"]).encode("utf-8"), f"{where}:{id_}")
        case = Case(id_, family, schema, (), (), f"{where}:{id_}")
        twin = cases.setdefault(id_, case)
        if twin.schema != schema:
            raise InputError(f"two schemas have the id {id_!r}: {twin.source}, {case.source}")
