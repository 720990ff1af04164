"""The application that the server tests run: its tools wait for files, and leave files behind.

``SITE_FOLDER`` is where the files are; ``SITE_OPTIONS`` is a JSON object of options.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from mcp_wsgi import Context, MCPServer
from tests.recorder import Checked

FOLDER = Path(os.environ["SITE_FOLDER"])
#: No tool outlives its test by much.
PATIENCE = 60.0

mcp = MCPServer("site", version="1.0")


def wait_for(name: str) -> None:
    """Block, the way ordinary code blocks, until the test makes the file ``name``."""
    end = time.monotonic() + PATIENCE
    while not (FOLDER / name).exists():
        if time.monotonic() > end:
            raise TimeoutError(name)
        time.sleep(0.01)


def mark(name: str) -> None:
    """Leave a file for the test to see."""
    (FOLDER / name).touch()


@mcp.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


@mcp.tool
def blocked(name: str) -> str:
    """Say nothing until the file ``<name>.go`` appears, and never look at the context."""
    mark(f"{name}.started")
    try:
        wait_for(f"{name}.go")
    except BaseException:
        mark(f"{name}.stopped")
        raise
    mark(f"{name}.finished")
    return "went"


@mcp.tool
def polite(name: str, ctx: Context) -> str:
    """As ``blocked``, but ask now and then whether the call is still wanted."""
    mark(f"{name}.started")
    try:
        while not (FOLDER / f"{name}.go").exists():
            ctx.raise_if_cancelled()
            time.sleep(0.01)
    except BaseException:
        mark(f"{name}.stopped")
        raise
    mark(f"{name}.finished")
    return "went"


@mcp.tool
def progressing(name: str, ctx: Context) -> str:
    """Report progress once, then wait for the file ``<name>.go``."""
    ctx.report_progress(1, 2, "begun")
    wait_for(f"{name}.go")
    ctx.report_progress(2, 2)
    return "went"


@mcp.tool
def process(ctx: Context) -> int:
    """The process that answers."""
    return os.getpid()


application = Checked(mcp.wsgi_app(**json.loads(os.environ.get("SITE_OPTIONS", "{}"))))
