"""Requirements, groups 2 to 5 and 11: the session era where sessions are stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_wsgi import Context, Icon, MCPServer
from mcp_wsgi.levels import LEVELS
from tests.wsgi.peer import NEWEST, OLDEST, SECOND, Peer, Stage, call, initialize, note, ping, unjudged
from tests.wsgi.raw import Got, raw

METHODS = pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A server with room for several streams, which ends with the test."""
    made = Stage(max_streams=8, auth=_user)
    yield made
    made.app.close(0)


def _user(request: Any) -> Any:
    return SimpleNamespace(id=request.headers.get("X-User") or "anna")


@pytest.fixture
def peer(stage: Stage, session_revision: str) -> Peer:
    """A client of each revision."""
    return stage.peer(session_revision)


def ask(peer: Peer, method: str, **entries: Any) -> Got:
    return peer.post(ping(), **entries) if method == "POST" else peer.http(method, **entries)


def request(method: str, identity: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def result(got: Got) -> Any:
    return json.loads(got.body)["result"]


# --- sessions -------------------------------------------------------------------------------------


def test_initialize_assigns_an_id_of_visible_ascii(stage: Stage, peer: Peer, session_revision: str) -> None:
    """T25-SESS-01, T25-SESS-02: on the answer that carries the result, and a new one each time."""
    ids = {str(other.session) for other in (peer, *(stage.peer(session_revision) for _ in range(50)))}
    assert len(ids) == 51
    assert all(0x21 <= ord(character) <= 0x7E for identity in ids for character in identity)
    assert "Mcp-Session-Id" not in raw(stage.app, request("initialize")).headers


def test_ids_are_hard_to_guess(stage: Stage) -> None:
    """T25-SESS-02, T25-SESS-07: no two share more than chance gives them."""
    ids = [str(stage.peer().session) for _ in range(200)]
    prefixes = {identity[:8] for identity in ids}
    suffixes = {identity[-8:] for identity in ids}
    assert len(prefixes) == len(suffixes) == 200
    assert min(map(len, ids)) >= 22  # 128 bits in an alphabet of 64


@METHODS
def test_a_missing_id_is_a_400(peer: Peer, method: str) -> None:
    """T25-SESS-03: on every request but initialize."""
    got = ask(peer, method, HTTP_MCP_SESSION_ID=None)
    assert (got.status, got.code) == (400, -32600)
    assert peer.opening.status == 200


@METHODS
def test_an_ended_or_unknown_session_is_a_404(peer: Peer, method: str) -> None:
    """T25-SESS-04: so the client starts anew, which it may."""
    assert ask(peer, method, HTTP_MCP_SESSION_ID="unknown").status == 404
    peer.delete()
    assert ask(peer, method).status == 404
    assert peer.post(initialize()).status == 200


def test_delete_ends_a_session(peer: Peer) -> None:
    """T25-SESS-05: and again, it is none."""
    assert [peer.delete().status for _ in range(2)] == [204, 404]


@METHODS
def test_a_session_is_no_authentication(stage: Stage, peer: Peer, method: str) -> None:
    """T25-SESS-06, T25-SESS-07, S26-SEC-01: each request is checked, and another user's id is unknown."""
    assert ask(peer, method, HTTP_X_USER="bob").status == 404
    strict = Stage(auth=lambda request: SimpleNamespace(id="anna") if "X-User" in request.headers else None)
    mine = strict.peer(HTTP_X_USER="anna")
    assert ask(mine, method, HTTP_X_USER=None).status == 401
    assert mine.post(ping()).status == 200


def test_sessions_are_kept_apart(stage: Stage, peer: Peer) -> None:
    """T25-SESS-07: state, queue and messages of one user never reach another's."""
    other = stage.peer(HTTP_X_USER="bob")
    peer.call("put", key="secret", value=1)
    stage.app.log(str(peer.session), "error", "secret")
    assert other.call("see") == "{}"
    with other.get() as own:
        stage.app.log(str(other.session), "error", "mine")
        assert own.message()["params"]["data"] == "mine"


# --- the life of one ------------------------------------------------------------------------------


def test_what_was_agreed_on_holds_for_the_session(stage: Stage, session_revision: str) -> None:
    """T25-LIFE-03, T25-HTTP-19: whatever the header says, and if there is none."""
    icon = Icon("https://a.example/i.png")
    stage.server.tool(name="new", title="New", icons=[icon])(lambda: "new")
    peer = stage.peer(session_revision)
    for version in (None, OLDEST, SECOND, NEWEST):
        tool = result(peer.post(request("tools/list"), HTTP_MCP_PROTOCOL_VERSION=version))["tools"][-1]
        assert ("title" in tool, "icons" in tool) == (session_revision != OLDEST, session_revision == NEWEST)
        batch = peer.post([ping()], HTTP_MCP_PROTOCOL_VERSION=version)
        assert batch.status == (200 if session_revision == OLDEST else 400)


def test_before_the_client_is_ready_it_gets_log_messages_only(stage: Stage, session_revision: str) -> None:
    """T25-LIFE-04: whatever else there was to tell is not."""
    peer = Peer(stage.app, session_revision, ready=False)
    with peer.get() as own:
        assert stage.app.tools_changed() == stage.app.resource_updated("note://fixed") == 0
        assert stage.app.notify(str(peer.session), "notifications/message", {"level": "error", "data": 0}) == 0
        assert stage.app.log(str(peer.session), "error", "early") == 1
        assert own.message()["params"]["data"] == "early"
        peer.post(note("initialized"))
        assert stage.app.tools_changed() == 1
        assert own.message()["method"] == "notifications/tools/list_changed"


def test_before_the_client_is_ready_it_is_answered(stage: Stage, session_revision: str) -> None:
    """T25-LIFE-04, T25-BASE-10: some clients never say that they are."""
    peer = Peer(stage.app, session_revision, ready=False)
    assert result(peer.post(ping())) == {}
    assert peer.call("see") == "{}"


def test_the_version_header_of_initialize_does_not_count(stage: Stage, session_revision: str) -> None:
    """T25-HTTP-20: not even one that nobody serves."""
    for version in (OLDEST, NEWEST, "1999-01-01"):
        got = raw(unjudged(stage.app), initialize(session_revision), HTTP_MCP_PROTOCOL_VERSION=version)
        assert result(got)["protocolVersion"] == session_revision
        assert "Mcp-Session-Id" in got.headers


@METHODS
def test_a_version_header_that_is_not_served_is_a_400(stage: Stage, method: str) -> None:
    """T25-HTTP-18: in a session as without."""
    assert ask(Peer(unjudged(stage.app)), method, HTTP_MCP_PROTOCOL_VERSION="1999-01-01").status == 400


# --- HTTP -----------------------------------------------------------------------------------------


def test_one_path_takes_post_get_and_delete(peer: Peer) -> None:
    """T25-HTTP-01, T25-HTTP-11: and GET is a stream."""
    assert peer.post(ping()).status == 200
    with peer.get() as own:
        assert (own.status, own.headers["Content-Type"]) == (200, "text/event-stream")
    for method in ("POST", "GET", "DELETE"):
        assert ask(peer, method, PATH_INFO="/other").status == 404
    assert peer.delete().status == 204


@METHODS
def test_a_foreign_origin_is_a_403(peer: Peer, method: str) -> None:
    """T25-HTTP-02: on every connection, with a good session id or without."""
    for session in (peer.session, None):
        assert ask(peer, method, HTTP_ORIGIN="https://evil.example", HTTP_MCP_SESSION_ID=session).status == 403
    assert ask(peer, "POST", HTTP_ORIGIN="http://localhost").status == 200


def test_what_wants_no_answer_is_a_202(peer: Peer, session_revision: str) -> None:
    """T25-HTTP-05: notifications and responses, and an error without an id's owner for what is neither."""
    messages: list[Any] = [note("initialized"), note("nope"), {"jsonrpc": "2.0", "id": 9, "result": {}}]
    for message in [*messages, messages] if session_revision == OLDEST else messages:
        got = peer.post(message)
        assert (got.status, got.body) == (202, b"")
    assert peer.post({"jsonrpc": "2.0"}).status == 400


def test_notifications_come_before_the_response_that_ends_the_stream(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-06, T25-HTTP-07, T25-HTTP-09: in order, with the request's id."""
    stage.open("a")
    with peer.streamed(call("talk", "x", name="a")) as answer:
        first, second, last = answer.messages()
    assert (first["params"]["data"], second["params"]["data"]) == ("a begins", "a ends")
    assert (last["id"], last["result"]["content"][0]["text"]) == ("x", "a")
    assert peer.post(call("see")).headers["Content-Type"] == "application/json"


def test_the_stream_of_a_request_ends_early_only_with_its_session(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-08: and even then with an answer."""
    with peer.streamed(call("talk", 1, name="a")) as answer:
        answer.message()
        peer.delete()
        (last,) = answer.messages()
    assert (last["id"], "error" in last) == (1, True)
    stage.open("a")


def test_hanging_up_is_no_cancellation(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-10: the call goes on, and its client may come back for the rest."""
    with peer.streamed(call("talk", 1, name="a")) as answer:
        first = next(event for event in answer if event.data)
    stage.begun()
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", False)
    with peer.get(first.id) as rest:
        second, last = rest.messages()
    assert (second["params"]["data"], last["id"]) == ("a ends", 1)


def test_a_get_stream_has_nothing_of_running_requests(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-12, T25-HTTP-13: their messages and responses are on their own streams."""
    stage.open("a")
    with peer.get() as own:
        with peer.streamed(call("talk", 1, name="a")) as answer:
            assert len(answer.messages()) == 3
        peer.post(call("talk", 2, "token", name="a"))
        stage.app.tools_changed()
        assert own.message()["method"] == "notifications/tools/list_changed"
        peer.delete()
        assert own.messages() == []


def test_each_message_goes_to_one_of_several_streams(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-13: the one that was opened last."""
    with peer.get() as first, peer.get() as second, peer.get() as third:
        for number in range(3):
            stage.app.log(str(peer.session), "error", number)
        assert [third.message()["params"]["data"] for _ in range(3)] == [0, 1, 2]
        peer.delete()
        assert [stream.messages() for stream in (first, second, third)] == [[], [], []]


def test_a_stream_begins_with_an_id_for_clients_that_poll(stage: Stage, peer: Peer, session_revision: str) -> None:
    """T25-HTTP-14: an event with an id and empty data; for older clients it would be no JSON."""
    stage.open("a")
    stage.app.log(str(peer.session), "error", 1)
    for opened in (peer.get(), peer.streamed(call("talk", 1, name="a"))):
        with opened:
            first = next(opened)
        assert bool(first.id)
        assert (first.data == "") is (session_revision == NEWEST)


def test_a_connection_may_be_closed_for_the_client_to_poll(session_revision: str) -> None:
    """T25-HTTP-15, T25-HTTP-08: after an id and a time to wait; older clients get an answer first."""
    stage = Stage(stream_retry=0.25, stream_lifetime=0.2, request_timeout=30)
    peer = stage.peer(session_revision)
    with peer.streamed(call("talk", 1, name="a")) as answer:
        events = list(answer)
    stage.begun()
    stage.open("a")
    if session_revision != NEWEST:
        assert json.loads(events[-1].data)["error"]["code"] == -32603
        return
    assert (events[0].data, events[0].retry) == ("", 250)
    assert [json.loads(event.data)["params"]["data"] for event in events[1:]] == ["a begins"]
    stage.seen.get(timeout=20)
    assert _polled(peer, str(events[-1].id))[-1]["id"] == 1


def _polled(peer: Peer, after: str) -> list[Any]:
    """What a client that comes back again and again has got in the end."""
    messages: list[Any] = []
    for _ in range(2000):
        with peer.get(after) as rest:
            for event in rest:
                after = str(event.id)
                messages += [json.loads(event.data)] if event.data else []
        if messages and "id" in messages[-1]:
            return messages
        threading.Event().wait(0.01)
    raise AssertionError(f"no answer came after {messages}")


def test_event_ids_are_unique_in_a_session(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-16: over all of its streams and connections."""
    stage.open("a")
    ids: list[Any] = []
    for number in range(3):
        stage.app.log(str(peer.session), "error", number)
        with peer.get() as own:
            ids.append(next(event.id for event in own if event.data))
        with peer.streamed(call("talk", number, name="a")) as answer:
            ids += [event.id for event in answer]
    assert None not in ids
    assert len(set(ids)) == len(ids)


def test_a_stream_goes_on_after_the_last_event_that_came(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-17, T25-HTTP-12: its own messages only, be it of a POST or a GET."""
    stage.open("a", "b")
    with peer.streamed(call("talk", 1, name="a")) as answer:
        first = next(event for event in answer if event.data)
    peer.post(call("talk", 2, name="b"))
    for number in range(2):
        stage.app.log(str(peer.session), "error", number)
    with peer.get() as own:
        zero = next(event for event in own if event.data)
    with peer.get(first.id) as rest:
        assert [message.get("id", "note") for message in rest.messages()] == ["note", 1]
    with peer.get(zero.id) as rest:
        assert rest.message()["params"]["data"] == 1
        peer.delete()
        assert rest.messages() == []


def test_only_get_resumes(stage: Stage, peer: Peer) -> None:
    """T25-HTTP-17: on a POST the header means nothing."""
    stage.app.log(str(peer.session), "error", 1)
    assert result(peer.post(ping(), HTTP_LAST_EVENT_ID="0_0")) == {}


def test_a_server_with_one_thread_holds_no_stream(session_revision: str) -> None:
    """W-06, T25-HTTP-11: GET is a 405 there, and nothing is declared that would need one."""
    peer = Stage(workers="threads").peer(session_revision, wsgi__multithread=False)
    got = peer.http("GET")
    assert (got.status, got.headers["Allow"]) == (405, "POST, DELETE, OPTIONS")
    assert result(peer.opening)["capabilities"]["tools"] == {}
    assert peer.post(request("resources/subscribe", uri="note://fixed")).code == -32601


def test_clients_of_a_server_with_one_thread_poll() -> None:
    """W-06, T25-HTTP-15: what a call sends is fetched bit by bit."""
    stage = Stage(workers="threads")
    peer = stage.peer(wsgi__multithread=False)
    with peer.streamed(call("talk", 1, name="a")) as answer:
        *_, last = answer
    stage.begun()
    stage.open("a")
    assert _polled(peer, str(last.id))[-1]["result"]["content"][0]["text"] == "a"


# --- change notices -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_is_answered_with_an_empty_result(peer: Peer, method: str) -> None:
    """T25-SUB-01: again, too; and it is declared."""
    for _ in range(2):
        assert result(peer.post(request(method, uri="note://fixed"))) == {}
    assert result(peer.opening)["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}


@pytest.mark.parametrize("uri", [5, None, [], {}])
def test_a_subscription_needs_a_uri(peer: Peer, uri: Any) -> None:
    """T25-SUB-01, T25-RES-02: -32602, and an unknown resource is not found."""
    assert peer.post(request("resources/subscribe", uri=uri)).code == -32602
    assert peer.post(request("resources/subscribe", uri="note://nope")).code == -32002


def test_what_one_may_not_read_one_may_not_subscribe_to(session_revision: str) -> None:
    """T25-SUB-01, S26-RES-11: to its caller it does not exist."""

    class Guarded(MCPServer):
        def allows(self, item: Any, ctx: Context) -> bool:
            return bool(ctx.principal.id == "anna")

    mcp = Guarded("guarded")
    mcp.resource("note://fixed", name="fixed")(lambda: "milk")
    app = mcp.wsgi_app(sessions=True, auth=_user)
    anna, bob = Peer(app, session_revision), Peer(app, session_revision, HTTP_X_USER="bob")
    subscribe = request("resources/subscribe", uri="note://fixed")
    assert (result(anna.post(subscribe)), bob.post(subscribe).code) == ({}, -32002)
    assert app.resource_updated("note://fixed") == 1


def test_updates_are_of_what_was_subscribed_to(stage: Stage, peer: Peer) -> None:
    """T25-SUB-02: not before, not after, not of others, and not to others."""
    other, uri = stage.peer(), "note://fixed"
    told = [stage.app.resource_updated(uri)]
    peer.post(request("resources/subscribe", uri=uri))
    told += [stage.app.resource_updated(uri), stage.app.resource_updated("note://other")]
    with peer.get() as own, other.get() as others:
        message = own.message()
        peer.post(request("resources/unsubscribe", uri=uri))
        told.append(stage.app.resource_updated(uri))
        for each in (peer, other):
            each.delete()
        assert (own.messages(), others.messages()) == ([], [])
    assert (message["method"], message["params"]["uri"]) == ("notifications/resources/updated", uri)
    assert told == [0, 1, 0, 0]


def test_each_list_that_changes_is_told_to_everybody(stage: Stage, peer: Peer) -> None:
    """T25-SUB-03: by the server itself, with nobody having subscribed."""
    other = stage.peer()
    with peer.get() as own, other.get() as others:
        stage.server.add_tool(lambda: "new", name="new")
        stage.server.resource("note://new", name="new")(lambda: "new")
        for stream in (own, others):
            heard = [stream.message()["method"] for _ in range(2)]
            assert heard == ["notifications/tools/list_changed", "notifications/resources/list_changed"]
        stage.server.remove_tool("new")
        assert own.message()["method"] == "notifications/tools/list_changed"


def test_what_changes_while_nobody_listens_is_told_once_somebody_does(stage: Stage, peer: Peer) -> None:
    """T25-SUB-03: many changes are one notice."""
    for _ in range(5):
        stage.app.tools_changed()
    with peer.get() as own:
        assert own.message()["method"] == "notifications/tools/list_changed"
        peer.delete()
        assert own.messages() == []


# --- cancellation ---------------------------------------------------------------------------------


def test_a_cancelled_call_stops_and_is_not_answered(stage: Stage, peer: Peer) -> None:
    """S26-CAN-02, T25-CAN-02: its caller is freed, and so is its place in the queue."""
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    waiting = peer.later(call("work", 2, name="b"))
    stage.queued(1)
    cancel = peer.cancel(1)
    assert (cancel.status, cancel.body, running.result().body) == (202, b"", b"")
    stage.open("a", "b")
    assert stage.seen.get(timeout=20) == ("a", True)
    assert result(waiting.result())["content"][0]["text"] == "done"


def test_a_cancelled_stream_ends_without_a_response(stage: Stage, peer: Peer) -> None:
    """S26-CAN-02, T25-CAN-02: and what the call sends afterwards goes nowhere."""
    with peer.streamed(call("talk", 1, "token", name="a")) as answer:
        first = next(event for event in answer if event.data)
        stage.begun()
        peer.cancel(1)
        assert answer.messages() == []
    stage.open("a")
    assert stage.seen.get(timeout=20) == ("a", True)
    with peer.get(first.id) as rest:
        assert rest.status in (200, 400)
        assert rest.status == 400 or rest.messages() == []


@pytest.mark.parametrize("identity", [2, "1", 1.0, True, None, [1], {}])
def test_a_cancel_of_something_else_does_no_harm(stage: Stage, peer: Peer, identity: Any) -> None:
    """S26-CAN-01, T25-CAN-01: unknown, of another type, or malformed."""
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    assert peer.cancel(identity).status == 202
    stage.open("a")
    assert "content" in result(running.result())


def test_a_cancel_reaches_only_the_senders_own_calls(stage: Stage, peer: Peer) -> None:
    """T25-CAN-01: the same id in another session, of the same user or not, is another call."""
    running = peer.later(call("work", 1, name="a"))
    stage.begun()
    for other in (stage.peer(), stage.peer(HTTP_X_USER="bob")):
        assert other.cancel(1).status == 202
    assert peer.post(note("cancelled", requestId=1), HTTP_X_USER="bob").status == 404
    stage.open("a")
    assert "content" in result(running.result())


# --- logging --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_that_was_set_holds_for_the_session(stage: Stage, peer: Peer, level: str) -> None:
    """T25-LOG-01: that level and above, in calls and out of them, and in no other session."""
    assert result(peer.post(request("logging/setLevel", level=level))) == {}
    sent = [other for other in LEVELS if stage.app.log(str(peer.session), other, "x")]
    assert sent == list(LEVELS[LEVELS.index(level) :])
    stage.open("a")
    heard = _logs(peer)
    assert heard == (2 if LEVELS.index(level) <= LEVELS.index("info") else 0)
    assert _logs(stage.peer()) == 2


def _logs(peer: Peer) -> int:
    """How many log messages come with a call that logs two of level info."""
    with peer.streamed(call("talk", 1, name="a"), HTTP_ACCEPT="text/event-stream") as answer:
        return len(answer.messages()) - 1


def test_a_bad_level_changes_nothing(stage: Stage, peer: Peer) -> None:
    """T25-LOG-02: before a level is set the server chooses, and after a bad one what was set holds."""
    assert [stage.app.log(str(peer.session), level, "x") for level in ("debug", "info")] == [0, 1]
    peer.post(request("logging/setLevel", level="error"))
    assert peer.post(request("logging/setLevel", level="loud")).code == -32602
    assert [stage.app.log(str(peer.session), level, "x") for level in ("warning", "error")] == [0, 1]
