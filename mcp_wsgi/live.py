"""What one process has of a session beside its record: the running calls, their order, and the streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mcp_wsgi.errors import InvalidRequest, SessionNotFound
from mcp_wsgi.eventlog import GET_STREAM, EventLog
from mcp_wsgi.jsonrpc import Id
from mcp_wsgi.options import Options
from mcp_wsgi.turns import Turns

__all__ = ["Cancellable", "LiveSession"]


#: Most pages of one session whose end can still be told.
MAX_ELICITATIONS = 100

_UNKNOWN = object()


class Cancellable(Protocol):
    """A call that somebody else may end."""

    def cancel(self, error: Exception | None) -> None:
        """Stop it and free its caller, with the error or without a word; once it is through, nothing."""


class LiveSession:
    """The calls and streams of one session in this process; safe from any thread or greenlet.

    Args:
        options: The limits of the log and of the queue.
        clock: Monotonic seconds.
        guard: Makes a lock for a few steps that neither block nor switch.

    Attributes:
        turns: The queue of the session's calls.
    """

    __slots__ = ("_calls", "_elicitations", "_ended", "_guard", "_log", "_new_guard", "_options", "turns")

    def __init__(self, options: Options, clock: Callable[[], float], guard: Callable[[], Any]) -> None:
        self._options = options
        self._new_guard = guard
        self._guard = guard()
        self._calls: dict[Id, Cancellable] = {}
        self._log: EventLog | None = None
        self._ended = False
        # Names of pages that the user was asked to open, the latest last.
        self._elicitations: dict[str, None] = {}
        self.turns = Turns(options.session_max_pending, clock)

    @property
    def log(self) -> EventLog:
        """The log of the session's streams; made when it is first asked for, since many need none."""
        with self._guard:
            if self._log is None:
                options = self._options
                self._log = EventLog(options.event_log, options.event_log_bytes, self._new_guard)
                if self._ended:
                    self._log.close()
            return self._log

    def register(self, identity: Id, call: Cancellable) -> None:
        """Note a call, so that it can be cancelled by its id.

        Raises:
            InvalidRequest: One with this id is running.
            SessionNotFound: The session has ended meanwhile.
        """
        with self._guard:
            if self._ended:
                raise SessionNotFound
            if identity in self._calls:
                raise InvalidRequest("Invalid request: a request with this id is running")
            self._calls[identity] = call

    def forget(self, identity: Id) -> None:
        """A call is through."""
        with self._guard:
            self._calls.pop(identity, None)

    def cancel(self, identity: Any) -> bool:
        """Cancel the call with that id; returns whether there is one."""
        with self._guard:
            call = self._calls.get(identity) if type(identity) is str or type(identity) is int else None
        if call is None:
            return False
        call.cancel(None)
        return True

    def note_elicitation(self, name: str) -> None:
        """Remember a page that the user was asked to open; the oldest give way."""
        with self._guard:
            self._elicitations[name] = None
            if len(self._elicitations) > MAX_ELICITATIONS:
                del self._elicitations[next(iter(self._elicitations))]

    def forget_elicitation(self, name: str) -> bool:
        """Forget such a page; returns whether it was known."""
        with self._guard:
            return self._elicitations.pop(name, _UNKNOWN) is None

    def part(self) -> None:
        """End the connections that read the session's own stream, though not the stream."""
        with self._guard:
            log = self._log
        if log is not None:
            log.part(GET_STREAM)

    def end(self, error: Exception) -> None:
        """Stop all calls, their callers freed with ``error``, and end all streams; none begins any more."""
        with self._guard:
            self._ended = True
            calls = list(self._calls.values())
            log = self._log
        for call in calls:
            call.cancel(error)
        if log is not None:
            log.close()
