"""What a newcomer reads at the end of a run: the answer first, in few lines."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.report.digest import FEW, print_digest
from harness.report.tally import summary
from tests import books
from tests.books import Book, all_bugs, classes
from tests.report.test_render import ENGINES, book


@pytest.fixture
def digest(tmp_path):
    """The lines that are printed about a run of some cases."""

    def printed(*stored: Book, classify=all_bugs) -> list[str]:
        run = books.store(tmp_path / "run", *stored, engines=ENGINES)
        console = Console(file=io.StringIO(), width=80, force_terminal=False)
        print_digest(run, summary(run, classify), console, classify)
        return console.file.getvalue().splitlines()

    return printed


def refusing(name: str, message: str, outcome: str = "refused") -> Book:
    refused = Book(name).compiled("compiled", outcome, "compiled")
    refused.rows.replace("engines", message=["", message, ""])
    return refused


def many(*others: Book) -> list[Book]:
    return [*others, *(book(f"more {number}") for number in range(FEW + 1 - len(others)))]


def test_says_of_each_engine_on_how_many_schemas_it_is_wrong(digest):
    lines = digest(*many())
    start = lines.index(f"a 1.2.3 compiles {FEW + 1} of {FEW + 1} schemas.")
    accepts, rejects = lines[start + 1 : start + 3]
    assert accepts.startswith(
        f"  lets invalid output through: {FEW + 1} of {FEW + 1} walked (100%)"
    )
    assert f"; most: enum {FEW + 1}" in accepts
    assert rejects.startswith(f"  forbids valid output: {FEW + 1} of {FEW + 1} walked (100%)")
    assert "  lets invalid output through: 0 of 11 walked (0%)" in lines


def test_what_is_declared_is_no_error(digest):
    declared = Book("case 0").position(0).verdicts(0, "a", "false_rejection", 1, detail="declared")
    clean = [Book(f"clean {number}").position(0) for number in range(FEW)]
    lines = digest(declared, *clean, classify=classes({"declared": ("departure", "y")}))
    assert not any("100%" in line or "9%" in line for line in lines)
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


def test_lists_few_cases_by_engine_instead_of_shares(digest):
    lines = digest(book("one"), refusing("two", "no"))
    (one,) = (line for line in lines if line.split()[:1] == ["one"])
    assert "lets through 6, forbids 4" in " ".join(one.split())
    (two,) = (line for line in lines if line.split()[:1] == ["two"])
    assert "refused" in two
    assert not any("%" in line for line in lines)


def test_says_in_one_line_that_nothing_could_be_judged(digest):
    cases = [Book(f"case {n}", "not_compared", "fewer_than_two_engines") for n in range(FEW + 1)]
    for one in cases:
        one.compiled("refused", "refused", "refused")
        one.rows.replace("cases", judged=[0])
    lines = digest(*cases)
    assert lines[0].startswith(
        "Nothing could be judged: no engine on any of 11 schemas (fewer than"
    )
    assert not any(" 0 " in line or "%" in line for line in lines)


def test_names_the_commands_that_go_further_and_an_error_to_replay(digest, tmp_path):
    """With --trust, since none of these engines is built-in."""
    lines = digest(*many())
    run = f"{tmp_path / 'run'} --trust"
    for command in (
        f"maskcourt tally {run} ",
        f"maskcourt report {run} ",
        f"replay {run} 0 --show",
    ):
        assert any(command in line for line in lines)


def test_fits_on_a_screen(digest):
    lines = digest(*many(*(refusing(f"refused {n}", f"no {'x' * n} is " * 9) for n in range(9))))
    assert len(lines) <= 40
    assert all(len(line) <= 80 for line in lines if "run" not in line)
