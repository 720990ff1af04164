"""What is particular to greenlets; run by ``test_greenlets.py`` in a process that gevent has patched."""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import gevent
import pytest
from gevent.event import Event
from gevent.local import local
from greenlet import getcurrent

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.workers import NOTHING, Job
from mcp_wsgi.workers.greenlets import GreenletCrew
from mcp_wsgi.workers.inline import InlineCrew
from tests.workers.hub import HUB, turns
from tests.workers.kit import WAIT, everything, run

native_thread = gevent.monkey.get_original("_thread", "get_ident")
native_sleep = gevent.monkey.get_original("time", "sleep")
native_lock = gevent.monkey.get_original("threading", "Lock")

var: ContextVar[str] = ContextVar("var", default="outside")


@pytest.fixture
def crew() -> GreenletCrew:
    return GreenletCrew(1000)


# --- where a job runs -----------------------------------------------------------------------------


def test_a_callback_that_does_not_block_has_run_before_start_returns(crew: GreenletCrew) -> None:
    ran: list[Any] = []
    job = crew.start(lambda job: ran.append(getcurrent()))
    assert ran
    assert ran[0] is not getcurrent()
    assert job.take(WAIT) is None


def test_a_callback_that_blocks_goes_on_in_the_hub(crew: GreenletCrew) -> None:
    gate = Event()

    def callback(job: Job) -> Any:
        gate.wait()
        return getcurrent().parent

    job = crew.start(callback)
    assert job.take(0.001) is NOTHING
    gate.set()
    assert job.take(WAIT) is HUB


def counting(crew: GreenletCrew) -> list[int]:
    """How many greenlets the crew makes, as the only item of a list."""
    made, make = [0], crew.greenlet

    def counted(*args: Any) -> Any:
        made[0] += 1
        return make(*args)

    crew.greenlet = counted
    return made


def test_callbacks_that_do_not_block_take_turns_in_one_greenlet(crew: GreenletCrew) -> None:
    made = counting(crew)
    for _ in range(100):
        run(crew, lambda job: None)
    assert made == [1]


def leaves_a_local(job: Job) -> Any:
    there = local()
    there.value = "left"
    return there


def leaves_a_dummy_thread(job: Job) -> Any:
    threading.current_thread()


def leaves_a_timeout(job: Job) -> Any:
    return gevent.Timeout.start_new(WAIT)


def leaves_a_wake_up(job: Job) -> Any:
    return getcurrent().throw


def has_blocked(job: Job) -> Any:
    gevent.sleep(0)


@pytest.mark.parametrize(
    "callback", [leaves_a_local, leaves_a_dummy_thread, leaves_a_timeout, leaves_a_wake_up, has_blocked]
)
def test_a_greenlet_that_a_callback_has_left_something_in_serves_no_other(
    crew: GreenletCrew, callback: Callable[[Job], Any]
) -> None:
    made = counting(crew)
    left = [run(crew, callback) for _ in range(3)]
    assert made == [3]
    run(crew, lambda job: None)
    assert made == [4]
    for thing in left:
        if isinstance(thing, gevent.Timeout):
            thing.close()


def test_a_callback_may_start_another_job(crew: GreenletCrew) -> None:
    assert [run(crew, lambda job: run(crew, lambda job: "inner")) for _ in range(3)] == ["inner"] * 3


def test_a_resting_greenlet_ends_with_its_crew() -> None:
    crew = GreenletCrew(1)
    run(crew, lambda job: None)
    resting = weakref.ref(crew._of_thread.seat.worker)
    del crew
    gc.collect()
    assert resting() is None


def test_a_greenlet_that_was_ended_at_rest_serves_no_more(crew: GreenletCrew) -> None:
    run(crew, lambda job: None)
    HUB.loop.run_callback(crew._of_thread.seat.worker.throw, gevent.GreenletExit)
    gevent.sleep(0)
    assert run(crew, lambda job: "served") == "served"


def test_what_is_put_reaches_the_request_before_the_callback_goes_on(crew: GreenletCrew) -> None:
    steps: list[Any] = []

    def callback(job: Job) -> str:
        for number in range(3):
            steps.append(number)
            job.put(number)
        return "end"

    job = crew.start(callback)
    while (item := job.take(WAIT)) != "end":
        steps.append(f"took {item}")
    assert steps == [0, "took 0", 1, "took 1", 2, "took 2"]


@pytest.mark.parametrize("serve", ["start", "pause"])
def test_no_request_keeps_the_process_for_itself(crew: GreenletCrew, serve: str) -> None:
    """S26-BASE-20: each request gives the others a turn, so a quick keep-alive client cannot starve them."""
    order = []

    def client(name: str) -> None:
        for _ in range(5):
            crew.pause() if serve == "pause" else run(crew, lambda job: None)
            order.append(name)

    gevent.joinall([gevent.spawn(client, name) for name in "abc"], raise_error=True)
    assert order == ["a", "b", "c"] * 5


def test_a_request_may_be_served_in_any_thread_with_a_hub(crew: GreenletCrew) -> None:
    def callback(job: Job) -> int:
        gevent.sleep(0.001)
        thread: int = native_thread()
        return thread

    ident = HUB.threadpool.apply(lambda: (native_thread(), run(crew, callback)))
    assert ident[0] == ident[1] != native_thread()


# --- who puts -------------------------------------------------------------------------------------


def test_greenlets_of_the_callback_may_put(crew: GreenletCrew) -> None:
    def callback(job: Job) -> None:
        gevent.joinall([gevent.spawn(put_many, job, 100) for _ in range(5)], raise_error=True)

    assert sorted(everything(crew.start(callback))) == sorted([*range(100)] * 5)


def put_many(job: Job, number: int) -> None:
    for item in range(number):
        job.put(item)


def test_native_threads_of_the_callback_may_put(crew: GreenletCrew) -> None:
    """gevent's pool is where blocking C code runs; the taker wakes up in its own thread."""
    loops: list[int] = []

    def in_pool(job: Job) -> None:
        loops.append(native_thread())
        for item in range(2000):
            job.put(item)
            if item % 100 == 0:
                native_sleep(0.0005)

    def callback(job: Job) -> None:
        pool = gevent.get_hub().threadpool
        for loop in [pool.spawn(in_pool, job) for _ in range(4)]:
            loop.get()

    job = crew.start(callback)
    items = list(everything(job))
    assert sorted(items) == sorted([*range(2000)] * 4)
    assert native_thread() not in loops


def test_a_wake_up_that_comes_late_is_no_item(crew: GreenletCrew) -> None:
    """A pool thread's wake-up passes through the hub; its item may have been taken by then."""
    gate = Event()

    def callback(job: Job) -> str:
        gevent.get_hub().threadpool.apply(job.put, ("early",))
        gate.wait()
        return "end"

    job = crew.start(callback)
    assert job.take(WAIT) == "early"
    gevent.spawn_later(0.05, gate.set)
    assert job.take(WAIT) == "end"


def test_an_event_serves_native_threads_too(crew: GreenletCrew) -> None:
    def callback(job: Job) -> list[bool]:
        event, pool = job.event(), gevent.get_hub().threadpool
        seen = [pool.apply(event.wait, (0.001,))]
        waiting = pool.spawn(lambda: any(event.wait(WAIT) for _ in range(1000)))
        gevent.sleep(0.01)
        event.set()
        seen.append(waiting.get())
        event.clear()
        held = native_lock()
        held.acquire()
        busy = pool.spawn(lambda: event.set() or held.acquire(timeout=WAIT))
        event.wait(WAIT)
        seen.append(not busy.ready())
        held.release()
        busy.get()
        return seen

    assert run(crew, callback) == [False, True, True]


def test_a_native_thread_s_item_arrives_while_the_thread_goes_on(crew: GreenletCrew) -> None:
    held, over = native_lock(), list[bool]()
    held.acquire()

    def in_pool(job: Job) -> None:
        job.put("item")
        over.append(held.acquire(timeout=WAIT))

    job = crew.start(lambda job: gevent.get_hub().threadpool.apply(in_pool, (job,)))
    assert job.take(WAIT) == "item"
    assert over == []
    held.release()
    assert job.take(WAIT) is None


def test_who_waits_for_an_item_uses_no_time(crew: GreenletCrew) -> None:
    def callback(job: Job) -> None:
        gevent.sleep(0)
        job.put("item")
        gevent.sleep(0.3)

    job = crew.start(callback)
    assert job.take(WAIT) == "item"
    begun = time.process_time()
    job.take(WAIT)
    assert time.process_time() - begun < 0.1


def test_a_lock_orders_greenlets_and_native_threads(crew: GreenletCrew) -> None:
    held: list[int] = []
    wrong: list[int] = []

    def work(lock: AbstractContextManager[Any], pause: Callable[[float], object]) -> None:
        for _ in range(50):
            with lock:
                held.append(1)
                pause(0)
                wrong.extend(held[1:])
                held.pop()
            pause(0.0001)

    def callback(job: Job) -> None:
        lock, spawn = job.lock(), HUB.threadpool.spawn
        loops: list[Any] = [spawn(work, lock, native_sleep) for _ in range(3)]
        loops += [gevent.spawn(work, lock, gevent.sleep) for _ in range(3)]
        for loop in loops:
            loop.get()

    run(crew, callback)
    assert (held, wrong) == ([], [])


def test_a_greenlet_killed_while_it_waits_for_a_lock_leaves_it_usable(crew: GreenletCrew) -> None:
    def callback(job: Job) -> str:
        lock, gate, inside = job.lock(), Event(), Event()

        def native() -> None:
            with lock:
                HUB.loop.run_callback_threadsafe(inside.set)
                while not gate.is_set():
                    native_sleep(0.001)

        def wait() -> None:
            with lock:
                pass

        holder = HUB.threadpool.spawn(native)
        inside.wait()
        waiter = gevent.spawn(wait)
        gevent.sleep(0.001)
        waiter.kill()
        gate.set()
        holder.get()
        with lock:
            return "usable"

    assert run(crew, callback) == "usable"


def test_a_callback_that_pauses_lets_the_request_and_the_others_go_on(crew: GreenletCrew) -> None:
    steps: list[str] = []

    def callback(job: Job) -> str:
        for number in range(2):
            steps.append(f"step {number}")
            job.pause()
        return "end"

    gevent.spawn(steps.append, "other")
    job = crew.start(callback)
    steps.append("request")
    assert job.take(WAIT) == "end"
    assert steps.index("other") < steps.index("step 1")
    assert steps.index("request") < steps.index("step 1")


def test_a_pause_in_a_native_thread_or_another_greenlet_is_none(crew: GreenletCrew) -> None:
    def callback(job: Job) -> str:
        gevent.get_hub().threadpool.apply(job.pause)
        gevent.spawn(job.pause).get()
        return "end"

    assert run(crew, callback) == "end"


# --- being killed ---------------------------------------------------------------------------------


def sleeping(job: Job) -> None:
    gevent.sleep(WAIT)


def waiting(job: Job) -> None:
    threading.Event().wait(WAIT)


def reading(job: Job) -> None:
    reader, _writer = os.pipe()
    gevent.os.tp_read(reader, 1)


def putting(job: Job) -> None:
    while True:
        job.put("item")


def nesting(job: Job) -> None:
    run(InlineCrew(1), sleeping)


@pytest.mark.parametrize("blocks", [sleeping, waiting, reading, putting, nesting])
def test_a_callback_is_killed_wherever_it_blocks(crew: GreenletCrew, blocks: Callable[[Job], None]) -> None:
    """S26-HTTP-13, S26-CAN-02: and its clean-up may block again."""
    ended = []

    def callback(job: Job) -> None:
        try:
            blocks(job)
        finally:
            gevent.sleep(0.001)
            ended.append("cleaned up")

    job = crew.start(callback)
    job.kill(int)
    while (item := take(job)) == "item":
        pass
    assert item is Cancelled
    assert (ended, crew.running) == (["cleaned up"], 0)


def take(job: Job) -> Any:
    try:
        return job.take(WAIT)
    except Cancelled:
        return Cancelled


def test_a_kill_may_come_from_any_thread(crew: GreenletCrew) -> None:
    job = crew.start(sleeping)
    HUB.threadpool.apply(job.kill, (int,))
    assert take(job) is Cancelled


def test_a_kill_that_comes_too_late_does_nothing(crew: GreenletCrew) -> None:
    gate = Event()

    def callback(job: Job) -> str:
        gate.wait()
        return "done"

    job = crew.start(callback)
    gate.set()
    job.kill(int)  # the callback gets its turn first
    turns()
    assert job.take(WAIT) == "done"


def test_a_callback_does_not_kill_itself(crew: GreenletCrew) -> None:
    """Whoever finds, while emitting, that the client is gone, raises on the spot."""

    def callback(job: Job) -> str:
        job.kill(int)
        gevent.sleep(0)
        return "done"

    assert run(crew, callback) == "done"


def test_a_kill_does_not_reach_the_request(crew: GreenletCrew) -> None:
    def request() -> object:
        job = crew.start(sleeping)
        job.kill(int)
        gevent.sleep(0.001)
        return take(job)

    assert gevent.spawn(request).get() is Cancelled


# --- what is left behind --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, gevent.GreenletExit, ValueError])
def test_nothing_that_a_callback_raises_reaches_the_hub(
    crew: GreenletCrew, error: type[BaseException], capfd: pytest.CaptureFixture[str]
) -> None:
    def callback(job: Job) -> None:
        gevent.sleep(0.001)
        raise error

    job = crew.start(callback)
    with pytest.raises(error):
        job.take(WAIT)
    turns()
    assert capfd.readouterr().err == ""


def test_context_variables_stay_inside(crew: GreenletCrew) -> None:
    def callback(job: Job) -> list[str]:
        seen = [var.get()]
        var.set("callback")
        seen.append(gevent.spawn(var.get).get())
        gevent.sleep(0.001)
        return [*seen, var.get()]

    def request(name: str) -> tuple[list[str], str]:
        var.set(name)
        return run(crew, callback), var.get()

    pairs = [gevent.spawn(request, name) for name in "ab"]
    gevent.joinall(pairs, raise_error=True)
    for name, pair in zip("ab", pairs, strict=True):
        seen, after = pair.get()
        assert (seen[0], seen[2], after) == (name, "callback", name)
    assert var.get() == "outside"


class Held:
    pass


def test_locals_and_dummy_threads_go_with_the_worker(crew: GreenletCrew) -> None:
    """A bare greenlet is a thread of its own for ``threading`` and ``logging``; 10 000 of them leave nothing."""
    store, log = local(), logging.getLogger("gevent_greenlets")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    log.setLevel(logging.DEBUG)
    kept = []

    def callback(job: Job) -> str:
        store.value = Held()
        kept.append(weakref.ref(store.value))
        log.debug("thread %s", threading.current_thread().name)
        return "done"

    before = len(threading._active)  # type: ignore[attr-defined]
    for _ in range(10_000):
        run(crew, callback)
    gc.collect()
    assert len(threading._active) <= before + 1  # type: ignore[attr-defined]
    assert not any(reference() for reference in kept)


def test_a_job_that_nobody_takes_is_freed(crew: GreenletCrew) -> None:
    held = Held()
    reference = weakref.ref(held)

    def callback(job: Job, held: Held = held) -> None:
        gevent.sleep(0.001)
        job.put(held)

    crew.start(callback)
    del callback, held
    gevent.sleep(0.01)
    gc.collect()
    assert reference() is None
    assert crew.running == 0
