"""The matrix: what each engine gets wrong, in a sentence with an example."""

import pytest

from harness.analysis.matrix import example_text
from harness.analysis.tally import summary
from harness.report.page.collect import collect
from harness.report.tables import write_tables
from tests import books, reporting
from tests.books import Book, all_bugs, classes
from tests.replaying import stored

pytestmark = pytest.mark.thorough


@pytest.fixture
def cells(tmp_path):
    """One engine's cells of some cases."""

    def of(*some, engine="a", rule=all_bugs):
        return summary(books.store(tmp_path / "run", *some), rule)["matrix"][engine]

    return of


def walked(name, *effects, shown_by="plain", **more):
    """A case in which engine a shows some effects."""
    book = Book(name).compiled("compiled", "compiled", "compiled").position(0)
    for token, effect in enumerate(effects):
        book.verdicts(
            *(0, "a", "false_rejection"), first=token, effect=effect, shown_by=shown_by, **more
        )
    return book


class TestSentences:
    def test_count_schemas_by_what_an_engine_gets_wrong(self, cells):
        found = cells(
            walked("real", "lost_value", "spelling", shown_by="real"),
            walked("plain", "lost_value", "unclear", detail="declared"),
            walked("trap", "trap"),
            walked("spelt", "spelling"),
            walked("leak", "invalid_value", "format_only", "not_json"),
            rule=classes({"declared": ("departure", "x")}),
        )
        of = [(cell["count"], cell["of"]) for cell in found.values()]
        assert of == [(0, 5), (1, 5), (2, 5), (1, 5), (1, 5)]
        refuses, leaks, loses, traps, spells = (cell["sentence"] for cell in found.values())
        none = "(none with a value of the data set)"
        assert refuses == "Refuses none of 5 schemas."
        assert leaks == (
            f"Lets an invalid value through in 1 of 5 schemas {none};"
            " one that only `format` forbids in 1; what is no JSON in 1."
        )
        assert loses == (
            "Cannot write a valid value in 2 of 5 schemas (1 with a value of the data set,"
            " 1 declared); it is unclear whether in 1."
        )
        assert traps == f"Forbids to finish a value that it lets begin in 1 of 5 schemas {none}."
        assert spells == (
            "Refuses only a spelling of a value in 1 of 5 schemas: see `maskcourt spellings`."
        )

    def test_say_where_nothing_is_proven(self, cells):
        assert [cell["sentence"] for cell in cells(walked("one")).values()][1:3] == [
            "Lets no everyday invalid value through in 1 schema.",
            "Can write every everyday value that was tried in 1 schema.",
        ]

    def test_tell_refusals_from_failures(self, cells):
        some = [Book(f"case {n}").compiled("refused", "compiled", "compiled") for n in range(3)]
        for book in some:
            book.rows.replace("engines", message=['Unimplemented keys: ["if"]', "", ""])
        slow = Book("slow").compiled("timed_out", "compiled", "compiled")
        found = cells(*some, slow)["refuses"]
        assert found["sentence"] == "Refuses 3 of 4 schemas and fails on 1 more."
        assert found["example"] == {"reason": "Unimplemented keys (if)", "schemas": 3}

    def test_of_an_engine_that_was_never_judged(self, cells):
        found = cells(Book("one").compiled("refused", "compiled", "compiled"))
        assert found["leaks"]["sentence"] == "Was judged on no schema."


class TestExamples:
    @pytest.fixture(scope="class")
    @classmethod
    def run(cls, tmp_path_factory):
        return reporting.small(tmp_path_factory.mktemp("run"))

    def test_are_texts_with_their_keyword(self, run):
        found = summary(run, all_bugs)["matrix"]
        leak, loss = found["one:A"]["leaks"]["example"], found["two:B"]["loses"]["example"]
        assert example_text("leaks", leak) == '`{"a": "bc"}` against maxLength'
        assert example_text("loses", loss).endswith("` under maxLength")
        assert found["one:A"]["loses"]["example"] is None

    def test_are_of_the_worst_then_printable_and_short(self, tmp_path):
        book = reporting.Page("family", "one", {"type": "string"}, "ab")
        long = ((b"z", b"z" * size, "plain") for size in (3, 2))
        texts = ((b"a", b"", "rare"), (b"\x01", b"", "plain"), *long)
        for token, rest, shown_by in texts:
            why = (b'"', token, book.completion(rest + b'"'), "one:A")
            book.verdict(
                *("false_rejection", "two:B", *why),
                dispute=-1,
                effect="lost_value",
                shown_by=shown_by,
            )
        run = stored(tmp_path, [book], reporting.ENGINES)
        assert summary(run, all_bugs)["matrix"]["two:B"]["loses"]["example"]["text"] == '"zzz"'

    @pytest.mark.processes
    def test_are_among_the_verdicts_of_the_page(self, run):
        found = collect(run, "run", verdicts=1)
        shown = {one["id"] for one in found["verdicts"]}
        cells = [cell for row in found["summary"]["matrix"].values() for cell in row.values()]
        assert {one["example"]["verdict"] for one in cells if one["example"]} <= shown

    @pytest.mark.thorough
    def test_stand_first_in_markdown(self, run, tmp_path):
        (file,) = write_tables(run, tmp_path, kind="markdown")
        lines = file.read_text("utf-8").splitlines()
        assert lines[2].startswith("| engine | refuses the schema | lets an invalid value through")
        assert '`{"a": "bc"}` against maxLength' in lines[4]
