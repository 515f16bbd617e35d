"""The tools of MCP servers: real ones, and all that a server may do instead of listing them."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from harness.check.mcp_tools import mcp_tools
from harness.errors import UsageError
from harness.workers.lineage import below
from tests.mcp_servers import honest, over_http

pytest.importorskip("mcp")
pytestmark = pytest.mark.processes

PYTHON = shlex.quote(sys.executable)


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No process that was not there before, as multiprocessing's may be from another test."""
    before = below(os.getpid())
    yield
    assert below(os.getpid()) <= before


def _server(how):
    return f"{PYTHON} -m tests.mcp_servers {shlex.quote(how)}"


@pytest.mark.parametrize(
    ("command", "some"),
    [
        ("mcp-server-time", "mcp-time/get_current_time"),
        ("mcp-server-git", "mcp-git/git_log"),
    ],
)
def test_servers_from_the_registry_list_their_tools_and_end(command, some):
    named = mcp_tools(str(Path(sys.executable).with_name(command)), 60)
    assert some in [one.name for one in named]


def test_a_list_comes_in_pages():
    names = [one.name for one in mcp_tools(_server("pages"), 60)]
    assert names == [f"miniature-2J/t{page}" for page in range(3)]


def test_over_http_a_token_is_shown(monkeypatch):
    with honest() as url:
        monkeypatch.setenv("A_TOKEN", "secret")
        assert [one.tool for one in mcp_tools(url, 60, "A_TOKEN")] == ["add", "add.output"]
        monkeypatch.delenv("A_TOKEN")
        with pytest.raises(UsageError, match="A_TOKEN holds no token"):
            mcp_tools(url, 60, "A_TOKEN")


def test_a_token_follows_no_redirect_to_another_host(call, monkeypatch):
    monkeypatch.setenv("A_TOKEN", "secret")
    with over_http() as (other, there), over_http(other) as (url, here):
        code, out, err = call("check", "--mcp", url, "--mcp-token", "A_TOKEN")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert (here, there) == (["Bearer secret"], [])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "no tools from"),
        ("/no/such/command", "No such file"),
        (f"{PYTHON} -c 'import sys; sys.exit(\"no licence\")'", "it said: no licence"),
        ("yes hello", "did not answer within"),
        ("sh -c 'setsid sleep 1000 & sleep 1000'", "did not answer within"),
        (_server("pages for ever"), "goes on listing tools"),
        (_server("none"), "lists no tool"),
        (_server("many"), "10,000 schemas"),
        (_server("no schema"), "inputSchema"),
        (_server("no object"), "inputSchema"),
        (_server("no type"), "at '/properties/a/type"),
        (_server("control"), "has control characters"),
        (_server("large"), "too many to use"),
    ],
)
def test_what_lists_no_tools_ends_in_one_line_and_leaves_nothing(call, command, message):
    seconds = 2 if "within" in message else 60
    code, out, err = call("check", "--mcp", command, "--mcp-timeout", seconds)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert err.rstrip("\n").isprintable()
