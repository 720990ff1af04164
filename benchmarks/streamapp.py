"""The server that is measured, with sessions and one broadcast channel that all of them listen to."""

from __future__ import annotations

from benchmarks.app import echo
from benchmarks.control import controlled
from mcp_wsgi import MCPServer

mcp = MCPServer("bench", version="0", channels=lambda ctx: ["all"])
mcp.tool(echo)

# No session may expire while the benchmark runs.
app = mcp.wsgi_app(sessions=True, session_ttl=3600.0)
application = controlled(
    app,
    {
        "get": lambda: app.broadcast("all", "notifications/tools/list_changed"),
        "listen": app.tools_changed,
    },
)
