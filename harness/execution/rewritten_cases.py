"""Cases beside which stand rewritings of their schemas, as cases of a family of their own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace

from harness.inputs.case_selection import Selected
from harness.inputs.cases import EQUAL, MARK, Case, CaseSource, Instance, Original
from harness.jsontext import strict_json
from harness.schemas.rewritings import Written, rewritten, with_names
from harness.validators.drafts import draft_of


class RewrittenCases(CaseSource):
    """Each of some cases, and at most so many rewritings of it right after it.

    They have its instances; where members are renamed, these too. The cases are read once to know
    which rewritings there are, and again when they are wanted: none are kept.
    """

    def __init__(self, selected: Selected, most: int, seed: int) -> None:
        self._selected, self._most, self._seed = selected, most, seed
        self.name, self.sha256 = selected.source.name, selected.source.sha256
        index: dict[str, str] = {}
        for case in selected:
            index |= {one.id: one.family for one in self._of(case)}
        self.index = index

    def read(self, ids: Collection[str]) -> Iterator[Case]:
        wanted = set(ids)
        known = set(self._selected.ids)
        of = {id_ if id_ in known else id_.rpartition(MARK)[0] for id_ in wanted}
        for case in self._selected.source.read(of):
            yield from (one for one in self._of(case) if one.id in wanted)

    def _of(self, case: Case) -> Iterator[Case]:
        yield case
        with suppress(strict_json.JsonError, RecursionError):
            schema = strict_json.parse(case.schema.encode("utf-8", "surrogatepass"))
            draft = draft_of(schema)
            made = rewritten(schema, draft.name, self._seed, self._most) if draft else {}
            for name, one in made.items():
                if not one.names or all(map(_is_plain, (*case.valid, *case.invalid))):
                    yield _rewritten(case, name, one)


def _is_plain(instance: Instance) -> bool:
    """Whether a text is the one that stands for its value: a key twice, say, cannot be renamed."""
    try:
        return Instance.of(json.loads(instance.text)) == instance
    except ValueError:
        return False


def with_rewritings(selected: Selected, most: int, seed: int) -> Selected:
    """Some cases and at most so many rewritings of each, which the seed draws."""
    if not most:
        return selected
    source = RewrittenCases(selected, most, seed)
    return Selected(source, tuple(source.index))


def _rewritten(case: Case, name: str, one: Written) -> Case:
    def renamed(instances: tuple[Instance, ...]) -> tuple[Instance, ...]:
        if not one.names:
            return instances
        values = (json.loads(instance.text) for instance in instances)
        return tuple(Instance.of(with_names(value, one.names)) for value in values)

    return replace(
        case,
        id=f"{case.id}{MARK}{name}",
        family=EQUAL,
        schema=json.dumps(one.schema, ensure_ascii=False),
        valid=renamed(case.valid),
        invalid=renamed(case.invalid),
        original=Original(case.schema, tuple(one.names.items())),
    )
