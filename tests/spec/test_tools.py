"""Requirements, group 8: tools."""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from mcp_wsgi import (
    Audio,
    Context,
    EmbeddedResource,
    Handler,
    Image,
    MCPServer,
    ResourceContents,
    ResourceLink,
    Text,
    Tool,
    ToolError,
    ToolResult,
)
from mcp_wsgi.errors import MCPError, RegistrationError
from mcp_wsgi.testing import ProtocolError, ToolReply
from tests.spec.kit import MODERN, Connect, everything, refused, send

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
WAV = b"RIFF\x00\x00\x00\x00WAVE" + bytes(8)
TOOLS = ["echo", "add", "fail", "crash", "refuse", "chat"]


def serving(function: Callable[..., Any], **options: Any) -> MCPServer:
    """A server with one tool, ``work``."""
    mcp = MCPServer("one")
    mcp.add_tool(function, name="work", **options)
    return mcp


# --- listing --------------------------------------------------------------------------------------


def test_a_list_may_be_empty_where_tools_are_declared(connect: Connect, revision: str) -> None:
    """S26-TOOL-01, T25-TOOL-01: declared and answered."""

    class Later(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            return []

    client = connect(Later(), revision)
    opened = client.discover() if revision == MODERN else client.initialize()
    assert "tools" in opened.raw["capabilities"]
    assert client.request("tools/list").raw["tools"] == []


def test_a_list_does_not_change_by_what_is_asked(connect: Connect, revision: str) -> None:
    """S26-TOOL-02, S26-RES-02, S26-TOOL-03: the same order, whoever asks and whatever was called."""
    app = everything().wsgi_app(workers="inline")
    first = connect(app, revision).list_tools()
    assert first.names == TOOLS
    for name in ("fail", "crash"):
        connect(app, revision).call_tool(name)
    other = connect(app, revision, capabilities={"roots": {}}, client_info={"name": "other", "version": "1"})
    assert list(other.list_tools()) == list(first)


@pytest.mark.parametrize("name", ["a", "A-b_c.1", "x" * 128, "Echo", "ECHO", "0"])
def test_names_have_a_small_alphabet(connect: Connect, revision: str, name: str) -> None:
    """S26-TOOL-04, T25-TOOL-05: 1 to 128 letters, digits and ``_-.``; their case counts."""
    mcp = everything()
    mcp.add_tool(lambda: name, name=name)
    client = connect(mcp, revision)
    assert client.list_tools().names == [*TOOLS, name]
    assert client.call_tool(name).text == name


@pytest.mark.parametrize("name", ["", "x" * 129, "a b", "a,b", "é", "a/b", "a:b", "a\n"])
def test_other_names_are_refused_where_they_are_written(name: str) -> None:
    """S26-TOOL-04, T25-TOOL-05: spaces and commas among them."""
    with pytest.raises(RegistrationError, match="name"):
        everything().add_tool(lambda: "x", name=name)


def test_a_name_is_given_once() -> None:
    """S26-TOOL-04: unique in the server."""
    with pytest.raises(RegistrationError, match="twice"):
        everything().add_tool(lambda: "x", name="echo")


def test_every_input_schema_is_an_object(connect: Connect, revision: str) -> None:
    """S26-TOOL-05: root ``type: object``; without parameters nothing is admitted."""
    for tool in connect(revision=revision).list_tools():
        assert tool["inputSchema"]["type"] == "object"
    schema = connect(serving(lambda: "x"), revision).list_tools()["work"]["inputSchema"]
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    with pytest.raises(RegistrationError, match="type"):
        Tool(name="x", input_schema={"type": "string"})


RICH: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "kind": {"type": "string", "enum": ["person", "company"]},
    },
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "if": {"properties": {"kind": {"const": "company"}}, "required": ["kind"]},
    "then": {"required": ["name"]},
    "else": {"properties": {"name": {"minLength": 1}}},
    "additionalProperties": False,
}


def test_a_hand_written_schema_arrives_whole(connect: Connect) -> None:
    """S26-TOOL-06: ``$schema``, ``$defs``, ``$anchor``, compositions and conditions, as they were written."""
    mcp = MCPServer("rich")
    mcp.add_tool(lambda arguments: "x", name="work", input_schema=RICH)
    listed = connect(mcp).list_tools()["work"]["inputSchema"]
    assert {key: value for key, value in listed.items() if key != "properties"} == {
        key: value for key, value in RICH.items() if key != "properties"
    }
    assert listed["properties"].keys() == RICH["properties"].keys()


def test_annotations_are_sent_as_written_and_defaults_are_left_out(connect: Connect, revision: str) -> None:
    """S26-TOOL-14: hints are the client's to interpret; a title stands beside the name from 2025-06-18."""
    mcp = serving(lambda: "x", title="Work", annotations={"readOnlyHint": True, "title": "Older title"})
    tool = connect(mcp, revision).list_tools()["work"]
    assert tool["annotations"] == {"readOnlyHint": True, "title": "Older title"}
    assert tool.get("title") == (None if revision == "2025-03-26" else "Work")
    assert "annotations" not in connect(revision=revision).list_tools()["echo"]


# --- results --------------------------------------------------------------------------------------


@dataclass
class Stock:
    item: str
    left: int


def stock() -> Stock:
    return Stock("tea", 3)


def test_structured_content_conforms_to_the_output_schema(connect: Connect) -> None:
    """S26-TOOL-07, S26-TOOL-08: and its JSON stands in a text block, too."""
    client = connect(serving(stock))
    schema = client.list_tools()["work"]["outputSchema"]
    reply = client.call_tool("work")
    jsonschema.Draft202012Validator(schema).validate(reply.structured)
    assert reply.structured == {"item": "tea", "left": 3}
    assert json.loads(reply.text) == reply.structured


@pytest.mark.parametrize(
    "value", [{"item": "tea"}, {"item": "tea", "left": "three"}, [], "tea", None, {"left": float("nan")}]
)
def test_what_does_not_conform_is_not_sent(connect: Connect, value: Any) -> None:
    """S26-TOOL-07, T25-TOOL-03: the model is told that the tool failed."""
    schema = {
        "type": "object",
        "properties": {"item": {"type": "string"}, "left": {"type": "integer"}},
        "required": ["item", "left"],
    }
    reply = connect(serving(lambda: value, output_schema=schema)).call_tool("work")
    assert reply.is_error
    assert reply.structured is None


@pytest.mark.parametrize("value", [[1, 2], 5, True, ["a"], 1.5, [], [{"a": 1}]])
def test_lists_and_plain_values_are_always_said_in_text_too(connect: Connect, revision: str, value: Any) -> None:
    """S26-TOOL-09, T25-TOOL-06: a client of the session era sees nothing else of them."""
    schema = {"type": ["array", "number", "boolean"]}
    client = connect(serving(lambda: value, output_schema=schema), revision)
    reply = client.call_tool("work")
    if value == ["a"]:
        assert reply.text == '["a"]'
    assert json.loads(reply.text) == value
    assert reply.structured == (value if revision == MODERN else None)
    assert ("outputSchema" in client.list_tools()["work"]) is (revision == MODERN)


def test_structured_objects_came_with_2025_06_18(connect: Connect, session_revision: str) -> None:
    """T25-TOOL-03: an ``outputSchema`` of root type object, and an object that conforms; before, only its text."""
    client = connect(serving(stock), session_revision)
    reply, tool = client.call_tool("work"), client.list_tools()["work"]
    assert json.loads(reply.text) == {"item": "tea", "left": 3}
    if session_revision == "2025-03-26":
        assert reply.structured is None
        assert "outputSchema" not in tool
    else:
        assert reply.structured == {"item": "tea", "left": 3}
        assert tool["outputSchema"]["type"] == "object"


def blocks(revision: str, connect: Connect) -> ToolReply:
    mcp = serving(
        lambda: [
            Text("hi", meta={"a": 1}),
            Image(PNG),
            Audio(WAV),
            EmbeddedResource(ResourceContents("note://x", text="milk")),
            ResourceLink("note://y", "y", title="Y"),
        ]
    )
    return connect(mcp, revision).call_tool("work")


def test_content_is_what_the_revision_has(connect: Connect, revision: str) -> None:
    """T25-TOOL-04, S26-TOOL-12: 2025-03-26 has neither links nor titles; a link is told in text there."""
    kinds = [block["type"] for block in blocks(revision, connect).content]
    oldest = revision == "2025-03-26"
    assert kinds == ["text", "image", "audio", "resource", "text" if oldest else "resource_link"]
    link = blocks(revision, connect).content[-1]
    assert ("note://y" in link["text"]) if oldest else (link["title"] == "Y")


def test_images_and_sounds_are_base64_with_a_type(connect: Connect, revision: str) -> None:
    """S26-TOOL-13: of the very bytes."""
    _, image, audio, *_ = blocks(revision, connect).content
    assert (base64.b64decode(image["data"], validate=True), image["mimeType"]) == (PNG, "image/png")
    assert (base64.b64decode(audio["data"], validate=True), audio["mimeType"]) == (WAV, "audio/wav")


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"name": "nope"},
        {"name": "Echo", "arguments": {"text": "x"}},
        {"name": ""},
        {"name": "echo", "arguments": [1]},
        {"name": "echo", "arguments": "text"},
        {"name": "echo", "arguments": 5},
    ],
)
def test_an_unknown_tool_or_a_malformed_call_is_a_protocol_error(
    connect: Connect, revision: str, params: dict[str, Any]
) -> None:
    """S26-TOOL-10, T25-TOOL-02, Q-04: -32602, not a result."""
    assert refused(send(connect(revision=revision), "tools/call", params)) == (200, -32602)


@pytest.mark.parametrize("name", [None, 5, [], {}])
def test_a_call_without_a_name_is_a_protocol_error(connect: Connect, session_revision: str, name: Any) -> None:
    """S26-TOOL-10, T25-TOOL-02: in the modern era the missing Mcp-Name is found first."""
    assert refused(send(connect(revision=session_revision), "tools/call", {"name": name})) == (200, -32602)
    assert refused(send(connect(), "tools/call", {"name": name})) == (400, -32020)
    assert refused(send(connect(), "tools/call", {"name": name}, Mcp_Name="x")) == (200, -32602)


@pytest.mark.parametrize(
    "arguments", [{}, {"a": 1}, {"a": "x", "b": 1}, {"a": 1, "b": None}, {"a": 1, "b": 2, "c": 3}, {"a": 1.5, "b": 2}]
)
def test_wrong_arguments_are_told_to_the_model(connect: Connect, revision: str, arguments: dict[str, Any]) -> None:
    """S26-TOOL-11, S26-TOOL-15, T25-TOOL-01, T25-TOOL-02, Q-04: ``isError``, and the function never ran."""
    ran = []

    def work(a: int, b: int) -> str:
        ran.append((a, b))
        return "ran"

    reply = connect(serving(work), revision).call_tool("work", arguments)
    assert reply.is_error
    assert reply.text
    assert ran == []


def test_missing_arguments_are_none_at_all(connect: Connect, revision: str) -> None:
    """S26-TOOL-11: the member may be absent, or null as some clients write it."""
    client = connect(serving(lambda: "x"), revision)
    for params in ({"name": "work"}, {"name": "work", "arguments": None}, {"name": "work", "arguments": {}}):
        assert "isError" not in send(client, "tools/call", params).json["result"]


def test_a_failure_of_the_tool_is_told_to_the_model(connect: Connect, revision: str) -> None:
    """S26-TOOL-11, T25-TOOL-02: with its own words, if it chose them for that."""
    reply = connect(revision=revision).call_tool("fail")
    assert (reply.is_error, reply.text) == (True, "no stock")
    assert connect(serving(_raise(ToolError())), revision).call_tool("work").text


def _raise(error: BaseException) -> Callable[[], str]:
    def work() -> str:
        raise error

    return work


class Talkative(Exception):
    def __str__(self) -> str:
        return "the secret of the house"


@pytest.mark.parametrize("error", [Talkative(), KeyError("secret"), SystemExit("secret"), RecursionError("secret")])
def test_an_unexpected_failure_says_no_more_than_that(
    connect: Connect, revision: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """S26-TOOL-11, S26-TOOL-15, S26-LOG-05: in-band, with the request's id; logged once, with traceback."""
    reply = connect(serving(_raise(error)), revision).call_tool("work")
    assert reply.is_error
    assert "request id 2" in reply.text or "request id 1" in reply.text
    assert "secret" not in reply.text
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert (record.name, record.levelno) == ("mcp_wsgi", logging.ERROR)
    assert record.exc_info is not None


def test_exceptions_are_shown_if_that_is_opted_for(connect: Connect) -> None:
    """S26-TOOL-15: never by default."""
    reply = connect(serving(_raise(KeyError("secret"))), expose_errors=True).call_tool("work")
    assert "KeyError: 'secret'" in reply.text


def circle() -> Any:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


JUNK: list[Any] = [
    object(),
    {"a": object()},
    {"a": float("nan")},
    [float("inf")],
    {("a", "b"): 1},
    circle(),
    "\ud800",
    {"a": "\udfff"},
    ["x", object()],
    [Text("x"), 5],
    ResourceContents("note://x", text="x"),
    range,
    (value for value in "ab"),
]


@pytest.mark.parametrize("value", JUNK, ids=lambda value: type(value).__name__)
def test_a_result_that_cannot_be_sent_is_a_failure_of_the_tool(connect: Connect, revision: str, value: Any) -> None:
    """S26-TOOL-11, S26-BASE-01: the model is told; the wire carries nothing that is no JSON."""
    reply = connect(serving(lambda: value), revision).call_tool("work")
    assert reply.is_error
    assert reply.structured is None


@pytest.mark.parametrize("value", JUNK[:8], ids=lambda value: type(value).__name__)
def test_a_tool_result_with_junk_in_it_is_one_too(connect: Connect, revision: str, value: Any) -> None:
    """S26-TOOL-11, S26-BASE-01: in ``structured`` as in ``meta``."""
    for make in (lambda: ToolResult("x", structured=value), lambda: ToolResult("x", meta={"a": value})):
        reply = connect(serving(make), revision).call_tool("work")
        assert reply.is_error
        assert "a" not in reply.meta


def test_what_a_tool_returned_may_change_afterwards(connect: Connect, revision: str) -> None:
    """S26-TOOL-07: what was checked is what is sent."""
    kept: dict[str, Any] = {"n": 1}
    client = connect(serving(lambda: kept), revision)
    first = client.call_tool("work")
    kept["n"] = object()
    assert json.loads(first.text) == {"n": 1}
    assert client.call_tool("work").is_error


def test_a_json_rpc_error_of_a_tool_is_one(connect: Connect, revision: str) -> None:
    """S26-TOOL-10: a tool may raise an ``MCPError`` to refuse the call as such."""
    with pytest.raises(ProtocolError) as caught:
        connect(serving(_raise(MCPError("not now", code=7, data=[1]))), revision).call_tool("work")
    assert (caught.value.code, caught.value.message, caught.value.data) == (7, "not now", [1])


def test_a_mistake_of_the_developer_inside_of_a_tool_is_a_crash(connect: Connect, revision: str) -> None:
    """S26-TOOL-11, S26-TOOL-15: its words are not for the client."""
    reply = connect(serving(_raise(RegistrationError("tool secret: wrong"))), revision).call_tool("work")
    assert reply.is_error
    assert "secret" not in reply.text


# --- access and rate ------------------------------------------------------------------------------


def test_calls_are_limited(connect: Connect, revision: str) -> None:
    """S26-TOOL-15, T25-TOOL-01, S26-COMP-05: beyond ``max_calls`` at once a call is refused, and none is lost."""
    running, go = threading.Event(), threading.Event()

    def work() -> str:
        running.set()
        assert go.wait(20)
        return "done"

    app = serving(work).wsgi_app(workers="threads", max_calls=1)
    replies: list[ToolReply] = []
    first = threading.Thread(target=lambda: replies.append(connect(app, revision).call_tool("work")))
    first.start()
    assert running.wait(20)
    with pytest.raises(ProtocolError, match="Overloaded") as caught:
        connect(app, revision).call_tool("work") if revision == MODERN else _opened(connect, app, revision)
    assert caught.value.code == -32603
    assert caught.value.http_status == (503 if revision == MODERN else 200)
    go.set()
    first.join(20)
    assert [reply.text for reply in replies] == ["done"]


def _opened(connect: Connect, app: Any, revision: str) -> None:
    # ``initialize`` may run application code, so it counts as a call itself.
    client = connect(app, revision)
    client._opened = True
    client.call_tool("work")


class Own(Handler):
    """Tools that are looked up and run by hand."""

    def tools(self, ctx: Context) -> list[Tool]:
        return [Tool(name="shown")]

    def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
        if ctx.principal.id != "anna":
            raise ToolError("not yours")
        return ctx.principal.id


class Person:
    def __init__(self, identity: str) -> None:
        self.id = identity


def test_a_tool_knows_who_is_calling(connect: Connect, revision: str) -> None:
    """S26-TOOL-15, T25-TOOL-01: access is the handler's to decide, by the verified principal."""
    assert connect(Own(), revision, principal=Person("anna")).call_tool("shown").text == "anna"
    assert connect(Own(), revision, principal=Person("bert")).call_tool("shown").text == "not yours"
    assert refused(send(connect(Own(), revision, principal=Person("anna")), "tools/call", {"name": "x"})) == (
        200,
        -32602,
    )
