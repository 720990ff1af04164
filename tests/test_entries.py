from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from mcp_wsgi.content import Image, ResourceContents, Text
from mcp_wsgi.context import Context
from mcp_wsgi.descriptions import PromptArgument, Resource, ResourceTemplate, Tool
from mcp_wsgi.entries import (
    own_words,
    prompt_entry,
    resource_entry,
    template_entry,
    tool_entry,
    written_tool_entry,
)
from mcp_wsgi.errors import InvalidParams, MissingArgument, RegistrationError
from mcp_wsgi.returns import ToolResult
from tests.contexts import context

if TYPE_CHECKING:
    import mcp_wsgi

CTX = context()


def add(a: int, b: int = 0) -> dict[str, int]:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return {"sum": a + b}


def order(order_id: int, lines: bool = False) -> str:
    return f"order {order_id} {lines}"


def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who.
    """
    return f"Hello {name}" * times


def template(uri: str = "orders://{order_id}{?lines}") -> ResourceTemplate:
    return ResourceTemplate(uri_template=uri, name="order")


# --- tools ----------------------------------------------------------------------------------------


def test_a_tool_is_made_of_a_signature_and_a_docstring() -> None:
    item = tool_entry(add).item
    assert (item.name, item.title, item.annotations, item.icons, item.meta) == ("add", None, None, (), None)
    assert (item.description or "").startswith("Add two numbers.")
    assert item.input_schema is not None
    assert item.input_schema["required"] == ["a"]
    assert item.input_schema["additionalProperties"] is False
    assert item.output is not None
    assert item.output.is_object


def test_what_is_given_wins_over_what_the_function_says() -> None:
    item = tool_entry(
        add,
        name="plus",
        description="Plus.",
        title="Plus",
        input_schema={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        output_schema={"type": "object", "required": ["sum"]},
    ).item
    assert (item.name, item.description, item.title) == ("plus", "Plus.", "Plus")
    assert item.input_schema == {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert item.output_schema == {"type": "object", "required": ["sum"]}


def test_an_empty_description_is_none_of_the_docstring() -> None:
    assert tool_entry(add, description="").item.description == ""


def test_a_tool_is_called_with_what_its_checks_give() -> None:
    entry = tool_entry(add)
    assert entry.call(entry.item.arguments.bind({"a": 1, "b": 2}), CTX) == {"sum": 3}


def test_the_context_is_no_argument() -> None:
    def tool(a: int, ctx: Context) -> str:
        return f"{a} {ctx.method}"

    entry = tool_entry(tool)
    assert set((entry.item.input_schema or {})["properties"]) == {"a"}
    assert entry.call(entry.item.arguments.bind({"a": 1}), CTX) == "1 tools/call"


def test_the_context_may_be_imported_for_type_checkers_only() -> None:
    def tool(a: int, ctx: mcp_wsgi.Context) -> str:
        return f"{a} {ctx.method}"

    entry = tool_entry(tool)
    assert entry.call(entry.item.arguments.bind({"a": 1}), CTX) == "1 tools/call"
    assert prompt_entry(tool).call({"a": 2}, CTX) == "2 tools/call"


def test_structured_output_may_be_refused_or_insisted_on() -> None:
    def text() -> str:
        return "x"

    assert tool_entry(add, structured_output=False).item.output is None
    assert tool_entry(add, structured_output=True).item.output is not None
    with pytest.raises(RegistrationError, match=r"text .*structured_output"):
        tool_entry(text, structured_output=True)


def test_a_tool_without_return_annotation_promises_nothing() -> None:
    def tool():  # type: ignore[no-untyped-def]
        return {"a": 1}

    assert tool_entry(tool).item.output is None


def test_a_hand_written_schema_is_held_against_the_function() -> None:
    schema = {"type": "object", "properties": {"a-b": {}}}
    entry = tool_entry(lambda arguments: arguments, name="raw", input_schema=schema)
    assert entry.call(entry.item.arguments.bind({"a-b": 1}), CTX) == {"a-b": 1}
    with pytest.raises(RegistrationError, match=r"add .*the input schema has a-b"):
        tool_entry(add, input_schema=schema)


def test_a_hand_written_tool_runs_by_a_function() -> None:
    item = Tool(name="plus", input_schema={"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]})
    entry = written_tool_entry(item, add)
    assert entry.item is item
    assert entry.call({"a": 4}, CTX) == {"sum": 4}
    with pytest.raises(RegistrationError, match="the input schema has c"):
        written_tool_entry(Tool(name="c", input_schema={"type": "object", "properties": {"c": {}}}), add)


# --- resources ------------------------------------------------------------------------------------


def test_a_resource_is_read_by_its_function() -> None:
    item = Resource(uri="notes://all", name="all")
    entry = resource_entry(item, lambda: ["a"])
    assert (entry.item, entry.call({}, CTX)) == (item, ["a"])


def test_a_resource_may_ask_for_the_context() -> None:
    def read(ctx: Context) -> str:
        return ctx.method

    assert resource_entry(Resource(uri="a:b", name="b"), read).call({}, CTX) == "tools/call"


@pytest.mark.parametrize(
    ("content", "contents", "size"),
    [
        ("é", ResourceContents("a:b", text="é", mime_type="text/plain"), 2),
        (b"\x00\xff\x01", ResourceContents("a:b", blob=b"\x00\xff\x01", mime_type="application/octet-stream"), 3),
        ({"a": 1}, ResourceContents("a:b", text='{"a":1}', mime_type="application/json"), 7),
    ],
    ids=["text", "bytes", "data"],
)
def test_fixed_content_fills_in_what_is_listed(content: Any, contents: ResourceContents, size: int) -> None:
    """S26-RES-07: size is of the raw content."""
    entry = resource_entry(Resource(uri="a:b", name="b"), content)
    assert entry.call({}, CTX) == (contents,)
    assert (entry.item.size, entry.item.mime_type) == (size, contents.mime_type)


def test_what_is_listed_by_hand_stays() -> None:
    item = Resource(uri="a:b", name="b", mime_type="text/markdown", size=7)
    entry = resource_entry(item, "# T")
    assert entry.item == item
    assert entry.call({}, CTX) == (ResourceContents("a:b", text="# T", mime_type="text/markdown"),)


def test_several_fixed_contents_have_no_single_size() -> None:
    item = Resource(uri="a:b", name="b")
    parts = [ResourceContents("a:b/1", text="x"), ResourceContents("a:b/2", text="y")]
    entry = resource_entry(item, parts)
    assert (entry.item, entry.call({}, CTX)) == (item, tuple(parts))


@pytest.mark.parametrize("content", [None, [], float("nan")], ids=str)
def test_fixed_content_that_is_none_is_refused(content: Any) -> None:
    with pytest.raises(RegistrationError, match="resource b with fixed content"):
        resource_entry(Resource(uri="a:b", name="b"), content)


def test_a_resource_function_takes_no_arguments() -> None:
    with pytest.raises(RegistrationError, match=r"order .*order_id, lines must come out of the URI.*orders://all"):
        resource_entry(Resource(uri="orders://all", name="b"), order)


# --- resource templates ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "arguments"),
    [
        ("orders://7", {"order_id": 7}),
        ("orders://7?lines=true", {"order_id": 7, "lines": True}),
        ("orders://%37", {"order_id": 7}),
        ("orders://seven", None),
        ("orders://7?lines=perhaps", None),
        ("orders://7/lines", None),
        ("invoices://7", None),
    ],
)
def test_a_uri_gives_the_arguments_or_is_none_of_the_template(uri: str, arguments: dict[str, Any] | None) -> None:
    """S26-RES-03: a value that does not convert names no resource."""
    assert template_entry(template(), order).match(uri) == arguments


def test_values_that_lead_out_of_a_directory_match_nothing_unless_opted_for() -> None:
    """S26-RES-11."""
    item = ResourceTemplate(uri_template="file:///srv/{+path}", name="files")
    assert template_entry(item, lambda path: path).match("file:///srv/a/b") == {"path": "a/b"}
    assert template_entry(item, lambda path: path).match("file:///srv/../etc/passwd") is None
    ranges = ResourceTemplate(uri_template="diff://{+span}", name="ranges")
    opted = template_entry(ranges, lambda span: span, unchecked=["span"])
    assert opted.match("diff:///a") == {"span": "/a"}


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("orders://{order_id}", "no variable for the parameter lines"),
        ("orders://{id}{?lines}", r"no parameter for \{id\}; no variable for the parameter order_id"),
        ("orders://{lines}{?order_id}", "order_id must have a default"),
        ("orders://{order_id", "brace"),
    ],
)
def test_variables_and_parameters_must_match(uri: str, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        template_entry(template(uri), order)


def test_every_variable_can_be_completed() -> None:
    completers = template_entry(template(), order).completers
    completers.add("order_id", lambda value: ["7"])
    with pytest.raises(
        RegistrationError, match=r"resource template orders://\{order_id\}\{\?lines\} has no argument 'x'"
    ):
        completers.add("x", lambda value: ["7"])


# --- prompts --------------------------------------------------------------------------------------


def test_a_prompt_is_made_of_a_signature_and_a_docstring() -> None:
    item = prompt_entry(greet, title="Greet").item
    assert (item.name, item.title) == ("greet", "Greet")
    assert (item.description or "").startswith("Greet somebody.")
    assert item.arguments == (PromptArgument("name", "Who.", required=True), PromptArgument("times"))


def test_arguments_come_converted() -> None:
    entry = prompt_entry(greet)
    assert entry.call(entry.bind({"name": "x", "times": "2"}), CTX) == "Hello xHello x"
    assert entry.bind({"name": "7"}) == {"name": "7"}


def test_all_missing_arguments_are_named() -> None:
    """S26-PRM-02."""

    def ask(day: str, mood: str, more: str = "") -> str:
        return day + mood + more

    with pytest.raises(MissingArgument) as caught:
        prompt_entry(ask).bind({"more": "x"})
    assert caught.value.names == ("day", "mood")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"name": "x", "times": "two"}, "prompt greet.*times"), ({"name": "x", "tiems": "2"}, "prompt greet.*tiems")],
    ids=["does not convert", "unknown"],
)
def test_arguments_that_do_not_fit_are_named(arguments: dict[str, str], words: str) -> None:
    """S26-PRM-02."""
    with pytest.raises(InvalidParams, match=words) as caught:
        prompt_entry(greet).bind(arguments)
    assert "\n" not in str(caught.value)


def test_a_name_of_a_prompt_is_checked() -> None:
    with pytest.raises(RegistrationError, match="say hello"):
        prompt_entry(greet, name="say hello")


# --- words ----------------------------------------------------------------------------------------


def test_a_function_speaks_for_itself_unless_told() -> None:
    assert own_words(greet, "resource", None, "Told.") == {"name": "greet", "description": "Told."}
    assert own_words(order, "resource", "named", None) == {"name": "named", "description": None}


def test_a_partial_speaks_with_the_words_of_its_function() -> None:
    entry = tool_entry(functools.partial(add, b=1), name="increment")
    assert (entry.item.description or "").startswith("Add two numbers.")


# --- lists of content -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "annotation", [list[Text], list[Image], list[Text | str], tuple[Image, ...], list[Text] | None]
)
def test_an_empty_list_of_content_is_content(annotation: Any) -> None:
    def tool() -> Any:
        return []

    tool.__annotations__["return"] = annotation
    assert tool_entry(tool).call({}, CTX) == ToolResult()
    assert written_tool_entry(Tool(name="t"), tool).call({}, CTX) == ToolResult()


@pytest.mark.parametrize("annotation", [Any, list[Any], list[Text | dict[str, int]], list[str], None])
def test_any_other_empty_list_is_data(annotation: Any) -> None:
    def tool() -> Any:
        return []

    tool.__annotations__["return"] = annotation
    assert tool_entry(tool).call({}, CTX) == []


def test_a_list_that_holds_content_is_left_alone() -> None:
    def tool() -> list[Text]:
        return [Text("a")]

    assert tool_entry(tool).call({}, CTX) == [Text("a")]
