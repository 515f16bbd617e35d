"""`make site`: write the pages, and have Sphinx make HTML of them that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

import harness
from benchmarks.site.pages import write_pages

_ROOT: Final = Path(__file__).parents[2]
_SETTINGS: Final[dict[str, Any]] = {
    "project": "maskcourt",
    "author": "The maskcourt authors",
    "release": harness.__version__,
    "extensions": ["myst_parser", "sphinx_copybutton"],
    "myst_heading_anchors": 4,
    "html_theme": "furo",
    "html_title": "maskcourt",
    "html_extra_path": ["extra"],
    "html_copy_source": False,
    "html_show_sourcelink": False,
    "html_show_copyright": False,
    "exclude_patterns": ["extra"],
    # Headings of pages that begin at the second level, and code that is no Python.
    "suppress_warnings": ["myst.header", "misc.highlighting_failure", "toc.not_included"],
}


def build(root: Path, out: Path) -> int:
    """Make the site of what is published below `root`; how many warnings there were."""
    from sphinx.application import Sphinx

    write_pages(root, out / "pages")
    app = Sphinx(out / "pages", None, out / "html", out / "trees", "html", _SETTINGS)
    app.build()
    return int(app._warncount)  # noqa: SLF001 - it is told nowhere else


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=_ROOT / "build" / "site")
def main(out: Path) -> None:
    """Make the site below build/site/html; fail where a link leads nowhere."""
    if build(_ROOT, out.absolute()):
        raise click.ClickException("the pages have faults; they are told above")
    click.echo(f"{out / 'html' / 'index.html'}")


if __name__ == "__main__":
    main()
