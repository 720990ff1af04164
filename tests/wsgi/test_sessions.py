"""Stored sessions over HTTP: how they begin, who may use them, their streams, and how they end."""

from __future__ import annotations

import gc
import json
import logging
import re
import socket
import threading
from collections import Counter
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from wsgiref.validate import validator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from mcp_wsgi import Context, InitParams, MCPServer
from mcp_wsgi.encoding import OutputError
from mcp_wsgi.errors import MCPError
from mcp_wsgi.eventlog import EventLog, Reader
from mcp_wsgi.keeper import Session
from mcp_wsgi.live import LiveSession
from mcp_wsgi.recording import RecordedExchange
from mcp_wsgi.stores.memory import MemoryStore
from mcp_wsgi.testing import Client
from mcp_wsgi.turns import Turns
from tests.stores.kit import Clock
from tests.wsgi.peer import (
    NEWEST,
    OLDEST,
    SECOND,
    Later,
    Peer,
    Stage,
    call,
    initialize,
    note,
    ping,
    unjudged,
)
from tests.wsgi.raw import Got, environ_of, raw

METHODS = pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
REVISION = pytest.mark.parametrize("revision", [OLDEST, SECOND, NEWEST])
#: A notification that an application may push.
NEWS = "notifications/message"


def ask(peer: Peer, method: str, **entries: Any) -> Got:
    """A request that is right but for what ``entries`` say."""
    return peer.post(ping(), **entries) if method == "POST" else peer.http(method, **entries)


def refused(got: Got) -> tuple[int, int]:
    return got.status, got.code if got.status >= 400 or b'"error"' in got.body else 0


def anna(request: Any) -> Any:
    """Takes the user's name from a header field."""
    name = request.headers.get("X-User")
    return None if name is None else SimpleNamespace(id=name)


# --- the beginning --------------------------------------------------------------------------------


@REVISION
def test_a_good_initialize_is_answered_with_an_id(revision: str) -> None:
    stage = Stage()
    peers = [stage.peer(revision) for _ in range(3)]
    assert len({peer.session for peer in peers}) == stage.sessions == 3
    for peer in peers:
        assert peer.opening.status == 200
        assert json.loads(peer.opening.body)["result"]["protocolVersion"] == revision
        assert re.fullmatch(r"[!-~]{22,}", peer.session or "")


def test_only_the_answer_to_initialize_names_the_session() -> None:
    peer = Stage().peer()
    for got in (peer.post(ping()), peer.post(call("see")), peer.post(note("initialized")), peer.delete()):
        assert "Mcp-Session-Id" not in got.headers


def test_a_client_that_takes_streams_only_gets_its_id_too() -> None:
    got = raw(Stage().app, initialize(), HTTP_ACCEPT="text/event-stream")
    assert got.headers["Content-Type"] == "text/event-stream"
    assert got.headers["Mcp-Session-Id"]


def test_an_initialize_within_a_session_opens_another() -> None:
    stage = Stage()
    peer = stage.peer()
    other = peer.post(initialize()).headers["Mcp-Session-Id"]
    assert other != peer.session
    assert (stage.sessions, peer.post(ping()).status) == (2, 200)


def test_a_client_cannot_choose_its_id() -> None:
    stage = Stage()
    chosen = "A" * 32
    got = raw(stage.app, initialize(), HTTP_MCP_SESSION_ID=chosen)
    assert got.headers["Mcp-Session-Id"] != chosen
    assert raw(stage.app, ping(), HTTP_MCP_SESSION_ID=chosen).status == 404


@pytest.mark.parametrize(
    "message",
    [
        note("initialized"),
        {"jsonrpc": "2.0", "method": "initialize", "params": initialize()["params"]},
        [initialize()],
        [ping(), initialize()],
        initialize(protocolVersion=5),
        initialize(clientInfo="me"),
        initialize(capabilities=[]),
        {**initialize(), "id": None},
        {**initialize(), "jsonrpc": "1.0"},
        ping(),
        call("see"),
        b"{",
    ],
)
def test_nothing_else_opens_one(message: Any) -> None:
    stage = Stage()
    got = raw(stage.app, message)
    assert "Mcp-Session-Id" not in got.headers
    assert stage.sessions == 0
    assert got.status == 400 or "error" in json.loads(got.body)


@pytest.mark.parametrize("error", [MCPError("closed", code=5), RuntimeError("secret"), SystemExit(1)])
def test_an_init_that_fails_opens_none(error: BaseException) -> None:
    def init(params: InitParams) -> dict[str, Any]:
        raise error

    stage = Stage(init=init)
    got = raw(stage.app, initialize())
    assert refused(got) == (200, 5 if isinstance(error, MCPError) else -32603)
    assert (got.headers.get("Mcp-Session-Id"), stage.sessions, stage.ended.qsize()) == (None, 0, 0)
    assert b"secret" not in got.body


@pytest.mark.parametrize("given", ["abc", 5, [5], RuntimeError("secret")])
def test_channels_that_are_none_open_none(given: Any) -> None:
    def channels(ctx: Context) -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    stage = Stage(channels=channels)
    assert refused(raw(stage.app, initialize())) == (200, -32603)
    assert stage.sessions == 0


def test_an_initialize_that_takes_too_long_opens_none() -> None:
    go, over = threading.Event(), threading.Event()

    def init(params: InitParams) -> dict[str, Any]:
        try:
            go.wait(20)
        finally:
            over.set()
        return {}

    stage = Stage(init=init, request_timeout=0.05)
    got = raw(stage.app, initialize())
    assert (refused(got), got.headers.get("Mcp-Session-Id")) == ((200, -32603), None)
    go.set()
    assert over.wait(20)
    assert stage.sessions == 0


def test_init_runs_once_a_session_and_makes_its_state() -> None:
    seen: list[InitParams] = []

    def init(params: InitParams) -> dict[str, Any]:
        seen.append(params)
        return {"number": len(seen)}

    stage = Stage(init=init)
    one, two = stage.peer(), stage.peer(SECOND)
    assert [json.loads(peer.call("see"))["number"] for peer in (one, two, one)] == [1, 2, 1]
    assert [(params.revision.name, params.client_info["name"]) for params in seen] == [
        (NEWEST, "peer"),
        (SECOND, "peer"),
    ]


def test_what_init_returns_is_copied_for_each_session() -> None:
    shared: dict[str, Any] = {"done": []}
    stage = Stage(init=lambda params: shared)
    stage.open("a")
    one, two = stage.peer(), stage.peer()
    one.call("work", name="a")
    assert (shared, json.loads(two.call("see"))) == ({"done": []}, {"done": []})


def test_a_first_state_that_cannot_be_copied_opens_none(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(init=lambda params: {"lock": threading.Lock()})
    got = raw(stage.app, initialize())
    assert (got.code, "Mcp-Session-Id" in got.headers, stage.sessions) == (-32603, False, 0)
    assert len([record for record in caplog.records if record.exc_info]) == 1


def test_an_overloaded_server_opens_none() -> None:
    stage = Stage(max_calls=1)
    running = stage.peer().later(call("work", name="a"))
    stage.begun()
    got = raw(stage.app, initialize())
    assert (got.status, "Retry-After" in got.headers, stage.sessions) == (503, True, 1)
    stage.open("a")
    running.result()


def test_a_full_server_opens_none_and_says_when_to_come_back() -> None:
    stage = Stage(max_sessions=1)
    peer = stage.peer()
    full = raw(stage.app, initialize())
    assert (full.status, full.code, "Mcp-Session-Id" in full.headers) == (503, -32603, False)
    assert int(full.headers["Retry-After"]) > 0
    assert peer.post(ping()).status == 200
    peer.delete()
    assert raw(stage.app, initialize()).status == 200


# --- who may use it -------------------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize("identity", [None, ""])
def test_without_an_id_a_request_is_refused(method: str, identity: str | None) -> None:
    """T25-SESS-03: 400, as one that is empty names none either."""
    got = ask(Stage().peer(), method, HTTP_MCP_SESSION_ID=identity)
    assert refused(got) == (400, -32600)
    assert "Session required" in got.body.decode()


@METHODS
@pytest.mark.parametrize("joined", ["{0},{0}", "{0}, {0}", "{0},other", "other, {0}", ",{0}", "{0},", "a,b"])
def test_an_id_that_comes_twice_is_refused(method: str, joined: str) -> None:
    """W-01: 400, for a 404 would tell the client that its session is gone."""
    peer = Stage().peer()
    got = ask(peer, method, HTTP_MCP_SESSION_ID=joined.format(peer.session))
    assert refused(got) == (400, -32600)
    assert "more than once" in got.body.decode()
    assert peer.post(ping()).status == 200


@METHODS
@pytest.mark.parametrize("identity", ["nope", "A" * 32, "a\x00b", "a b", "a\tb", "\xff", "a\x7f", "x" * 10_240])
def test_an_id_that_is_none_is_not_found(method: str, identity: str) -> None:
    got = ask(Stage().peer(), method, HTTP_MCP_SESSION_ID=identity)
    assert refused(got) == (404, -32600)
    assert not identity or identity not in got.body.decode()


@METHODS
def test_an_id_is_compared_whole(method: str) -> None:
    peer = Stage().peer()
    identity = str(peer.session)
    other = "A" if identity[-1] != "A" else "B"
    for wrong in (identity[:-1], identity + "A", identity[:-1] + other, identity.swapcase(), f"{identity};{identity}"):
        assert refused(ask(peer, method, HTTP_MCP_SESSION_ID=wrong)) == (404, -32600)


@given(st.text(st.characters(codec="latin-1"), max_size=64))
def test_no_guess_is_found(identity: str) -> None:
    peer = _stage_of_guesses().peer()
    got = peer.delete(HTTP_MCP_SESSION_ID=identity)
    # None at all, or two of them.
    status = 400 if not identity or "," in identity else 404
    assert refused(got) == (status, -32600)


_GUESSES: list[Stage] = []


def _stage_of_guesses() -> Stage:
    if not _GUESSES:
        _GUESSES.append(Stage(max_sessions=100_000))
    return _GUESSES[0]


@METHODS
def test_another_principal_does_not_find_it(method: str) -> None:
    peer = Stage(auth=anna).peer(HTTP_X_USER="anna")
    assert refused(ask(peer, method, HTTP_X_USER="bob")) == (404, -32600)
    assert refused(ask(peer, method, HTTP_X_USER=None))[0] == 401
    assert peer.post(ping()).status == 200


@METHODS
def test_another_mount_does_not_find_it(method: str) -> None:
    peer = Stage().peer(SCRIPT_NAME="/shop")
    assert refused(ask(peer, method, SCRIPT_NAME="/other")) == (404, -32600)
    assert refused(ask(peer, method, SCRIPT_NAME="")) == (404, -32600)
    assert peer.post(ping()).status == 200


@METHODS
def test_another_application_does_not_find_it(method: str) -> None:
    peer = Stage().peer()
    peer.app = Stage().app
    assert refused(ask(peer, method)) == (404, -32600)


@METHODS
def test_a_version_that_is_not_served_is_refused_before_the_session_counts(method: str) -> None:
    peer = Peer(unjudged(Stage().app))
    assert ask(peer, method, HTTP_MCP_PROTOCOL_VERSION="1999-01-01").status == 400
    assert ask(peer, method, HTTP_MCP_PROTOCOL_VERSION="1999-01-01", HTTP_MCP_SESSION_ID="nope").status == 400
    assert peer.post(ping(), HTTP_MCP_PROTOCOL_VERSION=NEWEST).status == 200


def test_the_refusal_of_a_request_has_its_id() -> None:
    got = Stage().peer().post(ping("mine"), HTTP_MCP_SESSION_ID="nope")
    assert json.loads(got.body)["id"] == "mine"


def test_no_id_is_written_into_a_log(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever can read the log could use the session."""
    caplog.set_level(logging.DEBUG)
    stage = Stage(request_timeout=0.05, event_log=2)
    peer = stage.peer()
    push(stage, peer, *range(5))
    peer.call("put", key="a", value=1, then="crash")
    peer.call("work", name="a")
    peer.http("GET", HTTP_LAST_EVENT_ID="nope")
    peer.http("GET", HTTP_ACCEPT="text/html")
    ask(peer, "POST", SCRIPT_NAME="/other")
    stage.open("a")
    peer.delete()
    peer.delete()
    assert caplog.records
    assert not [record for record in caplog.records if str(peer.session) in caplog.handler.format(record)]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD"])
def test_other_methods_are_refused_by_name(method: str) -> None:
    got = Stage().peer().http(method)
    assert (got.status, got.headers["Allow"]) == (405, "GET, POST, DELETE, OPTIONS")


def test_a_modern_request_has_no_session() -> None:
    peer = Stage().peer()
    for method in ("GET", "DELETE"):
        got = peer.http(method, HTTP_MCP_PROTOCOL_VERSION="2026-07-28")
        assert (got.status, got.headers["Allow"]) == (405, "POST, OPTIONS")
    assert peer.post(ping()).status == 200


def test_the_modern_era_is_served_beside_the_sessions() -> None:
    stage = Stage()
    names = Client(stage.app).list_tools().names
    assert Client(stage.app).call_tool("see").text == "{}"
    assert ("see" in names, stage.sessions) == (True, 0)


class Broken(MemoryStore):
    """A store that fails where it is told to, as one on another machine may."""

    def __init__(self) -> None:
        super().__init__(60, 100)
        self.broken = ""

    def __getattribute__(self, name: str) -> Any:
        if name == super().__getattribute__("__dict__").get("broken"):
            raise ConnectionError("secret")
        return super().__getattribute__(name)


@pytest.mark.parametrize("step", ["find", "hold", "live", "load", "save", "release", "settings"])
def test_a_store_that_fails_fails_the_call_and_nothing_else(step: str, caplog: pytest.LogCaptureFixture) -> None:
    store = Broken()
    stage = Stage(store=store, max_calls=1)
    peer = stage.peer()
    store.broken = step
    got = peer.post(call("see"))
    assert (got.status, got.code) in ((200, -32603), (500, -32603))
    assert b"secret" not in got.body
    assert len([record for record in caplog.records if record.exc_info]) == 1
    store.broken = ""
    assert [peer.call("see") for _ in range(2)] == ["{}"] * 2


@pytest.mark.parametrize("step", ["find", "hold", "live"])
def test_a_store_that_fails_takes_no_stream_with_it(step: str) -> None:
    store = Broken()
    peer = Stage(store=store, max_streams=1).peer()
    for _ in range(2):
        store.broken = step
        assert refused(peer.http("GET")) == (500, -32603)
    store.broken = ""
    with peer.get() as own:
        assert own.status == 200


# --- the end --------------------------------------------------------------------------------------


@METHODS
def test_a_session_that_was_deleted_is_gone(method: str) -> None:
    stage = Stage()
    peer, other = stage.peer(), stage.peer()
    got = peer.delete()
    assert (got.status, got.body, "Content-Type" in got.headers) == (204, b"", False)
    assert refused(ask(peer, method)) == (404, -32600)
    assert other.post(ping()).status == 200


def test_delete_ends_the_streams() -> None:
    stage = Stage()
    peer = stage.peer()
    with peer.get() as own, peer.streamed(call("talk", 1, name="a")) as answer:
        assert answer.message()["params"]["data"] == "a begins"
        peer.delete()
        assert own.messages() == []
        (last,) = answer.messages()
        assert (last["id"], last["error"]["code"]) == (1, -32603)
    stage.open("a")


def test_delete_ends_the_calls_and_the_queue() -> None:
    stage = Stage()
    peer = stage.peer()
    running = peer.later(call("work", 1, name="a"))
    assert stage.begun() == "a"
    waiting = peer.later(call("work", 2, name="b"))
    beside = peer.later(call("work", 3, "token", name="c"))
    assert stage.begun() == "c"
    assert peer.delete().status == 204
    for number, later in enumerate((running, waiting, beside), 1):
        # That which had not even joined the queue is told that there is none.
        got = later.result()
        assert (json.loads(got.body)["id"], got.code) in ((number, -32603), (number, -32600))
    stage.open("a", "c")
    assert {stage.seen.get(timeout=20) for _ in range(2)} == {("a", True), ("c", True)}
    assert stage.began.empty()
    assert stage.end() == ("deleted", {})


def test_delete_tells_the_handler_once_with_the_last_state() -> None:
    stage = Stage()
    peer = stage.peer()
    peer.call("put", key="cart", value=[1])
    assert [peer.delete().status for _ in range(3)] == [204, 404, 404]
    assert stage.end() == ("deleted", {"cart": [1]})
    stage.app.close(0)
    assert stage.ended.empty()


def test_of_many_deletes_one_succeeds() -> None:
    stage = Stage()
    peer = stage.peer()
    deletes = [Later(lambda: peer.delete().status) for _ in range(8)]
    assert sorted(later.result() for later in deletes) == [204] + [404] * 7
    stage.app.close(0)
    assert stage.ended.qsize() == 1


def test_who_deletes_is_named_to_the_handler() -> None:
    seen: list[tuple[str, Any, str]] = []

    def terminate(reason: str, ctx: Context) -> None:
        seen.append((reason, ctx.principal and ctx.principal.id, ctx.client.info["name"]))

    app = MCPServer("seen", terminate=terminate).wsgi_app(sessions=True, auth=anna)
    Peer(app, HTTP_X_USER="anna").delete()
    Peer(app, HTTP_X_USER="bob")
    app.close(0)
    assert seen == [("deleted", "anna", "peer"), ("shutdown", None, "peer")]


@pytest.mark.parametrize("error", [RuntimeError("secret"), MCPError("no"), SystemExit(1)])
def test_a_terminate_that_fails_hurts_nobody(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    def terminate(reason: str, ctx: Context) -> None:
        raise error

    app = MCPServer("bad", terminate=terminate).wsgi_app(sessions=True)
    peer, other = Peer(app), Peer(app)
    assert peer.delete().status == 204
    assert (peer.post(ping()).status, other.post(ping()).status) == (404, 200)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["terminate failed"]


def test_the_end_of_the_process_ends_each_session() -> None:
    stage = Stage()
    peers = [stage.peer() for _ in range(3)]
    peers[0].delete()
    stage.app.close(0)
    assert sorted(stage.end()[0] for _ in range(3)) == ["deleted", "shutdown", "shutdown"]
    stage.app.close(0)
    assert stage.ended.empty()
    assert [peer.post(ping()).status for peer in peers] == [404] * 3
    full = raw(stage.app, initialize())
    assert (full.status, "Retry-After" in full.headers) == (503, True)


def test_a_session_that_ends_in_several_ways_at_once_ends_once() -> None:
    clock = Clock()
    stage = Stage(session_ttl=60, clock=clock)
    keeper: Any = stage.app._keeper
    peers = [stage.peer() for _ in range(20)]
    clock.now += 30
    deletes = [Later(peer.delete) for peer in peers[:10]]
    clock.now += 30
    others = [Later(keeper.sweep), Later(lambda: stage.app.close(0)), Later(keeper.sweep)]
    deletes += [Later(peer.delete) for peer in peers[10:]]
    done = [later.result() for later in deletes]
    for later in others:
        later._thread.join(20)
    reasons = [stage.end()[0] for _ in range(20)]
    assert stage.ended.empty()
    assert reasons.count("deleted") == len([got for got in done if got.status == 204])


def test_what_has_ended_hears_nothing_any_more() -> None:
    stage = Stage(channels=lambda ctx: ["all"])
    peer = stage.peer()
    peer.post({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "note://fixed"}})

    def told() -> list[int]:
        app = stage.app
        return [app.broadcast("all", NEWS), app.tools_changed(), app.resource_updated("note://fixed")]

    assert told() == [1, 1, 1]
    peer.delete()
    assert told() == [0, 0, 0]


# --- its time -------------------------------------------------------------------------------------


def test_a_session_lives_from_its_last_call() -> None:
    clock = Clock()
    peer = Stage(session_ttl=60, clock=clock).peer()
    for _ in range(3):
        clock.now += 59
        assert peer.post(ping()).status == 200
    clock.now += 60
    assert [ask(peer, method).status for method in ("POST", "GET", "DELETE")] == [404] * 3


def test_a_session_does_not_expire_during_a_call() -> None:
    clock = Clock()
    stage = Stage(session_ttl=60, clock=clock)
    peer = stage.peer()
    running = peer.later(call("work", name="a"))
    stage.begun()
    clock.now += 1000
    assert stage.app._keeper is not None
    assert stage.app._keeper.sweep() == 0
    stage.open("a")
    assert "result" in json.loads(running.result().body)
    clock.now += 59
    assert json.loads(peer.call("see")) == {"done": ["a"]}


def test_a_session_does_not_expire_while_its_stream_is_open() -> None:
    clock = Clock()
    peer = Stage(session_ttl=60, clock=clock).peer()
    with peer.get() as own:
        assert own.status == 200
        clock.now += 1000
        assert peer.post(ping()).status == 200
        clock.now += 1000
    clock.now += 59
    assert peer.post(ping()).status == 200
    clock.now += 60
    assert peer.post(ping()).status == 404


def test_what_is_refused_does_not_prolong_it() -> None:
    clock = Clock()
    peer = Peer(unjudged(Stage(session_ttl=60, clock=clock).app))
    clock.now += 59
    unknown = {"jsonrpc": "2.0", "id": 1, "method": "nope"}
    for message in (b"{", b"", 5, {"jsonrpc": "2.0", "id": 1}, unknown, note("nope"), [ping()]):
        peer.post(message)
    peer.http("GET", HTTP_ACCEPT="text/html")
    peer.http("GET", HTTP_LAST_EVENT_ID="nope")
    peer.post({**ping(), "params": {"_meta": []}})
    peer.post(ping(), HTTP_ACCEPT="text/html")
    peer.post(ping(), HTTP_MCP_PROTOCOL_VERSION="1999-01-01")
    clock.now += 1
    assert peer.post(ping()).status == 404


def test_what_has_expired_is_ended_without_anybody_asking() -> None:
    """In real time, by the sweeper."""
    stage = Stage(session_ttl=0.05)
    peer = stage.peer()
    peer.post(call("put", key="a", value=1))
    reason, state = stage.end()
    assert (reason, state.get("a", 1)) == ("expired", 1)
    assert peer.post(ping()).status == 404
    assert peer.delete().status == 404
    stage.app.close(0)
    assert stage.ended.empty()


def test_an_expired_session_makes_room_at_once() -> None:
    clock = Clock()
    stage = Stage(session_ttl=60, max_sessions=1, clock=clock)
    stage.peer()
    assert raw(stage.app, initialize()).status == 503
    clock.now += 60
    assert raw(stage.app, initialize()).status == 200


def leftovers() -> Counter[str]:
    """How many objects of sessions there are."""
    gc.collect()
    kinds = (EventLog, LiveSession, Session, Reader, RecordedExchange, Turns)
    return Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, kinds))


def test_sessions_that_are_over_leave_nothing_behind() -> None:
    clock = Clock()
    stage = Stage(session_ttl=60, clock=clock, max_streams=2)
    keeper: Any = stage.app._keeper
    app = stage.app
    stage.open("a")
    before = leftovers()
    for number in range(100):
        peer = Peer(unjudged(app))  # the judge keeps what it has seen
        push(stage, peer, 1, 2)
        with peer.get() as own, peer.streamed(call("talk", 1, name="a")) as answer:
            own.message()
            answer.message()
        peer.call("put", key="a", value=1, then="fail")
        if number % 2:
            peer.delete()
    del peer, own, answer
    assert stage.sessions == 50
    clock.now += 60
    assert keeper.sweep() == 50
    for _ in range(500):  # the last workers may be on their way out, and those of other tests, too
        if leftovers() <= before:
            return
        threading.Event().wait(0.02)
    raise AssertionError(leftovers() - before)


class Lives(RuleBasedStateMachine):
    """Any history of sessions, held against a list of when each was used last."""

    ttl, most = 60, 3

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.stage = Stage(session_ttl=self.ttl, max_sessions=self.most, clock=self.clock)
        self.used: dict[Peer, float] = {}
        self.deleted = 0

    def alive(self, peer: Peer) -> bool:
        return peer in self.used and self.clock.now < self.used[peer] + self.ttl

    def living(self) -> list[Peer]:
        return [peer for peer in self.used if self.alive(peer)]

    peers = Bundle("peers")

    @rule(target=peers)
    def opens(self) -> Any:
        full = len(self.living()) >= self.most
        peer = self.stage.peer()
        assert peer.opening.status == (503 if full else 200)
        if full:
            return multiple()
        self.used[peer] = self.clock.now
        return peer

    @rule(peer=peers, message=st.sampled_from([ping(), call("see"), call("nope"), call("put", key="a", value=1)]))
    def calls(self, peer: Peer, message: Any) -> None:
        alive = self.alive(peer)
        assert peer.post(message).status == (200 if alive else 404)
        if alive:
            self.used[peer] = self.clock.now

    @rule(peer=peers)
    def listens(self, peer: Peer) -> None:
        alive = self.alive(peer)
        assert peer.http("GET").status == (200 if alive else 404)
        if alive:
            self.used[peer] = self.clock.now

    @rule(peer=peers, message=st.sampled_from([note("nope"), {"jsonrpc": "2.0", "id": 1}, b"{"]))
    def babbles(self, peer: Peer, message: Any) -> None:
        peer.post(message)

    @rule(peer=peers)
    def leaves(self, peer: Peer) -> None:
        alive = self.alive(peer)
        assert peer.delete().status == (204 if alive else 404)
        if alive:
            self.deleted += 1
            self.used[peer] = -self.ttl

    @rule(seconds=st.integers(1, 40))
    def waits(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule()
    def sweeps(self) -> None:
        keeper: Any = self.stage.app._keeper
        keeper.sweep()

    @invariant()
    def those_who_live_are_there(self) -> None:
        assert self.stage.sessions == len(self.living())

    def teardown(self) -> None:
        self.stage.app.close(0)
        reasons = [self.stage.ended.get_nowait()[0] for _ in self.used]
        assert self.stage.ended.empty()
        assert reasons.count("deleted") == self.deleted


def test_any_history_leaves_those_alive_that_were_used() -> None:
    run_state_machine_as_test(Lives, settings=settings(stateful_step_count=30))


# --- its own stream -------------------------------------------------------------------------------


def push(stage: Stage, peer: Peer, *numbers: int) -> int:
    return sum(stage.app.notify(str(peer.session), NEWS, {"level": "info", "data": number}) for number in numbers)


def numbers(messages: list[Any]) -> list[int]:
    return [message["params"]["data"] for message in messages]


def test_a_stream_has_the_headers_that_proxies_need() -> None:
    with Stage().peer().get() as own:
        assert own.status == 200
        assert own.headers["Content-Type"] == "text/event-stream"
        assert (own.headers["X-Accel-Buffering"], own.headers["Cache-Control"]) == ("no", "no-store, no-transform")


def test_get_and_delete_keep_the_rules_of_wsgi() -> None:
    """By the standard library's validator."""
    stage = Stage()
    peer = Peer(validator(stage.app), QUERY_STRING="")
    push(stage, peer, 1)
    with peer.get() as own:
        assert own.message()["params"]["data"] == 1
    assert peer.delete().status == 204


def test_a_stream_that_cannot_begin_is_closed() -> None:
    clock = Clock()
    stage = Stage(max_streams=1, session_ttl=60, clock=clock)
    peer = stage.peer()

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
        raise ConnectionError

    entries = {"HTTP_ACCEPT": "text/event-stream", "HTTP_MCP_SESSION_ID": peer.session}
    with pytest.raises(ConnectionError):
        unjudged(stage.app)(environ_of(b"", REQUEST_METHOD="GET", **entries), start_response)
    with peer.get() as own:
        assert own.status == 200
    clock.now += 60
    assert peer.post(ping()).status == 404


def test_a_page_of_an_allowed_origin_may_open_and_read_a_stream() -> None:
    peer = Stage(origins=["https://a.example"]).peer(HTTP_ORIGIN="https://a.example")
    assert peer.http("OPTIONS").headers["Allow"] == "GET, POST, DELETE, OPTIONS"
    assert "Mcp-Session-Id" in peer.opening.headers["Access-Control-Expose-Headers"]
    with peer.get() as own:
        assert own.headers["Access-Control-Allow-Origin"] == "https://a.example"
    assert peer.delete().headers["Access-Control-Allow-Origin"] == "https://a.example"


def test_of_one_caller_there_are_so_many_streams_and_others_have_theirs() -> None:
    stage = Stage(auth=anna, max_streams=10, max_listens_per_principal=2)
    own, other = stage.peer(HTTP_X_USER="anna"), stage.peer(HTTP_X_USER="bob")
    for _ in range(2):
        with own.get() as first, own.get() as second, own.get() as third:
            assert [stream.status for stream in (first, second, third)] == [200, 200, 503]
            assert stage.peer(HTTP_X_USER="anna").get().status == 503
            with other.get() as stream:
                assert stream.status == 200


def is_broken(ours: socket.socket) -> bool:
    """Whether the other end of a connection has been shut down."""
    ours.setblocking(False)
    try:
        return ours.recv(1) == b""
    except BlockingIOError:
        return False


def test_only_streams_whose_places_others_want_are_broken_off() -> None:
    """The answer of a call may be long and its client's line slow."""
    clock = Clock()
    stage = Stage(max_streams=1, keepalive=5, clock=clock)
    peer = stage.peer()
    with ExitStack() as stack:
        ends = [[stack.enter_context(end) for end in socket.socketpair()] for _ in range(2)]
        answer = stack.enter_context(peer.streamed(call("talk", 1, name="a"), gunicorn__socket=ends[0][0]))
        answer.message()
        own = stack.enter_context(peer.get(gunicorn__socket=ends[1][0]))
        next(own)
        clock.now += 11
        assert peer.get().status == 503
        assert [is_broken(ours) for _, ours in ends] == [False, True]
        stage.open("a")


def test_callers_that_nobody_knows_share_all_streams() -> None:
    peer = Stage(max_streams=3, max_listens_per_principal=1).peer()
    with peer.get() as one, peer.get() as two, peer.get() as three, peer.get() as four:
        assert [stream.status for stream in (one, two, three, four)] == [200, 200, 200, 503]


def test_a_session_remembers_no_more_of_its_client_than_there_is_room_for() -> None:
    stage = Stage()
    many = {"name": "peer" * 100, "version": "1", "icons": [[]] * 1000}
    able = {"elicitation": {}, "experimental": {"x": ["y" * 5000]}}
    opening = raw(stage.app, initialize(clientInfo=many, capabilities=able))
    keeper: Any = stage.app._keeper
    record = keeper.store.find(opening.headers["Mcp-Session-Id"])
    assert (record.client_info, record.capabilities) == (
        {"name": ("peer" * 100)[:50], "version": "1"},
        {"elicitation": {}},
    )


def test_a_stream_is_for_who_accepts_one() -> None:
    peer = Stage(max_streams=1).peer()
    for accept in ("application/json", "text/html", "text/event-stream;q=0"):
        assert refused(peer.http("GET", HTTP_ACCEPT=accept)) == (406, -32600)
    for accept in ("text/event-stream", "text/*", "*/*"):
        with peer.get(HTTP_ACCEPT=accept) as own:
            assert own.status == 200


@REVISION
def test_only_the_newest_revision_begins_with_a_mark(revision: str) -> None:
    """Older clients would take it for a message."""
    stage = Stage(stream_retry=1.5)
    peer = stage.peer(revision)
    with peer.get() as own:
        push(stage, peer, 1)
        first = next(own)
        if revision == NEWEST:
            assert (first.data, first.retry, bool(first.id)) == ("", 1500, True)
            first = next(own)
        assert (json.loads(first.data)["method"], first.retry) == (NEWS, None)


def test_a_message_waits_for_the_stream_to_open() -> None:
    stage = Stage()
    peer = stage.peer()
    assert push(stage, peer, 1, 2) == 2
    with peer.get() as own:
        assert [own.message()["params"]["data"] for _ in range(2)] == [1, 2]
        push(stage, peer, 3)
        assert own.message()["params"]["data"] == 3
    with peer.get() as own:
        push(stage, peer, 4)
        assert own.message()["params"]["data"] == 4


def test_a_message_goes_to_the_newest_of_several_streams_only() -> None:
    stage = Stage(max_streams=10)
    peer = stage.peer()
    with peer.get() as old:
        with peer.get() as new:
            push(stage, peer, 1)
            assert new.message()["params"]["data"] == 1
        push(stage, peer, 2)
        assert old.message()["params"]["data"] == 2
    peer.delete()


def test_two_sessions_do_not_hear_each_other() -> None:
    stage = Stage(max_streams=2)
    one, two = stage.peer(), stage.peer()
    push(stage, one, 1)
    push(stage, two, 2)
    with one.get() as first, two.get() as second:
        stage.app.close(0)
        assert (numbers(first.messages()), numbers(second.messages())) == ([1], [2])


def test_a_flood_to_nobody_is_bounded_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(event_log=10)
    peer = stage.peer()
    push(stage, peer, *range(100))
    with peer.get() as own:
        assert [own.message()["params"]["data"] for _ in range(10)] == list(range(90, 100))
    assert len([record for record in caplog.records if "nobody reads" in record.getMessage()]) == 1


def test_a_push_that_json_cannot_say_fails_where_it_is_made() -> None:
    stage = Stage()
    peer = stage.peer()
    with peer.get() as own:
        for bad in (object(), float("nan"), "\ud800"):
            with pytest.raises(OutputError):
                stage.app.notify(str(peer.session), NEWS, {"number": bad})
        with pytest.raises(ValueError, match="notifications/"):
            stage.app.notify(str(peer.session), "tools/list")
        push(stage, peer, 1)
        assert own.message()["params"]["data"] == 1


def test_a_push_to_nobody_reaches_nobody() -> None:
    stage = Stage()
    peer = stage.peer(ready=False)
    assert stage.app.notify("nope", NEWS) == 0
    assert push(stage, peer, 1) == 0
    peer.post(note("initialized"))
    assert push(stage, peer, 1) == 1
    peer.delete()
    assert push(stage, peer, 1) == 0
    assert MCPServer("none").wsgi_app().notify("nope", NEWS) == 0


def test_a_broadcast_reaches_the_sessions_of_its_channel() -> None:
    stage = Stage(channels=lambda ctx: [ctx.principal.id, "all"], auth=anna, max_streams=2)
    one, two = stage.peer(HTTP_X_USER="anna"), stage.peer(HTTP_X_USER="bob")
    sent = [
        stage.app.broadcast(channel, NEWS, {"level": "info", "data": number})
        for number, channel in enumerate(("anna", "all", "x"))
    ]
    assert sent == [1, 2, 0]
    with one.get() as first, two.get() as second:
        stage.app.close(0)
        assert (numbers(first.messages()), numbers(second.messages())) == ([0, 1], [1])


def test_channels_are_asked_for_again_when_the_stream_opens(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Any] = [["old"], ["new"], RuntimeError("secret")]

    def channels(ctx: Context) -> list[str]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    stage = Stage(channels=channels)
    peer = stage.peer()
    heard = []
    for _ in range(3):
        heard.append([channel for channel in ("old", "new") if stage.app.broadcast(channel, NEWS)])
        if answers:
            with peer.get() as own:
                assert own.status == 200
    assert heard == [["old"], ["new"], ["new"]]
    assert len([record for record in caplog.records if record.exc_info]) == 1


def test_a_log_message_is_sent_from_the_sessions_level_on() -> None:
    stage = Stage(log_level="warning")
    one, two = stage.peer(), stage.peer()
    one.post({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "error"}})
    levels = ("info", "warning", "error")
    assert [[stage.app.log(str(peer.session), level, "x") for level in levels] for peer in (one, two)] == [
        [0, 0, 1],
        [0, 1, 1],
    ]


def test_each_stream_counts_until_it_is_closed() -> None:
    stage = Stage(max_streams=2)
    peer, other = stage.peer(), stage.peer()
    with peer.get(), other.get() as second:
        full = peer.http("GET")
        assert (refused(full), "Retry-After" in full.headers) == ((503, -32603), True)
        assert peer.post(ping()).status == 200
        second.close()
        second.close()
        with other.get() as again:
            assert again.status == 200
            assert refused(peer.http("GET")) == (503, -32603)


def test_a_refused_stream_counts_nothing() -> None:
    peer = Stage(max_streams=1).peer()
    for _ in range(3):
        assert peer.http("GET", HTTP_LAST_EVENT_ID="0_99").status == 400
        assert peer.http("GET", HTTP_MCP_SESSION_ID="nope").status == 404
    with peer.get() as own:
        assert own.status == 200


def test_a_silent_stream_is_kept_alive() -> None:
    peer = Stage(keepalive=0.01).peer(SECOND)
    with peer.get() as own:
        assert [next(own._chunks) for _ in range(2)] == [b": keep-alive\n\n"] * 2


def test_a_stream_ends_at_its_greatest_age_and_the_session_lives_on() -> None:
    stage = Stage(stream_lifetime=0.05)
    peer = stage.peer()
    with peer.get() as own:
        push(stage, peer, 1)
        assert numbers(own.messages()) == [1]
    push(stage, peer, 2)
    with peer.get() as own:
        assert own.message()["params"]["data"] == 2


# --- resumption -----------------------------------------------------------------------------------


def test_the_sessions_own_stream_goes_on_after_any_event() -> None:
    stage = Stage()
    peer = stage.peer()
    push(stage, peer, *range(5))
    with peer.get() as own:
        ids = [str(next(own).id) for _ in range(6)]
    assert len(set(ids)) == 6
    for count, identity in enumerate(ids):
        with peer.get(identity) as again:
            assert [again.message()["params"]["data"] for _ in range(count, 5)] == list(range(count, 5))
    with peer.get(ids[-1]) as again:
        push(stage, peer, 5)
        assert again.message()["params"]["data"] == 5


def test_the_rest_of_a_broken_answer_is_on_a_get() -> None:
    stage = Stage()
    peer = stage.peer()
    with peer.streamed(call("talk", 7, name="a")) as answer:
        events = [next(answer), next(answer)]
        stage.begun()
    stage.open("a")
    for event, missed in zip(events, (3, 2), strict=True):
        with peer.get(event.id) as rest:
            messages = rest.messages()
        assert len(messages) == missed
        assert [message["params"]["data"] for message in messages[:-1]] == ["a begins", "a ends"][-missed + 1 :]
        assert (messages[-1]["id"], messages[-1]["result"]["content"][0]["text"]) == (7, "a")


def test_who_comes_back_gets_the_rest_though_the_old_connection_looks_alive() -> None:
    stage = Stage()
    peer = stage.peer()
    with peer.streamed(call("talk", 7, name="a")) as answer:
        first = [next(answer), next(answer)][1]
        stage.begun()
        with peer.get(first.id) as rest:
            stage.open("a")
            assert [message.get("id") for message in rest.messages()] == [None, 7]
        assert answer.messages() == []


@REVISION
def test_a_stream_that_goes_on_with_nothing_says_at_once_where_it_stands(revision: str) -> None:
    """Older clients get a comment, so that their servers send the head of the answer."""
    stage = Stage()
    peer = stage.peer(revision)
    push(stage, peer, 1)
    with peer.get() as own:
        identity = str(next(event for event in own if event.data).id)
    with peer.get(identity) as again:
        if revision == NEWEST:
            mark = next(again)
            assert (mark.data, mark.id == identity) == ("", False)
            identity = str(mark.id)
        else:
            assert next(again._chunks) == b": keep-alive\n\n"
    push(stage, peer, 2)
    with peer.get(identity) as again:
        assert again.message()["params"]["data"] == 2


def test_the_rest_of_an_answer_needs_no_place_among_the_streams() -> None:
    stage = Stage(max_streams=1)
    stage.open("a")
    peer = stage.peer()
    with peer.get() as own, peer.streamed(call("talk", 7, name="a")) as answer:
        mark = next(answer)
        for _ in range(3):
            with peer.get(mark.id) as rest:
                assert rest.messages()[-1]["id"] == 7
        assert own.status == 200
        assert refused(stage.peer().http("GET")) == (503, -32603)


def test_who_comes_back_takes_the_place_of_the_old_connection() -> None:
    stage = Stage(max_streams=1)
    peer = stage.peer()
    push(stage, peer, 1)
    old = peer.get()
    first = next(event for event in old if event.data)
    assert refused(peer.http("GET")) == (503, -32603)

    def ending() -> list[Any]:
        with old:
            return old.messages()

    ended = Later(ending)
    with peer.get(first.id) as new:
        push(stage, peer, 2)
        assert new.message()["params"]["data"] == 2
    assert ended.result() == []


def test_a_broken_answer_can_be_fetched_again_and_again() -> None:
    stage = Stage()
    stage.open("a")
    peer = stage.peer()
    with peer.streamed(call("talk", 7, name="a")) as answer:
        events = list(answer)
    for count, event in enumerate(events, 1):
        for _ in range(2):
            with peer.get(event.id) as rest:
                assert [other.data for other in rest] == [other.data for other in events[count:]]


def test_a_stream_that_is_through_has_nothing_after_its_last_event() -> None:
    stage = Stage()
    stage.open("a")
    peer = stage.peer()
    with peer.streamed(call("talk", name="a")) as answer:
        *_, last = answer
    with peer.get(last.id) as rest:
        assert (rest.status, rest.messages()) == (200, [])


def test_a_resumed_call_that_says_nothing_is_answered_at_the_deadline() -> None:
    """T25-LIFE-06: whichever connection reads it."""
    stage = Stage(request_timeout=0.2, keepalive=0.05)
    peer = Peer(stage.app)
    with peer.streamed(call("talk", 5, name="silent")) as broken:
        place = next(event.id for event in broken if event.data)
    with peer.get(place) as resumed:
        assert resumed.message()["error"]["code"] == -32603
        assert resumed.messages() == []
    stage.gates["silent"].set()
    stage.app.close()


def test_terminate_sees_the_session_that_it_is_for() -> None:
    seen: list[Any] = []
    server = MCPServer("ends", terminate=lambda reason, ctx: seen.append((reason, ctx.session_id, ctx.request_id)))
    peer = Peer(server.wsgi_app(sessions=True))
    peer.delete()
    assert seen == [("deleted", peer.session, "")]


def test_a_resumed_stream_has_nothing_of_another() -> None:
    stage = Stage(max_streams=2)
    stage.open("a", "b")
    peer = stage.peer()
    with peer.streamed(call("talk", 1, name="a")) as answer:
        mark = next(answer)
        answer.messages()
    peer.post(call("talk", 2, name="b"))
    push(stage, peer, 5)
    with peer.get(mark.id) as rest:
        first, second, last = rest.messages()
    assert (first["params"]["data"], second["params"]["data"], last["id"]) == ("a begins", "a ends", 1)


def test_an_event_that_is_no_longer_kept_is_refused() -> None:
    stage = Stage(event_log=2)
    stage.open("a")
    peer = stage.peer()
    with peer.streamed(call("talk", name="a")) as answer:
        mark = next(answer)
        answer.messages()
    push(stage, peer, *range(3))
    assert refused(peer.http("GET", HTTP_LAST_EVENT_ID=mark.id)) == (400, -32600)


@pytest.mark.parametrize(
    "identity",
    ["", " ", "0", "_", "0_", "_0", "0_1_2_3", "-1_0", "0_-1", "00_0", "5_0", "0_9", "0_0x", "é_1", "9" * 40 + "_0",
     "0_" + "9" * 40, "a" * 10_000, "0_0\x00", "\u0660_0", "0_0,0_0", "0_0, 0_0"],
)  # fmt: skip
def test_an_event_id_that_is_none_or_comes_twice_is_refused(identity: str) -> None:
    """W-01."""
    peer = Stage(max_streams=1).peer()
    entries = {"HTTP_LAST_EVENT_ID": identity.encode().decode("latin-1")}
    assert refused(peer.http("GET", **entries)) == (400, -32600)


@given(st.text(st.characters(codec="latin-1"), max_size=30))
def test_no_event_id_breaks_the_server(identity: str) -> None:
    stage = _stage_of_guesses()
    peer = stage.peer()
    with peer.get(identity) as opened:
        assert opened.status in (200, 400)
    peer.delete()


def test_an_event_of_another_session_brings_nothing_of_it() -> None:
    stage = Stage(max_streams=2)
    one, two = stage.peer(), stage.peer()
    stage.open("a")
    with one.streamed(call("talk", name="a")) as answer:
        mark = next(answer)
        answer.messages()
    push(stage, one, 1, 2)
    assert refused(two.http("GET", HTTP_LAST_EVENT_ID=mark.id)) == (400, -32600)
    with one.get() as own:
        identity = next(event for event in own if event.data).id
    assert refused(two.http("GET", HTTP_LAST_EVENT_ID=identity)) == (400, -32600)
    assert refused(one.http("GET", HTTP_LAST_EVENT_ID=identity, HTTP_MCP_SESSION_ID=None)) == (400, -32600)


# --- a server with one thread ---------------------------------------------------------------------

ONE_THREAD: dict[str, Any] = {"wsgi__multithread": False}


def narrow(**options: Any) -> Stage:
    """On greenlets one thread would be enough."""
    return Stage(workers="threads", **options)


def test_a_server_that_cannot_hold_a_stream_has_none() -> None:
    stage = narrow()
    peer = stage.peer(**ONE_THREAD)
    got = peer.http("GET")
    assert (refused(got), got.headers["Allow"]) == ((405, -32600), "POST, DELETE, OPTIONS")
    assert peer.delete().status == 204


def test_nor_has_one_that_may_have_none() -> None:
    peer = Stage(max_streams=0).peer()
    assert refused(peer.http("GET")) == (405, -32600)


def test_its_newest_clients_ask_for_the_rest() -> None:
    stage = narrow(stream_retry=0.5)
    peer = stage.peer(**ONE_THREAD)
    with peer.streamed(call("talk", 5, name="a")) as answer:
        mark, *begun = answer
    assert (mark.data, mark.retry) == ("", 500)
    assert len(begun) <= 1
    stage.begun()
    with peer.get(mark.id) as rest:
        assert [message["params"]["data"] for message in rest.messages()] == ["a begins"]
    stage.open("a")
    messages: list[Any] = []
    for _ in range(200):
        with peer.get(mark.id) as rest:
            messages = rest.messages()
        if "result" in messages[-1]:
            break
        stage.gates["never"].wait(0.01)
    assert [message.get("id") for message in messages] == [None, None, 5]


def test_its_older_clients_wait_for_the_answer() -> None:
    stage = narrow()
    stage.open("a")
    peer = stage.peer(SECOND, **ONE_THREAD)
    with peer.streamed(call("talk", 5, name="a")) as answer:
        assert [message.get("id") for message in answer.messages()] == [None, None, 5]


# --- sessions that nobody keeps -------------------------------------------------------------------

KEY = "k" * 32


def signed(**options: Any) -> Stage:
    return Stage(**{"sessions": "auto", "secret_key": KEY, **options})


def test_a_signed_id_is_needed_and_works_in_every_process() -> None:
    one, two = signed(), signed()
    peer = one.peer()
    assert re.fullmatch(r"[!-~]+", peer.session or "")
    for stage in (one, two):
        peer.app = stage.app
        assert peer.post(ping()).status == 200
        assert refused(peer.post(ping(), HTTP_MCP_SESSION_ID=None)) == (400, -32600)
    peer.app = signed(secret_key="x" * 32).app
    assert refused(peer.post(ping())) == (404, -32600)
    peer.app = signed(secret_key=["n" * 32, KEY]).app
    assert peer.post(ping()).status == 200


def test_a_signed_id_that_was_tampered_with_is_not_found() -> None:
    peer = signed().peer()
    identity = str(peer.session)
    places = range(0, len(identity), 7)
    tampered = [identity[:place] + ("A" if identity[place] != "A" else "B") + identity[place + 1 :] for place in places]
    for wrong in [*tampered, "nope", "x" * 10_240, "a\x00"]:
        assert refused(peer.post(ping(), HTTP_MCP_SESSION_ID=wrong)) == (404, -32600)


def test_a_signed_id_is_its_principals_at_its_mount() -> None:
    peer = signed(auth=anna).peer(HTTP_X_USER="anna", SCRIPT_NAME="/shop")
    assert peer.post(ping()).status == 200
    assert refused(peer.post(ping(), HTTP_X_USER="bob")) == (404, -32600)
    assert refused(peer.post(ping(), SCRIPT_NAME="/other")) == (404, -32600)


def test_a_signed_id_holds_the_revision_and_nothing_else_is_kept() -> None:
    asked: list[InitParams] = []

    def init(params: InitParams) -> dict[str, Any]:
        asked.append(params)
        return {"fresh": True}

    peer = signed(init=init).peer(SECOND)
    assert peer.call("put", key="a", value=1) == "done"
    assert json.loads(peer.call("see")) == {"fresh": True}
    assert {(params.revision.name, params.client_info["name"]) for params in asked} == {(SECOND, "peer")}


def test_a_signed_session_has_no_streams_and_no_end() -> None:
    stage = signed()
    peer = stage.peer()
    for method in ("GET", "DELETE"):
        got = peer.http(method)
        assert (refused(got), got.headers["Allow"]) == ((405, -32600), "POST, OPTIONS")
    assert peer.post(ping()).status == 200
    assert stage.app.notify(str(peer.session), NEWS) == 0
    capabilities = json.loads(peer.opening.body)["result"]["capabilities"]
    assert (capabilities["tools"], capabilities["resources"]) == ({}, {})


@pytest.mark.parametrize("options", [{"sessions": False, "secret_key": KEY}, {"sessions": "auto"}])
def test_without_sessions_no_id_is_issued_and_none_is_looked_at(options: dict[str, Any]) -> None:
    peer = Stage(**options).peer()
    assert peer.session is None
    for identity in (None, "", "nope", "a\x00"):
        assert peer.post(ping(), HTTP_MCP_SESSION_ID=identity).status == 200
    for method in ("GET", "DELETE"):
        assert peer.http(method, HTTP_MCP_SESSION_ID="nope").headers["Allow"] == "POST, OPTIONS"


def test_several_processes_with_sessions_in_memory_are_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    stage.peer(wsgi__multiprocess=True).post(ping())
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "--workers 1" in warning
    assert "secret_key" in warning
    caplog.clear()
    signed().peer(wsgi__multiprocess=True).post(ping())
    Stage().peer().post(ping())
    assert caplog.records == []
