"""Published pages say what their runs hold, finished or not."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmarks.pages import generated, versions
from benchmarks.pages.engines import alone
from benchmarks.pages.equal import REWRITINGS, equal_sentence
from benchmarks.pages.index import index_page, is_worse
from benchmarks.pages.layout import (
    COUNTS,
    SHIPPED,
    SPECIFICATION,
    bug_line,
    bugs_by_engine,
    sentence,
)
from benchmarks.pages.study import charges, rates
from benchmarks.published import PAGES, as_drawn, found, page_of, request_of, write
from harness.engines.specs import parse_specs
from harness.render.table import Table, as_csv
from harness.report.frames import load_run
from harness.schemas import rewritings
from harness.versions.bugs import BugChange
from tests import books
from tests.books import A, B, Book
from tests.buglists import REPORTED, apart, bug
from tests.command import ROOT

ASKED = 11_305


def row(rewriting: str, under: str, **counts: int) -> dict[str, object]:
    none = {"refused": 0, "loses": 0, "leaks": 0}
    return {"rewriting": rewriting, "under": under, "schemas": 12, **none, **counts}


def test_every_rewriting_is_told_in_words():
    assert set(REWRITINGS) == {*rewritings.REWRITINGS, *rewritings.WHOLE}


def test_an_engine_is_told_by_the_form_that_is_wrong():
    rows = [
        row("split-members", "original", loses=1),
        row("split-members", "rewriting", leaks=9, loses=2),
    ]
    assert equal_sentence("lax", "1.0", rows, "80 of 90") == (
        "- lax 1.0, which compiles 80 of 90 of the first form: loses a value in 2 of 12 as"
        " `split-members`; loses a value in 1 of 12 as they are, and not as `split-members`; leaks"
        " one in 9 of 12 as `split-members`."
    )


def test_an_engine_without_a_difference_is_told_to_have_none():
    assert equal_sentence("fair", "1.0", [], "9 of 9").endswith(": no difference was found.")


def test_bugs_of_generated_schemas_are_told_apart_by_who_shows_them_too(monkeypatch):
    """Of the two that cost a value the embedded cases show one."""
    made = [bug("lax", 1), bug("lax", 2), apart("lax", 3, effect="trap")]
    listed = {"generated": made, "embedded": [bug("lax", 2)], "maskbench": []}
    monkeypatch.setattr(generated, "bugs_of", lambda run: SimpleNamespace(bugs=listed[run.name]))
    monkeypatch.setattr(generated, "sentences", lambda _: "")
    runs = {name: SimpleNamespace(name=name, cases=[0, 0], summary={}) for name in listed}
    (table,) = generated.PAGE.tables(runs).values()
    shown = {row["id"]: row["shown_by"] for row in table.rows}
    assert shown.pop("00000002") == "the embedded cases"
    assert [*shown.values()] == ["these alone"] * 2
    text = generated.PAGE.page(runs)
    assert "show 3 bugs that cost a value; of these 2 are shown by none of the embedded" in text
    assert "and 1 are on topics on which those show no bug at all." in text
    assert "`00000001`" in text
    assert "`00000002`" not in text


def test_each_bug_of_two_versions_has_a_row_with_what_became_of_it():
    change = BugChange(bug("lax", 1, schema='{"type":"null"}'), "fixed")
    sides = {name: SimpleNamespace(version=name) for name in ("old", "new")}
    (row,) = versions.rows("embedded", [SimpleNamespace(changes=[change], **sides)])
    assert (row["engine"], row["bug"], row["status"]) == ("lax", "00000001", "fixed")
    assert (row["old"], row["new"], row["schema"]) == ("old", "new", '{"type":"null"}')


def test_what_a_version_fixed_and_broke_is_told_in_a_line():
    old, new = (SimpleNamespace(engine="lax", label=label) for label in ("1.0", "2.0"))
    became = {
        "fixed": [bug("lax", 1), bug("lax", 2, effect="spelling")],
        "new": [],
        "remaining": [bug("lax", 3)],
    }
    rate = {"kind": "leak", "schemas": 9, "both": 1, "only_old": 3, "only_new": 2}
    one = SimpleNamespace(
        old=old,
        new=new,
        having=lambda status: [SimpleNamespace(bug=one) for one in became[status]],
        schemas={"rates": [rate], "compiled_now": {}, "not_now": {"a": "timed_out"}},
    )
    assert versions.in_short(one, "embedded") == (
        "- **lax 1.0 → 2.0**, on the embedded cases: of the bugs that cost a value 1 are fixed, 0"
        " are new and 1 still there; of 9 schemas that both versions compile it leaks a value in 3"
        " (before in 4). Schemas that only the new version compiles: 0; only the old one: 1."
    )


@pytest.mark.parametrize("name", PAGES)
def test_each_run_of_a_page_can_be_asked_for(name, tmp_path):
    for arguments in page_of(name).runs.values():
        request = request_of(arguments, tmp_path, 2)
        assert (request.out, request.lanes) == (tmp_path, 2)
        assert parse_specs(request.engines)


def test_cases_come_in_an_order_that_does_not_follow_their_ids():
    """What an interrupted run has by then is a fair sample: each time in the same order."""

    def taken(ids):
        jobs = [(number, SimpleNamespace(id=id_)) for number, id_ in enumerate(ids)]
        seen = []

        def executor(_settings, _cases, begin, _telling):
            seen.extend(job[1].id for job in begin({})[1])

        telling = SimpleNamespace(skip=lambda _: None, done=0)
        as_drawn(executor)(None, len(ids), lambda _: ("run", iter(jobs)), telling)
        return seen

    ids = [f"easy---o{number}" for number in range(20)]
    assert sorted(taken(ids)) == sorted(ids) != taken(ids)
    assert taken(ids[:7]) == [id_ for id_ in taken(ids) if id_ in ids[:7]]


def rate(schemas, real=0, declared=0, rare=0):
    counts = {"schemas": schemas, "real": real, "declared": declared, "rare": rare}
    return {**counts, "plain": schemas - real, "of": 95}


def test_an_engine_is_told_in_a_sentence():
    outcomes = {"compiled": 95, "refused": 3, "crashed": 0, "timed_out": 2, "out_of_memory": 0}
    rates = {"loss": rate(4, real=1, rare=2), "leak": rate(6, 6, declared=5), "trap": rate(0)}
    rates |= {"format_only": rate(7), "not_json": rate(3, rare=3)}
    about = {"version": "1.0", "compile": outcomes, "failures": {"mask_timed_out": 1}}
    assert sentence("lax", {**about, **rates}) == (
        "- **lax 1.0** refuses 3, does not compile 2 in time and fails later on 1 of 100 schemas;"
        " of 95 judged it loses a value in 4 (1 real), leaks one in 6 (6 real, 5 declared) and traps in 0."
        " By unusual values alone: 2 losses. What `format` alone forbids passes in 7."
        " Text that is not JSON passes in 3, only with unusual texts."
    )


def test_a_bug_is_told_with_what_it_costs_and_its_smallest_case():
    known = bug("lax", 7, severity="real", cases=4, upstream=REPORTED)
    assert bug_line(known) == (
        "- `00000007` lost value in 4 of 10 (4 real): a value such as -0 is refused under"
        ' `minimum`. Smallest case: `-0` under `{"type":"integer","minimum":0}`.'
        " Upstream: [open](https://example.org/threads/7)."
    )
    assert "`. All others that were asked do the same. Upstream:" in bug_line(
        replace(known, shared=True)
    )


def test_bugs_on_one_topic_are_told_with_the_worst():
    worst = bug("lax", 7, severity="real", cases=4)
    lines = [*bugs_by_engine([worst, bug("lax", 8, cases=5), apart("lax", 9)], ["lax"], 1)]
    assert lines[0] == "### lax: 3 bugs on 2 topics"
    assert lines[1] == (
        f"{bug_line(worst)} With 1 other bug under the same keywords (`00000008`) in 5 of 10"
        " (4 real)."
    )
    assert lines[2] == "And 1 more on 1 topic."


@pytest.fixture
def written(tmp_path):
    """The page of a run, and where it stands with its tables and its manifest."""

    def made(name, key="", finish=True, **outcomes):
        engines = {one: {"version": "1.0"} for one in outcomes}
        cases = [Book(f"case {number}") for number in range(3)]
        for number, case in enumerate(cases):
            for engine, outcome in outcomes.items():
                case.engine(engine, outcome)
                for stage, seconds in (("compile", 0.5 * (number + 1)), ("first_mask", 0.0)):
                    if outcome == "compiled":
                        about = {"stage": stage, "engine": engine, "seconds": seconds}
                        case.rows.add("costs", case=case.name, **about)
        data = {"name": "maskbench:some", "cases": 3 if finish else ASKED}
        runs = tmp_path / "runs"
        books.store(runs / key, *cases, finish=False, engines=engines, data=data)
        out = tmp_path / "out"
        write(found(page_of(name), runs), page_of(name), out)
        return (out / "README.md").read_text("utf-8"), out

    return made


def test_the_page_of_an_unfinished_run_says_how_far_it_is(written):
    text, out = written("values", finish=False, lax="compiled", strict="refused")
    first = text.splitlines()[2]
    assert "3 of 11,305 schemas so far" in first.partition(". ")[0]
    assert "**strict 1.0** refuses 3 of 3 schemas" in text
    assert json.loads((out / "manifest.json").read_text())["cases"] == 3


def test_what_compilation_takes_is_told_with_the_share_that_is_slow(written):
    _, out = written("values", lax="compiled", late="timed_out")
    rows = {one["engine"]: one for one in csv.DictReader((out / "times.csv").open())}
    assert rows["lax 1.0"]["median_ms"] == "1000.0"
    assert (rows["lax 1.0"]["over_1_s"], rows["lax 1.0"]["of"]) == ("1", "3")
    assert rows["late 1.0"]["share"] == "100.0%"


def test_a_group_that_has_not_been_run_is_said_to_be_missing(written):
    text, _ = written("newest", "shipped", lax="compiled")
    specification, shipped, *_ = text.split("\n## ")[1:]
    assert "has not been run" in specification
    assert "**lax 1.0** refuses 0 of 3 schemas" in shipped


def test_what_one_roll_out_charges_is_looked_at_again_token_by_token(tmp_path):
    """Of three tokens that are charged to a, one is b's false rejection, and one stays open."""
    engines = {"a": {"version": "1"}, "b": {"version": "1"}}
    kind, other = "false_acceptance", "false_rejection"
    study = Book("one").position(0, judged=A | B).dispute(0, A, B, 30, drawn=3)
    study.verdicts(0, "a", kind, 4)
    ours = Book("one").position(0, judged=A | B).dispute(0, A, B, 30, drawn=3)
    ours.verdicts(0, "a", kind, 1).verdicts(0, "b", other, 1, first=1, effect="spelling")
    ours.verdicts(0, "a", "unresolved", 1, first=2)
    data = {"name": "maskbench:some", "cases": 1}
    for name, book in (("study", study), ("ours", ours)):
        books.store(tmp_path / name, book, engines=engines, data=data)
    runs = load_run(tmp_path / "study"), load_run(tmp_path / "ours")
    told = [tuple(row.values()) for row in charges(*runs)]
    assert told == [("a", 3, 1, 1, 1, 0), ("b", 0, 0, 0, 0, 0)]
    keys = ("study-specification", "ours-specification")
    lead = page_of("study").page(dict(zip(keys, runs, strict=True))).splitlines()[2]
    assert "Of 3 false acceptances that one roll-out per token charges," in lead
    assert "configurations of each engine, 1 (33%) are somebody else's false rejections" in lead
    a, b = rates(runs[1], "ours")
    assert (a["false_acceptances"], a["accepted_per_position"]) == (1, 1.0)
    assert (b["false_rejections"], b["rejected_per_position"]) == (1, 1.0)
    assert b["of_these_cost_a_value"] == 0


def test_engines_are_told_in_pairs_by_who_errs_alone():
    pair = {"counted": "leak", "values": "everyday", "first": "lax", "second": "strict"}
    told = {"pairs": [{**pair, "schemas": 40, "only_first": 7, "only_second": 1}]}
    rows = list(alone({**told, "engines": {"lax": {}, "strict": {}}}, "leak"))
    assert rows == [
        {"engine": "lax", "lax": "", "strict": "7 of 40"},
        {"engine": "strict", "lax": "1 of 40", "strict": ""},
    ]


FINDINGS = """engine,version,tool,backend,finding,keyword,text,why
outlines,0.2.14,a/b,,"loses, leaks",type,1,
llguidance,1.9.1,a/c,,refuses,,,Unknown format: json
xgrammar,0.2.8,a/d,,(loses),type,1,
"""


@pytest.fixture
def results(tmp_path):
    """A results directory with a page on two tools."""
    manifest = {"servers": [{"schemas": {f"a/{name}": "" for name in "bcde"}}]}
    for file, text in (
        ("README.md", "# Tools of public servers\n"),
        ("findings.csv", FINDINGS),
        ("manifest.json", json.dumps(manifest)),
    ):
        (tmp_path / "tools").mkdir(exist_ok=True)
        (tmp_path / "tools" / file).write_text(text)
    return tmp_path


def counted(engine, **numbers):
    row = {**dict.fromkeys(COUNTS, 0), "group": SPECIFICATION, "engine": engine, "version": "1"}
    return {**row, "schemas": 500, "judged": 500, **numbers}


def test_the_index_answers_by_tools_until_there_is_more(results):
    text = index_page(results)
    assert "these answers are of tools alone" in text
    leaks, loses = text.partition("## Which engine cannot")[::2]
    assert "| outlines 0.2.14 | 1 of 4 | 0 | 0 |" in leaks
    assert "| llguidance 1.9.1 | 1 refused; loses 0 and traps 0 of 3 |" in loses
    assert "- **Tools**: xgrammar 0.2.8 or llguidance 1.9.1 (0 wrong), outlines 0.2.14 (" in text
    assert "| llguidance 1.9.1 | **0 of 3 wrong, 1 not compiled** |" in text
    assert "- **Large schemas**: no result that tells is published yet." in text


def test_the_index_takes_its_answers_from_the_newest_engines(results):
    rows = [
        counted("xgrammar", refused=2, judged=498, wrong=9, loses=5, leaks=6, leaks_real=4),
        counted("xgrammar[config=shipped]", group=SHIPPED, loses=7, leaks=1),
        counted("llguidance", refused=40, judged=460, wrong=3, traps=3),
        counted("outlines", refused=201, timed_out=50, judged=249, wrong=1, leaks=1),
        counted("xgrammar", group="As servers have them", wrong=400),
        counted("vllm", group="As servers have them", wrong=30, wrong_declared=20),
    ]
    (results / "newest").mkdir()
    (results / "newest" / "README.md").write_text("# The newest engines\n")
    manifest = {"specification": {"identity": {"limits": {"compile": 5}}}}
    (results / "newest" / "manifest.json").write_text(json.dumps(manifest))
    with (results / "newest" / "counts.csv").open("w") as file:
        writer = csv.DictWriter(file, COUNTS)
        writer.writeheader()
        writer.writerows(rows)
    text = index_page(results)
    assert "of tools alone" not in text
    leaks, loses = text.partition("## Which engine cannot")[::2]
    assert "| xgrammar 1 | 6 (4 real) of 498 | 1 of 500 | not asked | 0 | 0 |" in leaks
    assert "| xgrammar 1 | 2 refused; loses 5 and traps 0 of 498 | loses 7 and traps 0 of" in loses
    assert "| outlines 1 | 201 refused, 50 too slow; loses 0 and traps 0 of 249 | not" in loses
    own = "schema of your own**: llguidance 1 (3 wrong), xgrammar 1 (9 wrong), closest to the spec"
    assert own in text  # 9 of 498 or 3 of 460 may be chance
    closest, on_servers = text.partition("### As servers have them")[::2]
    assert "| outlines 1 | not asked | 1 of 249 wrong, 251 not compiled |" in closest
    assert "| xgrammar 1 | not asked | **9 of 498 wrong, 2 not compiled** |" in closest
    assert "| vllm 1 | **30 (20) of 500 wrong, 0 not compiled** |" in on_servers
    assert "Compilation may take 5 s of processor time." in text
    assert "([newest](newest/README.md); compiled within 5 s of processor time)" in leaks


def test_libraries_that_only_one_page_asks_are_told_of_in_the_index(results):
    (results / "engines").mkdir()
    (results / "engines" / "README.md").write_text("# Nine engines\n")
    rows = [
        counted("xgrammar", wrong=3),
        counted("maskforge", schemas=300, refused=1, judged=299),
        counted("glrmask", schemas=300, judged=300, wrong=4, wrong_declared=3),
    ]
    (results / "engines" / "counts.csv").write_text(as_csv(Table.of("", COUNTS, rows)))
    assert (
        "on 300 schemas of JSONSchemaBench ([engines](engines/README.md)): maskforge 1 is wrong in 0"
        " of 299 (1 not judged); glrmask 1 is wrong in 4 of 300, 3 of them declared."
    ) in index_page(results)


@pytest.mark.parametrize(
    ("best", "other", "worse"),
    [
        ((False, 2, 162), (False, 3, 162), False),
        ((False, 3, 162), (False, 16, 162), True),
        ((False, 0, 10), (False, 4, 10), True),
        ((False, 0, 10), (False, 3, 10), False),
        ((False, 30, 100), (True, 0, 100), True),
        ((True, 30, 100), (True, 30, 100), False),
    ],
)
def test_an_engine_is_worse_than_the_best_only_where_chance_does_not_explain_it(best, other, worse):
    assert is_worse(best, other) == worse


def test_the_page_on_all_results_is_that_of_their_tables():
    assert (ROOT / "results" / "README.md").read_text("utf-8") == index_page(ROOT / "results"), (
        "make results ONLY=index writes it anew"
    )
