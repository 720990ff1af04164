"""A call of a stored session: what it streams is kept in the session's log, and nobody's leaving ends it.

Where an ``Exchange`` gives its messages to the one connection that asked, here they go into the
event log, which any connection of the session can read on. Who answers first frees the caller: the
callback, the deadline, a cancel, or the session's end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.eventlog import NOTHING, Event, EventLog, Reader
from mcp_wsgi.exchange import Answer, Clock, Exchange
from mcp_wsgi.options import Options
from mcp_wsgi.workers import NOTHING as NOTHING_YET
from mcp_wsgi.workers import Crew

__all__ = ["NO_ANSWER", "RecordedExchange"]

#: What the caller of a cancelled call gets: no response.
NO_ANSWER = Answer(b"", 202, ok=False)
#: Tells the request's side that the answer has become a stream.
_OPENED: Any = object()


class RecordedExchange(Exchange):
    """Runs one callback of a session and keeps what it streams.

    Args:
        crew: Where the callback runs.
        options: Limits and times.
        clock: Monotonic seconds.
        streaming: Whether the client takes a stream; without, messages are dropped.
        late: Makes the answer for a call that missed its deadline.
        log: Returns the session's log; asked for when the answer becomes a stream.
        polls: Whether the client comes back by itself when a connection ends before the answer.
        holds: Whether the server can hold a connection while it answers other requests. Without, a
            client that polls is parted with as soon as there is nothing to send.
        failed: Makes the answer of an error.
        withdraw: Called when the caller is freed before the callback is through: what has not begun
            is not to begin.
    """

    __slots__ = ("_brief", "_claimed", "_failed", "_get_log", "_log", "_patient", "_polls", "_reader", "_withdraw")

    def __init__(
        self,
        crew: Crew,
        options: Options,
        clock: Clock,
        *,
        streaming: bool,
        late: Callable[[], Answer],
        log: Callable[[], EventLog],
        polls: bool,
        holds: bool,
        failed: Callable[[Any], Answer],
        withdraw: Callable[[], object],
    ) -> None:
        super().__init__(crew, options, clock, streaming=streaming, late=late)
        self._get_log = log
        self._log: EventLog | None = None
        self._polls = polls
        # An inline callback would not go on meanwhile.
        self._brief = polls and not holds and crew.concurrent
        self._failed = failed
        self._withdraw = withdraw
        self._reader: Reader | None = None
        self._claimed = False  # somebody has the right to answer
        self._patient = True  # the callback waits for a slow reader

    # --- the callback's side ----------------------------------------------------------------------

    def emit(self, message: bytes) -> None:
        """Put ``message`` on the call's stream, waiting while a reader that is there is far behind.

        Raises:
            Cancelled: The client has cancelled the call, or the session has ended.
        """
        if self._open:
            log = self._opened(tell=True)
            if log is not None:
                reader: Any = self._reader
                log.append(reader.name, message)
                # The request writes it now, not when the callback next blocks.
                self._job.pause()
                if self._crew.concurrent:
                    self._wait_for_reader(log, reader.name)
        if self.cancelled:
            raise Cancelled

    def _wait_for_reader(self, log: EventLog, name: str) -> None:
        if not log.is_behind(name) or not self._patient:
            return
        room = self._job.event()
        log.watch(name, room)
        end = self._clock() + self._options.request_timeout
        while self._open and log.is_behind(name):
            left = end - self._clock()
            if left <= 0:
                # It reads nothing: from now on the oldest messages give way.
                self._patient = False
                return
            room.wait(left)
            room.clear()

    def close_stream(self) -> bool:
        """End the connection of a client that comes back for the rest; see ``Context.close_stream``."""
        if not (self._open and self._polls):
            return False
        log = self._opened(tell=True)
        reader = self._reader
        return log is not None and reader is not None and log.part(reader.name) > 0

    def _opened(self, *, tell: bool) -> EventLog | None:
        """Make the answer a stream, if it is not one; ``None`` if the call has been answered."""
        with self._guard:
            if self._claimed:
                return None
            log = self._log
            if log is not None:
                return log
            log = self._log = self._get_log()
            self._reader = log.open(self._job.event())
        if tell:
            self._job.put(_OPENED)
        return log

    # --- answering --------------------------------------------------------------------------------

    def _claim(self) -> bool:
        """Get the right to answer, which one has."""
        with self._guard:
            first, self._claimed = not self._claimed, True
        return first

    def _answered(self, answer: Answer) -> bool:
        """Put an answer on the stream; returns whether there is one. The caller has claimed the right."""
        log, reader = self._log, self._reader
        if log is None or reader is None:
            return False
        if answer.body:
            log.append(reader.name, answer.body, last=True)
        else:
            log.end(reader.name)
        return True

    def start(self, callback: Callable[[Exchange], Answer]) -> None:
        """Run ``callback(self)``; see ``Exchange.start``."""

        def run(exchange: Exchange) -> Answer:
            try:
                answer = callback(exchange)
            except BaseException:
                if self._claim():
                    self._answered(NO_ANSWER)
                raise
            if self._claim() and not self._answered(answer):
                return answer
            return NO_ANSWER  # nobody takes it: the caller has been answered

        super().start(run)

    def cancel(self, error: Exception | None) -> None:
        """Stop the callback and free its caller; nothing, if it has been answered.

        Args:
            error: What the caller is told; ``None``: nothing.
        """
        if not self._claim():
            return
        self._open = False
        answer = NO_ANSWER if error is None else self._failed(error)
        if not self._answered(answer):
            self._job.put(answer)
        self._withdraw()
        self._killed = True
        self._job.kill(self._announce)

    # --- the request's side -----------------------------------------------------------------------

    def first(self) -> Answer | None:
        """Wait for the answer, or for its becoming a stream; see ``Exchange.first``.

        At ``request_timeout`` the caller is freed, and the callback goes on.
        """
        options = self._options
        wait = min(options.request_timeout, options.stream_after) if self._open else options.request_timeout
        while True:
            try:
                item = self._job.take(wait)
            except BaseException:
                self._claim()
                raise
            if type(item) is Answer:
                return item
            if item is not NOTHING_YET:
                return None
            if wait < options.request_timeout:
                if self._opened(tell=False) is not None:
                    return None
            elif self._claim():
                self._open = False
                self._withdraw()
                self._job.abandon()
                return self._late()
            # Otherwise the answer has come this very moment.
            wait = options.request_timeout

    def messages(self) -> Generator[Any, None, None]:
        """The events of the stream to its end; ``None`` is the time for a keep-alive.

        A client that polls is sent a mark first, and parted with at ``stream_lifetime``.
        """
        reader: Any = self._reader
        options, clock = self._options, self._clock
        now = clock()
        end, quiet = now + options.stream_lifetime, now + options.request_timeout
        try:
            if self._polls:
                yield reader.mark()
            while True:
                wait = min(options.keepalive, end - clock(), quiet - clock())
                item = self._taken(reader, 0 if self._brief else wait)
                if type(item) is Event:
                    quiet = clock() + options.request_timeout
                    yield item
                elif item is not NOTHING or self._brief or (clock() >= end and self._polls):
                    return
                elif clock() < min(end, quiet):
                    yield None
                else:
                    self._give_up()
        finally:
            reader.close()

    def _give_up(self) -> None:
        if self._claim():
            self._open = False
            self._answered(self._late())
            self._withdraw()

    def _taken(self, reader: Reader, timeout: float) -> Any:
        if self._crew.concurrent:
            return reader.take(timeout)
        # An inline callback runs only while its output is being taken.
        item = reader.take(0)
        if item is not NOTHING or self._claimed:
            return item
        self._job.take(timeout)
        return reader.take(0)

    def leave(self, *, cancel: bool = False) -> None:
        """The connection reads no more; the callback goes on."""
        if self._reader is not None:
            self._reader.close()
        self._job.abandon()
