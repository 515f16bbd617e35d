"""Pages: one HTML file with its style, its programs and its data inside.

Nothing in a page reaches anything outside of it: a content security policy allows no request at
all, and only the style and the programs that were put in, by their hashes. Data stand in a block
that is no program, in which no character can end the block.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from harness import __version__
from harness.errors import UsageError
from harness.printable import printable
from harness.render.table import html

_ESCAPES: Final = str.maketrans({one: f"\\u{ord(one):04x}" for one in "<>&"})


def asset(name: str) -> str:
    """A file of the package, as in ``render/page.css``: part of a page, or its template."""
    return resources.files("harness").joinpath(name).read_text("utf-8").strip("\n")


def _harmless(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = jinja2.Environment(
    loader=jinja2.FunctionLoader(asset),
    autoescape=True,
    finalize=_harmless,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["code"] = lambda text: Markup(html(text))  # noqa: S704 - escaped by `html`


def filled(template: str, **values: Any) -> Markup:
    """A template of Jinja2 by its name (as in ``check/page.html``) with values.

    Texts are escaped and made printable; the filter ``code`` turns backticks into code.
    """
    return Markup(_TEMPLATES.get_template(template).render(values))  # noqa: S704 - autoescaped


def static_page(title: str, heading: str, lead: str, body: str) -> str:
    """A page without a program; `body` is HTML, all else text."""
    style = asset("render/page.css")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'"
    texts = {"title": title, "heading": heading, "lead": lead, "version": __version__}
    ours = {"policy": policy, "style": style, "body": body}
    return filled("render/static_page.html", **texts, **_as_it_is(ours))


def page_with_data(template: str, scripts: tuple[str, ...], data: Mapping[str, Any]) -> str:
    """A page whose programs show `data`; the template has policy, style, script and data."""
    style = asset("render/page.css")
    script = "\n".join(["'use strict';", *map(asset, scripts)])
    allowed = {"style-src": _hash(style), "script-src": _hash(script)}
    rules = ["default-src 'none'", *(f"{what} '{one}'" for what, one in allowed.items())]
    policy = "; ".join([*rules, "img-src data:", "base-uri 'none'", "form-action 'none'"])
    parts = {"policy": policy, "style": style, "script": script, "data": embedded(data)}
    return filled(template, **_as_it_is(parts))


def _as_it_is(parts: Mapping[str, str]) -> dict[str, Markup]:
    return {name: Markup(part) for name, part in parts.items()}  # noqa: S704 - files of ours, JSON


def embedded(data: Mapping[str, Any]) -> str:
    """JSON, in ASCII, in which no character means anything to a reader of HTML."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).translate(_ESCAPES)


def save_page(text: str, out: Path) -> int:
    """Write a page to the file `out`, whole or not at all; its size in bytes.

    Raises:
        UsageError: It cannot be written.
    """
    if out.is_dir():
        raise UsageError(f"{out} is a directory", "give --out the name of a file")
    page = f"{text}\n".encode()
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


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
