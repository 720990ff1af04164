"""Sessions in the memory of one process."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from time import monotonic, time
from typing import Any

import msgspec

from mcp_wsgi.sessions import SessionRecord, Settings, new_session_id
from mcp_wsgi.stores import Ended, SessionStore
from mcp_wsgi.workers import guard

__all__ = ["MemoryStore"]

#: Most tokens that are remembered as used; more are refused.
MAX_CLAIMED = 100_000

_DEFAULTS = Settings()


class MemoryStore(SessionStore):
    """Keeps sessions as long as the process lives; another process knows nothing of them.

    Args:
        ttl: Seconds that a session lives while nothing holds it.
        max_sessions: Sessions that may be open at once.
        clock: Monotonic seconds.
        epoch: Seconds since the epoch.
    """

    shared = False

    # A session is in exactly one of three places: _held, _idle (whose cache lets it expire) or _over.

    def __init__(
        self,
        ttl: float,
        max_sessions: int,
        clock: Callable[[], float] = monotonic,
        epoch: Callable[[], float] = time,
    ) -> None:
        from cachetools import TTLCache

        self._max_sessions = max_sessions
        self._clock = clock
        self._epoch = epoch
        self._claimed: dict[str, float] = {}  # the first to be forgotten first
        # No step below blocks or switches while it has the lock.
        self._lock = guard()
        self._now = 0.0
        self._held: dict[str, _Entry] = {}
        # The cache would make room by dropping somebody else; there is always room in it.
        self._idle: TTLCache[str, _Entry, float] = TTLCache(math.inf, ttl, timer=lambda: self._now)
        self._over: list[tuple[str, _Entry]] = []
        self._closed = False

    # --- life -------------------------------------------------------------------------------------

    def create(self, record: SessionRecord, state: dict[str, Any]) -> str | None:
        """Open a session; see ``SessionStore``."""
        session_id = new_session_id()
        entry = _Entry(record, deepcopy(state))
        with self._lock:
            self._expire()
            if self._closed or len(self._held) + len(self._idle) >= self._max_sessions:
                return None
            self._idle[session_id] = entry
        return session_id

    def find(self, session_id: str) -> SessionRecord | None:
        """What is known of a session; see ``SessionStore``."""
        with self._lock:
            entry = self._entry(session_id)
            return None if entry is None else entry.record

    def hold(self, session_id: str) -> bool:
        """Keep a session from expiring; see ``SessionStore``."""
        with self._lock:
            entry = self._held.get(session_id)
            if entry is None:
                self._now = self._clock()
                entry = self._idle.pop(session_id, None)
                if entry is None:
                    return False
                self._held[session_id] = entry
            entry.holds += 1
            return True

    def release(self, session_id: str) -> None:
        """Undo one ``hold``; see ``SessionStore``."""
        with self._lock:
            entry = self._held.get(session_id)
            if entry is None:
                return
            entry.holds -= 1
            if not entry.holds:
                self._expire()
                self._idle[session_id] = self._held.pop(session_id)

    def end(self, session_id: str) -> Ended | None:
        """End a session; see ``SessionStore``."""
        with self._lock:
            self._expire()
            entry = self._held.pop(session_id, None) or self._idle.pop(session_id, None)
        return None if entry is None else entry.ended(session_id)

    def expire(self) -> list[Ended]:
        """Those that have expired; see ``SessionStore``."""
        with self._lock:
            self._expire()
            over, self._over = self._over, []
        return [entry.ended(session_id) for session_id, entry in over]

    def close(self) -> list[Ended]:
        """End all sessions; see ``SessionStore``."""
        with self._lock:
            self._closed = True
            self._expire()
            over = [*self._over, *self._idle.items(), *self._held.items()]
            self._over = []
            self._idle.clear()
            self._held.clear()
        return [entry.ended(session_id) for session_id, entry in over]

    # --- state ------------------------------------------------------------------------------------

    def load(self, session_id: str) -> dict[str, Any] | None:
        """A deep copy of the state; see ``SessionStore``."""
        with self._lock:
            entry = self._entry(session_id)
            state = None if entry is None else entry.state
        # Without the lock, since copying may run an application's code. Nobody changes a kept state.
        return {} if state is not None and not state else deepcopy(state)

    def save(self, session_id: str, state: dict[str, Any]) -> bool:
        """Replace the state; see ``SessionStore``."""
        # It takes the old state out of the lock, too: dropping that may run an application's code.
        kept = deepcopy(state) if state else {}
        with self._lock:
            entry = self._entry(session_id)
            if entry is None:
                return False
            entry.state, kept = kept, entry.state
        return True

    # --- settings ---------------------------------------------------------------------------------

    def settings(self, session_id: str) -> Settings | None:
        """What the client asked for; see ``SessionStore``."""
        with self._lock:
            entry = self._entry(session_id)
            return None if entry is None else entry.settings

    def set_log_level(self, session_id: str, level: str) -> bool:
        """Remember the log level; see ``SessionStore``."""
        return self._change(session_id, lambda settings: msgspec.structs.replace(settings, log_level=level))

    def subscribe(self, session_id: str, uri: str) -> bool:
        """Remember a subscription; see ``SessionStore``."""
        return self._change(session_id, lambda settings: settings.subscribed(uri))

    def unsubscribe(self, session_id: str, uri: str) -> bool:
        """Forget a subscription; see ``SessionStore``."""
        return self._change(session_id, lambda settings: settings.unsubscribed(uri))

    def mark_initialized(self, session_id: str) -> bool:
        """Remember that the client is ready; see ``SessionStore``."""
        return self._change(session_id, lambda settings: msgspec.structs.replace(settings, initialized=True))

    def set_channels(self, session_id: str, channels: frozenset[str]) -> bool:
        """Remember the broadcast channels; see ``SessionStore``."""
        return self._change(session_id, lambda settings: msgspec.structs.replace(settings, channels=channels))

    def _change(self, session_id: str, change: Callable[[Settings], Settings]) -> bool:
        with self._lock:
            entry = self._entry(session_id)
            if entry is None:
                return False
            entry.settings = change(entry.settings)
            return True

    # --- this process -----------------------------------------------------------------------------

    def live(self, session_id: str, make: Callable[[], Any]) -> Any:
        """The live object; see ``SessionStore``."""
        with self._lock:
            entry = self._entry(session_id)
            if entry is None:
                return None
            if entry.live is None:
                entry.live = make()
            return entry.live

    def claim(self, token: str, until: float) -> bool:
        """Mark a token as used; see ``SessionStore``."""
        with self._lock:
            claimed, now = self._claimed, self._epoch()
            while claimed and next(iter(claimed.values())) <= now:
                del claimed[next(iter(claimed))]
            if token in claimed or len(claimed) >= MAX_CLAIMED:
                return False
            claimed[token] = until
            return True

    def lives(self) -> list[Any]:
        """The live objects there are; see ``SessionStore``."""
        with self._lock:
            self._expire()
            entries = [*self._held.values(), *self._idle.values()]
        return [entry.live for entry in entries if entry.live is not None]

    def ids(self) -> list[str]:
        """The sessions that are there; see ``SessionStore``."""
        with self._lock:
            self._expire()
            return [*self._held, *self._idle]

    def __len__(self) -> int:
        """How many sessions are there."""
        with self._lock:
            self._expire()
            return len(self._held) + len(self._idle)

    # --- with the lock held -----------------------------------------------------------------------

    def _entry(self, session_id: str) -> _Entry | None:
        entry = self._held.get(session_id)
        if entry is not None:
            return entry
        self._now = self._clock()
        try:
            return self._idle[session_id]
        except KeyError:
            return None

    def _expire(self) -> None:
        # Whatever changes the cache also drops what has expired, without a word. As its time stands
        # still between two readings of the clock, nothing is left to be dropped after this.
        self._now = self._clock()
        self._over += self._idle.expire()


class _Entry:
    __slots__ = ("holds", "live", "record", "settings", "state")

    def __init__(self, record: SessionRecord, state: dict[str, Any]) -> None:
        self.record = record
        self.state = state
        self.settings = _DEFAULTS
        self.holds = 0
        self.live: Any = None

    def ended(self, session_id: str) -> Ended:
        return Ended(session_id, self.record, self.state, self.live)
