"""One request in flight: its worker, its outbox, its deadline and its end.

Nobody decides up front whether the answer is JSON or a stream: ``first`` returns the answer if it
is the first thing that the worker gives, else ``None``, and then ``messages`` has everything in
order. Bytes go through unread; turning them into HTTP is the endpoint's work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.options import Options
from mcp_wsgi.workers import NOTHING, Crew, Job

__all__ = ["Answer", "Exchange"]

Clock = Callable[[], float]


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The last thing that a call gives.

    Attributes:
        body: The encoded response message or messages.
        status: HTTP status, if the answer is not streamed.
    """

    body: bytes
    status: int = 200


class Exchange:
    """Runs one callback and hands on what it emits.

    The callback's side is a ``context.Sink``; the request's side is ``first``, ``messages`` and
    ``leave``.

    Args:
        crew: Where the callback runs.
        options: Limits and times.
        clock: Monotonic seconds.
        streaming: Whether the client takes a stream; without, messages are dropped.
        late: Makes the answer for a call that missed its deadline.
    """

    __slots__ = (
        "_clock",
        "_crew",
        "_head",
        "_job",
        "_late",
        "_lock",
        "_open",
        "_options",
        "_room",
        "_tokens",
        "_tokens_at",
        "_unread",
        "_unread_bytes",
        "cancelled",
    )

    def __init__(
        self, crew: Crew, options: Options, clock: Clock, *, streaming: bool, late: Callable[[], Answer]
    ) -> None:
        self._crew = crew
        self._options = options
        self._clock = clock
        self._open = streaming
        self._late = late
        self._lock: Any = None
        self._head: bytes | None = None
        self.cancelled = False

    # --- the callback's side ----------------------------------------------------------------------

    def emit(self, message: bytes) -> None:
        """Send ``message``, waiting while a slow client has ``event_log`` messages unread.

        Raises:
            Cancelled: The client has cancelled the call or has gone.
        """
        if not self._open:
            return
        with self._guard():
            self._unread += 1
            self._unread_bytes += len(message)
        self._job.put(message)
        while self._full() and self._open:
            self._room.wait(1.0)
        if self.cancelled:
            raise Cancelled

    def allow_progress(self) -> bool:
        """Take one from a bucket of ``progress_rate`` tokens that fills up within a second."""
        rate = self._options.progress_rate
        with self._guard():
            now = self._clock()
            self._tokens = min(max(rate, 1.0), self._tokens + (now - self._tokens_at) * rate)
            self._tokens_at = now
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def _guard(self) -> Any:
        # Most calls emit nothing, so what only emitting needs is made by the first to emit.
        lock = self._lock
        if lock is None:
            self._unread = self._unread_bytes = 0
            self._tokens = max(self._options.progress_rate, 1.0)
            self._tokens_at = self._clock()
            self._room = self._crew.event()
            lock = self._lock = threading.Lock()
        return lock

    def _full(self) -> bool:
        with self._lock:
            full = self._unread > self._options.event_log or self._unread_bytes > self._options.event_log_bytes
            if full:
                self._room.clear()
            return full

    # --- the request's side -----------------------------------------------------------------------

    def start(self, callback: Callable[[Exchange], Answer]) -> None:
        """Run ``callback(self)``; it must turn its own failures into an ``Answer``.

        Raises:
            Overloaded: Too many calls are running.
        """

        def run(job: Job) -> Answer:
            self._job = job
            return callback(self)

        self._job = self._crew.start(run)

    def first(self) -> Answer | None:
        """Wait for the first thing the callback gives.

        Returns:
            The answer, or ``None`` if a message came first or ``stream_after`` has passed: then the
            rest is in ``messages``.
        """
        options = self._options
        wait = options.request_timeout
        if self._open:
            wait = min(wait, options.stream_after)
        item = self._job.take(wait)
        if type(item) is Answer:
            return item
        if item is not NOTHING:
            self._head = item
        elif wait >= options.request_timeout:
            self.leave(cancel=True)
            return self._late()
        return None

    def messages(self) -> Iterator[bytes | None]:
        """Everything in order, the answer last; ``None`` is the time for a keep-alive."""
        options, clock = self._options, self._clock
        now = clock()
        end = now + options.stream_lifetime
        quiet = now + options.request_timeout - (options.stream_after if self._head is None else 0)
        item: Any = NOTHING if self._head is None else self._head
        while True:
            if type(item) is Answer:
                yield item.body
                return
            if item is NOTHING:
                yield None
            else:
                self._read(item)
                quiet = clock() + options.request_timeout
                yield item
            now = clock()
            last = min(end, quiet)
            if now >= last:
                self.leave(cancel=True)
                yield self._late().body
                return
            item = self._job.take(min(options.keepalive, last - now))

    def _read(self, message: bytes) -> None:
        with self._guard():
            self._unread -= 1
            self._unread_bytes -= len(message)
        self._room.set()

    def leave(self, *, cancel: bool) -> None:
        """Nobody reads any more.

        Args:
            cancel: Whether the callback is to stop, too; without, it goes on and its messages are
                dropped.
        """
        self._open = False
        self.cancelled = self.cancelled or cancel
        if self._lock is not None:
            self._room.set()
        if cancel:
            self._job.kill()
        else:
            self._job.abandon()
