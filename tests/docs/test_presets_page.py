"""The page about presets shows datasets/presets.toml as it is."""

from harness.engines.presets import load_presets
from tests.command import ROOT

PAGE = (ROOT / "docs" / "presets.md").read_text("utf-8")


def route(preset, name):
    steps = preset.routes[name]
    shown = ", then ".join(step.backend for step in steps)
    check = " (own check)" if any(step.check for step in steps) or preset.check else ""
    default = " *" if name == preset.backend else ""
    return f"`{name}`{default}" + (f": {shown}" if shown != name else "") + check


def engine(name, one):
    packages = ", ".join(f"{package} {version}" for package, version in one.packages.items())
    options = ",".join(f"{key}={str(value).lower()}" for key, value in one.options.items())
    return f"{name}: `{one.engine}[{options}]`, {packages}"


def table():
    lines = ["| spec | backend (* by default) | engines |", "| --- | --- | --- |"]
    for one in load_presets():
        cells = (
            f"`{one.server}@{one.release}`",
            "<br>".join(route(one, name) for name in one.routes),
            "<br>".join(engine(*entry) for entry in one.backends.items()),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_table_is_that_of_the_file():
    assert table() in PAGE
