"""The matrix: what each engine gets wrong that a model meets, in a sentence with an example."""

from __future__ import annotations

import pytest

from harness.analysis.matrix import example_text
from harness.analysis.tally import summary
from harness.classification.departures import Catalogue
from harness.report.page.collect import collect
from harness.report.tables import write_tables
from tests import books, reporting
from tests.books import Book, all_bugs, classes
from tests.replaying import stored


@pytest.fixture
def cells(tmp_path):
    """One engine's cells of some cases, in which tokens below 200 of 1,000 are common."""

    def of(*some, engine="a", rule=all_bugs):
        run = books.store(tmp_path / "run", *some, vocabulary={"size": 1000})
        return summary(run, rule)["matrix"][engine]

    return of


def walked(name, **verdicts):
    """A case whose valid text goes on with token 7; `verdicts` are tokens by kind."""
    book = Book(name).compiled("compiled", "compiled", "compiled").position(0, canonical=7)
    for kind, token in verdicts.items():
        book.verdicts(0, "a", kind, first=token)
    return book


class TestSentences:
    def test_count_schemas_in_which_a_model_meets_the_error(self, cells):
        found = cells(
            walked("next", false_rejection=7),
            walked("common", false_rejection=50),
            walked("rare", false_rejection=900),
            walked("clean"),
        )["forbids"]
        assert (found["count"], found["of"]) == (2, 4)
        assert found["sentence"] == (
            "Forbids what a model would write in 2 of 4 schemas, in 1 the very next token of a"
            " valid text; in 1 more only rare tokens."
        )

    def test_do_not_begin_with_rare_tokens(self, cells):
        found = cells(walked("one", false_acceptance=900, false_rejection=901), walked("two"))
        assert [one["count"] for one in found.values()] == [0, 0, 0]
        said = [one["sentence"] for one in found.values()]
        assert said[1:] == [
            "Lets invalid output through at rare tokens only, in 1 of 2 schemas.",
            "Forbids rare tokens only, in 1 of 2 schemas.",
        ]

    def test_count_no_departure(self, cells):
        book = Book("one").compiled("compiled", "compiled", "compiled").position(0)
        book.verdicts(0, "a", "false_acceptance", detail="declared")
        found = cells(book, rule=classes({"declared": ("departure", "x")}))["accepts"]
        assert (
            found["sentence"] == "Lets no invalid output through in 1 schema, as far as is proven."
        )

    def test_tell_refusals_from_failures(self, cells):
        some = [Book(f"case {n}").compiled("refused", "compiled", "compiled") for n in range(3)]
        for book in some:
            book.rows.replace("engines", message=['Unimplemented keys: ["if"]', "", ""])
        slow = Book("slow").compiled("timed_out", "compiled", "compiled")
        found = cells(*some, slow)["refuses"]
        assert found["sentence"] == "Refuses 3 of 4 schemas and fails on 1 more."
        assert found["example"] == {"reason": "Unimplemented keys (if)", "schemas": 3}

    def test_rest_on_instances_where_nothing_was_walked(self, cells):
        book = Book("apart", "not_compared", "not_compiled_by_all")
        book.compiled("compiled", "refused", "compiled").instance(0, "invalid")
        found = cells(book.on_instance(0, "a", "false_acceptance"))["accepts"]
        assert found["sentence"] == (
            "Lets invalid output through in 1 of 1 schema (by instances: none was walked)."
        )

    def test_of_an_engine_that_was_never_judged(self, cells):
        found = cells(Book("one").compiled("refused", "compiled", "compiled"))
        assert found["accepts"]["sentence"] == "Was judged on no schema."


class TestExamples:
    @pytest.fixture(scope="class")
    @classmethod
    def run(cls, tmp_path_factory):
        return reporting.small(tmp_path_factory.mktemp("run"))

    def test_are_texts_with_the_token_and_the_keyword(self, run):
        found = summary(run, all_bugs)["matrix"]
        accepted, rejected = found["one:A"]["accepts"], found["two:B"]["forbids"]
        assert example_text("accepts", accepted["example"]) == '`{"a": "bc"}` against maxLength'
        assert example_text("forbids", rejected["example"]).startswith("no `")
        assert found["one:A"]["forbids"]["example"] is None

    def test_are_short_and_can_be_printed(self, run):
        """Of the twenty tokens that are wrongly forbidden."""
        found = summary(run, all_bugs)["matrix"]["two:B"]["forbids"]["example"]
        assert found["token"].isprintable()
        assert "\\" not in found["token"]

    @pytest.mark.parametrize("dull", [b"\\", b"\x01", b"\xff", b" "])
    def test_are_no_mere_spellings_where_there_is_another(self, tmp_path, dull):
        book = reporting.Page("family", "one", {"type": "string"}, "ab")
        for token in (dull, b"z"):
            why = (b'"', token, book.completion(b'"'), "one:A")
            book.verdict("false_rejection", "two:B", *why, dispute=-1)
        run = stored(tmp_path, [book], reporting.ENGINES)
        assert summary(run, all_bugs)["matrix"]["two:B"]["forbids"]["example"]["token"] == "z"

    def test_rest_on_more_than_format_where_there_is_another(self, tmp_path):
        book = reporting.Page("family", "one", {"format": "uri", "maxLength": 2}, "abc")
        for before, word in ((b'"', "format"), (b'"ab', "maxLength")):
            why = (before, b"z", book.completion(b'"'), "one:A")
            book.verdict(
                "false_acceptance",
                "one:A",
                *why,
                keyword=word,
                dispute=-1,
                format_alone=word == "format",
            )
        run = stored(tmp_path, [book], reporting.ENGINES)
        example = summary(run, all_bugs)["matrix"]["one:A"]["accepts"]["example"]
        assert example["keyword"] == "maxLength"

    @pytest.mark.processes
    def test_are_among_the_verdicts_of_the_page(self, run):
        found = collect(run, "run", verdicts=1, catalogue=Catalogue(()))
        shown = {one["id"] for one in found["verdicts"]}
        cells = [cell for row in found["summary"]["matrix"].values() for cell in row.values()]
        assert {one["example"]["verdict"] for one in cells if one["example"]} <= shown

    def test_stand_first_in_markdown(self, run, tmp_path):
        (file,) = write_tables(run, tmp_path, kind="markdown", rule=all_bugs)
        lines = file.read_text("utf-8").splitlines()
        assert lines[2].startswith("| engine | refuses the schema | lets invalid output through |")
        assert '`{"a": "bc"}` against maxLength' in lines[4]
