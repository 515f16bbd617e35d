"""The page on tools of public servers: what it takes, and what it says of a finding."""

import pytest

from benchmarks.tools import Server, findings
from harness.errors import UsageError

QUIET = {"version": "1", "backend": "", "answer": "no_error_found", "why": "", "refuses": False,
         "loses": False, "leaks": False, "traps": False,
         "false_rejections": [], "false_acceptances": []}  # fmt: skip


def test_without_node_a_server_from_npm_is_said_to_need_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="server@1 needs npm, and there is none"):
        Server("npm", "server", "1", "server").tools(tmp_path)


def test_a_tool_with_a_finding_has_a_row_with_its_everyday_text():
    lost = {"effect": "lost_value", "severity": "rare", "keyword": "format", "text": "1"}
    leak = {"effect": "invalid_value", "severity": "plain", "keyword": "minimum", "text": "12"}
    errs = {
        "answer": "errs",
        "leaks": True,
        "false_rejections": [lost],
        "false_acceptances": [leak],
    }
    refuses = {"answer": "refuses", "refuses": True, "why": "No."}
    engines = {"a": QUIET | errs, "b": QUIET | refuses, "c": QUIET}
    first, second = findings({"schemas": [{"schema": "s/t", "engines": engines}]})
    assert (first["engine"], first["finding"]) == ("a", "leaks, (loses)")
    assert (first["keyword"], first["text"]) == ("minimum", "12")
    assert (second["engine"], second["finding"], second["why"]) == ("b", "refuses", "No.")
