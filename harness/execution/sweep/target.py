"""Where the lanes of a sweep store cases, as it is told to lanes on other machines."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RunDirectoryError
from harness.execution.sweep.run_url import Remote, RunAtUrl
from harness.runs.directory import MANIFEST, RunDirectory, sha256_of


@dataclass(frozen=True)
class RunTarget:
    """A run, as a lane finds it.

    Attributes:
        place: An absolute path, or a URL.
        is_url: Which of them.
        manifest: The SHA-256 of the run's manifest: another directory of the same name, on a
            machine that does not share the file system, has another or none.
    """

    place: str
    is_url: bool
    manifest: str

    @classmethod
    def of(cls, run: RunDirectory) -> RunTarget:
        """Of a run that is open for writing."""
        path = run.path.absolute()
        seen = sha256_of(path / MANIFEST)
        if isinstance(run, RunAtUrl):
            return cls(run.remote.url, True, seen)
        return cls(str(path), False, seen)

    def open(self) -> RunDirectory:
        """The run for storing cases, from whichever machine this is called on.

        Raises:
            RunDirectoryError: This machine does not see it.
        """
        if self.is_url:
            remote = Remote(self.place)
            manifest = remote.read(MANIFEST)
            if manifest is not None and hashlib.sha256(manifest).hexdigest() == self.manifest:
                return RunAtUrl(remote, Path(), {})
        else:
            path = Path(self.place)
            if (path / MANIFEST).is_file() and sha256_of(path / MANIFEST) == self.manifest:
                return RunDirectory(path, {})
        raise RunDirectoryError(
            f"{platform.node()} does not see the run at {self.place}",
            "give --out on a file system that all nodes share, or a URL",
        )
