"""Runs for tests of the report: small, with every sort of verdict, or as hostile as can be."""

import json
from pathlib import Path
from typing import Any

from harness.jsontext.pointers import pointer
from harness.runs.directory import RunDirectory
from tests.replaying import EOS, Book, stored, unfinished

ENGINES = ("one:A", "two:B", "three:C")
A, B, C = 1, 2, 4
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"


class Page(Book):
    """A case of a family, at every position of which all engines are judged."""

    def __init__(self, family: str, name: str, schema: Any, value: Any):
        self.family = family
        super().__init__(name, schema, value)

    def add(self, table: str, **values: Any) -> None:
        more = {"cases": {"family": self.family}, "positions": {"judged": A | B | C}}
        return super().add(table, **more.get(table, {}), **values)


def dispute(book: Book, position: int, accepters: int, rejecters: int, tokens: int) -> None:
    """Tokens that engines dispute at a position of the walk, all resolved."""
    whole = {"tokens": tokens, "drawn": tokens}
    sides = {"accepters": accepters, "rejecters": rejecters}
    book.add("disputes", walk=0, position=position, dispute=1, **sides, **whole)


def lengths() -> Book:
    """One false acceptance at the token itself, and twenty false rejections."""
    book = Page("short", "lengths", {"properties": {"a": {"maxLength": 1}}}, {"a": "b"})
    why = {"keyword": "maxLength", "schema_pointer": "/properties/a/maxLength"}
    before = b'{"a": "b'
    dispute(book, len(before), A, B | C, 1)
    book.verdict(
        *("false_acceptance", "one:A", before, b"c", book.completion(b'"}'), "one:A"),
        **{**why, "instance_pointer": "/a", "located": True, "dispute": 1, "category": "string"},
        effect="invalid_value",
        shown_by="plain",
    )
    dispute(book, len(before) - 1, A | C, B, 20)
    completion = book.completion(b'"}')
    for letter in b"bcdefghijklmnopqrstu":
        book.verdict(
            *("false_rejection", "two:B", before[:-1], bytes([letter]), completion, "three:C"),
            **{**why, "dispute": 1, "effect": "lost_value", "shown_by": "plain"},
        )
    return book


def others() -> Book:
    """An early stop, a dead end, an unresolved token, and an instance's false acceptance."""
    book = Page("few", "others", {"enum": ["ab", "a\x1b"]}, "ab")
    book.verdict("stops_too_early", "one:A", b'"a', EOS, dispute=-1)
    book.verdict("dead_end", "two:B", b'"', b"\xff", dispute=-1)
    book.verdict("unresolved", "one:A", b'"', b"x", reason="too_long")
    number = book.instance(b'"\xff\x1b"')
    book.instance_verdict("false_acceptance", "three:C", number, 5)
    return book


def hostile() -> Book:
    """A case whose every text tries to be more than text."""
    schema = {"properties": {ATTACK: {"const": ATTACK}}, "title": "\u202egnp.exe\u0000"}
    book = Page(ATTACK, ATTACK, schema, {ATTACK: "a"})
    before = json.dumps({ATTACK: "a"}).encode()[:-2]
    book.verdict(
        *("false_acceptance", "one:A", before, b"<", book.completion(b'"}'), "one:A"),
        keyword=ATTACK,
        schema_pointer=pointer(["properties", ATTACK, "const"]),
        detail=ATTACK,
        dispute=-1,
    )
    return book


def small(directory: Path) -> RunDirectory:
    """A finished run."""
    return stored(directory, [lengths(), others()], ENGINES)


def begun(directory: Path) -> RunDirectory:
    """The same, not finished."""
    return unfinished(directory, [lengths(), others()], ENGINES)


def attacking(directory: Path) -> RunDirectory:
    """A run that would be more than data, with a harmless case beside it."""
    return stored(directory, [lengths(), hostile()], ENGINES)
