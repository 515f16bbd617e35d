"""The project's addresses, for its metadata: those of the repository in which it is built.

A clone does not know where it is published. The workflow that publishes is told by
``GITHUB_REPOSITORY``, and without that there are no addresses.
"""

import os

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ProjectUrls(MetadataHookInterface):
    """Called by hatch, which looks for the one subclass here."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set ``urls``; none where the repository is not known."""
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        if not (repository := os.environ.get("GITHUB_REPOSITORY")):
            metadata["urls"] = {}
            return
        home = f"{server}/{repository}"
        metadata["urls"] = {
            "Repository": home,
            "Issues": f"{home}/issues",
            "Changelog": f"{home}/blob/main/CHANGELOG.md",
            "Documentation": f"{home}/tree/main/docs",
        }
