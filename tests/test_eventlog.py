"""The messages of a session: none lost, doubled or turned round within the bounds, whoever reads when."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from mcp_wsgi.eventlog import GET_STREAM, NOTHING, PARTED, Event, EventLog, Forgotten, Reader, parse_event_id
from mcp_wsgi.workers import crew_for, patched_by_gevent
from tests.patched import run_patched

PATCHED = patched_by_gevent()
WAIT = 20.0  # seconds; reached only by a test that fails
PLENTY = 1 << 20


class Bell:
    """A signal that counts how often it was set, and that nobody can wait for."""

    def __init__(self) -> None:
        self.rung = 0
        self._set = False

    def set(self) -> None:
        self.rung += 1
        self._set = True

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float, /) -> object:
        raise AssertionError("there is nothing to wait for")


def new_log(events: int = 100, size: int = PLENTY) -> EventLog:
    return EventLog(events, size)


def filled(log: EventLog, *messages: bytes, name: str = GET_STREAM) -> EventLog:
    for message in messages:
        assert log.append(name, message)
    return log


def taken(reader: Reader) -> list[Any]:
    """What a reader gets until it would have to wait: messages, then ``None`` or ``PARTED``, if they come."""
    found: list[Any] = []
    while (item := reader.take(0)) is not NOTHING:
        if type(item) is not Event:
            return [*found, item]
        found.append(item.message)
    return found


# --- event ids ------------------------------------------------------------------------------------


def test_an_id_names_its_stream_and_is_given_once_in_the_session() -> None:
    """T25-HTTP-16: over all streams, marks included."""
    log = new_log()
    own = log.read(Bell())
    readers = [own, log.open(Bell()), log.open(Bell())]
    ids, streams = [], []
    for _ in range(3):
        for reader in readers:
            log.append(reader.name, b"m")
            for event in (reader.mark(), reader.take(0), reader.mark()):
                ids.append(event.id)
                streams.append((parse_event_id(event.id) or ("", 0))[0] == reader.name)
    assert len(set(ids)) == len(ids) == 27
    assert all(streams)
    assert own.name == GET_STREAM
    assert len({reader.name for reader in readers}) == 3


def test_a_mark_names_the_place_of_its_reader() -> None:
    log = filled(new_log(), b"1", b"2", b"3")
    reader = log.read(Bell())
    reader.take(0)
    mark = reader.mark()
    assert (mark.message, mark.last) == (b"", False)
    name, after = parse_event_id(mark.id) or ("", 0)
    assert taken(log.read(Bell(), name, after)) == [b"2", b"3"]


def test_the_mark_of_a_new_stream_comes_before_all_of_it() -> None:
    log = new_log()
    reader = log.open(Bell())
    name, after = parse_event_id(reader.mark().id) or ("", 0)
    filled(log, b"1", b"2", name=reader.name)
    assert taken(log.read(Bell(), name, after)) == [b"1", b"2"]


PARTS = ["", "_", "1", "1_", "_1", "a_1", "1_a", "1_2_", "1_2_3_4", "1__2", "0x1_2", "1_2,3_4", "1.0_2"]
SIGNS = [" 1_2", "1_2\n", "-1_2", "1_-2", "+1_2", "\u0661_2", "1_\u00b2"]
LONG = ["9" * 20 + "_1", "1_" + "9" * 20, "1_2" * 5000]


@pytest.mark.parametrize("text", [*PARTS, *SIGNS, *LONG])
def test_what_is_no_event_id_is_none(text: str) -> None:
    assert parse_event_id(text) is None


@given(st.text(st.sampled_from("019_-+. \n\u0663x"), max_size=12))
def test_whatever_passes_for_an_event_id_is_digits(text: str) -> None:
    place = parse_event_id(text)
    if place is not None:
        assert text.isascii()
        assert [*map(int, text.split("_"))][:2] == [int(place[0]), place[1]]


# --- one reader -----------------------------------------------------------------------------------


def test_a_stream_is_read_in_order_and_ends_with_its_last_message() -> None:
    log = new_log()
    reader = log.open(Bell())
    filled(log, b"1", b"2", name=reader.name)
    assert log.append(reader.name, b"answer", last=True)
    events = [reader.take(0) for _ in range(3)]
    assert [(event.message, event.last) for event in events] == [(b"1", False), (b"2", False), (b"answer", True)]
    assert [reader.take(0), reader.take(0)] == [None, None]


def test_streams_do_not_mix() -> None:
    """T25-HTTP-17."""
    log = new_log()
    own, first, second = log.read(Bell()), log.open(Bell()), log.open(Bell())
    for reader, message in [(first, b"a"), (own, b"b"), (second, b"c"), (first, b"d"), (own, b"e")]:
        log.append(reader.name, message)
    assert [taken(own), taken(first), taken(second)] == [[b"b", b"e"], [b"a", b"d"], [b"c"]]


def test_nothing_is_added_to_a_stream_that_has_ended_or_never_was() -> None:
    log = new_log()
    reader = log.open(Bell())
    assert log.append(reader.name, b"answer", last=True)
    assert not log.append(reader.name, b"late")
    assert not log.append("12345", b"lost")
    assert taken(reader) == [b"answer", None]


def test_messages_wait_for_the_first_reader() -> None:
    log = filled(new_log(), b"1", b"2")
    assert taken(log.read(Bell())) == [b"1", b"2"]


def test_who_waits_is_woken_by_a_message_and_by_the_end() -> None:
    log = new_log()
    reader = log.read(threading.Event())
    found: list[Any] = []

    def read() -> None:
        while (item := reader.take(WAIT)) is not None:
            if item is not NOTHING:
                found.append(item.message)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    filled(log, b"1", b"2")
    log.close()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert found == [b"1", b"2"]


def test_taking_ends_at_its_time() -> None:
    reader = new_log().read(threading.Event())
    assert reader.take(0.001) is NOTHING
    assert reader.take(0) is NOTHING
    assert reader.take(-1) is NOTHING


# --- several readers ------------------------------------------------------------------------------


def test_the_newest_reader_gets_the_messages() -> None:
    """T25-HTTP-13: each goes to one connection only."""
    log = new_log()
    readers = [log.read(Bell()) for _ in range(3)]
    filled(log, b"1", b"2")
    assert [taken(reader) for reader in readers] == [[], [], [b"1", b"2"]]


def test_the_reader_before_it_takes_over_where_it_stopped() -> None:
    log = new_log()
    first = log.read(Bell())
    filled(log, b"1", b"2")
    assert taken(first) == [b"1", b"2"]
    second = log.read(Bell())
    filled(log, b"3", b"4", b"5")
    assert second.take(0).message == b"3"
    second.close()
    assert taken(first) == [b"4", b"5"]


def test_who_takes_over_is_woken() -> None:
    log, bell = new_log(), Bell()
    heir, newest = log.read(bell), log.read(Bell())
    filled(log, b"1")
    assert not bell.is_set()
    newest.close()
    assert bell.is_set()
    assert taken(heir) == [b"1"]


def test_of_several_that_go_the_last_that_stays_takes_over() -> None:
    log = new_log()
    readers = [log.read(Bell()) for _ in range(4)]
    filled(log, b"1", b"2")
    assert readers[3].take(0).message == b"1"
    for number in (2, 3, 1):
        readers[number].close()
    assert taken(readers[0]) == [b"2"]


def test_a_dead_connection_that_is_noticed_late_takes_nothing_from_the_one_that_resumed() -> None:
    """T25-HTTP-17: the client came back before the server saw its old connection break."""
    log = new_log()
    dead = log.read(Bell())
    filled(log, b"1", b"2", b"3")
    events = [dead.take(0) for _ in range(3)]
    again = log.read(Bell(), GET_STREAM, events[0].number)
    dead.close()
    assert taken(again) == [b"2", b"3"]


def test_who_reads_behind_a_dead_connection_is_not_woken_for_nothing() -> None:
    log, bell = new_log(), Bell()
    older, _newest = log.read(Bell()), log.read(bell)
    older.close()
    assert bell.rung == 0


def test_a_message_wakes_the_newest_reader_and_an_end_all() -> None:
    log = new_log()
    bells = [Bell() for _ in range(3)]
    reader = log.open(bells[0])
    for bell in bells[1:]:
        log.read(bell, reader.name, 0)
    filled(log, b"1", name=reader.name)
    assert [bell.rung for bell in bells] == [0, 0, 1]
    log.append(reader.name, b"2", last=True)
    assert [bell.rung for bell in bells] == [1, 1, 2]


def test_what_one_in_the_middle_took_is_not_sent_again_by_the_one_before_it() -> None:
    """T25-HTTP-13."""
    log = filled(new_log(), b"1")
    first = log.read(Bell())
    assert taken(first) == [b"1"]
    second = log.read(Bell())
    filled(log, b"2", b"3")
    assert taken(second) == [b"2", b"3"]
    third = log.read(Bell())
    second.close()
    third.close()
    filled(log, b"4")
    assert taken(first) == [b"4"]


def test_who_came_for_less_and_took_nothing_leaves_the_place_of_the_one_before_it_alone() -> None:
    log = filled(new_log(), b"1", b"2", b"3")
    first = log.read(Bell())
    assert first.take(0).message == b"1"
    log.read(Bell(), GET_STREAM, 3).close()
    assert taken(first) == [b"2", b"3"]


def test_the_connections_before_one_are_parted_with_once() -> None:
    """Their client has come back, so they are most likely dead."""
    log = new_log()
    bells = [Bell(), Bell()]
    older = [log.read(bell) for bell in bells]
    newest = log.read(Bell())
    filled(log, b"1")
    assert log.supersede(newest) == 2
    assert [bell.is_set() for bell in bells] == [True, True]
    assert [taken(reader) for reader in older] == [[PARTED], [PARTED]]
    assert log.supersede(newest) == 0
    assert taken(newest) == [b"1"]


def test_closing_again_takes_no_other_place() -> None:
    log = new_log()
    first, second = log.read(Bell()), log.read(Bell())
    second.close()
    second.close()
    filled(log, b"1")
    assert (taken(second), taken(first)) == ([], [b"1"])


# --- coming back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("ended", [True, False])
def test_a_stream_goes_on_after_any_of_its_events(place: int, ended: bool) -> None:
    """T25-HTTP-17: exactly what came after it, the answer included."""
    log = new_log()
    reader = log.open(Bell())
    ids = [reader.mark().id]
    for number in range(5):
        filled(log, b"noise")
        log.append(reader.name, b"%d" % number, last=ended and number == 4)
        ids.append(reader.take(0).id)
    reader.close()
    name, after = parse_event_id(ids[place]) or ("", 0)
    rest: list[Any] = [b"%d" % number for number in range(place, 5)]
    assert taken(log.read(Bell(), name, after)) == [*rest, *([None] if ended else [])]


def test_events_that_are_no_longer_kept_are_left_out() -> None:
    log = filled(new_log(3), b"1", b"2", b"3", b"4", b"5")
    assert taken(log.read(Bell(), GET_STREAM, 0)) == [b"3", b"4", b"5"]
    assert taken(log.read(Bell(), GET_STREAM, 1)) == [b"3", b"4", b"5"]
    assert taken(log.read(Bell(), GET_STREAM, 3)) == [b"4", b"5"]


@pytest.mark.parametrize(("name", "after"), [("7", 0), ("00", 0), ("", 0), ("0", 4), ("0", 10**18), ("7", None)])
def test_a_place_that_there_never_was_is_unknown(name: str, after: int | None) -> None:
    """T25-HTTP-17."""
    log = filled(new_log(), b"1", b"2", b"3")
    with pytest.raises(Forgotten):
        log.read(Bell(), name, after)


def test_a_stream_that_is_over_is_known_as_long_as_an_event_of_it_is_kept() -> None:
    log = new_log(3)
    reader = log.open(Bell())
    log.append(reader.name, b"answer", last=True)
    assert taken(reader) == [b"answer", None]
    reader.close()
    filled(log, b"1", b"2")
    assert taken(log.read(Bell(), reader.name, 0)) == [b"answer", None]
    with pytest.raises(Forgotten):
        filled(log, b"3").read(Bell(), "12345", 0)


def test_a_stream_that_is_over_and_gone_is_unknown() -> None:
    log = new_log(2)
    reader = log.open(Bell())
    log.append(reader.name, b"answer", last=True)
    assert reader.take(0).message == b"answer"
    reader.close()
    filled(log, b"1", b"2")
    with pytest.raises(Forgotten):
        log.read(Bell(), reader.name, 0)


def test_an_answer_on_its_way_stays_whatever_else_is_written() -> None:
    log = new_log(2)
    answers = [log.open(Bell()) for _ in range(3)]
    for number, reader in enumerate(answers):
        log.append(reader.name, b"%d" % number, last=True)
    filled(log, *(b"flood" for _ in range(10)))
    assert [reader.take(0).message for reader in answers] == [b"0", b"1", b"2"]


def test_an_answer_whose_connection_breaks_is_there_for_who_comes_back_at_once_though_the_log_is_full() -> None:
    log = new_log(1)
    reader = log.open(Bell())
    log.append(reader.name, b"answer", last=True)
    filled(log, b"newest")
    reader.close()
    assert log.read(Bell(), reader.name, 0).take(0).message == b"answer"


def test_of_what_nobody_reads_a_message_goes_before_an_answer() -> None:
    log = new_log(2)
    reader = log.open(Bell())
    reader.close()
    log.append(reader.name, b"answer", last=True)
    filled(log, *(b"flood" for _ in range(10)))
    assert log.read(Bell(), reader.name, 0).take(0).message == b"answer"


def test_what_was_taken_goes_before_what_was_not() -> None:
    log = new_log(3)
    slow, quick = log.open(Bell()), log.open(Bell())
    log.append(slow.name, b"slow")
    for _ in range(10):
        log.append(quick.name, b"quick")
        quick.take(0)
    assert (slow.take(0).message, log.dropped) == (b"slow", 0)


def test_who_waits_for_a_reader_hears_that_its_messages_have_gone() -> None:
    log, room = new_log(4), Bell()
    slow, other = log.open(Bell()), log.open(Bell())
    log.watch(slow.name, room)
    for _ in range(3):
        log.append(slow.name, b"slow")
    assert log.is_behind(slow.name)
    for _ in range(4):
        log.append(other.name, b"other")
    assert room.is_set()
    assert not log.is_behind(slow.name)


@pytest.mark.parametrize("first", ["end", "reader", "events"])
def test_of_ended_streams_nothing_stays(first: str) -> None:
    """Whichever goes first: the stream's end, its reader, or its events."""
    log = new_log(1)
    for _ in range(50):
        reader = log.open(Bell())
        filled(log, b"m", name=reader.name)
        steps: dict[str, Callable[[], object]] = {
            "end": partial(log.end, reader.name),
            "reader": reader.close,
            "events": partial(filled, log, b"noise"),
        }
        for step in (first, *(other for other in steps if other != first)):
            steps[step]()
    assert set(log._streams) == {GET_STREAM}


def test_a_stream_without_a_message_leaves_nothing() -> None:
    log = new_log()
    reader = log.open(Bell())
    log.end(reader.name)
    assert taken(reader) == [None]
    reader.close()
    log.end(reader.name)
    assert set(log._streams) == {GET_STREAM}


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "size", "messages", "kept"),
    [
        (3, PLENTY, [b"1", b"2", b"3"], 3),
        (3, PLENTY, [b"1", b"2", b"3", b"4"], 3),
        (1, PLENTY, [b"1", b"2", b"3"], 1),
        (100, 10, [b"aaaaa", b"bbbbb"], 2),
        (100, 10, [b"aaaaa", b"bbbbb", b"c"], 2),
        (100, 10, [b"a", b"b", b"c" * 11], 1),
        (100, 10, [b"c" * 11, b"d"], 1),
        (100, 10, [b"c" * 50], 1),
    ],
)
def test_the_oldest_go_where_there_are_too_many_or_too_large_ones(
    events: int, size: int, messages: list[bytes], kept: int
) -> None:
    log = filled(new_log(events, size), *messages)
    assert log.dropped == len(messages) - kept
    assert taken(log.read(Bell())) == messages[-kept:]


def test_the_bounds_are_for_all_streams_together_and_the_oldest_go_wherever_they_are() -> None:
    log = new_log(4)
    first, second = log.open(Bell()), log.open(Bell())
    for reader in (first, second, first, second, second, second):
        filled(log, reader.name.encode(), name=reader.name)
    assert [len(taken(first)), len(taken(second))] == [1, 3]
    assert log.dropped == 2


def test_only_what_nobody_took_counts_as_dropped() -> None:
    log = filled(new_log(2), b"1", b"2")
    taken(log.read(Bell()))
    filled(log, b"3", b"4")
    assert log.dropped == 0
    filled(log, b"5")
    assert log.dropped == 1


def test_a_flood_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        log = filled(new_log(3, 500), *[b"m"] * 3)
        assert caplog.messages == []
        filled(log, *[b"m"] * 1000)
    assert log.dropped == 1000
    assert caplog.messages == [
        "a session has more than 3 messages or 500 bytes of them: the oldest that nobody reads are dropped"
    ]


# --- once -----------------------------------------------------------------------------------------


def test_an_equal_message_that_nobody_took_will_do() -> None:
    log = new_log()
    for message in (b"a", b"b", b"a", b"a", b"b"):
        assert log.append(GET_STREAM, message, once=True)
    reader = log.read(Bell())
    assert taken(reader) == [b"a", b"b"]
    assert log.append(GET_STREAM, b"a", once=True)
    assert taken(reader) == [b"a"]


def test_an_equal_message_elsewhere_will_not_do() -> None:
    log = new_log()
    reader = log.open(Bell())
    filled(log, b"a", name=reader.name)
    assert log.append(GET_STREAM, b"a", once=True)
    assert taken(log.read(Bell())) == [b"a"]


def test_a_stream_that_has_ended_takes_none_of_them_either() -> None:
    log = filled(new_log(), b"a")
    log.close()
    assert not log.append(GET_STREAM, b"a", once=True)


# --- ends -----------------------------------------------------------------------------------------


def test_a_stream_ends_without_a_message_after_what_is_there() -> None:
    log, bell = new_log(), Bell()
    reader = log.open(bell)
    filled(log, b"1", name=reader.name)
    log.end(reader.name)
    assert bell.rung == 2
    assert taken(reader) == [b"1", None]
    assert not log.append(reader.name, b"2")
    log.end("12345")  # unknown: nothing happens


def test_a_parted_connection_gets_what_is_there_and_the_stream_goes_on() -> None:
    """T25-HTTP-15."""
    log = new_log()
    bells = [Bell(), Bell()]
    reader = log.open(bells[0])
    older = log.read(bells[1], reader.name, 0)
    filled(log, b"1", name=reader.name)
    assert log.part(reader.name) == 2
    assert [bell.is_set() for bell in bells] == [True, True]
    assert taken(older) == [b"1", PARTED]
    older.close()
    assert taken(reader) == [PARTED]
    reader.close()
    filled(log, b"2", name=reader.name)
    assert taken(log.read(Bell(), reader.name, 0)) == [b"1", b"2"]
    assert log.part("12345") == 0


def test_a_parted_connection_hears_of_the_end_of_its_stream() -> None:
    log = new_log()
    reader = log.open(Bell())
    log.part(reader.name)
    log.append(reader.name, b"answer", last=True)
    assert taken(reader) == [b"answer", None]


def test_a_closed_log_gives_what_is_there_and_ends_each_stream() -> None:
    log = filled(new_log(), b"own")
    bells = [Bell(), Bell(), Bell()]
    own, older, post = log.read(bells[0]), log.read(bells[1]), log.open(bells[2])
    filled(log, b"post", name=post.name)
    log.close()
    assert all(bell.is_set() for bell in bells)
    assert [taken(own), taken(older), taken(post)] == [[None], [b"own", None], [b"post", None]]
    assert not log.append(GET_STREAM, b"late")
    assert not log.append(post.name, b"late")


def test_a_stream_opened_in_a_closed_log_has_ended() -> None:
    log = new_log()
    log.close()
    reader = log.open(Bell())
    assert not log.append(reader.name, b"lost")
    assert taken(reader) == [None]
    reader.close()


# --- slow readers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "size", "messages", "behind"),
    [
        (4, PLENTY, [b"m"] * 2, False),
        (4, PLENTY, [b"m"] * 3, True),
        (1, PLENTY, [b"m"], True),
        (100, 1000, [b"m" * 500], False),
        (100, 1000, [b"m" * 501], True),
        (100, 1000, [b"m" * 250, b"m" * 251], True),
    ],
)
def test_a_reader_is_behind_when_half_the_log_waits_for_it(
    events: int, size: int, messages: list[bytes], behind: bool
) -> None:
    log = new_log(events, size)
    reader = log.open(Bell())
    filled(log, *messages, name=reader.name)
    assert log.is_behind(reader.name) is behind
    taken(reader)
    assert not log.is_behind(reader.name)


def test_nobody_is_behind_where_nobody_reads() -> None:
    log = filled(new_log(2), b"1", b"2")
    assert not log.is_behind(GET_STREAM)
    assert not log.is_behind("12345")
    reader = log.read(Bell())
    assert log.is_behind(GET_STREAM)
    reader.close()
    assert not log.is_behind(GET_STREAM)


def test_what_waits_for_others_does_not_count() -> None:
    log = new_log(4)
    reader = log.open(Bell())
    filled(log, *[b"m"] * 4)
    assert not log.is_behind(reader.name)


def test_room_is_told_when_something_was_taken_and_when_a_reader_goes() -> None:
    log, room = new_log(), Bell()
    reader = log.open(Bell())
    log.watch(reader.name, room)
    log.watch("12345", room)
    filled(log, b"1", b"2", name=reader.name)
    assert room.rung == 0
    reader.take(0)
    assert room.rung == 1
    reader.close()
    assert room.rung == 2


def test_looking_clears_the_room_only_while_there_is_none() -> None:
    """What says that there is room stays set for all who wait, until there is none again."""
    log, room = new_log(2), Bell()
    reader = log.open(Bell())
    log.watch(reader.name, room)
    room.set()
    assert not log.is_behind(reader.name)
    assert room.is_set()
    filled(log, b"1", b"2", name=reader.name)
    assert log.is_behind(reader.name)
    assert not room.is_set()
    reader.take(0)
    assert not log.is_behind(reader.name)
    assert room.is_set()


# --- any history ----------------------------------------------------------------------------------


class Client:
    """One client of the model: what it has of a stream, over all of its connections."""

    def __init__(self, name: str, after: int) -> None:
        self.name = name
        self.places = [after]  # the last is what it would send as Last-Event-ID
        self.got: list[bytes] = []
        self.sent: set[bytes] = set()  # also what was lost on its way
        self.readers: list[Reader] = []
        self.dead: list[Reader] = []  # connections that are broken, which the server has not noticed


class Histories(RuleBasedStateMachine):
    """Writers and one client per stream, which reads, breaks off and comes back as it likes.

    Beside it a plain list says what was written. Messages are numbered, so that what is lost, doubled
    or turned round shows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[str, list[bytes]] = {GET_STREAM: []}
        self.clients: dict[str, Client] = {GET_STREAM: Client(GET_STREAM, 0)}
        self.over: set[str] = set()
        self.newest = b""
        self.spared: set[bytes] = set()  # answers that were on their way when something was written last
        self.count = 0

    @initialize(events=st.integers(1, 20), size=st.integers(6, 300))
    def begin(self, events: int, size: int) -> None:
        self.most, self.size = events, size
        self.log = EventLog(events, size)

    def kept(self, name: str) -> list[bytes]:
        """What is kept of a stream."""
        stream = self.log._streams.get(name)
        return [] if stream is None else [event.message for event in stream.events]

    @rule()
    def open(self) -> None:
        if len(self.clients) > 2:
            return
        reader = self.log.open(Bell())
        client = Client(reader.name, (parse_event_id(reader.mark().id) or ("", 0))[1])
        client.readers.append(reader)
        self.clients[reader.name], self.written[reader.name] = client, []

    @rule(data=st.data(), padding=st.integers(0, 20), last=st.booleans(), count=st.integers(1, 4))
    def write(self, data: st.DataObject, padding: int, last: bool, count: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.clients)))
        for number in range(count):
            self.count += 1
            message = b"%d %b" % (self.count, b"." * padding)
            ends = last and name != GET_STREAM and number == count - 1
            done = self.log.append(name, message, last=ends)
            assert done is (name not in self.over)
            if done:
                self.written[name].append(message)
                self.newest = message
            if ends:
                self.over.add(name)
            if done:
                self.spared = set(self.on_their_way())

    @rule(data=st.data(), most=st.integers(1, 5))
    def read(self, data: st.DataObject, most: int) -> None:
        self.take(self.clients[data.draw(st.sampled_from(sorted(self.clients)))], most)

    def take(self, client: Client, most: int) -> None:
        kept = self.kept(client.name)
        for reader in client.readers[:-1]:
            assert reader.take(0) in (NOTHING, None)
        for _ in range(most if client.readers else 0):
            due = [message for message in kept if message not in client.got]
            item = client.readers[-1].take(0)
            if not due:
                assert item is (None if client.name in self.over else NOTHING)
                return
            assert item.message == due[0]
            client.got.append(item.message)
            client.sent.add(item.message)
            client.places.append(item.number)

    @rule(data=st.data(), lost=st.integers(0, 3), noticed=st.booleans())
    def lose(self, data: st.DataObject, lost: int, noticed: bool) -> None:
        """All connections break, some messages that were on their way are lost, and the client comes back."""
        client = self.clients[data.draw(st.sampled_from(sorted(self.clients)))]
        client.dead += client.readers
        client.readers = []
        for _ in range(min(lost, len(client.got))):
            client.got.pop()
            client.places.pop()
        self.resume(client)
        if noticed:
            self.notice()

    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        """With what it got last; its older connections may live on."""
        self.resume(self.clients[data.draw(st.sampled_from(sorted(self.clients)))])

    def resume(self, client: Client) -> None:
        known = client.name not in self.over or client.readers or client.dead or self.kept(client.name)
        if not known:
            with pytest.raises(Forgotten):
                self.log.read(Bell(), client.name, client.places[-1])
            return
        client.readers.append(self.log.read(Bell(), client.name, client.places[-1]))

    @rule(data=st.data(), place=st.integers(0, 5))
    def break_off(self, data: st.DataObject, place: int) -> None:
        client = self.clients[data.draw(st.sampled_from(sorted(self.clients)))]
        if client.readers:
            client.readers.pop(place % len(client.readers)).close()

    @rule()
    def notice(self) -> None:
        """The server notices the connections that broke."""
        for client in self.clients.values():
            while client.dead:
                client.dead.pop().close()

    def teardown(self) -> None:
        """Whoever still reads gets all that is kept."""
        self.notice()
        for client in self.clients.values():
            self.take(client, 1000)
            assert not client.readers or all(message in client.got for message in self.kept(client.name))

    @invariant()
    def nothing_is_doubled_or_turned_round(self) -> None:
        for client in self.clients.values():
            order = [self.written[client.name].index(message) for message in client.got]
            assert order == sorted(set(order))

    def on_their_way(self) -> list[bytes]:
        """The answers that a connection still has to take."""
        unread = []
        for client in self.clients.values():
            readers = [reader for reader in [*client.dead, *client.readers] if reader in reader.stream.readers]
            kept = readers[-1].stream.events if readers and client.name in self.over else ()
            unread += [event.message for event in kept if event.last and event.number > readers[-1].position]
        return unread

    @invariant()
    def the_newest_and_answers_on_their_way_are_kept_and_else_the_bounds_hold(self) -> None:
        kept = [message for name in self.clients for message in self.kept(name)]
        assert not self.newest or self.newest in kept
        if len(kept) > self.most or sum(map(len, kept)) > self.size:
            assert set(kept) <= {self.newest, *self.spared}

    @invariant()
    def what_is_neither_kept_nor_read_was_dropped(self) -> None:
        lost = 0
        for client in self.clients.values():
            kept = self.kept(client.name)
            lost += sum(message not in kept and message not in client.sent for message in self.written[client.name])
        assert self.log.dropped >= lost


def test_no_history_loses_doubles_or_turns_round_what_the_bounds_allow() -> None:
    """T25-HTTP-13, T25-HTTP-16, T25-HTTP-17: over any appends, reads, breaks and reconnections."""
    run_state_machine_as_test(Histories, settings=settings(stateful_step_count=60))


# --- many at once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["greenlets", "threads"] if PATCHED else ["threads"])
@pytest.mark.parametrize("seed", range(5))
def test_writers_and_a_client_that_keeps_coming_back_lose_nothing(kind: str, seed: int) -> None:
    crew, dice = crew_for(kind, 10), random.Random(seed)
    log = EventLog(5000, PLENTY, crew.guard)

    def write(number: int) -> None:
        for count in range(200):
            log.append(GET_STREAM, b"%d:%d" % (number, count))
            if count % 20 == 0:
                threading.Event().wait(0.0005)

    writers = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(4)]
    for writer in writers:
        writer.start()
    got: list[bytes] = []
    after, reader = 0, log.read(crew.event())
    while len(got) < 800:
        item = reader.take(WAIT)
        if item is not NOTHING:
            got.append(item.message)
            after = item.number
        if dice.random() < 0.05:
            stale, reader = reader, log.read(crew.event(), GET_STREAM, after)
            stale.close()
    for number in range(4):
        assert [one for one in got if one.startswith(b"%d:" % number)] == [b"%d:%d" % (number, n) for n in range(200)]
    reader.close()
    assert taken(log.read(Bell())) == []


def test_one_flood_from_many_threads_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    log = new_log(1)
    threads = [threading.Thread(target=lambda: filled(log, *[b"m"] * 500)) for _ in range(8)]
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    assert log.dropped == 3999
    assert len(caplog.messages) == 1


if not PATCHED:

    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_eventlog.py")
