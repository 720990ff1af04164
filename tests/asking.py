"""What the tests of questions share: forms, what a client can declare, and clients that answer by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_wsgi import MCPServer
from mcp_wsgi.testing import ALL_CAPABILITIES, Client
from tests.spec.kit import MODERN
from tests.wsgi.peer import NEWEST, Opened, Peer, call, initialize, note
from tests.wsgi.raw import Got

__all__ = [
    "ALL",
    "LEGACY",
    "SURE",
    "Asked",
    "accept",
    "log_texts",
    "modern",
    "outcome",
    "retry",
    "sampled",
    "shown",
]

#: What a client declares that can be asked anything.
ALL = ALL_CAPABILITIES
#: The revisions of the session era in which a user can be asked.
LEGACY = ("2025-06-18", "2025-11-25")
#: A form with one box to tick.
SURE: dict[str, Any] = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


def accept(**content: Any) -> dict[str, Any]:
    """The result of a form that was filled in."""
    return {"action": "accept", "content": content}


def sampled(text: str = "Paris") -> dict[str, Any]:
    """The result of a model that was asked."""
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"}


def shown(message: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a response is an error of any kind, and its text."""
    if "error" in message:
        return True, message["error"]["message"]
    result = message["result"]
    return result.get("isError", False), result["content"][0]["text"]


def log_texts(caplog: Any) -> str:
    """All that this package has logged, with the exceptions."""
    records = [record for record in caplog.records if record.name == "mcp_wsgi"]
    return "\n".join(f"{record.getMessage()} {record.exc_info}" for record in records)


# --- the session era ------------------------------------------------------------------------------


class Asked(Peer):
    """A client of the session era that declares what it can be asked.

    Args:
        app: The application.
        revision: The revision to ask for.
        capabilities: What it declares; default: everything.
        entries: As of ``Peer``.
    """

    def __init__(self, app: Any, revision: str = NEWEST, capabilities: Any = ALL, **entries: Any) -> None:
        self.app, self.entries, self.session = app, entries, None
        self.opening = self.post(initialize(revision, capabilities=capabilities))
        self.session = self.opening.headers.get("Mcp-Session-Id")
        self.post(note("initialized"))

    def begin(self, tool: str, identity: Any = 1, **arguments: Any) -> tuple[Opened, dict[str, Any]]:
        """Call a tool; returns its stream and the first question on it."""
        stream = self.streamed(call(tool, identity, **arguments))
        return stream, stream.message()

    def answer(self, question: Mapping[str, Any] | str, result: Any = None, error: Any = None, **entries: Any) -> Got:
        """Answer a question, or what has its id."""
        identity = question if isinstance(question, str) else question["id"]
        said = {"result": result} if error is None else {"error": error}
        return self.post({"jsonrpc": "2.0", "id": identity, **said}, **entries)


def outcome(stream: Opened) -> Any:
    """What a stream ends with."""
    *_, last = stream.messages()
    return last


# --- the modern era -------------------------------------------------------------------------------


def retry(client: Client, method: str, params: Mapping[str, Any], result: Any, /, **answers: Any) -> Any:
    """The response to the next round of a call that was answered with ``result``."""
    state = {"requestState": result["requestState"]} if "requestState" in result else {}
    message = client.message(method, {**params, **state, "inputResponses": answers})
    return json.loads(client.post(message).body)


def modern(server: MCPServer | Any, **options: Any) -> Client:
    """A client of the modern era that answers nothing by itself."""
    return Client(server, revision=MODERN, **{"capabilities": ALL, **options})
