"""Nothing of a run is code in a script, Markdown in a text, or an order to a terminal."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import adapters
from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import title
from harness.bugs.listing import Bug
from harness.bugs.printing import print_bug
from harness.bugs.scripts import bodies, install, no_script, report, script
from harness.engines.specs import built_in
from tests.buglists import bug

ENGINES = (
    "xgrammar", "llguidance", "outlines", "glrmask", "maskforge", "lm-format-enforcer", "formatron",
)  # fmt: skip
HOSTILE = [
    '"""+__import__("os").system("touch injected")+"""', "\\x4", "\\N{", "\x00", "\x1b[2J\x07",
    "\\", "'''", '"', "\n\nimport os\n", "{schema!r}", "```\n# Title\n<script>alert(1)</script>",
    "\u202e\u2028\x85", "\ud800", "${HOME}", "[a](javascript:x)", "@everyone", "é" * 30, "`", "|",
]  # fmt: skip
WORDS = st.sampled_from(HOSTILE) | st.text(max_size=12)
NAMES = WORDS.filter(lambda word: not any("\ud800" <= one <= "\udfff" for one in word))
SCHEMAS = st.builds(
    lambda key, word, kind: {key: 1, "type": kind, "properties": {word: {"const": word}}},
    NAMES, NAMES, st.sampled_from(["integer", "string", "object"]),
)  # fmt: skip
TEXTS = st.binary(max_size=12) | WORDS.map(lambda word: word.encode("utf-8", "surrogatepass"))
DATA = (
    *("TITLE", "ENGINE", "INSTALL", "EFFECT", "RULE"),
    *("SCHEMA", "TEXT", "TOKEN", "TOKEN_AT", "VALID"),
)
KINDS = ("false_rejection", "false_acceptance", "never_stops", "stops_too_early")


def test_every_text_beside_the_adapters_is_a_function_s_body_of_one_of_them():
    directory = Path(adapters.__file__).parent / "scripts"
    names = {name.replace("-", "_") for name in built_in()}
    assert names.issuperset(file.stem for file in directory.iterdir())
    assert set(bodies("text")) == set(ENGINES)
    assert set(bodies("pattern")) == {*ENGINES} - {"glrmask", "maskforge"}
    assert set(bodies("mask")) == {"xgrammar"}
    for template in ("text", "pattern", "mask"):
        for body in bodies(template).values():
            ast.parse(f"def run():\n{body}")


@pytest.mark.parametrize(
    ("effect", "who"),
    [("invalid_value", "jsonschema and jsonschema-rs"), ("not_json", "a strict parser")],
)
def test_who_says_that_a_text_is_wrong_is_who_was_asked(effect, who):
    found = bug("xgrammar", effect=effect, kind="false_acceptance")
    assert f"this text is invalid by {who}, and the engine allows it" in report(found)
    assert f"OPINIONS = '{who}'" in script(found)


@st.composite
def bugs(draw: st.DrawFn) -> Bug:
    """A bug of which all that a run may say is hostile."""
    engine = draw(st.sampled_from([*ENGINES, "xgrammar@/tmp/'; touch injected; '/x"]))
    mismatch = ["mask_consume_mismatch"] if engine == "xgrammar" else []
    kind = draw(st.sampled_from([*KINDS, *mismatch]))
    before, token, rest = draw(TEXTS), draw(st.just(b"") | TEXTS), draw(TEXTS)
    schema = compact(draw(SCHEMAS))
    error = ErrorCase(engine, kind, schema, before + token + rest, token, len(before))
    place, keyword = draw(st.integers(-1, 20)), draw(WORDS)
    options = {"config": "spec", "more": draw(st.sampled_from(["auto", False]))}
    return bug(
        engine, version=draw(WORDS | st.just("1.2.3")), options=options, error=error, at=place,
        keyword=keyword, title=title(error, keyword, place), verdict=draw(WORDS),
    )  # fmt: skip


def skeleton(text: str) -> str:
    """A script without the values of its data section, which must be literals."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in DATA:
            assert isinstance(node.value, ast.Constant), ast.unparse(node)[:200]
            node.value = ast.Constant(None)
    return ast.dump(tree)


@given(bugs())
def test_scripts_differ_in_literals_alone(hostile):
    assert no_script(hostile) == ""
    written = script(hostile)
    plain = bug(hostile.engine, options=hostile.options, kind=hostile.error.kind)
    assert skeleton(written) == skeleton(script(plain))
    assert ast.get_docstring(ast.parse(written)) == ast.get_docstring(ast.parse(script(plain)))
    assert written.encode().decode() == written
    assert written.replace("\n", "").isprintable()


@given(bugs())
def test_the_markdown_has_its_own_marks_and_no_others(hostile):
    tokens = MarkdownIt("commonmark").parse(report(hostile))
    inline = [part for token in tokens for part in token.children or ()]
    kinds = [token.type for token in tokens if token.type in ("fence", "heading_open")]
    assert kinds == ["heading_open", "fence", "fence", "fence"]
    assert {part.type for part in inline} <= {"text", "code_inline", "softbreak", "text_special"}
    assert not [token for token in tokens if token.type in ("html_block", "code_block")]
    assert report(hostile).replace("\n", "").isprintable()


@given(bugs())
def test_a_terminal_is_given_no_orders(hostile):
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", lambda text, **_: printed.append(text))
        print_bug(replace(hostile, met={0: "plain"}, departure="\x1b[2J"))
    assert "".join(printed).replace("\n", "").isprintable()


@pytest.mark.parametrize("version", ["", "1.2.3'; touch injected; '", "latest", "1.0\n"])
def test_what_to_install_is_told_for_a_version_alone(version):
    line = install(bug("xgrammar", version=version))
    assert line in ("not known: the run names no version by PEP 440", "pip install 'xgrammar==1.0'")


def test_a_value_of_an_option_may_be_anything():
    assert no_script(bug("xgrammar", options={"config": "spec", "x": [1, {}]}))
