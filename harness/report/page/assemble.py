"""Put a report together: one HTML file with its style, its programs and its data inside.

Nothing in the file can reach anything outside of it: a content security policy allows no request
at all, and only the programs and the style that were put in, by their hashes. Data stand in a
block that is no program, in which no character can end the block; programs put them into the
page as text only.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from harness.errors import UsageError
from harness.report.page.collect import ReportRequest, collect
from harness.runs.directory import RunDirectory

_SCRIPTS: Final = ("base.js", "bugs.js", "figures.js", "explorer.js", "page.js")
_ESCAPES: Final = str.maketrans({one: f"\\u{ord(one):04x}" for one in "<>&"})


def write(run: RunDirectory, out: Path, request: ReportRequest) -> int:
    """Write the report of a run to the file `out`, whole or not at all.

    Returns:
        The size of the file in bytes.

    Raises:
        UsageError: It cannot be written.
        MaskcourtError: As `harness.report.page.collect.collect`.
    """
    if out.is_dir():  # before all the work
        raise UsageError(f"{out} is a directory", "give --out the name of a file")
    return written(assembled(collect(run, request)), out)


def written(text: str, out: Path) -> int:
    """Write a page to the file `out`, whole or not at all; its size in bytes.

    Raises:
        UsageError: It cannot be written.
    """
    page = text.encode()
    temporary = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(page)
        temporary.replace(out)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(
            f"{out} cannot be written: {error.strerror or error}", "choose another file"
        ) from error
    return len(page)


def assembled(data: Mapping[str, Any]) -> str:
    """The page that shows `data`."""
    style = asset("page.css")
    script = "\n".join(["'use strict';", *(asset(name) for name in _SCRIPTS)])
    parts = {
        "policy": policy(style, script),
        "style": style,
        "script": script,
        "data": embedded(data),
    }
    head, *rest = asset("page.html").split("{{")
    out = [head]
    for one in rest:  # each part is put in once: what looks like a mark inside of one stays
        name, _, tail = one.partition("}}")
        out += [parts[name], tail]
    return "".join(out)


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this style and this program and nothing else."""
    allowed = {"style-src": _hash(style), "script-src": _hash(script)}
    rules = ["default-src 'none'", *(f"{what} '{one}'" for what, one in allowed.items())]
    return "; ".join([*rules, "img-src data:", "base-uri 'none'", "form-action 'none'"])


def style_policy(style: str) -> str:
    """The policy of a page with this style and no program."""
    return f"default-src 'none'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'"


def embedded(data: Mapping[str, Any]) -> str:
    """JSON, in ASCII, in which no character means anything to a reader of HTML."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.translate(_ESCAPES)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def asset(name: str) -> str:
    """One of the files that pages are made of."""
    return resources.files(__package__).joinpath(name).read_text("utf-8").strip("\n")
