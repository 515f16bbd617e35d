"""Verdicts for the entries about the engines that a first run leaves out."""

from __future__ import annotations

from tests.departure_examples import (
    A_B,
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
        [accepted("format", "/format", DATE)],
        [accepted("pattern", "/pattern", {"pattern": "a"}), rejected('"', b"2", DATE)],
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
}
