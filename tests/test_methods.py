"""The RPC table and its functions: no transport, no worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import CACHEABLE_METHODS, CLIENT_REQUESTS

from mcp_wsgi import Completion, Context, Handler, MCPServer, Prompt, Resource, Tool
from mcp_wsgi.errors import InternalError, UnknownTool
from mcp_wsgi.handler import Feature
from mcp_wsgi.methods import METHODS
from mcp_wsgi.revisions import SUPPORTED
from mcp_wsgi.testing import Client, ProtocolError
from tests.dispatching import NEW, OLD, dispatcher, run

# --- the table ------------------------------------------------------------------------------------


def test_every_method_exists_in_the_revisions_that_have_it() -> None:
    official = {(method, revision) for method, revision in CLIENT_REQUESTS if revision in SUPPORTED}
    ours = {(method, revision) for method, row in METHODS.items() for revision in row.revisions}
    assert ours <= official
    assert {method.partition("/")[0] for method, _ in official - ours} <= {"tasks"}


def test_the_same_methods_are_cacheable_as_for_the_official_sdk() -> None:
    assert {method for method, row in METHODS.items() if row.cacheable} == set(CACHEABLE_METHODS)


def test_a_method_that_names_something_says_by_which_parameter() -> None:
    assert {method: row.named_by for method, row in METHODS.items() if row.named_by} == {
        "tools/call": "name",
        "prompts/get": "name",
        "resources/read": "uri",
    }


# --- hand-written handlers that return other kinds than they should -------------------------------


JUNK: list[Any] = [None, 5, "text", [5], [{"name": "x"}], {"name": "x"}, [None], object(), [Prompt(name="x"), 5]]


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.parametrize("junk", JUNK)
def test_a_list_of_something_else_is_an_internal_error(method: str, junk: Any) -> None:
    class Junk(Handler):
        def _junk(self, ctx: Context) -> Any:
            return junk

        tools: Any = _junk
        resources: Any = _junk
        resource_templates: Any = _junk
        prompts: Any = _junk

    with pytest.raises(InternalError):
        run(dispatcher(Junk()), method)


@pytest.mark.parametrize("junk", [5, "echo", {"name": "echo"}, object(), Resource(uri="x:y", name="x")])
def test_a_tool_or_prompt_that_is_none_is_an_internal_error(junk: Any) -> None:
    class Junk(Handler):
        def find_tool(self, name: str, ctx: Context) -> Any:
            return junk

        find_prompt = find_tool

        def features(self) -> frozenset[Feature]:
            return frozenset({"tools", "prompts"})

    for method in ("tools/call", "prompts/get"):
        with pytest.raises(InternalError):
            run(dispatcher(Junk()), method)


def test_a_coroutine_is_no_result() -> None:
    """It is a mistake of somebody who comes from the async world; the model is told that the tool failed."""

    async def work() -> str:
        return "x"

    class Async(Handler):
        made = work()

        def tools(self, ctx: Context) -> list[Tool]:
            return [Tool(name="echo")]

        def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
            return self.made

    assert run(dispatcher(Async()), "tools/call", {"name": "echo"})["isError"] is True
    Async.made.close()


def test_a_tool_that_its_handler_does_not_know_is_unknown() -> None:
    class Half(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            return [Tool(name="echo")]

    with pytest.raises(UnknownTool):
        run(dispatcher(Half()), "tools/call", {"name": "echo"})


# --- what a server says of itself -----------------------------------------------------------------


def test_instructions_that_cannot_be_sent_are_the_servers_fault(caplog: pytest.LogCaptureFixture) -> None:
    handler = Handler()
    handler.instructions = "\ud800"
    for method, revision in (("server/discover", NEW), ("initialize", OLD)):
        with pytest.raises(InternalError):
            run(dispatcher(handler), method, {}, revision)
    assert len(caplog.records) == 2


# --- completion -----------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=130), st.none() | st.integers(0, 200))
def test_a_completion_counts_what_it_does_not_send(values: list[str], total: int | None) -> None:
    class Suggesting(Handler):
        def complete(self, ref: Any, argument: Any, context: Any, ctx: Context) -> Completion:
            return Completion(values, total=total)

    sent = run(dispatcher(Suggesting()), "completion/complete")["completion"]
    assert sent["values"] == values[:100]
    assert sent["total"] == (len(values) if total is None else total)
    assert sent["hasMore"] is (len(values) > 100 or sent["total"] > len(sent["values"]))


@pytest.mark.parametrize(
    "make", [lambda: iter(["a", "b"]), lambda: ("a", "b"), lambda: {"a": 1, "b": 2}, lambda: (x for x in "ab")]
)
def test_anything_iterable_is_a_completion(make: Callable[[], Any]) -> None:
    class Suggesting(Handler):
        def complete(self, ref: Any, argument: Any, context: Any, ctx: Context) -> Any:
            return make()

    assert run(dispatcher(Suggesting()), "completion/complete")["completion"]["values"] == ["a", "b"]


# --- what a tool requires -------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [False, True])
def test_a_tool_that_requires_something_is_not_begun_without(answer: bool) -> None:
    """S26-BASE-17"""
    mcp, began = MCPServer("requires"), []

    @mcp.tool(requires=["sampling.tools", "roots"])
    def tool() -> str:
        began.append(1)
        return "done"

    capabilities: dict[str, Any] = {"sampling": {"tools": {}}, "roots": {}} if answer else {"sampling": {}}
    modern = Client(mcp, capabilities=capabilities)
    legacy = Client(mcp, revision="2025-11-25", capabilities=capabilities, sessions=True)
    if answer:
        assert [modern.call_tool("tool").text, legacy.call_tool("tool").text] == ["done"] * 2
        return
    with pytest.raises(ProtocolError) as caught:
        modern.call_tool("tool")
    assert caught.value.data == {"requiredCapabilities": {"sampling": {"tools": {}}, "roots": {}}}
    assert "sampling.tools, roots" in legacy.call_tool("tool").text
    assert began == []
