"""The project's addresses, for its metadata: those of the repository in which it is built.

A clone does not know where it is published. The workflow that publishes is told by
``GITHUB_REPOSITORY``, and without that there are no addresses.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ProjectUrls(MetadataHookInterface):
    """Called by hatch, which looks for the one subclass here."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set ``urls``, none where the repository is not known, and the description with them."""
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        text = Path(self.root, "README.md").read_text("utf-8")
        urls = {}
        if repository := os.environ.get("GITHUB_REPOSITORY"):
            home = f"{server}/{repository}"
            urls = {
                "Repository": home,
                "Issues": f"{home}/issues",
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
                "Documentation": f"{home}/tree/main/docs",
            }
            text = _absolute(text, home)
        metadata["urls"] = urls
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _absolute(text: str, home: str) -> str:
    """Markdown whose links and pictures are found from anywhere, as from an index of packages."""
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{home}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)", rf"\1{home}/blob/main/", text)
