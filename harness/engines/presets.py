"""Presets: engines as a server's release has them, ``vllm@0.33``, of ``datasets/presets.toml``.

How a server takes a schema is in `harness.engines.servers`. Hosts read this module too, so it needs
nothing beyond the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.directories import read_toml
from harness.errors import UsageError
from harness.protocol import EngineInfo, Option

TAKEN = "taken by backend"
"""Words with which an engine that has several backends says in print which one took a schema."""


@dataclass(frozen=True)
class Backend:
    """One engine as the server calls it: its adapter's name, the versions of packages, options."""

    engine: str
    packages: Mapping[str, str]
    options: Mapping[str, bool | int | str]


@dataclass(frozen=True)
class RouteStep:
    """One backend that is asked, after a `check` if any; after a refusal ``next`` goes on."""

    backend: str
    check: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Preset:
    """One release of a server, and what was `read` to know it.

    `pins` says where the versions of packages are from, `unknown` what is not done as the server
    does it. `routes` has the steps for each value of the option ``backend``, whose default is
    `backend`; `check` is the check of every schema before. `switches` are its other options, all
    off by default: a text of help, and what each backend that knows it makes of it.
    """

    server: str
    release: str
    backend: str
    read: str
    pins: str
    backends: Mapping[str, Backend]
    routes: Mapping[str, Sequence[RouteStep]]
    check: str = ""
    switches: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = field(
        default_factory=dict
    )
    unknown: Sequence[str] = ()

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Preset:
        backends = {name: Backend(**one) for name, one in table["backends"].items()}
        routes = {
            name: tuple(RouteStep(**one) for one in some) for name, some in table["routes"].items()
        }
        switches = {
            name: (one["help"], {key: value for key, value in one.items() if key != "help"})
            for name, one in table.get("switches", {}).items()
        }
        return cls(**{**table, "backends": backends, "routes": routes, "switches": switches})

    @property
    def options(self) -> dict[str, Option]:
        backend = Option(self.backend, "what the server calls its backend", tuple(self.routes))
        switches = {name: Option(False, about) for name, (about, _) in self.switches.items()}
        return {"backend": backend, **switches}

    def backends_for(self, options: Mapping[str, Any]) -> dict[str, Backend]:
        """The backends that may be asked under some options, each with the options of its own."""
        found = {}
        for step in self.routes[str(options["backend"])]:
            one = self.backends[step.backend]
            changed = dict(one.options)
            for name, (_, by_backend) in self.switches.items():
                if not options[name]:
                    continue
                if step.backend not in by_backend:
                    raise UsageError(
                        f"{self.server} {self.release}: {name} is not for backend {step.backend}",
                        f"set backend to one of {', '.join(by_backend)}",
                    )
                changed.update(by_backend[step.backend])
            found[step.backend] = Backend(one.engine, one.packages, changed)
        return found

    def requirements(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """What has to be installed to run it under some options, as pip writes it."""
        backends = self.backends_for(options).values()
        packages = {pin for one in backends for pin in one.packages.items()}
        return tuple(f"{name}=={version}" for name, version in sorted(packages))


@cache
def load_presets() -> tuple[Preset, ...]:
    """All presets that come with maskcourt; of each server the newest release first."""
    return tuple(map(Preset.of, read_toml("presets.toml")["preset"]))


def servers() -> list[str]:
    return list(dict.fromkeys(one.server for one in load_presets()))


def find_preset(server: str, version: str | None) -> Preset | None:
    """The newest release of a server whose version begins as asked; None: it is no server."""
    known = [one for one in load_presets() if one.server == server]
    fitting = [
        one for one in known if version is None or f"{one.release}.".startswith(f"{version}.")
    ]
    if known and not fitting:
        raise UsageError(
            f"release {version} of {server} is not known",
            f"known: {', '.join(one.release for one in known)}; datasets/presets.toml says of what",
        )
    return next(iter(fitting), None)


def described(name: str, backend: Backend, engine: EngineInfo) -> dict[str, bool | int | str]:
    """What is kept of a backend among the options of its server's engine; see `backends_of`."""
    about = {**engine.options, "engine": backend.engine, "packages": " ".join(engine.packages)}
    return {f"{name}.{key}": value for key, value in about.items()}


def backends_of(server: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The engines of a server in a run's manifest, by backend, each as if it were alone there."""
    options = server.get("options", {})
    names = [key.removesuffix(".engine") for key in options if key.endswith(".engine")]
    found = {}
    for name in names:
        own = {
            key.removeprefix(f"{name}."): value
            for key, value in options.items()
            if key.startswith(f"{name}.")
        }
        packages = server.get("packages", {})
        mine = {one: packages[one] for one in own.pop("packages").split() if one in packages}
        version = next(iter(mine.values()), server["version"])
        found[name] = {"version": version, "options": own, "packages": mine}
    return found


def taken_by(printed: str) -> str:
    """Which backend took a schema, by what its compilation printed; empty where none says so."""
    found = re.search(rf"^\S+ \S+: {TAKEN} (\S+)", printed, re.MULTILINE)
    return found[1] if found else ""
