"""Places: what a position in a JSON text is in or between, in words that a table can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.jsontext.lexer import Mode, State

_WORDS: Final[Mapping[Mode, str]] = {
    Mode.VALUE: "start of value",
    Mode.ITEM_OR_CLOSE: "start of value",
    Mode.KEY_OR_CLOSE: "start of key",
    Mode.KEY: "start of key",
    Mode.COLON: "behind key",
    Mode.AFTER: "behind value",
    Mode.DONE: "end",
    Mode.KEY_STRING: "inside key",
    Mode.STRING: "inside string",
    Mode.LITERAL: "inside literal",
}


def place_of(state: State, *, at_end: bool) -> str:
    """The kind of place behind a text in `state`; `at_end` where the whole reference is written."""
    if at_end:
        return "end"
    if state.mode.in_string and state.part.startswith(b"\\"):
        return "inside escape"
    return _WORDS.get(state.mode, "inside number")
