"""What a process has of a session: its running calls by id, and the end of all of them."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import pytest

from mcp_wsgi.errors import InternalError, InvalidRequest, SessionNotFound
from mcp_wsgi.eventlog import GET_STREAM, NOTHING, PARTED
from mcp_wsgi.jsonrpc import Id
from mcp_wsgi.live import LiveSession
from mcp_wsgi.options import Options

WAIT = 20.0  # seconds; reached only by a test that fails
ENDED = InternalError("The session has ended")


class Running:
    """A call that notes with what it was cancelled."""

    def __init__(self) -> None:
        self.heard: list[Exception | None] = []

    def cancel(self, error: Exception | None) -> None:
        self.heard.append(error)


def new_live(**options: Any) -> LiveSession:
    return LiveSession(Options.build(options), monotonic, threading.Lock)


# --- the log --------------------------------------------------------------------------------------


def test_there_is_one_log_with_the_bounds_of_the_options() -> None:
    live = new_live(event_log=2, event_log_bytes=1024)
    log = live.log
    for message in (b"1", b"2", b"3"):
        log.append(GET_STREAM, message)
    assert live.log is log
    assert log.dropped == 1
    log.append(GET_STREAM, b"m" * 1024)
    assert log.dropped == 3


def test_many_that_ask_for_the_log_at_once_get_the_same() -> None:
    live, barrier = new_live(), threading.Barrier(8)
    logs: list[Any] = []

    def ask() -> None:
        barrier.wait(WAIT)
        logs.append(live.log)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert [log is live.log for log in logs] == [True] * 8


def test_only_the_session_s_own_stream_is_parted_with() -> None:
    live = new_live()
    live.part()  # no log yet, and none is made
    own, post = live.log.read(threading.Event()), live.log.open(threading.Event())
    live.part()
    assert own.take(0) is PARTED
    assert post.take(0) is NOTHING
    assert live.log.append(GET_STREAM, b"goes on")


# --- calls ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("identity", ["1", 1, "", 0, -1, "é"])
def test_a_call_is_cancelled_by_its_id(identity: Id) -> None:
    """T25-CAN-02: without a word."""
    live, call, other = new_live(), Running(), Running()
    live.register("other", other)
    live.register(identity, call)
    assert live.cancel(identity)
    assert (call.heard, other.heard) == ([None], [])


@pytest.mark.parametrize("identity", ["2", 1, True, 1.0, None, [], {}, ["1"], b"1"])
def test_an_id_that_is_none_of_them_cancels_nothing(identity: Any) -> None:
    """Of other types too, equal or not even hashable."""
    live, call = new_live(), Running()
    live.register("1", call)
    assert not live.cancel(identity)
    assert call.heard == []


def test_a_truth_is_no_number() -> None:
    live, call = new_live(), Running()
    live.register(1, call)
    assert not live.cancel(True)
    assert not live.cancel(1.0)
    assert call.heard == []


def test_an_id_is_one_call_s_as_long_as_it_runs() -> None:
    live, call, second = new_live(), Running(), Running()
    live.register(1, call)
    live.register("1", second)
    with pytest.raises(InvalidRequest, match="a request with this id is running"):
        live.register(1, Running())
    assert live.cancel(1)
    assert (call.heard, second.heard) == ([None], [])
    live.forget(1)
    live.forget(1)
    assert not live.cancel(1)
    live.register(1, Running())


# --- the end --------------------------------------------------------------------------------------


def test_the_end_stops_all_calls_with_its_error_and_ends_all_streams() -> None:
    live, calls = new_live(), [Running(), Running()]
    for number, call in enumerate(calls):
        live.register(number, call)
    own, post = live.log.read(threading.Event()), live.log.open(threading.Event())
    live.end(ENDED)
    assert [call.heard for call in calls] == [[ENDED], [ENDED]]
    assert (own.take(0), post.take(0)) == (None, None)


@pytest.mark.parametrize("before", [True, False], ids=["log made before", "log made after"])
def test_nothing_begins_in_a_session_that_has_ended(before: bool) -> None:
    live = new_live()
    if before:
        live.log.append(GET_STREAM, b"in time")
    live.end(ENDED)
    with pytest.raises(SessionNotFound):
        live.register(1, Running())
    assert not live.log.append(GET_STREAM, b"lost")
    assert live.log.open(threading.Event()).take(0) is None
    live.part()


def test_a_call_may_forget_itself_while_it_is_stopped() -> None:
    """As one does that ends at once."""
    live = new_live()

    class Quick(Running):
        def cancel(self, error: Exception | None) -> None:
            super().cancel(error)
            live.forget(1)
            live.forget(2)

    calls = [Quick(), Quick()]
    live.register(1, calls[0])
    live.register(2, calls[1])
    live.end(ENDED)
    assert [call.heard for call in calls] == [[ENDED], [ENDED]]


@pytest.mark.parametrize("ends", range(0, 200, 10))
def test_a_call_that_begins_while_the_session_ends_is_refused_or_stopped(ends: int) -> None:
    live, barrier = new_live(), threading.Barrier(4)
    begun: list[Running] = []
    refused: list[int] = []

    def begin(thread: int) -> None:
        barrier.wait(WAIT)
        for number in range(200):
            call = Running()
            try:
                live.register(thread * 1000 + number, call)
            except SessionNotFound:
                refused.append(thread)
                return
            begun.append(call)
            if (thread, number) == (0, ends):
                live.end(ENDED)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert 0 in refused
    assert [call.heard for call in begun] == [[ENDED]] * len(begun)
