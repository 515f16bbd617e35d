"""What a run's identity keeps of an engine, from the host that says it to ``run.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.engines.requests import Checked
from harness.protocol import EngineInfo


@dataclass(frozen=True)
class EngineMetadata:
    """One engine of a run; its fields are the entries in ``run.json``.

    Attributes:
        version: Of the engine.
        options: All of its options.
        packages: Versions of the distributions that decide its masks.
        tokens_asked: How many tokens it could be asked the bytes of.
        tokens_with_other_bytes: For how many it holds others than the vocabulary, on purpose.
        build: What tells a build at hand from others of its version; empty for a version.
    """

    version: str
    options: Mapping[str, bool | int | str]
    packages: Mapping[str, str]
    tokens_asked: int
    tokens_with_other_bytes: int
    build: str = ""

    @classmethod
    def of(cls, info: EngineInfo, checked: Checked) -> EngineMetadata:
        """Of an engine that is up and was asked for its vocabulary."""
        wrong = len(checked.wrong)
        return cls(info.version, info.options, info.packages, checked.asked, wrong, info.build)
