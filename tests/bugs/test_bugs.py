"""``maskcourt bugs`` on runs with planted errors, and on what real engines do."""

import json
import subprocess
import sys
from contextlib import closing

import pytest

from harness.bugs.error_case import ErrorCase
from harness.bugs.scripts import script
from harness.bugs.trial import Trial
from harness.engines.environments import provide_all
from harness.engines.specs import parse_specs
from harness.inputs.vocabulary_names import BYTES
from harness.verdict_kinds import INVALID_VALUE, LOST_VALUE, NOT_JSON, SPELLING
from tests.buglists import bug
from tests.command import STUDY, finished_run, maskcourt
from tests.inprocess import InProcessJudge
from tests.planted import AGE, PAIR

pytestmark = [pytest.mark.processes, pytest.mark.engines]

FORGETFUL = "tests.planted:Forgetful"
CASES = [
    AGE,
    {"id": "ages", "schema": {"type": "array", "items": {"minimum": 3, "type": "integer"},
                              "minItems": 1}, "valid": [[4, 5]]},
    PAIR,
    {"id": "person", "schema": {"type": "object", "required": ["tags"], "properties": {
        "tags": {"type": "array", "items": {"const": "x"}, "maxItems": 1}}},
     "valid": [{"tags": ["x"]}]},
]  # fmt: skip


@pytest.fixture(scope="module")
def run(vocabulary_file, tmp_path_factory):
    """A finished run of llguidance beside one that forgets two keywords."""
    engines = f"llguidance,{FORGETFUL}"
    return finished_run(tmp_path_factory.mktemp("bugs"), CASES, engines, vocabulary_file, *STUDY)


@pytest.fixture(scope="module")
def found(run):
    options = ("--trust", "--json", "--lanes", 1, "--write", run.parent / "written")
    done = maskcourt("bugs", run, "--engine", FORGETFUL, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_planted_errors_are_two_bugs(found):
    bugs = {json.dumps(one["schema"], sort_keys=True): one["text"] for one in found["bugs"]}
    assert bugs == {
        '{"minimum": 1, "type": "integer"}': "0",
        '{"maxItems": 0, "type": "array"}': "[0]",
    }
    assert {one["kind"] for one in found["bugs"]} == {"false_acceptance"}
    assert found["explained"] == 1.0
    assert [one["title"] for one in found["bugs"] if "minimum" in one["keywords"]] == [
        "accepts a number that breaks `minimum`"
    ]
    assert all(1 <= one["cases"] <= 2 for one in found["bugs"])


FUSSY = "tests.planted:Fussy"
HALF_AS_FUSSY = "tests.planted:FussyAboutNumbers"
TEXTS = [
    {"id": "name", "schema": {"type": "string"}, "valid": ["Åsa-"]},
    {"id": "counts", "schema": {"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 9}, "m": {"type": "integer"}}},
     "valid": [{"n": 0, "m": -12}]},
]  # fmt: skip


def test_two_planted_rejections_are_two_bugs_wherever_they_were_met(tmp_path):
    out = finished_run(tmp_path, TEXTS, f"{HALF_AS_FUSSY},{FUSSY}", BYTES)
    options = ("--engine", FUSSY, "--trust", "--json", "--lanes", 1)
    of_fussy = json.loads(maskcourt("bugs", out, *options).stdout)["bugs"]
    assert {one["engine"] for one in of_fussy} == {FUSSY}
    assert {(one["kind"], json.dumps(one["schema"]), one["text"]) for one in of_fussy} >= {
        ("false_rejection", '{"type": "integer"}', "0"),
        ("false_rejection", '{"type": "string"}', '"AAAA"'),
    }
    assert {one["effect"] for one in of_fussy} == {LOST_VALUE}
    numbers, strings = (
        next(one for one in of_fussy if one["schema"] == {"type": type_})
        for type_ in ("integer", "string")
    )
    assert (numbers["others"], numbers["shared"]) == ({HALF_AS_FUSSY: "bug"}, True)
    assert (strings["others"], strings["shared"]) == ({}, False)


def test_another_seed_gives_the_same_bugs_and_what_was_shrunk_is_used_again(run, found):
    (run / "bugs.jsonl").open("a").write('{"verdict": "3", "ca')  # cut in the middle of a line
    again = maskcourt("bugs", run, "--trust", "--json", "--seed", 7, "--lanes", 1)
    assert again.returncode == 0, again.stderr
    mine = [one for one in json.loads(again.stdout)["bugs"] if one["engine"] == FORGETFUL]
    assert {one["id"] for one in mine} == {one["id"] for one in found["bugs"]}


def test_texts_for_the_tracker_are_written(run, found):
    for one in found["bugs"]:
        text = (run.parent / "written" / f"{one['id']}.md").read_text()
        assert one["title"] in text
        assert one["text"] in text
        assert "What it costs a user: an invalid value is let through." in text
        assert f"Met in {one['cases']} of 4 schemas" in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["bugs", "RUN", "--engine", "nobody"], "has no engine 'nobody'"),
        (["bugs", "RUN"], "allow it: --trust"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(run, call, arguments, problem):
    code, _, printed = call(*(run if one == "RUN" else one for one in arguments))
    assert code == 2
    assert problem in printed
    assert "Traceback" not in printed


NO_FLOAT = ("false_rejection", SPELLING, {"type": "integer"}, b"1.0", b"1")
NO_NEGATIVE = ("false_rejection", SPELLING, {"type": "integer", "minimum": 0}, b"-0", b"1")
ERRORS = {
    "xgrammar": [
        NO_NEGATIVE,
        ("mask_consume_mismatch", "",
         {"type": "object", "properties": {"a": {"$ref": "#"}}}, b'{"a":{}}', b"{}"),
    ],
    "outlines": [
        ("false_acceptance", INVALID_VALUE, {"type": "integer", "minimum": 1}, b"0", b'"a"'),
    ],
    "llguidance": [NO_NEGATIVE],
    "glrmask": [NO_FLOAT],
    "maskforge": [NO_FLOAT],
    "lm-format-enforcer": [NO_FLOAT],
    "formatron": [
        ("false_acceptance", NOT_JSON,
         {"type": "object", "properties": {"a": {"type": "null"}}}, b'{"a":}', b'{"a":1}'),
    ],
}  # fmt: skip
"""Of engines errors, their effects, and texts under the same schema that they treat rightly."""

EACH = """
import runpy, sys
for file in sys.argv[1:]:
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as leaving:
        print("exit code", int(leaving.code))
"""
"""Runs scripts one after the other: their library, which takes long to import, is the same."""


@pytest.mark.parametrize("engine", ERRORS)
def test_a_script_shows_the_error_with_the_engine_alone(engine, tmp_path):
    (spec,) = provide_all(parse_specs([engine]))
    files, codes = [], []
    with closing(Trial(spec, InProcessJudge())) as trial:
        for kind, effect, schema, text, mended in ERRORS[engine]:
            token = b"}}" if kind == "mask_consume_mismatch" else b""
            case = ErrorCase(
                engine, kind, json.dumps(schema), text, token, text.find(token or text)
            )
            trial.change(spec, token)
            shown = trial.reproduce(case)
            assert shown is not None
            assert (shown.class_, trial.effect(case, shown)) == ("bug", effect)
            at = {"at": shown.at, "keyword": shown.keyword}
            options = {"config": "spec"}
            found = bug(engine, version=trial.info.version, options=options, error=case, **at)
            assert "maskcourt" not in script(found)
            right = script(found).replace(f"TEXT = {text!r}", f"TEXT = {mended!r}")
            for code, content in ((1, script(found)), (0, right)):
                codes.append(f"exit code {code}")
                files.append(tmp_path / f"{len(files)}.py")
                files[-1].write_text(content)
    shows = subprocess.run(
        [sys.executable, "-c", EACH, *files], capture_output=True, text=True, check=False
    )
    assert [one for one in shows.stdout.splitlines() if one in codes] == codes, shows.stderr
    if engine == "xgrammar":
        without = subprocess.run([sys.executable, "-S", files[0]], capture_output=True, check=False)
        assert without.returncode == 2
