"""No command writes a character that a terminal would obey, whatever others called their things."""

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness.replay.repeat
from harness.bugs.printing import print_bug, print_bugs
from harness.check.answers import Answer, Answers, Declared, ProvenError
from harness.check.text import CheckOutput
from harness.console import say
from harness.execution.progress import RunProgress
from harness.runs.directory import MANIFEST
from harness.runs.tables import SCHEMAS
from harness.versions.baseline import Baseline, against
from harness.versions.text import baseline_markdown
from tests import forged
from tests.buglists import bug, bug_list
from tests.command import ROOT

EVIL = "\x1b]0;owned\x07\x9b2J\x00\r\x7f\u202e"
TEXTS = ("case", "family", "message", "keyword", "output", "place", "signal")
"""Columns with texts that others chose."""


def assert_harmless(*texts: str) -> str:
    for text in texts:
        assert text.replace("\n", "").isprintable(), ascii(text)
    return "".join(texts)


QUICK = ("tally", "as json", "markdown", "page", "replay")
ENGINES = pytest.param(("engine", "accepter"), marks=pytest.mark.thorough)


@pytest.fixture(scope="module", params=[(), ENGINES], ids=["texts", "engines"])
def run(request, tmp_path_factory):
    """A run whose cases, families, keywords and messages have hostile names; its engines, too."""
    path = forged.whole(tmp_path_factory.mktemp("evil"))
    for table, schema in SCHEMAS.items():
        rows = pq.read_table(path / f"{table}.parquet")
        for at, field in enumerate(schema):
            if field.name in (*TEXTS, *request.param):
                values = [
                    None if one is None else one if not one else f"{one}{EVIL}"
                    for one in rows.column(at).to_pylist()
                ]
                kind = field.type
                plain = kind.value_type if pa.types.is_dictionary(kind) else kind
                made = pa.array(values, plain)
                rows = rows.set_column(
                    at, field.name, made if plain == kind else made.dictionary_encode()
                )
        pq.write_table(rows, path / f"{table}.parquet")
    manifest = json.loads((path / MANIFEST).read_text())
    engines = manifest["identity"]["engines"]
    if request.param:
        manifest["identity"]["engines"] = {f"{name}{EVIL}": one for name, one in engines.items()}
    for one in engines.values():
        one["version"] = f"1{EVIL}"
    manifest["identity"]["data"]["name"] = f"own{EVIL}"
    manifest["machine"] = {"system": EVIL}
    forged.seal(path, manifest)
    return path


@pytest.fixture
def harmless(monkeypatch, call):
    """Run a command in this process; what it wrote, which is harmless."""
    monkeypatch.setattr(harness.replay.repeat, "Lane", forged.InProcessLane)
    return lambda *arguments: assert_harmless(*call(*arguments)[1:])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=() if one in QUICK else pytest.mark.thorough)
        for one in forged.commands(Path(), Path())
    ],
)
def test_commands_that_read_a_run(run, tmp_path, harmless, name):
    copy = shutil.copytree(run, tmp_path / "run")
    harmless(
        *forged.commands(copy, tmp_path)[name], *(["--trust"] * (name in ("replay", "sample")))
    )


@pytest.mark.parametrize("run", [()], indirect=True, ids=["texts"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["bugs", "RUN", "--trust", "--shrink-budget", 0],
        ["compare", "RUN", "--trust"],
        pytest.param(["replay", "RUN", "0", "--show", "--trust"], marks=pytest.mark.processes),
        pytest.param(
            ["replay", "RUN", "0", "--show", "--json", "--trust"], marks=pytest.mark.processes
        ),
        ["replay", "RUN", "10000000000000000000000000000000"],
        ["replay", "RUN", EVIL],
        ["engines", "install", f"{EVIL}"],
        ["bench", "--cases", f"{EVIL}"],
        ["vocabularies", "get", EVIL],
        ["check", EVIL],
        ["conformance", "--run", "RUN"],
        ["bench", f"--{EVIL}"],
        ["bench", "--engines", EVIL],
        [EVIL],
    ],
)
def test_commands_that_are_refused_or_print_one_thing(run, harmless, arguments):
    said = harmless(*(run if one == "RUN" else one for one in arguments))
    assert "an error of maskcourt itself" not in said


def test_the_progress_of_a_run(capsys):
    engine = {"a": {"version": f"1{EVIL}", "options": {EVIL: EVIL}}}
    identity = {
        "engines": engine,
        "vocabulary": {"name": f"v{EVIL}", "size": 3},
        "data": {"name": f"d{EVIL}", "cases": 1},
    }
    with RunProgress(1) as progress:
        progress.compares(identity, {f"family{EVIL}": 1})
    assert "owned" in assert_harmless(*capsys.readouterr())


def test_bugs(capsys):
    hostile = bug("a", title=EVIL, text=EVIL.encode(), schema=json.dumps({EVIL: 1}), version=EVIL)
    print_bug(hostile)
    print_bugs([], bug_list(hostile, **{EVIL: 1}))
    diff = against(Baseline({(EVIL, "1"): EVIL}), [hostile], {(EVIL, EVIL): "wrong"}, {})
    say(baseline_markdown(diff))
    assert "owned" in assert_harmless(*capsys.readouterr())


def test_answers_of_a_check(capsys):
    error = ProvenError(
        *("invalid_value", "false_acceptance", EVIL.encode(), 0, EVIL, "plain"), bug=bug(title=EVIL)
    )
    declared = Declared(EVIL, EVIL, EVIL)
    answers = Answers([EVIL], ["a", "b"])
    output = CheckOutput(answers, quiet=False)
    for engine, whole in (("a", False), ("a", True), ("b", True)):
        answer = Answer(
            EVIL, engine, EVIL, "errs", EVIL, (error,), (declared,), whole=whole, advice=(EVIL,)
        )
        answers.add(answer)
        output.tell(answer)
    output.end()
    assert "owned" in assert_harmless(*capsys.readouterr())


_PRINTS = re.compile(r"click\.(secho|echo)\(|(?<![\w.])print\(|sys\.std(out|err)\.write\(")
_MAY = {
    "harness/console.py": "the one way",
    "harness/bugs/scripts.py": "the scripts that it writes print",
    "harness/engines/builds.py": "a program for another interpreter, read by this one",
    "harness/engines/servers.py": "in a host, whose output is stored",
}


def test_nothing_else_prints():
    files = {str(file.relative_to(ROOT)): file for file in (ROOT / "harness").rglob("*.py")}
    printing = {name for name, file in files.items() if _PRINTS.search(file.read_text("utf-8"))}
    assert printing <= _MAY.keys()
