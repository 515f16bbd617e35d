"""The page on gate lists, of a table by hand."""

from benchmarks.gates import SERVERS, page
from harness.conformance.cells import cells
from harness.conformance.outcomes import CellOutcome, ConformanceTable, WrongText
from harness.engines.presets import find_preset

ENGINE = "xgrammar@0.2.8[config=shipped]"
SCHEMAS = {(case.family, case.id.rpartition("/")[2]): case.schema for case in cells()}


def outcome(keyword, text=b"", place="root"):
    wrong = WrongText(text, "bug") if text else None
    status = "too_lax" if text else "enforced"
    return CellOutcome(ENGINE, keyword, place, status, SCHEMAS[keyword, place], wrong)


def test_the_page_says_what_is_kept_what_is_lacking_and_what_is_right():
    outcomes = outcome("multipleOf"), outcome("uniqueItems", b"[1,1]"), outcome("not", b"5")
    text, files = page({"vllm": ConformanceTable({ENGINE: "0.2.8"}, outcomes, {})})
    assert "# vLLM 0.33.0" in text
    assert "| multipleOf (xgrammar \\#670) | `multipleOf` | `root` | 1 of 1 |" in text
    assert "| `not` | `root` | 0 of 1 |" in text
    assert "Of the list for xgrammar nothing is kept under: uniqueItems (xgrammar \\#968)." in text
    assert files["vllm.csv"].count("\n") == 3


def test_each_server_on_it_has_a_preset():
    assert all(find_preset(name, None) for name in SERVERS)
