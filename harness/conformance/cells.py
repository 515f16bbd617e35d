"""The cases of the table: every keyword at every place, each with values of both kinds.

A value is written in two layouts where these differ, since it is not the layout that is asked
about: only where an engine forbids a valid value in both is it too strict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from harness.conformance.keywords import (
    DRAFTS,
    LATEST,
    Fragment,
    definitions_key,
    fragments,
    keyword_of,
)
from harness.conformance.places import FORMAT_PLACES, PLACES, SchemaPlace
from harness.inputs.cases import STYLES, Case, Instance

PREFIX: Final = "conformance"
_STYLES: Final = ("default", "compact")


def cells() -> Iterator[Case]:
    """A case for every keyword at every place where it can stand."""
    for fragment in fragments():
        some = FORMAT_PLACES if keyword_of(fragment.name) == "format" else PLACES
        for place in some:
            if (schema := place.build(fragment)) is not None:
                yield _case(fragment, place, schema)


def _case(fragment: Fragment, place: SchemaPlace, schema: dict[str, Any]) -> Case:
    if fragment.definitions:
        key = definitions_key(fragment.draft)
        schema = {**schema, key: {**schema.get(key, {}), **fragment.definitions}}
    if fragment.draft != LATEST:
        schema = {"$schema": DRAFTS[fragment.draft], **schema}
    kinds = (fragment.valid, fragment.invalid)
    valid, invalid = reversed(kinds) if place.inverts else kinds
    id_, about = f"{PREFIX}/{fragment.name}/{place.name}", f"{fragment.name}: {place.about}"
    right, wrong = (instances(map(place.wrap, values)) for values in (valid, invalid))
    text = json.dumps(schema, ensure_ascii=False)
    return Case(id_, fragment.name, text, right, wrong, id_, about)


def instances(values: Iterable[Any]) -> tuple[Instance, ...]:
    """Values in each of the layouts, each text once."""
    texts = (
        json.dumps(value, ensure_ascii=False, **STYLES[style]).encode()
        for value in values
        for style in _STYLES
    )
    return tuple(Instance(text, verbatim=True) for text in dict.fromkeys(texts))


def case_line(case: Case) -> str:
    """A case with verbatim instances as a line of JSON that `harness.inputs.case_jsonl` reads."""
    kinds = {"valid": case.valid, "invalid": case.invalid}
    texts = {kind: [{"text": one.text.decode()} for one in some] for kind, some in kinds.items()}
    about = {"id": case.id, "family": case.family, "about": case.about}
    head = json.dumps({**about, **texts}, ensure_ascii=False)
    return f'{head[:-1]}, "schema": {case.schema}}}\n'
