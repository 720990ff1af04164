"""Server-sent events as bytes. Source: HTML Living Standard, 9.2 "Server-sent events"."""

from __future__ import annotations

__all__ = ["KEEPALIVE", "event"]

#: A comment: proxies see traffic, clients see nothing, and a closed connection shows.
KEEPALIVE = b": keep-alive\n\n"


def event(message: bytes) -> bytes:
    """One message as one event with one ``data`` line.

    Args:
        message: Encoded JSON; it has no line ends, since JSON escapes them in strings.
    """
    return b"event: message\ndata: %b\n\n" % message
