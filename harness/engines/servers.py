"""Servers: engines of other adapters, called and guarded as a server's preset says.

A schema is written out as the server's interface would hand it on, goes through the server's
checks, and is compiled by the first backend that takes it, which is said on standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from harness.engines.presets import TAKEN, RouteStep, described, preset_of
from harness.engines.server_checks import CHECKS
from harness.engines.specs import adapter_class, built_in
from harness.protocol import Engine, EngineInfo, Matcher, Option, Refused, complete_options

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary


class ServerEngine:
    """The engines of one release of a server, with one vocabulary.

    Options in `EngineInfo` are the server's and its backends', whose adapters' classes are `parts`.
    """

    OPTIONS: ClassVar[Mapping[str, Option]] = {}
    """A spec's options are the preset's, `harness.engines.presets.Preset.options`."""
    DISTRIBUTION = ""

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        preset = preset_of(options)
        self._name = f"{preset.server} {preset.release}"
        self._check = preset.check
        self._steps: Sequence[RouteStep] = preset.routes[str(options["backend"])]
        self._engines: dict[str, Engine] = {}
        shown: dict[str, bool | int | str] = dict(options)
        packages: dict[str, str] = {}
        for name, backend in preset.backends_for(options).items():
            kind: Any = adapter_class(built_in()[backend.engine])
            given = complete_options(kind.OPTIONS, backend.options)
            self._engines[name] = engine = kind(vocabulary, given)
            packages.update(engine.info.packages)
            shown.update(described(name, backend, engine.info))
        self.parts = tuple(map(type, self._engines.values()))
        self.bytes_differ_on_purpose = any(
            getattr(one, "bytes_differ_on_purpose", False) for one in self._engines.values()
        )
        self.info = EngineInfo(preset.server, preset.release, shown, packages)

    def compile(self, schema: str) -> Matcher:
        """A matcher of the first backend that takes the schema; the last one's words if none."""
        value = json.loads(schema)
        _pass(self._check, value)
        text = json.dumps(value)
        words = ""
        for step in self._steps:
            checked = False
            try:
                _pass(step.check, value)
                checked = True
                matcher = self._engines[step.backend].compile(text)
            except Refused as refusal:
                words = f"{step.backend}: {refusal}" if len(self._steps) > 1 else str(refusal)
                if checked and step.refused != "next":
                    break
                continue
            because = f" ({words})" if words else ""
            sys.stderr.write(f"{self._name}: {TAKEN} {step.backend}{because}\n")
            return matcher
        raise Refused(words)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """What all backends hold; where two differ, what the second of them does."""
        known = [engine.token_bytes(ids) for engine in self._engines.values()]
        told = [[one for one in some if one is not None] for some in zip(*known, strict=True)]
        return [next((one for one in some if one != some[0]), (*some, None)[0]) for some in told]


def _pass(check: str, schema: Any) -> None:
    words = CHECKS[check](schema) if check else None
    if words is not None:
        raise Refused(words)
