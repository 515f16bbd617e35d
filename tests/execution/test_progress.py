"""What a run says of itself while it goes on."""

from harness.execution.lanes import CaseDone
from harness.execution.progress import RunProgress


def test_disputes_and_cases_that_say_nothing_are_counted(capsys):
    with RunProgress(4) as progress:
        progress.skip(1)
        for status in ("lane_died", "done", "harness_error"):
            progress.case_stored(CaseDone("a", status, disputed_tokens=600))
    begun, already, last = capsys.readouterr().err.splitlines()
    assert begun == "4 cases; starting the engines"
    assert already == "1 of 4 cases are there already"
    stored, _seconds, disputed, *_, failed = last.split(", ")
    assert (stored, disputed, failed) == ("4/4 cases", "1,800 disputed tokens", "2 failed")
