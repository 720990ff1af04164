"""Calls a WSGI application with an environ made by hand, as no client would."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from mcp_wsgi.http_client import WSGIApplication

__all__ = ["PING", "Got", "body_of", "environ_of", "raw"]

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


class Got(NamedTuple):
    """What a server would have sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> int:
        """The JSON-RPC error code in the body."""
        return int(json.loads(self.body)["error"]["code"])


def body_of(message: Any) -> bytes:
    """A body as it is, or a message as JSON."""
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def environ_of(message: Any = PING, **entries: Any) -> dict[str, Any]:
    """The environ of a POST of ``message``; ``entries`` replace others, ``None`` leaves one out.

    In the names of entries ``__`` stands for a dot.
    """
    body = body_of(message)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/mcp",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    environ.update({name.replace("__", "."): value for name, value in entries.items()})
    return {name: value for name, value in environ.items() if value is not None}


def raw(app: WSGIApplication, message: Any = PING, **entries: Any) -> Got:
    """Call an application and read its answer to the end, as a strict server would."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        started.append((status, headers))
        return lambda data: None

    chunks: Iterable[bytes] = app(environ_of(message, **entries), start_response)
    try:
        body = b"".join(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    ((status, headers),) = started
    assert re.fullmatch(r"[1-5]\d\d [ -~]+", status)
    assert all(re.fullmatch(r"[A-Za-z-]+", name) and re.fullmatch(r"[ -~]*", value) for name, value in headers)
    assert len({name.lower() for name, _ in headers}) == len(headers)
    return Got(int(status[:3]), dict(headers), body)
