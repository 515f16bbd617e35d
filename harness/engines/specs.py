"""Engine specs: from ``xgrammar@0.1.32[any_whitespace=false]`` to how its host is started.

In place of a version stands, where it has a slash, the path of a build at hand.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.directories import read_toml
from harness.engines import presets
from harness.errors import UsageError, nearest
from harness.protocol import Option, complete_options

_FIRST = {"xgrammar": "xgrammar", "llguidance": "llguidance", "outlines": "outlines_core"}
DEFAULT = tuple(name for name, module in _FIRST.items() if importlib.util.find_spec(module))

MAX_ENGINES = 32
"""Tables hold sets of engines as bits of 32-bit numbers."""

Value = bool | int | str

_PATH = r"[^\[\],/\x00-\x1f]*/[^\[\],\x00-\x1f]*"
_AT = rf"(?:{_PATH}|[\w.!+\-]+)"
_SPEC = re.compile(
    r"(?P<name>[A-Za-z_][\w.\-]*(?::[A-Za-z_]\w*)?)" rf"(?P<rest>(?:@{_AT}|\[[^\[\]]*\])*)"
)


@dataclass(frozen=True)
class EngineSpec:
    """An engine as the user named it, resolved to what starts it.

    `name` is the spec's canonical text, and the engine's name in every table; `options` are all of
    its adapter's. A `version` of None is the installed one. `packages`, as ``name==version``, are
    what a preset needs, None for the adapter's own. Of `slow_masks` and `slow_texts` see
    `harness.protocol.Engine`. `path` is the build that is asked for, `build` what tells this one
    from all others, if known.
    """

    name: str
    reference: str
    options: Mapping[str, Value]
    version: str | None = None
    interpreter: str = sys.executable
    paths: tuple[str, ...] = ()
    packages: tuple[str, ...] | None = None
    slow_masks: bool = False
    slow_texts: bool = False
    path: str | None = None
    build: str = ""


@cache
def engine_tables() -> Mapping[str, Mapping[str, Any]]:
    return read_toml("engines.toml")


def built_in() -> dict[str, str]:
    """The engines that come with maskcourt, each with the ``module:Class`` of its adapter."""
    return {name: table["adapter"] for name, table in engine_tables().items()}


def known_engines() -> dict[str, str]:
    """Every engine that can be named, with its ``module:Class``; built-in ones and plug-ins."""
    points = importlib.metadata.entry_points(group="maskcourt.engines")
    plug_ins = {point.name: f"{point.module}:{point.attr}" for point in points}
    return dict(sorted({**plug_ins, **built_in()}.items()))


def split_specs(text: str) -> list[str]:
    """The specs in a comma-separated list; commas inside brackets separate options."""
    return [one.strip() for one in re.split(r",(?![^\[]*\])", text) if one.strip()]


@dataclass(frozen=True)
class ReadSpec:
    """The parts of a spec's text: after the ``@`` a version or a path, `rest` after the name."""

    name: str
    version: str | None
    rest: str

    @property
    def unversioned(self) -> str:
        return self.name + self.rest.replace(f"@{self.version}", "")

    def labelled(self, version: str) -> str:
        """The version that the engine has, of a build at hand with where it is."""
        return f"{version} ({self.path})" if self.path else version

    @property
    def path(self) -> str | None:
        """The path in place of a version, in one spelling; None where there is none."""
        if self.version is None or "/" not in self.version:
            return None
        path = os.path.normpath(self.version.strip())
        return path if path.startswith(("/", "~", "../")) or path == ".." else f"./{path}"


def with_version(spec: str, version: str) -> str:
    """A spec and the version that the engine has, said once where the spec names it."""
    named = read_spec(spec).version
    return spec if version in ("", named, f"{named}.0") else f"{spec} {version}"


def read_spec(text: str) -> ReadSpec:
    """Take a spec's text apart; nothing is looked up."""
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"engine spec {text!r} cannot be read",
            "a path in a spec has no comma and no bracket: rename what it leads to"
            if re.search(r"@[^@]*/", text)
            else "write NAME, NAME@VERSION, NAME@./PATH, NAME[option=value,…] or "
            "package.module:Class",
        )
    versions = re.findall(rf"@({_AT})", re.sub(r"\[.*?\]", "", match["rest"]))
    if len(versions) > 1:
        raise UsageError(f"engine spec {text!r} names two versions", "keep one")
    return ReadSpec(match["name"], versions[0] if versions else None, match["rest"])


def parse_spec(text: str) -> EngineSpec:
    """Resolve one engine spec, without starting or importing the engine itself."""
    read = read_spec(text)
    name, version, path = read.name, read.version, read.path
    if path and name in presets.servers():
        raise UsageError(
            f"{name} is a server, and {path} may be the build of an engine",
            f"name the engine, as in xgrammar@{path}",
        )
    if preset := presets.find_preset(name, version):
        return _of_preset(text, read, preset)
    known = {name: name} if ":" in name else built_in()
    if name not in known and name not in (known := known_engines()):
        raise UsageError(f"unknown engine {name!r}", nearest(name, [*known, *presets.servers()]))
    reference = known[name]
    paths = (str(Path.cwd()),) if ":" in name else ()
    adapter = adapter_class(reference, paths)
    given = _given_options(text, read.rest, adapter.OPTIONS)
    return EngineSpec(
        _canonical(name, path or version, given),
        reference,
        _completed(name, adapter.OPTIONS, given),
        None if path else version,
        paths=paths,
        slow_masks=_declared([adapter], "SLOW_MASKS"),
        slow_texts=_declared([adapter], "SLOW_TEXTS"),
        path=path,
        build="" if path or name in built_in() else _code(reference),
    )


def _of_preset(text: str, read: ReadSpec, preset: presets.Preset) -> EngineSpec:
    given = _given_options(text, read.rest, preset.options)
    own = _completed(read.name, preset.options, given)
    adapters = [adapter_class(built_in()[one.engine]) for one in preset.backends_for(own).values()]
    return EngineSpec(
        _canonical(read.name, read.version, given),
        "harness.engines.servers:ServerEngine",
        {**own, "server": preset.server, "release": preset.release},
        packages=preset.requirements(own),
        slow_masks=_declared(adapters, "SLOW_MASKS"),
        slow_texts=_declared(adapters, "SLOW_TEXTS"),
    )


def _declared(adapters: Iterable[Any], name: str) -> bool:
    return any(getattr(one, name, False) for one in adapters)


def parse_specs(texts: Sequence[str]) -> list[EngineSpec]:
    """Resolve a list of specs; raises as `parse_spec`, and where an engine is named twice."""
    specs = [parse_spec(one) for text in texts for one in split_specs(text)]
    seen: set[str] = set()
    for spec in specs:
        if spec.name in seen:
            raise UsageError(f"engine {spec.name!r} is named twice", "name each engine once")
        seen.add(spec.name)
    if len(specs) > MAX_ENGINES:
        raise UsageError(f"{len(specs)} engines are named", f"at most {MAX_ENGINES} at a time")
    if not specs:
        raise UsageError("no engine is named", "for example: --engines xgrammar,llguidance")
    return specs


def adapter_class(reference: str, paths: Sequence[str] = ()) -> Any:
    """The adapter class that ``module:Class`` names, else a usage error; imports no engine."""
    module_name, _, attribute = reference.partition(":")
    for path in reversed(paths):
        if path not in sys.path:
            sys.path.append(path)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(
            f"engine {reference!r}: module {module_name!r} cannot be imported: {error}",
            "give it as package.module:Class, importable from here",
        ) from error
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(
            f"engine {reference!r}: importing {module_name!r} raised {message}",
            f"python -c 'import {module_name}' shows where",
        ) from error
    adapter = getattr(module, attribute, None)
    if adapter is None:
        names = [name for name in vars(module) if not name.startswith("_")]
        raise UsageError(f"engine {reference!r}: no {attribute!r} there", nearest(attribute, names))
    missing = [name for name in ("compile", "OPTIONS") if not hasattr(adapter, name)]
    if missing:
        raise UsageError(
            f"engine {reference!r} is no adapter: it has no {' and no '.join(missing)}",
            "see harness/protocol.py",
        )
    return adapter


def _code(reference: str) -> str:
    """What tells an adapter from elsewhere, with the modules beside it, from what it was before."""
    module = sys.modules[reference.partition(":")[0]]
    file = Path(module.__file__ or "")
    files = sorted(file.parent.glob("*.py")) if module.__package__ else filter(Path.is_file, [file])
    texts = (one.name.encode() + b"\0" + one.read_bytes() for one in files)
    return f"adapter sha256:{hashlib.sha256(b''.join(texts)).hexdigest()}"


def _given_options(text: str, rest: str, known: Mapping[str, Option]) -> dict[str, Value]:
    given: dict[str, Value] = {}
    spec = f"engine spec {text!r}"
    for item in filter(None, ",".join(re.findall(r"\[([^\[\]]*)\]", rest)).split(",")):
        key, equals, value = item.strip().partition("=")
        key = key.strip()
        if not key and not equals:
            continue
        if not equals:
            raise UsageError(f"{spec}: option {key!r} has no value", f"write {key}=value")
        if key not in known:
            raise UsageError(f"{spec}: unknown option {key!r}", nearest(key, known))
        if key in given:
            raise UsageError(f"{spec} sets {key!r} twice", "keep one")
        given[key] = _value(f"{spec}: {key}", value, known[key].default)
    return given


def _value(option: str, value: str, default: Value) -> Value:
    if isinstance(default, bool):
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise UsageError(f"{option} is true or false, not {value!r}")
    if isinstance(default, str):
        return value
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"{option} is a whole number, not {value!r}") from None


def _completed(
    name: str, known: Mapping[str, Option], given: Mapping[str, Value]
) -> dict[str, Value]:
    try:
        return complete_options(known, given)
    except ValueError as error:
        raise UsageError(f"engine {name!r}: {error}") from error


def _canonical(name: str, version: str | None, given: Mapping[str, Value]) -> str:
    options = ",".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in sorted(given.items())
    )
    return name + (f"@{version}" if version else "") + (f"[{options}]" if options else "")
