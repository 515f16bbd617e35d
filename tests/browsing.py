"""A report in a browser, as its reader acts on it; the fixtures are those of ``tests/report``."""

import importlib.util
import json
import shutil

import pytest

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
PHONE, DESKTOP = (390, 844), (1440, 1000)
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(
        importlib.util.find_spec("selenium") is None,
        reason="selenium is not installed: pip install '.[test]'",
    ),
    pytest.mark.skipif(
        not (BROWSER and DRIVER),
        reason="no chromium and chromedriver: apt-get install chromium chromium-driver",
    ),
]
"""Of modules whose tests need a browser."""


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

    def open(self, selector):
        """Open a ``details`` by its summary; what is inside of some is made a moment later."""
        self.click(selector)
        self.settle()

    def open_all(self):
        """Open all ``details``."""
        self.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.settle()

    def settle(self):
        """Wait until what was opened has told so."""
        self.run("return new Promise((done) => setTimeout(done, 100)).then(() => null)")

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
