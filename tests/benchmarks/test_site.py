"""The site: answers first, a page for each engine and bug, links that lead somewhere, no network."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
import yaml

from benchmarks.site.__main__ import build
from benchmarks.site.published import Published, published_bugs, states
from tests.command import ROOT

BUG = {
    "id": "32900f4b", "engine": "llguidance", "version": "1.9.1", "kind": "false_acceptance",
    "class": "bug", "title": "`format`: \"date\": a text that is none is allowed", "at": 11,
    "schema": {"type": "string", "format": "date"}, "text": '"0001-02-29"',
    "others": {"xgrammar": "bug"}, "effect": "format_only",
}  # fmt: skip
COMPARED = [
    {**BUG, "id": "b9946ef9", "title": "`E` is refused in a number", "kind": "false_rejection",
     "schema": {"type": "number", "minimum": 0}, "text": "0E0", "at": 1, "effect": "spelling"},
    {**BUG, "id": "00000000", "version": "1.6.1", "title": "what nobody can make again is refused",
     "schema": {"type": "null"}, "text": "null", "at": 3},
    {**BUG, "id": "11111111", "title": "another date that is none", "at": 11},
]  # fmt: skip
CHANGES = """bug,old,new,status
b9946ef9,1.6.1,1.9.1,remaining
00000000,1.6.1,1.9.1,fixed
11111111,1.6.1,1.9.1,fixed
"""
FINDINGS = """engine,version,tool,backend,finding,keyword,text,why
llguidance,1.9.1,a/b,,refuses,,,Unknown format: json
xgrammar,0.2.8,a/b,,"loses, leaks",pattern,"{""a|b"": 1}",
xgrammar,0.2.8,a/c,,(loses),type,[1e5],
"""
CELLS = """keyword,place,engine,version,outcome,let_through,forbidden
enum,not,xgrammar,0.2.8,too_lax,7,
enum,root,xgrammar,0.2.8,too_lax,"{""a"": 2}",
enum,item,xgrammar,0.2.8,enforced,,
type,root,xgrammar,0.2.8,too_strict,,'-1
"""
NEWEST = """group,engine,version,schemas,refused,crashed,timed_out,out_of_memory,loses,traps,leaks,\
judged,wrong,wrong_declared,by_format_alone,no_json,no_json_unusual,loses_real,leaks_real,traps_real
Closest to the specification,xgrammar,0.2.8,500,4,1,5,0,17,1,23,490,41,3,0,0,0,9,2,0
As servers have them,vllm,0.33.0,500,0,0,0,0,2,0,0,500,2,0,0,0,0,0,0,0
"""
ENGINES = """group,engine,version,schemas,refused,crashed,timed_out,out_of_memory,loses,traps,leaks,judged
,xgrammar,0.2.8,300,0,0,0,0,14,6,12,219
,maskforge,0.1.1,300,1,0,0,0,0,0,0,299
"""
SPELLINGS = {
    "engines": {
        "xgrammar": {
            "version": "0.2.8",
            "rows": [
                {"id": "whitespace/before-text-tab", "text": "\t[1]", "allowed": False},
                {"id": "whitespace/none", "text": "[1]", "allowed": True},
                {"id": "order/last", "text": "{}", "allowed": False, "option": "of xgrammar[a=b]"},
                {"id": "order/first", "text": "{}", "allowed": None, "why": "refused"},
            ],
        }
    }
}


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*deprecated")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A small project with something of each result, and a page of documentation."""
    root = tmp_path_factory.mktemp("project")
    manifest = {"servers": [{"schemas": {"a/b": "", "a/c": "", "a/d": ""}}]}
    files = {
        "README.md": "# maskcourt\n\n[How](docs/how.md), [code](harness/cli).\n",
        "docs/how.md": "# How\n\nSee [results](../results/README.md).\n",
        "docs/check.md": "# Check\n",
        "docs/conformance.md": "# Conformance\n",
        "docs/spellings.md": "# Spellings\n",
        "results/README.md": "# Results\n\n[Tools](tools/README.md)\n",
        "results/tools/README.md": "# Tools\n\n[findings](findings.csv)\n",
        "results/tools/findings.csv": FINDINGS,
        "results/tools/manifest.json": json.dumps(manifest),
        "results/newest/README.md": "# The newest engines\n",
        "results/newest/counts.csv": NEWEST,
        "results/newest/manifest.json": '{"identity": {"limits": {"compile": 5}}}',
        "results/spellings/README.md": "# Spellings of engines\n",
        "results/spellings/profile.json": json.dumps(SPELLINGS),
        "results/conformance/README.md": "# Conformance of engines\n",
        "results/conformance/cells.csv": CELLS,
        "results/engines/README.md": "# Nine engines\n",
        "results/engines/counts.csv": ENGINES,
        "results/shared-errors/README.md": "# Shared\n",
        "results/shared-errors/bugs.json": json.dumps([BUG]),
        "results/versions/README.md": "# Versions\n",
        "results/versions/bugs.json": json.dumps(COMPARED),
        "results/versions/changes.csv": CHANGES,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def site(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    assert build(root, out) == 0
    return out / "html"


class Addresses(HTMLParser):
    """The links and the resources of a page, and what in it has a name."""

    def __init__(self, text):
        super().__init__()
        self.links, self.resources, self.names = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found.get("id"), found.get("name")}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "link", "iframe"):
            self.resources += filter(None, [found.get("src"), found.get("href")])


def test_links_lead_somewhere_and_nothing_is_fetched(site):
    pages = {path: Addresses(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 10
    for path, page in pages.items():
        for address in [*page.links, *page.resources]:
            inner, _, name = address.partition("#")
            if re.match("[a-z]+:", inner):
                assert address in page.links, f"{path} fetches {address}"
                continue
            target = path.parent / unquote(inner.partition("?")[0]) if inner else path
            assert target.is_file(), f"{path.name}: {address}"
            assert not name or name in (*pages[target.resolve()].names, "")


def cells(table):
    rows = [re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL) for row in table.split("</tr>")]
    return [[re.sub(r"<[^>]+>", "", one).strip() for one in row] for row in rows]


def test_the_answer_comes_first(site):
    text = (site / "index.html").read_text("utf-8")
    newest, servers, others, tools = re.findall(r"<table.*?</table>", text, re.DOTALL)
    own = (
        "schema of your own</strong>: xgrammar 0.2.8 (41 wrong), closest to the specification;"
        " vllm 0.33.0 (2 wrong), on a server as it is set up."
    )
    assert 0 < text.index(own) < text.index(newest)
    assert cells(newest)[1] == ["xgrammar 0.2.8", "4", "6", "17", "1", "23", "490"]
    assert cells(servers)[1] == ["vllm 0.33.0", "0", "0", "2", "0", "0", "500"]
    assert cells(others)[1:] == [["maskforge 0.1.1", "1", "0", "0", "0", "0", "299"], []]
    assert cells(tools)[1:3] == [
        ["llguidance 1.9.1", "1", "0", "0", "0"],
        ["xgrammar 0.2.8", "0", "1", "0", "1"],
    ]


def test_an_engine_has_its_findings_keywords_spellings_and_bugs(site):
    text = (site / "engines" / "xgrammar.html").read_text("utf-8")
    (newest,) = (one for one in re.findall(r"<table.*?</table>", text, re.DOTALL) if "490" in one)
    assert text.index(newest) < text.index("loses 1, leaks 1")
    for told in ("loses 1, leaks 1", "whitespace/before-text-tab", "32900f4b", "a|b", "␉[1]"):
        assert told in text
    tables = {
        cells(one)[0][0]: cells(one) for one in re.findall(r"<table.*?</table>", text, re.DOTALL)
    }
    assert tables["keyword"][1:3] == [
        ["enum", "root, not, 2 of 3", "{&quot;a&quot;: 2}", ""],
        ["type", "all 1", "", "-1"],
    ]
    assert tables["asked"][1] == ["xgrammar", "1", "1", "1", "0", "1"]


def test_a_bug_of_another_engine_has_no_version_of_this_one(site):
    text = (site / "engines" / "xgrammar.html").read_text("utf-8")
    own, found = text.split("Found as another engine")
    assert "32900f4b" not in own
    (row,) = (row for row in found.split("<tr") if "32900f4b.html" in row)
    assert "llguidance 1.9.1" in row


def test_an_engine_that_only_the_page_on_all_asks_has_its_counts(site):
    text = (site / "engines" / "maskforge.html").read_text("utf-8")
    assert "Of 300 schemas of JSONSchemaBench" in text
    assert "tools: not asked" in (site / "badges" / "maskforge.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([("0.2.8", "fixed"), ("0.2.8", "remaining")], "in 0.2.8"),
        ([("0.2.8", "remaining"), ("0.2.9", "fixed")], "fixed in 0.2.9"),
        ([("0.2.10", "new"), ("0.2.9", "fixed")], "in 0.2.10"),
        ([("0.2.9", "cannot be told"), ("0.2.8", "fixed")], "fixed in 0.2.8"),
    ],
)
def test_a_bug_is_there_still_where_the_newest_version_shows_it_anywhere(rows, state):
    told = states({"bug": "a", "new": new, "status": status} for new, status in rows)
    assert told == {"a": state}


@pytest.mark.parametrize(
    ("title", "rule"),
    [
        ("accepts an empty object that breaks `required`", "required"),
        ("invalid JSON is allowed: a control character in a string under `type`", "json"),
        ("a digit is refused in a number under `minimum`", "minimum"),
        ("`E` is refused in a number", "E"),
    ],
)
def test_a_script_names_the_rule_that_its_bug_breaks(title, rule, tmp_path):
    file = tmp_path / "bugs.json"
    file.write_text(json.dumps([{**BUG, "title": title}]))
    (bug,) = published_bugs(file)
    assert bug.bug.keyword == rule


def test_a_bug_has_its_smallest_case_and_a_script_that_runs(site, root, tmp_path):
    text = (site / "bugs" / "32900f4b.html").read_text("utf-8")
    assert "0001-02-29" in text
    assert "ends with 1 while the bug is there" in text
    bugs = {one.id: one for one in Published.read(root / "results").bugs}
    assert "TEXT = b'\"0001-02-29\"'" in bugs["32900f4b"].script
    compile(bugs["b9946ef9"].script, "b9946ef9.py", "exec")


@pytest.mark.engines
@pytest.mark.processes
def test_its_script_shows_it(root, tmp_path):
    (bug,) = (one for one in Published.read(root / "results").bugs if one.id == "b9946ef9")
    (tmp_path / "bug.py").write_text(bug.script)
    done = subprocess.run([sys.executable, tmp_path / "bug.py"], capture_output=True, check=False)
    assert done.returncode == 1, done.stderr


def test_a_bug_whose_case_cannot_be_made_again_has_no_script(site):
    text = (site / "bugs" / "00000000.html").read_text("utf-8")
    assert "not enough to make one" in text
    assert "fixed in 1.9.1" in text


def test_what_is_fixed_of_a_topic_is_said_beside_what_is_there_still(site):
    text = (site / "bugs" / "index.html").read_text("utf-8")
    (row,) = (row for row in text.split("<tr") if "32900f4b.html" in row)
    assert "in 1.9.1" in row
    assert "11111111</span></a> (fixed in 1.9.1)" in row


def test_a_badge_is_what_an_endpoint_answers(site):
    badges = {path.stem: json.loads(path.read_text("utf-8")) for path in site.glob("badges/*.json")}
    assert badges["xgrammar"] == {
        "schemaVersion": 1,
        "label": "maskcourt xgrammar 0.2.8",
        "message": "tools: 1 wrong of 3",
        "color": "red",
    }
    assert badges["llguidance"]["message"] == "tools: 0 wrong, 1 refused of 3"


def test_the_workflow_publishes_what_make_builds():
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))
    steps = workflow["jobs"]["build"]["steps"]
    assert [one["run"] for one in steps if "run" in one] == ["make site ENGINES=llguidance"]
    assert steps[-1]["with"]["path"] == "build/site/html"
