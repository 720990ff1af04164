"""How calls run: inline or in a worker, to their answer, their deadline or their cancellation."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, MCPServer, Tool
from mcp_wsgi.errors import Cancelled, InvalidEnvelope, MCPError
from mcp_wsgi.testing import ProtocolError
from mcp_wsgi.wsgi.calls import progress_token
from tests.spec.kit import MODERN, everything, refusal, send
from tests.spec.kit import connect_to as connect

BOTH = pytest.mark.parametrize("version", [MODERN, "2025-11-25"])


def serving(function: Any, **options: Any) -> Any:
    mcp = MCPServer("calls")
    mcp.add_tool(function, name="work")
    return mcp.wsgi_app(**options)


# --- inline or not --------------------------------------------------------------------------------


@BOTH
def test_what_runs_no_application_code_needs_no_worker(version: str) -> None:
    """While all workers are taken, discovery, ping and a list that is kept are answered all the same."""
    running, go = threading.Event(), threading.Event()

    def work() -> str:
        running.set()
        assert go.wait(20)
        return "done"

    app = serving(work, workers="threads", max_calls=1)
    client = connect(app, version)
    client.list_tools()
    taken = threading.Thread(target=lambda: connect(app).call_tool("work"))
    taken.start()
    assert running.wait(20)
    assert client.list_tools().names == ["work"]
    assert (client.discover() if version == MODERN else client.ping()).raw is not None
    with pytest.raises(ProtocolError, match="Overloaded"):
        client.call_tool("work")
    go.set()
    taken.join(20)
    assert client.call_tool("work").text == "done"


def test_an_overloaded_server_says_when_to_come_back() -> None:
    running, go = threading.Event(), threading.Event()

    def work() -> str:
        running.set()
        assert go.wait(20)
        return "done"

    app = serving(work, workers="threads", max_calls=1)
    taken = threading.Thread(target=lambda: connect(app).call_tool("work"))
    taken.start()
    assert running.wait(20)
    reply = send(connect(app), "tools/call", {"name": "work"})
    go.set()
    taken.join(20)
    assert (reply.status, reply.headers["Retry-After"], reply.json["id"]) == (503, "1", 1)


@BOTH
def test_a_list_is_made_anew_only_when_it_changed(version: str) -> None:
    asked = []

    class Counting(Handler):
        state = 0

        def tools(self, ctx: Context) -> list[Tool]:
            asked.append(ctx.method)
            return [Tool(name=f"t{self.state}")]

        def catalogue(self, kind: str) -> int:
            return self.state

    handler = Counting()
    client = connect(handler, version)
    assert [client.list_tools().names for _ in range(3)] == [["t0"]] * 3
    handler.state = 1
    assert [client.list_tools().names for _ in range(2)] == [["t1"]] * 2
    assert asked == ["tools/list"] * 2


@BOTH
def test_a_list_that_fails_when_it_is_looked_up_is_an_internal_error(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            return []

        def catalogue(self, kind: str) -> int:
            raise RuntimeError("secret")

    reply = send(connect(Broken(), version), "tools/list")
    assert (reply.status, refusal(reply)["code"]) == (200, -32603)
    assert "secret" not in reply.text
    assert len([record for record in caplog.records if record.exc_info]) == 1


# --- the end of a call ----------------------------------------------------------------------------


@BOTH
def test_a_call_that_takes_too_long_is_answered_and_told_to_stop(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[bool] = []
    go, over = threading.Event(), threading.Event()

    def work(ctx: Context) -> str:
        go.wait(20)
        seen.append(ctx.cancelled)
        over.set()
        return "late"

    app = serving(work, workers="threads", request_timeout=0.05)
    with pytest.raises(ProtocolError) as caught:
        connect(app, version).call_tool("work")
    go.set()
    assert over.wait(20)
    assert (caught.value.code, caught.value.http_status, seen) == (-32603, 200, [True])
    assert "request id" in caught.value.message
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_deadline_counts_from_the_last_message() -> None:
    """A tool that goes on telling may go on; one that falls silent may not."""
    now = [0.0]

    def work(ctx: Context) -> str:
        for step in (1, 2, 3):
            ctx.report_progress(step)
        return "done"

    app = serving(work, workers="inline", request_timeout=5, clock=lambda: now[0])
    with connect(app).stream("tools/call", {"name": "work"}, progress_token=1) as stream:
        for step in (1, 2, 3):
            assert next(stream)["params"]["progress"] == step
            now[0] += 4.0
        assert stream.result()["content"][0]["text"] == "done"
    with connect(app).stream("tools/call", {"name": "work"}, progress_token=1) as stream:
        next(stream)
        now[0] += 6.0
        with pytest.raises(ProtocolError, match="took too long"):
            stream.result()


class Quits(BaseException):
    """Like a GreenletExit: what ends a worker from outside."""


@pytest.mark.parametrize("error", [Quits(), GeneratorExit()])
@BOTH
def test_whatever_ends_a_worker_frees_its_caller(version: str, error: BaseException) -> None:
    def work() -> str:
        raise error

    client = connect(serving(work, workers="threads", max_calls=1), version)
    for _ in range(3):
        result = client.call_tool("work")
        assert result.is_error
        assert Quits.__name__ not in result.text


@BOTH
def test_a_tool_that_ends_itself_as_cancelled_frees_its_caller(version: str) -> None:
    def work() -> str:
        raise Cancelled

    client = connect(serving(work, workers="threads", max_calls=1), version)
    for _ in range(3):
        with pytest.raises(ProtocolError) as caught:
            client.call_tool("work")
        assert caught.value.code == -32603


def test_an_interrupt_of_the_process_is_let_through() -> None:
    def work() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        connect(serving(work, workers="inline")).call_tool("work")


def test_the_words_of_an_exception_that_has_none_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def work() -> str:
        raise Mute

    reply = connect(serving(work, workers="threads", expose_errors=True)).call_tool("work")
    assert (reply.is_error, reply.text) == (True, "Tool work failed unexpectedly: Mute")
    assert len([record for record in caplog.records if record.exc_info]) == 1


@BOTH
def test_an_error_after_a_message_comes_on_the_stream(version: str) -> None:
    """The status is gone by then; the error is not."""

    def work(ctx: Context) -> str:
        ctx.report_progress(1)
        raise MCPError("no such method of mine", code=-32601)

    with connect(serving(work, workers="inline"), version).stream(
        "tools/call", {"name": "work"}, progress_token="p"
    ) as stream:
        progress, answer = stream
    assert stream.http.status == 200
    assert (progress["params"]["progress"], answer["error"]["code"]) == (1, -32601)


@BOTH
def test_a_call_sees_its_request(version: str) -> None:
    mcp = MCPServer("seeing")

    @mcp.tool
    def see(ctx: Context) -> dict[str, Any]:
        return {
            "method": ctx.method,
            "id": ctx.request_id,
            "revision": ctx.revision.name,
            "principal": ctx.principal.id,
            "header": ctx.headers["x-team"],
            "environ": ctx.environ["REQUEST_METHOD"],
            "meta": ctx.meta["com.example/a"],
            "cancelled": ctx.cancelled,
            "state": ctx.state,
        }

    class Me:
        id = "me"

    client = connect(mcp, version, principal=Me(), headers={"X-Team": "blue"})
    seen = client.call_tool("see", meta={"com.example/a": [1]}).text
    assert json.loads(seen) == {
        "method": "tools/call",
        "id": 1 if version == MODERN else 2,
        "revision": version,
        "principal": "me",
        "header": "blue",
        "environ": "POST",
        "meta": [1],
        "cancelled": False,
        "state": {},
    }


def test_each_call_logs_what_it_did_wrong_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_wsgi")
    client = connect(everything())
    for name in ("crash", "fail"):
        client.call_tool(name)
    with pytest.raises(ProtocolError):
        client.read_resource("note://crash")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "tool crash failed, request id 1"),
        ("ERROR", "resources/read failed, request id 3"),
    ]


# --- tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "", "a", 0, -1, 2**70])
def test_a_progress_token_is_a_string_or_an_integer(token: Any) -> None:
    assert progress_token({"progressToken": token}) == token
    assert progress_token({}) is None


@pytest.mark.parametrize("token", [True, 1.0, [], {}, b"x"])
def test_another_token_is_refused(token: Any) -> None:
    with pytest.raises(InvalidEnvelope, match="progressToken"):
        progress_token({"progressToken": token})
