"""What the tests of the client share: a server to talk to, and one who listens to what is sent."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from typing import Any

from mcp_wsgi import Context, Handler, MCPServer, ToolError
from mcp_wsgi.wsgi.app import MCPApp
from tests.recorder import Checked

__all__ = ["REGION", "Spy", "kit"]

REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
    },
}


def kit() -> MCPServer:
    """A server of everything that a client can ask for."""
    mcp = MCPServer("kit", version="1.2")
    for tool in (add, fail, work, whoami, when, meta):
        mcp.add_tool(tool)
    mcp.add_tool(deploy, input_schema=REGION)
    mcp.resource("kit://text")(words)
    mcp.resource("kit://bytes")(data)
    mcp.resource("kit://item/{number}")(item)
    mcp.prompt(ask).complete("tone")(tones)
    return mcp


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def fail() -> str:
    raise ToolError("no luck")


def work(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        ctx.report_progress(step, steps, f"step {step}")
        ctx.info({"step": step})
    return "worked"


def whoami(ctx: Context) -> str:
    return f"{ctx.principal.id if ctx.principal else None} {ctx.client.info.get('name')} {ctx.meta.get('x/y')}"


def when(day: datetime.date, mood: str) -> str:
    return f"{day.year} {mood}"


def meta(meta: str) -> str:
    return meta


def deploy(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


def words() -> str:
    return "some words"


def data() -> bytes:
    return b"\0\1"


def item(number: int) -> str:
    return f"item {number}"


def ask(topic: str, tone: str = "plain") -> str:
    """Ask about it."""
    return f"{topic}, {tone}"


def tones(value: str) -> list[str]:
    return [tone for tone in ("plain", "polite", "rude") if tone.startswith(value)]


class Spy:
    """Keeps what a client sends; judges what the application answers."""

    def __init__(self, handler: Handler, **options: Any) -> None:
        self.app = Checked(MCPApp(handler, workers="inline", **options))
        self.seen: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.seen.append(dict(environ))
        return self.app(environ, start_response)

    def header(self, name: str) -> Any:
        """A header field of the last request."""
        return self.seen[-1].get("HTTP_" + name.upper().replace("-", "_"))

    @property
    def bodies(self) -> list[Any]:
        return [exchange.body for exchange in self.app.exchanges]
