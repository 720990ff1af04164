"""Sessions without storage: the id itself says, signed, what was settled.

Any number of processes that share the keys serve such a session, and a restart does not end it.
There is nothing else to it: no state, no settings, no push, and it cannot be ended early.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Sequence
from time import time
from typing import Any

import msgspec

from mcp_wsgi.sealing import SealBroken, Sealer
from mcp_wsgi.sessions import SessionRecord, Settings, kept_capabilities, kept_info
from mcp_wsgi.stores import Ended, SessionStore

__all__ = ["SignedStore"]

_DAY = 24 * 3600.0
_NONCE_BYTES = 16

# An id travels in a header field of every request, and servers take 8 KiB of them at most. With
# these an id stays below 4 KiB as long as the mount has no more than 500 characters.
_MAX_INFO = 1024
_MAX_CAPABILITIES = 1024


class _Payload(msgspec.Struct, frozen=True, array_like=True):
    revision: str
    client_info: dict[str, Any]
    capabilities: dict[str, Any]
    principal: str | None
    mount: str
    issued: int
    nonce: str


class SignedStore(SessionStore):
    """Makes and reads session ids that are signed, not secret: their holder can read them.

    Args:
        keys: Secrets, newest first: the first signs, all of them open.
        ttl: Seconds from ``create`` until an id is worth nothing. No call prolongs it, since the
            client keeps the id it has; nothing is lost with it but a new ``initialize``.
        clock: Seconds since the epoch; whole ones count.
        random_bytes: Returns that many bytes, fit for cryptography.

    Raises:
        ConfigurationError: No key, or an empty one.
    """

    stateful = False

    def __init__(
        self,
        keys: Sequence[bytes | str],
        ttl: float = _DAY,
        clock: Callable[[], float] = time,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._sealer = Sealer(keys, salt="mcp_wsgi.session")
        self._ttl = ttl
        self._clock = clock
        self._random_bytes = random_bytes

    # --- what the id says -------------------------------------------------------------------------

    def create(self, record: SessionRecord, state: dict[str, Any]) -> str:
        """Make an id that says what was settled; there is always one more.

        Too much about the client is cut down, further than elsewhere; see ``kept_info``.
        """
        payload = _Payload(
            record.revision,
            kept_info(record.client_info, _MAX_INFO),
            kept_capabilities(record.capabilities, _MAX_CAPABILITIES),
            record.principal,
            record.mount,
            int(self._clock()),
            base64.urlsafe_b64encode(self._random_bytes(_NONCE_BYTES)).decode("ascii").rstrip("="),
        )
        return self._sealer.seal(msgspec.to_builtins(payload))

    def find(self, session_id: str) -> SessionRecord | None:
        """What the id says; ``None`` if it is not ours or too old."""
        try:
            payload = msgspec.convert(self._sealer.open(session_id), _Payload)
        except (SealBroken, msgspec.ValidationError):
            return None
        if self._clock() - payload.issued >= self._ttl:
            return None
        return SessionRecord(
            payload.revision, payload.client_info, payload.capabilities, payload.principal, payload.mount
        )

    def hold(self, session_id: str) -> bool:
        """Whether the id is good; nothing prolongs its life."""
        return self.find(session_id) is not None

    # --- what there is none of ----------------------------------------------------------------------

    def release(self, session_id: str) -> None:
        """Do nothing."""

    def end(self, session_id: str) -> Ended | None:
        """End nothing: the id is good until it is too old."""
        return None

    def expire(self) -> list[Ended]:
        """None: nothing is kept that could expire."""
        return []

    def close(self) -> list[Ended]:
        """None: the ids outlive this process."""
        return []

    def load(self, session_id: str) -> dict[str, Any]:
        """An empty state, a new one for each call."""
        return {}

    def save(self, session_id: str, state: dict[str, Any]) -> bool:
        """Drop the state."""
        return True

    def settings(self, session_id: str) -> Settings:
        """The defaults, for every client."""
        return Settings()

    def set_log_level(self, session_id: str, level: str) -> bool:
        """Take any level, which changes nothing: known clients end the connection at a refusal."""
        return True

    def subscribe(self, session_id: str, uri: str) -> bool:
        """Take any URI, which changes nothing; not to be offered to clients."""
        return True

    def unsubscribe(self, session_id: str, uri: str) -> bool:
        """Take any URI."""
        return True

    def mark_initialized(self, session_id: str) -> bool:
        """Take note of nothing."""
        return True

    def set_channels(self, session_id: str, channels: frozenset[str]) -> bool:
        """Take note of nothing."""
        return True

    def claim(self, token: str, until: float) -> bool:
        """Remember nothing."""
        return True

    def live(self, session_id: str, make: Callable[[], Any]) -> Any:
        """None: no process is the session's."""
        return None

    def lives(self) -> list[Any]:
        """None."""
        return []

    def ids(self) -> list[str]:
        """None: nobody can be reached."""
        return []

    def __len__(self) -> int:
        """0."""
        return 0
