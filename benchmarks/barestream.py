"""The ceiling for streams: the bare application, with ids for sessions and a greenlet and a queue for each GET."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from gevent.queue import SimpleQueue

from benchmarks import bare
from benchmarks.control import controlled

CHANGED = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
sessions: set[str] = set()
streams: set[Any] = set()


def stream() -> Iterator[bytes]:
    """One stream of server-sent events."""
    queue: Any = SimpleQueue()
    streams.add(queue)
    try:
        yield b": open\n\n"
        while True:
            yield queue.get()
    finally:
        streams.discard(queue)


def serve(environ: dict[str, Any], start_response: Any) -> Any:
    """Answer GET with a stream, the messages that begin a session, and what ``benchmarks.bare`` answers."""
    if environ["REQUEST_METHOD"] == "GET":
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return stream()
    if environ["REQUEST_METHOD"] == "DELETE":
        sessions.discard(environ["HTTP_MCP_SESSION_ID"])
        start_response("204 No Content", [])
        return []
    text = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    message = json.loads(text)
    if message["method"] == "initialize":
        session = uuid.uuid4().hex
        sessions.add(session)
        body = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % message["id"]
        fields = [("Content-Type", "application/json"), ("Mcp-Session-Id", session)]
        start_response("200 OK", [*fields, ("Content-Length", str(len(body)))])
        return [body]
    if "id" not in message:
        start_response("202 Accepted", [("Content-Length", "0")])
        return []
    environ["wsgi.input"] = BytesIO(text)
    return bare.application(environ, start_response)


def broadcast() -> int:
    """Put one event on every stream."""
    for queue in streams:
        queue.put(CHANGED)
    return len(streams)


application = controlled(serve, {"get": broadcast})
