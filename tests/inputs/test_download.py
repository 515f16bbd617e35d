"""Downloads from a server on this machine, which breaks off, lies, or has nothing."""

import hashlib
import io
import re
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from harness.errors import InputError, UsageError
from harness.inputs import download
from harness.inputs.case_archives import content_sha256
from harness.inputs.download import fetch

CONTENT = bytes(range(256)) * 4096


def is_whole(path):
    if hashlib.sha256(path.read_bytes()).digest() != hashlib.sha256(CONTENT).digest():
        raise InputError("another file")


class Server(ThreadingHTTPServer):
    """Serves `content` at every path, in the manner that the other attributes say."""

    content = CONTENT
    status = None
    """Answer everything with this status."""
    cuts = 0
    """Break off that many answers after `cut_after` bytes."""
    cut_after = 300_000
    ranges = True
    chunked = False
    shift = 0
    """Bytes by which an answered range differs from the one asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []

    def handle_error(self, request, client_address):
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        start = int(re.fullmatch(r"bytes=(\d+)-", asked).group(1)) if asked and server.ranges else 0
        size = len(server.content)
        if server.status:
            self.answer(server.status, b"", {})
        elif start >= size:
            self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
        elif start:
            start += server.shift
            shown = f"bytes {start}-{size - 1}/{size}"
            self.answer(206, server.content[start:], {"Content-Range": shown})
        else:
            self.answer(200, server.content, {})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.server.chunked and body:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = body and self.server.cuts > 0
        self.server.cuts -= 1
        sent = body[: self.server.cut_after] if cut else body
        if self.server.chunked and body:
            sent = b"%x\r\n%s\r\n" % (len(sent), sent) + (b"" if cut else b"0\r\n\r\n")
        self.wfile.write(sent)
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


def part_of(target):
    return target.with_name(target.name + ".part")


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("cuts", [0, 2])
def test_a_transfer_that_breaks_off_is_taken_up_where_it_ended(server, url, target, cuts, chunked):
    server.cuts, server.chunked = cuts, chunked
    fetch(url, target, verify=is_whole)
    assert target.read_bytes() == CONTENT
    assert not part_of(target).exists()
    assert server.asked == [None, "bytes=300000-", "bytes=600000-"][: cuts + 1]


def test_what_has_arrived_is_kept_for_the_next_call(server, url, target):
    server.cuts = download.ATTEMPTS
    with pytest.raises(InputError, match=r"900,000 of 1,048,576 bytes.*try again"):
        fetch(url, target, verify=is_whole)
    assert not target.exists()
    assert part_of(target).read_bytes() == CONTENT[:900_000]
    fetch(url, target, verify=is_whole)
    assert server.asked[-1] == "bytes=900000-"
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("manner", [{"ranges": False}, {"shift": 5}])
def test_a_server_that_sends_another_range_than_asked_for(server, url, target, manner):
    server.cuts = 1
    vars(server).update(manner)
    fetch(url, target, verify=is_whole)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("part", [b"something else", CONTENT + b"more"])
def test_a_part_of_something_else_leaves_nothing(server, url, target, part):
    target.parent.mkdir()
    part_of(target).write_bytes(part)
    with pytest.raises(InputError, match="another file"):
        fetch(url, target, verify=is_whole)
    assert list(target.parent.iterdir()) == []
    part_of(target).write_bytes(CONTENT)
    fetch(url, target, verify=is_whole)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(("status", "times"), [(404, 1), (503, download.ATTEMPTS)])
def test_only_a_server_in_trouble_is_asked_again(server, url, target, status, times):
    server.status = status
    with pytest.raises(InputError, match=str(status)):
        fetch(url, target, is_whole)
    assert len(server.asked) == times
    assert not target.exists()


def test_what_cannot_be_fetched_or_written_is_not_asked_for(server, url, target, tmp_path):
    target.parent.mkdir()
    target.write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists already"):
        fetch(url, target, is_whole)
    assert target.read_bytes() == b"mine"
    with pytest.raises(UsageError, match="http"):
        fetch(tmp_path.as_uri(), target.with_name("x"), is_whole)
    with pytest.raises(InputError, match="cannot write"):
        fetch(url, target / "x", is_whole)
    assert server.asked == []


def test_a_server_that_is_not_there(server, url, target):
    server.server_close()
    with pytest.raises(InputError, match=r"failed: .*refused"):
        fetch(url, target, is_whole)


def maskbench(**files):
    """An archive of these files in MaskBench's layout."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"jsonschemabench-0123abc/maskbench/data/{name}.json")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def test_the_command_verifies_the_contents_and_is_content_when_they_are_there(
    server, url, target, monkeypatch
):
    server.content = maskbench(a=b"{}", b=b"[]")
    digest = content_sha256({"a.json": b"{}", "b.json": b"[]"})
    refused = CliRunner().invoke(download.main, ["--url", url, "--to", str(target)])
    assert refused.exit_code == 2
    assert "does not hold MaskBench at commit" in refused.output
    assert not target.exists()
    monkeypatch.setattr(download, "DATA_SHA256", digest)
    for says in (f"{target}: MaskBench", "is there already"):
        result = CliRunner().invoke(download.main, ["--url", url, "--to", str(target)])
        assert result.exit_code == 0
        assert says in result.output
    assert target.read_bytes() == server.content
    assert len(server.asked) == 2
