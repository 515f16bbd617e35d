"""What the documents name is there: files, modules, commands, targets, links, words."""

import ast
import importlib
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from harness.cli.main import cli
from tests.command import ROOT

FOLDERS = ("benchmarks", "datasets", "docs", "notebooks", "results")
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))]
)
GLOSSARY = ROOT / "docs" / "glossary.md"
OURS = "harness|adapters|benchmarks|tests"
FILES = rf"(?<![\w./:-])(?:{OURS}|datasets|docs|notebooks|results)/[\w./*{{}},-]*"
NAMES = rf"(?<![\w./])(?:{OURS})(?:\.[A-Za-z_]\w*)+(?::\w+)?"
CODE = re.compile(r"```.*?```|`[^`]+`|^(?: {4}|\t).+?$", re.DOTALL | re.MULTILINE)
GONE = re.compile(
    "_(aside|board|by_right|cuts|endings|force|heads|held|how_bad|lie|likely|march|reading|said"
    "|scene|scratch|seat|shelf|spot|tried|ways|weighing|why)_"
)
"""Words that only this project understood; what they stood for has a name of the glossary now."""
LINKS = re.compile(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"")


def text_of(page):
    return page.read_text("utf-8")


def code_of(page):
    """The code of a page, in lines."""
    return "\n".join(CODE.findall(text_of(page)))


def found(pattern, text):
    return sorted({match.rstrip(".,") for match in re.findall(pattern, text)})


def named(name):
    """What a dotted name stands for: a module, or an attribute of what stands before it."""
    module, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        owner = named(module) if module else None
    if attribute in getattr(owner, "__annotations__", {}):
        return owner.__annotations__[attribute]
    return getattr(owner, attribute)


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def page(request):
    return request.param


def test_files_are_there(page):
    places = (ROOT, ROOT / "datasets") if page.parent.name == "datasets" else (ROOT,)
    missing = [
        name
        for name in found(FILES, text_of(page))
        if not name.endswith("/NAME")
        and not any((place / name).exists() or list(place.glob(name)) for place in places)
    ]
    assert not missing


def test_modules_and_what_is_in_them_are_there(page):
    for name in found(NAMES, text_of(page)):
        if not Path(ROOT, name).exists() and not name.endswith((".py", ".md")):
            named(name.replace(":", "."))


def test_commands_and_targets_are_there(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(found(r"(?:^|[`;&] ?| {4})make ([a-z][a-z-]*)", code_of(page))) <= targets
    commands = found(r"(?:^|[`/ ])maskcourt ([a-z]+)(?=[ `\n])", code_of(page))
    assert set(commands) <= set(cli.list_commands(None))


def test_links_lead_somewhere(page):
    for link in ("".join(one) for one in LINKS.findall(text_of(page))):
        if not re.match(r"[a-z]+:", link):
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            if heading:
                lines = re.findall(r"^#+ (.*)$", text_of(target), re.MULTILINE)
                slugs = [re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines]
                assert heading in slugs, link


def test_the_glossary_says_each_word_once_in_order():
    words = re.findall(r"^- \*\*(.+?)\*\*: [A-Z].+\.$", text_of(GLOSSARY), re.MULTILINE)
    assert len(words) == len(re.findall("^- ", text_of(GLOSSARY), re.MULTILINE))
    assert words == sorted(set(words), key=str.casefold)


def test_the_code_uses_the_words_of_the_glossary():
    def plain(text):
        return re.sub(r"[\s_-]", "", text).lower()

    code = " ".join(
        plain(path.read_text("utf-8"))
        for name in ("harness", "adapters", "tests")
        for path in (ROOT / name).glob("**/*.py")
        if path != Path(__file__)
    )
    words = re.findall(r"^- \*\*(.+?)\*\*", text_of(GLOSSARY), re.MULTILINE)
    assert not [word for word in words if plain(word) not in code]


def names_in(path):
    """The identifiers of a module, in lower case, the words of each between underscores."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace(".", "_")
                yield f"_{parts.lower()}_"


@pytest.mark.thorough
def test_the_code_has_no_private_words():
    modules = [one for name in ("harness", "adapters") for one in (ROOT / name).glob("**/*.py")]
    names = {name for path in modules for name in (f"_{path.stem}_", *names_in(path))}
    assert "_position_resolution_" in names
    of_libraries = {"_force_stop_parser_"}
    assert not [name for name in names - of_libraries if GONE.search(name)]


@pytest.mark.thorough
def test_no_two_modules_have_a_class_of_the_same_name():
    owners = Counter(
        node.name
        for path in (ROOT / "harness").glob("**/*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert owners
    assert not [name for name, count in owners.items() if count > 1]


def test_the_map_has_every_package_in_the_order_that_is_enforced():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    packages = [one for one in reversed(layers) if (ROOT / "harness" / one).is_dir()]
    assert packages
    rows = re.findall(r"^\| `(\w+)` \|", text_of(ROOT / "docs" / "architecture.md"), re.MULTILINE)
    assert rows == packages
