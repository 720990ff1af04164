"""Server-sent events as bytes. Source: HTML Living Standard, 9.2 "Server-sent events"."""

from __future__ import annotations

__all__ = ["KEEPALIVE", "event"]

#: A comment: proxies see traffic, clients see nothing, and a closed connection shows.
KEEPALIVE = b": keep-alive\n\n"

# These end no line in this format, but many clients take them for line ends and lose the event. In JSON
# they can stand in strings only, where an escape says the same.
_ESCAPES = tuple((chr(code).encode(), b"\\u%04x" % code) for code in (0x85, 0x2028, 0x2029))


def event(message: bytes) -> bytes:
    """One message as one event with one ``data`` line.

    Args:
        message: Encoded JSON; it has no line ends, since JSON escapes them in strings.
    """
    for character, escape in _ESCAPES:
        if character in message:
            message = message.replace(character, escape)
    return b"event: message\ndata: %b\n\n" % message
