"""What a narrative says of a run follows from its tables, and what is published is small and whole."""

from __future__ import annotations

import json
import re

import pytest

from harness.errors import UsageError
from harness.report import narrative, publish
from harness.report.figure_tables import NAMES, digest
from tests import books
from tests.books import Book, all_bugs, classes
from tests.buglists import REPORTED, bug, bug_list

ENGINES = {
    "xgrammar": {"version": "0.2.8", "options": {"config": "spec"}},
    "llguidance": {"version": "1.9.1", "options": {"config": "shipped"}},
    "outlines": {"version": "0.2.14", "options": {"config": "spec"}},
}
DECLARED = classes({"declared": ("departure", "some-entry")})
MANIFEST = {"identity": {"engines": ENGINES, "rules": {"cap": 7, "panel": "common"}}}


@pytest.fixture
def stored(tmp_path):
    def store(*some, **options):
        options = {"engines": ENGINES, "vocabulary": {"size": 100}, **options}
        return books.store(tmp_path / "run", *some, **options)

    return store


def book(name="case", **errors):
    """A case; `errors` are numbers of tokens by engine and kind: ``xgrammar_fa=3``."""
    kinds = {"fa": "false_acceptance", "fr": "false_rejection"}
    written = Book(name)
    for engine in ENGINES:
        written.engine(engine, "compiled")
    written.position(0, "inside string").dispute(0, 1, 2, tokens=100)
    first = 0
    for key, tokens in errors.items():
        engine, kind = key.split("_")
        written.verdicts(0, engine, kinds[kind], tokens, first=first, keyword="enum")
        first += tokens
    return written


def directed(run, rule=all_bugs):
    return " ".join(narrative.direction(digest(run, rule)))


class TestAnswer:
    def test_is_who_is_wrong_how_often_and_who_alone(self, stored):
        books = [book(f"case {n}", xgrammar_fa=2) for n in range(9)]
        first, *others = narrative.answer(digest(stored(*books, book("good")), all_bugs))
        assert first == (
            "xgrammar 0.2.8 compiles 10 of 10 schemas;"
            " a model meets a bug in 9 of 10 walked (90.0%)."
        )
        assert "0 of 10 walked" in others[0]
        assert others[-1].startswith("In pairs, on the same schemas, by what a model meets: 9 sch")
        assert "9 schemas with one of xgrammar's alone, 0 of llguidance's alone" in others[-1]

    def test_says_who_was_not_walked(self, stored):
        written = Book("case").engine("xgrammar", "refused", "compile")
        (first,) = narrative.answer(digest(stored(written, engines={"xgrammar": {}}), all_bugs))
        assert first == "xgrammar ? compiles 0 of 1 schema; it was judged in no walk."


class TestDirection:
    def test_is_that_of_the_study(self, stored):
        said = directed(stored(book(xgrammar_fa=30, llguidance_fa=1, llguidance_fr=9)))
        assert "Most false acceptances, by tokens, are xgrammar's (30 tokens)" in said
        assert "under-constrains most is shown here, too" in said
        assert (
            "Of 10 wrong tokens that are llguidance's bugs 9 (90.0%) are rejections, as in" in said
        )

    def test_is_another(self, stored):
        said = directed(stored(book(outlines_fa=30, llguidance_fa=9, llguidance_fr=1)))
        assert "are outlines's (30 tokens)" in said
        assert "under-constrains most is not shown here" in said
        assert "1 (10.0%) are rejections, other than in the study" in said

    def test_an_older_version_of_the_engine_shows_it_as_well(self, stored):
        older, newer = "xgrammar@0.1.32", "xgrammar"
        engines = {older: {"version": "0.1.32"}, newer: {"version": "0.2.8"}}
        written = Book("case").engine(older, "compiled").engine(newer, "compiled")
        written.position(0, "inside string").dispute(0, 1, 2, tokens=100)
        written.verdicts(0, older, "false_acceptance", 30, first=0, keyword="enum")
        said = directed(stored(written, engines=engines))
        assert f"are {older}'s (30 tokens)" in said
        assert "under-constrains most is shown here, too" in said

    def test_may_be_so_by_tokens_alone(self, stored):
        many = [book(f"case {n}", outlines_fa=1) for n in range(9)]
        said = directed(stored(book(xgrammar_fa=50), *many))
        assert "xgrammar's (50 tokens); the largest share of schemas with one is outlines's" in said
        assert "is so here by tokens, not by schemas" in said

    def test_of_a_capped_run_is_that_of_all_disputed_tokens(self, stored):
        """The more is proven of xgrammar, in a dispute that was resolved whole."""
        written = book(xgrammar_fa=90)
        written.position(1).dispute(1, 4, 1, tokens=5000, drawn=50, census=0, number=1)
        written.verdicts(1, "outlines", "false_acceptance", 50, always_resolved=False, number=1)
        said = directed(stored(written))
        assert "outlines's (some 5,000 tokens, scaled from 50)" in said
        assert "xgrammar lets invalid text through in" in said
        assert "of schemas (90 tokens)" in said
        assert "is so here by schemas, not by tokens" in said

    def test_may_be_so_by_schemas_alone(self, stored):
        many = [book(f"case {n}", xgrammar_fa=1) for n in range(9)]
        said = directed(stored(book(outlines_fa=50), *many))
        assert "is so here by schemas, not by tokens" in said

    def test_counts_no_departure(self, stored):
        written = book(llguidance_fr=2)
        written.verdicts(0, "xgrammar", "false_acceptance", 9, first=50, detail="declared")
        said = directed(stored(written), DECLARED)
        assert "No engine is proven in a walk to let an invalid text through" in said

    def test_compares_engines_in_pairs_on_the_same_schemas(self, stored):
        """Their intervals overlap, and yet they differ: what hits the one hits the other, too."""
        some = [book(f"case {n}", xgrammar_fa=n < 30, llguidance_fa=n < 20) for n in range(60)]
        said = directed(stored(*some))
        assert (
            "10 schemas with one of xgrammar's alone, 0 of llguidance's alone (these differ" in said
        )
        assert "overlap" not in said

    def test_says_who_cannot_be_told_apart(self, stored):
        some = [book(f"case {n}", xgrammar_fa=n % 2, llguidance_fa=n % 3 == 0) for n in range(12)]
        assert "of llguidance's alone (cannot tell apart: p = " in directed(stored(*some))

    def test_tests_nothing_where_the_cases_are_no_sample(self, stored):
        said = directed(stored(book(xgrammar_fa=1), data="embedded"))
        assert "1 schema with one of xgrammar's alone, 0 of llguidance's alone; " in said
        assert "written by hand" in said
        assert "(cannot" not in said

    def test_of_a_run_that_found_nothing(self, stored):
        said = directed(stored(book()))
        assert "No engine is proven" in said
        assert "Nothing but declared departures is proven against llguidance" in said

    def test_of_a_run_without_the_studys_engines(self, stored):
        engines = {"mine": {"version": "1"}, "yours": {"version": "2"}}
        written = Book("case").position(0, judged=3).verdicts(0, "mine", "false_acceptance", 2)
        said = directed(stored(written, engines=engines))
        assert "xgrammar, which under-constrains most in the study, is not in this run" in said
        assert "llguidance is not in this run" in said


class TestEngines:
    def sentences(self, run, engine, rule=all_bugs):
        return " ".join(narrative.engine_sentences(digest(run, rule), engine))

    def test_begin_with_what_a_model_meets(self, stored):
        """Token 99 of 100 is rare."""
        rare = [
            Book(f"rare {n}").position(0).verdicts(0, "outlines", "false_rejection", first=99)
            for n in range(2)
        ]
        said = self.sentences(stored(book(outlines_fr=3), *rare), "outlines")
        assert said.startswith(
            "A model meets a bug in 1 of 3 walked schemas (33.3%), in 0 of them at the very next"
            " token of a valid text; in 2 more only rare tokens are wrong."
        )
        assert "proven in 100.0% (0.0% to 100.0%) of them, at more than one token in 33.3%" in said

    def test_say_what_is_proven(self, stored):
        written = book("one", xgrammar_fa=3)
        written.instance(0, "invalid").on_instance(0, "xgrammar", "false_acceptance")
        said = self.sentences(stored(written, book("two", xgrammar_fa=1)), "xgrammar")
        assert "It lets through 4 wrong tokens and 1 invalid instance and forbids no token" in said

    def test_say_how_much_rests_on_format(self, stored):
        written = book("one", xgrammar_fa=3)
        written.verdicts(0, "xgrammar", "false_acceptance", 2, first=9, keyword="format")
        said = self.sentences(stored(written), "xgrammar")
        assert "2 tokens of walks rest on `format` alone, which is an annotation" in said

    def test_say_nothing_of_format_where_nothing_rests_on_it(self, stored):
        assert "format" not in self.sentences(stored(book("one", xgrammar_fa=3)), "xgrammar")

    def test_say_what_is_declared(self, stored):
        written = book(xgrammar_fr=1)
        written.verdicts(0, "xgrammar", "false_rejection", 4, first=20, detail="declared")
        said = self.sentences(stored(written), "xgrammar", DECLARED)
        assert "no bugs: 4 tokens, `some-entry` (4)." in said
        assert "and forbids 1 right token." in said

    def test_say_what_stays_open(self, stored):
        written = book()
        written.verdicts(0, "xgrammar", "unresolved", 3, reason="too_long")
        written.verdicts(0, "xgrammar", "contested", 2, first=5, reason="duplicate_keys")
        said = self.sentences(stored(written), "xgrammar")
        assert "3 tokens stay unresolved and 2 are contested and count for nobody." in said

    def test_say_that_an_engine_was_never_judged(self, stored):
        said = self.sentences(stored(Book("case", "not_compared", "none")), "outlines")
        assert said == "outlines was not judged in any case."


class TestDifferences:
    def said(self, run, cleared=None, manifest=MANIFEST, rule=all_bugs):
        return narrative.differences(digest(run, rule), manifest, cleared)

    def test_are_versions_options_and_who_is_missing(self, stored):
        versions, options, engines, *_ = self.said(stored(book()))
        assert "xgrammar 0.2.8 (0.1.10), llguidance 1.9.1 (0.6.7) and outlines 0.2.14" in versions
        assert "xgrammar and outlines are configured as close to the specification" in options
        assert "llguidance is configured as its users get it" in options
        assert "llama.cpp" in engines

    def test_are_what_the_rule_for_departures_leaves_out(self, stored):
        written = book()
        written.verdicts(0, "outlines", "false_rejection", 12, detail="declared")
        said = " ".join(self.said(stored(written), rule=DECLARED))
        assert "no bug, outlines would have 12 more false rejections." in said

    def test_are_the_procedure_where_that_was_looked_at(self, stored):
        run = stored(book())
        assert "60% have a valid completion" in " ".join(
            self.said(run, {"false_acceptances": 10, "cleared": 6})
        )
        assert "Procedure" not in " ".join(self.said(run))

    def test_are_the_sample(self, stored):
        said = " ".join(self.said(stored(book())))
        assert "1 case, 1 of them walked, since a case is walked only where every engine" in said
        assert "every disputed token was resolved" in said

    def test_are_the_cap(self, stored, tmp_path):
        capped = Book("case").position(0).dispute(0, 1, 2, tokens=500, drawn=7, census=0)
        said = " ".join(self.said(stored(capped)))
        assert "of 500 disputed tokens 7 were resolved (7 per dispute" in said


@pytest.mark.thorough
class TestPublish:
    @pytest.fixture(scope="class")
    @classmethod
    def published(cls, tmp_path_factory):
        tmp_path = tmp_path_factory.mktemp("published")
        other = tmp_path / "results" / "one-roll-out"
        other.mkdir(parents=True)
        (other / "README.md").write_text("# Another result\n\nText.\n")
        result = {
            "x": {"false_acceptances": 4, "cleared": 1},
            "y": {"false_acceptances": 4, "cleared": 2},
        }
        (other / "comparisons.json").write_text(json.dumps({"comparisons": [{"result": result}]}))
        run = books.store(
            tmp_path / "run", book(xgrammar_fa=3), engines=ENGINES, vocabulary={"size": 100}
        )
        directory = tmp_path / "results" / "first"
        assert publish.main([str(run.path), str(directory)]) == 0
        files = [*directory.iterdir(), directory.parent / "README.md"]
        return run, directory, files

    def test_writes_tables_manifest_figures_and_the_narrative(self, published):
        _, directory, files = published
        assert sorted(file.name for file in directory.iterdir()) == sorted(
            [*(f"{name}.csv" for name in NAMES), "manifest.json"]
            + [f"{name}.svg" for name in publish.figures.NAMES]
        )
        assert sum(file.stat().st_size for file in files) < publish.LARGEST

    def test_links_only_what_is_there(self, published):
        _, directory, _ = published
        text = (directory.parent / "README.md").read_text("utf-8")
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert "one-roll-out/README.md" in links
        for link in links:
            if not link.startswith("../docs/"):
                assert (directory.parent / link).is_file(), link

    def test_inside_stands_by_itself_without_figures(self, published, tmp_path):
        run, *_ = published
        directory = tmp_path / "results" / "study" / "second"
        assert publish.main([str(run.path), str(directory), "--inside"]) == 0
        assert {file.suffix for file in directory.iterdir()} == {".csv", ".json", ".md"}
        assert not (directory.parent / "README.md").exists()
        text = (directory / "report.md").read_text("utf-8")
        assert text.startswith("# second\n")
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert link.startswith("../../../docs/") or (directory / link).is_file(), link

    def test_says_what_one_roll_out_per_token_is_worth(self, published):
        _, directory, _ = published
        assert "38% have a valid completion" in (directory.parent / "README.md").read_text("utf-8")

    def test_names_other_results(self, published):
        _, directory, _ = published
        text = (directory.parent / "README.md").read_text("utf-8")
        assert "- [Another result](one-roll-out/README.md)" in text

    def test_keeps_the_manifest_without_the_machines_name(self, published):
        run, directory, _ = published
        kept = json.loads((directory / "manifest.json").read_text("utf-8"))
        assert kept["identity"] == run.manifest["identity"]
        assert kept["rows"]["verdicts"] == 3
        assert "seal" not in kept

    def test_again_gives_the_same_bytes(self, published):
        run, directory, files = published
        before = {file: file.read_bytes() for file in files}
        assert sorted(publish.publish(run, directory)) == sorted(files)
        assert {file: file.read_bytes() for file in files} == before

    def test_begins_with_the_bugs_where_they_are_known(
        self, published, stored, tmp_path, monkeypatch
    ):
        _, directory, _ = published
        without = (directory.parent / "README.md").read_text("utf-8")
        assert "Nobody looked for the bugs behind the verdicts" in without
        known = bug_list(
            bug("xgrammar", 1, severity="rare", title="`a|b` is *refused*", upstream=REPORTED),
            *(bug("outlines", 10 + number) for number in range(12)),
            needs_a_search=7,
        )
        monkeypatch.setattr(publish, "known_bugs", lambda *_: known)
        monkeypatch.setattr(publish.figures, "NAMES", ())
        publish.publish(stored(book(xgrammar_fa=1)), tmp_path / "results" / "mine", all_bugs)
        text = (tmp_path / "results" / "README.md").read_text("utf-8")
        assert text.index("### Bugs") < text.index("### What each engine gets wrong")
        assert (
            "13 bugs explain 98.2% of 397 verdicts that are bugs (7 not: needs a search)." in text
        )
        row = "| `00000001` | `a\\|b` is \\*refused\\* | 3 of 10 (10.0% to 60.0%) | rare |"
        assert f"{row} [open](https://example.org/threads/7) |" in text
        assert text.count("| `000000") == 9
        assert "And 4 more in bugs.csv." in text
        listed = (tmp_path / "results" / "mine" / "bugs.csv").read_text("utf-8").splitlines()
        assert listed[0].startswith("engine,version,id,kind,severity,title,cases,judged,share,low")
        assert len(listed) == 14
        cases = json.loads((tmp_path / "results" / "mine" / "bugs.json").read_text("utf-8"))
        assert cases[0]["schema"] == {"type": "integer", "minimum": 0}
        assert cases[0]["text"] == "-0"

    def test_refuses_what_is_not_finished(self, stored, tmp_path):
        with pytest.raises(UsageError, match="is not finished"):
            publish.publish(stored(book(), finish=False), tmp_path / "out")

    def test_refuses_what_is_too_much(self, stored, tmp_path, monkeypatch):
        monkeypatch.setattr(publish, "LARGEST", 1000)
        monkeypatch.setattr(publish.figures, "NAMES", ())  # the tables alone are too much
        with pytest.raises(UsageError, match=r"has [0-9,]+ bytes"):
            publish.publish(stored(book()), tmp_path / "out", all_bugs)

    def test_as_a_program_refuses_what_is_no_run(self, tmp_path, capsys):
        assert publish.main([str(tmp_path / "none"), str(tmp_path)]) == 2
        assert publish.main([]) == 2
        assert "is no run" in capsys.readouterr().err
