"""What a client sends, as a server of ours gets it."""

from __future__ import annotations

import base64
import datetime
import enum
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Context, Handler, MCPServer
from mcp_wsgi.handler import PromptRef, ResourceRef
from mcp_wsgi.requests import header_parameters, header_text
from mcp_wsgi.revisions import LEGACY, MODERN
from mcp_wsgi.testing import Client, ProtocolError
from tests.clients import REGION, Spy, kit

NEWEST = MODERN[0].name
NEWEST_LEGACY = LEGACY[0].name


@pytest.fixture
def mcp() -> MCPServer:
    return kit()


# --- messages -------------------------------------------------------------------------------------


def test_a_message_may_carry_params_and_meta_of_its_own(mcp: MCPServer) -> None:
    modern, legacy = Client(mcp), Client(mcp, revision=NEWEST_LEGACY)
    key = "io.modelcontextprotocol/protocolVersion"
    assert modern.message("x", {"_meta": {key: "other"}})["params"]["_meta"][key] == "other"
    assert modern.message("x", meta={key: "other"})["params"]["_meta"][key] == "other"
    assert legacy.message("x") == {"jsonrpc": "2.0", "id": 1, "method": "x"}
    assert legacy.message("x", {"a": 1}, meta={"b": 2})["params"] == {"a": 1, "_meta": {"b": 2}}


def test_client_info_capabilities_and_meta_are_told(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    client = Client(spy, client_info={"name": "me", "version": "1"}, capabilities={"roots": {}})
    assert client.call_tool("whoami", meta={"x/y": "z"}).text == "None me z"
    sent = spy.bodies[-1]["params"]["_meta"]
    assert sent["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}


def test_arguments_are_written_as_json_has_them(mcp: MCPServer) -> None:
    class Mood(enum.Enum):
        FINE = "fine"

    assert Client(mcp).call_tool("when", day=datetime.date(2031, 1, 2), mood=Mood.FINE).text == "2031 fine"


def test_an_argument_that_json_cannot_say_is_refused_before_it_is_sent(mcp: MCPServer) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Client(mcp).call_tool("add", a=float("nan"), b=1)


@pytest.mark.parametrize(
    ("ref", "argument"),
    [
        ("ask", "tone"),
        (PromptRef("ask"), "tone"),
        ("kit://item/{number}", "number"),
        (ResourceRef("kit://item/{number}"), "number"),
    ],
)
def test_a_completion_is_asked_for_a_prompt_or_a_template(ref: Any, argument: str) -> None:
    class Echo(Handler):
        def complete(self, ref: Any, argument: Any, context: Any, ctx: Context) -> list[str]:
            return [type(ref).__name__, argument.name, argument.value, *context.values()]

    reply = Client(Echo()).complete(ref, argument, "v", {"other": "o"})
    kind = "PromptRef" if argument == "tone" else "ResourceRef"
    assert reply.values == [kind, argument, "v", "o"]


# --- header fields --------------------------------------------------------------------------------


def test_headers_can_be_replaced_and_left_out(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    client = Client(spy)
    message = client.message("tools/list")
    refused = client.post(message, headers={"mcp-method": None})
    assert (refused.status, refused.json["error"]["code"]) == (400, -32020)
    assert client.post(message, headers={"MCP-METHOD": "Tools/List"}).status == 400
    assert client.post(message, headers={"content-type": "text/plain"}).status == 415
    assert spy.header("Mcp-Method") == "tools/list"


def test_headers_and_environ_go_with_every_request(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    Client(spy, headers={"authorization": "Bearer x"}, environ={"REMOTE_ADDR": "10.0.0.1"}).list_tools()
    assert (spy.header("Authorization"), spy.seen[-1]["REMOTE_ADDR"]) == ("Bearer x", "10.0.0.1")


def test_the_oldest_revision_sends_no_version_header(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    Client(spy, revision="2025-03-26").ping()
    assert spy.header("MCP-Protocol-Version") is None


def test_a_modern_request_carries_its_headers_and_meta(mcp: MCPServer) -> None:
    """S26-HTTP-14, S26-HTTP-18, S26-BASE-14."""
    spy = Spy(mcp)
    client = Client(spy)
    client.discover()
    assert (spy.header("MCP-Protocol-Version"), spy.header("Mcp-Method")) == (NEWEST, "server/discover")
    assert spy.header("Mcp-Name") is None
    meta = spy.bodies[-1]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == NEWEST
    assert set(meta) == {
        f"io.modelcontextprotocol/{n}" for n in ("protocolVersion", "clientInfo", "clientCapabilities")
    }


def test_the_name_header_repeats_name_or_uri(mcp: MCPServer) -> None:
    """S26-HTTP-19."""
    spy = Spy(mcp)
    client = Client(spy)
    client.call_tool("add", a=1, b=1)
    assert spy.header("Mcp-Name") == "add"
    client.get_prompt("ask", topic="x")
    assert spy.header("Mcp-Name") == "ask"
    client.read_resource("kit://text")
    assert spy.header("Mcp-Name") == "kit://text"


def test_a_name_that_is_no_header_text_is_wrapped(mcp: MCPServer) -> None:
    """S26-HTTP-22."""
    spy = Spy(mcp)
    with pytest.raises(ProtocolError, match="Resource not found"):
        Client(spy).read_resource("kit://\u00e9")
    assert spy.header("Mcp-Name") == "=?base64?a2l0Oi8vw6k=?="


def test_annotated_arguments_are_repeated_in_headers(mcp: MCPServer) -> None:
    """S26-HTTP-26, S26-HTTP-27, S26-HTTP-30."""
    spy = Spy(mcp)
    client = Client(spy)
    client.list_tools()
    client.call_tool("deploy", region="Z\u00fcrich", deep={"n": 3}, dry=False)
    assert spy.header("Mcp-Param-Region") == "=?base64?WsO8cmljaA==?="
    assert (spy.header("Mcp-Param-N"), spy.header("Mcp-Param-Dry")) == ("3", "false")
    client.call_tool("deploy", region="x", deep=None)
    assert (spy.header("Mcp-Param-Region"), spy.header("Mcp-Param-N")) == ("x", None)


def test_an_annotated_tool_that_was_not_listed_is_listed_and_called_again(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    assert json.loads(Client(spy).call_tool("deploy", region="x").text) == {"region": "x"}
    assert [body["method"] for body in spy.bodies] == ["tools/call", "tools/list", "tools/call"]


def test_a_header_that_does_not_fit_is_refused(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    client = Client(spy, headers={"Mcp-Param-Region": "other"})
    client.list_tools()
    with pytest.raises(ProtocolError) as caught:
        client.call_tool("deploy", region="x")
    assert (caught.value.code, caught.value.http_status) == (-32020, 400)
    assert len(spy.seen) == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain text", "plain text"),
        ("", ""),
        ("a\tb", "a\tb"),
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        ("a\n", "=?base64?YQo=?="),
        ("\u00e9", "=?base64?w6k=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("=?BASE64?YQ==?=", "=?BASE64?YQ==?="),
        (42, "42"),
        (42.0, "42"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_values_are_written_as_headers(value: object, expected: str) -> None:
    """S26-HTTP-22, S26-HTTP-28."""
    assert header_text(value) == expected


@given(st.text())
def test_any_text_survives_a_header(text: str) -> None:
    """S26-HTTP-21, S26-HTTP-22, S26-HTTP-24: as a server reads it, trimmed and then unwrapped."""
    written = header_text(text)
    assert all(mark == "\t" or " " <= mark <= "~" for mark in written)
    read = written.strip(" \t")
    if read.startswith("=?base64?") and read.endswith("?="):
        read = base64.b64decode(read[9:-2], validate=True).decode("utf-8", "surrogatepass")
    assert read == text


def test_annotations_are_found_along_properties_only() -> None:
    """S26-HTTP-30, S26-HTTP-34."""
    assert dict(header_parameters(REGION)) == {"Region": ("region",), "N": ("deep", "n"), "Dry": ("dry",)}
    elsewhere = {"properties": {"a": {"items": {"x-mcp-header": "A"}}, "b": True, "c": {"x-mcp-header": 1}}}
    assert list(header_parameters(elsewhere)) == []
    assert list(header_parameters({"properties": []})) == []
