"""The passes of the reducer: edits of a case, by which schema and text change together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.bugs import schema_edits, text_edits
from harness.bugs.error_case import ErrorCase
from harness.bugs.schema_edits import PLAINEST
from harness.jsontext.pointers import part_at, replaced, without
from harness.jsontext.spans import root_of
from harness.schemas.schema import Path, objects
from harness.verdict_kinds import ACCEPTANCES

Pass = Callable[[ErrorCase], Iterator[ErrorCase]]


def _of_schema(edits: Callable[[object], Iterator[object]]) -> Pass:
    return lambda case: (case.with_schema(schema) for schema in edits(case.parsed))


def _of_json(edits: Callable[[bytes], Iterator[bytes]]) -> Pass:
    """Edits of texts that are fed byte by byte and JSON, but for their encoding."""
    return lambda case: (
        case.with_text(text) for text in (edits(case.text) if is_json(case, "replace") else ())
    )


def _of_bytes(edits: Callable[[bytes], Iterator[bytes]]) -> Pass:
    """Edits of any text; around a token, of what stands before and after it."""

    def edited(case: ErrorCase) -> Iterator[ErrorCase]:
        if not case.token:
            yield from map(case.with_text, edits(case.text))
            return
        before, after = case.around
        yield from (case.with_around(text, after) for text in edits(before))
        yield from (case.with_around(before, text) for text in edits(after))

    return edited


def is_json(case: ErrorCase, ill_formed: str = "strict") -> bool:
    """Whether the text is JSON and fed byte by byte; `ill_formed` is how to decode it.

    A raw control character may be what is at issue; halves of a surrogate pair are no text.
    """
    try:
        json.loads(case.text.decode(errors=ill_formed), strict=False)
    except (ValueError, RecursionError):
        return False
    return not case.token


def used_only(case: ErrorCase) -> Iterator[ErrorCase]:
    """The case with a schema that has little beyond what its text needs; nothing for no JSON."""
    if is_json(replace(case, token=b"")):
        keys = text_edits.keys(case.text)
        yield from map(case.with_schema, schema_edits.used_only(case.parsed, keys))


def _parts(case: ErrorCase) -> Iterator[ErrorCase]:
    if is_json(case):
        for schema, text in schema_edits.parts_with_texts(case.parsed, case.text):
            yield case.with_schema(schema).with_text(text)


def _plain(edits: Callable[[Any], Iterator[tuple[Any, Path, str]]]) -> Pass:
    """One part of the schema as plain as can be, in the text as well."""

    def edited(case: ErrorCase) -> Iterator[ErrorCase]:
        for schema, path, kind in edits(case.parsed):
            plain = case.with_schema(schema)
            if case.kind not in ACCEPTANCES:  # its text would break the type as well
                yield plain
            if is_json(case):
                texts = text_edits.true_for(case.text, kind) if path else ()
                yield from map(plain.with_text, (*texts, b"true"))

    return edited


def of_its_place(
    case: ErrorCase, rule: Path, value: Path
) -> Iterator[tuple[ErrorCase, list[ErrorCase]]]:
    """A rule that is broken, by itself; and the case with a plain rule in its place.

    First all that its part says, for which a boolean comes, as which no number counts. Then the
    keyword with its type: this becomes boolean, and a pattern that of a letter.
    """
    schema, part = case.parsed, part_at(case.parsed, rule[:-1])
    if not (rule and isinstance(part, dict) and is_json(case)):
        return
    span = root_of(case.text)
    for step in value:
        if (below := span.child(step)) is None:
            return
        span = below

    def alone(part: Mapping[str, Any]) -> ErrorCase:
        return case.with_schema(schema_edits.alone(schema, part)).with_text(span.raw)

    def plain(part: Mapping[str, Any], text: bytes) -> ErrorCase:
        edited = case.with_schema(replaced(schema, rule[:-1], part))
        return edited.with_text(text_edits.put(case.text, (span.start, span.end), text))

    if len(rule) > 1:
        yield alone(part), [plain(PLAINEST, text) for text in (b"0", span.raw)]
    name = str(rule[-1])
    if len(part) > 2 and name in part and name != "type":
        edited = [plain({**without(part, name), **PLAINEST}, span.raw)]
        if name == "pattern":
            edited += [plain({**part, name: "^a$"}, b'""')]
        yield alone({one: part[one] for one in ("type", name) if one in part}), edited


def _fewer_branches(case: ErrorCase) -> Iterator[ErrorCase]:
    """A branch less, with true for values in the text, where neither goes alone."""
    if not is_json(case):
        return
    schema = case.parsed
    for path, part in objects(schema):
        for keyword in ("anyOf", "oneOf"):
            branches = part.get(keyword)
            if isinstance(branches, list) and len(branches) > 1:
                for index in range(len(branches)):
                    edited = case.with_schema(schema_edits.without(schema, (*path, keyword, index)))
                    yield from map(edited.with_text, text_edits.true_for(case.text, ""))


def _one_atom(case: ErrorCase) -> Iterator[ErrorCase]:
    """One atom of a pattern, and one character of a string, where neither goes alone."""
    schema = case.parsed
    for path, part in objects(schema):
        if isinstance(part.get("pattern"), str) and not case.token:
            for atom, text in text_edits.atoms(part["pattern"], case.text):
                edited = replaced(schema, (*path, "pattern"), atom)
                yield case.with_schema(edited).with_text(text)


def _letter_for_fault(case: ErrorCase) -> Iterator[ErrorCase]:
    """A letter for what may make a text no JSON."""
    if not case.token and not is_json(case):
        for at in range(len(case.text)):
            if not case.text[at : at + 1].isalpha():
                yield case.with_text(text_edits.put(case.text, (at, at + 1), b"A"))


def shorter_token(case: ErrorCase) -> Iterator[ErrorCase]:
    """A shorter token; what it loses is fed byte by byte, or not at all."""
    if len(case.token) < 3:
        return
    before, after = case.around
    for token, start in ((case.token[1:], 1), (case.token[:-1], 0)):
        yield replace(case, token=token, token_at=case.token_at + start)
        yield replace(case, token=token, text=before + token + after)


def _renamed(case: ErrorCase) -> Iterator[ErrorCase]:
    """Names and words that are shorter, in schema and text alike."""
    schema: Any = case.parsed
    words = schema_edits.names(schema)
    for old in words:
        for new in "abcde":
            if new not in words:
                edited = case.with_schema(schema_edits.renamed(schema, old, new))
                yield edited.with_around(
                    *(text_edits.word_renamed(text, old, new) for text in case.around)
                )


SMALLER: Sequence[Pass] = (
    used_only,
    _parts,
    _of_bytes(text_edits.without_layout),
    _of_json(text_edits.members_left_out),
    _of_json(text_edits.simpler_values),
    _of_json(text_edits.simpler_twins),
    used_only,
    _of_schema(schema_edits.cut_down),
    _of_schema(schema_edits.in_one_piece),
    _of_schema(schema_edits.left_out),
    _of_schema(schema_edits.made_plain),
    _fewer_branches,
    _one_atom,
    _renamed,
    shorter_token,
    _of_bytes(text_edits.bytes_left_out),
    _of_bytes(text_edits.short_ends),
    _of_bytes(text_edits.plainer_bytes),
)
"""What is tried, in this order, again and again; what needs no compilation comes early."""

IN_TEXTS: Sequence[Pass] = SMALLER[3:6]
"""Those of them that leave the schema as it is, and the text JSON."""

COMMON_FORMS: Sequence[Pass] = (
    _of_schema(schema_edits.typed),
    _plain(schema_edits.plain_parts),
    _plain(schema_edits.plain_types),
    _of_schema(schema_edits.twins),
    _of_bytes(text_edits.letters),
    _letter_for_fault,
)
"""What makes the smallest case longer, and the same for more errors that are one."""
