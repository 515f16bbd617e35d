"""The cases of the table: every keyword that constrains a value, at every place of a schema.

A fragment is the smallest schema that shows whether a keyword is kept, with values that it allows
and values that it forbids. The forbidden ones are forbidden by the keyword alone, so that an engine
that skips it lets them through. A value is written in two layouts where these differ, since it is
not the layout that is asked about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.inputs.cases import COMPACT, DRAFTS, LATEST, Case, Instance, type_of

_FRAGMENTS: Final = r"""
type=string | <string> | "" "ab" | 1 true null ["a"]
type=integer | <integer> | 0 -5 12 | 1.5 "1" null
type=number | {"type":"number"} | 0 -1.5 2 | "1" true
type=boolean | {"type":"boolean"} | true false | 0 "true" null
type=null | {"type":"null"} | null | 0 false "null"
type=array | {"type":"array"} | [] [1,"a"] | {} "a" 1
type=object | {"type":"object"} | {} {"x":1} | [] "a" null
type=list | {"type":["string","null"]} | "a" null | 1 true
enum | {"type":"string","enum":["red","green"]} | "red" "green" | "blue" "re" ""
enum=mixed | {"enum":["red",3,null]} | "red" 3 null | "blue" 4 true
const | {"type":"string","const":"fixed"} | "fixed" | "fix" "other"
const=object | {"const":{"a":1}} | {"a":1} | {"a":2} {} 1
multipleOf | {"type":"integer","multipleOf":3} | 0 3 -6 12 | 1 4 -5
multipleOf=half | {"type":"number","multipleOf":0.5} | 0 1.5 2 | 0.25 1.3
maximum | {"type":"integer","maximum":10} | 10 7 -3 | 11 100
maximum=number | {"type":"number","maximum":2.5} | 2.5 2.4 -1 | 2.6 3 10
minimum | {"type":"integer","minimum":10} | 10 11 100 | 9 0 -10
minimum=number | {"type":"number","minimum":2.5} | 2.5 2.6 10 | 2.4 0 -3
exclusiveMaximum | {"type":"integer","exclusiveMaximum":10} | 9 -3 | 10 11
exclusiveMaximum=number | {"type":"number","exclusiveMaximum":2.5} | 2.4 -1 | 2.5 3
exclusiveMinimum | {"type":"integer","exclusiveMinimum":10} | 11 100 | 10 9 -10
exclusiveMinimum=number | {"type":"number","exclusiveMinimum":2.5} | 2.6 10 | 2.5 0
maxLength | <short> | "" "ab" | "abc" "abcdef"
maxLength=wide | <short> | "éß" "😀😀" | "éßü" "😀😀😀"
minLength | {"type":"string","minLength":2} | "ab" "abc" | "" "a"
minLength=wide | {"type":"string","minLength":2} | "éß" "😀😀" | "é" "😀"
pattern | {"type":"string","pattern":"^[a-z]{2}[0-9]+$"} | "ab1" "zz99" | "a1" "ab" "AB1" "ab1x"
pattern=anywhere | {"type":"string","pattern":"b"} | "b" "abc" | "ac" ""
items | {"type":"array","items":<integer>} | [] [1] [1,2] | ["a"] [1,"a"]
prefixItems | {"type":"array","prefixItems":[<integer>,<string>]} | [1,"a"] [1] | ["a"] [1,2]
items=rest | {"type":"array","prefixItems":[<integer>],"items":<string>} | [1] [1,"a"]
  | [1,2] [1,"a",2]
items=false | {"type":"array","prefixItems":[<integer>],"items":false} | [1] [] | [1,2]
maxItems | {"type":"array","items":<integer>,"maxItems":2} | [] [1,2] | [1,2,3]
minItems | {"type":"array","items":<integer>,"minItems":2} | [1,2] [1,2,3] | [1]
uniqueItems | {"type":"array","items":<integer>,"uniqueItems":true} | [] [1,2] | [1,1] [1,2,1]
contains | {"type":"array","items":<integer>,"contains":{"const":1}} | [1] [2,1] | [] [2]
maxContains | {"type":"array","items":<integer>,"contains":{"const":1},"maxContains":1}
  | [1] [2,1] | [1,1] [1,2,1]
minContains | {"type":"array","items":<integer>,"contains":{"const":1},"minContains":2}
  | [1,1] [1,2,1] | [1] [1,2]
unevaluatedItems
  | {"type":"array","allOf":[{"prefixItems":[<integer>]}],"unevaluatedItems":false} | [] [1]
  | [1,2]
properties | {"type":"object","properties":{"a":<integer>}} | {} {"a":1} | {"a":"x"} {"a":null}
properties=false | {"type":"object","properties":{"a":false}} | {} {"b":1} | {"a":1}
required | {"type":"object","properties":{"a":<integer>,"b":<integer>},"required":["b"]}
  | {"b":1} {"a":1,"b":2} | {} {"a":1}
required=undeclared | {"type":"object","required":["a"]} | {"a":1} | {} {"b":1}
additionalProperties=false
  | {"type":"object","properties":{"a":<integer>},"additionalProperties":false} | {} {"a":1}
  | {"b":1} {"a":1,"b":2}
additionalProperties
  | {"type":"object","properties":{"a":<string>},"additionalProperties":<integer>}
  | {} {"x":1} {"a":"s","x":1} | {"x":"s"} {"a":"s","x":"s"}
patternProperties | {"type":"object","patternProperties":{"^n":<integer>}} | {} {"n":1} {"x":"s"}
  | {"n":"s"} {"n1":null}
propertyNames
  | {"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":<integer>}
  | {} {"ab":1} | {"A":1} {"ab":1,"B":2}
maxProperties | {"type":"object","additionalProperties":<integer>,"maxProperties":1} | {} {"a":1}
  | {"a":1,"b":2}
minProperties | {"type":"object","additionalProperties":<integer>,"minProperties":1}
  | {"a":1} {"a":1,"b":2} | {}
dependentRequired
  | {"type":"object","properties":{"a":<integer>,"b":<integer>},"dependentRequired":{"a":["b"]}}
  | {} {"b":1} {"a":1,"b":2} | {"a":1}
dependentSchemas
  | {"type":"object","properties":{"a":<integer>,"b":<integer>},
    "dependentSchemas":{"a":{"required":["b"]}}}
  | {} {"b":1} {"a":1,"b":2} | {"a":1}
unevaluatedProperties
  | {"type":"object","allOf":[{"properties":{"a":<integer>}}],"unevaluatedProperties":false}
  | {} {"a":1} | {"b":1} {"a":1,"b":2}
allOf | {"allOf":[{"type":"string","minLength":2},{"type":"string","maxLength":3}]} | "ab" "abc"
  | "a" "abcd"
allOf=objects
  | {"allOf":[{"type":"object","properties":{"a":<integer>},"required":["a"]},{"type":"object",
    "properties":{"b":<string>},"required":["b"]}]}
  | {"a":1,"b":"s"} | {"a":1} {"b":"s"} {"a":1,"b":2}
anyOf | {"anyOf":[<string>,<integer>]} | "a" 1 | true null
anyOf=objects
  | {"anyOf":[{"type":"object","properties":{"a":<integer>},"required":["a"]},{"type":"object",
    "properties":{"b":<string>},"required":["b"]}]}
  | {"a":1} {"b":"s"} | {} {"a":"s"}
oneOf | {"oneOf":[<string>,<integer>]} | "a" 1 | true null
oneOf=overlapping | {"oneOf":[{"type":"integer","minimum":0},{"type":"integer","maximum":10}]}
  | -1 11 | 5 0 10
not | {"type":"integer","not":{"const":5}} | 4 6 55 | 5
not=type | {"not":<string>} | 1 null | "" "a"
then | {"type":"integer","if":{"minimum":10},"then":{"maximum":20}} | 5 10 20 | 21 25
else | {"type":"integer","if":{"minimum":10},"else":{"maximum":5}} | 5 10 20 | 6 9
then=objects
  | {"type":"object","properties":{"k":{"enum":["x","y"]},"n":<integer>},"required":["k"],
    "if":{"properties":{"k":{"const":"x"}}},"then":{"required":["n"]}}
  | {"k":"x","n":1} {"k":"y"} | {"k":"x"}
$ref | {"$ref":"#/$defs/short"} | "" "ab" | "abc" 1 | {"short":<short>}
$ref=recursive | {"$ref":"#/$defs/tree"} | {"v":1} {"v":1,"next":{"v":2}} | {} {"v":1,"next":{}}
  | {"tree":{"type":"object","properties":{"v":<integer>,"next":{"$ref":"#/$defs/tree"}},
    "required":["v"],"additionalProperties":false}}
$anchor | {"$ref":"#short"} | "" "ab" | "abc" 1
  | {"short":{"$anchor":"short","type":"string","maxLength":2}}
$id | {"$ref":"https://example.com/short"} | "" "ab" | "abc" 1
  | {"short":{"$id":"https://example.com/short","type":"string","maxLength":2}}
$dynamicRef | {"$dynamicRef":"#short"} | "" "ab" | "abc" 1
  | {"short":{"$dynamicAnchor":"short","type":"string","maxLength":2}}
format=date-time | "2024-02-29T12:30:00Z" "1985-04-12T23:20:50.52+01:00"
  | "2024-02-30T12:30:00Z" "2024-01-01" "2024-01-01T12:30:00" "noon"
format=date | "2024-02-29" "1999-12-31" | "2023-02-29" "2024-13-01" "24-1-1" "today"
format=time | "12:30:00Z" "23:20:50.52+01:00" | "24:00:00Z" "12:30:00" "12:30" "noon"
format=duration | "P1D" "P3Y6M4DT12H30M5S" "PT0S" | "P" "PT" "1D" "P1S"
format=email | "a@example.com" "first.last@example.org" | "a" "a@" "@example.com" "a b@c.de"
format=idn-email | "a@example.com" "实例@example.com" | "a" "@example.com" "a@"
format=hostname | "example.com" "a-b.example" | "-a.com" "a_b.com" "a..b" ""
format=idn-hostname | "example.com" "müller.example" | "-a.com" "a..b"
format=ipv4 | "127.0.0.1" "255.255.255.255" | "256.0.0.1" "1.2.3" "1.2.3.4.5"
format=ipv6 | "::1" "2001:db8::8a2e:370:7334" | "1::2::3" "12345::" "1:2:3" "g::1"
format=uri | "https://example.com/a?b#c" "urn:isbn:0451450523" | "/a/b" "a b" "://x" ""
format=uri-reference | "/a/b?c" "https://example.com" "#x" | "a b" "\\x" "%zz"
format=iri | "https://example.com/ä" "urn:x:ö" | "/ä" "ä b" ""
format=iri-reference | "/ä?ö" "https://example.com" | "ä b" "\\ä"
format=uri-template | "https://example.com/{id}" "/a{?q,r}" | "/{id" "/a}b"
format=json-pointer | "" "/a/0" "/a~1b~0c" | "a" "/a~" "/~2" "#/a"
format=relative-json-pointer | "0" "1/a" "2#" | "/a" "01" "-1/a" ""
format=regex | "^[a-z]+$" "a|b" | "[a" "(" "*a"
format=uuid | "2eb8aa08-aa98-11ea-b4aa-73b441d16380" "2EB8AA08-AA98-11EA-B4AA-73B441D16380"
  | "2eb8aa08-aa98-11ea-b4aa-73b441d1638" "2eb8aa08aa9811eab4aa73b441d16380" "x"
# draft-04
exclusiveMaximum=draft-04 | {"type":"integer","maximum":10,"exclusiveMaximum":true} | 9 -3
  | 10 11
exclusiveMinimum=draft-04 | {"type":"integer","minimum":10,"exclusiveMinimum":true} | 11 100
  | 10 9
# draft-07
items=draft-07 | {"type":"array","items":[<integer>,<string>]} | [1,"a"] [1] | ["a"] [1,2]
additionalItems | {"type":"array","items":[<integer>],"additionalItems":<string>} | [1] [1,"a"]
  | [1,2]
dependencies
  | {"type":"object","properties":{"a":<integer>,"b":<integer>},"dependencies":{"a":["b"]}}
  | {} {"b":1} {"a":1,"b":2} | {"a":1}
dependencies=schema
  | {"type":"object","properties":{"a":<integer>,"b":<integer>},
    "dependencies":{"a":{"required":["b"]}}}
  | {} {"b":1} {"a":1,"b":2} | {"a":1}
definitions | {"$ref":"#/definitions/short"} | "" "ab" | "abc" 1 | {"short":<short>}
"""
"""A line each: the name, the schema (of a format none), values that are valid, values that are not,
definitions. A line that is indented goes on with the one above; a heading names the draft."""
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
    def untyped(self) -> dict[str, Any]:
        return {key: value for key, value in self.schema.items() if key != "type"}

    @property
    def has_own_type(self) -> bool:
        """Whether ``type`` stands beside the keyword, and is not the keyword itself."""
        return "type" in self.schema and len(self.schema) > 1


def definitions_key(draft: str) -> str:
    """The keyword under which a draft keeps definitions."""
    return "$defs" if draft in ("2019-09", LATEST) else "definitions"


def keyword_of(name: str) -> str:
    return name.partition("=")[0]


def fragments() -> Iterator[Fragment]:
    draft = LATEST
    text = re.sub("<[a-z]+>", lambda short: _SHORT[short[0]], _FRAGMENTS)
    for name, *parts in _lines(text):
        if not parts:
            draft = name.removeprefix("# ")
            continue
        columns = [tuple(_values(part)) for part in parts]
        if keyword_of(name) == "format":
            columns.insert(0, ({"type": "string", "format": name.partition("=")[2]},))
        (schema,), valid, invalid, (definitions,) = [*columns, ({},)][:4]
        yield Fragment(name, schema, valid, invalid, definitions, draft)


def _lines(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.replace("\n  ", " ").strip().splitlines()]


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
        own = fragment.untyped if fragment.has_own_type else {**fragment.schema}
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


_PLACES: Final = r"""
root | the whole schema | {"...": "<it>"}
untyped | the whole schema, without `type` beside it | {"...": "<untyped>"}
property | a property that may be missing | {"type": "object", "properties": {"a": "<it>"}}
  | {"a": <it>}
required-property | a required property of a closed object
  | {"type": "object", "properties": {"a": "<it>"}, "required": ["a"],
    "additionalProperties": false}
  | {"a": <it>}
additional-property | `additionalProperties`
  | {"type": "object", "additionalProperties": "<it>"} | {"x": <it>}
pattern-property | `patternProperties`
  | {"type": "object", "patternProperties": {"^x": "<it>"}, "additionalProperties": false}
  | {"x": <it>}
item | `items` | {"type": "array", "items": "<it>"} | [<it>]
prefix-item | `prefixItems` | {"type": "array", "prefixItems": ["<it>"], "items": false} | [<it>]
all-of | inside `allOf` | {"allOf": ["<it>"]}
type-apart | inside `allOf`, `type` beside that | {"type": "<own>", "allOf": ["<untyped>"]}
any-of | inside `anyOf`, beside another type | {"anyOf": ["<it>", {"type": "<other>"}]}
beside-any-of | beside `anyOf`
  | {"...": "<it>", "anyOf": [{"type": "<type>"}, {"type": "<other>"}]}
one-of | inside `oneOf`, beside another type | {"oneOf": ["<it>", {"type": "<other>"}]}
not | inside `not` | {"type": "<type>", "not": "<untyped>"}
then | inside `then` | {"if": {"type": "<type>"}, "then": "<it>"}
behind-ref | behind `$ref` | {"$ref": "#/<defs>/it", "<defs>": {"it": "<it>"}}
beside-ref | beside `$ref`
  | {"...": "<it>", "$ref": "#/$defs/any", "$defs": {"any": {"type": "<type>"}}}
nested | a property of objects in an array in an object
  | {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object",
    "properties": {"b": "<it>"}, "required": ["b"]}}}, "required": ["a"]}
  | {"a": [{"b": <it>}]}
recursive | a property of an object that holds objects like itself
  | {"type": "object", "properties": {"v": "<it>", "next": {"$ref": "#"}}}
  | {"next": {"v": <it>}}
"""
"""Lines as of `_FRAGMENTS`: the name, what it is, the schema, and a value of it."""
_SINCE: Final = {"prefix-item": LATEST, "then": "draft-07", "beside-ref": "2019-09"}
"""The first draft of a place, where that is not the first of all."""
PLACES: Final = tuple(SchemaPlace(*parts) for parts in _lines(_PLACES))
"""All places, in the order of tables."""

_OF_FORMATS: Final = (
    *("root", "untyped", "property", "item", "all-of", "any-of", "beside-any-of", "not"),
    *("behind-ref", "beside-ref"),
)
FORMAT_PLACES: Final = tuple(one for one in PLACES if one.name in _OF_FORMATS)
"""Those at which each of the formats is tried, which differ little by place among themselves."""


PREFIX: Final = "conformance"
_LAYOUTS: Final[tuple[Mapping[str, Any], ...]] = ({}, COMPACT)


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
    return tuple(Instance(text, verbatim=True) for text in dict.fromkeys(texts))


def case_line(case: Case) -> str:
    """A case with verbatim instances as a line of JSON that `harness.inputs.case_jsonl` reads."""
    kinds = {"valid": case.valid, "invalid": case.invalid}
    texts = {kind: [{"text": one.text.decode()} for one in some] for kind, some in kinds.items()}
    about = {"id": case.id, "family": case.family, "about": case.about}
    head = json.dumps({**about, **texts}, ensure_ascii=False)
    return f'{head[:-1]}, "schema": {case.schema}}}\n'
