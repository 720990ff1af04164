"""What the tests of stores share."""

from __future__ import annotations

from typing import Any

from mcp_wsgi.sessions import SessionRecord

__all__ = ["TTL", "Clock", "record"]

TTL = 60


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def record(**changes: Any) -> SessionRecord:
    """The record of an ordinary client."""
    fields = {
        "revision": "2025-11-25",
        "client_info": {"name": "shell", "version": "1.2"},
        "capabilities": {"roots": {"listChanged": True}, "elicitation": {}},
        "principal": "str:ann",
        "mount": "/shop",
    }
    return SessionRecord(**{**fields, **changes})
