"""The list of what is already reported upstream."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.bugs.listing import load_reports
from harness.errors import InputError

CASE = ErrorCase("xgrammar", "false_rejection", '{"minimum":0}', b"-0")
ENTRY = """
[[report]]
id = "{id}"
engine = "xgrammar"
kind = "false_rejection"
schema = '{{"minimum":0}}'
text = "-0"
at = 0
thread = "https://example.org/1"
state = "{state}"
says = "minus zero is no number here"
"""


def listed(tmp_path, *entries):
    file = tmp_path / "upstream.toml"
    file.write_text("".join(entries))
    return load_reports(file)


def test_an_entry_is_found_by_the_id_of_its_case(tmp_path):
    found = listed(tmp_path, ENTRY.format(id=bug_id(CASE, 0), state="open"))
    assert asdict(found[bug_id(CASE, 0)]) == {
        "id": bug_id(CASE, 0),
        "thread": "https://example.org/1",
        "state": "open",
        "fixed_in": "",
        "says": "minus zero is no number here",
    }


def test_what_is_wrong_with_an_entry_is_said(tmp_path):
    good = ENTRY.format(id=bug_id(CASE, 0), state="open")
    with pytest.raises(InputError, match="is the bug"):
        listed(tmp_path, ENTRY.format(id="00000000", state="open"))
    with pytest.raises(InputError, match="none of open, closed, fixed"):
        listed(tmp_path, ENTRY.format(id=bug_id(CASE, 0), state="perhaps"))
    with pytest.raises(InputError, match="two of the id"):
        listed(tmp_path, good, good)
    with pytest.raises(InputError, match="'thread'"):
        listed(tmp_path, good.replace("thread", "forum"))


def test_the_list_that_comes_with_maskcourt_holds():
    for one in load_reports().values():
        assert one.thread.startswith("https://github.com/")
        assert one.says
