"""Every option: its name, default, unit and check, as one table.

``Options.build(**keywords)`` is the only way in; what is wrong fails there, by name.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from mcp_wsgi.errors import OptionError
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.levels import LEVELS

__all__ = ["OPTIONS", "Option", "Options"]

Check = Callable[[Any], Any]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one application, checked. ``OPTIONS`` documents each."""

    sessions: str | bool
    store: Any
    session_ttl: float
    max_sessions: int
    session_max_pending: int
    path: str
    auth: Callable[[Any], Any] | None
    origins: frozenset[str]
    hosts: frozenset[str]
    allow_remote_access: bool
    max_body: int
    max_depth: int
    max_batch: int
    max_calls: int
    request_timeout: float
    input_timeout: float
    max_questions: int | None
    state_ttl: float
    single_use: bool
    stream_after: float
    stream_lifetime: float
    keepalive: float
    stream_retry: float
    event_log: int
    event_log_bytes: int
    max_streams: int | None
    max_listens_per_principal: int
    progress_rate: float
    log_level: str
    page_size: int
    cache_ttl: float
    cache_scope: str
    secret_key: tuple[bytes, ...]
    workers: str
    expose_errors: bool

    @classmethod
    def build(cls, keywords: Mapping[str, Any]) -> Options:
        """Check the keywords of ``MCPApp(...)`` and fill in the defaults.

        Raises:
            OptionError: An unknown name, or a value that its check refuses.
        """
        for name in keywords:
            if name not in OPTIONS:
                raise OptionError(_unknown(name))
        values = {}
        for name, option in OPTIONS.items():
            value = keywords.get(name, option.default)
            try:
                values[name] = option.check(value)
            except (TypeError, ValueError) as problem:
                raise OptionError(f"option {name}: {problem}, got {_shown(name, value)}") from None
        return cls(**values)


class Option(msgspec.Struct, frozen=True):
    """A row of the options table.

    Attributes:
        default: What holds if it is not given.
        unit: Unit or kind of the value, for the documentation.
        check: Returns the value as it is kept, or raises ``ValueError`` saying what it takes.
        about: What it does, for the documentation.
    """

    default: Any
    unit: str
    check: Check
    about: str


def _number(minimum: float, maximum: float, *, above: bool = False) -> Check:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
            raise ValueError("takes a finite number")
        if value < minimum or (above and value == minimum):
            raise ValueError(f"must be {'above' if above else 'at least'} {minimum}")
        if value > maximum:
            raise ValueError(f"must be at most {maximum}")
        return float(value)

    return check


#: Longest wait, in seconds. No platform's locks wait longer than 49 days.
_MONTH = 30 * 24 * 3600
_YEAR = 365 * 24 * 3600


def _count(minimum: int, maximum: float = math.inf) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("takes a whole number")
        if value < minimum:
            raise ValueError(f"must be at least {minimum}")
        if value > maximum:
            raise ValueError(f"must be at most {maximum}")
        return value

    return check


def _streams(value: Any) -> int | None:
    return None if value is None else _count(0)(value)


def _store(value: Any) -> Any:
    missing = [] if value is None else [name for name in _STORE_METHODS if not callable(getattr(value, name, None))]
    if missing or isinstance(value, type):
        raise ValueError(f"takes a SessionStore{f', which has {missing[0]}()' if missing else ' instance'}")
    return value


_STORE_METHODS = (
    *("create", "find", "hold", "release", "end", "expire", "close", "load", "save", "settings", "set_log_level"),
    *("subscribe", "unsubscribe", "mark_initialized", "set_channels", "claim", "live", "lives", "ids"),
)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("takes True or False")
    return value


def _one_of(*choices: Any) -> Check:
    def check(value: Any) -> Any:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return value
        raise ValueError(f"must be one of {', '.join(map(repr, choices))}")

    return check


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ValueError('takes a path that begins with "/"')
    # What is refused here would never match: it is no part of a path, or clients write it otherwise.
    if not _PLAIN_PATH.fullmatch(value) or {".", ".."} & set(value.split("/")):
        raise ValueError("takes a plain path of ASCII letters, digits and marks, without query or empty segments")
    return value.rstrip("/")


_PLAIN_PATH = re.compile(r"/|(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+/?")


def _auth(value: Any) -> Callable[[Any], Any] | None:
    if value is not None and not callable(value):
        raise ValueError("takes a callable (request -> principal) or None")
    return value  # type: ignore[no-any-return]


def _names(value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError("takes a list of strings")
    names = list(value)
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("takes a list of non-empty strings")
    return names


def _origins(value: Any) -> frozenset[str]:
    return frozenset(map(_origin, _names(value)))


def _origin(name: str) -> str:
    name = name.lower()
    if name in ("*", "null"):
        return name
    if not _ORIGIN.fullmatch(name):
        raise ValueError('takes origins such as "https://app.example.com", without a path, or "*" for all')
    # A browser leaves the port of the scheme out. Source: RFC 6454, 6.1.
    scheme, _, _ = name.partition(":")
    return name.removesuffix(_DEFAULT_PORTS.get(scheme, ""))


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._~-]+|\[[0-9a-f:.]+\])(:[0-9]+)?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def _hosts(value: Any) -> frozenset[str]:
    return frozenset(map(_host, _names(value)))


def _host(name: str) -> str:
    name = name.lower()
    if name.count(":") > 1 and not name.startswith("["):
        name = f"[{name}]"  # as a Host field has IPv6 addresses
    if name != "*" and not _HOST.fullmatch(name):
        raise ValueError('takes host names such as "mcp.example.com", ".example.com" or "[::1]", without a scheme')
    return name


_HOST = re.compile(r"(\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:[0-9]+)?")


def _keys(value: Any) -> tuple[bytes, ...]:
    if value is None:
        return ()
    items = [value] if isinstance(value, (str, bytes)) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(key, (str, bytes)) for key in items):
        raise ValueError("takes a key (str or bytes) or a list of keys, newest first")
    keys = tuple(key.encode() if isinstance(key, str) else key for key in items)
    if not keys or min(map(len, keys)) < 16:
        raise ValueError("needs keys of at least 16 bytes")
    return keys


# A copy of a value takes two calls for each level, and Python has room for 1000; half of that belongs to the
# server, the framework and its middleware.
_SAFE_DEPTH = 256
_KIB = 1024
_MIB = 1024 * _KIB

#: Every option by name, in the order of the documentation.
OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "sessions": Option(
            "auto",
            '"auto", True or False',
            _one_of("auto", True, False),
            "How the session era keeps its clients. True: each has a session, with a state, streams and messages "
            "from the server, kept in store. auto: with a secret_key the session id itself says, signed, what was "
            "agreed, for any number of processes; nothing is kept, and GET is 405. Without a key, and for False, no id "
            "is issued and every request stands alone.",
        ),
        "store": Option(
            None,
            "SessionStore",
            _store,
            "Where sessions are kept; a store also means sessions=True. None: in the memory of the process, which "
            "serves a single one.",
        ),
        "session_ttl": Option(
            300.0,
            "seconds",
            _number(0, _YEAR, above=True),
            "How long a session in memory lives after its last call or stream has ended.",
        ),
        "max_sessions": Option(10_000, "sessions", _count(1), "Most sessions in memory; more are refused with 503."),
        "session_max_pending": Option(
            100, "calls", _count(0), "Calls of one session that may wait for their turn; more are refused."
        ),
        "path": Option(
            "/mcp",
            "URL path",
            _path,
            "Where the endpoint answers below the mount, with and without a trailing slash. The mount's own "
            "root always answers too.",
        ),
        "auth": Option(
            None,
            "callable",
            _auth,
            "Called with each request before its body is read, on every HTTP method; returns the principal (any "
            "object with a stable id) or raises Unauthorized or Forbidden. None: everybody is served.",
        ),
        "origins": Option(
            (),
            "list of origins",
            _origins,
            'Browser origins that may call, such as "https://app.example.com"; "*" allows all. Requests without '
            "an Origin are not from a browser and pass. The server's own origin passes on a loopback name or a "
            "host listed in hosts.",
        ),
        "hosts": Option(
            (),
            "list of host names",
            _hosts,
            "Values of Host that are served, with or without port; a leading dot takes all subdomains. Empty: "
            "not checked.",
        ),
        "allow_remote_access": Option(
            True,
            "bool",
            _flag,
            "False refuses peers that are not on the loopback interface.",
        ),
        "max_body": Option(4 * _MIB, "bytes", _count(_KIB), "Largest request body."),
        "max_depth": Option(
            64, "levels", _count(8, _SAFE_DEPTH), "Deepest nesting of arrays and objects in a body; at most 256."
        ),
        "max_batch": Option(100, "messages", _count(1), "Most messages in one batch (2025-03-26)."),
        "max_calls": Option(
            1000,
            "calls",
            _count(1),
            "Most callbacks that run at once in a process; more are refused with 503.",
        ),
        "request_timeout": Option(
            60.0,
            "seconds",
            _number(0, _MONTH, above=True),
            "How long a call may go without a result or a message to its client; then the client gets an "
            "internal error. The call is cancelled; in a stored session it goes on, as long as that lives.",
        ),
        "input_timeout": Option(
            300.0,
            "seconds",
            _number(0, _MONTH, above=True),
            "How long a call waits for its client's answer to a question (session era); request_timeout stands still "
            "meanwhile.",
        ),
        "max_questions": Option(
            None,
            "calls",
            _streams,
            "Most calls of a process that wait for their clients' answers (session era); more are refused. None: "
            "half of max_calls in greenlets, at most 1000; 2 in threads, where each keeps a thread of the server from "
            "other work, so a server of fewer than 4 threads wants less.",
        ),
        "state_ttl": Option(
            900.0,
            "seconds",
            _number(0, _YEAR, above=True),
            "How long a requestState is good for: how long a user may take to answer (2026-07-28).",
        ),
        "single_use": Option(
            False,
            "bool",
            _flag,
            "True takes each requestState once only. Needs a store: sessions=True, or store.",
        ),
        "stream_after": Option(
            10.0,
            "seconds",
            _number(0, _MONTH),
            "How long a call may be silent before its answer is opened as an SSE stream that keep-alive comments "
            "hold open.",
        ),
        "stream_lifetime": Option(
            3600.0,
            "seconds",
            _number(0, _MONTH, above=True),
            "Longest life of a stream, whatever is sent on it.",
        ),
        "keepalive": Option(15.0, "seconds", _number(0, _MONTH, above=True), "Between two keep-alive comments."),
        "stream_retry": Option(
            1.0,
            "seconds",
            _number(0, _MONTH),
            "How long a client of 2025-11-25 is asked to wait before it comes back to a stream whose connection has "
            "ended.",
        ),
        "max_streams": Option(
            None,
            "streams",
            _streams,
            "Most listen and GET streams that a process holds open; more are refused with 503. None: 4096 in "
            "greenlets, 1 in threads, where each stream keeps a thread from other work. A server that says that it "
            "has one thread holds none; gthread and waitress do not say so: set 0 there. When all places are taken, "
            "clients that have not read the last notice for two keepalives lose theirs, under gunicorn.",
        ),
        "max_listens_per_principal": Option(
            16,
            "streams",
            _count(1),
            "Most listen streams of one principal, and as many GET streams; those of unknown callers count in "
            "max_streams only.",
        ),
        "event_log": Option(
            256,
            "messages",
            _count(1),
            "Messages of one call that may wait for a slow client; then the callback waits. In a session: messages of "
            "all its streams that are kept, for clients that come back; the oldest give way.",
        ),
        "event_log_bytes": Option(_MIB, "bytes", _count(_KIB), "The same limit in bytes."),
        "progress_rate": Option(
            50.0,
            "messages a second",
            _number(0, 1_000_000, above=True),
            "Progress messages of one call; as many may come in one burst.",
        ),
        "log_level": Option(
            "info",
            "level",
            _one_of(*LEVELS),
            "Least severe log messages that a session-era client is sent.",
        ),
        "page_size": Option(50, "items", _count(1), "Items on one page of a list."),
        "cache_ttl": Option(
            0.0, "seconds", _number(0, 100 * _YEAR), "How long modern clients may keep lists and reads."
        ),
        "cache_scope": Option(
            "private",
            '"private" or "public"',
            _one_of("private", "public"),
            "Whether what is kept may be shared between users. Only for servers whose lists and resources are "
            "the same for everybody.",
        ),
        "secret_key": Option(
            None,
            "key, or list of keys",
            _keys,
            "Seals cursors, session ids and requestState; the first of a list seals, all open. At least 16 bytes. "
            "None: a random key for each process; where there are several, each list is then sent as one page.",
        ),
        "workers": Option(
            "auto",
            '"auto", "greenlets", "threads" or "inline"',
            _one_of("auto", "greenlets", "threads", "inline"),
            "What callbacks run in. auto: greenlets where gevent has patched the process, else threads. inline: the "
            "caller's own thread, without deadline and keep-alive.",
        ),
        "expose_errors": Option(
            False,
            "bool",
            _flag,
            "True tells clients the text of unexpected exceptions. For development only.",
        ),
    }
)


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, OPTIONS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; the options are {', '.join(OPTIONS)}"
    return f"unknown option {name!r}{hint}"


def _shown(name: str, value: Any) -> str:
    if name == "secret_key":
        return "something else"
    return shorten(repr(value), 200)
