"""The messages of one session, kept so that a broken stream can go on where it stopped.

A session has several streams: the one that GET opens, and one for each POST that is answered with a
stream. All share one log, bounded in events and bytes: what was taken goes first, then the oldest that
nobody reads; an answer on its way stays. An event id names its stream and a number that is unique in
the session: ``<stream>_<number>``. Only a new message makes others go: an answer whose connection breaks
is there for the client that comes back for it at once, even if the log is full.

Several connections may read one stream at a time; the one that came last gets the messages, since
the others are most likely dead. When it goes, the one before it takes over.
"""

from __future__ import annotations

import itertools
import logging
import math
import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from mcp_wsgi.workers import NOTHING, Signal

__all__ = ["GET_STREAM", "NOTHING", "PARTED", "Event", "EventLog", "Forgotten", "Reader", "Signal", "parse_event_id"]

log = logging.getLogger("mcp_wsgi")

#: The stream that GET opens and that unsolicited messages go to.
GET_STREAM = "0"
#: What ``Reader.take`` returns when the connection is to end, though the stream goes on.
PARTED: Any = object()

_EVENT_ID = re.compile(r"([0-9]{1,19})_([0-9]{1,19})(?:_[0-9]{1,19})?")


class Pace(Protocol):
    """The patience with the call that a stream answers, whichever connection reads it."""

    def renew(self) -> None:
        """Begin to count anew."""

    def left(self) -> float:
        """Seconds for which the call may still be silent; when they are over, it is answered."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream.

    Attributes:
        id: Its id on the wire.
        number: Unique and increasing in the session.
        message: The encoded message; empty for a mark, which only says where the stream stands.
        last: Whether the stream ends with it.
    """

    id: str
    number: int
    message: bytes
    last: bool = False


class Forgotten(Exception):
    """The log knows no such stream, or not any more."""


def parse_event_id(text: str) -> tuple[str, int] | None:
    """The stream and number of an event id; ``None`` if it is no id of ours."""
    found = _EVENT_ID.fullmatch(text)
    return None if found is None else (found[1], int(found[2]))


class _Stream:
    """One stream and those who read it, the latest last."""

    __slots__ = ("ended", "events", "pace", "readers", "room", "sent")

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace
        self.events: deque[Event] = deque()
        self.readers: list[Reader] = []
        self.room: Signal | None = None  # set whenever there may be more of it
        self.sent = 0  # number of its newest event that a reader took
        self.ended = False

    @property
    def taken(self) -> int:
        """Number of the newest event that need not be kept for who reads it now."""
        return self.readers[-1].position if self.readers else self.sent

    def finish(self) -> None:
        """Nothing comes after what there is, and nothing of the call is kept beside it."""
        self.ended = True
        self.pace = None

    def after(self, number: int) -> Event | None:
        """Its first event after that number."""
        found = None
        for event in reversed(self.events):
            if event.number <= number:
                break
            found = event
        return found


# What an event is kept for, the least first: it was taken; nobody reads its stream now (an answer is worth
# more than a message); somebody does.
_TAKEN, _UNREAD, _ANSWER, _IS_READ, _ANSWER_IS_READ = range(5)


def _rank(stream: _Stream) -> int:
    """What the oldest event of a stream is kept for."""
    oldest = stream.events[0]
    if oldest.number <= stream.taken:
        return _TAKEN
    if stream.readers:
        return _ANSWER_IS_READ if oldest.last else _IS_READ
    return _ANSWER if oldest.last else _UNREAD


class EventLog:
    """The streams of one session and their latest messages; safe from any thread or greenlet.

    Args:
        max_events: Events that are kept.
        max_bytes: Bytes of messages that are kept. The newest event is kept whatever its size.
        guard: Makes a lock for a few steps that neither block nor switch.

    Attributes:
        dropped: Events that went before any reader took them.
    """

    __slots__ = ("_bytes", "_closed", "_guard", "_max_bytes", "_max_events", "_number", "_order", "_streams", "dropped")

    def __init__(self, max_events: int, max_bytes: int, guard: Callable[[], Any] = threading.Lock) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._guard = guard()
        self._order: deque[_Stream] = deque()  # the stream of each event that is kept, the oldest first
        self._bytes = 0
        self._number = 0
        self._streams: dict[str, _Stream] = {GET_STREAM: _Stream()}
        self._closed = False
        self.dropped = 0

    # --- writing ----------------------------------------------------------------------------------

    def open(self, signal: Signal, pace: Pace | None = None) -> Reader:
        """Begin a stream that answers a POST, together with its first reader.

        Args:
            signal: What the reader waits for.
            pace: The patience with the call; default: endless.
        """
        with self._guard:
            self._number += 1
            name = str(self._number)
            stream = _Stream(pace)
            if self._closed:
                stream.ended = True
            else:
                self._streams[name] = stream
            reader = Reader(self, name, stream, self._number, signal)
            stream.readers.append(reader)
            return reader

    def append(self, name: str, message: bytes, *, last: bool = False, once: bool = False) -> bool:
        """Add a message to a stream and wake who reads it.

        Args:
            name: The stream's name.
            message: The encoded message.
            last: Whether the stream ends with it.
            once: Whether an equal message that nobody has taken yet will do.

        Returns:
            Whether it is in the log: ``False`` if the stream has ended.
        """
        with self._guard:
            stream = self._streams.get(name)
            if stream is None or stream.ended:
                return False
            if once and any(event.number > stream.sent and event.message == message for event in stream.events):
                return True
            self._number += 1
            stream.events.append(Event(f"{name}_{self._number}", self._number, message, last))
            if last:
                stream.finish()
            self._order.append(stream)
            self._bytes += len(message)
            lost, freed = self._evict()
            first_lost = lost and lost == self.dropped
            readers = tuple(stream.readers) if last else tuple(stream.readers[-1:])
        # Others whose messages have gone are behind no more; who wrote this one looks by itself.
        for other in freed:
            if other is not stream and other.room is not None:
                other.room.set()
        for reader in readers:
            reader.wake()
        if first_lost:
            log.warning(
                "a session has more than %d messages or %d bytes of them: the oldest that nobody reads are dropped",
                self._max_events,
                self._max_bytes,
            )
        return True

    def _evict(self) -> tuple[int, list[_Stream]]:
        """Make room; returns how many events went that nobody had taken, and the streams that they were of."""
        lost, streams = 0, []
        while len(self._order) > self._max_events or self._bytes > self._max_bytes:
            place = self._dispensable()
            if place is None:
                break
            stream = self._order[place]
            del self._order[place]
            gone = stream.events.popleft()
            self._bytes -= len(gone.message)
            if gone.number > stream.taken:
                lost += 1
                streams.append(stream)
            self._drop_if_over(gone.id.partition("_")[0], stream)
        self.dropped += lost
        return lost, streams

    def _dispensable(self) -> int | None:
        """The place of the event to go, the oldest of the least needed; see ``_rank``.

        Never the newest event, nor an answer that a connection still has to take.
        """
        found, best = None, _ANSWER_IS_READ
        seen: set[int] = set()
        for place, stream in enumerate(itertools.islice(self._order, len(self._order) - 1)):
            if id(stream) in seen:
                continue
            seen.add(id(stream))
            rank = _rank(stream)
            if rank < best:
                found, best = place, rank
            if best == _TAKEN:
                break
        return found

    def _drop_if_over(self, name: str, stream: _Stream) -> None:
        if stream.ended and not stream.events and not stream.readers:
            self._streams.pop(name, None)

    def end(self, name: str) -> None:
        """End a stream without another message."""
        with self._guard:
            stream = self._streams.get(name)
            if stream is None:
                return
            stream.finish()
            readers = tuple(stream.readers)
            self._drop_if_over(name, stream)
        for reader in readers:
            reader.wake()

    def part(self, name: str) -> int:
        """Let the connections that read a stream end when they are through with what is there.

        Returns:
            How many there were.
        """
        with self._guard:
            stream = self._streams.get(name)
            readers = () if stream is None else tuple(stream.readers)
            for reader in readers:
                reader.parted = True
        for reader in readers:
            reader.wake()
        return len(readers)

    def supersede(self, reader: Reader) -> int:
        """Let the other connections that read a reader's stream end, as its client has come back for it.

        Returns:
            How many there are that were to go on till now.
        """
        with self._guard:
            others = [other for other in reader.stream.readers if other is not reader and not other.parted]
            for other in others:
                other.parted = True
        for other in others:
            other.wake()
        return len(others)

    def close(self) -> None:
        """End all streams, those that are opened later, too; their readers still get what is there."""
        with self._guard:
            self._closed = True
            streams = list(self._streams.values())
            readers = [reader for stream in streams for reader in stream.readers]
            for stream in streams:
                stream.finish()
        for reader in readers:
            reader.wake()

    # --- room -------------------------------------------------------------------------------------

    def watch(self, name: str, room: Signal) -> None:
        """Set ``room`` whenever a reader of the stream has taken something or gone; ``is_behind`` clears it."""
        with self._guard:
            stream = self._streams.get(name)
            if stream is not None:
                stream.room = room

    def is_behind(self, name: str) -> bool:
        """Whether half of what the log can hold waits for the connection that reads the stream now."""
        with self._guard:
            stream = self._streams.get(name)
            if stream is None or not stream.readers:
                return False
            position = stream.readers[-1].position
            waiting = [len(event.message) for event in stream.events if event.number > position]
            behind = len(waiting) > self._max_events // 2 or sum(waiting) > self._max_bytes // 2
            if behind and stream.room is not None:
                # As one step with looking: several may wait, and none is to clear what wakes another.
                stream.room.clear()
            return behind

    # --- reading ----------------------------------------------------------------------------------

    def read(self, signal: Signal, name: str = GET_STREAM, after: int | None = None) -> Reader:
        """Begin to read a stream.

        Args:
            signal: What the reader waits for.
            name: The stream's name.
            after: The number of the event before the first one wanted; default: what no reader has
                taken yet. Events that are no longer kept are left out.

        Raises:
            Forgotten: There is no such stream, or it has not come that far.
        """
        with self._guard:
            stream = self._streams.get(name)
            if stream is None or (after is not None and after > self._number):
                raise Forgotten
            reader = Reader(self, name, stream, stream.sent if after is None else after, signal)
            stream.readers.append(reader)
            return reader

    def mark(self, reader: Reader) -> Event:
        """An event without a message whose id says how far a reader has come."""
        with self._guard:
            self._number += 1
            return Event(f"{reader.name}_{reader.position}_{self._number}", self._number, b"")

    def next_of(self, reader: Reader) -> Any:
        """What ``Reader.take`` returns, without waiting."""
        with self._guard:
            stream = reader.stream
            event = stream.after(reader.position) if stream.readers and stream.readers[-1] is reader else None
            if event is None:
                if stream.ended:
                    return None
                return PARTED if reader.parted else NOTHING
            reader.position = event.number
            stream.sent = max(stream.sent, event.number)
            room = stream.room
        if room is not None:
            room.set()
        return event

    def forget(self, reader: Reader) -> None:
        """A reader has gone; the one before it goes on in its place."""
        with self._guard:
            stream = reader.stream
            if reader not in stream.readers:
                return
            place = stream.readers.index(reader)
            del stream.readers[place]
            # Never the one after it: that may have been asked for what this one took.
            before = stream.readers[place - 1] if place else None
            if before is not None and reader.position > reader.start:
                before.position = max(before.position, reader.position)
            heir = before if place == len(stream.readers) else None
            self._drop_if_over(reader.name, stream)
            room = stream.room
        if heir is not None:
            heir.wake()
        if room is not None:
            room.set()


class Reader:
    """One connection's place in a stream; made by ``EventLog.open`` and ``read``.

    Attributes:
        name: The stream's name.
        start: Number of the event before the first one it wants.
        position: Number of the event that it took last.
        parted: Whether the connection is to end when it has taken what is there.
        closed: Whether it has stopped reading.
    """

    __slots__ = ("_log", "_signal", "closed", "name", "parted", "position", "start", "stream")

    def __init__(self, log: EventLog, name: str, stream: _Stream, position: int, signal: Signal) -> None:
        self._log = log
        self._signal = signal
        self.name = name
        self.stream = stream
        self.start = self.position = position
        self.parted = False
        self.closed = False

    def take(self, timeout: float) -> Any:
        """The next event.

        Returns:
            ``NOTHING`` after ``timeout`` seconds or early, ``None`` when the stream has ended,
            ``PARTED`` when only the connection is to end.
        """
        self._signal.clear()
        item = self._log.next_of(self)
        if item is NOTHING and timeout > 0:
            self._signal.wait(timeout)
            item = self._log.next_of(self)
        return item

    def mark(self) -> Event:
        """An event without a message that says where the reader stands."""
        return self._log.mark(self)

    def renew(self) -> None:
        """Begin to count the silence of the call anew; see ``Pace``."""
        pace = self.stream.pace
        if pace is not None and not self.stream.ended:
            pace.renew()

    def left(self) -> float:
        """Seconds for which the call may still be silent; infinite for a stream that answers none."""
        pace = self.stream.pace
        return math.inf if pace is None or self.stream.ended else pace.left()

    def wake(self) -> None:
        """Make a waiting ``take`` look again."""
        self._signal.set()

    def close(self) -> None:
        """Stop reading; a second time, which may be the garbage collector's, does nothing."""
        closed, self.closed = self.closed, True
        if not closed:
            self._log.forget(self)
