"""Engine specs: what can be written, what it is called, and what to write instead."""

import contextlib
import importlib.metadata
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.engines.environments import listed_engines
from harness.engines.specs import (
    DEFAULT,
    built_in,
    known_engines,
    parse_spec,
    parse_specs,
    split_specs,
)
from harness.errors import UsageError
from harness.protocol import Option

ROOT = Path(__file__).parents[2]
MINE = "tests.engines.test_specs:Mine"


class Mine:
    """An adapter with an option of every type; it runs nothing."""

    DISTRIBUTION = "no-such-distribution"
    OPTIONS = {  # noqa: RUF012 - as adapters have it
        "depth": Option(3, "levels"),
        "strict": Option(False, "close objects"),
        "space": Option("", "between tokens"),
        "speed": Option("fast", "how fast", ("fast", "slow")),
    }

    def compile(self, schema):
        raise NotImplementedError


class Nameless(Mine):
    DISTRIBUTION = ""


class Silent:
    """It does not say which distribution it drives."""

    OPTIONS = {}  # noqa: RUF012 - as adapters have it

    def compile(self, schema):
        raise NotImplementedError


class NoOptions:
    def compile(self, schema):
        raise NotImplementedError


def refused(action, *words):
    with pytest.raises(UsageError) as caught:
        action()
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "\n" not in text
    return text


def printed_by(program, *options, cwd=ROOT):
    """What a program prints in another process, which has no more to say than that."""
    command = [sys.executable, *options, "-c", program]
    env = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def plug_ins(monkeypatch):
    """Plug-ins by name, as an installed distribution would declare them."""
    points = {}

    def entry_points(*, group):
        assert group == "maskcourt.engines"
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return points


class TestGrammar:
    @pytest.mark.parametrize(
        ("text", "name", "version", "given"),
        [
            ("xgrammar", "xgrammar", None, {}),
            (" xgrammar ", "xgrammar", None, {}),
            ("xgrammar[]", "xgrammar", None, {}),
            ("xgrammar@0.1.32", "xgrammar@0.1.32", "0.1.32", {}),
            ("xgrammar@1.0rc1+cpu", "xgrammar@1.0rc1+cpu", "1.0rc1+cpu", {}),
            ("xgrammar@dist/a b.whl", "xgrammar@./dist/a b.whl", None, {}),
            ("xgrammar@.././x.whl ", "xgrammar@../x.whl", None, {}),
            ("xgrammar@/usr/bin/python3", "xgrammar@/usr/bin/python3", None, {}),
            ("xgrammar@~/tree/", "xgrammar@~/tree", None, {}),
            ("xgrammar[config=shipped]@./x@1.whl", "xgrammar@./x@1.whl[config=shipped]", None, {}),
            (MINE, MINE, None, {}),
            (f"{MINE}[depth=5]", f"{MINE}[depth=5]", None, {"depth": 5}),
            (f"{MINE}[depth=-1]", f"{MINE}[depth=-1]", None, {"depth": -1}),
            (f"{MINE}[strict=TRUE]", f"{MINE}[strict=true]", None, {"strict": True}),
            (f"{MINE}[space=]", f"{MINE}[space=]", None, {"space": ""}),
            (f"{MINE}[space= ?]", f"{MINE}[space= ?]", None, {"space": " ?"}),
            (f"{MINE}[space=a=b]", f"{MINE}[space=a=b]", None, {"space": "a=b"}),
            (f"{MINE}[speed=slow]", f"{MINE}[speed=slow]", None, {"speed": "slow"}),
            (f"{MINE}[ depth =5,]", f"{MINE}[depth=5]", None, {"depth": 5}),
            (f"{MINE}[space=@9]@1", f"{MINE}@1[space=@9]", "1", {"space": "@9"}),
            (f"{MINE}[strict=true,depth=5]@1", f"{MINE}@1[depth=5,strict=true]", "1", {}),
            (f"{MINE}[strict=true]@1[depth=5]", f"{MINE}@1[depth=5,strict=true]", "1", {}),
        ],
    )
    def test_what_can_be_written(self, text, name, version, given):
        spec = parse_spec(text)
        assert spec.name == name
        assert spec.version == version
        assert {key: spec.options[key] for key in given} == given
        assert parse_spec(spec.name) == spec, "the name is a spec of the same engine"

    def test_options_are_filled_in_and_typed(self):
        spec = parse_spec(f"{MINE}[depth=5]")
        assert spec.options == {"depth": 5, "strict": False, "space": "", "speed": "fast"}
        assert list(spec.options) == list(Mine.OPTIONS)

    @pytest.mark.parametrize(
        "text",
        [
            *("", "[depth=5]", "xgrammar@", "xgrammar[", "xgrammar]", "xgrammar[a=[b]]"),
            *("xgrammar 0.1", "1xgrammar", "a:b:c", "a:", ":B", "xgrammar\n--evil"),
        ],
    )
    def test_what_cannot_be_read(self, text):
        refused(lambda: parse_spec(text), "cannot be read", "NAME@VERSION")

    @given(st.text(max_size=30))
    def test_no_text_is_answered_with_anything_but_a_usage_error(self, text):
        with contextlib.suppress(UsageError):
            assert parse_spec(text.replace(":", ";")).reference in built_in().values()

    @pytest.mark.parametrize("name", [*built_in()])
    def test_the_built_in_engines_can_be_configured(self, name):
        assert parse_spec(name).options["config"] == "spec"
        assert parse_spec(f"{name}[config=shipped]").options["config"] == "shipped"
        refused(lambda: parse_spec(f"{name}[config=best]"), "'best' is not one of spec, shipped")


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("xgramar", ["unknown engine 'xgramar'", "did you mean 'xgrammar'?"]),
            ("XGrammar", ["unknown engine 'XGrammar'", "did you mean 'xgrammar'?"]),
            ("zzz", ["unknown engine 'zzz'", "known: ", "outlines, ", "vllm, xgrammar"]),
            (f"{MINE}[dept=5]", ["unknown option 'dept'", "did you mean 'depth'?"]),
            (f"{MINE}[qq=5]", ["unknown option 'qq'", "known: depth, space, speed, strict"]),
            (f"{MINE}[depth]", ["option 'depth' has no value", "write depth=value"]),
            (f"{MINE}[depth=many]", ["depth is a whole number, not 'many'"]),
            (f"{MINE}[depth=1.5]", ["depth is a whole number, not '1.5'"]),
            (f"{MINE}[depth=]", ["depth is a whole number, not ''"]),
            (f"{MINE}[strict=yes]", ["strict is true or false, not 'yes'"]),
            (f"{MINE}[speed=fat]", ["speed='fat' is not one of fast, slow"]),
            (f"{MINE}[depth=1,depth=2]", ["sets 'depth' twice"]),
            (f"{MINE}[depth=1][depth=1]", ["sets 'depth' twice"]),
            (f"{MINE}@1@2", ["names two versions"]),
            (f"{MINE}@./a,b.whl", ["cannot be read", "a path in a spec has no comma"]),
            (f"{MINE}@./a[1].whl", ["cannot be read", "no bracket"]),
            ("vllm@./x.whl", ["vllm is a server", "name the engine, as in xgrammar@./x.whl"]),
            ("no.such.module:Thing", ["'no.such.module'", "cannot be imported"]),
            ("tests.engines.test_specs:Mime", ["no 'Mime' there", "did you mean 'Mine'?"]),
            ("tests.engines.test_specs:NoOptions", ["is no adapter", "it has no OPTIONS"]),
            ("tests.engines.test_specs:MINE", ["is no adapter", "no compile and no OPTIONS"]),
        ],
    )
    def test_are_named_with_what_to_write_instead(self, text, words):
        refused(lambda: parse_spec(text), *words)

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("import no_such_library", ["cannot be imported", "no_such_library"]),
            ("1 / 0", ["ZeroDivisionError: division by zero", "python -c"]),
            ("def broken(:", ["SyntaxError"]),
            ("import sys; raise RuntimeError('one\\ntwo')", ["RuntimeError: one two"]),
        ],
    )
    def test_in_the_users_own_module(self, tmp_path, monkeypatch, code, words):
        (tmp_path / "my_adapter.py").write_text(code)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.delitem(sys.modules, "my_adapter", raising=False)
        refused(lambda: parse_spec("my_adapter:Engine"), "my_adapter", *words)


class TestOwnAdapters:
    def test_are_found_from_the_working_directory(self, tmp_path, monkeypatch):
        (tmp_path / "my_engine.py").write_text(
            "class Engine:\n    OPTIONS = {}\n    def compile(self, schema): ...\n"
        )
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        spec = parse_spec("my_engine:Engine")
        assert spec.reference == "my_engine:Engine"
        assert spec.paths == (str(tmp_path),)
        sys.modules.pop("my_engine")

    def test_are_other_builds_when_their_code_is_another(self, tmp_path, monkeypatch):
        code = "class Engine:\n    OPTIONS = {}\n    def compile(self, schema): ...\n"
        (tmp_path / "mine").mkdir()
        alone, within = tmp_path / "my_module.py", tmp_path / "mine" / "engine.py"
        beside = tmp_path / "mine" / "grammar.py"
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        for file in (alone, within, beside):
            file.write_text(code)
        builds = []
        for changed in (None, alone, within, beside):
            if changed:
                changed.write_text("# mended\n" + code)
            builds.append([parse_spec(f"{m}:Engine").build for m in ("my_module", "mine.engine")])
        assert [len(set(column)) for column in zip(*builds, strict=True)] == [2, 3]
        assert parse_spec("llguidance").build == ""
        for module in ("my_module", "mine.engine", "mine"):
            sys.modules.pop(module)

    @pytest.mark.processes
    def test_a_folder_there_does_not_hide_a_library(self, tmp_path):
        """The project's own ``datasets/`` beside the library of that name, for one."""
        (tmp_path / "colorsys.py").write_text("raise RuntimeError('the wrong one')")
        (tmp_path / "my_colours.py").write_text(
            "import colorsys\nclass Engine:\n    OPTIONS = {}\n    compile = None\n"
        )
        program = "from harness.engines.specs import parse_spec; parse_spec('my_colours:Engine')"
        assert printed_by(program, "-P", cwd=tmp_path) == ""


class TestLists:
    @pytest.mark.parametrize(
        ("text", "specs"),
        [
            ("a,b", ["a", "b"]),
            (" a , b ,", ["a", "b"]),
            ("a[x=1,y=2],b", ["a[x=1,y=2]", "b"]),
            ("a[x=1,y=2]@3[z=4,w=5],b:C[d=e]", ["a[x=1,y=2]@3[z=4,w=5]", "b:C[d=e]"]),
            ("", []),
            (",,", []),
        ],
    )
    def test_commas_separate_specs_outside_of_brackets(self, text, specs):
        assert split_specs(text) == specs

    def test_keep_their_order_and_name_no_engine_twice(self):
        specs = parse_specs([f"{MINE}[depth=1],{MINE}", f"{MINE}[depth=2]"])
        assert [spec.name for spec in specs] == [f"{MINE}[depth=1]", MINE, f"{MINE}[depth=2]"]
        both = f"{MINE}[strict=true,depth=1]", f"{MINE}[depth=1,strict=true]"
        refused(lambda: parse_specs(both), "is named twice")

    @pytest.mark.parametrize("texts", [[], [""], [",", " "]])
    def test_name_some_engine(self, texts):
        refused(lambda: parse_specs(texts), "no engine is named", "--engines xgrammar,llguidance")


class TestPlugIns:
    def test_can_be_named_like_any_other_and_take_no_built_in_engine_s_place(self, plug_ins):
        plug_ins |= {"xgrammar": MINE, "mine": f"{MINE} [fast]"}
        spec = parse_spec("mine[depth=9]")
        assert (spec.reference, spec.name, spec.paths) == (MINE, "mine[depth=9]", ())
        refused(lambda: parse_spec("mime"), "did you mean 'mine'?")
        assert known_engines()["xgrammar"] == built_in()["xgrammar"]

    def test_are_listed_with_the_built_in_ones(self, plug_ins):
        plug_ins["aaa"] = MINE
        listed = listed_engines()
        assert list(listed) == ["aaa", *sorted(built_in())]
        options = {name: vars(option) for name, option in Mine.OPTIONS.items()}
        about = {"adapter": MINE, "distribution": "no-such-distribution", "options": options}
        nothing = {"installed": None, "tested": None, "at_hand": []}
        assert listed["aaa"] == {**about, **nothing}
        assert listed["xgrammar"]["installed"] == importlib.metadata.version("xgrammar")

    @pytest.mark.parametrize("adapter", ["Nameless", "Silent"])
    def test_without_a_distribution_they_are_listed_all_the_same(self, plug_ins, adapter):
        plug_ins["mine"] = MINE.replace("Mine", adapter)
        row = listed_engines()["mine"]
        assert (row["distribution"], row["installed"], row["at_hand"]) == (None, None, [])
        assert "problem" not in row

    def test_that_are_broken_are_named(self, plug_ins):
        plug_ins["mine"] = "tests.no_such_module:Engine"
        refused(lambda: parse_spec("mine"), "tests.no_such_module")


@pytest.mark.parametrize("name", sorted(built_in()))
def test_what_a_built_in_engine_was_tested_with_is_what_make_installs(name):
    row = listed_engines()[name]
    distribution = canonicalize_name(row["distribution"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    extra = canonicalize_name(name)
    if name not in DEFAULT:
        assert f"maskcourt[{extra}]" in extras["engines"]
    else:
        assert extra in extras["default"][0]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    asked = extras[extra] or project["dependencies"]
    pins = [Requirement(line) for line in (*lines, *asked) if not line.startswith("#")]
    specifiers = [one.specifier for one in pins if canonicalize_name(one.name) == distribution]
    assert f"=={row['tested']}" in map(str, specifiers)
    assert all(specifier.contains(row["tested"]) for specifier in specifiers)


@pytest.mark.processes
def test_no_engine_is_imported_to_be_listed_or_named():
    program = (
        "import sys\n"
        "from harness.engines.environments import listed_engines\n"
        "from harness.engines.specs import DEFAULT, parse_specs\n"
        "listed_engines(); parse_specs(DEFAULT)\n"
        "heavy = {'torch', 'xgrammar', 'llguidance', 'outlines_core', 'outlines', 'pydantic'}\n"
        "print(sorted({*heavy, 'lmformatenforcer'} & set(sys.modules)))\n"
    )
    assert printed_by(program) == "[]\n"
