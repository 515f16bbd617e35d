"""Published pages say what their runs hold."""

from benchmarks.published import REWRITINGS, equal_sentence
from harness.schemas import rewritings


def row(rewriting: str, under: str, **counts: int) -> dict[str, object]:
    none = {"refused": 0, "loses": 0, "leaks": 0}
    return {"rewriting": rewriting, "under": under, "schemas": 12, **none, **counts}


def test_every_rewriting_is_told_in_words():
    assert set(REWRITINGS) == {*rewritings.REWRITINGS, *rewritings.WHOLE}


def test_an_engine_is_told_by_the_form_that_is_wrong():
    rows = [
        row("split-members", "original", loses=1),
        row("split-members", "rewriting", leaks=9, loses=2),
    ]
    assert equal_sentence("lax", "1.0", rows, 240) == (
        "- lax 1.0, 240 rewritten schemas: loses a value in 2 of 12 as `split-members`; loses a"
        " value in 1 of 12 as they are, and not as `split-members`; leaks one in 9 of 12 as"
        " `split-members`."
    )


def test_an_engine_without_a_difference_is_told_to_have_none():
    assert equal_sentence("fair", "1.0", [], 240).endswith(": no difference was found.")
