"""Options of commands, made of the fields of requests."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli.main import cli
from harness.cli.options import CommandOption, command
from harness.errors import UsageError
from harness.execution.request import BenchRequest
from harness.options import LIMITS, OPTION, option


@dataclass(frozen=True)
class Inner:
    most: int | None = option(5, "At most.", "--at-most", least=1, none=True)
    how: str = option("well", "How.", choices=("well", "badly"))


@dataclass(frozen=True)
class Outer:
    names: Sequence[str] = option(("a",), "Names.", "--name")
    file: Path | None = option(None, "A file.")
    size: int = option(1 << 30, "Size.  [default: 1G]", unit="SIZE", above=0, heading=LIMITS)
    share: float = option(0.5, "Share.", least=0)
    inner: Inner = field(default_factory=Inner)
    not_an_option: int = 3


@pytest.fixture
def asked():
    """What a command is given for some arguments."""

    def ask(*arguments: object) -> Outer:
        given: list[Outer] = []

        @command(Outer)
        def run(request: Outer) -> None:
            given.append(request)

        run.main(list(map(str, arguments)), standalone_mode=False)
        return given.pop()

    return ask


def test_without_options_a_request_is_what_its_class_says(asked):
    assert asked() == Outer()


def test_every_kind_of_value_is_read(asked):
    options = "--name b --name c --file x --size 2K --share 1 --at-most none --how badly"
    expected = Outer(("b", "c"), Path("x"), 2048, 1.0, Inner(None, how="badly"))
    assert asked(*options.split()) == expected


@pytest.mark.parametrize(
    ("option_", "value"),
    [
        *(("--share", one) for one in ("nan", "inf", "-0.1", "x", "")),
        *(("--at-most", one) for one in ("0", "1.5", "1e3", "inf")),
        *(("--size", one) for one in ("0", "4X", "-1K", "nan")),
        ("--how", "so"),
    ],
)
def test_values_out_of_bounds_are_refused(asked, option_, value):
    with pytest.raises(click.BadParameter):
        asked(option_, value)


@pytest.mark.parametrize("arguments", [
    ["bugs", "RUN", "--write", "/dev/null"],
    ["bugs", "RUN", "--write", "FILE"],
    ["bugs", "RUN", "--write", "FILE/below"],
    ["bugs", "RUN", "--write", "/proc/none/below"],
    ["check", "SCHEMA", "--report", "DIR"],
    ["bench", "--junit", "DIR"],
    ["bench", "--summary", "FILE/below"],
    ["bench", "--write-baseline", "/proc/none"],
    ["report", "RUN", "--out", "FILE/below"],
    ["report", "RUN", "--out", "DIR"],
    ["report", "RUN", "--format", "csv", "--out", "FILE"],
    ["report", "RUN", "--format", "csv", "--out", "/dev/null"],
])  # fmt: skip
def test_what_cannot_be_written_is_refused_before_any_work(arguments, tmp_path):
    """The run is not even opened: there is none."""
    file = tmp_path / "file"
    file.write_text("mine")
    places = {"FILE": file, "FILE/below": file / "below", "DIR": tmp_path}
    given = [str(places.get(word, word)) for word in arguments]
    raised = CliRunner().invoke(cli, given).exception
    assert isinstance(raised, UsageError)
    assert raised.exit_code == 2
    assert re.match(rf"{given[-1]} (cannot be written: |is (no|a) directory)", str(raised))
    assert (file.read_text(), list(tmp_path.iterdir())) == ("mine", [file])


def commands(group: click.Group) -> list[click.Command]:
    found = []
    for name in group.list_commands(None):
        one = group.get_command(None, name)
        found += [one, *(commands(one) if isinstance(one, click.Group) else ())]
    return found


@pytest.mark.parametrize("one", commands(cli), ids=lambda one: one.name)
def test_every_option_says_what_it_is(one):
    assert one.help
    options = [param for param in one.params if isinstance(param, click.Option)]
    assert all(param.help for param in options)
    assert CliRunner().invoke(one, ["--help"]).exit_code == 0


def test_the_ten_options_that_a_first_run_needs_come_first():
    params = [
        one for one in cli.get_command(None, "bench").params if isinstance(one, CommandOption)
    ]
    first = [max(one.opts, key=len) for one in params if not one.heading]
    assert first == [
        *("--engines", "--cases", "--out", "--family", "--id", "--sample", "--limit", "--lanes"),
        *("--fail-on", "--json"),
    ]


def test_every_field_of_a_run_s_request_is_an_option_or_another_request():
    def unexplained(kind: type) -> set[str]:
        found = set()
        for one in fields(kind):
            value = getattr(kind(), one.name)
            if is_dataclass(value) and one.name != "effort":  # constants of the method
                found |= unexplained(type(value))
            elif OPTION not in one.metadata:
                found.add(one.name)
        return found

    assert unexplained(BenchRequest) == {"effort"}
