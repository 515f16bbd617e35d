"""Tools that an MCP server lists: it is started, or asked over HTTP, for that and nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import shlex
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from harness.errors import InputError, UsageError
from harness.inputs.tools import MOST, NamedSchema, tools_in
from harness.optional import require
from harness.printable import one_line, plural
from harness.workers.lineage import end_all, marked

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

_MOST_PAGES = 200
"""Answers that a list of tools comes in."""


def mcp_tools(target: str, seconds: float, token_variable: str | None = None) -> list[NamedSchema]:
    """The schemas of the tools of a server: `target` is its URL, or a command that starts it.

    It must list all of them within `seconds`; `token_variable` names the environment variable with
    the token for a URL.

    Raises:
        InputError: There is no such server, or it does not list tools that have schemas.
        UsageError: The client is not installed, or the variable is not set.
    """
    require("mcp", "mcp", "tools of MCP servers")
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False
    mark = secrets.token_hex(8)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        try:
            name, tools = asyncio.run(
                _asked(target, seconds, token_variable, cast("TextIO", errors), mark)
            )
        except (InputError, UsageError):
            raise
        except Exception as error:  # noqa: BLE001 - the client lets through what a server makes of it
            errors.seek(0)
            lines = [line for line in errors.read()[-2000:].splitlines() if line.strip()]
            hint = f"it said: {one_line(lines[-1], 200)}" if lines else None
            message = f"no tools from {target}: {_reason(error, seconds)}"
            raise InputError(one_line(message), hint) from None
        finally:
            end_all(mark)  # what left its session, too
    return tools_in({"tools": tools}, target, name)


async def _asked(
    target: str, seconds: float, token_variable: str | None, errors: TextIO, mark: str
) -> tuple[str, list[dict[str, Any]]]:
    """The name of a server, and its tools as it lists them."""
    from mcp.types import PaginatedRequestParams

    found: list[dict[str, Any]] = []
    cursor: str | None = None
    async with asyncio.timeout(seconds), _session(target, token_variable, errors, mark) as session:
        server = await session.initialize()
        for _ in range(_MOST_PAGES):
            params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
            page = await session.list_tools(params=params)
            found += [one.model_dump(by_alias=True, exclude_none=True) for one in page.tools]
            if (cursor := page.next_cursor) is None:
                return server.server_info.name, found
            if len(found) > MOST:
                raise InputError(f"{target} has {plural(len(found), 'tool')}, and more to come")
    raise InputError(f"{target} goes on listing tools after {_MOST_PAGES} pages")


@asynccontextmanager
async def _session(
    target: str, token_variable: str | None, errors: TextIO, mark: str
) -> AsyncIterator[ClientSession]:
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if re.match("https?://", target):
        import httpx2

        # The client follows a redirect only within the server's own origin.
        headers = {"Authorization": f"Bearer {_token(token_variable)}"} if token_variable else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=None) as http,
            streamable_http_client(target, http_client=http) as streams,
            ClientSession(*streams) as session,
        ):
            yield session
        return
    command, *arguments = shlex.split(target) or [""]
    about = StdioServerParameters(command=command, args=arguments, env=marked(os.environ, mark))
    async with stdio_client(about, errors) as streams, ClientSession(*streams) as session:
        yield session


def _token(variable: str) -> str:
    token = os.environ.get(variable, "")
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(f"the environment variable {variable} holds no token", "set it")
    return token


def _reason(error: BaseException, seconds: float) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {seconds:g} s (--mcp-timeout)"
    text = getattr(error, "strerror", None) or str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
