"""An HTTP request and an HTTP reply as values; how they came over WSGI is ``app.py``'s affair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

__all__ = ["HttpReply", "HttpRequest"]


class HttpRequest(msgspec.Struct, frozen=True):
    """What the endpoint, and an ``auth`` callable, see of a request.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: The path below the mount; empty or beginning with ``/``.
        headers: Header fields; names in any case, repeated fields joined with commas by the server.
        scheme: ``http`` or ``https``.
        host: The ``Host`` header; empty if there is none.
        peer: The address at the other end of the connection; empty if the server does not say.
        mount: The path that the application is mounted at; empty at the root.
        environ: The WSGI environ.
        read: Returns the body, or raises ``BodyTooLarge`` beyond so many bytes.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    scheme: str
    host: str
    peer: str
    mount: str
    environ: Mapping[str, Any]
    read: Callable[[int], bytes]


class HttpReply(msgspec.Struct, frozen=True):
    """A status, header fields, and a body that is bytes or comes piece by piece.

    Attributes:
        status: HTTP status code.
        headers: Header fields, ``Content-Length`` included where it is known.
        body: Chunks; one with a ``close`` method is told when nobody reads any more.
    """

    status: int
    headers: list[tuple[str, str]]
    body: Iterable[bytes]
