"""What a server lists is checked when built, and written as each revision has it."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi.descriptions import Icon, Prompt, PromptArgument, Resource, ResourceTemplate, ServerInfo, Tool
from mcp_wsgi.errors import ConfigurationError, RegistrationError
from mcp_wsgi.revisions import REVISIONS
from mcp_wsgi.schema import Arguments, Output

OLDEST, JUNE, NOVEMBER, MODERN = (REVISIONS[n] for n in ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"))

ICON = Icon("https://shop.example/icon.png", mime_type="image/png", sizes=["48x48", "any"], theme="dark")
ICON_WIRE = {
    "src": "https://shop.example/icon.png",
    "mimeType": "image/png",
    "sizes": ["48x48", "any"],
    "theme": "dark",
}
EMPTY_SCHEMA = {"type": "object", "additionalProperties": False}
META = {"shop.example/rank": 1}

# --- how the values are written -------------------------------------------------------------------


def full_tool() -> Tool:
    return Tool(
        name="add",
        title="Add",
        description="Adds.",
        annotations={"readOnlyHint": True},
        icons=[ICON],
        meta=META,
        output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}},
    )


@pytest.mark.parametrize(
    ("revision", "more"),
    [
        (OLDEST, set()),
        (JUNE, {"title", "_meta", "outputSchema"}),
        (NOVEMBER, {"title", "_meta", "outputSchema", "icons"}),
        (MODERN, {"title", "_meta", "outputSchema", "icons"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_tool_has_the_fields_of_the_revision(revision: Any, more: set[str]) -> None:
    """DUAL-10."""
    wire = full_tool().wire(revision)
    assert wire.keys() == {"name", "description", "inputSchema", "annotations"} | more
    assert wire["annotations"] == {"readOnlyHint": True}
    assert wire.get("icons", [ICON_WIRE]) == [ICON_WIRE]
    assert wire.get("_meta", META) == META


def test_a_tool_that_takes_nothing_says_so() -> None:
    """S26-TOOL-05."""
    assert Tool(name="ping").wire(MODERN) == {"name": "ping", "inputSchema": EMPTY_SCHEMA}


def test_hand_written_schemas_pass_through_unstripped() -> None:
    """S26-TOOL-06."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"n": {"$anchor": "n", "type": "integer"}},
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "if": {"required": ["n"]},
        "then": {"properties": {"n": {"minimum": 1}}},
    }
    assert Tool(name="t", input_schema=schema).wire(NOVEMBER)["inputSchema"] == schema


def test_a_schema_that_is_no_object_is_shown_in_the_modern_era_only() -> None:
    """T25-TOOL-03, T25-TOOL-06."""
    tool = Tool(name="t", output_schema={"type": "array", "items": {"type": "integer"}})
    assert tool.wire(MODERN)["outputSchema"]["type"] == "array"
    assert [row.name for row in (OLDEST, JUNE, NOVEMBER) if "outputSchema" in tool.wire(row)] == []


def test_a_tool_checks_with_what_it_lists() -> None:
    tool = Tool(name="t", input_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    assert tool.arguments.bind({"n": 1}) == {"n": 1}
    assert tool.input_schema == tool.arguments.schema
    assert (tool.output, tool.output_schema) == (None, None)


def test_a_tool_keeps_the_checks_it_is_given() -> None:
    arguments = Arguments.from_schema({"type": "object"}, owner="t")
    output = Output.from_schema({"type": "object"}, owner="t")
    tool = Tool(name="t", arguments=arguments, output=output)
    assert (tool.arguments, tool.output) == (arguments, output)
    assert (tool.input_schema, tool.output_schema) == (arguments.schema, output.schema)


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (OLDEST, {"name": "shop", "version": "2"}),
        (JUNE, {"name": "shop", "version": "2", "title": "Shop"}),
        (
            MODERN,
            {
                "name": "shop",
                "version": "2",
                "title": "Shop",
                "description": "Sells.",
                "websiteUrl": "https://shop.example",
                "icons": [ICON_WIRE],
            },
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_server_info_has_the_fields_of_the_revision(revision: Any, expected: dict[str, Any]) -> None:
    """DUAL-10, T25-ICON-01."""
    info = ServerInfo("shop", "2", "Shop", "Sells.", "https://shop.example", [ICON])
    assert info.wire(revision) == expected


def test_a_resource_has_the_fields_of_the_revision() -> None:
    """DUAL-10, S26-RES-08."""
    annotations = {"audience": ["user"], "priority": 0, "lastModified": "2025-01-12T15:00:58Z"}
    resource = Resource(
        uri="notes://1", name="one", title="One", size=0, annotations=annotations, icons=[ICON], meta=META
    )
    oldest = {"uri": "notes://1", "name": "one", "size": 0, "annotations": {"audience": ["user"], "priority": 0}}
    june = {**oldest, "title": "One", "annotations": annotations, "_meta": META}
    assert resource.wire(OLDEST) == oldest
    assert resource.wire(JUNE) == june
    assert resource.wire(MODERN) == {**june, "icons": [ICON_WIRE]}


def test_annotations_that_a_revision_lacks_altogether_are_left_out() -> None:
    resource = Resource(uri="a:b", name="b", annotations={"lastModified": "2025-01-12"})
    assert resource.wire(OLDEST) == {"uri": "a:b", "name": "b"}


def test_a_template_has_the_fields_of_the_revision() -> None:
    """DUAL-10, S26-RES-07."""
    template = ResourceTemplate(
        uri_template="notes://{id}",
        name="note",
        description="A note.",
        mime_type="text/plain",
        annotations={"priority": 1},
        icons=[ICON],
    )
    legacy = {
        "uriTemplate": "notes://{id}",
        "name": "note",
        "description": "A note.",
        "mimeType": "text/plain",
        "annotations": {"priority": 1},
    }
    assert template.wire(JUNE) == legacy
    assert template.wire(MODERN) == {**legacy, "icons": [ICON_WIRE]}


def test_a_prompt_has_the_fields_of_the_revision() -> None:
    """DUAL-10."""
    arguments = [PromptArgument("day", "Which day.", required=True, title="Day"), PromptArgument("mood")]
    prompt = Prompt(name="ask", title="Ask", arguments=arguments, icons=[ICON])
    day = {"name": "day", "description": "Which day.", "required": True}
    assert prompt.wire(OLDEST) == {"name": "ask", "arguments": [day, {"name": "mood"}]}
    named = {"name": "ask", "title": "Ask", "arguments": [{**day, "title": "Day"}, {"name": "mood"}]}
    assert prompt.wire(JUNE) == named
    assert prompt.wire(NOVEMBER) == {**named, "icons": [ICON_WIRE]}


def test_nothing_that_is_not_set_is_written() -> None:
    assert Icon("data:image/png;base64,AA==").wire(MODERN) == {"src": "data:image/png;base64,AA=="}
    assert ServerInfo("x").wire(MODERN) == {"name": "x", "version": "0"}
    assert Resource(uri="a:b", name="b").wire(MODERN) == {"uri": "a:b", "name": "b"}
    assert ResourceTemplate(uri_template="a:{b}", name="b").wire(MODERN) == {"uriTemplate": "a:{b}", "name": "b"}
    assert Prompt(name="p").wire(MODERN) == {"name": "p"}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (ICON, "src"),
        (ServerInfo("x"), "name"),
        (Tool(name="t"), "name"),
        (Resource(uri="a:b", name="b"), "uri"),
        (ResourceTemplate(uri_template="a:{b}", name="b"), "name"),
        (Prompt(name="p"), "arguments"),
        (PromptArgument("a"), "required"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_cannot_be_edited(value: Any, field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(value, field, None)


# --- what is refused where it is written ----------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tool(name="no spaces"), "no spaces"),
        (lambda: Tool(name="t", input_schema={"type": "array"}), "object"),
        (lambda: Tool(name="t", annotations={"read_only_hint": True}), "tool t.*read_only_hint.*readOnlyHint"),
        (lambda: Tool(name="t", annotations={"readOnlyHint": 1}), "tool t.*readOnlyHint takes a bool"),
        (lambda: Tool(name="t", annotations={"title": None}), "title takes a str"),
        (lambda: Tool(name="t", icons=ICON), "tool t.*list of Icon"),  # type: ignore[arg-type]
        (lambda: Tool(name="t", icons=["x.png"]), "tool t.*list of Icon"),  # type: ignore[list-item]
        (lambda: Tool(name="t", meta={"mcp.dev/x": 1}), "tool t.*mcp.dev/x"),
        (lambda: Prompt(name=""), "prompt"),
        (lambda: Prompt(name="p", meta={"a b": 1}), "prompt p.*a b"),
        (lambda: Resource(uri="no-scheme", name="x"), "resource no-scheme: .*scheme"),
        (lambda: Resource(uri="notes://a b", name="x"), "notes://a b"),
        (lambda: Resource(uri="a:b", name="x", size=-1), "a:b.*-1"),
        (lambda: Resource(uri="a:b", name="x", size=True), "a:b.*True"),
        (lambda: Resource(uri="a:b", name="x", annotations={"priority": 2}), "a:b.*priority"),
        (lambda: ResourceTemplate(uri_template="a:{b}", name="x", annotations={"audience": "user"}), "a:{b}.*audience"),
        (lambda: Icon("/static/icon.png"), "/static/icon.png.*https:"),
        (lambda: Icon("javascript:alert(1)"), "javascript"),
        (lambda: Icon("https://x.example", sizes="48x48"), "sizes is a list"),
        (lambda: Icon("https://x.example", theme="blue"), "theme must be"),  # type: ignore[arg-type]
    ],
)
def test_a_developers_mistake_fails_by_name(make: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        make()


# --- values of a wrong type -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"title": 5}, "tool t: title takes text, not a value of type int"),
        ({"description": b"x"}, "tool t: description takes text, not a value of type bytes"),
        ({"description": "\ud800"}, "tool t: description: the text holds a lone surrogate"),
        ({"annotations": 5}, "tool t: annotations is a dict, not a value of type int"),
        ({"icons": 5}, "tool t: icons is a list of Icon"),
        ({"meta": 5}, "meta of tool t: takes a dict"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_where_it_is_written(fields: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        Tool(name="t", **fields)


def test_other_listed_values_are_checked_alike() -> None:
    for make in (
        lambda: Resource(uri="a://b", name=5),  # type: ignore[arg-type]
        lambda: Resource(uri="a://b", name=None),  # type: ignore[arg-type]
        lambda: ResourceTemplate(uri_template="a://{b}", name="b", mime_type=5),  # type: ignore[arg-type]
        lambda: Prompt(name="p", title=5),  # type: ignore[arg-type]
        lambda: Prompt(name="p", arguments=["a"]),  # type: ignore[list-item]
        lambda: PromptArgument(5),  # type: ignore[arg-type]
        lambda: PromptArgument(None),  # type: ignore[arg-type]
        lambda: Icon("https://a/b.png", mime_type=5),  # type: ignore[arg-type]
        lambda: Icon("https://a/b.png", sizes=5),  # type: ignore[arg-type]
    ):
        with pytest.raises(RegistrationError):
            make()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": None}, "server None: name takes text"),
        ({"name": 5}, "server 5: name takes text"),
        ({"version": 1}, "server 'x': version takes text"),
        ({"title": 5}, "server 'x': title takes text"),
        ({"icons": 5}, "server 'x': icons is a list of Icon"),
    ],
)
def test_a_server_describes_itself_in_text(fields: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ServerInfo(**{"name": "x", **fields})


def test_what_was_checked_does_not_change() -> None:
    meta, hints, icons = {"a": [1]}, {"readOnlyHint": True}, [Icon("https://a/b.png")]
    tool = Tool(name="t", meta=meta, annotations=hints, icons=icons)
    meta["a"].append(2)
    hints.clear()
    icons.clear()
    assert (tool.meta, tool.annotations, len(tool.icons)) == ({"a": [1]}, {"readOnlyHint": True}, 1)
