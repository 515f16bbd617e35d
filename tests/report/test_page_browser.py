"""The report in a browser: it works without a network, by mouse and by keyboard, for anybody."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.classification.departures import Catalogue
from harness.report.page.assemble import assembled
from harness.report.page.collect import ReportRequest, collect
from tests import reporting

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
PHONE, DESKTOP = (390, 844), (1440, 1000)

pytest.importorskip("selenium", reason="selenium is not installed: pip install '.[test]'")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (BROWSER and DRIVER),
        reason="no chromium and chromedriver: apt-get install chromium chromium-driver",
    ),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Reports as files: of a small run, of an unfinished one, and of one that attacks its reader."""
    made = {}
    for name, make in (
        ("small", reporting.small),
        ("begun", reporting.begun),
        ("attacking", reporting.attacking),
    ):
        directory = tmp_path_factory.mktemp(name)
        found = collect(make(directory), ReportRequest("runs/small", catalogue=Catalogue(())))
        made[name] = directory / "report.html"
        made[name].write_text(assembled(found), "utf-8")
        if name == "small":
            made["varied"] = directory / "varied.html"
            made["varied"].write_text(assembled(varied(found)), "utf-8")
    return made


def varied(data: dict[str, Any]) -> dict[str, Any]:
    """The same with what the small run lacks: a token on path, a look-alike, many keywords."""
    found = copy.deepcopy(data)
    rejected, accepted = found["verdicts"][1], found["verdicts"][0]
    found["groups"][rejected["group"]]["severity"] = "on_path"
    accepted["token"]["text"] = "\uff11"
    share = found["summary"]["engines"]["two:B"]["share_with_bug"]["false_rejection"]
    share |= {"cases": 10, "of": 10, "lone_token": {"token": 221, "bytes": "\\x7f", "cases": 9}}
    (row,) = [one for one in found["keywords"] if one["kind"] == "false_rejection"]
    found["keywords"] += [{**row, "keyword": f"k{number}"} for number in range(6)]
    return found


@pytest.fixture(scope="module")
def driver():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield found
    found.quit()


@pytest.fixture
def browser(driver, pages):
    """Opens a page; afterwards nothing may have gone wrong or out."""
    driver.get("about:blank")
    for log in ("browser", "performance"):
        driver.get_log(log)

    def opened(name="small", size=DESKTOP, address="", scheme="light"):
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.get("about:blank")
        driver.get(pages[name].as_uri() + address)
        return Page(driver)

    yield opened
    assert driver.get_log("browser") == []
    assert not [
        one for one in requested(driver) if not one.startswith(("file:", "data:", "about:"))
    ]


def requested(driver) -> list[str]:
    """Every address that the browser asked for."""
    messages = [json.loads(one["message"])["message"] for one in driver.get_log("performance")]
    sent = [one for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [one["params"]["request"]["url"] for one in sent]


class Page:
    """A report in the browser, as its reader acts on it."""

    def __init__(self, driver):
        self.driver = driver
        self.run = driver.execute_script

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def texts(self, selector):
        found = "return [...document.querySelectorAll(arguments[0])].map(one => one.innerText)"
        return self.run(found, selector)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView()", selector)
        self.driver.find_element("css selector", selector).click()

    def choose(self, name, value):
        """Set one filter, as a reader does."""
        from selenium.webdriver.support.select import Select

        Select(self.driver.find_element("id", f"filter-{name}")).select_by_visible_text(value)

    def press(self, *keys):
        from selenium.webdriver.common.keys import Keys

        for key in keys:
            self.driver.switch_to.active_element.send_keys(getattr(Keys, key, key))

    @property
    def listed(self):
        return self.texts("#list [role=option]")

    @property
    def focused(self):
        return self.run("return document.activeElement.id || document.activeElement.innerText")


class TestAnswers:
    @pytest.mark.parametrize("size", [PHONE, DESKTOP])
    def test_the_first_screen_says_what_each_engine_gets_wrong(self, browser, size):
        page = browser(size=size)
        assert page.texts("#matrix tbody th") == ["one:A", "two:B", "three:C"]
        cells = page.texts("#matrix tbody tr:first-child td p:first-child")
        assert cells[1] == "Lets invalid output through in 2 of 2 schemas."
        top = "return document.querySelector('#matrix tbody td:nth-of-type(2)').getBoundingClientRect()"
        assert page.run(f"{top}.bottom") < size[1]

    def test_with_an_example_to_open(self, browser):
        page = browser()
        assert (
            page.text("#matrix tr:first-child td.acc .eg") == '{"a": "bc"} against maxLength show'
        )
        page.click("#matrix tr:first-child td.acc button")
        assert page.text("#detail h3") == "false acceptance by one:A: maxLength"
        assert page.text("#detail .tok") == "c"

    def test_says_why_there_are_no_intervals(self, browser):
        page = browser()
        assert "written by hand" in page.text("#note-pairs")
        assert "95%" not in page.text("main")

    def test_counts_errors_of_both_kinds_of_evidence(self, browser):
        rows = browser().texts("#table-errors tbody tr")
        assert [row.split("\t") for row in rows if row.startswith("three")] == [
            ["three:C", "false acceptance", "walks", "0", "0", "0", "0", "0", "0"],
            ["three:C", "false rejection", "walks", "0", "0", "0", "", "", "0"],
            ["three:C", "false acceptance", "0 invalid instances", "1", "0", "0", "0", "", "1"],
            ["three:C", "false rejection", "0 valid instances", "0", "0", "0", "", "", "0"],
        ]

    def test_what_an_error_has_not_takes_no_room_on_a_phone(self, browser):
        page = browser(size=PHONE)
        empty = "return [...document.querySelectorAll('#table-errors td:empty')].map((one) => one.offsetHeight)"
        assert set(page.run(empty)) == {0}

    def test_crosses_keywords_and_sets_with_engines(self, browser):
        page = browser()
        rows = [row.split() for row in page.texts("#heat-acc tbody tr")]
        assert rows == [["(none", "stated)", "·", "·", "1"], ["maxLength", "1", "·", "·"]]
        assert page.run("return document.querySelectorAll('#fig-sets tbody tr').length") == 2

    def test_the_keywords_that_are_not_named_are_a_link_away(self, browser):
        page = browser("varied")
        assert page.texts("#table-rej li a[href='#keywords']") == ["and 2 more"]

    def test_says_what_the_rare_kinds_mean(self, browser):
        page = browser()
        note = page.text("#table-errors .note")
        assert "Stops too early: the engine allows the end" in note
        assert "Dead end: the engine leads to a place" in note
        assert "Unfinishable" not in note

    def test_says_that_a_run_is_not_finished(self, browser):
        assert "This run is not finished" in browser("begun").text("#alerts")
        assert browser("small").text("#alerts") == ""


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

    def test_says_that_what_is_unresolved_is_not_explained(self, browser):
        page = browser()
        page.choose("kind", "unresolved")
        assert "In the run, 1 verdict in 1 schema fits" in page.text("#count")
        assert page.listed[0].startswith("None of these is explained here")

    @pytest.mark.parametrize(
        ("name", "value", "many"),
        [
            ("keyword", "maxLength", 21),
            ("family", "few", 3),
            ("class", "bug", 24),
            ("evidence", "instance", 1),
        ],
    )
    def test_each_filter(self, browser, name, value, many):
        page = browser()
        page.choose(name, value)
        assert len(page.listed) == many

    def test_search_finds_text(self, browser):
        page = browser()
        field = page.driver.find_element("id", "filter-q")
        field.send_keys('"a": "B')
        assert [one.splitlines()[2] for one in page.listed] == ['{"a": "bc"}', '{"a": "b"}']
        field.send_keys("c")
        assert len(page.listed) == 1

    @pytest.mark.parametrize(
        ("text", "many"), [("\\xff", 2), ("\\u{1b}", 1), ("is too long", 1), ("for all I know", 0)]
    )
    def test_search_finds_what_the_page_shows(self, browser, text, many):
        page = browser()
        page.driver.find_element("id", "filter-q").send_keys(text)
        assert page.text("#count").startswith(f"{many} verdict")

    def test_counts_schemas_too(self, browser):
        page = browser()
        page.choose("family", "short")
        assert "21 verdicts in at least 1 schema fit" in page.text("#count")
        page.choose("kind", "false rejection")
        assert "20 verdicts in 1 schema fit" in page.text("#count")

    @pytest.mark.parametrize(
        ("unit", "cell", "evidence"),
        [
            ("cases", "#heat-rej", ""),
            ("tokens", "#heat-rej", "=walk"),
            ("instances", "#heat-acc", "=instance"),
        ],
    )
    def test_a_cell_and_its_list_count_the_same(self, browser, unit, cell, evidence):
        page = browser()
        page.click(f"#unit-keywords input[value={unit}]")
        number = page.text(f"{cell} button")
        page.click(f"{cell} button")
        noun = "in 1 schema" if unit == "cases" else f"In the run, {number} verdict"
        assert noun in page.text("#count")
        assert page.run("return document.getElementById('filter-evidence').value") == evidence

    def test_a_cell_of_the_heat_map_shows_its_verdicts(self, browser):
        page = browser()
        page.click("#heat-rej button")
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
        assert detail.count("maxLength at /properties/a/maxLength, for /a") == 2
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
        page.choose("kind", "false rejection")
        page.click("#list [role=option]")
        address = page.run("return location.hash")
        again = browser(address=address)
        assert len(again.listed) == 20
        assert again.run("return location.hash") == address

    @pytest.mark.parametrize("size", [PHONE, DESKTOP])
    @pytest.mark.parametrize(
        "opener", ["#heat-rej button", "#table-acc li button", "#matrix td.acc button"]
    )
    def test_back_leads_to_where_one_came_from(self, browser, opener, size):
        page = browser(size=size)
        page.run("document.querySelector(arguments[0]).scrollIntoView()", opener)
        before = page.run("return scrollY")
        page.click(opener)
        assert abs(page.run("return scrollY") - before) > 500
        shown = page.run("return location.hash"), page.text("#detail h3")
        page.driver.back()
        assert page.run("return [scrollY, location.hash]") == [before, ""]
        assert page.run("return document.activeElement.matches(arguments[0])", opener)
        assert len(page.listed) == 24
        page.driver.forward()
        assert (page.run("return location.hash"), page.text("#detail h3")) == shown

    def test_filters_of_the_explorer_are_no_steps_to_go_back(self, browser):
        page = browser()
        steps = page.run("return history.length")
        page.choose("kind", "false rejection")
        page.click("#list [role=option]")
        assert page.run("return history.length") == steps

    def test_a_verdict_closes_that_the_filters_leave_out(self, browser):
        page = browser(address="#verdict=0")
        page.choose("engine", "two:B")
        assert page.text("#detail").startswith("The verdict that was open is not among these.")
        assert page.run("return location.hash") == "#engine=two%3AB"
        page.run("document.getElementById('detail').focus()")
        page.press("ESCAPE")
        assert page.focused == page.run("return document.querySelector('#list').firstChild.id")

    def test_escape_leads_to_the_filters_where_the_list_is_empty(self, browser):
        page = browser(address="#kind=unresolved")
        page.run("document.getElementById('detail').focus()")
        page.press("ESCAPE")
        assert page.focused == "reset"

    def test_reset_closes_the_verdict(self, browser):
        page = browser(address="#verdict=0")
        page.click("#reset")
        assert page.run("return location.hash") == ""
        assert page.text("#detail").startswith("Choose a verdict")

    def test_an_address_that_contradicts_itself_is_about_the_verdict(self, browser):
        page = browser(address="#verdict=0&engine=two%3AB")
        assert page.run("return location.hash") == "#verdict=0"
        assert len(page.listed) == 24

    def test_an_address_with_an_unknown_filter_leaves_it_out(self, browser):
        page = browser(address="#engine=nobody&constructor=1&kind=false_rejection")
        assert len(page.listed) == 20
        assert page.run("return location.hash") == "#kind=false_rejection"

    @pytest.mark.parametrize("size", [PHONE, DESKTOP])
    def test_a_verdict_leads_back_to_the_list(self, browser, size):
        page = browser(size=size, address="#verdict=0")
        page.click("#detail .back")
        assert page.focused == "verdict-0"
        top = page.run("return document.activeElement.getBoundingClientRect().top")
        assert 0 <= top < size[1]

    def test_lists_by_severity_where_it_is_known(self, browser):
        assert browser().run("return document.getElementById('filter-severity')") is None
        page = browser("varied")
        page.choose("severity", "on path")
        assert {line.partition("\n")[0] for line in page.listed} == {"false rejection: maxLength"}
        assert page.text("#count").endswith("fit these filters.")
        page.click("#list [role=option]")
        assert "severity\non path" in page.text("#detail")

    def test_says_when_one_token_stands_behind_most(self, browser):
        page = browser("varied")
        assert "in 9 only token \\x7f" in page.text("#table-rej")
        assert "in 9 only" not in page.text("#table-acc")

    def test_names_the_characters_of_a_look_alike(self, browser):
        page = browser("varied", address="#verdict=0")
        assert "; U+FF11)" in page.text("#detail")
        assert page.listed[0].endswith("U+FF11")

    def test_says_of_what_sort_a_verdict_is(self, browser):
        assert "The only verdict of its sort" in browser(address="#verdict=0").text("#detail")
        several = browser(address="#verdict=1").text("#detail")
        assert "in 1 schema; all of them are explained here." in several

    def test_says_how_to_see_a_verdict_that_is_not_in_the_page(self, browser):
        page = browser(address="#verdict=4711")
        assert page.text("#detail").endswith("maskcourt replay runs/small --trust 4711 --show")


class TestForAnybody:
    @pytest.mark.parametrize("address", ["", "#verdict=0"])
    @pytest.mark.parametrize("size", [PHONE, (320, 640), (768, 1024), DESKTOP])
    def test_nothing_is_wider_than_the_screen(self, browser, size, address):
        page = browser(size=size, address=address)
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.run("return document.documentElement.scrollWidth") <= size[0]

    def test_follows_the_reader_in_light_and_dark(self, browser):
        colour = "return getComputedStyle(document.body).backgroundColor"
        light = browser(scheme="light").run(colour)
        page = browser(scheme="dark")
        assert page.run(colour) != light
        page.click("#theme")
        assert page.run(colour) == light
        page.click("#theme")
        assert page.text("#theme") == "Theme: dark"
        page.click("#theme")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_all_text_is_readable(self, browser, scheme):
        page = browser(scheme=scheme, address="#verdict=0")
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.run(POOR_CONTRAST) == []

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_the_edges_of_controls_can_be_seen(self, browser, scheme):
        page = browser(scheme=scheme, address="#verdict=0")
        assert page.run(FAINT_EDGES) == []

    def test_a_thumb_can_hit_what_acts(self, browser):
        page = browser("varied", size=PHONE, address="#verdict=0")
        assert page.run(SMALL_TARGETS) == []

    def test_the_first_stop_of_the_keyboard_skips_to_the_results(self, browser):
        page = browser()
        page.press("TAB")
        assert page.focused == "Skip to the results"
        page.press("ENTER")
        assert page.focused == "short"

    def test_focus_can_be_seen(self, browser):
        page = browser()
        page.press("TAB", "TAB")
        style = page.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert (page.focused, style) == ("theme", "solid")

    def test_everything_that_acts_has_a_name(self, browser):
        page = browser(address="#verdict=0")
        assert page.run(NAMELESS) == []

    def test_prints_on_white_paper_even_in_the_dark(self, browser):
        page = browser(scheme="dark")
        media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        try:
            colour = page.run("return getComputedStyle(document.body).backgroundColor")
            assert colour == "rgb(255, 255, 255)"
            shown = "return getComputedStyle(document.getElementById('filters')).display"
            assert page.run(shown) == "none"
            cells = "return [...document.querySelectorAll('.heat .cell')].map((one) => one.offsetWidth > 0)"
            assert set(page.run(cells)) == {True}
            assert "Choose a verdict" not in page.text("#detail")
        finally:
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_motion_is_not_forced(self, browser):
        page = browser()
        assert (
            page.run("return getComputedStyle(document.documentElement).scrollBehavior") == "auto"
        )


class TestHostileRun:
    def test_text_stays_text(self, browser):
        page = browser("attacking")
        assert page.run("return window.hacked") is None
        page.choose("family", reporting.ATTACK)
        page.click("#list [role=option]")
        assert reporting.ATTACK in page.text("#detail .text")
        assert reporting.ATTACK in page.text("#detail pre.schema")
        assert page.run("return document.images.length") == 0
        assert page.run("return document.scripts.length") == 2
        assert page.run("return window.hacked") is None

    def test_what_would_not_be_seen_is_written_out(self, browser):
        page = browser("attacking")
        page.choose("family", reporting.ATTACK)
        page.click("#list [role=option]")
        assert "\\u202egnp.exe\\u0000" in page.text("#detail pre.schema")
        assert page.run("return document.body.innerText.includes('\\u202e')") is False

    def test_the_page_could_not_run_it_if_it_were_there(self, driver, pages, tmp_path):
        text = pages["small"].read_text("utf-8")
        broken = text.replace("<noscript>", f"{reporting.ATTACK}<noscript>", 1)
        (tmp_path / "broken.html").write_text(broken, "utf-8")
        driver.get((tmp_path / "broken.html").as_uri())
        assert driver.execute_script("return [document.images.length, window.hacked]") == [1, None]
        assert any("Content Security Policy" in one["message"] for one in driver.get_log("browser"))


LIGHT = """
const level = (part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * level(r / 255) + 0.7152 * level(g / 255) + 0.0722 * level(b / 255);
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const between = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
"""

POOR_CONTRAST = (
    LIGHT
    + """
const mixed = (over, under) => over.slice(0, 3).map((one, at) => one * over[3] + under[at] * (1 - over[3]));
const behind = (node) => {
  const found = [];
  for (let one = node; one; one = one.parentElement) {
    const overlay = getComputedStyle(one, '::before');
    if (overlay.position === 'absolute') {
      found.push([...parts(overlay.backgroundColor).slice(0, 3), Number(overlay.opacity)]);
    }
    const colour = parts(getComputedStyle(one).backgroundColor);
    found.push([...colour.slice(0, 3), colour[3] ?? 1]);
    if ((colour[3] ?? 1) === 1) break;
  }
  return found.reduceRight((under, over) => mixed(over, under), [255, 255, 255]);
};
const poor = [];
for (const node of document.querySelectorAll('body *')) {
  const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
  if (!own || ['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(node.tagName)) continue;
  const box = node.getBoundingClientRect();
  if (!box.width || box.right < 0) continue;
  const style = getComputedStyle(node);
  const front = parts(node instanceof SVGElement ? style.fill : style.color);
  const [one, other] = [light(front), light(behind(node))];
  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (contrast < 4.5) poor.push(`${node.tagName}.${node.className} ${contrast.toFixed(2)}: ${node.textContent.slice(0, 30)}`);
}
return poor;
"""
)
"""What has less contrast than WCAG 2.2, 1.4.3 asks for (level AA, for text of any size)."""

FAINT_EDGES = (
    LIGHT
    + """
const paper = light(parts(getComputedStyle(document.body).backgroundColor));
return [...document.querySelectorAll('button:not(.link, .cell), select, input[type="search"], .f-4, .f-5')].filter((node) => {
  const style = getComputedStyle(node);
  const edge = style.boxShadow === 'none' ? style.borderTopColor : style.boxShadow;
  return between(light(parts(edge)), paper) < 3;
}).map((node) => node.outerHTML.slice(0, 80));
"""
)
"""What has an edge of less contrast than WCAG 2.2, 1.4.11 asks for."""

SMALL_TARGETS = """
return [...document.querySelectorAll('button, select, summary, fieldset label, nav a, td li a')].filter((node) => {
  const box = node.getBoundingClientRect();
  return box.width && Math.min(box.width, box.height) < 24;
}).map((node) => node.outerHTML.slice(0, 80));
"""
"""What is smaller than WCAG 2.2, 2.5.8 asks for; links within sentences may be."""

NAMELESS = """
const named = (node) => node.getAttribute('aria-label') || node.labels && node.labels.length || node.innerText.trim();
return [...document.querySelectorAll('a, button, input, select, summary, [tabindex="0"]')]
  .filter((node) => !named(node)).map((node) => node.outerHTML.slice(0, 80));
"""
