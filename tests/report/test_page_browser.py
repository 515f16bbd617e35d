"""The report in a browser: what it answers, and its explorer, by mouse and by keyboard."""

import pytest

from tests import reporting
from tests.browsing import DESKTOP, MARKS, PHONE

pytestmark = MARKS
NONE = "\u2013"
"""Stands in a table where there is nothing."""


class TestAnswers:
    @pytest.mark.parametrize("size", [PHONE, DESKTOP])
    def test_the_first_screen_says_what_each_engine_gets_wrong(self, browser, size):
        page = browser(size=size)
        assert page.texts("#table-headline tbody th") == ["one:A", "two:B", "three:C"]
        cells = page.texts("#table-headline tbody tr:first-child td")
        assert [" ".join(cell.split()) for cell in cells[:2]] == [
            *("0 of 2: 0%; 0 real: 0%", "1 of 2: 50.0%; 0 real: 0%")
        ]
        row = "return document.querySelector('#table-headline tbody tr').getBoundingClientRect()"
        assert page.run(f"{row}.bottom") < size[1]
        cells = page.texts("#matrix tbody tr:first-child td p:first-child")
        assert cells[1].startswith("Lets an invalid value through in 1 of 2 schemas (none with")

    def test_with_an_example_to_open_and_no_interval(self, browser):
        page = browser()
        assert "written by hand" in page.text("#note-pairs")
        assert "95%" not in page.text("main")
        assert "Answers" not in page.texts("nav a"), "no model answered"
        assert (
            page.text("#matrix tr:first-child td.acc .eg") == '{"a": "bc"} against maxLength show'
        )
        page.click("#matrix tr:first-child td.acc button")
        assert page.text("#detail h3") == "false acceptance by one:A: maxLength"
        assert page.text("#detail .tok") == "c"

    def test_counts_errors_of_both_kinds_of_evidence(self, browser):
        page = browser(size=PHONE)
        empty = (
            "return [...document.querySelectorAll('#table-errors td:empty')]"
            ".map((one) => one.offsetHeight)"
        )
        assert set(page.run(empty)) == {0}, "what an error has not takes no room"
        note = page.text("#table-errors .note")
        assert "Stops too early: the engine allows the end" in note
        assert "Dead end: the engine leads to a place" in note
        assert "Unfinishable" not in note
        page = browser()
        assert page.text("#alerts") == ""
        rows = page.texts("#table-errors tbody tr")
        assert [row.split("\t") for row in rows if row.startswith("three")] == [
            ["three:C", "false acceptance", "walks", "0", "0", "0", "0", "0", "0"],
            ["three:C", "false rejection", "walks", "0", "0", "0", "", "", "0"],
            ["three:C", "false acceptance", "0 invalid instances", "1", "0", "0", "0", "", "1"],
            ["three:C", "false rejection", "0 valid instances", "0", "0", "0", "", "", "0"],
        ]

        rows = [row.split() for row in page.texts("#heat-acc tbody tr")]
        assert rows == [["(none", "stated)", "·", "·", "1"], ["maxLength", "1", "·", "·"]]

    def test_says_that_a_run_is_not_finished(self, browser):
        page = browser("begun")
        assert "This run is not finished" in page.text("#alerts")
        assert page.text("#about-bugs").endswith("when the run is finished.")


class TestBugs:
    def test_stand_by_engine_with_what_it_loses_and_leaks(self, browser):
        page = browser("varied")
        assert page.texts("#list-bugs h3") == ["one:A", "two:B", "three:C"]
        shares = page.texts("#list-bugs h3 + p")
        assert shares[1].startswith("Cannot write a valid value in 1 of 2 schemas (0 with a value")
        assert shares[2].endswith("No bug is shown so far.")
        first = page.text("#list-bugs .bug summary").split()
        assert first[:4] == ["3", "of", "10", "a"]
        assert " ".join(first).endswith("false acceptance · 3 real · reported, open")

    def test_more_than_a_few_are_behind_a_click_those_in_most_schemas_first(self, browser):
        page = browser("varied")
        of_two = "#list-bugs > div:nth-child(2) > .bug summary .in"
        assert page.texts(of_two) == [f"{number} of 10" for number in range(10, 2, -1)]
        assert "2 more bugs of two:B" in page.text("#list-bugs")
        note = page.text("#note-bugs")
        assert note.startswith("Not explained: 4 verdicts (needs a search). maskcourt bugs runs/")

    @pytest.mark.parametrize("size", [PHONE, DESKTOP])
    def test_open_they_show_the_smallest_case_a_verdict_a_script_and_who_knows(self, browser, size):
        page = browser("varied", size=size)
        page.open("#list-bugs .bug summary")
        assert page.texts("#list-bugs .bug .text")[:2] == ['{"maxLength":1}', '"ab"']
        assert page.text("#list-bugs .bug mark") == "b"
        shown = page.text("#list-bugs .bug")
        assert "open: https://example.org/threads/7" in shown
        assert "Verdict 0, about lengths" in shown
        assert "maskcourt replay runs/small --trust 0" in shown
        script = page.texts("#list-bugs .bug pre")[-1]
        assert script == f"import engine\nengine.run({reporting.ATTACK!r})\nimport engine"
        assert page.run("return document.documentElement.scrollWidth") <= size[0]

    def test_a_script_is_copied_by_a_button_and_a_bug_leads_to_its_verdict(self, browser):
        page = browser("varied")
        page.open("#list-bugs > div:nth-child(2) .bug summary")
        assert "of this kind scripts are written for" in page.text(
            "#list-bugs > div:nth-child(2) .bug"
        )
        page.open("#list-bugs .bug summary")
        page.click("#list-bugs .bug .command:last-child button")
        page.settle()
        told = page.text("#list-bugs .bug .command:last-child [role=status]")
        assert told in ("copied", "selected")
        page.click("#list-bugs .bug button.link")
        assert page.text("#detail h3") == "false acceptance by one:A: maxLength"

    def test_where_nobody_looked_for_them_it_is_said_how_to(self, browser):
        page = browser()
        assert page.text("#about-bugs").endswith("maskcourt bugs runs/small --trust")
        assert page.text("#list-bugs") == ""


class TestExplorer:
    def test_filters_change_list_and_counts(self, browser):
        page = browser()
        assert page.text("#count").startswith("24 verdicts explained here. In the run, 25 verdicts")
        page.choose("kind", "false rejection")
        assert len(page.listed) == 20
        page.choose("engine", "one:A")
        assert page.text("#count").startswith("0 verdicts explained here. In the run, 0 verdicts")
        assert page.listed == ["No verdict of the run fits these filters."]
        page.click("#reset")
        assert len(page.listed) == 24

    def test_search_finds_what_the_page_shows(self, browser):
        page = browser()
        field = page.driver.find_element("id", "filter-q")
        field.send_keys('"a": "B')
        assert [one.splitlines()[2] for one in page.listed] == ['{"a": "bc"}', '{"a": "b"}']
        for text, many in (("\\xff", 2), ("\\u{1b}", 1), ("for all I know", 0)):
            page.click("#reset")
            field.send_keys(text)
            assert page.text("#count").startswith(f"{many} verdict")

    def test_a_cell_of_the_heat_map_shows_its_verdicts_and_counts_the_same(self, browser):
        page = browser()
        for unit, cell, evidence in (
            ("instances", "#heat-acc", "=instance"),
            ("tokens", "#heat-rej", "=walk"),
            ("cases", "#heat-rej", ""),
        ):
            page.click("#reset")
            page.click(f"#unit-keywords input[value={unit}]")
            number = page.text(f"{cell} button")
            page.click(f"{cell} button")
            told = page.text("#count")
            assert unit == "cases" or f"In the run, {number} verdict" in told
            assert page.run("return document.getElementById('filter-evidence').value") == evidence
        assert len(page.listed) == 20
        assert page.text("#detail h3") == "false rejection by two:B: maxLength"

    def test_a_verdict_opens_by_click(self, browser):
        page = browser()
        page.choose("kind", "dead end")
        page.click("#list [role=option]")
        assert page.text("#detail h3") == "dead end by two:B"
        assert page.text("#detail .tok .raw") == "\\xff"
        assert "No validator was asked" in page.text("#detail")

    def test_a_verdict_opens_by_keyboard_and_comes_back(self, browser):
        page = browser()
        page.choose("kind", "false rejection")
        page.run("document.getElementById('reset').focus()")
        page.press("TAB", "ARROW_DOWN", "ARROW_DOWN", "ENTER")
        assert page.focused == "detail"
        assert page.run("return document.querySelector('[aria-selected=true]').id") == "verdict-3"
        page.press("ESCAPE")
        assert page.focused == "verdict-3"
        page.press("END")
        assert page.focused == page.run("return document.querySelector('#list').lastChild.id")

    def test_holds_all_that_a_reader_needs(self, browser):
        page = browser(address="#verdict=0")
        detail = page.text("#detail")
        assert "located: the error lies at this token" in detail
        assert "allowed by\none:A\nforbidden by\ntwo:B, three:C" in detail
        assert (
            "What the validators say: invalid\njsonschema\ninvalid\njsonschema-rs\ninvalid"
            in detail
        )
        assert "Broken: /properties/a/maxLength, at /a of the text" in detail
        assert page.text("#detail .text") == '{"a": "bc"}'
        assert page.texts("#detail .hit") == ['      "maxLength": 1']
        assert page.text("#detail .command code") == "maskcourt replay runs/small --trust 0"

    def test_an_address_points_at_a_verdict(self, browser):
        page = browser(address="#verdict=i0")
        assert page.text("#detail h3") == "false acceptance by three:C"
        assert page.texts("#detail .text .raw") == ["\\xff", "\\u{1b}"]
        page.run(
            "return new Promise((done) => {"
            " addEventListener('hashchange', done, { once: true });"
            " location.hash = '#verdict=0'; }).then(() => null)"
        )
        assert page.text("#detail h3") == "false acceptance by one:A: maxLength"

    def test_the_address_follows_what_is_shown(self, browser):
        page = browser()
        steps = page.run("return history.length")
        page.choose("kind", "false rejection")
        page.click("#list [role=option]")
        assert page.run("return history.length") == steps, "filters are no steps to go back"
        address = page.run("return location.hash")
        again = browser(address=address)
        assert len(again.listed) == 20
        assert again.run("return location.hash") == address

    @pytest.mark.parametrize(
        ("size", "opener"), [(PHONE, "#heat-rej button"), (DESKTOP, "#matrix td.acc button")]
    )
    def test_back_leads_to_where_one_came_from(self, browser, size, opener):
        page = browser(size=size)
        page.run("document.querySelector(arguments[0]).scrollIntoView()", opener)
        before = page.run("return scrollY")
        page.click(opener)
        assert abs(page.run("return scrollY") - before) > 100
        shown = page.run("return location.hash"), page.text("#detail h3")
        page.driver.back()
        assert page.run("return [scrollY, location.hash]") == [before, ""]
        assert page.run("return document.activeElement.matches(arguments[0])", opener)
        assert len(page.listed) == 24
        page.driver.forward()
        assert (page.run("return location.hash"), page.text("#detail h3")) == shown

    def test_says_how_to_see_a_verdict_that_is_not_in_the_page(self, browser):
        page = browser(address="#verdict=4711")
        assert page.text("#detail").endswith("maskcourt replay runs/small --trust 4711 --show")
