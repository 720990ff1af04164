"""What a session is and who may use it: values and rules, free of locks and clocks.

Where sessions are kept is in ``stores``.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from mcp_wsgi.errors import InvalidParams

__all__ = [
    "MAX_SESSION_ID",
    "MAX_SUBSCRIBED_BYTES",
    "MAX_SUBSCRIPTIONS",
    "SessionRecord",
    "Settings",
    "belongs",
    "is_session_id",
    "kept_capabilities",
    "kept_info",
    "new_session_id",
    "principal_id",
]

#: Most characters of a session id that is looked at. More than any header field that servers take.
MAX_SESSION_ID = 8192
#: Most resources that one session subscribes to.
MAX_SUBSCRIPTIONS = 1000
#: Most bytes of their URIs together.
MAX_SUBSCRIBED_BYTES = 64 * 1024

_ID_BYTES = 24
# Source: basic/transports, "Session Management": "only visible ASCII characters".
_VISIBLE = re.compile(rf"[\x21-\x7e]{{1,{MAX_SESSION_ID}}}")
_MAX_PRINCIPAL = 200

# Of what a client says of itself, and a session remembers as long as it lives: bytes of JSON, and values in it, each
# of which takes far more memory than the two bytes that it may be written with.
_MAX_CLIENT_BYTES = 4096
_MAX_CLIENT_VALUES = 200
_MAX_NAME = 50
#: What is kept of a client's information and capabilities where all of them would be too much.
_INFO = ("name", "title", "version")
_CAPABILITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"roots": ("listChanged",), "sampling": ("context", "tools"), "elicitation": ("form", "url")}
)


class SessionRecord(msgspec.Struct, frozen=True):
    """What ``initialize`` settled; nothing in it changes afterwards.

    Attributes:
        revision: The revision agreed on.
        client_info: The client's ``Implementation`` object.
        capabilities: The client's ``ClientCapabilities`` object.
        principal: Who opened it, as ``principal_id`` writes it; ``None`` without ``auth``.
        mount: Where the application was mounted, the ``SCRIPT_NAME`` of the request.
    """

    revision: str
    client_info: dict[str, Any]
    capabilities: dict[str, Any]
    principal: str | None
    mount: str


class Settings(msgspec.Struct, frozen=True):
    """What has been settled in a session since, mostly by its client.

    Attributes:
        log_level: The least severe level to send; ``None`` if it has not said.
        subscriptions: URIs of the resources whose updates it wants.
        initialized: Whether ``notifications/initialized`` has come.
        channels: Names of the broadcast channels that ``Handler.channels`` gave it.
    """

    log_level: str | None = None
    subscriptions: frozenset[str] = frozenset()
    initialized: bool = False
    channels: frozenset[str] = frozenset()

    def subscribed(self, uri: str) -> Settings:
        """These settings with one subscription more.

        Raises:
            InvalidParams: There are too many, or too long ones. It is no ``Overloaded``: trying
                again later does not help, only unsubscribing does.
        """
        if uri in self.subscriptions:
            return self
        subscriptions = self.subscriptions | {uri}
        if len(subscriptions) > MAX_SUBSCRIPTIONS or sum(map(_size, subscriptions)) > MAX_SUBSCRIBED_BYTES:
            raise InvalidParams(
                f"Too many subscriptions: a session has at most {MAX_SUBSCRIPTIONS}, "
                f"of {MAX_SUBSCRIBED_BYTES} bytes together"
            )
        return msgspec.structs.replace(self, subscriptions=subscriptions)

    def unsubscribed(self, uri: str) -> Settings:
        """These settings without that subscription, whether or not there was one."""
        return msgspec.structs.replace(self, subscriptions=self.subscriptions - {uri})


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def principal_id(principal: Any) -> str | None:
    """The stable text by which a session knows its principal.

    The type stays in it, so that ``1`` and ``"1"``, which may come from two sources of users, are
    two principals. A subclass of ``str`` or ``int`` counts as that. What is long or not ASCII is
    replaced by its digest; the text never has more than 200 characters or so.

    Args:
        principal: What ``auth`` returned, an object with an ``id`` that has a stable ``str()``;
            ``None`` without ``auth``.
    """
    if principal is None:
        return None
    value = principal.id
    kind = next((base.__name__ for base in (str, int) if isinstance(value, base)), type(value).__name__)
    text = str(value)
    if text.isascii() and len(text) <= _MAX_PRINCIPAL:
        return f"{kind}:{text}"
    # The name of a type has no "#", so no id that someone chose can pass for a digest.
    return f"{kind}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def is_session_id(text: str) -> bool:
    """Whether the text could be a session id at all: 1 to 8192 visible ASCII characters."""
    return _VISIBLE.fullmatch(text) is not None


def belongs(record: SessionRecord, principal_id: str | None, mount: str) -> bool:
    """Whether a session was opened by that principal at that mount.

    Args:
        record: What the store has of the session.
        principal_id: Who asks, as the function of that name writes it.
        mount: ``SCRIPT_NAME`` of the request.
    """
    return record.principal == principal_id and record.mount == mount


def new_session_id(random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Make a session id: 192 random bits in 32 URL-safe characters.

    Args:
        random_bytes: Returns that many bytes, fit for cryptography.
    """
    return base64.urlsafe_b64encode(random_bytes(_ID_BYTES)).decode("ascii")


def kept_info(info: dict[str, Any], max_bytes: int = _MAX_CLIENT_BYTES) -> dict[str, Any]:
    """What a session remembers of a client's information: all of it, or if that is too much, its names and version."""
    if _fits(info, max_bytes):
        return info
    return {key: info[key][:_MAX_NAME] for key in _INFO if isinstance(info.get(key), str)}


def kept_capabilities(capabilities: dict[str, Any], max_bytes: int = _MAX_CLIENT_BYTES) -> dict[str, Any]:
    """What a session remembers of a client's capabilities: all, or if that is too much, those of the protocol."""
    if _fits(capabilities, max_bytes):
        return capabilities
    return {
        name: {key: value[key] if isinstance(value[key], bool) else {} for key in keys if key in value}
        for name, keys in _CAPABILITIES.items()
        if isinstance(value := capabilities.get(name), dict)
    }


def _fits(value: dict[str, Any], max_bytes: int) -> bool:
    text = msgspec.json.encode(value)
    # Commas of texts count too, which can only keep less.
    return len(text) <= max_bytes and sum(map(text.count, (b",", b"[", b"{"))) <= _MAX_CLIENT_VALUES
