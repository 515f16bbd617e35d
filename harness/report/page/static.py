"""A page that is all text: the head and the foot, one HTML file without a program."""

from __future__ import annotations

from html import escape
from typing import Final

from harness import __version__
from harness.report.page.assemble import asset, style_policy

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header class="top"><div class="wide"><p class="brand">maskcourt</p>
<h1>{heading}</h1>
<p class="lead">{lead}</p></div></header>
<main class="wide">
{body}</main>
<footer><p class='wide'>maskcourt {version}</p></footer>
</body></html>
"""


def static_page(title: str, heading: str, lead: str, body: str) -> str:
    """The whole of a page.

    Args:
        title: Of the window; text.
        heading: What is above all; text.
        lead: What is said below it; text.
        body: The sections, in HTML.
    """
    style = asset("page.css")
    return _PAGE.format(
        policy=style_policy(style),
        title=escape(title),
        style=style,
        heading=escape(heading),
        lead=escape(lead),
        body=body,
        version=__version__,
    )
