"""What a reader of the terminal sees: bugs beside warned and departures, and how bad they are."""

import io

import pytest
from rich.console import Console

from harness.analysis.tally import summary
from harness.report.terminal import print_summary
from tests.books import Book, all_bugs, classes
from tests.buglists import apart, bug, bug_list

A, B, C = 1, 2, 4
ENGINES = {name: {"version": "1.2.3"} for name in ("a", "b", "c")}


LEAK, LOSS = ({"effect": effect, "shown_by": "plain"} for effect in ("invalid_value", "lost_value"))


def shown(show, found, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    show(found, "runs/one", console)
    return console.file.getvalue()


def text(run, classify=all_bugs, width=100):
    return shown(print_summary, summary(run, classify), width)


def cells(printed, *start):
    """The words behind the given ones, in the line that begins with them."""
    lines = [line.split() for line in printed.splitlines()]
    (found,) = (line[len(start) :] for line in lines if line[: len(start)] == list(start))
    return found


def book(name="case"):
    return (
        Book(name)
        .compiled("compiled", "compiled", "compiled")
        .position(0, "inside string", canonical=7)
        .instance(0, "valid")
        .instance(1, "invalid")
        .verdicts(0, "a", "false_acceptance", 4, keyword="enum", located=True, **LEAK)
        .verdicts(0, "a", "false_acceptance", 2, first=4, detail="said")
        .verdicts(0, "a", "false_rejection", 3, first=6, **LOSS)
        .verdicts(0, "a", "false_rejection", 1, first=9, detail="declared")
        .verdicts(0, "a", "never_stops", 1, first=20)
    )


DECLARED = classes({"said": ("warned", "x"), "declared": ("departure", "y")})


class TestSummary:
    def test_shows_bugs_warned_and_departures_side_by_side(self, stored):
        printed = text(stored(book()), DECLARED)
        found = cells(printed, "a", "walk", "false", "acceptance")
        assert found == ["4", "2", "0", "0", "4", "-", "1"]
        assert ["walk", "false", "rejection", *"301---1"] in map(str.split, printed.splitlines())
        assert cells(printed, "walk", "never", "stops") == list("100---1")
        assert "dead end" not in printed

    def test_begins_with_losses_and_leaks_and_then_the_bugs(self, stored):
        known = bug_list(bug("b", 2, cases=2), *(apart("a", number) for number in range(10, 18)))
        found = summary(stored(book()), all_bugs)
        lines = shown(lambda *args: print_summary(*args, known), found).splitlines()
        starts = [lines.index(name) for name in ("a", "b")]
        assert next(n for n, line in enumerate(lines) if "1 of 1: 100%" in line) < starts[0]
        assert lines[starts[0] + 7] == "  and 2 more"
        assert "00000002" in lines[starts[1] + 1]
        assert lines[starts[1] + 2].endswith("; all of them: maskcourt bugs runs/one")
        assert starts[1] < next(n for n, line in enumerate(lines) if "In short" in line)

    def test_then_says_what_each_engine_gets_wrong(self, stored):
        printed = text(stored(book()), DECLARED, width=200)
        said = " ".join(printed[printed.index("In short") :].split())
        assert all(begin in said for begin in ("Refuses none", "Lets an", "Cannot write"))


@pytest.mark.thorough
class TestSummaryInDetail:
    def test_gives_each_rate_its_interval(self, stored):
        many = [book(f"case {number}") for number in range(3)]
        clean = [Book(f"clean {number}").position(0) for number in range(7)]
        printed = text(stored(*many, *clean), DECLARED, width=140)
        assert cells(printed, "a", "1.2.3")[:6] == ["3", "of", "10:", "30.0%", "(0-60.0%);", "3"]
        assert "0 real: 0% (0-30.0%)" in printed

    def test_says_why_there_are_no_intervals(self, stored):
        printed = text(stored(book(), data="embedded", vocabulary={"size": 1000}), DECLARED)
        assert "were written by hand" in " ".join(printed.split())
        assert "(0-" not in printed

    def test_says_which_engines_cannot_be_told_apart(self, stored):
        many = [
            Book(f"case {number}").position(0).verdicts(0, "a", "false_rejection", 2, **LOSS)
            for number in range(12)
        ]
        many[0].verdicts(0, "b", "false_acceptance", 1, **LEAK)
        printed = text(stored(*many))
        assert cells(printed, "loss", "everyday", "a", "b", "12") == ["12", "0", "0.0015", "true"]
        assert cells(printed, "leak", "everyday", "b", "c", "12") == ["1", "0", "1", "false"]

    def test_shows_instances_where_there_are_any(self, stored):
        refused = book().on_instance(0, "a", "false_rejection", 0, 1)
        printed = text(stored(refused), DECLARED)
        lines = [*map(str.split, printed.splitlines())]
        assert ["instance", "false", "rejection", *"100--11"] in lines
        assert "sample" not in [word for line in lines for word in line[:2]]

    def test_says_what_is_a_fault_of_an_adapter(self, stored):
        printed = text(stored(book().engine("a", "mask_changes", "walk")))
        said = "its mask changes from asking to asking, in 1 case, in which it was not judged"
        assert f"fault of an adapter, no bug of a: {said}" in " ".join(printed.split())
        assert "fault of" not in text(stored(book()))

    def test_says_how_much_was_made_of_schemas(self, stored):
        made = book().instance(7, label="generated")
        made.rows.replace("cases", generated=[True])
        expected = "made of schemas: 1 instance; 1 case without a valid one walked along them"
        assert expected in text(stored(made))
        assert "made of schemas" not in text(stored(book()))

    def test_says_where_a_run_was_capped(self, stored):
        capped = book().dispute(0, A, B | C, tokens=100, drawn=20)
        assert "  capped: tokens were resolved by a sample" in text(stored(capped))
        assert "capped" not in text(stored(book().dispute(0, A, B | C, tokens=20)))

    def test_names_engines_with_their_options(self, stored):
        """Rich would take the brackets for markup."""
        name = "b[c=1]"
        capped = book().dispute(0, A, B | C, tokens=100, drawn=20)
        capped.rows.replace("engines", engine=["a"] * capped.rows.count("engines"))
        printed = text(stored(capped, engines={"a": {"version": "1"}, name: {"version": "2"}}))
        tables = ("headline", "in short", *["pairs"] * 4, "errors", "compilation")
        assert sum(name in line for line in printed.splitlines()) == len(tables)

    @pytest.mark.parametrize("width", [60, 80, 100])
    def test_fits_the_terminal(self, stored, width):
        names = (f"a_package.of_somebody.with_engines:Engine{n}[option=value]" for n in range(3))
        engines = {name: {"version": "1.2.3.post4"} for name in names}
        printed = text(stored(engines=engines), width=width)
        assert "not judged" in " ".join(printed.split())
        tables = [line for line in printed.splitlines() if line.startswith(" ")]
        assert max(map(len, tables)) <= width
