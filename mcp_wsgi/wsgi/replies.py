"""Replies in the making: JSON, errors, and streams."""

from __future__ import annotations

import _socket
import math
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

from mcp_wsgi.errors import MCPError
from mcp_wsgi.eventlog import Event
from mcp_wsgi.exchange import Answer
from mcp_wsgi.jsonrpc import Id, encode_error
from mcp_wsgi.wsgi.http import HttpReply
from mcp_wsgi.wsgi.sse import KEEPALIVE, event, mark

__all__ = ["Stream", "accepted_reply", "answer_reply", "error_reply", "json_reply", "stream_reply"]

_STREAM_HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store, no-transform"),
    # nginx and its kin hold back what they take for a page.
    ("X-Accel-Buffering", "no"),
)


def json_reply(body: bytes, status: int = 200) -> HttpReply:
    """An encoded message as the whole body."""
    return HttpReply(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))], [body])


def error_reply(error: MCPError, identity: Id | None = None, *, status: int | None = None) -> HttpReply:
    """A refusal: its own status and header fields, and a JSON-RPC error as the body."""
    reply = json_reply(encode_error(identity, error), error.http_status if status is None else status)
    reply.headers.extend((name, _field_value(text)) for name, text in error.headers)
    return reply


def _field_value(text: str) -> str:
    # An application writes challenges, out of whatever it was sent; a line end would begin a new field.
    return re.sub(r"[^\x20-\x7e]+", " ", text).strip()


def accepted_reply() -> HttpReply:
    """What answers a notification: 202 without a body."""
    # WSGI wants a type with every status but 204 and 304, and an empty body is no JSON.
    return HttpReply(202, [("Content-Type", "text/plain"), ("Content-Length", "0")], [])


def answer_reply(answer: Answer, *, as_json: bool) -> HttpReply:
    """A call's answer that nothing came before: JSON, or a one-event stream if the client takes no JSON."""
    if not answer.body:
        return accepted_reply()
    if as_json or answer.status != 200:
        return json_reply(answer.body, answer.status)
    return HttpReply(200, list(_STREAM_HEADERS), [event(answer.body)])


def stream_reply(
    messages: Generator[Any, None, None], leave: Callable[[], None], retry: float = 0.0, *, placed: bool = False
) -> HttpReply:
    """A stream of messages.

    Args:
        messages: Encoded messages, or events with ids; ``None`` is the time for a keep-alive.
        leave: Called once if the client goes away before the last of them.
        retry: Seconds after which a client comes back that a mark was sent to.
        placed: Whether it has one of the places that others may wait for.
    """
    return HttpReply(200, list(_STREAM_HEADERS), Stream(messages, leave, retry, placed=placed))


class Stream:
    """A WSGI body that owns where its messages come from: its ``close`` is how that learns of a disconnect.

    Attributes:
        placed: Whether it has one of the places that others may wait for.
    """

    __slots__ = ("_clock", "_connection", "_ended", "_given", "_leave", "_messages", "_open", "_retry", "placed")

    def __init__(
        self,
        messages: Generator[Any, None, None],
        leave: Callable[[], None],
        retry: float = 0.0,
        *,
        placed: bool = False,
    ) -> None:
        self.placed = placed
        self._messages = messages
        self._leave = leave
        self._retry = retry
        self._ended = False
        self._open: set[Stream] | None = None
        self._connection: Any = None
        self._clock: Callable[[], float] | None = None
        self._given = math.inf  # when the server got what it has not come back for

    def attend(self, streams: set[Stream], connection: Any, clock: Callable[[], float]) -> None:
        """Be among the open streams until ``close``.

        Args:
            streams: Those that are open.
            connection: The server's socket; ``None`` if it does not say.
            clock: Monotonic seconds.
        """
        self._open = streams
        self._connection = connection
        self._clock = clock
        streams.add(self)

    def unread(self, now: float) -> float:
        """Seconds for which the server has been trying to send what it was given last."""
        return now - self._given

    def cut(self) -> None:
        """Break the connection: its client reads nothing, and the server waits for it in vain."""
        if self._connection is None:
            return
        with suppress(OSError, ValueError):
            # A plain duplicate, since gevent's own socket would raise an error in who waits for it.
            copy = _socket.socket(fileno=os.dup(self._connection.fileno()))
            try:
                copy.shutdown(_socket.SHUT_RDWR)
            finally:
                copy.close()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self._given = math.inf
        try:
            item = next(self._messages)
        except StopIteration:
            self._ended = True
            raise
        if self._clock is not None:
            self._given = self._clock()
        if item is None:
            return KEEPALIVE
        if type(item) is not Event:
            return event(item)
        return event(item.message, item.id) if item.message else mark(item.id, self._retry)

    def close(self) -> None:
        """Leave, if there is more to come; called by the server in every case (PEP 3333)."""
        if self._open is not None:
            self._open.discard(self)
            self._open = self._connection = None
        if not self._ended:
            self._ended = True
            self._leave()
