"""The session-era endpoint: its batches and messages, with stored sessions and without."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, InitParams, MCPServer
from mcp_wsgi.errors import MCPError
from mcp_wsgi.testing import Client
from tests.spec.kit import CALLS, everything, refusal, refused
from tests.spec.kit import connect_to as connect
from tests.wsgi.peer import NEWEST, SECOND, Peer, Stage, call, note, ping, unjudged

OLDEST = "2025-03-26"
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def client() -> Client:
    return connect(everything(), OLDEST)


# --- batches --------------------------------------------------------------------------------------


def test_each_request_of_a_batch_is_answered_in_order(client: Client) -> None:
    batch = [ping("a"), call("echo", "b", text="hi"), NOTE, call("nope", "c"), call("crash", "d"), ping("e")]
    answers = client.post(batch).json
    assert [answer["id"] for answer in answers] == ["a", "b", "c", "d", "e"]
    assert [("result" in answer, "error" in answer) for answer in answers] == [
        (True, False),
        (True, False),
        (False, True),
        (True, False),
        (True, False),
    ]


def test_what_is_no_message_is_answered_in_its_place(client: Client) -> None:
    answers = client.post([5, ping(), [ping()], {"jsonrpc": "2.0", "id": 7}, {}]).json
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32600, None, -32600, -32600, -32600]
    assert [answer.get("id") for answer in answers] == [None, 1, None, 7, None]


def test_a_batch_of_nothing_that_wants_an_answer_is_accepted(client: Client) -> None:
    for batch in ([NOTE], [NOTE, {"jsonrpc": "2.0", "id": 1, "result": {}}]):
        assert (client.post(batch).status, client.post(batch).body) == (202, b"")
    # 406 is for requests: what is owed no answer needs no type to have it in.
    assert client.post([NOTE], headers={"Accept": "text/html"}).status == 202
    assert refused(client.post([NOTE, ping()], headers={"Accept": "text/html"})) == (406, -32600)


def test_a_batch_has_a_limit() -> None:
    client = connect(everything(), OLDEST, max_batch=3)
    assert len(client.post([ping(number) for number in range(3)]).json) == 3
    assert refused(client.post([ping(number) for number in range(4)])) == (400, -32600)
    assert refused(client.post([])) == (400, -32600)


def test_ids_may_repeat_within_a_batch() -> None:
    answers = connect(unjudged(everything().wsgi_app(workers="inline")), OLDEST).post([ping(), ping()]).json
    assert [answer["id"] for answer in answers] == [1, 1]


def test_a_batch_is_a_stream_of_one_for_a_client_that_takes_no_json(client: Client) -> None:
    reply = client.post([ping("a"), ping("b")], headers={"Accept": "text/event-stream"})
    assert reply.headers["Content-Type"] == "text/event-stream"
    assert reply.body.count(b"data: ") == 1
    assert [message["id"] for message in reply.messages] == ["a", "b"]


def test_a_batch_runs_application_code_no_more_often_than_its_items_do() -> None:
    """``init`` is for calls; a ping in a batch is as quick as a ping alone."""
    made: list[InitParams] = []

    class Counting(Handler):
        def init(self, params: InitParams) -> dict[str, Any]:
            made.append(params)
            return {}

        def tools(self, ctx: Context) -> Any:
            return []

    lists = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    connect(Counting(), OLDEST).post([ping(), lists])
    assert len(made) == 1


def test_a_batch_that_takes_too_long_is_answered_whole() -> None:
    mcp, go = MCPServer("slow"), threading.Event()

    @mcp.tool
    def slow() -> str:
        go.wait(20)
        return "late"

    client = connect(mcp.wsgi_app(workers="threads", request_timeout=0.05), OLDEST)
    answers = client.post([ping("a"), call("slow", "b")]).json
    go.set()
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [("a", -32603), ("b", -32603)]


def test_what_comes_after_a_batch_was_cancelled_does_not_run() -> None:
    """At its deadline a batch is cancelled as a whole; the calls that were still to come never begin."""
    mcp, ran, now = MCPServer("slow"), [], [0.0]

    @mcp.tool
    def slow(ctx: Context) -> str:
        try:
            ctx.report_progress(1)
        finally:
            ran.append("slow")
        return "late"

    @mcp.tool
    def another() -> str:
        ran.append("another")
        return "ran"

    client = connect(mcp.wsgi_app(workers="inline", request_timeout=5, clock=lambda: now[0]), OLDEST)
    chunks = iter(client._send("POST", [call("slow", 1, "p"), call("another", 2)]))
    assert b"notifications/progress" in next(chunks)
    now[0] = 10.0
    (last,) = chunks
    assert [answer["error"]["code"] for answer in json.loads(last.split(b"data: ")[1])] == [-32603, -32603]
    assert ran == ["slow"]


def test_an_overloaded_server_says_so_to_each_request() -> None:
    mcp, running, go = MCPServer("busy"), threading.Event(), threading.Event()

    @mcp.tool
    def slow() -> str:
        running.set()
        assert go.wait(20)
        return "done"

    app = mcp.wsgi_app(workers="threads", max_calls=1)
    first = threading.Thread(target=lambda: connect(app, OLDEST).post(call("slow")))
    first.start()
    assert running.wait(20)
    client = connect(app, OLDEST)
    one, batch = client.post(call("slow")), client.post([ping("a"), call("slow", "b"), NOTE])
    quick = client.post(ping())
    go.set()
    first.join(20)
    # A 503 would end the connection of widely deployed clients.
    assert (one.status, refusal(one)["message"]) == (200, "Overloaded: 1 calls are running")
    assert (batch.status, [answer["error"]["code"] for answer in batch.json]) == (200, [-32603, -32603])
    assert quick.json["result"] == {}


def test_a_handler_that_cannot_say_what_it_offers_fails_each_call(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Handler):
        def features(self) -> Any:
            raise RuntimeError("secret")

    client = connect(Broken(), OLDEST)
    lists = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert refused(client.post(lists)) == (200, -32603)
    one, two = client.post([ping(), lists]).json
    assert (one["result"], two["error"]["code"]) == ({}, -32603)
    assert "secret" not in json.dumps(two)
    assert len([record for record in caplog.records if record.exc_info]) == 2


# --- single messages ------------------------------------------------------------------------------


@pytest.mark.parametrize("meta", [[], "x", 5, None, True])
def test_a_meta_of_another_type_is_refused(meta: Any) -> None:
    client = connect(everything(), "2025-11-25")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    assert refused(client.post(message)) == (200, -32602)
    assert client.post([message], headers={"MCP-Protocol-Version": OLDEST}).json[0]["error"]["code"] == -32602


@pytest.mark.parametrize("capability", ["capabilities", "clientInfo"])
def test_an_initialize_without_what_a_client_should_say_is_served(capability: str) -> None:
    """Some clients leave it out; nothing here depends on it."""
    client = connect(everything(), "2025-11-25")
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    del params[capability]
    reply = client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    assert reply.json["result"]["protocolVersion"] == "2025-11-25"


def test_init_may_refuse_a_client() -> None:
    class Closed(Handler):
        def init(self, params: InitParams) -> dict[str, Any]:
            raise MCPError("closed", code=5)

    client = connect(Closed(), "2025-11-25")
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert refused(client.post(message)) == (200, 5)


@pytest.mark.parametrize("returned", [None, [], "state", 5])
def test_init_makes_a_dict(returned: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(Handler):
        def init(self, params: InitParams) -> dict[str, Any]:
            return returned  # type: ignore[no-any-return]

        def tools(self, ctx: Context) -> Any:
            return []

    client = connect(Wrong(), "2025-11-25")
    assert refused(client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})) == (200, -32603)
    assert f"init must return a dict, not {type(returned).__name__}" in caplog.text


def test_every_method_works_without_an_initialize() -> None:
    """No session is stored, so a client that lost its process of the server just goes on."""
    client = connect(everything(), "2025-11-25")
    for number, method in enumerate([*CALLS, "ping"]):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(CALLS.get(method, {}))}
        assert "result" in client.post(message).json


# --- in a session ---------------------------------------------------------------------------------


def texts(answers: Any) -> list[Any]:
    """The texts of answers to calls."""
    return [answer["result"]["content"][0]["text"] for answer in answers]


def test_the_calls_of_a_batch_see_each_others_state() -> None:
    peer = Stage(init=lambda params: {}).peer(OLDEST)
    batch = [call("put", 1, key="a", value=1), call("put", 2, key="b", value=2, then="crash"), call("see", 3)]
    answers = json.loads(peer.post([NOTE, *batch]).body)
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert json.loads(texts(answers)[2]) == {"a": 1}
    assert json.loads(peer.call("see")) == {"a": 1}


def test_what_a_call_with_a_token_changes_in_a_batch_is_not_kept() -> None:
    peer = Stage(init=lambda params: {}).peer(OLDEST)
    peer.post([call("put", 1, "token", key="a", value=1), call("put", 2, key="b", value=2)])
    assert json.loads(peer.call("see")) == {"b": 2}


def test_a_batch_takes_one_turn() -> None:
    stage = Stage()
    peer = stage.peer(OLDEST)
    running = peer.later([call("work", 1, name="a"), call("work", 2, name="b")])
    stage.begun()
    waiting = peer.later(call("work", 3, name="c"))
    stage.queued(1)
    stage.open("a", "b", "c")
    assert len(json.loads(running.result().body)) == 2
    assert b"result" in waiting.result().body
    assert json.loads(peer.call("see")) == {"done": ["a", "b", "c"]}


@pytest.mark.parametrize("batch", [[ping(1), ping(1)], [call("see", "a"), ping("b"), call("see", "a")]])
def test_ids_do_not_repeat_within_the_batch_of_a_session(batch: list[dict[str, Any]]) -> None:
    """Or a cancel could mean either."""
    peer = Peer(unjudged(Stage().app), OLDEST)
    assert {answer["error"]["code"] for answer in json.loads(peer.post(batch).body)} == {-32600}
    assert "result" in json.loads(peer.post([ping(1), ping(2)]).body)[0]


def test_a_cancel_of_one_call_of_a_batch_frees_its_caller() -> None:
    stage = Stage(init=lambda params: {"done": []})
    peer = Peer(unjudged(stage.app), OLDEST)
    running = peer.later([call("work", 1, name="a"), call("work", 2, name="b")])
    stage.begun()
    # Other requests of the batch never begin: what has been answered could not be sent any more.
    peer.post([note("cancelled", requestId=1)])
    assert (running.result().status, running.result().body) == (202, b"")
    stage.open("a", "b")
    assert stage.seen.get(timeout=20) == ("a", True)
    assert json.loads(peer.call("see")) == {"done": []}
    assert stage.began.empty()


def test_a_batch_is_what_the_sessions_revision_says() -> None:
    stage = Stage()
    assert stage.peer(OLDEST).post([ping()], HTTP_MCP_PROTOCOL_VERSION=NEWEST).status == 200
    for revision in (SECOND, NEWEST):
        got = stage.peer(revision).post([ping()])
        assert (got.status, got.code) == (400, -32600)


def test_an_initialize_in_the_batch_of_a_session_is_refused() -> None:
    peer = Stage().peer(OLDEST)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": OLDEST}}
    got = peer.post([message, ping(2)])
    one, two = json.loads(got.body)
    assert (one["error"]["code"], two["result"], "Mcp-Session-Id" in got.headers) == (-32600, {}, False)


def test_a_full_queue_refuses_each_request_of_a_batch() -> None:
    stage = Stage(session_max_pending=1)
    peer = stage.peer(OLDEST)
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    waiting = peer.later([call("see", 2)])
    stage.queued(1)
    answers = json.loads(peer.post([call("see", 3, "token"), call("see", 4), NOTE]).body)
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(3, -32603), (4, -32603)]
    stage.open("a")
    assert [b"result" in post.result().body for post in (running, waiting)] == [True, True]


def test_the_answers_of_a_batch_come_last_on_its_stream_and_can_be_fetched() -> None:
    stage = Stage()
    peer = stage.peer(OLDEST)
    with peer.streamed([call("talk", 1, name="a"), call("see", 2), ping(3)]) as answer:
        first = next(answer)
        stage.begun()
    stage.open("a")
    with peer.get(first.id) as rest:
        *_, last = rest.messages()
    assert [answer["id"] for answer in last] == [1, 2, 3]


def test_a_level_is_a_sessions_own() -> None:
    stage = Stage(log_level="warning")
    stage.open("a")
    one, two = stage.peer(), stage.peer()
    level = {"jsonrpc": "2.0", "id": 9, "method": "logging/setLevel", "params": {"level": "debug"}}
    assert json.loads(one.post(level).body)["result"] == {}
    with one.streamed(call("talk", 1, name="a")) as answer:
        assert [message["params"]["data"] for message in answer.messages()[:-1]] == ["a begins", "a ends"]
    assert json.loads(two.post(call("talk", 1, name="a")).body)["id"] == 1
    bad = {**level, "params": {"level": "loud"}}
    assert one.post(bad).code == -32602
    with one.streamed(call("talk", 1, name="a")) as answer:
        assert len(answer.messages()) == 3


def test_a_call_sees_its_session() -> None:
    mcp = MCPServer("seeing")

    @mcp.tool
    def see(ctx: Context) -> str:
        return f"{ctx.session_id} {ctx.client.info['name']} {ctx.revision.name}"

    app = mcp.wsgi_app(sessions=True)
    peer = Peer(app, SECOND)
    # A client may repeat another version in the header; what was agreed on holds.
    got = peer.post(call("see"), HTTP_MCP_PROTOCOL_VERSION=OLDEST)
    assert texts([json.loads(got.body)]) == [f"{peer.session} peer {SECOND}"]


@pytest.mark.parametrize("params", [{}, {"a": [1]}])
@pytest.mark.parametrize("name", ["initialized", "roots/list_changed", "cancelled", "nope", "tasks/status"])
def test_every_notification_of_a_session_is_accepted(name: str, params: dict[str, Any]) -> None:
    peer = Stage().peer()
    for message in (note(name, **params), {"jsonrpc": "2.0", "method": f"notifications/{name}"}):
        assert (peer.post(message).status, peer.post(message).body) == (202, b"")
    assert peer.post({"jsonrpc": "2.0", "id": 5, "result": {}}).status == 202
    assert peer.post({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}}).status == 202
