"""The sessions of one application: who may use them, what ends them, and what is pushed to their clients.

Where they are kept is the store's affair; what this process does for one is its ``LiveSession``'s.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import InternalError, Overloaded, SessionNotFound, SessionRequired
from mcp_wsgi.eventlog import GET_STREAM
from mcp_wsgi.jsonrpc import encode_notification
from mcp_wsgi.levels import rank_of
from mcp_wsgi.live import LiveSession
from mcp_wsgi.options import Options
from mcp_wsgi.revisions import DEFAULT_LEGACY, REVISIONS, Revision
from mcp_wsgi.schema import to_json
from mcp_wsgi.sessions import SessionRecord, Settings, belongs, is_session_id, principal_id
from mcp_wsgi.stores import Ended, SessionStore
from mcp_wsgi.subscriptions import Kind, within

__all__ = ["Keeper", "Session"]

log = logging.getLogger("mcp_wsgi")

#: Most seconds between two looks for expired sessions.
_LONGEST_PAUSE = 10.0


class Session:
    """A session as one request of it sees it; made by ``Keeper.find``.

    Attributes:
        id: Its id.
        record: What ``initialize`` settled.
        revision: The revision agreed on.
        client: What its client said of itself.
        stateful: Whether anything is kept of it beside the record.
    """

    __slots__ = ("_new_live", "_store", "client", "id", "record", "revision", "stateful")

    def __init__(
        self,
        store: SessionStore,
        session_id: str,
        record: SessionRecord,
        revision: Revision,
        new_live: Callable[[], LiveSession],
    ) -> None:
        self._store = store
        self._new_live = new_live
        self.id = session_id
        self.record = record
        self.revision = revision
        self.client = ClientInfo(record.client_info, record.capabilities)
        self.stateful = store.stateful

    @property
    def settings(self) -> Settings:
        """What has been settled since.

        Raises:
            SessionNotFound: It has ended meanwhile, as in each method here.
        """
        settings: Settings = _there(self._store.settings(self.id))
        return settings

    @property
    def live(self) -> LiveSession:
        """What this process has of it."""
        live: LiveSession = _there(self._store.live(self.id, self._new_live))
        return live

    def set_log_level(self, level: str) -> None:
        """Remember the least severe level that the client wants."""
        _there(self._store.set_log_level(self.id, level) or None)

    def subscribe(self, uri: str) -> None:
        """Remember that the client wants to hear of a resource's changes.

        Raises:
            InvalidParams: There are too many.
        """
        _there(self._store.subscribe(self.id, uri) or None)

    def unsubscribe(self, uri: str) -> None:
        """Forget that it does."""
        _there(self._store.unsubscribe(self.id, uri) or None)

    def note_elicitation(self, name: str) -> None:
        """Remember which page the user was asked to open, so that its end can be told."""
        if self.stateful and self.revision.elicitation_ids:
            self.live.note_elicitation(name)

    def set_channels(self, channels: frozenset[str]) -> None:
        """Remember the broadcast channels that it listens to."""
        _there(self._store.set_channels(self.id, channels) or None)

    def mark_initialized(self) -> None:
        """Remember that the client is ready."""
        self._store.mark_initialized(self.id)

    def hold(self) -> None:
        """Keep it from expiring until ``release``."""
        _there(self._store.hold(self.id) or None)

    def release(self) -> None:
        """Undo one ``hold``."""
        self._store.release(self.id)

    def load(self) -> dict[str, Any]:
        """A copy of its state."""
        state: dict[str, Any] = _there(self._store.load(self.id))
        return state

    def save(self, state: dict[str, Any]) -> None:
        """Replace its state; nothing, if it has ended meanwhile."""
        self._store.save(self.id, state)


def _there(found: Any) -> Any:
    if found is None:
        raise SessionNotFound
    return found


class Keeper:
    """Opens, finds and ends the sessions of one application, and pushes messages to their clients.

    Args:
        store: Where they are kept.
        dispatcher: Asks the handler.
        options: The time to live, and the level of log messages.
        new_live: Makes what this process has of a session.
    """

    def __init__(
        self, store: SessionStore, dispatcher: Dispatcher, options: Options, new_live: Callable[[], LiveSession]
    ) -> None:
        self._new_live = new_live
        self.store = store
        self._dispatcher = dispatcher
        self._options = options
        self._sweeper: threading.Thread | None = None
        self._stop: threading.Event | None = None
        self._lock = threading.Lock()
        self.closed = False

    # --- life -------------------------------------------------------------------------------------

    def open(self, record: SessionRecord, state: dict[str, Any], channels: frozenset[str]) -> str:
        """Begin a session; returns its id.

        Raises:
            Overloaded: There are as many as may be, or the server is shutting down.
        """
        session_id = None if self.closed else self.store.create(record, state)
        if session_id is None:
            why = "the server is shutting down" if self.closed else "too many sessions are open"
            raise Overloaded(f"Overloaded: {why}", retry_after=Overloaded.LATER)
        if channels:
            self.store.set_channels(session_id, channels)
        if self.store.stateful and not self._sweeping():
            self._start_sweeper()
        return session_id

    def find(self, session_id: str | None, principal: Any, mount: str) -> Session:
        """The session that a request names.

        Args:
            session_id: The ``Mcp-Session-Id`` field; empty or ``None``: there is none.
            principal: What ``auth`` returned.
            mount: ``SCRIPT_NAME`` of the request.

        Raises:
            SessionRequired: It names none.
            SessionNotFound: There is no such session for this principal at this mount.
        """
        if not session_id:
            raise SessionRequired
        record = self.store.find(session_id) if is_session_id(session_id) else None
        if record is None or not belongs(record, principal_id(principal), mount):
            raise SessionNotFound
        revision = REVISIONS.get(record.revision)
        if revision is None or revision.modern:  # of an older release of this server
            raise SessionNotFound
        return Session(self.store, session_id, record, revision, self._new_live)

    def end(self, session: Session, principal: Any) -> None:
        """End a session at its client's wish.

        Raises:
            SessionNotFound: It has ended already.
        """
        self._finish([_there(self.store.end(session.id))], "deleted", principal)

    def sweep(self) -> int:
        """End what has expired; returns how many sessions that were."""
        expired = self.store.expire()
        self._finish(expired, "expired")
        return len(expired)

    def _finish(self, over: Sequence[Ended], reason: str, principal: Any = None) -> None:
        # First whatever runs: an application may take its time to terminate.
        for ended in over:
            live: LiveSession | None = ended.live
            if live is not None:
                live.end(InternalError("The session has ended"))
        for ended in over:
            self._terminate(ended, reason, principal)

    def _terminate(self, ended: Ended, reason: str, principal: Any) -> None:
        # A store that outlives a process may have sessions of another release, which end all the same.
        revision = REVISIONS.get(ended.record.revision, DEFAULT_LEGACY)
        session = Session(self.store, ended.id, ended.record, revision, self._new_live)
        call = Call("terminate", {}, "", revision, client=session.client, principal=principal, session=session)
        self._dispatcher.terminate(reason, call, ended.state)

    def _sweeping(self) -> bool:
        # A thread does not go with a fork.
        return self._sweeper is not None and self._sweeper.is_alive()

    def _start_sweeper(self) -> None:
        with self._lock:
            if self._sweeping() or self.closed:
                return
            # As the server's threads are: greenlets where gevent has patched the process.
            self._stop = threading.Event()
            pause = min(self._options.session_ttl / 2, _LONGEST_PAUSE)
            arguments = (weakref.ref(self), self._stop, pause)
            self._sweeper = threading.Thread(
                target=_keep_sweeping, args=arguments, name="mcp_wsgi sweeper", daemon=True
            )
            self._sweeper.start()

    def part(self) -> None:
        """Open no session any more, and end the connections that read the sessions' own streams."""
        self.closed = True
        for live in self.store.lives():
            live.part()

    def close(self) -> None:
        """End all sessions, and open no more."""
        with self._lock:
            self.closed = True
            stop = self._stop
        if stop is not None:
            stop.set()
        self._finish(self.store.close(), "shutdown")

    # --- push -------------------------------------------------------------------------------------

    def notify(self, session_id: str, method: str, params: Mapping[str, Any]) -> int:
        """Send one session a notification; see ``MCPApp.notify``."""
        message = _notification(method, params)
        settings = self.store.settings(session_id)
        return self._put(session_id, message) if settings is not None and settings.initialized else 0

    def log(self, session_id: str, level: str, data: Any, logger: str | None) -> int:
        """Send one session a log message; see ``MCPApp.log``."""
        rank = rank_of(level)
        params = {"level": level, "data": data} if logger is None else {"level": level, "data": data, "logger": logger}
        message = _notification("notifications/message", params)
        settings = self.store.settings(session_id)
        if settings is None:
            return 0
        wanted = settings.log_level or self._options.log_level
        return self._put(session_id, message) if rank >= rank_of(wanted) else 0

    def broadcast(self, channel: str, method: str, params: Mapping[str, Any]) -> int:
        """Send a notification to the sessions of a channel; see ``MCPApp.broadcast``."""
        message = _notification(method, params)
        return self._tell(message, lambda settings: channel in settings.channels)

    def publish(self, kind: Kind) -> int:
        """Tell all sessions that a list has changed."""
        message = encode_notification(f"notifications/{kind}/list_changed", {})
        return self._tell(message, lambda settings: True, once=True)

    def publish_update(self, uri: str) -> int:
        """Tell that a resource has changed: who subscribed to it, or to what its path lies in."""
        message = encode_notification("notifications/resources/updated", {"uri": uri})
        heard = frozenset(within(uri))
        return self._tell(message, lambda settings: not settings.subscriptions.isdisjoint(heard), once=True)

    def elicitation_complete(self, name: str) -> int:
        """Tell the client that a page is through; see ``MCPApp.elicitation_complete``."""
        message = encode_notification("notifications/elicitation/complete", {"elicitationId": name})
        lives: list[LiveSession] = self.store.lives()
        asked = next((live for live in lives if live.forget_elicitation(name)), None)
        return 0 if asked is None else int(asked.log.append(GET_STREAM, message))

    def _tell(self, message: bytes, wants: Callable[[Settings], bool], *, once: bool = False) -> int:
        # A client that has not said that it is ready gets nothing unasked. Source: T25 basic/lifecycle.
        store, reached = self.store, 0
        for session_id in store.ids():
            settings = store.settings(session_id)
            if settings is not None and settings.initialized and wants(settings):
                reached += self._put(session_id, message, once=once)
        return reached

    def _put(self, session_id: str, message: bytes, *, once: bool = False) -> int:
        live: LiveSession | None = self.store.live(session_id, self._new_live)
        return 0 if live is None else int(live.log.append(GET_STREAM, message, once=once))


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    if not method.startswith("notifications/"):
        raise ValueError(f'the method of a notification begins with "notifications/", unlike {method!r}')
    return encode_notification(method, to_json(dict(params)))


def _keep_sweeping(keeper: weakref.ref[Keeper], stop: threading.Event, pause: float) -> None:
    """Sweep until the keeper closes or is gone."""
    while not stop.wait(pause):
        there = keeper()
        if there is None:
            return
        try:
            there.sweep()
        except Exception:
            log.exception("looking for expired sessions failed")
        del there
