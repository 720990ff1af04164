"""Requirements, group 1: JSON-RPC, ``_meta`` and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, MCPServer, Tool, errors
from mcp_wsgi.errors import MCPError, RegistrationError
from mcp_wsgi.http_client import HTTPReply
from mcp_wsgi.revisions import SUPPORTED
from mcp_wsgi.testing import Client, ProtocolError
from tests.spec.kit import CALLS, MODERN, PREFIX, Connect, everything, refusal, refused, send, unjudged

IDS = [0, 1, -1, 2**53 + 1, 2**70, "", "1", "listen:0", "é\u2028"]


def call(client: Client, message: dict[str, Any]) -> dict[str, Any]:
    """The one message that answers."""
    (answer,) = client.post(message).messages
    return dict(answer)


# --- messages -------------------------------------------------------------------------------------


def test_a_message_is_json_rpc_2_in_utf8(connect: Connect, revision: str) -> None:
    """S26-BASE-01, T25-BASE-01: every message is JSON-RPC 2.0 in UTF-8, coming and going."""
    client = connect(revision=revision)
    good = client.message("tools/call", {"name": "echo", "arguments": {"text": "é\u2028\U0001f600"}})
    body = json.dumps(good, ensure_ascii=False)
    reply = client.post(good)
    assert "é\u2028\U0001f600" in reply.body.decode("utf-8")
    assert reply.json["jsonrpc"] == "2.0"
    headers = {"Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    for bad in (body.encode("latin-1", "replace").replace(b"?", b"\xff"), body.encode("utf-16"), b"", b"{"):
        assert refused(client.post(bad, headers=headers)) == (400, -32700)
    for version in ("1.0", 2.0, None):
        assert refused(client.post({**good, "jsonrpc": version})) == (400, -32600)


@pytest.mark.parametrize("bad", [None, True, False, 1.5, 1.0, [], {}])
def test_an_id_is_a_string_or_an_integer(connect: Connect, revision: str, bad: object) -> None:
    """S26-BASE-02, T25-BASE-01: an id of another type makes the message invalid."""
    client = connect(revision=revision)
    assert refused(client.post({**client.message("tools/list"), "id": bad})) == (400, -32600)


@pytest.mark.parametrize("identity", IDS)
def test_an_answer_echoes_the_id(connect: Connect, revision: str, identity: str | int) -> None:
    """S26-BASE-03, T25-BASE-03: a result carries the id with its JSON type, and an object."""
    client = connect(revision=revision)
    for method, params in CALLS.items():
        answer = call(client, {**client.message(method, params), "id": identity})
        assert (type(answer["id"]), answer["id"]) == (type(identity), identity)
        assert isinstance(answer["result"], dict)
        assert answer.keys() == {"jsonrpc", "id", "result"}


@pytest.mark.parametrize("identity", IDS)
def test_an_error_echoes_the_id(connect: Connect, revision: str, identity: str | int) -> None:
    """S26-BASE-06, T25-BASE-03: an error carries the id, an integer code and a message."""
    client = connect(revision=revision)
    for method, params in [("nope", {}), ("tools/call", {"name": "nope"}), ("tools/list", {"cursor": "x"})]:
        answer = call(client, {**client.message(method, params), "id": identity})
        assert (type(answer["id"]), answer["id"]) == (type(identity), identity)
        assert answer.keys() == {"jsonrpc", "id", "error"}
        assert type(answer["error"]["code"]) is int
        assert answer["error"]["message"]


@pytest.mark.parametrize("headers", [{"Mcp-Method": None}, {"Accept": "text/html"}, {"MCP-Protocol-Version": "1"}])
def test_a_refusal_of_the_transport_carries_the_id_too(
    connect: Connect, revision: str, headers: dict[str, str | None]
) -> None:
    """S26-BASE-06, S26-HTTP-25: whatever refuses a request that could be read carries its id."""
    client = connect(revision=revision)
    message = {**client.message("tools/list"), "id": "mine"}
    reply = client.post(message, headers=headers)
    if reply.status != 200:
        assert reply.json["id"] == "mine"
    assert reply.status == 200 if headers == {"Mcp-Method": None} and revision != MODERN else reply.status >= 400


def test_an_error_about_an_unreadable_id_has_none(connect: Connect, revision: str) -> None:
    """S26-BASE-06, T25-BASE-04, Q-01: the id is left out, never null, when it could not be read."""
    client = connect(revision=revision)
    for body in (b"{", b"[1", b'"text"', b'{"jsonrpc":"2.0","id":null,"method":"ping"}'):
        assert "id" not in client.post(body).json
    invalid = {"jsonrpc": "2.0", "id": 7, "method": 5}
    assert client.post(invalid).json["id"] == 7


def test_a_notification_is_never_answered(connect: Connect, revision: str) -> None:
    """S26-BASE-12, T25-BASE-05: 202 without a body, whatever it says; with an id it is a request."""
    client = connect(revision=revision)
    for method in ("notifications/initialized", "notifications/cancelled", "notifications/nope", "tools/list", "nope"):
        message = client.message(method)
        del message["id"]
        reply = client.post(message)
        assert (reply.status, reply.body) == (202, b"")
    assert refusal(send(client, "notifications/initialized"))["code"] == -32601


def test_a_server_sends_no_requests(connect: Connect) -> None:
    """S26-BASE-13: not even while a tool has a stream to itself."""
    with connect().stream("tools/call", {"name": "chat"}, progress_token=1, log_level="debug") as stream:
        sent = list(stream)
    assert len(sent) == 6
    assert [message for message in sent if "method" in message and "id" in message] == []


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*CALLS, "server/discover"])
def test_every_modern_result_says_what_it_is_and_who_made_it(connect: Connect, method: str) -> None:
    """S26-BASE-04, S26-BASE-05, S26-BASE-21: resultType is complete, and serverInfo is in ``_meta``."""
    result = send(connect(), method).json["result"]
    assert result["resultType"] == "complete"
    info = result["_meta"][PREFIX + "serverInfo"]
    assert (info["name"], info["version"], info["title"]) == ("everything", "1.2", "Everything")


@pytest.mark.parametrize("name", ["echo", "fail", "crash"])
def test_a_failed_tool_has_a_complete_result(connect: Connect, name: str) -> None:
    """S26-BASE-04, S26-BASE-21: also what failed in-band is a complete result with a serverInfo."""
    result = connect().call_tool(name, {"text": "x"} if name == "echo" else {})
    assert result.raw["resultType"] == "complete"
    assert result.meta[PREFIX + "serverInfo"]["name"] == "everything"


# --- errors ---------------------------------------------------------------------------------------


def refusals(client: Client) -> Iterator[HTTPReply]:
    """One of each kind."""
    yield client.post(b"{")
    yield client.post([])
    yield client.http("GET")
    yield client.post(client.message("tools/list"), headers={"Content-Type": "text/plain"})
    yield client.post(client.message("tools/list"), headers={"Origin": "https://evil.example"})
    yield client.post({"jsonrpc": "2.0", "id": 1})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("nope", {}),
        ("tools/call", {"name": "echo", "arguments": 5}),
        ("tools/call", {"name": "n" * 5000}),
        ("tools/call", {"name": "echo", "arguments": []}),
        ("tools/list", {"cursor": "x"}),
        ("resources/read", {"uri": "other://x"}),
        ("resources/read", {"uri": "note://crash"}),
        ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "ask"}),
        ("completion/complete", {}),
    ]
    for method, params in calls:
        yield send(client, method, params)


def test_error_messages_are_one_concise_sentence(connect: Connect, revision: str) -> None:
    """S26-BASE-07: whatever is refused, in one line that can be shown."""
    for reply in refusals(connect(revision=revision)):
        message = refusal(reply)["message"]
        assert 0 < len(message) < 300
        assert message.isprintable()


def test_the_standard_codes_have_their_meaning(connect: Connect, revision: str) -> None:
    """S26-BASE-08: -32700, -32600, -32601, -32602 and -32603 as JSON-RPC has them."""
    client = connect(revision=revision)
    codes = [refusal(reply)["code"] for reply in refusals(client)]
    not_found = -32602 if revision == MODERN else -32002
    assert codes[0] == -32700
    assert codes[1:6] == [-32600] * 5
    assert codes[6:] == [-32601, -32602, -32602, -32602, -32602, not_found, -32603, -32602, -32602, -32602]


@pytest.mark.parametrize("method", list(CALLS))
def test_a_method_behind_a_capability_that_is_missing_does_not_exist(connect: Connect, method: str) -> None:
    """S26-BASE-08, S26-VER-04, S26-COMP-01: -32601 unless the capability is advertised."""
    empty = connect(Handler())
    assert refused(send(empty, method)) == (404, -32601)
    assert set(empty.discover().raw["capabilities"]) == {"logging"}


@pytest.mark.parametrize("code", [-32099, -32050, -32042, -32023, -32019 - 4])
def test_codes_that_mcp_reserves_are_not_sent(connect: Connect, code: int) -> None:
    """S26-BASE-09, S26-BASE-10: a handler that raises one of them has failed, and the client is told so."""
    client = connect()
    with pytest.raises(ProtocolError) as caught:
        client.call_tool("refuse", code=code)
    assert (caught.value.code, caught.value.http_status) == (-32603, 200)


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_codes_that_mcp_assigned_are_a_400(connect: Connect, code: int) -> None:
    """S26-BASE-09: they pass, with their HTTP status."""
    mcp = MCPServer("coded")
    data: dict[str, Any] = {"supported": [], "requested": "x"} if code == -32022 else {"requiredCapabilities": {}}

    @mcp.tool
    def refuse() -> str:
        raise MCPError("no", code=code, data=data)

    assert refused(send(connect(mcp), "tools/call", {"name": "refuse"})) == (400, code)


def test_the_old_code_of_an_unknown_resource_becomes_todays(connect: Connect, revision: str) -> None:
    """S26-BASE-10: -32002 belongs to the session era."""
    client = connect(revision=revision)
    with pytest.raises(ProtocolError) as caught:
        client.call_tool("refuse", code=-32002)
    assert caught.value.code == (-32602 if revision == MODERN else -32002)


@pytest.mark.parametrize("code", [42, -31999, -32769, 0])
def test_an_applications_own_codes_pass_unchanged(connect: Connect, revision: str, code: int) -> None:
    """S26-BASE-11: own codes lie outside -32768...-32000."""
    with pytest.raises(ProtocolError) as caught:
        connect(revision=revision).call_tool("refuse", code=code)
    assert (caught.value.code, caught.value.data, caught.value.http_status) == (code, {"why": "asked"}, 200)


def test_none_of_our_own_errors_uses_a_code_that_is_discouraged() -> None:
    """S26-BASE-11: nothing in -32000...-32019, nothing that is not assigned."""
    kinds = [getattr(errors, name) for name in errors.__all__]
    codes = {kind.code for kind in kinds if issubclass(kind, MCPError)}
    assert codes == {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}


def test_the_data_of_an_error_that_json_cannot_say_is_left_out(connect: Connect, revision: str) -> None:
    """S26-BASE-06: a NaN, or half a surrogate pair, does not turn an answer into none."""
    mcp = MCPServer("odd")

    @mcp.tool
    def refuse() -> str:
        raise MCPError("no \ud800", code=5, data={"value": float("nan")})

    with pytest.raises(ProtocolError) as caught:
        connect(mcp, revision).call_tool("refuse")
    assert (caught.value.code, caught.value.message, caught.value.data) == (5, "no ?", None)


# --- _meta of a request ---------------------------------------------------------------------------


@pytest.mark.parametrize("lacking", ["protocolVersion", "clientCapabilities"])
def test_a_modern_request_needs_its_envelope(connect: Connect, lacking: str) -> None:
    """S26-BASE-14: -32602 and 400 without a protocolVersion or clientCapabilities, or with a wrong type."""
    client = connect()
    message = client.message("tools/list")
    meta = message["params"]["_meta"]
    wrongs: list[Any] = [None, 5, []]
    for wrong in wrongs:
        meta[PREFIX + lacking] = wrong
        assert refused(client.post(message)) == (400, -32602)
    del meta[PREFIX + lacking]
    assert refused(client.post(message)) == (400, -32602)


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": None}, {"_meta": []}, {"_meta": "x"}])
def test_a_modern_request_without_meta_is_told_the_versions(connect: Connect, params: Any) -> None:
    """S26-BASE-14, Q-07: header 2026-07-28 and no ``_meta`` is -32602; the text names what is served."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    if params is not None:
        message["params"] = params
    reply = connect().post(message)
    assert refused(reply) == (400, -32602)
    assert params is None or params == {"_meta": {}} or MODERN in refusal(reply)["message"]


def test_client_info_is_optional_and_steers_nothing(connect: Connect) -> None:
    """S26-BASE-15, S26-BASE-16: the answer is the same for a stranger."""
    client = connect()
    bodies = []
    for info in (None, {"name": "a", "version": "1"}, {"name": "Claude", "version": "9", "title": "x"}):
        message = {**client.message("tools/list"), "id": 1}
        message["params"]["_meta"].pop(PREFIX + "clientInfo")
        if info is not None:
            message["params"]["_meta"][PREFIX + "clientInfo"] = info
        reply = client.post(message)
        assert reply.status == 200
        bodies.append(reply.body)
    assert bodies[0] == bodies[1] == bodies[2]


@pytest.mark.parametrize("wrong", ["x", 5, [], True])
def test_client_info_of_a_wrong_type_is_a_wrong_envelope(connect: Connect, wrong: object) -> None:
    """S26-BASE-14: 400 and -32602, as for the rest of the envelope."""
    client = connect()
    message = client.message("tools/list")
    message["params"]["_meta"][PREFIX + "clientInfo"] = wrong
    assert refused(client.post(message)) == (400, -32602)


def test_nothing_is_remembered_of_earlier_requests(connect: Connect) -> None:
    """S26-BASE-18: version, client and capabilities are those of each request alone."""
    mcp = MCPServer("memory")

    @mcp.tool
    def client(ctx: Context) -> dict[str, Any]:
        return {"info": dict(ctx.client.info), "capabilities": dict(ctx.client.capabilities)}

    first = connect(mcp, capabilities={"roots": {}}, client_info={"name": "a", "version": "1"})
    assert first.call_tool("client").structured == {
        "info": {"name": "a", "version": "1"},
        "capabilities": {"roots": {}},
    }
    message = first.message("tools/call", {"name": "client"})
    message["params"]["_meta"] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
    assert first.post(message).json["result"]["structuredContent"] == {"info": {}, "capabilities": {}}
    del message["params"]["_meta"]
    assert refused(first.post(message)) == (400, -32602)


def test_state_does_not_outlive_a_modern_call(connect: Connect) -> None:
    """S26-BASE-19: what spans requests is named by the client each time; here it names nothing."""
    mcp = MCPServer("state")

    @mcp.tool
    def count(ctx: Context) -> int:
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        return int(ctx.state["n"])

    client = connect(mcp)
    assert [client.call_tool("count").text for _ in range(3)] == ["1", "1", "1"]


def test_any_process_serves_the_next_request_of_a_conversation(connect: Connect, revision: str) -> None:
    """S26-BASE-20, W-07: two applications with one key share even the pages of a list."""
    one, two = (connect(everything(), revision, page_size=2, secret_key="k" * 16) for _ in range(2))
    first = one.page("tools")
    second = two.page("tools", first.next_cursor)
    third = one.page("tools", second.next_cursor)
    assert [*first.names, *second.names, *third.names] == everything_names(one)


def everything_names(client: Client) -> list[str]:
    return client.list_tools().names


def test_unknown_values_at_reserved_keys_are_left_alone(connect: Connect, revision: str) -> None:
    """S26-BASE-24: of a reserved key that is not defined here, nothing is assumed."""
    meta = {PREFIX + "later": [1], "mcp.dev/x": None, "modelcontextprotocol.io/y": 5, "traceparent": "odd"}
    assert connect(revision=revision).call_tool("echo", text="hi", meta=meta).text == "hi"


# --- _meta of our own -----------------------------------------------------------------------------

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    "key", ["name", "a", "com.example/name", "x-y.z1/n.a_m-e", "example/1", "dev.example.mcp/x", "traceparent"]
)
def test_meta_keys_of_an_application_are_sent(connect: Connect, revision: str, key: str) -> None:
    """S26-BASE-22, S26-BASE-25: well-formed keys outside of what is reserved."""
    value = TRACE if key == "traceparent" else {"any": [1]}
    mcp = MCPServer("meta")
    mcp.add_tool(lambda: "x", name="x", meta={key: value})
    listed = connect(mcp, revision).list_tools()["x"]
    assert listed.get("_meta") == (None if revision == "2025-03-26" else {key: value})


@pytest.mark.parametrize(
    "key", ["", "/x", "a/", "-a/x", "a-/x", "1a/x", "a..b/x", "a b/x", "x/y/z", "é", "_x", "x_", "a/-x", "a_b/x"]
)
def test_malformed_meta_keys_are_refused_where_they_are_written(key: str) -> None:
    """S26-BASE-22: labels and names of letters, digits and inner marks."""
    with pytest.raises(RegistrationError, match="meta"):
        Tool(name="x", meta={key: 1})


@pytest.mark.parametrize(
    "key",
    [
        "io.modelcontextprotocol/x",
        "com.mcp/x",
        "io.modelcontextprotocol.more/x",
        "tools.mcp.com/x",
        "mcp.dev/x",
        "modelcontextprotocol.io/x",
        "a.b.mcp.c/x",
    ],
)
def test_meta_prefixes_of_mcp_are_refused(key: str) -> None:
    """S26-BASE-23, T25-BASE-09: where any revision reserves a prefix, it is not ours to use."""
    with pytest.raises(RegistrationError, match="reserved"):
        Tool(name="x", meta={key: 1})


@pytest.mark.parametrize("key", ["traceparent", "tracestate", "baggage"])
def test_trace_keys_hold_what_w3c_says(key: str) -> None:
    """S26-BASE-25: a wrong value is refused where it is written."""
    with pytest.raises(RegistrationError, match=key):
        Tool(name="x", meta={key: {"not": "text"}})


# --- the session era ------------------------------------------------------------------------------

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_the_oldest_revision_takes_batches(connect: Connect) -> None:
    """T25-BASE-06: an array is answered by an array, one answer for each request."""
    client = connect(revision="2025-03-26")
    batch = [
        PING,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": CALLS["tools/call"]},
        {"jsonrpc": "2.0", "id": 3, "method": "nope"},
    ]
    for headers in ({}, {"MCP-Protocol-Version": "2025-03-26"}):
        answers = {answer["id"]: answer for answer in client.post(batch, headers=headers).json}
        assert answers.keys() == {1, "b", 3}
        assert answers[1]["result"] == {}
        assert answers["b"]["result"]["content"][0]["text"] == "hi"
        assert answers[3]["error"]["code"] == -32601


@pytest.mark.parametrize("later", ["2025-06-18", "2025-11-25", MODERN])
def test_later_revisions_take_none(connect: Connect, later: str) -> None:
    """T25-BASE-07, S26-HTTP-04: one message in a body."""
    client = connect(revision=later)
    for batch in ([PING], [PING, PING], [client.message("tools/list")]):
        assert refused(client.post(batch)) == (400, -32600)


def test_initialize_does_not_hide_in_a_batch(connect: Connect) -> None:
    """T25-BASE-08: that item is refused, the others are served."""
    params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    initialize = {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params}
    ping, refused_item = connect(unjudged(everything()), "2025-03-26").post([PING, initialize]).json
    assert ping["result"] == {}
    assert (refused_item["id"], refused_item["error"]["code"]) == (2, -32600)


def test_ping_is_answered_at_any_time(connect: Connect, session_revision: str) -> None:
    """T25-BASE-10: with an empty result, also before the conversation was opened."""
    assert connect(revision=session_revision).post(PING).json["result"] == {}
    assert connect(revision=session_revision).ping().raw == {}


def test_every_answer_has_a_result_or_an_error(connect: Connect, session_revision: str) -> None:
    """T25-BASE-03: exactly one of them."""
    client = connect(revision=session_revision)
    for method in (*CALLS, "nope", "ping"):
        (answer,) = send(client, method).messages
        assert ("result" in answer) + ("error" in answer) == 1


def test_all_revisions_are_told_apart() -> None:
    """S26-BASE-01: the tests above run on every revision that is served."""
    assert SUPPORTED == (MODERN, "2025-11-25", "2025-06-18", "2025-03-26")
