"""``maskcourt bench --constraint regex``: files, resuming, output, and what is wrong in a line."""

import json

import pytest
from click.testing import CliRunner

from harness.cli.main import cli
from harness.errors import InputError
from harness.regex_constraint.automata import PatternAutomaton
from harness.regex_constraint.cases import open_patterns
from harness.regex_constraint.dialects import read
from harness.regex_constraint.opinions import NotJudged, say
from tests.command import maskcourt

LINES = [
    {"id": "a", "pattern": "a.", "valid": ["ab"], "invalid": ["a\n"]},
    {"id": "b", "pattern": "a|ab", "valid": ["ab"]},
]


def file_of(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"id": "c"}', "'pattern' is missing"),
        ('{"id": "c", "pattern": 1}', "'pattern' is a number, not a string"),
        ('{"id": "c", "pattern": "b", "valid": [1]}', "valid[0] is a number, not a string"),
        ('{"id": "c", "pattern": "\\ud800"}', "surrogate"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, what):
    path = file_of(tmp_path / "cases.jsonl", LINES[:1])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=r"cases\.jsonl:2") as raised:
        open_patterns(str(path))
    assert what in str(raised.value)


def test_the_patterns_of_schemas_are_taken_once(tmp_path):
    schemas = [
        {"id": "x", "schema": {"pattern": "a", "patternProperties": {"b": {"pattern": "a"}}}},
        {"id": "y", "schema": {"properties": {"pattern": {"pattern": "b"}, "z": {"pattern": "c"}}}},
    ]
    directory = tmp_path / "data"
    directory.mkdir()
    for one in schemas:
        text = json.dumps({"schema": one["schema"], "tests": []})
        (directory / f"F---{one['id']}.json").write_text(text)
    source = open_patterns(f"maskbench:{directory}")
    assert [(case.id, case.family, case.schema) for case in source] == [
        ("F---x/0", "F", "a"), ("F---x/1", "F", "b"), ("F---y/1", "F", "c")
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline", "--junit", "--summary"])
def test_a_baseline_is_refused_and_not_passed_unread(tmp_path, option):
    file = tmp_path / "file"
    file.touch()
    done = CliRunner().invoke(cli, ["bench", "--constraint", "regex", option, str(file)])
    assert "does not go with --constraint regex" in str(done.exception)


@pytest.mark.processes
def test_a_run_goes_on_and_prints_what_is_wrong(tmp_path):
    cases, out = file_of(tmp_path / "cases.jsonl", LINES), tmp_path / "run"
    engines = "tests.regex_miniatures:Honest,tests.regex_miniatures:DotTakesLineFeeds"
    asked = ["bench", "--constraint", "regex", "--cases", cases, "--out", out, "-e", engines]
    asked += ["--vocabulary", "bytes"]
    first = maskcourt(*asked, "--limit", 2)
    assert first.returncode == 0, first.stderr
    assert "2/2 patterns" in first.stderr
    shown = " ".join(first.stdout.split())
    assert r"'\n' is allowed by the pattern ." in shown
    assert "in 1 of 2 patterns" in shown
    lines = (out / "judged.jsonl").read_text().splitlines(keepends=True)
    (out / "judged.jsonl").write_text("".join(lines[:3])[:-5])  # as after kill -9
    again = maskcourt(*asked, "--json")
    assert "2 results are there already" in again.stderr
    report = json.loads(again.stdout)
    faulty = report["engines"][1]
    assert (faulty["judged"], faulty["false_acceptance_whole"]) == (2, 1)
    now = (out / "judged.jsonl").read_text().splitlines()
    assert sorted(now) == sorted(line.rstrip("\n") for line in lines)
    listed = [one for one in report["bugs"] if one["kind"] == "false_acceptance"]
    assert [(one["pattern"], one["text"], one["cases"]) for one in listed] == [(".", "\n", 1)]
    assert json.loads(maskcourt("bugs", out, "--trust", "--json").stdout)["bugs"] == report["bugs"]
    other = maskcourt(*asked, "--limit", 1)
    assert other.returncode == 2
    assert "holds a run with other data" in other.stderr


def test_embedded_labels_hold_by_both_opinions():
    for case in open_patterns("embedded"):
        try:
            meaning = read(case.schema, "ecma")
        except NotJudged:
            assert case.family in ("refused", "possessive") or case.id == "formats/ipv4"
            continue
        automaton = PatternAutomaton(meaning.narrow)
        for instances, label in ((case.valid, True), (case.invalid, False)):
            for text in [one.text.decode() for one in instances]:
                assert automaton.matches(text) is label, case.id
                assert set(say(meaning.opinions, text)) == {label}, case.id
