"""The application that the tests of sessions run; see ``site`` for its files and options."""

from __future__ import annotations

import json
import os
import time

from mcp_wsgi import Context, MCPServer
from tests.recorder import Checked, Exchange
from tests.servers.site import PATIENCE, mark, wait_for

mcp = MCPServer("session-site", version="1.0")


@mcp.tool
def counting(name: str, count: int, ctx: Context, gates: tuple[int, ...] = ()) -> str:
    """Report progress ``count`` times; before those in ``gates`` wait for the file ``<name>.<number>.go``."""
    for number in range(1, count + 1):
        if number in gates:
            wait_for(f"{name}.{number}.go")
        ctx.report_progress(number, count)
    mark(f"{name}.counted")
    return "counted"


@mcp.tool
def staged(name: str, ctx: Context) -> str:
    """Log and report 0, 50 and 100, and wait for the files ``<name>.<progress>.go`` in between."""
    for progress in (0, 50, 100):
        ctx.info(f"at {progress}")
        ctx.report_progress(progress, 100)
        wait_for(f"{name}.{progress}.go")
    return "staged"


@mcp.tool
def slow(name: str, ctx: Context) -> str:
    """Run until the call is cancelled."""
    mark(f"{name}.started")
    try:
        while True:
            ctx.raise_if_cancelled()
            time.sleep(0.01)
    finally:
        mark(f"{name}.ended")


@mcp.tool
def polled(times: int, ctx: Context) -> str:
    """Free the connection, and go on when the client has come back so many times."""
    ctx.close_stream()
    end = time.monotonic() + PATIENCE
    while sum(_resumes(exchange, ctx) for exchange in tuple(application.exchanges)) < times:
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)
    return "polled"


def _resumes(exchange: Exchange, ctx: Context) -> bool:
    return "last-event-id" in exchange.headers and exchange.headers.get("mcp-session-id") == ctx.session_id


@mcp.tool
def levels(ctx: Context) -> str:
    """Log once at each of three levels."""
    ctx.debug("at debug")
    ctx.info("at info")
    ctx.error("at error")
    return "logged"


@mcp.tool
def session(ctx: Context) -> str:
    """The id of the session."""
    return ctx.session_id or ""


@mcp.tool
def push(session_id: str, first: int, count: int) -> int:
    """Push numbered log messages to a session."""
    return sum(mcp_app.log(session_id, "info", number) for number in range(first, first + count))


@mcp.tool
def grow(name: str) -> str:
    """Add a tool."""
    mcp.tool(name, description="A new tool.")(lambda: name)
    return name


@mcp.tool
def change(uri: str) -> int:
    """Say that a resource has changed."""
    return mcp_app.resource_updated(uri)


@mcp.resource("site://clock")
def clock() -> str:
    """Something that changes."""
    return "noon"


mcp_app = mcp.wsgi_app(**{"sessions": True, **json.loads(os.environ.get("SITE_OPTIONS", "{}"))})
application = Checked(mcp_app)
