"""Server-sent events as bytes. Source: HTML Living Standard, 9.2 "Server-sent events"."""

from __future__ import annotations

__all__ = ["KEEPALIVE", "event", "mark"]

#: A comment: proxies see traffic, clients see nothing, and a closed connection shows.
KEEPALIVE = b": keep-alive\n\n"

# These end no line in this format, but many clients take them for line ends and lose the event. In JSON
# they can stand in strings only, where an escape says the same.
_ESCAPES = tuple((chr(code).encode(), b"\\u%04x" % code) for code in (0x85, 0x2028, 0x2029))


def event(message: bytes, identity: str = "") -> bytes:
    """One message as one event with one ``data`` line.

    Args:
        message: Encoded JSON; it has no line ends, since JSON escapes them in strings.
        identity: The event's id; empty: none.
    """
    for character, escape in _ESCAPES:
        if character in message:
            message = message.replace(character, escape)
    if identity:
        return b"id: %b\nevent: message\ndata: %b\n\n" % (identity.encode(), message)
    return b"event: message\ndata: %b\n\n" % message


def mark(identity: str, retry: float) -> bytes:
    """An event without data, which says where the stream stands.

    Args:
        identity: Its id.
        retry: Seconds that a client whose connection ends waits before it comes back.

    Source: 2025-11-25 basic/transports, "Sending Messages to the Server".
    """
    return b"id: %b\nretry: %d\ndata: \n\n" % (identity.encode(), round(retry * 1000))
