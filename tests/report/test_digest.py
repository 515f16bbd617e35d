"""What a newcomer reads at the end of a run: the answer first, in few lines."""

import io

import pytest
from rich.console import Console

from harness.analysis.tally import summary
from harness.report.digest import print_digest
from tests import books
from tests.books import A, B, Book, all_bugs, classed, classes
from tests.buglists import apart, bug, bug_list
from tests.report.test_terminal import ENGINES, LOSS, book

pytestmark = pytest.mark.thorough


@pytest.fixture
def digest(tmp_path):
    """The lines that are printed about a run of some cases."""

    def printed(*stored: Book, classify=all_bugs, bugs=None, **options) -> list[str]:
        run = books.store(tmp_path / "run", *stored, engines=ENGINES, **options)
        console = Console(file=io.StringIO(), width=80, force_terminal=False)
        with classed(classify):
            print_digest(run, summary(run), console, bugs)
        return console.file.getvalue().splitlines()

    return printed


def refusing(name: str, message: str, outcome: str = "refused") -> Book:
    refused = Book(name).compiled("compiled", outcome, "compiled")
    refused.rows.replace("engines", message=["", message, ""])
    return refused


def many(*others: Book) -> list[Book]:
    return [*others, *(book(f"more {number}") for number in range(7 - len(others)))]


def test_begins_with_what_each_engine_loses_leaks_and_refuses(digest):
    """A line for each engine; without known bugs, in sentences, too."""
    lines = digest(*many())
    (first,) = (line.split() for line in lines if line.startswith(" a 1.2.3"))
    assert " ".join(first[2:]) == "7 of 7, 0 real 7 of 7, 0 real 0 0 0 of 7"
    text = " ".join(" ".join(lines).split())
    assert "a: Cannot write a valid value in 7 of 7 schemas (none with a value of" in text
    assert "a: Lets an invalid value through in 7 of 7 schemas" in text
    assert "b: " not in text


def test_compares_in_pairs_where_not_all_were_judged_on_the_same(digest):
    """c is judged on half of the schemas; a loses a value in all of them."""
    cases = [Book(f"case {n}").position(0, judged=7 if n % 2 else A | B) for n in range(12)]
    for one in cases:
        one.compiled(*["compiled"] * 3).verdicts(0, "a", "false_rejection", **LOSS)
    text = " ".join(" ".join(digest(*cases)).split())
    assert "wrong alone: a 12, b 0 of 12 by loss; a 6, c 0 of 6 by loss" in text


def test_of_engines_that_were_judged_on_the_same_no_pairs_are_told(digest):
    assert not any("In pairs" in line for line in digest(*many()))


def test_what_is_declared_stands_beside_the_rate(digest):
    declared = Book("case 0").position(0).verdicts(0, "a", "false_rejection", **LOSS, detail="y")
    clean = [Book(f"clean {number}").position(0) for number in range(6)]
    lines = digest(declared, *clean, classify=classes({"y": ("departure", "y")}))
    assert "1 of 7, 0 real, 1 declared" in " ".join(" ".join(lines).split())
    assert not any("replay" in line for line in lines)


def test_groups_refusals_by_reason_with_the_names_that_differ(digest):
    messages = ['Unimplemented keys: ["if", "then"]', 'Unimplemented keys: ["if"]']
    refused = [refusing(f"refused {n}", text) for n, text in enumerate(messages)]
    lines = digest(*many(*refused, refusing("slow", "over the limit of 10 s", "timed_out")))
    assert "b refused 2 schemas: 2 Unimplemented keys (2 if, then)" in lines
    assert "b ran out of time on 1 schema: 1 over the limit of 10 s" in lines


def test_marks_a_warning_that_the_list_does_not_have(digest):
    warned = Book("warned").compiled("compiled", "compiled", "compiled")
    known = "cpp/a.cc:9: Warning: Support for allOf with multiple options is still ongoing\n"
    new = "cpp/a.cc:9: Warning: prefixItems is hard; ignoring it\n"
    warned.rows.replace("engines", output=["", known + new, ""])
    text = " ".join(" ".join(digest(*many(warned))).split())
    assert "1 Support for allOf with multiple options is still ongoing" in text
    assert "1 not listed: prefixItems is hard; ignoring it" in text


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ([], None),
        (["walked"], "1 case used up its"),
        (["walked", "set_aside", "walked"], "3 cases used up their"),
    ],
)
def test_says_at_its_end_which_cases_used_up_their_budget(digest, statuses, said):
    spent = [book(f"spent {number}") for number in range(len(statuses))]
    for one, status in zip(spent, statuses, strict=True):
        one.rows.replace("cases", status=[status], reason=["case_budget"])
    end = digest(*many(*spent))[-6:]
    expected = f"{said} budget (--case-budget); what was proven before counts"
    assert (expected in end) is bool(said)
    assert any("budget" in line and "used up" in line for line in end) is bool(said)


def test_says_in_one_line_that_nothing_could_be_judged(digest):
    cases = [Book(f"case {n}", "not_compared", "fewer_than_two_engines") for n in range(7)]
    for one in cases:
        one.compiled("refused", "refused", "refused")
        one.rows.replace("cases", judged=[0])
    lines = digest(*cases)
    assert lines[0].startswith("Nothing could be judged: no engine on any of 7 schemas (fewer than")
    assert not any(" 0 " in line or "%" in line for line in lines)


def test_names_the_commands_that_go_further_and_an_error_to_replay(digest, tmp_path):
    """With --trust, since none of these engines is built-in."""
    run = f"{tmp_path / 'run'} --trust"
    known = bug_list(bug("a", verdict="i7"))
    for bugs in (None, known):
        lines = digest(*many(), bugs=bugs)
        for command in ("tally", "report", "bugs"):
            assert any(f"maskcourt {command} {run} " in line for line in lines)
        assert any(f"replay {run} i7 --show" in line for line in lines) is (bugs is known)


class TestBugs:
    def test_stand_beneath_their_engine_in_their_order(self, digest):
        rare = bug("a", 1, severity="rare", cases=9, title="U+007F in a string is refused")
        real = apart("a", 2, severity="real", cases=2, kind="false_acceptance")
        lines = digest(*many(), bugs=bug_list(rare, real, bug("b", 3)))
        starts = [lines.index(f"{name} 1.2.3") for name in "ab"]
        of_a = [line.split()[:3] for line in lines[starts[0] : starts[1]] if "0000" in line]
        assert of_a == [["2", "2/0/0", "00000002"], ["9", "0/0/9", "00000001"]]
        assert "00000003" in "".join(lines[starts[1] :])
        assert max(starts) > next(n for n, line in enumerate(lines) if " of 7, " in line)

    def test_those_of_one_topic_are_one_line_with_all_its_schemas(self, digest):
        severities = {1: "plain", 2: "rare", 4: "real"}
        some = [bug("a", number, cases=number, severity=one) for number, one in severities.items()]
        lines = digest(*many(), bugs=bug_list(*some, apart("a", 9, cases=1, severity="rare")))
        of_a = [line.split()[:4] for line in lines if "0000" in line]
        assert of_a[0] == ["4", "4/0/0", "00000004", "+2"]
        assert [line[2] for line in of_a] == ["00000004", "00000009"]

    def test_more_than_there_is_room_for_are_counted(self, digest):
        lines = digest(*many(), bugs=bug_list(*(apart("a", number) for number in range(12))))
        assert sum(" 0000" in line for line in lines) == 5
        assert "  and 7 more" in lines

    def test_say_how_much_they_explain_and_what_is_not_shrunk_yet(self, digest):
        lines = digest(*many(), bugs=bug_list(bug("a", cases=3), pending=70))
        told = " ".join(" ".join(lines).split())
        of = "1 bug explains 30.0% of 100 verdicts of the class bug, spellings and unclear ones left out"
        assert f"{of}; not shrunk yet: 70" in told
        assert any("; goes on" in line for line in lines)
        assert lines.count("  none shown so far") == 2

    def test_all_are_explained_where_none_is_left_and_nowhere_else(self, digest):
        left = bug_list(bug("a", cases=9_999), too_slow=7, unnamed=2, pending=1)
        told = " ".join(" ".join(digest(*many(), bugs=left)).split())
        assert (
            "1 bug explains 99.9% of 100,000 verdicts of the class bug, spellings and unclear ones left"
            " out; too slow: 7; unnamed: 2 run:"
        ) in told
        lines = digest(*many(), bugs=bug_list(bug("a", cases=9_999)))
        assert any(
            "1 bug explains 100.0% of 99,990 verdicts of the class bug" in one for one in lines
        )

    def test_a_title_is_one_line_that_no_terminal_obeys(self, digest):
        lines = digest(*many(), bugs=bug_list(bug("a", title="\x1b[2J" + "long " * 40)))
        (line,) = (line for line in lines if "00000000" in line)
        assert "\\x1b[2J" in line
        assert line.endswith("…")
        assert len(line) <= 80


@pytest.mark.parametrize("known", [True, False])
def test_fits_on_a_screen(digest, known):
    refused = [refusing(f"refused {n}", f"no {'x' * n} is " * 9) for n in range(8)]
    slow = refusing("slow", "over the limit of 10 s", "timed_out")
    bugs = [apart(name, number) for name in "abc" for number in range(9)] if known else []
    lines = digest(*many(book("one"), *refused, slow), bugs=bug_list(*bugs) if known else None)
    assert len(lines) <= 40
    assert all(len(line) <= 80 for line in lines if "run" not in line)
    assert sum(" 0000" in line for line in lines) >= 3 * known
