"""Questions of the session era: requests of the server's own, and who waits for their answers.

A question goes out on the stream of the call that asks; its answer comes as another POST, which may
be served by any thread or greenlet. What ties them together is an id that nobody can guess.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any

from mcp_wsgi.errors import Overloaded
from mcp_wsgi.jsonrpc import Id
from mcp_wsgi.workers import Signal, guard

__all__ = ["Question", "Questions", "Signal"]

log = logging.getLogger("mcp_wsgi")

_ID_BYTES = 16
_SEVERAL_PROCESSES = (
    "a client of the session era is asked something by a server of several processes: its answer is a request of its "
    "own, and one that reaches another process is lost, so that the call waits for input_timeout. Run one process "
    "(gunicorn --workers 1), or send all requests of a session to the same one"
)


class Question:
    """One request of the server's own.

    Attributes:
        id: Its id, which nobody can guess.
        answered: Whether the client has answered.
        result: The result; ``None`` if there is none.
        error: The error object; ``None`` if there is none.
    """

    __slots__ = ("answered", "error", "id", "owner", "result", "signal")

    def __init__(self, identity: str, owner: tuple[str | None, ...], signal: Signal) -> None:
        self.id = identity
        self.owner = owner
        self.signal = signal
        self.answered = False
        self.result: Any = None
        self.error: Any = None


class Questions:
    """The questions of one process that are waiting for an answer; safe from any thread or greenlet.

    Args:
        limit: How many calls may wait. Each holds a worker, and a connection of the server.
        random_text: Returns URL-safe text of so many random bytes.
        several: Whether the server runs other processes, too, which may get the answers.
    """

    def __init__(
        self, limit: int, random_text: Callable[[int], str] = secrets.token_urlsafe, *, several: bool = False
    ) -> None:
        self.limit = limit
        self._to_warn = several
        self._random_text = random_text
        self._lock = guard()
        self._open: dict[str, Question] = {}
        self._calls = 0

    def __len__(self) -> int:
        """How many questions are waiting."""
        return len(self._open)

    def ask(self, count: int, owner: tuple[str | None, ...], signal: Signal) -> list[Question]:
        """Note the questions that one call asks at once; to be followed by ``close``.

        Args:
            count: How many.
            owner: Who may answer: session, principal, mount.
            signal: Set at each answer.

        Raises:
            Overloaded: ``limit`` calls are waiting.
        """
        with self._lock:
            if self._calls >= self.limit:
                raise Overloaded(
                    f"Overloaded: {self.limit} calls are waiting for their clients", retry_after=Overloaded.LATER
                )
            self._calls += 1
            warn, self._to_warn = self._to_warn, False
            asked = [Question(self._random_text(_ID_BYTES), owner, signal) for _ in range(count)]
            self._open.update((question.id, question) for question in asked)
        if warn:
            log.warning(_SEVERAL_PROCESSES)
        return asked

    def close(self, asked: list[Question]) -> None:
        """Take no more answers to what one call has asked."""
        with self._lock:
            self._calls -= 1
            for question in asked:
                self._open.pop(question.id, None)

    def answer(self, identity: Id | None, owner: tuple[str | None, ...], result: Any, error: Any) -> bool:
        """Hand an answer to who waits for it.

        Returns:
            Whether somebody does: not for an unknown id, somebody else's question, or a second answer.
        """
        with self._lock:
            question = self._open.get(identity) if type(identity) is str else None
            if question is None or question.owner != owner:
                return False
            del self._open[question.id]
            question.result, question.error = result, error
            question.answered = True
        question.signal.set()
        return True
