"""Downloads from a server on this machine, which breaks off, or has nothing."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from harness.errors import InputError, UsageError
from harness.inputs import download
from harness.inputs.case_archives import content_sha256
from harness.inputs.download import fetch
from tests.archives import packed

CONTENT = bytes(range(256)) * 4096


def is_whole(path):
    if hashlib.sha256(path.read_bytes()).digest() != hashlib.sha256(CONTENT).digest():
        raise InputError("another file")


class Server(ThreadingHTTPServer):
    """Serves `content` at every path."""

    content = CONTENT
    status = 200
    cuts = 0
    """Break off that many answers."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = 0

    def handle_error(self, request, client_address):
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        server = self.server
        server.asked += 1
        self.send_response(server.status)
        body = server.content if server.status == 200 else b""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:300_000] if server.asked <= server.cuts else body)
        self.close_connection = True


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.server_port}/file"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "new" / "file.bin"


def test_a_transfer_that_breaks_off_leaves_what_was_there(server, url, target):
    fetch(url, target, verify=is_whole)
    assert target.read_bytes() == CONTENT
    server.cuts = 2
    with pytest.raises(InputError, match=r"failed: .*try again"):
        fetch(url, target.with_name("other"), verify=is_whole)
    assert list(target.parent.iterdir()) == [target]


def test_what_cannot_be_fetched_or_written(url, target, tmp_path):
    with pytest.raises(UsageError, match="http"):
        fetch(tmp_path.as_uri(), target, is_whole)
    target.parent.write_bytes(b"mine")
    with pytest.raises(InputError, match="cannot write"):
        fetch(url, target, is_whole)


def test_a_server_that_is_not_there_or_has_no_such_file(server, url, target):
    server.status = 404
    with pytest.raises(InputError, match="404"):
        fetch(url, target, is_whole)
    server.server_close()
    with pytest.raises(InputError, match=r"failed: .*(refused|reset)"):
        fetch(url, target, is_whole)


def test_the_command_verifies_the_contents_and_is_content_when_they_are_there(
    server, url, target, monkeypatch
):
    files = {"a.json": b"{}", "b.json": b"[]"}
    root = "jsonschemabench-0123abc/maskbench/data"
    server.content = packed("gz", {f"{root}/{name}": text for name, text in files.items()})
    refused = CliRunner().invoke(download.main, ["--url", url, "--to", str(target)])
    assert refused.exit_code == 2
    assert "does not hold MaskBench at commit" in refused.output
    assert not target.exists()
    monkeypatch.setattr(download, "DATA_SHA256", content_sha256(files.items()))
    for says in (f"{target}: MaskBench", "is there already"):
        result = CliRunner().invoke(download.main, ["--url", url, "--to", str(target)])
        assert result.exit_code == 0
        assert says in result.output
    assert target.read_bytes() == server.content
    assert server.asked == 2
    target.write_bytes(b"something else")
    refused = CliRunner().invoke(download.main, ["--url", url, "--to", str(target)])
    assert refused.exit_code == 2
    assert f"remove {target}" in refused.output
    assert target.read_bytes() == b"something else"
