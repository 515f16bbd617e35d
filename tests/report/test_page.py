"""The report as one file: what it holds, which verdicts it shows, and that nothing gets out."""

import base64
import hashlib
import json
import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.compile_reasons import compile_reasons
from harness.analysis.stored import StoredRun
from harness.analysis.tally import case_statuses, crossed
from harness.bugs.scripts import script
from harness.classification.departures import Catalogue
from harness.cli.runs import report
from harness.render.page import embedded
from harness.report.page import collect as collecting
from harness.report.page.collect import assembled, collect
from harness.report.page.explained import pieces
from harness.report.page.sampling import draw
from harness.report.page.schema_lines import laid_out
from harness.verdict_kinds import WALK
from tests import reporting
from tests.books import Book, all_bugs, classes, store
from tests.buglists import bug, bug_list
from tests.reporting import ATTACK, A, B, C

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return reporting.small(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def data(run):
    return collect(run, "runs/it is")


@pytest.fixture(scope="module")
def page(data):
    return assembled(data)


def verdict(data, kind, case="others"):
    """The one verdict of a kind in a case, and its group."""
    of_case = [one for one in data["verdicts"] if one["case"] == case]
    (found,) = [one for one in of_case if data["groups"][one["group"]]["kind"] == kind]
    return found, data["groups"][found["group"]]


class TestSample:
    def test_holds_the_rare_beside_the_frequent(self, run):
        sample = draw(StoredRun(run, all_bugs), 5, seed=0)
        shown = {one["kind"]: one["shown"] for one in sample.groups}
        errors = ("false_acceptance", "false_rejection", "stops_too_early", "dead_end")
        assert shown == {**dict.fromkeys(errors, 1), "unresolved": 0}

    @pytest.mark.parametrize(("size", "shown"), [(3, 3), (10, 10), (99, 24)])
    def test_counts_all_and_shows_as_many_as_there_is_room_for(self, run, size, shown):
        sample = draw(StoredRun(run, all_bugs), size, seed=0)
        tables = ("verdicts", "instance_verdicts")
        rows = sum(run.table(one, ["case"]).num_rows for one in tables)
        assert sum(one["verdicts"] for one in sample.groups) == rows
        assert len(sample.choice) == sum(one["shown"] for one in sample.groups) == shown

    def test_depends_on_the_seed_alone(self, run):
        stored = StoredRun(run, all_bugs)

        def drawn(seed):
            return draw(stored, 8, seed).choice.of(WALK).tolist()

        assert drawn(1) == drawn(1)
        assert len({tuple(drawn(seed)) for seed in range(10)}) > 1

    def test_serves_bugs_before_departures(self, tmp_path):
        book = Book("one").position(0)
        for number, detail in enumerate(("declared", "", "declared")):
            more = {"detail": detail, "keyword": f"k{number}"}
            book.verdicts(0, "a", "mask_consume_mismatch", 1, first=number, **more)
        rule = classes({"declared": ("departure", "it")})
        sample = draw(StoredRun(store(tmp_path / "run", book), rule), 1, seed=0)
        assert [one["class"] for one in sample.groups if one["shown"]] == ["bug"]


class TestCounts:
    @pytest.fixture
    def counted(self, tmp_path):
        one = (
            Book("one", family="x")
            .position(0)
            .dispute(0, A, B | C, tokens=5)
            .verdicts(0, "b", "false_rejection", 2, number=0, keyword="type")
            .verdicts(0, "c", "false_rejection", 2, number=0, keyword="type", detail="declared")
            .verdicts(0, "a", "false_acceptance", 1, number=0, first=2, keyword="enum")
            .instance(0, "invalid")
            .on_instance(0, "a", "false_acceptance", keyword="enum")
        )
        two = Book("two", family="y").instance(0, "invalid")
        two.on_instance(0, "a", "false_acceptance", keyword="enum")
        three = Book("three", "not_compared", "not_compiled_by_all", family="y")
        three.compiled("compiled", "refused", "timed_out")
        rule = classes({"declared": ("departure", "it")})
        return StoredRun(store(tmp_path / "run", one, two, three), rule)

    def test_a_schema_with_both_kinds_of_evidence_counts_once(self, counted):
        rows = [row for row in crossed(counted, "keyword") if row["keyword"] == "enum"]
        assert [(row["tokens"], row["instances"], row["cases"]) for row in rows] == [(1, 2, 2)]

    def test_families_are_those_of_the_cases(self, counted):
        rows = {
            (row["family"], row["kind"], row["engine"]): row for row in crossed(counted, "family")
        }
        assert rows["y", "false_acceptance", "a"]["cases"] == 1
        assert rows["x", "false_rejection", "b"]["tokens"] == 2

    def test_what_became_of_the_cases_and_why(self, counted):
        found = {(row["family"], row["status"]): row["cases"] for row in case_statuses(counted)}
        assert found == {("x", "walked"): 1, ("y", "walked"): 1, ("y", "not_compared"): 1}
        why = compile_reasons(counted.run)
        assert {name: list(outcomes) for name, outcomes in why.items()} == {
            "b": ["refused"],
            "c": ["timed_out"],
        }


class TestTexts:
    @given(st.binary(max_size=400), st.integers(0, 40), st.integers(1, 40))
    def test_no_byte_is_lost_uncounted(self, text, first, last):
        begin, *rest = pieces(text, (first, last))
        whole = begin.encode("utf-8", "surrogateescape")
        if not rest:
            assert whole == text
            return
        left_out, end = rest
        tail = end.encode("utf-8", "surrogateescape")
        assert text.startswith(whole)
        assert text.endswith(tail)
        assert len(whole) + left_out + len(tail) == len(text)

    def test_a_cut_does_not_split_a_character(self):
        begin, left_out, end = pieces("ä".encode() * 100, (11, 11))
        assert (begin, end) == ("ä" * 6, "ä" * 6)
        assert left_out == 200 - 24


class TestSchema:
    SCHEMA = json.dumps(
        {"$defs": {"x": {"type": "null"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}
    )

    def shown(self, pointer, schema=SCHEMA, limit=10_000):
        laid = laid_out(schema, [pointer], limit)
        first, last = laid.spans[pointer]
        return [line.strip() for line in laid.lines[first : last + 1]]

    def test_says_which_lines_a_pointer_is_about(self):
        assert self.shown("/$defs/x/type") == ['"type": "null"']
        assert self.shown("/$defs/x") == ['"x": {', '"type": "null"', "}"]

        assert self.shown("/$defs/x/nothing") == ['"x": {', '"type": "null"', "}"]

    def test_follows_references_as_validators_do(self):
        assert self.shown("/properties/a/$ref/type") == ['"type": "null"']
        assert self.shown("/properties/a/$ref") == ['"$ref": "#/$defs/x"']
        assert self.shown("/$ref" + "/$ref" * 50, '{"$ref": "#"}'), "one to itself ends"

    def test_keeps_numbers_as_they_are_written(self):
        text = "1.00, 1e400, 123456789012345678901234567890"
        assert laid_out(f'{{"enum": [{text}]}}', [], 1000).lines[2:5] == [
            *("    1.00,", "    1e400,", "    123456789012345678901234567890")
        ]

    def test_of_a_large_one_keeps_what_the_pointer_is_about(self):
        others = {f"p{number}": {"enum": list(range(50))} for number in range(50)}
        schema = json.dumps({"properties": {**others, "a": {"maxLength": 3}}})
        laid = laid_out(schema, ["/properties/a/maxLength"], 500)
        first, last = laid.spans["/properties/a/maxLength"]
        assert laid.lines[first : last + 1] == ['      "maxLength": 3']
        assert laid.abridged
        assert len("\n".join(laid.lines)) < len(schema) / 2
        assert any("characters left out" in line for line in laid.lines)

    def test_shows_what_would_not_be_seen(self):
        (line,) = laid_out('"\u202e\\u0000"', [], 100).lines
        assert line == '"\\u202e\\u0000"'


class TestData:
    def test_a_verdict_with_all_that_is_known_of_it(self, data):
        one, group = verdict(data, "false_acceptance", "lengths")
        assert (one["before"], one["after"], one["ends"]) == (['{"a": "b'], ['"}'], True)
        assert (one["allowed"], one["forbidden"]) == (["one:A"], ["two:B", "three:C"])
        assert (one["accepter"], one["instance_pointer"]) == ("one:A", "/a")
        assert one["opinions"] == {"jsonschema": "invalid", "jsonschema-rs": "invalid"}
        first, last = data["cases"]["lengths"]["spans"][one["schema_pointer"]]
        lines = data["cases"]["lengths"]["lines"][first : last + 1]
        assert [line.strip() for line in lines] == ['"maxLength": 1']
        assert (group["class"], group["family"], group["verdicts"]) == ("bug", "short", 1)

    def test_bytes_that_are_no_text_stay_apart(self, data):
        dead, _ = verdict(data, "dead_end")
        assert dead["token"]["text"].encode("utf-8", "surrogateescape") == b"\xff"
        assert dead["opinions"] is None

    def test_an_end_of_generation_is_no_text(self, data):
        early, _ = verdict(data, "stops_too_early")
        assert early["token"]["special"] is True
        assert (early["before"], early["after"]) == (['"a'], [""])

    def test_says_of_which_run_and_how_to_repeat(self, data):
        assert data["about"]["replayed"] == "maskcourt replay 'runs/it is' --trust"
        assert data["summary"]["finished"] is True
        assert data["manifest"]["identity"]["limits"]["compile"] > 0

    def test_bugs_with_their_case_and_all_scripts(self, run, monkeypatch):
        about = {"verdict": "i0", "case": "others"}
        ours = [bug("xgrammar", number, cases=number, **about) for number in (1, 2)]
        early = bug("one:A", 3, verdict="1", kind="dead_end", text=b"\xff", at=0)
        listed = bug_list(*ours, early, pending=6)
        monkeypatch.setattr(collecting, "known_bugs", lambda *_: listed)
        found = collect(run, "r")["bugs"]
        assert [one["id"][-1] for one in found["list"]] == ["3", "2", "1"]
        assert {one["case"] for one in found["list"][1:]} == {"others"}
        assert found["list"][0]["text"] == ["", "\udcff", ""]
        assert "scripts are written for" in found["list"][0]["no_script"]
        for one, mine in zip(found["list"][1:], ours[::-1], strict=True):
            text = "\n".join(found["lines"][at] for at in one["script"]) + "\n"
            assert text == script(mine)
        assert found["unexplained"] == {"not shrunk yet": 6}

    def test_the_verdict_of_each_bug_is_among_those_that_can_be_opened(self, run, monkeypatch):
        monkeypatch.setattr(
            collecting, "known_bugs", lambda *_: bug_list(bug("one:A", verdict="9"))
        )
        found = collect(run, "r", verdicts=1)
        assert "9" in [one["id"] for one in found["verdicts"]]

    @pytest.mark.thorough
    def test_of_an_unfinished_run(self, tmp_path):
        found = collect(reporting.begun(tmp_path), "r")
        assert found["summary"]["finished"] is False
        assert len(found["verdicts"]) == found["about"]["shown"] > 20

    def test_without_verdicts_still_counts_them(self, run):
        found = collect(run, "r", verdicts=0)
        assert found["bugs"] is None, "nobody looked for them"
        assert found["verdicts"] == []
        assert sum(one["verdicts"] for one in found["groups"]) == 25


class TestFile:
    @pytest.mark.thorough
    def test_is_the_same_every_time(self, run, page):
        again = collect(run, "runs/it is")
        assert assembled(again) == page

    def test_its_policy_allows_its_own_programs_alone(self, page):
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
        rules = dict(one.split(" ", 1) for one in policy.split("; "))
        for tag, rule in (("style", "style-src"), ("script", "script-src")):
            (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert rules[rule] == f"'sha256-{digest}'"
        for rule in ("default-src", "base-uri", "form-action"):
            assert rules[rule] == "'none'"

    def test_refers_to_nothing_outside(self, page):
        head = page[: page.index('<script type="application/json"')]
        assert not re.findall(r'(?:src|href)="(?!#|data:,")[^"]*"', head)
        assert "@import" not in page
        assert "url(" not in head

    def test_data_cannot_end_their_block(self, tmp_path):
        found = collect(reporting.attacking(tmp_path), "r")
        page = assembled(found)
        assert page.count("<script") == page.count("</script>") == 2
        assert "<img" not in page
        assert ATTACK in found["cases"]
        block = page[page.index('id="data">') + len('id="data">') :].partition("</script>")[0]
        assert json.loads(block) == json.loads(json.dumps(found))

    @given(
        st.recursive(st.text() | st.none(), lambda inner: st.lists(inner, max_size=3), max_leaves=5)
    )
    def test_what_is_embedded_is_inert_and_whole(self, value):
        text = embedded({"it": value})
        assert text.isascii()
        assert not set("<>&") & set(text)
        assert json.loads(text) == {"it": value}


class TestCommand:
    @pytest.fixture(autouse=True)
    def _nothing_is_a_departure(self, monkeypatch):
        monkeypatch.setattr(
            "harness.classification.departures.load_catalogue", lambda _=None: Catalogue(())
        )

    def test_writes_one_file_and_says_which(self, run, tmp_path):
        out = tmp_path / "new" / "page.html"
        arguments = [str(run.path), "--out", str(out), "--trust", "--json"]
        done = CliRunner().invoke(report, arguments)
        assert done.exception is None
        said = json.loads(done.stdout)
        assert said["files"] == {str(out): out.stat().st_size}
        assert out.read_text("utf-8").startswith("<!doctype html>")
        assert [one.name for one in out.parent.iterdir()] == ["page.html"]
