"""Generated cases: first a value, then a schema that takes it, and values that break one keyword.

Keywords are drawn in proportion to how often MaskBench has them on subschemas of a type (counted
over every eleventh of its files; those that it has hardly ever count as one in a hundred), and
combined as they come, which no collection of real schemas does. Nothing made here is trusted: the
validators judge every instance, and where they differ the case is contested.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.errors import UsageError, nearest
from harness.inputs import cases
from harness.inputs.cases import Case, CaseSource, Instance, type_of
from harness.jsontext.pointers import without

DRAFTS: Final = dict(list(cases.DRAFTS.items())[2:])
"""Those whose keywords are known here: all from draft-07 on."""
_OLD: Final = "draft-07"
_FEWEST: Final = 0.01
_DATA: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = _DATA["weights"]
_AROUND: Final[Mapping[str, float]] = _DATA["around"]
_WORDS: Final[Sequence[str]] = tuple(_DATA["words"])
_NAMES: Final[Sequence[str]] = tuple(_DATA["names"])
_FORMATS: Final[Mapping[str, str]] = _DATA["formats"]
_OTHERS: Final[Mapping[str, Any]] = {
    "string": "other",
    "integer": 7,
    "number": 0.5,
    "boolean": True,
    "null": None,
    "array": [],
    "object": {},
}


class _Piece(NamedTuple):
    """A schema that takes a value, and values like it that break one keyword each."""

    schema: dict[str, Any]
    misses: list[Any]


_NOTHING: Final = _Piece({}, [])
_Make = Callable[[str, Any, int], _Piece]


@dataclass(frozen=True)
class Shape:
    """What generated schemas are like: how deep, of which draft, with which keywords alone."""

    depth: int = 3
    draft: str = "2020-12"
    keywords: frozenset[str] = frozenset()
    seed: int = 0


class GeneratedCases(CaseSource):
    """So many cases of a shape; each depends on its number, the seed and the shape alone."""

    def __init__(self, count: int, shape: Shape) -> None:
        self.name = f"generated:{count}"
        self._shape = shape
        about = json.dumps([_WEIGHTS, _AROUND, _WORDS, repr(shape), sorted(shape.keywords)])
        self.sha256 = hashlib.sha256(about.encode()).hexdigest()
        self.index = {f"generated/{number:05}": "generated" for number in range(count)}

    def read(self, ids: Collection[str]) -> Iterator[Case]:
        wanted = set(ids)
        return (self._case(id_) for id_ in self.index if id_ in wanted)

    def _case(self, id_: str) -> Case:
        made = _Maker(random.Random(f"{self._shape.seed}/{id_}"), self._shape)  # noqa: S311
        value = made.value(self._shape.depth)
        piece = made.piece(value, self._shape.depth)
        schema = {"$schema": DRAFTS[self._shape.draft], **piece.schema}
        if made.defined:
            schema[made.definitions] = made.defined
        misses = {json.dumps(one, sort_keys=True): one for one in piece.misses}
        wrong = tuple(map(Instance.of, misses.values()))
        text = json.dumps(schema, ensure_ascii=False)
        return Case(id_, "generated", text, (Instance.of(value),), wrong, f"made as {id_}")


def open_generated(spec: str) -> GeneratedCases:
    """What ``N[,depth=D][,draft=NAME][,keywords=A+B][,seed=S]`` asks for; else a `UsageError`."""
    number, *options = spec.split(",")
    given = dict(option.partition("=")[::2] for option in options)
    form = "generated:N[,depth=D][,draft=NAME][,keywords=A+B][,seed=S]"
    for name in given.keys() - {"depth", "draft", "keywords", "seed"}:
        raise UsageError(f"generated cases have no option {name!r}", form)
    counts = (number, given.get("depth", "3"), given.get("seed", "0"))
    if not all(one.isdecimal() for one in counts) or int(number) < 1:
        raise UsageError(f"generated:{spec} does not say how many cases", form)
    draft = given.get("draft", "2020-12")
    if draft not in DRAFTS:
        raise UsageError(f"no draft {draft!r} to generate", nearest(draft, DRAFTS))
    keywords = frozenset(filter(None, given.get("keywords", "").split("+")))
    known = {name for some in (*_WEIGHTS.values(), _AROUND) for name in some}
    for name in keywords - known:
        raise UsageError(f"no keyword {name!r} to generate", nearest(name, known))
    return GeneratedCases(int(number), Shape(int(counts[1]), draft, keywords, int(counts[2])))


class _Maker:
    """What is drawn for one case; `defined` are the definitions so far."""

    def __init__(self, drawn: random.Random, shape: Shape) -> None:
        self._drawn, self._shape = drawn, shape
        self.definitions = "definitions" if shape.draft == _OLD else "$defs"
        self.defined: dict[str, Any] = {}

    def value(self, depth: int) -> Any:
        """Any value; objects and arrays mostly, down to a depth."""
        drawn = self._drawn
        kinds = ["string", "string", "integer", "number", "boolean", "null"]
        kind = drawn.choice(["object"] * 5 + ["array"] * 3 + kinds if depth else kinds)
        match kind:
            case "object":
                names = drawn.sample(_NAMES, drawn.randint(0, 4))
                return {name: self.value(depth - 1) for name in names}
            case "array":
                return [self.value(depth - 1) for _ in range(drawn.randint(0, 3))]
            case "string":
                return drawn.choice((*_WORDS, *_FORMATS.values()))
            case "integer":
                return drawn.choice((0, 1, -1, 7, 42, 1000, -365, 2**31, drawn.randint(-99, 99)))
            case "number":
                return drawn.choice((0.5, -1.25, 3.14, 1e-7, 12.0, drawn.randint(-999, 999) / 100))
        return None if kind == "null" else drawn.random() < 0.5

    def piece(self, value: Any, depth: int) -> _Piece:
        kind = type_of(value)
        schema: dict[str, Any] = {"type": kind}
        other = self._drawn.choice(
            [one for one in _OTHERS if not {one, kind} <= {"integer", "number"}]
        )
        misses = [_OTHERS[other]] if other != kind else []
        for keyword in self._keywords(_WEIGHTS[kind], sure=("items", "properties")):
            found = self._one(keyword, value, depth)
            if not found.schema.keys() & schema.keys():
                schema |= found.schema
                misses += found.misses
        declared = schema.get("properties", {})
        if schema.get("additionalProperties") and declared.keys() >= getattr(value, "keys", set)():
            schema["additionalProperties"] = False  # nothing else is there
            misses.append({**value, "further": 1})
        return self._around(value, _Piece(schema, misses), other)

    def _keywords(self, weights: Mapping[str, float], sure: Sequence[str] = ()) -> list[str]:
        """Some keywords; those that are all but `sure` to stand there by their frequency."""
        asked = self._shape.keywords
        left = {
            name: max(weight, _FEWEST)
            for name, weight in weights.items()
            if not asked or name in asked or name in sure
        }
        found = [name for name in sure if name in left and self._drawn.random() < left.pop(name)]
        for _ in range(self._drawn.choice((0, 1, 1, 2, 2, 3))):
            if left:
                (name,) = self._drawn.choices(list(left), list(left.values()))
                del left[name]
                found.append(name)
        return found

    def _around(self, value: Any, piece: _Piece, other: str) -> _Piece:
        """The schema as it is, or inside a keyword that applies schemas in place."""
        if self._drawn.random() < 0.7:
            return piece
        schema, misses = piece
        differs = other != type_of(value)
        match next(iter(self._keywords(_AROUND)), ""):
            case "$ref":
                name = f"part{len(self.defined)}"
                self.defined[name] = schema
                schema = {"$ref": f"#/{self.definitions}/{name}"}
            case "oneOf" | "anyOf" as keyword if differs:
                branches = [schema, {"type": other, "enum": [_OTHERS[other]]}]
                self._drawn.shuffle(branches)
                schema, misses = {keyword: branches}, misses[1:]
            case "allOf":
                halves = list(schema.items())
                at = self._drawn.randint(0, len(halves))
                closes = {"additionalProperties", "items"} & schema.keys()
                schema = {"allOf": [schema] if closes else [dict(halves[:at]), dict(halves[at:])]}
            case "not" if differs:
                schema = {**schema, "not": {"type": other}}
            case "if":
                schema, misses = {"if": {"type": schema["type"]}, "then": schema}, misses[1:]
            case "type list" if differs:
                schema, misses = {**schema, "type": [schema["type"], other]}, misses[1:]
            case "no type":
                schema, misses = without(schema, "type"), misses[1:]
        return _Piece(schema, misses)

    def _one(self, keyword: str, value: Any, depth: int) -> _Piece:
        """A keyword that a value keeps; nothing where there is none of its sort."""
        if keyword in ("enum", "const"):
            misses = [f"{value}?"] if isinstance(value, str) else []
            same = [
                one for one in _OTHERS.values() if type_of(one) == type_of(value) and one != value
            ]
            listed = self._drawn.sample([value, *same], 1 + len(same))
            return _Piece({keyword: listed if keyword == "enum" else value}, misses)
        makers: dict[type, _Make] = {
            dict: self._of_object,
            list: self._of_array,
            str: self._of_string,
        }
        make: _Make = makers.get(type(value), self._of_number)
        return make(keyword, value, depth)

    def _of_string(self, keyword: str, value: str, _: int) -> _Piece:
        bound: Any = None
        misses: list[Any] = []
        match keyword:
            case "maxLength":
                bound = len(value) + self._drawn.randint(0, 3)
                misses = [value + "x" * (bound - len(value) + 1)]
            case "minLength":
                bound = self._drawn.randint(0, len(value))
                misses = [value[: bound - 1]] if bound else []
            case "format":
                bound = next((name for name, one in _FORMATS.items() if one == value), None)
                misses = [f"{value} "]
            case "pattern":  # runs of letters or digits as classes; or one of them, unanchored
                runs = re.findall(r"[a-z]+|[A-Z]+|[0-9]+|.", value, re.DOTALL)
                classes = [_class_of(run) for run in runs]
                part = self._drawn.random() < 0.3 and runs
                bound = self._drawn.choice(classes) if part else f"^{''.join(classes)}$"
                misses = [] if part else [f"{value}\u00a7"]
        return _Piece({keyword: bound}, misses) if bound is not None else _NOTHING

    def _of_number(self, keyword: str, value: float, _: int) -> _Piece:
        if keyword == "multipleOf":
            steps = [one for one in (10, 7, 5, 3, 2) if isinstance(value, int) and value % one == 0]
            if not steps and (isinstance(value, int) or round(value, 2) != value):
                return _NOTHING
            return _Piece({keyword: steps[0] if steps else 0.01}, [value + (1 if steps else 0.005)])
        exclusive = keyword.startswith("exclusive")
        by = (1 if exclusive else self._drawn.choice((0, 0, 1, 10))) * (
            -1 if "in" in keyword else 1
        )
        miss = value + by if exclusive else value + by + (-1 if "in" in keyword else 1)
        return _Piece({keyword: value + by}, [miss])

    def _of_array(self, keyword: str, value: list[Any], depth: int) -> _Piece:
        bound: Any = None
        misses: list[Any] = []
        pieces = [self.piece(one, depth - 1) for one in value] if "tems" in keyword else []
        match keyword:
            case "items":
                schemas = list({json.dumps(one.schema): one.schema for one in pieces}.values())
                bound = {"anyOf": schemas} if schemas[1:] else (*schemas, {"type": "string"})[0]
                misses = [] if schemas[1:] else [[*value, a] for one in pieces for a in one.misses]
            case "prefixItems" if pieces:
                keyword = keyword if self._shape.draft == "2020-12" else "items"
                bound = [one.schema for one in pieces]
                misses = [
                    [*value[:at], miss, *value[at + 1 :]]
                    for at, one in enumerate(pieces)
                    for miss in one.misses
                ]
            case "maxItems":
                bound = len(value) + self._drawn.randint(0, 1)
                misses = [value + value[-1:] * 2] if value else []
            case "minItems":
                bound = self._drawn.randint(0, len(value))
                misses = [value[: bound - 1]] if bound else []
            case "uniqueItems" if len({json.dumps(one) for one in value}) == len(value):
                bound, misses = True, [value + value[:1]] * bool(value)
            case "contains" if value:
                bound = self.piece(self._drawn.choice(value), depth - 1).schema
                misses = [[]]
        return _Piece({keyword: bound}, misses) if bound is not None else _NOTHING

    def _of_object(self, keyword: str, value: dict[str, Any], depth: int) -> _Piece:
        bound: Any = None
        misses: list[Any] = []
        name = self._drawn.choice(list(value)) if value else ""
        match keyword:
            case "properties":
                some = [one for one in value if self._drawn.random() < 0.9]
                pieces = {one: self.piece(value[one], depth - 1) for one in some}
                further = self._drawn.sample(_NAMES, self._drawn.randint(0, 2))
                bound = {one: piece.schema for one, piece in pieces.items()}
                bound |= {one: {"type": "string"} for one in further if one not in value}
                misses = [{**value, one: bad} for one in pieces for bad in pieces[one].misses]
            case "required":
                bound = self._drawn.sample(list(value), self._drawn.randint(0, len(value)))
                misses = [without(value, one) for one in bound]
            case "additionalProperties":
                bound = True
            case "patternProperties":
                pattern = f"^{_class_of(name)}$"
                if [one for one in value if re.search(pattern, one)] == [name]:
                    piece = self.piece(value[name], depth - 1)
                    bound = {pattern: piece.schema}
                    misses = [{**value, name: bad} for bad in piece.misses]
            case "minProperties":
                bound, misses = len(value), [without(value, name)] * bool(value)
            case "maxProperties":
                bound, misses = len(value), [{**value, "further": 1}]
            case "propertyNames":
                most = max(map(len, value), default=1)
                bound, misses = {"maxLength": most}, [{**value, "n" * (most + 1): 1}]
            case "dependentRequired" if len(value) > 1 and self._shape.draft != _OLD:
                other = self._drawn.choice([one for one in value if one != name])
                bound, misses = {name: [other]}, [without(value, other)]
        return _Piece({keyword: bound}, misses) if bound is not None else _NOTHING


def _class_of(run: str) -> str:
    """A pattern for a run of characters of one sort."""
    for sort in ("a-z", "A-Z", "0-9"):
        if re.fullmatch(f"[{sort}]+", run):
            return f"[{sort}]{{1,{len(run) + 2}}}" if len(run) > 1 else f"[{sort}]+"
    return re.sub(r"([\\^$.|?*+()\[\]{}/])", r"\\\1", run)
