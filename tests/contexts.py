"""Contexts for tests that call a handler without a transport."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context
from mcp_wsgi.errors import InputError
from mcp_wsgi.revisions import MODERN

__all__ = ["context"]


class Heard:
    """A sink that keeps what was emitted."""

    cancelled = False
    order = nullcontext()

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def emit(self, message: bytes) -> None:
        self.messages.append(message)

    def allow_progress(self) -> bool:
        return True

    def close_stream(self) -> bool:
        return False

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        raise InputError("nobody is there")


def context(method: str = "tools/call", **call: Any) -> Context:
    """The context of a call by a client of the newest revision; ``call`` has further fields of ``Call``."""
    return Context(Call(method, {}, 1, MODERN[0], **call), Heard())
