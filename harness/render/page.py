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
from typing import Any, Final

import jinja2
from markupsafe import Markup

from harness import __version__
from harness.printable import printable
from harness.render.table import html

_ESCAPES: Final = str.maketrans({one: f"\\u{ord(one):04x}" for one in "<>&"})


def asset(name: str) -> str:
    """A file of the package, as in ``render/page.css``: part of a page, or its template."""
    return resources.files("harness").joinpath(name).read_text("utf-8").strip("\n")


_TEMPLATES = jinja2.Environment(
    loader=jinja2.FunctionLoader(asset),
    autoescape=True,
    finalize=lambda one: (
        one if isinstance(one, Markup) or not isinstance(one, str) else printable(one)
    ),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["code"] = lambda text: Markup(html(text))  # noqa: S704 - escaped by `html`


def page(template: str, ours: Mapping[str, str], **values: Any) -> str:
    """A page from a template of the package, as in ``check/page.html``, with `values`.

    What is `ours`, files of the package and JSON, stands there as it is. All other texts are
    escaped and made printable; the filter ``code`` turns backticks into code.
    """
    parts = {"style": asset("render/page.css"), **ours}
    hashed = {f"{name}-src '{_hash(parts[name])}'" for name in ("style", "script") if name in parts}
    rules = ("default-src 'none'", *sorted(hashed)[::-1], "img-src data:", "base-uri 'none'")
    parts["policy"] = "; ".join([*rules, "form-action 'none'"])
    safe = {name: Markup(part) for name, part in parts.items()}  # noqa: S704 - files of ours, JSON
    return _TEMPLATES.get_template(template).render(values, version=__version__, **safe) + "\n"


def embedded(data: Mapping[str, Any]) -> str:
    """JSON, in ASCII, in which no character means anything to a reader of HTML."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).translate(_ESCAPES)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
