"""The official JSON-Schema-Test-Suite as cases: a group is a case, its tests are the instances.

https://github.com/json-schema-org/JSON-Schema-Test-Suite: ``tests/DRAFT/FILE.json`` is a list of
groups ``{"description", "schema", "tests": [{"description", "data", "valid"}]}``. Its groups of
drafts before 2019-09 do not say their draft; here they do, since the validators must know it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Final

from harness.comparison.text_feeding import SLOW_TOKENS
from harness.conformance.cells import DRAFTS, instances
from harness.errors import InputError, UsageError, nearest
from harness.inputs.case_archives import members
from harness.inputs.cases import Case, Instance, parsed

PREFIX: Final = "suite"
_FOLDERS: Final = {
    "draft4": "draft-04",
    "draft6": "draft-06",
    "draft7": "draft-07",
    "draft2019-09": "2019-09",
    "draft2020-12": "2020-12",
}
"""The drafts by the names of their folders."""
_FILE: Final = re.compile(r"(?:(?P<above>.*)/)?(?P<draft>draft[\w-]+)/(?P<name>.+)\.json")
_ELSEWHERE: Final = {"remotes", "output-tests", "annotations"}


def suite_cases(path: Path, drafts: Collection[str] = ()) -> Iterator[Case]:
    """The groups of a suite, in the order of drafts, files and groups, or those of some `drafts`.

    A group with more text than an engine with slow masks is fed with becomes several cases.

    Raises:
        UsageError: No such draft is known.
        InputError: There is no suite, or a file is not in its format.
    """
    for draft in drafts:
        if draft not in _FOLDERS:
            raise UsageError(f"no draft {draft!r} in the suite", nearest(draft, _FOLDERS))
    found = []
    for member in members(path):
        match = _FILE.fullmatch(member.name)
        if (
            match is not None
            and match["draft"] in (drafts or _FOLDERS)
            and not _ELSEWHERE.intersection((match["above"] or "").split("/"))
        ):
            found.append((match["draft"], match["name"], member.name, member.read()))
    cases = chain.from_iterable(starmap(_groups, sorted(found)))
    first = next(cases, None)
    if first is None:
        asked = f" of {', '.join(drafts)}" if drafts else ""
        raise InputError(f"{path} holds no test{asked}", "it is a checkout of the suite, or tests/")
    yield first
    yield from cases


def _groups(draft: str, name: str, where: str, content: bytes) -> Iterator[Case]:
    """The cases of a file: `name` is its path in the folder of its draft, without the suffix."""
    groups = parsed(content, where, "groups")
    if not isinstance(groups, list):
        raise InputError(f"{where} is no list of groups")
    for number, group in enumerate(groups):
        try:
            about, schema, tests = str(group["description"]), group["schema"], group["tests"]
            labelled = [(bool(one["valid"]), one["data"]) for one in tests]
        except (KeyError, TypeError):
            raise InputError(f"{where}: group {number} has no schema and tests") from None
        text = json.dumps(_declared(schema, draft), ensure_ascii=False)
        for part, some in enumerate(_parts(labelled)):
            more = f" ({part + 1})" if part else ""
            id_ = f"{PREFIX}/{name}/{draft}/{number:03} {about}{more}"
            yield Case(id_, name, text, some[True], some[False], where, about)


def _declared(schema: Any, draft: str) -> Any:
    """A schema that says its draft, where it can."""
    if isinstance(schema, dict) and "$schema" not in schema:
        return {"$schema": DRAFTS[_FOLDERS[draft]], **schema}
    return schema


def _parts(labelled: Sequence[tuple[bool, Any]]) -> Iterator[dict[bool, tuple[Instance, ...]]]:
    """The texts by label, in parts that every engine is fed with; longer texts are left out."""
    part: dict[bool, tuple[Instance, ...]] = {True: (), False: ()}
    room = SLOW_TOKENS
    for label, value in labelled:
        texts = instances([value])
        needs = sum(len(one.text) + 1 for one in texts)
        if needs > SLOW_TOKENS:
            continue
        if needs > room:
            yield part
            part, room = {True: (), False: ()}, SLOW_TOKENS
        part[label] += texts
        room -= needs
    yield part
