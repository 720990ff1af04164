"""Sinks that keep what they are given or answer what they are asked, and contexts that speak into them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.context import Context
from mcp_wsgi.errors import Cancelled, InputError
from mcp_wsgi.revisions import MODERN, REVISIONS
from tests.asking import ALL

__all__ = ["LEGACY", "REVISION", "Answering", "Sink", "asking", "context"]

REVISION = MODERN[0]
LEGACY = REVISIONS["2025-11-25"]


class Sink:
    """Keeps what is emitted; ``room`` decides, report by report, whether the rate limit lets it through."""

    def __init__(self, room: Iterable[bool] = ()) -> None:
        self.cancelled = False
        self.order: AbstractContextManager[Any] = threading.Lock()
        self.sent: list[dict[str, Any]] = []
        self.room = iter(room)

    def emit(self, message: bytes) -> None:
        if self.cancelled:
            raise Cancelled
        self.sent.append(json.loads(message))

    def allow_progress(self) -> bool:
        return next(self.room, True)

    def close_stream(self) -> bool:
        return False

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        raise InputError("nobody is there")

    @property
    def params(self) -> list[Any]:
        return [message["params"] for message in self.sent]

    @property
    def steps(self) -> list[Any]:
        return [params["progress"] for params in self.params]


def context(sink: Sink, *, token: str | int | None = "t", level: str | None = None) -> Context:
    return Context(Call("tools/call", {}, 1, REVISION, progress_token=token, log_level=level), sink)


class Answering(Sink):
    """A client of the session era that gives the same answer to everything; keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        self.asked += requests
        return [self.answer] * len(requests)


class Known:
    """A session that notes which pages its user was asked to open."""

    id, stateful = "s", True

    def __init__(self) -> None:
        self.pages: list[str] = []

    def note_elicitation(self, name: str) -> None:
        self.pages.append(name)


def asking(answer: Any, method: str = "tools/call", capabilities: Any = ALL) -> tuple[Context, Answering, Any]:
    session: Any = Known()
    sink, client = Answering(answer), ClientInfo({}, capabilities)
    return Context(Call(method, {}, 1, LEGACY, client=client, session=session), sink), sink, session
