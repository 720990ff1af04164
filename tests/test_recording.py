"""A call of a session: what it streams outlives the connection, and it has exactly one outcome."""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

import pytest
from greenlet import getcurrent, greenlet

from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import Cancelled, InternalError, Overloaded, SessionNotFound
from mcp_wsgi.eventlog import Event, EventLog, parse_event_id
from mcp_wsgi.exchange import NO_ANSWER, Answer, Exchange
from mcp_wsgi.handler import Handler
from mcp_wsgi.keeper import Keeper
from mcp_wsgi.live import LiveSession
from mcp_wsgi.options import Options
from mcp_wsgi.recording import RecordedExchange
from mcp_wsgi.sealing import Cursors, Sealer
from mcp_wsgi.stores.memory import MemoryStore
from mcp_wsgi.turns import Turns
from mcp_wsgi.workers import NOTHING as NOTHING_YET
from mcp_wsgi.workers import Crew, Job, crew_for
from mcp_wsgi.workers.base import Callback
from mcp_wsgi.wsgi.calls import Calls
from mcp_wsgi.wsgi.headers import Accepted
from tests.exchanges import (
    CONCURRENT,
    DONE,
    KINDS,
    LATE,
    PATCHED,
    STOPPED,
    WAIT,
    Held,
    Interrupted,
    emitting,
    emitting_in_threads,
    emitting_step_by_step,
    is_let_go,
    new_crew,
)
from tests.patched import run_patched
from tests.stores.kit import record

crew = pytest.fixture(new_crew, params=KINDS)
concurrent = pytest.fixture(new_crew, params=CONCURRENT)

FAILED = Answer(b"failed", ok=False)
ENDED = InternalError("The session has ended")
FOREVER = 1e12
LONG = 1e6  # seconds; more than a race takes
MANY = [b"%d" % number for number in range(300)]


class Recorded:
    """A call and what it needs of its session."""

    def __init__(
        self,
        crew: Crew,
        *,
        streaming: bool = True,
        polls: bool = False,
        holds: bool = True,
        clock: Callable[[], float] = monotonic,
        **options: Any,
    ) -> None:
        self.options = Options.build(options)
        self.crew = crew
        self.logs: list[EventLog] = []
        self.withdrawn = 0
        self.exchange: Any = RecordedExchange(
            crew,
            self.options,
            clock,
            streaming=streaming,
            late=lambda: LATE,
            log=self.make_log,
            polls=polls,
            holds=holds,
            failed=lambda error: FAILED,
            withdraw=self.withdraw,
        )

    def make_log(self) -> EventLog:
        self.logs.append(EventLog(self.options.event_log, self.options.event_log_bytes, self.crew.guard))
        return self.logs[0]

    def withdraw(self) -> None:
        self.withdrawn += 1

    @property
    def log(self) -> EventLog:
        (log,) = self.logs
        return log

    def start(self, callback: Callable[[Exchange], Answer]) -> Recorded:
        self.exchange.start(callback)
        return self

    def stream(self) -> Any:
        """The events, once the answer has become a stream."""
        assert self.exchange.first() is None
        return self.exchange.messages()

    def bodies(self) -> list[bytes]:
        """The messages of the whole stream."""
        return [event.message for event in self.stream() if event is not None]

    def again(self, event_id: str) -> list[Any]:
        """What a client gets that comes back with an event's id, until it would have to wait."""
        reader, found = self.log.read(threading.Event(), *(parse_event_id(event_id) or ("", 0))), []
        while type(item := reader.take(0)) is Event:
            found.append(item.message)
        reader.close()
        return [*found, item]


# --- JSON or a stream -----------------------------------------------------------------------------


def test_an_answer_that_nothing_came_before_is_given_at_once_and_needs_no_log(crew: Crew) -> None:
    """T25-HTTP-06."""
    call = Recorded(crew).start(lambda exchange: DONE)
    assert call.exchange.first() is DONE
    assert (call.logs, call.withdrawn) == ([], 0)


def test_messages_make_it_a_stream_of_the_log_with_the_answer_last(crew: Crew) -> None:
    """T25-HTTP-07, T25-HTTP-16."""
    call = Recorded(crew).start(partial(emitting, messages=MANY))
    events = list(call.stream())
    assert [event.message for event in events] == [*MANY, b"done"]
    assert [event.last for event in events] == [False] * 300 + [True]
    assert len({event.id for event in events}) == 301


def test_a_client_that_takes_no_stream_gets_the_answer_alone(crew: Crew) -> None:
    call = Recorded(crew, streaming=False, event_log=1).start(partial(emitting, messages=MANY))
    assert call.exchange.first() is DONE
    assert call.logs == []


@pytest.mark.parametrize("polls", [True, False])
def test_a_mark_comes_first_for_clients_that_come_back_by_themselves(crew: Crew, polls: bool) -> None:
    """T25-HTTP-14."""
    first, *rest = Recorded(crew, polls=polls).start(emitting).stream()
    assert (first.message == b"") is polls
    assert [event.message for event in (rest if polls else [first, *rest])] == [b"1", b"2", b"done"]


def test_each_message_goes_out_while_the_callback_runs(crew: Crew) -> None:
    gates = [threading.Event() for _ in range(3)]

    messages = Recorded(crew).start(partial(emitting_step_by_step, gates=gates)).stream()
    for number, gate in enumerate(gates):
        assert next(messages).message == b"%d" % number
        gate.set()
    assert [event.message for event in messages if event] == [b"done"]


@pytest.mark.parametrize("place", range(5))
def test_a_broken_stream_goes_on_after_any_of_its_events(crew: Crew, place: int) -> None:
    """T25-HTTP-17: the answer included."""
    call = Recorded(crew, polls=True).start(partial(emitting, messages=MANY[:3]))
    events = list(call.stream())
    assert call.again(events[place].id) == [*[event.message for event in events[place + 1 :]], None]


def test_threads_of_the_callback_emit_together(concurrent: Crew) -> None:
    call = Recorded(concurrent, event_log=40).start(partial(emitting_in_threads, messages=MANY))
    *messages, last = call.bodies()
    assert (sorted(messages), last) == (sorted(MANY * 8), b"done")
    assert call.log.dropped == 0


def test_messages_after_the_answer_are_dropped(crew: Crew) -> None:
    """S26-PROG-04: progress stops at completion, even if a thread of the callback goes on."""
    kept: list[Exchange] = []

    def callback(exchange: Exchange) -> Answer:
        kept.append(exchange)
        return emitting(exchange, [b"in time"])

    call = Recorded(crew).start(callback)
    assert call.bodies() == [b"in time", b"done"]
    assert emitting(kept[0], MANY) is DONE  # it neither waits nor raises
    assert not kept[0].close_stream()


# --- slow readers ---------------------------------------------------------------------------------


def test_a_callback_waits_for_a_slow_reader(concurrent: Crew) -> None:
    """It gets half of the log ahead, and one more that it waits by."""
    passed = threading.Semaphore(0)

    def callback(exchange: Exchange) -> Answer:
        for message in MANY[:10]:
            exchange.emit(message)
            passed.release()
        return DONE

    call = Recorded(concurrent, event_log=6).start(callback)
    for _ in range(3):
        assert passed.acquire(timeout=WAIT)
    assert not passed.acquire(timeout=0.05)
    stream = call.stream()
    for message in MANY[:7]:
        assert next(stream).message == message
        assert passed.acquire(timeout=WAIT)
        assert not passed.acquire(timeout=0)
    assert [event.message for event in stream] == [*MANY[7:10], b"done"]
    assert call.log.dropped == 0


def test_a_reader_that_reads_nothing_is_waited_for_once_and_then_the_oldest_give_way(concurrent: Crew) -> None:
    ended = threading.Event()

    def callback(exchange: Exchange) -> Answer:
        answer = emitting(exchange, MANY)
        ended.set()
        return answer

    call = Recorded(concurrent, event_log=4, request_timeout=0.05, stream_after=0.01).start(callback)
    assert ended.wait(WAIT)
    while concurrent.running:
        threading.Event().wait(0.001)  # until the answer is in
    assert not call.exchange.cancelled
    assert call.bodies() == [*MANY[-3:], b"done"]
    assert call.log.dropped == len(MANY) + 1 - 4


def test_all_threads_that_wait_for_a_slow_reader_go_on_when_it_reads(concurrent: Crew) -> None:
    waiting = threading.Semaphore(0)

    def emit(exchange: Exchange, number: int) -> None:
        waiting.release()
        exchange.emit(b"from thread %d" % number)

    def callback(exchange: Exchange) -> Answer:
        threads = [threading.Thread(target=emit, args=(exchange, number)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return DONE

    call = Recorded(concurrent, event_log=20, event_log_bytes=1024, request_timeout=WAIT * 3)
    call.options = Options.build({"event_log": 1, "event_log_bytes": 10_000})  # of the log alone: always behind
    call.start(callback)
    begun = monotonic()
    for _ in range(5):
        assert waiting.acquire(timeout=WAIT)
    call.bodies()
    assert monotonic() - begun < WAIT


@pytest.mark.parametrize("error", [None, ENDED])
def test_a_callback_that_waits_for_a_slow_reader_hears_of_a_cancel(concurrent: Crew, error: Exception | None) -> None:
    """T25-CAN-02."""
    full, ended = threading.Event(), threading.Event()
    outcomes: list[Answer] = []

    def messages() -> Iterable[bytes]:
        yield MANY[0]
        full.set()
        yield from MANY[1:]

    def callback(exchange: Exchange) -> Answer:
        outcomes.append(emitting(exchange, messages()))
        ended.set()
        return DONE

    call = Recorded(concurrent, event_log=2).start(callback)
    assert full.wait(WAIT)
    assert not ended.wait(0.01)
    call.exchange.cancel(error)
    assert ended.wait(WAIT)
    assert outcomes == [STOPPED]


def test_nobody_is_waited_for_where_nobody_reads(concurrent: Crew) -> None:
    """T25-HTTP-10: the client has gone, and the log keeps the latest for when it comes back."""
    gate, ended = threading.Event(), threading.Event()

    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"first")
        gate.wait(WAIT)
        answer = emitting(exchange, MANY)
        ended.set()
        return answer

    call = Recorded(concurrent, event_log=4).start(callback)
    stream = call.stream()
    event = next(stream)
    call.exchange.leave()
    gate.set()
    assert ended.wait(WAIT)
    assert next(iter(stream), None) is None
    while (rest := call.again(event.id))[-1] is not None:
        threading.Event().wait(0.001)  # until the answer is in
    assert rest == [*MANY[-3:], b"done", None]


# --- readers that go ------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["leave", "close", "drop"])
def test_a_disconnect_does_not_cancel_and_the_rest_can_be_read_later(crew: Crew, way: str) -> None:
    """T25-HTTP-10, T25-HTTP-17."""
    gate, ended = threading.Event(), threading.Event()

    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"1")
        gate.wait(WAIT)
        exchange.emit(b"2")
        ended.set()
        return DONE

    call = Recorded(crew).start(callback)
    stream = call.stream()
    event = next(stream)
    gate.set()
    if way == "leave":
        call.exchange.leave()
    elif way == "close":
        stream.close()
    del stream
    assert ended.wait(WAIT)
    while (rest := call.again(event.id))[-1] is not None:
        threading.Event().wait(0.001)
    assert (rest, call.exchange.cancelled) == ([b"2", b"done", None], False)
    assert call.exchange._reader.stream.readers == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_a_callback_should_not_raise_reaches_the_server(crew: Crew, error: type[BaseException]) -> None:
    def callback(exchange: Exchange) -> Answer:
        raise error

    call = Recorded(crew).start(callback)
    with pytest.raises(error):
        call.exchange.first()
    assert crew.running == 0


def test_a_stream_whose_callback_raises_ends(concurrent: Crew) -> None:
    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"1")
        raise RuntimeError

    assert Recorded(concurrent).start(callback).bodies() == [b"1"]


@pytest.mark.parametrize("messages", [[], [b"1", b"2"]])
def test_a_request_interrupted_while_it_waits_leaves_no_stream_behind(
    concurrent: Crew, monkeypatch: pytest.MonkeyPatch, messages: list[bytes]
) -> None:
    """Nobody has been told of the stream, so nobody can ask for it."""
    gate, ended = threading.Event(), threading.Event()

    def callback(exchange: Exchange) -> Answer:
        answer = emitting(exchange, messages)
        ended.set()
        gate.wait(WAIT)
        return answer

    def interrupted(job: Job, timeout: float) -> Any:
        assert ended.wait(WAIT)
        raise Interrupted

    call = Recorded(concurrent).start(callback)
    monkeypatch.setattr(type(call.exchange._job), "take", interrupted)
    with pytest.raises(Interrupted):
        call.exchange.first()
    gate.set()
    for log in call.logs:
        reader = call.exchange._reader
        assert (reader.stream.readers, reader.stream.ended) == ([], True)
        assert not log.append(reader.name, b"late")
    assert not call.exchange.cancelled


# --- parting with clients that come back ----------------------------------------------------------


def test_a_callback_frees_the_connection_of_a_client_that_comes_back(crew: Crew) -> None:
    """T25-HTTP-15."""
    gate, ended = threading.Event(), threading.Event()
    closed: list[bool] = []

    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"1")
        closed.append(exchange.close_stream())
        gate.wait(0 if crew.kind == "inline" else WAIT)
        exchange.emit(b"2")
        ended.set()
        return DONE

    call = Recorded(crew, polls=True).start(callback)
    mark, *events = call.stream()
    # An inline callback goes on to its next message before anybody looks.
    assert [event.message for event in events] == ([b"1", b"2"] if crew.kind == "inline" else [b"1"])
    gate.set()
    assert ended.wait(WAIT)  # an inline callback, too, comes to its end
    assert closed == [True]
    while (rest := call.again(mark.id))[-1] is not None:
        threading.Event().wait(0.001)
    assert rest == [b"1", b"2", b"done", None]


def test_an_answer_becomes_a_stream_to_be_parted_with(crew: Crew) -> None:
    """T25-HTTP-15: the client needs a mark to come back to."""
    call = Recorded(crew, polls=True)
    call.start(lambda exchange: (exchange.close_stream(), emitting(exchange, []))[1])
    mark, *rest = call.stream()
    assert mark.message == b""
    assert [event.message for event in rest] in ([], [b"done"])
    while call.again(mark.id) != [b"done", None]:
        threading.Event().wait(0.001)


@pytest.mark.parametrize("options", [{"polls": False}, {"polls": True, "streaming": False}])
def test_other_clients_are_not_parted_with(crew: Crew, options: dict[str, Any]) -> None:
    """T25-HTTP-08."""
    closed: list[bool] = []
    call = Recorded(crew, **options)

    def callback(exchange: Exchange) -> Answer:
        closed.append(exchange.close_stream())
        return DONE

    assert call.start(callback).exchange.first() is DONE
    assert closed == [False]


def test_nobody_is_parted_with_twice(concurrent: Crew) -> None:
    closed: list[bool] = []
    gone, ended = threading.Event(), threading.Event()

    def callback(exchange: Exchange) -> Answer:
        closed.append(exchange.close_stream())
        gone.wait(WAIT)
        closed.append(exchange.close_stream())
        ended.set()
        return DONE

    list(Recorded(concurrent, polls=True).start(callback).stream())
    gone.set()
    assert ended.wait(WAIT)
    assert closed == [True, False]


@pytest.mark.parametrize("polls", [True, False])
def test_where_no_connection_can_be_held_a_client_that_comes_back_is_parted_with_at_once(
    concurrent: Crew, polls: bool
) -> None:
    """T25-HTTP-15; others are answered on the one connection that they have."""
    gate = threading.Event()

    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"1")
        gate.wait(WAIT)
        return DONE

    call = Recorded(concurrent, polls=polls, holds=False).start(callback)
    stream = call.stream()
    if polls:
        mark, *events = stream
        assert [event.message for event in events] == [b"1"]
        gate.set()
        while call.again(mark.id) != [b"1", b"done", None]:
            threading.Event().wait(0.001)
    else:
        assert next(stream).message == b"1"
        gate.set()
        assert [event.message for event in stream if event] == [b"done"]


def test_an_inline_callback_is_not_parted_with_as_it_would_not_go_on() -> None:
    call = Recorded(crew_for("inline", 1), polls=True, holds=False).start(emitting)
    assert call.bodies() == [b"", b"1", b"2", b"done"]


# --- being cancelled ------------------------------------------------------------------------------


class Begun:
    """A call whose callback waits, after it has emitted what it was given."""

    def __init__(self, crew: Crew, *messages: bytes, **options: Any) -> None:
        self.go_on, self.waits, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.outcome = ""
        self.messages = messages
        self.call = Recorded(crew, **options).start(self.callback)
        self.exchange = self.call.exchange

    def callback(self, exchange: Exchange) -> Answer:
        try:
            for message in self.messages:
                exchange.emit(message)
            self.waits.set()
            self.go_on.wait(WAIT)
            exchange.emit(b"more")
            self.outcome = "came through"
        except Cancelled:
            self.outcome = "cancelled"
        finally:
            self.ended.set()
        return DONE

    def over(self) -> str:
        """Let the callback go on if nothing but its next message can stop it; how it ended."""
        if self.exchange._crew.kind != "greenlets":
            self.go_on.set()
        assert self.ended.wait(WAIT)
        return self.outcome


@pytest.mark.parametrize(("error", "answer"), [(None, NO_ANSWER), (ENDED, FAILED)])
def test_a_cancel_frees_the_caller_and_stops_the_callback(
    concurrent: Crew, error: Exception | None, answer: Answer
) -> None:
    """T25-CAN-02: no response, unless there is an error to tell."""
    begun = Begun(concurrent)
    assert begun.waits.wait(WAIT)
    begun.exchange.cancel(error)
    assert begun.exchange.first() is answer
    assert begun.over() == "cancelled"
    assert begun.call.withdrawn == 1


@pytest.mark.parametrize(("error", "last"), [(None, []), (ENDED, [b"failed"])])
def test_a_cancelled_stream_ends(concurrent: Crew, error: Exception | None, last: list[bytes]) -> None:
    """T25-CAN-02."""
    begun = Begun(concurrent, b"1", b"2")
    stream = begun.call.stream()
    event = next(stream)
    assert begun.waits.wait(WAIT)
    begun.exchange.cancel(error)
    assert [event.message for event in stream] == [b"2", *last]
    assert begun.over() == "cancelled"
    assert begun.call.again(event.id) == [b"2", *last, None]


def test_a_cancel_of_what_is_through_does_nothing(crew: Crew) -> None:
    call = Recorded(crew).start(lambda exchange: DONE)
    while crew.running:
        threading.Event().wait(0.001)
    call.exchange.cancel(ENDED)
    assert call.exchange.first() is DONE
    assert (call.withdrawn, call.exchange.cancelled) == (0, False)


def test_the_first_of_several_cancels_counts(concurrent: Crew) -> None:
    begun = Begun(concurrent)
    assert begun.waits.wait(WAIT)
    begun.exchange.cancel(ENDED)
    begun.exchange.cancel(None)
    assert begun.exchange.first() is FAILED
    assert begun.over() == "cancelled"
    assert begun.call.withdrawn == 1


@pytest.mark.parametrize(("error", "answer"), [(None, NO_ANSWER), (ENDED, FAILED)])
def test_a_cancel_may_come_before_the_job(crew: Crew, error: Exception | None, answer: Answer) -> None:
    """The call can be found by its id a moment before it starts."""
    ended: list[Answer] = []

    def callback(exchange: Exchange) -> Answer:
        ended.append(emitting(exchange))
        return DONE

    call = Recorded(crew)
    call.exchange.cancel(error)
    call.start(callback)
    assert call.exchange.first() is answer
    while crew.running:
        threading.Event().wait(0.001)
    assert (ended, call.withdrawn, call.logs) == ([STOPPED], 1, [])


def test_an_inline_callback_cancelled_by_its_own_thread_ends_at_once() -> None:
    begun = Begun(crew_for("inline", 1), b"1")
    stream = begun.call.stream()
    assert next(stream).message == b"1"
    begun.exchange.cancel(ENDED)
    assert begun.outcome == "cancelled"
    assert [event.message for event in stream] == [b"failed"]


def test_an_inline_callback_cancelled_by_another_thread_comes_to_its_end_with_the_stream() -> None:
    """Else it would hold its place in the session for ever."""
    begun = Begun(crew_for("inline", 1), b"1")
    stream = begun.call.stream()
    assert next(stream).message == b"1"
    begun.go_on.set()
    other = threading.Thread(target=begun.exchange.cancel, args=(ENDED,))
    other.start()
    other.join(WAIT)
    assert begun.outcome == ""
    assert [event.message for event in stream if event] == [b"failed"]
    assert begun.outcome == "cancelled"


# --- one step at a time ---------------------------------------------------------------------------


class Scheduler:
    """Runs actors step by step in an order that a seed says; time passes only while they wait.

    An actor is a greenlet that gives up its turn wherever it could lose it: in each wait, and, if
    ``preempts``, where it takes a lock, as a thread may.
    """

    def __init__(self, seed: int = 0, *, preempts: bool = False, haste: float = 0.0) -> None:
        self.dice = random.Random(seed)
        self.preempts = preempts
        self.haste = haste  # how probably the next that waits is late, though others are ready
        self.now = 1000.0
        self.hub = getcurrent()
        self.actors: list[Actor] = []

    def clock(self) -> float:
        return self.now

    def spawn(self, work: Callable[[], object]) -> Actor:
        actor = Actor(work, self.hub)
        self.actors.append(actor)
        return actor

    def wait(self, ready: Callable[[], bool], timeout: float) -> None:
        """Give up the turn until something is ready or the time is over."""
        actor: Any = getcurrent()
        if actor is self.hub:
            assert ready(), "nobody else can run"
            return
        actor.ready, actor.until = ready, self.now + timeout
        self.hub.switch()

    def step(self) -> None:
        """Let others have a turn, perhaps."""
        if getcurrent() is not self.hub:
            self.wait(lambda: True, 0)

    def run(self) -> None:
        """Run all actors to their ends."""
        for _ in range(100_000):
            if not self.actors:
                return
            ready = [actor for actor in self.actors if actor.ready() or actor.thrown or actor.until <= self.now]
            if not ready or self.dice.random() < self.haste:
                sleeper = min(self.actors, key=lambda actor: actor.until)
                if sleeper.until < FOREVER:
                    self.now = max(self.now, sleeper.until)
                    ready = [sleeper]
                assert ready, "all wait for something that never comes"
            self.dice.choice(ready).resume()
            self.actors = [actor for actor in self.actors if not actor.dead]
        raise AssertionError("they run for ever")


class Actor(greenlet):
    """Something that goes on by itself."""

    def __init__(self, work: Callable[[], object], hub: Any) -> None:
        super().__init__(work, hub)
        self.ready: Callable[[], bool] = lambda: True
        self.until = 0.0
        self.thrown: type[BaseException] | None = None

    def resume(self) -> None:
        error, self.thrown = self.thrown, None
        self.ready = lambda: False
        self.until = FOREVER
        if error is None:
            self.switch()
        else:
            self.throw(error)


class StepEvent:
    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.happened = False

    def set(self) -> None:
        self.happened = True

    def clear(self) -> None:
        self.happened = False

    def wait(self, timeout: float) -> bool:
        if not self.happened:
            self.scheduler.wait(lambda: self.happened, timeout)
        return self.happened


class StepLock:
    """A lock; a thread may lose its turn just before it takes one and when it has let it go."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.held = False

    def __enter__(self) -> None:
        if self.scheduler.preempts:
            self.scheduler.step()
        while self.held:
            self.scheduler.wait(lambda: not self.held, FOREVER)
        self.held = True

    def __exit__(self, *exc_info: object) -> None:
        self.held = False
        if self.scheduler.preempts:
            self.scheduler.step()


class StepCrew(Crew):
    """A crew of actors: they are killed as greenlets are, or only told of it, as threads are."""

    kind = "steps"

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        super().__init__(1000)

    def start(self, callback: Callback) -> Job:
        self._enter()
        job = StepJob(self, callback)
        if self.scheduler.preempts:
            self.scheduler.step()
        elif getcurrent() is not self.scheduler.hub:
            # A greenlet begins at once, and whoever has started it goes on when it blocks.
            me: Any = getcurrent()
            me.ready = lambda: True
            job.worker.ready = lambda: False
            job.worker.until = FOREVER
            job.worker.switch()
        return job

    def pause(self) -> None:
        self.scheduler.step()

    def guard(self) -> Any:
        return StepLock(self.scheduler)

    def event(self) -> Any:
        return StepEvent(self.scheduler)


class StepJob:
    def __init__(self, crew: StepCrew, callback: Callback) -> None:
        self.crew = crew
        self.scheduler = crew.scheduler
        self.items: deque[Any] = deque()
        self.done = False
        self.worker = self.scheduler.spawn(lambda: self.run(callback))

    def run(self, callback: Callback) -> None:
        last = callback(self)
        self.done = True
        self.crew.ended()
        self.items.append(last)

    def put(self, item: Any) -> None:
        self.items.append(item)
        self.pause()

    def pause(self) -> None:
        if getcurrent() is self.worker or self.scheduler.preempts:
            self.scheduler.step()

    def take(self, timeout: float) -> Any:
        if not self.items:
            self.scheduler.wait(lambda: bool(self.items), timeout)
        return self.items.popleft() if self.items else NOTHING_YET

    def event(self) -> Any:
        return StepEvent(self.scheduler)

    def lock(self) -> AbstractContextManager[Any]:
        return StepLock(self.scheduler)

    def kill(self, announce: Callable[[], object]) -> None:
        if self.scheduler.preempts or self.done or getcurrent() is self.worker:
            announce()
        else:
            self.scheduler.spawn(partial(self.throw, announce))

    def throw(self, announce: Callable[[], object]) -> None:
        announce()
        if not self.done:
            self.worker.thrown = Cancelled

    def abandon(self) -> None:
        pass


# --- times ----------------------------------------------------------------------------------------


class Timed:
    """A call beside a client, each of whose chunks is noted with its time."""

    def __init__(self, *pauses: float, **options: Any) -> None:
        self.scheduler = Scheduler()
        self.call = Recorded(StepCrew(self.scheduler), clock=self.scheduler.clock, **options)
        self.pauses = pauses
        self.steps: list[tuple[float, bytes]] = []
        self.callback_ended: float | None = None
        self.scheduler.spawn(self.serve)
        self.scheduler.run()

    def callback(self, exchange: Exchange) -> Answer:
        for number, pause in enumerate(self.pauses):
            if number:
                exchange.emit(b"%d" % number)
            self.scheduler.wait(lambda: False, pause)
        self.callback_ended = self.scheduler.now - 1000
        return DONE

    def note(self, what: bytes) -> None:
        self.steps.append((self.scheduler.now - 1000, what))

    def serve(self) -> None:
        self.call.start(self.callback)
        answer = self.call.exchange.first()
        if answer is not None:
            self.note(b"JSON " + answer.body)
            return
        for event in self.call.exchange.messages():
            self.note(b"keep-alive" if event is None else event.message or b"mark")
        self.note(b"end")


@pytest.mark.parametrize("options", [{"streaming": False}, {"stream_after": 60}, {"stream_after": 90}])
def test_the_deadline_frees_the_caller_and_the_callback_goes_on(options: dict[str, Any]) -> None:
    timed = Timed(100, request_timeout=60, **options)
    assert timed.steps == [(60, b"JSON late")]
    assert (timed.callback_ended, timed.call.exchange.cancelled, timed.call.withdrawn) == (100, False, 1)


def test_a_silent_call_becomes_a_stream_that_keep_alives_hold_open() -> None:
    timed = Timed(50, stream_after=10, keepalive=15)
    times = (10, b"keep-alive"), (25, b"keep-alive"), (40, b"keep-alive")
    assert timed.steps == [*times, (50, b"done"), (50, b"end")]


def test_a_stream_has_the_deadline_too() -> None:
    timed = Timed(200, stream_after=10, keepalive=40, request_timeout=60)
    assert timed.steps == [(10, b"keep-alive"), (50, b"keep-alive"), (70, b"late"), (70, b"end")]
    assert (timed.callback_ended, timed.call.exchange.cancelled, timed.call.withdrawn) == (200, False, 1)
    assert timed.call.crew.running == 0


def test_each_message_puts_the_deadline_off() -> None:
    """T25-LIFE-06."""
    timed = Timed(5, 50, 50, 100, stream_after=10, keepalive=45, request_timeout=60)
    assert timed.steps[:4] == [(5, b"1"), (50, b"keep-alive"), (55, b"2"), (100, b"keep-alive")]
    assert timed.steps[4:] == [(105, b"3"), (150, b"keep-alive"), (165, b"late"), (165, b"end")]


def test_messages_that_another_connection_reads_put_the_deadline_off_too() -> None:
    """The first one may be dead, though it looks alive."""
    scheduler = Scheduler()
    call = Recorded(StepCrew(scheduler), clock=scheduler.clock, stream_after=10, keepalive=30, request_timeout=60)
    found: list[bytes] = []

    def callback(exchange: Exchange) -> Answer:
        for number in range(5):
            scheduler.wait(lambda: False, 40)
            exchange.emit(b"%d" % number)
        return DONE

    def serve() -> None:
        assert call.start(callback).exchange.first() is None
        for _ in call.exchange.messages():
            pass

    def read() -> None:
        scheduler.wait(lambda: False, 20)
        reader = call.log.read(call.crew.event(), call.exchange._reader.name, 0)
        while (item := reader.take(1000)) is not None:
            found.append(item.message)

    scheduler.spawn(serve)
    scheduler.spawn(read)
    scheduler.run()
    assert found == [b"0", b"1", b"2", b"3", b"4", b"done"]


def test_a_stream_that_has_lived_its_time_ends_for_good_where_the_client_would_not_come_back() -> None:
    """T25-LIFE-06: a maximum, whatever the progress."""
    timed = Timed(5, *[20] * 10, stream_lifetime=60, keepalive=100)
    assert timed.steps == [(5, b"1"), (25, b"2"), (45, b"3"), (65, b"late"), (65, b"end")]


def test_a_stream_that_has_lived_its_time_only_parts_with_a_client_that_comes_back() -> None:
    """T25-HTTP-15."""
    timed = Timed(5, *[20] * 4, stream_lifetime=50, keepalive=100, polls=True)
    assert timed.steps == [(5, b"mark"), (5, b"1"), (25, b"2"), (45, b"3"), (55, b"end")]
    name = timed.call.exchange._reader.name
    assert timed.call.again(f"{name}_0") == [b"1", b"2", b"3", b"4", b"done", None]
    assert timed.callback_ended == 85


def test_a_call_that_missed_its_deadline_can_still_be_stopped() -> None:
    """By the end of its session, say, which is to leave nothing running."""
    scheduler = Scheduler()
    call = Recorded(StepCrew(scheduler), clock=scheduler.clock, request_timeout=60, stream_after=60)
    steps: list[Any] = []

    def callback(exchange: Exchange) -> Answer:
        try:
            scheduler.wait(lambda: False, 1000)
        except Cancelled:
            steps.append(("stopped", scheduler.now))
        return DONE

    def serve() -> None:
        steps.append(call.start(callback).exchange.first())
        scheduler.wait(lambda: False, 10)
        call.exchange.cancel(ENDED)
        call.exchange.cancel(ENDED)

    scheduler.spawn(serve)
    scheduler.run()
    assert steps == [LATE, ("stopped", 1070)]
    assert (call.exchange.cancelled, call.crew.running) == (True, 0)


def test_a_call_that_waits_for_its_turn_at_the_deadline_never_begins() -> None:
    """Its place is free for the next, too."""
    scheduler = Scheduler()
    turns, begun = Turns(10, scheduler.clock), list[int]()

    def request(number: int) -> None:
        call = Recorded(StepCrew(scheduler), clock=scheduler.clock, request_timeout=60, stream_after=60)
        turn = turns.join(call.crew.event)
        call.exchange._withdraw = turn.withdraw

        def callback(exchange: Exchange) -> Answer:
            if turn.wait(1000):
                begun.append(number)
                scheduler.wait(lambda: False, 100)
            turn.leave()
            return DONE

        answers.append(call.start(callback).exchange.first())

    answers: list[Answer | None] = []
    for number in range(3):
        scheduler.spawn(partial(request, number))
    scheduler.run()
    assert answers == [LATE] * 3
    assert (len(begun), turns.pending) == (1, 0)


@pytest.mark.parametrize("streams", [True, False])
def test_at_the_deadline_an_answer_that_is_on_its_way_is_waited_for(streams: bool) -> None:
    scheduler = Scheduler(preempts=True)
    stream_after = 10 if streams else 60
    call = Recorded(StepCrew(scheduler), clock=scheduler.clock, request_timeout=60, stream_after=stream_after)
    found: list[Any] = []

    def answer() -> None:
        """As a cancel does, which loses its turn half-way."""
        scheduler.wait(lambda: False, 20)
        assert call.exchange._claim()
        scheduler.wait(lambda: scheduler.now >= 1000 + 60 + streams * 10, FOREVER)
        for _ in range(5):
            scheduler.step()
        if not call.exchange._answered(DONE):
            call.exchange._job.put(DONE)

    def callback(exchange: Exchange) -> Answer:
        scheduler.wait(lambda: False, 200)
        return STOPPED

    def serve() -> None:
        call.start(callback)
        found.append(call.exchange.first())
        if streams:
            found.extend(event.message for event in call.exchange.messages() if event)

    scheduler.spawn(serve)
    scheduler.spawn(answer)
    scheduler.run()
    assert found == ([None, b"done"] if streams else [DONE])


# --- any interleaving -----------------------------------------------------------------------------


class Race:
    """A few calls of one session, with cancels, deadlines, disconnects and perhaps the session's end.

    The places, the log, the turns and the holds are the real ones; only who goes on when is the seed's.
    """

    def __init__(self, seed: int, *, preempts: bool) -> None:
        self.scheduler = Scheduler(seed, preempts=preempts, haste=0.03)
        self.dice = self.scheduler.dice
        self.crew = StepCrew(self.scheduler)
        choices = {"request_timeout": [40, 1000], "stream_after": [5, 100], "event_log": [1, 4, 100]}
        chosen = {name: self.dice.choice(values) for name, values in choices.items()}
        self.options = Options.build({**chosen, "session_max_pending": self.dice.choice([1, 10])})
        self.store = MemoryStore(LONG, 10, self.scheduler.clock)
        self.dispatcher = Dispatcher(
            Handler(), Cursors(Sealer([b"k" * 16], salt="test")), page_size=1, cache_ttl=0, cache_scope="private",
            expose_errors=False,
        )  # fmt: skip
        self.dispatcher.holds_streams = self.dice.random() < 0.8
        self.keeper = Keeper(self.store, self.dispatcher, self.options, self.new_live)
        self.calls = Calls(
            self.dispatcher, self.options, lambda: self.crew, self.scheduler.clock,
            status=lambda code: 200, cancel_on_close=False, questions=lambda: None,
        )  # fmt: skip
        session = record(revision=self.dice.choice(["2025-11-25", "2025-06-18"]), principal=None, mount="")
        self.session_id = self.store.create(session, {}) or ""
        self.live: LiveSession = self.store.live(self.session_id, self.new_live)
        self.count = self.dice.randrange(1, 4)
        self.outcomes: dict[int, list[str]] = {number: [] for number in range(self.count)}
        self.begun: Counter[int] = Counter()
        self.ended = 0
        self.at_work = 0

    def new_live(self) -> LiveSession:
        return LiveSession(self.options, self.scheduler.clock, self.crew.guard)

    def run(self) -> None:
        for number in range(self.count):
            self.scheduler.spawn(partial(self.request, number))
            if self.dice.random() < 0.6:
                self.scheduler.spawn(partial(self.cancel, number))
        for _ in range(self.dice.choice([0, 0, 1, 2])):
            self.scheduler.spawn(self.end)
        self.scheduler.run()

    def idle(self, most: int) -> None:
        for _ in range(self.dice.randrange(most)):
            self.scheduler.step()

    def cancel(self, number: int) -> None:
        self.idle(60)
        self.live.cancel(number)

    def end(self) -> None:
        self.idle(80)
        try:
            session = self.keeper.find(self.session_id, None, "")
            self.keeper.end(session, None)
            self.ended += 1
        except SessionNotFound:
            pass

    def work(self, number: int, exchange: Exchange) -> Answer:
        self.begun[number] += 1
        self.at_work += 1
        assert self.at_work == 1, "two calls of the session run at once"
        try:
            for _ in range(self.dice.randrange(6)):
                what = self.dice.random()
                if what < 0.5:
                    exchange.emit(b"message")
                elif what < 0.6:
                    exchange.close_stream()
                elif what < 0.7:
                    self.scheduler.spawn(partial(emitting, exchange))
                else:
                    self.scheduler.wait(lambda: False, self.dice.choice([0, 3, 30, 100]))
        finally:
            self.at_work -= 1
        return Answer(b"done %d" % number)

    def request(self, number: int) -> None:
        self.idle(30)
        outcomes = self.outcomes[number]
        try:
            reply = self.calls.batch_in_session(
                partial(self.work, number),
                [number],
                Accepted(json=True, sse=self.dice.random() < 0.8),
                self.keeper.find(self.session_id, None, ""),
                late=lambda: Answer(b"late %d" % number),
                failed=lambda error: Answer(b"failed %d" % number),
            )
        except (SessionNotFound, Overloaded) as refusal:
            outcomes.append(type(refusal).__name__)
            assert not self.begun[number]
            return
        if ("Content-Type", "text/event-stream") in reply.headers:
            self.check_stream(number, self.read(reply.body))
        else:
            outcomes.append(b"".join(reply.body).decode() or "nothing")
            assert (reply.status == 202) is (outcomes == ["nothing"])

    def read(self, body: Any) -> list[bytes]:
        """What a client reads that goes away, perhaps, or takes its time."""
        most, chunks = self.dice.choice([0, 1, 3, 10**6, 10**6]), []
        for chunk in islice(body, most):
            chunks.append(chunk)
            if self.dice.random() < 0.3:
                self.scheduler.wait(lambda: False, self.dice.choice([0, 10]))
        if hasattr(body, "close"):
            body.close()
        return chunks

    def check_stream(self, number: int, chunks: list[bytes]) -> None:
        found = [chunk.rpartition(b"data: ")[2].strip().decode() for chunk in chunks if b"data:" in chunk]
        last = [text for text in found if text not in ("", "message", "1", "2")]
        assert found[len(found) - len(last) :] == last
        self.outcomes[number] = last or ["streamed"]

    def check(self) -> None:
        """Nothing is left, and each call has one outcome."""
        live = self.live
        assert all(len(outcomes) == 1 for outcomes in self.outcomes.values()), self.outcomes
        for number, (outcome,) in self.outcomes.items():
            known = {f"done {number}", f"late {number}", f"failed {number}", "nothing", "streamed"}
            assert outcome in known | {"SessionNotFound", "Overloaded"}
            assert self.begun[number] <= 1
        assert live._calls == {}
        assert live.turns.pending == 0
        assert live.turns.join(threading.Event).wait(0)
        assert self.crew.running == 0
        assert self.calls._running == set()
        self.check_log(live.log)
        assert self.ended <= 1
        assert len(self.store) == 1 - self.ended
        self.scheduler.now += LONG
        assert len(self.store) == 0  # nothing holds it

    def check_log(self, log: EventLog) -> None:
        for name, stream in log._streams.items():
            assert stream.readers == []
            assert name == "0" or stream.ended
            assert [event.last for event in stream.events][:-1] == [False] * (len(stream.events) - 1)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("preempts", [False, True], ids=["greenlets", "threads"])
@pytest.mark.parametrize("block", range(5))
def test_each_call_has_one_outcome_and_nothing_is_leaked_whoever_comes_first(preempts: bool, block: int) -> None:
    """T25-CAN-02: 10 000 interleavings of results, cancels, deadlines, disconnects and ends."""
    for seed in range(block * 1000, block * 1000 + 1000):
        race = Race(seed, preempts=preempts)
        try:
            race.run()
            race.check()
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error


# --- what is left behind --------------------------------------------------------------------------


@pytest.mark.parametrize("messages", [[], [b"1", b"2"]])
def test_nothing_of_a_call_outlives_it(crew: Crew, messages: list[bytes]) -> None:
    def serve(held: Held) -> None:
        call = Recorded(crew).start(lambda exchange: (held, emitting(exchange, messages))[1])
        assert call.exchange.first() is DONE or [event.message for event in call.exchange.messages()] == [
            *messages,
            b"done",
        ]

    assert is_let_go(serve)


if not PATCHED:

    @pytest.mark.timeout(300)
    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_recording.py", "-k", "not whoever_comes_first")
