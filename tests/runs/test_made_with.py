"""What a run from elsewhere may have imported, installed, opened and fetched: next to nothing."""

import importlib.metadata
import sys
from dataclasses import asdict

import pytest

from harness import load_run
from harness.engines import environments
from harness.engines.panel import Limits
from harness.errors import RunDirectoryError
from harness.inputs import vocabulary_readers
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.runs.directory import create_or_resume, open_run
from harness.runs.made_with import (
    UntrustedError,
    asks_for_trust,
    engines_of,
    limits_of,
    vocabulary_of,
)
from tests.replaying import VOCABULARY, Book

INSTALLED = importlib.metadata.version("llguidance")
EMBEDDED = {"spec": "qwen2.5", "eos": None}
LIMITS = asdict(Limits())


@pytest.fixture
def forged(tmp_path):
    """Make a run that names these engines and this vocabulary, and open it as a stranger does."""

    def forge(engines=("xgrammar",), vocabulary=EMBEDDED, **identity):
        # of the engine whose rules look at the vocabulary
        described = {"packages": {"llguidance": INSTALLED}, "options": {}}
        identity = {"limits": LIMITS, **identity}
        identity["engines"] = dict.fromkeys(engines, described)
        identity["vocabulary"] = {"sha256": open_vocabulary().sha256, **vocabulary}
        run = create_or_resume(tmp_path / "run", identity, {})
        book = Book("one", {"enum": ["ab"]}, "ab")
        completion = book.completion(b'z"')
        book.verdict("false_rejection", engines[0], b'"', b"\x7f", completion, engines[0])
        run.write_case(0, book.rows)
        run.finish({"seconds": 0.0})
        run.release()
        return open_run(run.path)

    return forge


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module that must not be imported, beside which the program runs."""
    (tmp_path / "evil_engine.py").write_text("raise SystemExit(77)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "evil_engine:Engine"


@pytest.fixture
def offline(monkeypatch):
    """Fail where anything would be made, opened or fetched."""

    def refuse(*_, **__):
        raise AssertionError("nobody asked for that")

    monkeypatch.setattr(environments, "_made", refuse)
    monkeypatch.setattr(environments, "_build", refuse)
    for name in ("_open_path", "_open_hub"):
        monkeypatch.setattr(vocabulary_readers, name, refuse)


def refusal(function, *words):
    with pytest.raises(UntrustedError) as caught:
        function()
    message = str(caught.value)
    assert "--trust" in message
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


@pytest.mark.usefixtures("offline")
class TestUntrusted:
    def test_a_module_is_not_imported(self, forged, evil):
        refusal(lambda: engines_of(forged([evil])), "module 'evil_engine' imported")
        assert "evil_engine" not in sys.modules

    def test_one_behind_a_harmless_name_is_not_either(self, forged, evil):
        run = forged([f"xgrammar,{evil}"])
        with pytest.raises(Exception, match="cannot be read"):
            engines_of(run)
        assert "evil_engine" not in sys.modules

    def test_nor_one_that_another_package_gave_a_name(self, forged, monkeypatch):
        point = importlib.metadata.EntryPoint("handy", "evil_engine:Engine", "maskcourt.engines")
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
        refusal(lambda: engines_of(forged(["handy"])), "module 'evil_engine' imported")

    def test_another_version_is_not_installed(self, forged):
        refusal(lambda: engines_of(forged(["llguidance@0.0.1"])), "'llguidance@0.0.1' installed")

    def test_what_comes_with_the_program_is_given(self, forged):
        names = ["xgrammar", f"llguidance@{INSTALLED}", "outlines"]
        run = forged(names)
        assert [spec.name for spec in engines_of(run)] == names
        assert vocabulary_of(run).name == "qwen2.5"
        assert limits_of(run) == Limits()

    @pytest.mark.parametrize("spec", ["org/name", "hf:org/name", "/dev/zero", "~nobody/x", "x"])
    def test_no_other_vocabulary_is_opened_or_fetched(self, forged, spec):
        refusal(lambda: vocabulary_of(forged(vocabulary={"spec": spec, "eos": None})), repr(spec))

    @pytest.mark.parametrize(
        ("engine", "spec", "asks"),
        [
            ("xgrammar", "qwen2.5", False),
            ("llguidance@0.0.1", "qwen2.5", True),
            ("some.module:Engine", "qwen2.5", True),
            ("xgrammar", "vocabulary.json", True),
        ],
    )
    def test_can_be_told_beforehand(self, forged, engine, spec, asks):
        assert asks_for_trust(forged([engine], {"spec": spec, "eos": None})) is asks


class TestTrusted:
    def test_is_given_what_it_names(self, forged, tmp_path):
        VOCABULARY.save(tmp_path / "vocabulary")
        stored = {"spec": str(tmp_path / "vocabulary"), "sha256": VOCABULARY.sha256}
        path = forged(["tests.miniatures:Enumerator"], stored).path
        run = open_run(path, trust=True)
        assert vocabulary_of(run).sha256 == VOCABULARY.sha256
        assert [spec.reference for spec in engines_of(run)] == ["tests.miniatures:Enumerator"]

    @pytest.mark.parametrize("limits", [None, {"compile": 1.0, "lunch": 2}])
    def test_is_told_what_its_manifest_lacks(self, forged, limits):
        with pytest.raises(RunDirectoryError, match="limits"):
            limits_of(open_run(forged(limits=limits).path, trust=True))


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        ("replay", "RUN", "--all"),
        pytest.param(("replay", "RUN", "0", "--show"), marks=pytest.mark.thorough),
        pytest.param(("report", "RUN"), marks=pytest.mark.thorough),
    ],
)
def test_every_command_that_needs_the_vocabulary_asks_first(forged, call, trust, command):
    """What a trusted run names is looked for, and here not found."""
    path = forged(["llguidance"], {"spec": "/nowhere/vocabulary", "eos": None}).path
    arguments = [path if one == "RUN" else one for one in command]
    code, _, said = call(*arguments, *["--trust"] * trust)
    assert code == 2
    assert said.count("\n") == 1
    assert ("--trust" not in said and "does not exist" in said) if trust else "--trust" in said


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("report", "RUN", "--format", "csv"), marks=pytest.mark.thorough),
        ("tally", "RUN"),
    ],
)
def test_what_only_counts_opens_no_vocabulary(forged, tmp_path, monkeypatch, call, command):
    """One that cannot be had is not missed, so that nobody has to be trusted."""
    path = forged(["llguidance"], {"spec": "/nowhere/vocabulary", "eos": None}).path
    monkeypatch.chdir(tmp_path)
    code, _, problems = call(*(path if one == "RUN" else one for one in command))
    assert code == 0, problems


def test_nor_do_frames(forged):
    run = forged(["llguidance"], {"spec": "/nowhere/vocabulary", "eos": None})
    assert len(load_run(run.path).verdicts)


def test_a_version_whose_environment_is_there_needs_no_trust(forged, monkeypatch):
    monkeypatch.setattr(environments._Environment, "usable", lambda *_: True)
    (spec,) = engines_of(forged(["xgrammar@0.1.32"]))
    assert spec.version == "0.1.32"
