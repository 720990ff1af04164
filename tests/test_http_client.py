"""One HTTP request of a client: the event parser, and both transports."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.validate import validator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.http_client import (
    Answer,
    BodyError,
    Event,
    EventParser,
    HTTPReply,
    HTTPTransport,
    Transport,
    WSGITransport,
    parse_json,
)

JSON = (("Content-Type", "application/json"),)

# --- the event parser -----------------------------------------------------------------------------

STREAMS: dict[str, tuple[bytes, list[Event]]] = {
    "LF": (b"data: a\n\n", [Event("a")]),
    "CRLF": (b"data: a\r\n\r\n", [Event("a")]),
    "CR": (b"data: a\r\r", [Event("a")]),
    "line ends mixed": (b"data: a\rdata: b\r\ndata: c\n\r\n", [Event("a\nb\nc")]),
    "a CR and an LF are one line end": (b"data: a\r\ndata: b\n\n", [Event("a\nb")]),
    "no space after the colon": (b"data:a\n\n", [Event("a")]),
    "only one space is taken away": (b"data:  a\n\n", [Event(" a")]),
    "a colon in the value": (b"data: a: b\n\n", [Event("a: b")]),
    "a field without a colon": (b"data\n\n", [Event("")]),
    "a comment": (b": keep-alive\n\ndata: a\n: again\n\n", [Event("a")]),
    "an unknown field": (b"other: x\ndata: a\n\n", [Event("a")]),
    "no data, no event": (b"event: ping\nid: 1\n\n", []),
    "a type holds for one event": (b"event: x\ndata: a\n\ndata: b\n\n", [Event("a", "x"), Event("b")]),
    "an id holds on": (b"id: 7\ndata: a\n\ndata: b\n\n", [Event("a", id="7"), Event("b", id="7")]),
    "an id with NUL is none": (b"id: a\0b\ndata: a\n\n", [Event("a")]),
    "retry": (b"retry: 250\ndata: a\n\n", [Event("a", retry=250)]),
    "retry that is no number": (b"retry: 1s\ndata: a\n\n", [Event("a")]),
    "retry in other digits": ("retry: ٣\ndata: a\n\n".encode(), [Event("a")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [Event("a")]),
    "a later one is none": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [Event("a")]),
    "an event cut off": (b"data: a\n\ndata: b\n", [Event("a")]),
    "UTF-8": ("data: \u00e9\u4e2d\U0001f600\n\n".encode(), [Event("\u00e9\u4e2d\U0001f600")]),
    "what is no UTF-8": (b"data: \xff\n\n", [Event("\ufffd")]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_events_are_read_whole_and_byte_by_byte(stream: str) -> None:
    data, expected = STREAMS[stream]
    assert EventParser().feed(data) == expected
    parser = EventParser()
    assert [event for byte in data for event in parser.feed(bytes([byte]))] == expected


@pytest.mark.parametrize("stream", STREAMS)
def test_events_are_read_in_two_pieces_cut_anywhere(stream: str) -> None:
    data, expected = STREAMS[stream]
    for cut in range(len(data) + 1):
        parser = EventParser()
        assert parser.feed(data[:cut]) + parser.feed(data[cut:]) == expected


LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8)


@given(
    st.lists(st.lists(LINES, min_size=1, max_size=4), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(LINES, max_size=3),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_any_data_survives_any_line_end_and_any_cut(
    events: list[list[str]], end: str, comments: list[str], cuts: list[int]
) -> None:
    noise = "".join(f": {comment}{end}" for comment in comments)
    blocks = [noise + "".join(f"data: {line}{end}" for line in lines) + end for lines in events]
    stream = "".join(blocks).encode()
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    parser = EventParser()
    pieces = [stream[start:stop] for start, stop in itertools.pairwise(edges)]
    assert [e.data for piece in pieces for e in parser.feed(piece)] == ["\n".join(lines) for lines in events]


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"-Infinity", b"{", b"", b"\xff", "{}".encode("utf-16")])
def test_what_is_no_json_in_utf8_is_refused(text: bytes) -> None:
    with pytest.raises(BodyError, match="not JSON"):
        parse_json(text)


def reply(content_type: str, body: bytes) -> HTTPReply:
    return HTTPReply(200, (("content-type", content_type),), body)


def test_messages_come_out_of_json_and_of_events_alike() -> None:
    assert reply("application/json; charset=utf-8", b'{"a": 1}').messages == [{"a": 1}]
    assert reply("application/json", b'[{"a": 1}, {"b": 2}]').messages == [{"a": 1}, {"b": 2}]
    assert reply("text/event-stream", b'data: {"a": 1}\n\ndata: [{"b": 2}]\n\n').messages == [{"a": 1}, {"b": 2}]


def test_events_without_data_and_of_other_types_carry_no_message() -> None:
    assert reply("Text/Event-Stream", b"id: 1\ndata:\n\nevent: endpoint\ndata: /x\n\ndata: 1\n\n").messages == [1]


def test_a_body_of_another_type_carries_no_message() -> None:
    with pytest.raises(BodyError, match="text/html"):
        _ = reply("text/html", b"<p>").messages
    assert reply("text/html", b"").messages == []


def test_a_reply_can_be_asked() -> None:
    seen = HTTPReply(405, (("Allow", "POST"), ("X", "1")), b'{"\xc3\xa9": 1}', "Method Not Allowed")
    assert seen.headers["allow"] == "POST"
    assert seen.headers["Missing"] is None
    assert seen.text == '{"\u00e9": 1}'
    assert seen.json == {"\u00e9": 1}
    assert seen.content_type == ""


def test_the_abstract_parts_do_nothing_by_themselves() -> None:
    with pytest.raises(NotImplementedError):
        Transport().open("GET", [])
    with pytest.raises(NotImplementedError):
        iter(Answer())
    with pytest.raises(NotImplementedError):
        Answer().close()


# --- into a WSGI application ----------------------------------------------------------------------


class Body:
    """A WSGI body that remembers whether it was closed."""

    def __init__(self, *chunks: bytes | Exception | Callable[[], bytes]) -> None:
        self._chunks = iter(chunks)
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk if isinstance(chunk, bytes) else chunk()

    def close(self) -> None:
        self.closed += 1


def answering(body: Iterable[bytes], status: str = "200 OK") -> Any:
    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response(status, [*JSON])
        return body

    return app


def test_the_application_sees_the_request() -> None:
    seen: dict[str, Any] = {}

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.update(environ, body=environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        start_response("201 Created", [*JSON])
        return [b"1"]

    transport = WSGITransport(validator(app), path="/a/b", environ={"SCRIPT_NAME": "/x"})
    fields = [("Content-Type", "application/json"), ("X-Y", "z"), ("Host", "h.example:81")]
    answer = transport.open("POST", fields, b'{"a": 1}')
    assert HTTPReply.read(answer) == HTTPReply(201, JSON, b"1", "Created")
    assert (seen["REQUEST_METHOD"], seen["SCRIPT_NAME"], seen["PATH_INFO"]) == ("POST", "/x", "/a/b")
    assert (seen["CONTENT_TYPE"], seen["HTTP_X_Y"], seen["HTTP_HOST"]) == ("application/json", "z", "h.example:81")
    assert (seen["REMOTE_ADDR"], seen["body"]) == ("127.0.0.1", b'{"a": 1}')


def test_a_request_may_lie_about_its_length() -> None:
    seen: dict[str, Any] = {}

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.update(environ)
        start_response("200 OK", [*JSON])
        return []

    HTTPReply.read(WSGITransport(app).open("POST", [("content-length", "99")], b"ab"))
    assert seen["CONTENT_LENGTH"] == "99"


def test_a_body_is_read_only_as_far_as_it_is_asked_for() -> None:
    body = Body(b"1", b"", RuntimeError("read too far"))
    answer = WSGITransport(answering(body)).open("GET", [])
    assert next(iter(answer)) == b"1"
    answer.close()
    answer.close()
    assert body.closed == 1
    assert list(answer) == []


@pytest.mark.parametrize("chunks", [(RuntimeError("boom"),), (b"1", RuntimeError("boom"))])
def test_a_body_that_fails_is_closed(chunks: tuple[bytes | Exception, ...]) -> None:
    body = Body(*chunks)
    with pytest.raises(RuntimeError, match="boom"):
        HTTPReply.read(WSGITransport(answering(body)).open("GET", []))
    assert body.closed == 1


def test_the_response_may_start_with_the_first_chunk() -> None:
    """PEP 3333, "The start_response() Callable"."""

    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        yield b""
        start_response("200 OK", [*JSON])
        yield b"1"

    assert HTTPReply.read(WSGITransport(app).open("GET", [])).body == b"1"


@pytest.mark.parametrize("chunks", [(), (b"1",), (b"", b"1")])
def test_a_body_without_a_start_is_refused_and_closed(chunks: tuple[bytes, ...]) -> None:
    body = Body(*chunks)
    with pytest.raises(RuntimeError, match="before it called start_response"):
        WSGITransport(lambda environ, start_response: body).open("GET", [])
    assert body.closed == 1


def test_what_is_written_comes_before_what_is_yielded() -> None:
    """PEP 3333, "The write() Callable"."""

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        write = start_response("200 OK", [*JSON])
        write(b"1")

        def second() -> bytes:
            write(b"2")
            return b"3"

        return Body(second, b"4", lambda: write(b"5") or b"")

    assert HTTPReply.read(WSGITransport(app).open("GET", [])).body == b"12345"


def restarting(*, after: tuple[bytes, ...], with_error: bool) -> Any:
    """An application that starts its response a second time, after it has yielded ``after``."""

    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [*JSON])
        yield from after
        error = ValueError("late")
        start_response("500 Oops", [*JSON], (ValueError, error, error.__traceback__) if with_error else None)
        yield b"sorry"

    return app


def test_a_failing_application_may_start_again_until_something_is_sent() -> None:
    """PEP 3333, "Error Handling"."""
    answer = WSGITransport(restarting(after=(b"",), with_error=True)).open("GET", [])
    assert list(answer) == [b"sorry"]
    assert answer.status == 500
    answer.close()
    with pytest.raises(ValueError, match="late"):
        HTTPReply.read(WSGITransport(restarting(after=(b"1",), with_error=True)).open("GET", []))
    with pytest.raises(RuntimeError, match="twice"):
        HTTPReply.read(WSGITransport(restarting(after=(b"",), with_error=False)).open("GET", []))


# --- over a socket --------------------------------------------------------------------------------


class Quiet(WSGIRequestHandler):
    def log_request(self, *args: object) -> None:
        pass


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """Serve ``app`` on a socket of this process; its URL without a path."""
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    length = int(environ["CONTENT_LENGTH"] or 0)
    body = environ["wsgi.input"].read(length)
    start_response("200 OK", [("X-Host", environ["HTTP_HOST"]), ("X-Query", environ["QUERY_STRING"])])
    return [environ["REQUEST_METHOD"].encode(), b" ", environ["PATH_INFO"].encode(), b" ", body]


def test_a_request_goes_over_the_network() -> None:
    with listening(echo) as url:
        answer = HTTPReply.read(HTTPTransport(f"{url}/a?b=c").open("POST", [], b"hello"))
        assert answer.body == b"POST /a hello"
        assert (answer.headers["x-host"], answer.headers["x-query"]) == (url.removeprefix("http://"), "b=c")
        bare = HTTPReply.read(HTTPTransport(url).open("DELETE", [("Host", "other.example")]))
        assert (bare.body, bare.headers["x-host"]) == (b"DELETE / ", "other.example")


def test_a_redirect_is_not_followed() -> None:
    with listening(answering([b""], "307 Temporary Redirect")) as url:
        assert HTTPTransport(url).open("GET", []).status == 307


def test_a_stream_is_read_while_it_is_written() -> None:
    more = threading.Event()

    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [*JSON])
        yield b"first"
        yield b"second" if more.wait(10) else b"late"

    with listening(app) as url:
        answer = HTTPTransport(url).open("GET", [])
        chunks = iter(answer)
        assert next(chunks) == b"first"
        more.set()
        assert list(chunks) == [b"second"]
        answer.close()


@contextmanager
def saying(data: bytes) -> Iterator[str]:
    """A server that says ``data`` to one connection, whatever is asked, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(data)

        thread = threading.Thread(target=once)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join()


BROKEN = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "too short": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    "no last chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_an_answer_that_is_none_or_breaks_off_is_a_connection_error(data: bytes) -> None:
    with saying(data) as url, pytest.raises(ConnectionError):
        HTTPReply.read(HTTPTransport(url).open("GET", []))


def test_a_server_that_does_not_listen_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        HTTPTransport(f"http://127.0.0.1:{port}/").open("GET", [])


@pytest.mark.parametrize("url", ["ftp://a/", "a.example/mcp", "http://", "http://a:70000/"])
def test_a_url_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|[Pp]ort"):
        HTTPTransport(url)


def test_https_is_spoken() -> None:
    """Against a server that speaks plain HTTP: the handshake fails, so there was one."""
    with saying(b"HTTP/1.1 200 OK\r\n\r\n") as url, pytest.raises(OSError, match=r"SSL|ssl"):
        HTTPTransport(url.replace("http:", "https:"), timeout=5).open("GET", [])
