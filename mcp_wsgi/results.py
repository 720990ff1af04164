"""What a server answers, as values that can be asked, and what it refuses, as an exception."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from mcp_wsgi.errors import MCPError
from mcp_wsgi.http_client import BodyError, HTTPReply

__all__ = [
    "CompletionReply",
    "Listing",
    "Log",
    "Message",
    "Progress",
    "PromptReply",
    "ProtocolError",
    "Reply",
    "ResourceReply",
    "ToolReply",
    "refusal",
]

Message = dict[str, Any]


class ProtocolError(MCPError):
    """The server refused a message, or its answer breaks the protocol.

    Attributes:
        code: The JSON-RPC error code; 0 if the answer had no JSON-RPC error.
        message: The error's message, or what was wrong with the answer.
        data: The error's data; ``None`` without.
        http_status: The HTTP status of the answer.
        reply: The answer as far as it was read.
    """

    def __init__(self, code: int, message: str, data: Any = None, *, reply: HTTPReply) -> None:
        super().__init__(message, code=code, data=data)
        self.http_status = reply.status
        self.reply = reply

    @classmethod
    def of(cls, error: Any, reply: HTTPReply) -> ProtocolError:
        """The exception for a JSON-RPC error object."""
        if not isinstance(error, dict) or not isinstance(error.get("code"), int):
            return cls(0, f"malformed error: {error!r}", reply=reply)
        return cls(error["code"], str(error.get("message")), error.get("data"), reply=reply)

    def __str__(self) -> str:
        return f"{self.message} (code {self.code}, HTTP {self.http_status})"


# --- what comes back ------------------------------------------------------------------------------


class Progress(msgspec.Struct, frozen=True):
    """One progress notification."""

    progress: float
    total: float | None = None
    message: str | None = None
    token: str | int | None = None


class Log(msgspec.Struct, frozen=True):
    """One log message of the server."""

    level: str
    data: Any
    logger: str | None = None


class Reply(msgspec.Struct, frozen=True):
    """The result of a request, and what came before it.

    Attributes:
        raw: The result object as it was sent.
        notifications: The notifications received with it, in order.
        http: The HTTP status and header fields of the answer; its body is left out.
    """

    raw: dict[str, Any]
    notifications: tuple[Message, ...] = ()
    http: HTTPReply = HTTPReply(200, (), b"")

    @property
    def meta(self) -> dict[str, Any]:
        """The ``_meta`` object; empty without."""
        meta: dict[str, Any] = self.raw.get("_meta", {})
        return meta

    @property
    def streamed(self) -> bool:
        """Whether it came as an event stream rather than as one JSON body."""
        return self.http.content_type == "text/event-stream"

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The progress notifications received."""
        return tuple(
            Progress(p["progress"], p.get("total"), p.get("message"), p["progressToken"])
            for p in self._params("notifications/progress")
        )

    @property
    def logs(self) -> tuple[Log, ...]:
        """The log messages received."""
        return tuple(Log(p["level"], p["data"], p.get("logger")) for p in self._params("notifications/message"))

    def _params(self, method: str) -> Iterator[dict[str, Any]]:
        return (message["params"] for message in self.notifications if message["method"] == method)


class ToolReply(Reply, frozen=True):
    """The result of a tool."""

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks."""
        blocks: list[dict[str, Any]] = self.raw.get("content", [])
        return blocks

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by newlines."""
        return _joined(self.content)

    @property
    def structured(self) -> Any:
        """The structured content; ``None`` without."""
        return self.raw.get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether the tool failed, in a way that the model is told about."""
        return bool(self.raw.get("isError", False))


class ResourceReply(Reply, frozen=True):
    """The contents of a resource."""

    @property
    def contents(self) -> list[dict[str, Any]]:
        """The contents, each with ``uri`` and ``text`` or ``blob`` (Base64)."""
        contents: list[dict[str, Any]] = self.raw.get("contents", [])
        return contents

    @property
    def text(self) -> str:
        """The text of all contents that are text, joined by newlines."""
        return "\n".join(item["text"] for item in self.contents if "text" in item)

    @property
    def blob(self) -> bytes:
        """The bytes of all contents that are binary, joined."""
        return b"".join(base64.b64decode(item["blob"], validate=True) for item in self.contents if "blob" in item)


class PromptReply(Reply, frozen=True):
    """The messages of a prompt."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, each with ``role`` and one ``content`` block."""
        messages: list[dict[str, Any]] = self.raw.get("messages", [])
        return messages

    @property
    def text(self) -> str:
        """The text of all messages that are text, joined by newlines."""
        return _joined(message["content"] for message in self.messages)

    @property
    def description(self) -> str | None:
        """What the prompt is for; ``None`` without."""
        return self.raw.get("description")


class CompletionReply(Reply, frozen=True):
    """Suggested values for an argument."""

    @property
    def values(self) -> list[str]:
        """The suggestions, best first."""
        values: list[str] = self.raw["completion"]["values"]
        return values

    @property
    def total(self) -> int | None:
        """How many there are in all; ``None`` if the server did not say."""
        total: int | None = self.raw["completion"].get("total")
        return total

    @property
    def has_more(self) -> bool | None:
        """Whether there are more; ``None`` if the server did not say."""
        has_more: bool | None = self.raw["completion"].get("hasMore")
        return has_more


class Listing(msgspec.Struct, frozen=True):
    """A list of tools, resources, resource templates or prompts, or one page of it.

    It is a sequence of the objects as listed; one can also be had by its name or URI.

    Attributes:
        items: The objects as they were sent.
        next_cursor: Where the next page begins; ``None`` on the last.
    """

    items: tuple[dict[str, Any], ...]
    next_cursor: str | None = None

    @property
    def names(self) -> list[str]:
        """The ``name`` of each, in order."""
        return [item["name"] for item in self.items]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.items)

    def __contains__(self, name: object) -> bool:
        return any(name in _identities(item) for item in self.items)

    def __getitem__(self, name: int | str) -> dict[str, Any]:
        if isinstance(name, int):
            return self.items[name]
        for item in self.items:
            if name in _identities(item):
                return item
        raise KeyError(name)


def _identities(item: Mapping[str, Any]) -> list[Any]:
    return [item[field] for field in ("name", "uri", "uriTemplate") if field in item]


def _joined(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def refusal(reply: HTTPReply) -> ProtocolError:
    """What an answer that carries no result says: its JSON-RPC error, where it redirects to, or its HTTP status."""
    try:
        messages = reply.messages
    except BodyError:
        messages = []
    for message in messages:
        if isinstance(message, dict) and "error" in message:
            return ProtocolError.of(message["error"], reply)
    words = f"HTTP {reply.status} {reply.reason}".rstrip()
    if 300 <= reply.status < 400 and (place := reply.headers["Location"]):
        return ProtocolError(
            0, f"{words}: it redirects to {place}, and redirects are not followed; ask there", reply=reply
        )
    return ProtocolError(0, f"{words}: {reply.text[:200]}" if reply.body else words, reply=reply)
