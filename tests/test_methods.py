"""The RPC table, and a dispatcher on its own: no transport, no worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import CACHEABLE_METHODS, CLIENT_REQUESTS

from mcp_wsgi import (
    Completion,
    Context,
    ElicitForm,
    ElicitUrl,
    Handler,
    InitParams,
    InputRequired,
    ListRoots,
    MCPServer,
    Prompt,
    Resource,
    Tool,
    UrlElicitationRequired,
)
from mcp_wsgi.call import Call, ClientInfo
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
from tests.asking import ALL, SURE
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


# --- questions ------------------------------------------------------------------------------------

ASKING = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
REQUESTS = pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "tool"}),
        ("resources/read", {"uri": "paint://color"}),
        ("prompts/get", {"name": "prompt"}),
    ],
)


def painter(ask: Callable[[Context], Any]) -> MCPServer:
    """A server whose tool, resource and prompt do the same."""
    mcp = MCPServer("painter")
    mcp.tool(name="tool")(asked(ask))
    mcp.resource("paint://color", name="resource")(asked(ask))
    mcp.prompt(name="prompt")(asked(ask))
    return mcp


def asked(ask: Callable[[Context], Any]) -> Callable[[Context], Any]:
    def callback(ctx: Context) -> Any:
        return ask(ctx)

    return callback


def said(raw: Mapping[str, Any]) -> str:
    """The text of a result of one of the three."""
    (part,) = raw.get("content") or raw.get("contents") or raw["messages"]
    return str(part.get("text") or part["content"]["text"])


def by_hand(ctx: Context) -> InputRequired | str:
    """Ask in three rounds, by the explicit form."""
    state = ctx.request_state or {"seen": []}
    seen = [*state["seen"], *[answer["action"] for answer in ctx.input_responses.values()]]
    if len(seen) == 3:
        return "+".join(seen)
    return InputRequired({f"round {len(seen)}": ElicitForm("Sure?", SURE)}, {"seen": seen})


def raised(ctx: Context) -> str:
    answer = by_hand(ctx)
    if isinstance(answer, InputRequired):
        raise answer
    return answer


@ASKING
@REQUESTS
@pytest.mark.parametrize("ask", [by_hand, raised])
def test_the_explicit_form_is_the_same_in_both_eras(
    ask: Callable[[Context], Any], method: str, params: dict[str, Any], revision: str
) -> None:
    """S26-MRTR-02"""
    actions = iter(["accept", "decline", "cancel"])
    client = Client(painter(ask), revision=revision, answer=lambda method, params: {"action": next(actions)})
    assert said(client.request(method, params).raw) == "accept+decline+cancel"


@ASKING
@REQUESTS
def test_an_ordinary_function_is_the_same_in_both_eras(method: str, params: dict[str, Any], revision: str) -> None:
    """S26-MRTR-02"""
    mcp = painter(lambda ctx: f"{ctx.elicit('Sure?', SURE).action} {ctx.once('n', lambda: 5)}")
    client = Client(mcp, revision=revision, answer=lambda method, params: {"action": "cancel"})
    assert said(client.request(method, params).raw) == "cancel 5"


@ASKING
@REQUESTS
@pytest.mark.parametrize("explicit", [True, False])
def test_who_cannot_be_asked_is_told_so(method: str, params: dict[str, Any], revision: str, explicit: bool) -> None:
    """S26-BASE-17, S26-MRTR-05: with an error of its own in the modern era, else in-band."""
    question = ElicitForm("Sure?", SURE)
    mcp = painter(lambda ctx: InputRequired({"a": question}) if explicit else ctx.ask({"a": question}))
    client = Client(mcp, revision=revision, sessions=True)
    if method == "tools/call" and revision != NEW.name:
        reply = client.call_tool("tool")
        assert (reply.is_error, "has not declared elicitation" in reply.text) == (True, True)
        return
    with pytest.raises(ProtocolError, match="has not declared elicitation") as caught:
        client.request(method, params)
    data: dict[str, Any] = {"requiredCapabilities": {"elicitation": {}}}
    modern = (400, -32021, data)
    assert caught.value.reply is not None
    got = (caught.value.reply.status, caught.value.code, caught.value.data)
    assert got == (modern if revision == NEW.name else (200, -32603, None))


@pytest.mark.parametrize("explicit", [True, False])
@REQUESTS
def test_a_refusal_in_the_session_era_is_told_in_band(method: str, params: dict[str, Any], explicit: bool) -> None:
    question = ElicitForm("Sure?", SURE)
    mcp = painter(lambda ctx: InputRequired({"a": question}) if explicit else ctx.ask({"a": question}))

    def refuse(method: str, params: Any) -> Any:
        raise MCPError("not now", code=-1)

    client = Client(mcp, revision="2025-11-25", answer=refuse)
    if method == "tools/call":
        reply = client.call_tool("tool")
        assert (reply.is_error, reply.text) == (True, "The client refused: not now")
    else:
        with pytest.raises(ProtocolError, match="The client refused: not now"):
            client.request(method, params)


@REQUESTS
def test_a_state_alone_asks_the_client_to_call_again(method: str, params: dict[str, Any]) -> None:
    """S26-MRTR-03: which only the modern era can."""
    mcp = painter(lambda ctx: InputRequired(state=1) if ctx.request_state is None else str(ctx.request_state))
    assert said(Client(mcp, answer=lambda method, params: {}).request(method, params).raw) == "1"
    with pytest.raises(ProtocolError) as caught:
        Client(mcp, revision="2025-11-25", answer=lambda method, params: {}).request(method, params)
    assert caught.value.code == -32603


def test_rounds_without_an_end_are_given_up(caplog: pytest.LogCaptureFixture) -> None:
    mcp = painter(lambda ctx: InputRequired({"a": ListRoots()}))
    with pytest.raises(ProtocolError) as caught:
        Client(mcp, revision="2025-11-25", answer=lambda method, params: {"roots": []}).call_tool("tool")
    assert (caught.value.code, "64 rounds" in str(caplog.records[-1].exc_info)) == (-32603, True)


class Nosy(Handler):
    """Asks where nobody can be asked."""

    def features(self) -> frozenset[Feature]:
        return frozenset({"completions", "tools", "resources"})

    def tools(self, ctx: Context) -> list[Tool]:
        raise InputRequired({"a": ListRoots()})

    def resources(self, ctx: Context) -> list[Resource]:
        ctx.list_roots()
        return []

    def complete(self, ref: Any, argument: Any, context: Any, ctx: Context) -> list[str]:
        return [root.uri for root in ctx.list_roots()]

    def may_subscribe(self, uri: str, ctx: Context) -> bool:
        raise InputRequired({"a": ListRoots()})


@pytest.mark.parametrize("revision", list(SUPPORTED))
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "completion/complete"])
def test_nobody_is_asked_by_other_methods(method: str, revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """S26-MRTR-02, S26-BASE-13"""
    heard: list[Any] = []
    client = Client(
        Nosy(),
        revision=revision,
        capabilities=ALL,
        answer=lambda method, params: {"roots": []},
        on_message=heard.append,
    )
    with pytest.raises(ProtocolError) as caught:
        client.request(method, CALLS.get(method))
    assert caught.value.code == -32603
    assert not [message for message in heard if message.get("method") == "roots/list"]
    assert "failed" in caplog.text


def test_nobody_is_asked_whether_there_may_be_a_subscription() -> None:
    """S26-MRTR-02"""
    client = Client(Nosy(), capabilities=ALL)
    wanted = {"notifications": {"resourceSubscriptions": ["note://fixed"]}}
    with pytest.raises(ProtocolError) as caught, client.stream("subscriptions/listen", wanted) as stream:
        stream.result()
    assert caught.value.code == -32603


def test_a_page_that_is_required_after_a_question_is_an_error_with_its_data() -> None:
    """T25-ELI-04: also when the function has been run again."""
    page = ElicitUrl("Pay", "https://pay.example", "p1")

    def ask(ctx: Context) -> Any:
        if not ctx.input_responses:
            return InputRequired({"a": ListRoots()})
        raise UrlElicitationRequired([page])

    client = Client(painter(ask), revision="2025-11-25", answer=lambda method, params: {"roots": []})
    with pytest.raises(ProtocolError) as caught:
        client.call_tool("tool")
    params = {"mode": "url", "message": "Pay", "url": "https://pay.example", "elicitationId": "p1"}
    assert (caught.value.code, caught.value.data) == (-32042, {"elicitations": [params]})


def test_a_page_that_is_required_is_a_question_in_the_modern_era() -> None:
    """T25-ELI-04, S26-BASE-10"""

    def ask(ctx: Context) -> Any:
        if ctx.input_responses:
            return str(dict(ctx.input_responses))
        raise UrlElicitationRequired([ElicitUrl("Pay", "https://pay.example", "p1")])

    client = Client(painter(ask), answer=lambda method, params: {"action": "accept"})
    assert client.call_tool("tool").text == "{'elicitation-1': {'action': 'accept'}}"
    with pytest.raises(ProtocolError) as caught:
        Client(painter(ask), capabilities={"elicitation": {}}).call_tool("tool")
    assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})


def test_an_application_that_catches_all_exceptions_still_asks() -> None:
    def careless(ctx: Context) -> Any:
        try:
            ctx.list_roots()
        except Exception:  # noqa: BLE001
            return "swallowed"

    assert Client(painter(careless), capabilities=ALL).request("tools/call", {"name": "tool"}).raw["inputRequests"]


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


@ASKING
def test_both_forms_together_ask_each_question_once(revision: str) -> None:
    """What was asked before an ``InputRequired`` is not asked again when the function runs again."""
    heard: list[str] = []

    def mixed(ctx: Context) -> Any:
        first = ctx.elicit("First?", SURE).action
        if ctx.request_state is None:
            raise InputRequired({"second": ElicitForm("Second?", SURE)}, state={"first": first})
        third = ctx.elicit("Third?", SURE).action
        return f"{ctx.request_state['first']} {first} {third}"

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        heard.append(params["message"])
        return {"action": "decline"}

    assert Client(painter(mixed), revision=revision, answer=answer).call_tool("tool").text == "decline " * 2 + "decline"
    assert heard == ["First?", "Second?", "Third?"]


@ASKING
def test_a_state_comes_back_in_its_json_form(revision: str) -> None:
    def ask(ctx: Context) -> Any:
        return str(ctx.request_state) if ctx.request_state else InputRequired({"a": ListRoots()}, {"a": (1, NEW.name)})

    client = Client(painter(ask), revision=revision, answer=lambda method, params: {"roots": []})
    assert client.call_tool("tool").text == "{'a': [1, '2026-07-28']}"


@ASKING
def test_a_state_without_a_json_form_is_a_failure(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    mcp = painter(lambda ctx: InputRequired({"a": ListRoots()}, object()))
    with pytest.raises(ProtocolError) as caught:
        Client(mcp, revision=revision, answer=lambda method, params: {"roots": []}).call_tool("tool")
    assert (caught.value.code, "object is no type that JSON knows" in str(caplog.records[-1].exc_info)) == (
        -32603,
        True,
    )


def test_a_function_may_say_that_it_returns_a_question() -> None:
    """What else it returns is promised to the client as ever."""
    mcp = MCPServer("typed")

    def text(ctx: Context) -> str | InputRequired:
        return "red" if ctx.input_responses else InputRequired({"a": ListRoots()})

    def data(ctx: Context) -> Optional[Color | InputRequired]:  # noqa: UP045 - the old spelling, too
        return Color("red") if ctx.input_responses else InputRequired({"a": ListRoots()})

    def never(ctx: Context) -> InputRequired:
        return InputRequired({"a": ListRoots()})

    for function in (text, data, never):
        mcp.add_tool(function)
    client = Client(mcp, answer=lambda method, params: {"roots": []})
    schemas = {tool["name"]: tool.get("outputSchema") for tool in client.list_tools()}
    assert (schemas["text"], schemas["never"]) == (None, None)
    assert "name" in json.dumps(schemas["data"])
    assert client.call_tool("text").text == "red"
    assert json.loads(client.call_tool("data").text) == {"name": "red"}


@dataclass
class Color:
    name: str
