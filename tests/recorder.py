"""A WSGI middleware for tests: it judges everything an MCP application answers, and lets nothing wrong pass.

Wrap the application under test in ``Checked``, in-process or in a file that a real server loads. A
fault raises ``WireError`` before the wrong bytes leave: in-process it ends the test, under a server
the answer becomes a 500 or a broken stream.

What is judged: each message (``wire.py``); that a request gets its one response, by id; that progress
and log messages were asked for; the HTTP form of JSON answers, streams and empty answers; and the
rules of PEP 3333 for status, headers and body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from wsgiref.util import is_hop_by_hop

from tests.wire import ANY_ID, MODERN, REVISIONS, WireError, faults

if TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["Checked", "Exchange"]

_META = "io.modelcontextprotocol/"
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_NEWEST_LEGACY = "2025-11-25"
_DEFAULT_LEGACY = "2025-03-26"


@dataclass
class Exchange:
    """One HTTP request as far as the application read it, and what it answered."""

    method: str
    path: str
    headers: Mapping[str, str]
    read: bytearray = field(default_factory=bytearray)
    status: int = 0
    response_headers: list[tuple[str, str]] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    _parsed: Any = field(default=None, repr=False)

    @property
    def body(self) -> Any:
        """The parsed request body; ``None`` if it was not read or is no JSON in UTF-8."""
        # Another exchange may look before the application has read it.
        parsed = self._parsed
        if parsed is None:
            try:
                parsed = self._parsed = _parse(bytes(self.read))
            except (ValueError, RecursionError):
                return None
        return parsed

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The messages in the body that want a response."""
        sent = self.body if isinstance(self.body, list) else [self.body]
        return [message for message in sent if isinstance(message, dict) and _wants_response(message)]

    def header(self, name: str) -> str | None:
        """A response header, by its name in lower case."""
        return next((value for key, value in self.response_headers if key.lower() == name), None)


class Checked:
    """Wrap a WSGI application; every exchange is judged and kept in ``exchanges``."""

    def __init__(self, app: WSGIApplication) -> None:
        self.app = app
        self.exchanges: list[Exchange] = []
        self._sessions: dict[str, str] = {}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        exchange = _exchange(environ)
        self.exchanges.append(exchange)
        environ["wsgi.input"] = _Tee(environ["wsgi.input"], exchange.read)
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def capture(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> Callable[[bytes], object]:
            started[:] = [(status, headers)]
            return _refuse_write

        body = self.app(environ, capture)
        try:
            chunks = iter(body)
            # PEP 3333 lets an application start its response as late as with the first chunk.
            first = [] if started else [next(chunks)]
            status, headers = started[0]
            _check_head(exchange, status, headers)
            judge = _Judge(exchange, self._sessions, self.exchanges)
        except BaseException:
            _close(body)
            raise
        if (exchange.header("content-type") or "").startswith("text/event-stream"):
            judge.open_stream()
            start_response(status, headers)
            return _Stream(judge, first, chunks, body)
        try:
            data = b"".join([*first, *chunks])
        finally:
            _close(body)
        judge.whole(data)
        start_response(status, headers)
        return [data]


# --- the plumbing ---------------------------------------------------------------------------------


class _Tee:
    """A WSGI input stream that keeps what is read from it."""

    def __init__(self, stream: InputStream, read: bytearray) -> None:
        self._stream = stream
        self._read = read

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._read += data
        return data

    def readline(self, size: int = -1, /) -> bytes:
        data = self._stream.readline(size)
        self._read += data
        return data

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


class _Stream:
    """The body of an event stream, judged as it passes."""

    def __init__(self, judge: _Judge, first: list[bytes], chunks: Iterator[bytes], body: Iterable[bytes]) -> None:
        self._judge = judge
        self._first = first
        self._chunks = chunks
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = self._first.pop() if self._first else next(self._chunks, None)
        if chunk is None:
            self._judge.end()
            raise StopIteration
        self._judge.feed(chunk)
        return chunk

    def close(self) -> None:
        _close(self._body)


def _close(body: Iterable[bytes]) -> None:
    close = getattr(body, "close", None)
    if close is not None:
        close()


def _refuse_write(data: bytes) -> None:
    raise WireError("write() is for frameworks that cannot yield (PEP 3333)")


def _exchange(environ: WSGIEnvironment) -> Exchange:
    return Exchange(
        method=environ["REQUEST_METHOD"],
        path=environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""),
        headers={key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")},
    )


def _parse(data: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    value = json.loads(data.decode("utf-8"), parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # a lone surrogate is no text
    return value


def _wants_response(message: Mapping[str, Any]) -> bool:
    return type(message.get("id")) in (int, str) and ("method" in message or not message.keys() & {"result", "error"})


def _key(value: object) -> tuple[type, object]:
    """Tell 1 from "1", True and 1.0."""
    return type(value), value


# --- HTTP -----------------------------------------------------------------------------------------


def _check_head(exchange: Exchange, status: str, headers: list[tuple[str, str]]) -> None:
    """The rules of PEP 3333 for ``start_response``; what is right goes into the exchange."""
    if type(status) is not str or not re.fullmatch(r"[1-5][0-9]{2} [ -~]+", status):
        raise WireError(f"status {status!r}")
    if type(headers) is not list:
        raise WireError("the headers are no list")
    for name, value in headers:
        if type(name) is not str or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise WireError(f"header name {name!r}")
        if type(value) is not str or not re.fullmatch(r"[\t -~\x80-\xff]*", value) or value != value.strip():
            raise WireError(f"header {name}: {value!r}")
        if is_hop_by_hop(name):
            raise WireError(f"{name} is the server's business")
    names = [name.lower() for name, _ in headers]
    for name in ("content-type", "content-length", "mcp-session-id"):
        if names.count(name) > 1:
            raise WireError(f"{name} twice")
    exchange.status = int(status[:3])
    exchange.response_headers = headers


class _Judge:
    """Holds the answer to one request against the rules, whole or message by message."""

    def __init__(self, exchange: Exchange, sessions: dict[str, str], exchanges: list[Exchange]) -> None:
        self._exchange = exchange
        self._exchanges = exchanges
        self._sessions = sessions
        self._revisions = _revisions(exchange, sessions)
        # A stream that is resumed goes on with the answers to what was asked before.
        resumed = exchange.method == "GET" and "last-event-id" in exchange.headers
        asked = [*self._session_posts()] if resumed else [exchange]
        self._pending = {_key(request["id"]): request for one in asked for request in one.requests}
        self._progress = {token: float("-inf") for one in asked for token in _progress_tokens(one)}
        self._buffer = b""
        self._resumable = False
        if self._revisions == (MODERN,) and exchange.header("mcp-session-id") is not None:
            self._fail("the modern era has no sessions")

    def whole(self, data: bytes) -> None:
        """Judge an answer that is no stream."""
        exchange = self._exchange
        length = exchange.header("content-length")
        if exchange.method == "HEAD":
            if data:
                self._fail("a body in the answer to HEAD")
            return
        if length is not None and int(length) != len(data):
            self._fail(f"Content-Length {length} for {len(data)} bytes")
        if not data:
            self._empty()
            return
        if (exchange.header("content-type") or "").partition(";")[0] != "application/json":
            self._fail(f"Content-Type {exchange.header('content-type')!r}")
        answer = self._json(data)
        if isinstance(answer, list):
            self._batch(answer)
        else:
            self._response(answer)

    def open_stream(self) -> None:
        """Judge the head of a stream."""
        exchange = self._exchange
        if exchange.status != 200:
            self._fail("a stream is a 200")
        if exchange.header("x-accel-buffering") != "no":
            self._fail("X-Accel-Buffering: no is missing")
        if "no-store" not in (exchange.header("cache-control") or ""):
            self._fail("Cache-Control: no-store is missing")
        if exchange.header("content-length") is not None:
            self._fail("a stream has no Content-Length")

    def feed(self, chunk: bytes) -> None:
        """Judge the next bytes of a stream."""
        if type(chunk) is not bytes:
            self._fail(f"a chunk is bytes, not {type(chunk).__name__}")
        *events, self._buffer = re.split(rb"(?:\r?\n){2}", self._buffer + chunk)
        for event in events:
            self._event(event.decode("utf-8"))

    def end(self) -> None:
        """Judge that a stream may end here."""
        if self._buffer:
            self._fail(f"the stream ends inside an event: {self._buffer!r}")
        if self._exchange.method == "POST" and self._pending and not (self._resumable or self._is_cancelled()):
            self._fail(f"the stream ends without an answer to {list(self._pending.values())}")

    # The parts of an answer

    def _empty(self) -> None:
        exchange = self._exchange
        if exchange.status >= 400:
            self._fail("a refusal says why, in a JSON-RPC error")
        if exchange.requests and not self._is_cancelled():
            self._fail("a request got an empty answer")

    def _session_posts(self) -> Iterator[Exchange]:
        session = self._exchange.headers.get("mcp-session-id")
        for other in tuple(self._exchanges) if session is not None else ():
            if other.method == "POST" and other.headers.get("mcp-session-id") == session:
                yield other

    def _is_cancelled(self) -> bool:
        """Whether the client has cancelled a request that is not answered."""
        cancels = [_cancelled_id(other.body) for other in self._session_posts()]
        return any(key in cancels for key in self._pending)

    def _json(self, data: bytes) -> Any:
        try:
            return _parse(data)
        except ValueError as error:
            self._fail(f"no JSON in UTF-8: {error}")

    def _batch(self, answers: list[object]) -> None:
        if self._revisions != (_DEFAULT_LEGACY,) or not isinstance(self._exchange.body, list):
            self._fail("an array answers no batch")
        for answer in answers:
            self._response(answer)
        if self._pending:
            self._fail(f"no answer to {list(self._pending.values())}")

    def _event(self, event: str) -> None:
        # Not splitlines(): to an event stream U+2028 and its like are text.
        lines = [line for line in re.split(r"\r?\n", event) if line and not line.startswith(":")]
        fields = [(name, value.removeprefix(" ")) for name, _, value in (line.partition(":") for line in lines)]
        data = [value for name, value in fields if name == "data"]
        for name, value in fields:
            self._event_field(name, value)
        if len(data) > 1:
            self._fail("one message, one data line: some clients read no more")
        if data and data[0]:
            message = self._json(data[0].encode())
            if isinstance(message, list) and self._revisions != (_DEFAULT_LEGACY,):
                self._fail("an array: batches came with 2025-03-26 and went with it")
            for part in message if isinstance(message, list) else [message]:
                self._streamed(part)
        elif data and self._revisions != (_NEWEST_LEGACY,):
            self._fail("an event with empty data came with 2025-11-25 and went with it")

    def _event_field(self, name: str, value: str) -> None:
        if name == "id":
            self._resumable = True
            if MODERN in self._revisions:
                self._fail("the modern era has no event ids")
        elif name == "retry":
            if not value.isdigit():
                self._fail(f"retry: {value}")
        elif (name, value) != ("event", "message") and name != "data":
            self._fail(f"event field {name}: {value}")

    def _streamed(self, message: Any) -> None:
        if self._exchange.method == "POST" and not self._pending:
            self._fail(f"a message after the answer: {message}")
        if isinstance(message, dict) and "method" not in message:
            self._response(message)
            return
        self._check(message, None, ANY_ID)
        self._exchange.messages.append(message)
        params = message.get("params", {})
        if message["method"] == "notifications/progress":
            self._check_progress(params)
        elif message["method"] == "notifications/message":
            self._check_level(params)

    def _response(self, message: Any) -> None:
        if not isinstance(message, dict) or "method" in message:
            self._fail(f"not a response: {message!r}")
        request: Mapping[str, Any] = {}
        if "id" in message:
            request = self._pending.pop(_key(message["id"]), {})
            if not request:
                self._fail(f"an answer to no request: {message}")
        elif "error" not in message or not self._may_lack_id(message["error"].get("code")):
            self._fail(f"an answer without id: {message}")
        self._check(message, request.get("method"), request.get("id", ANY_ID))
        self._exchange.messages.append(message)
        if "result" in message and request.get("method") == "initialize":
            session = self._exchange.header("mcp-session-id")
            if session is not None:
                self._sessions[session] = message["result"]["protocolVersion"]

    def _may_lack_id(self, code: object) -> bool:
        """Whether there is no one id to echo: of a batch, a notification, or what could not be read."""
        exchange = self._exchange
        nothing_asked = exchange.method != "POST" or not self._pending
        return code in (-32700, -32600) or isinstance(exchange.body, list) or nothing_asked

    def _check(self, message: object, method: str | None, request_id: object) -> None:
        verdicts = {
            revision: list(faults(message, revision, request_method=method, request_id=request_id))
            for revision in self._judges(message, method)
        }
        if all(verdicts.values()):
            self._fail(f"{message!r} answering {method}: {verdicts}")

    def _judges(self, message: Any, method: str | None) -> tuple[str, ...]:
        """An ``initialize`` is answered in the revision that its result names."""
        if method == "initialize" and self._revisions != (MODERN,) and "result" in message:
            agreed = message["result"].get("protocolVersion")
            return (agreed,) if agreed in REVISIONS and agreed != MODERN else (_NEWEST_LEGACY,)
        return self._revisions

    def _check_progress(self, params: Mapping[str, Any]) -> None:
        token = _key(params["progressToken"])
        if token not in self._progress:
            self._fail(f"progress for a token that was not given: {params}")
        if params["progress"] <= self._progress[token]:
            self._fail(f"progress does not increase: {params}")
        self._progress[token] = params["progress"]

    def _check_level(self, params: Mapping[str, Any]) -> None:
        if self._revisions == (MODERN,):
            asked = _meta(self._exchange.requests[0]).get(_META + "logLevel")
            if asked not in _LEVELS or _LEVELS.index(params["level"]) < _LEVELS.index(asked):
                self._fail(f"a log message that was not asked for (level: {asked}): {params}")

    def _fail(self, text: str) -> Any:
        exchange = self._exchange
        raise WireError(f"{exchange.method} {exchange.path} -> {exchange.status}, {self._revisions}: {text}")


# --- which revision is spoken ---------------------------------------------------------------------


def _meta(message: Mapping[str, Any]) -> Mapping[str, Any]:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _cancelled_id(message: Any) -> tuple[type, object] | None:
    if not isinstance(message, dict) or message.get("method") != "notifications/cancelled":
        return None
    params = message.get("params")
    return _key(params.get("requestId")) if isinstance(params, dict) else None


def _progress_tokens(exchange: Exchange) -> Iterator[tuple[type, object]]:
    for request in exchange.requests:
        token = _meta(request).get("progressToken")
        if type(token) in (int, str):
            yield _key(token)


def _revisions(exchange: Exchange, sessions: Mapping[str, str]) -> tuple[str, ...]:
    """The revision an exchange is held in; several where the request names none that exists."""
    version = exchange.headers.get("mcp-protocol-version")
    session = exchange.headers.get("mcp-session-id")
    requests = exchange.requests
    if version == MODERN or any(_META + "protocolVersion" in _meta(request) for request in requests):
        return (MODERN,)
    # In a batch, initialize is refused, and the version header counts as for any other request.
    if not isinstance(exchange.body, list) and any(request.get("method") == "initialize" for request in requests):
        return (_NEWEST_LEGACY,)
    if session is not None and session in sessions:
        return (sessions[session],)
    if version is None:
        return (_DEFAULT_LEGACY,)
    return (version,) if version in REVISIONS else (MODERN, _NEWEST_LEGACY)
