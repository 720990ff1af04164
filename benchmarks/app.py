"""The server that is measured: ``echo``, ``add``, and as many filler tools as ``BENCH_TOOLS`` asks.

``BENCH_TOOLS`` counts all tools (default 10). ``BENCH_WORKERS`` is the option ``workers``
(default ``auto``). ``BENCH_SESSIONS`` lets it keep sessions.
"""

from __future__ import annotations

import os
from typing import TypedDict

from mcp_wsgi import MCPServer

TOOLS = int(os.environ.get("BENCH_TOOLS", "10"))


class Sum(TypedDict):
    """What ``add`` returns."""

    sum: int


mcp = MCPServer("bench", version="0")


@mcp.tool
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@mcp.tool
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return {"sum": a + b}


def _filler(record: int, fields: list[str] | None = None, verbose: bool = False) -> str:
    """Look up one record of the archive and return the fields asked for."""
    return f"record {record}"


for number in range(TOOLS - 2):
    mcp.tool(name=f"lookup_{number:04}")(_filler)

application = mcp.wsgi_app(
    page_size=max(50, TOOLS),
    workers=os.environ.get("BENCH_WORKERS", "auto"),
    sessions="BENCH_SESSIONS" in os.environ,
)
