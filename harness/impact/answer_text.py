"""From the text that a model wrote to the JSON value that it answers with, or why there is none.

Nothing is repaired: a text that was cut has no answer, even where a part of it is JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from harness.jsontext import strict_json
from harness.jsontext.lexer import START, Mode, advance

_FENCED = re.compile(rb"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Parsed:
    """What was found in a text.

    Attributes:
        value: The answer; None also where there is none.
        problem: Why there is none: ``no_json``, ``unfinished``, ``several``, or what JSON leaves
            open (``duplicate_keys``, ``not_json``); empty where there is one.
    """

    value: Any = None
    problem: str = ""


def whole(text: bytes) -> Parsed:
    """The answer of a text that is to be JSON and nothing else."""
    try:
        return Parsed(strict_json.parse(text))
    except strict_json.DuplicateKeys:
        return Parsed(problem="duplicate_keys")
    except strict_json.JsonError:
        return Parsed(problem="not_json")


def outermost(text: bytes, opening: bytes = b"{") -> Parsed:
    """The one outermost JSON object of a text in which other things may stand.

    Of a text with one fenced block only what stands in the block is looked at. A bracket that
    begins no JSON is passed over, with what was read behind it; one whose text is cut ends the
    search, since what stands within it is not what was to be said.

    Args:
        text: What the model wrote.
        opening: The bracket with which an answer begins: ``b"["`` for arrays.
    """
    blocks = _FENCED.findall(text)
    searched = blocks[0] if len(blocks) == 1 else text
    found: list[bytes] = []
    at = searched.find(opening)
    while at >= 0:
        end, finished = _read(searched, at)
        if finished:
            found.append(searched[at:end])
        elif end == len(searched):
            return Parsed(problem="unfinished")
        at = searched.find(opening, end)
    if len(found) == 1:
        return whole(found[0])
    return Parsed(problem="several" if found else "no_json")


def _read(text: bytes, at: int) -> tuple[int, bool]:
    """How far the JSON value that begins at `at` can be read, and whether it is finished there."""
    state = START
    for end in range(at, len(text)):
        further = advance(state, text[end : end + 1])
        if further is None:
            return end, False
        if further.mode is Mode.DONE:
            return end + 1, True
        state = further
    return len(text), False
