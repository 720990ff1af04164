"""One request in flight: its worker, its outbox, its deadline and its end.

Nobody decides up front whether the answer is JSON or a stream: ``first`` returns the answer if it
is the first thing that the worker gives, else ``None``, and then ``messages`` has everything in
order. Bytes go through unread; turning them into HTTP is the endpoint's work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

import msgspec

from mcp_wsgi.errors import Cancelled, InputError, InputRefused, InputTimeout
from mcp_wsgi.excerpts import MAX_SENTENCE, shorten
from mcp_wsgi.jsonrpc import encode_notification, encode_request
from mcp_wsgi.options import Options
from mcp_wsgi.questions import Question, Questions
from mcp_wsgi.workers import NOTHING, Crew, Job

__all__ = ["NO_ANSWER", "Answer", "Exchange"]

Clock = Callable[[], float]


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The last thing that a call gives.

    Attributes:
        body: The encoded response message or messages.
        status: HTTP status, if the answer is not streamed.
        ok: Whether it is a result, and no error.
    """

    body: bytes
    status: int = 200
    ok: bool = True


#: What the caller of a cancelled call gets: no response.
NO_ANSWER = Answer(b"", 202, ok=False)


class Exchange:
    """Runs one callback and hands on what it emits.

    The callback's side is a ``sink.Sink``; the request's side is ``first``, ``messages`` and
    ``leave``.

    Args:
        crew: Where the callback runs.
        options: Limits and times.
        clock: Monotonic seconds.
        streaming: Whether the client takes a stream; without, messages are dropped.
        late: Makes the answer for a call that missed its deadline.
        questions: Where what the callback asks of its client waits for answers; ``None``: it cannot
            ask here.

    Attributes:
        cancelled: Whether the callback has been told to stop.
    """

    __slots__ = (
        "_asking",
        "_clock",
        "_crew",
        "_guard",
        "_head",
        "_job",
        "_killed",
        "_late",
        "_open",
        "_options",
        "_outbox",
        "_over",
        "_questions",
        "_quiet",
        "cancelled",
    )

    def __init__(
        self,
        crew: Crew,
        options: Options,
        clock: Clock,
        *,
        streaming: bool,
        late: Callable[[], Answer],
        questions: Questions | None = None,
    ) -> None:
        self._crew = crew
        self._options = options
        self._clock = clock
        self._late = late
        self._questions = questions
        self._asking: tuple[Any, ...] = ()  # what threads of the callback wait for that have asked its client
        self._guard = crew.guard()
        self._job: Any = None
        self._head: bytes | None = None
        self._outbox: _Outbox | None = None
        self._open = streaming  # what is emitted is taken
        self._over = False  # the request's side is through with the call
        self._killed = False  # and has asked for its end, which the callback learns of in its turn
        self.cancelled = False

    # --- the callback's side ----------------------------------------------------------------------

    def emit(self, message: bytes) -> None:
        """Send ``message``, waiting while a slow client has ``event_log`` messages unread.

        Raises:
            Cancelled: The client has cancelled the call or has gone.
        """
        if self._open:
            outbox = self._made_outbox()
            with self._guard:
                outbox.add(message)
            self._job.put(message)
            if self._crew.concurrent:
                self._wait_for_room(outbox)
        if self.cancelled:
            raise Cancelled

    def close_stream(self) -> bool:
        """Nothing: without a session nobody could come back for the rest."""
        return False

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Ask the client and wait for its answers; the deadline of the call stands still meanwhile.

        Args:
            owner: Who may answer: session, principal, mount.
            requests: Method and parameters of each question.

        Returns:
            The results, in the same order.

        Raises:
            InputError: The client cannot be asked, answered with an error, or not in time.
            Overloaded: Too many calls wait for their clients.
            Cancelled: The call was cancelled, or nobody reads its stream any more.
        """
        questions = self._questions
        if questions is None or not (self._open or self.cancelled):
            raise InputError("The client cannot be asked: it takes no stream, or this server cannot hold one")
        signal = self._job.event()
        asked = questions.ask(len(requests), owner, signal)
        with self._guard:
            self._asking += (signal,)
        try:
            self._stay_alone(True)
            for question, (method, params) in zip(asked, requests, strict=True):
                self.emit(encode_request(question.id, method, params))
            self._wait_for_answers(asked, signal)
        finally:
            questions.close(asked)
            self._quiet = self._clock() + self._options.request_timeout
            with self._guard:
                self._asking = tuple(other for other in self._asking if other is not signal)
            if not self._asking:
                self._stay_alone(False)
        for question in asked:
            if question.error is not None:
                raise InputRefused(f"The client refused: {shorten(question.error['message'], MAX_SENTENCE)}")
        return [question.result for question in asked]

    def _stay_alone(self, alone: bool) -> None:
        """Whether nobody may wait behind this call, as it waits for its client; without a session nobody does."""

    def _wait_for_answers(self, asked: Sequence[Question], signal: Any) -> None:
        end = self._clock() + self._options.input_timeout
        while True:
            # The order matters: who answers, cancels or leaves does so, then sets the signal.
            signal.clear()
            missing = [question for question in asked if not question.answered]
            if not missing:
                return
            if self.cancelled or not self._open:
                raise Cancelled
            left = end - self._clock()
            if left <= 0:
                for question in missing:
                    late = {"requestId": question.id, "reason": "No answer in time"}
                    self.emit(encode_notification("notifications/cancelled", late))
                raise InputTimeout("The client did not answer in time")
            signal.wait(left)

    def _deadline(self) -> float:
        """When the callback has been silent for too long; never while it waits for its client."""
        return math.inf if self._asking else self._quiet

    def _wait_for_room(self, outbox: _Outbox) -> None:
        # The order matters: ``leave`` closes, then sets the event that ``_is_full`` clears.
        while self._is_full(outbox) and self._open:
            left = self._quiet - self._clock()
            if left <= 0:
                # A client that reads nothing holds up ``messages``, too: the deadline is kept here.
                self.leave(cancel=True)
                return
            outbox.room.wait(left)

    def _is_full(self, outbox: _Outbox) -> bool:
        with self._guard:
            full = outbox.is_full()
            if full:
                outbox.room.clear()
            return full

    def allow_progress(self) -> bool:
        """Take one from a bucket of ``progress_rate`` tokens that fills up within a second."""
        outbox = self._made_outbox()
        with self._guard:
            return outbox.take_token(self._clock())

    @property
    def order(self) -> Any:
        """A lock to hold while a message is made and sent, where threads must keep an order."""
        return self._made_outbox().order

    def _made_outbox(self) -> _Outbox:
        # Most calls emit nothing, so what only emitting needs is made by the first to emit.
        if self._outbox is None:
            with self._guard:
                if self._outbox is None:
                    self._outbox = _Outbox(self._job.lock(), self._job.event(), self._options, self._clock())
        return self._outbox

    # --- the request's side -----------------------------------------------------------------------

    def start(self, callback: Callable[[Exchange], Answer]) -> None:
        """Run ``callback(self)``; it must turn its own failures into an ``Answer``.

        Raises:
            Overloaded: Too many calls are running.
        """

        def run(job: Job) -> Answer:
            self._job = job
            try:
                return callback(self)
            finally:
                self._open = False

        self._quiet = self._clock() + self._options.request_timeout
        try:
            self._job = self._crew.start(run)
        except BaseException:
            self._desert()
            raise

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
        try:
            item = self._job.take(wait)
        except BaseException:
            self._desert()
            raise
        if type(item) is Answer:
            return item
        if item is not NOTHING:
            self._head = item
        elif wait >= options.request_timeout:
            self.leave(cancel=True)
            return self._late()
        return None

    def messages(self) -> Generator[bytes | None, None, None]:
        """Everything in order, the answer last; ``None`` is the time for a keep-alive.

        A generator that is dropped half-way, without ``leave``, cancels the call.
        """
        try:
            yield from self._messages()
        finally:
            self._desert()

    def _messages(self) -> Generator[bytes | None, None, None]:
        end = self._clock() + self._options.stream_lifetime
        item: Any = NOTHING if self._head is None else self._head
        while type(item) is not Answer:
            if item is NOTHING:
                yield None
            else:
                self._count_out(item)
                yield item
            item = self._next(end)
        self._over = True
        if item.body:
            yield item.body

    def _next(self, end: float) -> Any:
        left = min(end, self._deadline()) - self._clock()
        if left > 0:
            item = self._job.take(min(self._options.keepalive, left))
            if item is not NOTHING or min(end, self._deadline()) > self._clock():
                return item
        self.leave(cancel=True)
        return self._late()

    def _count_out(self, message: bytes) -> None:
        self._quiet = self._clock() + self._options.request_timeout
        outbox = self._made_outbox()
        with self._guard:
            outbox.remove(message)
        outbox.room.set()

    def leave(self, *, cancel: bool) -> None:
        """Nobody reads any more.

        Args:
            cancel: Whether the callback is to stop, too; without, it goes on and its messages are
                dropped.
        """
        self._open = False
        self._over = True
        if self._killed:
            return
        if cancel:
            self._killed = True
            self._job.kill(self._announce)
        else:
            self._job.abandon()
        if self._outbox is not None:
            self._outbox.room.set()
        self._rouse()

    def stop(self) -> None:
        """Cancel the callback and free its caller, who otherwise would wait for a thread to look."""
        self.leave(cancel=True)
        self._job.put(self._late())

    def withdraw(self) -> None:
        """The client has said on another connection that it wants no answer; the callback is to stop."""
        if not self._over:
            self.leave(cancel=True)
            self._job.put(NO_ANSWER)

    def _rouse(self) -> None:
        """Let a callback that waits for its client look again."""
        for signal in self._asking:
            signal.set()

    def _announce(self) -> None:
        self.cancelled = True
        self._rouse()

    def _desert(self) -> None:
        if self._job is not None and not self._over:
            self.leave(cancel=True)


class _Outbox:
    """What only a call that emits needs; its methods are called with the exchange's guard held."""

    __slots__ = ("_bytes", "_max_bytes", "_max_messages", "_rate", "_tokens", "_tokens_at", "_unread", "order", "room")

    def __init__(self, order: Any, room: Any, options: Options, now: float) -> None:
        self.order = order
        self.room = room
        self._max_messages = options.event_log
        self._max_bytes = options.event_log_bytes
        self._unread = self._bytes = 0
        self._rate = options.progress_rate
        self._tokens = max(self._rate, 1.0)
        self._tokens_at = now

    def add(self, message: bytes) -> None:
        self._unread += 1
        self._bytes += len(message)

    def remove(self, message: bytes) -> None:
        self._unread -= 1
        self._bytes -= len(message)

    def is_full(self) -> bool:
        return self._unread > self._max_messages or self._bytes > self._max_bytes

    def take_token(self, now: float) -> bool:
        filled = self._tokens + (now - self._tokens_at) * self._rate
        self._tokens, self._tokens_at = min(filled, max(self._rate, 1.0)), now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
