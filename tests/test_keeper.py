"""Who may use a session, what ends it, exactly once, and what is pushed to whom."""

from __future__ import annotations

import gc
import json
import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest

from mcp_wsgi.context import Context
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.encoding import OutputError
from mcp_wsgi.errors import InvalidParams, Overloaded, SessionNotFound, SessionRequired
from mcp_wsgi.eventlog import GET_STREAM, NOTHING, PARTED, Event, Reader
from mcp_wsgi.handler import Handler
from mcp_wsgi.keeper import Keeper, Session
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.live import LiveSession
from mcp_wsgi.options import Options
from mcp_wsgi.sealing import Cursors, Sealer
from mcp_wsgi.sessions import MAX_SUBSCRIPTIONS, Settings
from mcp_wsgi.stores import Ended, SessionStore
from mcp_wsgi.stores.memory import MemoryStore
from mcp_wsgi.stores.signed import SignedStore
from mcp_wsgi.workers import patched_by_gevent
from tests.patched import run_patched
from tests.stores.kit import TTL, Clock, record

PATCHED = patched_by_gevent()
WAIT = 20.0  # seconds; reached only by a test that fails


class Ann:
    id = "ann"


class Bob:
    id = "bob"


class Mourner(Handler):
    """Notes whom it buries."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, Any]] = []
        self.contexts: list[Context] = []
        self.more = threading.Semaphore(0)

    def terminate(self, reason: str, ctx: Context) -> None:
        self.ends.append((reason, ctx.state.get("name")))
        self.contexts.append(ctx)
        self.more.release()


class Kept:
    """A keeper with all that it needs, and a clock of its own."""

    def __init__(self, handler: Any = None, store: SessionStore | None = None, **options: Any) -> None:
        self.clock = Clock()
        self.handler = handler or Mourner()
        self.options = Options.build({"session_ttl": TTL, **options})
        dispatcher = Dispatcher(
            self.handler,
            Cursors(Sealer([b"k" * 16], salt="test")),
            page_size=1,
            cache_ttl=0,
            cache_scope="private",
            expose_errors=False,
        )
        self.store = store or MemoryStore(TTL, self.options.max_sessions, self.clock)
        self.keeper = Keeper(self.store, dispatcher, self.options, self.new_live)

    def new_live(self) -> LiveSession:
        return LiveSession(self.options, self.clock, threading.Lock)

    def open(self, name: str = "", channels: frozenset[str] = frozenset(), **fields: Any) -> str:
        return self.keeper.open(record(**fields), {"name": name}, channels)

    def find(self, session_id: str | None, principal: Any = Ann, mount: str = "/shop") -> Session:
        return self.keeper.find(session_id, principal, mount)

    def ready(self, name: str = "", **options: Any) -> Session:
        """A session whose client has said that it is ready."""
        session = self.find(self.open(name, **options))
        session.mark_initialized()
        return session

    @property
    def ends(self) -> list[tuple[str, Any]]:
        ends: list[tuple[str, Any]] = self.handler.ends
        return ends


@pytest.fixture
def kept() -> Any:
    kept = Kept()
    yield kept
    kept.keeper.close()


def heard(session: Session) -> list[Any]:
    """The messages that wait on a session's own stream."""
    reader = session.live.log.read(threading.Event())
    found = messages(reader)
    reader.close()
    return found


def messages(reader: Reader) -> list[Any]:
    found = []
    while type(item := reader.take(0)) is Event:
        found.append(json.loads(item.message))
    return found


# --- finding --------------------------------------------------------------------------------------


def test_a_session_is_found_with_what_was_settled(kept: Kept) -> None:
    session_id = kept.open("one")
    session = kept.find(session_id)
    assert (session.id, session.record, session.revision.name) == (session_id, record(), "2025-11-25")
    assert (session.client.name, session.client.capabilities) == ("shell", record().capabilities)
    assert session.stateful
    assert session.load() == {"name": "one"}


@pytest.mark.parametrize("session_id", [None, ""])
def test_a_request_that_names_no_session_is_told_so(kept: Kept, session_id: str | None) -> None:
    """T25-SESS-03: 400."""
    kept.open()
    with pytest.raises(SessionRequired) as refusal:
        kept.find(session_id)
    assert refusal.value.http_status == 400


@pytest.mark.parametrize("session_id", [" ", "\x00", "a\r\nb", "é", "x" * 10_000, "x", "A" * 32, "*", "None"])
def test_an_id_that_names_none_is_unknown(kept: Kept, session_id: str) -> None:
    """T25-SESS-04: 404."""
    kept.open()
    with pytest.raises(SessionNotFound) as refusal:
        kept.find(session_id)
    assert refusal.value.http_status == 404


@pytest.mark.parametrize(("principal", "mount"), [(Bob, "/shop"), (None, "/shop"), (Ann, ""), (Ann, "/shop/")])
def test_a_session_is_its_opener_s_at_its_mount(kept: Kept, principal: Any, mount: str) -> None:
    """T25-SESS-07: others see none, and it lives on all the same."""
    session_id = kept.open()
    with pytest.raises(SessionNotFound):
        kept.find(session_id, principal, mount)
    assert kept.find(session_id).id == session_id


def test_a_session_without_a_principal_is_no_principal_s(kept: Kept) -> None:
    session_id = kept.open(principal=None)
    assert kept.find(session_id, None).id == session_id
    with pytest.raises(SessionNotFound):
        kept.find(session_id, Ann)


@pytest.mark.parametrize("revision", ["2026-07-28", "2024-11-05", ""])
def test_a_session_of_a_revision_that_has_none_is_unknown(kept: Kept, revision: str) -> None:
    with pytest.raises(SessionNotFound):
        kept.find(kept.open(revision=revision))


def test_a_session_is_unknown_from_its_end_on(kept: Kept) -> None:
    """T25-SESS-04."""
    deleted, expired = kept.open(), kept.open()
    kept.keeper.end(kept.find(deleted), Ann)
    kept.clock.now += TTL
    for session_id in (deleted, expired):
        with pytest.raises(SessionNotFound):
            kept.find(session_id)


# --- what a request does with it ------------------------------------------------------------------


def test_what_is_settled_is_seen_by_later_requests(kept: Kept) -> None:
    session_id = kept.open()
    session = kept.find(session_id)
    session.set_log_level("error")
    session.subscribe("file:///a")
    session.subscribe("file:///b")
    session.unsubscribe("file:///a")
    session.set_channels(frozenset({"news"}))
    session.mark_initialized()
    session.save({"name": "new"})
    later = kept.find(session_id)
    assert later.settings == Settings("error", frozenset({"file:///b"}), initialized=True, channels=frozenset({"news"}))
    assert later.load() == {"name": "new"}
    assert later.live is session.live


def test_too_many_subscriptions_are_refused(kept: Kept) -> None:
    session = kept.find(kept.open())
    for number in range(MAX_SUBSCRIPTIONS):
        session.subscribe(f"a:{number}")
    with pytest.raises(InvalidParams, match="Too many subscriptions"):
        session.subscribe("a:more")


def test_a_session_that_is_held_does_not_expire(kept: Kept) -> None:
    session = kept.find(kept.open())
    session.hold()
    kept.clock.now += TTL * 10
    assert kept.keeper.sweep() == 0
    session.release()
    kept.clock.now += TTL
    assert kept.keeper.sweep() == 1


GONE: dict[str, Callable[[Session], Any]] = {
    "settings": lambda session: session.settings,
    "live": lambda session: session.live,
    "log level": lambda session: session.set_log_level("info"),
    "subscribe": lambda session: session.subscribe("a:b"),
    "unsubscribe": lambda session: session.unsubscribe("a:b"),
    "channels": lambda session: session.set_channels(frozenset()),
    "hold": Session.hold,
    "load": Session.load,
}


@pytest.mark.parametrize("use", GONE)
def test_a_request_that_finds_its_session_ended_meanwhile_is_told_so(kept: Kept, use: str) -> None:
    session = kept.find(kept.open())
    kept.keeper.end(session, Ann)
    with pytest.raises(SessionNotFound):
        GONE[use](session)


def test_what_comes_too_late_to_matter_does_nothing(kept: Kept) -> None:
    session = kept.find(kept.open())
    kept.keeper.end(session, Ann)
    session.save({"name": "late"})
    session.release()
    session.mark_initialized()
    assert kept.ends == [("deleted", "")]


# --- opening --------------------------------------------------------------------------------------


def test_only_so_many_sessions_may_be_open() -> None:
    """And whoever finds no room is told when to come back."""
    kept = Kept(max_sessions=2)
    first, _ = kept.open(), kept.open()
    with pytest.raises(Overloaded, match="too many sessions are open") as refusal:
        kept.open()
    assert refusal.value.http_status == 503
    assert dict(refusal.value.headers)["Retry-After"].isdigit()
    kept.keeper.end(kept.find(first), Ann)
    kept.find(kept.open())
    kept.clock.now += TTL
    kept.find(kept.open())
    kept.keeper.close()


@pytest.mark.parametrize("ending", [Keeper.close, Keeper.part])
def test_no_session_is_opened_in_a_server_that_shuts_down(ending: Callable[[Keeper], None]) -> None:
    kept = Kept()
    ending(kept.keeper)
    with pytest.raises(Overloaded, match="shutting down"):
        kept.open()
    assert kept.keeper._sweeper is None


def test_channels_are_kept_from_the_start(kept: Kept) -> None:
    assert kept.find(kept.open(channels=frozenset({"a", "b"}))).settings.channels == {"a", "b"}


# --- ends -----------------------------------------------------------------------------------------


class Running:
    """A call that notes with what it was cancelled."""

    def __init__(self) -> None:
        self.heard: list[Exception | None] = []

    def cancel(self, error: Exception | None) -> None:
        self.heard.append(error)


def end_deleted(kept: Kept, session: Session) -> None:
    kept.keeper.end(session, Ann)


def end_expired(kept: Kept, session: Session) -> None:
    kept.clock.now += TTL
    assert kept.keeper.sweep() == 1


def end_shutdown(kept: Kept, session: Session) -> None:
    kept.keeper.close()


@pytest.mark.parametrize("end", [end_deleted, end_expired, end_shutdown])
def test_an_end_stops_what_the_session_has_and_tells_the_handler_once(
    end: Callable[[Kept, Session], None],
) -> None:
    kept, call = Kept(), Running()
    session = kept.find(kept.open("one"))
    session.live.register(1, call)
    streams = [session.live.log.read(threading.Event()), session.live.log.open(threading.Event())]
    session.save({"name": "last"})
    end(kept, session)
    kept.keeper.close()
    kept.clock.now += TTL
    assert kept.keeper.sweep() == 0
    assert kept.ends == [(end.__name__.removeprefix("end_"), "last")]
    assert [str(error) for error in call.heard] == ["The session has ended"]
    assert [stream.take(0) for stream in streams] == [None, None]


def test_the_handler_sees_whose_session_has_ended(kept: Kept) -> None:
    kept.keeper.end(kept.find(kept.open()), Ann)
    (ctx,) = kept.handler.contexts
    assert (ctx.principal, ctx.client.name) == (Ann, "shell")
    assert ctx.client.capabilities == record().capabilities


def test_a_session_is_deleted_once(kept: Kept) -> None:
    """T25-SESS-05."""
    session = kept.find(kept.open())
    kept.keeper.end(session, Ann)
    with pytest.raises(SessionNotFound):
        kept.keeper.end(session, Ann)
    assert kept.ends == [("deleted", "")]


@pytest.mark.parametrize("error", [ValueError, SystemExit, GeneratorExit])
def test_a_handler_that_fails_to_say_goodbye_hurts_nobody(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Mourner):
        def terminate(self, reason: str, ctx: Context) -> None:
            super().terminate(reason, ctx)
            raise error("on its way out")

    kept = Kept(Failing())
    first, *others = [kept.find(kept.open(str(number))) for number in range(6)]
    streams = [session.live.log.read(threading.Event()) for session in others]
    with caplog.at_level(logging.ERROR, "mcp_wsgi"):
        kept.keeper.end(first, Ann)
        others[0].hold()
        others[1].hold()
        kept.clock.now += TTL
        assert kept.keeper.sweep() == 3
        kept.keeper.close()
    assert Counter(reason for reason, _ in kept.ends) == {"deleted": 1, "expired": 3, "shutdown": 2}
    assert sorted(name for _, name in kept.ends) == list("012345")
    assert [stream.take(0) for stream in streams] == [None] * 5
    assert caplog.messages == ["terminate failed"] * 6


def test_a_session_of_another_release_ends_like_the_others() -> None:
    """In a store that outlives its processes."""
    kept = Kept()
    for name, revision in [("old", "2024-11-05"), ("modern", "2026-07-28"), ("now", "2025-11-25")]:
        kept.open(name, revision=revision)
    kept.clock.now += TTL
    assert kept.keeper.sweep() == 3
    assert [name for _, name in kept.ends] == ["old", "modern", "now"]
    kept.keeper.close()


@pytest.mark.parametrize("round_", range(10))
def test_however_many_end_a_session_at_once_it_ends_once(round_: int) -> None:
    kept = Kept()
    sessions = [kept.find(kept.open(str(number))) for number in range(60)]
    barrier = threading.Barrier(6)

    def delete() -> None:
        barrier.wait(WAIT)
        for session in sessions:
            with suppress(SessionNotFound):
                kept.keeper.end(session, Ann)

    def sweep() -> None:
        barrier.wait(WAIT)
        kept.clock.now += TTL * (round_ % 2)
        for _ in range(5):
            kept.keeper.sweep()

    def close() -> None:
        barrier.wait(WAIT)
        threading.Event().wait(0.0002 * round_)
        kept.keeper.close()

    threads = [threading.Thread(target=work) for work in (delete, delete, sweep, sweep, close, close)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert Counter(name for _, name in kept.ends) == {str(number): 1 for number in range(60)}


# --- the sweeper ----------------------------------------------------------------------------------


def in_real_time(ttl: float, handler: Any = None, store: SessionStore | None = None) -> Kept:
    return Kept(handler, store or MemoryStore(ttl, 100, monotonic), session_ttl=ttl)


def sweeper(kept: Kept) -> threading.Thread:
    thread = kept.keeper._sweeper
    assert thread is not None
    return thread


def test_the_expired_end_without_any_traffic() -> None:
    kept = in_real_time(0.05)
    for number in range(3):
        kept.open(str(number))
    for _ in range(3):
        assert kept.handler.more.acquire(timeout=WAIT)
    assert sorted(kept.ends) == [("expired", "0"), ("expired", "1"), ("expired", "2")]
    kept.keeper.close()


def test_one_sweeper_serves_all_sessions_and_ends_with_its_keeper_s_close(kept: Kept) -> None:
    kept.open()
    thread = sweeper(kept)
    kept.open()
    kept.keeper._start_sweeper()  # as by another request at the same time
    assert kept.keeper._sweeper is thread
    assert thread.daemon
    kept.keeper.close()
    thread.join(WAIT)
    assert not thread.is_alive()


def test_the_sweeper_dies_with_a_keeper_that_nobody_has_closed() -> None:
    kept = in_real_time(0.02)
    kept.open()
    thread, reference = sweeper(kept), weakref.ref(kept.keeper)
    del kept
    while reference() is not None:
        gc.collect()
        threading.Event().wait(0.001)
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_look_that_fails_is_not_the_last(caplog: pytest.LogCaptureFixture) -> None:
    class Faltering(MemoryStore):
        looks = 0

        def expire(self) -> list[Ended]:
            self.looks += 1
            if self.looks == 1:
                raise ConnectionError("the store is away")
            return super().expire()

    with caplog.at_level(logging.ERROR, "mcp_wsgi"):
        kept = in_real_time(0.05, store=Faltering(0.05, 100, monotonic))
        kept.open()
        assert kept.handler.more.acquire(timeout=WAIT)
        kept.keeper.close()
    assert caplog.messages == ["looking for expired sessions failed"]


def test_where_nothing_is_kept_nobody_sweeps() -> None:
    kept = Kept(store=SignedStore(["a key for the tests"], TTL))
    session = kept.find(kept.open())
    assert not session.stateful
    assert kept.keeper._sweeper is None
    with pytest.raises(SessionNotFound):
        kept.keeper.end(session, Ann)
    kept.keeper.close()
    assert kept.ends == []


# --- parting --------------------------------------------------------------------------------------


def test_before_the_end_the_connections_of_the_sessions_own_streams_are_parted_with(kept: Kept) -> None:
    sessions = [kept.find(kept.open()) for _ in range(3)]
    own = [session.live.log.read(threading.Event()) for session in sessions[:2]]
    post = sessions[0].live.log.open(threading.Event())
    kept.keeper.part()
    assert [reader.take(0) for reader in own] == [PARTED, PARTED]
    assert post.take(0) is NOTHING
    assert kept.ends == []


# --- push -----------------------------------------------------------------------------------------


def test_a_notification_reaches_its_session_alone(kept: Kept) -> None:
    session, other = kept.ready(), kept.ready()
    assert kept.keeper.notify(session.id, "notifications/x", {"a": [1, "é"]}) == 1
    assert heard(session) == [{"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": [1, "é"]}}]
    assert heard(other) == []


def test_a_client_that_is_not_ready_gets_nothing_unasked_but_log_messages(kept: Kept) -> None:
    """T25-LIFE-04."""
    session = kept.find(kept.open(channels=frozenset({"news"})))
    session.subscribe("file:///a")
    keeper = kept.keeper
    assert keeper.notify(session.id, "notifications/x", {}) == 0
    assert keeper.broadcast("news", "notifications/x", {}) == 0
    assert keeper.publish("tools") == 0
    assert keeper.publish_update("file:///a") == 0
    assert keeper.log(session.id, "error", "now", None) == 1
    assert [message["method"] for message in heard(session)] == ["notifications/message"]


@pytest.mark.parametrize("session_id", ["", "x", "A" * 32, "\ud800"])
def test_a_session_that_is_not_there_is_not_reached(kept: Kept, session_id: str) -> None:
    assert kept.keeper.notify(session_id, "notifications/x", {}) == 0
    assert kept.keeper.log(session_id, "error", "x", None) == 0


def test_a_session_that_ends_meanwhile_is_not_reached(kept: Kept) -> None:
    class Hasty(MemoryStore):
        def settings(self, session_id: str) -> Settings | None:
            found = super().settings(session_id)
            self.end(session_id)
            return found

    hasty = Kept(store=Hasty(TTL, 10))
    session_id = hasty.open()
    hasty.store.mark_initialized(session_id)
    assert hasty.keeper.notify(session_id, "notifications/x", {}) == 0
    hasty.keeper.close()


def test_a_session_whose_log_is_closed_is_not_reached(kept: Kept) -> None:
    session = kept.ready()
    session.live.log.close()
    assert kept.keeper.notify(session.id, "notifications/x", {}) == 0
    assert kept.keeper.publish("tools") == 0


@pytest.mark.parametrize("wanted", LEVELS)
def test_log_messages_below_the_level_of_a_session_are_left_out(kept: Kept, wanted: str) -> None:
    """T25-LOG-01."""
    session, other = kept.ready(), kept.ready()
    session.set_log_level(wanted)
    reached = [kept.keeper.log(session.id, level, {"a": 1}, "shop") for level in LEVELS]
    place = LEVELS.index(wanted)
    assert reached == [0] * place + [1] * (len(LEVELS) - place)
    params = [message["params"] for message in heard(session)]
    assert params == [{"level": level, "data": {"a": 1}, "logger": "shop"} for level in LEVELS[place:]]
    assert heard(other) == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_client_that_has_not_said_gets_log_messages_from_the_level_of_the_options(level: str) -> None:
    kept = Kept(log_level=level)
    session = kept.ready()
    for other in LEVELS:
        kept.keeper.log(session.id, other, None, None)
    place = LEVELS.index(level)
    assert [message["params"] for message in heard(session)] == [
        {"level": name, "data": None} for name in LEVELS[place:]
    ]
    kept.keeper.close()


@pytest.mark.parametrize("level", ["", "INFO", "fatal", "warn"])
def test_a_level_that_there_is_not_is_the_pusher_s_mistake(kept: Kept, level: str) -> None:
    with pytest.raises(ValueError, match=r"unknown log level .*; the levels are debug, info"):
        kept.keeper.log(kept.ready().id, level, "x", None)


def test_a_broadcast_reaches_those_of_its_channel(kept: Kept) -> None:
    sessions = [kept.ready(channels=frozenset(channels)) for channels in ({"a"}, {"a", "b"}, {"b"}, set())]
    assert kept.keeper.broadcast("a", "notifications/x", {"n": 1}) == 2
    assert kept.keeper.broadcast("c", "notifications/x", {"n": 2}) == 0
    assert [len(heard(session)) for session in sessions] == [1, 1, 0, 0]


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
def test_a_list_that_changes_often_is_told_of_once_until_somebody_hears_it(kept: Kept, kind: Any) -> None:
    """T25-SUB-03."""
    sessions = [kept.ready(), kept.ready()]
    for _ in range(3):
        assert kept.keeper.publish(kind) == 2
    expected = {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed", "params": {}}
    for session in sessions:
        assert heard(session) == [expected]
    kept.keeper.publish(kind)
    assert heard(sessions[0]) == [expected]


@pytest.mark.parametrize(
    ("subscribed", "changed", "reached"),
    [
        ("file:///a/b", "file:///a/b", True),
        ("file:///a", "file:///a/b/c", True),
        ("file:///a/", "file:///a/b/c", True),
        ("file:///a/b", "file:///a", False),
        ("file:///a", "file:///ab", False),
        ("file:///a", "other:///a/b", False),
        ("note:1", "note:1", True),
        ("note:1", "note:12", False),
        ("https://x/a", "https://x/a/b?q=1/2#f/g", True),
    ],
)
def test_a_change_is_told_to_who_subscribed_to_the_resource_or_to_what_it_lies_in(
    kept: Kept, subscribed: str, changed: str, reached: bool
) -> None:
    """T25-SUB-02."""
    session, other = kept.ready(), kept.ready()
    session.subscribe(subscribed)
    assert kept.keeper.publish_update(changed) == int(reached)
    assert [message["params"] for message in heard(session)] == [{"uri": changed}] * reached
    assert heard(other) == []
    session.unsubscribe(subscribed)
    assert kept.keeper.publish_update(changed) == 0


UNENCODABLE: dict[str, Any] = {
    "NaN": float("nan"),
    "Infinity": [float("inf")],
    "an object": object(),
    "a lone surrogate": "\ud800",
    "a deep object": {"a": [{"b": {1j}}]},
}


@pytest.mark.parametrize("data", UNENCODABLE)
def test_what_json_has_no_form_for_is_the_pusher_s_mistake_and_the_stream_lives_on(kept: Kept, data: str) -> None:
    session = kept.ready(channels=frozenset({"a"}))
    reader = session.live.log.read(threading.Event())
    pushes: list[Callable[[], int]] = [
        lambda: kept.keeper.notify(session.id, "notifications/x", {"data": UNENCODABLE[data]}),
        lambda: kept.keeper.broadcast("a", "notifications/x", {"data": UNENCODABLE[data]}),
        lambda: kept.keeper.log(session.id, "error", UNENCODABLE[data], None),
    ]
    for push in pushes:
        with pytest.raises(OutputError):
            push()
    assert messages(reader) == []
    assert kept.keeper.notify(session.id, "notifications/x", {}) == 1
    assert len(messages(reader)) == 1


@pytest.mark.parametrize("method", ["", "tools/call", "notification/x", "x/notifications/x"])
def test_only_notifications_are_pushed(kept: Kept, method: str) -> None:
    """A request would need an answer."""
    session = kept.ready(channels=frozenset({"a"}))
    with pytest.raises(ValueError, match="begins with"):
        kept.keeper.notify(session.id, method, {})
    with pytest.raises(ValueError, match="begins with"):
        kept.keeper.broadcast("a", method, {})
    assert heard(session) == []


def test_a_flood_to_a_session_that_nobody_reads_is_bounded() -> None:
    kept = Kept(event_log=10)
    session = kept.ready()
    for number in range(1000):
        assert kept.keeper.notify(session.id, "notifications/x", {"n": number}) == 1
    assert session.live.log.dropped == 990
    assert [message["params"]["n"] for message in heard(session)] == list(range(990, 1000))
    kept.keeper.close()


def test_pushes_from_many_threads_arrive_each_once_and_in_the_order_of_their_thread(kept: Kept) -> None:
    session = kept.ready()
    reader = session.live.log.read(threading.Event(), GET_STREAM)

    def push(thread: int) -> None:
        for number in range(25):
            kept.keeper.notify(session.id, "notifications/x", {"from": [thread, number]})

    threads = [threading.Thread(target=push, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    found = [message["params"]["from"] for message in messages(reader)]
    assert sorted(found) == [[thread, number] for thread in range(8) for number in range(25)]
    assert [sorted(found, key=lambda pair: pair[0])] == [sorted(found)]


def test_where_nothing_is_kept_nobody_is_reached() -> None:
    kept = Kept(store=SignedStore(["a key for the tests"], TTL))
    session = kept.ready()
    keeper = kept.keeper
    assert keeper.notify(session.id, "notifications/x", {}) == 0
    assert keeper.log(session.id, "error", "x", None) == 0
    assert keeper.publish("tools") == keeper.publish_update("a:b") == keeper.broadcast("a", "notifications/x", {}) == 0


if not PATCHED:

    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_keeper.py")
