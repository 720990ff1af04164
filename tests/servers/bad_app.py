"""What the bad input is sent to, tools that misbehave among it."""

from __future__ import annotations

import json
import os
import sys
import time
from types import SimpleNamespace
from typing import Annotated, Any

from mcp_wsgi import MCPError, MCPServer
from tests.recorder import Checked

mcp = MCPServer("bad", version="1.0")


@mcp.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


@mcp.tool
def in_region(region: Annotated[str | None, {"x-mcp-header": "Region"}] = None) -> str:
    """Return the region."""
    return region or "none"


@mcp.tool
def numbered(number: Annotated[int, {"x-mcp-header": "Number"}]) -> int:
    """Return the number."""
    return number


@mcp.tool
def raising() -> str:
    """Raise what no client may read."""
    raise RuntimeError("the secret of the house")


@mcp.tool
def junk() -> Any:
    """Return what has no JSON form."""
    return object()


@mcp.tool
def unencodable(kind: str) -> Any:
    """Return what looks like data and is none."""
    circle: dict[str, Any] = {}
    circle["circle"] = circle
    values: dict[str, Any] = {
        "bytes in a dict": {"value": b"\xff"},
        "a key that is no string": {("a", "b"): 1},
        "a circle": circle,
        "NaN": {"value": float("nan")},
        "a lone surrogate": {"value": "\ud800"},
    }
    return values[kind]


@mcp.tool
def exiting() -> str:
    """Try to end the process."""
    sys.exit(3)


@mcp.tool
def endless() -> str:
    """Sleep far beyond the deadline, though not beyond the test run."""
    time.sleep(30)
    return "at last"


class Wordless(MCPError):
    """One that cannot tell of itself."""

    def __str__(self) -> str:
        raise RuntimeError("the secret of the house")


@mcp.tool
def wordless() -> str:
    """Raise an error for the client that has no words."""
    raise Wordless


class Late(BaseException):
    """What is no ``Exception``, as gevent's ``Timeout``."""


def auth(request: Any) -> Any:
    """Let everybody in, unless told to fail."""
    if request.headers.get("X-Auth") == "late":
        raise Late("the secret of the house")
    return SimpleNamespace(id="anybody")


@mcp.resource("bad://raising")
def raising_resource() -> str:
    """Raise what no client may read."""
    raise RuntimeError("the secret of the house")


#: What it answers is judged, too: an answer that breaks a rule becomes an error that fails its row.
application = Checked(mcp.wsgi_app(auth=auth, **json.loads(os.environ.get("SITE_OPTIONS", "{}"))))
