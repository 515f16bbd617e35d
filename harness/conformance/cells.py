"""The cases of the table: every keyword that constrains a value, at every place of a schema.

A fragment is the smallest schema that shows whether a keyword is kept, with values that it allows
and values that it forbids. The forbidden ones are forbidden by the keyword alone, so that an engine
that skips it lets them through. A value is written in two layouts where these differ, since it is
not the layout that is asked about. Fragments and places are those of ``datasets/conformance/``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from harness.directories import data_path
from harness.inputs.cases import COMPACT, DRAFTS, LATEST, Case, Instance, type_of

_SHORT: Final = {
    "<integer>": '{"type":"integer"}',
    "<string>": '{"type":"string"}',
    "<short>": '{"type":"string","maxLength":2}',
}


@dataclass(frozen=True)
class Fragment:
    """One keyword in its smallest schema, with values that it allows and values that it forbids.

    `name` is the keyword; where it has several forms, with ``=`` and the form. References lead to
    `definitions`, to stand under ``$defs`` of the whole schema (``definitions`` before 2019-09).
    """

    name: str
    schema: Mapping[str, Any]
    valid: tuple[Any, ...]
    invalid: tuple[Any, ...]
    definitions: Mapping[str, Any] = field(default_factory=dict)
    draft: str = LATEST

    @property
    def types(self) -> list[str]:
        """The types of all its values, valid and invalid."""
        return sorted({type_of(value) for value in (*self.valid, *self.invalid)})

    @property
    def has_own_type(self) -> bool:
        """Whether ``type`` stands beside the keyword, and is not the keyword itself."""
        return "type" in self.schema and len(self.schema) > 1


def definitions_key(draft: str) -> str:
    """The keyword under which a draft keeps definitions."""
    return "$defs" if draft in ("2019-09", LATEST) else "definitions"


def keyword_of(name: str) -> str:
    return name.partition("=")[0]


KEYWORDS, COMBINATIONS = "keywords", "combinations"
"""The tables of fragments: one keyword each, and keywords together that servers' lists name."""


def fragments(table: str = KEYWORDS) -> Iterator[Fragment]:
    draft = LATEST
    for name, *parts in _lines(table):
        if not parts:
            draft = name.removeprefix("# ")
            continue
        written = (re.sub("<[a-z]+>", lambda short: _SHORT[short[0]], part) for part in parts)
        columns = [tuple(_values(part)) for part in written]
        if keyword_of(name) == "format":
            columns.insert(0, ({"type": "string", "format": name.partition("=")[2]},))
        (schema,), valid, invalid, (definitions,) = [*columns, ({},)][:4]
        yield Fragment(name, schema, valid, invalid, definitions, draft)


def _lines(name: str) -> list[list[str]]:
    """The lines of a table, each as its columns; an indented one goes on with the one above."""
    text = data_path("conformance", f"{name}.txt").read_text("utf-8")
    return [line.split(" | ") for line in text.replace("\n  ", " ").splitlines()]


def _values(text: str) -> Iterator[Any]:
    at = 0
    while at < len(text):
        value, end = json.JSONDecoder().raw_decode(text, at)
        yield value
        at = end + 1


@dataclass(frozen=True)
class SchemaPlace:
    """One place: its schema as JSON, and a value of that around one of the fragment.

    In them stand for texts in angle brackets the fragment (`<it>`), the fragment without its type
    (`<untyped>`), what `type` must say to allow all of its values (`<type>`), a type that none of
    them has (`<other>`), its own type (`<own>`) and the key of definitions (`<defs>`).
    """

    name: str
    about: str
    schema: str
    value: str = "<it>"

    def build(self, fragment: Fragment) -> dict[str, Any] | None:
        """The schema, without the fragment's definitions; None where it cannot stand there.

        ``"...": "<it>"`` beside other keywords puts the fragment's own there.
        """
        drafts = list(DRAFTS)
        since = _SINCE.get(self.name, drafts[0])
        if drafts.index(since) > drafts.index(fragment.draft):
            return None
        if self.name in ("untyped", "type-apart") and not fragment.has_own_type:
            return None
        types = fragment.types[0] if len(fragment.types) == 1 else fragment.types
        own = {**fragment.schema}
        if fragment.has_own_type:
            del own["type"]
        parts = {"it": {**fragment.schema}, "untyped": own, "own": fragment.schema.get("type")}
        parts |= {"type": types, "other": _other(fragment)}
        text = self.schema.replace("<defs>", definitions_key(fragment.draft))
        for name, part in parts.items():
            text = text.replace(f'"<{name}>"', json.dumps(part, ensure_ascii=False))
        schema: dict[str, Any] = json.loads(text)
        beside = schema.pop("...", {})
        return None if beside.keys() & schema.keys() else {**beside, **schema}

    def wrap(self, value: Any) -> Any:
        return json.loads(self.value.replace("<it>", json.dumps(value, ensure_ascii=False)))


def _other(fragment: Fragment) -> str:
    """A type that no value of the fragment has."""
    taken = {*fragment.types, *(("integer",) if "number" in fragment.types else ())}
    free = (one for one in ("null", "boolean", "integer", "string", "array") if one not in taken)
    return next(free, "object")


_SINCE: Final = {"prefix-item": LATEST, "then": "draft-07", "beside-ref": "2019-09"}
"""The first draft of a place, where that is not the first of all."""
_OF_FORMATS: Final = (
    *("root", "untyped", "property", "item", "all-of", "any-of", "beside-any-of", "not"),
    *("behind-ref", "beside-ref"),
)
"""The places at which a format is tried: formats differ little by place among themselves."""


@cache
def all_places() -> tuple[SchemaPlace, ...]:
    return tuple(SchemaPlace(*parts) for parts in _lines("places"))


def places_of(fragment: Fragment) -> Iterator[SchemaPlace]:
    """The places at which a fragment is tried, if it can stand there."""
    is_format = keyword_of(fragment.name) == "format"
    return (one for one in all_places() if not is_format or one.name in _OF_FORMATS)


PREFIX: Final = "conformance"
_LAYOUTS: Final[tuple[Mapping[str, Any], ...]] = ({}, COMPACT)


def cells(table: str = KEYWORDS) -> Iterator[Case]:
    """A case for every fragment of a table at every place where it can stand."""
    for fragment in fragments(table):
        for place in places_of(fragment):
            if (schema := place.build(fragment)) is not None:
                yield _case(fragment, place, schema)


def _case(fragment: Fragment, place: SchemaPlace, schema: dict[str, Any]) -> Case:
    if fragment.definitions:
        key = definitions_key(fragment.draft)
        schema = {**schema, key: {**schema.get(key, {}), **fragment.definitions}}
    if fragment.draft != LATEST:
        schema = {"$schema": DRAFTS[fragment.draft], **schema}
    kinds = (fragment.valid, fragment.invalid)
    valid, invalid = reversed(kinds) if place.name == "not" else kinds
    id_, about = f"{PREFIX}/{fragment.name}/{place.name}", f"{fragment.name}: {place.about}"
    right, wrong = (instances(map(place.wrap, values)) for values in (valid, invalid))
    text = json.dumps(schema, ensure_ascii=False)
    return Case(id_, fragment.name, text, right, wrong, id_, about)


def instances(values: Iterable[Any]) -> tuple[Instance, ...]:
    """Values in each of the layouts, each text once."""
    texts = (
        json.dumps(value, ensure_ascii=False, **layout).encode()
        for value in values
        for layout in _LAYOUTS
    )
    return tuple(Instance(text) for text in dict.fromkeys(texts))


def case_line(case: Case) -> str:
    """A case as a line of JSON, its instances as texts, that `harness.inputs.case_jsonl` reads."""
    kinds = {"valid": case.valid, "invalid": case.invalid}
    texts = {kind: [{"text": one.text.decode()} for one in some] for kind, some in kinds.items()}
    about = {"id": case.id, "family": case.family, "about": case.about}
    head = json.dumps({**about, **texts}, ensure_ascii=False)
    return f'{head[:-1]}, "schema": {case.schema}}}\n'
