"""The page about departures shows the catalogue as it is: behaviours by engine, kinds, warnings."""

from harness.classification.departures import ANY, load_catalogue
from tests.classification.test_catalogue_files import ENGINES, NO_SOURCE, SOURCE_KINDS, undeclared
from tests.command import ROOT

PAGE = (ROOT / "docs" / "departures.md").read_text("utf-8")
CATALOGUE = load_catalogue()


def cell(behaviour, engine):
    """What the table says of one behaviour in one engine."""
    reason = undeclared(behaviour.id).get(engine)
    parts = []
    for one in CATALOGUE:
        if one.behaviour == behaviour.id and one.engine in (engine, ANY):
            when = f" {one.versions}" if reason else " (options)" if one.options else ""
            parts.append(f"[{one.class_[0].upper()}]({one.source}){when}")
    if reason:
        parts.append(f"bug {reason}")
    if not parts and behaviour.part_of:
        return cell(CATALOGUE.behaviours[behaviour.part_of], engine)
    return "; ".join(parts) or "-"


def table():
    lines = [f"| behaviour | {' | '.join(ENGINES)} |", "| --- " * (1 + len(ENGINES)) + "|"]
    for one in CATALOGUE.behaviours.values():
        if one.spelling:
            continue
        about = one.about.replace("\\", "\\\\")
        lines.append(f"| {about} | {' | '.join(cell(one, engine) for engine in ENGINES)} |")
    return "\n".join(lines)


def test_the_table_is_that_of_the_catalogue():
    assert table() in PAGE, f"docs/departures.md needs this table:\n\n{table()}\n"


def test_every_kind_of_source_is_explained():
    for kind in [*SOURCE_KINDS, *NO_SOURCE]:
        assert f"`{kind}`" in PAGE
