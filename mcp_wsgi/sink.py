"""Where the messages of a running call go: to its client, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from mcp_wsgi.errors import InputError

__all__ = ["SILENCE", "Sink"]


class Sink(Protocol):
    """Where a running call's messages go, and what it is told in return."""

    cancelled: bool

    @property
    def order(self) -> AbstractContextManager[Any]:
        """A lock to hold while a message is made and sent, where threads must keep an order."""

    def emit(self, message: bytes) -> None:
        """Send one encoded message to the client of the call, in order."""

    def allow_progress(self) -> bool:
        """Whether the rate limit has room for one more progress message now."""

    def close_stream(self) -> bool:
        """End the connection, if its client comes back for the rest; returns whether it was ended."""

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Ask the client, by requests of the server's own, and wait for the results."""


class _Silence:
    """The sink of a callback that is asked something on the way to an answer: it has no one to talk to."""

    cancelled = False
    order = nullcontext()

    def emit(self, message: bytes) -> None:
        """Nobody hears it."""

    def allow_progress(self) -> bool:
        """There is nobody to tell."""
        return False

    def close_stream(self) -> bool:
        """There is none."""
        return False

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """There is nobody to ask."""
        raise InputError("The client cannot be asked here")


#: A sink that drops everything.
SILENCE: Sink = _Silence()
