"""Requirements, group 3: Streamable HTTP, the POST of both eras."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi import Context, MCPServer, ToolError
from mcp_wsgi.cli.serving import Settings
from mcp_wsgi.errors import Cancelled, RegistrationError
from mcp_wsgi.http_client import HTTPReply
from mcp_wsgi.schema import Arguments
from mcp_wsgi.testing import Client, ProtocolError, header_text
from tests.spec.kit import CALLS, MODERN, Connect, everything, refusal, refused, send, unjudged

EVIL = "https://evil.example.com"


def events(reply: HTTPReply) -> list[Any]:
    """The messages of an event stream."""
    assert reply.headers["Content-Type"] == "text/event-stream"
    return list(reply.messages)


# --- the endpoint ---------------------------------------------------------------------------------


def test_one_path_takes_posts(connect: Connect, revision: str) -> None:
    """S26-HTTP-01, T25-HTTP-01: with and without a trailing slash, at the mount's root, and nowhere else."""
    app = everything().wsgi_app(workers="inline")
    for path in ("/mcp", "/mcp/", "/", ""):
        assert send(connect(app, revision, environ={"PATH_INFO": path}), "tools/list").status == 200
    mounted = connect(app, revision, environ={"SCRIPT_NAME": "/site/mcp", "PATH_INFO": ""})
    assert send(mounted, "tools/list").status == 200
    assert refused(send(connect(app, revision, environ={"PATH_INFO": "/other"}), "tools/list")) == (404, -32600)


@pytest.mark.parametrize("http_method", ["POST", "GET", "DELETE", "PUT", "OPTIONS"])
def test_a_foreign_origin_is_refused_on_every_method(connect: Connect, revision: str, http_method: str) -> None:
    """S26-HTTP-02, T25-HTTP-02: present and invalid is 403, with an error that has no id."""
    client = connect(revision=revision, origins=["https://app.example.com"])
    body = client.message("tools/list") if http_method == "POST" else None
    for origin in (EVIL, "null", "http://app.example.com", ""):
        reply = client.http(http_method, body, headers={"Origin": origin})
        assert refused(reply) == (403, -32600)
        assert "id" not in reply.json
        assert reply.headers["Access-Control-Allow-Origin"] is None


def test_a_listed_origin_or_none_passes(connect: Connect, revision: str) -> None:
    """S26-HTTP-02, T25-HTTP-02: and a page of that origin may read the answer."""
    client = connect(revision=revision, origins=["https://app.example.com"])
    assert send(client, "tools/list").status == 200
    reply = send(client, "tools/list", None, Origin="https://app.example.com")
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == "https://app.example.com"


def test_a_host_that_is_not_ours_is_refused(connect: Connect, revision: str) -> None:
    """S26-SEC-03: DNS rebinding brings a foreign Host and Origin that agree."""
    client = connect(revision=revision, hosts=["localhost"])
    evil = {"Host": "evil.example.com", "Origin": "http://evil.example.com"}
    assert refused(client.post(client.message("tools/list"), headers=evil)) == (403, -32600)
    assert send(client, "tools/list", None, Origin="http://localhost").status == 200
    unlisted = connect(revision=revision)
    assert refused(unlisted.post(unlisted.message("tools/list"), headers=evil)) == (403, -32600)


def test_a_local_server_is_for_this_machine_and_for_those_it_knows(connect: Connect, revision: str) -> None:
    """S26-HTTP-03, T25-HTTP-03: the command listens on loopback; remote peers and strangers can be refused."""
    assert Settings(target="any.py").host == "127.0.0.1"
    local = connect(revision=revision, allow_remote_access=False, environ={"REMOTE_ADDR": "192.0.2.7"})
    assert refused(send(local, "tools/list")) == (403, -32600)
    known = connect(revision=revision, auth=lambda request: None)
    assert refused(send(known, "tools/list")) == (401, -32600)


# --- bodies ---------------------------------------------------------------------------------------


def test_a_modern_body_is_one_request_or_notification(connect: Connect) -> None:
    """S26-HTTP-04: arrays and responses are refused."""
    client = connect()
    request = client.message("tools/list")
    for body in ([request], [], [request, request], {"jsonrpc": "2.0", "id": 1, "result": {}}):
        assert refused(client.post(body)) == (400, -32600)
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}
    assert refused(client.post(error)) == (400, -32600)


def test_a_notification_is_accepted_without_a_body(connect: Connect, revision: str) -> None:
    """S26-HTTP-05, T25-HTTP-05, Q-12: 202, whether or not it has the headers of a request."""
    client = connect(revision=revision)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    headers: list[dict[str, str | None]] = [{}, {"Mcp-Method": None}, {"Mcp-Method": "other"}, {"Accept": "text/html"}]
    for fields in headers:
        reply = client.post(cancelled, headers=fields)
        assert (reply.status, reply.body) == (202, b"")


def test_a_notification_that_is_not_accepted_is_an_http_error(connect: Connect, revision: str) -> None:
    """S26-HTTP-05, T25-HTTP-05: its body is an error without an id."""
    client = connect(revision=revision)
    for body, headers in [
        ({"jsonrpc": "2.0", "method": 5}, {}),
        ({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []}, {}),
        ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, {"Origin": EVIL}),
    ]:
        reply = client.post(body, headers=headers)
        assert reply.status in (400, 403)
        assert "id" not in reply.json


def test_a_session_era_body_may_be_a_response(connect: Connect, session_revision: str) -> None:
    """T25-HTTP-04, T25-HTTP-05: accepted, even if nobody asked."""
    client = connect(revision=session_revision)
    for body in (
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "User rejected"}},
    ):
        reply = client.post(body)
        assert (reply.status, reply.body) == (202, b"")


def test_the_oldest_revision_has_batches_of_every_kind(connect: Connect) -> None:
    """T25-HTTP-04, T25-HTTP-05: requests and notifications, or responses; without requests there is no answer."""
    client = connect(revision="2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}
    for batch in ([note], [note, note], [response], [response, response]):
        reply = client.post(batch)
        assert (reply.status, reply.body) == (202, b"")
    assert len(client.post([note, client.message("ping"), note]).json) == 1


def test_a_request_is_answered_in_json_or_in_a_stream(connect: Connect, revision: str) -> None:
    """S26-HTTP-06, T25-HTTP-06: the server's choice, within what the client accepts."""
    client = connect(revision=revision)
    for accept in ("application/json, text/event-stream", "application/json", "*/*", "", None):
        reply = send(client, "tools/call", None, Accept=accept)
        assert reply.headers["Content-Type"] == "application/json"
        assert "result" in reply.json
    (answer,) = events(send(client, "tools/call", None, Accept="text/event-stream"))
    assert "result" in answer
    (answer,) = events(send(client, "tools/list", None, Accept="text/event-stream"))
    assert "result" in answer


def test_a_client_that_takes_neither_is_told_so(connect: Connect, revision: str) -> None:
    """Q-06: 406; but a Content-Type other than JSON is 415."""
    client = connect(revision=revision)
    assert refused(send(client, "tools/call", None, Accept="text/html")) == (406, -32600)
    assert refused(send(client, "tools/call", None, Content_Type="text/plain")) == (415, -32600)
    assert refused(send(client, "tools/call", None, Content_Type=None)) == (415, -32600)


# --- streams --------------------------------------------------------------------------------------


def chatting(client: Client, **headers: str | None) -> HTTPReply:
    message = client.message("tools/call", {"name": "chat"}, progress_token="p", log_level="debug")
    return client.post(message, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_a_stream_carries_what_belongs_to_its_request(connect: Connect, revision: str) -> None:
    """S26-HTTP-07, S26-HTTP-08, S26-HTTP-09, T25-HTTP-07, T25-HTTP-08, T25-HTTP-09: in order, the response last."""
    *notifications, response = events(chatting(connect(revision=revision)))
    methods = [message["method"].rpartition("/")[2] for message in notifications]
    levels = ["message"] * (3 if revision == MODERN else 2)
    assert methods == ["progress", *levels, "progress"]
    assert all("id" not in message for message in notifications)
    assert response["result"]["content"][0]["text"] == "done"


def test_a_stream_is_not_buffered_stored_or_resumable(connect: Connect, revision: str) -> None:
    """S26-HTTP-10, S26-HTTP-12: X-Accel-Buffering, no-store, and no event id to resume from."""
    reply = chatting(connect(revision=revision))
    assert reply.headers["X-Accel-Buffering"] == "no"
    assert "no-store" in (reply.headers["Cache-Control"] or "")
    assert not any(line.startswith(("id", "retry")) for line in reply.text.splitlines())


def test_a_client_without_streams_gets_the_answer_alone(connect: Connect, revision: str) -> None:
    """S26-HTTP-06: what comes before the response is dropped for a client that takes JSON only."""
    reply = chatting(connect(revision=revision), Accept="application/json")
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json["result"]["content"][0]["text"] == "done"


def test_a_silent_stream_is_kept_alive_by_comments(connect: Connect, revision: str) -> None:
    """S26-HTTP-11: and a call that is silent for long is opened as a stream."""
    mcp = MCPServer("slow")
    go = threading.Event()

    @mcp.tool
    def slow() -> str:
        assert go.wait(20)
        return "done"

    app = mcp.wsgi_app(workers="threads", stream_after=0.01, keepalive=0.01)
    client = connect(app, revision)
    answer = client._send("POST", client.message("tools/call", {"name": "slow"}))
    chunks = iter(answer)
    assert [next(chunks), next(chunks)] == [b": keep-alive\n\n"] * 2
    go.set()
    *_, last = chunks
    assert json.loads(last.split(b"data: ")[1])["result"]["content"][0]["text"] == "done"
    answer.close()


class Watched:
    """A tool that reports progress until it is cancelled, or let go."""

    def __init__(self) -> None:
        self.server = MCPServer("watched")
        self.log: list[str] = []
        self.server.tool(self.work)

    def work(self, ctx: Context) -> str:
        """Work in three steps."""
        try:
            for step in (1, 2, 3):
                ctx.report_progress(step)
                self.log.append(f"step {step}")
        except Cancelled:
            self.log.append("cancelled")
            raise
        return "done"


def disconnect(client: Client) -> None:
    """Read the first message of a stream, and hang up."""
    with client.stream("tools/call", {"name": "work"}, progress_token=1) as stream:
        next(stream)


def test_a_modern_client_cancels_by_hanging_up(connect: Connect) -> None:
    """S26-HTTP-13, S26-CAN-02, W-03: the work stops where it is, and nothing more is made for the client."""
    watched = Watched()
    disconnect(connect(watched.server))
    assert watched.log == ["cancelled"]


def test_a_session_client_does_not(connect: Connect, session_revision: str) -> None:
    """T25-HTTP-10, W-03: a lost connection is no cancellation; the work goes on to its end."""
    watched = Watched()
    disconnect(connect(watched.server, session_revision))
    assert watched.log == ["step 1", "step 2", "step 3"]


# --- the version header ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, "2025-11-25", "v999", "2026-07-28, 2026-07-28", "2026-07-28x", ""])
def test_the_version_header_says_what_meta_says(connect: Connect, version: str | None) -> None:
    """S26-HTTP-14, S26-HTTP-25: missing or different is 400 and -32020, even if neither is served."""
    client = connect()
    reply = send(client, "tools/list", None, MCP_Protocol_Version=version)
    assert refused(reply) == (400, -32020)
    assert reply.json["id"] == 1


@pytest.mark.parametrize(
    "version", ["1999-01-01", "latest", "2025-11-26", "2024-11-05", "", "2025-06-18,2025-06-18", "\x01"]
)
def test_a_session_request_with_a_version_that_is_not_served_is_a_400(connect: Connect, version: str) -> None:
    """T25-HTTP-18: with an error that names those that are; requests, notifications and batches alike."""
    client = connect(unjudged(everything()), "2025-11-25")
    request = client.message("ping")
    for body in (request, [request], {"jsonrpc": "2.0", "method": "notifications/x"}):
        reply = client.post(body, headers={"MCP-Protocol-Version": version})
        assert refused(reply) == (400, -32020 if version == "\x01" else -32022)
        assert reply.json.get("id") == (request["id"] if body is request else None)


def test_without_a_version_header_a_session_request_is_of_the_oldest_revision(connect: Connect) -> None:
    """T25-HTTP-19: so a batch is accepted."""
    client = connect(revision="2025-11-25")
    reply = client.post([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], headers={"MCP-Protocol-Version": None})
    assert reply.json == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


def test_an_unknown_method_is_a_404_with_an_error(connect: Connect) -> None:
    """S26-HTTP-16: -32601 with the id."""
    reply = send(connect(), "nope")
    assert (refused(reply), reply.json["id"]) == ((404, -32601), 1)


@pytest.mark.parametrize(("method", "status", "code"), [("nope", 404, -32601), ("tools/list", 400, -32020)])
def test_a_refusal_is_decided_before_a_stream_begins(connect: Connect, method: str, status: int, code: int) -> None:
    """S26-HTTP-17: as JSON with its status, also to a client that takes streams only."""
    reply = send(connect(), method, None, Accept="text/event-stream", Mcp_Method="nope")
    assert refused(reply) == (status, code)
    assert reply.headers["Content-Type"] == "application/json"


# --- Mcp-Method and Mcp-Name ----------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "", "tools/call", "TOOLS/LIST", "tools/list,tools/list", "tools /list"])
def test_mcp_method_repeats_the_method(connect: Connect, value: str | None) -> None:
    """S26-HTTP-18, S26-HTTP-20, S26-HTTP-25, W-01: missing or different, also in case, is 400 and -32020."""
    reply = send(connect(), "tools/list", None, Mcp_Method=value)
    assert (refused(reply), reply.json["id"]) == ((400, -32020), 1)


NAMED = {"tools/call": "echo", "prompts/get": "ask", "resources/read": "note://fixed"}


@pytest.mark.parametrize("method", NAMED)
def test_mcp_name_repeats_the_name_or_uri(connect: Connect, method: str) -> None:
    """S26-HTTP-19, S26-HTTP-20, S26-HTTP-25: missing or different, also in case, is 400 and -32020."""
    client, right = connect(), NAMED[method]
    assert send(client, method, None, Mcp_Name=right).status == 200
    for wrong in (None, "", right.upper(), right + "x", f"{right},{right}", f"=?base64?{right}?="):
        assert refused(send(client, method, None, Mcp_Name=wrong)) == (400, -32020)


def test_methods_without_a_name_need_no_mcp_name(connect: Connect) -> None:
    """S26-HTTP-19: and one that is sent all the same is not looked at."""
    for method in ("tools/list", "completion/complete", "server/discover"):
        assert send(connect(), method, None, Mcp_Name="any").status == 200


@pytest.mark.parametrize("spelling", ["mcp-method", "MCP-METHOD", "Mcp-Method", "mCP-mETHOD"])
def test_header_names_have_no_case(connect: Connect, spelling: str) -> None:
    """S26-HTTP-20: only values have."""
    client = connect()
    reply = client.post(client.message("tools/list"), headers={"Mcp-Method": None, spelling: "tools/list"})
    assert reply.status == 200


def test_white_space_around_a_value_is_no_part_of_it(connect: Connect) -> None:
    """S26-HTTP-21: it is trimmed before the comparison."""
    padded = {"Mcp_Method": " tools/call\t", "Mcp_Name": "\t echo  ", "MCP_Protocol_Version": f" {MODERN} "}
    assert send(connect(), "tools/call", None, **padded).status == 200


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def test_a_name_in_base64_is_decoded_before_the_comparison(connect: Connect) -> None:
    """S26-HTTP-22: the markers are exact, and what stands between them is UTF-8."""
    client = connect()
    assert send(client, "tools/call", None, Mcp_Name=encoded("echo")).status == 200
    for wrong in (encoded("Echo"), encoded("echo").replace("base64", "BASE64"), encoded("echo")[:-2], "ZWNobw=="):
        assert refused(send(client, "tools/call", None, Mcp_Name=wrong)) == (400, -32020)
    mcp = MCPServer("odd")
    mcp.prompt(name="a.b")(lambda: "x")
    assert send(connect(mcp), "prompts/get", {"name": "a.b"}, Mcp_Name=encoded("a.b")).status == 200


@pytest.mark.parametrize("inside", ["ZWNobw", "ZWNobw=", "ZWNobw===", "ZW!Nobw=", "ZWNo bw==", "_-8=", "/w=="])
def test_malformed_base64_is_refused(connect: Connect, inside: str) -> None:
    """S26-HTTP-23: wrong padding or alphabet, or no UTF-8 in it, is 400 and -32020."""
    reply = send(connect(), "tools/call", None, Mcp_Name=f"=?base64?{inside}?=")
    assert refused(reply) == (400, -32020)


@pytest.mark.parametrize("literal", ["=?base64?ZWNobw==", "ZWNobw==?=", "=?BASE64?ZWNobw==?="])
def test_a_value_without_both_markers_is_literal(connect: Connect, literal: str) -> None:
    """S26-HTTP-23: a tool of that very name is found by it."""
    mcp = MCPServer("literal")

    @mcp.resource("x:{+rest}")
    def anything(rest: str) -> str:
        return rest

    uri = f"x:{literal}"
    assert send(connect(mcp), "resources/read", {"uri": uri}, Mcp_Name=uri).status == 200


@pytest.mark.parametrize("bad", ["ech\x00o", "echo\x7f", "ech\xf6", "\x1becho", "ech\x0bo", "ech\u20ac"])
@pytest.mark.parametrize("name", ["Mcp-Name", "Mcp-Method", "MCP-Protocol-Version"])
def test_header_characters_are_visible_ascii(connect: Connect, name: str, bad: str) -> None:
    """S26-HTTP-24, W-02: a recognised header with anything but 0x21-0x7E, space and tab is 400 and -32020."""
    client = connect(environ={"HTTP_" + name.upper().replace("-", "_"): bad})
    assert refused(send(client, "tools/call")) == (400, -32020)


# --- Mcp-Param-* ----------------------------------------------------------------------------------

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "place": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
        "free": {"type": "string"},
    },
}


@pytest.fixture
def routed(connect: Connect) -> Client:
    mcp = MCPServer("routed")

    @mcp.tool(input_schema=SCHEMA)
    def route(arguments: dict[str, Any]) -> str:
        return json.dumps(arguments)

    return connect(mcp)


def route(client: Client, arguments: dict[str, Any], **headers: str) -> HTTPReply:
    named = {f"Mcp_Param_{name}": value for name, value in headers.items()}
    return send(client, "tools/call", {"name": "route", "arguments": arguments}, **named)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {"Region": "eu"}),
        ({"region": "eu"}, {"Region": "=?base64?ZXU=?="}),
        ({"region": "é"}, {"Region": "=?base64?w6k=?="}),
        ({"region": ""}, {"Region": ""}),
        ({"count": 42}, {"Count": "42"}),
        ({"dry": True}, {"Dry_Run": "true"}),
        ({"dry": False}, {"Dry_Run": "false"}),
        ({"place": {"city": "Bern"}}, {"City": "Bern"}),
        ({"region": "eu", "count": 0, "free": "x"}, {"Region": "eu", "Count": "0"}),
    ],
)
def test_a_parameter_header_repeats_its_argument(
    routed: Client, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    """S26-HTTP-22, S26-HTTP-26, S26-HTTP-28, S26-HTTP-30, Q-09: at its place in the body, however deep."""
    reply = route(routed, arguments, **headers)
    assert json.loads(reply.json["result"]["content"][0]["text"]) == arguments


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {}),
        ({"region": "eu"}, {"Region": "us"}),
        ({"region": "eu"}, {"Region": "EU"}),
        ({"region": "eu"}, {"Region": "=?base64?ZXU?="}),
        ({"region": "é"}, {"Region": "Ã©"}),
        ({"count": 42}, {"Count": "43"}),
        ({"dry": True}, {"Dry_Run": "True"}),
        ({"place": {"city": "Bern"}}, {}),
        ({"place": {"city": "Bern"}}, {"City": "Basel"}),
    ],
)
def test_a_parameter_header_that_is_missing_or_differs_is_refused(
    routed: Client, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    """S26-HTTP-23, S26-HTTP-24, S26-HTTP-26, S26-HTTP-30: 400 and -32020."""
    assert refused(route(routed, arguments, **headers)) == (400, -32020)


def test_an_argument_that_is_absent_or_null_has_no_header(routed: Client) -> None:
    """S26-HTTP-27: none is expected then, and one that is there is a mismatch."""
    assert route(routed, {}).status == 200
    for arguments in ({}, {"region": None}):
        assert refused(route(routed, arguments, Region="eu")) == (400, -32020)
    # A null is no string, which the model is told; the header is not what is wrong with it.
    assert route(routed, {"region": None}).json["result"]["isError"] is True


@pytest.mark.parametrize("spelling", ["42.0", "042", "+42", "4.2e1"])
def test_integers_are_compared_as_numbers(routed: Client, spelling: str) -> None:
    """S26-HTTP-29: ``42.0`` is 42; where a spelling is none of a JSON integer's, refusing it is right too."""
    status = route(routed, {"count": 42}, Count=spelling).status
    assert status == 200 if spelling == "42.0" else status in (200, 400)


def test_parameter_headers_that_no_schema_names_are_ignored(routed: Client) -> None:
    """S26-HTTP-31: they may be meant for somebody in between."""
    assert route(routed, {"free": "x"}, Free="y", Colour="red").status == 200


def test_the_session_era_has_no_parameter_headers(connect: Connect, session_revision: str) -> None:
    """S26-HTTP-26: they came with 2026-07-28."""
    mcp = MCPServer("routed")
    mcp.tool(name="route", input_schema=SCHEMA)(lambda arguments: arguments["region"])
    assert connect(mcp, session_revision).call_tool("route", region="eu").text == "eu"


def declared(schema: dict[str, Any]) -> Arguments:
    return Arguments.from_schema({"type": "object", **schema}, owner="tool 'x'")


@pytest.mark.parametrize("name", ["", "a b", "a:b", "é", "a\n", "a\x00", "(a)", 5, None])
def test_the_name_of_a_parameter_header_is_a_token(name: object) -> None:
    """S26-HTTP-32: anything else is refused where it is written."""
    with pytest.raises(RegistrationError, match="x-mcp-header"):
        declared({"properties": {"a": {"type": "string", "x-mcp-header": name}}})


def test_the_names_of_parameter_headers_are_unique_without_case() -> None:
    """S26-HTTP-32: also between levels."""
    inner = {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": "REGION"}}}
    with pytest.raises(RegistrationError, match=r"(?i)region"):
        declared({"properties": {"a": {"type": "string", "x-mcp-header": "Region"}, "c": inner}})


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", ["string", "number"], None])
def test_parameter_headers_are_for_strings_integers_and_booleans(kind: object) -> None:
    """S26-HTTP-33: not for numbers, whose text is not fixed, nor for containers."""
    with pytest.raises(RegistrationError, match="x-mcp-header"):
        declared({"properties": {"a": {"x-mcp-header": "A", **({"type": kind} if kind else {})}}})


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**30])
def test_an_integer_beyond_what_every_client_can_count_is_refused(connect: Connect, number: int) -> None:
    """S26-HTTP-33: within plus or minus 2^53 - 1."""
    mcp = MCPServer("big")
    schema = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}
    mcp.tool(name="big", input_schema=schema)(lambda n=0: str(n))
    client = connect(mcp)
    reply = send(client, "tools/call", {"name": "big", "arguments": {"n": number}}, Mcp_Param_N=str(number))
    assert reply.status == 400 or reply.json["result"]["isError"]
    within = 2**53 - 1
    reply = send(client, "tools/call", {"name": "big", "arguments": {"n": within}}, Mcp_Param_N=str(within))
    assert reply.json["result"]["content"][0]["text"] == str(within)


def _wrapped() -> Iterator[dict[str, Any]]:
    marked = {"type": "string", "x-mcp-header": "A"}
    holder = {"type": "object", "properties": {"a": marked}}
    yield {"properties": {"list": {"type": "array", "items": marked}}}
    yield {"properties": {"list": {"type": "array", "items": holder}}}
    for keyword in ("oneOf", "anyOf", "allOf"):
        yield {keyword: [{"properties": {"a": marked}}]}
        yield {"properties": {"a": {keyword: [marked]}}}
    for keyword in ("not", "if", "then", "else"):
        yield {keyword: {"properties": {"a": marked}}}
    yield {"additionalProperties": marked}
    yield {"patternProperties": {"^a": marked}}
    yield {"x-mcp-header": "A"}


@pytest.mark.parametrize("schema", list(_wrapped()), ids=json.dumps)
def test_parameter_headers_stand_where_only_properties_lead(schema: dict[str, Any]) -> None:
    """S26-HTTP-34: elsewhere clients would drop the whole tool."""
    with pytest.raises(RegistrationError, match="x-mcp-header"):
        declared(schema)


def test_access_is_decided_by_the_body_and_not_by_a_header(connect: Connect) -> None:
    """S26-HTTP-36: the function sees the arguments of the body; a header that lies never reaches it."""
    mcp, seen = MCPServer("access"), []

    @mcp.tool
    def open_door(door: str) -> str:
        seen.append(door)
        if door != "front":
            raise ToolError("locked")
        return "open"

    client = connect(mcp)
    reply = send(client, "tools/call", {"name": "open_door", "arguments": {"door": "vault"}}, Mcp_Param_Door="front")
    assert reply.json["result"]["isError"] is True
    assert seen == ["vault"]


# --- the session era ------------------------------------------------------------------------------


def test_get_is_not_served_and_says_what_is(connect: Connect, session_revision: str) -> None:
    """T25-HTTP-11, T25-SESS-05, T24-SSE-01: GET and DELETE are 405 with an Allow header."""
    client = connect(revision=session_revision)
    for http_method in ("GET", "DELETE", "PUT", "PATCH"):
        reply = client.http(http_method)
        assert refused(reply) == (405, -32600)
        assert reply.headers["Allow"] == "POST, OPTIONS"


def test_an_error_of_a_request_is_http_200(connect: Connect, session_revision: str) -> None:
    """DUAL-08, Q-05: a 400 ends the whole connection of widely deployed clients."""
    client = connect(revision=session_revision)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("nope", {}),
        ("tools/call", {}),
        ("tools/call", {"name": "nope"}),
        ("resources/read", {"uri": "none:x"}),
        ("resources/read", {"uri": "note://crash"}),
        ("tools/list", {"_meta": {"progressToken": 1.5}}),
        ("tools/call", {"name": "refuse", "arguments": {"code": -32601}}),
    ]
    for method, params in calls:
        assert send(client, method, params).status == 200
    assert refused(client.post({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": []}})) == (200, -32602)


@pytest.mark.parametrize(
    ("code", "status"), [(-32700, 200), (-32600, 200), (-32601, 404), (-32602, 200), (-32603, 200), (7, 200)]
)
def test_the_status_of_an_error_that_a_handler_raises(connect: Connect, code: int, status: int) -> None:
    """Q-05: modern: 404 for -32601; 200 where the specification names none."""
    with pytest.raises(ProtocolError) as caught:
        connect().call_tool("refuse", code=code)
    assert (caught.value.http_status, caught.value.code) == (status, code)


def test_a_batch_is_answered_on_one_stream_if_something_comes_before(connect: Connect) -> None:
    """T25-HTTP-07: the responses are batched, and come last."""
    client = connect(revision="2025-03-26")
    batch = [
        client.message("tools/call", {"name": "chat"}, progress_token="p"),
        client.message("tools/call", {"name": "chat"}, progress_token="q"),
    ]
    *notifications, one, two = events(client.post(batch))
    assert {one["id"], two["id"]} == {message["id"] for message in batch}
    tokens = [m["params"]["progressToken"] for m in notifications if m["method"] == "notifications/progress"]
    assert tokens == ["p", "p", "q", "q"]


def test_header_text_of_the_testing_kit_is_what_the_rules_want() -> None:
    """S26-HTTP-28: the client that the tests use writes values as every client must."""
    assert [header_text(value) for value in ("a b", 42, True, False, "", " a", "é", 42.0)] == [
        "a b",
        "42",
        "true",
        "false",
        "",
        "=?base64?IGE=?=",
        "=?base64?w6k=?=",
        "42",
    ]


def test_refusals_name_what_is_wrong(connect: Connect) -> None:
    """S26-HTTP-25: the text says which header."""
    assert "Mcp-Method" in refusal(send(connect(), "tools/list", None, Mcp_Method=None))["message"]
    assert "Mcp-Name" in refusal(send(connect(), "tools/call", None, Mcp_Name=None))["message"]
    assert set(CALLS) >= set(NAMED)
