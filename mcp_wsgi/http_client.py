"""One HTTP request of a client and its answer: into a WSGI application, or over a socket.

Both ways look the same from above (``Transport.open`` gives an ``Answer``), so whatever speaks the
protocol on top of them speaks it in a unit test and over the network alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn
from wsgiref.headers import Headers

import msgspec

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

__all__ = [
    "Answer",
    "BodyError",
    "Event",
    "EventParser",
    "HTTPReply",
    "HTTPTransport",
    "Transport",
    "WSGIApplication",
    "WSGITransport",
    "parse_json",
]

Fields = Sequence[tuple[str, str]]
Environ = dict[str, Any]
ExcInfo = tuple[type[BaseException], BaseException, TracebackType]
WSGIApplication = Callable[..., Iterable[bytes]]


# --- server-sent events ---------------------------------------------------------------------------


class Event(msgspec.Struct, frozen=True):
    """One server-sent event.

    Attributes:
        data: Its data lines, joined by newlines.
        event: Its type.
        id: The last event id seen so far; ``None`` before the first.
        retry: Milliseconds to wait before reconnecting, if the event said so.
    """

    data: str
    event: str = "message"
    id: str | None = None
    retry: int | None = None


class EventParser:
    """Turns the bytes of a ``text/event-stream`` into events, however they are cut into pieces.

    Source: HTML Living Standard, 9.2.6 "Interpreting an event stream".
    """

    _LINE_END = re.compile(rb"\r\n|\n|\r")

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._at_start = True
        self._data: list[str] = []
        self._event = ""
        self._id: str | None = None
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; return the events that they complete."""
        if not chunk:
            return []
        # A CR ends its line at once; an LF that follows in the next piece belongs to it.
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        *lines, self._rest = self._LINE_END.split(self._rest + chunk)
        events = (self._line(line) for line in lines)
        return [event for event in events if event is not None]

    def _line(self, line: bytes) -> Event | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        self._field(name, value.removeprefix(" "))
        return None

    def _field(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value)

    def _dispatch(self) -> Event | None:
        data, self._data = self._data, []
        kind, self._event = self._event, ""
        retry, self._retry = self._retry, None
        return Event("\n".join(data), kind or "message", self._id, retry) if data else None


# --- answers --------------------------------------------------------------------------------------


class BodyError(ValueError):
    """The body of an answer is not what it should be."""


class _Fields:
    """What an answer's header fields say."""

    fields: Fields

    @property
    def headers(self) -> Headers:
        """The header fields; names are compared without case, a missing one is ``None``."""
        return Headers(list(self.fields))

    @property
    def content_type(self) -> str:
        """The media type of the body, in lower case and without parameters."""
        return (self.headers["Content-Type"] or "").partition(";")[0].strip().lower()


class Answer(_Fields):
    """An HTTP answer whose body arrives in pieces.

    Attributes:
        status: The HTTP status code.
        reason: The words beside it; may be empty.
        fields: The header fields, in order.
        read_to_end: Whether to read on after the response, rather than close at once.
    """

    status: int
    reason: str
    fields: Fields
    read_to_end: bool = False

    def __iter__(self) -> Iterator[bytes]:
        """The pieces of the body as they come; empty ones are left out."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the answer, read to its end or not; a second time does nothing."""
        raise NotImplementedError

    def messages(self) -> Iterator[Any]:
        """The JSON values in the body as they come, out of JSON or of events; a batch one by one.

        Raises:
            BodyError: The body is of another kind, or no JSON.
        """
        if self.content_type == "text/event-stream":
            parser = EventParser()
            events = (event for chunk in self for event in parser.feed(chunk))
            # 2025-11-25 opens a stream by an event without data, only for its id.
            texts: Iterable[str | bytes] = (e.data for e in events if e.data and e.event == "message")
        elif self.content_type == "application/json":
            texts = (b"".join(self) for _ in range(1))
        else:
            raise BodyError(f"the answer is neither JSON nor an event stream but {self.content_type or 'untyped'!r}")
        for text in texts:
            value = parse_json(text)
            yield from value if isinstance(value, list) else [value]


class HTTPReply(msgspec.Struct, _Fields, frozen=True):
    """An HTTP answer, read to its end.

    Attributes:
        status: The HTTP status code.
        fields: The header fields, in order.
        body: The body.
        reason: The words beside the status; may be empty.
    """

    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes
    reason: str = ""

    @classmethod
    def read(cls, answer: Answer) -> HTTPReply:
        """Read an answer to its end and close it."""
        try:
            return cls(answer.status, tuple(answer.fields), b"".join(answer), answer.reason)
        finally:
            answer.close()

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        """The body as JSON; raises ``BodyError`` if it is none."""
        return parse_json(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages in the body, out of JSON or of events; none in an empty body."""
        return list(_Read(self).messages()) if self.body else []


class _Read(Answer):
    def __init__(self, reply: HTTPReply) -> None:
        self.status, self.reason, self.fields = reply.status, reply.reason, reply.fields
        self._body = reply.body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body


def parse_json(text: str | bytes) -> Any:
    """Read JSON in UTF-8 as RFC 8259 has it.

    Raises:
        BodyError: It is none; ``NaN`` and ``Infinity`` are not JSON either.
    """
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8"), parse_constant=_no_constant)
    except ValueError as problem:
        raise BodyError(f"not JSON: {problem}") from problem


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# --- transports -----------------------------------------------------------------------------------


class Transport:
    """A way to send one HTTP request to one endpoint."""

    def open(self, method: str, fields: Fields, body: bytes | None = None) -> Answer:
        """Send a request; return as soon as the status is known.

        Args:
            method: The HTTP method.
            fields: Header fields; ``Host`` and ``Content-Length`` are added unless given.
            body: The body; ``None`` for none.
        """
        raise NotImplementedError


class WSGITransport(Transport):
    """Calls a WSGI application in this process, as a server would.

    Args:
        app: The application.
        path: Path of the endpoint.
        environ: Entries that replace those of the request's ``environ``; default: none.

    Source: PEP 3333.
    """

    def __init__(self, app: WSGIApplication, *, path: str = "/mcp", environ: Mapping[str, Any] | None = None) -> None:
        self.app = app
        self.path = path
        self.environ = dict(environ or {})

    def open(self, method: str, fields: Fields, body: bytes | None = None) -> Answer:
        """Call the application; what it raises is raised here."""
        from werkzeug.datastructures import Headers as WerkzeugHeaders
        from werkzeug.test import EnvironBuilder

        builder = EnvironBuilder(
            path=self.path,
            method=method,
            headers=WerkzeugHeaders(list(fields)),
            data=body,
            environ_base={"REMOTE_ADDR": "127.0.0.1"},
            multithread=True,
        )
        try:
            environ = builder.get_environ()
        finally:
            builder.close()
        # The builder counts the body itself; a test may want to lie about it.
        length = Headers(list(fields))["Content-Length"]
        if length is not None:
            environ["CONTENT_LENGTH"] = length
        return _WSGIAnswer(self.app, {**environ, **self.environ})


class _WSGIAnswer(Answer):
    # A server runs the iterable to its end: stopping early would look like a disconnect.
    read_to_end = True

    def __init__(self, app: WSGIApplication, environ: Environ) -> None:
        self._started = False
        self._sent = False
        self._ready: list[bytes] = []
        self._chunks: Iterator[bytes] = iter(())
        self._iterable: Any = app(environ, self._start_response)
        try:
            self._chunks = iter(self._iterable)
            while not self._started:
                self._pull()
        except BaseException:
            self.close()
            raise

    def _pull(self) -> None:
        chunk = next(self._chunks, None)
        if not self._started and chunk != b"":
            raise RuntimeError("the application answered before it called start_response")
        if chunk is not None:
            self._ready.append(chunk)

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
    ) -> Callable[[bytes], object]:
        if exc_info is not None and self._sent:
            raise exc_info[1].with_traceback(exc_info[2])
        if exc_info is None and self._started:
            raise RuntimeError("the application called start_response twice")
        code, _, self.reason = status.partition(" ")
        self.status, self.fields, self._started = int(code), list(headers), True
        return self._write

    def _write(self, data: bytes) -> None:
        self._sent = True
        self._ready.append(data)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            if not self._ready:
                self._pull()
            if not self._ready:
                return
            chunk = self._ready.pop(0)
            if chunk:
                self._sent = True
                yield chunk

    def close(self) -> None:
        iterable, self._iterable = self._iterable, None
        self._chunks = iter(())
        self._ready.clear()
        if hasattr(iterable, "close"):
            iterable.close()


class HTTPTransport(Transport):
    """Sends requests over the network, each on a connection of its own; follows no redirect.

    Args:
        url: The endpoint, ``http`` or ``https``.
        timeout: Seconds of silence after which the request fails.

    Raises:
        ValueError: The URL is of another kind.
    """

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http or https URL: {url}")
        self.url = url
        self.timeout = timeout
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def open(self, method: str, fields: Fields, body: bytes | None = None) -> Answer:
        """Send a request; raises ``OSError`` if the server cannot be reached or understood."""
        from http.client import HTTPException

        connection = self._connection()
        given = Headers(list(fields))
        try:
            connection.putrequest(method, self._target, skip_host="Host" in given)
            for name, value in fields:
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return _HTTPAnswer(connection, connection.getresponse())
        except HTTPException as error:
            connection.close()
            raise ConnectionError(f"no HTTP answer: {error!r}") from error
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self._secure else HTTPConnection
        return kind(self._host, self._port, timeout=self.timeout)


class _HTTPAnswer(Answer):
    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status, self.reason, self.fields = response.status, response.reason, response.getheaders()

    def __iter__(self) -> Iterator[bytes]:
        from http.client import HTTPException, IncompleteRead

        try:
            while chunk := self._response.read1(65536):
                yield chunk
            # Of a body with a Content-Length that breaks off, read1 says nothing.
            if self._response.length:
                raise IncompleteRead(b"", self._response.length)
        except HTTPException as error:
            raise ConnectionError(f"the HTTP answer breaks off: {error!r}") from error

    def close(self) -> None:
        self._response.close()
        self._connection.close()
