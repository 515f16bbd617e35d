"""Verdicts that entries of the catalogue of departures fit, and verdicts that they nearly fit."""

from dataclasses import dataclass, field
from typing import Any

XGRAMMAR = {"config": "spec", "strict_mode": "auto", "any_order": "auto", "any_whitespace": "auto"}
LLGUIDANCE = {"config": "spec", "forced": "auto", "unicode_escapes": "auto", "lenient": False}
OUTLINES = {"config": "spec", "whitespace": ""}
LLAMA = {"config": "spec"}
GLRMASK = {"config": "spec", "llguidance_compat": "auto"}


@dataclass(frozen=True)
class Verdict:
    """One verdict: what was written, the token, and what the schema says there."""

    before: str = ""
    token: bytes = b""
    schema: Any = field(default_factory=dict)
    rest: str = ""
    """How the reference goes on after `before`."""
    kind: str = "false_rejection"
    keyword: str = ""
    pointer: str = ""
    output: str = ""
    effect: str = ""
    at: int = 0
    """How many bytes of the token go before the one that is refused."""

    @property
    def written(self):
        """The bytes of `before`; a lone surrogate U+DC80 to U+DCFF stands for a single byte."""
        return self.before.encode("utf-8", "surrogateescape")


def rejected(before, token, schema=None, **more):
    return Verdict(before, token, {} if schema is None else schema, **more)


def accepted(keyword, schema, pointer="", **more):
    fault = {"keyword": keyword, "pointer": pointer or f"/{keyword}"}
    return Verdict("", b"x", schema, kind="false_acceptance", **fault, **more)


def multiple(kind, step, output, **bounds):
    schema = {"type": kind, "multipleOf": step, **bounds}
    return accepted("multipleOf", schema, output=output)


@dataclass(frozen=True)
class Examples:
    """What an entry fits, and what it nearly fits."""

    fits: list[Verdict]
    misses: list[Verdict]
    options: dict[str, Any]
    other_options: dict[str, Any] | None = None
    """Options of the engine for which the entry is not meant."""
    version: str = ""


REQUIRED = {"kind": "false_acceptance", "keyword": "required", "pointer": "/required"}
A_B = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
EMAIL = {"type": "string", "format": "email"}
URI = {"type": "string", "format": "uri"}
DATE = {"type": "string", "format": "date"}
TREE = {
    "$ref": "#/$defs/t",
    "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}},
}
ALL_OF = {"allOf": [{"type": "string"}, {"$ref": "#/$defs/d"}], "$defs": {"d": {"minLength": 2}}}
ONE_ALL_OF = {"allOf": [{"minLength": 2}]}
ANCHOR = {"$ref": "#here", "$defs": {"d": {"$anchor": "here", "type": "string"}}, "maximum": 3}
LOOKAHEAD = {"type": "string", "pattern": "^(?=a)b"}
LATEST = "https://json-schema.org/draft/2020-12/schema"
DRAFT_07 = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {"d": {"type": "integer"}},
}
ENFORCER = {"config": "shipped", "whitespaces": "auto", "array_items": "auto"}
LONG = "[" + "1, " * 20 + "1"
STAMP = "[12:00:00] xgrammar/cpp/some_file.cc:12: Warning: "
ONGOING = STAMP + "Support for allOf with multiple options is still ongoing\n"
OVERLAP = STAMP + (
    "oneOf with overlapping or non-provably-disjoint branches cannot be represented exactly; "
    "falling back to anyOf semantics\n"
)
NO_MULTIPLE = STAMP + "multipleOf is not supported for type:number; ignoring multipleOf\n"
NO_FRACTION = STAMP + "multipleOf for type:integer must be an integer; ignoring multipleOf\n"
NO_LARGE = STAMP + "multipleOf for type:integer must be > 0 and <= 1024; ignoring multipleOf\n"
NO_RANGE = STAMP + "range + multipleOf combination not yet supported; ignoring multipleOf\n"
BESIDE_PATTERN = (
    "Specifying pattern and minLength/maxLength/format is not supported yet,"
    " ignoring minLength/maxLength/format"
)
NO_LENGTH = " combined with minLength/maxLength is not supported; ignoring minLength/maxLength\n"
NO_AHEAD = STAMP + "Lookahead assertion is not supported and is ignored in regex: "
NO_ANCHOR = STAMP + "Anchor '^' in the middle of regex is ignored: "
NO_ESCAPE = (
    STAMP + "Escape sequence \\y is not recognized in regex; matching the character literally\n"
)
OLD_ANCHOR = (
    STAMP + "'^' should be at the start of the regex, but found in the middle. It is ignored.\n"
)
NO_URI = STAMP + "URI should either be '#' or start with '#/' but got #here\n"
INCOMPLETE = (
    "WARNING: JSON schema conversion was incomplete: pattern {} is not supported (unsupported group "
    "syntax), accepting any string\n"
)
LENIENT = "llguidance: warning: "
NOT_COUNTED = LENIENT + (
    'min/maxProperties only supported when all keys listed in "properties" are required\n'
)


def sibling(**beside):
    """A schema of draft-07 with something beside a reference."""
    return {**DRAFT_07, "properties": {"a": {"$ref": "#/definitions/d", **beside}}}


def lost(before, token, schema=None, **more):
    return rejected(before, token, schema, effect="lost_value", **more)


def trapped(before, token, schema=None, **more):
    """A rejection after which the value cannot be reached any more."""
    return rejected(before, token, schema, **{"effect": "trap", **more})


PATTERN = {"type": "string", "pattern": "^[a-z]+$"}
CONTROL = {"enum": ["\u0001", "a"]}
HEX = [trapped('"\\u00', b"6"), trapped('{"\\u', b"0061", at=2)]
HEX_MISSES = [
    trapped('"\\', b"u"),
    trapped('"\\u00', b"6", effect="lost_value"),
    trapped('"\\\\u00', b"6"),
]
HEX_IN_PATTERNS = [
    trapped('"\\u00', b"6", PATTERN),
    trapped('{"\\u', b"0061", {"patternProperties": {"^a": {}}, "additionalProperties": False}),
    trapped('{"a": "\\u0', b"06", {"properties": {"a": {"anyOf": [PATTERN]}}}, at=1),
]
DEEP = '{"a": [{"a key that is long": '
ONE_OF = accepted("oneOf", {"oneOf": [{}, {}]})
DELETE = [rejected('"', b"a\x7f", at=1), rejected('{"a', b"\x7f")]
DELETE_MISSES = [rejected('"', "\x80".encode()), rejected('"', b"a\x7f", at=0)]
EXTRA_EARLY = [rejected('{"', b"zz", A_B), rejected('{"b": 1', b',"zz', A_B, at=2)]
CLOSED = [
    rejected('{"a": 1, "', b"zz", A_B),
    rejected('{"a": 1, "', b"\\/", A_B),
    rejected('{"a": 1', b',"zz', A_B, at=2),
    rejected('{"a": ', b'"",', {"properties": {"a": {}}}, at=2),
    rejected('{"a": "x', b'\\"","', {"properties": {"a": {}}}, at=3),
    rejected('{"b": {"a": "x', b'"},', {"properties": {"b": {"properties": {"a": {}}}}}, at=2),
]
CLOSED_MISSES = [
    rejected('{"a": 1, "', b"zz", {**A_B, "additionalProperties": True}),
    rejected('{"a": 1, "', b"b", A_B),
    rejected('["', b"zz", {"items": A_B}),
    rejected('{"a": "x', b'y"}', {"properties": {"a": {}}}, at=2),
    rejected('["x', b'",', {"items": {"properties": {"a": {}}}}, at=1),
    rejected('{"b": {"a": "x', b'"},', {"properties": {"b": {"properties": {"a": {}}}}}, at=1),
]
ORDERED = [
    trapped('{"b": 1', b",", A_B, rest='"a": 1}'),
    trapped('{"b": 1, "', b"a", A_B, rest='": 1}'),
    trapped('{"', b"b", A_B, rest='": 1, "a": 1}'),
]
ORDERED_MISSES = [
    trapped('{"a": 1, "', b"b", A_B, rest='": 1}'),
    trapped('{"b": 1, "', b"a", A_B, rest='": 1}', effect="lost_value"),
]
BEGUN = [
    lost('{"b": 1, "', b"a", A_B, rest='c": 1}'),
    lost('{"', b"ab", A_B, at=1, rest='": 1}'),
    lost('{"a": 1', b",", {"allOf": [A_B]}, rest='"": 1}'),
    lost('{"', b"\\u0061", A_B, rest='x": 1}'),
]
BEGUN_MISSES = [lost('{"b": 1, "', b"a", A_B, rest='": 1}'), lost('{"b": 1, "', b"a", A_B, rest="")]
LEAST = {"properties": {"a": {}, "b": {"minimum": 0}}}
COMMAS = [lost('{"b": 1', b",", LEAST), lost('{"a": 1, "b": 1', b",", {"anyOf": [A_B, True]})]
LEAP = [
    Verdict('"2023-02-2', b"9", DATE, '8"', "false_acceptance", "format", "/format"),
    Verdict('"', b"2023-02-29", DATE, "", "false_acceptance", "format", "/format"),
    Verdict('"2023-02-29', b'"', DATE, "", "false_acceptance", "format", "/format"),
]
LEAP_MISSES = [
    Verdict('"2023-04-3', b"1", DATE, '0"', "false_acceptance", "format", "/format"),
    Verdict('"2023-12-2', b"9", DATE, '8"', "false_acceptance", "format", "/format"),
    Verdict('"1-02-2', b"9", {"pattern": "x"}, "", "false_acceptance", "pattern", "/pattern"),
]

ENDLESS = [
    Verdict('{"a":', b" ", A_B, " 1}", kind="unbounded_repetition"),
    Verdict('{"a": 1', b"1", A_B, "}", kind="unbounded_repetition"),
]


def beside(keyword, schema, other="pattern"):
    """An acceptance of xgrammar, which said that it takes no length beside another keyword."""
    return accepted(keyword, schema, output=STAMP + other + NO_LENGTH)


def ignored(keyword, value, words):
    """An acceptance of llguidance, which said that it ignores something."""
    return accepted(keyword, {keyword: value}, output=f"{LENIENT}{words}\n")


EXAMPLES = {
    "text-without-end": Examples(
        ENDLESS,
        [Verdict('{"a": "', b"a", {}, '"}', kind="unbounded_repetition"), rejected('{"a":', b" ")],
        {},
    ),
    "xgrammar-strict-mode": Examples(
        [*CLOSED, *EXTRA_EARLY, *COMMAS, *BEGUN],
        [*CLOSED_MISSES, *BEGUN_MISSES],
        {**XGRAMMAR, "config": "shipped"},
        {**XGRAMMAR, "config": "shipped", "strict_mode": "false"},
    ),
    "xgrammar-strict-mode-arrays": Examples(
        [
            lost("[", b"1", {"type": "array", "maxItems": 3}),
            lost('{"a": [', b'"', {"properties": {"a": {"type": "array", "description": "a"}}}),
        ],
        [
            lost("[", b"1", {"type": "array", "items": {"type": ["integer", "string"]}}),
            lost('{"a": ', b"[", {"properties": {"a": {"type": "array"}}}),
            lost("[1, ", b"2", {"prefixItems": [{"type": "integer"}, {}]}),
            rejected("[", b"1", {"type": "array", "maxItems": 3}),
        ],
        {**XGRAMMAR, "config": "shipped"},
        {**XGRAMMAR, "config": "shipped", "strict_mode": "false"},
    ),
    "xgrammar-property-order": Examples(
        ORDERED, ORDERED_MISSES, XGRAMMAR, {**XGRAMMAR, "any_order": "true"}
    ),
    "xgrammar-any-order": Examples(
        [
            accepted("required", A_B),
            Verdict('{"b": {}', b"}", A_B, **REQUIRED),
            Verdict('{"a": 1, "', b'a"', A_B, kind="false_acceptance", keyword="x"),
        ],
        [
            *(accepted("type", A_B), rejected('{"', b"a", A_B)),
            Verdict("{ ", b" }", A_B, **REQUIRED),
            Verdict("", b"{}", A_B, **REQUIRED),
        ],
        {**XGRAMMAR, "any_order": "true"},
        XGRAMMAR,
    ),
    "xgrammar-warns-all-of": Examples(
        [
            accepted("type", ALL_OF, pointer="/allOf/0/type", output=ONGOING),
            accepted("minLength", ALL_OF, pointer="/$defs/d/minLength", output=ONGOING),
        ],
        [
            accepted("type", ALL_OF, pointer="/allOf/0/type"),
            accepted("minLength", ONE_ALL_OF, pointer="/allOf/0/minLength", output=ONGOING),
            accepted("type", {**ALL_OF, "type": "string"}, output=ONGOING),
            accepted(
                "minLength",
                {**ALL_OF, "properties": {"p": {"$ref": "#/$defs/d"}}},
                pointer="/$defs/d/minLength",
                output=ONGOING,
            ),
        ],
        XGRAMMAR,
    ),
    "xgrammar-warns-one-of": Examples(
        [accepted("oneOf", {"oneOf": [{}, {}]}, output=OVERLAP)],
        [ONE_OF, accepted("anyOf", {"anyOf": [False]}, output=OVERLAP)],
        XGRAMMAR,
    ),
    "xgrammar-warns-multiple-of": Examples(
        [
            multiple("number", 2, NO_MULTIPLE),
            multiple("integer", 2, NO_RANGE, minimum=1),
            multiple("integer", 2, NO_RANGE, minimum=1, maximum=10_001),
            multiple("integer", 2, NO_RANGE, exclusiveMinimum=0, maximum=10_001),
            multiple("integer", 1.5, NO_FRACTION),
            multiple("integer", 1025, NO_LARGE),
        ],
        [
            multiple("integer", 2, NO_MULTIPLE),
            multiple("integer", 2, NO_RANGE),
            multiple("integer", 2, NO_RANGE, minimum=1, maximum=10_000),
            multiple("integer", 1024, NO_FRACTION + NO_LARGE),
            multiple("integer", 1025, ""),
            accepted("minimum", {"type": "number", "minimum": 2}, output=NO_MULTIPLE),
        ],
        XGRAMMAR,
    ),
    "xgrammar-warns-length": Examples(
        [
            beside("minLength", {"pattern": "a", "minLength": 2}),
            beside("maxLength", {"format": "date", "maxLength": 2}, "format"),
            accepted("format", {"pattern": "a", "format": "date"}, output=STAMP + BESIDE_PATTERN),
        ],
        [
            beside("minLength", {"minLength": 2}),
            beside("minLength", {"format": "date", "minLength": 2}),
            beside("pattern", {"pattern": "a", "minLength": 2}),
        ],
        XGRAMMAR,
    ),
    "xgrammar-warns-pattern": Examples(
        [
            accepted("pattern", LOOKAHEAD, output=f"{NO_AHEAD}^(?=a)b\n"),
            accepted("pattern", {"pattern": "a^b"}, output=f"{NO_ANCHOR}a^b\n"),
            accepted("pattern", {"pattern": "a^b"}, output=OLD_ANCHOR),
            accepted("pattern", {"pattern": r"\\\y"}, output=NO_ESCAPE),
        ],
        [
            accepted("pattern", LOOKAHEAD, output=f"{NO_AHEAD}^(?=a)bc\n"),
            accepted("pattern", {"pattern": "^a[^b]$"}, output=OLD_ANCHOR),
            accepted("type", LOOKAHEAD, output=f"{NO_AHEAD}^(?=a)b\n"),
            accepted("pattern", {"pattern": r"\\y\d"}, output=NO_ESCAPE),
        ],
        XGRAMMAR,
    ),
    "xgrammar-warns-reference": Examples(
        [accepted("type", ANCHOR, pointer="/$defs/d/type", output=NO_URI)],
        [
            accepted("maximum", ANCHOR, output=NO_URI),
            accepted("type", ANCHOR, pointer="/$defs/d/type"),
        ],
        XGRAMMAR,
    ),
    "llguidance-property-order": Examples(ORDERED, ORDERED_MISSES, LLGUIDANCE),
    "llguidance-reference-siblings": Examples(
        [
            lost('{"a": ', b"9", sibling(maximum=5)),
            lost('{"', b"a", sibling(type="string")),
            trapped("[", b"9", {**DRAFT_07, "items": {"$ref": "#/definitions/d", "maximum": 5}}),
        ],
        [
            lost('{"a": ', b"9", sibling(description="A number.", default=1)),
            lost('{"b": ', b"9", {**sibling(maximum=5), "required": ["b"]}),
            lost('{"a": ', b"9", {**sibling(maximum=5), "$schema": LATEST}),
            rejected('{"a": ', b"9", sibling(maximum=5)),
        ],
        LLGUIDANCE,
    ),
    "llguidance-solidus-escape": Examples(
        [trapped('"\\', b"/"), trapped('"', b"\\/", at=1)],
        [trapped('"\\', b"b"), trapped('"', b"\\/"), rejected('"\\', b"/")],
        LLGUIDANCE,
    ),
    "llguidance-unicode-escapes": Examples(
        HEX, HEX_MISSES, {**LLGUIDANCE, "config": "shipped"}, LLGUIDANCE
    ),
    "llguidance-control-characters": Examples(DELETE, DELETE_MISSES, LLGUIDANCE),
    "llguidance-unicode-escapes-in-patterns": Examples(
        HEX_IN_PATTERNS, [*HEX, trapped('"\\u00', b"6", CONTROL)], LLGUIDANCE
    ),
    "llguidance-one-spelling": Examples(
        [trapped('"\\u00', b"6", CONTROL), trapped('"\\u00', b"6", {"anyOf": [CONTROL]})],
        [*HEX, trapped('"\\u00', b"6", PATTERN)],
        LLGUIDANCE,
    ),
    "llguidance-uri-ipv6": Examples(
        [rejected('"http://[::', b"1", URI), rejected('"http://u@[', b"f", URI)],
        [
            rejected('"http://', b"1", URI),
            rejected('"http://[::1]/', b"1", URI),
            rejected('"http://[::', b"1", {"format": "email"}),
        ],
        LLGUIDANCE,
    ),
    "llguidance-repeated-keys": Examples(
        [Verdict('{"a": 1, "', b'a"', kind="false_acceptance", keyword="x")],
        [Verdict('{"a": 1, "', b'b"', kind="false_acceptance", keyword="x")],
        LLGUIDANCE,
    ),
    "llguidance-warns-lenient": Examples(
        [
            ignored("uniqueItems", True, 'Unimplemented keys: ["not", "uniqueItems"]'),
            ignored("oneOf", [{}, {}], "oneOf not fully supported, falling back to anyOf."),
            ignored("format", "iri", "Unknown format: iri"),
            accepted("minProperties", {"minProperties": 2}, output=NOT_COUNTED),
        ],
        [
            ignored("uniqueItems", True, 'Unimplemented keys: ["not"]'),
            ignored("format", "date", "Unknown format: iri"),
            ONE_OF,
            accepted("required", A_B, output=NOT_COUNTED),
        ],
        {**LLGUIDANCE, "lenient": True},
        LLGUIDANCE,
    ),
    "llguidance-coerces-one-of": Examples(
        [ONE_OF],
        [accepted("anyOf", {"anyOf": [{}, {}]})],
        {**LLGUIDANCE, "coerce_one_of": True},
        {**LLGUIDANCE, "coerce_one_of": False},
    ),
    "outlines-unicode-escapes": Examples(
        [trapped('"\\', b"u"), trapped('"', b"\\u0061", at=1), lost('"\\', b"u")],
        [trapped('"\\', b"n"), trapped('"\\u00', b"6"), rejected('"\\', b"u")],
        OUTLINES,
    ),
    "outlines-control-characters": Examples(
        [rejected('"', b"a\x7f", at=1), rejected('"\udcc2', b"\x85b")],
        [rejected('"', "é".encode()), rejected('"', b"\xc2")],
        OUTLINES,
    ),
    "outlines-property-order": Examples(
        [*ORDERED, trapped('{"', b"\\", A_B, rest='u0062": 1}')], ORDERED_MISSES, OUTLINES
    ),
    "outlines-closed-objects": Examples(
        [*CLOSED, *EXTRA_EARLY, *COMMAS, *BEGUN],
        [*[*CLOSED_MISSES, *BEGUN_MISSES], *(lost('{"b": 1', one, LEAST) for one in (b".", b"}"))],
        OUTLINES,
    ),
    "outlines-recursion-depth": Examples(
        [rejected('{"t":{"t":{"t":{"', b"t", TREE)],
        [rejected('{"t":{"t":{"', b"t", TREE), rejected('{"t":{"t":{"t":{"', b"u", TREE)],
        OUTLINES,
    ),
    "outlines-free-depth": Examples(
        [
            rejected(DEEP, b"{"),
            rejected(DEEP, b" [", {"type": "object"}, at=1),
            rejected("[[[", b"[", {"items": True}),
        ],
        [
            rejected(DEEP, b"1"),
            rejected('{"a": [', b"{"),
            rejected(DEEP, b"{", {"properties": {"a": {"items": {"type": "object"}}}}),
        ],
        OUTLINES,
    ),
    "outlines-leap-years": Examples(LEAP, LEAP_MISSES, OUTLINES, version="0.2.15"),
    "llama-cpp-closed-objects": Examples(
        [*CLOSED, *EXTRA_EARLY, *COMMAS, *BEGUN], [*CLOSED_MISSES, *BEGUN_MISSES], LLAMA
    ),
    "llama-cpp-property-order": Examples(ORDERED, ORDERED_MISSES, LLAMA),
    "llama-cpp-limited-digits": Examples(
        [rejected("[123456789012345", b"67"), rejected("0.1234567890123456", b"7")],
        [rejected("[12345678901234", b"5"), rejected("[123456789012345", b".")],
        LLAMA,
    ),
    "llama-cpp-control-characters": Examples(DELETE, DELETE_MISSES, LLAMA),
    "llama-cpp-one-of": Examples(
        [ONE_OF],
        [accepted("anyOf", {"anyOf": [False]}), rejected("", b"1", {"oneOf": [{}, {}]})],
        LLAMA,
    ),
    "llama-cpp-unsupported": Examples(
        [
            accepted("uniqueItems", {"uniqueItems": True}),
            accepted("minimum", {"type": "number", "minimum": 2}),
            accepted("format", EMAIL),
            rejected('{"', b"x", {**A_B, "patternProperties": {"^x": {}}}),
        ],
        [
            rejected('{"', b"x", {**A_B, "additionalProperties": {}}),
            rejected('{"', b"a", {**A_B, "patternProperties": {"^x": {}}}),
            accepted("minimum", {"type": "integer", "minimum": 2}),
            accepted("format", DATE),
            accepted("multipleOf", {"multipleOf": 2}),
        ],
        LLAMA,
    ),
    "llama-cpp-line-feeds-in-keys": Examples(
        [Verdict('{"', b"\n", kind="false_acceptance", keyword="x")],
        [
            Verdict('{"', b"\t", kind="false_acceptance", keyword="x"),
            Verdict('["', b"\n", kind="false_acceptance", keyword="x"),
        ],
        LLAMA,
    ),
    "llama-cpp-warns-pattern": Examples(
        [accepted("pattern", LOOKAHEAD, output=INCOMPLETE.format("^(?=a)b"))],
        [
            accepted("pattern", LOOKAHEAD, output=INCOMPLETE.format("^(?=a)bc")),
            accepted("pattern", LOOKAHEAD),
            accepted("type", LOOKAHEAD, output=INCOMPLETE.format("^(?=a)b")),
        ],
        LLAMA,
    ),
    "glrmask-property-order": Examples(ORDERED, ORDERED_MISSES, GLRMASK),
    "glrmask-length-beside-costly-pattern": Examples(
        [accepted("maxLength", {"pattern": "a", "maxLength": 500})],
        [
            accepted("minLength", {"pattern": "a", "minLength": 2}),
            accepted("maxLength", {"maxLength": 500}),
        ],
        GLRMASK,
    ),
    "glrmask-unicode-escapes": Examples(HEX, HEX_MISSES, {**GLRMASK, "config": "shipped"}, GLRMASK),
    "glrmask-unicode-escapes-in-patterns": Examples(
        HEX_IN_PATTERNS[:2], HEX, {**GLRMASK, "config": "shipped"}, GLRMASK
    ),
    "maskforge-format-annotation": Examples(
        [accepted("format", DATE)],
        [accepted("pattern", {"pattern": "a"}), rejected('"', b"2", DATE)],
        {"config": "spec"},
    ),
    "maskforge-number-dead-ends": Examples(
        [
            Verdict("", b"1.", {"minimum": 2}, kind="dead_end"),
            Verdict("[1", b".5", {"items": {"const": 1.25}}, kind="dead_end"),
        ],
        [Verdict('{"', b"\xf0", A_B, kind="dead_end"), rejected("1", b".5")],
        {"config": "spec"},
    ),
    "lm-format-enforcer-array-items": Examples(
        [rejected(LONG, b",", {"type": "array"}), rejected(LONG, b", 1", {"type": "array"})],
        [
            *(rejected(LONG, b"2", {"type": "array"}), rejected("[1", b",", {"type": "array"})),
            rejected('["a,b,c,d', b",", {"type": "array"}),
        ],
        ENFORCER,
        {**ENFORCER, "config": "spec"},
    ),
    "formatron-closed-objects": Examples(
        [*CLOSED, *EXTRA_EARLY, CLOSED_MISSES[0]], CLOSED_MISSES[1:], {"config": "spec"}
    ),
    "formatron-property-order": Examples(ORDERED, ORDERED_MISSES, {"config": "spec"}),
    "formatron-all-of": Examples(
        [accepted("allOf", ALL_OF), accepted("minLength", ALL_OF, pointer="/$defs/d/minLength")],
        [accepted("minLength", {"minLength": 2})],
        {"config": "spec"},
    ),
    "formatron-one-of": Examples(
        [ONE_OF], [accepted("anyOf", {"anyOf": [False]})], {"config": "spec"}
    ),
    "formatron-unsupported": Examples(
        [accepted("format", DATE), accepted("not", {"not": {}})],
        [accepted("minimum", {"minimum": 2}), rejected('"', b"2", DATE)],
        {"config": "spec"},
    ),
}
