"""The way into an application: which methods there are, the state of a call, how it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, InitParams, MCPServer, Prompt, Tool
from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.errors import MethodNotFound
from mcp_wsgi.methods import METHODS
from mcp_wsgi.revisions import REVISIONS, Revision
from mcp_wsgi.testing import Client, ProtocolError
from tests.contexts import Heard
from tests.dispatching import NEW, dispatcher, run
from tests.spec.kit import CALLS

# --- which methods there are ----------------------------------------------------------------------


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


# --- how a call ends ------------------------------------------------------------------------------


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
