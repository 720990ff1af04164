"""The WSGI application: environ in, status, headers and body out; nothing escapes."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from wsgiref.validate import validator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Context, Forbidden, Handler, MCPApp, MCPServer, Tool, Unauthorized
from mcp_wsgi.errors import BodyTooLarge, ConfigurationError, MCPError
from mcp_wsgi.http_client import WSGIApplication
from mcp_wsgi.results import Listing
from mcp_wsgi.testing import Client
from mcp_wsgi.wsgi.app import EnvironHeaders
from mcp_wsgi.wsgi.http import HttpRequest
from tests.spec.kit import everything, unjudged
from tests.wsgi.raw import PING, body_of, environ_of, raw

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}}
CHAT = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "chat", "_meta": {"progressToken": 1}}}
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def site(**options: Any) -> MCPApp:
    return MCPApp(everything(), **{"workers": "inline", **options})


# --- PEP 3333 -------------------------------------------------------------------------------------

KINDS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "json": (CALL, {}, 200),
    "inline": (PING, {}, 200),
    "stream": (CHAT, {}, 200),
    "stream of one": (CALL, {"HTTP_ACCEPT": "text/event-stream"}, 200),
    "notification": (NOTE, {}, 202),
    "preflight": (b"", {"REQUEST_METHOD": "OPTIONS", "HTTP_ORIGIN": "http://localhost"}, 204),
    "not json": (b"{", {}, 400),
    "no path": (CALL, {"PATH_INFO": "/other"}, 404),
    "get": (b"", {"REQUEST_METHOD": "GET"}, 405),
    "head": (b"", {"REQUEST_METHOD": "HEAD"}, 405),
    "accept": (CALL, {"HTTP_ACCEPT": "text/html"}, 406),
    "too large": (b" " * 2048, {}, 413),
    "type": (CALL, {"CONTENT_TYPE": "text/plain"}, 415),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_keeps_the_rules_of_wsgi(kind: str) -> None:
    """W-04: by the standard library's validator; status and headers come once, before the body."""
    body, entries, status = KINDS[kind]
    got = raw(validator(site(max_body=1024)), body, **{"QUERY_STRING": "", **entries})
    assert got.status == status


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_request_gets_no_body(kind: str) -> None:
    body, entries, _ = KINDS[kind]
    got = raw(site(max_body=1024), body, **{**entries, "REQUEST_METHOD": "HEAD"})
    assert got.body == b""
    assert got.status in (404, 405)


def test_an_answer_has_its_length_unless_it_is_a_stream() -> None:
    for body, entries, status in KINDS.values():
        got = raw(site(max_body=1024), body, **entries)
        if got.headers.get("Content-Type") == "text/event-stream" or status == 204:
            assert "Content-Length" not in got.headers
        elif entries.get("REQUEST_METHOD") != "HEAD":
            assert int(got.headers["Content-Length"]) == len(got.body)


def test_a_stream_that_cannot_begin_is_closed() -> None:
    """The callback of a stream that no server will read or close is told to stop."""
    mcp, ended = MCPServer("stream"), []

    @mcp.tool
    def work(ctx: Context) -> str:
        try:
            for step in range(5):
                ctx.report_progress(step)
        finally:
            ended.append(ctx.cancelled)
        return "done"

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
        raise ConnectionError

    meta = {
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work", "_meta": meta}}
    headers = {"HTTP_MCP_METHOD": "tools/call", "HTTP_MCP_NAME": "work", "HTTP_MCP_PROTOCOL_VERSION": "2026-07-28"}
    app = unjudged(mcp)
    with pytest.raises(ConnectionError):
        app(environ_of(message, **headers), start_response)
    with pytest.raises(ConnectionError):
        app(environ_of(PING), start_response)
    assert ended == [True]


# --- the URL --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script_name", "path", "status"),
    [
        ("", "/mcp", 200),
        ("", "/mcp/", 200),
        ("", "/", 200),
        ("", None, 200),
        (None, "/mcp", 200),
        ("/site", "/mcp", 200),
        ("/site/mcp", "", 200),
        ("/site/mcp", "/", 200),
        ("/mcp", "/mcp", 200),
        ("", "/site/mcp", 404),
        ("", "/mcp/mcp", 404),
    ],
)
def test_the_endpoint_is_found_below_any_mount(script_name: str | None, path: str | None, status: int) -> None:
    assert raw(site(), SCRIPT_NAME=script_name, PATH_INFO=path).status == status


# --- the ladder -----------------------------------------------------------------------------------

#: What is wrong with a request, in the order in which it is found; each is put right in turn.
LADDER: list[tuple[dict[str, Any], int, int | None]] = [
    ({"PATH_INFO": "/other"}, 404, -32600),
    ({"HTTP_HOST": "evil.example"}, 403, -32600),
    ({"HTTP_ORIGIN": "https://evil.example"}, 403, -32600),
    ({"REMOTE_ADDR": "10.0.0.1"}, 403, -32600),
    ({"HTTP_AUTHORIZATION": "Bearer wrong"}, 401, -32600),
    ({"REQUEST_METHOD": "PUT"}, 405, -32600),
    ({"CONTENT_TYPE": "text/plain"}, 415, -32600),
    ({"CONTENT_LENGTH": "4096"}, 413, -32600),
    ({"wsgi.input": io.BytesIO(b"{" + b" " * 200)}, 400, -32700),
    ({"HTTP_ACCEPT": "text/html"}, 406, -32600),
    ({"HTTP_MCP_PROTOCOL_VERSION": "\x00"}, 400, -32020),
    ({"HTTP_MCP_PROTOCOL_VERSION": "2020-01-01"}, 400, -32022),
]


def token(request: HttpRequest) -> Any:
    if request.headers.get("Authorization") != "Bearer right":
        raise Unauthorized(challenge='Bearer realm="test"')
    return SimpleNamespace(id="me")


def guarded() -> MCPApp:
    options = {"hosts": ["localhost"], "allow_remote_access": False, "auth": token, "max_body": 1024}
    return site(**options)


@pytest.mark.parametrize("rung", range(len(LADDER)))
def test_the_first_fault_of_a_request_decides_the_answer(rung: int) -> None:
    """S26-AUTH-14, W-08: by path, host, origin, peer, credentials, method, type, length, JSON, Accept, version."""
    wrong: dict[str, Any] = {"HTTP_AUTHORIZATION": "Bearer right"}
    for entries, _, _ in reversed(LADDER[rung:]):
        wrong.update(entries)
    got = raw(guarded(), **{name.replace(".", "__"): value for name, value in wrong.items()})
    assert (got.status, got.code) == LADDER[rung][1:]


def test_without_a_fault_it_is_served() -> None:
    assert raw(guarded(), HTTP_AUTHORIZATION="Bearer right").status == 200


HUGE = "x\n" * 50_000


def careless() -> MCPServer:
    mcp = MCPServer("careless")

    @mcp.tool
    def fail() -> str:
        raise RuntimeError("secret")

    @mcp.tool(input_schema={"type": "object", "properties": {"a": {}}})
    def open_ended(a: str = "") -> str:
        return a

    @mcp.prompt
    def greet(name: str = "") -> str:
        raise RuntimeError("secret")

    @mcp.resource("note://{name}")
    def note(name: str) -> str:
        raise RuntimeError("secret")

    return mcp


class Anything(Handler):
    def find_tool(self, name: str, ctx: Context) -> Tool | None:
        return Tool(name="anything")

    def call_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
        raise RuntimeError("secret")


WORDY: dict[str, tuple[str, dict[str, Any]]] = {
    "tool": ("tools/call", {"name": "fail"}),
    "prompt": ("prompts/get", {"name": "greet"}),
    "resource": ("resources/read", {"uri": "note://x"}),
    "no method": (HUGE, {}),
    "no tool": ("tools/call", {"name": HUGE}),
    "no prompt": ("prompts/get", {"name": HUGE}),
    "no argument": ("tools/call", {"name": "open_ended", "arguments": {HUGE: 1}}),
    "no arguments": ("tools/call", {"name": "open_ended", "arguments": {f"{n}{'x' * 50}": 1 for n in range(5000)}}),
    "no text": ("prompts/get", {"name": "greet", "arguments": {HUGE: 1}}),
    "no template": ("completion/complete", {"ref": {"type": "ref/resource", "uri": HUGE}, "argument": {}}),
    "no completion": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": HUGE, "value": ""}},
    ),
    "no cursor": ("tools/list", {"cursor": HUGE}),
    "no level": ("logging/setLevel", {"level": HUGE}),
}


@pytest.mark.parametrize("make", [careless, Anything])
@pytest.mark.parametrize("wordy", WORDY)
def test_what_a_client_writes_is_shown_in_part_and_breaks_no_line(
    wordy: str, make: Callable[[], Handler], caplog: pytest.LogCaptureFixture
) -> None:
    """The id in the response stays whole."""
    caplog.set_level(logging.DEBUG, "mcp_wsgi")
    method, params = WORDY[wordy]
    message = {"jsonrpc": "2.0", "id": HUGE, "method": method, "params": params}
    got = raw(MCPApp(make(), workers="inline"), message, HTTP_MCP_PROTOCOL_VERSION="2025-11-25")
    answer = json.loads(got.body)
    assert answer.pop("id") == HUGE
    assert len(json.dumps(answer)) < 3000
    for record in caplog.records:
        assert len(record.getMessage()) < 1000
        assert "\n" not in record.getMessage()


def test_the_id_of_a_late_call_is_shown_in_part(caplog: pytest.LogCaptureFixture) -> None:
    over = threading.Event()
    mcp = MCPServer("late")

    @mcp.tool
    def wait() -> str:
        over.wait(10)
        return "x"

    message = {"jsonrpc": "2.0", "id": HUGE, "method": "tools/call", "params": {"name": "wait"}}
    try:
        got = raw(MCPApp(mcp, workers="threads", request_timeout=0.05), message)
    finally:
        over.set()
    answer = json.loads(got.body)
    assert answer["id"] == HUGE
    assert len(answer["error"]["message"]) < 500
    assert [len(record.getMessage()) < 500 for record in caplog.records] == [True]


@pytest.mark.parametrize("entry", ["PATH_INFO", "HTTP_MCP_PROTOCOL_VERSION", "HTTP_MCP_SESSION_ID", "REQUEST_METHOD"])
def test_headers_and_paths_are_shown_in_part(entry: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_wsgi")

    def auth(request: HttpRequest) -> Any:
        raise Forbidden(f"Forbidden: {request.path} {dict(request.headers.items())}")

    for app in (MCPApp(careless(), workers="inline"), MCPApp(careless(), workers="inline", auth=auth)):
        raw(app, PING, **{entry: "/x" * 50_000})
    assert caplog.records
    assert max(len(record.getMessage()) for record in caplog.records) < 1000


DEEP = MCPServer("deep")


@DEEP.tool
def keep(ctx: Context, value: Any) -> Any:
    ctx.info(value)
    ctx.state["value"] = value
    return {"value": value}


def test_the_deepest_body_that_may_be_allowed_fails_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """Where the server, a framework and its middleware have used much of the stack before."""
    client = Client(MCPApp(DEEP, workers="inline", sessions=True, max_depth=256), revision="2025-11-25")
    value: Any = None
    for _ in range(252):
        value = [value]

    def call(frames: int) -> Any:
        return call(frames - 1) if frames else client.call_tool("keep", value=value)

    assert call(200).structured == {"value": value}
    assert not caplog.records


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PUT", "HEAD"])
def test_credentials_are_asked_for_on_every_method_and_each_time(method: str) -> None:
    """S26-AUTH-14: each request is authorized by itself, and refused with the challenge that it needs."""
    app = guarded()
    assert raw(app, HTTP_AUTHORIZATION="Bearer right").status == 200
    got = raw(app, REQUEST_METHOD=method)
    assert (got.status, got.headers["WWW-Authenticate"]) == (401, 'Bearer realm="test"')


def test_a_body_is_not_read_before_its_sender_is_known() -> None:
    """W-08, S26-AUTH-14: a stranger cannot make the server read anything."""

    class Unreadable:
        def read(self, size: int) -> bytes:
            raise AssertionError("read")

    assert raw(guarded(), wsgi__input=Unreadable()).status == 401


# --- bodies ---------------------------------------------------------------------------------------


class Trickle:
    """An input that gives one byte at a time, and what it has to."""

    def __init__(self, data: bytes, error: BaseException | None = None) -> None:
        self.data = io.BytesIO(data)
        self.error = error

    def read(self, size: int) -> bytes:
        chunk = self.data.read(min(size, 1))
        if not chunk and self.error is not None:
            raise self.error
        return chunk


class InvalidChunkSize(Exception):
    pass


BODY = body_of(PING)
BODIES: dict[str, tuple[dict[str, Any], int, int | None]] = {
    "as declared": ({}, 200, None),
    "longer than declared": ({"wsgi.input": io.BytesIO(BODY + b"garbage")}, 200, None),
    "in small pieces": ({"wsgi.input": Trickle(BODY)}, 200, None),
    "shorter than declared": ({"CONTENT_LENGTH": "1000"}, 400, -32700),
    "broken off": ({"CONTENT_LENGTH": "1000", "wsgi.input": Trickle(BODY, OSError("reset"))}, 400, -32700),
    "no length": ({"CONTENT_LENGTH": None}, 400, -32700),
    "an empty length": ({"CONTENT_LENGTH": ""}, 400, -32700),
    "no length, ended by the server": ({"CONTENT_LENGTH": None, "wsgi.input_terminated": True}, 200, None),
    "in chunks, ended by the server": (
        {
            "CONTENT_LENGTH": None,
            "HTTP_TRANSFER_ENCODING": "chunked",
            "wsgi.input_terminated": True,
            "wsgi.input": Trickle(BODY),
        },
        200,
        None,
    ),
    "in broken chunks": (
        {"CONTENT_LENGTH": None, "wsgi.input_terminated": True, "wsgi.input": Trickle(BODY, OSError("bad chunk"))},
        400,
        -32700,
    ),
    "in chunks that the server cannot read": (
        {"CONTENT_LENGTH": None, "wsgi.input_terminated": True, "wsgi.input": Trickle(BODY, InvalidChunkSize("zz"))},
        400,
        -32700,
    ),
    "refused while it comes": ({"CONTENT_LENGTH": "1000", "wsgi.input": Trickle(BODY, BodyTooLarge(7))}, 413, -32600),
    "in chunks, not put together": ({"CONTENT_LENGTH": None, "HTTP_TRANSFER_ENCODING": "chunked"}, 411, -32600),
    "endless chunks": (
        {"CONTENT_LENGTH": None, "wsgi.input_terminated": True, "wsgi.input": io.BytesIO(b" " * 1025)},
        413,
        -32600,
    ),
    "as large as may be": ({"CONTENT_LENGTH": "1024", "wsgi.input": io.BytesIO(BODY.ljust(1024))}, 200, None),
    "too large": ({"CONTENT_LENGTH": "1025", "wsgi.input": io.BytesIO(BODY.ljust(1025))}, 413, -32600),
    "absurdly large": ({"CONTENT_LENGTH": "9" * 5000}, 413, -32600),
    "negative": ({"CONTENT_LENGTH": "-1"}, 400, -32600),
    "signed": ({"CONTENT_LENGTH": f"+{len(BODY)}"}, 400, -32600),
    "a list of lengths": ({"CONTENT_LENGTH": f"{len(BODY)}, {len(BODY)}"}, 400, -32600),
    "a fraction": ({"CONTENT_LENGTH": "1.5"}, 400, -32600),
    "a digit that is no ASCII": ({"CONTENT_LENGTH": "\u00b2"}, 400, -32600),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_body_is_read_as_far_as_it_may_be(kind: str) -> None:
    """W-08: whatever its length claims."""
    entries, status, code = BODIES[kind]
    for stream in entries.values():
        if hasattr(stream, "seek"):
            stream.seek(0)
        elif isinstance(stream, Trickle):
            stream.data.seek(0)
    got = raw(site(max_body=1024), **{name.replace(".", "__"): value for name, value in entries.items()})
    assert got.status == status, got.body
    if code is not None:
        assert got.code == code


def test_a_time_out_while_a_body_is_read_goes_on_to_who_set_it() -> None:
    """gevent's ``Timeout`` is no ``Exception``: it ends the request, not the body alone."""

    class Timeout(BaseException):
        pass

    with pytest.raises(Timeout):
        raw(site(), CONTENT_LENGTH="1000", wsgi__input=Trickle(BODY, Timeout()))


def test_an_endless_body_is_read_no_further_than_it_may_be() -> None:
    """W-08: what comes in chunks is counted while it comes."""

    class Endless:
        given = 0

        def read(self, size: int) -> bytes:
            assert self.given <= 1024, "read on"
            self.given += size
            return b" " * size

    got = raw(site(max_body=1024), CONTENT_LENGTH=None, wsgi__input_terminated=True, wsgi__input=Endless())
    assert (got.status, got.code) == (413, -32600)


def test_credentials_may_depend_on_the_body() -> None:
    """An ``auth`` that reads the body, to check a signature over it, leaves it for the server."""
    seen = []

    def signed(request: HttpRequest) -> Any:
        seen.append(request.read(1024))
        return SimpleNamespace(id="me")

    assert raw(site(auth=signed)).status == 200
    assert seen == [BODY]
    # A client that sends more than that is refused as ever.
    assert raw(site(auth=signed, max_body=2048), BODY.ljust(2000)).status == 413


def test_a_body_that_auth_has_read_is_no_larger_than_allowed() -> None:
    def greedy(request: HttpRequest) -> Any:
        return SimpleNamespace(id=request.read(10_000))

    assert raw(site(auth=greedy, max_body=1024), BODY.ljust(2000)).status == 413


# --- headers --------------------------------------------------------------------------------------


def test_headers_are_found_in_any_case_and_listed_once() -> None:
    entries = {"HTTP_CONTENT_TYPE": "twice", "CONTENT_LENGTH": "", "HTTP_X_A": "1", "wsgi.x": 1, "CONTENT_TYPE": "a/b"}
    headers = EnvironHeaders(entries)
    assert headers["content-type"] == headers.get("Content-Type") == headers.get("CONTENT-type") == "a/b"
    assert (headers["x-a"], headers.get("X-B"), headers.get("X-B", "z")) == ("1", None, "z")
    assert dict(headers) == {"X-A": "1", "Content-Type": "a/b"}
    assert (len(headers), "X-a" in headers, "X-B" in headers) == (2, True, False)
    with pytest.raises(KeyError):
        headers["X-B"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_an_allowed_origin_may_read_every_kind_of_answer(kind: str) -> None:
    body, entries, _ = KINDS[kind]
    origin = "https://app.example.com"
    got = raw(site(max_body=1024, origins=[origin]), body, **{**entries, "HTTP_ORIGIN": origin})
    assert got.headers["Access-Control-Allow-Origin"] == origin
    assert got.headers["Vary"] == "Origin"
    assert "WWW-Authenticate" in got.headers["Access-Control-Expose-Headers"]


def test_no_page_is_told_anything_where_no_origin_came() -> None:
    assert not [name for name in raw(site()).headers if name.startswith("Access-Control") or name == "Vary"]
    assert raw(site(origins=["https://a.example"])).headers["Vary"] == "Origin"


def test_a_preflight_needs_no_credentials() -> None:
    """Browsers send none with it."""
    asked = {
        "REQUEST_METHOD": "OPTIONS",
        "HTTP_ORIGIN": "http://localhost",
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST",
        "HTTP_ACCESS_CONTROL_REQUEST_HEADERS": "mcp-method,mcp-param-region",
    }
    got = raw(guarded(), b"", **asked)
    assert (got.status, got.body) == (204, b"")
    assert got.headers["Access-Control-Allow-Origin"] == "http://localhost"
    assert "mcp-param-region" in got.headers["Access-Control-Allow-Headers"]
    assert raw(guarded(), b"", **{**asked, "HTTP_ORIGIN": "https://evil.example"}).status == 403


def test_options_without_an_origin_tells_what_is_allowed() -> None:
    got = raw(site(), b"", REQUEST_METHOD="OPTIONS")
    assert (got.status, got.headers["Allow"]) == (204, "POST, OPTIONS")


INJECTIONS = ["x\r\nSet-Cookie: a=b", "x\nSet-Cookie: a=b", "é\u20ac", "\x00", "x\x85y"]


@pytest.mark.parametrize("text", INJECTIONS)
@pytest.mark.parametrize("error", [Unauthorized, Forbidden])
def test_a_challenge_cannot_write_another_header(error: Callable[..., MCPError], text: str) -> None:
    def auth(request: HttpRequest) -> Any:
        raise error(challenge=f'Bearer error="{text}"')

    value = raw(site(auth=auth)).headers["WWW-Authenticate"]
    assert value.startswith('Bearer error="')
    assert re.fullmatch(r"[ -~]+", value)


@pytest.mark.parametrize("text", INJECTIONS)
@pytest.mark.parametrize("origins", [["*"], []])
def test_an_origin_cannot_write_another_header(origins: list[str], text: str) -> None:
    got = raw(site(origins=origins), HTTP_ORIGIN=f"http://localhost{text}")
    assert (got.status, got.headers.get("Access-Control-Allow-Origin")) == (403, None)


# --- failures -------------------------------------------------------------------------------------


class Odd(MCPError):
    """A refusal of an application's own."""

    code = 7
    http_status = 499


@pytest.mark.parametrize(
    ("error", "status"),
    [(Odd("no"), 499), (MCPError("no"), 500), (ConfigurationError("secret"), 500), (KeyError("secret"), 500)],
)
def test_auth_that_fails_in_any_way_lets_nobody_in(
    error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """S26-AUTH-14: whatever is raised there is a refusal, and is logged once if nobody meant it."""

    def auth(request: HttpRequest) -> Any:
        raise error

    got = raw(unjudged(everything(), auth=auth))
    assert got.status == status
    assert b"secret" not in got.body
    assert b"result" not in got.body
    assert len([record for record in caplog.records if record.exc_info]) == ("secret" in str(error))


def test_auth_that_names_nobody_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    assert raw(unjudged(everything(), auth=lambda request: object())).status == 500
    assert "auth must return an object with an id, not object" in caplog.text
    assert raw(site(auth=lambda request: None)).status == 401


def test_a_fault_in_what_a_request_needs_is_answered_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    """Workers that cannot be had in this process are the operator's mistake, which no client is told of."""
    app = MCPApp(everything(), workers="greenlets")
    got = raw(app, {**CALL, "id": "mine"})
    assert (got.status, got.code, json.loads(got.body)["id"]) == (500, -32603, "mine")
    assert b"gevent" not in got.body
    assert "gevent" in caplog.text


def test_refusals_log_below_warning_and_break_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_wsgi")
    raw(site(), REQUEST_METHOD="GET", PATH_INFO="/a\nb")
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert "\n" not in record.getMessage()


@pytest.mark.parametrize("method", ["A\x1b[31mB", "GE\nT", "G\x9bT", "\udcff"])
def test_a_method_that_is_none_writes_no_line_of_the_log(method: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_wsgi")
    raw(site(), REQUEST_METHOD=method)
    (record,) = caplog.records
    assert record.getMessage().isprintable()


@pytest.mark.parametrize("handler", [Handler, MCPServer, None, lambda: None, "shop"])
def test_an_application_is_made_of_a_handler(handler: Any) -> None:
    with pytest.raises(ConfigurationError, match="takes an MCPServer or another Handler instance"):
        MCPApp(handler)


# --- anything -------------------------------------------------------------------------------------

SMALL = st.binary(max_size=60) | st.text(st.characters(codec="utf-8"), max_size=40).map(str.encode)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
METHODS = st.sampled_from(["tools/call", "tools/list", "resources/read", "prompts/get", "initialize", "ping", "x"])
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={"id": JSON, "method": METHODS | JSON, "params": JSON, "result": JSON, "error": JSON},
)
BODIES_OF_ANY_KIND = SMALL | (MESSAGES | JSON | st.lists(MESSAGES, max_size=3)).map(
    lambda value: json.dumps(value, ensure_ascii=True).encode()
)
HEADER = st.text(st.characters(codec="latin-1"), max_size=20)
ENTRIES = st.dictionaries(
    st.sampled_from(
        [
            "HTTP_ACCEPT",
            "HTTP_HOST",
            "HTTP_MCP_METHOD",
            "HTTP_MCP_NAME",
            "HTTP_MCP_PROTOCOL_VERSION",
            "HTTP_ORIGIN",
            "HTTP_TRANSFER_ENCODING",
            "CONTENT_LENGTH",
            "CONTENT_TYPE",
            "PATH_INFO",
            "REMOTE_ADDR",
            "REQUEST_METHOD",
        ]
    ),
    HEADER | st.sampled_from(["2026-07-28", "2025-11-25", "2025-03-26", "application/json", "*/*", "/mcp", "POST"]),
    max_size=3,
)


def _apps() -> Iterator[tuple[str, WSGIApplication]]:
    yield "open", unjudged(everything())
    yield "guarded", unjudged(everything(), origins=["*"], hosts=["localhost"], allow_remote_access=False)


APPS = dict(_apps())


@given(BODIES_OF_ANY_KIND, ENTRIES, st.sampled_from(sorted(APPS)))
def test_whatever_comes_is_answered_in_http_and_json(body: bytes, entries: dict[str, str], name: str) -> None:
    """No exception, a status that exists, a body that is JSON-RPC where one is due; and the next request is served."""
    got = raw(APPS[name], body, **entries)
    assert 200 <= got.status < 500 or (got.status == 500 and got.code == -32603)
    if got.headers.get("Content-Type") == "application/json" and got.body:
        answers = json.loads(got.body)
        for answer in answers if isinstance(answers, list) else [answers]:
            assert answer["jsonrpc"] == "2.0"
            assert ("result" in answer) != ("error" in answer)
    assert raw(APPS[name]).status == 200


def _two_tools() -> MCPServer:
    mcp = MCPServer("pages")
    for name in ("one", "two"):
        mcp.add_tool(lambda: "", name=name)
    return mcp


def _first_page(app: MCPApp, *, several: bool) -> Listing:
    return Client(app, environ={"wsgi.multiprocess": several}).page("tools")


def test_without_a_common_key_several_processes_send_one_page_and_say_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = MCPApp(_two_tools(), page_size=1)
    for _ in range(2):
        page = _first_page(app, several=True)
        assert [tool["name"] for tool in page] == ["one", "two"]
        assert page.next_cursor is None
    told = [record.message for record in caplog.records if "secret_key" in record.message]
    assert len(told) == 1


@pytest.mark.parametrize(("options", "several"), [({"secret_key": "k" * 32}, True), ({}, False)])
def test_a_cursor_that_all_processes_can_read_is_sent(
    options: dict[str, Any], several: bool, caplog: pytest.LogCaptureFixture
) -> None:
    page = _first_page(MCPApp(_two_tools(), page_size=1, **options), several=several)
    assert [tool["name"] for tool in page] == ["one"]
    assert page.next_cursor
    assert "secret_key" not in caplog.text


def _asking() -> MCPServer:
    mcp = MCPServer("asking")

    @mcp.tool
    def ask(ctx: Context) -> str:
        return ctx.elicit("Well?", {"type": "object", "properties": {}}).action

    return mcp


def _warnings_of_questions(
    caplog: pytest.LogCaptureFixture, revision: str, *, several: bool, **options: Any
) -> list[str]:
    """What is logged while a client is asked twice."""
    app = MCPApp(_asking(), **options)
    client = Client(
        app, revision=revision, answer=lambda *_: {"action": "decline"}, environ={"wsgi.multiprocess": several}
    )
    assert [client.call_tool("ask").text for _ in range(2)] == ["decline"] * 2
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_state_that_other_processes_cannot_read_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    (warning,) = _warnings_of_questions(caplog, "2026-07-28", several=True)
    assert "Set a secret_key that all processes share" in warning


def test_a_question_whose_answer_another_process_may_get_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    (warning,) = _warnings_of_questions(caplog, "2025-11-25", several=True, secret_key="k" * 32)
    assert "send all requests of a session to the same one" in warning


@pytest.mark.parametrize(
    ("revision", "several", "options"),
    [
        ("2026-07-28", False, {}),
        ("2026-07-28", True, {"secret_key": "k" * 32}),
        ("2025-11-25", False, {"secret_key": "k" * 32}),
    ],
)
def test_questions_that_come_back_to_whom_they_may_are_not_warned_of(
    caplog: pytest.LogCaptureFixture, revision: str, several: bool, options: dict[str, Any]
) -> None:
    assert _warnings_of_questions(caplog, revision, several=several, **options) == []


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that give way to each other as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("name", ["_open_questions", "_open_listeners", "_streams_left", "_workers"])
def test_first_requests_that_come_at_once_find_the_same(name: str) -> None:
    """Otherwise a question would wait at one place, and its answer be brought to another."""

    def find(app: MCPApp, barrier: threading.Barrier) -> object:
        barrier.wait(20)
        return getattr(app, name)()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            app, barrier = MCPApp(_asking(), workers="threads"), threading.Barrier(8)
            found = list(pool.map(find, [app] * 8, [barrier] * 8))
            assert len(set(map(id, found))) == 1
