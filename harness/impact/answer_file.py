"""The directory of an impact run: a manifest, and a line for each item and engine.

A line is on the disk before the next is computed, so that whatever ends the program costs the item
at which it was, and nothing before. A last line that was cut is dropped, and made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from harness.errors import RunDirectoryError
from harness.files import LineFile, writing
from harness.impact.answers import ModelAnswer
from harness.runs.directory import RunDirectory, refuse_other

MANIFEST: Final = "impact.json"
ANSWERS: Final = "answers.jsonl"
CAUSES: Final = "causes.jsonl"
"""What proven false rejections were traced to."""

FORMAT: Final = 1
_OURS: Final = {MANIFEST, ANSWERS, CAUSES, f"{MANIFEST}.tmp", ".lock"}


class ImpactRun:
    """An impact run on disk. `begin` it to write, `open_impact` it to read."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self.causes = LineFile(path / CAUSES)
        self._answers = LineFile(path / ANSWERS)
        self._lock: RunDirectory | None = None

    @classmethod
    def begin(cls, path: Path, identity: Mapping[str, Any], notes: Mapping[str, Any]) -> ImpactRun:
        """The run at `path` for writing, made if it is not there.

        The identity must be the same for the run to go on in it; the notes are only recorded.

        Raises:
            RunDirectoryError: It cannot be written, holds something else, or another run.
        """
        refuse_foreign(path)
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        lock = RunDirectory(path, {})
        lock.lock()
        run = cls(path, {"format": FORMAT, "identity": identity, **notes})
        run._lock = lock
        try:
            if (path / MANIFEST).exists():
                run.manifest = _manifest(path)
                refuse_other(path, run.manifest["identity"], json.loads(json.dumps(identity)))
            else:
                temporary = path / f"{MANIFEST}.tmp"
                with writing(path):
                    temporary.write_text(json.dumps(run.manifest, indent=2) + "\n", "utf-8")
                    temporary.rename(path / MANIFEST)
            run._answers.mend()
            run.causes.mend()
        except BaseException:
            run.close()
            raise
        return run

    def close(self) -> None:
        """Let others write here."""
        if self._lock is not None:
            self._lock.release()

    def answers(self) -> Iterator[ModelAnswer]:
        """The answers that are there.

        Raises:
            RunDirectoryError: A line is none.
        """
        for number, line in enumerate(self._answers.lines(), 1):
            try:
                yield ModelAnswer.of_line(line)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise RunDirectoryError(
                    f"{self.path / ANSWERS}:{number} holds no answer", "it was altered"
                ) from error

    def append(self, answer: ModelAnswer) -> None:
        """Keep one more answer."""
        self._answers.append(answer.line())


def open_impact(path: Path) -> ImpactRun:
    """An impact run for reading.

    Raises:
        RunDirectoryError: There is none, or its manifest cannot be read.
    """
    if not (path / MANIFEST).is_file():
        raise RunDirectoryError(f"{path} is no impact run: it has no {MANIFEST}")
    return ImpactRun(path, _manifest(path))


def refuse_foreign(path: Path) -> None:
    """Refuse a path that cannot become the directory of an impact run.

    Raises:
        RunDirectoryError: It is a file, or holds other things.
    """
    if not path.exists() or (path / MANIFEST).exists():
        return
    if not path.is_dir():
        raise RunDirectoryError(f"{path} is no directory", "choose another --out")
    if {file.name for file in path.iterdir()} - _OURS:
        raise RunDirectoryError(
            f"{path} holds files but no {MANIFEST}", "choose an empty or new directory"
        )


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        version = manifest["format"]
        manifest["identity"].keys()
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunDirectoryError(
            f"{path / MANIFEST} cannot be read: it was cut or altered",
            "restore it, or choose another --out",
        ) from error
    if version != FORMAT:
        raise RunDirectoryError(
            f"{path} has format {version}, of another maskcourt; this one reads {FORMAT}"
        )
    return dict(manifest)
