"""One request in flight: JSON or stream, deadline and keep-alive, slow readers and readers that go."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from queue import Queue
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context
from mcp_wsgi.errors import Cancelled, InputError, Overloaded
from mcp_wsgi.exchange import Answer, Exchange
from mcp_wsgi.options import Options
from mcp_wsgi.questions import Questions
from mcp_wsgi.revisions import MODERN
from mcp_wsgi.workers import NOTHING, Crew, Job, crew_for
from tests.exchanges import (
    CONCURRENT,
    DONE,
    KINDS,
    LATE,
    PATCHED,
    STOPPED,
    WAIT,
    Clock,
    Held,
    Interrupted,
    emitting,
    emitting_in_threads,
    emitting_step_by_step,
    in_threads,
    is_let_go,
    new_crew,
)
from tests.patched import run_patched

crew = pytest.fixture(new_crew, params=KINDS)
concurrent = pytest.fixture(new_crew, params=CONCURRENT)
MANY = [b"%d" % number for number in range(500)]


class Script(Crew):
    """A crew whose one job gives what stands in a script; waiting for nothing takes all the time there is."""

    kind = "script"

    def __init__(self, *items: Any) -> None:
        super().__init__(1)
        self.clock = Clock()
        self.items = list(items)
        self.log: list[Any] = []

    def start(self, callback: Callable[[Job], Any]) -> Any:
        return self

    def take(self, timeout: float) -> Any:
        self.log.append(timeout)
        item = self.items.pop(0) if self.items else NOTHING
        if isinstance(item, BaseException):
            raise item
        if item is NOTHING:
            self.clock.now += timeout
        return item

    def put(self, item: Any) -> None:
        self.items.append(item)

    def event(self) -> Any:
        return threading.Event()

    def lock(self) -> Any:
        return threading.Lock()

    def kill(self, announce: Callable[[], object]) -> None:
        self.log.append("kill")
        announce()

    def abandon(self) -> None:
        self.log.append("abandon")


def scripted(*items: Any, streaming: bool = True, **options: Any) -> tuple[Exchange, Script]:
    crew = Script(*items)
    exchange = Exchange(crew, Options.build(options), crew.clock, streaming=streaming, late=lambda: LATE)
    exchange.start(lambda exchange: DONE)
    return exchange, crew


def started(crew: Crew, callback: Callable[[Exchange], Answer], *, streaming: bool = True, **options: Any) -> Exchange:
    exchange = Exchange(crew, Options.build(options), monotonic, streaming=streaming, late=lambda: LATE)
    exchange.start(callback)
    return exchange


# --- JSON or a stream -----------------------------------------------------------------------------


def test_an_answer_that_nothing_came_before_is_given_at_once(crew: Crew) -> None:
    """S26-HTTP-06: JSON."""
    assert started(crew, lambda exchange: DONE).first() is DONE


def test_messages_make_it_a_stream_with_the_answer_last(crew: Crew) -> None:
    """S26-HTTP-06, S26-HTTP-09, T25-HTTP-07."""
    exchange = started(crew, partial(emitting, messages=MANY))
    assert exchange.first() is None
    assert list(exchange.messages()) == [*MANY, b"done"]


def test_a_client_that_takes_no_stream_gets_the_answer_alone(crew: Crew) -> None:
    exchange = started(crew, partial(emitting, messages=MANY), streaming=False, event_log=1)
    assert exchange.first() is DONE


def test_the_status_of_an_answer_is_kept(crew: Crew) -> None:
    """S26-HTTP-17."""
    answer = started(crew, lambda exchange: Answer(b"no", 404)).first()
    assert answer == Answer(b"no", 404)


def test_each_message_goes_out_while_the_callback_runs(crew: Crew) -> None:
    gates = [threading.Event() for _ in range(3)]

    exchange = started(crew, partial(emitting_step_by_step, gates=gates))
    assert exchange.first() is None
    messages = exchange.messages()
    for number, gate in enumerate(gates):
        assert next(messages) == b"%d" % number
        gate.set()
    assert list(messages) == [b"done"]


def test_a_silent_call_becomes_a_stream_after_a_while() -> None:
    exchange, crew = scripted(NOTHING, NOTHING, b"news", DONE, stream_after=10, keepalive=15)
    assert exchange.first() is None
    assert list(exchange.messages()) == [None, None, b"news", b"done"]
    assert crew.log == [10, 15, 15, 15]


def test_without_a_stream_the_whole_time_is_waited() -> None:
    exchange, crew = scripted(DONE, streaming=False, request_timeout=60, stream_after=10)
    assert exchange.first() is DONE
    assert crew.log == [60]


def test_a_stream_after_nothing_at_all() -> None:
    exchange, _ = scripted(NOTHING, DONE, stream_after=0)
    assert exchange.first() is None
    assert list(exchange.messages()) == [None, b"done"]


# --- questions ------------------------------------------------------------------------------------

OWNER = ("session", None, "")


def asks(exchange: Exchange) -> Answer:
    """A callback that asks two questions and ends as endpoints let it end."""
    try:
        results = exchange.ask(OWNER, [("roots/list", {}), ("elicitation/create", {"n": 1})])
    except InputError as problem:
        return Answer(f"{type(problem).__name__}: {problem}".encode())
    except Cancelled:
        return STOPPED
    return Answer(json.dumps(results).encode())


def asking(
    crew: Crew, callback: Callable[[Exchange], Answer] = asks, **options: Any
) -> tuple[Questions, Exchange, Any, list[str]]:
    """A call that has asked: its exchange, the messages to come, and the ids of its questions."""
    questions = Questions(5)
    exchange = Exchange(crew, Options.build(options), monotonic, streaming=True, late=lambda: LATE, questions=questions)
    exchange.start(callback)
    assert exchange.first() is None
    messages = exchange.messages()
    asked = [json.loads(message) for message in islice(filter(None, messages), 2)]
    assert [each["method"] for each in asked] == ["roots/list", "elicitation/create"]
    return questions, exchange, messages, [each["id"] for each in asked]


def test_a_callback_goes_on_with_the_answers_in_the_order_of_its_questions(crew: Crew) -> None:
    questions, _, messages, (first, second) = asking(crew)
    assert questions.answer(second, OWNER, {"n": 2}, None)
    assert questions.answer(first, OWNER, {"n": 1}, None)
    assert list(messages) == [b'[{"n": 1}, {"n": 2}]']
    assert len(questions) == 0


def test_a_refusal_is_raised_where_it_was_asked(crew: Crew) -> None:
    questions, _, messages, (first, second) = asking(crew)
    questions.answer(first, OWNER, {"n": 1}, None)
    questions.answer(second, OWNER, None, {"code": -1, "message": "no"})
    assert list(messages) == [b"InputRefused: The client refused: no"]


def test_a_question_is_withdrawn_when_its_time_is_over(crew: Crew) -> None:
    """T25-LIFE-05: and only such as has no answer."""
    questions, _, messages, (first, second) = asking(crew, input_timeout=0.1)
    questions.answer(first, OWNER, {}, None)
    told, last = list(messages)
    assert json.loads(told)["method"] == "notifications/cancelled"
    assert (json.loads(told)["params"]["requestId"], last) == (
        second,
        b"InputTimeout: The client did not answer in time",
    )
    assert not questions.answer(second, OWNER, {}, None)


def test_the_deadline_stands_still_while_a_client_is_asked(concurrent: Crew) -> None:
    """T25-LIFE-06"""
    questions, _, messages, ids = asking(concurrent, request_timeout=0.6, keepalive=0.1)
    assert [next(messages) for _ in range(8)] == [None] * 8
    for identity in ids:
        questions.answer(identity, OWNER, {}, None)
    assert list(filter(None, messages)) == [b"[{}, {}]"]


@pytest.mark.parametrize("cancel", [True, False])
def test_who_waits_for_a_client_hears_that_it_has_gone(concurrent: Crew, cancel: bool) -> None:
    ended: Queue[Answer] = Queue()

    def callback(exchange: Exchange) -> Answer:
        try:
            answer = asks(exchange)
        except BaseException:
            ended.put(STOPPED)
            raise
        ended.put(answer)
        return answer

    questions, exchange, _, ids = asking(concurrent, callback)
    exchange.leave(cancel=cancel)
    assert ended.get(timeout=WAIT) is STOPPED
    assert [questions.answer(identity, OWNER, {}, None) for identity in ids] == [False, False]


def test_an_inline_callback_that_waits_ends_with_its_stream() -> None:
    questions, exchange, messages, _ = asking(crew_for("inline", 1))
    exchange.leave(cancel=True)
    messages.close()
    assert len(questions) == 0


@pytest.mark.parametrize("streaming", [True, False])
def test_nobody_is_asked_without_a_stream_or_a_way_back(crew: Crew, streaming: bool) -> None:
    questions = None if streaming else Questions(5)
    exchange = Exchange(crew, Options.build({}), monotonic, streaming=streaming, late=lambda: LATE, questions=questions)
    exchange.start(asks)
    answer = exchange.first()
    assert answer is not None
    assert answer.body.startswith(b"InputError: The client cannot be asked: it takes no stream")


def test_a_call_that_finds_no_room_to_wait_is_refused(crew: Crew) -> None:
    questions = Questions(0)
    exchange = Exchange(crew, Options.build({}), monotonic, streaming=True, late=lambda: LATE, questions=questions)

    def callback(exchange: Exchange) -> Answer:
        with pytest.raises(Overloaded):
            exchange.ask(OWNER, [("roots/list", {})])
        return DONE

    exchange.start(callback)
    assert exchange.first() is DONE


def test_answers_to_many_callbacks_go_to_their_own(concurrent: Crew) -> None:
    calls = [asking(concurrent) for _ in range(20)]
    for number, (questions, _, _, ids) in enumerate(calls):
        for identity in ids:
            assert questions.answer(identity, OWNER, {"n": number}, None)
    for number, (_, _, messages, _) in enumerate(calls):
        assert [json.loads(message) for message in messages] == [[{"n": number}] * 2]


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"streaming": False}, {"stream_after": 60}, {"stream_after": 90}])
def test_a_call_that_misses_its_deadline_gets_the_late_answer_and_is_cancelled(options: dict[str, Any]) -> None:
    exchange, crew = scripted(request_timeout=60, **options)
    assert exchange.first() is LATE
    assert (exchange.cancelled, crew.log) == (True, [60, "kill"])


def test_a_stream_has_the_deadline_too_with_keep_alives_before() -> None:
    exchange, crew = scripted(request_timeout=60, stream_after=10, keepalive=15)
    assert exchange.first() is None
    assert list(exchange.messages()) == [None, None, None, None, b"late"]
    assert crew.log == [10, 15, 15, 15, 5, "kill"]
    assert crew.clock.now == 1060


def test_each_message_puts_the_deadline_off() -> None:
    """T25-LIFE-06."""
    exchange, crew = scripted(b"1", NOTHING, NOTHING, b"2", NOTHING, request_timeout=60, keepalive=25)
    assert exchange.first() is None
    assert list(exchange.messages()) == [b"1", None, None, b"2", None, None, b"late"]
    assert crew.log == [10, 25, 25, 10, 25, 25, 10, "kill"]


def test_no_stream_lives_longer_than_its_lifetime() -> None:
    """T25-LIFE-06: a maximum, whatever the progress."""
    exchange, crew = scripted(b"0", *([NOTHING, b"more"] * 100), stream_lifetime=100, keepalive=15)
    assert exchange.first() is None
    messages = list(exchange.messages())
    assert messages == [b"0", *[None, b"more"] * 6, b"late"]
    assert crew.log[-2:] == [10, "kill"]


def test_a_reader_that_comes_back_too_late_finds_the_stream_over() -> None:
    exchange, crew = scripted(b"1", b"2", request_timeout=60)
    assert exchange.first() is None
    messages = exchange.messages()
    assert next(messages) == b"1"
    crew.clock.now += 61  # the client took its time to read that
    assert list(messages) == [b"late"]


def test_real_time_passes_too(concurrent: Crew) -> None:
    gate = threading.Event()

    def callback(exchange: Exchange) -> Answer:
        gate.wait(WAIT)
        return DONE

    exchange = started(concurrent, callback, stream_after=0.01, keepalive=0.01)
    assert exchange.first() is None
    messages = exchange.messages()
    assert list(islice(messages, 3)) == [None, None, None]
    gate.set()
    assert [message for message in messages if message] == [b"done"]


# --- the rate of progress -------------------------------------------------------------------------


def test_progress_comes_in_one_burst_and_then_at_its_rate() -> None:
    """S26-PROG-04."""
    exchange, crew = scripted(progress_rate=50)
    assert sum(exchange.allow_progress() for _ in range(200)) == 50
    crew.clock.now += 0.1
    assert sum(exchange.allow_progress() for _ in range(200)) == 5
    crew.clock.now += 3600
    assert sum(exchange.allow_progress() for _ in range(200)) == 50


def test_a_rate_below_one_lets_the_first_through() -> None:
    """S26-PROG-04."""
    exchange, crew = scripted(progress_rate=0.125)
    allowed = []
    for _ in range(20):
        allowed.append(exchange.allow_progress())
        crew.clock.now += 1
    assert [second for second, passed in enumerate(allowed) if passed] == [0, 8, 16]


@given(st.floats(0.1, 100), st.lists(st.floats(0, 2), max_size=100))
def test_no_schedule_gets_past_the_rate(rate: float, pauses: list[float]) -> None:
    """S26-PROG-04."""
    exchange, crew = scripted(progress_rate=rate)
    allowed = int(exchange.allow_progress())
    for pause in pauses:
        crew.clock.now += pause
        allowed += exchange.allow_progress()
    assert allowed <= max(rate, 1) + sum(pauses) * rate + 1e-6


# --- slow readers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "messages", "fit"),
    [
        ({"event_log": 1}, [b"m"] * 4, 1),
        ({"event_log": 3}, [b"m"] * 9, 3),
        ({"event_log_bytes": 1024}, [b"m" * 500] * 5, 2),
        ({"event_log_bytes": 1024}, [b"m" * 5000] * 3, 0),
    ],
)
def test_a_callback_waits_for_a_slow_reader(
    concurrent: Crew, options: dict[str, Any], messages: list[bytes], fit: int
) -> None:
    """It gets ``fit`` messages ahead, and one more that it waits by."""
    passed = threading.Semaphore(0)

    def callback(exchange: Exchange) -> Answer:
        for message in messages:
            exchange.emit(message)
            passed.release()
        return DONE

    exchange = started(concurrent, callback, **options)
    for _ in range(fit):
        assert passed.acquire(timeout=WAIT)
    assert not passed.acquire(timeout=0.05)
    assert exchange.first() is None
    stream = exchange.messages()
    for number, message in enumerate(messages, 1):
        assert next(stream) == message
        if number + fit <= len(messages):
            assert passed.acquire(timeout=WAIT)
        assert not passed.acquire(timeout=0)
    assert list(stream) == [b"done"]


def test_nothing_is_lost_or_turned_round_by_waiting(concurrent: Crew) -> None:
    exchange = started(concurrent, partial(emitting, messages=MANY), event_log=1)
    assert exchange.first() is None
    assert list(exchange.messages()) == [*MANY, b"done"]


def test_threads_of_the_callback_emit_together(concurrent: Crew) -> None:
    exchange = started(concurrent, partial(emitting_in_threads, messages=MANY), event_log=5)
    assert exchange.first() is None
    *messages, last = exchange.messages()
    assert (sorted(messages, key=str), last) == (sorted(MANY * 8, key=str), b"done")


def test_progress_of_several_threads_grows_on_the_wire(concurrent: Crew) -> None:
    """S26-PROG-03, S26-PROG-04: the context's order and the exchange's rate, together."""
    steps = iter(range(3000))

    def report(ctx: Context) -> None:
        for step in steps:
            ctx.report_progress(step)

    def callback(exchange: Exchange) -> Answer:
        ctx = Context(Call("tools/call", {}, 1, MODERN[0], progress_token="t"), exchange)
        in_threads(8, report, ctx)
        ctx.flush()
        return DONE

    exchange = started(concurrent, callback, event_log=2, progress_rate=1000)
    assert exchange.first() is None
    *messages, _ = exchange.messages()
    sent = [json.loads(message or b"")["params"]["progress"] for message in messages]
    assert sent == sorted(set(sent))
    assert sent[-1] == 2999


def test_threads_of_an_inline_callback_do_not_wait_for_a_reader_that_waits_for_them() -> None:
    def callback(exchange: Exchange) -> Answer:
        in_threads(1, emitting, exchange, MANY)
        return DONE

    exchange = started(crew_for("inline", 1), callback, event_log=1)
    assert exchange.first() is None
    assert list(exchange.messages()) == [*MANY, b"done"]


def test_a_client_that_reads_nothing_does_not_hold_the_callback_for_ever(concurrent: Crew) -> None:
    """The server is stuck in sending, so nobody but the callback itself can keep the deadline."""
    ended = threading.Event()

    def callback(exchange: Exchange) -> Answer:
        answer = emitting(exchange, MANY)
        ended.set()
        return answer

    exchange = started(concurrent, callback, event_log=2, request_timeout=0.05)
    assert ended.wait(WAIT)
    assert exchange.cancelled
    assert exchange.first() is None
    assert list(exchange.messages()) == [*MANY[:3], b"stopped"]


# --- readers that go ------------------------------------------------------------------------------


class Begun:
    """A stream of which the client has the first message while the callback works on the second."""

    def __init__(self, crew: Crew) -> None:
        self.go_on, self.ended = threading.Event(), threading.Event()
        self.outcome = ""
        self.exchange = started(crew, self.callback)
        assert self.exchange.first() is None
        self.messages = self.exchange.messages()
        assert next(self.messages) == b"first"

    def callback(self, exchange: Exchange) -> Answer:
        try:
            exchange.emit(b"first")
            self.go_on.wait(WAIT)
            exchange.emit(b"second")
            self.outcome = "came through"
        except Cancelled:
            self.outcome = "cancelled"
            raise
        finally:
            self.ended.set()
        return DONE

    def drop(self) -> None:
        del self.messages

    def close(self) -> None:
        self.messages.close()


@pytest.mark.parametrize("leave", [lambda begun: begun.exchange.leave(cancel=True), Begun.drop, Begun.close])
def test_a_cancelled_callback_ends_at_its_next_message_or_before(crew: Crew, leave: Callable[[Begun], None]) -> None:
    """S26-HTTP-13, S26-CAN-02: and a server that drops the stream without a word leaves no callback behind."""
    begun = Begun(crew)
    leave(begun)
    if crew.kind == "threads":
        begun.go_on.set()  # the others are not waited for
    assert begun.ended.wait(WAIT)
    assert (begun.outcome, begun.exchange.cancelled) == ("cancelled", True)


def test_without_cancel_the_callback_comes_to_its_end(crew: Crew) -> None:
    """T25-HTTP-10: a disconnect is no cancel."""
    begun = Begun(crew)
    begun.go_on.set()
    begun.exchange.leave(cancel=False)
    assert begun.ended.wait(WAIT)
    assert (begun.outcome, begun.exchange.cancelled) == ("came through", False)


def test_closing_the_stream_changes_nothing_about_how_it_was_left(crew: Crew) -> None:
    """T25-HTTP-10."""
    begun = Begun(crew)
    begun.go_on.set()
    begun.exchange.leave(cancel=False)
    begun.close()
    assert begun.ended.wait(WAIT)
    assert (begun.outcome, begun.exchange.cancelled) == ("came through", False)


@pytest.mark.parametrize(("cancel", "outcome"), [(True, STOPPED), (False, DONE)])
def test_a_callback_that_waits_for_room_hears_that_nobody_reads(
    concurrent: Crew, cancel: bool, outcome: Answer
) -> None:
    """S26-HTTP-13, T25-HTTP-10."""
    outcomes: list[Answer] = []
    full, ended = threading.Event(), threading.Event()

    def messages() -> Iterator[bytes]:
        yield from MANY[:2]
        full.set()
        yield from MANY[2:]

    def callback(exchange: Exchange) -> Answer:
        outcomes.append(emitting(exchange, messages()))
        ended.set()
        return DONE

    exchange = started(concurrent, callback, event_log=2)
    assert exchange.first() is None
    assert full.wait(WAIT)
    assert not ended.wait(0.01)
    exchange.leave(cancel=cancel)
    assert ended.wait(WAIT)
    assert outcomes == [outcome]


def test_a_callback_is_told_of_its_end_once(crew: Crew) -> None:
    """Its clean-up may block, and nothing breaks into that."""
    steps: list[str] = []
    ended = threading.Event()

    def callback(exchange: Exchange) -> Answer:
        try:
            exchange.emit(b"1")
            while not exchange.cancelled:
                threading.Event().wait(0.001)
            exchange.emit(b"2")
        except Cancelled:
            steps.append("told")
        finally:
            threading.Event().wait(0.01)
            steps.append("cleaned up")
            ended.set()
        return STOPPED

    exchange = started(crew, callback)
    assert exchange.first() is None
    exchange.leave(cancel=True)
    exchange.leave(cancel=True)
    assert ended.wait(WAIT)
    assert steps == ["told", "cleaned up"]


def test_a_reader_that_goes_at_the_last_moment_is_not_waited_for() -> None:
    class Room(threading.Event):
        def clear(self) -> None:
            exchange.leave(cancel=False)
            super().clear()

        def wait(self, timeout: float | None = None) -> bool:
            raise AssertionError("nobody is left to wake it up")

    class Crowded(Script):
        def event(self) -> Any:
            return Room()

    crew = Crowded()
    exchange = Exchange(crew, Options.build({"event_log": 1}), crew.clock, streaming=True, late=lambda: LATE)
    exchange.start(lambda exchange: DONE)
    assert emitting(exchange, MANY) is DONE


def test_a_job_is_killed_once_and_abandoned_before_that_only() -> None:
    exchange, crew = scripted()
    exchange.leave(cancel=False)
    assert not exchange.cancelled
    for cancel in (True, True, False):
        exchange.leave(cancel=cancel)
    assert (crew.log, exchange.cancelled) == (["abandon", "kill"], True)


def test_messages_to_nobody_are_dropped_or_end_the_callback() -> None:
    exchange, crew = scripted()
    exchange.leave(cancel=False)
    exchange.emit(b"nobody reads this")
    exchange.leave(cancel=True)
    with pytest.raises(Cancelled):
        exchange.emit(b"nor this")
    assert crew.items == []


def test_messages_after_the_answer_are_dropped(crew: Crew) -> None:
    """S26-PROG-04: progress stops at completion, even if a thread of the callback goes on."""
    kept: list[Exchange] = []

    def callback(exchange: Exchange) -> Answer:
        kept.append(exchange)
        return emitting(exchange, [b"in time"])

    exchange = started(crew, callback, event_log=1)
    assert exchange.first() is None
    messages = exchange.messages()
    assert next(messages) == b"in time"
    assert next(messages) == b"done"
    assert emitting(kept[0], MANY) is DONE  # it neither waits nor raises
    assert list(messages) == []


def test_a_stream_read_to_its_end_cancels_nothing() -> None:
    exchange, crew = scripted(b"1", DONE)
    assert exchange.first() is None
    assert list(exchange.messages()) == [b"1", b"done"]
    assert (exchange.cancelled, crew.log) == (False, [10, 15])


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [True, False])
def test_a_request_interrupted_while_it_waits_cancels_its_call(streaming: bool) -> None:
    exchange, crew = scripted(Interrupted(), streaming=streaming)
    with pytest.raises(Interrupted):
        exchange.first()
    assert (exchange.cancelled, crew.log[1:]) == (True, ["kill"])


def test_a_stream_interrupted_while_it_waits_cancels_its_call() -> None:
    exchange, crew = scripted(b"1", Interrupted())
    assert exchange.first() is None
    messages = exchange.messages()
    assert next(messages) == b"1"
    with pytest.raises(Interrupted):
        next(messages)
    assert (exchange.cancelled, crew.log[2:]) == (True, ["kill"])


def test_a_request_interrupted_at_its_start_cancels_its_call() -> None:
    class Interrupting(Script):
        def start(self, callback: Callable[[Job], Any]) -> Any:
            callback(self)
            raise Interrupted

    crew = Interrupting()
    exchange = Exchange(crew, Options.build({}), crew.clock, streaming=True, late=lambda: LATE)
    with pytest.raises(Interrupted):
        exchange.start(lambda exchange: DONE)
    assert (exchange.cancelled, crew.log) == (True, ["kill"])


@pytest.mark.parametrize("kind", KINDS)
def test_overload_is_told_before_anything_starts(kind: str) -> None:
    gate, crew = threading.Event(), crew_for(kind, 1)

    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"1")
        gate.wait(WAIT)
        return DONE

    running = started(crew, callback)
    with pytest.raises(Overloaded):
        started(crew, callback)
    gate.set()
    assert running.first() is None
    assert list(running.messages()) == [b"1", b"done"]
    assert started(crew, lambda exchange: DONE).first() is DONE


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_a_callback_should_not_raise_reaches_the_server(crew: Crew, error: type[BaseException]) -> None:
    def callback(exchange: Exchange) -> Answer:
        exchange.emit(b"1")
        raise error

    exchange = started(crew, callback)
    assert exchange.first() is None
    messages = exchange.messages()
    assert next(messages) == b"1"
    with pytest.raises(error):
        next(messages)
    assert crew.running == 0


@pytest.mark.parametrize("messages", [[], [b"1", b"2"]])
def test_nothing_of_a_call_outlives_it(crew: Crew, messages: list[bytes]) -> None:
    def serve(held: Held) -> None:
        exchange = started(crew, lambda exchange: (held, emitting(exchange, messages))[1])
        assert exchange.first() is DONE or list(exchange.messages()) == [*messages, b"done"]

    assert is_let_go(serve)


if PATCHED:

    def test_native_threads_emit_and_wait_for_a_slow_reader() -> None:
        """gevent's pool is where blocking C code runs; its threads have no hub to wait in."""
        import gevent

        def callback(exchange: Exchange) -> Answer:
            spawn = gevent.get_hub().threadpool.spawn
            threads = [spawn(emitting, exchange, MANY[:50]) for _ in range(4)]
            assert all(thread.get() is DONE for thread in threads)
            return DONE

        exchange = started(crew_for("greenlets", 1), callback, event_log=2)
        assert exchange.first() is None
        *messages, last = exchange.messages()
        assert (sorted(messages, key=str), last) == (sorted(MANY[:50] * 4, key=str), b"done")

    @pytest.mark.parametrize("kind", ["greenlets", "inline"])
    def test_a_call_within_a_call_ends_with_it(kind: str) -> None:
        """S26-CAN-02."""
        inner_crew, ended = crew_for(kind, 1), threading.Event()

        def inner(exchange: Exchange) -> Answer:
            try:
                threading.Event().wait(WAIT)
            finally:
                ended.set()
            return DONE

        def outer(exchange: Exchange) -> Answer:
            exchange.emit(b"begun")
            nested = started(inner_crew, inner)
            return nested.first() or DONE

        exchange = started(crew_for("greenlets", 1), outer)
        assert exchange.first() is None
        assert not ended.wait(0.01)
        exchange.leave(cancel=True)
        assert ended.wait(WAIT)
        assert inner_crew.running == 0

else:

    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_exchange.py")
