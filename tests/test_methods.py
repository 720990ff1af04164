"""The RPC table, and a dispatcher on its own: no transport, no worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import CACHEABLE_METHODS, CLIENT_REQUESTS

from mcp_wsgi import Completion, Context, Handler, InitParams, MCPServer, Prompt, Resource, Tool
from mcp_wsgi.context import Call, ClientInfo
from mcp_wsgi.errors import (
    InternalError,
    InvalidCursor,
    InvalidParams,
    MCPError,
    MethodNotFound,
    OptionError,
    RegistrationError,
    ResourceNotFound,
    UnknownTool,
)
from mcp_wsgi.handler import Feature
from mcp_wsgi.methods import METHODS, Dispatcher, is_for_client
from mcp_wsgi.revisions import LEGACY, META_SERVER_INFO, MODERN, REVISIONS, SUPPORTED, Revision
from mcp_wsgi.sealing import Cursors, Sealer
from mcp_wsgi.testing import Client, ProtocolError
from tests.contexts import Heard
from tests.spec.kit import CALLS, everything

NEW, OLD = MODERN[0], LEGACY[0]


#: Methods of the revisions that are not served yet.
def dispatcher(handler: Handler | None = None, **options: Any) -> Dispatcher:
    given: dict[str, Any] = {"page_size": 50, "cache_ttl": 0.0, "cache_scope": "private", "expose_errors": False}
    return Dispatcher(handler or everything(), Cursors(Sealer([b"k" * 16], salt="test")), **{**given, **options})


def run(made: Dispatcher, method: str, params: dict[str, Any] | None = None, revision: Revision = NEW) -> Any:
    """The result of a call, as it was decoded from its bytes."""
    call = Call(method, params if params is not None else dict(CALLS.get(method, {})), 1, revision)
    row = made.find(method, revision)
    found = made.ready(row, call)
    return json.loads(found if found is not None else made.run(row, call, Context(call, Heard())))


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


@pytest.mark.parametrize("method", ["", "nope", "TOOLS/LIST", "tools/list ", "é"])
def test_an_unknown_method_is_not_found(method: str) -> None:
    for revision in REVISIONS.values():
        with pytest.raises(MethodNotFound, match="Method not found"):
            dispatcher().find(method, revision)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_found_where_its_revision_and_its_feature_are(method: str) -> None:
    row = METHODS[method]
    full, empty = dispatcher(), dispatcher(Handler())
    for name, revision in REVISIONS.items():
        if name not in row.revisions:
            with pytest.raises(MethodNotFound):
                full.find(method, revision)
            continue
        full.keeps_sessions = False
        if row.pushes:
            with pytest.raises(MethodNotFound):
                full.find(method, revision)
            full.keeps_sessions = True
        assert full.find(method, revision) is row
        if row.feature is None:
            assert empty.find(method, revision) is row
        else:
            with pytest.raises(MethodNotFound):
                empty.find(method, revision)


# --- what is told of failures ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "tells"),
    [(MCPError("x"), True), (UnknownTool("x"), True), (OptionError("x"), False), (RegistrationError("x"), False)],
)
def test_a_mistake_of_the_developer_is_not_for_the_client(error: MCPError, tells: bool) -> None:
    assert is_for_client(error) is tells
    assert not is_for_client(ValueError("x"))


@pytest.mark.parametrize(
    ("error", "modern", "legacy"),
    [
        (ResourceNotFound("x:y"), -32602, -32002),
        (MCPError("x", code=-32002), -32602, -32002),
        (InvalidParams(), -32602, -32602),
        (MCPError("x", code=42), 42, 42),
        (MCPError("x", code=-32001), -32001, -32001),
        (MCPError("x", code=-32019), -32019, -32019),
        (MCPError("x", code=-32020), -32020, -32020),
        (MCPError("x", code=-32022), -32022, -32022),
        (MCPError("x", code=-32023), -32603, -32023),
        (MCPError("x", code=-32042), -32603, -32042),
        (MCPError("x", code=-32099), -32603, -32099),
        (MCPError("x", code=-32100), -32100, -32100),
    ],
)
def test_a_code_is_one_that_the_revision_has(error: MCPError, modern: int, legacy: int) -> None:
    assert dispatcher().error_code(error, NEW) == modern
    assert dispatcher().error_code(error, OLD) == legacy


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "completion/complete", "tools/list"])
@pytest.mark.parametrize("error", [RuntimeError("secret"), OptionError("secret"), SystemExit("secret")])
def test_a_crash_is_an_internal_error_with_the_id(
    method: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Handler):
        def _fail(self, *args: Any) -> Any:
            raise error

        tools: Any = _fail
        read_resource: Any = _fail
        prompts: Any = _fail
        find_prompt: Any = _fail
        complete: Any = _fail

    with pytest.raises(InternalError) as caught:
        run(dispatcher(Broken()), method)
    assert str(caught.value) == "Internal error (request id 1)"
    (record,) = caplog.records
    assert record.getMessage() == f"{method} failed, request id 1"
    assert record.exc_info is not None


def test_words_are_shown_where_that_is_opted_for() -> None:
    class Broken(Handler):
        def tools(self, ctx: Context) -> Any:
            raise KeyError("secret")

    with pytest.raises(InternalError, match="KeyError: 'secret'"):
        run(dispatcher(Broken(), expose_errors=True), "tools/list")


# --- hand-written handlers that return other kinds than they should -------------------------------

JUNK: list[Any] = [None, 5, "text", [5], [{"name": "x"}], {"name": "x"}, [None], object(), [Prompt(name="x"), 5]]


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.parametrize("junk", JUNK, ids=repr)
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


# --- state ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS.values(), ids=list(REVISIONS))
def test_init_makes_the_state_of_each_call_that_runs_application_code(revision: Revision) -> None:
    made = []

    class Stateful(Handler):
        def init(self, params: InitParams) -> dict[str, Any]:
            made.append(params)
            return {"n": len(made)}

        def tools(self, ctx: Context) -> list[Tool]:
            return [Tool(name="count")]

        def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> str:
            return str(ctx.state["n"])

    served = dispatcher(Stateful())
    call = Call(
        "tools/call", {"name": "count"}, 1, revision, client=ClientInfo({"name": "x"}, {"roots": {}}), principal=5
    )
    for expected in ("1", "2"):
        result = json.loads(served.run(METHODS["tools/call"], call, Context(call, Heard())))
        assert result["content"][0]["text"] == expected
    assert made[0] == InitParams(revision, {"name": "x"}, {"roots": {}}, 5)
    quick = "ping" if revision is not NEW else "server/discover"
    run(served, quick, {}, revision)
    quick_call = Call(quick, {}, 1, revision)
    served.run(METHODS[quick], quick_call, Context(quick_call, Heard()))
    assert len(made) == 2


def test_progress_that_was_held_back_is_sent_by_every_method() -> None:
    class Slow(Heard):
        def allow_progress(self) -> bool:
            return False

    def progress(ctx: Context) -> None:
        ctx.report_progress(1)
        ctx.report_progress(2)

    class Telling(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            progress(ctx)
            return [Tool(name="echo")]

        def find_tool(self, name: str, ctx: Context) -> Tool:
            return Tool(name="echo")

        def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> str:
            progress(ctx)
            return "x"

        def read_resource(self, uri: str, ctx: Context) -> str:
            progress(ctx)
            return "x"

        def prompts(self, ctx: Context) -> list[Prompt]:
            return [Prompt(name="ask")]

        def get_prompt(self, name: str, arguments: dict[str, str], ctx: Context) -> str:
            progress(ctx)
            return "x"

        def complete(self, ref: Any, argument: Any, context: Any, ctx: Context) -> list[str]:
            progress(ctx)
            return ["x"]

    served = dispatcher(Telling())
    for method in ("tools/list", "tools/call", "resources/read", "prompts/get", "completion/complete"):
        params = {"name": "echo"} if method == "tools/call" else dict(CALLS[method])
        call = Call(method, params, 1, NEW, progress_token="p")
        sink = Slow()
        served.run(METHODS[method], call, Context(call, sink))
        assert [json.loads(message)["params"]["progress"] for message in sink.messages] == [2], method


# --- shaping --------------------------------------------------------------------------------------


def test_the_envelope_is_that_of_the_revision() -> None:
    served = dispatcher(cache_ttl=2, cache_scope="public")
    listed = served.envelope(METHODS["tools/list"], NEW, {"tools": []})
    assert listed.pop("_meta") is not None
    assert listed == {"tools": [], "resultType": "complete", "ttlMs": 2000, "cacheScope": "public"}
    own = served.envelope(METHODS["tools/list"], NEW, {}, shared=False)
    assert (own["ttlMs"], own["cacheScope"]) == (2000, "private")
    called = served.envelope(METHODS["tools/call"], NEW, {"content": [], "_meta": {"a": 1}})
    assert called.keys() == {"content", "resultType", "_meta"}
    assert called["_meta"].keys() == {"a", META_SERVER_INFO}
    for revision in LEGACY:
        assert served.envelope(METHODS["tools/list"], revision, {"tools": []}) == {"tools": []}


def test_instructions_that_cannot_be_sent_are_the_servers_fault(caplog: pytest.LogCaptureFixture) -> None:
    handler = Handler()
    handler.instructions = "\ud800"
    for method, revision in (("server/discover", NEW), ("initialize", OLD)):
        with pytest.raises(InternalError):
            run(dispatcher(handler), method, {}, revision)
    assert len(caplog.records) == 2


# --- pages ----------------------------------------------------------------------------------------


def counted(count: int) -> Handler:
    class Counted(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            return [Tool(name=f"n{number}") for number in range(count)]

    return Counted()


@given(st.integers(0, 12), st.integers(1, 13))
def test_pages_put_together_are_the_list(count: int, size: int) -> None:
    served = dispatcher(counted(count), page_size=size)
    names: list[str] = []
    sizes: list[int] = []
    params: dict[str, Any] = {}
    while True:
        page = run(served, "tools/list", params)
        names += [tool["name"] for tool in page["tools"]]
        sizes.append(len(page["tools"]))
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert names == [f"n{number}" for number in range(count)]
    assert all(length == size for length in sizes[:-1])
    assert sizes[-1] > 0 or count == 0


@given(st.text() | st.integers() | st.booleans() | st.lists(st.integers()))
def test_no_other_cursor_is_taken(cursor: Any) -> None:
    with pytest.raises(InvalidParams):
        run(dispatcher(counted(5), page_size=2), "tools/list", {"cursor": cursor})


def test_a_cursor_of_one_revision_is_none_of_another_that_lists_differently() -> None:
    mcp = MCPServer("two")
    for number in range(3):
        mcp.add_tool(lambda: "x", name=f"n{number}", title=f"T{number}")
    served = dispatcher(mcp, page_size=1)
    cursor = run(served, "tools/list", {}, NEW)["nextCursor"]
    with pytest.raises(InvalidCursor):
        run(served, "tools/list", {"cursor": cursor}, REVISIONS["2025-03-26"])


def test_a_list_is_kept_for_each_revision_until_it_changes() -> None:
    mcp = MCPServer("kept")
    mcp.add_tool(lambda: "x", name="a", title="A")
    served = dispatcher(mcp)
    for _ in range(2):
        assert "title" in run(served, "tools/list", {}, NEW)["tools"][0]
        assert "title" not in run(served, "tools/list", {}, REVISIONS["2025-03-26"])["tools"][0]
    call = Call("tools/list", {}, 1, NEW)
    assert served.ready(METHODS["tools/list"], call) is not None
    mcp.add_tool(lambda: "x", name="b")
    assert served.ready(METHODS["tools/list"], call) is None
    assert len(run(served, "tools/list", {}, NEW)["tools"]) == 2


def test_what_was_listed_may_be_changed_by_its_owner() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}

    class Mutable(Handler):
        def __init__(self) -> None:
            self.listed = [Tool(name="a", input_schema=schema)]

        def tools(self, ctx: Context) -> list[Tool]:
            return self.listed

    handler = Mutable()
    served = dispatcher(handler)
    first = run(served, "tools/list")
    handler.listed.append(Tool(name="b"))
    assert [tool["name"] for tool in run(served, "tools/list")["tools"]] == ["a", "b"]
    assert [tool["name"] for tool in first["tools"]] == ["a"]


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


class _TimeOut(BaseException):
    """As gevent's time-out: no ``Exception``."""


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), _TimeOut()])
def test_whatever_ends_a_tool_is_told_in_band(error: BaseException) -> None:
    """S26-TOOL-11."""
    mcp = MCPServer("ends")

    @mcp.tool
    def ending() -> str:
        raise error

    result = Client(mcp, workers="threads").call_tool("ending")
    assert result.is_error


@pytest.mark.parametrize("workers", ["threads"])
def test_an_interrupt_raised_on_a_workers_thread_frees_the_caller(workers: str) -> None:
    mcp = MCPServer("interrupts")

    @mcp.tool
    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(ProtocolError) as caught:
        Client(mcp, workers=workers).call_tool("interrupted")
    assert caught.value.code == -32603
