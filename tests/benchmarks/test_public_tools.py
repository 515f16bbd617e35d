"""The page on tools of public servers: what it takes, and what it says of a finding."""

import json
from types import SimpleNamespace

import pytest

from benchmarks.tools import Server, findings, repeated
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


def test_what_was_replayed_is_counted_over_all_runs_and_not_done_again(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.replayed.chosen", lambda _: (range(3), range(5)))
    monkeypatch.setattr("benchmarks.tools.open_run", lambda path, trust: SimpleNamespace(path=path))
    for name, differ in (("strict", 0), ("lax", 2)):
        run = tmp_path / "both" / name
        run.mkdir(parents=True)
        (run / "run.json").write_text("{}")
        counts = {"costly": 3, "sampled": 5, "replayed": 6, "differ": differ, "differences": []}
        (run / "replayed.json").write_text(json.dumps(counts))
    assert repeated(tmp_path) == {"costly": 6, "replayed": 12, "differ": 2}
