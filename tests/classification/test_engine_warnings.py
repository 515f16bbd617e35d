"""The list of warnings holds all that the installed engines can print, and rules are held to it."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from harness.classification.departures import is_printed, load_catalogue
from harness.engines.panel import Limits, Panel
from harness.engines.specs import parse_specs
from harness.inputs.vocabulary import byte_vocabulary
from tests.classification.test_catalogue_files import ENGINES, WARNINGS

SPECS = ["xgrammar", "llguidance[lenient=true]", "llama.cpp"]
MODULES = {
    "xgrammar": "libxgrammar_bindings.so",
    "llguidance": "_lib.abi3.so",
    "xllamacpp": "xllamacpp.abi3.so",
}


def listed():
    return list(WARNINGS)


def each(some):
    return pytest.mark.parametrize("one", some, ids=lambda one: one.id)


@each(listed())
def test_a_printed_text_is_recognised_by_its_own_entry_alone(one):
    assert [some.id for some in listed() if is_printed(some.text, one.prints)] == [one.id]
    assert one.engine in ENGINES


@each([one for one in listed() if one.keyword])
def test_what_a_warning_is_about_is_excused_by_a_rule(one):
    excused = set()
    for entry in load_catalogue():
        for rule in entry.when:
            if one.text in rule.get("warning", ()):
                assert (entry.engine, entry.class_) == (one.engine, "warned")
                through = {"allOf": "allOf", "reference": "$ref"}
                excused |= {*rule.get("keyword", ())}
                excused |= {through[some] for some in rule.get("only_through", ())}
    assert excused == set(one.keyword)


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """The engines that can warn, in hosts of their own as in a run."""
    vocabulary, file = byte_vocabulary(), tmp_path_factory.mktemp("warnings") / "vocabulary"
    vocabulary.save(file)
    with closing(Panel(parse_specs(SPECS), str(file), vocabulary.words, Limits())) as panel:
        yield panel


@pytest.mark.engines
@pytest.mark.processes
@each([one for one in listed() if one.schema])
def test_what_the_installed_engine_prints_is_caught(one, panel):
    panel.compile(one.schema)
    printed = panel.output(list(MODULES).index(one.engine))
    assert any(is_printed(one.text, line) for line in printed.splitlines()), printed
    for line in printed.splitlines():
        assert any(is_printed(some.text, line) for some in listed()), line


def binary(name):
    module = pytest.importorskip(name)
    return (Path(module.__file__).parent / MODULES[name]).read_bytes()


@pytest.mark.engines
def test_no_text_of_xgrammar_that_sounds_like_a_warning_is_missing_from_the_list():
    """Its texts end with a zero byte; those of Rust lie side by side and cannot be told apart."""
    sounds = re.compile(
        r"\bignor(?:ed|ing)\b(?!_)|falling back|still ongoing|relaxed|clamping|matched$"
        r"|matching the character|not limited|Rejecting the|by default\.$",
        re.IGNORECASE,
    )
    texts = re.findall(rb"(?<=\x00)[\x20-\x7e]{8,}(?=\x00)", binary("xgrammar"))
    found = {text for text in (one.decode() for one in texts) if sounds.search(text)}
    assert len(found) > 15
    printed = "\n".join(one.prints for one in listed())
    missing = {text for text in found if text not in printed}
    assert not [text for text in missing if not any(is_printed(one.text, text) for one in listed())]


@pytest.mark.engines
@pytest.mark.parametrize("name", MODULES)
def test_the_listed_texts_are_those_of_the_installed_version(name):
    data = binary(name)
    older = {
        "xgrammar-rule",
        "xgrammar-keyword",
        "xgrammar-negative-class",
        "xgrammar-beside-pattern",
    }
    for one in listed():
        if one.engine == name and one.id not in older:
            parts = one.prints.split(" ")
            size = 4 if len(parts) > 6 else 2
            pieces = {" ".join(parts[at : at + size]) for at in range(len(parts) - size + 1)}
            assert any(piece.encode() in data for piece in pieces), one.id
