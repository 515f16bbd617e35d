"""What an interpreter has of a distribution: asked by running this file with it, alone.

It is any Python's that has an engine, so nothing but the standard library is needed. The digest is
of the files themselves, since a library may be copied over the one that the RECORD lists.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from typing import Any

_WHENCE = frozenset({"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"})
"""Files that say how it was installed, not what."""


def files_digest(distribution: importlib.metadata.Distribution) -> str | None:
    """SHA-256 over the names and contents of its files; None where nothing lists them."""
    if not distribution.files:
        return None
    digest = hashlib.sha256()
    for file in sorted(distribution.files, key=str):
        if file.suffix == ".pyc" or file.name in _WHENCE:
            continue
        try:
            content = hashlib.sha256(file.read_binary()).hexdigest()
        except OSError:
            content = "missing"
        digest.update(f"{file}\0{content}\n".encode())
    return digest.hexdigest()


def _about(name: str) -> dict[str, Any]:
    """Version, digest and directory of a distribution, and where its sources are if editable."""
    lacks_numpy = importlib.util.find_spec("numpy") is None
    about: dict[str, Any] = {"python": sys.version_info[:2], "lacks_numpy": lacks_numpy}
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return about
    url = json.loads(found.read_text("direct_url.json") or "{}")
    return {
        **about,
        "version": found.version,
        "files": files_digest(found),
        "directory": str(found.locate_file("")),
        "editable": url["url"] if url.get("dir_info", {}).get("editable") else None,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_about(sys.argv[1])))
