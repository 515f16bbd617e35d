"""Reports for trackers: a page has what its script printed, and none that shows nothing is written."""

import json
import re

import pytest

from benchmarks.report_counts import FEATURES, met
from benchmarks.reports import (
    COUNTS,
    DATA,
    ROOT,
    Printed,
    flowing,
    read_reports,
    run_script,
    script,
    write,
)
from harness.errors import UsageError

PUBLISHED = ROOT / "results" / "reports"
ABOUT = 'looked_up = "today"\ncopies_reach = "yesterday"\n[others]\nllguidance = ["0.7.30"]\n'
REPORT = """
[[report]]
engine = "llguidance"
slug = "odd"
title = "Three is taken for even"
what = "three is even"
effect = "leak"
happens = "It is taken."
expected = "It is refused."
feature = "an even number"
looked_for = "three"
cases = [
    ['{"multipleOf":2}', "3", false, "wrong"],
    ['{"multipleOf":2}', "4", true, "right"],
]
"""
SHOWN = Printed('wrong  {"multipleOf":2}\n        3 taken\nright  {"multipleOf":2}\n')


@pytest.fixture
def place(tmp_path):
    (tmp_path / DATA).write_text(ABOUT + REPORT)
    counts = {"maskbench": 9, "tools": 5, "sample": {"cases": 3, "judged": {"llguidance": 2}}}
    own = {"llguidance-odd": {"maskbench": 4, "tools": 0, "sample": 1}}
    (tmp_path / COUNTS).write_text(json.dumps({**counts, "reports": own}))
    return tmp_path


def test_a_page_has_what_the_script_printed_and_the_list_leads_to_it(place):
    write(place, lambda text, engine: SHOWN)
    page, listed = ((place / name).read_text() for name in ("llguidance-odd.md", "README.md"))
    assert page.startswith("# Three is taken for even\n")
    assert SHOWN.text.strip() in page
    assert "the same in 0.7.30" in page
    assert "4 of the 9 schemas of MaskBench and none of 5" in page
    assert "which reach to yesterday; looked for: three." in page
    assert "[three is even](llguidance-odd.md)" in listed


def test_nothing_is_written_where_a_script_shows_no_error_any_more(place):
    mended = Printed(SHOWN.text.replace("wrong", "right"))
    with pytest.raises(UsageError, match="llguidance-odd is not what its script shows now"):
        write(place, lambda text, engine: mended)
    assert {one.name for one in place.iterdir()} == {DATA, COUNTS}


def test_a_case_has_to_be_what_both_validators_say(place):
    (place / DATA).write_text((ABOUT + REPORT).replace('"3", false', '"3", true'))
    with pytest.raises(UsageError, match="3 is invalid under"):
        read_reports(place / DATA)


def test_schemas_are_counted_that_have_what_meets_a_bug():
    required = {"properties": {"a": {}, "b": {}}, "required": ["a"]}
    many, counts = met([{"minimum": -0.25}, required, True])
    assert many == 3
    assert {name for name, count in counts.items() if count} == {
        "llguidance-decimal-bound",
        "outlines-bounds",
        "outlines-empty-schema",
        "xgrammar-untyped",
    }


@pytest.mark.parametrize(
    ("name", "schema", "meets"),
    [
        ("outlines-pattern-quote", {"pattern": "^.+$"}, True),
        ("outlines-pattern-quote", {"pattern": r"^[^/]+\.$"}, True),
        ("outlines-pattern-quote", {"pattern": r"^[\S]+$"}, True),
        ("outlines-pattern-quote", {"pattern": r"^[a-z.\]]+\.[a\-.]$"}, False),
        ("xgrammar-optional-group", {"pattern": "^(ab+)?$"}, True),
        ("xgrammar-optional-group", {"pattern": "^([^@]+@)?host$"}, True),
        ("xgrammar-optional-group", {"pattern": "^([a-z0-9-]+)?$"}, False),
        ("xgrammar-optional-group", {"pattern": "^(ab)?$"}, False),
        ("xgrammar-combined", {"type": "object", "oneOf": [{}, {}]}, True),
        ("xgrammar-combined", {"type": "object", "allOf": [{}]}, True),
        ("xgrammar-combined", {"type": "object", "allOf": [{}, {}]}, False),
        ("llguidance-decimal-bound", {"exclusiveMaximum": 99.99}, True),
        ("llguidance-decimal-bound", {"minimum": 0.05}, False),
        ("llguidance-decimal-bound", {"maximum": 99.9}, False),
        ("outlines-empty-schema", {"properties": {"a": {}}, "required": ["b"]}, False),
    ],
)
def test_what_a_bug_needs_is_told_from_what_looks_like_it(name, schema, meets):
    assert met([{"items": schema}])[1][name] == meets


def test_each_published_page_has_the_script_of_its_data():
    _, reports = read_reports(PUBLISHED / DATA)
    counts = json.loads((PUBLISHED / COUNTS).read_text("utf-8"))["reports"]
    names = {one.name for one in reports}
    assert names == {*FEATURES} == {*counts}
    assert names == {one.stem for one in PUBLISHED.glob("*.md")} - {"README"}
    for report in reports:
        page = (PUBLISHED / f"{report.name}.md").read_text("utf-8")
        version = re.search(rf"`{report.distribution} ([\w.]+)`", page)
        assert f"```python\n{script(report, version[1])}```" in page
        assert Printed(page.partition("It prints:")[2].strip()).marks == report.marks
        for told in (report.title, report.happens, report.expected, report.workaround, report.says):
            assert flowing(told) in page


@pytest.mark.processes
def test_a_script_tells_right_from_wrong(tmp_path, monkeypatch):
    asked = {"llguidance": "    return len(TOKENS)\n"}
    monkeypatch.setattr("benchmarks.reports.bodies", lambda _: asked)
    (tmp_path / DATA).write_text(ABOUT + REPORT)
    text = script(read_reports(tmp_path / DATA)[1][0], "1")
    printed = run_script(text, "llguidance")
    assert printed.marks == [True, False]
    assert "3' invalid, taken" in printed.text
