"""Two MCP applications deep inside another, for the tests of shutdown; see ``servers/site.py`` for files and options.

Both keep sessions, and add a line to the file ``ended`` for each that ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import uuid
from typing import Any

from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from mcp_wsgi import Context, InitParams, MCPServer
from tests.recorder import Checked
from tests.servers.site import FOLDER, mark, wait_for


class Site(MCPServer):
    """Notes each session that ends."""

    def init(self, params: InitParams) -> dict[str, Any]:
        return {"identity": uuid.uuid4().hex}

    def terminate(self, reason: str, ctx: Context) -> None:
        with (FOLDER / "ended").open("a") as file:
            file.write(f"{ctx.state['identity']} {reason}\n")
        if (FOLDER / "hang").exists():
            wait_for("never")


mcp = Site("site", version="1.0")


@mcp.tool
def rest(name: str, seconds: float) -> str:
    """Sleep."""
    mark(f"{name}.started")
    time.sleep(seconds)
    mark(f"{name}.rested")
    return "rested"


@mcp.tool
def endless(name: str, ctx: Context) -> str:
    """Report progress, then wait for a file that never comes."""
    ctx.report_progress(1)
    mark(f"{name}.started")
    wait_for(f"{name}.go")
    return "went"


@mcp.tool
def process() -> int:
    """The process that answers."""
    return os.getpid()


@mcp.tool
def settle() -> int:
    """Wait until a gthread worker's main thread does nothing but wait for what comes; how often that was looked at."""
    looks = 1
    while sys._current_frames()[threading.main_thread().ident or 0].f_code.co_name != "select":
        time.sleep(0.01)
        looks += 1
    return looks


@mcp.tool
def flood(ctx: Context) -> str:
    """Send this session more than any connection takes at once."""
    for _ in range(80):
        ours.notify(str(ctx.session_id), "notifications/message", {"level": "info", "data": "." * 256 * 1024})
        time.sleep(0.01)  # the server's turn to write
    return "flooded"


options = {"sessions": True, **json.loads(os.environ["SITE_OPTIONS"])}
ours = mcp.wsgi_app(path="/", **options)
application = DispatcherMiddleware(
    NotFound(),
    {"/mcp": Checked(ours), "/other": Checked(mcp.wsgi_app(path="/mcp", **options))},
)
