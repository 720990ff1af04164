"""The modern endpoint: which messages are its own, and in which order it checks them."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_wsgi import Handler, MCPServer, Resource
from mcp_wsgi.errors import MCPError
from mcp_wsgi.jsonrpc import parse
from mcp_wsgi.revisions import REVISIONS
from mcp_wsgi.testing import Client
from mcp_wsgi.wsgi.modern import is_modern, status_of
from tests.spec.kit import MODERN, PREFIX, refusal, refused, send
from tests.wsgi.raw import raw

META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"_meta": META}}
NOTIFICATION = {"jsonrpc": "2.0", "method": "initialize", "params": {"_meta": META}}
RESPONSE = {"jsonrpc": "2.0", "id": 1, "result": {"_meta": META}}


def plain(message: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """The message with another ``_meta``, or with none."""
    return {**message, "params": {"_meta": meta["meta"]} if meta else {}}


@pytest.mark.parametrize(
    ("body", "version", "modern"),
    [
        (REQUEST, None, True),
        (REQUEST, "2025-11-25", True),
        (NOTIFICATION, None, True),
        (plain(REQUEST), MODERN, True),
        (plain(NOTIFICATION), MODERN, True),
        (RESPONSE, MODERN, True),
        ([plain(REQUEST)], MODERN, True),
        ({"jsonrpc": "2.0", "id": None}, MODERN, True),
        ([plain(REQUEST), REQUEST], None, True),
        (plain(REQUEST, meta={PREFIX + "protocolVersion": None}), None, True),
        (plain(REQUEST), None, False),
        (plain(REQUEST), "2025-03-26", False),
        (plain(REQUEST, meta={PREFIX + "clientCapabilities": {}}), None, False),
        (plain(REQUEST, meta=[PREFIX + "protocolVersion"]), None, False),
        (plain(REQUEST, meta=PREFIX + "protocolVersion"), None, False),
        (RESPONSE, None, False),
        ([plain(REQUEST), RESPONSE, 5], None, False),
        ({"jsonrpc": "2.0", "id": None}, None, False),
    ],
)
def test_a_message_is_modern_by_its_version_header_or_its_meta(body: Any, version: str | None, modern: bool) -> None:
    message = parse(json.dumps(body).encode())
    assert is_modern(message, None if version is None else REVISIONS[version]) is modern


@pytest.mark.parametrize(
    ("code", "status"),
    [(-32601, 404), (-32020, 400), (-32021, 400), (-32022, 400), (-32602, 200), (-32603, 200), (-32700, 200), (5, 200)],
)
def test_a_code_has_the_status_that_the_protocol_names(code: int, status: int) -> None:
    assert status_of(code) == status


# --- the order of the checks ----------------------------------------------------------------------

PARAM = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}, "additionalProperties": False}


@pytest.fixture
def client() -> Client:
    mcp = MCPServer("order")

    @mcp.tool(input_schema=PARAM)
    def work(arguments: dict[str, Any]) -> str:
        raise MCPError("ran", code=9)

    return Client(mcp)


#: What is wrong with a request, in the order in which it is found: change of the message, change of the
#: headers, and the answer.
FAULTS: list[tuple[dict[str, Any], dict[str, str | None], int, int]] = [
    ({"id": None}, {}, 400, -32600),
    ({"meta": {PREFIX + "protocolVersion": "v999"}}, {}, 400, -32602),
    ({}, {"MCP-Protocol-Version": "v998"}, 400, -32020),
    ({}, {"Mcp-Method": "other"}, 400, -32020),
    ({}, {"Mcp-Name": "other"}, 400, -32020),
    ({"version": "v999"}, {"MCP-Protocol-Version": "v999"}, 400, -32022),
    ({"method": "prompts/get"}, {"Mcp-Method": "prompts/get"}, 404, -32601),
    ({"progressToken": 1.5}, {}, 400, -32602),
    ({"arguments": 5}, {}, 200, -32602),
    ({"name": "nope"}, {"Mcp-Name": "nope"}, 200, -32602),
    ({}, {"Mcp-Param-N": "4"}, 400, -32020),
    ({}, {}, 200, 9),
]


def with_faults(client: Client, faults: list[tuple[dict[str, Any], dict[str, str | None], int, int]]) -> Any:
    message = copy.deepcopy(client.message("tools/call", {"name": "work", "arguments": {"n": 3}}))
    headers: dict[str, str | None] = {"Mcp-Param-N": "3", "Mcp-Method": "tools/call", "Mcp-Name": "work"}
    for changes, fields, _, _ in reversed(faults):
        headers.update(fields)
        for key, value in changes.items():
            if key == "version":
                message["params"]["_meta"][PREFIX + "protocolVersion"] = value
            elif key == "progressToken":
                message["params"]["_meta"][key] = value
            elif key == "meta":
                message["params"]["_meta"] = value
            else:
                (message["params"] if key in ("name", "arguments") else message)[key] = value
    return client.post(message, headers=headers)


@pytest.mark.parametrize("rung", range(len(FAULTS)))
def test_the_first_fault_in_order_decides_the_answer(client: Client, rung: int) -> None:
    """Q-03, S26-HTTP-26: from the shape over ``_meta`` and the headers to the method and its parameters."""
    assert refused(with_faults(client, FAULTS[rung:])) == FAULTS[rung][2:]


@pytest.mark.parametrize("rung", range(len(FAULTS)))
def test_each_fault_alone_is_found(client: Client, rung: int) -> None:
    """Q-03: none of them hides behind another."""
    assert refused(with_faults(client, FAULTS[rung : rung + 1])) == FAULTS[rung][2:]


def test_two_versions_that_are_not_served_differ_before_they_are_unknown(client: Client) -> None:
    """Q-03: the header is compared with ``_meta`` first; equal and unknown is about the version."""
    message = client.message("tools/list")
    message["params"]["_meta"][PREFIX + "protocolVersion"] = "v999"
    assert refused(client.post(message, headers={"MCP-Protocol-Version": "v998"})) == (400, -32020)
    assert refused(client.post(message, headers={"MCP-Protocol-Version": MODERN})) == (400, -32020)
    assert refused(client.post(message, headers={"MCP-Protocol-Version": "v999"})) == (400, -32022)


def test_a_notification_of_any_content_is_accepted(client: Client) -> None:
    message: dict[str, Any]
    for message in (
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"method": "nope", "params": {"_meta": {PREFIX + "protocolVersion": "v999"}}},
        {"method": "tools/call"},
    ):
        assert client.post({"jsonrpc": "2.0", **message}, headers={"Mcp-Method": None}).status == 202


def test_a_broken_message_is_answered_with_the_id_it_has(client: Client) -> None:
    reply = client.post({"jsonrpc": "2.0", "id": "x", "method": 5})
    assert (refused(reply), reply.json["id"]) == ((400, -32600), "x")
    assert refused(client.post({"jsonrpc": "2.0", "id": 1, "result": {}})) == (400, -32600)


def test_a_handler_that_cannot_say_what_it_offers_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Handler):
        def features(self) -> Any:
            raise RuntimeError("secret")

    caplog.set_level("INFO", "mcp_wsgi")
    client = Client(Broken())
    for method in ("tools/list", "server/discover"):
        reply = send(client, method)
        assert refusal(reply)["code"] == -32603
        assert "secret" not in reply.text
    assert [record.exc_info is not None for record in caplog.records] == [True, True]


@pytest.mark.parametrize("place", ["features", "catalogue", "may_subscribe"])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_whatever_a_handler_raises_on_the_servers_thread_fails_its_request_alone(
    place: str, error: BaseException
) -> None:
    def raising(*arguments: Any) -> Any:
        raise error

    mcp = MCPServer("broken")
    mcp.add_tool(lambda: "x", name="work")
    mcp.add_resource(Resource(name="a", uri="note://a"), "x")
    setattr(mcp, place, raising)
    client = Client(mcp.wsgi_app(workers="threads"))
    params = {"notifications": {"resourceSubscriptions": ["note://a"]}} if place == "may_subscribe" else {}
    method = "subscriptions/listen" if params else "tools/list"
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(send, client, method, params).result(10)
    assert refusal(reply)["code"] == -32603


def test_a_message_in_latin_1_headers_is_compared_as_it_came(client: Client) -> None:
    """A server hands header text over as Latin-1; UTF-8 in it is no plain ASCII and is refused."""
    message = client.message("resources/read", {"uri": "x:é"})
    got = raw(
        client._transport.app,  # type: ignore[attr-defined]
        message,
        HTTP_MCP_PROTOCOL_VERSION=MODERN,
        HTTP_MCP_METHOD="resources/read",
        HTTP_MCP_NAME="x:é".encode().decode("latin-1"),
    )
    assert (got.status, got.code) == (400, -32020)
