"""GET and DELETE of stored sessions: the stream of messages nobody asked for, the rest of a broken answer, the end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from typing import Any
from weakref import WeakValueDictionary

from mcp_wsgi.call import Call
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import InvalidRequest, MCPError, MethodNotAllowed, NotAcceptable, Overloaded, SessionNotFound
from mcp_wsgi.eventlog import GET_STREAM, NOTHING, Event, Forgotten, Reader, parse_event_id
from mcp_wsgi.keeper import Keeper, Session
from mcp_wsgi.options import Options
from mcp_wsgi.workers import Budget, Crew
from mcp_wsgi.wsgi.guards import SESSION_METHODS
from mcp_wsgi.wsgi.headers import Accepted
from mcp_wsgi.wsgi.http import HttpReply, HttpRequest
from mcp_wsgi.wsgi.replies import stream_reply

__all__ = ["SESSION_ID", "SessionEndpoint", "session_of"]

log = logging.getLogger("mcp_wsgi")

#: How often, and how many seconds apart, a client that comes back looks whether its old connection has gone.
_HANDOVER_LOOKS, _HANDOVER_PAUSE = 50, 0.02

#: The header field that names a session.
SESSION_ID = "Mcp-Session-Id"


def session_of(keeper: Keeper, request: HttpRequest, principal: Any) -> Session:
    """The session that a request names.

    Raises:
        SessionRequired: It names none.
        InvalidRequest: It names several.
        SessionNotFound: There is no such session for this principal at this mount.
    """
    named = request.headers.get(SESSION_ID, "")
    try:
        return keeper.find(named, principal, request.mount)
    except SessionNotFound:
        # Servers join repeated fields with commas. A 404 would tell the client that its session is gone.
        if "," in named:
            raise InvalidRequest(f"Invalid request: {SESSION_ID} is given more than once") from None
        raise


class SessionEndpoint:
    """Answers GET and DELETE.

    Args:
        keeper: Has the sessions.
        dispatcher: Asks the handler for the channels.
        options: Times.
        crew: Returns what workers run in.
        budget: Returns how many streams may be open.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        keeper: Keeper,
        dispatcher: Dispatcher,
        options: Options,
        crew: Callable[[], Crew],
        budget: Callable[[], Budget],
        clock: Callable[[], float],
    ) -> None:
        self._keeper = keeper
        self._dispatcher = dispatcher
        self._options = options
        self._crew = crew
        self._budget = budget
        self._clock = clock
        # A share is there as long as a connection has a part of it.
        self._shares: WeakValueDictionary[str, Budget] = WeakValueDictionary()
        self._sharing = threading.Lock()

    def delete(self, request: HttpRequest, principal: Any) -> HttpReply:
        """End the session and all that it holds.

        Raises:
            MCPError: A refusal.

        Source: 2025-11-25 basic/transports, "Session Management".
        """
        self._keeper.end(session_of(self._keeper, request, principal), principal)
        return HttpReply(204, [], [])

    def get(self, request: HttpRequest, accept: Accepted, principal: Any) -> HttpReply:
        """Open the session's own stream, or go on with the one that ``Last-Event-ID`` names.

        Raises:
            MCPError: A refusal.

        Source: 2025-11-25 basic/transports, "Listening for Messages from the Server", "Resumability".
        """
        session = session_of(self._keeper, request, principal)
        last_event = request.headers.get("Last-Event-ID")
        if last_event is None and not self._dispatcher.holds_streams:
            raise MethodNotAllowed("GET", SESSION_METHODS[1:])
        if not accept.sse:
            raise NotAcceptable("Not acceptable: GET is answered with text/event-stream only")
        call = Call(
            "channels",
            {},
            "",
            session.revision,
            client=session.client,
            principal=principal,
            headers=request.headers,
            environ=request.environ,
            session=session,
            mount=request.mount,
        )
        return self._open(session, last_event, call)

    def _open(self, session: Session, last_event: str | None, call: Call) -> HttpReply:
        """Open a stream; the session lives at least as long.

        Args:
            session: Whose it is.
            last_event: The ``Last-Event-ID`` field; ``None``: the session's own stream, from what
                nobody has been sent yet.
            call: What the handler sees of the request.

        Raises:
            InvalidRequest: The event is none of the session's, or no longer kept.
            Overloaded: Too many streams are open.
            SessionNotFound: The session has ended meanwhile.
        """
        if self._keeper.closed:
            raise Overloaded("Overloaded: the server is shutting down", retry_after=Overloaded.LATER)
        reader = self._reader(session, last_event)
        try:
            place = self._placed(session, reader, returning=last_event is not None)
            try:
                # Held only then: what names no event must not prolong the session's life.
                session.hold()
            except BaseException:
                if place is not None:
                    place.give()
                raise
        except BaseException:
            reader.close()
            raise
        connection = _Connection(reader, session, place)
        try:
            if reader.name == GET_STREAM:
                self._refresh_channels(session, call)
        except BaseException:
            connection.close()
            raise
        messages = self._messages(connection, polls=session.revision.polls, resumed=last_event is not None)
        return stream_reply(messages, connection.close, self._options.stream_retry, placed=place is not None)

    def _placed(self, session: Session, reader: Reader, *, returning: bool) -> _Place | None:
        """Take a place among the streams; ``None``: it needs none.

        Raises:
            Overloaded: There is none left.
        """
        log = session.live.log
        if reader.name != GET_STREAM:
            # It stands for the connection of a call, which was not counted either and is most likely dead.
            log.supersede(reader)
            return None
        place = _Place(self._share(session.record.principal), self._budget())
        if place.take():
            return place
        # Known clients give up after two refusals, long before a keep-alive shows that their old connection,
        # which has the place, is dead.
        if returning and log.supersede(reader):
            pause = self._crew().event()
            for _ in range(_HANDOVER_LOOKS):
                pause.wait(_HANDOVER_PAUSE)
                if place.take():
                    return place
        raise Overloaded("Overloaded: too many streams are open", retry_after=Overloaded.LATER)

    def _share(self, principal: str | None) -> Budget | None:
        """The streams that a principal may have open, which its connections share; ``None``: nobody's in particular."""
        if principal is None:
            return None
        with self._sharing:
            share = self._shares.get(principal)
            if share is None:
                share = self._shares[principal] = Budget(self._options.max_listens_per_principal)
            return share

    def _reader(self, session: Session, last_event: str | None) -> Reader:
        log, signal = session.live.log, self._crew().event()
        if last_event is None:
            return log.read(signal)
        place = parse_event_id(last_event)
        try:
            if place is not None:
                return log.read(signal, *place)
        except Forgotten:
            pass
        raise InvalidRequest("Invalid request: Last-Event-ID names no event of this session that is still kept")

    def _refresh_channels(self, session: Session, call: Call) -> None:
        # What a user may hear of changes over time; if that cannot be said now, what was said holds.
        try:
            channels = self._dispatcher.channels(call, session.load())
        except MCPError:
            return
        if channels != session.settings.channels:
            session.set_channels(channels)

    def _messages(self, connection: _Connection, *, polls: bool, resumed: bool) -> Generator[Event | None, None, None]:
        reader, clock, keepalive = connection.reader, self._clock, self._options.keepalive
        end = clock() + self._options.stream_lifetime
        # A server that cannot hold a stream sends what there is, and the client asks again.
        holds = self._dispatcher.holds_streams
        if holds:
            reader.renew()
        try:
            # Something goes out at once, as servers send the head of an answer with it. Known clients forget
            # where they were if a stream that goes on brings no event; one that is over brings none, or they
            # would come back for ever.
            item = reader.take(0) if resumed or not polls else NOTHING
            if item is None:
                return
            if type(item) is Event:
                yield item
            else:
                yield reader.mark() if polls else None
            while True:
                wait = min(keepalive, end - clock(), reader.left())
                item = reader.take(wait if holds else 0)
                if type(item) is Event:
                    yield item
                elif item is NOTHING and clock() < end and holds:
                    yield None
                else:
                    return
        finally:
            connection.close()


class _Place:
    """A place among the streams of one principal, if it is known, and among all."""

    __slots__ = ("_budgets",)

    def __init__(self, share: Budget | None, budget: Budget) -> None:
        self._budgets = (budget,) if share is None else (share, budget)

    def take(self) -> bool:
        """Take it; ``False`` if there is none."""
        for taken, budget in enumerate(self._budgets):
            if not budget.take():
                for other in self._budgets[:taken]:
                    other.give()
                return False
        return True

    def give(self) -> None:
        """Give it back."""
        for budget in self._budgets:
            budget.give()


class _Connection:
    """What one connection holds, to be given back once."""

    __slots__ = ("_open", "_place", "_session", "reader")

    def __init__(self, reader: Reader, session: Session, place: _Place | None) -> None:
        self._open = [None]  # taken out in one step
        self.reader = reader
        self._session = session
        self._place = place

    def close(self) -> None:
        """Give all back; nothing, if it has been."""
        try:
            self._open.pop()
        except IndexError:
            return
        self.reader.close()
        self._session.release()
        if self._place is not None:
            self._place.give()
