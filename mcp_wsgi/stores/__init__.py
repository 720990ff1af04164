"""Where sessions are kept: the contract that every store keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mcp_wsgi.sessions import SessionRecord, Settings

__all__ = ["Ended", "SessionStore"]


class Ended(msgspec.Struct, frozen=True):
    """A session that has just ended.

    Attributes:
        id: The id it had.
        record: What ``initialize`` settled.
        state: Its last state.
        live: The object that ``SessionStore.live`` gave; ``None`` if that was never asked for.
    """

    id: str
    record: SessionRecord
    state: dict[str, Any]
    live: Any = None


class SessionStore:
    """Keeps the sessions of one application.

    * Each method is one atomic step, safe from any thread or greenlet, and waits for nobody. None may
      be called from a finalizer (``__del__``): a store's lock may be held by the code it interrupts.
    * A session *is there* from ``create`` until it expires or is ended, whichever is first; before and
      after, and under an id that no store would make, it is *gone*. Being gone is a return value, never
      an exception.
    * A session expires ``ttl`` seconds after it was created or last released, if nothing holds it then.
    * Each session is handed out exactly once, as an ``Ended``, to one caller of ``end``, ``expire`` or
      ``close``, who then ends what the session has (streams, workers, ``terminate``).

    Attributes:
        stateful: Whether there is something to keep. Without, there is no state, no settings, no
            streams, no ending and no limit of sessions: the methods for those take any id and say
            so in each.
        shared: Whether other processes that are set up alike have the same sessions.
    """

    stateful: bool = True
    shared: bool = True

    def create(self, record: SessionRecord, state: dict[str, Any]) -> str | None:
        """Open a session.

        Args:
            record: What was settled; not to be changed afterwards.
            state: What ``Handler.init`` made; a deep copy is kept. Not stateful: dropped.

        Returns:
            The new session's id: 1 to 8192 visible ASCII characters, none of them a comma, with which
            servers join a header field that comes twice. ``None`` if as many as allowed are open (held
            or not yet expired), or the store is closed.
        """
        raise NotImplementedError

    def find(self, session_id: str) -> SessionRecord | None:
        """What is known of a session, ``None`` if it is gone. Never prolongs its life."""
        raise NotImplementedError

    def hold(self, session_id: str) -> bool:
        """Keep a session from expiring, until ``release`` is called as often as this was.

        Returns:
            ``False`` if it is gone; then there is nothing to release.
        """
        raise NotImplementedError

    def release(self, session_id: str) -> None:
        """Undo one ``hold``. With the last one the time to live begins anew.

        Does nothing if the session is gone or not held.
        """
        raise NotImplementedError

    def end(self, session_id: str) -> Ended | None:
        """End a session, held or not.

        Returns:
            The session, to exactly one caller; ``None`` if it is gone, and always if not stateful.
        """
        raise NotImplementedError

    def expire(self) -> list[Ended]:
        """Those that have expired and were not handed out yet, the first to expire first.

        To be called every now and then: until then they stay in memory. Not stateful: none.
        """
        raise NotImplementedError

    def close(self) -> list[Ended]:
        """End all sessions, and open no more; also those expired but not handed out yet.

        Not stateful: does nothing.
        """
        raise NotImplementedError

    def load(self, session_id: str) -> dict[str, Any] | None:
        """A deep copy of a session's state, ``None`` if it is gone. Not stateful: an empty one."""
        raise NotImplementedError

    def save(self, session_id: str, state: dict[str, Any]) -> bool:
        """Replace a session's state by a deep copy of ``state``.

        Returns:
            ``False`` if the session is gone. Not stateful: ``True``, and the state is dropped.
        """
        raise NotImplementedError

    def settings(self, session_id: str) -> Settings | None:
        """What the client asked for, ``None`` if the session is gone. Not stateful: the defaults."""
        raise NotImplementedError

    def set_log_level(self, session_id: str, level: str) -> bool:
        """Remember the least severe level to send.

        Returns:
            ``False`` if the session is gone. Not stateful: ``True``, and nothing is remembered.
        """
        raise NotImplementedError

    def subscribe(self, session_id: str, uri: str) -> bool:
        """Remember a subscription; a second one to the same URI changes nothing.

        Returns:
            ``False`` if the session is gone. Not stateful: ``True``, and nothing is remembered.

        Raises:
            InvalidParams: The session has too many; see ``Settings.subscribed``.
        """
        raise NotImplementedError

    def unsubscribe(self, session_id: str, uri: str) -> bool:
        """Forget a subscription, whether or not there was one.

        Returns:
            ``False`` if the session is gone. Not stateful: ``True``.
        """
        raise NotImplementedError

    def mark_initialized(self, session_id: str) -> bool:
        """Remember that ``notifications/initialized`` has come.

        Returns:
            ``False`` if the session is gone. Not stateful: ``True``, and nothing is remembered.
        """
        raise NotImplementedError

    def set_channels(self, session_id: str, channels: frozenset[str]) -> bool:
        """Remember the broadcast channels that a session listens to.

        Returns:
            ``False`` if the session is gone. Not stateful: ``True``, and nothing is remembered.
        """
        raise NotImplementedError

    def claim(self, token: str, until: float) -> bool:
        """Mark a token as used.

        Args:
            token: Any text, such as the id of a sealed state.
            until: When it may be forgotten, in seconds since the epoch.

        Returns:
            ``False`` if it was marked before, or there is no room to remember it. Not stateful: always ``True``.
        """
        raise NotImplementedError

    def live(self, session_id: str, make: Callable[[], Any]) -> Any:
        """The session's live object in this process: always the same one.

        Args:
            make: Makes it when it is first asked for; must neither block nor use the store.

        Returns:
            ``None`` if the session is gone, and always if not stateful.
        """
        raise NotImplementedError

    def lives(self) -> list[Any]:
        """The live objects that this process has made, of sessions that are there. Not stateful: none."""
        raise NotImplementedError

    def ids(self) -> list[str]:
        """The sessions that are there and that this process knows, in any order. Not stateful: none."""
        raise NotImplementedError

    def __len__(self) -> int:
        """How many sessions ``ids`` has."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        """A store without sessions is a store, too."""
        return True
