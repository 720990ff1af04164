"""What the tests of the specification share: a server with one of everything, and raw exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol, TypedDict

from mcp_wsgi import Context, Handler, Icon, MCPServer, ResourceNotFound, ToolError
from mcp_wsgi.errors import MCPError
from mcp_wsgi.http_client import HTTPReply, WSGIApplication
from mcp_wsgi.testing import Client
from mcp_wsgi.wsgi.app import MCPApp

__all__ = [
    "CALLS",
    "MODERN",
    "PREFIX",
    "Connect",
    "Refusal",
    "connect_to",
    "declared",
    "everything",
    "refusal",
    "refused",
    "send",
    "unjudged",
]

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"

#: A request for each method that both eras have, with parameters that ``everything`` serves.
CALLS: Mapping[str, Mapping[str, Any]] = {
    "tools/list": {},
    "tools/call": {"name": "echo", "arguments": {"text": "hi"}},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "note://fixed"},
    "prompts/list": {},
    "prompts/get": {"name": "ask", "arguments": {"topic": "tea"}},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "ask"},
        "argument": {"name": "topic", "value": "t"},
    },
}

_CHANGES: Mapping[str, Mapping[str, bool]] = {
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


def declared(feature: str, revision: str) -> Mapping[str, bool]:
    """What a capability says: only the modern revision has a stream on which changes are told."""
    return _CHANGES.get(feature, {}) if revision == MODERN else {}


class Sum(TypedDict):
    sum: int


def everything() -> MCPServer:
    """A server with one of everything."""
    mcp = MCPServer("everything", version="1.2", title="Everything", icons=[Icon("https://a.example/i.png")])
    _add_tools(mcp)
    _add_others(mcp)
    return mcp


def _add_tools(mcp: MCPServer) -> None:
    @mcp.tool
    def echo(text: str) -> str:
        """Return the text."""
        return text

    @mcp.tool
    def add(a: int, b: int) -> Sum:
        """Add two numbers."""
        return {"sum": a + b}

    @mcp.tool
    def fail() -> str:
        """Fail in a way that the model should read about."""
        raise ToolError("no stock")

    @mcp.tool
    def crash() -> str:
        """Fail unexpectedly."""
        raise RuntimeError("secret")

    @mcp.tool
    def refuse(code: int, message: str = "no") -> str:
        """Answer with a JSON-RPC error."""
        raise MCPError(message, code=code, data={"why": "asked"})

    @mcp.tool
    def chat(ctx: Context) -> str:
        """Report progress and log at every level that there is."""
        ctx.report_progress(1, 2, "halfway")
        ctx.debug("a")
        ctx.info({"b": 1})
        ctx.error("c", logger="kit")
        ctx.report_progress(2, 2)
        return "done"


def _add_others(mcp: MCPServer) -> None:
    @mcp.resource("note://fixed")
    def fixed() -> str:
        """A note."""
        return "milk"

    @mcp.resource("note://{name}")
    def note(name: str) -> str:
        """Any note but one."""
        if name == "none":
            raise ResourceNotFound
        if name == "crash":
            raise RuntimeError("secret")
        return name

    @mcp.prompt
    def ask(topic: str, tone: str = "kind") -> str:
        """Ask about something."""
        if topic == "crash":
            raise RuntimeError("secret")
        return f"Tell me about {topic} in a {tone} tone."

    @ask.complete("topic")
    def topics(value: str) -> list[str]:
        return [topic for topic in ("tea", "time", "war") if topic.startswith(value)]


class Connect(Protocol):
    """Builds a client."""

    def __call__(
        self, server: Handler | WSGIApplication | None = None, revision: str = MODERN, **options: Any
    ) -> Client: ...


def connect_to(server: Handler | WSGIApplication | None = None, revision: str = MODERN, **options: Any) -> Client:
    """A client of ``server``, by default of ``everything()``; options are those of ``Client``."""
    return Client(everything() if server is None else server, revision=revision, **options)


# As it is before the tests put their judge in front of it.
_ANSWER = MCPApp.__call__


def unjudged(server: Handler, **options: Any) -> WSGIApplication:
    """An application whose answers nobody judges, for what the judge has no rule for."""
    return partial(_ANSWER, MCPApp(server, workers="inline", **options))


class Refusal(Exception):
    """An answer that should have been an error is none."""


def send(client: Client, method: str, params: Mapping[str, Any] | None = None, **headers: str | None) -> HTTPReply:
    """Post a request that is right but for the header fields given (``_`` for ``-``); ``None`` drops one."""
    message = client.message(method, CALLS.get(method, {}) if params is None else params)
    return client.post(message, headers={name.replace("_", "-"): value for name, value in headers.items()})


def refusal(reply: HTTPReply) -> dict[str, Any]:
    """The one JSON-RPC error that an answer consists of."""
    (message,) = reply.messages
    if "error" not in message:
        raise Refusal(message)
    error: dict[str, Any] = message["error"]
    return error


def refused(reply: HTTPReply) -> tuple[int, int]:
    """HTTP status and JSON-RPC code of a refusal."""
    return reply.status, refusal(reply)["code"]
