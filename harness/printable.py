"""Text that comes from elsewhere, made harmless: for a terminal, a spreadsheet, Markdown, JSON.

Names of cases, keys of schemas and texts of engines are anybody's: escape sequences would move the
cursor, marks of direction turn lines round, ``=1+1`` is a formula to a spreadsheet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

LONGEST = 500
"""Characters of a message of one line; of a longer one the middle is left out."""

_FORMULA = re.compile(r"[\s'\"]*[=+\-@|]|[\t\r]")
_CODE = re.compile(r"((?<!`)`[^`]+`(?!`))")
_MARKUP = re.compile(r"([\\`*\[\]<>#|~&$]|(?<![^\W_])_|_(?![^\W_]))")


def printable(text: str, keep: str = "\n") -> str:
    """Nothing in it that a terminal would obey or not show, but for the characters of `keep`."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode()
        for one in text
    )


def escaped(text: bytes) -> str:
    """A text with a backslash escape for each byte that is no part of a character."""
    return text.decode("utf-8", "backslashreplace")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def some_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def one_line(text: str, longest: int = LONGEST) -> str:
    """A message in one line of bounded length; of a longer text the middle is left out."""
    text = text if len(text) <= 4 * longest else text[: 2 * longest] + text[-2 * longest :]
    text = printable(" ".join(text.split()))
    half = (longest - 3) // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that says the same, with nothing in it that a terminal would obey."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    shown = (one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)
    return "".join(shown)


def spreadsheet_cell(value: object) -> object:
    """A cell of a CSV file; a text that a spreadsheet would compute begins with an apostrophe."""
    if not isinstance(value, str):
        return value
    text = printable(value, "\n\t")
    return f"'{text}" if _FORMULA.match(value) else text


def code(text: str) -> str:
    """A text of one line as code in Markdown, whatever is in it."""
    text = printable(text, "")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if text[:1] in ("`", " ", "") or text[-1:] in ("`", " ") else ""
    return f"{fence}{space}{text}{space}{fence}"


def markdown(text: str) -> str:
    """A text of one line for Markdown: code stays code; no link, image, HTML or mention."""
    parts = _CODE.split(printable(text.replace("\n", " "), ""))
    for at, part in enumerate(parts):
        harmless = _MARKUP.sub(r"\\\1", part).replace("@", "&#64;")
        parts[at] = part.replace("|", "\\|") if at % 2 else harmless
    return "".join(parts)
