"""The ladder that every request climbs before its body counts: path, host, origin, peer, credentials.

Each step raises the refusal that its rule names. CORS answers live here too, since the same
question (which browser origins may call?) decides both.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mcp_wsgi.errors import Forbidden, NotFound, Unauthorized
from mcp_wsgi.failures import ends_process
from mcp_wsgi.options import Options
from mcp_wsgi.wsgi.http import HttpRequest

__all__ = ["HTTP_METHODS", "SESSION_METHODS", "authenticate", "check_access", "cors_headers", "preflight_headers"]

#: The HTTP methods that the endpoint serves where no sessions are kept.
HTTP_METHODS = ("POST", "OPTIONS")
#: The HTTP methods of sessions that are kept.
SESSION_METHODS = ("GET", "POST", "DELETE", "OPTIONS")

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

_ALLOW_HEADERS = (
    "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id"
)
_EXPOSE_HEADERS = "MCP-Protocol-Version, Mcp-Session-Id, Retry-After, WWW-Authenticate"


def check_access(request: HttpRequest, options: Options) -> None:
    """Refuse by path, ``Host``, ``Origin`` and peer.

    Raises:
        NotFound: The path is not the endpoint's.
        Forbidden: One of the others.

    Source: basic/transports/streamable-http, "Security & Endpoint".
    """
    path = request.path.rstrip("/")
    if path and path != options.path:
        raise NotFound(f"Not found: the MCP endpoint is at {options.path or '/'}")
    if options.hosts and not _host_allowed(request.host, options.hosts):
        raise Forbidden("Forbidden: this Host is not served")
    origin = request.headers.get("Origin")
    if origin is not None and not origin_allowed(origin, request, options):
        raise Forbidden("Forbidden: this Origin may not call")
    if not options.allow_remote_access and not is_loopback(request.peer):
        raise Forbidden("Forbidden: only local clients are served")


def _host_allowed(host: str, allowed: frozenset[str]) -> bool:
    host = _normal(host)
    name, _ = _split(host)
    if not name:
        return False
    if host in allowed or name in allowed or "*" in allowed:
        return True
    return any(entry.startswith(".") and (name.endswith(entry) or name == entry[1:]) for entry in allowed)


def _normal(host: str) -> str:
    # No other white space: what a server left of it is no part of a host's name.
    return host.strip(" \t").lower()


# Source: RFC 3986, 3.2.2; of its names those that DNS and container networks have.
_HOST = re.compile(r"([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::([0-9]*))?")


def _split(host: str) -> tuple[str, str]:
    """The name and the port of a host in lower case; the port is empty if there is none, both if it is no host."""
    found = _HOST.fullmatch(host)
    return ("", "") if found is None else (found[1], found[2] or "")


def origin_allowed(origin: str, request: HttpRequest, options: Options) -> bool:
    """Whether a browser page of ``origin`` may call.

    The server's own origin passes only on a host that is known to be this server: with DNS
    rebinding, a hostile page's ``Origin`` and ``Host`` agree.
    """
    # Whatever is allowed is also echoed in an answer's header, where nothing else may stand.
    if not (origin.isascii() and origin.isprintable()):
        return False
    origin = origin.lower()
    if "*" in options.origins or origin in options.origins:
        return True
    scheme, mark, authority = origin.partition("://")
    if not mark or scheme not in _DEFAULT_PORTS:
        return False
    host = _normal(request.host)
    # Behind a proxy that ends TLS the request's own scheme says nothing of the page's.
    own = {_with_port(host, scheme), _with_port(host, request.scheme)}
    if _with_port(authority, scheme) not in own:
        return False
    # That any Host is served does not make each of them this server's name.
    known = options.hosts - {"*"}
    return _host_allowed(host, known) if known else _split(host)[0] in _LOOPBACK_NAMES


_DEFAULT_PORTS = {"http": "80", "https": "443"}


def _with_port(host: str, scheme: str) -> tuple[str, str]:
    name, port = _split(host)
    return name, port or _DEFAULT_PORTS.get(scheme, "")


@lru_cache(maxsize=256)
def is_loopback(peer: str) -> bool:
    """Whether an address is 127/8, ::1, or one of those mapped into IPv6; false if it is unknown."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def authenticate(request: HttpRequest, options: Options) -> Any:
    """Ask the ``auth`` callable who is calling.

    Returns:
        The principal; ``None`` if there is no ``auth``.

    Raises:
        Unauthorized: The callable returned ``None``.
        TypeError: It returned something without an ``id``.
        Exception: What it raised. Whatever is raised here, nothing is served: a broken check must
            not open the door.
    """
    if options.auth is None:
        return None
    try:
        principal = options.auth(request)
    except BaseException as error:
        if isinstance(error, Exception) or ends_process(error):
            raise
        raise RuntimeError(f"auth raised {type(error).__name__}") from error
    if principal is None:
        raise Unauthorized
    if getattr(principal, "id", None) is None:
        raise TypeError(f"auth must return an object with an id, not {type(principal).__name__}")
    return principal


def cors_headers(request: HttpRequest, options: Options) -> Sequence[tuple[str, str]]:
    """What lets a page of an allowed origin read the answer; nothing for others.

    Source: Fetch Standard, 3.3 "HTTP extensions".
    """
    origin = request.headers.get("Origin")
    if origin is None:
        return (("Vary", "Origin"),) if options.origins else ()
    if not origin_allowed(origin, request, options):
        return (("Vary", "Origin"),)
    return (
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", _EXPOSE_HEADERS),
        ("Vary", "Origin"),
    )


def preflight_headers(request: HttpRequest) -> Sequence[tuple[str, str]]:
    """What answers a preflight for a page of an allowed origin."""
    asked = request.headers.get("Access-Control-Request-Headers") or ""
    # There is no wildcard for a prefix, so the parameter headers asked for are named one by one.
    parameters = [name.strip() for name in asked.split(",") if name.strip().lower().startswith("mcp-param-")]
    allowed = ", ".join([_ALLOW_HEADERS, *(name for name in parameters if _is_token(name))])
    return (
        ("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"),
        ("Access-Control-Allow-Headers", allowed),
        ("Access-Control-Max-Age", "600"),
    )


def _is_token(name: str) -> bool:
    return name.isascii() and all(mark.isalnum() or mark in "!#$%&'*+-.^_`|~" for mark in name)
