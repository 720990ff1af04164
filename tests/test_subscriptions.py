"""Listen streams: filters, coalescing, limits, ends, and threads that publish, open and drop at once."""

from __future__ import annotations

import gc
import json
import queue
import random
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.errors import InvalidParams, InvalidRequest, Overloaded
from mcp_wsgi.subscriptions import MAX_ID_BYTES, MAX_UNREAD, MAX_URI_BYTES, MAX_URIS, Filter, Kind, Listeners
from mcp_wsgi.workers import Budget, crew_for, patched_by_gevent
from tests.patched import run_patched
from tests.wire import MODERN, check_message

PATCHED = patched_by_gevent()
WAIT = 20.0  # seconds; reached only by a test that fails
TAG = "io.modelcontextprotocol/subscriptionId"
FEATURES = frozenset({"tools", "prompts", "resources"})
KINDS: tuple[Kind, ...] = ("tools", "prompts", "resources")
SERVER_INFO = {"io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1"}}
FIELDS = {"toolsListChanged": "tools", "promptsListChanged": "prompts", "resourcesListChanged": "resources"}

Messages = Generator[bytes | None, None, None]


class Script:
    """A clock and an event: waiting takes the next step of the script, or else all the time there is."""

    def __init__(self, *steps: Callable[[], Any]) -> None:
        self.now = 1000.0
        self.steps = list(steps)

    def __call__(self) -> float:
        return self.now

    def set(self) -> None:
        pass

    def clear(self) -> None:
        pass

    def wait(self, timeout: float) -> bool:
        if self.steps:
            self.steps.pop(0)()
        else:
            self.now += timeout
        return True


def scripted(*steps: Callable[[], Any], **limits: int) -> tuple[Listeners, Script]:
    script = Script(*steps)
    mine, all_ = limits.get("limit_per_principal", 100), limits.get("limit", 1000)
    return Listeners(mine, Budget(all_), lambda: script, script, result_meta=SERVER_INFO), script


CREW = crew_for("auto", 100)


def event() -> Any:
    return CREW.start(lambda job: job.event()).take(WAIT)


def real(limit_per_principal: int = 100, limit: int = 1000) -> Listeners:
    return Listeners(limit_per_principal, Budget(limit), event, monotonic, guard=CREW.guard)


def wanted(*uris: str, lists: Iterable[Kind] = ()) -> Filter:
    return Filter(frozenset(lists), frozenset(uris))


ALL = wanted("file:///a", lists=KINDS)


def opened(listeners: Listeners, what: Filter = ALL, identity: str | int = 1, *, lifetime: float = 1000) -> Messages:
    return listeners.open(identity, what, None).messages(keepalive=15, lifetime=lifetime)


def judged(message: bytes | None, identity: str | int = 1) -> dict[str, Any]:
    """A message that fits the revision and has the tag of its stream, type and all."""
    assert message is not None
    value: dict[str, Any] = json.loads(message)
    answers = "subscriptions/listen" if "result" in value else None
    check_message(value, MODERN, request_method=answers, request_id=identity)
    tag = value["result" if "result" in value else "params"]["_meta"][TAG]
    assert (type(tag), tag) == (type(identity), identity)
    return value


def told(messages: Iterable[bytes | None], identity: str | int = 1) -> list[str]:
    """What the messages are, in short, each of them judged: the method or the URI, or the final result."""
    values = [judged(message, identity) for message in messages if message is not None]
    return [_short(value) for value in values]


def _short(value: dict[str, Any]) -> str:
    if "result" in value:
        return "result"
    return str(value["params"].get("uri", value["method"].removeprefix("notifications/")))


ACK = "subscriptions/acknowledged"

# --- the filter -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": []},
        {"notifications": "toolsListChanged"},
        {"notifications": {"toolsListChanged": "yes"}},
        {"notifications": {"promptsListChanged": 1}},
        {"notifications": {"resourcesListChanged": {}}},
        {"notifications": {"resourceSubscriptions": "file:///a"}},
        {"notifications": {"resourceSubscriptions": {"file:///a": True}}},
        {"notifications": {"resourceSubscriptions": ["file:///a", 1]}},
        {"notifications": {"resourceSubscriptions": ["file:///a", None]}},
    ],
)
@pytest.mark.parametrize("honoured", [FEATURES, frozenset[str]()])
def test_what_is_no_filter_is_refused(params: dict[str, Any], honoured: frozenset[str]) -> None:
    """S26-SUB-06."""
    with pytest.raises(InvalidParams, match="notifications"):
        Filter.parse(params, honoured)


@given(
    asked=st.dictionaries(st.sampled_from(sorted(FIELDS)), st.sampled_from([True, False, None])),
    uris=st.none() | st.lists(st.sampled_from(["file:///a", "file:///b", "notes://c"])),
    honoured=st.frozensets(st.sampled_from(sorted(FEATURES))),
)
def test_only_what_is_asked_for_and_offered_is_honoured(
    asked: dict[str, bool | None], uris: list[str] | None, honoured: frozenset[str]
) -> None:
    """S26-SUB-01, S26-SUB-03: false is absent."""
    notifications = {**asked, "resourceSubscriptions": uris, "taskIds": ["unknown"]}
    wire = Filter.parse({"notifications": notifications}, honoured).wire()
    expected: dict[str, Any] = {field: True for field, yes in asked.items() if yes and FIELDS[field] in honoured}
    if uris and "resources" in honoured:
        expected["resourceSubscriptions"] = sorted(set(uris))
    assert wire == expected


def parsed(*uris: str) -> frozenset[str]:
    return Filter.parse({"notifications": {"resourceSubscriptions": list(uris)}}, FEATURES).uris


def test_what_is_no_uri_is_not_honoured() -> None:
    """S26-SUB-03."""
    assert parsed("a", "", "file:///a b", "file:///\u00e4", "file:///c") == {"file:///c"}


def test_the_uris_of_a_stream_are_bounded_in_number() -> None:
    many = [f"file:///{number}" for number in range(MAX_URIS)]
    assert parsed(*many) == {*many}
    with pytest.raises(InvalidParams, match=str(MAX_URIS)):
        parsed(*many, "file:///one-too-many")


def test_the_uris_of_a_stream_are_bounded_in_bytes() -> None:
    long = "file:///".ljust(MAX_URI_BYTES, "a")
    assert parsed(long) == {long}
    with pytest.raises(InvalidParams, match=str(MAX_URI_BYTES)):
        parsed(long + "a")


# --- what a stream is told ------------------------------------------------------------------------


@pytest.mark.parametrize("identity", [0, 7, -3, 2**53, "", "0", "listen:0", 'a"\\\n\u2028\u00e4%b%s'])
def test_every_message_has_the_tag_of_its_stream(identity: str | int) -> None:
    """S26-SUB-04, S26-BASE-03, S26-SUB-08, S26-SUB-10: and there are no others, on HTTP."""
    listeners, _ = scripted()
    messages = opened(listeners, identity=identity)
    for kind in KINDS:
        listeners.publish(kind)
    listeners.publish_update("file:///a")
    listeners.close()
    changes = [f"{kind}/list_changed" for kind in KINDS]
    assert told(messages, identity) == [ACK, *changes, "file:///a", "result"]


def test_the_acknowledgement_comes_first_and_says_what_is_honoured() -> None:
    """S26-SUB-02, S26-SUB-03."""
    listeners, _ = scripted()
    listener = listeners.open(1, ALL, None)
    assert listeners.publish("tools") == 1
    messages = listener.messages(15, 1000)
    assert judged(next(messages))["params"]["notifications"] == ALL.wire()
    assert told(islice(messages, 1)) == ["tools/list_changed"]


@pytest.mark.parametrize("asked", KINDS)
def test_a_stream_is_told_of_the_lists_that_it_asked_for(asked: Kind) -> None:
    """S26-SUB-01, S26-SUB-12."""
    listeners, _ = scripted()
    messages = opened(listeners, wanted(lists=[asked]))
    reached = {kind: listeners.publish(kind) for kind in KINDS}
    assert reached == {kind: int(kind == asked) for kind in KINDS}
    assert listeners.publish_update("file:///a") == 0
    listeners.close()
    assert told(messages) == [ACK, f"{asked}/list_changed", "result"]


@pytest.mark.parametrize(
    ("subscribed", "reached", "not_reached"),
    [
        ("file:///a", ["file:///a", "file:///a/", "file:///a/b/c", "file:///a/b?x#y"], ["file:///ab", "file:///"]),
        ("file:///a/", ["file:///a/", "file:///a/b"], ["file:///a", "file:///b"]),
        ("file:///", ["file:///a"], ["http:///a"]),
        ("notes:a", ["notes:a/b"], ["notes:b/a", "notes:ab"]),
        ("https://host", ["https://host", "https://host/a"], ["https://host.example/a", "https://hosts"]),
        ("https:", ["https:"], ["https://host/a", "https://host"]),
        ("https:/", ["https:/"], ["https://host/a"]),
        ("n://a?x=", ["n://a?x="], ["n://a?x=/b", "n://a"]),
        ("n://a#x", ["n://a#x"], ["n://a#x/b"]),
    ],
)
def test_a_subscription_covers_what_lies_below_its_path(
    subscribed: str, reached: list[str], not_reached: list[str]
) -> None:
    """S26-SUB-07."""
    listeners, _ = scripted()
    messages = opened(listeners, wanted(subscribed))
    assert [listeners.publish_update(uri) for uri in reached] == [1] * len(reached)
    assert [listeners.publish_update(uri) for uri in not_reached] == [0] * len(not_reached)
    assert listeners.publish("resources") == 0
    listeners.close()
    assert told(messages) == [ACK, *reached, "result"]


@pytest.mark.parametrize("uri", ["", "a/b", "file:///\u00e4", "file:///\ud800", 'file:///"', None])
def test_the_publisher_of_what_is_no_uri_is_told(uri: Any) -> None:
    listeners, _ = scripted()
    messages = opened(listeners)
    with pytest.raises(ValueError, match=r"URI|scheme"):
        listeners.publish_update(uri)
    listeners.close()
    assert told(messages) == [ACK, "result"]


def test_several_streams_of_one_client_each_have_their_own_tag() -> None:
    """S26-SUB-05."""
    listeners, _ = scripted()
    streams = {identity: opened(listeners, identity=identity) for identity in (1, "1", 2)}
    assert listeners.publish("tools") == 3
    listeners.close()
    for identity, messages in streams.items():
        assert told(messages, identity) == [ACK, "tools/list_changed", "result"]


def test_two_streams_may_have_the_same_id() -> None:
    """Clients count on their own."""
    listeners, _ = scripted()
    streams = [opened(listeners), opened(listeners)]
    listeners.close()
    assert [told(messages) for messages in streams] == [[ACK, "result"]] * 2


# --- slow readers ---------------------------------------------------------------------------------


def test_equal_notices_are_one_while_unread_and_keep_their_order() -> None:
    listeners, _ = scripted()
    messages = opened(listeners, wanted("file:///a", "file:///b", lists=["tools"]))
    for _ in range(50):
        assert listeners.publish_update("file:///b") == 1
        assert listeners.publish("tools") == 1
        assert listeners.publish_update("file:///a") == 1
    listeners.close()
    assert told(messages) == [ACK, "file:///b", "tools/list_changed", "file:///a", "result"]


def test_a_change_after_the_notice_was_read_is_told_again() -> None:
    listeners, _ = scripted()
    messages = opened(listeners)
    next(messages)
    for _ in range(3):
        listeners.publish("tools")
        assert told([next(messages)]) == ["tools/list_changed"]


def test_a_reader_with_too_much_unread_hears_of_what_it_subscribed_to() -> None:
    listeners, _ = scripted()
    messages = opened(listeners, wanted("n://a", "n://a/b", lists=["tools"]))
    below = [f"n://a/{number}" for number in range(MAX_UNREAD)]
    for uri in [*below, "n://a/over", "n://a/b/over", "n://a/0", "n://a/over/again"]:
        assert listeners.publish_update(uri) == 1
    assert listeners.publish("tools") == 1
    listeners.close()
    assert told(messages) == [ACK, *below, "n://a", "n://a/b", "tools/list_changed", "result"]


def test_a_reader_that_has_caught_up_hears_of_each_again() -> None:
    listeners, _ = scripted()
    messages = opened(listeners, wanted("n://a"))
    for number in range(MAX_UNREAD + 1):
        listeners.publish_update(f"n://a/{number}")
    for _ in range(MAX_UNREAD + 2):
        last = next(messages)
    assert told([last]) == ["n://a"]
    listeners.publish_update("n://a/again")
    assert told([next(messages)]) == ["n://a/again"]


# --- time -----------------------------------------------------------------------------------------


def test_a_quiet_stream_is_kept_alive() -> None:
    listeners, script = scripted()
    messages = opened(listeners)
    next(messages)
    assert list(islice(messages, 3)) == [None, None, None]
    assert script.now == 1045.0


def test_the_time_for_a_keepalive_counts_from_the_last_message() -> None:
    listeners, script = scripted()

    def publish() -> None:
        script.now += 10
        listeners.publish("tools")

    script.steps = [publish, publish]
    messages = opened(listeners)
    next(messages)
    assert told(islice(messages, 2)) == ["tools/list_changed"] * 2
    assert next(messages) is None
    assert script.now == 1035.0


def test_a_wait_that_returns_early_sends_nothing() -> None:
    listeners, script = scripted(*[lambda: None] * 5)
    messages = opened(listeners)
    next(messages)
    assert next(messages) is None
    assert (script.now, script.steps) == (1015.0, [])


def test_a_stream_ends_with_its_result_when_its_time_is_over() -> None:
    """S26-SUB-09."""
    listeners, script = scripted()
    messages = opened(listeners, lifetime=40)
    values = [message and judged(message) for message in messages]
    assert values[1:3] == [None, None]
    assert values[3:] == [
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "_meta": {**SERVER_INFO, TAG: 1}}}
    ]
    assert (script.now, len(listeners)) == (1040.0, 0)


def test_a_busy_publisher_does_not_keep_a_stream_open() -> None:
    listeners, script = scripted()
    messages = opened(listeners, lifetime=3)
    seen = []
    for message in messages:
        seen += told([message])
        listeners.publish("tools")
        listeners.publish("prompts")
        script.now += 1
    assert seen[-1] == "result"
    assert len(seen) < 8


def test_what_is_unread_at_the_end_goes_before_the_result() -> None:
    """S26-SUB-09."""
    listeners, script = scripted()
    messages = opened(listeners, lifetime=10)
    listeners.publish("tools")
    script.now += 11
    assert told(messages) == [ACK, "tools/list_changed", "result"]


# --- ends -----------------------------------------------------------------------------------------


def test_closing_ends_every_stream_and_nothing_reaches_it_any_more() -> None:
    """S26-SUB-09."""
    listeners, _ = scripted()
    streams = [opened(listeners) for _ in range(3)]
    listeners.publish("tools")
    listeners.close()
    listeners.close()
    assert listeners.publish("prompts") == listeners.publish_update("file:///a") == 0
    assert len(listeners) == 3  # until each has its result
    assert [told(messages) for messages in streams] == [[ACK, "tools/list_changed", "result"]] * 3
    assert len(listeners) == 0


def test_none_opens_after_closing() -> None:
    listeners, _ = scripted()
    listeners.close()
    with pytest.raises(Overloaded, match="shutting down") as caught:
        opened(listeners)
    assert (caught.value.http_status, [name for name, _ in caught.value.headers]) == (503, ["Retry-After"])


def test_a_closed_stream_is_forgotten_and_ends() -> None:
    """S26-SUB-11."""
    listeners, _ = scripted()
    listener = listeners.open(1, ALL, "me")
    messages = listener.messages(15, 1000)
    next(messages)
    for _ in range(2):
        listener.close()
        assert (len(listeners), listeners.publish("tools")) == (0, 0)
    assert told(messages) == ["result"]


def test_a_stream_that_was_never_read_can_be_closed() -> None:
    listeners, _ = scripted()
    listener = listeners.open(1, ALL, "me")
    assert len(listeners) == 1
    listener.close()
    assert len(listeners) == 0


@pytest.mark.parametrize("read", [0, 1, 2, 3])
def test_a_dropped_stream_is_forgotten_and_freed(read: int) -> None:
    """S26-SUB-11."""
    listeners, _ = scripted()
    listener = listeners.open(1, ALL, "me")
    gone = weakref.ref(listener)
    messages = listener.messages(15, 1000)
    listeners.publish("tools")
    assert len(list(islice(messages, read))) == read
    del listener, messages
    gc.collect()
    assert gone() is None
    assert (len(listeners), listeners.publish("tools")) == (0, 0)


class Guard:
    """A lock that does something else first while it is held, as a garbage collector would."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.during: list[Callable[[], Any]] = []
        self.release = self.lock.release

    def acquire(self, blocking: bool) -> bool:
        return self.lock.acquire(blocking=blocking)

    def __enter__(self) -> None:
        self.lock.acquire()
        while self.during:
            self.during.pop()()

    def __exit__(self, *exc_info: object) -> None:
        self.lock.release()


@pytest.mark.parametrize(
    "step",
    [
        lambda listeners: listeners.publish("tools"),
        lambda listeners: listeners.publish_update("file:///a"),
        Listeners.close,
        lambda listeners: listeners.open(1, ALL, "other").close(),
        len,
    ],
)
def test_a_stream_dropped_in_the_midst_of_another_step_is_forgotten(step: Callable[[Listeners], Any]) -> None:
    guard, script = Guard(), Script()
    listeners = Listeners(1, Budget(10), lambda: script, script, guard=lambda: guard)
    listener = listeners.open(1, ALL, "me")
    gone, messages = weakref.ref(listener), listener.messages(15, 1000)
    del listener
    guard.during = [messages.close]
    step(listeners)
    assert gone() is None
    assert len(listeners) == 0


# --- limits ---------------------------------------------------------------------------------------


def test_a_principal_has_a_limit_of_streams() -> None:
    listeners, _ = scripted(limit_per_principal=2)
    first, _second = (listeners.open(number, ALL, "me") for number in range(2))
    with pytest.raises(Overloaded, match="2 of your") as caught:
        listeners.open(3, ALL, "me")
    assert caught.value.http_status == 503
    assert dict(caught.value.headers)["Retry-After"].isdecimal()
    assert listeners.open(1, ALL, "another").principal_key == "another"
    first.close()
    assert listeners.open(4, ALL, "me").request_id == 4
    with pytest.raises(Overloaded):
        listeners.open(5, ALL, "me")


def test_the_process_has_a_limit_of_streams() -> None:
    listeners, _ = scripted(limit=3)
    streams = [listeners.open(number, ALL, number) for number in range(3)]
    with pytest.raises(Overloaded, match="too many"):
        listeners.open(3, ALL, None)
    streams[1].close()
    assert listeners.open(3, ALL, None).request_id == 3


def test_streams_of_nobody_in_particular_share_no_limit_but_the_process_s() -> None:
    listeners, _ = scripted(limit_per_principal=1, limit=5)
    streams = [listeners.open(number, ALL, None) for number in range(5)]
    with pytest.raises(Overloaded, match="too many"):
        listeners.open(6, ALL, None)
    assert len(listeners) == len(streams)


def test_a_refused_stream_leaves_nothing_behind() -> None:
    listeners, _ = scripted(limit_per_principal=1)
    first = listeners.open(1, ALL, "me")
    for _ in range(3):
        with pytest.raises(Overloaded):
            listeners.open(2, ALL, "me")
    first.close()
    assert (len(listeners), listeners._counts) == (0, {})


def test_a_stream_with_a_huge_id_is_refused() -> None:
    """It would be held as long as the stream, and sent with each message."""
    listeners, _ = scripted()
    listeners.open("i" * (MAX_ID_BYTES - 2), ALL, None)
    with pytest.raises(InvalidRequest, match=str(MAX_ID_BYTES)):
        listeners.open("i" * (MAX_ID_BYTES - 1), ALL, None)
    assert len(listeners) == 1


def test_an_idle_stream_takes_little_memory() -> None:
    listeners, _ = scripted(limit=10_000)
    count, streams = 500, []
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(count):
            messages = opened(listeners, wanted(f"file:///{number}", lists=KINDS), number)
            next(messages)
            next(messages)
            streams.append(messages)
        used, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / count < 3 * 1024


# --- threads, or greenlets ------------------------------------------------------------------------


def thread(run: Callable[[], Any]) -> threading.Thread:
    started = threading.Thread(target=run, daemon=True)
    started.start()
    return started


def joined(threads: Iterable[threading.Thread]) -> None:
    for one in threads:
        one.join(WAIT)
        assert not one.is_alive()


def test_a_waiting_reader_is_woken_by_a_notice_and_by_the_end() -> None:
    listeners = real()
    messages = listeners.open(1, ALL, None).messages(keepalive=1000, lifetime=1000)
    seen: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for message in messages:
            seen.put(told([message])[0])

    reader = thread(read)
    assert seen.get(timeout=WAIT) == ACK
    assert listeners.publish("tools") == 1
    assert seen.get(timeout=WAIT) == "tools/list_changed"
    listeners.close()
    assert seen.get(timeout=WAIT) == "result"
    joined([reader])


def test_a_waiting_reader_is_woken_when_its_stream_is_closed() -> None:
    listeners = real()
    listener = listeners.open(1, ALL, None)
    messages = listener.messages(keepalive=1000, lifetime=1000)
    next(messages)
    seen: list[str] = []
    reader = thread(lambda: seen.extend(told(messages)))
    listener.close()
    joined([reader])
    assert seen == ["result"]


@pytest.mark.parametrize("seed", range(8))
def test_no_reader_misses_the_last_change(seed: int) -> None:
    """Readers note which change they know of when they are told that there is one; so all know the last in the end."""
    listeners, changes, publishers, readers = real(), [0], 3, 5
    known = [0] * readers
    opened_all = threading.Barrier(readers + publishers)
    counting = threading.Lock()

    def publish(chance: random.Random) -> None:
        opened_all.wait(WAIT)
        for _ in range(100):
            with counting:
                changes[0] += 1
            assert listeners.publish("tools") == readers
            if chance.random() < 0.1:
                threading.Event().wait(0.0001)

    def read(number: int) -> None:
        messages = listeners.open(number, ALL, None).messages(keepalive=1000, lifetime=1000)
        next(messages)
        opened_all.wait(WAIT)
        while known[number] < publishers * 100:
            assert told([next(messages)], number) == ["tools/list_changed"]
            known[number] = changes[0]

    joined(
        [thread(lambda number=number: read(number)) for number in range(readers)]  # type: ignore[misc]
        + [thread(lambda n=n: publish(random.Random(seed * 100 + n))) for n in range(publishers)]  # type: ignore[misc]
    )
    assert known == [publishers * 100] * readers
    assert len(listeners) == 0


@pytest.mark.parametrize("seed", range(8))
def test_streams_that_open_publish_and_end_at_once_leave_nothing_behind(seed: int) -> None:
    listeners = real(limit_per_principal=4, limit=20)
    failures: list[BaseException] = []

    def one_stream(chance: random.Random, number: int) -> None:
        listener = listeners.open(number, ALL, chance.choice(["me", "you", None]))
        messages = listener.messages(keepalive=0.001, lifetime=chance.choice([0.002, 1000]))
        listeners.publish(chance.choice(KINDS))
        seen = told(islice(messages, chance.randrange(6)), number)
        assert seen[:1] in ([], [ACK])
        ending: Callable[[], Any] = chance.choice([listener.close, messages.close, lambda: None])
        ending()

    def work(chance: random.Random) -> None:
        for number in range(60):
            try:
                one_stream(chance, number)
            except Overloaded:
                listeners.publish_update("file:///a/b")
            except BaseException as error:  # noqa: BLE001 - for the test's own thread
                failures.append(error)

    joined([thread(lambda n=n: work(random.Random(seed * 100 + n))) for n in range(6)])  # type: ignore[misc]
    assert failures == []
    assert (len(listeners), listeners._counts, len(listeners._left)) == (0, {}, 0)


@pytest.mark.parametrize("seed", range(4))
def test_closing_amid_openings_ends_all_that_were_opened(seed: int) -> None:
    """S26-SUB-09."""
    listeners, chance = real(), random.Random(seed)
    ends: list[str] = []
    some = threading.Semaphore(0)

    def work() -> None:
        while True:
            try:
                messages = listeners.open(1, ALL, None).messages(1000, 1000)
            except Overloaded:
                return
            some.release()
            ends.append(told(messages)[-1])

    workers = [thread(work) for _ in range(8)]
    for _ in range(chance.randrange(1, 8)):
        assert some.acquire(timeout=WAIT)
    listeners.close()
    joined(workers)
    assert set(ends) == {"result"}
    assert len(listeners) == 0


if PATCHED:

    def test_a_waiting_greenlet_is_woken_from_a_real_thread() -> None:
        import gevent

        listeners = real()
        reader: Any = gevent.spawn(lambda: told(opened(listeners)))
        gevent.sleep(0)
        pool: Any = gevent.get_hub().threadpool
        assert pool.apply(listeners.publish, ("tools",)) == 1
        pool.apply(listeners.close)
        assert reader.get(timeout=WAIT) == [ACK, "tools/list_changed", "result"]

    def test_a_killed_greenlet_leaves_no_stream() -> None:
        """S26-SUB-11."""
        import gevent

        listeners = real()
        readers = [gevent.spawn(lambda: list(opened(listeners))) for _ in range(10)]
        gevent.sleep(0)
        assert len(listeners) == 10
        gevent.killall(readers)
        assert len(listeners) == 0

else:

    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_subscriptions.py")
