"""What tests of the page in a browser share: reports as files, and the browser that opens them."""

import copy
from pathlib import Path
from typing import Any

import pytest

from harness.report.page.collect import assembled, collect, shown_bugs
from tests import reporting
from tests.browsing import BROWSER, DESKTOP, DRIVER, Page, requested
from tests.buglists import REPORTED, bug, bug_list


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
        run = make(directory)
        found = collect(run, "runs/small")
        made[name] = directory / "report.html"
        made[name].write_text(assembled(found), "utf-8")
        if name == "small":
            made["varied"] = directory / "varied.html"
            made["varied"].write_text(assembled(varied(found)), "utf-8")
    return made


def varied(data: dict[str, Any]) -> dict[str, Any]:
    """The same with what the small run lacks: a token on path, a look-alike, bugs."""
    found = copy.deepcopy(data)
    rejected, accepted = found["verdicts"][1], found["verdicts"][0]
    found["groups"][rejected["group"]]["shown_by"] = "real"
    accepted["token"]["text"] = "\uff11"
    texts = {"kind": "false_acceptance", "schema": '{"maxLength":1}', "text": b'"ab"'}
    known = bug_list(
        bug("one:A", 1, severity="real", at=2, case="lengths", upstream=REPORTED, **texts),
        *(bug("two:B", 10 + number, severity="rare", cases=number) for number in range(1, 11)),
        needs_a_search=4,
    )
    found["bugs"] = bugs = shown_bugs(known)
    bugs["lines"] = ["import engine", f"engine.run({reporting.ATTACK!r})"]
    bugs["list"][0]["script"] = [0, 1, 0]
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
