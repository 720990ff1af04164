"""A call of a stored session: what it streams is kept in the session's log, and nobody's leaving ends it.

Where an ``Exchange`` gives its messages to the one connection that asked, here they go into the
event log, which any connection of the session can read on. Who answers first frees the caller: the
callback, the deadline, a cancel, or the session's end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.eventlog import Event, EventLog, Reader
from mcp_wsgi.exchange import NO_ANSWER, Answer, Clock, Exchange
from mcp_wsgi.options import Options
from mcp_wsgi.questions import Questions
from mcp_wsgi.workers import NOTHING, Crew

__all__ = ["RecordedExchange"]

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
        questions: As of ``Exchange``.
        stay_alone: Called with ``True`` while the callback waits for its client; default: nobody is told.
    """

    __slots__ = (
        "_brief",
        "_claimed",
        "_early",
        "_failed",
        "_get_log",
        "_log",
        "_patient",
        "_polls",
        "_reader",
        "_room",
        "_tell_alone",
        "_through",
        "_withdraw",
    )

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
        questions: Questions | None = None,
        stay_alone: Callable[[bool], object] | None = None,
    ) -> None:
        super().__init__(crew, options, clock, streaming=streaming, late=late, questions=questions)
        self._get_log = log
        self._log: EventLog | None = None
        self._polls = polls
        # An inline callback would not go on meanwhile.
        self._brief = polls and not holds and crew.concurrent
        self._failed = failed
        self._withdraw = withdraw
        self._tell_alone = stay_alone
        self._reader: Reader | None = None
        self._claimed = False  # somebody has the right to answer
        self._early: Answer | None = None  # what a cancel said before there was a job
        self._through = False  # the callback has come to its end
        self._room: Any = None  # set when the callback may look again whether its reader is behind
        self._patient = True  # the callback waits for a slow reader

    # --- the callback's side ----------------------------------------------------------------------

    def emit(self, message: bytes) -> None:
        """Put ``message`` on the call's stream, waiting while a reader that is there is far behind.

        Raises:
            Cancelled: The client has cancelled the call, or the session has ended.
        """
        if self._open:
            log, new = self._opened()
            if log is not None:
                reader: Any = self._reader
                log.append(reader.name, message)
                # Whoever reads it: the connection that asked may be dead, though it looks alive.
                self.renew()
                # The request writes it now, not when the callback next blocks.
                if new:
                    self._job.put(_OPENED)
                else:
                    self._job.pause()
                if self._crew.concurrent:
                    self._wait_for_reader(log, reader.name)
        if self.cancelled:
            raise Cancelled

    def _wait_for_reader(self, log: EventLog, name: str) -> None:
        if not (self._patient and log.is_behind(name)):
            return
        room = self._watched(log, name)
        end = self._clock() + self._options.request_timeout
        # The order matters: ``_shut`` closes, then sets the event that ``is_behind`` clears.
        while log.is_behind(name) and self._open:
            left = end - self._clock()
            if left <= 0:
                # It reads nothing: from now on the oldest messages give way.
                self._patient = False
                return
            room.wait(left)

    def _watched(self, log: EventLog, name: str) -> Any:
        # One for all threads of the callback: a stream wakes only the last that it was given.
        with self._guard:
            if self._room is None:
                self._room = self._job.event()
                log.watch(name, self._room)
            return self._room

    def _stay_alone(self, alone: bool) -> None:
        if self._tell_alone is not None:
            self._tell_alone(alone)

    def _shut(self) -> None:
        """Take nothing any more, and let nobody wait for the reader."""
        self._open = False
        if self._room is not None:
            self._room.set()
        self._rouse()

    def close_stream(self) -> bool:
        """End the connection of a client that comes back for the rest; see ``Context.close_stream``."""
        if not (self._open and self._polls):
            return False
        log, new = self._opened()
        if new:
            self._job.put(_OPENED)
        reader = self._reader
        return log is not None and reader is not None and log.part(reader.name) > 0

    def _opened(self) -> tuple[EventLog | None, bool]:
        """Make the answer a stream, if it is not one.

        Returns:
            The log, ``None`` if the call has been answered, and whether the stream is new: then the
            request is to be told.
        """
        with self._guard:
            if self._claimed:
                return None, False
            new = self._log is None
            if new:
                self._log = self._get_log()
                self._reader = self._log.open(self._job.event(), self)
            return self._log, new

    # --- answering --------------------------------------------------------------------------------

    @property
    def answered(self) -> bool:
        """Whether the caller has been freed."""
        return self._claimed

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

        def run(exchange: Exchange) -> Any:
            with self._guard:
                early = self._early
            if early is not None and self._crew.concurrent:
                self._job.put(early)
            try:
                answer = callback(exchange)
            except BaseException:
                self._through = True
                if self._claim():
                    self._answered(NO_ANSWER)
                raise
            self._through = True
            if self._claim() and not self._answered(answer):
                return answer
            # A thread of the callback may not have told yet that it has opened the stream.
            return (early or NO_ANSWER) if self._log is None else _OPENED

        super().start(run)

    def cancel(self, error: Exception | None) -> None:
        """Stop the callback, even if it missed its deadline, and free its caller; nothing, if it is through.

        Args:
            error: What the caller is told; ``None``: nothing.
        """
        answer = NO_ANSWER if error is None else self._failed(error)
        with self._guard:
            first, self._claimed = not self._claimed, True
            # One that has missed its deadline still runs.
            stop = not (self._through or self._killed)
            self._killed = self._killed or stop
            job = self._job
            if first and job is None:
                self._early = answer
        self._open = False
        if first and job is not None and not self._answered(answer):
            job.put(answer)
        if stop:
            self._withdraw()
            if job is None:
                self._announce()
            else:
                job.kill(self._announce)
        self._shut()  # who waits for the reader hears of it only now, when it has been announced

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
                if self._claim():
                    self._answered(NO_ANSWER)
                self.leave()
                raise
            if type(item) is Answer:
                return item
            if item is not NOTHING:
                return None
            if wait < options.request_timeout:
                if self._opened()[0] is not None:
                    return None
            else:
                self._withdraw()  # first: what has not begun when the caller is freed never does
                if self._claim():
                    self._shut()
                    answer = self._late()
                    # A thread of the callback may have opened the stream this very moment.
                    streamed = self._answered(answer)
                    self._job.abandon()
                    return None if streamed else answer
            # Otherwise the answer has come this very moment.
            wait = options.request_timeout

    def messages(self) -> Generator[Any, None, None]:
        """The events of the stream to its end; ``None`` is the time for a keep-alive.

        A client that polls is sent a mark first, and parted with at ``stream_lifetime``.
        """
        reader: Any = self._reader
        options, clock = self._options, self._clock
        end = clock() + options.stream_lifetime
        self.renew()
        try:
            if self._polls:
                yield reader.mark()
            # Without a mark, a comment goes out at once: servers send the head of an answer with it.
            wait = 0.0
            while True:
                item = self._taken(reader, wait)
                if type(item) is Event:
                    self.renew()
                    yield item
                elif item is not NOTHING or self._brief or (clock() >= end and self._polls):
                    return
                elif clock() < min(end, self._deadline()):
                    if wait or not self._polls:
                        yield None
                else:
                    self._give_up()
                wait = 0 if self._brief else min(options.keepalive, end - clock(), self._deadline() - clock())
        finally:
            # An inline callback does not go on by itself when its client is parted with, or was cancelled elsewhere.
            self.leave()

    def renew(self) -> None:
        """Begin to count the callback's silence anew."""
        self._quiet = self._clock() + self._options.request_timeout

    def left(self) -> float:
        """Seconds for which the callback may still be silent; when they are over, its caller is freed."""
        left = self._deadline() - self._clock()
        if left <= 0:
            self._give_up()
        return left

    def _give_up(self) -> None:
        self._withdraw()
        if self._claim():
            self._shut()
            self._answered(self._late())

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
