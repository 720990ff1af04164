"""Streams of a session whose connections are cut wherever they can be: nothing lost, nothing doubled, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers, lists, sampled_from

from mcp_wsgi.options import OPTIONS
from tests.servers.proxy import Cut, Proxy
from tests.servers.raw_session import Event, RawSession, Stream
from tests.servers.running import Running, serve

NEWEST, SECOND = "2025-11-25", "2025-06-18"
COUNT = 20
#: Seconds between two keep-alives of a server as it comes.
KEEPALIVE: float = OPTIONS["keepalive"].default
SITE = "tests.servers.session_site:application"


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    options = {"max_streams": 4, "keepalive": 0.1, "stream_after": 0.2, "stream_retry": 0.1}
    with serve(request.param, folder, app=SITE, **options) as server:
        yield server
        # A message that is wrong ends in the log of a server whose client has gone.
        assert "Traceback" not in server.log(), server.log()


@pytest.fixture
def proxy(running: Running) -> Iterator[Proxy]:
    with Proxy(running.port) as proxy:
        yield proxy


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for a tool's files that no other test has."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def told(events: list[Event]) -> list[Any]:
    """The numbers of progress and pushed messages, and the text of a result."""
    return [_content(event.message) for event in events if event.message is not None]


def _content(message: dict[str, Any]) -> Any:
    if "result" in message:
        return message["result"]["content"][0]["text"]
    params: dict[str, Any] = message["params"]
    return params["progress"] if "progress" in params else params["data"]


def last_id(events: list[Event]) -> str:
    return [event.id for event in events if event.id][-1]


def cut_off(stream: Stream) -> list[Event]:
    """What came before the cut."""
    with stream:
        assert stream.status == 200
        events = list(stream)
    assert not stream.whole
    return events


def rest(stream: Stream) -> list[Event]:
    """What came until the server ended the stream."""
    with stream:
        assert stream.status == 200
        events = list(stream)
    assert stream.whole
    return events


EVERYTHING = [*range(1, COUNT + 1), "counted"]


def boundaries(revision: str) -> list[tuple[str, int]]:
    """After which events a stream can be cut: the client must have an id, and must lack the answer."""
    first, marks = (1, 1) if revision == NEWEST else (1, 0)
    return [(revision, count) for count in range(first, COUNT + marks + 1)]


# --- the answer to a call -------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [0, 60])
@pytest.mark.parametrize(("revision", "events"), boundaries(NEWEST) + boundaries(SECOND))
def test_a_call_goes_on_behind_the_last_whole_event(
    running: Running, proxy: Proxy, name: str, revision: str, events: int, extra: int
) -> None:
    """T25-HTTP-17: what was to come, and nothing else; ``extra`` cuts inside the next event."""
    session = RawSession(running.port, revision)
    proxy.arm(Cut.after_events(events, extra=extra))
    seen = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT))
    assert len(seen) == events
    assert told(seen + rest(session.get(last_id(seen)))) == EVERYTHING


@pytest.mark.parametrize(("revision", "events"), boundaries(NEWEST) + boundaries(SECOND))
def test_a_call_that_is_still_running_goes_on_with_its_new_reader(
    running: Running, proxy: Proxy, name: str, revision: str, events: int
) -> None:
    session = RawSession(running.port, revision)
    done = events - (revision == NEWEST)  # progress that came before the cut
    proxy.arm(Cut.after_events(events))
    seen = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT, gates=[done + 1]))
    with session.get(last_id(seen)) as stream:
        running.release(f"{name}.{done + 1}")
        assert told(seen + list(stream)) == EVERYTHING
        assert stream.whole


@pytest.mark.parametrize("revision", [NEWEST, SECOND])
def test_a_call_survives_one_cut_after_each_event(running: Running, proxy: Proxy, name: str, revision: str) -> None:
    session = RawSession(running.port, revision)
    proxy.arm(Cut.after_events(1, extra=10))
    seen = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT))
    while told(seen)[-1:] != ["counted"]:
        proxy.arm(Cut.after_events(1, extra=3))
        with session.get(last_id(seen), port=proxy.port) as stream:
            seen += list(stream)
    assert told(seen) == EVERYTHING


# A stream of this call has some 3500 bytes; the first cut leaves the client an id to come back with.
@given(first=integers(100, 4000), others=lists(integers(0, 1500), max_size=8), revision=sampled_from([NEWEST, SECOND]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_call_survives_cuts_anywhere(
    running: Running, name: str, first: int, others: list[int], revision: str
) -> None:
    session = RawSession(running.port, revision)
    cuts = [first if revision == NEWEST else first + 200, *others]
    with Proxy(running.port) as proxy:
        for place in cuts:
            proxy.arm(Cut.after_bytes(place))
        with session.call("counting", port=proxy.port, name=name, count=COUNT) as stream:
            seen = list(stream)
        while told(seen)[-1:] != ["counted"]:
            with session.get(last_id(seen), port=proxy.port) as stream:
                seen += list(stream)
    assert told(seen) == EVERYTHING


def test_the_tool_goes_on_while_nobody_is_connected(running: Running, proxy: Proxy, name: str) -> None:
    """T25-HTTP-10: a disconnect is no cancellation."""
    session = RawSession(running.port, NEWEST)
    proxy.arm(Cut.after_events(6))
    seen = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT, gates=[6]))
    running.release(f"{name}.6")
    running.seen(f"{name}.counted")
    assert told(seen + rest(session.get(last_id(seen)))) == EVERYTHING


def test_what_came_can_be_read_again(running: Running, name: str) -> None:
    session = RawSession(running.port, NEWEST)
    events = rest(session.call("counting", name=name, count=COUNT))
    for event in events:
        again = rest(session.get(event.id))
        assert again == events[events.index(event) + 1 :]


def test_a_mark_comes_first_and_says_when_to_come_back(running: Running, name: str) -> None:
    """T25-HTTP-14: only for clients of 2025-11-25."""
    first = {
        revision: rest(RawSession(running.port, revision).call("counting", name=f"{name}-{revision}", count=1))[0]
        for revision in (NEWEST, SECOND)
    }
    assert first[NEWEST].message is None
    assert first[NEWEST].retry == 100
    assert told([first[SECOND]]) == [1]


def test_the_answer_of_one_call_is_not_in_the_stream_of_another(running: Running, proxy: Proxy, name: str) -> None:
    """T25-HTTP-17: never what was sent on another stream."""
    session = RawSession(running.port, NEWEST)
    proxy.arm(Cut.after_events(3))
    first = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT, gates=[3]))
    proxy.arm(Cut.after_events(5))
    second = cut_off(session.call("counting", port=proxy.port, identity=2, name=f"{name}-2", count=COUNT, gates=[5]))
    running.release(f"{name}.3")
    running.release(f"{name}-2.5")
    assert told(second + rest(session.get(last_id(second)))) == EVERYTHING
    assert told(first + rest(session.get(last_id(first)))) == EVERYTHING


def test_a_connection_that_goes_on_says_at_once_where_it_stands(running: Running, proxy: Proxy, name: str) -> None:
    """Known clients forget where they were if such a connection ends before an event."""
    session = RawSession(running.port, NEWEST)
    proxy.arm(Cut.after_events(3))
    seen = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT, gates=[3]))
    proxy.arm(Cut.after_events(1))
    (mark,) = cut_off(session.get(last_id(seen), port=proxy.port))
    assert mark.message is None
    running.release(f"{name}.3")
    seen += rest(session.get(mark.id))
    assert told(seen) == EVERYTHING
    # One that is over brings none: known clients would come back for another for ever.
    assert rest(session.get(last_id(seen))) == []


def test_the_connection_of_a_call_ends_when_its_client_has_come_back(running: Running, name: str) -> None:
    session = RawSession(running.port, NEWEST)
    with session.call("counting", name=name, count=COUNT, gates=[3]) as first:
        seen = [next(first) for _ in range(3)]
        with session.get(last_id(seen)) as second:
            assert rest(first) == []
            running.release(f"{name}.3")
            assert told(seen + list(second)) == EVERYTHING


def test_a_call_does_not_run_late_while_another_connection_has_its_messages(
    tmp_path: Path, running: Running, name: str
) -> None:
    """A network that drops a connection without a word leaves the server with one that looks alive."""
    with (
        serve(running.kind, tmp_path, app=SITE, keepalive=0.1, request_timeout=1.0) as server,
        Proxy(server.port) as far,
    ):
        session = RawSession(server.port, NEWEST)
        far.arm(Cut.after_events(2, unseen=True))
        gates = list(range(2, COUNT + 1))
        seen = cut_off(session.call("counting", port=far.port, name=name, count=COUNT, gates=gates))
        pause = threading.Event()
        with session.get(last_id(seen)) as stream:
            for gate in gates:
                pause.wait(0.07)
                server.release(f"{name}.{gate}")
                seen.append(next(stream))
            assert told(seen + list(stream)) == EVERYTHING


# --- the stream of GET ----------------------------------------------------------------------------


@pytest.fixture(params=[NEWEST, SECOND])
def revision(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
def pusher(running: Running) -> RawSession:
    """Another session, whose calls push."""
    return RawSession(running.port, NEWEST)


def pushed(pusher: RawSession, session: RawSession, *numbers: int) -> None:
    for number in numbers:
        assert pusher.text("push", session_id=session.id, first=number, count=1) == "1"


@pytest.mark.parametrize("extra", [0, 60])
@pytest.mark.parametrize("events", range(1, 10))
def test_a_get_stream_goes_on_behind_the_last_whole_event(
    running: Running, proxy: Proxy, pusher: RawSession, revision: str, events: int, extra: int
) -> None:
    session = RawSession(running.port, revision)
    proxy.arm(Cut.after_events(events, extra=extra))
    with session.get(port=proxy.port) as stream:
        pushed(pusher, session, *range(10))
        seen = list(stream)
        assert not stream.whole
    with session.get(last_id(seen)) as stream:
        pushed(pusher, session, 10)
        while told(seen)[-1:] != [10]:
            seen.append(next(stream))
    assert told(seen) == list(range(11))


def test_what_is_pushed_before_a_stream_is_open_comes_with_it(
    running: Running, pusher: RawSession, revision: str
) -> None:
    session = RawSession(running.port, revision)
    pushed(pusher, session, 0, 1, 2)
    with session.get() as stream:
        assert told([next(stream) for _ in range(3 + (revision == NEWEST))]) == [0, 1, 2]


def test_a_message_comes_on_one_of_two_streams(running: Running, pusher: RawSession, revision: str) -> None:
    """T25-HTTP-13: the newest; when it goes, the one before it takes over."""
    session = RawSession(running.port, revision)
    marks = int(revision == NEWEST)
    with session.get() as older:
        pushed(pusher, session, 0, 1)
        first = [next(older) for _ in range(2 + marks)]
        newer = session.get()
        pushed(pusher, session, 2, 3)
        second = [next(newer) for _ in range(2 + marks)]
        newer.close()
        third = _until(older, lambda number: pushed(pusher, session, number))
    assert told(first) == [0, 1]
    assert told(second) == [2, 3]
    # What was sent to the newer before its end was known is gone with it.
    assert told(third) == sorted(set(told(third)))


def _until(stream: Stream, push: Callable[[int], None]) -> list[Event]:
    """Push until something comes: a server learns of a closed connection by what it writes."""
    found: list[Event] = []
    reader = threading.Thread(target=lambda: found.append(next(stream)), daemon=True)
    reader.start()
    for number in range(4, 400):
        push(number)
        reader.join(0.05)
        if not reader.is_alive():
            return found
    raise AssertionError("the older stream got nothing")


def test_what_a_dead_stream_took_is_had_by_its_last_id(
    running: Running, proxy: Proxy, pusher: RawSession, revision: str
) -> None:
    session = RawSession(running.port, revision)
    pushed(pusher, session, 0)
    proxy.arm(Cut.after_events(1 + (revision == NEWEST), unseen=True))
    seen = cut_off(session.get(port=proxy.port))
    pushed(pusher, session, 1, 2, 3)
    with session.get(last_id(seen)) as stream:
        seen += [next(stream) for _ in range(3)]
    assert told(seen) == [0, 1, 2, 3]


def test_a_call_and_the_get_stream_do_not_mix(running: Running, pusher: RawSession, name: str, revision: str) -> None:
    """T25-HTTP-12: nothing of running requests."""
    session = RawSession(running.port, revision)
    marks = int(revision == NEWEST)
    with session.get() as stream:
        call = session.call("counting", name=name, count=COUNT, gates=[10])
        pushed(pusher, session, 100)
        running.release(f"{name}.10")
        assert told(rest(call)) == EVERYTHING
        pushed(pusher, session, 101)
        assert told([next(stream) for _ in range(2 + marks)]) == [100, 101]


def test_the_end_of_a_session_ends_its_streams(running: Running, name: str, revision: str) -> None:
    session = RawSession(running.port, revision)
    with session.get() as stream, session.call("slow", name=name) as call:
        assert session.delete() == 204
        list(stream)
        assert stream.whole
        assert [event.message["error"]["code"] for event in call if event.message] == [-32603]
    running.seen(f"{name}.ended")


# --- where a server holds one stream --------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A threaded server as it comes: it holds one stream, and seldom looks whether that is alive."""
    with serve("gthread", tmp_path_factory.mktemp("narrow"), app=SITE) as server:
        yield server
        assert "Traceback" not in server.log(), server.log()


@pytest.mark.parametrize("unseen", [True, False])
def test_a_call_goes_on_though_its_clients_get_stream_is_all_that_is_held(
    narrow: Running, name: str, unseen: bool
) -> None:
    session = RawSession(narrow.port, NEWEST)
    with Proxy(narrow.port) as proxy, session.get():
        proxy.arm(Cut.after_events(5, unseen=unseen))
        seen = cut_off(session.call("counting", port=proxy.port, name=name, count=COUNT, gates=[5]))
        narrow.release(f"{name}.5")
        assert told(seen + rest(session.get(last_id(seen)))) == EVERYTHING
        assert session.delete() == 204


def test_a_client_that_comes_back_has_the_place_of_its_dead_stream(narrow: Running) -> None:
    session, other = RawSession(narrow.port, NEWEST), RawSession(narrow.port, NEWEST)
    with Proxy(narrow.port) as proxy:
        for _ in range(3):
            proxy.arm(Cut.after_events(1, unseen=True))
            seen = cut_off(session.get(port=proxy.port))
            with session.get(last_id(seen)) as stream:
                pushed(other, session, 1)
                assert told([next(stream), next(stream)]) == [1]
                assert session.delete() == 204
            session = RawSession(narrow.port, NEWEST)


def test_no_session_gets_the_place_of_another(narrow: Running) -> None:
    session, other = RawSession(narrow.port, SECOND), RawSession(narrow.port, SECOND)
    with session.get() as stream:
        with pytest.raises(AssertionError, match="no place"):
            other.get("0_0", patience=0)
        pushed(other, session, 3)
        assert told([next(stream)]) == [3]
        assert session.delete() == 204


def test_a_get_stream_is_open_before_there_is_anything_to_send(narrow: Running) -> None:
    """Servers send the head of an answer with its first bytes, and a keep-alive is far away."""
    for revision in (NEWEST, SECOND):
        session = RawSession(narrow.port, revision)
        begun = time.monotonic()
        with session.get():
            assert time.monotonic() - begun < KEEPALIVE / 2
            assert session.delete() == 204
