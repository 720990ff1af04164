"""Requirements, group 10: prompts and completion."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pytest

from mcp_wsgi import (
    Audio,
    Completion,
    CompletionArgument,
    Context,
    EmbeddedResource,
    Handler,
    Image,
    MCPServer,
    Message,
    Prompt,
    PromptArgument,
    PromptRef,
    PromptResult,
    ResourceContents,
    ResourceLink,
    ResourceRef,
    Text,
)
from mcp_wsgi.errors import RegistrationError
from tests.spec.kit import MODERN, Connect, declared, everything, refusal, refused, send

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
WAV = b"RIFF\x00\x00\x00\x00WAVE" + bytes(8)


def serving(value: Any) -> MCPServer:
    """A server with one prompt, ``work``, that returns ``value`` or raises it."""
    mcp = MCPServer("one")

    @mcp.prompt(name="work")
    def work() -> Any:
        if isinstance(value, BaseException):
            raise value
        return value

    return mcp


# --- prompts --------------------------------------------------------------------------------------


def test_prompts_are_declared_and_listed(connect: Connect, revision: str) -> None:
    """S26-PRM-01, T25-PRM-01: with their arguments, in one order."""
    client = connect(revision=revision)
    opened = client.discover() if revision == MODERN else client.initialize()
    assert opened.raw["capabilities"]["prompts"] == declared("prompts", revision)
    (listed,) = client.list_prompts()
    assert (listed["name"], listed["description"]) == ("ask", "Ask about something.")
    assert [(a["name"], a.get("required", False)) for a in listed["arguments"]] == [("topic", True), ("tone", False)]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "nope"},
        {"name": "Ask"},
        {"name": "ask"},
        {"name": "ask", "arguments": {}},
        {"name": "ask", "arguments": {"tone": "x"}},
        {"name": "ask", "arguments": {"topic": "x", "other": "y"}},
        {"name": "ask", "arguments": {"topic": 5}},
        {"name": "ask", "arguments": {"topic": None}},
        {"name": "ask", "arguments": {"topic": ["x"]}},
        {"name": "ask", "arguments": ["x"]},
        {"name": "ask", "arguments": "x"},
    ],
)
def test_unknown_prompts_and_wrong_arguments_are_refused(
    connect: Connect, revision: str, params: dict[str, Any]
) -> None:
    """S26-PRM-02, S26-PRM-03, S26-PRM-05, T25-PRM-01: -32602; arguments map names to strings."""
    assert refused(send(connect(revision=revision), "prompts/get", params)) == (200, -32602)


class Own(Handler):
    """Prompts that are listed and made by hand."""

    def prompts(self, ctx: Context) -> list[Prompt]:
        return [Prompt(name="own", arguments=[PromptArgument("a", required=True), PromptArgument("b")])]

    def get_prompt(self, name: str, arguments: dict[str, str], ctx: Context) -> str:
        return f"{name} {sorted(arguments.items())}"


def test_required_arguments_are_checked_for_a_handler_too(connect: Connect, revision: str) -> None:
    """S26-PRM-02: it is never asked for a prompt with arguments missing, or of a wrong type."""
    client = connect(Own(), revision)
    for arguments in ({}, {"b": "x"}, {"a": 1}, {"a": "x", "b": None}):
        assert refused(send(client, "prompts/get", {"name": "own", "arguments": arguments})) == (200, -32602)
    assert "Missing required argument: a" in refusal(send(client, "prompts/get", {"name": "own"}))["message"]
    assert client.get_prompt("own", a="x").text == "own [('a', 'x')]"


def test_arguments_are_converted_and_what_does_not_convert_is_refused(connect: Connect, revision: str) -> None:
    """S26-PRM-02, S26-PRM-03: a string on the wire, a number in the function."""
    mcp = MCPServer("convert")

    @mcp.prompt
    def count(n: int, kind: Literal["a", "b"] = "a") -> str:
        return f"{n + 1}{kind}"

    client = connect(mcp, revision)
    assert client.get_prompt("count", n="41", kind="b").text == "42b"
    for arguments in ({"n": "x"}, {"n": "1", "kind": "c"}):
        assert refused(send(client, "prompts/get", {"name": "count", "arguments": arguments})) == (200, -32602)


@pytest.mark.parametrize("value", [RuntimeError("secret"), object(), 5, {"role": "user"}, [5], "\ud800"])
def test_a_prompt_that_fails_is_an_internal_error(connect: Connect, revision: str, value: Any) -> None:
    """S26-PRM-02, S26-PRM-05, S26-LOG-05: -32603 without its words; what is no message is not sent."""
    reply = send(connect(serving(value), revision), "prompts/get", {"name": "work"})
    assert refused(reply) == (200, -32603)
    assert "secret" not in reply.text


def test_each_message_has_a_role_and_one_block(connect: Connect, revision: str) -> None:
    """S26-PRM-03: never an array, whatever the function gave."""
    value = ["hi", Message("assistant", "hello"), Text("and")]
    messages = connect(serving(value), revision).get_prompt("work").messages
    assert [(m["role"], m["content"]["text"]) for m in messages] == [
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "and"),
    ]


def test_a_result_may_have_a_description(connect: Connect, revision: str) -> None:
    """S26-PRM-03: and else has that of the prompt, or none."""
    assert connect(serving(PromptResult("hi", description="D")), revision).get_prompt("work").description == "D"
    assert connect(revision=revision).get_prompt("ask", topic="tea").description == "Ask about something."
    assert connect(serving("hi"), revision).get_prompt("work").description is None


def test_blocks_in_prompts_have_data_and_types(connect: Connect, revision: str) -> None:
    """S26-PRM-04, T25-PRM-01: Base64 and MIME types; embedded resources with uri; links as text in 2025-03-26."""
    value = [
        Image(PNG),
        Audio(WAV),
        EmbeddedResource(ResourceContents("note://x", text="milk", mime_type="text/plain")),
        EmbeddedResource(ResourceContents("note://y", blob=b"\x00", mime_type="x/y")),
        ResourceLink("note://z", "z"),
    ]
    messages = connect(serving(value), revision).get_prompt("work").messages
    image, audio, text, blob, link = (message["content"] for message in messages)
    assert (base64.b64decode(image["data"], validate=True), image["mimeType"]) == (PNG, "image/png")
    assert (base64.b64decode(audio["data"], validate=True), audio["mimeType"]) == (WAV, "audio/wav")
    assert text["resource"] == {"uri": "note://x", "mimeType": "text/plain", "text": "milk"}
    assert blob["resource"] == {"uri": "note://y", "mimeType": "x/y", "blob": "AA=="}
    assert link["type"] == ("text" if revision == "2025-03-26" else "resource_link")


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 129])
def test_a_prompts_name_is_checked_where_it_is_written(name: str) -> None:
    """S26-PRM-01: of the same alphabet as a tool's."""
    with pytest.raises(RegistrationError, match="name"):
        Prompt(name=name)


# --- completion -----------------------------------------------------------------------------------


class Suggesting(Handler):
    """Suggests what it was made with, and keeps what it was asked."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked: list[Any] = []

    def complete(
        self, ref: PromptRef | ResourceRef, argument: CompletionArgument, context: Mapping[str, str], ctx: Context
    ) -> Completion | Iterable[str]:
        self.asked.append((ref, argument, dict(context)))
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found  # type: ignore[no-any-return]


def test_completions_are_declared_by_what_can_complete(connect: Connect, revision: str) -> None:
    """S26-COMP-01, T25-COMP-01: without a completer there is no such method."""
    mcp = MCPServer("plain")
    mcp.prompt(name="p")(lambda a: a)
    client = connect(mcp, revision)
    opened = client.discover() if revision == MODERN else client.initialize()
    assert "completions" not in opened.raw["capabilities"]
    assert refusal(send(client, "completion/complete"))["code"] == -32601
    assert connect(revision=revision).complete("ask", "topic", "t").values == ["tea", "time"]


@pytest.mark.parametrize(
    ("found", "count", "total", "more"),
    [
        ([], 0, 0, False),
        (["b", "a"], 2, 2, False),
        (["x"] * 100, 100, 100, False),
        (["x"] * 101, 100, 101, True),
        (Completion(["x"] * 250), 100, 250, True),
        (Completion(["x"], total=9), 1, 9, True),
        (Completion(["x"], total=1, has_more=True), 1, 1, True),
        (Completion(["x"] * 200, has_more=False), 100, 200, True),
    ],
)
def test_at_most_100_values_are_sent_in_their_order(
    connect: Connect, revision: str, found: Any, count: int, total: int, more: bool
) -> None:
    """S26-COMP-02: the rest is counted."""
    reply = connect(Suggesting(found), revision).complete("any", "a", "")
    assert (len(reply.values), reply.total, reply.has_more) == (count, total, more)


def test_values_keep_their_order(connect: Connect, revision: str) -> None:
    """S26-COMP-02: relevance is the handler's to know; anything iterable will do."""
    for found in (["b", "a", "c"], iter("bac"), Completion(iter("bac"))):  # type: ignore[arg-type]
        assert connect(Suggesting(found), revision).complete("any", "a", "").values == ["b", "a", "c"]


def test_a_handler_is_asked_by_reference_argument_and_context(connect: Connect, revision: str) -> None:
    """S26-COMP-03, T25-COMP-01: prompts by name, resources by URI or template; context came with 2025-06-18."""
    handler = Suggesting([])
    client = connect(handler, revision)
    client.complete(PromptRef("p"), "a", "x", {"b": "y"})
    client.complete(ResourceRef("note://{a}"), "a", "")
    context = {} if revision == "2025-03-26" else {"b": "y"}
    assert handler.asked == [
        (PromptRef("p"), CompletionArgument("a", "x"), context),
        (ResourceRef("note://{a}"), CompletionArgument("a", ""), {}),
    ]


def test_templates_complete_their_variables_with_what_is_resolved(connect: Connect, revision: str) -> None:
    """S26-COMP-03: one variable knows of the other."""
    mcp = MCPServer("places")

    @mcp.resource("place://{country}/{city}")
    def place(country: str, city: str) -> str:
        return city

    @place.complete("city")
    def cities(value: str, resolved: dict[str, str]) -> list[str]:
        return [f"{resolved.get('country', '?')}:{value}"]

    reply = connect(mcp, revision).complete("place://{country}/{city}", "city", "b", {"country": "ch"})
    assert reply.values == ["?:b" if revision == "2025-03-26" else "ch:b"]


RIGHT = {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "topic", "value": "t"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"ref": None},
        {"ref": "ask"},
        {"ref": {}},
        {"ref": {"type": "ref/tool", "name": "ask"}},
        {"ref": {"type": "ref/prompt"}},
        {"ref": {"type": "ref/prompt", "name": 5}},
        {"ref": {"type": "ref/resource", "name": "x"}},
        {"ref": {"type": "ref/prompt", "name": "nope"}},
        {"ref": {"type": "ref/resource", "uri": "nope://x"}},
        {"argument": None},
        {"argument": {"name": "topic"}},
        {"argument": {"value": "t"}},
        {"argument": {"name": "topic", "value": 5}},
        {"argument": {"name": "nope", "value": "t"}},
    ],
)
def test_an_unknown_reference_or_argument_is_refused(connect: Connect, revision: str, wrong: dict[str, Any]) -> None:
    """S26-COMP-04, S26-COMP-05: -32602."""
    reply = send(connect(revision=revision), "completion/complete", {**RIGHT, **wrong})
    assert refused(reply) == (200, -32602)


@pytest.mark.parametrize("context", ["x", [], {"arguments": []}, {"arguments": {"a": 1}}, {"arguments": {"a": None}}])
def test_a_context_maps_names_to_strings(connect: Connect, revision: str, context: Any) -> None:
    """S26-COMP-03, S26-COMP-05: -32602 where the revision has it; before, it is no field at all."""
    reply = send(connect(revision=revision), "completion/complete", {**RIGHT, "context": context})
    if revision == "2025-03-26":
        assert "result" in reply.json
    else:
        assert refused(reply) == (200, -32602)


@pytest.mark.parametrize(
    "found",
    [
        RuntimeError("secret"),
        None,
        5,
        "abc",
        [1],
        [None],
        ["\ud800"],
        Completion("abc"),
        Completion(["x"], total=-1),
        Completion(["x"], total="2"),  # type: ignore[arg-type]
        Completion(["x"], total=True),
    ],
    ids=repr,
)
def test_a_completer_that_fails_is_an_internal_error(connect: Connect, revision: str, found: Any) -> None:
    """S26-COMP-04, S26-LOG-05: -32603, and nothing of its words or of half a list is sent."""
    reply = send(connect(Suggesting(found), revision), "completion/complete", RIGHT)
    assert refused(reply) == (200, -32603)
    assert "secret" not in reply.text


def test_suggestions_are_for_those_who_may_see_the_prompt(connect: Connect, revision: str) -> None:
    """S26-COMP-05: else they would leak what is hidden."""

    class Closed(MCPServer):
        def allows(self, item: Any, ctx: Context) -> bool:
            return False

    mcp = Closed("closed")

    @mcp.prompt
    def ask(topic: str) -> str:
        return topic

    @ask.complete("topic")
    def topics(value: str) -> list[str]:
        return ["secret"]

    assert refused(send(connect(mcp, revision), "completion/complete", RIGHT)) == (200, -32602)
    assert connect(everything(), revision).complete("ask", "topic", "t").values == ["tea", "time"]
