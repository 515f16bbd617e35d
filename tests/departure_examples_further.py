"""Verdicts for the entries about the engines that a first run leaves out."""

from __future__ import annotations

from tests.departure_examples import (
    A_B,
    ALL_OF,
    CLOSED,
    CLOSED_MISSES,
    DATE,
    EXTRA_EARLY,
    ORDER,
    ORDER_MISSES,
    UNNAMED,
    Examples,
    Verdict,
    accepted,
    rejected,
)

GLRMASK = {"config": "spec", "llguidance_compat": "auto", "mask_strategy": "auto"}
GLRMASK_SHIPPED = {**GLRMASK, "config": "shipped"}
ENFORCER = {"config": "spec", "whitespaces": "auto", "array_items": "auto", "field_order": False}
ENFORCER_SHIPPED = {**ENFORCER, "config": "shipped"}
CONSTANT = {"const": {"a": 1, "b": 2}}
LONG = "[" + "1, " * 20 + "1"

FURTHER = {
    "glrmask-separators": Examples(
        [rejected("[1", b",2", at=1), rejected("[1,", b"\n"), rejected("[1, ", b" 2")],
        [rejected("[", b" 1"), rejected("", b" "), rejected("[1", b" ]"), rejected("[1", b", 2")],
        GLRMASK,
    ),
    "glrmask-property-order": Examples(ORDER, [*ORDER_MISSES, *EXTRA_EARLY], GLRMASK),
    "glrmask-tail-properties": Examples(
        [*EXTRA_EARLY, rejected('{"', b",", UNNAMED)],
        [*ORDER, rejected('{"a": 1, "', b"zz", A_B)],
        GLRMASK,
    ),
    "glrmask-unicode-escapes": Examples(
        [
            rejected('"', b"\\u00e9", at=4),
            rejected('"\\u007', b"e"),
            rejected('"\\u', b"C"),
            rejected('"\\u0', b"1"),
        ],
        [rejected('"', b"\\u001f", at=4), rejected('"', b"\\/", at=1)],
        GLRMASK_SHIPPED,
        GLRMASK,
    ),
    "glrmask-unicode-escapes-in-patterns": Examples(
        [rejected('"\\', b"u", {"pattern": "^a"})],
        [rejected('"\\', b"u", {"type": "string"}), rejected('"', b"\\n", {"pattern": "^a"}, at=1)],
        GLRMASK_SHIPPED,
        GLRMASK,
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
    "lm-format-enforcer-whitespace": Examples(
        [
            rejected("[1" + " " * 12, b"\n"),
            rejected("\n" * 12, b" 1"),
            rejected("[", b" " * 13, at=12),
        ],
        [rejected("[" + " " * 11, b" "), rejected('["' + " " * 12, b" "), rejected(" " * 12, b"1")],
        ENFORCER_SHIPPED,
        ENFORCER,
    ),
    "lm-format-enforcer-array-items": Examples(
        [rejected(LONG, b",", {"type": "array"}), rejected(LONG, b", 1", {"type": "array"})],
        [
            *(rejected(LONG, b"2", {"type": "array"}), rejected("[1", b",", {"type": "array"})),
            rejected('["a,b,c,d', b",", {"type": "array"}),
        ],
        ENFORCER_SHIPPED,
        ENFORCER,
    ),
    "lm-format-enforcer-escapes-in-patterns": Examples(
        [
            rejected('"', b"\\u", {"pattern": "^a"}),
            rejected('"a', b'b\\"', {"pattern": "^a"}, at=1),
        ],
        [rejected('"', b"\\u", {"type": "string"}), rejected('"a', b"b", {"pattern": "^a"})],
        ENFORCER,
    ),
    "formatron-closed-objects": Examples(
        [*CLOSED, *EXTRA_EARLY, CLOSED_MISSES[0]], CLOSED_MISSES[1:], {"config": "spec"}
    ),
    "formatron-property-order": Examples(ORDER, [*ORDER_MISSES, *EXTRA_EARLY], {"config": "spec"}),
    "formatron-constant-order": Examples(
        [rejected('{"', b"b", CONSTANT), rejected("{", b'"b"', CONSTANT, at=1)],
        [rejected('{"', b"b", A_B), rejected('"', b"b", {"const": "b"})],
        {"config": "spec"},
    ),
    "formatron-all-of": Examples(
        [accepted("allOf", ALL_OF), accepted("minLength", ALL_OF, pointer="/$defs/d/minLength")],
        [accepted("minLength", {"minLength": 2})],
        {"config": "spec"},
    ),
    "formatron-one-of": Examples(
        [accepted("oneOf", {"oneOf": [{}, {}]})],
        [accepted("anyOf", {"anyOf": [False]})],
        {"config": "spec"},
    ),
    "formatron-unsupported": Examples(
        [accepted("format", DATE), accepted("not", {"not": {}})],
        [accepted("minimum", {"minimum": 2}), rejected('"', b"2", DATE)],
        {"config": "spec"},
    ),
    "oc-earley-canonical-spelling": Examples(
        [
            *(
                rejected("[1,", b" "),
                rejected("", b"\n"),
                rejected("[1", b" ]"),
                rejected("1", b".0"),
            ),
            *(rejected('"', b"\\u"), rejected('"', b"\x7f"), rejected('{"', b"b", A_B)),
        ],
        [rejected('"', b" "), rejected("[", b"[")],
        {"config": "spec"},
    ),
}
