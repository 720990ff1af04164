"""The judge of exchanges, on small applications that answer rightly and wrongly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.test import Client, TestResponse

from tests.recorder import Checked
from tests.wire import MODERN, WireError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

JSON = ("Content-Type", "application/json")
SSE = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store, no-transform"), ("X-Accel-Buffering", "no")]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}
REFUSAL = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "No."}}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "add",
        "_meta": {
            "progressToken": "p",
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/logLevel": "notice",
        },
    },
}
CALLED = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "resultType": "complete"}}


class Fixed:
    """A WSGI application that reads its input and gives a fixed answer."""

    def __init__(self, status: str, headers: list[tuple[str, str]], *chunks: bytes, read: bool = True) -> None:
        self.status = status
        self.headers = headers
        self.chunks = chunks
        self.read = read
        self.closed = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self.read:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(self.status, self.headers)
        return self

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)

    def close(self) -> None:
        self.closed += 1


def answering(message: object, status: str = "200 OK") -> Fixed:
    return Fixed(status, [JSON], json.dumps(message).encode())


def streaming(*messages: object, headers: list[tuple[str, str]] = SSE) -> Fixed:
    return Fixed("200 OK", headers, *(b"data: %s\n\n" % json.dumps(message).encode() for message in messages))


def post(app: WSGIApplication, body: object, **headers: str) -> TestResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Client(Checked(app)).post("/mcp", data=data, headers=named, buffered=True)


def refused(app: WSGIApplication, body: object, **headers: str) -> str:
    with pytest.raises(WireError) as caught:
        post(app, body, **headers)
    return str(caught.value)


def progress(value: float, token: object = "p") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": value}}


def log(level: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": level, "data": "x"}}


def test_a_right_answer_arrives_unchanged_and_is_kept() -> None:
    app = answering(PONG)
    checked = Checked(app)
    response = Client(checked).post("/mcp", data=json.dumps(PING))
    assert (response.status_code, response.json, app.closed) == (200, PONG, 1)
    (exchange,) = checked.exchanges
    assert (exchange.path, exchange.body, exchange.messages, exchange.status) == ("/mcp", PING, [PONG], 200)


def test_a_right_stream_arrives_chunk_by_chunk() -> None:
    app = streaming(progress(1), log("error"), progress(2), CALLED)
    response = Client(Checked(app)).post("/mcp", data=json.dumps(CALL), buffered=False)
    assert list(response.iter_encoded()) == list(app.chunks)
    response.close()
    assert app.closed == 1


def test_a_stream_may_be_cut_anywhere_and_hold_comments() -> None:
    result = {"content": [{"type": "text", "text": "\u2028"}], "resultType": "complete"}
    called = json.dumps(CALLED | {"result": result}, ensure_ascii=False)
    text = f": hello\r\n\r\ndata: {json.dumps(progress(1))}\r\n\r\ndata: {called}\r\n\r\n".encode()
    for cut in range(1, len(text)):
        app = Fixed("200 OK", SSE, text[:cut], text[cut:])
        assert post(app, CALL).status_code == 200


def test_an_application_may_start_its_response_with_the_first_chunk() -> None:
    def late(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
        environ["wsgi.input"].read()
        start_response("200 OK", [JSON])
        yield json.dumps(PONG).encode()

    assert post(late, PING).json == PONG


@pytest.mark.parametrize(
    ("app", "why"),
    [
        (answering(PONG | {"id": "1"}), "answer to no request"),
        (answering(PONG | {"id": 2}), "answer to no request"),
        (answering([PONG]), "answers no batch"),
        (answering(PING), "not a response"),
        (answering({"jsonrpc": "2.0", "result": {}}), "without id"),
        (answering(PONG | {"result": {"x": 1}}), "unknown field"),
        (Fixed("202 Accepted", []), "empty answer"),
        (Fixed("200 OK", [JSON], b"{"), "no JSON"),
        (Fixed("200 OK", [JSON], b'{"jsonrpc": "2.0", "id": 1, "result": NaN}'), "NaN"),
        (Fixed("200 OK", [JSON], b"\xff"), "no JSON"),
        (Fixed("200 OK", [("Content-Type", "text/html")], b"hello"), "Content-Type"),
        (Fixed("200 OK", [JSON, ("Content-Length", "3")], json.dumps(PONG).encode()), "Content-Length"),
        (Fixed("404 Not Found", []), "says why"),
        (streaming(), "ends without an answer"),
        (streaming(PONG, log("info")), "after the answer"),
        (streaming(PONG, PONG), "after the answer"),
        (streaming(PONG, REFUSAL), "after the answer"),
        (streaming(PONG, REFUSAL | {"error": {"code": -32603, "message": "No."}}), "after the answer"),
        (streaming(progress(1), PONG), "not given"),
    ],
)
def test_a_wrong_answer_to_a_request_is_refused(app: Fixed, why: str) -> None:
    assert why in refused(app, PING, MCP_Protocol_Version="2025-11-25")
    assert app.closed == 1


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([progress(1), progress(1), CALLED], "not increase"),
        ([progress(1, "q"), CALLED], "not given"),
        ([log("info"), CALLED], "not asked for"),
        ([{"jsonrpc": "2.0", "id": 9, "method": "ping"}, CALLED], "sends no request"),
        ([CALLED, CALLED], "after the answer"),
        ([[CALLED]], "array"),
    ],
)
def test_a_modern_stream_has_only_what_was_asked_for(messages: list[object], why: str) -> None:
    """S26-PROG-01, S26-PROG-03, S26-LOG-02, S26-HTTP-08."""
    assert why in refused(streaming(*messages), CALL)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (b"id: 1\ndata: {}\n\n", "event ids"),
        (b"event: ping\ndata: {}\n\n", "event field"),
        (b"retry: soon\n\n", "retry"),
        (b"data: {\ndata: }\n\n", "one data line"),
        (b"data:\n\n", "empty data"),
        (b"data: {}", "inside an event"),
    ],
)
def test_a_wrong_event_is_refused(event: bytes, why: str) -> None:
    """S26-HTTP-12."""
    assert why in refused(Fixed("200 OK", SSE, event), CALL)


def test_a_primed_stream_may_end_early_in_2025_11_25_only() -> None:
    """T25-HTTP-14, T25-HTTP-15."""
    app = Fixed("200 OK", SSE, b"id: 1\nretry: 500\ndata:\n\n")
    assert post(app, PING, MCP_Protocol_Version="2025-11-25").status_code == 200
    assert "empty data" in refused(app, PING, MCP_Protocol_Version="2025-06-18")


@pytest.mark.parametrize("dropped", SSE[1:])
def test_a_stream_has_its_headers(dropped: tuple[str, str]) -> None:
    """S26-HTTP-10."""
    headers = [header for header in SSE if header != dropped]
    assert dropped[0] in refused(streaming(CALLED, headers=headers), CALL)
    assert "Content-Length" in refused(streaming(CALLED, headers=[*SSE, ("Content-Length", "9")]), CALL)
    assert "200" in refused(Fixed("400 Bad Request", SSE), CALL)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        ("200", [JSON]),
        ("200 OK", [JSON, JSON]),
        ("200 OK", [JSON, ("Connection", "close")]),
        ("200 OK", [JSON, ("X Y", "z")]),
        ("200 OK", [JSON, ("X-Y", "a\nb")]),
        ("200 OK", [JSON, ("X-Y", "\u20ac")]),
        ("200 OK", [JSON, ("X-Y", 3)]),
        ("200 OK", (JSON,)),
        (200, [JSON]),
    ],
)
def test_status_and_headers_keep_pep_3333(status: Any, headers: Any) -> None:
    app = Fixed(status, headers, json.dumps(PONG).encode())
    assert refused(app, PING) != ""
    assert app.closed == 1


def test_write_is_refused() -> None:
    def old(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [JSON])(b"{}")
        return []

    assert "write()" in refused(old, PING)


def test_a_stream_yields_bytes() -> None:
    assert "bytes" in refused(Fixed("200 OK", SSE, "data: {}\n\n"), CALL)  # type: ignore[arg-type]


def test_notifications_and_responses_are_accepted_with_nothing() -> None:
    """T25-HTTP-05."""
    accepted = Fixed("202 Accepted", [])
    for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, PONG):
        assert post(accepted, body).status_code == 202
        assert "answer to no request" in refused(answering(PONG), body)


def test_a_body_may_be_read_line_by_line() -> None:
    def by_line(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        lines = [environ["wsgi.input"].readline(), *environ["wsgi.input"]]
        assert b"".join(lines) == json.dumps(PING, indent=1).encode()
        return answering(PONG)(environ, start_response)

    assert post(by_line, json.dumps(PING, indent=1).encode()).json == PONG


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b'{"id": 1, "method": NaN}', b'{"id": "\\ud800"}'])
def test_what_cannot_be_read_gets_an_error_without_id(body: bytes) -> None:
    assert post(answering(REFUSAL, "400 Bad Request"), body).status_code == 400
    assert "to no request" in refused(answering(REFUSAL | {"id": 1}, "400 Bad Request"), body)


def test_what_was_not_read_gets_an_error_without_id() -> None:
    app = Fixed("401 Unauthorized", [JSON], json.dumps(REFUSAL).encode(), read=False)
    assert post(app, PING).status_code == 401


def test_other_errors_carry_the_id() -> None:
    """S26-BASE-06."""
    error = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "No."}}
    assert "without id" in refused(answering(error), PING)
    assert post(answering(error | {"id": 1}), PING).status_code == 200


def test_an_error_without_id_answers_what_wants_no_response() -> None:
    error = {"jsonrpc": "2.0", "error": {"code": -32603, "message": "No."}}
    for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, [PING]):
        assert post(answering(error, "400 Bad Request"), body).status_code == 400


def test_an_initialize_in_a_batch_agrees_on_nothing() -> None:
    """T25-BASE-08."""
    batch = [PING | {"method": "initialize", "params": {"protocolVersion": "2025-11-25"}}]
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "No."}}
    assert post(answering([error]), batch).status_code == 200
    assert "answers no batch" in refused(answering([error]), batch, MCP_Protocol_Version="2025-11-25")


def test_a_batch_is_answered_by_an_array_with_each_id() -> None:
    """T25-BASE-06."""
    batch = [PING, PING | {"id": "1"}, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    both = [PONG | {"id": "1"}, PONG]
    assert post(answering(both), batch).status_code == 200
    assert post(answering(REFUSAL, "400 Bad Request"), batch).status_code == 400
    assert "no answer to" in refused(answering([PONG]), batch)
    assert "no answer to" in refused(answering([PONG, REFUSAL]), batch)
    assert "answers no batch" in refused(answering(both), batch, MCP_Protocol_Version="2025-06-18")
    assert post(streaming(*both), batch).status_code == 200


def test_initialize_is_judged_in_the_revision_agreed_on() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1"}}
    result: dict[str, Any] = {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "serverInfo": {"name": "n", "version": "1"},
    }
    assert post(answering({"jsonrpc": "2.0", "id": 1, "result": result}), request).status_code == 200
    result["serverInfo"]["title"] = "N"
    assert "no such field" in refused(answering({"jsonrpc": "2.0", "id": 1, "result": result}), request)
    result["protocolVersion"] = MODERN
    assert "protocolVersion" in refused(answering({"jsonrpc": "2.0", "id": 1, "result": result}), request)


def test_a_session_remembers_its_revision() -> None:
    """T25-HTTP-19."""
    result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}
    answers = iter(
        [{"jsonrpc": "2.0", "id": 1, "result": result}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": [_TITLED]}}]
    )

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["wsgi.input"].read()
        start_response("200 OK", [JSON, ("Mcp-Session-Id", "s1")])
        return [json.dumps(next(answers)).encode()]

    client = Client(Checked(app))
    client.post("/mcp", data=json.dumps(PING | {"method": "initialize", "params": {"protocolVersion": "2025-06-18"}}))
    listed = client.post("/mcp", data=json.dumps(PING | {"method": "tools/list"}), headers={"Mcp-Session-Id": "s1"})
    assert listed.status_code == 200


def test_the_modern_era_mints_no_session() -> None:
    """S26-HTTP-37."""
    app = Fixed("200 OK", [JSON, ("Mcp-Session-Id", "s1")], json.dumps(CALLED).encode())
    assert "no sessions" in refused(app, CALL)


def test_a_request_that_names_no_known_revision_may_be_judged_by_either_era() -> None:
    for code in (-32022, -32600):
        data = {"supported": [MODERN], "requested": "1999-01-01"}
        message = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "No.", "data": data}}
        assert post(answering(message, "400 Bad Request"), PING, MCP_Protocol_Version="1999-01-01").status_code == 400
        if code == -32022:
            assert "reserved" in refused(answering(message), PING, MCP_Protocol_Version="2025-06-18")


def test_head_has_no_body() -> None:
    app = Fixed("405 Method Not Allowed", [JSON, ("Content-Length", "9")])
    assert Client(Checked(app)).head("/mcp").status_code == 405
    with pytest.raises(WireError, match="HEAD"):
        Client(Checked(answering(REFUSAL, "405 Method Not Allowed"))).head("/mcp")


_TITLED = {"name": "add", "title": "Add", "inputSchema": {"type": "object"}}
