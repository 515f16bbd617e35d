"""What engines made of the items of a task, and the directory that keeps it.

The directory has a manifest, and a line for each item and engine. A line is on the disk before the
next is computed, so that whatever ends the program costs the item at which it was, and nothing
before. A last line that was cut is dropped, and made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.errors import RunDirectoryError
from harness.files import LineFile
from harness.runs.directory import ManifestKind, RunDirectory, begin_or_go_on, read_manifest

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

UNCONSTRAINED: Final = "unconstrained"
"""Stands where an engine's name stands, for the model without a mask."""

ANSWERED: Final = "answered"
CUT: Final = "cut"
DEAD_END: Final = "dead_end"
"""Outcomes: brought to its end; not within the tokens that it might have; nothing is allowed."""

MANIFEST: Final = "impact.json"
ANSWERS: Final = "answers.jsonl"
IMPACT: Final = ManifestKind(MANIFEST, 3, (ANSWERS,))
"""An impact run, as a directory."""


@dataclass(frozen=True)
class TokenChoice:
    """A step of a text, above all one at which the mask forbade the model's own choice `token`.

    The model alone gives that a `probability`, and to `rank` others a larger one; `chosen` is -1
    where nothing is allowed, `removed` the probability of all that is forbidden. The `ruling` is
    one of `harness.impact.overruled.RULINGS`, empty where nobody asked; `witness` a valid text that
    proves a false rejection, of which `effect` says what it costs: one of
    `harness.verdict_kinds.EFFECTS`. A `spelling` is a text of the same value that is taken.
    """

    position: int
    token: int
    probability: float
    rank: int
    chosen: int
    removed: float
    ruling: str = ""
    reason: str = ""
    keyword: str = ""
    category: str = ""
    witness: str = ""
    effect: str = ""
    spelling: str = ""


@dataclass
class Cost:
    """Times in nanoseconds; those of a step in lists by step.

    The prompt is computed once for all engines of an item, a step of the model for so many `texts`.
    `mask` and `consume` are measured in the engine's host, `asked` from outside for both;
    `first_mask` begins where `compile` ends.
    """

    prompt: int = 0
    model: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    consume: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    compile: int = 0
    first_mask: int = 0


@dataclass
class ModelAnswer:
    """One line of a run: a text that is written, and what it is worth.

    The outcome is `ANSWERED`, `CUT`, `DEAD_END`, or what became of the schema or the engine
    (`harness.workers.outcomes`); empty while the text goes on. Reserved tokens are not in `text`;
    `removed` is summed over all steps.
    """

    item: str
    engine: str
    outcome: str = ""
    message: str = ""
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    parsed: bool = False
    correct: bool = False
    reason: str = ""
    overruled: list[TokenChoice] = field(default_factory=list)
    removed: float = 0.0
    cost: Cost = field(default_factory=Cost)
    schema_bytes: int = 0

    def written(self, vocabulary: Vocabulary, position: int | None = None) -> bytes:
        """The text, or that of its first tokens."""
        ordinary = vocabulary.ordinary
        return b"".join(ordinary.get(token, b"") for token in self.tokens[:position])

    @classmethod
    def of_line(cls, line: str) -> ModelAnswer:
        values: dict[str, Any] = json.loads(line)
        values["overruled"] = [TokenChoice(**step) for step in values["overruled"]]
        values["cost"] = Cost(**values["cost"])
        return cls(**values)


class ImpactRun:
    """An impact run on disk. `begin` it to write, `open_impact` it to read."""

    def __init__(self, directory: RunDirectory) -> None:
        self.path, self.manifest = directory.path, directory.manifest
        self._answers = LineFile(self.path / ANSWERS)
        self.close = directory.release
        """Let others write here."""

    @classmethod
    def begin(cls, path: Path, identity: Mapping[str, Any], notes: Mapping[str, Any]) -> ImpactRun:
        """The run at `path` for writing, new or gone on with; see `begin_or_go_on`."""
        run = cls(begin_or_go_on(path, identity, notes, IMPACT))
        try:
            run._answers.mend()
        except BaseException:
            run.close()
            raise
        return run

    def answers(self) -> Iterator[ModelAnswer]:
        """The answers that are there; RunDirectoryError where a line is none."""
        return self._answers.records(ModelAnswer.of_line, "answer", "it was altered")

    def append(self, answer: ModelAnswer) -> None:
        self._answers.append(json.dumps(asdict(answer), ensure_ascii=False))


def open_impact(path: Path) -> ImpactRun:
    """An impact run for reading; RunDirectoryError where there is none, or it was altered."""
    if not (path / MANIFEST).is_file():
        raise RunDirectoryError(f"{path} is no impact run: it has no {MANIFEST}")
    return ImpactRun(RunDirectory(path, read_manifest(path, IMPACT)))
