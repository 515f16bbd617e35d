"""The report in a browser: for anybody, on any screen, whoever made the run."""

import pytest

from tests import reporting
from tests.browsing import DESKTOP, MARKS, PHONE

pytestmark = MARKS


class TestForAnybody:
    @pytest.mark.parametrize(
        ("size", "address"), [((320, 640), ""), (PHONE, "#verdict=0"), (DESKTOP, "#verdict=0")]
    )
    def test_nothing_is_wider_than_the_screen(self, browser, size, address):
        page = browser("varied", size=size, address=address)
        page.open_all()
        assert page.run("return document.documentElement.scrollWidth") <= size[0]
        assert page.run(NAMELESS) == []
        if size == PHONE:
            assert page.run(SMALL_TARGETS) == [], "a thumb can hit what acts"

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
        page = browser("varied", scheme=scheme, address="#verdict=0")
        assert page.run(FAINT_EDGES) == [], "edges of controls can be seen"
        page.open_all()
        assert page.run(POOR_CONTRAST) == []

    def test_the_first_stop_of_the_keyboard_skips_to_the_results(self, browser):
        page = browser()
        behaviour = "return getComputedStyle(document.documentElement).scrollBehavior"
        assert page.run(behaviour) == "auto", "motion is not forced"
        page.press("TAB")
        assert page.focused == "Skip to the results"
        page.press("ENTER")
        assert page.focused == "short"

    def test_focus_can_be_seen(self, browser):
        page = browser()
        page.press("TAB", "TAB")
        style = page.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert (page.focused, style) == ("theme", "solid")

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
return [...document.querySelectorAll('button:not(.link, .cell), select, input[type="search"]')].filter((node) => {
  const style = getComputedStyle(node);
  const edge = style.boxShadow === 'none' ? style.borderTopColor : style.boxShadow;
  return between(light(parts(edge)), paper) < 3;
}).map((node) => node.outerHTML.slice(0, 80));
"""
)
"""What has an edge of less contrast than WCAG 2.2, 1.4.11 asks for."""

SMALL_TARGETS = """
return [...document.querySelectorAll('button, select, summary, fieldset label, nav a')].filter((node) => {
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
