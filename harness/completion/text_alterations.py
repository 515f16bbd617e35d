"""Alterations of a JSON text: one part of it left out, written twice, replaced, added or edited.

An alteration is JSON, but for odd bytes in strings and numbers, and differs in one place, so that
what is wrong with it is not hidden behind what else is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from harness.completion.rollout import keyed_index
from harness.completion.text_writer import NO_NAME, Hints, spelled_name
from harness.jsontext.spans import ValueSpan, characters, root_of
from harness.schemas.variants import in_turn

_STRING_EDITS: Final = (
    *(b"a", b"Z", b"0", b" ", b"-", b"_", b".", b"/", b"@", b":", b"%", b"+", b"\\n", b"\\u0000"),
    *(b'\\"', b"\\\\", *(char.encode() for char in "é😀\u2028"), b"\\u00e9", b"\\ud83d\\ude00"),
    *(b"\\ud800", b"\x01", b"\x7f", b"a" * 20, b"a" * 120),
)
_NUMBER_EDITS: Final = (b"-", b"0", b"9", b"1", b".5", b".0", b"e1", b"e-1", b"E+2", b"0" * 20)
_ABOUT = 4
"""So much sooner comes what is about the member than what is about any."""
_OTHERS = 16
"""So many of the first hints that are about no member, and of the last, are tried at any."""
_MOST = 20_000

Splice = tuple[int, bytes, int, int]
"""The text up to a byte, something else, the text from a byte on; and how soon it comes."""


def alterations(texts: Sequence[bytes], hints: Hints, key: str) -> Iterator[bytes]:
    """Alterations of some texts, each once, all manners in turns, in an order by `key`."""
    every = []
    for manner in MANNERS:
        ranked = []
        splices = ((text, one) for text in texts for one in splices_of(text, manner, hints))
        for text, (begin, other, end, weight) in islice(splices, _MOST):
            altered = text[:begin] + other + text[end:]
            ranked.append(((keyed_index(f"{key}/{altered!r}", 1 << 32) + 1) / weight, altered))
        every.append([altered for _, altered in sorted(ranked)])
    seen = set(texts)
    for text in in_turn(every):
        if text not in seen:
            seen.add(text)
            yield text


def splices_of(text: bytes, manner: str, hints: Hints) -> Iterator[Splice]:
    """The alterations of a text in one of the `MANNERS`."""
    pending = [(root_of(text), NO_NAME)]
    while pending:
        node, name = pending.pop()
        yield from MANNERS[manner](node, name, hints)
        for one in node.entries:
            if one.key is not one.value:
                yield from () if manner in _OF_VALUES else MANNERS[manner](one.key, NO_NAME, hints)
            inner = spelled_name(one.name) if node.kind == "object" else name
            pending.append((one.value, inner))


def _dropped(node: ValueSpan, _name: bytes, _hints: Hints) -> Iterator[Splice]:
    """Without a member, an item, a character, or without several."""
    parts = _parts(node)
    weight = 1 if node.kind == "string" else _ABOUT
    ends = [begin for begin, _ in parts[1:]] + [node.end - 1]
    for at, (begin, end) in enumerate(parts):
        comma = node.entries[at].comma if node.kind != "string" else begin
        yield (begin, b"", ends[at], weight) if comma < 0 else (comma, b"", end, weight)
    if len(parts) > 1:
        yield parts[0][0], b"", parts[-1][1], weight
        yield parts[0][1], b"", parts[-1][1], weight


def _repeated(node: ValueSpan, _name: bytes, _hints: Hints) -> Iterator[Splice]:
    """With items twice, or a string."""
    parts = _parts(node)
    if node.kind == "array":
        for begin, _ in parts:
            end = parts[-1][1]
            yield end, b"," + node.text[begin:end], end, 2 * _ABOUT
    elif node.kind == "string" and parts:
        yield node.end - 1, node.text[node.start + 1 : node.end - 1], node.end - 1, 1


def _replaced(node: ValueSpan, name: bytes, hints: Hints) -> Iterator[Splice]:
    """With another value."""
    for hint, weight in _about(hints, name):
        if hint != node.raw:
            yield node.start, hint, node.end, weight


def _added(node: ValueSpan, name: bytes, hints: Hints) -> Iterator[Splice]:
    """With a further member or item."""
    if node.kind not in ("object", "array"):
        return
    at = node.entries[-1].value.end if node.entries else node.start + 1
    comma = b"," if node.entries else b""
    if node.kind == "array":
        yield from ((at, comma + hint, at, weight) for hint, weight in _about(hints, name))
        return
    for member in (one for one in hints.get(NO_NAME, ()) if one.startswith(b'"')):
        values = [*hints.get(member, ()), *hints.get(NO_NAME, ())[-_OTHERS:]]
        value = values[keyed_index(f"{node.text!r}/{at}/{member!r}", len(values))]
        yield at, comma + member + b":" + value, at, _ABOUT


def _edited(node: ValueSpan, _name: bytes, _hints: Hints) -> Iterator[Splice]:
    """With something else in a string, a name or a number."""
    if node.kind == "number":
        yield from ((node.end, other, node.end, _ABOUT) for other in _NUMBER_EDITS)
        yield from ((node.start, other, node.start, _ABOUT) for other in _NUMBER_EDITS[:4])
    elif node.kind == "string":
        parts = [*_parts(node), (node.end - 1, node.end - 1)]
        for at in dict.fromkeys((0, min(1, len(parts) - 1), len(parts) // 2, len(parts) - 1)):
            begin, end = parts[at]
            for other in _STRING_EDITS:
                yield begin, other, begin, 2
                if end > begin:
                    yield begin, other, end, 1


def _parts(node: ValueSpan) -> list[tuple[int, int]]:
    """The spans of the characters of a string, of the members, or of the items."""
    if node.kind == "string":
        return characters(node)
    return [(one.key.start, one.value.end) for one in node.entries]


def _about(hints: Hints, name: bytes) -> Iterator[tuple[bytes, int]]:
    """Values for a member, with how soon each comes: its own, then some that are about none."""
    some = hints.get(NO_NAME, ())
    if name != NO_NAME:
        for one in hints.get(name, ()):
            yield one, 2 * _ABOUT
    for at, one in enumerate((*some[:_OTHERS], *some[max(_OTHERS, len(some) - _OTHERS) :])):
        yield one, _ABOUT if at < _OTHERS and name == NO_NAME else 1


_OF_VALUES = ("replaced", "added", "repeated")
MANNERS: Final = {
    "replaced": _replaced,
    "dropped": _dropped,
    "added": _added,
    "edited": _edited,
    "repeated": _repeated,
}
