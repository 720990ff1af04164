"""What a callback can see and do while it runs."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from typing import Any, Protocol, TypeVar

import msgspec

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.jsonrpc import Id, encode_notification
from mcp_wsgi.revisions import Revision
from mcp_wsgi.schema import Arguments, to_json

__all__ = [
    "LEVELS",
    "SILENCE",
    "Call",
    "CallSession",
    "ClientInfo",
    "Context",
    "ContextLogHandler",
    "Sink",
    "current_context",
]

T = TypeVar("T")

#: The log levels of the protocol, least severe first. Source: server/utilities/logging (RFC 5424).
LEVELS: tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_RANK: Mapping[str, int] = {level: rank for rank, level in enumerate(LEVELS)}
_SILENT = len(LEVELS)

_EMPTY: Mapping[str, Any] = {}


class ClientInfo(msgspec.Struct, frozen=True):
    """What the client said about itself; never a ground for trust.

    Attributes:
        info: Its ``Implementation`` object; empty when it did not say.
        capabilities: Its ``ClientCapabilities`` object; empty when it did not say.
    """

    info: Mapping[str, Any] = _EMPTY
    capabilities: Mapping[str, Any] = _EMPTY

    @property
    def name(self) -> str | None:
        """The client's name for itself."""
        return self.info.get("name")

    @property
    def version(self) -> str | None:
        """The client's own version."""
        return self.info.get("version")


class CallSession(Protocol):
    """The session that a call belongs to.

    Attributes:
        id: Its id; whoever has it and the same credentials is in the session.
        stateful: Whether anything is kept of it beside what ``initialize`` settled.
    """

    id: str
    stateful: bool

    def set_log_level(self, level: str) -> None:
        """Remember the least severe level that the client wants."""

    def subscribe(self, uri: str) -> None:
        """Remember that the client wants to hear of a resource's changes."""

    def unsubscribe(self, uri: str) -> None:
        """Forget that it does."""


class Call(msgspec.Struct, frozen=True):
    """One request, as the core sees it.

    Attributes:
        method: The RPC method.
        params: Its parameters.
        id: The request's id.
        revision: The revision that rules it.
        meta: ``params._meta``, or an empty object.
        client: What is known of the client.
        principal: What ``auth`` returned; ``None`` without ``auth``.
        progress_token: Where progress goes; ``None`` if the client asked for none.
        log_level: The least severe level to send; ``None`` for no log messages at all.
        headers: HTTP header fields, names in any case.
        environ: The WSGI environ of the request.
        verify: Compares routing headers of arguments with the body, where the revision has them.
        session: The session it belongs to; ``None`` without.
    """

    method: str
    params: dict[str, Any]
    id: Id
    revision: Revision
    meta: Mapping[str, Any] = _EMPTY
    client: ClientInfo = ClientInfo()
    principal: Any = None
    progress_token: Id | None = None
    log_level: str | None = None
    headers: Mapping[str, str] = _EMPTY
    environ: Mapping[str, Any] = _EMPTY
    verify: Callable[[Arguments, dict[str, Any]], None] | None = None
    session: CallSession | None = None


class Sink(Protocol):
    """Where a running call's messages go, and what it is told in return."""

    cancelled: bool

    @property
    def order(self) -> AbstractContextManager[Any]:
        """A lock to hold while a message is made and sent, where threads must keep an order."""

    def emit(self, message: bytes) -> None:
        """Send one encoded message to the client of the call, in order."""

    def allow_progress(self) -> bool:
        """Whether the rate limit has room for one more progress message now."""

    def close_stream(self) -> bool:
        """End the connection, if its client comes back for the rest; returns whether it was ended."""


class _Silence:
    """The sink of a callback that is asked something on the way to an answer: it has no one to talk to."""

    cancelled = False
    order = nullcontext()

    def emit(self, message: bytes) -> None:
        """Nobody hears it."""

    def allow_progress(self) -> bool:
        """There is nobody to tell."""
        return False

    def close_stream(self) -> bool:
        """There is none."""
        return False


#: A sink that drops everything.
SILENCE: Sink = _Silence()


class Context:
    """A callback's view of the call that it serves.

    Ask for it by annotating a parameter: ``def tool(text: str, ctx: Context)``. Use it only while
    the call runs, from any thread or greenlet. Where the client wants no progress or logs, those
    methods do nothing.

    Attributes:
        state: The session's state; without a stored session, what ``Handler.init`` made for this call.
            It is kept after a reply and after ``ToolError``, and as it was before the call otherwise;
            what a call with a progress token changes is never kept, as it runs beside the others.
        crashed: Whether the callback has failed in a way that nobody foresaw.
    """

    __slots__ = ("_call", "_last", "_pending", "_sink", "_threshold", "crashed", "state")

    def __init__(self, call: Call, sink: Sink, state: dict[str, Any] | None = None) -> None:
        self._call = call
        self._sink = sink
        self._last = -math.inf
        self._pending: bytes | None = None
        self._threshold = _SILENT if call.log_level is None else _RANK[call.log_level]
        self.state: dict[str, Any] = {} if state is None else state
        self.crashed = False

    # --- what can be seen -------------------------------------------------------------------------

    @property
    def request_id(self) -> Id:
        """The id of the request."""
        return self._call.id

    @property
    def method(self) -> str:
        """The RPC method being served."""
        return self._call.method

    @property
    def revision(self) -> Revision:
        """The protocol revision that rules the call."""
        return self._call.revision

    @property
    def principal(self) -> Any:
        """What ``auth`` returned for the request; ``None`` without ``auth``."""
        return self._call.principal

    @property
    def client(self) -> ClientInfo:
        """What the client said about itself."""
        return self._call.client

    @property
    def session_id(self) -> str | None:
        """The id of the session, for ``MCPApp.notify``; ``None`` without one. Keep it secret."""
        return None if self._call.session is None else self._call.session.id

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's ``_meta`` object."""
        return self._call.meta

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's HTTP header fields; names in any case."""
        return self._call.headers

    @property
    def environ(self) -> Mapping[str, Any]:
        """The request's WSGI environ."""
        return self._call.environ

    @property
    def cancelled(self) -> bool:
        """Whether the client has cancelled the call or has gone."""
        return self._sink.cancelled

    def raise_if_cancelled(self) -> None:
        """End the callback here if its client has cancelled the call.

        Raises:
            Cancelled: It has. Do not catch it; ``finally`` blocks run.
        """
        if self._sink.cancelled:
            raise Cancelled

    # --- progress ---------------------------------------------------------------------------------

    def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call has come, if it asked.

        Values that do not exceed the last one are dropped, as the protocol wants them strictly
        increasing. Reports beyond ``progress_rate`` are dropped, but the newest of them is sent
        when the call ends.

        Args:
            progress: Finite number, in any unit.
            total: How much there is in all, in the same unit; default: unknown.
            message: One readable line; default: none.

        Raises:
            ValueError: A number is not finite, or the message has lone surrogates.
            Cancelled: The client has cancelled the call.

        Source: basic/patterns/progress.
        """
        self.raise_if_cancelled()
        number, token = _finite(progress), self._call.progress_token
        whole = None if total is None else _finite(total)
        if token is None or number <= self._last:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": number}
        if whole is not None:
            params["total"] = whole
        if message is not None:
            params["message"] = message
        self._send_progress(number, encode_notification("notifications/progress", params))

    def _send_progress(self, progress: float, encoded: bytes) -> None:
        with self._sink.order:
            if progress <= self._last:
                return  # another thread of the callback was faster
            self._last = progress
            if self._sink.allow_progress():
                self._pending = None
                self._sink.emit(encoded)
            else:
                self._pending = encoded

    def track(self, items: Iterable[T], total: float | None = None, message: str | None = None) -> Iterator[T]:
        """Go through ``items`` and report progress after each: ``for row in ctx.track(rows): ...``.

        Args:
            items: Anything iterable.
            total: How many there are; default: their ``len()``, if they have one.
            message: One readable line for each report; default: none.

        Raises:
            Cancelled: The client has cancelled the call.
        """
        if total is None and isinstance(items, Sized):
            total = len(items)
        for done, item in enumerate(items, 1):
            self.raise_if_cancelled()
            yield item
            self.report_progress(done, total, message)

    def flush(self) -> None:
        """Send the progress that the rate limit still holds back; called when a callback ends."""
        if self._pending is None or self._sink.cancelled:
            return
        with self._sink.order:
            pending, self._pending = self._pending, None
            if pending is not None:
                self._sink.emit(pending)

    def close_stream(self) -> bool:
        """End the connection of the client, which comes back for the rest by itself.

        For a long call that would hold a connection (and under a threaded server a thread) for
        nothing: messages and the answer wait in the session until the client asks for them.

        Returns:
            Whether it was ended: only in a stored session, and only clients of 2025-11-25 come back.

        Source: 2025-11-25 basic/transports, "Sending Messages to the Server".
        """
        return self._sink.close_stream()

    # --- logs -------------------------------------------------------------------------------------

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants that level.

        Args:
            level: One of ``LEVELS``.
            data: Text, or any value with a JSON form. No secrets: the client may show it.
            logger: Name of its source; default: none.

        Raises:
            ValueError: The level does not exist.
            OutputError: ``data`` has no JSON form.
            Cancelled: The client has cancelled the call.

        Source: server/utilities/logging.
        """
        self.raise_if_cancelled()
        # Before the level is asked for: what fails must not depend on who is listening.
        params: dict[str, Any] = {"level": level, "data": to_json(data)}
        if not self.wants(level):
            return
        if logger is not None:
            params["logger"] = logger
        self._sink.emit(encode_notification("notifications/message", params))

    def wants(self, level: str) -> bool:
        """Whether a log message of that level would be sent.

        Raises:
            ValueError: The level does not exist.
        """
        rank = _RANK.get(level)
        if rank is None:
            raise ValueError(f"unknown log level {level!r}; the levels are {', '.join(LEVELS)}")
        return rank >= self._threshold

    def debug(self, data: Any, logger: str | None = None) -> None:
        """``log("debug", data)``."""
        self.log("debug", data, logger)

    def info(self, data: Any, logger: str | None = None) -> None:
        """``log("info", data)``."""
        self.log("info", data, logger)

    def notice(self, data: Any, logger: str | None = None) -> None:
        """``log("notice", data)``."""
        self.log("notice", data, logger)

    def warning(self, data: Any, logger: str | None = None) -> None:
        """``log("warning", data)``."""
        self.log("warning", data, logger)

    def error(self, data: Any, logger: str | None = None) -> None:
        """``log("error", data)``."""
        self.log("error", data, logger)

    def critical(self, data: Any, logger: str | None = None) -> None:
        """``log("critical", data)``."""
        self.log("critical", data, logger)

    def alert(self, data: Any, logger: str | None = None) -> None:
        """``log("alert", data)``."""
        self.log("alert", data, logger)

    def emergency(self, data: Any, logger: str | None = None) -> None:
        """``log("emergency", data)``."""
        self.log("emergency", data, logger)


def _finite(value: float) -> float:
    """``value`` as JSON can say it; any real number will do, such as a ``Decimal``."""
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer beyond what a float holds
        finite = False
    if not finite:
        raise ValueError(f"progress must be finite, not {value!r}")
    return value if type(value) is int or type(value) is float else float(value)


_current: ContextVar[Context | None] = ContextVar("mcp_wsgi.context", default=None)


def current_context() -> Context | None:
    """The context of the call that this code runs for; ``None`` outside of one."""
    return _current.get()


def enter(ctx: Context) -> Token[Context | None]:
    """Make ``ctx`` current until ``leave``."""
    return _current.set(ctx)


def leave(token: Token[Context | None]) -> None:
    """Make current again what was before ``enter``."""
    _current.reset(token)


# Python's levels, each with the name that the protocol has for it.
_PYTHON_LEVELS = ((logging.CRITICAL, "critical"), (logging.ERROR, "error"), (logging.WARNING, "warning"))


class ContextLogHandler(logging.Handler):
    """Forwards log records made during a call to that call's client, at the level it wants.

    Attach it to the application's own logger: ``logging.getLogger("shop").addHandler(ContextLogHandler())``.
    Only the formatted message travels, never a traceback; records outside a call and those of
    this package itself are left alone.
    """

    def handle(self, record: logging.LogRecord) -> Any:
        """Send one record, if the filters let it through."""
        # Without the handler's lock, which all calls share: a call may wait here for its own client.
        passed: Any = self.filter(record)  # since Python 3.12 it may be another record
        if passed:
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return passed

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; what goes wrong is the logging module's to report."""
        ctx = _current.get()
        if ctx is None or record.name.partition(".")[0] == "mcp_wsgi" or ctx.cancelled:
            return
        level = _protocol_level(record.levelno)
        if not ctx.wants(level):
            return
        try:
            ctx.log(level, _clean(record.getMessage()), _clean(record.name))
        except Exception:  # noqa: BLE001
            self.handleError(record)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _protocol_level(levelno: int) -> str:
    for floor, level in _PYTHON_LEVELS:
        if levelno >= floor:
            return level
    return "info" if levelno >= logging.INFO else "debug"
