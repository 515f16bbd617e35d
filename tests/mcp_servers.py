"""MCP servers that list tools in one known way: honest ones, and one for each way to go wrong."""

import http.server
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

A = {"type": "object", "properties": {"a": {"type": "string"}}}

LISTS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "many": [{"name": f"t{number}", "inputSchema": A} for number in range(10_000)],
    "no schema": [{"name": "t"}],
    "no object": [{"name": "t", "inputSchema": "A"}],
    "no type": [{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": 1}}}}],
    "control": [{"name": "t\x1b[2J", "inputSchema": A}],
    "large": [{"name": "t", "inputSchema": {**A, "title": "a" * 2**20}}],
}


def over_stdio(how: str) -> None:
    """Answer one request a line: with a list of `LISTS`, in pages, or with pages for ever."""
    for line in sys.stdin:
        asked = json.loads(line)
        result: dict[str, Any] = {}
        if asked["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "miniature \x1b[2J", "version": "1"}
        elif asked["method"] == "tools/list":
            page = int((asked.get("params") or {}).get("cursor", 0))
            if how in LISTS:
                result = {"tools": LISTS[how]}
            else:
                more = {} if how == "pages" and page == 2 else {"nextCursor": str(page + 1)}
                result = {"tools": [{"name": f"t{page}", "inputSchema": A}], **more}
        elif how == "pages" and "id" in asked:
            raise ValueError(f"nothing but tools is to be asked for: {line}")
        if "id" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            print(json.dumps(answer), flush=True)  # noqa: T201 - that is how it answers


class _Answers(http.server.BaseHTTPRequestHandler):
    """Redirects to another host, or keeps which tokens came."""

    elsewhere = ""
    tokens: list[str | None]

    def do_POST(self) -> None:
        self.tokens.append(self.headers["Authorization"])
        self.send_response(307 if self.elsewhere else 404)
        self.send_header("Location", self.elsewhere)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def over_http(elsewhere: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """A server that redirects all `elsewhere`, or has nothing: its URL, and the tokens it got."""
    tokens: list[str | None] = []
    handler = type("_", (_Answers,), {"elsewhere": elsewhere, "tokens": tokens})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp", tokens
        server.shutdown()


@contextmanager
def honest() -> Iterator[str]:
    """A server made with the package itself, over HTTP; only who has the token is let in."""
    import uvicorn
    from mcp.server import MCPServer

    made = MCPServer("honest")

    @made.tool()
    def add(a: int, b: int) -> int:
        return a + b

    app = made.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            assert dict(scope["headers"])[b"authorization"] == b"Bearer secret"
        await app(scope, receive, send)

    config = uvicorn.Config(guarded, host="127.0.0.1", port=0, log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    over_stdio(sys.argv[1])
