"""A client of the session era that shows every event and every end of a connection."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from tests.servers.running import BOUND

__all__ = ["Event", "RawSession", "Stream"]


@dataclass(frozen=True)
class Event:
    """One complete event.

    Attributes:
        id: Its id; empty: none.
        message: What it carries; ``None``: nothing.
        retry: Milliseconds; ``None``: not said.
    """

    id: str
    message: Any
    retry: int | None = None


class Stream(closing["Stream"]):
    """The answer to one request on a connection of its own, event by event.

    Attributes:
        status: The HTTP status.
        headers: The header fields of the answer.
        whole: Whether the answer has come to its proper end; set when there are no more events.
    """

    def __init__(self, port: int, method: str, body: bytes | None, headers: dict[str, str]) -> None:
        super().__init__(self)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND)
        self._connection.request(method, "/mcp", body, headers)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status
        self.headers = self._answer.headers
        self.whole = False

    def body(self) -> Any:
        """The JSON body of an answer that is no stream; ``None``: empty."""
        data = self._answer.read()
        return json.loads(data) if data else None

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        lines: list[str] = []
        while True:
            line = self._line()
            if line is None:
                raise StopIteration
            if line:
                lines.append(line)
            elif lines and not all(line.startswith(":") for line in lines):
                return _event(lines)
            else:
                lines = []

    def _line(self) -> str | None:
        line = b""
        while not line.endswith(b"\n"):
            try:
                piece = self._answer.readline()
            except (http.client.IncompleteRead, ConnectionResetError):
                return None
            if not piece:
                self.whole = True
                return None
            line += piece
        return line[:-1].decode()

    def close(self) -> None:
        """Go away without a word."""
        self._answer.close()
        self._connection.close()


def _event(lines: list[str]) -> Event:
    parts = [line.partition(":") for line in lines]
    fields = {name: value.removeprefix(" ") for name, _, value in parts}
    data, retry = fields.get("data"), fields.get("retry")
    return Event(fields.get("id", ""), json.loads(data) if data else None, None if retry is None else int(retry))


class RawSession:
    """A session that is opened at once.

    Args:
        port: Where the server listens, or a proxy in front of it.
        revision: The revision to speak.
        ready: Whether to say that the client is ready.
    """

    def __init__(self, port: int, revision: str, *, ready: bool = True) -> None:
        self.port = port
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        params = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        with self.post({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params}) as opened:
            assert opened.status == 200, opened.body()
            assert opened.body()["result"]["protocolVersion"] == revision
            self.id: str = opened.headers["Mcp-Session-Id"]
        self._headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": revision}
        if ready:
            self.notify("notifications/initialized")

    def status(self, session_id: str) -> int:
        """The HTTP status of a ping in another session."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = self._headers | {"Mcp-Session-Id": session_id}
        with Stream(self.port, "POST", json.dumps(message).encode(), headers) as answer:
            return answer.status

    def post(self, message: dict[str, Any], *, port: int | None = None) -> Stream:
        """Send one message."""
        return Stream(port or self.port, "POST", json.dumps(message).encode(), self._headers)

    def call(self, tool: str, /, *, identity: int = 1, port: int | None = None, **arguments: Any) -> Stream:
        """Call a tool, with a progress token that is its request's id."""
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": identity}}
        return self.post({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}, port=port)

    def text(self, tool: str, /, *, identity: int = 100, **arguments: Any) -> str:
        """What a tool that answers at once says."""
        params = {"name": tool, "arguments": arguments}
        with self.post({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}) as answer:
            text: str = answer.body()["result"]["content"][0]["text"]
            return text

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        with self.post({"jsonrpc": "2.0", "method": method, "params": params}) as answer:
            assert answer.status == 202, answer.body()

    def get(self, last: str | None = None, *, port: int | None = None, patience: float = BOUND) -> Stream:
        """Open the session's stream, or go on with the one that ``last`` is of.

        A stream that was cut counts until the server has noticed; so this waits for its place.
        """
        headers = self._headers | {"Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = last
        end = time.monotonic() + patience
        while True:
            stream = Stream(port or self.port, "GET", None, headers)
            if stream.status == 200:
                return stream
            with stream:
                assert stream.status == 503, stream.body()
            assert time.monotonic() < end, "no place for a stream"
            time.sleep(0.01)

    def delete(self) -> int:
        """End the session; returns the status."""
        with Stream(self.port, "DELETE", None, self._headers) as answer:
            answer.body()
            return answer.status
