"""What is listed and answered, as text."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi.cli.rendering import (
    listing_text,
    log_text,
    pretty,
    progress_text,
    prompt_text,
    signature,
    tool_text,
    type_text,
)
from mcp_wsgi.results import Listing, PromptReply, ToolReply


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": "array"}, "array"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "string | null"),
        ({"oneOf": [{"const": 1}, {"enum": ["a", None]}]}, '1 | "a" | null'),
        ({"$ref": "#/$defs/Order"}, "Order"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_a_type_is_told_in_few_words(schema: Any, expected: str) -> None:
    assert type_text(schema) == expected


def test_a_signature_reads_like_a_function() -> None:
    properties = {
        "a": {"type": "integer"},
        "b": {"type": "string", "default": "\u00e9"},
        "c": {"type": "number", "default": None},
        "d": True,
    }
    tool = {"name": "f", "inputSchema": {"type": "object", "properties": properties, "required": ["a"]}}
    assert signature(tool) == 'f(a: integer, b: string = "\u00e9", c: number = null, d?: any)'
    output = {"type": "array", "items": {"type": "string"}}
    assert (
        signature({"name": "g", "inputSchema": {"type": "object"}, "outputSchema": output}) == "g() -> array of string"
    )


def test_a_list_shows_each_thing_and_the_first_paragraph_about_it() -> None:
    prompts = Listing(
        (
            {"name": "ask", "arguments": [{"name": "topic", "required": True}, {"name": "tone"}]},
            {"name": "tell", "description": "Tell me\n  more.\n\nNot this."},
        )
    )
    assert listing_text("prompts", prompts) == "Prompts\n  ask(topic, tone?)\n  tell()\n      Tell me more."


def test_resources_show_uri_name_and_type() -> None:
    resources = Listing(({"uri": "a://b", "name": "b", "mimeType": "text/plain"},))
    templates = Listing(({"uriTemplate": "a://{b}", "name": "b"},))
    assert listing_text("resources", resources) == "Resources\n  a://b  (b, text/plain)"
    assert listing_text("resource_templates", templates) == "Resource templates\n  a://{b}  (b)"
    assert listing_text("tools", Listing(())) == "Tools\n  none"


def test_descriptions_fit_the_terminal() -> None:
    tools = Listing(({"name": "f", "inputSchema": {}, "description": "word " * 20},))
    lines = listing_text("tools", tools, width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines[2:]).split() == ["word"] * 20


BLOCKS: list[tuple[dict[str, Any], str]] = [
    ({"type": "text", "text": "a\nb"}, "a\nb"),
    ({"type": "image", "data": "AAEC", "mimeType": "image/png"}, "[image, image/png, 3 bytes]"),
    ({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, "[audio, audio/wav, 1 bytes]"),
    ({"type": "resource_link", "name": "n", "uri": "a://b"}, "[n: a://b]"),
    ({"type": "resource", "resource": {"uri": "a://b", "text": "t"}}, "t"),
    ({"type": "resource", "resource": {"uri": "a://b", "blob": "", "mimeType": "x/y"}}, "[a://b, x/y]"),
    ({"type": "resource", "resource": {"uri": "a://b", "blob": ""}}, "[a://b, binary]"),
    ({"type": "hologram"}, "[hologram, unknown, 0 bytes]"),
]


@pytest.mark.parametrize(("block", "expected"), BLOCKS)
def test_every_kind_of_block_is_told(block: dict[str, Any], expected: str) -> None:
    assert tool_text(ToolReply({"content": [block]})) == expected
    assert prompt_text(PromptReply({"messages": [{"role": "user", "content": block}]})) == f"user: {expected}"


def test_structured_content_is_told_once() -> None:
    text = {"type": "text", "text": '{"a": [1]}'}
    assert tool_text(ToolReply({"content": [text], "structuredContent": {"a": [1]}})) == pretty({"a": [1]})
    assert tool_text(ToolReply({"content": [text], "structuredContent": {"a": 2}})) == '{"a": [1]}\n' + pretty({"a": 2})
    words = {"type": "text", "text": "three"}
    assert tool_text(ToolReply({"content": [words], "structuredContent": 3})) == "three\n3"


def test_progress_and_logs_are_lines() -> None:
    assert progress_text(1, None, None) == "progress 1"
    assert progress_text(0.5, 2, "half") == "progress 0.5/2: half"
    assert log_text({"level": "info", "data": "done"}) == "[info] done"
    assert log_text({"level": "error", "data": {"\u00e9": 1}}) == '[error] {"\u00e9": 1}'
