"""What can be asked of a result."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from mcp_wsgi.errors import MCPError
from mcp_wsgi.http_client import HTTPReply
from mcp_wsgi.results import (
    CompletionReply,
    Listing,
    Log,
    Progress,
    PromptReply,
    ProtocolError,
    Reply,
    ResourceReply,
    ToolReply,
    refusal,
)

OK = HTTPReply(200, (), b"")


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


IMAGE = {"type": "image", "data": "AAEC", "mimeType": "image/png"}


def test_a_tool_reply_tells_text_structure_and_failure() -> None:
    reply = ToolReply({"content": [text("a"), IMAGE, text("b")], "structuredContent": 0, "isError": True})
    assert (reply.text, reply.structured, reply.is_error) == ("a\nb", 0, True)
    assert reply.content[1] == IMAGE
    assert reply.raw["isError"] is True


def test_a_tool_reply_without_anything_is_empty() -> None:
    reply = ToolReply({})
    assert (reply.text, reply.structured, reply.is_error, reply.content) == ("", None, False, [])


def test_a_resource_reply_tells_text_and_bytes_apart() -> None:
    reply = ResourceReply({"contents": [{"text": "a"}, {"blob": "AAE="}, {"text": "b"}, {"blob": "Ag=="}]})
    assert (reply.text, reply.blob) == ("a\nb", b"\0\1\2")
    assert len(reply.contents) == 4


def test_a_blob_that_is_no_base64_is_refused() -> None:
    with pytest.raises(ValueError, match="base64"):
        _ = ResourceReply({"contents": [{"blob": "A*=="}]}).blob


def test_a_prompt_reply_has_messages() -> None:
    messages = [{"role": "user", "content": text("a")}, {"role": "user", "content": IMAGE}]
    reply = PromptReply({"messages": messages, "description": "d"})
    assert (reply.messages, reply.text, reply.description) == (messages, "a", "d")
    assert PromptReply({"messages": []}).description is None


def test_a_completion_reply_has_values() -> None:
    full = CompletionReply({"completion": {"values": ["a"], "total": 9, "hasMore": True}})
    assert (full.values, full.total, full.has_more) == (["a"], 9, True)
    bare = CompletionReply({"completion": {"values": []}})
    assert (bare.values, bare.total, bare.has_more) == ([], None, None)


def test_progress_and_logs_are_sorted_out_of_the_notifications() -> None:
    reply = Reply(
        {"_meta": {"k": 1}},
        (
            {"method": "notifications/message", "params": {"level": "info", "data": {"a": 1}, "logger": "x"}},
            {"method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}},
            {
                "method": "notifications/progress",
                "params": {"progressToken": 5, "progress": 2, "total": 3, "message": "m"},
            },
            {"method": "notifications/tools/list_changed"},
        ),
        HTTPReply(200, (("Content-Type", "text/event-stream; charset=utf-8"),), b""),
    )
    assert reply.progress == (Progress(1, token="t"), Progress(2, 3, "m", token=5))
    assert reply.logs == (Log("info", {"a": 1}, "x"),)
    assert reply.meta == {"k": 1}
    assert reply.streamed
    assert not Reply({}, http=OK).streamed


def test_a_listing_is_a_sequence_that_knows_names_and_uris() -> None:
    listing = Listing(({"name": "a", "uri": "x://a"}, {"name": "b", "uriTemplate": "x://{b}"}))
    assert listing.names == ["a", "b"]
    assert len(listing) == 2
    assert list(listing) == [listing[0], listing[1]]
    assert listing["a"] is listing["x://a"] is listing[0]
    assert listing["x://{b}"] is listing[-1]
    assert "b" in listing
    assert "c" not in listing
    assert None not in Listing(({"name": "a"},))
    with pytest.raises(KeyError, match="c"):
        _ = listing["c"]


@pytest.mark.parametrize("value", [Reply({}), ToolReply({}), Listing(()), Progress(1), Log("info", 1), OK])
def test_results_are_frozen(value: msgspec.Struct) -> None:
    with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
        setattr(value, value.__struct_fields__[0], None)


def answer(status: int, body: bytes, content_type: str = "application/json", reason: str = "") -> HTTPReply:
    return HTTPReply(status, (("Content-Type", content_type),), body, reason)


def test_a_refusal_carries_the_json_rpc_error() -> None:
    body = b'{"jsonrpc":"2.0","error":{"code":-32022,"message":"Unsupported","data":{"supported":[]}}}'
    error = refusal(answer(400, body))
    assert (error.code, error.message, error.data, error.http_status) == (-32022, "Unsupported", {"supported": []}, 400)
    assert str(error) == "Unsupported (code -32022, HTTP 400)"
    assert error.reply.body == body
    assert isinstance(error, MCPError)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (answer(502, b"<h1>Bad</h1>", "text/html", "Bad Gateway"), "HTTP 502 Bad Gateway: <h1>Bad</h1>"),
        (answer(405, b"", reason="Method Not Allowed"), "HTTP 405 Method Not Allowed"),
        (answer(202, b""), "HTTP 202"),
        (answer(400, b"{"), "HTTP 400: {"),
        (answer(400, b"[1, {}]"), "HTTP 400: [1, {}]"),
        (answer(400, b"x" * 300, "text/plain"), "HTTP 400: " + "x" * 200),
    ],
)
def test_a_refusal_without_a_json_rpc_error_says_what_there_is(reply: HTTPReply, said: str) -> None:
    error = refusal(reply)
    assert (error.code, error.message, error.http_status) == (0, said, reply.status)


@pytest.mark.parametrize("malformed", ["oops", None, {}, {"code": "1", "message": "m"}])
def test_a_malformed_error_is_still_raised(malformed: object) -> None:
    error = ProtocolError.of(malformed, OK)
    assert (error.code, error.message) == (0, f"malformed error: {malformed!r}")
