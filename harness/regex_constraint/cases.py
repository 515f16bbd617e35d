"""Cases of regular expressions: from a file, from the project, or the patterns of schemas.

Where a case has no texts they are made by its automaton.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.inputs.case_jsonl import PATTERN, embedded, open_jsonl
from harness.inputs.case_selection import open_cases
from harness.inputs.cases import Case, CaseSource, ListedCases
from harness.regex_constraint.automata import Automaton

_TEXTS: Final = 3
_STEPS: Final = 8


def open_patterns(spec: str) -> CaseSource:
    """The cases of ``embedded`` or a ``.jsonl`` file; of any other source its schemas' patterns."""
    kind, _, rest = spec.partition(":")
    if spec == "embedded":
        return embedded(PATTERN)
    if kind == "jsonl" or spec.endswith(".jsonl"):
        return open_jsonl(Path(rest if kind == "jsonl" else spec), PATTERN)
    source = open_cases(spec)
    return ListedCases(source.name, list(_of_schemas(source)))


def _of_schemas(source: CaseSource) -> Iterator[Case]:
    """Each different pattern once, under the first schema that has it."""
    seen = set[str]()
    for case in source:
        for number, pattern in enumerate(dict.fromkeys(_patterns(json.loads(case.schema)))):
            if pattern not in seen:
                seen.add(pattern)
                yield Case(f"{case.id}/{number}", case.family, pattern, (), (), case.source)


def _patterns(value: Any) -> Iterator[str]:
    """What stands at `pattern`, and the keys of `patternProperties`, wherever they are."""
    if isinstance(value, list):
        for one in value:
            yield from _patterns(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key == "pattern" and isinstance(one, str):
                yield one
            elif key == "patternProperties" and isinstance(one, dict):
                yield from one
                yield from _patterns(list(one.values()))
            else:
                yield from _patterns(one)


def made_valid(automaton: Automaton, key: str) -> list[str]:
    """A shortest text that matches, and some that are drawn; the same for the same key."""
    draw = random.Random(key)  # noqa: S311
    texts = [automaton.shortest(0)]
    for _ in range(_TEXTS - 1):
        state, text = 0, ""
        for _ in range(_STEPS):
            some = list(automaton.followers(state))
            if not some:
                break
            char, state = draw.choice(some)
            text += char
        texts.append(text + automaton.shortest(state))
    return list(dict.fromkeys(texts))
