"""How calls run: inline or in a worker, to their answer, their deadline or their cancellation."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, MCPServer, Tool
from mcp_wsgi.errors import Cancelled, InvalidEnvelope, MCPError
from mcp_wsgi.testing import ProtocolError
from mcp_wsgi.wsgi.calls import progress_token
from tests.spec.kit import MODERN, everything, refusal, send
from tests.spec.kit import connect_to as connect
from tests.stores.kit import Clock
from tests.wsgi.peer import NEWEST, SECOND, Later, Peer, Stage, call, note, ping

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


class Wordless(MCPError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unfinished(MCPError):
    """One whose constructor leaves the base's out."""

    code = 1001

    def __init__(self) -> None:
        pass


@pytest.mark.parametrize("streams", [False, True])
@BOTH
def test_an_error_that_cannot_tell_of_itself_is_a_failure_and_answers(
    version: str, streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def work(ctx: Context) -> str:
        if streams:
            ctx.error("soon")
        raise Wordless

    client = connect(serving(work, workers="threads"), version)
    with client.stream("tools/call", {"name": "work"}, log_level="error") as stream:
        *_, answer = stream
    assert answer["error"] == {"code": -32603, "message": f"Internal error (request id {answer['id']})"}
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


@BOTH
def test_an_error_class_with_a_constructor_of_its_own_tells_what_the_class_says(version: str) -> None:
    def work() -> str:
        raise Unfinished

    with pytest.raises(ProtocolError) as caught:
        connect(serving(work), version).call_tool("work")
    assert (caught.value.code, caught.value.data) == (1001, None)


@BOTH
def test_what_is_refused_is_logged_once(version: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mcp_wsgi")
    client = connect(serving(lambda: "x"), version)
    caplog.clear()
    with pytest.raises(ProtocolError):
        client.call_tool("unknown")
    with pytest.raises(ProtocolError):
        client.request("no/such/method")
    client.post({"jsonrpc": "2.0", "id": None, "method": "ping"})
    client.post([])
    assert [record.levelname for record in caplog.records] == ["INFO"] * 4


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
        ("ERROR", "tool 'crash' failed, request id 1"),
        ("ERROR", "resources/read failed, request id 3"),
    ]


# --- in a session: state --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "kept"), [("reply", True), ("fail", True), ("refuse", True), ("crash", False), ("quit", False)]
)
def test_state_is_kept_unless_the_call_crashed(then: str, kept: bool) -> None:
    peer = Stage(init=lambda params: {"a": 0}).peer()
    peer.call("put", key="a", value=1, then=then)
    assert json.loads(peer.call("see")) == {"a": int(kept)}


def test_what_a_crash_changed_in_place_is_undone() -> None:
    stage = Stage(init=lambda params: {"done": ["first"]})
    peer = stage.peer()
    stage.open("a", "b")
    peer.call("work", name="a", then="crash")
    assert json.loads(peer.call("see")) == {"done": ["first"]}
    peer.call("work", name="b")
    assert json.loads(peer.call("see")) == {"done": ["first", "b"]}


def test_what_wrong_arguments_and_unknown_tools_leave_is_the_state_as_it_was() -> None:
    peer = Stage(init=lambda params: {"a": 0}).peer()
    peer.call("put", value=1)
    peer.call("nope", value=1)
    assert json.loads(peer.call("see")) == {"a": 0}


def test_sessions_do_not_share_their_state() -> None:
    stage = Stage(init=lambda params: {})
    one, two = stage.peer(), stage.peer(SECOND)
    one.call("put", key="a", value=1)
    assert [json.loads(peer.call("see")) for peer in (one, two)] == [{"a": 1}, {}]


def test_a_state_that_cannot_be_copied_fails_the_call_and_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("bad")

    @mcp.tool
    def work(ctx: Context, bad: bool = False) -> list[str]:
        ctx.state["lock" if bad else "fine"] = threading.Lock() if bad else 1
        return sorted(ctx.state)

    peer = Peer(mcp.wsgi_app(sessions=True))
    assert peer.call("work", bad=True) == -32603
    assert json.loads(peer.call("work")) == ["fine"]
    assert len([record for record in caplog.records if record.exc_info]) == 1


# --- in a session: turns --------------------------------------------------------------------------


def test_calls_of_a_session_run_one_at_a_time_in_the_order_they_came() -> None:
    stage = Stage()
    peer = stage.peer()
    names = [str(number) for number in range(6)]
    stage.open(*names[1:])
    posts = []
    for number, name in enumerate(names):
        posts.append(peer.later(call("work", number, name=name)))
        if number:
            stage.queued(number)
    assert stage.begun() == "0"
    assert stage.began.empty()
    stage.open("0")
    assert all(b"result" in post.result().body for post in posts)
    assert json.loads(peer.call("see")) == {"done": names}


def test_sessions_do_not_wait_for_each_other() -> None:
    stage = Stage()
    one, two = stage.peer(), stage.peer()
    running = one.later(call("work", name="a"))
    stage.begun()
    assert two.call("put", key="b", value=1) == "done"
    stage.open("a")
    running.result()


def test_a_call_with_a_token_waits_for_nobody_and_changes_nothing() -> None:
    stage = Stage(init=lambda params: {})
    peer = stage.peer()
    peer.call("put", key="a", value=1)
    running = peer.later(call("work", 1, name="first"))
    stage.begun()
    beside = peer.later(call("work", 2, "token", name="beside"))
    assert stage.begun() == "beside"
    # What it sees is the state as it was kept last, and not what the other is about to change.
    seen = json.loads(peer.post(call("see", 3, "other")).body)["result"]["content"][0]["text"]
    assert json.loads(seen) == {"a": 1}
    stage.open("beside")
    assert b"result" in beside.result().body
    stage.open("first")
    running.result()
    assert json.loads(peer.call("see")) == {"a": 1, "done": ["first"]}


def test_what_runs_no_application_code_does_not_queue() -> None:
    stage = Stage(session_max_pending=1)
    peer = stage.peer()
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    waiting = peer.later(call("see", 2))
    stage.queued(1)
    assert json.loads(peer.post(ping(3)).body)["result"] == {}
    assert peer.post(note("initialized")).status == 202
    stage.open("a")
    assert [b"result" in post.result().body for post in (running, waiting)] == [True, True]


def test_a_queue_that_is_full_refuses_the_next_call() -> None:
    stage = Stage(session_max_pending=1)
    peer = stage.peer()
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    waiting = peer.later(call("put", 2, key="b", value=2))
    stage.queued(1)
    got = peer.post(call("put", 3, key="c", value=3))
    # A 503 would end the connection of widely deployed clients.
    assert (got.status, got.code, json.loads(got.body)["id"]) == (200, -32603, 3)
    beside = peer.later(call("work", 4, "token", name="beside"))
    assert stage.begun() == "beside"
    stage.open("a", "beside")
    assert [b"result" in post.result().body for post in (running, waiting, beside)] == [True] * 3
    assert json.loads(peer.call("see")) == {"done": ["a"], "b": 2}


@pytest.mark.parametrize("token", [None, "token"])
def test_two_calls_of_a_session_cannot_have_one_id_at_a_time(token: str | None) -> None:
    stage = Stage()
    peer = stage.peer()
    running = peer.later(call("work", 7, name="a"))
    stage.begun()
    got = peer.post(call("see", 7, token))
    assert (got.status, got.code) == (200, -32600)
    assert "result" in json.loads(peer.post(call("see", "7", "other")).body)
    assert stage.peer().call("see", 7) == "{}"
    stage.open("a")
    assert b"result" in running.result().body
    assert json.loads(peer.call("see", 7)) == {"done": ["a"]}


# --- in a session: the deadline -------------------------------------------------------------------


def test_at_its_deadline_the_caller_is_freed_and_the_work_goes_on() -> None:
    stage = Stage(request_timeout=0.1)
    peer = stage.peer()
    got = peer.post(call("work", 1, name="a"))
    assert (got.status, got.code) == (200, -32603)
    assert stage.begun() == "a"
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", False)


def test_a_call_that_its_caller_gave_up_keeps_no_session_alive_and_ends_with_it() -> None:
    clock = Clock()
    stage = Stage(request_timeout=0.1, session_ttl=60, clock=clock, max_calls=1)
    peer = stage.peer()
    assert peer.post(call("work", 1, name="a")).code == -32603
    assert stage.begun() == "a"
    clock.now += 60
    # Whoever comes next finds what has expired.
    assert stage.peer(SECOND).opening.status == 503
    assert stage.ended.get(timeout=20)[0] == "expired"
    assert stage.seen.get(timeout=20) == ("a", True)


@BOTH
def test_a_call_that_missed_its_deadline_is_logged_once(version: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mcp_wsgi")
    over = threading.Event()

    def work(ctx: Context) -> None:
        try:
            while True:
                ctx.raise_if_cancelled()
                time.sleep(0.01)
        finally:
            over.set()

    client = connect(serving(work, workers="threads", request_timeout=0.2), version)
    caplog.clear()
    with pytest.raises(ProtocolError, match="too long"):
        client.call_tool("work")
    assert over.wait(20)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_call_that_its_caller_gave_up_in_the_queue_never_begins() -> None:
    stage = Stage(request_timeout=0.1)
    peer = stage.peer()
    assert peer.post(call("work", 1, name="a")).code == -32603
    assert peer.post(call("work", 2, name="b")).code == -32603
    stage.queued(0)
    stage.open("a", "b", "c")
    stage.seen.get(timeout=20)
    # Its place is free, but the one that was late may still be leaving.
    peer.post(call("work", 3, "token", name="c"))
    assert [stage.begun(), stage.begun(), stage.began.empty()] == ["a", "c", True]


def test_a_stream_that_falls_silent_is_answered_and_the_work_goes_on() -> None:
    now = Clock()
    stage = Stage(request_timeout=5, keepalive=0.02, clock=now)
    peer = stage.peer()
    with peer.streamed(call("talk", 1, name="a")) as answer:
        assert answer.message()["params"]["data"] == "a begins"
        now.now += 10
        (last,) = answer.messages()
    assert (last["id"], last["error"]["code"]) == (1, -32603)
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", False)


def test_a_silent_call_becomes_a_stream_that_stays_alive() -> None:
    stage = Stage(stream_after=0.01, keepalive=0.01)
    peer = stage.peer(SECOND)
    with peer.streamed(call("work", 1, name="a")) as answer:
        assert [next(answer._chunks) for _ in range(2)] == [b": keep-alive\n\n"] * 2
        stage.open("a")
        assert [message["id"] for message in answer.messages()] == [1]
    assert json.loads(peer.call("see")) == {"done": ["a"]}


def test_a_call_that_finds_no_worker_leaves_nothing_behind() -> None:
    stage = Stage(max_calls=1)
    one, two = stage.peer(), stage.peer()
    running = one.later(call("work", 1, name="a"))
    stage.begun()
    for _ in range(2):
        got = two.post(call("see", 1))
        assert (got.status, got.code) == (200, -32603)
    stage.open("a")
    running.result()
    assert two.call("see", 1) == "{}"


# --- in a session: workers of another kind --------------------------------------------------------


def test_calls_that_run_inline_have_sessions_too() -> None:
    stage = Stage(workers="inline")
    stage.open("a")
    peer = stage.peer()
    assert peer.call("put", key="b", value=1) == "done"
    with peer.streamed(call("talk", 2, name="a")) as answer:
        assert [message.get("id") for message in answer.messages()] == [None, None, 2]
    with peer.streamed(call("talk", 3, name="a")) as answer:
        first = next(event for event in answer if event.data)
    with peer.get(first.id) as rest:
        assert [message.get("id") for message in rest.messages()] == [None, 3]
    assert json.loads(peer.call("see")) == {"b": 1}


# --- in a session: cancels ------------------------------------------------------------------------


def test_a_cancel_frees_the_caller_without_an_answer_and_drops_what_was_changed() -> None:
    stage = Stage(init=lambda params: {"done": []})
    peer = stage.peer()
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    cancel = peer.cancel(1)
    assert (cancel.status, cancel.body) == (202, b"")
    assert (running.result().status, running.result().body) == (202, b"")
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", True)
    assert json.loads(peer.call("see")) == {"done": []}


def test_a_cancel_lets_the_next_call_begin() -> None:
    stage = Stage()
    peer = stage.peer()
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    waiting = peer.later(call("work", 2, name="b"))
    stage.queued(1)
    last = peer.later(call("work", 3, name="c"))
    stage.queued(2)
    peer.cancel(2)
    assert waiting.result().body == b""
    peer.cancel(1)
    assert running.result().body == b""
    # A thread cannot be killed, so the next begins when this one is through.
    stage.open("a")
    assert stage.begun() == "c"
    stage.open("c")
    assert b"result" in last.result().body
    assert json.loads(peer.call("see")) == {"done": ["c"]}


def test_a_stream_that_is_cancelled_ends_without_an_answer() -> None:
    stage = Stage()
    peer = stage.peer()
    with peer.streamed(call("talk", 1, name="a")) as answer:
        assert answer.message()["params"]["data"] == "a begins"
        stage.begun()
        peer.cancel(1)
        assert answer.messages() == []
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", True)


def test_another_session_cannot_cancel_a_call() -> None:
    stage = Stage()
    one, two = stage.peer(), stage.peer()
    running = one.later(call("work", 1, name="a"))
    stage.begun()
    assert two.cancel(1).status == 202
    assert one.post(note("cancelled", requestId=1), HTTP_MCP_SESSION_ID="nope").status == 404
    for other in ("1", 1.0, True, None, [1], {"a": 1}, 2, "", -1):
        assert one.cancel(other).status == 202
    assert one.post({"jsonrpc": "2.0", "method": "notifications/cancelled"}).status == 202
    stage.open("a")
    assert b"result" in running.result().body
    assert stage.seen.get(timeout=20) == ("a", False)


def test_a_cancel_that_comes_late_changes_nothing() -> None:
    peer = Stage().peer()
    peer.call("put", 1, key="a", value=1)
    assert peer.cancel(1).status == 202
    assert json.loads(peer.call("see", 1)) == {"a": 1}


def test_an_initialize_cannot_be_cancelled() -> None:
    began, go = threading.Event(), threading.Event()

    def init(params: Any) -> dict[str, Any]:
        if params.revision.name == NEWEST:
            began.set()
            assert go.wait(20)
        return {}

    stage = Stage(init=init)
    other = stage.peer(SECOND)
    opening = Later(stage.peer)
    assert began.wait(20)
    assert other.cancel(0).status == 202
    go.set()
    assert opening.result().session is not None


# --- in a session: hanging up ---------------------------------------------------------------------


def test_hanging_up_cancels_nothing() -> None:
    stage = Stage()
    peer = stage.peer()
    with peer.streamed(call("talk", 1, name="a")) as answer:
        answer.message()
    stage.begun()
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", False)


def test_a_client_that_takes_no_stream_gets_the_answer_alone() -> None:
    stage = Stage()
    stage.open("a")
    got = stage.peer().post(call("talk", 1, name="a"), HTTP_ACCEPT="application/json")
    assert (got.headers["Content-Type"], json.loads(got.body)["id"]) == ("application/json", 1)


def test_a_tool_may_part_with_a_client_that_comes_back() -> None:
    mcp, go, parted = MCPServer("parting"), threading.Event(), []

    @mcp.tool
    def work(ctx: Context) -> str:
        parted.append(ctx.close_stream())
        assert go.wait(20)
        return "done"

    app = mcp.wsgi_app(sessions=True)
    newest, second = Peer(app), Peer(app, SECOND)
    with newest.streamed(call("work", 5)) as answer:
        (mark,) = answer
    go.set()
    with newest.get(mark.id) as rest:
        assert [message["id"] for message in rest.messages()] == [5]
    assert "result" in json.loads(second.post(call("work", 6)).body)
    assert parted == [True, False]


# --- tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "", "a", 0, -1, 2**70, "a" * 1024])
def test_a_progress_token_is_a_string_or_an_integer(token: Any) -> None:
    assert progress_token({"progressToken": token}) == token
    assert progress_token({}) is None


@pytest.mark.parametrize("token", [True, 1.0, [], {}, b"x", "a" * 1025])
def test_another_token_is_refused(token: Any) -> None:
    with pytest.raises(InvalidEnvelope, match="progressToken"):
        progress_token({"progressToken": token})
