"""How many real schemas meet the bugs of the reports: by what stands in them, and by a search.

A schema meets a bug where a subschema has its feature. That says who is concerned, and no more: a
search shows in how many schemas of a sample a text proves it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import starmap
from pathlib import Path
from typing import Any, Final

from harness.bugs.listing import judged_schemas, known_bugs
from harness.errors import UsageError
from harness.inputs.case_maskbench import open_maskbench
from harness.runs.directory import open_run
from harness.schemas.schema import objects

Feature = Callable[[Mapping[str, Any]], bool]
_COMBINED: Final = frozenset(("anyOf", "oneOf", "allOf"))
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FOR_TYPES: Final = frozenset(
    ("minLength", "maxLength", "pattern", "minItems", "maxItems", *_BOUNDS)
)
_STRUCTURE: Final = frozenset(
    ("type", "properties", "required", "additionalProperties", "patternProperties", "items")
)
_MEANT: Final = frozenset((*_COMBINED, "type", "enum", "const", "$ref"))
_ANNOTATIONS: Final = frozenset(
    ("title", "description", "default", "examples", "example", "$comment", "deprecated")
)
_ATOM: Final = r"(?:\[(?:\\.|[^\]\\])*\]|\\.|[^()\[\\])"
_ANY_CHARACTER: Final = re.compile(r"\.|\[\^|\\[SWD]")
_PLAIN: Final = re.compile(r"\\[^SWD]|\[(?!\^)(?:\\[^SWD]|[^\]\\])*\]")
"""Escapes and classes of named characters, where a dot is a dot."""
_LOOSE_GROUP: Final = re.compile(
    r"\((?:\?:)?(?:[^()\\]|\\.)*?[*+]\)\?"  # ends with a repetition
    r"|\((?:\?:)?(?:\[[^\]]*\]|\\?[^()\\])[*+][^()]*\)\?"  # begins with one
)


def _of_any(part: Mapping[str, Any]) -> bool:
    return bool(_ANY_CHARACTER.search(_PLAIN.sub("", _pattern(part))))


def _loose(part: Mapping[str, Any]) -> bool:
    groups = (found[0] for found in _LOOSE_GROUP.finditer(_pattern(part)))
    return not all(re.fullmatch(rf"\((?:\?:)?{_ATOM}[*+]\)\?", group) for group in groups)


def _combined(part: Mapping[str, Any]) -> bool:
    several = isinstance(part.get("allOf"), list) and len(part["allOf"]) > 1
    return bool(_COMBINED & {*part} and _STRUCTURE & {*part}) and not several


def _decimal(name: str, value: float) -> bool:
    outer = value > 0 if name.endswith("aximum") else value < 0
    return outer and bool(re.fullmatch(r"-?\d+\.\d\d+", repr(value)))


def _pattern(part: Mapping[str, Any]) -> str:
    value = part.get("pattern")
    return value if isinstance(value, str) else ""


def _bounds(part: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: part[name]
        for name in _BOUNDS
        if isinstance(part.get(name), int | float) and not isinstance(part[name], bool)
    }


def _undeclared(part: Mapping[str, Any]) -> bool:
    """Whether a member is required that is not declared."""
    required, declared = part.get("required"), part.get("properties", {})
    return isinstance(required, list) and not {*map(str, required)} <= {*declared}


def _open(part: Mapping[str, Any]) -> bool:
    return part.get("additionalProperties", True) is not False


FEATURES: Final[Mapping[str, Feature]] = {
    "xgrammar-length-escapes": lambda part: (
        ("minLength" in part or "maxLength" in part) and not {"pattern", "enum"} & {*part}
    ),
    "xgrammar-optional-group": _loose,
    "xgrammar-combined": _combined,
    "xgrammar-required-undeclared": _undeclared,
    "xgrammar-pattern-escapes": _of_any,
    "xgrammar-pattern-anchored": lambda part: (
        bool(_pattern(part)) and not re.match(r"\^.*\$\Z", _pattern(part), re.DOTALL)
    ),
    "xgrammar-untyped": lambda part: bool(_FOR_TYPES & {*part} and not _MEANT & {*part}),
    "xgrammar-pattern-properties": lambda part: "patternProperties" in part and _open(part),
    "xgrammar-six-digits": lambda part: part.get("type") == "number" and bool(_bounds(part)),
    "llguidance-decimal-bound": lambda part: any(starmap(_decimal, _bounds(part).items())),
    "llguidance-integer-bounds": lambda part: any(
        abs(one) >= 2**63 - 1 for one in _bounds(part).values()
    ),
    "llguidance-property-names": lambda part: "propertyNames" in part,
    "llguidance-ipv6-dotted": lambda part: part.get("format") in {"ipv6", "uri"},
    "llguidance-dates": lambda part: part.get("format") in {"date", "date-time"},
    "outlines-open-object": lambda part: (
        bool(part.get("properties")) and part.get("additionalProperties") not in (None, False)
    ),
    "outlines-bounds": lambda part: bool(_bounds(part)),
    "outlines-pattern-quote": _of_any,
    "outlines-required-undeclared": _undeclared,
    "outlines-empty-schema": lambda part: (
        {} in map(part.get("properties", {}).get, part.get("required", []))
    ),
    "outlines-closed-empty": lambda part: not _open(part) and "properties" not in part,
}
"""By the name of a report what a subschema has that meets its bug."""


def met(schemas: Iterable[Any]) -> tuple[int, Counter[str]]:
    """How many schemas there are, and how many have each feature."""
    many, counts = 0, Counter[str]()
    for schema in schemas:
        many += 1
        parts = [part for _, part in objects(schema)]
        for name, feature in FEATURES.items():
            with suppress(TypeError, AttributeError):  # a keyword whose value is no schema's
                counts[name] += any(map(feature, parts))
    return many, counts


def _listed(tools: Path) -> Iterator[Any]:
    """The schemas in what ``make results ONLY=tools`` keeps of the servers' lists."""
    files = sorted(tools.glob("*.json"))
    if not files:
        raise UsageError(f"no lists of tools are in {tools}", "make results ONLY=tools")
    for file in files:
        yield from (json.loads(one["text"]) for one in json.loads(file.read_text("utf-8")))


def _found(path: Path) -> tuple[dict[tuple[str, str], set[int]], dict[str, int]]:
    """By engine and bug the cases in which a search of a run shows it; the schemas judged."""
    run = open_run(path)
    listed = known_bugs(run)
    if listed is None:
        raise UsageError(f"{path} was not searched for bugs", "maskcourt bugs RUN")
    return {(bug.engine, bug.id): set(bug.met) for bug in listed.bugs}, judged_schemas(run)


def _refused(path: Path, engine: str, words: str) -> int:
    """How many schemas of a run an engine refuses with these words."""
    rows = open_run(path).table("engines", ["case", "engine", "outcome", "message"]).to_pylist()
    return len(
        {
            row["case"]
            for row in rows
            if (row["engine"], row["outcome"]) == (engine, "refused") and words in row["message"]
        }
    )


def counted(
    wanted: Mapping[str, tuple[str, Sequence[str], str]], tools: Path, run: Path
) -> dict[str, Any]:
    """What is written of how many schemas are concerned.

    `wanted` has by the name of a report its engine, its bugs' ids, and the words of a refusal.

    Raises:
        MaskcourtError: There is no MaskBench, no list of tools, or no run that was searched.
    """
    identity = open_run(run).manifest["identity"]
    maskbench, in_maskbench = met(json.loads(case.schema) for case in open_maskbench())
    listed, in_tools = met(_listed(tools))
    found, judged = _found(run)
    rows = {}
    for name, (engine, bugs, words) in wanted.items():
        shown = set[int]().union(*(found.get((engine, bug), set()) for bug in bugs))
        sample = _refused(run, engine, words) if words else len(shown)
        rows[name] = {"maskbench": in_maskbench[name], "tools": in_tools[name], "sample": sample}
    return {
        "maskbench": maskbench,
        "tools": listed,
        "sample": {
            "cases": identity["data"]["cases"],
            "judged": judged,
            "seconds": identity["limits"]["compile"],
        },
        "reports": rows,
    }
