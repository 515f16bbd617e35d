"""Options of commands, made of the fields of requests (`harness.options`)."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from harness.files import require_writable
from harness.options import HEADINGS, OPTION, FieldOption

T = TypeVar("T")

RUN: Final = click.Path(path_type=Path)


class Number(click.ParamType):  # type: ignore[type-arg]
    """A finite number within bounds; ``none`` where that is a value, sizes such as 4G."""

    def __init__(self, kind: type, how: FieldOption) -> None:
        self._kind, self._how = kind, how
        self.name = f"{how.unit or 'N'}{'|none' * how.none}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        how = self._how
        if value is None or (how.none and value == "none"):
            return None
        try:
            number = _size(str(value)) if how.unit == "SIZE" else self._kind(str(value))
        except (ValueError, OverflowError):
            number = math.nan
        if not (how.above < number < math.inf and how.least <= number):
            self.fail(f"{value!r} is {self._wanted()}", param, ctx)
        return number

    def _wanted(self) -> str:
        how = self._how
        if how.unit == "SIZE":
            return "no size; write 512M or 4G"
        what = "whole number" if self._kind is int else "number"
        limits = {"at least": how.least, "greater than": how.above}
        bounds = [f"{words} {one:g}" for words, one in limits.items() if math.isfinite(one)]
        unit = f" of {how.unit.lower()}" if how.unit else ""
        no = "neither 'none' nor a" if how.none else "no"
        return f"{no} {what}{unit}" + (f" ({', '.join(bounds)})" if bounds else "")


def _size(text: str) -> int:
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)i?B?", text, re.IGNORECASE)
    if size is None:
        raise ValueError(text)
    return int(float(size[1]) * 1024 ** " KMG".index(size[2].upper() or " "))


class CommandOption(click.Option):
    """An option under a heading of the help text."""

    def __init__(self, *arguments: Any, heading: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.heading = heading


class Command(click.Command):
    """Shows options under headings in its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {one: [] for one in HEADINGS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                rows[getattr(param, "heading", "")].append(record)
        for heading, some in rows.items():
            if some:
                with formatter.section(heading or "Options"):
                    formatter.write_dl(some)


def command(*requests: type) -> Callable[..., click.Command]:
    """A command that gets a request of each type, made of its options, and what decorators add."""

    def decorated(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(**given: Any) -> None:
            own = {one: value for one, value in given.items() if one not in settings}
            function(*(built(kind, given) for kind in requests), **own)

        every = [option for kind in requests for option in options(kind)]
        settings = {option.name: option for option in every}
        inner = click.command(cls=Command)(run)
        inner.params += settings.values()
        return inner

    return decorated


def options(kind: type) -> list[CommandOption]:
    """The options that the fields of a request are, those of requests in it included."""
    hints = typing.get_type_hints(kind)
    found = []
    for one in dataclasses.fields(kind):
        how = one.metadata.get(OPTION)
        if dataclasses.is_dataclass(hints[one.name]):
            found += options(hints[one.name])
        elif how is not None:
            found.append(_option(one, hints[one.name], how))
    return found


def built(kind: type[T], given: Mapping[str, Any]) -> T:
    """The request that the values of options ask for, by the names of their parameters."""
    hints = typing.get_type_hints(kind)
    values = {}
    for one in dataclasses.fields(kind):  # type: ignore[arg-type]
        how = one.metadata.get(OPTION)
        if dataclasses.is_dataclass(hints[one.name]):
            values[one.name] = built(hints[one.name], given)
        elif how is not None:
            values[one.name] = given[_parameter(one, how)]
    return kind(**values)


def _long(one: dataclasses.Field[Any], how: FieldOption) -> str:
    own = f"--{one.name.replace('_', '-')}"
    return next((name for name in how.names if name.startswith("--")), own)


def _parameter(one: dataclasses.Field[Any], how: FieldOption) -> str:
    """The name of the option's parameter: that of the option, so that no two fields share one."""
    return _long(one, how).partition("/")[0].removeprefix("--").replace("-", "_")


def _option(one: dataclasses.Field[Any], hint: Any, how: FieldOption) -> CommandOption:
    default = one.default
    many = typing.get_origin(hint) not in (None, types.UnionType)
    kind = next((arg for arg in typing.get_args(hint) if arg is not type(None)), hint)
    settings: dict[str, Any] = {"multiple": True} if many else {}
    if how.choices is not None:
        settings["type"] = click.Choice(list(how.choices))
    elif kind is bool:
        settings["is_flag"] = True
    elif kind in (int, float):
        settings["type"] = Number(kind, how)
        default = "none" if default is None and how.none else default
    elif kind is Path:
        settings["type"] = _File(how)
    is_shown = default is not None and default is not False and default not in ("", ())
    return CommandOption(
        [*dict.fromkeys((_long(one, how), *how.names)), _parameter(one, how)],
        default=None if how.required else default,
        required=how.required,
        help=how.help,
        metavar=how.metavar,
        show_default=is_shown and "[default" not in how.help,
        heading=how.heading,
        **settings,
    )


class _File(click.Path):
    """A path, which a URL is not; where it is written to, that is tried before anything is done."""

    def __init__(self, how: FieldOption) -> None:
        super().__init__(path_type=Path, exists=how.exists)
        self._writes = how.writes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "://" in str(value):
            self.fail(f"{value} is a URL and no path", param, ctx)
        path = super().convert(value, param, ctx)
        if self._writes:
            require_writable(Path(str(path)), directory=self._writes == "directory")
        return path
